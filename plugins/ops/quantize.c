/* SPDX-License-Identifier: Apache-2.0 */
/* Affine quantization: quantize, dequantize. */
#include "emit.h"

#include <math.h>

/* A parameter: one value, or a vector along the channel axis. */
static bool
check_parameter(tn_ctx *ctx, const tn_call *call, uint32_t i, const tn_ty_tensor *x)
{
    const tn_ty_tensor *p = infer_tensor(ctx, call, i);
    const char *name = tn_call_op_of(call)->args[i].name;
    tn_list own, dims;
    int64_t axis;
    if (!p)
        return false;
    if (p->ndim > 1) {
        infer_fail(ctx, call, TNB_SHAPE, "argument '%s' must have at most one axis, but has %lld",
                   name, (long long)p->ndim);
        return false;
    }
    if (x->ndim < 1) /* the default axis is no mistake for a number */
        return p->ndim < 1 || x->ndim < 0 ||
               infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), x->ndim, &axis);
    if (!infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), x->ndim, &axis))
        return false;
    bool known = p->ndim == 1 && tn_type_dims(TN_NODE(p), &own);
    if (known && tn_is_int_const(own.at[0], 1))
        return true;
    if (known && tn_type_dims(TN_NODE(x), &dims) &&
        dim_misfit(ctx, own.at[0], dims.at[axis],
                   "argument '%s' has {} entries, axis %lld of the data {}", name,
                   (long long)axis)) {
        infer_fail(ctx, call, TNB_SHAPE, "argument '%s' has %s entries, axis %lld of the data %s",
                   name, tn_text(ctx, own.at[0]), (long long)axis, tn_text(ctx, dims.at[axis]));
        return false;
    }
    return true;
}

const tn_type *
infer_quantize(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (!t || !check_parameter(ctx, call, 1, t) || !check_parameter(ctx, call, 2, t))
        return tn_error_node(ctx);
    if (!tnb_dtype_is_void(t->dtype) && !tnb_dtype_is_float(t->dtype) &&
        !tnb_dtype_eq(t->dtype, TNB_I32))
        return infer_fail(ctx, call, TNB_TYPE, "the data must be float or int32, but is of %s",
                          tnb_dtype_print(t->dtype).s);
    tnb_dtype d = tn_call_dtype(call, "out_dtype");
    if (!tnb_dtype_is_int(d) && !tnb_dtype_is_float(d))
        return infer_fail(ctx, call, TNB_TYPE, "attribute 'out_dtype' is %s", tnb_dtype_print(d).s);
    return infer_same(ctx, call, t, d);
}

const tn_type *
infer_dequantize(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (!t || !check_parameter(ctx, call, 1, t) || !check_parameter(ctx, call, 2, t))
        return tn_error_node(ctx);
    tnb_dtype d = tn_call_dtype(call, "out_dtype");
    if (!tnb_dtype_is_float(d))
        return infer_fail(ctx, call, TNB_TYPE, "attribute 'out_dtype' is %s, expected a float type",
                          tnb_dtype_print(d).s);
    return infer_same(ctx, call, t, d);
}

typedef struct parameter {
    const tn_node *buffer;
    const tn_expr *value;
} parameter;

static parameter
read_parameter(emit *e, const tn_expr *arg)
{
    parameter p = {NULL, emit_constant(e->ctx, arg, tn_type_dtype(arg->type))};
    if (!p.value)
        p.buffer = emit_input(e, arg);
    return p;
}

static const tn_expr *
parameter_at(emit *e, parameter p, const tnk_stage *s, const tn_call *call)
{
    tn_ctx *ctx = e->ctx;
    int64_t axis = tn_call_int(call, "axis");
    axis += axis < 0 ? (int64_t)s->n_axes : 0;
    if (p.value)
        return p.value;
    uint32_t n = emit_ndim(p.buffer);
    bool one = n == 0 || tn_is_int_const(emit_dim(p.buffer, 0), 1);
    tn_list dims = emit_dims(TN_NODE(call));
    const tn_expr *at =
        one ? tn_i64(ctx, 0)
            : emit_stretched(e, emit_dim(p.buffer, 0), dims.at[axis], s->axes[axis]);
    return tnk_te_read_at(e->te, p.buffer, &at, n);
}

const tn_expr *
legalize_quantize(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    parameter ps = read_parameter(&e, call->args.at[1]), pz = read_parameter(&e, call->args.at[2]);
    tnb_dtype d = tn_type_dtype(call->base.type);
    tnb_dtype wide = tnb_dtype_is_int(d) && d.bits > 16 ? TNB_F64 : TNB_F32;
    if (tnb_dtype_eq(emit_dtype(x), TNB_F64))
        wide = TNB_F64;
    tnk_stage *s = emit_stage(&e, "quantized");
    const tn_expr *scale = tn_cast_to(ctx, wide, parameter_at(&e, ps, s, call)),
                  *zero = tn_cast_to(ctx, wide, parameter_at(&e, pz, s, call));
    const tn_expr *v =
        tn_div(ctx, tn_cast_to(ctx, wide, tnk_te_read_at(e.te, x, s->axes, s->n_axes)), scale);
    if (tnb_dtype_is_int(d)) {
        double low = d.code == TNB_UINT ? 0 : -ldexp(1, d.bits - 1);
        double high = ldexp(1, d.code == TNB_UINT ? d.bits : d.bits - 1) - 1;
        v = tn_add(ctx, tn_intrin1(ctx, TN_INTRIN_nearbyint, v), zero);
        v = tn_min(ctx, tn_max(ctx, v, tn_literal(ctx, wide, low)), tn_literal(ctx, wide, high));
    } else {
        v = tn_add(ctx, v, zero);
    }
    return emit_end(&e, "quantize", tnk_te_define(s, tn_cast_to(ctx, d, v)));
}

const tn_expr *
legalize_dequantize(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    parameter ps = read_parameter(&e, call->args.at[1]), pz = read_parameter(&e, call->args.at[2]);
    tnb_dtype d = tn_type_dtype(call->base.type), from = emit_dtype(x);
    tnb_dtype wide = tnb_dtype_eq(d, TNB_F64) ? TNB_F64 : TNB_F32;
    tnb_dtype exact = tnb_dtype_is_int(from) ? (from.bits >= 32 ? TNB_I64 : TNB_I32) : wide;
    tnk_stage *s = emit_stage(&e, "dequantized");
    const tn_expr *zero = tn_cast_to(ctx, exact, parameter_at(&e, pz, s, call)),
                  *scale = tn_cast_to(ctx, wide, parameter_at(&e, ps, s, call));
    const tn_expr *v =
        tn_sub(ctx, tn_cast_to(ctx, exact, tnk_te_read_at(e.te, x, s->axes, s->n_axes)), zero);
    v = tn_mul(ctx, tn_cast_to(ctx, wide, v), scale);
    if (tnb_dtype_eq(d, TNB_F16))
        v = tn_min(ctx, tn_max(ctx, v, tn_literal(ctx, wide, -65504)),
                   tn_literal(ctx, wide, 65504));
    return emit_end(&e, "dequantize", tnk_te_define(s, tn_cast_to(ctx, d, v)));
}
