/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules for minimum, maximum, comparisons and logic, and what applies them.
 *
 * Rules are text in prefix notation, matched against the expression as they stand: the table is
 * short and each operator starts only some rules. x y z w stand for integers, p q r for bool, c d
 * for literals. Sums, products, division and remainder are not here: polynomials do them (poly.h).
 */
#include "poly.h"

#include <ctype.h>

const tn_arith_rule tn_arith_rules[] = {
    /* minimum */
    {"(min x x)", "x", NULL},
    {"(min (max x y) x)", "x", NULL},
    {"(min (min x c) d)", "(min x (min c d))", NULL},
    {"(min (max x c) d)", "d", "(<= d c)"},
    {"(min (min x y) x)", "(min x y)", NULL},
    {"(min (min (min x y) z) y)", "(min (min x y) z)", NULL},
    {"(min (max x y) (max x z))", "(max x (min y z))", NULL},
    {"(min (min x y) (min x z))", "(min (min x y) z)", NULL},
    {"(min (fdiv x c) (fdiv y c))", "(fdiv (min x y) c)", "(< 0 c)"},
    {"(min (fdiv x c) (fdiv y c))", "(fdiv (max x y) c)", "(< c 0)"},
    {"(min (* x c) (* y c))", "(* (min x y) c)", "(< 0 c)"},
    {"(min (* x c) (* y c))", "(* (max x y) c)", "(< c 0)"},
    {"(min (* x c) d)", "(* (min x (fdiv d c)) c)", "(and (< 0 c) (== (fmod d c) 0))"},
    {"(min (* x c) d)", "(* (max x (fdiv d c)) c)", "(and (< c 0) (== (fmod d c) 0))"},
    /* maximum */
    {"(max x x)", "x", NULL},
    {"(max (min x y) x)", "x", NULL},
    {"(max (max x c) d)", "(max x (max c d))", NULL},
    {"(max (min x c) d)", "d", "(<= c d)"},
    {"(max (max x y) x)", "(max x y)", NULL},
    {"(max (max (max x y) z) y)", "(max (max x y) z)", NULL},
    {"(max (min x y) (min x z))", "(min x (max y z))", NULL},
    {"(max (max x y) (max x z))", "(max (max x y) z)", NULL},
    {"(max (fdiv x c) (fdiv y c))", "(fdiv (max x y) c)", "(< 0 c)"},
    {"(max (fdiv x c) (fdiv y c))", "(fdiv (min x y) c)", "(< c 0)"},
    {"(max (* x c) (* y c))", "(* (max x y) c)", "(< 0 c)"},
    {"(max (* x c) (* y c))", "(* (min x y) c)", "(< c 0)"},
    {"(max (* x c) d)", "(* (max x (fdiv d c)) c)", "(and (< 0 c) (== (fmod d c) 0))"},
    {"(max (* x c) d)", "(* (min x (fdiv d c)) c)", "(and (< c 0) (== (fmod d c) 0))"},
    /* comparisons */
    {"(< x x)", "0", NULL},
    {"(<= x x)", "1", NULL},
    {"(== x x)", "1", NULL},
    {"(!= x x)", "0", NULL},
    {"(< (min x y) x)", "(< y x)", NULL},
    {"(< x (min x y))", "0", NULL},
    {"(< (max x y) x)", "0", NULL},
    {"(< x (max x y))", "(< x y)", NULL},
    {"(<= (min x y) x)", "1", NULL},
    {"(<= x (min x y))", "(<= x y)", NULL},
    {"(<= (max x y) x)", "(<= y x)", NULL},
    {"(<= x (max x y))", "1", NULL},
    {"(== (min x y) x)", "(<= x y)", NULL},
    {"(== (max x y) x)", "(<= y x)", NULL},
    {"(!= (min x y) x)", "(< y x)", NULL},
    {"(!= (max x y) x)", "(< x y)", NULL},
    /* logic */
    {"(not (not p))", "p", NULL},
    {"(not (< x y))", "(<= y x)", NULL},
    {"(not (<= x y))", "(< y x)", NULL},
    {"(not (== x y))", "(!= x y)", NULL},
    {"(not (!= x y))", "(== x y)", NULL},
    {"(not (and p q))", "(or (not p) (not q))", NULL},
    {"(not (or p q))", "(and (not p) (not q))", NULL},
    {"(and p p)", "p", NULL},
    {"(and p (not p))", "0", NULL},
    {"(and p (and p q))", "(and p q)", NULL},
    {"(and p (or p q))", "p", NULL},
    {"(or p p)", "p", NULL},
    {"(or p (not p))", "1", NULL},
    {"(or p (or p q))", "(or p q)", NULL},
    {"(or p (and p q))", "p", NULL},
    {"(and (< x c) (< x d))", "(< x (min c d))", NULL},
    {"(and (<= x c) (<= x d))", "(<= x (min c d))", NULL},
    {"(and (< c x) (< d x))", "(< (max c d) x)", NULL},
    {"(and (<= c x) (<= d x))", "(<= (max c d) x)", NULL},
    {"(or (< x c) (< x d))", "(< x (max c d))", NULL},
    {"(or (<= x c) (<= x d))", "(<= x (max c d))", NULL},
    {"(or (< c x) (< d x))", "(< (min c d) x)", NULL},
    {"(or (<= c x) (<= d x))", "(<= (min c d) x)", NULL},
    {"(and (< c x) (< x d))", "0", "(<= d (+ c 1))"},
    {"(and (<= c x) (< x d))", "0", "(<= d c)"},
    {"(and (< c x) (<= x d))", "0", "(<= d c)"},
    {"(and (<= c x) (<= x d))", "0", "(< d c)"},
    {"(or (< x c) (< d x))", "1", "(< d c)"},
    {"(or (<= x c) (< d x))", "1", "(<= d c)"},
    {"(or (< x c) (<= d x))", "1", "(<= d c)"},
    {"(or (<= x c) (<= d x))", "1", "(<= d (+ c 1))"},
    {"(and (== x c) (== x d))", "0", "(!= c d)"},
    {"(and (== x c) (!= x d))", "(== x c)", "(!= c d)"},
    {"(or (!= x c) (!= x d))", "1", "(!= c d)"},
    {"(or (!= x c) (== x d))", "(!= x c)", "(!= c d)"},
    {"(and (== x y) (!= x y))", "0", NULL},
    {"(or (== x y) (!= x y))", "1", NULL},
    {"(and (< x y) (<= y x))", "0", NULL},
    {"(or (< x y) (<= y x))", "1", NULL},
    {"(and (< x y) (< y x))", "0", NULL},
    {"(or (< x y) (< y x))", "(!= x y)", NULL},
    {"(and (<= x y) (<= y x))", "(== x y)", NULL},
    {"(and (< x y) (<= x y))", "(< x y)", NULL},
    {"(or (< x y) (<= x y))", "(<= x y)", NULL},
    {"(and (<= x y) (!= x y))", "(< x y)", NULL},
    {"(or (< x y) (== x y))", "(<= x y)", NULL},
    {"(and (< x y) (== x y))", "0", NULL},
    {"(and (< x y) (!= x y))", "(< x y)", NULL},
    /* choice */
    {"(select p x x)", "x", NULL},
    {"(select (not p) x y)", "(select p y x)", NULL},
    {"(select p (select p x y) z)", "(select p x z)", NULL},
    {"(select p x (select p y z))", "(select p x z)", NULL},
};
const uint32_t tn_n_arith_rules = sizeof tn_arith_rules / sizeof *tn_arith_rules;

static const struct op_name {
    const char *name;
    tn_kind kind;
    bool commutes;
} op_names[] = {
    {"+", TN_KIND_ADD, true},           {"-", TN_KIND_SUB, false},
    {"*", TN_KIND_MUL, true},           {"fdiv", TN_KIND_FLOOR_DIV, false},
    {"fmod", TN_KIND_FLOOR_MOD, false}, {"min", TN_KIND_MIN, true},
    {"max", TN_KIND_MAX, true},         {"<", TN_KIND_LT, false},
    {"<=", TN_KIND_LE, false},          {"==", TN_KIND_EQ, true},
    {"!=", TN_KIND_NE, true},           {"and", TN_KIND_AND, true},
    {"or", TN_KIND_OR, true},           {"not", TN_KIND_NOT, false},
    {"select", TN_KIND_SELECT, false},
};

typedef struct matcher {
    tn_ctx *ctx;
    const tn_expr *bound[128]; /* by letter */
} matcher;

static const struct op_name *
read_op(const char **s)
{
    const char *start = ++*s; /* past '(' */
    while (**s && **s != ' ')
        ++*s;
    size_t n = (size_t)(*s - start);
    for (size_t i = 0; i < sizeof op_names / sizeof *op_names; i++)
        if (strlen(op_names[i].name) == n && memcmp(op_names[i].name, start, n) == 0)
            return &op_names[i];
    return NULL;
}

/* Moves past one operand. */
static void
skip_operand(const char **s)
{
    int depth = 0;
    while (**s == ' ')
        ++*s;
    do {
        depth += **s == '(' ? 1 : **s == ')' ? -1 : 0;
        ++*s;
    } while (**s && (depth > 0 || (**s != ' ' && **s != ')')));
}

static bool
match(matcher *m, const char **s, const tn_expr *e);

static bool
match_two(matcher *m, const char *s, const tn_expr *a, const tn_expr *b)
{
    return match(m, &s, a) && match(m, &s, b);
}

static bool
match_leaf(matcher *m, char letter, const tn_expr *e)
{
    int64_t v;
    if (isdigit((unsigned char)letter))
        return tn_int_value(e, &v) && v == letter - '0';
    if ((letter == 'c' || letter == 'd') && !tn_is(e, TN_KIND_INT_IMM))
        return false;
    const tn_expr **slot = &m->bound[(unsigned char)letter & 127];
    if (*slot)
        return *slot == e || tn_equal(m->ctx, *slot, e, false, NULL);
    *slot = e;
    return true;
}

static bool
match(matcher *m, const char **s, const tn_expr *e)
{
    while (**s == ' ')
        ++*s;
    if (**s != '(') {
        char letter = *(*s)++;
        return match_leaf(m, letter, e);
    }
    const char *args = *s;
    const struct op_name *op = read_op(&args);
    skip_operand(s);
    if (!op || e->kind != op->kind)
        return false;
    if (op->kind == TN_KIND_NOT)
        return match(m, &args, tn_as_unary(e)->a);
    const tn_select *sel = tn_as_select(e);
    if (sel)
        return match(m, &args, sel->cond) && match(m, &args, sel->a) && match(m, &args, sel->b);
    const tn_binary *b = tn_as_binary(e);
    /* an order of floats is no total one */
    if (tnb_dtype_is_float(tn_dtype_of(b->a)))
        return false;
    matcher saved = *m;
    if (match_two(m, args, b->a, b->b))
        return true;
    *m = saved;
    return op->commutes && match_two(m, args, b->b, b->a);
}

/* The value of a condition over literals; false when it is not defined. */
static bool
value_of(const matcher *m, const char **s, int64_t *out)
{
    while (**s == ' ')
        ++*s;
    if (**s != '(') {
        char letter = *(*s)++;
        if (isdigit((unsigned char)letter)) {
            *out = letter - '0';
            return true;
        }
        return tn_int_value(m->bound[(unsigned char)letter & 127], out);
    }
    const char *args = *s;
    const struct op_name *op = read_op(&args);
    skip_operand(s);
    int64_t a, b;
    return op && value_of(m, &args, &a) && value_of(m, &args, &b) &&
           tn_fold_int(op->kind, TNB_I64, a, b, out);
}

static const tn_expr *
build(const matcher *m, const char **s, tnb_dtype d)
{
    tn_ctx *ctx = m->ctx;
    while (**s == ' ')
        ++*s;
    if (**s != '(') {
        char letter = *(*s)++;
        if (isdigit((unsigned char)letter))
            return tn_int_imm_of(ctx, d, letter - '0');
        return m->bound[(unsigned char)letter & 127];
    }
    const char *args = *s;
    const struct op_name *op = read_op(&args);
    skip_operand(s);
    const tn_expr *a = build(m, &args, d);
    if (op->kind == TN_KIND_NOT)
        return tn_not(ctx, a);
    const tn_expr *b = build(m, &args, d);
    if (op->kind == TN_KIND_SELECT)
        return tn_select_of(ctx, a, b, build(m, &args, d));
    if (tn_is_compare(op->kind))
        return tn_cmp(ctx, op->kind, a, b);
    if (op->kind == TN_KIND_AND)
        return tn_and(ctx, a, b);
    return op->kind == TN_KIND_OR ? tn_or(ctx, a, b) : tn_bin(ctx, op->kind, a, b);
}

const tn_expr *
tn_apply_rules(tn_ctx *ctx, const tn_expr *e)
{
    for (uint32_t i = 0; i < tn_n_arith_rules; i++) {
        const tn_arith_rule *r = &tn_arith_rules[i];
        const char *s = r->lhs, *top = r->lhs;
        const struct op_name *op = read_op(&top);
        if (!op || op->kind != e->kind)
            continue;
        matcher m = {.ctx = ctx};
        if (!match(&m, &s, e))
            continue;
        int64_t holds = 1;
        if (r->cond) {
            s = r->cond;
            if (!value_of(&m, &s, &holds) || !holds)
                continue;
        }
        s = r->rhs;
        return build(&m, &s, tn_dtype_of(e));
    }
    return NULL;
}
