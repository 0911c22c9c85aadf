/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.LowBatchGEMV: a matrix times a few vectors, such as one decoding step of some sequences. As in gpu.GEMV memory is the
 * limit, so an element of the matrix is read once for all vectors of a bucket of four.
 *
 *     for b, i, k: y[b, i] += A[i, k] * x[b, k]
 *  =>
 *     for g in blockIdx.x: 4 vectors by 8 rows, a row for each threadIdx.y
 *         for t in threadIdx.x, k0: A_local, x_local = A[., (k0 * 32 + t) * 8 + 0:8], x[., .]     one load for each row of them
 *             for v, b: y_rf[b, t] += A_local[v] * x_local[b, v]                                  4 sums in registers
 *         for b, t in threadIdx.x: y_shared[b] += y_rf[b, t]                                      the threads' sums joined
 *         y[b, .] = y_shared[b]                                                                   with what is computed of it
 *
 * Takes a product with one dimension of unknown extent, or of 2 to 16, that the matrix does not have. Where a bound of the unknown
 * extent is known (tnk_upper_bound), it is 16 or less. gpu.Matmul leaves large products with a bound of 8 or less to this rule.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

enum {
    USUAL_THREADS = 256,
    ROW_THREADS = 32,
    COLUMNS = 32,
    BUCKET = 4,
    MOST_VECTORS = 16,
    FEW = 8,         /* so many that a tile of gpu.Matmul would have few threads */
    LARGE = 1 << 16, /* elements of a matrix */
    PACKED = 8
};

typedef struct product {
    tnk_item *red;
    const tn_buffer_load *matrix;
    uint32_t vectors, rows; /* dimensions of the result */
    int64_t most;           /* vectors; -1: not known */
    int64_t bucket;         /* vectors that an element of the matrix is read for */
    bool inner;             /* the reduction is the matrix's last index */
    bool packed;            /* the matrix is computed element by element */
    bool wide; /* the matrix is not, and its neighbours and the vectors' are loaded at once */
    const tn_node *operands[2]; /* the matrix, the vectors */
    tnb_dtype dtype;            /* of the matrix */
} product;

static bool
recognize(tnk_sch *s, product *p)
{
    const tn_block *b = p->red->block;
    const tn_buffer_store *st = tnk_block_store(b);
    const tn_buffer_load *l[2];
    if (!gpu_product_of(b, l))
        return false;
    p->vectors = p->rows = UINT32_MAX;
    /* one dimension that one operand alone has: few vectors; rather one that is not constant */
    int vector = -1;
    enum { NONE, CONSTANT, UNKNOWN, BOUNDED } best = NONE;
    for (uint32_t i = 0; i < st->indices.n; i++) {
        uint32_t k = gpu_iter_of_dim(p->red, i);
        int64_t e = k == UINT32_MAX ? 1 : gpu_iter_extent(p->red, k),
                most = k == UINT32_MAX ? 1 : gpu_iter_most(s, p->red, k);
        bool x = gpu_load_uses(l[0], st->indices.at[i]), y = gpu_load_uses(l[1], st->indices.at[i]);
        if (k == UINT32_MAX || x == y || most > MOST_VECTORS || (e >= 0 && e < 2))
            continue;
        int kind = e >= 0 ? CONSTANT : most < 0 ? UNKNOWN : BOUNDED;
        if (kind < (int)best || (kind == BOUNDED && best == BOUNDED && most >= p->most))
            continue;
        if (kind == UNKNOWN && best == UNKNOWN)
            return false;
        best = kind;
        p->vectors = i;
        p->most = most;
        vector = x ? 0 : 1;
    }
    if (vector < 0)
        return false;
    p->matrix = l[1 - vector];
    for (uint32_t i = 0; i < st->indices.n; i++) {
        uint32_t k = gpu_iter_of_dim(p->red, i);
        if (k != UINT32_MAX && gpu_iter_extent(p->red, k) != 1 &&
            gpu_load_uses(p->matrix, st->indices.at[i]) &&
            !gpu_load_uses(l[vector], st->indices.at[i]))
            p->rows = i;
    }
    /* each index is one iterator: no windows */
    for (int i = 0; i < 2; i++)
        for (uint32_t d = 0; d < l[i]->indices.n; d++) {
            uint32_t k = 0;
            while (k < b->iters.n && tn_as_iter_var(b->iters.at[k])->var != l[i]->indices.at[d])
                k++;
            int64_t c;
            if (k == b->iters.n && !tn_int_value(l[i]->indices.at[d], &c))
                return false;
        }
    const tn_expr *last = p->matrix->indices.at[p->matrix->indices.n - 1];
    for (uint32_t k = 0; k < b->iters.n; k++)
        p->inner |= tn_as_iter_var(b->iters.at[k])->var == last &&
                    tn_as_iter_var(b->iters.at[k])->iter_kind == TN_ITER_REDUCE;
    p->bucket = p->most >= 0 && p->most <= BUCKET / 2 ? BUCKET / 2 : BUCKET;
    return p->rows != UINT32_MAX;
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

/* The root's loops: tiles over blocks, rows over threads, the vectors of a bucket inside. */
static tnk_item *
tiles(tnk_sch *s, tnk_item *root, const product *p, int64_t group, const char *tag)
{
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *row[2], *vec[2];
    uint32_t n = gpu_own_loops(s, root, l), k = 0, kr = gpu_iter_of_dim(root, p->rows),
             kv = gpu_iter_of_dim(root, p->vectors);
    if (n != root->block->iters.n || n > GPU_MAX_LOOPS - 2 || kr == UINT32_MAX || kv == UINT32_MAX)
        return NULL;
    tnk_item *lr = gpu_loop_of_iter(s, root, kr), *lv = gpu_loop_of_iter(s, root, kv);
    if (!lr || !lv || !tnk_split(s, lr, group, row) || !tnk_split(s, lv, p->bucket, vec))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (l[i] != lr && l[i] != lv)
            order[k++] = l[i];
    order[k++] = vec[0];
    order[k++] = row[0];
    order[k] = row[1];
    order[k + 1] = vec[1];
    tnk_item *grid = tnk_reorder(s, order, k + 2) ? gpu_fuse(s, order, k) : NULL;
    return grid && tnk_bind(s, grid, "blockIdx.x") && tnk_bind(s, row[1], tag) ? grid : NULL;
}

/* A thread's share of the reduction has a block of its own. */
static tnk_item *
share(tnk_sch *s, tnk_item *red, int64_t lanes, int64_t vector)
{
    tnk_item *l[GPU_MAX_LOOPS], *v[2], *t[2];
    uint32_t n = gpu_own_loops(s, red, l), spatial = gpu_spatial_first(red, l, n);
    if (spatial == n || (n > 1 && !tnk_reorder(s, l, n)))
        return NULL;
    tnk_item *turns = gpu_fuse(s, l + spatial, n - spatial);
    if (!turns || !tnk_split(s, turns, vector, v) || !tnk_split(s, v[0], lanes, t))
        return NULL;
    return tnk_rfactor(s, t[1], 0);
}

/* What a turn of a thread takes of the operands is loaded in vectors. */
static bool
stage(tnk_sch *s, const gpu_target *t, const product *p, tnk_item *rf, tnk_item *turn)
{
    for (int i = 0; i < 2; i++) {
        const tn_node *b = p->operands[i];
        tnk_item *copy =
            tnk_sch_is_param(s, b) ? tnk_cache_read(s, rf, b, "local", NULL) : tnk_sch_writer(s, b);
        if (!copy || !gpu_into(s, copy, "local", turn) ||
            !gpu_copy_in_vectors(s, copy, gpu_lanes(t, tn_as_buffer(b)->dtype)))
            return false;
    }
    return true;
}

static bool
schedule(tnk_sch *s, const gpu_target *t, product *p, tnk_item *root)
{
    int64_t most =
        gpu_choose_threads(s->ctx, "threads", t->threads, gpu_threads_for(t, -1, USUAL_THREADS));
    int64_t turns = gpu_turns(p->red, TN_ITER_REDUCE), lanes, group;
    int64_t vector = gpu_lanes(t, p->dtype);
    const char *row_tag = p->inner ? "threadIdx.y" : "threadIdx.x",
               *lane_tag = p->inner ? "threadIdx.x" : "threadIdx.y";
    if (p->inner) {
        lanes = gpu_threads_for(t, turns, t->warp > ROW_THREADS ? t->warp : ROW_THREADS);
        lanes = gpu_choose_threads(s->ctx, "row_threads", most, lanes);
        group = most / lanes;
        if (p->packed && vector < PACKED)
            vector = PACKED;
    } else {
        group = most >= 2 * COLUMNS ? COLUMNS : most;
        lanes = gpu_threads_for(t, turns, most / group);
        vector = 1;
    }
    lanes = lanes ? lanes : 1;
    group = group ? group : 1;
    while (vector > 1 && (turns < 0 || turns % (vector * lanes)))
        vector /= 2;
    if (lanes * group > t->threads)
        return false;
    tnk_item *grid = tiles(s, root, p, group, row_tag),
             *rf = grid ? share(s, p->red, lanes, vector) : NULL;
    if (!rf || !gpu_into(s, p->red, "shared", grid))
        return false;
    /* the sums joined: rows and shares over threads */
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *row, *vec;
    uint32_t n = gpu_own_loops(s, p->red, l), kr = gpu_iter_of_dim(p->red, p->rows), k = 0;
    if (n == 0 || kr == UINT32_MAX)
        return false;
    row = l[place_of(p->red, kr)];
    uint32_t spatial = gpu_spatial_first(p->red, l, n);
    if (spatial + 1 != n)
        return false;
    order[k++] = row;
    for (uint32_t i = 0; i < n; i++)
        if (l[i] != row)
            order[k++] = l[i];
    vec = order[k - 1];
    if ((n > 1 && !tnk_reorder(s, order, k)) || !(row = gpu_bind_threads(s, row, row_tag, group)) ||
        !gpu_bind_threads(s, vec, lane_tag, lanes))
        return false;
    /* a thread's share: its own lane and row outside, the vectors inside */
    if (!gpu_into(s, rf, "local", row))
        return false;
    n = gpu_own_loops(s, rf, l);
    spatial = gpu_spatial_first(rf, l, n);
    if (spatial == n || spatial == 0)
        return false;
    uint32_t lane = gpu_iter_of_dim(rf, 0); /* of its result: where rfactor put it */
    if (lane == UINT32_MAX)
        return false;
    lane = place_of(rf, lane);
    k = 0;
    order[k++] = l[lane];
    for (uint32_t i = spatial; i < n; i++)
        order[k++] = l[i];
    for (uint32_t i = 0; i < spatial; i++)
        if (i != lane)
            order[k++] = l[i];
    if (!tnk_reorder(s, order, k) || !gpu_bind_threads(s, l[lane], lane_tag, lanes))
        return false;
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t e;
        if (i != lane && tnk_loop_extent(l[i], &e) && e > 1 && e <= p->bucket &&
            !tnk_set_kind(s, l[i], TN_FOR_UNROLLED))
            return false;
    }
    if (p->wide && vector > 1 &&
        (spatial + 2 != n || !tnk_set_kind(s, l[n - 1], TN_FOR_UNROLLED) ||
         !stage(s, t, p, rf, l[spatial])))
        return false;
    return tnk_decompose_reduction(s, rf, l[spatial]) && gpu_first_thread(s, root, lane_tag, lanes);
}

static bool
is_few(const product *p)
{
    int64_t turns = gpu_turns(p->red, TN_ITER_REDUCE),
            rows = gpu_iter_extent(p->red, gpu_iter_of_dim(p->red, p->rows));
    bool small = turns >= 0 && rows >= 0 && turns < LARGE / (rows ? rows : 1);
    bool constant = gpu_iter_extent(p->red, gpu_iter_of_dim(p->red, p->vectors)) >= 0;
    return !constant && p->most >= 0 && p->most <= FEW && !small;
}

/* The vectors become a multiple of the bucket, zeros behind them: the sums need no test. */
static bool
pad(tnk_sch *s, const product *p)
{
    int64_t by[GPU_MAX_LOOPS];
    uint32_t n = p->red->block->iters.n, k = gpu_iter_of_dim(p->red, p->vectors);
    for (uint32_t i = 0; i < n && i < GPU_MAX_LOOPS; i++)
        by[i] = i == k ? p->bucket : 1;
    return n <= GPU_MAX_LOOPS && tnk_pad_einsum(s, p->red, by, n);
}

/* few: only where the vectors are known to be few, and the matrix large enough that its reading counts. wide: operands in vectors. */
static const tn_node *
attempt(tn_ctx *ctx, const tn_node *prim_func, const gpu_target *t, bool few, bool wide)
{
    tnk_sch *s = tnk_sch_new(ctx, prim_func);
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    product p = {.red = gpu_sole_reduction(s)};
    if (!p.red)
        return NULL;
    gpu_inline_around(s, p.red);
    if (!recognize(s, &p) || (few && !is_few(&p)))
        return NULL;
    p.packed = !tnk_sch_is_param(s, p.matrix->buffer);
    p.dtype = tn_as_buffer(p.matrix->buffer)->dtype;
    p.wide = wide && p.inner && !p.packed;
    if (!pad(s, &p))
        return NULL;
    if (p.wide) { /* what cuts the result goes into what reads it, zeros behind the vectors stay */
        const tn_buffer_load *l[2];
        gpu_inline_around(s, p.red);
        if (!gpu_product_of(p.red->block, l))
            return NULL;
        bool first = l[0]->buffer == p.matrix->buffer;
        p.operands[0] = l[!first]->buffer;
        p.operands[1] = l[first]->buffer;
    } else {
        gpu_inline(s, true);
    }
    tnk_item *root = gpu_root_of(s, p.red);
    return root && schedule(s, t, &p, root) ? gpu_finish_rest(s, t) : NULL;
}

bool
gpu_has_few_vectors(tn_ctx *ctx, const tn_node *prim_func, const gpu_target *t)
{
    /* nobody tunes a trial */
    const tnk_chooser *chooser = tnk_rule_set_chooser(ctx, NULL);
    bool few = attempt(ctx, prim_func, t, true, false) != NULL;
    (void)tnk_rule_set_chooser(ctx, chooser);
    return few;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    const tn_node *within;
    if (gpu_within(ctx, prim_func, target, apply, &within))
        return within;
    gpu_target t;
    if (!gpu_target_of(ctx, target, &t))
        return NULL;
    const tn_node *f = attempt(ctx, prim_func, &t, false, true);
    return f ? f : attempt(ctx, prim_func, &t, false, false);
}

const tnk_rule tnk_rule_gpu_low_batch_gemv = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.LowBatchGEMV",
    .base.doc =
        "Matrix times a few vectors: each element of the matrix is read once for four of them.",
    .apply = apply,
    .attrs = gpu_attrs,
};
