/* SPDX-License-Identifier: Apache-2.0 */
/* Unary elementwise operators, clip and astype. */
#include "emit.h"

const tn_type *
infer_unary(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    return t ? infer_same(ctx, call, t, t->dtype) : tn_error_node(ctx);
}

const tn_type *
infer_unary_float(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (t && !tnb_dtype_is_void(t->dtype) && !tnb_dtype_is_float(t->dtype)) {
        infer_fail(ctx, call, TNB_TYPE, "the operand must be of a float type, but is of %s",
                   tnb_dtype_print(t->dtype).s);
        tnb_diag_hint(tn_diags(ctx), "convert it with astype");
        return tn_error_node(ctx);
    }
    return t ? infer_same(ctx, call, t, t->dtype) : tn_error_node(ctx);
}

const tn_type *
infer_unary_int(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (t && tnb_dtype_is_float(t->dtype))
        return infer_fail(ctx, call, TNB_TYPE, "the operand must be integer or bool, but is of %s",
                          tnb_dtype_print(t->dtype).s);
    return t ? infer_same(ctx, call, t, t->dtype) : tn_error_node(ctx);
}

const tn_type *
infer_unary_bool(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (t && !tnb_dtype_is_void(t->dtype) && !tnb_dtype_is_bool(t->dtype))
        return infer_fail(ctx, call, TNB_TYPE, "the operand must be bool, but is of %s",
                          tnb_dtype_print(t->dtype).s);
    return t ? infer_same(ctx, call, t, t->dtype) : tn_error_node(ctx);
}

const tn_type *
infer_unary_check(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    return t ? infer_same(ctx, call, t, TNB_B8) : tn_error_node(ctx);
}

const tn_type *
infer_clip(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (!t || !infer_scalar(ctx, call, 1) || !infer_scalar(ctx, call, 2))
        return tn_error_node(ctx);
    return infer_same(ctx, call, t, t->dtype);
}

const tn_type *
infer_astype(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    return t ? infer_same(ctx, call, t, tn_call_dtype(call, "dtype")) : tn_error_node(ctx);
}

static const tn_expr *
sign_of(tn_ctx *ctx, const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    const tn_expr *zero = LIT(d, 0), *one = LIT(d, 1);
    if (d.code == TNB_UINT)
        return SELECT(GREATER(x, zero), one, zero);
    return SELECT(GREATER(x, zero), one, SELECT(LESS(x, zero), LIT(d, -1), x));
}

static const tn_expr *
abs_of(tn_ctx *ctx, const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    if (d.code == TNB_UINT || tnb_dtype_is_bool(d))
        return x;
    if (tnb_dtype_is_float(d))
        return MATH1("fabs", x);
    return SELECT(LESS(x, LIT(d, 0)), SUB(LIT(d, 0), x), x);
}

/* An intrinsic computed in float32 where the type is narrower. */
static const tn_expr *
wide_math(tn_ctx *ctx, const char *name, const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    return CAST(d, MATH1(name, CAST(emit_wide(d), x)));
}

static const tn_expr *
unary_value(tn_ctx *ctx, const tn_call *call, const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    bool is_float = tnb_dtype_is_float(d);
    const char *same_name = infer_op_name(call); /* of the intrinsic */
    switch (infer_op(call)->id) {
    case OP_abs:
        return abs_of(ctx, x);
    case OP_negative:
        return SUB(LIT(d, is_float ? -0.0 : 0), x);
    case OP_sign:
        return sign_of(ctx, x);
    case OP_square:
        return MUL(x, x);
    case OP_logical_not:
        return tn_not(ctx, x);
    case OP_bitwise_not:
        return tnb_dtype_is_bool(d) ? tn_not(ctx, x) : MATH1("bitwise_not", x);
    case OP_round:
        return is_float ? wide_math(ctx, "nearbyint", x) : x;
    case OP_ceil:
    case OP_floor:
    case OP_trunc:
        return is_float ? wide_math(ctx, same_name, x) : x;
    case OP_isnan:
    case OP_isinf:
        return is_float ? MATH1(same_name, CAST(emit_wide(d), x)) : tn_bool(ctx, false);
    case OP_isfinite:
        return is_float ? MATH1(same_name, CAST(emit_wide(d), x)) : tn_bool(ctx, true);
    default:
        return wide_math(ctx, same_name, x);
    }
}

/* Programs are named as upstream names them: those of its scalar functions "tir_exp". */
static const char *
unary_hint(tn_ctx *ctx, const tn_call *call)
{
    switch (infer_op(call)->id) {
    case OP_bitwise_not:
    case OP_isfinite:
    case OP_isinf:
    case OP_isnan:
    case OP_logical_not:
    case OP_negative:
    case OP_square:
        return infer_op_name(call);
    default:
        return tnb_printf(tn_scratch(ctx), "tir_%s", infer_op_name(call));
    }
}

const tn_expr *
legalize_unary(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *a = emit_input(&e, call->args.at[0]);
    tnk_stage *s = emit_stage(&e, "compute");
    const tn_expr *x = tnk_te_read_at(e.te, a, s->axes, s->n_axes);
    const tn_node *out = tnk_te_define(s, unary_value(ctx, call, x));
    return emit_end(&e, unary_hint(ctx, call), out);
}

const tn_expr *
legalize_clip(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *a = emit_input(&e, call->args.at[0]);
    tnb_dtype d = emit_dtype(a);
    const tn_expr *lo = emit_scalar(&e, call->args.at[1], d);
    const tn_expr *hi = emit_scalar(&e, call->args.at[2], d);
    tnk_stage *s = emit_stage(&e, "compute");
    const tn_expr *x = tnk_te_read_at(e.te, a, s->axes, s->n_axes);
    return emit_end(&e, "clip", tnk_te_define(s, GREATEST(LEAST(x, hi), lo)));
}

const tn_expr *
legalize_astype(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *a = emit_input(&e, call->args.at[0]);
    tnk_stage *s = emit_stage(&e, "compute");
    tnb_dtype from = emit_dtype(a), to = tn_call_dtype(call, "dtype");
    const tn_expr *x = tnk_te_read_at(e.te, a, s->axes, s->n_axes);
    if (tnb_dtype_is_bool(to) && !tnb_dtype_is_bool(from))
        x = tn_bin(ctx, TN_KIND_NE, x, LIT(from, 0));
    else
        x = CAST(to, x);
    return emit_end(&e, "cast", tnk_te_define(s, x));
}
