/* SPDX-License-Identifier: Apache-2.0 */
/* How many turns the loops of one thread take together, at most (tenon/kit/cost.h). Loops are counted as they are written, and both sides
 * of a condition: threads that run together take both where one of them takes each, and some devices take both always.
 */
#include "tenon/kit/cost.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit_hooks.h"

/* Numbers of turns stop here: what is larger is too large for every device. */
#define MOST ((int64_t)1 << 48)

typedef struct turns {
    tn_ctx *ctx;
    const tnk_kernel *k;
    tn_arith *arith;
    tnb_ptrmap values; /* Var -> what it is bound to, in terms of scalars alone */
    uint32_t open;
} turns;

static const tn_expr *
number(turns *t, int64_t n)
{
    return tn_i64(t->ctx, n < 0 ? 0 : n < MOST ? n : MOST);
}

static const tn_expr *
sum(turns *t, const tn_expr *a, const tn_expr *b)
{
    int64_t x, y;
    if (tn_int_value(a, &x) && tn_int_value(b, &y))
        return number(t, x + y);
    return tn_add(t->ctx, a, b);
}

static const tn_expr *
product(turns *t, const tn_expr *a, const tn_expr *b)
{
    int64_t x, y, n;
    if (tn_int_value(a, &x) && tn_int_value(b, &y))
        return number(t, __builtin_mul_overflow(x, y, &n) ? MOST : n);
    return tn_mul(t->ctx, a, b);
}

/* ---- how often a loop runs ---- */

static tn_walk_step
find_unknown(void *user, const tn_node *n)
{
    turns *t = user;
    bool known = !tn_is_var(n) || tnk_find_param(t->k, n);
    return known && !tn_as_buffer_load(n) ? TN_WALK_ON : TN_WALK_STOP;
}

/* In terms of scalars; NULL: it depends on something else. */
static const tn_expr *
by_scalars(turns *t, const tn_expr *e)
{
    e = tn_subst(t->ctx, e, &t->values);
    return tn_walk(e, TN_WALK_ONCE, find_unknown, NULL, t) ? e : NULL;
}

/* At most so often; NULL: it is not known. */
static const tn_expr *
most(turns *t, const tn_expr *extent)
{
    tn_ctx *ctx = t->ctx;
    int64_t lo, hi;
    if (tn_int_value(extent, &lo))
        return number(t, lo);
    tn_bounds(t->arith, extent, &lo, &hi);
    const tn_expr *e = by_scalars(t, extent);
    if (e)
        return lo >= 0 ? tn_cast_to(ctx, TNB_I64, e)
                       : tn_max(ctx, tn_cast_to(ctx, TNB_I64, e), tn_i64(ctx, 0));
    if (extent->kind == TN_KIND_MIN) {
        const tn_binary *m = (const tn_binary *)extent;
        const tn_expr *a = most(t, m->a), *b = most(t, m->b);
        return a && b ? tn_min(ctx, a, b) : a ? a : b;
    }
    return hi < INT32_MAX ? number(t, hi) : NULL; /* else only its dtype bounds it */
}

/* ---- statements ---- */

static const tn_expr *
statement(turns *t, const tn_stmt *s);

static const tn_expr *
loop(turns *t, const tn_for_loop *f)
{
    bool is_block;
    int dim;
    uint32_t mark = tn_arith_push(t->arith, NULL);
    bool bound =
        f->for_kind == TN_FOR_THREAD_BINDING && tnk_thread_tag(f->thread_tag, &is_block, &dim);
    const tn_expr *times = bound ? NULL : most(t, f->extent);
    tn_arith_range(t->arith, f->var, f->min, f->extent);
    const tn_expr *each = statement(t, f->body);
    tn_arith_pop(t->arith, mark);
    if (bound)
        return each;
    t->open += !times;
    if (!times)
        return sum(t, each, tn_i64(t->ctx, 1));
    each = sum(t, each, tn_i64(t->ctx, 1));
    return sum(t, product(t, times, each), tn_i64(t->ctx, 1));
}

static const tn_expr *
statement(turns *t, const tn_stmt *s)
{
    const tn_expr *n = tn_i64(t->ctx, 0);
    if (!s)
        return n;
    switch (s->kind) {
    case TN_KIND_SEQ:
        for (uint32_t i = 0; i < ((const tn_seq *)s)->stmts.n; i++)
            n = sum(t, n, statement(t, ((const tn_seq *)s)->stmts.at[i]));
        return n;
    case TN_KIND_FOR:
        return loop(t, (const tn_for_loop *)s);
    case TN_KIND_WHILE:
        t->open++;
        return sum(t, statement(t, ((const tn_while_loop *)s)->body), tn_i64(t->ctx, 1));
    case TN_KIND_IF_STMT:
        n = statement(t, ((const tn_if_stmt *)s)->then_case);
        return sum(t, n, statement(t, ((const tn_if_stmt *)s)->else_case));
    case TN_KIND_ATTR_STMT:
        return statement(t, ((const tn_attr_stmt *)s)->body);
    case TN_KIND_BIND: {
        const tn_bind *b = (const tn_bind *)s;
        const tn_expr *is =
            tnb_dtype_is_float(tn_dtype_of(b->value)) ? NULL : by_scalars(t, b->value);
        if (is)
            tnb_ptrmap_set(&t->values, b->var, (void *)(uintptr_t)is);
        return n;
    }
    default:
        return n;
    }
}

const tn_expr *
tnk_kernel_turns(tn_ctx *ctx, const tnk_kernel *k, uint32_t *open)
{
    turns t = {.ctx = ctx, .k = k, .arith = tn_arith_new(ctx)};
    tnb_ptrmap_init(&t.values, tn_scratch(ctx));
    const tn_expr *n = statement(&t, tn_as_prim_func(k->func)->body);
    *open = t.open;
    return n;
}
