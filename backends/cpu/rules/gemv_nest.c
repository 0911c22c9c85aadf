/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix times a vector, at the speed of memory. The matrix is read as it lies:
 *
 *     rows along the sum (N x K):                   rows along the result (K x N):
 *         for n0, 8 rows at a time: (parallel)          for n0, some thousand columns: (parallel)
 *             for k, in vectors:                            acc[columns] = 0
 *                 part[r] += W[n0 + r, k] * x[k]            for k, 8 rows at a time:
 *             y[n0 + r] = sum of part[r]'s lanes                acc[...] += W[k + u, ...] * x[k + u]
 */
#include "gemm.h"

enum {
    ROWS_AT_ONCE = 8,
    SHORT_PIECE =
        1024, /* columns; of so few, half of the rows at once: fewer streams were measured to be faster */
    LEAST_SUM = 16,
    GROUPS = 8,        /* for threads to share, or */
    LEAST_PIECE = 256, /* two pieces of so many columns at least, or */
    USUAL_PIECE = 768, /* as many as four threads share evenly */
};

typedef cpu_nest nest;

static const tn_stmt *
vectors(cpu_gemm *g, const tn_expr *v, const tn_stmt *body)
{
    return cpu_nest_loop(g, v, tn_i64(g->ctx, g->lanes), TN_FOR_VECTORIZED, body);
}

/* left * right at place k of the sum and column n0 + j. */
static const tn_expr *
product_at(nest *n, const tn_expr *k, const tn_expr *j)
{
    cpu_gemm *g = n->g;
    const tn_expr *place[GEMM_MAX_RANK];
    memcpy(place, n->at, sizeof place);
    place[g->n] = tn_add(g->ctx, n->at[g->n], j);
    return tn_mul(g->ctx, cpu_nest_at(g, g->left, place, k), cpu_nest_at(g, g->right, place, k));
}

static const tn_expr *
element(cpu_gemm *g, const tn_node *buffer, const tn_expr *at)
{
    return tn_buffer_load_of(g->ctx, buffer, tn_listv(g->ctx, at, NULL));
}

static const tn_stmt *
set(cpu_gemm *g, const tn_node *buffer, const tn_expr *at, const tn_expr *value)
{
    return tn_buffer_store_of(g->ctx, buffer, value, tn_listv(g->ctx, at, NULL));
}

static const tn_stmt *
add_to(cpu_gemm *g, const tn_node *buffer, const tn_expr *at, const tn_expr *value)
{
    return set(g, buffer, at, tn_add(g->ctx, element(g, buffer, at), value));
}

static const tn_node *
temporary(cpu_gemm *g, const char *name, int64_t n)
{
    tn_ctx *ctx = g->ctx;
    return tn_buffer_new(ctx, name, tn_listv(ctx, tn_i64(ctx, n), NULL), g->acc, "local");
}

/* A number and a loop over it; loops of a tile are unrolled where they are short. */
static const tn_stmt *
results(nest *n, tn_for_kind kind)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    const tn_expr *j = cpu_nest_var(g, "j"), *v = cpu_nest_var(g, "v");
    const tn_stmt *s =
        cpu_nest_result(n, tn_i64(ctx, 0), tn_add(ctx, tn_muli(ctx, j, g->lanes), v));
    return cpu_nest_loop(g, j, tn_i64(ctx, g->nv), kind, vectors(g, v, s));
}

/* ---- rows along the sum ---- */

static const tn_expr *
sum_of_lanes(cpu_gemm *g, const tn_node *buffer, int64_t from, int64_t n)
{
    if (n == 1)
        return element(g, buffer, tn_i64(g->ctx, from));
    return tn_add(g->ctx, sum_of_lanes(g, buffer, from, n / 2),
                  sum_of_lanes(g, buffer, from + n / 2, n - n / 2));
}

static const tn_stmt *
tile_of_rows(nest *n, const tn_expr *k_part)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    (void)k_part;
    int64_t rows = g->nv * g->lanes, rest = g->K % g->lanes;
    const tn_node *part = temporary(g, "part", rows * g->lanes),
                  *lanes = temporary(g, "lanes", rows * g->lanes);
    const tn_expr *r[4], *v[3], *k = cpu_nest_var(g, "k"), *t = cpu_nest_var(g, "k");
    for (int i = 0; i < 4; i++)
        r[i] = cpu_nest_var(g, "r");
    for (int i = 0; i < 3; i++)
        v[i] = cpu_nest_var(g, "v");
    const tn_expr *lane[3];
    for (int i = 0; i < 3; i++)
        lane[i] = tn_add(ctx, tn_muli(ctx, r[i], g->lanes), v[i]);
    const tn_stmt *clear = vectors(g, v[0], set(g, part, lane[0], tn_literal(ctx, g->acc, 0)));
    const tn_expr *at = tn_add(ctx, tn_muli(ctx, k, g->lanes), v[1]);
    const tn_stmt *add = vectors(g, v[1], add_to(g, part, lane[1], product_at(n, at, r[1])));
    const tn_stmt *move = vectors(g, v[2], set(g, lanes, lane[2], element(g, part, lane[2])));
    clear = cpu_nest_loop(g, r[0], tn_i64(ctx, rows), TN_FOR_UNROLLED, clear);
    add = cpu_nest_loop(g, r[1], tn_i64(ctx, rows), TN_FOR_UNROLLED, add);
    add = cpu_nest_loop(g, k, tn_i64(ctx, g->K / g->lanes), TN_FOR_SERIAL, add);
    move = cpu_nest_loop(g, r[2], tn_i64(ctx, rows), TN_FOR_UNROLLED, move);
    const tn_stmt *s[64];
    uint32_t c = 0;
    s[c++] = clear, s[c++] = add, s[c++] = move;
    if (rest) {
        const tn_stmt *last = add_to(g, lanes, tn_muli(ctx, r[3], g->lanes),
                                     product_at(n, tn_addi(ctx, t, g->K - rest), r[3]));
        last = cpu_nest_loop(g, r[3], tn_i64(ctx, rows), TN_FOR_UNROLLED, last);
        s[c++] = cpu_nest_loop(g, t, tn_i64(ctx, rest), TN_FOR_SERIAL, last);
    }
    for (int64_t i = 0; i < rows && c < 62; i++)
        s[c++] = set(g, n->acc, tn_i64(ctx, i), sum_of_lanes(g, lanes, i * g->lanes, g->lanes));
    s[c++] = results(n, TN_FOR_UNROLLED);
    n->tile_allocs = tn_listv(ctx, n->acc, part, lanes, NULL);
    return tn_seq_of(ctx, tn_list_of(ctx, s, c));
}

/* ---- rows along the result ---- */

/* acc[...] += rows of the matrix from k on. */
static const tn_stmt *
add_rows(nest *n, const tn_expr *k, int64_t rows)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    const tn_expr *j = cpu_nest_var(g, "j"), *v = cpu_nest_var(g, "v");
    const tn_expr *at = tn_add(ctx, tn_muli(ctx, j, g->lanes), v);
    const tn_expr *sum = element(g, n->acc, at);
    for (int64_t u = 0; u < rows; u++)
        sum = tn_add(ctx, sum, product_at(n, tn_addi(ctx, k, u), at));
    return cpu_nest_loop(g, j, tn_i64(ctx, g->nv), TN_FOR_SERIAL,
                         vectors(g, v, set(g, n->acc, at, sum)));
}

static const tn_stmt *
tile_of_columns(nest *n, const tn_expr *k_part)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    (void)k_part;
    const tn_expr *j = cpu_nest_var(g, "j"), *v = cpu_nest_var(g, "v"), *k = cpu_nest_var(g, "k"),
                  *t = cpu_nest_var(g, "k");
    const tn_expr *at = tn_add(ctx, tn_muli(ctx, j, g->lanes), v);
    int64_t rows = g->nv * g->lanes <= SHORT_PIECE ? ROWS_AT_ONCE / 2 : ROWS_AT_ONCE;
    int64_t rest = g->K % rows;
    const tn_stmt *s[4];
    uint32_t c = 0;
    s[c++] = cpu_nest_loop(g, j, tn_i64(ctx, g->nv), TN_FOR_SERIAL,
                           vectors(g, v, set(g, n->acc, at, tn_literal(ctx, g->acc, 0))));
    s[c++] = cpu_nest_loop(g, k, tn_i64(ctx, g->K / rows), TN_FOR_SERIAL,
                           add_rows(n, tn_muli(ctx, k, rows), rows));
    if (rest)
        s[c++] = cpu_nest_loop(g, t, tn_i64(ctx, rest), TN_FOR_SERIAL,
                               add_rows(n, tn_addi(ctx, t, g->K - rest), 1));
    s[c++] = results(n, TN_FOR_SERIAL);
    n->tile_allocs = tn_listv(ctx, n->acc, NULL);
    return tn_seq_of(ctx, tn_list_of(ctx, s, c));
}

/* ---- the rule's part ---- */

static const tn_expr *
without_casts(const tn_expr *e)
{
    while (e->kind == TN_KIND_CAST)
        e = ((const tn_cast *)e)->value;
    return e;
}

/* How many pieces of columns. Long ones are read faster; their sums take half of the first cache, or a quarter where threads
 * would have few of them. */
static int64_t
pieces_of_columns(const cpu_gemm *g, const tn_target *target)
{
    int64_t threads = target ? tn_dict_int(target->attrs, "num_threads", 0) : 0, others = 1, e;
    int64_t columns = cpu_caches_of(target).l1 / 8, wanted = threads > 0 ? 2 * threads : GROUPS;
    for (uint32_t i = 0; i < g->rank; i++)
        if (i != g->n)
            others *= tn_int_value(g->extent[i], &e) ? e : GROUPS;
    bool few = threads != 1 && others * g->N < wanted * columns;
    int64_t pieces = (g->N + columns - 1) / columns;
    if (few) {
        int64_t least = g->N >= 4 * USUAL_PIECE ? 4 : g->N >= 2 * LEAST_PIECE ? 2 : 1;
        columns /= 2;
        pieces = (g->N + columns - 1) / columns;
        pieces = (pieces + least - 1) / least * least;
    }
    /* one that vectors do not divide would be followed by another of the same size */
    return pieces == 1 && g->N % g->lanes ? 2 : pieces;
}

typedef struct code_words {
    const tn_expr *k;
    int64_t lanes;
} code_words;

/* A vector takes the codes of one word: lanes divide what places of the sum are divided by. */
static tn_walk_step
fit_lanes(void *user, const tn_node *n)
{
    code_words *w = user;
    const tn_binary *div = tn_is(n, TN_KIND_FLOOR_DIV) ? tn_as_binary(n) : NULL;
    int64_t by;
    if (!div || !tn_uses(div->a, w->k))
        return TN_WALK_ON;
    if (!tn_int_value(div->b, &by))
        w->lanes = 1;
    while (w->lanes > 1 && by % w->lanes)
        w->lanes /= 2;
    return TN_WALK_ON;
}

/* The function with what makes numbers of codes where they are read, in the fallback's schedule. */
static const tn_node *
without_tiles(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target)
{
    tnk_sch *s = tnk_sch_new(ctx, prim_func);
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    cpu_inline_cheap(s, CPU_INLINE_CODES);
    const tn_node *f = tnk_sch_finish(s);
    return f ? cpu_rule_fallback.apply(ctx, f, target, NULL) : NULL;
}

/* Tiles of rows of a matrix that is made of codes, each row of the left operand by itself. Where the columns are not known, another
 * schedule serves those that are fewer than a tile has. */
static const tn_node *
rows_of_codes(cpu_gemm *g, const tn_node *prim_func, const tn_target *target)
{
    tn_ctx *ctx = g->ctx;
    nest n = {.g = g, .tile = tile_of_rows};
    code_words w = {g->k, g->lanes};
    tn_walk(g->right, 0, fit_lanes, NULL, &w);
    g->lanes = w.lanes;
    if (g->lanes < 4)
        return NULL;
    g->m = GEMM_NONE;
    g->M = g->mr = g->gm = g->turns_k = 1;
    g->nv = g->lanes < ROWS_AT_ONCE ? 2 : 1;
    int64_t rows = g->nv * g->lanes, tiles = g->N < 0 ? 8 : (g->N + rows - 1) / rows;
    if (g->N >= 0 && g->N < rows)
        return NULL;
    g->gn = tiles < 8 ? tiles : 8;
    n.acc = temporary(g, "acc", rows);
    const tn_node *f = cpu_nest_finish(&n);
    if (!f || g->N >= 0)
        return f;
    const tn_node *rest = without_tiles(ctx, prim_func, target);
    return rest ? cpu_either(ctx, tn_ge_of(ctx, g->extent[g->n], tn_i64(ctx, rows)), f, rest)
                : NULL;
}

const tn_node *
cpu_schedule_gemv(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target)
{
    cpu_gemm gemm, *g = &gemm;
    if (!cpu_gemm_find(g, ctx, prim_func) || g->K < LEAST_SUM ||
        (g->m != GEMM_NONE && !cpu_gemm_of_codes(g)))
        return NULL;
    g->lanes = cpu_lanes(cpu_vector_bytes(ctx, target), g->acc);
    int64_t right[2], left[2];
    const tn_expr *vars[2] = {g->axis[g->n], g->k};
    tn_arith *a = tn_arith_new(ctx);
    if (cpu_gemm_of_codes(g))
        return cpu_nest_steps(ctx, a, without_casts(g->left), vars, left) && left[1] == 1
                   ? rows_of_codes(g, prim_func, target)
                   : NULL;
    if (!cpu_nest_steps(ctx, a, without_casts(g->right), vars, right) ||
        !cpu_nest_steps(ctx, a, without_casts(g->left), vars, left) || g->lanes < 4)
        return NULL;
    bool rows = right[1] == 1 && left[1] == 1;
    if (!rows && right[0] != 1)
        return NULL;
    nest n = {.g = g, .tile = rows ? tile_of_rows : tile_of_columns};
    g->M = g->mr = g->gm = g->turns_k = 1;
    int64_t tiles = pieces_of_columns(g, target), chunk = (g->N + tiles - 1) / tiles;
    g->nv = rows ? (g->lanes < ROWS_AT_ONCE ? 2 : 1) : (chunk + g->lanes - 1) / g->lanes;
    if (g->nv * g->lanes > g->N)
        g->nv = g->N / g->lanes;
    if (g->nv < 1)
        return NULL;
    tiles = (g->N + g->nv * g->lanes - 1) / (g->nv * g->lanes);
    g->gn = rows ? (tiles < 8 ? tiles : 8) : 1;
    n.acc = temporary(g, "acc", g->nv * g->lanes);
    return cpu_nest_finish(&n);
}
