/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a tensor without looking into it: size, and inspect.* as scalars; a shape as a tensor. */
#include "emit.h"

const tn_type *
infer_shape_to_tensor(tn_ctx *ctx, const tn_call *call)
{
    tn_list dims;
    int64_t ndim;
    if (infer_shape_arg(ctx, call, 0, &dims, &ndim) < 0)
        return tn_error_node(ctx);
    if (ndim < 0)
        return infer_rank(ctx, call, 1, TNB_I64);
    return infer_known(ctx, call, tn_listv(ctx, tn_i64(ctx, ndim), NULL), TNB_I64);
}

/* Extents that have no names get some first. */
const tn_expr *
legalize_shape_to_tensor(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tn_list dims = {0};
    int64_t ndim;
    int known = infer_shape_arg(ctx, call, 0, &dims, &ndim);
    if (known < 0)
        return tn_error_node(ctx);
    for (int64_t i = 0; !known && i < ndim; i++)
        dims = tn_list_append(ctx, dims,
                              tn_var_dtype(ctx, tn_strf(ctx, "s%lld", (long long)i), TNB_I64));
    if (!known &&
        tn_is_error(tn_emit_match_cast(b, call->args.at[0], tn_ty_shape_of(ctx, dims), "lv")))
        return tn_error_node(ctx);
    const tn_expr **own = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, dims.n + 1),
                  *v = tn_i64(ctx, 0);
    for (uint32_t i = 0; i < dims.n; i++)
        own[i] = emit_scalar(&e, dims.at[i], TNB_I64);
    tnk_stage *s = emit_stage(&e, "shape_to_tensor");
    for (uint32_t i = dims.n; i-- > 0;)
        v = tn_if_then_else(ctx, tn_eq_of(ctx, s->axes[0], tn_i64(ctx, i)), own[i], v);
    return emit_end(&e, "shape_to_tensor", tnk_te_define(s, v));
}

const tn_type *
infer_size(tn_ctx *ctx, const tn_call *call)
{
    return infer_tensor(ctx, call, 0) ? infer_known(ctx, call, (tn_list){0}, TNB_I64)
                                      : tn_error_node(ctx);
}

const tn_expr *
legalize_size(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_expr *n = tn_product(ctx, emit_dims(call->args.at[0]));
    tnk_stage *s = emit_stage(&e, "size");
    return emit_end(&e, "size", tnk_te_define(s, tn_cast_to(ctx, TNB_I64, tnk_te_expr(e.te, n))));
}

static bool
has_axis(const tn_call *call)
{
    op_id id = infer_op(call)->id;
    return id == OP_inspect_tensor_shape_i || id == OP_inspect_tensor_stride_i;
}

const tn_type *
infer_inspect(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t axis;
    if (!t)
        return tn_error_node(ctx);
    if (has_axis(call)) {
        const tn_expr *e = infer_scalar(ctx, call, 1);
        if (!e)
            return tn_error_node(ctx);
        if (tn_int_value(e, &axis) && (axis < 0 || (t->ndim >= 0 && axis >= t->ndim)))
            return infer_fail(ctx, call, TNB_SHAPE, "there is no axis %lld in a tensor of %lld",
                              (long long)axis, (long long)t->ndim);
        return tn_ty_prim_of(ctx, TNB_I64);
    }
    if (infer_op(call)->id == OP_inspect_tensor_ndim)
        return tn_ty_prim_of(ctx, TNB_I32);
    bool lanes = infer_op(call)->id == OP_inspect_tensor_dtype_lanes;
    return tn_ty_prim_of(ctx, lanes ? TNB_DTYPE(TNB_UINT, 16) : TNB_U8);
}

const tn_expr *
legalize_inspect(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list dims = emit_dims(call->args.at[0]);
    tnb_dtype d = tn_type_dtype(call->args.at[0]->type);
    op_id id = infer_op(call)->id;
    int64_t axis;
    if (has_axis(call)) {
        if (!tn_int_value(call->args.at[1], &axis))
            return NULL;
        if (id == OP_inspect_tensor_shape_i)
            return dims.at[axis];
        const tn_expr *stride = tn_i64(ctx, 1); /* tensors are compact */
        for (uint32_t i = (uint32_t)axis + 1; i < dims.n; i++)
            stride = dim_mul(ctx, stride, dims.at[i]);
        return stride;
    }
    if (id == OP_inspect_tensor_ndim)
        return tn_i32(ctx, (int32_t)dims.n);
    if (id == OP_inspect_tensor_dtype_lanes)
        return tn_int_imm_of(ctx, TNB_DTYPE(TNB_UINT, 16), d.lanes);
    return tn_int_imm_of(ctx, TNB_U8, id == OP_inspect_tensor_dtype_bits ? d.bits : d.code);
}
