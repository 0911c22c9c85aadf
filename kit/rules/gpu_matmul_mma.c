/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.MatmulMMA: products of float16 and bfloat16 matrices, added up in float32, by the instructions mma and ldmatrix of PTX.
 *
 *     for i, j, k: C[i, j] += A[i, k] * B[k, j]
 *  =>
 *     for b in blockIdx.x, w in threadIdx.y:                               a tile of 128 by 128 or 256, 64 by 64 of it a warp
 *         for t in threadIdx.x(32): C_fragment[...] = 0
 *         for k0: A_shared, B_shared = 128 by 32 of A and 32 by 128 of B   by all threads together, in vectors
 *                 for k1: A_fragment, B_fragment = ...                     ldmatrix
 *                         for i, j: C_fragment += A_fragment * B_fragment  mma
 *         for t in threadIdx.x(32): C[...] = C_fragment[...]               with what is computed of it
 *
 * Fragments lie over a warp as PTX has it for m16n8k16: thread t holds of 8 rows row t / 4, and there the elements t % 4 * 2 and
 * the next one. The target says by matrix_units which dtypes it multiplies so, and has the tensor intrinsics ptx.ldmatrix_... and
 * ptx.mma_.... Extents are padded to multiples of the tile, as in gpu.Matmul, which takes what this rule leaves: other types, windows,
 * results of few rows or columns.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"
#include "tenon/core/text.h"

enum {
    WARP = 32,
    ROWS = 16,
    COLUMNS = 8,
    STEP = 16,
    VECTOR = 8,
    LEAST_ROWS = 16,
    LEAST = 32,
    STAGES = 3,
    MOST_WARPS = 8 /* whose threads have the registers that a warp's part of 64 by 64 takes */
};

typedef struct mma {
    tnk_sch *s;
    const gpu_target *t;
    tnk_item *block, *root;
    const tn_buffer_load *load[2];
    uint32_t dim[2]; /* of the result: rows, columns */
    int64_t tile[2], warp[2], depth;
    const char *type; /* "f16" */
    bool along;       /* the second operand lies as columns by steps */
} mma;

/* ---- is it one ---- */

static bool
is_iter(const tnk_item *block, const tn_expr *index, tn_iter_kind kind, const tn_expr *is)
{
    for (uint32_t k = 0; k < block->block->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(block->block->iters.at[k]);
        if (iv->var == index)
            return iv->iter_kind == (int64_t)kind && (!is || is == index);
    }
    return false;
}

/* Rows by steps, and steps by columns or columns by steps, in the last dimensions of the operands. */
static bool
recognize(mma *m)
{
    const tn_buffer_store *st = tnk_block_store(m->block->block);
    if (!gpu_operands(m->block, m->load, m->dim) || st->indices.n < 2 ||
        m->dim[0] != st->indices.n - 2 || m->dim[1] != st->indices.n - 1 ||
        !tnb_dtype_eq(tn_as_buffer(st->buffer)->dtype, TNB_F32) ||
        gpu_count_iters(m->block, TN_ITER_REDUCE) != 1)
        return false;
    tnb_dtype d = tn_as_buffer(m->load[0]->buffer)->dtype;
    if (!tnb_dtype_eq(d, tn_as_buffer(m->load[1]->buffer)->dtype))
        return false;
    m->type = tnb_dtype_eq(d, TNB_F16) ? "f16" : tnb_dtype_eq(d, TNB_BF16) ? "bf16" : NULL;
    const tn_expr *at[2][2], *row = st->indices.at[m->dim[0]], *col = st->indices.at[m->dim[1]];
    for (int i = 0; i < 2; i++) {
        uint32_t n = m->load[i]->indices.n;
        if (!m->type || n < 2)
            return false;
        at[i][0] = m->load[i]->indices.at[n - 2];
        at[i][1] = m->load[i]->indices.at[n - 1];
    }
    m->along = at[1][0] == col;
    return at[0][0] == row && is_iter(m->block, at[0][1], TN_ITER_REDUCE, NULL) &&
           at[1][m->along ? 1 : 0] == at[0][1] && at[1][m->along ? 0 : 1] == col;
}

/* Large tiles where there are enough of them for all of a GPU; else smaller ones. Tiles of 256 columns read a quarter less, steps of 64
 * wait half as often; both need more shared memory than a kernel declares for three stages: no GPU has measured them, a tuner may. */
static bool
choose_tile(mma *m)
{
    static const int64_t sizes[] = {64, 128, 256}, depths[] = {32, 64};
    enum { ENOUGH = 64, SMALL = 64, LARGE = 128, WARP_MOST = 64, DEPTH = 32 };
    tn_ctx *ctx = m->s->ctx;
    int64_t e[2];
    for (int i = 0; i < 2; i++)
        e[i] = gpu_iter_most(m->s, m->block, gpu_iter_of_dim(m->block, m->dim[i]));
    int64_t k = gpu_turns(m->block, TN_ITER_REDUCE);
    if ((e[0] >= 0 && e[0] < LEAST_ROWS) || (e[1] >= 0 && e[1] < LEAST) || (k >= 0 && k < LEAST))
        return false;
    bool large = true;
    for (int i = 0; i < 2; i++)
        large &= e[i] < 0 || e[i] >= LARGE;
    if (e[0] >= 0 && e[1] >= 0)
        large &= (e[0] / LARGE) * (e[1] / LARGE) >= ENOUGH;
    m->tile[0] = tnk_rule_choice(ctx, "rows", sizes, 2, large ? LARGE : SMALL);
    m->tile[1] = tnk_rule_choice(ctx, "columns", sizes, 3, large ? LARGE : SMALL);
    for (int i = 0; i < 2; i++)
        m->warp[i] = m->tile[i] / 2 < WARP_MOST ? m->tile[i] / 2 : WARP_MOST;
    m->depth = tnk_rule_choice(ctx, "depth", depths, 2, DEPTH);
    return true;
}

static int64_t
warps(const mma *m)
{
    return m->tile[0] / m->warp[0] * (m->tile[1] / m->warp[1]);
}

/* Zeros behind what is no multiple of the tile. */
static bool
pad(mma *m)
{
    int64_t by[GPU_MAX_LOOPS];
    const tn_block *b = m->block->block;
    bool any = false;
    for (uint32_t k = 0; k < b->iters.n && k < GPU_MAX_LOOPS; k++) {
        bool reduces = tn_as_iter_var(b->iters.at[k])->iter_kind == TN_ITER_REDUCE;
        int64_t e = gpu_iter_extent(m->block, k);
        by[k] = reduces                                     ? m->depth
                : k == gpu_iter_of_dim(m->block, m->dim[0]) ? m->tile[0]
                : k == gpu_iter_of_dim(m->block, m->dim[1]) ? m->tile[1]
                                                            : 1;
        if (e >= 0 && e % by[k] == 0)
            by[k] = 1;
        any |= by[k] > 1;
    }
    if (!any)
        return true;
    if (b->iters.n > GPU_MAX_LOOPS || !tnk_pad_einsum(m->s, m->block, by, b->iters.n))
        return false;
    gpu_inline_around(m->s, m->block); /* what cuts the result goes into what reads it */
    return recognize(m);
}

/* ---- fragments ---- */

/* A fragment's index map, of the last two dimensions of its buffer. */
static bool
lay_out(mma *m, tnk_item *block, const char *map)
{
    uint32_t rank = tn_as_buffer(tnk_block_output(block))->shape.n;
    const char *vars = "";
    for (uint32_t i = 0; i + 2 < rank; i++)
        vars = tn_strf(m->s->ctx, "%sa%u, ", vars, i);
    const char *text = tn_strf(m->s->ctx, "lambda %si, j: (%s)", vars, map);
    const tn_node *f = tn_read_index_map(m->s->ctx, (tnb_place){0}, text, strlen(text));
    return f && tnk_annotate_block(m->s, block, "fragment_layout", f);
}

/* The nest of rows by columns over a warp's part of the result: each thread takes those that it holds. */
static bool
over_threads(mma *m, tnk_item *rows, tnk_item *columns)
{
    tnk_sch *s = m->s;
    tnk_item *a[2], *b[2], *c[2], *d[2];
    if (!tnk_split(s, rows, ROWS, a) || !tnk_split(s, a[1], 8, b) ||
        !tnk_split(s, columns, COLUMNS, c) || !tnk_split(s, c[1], 2, d))
        return false;
    tnk_item *order[] = {b[1], d[0], a[0], c[0], b[0], d[1]};
    if (!tnk_reorder(s, order, 6))
        return false;
    tnk_item *thread = tnk_fuse(s, b[1], d[0]);
    return thread && tnk_bind(s, thread, "threadIdx.x") && tnk_set_kind(s, a[0], TN_FOR_UNROLLED) &&
           tnk_set_kind(s, c[0], TN_FOR_UNROLLED) && tnk_set_kind(s, b[0], TN_FOR_UNROLLED) &&
           tnk_set_kind(s, d[1], TN_FOR_VECTORIZED);
}

/* Loads an operand's fragment tile by tile. */
static bool
load_fragment(mma *m, tnk_item *load, int operand)
{
    tnk_sch *s = m->s;
    tn_ctx *ctx = s->ctx;
    tnk_item *l[GPU_MAX_LOOPS], *part[2];
    uint32_t n = gpu_own_loops(s, load, l);
    const char *name = operand == 0 ? "a" : m->along ? "nk" : "kn", *map;
    int64_t tiles = m->warp[operand] / (operand ? COLUMNS : ROWS);
    if (n < 2)
        return false;
    /* the dimension of several tiles is rows or columns, the other one of them is a step */
    uint32_t wide = operand == 0 || m->along ? n - 2 : n - 1;
    if (!tnk_split(s, l[wide], 16, part))
        return false;
    tnk_item *inner[] = {part[0], wide == n - 1 ? l[n - 2] : part[1],
                         wide == n - 1 ? part[1] : l[n - 1]};
    if (wide == n - 1 && !tnk_reorder(s, inner, 3))
        return false;
    tnk_item *tile = tnk_blockize(s, inner[1]);
    if (operand == 0)
        map = tn_strf(ctx,
                      "i %% 8 * 4 + j %% 8 // 2, i // 16 %% %lld, j // 8 %% 2, i // 8 %% 2, "
                      "j %% 2",
                      (long long)tiles);
    else if (m->along)
        map = tn_strf(ctx, "i %% 8 * 4 + j %% 8 // 2, i // 8 %% %lld, j // 8 %% 2, j %% 2",
                      (long long)tiles);
    else
        map = tn_strf(ctx, "j %% 8 * 4 + i %% 8 // 2, j // 8 %% %lld, i // 8 %% 2, i %% 2",
                      (long long)tiles);
    return tile && lay_out(m, tile, map) &&
           tnk_tensorize(s, tile, tn_strf(ctx, "ptx.ldmatrix_%s_%s", name, m->type)) &&
           tnk_set_kind(s, part[0], TN_FOR_UNROLLED);
}

/* ---- the schedule ---- */

/* All threads of a block copy together, a vector at a time, into rows whose pieces change places for ldmatrix. */
static bool
fetch(mma *m, tnk_item *stage)
{
    tnk_sch *s = m->s;
    tnk_item *l[GPU_MAX_LOOPS], *part[2], *v = NULL;
    uint32_t n = gpu_own_loops(s, stage, l);
    int64_t e;
    if (n < 2 || !tnk_loop_extent(l[n - 1], &e) || e % VECTOR ||
        !tnk_annotate_block(s, stage, "permuted_layout", tn_i64(s->ctx, 1)))
        return false;
    if (!tnk_split(s, l[n - 1], VECTOR, part))
        return false;
    l[n - 1] = part[0];
    v = part[1];
    tnk_item *f = gpu_fuse(s, l, n);
    return f && tnk_split(s, f, WARP, part) && tnk_bind(s, part[1], "threadIdx.x") &&
           gpu_bind_threads(s, part[0], "threadIdx.y", warps(m)) &&
           tnk_set_kind(s, v, TN_FOR_VECTORIZED);
}

/* The blocks' loops and the warps', and within a warp the result's; the warps' loop. */
static tnk_item *
tile(mma *m)
{
    tnk_sch *s = m->s;
    tnk_item *warp[2], *own[2], *w;
    tnk_item *grid = gpu_tile(s, m->root, m->dim, m->tile, m->warp, warp, own);
    if (!grid || !(w = tnk_fuse(s, warp[0], warp[1])) || !tnk_bind(s, grid, "blockIdx.x") ||
        !tnk_bind(s, w, "threadIdx.y") || !over_threads(m, own[0], own[1]))
        return NULL;
    return w;
}

/* The copies of later steps go on while a step is multiplied: as many as there is room for in the shared memory that a kernel declares; a
 * tuner may take what a launch gives, and warps of their own for the copies (SpecializeWarps), which no GPU has measured. */
static bool
overlap(mma *m, tnk_item *steps)
{
    static const int64_t options[] = {1, 2, 3, 4, 5, 6}, order[] = {0, 1, 2}, async[] = {0},
                         producers[] = {0, 1, 2};
    tn_ctx *ctx = m->s->ctx;
    int64_t bytes = (m->tile[0] + m->tile[1]) * m->depth * 2, n = m->t->shared_bytes / bytes,
            most = m->t->most_shared / bytes;
    n = tnk_rule_choice(ctx, "stages", options, most < 6 ? (uint32_t)most : 6,
                        n < STAGES ? n : STAGES);
    if (n < 1 && most > 0)
        n = 1; /* such tiles are a tuner's choice */
    if (n < 2)
        return n == 1;
    const int64_t stage[] = {0, 0, n - 1};
    int64_t own =
        tnk_rule_choice(ctx, "producers", producers, warps(m) + 2 <= MOST_WARPS ? 3 : 1, 0);
    if (own && !tnk_annotate(m->s, steps, "software_pipeline_producer_warps", tn_i64(ctx, own)))
        return false;
    return tnk_annotate(m->s, steps, "software_pipeline_stage", tn_int_array(ctx, stage, 3)) &&
           tnk_annotate(m->s, steps, "software_pipeline_order", tn_int_array(ctx, order, 3)) &&
           tnk_annotate(m->s, steps, "software_pipeline_async_stages", tn_int_array(ctx, async, 1));
}

static bool
schedule(mma *m)
{
    tnk_sch *s = m->s;
    tnk_item *l[GPU_MAX_LOOPS], *stage[2], *fragment[2], *k[2], *k1[2], *i[2], *j[2];
    tnk_item *warp = tile(m);
    if (!warp)
        return false;
    for (int x = 0; x < 2; x++) {
        stage[x] = gpu_stage(s, m->block, m->load[x]->buffer, "shared");
        fragment[x] =
            stage[x] ? tnk_cache_read(s, m->block, tnk_block_output(stage[x]), "fragment", NULL)
                     : NULL;
        if (!fragment[x])
            return false;
    }
    if (!gpu_into(s, m->block, "fragment", warp))
        return false;
    uint32_t n = gpu_own_loops(s, m->block, l), spatial = gpu_spatial_first(m->block, l, n);
    if (spatial < 2 || spatial + 1 != n || !tnk_split(s, l[n - 1], m->depth, k) ||
        !tnk_split(s, k[1], STEP, k1))
        return false;
    tnk_item *order[GPU_MAX_LOOPS + 2] = {k[0], k1[0]};
    memcpy(order + 2, l, spatial * sizeof *l);
    order[spatial + 2] = k1[1];
    if (!tnk_reorder(s, order, spatial + 3))
        return false;
    for (int x = 0; x < 2; x++)
        if (!tnk_compute_at(s, fragment[x], k1[0]) || !tnk_compute_at(s, stage[x], k[0]) ||
            !load_fragment(m, fragment[x], x) || !fetch(m, stage[x]))
            return false;
    tnk_item *init = tnk_decompose_reduction(s, m->block, k[0]);
    if (!init ||
        !lay_out(m, init,
                 tn_strf(s->ctx,
                         "i %% 8 * 4 + j %% 8 // 2, i // 16 %% %lld, j // 8 %% %lld, i // 8 %% 2, "
                         "j %% 2",
                         (long long)(m->warp[0] / ROWS), (long long)(m->warp[1] / COLUMNS))))
        return false;
    tnk_item *own[GPU_MAX_LOOPS];
    n = gpu_own_loops(s, init, own);
    if (n < 2 || !over_threads(m, own[n - 2], own[n - 1]))
        return false;
    if (!tnk_split(s, l[spatial - 2], ROWS, i) || !tnk_split(s, l[spatial - 1], COLUMNS, j))
        return false;
    tnk_item *inner[] = {i[0], j[0], i[1], j[1], k1[1]};
    return tnk_reorder(s, inner, 5) && tnk_set_kind(s, k1[0], TN_FOR_UNROLLED) &&
           tnk_set_kind(s, i[0], TN_FOR_UNROLLED) && tnk_set_kind(s, j[0], TN_FOR_UNROLLED) &&
           overlap(m, k[0]) &&
           tnk_tensorize(s, i[1],
                         tn_strf(s->ctx, "ptx.mma_%s_%s", m->along ? "nk" : "kn", m->type));
}

/* Whether the target multiplies matrices of the dtype; NULL: of any. */
static bool
multiplies(const tn_target *target, const char *dtype)
{
    const tn_array *a = tn_as_array(tn_dict_get(target->attrs, "matrix_units"));
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *d = tn_as_string_imm(a->items.at[i]);
        if (d && (!dtype || !strcmp(d->value, dtype)))
            return true;
    }
    return false;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    const tn_node *within;
    gpu_target t;
    if (!target || !multiplies(target, NULL) || !gpu_target_of(ctx, target, &t) || t.warp != WARP)
        return NULL;
    if (gpu_within(ctx, prim_func, target, apply, &within))
        return within;
    if (gpu_has_few_vectors(ctx, prim_func, &t))
        return NULL;
    mma m = {.s = tnk_sch_new(ctx, prim_func), .t = &t};
    if (!m.s)
        return NULL;
    tnk_sch_quiet(m.s);
    m.block = gpu_sole_reduction(m.s);
    if (!m.block)
        return NULL;
    gpu_inline_around(m.s, m.block);
    if (!recognize(&m) || !choose_tile(&m) ||
        !multiplies(target, tnb_dtype_print(tn_as_buffer(m.load[0]->buffer)->dtype).s) ||
        warps(&m) * WARP > t.threads || !pad(&m))
        return NULL;
    m.root = gpu_root_of(m.s, m.block);
    return m.root && schedule(&m) ? gpu_finish_rest(m.s, &t) : NULL;
}

static const char *const attrs[] = {"matrix_units",
                                    "max_threads_per_block",
                                    "max_num_threads",
                                    "thread_warp_size",
                                    "max_shared_memory_per_block",
                                    "max_dynamic_shared_memory_per_block",
                                    "vector_bytes",
                                    NULL};

const tnk_rule tnk_rule_gpu_matmul_mma = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.MatmulMMA",
    .base.doc = "Matrix products of float16 and bfloat16 by mma and ldmatrix of PTX.",
    .apply = apply,
    .attrs = attrs,
};
