/* SPDX-License-Identifier: Apache-2.0 */
/* DecomposeOpsForTraining: batch_norm and layer_norm as simpler operators, with the batch's own
 * statistics.
 *
 *     bn = R.nn.batch_norm(x, g, b, m, v, axis=1)    lv = R.mean(x, axis=[0, 2, 3])
 *                                                    lv1 = R.variance(x, axis=[0, 2, 3])
 *                                                    ...
 *                                                    bn = (lv9, lv12, lv15)
 *
 * Fields 1 and 2 of batch_norm's result become the moving averages (1 - momentum) * old + momentum
 * * new. The rest is as for inference. A batch_norm marked for inference is taken for one for training, unless only_marked=True:
 * what it computes changes, so that --verify leaves the module unverified and says so. Cases:
 * tests/pass/DecomposeOpsForTraining.
 */
#include "decompose.h"

static const tn_expr *
step(decomposer *d, const char *op, const tn_expr *a, const tn_expr *b)
{
    if (tn_is_error(a) || tn_is_error(b))
        return tn_error_node(decompose_ctx(d));
    return decompose_step(d, tn_call_opv(decompose_ctx(d), op, NULL, a, b, NULL));
}

static const tn_expr *
statistic(decomposer *d, const char *op, const tn_expr *x, const tn_node *axes, bool keep)
{
    tn_ctx *ctx = decompose_ctx(d);
    const tn_node *attrs = tn_dictv(ctx, "axis", axes, "keepdims", tn_bool(ctx, keep), NULL);
    return decompose_step(d, tn_call_opv(ctx, op, attrs, x, NULL));
}

static const tn_expr *
moved(decomposer *d, double momentum, const tn_expr *old, const tn_expr *now)
{
    tn_ctx *ctx = decompose_ctx(d);
    tnb_dtype t = tn_type_dtype(old->type);
    now = decompose_as(d, now, old);
    const tn_expr *a = step(d, "multiply", tn_scalar_constant(ctx, t, 1 - momentum), old);
    return step(d, "add", a, step(d, "multiply", tn_scalar_constant(ctx, t, momentum), now));
}

static bool
known(const tn_expr *x)
{
    int64_t ndim = tn_type_ndim(x->type);
    return ndim >= 0 && ndim <= 64 && !tnb_dtype_is_void(tn_type_dtype(x->type));
}

static const tn_expr *
batch_norm(decomposer *d, const tn_call *call)
{
    tn_ctx *ctx = decompose_ctx(d);
    const tn_expr *x = call->args.at[0];
    int64_t ndim = tn_type_ndim(x->type), axis = tn_call_int(call, "axis"), axes[64];
    uint32_t n = 0;
    if (!known(x))
        return TN_NODE(call);
    if (axis < 0)
        axis += ndim;
    for (int64_t i = 0; i < ndim; i++)
        if (i != axis)
            axes[n++] = i;
    const tn_node *list = tn_int_array(ctx, axes, n);
    const tn_expr *mean = statistic(d, "mean", x, list, false);
    const tn_expr *var = statistic(d, "variance", x, list, false);
    if (tn_is_error(mean) || tn_is_error(var))
        return tn_error_node(ctx);
    tn_list args = tn_list_with(ctx, tn_list_with(ctx, call->args, 3, mean), 4, var);
    const tn_expr *inner = tn_call_of(ctx, call->op, args, call->attrs, call->ty_args, NULL);
    if (tn_is_error(inner))
        return inner;
    inner = decompose_step(d, decompose_for_inference(d, tn_as_call(inner)));
    /* the field of a variable, as upstream has it */
    const tn_expr *out = decompose_step(d, tn_tuple_item(ctx, inner, 0));
    double momentum = tn_call_float(call, "momentum");
    const tn_expr *m = moved(d, momentum, call->args.at[3], mean);
    const tn_expr *v = moved(d, momentum, call->args.at[4], var);
    if (tn_is_error(out) || tn_is_error(m) || tn_is_error(v))
        return tn_error_node(ctx);
    return tn_tuple_of(ctx, tn_listv(ctx, out, m, v, NULL));
}

static const tn_expr *
layer_norm(decomposer *d, const tn_call *call)
{
    const tn_expr *x = call->args.at[0];
    if (!known(x))
        return TN_NODE(call);
    tn_ctx *ctx = decompose_ctx(d);
    const tn_node *axes = tn_call_attr(call, "axes");
    const tn_expr *mean = statistic(d, "mean", x, axes, true);
    const tn_expr *centred = step(d, "subtract", x, mean);
    const tn_expr *var = statistic(d, "variance", x, axes, true);
    const tn_expr *epsilon =
        tn_scalar_constant(ctx, tn_type_dtype(x->type), tn_call_float(call, "epsilon"));
    const tn_expr *spread = step(d, "add", var, epsilon);
    if (tn_is_error(centred) || tn_is_error(spread))
        return tn_error_node(ctx);
    spread = decompose_step(d, tn_call_opv(ctx, "sqrt", NULL, spread, NULL));
    bool scale = tn_call_int(call, "scale") != 0, center = tn_call_int(call, "center") != 0;
    /* the last step is the call's value */
    const tn_expr *out = tn_call_opv(ctx, "divide", NULL, centred, spread, NULL);
    if (scale)
        out = tn_call_opv(ctx, "multiply", NULL, decompose_step(d, out),
                          decompose_as(d, call->args.at[1], x), NULL);
    if (center)
        out = tn_call_opv(ctx, "add", NULL, decompose_step(d, out),
                          decompose_as(d, call->args.at[2], x), NULL);
    return out;
}

static const tn_expr *
decompose(decomposer *d, const tn_call *call)
{
    if (tn_is_call_to(TN_NODE(call), "relax.nn.batch_norm"))
        return batch_norm(d, call);
    if (tn_is_call_to(TN_NODE(call), "relax.nn.layer_norm"))
        return layer_norm(d, call);
    return decompose_for_inference(d, call);
}

static const tn_expr *
marked_alone(decomposer *d, const tn_call *call)
{
    return decompose_is_other(TN_NODE(call), true) ? TN_NODE(call) : decompose(d, call);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return decompose_module(pc, m, decompose_only_marked(pc) ? marked_alone : decompose);
}

static bool
adapt(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    (void)after;
    return decompose_comparable(pc, before->m, true, why);
}

const tn_pass transform_decompose_ops_for_training = {
    .base.size = sizeof(tn_pass),
    .base.name = "DecomposeOpsForTraining",
    .base.doc =
        "split batch_norm and layer_norm into simpler operators, with the batch's statistics",
    .options = decompose_options,
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op",
    .adapt = adapt,
};
