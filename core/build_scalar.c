/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar expressions as nodes; those of arithmetic are in core/scalar.c. */
#include "private.h"

#include "tenon/core/expr.h"

static bool
scalar(tn_ctx *ctx, const tn_expr *e, const char *what)
{
    if (tn_bad(ctx, e))
        return false;
    if (!tn_is_scalar(e)) {
        tn_error(ctx, 0, TNB_TYPE, "%s must be a scalar, not %s", what, tn_brief(ctx, e));
        return false;
    }
    return true;
}

static const tn_expr *
finish(tn_ctx *ctx, tn_kind kind, void *fields)
{
    tn_node *n = fields;
    n->kind = (uint16_t)kind;
    const tn_type *t = tn_infer(ctx, n);
    return tn_is_error(t) ? t : tn_make(ctx, kind, fields, t, true);
}

const tn_expr *
tn_let_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *value, const tn_expr *body)
{
    if (!scalar(ctx, var, "the variable of a let") || !scalar(ctx, value, "the value of a let") ||
        !scalar(ctx, body, "the body of a let"))
        return tn_error_node(ctx);
    if (var->kind != TN_KIND_VAR)
        return tn_error(ctx, 0, TNB_TYPE, "a let binds a variable, not %s", tn_brief(ctx, var));
    return finish(ctx, TN_KIND_LET, &(tn_let){.value = value, .var = var, .body = body});
}

const tn_expr *
tn_ramp_of(tn_ctx *ctx, const tn_expr *start, const tn_expr *stride, int64_t lanes)
{
    if (!scalar(ctx, start, "the start of a ramp") || !scalar(ctx, stride, "the stride of a ramp"))
        return tn_error_node(ctx);
    return finish(ctx, TN_KIND_RAMP, &(tn_ramp){.start = start, .stride = stride, .lanes = lanes});
}

const tn_expr *
tn_broadcast_of(tn_ctx *ctx, const tn_expr *v, int64_t lanes)
{
    if (!scalar(ctx, v, "the value of a broadcast"))
        return tn_error_node(ctx);
    return finish(ctx, TN_KIND_BROADCAST, &(tn_broadcast){.value = v, .lanes = lanes});
}

const tn_expr *
tn_shuffle_of(tn_ctx *ctx, tn_list vectors, tn_list indices)
{
    for (uint32_t i = 0; i < vectors.n; i++)
        if (!scalar(ctx, vectors.at[i], "a vector of a shuffle"))
            return tn_error_node(ctx);
    for (uint32_t i = 0; i < indices.n; i++)
        if (!scalar(ctx, indices.at[i], "an index of a shuffle"))
            return tn_error_node(ctx);
    return finish(ctx, TN_KIND_SHUFFLE, &(tn_shuffle){.vectors = vectors, .indices = indices});
}

const tn_expr *
tn_buffer_load_of(tn_ctx *ctx, const tn_node *buffer, tn_list indices)
{
    if (tn_bad(ctx, buffer))
        return tn_error_node(ctx);
    if (buffer->kind != TN_KIND_BUFFER)
        return tn_error(ctx, 0, TNB_TYPE, "a load needs a buffer, not %s", tn_brief(ctx, buffer));
    for (uint32_t i = 0; i < indices.n; i++)
        if (!scalar(ctx, indices.at[i], "an index"))
            return tn_error_node(ctx);
    return finish(ctx, TN_KIND_BUFFER_LOAD,
                  &(tn_buffer_load){.buffer = buffer, .indices = indices});
}

const tn_expr *
tn_scalar_call(tn_ctx *ctx, tnb_dtype d, const tn_expr *op, tn_list args, const tn_node *attrs)
{
    if (tn_bad(ctx, op) || tn_bad_list(ctx, args) ||
        !tn_is_dict_or_null(ctx, attrs, "the attributes of a call"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_CALL, call, tn_ty_prim_of(ctx, d), .op = op, .args = args,
                   .attrs = tn_norm_dict(attrs));
}

const tn_expr *
tn_intrin(tn_ctx *ctx, tn_intrin_id id, tn_list args)
{
    if (tn_bad_list(ctx, args))
        return tn_error_node(ctx);
    if (id <= TN_INTRIN_NONE || id >= TN_INTRIN_COUNT)
        return tn_error(ctx, 0, TNB_INVALID, "%d is no intrinsic of the core", (int)id);
    return tn_call_of(ctx, tn_op_ref_of(ctx, &tn_scalar_intrinsics[id - 1]), args, NULL,
                      (tn_list){0}, NULL);
}

const tn_expr *
tn_intrin_named(tn_ctx *ctx, const char *name, tn_list args)
{
    if (tn_bad_list(ctx, args))
        return tn_error_node(ctx);
    tnb_err err = {0};
    const char *full = strncmp(name, "tirx.", 5) == 0 ? name : tn_strf(ctx, "tirx.%s", name);
    const tn_op *op = tn_find_op(ctx->reg, full, &err);
    if (!op)
        return tn_missing(ctx, "op", full, &err);
    return tn_call_of(ctx, tn_op_ref_of(ctx, op), args, NULL, (tn_list){0}, NULL);
}
