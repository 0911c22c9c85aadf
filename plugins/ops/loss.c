/* SPDX-License-Identifier: Apache-2.0 */
/* nll_loss and its gradient. */
#include "emit.h"

/* ---- nll_loss ---- */

const tn_type *
infer_nll_loss(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *p = infer_tensor(ctx, call, 0), *t = infer_tensor(ctx, call, 1);
    const char *how = tn_call_str(call, "reduction");
    tn_list pd, td;
    if (!p || !t || (infer_arg(call, 2) && !infer_tensor(ctx, call, 2)))
        return tn_error_node(ctx);
    if (strcmp(how, "none") && strcmp(how, "mean") && strcmp(how, "sum"))
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'reduction' is \"%s\", expected none, mean or sum", how);
    if (!tnb_dtype_is_void(t->dtype) && !tnb_dtype_is_int(t->dtype))
        return infer_fail(ctx, call, TNB_TYPE, "targets must be integers, but are of %s",
                          tnb_dtype_print(t->dtype).s);
    if (p->ndim == 0 || (p->ndim > 0 && t->ndim >= 0 && t->ndim != p->ndim - 1))
        return infer_fail(ctx, call, TNB_SHAPE, "predictions have %lld axes, targets %lld",
                          (long long)p->ndim, (long long)t->ndim);
    if (tn_type_dims(TN_NODE(p), &pd) && tn_type_dims(TN_NODE(t), &td)) {
        for (uint32_t i = 0; i < td.n; i++) {
            if (dim_differ(ctx, td.at[i], pd.at[i ? i + 1 : 0],
                           "the targets have extent {} where the predictions have {}"))
                return infer_fail(ctx, call, TNB_SHAPE, "predictions are %s, targets %s",
                                  tn_text(ctx, tn_shape_expr_of(ctx, pd)),
                                  tn_text(ctx, tn_shape_expr_of(ctx, td)));
        }
    }
    tn_list weights;
    if (infer_arg(call, 2) && tn_type_dims(infer_arg(call, 2)->type, &weights) && weights.n == 1 &&
        tn_type_dims(TN_NODE(p), &pd) &&
        dim_differ(ctx, weights.at[0], pd.at[pd.n > 1], "{} weights for {} classes"))
        return infer_fail(ctx, call, TNB_SHAPE, "%s weights for %s classes",
                          tn_text(ctx, weights.at[0]), tn_text(ctx, pd.at[pd.n > 1]));
    if (strcmp(how, "none"))
        return infer_known(ctx, call, (tn_list){0}, p->dtype);
    return infer_same(ctx, call, t, p->dtype);
}

typedef struct nll {
    emit e;
    const tn_node *p, *t, *w;
    int64_t ignored;
} nll;

/* The weight of the target at a place: 0 if it does not count. And with `value` the loss there. */
static const tn_expr *
loss_at(nll *l, const tn_expr *const *at, bool value)
{
    tn_ctx *ctx = l->e.ctx;
    tnb_dtype d = emit_dtype(l->p);
    uint32_t n = emit_ndim(l->t), m = emit_ndim(l->p);
    const tn_expr *idx[INFER_MAX_DIMS + 1],
        *target = tn_cast_to(ctx, TNB_I64, tnk_te_read_at(l->e.te, l->t, at, n));
    /* a gradient takes other numbers of weights than of classes, and reads weights alone */
    const tn_expr *classes = l->w && !value ? emit_dim(l->w, 0) : emit_dim(l->p, m > 1),
                  *class =
                      tnk_te_index(ctx, target, classes, false, infer_op_name(l->e.call), "class");
    const tn_expr *w = l->w ? tnk_te_read_at(l->e.te, l->w, &class, 1) : tn_literal(ctx, d, 1),
                  *v = w;
    if (value) {
        idx[m > 1] = class;
        for (uint32_t i = 0; i < n; i++)
            idx[i ? i + 1 : 0] = at[i];
        v = tn_sub(ctx, tn_literal(ctx, d, 0),
                   tn_mul(ctx, tnk_te_read_at(l->e.te, l->p, idx, m), w));
    }
    return tn_if_then_else(ctx, tn_ne_of(ctx, target, tn_i64(ctx, l->ignored)), v,
                           tn_literal(ctx, d, 0));
}

static const tn_node *
loss_sum(nll *l, const char *name, bool value)
{
    tn_ctx *ctx = l->e.ctx;
    const tn_expr *at[INFER_MAX_DIMS];
    tnk_stage *s = tnk_te_stage(l->e.te, name, NULL, 0, emit_dtype(l->p));
    for (uint32_t i = 0; i < emit_ndim(l->t); i++)
        at[i] = tnk_te_reduce_axis(s, tnb_printf(tn_scratch(ctx), "k%u", i), emit_dim(l->t, i));
    return tnk_te_sum(s, loss_at(l, at, value));
}

const tn_expr *
legalize_nll_loss(tn_builder *b, const tn_call *call)
{
    nll l = {.e = emit_begin(b, call), .ignored = tn_call_int(call, "ignore_index")};
    tn_ctx *ctx = l.e.ctx;
    const char *how = tn_call_str(call, "reduction");
    l.p = emit_input(&l.e, call->args.at[0]);
    l.t = emit_input(&l.e, call->args.at[1]);
    l.w = infer_arg(call, 2) ? emit_input(&l.e, call->args.at[2]) : NULL;
    const char *hint = l.w ? "nll_loss" : "nll_loss_without_weight";
    if (emit_ndim(l.p) > INFER_MAX_DIMS)
        return NULL;
    if (!strcmp(how, "none")) {
        tnk_stage *s = emit_stage(&l.e, "nll_loss");
        return emit_end(&l.e, hint, tnk_te_define(s, loss_at(&l, s->axes, true)));
    }
    const tn_node *sum = loss_sum(&l, "nll_loss", true);
    if (!strcmp(how, "mean")) {
        const tn_node *weights = loss_sum(&l, "weights_sum", false);
        tnk_stage *s = emit_stage(&l.e, "T_divide");
        sum = tnk_te_define(s, tn_div(ctx, tnk_te_read_at(l.e.te, sum, NULL, 0),
                                      tnk_te_read_at(l.e.te, weights, NULL, 0)));
    }
    return emit_end(&l.e, hint, sum);
}

const tn_type *
infer_nll_loss_grad(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *g = infer_tensor(ctx, call, 0), *p = infer_tensor(ctx, call, 1),
                       *t = infer_tensor(ctx, call, 2);
    if (!g || !p || !t || (infer_arg(call, 3) && !infer_tensor(ctx, call, 3)))
        return tn_error_node(ctx);
    if (p->ndim >= 0 && t->ndim >= 0 && t->ndim != p->ndim - 1)
        return infer_fail(ctx, call, TNB_SHAPE, "predictions have %lld axes, targets %lld",
                          (long long)p->ndim, (long long)t->ndim);
    return infer_same(ctx, call, p, p->dtype);
}

/* A gradient of another rank than the loss has a type, as upstream has it, but no program. */
static bool
gradient_fits(const tn_call *call)
{
    int64_t targets = tn_type_ndim(call->args.at[2]->type);
    int64_t wanted = strcmp(tn_call_str(call, "reduction"), "none") ? 0 : targets;
    return tn_type_ndim(call->args.at[0]->type) == wanted;
}

/* -(c == target ? weight * grad / (mean: sum of weights) : 0) at [n, c, d1, ...]. */
const tn_expr *
legalize_nll_loss_grad(tn_builder *b, const tn_call *call)
{
    nll l = {.e = emit_begin(b, call), .ignored = tn_call_int(call, "ignore_index")};
    tn_ctx *ctx = l.e.ctx;
    const char *how = tn_call_str(call, "reduction");
    const tn_node *grad = emit_input(&l.e, call->args.at[0]);
    l.p = emit_input(&l.e, call->args.at[1]);
    l.t = emit_input(&l.e, call->args.at[2]);
    l.w = infer_arg(call, 3) ? emit_input(&l.e, call->args.at[3]) : NULL;
    tnb_dtype d = emit_dtype(l.p);
    uint32_t n = emit_ndim(l.t), m = emit_ndim(l.p);
    if (m > INFER_MAX_DIMS || m == 0 || !gradient_fits(call))
        return NULL;
    const tn_node *weights = strcmp(how, "mean") ? NULL : loss_sum(&l, "weights_sum", false);
    tnk_stage *s = emit_stage(&l.e, "pred_grad");
    const tn_expr *at[INFER_MAX_DIMS];
    for (uint32_t i = 0; i < n; i++)
        at[i] = s->axes[i ? i + 1 : 0];
    const tn_expr *scale =
        tnk_te_read_at(l.e.te, grad, at, strcmp(how, "none") ? 0 : emit_ndim(grad));
    if (weights)
        scale = tn_div(ctx, scale, tnk_te_read_at(l.e.te, weights, NULL, 0));
    const tn_expr *target = tn_cast_to(ctx, TNB_I64, tnk_te_read_at(l.e.te, l.t, at, n));
    const tn_expr *v =
        tn_mul(ctx, tn_mul(ctx, loss_at(&l, at, false), tn_literal(ctx, d, -1)), scale);
    v = tn_select_of(ctx, tn_eq_of(ctx, s->axes[m > 1], target), v, tn_literal(ctx, d, 0));
    return emit_end(&l.e, l.w ? "nll_loss_backward" : "te_nll_loss_backward_no_weight",
                    tnk_te_define(s, v));
}
