/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.MatmulRegisters: products of float32 matrices, eight by eight results in the registers of a thread.
 *
 *     for i, j, k: C[i, j] += A[i, k] * B[k, j]
 *  =>
 *     for b in blockIdx.x, ty in threadIdx.y, tx in threadIdx.x:                a tile of 128 by 128, 8 by 8 of it a thread
 *         for k0: A_shared, B_shared = 128 by 16 of A and 16 by 128 of B        by all threads together, in vectors, a step ahead
 *                 for k1: A_local = 8 by 4 of A_shared                          in vectors
 *                         for k2: B_local = 1 by 8 of B_shared                  in vectors
 *                                 for i, j: C_local[i, j] += A_local[i, k2] * B_local[j]
 *         C[...] = C_local[...]                                                 with what is computed of it
 *
 * Shared memory answers a warp's loads in as few passes as they have words: columns of B lie there as threads read them. A thread of
 * gpu.Matmul, which takes what this rule leaves, has 4 by 4 results and loads a number for every two of its multiplications.
 * Extents are padded to multiples of the tile. Tiles get smaller where there would be too few for all of a GPU.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"
#include "tenon/core/text.h"

#include <string.h>

enum {
    THREADS = 16,
    LEAST = 64,
    DEPTH = 16,
    VECTOR = 4,
    ENOUGH = 128,
    USUAL_ROWS = 512,
    STAGES = 2
};

typedef struct registers {
    gpu_product m;
    bool along; /* the second operand lies as columns by steps */
    int64_t step;
} registers;

/* ---- is it one ---- */

/* Rows by steps, and steps by columns or columns by steps, in the last dimensions of operands and result. */
static bool
recognize(registers *r)
{
    const gpu_product *m = &r->m;
    const tn_buffer_store *st = tnk_block_store(m->block->block);
    if (!gpu_find_product(&r->m) || st->indices.n < 2 || m->dim[0] != st->indices.n - 2 ||
        m->dim[1] != st->indices.n - 1 || gpu_count_iters(m->block, TN_ITER_REDUCE) != 1 ||
        !tnb_dtype_eq(tn_as_buffer(st->buffer)->dtype, TNB_F32))
        return false;
    const tn_expr *at[2][2], *row = st->indices.at[m->dim[0]], *col = st->indices.at[m->dim[1]];
    for (int i = 0; i < 2; i++) {
        uint32_t n = m->load[i]->indices.n;
        if (n < 2 || !tnb_dtype_eq(tn_as_buffer(m->load[i]->buffer)->dtype, TNB_F32))
            return false;
        at[i][0] = m->load[i]->indices.at[n - 2];
        at[i][1] = m->load[i]->indices.at[n - 1];
    }
    const tn_expr *k = at[0][1];
    for (uint32_t i = 0; i < m->block->block->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(m->block->block->iters.at[i]);
        if (iv->var == k && iv->iter_kind != TN_ITER_REDUCE)
            return false;
    }
    r->along = at[1][0] == col;
    return at[0][0] == row && at[1][r->along ? 1 : 0] == k && at[1][r->along ? 0 : 1] == col;
}

static bool
choose_tile(registers *r)
{
    static const int64_t micros[] = {4, 8}, steps[] = {2, 4};
    static const char *const names[2] = {"rows", "columns"};
    gpu_product *m = &r->m;
    int64_t e[2], k = gpu_turns(m->block, TN_ITER_REDUCE);
    for (int i = 0; i < 2; i++) {
        e[i] = gpu_iter_most(m->s, m->block, gpu_iter_of_dim(m->block, m->dim[i]));
        m->micro[i] = e[i] < 0 ? 4 : 8; /* there may be few */
        if (e[i] < 0)
            e[i] = USUAL_ROWS;
        if (e[i] < LEAST)
            return false;
        m->threads[i] = THREADS;
    }
    for (int i = 0; i < 2; i++) {
        int64_t tiles = 1;
        for (int x = 0; x < 2; x++)
            tiles *= (e[x] + THREADS * m->micro[x] - 1) / (THREADS * m->micro[x]);
        m->micro[i] =
            tnk_rule_choice(m->s->ctx, names[i], micros, 2, tiles < ENOUGH ? 4 : m->micro[i]);
    }
    for (int i = 0; i < 2; i++)
        m->tile[i] = THREADS * m->micro[i];
    m->depth = DEPTH;
    r->step = tnk_rule_choice(m->s->ctx, "step", steps, 2, 2);
    return (k < 0 || k >= LEAST) && THREADS * THREADS <= m->t->threads;
}

/* ---- the schedule ---- */

/* Places in shared memory such that neighbouring threads, which have neighbouring rows or columns, read different banks: what a thread
 * has several of lies as threads read it together, and behind a row along the steps a vector is left out. */
static bool
lay_out(registers *r, tnk_item *stage, int operand)
{
    tn_ctx *ctx = r->m.s->ctx;
    const long long tile = r->m.tile[operand], own = r->m.micro[operand];
    const bool steps = operand == 0 || r->along;
    uint32_t rank = tn_as_buffer(tnk_block_output(stage))->shape.n;
    const char *batch = "", *map = steps
                                       ? tn_strf(ctx, "i // %lld, i %% %lld, i %% %lld // %lld, j",
                                                 tile, own, tile, own)
                                       : tn_strf(ctx,
                                                 "i, j // %lld, j // 4 %% %lld, j %% %lld // "
                                                 "%lld, j %% 4",
                                                 tile, own / 4, tile, own);
    for (uint32_t i = 0; i + 2 < rank; i++)
        batch = tn_strf(ctx, "%sa%u, ", batch, i);
    const char *text = tn_strf(ctx, "lambda %si, j: (%s%s)", batch, batch, map);
    const tn_node *f = tn_read_index_map(ctx, (tnb_place){0}, text, strlen(text));
    if (!f || !tnk_transform_layout(r->m.s, stage, tnk_block_output(stage), f))
        return false;
    const tn_node *copy = tnk_block_output(stage);
    return !steps || tnk_storage_align(r->m.s, stage, copy, (int)tn_as_buffer(copy)->shape.n - 2,
                                       DEPTH, VECTOR);
}

/* Whether the copy takes what lies in memory as it is, or zeros. */
static bool
only_copies(const tnk_item *stage)
{
    const tn_expr *v = tn_as_buffer_store(stage->block->body)->value;
    const tn_call *call = tn_as_call(v);
    if (call && tn_call_op_of(call) && (tn_call_op_of(call)->flags & TN_OP_LAZY) &&
        call->args.n == 3)
        v = call->args.at[1];
    return tn_is(v, TN_KIND_BUFFER_LOAD) != 0;
}

/* All threads of a block copy together. */
static bool
fetch(registers *r, tnk_item *stage, bool vectors)
{
    gpu_product *m = &r->m;
    tnk_sch *s = m->s;
    tnk_item *l[GPU_MAX_LOOPS], *part[2], *v = NULL;
    uint32_t n = gpu_own_loops(s, stage, l);
    if (n < 2)
        return false;
    if (vectors) {
        if (!tnk_split(s, l[n - 1], VECTOR, part))
            return false;
        l[n - 1] = part[0];
        v = part[1];
    }
    tnk_item *f = gpu_fuse(s, l, n);
    return f && tnk_split(s, f, m->threads[1], part) && tnk_bind(s, part[1], "threadIdx.x") &&
           gpu_bind_threads(s, part[0], "threadIdx.y", m->threads[0]) &&
           (!v || tnk_set_kind(s, v, TN_FOR_VECTORIZED));
}

/* The copies of the next step go on while one is multiplied. */
static bool
overlap(registers *r, tnk_item *steps)
{
    static const int64_t stage[] = {0, 0, STAGES - 1}, order[] = {0, 1, 2}, async[] = {0};
    tnk_sch *s = r->m.s;
    return tnk_annotate(s, steps, "software_pipeline_stage", tn_int_array(s->ctx, stage, 3)) &&
           tnk_annotate(s, steps, "software_pipeline_order", tn_int_array(s->ctx, order, 3)) &&
           tnk_annotate(s, steps, "software_pipeline_async_stages", tn_int_array(s->ctx, async, 1));
}

static bool
schedule(registers *r)
{
    gpu_product *m = &r->m;
    tnk_sch *s = m->s;
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS + 2], *thread[2], *own[2], *stage[2],
        *local[2];
    tnk_item *grid = gpu_tile(s, m->root, m->dim, m->tile, m->micro, thread, own), *k[2], *k1[2];
    bool plain = true;
    if (!grid || !tnk_bind(s, grid, "blockIdx.x") || !tnk_bind(s, thread[0], "threadIdx.y") ||
        !tnk_bind(s, thread[1], "threadIdx.x"))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!(stage[i] = gpu_stage(s, m->block, m->load[i]->buffer, "shared")))
            return false;
        plain &= only_copies(stage[i]);
        if (!(local[i] = tnk_cache_read(s, m->block, tnk_block_output(stage[i]), "local", NULL)))
            return false;
    }
    if (!gpu_into(s, m->block, "local", thread[1]))
        return false;
    uint32_t n = gpu_own_loops(s, m->block, l), spatial = gpu_spatial_first(m->block, l, n), x = 0;
    if (spatial < 2 || spatial + 1 != n || !tnk_split(s, l[n - 1], m->depth, k) ||
        !tnk_split(s, k[1], r->step, k1))
        return false;
    order[x++] = k[0];
    order[x++] = k1[0];
    order[x++] = k1[1];
    memcpy(order + x, l, spatial * sizeof *l);
    if (!tnk_reorder(s, order, x + spatial) || !tnk_set_kind(s, k1[1], TN_FOR_UNROLLED) ||
        !tnk_set_kind(s, l[spatial - 2], TN_FOR_UNROLLED) ||
        !tnk_set_kind(s, l[spatial - 1], TN_FOR_UNROLLED))
        return false;
    for (int i = 0; i < 2; i++) {
        bool steps = i == 0 || r->along;
        if (!gpu_into(s, local[i], "local", steps ? k1[0] : k1[1]) ||
            !gpu_copy_in_vectors(s, local[i], steps ? r->step : VECTOR) ||
            !tnk_compute_at(s, stage[i], k[0]) || !fetch(r, stage[i], only_copies(stage[i])) ||
            !lay_out(r, stage[i], i))
            return false;
    }
    int64_t columns = gpu_iter_extent(m->root, gpu_iter_of_dim(m->root, m->dim[1]));
    if (columns % VECTOR == 0 &&
        (!tnk_split(s, own[1], VECTOR, k1) || !tnk_set_kind(s, k1[1], TN_FOR_VECTORIZED)))
        return false;
    return tnk_decompose_reduction(s, m->block, k[0]) && (!plain || overlap(r, k[0]));
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    const tn_node *within;
    gpu_target t;
    if (gpu_within(ctx, prim_func, target, apply, &within))
        return within;
    if (!gpu_target_of(ctx, target, &t) || gpu_has_few_vectors(ctx, prim_func, &t))
        return NULL;
    registers r = {.m = {.s = tnk_sch_new(ctx, prim_func), .t = &t}};
    gpu_product *m = &r.m;
    if (!m->s)
        return NULL;
    tnk_sch_quiet(m->s);
    m->block = gpu_sole_reduction(m->s);
    if (!m->block)
        return NULL;
    gpu_inline_around(m->s, m->block);
    if (!recognize(&r) || !choose_tile(&r) || !gpu_pad_product(m, true))
        return NULL;
    gpu_inline_around(m->s, m->block); /* what cuts the result goes into what reads it */
    if (!recognize(&r))
        return NULL;
    m->root = gpu_root_of(m->s, m->block);
    return m->root && schedule(&r) ? gpu_finish_rest(m->s, &t) : NULL;
}

const tnk_rule tnk_rule_gpu_matmul_registers = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.MatmulRegisters",
    .base.doc = "Products of float32 matrices, eight by eight results in a thread's registers.",
    .apply = apply,
    .attrs = gpu_attrs,
};
