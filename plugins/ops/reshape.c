/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that give the same elements another shape, and broadcast_to, permute_dims. */
#include "emit.h"

/* ---- type inference ---- */

/* The extents with -1 replaced by what is left over; false after an error. */
static bool
fill_in_rest(tn_ctx *ctx, const tn_call *call, tn_list *shape, const tn_expr *count)
{
    const tn_expr *others = tn_i64(ctx, 1), *rest = NULL;
    uint32_t at = 0;
    for (uint32_t i = 0; i < shape->n; i++) {
        int64_t v;
        if (!tn_int_value(shape->at[i], &v) || v >= 0) {
            others = dim_mul(ctx, others, shape->at[i]);
        } else if (v != -1 || rest) {
            infer_fail(ctx, call, TNB_SHAPE, "the new shape %s has %s",
                       tn_text(ctx, tn_shape_expr_of(ctx, *shape)),
                       rest ? "more than one -1" : "a negative extent");
            return false;
        } else {
            rest = shape->at[at = i];
        }
    }
    if (!rest)
        return true;
    int64_t c, o;
    dim_exceeds(ctx, tn_i64(ctx, 1), others, "-1 needs {} element or more beside it, not {}");
    if (tn_int_value(others, &o) && o == 0) {
        infer_fail(ctx, call, TNB_SHAPE, "-1 cannot be inferred beside an extent of 0");
        return false;
    }
    if (tn_int_value(count, &c) && tn_int_value(others, &o) && c % o) {
        infer_fail(ctx, call, TNB_SHAPE, "%lld elements cannot be arranged as %s", (long long)c,
                   tn_text(ctx, tn_shape_expr_of(ctx, *shape)));
        return false;
    }
    *shape = tn_list_with(ctx, *shape, at, dim_simplify(ctx, tn_floordiv(ctx, count, others)));
    return true;
}

const tn_type *
infer_reshape(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims, shape;
    int64_t ndim;
    if (!t)
        return tn_error_node(ctx);
    int known = infer_shape_arg(ctx, call, 1, &shape, &ndim);
    if (known < 0)
        return tn_error_node(ctx);
    const tn_expr *arg = infer_arg(call, 1);
    if (!known)
        return tn_is_var(arg) ? tn_ty_tensor_of(ctx, arg, t->dtype, ndim, t->vdevice)
                              : infer_rank(ctx, call, ndim, t->dtype);
    if (!tn_type_dims(TN_NODE(t), &dims)) {
        for (uint32_t i = 0; i < shape.n; i++) {
            if (tn_is_int_const(shape.at[i], -1))
                return infer_rank(ctx, call, ndim, t->dtype);
        }
        return infer_known(ctx, call, shape, t->dtype);
    }
    const tn_expr *count = tn_product(ctx, dims);
    if (!fill_in_rest(ctx, call, &shape, count))
        return tn_error_node(ctx);
    if (dim_differ(ctx, count, tn_product(ctx, shape),
                   "{} elements cannot be arranged in a shape of {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "%s elements cannot be arranged as %s",
                          tn_text(ctx, count), tn_text(ctx, tn_shape_expr_of(ctx, shape)));
    return infer_known(ctx, call, shape, t->dtype);
}

const tn_type *
infer_broadcast_to(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims, shape;
    int64_t ndim;
    if (!t)
        return tn_error_node(ctx);
    int known = infer_shape_arg(ctx, call, 1, &shape, &ndim);
    if (known < 0)
        return tn_error_node(ctx);
    if (ndim >= 0 && t->ndim > ndim)
        return infer_fail(ctx, call, TNB_SHAPE,
                          "a tensor with %lld axes cannot be broadcast to %lld", (long long)t->ndim,
                          (long long)ndim);
    const tn_expr *arg = infer_arg(call, 1);
    if (!known)
        return tn_is_var(arg) ? tn_ty_tensor_of(ctx, arg, t->dtype, ndim, t->vdevice)
                              : infer_rank(ctx, call, ndim, t->dtype);
    if (tn_type_dims(TN_NODE(t), &dims)) {
        for (uint32_t i = 0; i < dims.n; i++) {
            const tn_expr *from = dims.at[i], *to = shape.at[shape.n - dims.n + i];
            if (dim_misfit(ctx, from, to, "an extent of {} cannot be broadcast to {}"))
                return infer_fail(ctx, call, TNB_SHAPE, "%s cannot be broadcast to %s",
                                  tn_text(ctx, tn_shape_expr_of(ctx, dims)),
                                  tn_text(ctx, tn_shape_expr_of(ctx, shape)));
        }
    }
    return infer_known(ctx, call, shape, t->dtype);
}

const tn_type *
infer_expand_dims(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    int64_t v[INFER_MAX_DIMS], list[INFER_MAX_DIMS];
    bool used[INFER_MAX_DIMS];
    const tn_node *out[INFER_MAX_DIMS];
    if (!t)
        return tn_error_node(ctx);
    int n = tn_call_ints(call, "axis", v, INFER_MAX_DIMS);
    if (t->ndim < 0)
        return infer_rank(ctx, call, -1, t->dtype);
    int64_t ndim = t->ndim + (n < 0 ? 0 : n);
    if (infer_axes(ctx, call, "axis", ndim, used, list) < 0)
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, ndim, t->dtype);
    for (int64_t i = 0, k = 0; i < ndim; i++)
        out[i] = used[i] ? tn_i64(ctx, 1) : dims.at[k++];
    return infer_known(ctx, call, tn_list_of(ctx, out, (uint32_t)ndim), t->dtype);
}

const tn_type *
infer_squeeze(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims = {0};
    int64_t list[INFER_MAX_DIMS];
    bool used[INFER_MAX_DIMS], all = !tn_call_attr(call, "axis");
    const tn_node *out[INFER_MAX_DIMS];
    uint32_t n = 0;
    if (!t)
        return tn_error_node(ctx);
    bool known = tn_type_dims(TN_NODE(t), &dims);
    if (t->ndim < 0 || (all && !known))
        return infer_rank(ctx, call, -1, t->dtype);
    int count = infer_axes(ctx, call, "axis", t->ndim, used, list);
    if (count < 0)
        return tn_error_node(ctx);
    if (!known)
        return infer_rank(ctx, call, t->ndim - count, t->dtype);
    /* an extent that may turn out to be 1 may go */
    for (uint32_t i = 0; all && i < dims.n; i++)
        if (!tn_is(dims.at[i], TN_KIND_INT_IMM))
            return infer_rank(ctx, call, -1, t->dtype);
    for (uint32_t i = 0; i < dims.n; i++) {
        int64_t v;
        if (all ? tn_is_int_const(dims.at[i], 1)
                : used[i] && (!tn_int_value(dims.at[i], &v) || v == 1)) {
            dim_differ(ctx, dims.at[i], tn_i64(ctx, 1),
                       "axis %u cannot be removed: its extent is {}, not {}", i);
            continue;
        }
        /* an axis that is named but is not 1 stays */
        out[n++] = dims.at[i];
    }
    return infer_known(ctx, call, tn_list_of(ctx, out, n), t->dtype);
}

const tn_type *
infer_flatten(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    if (!t)
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, 1, t->dtype);
    return infer_known(ctx, call, tn_listv(ctx, tn_product(ctx, dims), NULL), t->dtype);
}

const tn_type *
infer_batch_flatten(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    if (!t)
        return tn_error_node(ctx);
    if (t->ndim == 0)
        return infer_fail(ctx, call, TNB_SHAPE, "the data must have at least one axis");
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, 2, t->dtype);
    tn_list rest = {dims.at + 1, dims.n - 1};
    return infer_known(ctx, call, tn_listv(ctx, dims.at[0], tn_product(ctx, rest), NULL), t->dtype);
}

/* The permutation: place i of the result is axis order[i] of the operand. The count, -1 after an
 * error. */
static int
read_order(tn_ctx *ctx, const tn_call *call, int64_t ndim, int64_t *order)
{
    bool used[INFER_MAX_DIMS];
    int n = infer_axes(ctx, call, "axes", ndim, used, order);
    if (n < 0)
        return -1;
    if (n != ndim) {
        infer_fail(ctx, call, TNB_INVALID, "attribute 'axes' has %d entries, the operand %lld axes",
                   n, (long long)ndim);
        return -1;
    }
    for (int i = 0; !tn_call_attr(call, "axes") && i < n; i++)
        order[i] = n - 1 - i;
    return n;
}

const tn_type *
infer_permute_dims(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    int64_t order[INFER_MAX_DIMS];
    const tn_node *out[INFER_MAX_DIMS];
    if (!t)
        return tn_error_node(ctx);
    int64_t ndim = t->ndim;
    if (ndim < 0 && tn_as_array(tn_call_attr(call, "axes")))
        ndim = tn_as_array(tn_call_attr(call, "axes"))->items.n;
    if (ndim < 0)
        return infer_rank(ctx, call, -1, t->dtype);
    int n = read_order(ctx, call, ndim, order);
    if (n < 0)
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, n, t->dtype);
    for (int i = 0; i < n; i++)
        out[i] = dims.at[order[i]];
    return infer_known(ctx, call, tn_list_of(ctx, out, (uint32_t)n), t->dtype);
}

/* ---- legalization ---- */

/* (at // stride) % extent for at = sum of axes[k] * scale[k], in the form in which upstream leaves it
 * without knowing that the place lies within the shape: what the stride does not divide comes first.
 */
static const tn_expr *
digit(tn_ctx *ctx, const tn_expr *const *axes, const int64_t *scale, uint32_t n, int64_t stride,
      int64_t extent)
{
    const tn_expr *whole = tn_i64(ctx, 0), *rest = tn_i64(ctx, 0), *all = tn_i64(ctx, 0);
    for (uint32_t k = 0; k < n; k++) {
        bool exact = scale[k] % stride == 0;
        all = tn_add(ctx, all, tn_muli(ctx, axes[k], scale[k]));
        if (!exact)
            rest = tn_add(ctx, rest, tn_muli(ctx, axes[k], scale[k]));
        else if (scale[k] / stride % extent)
            whole = tn_add(ctx, whole, tn_muli(ctx, axes[k], scale[k] / stride));
    }
    if (tn_is_int_const(whole, 0) || tn_is_int_const(rest, 0))
        return tn_simplify_now(ctx, emit_floormod(ctx, emit_floordiv(ctx, all, tn_i64(ctx, stride)),
                                                  tn_i64(ctx, extent)));
    rest = tn_simplify_now(ctx, emit_floordiv(ctx, rest, tn_i64(ctx, stride)));
    return emit_floormod(ctx, tn_add(ctx, rest, whole), tn_i64(ctx, extent));
}

/* Upstream's indices where all extents are literals above 0; false where not. */
static bool
upstream_indices(emit *e, const tn_node *x, const tnk_stage *s, tn_list dims, const tn_expr **idx)
{
    int64_t scale[INFER_MAX_DIMS], ins[INFER_MAX_DIMS], count = 1, stride = 1;
    uint32_t n = emit_ndim(x);
    for (uint32_t i = dims.n; i-- > 0;) {
        int64_t extent;
        if (!tn_int_value(dims.at[i], &extent) || extent <= 0)
            return false;
        scale[i] = count;
        count *= extent;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!tn_int_value(emit_dim(x, i), &ins[i]) || ins[i] <= 0)
            return false;
    for (uint32_t i = n; i-- > 0; stride *= ins[i])
        idx[i] = digit(e->ctx, s->axes, scale, dims.n, stride, ins[i]);
    return true;
}

/* The element of x at the same row-major position as the stage's place. */
static const tn_expr *
same_position(emit *e, const tn_node *x, const tnk_stage *s)
{
    tn_ctx *ctx = e->ctx;
    tn_list dims = emit_dims(TN_NODE(e->call));
    const tn_expr *outs[INFER_MAX_DIMS], *ins[INFER_MAX_DIMS], *idx[INFER_MAX_DIMS];
    uint32_t n = emit_ndim(x);
    if (upstream_indices(e, x, s, dims, idx))
        return tnk_te_read_at(e->te, x, idx, n);
    for (uint32_t i = 0; i < dims.n; i++)
        outs[i] = tnk_te_expr(e->te, dims.at[i]);
    for (uint32_t i = 0; i < n; i++)
        ins[i] = emit_dim(x, i);
    emit_unflatten(ctx, emit_flatten(ctx, s->axes, outs, dims.n), ins, n, idx);
    emit_simplify(s, dims.at, idx, n);
    return tnk_te_read_at(e->te, x, idx, n);
}

const tn_expr *
legalize_reshape(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, call->args.at[0]);
    if (emit_ndim(x) > INFER_MAX_DIMS || emit_dims(TN_NODE(call)).n > INFER_MAX_DIMS)
        return NULL;
    tnk_stage *s = emit_stage(&e, "T_reshape");
    return emit_end(&e, "reshape", tnk_te_define(s, same_position(&e, x, s)));
}

const tn_expr *
legalize_reshaping(tn_builder *b, const tn_call *call)
{
    op_id id = infer_op(call)->id;
    bool expand = id == OP_expand_dims, squeeze = id == OP_squeeze;
    if (!expand && !squeeze)
        return legalize_reshape(b, call);
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    tnk_stage *s = emit_stage(&e, expand ? "expand_dims" : "T_squeeze");
    const tn_expr *idx[INFER_MAX_DIMS];
    bool used[INFER_MAX_DIMS] = {false};
    int64_t axes[INFER_MAX_DIMS];
    uint32_t n = emit_ndim(x), k = 0;
    int64_t rank = expand ? s->n_axes : n;
    int count = tn_call_attr(call, "axis") ? tn_call_ints(call, "axis", axes, INFER_MAX_DIMS) : 0;
    for (int i = 0; i < count; i++) {
        int64_t at = axes[i] < 0 ? axes[i] + rank : axes[i], v;
        /* squeeze leaves an axis that is not 1 */
        used[at] = expand || !tn_int_value(emit_dim(x, (uint32_t)at), &v) || v == 1;
    }
    if (expand) {
        for (uint32_t i = 0; i < s->n_axes; i++) {
            if (!used[i])
                idx[k++] = s->axes[i];
        }
    } else {
        for (uint32_t i = 0; i < n; i++) {
            bool gone = tn_call_attr(call, "axis") ? used[i] : tn_is_int_const(emit_dim(x, i), 1);
            idx[i] = gone ? tn_i64(ctx, 0) : s->axes[k++];
        }
    }
    return emit_end(&e, infer_op_name(call), tnk_te_define(s, tnk_te_read_at(e.te, x, idx, n)));
}

const tn_expr *
legalize_broadcast_to(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, call->args.at[0]);
    tnk_stage *s = emit_stage(&e, "T_broadcast_to");
    return emit_end(&e, "broadcast_to", tnk_te_define(s, emit_broadcast(&e, x, s)));
}

const tn_expr *
legalize_permute_dims(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, call->args.at[0]);
    int64_t order[INFER_MAX_DIMS];
    const tn_expr *idx[INFER_MAX_DIMS];
    int n = read_order(e.ctx, call, emit_ndim(x), order);
    if (n < 0)
        return tn_error_node(e.ctx);
    tnk_stage *s = emit_stage(&e, "T_transpose");
    for (int i = 0; i < n; i++)
        idx[order[i]] = s->axes[i];
    return emit_end(&e, "transpose", tnk_te_define(s, tnk_te_read_at(e.te, x, idx, (uint32_t)n)));
}
