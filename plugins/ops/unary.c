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
unary_value(tn_ctx *ctx, const char *op, const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    bool is_float = tnb_dtype_is_float(d);
    if (!strcmp(op, "abs"))
        return abs_of(ctx, x);
    if (!strcmp(op, "negative"))
        return SUB(LIT(d, is_float ? -0.0 : 0), x);
    if (!strcmp(op, "sign"))
        return sign_of(ctx, x);
    if (!strcmp(op, "square"))
        return MUL(x, x);
    if (!strcmp(op, "logical_not"))
        return tn_not(ctx, x);
    if (!strcmp(op, "bitwise_not"))
        return tnb_dtype_is_bool(d) ? tn_not(ctx, x) : MATH1("bitwise_not", x);
    if (!strcmp(op, "round"))
        return is_float ? wide_math(ctx, "nearbyint", x) : x;
    if (!strcmp(op, "ceil") || !strcmp(op, "floor") || !strcmp(op, "trunc"))
        return is_float ? wide_math(ctx, op, x) : x;
    if (!strcmp(op, "isnan") || !strcmp(op, "isinf") || !strcmp(op, "isfinite")) {
        if (!is_float)
            return tn_bool(ctx, !strcmp(op, "isfinite"));
        return MATH1(op, CAST(emit_wide(d), x));
    }
    return wide_math(ctx, op, x);
}

static const char *const plain_names[] = {"bitwise_not", "isfinite", "isinf",  "isnan",
                                          "logical_not", "negative", "square", NULL};

const tn_expr *
legalize_unary(tn_builder *b, const tn_call *call)
{
    const char *op = infer_op_name(call);
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *a = emit_input(&e, call->args.at[0]);
    tnk_stage *s = emit_stage(&e, "compute");
    const tn_expr *x = tnk_te_read_at(e.te, a, s->axes, s->n_axes);
    const tn_node *out = tnk_te_define(s, unary_value(ctx, op, x));
    const char *hint = tnb_printf(tn_scratch(ctx), "tir_%s", op);
    for (const char *const *p = plain_names; *p; p++) {
        if (!strcmp(*p, op))
            hint = op;
    }
    return emit_end(&e, hint, out);
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
