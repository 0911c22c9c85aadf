/* SPDX-License-Identifier: Apache-2.0 */
/* AttachLogitProcessFunc: tensor programs that change logits in place become functions of the module.
 *
 *     @T.prim_func
 *     def apply_logit_bias_inplace(logits, pos2seq_id, token_ids, logit_bias)
 *     def apply_penalty_inplace(logits, seq_ids, pos2seq_id, token_ids, token_cnt, penalties)
 *     def apply_bitmask_inplace(logits, seq_ids, bitmask)
 *
 * (conf/data/llm/logit_process.py). Upstream has them scheduled for processors and for GPUs; here the target's rules schedule one text.
 * Those that the module has stay. Cases: tests/pass/AttachLogitProcessFunc.
 */
#include "llm.h"

static bool
missing(const tn_module *m, const char *name)
{
    return !tn_module_get(m, name);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return llm_is_served(pc, m) ? llm_attach_file(pc, m, NULL, "AttachLogitProcessFunc", missing)
                                : m;
}

static const tn_attr_schema options[] = {
    LLM_KERNELS("logit_process.py"),
    LLM_ALWAYS,
    {0},
};

const tn_pass llm_attach_logit_process_func = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachLogitProcessFunc",
    .base.doc = "add programs for biases, penalties and masks of logits",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .needs = "op",
    .run = run,
};
