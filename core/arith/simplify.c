/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions to polynomials and back: the canonical simplifier.
 *
 * Integers of 32 and 64 bits are index expressions: they are taken not to overflow, as everywhere
 * in the IR, but for what is computed from loaded elements, which wraps (poly.h). Other integers wrap, and floats
 * round, so of these only literals are folded and exact identities used. Results are remembered per node under the present assumptions.
 */
#include "poly.h"
#include "simplify.h"

static const tn_expr *
simp(tn_arith *a, const tn_expr *e);

/* ---- assumptions made on the way ---- */

static tnb_ptrmap *
new_map(tn_arith *a)
{
    tnb_ptrmap *m = TNB_NEW(a->arena, tnb_ptrmap);
    tnb_ptrmap_init(m, a->arena);
    return m;
}

void
tn_arith_forget(tn_arith *a)
{
    a->polys = new_map(a);
    a->exprs = new_map(a);
    a->epoch++;
}

uint32_t
tn_arith_push(tn_arith *a, const tn_expr *condition)
{
    uint32_t mark = a->frames.n;
    const tn_expr *c = condition ? simp(a, condition) : NULL;
    tn_arith_frame f = {a->facts.n, a->conds.n, a->undo.n, a->falses.n,
                        a->learned, a->polys,   a->exprs};
    TNB_PUSH(a->arena, a->frames, f);
    if (c)
        tn_arith_assume(a, c);
    tn_arith_forget(a);
    return mark;
}

void
tn_arith_pop(tn_arith *a, uint32_t mark)
{
    while (a->frames.n > mark) {
        tn_arith_frame f = a->frames.at[--a->frames.n];
        a->facts.n = f.n_facts;
        a->conds.n = f.n_conds;
        a->falses.n = f.n_falses;
        a->learned = f.learned;
        while (a->undo.n > f.n_undo) {
            tn_known k = a->undo.at[--a->undo.n];
            k.atom->known_lo = k.lo;
            k.atom->known_hi = k.hi;
        }
        a->polys = f.polys;
        a->exprs = f.exprs;
        a->epoch++;
    }
}

/* e simplified where `cond` holds. */
static const tn_expr *
simp_under(tn_arith *a, const tn_expr *cond, const tn_expr *e)
{
    enum { MAX_CONTEXTS = 6 };
    if (a->contexts >= MAX_CONTEXTS || tn_is(e, TN_KIND_INT_IMM) || tn_is(e, TN_KIND_FLOAT_IMM))
        return simp(a, e);
    a->contexts++;
    uint32_t mark = tn_arith_push(a, cond);
    const tn_expr *r = simp(a, e);
    tn_arith_pop(a, mark);
    a->contexts--;
    return r;
}

/* ---- what may not be merged ---- */

static tn_walk_step
find_impure(void *user, const tn_node *n)
{
    (void)user;
    const tn_call *c = tn_as_call(n);
    if (!c)
        return tn_is(n, TN_KIND_BUFFER) ? TN_WALK_SKIP : TN_WALK_ON;
    const tn_op *op = tn_call_op_of(c);
    if (!op || (op->flags & (TN_OP_IMPURE | TN_OP_READS_MEMORY)))
        return TN_WALK_STOP;
    return TN_WALK_ON;
}

static bool
is_impure(const tn_expr *e)
{
    return !tn_walk(e, 0, find_impure, NULL, NULL);
}

/* ---- what is computed from loaded elements ---- */

static tn_walk_step
find_data(void *user, const tn_node *n)
{
    tn_arith *a = user;
    if (n->kind == TN_KIND_BUFFER_LOAD)
        return TN_WALK_STOP;
    if (a->data_vars && tn_is_var(n)) {
        const tn_atom *t = tnb_ptrmap_get(&a->vars, n);
        return t && t->data ? TN_WALK_STOP : TN_WALK_ON;
    }
    /* an index that is looked at is one */
    return n->kind == TN_KIND_CALL && tn_is_intrin(n, TN_INTRIN_index_in) ? TN_WALK_SKIP
                                                                          : TN_WALK_ON;
}

bool
tn_is_data(tn_arith *a, const tn_expr *e)
{
    return !tn_walk(e, 0, find_data, NULL, a);
}

static const tn_poly *
opaque(tn_arith *a, const tn_expr *e)
{
    return tn_poly_atom(a, tn_atom_opaque(a, e, is_impure(e), tn_is_data(a, e)));
}

/* ---- what may trap ---- */

static bool
never_zero(const tn_expr *divisor)
{
    int64_t v;
    return tn_int_value(divisor, &v) && v != 0;
}

static tn_walk_step
find_trap(void *user, const tn_node *n)
{
    (void)user;
    if (tn_is(n, TN_KIND_BUFFER))
        return TN_WALK_SKIP;
    bool divides = n->kind == TN_KIND_DIV || n->kind == TN_KIND_MOD ||
                   n->kind == TN_KIND_FLOOR_DIV || n->kind == TN_KIND_FLOOR_MOD;
    if (divides && !tnb_dtype_is_float(tn_dtype_of(n)) && !never_zero(tn_as_binary(n)->b))
        return TN_WALK_STOP;
    if (tn_is(n, TN_KIND_BUFFER_LOAD))
        return TN_WALK_STOP;
    return find_impure(NULL, n);
}

/* A side of a Select simplified. Both sides are evaluated whatever the condition says, so it may not
 * be used where the side divides, reads memory or calls what does: without the clamp of
 * Select(n > 0, i // max(n, 1), 0) the program divides by 0, and without that of an index it reads
 * elsewhere. */
static const tn_expr *
simp_side(tn_arith *a, const tn_expr *cond, const tn_expr *e)
{
    if (tn_dtype_of(cond).lanes != 1 || !tn_walk(e, 0, find_trap, NULL, NULL))
        return simp(a, e);
    return simp_under(a, cond, e);
}

/* ---- what is refused ---- */

typedef TNB_VEC(const tn_expr *) check_vec;

typedef struct check_search {
    tnb_arena *arena;
    check_vec *all; /* NULL: one is enough */
} check_search;

static tn_walk_step
find_index_check(void *user, const tn_node *n)
{
    check_search *s = user;
    if (tn_is(n, TN_KIND_BUFFER))
        return TN_WALK_SKIP;
    if (n->kind != TN_KIND_CALL || !tn_is_intrin(n, TN_INTRIN_index_in))
        return TN_WALK_ON;
    if (!s->all)
        return TN_WALK_STOP;
    TNB_PUSH(s->arena, *s->all, n);
    return TN_WALK_ON;
}

static bool
has_check(tn_arith *a, const tn_expr *e)
{
    check_search s = {a->arena, NULL};
    return a->checks && !tn_walk(e, 0, find_index_check, NULL, &s);
}

/* Whether every index that `from` looks at is looked at by `to`. */
static bool
keeps_checks(tn_arith *a, const tn_expr *from, const tn_expr *to)
{
    check_vec before = {0}, after = {0};
    if (!has_check(a, from))
        return true;
    tn_walk(from, 0, find_index_check, NULL, &(check_search){a->arena, &before});
    tn_walk(to, 0, find_index_check, NULL, &(check_search){a->arena, &after});
    for (uint32_t i = 0; i < before.n; i++) {
        uint32_t j = 0;
        while (j < after.n && before.at[i] != after.at[j] &&
               !tn_equal(a->ctx, before.at[i], after.at[j], false, NULL))
            j++;
        if (j == after.n)
            return false;
    }
    return true;
}

/* The result of a rule, unless an index that came as data would not be looked at any more. */
static const tn_expr *
ruled(tn_arith *a, const tn_expr *e)
{
    const tn_expr *r = tn_apply_rules(a->ctx, e);
    return r && keeps_checks(a, e, r) ? r : NULL;
}

/* r, which is e simplified, or e with simplified operands where r has no longer what refuses an index: that
 * T.index_in(i, 1) can only be 0 does not mean that i is. */
static const tn_expr *
with_checks(tn_arith *a, const tn_expr *e, const tn_expr *r)
{
    const tn_binary *b = tn_as_binary(e);
    if (r == e || !b || !has_check(a, e))
        return r;
    const tn_expr *x = simp(a, b->a), *y = simp(a, b->b);
    const tn_expr *same = x == b->a && y == b->b ? e : tn_raw_binary(a->ctx, e->kind, x, y);
    return keeps_checks(a, same, r) ? r : same;
}

/* ---- the node again with simplified children ---- */

typedef struct child_pass {
    tn_arith *a;
    const tn_node *root;
} child_pass;

static const tn_node *
pre_child(tn_rewriter *r, const tn_node *n)
{
    child_pass *p = r->user;
    if (n == p->root)
        return NULL;
    if (tn_is_type(n) || tn_is(n, TN_KIND_BUFFER))
        return n;
    return tn_is_scalar(n) ? simp(p->a, n) : NULL;
}

static tn_list
simp_list(tn_arith *a, tn_list l)
{
    const tn_node **at = NULL;
    for (uint32_t i = 0; i < l.n; i++) {
        const tn_node *r = tn_is_scalar(l.at[i]) ? simp(a, l.at[i]) : l.at[i];
        if (!at && r != l.at[i])
            at = tnb_dup(a->arena, l.at, l.n * sizeof *l.at);
        if (at)
            at[i] = r;
    }
    return at ? tn_list_of(a->ctx, at, l.n) : l;
}

static bool
is_zero_divisor(tn_kind kind, const tn_expr *b)
{
    return (kind == TN_KIND_DIV || kind == TN_KIND_MOD || kind == TN_KIND_FLOOR_DIV ||
            kind == TN_KIND_FLOOR_MOD) &&
           tn_is_int_const(b, 0);
}

/* a `kind` b folded when that is exact, else the node. */
static const tn_expr *
fold_binary(tn_arith *a, tn_kind kind, const tn_expr *x, const tn_expr *y)
{
    tn_ctx *ctx = a->ctx;
    if (is_zero_divisor(kind, y))
        return tn_raw_binary(ctx, kind, x, y);
    if (tn_is_compare(kind))
        return tn_cmp(ctx, kind, x, y);
    if (kind == TN_KIND_AND)
        return tn_and(ctx, x, y);
    if (kind == TN_KIND_OR)
        return tn_or(ctx, x, y);
    if (!tnb_dtype_is_float(tn_dtype_of(x)))
        return tn_bin(ctx, kind, x, y);
    const tn_float_imm *f = tn_as_float_imm(x), *g = tn_as_float_imm(y);
    double r;
    if (f && g && tn_fold_float(kind, tn_dtype_of(x), f->value, g->value, &r))
        return tn_float_imm_of(ctx, tn_dtype_of(x), r);
    if (g && g->value == 1 && (kind == TN_KIND_MUL || kind == TN_KIND_DIV))
        return x;
    if (f && f->value == 1 && kind == TN_KIND_MUL)
        return y;
    if (g && kind == TN_KIND_SUB && g->value == 0 && !__builtin_signbit(g->value))
        return x;
    if (x == y && (kind == TN_KIND_MIN || kind == TN_KIND_MAX))
        return x;
    return tn_raw_binary(ctx, kind, x, y);
}

static const tn_expr *
rebuild(tn_arith *a, const tn_expr *e)
{
    tn_ctx *ctx = a->ctx;
    const tn_binary *b = tn_as_binary(e);
    if (b) {
        const tn_expr *x = simp(a, b->a), *y = simp(a, b->b);
        const tn_expr *r = fold_binary(a, e->kind, x, y);
        return x == b->a && y == b->b && r->kind == e->kind ? e : r;
    }
    const tn_cast *c = tn_as_cast(e);
    if (c) {
        const tn_expr *v = simp(a, c->value);
        return v == c->value && !tn_is(v, TN_KIND_INT_IMM) && !tn_is(v, TN_KIND_FLOAT_IMM)
                   ? e
                   : tn_cast_to(ctx, tn_dtype_of(e), v);
    }
    const tn_buffer_load *l = tn_as_buffer_load(e);
    if (l) {
        tn_list at = simp_list(a, l->indices);
        return at.at == l->indices.at ? e : tn_buffer_load_of(ctx, l->buffer, at);
    }
    const tn_call *call = tn_as_call(e);
    if (call) {
        tn_call f = *call;
        f.args = simp_list(a, call->args);
        return f.args.at == call->args.at ? e : tn_rebuild(ctx, TN_KIND_CALL, &f, e->type);
    }
    child_pass p = {a, e};
    tn_rewriter r = {.ctx = ctx, .user = &p, .pre = pre_child};
    return tn_rewrite(&r, e);
}

/* ---- integers ---- */

static int
poly_order(const tn_poly *x, const tn_poly *y)
{
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        if (x->t[i].mono != y->t[i].mono)
            return x->t[i].mono->at[0]->lead < y->t[i].mono->at[0]->lead   ? -1
                   : x->t[i].mono->at[0]->lead > y->t[i].mono->at[0]->lead ? 1
                   : x->t[i].mono->id < y->t[i].mono->id                   ? -1
                                                                           : 1;
        if (x->t[i].coef != y->t[i].coef)
            return x->t[i].coef < y->t[i].coef ? -1 : 1;
    }
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1; /* literals last */
    return x->k < y->k ? -1 : x->k > y->k;
}

/* A product that may have wrapped around. No factor may be taken out of it. */
static bool
product_atom(const tn_poly *p)
{
    const tn_atom *t = tn_poly_as_atom(p);
    return t && t->kind == TN_ATOM_OPAQUE && t->expr->kind == TN_KIND_MUL;
}

static const tn_poly *
min_max(tn_arith *a, tn_kind kind, tnb_dtype d, const tn_poly *x, const tn_poly *y)
{
    if (!x || !y)
        return NULL;
    bool is_min = kind == TN_KIND_MIN;
    const tn_poly *diff = tn_poly_lin(a, 1, x, -1, y);
    if (!diff)
        return NULL;
    /* what bounds tell comes before proofs, one of which would fail */
    int64_t lo, hi;
    tn_poly_bounds(a, diff, &lo, &hi);
    if (!diff->impure && hi <= 0)
        return is_min ? x : y;
    if (!diff->impure && lo >= 0)
        return is_min ? y : x;
    if (tn_poly_ge0(a, tn_poly_lin(a, -1, diff, 0, diff)))
        return is_min ? x : y;
    if (tn_poly_ge0(a, diff))
        return is_min ? y : x;
    /* terms that both hold stand outside */
    tn_term *t = TNB_NEW_N(a->arena, tn_term, x->n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0, j = 0; i < x->n; i++) {
        for (j = 0; j < y->n && y->t[j].mono != x->t[i].mono; j++)
            ;
        if (j < y->n && y->t[j].coef == x->t[i].coef)
            t[n++] = x->t[i];
    }
    int64_t k = x->k == y->k && x->n && y->n ? x->k : 0;
    const tn_poly *common = n || k ? tn_poly_of_terms(a, k, t, n) : NULL;
    if (common) {
        x = tn_poly_lin(a, 1, x, -1, common);
        y = tn_poly_lin(a, 1, y, -1, common);
        if (!x || !y)
            return NULL;
    }
    if (poly_order(x, y) > 0) {
        const tn_poly *s = x;
        x = y;
        y = s;
    }
    const tn_expr *ex = tn_poly_emit(a, x, d), *ey = tn_poly_emit(a, y, d);
    if (!ex || !ey)
        return NULL;
    const tn_expr *r = NULL;
    if (!product_atom(x) && !product_atom(y))
        r = tn_apply_rules(a->ctx, tn_raw_binary(a->ctx, kind, ex, ey));
    const tn_poly *p =
        r ? tn_poly_of(a, r)
          : tn_poly_atom(a, tn_atom_of(a, &(tn_atom){.kind = is_min ? TN_ATOM_MIN : TN_ATOM_MAX,
                                                     .dtype = d,
                                                     .p = x,
                                                     .q = y}));
    return p && common ? tn_poly_lin(a, 1, common, 1, p) : p;
}

static const tn_poly *
cast_poly(tn_arith *a, const tn_poly *p, tnb_dtype from, tnb_dtype to);

static const tn_poly *
cast_atom(tn_arith *a, tn_atom *t, tnb_dtype from, tnb_dtype to)
{
    int64_t lo, hi;
    if (t->kind == TN_ATOM_CAST && tnb_dtype_eq(t->from, to)) {
        tn_poly_bounds(a, t->p, &lo, &hi);
        if (lo >= INT32_MIN && hi <= INT32_MAX)
            return t->p;
    }
    switch (t->kind) {
    case TN_ATOM_SPLIT:
        return tn_poly_split(a, to, cast_poly(a, t->p, from, to), t->l, t->u);
    case TN_ATOM_DIV:
        return tn_poly_floordiv(a, to, cast_poly(a, t->p, from, to), cast_poly(a, t->q, from, to));
    case TN_ATOM_MOD:
        return tn_poly_floormod(a, to, cast_poly(a, t->p, from, to), cast_poly(a, t->q, from, to));
    case TN_ATOM_MIN:
    case TN_ATOM_MAX:
        return min_max(a, t->kind == TN_ATOM_MIN ? TN_KIND_MIN : TN_KIND_MAX, to,
                       cast_poly(a, t->p, from, to), cast_poly(a, t->q, from, to));
    default:
        break;
    }
    tn_atom key = {.kind = TN_ATOM_CAST, .dtype = to, .from = from, .p = tn_poly_atom(a, t)};
    return tn_poly_atom(a, tn_atom_of(a, &key));
}

/* A widening cast is pushed to the atoms: index arithmetic does not overflow. */
static const tn_poly *
cast_poly(tn_arith *a, const tn_poly *p, tnb_dtype from, tnb_dtype to)
{
    const tn_poly *sum = p ? tn_poly_const(a, p->k) : NULL;
    for (uint32_t i = 0; sum && i < p->n; i++) {
        const tn_mono *m = p->t[i].mono;
        const tn_poly *f = cast_atom(a, m->at[0], from, to);
        for (uint32_t j = 1; f && j < m->n; j++)
            f = tn_poly_mul(a, f, cast_atom(a, m->at[j], from, to));
        sum = tn_poly_lin(a, 1, sum, p->t[i].coef, f);
    }
    return sum;
}

/* A narrowing cast comes off when all that is below was widened from that dtype. */
static const tn_poly *
narrow_poly(tn_arith *a, const tn_poly *p, tnb_dtype to)
{
    int64_t lo, hi;
    tn_poly_bounds(a, p, &lo, &hi);
    const tn_poly *sum = tn_wrap_int(to, p->k) == p->k ? tn_poly_const(a, p->k) : NULL;
    for (uint32_t i = 0; sum && i < p->n; i++) {
        const tn_mono *m = p->t[i].mono;
        const tn_poly *f = tn_poly_const(a, 1);
        for (uint32_t j = 0; f && j < m->n; j++) {
            const tn_atom *t = m->at[j];
            bool widened = t->kind == TN_ATOM_CAST && tnb_dtype_eq(t->from, to);
            f = widened ? tn_poly_mul(a, f, t->p) : NULL;
        }
        bool one = p->n == 1 && p->k == 0 && p->t[0].coef == 1 && m->n == 1;
        if (f && !one && (lo < INT32_MIN || hi > INT32_MAX))
            f = NULL;
        sum = tn_poly_lin(a, 1, sum, p->t[i].coef, f);
    }
    return sum;
}

static const tn_poly *
poly_of_division(tn_arith *a, const tn_expr *e, const tn_binary *b)
{
    tnb_dtype d = tn_dtype_of(e);
    const tn_poly *x = tn_number_of(a, b->a), *y = tn_number_of(a, b->b);
    if (e->kind == TN_KIND_DIV || e->kind == TN_KIND_MOD) {
        /* truncation is floor when both are nonnegative */
        int64_t lo, hi, lo2, hi2;
        tn_poly_bounds(a, x, &lo, &hi);
        tn_poly_bounds(a, y, &lo2, &hi2);
        if ((lo < 0 || lo2 < 0) && !(x->n == 0 && y->n == 0))
            return NULL;
        int64_t r;
        if (x->n == 0 && y->n == 0)
            return tn_fold_int(e->kind, d, x->k, y->k, &r) ? tn_poly_const(a, r) : NULL;
    }
    bool quotient = e->kind == TN_KIND_DIV || e->kind == TN_KIND_FLOOR_DIV;
    return quotient ? tn_poly_floordiv(a, d, x, y) : tn_poly_floormod(a, d, x, y);
}

/* Sums are walked along their left side without recursion. */
static const tn_poly *
poly_of_sum(tn_arith *a, const tn_expr *e)
{
    const tn_poly *sum = tn_poly_const(a, 0);
    while (sum && (e->kind == TN_KIND_ADD || e->kind == TN_KIND_SUB) &&
           !tnb_ptrmap_has(a->polys, e)) {
        const tn_binary *b = tn_as_binary(e);
        sum = tn_poly_lin(a, 1, sum, e->kind == TN_KIND_ADD ? 1 : -1, tn_poly_of(a, b->b));
        e = b->a;
    }
    return tn_poly_lin(a, 1, sum, 1, tn_poly_of(a, e));
}

/* NULL: not arithmetic, or it overflows. */
static const tn_poly *
poly_of_arithmetic(tn_arith *a, const tn_expr *e)
{
    tnb_dtype d = tn_dtype_of(e);
    const tn_binary *b = tn_as_binary(e);
    const tn_poly *p = NULL;
    switch (e->kind) {
    case TN_KIND_ADD:
    case TN_KIND_SUB: {
        /* atoms are numbered in the order of the text: visit the leftmost first */
        const tn_expr *left = e;
        while ((left->kind == TN_KIND_ADD || left->kind == TN_KIND_SUB) &&
               !tnb_ptrmap_has(a->polys, left))
            left = tn_as_binary(left)->a;
        tn_poly_of(a, left);
        TNB_VEC(const tn_expr *) rights = {0};
        for (const tn_expr *s = e; s != left; s = tn_as_binary(s)->a)
            TNB_PUSH(a->arena, rights, tn_as_binary(s)->b);
        for (uint32_t i = rights.n; i-- > 0;)
            tn_poly_of(a, rights.at[i]);
        p = poly_of_sum(a, e);
        return p ? tn_poly_join(a, d, p) : NULL;
    }
    case TN_KIND_MUL: {
        const tn_poly *x = tn_poly_of(a, b->a);
        p = tn_poly_mul(a, x, tn_poly_of(a, b->b));
        return p ? tn_poly_join(a, d, p) : NULL;
    }
    case TN_KIND_DIV:
    case TN_KIND_MOD:
    case TN_KIND_FLOOR_DIV:
    case TN_KIND_FLOOR_MOD:
        return poly_of_division(a, e, b);
    case TN_KIND_MIN:
    case TN_KIND_MAX: {
        const tn_poly *x = tn_number_of(a, b->a);
        return min_max(a, e->kind, d, x, tn_number_of(a, b->b));
    }
    case TN_KIND_CAST: {
        const tn_expr *v = tn_as_cast(e)->value;
        tnb_dtype from = tn_dtype_of(v);
        if (!tn_is_index_dtype(from))
            return NULL;
        const tn_poly *x = tn_number_of(a, v);
        return from.bits <= d.bits ? cast_poly(a, x, from, d) : narrow_poly(a, x, d);
    }
    default:
        return NULL;
    }
}

static const tn_expr *
simp_choice(tn_arith *a, const tn_expr *e);

const tn_poly *
tn_poly_of(tn_arith *a, const tn_expr *e)
{
    const tn_poly *p = tnb_ptrmap_get(a->polys, e);
    int64_t v;
    if (p)
        return p;
    if (tn_int_value(e, &v))
        return tn_poly_const(a, v);
    if (tn_is_var(e)) {
        const tn_expr *value = tnb_ptrmap_get(&a->values, e);
        return value ? tn_poly_of(a, value) : tn_poly_atom(a, tn_atom_var(a, e));
    }
    p = poly_of_arithmetic(a, e);
    if (p && p->n == 0)
        p = tn_poly_const(a, tn_wrap_int(tn_dtype_of(e), p->k));
    if (!p) {
        const tn_expr *r = simp_choice(a, e);
        bool again = r != e && r->kind != e->kind && tn_is_index_dtype(tn_dtype_of(r));
        p = again ? tn_poly_of(a, r) : opaque(a, r);
    }
    if (!p->impure)
        tnb_ptrmap_set(a->polys, e, p);
    return p;
}

const tn_poly *
tn_number_of(tn_arith *a, const tn_expr *e)
{
    const tn_poly *p = tn_poly_of(a, e);
    if (!tn_poly_may_wrap(a, p, tn_dtype_of(e)))
        return p;
    const tn_expr *sum = tn_poly_emit(a, p, tn_dtype_of(e));
    return opaque(a, sum ? sum : rebuild(a, e));
}

/* ---- which of two equal expressions ---- */

static uint32_t
count_nodes(const tn_expr *e, uint32_t limit)
{
    uint32_t n = 1;
    const tn_node *few[3] = {NULL};
    tn_list many = {NULL, 0};
    switch ((int)e->kind) {
    case TN_KIND_INT_IMM:
    case TN_KIND_FLOAT_IMM:
    case TN_KIND_VAR:
        return 1;
    case TN_KIND_CAST:
        few[0] = ((const tn_cast *)e)->value;
        break;
    case TN_KIND_SELECT:
        few[0] = ((const tn_select *)e)->cond;
        few[1] = ((const tn_select *)e)->a;
        few[2] = ((const tn_select *)e)->b;
        break;
    case TN_KIND_CALL:
        many = ((const tn_call *)e)->args;
        break;
    case TN_KIND_BUFFER_LOAD:
        many = ((const tn_buffer_load *)e)->indices;
        break;
    default:
        if (tn_is_binary(e)) {
            few[0] = ((const tn_binary *)e)->a;
            few[1] = ((const tn_binary *)e)->b;
        } else if (tn_as_unary(e)) {
            few[0] = ((const tn_unary *)e)->a;
        }
    }
    for (int i = 0; i < 3 && few[i] && n < limit; i++)
        n += count_nodes(few[i], limit - n);
    for (uint32_t i = 0; i < many.n && n < limit; i++)
        n += count_nodes(many.at[i], limit - n);
    return n;
}

static const tn_expr *
simp_index(tn_arith *a, const tn_expr *e)
{
    enum { LIMIT = 4000 };
    if (tn_is(e, TN_KIND_INT_IMM))
        return e;
    const tn_expr *r = tn_poly_emit(a, tn_poly_of(a, e), tn_dtype_of(e));
    if (r == e)
        return e;
    uint32_t size = count_nodes(e, LIMIT);
    /* a product of sums is left as it is unless expanding makes it shorter */
    const tn_binary *b = tn_is(e, TN_KIND_MUL) ? tn_as_binary(e) : NULL;
    bool product = b && !tn_is(b->a, TN_KIND_INT_IMM) && !tn_is(b->b, TN_KIND_INT_IMM);
    if (r && count_nodes(r, LIMIT) + product > size) {
        const tn_expr *s = rebuild(a, e); /* expanding did not pay: only the parts */
        if (count_nodes(s, LIMIT) <= size)
            r = s;
    }
    if (!r)
        r = rebuild(a, e);
    return r == e || tn_equal(a->ctx, r, e, false, NULL) ? e : r;
}

/* ---- comparisons ---- */

/* diff `kind` 0 with common factors and divisions by literals taken away. */
static const tn_poly *
reduce_compare(tn_arith *a, tn_kind kind, const tn_poly *diff)
{
    int64_t g = tn_poly_gcd(diff), k = diff->k;
    if (g > 1 && k != INT64_MIN) {
        tn_term *t = TNB_NEW_N(a->arena, tn_term, diff->n);
        for (uint32_t i = 0; i < diff->n; i++)
            t[i] = (tn_term){diff->t[i].coef / g, diff->t[i].mono};
        if (kind == TN_KIND_LT)
            k = tn_floor_div_i64(k, g);
        else if (kind == TN_KIND_LE)
            k = -tn_floor_div_i64(-k, g);
        else
            k /= g; /* exact, else it would have been decided */
        diff = tn_poly_of_terms(a, k, t, diff->n);
        if (!diff)
            return NULL;
    }
    if (diff->n != 1 || (kind != TN_KIND_LT && kind != TN_KIND_LE) || diff->t[0].mono->n != 1)
        return diff;
    const tn_atom *s = diff->t[0].mono->at[0];
    int64_t c = diff->t[0].coef, m;
    if (s->kind != TN_ATOM_SPLIT || s->u != 0 || (c != 1 && c != -1))
        return diff;
    k = diff->k;
    const tn_poly *r = NULL;
    bool lt = kind == TN_KIND_LT;
    if (c == 1) { /* s < m is x < m*l; s <= m is x <= (m+1)*l - 1 */
        if (tnb_sub_i64(lt ? 0 : 1, k, &m) && tnb_mul_i64(m, s->l, &m))
            r = tn_poly_add_const(a, tn_poly_lin(a, 1, s->p, 0, s->p), lt ? -m : 1 - m);
    } else { /* k < s is (k+1)*l - 1 < x; k <= s is k*l <= x */
        if (tnb_add_i64(k, lt ? 1 : 0, &m) && tnb_mul_i64(m, s->l, &m))
            r = tn_poly_add_const(a, tn_poly_lin(a, -1, s->p, 0, s->p), lt ? m - 1 : m);
    }
    return r ? reduce_compare(a, kind, r) : diff;
}

/* diff `kind` 0 as an expression with positive terms on both sides; NULL if a number does not fit.
 */
static const tn_expr *
emit_compare(tn_arith *a, tn_kind kind, tnb_dtype d, const tn_poly *diff)
{
    tn_term *l = TNB_NEW_N(a->arena, tn_term, diff->n + 1),
            *r = TNB_NEW_N(a->arena, tn_term, diff->n + 1);
    uint32_t nl = 0, nr = 0;
    for (uint32_t i = 0; i < diff->n; i++) {
        if (diff->t[i].coef == INT64_MIN)
            return NULL;
        if (diff->t[i].coef > 0)
            l[nl++] = diff->t[i];
        else
            r[nr++] = (tn_term){-diff->t[i].coef, diff->t[i].mono};
    }
    int64_t k = diff->k;
    if (k == INT64_MIN)
        return NULL;
    bool left = nl == 0 || (nr != 0 && k > 0);
    const tn_poly *p = tn_poly_of_terms(a, left ? k : 0, l, nl);
    const tn_poly *q = tn_poly_of_terms(a, left ? 0 : -k, r, nr);
    if (!p || !q || tn_poly_may_wrap(a, p, d) || tn_poly_may_wrap(a, q, d))
        return NULL;
    const tn_expr *x = tn_poly_emit(a, p, d), *y = tn_poly_emit(a, q, d);
    if (!x || !y)
        return NULL;
    bool swap = nl == 0 && (kind == TN_KIND_EQ || kind == TN_KIND_NE);
    return swap ? tn_raw_binary(a->ctx, kind, y, x) : tn_raw_binary(a->ctx, kind, x, y);
}

static const tn_expr *
simp_compare(tn_arith *a, const tn_expr *e)
{
    const tn_binary *b = tn_as_binary(e);
    tn_kind kind = e->kind;
    tnb_dtype d = tn_dtype_of(b->a);
    if (!tn_is_index_dtype(d))
        return rebuild(a, e);
    const tn_poly *p = tn_number_of(a, b->a);
    const tn_poly *q = tn_number_of(a, b->b);
    bool swap = kind == TN_KIND_GT || kind == TN_KIND_GE;
    if (swap)
        kind = kind == TN_KIND_GT ? TN_KIND_LT : TN_KIND_LE;
    const tn_poly *diff = swap ? tn_poly_lin(a, 1, q, -1, p) : tn_poly_lin(a, 1, p, -1, q);
    if (diff)
        diff = tn_poly_join(a, d, diff);
    if (!diff)
        return rebuild(a, e);
    int known = tn_poly_decide(a, kind, diff);
    if (known >= 0)
        return tn_bool(a->ctx, known != 0);
    diff = reduce_compare(a, kind, diff);
    const tn_expr *r = diff ? emit_compare(a, kind, d, diff) : NULL;
    if (!r)
        return rebuild(a, e);
    if (count_nodes(r, 4000) > count_nodes(e, 4000)) {
        const tn_expr *s = rebuild(a, e);
        if (s->kind == TN_KIND_GT || s->kind == TN_KIND_GE) {
            const tn_binary *sb = tn_as_binary(s);
            s = tn_raw_binary(a->ctx, kind, sb->b, sb->a);
        }
        if (count_nodes(s, 4000) < count_nodes(r, 4000))
            r = s;
    }
    const tn_expr *better = ruled(a, r);
    if (better)
        return simp(a, better);
    return tn_equal(a->ctx, r, e, false, NULL) ? e : r;
}

/* ---- logic and choice ---- */

static const tn_expr *
simp_logic(tn_arith *a, const tn_expr *e)
{
    tn_ctx *ctx = a->ctx;
    const tn_unary *u = tn_as_unary(e);
    const tn_expr *r;
    if (u) {
        const tn_expr *x = simp(a, u->a);
        r = x == u->a && !tn_is(x, TN_KIND_INT_IMM) ? e : tn_not(ctx, x);
    } else {
        const tn_binary *b = tn_as_binary(e);
        const tn_expr *x = simp(a, b->a), *y;
        bool is_and = e->kind == TN_KIND_AND;
        int64_t v;
        if (tn_int_value(x, &v))
            return (v != 0) == is_and ? simp(a, b->b) : x;
        /* the second operand matters only where the first does not decide */
        y = simp_under(a, is_and ? x : tn_not(ctx, x), b->b);
        if (tn_int_value(y, &v) && ((v != 0) == is_and || !has_check(a, x)))
            return (v != 0) == is_and ? x : y;
        r = x == b->a && y == b->b ? e : tn_raw_binary(ctx, e->kind, x, y);
    }
    const tn_expr *better = ruled(a, r);
    return better ? simp(a, better) : r;
}

static const tn_expr *
known_condition(tn_arith *a, const tn_expr *e)
{
    if (tn_is(e, TN_KIND_INT_IMM))
        return e;
    for (uint32_t i = 0; i < a->conds.n; i++)
        if (a->conds.at[i] == e || tn_equal(a->ctx, a->conds.at[i], e, false, NULL))
            return tn_bool(a->ctx, true);
    for (uint32_t i = 0; i < a->falses.n; i++)
        if (a->falses.at[i] == e || tn_equal(a->ctx, a->falses.at[i], e, false, NULL))
            return tn_bool(a->ctx, false);
    return e;
}

static const tn_expr *
simp_let(tn_arith *a, const tn_expr *e)
{
    const tn_let *l = tn_as_let(e);
    const tn_expr *v = simp(a, l->value);
    if (tn_is(v, TN_KIND_INT_IMM) || tn_is(v, TN_KIND_FLOAT_IMM) || tn_is_var(v)) {
        tnb_ptrmap_set(&a->values, l->var, v); /* bound nowhere else: nothing to forget */
        return simp(a, l->body);
    }
    if (tn_is_index_dtype(tn_dtype_of(v))) {
        tn_atom *t = tn_atom_var(a, l->var);
        const tn_poly *value = tn_number_of(a, v);
        tn_poly_bounds(a, value, &t->known_lo, &t->known_hi);
        t->data = value->data;
        a->data_vars |= t->data;
        a->marked |= t->data;
        tn_arith_learn(a, t->id, (uint64_t)t->known_lo, (uint64_t)t->known_hi);
        a->epoch++;
    }
    const tn_expr *body = simp(a, l->body);
    if (!tn_uses(body, l->var) && !is_impure(v) && !has_check(a, v))
        return body;
    return v == l->value && body == l->body ? e : tn_let_of(a->ctx, l->var, v, body);
}

/* An index that is known to be in its range is not looked at again; one that is not negative does not
 * wrap. */
static const tn_expr *
checked_index(tn_arith *a, const tn_expr *e, const tn_call *c)
{
    tn_ctx *ctx = a->ctx;
    const tn_expr *i = c->args.at[0], *n = c->args.at[1];
    a->checks = true;
    if (tn_dtype_of(i).lanes != 1 || tn_dtype_of(n).lanes != 1 ||
        !tn_prove(a, tn_ge_of(ctx, i, tn_int_imm_of(ctx, tn_dtype_of(i), 0))))
        return e;
    if (tn_prove(a, tn_lt_of(ctx, i, n)))
        return i;
    if (tn_is_int_const(c->args.at[2], 0))
        return e;
    tn_call f = *c;
    f.args = tn_list_with(ctx, c->args, 2, tn_int_imm_of(ctx, tn_dtype_of(c->args.at[2]), 0));
    return tn_rebuild(ctx, TN_KIND_CALL, &f, e->type);
}

static const tn_expr *
simp_call(tn_arith *a, const tn_expr *e)
{
    tn_ctx *ctx = a->ctx;
    const tn_call *c = tn_as_call(e);
    tn_intrin_id id = tn_intrin_of(e);
    int64_t v;
    if (id == TN_INTRIN_if_then_else) {
        const tn_expr *cond = simp(a, c->args.at[0]);
        if (tn_int_value(cond, &v))
            return simp(a, c->args.at[v ? 1 : 2]);
        const tn_expr *x = simp_under(a, cond, c->args.at[1]);
        const tn_expr *y = simp_under(a, tn_not(ctx, cond), c->args.at[2]);
        if ((x == y || tn_equal(ctx, x, y, false, NULL)) && !has_check(a, cond))
            return x;
        if (cond == c->args.at[0] && x == c->args.at[1] && y == c->args.at[2])
            return e;
        return tn_if_then_else(ctx, cond, x, y);
    }
    const tn_expr *r = rebuild(a, e);
    c = tn_as_call(r);
    if (id == TN_INTRIN_index_in && c)
        return checked_index(a, r, c);
    if (!c || c->args.n != 2 || !tn_is(c->args.at[0], TN_KIND_INT_IMM) ||
        !tn_int_value(c->args.at[1], &v))
        return r;
    const tn_expr *x = c->args.at[0], *y = c->args.at[1];
    bool in_range = v >= 0 && v < tn_dtype_of(x).bits;
    switch ((int)id) {
    case TN_INTRIN_bitwise_and:
        return tn_bitwise_and(ctx, x, y);
    case TN_INTRIN_bitwise_or:
        return tn_bitwise_or(ctx, x, y);
    case TN_INTRIN_bitwise_xor:
        return tn_bitwise_xor(ctx, x, y);
    case TN_INTRIN_shift_left:
        return in_range ? tn_shift_left(ctx, x, y) : r;
    case TN_INTRIN_shift_right:
        return in_range ? tn_shift_right(ctx, x, y) : r;
    default:
        return r;
    }
}

/* Everything whose value is not integer arithmetic: choice, calls, loads, lets, casts. */
static const tn_expr *
simp_choice(tn_arith *a, const tn_expr *e)
{
    switch (e->kind) {
    case TN_KIND_SELECT: {
        const tn_select *s = tn_as_select(e);
        const tn_expr *c = simp(a, s->cond);
        int64_t v;
        if (tn_int_value(c, &v))
            return simp(a, v ? s->a : s->b);
        const tn_expr *x = simp_side(a, c, s->a), *y = simp_side(a, tn_not(a->ctx, c), s->b);
        const tn_expr *r =
            c == s->cond && x == s->a && y == s->b ? e : tn_select_of(a->ctx, c, x, y);
        const tn_expr *better = ruled(a, r);
        return better ? simp(a, better) : r;
    }
    case TN_KIND_LET:
        return simp_let(a, e);
    case TN_KIND_CALL:
        return simp_call(a, e);
    default:
        return rebuild(a, e);
    }
}

static const tn_expr *
simp_scalar(tn_arith *a, const tn_expr *e)
{
    tnb_dtype d = tn_dtype_of(e);
    if (d.lanes != 1)
        return with_checks(a, e, tn_simplify_vector(a, rebuild(a, e)));
    if (tn_is_index_dtype(d))
        return with_checks(a, e, simp_index(a, e));
    if (tn_is_var(e)) {
        const tn_expr *v = tnb_ptrmap_get(&a->values, e);
        return known_condition(a, v ? simp(a, v) : e);
    }
    if (tn_is_compare(e->kind))
        return known_condition(a, with_checks(a, e, simp_compare(a, e)));
    if (e->kind == TN_KIND_AND || e->kind == TN_KIND_OR || e->kind == TN_KIND_NOT)
        return known_condition(a, simp_logic(a, e));
    const tn_expr *r = with_checks(a, e, simp_choice(a, e));
    return tnb_dtype_is_bool(d) ? known_condition(a, r) : r;
}

static const tn_expr *
simp(tn_arith *a, const tn_expr *e)
{
    if (!tn_is_scalar(e) || e->type->kind != TN_KIND_TY_PRIM || tn_is_error(e))
        return e;
    const tn_expr *r = tnb_ptrmap_get(a->exprs, e);
    if (r)
        return r;
    r = simp_scalar(a, e);
    if (!r || tn_is_error(r))
        r = e;
    tnb_ptrmap_set(a->exprs, e, r);
    return r;
}

const tn_expr *
tn_simplify(tn_arith *a, const tn_expr *e)
{
    return e ? simp(a, e) : e;
}
