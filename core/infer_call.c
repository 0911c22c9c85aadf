/* SPDX-License-Identifier: Apache-2.0 */
/* The type of a call: by the operator's rule, by the types given with the call, or by the callee's
 * type. */
#include "private.h"
#include "tenon/core/arith.h"
#include "value.h"

const tn_type *
tn_func_type(tn_ctx *ctx, const tn_node *func)
{
    if (func && func->type)
        return func->type;
    const tn_prim_func *f = tn_as_prim_func(func);
    if (!f)
        return tn_ty_func_opaque(ctx, NULL, false, NULL);
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, f->params.n);
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        const tn_type *t = f->params.at[i]->type;
        if (b) {
            bool int64 = true;
            for (uint32_t k = 0; k < b->shape.n; k++)
                int64 &= tnb_dtype_eq(tn_dtype_of(b->shape.at[k]), TNB_I64) ||
                         tn_is(b->shape.at[k], TN_KIND_INT_IMM);
            t = int64 ? tn_ty_tensor_dims(ctx, b->shape, b->dtype)
                      : tn_ty_tensor_of(ctx, NULL, b->dtype, b->shape.n, NULL);
        } else if (tn_is(t, TN_KIND_TY_PTR)) {
            t = tn_ty_any(ctx);
        }
        at[i] = t;
    }
    const tn_type *ret = f->ret ? f->ret : tn_ty_tuple_of(ctx, (tn_list){0});
    return tn_ty_func_of(ctx, (tn_list){at, f->params.n}, ret, true);
}

/* Binds the symbolic variables of a parameter's type by what the argument's type has in their
 * place. */
static void
match_dim(tnb_ptrmap *map, const tn_expr *param, const tn_expr *arg)
{
    if (tn_is_var(param) && !tnb_ptrmap_has(map, param))
        tnb_ptrmap_set(map, param, arg);
}

static void
match_types(tnb_ptrmap *map, const tn_type *param, const tn_type *arg)
{
    if (!param || !arg)
        return;
    const tn_ty_tensor *tensor = tn_as_ty_tensor(param);
    if (tensor && tn_is_var(tensor->shape) && tn_is(arg, TN_KIND_TY_TENSOR) &&
        ((const tn_ty_tensor *)arg)->shape)
        match_dim(map, tensor->shape, ((const tn_ty_tensor *)arg)->shape);
    tn_list p, a;
    if (tn_type_dims(param, &p) && tn_type_dims(arg, &a) && p.n == a.n)
        for (uint32_t i = 0; i < p.n; i++)
            match_dim(map, p.at[i], a.at[i]);
    const tn_ty_tuple *pt = tn_as_ty_tuple(param), *at = tn_as_ty_tuple(arg);
    for (uint32_t i = 0; pt && at && i < pt->fields.n && i < at->fields.n; i++)
        match_types(map, pt->fields.at[i], at->fields.at[i]);
}

static const tn_node *
simplify_dim(tn_rewriter *r, const tn_node *n)
{
    return tn_is_binary(n) || tn_is(n, TN_KIND_CAST) ? tn_simplify_now(r->ctx, n) : NULL;
}

const tn_type *
tn_call_result_type(tn_ctx *ctx, const tn_type *callee, tn_list params, tn_list args)
{
    const tn_ty_func *f = tn_as_ty_func(callee);
    if (!f)
        return tn_ty_any(ctx);
    if (f->opaque || (f->ret->flags & TN_FLAG_CLOSED))
        return f->ret;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < f->params.n && i < args.n; i++) {
        if (i < params.n) /* scalar and shape parameters stand for themselves */
            match_dim(&map, params.at[i], args.at[i]);
        match_types(&map, f->params.at[i], args.at[i]->type);
    }
    tn_rewriter simplify = {.ctx = ctx, .pre = simplify_dim};
    const tn_type *ret = tn_rewrite(&simplify, tn_subst(ctx, f->ret, &map));
    tn_list used = tn_free_vars(ctx, ret, false);
    TNB_VEC(const tn_node *) keep = {0};
    for (uint32_t i = 0; i < used.n; i++) {
        bool unbound = false;
        for (uint32_t k = 0; k < f->params.n && !unbound; k++)
            unbound = tn_uses(f->params.at[k], used.at[i]) && !tnb_ptrmap_has(&map, used.at[i]);
        if (!unbound)
            TNB_PUSH(tn_scratch(ctx), keep, used.at[i]);
    }
    return tn_type_erase(ctx, ret, (tn_list){keep.at, keep.n});
}

static const tn_type *
given_types(tn_ctx *ctx, tn_list l)
{
    if (l.n == 0)
        return tn_ty_any(ctx);
    return l.n == 1 ? l.at[0] : tn_ty_tuple_of(ctx, l);
}

/* A call of something of function type: counts and types of arguments must fit. */
static const tn_type *
infer_by_callee(tn_ctx *ctx, const tn_call *call, tn_list params)
{
    const tn_ty_func *f = tn_as_ty_func(call->op->type);
    if (!f)
        return tn_is(call->op->type, TN_KIND_TY_ANY)
                   ? tn_ty_any(ctx)
                   : tn_error(ctx, 0, TNB_TYPE, "only functions can be called, not %s",
                              tn_brief(ctx, call->op));
    if (!f->opaque && f->params.n != call->args.n)
        return tn_error(ctx, 0, TNB_INVALID, "%s takes %u argument%s, not %u",
                        tn_brief(ctx, call->op), f->params.n, f->params.n == 1 ? "" : "s",
                        call->args.n);
    for (uint32_t i = 0; !f->opaque && i < call->args.n; i++) {
        const tn_type *got = call->args.at[i]->type;
        if (got && tn_type_check(ctx, f->params.at[i], got) == TN_SUBTYPE_FAIL &&
            (f->params.at[i]->flags & TN_FLAG_CLOSED))
            return tn_error(ctx, 0, TNB_TYPE, "argument %u of %s must be %s, not %s", i,
                            tn_brief(ctx, call->op), tn_brief(ctx, f->params.at[i]),
                            tn_brief(ctx, got));
    }
    return tn_call_result_type(ctx, call->op->type, params, call->args);
}

const tn_type *
tn_infer_call(tn_ctx *ctx, const tn_call *call)
{
    const tn_op *op = tn_call_op_of(call);
    if (op) {
        if (op->infer) {
            const tn_type *t =
                TNB_WITHIN("operator", op->base.name, "infer", NULL, op->infer(ctx, call));
            return tn_is_error(t) || tn_check_accepts(ctx, call) ? t : tn_error_node(ctx);
        }
        return call->base.type ? call->base.type : given_types(ctx, call->ty_args);
    }
    switch ((tn_kind)call->op->kind) {
    case TN_KIND_EXTERN_FUNC: {
        const tn_ty_func *f = tn_as_ty_func(call->op->type);
        if (!call->ty_args.n && call->base.type && tn_is_scalar(&call->base))
            return call->base.type;
        if (!call->ty_args.n && f && f->ret)
            return f->ret;
        return given_types(ctx, call->ty_args);
    }
    case TN_KIND_GLOBAL_VAR:
        return call->base.type ? call->base.type : given_types(ctx, call->ty_args);
    case TN_KIND_FUNCTION:
        return infer_by_callee(ctx, call, ((const tn_function *)call->op)->params);
    default:
        return infer_by_callee(ctx, call, (tn_list){0});
    }
}
