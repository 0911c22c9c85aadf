/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.Matmul where warps have matrix units, for products of float16 that are summed in float32:
 *
 *     for i, j, k: C[i, j] += float32(A[i, k]) * float32(B[k, j])
 *  =>
 *     for b in blockIdx.x:                                                      a tile of 64 by 64
 *         C_shared[...] = 0
 *         for k0:
 *             A_shared, B_shared = 64 by 32 of A and 32 by 64 of B              by all threads together
 *             for w in threadIdx.y, lane in threadIdx.x: if lane == 0:          32 by 32 a warp
 *                 for i, j, k (matrix_unit = [16, 16, 16]): C_shared[...] += float32(A_shared[...]) * float32(B_shared[...])
 *         C[...] = C_shared[...]                                                with what is computed of it
 *
 * The loops that bear the annotation mean what they say: a generator that knows matrix units has the whole warp compute them at once, any
 * other one has its first thread do so. All extents are padded to multiples of the tile. Tiles shrink with the extents, the
 * threads and the shared memory that there are.
 */
#include "gpu.h"

#include "../schedule/schedule_private.h"
#include "tenon/kit/codegen.h"

enum {
    UNITS = 2,
    WARPS = 2,
    BANK = 8
}; /* units a warp along each side; warps a block; elements behind a row */

static bool
is_float16(const tn_buffer_load *l)
{
    return tnb_dtype_eq(tn_as_buffer(l->buffer)->dtype, TNB_F16);
}

/* Operands by iterators and numbers alone (a batch of one is 0), so that an element's place is linear in each. */
static bool
has_plain_indices(const tnk_item *block, const tn_buffer_load *l)
{
    const tn_block *b = block->block;
    for (uint32_t i = 0; i < l->indices.n; i++) {
        int64_t number;
        uint32_t k = 0;
        if (tn_int_value(l->indices.at[i], &number))
            continue;
        while (k < b->iters.n && tn_as_iter_var(b->iters.at[k])->var != l->indices.at[i])
            k++;
        if (k == b->iters.n)
            return false;
    }
    return true;
}

static int64_t
bytes_of(const gpu_product *m)
{
    int64_t elements = (m->tile[0] + m->tile[1]) * (m->depth + BANK) + BANK * m->depth;
    return elements * 2 + m->tile[0] * m->tile[1] * 4;
}

/* The tile: as many warps and units as there are threads, memory and results for. */
static bool
choose_tile(gpu_product *m)
{
    const gpu_target *t = m->t;
    int64_t warps[2] = {WARPS, WARPS}, units[2] = {UNITS, UNITS};
    int64_t k = gpu_turns(m->block, TN_ITER_REDUCE);
    m->depth = t->unit[2] * 2;
    if (k >= 0 && k <= t->unit[2])
        m->depth = t->unit[2];
    for (;;) {
        int shrink = -1;
        for (int i = 0; i < 2; i++) {
            int64_t e = gpu_iter_most(m->s, m->block, gpu_iter_of_dim(m->block, m->dim[i]));
            m->micro[i] = t->unit[i] * units[i];
            m->tile[i] = m->micro[i] * warps[i];
            if (e >= 0 && m->tile[i] >= 2 * e && m->tile[i] > t->unit[i])
                shrink = i;
        }
        m->threads[0] = warps[0] * warps[1];
        m->threads[1] = t->warp;
        bool fits = bytes_of(m) <= t->shared_bytes;
        if (shrink < 0 && fits && m->threads[0] * m->threads[1] <= t->threads)
            return true;
        if (shrink < 0)
            shrink = m->tile[0] > m->tile[1];
        if (!fits && m->depth > t->unit[2])
            m->depth = t->unit[2];
        else if (warps[shrink] > 1)
            warps[shrink] /= 2;
        else if (units[shrink] > 1)
            units[shrink] /= 2;
        else if (warps[!shrink] > 1)
            warps[!shrink] /= 2;
        else
            return false;
    }
}

/* The loops in one, all threads of a block over it. */
static bool
bind_all(gpu_product *m, tnk_item **l, uint32_t n)
{
    tnk_sch *s = m->s;
    tnk_item *f = gpu_fuse(s, l, n), *part[2];
    return f && tnk_split(s, f, m->threads[1], part) && tnk_bind(s, part[1], "threadIdx.x") &&
           gpu_bind_threads(s, part[0], "threadIdx.y", m->threads[0]);
}

/* The last block: tiles are blocks of the grid, whose loop is given. */
static tnk_item *
tile_results(gpu_product *m)
{
    tnk_item *inner[2], *grid = gpu_tile(m->s, m->root, m->dim, m->tile, NULL, inner, NULL);
    return grid && bind_all(m, inner, 2) && tnk_bind(m->s, grid, "blockIdx.x") ? grid : NULL;
}

/* The sums of a tile: a step of the longest sum at a time, all others outside. Gives the loop over the steps. */
static tnk_item *
tile_sums(gpu_product *m)
{
    tnk_sch *s = m->s;
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS + 8], *part[2], *step, *warp[2], *own[2];
    tnk_item *at[2] = {NULL};
    uint32_t n = gpu_own_loops(s, m->block, l), spatial = gpu_spatial_first(m->block, l, n), k = 0;
    if (spatial < 2 || spatial == n)
        return NULL;
    for (int i = 0; i < 2; i++)
        for (uint32_t j = 0; j < spatial; j++)
            if (tn_uses(m->block->values[gpu_iter_of_dim(m->block, m->dim[i])], l[j]->var))
                at[i] = l[j];
    uint32_t longest = spatial;
    for (uint32_t i = spatial; i < n; i++) {
        int64_t e, most;
        if (!tnk_loop_extent(l[i], &e))
            longest = i;
        else if (tnk_loop_extent(l[longest], &most) && e > most)
            longest = i;
    }
    if (!at[0] || !at[1] || !tnk_split(s, l[longest], m->depth, part))
        return NULL;
    step = part[0];
    for (uint32_t i = spatial; i < n; i++)
        if (i != longest)
            order[k++] = l[i];
    order[k++] = step;
    uint32_t sums = k;
    for (uint32_t i = 0; i < spatial; i++) /* of one iteration each */
        if (l[i] != at[0] && l[i] != at[1])
            order[k++] = l[i];
    order[k++] = at[0];
    order[k++] = at[1];
    order[k++] = part[1];
    if (!tnk_reorder(s, order, k))
        return NULL;
    tnk_item *zeros = tnk_decompose_reduction(s, m->block, sums > 1 ? order[0] : step),
             *of[GPU_MAX_LOOPS];
    uint32_t n_zeros = zeros ? gpu_own_loops(s, zeros, of) : 0;
    if (!n_zeros || !bind_all(m, of, n_zeros))
        return NULL;
    for (int i = 0; i < 2; i++) {
        tnk_item *halves[2];
        if (!tnk_split(s, at[i], m->micro[i], halves))
            return NULL;
        warp[i] = halves[0];
        own[i] = halves[1];
    }
    tnk_item *lane = tnk_add_unit_loop(s, m->block), *lanes[2];
    if (!lane || !tnk_split(s, lane, m->threads[1], lanes))
        return NULL;
    tnk_item *nest[] = {warp[0], warp[1], lanes[0], lanes[1], own[0], own[1], part[1]};
    tnk_item *w = tnk_reorder(s, nest, 7) ? gpu_fuse(s, warp, 2) : NULL;
    const tn_node *unit = tn_int_array(s->ctx, m->t->unit, 3);
    return w && tnk_bind(s, w, "threadIdx.y") && tnk_bind(s, lanes[1], "threadIdx.x") &&
                   tnk_annotate(s, own[0], TNK_MATRIX_UNIT, unit)
               ? step
               : NULL;
}

static bool
tile(gpu_product *m)
{
    tnk_sch *s = m->s;
    tnk_item *grid = tile_results(m), *stage[2], *l[GPU_MAX_LOOPS];
    for (int i = 0; i < 2 && grid; i++)
        if (!(stage[i] = gpu_stage(s, m->block, m->load[i]->buffer, "shared")))
            return false;
    if (!grid || !gpu_into(s, m->block, "shared", grid))
        return false;
    tnk_item *step = tile_sums(m);
    for (int i = 0; i < 2 && step; i++) {
        const tn_node *copy = tnk_block_output(stage[i]);
        int rank = (int)tn_as_buffer(copy)->shape.n;
        int64_t e;
        if (!tnk_compute_at(s, stage[i], step))
            return false;
        uint32_t n = gpu_own_loops(s, stage[i], l);
        if (n == 0 || !tnk_loop_extent(l[n - 1], &e) || rank < 2 ||
            !tnk_storage_align(s, stage[i], copy, rank - 2, e, BANK) ||
            !gpu_fetch(m, stage[i], false))
            return false;
    }
    return step != NULL;
}

const tn_node *
gpu_by_matrix_units(tn_ctx *ctx, const tn_node *prim_func, const gpu_target *t)
{
    gpu_product m = {.s = t->unit[0] ? tnk_sch_new(ctx, prim_func) : NULL, .t = t};
    if (!m.s)
        return NULL;
    tnk_sch_quiet(m.s);
    m.block = gpu_sole_reduction(m.s);
    if (!m.block)
        return NULL;
    gpu_inline_around(m.s, m.block);
    if (!gpu_find_product(&m))
        return NULL;
    const tn_buffer *out = tn_as_buffer(tnk_block_output(m.block));
    for (int i = 0; i < 2; i++)
        if (!is_float16(m.load[i]) || !has_plain_indices(m.block, m.load[i]))
            return NULL;
    if (!out || !tnb_dtype_eq(out->dtype, TNB_F32) || !choose_tile(&m) ||
        !gpu_pad_product(&m, true))
        return NULL;
    m.root = gpu_root_of(m.s, m.block);
    return m.root && tile(&m) ? gpu_finish_rest(m.s, t) : NULL;
}
