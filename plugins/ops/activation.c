/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: elementwise functions of neural networks. */
#include "emit.h"

const tn_type *
infer_prelu(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *a = infer_tensor(ctx, call, 1);
    tn_list dims, alpha;
    tnb_dtype d;
    int64_t axis;
    if (!t || !a || !infer_same_dtype(ctx, call, t->dtype, a->dtype, &d))
        return tn_error_node(ctx);
    if (a->ndim > 1)
        return infer_fail(ctx, call, TNB_SHAPE, "alpha must be a vector, but has %lld axes",
                          (long long)a->ndim);
    if (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    if (tn_type_dims(TN_NODE(t), &dims) && tn_type_dims(TN_NODE(a), &alpha) && alpha.n == 1 &&
        dim_misfit(ctx, alpha.at[0], dims.at[axis],
                   "alpha has {} entries, axis %lld of the data has {}", (long long)axis))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "alpha has %s entries, axis %lld of the data has %s",
                          tn_text(ctx, alpha.at[0]), (long long)axis, tn_text(ctx, dims.at[axis]));
    return infer_same(ctx, call, t, d);
}

static const tn_expr *
gelu_erf(tn_ctx *ctx, const tn_expr *x, tnb_dtype d)
{
    const tn_expr *z = tn_mul(ctx, x, tn_literal(ctx, d, 0.7071067811865476));
    const tn_expr *half = tn_literal(ctx, d, 0.5), *erf = tn_intrin1(ctx, TN_INTRIN_erf, z);
    return tn_mul(ctx, x, tn_add(ctx, half, tn_mul(ctx, erf, half)));
}

static const tn_expr *
gelu_tanh(tn_ctx *ctx, const tn_expr *x, tnb_dtype d)
{
    const tn_expr *linear = tn_mul(ctx, tn_literal(ctx, d, 0.7978845608028654), x),
                  *square = tn_mul(ctx, tn_mul(ctx, tn_literal(ctx, d, 0.044715), x), x);
    const tn_expr *inner = tn_mul(ctx, linear, tn_add(ctx, tn_literal(ctx, d, 1), square));
    return tn_mul(ctx, tn_mul(ctx, tn_literal(ctx, d, 0.5), x),
                  tn_add(ctx, tn_literal(ctx, d, 1), tn_intrin1(ctx, TN_INTRIN_tanh, inner)));
}

static const tn_expr *
softplus_scaled(tn_ctx *ctx, const tn_call *call, const tn_expr *x, tnb_dtype d)
{
    double beta = tn_call_float(call, "beta"), threshold = tn_call_float(call, "threshold");
    const tn_expr *z = tn_mul(ctx, x, tn_literal(ctx, d, beta));
    return tn_select_of(ctx, tn_gt_of(ctx, z, tn_literal(ctx, d, threshold)), x,
                        tn_div(ctx, emit_softplus(ctx, z, d), tn_literal(ctx, d, beta)));
}

static const tn_expr *
selu(tn_ctx *ctx, const tn_expr *x, tnb_dtype d)
{
    const double alpha = 1.6732632423543772, scale = 1.0507009873554805;
    const tn_expr *below =
        tn_mul(ctx, tn_literal(ctx, d, scale * alpha),
               tn_sub(ctx, tn_intrin1(ctx, TN_INTRIN_exp, x), tn_literal(ctx, d, 1)));
    return tn_select_of(ctx, tn_gt_of(ctx, x, tn_literal(ctx, d, 0)),
                        tn_mul(ctx, tn_literal(ctx, d, scale), x), below);
}

static const tn_expr *
hard_sigmoid(tn_ctx *ctx, const tn_expr *x, tnb_dtype d, double alpha, double beta)
{
    const tn_expr *line =
        tn_add(ctx, tn_mul(ctx, x, tn_literal(ctx, d, alpha)), tn_literal(ctx, d, beta));
    return tn_max(ctx, tn_min(ctx, line, tn_literal(ctx, d, 1)), tn_literal(ctx, d, 0));
}

static const tn_expr *
activation_value(tn_ctx *ctx, const tn_call *call, const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    switch (infer_op(call)->id) {
    case OP_nn_relu:
        return tn_max(ctx, x, tn_literal(ctx, d, 0));
    case OP_nn_relu6:
        return tn_min(ctx, tn_max(ctx, x, tn_literal(ctx, d, 0)), tn_literal(ctx, d, 6));
    case OP_nn_leakyrelu:
        return tn_select_of(ctx, tn_lt_of(ctx, tn_literal(ctx, d, 0), x), x,
                            tn_mul(ctx, x, tn_literal(ctx, d, tn_call_float(call, "alpha"))));
    case OP_nn_elu:
        return tn_select_of(
            ctx, tn_lt_of(ctx, tn_literal(ctx, d, 0), x), x,
            tn_mul(ctx, tn_sub(ctx, tn_intrin1(ctx, TN_INTRIN_exp, x), tn_literal(ctx, d, 1)),
                   tn_literal(ctx, d, tn_call_float(call, "alpha"))));
    case OP_nn_gelu:
        return gelu_erf(ctx, x, d);
    case OP_nn_gelu_tanh:
        return gelu_tanh(ctx, x, d);
    case OP_nn_silu:
        return tn_mul(ctx, x, tn_intrin1(ctx, TN_INTRIN_sigmoid, x));
    case OP_nn_selu:
        return selu(ctx, x, d);
    case OP_nn_softplus:
        return softplus_scaled(ctx, call, x, d);
    case OP_nn_hardsigmoid:
        return hard_sigmoid(ctx, x, d, tn_call_float(call, "alpha"), tn_call_float(call, "beta"));
    case OP_nn_hardswish:
        return tn_mul(ctx, x, hard_sigmoid(ctx, x, d, 1.0 / 6, 0.5));
    case OP_nn_mish:
        return tn_mul(ctx, x, tn_intrin1(ctx, TN_INTRIN_tanh, emit_softplus(ctx, x, d)));
    default: /* nn.softsign */
        return tn_div(ctx, x,
                      tn_add(ctx, tn_literal(ctx, d, 1), tn_intrin1(ctx, TN_INTRIN_fabs, x)));
    }
}

const tn_expr *
legalize_activation(tn_builder *b, const tn_call *call)
{
    op_id id = infer_op(call)->id;
    emit e = emit_begin(b, call);
    const tn_node *a = emit_input(&e, call->args.at[0]);
    tnb_dtype d = emit_dtype(a);
    bool exact = id == OP_nn_relu || id == OP_nn_relu6; /* others are rounded once */
    tnk_stage *s = emit_stage(&e, "compute");
    const tn_expr *x =
        tn_cast_to(e.ctx, exact ? d : emit_wide(d), tnk_te_read_at(e.te, a, s->axes, s->n_axes));
    const tn_node *out = tnk_te_define(s, tn_cast_to(e.ctx, d, activation_value(e.ctx, call, x)));
    return emit_end(&e, id == OP_nn_leakyrelu ? "leaky_relu" : emit_hint(call), out);
}

const tn_expr *
legalize_prelu(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]), *alpha = emit_input(&e, call->args.at[1]);
    tnb_dtype d = emit_dtype(x);
    int64_t axis = tn_call_int(call, "axis");
    if (axis < 0)
        axis += emit_ndim(x);
    tnk_stage *s = emit_stage(&e, "T_prelu");
    const tn_expr *v = tnk_te_read_at(e.te, x, s->axes, s->n_axes), *at = s->axes[axis];
    if (emit_ndim(alpha))
        at = emit_stretched(&e, emit_dim(alpha, 0), emit_dims(TN_NODE(call)).at[axis], at);
    const tn_expr *slope = tnk_te_read_at(e.te, alpha, &at, emit_ndim(alpha));
    v = tn_select_of(ctx, tn_lt_of(ctx, tn_literal(ctx, d, 0), v), v, tn_mul(ctx, v, slope));
    return emit_end(&e, "prelu", tnk_te_define(s, v));
}
