/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.Panels: a matrix of packed numbers that lies in panels of rows, times one vector or a few. Memory is the limit: a thread takes
 * one row of a panel and loads its numbers as wide as it can; threads of neighbouring rows read what lies side by side, and the same
 * part of the vector.
 *
 *     for i, k, l: W[i, k, l] = unpack(D[i // 8, k, i % 8, 0], Q[i // 8, k, i % 8, l // 4], l)
 *     for i, k, l: y[i] += x[k * 32 + l] * W[i, k, l]
 *  =>
 *     for p in blockIdx.x: a panel
 *         for r in threadIdx.x, t in threadIdx.y, k0:
 *             W_local[0:32] = unpack(D, Q_local[0:4])              Q_local by one load
 *             for v, l: y_rf[v, t] += x_local[l] * W_local[l]      v: vectors of a bucket of four
 *         for t in threadIdx.y: y_shared += y_rf[t]                the threads' sums joined
 *         y[.] = y_shared                                          with what is computed of it
 *
 * Takes a product with a sum over two iterators, the inner one of a constant length, in which the matrix is computed from parameters
 * indexed by [row // rows of a panel, ., row % rows of a panel, .]. The sum of a result does not depend on how many vectors there are.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

enum {
    USUAL_THREADS = 256,
    MANY_THREADS = 512,
    ALL_THREADS = 1 << 17,
    BUCKET = 4,
    MOST_TURN = 64,
    MOST_PARTS = 8
};

typedef struct panels {
    tnk_sch *s;
    const gpu_target *t;
    tnk_item *red, *unpack, *root;
    const tn_node *vector;  /* the other operand */
    uint32_t rows, vectors; /* dimensions of the result; vectors UINT32_MAX: there is one */
    int64_t height, bucket;
    const tn_node *parts[MOST_PARTS];
    uint32_t n_parts;
    bool bad;
} panels;

/* ---- recognition ---- */

static tn_walk_step
note_part(void *user, const tn_node *n)
{
    panels *p = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l)
        return TN_WALK_ON;
    const tn_expr *row = tn_as_buffer_store(p->unpack->block->body)->indices.at[0];
    const tn_binary *panel = l->indices.n && tn_is(l->indices.at[0], TN_KIND_FLOOR_DIV)
                                 ? tn_as_binary(l->indices.at[0])
                                 : NULL;
    int64_t height;
    p->bad |= !tnk_sch_is_param(p->s, l->buffer) || l->indices.n != 4 || !panel ||
              panel->a != row || !tn_int_value(panel->b, &height) ||
              (p->height && p->height != height);
    if (p->bad)
        return TN_WALK_STOP;
    p->height = height;
    for (uint32_t i = 0; i < p->n_parts; i++)
        if (p->parts[i] == l->buffer)
            return TN_WALK_ON;
    p->bad = p->n_parts == MOST_PARTS;
    if (!p->bad)
        p->parts[p->n_parts++] = l->buffer;
    return TN_WALK_ON;
}

/* The matrix is the operand [row, turn, place] that a block computes of panels. */
static bool
find_matrix(panels *p)
{
    const tn_block *b = p->red->block;
    const tn_buffer_load *l[2];
    if (!gpu_product_of(b, l) || gpu_count_iters(p->red, TN_ITER_REDUCE) != 2)
        return false;
    for (int i = 0; i < 2 && !p->unpack; i++)
        if (!tnk_sch_is_param(p->s, l[i]->buffer) && l[i]->indices.n == 3) {
            p->unpack = tnk_sch_writer(p->s, l[i]->buffer);
            p->vector = l[1 - i]->buffer;
            l[0] = l[i];
        }
    if (!p->unpack || !tnk_block_is_injective(p->unpack) || !tnk_sch_is_param(p->s, p->vector))
        return false;
    for (uint32_t k = 0, d = 0; k < b->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        int64_t e = gpu_iter_extent(p->red, k);
        if (iv->iter_kind != TN_ITER_REDUCE)
            continue;
        if (iv->var != l[0]->indices.at[++d] || e < 1 || (d == 2 && e > MOST_TURN))
            return false;
    }
    tn_walk(tn_as_buffer_store(p->unpack->block->body)->value, 0, note_part, NULL, p);
    if (p->bad || !p->n_parts)
        return false;
    /* dimensions of the result: rows, and at most one more of several elements */
    const tn_buffer_store *st = tnk_block_store(b);
    p->rows = p->vectors = UINT32_MAX;
    for (uint32_t i = 0; i < st->indices.n; i++) {
        uint32_t k = gpu_iter_of_dim(p->red, i);
        if (st->indices.at[i] == l[0]->indices.at[0])
            p->rows = i;
        else if (k != UINT32_MAX && gpu_iter_extent(p->red, k) != 1) {
            if (p->vectors != UINT32_MAX)
                return false;
            p->vectors = i;
        }
    }
    if (p->vectors != UINT32_MAX) {
        int64_t most = gpu_iter_most(p->s, p->red, gpu_iter_of_dim(p->red, p->vectors));
        p->bucket = most >= 0 && most <= BUCKET / 2 ? BUCKET / 2 : BUCKET;
    }
    return p->rows != UINT32_MAX;
}

/* ---- the schedule ---- */

/* The vectors become a multiple of the bucket, zeros behind them. */
static bool
pad(panels *p)
{
    int64_t by[GPU_MAX_LOOPS];
    uint32_t n = p->red->block->iters.n;
    if (p->vectors == UINT32_MAX)
        return true;
    for (uint32_t i = 0; i < n && i < GPU_MAX_LOOPS; i++)
        by[i] = i == gpu_iter_of_dim(p->red, p->vectors) ? p->bucket : 1;
    if (n > GPU_MAX_LOOPS || !tnk_pad_einsum(p->s, p->red, by, n))
        return false;
    const tn_buffer_load *l[2];
    if (!gpu_product_of(p->red->block, l))
        return false;
    p->vector = l[l[0]->buffer == tnk_block_output(p->unpack)]->buffer;
    gpu_inline_around(p->s, p->red); /* what cuts the result goes into what reads it */
    return true;
}

/* The root's loops: panels over thread blocks, their rows over threads. */
static tnk_item *
tiles(panels *p)
{
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *row[2], *vec[2] = {NULL, NULL};
    tnk_sch *s = p->s;
    uint32_t n = gpu_own_loops(s, p->root, l), k = 0, kr = gpu_iter_of_dim(p->root, p->rows),
             kv = p->bucket ? gpu_iter_of_dim(p->root, p->vectors) : UINT32_MAX;
    if (n != p->root->block->iters.n || n > GPU_MAX_LOOPS - 2 || kr == UINT32_MAX ||
        (p->bucket && kv == UINT32_MAX))
        return NULL;
    tnk_item *lr = gpu_loop_of_iter(s, p->root, kr),
             *lv = p->bucket ? gpu_loop_of_iter(s, p->root, kv) : NULL;
    if (!lr || !tnk_split(s, lr, p->height, row) ||
        (p->bucket && (!lv || !tnk_split(s, lv, p->bucket, vec))))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (l[i] != lr && l[i] != lv)
            order[k++] = l[i];
    if (lv)
        order[k++] = vec[0];
    order[k++] = row[0];
    order[k] = row[1];
    order[k + 1] = vec[1];
    tnk_item *grid = tnk_reorder(s, order, lv ? k + 2 : k + 1) ? gpu_fuse(s, order, k) : NULL;
    return grid && tnk_bind(s, grid, "blockIdx.x") && tnk_bind(s, row[1], "threadIdx.x") ? grid
                                                                                         : NULL;
}

/* The numbers of a turn and what they are made of, at the loop over turns; those of the vector in `inner`. */
static bool
stage(panels *p, tnk_item *share, tnk_item *turn, tnk_item *inner)
{
    tnk_item *l[GPU_MAX_LOOPS], *copy;
    tnk_sch *s = p->s;
    if (!gpu_into(s, p->unpack, "local", turn))
        return false;
    for (uint32_t i = 0; i < p->n_parts; i++) {
        copy = tnk_cache_read(s, p->unpack, p->parts[i], "local", NULL);
        if (!copy || !gpu_into(s, copy, "local", turn) ||
            !gpu_copy_in_vectors(s, copy, gpu_lanes(p->t, tn_as_buffer(p->parts[i])->dtype)))
            return false;
    }
    uint32_t n = gpu_own_loops(s, p->unpack, l);
    if (!n || !tnk_set_kind(s, l[n - 1], TN_FOR_UNROLLED))
        return false;
    copy = p->bucket ? tnk_sch_writer(s, p->vector)
                     : tnk_cache_read(s, share, p->vector, "local", NULL);
    return copy && gpu_into(s, copy, "local", inner) &&
           gpu_copy_in_vectors(s, copy, gpu_lanes(p->t, tn_as_buffer(p->vector)->dtype));
}

/* After compute_at a block has a loop for each iterator, the spatial ones first: that of an iterator. */
static uint32_t
place_of(const tnk_item *block, uint32_t iter)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < iter; i++)
        at += tn_as_iter_var(block->block->iters.at[i])->iter_kind == TN_ITER_SPATIAL;
    return at;
}

/* The sums of threads joined: rows and shares over threads. The loop over rows. */
static tnk_item *
join(panels *p, int64_t lanes, tnk_item *grid)
{
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS];
    tnk_sch *s = p->s;
    if (!gpu_into(s, p->red, "shared", grid))
        return NULL;
    uint32_t n = gpu_own_loops(s, p->red, l), kr = gpu_iter_of_dim(p->red, p->rows), k = 0;
    if (n == 0 || kr == UINT32_MAX || gpu_spatial_first(p->red, l, n) + 1 != n)
        return NULL;
    tnk_item *row = order[k++] = l[place_of(p->red, kr)];
    for (uint32_t i = 0; i < n; i++)
        if (l[i] != row)
            order[k++] = l[i];
    tnk_item *last = order[k - 1];
    return tnk_reorder(s, order, k) && (row = gpu_bind_threads(s, row, "threadIdx.x", p->height)) &&
                   gpu_bind_threads(s, last, "threadIdx.y", lanes)
               ? row
               : NULL;
}

static bool
schedule(panels *p)
{
    tnk_sch *s = p->s;
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *part[2];
    /* a matrix of few rows has threads enough to wait for memory if its thread blocks are large */
    int64_t rows = gpu_iter_extent(p->red, gpu_iter_of_dim(p->red, p->rows));
    int64_t usual =
        rows > 0 && rows / p->height * USUAL_THREADS < ALL_THREADS ? MANY_THREADS : USUAL_THREADS;
    int64_t most =
        gpu_choose_threads(s->ctx, "threads", p->t->threads, gpu_threads_for(p->t, -1, usual));
    uint32_t n = gpu_own_loops(s, p->red, l), spatial = gpu_spatial_first(p->red, l, n), k = 0;
    int64_t turns;
    if (spatial + 2 != n || !tnk_loop_extent(l[spatial], &turns) || p->height > most)
        return false;
    const int64_t lanes = gpu_threads_for(p->t, turns, most / p->height);
    tnk_item *grid = tiles(p), *share;
    if (!grid || !tnk_reorder(s, l, n) || !tnk_split(s, l[spatial], lanes, part) ||
        !(share = tnk_rfactor(s, part[1], 0)))
        return false;
    tnk_item *row = join(p, lanes, grid);
    if (!row || !gpu_into(s, share, "local", row))
        return false;
    n = gpu_own_loops(s, share, l);
    spatial = gpu_spatial_first(share, l, n);
    uint32_t lane = gpu_iter_of_dim(share, 0); /* of its result: where rfactor put it */
    if (spatial + 2 != n || spatial == 0 || lane == UINT32_MAX)
        return false;
    lane = place_of(share, lane);
    order[k++] = l[lane];
    order[k++] = l[spatial];
    for (uint32_t i = 0; i < spatial; i++)
        if (i != lane)
            order[k++] = l[i];
    tnk_item *inner = order[k - 1];
    order[k++] = l[spatial + 1];
    if (!tnk_reorder(s, order, k) || !gpu_bind_threads(s, l[lane], "threadIdx.y", lanes) ||
        !tnk_set_kind(s, l[spatial + 1], TN_FOR_UNROLLED))
        return false;
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t e;
        if (i != lane && tnk_loop_extent(l[i], &e) && e > 1 &&
            !tnk_set_kind(s, l[i], TN_FOR_UNROLLED))
            return false;
    }
    return stage(p, share, l[spatial], inner) && tnk_decompose_reduction(s, share, l[spatial]) &&
           gpu_first_thread(s, p->root, "threadIdx.y", lanes);
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    gpu_target t;
    tnk_sch *s = gpu_target_of(ctx, target, &t) ? tnk_sch_new(ctx, prim_func) : NULL;
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    panels p = {.s = s, .t = &t, .red = gpu_sole_reduction(s)};
    if (!p.red)
        return NULL;
    gpu_inline_around(s, p.red);
    if (!find_matrix(&p) || !pad(&p))
        return NULL;
    p.root = gpu_root_of(s, p.red);
    return p.root && schedule(&p) ? gpu_finish_rest(s, &t) : NULL;
}

const tnk_rule tnk_rule_gpu_panels = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.Panels",
    .base.doc =
        "Packed matrix in panels of rows times a vector or a few: a thread takes a row of a panel.",
    .apply = apply,
    .attrs = gpu_attrs,
};
