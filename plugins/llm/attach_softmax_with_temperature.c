/* SPDX-License-Identifier: Apache-2.0 */
/* AttachSoftmaxWithTemperature: probabilities of logits, divided by a temperature for each row, become a function of the module.
 *
 *     AttachSoftmaxWithTemperature{active_vocab_size=151936}
 *  -> @R.function
 *     def softmax_with_temperature(logits: R.Tensor(("batch_size", 1, "vocab_size")), temperature: R.Tensor(("batch_size",)))
 *
 * in two programs, for chunks of a row and for rows (conf/data/llm/softmax_with_temperature.py). Upstream schedules the second one itself;
 * here the target's rules do. A module that has the function keeps its own. Cases: tests/pass/AttachSoftmaxWithTemperature.
 */
#include "llm.h"

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_node *given =
        tn_dictv(pc->ctx, "active", tn_i64(pc->ctx, tn_option_int(pc, "active_vocab_size")), NULL);
    if (!llm_is_served(pc, m) || tn_module_get(m, "softmax_with_temperature"))
        return m;
    return llm_attach_file(pc, m, given, "AttachSoftmaxWithTemperature", NULL);
}

static const tn_attr_schema options[] = {
    LLM_KERNELS("softmax_with_temperature.py"),
    {"active_vocab_size", TN_ATTR_INT, 0, "0", "tokens that get a probability; 0: all", ">=0"},
    LLM_ALWAYS,
    {0},
};

const tn_pass llm_attach_softmax_with_temperature = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachSoftmaxWithTemperature",
    .base.doc = "add a function of logits and temperatures that gives probabilities",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .needs = "op",
    .run = run,
};
