/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.RMSNorm: normalization by the root of the mean square.
 *
 *     for i, k: s[i] += A[i, k] * A[i, k]               for b in blockIdx.x:
 *     for i: r[i] = rsqrt(s[i] / n + eps)           =>      s_shared: k over 512 threads
 *     for i, j: B[i, j] = A[i, j] * r[i] * w[j]             j over 512 threads: B[b, j] = ...
 *
 * As gpu.GeneralReduction, with more threads: a row is a whole hidden state, and in decoding there is only one.
 */
#include "gpu.h"

enum { ROW_THREADS = 512 };

static tn_walk_step
find_root(void *user, const tn_node *n)
{
    bool *found = user;
    *found |= tn_is_intrin(n, TN_INTRIN_rsqrt) || tn_is_intrin(n, TN_INTRIN_sqrt);
    return *found ? TN_WALK_STOP : TN_WALK_ON;
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
    tnk_item *all[GPU_MAX_BLOCKS];
    uint32_t n = s ? tnk_sch_blocks(s, all, GPU_MAX_BLOCKS) : 0, reductions = 0;
    bool root = false;
    for (uint32_t i = 0; i < n && i < GPU_MAX_BLOCKS; i++) {
        reductions += tnk_block_is_reduction(all[i]);
        tn_walk(tnk_item_block(all[i])->body, 0, find_root, NULL, &root);
    }
    return reductions == 1 && root && n <= GPU_MAX_BLOCKS
               ? gpu_one_kernel_of_rows(ctx, s, &t, ROW_THREADS)
               : NULL;
}

const tnk_rule tnk_rule_gpu_rms_norm = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.RMSNorm",
    .base.doc = "Normalization by the root of the mean square: a thread block for each row.",
    .apply = apply,
    .attrs = gpu_attrs,
};
