/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves: variables, literals, references to functions and operators. */
#include "private.h"
#include "scalar.h"
#include <math.h>

static const tn_expr *
new_var(tn_ctx *ctx, tn_kind kind, const char *name, const tn_type *type)
{
    if (tn_bad(ctx, type))
        return tn_error_node(ctx);
    if (!tn_is_type(type))
        return tn_error(ctx, 0, TNB_TYPE, "variable '%s' needs a type, not %s", name ? name : "",
                        tn_brief(ctx, type));
    return TN_MAKE(ctx, kind, var, type, .name = tn_str(ctx, name ? name : "v"));
}

const tn_expr *
tn_var_new(tn_ctx *ctx, const char *name, const tn_type *type)
{
    return new_var(ctx, TN_KIND_VAR, name, type);
}

const tn_expr *
tn_var_dtype(tn_ctx *ctx, const char *name, tnb_dtype d)
{
    return new_var(ctx, TN_KIND_VAR, name, tn_ty_prim_of(ctx, d));
}

const tn_expr *
tn_dataflow_var_new(tn_ctx *ctx, const char *name, const tn_type *type)
{
    return new_var(ctx, TN_KIND_DATAFLOW_VAR, name, type);
}

const tn_expr *
tn_var_retyped(tn_ctx *ctx, const tn_expr *var, const tn_type *type)
{
    if (tn_bad(ctx, var) || tn_bad(ctx, type))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, var->kind, var, type, .base.loc = var->loc,
                   .name = ((const tn_var *)var)->name);
}

const char *
tn_var_name(const tn_expr *var)
{
    return tn_is_var(var) ? ((const tn_var *)var)->name : "";
}

/* ---- literals ---- */
const tn_expr *
tn_int_imm_of(tn_ctx *ctx, tnb_dtype d, int64_t v)
{
    if (!(tnb_dtype_is_int(d) || tnb_dtype_is_bool(d)) || d.lanes != 1)
        return tn_error(ctx, 0, TNB_TYPE, "an integer literal cannot have dtype %s",
                        tnb_dtype_print(d).s);
    enum { COUNT = sizeof ctx->literals / sizeof *ctx->literals };
    const tn_type *t = tn_ty_prim_of(ctx, d);
    v = tn_wrap_int(d, v);
    const tn_node **at = &ctx->literals[((uint64_t)v + (uintptr_t)t / sizeof *t) % COUNT];
    if (*at && ((const tn_int_imm *)*at)->value == v && (*at)->type == t)
        return *at;
    const tn_expr *e = TN_MAKE(ctx, TN_KIND_INT_IMM, int_imm, t, .value = v);
    if (!tn_is_error(e))
        *at = e;
    return e;
}

const tn_expr *
tn_i64(tn_ctx *ctx, int64_t v)
{
    return tn_int_imm_of(ctx, TNB_I64, v);
}

const tn_expr *
tn_i32(tn_ctx *ctx, int32_t v)
{
    return tn_int_imm_of(ctx, TNB_I32, v);
}

const tn_expr *
tn_bool(tn_ctx *ctx, bool v)
{
    return tn_int_imm_of(ctx, TNB_B8, v);
}

const tn_expr *
tn_float_imm_of(tn_ctx *ctx, tnb_dtype d, double v)
{
    if (!tnb_dtype_is_float(d) || d.lanes != 1)
        return tn_error(ctx, 0, TNB_TYPE, "a floating-point literal cannot have dtype %s",
                        tnb_dtype_print(d).s);
    if (d.bits < 64) { /* round as storing does */
        uint8_t cell[16] = {0};
        if (!tnb_store_f64(cell, d, 0, v) || !tnb_load_f64(cell, d, 0, &v))
            return tn_error(ctx, 0, TNB_UNSUPPORTED, "literals of dtype %s are not supported",
                            tnb_dtype_print(d).s);
    }
    if (isnan(v))
        v = NAN; /* one NaN, so that equal literals are the same node */
    return TN_MAKE(ctx, TN_KIND_FLOAT_IMM, float_imm, tn_ty_prim_of(ctx, d), .value = v);
}

const tn_expr *
tn_string(tn_ctx *ctx, const char *s)
{
    return TN_MAKE(ctx, TN_KIND_STRING_IMM, string_imm, tn_ty_any(ctx),
                   .value = tn_str(ctx, s ? s : ""));
}

const tn_expr *
tn_dtype_imm_of(tn_ctx *ctx, tnb_dtype d)
{
    return TN_MAKE(ctx, TN_KIND_DTYPE_IMM, dtype_imm, tn_ty_any(ctx), .value = d);
}

const tn_expr *
tn_global_var_of(tn_ctx *ctx, const char *name)
{
    return TN_MAKE(ctx, TN_KIND_GLOBAL_VAR, global_var, tn_ty_any(ctx), .name = tn_str(ctx, name));
}

const tn_expr *
tn_extern_func_of(tn_ctx *ctx, const char *name)
{
    return TN_MAKE(ctx, TN_KIND_EXTERN_FUNC, extern_func, tn_ty_func_opaque(ctx, NULL, false, NULL),
                   .name = tn_str(ctx, name));
}

const tn_expr *
tn_op_ref_of(tn_ctx *ctx, const tn_op *op)
{
    enum { COUNT = sizeof ctx->op_refs / sizeof *ctx->op_refs };
    const tn_node **at = &ctx->op_refs[(uintptr_t)op / sizeof *op % COUNT];
    if (*at && ((const tn_op_ref *)*at)->op == op)
        return *at;
    const tn_expr *e = TN_MAKE(ctx, TN_KIND_OP_REF, op_ref, tn_ty_any(ctx), .op = op);
    if (!tn_is_error(e))
        *at = e;
    return e;
}

const tn_node *
tn_none_value(tn_ctx *ctx)
{
    return tn_make(ctx, TN_KIND_NONE, &(tn_none){0}, NULL, false);
}
