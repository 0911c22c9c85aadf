/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over threads that meet in warps (sub-groups), for LowerCrossThreadReduction. With 64 threads a reduction and warps
 * of 32:
 *
 *     other = T.tvm_warp_shuffle_xor(-1, own[0], 16, 32, 32); own[0] = own[0] + other; ... 8, 4, 2, 1
 *     if lane == 0: red[share] = own[0]                      one share a warp
 *     T.tvm_storage_sync("shared")
 *     own[0] = red[lane % 2]
 *     other = T.tvm_warp_shuffle_xor(-1, own[0], 1, 2, 32); own[0] = own[0] + other
 *
 * or T.warp_reduce in place of the shuffles where a device has no such. A reduction within one warp needs neither shared memory nor
 * barriers. Which lane a thread is follows from its number in the block, x before y before z: threads of one reduction have to
 * be neighbours, a power of two of them within one warp or several warps as a whole. All threads end with the same value.
 */
#include "cross_thread.h"

static int64_t
power_of_two(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

static tnb_dtype
dtype_of(const tnk_reduction *r, uint32_t k)
{
    return tn_as_buffer(r->of.store[k]->buffer)->dtype;
}

/* The name that T.warp_reduce has for it; NULL: none, as what devices make of NaN in the least of floats is their own. */
static const char *
reduce_name(tn_kind op, tnb_dtype d)
{
    if (op == TN_KIND_ADD)
        return "add";
    if (tnb_dtype_is_float(d))
        return NULL;
    return op == TN_KIND_MIN ? "min" : op == TN_KIND_MAX ? "max" : NULL;
}

static bool
values_fit(const tn_warp *w, const tnk_reduction *r)
{
    for (uint32_t k = 0; k < r->of.n; k++) {
        tnb_dtype d = dtype_of(r, k);
        bool number = tnb_dtype_is_float(d) || tnb_dtype_is_int(d);
        if (d.lanes != 1 || (!number && d.code != TNB_BOOL) || (number && d.bits > w->bits))
            return false;
        if (!(w->ops & TN_WARP_SHUFFLE) &&
            (!number || !r->of.independent || !reduce_name(r->of.op[k], d)))
            return false;
    }
    return true;
}

/* Whether `width` lanes of a warp can join their values. */
static bool
can_join(const tn_warp *w, int64_t width)
{
    return w->ops & (TN_WARP_SHUFFLE | TN_WARP_REDUCE_PART) ||
           (w->ops & TN_WARP_REDUCE && width == w->size);
}

bool
tnk_in_warps(tn_ctx *ctx, const tn_warp *w, const tnk_reduction *r, const tnk_threads *t,
             tnk_warps *out)
{
    int64_t size = w->size, lanes = t->lanes, within = lanes < size ? lanes : size;
    if (size < 2 || size & (size - 1) || lanes < 2 || t->rows * lanes % size ||
        (lanes < size ? lanes & (lanes - 1) : lanes % size) || !values_fit(w, r) ||
        !can_join(w, within))
        return false;
    bool behind = false; /* an index that is not reduced over: those behind it may not be */
    const tn_expr *number = tn_i32(ctx, 0);
    for (int i = 2; i >= 0; i--)
        if (t->extent[i] > 1 && t->reduces[i])
            number =
                tn_add(ctx, tn_mul(ctx, number, tn_i32(ctx, (int32_t)t->extent[i])), t->index[i]);
    for (int i = 0; i < 3; i++) {
        if (t->extent[i] > 1 && t->reduces[i] && behind)
            return false;
        behind |= t->extent[i] > 1 && !t->reduces[i];
    }
    const tn_expr *n = tn_i32(ctx, (int32_t)size);
    *out = (tnk_warps){*w, lanes > size ? lanes / size : 1, number, tn_i32(ctx, 0)};
    if (lanes > size) {
        out->lane = tn_mod(ctx, number, n);
        out->share = tn_div(ctx, number, n);
    }
    return true;
}

static const tn_expr *
own_of(tn_ctx *ctx, const tnk_reduction *r, uint32_t k)
{
    const tn_expr *zero = tn_i32(ctx, 0);
    return tn_buffer_load_of(ctx, r->own[k], tn_list_of(ctx, &zero, 1));
}

static const tn_stmt *
set_own(tn_ctx *ctx, const tnk_reduction *r, uint32_t k, const tn_expr *v)
{
    const tn_expr *zero = tn_i32(ctx, 0);
    return tn_buffer_store_of(ctx, r->own[k], v, tn_list_of(ctx, &zero, 1));
}

/* The value `own` of the lane whose number differs in the bit `flip`; a bool travels as an integer. */
static const tn_expr *
shuffled(tn_ctx *ctx, const tnk_warps *w, const tn_expr *own, int64_t flip, int64_t width)
{
    tnb_dtype d = tn_dtype_of(own);
    const tn_expr *v = d.code == TNB_BOOL ? tn_cast_to(ctx, TNB_I32, own) : own;
    const tn_expr *args[] = {tn_i32(ctx, -1), v, tn_i32(ctx, (int32_t)flip),
                             tn_i32(ctx, (int32_t)width), tn_i32(ctx, (int32_t)w->warp.size)};
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "tirx.tvm_warp_shuffle_xor", NULL);
    const tn_expr *got =
        tn_scalar_call(ctx, tn_dtype_of(v), tn_op_ref_of(ctx, op), tn_list_of(ctx, args, 5), NULL);
    return d.code == TNB_BOOL ? tn_ne(ctx, got, tn_i32(ctx, 0)) : got;
}

/* All of `width` neighbouring lanes have the join of their `own` then. */
static void
join_lanes(tn_ctx *ctx, const tnk_warps *w, const tnk_reduction *r, int64_t width, tnk_stmts *out)
{
    tnb_arena *a = tn_scratch(ctx);
    if (w->warp.ops & TN_WARP_SHUFFLE) {
        for (int64_t flip = width / 2; flip > 0; flip /= 2) {
            const tn_expr *lhs[TNK_MAX_RESULTS], *rhs[TNK_MAX_RESULTS];
            for (uint32_t k = 0; k < r->of.n; k++) {
                lhs[k] = own_of(ctx, r, k);
                rhs[k] =
                    tn_var_dtype(ctx, tn_strf(ctx, "%s_other", r->block->name), dtype_of(r, k));
                TNB_PUSH(a, out->v, tn_bind_of(ctx, rhs[k], shuffled(ctx, w, lhs[k], flip, width)));
            }
            TNB_PUSH(a, out->v, tnk_join_shares(ctx, r, r->own, tn_i32(ctx, 0), NULL, lhs, rhs));
        }
        return;
    }
    for (uint32_t k = 0; k < r->of.n && width > 1; k++) {
        const tn_expr *args[] = {own_of(ctx, r, k),
                                 tn_string(ctx, reduce_name(r->of.op[k], dtype_of(r, k))),
                                 tn_i32(ctx, (int32_t)width), tn_i32(ctx, (int32_t)w->warp.size)};
        TNB_PUSH(a, out->v,
                 set_own(ctx, r, k,
                         tn_intrin(ctx, TN_INTRIN_warp_reduce, tn_list_of(ctx, args, 4))));
    }
}

static const tn_expr *
share_of(tn_ctx *ctx, const tnk_reduction *r, const tnk_threads *t, uint32_t k, const tn_expr *at)
{
    const tn_expr *idx[2] = {t->row, at};
    return tn_buffer_load_of(ctx, r->red[k], tn_list_of(ctx, idx, 2));
}

void
tnk_join_in_warps(tn_ctx *ctx, const tnk_warps *w, const tnk_reduction *r, const tnk_threads *t,
                  bool again, tnk_stmts *out)
{
    tnb_arena *a = tn_scratch(ctx);
    int64_t size = w->warp.size, lanes = t->lanes < size ? t->lanes : size;
    join_lanes(ctx, w, r, lanes, out);
    if (w->shares == 1)
        return;
    if (again)
        TNB_PUSH(a, out->v, tnk_barrier(ctx));
    const tn_stmt *put[TNK_MAX_RESULTS];
    for (uint32_t k = 0; k < r->of.n; k++) {
        const tn_expr *idx[2] = {t->row, w->share};
        put[k] = tn_buffer_store_of(ctx, r->red[k], own_of(ctx, r, k), tn_list_of(ctx, idx, 2));
    }
    const tn_stmt *all = r->of.n == 1 ? put[0] : tn_seq_of(ctx, tn_list_of(ctx, put, r->of.n));
    TNB_PUSH(a, out->v, tn_if_stmt_of(ctx, tn_eq(ctx, w->lane, tn_i32(ctx, 0)), all, NULL));
    TNB_PUSH(a, out->v, tnk_barrier(ctx));
    /* each `width` lanes take the shares of all warps, and what changes nothing beyond them */
    int64_t width = power_of_two(w->shares);
    if (width > size || !can_join(&w->warp, width))
        width = size;
    const tn_expr *at = width == size ? w->lane : tn_mod(ctx, w->lane, tn_i32(ctx, (int32_t)width));
    for (uint32_t k = 0; k < r->of.n; k++) {
        const tn_expr *v = share_of(ctx, r, t, k, at);
        if (w->shares < width) {
            tnb_dtype d = dtype_of(r, k);
            const tn_expr *args[] = {tn_lt(ctx, at, tn_i32(ctx, (int32_t)w->shares)), v,
                                     r->of.independent ? tnk_neutral(ctx, r->of.op[k], d)
                                                       : tn_cast_to(ctx, d, r->of.init[k])};
            v = tn_intrin(ctx, TN_INTRIN_if_then_else, tn_list_of(ctx, args, 3));
        }
        TNB_PUSH(a, out->v, set_own(ctx, r, k, v));
    }
    for (int64_t from = width; from < w->shares; from += width) {
        const tn_expr *lhs[TNK_MAX_RESULTS], *rhs[TNK_MAX_RESULTS],
            *place = tn_add(ctx, at, tn_i32(ctx, (int32_t)from));
        for (uint32_t k = 0; k < r->of.n; k++) {
            lhs[k] = own_of(ctx, r, k);
            rhs[k] = share_of(ctx, r, t, k, place);
        }
        const tn_stmt *s = tnk_join_shares(ctx, r, r->own, tn_i32(ctx, 0), NULL, lhs, rhs);
        if (w->shares - from < width)
            s = tn_if_stmt_of(ctx, tn_lt(ctx, place, tn_i32(ctx, (int32_t)w->shares)), s, NULL);
        TNB_PUSH(a, out->v, s);
    }
    join_lanes(ctx, w, r, width, out);
}
