/* SPDX-License-Identifier: Apache-2.0 */
/* What a reduction of several results computes, if its parts may be joined in any order:
 *
 *     take = A[i, k] > v[i] or (A[i, k] == v[i] and k < p[i])              lhs: v, p    rhs: A[i, k], k
 *     v[i], p[i] = A[i, k] if take else v[i], k if take else p[i]     =>   joined: rhs_v if rhs_v > lhs_v or ... else lhs_v, ...
 *
 * Either each result is a sum, product, minimum or maximum of its own, or the results are chosen by comparisons. Of these,
 * that the order does not matter is proved by trying: a comparison tells no more of three values than which are equal and
 * which is larger, so three values beside each constant (and NaN, where the choice asks for it) stand for all there are.
 */
#include "tenon/kit/lower.h"

#include <math.h>

#include "tenon/core/walk.h"

/* ---- the stores ---- */

uint32_t
tnk_stores_of(tn_ctx *ctx, const tn_stmt *st, const tn_buffer_store *out[TNK_MAX_RESULTS])
{
    const tn_seq *q = tn_as_seq(st);
    tn_list l = q ? q->stmts : tn_list_of(ctx, &st, 1);
    tnb_ptrmap map;
    uint32_t n = 0;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < l.n; i++) {
        const tn_bind *b = tn_as_bind(l.at[i]);
        const tn_buffer_store *s = tn_as_buffer_store(l.at[i]);
        if (b && n == 0) {
            tnb_ptrmap_set(&map, b->var, tn_subst(ctx, b->value, &map));
            continue;
        }
        if (!s || n == TNK_MAX_RESULTS)
            return 0;
        for (uint32_t k = 0; k < n; k++)
            if (tn_uses(TN_NODE(s), out[k]->buffer))
                return 0;
        out[n++] = tn_as_buffer_store(tn_subst(ctx, TN_NODE(s), &map));
    }
    return n;
}

static bool
same_place(tn_ctx *ctx, tn_list a, tn_list b)
{
    for (uint32_t i = 0; i < a.n && a.n == b.n; i++)
        if (!tn_equal(ctx, a.at[i], b.at[i], false, NULL))
            return false;
    return a.n == b.n;
}

static bool
read_stores(tn_ctx *ctx, const tn_block *b, tnk_tuple_reducer *r)
{
    const tn_buffer_store *init[TNK_MAX_RESULTS];
    if (!b->init || b->allocs.n || b->match_buffers.n)
        return false;
    r->n = tnk_stores_of(ctx, b->body, r->store);
    if (r->n < 2 || tnk_stores_of(ctx, b->init, init) != r->n)
        return false;
    for (uint32_t i = 0; i < r->n; i++) {
        const tn_buffer_store *s = r->store[i];
        r->init[i] = NULL;
        for (uint32_t k = 0; k < r->n; k++) {
            if (init[k]->buffer == s->buffer && same_place(ctx, init[k]->indices, s->indices))
                r->init[i] = init[k]->value;
            for (uint32_t d = 0; d < s->indices.n; d++)
                if (tn_uses(s->indices.at[d], r->store[k]->buffer))
                    return false;
        }
        if (!r->init[i] || tn_as_buffer(s->buffer)->dtype.lanes != 1)
            return false;
        for (uint32_t k = 0; k < r->n; k++)
            if (tn_uses(r->init[i], r->store[k]->buffer))
                return false;
    }
    return true;
}

/* ---- both sides as variables ---- */

typedef struct sides {
    tnk_tuple_reducer *r;
    bool values; /* the second step: what is joined in */
} sides;

static const tn_node *
to_variable(tn_rewriter *rw, const tn_node *n)
{
    const sides *x = rw->user;
    const tnk_tuple_reducer *r = x->r;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    for (uint32_t i = 0; i < r->n; i++) {
        if (x->values && tn_is_scalar(n) && tn_equal(rw->ctx, n, r->value[i], false, NULL))
            return r->rhs[i];
        if (!x->values && l && l->buffer == r->store[i]->buffer &&
            same_place(rw->ctx, l->indices, r->store[i]->indices))
            return r->lhs[i];
    }
    return NULL;
}

static bool
has_lhs(const tnk_tuple_reducer *r, const tn_expr *e)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (tn_uses(e, r->lhs[i]) || tn_uses(e, r->store[i]->buffer))
            return true;
    return false;
}

/* What result i is joined with. */
static const tn_expr *
value_of(tnk_tuple_reducer *r, uint32_t i, const tn_expr *e)
{
    const tn_select *s = tn_as_select(e);
    const tn_binary *b = tn_as_binary(e);
    const tn_expr *x = NULL;
    r->op[i] = (tn_kind)e->kind;
    if (s) {
        x = s->a == r->lhs[i] ? s->b : s->b == r->lhs[i] ? s->a : NULL;
        r->independent = false;
    } else if (b) {
        switch ((int)e->kind) {
        case TN_KIND_ADD:
        case TN_KIND_MUL:
        case TN_KIND_MIN:
        case TN_KIND_MAX:
        case TN_KIND_AND:
        case TN_KIND_OR:
            x = b->a == r->lhs[i] ? b->b : b->b == r->lhs[i] ? b->a : NULL;
            break;
        default:
            break;
        }
    }
    return x && !has_lhs(r, x) && !tn_is(x, TN_KIND_INT_IMM) && !tn_is(x, TN_KIND_FLOAT_IMM) ? x
                                                                                             : NULL;
}

/* ---- choices ---- */

enum { ANY = -1, NONE = -2, MOST_VALUES = 24, MOST_TUPLES = 64, AROUND = 3 };

typedef struct choice {
    const tnk_tuple_reducer *r;
    double at[TNK_MAX_RESULTS][MOST_VALUES];
    uint32_t n[TNK_MAX_RESULTS];
    bool nan[TNK_MAX_RESULTS];
    const double *lhs, *rhs;
} choice;

/* The variable's side and number. */
static bool
variable(const tnk_tuple_reducer *r, const tn_expr *e, bool *right, uint32_t *i)
{
    for (*i = 0; *i < r->n; (*i)++)
        if (e == r->lhs[*i] || e == r->rhs[*i]) {
            *right = e == r->rhs[*i];
            return true;
        }
    return false;
}

static void
add_value(choice *c, int of, double v)
{
    for (uint32_t k = 0; k < c->n[of]; k++)
        if (c->at[of][k] == v)
            return;
    if (c->n[of] < MOST_VALUES)
        c->at[of][c->n[of]] = v;
    c->n[of]++;
}

static bool
constant(const tn_expr *e, double *v)
{
    const tn_int_imm *i = tn_as_int_imm(e);
    const tn_float_imm *f = tn_as_float_imm(e);
    *v = i ? (double)i->value : f ? f->value : 0;
    return i || f;
}

/* Which result the value of an expression is one of: a number, ANY or NONE. Values to try gather in `c`. */
static int
column_of(choice *c, const tn_expr *e)
{
    const tn_binary *b = tn_as_binary(e);
    const tn_select *s = tn_as_select(e);
    bool right;
    uint32_t i;
    double v;
    if (variable(c->r, e, &right, &i))
        return (int)i;
    if (constant(e, &v))
        return ANY;
    if (tn_is(e, TN_KIND_NOT))
        return column_of(c, tn_as_unary(e)->a) == NONE ? NONE : ANY;
    int x = s   ? column_of(c, s->a)
            : b ? column_of(c, b->a)
                : NONE,
        y = s   ? column_of(c, s->b)
            : b ? column_of(c, b->b)
                : NONE;
    if (x == NONE || y == NONE || (s && column_of(c, s->cond) == NONE))
        return NONE;
    if (b && (e->kind == TN_KIND_AND || e->kind == TN_KIND_OR))
        return ANY;
    bool compares = b && e->kind >= TN_KIND_EQ && e->kind <= TN_KIND_GE;
    if (!s && !compares && e->kind != TN_KIND_MIN && e->kind != TN_KIND_MAX)
        return NONE;
    if (x != y && x != ANY && y != ANY)
        return NONE;
    int of = x == ANY ? y : x;
    for (int side = 0; side < 2 && of != ANY; side++)
        if (constant(b ? (side ? b->b : b->a) : side ? s->b : s->a, &v))
            for (int d = -AROUND; d <= AROUND; d++)
                add_value(c, of, v + d);
    if (compares && b->a == b->b && of != ANY)
        c->nan[of] = true;
    return compares ? ANY : of;
}

static double
computed(const choice *c, const tn_expr *e)
{
    const tn_binary *b = tn_as_binary(e);
    const tn_select *s = tn_as_select(e);
    bool right;
    uint32_t i;
    double v;
    if (variable(c->r, e, &right, &i))
        return right ? c->rhs[i] : c->lhs[i];
    if (constant(e, &v))
        return v;
    if (s)
        return computed(c, computed(c, s->cond) != 0 ? s->a : s->b);
    if (!b)
        return computed(c, tn_as_unary(e)->a) == 0;
    double x = computed(c, b->a), y = computed(c, b->b);
    switch ((int)e->kind) {
    case TN_KIND_AND:
        return x != 0 && y != 0;
    case TN_KIND_OR:
        return x != 0 || y != 0;
    case TN_KIND_EQ:
        return x == y;
    case TN_KIND_NE:
        return x != y;
    case TN_KIND_LT:
        return x < y;
    case TN_KIND_LE:
        return x <= y;
    case TN_KIND_GT:
        return x > y;
    case TN_KIND_GE:
        return x >= y;
    case TN_KIND_MIN:
        return x < y || isnan(x) ? x : y;
    default:
        return x > y || isnan(x) ? x : y;
    }
}

static void
join(choice *c, const double *x, const double *y, double *out)
{
    c->lhs = x;
    c->rhs = y;
    for (uint32_t i = 0; i < c->r->n; i++)
        out[i] = computed(c, c->r->joined[i]);
}

static bool
same(const choice *c, const double *x, const double *y)
{
    for (uint32_t i = 0; i < c->r->n; i++)
        if (x[i] != y[i] && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

/* Whether the order of what is joined, and joining it twice, makes no difference. */
static bool
order_is_free(choice *c)
{
    static const double few[] = {0, 1, 2};
    double at[MOST_TUPLES][TNK_MAX_RESULTS], x[TNK_MAX_RESULTS], y[TNK_MAX_RESULTS],
        z[TNK_MAX_RESULTS];
    uint32_t n = 1;
    for (uint32_t i = 0; i < c->r->n; i++) {
        for (uint32_t k = 0; k < 3 && c->n[i] < 3; k++)
            add_value(c, (int)i, few[k]);
        if (c->nan[i] && c->n[i] < MOST_VALUES)
            c->at[i][c->n[i]++] = NAN;
        if (c->n[i] > MOST_VALUES || (n *= c->n[i]) > MOST_TUPLES)
            return false;
    }
    for (uint32_t t = 0; t < n; t++) {
        uint32_t rest = t;
        for (uint32_t i = 0; i < c->r->n; i++) {
            at[t][i] = c->at[i][rest % c->n[i]];
            rest /= c->n[i];
        }
    }
    for (uint32_t a = 0; a < n; a++) {
        join(c, at[a], at[a], x);
        if (!same(c, x, at[a]))
            return false;
        for (uint32_t b = 0; b < n; b++) {
            join(c, at[a], at[b], x);
            join(c, at[b], at[a], y);
            if (!same(c, x, y))
                return false;
            for (uint32_t d = 0; d < n; d++) {
                join(c, at[b], at[d], y);
                join(c, at[a], y, z);
                join(c, x, at[d], y);
                if (!same(c, y, z))
                    return false;
            }
        }
    }
    return true;
}

static bool
chooses(const tnk_tuple_reducer *r)
{
    choice c = {.r = r};
    double v;
    for (uint32_t i = 0; i < r->n; i++) {
        if (!constant(r->init[i], &v)) /* every part begins with it */
            return false;
        tn_kind k = (tn_kind)r->joined[i]->kind;
        int of = column_of(&c, r->joined[i]);
        if ((k != TN_KIND_SELECT && k != TN_KIND_MIN && k != TN_KIND_MAX) ||
            (of != ANY && of != (int)i) || of == ANY)
            return false;
    }
    return order_is_free(&c);
}

bool
tnk_tuple_reducer_of(tn_ctx *ctx, const tn_block *b, tnk_tuple_reducer *r)
{
    *r = (tnk_tuple_reducer){.independent = true};
    if (!read_stores(ctx, b, r))
        return false;
    for (uint32_t i = 0; i < r->n; i++) {
        tnb_dtype d = tn_as_buffer(r->store[i]->buffer)->dtype;
        r->lhs[i] = tn_var_dtype(ctx, tn_strf(ctx, "x%u", i), d);
        r->rhs[i] = tn_var_dtype(ctx, tn_strf(ctx, "y%u", i), d);
    }
    sides x = {.r = r};
    tn_rewriter rw = {.ctx = ctx, .user = &x, .pre = to_variable};
    for (uint32_t i = 0; i < r->n; i++)
        r->joined[i] = tn_rewrite(&rw, r->store[i]->value);
    for (uint32_t i = 0; i < r->n; i++) {
        r->value[i] = value_of(r, i, r->joined[i]);
        if (!r->value[i])
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (tn_equal(ctx, r->value[i], r->value[k], false, NULL))
                return false;
    }
    if (r->independent) {
        for (uint32_t i = 0; i < r->n; i++)
            r->joined[i] = tn_bin(ctx, r->op[i], r->lhs[i], r->rhs[i]);
        return true;
    }
    x.values = true;
    rw = (tn_rewriter){.ctx = ctx, .user = &x, .pre = to_variable};
    for (uint32_t i = 0; i < r->n; i++)
        r->joined[i] = tn_rewrite(&rw, r->joined[i]);
    return chooses(r);
}
