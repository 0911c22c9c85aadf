/* SPDX-License-Identifier: Apache-2.0 */
/* How the accesses of a block run through memory: dimensions are taken apart where an access does so, and joined
 * where every access runs through them as one.
 *
 *     for n, c, h, w: B[n, c, h, w] = A[n, h, w, c]             groups n, c, (h, w)
 *     for s, j: B[s, j] = A[j // 64, s, j % 64]                 groups s, j // 64, j % 64
 */
#include "axes.h"

typedef struct look {
    cpu_axes *a;
    const tn_expr *v;
    int64_t extent, cut[CPU_MAX_AXES];
    uint32_t n;
    bool failed;
} look;

/* s of v // s, in which further divisions may be; 0: something else. */
static int64_t
scale_of(const tn_expr *e, const tn_expr *v)
{
    int64_t by;
    if (e == v)
        return 1;
    if (e->kind != TN_KIND_FLOOR_DIV || !tn_int_value(tn_as_binary(e)->b, &by) || by <= 0)
        return 0;
    int64_t s = scale_of(tn_as_binary(e)->a, v);
    return s > 0 && by <= INT32_MAX && s <= INT32_MAX ? s * by : 0;
}

static void
add_cut(look *l, int64_t at)
{
    if (at <= 1 || at >= l->extent || l->extent % at)
        return;
    uint32_t i = 0;
    while (i < l->n && l->cut[i] < at)
        i++;
    if ((i < l->n && l->cut[i] == at) || l->n == CPU_MAX_AXES)
        return;
    memmove(l->cut + i + 1, l->cut + i, (l->n - i) * sizeof *l->cut);
    l->cut[i] = at;
    l->n++;
}

static tn_walk_step
find_cuts(void *user, const tn_node *n)
{
    look *l = user;
    int64_t by;
    if (n->kind == TN_KIND_FLOOR_DIV)
        add_cut(l, scale_of(n, l->v));
    if (n->kind == TN_KIND_FLOOR_MOD && tn_int_value(tn_as_binary(n)->b, &by) && by > 0 &&
        by <= INT32_MAX) {
        int64_t s = scale_of(tn_as_binary(n)->a, l->v);
        if (s > 0 && s <= INT32_MAX) {
            add_cut(l, s);
            add_cut(l, s * by);
        }
    }
    return TN_WALK_ON;
}

static bool
add_axis(cpu_axes *a, const tn_expr *v, const tn_expr *extent)
{
    if (a->n == CPU_MAX_AXES)
        return false;
    a->var[a->n] = v;
    a->extent[a->n++] = extent;
    tn_arith_range(a->arith, v, tn_i64(a->ctx, 0), extent);
    return true;
}

/* The axes of one dimension; gives what stands for its iterator. */
static const tn_expr *
axes_of(cpu_axes *a, const tn_expr *v, const tn_expr *extent, const tn_expr *value)
{
    look l = {.a = a, .v = v};
    if (tn_is_int_const(extent, 1))
        return tn_i64(a->ctx, 0);
    if (tn_int_value(extent, &l.extent))
        tn_walk(value, 0, find_cuts, NULL, &l);
    bool chain = true;
    for (uint32_t i = 0; i + 1 < l.n; i++)
        chain &= l.cut[i + 1] % l.cut[i] == 0;
    if (l.n == 0 || !chain)
        return add_axis(a, v, extent) ? v : NULL;
    a->apart = true;
    const tn_expr *sum = NULL;
    for (uint32_t i = l.n + 1; i-- > 0;) {
        int64_t from = i ? l.cut[i - 1] : 1, to = i < l.n ? l.cut[i] : l.extent;
        const tn_expr *part = tn_var_dtype(a->ctx, tn_var_name(v), TNB_I64);
        if (!add_axis(a, part, tn_i64(a->ctx, to / from)))
            return NULL;
        const tn_expr *share = tn_mul(a->ctx, part, tn_i64(a->ctx, from));
        sum = sum ? tn_add(a->ctx, sum, share) : share;
    }
    return sum;
}

/* ---- accesses ---- */

static tn_walk_step
find_loads(void *user, const tn_node *n)
{
    look *l = user;
    cpu_axes *a = l->a;
    if (n->kind == TN_KIND_CALL) {
        const tn_op *op = tn_call_op_of((const tn_call *)n);
        a->lazy |= op && op->flags & TN_OP_LAZY;
        l->failed |= !op || op->flags & (TN_OP_IMPURE | TN_OP_READS_MEMORY);
    }
    if (n->kind != TN_KIND_BUFFER_LOAD)
        return TN_WALK_ON;
    for (uint32_t i = 0; i < a->n_loads; i++)
        if (tn_equal(a->ctx, TN_NODE(a->load[i]), n, false, NULL))
            return TN_WALK_ON;
    if (a->n_loads == CPU_MAX_LOADS)
        l->failed = true;
    else
        a->load[a->n_loads++] = (const tn_buffer_load *)n;
    return TN_WALK_ON;
}

static tn_walk_step
find_own(void *user, const tn_node *n)
{
    cpu_axes *a = user;
    for (uint32_t i = 0; i < a->n; i++)
        a->own[i] |= n == a->var[i];
    return n->kind == TN_KIND_BUFFER_LOAD ? TN_WALK_SKIP : TN_WALK_ON;
}

/* The place in memory. NULL: the buffer does not lie densely. */
static const tn_expr *
flat(cpu_axes *a, const tn_node *buffer, tn_list indices)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    const tn_expr *e = tn_i64(a->ctx, 0);
    if (b->strides.n || b->dtype.lanes != 1)
        return NULL;
    for (uint32_t i = 0; i < indices.n; i++)
        e = tn_add(a->ctx, tn_mul(a->ctx, e, tn_cast_to(a->ctx, TNB_I64, b->shape.at[i])),
                   tn_cast_to(a->ctx, TNB_I64, indices.at[i]));
    return tn_simplify(a->arith, e);
}

static const tn_expr *
step_along(cpu_axes *a, const tn_expr *place, uint32_t axis)
{
    const tn_expr *coeff, *rest;
    if (!tn_uses(place, a->var[axis]))
        return tn_i64(a->ctx, 0);
    return tn_linear(a->arith, place, &a->var[axis], 1, &coeff, &rest) ? coeff : NULL;
}

/* Whether one access runs through an axis and the next one as through one. */
static bool
runs_on(const cpu_axes *a, const tn_expr *outer, const tn_expr *inner, uint32_t axis)
{
    return outer && inner &&
           tn_prove_eq(a->arith, outer, tn_mul(a->ctx, inner, a->extent[axis + 1]));
}

static bool
joins(const cpu_axes *a, uint32_t axis)
{
    if (a->own[axis] || a->own[axis + 1] || !runs_on(a, a->place[axis], a->place[axis + 1], axis))
        return false;
    for (uint32_t i = 0; i < a->n_loads; i++)
        if (!runs_on(a, a->step[i][axis], a->step[i][axis + 1], axis))
            return false;
    return true;
}

bool
cpu_axes_find(cpu_axes *a, tn_ctx *ctx, const tnk_item *block)
{
    const tn_block *b = tnk_item_block(block);
    const tn_buffer_store *st = tnk_block_is_injective(block) ? tn_as_buffer_store(b->body) : NULL;
    *a = (cpu_axes){.ctx = ctx, .arith = tn_arith_new(ctx)};
    if (!st || st->indices.n != b->iters.n)
        return false;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < b->iters.n; i++) { /* an iterator for each dimension, in order */
        const tn_iter_var *it = tn_as_iter_var(b->iters.at[i]);
        const tn_range *dom = tn_as_range(it->dom);
        if (st->indices.at[i] != it->var || !tn_is_int_const(dom->min, 0) ||
            tn_is_int_const(dom->extent, 0) || it->iter_kind != TN_ITER_SPATIAL ||
            tn_dtype_of(it->var).bits != 64)
            return false;
        const tn_expr *v = axes_of(a, it->var, dom->extent, st->value);
        if (!v)
            return false;
        tnb_ptrmap_set(&map, it->var, v);
    }
    if (a->n == 0)
        return false;
    st = tn_as_buffer_store(tn_subst(ctx, TN_NODE(st), &map));
    st = tn_as_buffer_store(
        tn_buffer_store_of(ctx, st->buffer, tn_simplify(a->arith, st->value), st->indices));
    a->store = st;
    look l = {.a = a};
    tn_walk(st->value, 0, find_loads, NULL, &l);
    tn_walk(st->value, 0, find_own, NULL, a);
    const tn_expr *to = flat(a, st->buffer, st->indices);
    if (l.failed || !to)
        return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (!(a->place[k] = step_along(a, to, k)))
            return false;
    for (uint32_t i = 0; i < a->n_loads; i++) {
        const tn_expr *from = flat(a, a->load[i]->buffer, a->load[i]->indices);
        if (!from)
            return false;
        for (uint32_t k = 0; k < a->n; k++)
            a->step[i][k] = step_along(a, from, k);
    }
    for (uint32_t k = 0; k < a->n; k++) {
        if (k > 0 && joins(a, k - 1)) {
            const tn_expr **size = &a->size[a->n_groups - 1];
            *size = tn_mul(ctx, *size, a->extent[k]);
            continue;
        }
        a->first[a->n_groups] = k;
        a->size[a->n_groups++] = a->extent[k];
    }
    a->first[a->n_groups] = a->n;
    return true;
}

const tn_expr *
cpu_axes_at(const cpu_axes *a, const tn_expr *e, const tn_expr *const *place)
{
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(a->ctx));
    for (uint32_t g = 0; g < a->n_groups; g++) {
        const tn_expr *inner = tn_i64(a->ctx, 1);
        for (uint32_t k = a->first[g + 1]; k-- > a->first[g];) {
            const tn_expr *v =
                tn_is_int_const(inner, 1) ? place[g] : tn_floordiv(a->ctx, place[g], inner);
            if (k > a->first[g])
                v = tn_floormod(a->ctx, v, a->extent[k]);
            tnb_ptrmap_set(&map, a->var[k], v);
            inner = tn_mul(a->ctx, inner, a->extent[k]);
        }
    }
    return tn_subst(a->ctx, e, &map);
}

bool
cpu_axes_step(const cpu_axes *a, uint32_t load, uint32_t group, int64_t *step)
{
    const tn_expr *s = a->step[load][a->first[group + 1] - 1];
    return s && tn_int_value(s, step);
}
