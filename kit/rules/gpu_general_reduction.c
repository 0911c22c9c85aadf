/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.GeneralReduction: several reductions over the same rows and what is computed of them, in one kernel: softmax, layer and
 * group normalization, logarithm of a sum of exponentials.
 *
 *     for i, k: m[i] = max(m[i], A[i, k])              for b in blockIdx.x:
 *     for i, k: s[i] += exp(A[i, k] - m[i])      =>        m_shared, s_shared: k over threadIdx.x
 *     for i, j: B[i, j] = exp(A[i, j] - m[i]) / s[i]       j over threadIdx.x: B[b, j] = ...
 *
 * Element-wise blocks are inlined, so that nothing as long as a row has to be kept. Results of different shape, or indexed by
 * something else than a row, leave the function to another rule.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

enum { ROW_THREADS = 256 };

const tn_node *
gpu_one_kernel_of_rows(tn_ctx *ctx, tnk_sch *s, const gpu_target *t, int64_t most_threads)
{
    tnk_item *all[GPU_MAX_BLOCKS];
    tnk_sch_quiet(s);
    gpu_separate(s);
    gpu_inline(s, true);
    uint32_t n = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS);
    if (n == 0 || n > GPU_MAX_BLOCKS)
        return NULL;
    gpu_rows r = {.s = s,
                  .t = t,
                  .root = all[n - 1],
                  .group = 1,
                  .lane_tag = "threadIdx.x",
                  .group_tag = "threadIdx.y"};
    if (tnk_block_is_reduction(r.root))
        r.root = tnk_cache_write(s, r.root, "local");
    else if (!tnk_block_is_injective(r.root))
        return NULL;
    if (!r.root || !gpu_find_rows(&r))
        return NULL;
    /* threads for the longest part of a row */
    int64_t longest = 1;
    n = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && longest >= 0; i++) {
        int64_t e = all[i] == r.root ? 1 : gpu_turns(all[i], TN_ITER_REDUCE);
        for (uint32_t k = 0; all[i] == r.root && e >= 0 && k < r.root->block->iters.n; k++) {
            int64_t turns = r.row[k] > 1 ? r.row[k] : r.row[k] ? 1 : gpu_iter_extent(r.root, k);
            e = turns < 0 || (turns && e > INT64_MAX / turns) ? -1 : e * turns;
        }
        longest = e < 0 ? -1 : e > longest ? e : longest;
    }
    r.lanes = gpu_threads_for(t, longest, most_threads);
    if (r.lanes < t->warp)
        r.lanes = gpu_threads_for(t, t->warp, most_threads);
    r.lanes = gpu_choose_threads(ctx, "threads", t->threads, r.lanes);
    return gpu_schedule_rows(&r) ? tnk_sch_finish(s) : NULL;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    const tn_node *within;
    if (gpu_within(ctx, prim_func, target, apply, &within))
        return within;
    gpu_target t;
    tnk_sch *s = gpu_target_of(ctx, target, &t) ? tnk_sch_new(ctx, prim_func) : NULL;
    return s ? gpu_one_kernel_of_rows(ctx, s, &t, ROW_THREADS) : NULL;
}

const tnk_rule tnk_rule_gpu_general_reduction = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.GeneralReduction",
    .base.doc =
        "Several reductions over the same rows and what follows from them in one kernel: softmax, "
        "normalizations.",
    .apply = apply,
    .attrs = gpu_attrs,
};
