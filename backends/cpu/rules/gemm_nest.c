/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a matrix product: copies of operands, packed panels, groups of tiles; see gemm.c. */
#include "gemm.h"

enum { LINE = 16 /* floats of the caches */, MOST_FETCHED = 32 /* lines in one turn */ };

typedef cpu_nest nest;

/* ---- pieces ---- */

const tn_expr *
cpu_nest_var(cpu_gemm *g, const char *name)
{
    return tn_var_dtype(g->ctx, name, TNB_I64);
}

const tn_stmt *
cpu_nest_loop(cpu_gemm *g, const tn_expr *var, const tn_expr *extent, tn_for_kind kind,
              const tn_stmt *body)
{
    return tn_for_of(g->ctx, var, tn_i64(g->ctx, 0), extent, kind, NULL, NULL, body);
}

/* A block with spatial iterators `vars` (the one at `opaque` an opaque one), reading and writing
 * what its body does. */
static const tn_stmt *
block(cpu_gemm *g, const char *name, tn_list vars, tn_list extents, tn_list values, int opaque,
      const tn_expr *predicate, tn_list allocs, const tn_stmt *body)
{
    tn_ctx *ctx = g->ctx;
    const tn_node *iters[GEMM_MAX_RANK + 4];
    for (uint32_t i = 0; i < vars.n; i++)
        iters[i] = tn_iter_var_of(ctx, tn_range_of(ctx, tn_i64(ctx, 0), extents.at[i]), vars.at[i],
                                  (int)i == opaque ? TN_ITER_OPAQUE : TN_ITER_SPATIAL, NULL);
    tn_block b = {.name = name,
                  .iters = tn_list_of(ctx, iters, vars.n),
                  .allocs = allocs,
                  .body = body};
    tn_block_regions(ctx, &b, &b.reads, &b.writes);
    return tn_block_realize_of(ctx, values, predicate ? predicate : tn_bool(ctx, true),
                               tn_block_of(ctx, &b));
}

static int64_t
tiles_n(const cpu_gemm *g)
{
    int64_t nr = g->nv * g->lanes;
    return (g->N + nr - 1) / nr;
}

static const tn_expr *
number_of_tiles_n(const cpu_gemm *g)
{
    return g->N < 0 ? tn_ceildiv(g->ctx, g->extent[g->n], tn_i64(g->ctx, g->nv * g->lanes))
                    : tn_i64(g->ctx, tiles_n(g));
}

static const tn_expr *
tiles_m(const cpu_gemm *g)
{
    tn_ctx *ctx = g->ctx;
    return g->m == GEMM_NONE ? tn_i64(ctx, 1)
                             : tn_ceildiv(ctx, g->extent[g->m], tn_i64(ctx, g->mr));
}

/* Where tile number t begins: the last one is moved back to end with the extent. */
static const tn_expr *
start(const cpu_gemm *g, const tn_expr *t, int64_t tile, int64_t known, const tn_expr *extent)
{
    tn_ctx *ctx = g->ctx;
    const tn_expr *at = tn_muli(ctx, t, tile);
    return known > 0 && known % tile == 0 ? at : tn_min(ctx, at, tn_subi(ctx, extent, tile));
}

/* An expression of the sum's block at a place: `place` by dimension of the result. */
const tn_expr *
cpu_nest_at(cpu_gemm *g, const tn_expr *e, const tn_expr *const *place, const tn_expr *k)
{
    tn_ctx *ctx = g->ctx;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < g->rank; i++)
        tnb_ptrmap_set(&map, g->axis[i], place[i]);
    for (uint32_t i = 0; i < g->units.n; i++)
        tnb_ptrmap_set(&map, g->units.at[i], tn_i64(ctx, 0));
    tnb_ptrmap_set(&map, g->k, k);
    return tn_subst(ctx, e, &map);
}

/* Steps of a load between neighbours along two variables; false: not everywhere the same. */
bool
cpu_nest_steps(tn_ctx *ctx, tn_arith *a, const tn_expr *e, const tn_expr *const *vars, int64_t *out)
{
    const tn_buffer_load *l = tn_as_buffer_load(e);
    if (!l)
        return false;
    const tn_buffer *b = tn_as_buffer(l->buffer);
    if (b->strides.n)
        return false;
    const tn_expr *flat = tn_i64(ctx, 0), *coeffs[2], *rest;
    for (uint32_t i = 0; i < l->indices.n; i++)
        flat = tn_add(ctx, tn_mul(ctx, flat, b->shape.at[i]), l->indices.at[i]);
    return tn_linear(a, tn_simplify(a, flat), vars, 2, coeffs, &rest) &&
           tn_int_value(coeffs[0], &out[0]) && tn_int_value(coeffs[1], &out[1]);
}

/* ---- panels ---- */

bool
cpu_gemm_in_panels(cpu_gemm *g)
{
    tn_ctx *ctx = g->ctx;
    int64_t nr = g->nv * g->lanes, st[2];
    if (g->N % nr || !tnb_dtype_eq(tn_dtype_of(g->right), g->acc))
        return false;
    tn_arith *a = tn_arith_new(ctx);
    const tn_expr *t = cpu_nest_var(g, "t"), *j = cpu_nest_var(g, "j"), *place[GEMM_MAX_RANK];
    tn_arith_range(a, t, tn_i64(ctx, 0), tn_i64(ctx, tiles_n(g)));
    tn_arith_range(a, j, tn_i64(ctx, 0), tn_i64(ctx, nr));
    tn_arith_range(a, g->k, tn_i64(ctx, 0), tn_i64(ctx, g->K));
    for (uint32_t i = 0; i < g->rank; i++)
        place[i] = g->axis[i];
    place[g->n] = tn_add(ctx, tn_muli(ctx, t, nr), j);
    const tn_expr *vars[2] = {j, g->k};
    return cpu_nest_steps(ctx, a, cpu_nest_at(g, g->right, place, g->k), vars, st) && st[0] == 1 &&
           st[1] == nr;
}

/* The largest divisor of n up to most. */
static int64_t
divisor(int64_t n, int64_t most)
{
    while (n % most)
        most--;
    return most;
}

/* Batch dimensions of panels: those of the result that the right operand runs along. */
static void
plan_panels(nest *n)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    cpu_nest_operand *r = &n->right;
    const tn_expr *shape[GEMM_MAX_RANK + 3];
    for (uint32_t i = 0; i < g->rank; i++)
        if (i != g->m && i != g->n && tn_uses(g->right, g->axis[i])) {
            shape[r->n] = g->extent[i];
            r->dims[r->n++] = i;
        }
    uint32_t k = r->n;
    shape[k++] = tn_i64(ctx, tiles_n(g));
    shape[k++] = tn_i64(ctx, g->K);
    shape[k++] = tn_i64(ctx, g->nv * g->lanes);
    r->panels = tn_buffer_new(ctx, "panels", tn_list_of(ctx, shape, k), g->acc, NULL);
}

/* Copies columns into panels: several panels side by side, so that rows are read in longer pieces, yet a part of them for each
 * of four threads. */
static const tn_stmt *
pack_panels(nest *n)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    const cpu_nest_operand *r = &n->right;
    int64_t nr = g->nv * g->lanes, most = tiles_n(g) / GEMM_SHARED_BY,
            beside = divisor(tiles_n(g), most < 1   ? 1
                                         : most < 8 ? most
                                                    : 8);
    const tn_expr *vars[GEMM_MAX_RANK + 3], *values[GEMM_MAX_RANK + 3], *extents[GEMM_MAX_RANK + 3];
    const tn_expr *outer[GEMM_MAX_RANK + 1], *place[GEMM_MAX_RANK];
    for (uint32_t i = 0; i < g->rank; i++)
        place[i] = tn_i64(ctx, 0);
    uint32_t v = 0;
    for (; v < r->n; v++) {
        outer[v] = cpu_nest_var(g, "b");
        vars[v] = place[r->dims[v]] = cpu_nest_var(g, "vb");
        extents[v] = g->extent[r->dims[v]];
        values[v] = outer[v];
    }
    const tn_expr *to = cpu_nest_var(g, "t"), *ti = cpu_nest_var(g, "s"), *k = cpu_nest_var(g, "k");
    const tn_expr *jv = cpu_nest_var(g, "j"), *ji = cpu_nest_var(g, "i");
    const tn_expr *vt = cpu_nest_var(g, "vt"), *vk = cpu_nest_var(g, "vk"),
                  *vj = cpu_nest_var(g, "vj");
    uint32_t first = v;
    vars[v] = vt, extents[v] = tn_i64(ctx, tiles_n(g));
    values[v++] = tn_add(ctx, tn_muli(ctx, to, beside), ti);
    vars[v] = vk, extents[v] = tn_i64(ctx, g->K), values[v++] = k;
    vars[v] = vj, extents[v] = tn_i64(ctx, nr);
    values[v++] = tn_add(ctx, tn_muli(ctx, jv, g->lanes), ji);
    place[g->n] = tn_add(ctx, start(g, vt, nr, g->N, tn_i64(ctx, g->N)), vj);
    const tn_stmt *s = tn_buffer_store_of(ctx, r->panels, cpu_nest_at(g, g->right, place, vk),
                                          tn_list_of(ctx, vars, v));
    s = block(g, "pack", tn_list_of(ctx, vars, v), tn_list_of(ctx, extents, v),
              tn_list_of(ctx, values, v), -1, NULL, (tn_list){0}, s);
    s = cpu_nest_loop(g, jv, tn_i64(ctx, g->nv), TN_FOR_UNROLLED,
                      cpu_nest_loop(g, ji, tn_i64(ctx, g->lanes), TN_FOR_VECTORIZED, s));
    s = cpu_nest_loop(g, ti, tn_i64(ctx, beside), TN_FOR_SERIAL, s);
    s = cpu_nest_loop(g, k, tn_i64(ctx, g->K), TN_FOR_SERIAL, s);
    s = cpu_nest_loop(g, to, tn_i64(ctx, tiles_n(g) / beside),
                      first ? TN_FOR_SERIAL : TN_FOR_PARALLEL, s);
    for (uint32_t i = first; i-- > 0;)
        s = cpu_nest_loop(g, outer[i], extents[i], i ? TN_FOR_SERIAL : TN_FOR_PARALLEL, s);
    return s;
}

/* ---- the left operand ---- */

bool
cpu_gemm_left_steps(cpu_gemm *g, int64_t *rows, int64_t *k)
{
    int64_t st[2];
    const tn_expr *vars[2] = {g->axis[g->m], g->k};
    if (!tnb_dtype_eq(tn_dtype_of(g->left), g->acc) ||
        !cpu_nest_steps(g->ctx, tn_arith_new(g->ctx), g->left, vars, st))
        return false;
    *rows = st[0];
    *k = st[1];
    return true;
}

static bool
left_is_plain(cpu_gemm *g)
{
    int64_t rows, k;
    return cpu_gemm_left_steps(g, &rows, &k) && k == 1;
}

/* The left operand's dimensions besides m and k: variables and extents, and where its element is in them; how many. */
static uint32_t
left_batch(nest *n, const tn_expr **vars, const tn_expr **extents, const tn_expr **place)
{
    cpu_gemm *g = n->g;
    cpu_nest_operand *l = &n->left;
    for (uint32_t i = 0; i < g->rank; i++) {
        place[i] = tn_i64(g->ctx, 0);
        if (i == g->n || i == g->m || !tn_uses(g->left, g->axis[i]))
            continue;
        extents[l->n] = g->extent[i];
        vars[l->n] = place[i] = cpu_nest_var(g, "vb");
        l->dims[l->n++] = i;
    }
    return l->n;
}

/* A copy [.., m, k] where it is no float32 that lies along k. */
static const tn_stmt *
copy_left(nest *n)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    cpu_nest_operand *l = &n->left;
    const tn_expr *vars[GEMM_MAX_RANK + 2], *loops[GEMM_MAX_RANK + 2], *extents[GEMM_MAX_RANK + 2];
    const tn_expr *place[GEMM_MAX_RANK];
    uint32_t v = left_batch(n, vars, extents, place);
    vars[v] = place[g->m] = cpu_nest_var(g, "vm");
    extents[v++] = g->extent[g->m];
    vars[v] = cpu_nest_var(g, "vk");
    extents[v++] = tn_i64(ctx, g->K);
    l->panels = tn_buffer_new(ctx, "rows", tn_list_of(ctx, extents, v), g->acc, NULL);
    for (uint32_t i = 0; i < v; i++)
        loops[i] = cpu_nest_var(g, "i");
    tn_list all = tn_list_of(ctx, vars, v);
    const tn_stmt *s =
        tn_buffer_store_of(ctx, l->panels, cpu_nest_at(g, g->left, place, vars[v - 1]), all);
    if (g->K % g->lanes == 0) {
        const tn_expr *o = cpu_nest_var(g, "k"), *values[GEMM_MAX_RANK + 2];
        memcpy(values, loops, sizeof values);
        values[v - 1] = tn_add(ctx, tn_muli(ctx, o, g->lanes), loops[v - 1]);
        s = block(g, "rows", all, tn_list_of(ctx, extents, v), tn_list_of(ctx, values, v), -1, NULL,
                  (tn_list){0}, s);
        s = cpu_nest_loop(g, loops[v - 1], tn_i64(ctx, g->lanes), TN_FOR_VECTORIZED, s);
        s = cpu_nest_loop(g, o, tn_i64(ctx, g->K / g->lanes), TN_FOR_SERIAL, s);
    } else {
        s = block(g, "rows", all, tn_list_of(ctx, extents, v), tn_list_of(ctx, loops, v), -1, NULL,
                  (tn_list){0}, s);
        s = cpu_nest_loop(g, loops[v - 1], tn_i64(ctx, g->K), TN_FOR_SERIAL, s);
    }
    for (uint32_t i = v - 1; i-- > 0;)
        s = cpu_nest_loop(g, loops[i], extents[i], i ? TN_FOR_SERIAL : TN_FOR_PARALLEL, s);
    return s;
}

/* Panels [.., m // mr, k, mr]: a tile reads them as they lie, and rows that are far apart, by a power
 * of two even, do not push each other out of the caches. */
static const tn_stmt *
pack_left(nest *n)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    cpu_nest_operand *l = &n->left;
    const tn_expr *vars[GEMM_MAX_RANK + 3], *loops[GEMM_MAX_RANK + 3], *extents[GEMM_MAX_RANK + 3];
    const tn_expr *place[GEMM_MAX_RANK];
    uint32_t v = left_batch(n, vars, extents, place);
    const tn_expr *tile = vars[v] = cpu_nest_var(g, "vt"), *k = vars[v + 1] = cpu_nest_var(g, "vk"),
                  *i = vars[v + 2] = cpu_nest_var(g, "vi");
    extents[v++] = tiles_m(g);
    extents[v++] = tn_i64(ctx, g->K);
    extents[v++] = tn_i64(ctx, g->mr);
    place[g->m] = tn_add(ctx, start(g, tile, g->mr, g->M, g->extent[g->m]), i);
    l->panels = tn_buffer_new(ctx, "row_panels", tn_list_of(ctx, extents, v), g->acc, NULL);
    for (uint32_t d = 0; d < v; d++)
        loops[d] = cpu_nest_var(g, "i");
    tn_list all = tn_list_of(ctx, vars, v);
    const tn_stmt *s = tn_buffer_store_of(ctx, l->panels, cpu_nest_at(g, g->left, place, k), all);
    s = block(g, "pack_rows", all, tn_list_of(ctx, extents, v), tn_list_of(ctx, loops, v), -1, NULL,
              (tn_list){0}, s);
    s = cpu_nest_loop(g, loops[v - 1], extents[v - 1], TN_FOR_UNROLLED, s);
    for (uint32_t d = v - 1; d-- > 0;)
        s = cpu_nest_loop(g, loops[d], extents[d], d ? TN_FOR_SERIAL : TN_FOR_PARALLEL, s);
    return s;
}

/* ---- a tile ---- */

/* for i < mr, j < nv, v < lanes: body(i, j * lanes + v) */
typedef const tn_stmt *(*element_fn)(nest *n, const tn_expr *i, const tn_expr *j);

static const tn_stmt *
each_element(nest *n, element_fn body)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    const tn_expr *i = cpu_nest_var(g, "i"), *j = cpu_nest_var(g, "j"), *v = cpu_nest_var(g, "v");
    const tn_stmt *s = body(n, i, tn_add(ctx, tn_muli(ctx, j, g->lanes), v));
    s = cpu_nest_loop(g, v, tn_i64(ctx, g->lanes), TN_FOR_VECTORIZED, s);
    s = cpu_nest_loop(g, j, tn_i64(ctx, g->nv), TN_FOR_UNROLLED, s);
    return cpu_nest_loop(g, i, tn_i64(ctx, g->mr), TN_FOR_UNROLLED, s);
}

static const tn_expr *
number(nest *n, const tn_expr *i, const tn_expr *j)
{
    cpu_gemm *g = n->g;
    return tn_add(g->ctx, tn_muli(g->ctx, i, g->nv * g->lanes), j);
}

/* acc[i, j], as it is now. */
static const tn_expr *
sum_at(nest *n, const tn_expr *i, const tn_expr *j)
{
    return tn_buffer_load_of(n->g->ctx, n->acc, tn_listv(n->g->ctx, number(n, i, j), NULL));
}

static const tn_stmt *
set_sum(nest *n, const tn_expr *i, const tn_expr *j, const tn_expr *value)
{
    return tn_buffer_store_of(n->g->ctx, n->acc, value, tn_listv(n->g->ctx, number(n, i, j), NULL));
}

static const tn_stmt *
clear(nest *n, const tn_expr *i, const tn_expr *j)
{
    return set_sum(n, i, j, tn_literal(n->g->ctx, n->g->acc, 0));
}

static const tn_stmt *
take_up(nest *n, const tn_expr *i, const tn_expr *j)
{
    return set_sum(n, i, j,
                   tn_buffer_load_of(n->g->ctx, n->partial,
                                     tn_listv(n->g->ctx, n->slot, number(n, i, j), NULL)));
}

static const tn_stmt *
put_down(nest *n, const tn_expr *i, const tn_expr *j)
{
    return tn_buffer_store_of(n->g->ctx, n->partial, sum_at(n, i, j),
                              tn_listv(n->g->ctx, n->slot, number(n, i, j), NULL));
}

static void
element_place(nest *n, const tn_expr *i, const tn_expr *j, const tn_expr **place)
{
    cpu_gemm *g = n->g;
    memcpy(place, n->at, sizeof n->at);
    if (g->m != GEMM_NONE)
        place[g->m] = tn_add(g->ctx, n->at[g->m], i);
    place[g->n] = tn_add(g->ctx, n->at[g->n], j);
}

/* The operand at a place, from its copy where it has one. */
static const tn_expr *
read_left(nest *n, const tn_expr *const *place, const tn_expr *row)
{
    cpu_gemm *g = n->g;
    const cpu_nest_operand *l = &n->left;
    if (!l->panels)
        return cpu_nest_at(g, g->left, place, n->k);
    const tn_expr *idx[GEMM_MAX_RANK + 3];
    for (uint32_t i = 0; i < l->n; i++)
        idx[i] = place[l->dims[i]];
    idx[l->n] = g->pack_left ? n->left_panel : place[g->m];
    idx[l->n + 1] = n->k;
    idx[l->n + 2] = row;
    return tn_buffer_load_of(g->ctx, l->panels, tn_list_of(g->ctx, idx, l->n + 2 + g->pack_left));
}

static const tn_expr *
read_right(nest *n, const tn_expr *const *place, const tn_expr *j)
{
    cpu_gemm *g = n->g;
    const cpu_nest_operand *r = &n->right;
    if (!r->panels)
        return cpu_nest_at(g, g->right, place, n->k);
    const tn_expr *idx[GEMM_MAX_RANK + 3];
    for (uint32_t i = 0; i < r->n; i++)
        idx[i] = place[r->dims[i]];
    idx[r->n] = n->panel;
    idx[r->n + 1] = n->k;
    idx[r->n + 2] = j;
    return tn_buffer_load_of(g->ctx, r->panels, tn_list_of(g->ctx, idx, r->n + 3));
}

static const tn_stmt *
add_product(nest *n, const tn_expr *i, const tn_expr *j)
{
    const tn_expr *place[GEMM_MAX_RANK];
    element_place(n, i, j, place);
    const tn_expr *product = tn_mul(n->g->ctx, read_left(n, place, i), read_right(n, place, j));
    return set_sum(n, i, j, tn_add(n->g->ctx, sum_at(n, i, j), product));
}

typedef struct reader {
    const tn_node *sums;
    const tn_expr *value;
} reader;

static const tn_node *
value_of_sum(tn_rewriter *r, const tn_node *e)
{
    const reader *s = r->user;
    const tn_buffer_load *l = tn_as_buffer_load(e);
    return l && l->buffer == s->sums ? s->value : NULL;
}

/* The result, with what follows the sum. */
const tn_stmt *
cpu_nest_result(nest *n, const tn_expr *i, const tn_expr *j)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    const tn_expr *place[GEMM_MAX_RANK];
    element_place(n, i, j, place);
    tn_list at = tn_list_of(ctx, place, g->rank);
    if (!g->last)
        return tn_buffer_store_of(ctx, g->store->buffer, sum_at(n, i, j), at);
    const tn_buffer_store *st = tn_as_buffer_store(g->last->body);
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t d = 0; d < g->rank; d++)
        tnb_ptrmap_set(&map, st->indices.at[d], place[d]);
    reader user = {g->store->buffer, sum_at(n, i, j)};
    tn_rewriter r = {.ctx = ctx, .user = &user, .pre = value_of_sum, .map = &map};
    return tn_buffer_store_of(ctx, st->buffer, tn_rewrite(&r, st->value), at);
}

/* Asks for the line of the cache that a load reads. */
static const tn_stmt *
fetch(cpu_gemm *g, const tn_expr *load)
{
    tn_ctx *ctx = g->ctx;
    const tn_expr *e = tn_intrin1(ctx, TN_INTRIN_address_of, load);
    return tn_evaluate_of(ctx, tn_intrin1(ctx, TN_INTRIN_prefetch, e));
}

/* Asks for rows of the next panel's part: over all tiles of the group, for all of them. step: number of the turn. */
static const tn_stmt *
fetch_panel(nest *n, const tn_expr *k_part, const tn_expr *step, int64_t turn)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    nest next = *n;
    int64_t nr = g->nv * g->lanes, kc = g->K / g->turns_k;
    const tn_expr *from = tn_floordivi(ctx, tn_muli(ctx, step, turn), g->gm);
    const tn_stmt *s[MOST_FETCHED];
    uint32_t c = 0;
    next.panel = tn_min(ctx, tn_addi(ctx, n->panel, 1), tn_i64(ctx, tiles_n(g) - 1));
    next.at[g->n] = start(g, next.panel, nr, g->N, tn_i64(ctx, g->N));
    for (int64_t row = 0; row < (turn + g->gm - 1) / g->gm; row++)
        for (int64_t j = 0; j < nr && c < MOST_FETCHED; j += LINE) {
            const tn_expr *place[GEMM_MAX_RANK];
            next.k = tn_add(ctx, tn_muli(ctx, k_part, kc), tn_addi(ctx, from, row));
            element_place(&next, tn_i64(ctx, 0), tn_i64(ctx, j), place);
            s[c++] = fetch(g, read_right(&next, place, tn_i64(ctx, j)));
        }
    return tn_seq_of(ctx, tn_list_of(ctx, s, c));
}

/* Asks for as many rows of the next tile's panel of the left operand as a turn takes. */
static const tn_stmt *
fetch_rows(nest *n, const tn_expr *from, int64_t turn)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    nest next = *n;
    const tn_stmt *s[MOST_FETCHED];
    uint32_t c = 0;
    next.left_panel = tn_min(ctx, tn_addi(ctx, n->left_panel, 1), tn_subi(ctx, tiles_m(g), 1));
    for (int64_t at = 0; at < turn * g->mr && c < MOST_FETCHED; at += LINE) {
        next.k = tn_addi(ctx, from, at / g->mr);
        s[c++] = fetch(g, read_left(&next, n->at, tn_i64(ctx, at % g->mr)));
    }
    return tn_seq_of(ctx, tn_list_of(ctx, s, c));
}

/* The loop over a part of k; in turns of some of it where the next panels are fetched meanwhile. */
static const tn_stmt *
sum_part(nest *n, const tn_expr *k_part)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    int64_t kc = g->K / g->turns_k, turn = 16;
    const tn_expr *k = cpu_nest_var(g, "k"), *ko = cpu_nest_var(g, "turn");
    while (turn > 4 && kc % turn)
        turn /= 2;
    bool columns = g->ahead && tn_as_buffer_load(g->right), rows = g->pack_left;
    bool ahead = kc % turn == 0 && (columns || rows);
    const tn_expr *from = tn_muli(ctx, k_part, kc);
    if (ahead)
        from = tn_add(ctx, from, tn_muli(ctx, ko, turn));
    n->k = tn_add(ctx, from, k);
    const tn_stmt *s = each_element(n, add_product);
    s = cpu_nest_loop(g, k, tn_i64(ctx, ahead ? turn : kc), TN_FOR_SERIAL, s);
    if (!ahead)
        return s;
    const tn_expr *step = tn_add(ctx, tn_muli(ctx, n->row_turn, kc / turn), ko);
    const tn_stmt *parts[3];
    uint32_t c = 0;
    if (columns)
        parts[c++] = fetch_panel(n, k_part, step, turn);
    if (rows)
        parts[c++] = fetch_rows(n, from, turn);
    parts[c++] = s;
    return cpu_nest_loop(g, ko, tn_i64(ctx, kc / turn), TN_FOR_SERIAL,
                         tn_seq_of(ctx, tn_list_of(ctx, parts, c)));
}

/* The tile's statements; k_part: which part of the reduction. */
static const tn_stmt *
product_tile(nest *n, const tn_expr *k_part)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    const tn_stmt *sum = sum_part(n, k_part);
    const tn_stmt *begin = each_element(n, clear), *end = each_element(n, cpu_nest_result);
    if (n->partial) {
        begin =
            tn_if_stmt_of(ctx, tn_eq(ctx, k_part, tn_i64(ctx, 0)), begin, each_element(n, take_up));
        end = tn_if_stmt_of(ctx, tn_eq(ctx, k_part, tn_i64(ctx, g->turns_k - 1)), end,
                            each_element(n, put_down));
    }
    return tn_seqv(ctx, begin, sum, end, NULL);
}

/* The tiles of one group; vm, vn: its number. */
static const tn_stmt *
group(nest *n, const tn_expr *vm, const tn_expr *vn)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    const tn_expr *ko = cpu_nest_var(g, "k_part"), *im = cpu_nest_var(g, "tile_m"),
                  *in = cpu_nest_var(g, "tile_n");
    const tn_expr *vars[3] = {cpu_nest_var(g, "v_k"), cpu_nest_var(g, "v_m"),
                              cpu_nest_var(g, "v_n")};
    const tn_expr *extents[3] = {tn_i64(ctx, g->turns_k), tn_i64(ctx, g->gm), tn_i64(ctx, g->gn)},
                  *values[3] = {ko, im, in};
    const tn_expr *tm = tn_add(ctx, tn_muli(ctx, vm, g->gm), vars[1]);
    int64_t nr = g->nv * g->lanes;
    n->panel = tn_add(ctx, tn_muli(ctx, vn, g->gn), vars[2]);
    n->left_panel = tm;
    n->row_turn = vars[1];
    if (g->m != GEMM_NONE)
        n->at[g->m] = start(g, tm, g->mr, g->M, g->extent[g->m]);
    n->at[g->n] = start(g, n->panel, nr, g->N, g->extent[g->n]);
    n->slot = tn_add(ctx, tn_muli(ctx, vars[1], g->gn), vars[2]);
    const tn_expr *predicate = NULL;
    if (g->M < 0 || (g->M + g->mr - 1) / g->mr % g->gm)
        predicate = tn_lt_of(ctx, tn_add(ctx, tn_muli(ctx, vm, g->gm), im), tiles_m(g));
    if (g->N < 0 || tiles_n(g) % g->gn)
        predicate =
            tn_and(ctx, predicate,
                   tn_lt_of(ctx, tn_add(ctx, tn_muli(ctx, vn, g->gn), in), number_of_tiles_n(g)));
    const tn_stmt *body = n->tile(n, vars[0]); /* allocates, too */
    const tn_stmt *s = block(g, "tile", tn_list_of(ctx, vars, 3), tn_list_of(ctx, extents, 3),
                             tn_list_of(ctx, values, 3), 0, predicate, n->tile_allocs, body);
    s = cpu_nest_loop(g, im, tn_i64(ctx, g->gm), TN_FOR_SERIAL, s);
    s = cpu_nest_loop(g, in, tn_i64(ctx, g->gn), TN_FOR_SERIAL, s);
    return cpu_nest_loop(g, ko, tn_i64(ctx, g->turns_k), TN_FOR_SERIAL, s);
}

/* All groups of all products of a batch, in one parallel loop. */
static const tn_stmt *
groups(nest *n)
{
    cpu_gemm *g = n->g;
    tn_ctx *ctx = g->ctx;
    const tn_expr *vars[GEMM_MAX_RANK + 2], *extents[GEMM_MAX_RANK + 2], *values[GEMM_MAX_RANK + 2];
    uint32_t v = 0;
    for (uint32_t i = 0; i < g->rank; i++) {
        n->at[i] = tn_i64(ctx, 0);
        if (i == g->m || i == g->n || tn_is_int_const(g->extent[i], 1))
            continue;
        extents[v] = g->extent[i];
        vars[v++] = n->at[i] = cpu_nest_var(g, "v_b");
    }
    const tn_expr *vn = vars[v] = cpu_nest_var(g, "v_columns");
    extents[v++] = tn_ceildiv(ctx, number_of_tiles_n(g), tn_i64(ctx, g->gn));
    const tn_expr *vm = vars[v] = cpu_nest_var(g, "v_rows");
    extents[v++] = tn_ceildiv(ctx, tiles_m(g), tn_i64(ctx, g->gm));
    const tn_expr *p = cpu_nest_var(g, "group"), *total = tn_i64(ctx, 1);
    for (uint32_t i = v; i-- > 0;) {
        values[i] = tn_is_int_const(total, 1) ? p : tn_floordiv(ctx, p, total);
        if (i)
            values[i] = tn_floormod(ctx, values[i], extents[i]);
        total = tn_mul(ctx, total, extents[i]);
    }
    tn_list allocs = {0};
    if (g->turns_k > 1) {
        n->partial = tn_buffer_new(ctx, "partial",
                                   tn_listv(ctx, tn_i64(ctx, g->gm * g->gn),
                                            tn_i64(ctx, g->mr * g->nv * g->lanes), NULL),
                                   g->acc, NULL);
        allocs = tn_listv(ctx, n->partial, NULL);
    }
    const tn_stmt *s = group(n, vm, vn);
    s = block(g, "group", tn_list_of(ctx, vars, v), tn_list_of(ctx, extents, v),
              tn_list_of(ctx, values, v), -1, NULL, allocs, s);
    return cpu_nest_loop(g, p, total, TN_FOR_PARALLEL, s);
}

static const tn_node *
with_body(const cpu_gemm *g, tn_list allocs, tn_list parts)
{
    tn_ctx *ctx = g->ctx;
    tn_block root = {.name = "root", .allocs = allocs, .body = tn_seq_of(ctx, parts)};
    const tn_stmt *body =
        tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), tn_block_of(ctx, &root));
    const tn_prim_func *f = g->func;
    const tn_node *r = tn_prim_func_of(ctx, f->params, f->buffers, body, f->ret, f->attrs);
    return tn_is_error(r) ? NULL : r;
}

const tn_node *
cpu_nest_finish(cpu_nest *n)
{
    return with_body(n->g, (tn_list){0}, tn_listv(n->g->ctx, groups(n), NULL));
}

const tn_node *
cpu_gemm_write(cpu_gemm *g)
{
    tn_ctx *ctx = g->ctx;
    nest n = {.g = g, .tile = product_tile};
    n.acc = tn_buffer_new(ctx, "acc", tn_listv(ctx, tn_i64(ctx, g->mr * g->nv * g->lanes), NULL),
                          g->acc, "local");
    n.tile_allocs = tn_listv(ctx, n.acc, NULL);
    const tn_stmt *parts[3];
    const tn_node *allocs[2];
    uint32_t k = 0, a = 0;
    if (g->pack_left || !left_is_plain(g)) {
        parts[k++] = g->pack_left ? pack_left(&n) : copy_left(&n);
        allocs[a++] = n.left.panels;
    }
    if (!cpu_gemm_in_panels(g)) {
        plan_panels(&n);
        parts[k++] = pack_panels(&n);
        allocs[a++] = n.right.panels;
    }
    parts[k++] = groups(&n);
    return with_body(g, tn_list_of(ctx, allocs, a), tn_list_of(ctx, parts, k));
}
