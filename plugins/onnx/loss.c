/* SPDX-License-Identifier: Apache-2.0 */
/* Losses, forward only. */
#include "import.h"

static const tn_expr *
nll(onnx_node *n, const tn_expr *log_prob)
{
    static const char *const reductions[] = {"none", "mean", "sum", NULL};
    int r = onnx_attr_choice(n, "reduction", "mean", reductions);
    int64_t ignore = onnx_attr_int(n, "ignore_index", -100);
    if (r < 0)
        return tn_error_node(n->ctx);
    const tn_node *attrs = tn_dictv(n->ctx, "reduction", tn_string(n->ctx, reductions[r]),
                                    "ignore_index", tn_i64(n->ctx, ignore), NULL);
    return onnx_emit(n, "nn.nll_loss", attrs, log_prob, onnx_in(n, 1),
                     onnx_has(n, 2) ? onnx_in(n, 2) : NULL, NULL);
}

static bool
import_nll(onnx_node *n)
{
    return onnx_ret(n, nll(n, onnx_in(n, 0)));
}

static bool
import_softmax_loss(onnx_node *n)
{
    const tn_expr *p =
        onnx_emit(n, "nn.log_softmax", tn_dictv(n->ctx, "axis", tn_i64(n->ctx, 1), NULL),
                  onnx_in(n, 0), NULL);
    return onnx_ret_at(n, 0, nll(n, p)) && (n->n_out < 2 || onnx_ret_at(n, 1, p));
}

const onnx_op onnx_loss_ops[] = {
    {"NegativeLogLikelihoodLoss", 12, 0, 2, 3, 1, 1, import_nll, NULL, 0, NULL},
    {"SoftmaxCrossEntropyLoss", 12, 0, 2, 3, 1, 2, import_softmax_loss, NULL, 0, NULL},
    {0},
};
