/* SPDX-License-Identifier: Apache-2.0 */
/* Loops around one block of a GPU's kernel: found, fused, split and bound. */
#include "../schedule/schedule_private.h"
#include "gpu.h"

uint32_t
gpu_own_loops(tnk_sch *s, const tnk_item *block, tnk_item **l)
{
    tnk_item *all[GPU_MAX_BLOCKS], *other[GPU_MAX_LOOPS];
    uint32_t n = tnk_sch_loops(s, block, l, GPU_MAX_LOOPS),
             blocks = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS), shared = 0;
    if (n > GPU_MAX_LOOPS || blocks > GPU_MAX_BLOCKS)
        return 0;
    for (uint32_t i = 0; i < blocks; i++) {
        if (all[i] == block)
            continue;
        uint32_t m = tnk_sch_loops(s, all[i], other, GPU_MAX_LOOPS), k = 0;
        while (k < n && k < m && k < GPU_MAX_LOOPS && other[k] == l[k])
            k++;
        shared = k > shared ? k : shared;
    }
    memmove(l, l + shared, (n - shared) * sizeof *l);
    return n - shared;
}

uint32_t
gpu_spatial_first(const tnk_item *block, tnk_item **l, uint32_t n)
{
    tnk_item *rest[GPU_MAX_LOOPS] = {0};
    uint32_t k = 0, m = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (tnk_loop_reduces(l[i], block) || tnk_loop_kind(l[i]) != TN_FOR_SERIAL)
            rest[m++] = l[i];
        else
            l[k++] = l[i];
    }
    memcpy(l + k, rest, m * sizeof *rest);
    return k;
}

bool
gpu_is_bound(tnk_sch *s, const tnk_item *block)
{
    tnk_item *l[GPU_MAX_LOOPS];
    uint32_t n = tnk_sch_loops(s, block, l, GPU_MAX_LOOPS);
    for (uint32_t i = 0; i < n && i < GPU_MAX_LOOPS; i++)
        if (tnk_loop_kind(l[i]) == TN_FOR_THREAD_BINDING)
            return true;
    return false;
}

tnk_item *
gpu_fuse(tnk_sch *s, tnk_item *const *l, uint32_t n)
{
    tnk_item *f = l[0];
    for (uint32_t i = 1; f && i < n; i++)
        f = tnk_fuse(s, f, l[i]);
    return f;
}

bool
gpu_bind_grid(tnk_sch *s, tnk_item *loop, int64_t threads, tnk_item *out[2])
{
    tnk_item *part[2];
    if (!tnk_split(s, loop, threads, part) || !tnk_bind(s, part[0], "blockIdx.x") ||
        !tnk_bind(s, part[1], "threadIdx.x"))
        return false;
    if (out)
        memcpy(out, part, sizeof part);
    return true;
}

tnk_item *
gpu_bind_threads(tnk_sch *s, tnk_item *loop, const char *tag, int64_t threads)
{
    tnk_item *part[2];
    return tnk_split(s, loop, threads, part) && tnk_bind(s, part[1], tag) ? part[1] : NULL;
}

bool
gpu_first_thread(tnk_sch *s, tnk_item *block, const char *tag, int64_t threads)
{
    tnk_item *unit = tnk_add_unit_loop(s, block);
    return unit && gpu_bind_threads(s, unit, tag, threads);
}

bool
gpu_into(tnk_sch *s, tnk_item *block, const char *scope, tnk_item *loop)
{
    const tn_node *out = tnk_block_output(block);
    if (!out || tnk_sch_is_param(s, out))
        return false;
    const char *now = tn_as_buffer(out)->scope;
    return ((now && !strcmp(now, scope)) || tnk_set_scope(s, out, scope)) &&
           tnk_compute_at(s, block, loop);
}

bool
gpu_copy_in_vectors(tnk_sch *s, tnk_item *copy, int64_t lanes)
{
    tnk_item *l[GPU_MAX_LOOPS], *part[2];
    uint32_t n = gpu_own_loops(s, copy, l);
    bool inner = true;
    for (uint32_t i = n; i-- > 0;) {
        int64_t e;
        if (!tnk_loop_extent(l[i], &e))
            return false;
        if (e == 1)
            continue;
        while (inner && lanes > 1 && e % lanes)
            lanes /= 2;
        if (inner && lanes > 1 && e > lanes) {
            if (!tnk_split(s, l[i], lanes, part) || !tnk_set_kind(s, part[1], TN_FOR_VECTORIZED) ||
                !tnk_set_kind(s, part[0], TN_FOR_UNROLLED))
                return false;
        } else if (!tnk_set_kind(s, l[i],
                                 inner && lanes > 1 ? TN_FOR_VECTORIZED : TN_FOR_UNROLLED)) {
            return false;
        }
        inner = false;
    }
    return true;
}

tnk_item *
gpu_loop_of_iter(tnk_sch *s, tnk_item *block, uint32_t k)
{
    tnk_item *l[GPU_MAX_LOOPS];
    uint32_t n = tnk_sch_loops(s, block, l, GPU_MAX_LOOPS);
    for (uint32_t i = 0; i < n && i < GPU_MAX_LOOPS; i++)
        if (block->values[k] == l[i]->var)
            return l[i];
    return NULL;
}

tnk_item *
gpu_tile(tnk_sch *s, tnk_item *block, const uint32_t dim[2], const int64_t tile[2],
         const int64_t *part, tnk_item *inner[2], tnk_item *own[2])
{
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *at[2], *halves[2], *outer[2];
    uint32_t n = gpu_own_loops(s, block, l), k = 0;
    if (n != block->block->iters.n || n > GPU_MAX_LOOPS / 2)
        return NULL;
    for (int i = 0; i < 2; i++) {
        uint32_t iter = gpu_iter_of_dim(block, dim[i]);
        at[i] = iter == UINT32_MAX ? NULL : gpu_loop_of_iter(s, block, iter);
        if (!at[i] || !tnk_split(s, at[i], tile[i], halves))
            return NULL;
        outer[i] = halves[0];
        inner[i] = halves[1];
        if (!part)
            continue;
        if (!tnk_split(s, inner[i], part[i], halves))
            return NULL;
        inner[i] = halves[0];
        own[i] = halves[1];
    }
    for (uint32_t i = 0; i < n; i++)
        if (l[i] != at[0] && l[i] != at[1])
            order[k++] = l[i];
    memcpy(order + k, outer, sizeof outer);
    memcpy(order + k + 2, inner, sizeof outer);
    if (part)
        memcpy(order + k + 4, own, sizeof outer);
    return tnk_reorder(s, order, k + (part ? 6 : 4)) ? gpu_fuse(s, order, k + 2) : NULL;
}

uint32_t
gpu_iter_of_dim(const tnk_item *block, uint32_t dim)
{
    const tn_block *b = tnk_item_block(block);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    for (uint32_t k = 0; st && dim < st->indices.n && k < b->iters.n; k++)
        if (tn_as_iter_var(b->iters.at[k])->var == st->indices.at[dim])
            return k;
    return UINT32_MAX;
}

uint32_t
gpu_count_iters(const tnk_item *block, tn_iter_kind kind)
{
    const tn_block *b = tnk_item_block(block);
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->iters.n; k++)
        n += tn_as_iter_var(b->iters.at[k])->iter_kind == (int64_t)kind;
    return n;
}

bool
gpu_has_order(const tnk_item *block)
{
    return gpu_count_iters(block, TN_ITER_SPATIAL) + gpu_count_iters(block, TN_ITER_REDUCE) !=
           tnk_item_block(block)->iters.n;
}

int64_t
gpu_iter_extent(const tnk_item *block, uint32_t k)
{
    int64_t n;
    const tn_iter_var *iv = tn_as_iter_var(tnk_item_block(block)->iters.at[k]);
    return tn_int_value(tn_as_range(iv->dom)->extent, &n) ? n : -1;
}

int64_t
gpu_iter_most(const tnk_sch *s, const tnk_item *block, uint32_t k)
{
    const tn_iter_var *iv = tn_as_iter_var(tnk_item_block(block)->iters.at[k]);
    return tnk_upper_bound(s->ctx, TN_NODE(s->func), tn_as_range(iv->dom)->extent);
}
