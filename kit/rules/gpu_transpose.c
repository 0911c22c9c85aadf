/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.Transpose: a copy whose result and source lie in memory along different dimensions.
 *
 *     for i, j: B[i, j] = A[j, i]     =>     for b in blockIdx.x: a tile of 32 by 32
 *                                                A_shared[j, i] = A[j, i]      i over threadIdx.x, j over threadIdx.y
 *                                                B[i, j] = A_shared[j, i]      j over threadIdx.x, i over threadIdx.y
 *
 * So that neighbouring threads read and write neighbouring elements. What computes A element by element goes into the copy to
 * shared memory; what is computed of the element that was read stays with the store. Other dimensions run over blocks.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

enum { TILE = 32, ROWS = 8 };

typedef struct permuted {
    const tn_block *b;
    const tn_buffer_load *load;
    bool several;
} permuted;

/* Whether each index is an iterator of its own, or 0. */
static bool
is_permutation(const tn_block *b, tn_list idx)
{
    bool used[GPU_MAX_LOOPS] = {false};
    for (uint32_t i = 0; i < idx.n; i++) {
        uint32_t k = 0;
        while (k < b->iters.n && tn_as_iter_var(b->iters.at[k])->var != idx.at[i])
            k++;
        if (k < b->iters.n && (k >= GPU_MAX_LOOPS || used[k]))
            return false;
        if (k == b->iters.n && !tn_is_int_const(idx.at[i], 0))
            return false;
        if (k < b->iters.n)
            used[k] = true;
    }
    return true;
}

static tn_walk_step
find_load(void *user, const tn_node *n)
{
    permuted *p = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *st = tn_as_buffer_store(p->b->body);
    if (!l || l->indices.n < 2 || st->indices.n < 2)
        return TN_WALK_ON;
    const tn_expr *last = st->indices.at[st->indices.n - 1], *own = l->indices.at[l->indices.n - 1];
    if (!is_permutation(p->b, l->indices) || own == last || tn_is_int_const(own, 0))
        return TN_WALK_ON;
    bool along = false;
    for (uint32_t i = 0; i < l->indices.n; i++)
        along |= l->indices.at[i] == last;
    if (!along)
        return TN_WALK_ON;
    p->several |= p->load && p->load->buffer != l->buffer;
    p->load = p->load ? p->load : l;
    return TN_WALK_ON;
}

static uint32_t
iter_of(const tn_block *b, const tn_expr *var)
{
    uint32_t k = 0;
    while (k < b->iters.n && tn_as_iter_var(b->iters.at[k])->var != var)
        k++;
    return k;
}

/* The last block, the one that transposes; everything else in the function is inlined. */
static tnk_item *
find(tnk_sch *s, permuted *p)
{
    tnk_item *all[GPU_MAX_BLOCKS];
    uint32_t n = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS);
    if (n == 0 || n > GPU_MAX_BLOCKS)
        return NULL;
    tnk_item *copy = all[n - 1];
    if (!tnk_block_is_injective(copy) || gpu_is_bound(s, copy))
        return NULL;
    /* what the copy does not read goes where it is read */
    for (uint32_t i = 0; i + 1 < n; i++) {
        tnk_item *readers[2];
        const tn_node *out = tnk_block_output(all[i]);
        if (!out || !tnk_can_inline(s, all[i]))
            return NULL;
        if (tnk_sch_readers(s, out, readers, 2) == 1 && readers[0] == copy) {
            *p = (permuted){.b = copy->block};
            tn_walk(copy->block->body, 0, find_load, NULL, p);
            if (p->load && p->load->buffer == out && !p->several)
                continue;
        }
        if (!tnk_compute_inline(s, all[i]))
            return NULL;
    }
    *p = (permuted){.b = copy->block};
    const tn_buffer_store *st = tnk_block_store(copy->block);
    if (st->indices.n < 2 || !is_permutation(p->b, st->indices))
        return NULL;
    tn_walk(copy->block->body, 0, find_load, NULL, p);
    return p->load && !p->several ? copy : NULL;
}

static bool
transpose(tnk_sch *s, tnk_item *copy, const permuted *p, const gpu_target *t)
{
    const tn_buffer_store *st = tnk_block_store(copy->block);
    const tn_expr *vj = st->indices.at[st->indices.n - 1],
                  *vi = p->load->indices.at[p->load->indices.n - 1];
    uint32_t ki = iter_of(copy->block, vi), kj = iter_of(copy->block, vj), along = 0,
             rank = p->load->indices.n;
    while (p->load->indices.at[along] != vj)
        along++;
    if (ki == copy->block->iters.n || kj == copy->block->iters.n)
        return false;
    /* a tile as large as threads and memory allow */
    int64_t tile = TILE, bytes = (int64_t)tnb_dtype_bytes(tn_as_buffer(p->load->buffer)->dtype);
    int64_t most = gpu_floor_pow2(t->threads);
    while (tile > 1 && (tile > most || tile * (tile + 1) * bytes > t->shared_bytes))
        tile /= 2;
    int64_t rows = most / tile < ROWS ? most / tile : ROWS;
    rows = rows < tile ? rows : tile;
    const tn_node *source = p->load->buffer;
    tnk_item *producer = tnk_sch_is_param(s, source) ? NULL : tnk_sch_writer(s, source);
    tnk_item *stage = tnk_cache_read(s, copy, source, "shared", NULL);
    if (!stage || (producer && !tnk_compute_inline(s, producer)))
        return false;
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *i2[2], *j2[2];
    uint32_t n = gpu_own_loops(s, copy, l), k = 0;
    tnk_item *li = gpu_loop_of_iter(s, copy, ki), *lj = gpu_loop_of_iter(s, copy, kj);
    if (n != copy->block->iters.n || n > GPU_MAX_LOOPS - 2 || !li || !lj ||
        !tnk_split(s, li, tile, i2) || !tnk_split(s, lj, tile, j2))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (l[i] != li && l[i] != lj)
            order[k++] = l[i];
    order[k++] = i2[0];
    order[k++] = j2[0];
    order[k] = i2[1];
    order[k + 1] = j2[1];
    tnk_item *grid = tnk_reorder(s, order, k + 2) ? gpu_fuse(s, order, k) : NULL;
    if (!grid || !tnk_bind(s, grid, "blockIdx.x") || !tnk_bind(s, j2[1], "threadIdx.x") ||
        !gpu_bind_threads(s, i2[1], "threadIdx.y", rows) || !tnk_compute_at(s, stage, grid))
        return false;
    n = gpu_own_loops(s, stage, l);
    /* one element more a row, so that a column lies in different banks */
    return n == rank && tnk_storage_align(s, stage, tnk_block_output(stage), (int)along, tile, 1) &&
           gpu_bind_threads(s, l[rank - 1], "threadIdx.x", tile) &&
           gpu_bind_threads(s, l[along], "threadIdx.y", rows);
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    const tn_node *within;
    if (gpu_within(ctx, prim_func, target, apply, &within))
        return within;
    gpu_target t;
    permuted p;
    tnk_sch *s = gpu_target_of(ctx, target, &t) ? tnk_sch_new(ctx, prim_func) : NULL;
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    tnk_item *copy = find(s, &p);
    return copy && transpose(s, copy, &p, &t) ? tnk_sch_finish(s) : NULL;
}

const tnk_rule tnk_rule_gpu_transpose = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.Transpose",
    .base.doc = "A copy along other dimensions: tiles pass through shared memory.",
    .apply = apply,
    .attrs = gpu_attrs,
};
