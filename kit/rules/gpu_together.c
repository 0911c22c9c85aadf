/* SPDX-License-Identifier: Apache-2.0 */
/* One reduction of several results that belong together: a value and its place, sum and sum of squares.
 *
 *     for i, k: v[i], p[i] = ...      =>     for b in blockIdx.x:
 *     for i: B[i] = p[i]                         for k0: for t in threadIdx.x: v_shared, p_shared = ...  (k is k0 * 256 + t)
 *                                                B[b] = p_shared                                         (by the first thread)
 *
 * Where what is read lies along the results, threadIdx.x runs over 32 of them and threadIdx.y over the reduction. Each result
 * takes shared memory for all threads. Results that are parameters of the function are written by the first thread.
 */
#include "../schedule/schedule_private.h"
#include "tenon/kit/lower.h"
#include "gpu.h"

enum { ROW_THREADS = 256, COLUMNS = 32 };

/* The one reduction; NULL if there are others, or a block that is not element-wise. */
static tnk_item *
find(tnk_sch *s, tnk_tuple_reducer *of)
{
    tnk_item *all[GPU_MAX_BLOCKS], *red = NULL;
    uint32_t n = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < GPU_MAX_BLOCKS; i++) {
        if (gpu_is_bound(s, all[i]) || gpu_has_order(all[i]))
            return NULL;
        if (tnk_block_is_injective(all[i]))
            continue;
        if (red || !tnk_block_is_reduction(all[i]))
            return NULL;
        red = all[i];
    }
    return red && n <= GPU_MAX_BLOCKS && tnk_tuple_reducer_of(s->ctx, red->block, of) ? red : NULL;
}

/* One loop over the results, outermost; the reducing ones, fused, in `turns`. */
static tnk_item *
rows_of(tnk_sch *s, tnk_item *red, tnk_item **turns)
{
    tnk_item *l[GPU_MAX_LOOPS], *unit;
    uint32_t n = gpu_own_loops(s, red, l), spatial = gpu_spatial_first(red, l, n);
    if (n == 0 || n == spatial || n >= GPU_MAX_LOOPS)
        return NULL;
    if (spatial == 0) {
        if (!(unit = tnk_add_unit_loop(s, red)))
            return NULL;
        memmove(l + 1, l, n++ * sizeof *l);
        l[0] = unit;
        spatial = 1;
    }
    if (n > 1 && !tnk_reorder(s, l, n))
        return NULL;
    tnk_item *rows = gpu_fuse(s, l, spatial);
    *turns = rows ? gpu_fuse(s, l + spatial, n - spatial) : NULL;
    return *turns ? rows : NULL;
}

/* Whether results that neighbouring threads make may take all of the results' memory: they lie in rows of which more than one
 * runs along the threads, and there is more than fits. */
static bool
spreads(const tnk_item *red, const tnk_tuple_reducer *of, int64_t left)
{
    uint32_t several = 0;
    for (uint32_t k = 0; k < red->block->iters.n; k++)
        several += tn_as_iter_var(red->block->iters.at[k])->iter_kind == TN_ITER_SPATIAL &&
                   gpu_iter_extent(red, k) != 1;
    int64_t results = several > 1 ? gpu_turns(red, TN_ITER_SPATIAL) : 0;
    for (uint32_t k = 0; k < of->n && results >= 0; k++)
        left -= results < left
                    ? results * (int64_t)tnb_dtype_bytes(tn_as_buffer(of->store[k]->buffer)->dtype)
                    : left + 1;
    return results < 0 || left < 0;
}

const tn_node *
gpu_reduce_together(tnk_sch *s, const gpu_target *t)
{
    tnk_tuple_reducer of;
    tnk_item *red = find(s, &of), *all[GPU_MAX_BLOCKS], *turns, *part[2], *l[GPU_MAX_LOOPS];
    if (!red || gpu_reduces_alone(red))
        return NULL;
    bool inner = gpu_reduces_inner(red) || gpu_floor_pow2(t->threads) < 8;
    int64_t most = gpu_threads_for(t, -1, ROW_THREADS), bytes = 0;
    int64_t group = inner ? 1 : most >= 4 * COLUMNS ? COLUMNS : most / 8;
    int64_t lanes = gpu_threads_for(t, gpu_turns(red, TN_ITER_REDUCE), most / group);
    const char *lane_tag = group > 1 ? "threadIdx.y" : "threadIdx.x";
    for (uint32_t k = 0; k < of.n; k++)
        bytes += (int64_t)tnb_dtype_bytes(tn_as_buffer(of.store[k]->buffer)->dtype);
    if (group > 1 && spreads(red, &of, t->shared_bytes - (lanes + 1) * group * bytes)) {
        group = 1;
        lane_tag = "threadIdx.x";
        lanes = gpu_threads_for(t, gpu_turns(red, TN_ITER_REDUCE), most);
    }
    while (lanes > 1 && (lanes + 1) * group * bytes > t->shared_bytes)
        lanes /= 2;
    tnk_item *rows = rows_of(s, red, &turns), *home = rows;
    if (rows && group > 1) {
        if (!tnk_split(s, rows, group, part))
            return NULL;
        rows = part[0];
        home = part[1];
    }
    /* what is computed of the results, while all loops are plain */
    uint32_t n = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS);
    for (uint32_t i = 0; home && i < n; i++)
        if (all[i] != red && !tnk_reverse_compute_at(s, all[i], home))
            return NULL;
    for (uint32_t k = 0; home && k < of.n; k++)
        if (!tnk_sch_is_param(s, of.store[k]->buffer) &&
            !tnk_set_scope(s, of.store[k]->buffer, "shared"))
            return NULL;
    if (!home || !tnk_bind(s, rows, "blockIdx.x") ||
        (group > 1 && !tnk_bind(s, home, "threadIdx.x")) ||
        !gpu_bind_threads(s, turns, lane_tag, lanes))
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t own = all[i] == red ? 0 : gpu_own_loops(s, all[i], l);
        tnk_item *f = own ? gpu_fuse(s, l, own) : NULL;
        if (all[i] != red && !(f ? gpu_bind_threads(s, f, lane_tag, lanes) != NULL
                                 : gpu_first_thread(s, all[i], lane_tag, lanes)))
            return NULL;
    }
    return tnk_sch_finish(s);
}
