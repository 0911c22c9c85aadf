/* SPDX-License-Identifier: Apache-2.0 */
/* DecomposeOpsForInference: batch_norm and tensor_to_shape as simpler operators.
 *
 *     bn = R.nn.batch_norm(x, g, b, m, v, axis=1)    lv = R.expand_dims(m, axis=[0, 2, 3])
 *                                                    lv1 = R.subtract(x, lv)
 *                                                    ...
 *                                                    bn = (lv9, m, v)
 *
 * tensor_to_shape becomes a call of the runtime's function, a match_cast to fresh variables and
 * their shape. Data of unknown rank or element type stays as it is. A batch_norm marked for training is taken for one for
 * inference, as upstream does: what it computes changes, so that --verify leaves the module unverified and says so. With
 * only_marked=True, as the pipelines of targets have it, it stays. Cases: tests/pass/DecomposeOpsForInference.
 */
#include "decompose.h"

static const tn_expr *
marked_alone(decomposer *d, const tn_call *call)
{
    return decompose_is_other(TN_NODE(call), false) ? TN_NODE(call)
                                                    : decompose_for_inference(d, call);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return decompose_module(pc, m,
                            decompose_only_marked(pc) ? marked_alone : decompose_for_inference);
}

static bool
adapt(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    (void)after;
    return decompose_comparable(pc, before->m, false, why);
}

const tn_pass transform_decompose_ops_for_inference = {
    .base.size = sizeof(tn_pass),
    .base.name = "DecomposeOpsForInference",
    .base.doc = "split batch_norm and tensor_to_shape into simpler operators",
    .options = decompose_options,
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op",
    .adapt = adapt,
};
