/* SPDX-License-Identifier: Apache-2.0 */
/* AttachPipelineParallelStages: how many stages a model's entry points are cut into.
 *
 *     AttachPipelineParallelStages{pipeline_parallel_shards=2}
 *     @R.function                            @R.function
 *     def prefill(...):                      def prefill(...):
 *         ...                                    R.func_attr({"pipeline_parallel_stages": 2})
 *
 * Only the ten entry points below get the attribute; embedding, sampling and cache functions run
 * on every worker as they are. PipelineParallelRewrite reads it, and refuses numbers below 1; here any is
 * attached, as upstream does it. Cases:
 * tests/pass/AttachPipelineParallelStages.
 */
#include "llm.h"

static const char *const entries[] = {"prefill",
                                      "decode",
                                      "prefill_to_last_hidden_states",
                                      "decode_to_last_hidden_states",
                                      "batch_prefill",
                                      "batch_decode",
                                      "batch_verify",
                                      "batch_prefill_to_last_hidden_states",
                                      "batch_decode_to_last_hidden_states",
                                      "batch_verify_to_last_hidden_states"};

static const tn_node *
attach(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    (void)m;
    (void)user;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(name, entries[i]) == 0)
            return llm_attach(pc->ctx, func, "pipeline_parallel_stages",
                              tn_i64(pc->ctx, tn_option_int(pc, "pipeline_parallel_shards")));
    return func;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, attach, NULL);
}

static const tn_attr_schema options[] = {
    {"pipeline_parallel_shards", TN_ATTR_INT, 0, "1", "number of stages; below 2: not cut"},
    {0},
};

const tn_pass llm_attach_pipeline_parallel_stages = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachPipelineParallelStages",
    .base.doc = "attach the number of pipeline stages to a model's entry points",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
