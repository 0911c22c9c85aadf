/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients (grad.*), marks for differentiation, and the loss over logits. */
#include "emit.h"

const tn_type *
infer_cross_entropy(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *p = infer_tensor(ctx, call, 0);
    const tn_ty_tensor *l = p ? infer_tensor(ctx, call, 1) : NULL;
    tnb_dtype d;
    tn_list a, b;
    if (!l || !infer_same_dtype(ctx, call, p->dtype, l->dtype, &d))
        return tn_error_node(ctx);
    if (p->ndim >= 0 && l->ndim >= 0 && p->ndim != l->ndim)
        return infer_fail(ctx, call, TNB_SHAPE, "predictions have %lld axes, labels %lld",
                          (long long)p->ndim, (long long)l->ndim);
    if (tn_type_dims(TN_NODE(p), &a) && tn_type_dims(TN_NODE(l), &b))
        for (uint32_t i = 0; i < a.n; i++)
            if (dim_differ(ctx, a.at[i], b.at[i]))
                return infer_fail(ctx, call, TNB_SHAPE,
                                  "predictions and labels differ in axis %u: %s and %s", i,
                                  tn_text(ctx, a.at[i]), tn_text(ctx, b.at[i]));
    return infer_known(ctx, call, (tn_list){0}, d);
}

const tn_expr *
legalize_cross_entropy(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *p = emit_input(&e, call->args.at[0]), *l = emit_input(&e, call->args.at[1]);
    tnb_dtype d = emit_dtype(p);
    uint32_t n = emit_ndim(p);
    const tn_expr *at[INFER_MAX_DIMS];
    if (n > INFER_MAX_DIMS)
        return NULL;
    tnk_stage *s = emit_stage(&e, "loss_sum");
    for (uint32_t i = 0; i < n; i++)
        at[i] = tnk_te_reduce_axis(s, "k", emit_dim(p, i));
    const tn_expr *v = MUL(tnk_te_read_at(e.te, p, at, n), tnk_te_read_at(e.te, l, at, n));
    const tn_node *sum = tnk_te_reduce(s, TNK_SUM, v);
    tnk_stage *t = emit_stage(&e, "loss");
    v = MUL(tnk_te_read_at(e.te, sum, t->axes, 0), LIT(d, -1));
    if (n > 1)
        v = DIVIDE(v, CAST(d, emit_dim(p, 0)));
    return emit_end(&e, "cross_entropy_with_logits", tnk_te_define(t, v));
}

/* A gradient has the type of what it is taken by: the argument behind the incoming gradient. */
const tn_type *
infer_gradient(tn_ctx *ctx, const tn_call *call)
{
    for (uint32_t i = 0; i < call->args.n; i++)
        if (!infer_tensor(ctx, call, i))
            return tn_error_node(ctx);
    return call->args.at[1]->type;
}

const tn_type *
infer_identity(tn_ctx *ctx, const tn_call *call)
{
    const tn_expr *x = infer_arg(call, 0);
    return x && x->type ? x->type : tn_ty_any(ctx);
}

const tn_expr *
legalize_identity(tn_builder *b, const tn_call *call)
{
    (void)b;
    return call->args.at[0];
}
