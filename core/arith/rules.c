/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules for minimum, maximum, comparisons and logic, and what applies them.
 *
 * Rules are text in prefix notation, matched against the expression as they stand: the table is
 * short and each operator starts only some rules. x y z w stand for integers, p q r for bool, c d
 * for literals. Sums, products, division and remainder are not here: polynomials do them (poly.h).
 */
#include "poly.h"

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

/* The operator that a name means; every name begins differently enough. */
static tn_kind
op_named(const char *s)
{
    switch (s[0]) {
    case '+':
        return TN_KIND_ADD;
    case '-':
        return TN_KIND_SUB;
    case '*':
        return TN_KIND_MUL;
    case 'f':
        return s[1] == 'd' ? TN_KIND_FLOOR_DIV : TN_KIND_FLOOR_MOD;
    case 'm':
        return s[1] == 'i' ? TN_KIND_MIN : TN_KIND_MAX;
    case '<':
        return s[1] == '=' ? TN_KIND_LE : TN_KIND_LT;
    case '=':
        return TN_KIND_EQ;
    case '!':
        return TN_KIND_NE;
    case 'a':
        return TN_KIND_AND;
    case 'o':
        return TN_KIND_OR;
    case 'n':
        return TN_KIND_NOT;
    default:
        return TN_KIND_SELECT;
    }
}

static bool
commutes(tn_kind k)
{
    return k == TN_KIND_ADD || k == TN_KIND_MUL || k == TN_KIND_MIN || k == TN_KIND_MAX ||
           k == TN_KIND_EQ || k == TN_KIND_NE || k == TN_KIND_AND || k == TN_KIND_OR;
}

enum { N_LETTERS = 9 };

typedef struct matcher {
    tn_ctx *ctx;
    const tn_expr *bound[N_LETTERS]; /* by slot_of */
} matcher;

static uint32_t
slot_of(char letter)
{
    switch (letter) {
    case 'c':
    case 'd':
        return (uint32_t)(letter - 'c');
    case 'p':
    case 'q':
    case 'r':
        return (uint32_t)(letter - 'p') + 2;
    default: /* w x y z */
        return (uint32_t)(letter - 'w') + 5;
    }
}

static void
skip_spaces(const char **s)
{
    while (**s == ' ')
        ++*s;
}

/* Moves past "(name". */
static tn_kind
read_op(const char **s)
{
    tn_kind k = op_named(++*s);
    while (**s != ' ')
        ++*s;
    return k;
}

/* The functions below move past the operand they read when they succeed. */

static bool
match(matcher *m, const char **s, const tn_expr *e);

/* The rest of an operator's operands, and its ")". */
static bool
match_two(matcher *m, const char **s, const tn_expr *a, const tn_expr *b)
{
    if (!match(m, s, a) || !match(m, s, b))
        return false;
    ++*s;
    return true;
}

static bool
match_leaf(matcher *m, char letter, const tn_expr *e)
{
    int64_t v;
    if (letter >= '0' && letter <= '9')
        return tn_int_value(e, &v) && v == letter - '0';
    if ((letter == 'c' || letter == 'd') && !tn_is(e, TN_KIND_INT_IMM))
        return false;
    const tn_expr **slot = &m->bound[slot_of(letter)];
    if (*slot)
        return *slot == e || tn_equal(m->ctx, *slot, e, false, NULL);
    *slot = e;
    return true;
}

static bool
match(matcher *m, const char **s, const tn_expr *e)
{
    skip_spaces(s);
    if (**s != '(')
        return match_leaf(m, *(*s)++, e);
    tn_kind op = read_op(s);
    if (e->kind != op)
        return false;
    if (op == TN_KIND_NOT) {
        if (!match(m, s, tn_as_unary(e)->a))
            return false;
        ++*s;
        return true;
    }
    const tn_select *sel = tn_as_select(e);
    if (sel)
        return match(m, s, sel->cond) && match_two(m, s, sel->a, sel->b);
    const tn_binary *b = tn_as_binary(e);
    /* an order of floats is no total one */
    if (tnb_dtype_is_float(tn_dtype_of(b->a)))
        return false;
    if (!commutes(op))
        return match_two(m, s, b->a, b->b);
    matcher saved = *m;
    const char *args = *s;
    if (match_two(m, s, b->a, b->b))
        return true;
    *m = saved;
    *s = args;
    return match_two(m, s, b->b, b->a);
}

/* The value of a condition over literals; false when it is not defined. */
static bool
value_of(const matcher *m, const char **s, int64_t *out)
{
    skip_spaces(s);
    if (**s != '(') {
        char letter = *(*s)++;
        if (letter >= '0' && letter <= '9') {
            *out = letter - '0';
            return true;
        }
        return tn_int_value(m->bound[slot_of(letter)], out);
    }
    tn_kind op = read_op(s);
    int64_t a, b;
    if (!value_of(m, s, &a) || !value_of(m, s, &b))
        return false;
    ++*s;
    return tn_fold_int(op, TNB_I64, a, b, out);
}

static const tn_expr *
build(const matcher *m, const char **s, tnb_dtype d)
{
    tn_ctx *ctx = m->ctx;
    skip_spaces(s);
    if (**s != '(') {
        char letter = *(*s)++;
        if (letter >= '0' && letter <= '9')
            return tn_int_imm_of(ctx, d, letter - '0');
        return m->bound[slot_of(letter)];
    }
    tn_kind op = read_op(s);
    const tn_expr *a = build(m, s, d), *b = op == TN_KIND_NOT ? NULL : build(m, s, d),
                  *c = op == TN_KIND_SELECT ? build(m, s, d) : NULL;
    ++*s;
    if (op == TN_KIND_NOT)
        return tn_not(ctx, a);
    if (op == TN_KIND_SELECT)
        return tn_select_of(ctx, a, b, c);
    if (tn_is_compare(op))
        return tn_cmp(ctx, op, a, b);
    if (op == TN_KIND_AND)
        return tn_and(ctx, a, b);
    return op == TN_KIND_OR ? tn_or(ctx, a, b) : tn_bin(ctx, op, a, b);
}

const tn_expr *
tn_apply_rules(tn_ctx *ctx, const tn_expr *e)
{
    for (uint32_t i = 0; i < tn_n_arith_rules; i++) {
        const tn_arith_rule *r = &tn_arith_rules[i];
        if (op_named(r->lhs + 1) != (tn_kind)e->kind)
            continue;
        matcher m = {.ctx = ctx};
        const char *s = r->lhs;
        if (!match(&m, &s, e))
            continue;
        int64_t holds = 1;
        s = r->cond;
        if (s && (!value_of(&m, &s, &holds) || !holds))
            continue;
        s = r->rhs;
        return build(&m, &s, tn_dtype_of(e));
    }
    return NULL;
}
