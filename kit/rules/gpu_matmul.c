/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.Matmul: sums of products of which each operand serves many results: matrix products, batched or not, and convolutions.
 *
 *     for i, j, k: C[i, j] += A[i, k] * B[k, j]
 *  =>
 *     for b in blockIdx.x, ty in threadIdx.y, tx in threadIdx.x:              a tile of 64 by 64, 4 by 4 of it a thread
 *         for k0: A_shared, B_shared = 64 by 16 of A and 16 by 64 of B        by all threads together, in vectors
 *                 for k1, i, j: C_local[i, j] += A_shared[...] * B_shared[...]
 *         C[...] = C_local[...]                                               with what is computed of it
 *
 * Extents that are not constant are padded to multiples of the tile, so that neither sums nor their steps have a test. What
 * computes an operand element by element (dequantization, padding) goes into the copy to shared memory. Tiles shrink with
 * the extents, the threads and the shared memory that there are. Products with a vector are left to gpu.GEMV,
 * large ones with a few to gpu.LowBatchGEMV; those of float16 go to matrix units where there are some (gpu_matrix_units.c).
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

enum { USUAL_THREADS = 256, MICRO = 4, DEPTH = 16 };

/* acc + x * y, with casts anywhere: the two loads. */
bool
gpu_product_of(const tn_block *b, const tn_buffer_load *l[2])
{
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    const tn_binary *sum =
        tn_is(st ? st->value : NULL, TN_KIND_ADD) ? tn_as_binary(st->value) : NULL;
    if (!sum)
        return false;
    for (int side = 0; side < 2; side++) {
        const tn_buffer_load *acc = tn_as_buffer_load(side ? sum->b : sum->a);
        const tn_expr *rest = side ? sum->a : sum->b;
        if (!acc || acc->buffer != st->buffer)
            continue;
        while (tn_is(rest, TN_KIND_CAST))
            rest = ((const tn_cast *)rest)->value;
        if (!tn_is(rest, TN_KIND_MUL))
            return false;
        for (int i = 0; i < 2; i++) {
            const tn_expr *e = i ? tn_as_binary(rest)->b : tn_as_binary(rest)->a;
            while (tn_is(e, TN_KIND_CAST))
                e = ((const tn_cast *)e)->value;
            l[i] = tn_as_buffer_load(e);
        }
        return l[0] && l[1];
    }
    return false;
}

bool
gpu_load_uses(const tn_buffer_load *l, const tn_expr *var)
{
    for (uint32_t i = 0; i < l->indices.n; i++)
        if (tn_uses(l->indices.at[i], var))
            return true;
    return false;
}

/* Inlines element-wise blocks, but for those whose results only `keep` reads, which may stay its operands. */
void
gpu_inline_around(tnk_sch *s, const tnk_item *keep)
{
    tnk_item *all[GPU_MAX_BLOCKS], *readers[2];
    uint32_t n = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < GPU_MAX_BLOCKS; i++) {
        if (all[i] == keep || !tnk_block_is_injective(all[i]) || !tnk_can_inline(s, all[i]))
            continue;
        if (tnk_sch_readers(s, tnk_block_output(all[i]), readers, 2) == 1 && readers[0] == keep)
            continue;
        (void)tnk_compute_inline(s, all[i]);
    }
}

tnk_item *
gpu_stage(tnk_sch *s, tnk_item *block, const tn_node *buffer, const char *scope)
{
    tnk_item *producer = tnk_sch_is_param(s, buffer) ? NULL : tnk_sch_writer(s, buffer);
    tnk_item *stage = tnk_cache_read(s, block, buffer, scope, NULL);
    if (stage && producer && tnk_can_inline(s, producer))
        (void)tnk_compute_inline(s, producer);
    return stage;
}

bool
gpu_operands(const tnk_item *block, const tn_buffer_load *load[2], uint32_t dim[2])
{
    const tn_block *b = block->block;
    const tn_buffer_store *st = tnk_block_store(b);
    if (!gpu_product_of(b, load) || load[0]->buffer == load[1]->buffer)
        return false;
    dim[0] = dim[1] = UINT32_MAX;
    for (int pass = 0; pass < 2 && dim[1] == UINT32_MAX; pass++)
        for (uint32_t i = st->indices.n; i-- > 0;) {
            uint32_t k = gpu_iter_of_dim(block, i);
            bool x = gpu_load_uses(load[0], st->indices.at[i]),
                 y = gpu_load_uses(load[1], st->indices.at[i]);
            if (k == UINT32_MAX || x == y || gpu_iter_extent(block, k) == 1)
                continue;
            if (dim[1] == UINT32_MAX) {
                if (x) { /* columns are the second operand's */
                    const tn_buffer_load *l = load[0];
                    load[0] = load[1];
                    load[1] = l;
                }
                dim[1] = i;
            } else if (x && dim[0] == UINT32_MAX) {
                dim[0] = i;
            }
        }
    return dim[0] != UINT32_MAX;
}

bool
gpu_find_product(gpu_product *m)
{
    return gpu_operands(m->block, m->load, m->dim);
}

static void
choose_tile(gpu_product *m)
{
    const gpu_target *t = m->t;
    static const int64_t micros[] = {1, 2, 4, 8}, depths[] = {4, 8, 16, 32, 64};
    static const char *const micro_names[2] = {"rows", "columns"};
    tn_ctx *ctx = m->s->ctx;
    int64_t threads = gpu_choose_threads(ctx, "threads", t->threads,
                                         gpu_threads_for(t, -1, USUAL_THREADS)),
            bytes = 0;
    for (int i = 0; i < 2; i++) {
        int64_t b = (int64_t)tnb_dtype_bytes(tn_as_buffer(m->load[i]->buffer)->dtype);
        bytes = b > bytes ? b : bytes;
    }
    /* as square as a power of two can be, columns first */
    m->threads[1] = 1;
    while (m->threads[1] * m->threads[1] < threads)
        m->threads[1] *= 2;
    m->threads[1] = gpu_choose_threads(ctx, "column_threads", threads, m->threads[1]);
    m->threads[0] = threads / m->threads[1];
    for (int i = 0; i < 2; i++) {
        int64_t e = gpu_iter_most(m->s, m->block, gpu_iter_of_dim(m->block, m->dim[i]));
        m->micro[i] = tnk_rule_choice(ctx, micro_names[i], micros, 4, MICRO);
        while (e >= 0 && m->micro[i] > 1 && m->micro[i] * m->threads[i] >= 2 * e)
            m->micro[i] /= 2;
        while (e >= 0 && m->threads[i] > 1 && m->micro[i] * m->threads[i] >= 2 * e)
            m->threads[i] /= 2;
    }
    int64_t k = gpu_turns(m->block, TN_ITER_REDUCE);
    m->depth = tnk_rule_choice(ctx, "depth", depths, 5, DEPTH);
    while (m->depth > 1 && k >= 0 && m->depth >= 2 * k)
        m->depth /= 2;
    for (;;) {
        int64_t sum = 0;
        for (int i = 0; i < 2; i++)
            sum += m->tile[i] = m->threads[i] * m->micro[i];
        if ((sum + 1) * (m->depth + 1) * bytes <= m->budget || m->depth == 1)
            break;
        m->depth /= 2;
    }
}

/* Bytes of what one step copies of an operand, with padding. */
static bool
footprint(gpu_product *m, tnk_item *stage, int64_t *bytes)
{
    tnk_item *l[GPU_MAX_LOOPS];
    uint32_t n = gpu_own_loops(m->s, stage, l);
    int64_t e;
    *bytes = (int64_t)tnb_dtype_bytes(tn_as_buffer(tnk_block_output(stage))->dtype);
    for (uint32_t i = 0; i < n; i++) {
        if (!tnk_loop_extent(l[i], &e) || e > 1 << 16 || *bytes > 1 << 24)
            return false;
        *bytes *= i + 1 == n ? e + 1 : e;
    }
    return n > 0;
}

/* Loops of one turn go outside; their count. Fused with the others, what they run over would look as if it took more than one
 * turn, where threads do not divide the copy. */
static uint32_t
units_first(tnk_sch *s, tnk_item **l, uint32_t n)
{
    tnk_item *order[GPU_MAX_LOOPS];
    int64_t e;
    uint32_t k = 0, units;
    for (uint32_t i = 0; i < n; i++)
        if (tnk_loop_extent(l[i], &e) && e == 1)
            order[k++] = l[i];
    units = k;
    for (uint32_t i = 0; i < n; i++)
        if (!tnk_loop_extent(l[i], &e) || e != 1)
            order[k++] = l[i];
    if (!units || units == n || !tnk_reorder(s, order, n))
        return units == n ? n : 0;
    memcpy(l, order, n * sizeof *l);
    return units;
}

/* All threads of a block copy together, each a vector at a time where that is aligned. An operand that lies along the
 * reduction gets rows of an odd length, so that the threads that read different ones do not wait for a bank. */
bool
gpu_fetch(gpu_product *m, tnk_item *stage, bool along)
{
    tnk_sch *s = m->s;
    tnk_item *l[GPU_MAX_LOOPS], *part[2], *v = NULL;
    uint32_t n = gpu_own_loops(s, stage, l);
    int64_t e, lanes = gpu_lanes(m->t, tn_as_buffer(tnk_block_output(stage))->dtype);
    if (n == 0)
        return false;
    const tn_node *copy = tnk_block_output(stage);
    int rank = (int)tn_as_buffer(copy)->shape.n;
    if (along && rank > 1 && tnk_loop_extent(l[n - 1], &e) && e > 1 &&
        !tnk_storage_align(s, stage, copy, rank - 2, e, 1))
        return false;
    if (!along && tnk_loop_extent(l[n - 1], &e) && tn_is_int_const(stage->predicate, 1)) {
        lanes = lanes < 4 ? lanes : 4;
        while (lanes > 1 && e % lanes)
            lanes /= 2;
        if (lanes > 1) {
            if (!tnk_split(s, l[n - 1], lanes, part))
                return false;
            l[n - 1] = part[0];
            v = part[1];
        }
    }
    uint32_t k = units_first(s, l, n);
    tnk_item *f = k < n ? gpu_fuse(s, l + k, n - k) : l[n - 1];
    if (!f || !tnk_split(s, f, m->threads[1], part) || !tnk_bind(s, part[1], "threadIdx.x"))
        return false;
    tnk_item *rest = part[0];
    return gpu_bind_threads(s, rest, "threadIdx.y", m->threads[0]) &&
           (!v || tnk_set_kind(s, v, TN_FOR_VECTORIZED));
}

static bool
tile(gpu_product *m)
{
    tnk_sch *s = m->s;
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *thread[2], *own[2], *part[2];
    tnk_item *grid = gpu_tile(s, m->root, m->dim, m->tile, m->micro, thread, own);
    if (!grid || !tnk_bind(s, grid, "blockIdx.x") || !tnk_bind(s, thread[0], "threadIdx.y") ||
        !tnk_bind(s, thread[1], "threadIdx.x"))
        return false;
    tnk_item *stage[2];
    bool along[2];
    for (int i = 0; i < 2; i++) {
        const tn_expr *last = m->load[i]->indices.at[m->load[i]->indices.n - 1];
        along[i] = false;
        for (uint32_t v = 0; v < m->block->block->iters.n; v++) {
            const tn_iter_var *iv = tn_as_iter_var(m->block->block->iters.at[v]);
            along[i] |= iv->iter_kind == TN_ITER_REDUCE && iv->var == last;
        }
    }
    for (int i = 0; i < 2; i++)
        if (!(stage[i] = gpu_stage(s, m->block, m->load[i]->buffer, "shared")))
            return false;
    if (!gpu_into(s, m->block, "local", thread[1]))
        return false;
    /* the reduction outside, its longest loop cut into steps; the thread's own results inside */
    uint32_t n = gpu_own_loops(s, m->block, l), spatial = gpu_spatial_first(m->block, l, n), k = 0;
    if (spatial == 0 || spatial == n)
        return false;
    uint32_t longest = spatial;
    int64_t most = 0;
    for (uint32_t i = spatial; i < n; i++) {
        int64_t e;
        e = tnk_loop_extent(l[i], &e) ? e : INT64_MAX;
        if (e > most) {
            most = e;
            longest = i;
        }
    }
    for (uint32_t i = spatial; i < n; i++)
        if (i != longest)
            order[k++] = l[i];
    order[k] = l[longest];
    memcpy(order + k + 1, l, spatial * sizeof *l);
    while (m->depth > 1 && m->depth > most)
        m->depth /= 2;
    if (!tnk_reorder(s, order, n) || !tnk_split(s, l[longest], m->depth, part))
        return false;
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t e;
        if (tnk_loop_extent(l[i], &e) && e > 1 && e <= MICRO &&
            !tnk_set_kind(s, l[i], TN_FOR_UNROLLED))
            return false;
    }
    int64_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        int64_t own_bytes;
        if (!tnk_compute_at(s, stage[i], part[0]) || !footprint(m, stage[i], &own_bytes))
            return false;
        bytes += own_bytes;
    }
    if (bytes > m->t->shared_bytes)
        return false;
    for (int i = 0; i < 2; i++)
        if (!gpu_fetch(m, stage[i], along[i]))
            return false;
    return tnk_decompose_reduction(s, m->block, k ? order[0] : part[0]) != NULL;
}

/* The function's one reduction. */
tnk_item *
gpu_sole_reduction(tnk_sch *s)
{
    tnk_item *all[GPU_MAX_BLOCKS], *red = NULL;
    uint32_t n = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < GPU_MAX_BLOCKS; i++) {
        if (gpu_has_order(all[i]) || gpu_is_bound(s, all[i]))
            return NULL;
        if (tnk_block_is_reduction(all[i])) {
            if (red)
                return NULL;
            red = all[i];
        }
    }
    return red && n <= GPU_MAX_BLOCKS && red->block->init && tnk_block_store(red->block) ? red
                                                                                         : NULL;
}

/* Rows, columns and steps whose number is not known become multiples of the tile's, zeros behind them: only copies and the last
 * store have tests. False: not possible. */
bool
gpu_pad_product(gpu_product *m, bool all)
{
    int64_t by[GPU_MAX_LOOPS];
    const tn_block *b = m->block->block;
    bool any = false;
    for (uint32_t k = 0; k < b->iters.n && k < GPU_MAX_LOOPS; k++) {
        bool reduces = tn_as_iter_var(b->iters.at[k])->iter_kind == TN_ITER_REDUCE;
        by[k] = reduces                                     ? m->depth
                : k == gpu_iter_of_dim(m->block, m->dim[0]) ? m->tile[0]
                : k == gpu_iter_of_dim(m->block, m->dim[1]) ? m->tile[1]
                                                            : 1;
        int64_t e = gpu_iter_extent(m->block, k);
        if (e >= 0 && (!all || e % by[k] == 0))
            by[k] = 1;
        any |= by[k] > 1;
    }
    if (!any)
        return true;
    if (b->iters.n > GPU_MAX_LOOPS || !tnk_pad_einsum(m->s, m->block, by, b->iters.n))
        return false;
    return gpu_find_product(m);
}

static const tn_node *
attempt(tn_ctx *ctx, const tn_node *prim_func, const gpu_target *t, int64_t budget, bool padded)
{
    gpu_product m = {.s = tnk_sch_new(ctx, prim_func), .t = t, .budget = budget};
    if (!m.s)
        return NULL;
    tnk_sch_quiet(m.s);
    m.block = gpu_sole_reduction(m.s);
    if (!m.block)
        return NULL;
    gpu_inline_around(m.s, m.block);
    if (!gpu_find_product(&m))
        return NULL;
    choose_tile(&m);
    if (padded && !gpu_pad_product(&m, false))
        return NULL;
    m.root = gpu_root_of(m.s, m.block);
    return m.root && tile(&m) ? gpu_finish_rest(m.s, t) : NULL;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    const tn_node *within;
    if (gpu_within(ctx, prim_func, target, apply, &within))
        return within;
    gpu_target t;
    const tn_node *f = NULL;
    if (!gpu_target_of(ctx, target, &t) || gpu_has_few_vectors(ctx, prim_func, &t))
        return NULL;
    f = gpu_by_matrix_units(ctx, prim_func, &t);
    /* a window (a convolution's) takes more of an operand than the tile is large */
    for (int64_t part = 1; !f && part <= 8; part *= 2)
        for (int padded = 1; !f && padded >= 0; padded--)
            f = attempt(ctx, prim_func, &t, t.shared_bytes / part, padded);
    return f;
}

const tnk_rule tnk_rule_gpu_matmul = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.Matmul",
    .base.doc = "Matrix products and convolutions: tiles in shared memory, results in registers.",
    .apply = apply,
    .attrs = gpu_attrs,
};
