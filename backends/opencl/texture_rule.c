/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.Texture: one kernel whose threads compute four neighbours of the last dimension and store them
 * at once, as images demand.
 *
 *     for n, o, y, x, oi: for rc, ci, ry, rx:       for b in blockIdx.x: for t in threadIdx.x:
 *         C[n, o, y, x, oi] += A[...] * W[...]          C_local[0:4] = 0
 *     for n, o, y, x, oi:                       =>      for rc, ci, ry, rx: C_local[0:4] += A[...] * W[...]
 *         D[n, o, y, x, oi] = max(C[...], 0)            D[n, o, y, x, 0:4] = max(C_local[0:4], 0)
 *
 * Takes functions of one result whose last dimension is 4, with at most one block that is not element-wise,
 * for targets with the key `texture`.
 */
#include "texture.h"

#include <string.h>

#include "tenon/core/build.h"
#include "tenon/kit/schedule.h"

enum { MAX_BLOCKS = 32, MAX_LOOPS = 16, THREADS = 64 };

/* Whether the block's last loop runs over the four neighbours alone. */
static bool
ends_with_four(const tnk_item *block, tnk_item *const *l, uint32_t n)
{
    const tn_node *out = tnk_block_output(block);
    int64_t four;
    return out && n >= 2 && n == tn_as_buffer(out)->shape.n && tnk_loop_extent(l[n - 1], &four) &&
           four == 4 && tn_is_int_const(tn_as_buffer(out)->shape.at[n - 1], 4);
}

/* Loops of one turn go behind the others, where they leave no trace in the indices; the number of these
 * others, at least 1. */
static uint32_t
long_first(tnk_item **l, uint32_t n)
{
    tnk_item *unit[MAX_LOOPS] = {0};
    uint32_t k = 0, m = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t extent;
        if (tnk_loop_extent(l[i], &extent) && extent == 1)
            unit[m++] = l[i];
        else
            l[k++] = l[i];
    }
    for (uint32_t i = 0; i < m; i++)
        l[k + i] = unit[i];
    return k ? k : 1;
}

/* What each thread reduces: its four results together, the four neighbours that are read unrolled. */
static bool
reduce(tnk_sch *s, tnk_item *block, uint32_t around)
{
    tnk_item *all[MAX_LOOPS], *order[MAX_LOOPS], *vector = NULL, *first = NULL;
    uint32_t n = tnk_sch_loops(s, block, all, MAX_LOOPS), m = 0;
    int64_t extent;
    if (n > MAX_LOOPS)
        return false;
    for (uint32_t i = around; i < n; i++)
        if (!tnk_loop_reduces(all[i], block)) {
            if (tnk_loop_extent(all[i], &extent) && extent == 1)
                continue;
            if (vector)
                return false;
            vector = all[i];
        }
    for (uint32_t i = around; i < n; i++)
        if (tnk_loop_reduces(all[i], block)) {
            order[m++] = all[i];
            first = first ? first : all[i];
        }
    if (!vector || !first || !tnk_loop_extent(vector, &extent) || extent != 4)
        return false;
    order[m++] = vector;
    if (!tnk_reorder(s, order, m))
        return false;
    tnk_item *init = tnk_decompose_reduction(s, block, first), *of_init[MAX_LOOPS];
    uint32_t k = init ? tnk_sch_loops(s, init, of_init, MAX_LOOPS) : 0;
    if (k == 0 || k > MAX_LOOPS || !tnk_set_kind(s, of_init[k - 1], TN_FOR_VECTORIZED) ||
        !tnk_set_kind(s, vector, TN_FOR_VECTORIZED))
        return false;
    for (uint32_t i = 0; i + 1 < m; i++)
        if (tnk_loop_extent(order[i], &extent) && extent <= 4 &&
            tnk_loop_walks_last(order[i], block) && !tnk_set_kind(s, order[i], TN_FOR_UNROLLED))
            return false;
    return true;
}

/* The block that stores the result, and the reduction before it, if there is one. */
static bool
find_blocks(tnk_sch *s, tnk_item **root, tnk_item **reduction)
{
    tnk_item *blocks[MAX_BLOCKS];
    uint32_t n = tnk_sch_blocks(s, blocks, MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < MAX_BLOCKS; i++)
        if (tnk_block_is_injective(blocks[i]) && tnk_can_inline(s, blocks[i]))
            (void)tnk_compute_inline(s, blocks[i]);
    n = tnk_sch_blocks(s, blocks, MAX_BLOCKS);
    *reduction = n && tnk_block_is_reduction(blocks[0]) && tnk_item_block(blocks[0])->init
                     ? blocks[0]
                     : NULL;
    if (n == 2 && *reduction && tnk_block_is_injective(blocks[1])) {
        *root = blocks[1];
        return tnk_sch_is_param(s, tnk_block_output(*root));
    }
    if (n != 1 || (!*reduction && !tnk_block_is_injective(blocks[0])) ||
        !tnk_block_output(blocks[0]))
        return false;
    *root = *reduction ? tnk_cache_write(s, *reduction, "local") : blocks[0];
    return *root != NULL;
}

const tn_node *
texture_schedule(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target)
{
    tnk_sch *s = tnk_sch_new(ctx, prim_func);
    tnk_item *root, *reduction, *l[MAX_LOOPS], *part[2];
    int64_t most = tn_dict_int(target->attrs, "max_threads_per_block", 256), e;
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    if (!find_blocks(s, &root, &reduction))
        return NULL;
    uint32_t n = tnk_sch_loops(s, root, l, MAX_LOOPS);
    if (n > MAX_LOOPS || !ends_with_four(root, l, n))
        return NULL;
    uint32_t long_ = long_first(l, n - 1);
    if (n > 2 && !tnk_reorder(s, l, n))
        return NULL;
    tnk_item *f = l[0];
    for (uint32_t i = 1; f && i < long_; i++)
        f = tnk_fuse(s, f, l[i]);
    most = most < THREADS ? most : THREADS;
    if (!f || !tnk_split(s, f, tnk_loop_extent(f, &e) && e >= 1 && e < most ? e : most, part) ||
        !tnk_bind(s, part[0], "blockIdx.x") || !tnk_bind(s, part[1], "threadIdx.x") ||
        !tnk_set_kind(s, l[n - 1], TN_FOR_VECTORIZED))
        return NULL;
    if (reduction) {
        const tn_node *out = tnk_block_output(reduction);
        if (!out ||
            (strcmp(tn_as_buffer(out)->scope, "local") != 0 && !tnk_set_scope(s, out, "local")) ||
            !tnk_compute_at(s, reduction, part[1]) || !reduce(s, reduction, 2))
            return NULL;
    }
    return tnk_sch_finish(s);
}

/* Whether a tensor lies in an image, or the result is laid out for one. */
static bool
concerns(const tn_prim_func *f)
{
    const tn_buffer *b = NULL;
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        b = tn_as_buffer(f->buffers.at[i]);
        if (b && b->scope && strncmp(b->scope, "global.texture", 14) == 0)
            return true;
    }
    return b && b->shape.n == 5 && tn_is_int_const(b->shape.at[4], 4);
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    return target && texture_wanted(target) && concerns(tn_as_prim_func(prim_func))
               ? texture_schedule(ctx, prim_func, target)
               : NULL;
}

const tnk_rule texture_rule = {
    .base.size = sizeof(tnk_rule),
    .base.name = "opencl.Texture",
    .base.doc = "Four neighbours to a thread, stored at once: for results in images.",
    .apply = apply,
};
