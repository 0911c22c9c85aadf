/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: a reduction along memory that lies along its results.
 *
 *     for j, k: s[j] += A[k, j]     =>     for b in blockIdx.x: 128 columns, 4 neighbours for each threadIdx.x
 *                                              for y in threadIdx.y, k0, u: A_local[0:4] = A[(k0 * 4 + u) * 8 + y, ...]
 *                                                                           s_rf[0:4] += A_local[0:4]
 *                                              s_shared[.] += s_rf[.]       over threadIdx.y
 *                                              B[.] = s_shared[.]           with what is computed of it
 *
 * Threads next to each other read what lies next to each other, in loads as wide as there are columns for, several before the
 * first one is needed.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

/* What an H100 does best with: rows by matrices and sums along memory, as bench/gpu has them. */
enum {
    COLUMNS = 32,           /* threads that share a row */
    ROWS = 16,              /* threads that share a column, usually */
    ENOUGH = 128,           /* thread blocks that keep a device busy, */
    FEW_THREADS = 96 << 10, /* and threads: with fewer in all, a block has as many as it can */
    IN_FLIGHT = 64,         /* bytes that a thread waits for at once */
    MOST_STEPS = 8,         /* loads that it issues for that */
    LARGE = 1 << 18,        /* elements that are worth it */
    MOST_NEIGHBOURS = 8,    /* columns of a thread */
    MOST_BYTES = 8          /* of a sum */
};

typedef struct columns {
    tnk_sch *s;
    const gpu_target *t;
    tnk_item *red, *root;
    const tn_node
        *matrix;   /* that runs over all columns; NULL: there is another one, or it is computed */
    uint32_t dim;  /* of the result, that lies along memory */
    int64_t bytes; /* of an element */
    int64_t own, steps, rows;
} columns;

static tn_walk_step
note_load(void *user, const tn_node *n)
{
    columns *c = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *st = tnk_block_store(c->red->block);
    if (!l || l->buffer == st->buffer)
        return TN_WALK_ON;
    const tn_expr *column = st->indices.at[c->dim];
    if (!gpu_load_uses(l, column))
        return TN_WALK_ON;
    const tn_buffer *b = tn_as_buffer(l->buffer);
    int64_t row;
    bool fits = l->indices.at[l->indices.n - 1] == column && b->dtype.lanes == 1 &&
                tn_int_value(b->shape.at[b->shape.n - 1], &row) && row % c->own == 0 &&
                tnk_sch_is_param(c->s, l->buffer);
    for (uint32_t i = 0; fits && i + 1 < l->indices.n; i++) {
        uint32_t k = 0;
        while (k < c->red->block->iters.n &&
               tn_as_iter_var(c->red->block->iters.at[k])->var != l->indices.at[i])
            k++;
        fits = k < c->red->block->iters.n || tn_is_int_const(l->indices.at[i], 0);
    }
    if (!fits || (c->matrix && c->matrix != l->buffer)) {
        c->matrix = NULL;
        return TN_WALK_STOP;
    }
    c->matrix = l->buffer;
    return TN_WALK_ON;
}

/* Whether what runs over the columns is one parameter, of aligned rows. */
static bool
is_read_by_vectors(columns *c)
{
    c->matrix = NULL;
    tn_walk(c->red->block->body, 0, note_load, NULL, c);
    return c->matrix != NULL;
}

/* How many columns and rows a thread has. False: they are not known, or so few that it makes no difference. */
static bool
choose(columns *c)
{
    const tn_buffer_store *st = tnk_block_store(c->red->block);
    c->dim = UINT32_MAX;
    for (uint32_t i = 0; st && i < st->indices.n; i++) {
        uint32_t k = gpu_iter_of_dim(c->red, i);
        if (k != UINT32_MAX && gpu_iter_extent(c->red, k) != 1)
            c->dim = i;
    }
    int64_t turns = gpu_turns(c->red, TN_ITER_REDUCE), results = gpu_turns(c->red, TN_ITER_SPATIAL);
    if (c->dim == UINT32_MAX || turns < 1 || results < 1 || c->t->threads < 2 * COLUMNS)
        return false;
    /* 0: not in this way */
    int64_t n = gpu_iter_extent(c->red, gpu_iter_of_dim(c->red, c->dim)), options[5] = {0},
            usual = turns < LARGE / results ? 0 : 1;
    uint32_t k = 1;
    for (c->own = 1; c->own <= MOST_NEIGHBOURS && c->own * c->bytes <= c->t->vector_bytes;
         c->own *= 2) {
        if (c->own > 1 && (n % (COLUMNS * c->own) || !is_read_by_vectors(c)))
            break;
        options[k++] = c->own;
        if (usual && results / (COLUMNS * c->own) >= ENOUGH)
            usual = c->own;
    }
    c->own = tnk_rule_choice(c->s->ctx, "columns", options, k, usual);
    if (c->own == 0)
        return false;
    (void)is_read_by_vectors(c);
    int64_t usually = results / c->own * ROWS,
            most = usually < FEW_THREADS || c->t->threads < ROWS * COLUMNS ? c->t->threads
                                                                           : ROWS * COLUMNS;
    c->rows = gpu_threads_for(c->t, turns, most / COLUMNS);
    c->rows = gpu_choose_threads(c->s->ctx, "rows", c->t->threads / COLUMNS, c->rows);
    int64_t steps = IN_FLIGHT / (c->own * c->bytes);
    steps = gpu_floor_pow2(steps < 1 ? 1 : steps > MOST_STEPS ? MOST_STEPS : steps);
    c->steps = tnk_rule_choice(c->s->ctx, "steps", (const int64_t[]){1, 2, 4, 8, 16}, 5, steps);
    while (c->steps > 1 && turns % (c->rows * c->steps))
        c->steps /= 2;
    return (c->rows + c->own) * COLUMNS * MOST_BYTES <= c->t->shared_bytes;
}

/* The root's loops: blocks, threads, a thread's own. */
static tnk_item *
bind_root(columns *c)
{
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *part[2], *own[2];
    tnk_sch *s = c->s;
    uint32_t n = gpu_own_loops(s, c->root, l), iter = gpu_iter_of_dim(c->root, c->dim), k = 0;
    tnk_item *column = iter == UINT32_MAX ? NULL : gpu_loop_of_iter(s, c->root, iter);
    if (n != c->root->block->iters.n || n > GPU_MAX_LOOPS - 2 || !column ||
        !tnk_split(s, column, COLUMNS * c->own, part) || !tnk_split(s, part[1], c->own, own))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (l[i] != column)
            order[k++] = l[i];
    order[k++] = part[0];
    order[k] = own[0];
    order[k + 1] = own[1];
    tnk_item *grid = tnk_reorder(s, order, k + 2) ? gpu_fuse(s, order, k) : NULL;
    return grid && tnk_bind(s, grid, "blockIdx.x") && tnk_bind(s, own[0], "threadIdx.x") &&
                   tnk_set_kind(s, own[1], TN_FOR_UNROLLED)
               ? grid
               : NULL;
}

/* The sums of threads joined: columns and rows over threads. What the threads' own sums go into, or NULL. */
static tnk_item *
bind_sums(columns *c, tnk_item *grid)
{
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *part[2];
    tnk_sch *s = c->s;
    if (!gpu_into(s, c->red, "shared", grid))
        return NULL;
    uint32_t n = gpu_own_loops(s, c->red, l), spatial = gpu_spatial_first(c->red, l, n), k = 0;
    uint32_t iter = gpu_iter_of_dim(c->red, c->dim);
    tnk_item *column = NULL;
    for (uint32_t i = 0; i < spatial; i++)
        if (tn_uses(c->red->values[iter], l[i]->var))
            column = l[i];
    if (!column || spatial + 1 != n)
        return NULL;
    if (!tnk_split(s, column, c->own, part))
        return NULL;
    order[k++] = part[0];
    for (uint32_t i = 0; i < spatial; i++)
        if (l[i] != column)
            order[k++] = l[i];
    order[k++] = part[1];
    order[k++] = l[spatial];
    return tnk_reorder(s, order, k) && tnk_bind(s, part[0], "threadIdx.x") &&
                   tnk_bind(s, l[spatial], "threadIdx.y")
               ? part[0]
               : NULL;
}

/* A thread's sums: its row outside, steps, its columns inside. */
static bool
bind_own(columns *c, tnk_item *rf, tnk_item *thread)
{
    tnk_item *l[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS];
    tnk_sch *s = c->s;
    if (!gpu_into(s, rf, "local", thread))
        return false;
    uint32_t n = gpu_own_loops(s, rf, l), spatial = gpu_spatial_first(rf, l, n), k = 0;
    uint32_t iter = gpu_iter_of_dim(rf, 0); /* where rfactor put the row */
    tnk_item *row = NULL;
    for (uint32_t i = 0; iter != UINT32_MAX && i < spatial; i++)
        if (tn_uses(rf->block->iters.n ? rf->values[iter] : NULL, l[i]->var))
            row = l[i];
    if (!row || spatial + 2 != n)
        return false;
    tnk_item *outer = l[spatial], *steps = l[spatial + 1], *last = NULL;
    order[k++] = row;
    order[k++] = outer;
    order[k++] = steps;
    for (uint32_t i = 0; i < spatial; i++)
        if (l[i] != row)
            last = order[k++] = l[i];
    if (!tnk_reorder(s, order, k) || !tnk_bind(s, row, "threadIdx.y") ||
        !tnk_set_kind(s, steps, TN_FOR_UNROLLED) || !tnk_decompose_reduction(s, rf, outer))
        return false;
    if (!last || c->own == 1)
        return true;
    if (!tnk_set_kind(s, last, TN_FOR_UNROLLED))
        return false;
    tnk_item *stage = c->matrix ? tnk_cache_read(s, rf, c->matrix, "local", NULL) : NULL;
    if (!stage)
        return !c->matrix;
    n = gpu_into(s, stage, "local", steps) ? gpu_own_loops(s, stage, l) : 0;
    return n && tnk_set_kind(s, l[n - 1], TN_FOR_VECTORIZED);
}

bool
gpu_schedule_columns(tnk_sch *s, const gpu_target *t, tnk_item *red, tnk_item *root, int64_t bytes)
{
    columns c = {.s = s, .t = t, .red = red, .root = root, .bytes = bytes};
    if (!choose(&c))
        return false;
    tnk_item *l[GPU_MAX_LOOPS], *row[2], *step[2];
    tnk_item *grid = bind_root(&c);
    uint32_t n = grid ? gpu_own_loops(s, red, l) : 0, spatial = gpu_spatial_first(red, l, n);
    if (spatial == n || (n > 1 && !tnk_reorder(s, l, n)))
        return false;
    tnk_item *turns = gpu_fuse(s, l + spatial, n - spatial);
    if (!turns || !tnk_split(s, turns, c.rows, row) || !tnk_split(s, row[0], c.steps, step))
        return false;
    tnk_item *rf = tnk_rfactor(s, row[1], 0), *thread = rf ? bind_sums(&c, grid) : NULL;
    return thread && bind_own(&c, rf, thread) && gpu_first_thread(s, root, "threadIdx.y", c.rows);
}
