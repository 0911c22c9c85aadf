/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes: sums, products, extrema, means, variances, positions of extrema. */
#include "emit.h"

#include <math.h>

/* The result's extents from which axes are reduced. */
static const tn_type *
reduced_type(tn_ctx *ctx, const tn_call *call, const tn_ty_tensor *t, const bool *used, int count,
             tnb_dtype d)
{
    bool keep = tn_call_int(call, "keepdims") != 0;
    tn_list dims;
    const tn_node *out[INFER_MAX_DIMS];
    uint32_t n = 0;
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, keep ? t->ndim : t->ndim - count, d);
    for (uint32_t i = 0; i < dims.n; i++) {
        if (!used[i])
            out[n++] = dims.at[i];
        else if (keep)
            out[n++] = tn_i64(ctx, 1);
    }
    return infer_known(ctx, call, tn_list_of(ctx, out, n), d);
}

const tn_type *
infer_reduce(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    bool used[INFER_MAX_DIMS];
    int64_t list[INFER_MAX_DIMS];
    if (!t)
        return tn_error_node(ctx);
    op_id id = infer_op(call)->id;
    tnb_dtype d = t->dtype;
    bool logical = id == OP_any || id == OP_all;
    bool mean = id == OP_mean || id == OP_variance || id == OP_std;
    if (logical && !tnb_dtype_is_void(d) && !tnb_dtype_is_bool(d))
        return infer_fail(ctx, call, TNB_TYPE, "the operand must be bool, but is of %s",
                          tnb_dtype_print(d).s);
    if (mean && !tnb_dtype_is_void(d) && !tnb_dtype_is_float(d))
        return infer_fail(ctx, call, TNB_TYPE, "the operand must be of a float type, but is of %s",
                          tnb_dtype_print(d).s);
    if (t->ndim < 0) {
        bool all = !tn_call_attr(call, "axis");
        return infer_rank(ctx, call, all && !tn_call_int(call, "keepdims") ? 0 : -1, d);
    }
    int n = infer_axes(ctx, call, "axis", t->ndim, used, list);
    return n < 0 ? tn_error_node(ctx) : reduced_type(ctx, call, t, used, n, d);
}

const tn_type *
infer_arg_reduce(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    bool used[INFER_MAX_DIMS] = {false};
    int64_t axis;
    if (!t)
        return tn_error_node(ctx);
    bool all = !tn_call_attr(call, "axis");
    if (t->ndim < 0)
        return infer_rank(ctx, call, all && !tn_call_int(call, "keepdims") ? 0 : -1, TNB_I64);
    if (t->ndim > INFER_MAX_DIMS)
        return infer_fail(ctx, call, TNB_UNSUPPORTED, "more than %d axes", INFER_MAX_DIMS);
    if (!all && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    for (int64_t i = 0; i < t->ndim; i++)
        used[i] = all || i == axis;
    return reduced_type(ctx, call, t, used, all ? (int)t->ndim : 1, TNB_I64);
}

/* ---- legalization ---- */

typedef struct reduction {
    emit e;
    const tn_node *x;
    bool used[INFER_MAX_DIMS];
    bool keep;
    uint32_t n;
    tn_list out_dims;
    const tn_expr *count; /* product of the reduced extents */
} reduction;

static reduction
reduction_begin(tn_builder *b, const tn_call *call, const tn_type *out)
{
    reduction r = {.e = emit_begin(b, call)};
    tn_ctx *ctx = r.e.ctx;
    r.x = emit_input(&r.e, call->args.at[0]);
    r.n = emit_ndim(r.x);
    r.keep = tn_call_int(call, "keepdims") != 0;
    tn_type_dims(out, &r.out_dims);
    bool listed = false;
    int64_t list[INFER_MAX_DIMS], lone;
    const tn_node *axis = tn_call_attr(call, "axis");
    if (tn_int_value(axis, &lone)) {
        list[0] = lone;
        listed = true;
    }
    int n = listed ? 1 : axis ? tn_call_ints(call, "axis", list, INFER_MAX_DIMS) : 0;
    for (uint32_t i = 0; i < r.n; i++)
        r.used[i] = axis == NULL;
    for (int i = 0; i < n; i++)
        r.used[list[i] < 0 ? list[i] + r.n : list[i]] = true;
    r.count = tn_i64(ctx, 1);
    for (uint32_t i = 0; i < r.n; i++) {
        if (r.used[i])
            r.count = dim_mul(ctx, r.count, emit_dim(r.x, i));
    }
    return r;
}

/* Starts a stage shaped as the result and its reduction iterators; idx addresses the input. */
static tnk_stage *
reduction_stage(reduction *r, const char *name, tnb_dtype d, const tn_expr **idx)
{
    tnk_stage *s = tnk_te_stage(r->e.te, name, r->out_dims.at, r->out_dims.n, d);
    for (uint32_t i = 0, o = 0; i < r->n; i++) {
        if (r->used[i]) {
            idx[i] = tnk_te_reduce_axis(s, tnb_printf(tn_scratch(r->e.ctx), "k%u", i),
                                        emit_dim(r->x, i));
            o += r->keep;
        } else {
            idx[i] = s->axes[o++];
        }
    }
    return s;
}

/* The element of a result-shaped buffer that belongs to idx of the input, inside the current stage.
 */
static const tn_expr *
of_result(reduction *r, const tn_node *buffer, const tnk_stage *s)
{
    return tnk_te_read_at(r->e.te, buffer, s->axes, s->n_axes);
}

static const tn_node *
mean_of(reduction *r, const tn_node *sum, const char *name, tnb_dtype wide)
{
    tn_ctx *ctx = r->e.ctx;
    tnk_stage *s = tnk_te_stage_like(r->e.te, name, sum, wide);
    return tnk_te_define(s, tn_div(ctx, of_result(r, sum, s), tn_cast_to(ctx, wide, r->count)));
}

static const tn_node *
converted(reduction *r, const tn_node *v, tnb_dtype d)
{
    tn_ctx *ctx = r->e.ctx;
    if (tnb_dtype_eq(emit_dtype(v), d))
        return v;
    tnk_stage *s = tnk_te_stage_like(r->e.te, "T_cast", v, d);
    return tnk_te_define(s, tn_cast_to(ctx, d, of_result(r, v, s)));
}

static const tn_expr *
legalize_mean(reduction *r)
{
    tn_ctx *ctx = r->e.ctx;
    op_id id = infer_op(r->e.call)->id;
    tnb_dtype d = emit_dtype(r->x), wide = emit_wide(d);
    const tn_expr *idx[INFER_MAX_DIMS];
    tnk_stage *s = reduction_stage(r, "T_red", wide, idx);
    const tn_node *sum =
        tnk_te_sum(s, tn_cast_to(ctx, wide, tnk_te_read_at(r->e.te, r->x, idx, r->n)));
    const tn_node *mean = mean_of(r, sum, "T_divide", wide);
    if (id == OP_mean)
        return emit_end(&r->e, "mean", converted(r, mean, d));
    /* the second pass: squares of the distances */
    s = reduction_stage(r, "T_red", wide, idx);
    const tn_expr *far =
        tn_sub(ctx, tn_cast_to(ctx, wide, tnk_te_read_at(r->e.te, r->x, idx, r->n)),
               of_result(r, mean, s));
    const tn_node *var = mean_of(r, tnk_te_sum(s, tn_mul(ctx, far, far)), "T_divide", wide);
    if (id == OP_std) {
        s = tnk_te_stage_like(r->e.te, "compute", var, wide);
        var = tnk_te_define(s, tn_intrin1(ctx, TN_INTRIN_sqrt, of_result(r, var, s)));
    }
    return emit_end(&r->e, infer_op_name(r->e.call), converted(r, var, d));
}

static bool
is_plain(op_id id, tnk_reduction *kind)
{
    switch (id) {
    case OP_sum:
        *kind = TNK_SUM;
        return true;
    case OP_prod:
        *kind = TNK_PROD;
        return true;
    case OP_max:
        *kind = TNK_MAX;
        return true;
    case OP_min:
        *kind = TNK_MIN;
        return true;
    case OP_any:
        *kind = TNK_ANY;
        return true;
    case OP_all:
        *kind = TNK_ALL;
        return true;
    default:
        return false;
    }
}

const tn_expr *
legalize_reduce(tn_builder *b, const tn_call *call)
{
    if (tn_type_ndim(call->args.at[0]->type) > INFER_MAX_DIMS)
        return NULL;
    reduction r = reduction_begin(b, call, call->base.type);
    tn_ctx *ctx = r.e.ctx;
    tnb_dtype d = emit_dtype(r.x);
    tnk_reduction kind;
    if (!is_plain(infer_op(call)->id, &kind))
        return legalize_mean(&r);
    tnb_dtype sum = kind == TNK_SUM || kind == TNK_PROD ? emit_wide(d) : d;
    const tn_expr *idx[INFER_MAX_DIMS];
    tnk_stage *s = reduction_stage(&r, "x_red", sum, idx);
    const tn_expr *v = tn_cast_to(ctx, sum, tnk_te_read_at(r.e.te, r.x, idx, r.n));
    return emit_end(&r.e, infer_op_name(call), converted(&r, tnk_te_reduce(s, kind, v), d));
}

/* The better value with its position; of equal values the earlier position. NaN is better than any
 * number and equal to NaN. An order of all pairs: parts may be joined in any order, and the initial pair, the worst value at
 * the last position, is behind all others. */
static void
combine_best(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x, const tn_expr **next,
             uint32_t n, void *user)
{
    const bool *max = user;
    (void)n;
    const tn_expr *better = *max ? tn_gt_of(ctx, x[1], acc[1]) : tn_lt_of(ctx, x[1], acc[1]);
    const tn_expr *equal = tn_eq_of(ctx, x[1], acc[1]);
    if (tnb_dtype_is_float(tn_dtype_of(x[1]))) {
        const tn_expr *nan = tn_ne_of(ctx, x[1], x[1]);
        better = tn_or_of(ctx, better, tn_and_of(ctx, nan, tn_eq_of(ctx, acc[1], acc[1])));
        equal = tn_or_of(ctx, equal, tn_and_of(ctx, nan, tn_ne_of(ctx, acc[1], acc[1])));
    }
    const tn_expr *take = tn_or_of(ctx, better, tn_and_of(ctx, equal, tn_lt_of(ctx, x[0], acc[0])));
    next[0] = tn_select_of(ctx, take, x[0], acc[0]);
    next[1] = tn_select_of(ctx, take, x[1], acc[1]);
}

const tn_expr *
legalize_arg_reduce(tn_builder *b, const tn_call *call)
{
    bool max = infer_op(call)->id == OP_argmax;
    reduction r = reduction_begin(b, call, call->base.type);
    tn_ctx *ctx = r.e.ctx;
    tnb_dtype d = emit_dtype(r.x), dtypes[2] = {TNB_I64, d};
    const tn_expr *idx[INFER_MAX_DIMS], *position = tn_i64(ctx, 0);
    tnk_stage *s = reduction_stage(&r, "x_red_temp", TNB_I64, idx);
    for (uint32_t i = 0; i < r.n; i++) {
        if (r.used[i])
            position = tn_add(ctx, tn_mul(ctx, position, emit_dim(r.x, i)), idx[i]);
    }
    const tn_expr *worst = tnb_dtype_is_float(d)
                               ? tn_float_imm_of(ctx, d, max ? -INFINITY : INFINITY)
                           : max ? tn_min_value(ctx, d)
                                 : tn_max_value(ctx, d);
    const tn_expr *values[2] = {position, tnk_te_read_at(r.e.te, r.x, idx, r.n)};
    const tn_expr *init[2] = {tn_max_value(ctx, TNB_I64), worst};
    const tn_node *outs[2];
    tnk_te_reduce_tuple(s, dtypes, values, init, 2, combine_best, &max, outs);
    s = emit_stage(&r.e, "x_red");
    return emit_end(&r.e, infer_op_name(call), tnk_te_define(s, of_result(&r, outs[0], s)));
}
