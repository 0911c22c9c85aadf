/* SPDX-License-Identifier: Apache-2.0 */
/* AttachGPUSamplingFunc: functions that draw tokens on the device become functions of the module.
 *
 *     @R.function
 *     def multinomial_from_uniform(probs, uniform_samples, sample_indices)
 *     def argsort_probs(probs)
 *     def sample_with_top_p(sorted_probs, sorted_indices, uniform_samples, sample_indices, top_p)
 *     def sampler_take_probs(unsorted_probs, sorted_indices, sample_indices, sampling_result, top_prob_offsets)
 *     def renormalize_by_top_p(probs, top_p, init_pivots)
 *     def sampler_verify_draft_tokens(draft_probs, draft_tokens, model_probs, first_child, next_sibling, uniform_samples, parent)
 *
 * For GPUs (conf/data/llm/sampling.py). They get bounds: as many rows and samples as batch_verify has for `batch_size`, six times as many
 * positions. Upstream finds the nucleus by a search from pivots; here it is sorted. Those that the module has stay. Cases: tests/pass/AttachGPUSamplingFunc.
 */
#include "llm.h"

static bool
missing(const tn_module *m, const char *name)
{
    return !tn_module_get(m, name);
}

static const tn_node *
bounds_of(tn_ctx *ctx, int64_t rows)
{
    return tn_dictv(ctx, "batch_size", tn_i64(ctx, rows), "num_samples", tn_i64(ctx, rows),
                    "num_positions", tn_i64(ctx, 6 * rows), NULL);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    const tn_node *verify = tn_module_get(m, "batch_verify");
    int64_t rows =
        tn_dict_int(verify ? tn_func_attr(verify, "tir_var_upper_bound") : NULL, "batch_size", 0);
    if (!llm_is_gpu(pc->target) || !llm_is_served(pc, m))
        return m;
    const tn_module *out = llm_attach_file(pc, m, NULL, "AttachGPUSamplingFunc", missing);
    tn_module_edit *edit = out ? tn_module_edit_new(ctx, out) : NULL;
    for (uint32_t i = 0; out && rows > 0 && rows <= INT32_MAX && i < out->names.n; i++) {
        const char *name = tn_module_name(out, i);
        const tn_node *f = out->funcs.at[i];
        if (!tn_is(f, TN_KIND_FUNCTION) || tn_module_get(m, name))
            continue;
        f = llm_attach(ctx, f, "tir_var_upper_bound", bounds_of(ctx, rows));
        f = llm_attach(ctx, f, "tir_non_negative_var",
                       tn_array_of(ctx, tn_listv(ctx, tn_string(ctx, "vocab_size"), NULL)));
        tn_module_edit_set(edit, name, f);
    }
    return out ? tn_module_edit_end(edit) : NULL;
}

static const tn_attr_schema options[] = {
    LLM_KERNELS("sampling.py"),
    LLM_ALWAYS,
    {0},
};

const tn_pass llm_attach_gpu_sampling_func = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachGPUSamplingFunc",
    .base.doc = "add functions that draw tokens on the device, for GPUs",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .needs = "op",
    .run = run,
};
