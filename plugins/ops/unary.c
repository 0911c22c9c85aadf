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
    const tn_expr *zero = tn_literal(ctx, d, 0), *one = tn_literal(ctx, d, 1);
    if (d.code == TNB_UINT)
        return tn_select_of(ctx, tn_gt_of(ctx, x, zero), one, zero);
    return tn_select_of(ctx, tn_gt_of(ctx, x, zero), one,
                        tn_select_of(ctx, tn_lt_of(ctx, x, zero), tn_literal(ctx, d, -1), x));
}

static const tn_expr *
abs_of(tn_ctx *ctx, const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    if (d.code == TNB_UINT || tnb_dtype_is_bool(d))
        return x;
    if (tnb_dtype_is_float(d))
        return tn_intrin1(ctx, TN_INTRIN_fabs, x);
    return tn_select_of(ctx, tn_lt_of(ctx, x, tn_literal(ctx, d, 0)),
                        tn_sub(ctx, tn_literal(ctx, d, 0), x), x);
}

/* Operators that are the intrinsic of their name. */
static const tn_intrin_id intrinsics[] = {
    [OP_acos] = TN_INTRIN_acos,       [OP_acosh] = TN_INTRIN_acosh,
    [OP_asin] = TN_INTRIN_asin,       [OP_asinh] = TN_INTRIN_asinh,
    [OP_atan] = TN_INTRIN_atan,       [OP_atanh] = TN_INTRIN_atanh,
    [OP_cos] = TN_INTRIN_cos,         [OP_cosh] = TN_INTRIN_cosh,
    [OP_erf] = TN_INTRIN_erf,         [OP_exp] = TN_INTRIN_exp,
    [OP_log] = TN_INTRIN_log,         [OP_rsqrt] = TN_INTRIN_rsqrt,
    [OP_sigmoid] = TN_INTRIN_sigmoid, [OP_sin] = TN_INTRIN_sin,
    [OP_sinh] = TN_INTRIN_sinh,       [OP_sqrt] = TN_INTRIN_sqrt,
    [OP_tan] = TN_INTRIN_tan,         [OP_tanh] = TN_INTRIN_tanh,
    [OP_ceil] = TN_INTRIN_ceil,       [OP_floor] = TN_INTRIN_floor,
    [OP_trunc] = TN_INTRIN_trunc,     [OP_isnan] = TN_INTRIN_isnan,
    [OP_isinf] = TN_INTRIN_isinf,     [OP_isfinite] = TN_INTRIN_isfinite,
};

/* An intrinsic computed in float32 where the type is narrower. */
static const tn_expr *
wide_math(tn_ctx *ctx, tn_intrin_id id, const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    return tn_cast_to(ctx, d, tn_intrin1(ctx, id, tn_cast_to(ctx, emit_wide(d), x)));
}

static const tn_expr *
unary_value(tn_ctx *ctx, const tn_call *call, const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    bool is_float = tnb_dtype_is_float(d);
    const op_id id = infer_op(call)->id;
    const tn_intrin_id same =
        id < sizeof intrinsics / sizeof *intrinsics ? intrinsics[id] : TN_INTRIN_NONE;
    switch (id) {
    case OP_abs:
        return abs_of(ctx, x);
    case OP_negative:
        return tn_sub(ctx, tn_literal(ctx, d, is_float ? -0.0 : 0), x);
    case OP_sign:
        return sign_of(ctx, x);
    case OP_square:
        return tn_mul(ctx, x, x);
    case OP_logical_not:
        return tn_not(ctx, x);
    case OP_bitwise_not:
        return tnb_dtype_is_bool(d) ? tn_not(ctx, x) : tn_intrin1(ctx, TN_INTRIN_bitwise_not, x);
    case OP_round:
        return is_float ? wide_math(ctx, TN_INTRIN_nearbyint, x) : x;
    case OP_ceil:
    case OP_floor:
    case OP_trunc:
        return is_float ? wide_math(ctx, same, x) : x;
    case OP_isnan:
    case OP_isinf:
        return is_float ? tn_intrin1(ctx, same, tn_cast_to(ctx, emit_wide(d), x))
                        : tn_bool(ctx, false);
    case OP_isfinite:
        return is_float ? tn_intrin1(ctx, same, tn_cast_to(ctx, emit_wide(d), x))
                        : tn_bool(ctx, true);
    default:
        return wide_math(ctx, same, x);
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
    return emit_end(&e, "clip", tnk_te_define(s, tn_max(ctx, tn_min(ctx, x, hi), lo)));
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
        x = tn_ne_of(ctx, x, tn_literal(ctx, from, 0));
    else
        x = tn_cast_to(ctx, to, x);
    return emit_end(&e, "cast", tnk_te_define(s, x));
}
