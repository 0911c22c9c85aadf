/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products with packed panels: recognizing them, and choosing the tile and the blocks.
 *
 *     for n0: panels[n0 // nr][k][0:nr] = B[k, n0:n0 + nr]            (parallel; constants are packed before)
 *     for group of rows, group of columns: (parallel)
 *         for part of k:
 *             for m0, n0 of the group:
 *                 acc[mr][nr] = 0, or what the last part left
 *                 for k: acc[i][...] += A[m0 + i, k] * panels[n0 // nr][k][...]
 *                 C[m0 + i, n0...] = epilogue(acc)
 *
 * A tile's accumulators stay in registers; a part of a panel stays in the first cache, a group's
 * rows of A in the second: all of them where they fit, so that B is read from afar once. While a panel is
 * used the next one is fetched. Rows of A that would share few sets of the second cache, being a large power
 * of two apart, are packed as well, [m0 // mr][k][0:mr], and those of the next tile fetched, too. Extents that the tile does not
 * divide are covered by moving the last tile back.
 */
#include "gemm.h"
#include "tenon/kit/rule.h"

enum {
    VECTORS_OF_PANEL = 2, /* of constant operands */
    LEAST_ROWS = 16,
    LEAST_WORK = 1 << 16,
    LEAST_SUM = 17,       /* of results that are stored one by one; shorter ones are unrolled */
    PACKED_COLUMNS = 256, /* that packing rows pays for */
    WAYS = 8,             /* of a second cache, at most */
    GROUPS = 16,          /* for threads to share */
    LINE = 16,            /* floats */
};

/* ---- recognizing ---- */

static const tn_expr *
without_casts(const tn_expr *e)
{
    while (e->kind == TN_KIND_CAST)
        e = ((const tn_cast *)e)->value;
    return e;
}

/* acc + left * right */
static bool
product_of(const tn_buffer_store *st, const tn_expr **l, const tn_expr **r)
{
    const tn_binary *sum = st->value->kind == TN_KIND_ADD ? tn_as_binary(st->value) : NULL;
    const tn_buffer_load *acc = sum ? tn_as_buffer_load(sum->a) : NULL;
    if (!acc || acc->buffer != st->buffer)
        return false;
    const tn_expr *rest = without_casts(sum->b);
    const tn_binary *mul = rest->kind == TN_KIND_MUL ? tn_as_binary(rest) : NULL;
    if (!mul || tn_uses(rest, st->buffer))
        return false;
    *l = mul->a;
    *r = mul->b;
    return true;
}

static bool
find_axes(cpu_gemm *g)
{
    const tn_list iters = g->sum->iters;
    if (g->store->indices.n > GEMM_MAX_RANK)
        return false;
    g->rank = g->store->indices.n;
    uint32_t spatial = 0, n_units = 0;
    const tn_expr *units[GEMM_MAX_RANK + 4];
    for (uint32_t i = 0; i < iters.n; i++) {
        const tn_iter_var *it = tn_as_iter_var(iters.at[i]);
        const tn_range *dom = tn_as_range(it->dom);
        tnb_dtype d = tn_dtype_of(it->var);
        if (!tn_is_int_const(dom->min, 0) || d.bits != 64)
            return false;
        if (it->iter_kind == TN_ITER_SPATIAL) {
            spatial++;
            bool found = false;
            for (uint32_t k = 0; k < g->rank; k++)
                if (g->store->indices.at[k] == it->var) {
                    found = g->axis[k] == NULL;
                    g->axis[k] = it->var;
                    g->extent[k] = dom->extent;
                }
            if (!found)
                return false;
        } else if (it->iter_kind != TN_ITER_REDUCE) {
            return false;
        } else if (tn_is_int_const(dom->extent, 1)) {
            if (n_units == GEMM_MAX_RANK)
                return false;
            units[n_units++] = it->var;
        } else if (g->k || !tn_int_value(dom->extent, &g->K)) {
            return false;
        } else {
            g->k = it->var;
        }
    }
    g->units = tn_list_of(g->ctx, units, n_units);
    return g->k && spatial == g->rank;
}

/* The last dimension has no known extent, and neighbours along it lie apart in its operand (a convolution with a stride): the
 * dimension before it that belongs to the other operand alone becomes the columns, although results then lie apart, where sums are
 * long enough for that. */
static bool
other_columns(cpu_gemm *g)
{
    const tn_expr *mine = tn_uses(g->left, g->axis[g->n]) ? g->left : g->right,
                  *other = mine == g->left ? g->right : g->left;
    const tn_expr *vars[2] = {g->axis[g->n], g->k};
    int64_t steps[2];
    if (g->K < LEAST_SUM || tn_uses(other, g->axis[g->n]) || !tn_uses(mine, g->axis[g->n]) ||
        !cpu_nest_steps(g->ctx, tn_arith_new(g->ctx), mine, vars, steps) || steps[0] == 1)
        return false;
    for (uint32_t i = g->n; i-- > 0;)
        if (tn_uses(other, g->axis[i]) && !tn_uses(mine, g->axis[i]) &&
            tn_int_value(g->extent[i], &g->N) && g->N > 1) {
            g->n = i;
            return true;
        }
    return false;
}

static bool
is_computed(const tn_expr *e)
{
    return !tn_is(without_casts(e), TN_KIND_BUFFER_LOAD);
}

bool
cpu_gemm_of_codes(const cpu_gemm *g)
{
    return is_computed(g->right);
}

/* Columns: the last dimension that is longer than 1 and belongs to one operand alone. Rows: the
 * longest of the other operand alone. */
static bool
choose_dims(cpu_gemm *g)
{
    const tn_expr *l = g->left, *r = g->right;
    g->m = g->n = GEMM_NONE;
    for (uint32_t i = g->rank; i-- > 0 && g->n == GEMM_NONE;)
        if (!tn_is_int_const(g->extent[i], 1))
            g->n = i;
    if (g->n == GEMM_NONE)
        return false;
    bool known = tn_int_value(g->extent[g->n], &g->N);
    if (!known && (is_computed(l) || is_computed(r)))
        g->N = -1;
    else if (!known && !other_columns(g))
        return false;
    if (tn_uses(l, g->axis[g->n])) {
        const tn_expr *t = l;
        l = r;
        r = t;
    }
    if (tn_uses(l, g->axis[g->n]) || !tn_uses(r, g->axis[g->n]) || !tn_uses(l, g->k) ||
        !tn_uses(r, g->k))
        return false;
    for (uint32_t i = 0; i < g->rank; i++) {
        int64_t e;
        if (!tn_uses(l, g->axis[i]) || tn_uses(r, g->axis[i]))
            continue;
        e = tn_int_value(g->extent[i], &e) ? e : -1;
        if (e == 1 || (g->m != GEMM_NONE && e >= 0 && (g->M < 0 || g->M >= e)))
            continue;
        g->m = i;
        g->M = e;
    }
    g->left = l;
    g->right = r;
    return true;
}

/* The one reader of the sums, element by element. */
static bool
find_last(cpu_gemm *g, tnk_sch *s, const tnk_item *reader)
{
    const tn_block *b = tnk_item_block(reader);
    if (!tnk_block_follows(s, reader, g->store->buffer) || b->iters.n != g->rank)
        return false;
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    for (uint32_t k = 0; k < g->rank; k++)
        if (!tn_is_var(st->indices.at[k]))
            return false;
    g->last = b;
    return true;
}

bool
cpu_gemm_find(cpu_gemm *g, tn_ctx *ctx, const tn_node *prim_func)
{
    *g = (cpu_gemm){.ctx = ctx, .func = tn_as_prim_func(prim_func), .K = 1};
    tnk_sch *s = cpu_may_reduce(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    if (!s)
        return false;
    tnk_sch_quiet(s);
    cpu_inline_cheap(s, CPU_KEEP_PADDING | CPU_INLINE_CODES);
    tnk_item *blocks[2];
    uint32_t n = tnk_sch_blocks(s, blocks, 2);
    if (n < 1 || n > 2 || !tnk_block_is_reduction(blocks[0]) || !tnk_block_output(blocks[0]))
        return false;
    g->sum = tnk_item_block(blocks[0]);
    g->store = tn_as_buffer_store(g->sum->body);
    const tn_buffer_store *init = g->sum->init ? tn_as_buffer_store(g->sum->init) : NULL;
    if (!g->store || !init || !tnb_dtype_eq(tn_as_buffer(g->store->buffer)->dtype, TNB_F32) ||
        !(tn_as_float_imm(init->value) && tn_as_float_imm(init->value)->value == 0) ||
        !product_of(g->store, &g->left, &g->right) || !find_axes(g) || !choose_dims(g))
        return false;
    g->acc = tn_as_buffer(g->store->buffer)->dtype;
    if (tnk_sch_is_param(s, g->store->buffer))
        return n == 1;
    return n == 2 && find_last(g, s, blocks[1]);
}

/* ---- choosing ---- */

static int64_t
turns(int64_t extent, int64_t tile)
{
    return (extent + tile - 1) / tile;
}

/* The tile with the least estimated cycles for one step of the reduction. */
static bool
choose_tile(cpu_gemm *g, int vector_bytes)
{
    int64_t registers = cpu_registers(vector_bytes), panel = g->nv;
    int64_t M = g->M < 0 ? 1 << 20 : g->M;
    double best = 1e30;
    for (int64_t nv = 1; nv <= 4; nv++)
        for (int64_t mr = 1; mr <= (registers == 32 ? 14 : 6); mr++) {
            if (mr * nv + nv + 1 > registers || nv * g->lanes > g->N || mr > M ||
                (panel && nv != panel))
                continue;
            double fmas = (double)(mr * nv) / 2, loads = (double)(mr + nv) / 2;
            double cycles = fmas > loads ? fmas : loads;
            cycles = (cycles < 4 ? 4 : cycles) + 0.6; /* latency; the loop */
            double time = cycles * (double)(turns(M, mr) * turns(g->N, nv * g->lanes));
            time *= 1 + 0.01 * loads; /* of two that are equal the one that loads less, */
            if (nv * g->lanes % LINE) /* and whole lines of the cache */
                time *= 1.01;
            if (time < best) {
                best = time;
                g->mr = mr;
                g->nv = nv;
            }
        }
    if (best < 1e30)
        cpu_tune_gemm_tile(g, registers, panel > 0);
    return best < 1e30;
}

/* Parts of k of at most so many elements; all equal. */
static int64_t
parts_of(int64_t k, int64_t most)
{
    int64_t least = turns(k, most);
    if (k <= 2 * most)
        return 1;
    for (int64_t n = least; n <= 2 * least + 8; n++)
        if (k % n == 0)
            return n;
    return 1;
}

/* Whether the rows are better packed: memory runs along something else, or parts of them, of kc elements, fall on less than
 * half of the sets of the second cache. */
static bool
packs_rows(cpu_gemm *g, int64_t kc)
{
    int64_t row, k, way = g->caches.l2 / WAYS, apart = 1;
    if (!cpu_gemm_left_steps(g, &row, &k))
        return false;
    if (k != 1 || row <= 0)
        return true;
    while (apart < way && row * 4 % (2 * apart) == 0)
        apart *= 2;
    return g->N >= PACKED_COLUMNS && 2 * kc * 4 < apart;
}

/* How many times as long as evenly shared groups the thread takes that has most of them. */
static double
imbalance(int64_t groups)
{
    return (double)(turns(groups, GEMM_SHARED_BY) * GEMM_SHARED_BY) / (double)groups;
}

/* Groups of at most so many columns of tiles, and of two at least: enough of them, shared evenly; few are divided by rows, too. */
static void
share_groups(cpu_gemm *g, int64_t tiles_m, int64_t tiles_n, int64_t columns)
{
    enum { MOST_PARTS = 4, LEAST_ROWS_OF_PART = 8 /* of tiles */ };
    int64_t down = turns(tiles_m, g->gm), parts = 1, few = 0;
    double least = 1e30;
    g->gn = columns;
    for (int64_t c = columns; c >= 2 && 2 * c >= g->gn; c--) {
        int64_t groups = down * turns(tiles_n, c);
        if (groups >= GROUPS && imbalance(groups) >= least - 1e-6)
            continue;
        least = groups < GROUPS ? 1e30 : imbalance(groups);
        few = groups < GROUPS ? groups : 0;
        g->gn = c;
    }
    for (int64_t p = 2; few && p <= MOST_PARTS && g->gm / p >= LEAST_ROWS_OF_PART; p++)
        if (imbalance(few * p) < imbalance(few * parts) - 1e-6)
            parts = p;
    g->gm = turns(g->gm, parts);
}

/* Parts of k, tiles of a group. A part of a panel takes the first cache, or two thirds of it beside packed rows. Where all rows
 * fit into the second cache they are one group, else equal groups of less than a third of it; so are columns. */
static void
choose_groups(cpu_gemm *g)
{
    int64_t nr = g->nv * g->lanes, most = g->caches.l1 / (nr * 4);
    int64_t tiles_m = g->M < 0 ? 1 << 20 : turns(g->M, g->mr), tiles_n = turns(g->N, nr);
    g->turns_k = parts_of(g->K, most);
    g->pack_left = packs_rows(g, g->K / g->turns_k);
    if (g->pack_left)
        g->turns_k = parts_of(g->K, most * 2 / 3);
    int64_t kc = g->K / g->turns_k, row = kc * 4 * g->mr;
    int64_t rows = g->caches.l2 * 5 / (g->pack_left ? 32 : 16) / row,
            columns = g->pack_left ? 16 : 8;
    rows = rows < 1 ? 1 : rows;
    /* equal groups */
    g->gm = turns(tiles_m, turns(tiles_m, rows));
    if (g->M < 0)
        g->gm = rows < 16 ? rows : 16;
    else if (g->M * kc * 4 <= g->caches.l2 * 3 / 4)
        g->gm = tiles_m;
    g->gn = columns;
    if (g->M >= 0)
        share_groups(g, tiles_m, tiles_n, columns);
    g->gn = turns(tiles_n, turns(tiles_n, g->gn));
    g->ahead = g->K * g->N * 4 > g->caches.l2;
    cpu_tune_gemm_groups(g);
}

/* Whether packing pays for so many rows. */
static bool
is_large(const cpu_gemm *g)
{
    return g->K >= 8 && (g->M < 0 || (g->M >= LEAST_ROWS && g->M * g->N * g->K >= LEAST_WORK));
}

int64_t
cpu_panel_width(tn_ctx *ctx, const tn_target *target)
{
    return VECTORS_OF_PANEL * cpu_lanes(cpu_vector_bytes(ctx, target), TNB_F32);
}

const tn_node *
cpu_schedule_gemm(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target)
{
    cpu_gemm g;
    int bytes = cpu_vector_bytes(ctx, target);
    if (!cpu_gemm_find(&g, ctx, prim_func) || g.m == GEMM_NONE || g.N < 0)
        return NULL;
    g.lanes = cpu_lanes(bytes, g.acc);
    g.caches = cpu_caches_of(target);
    g.nv = VECTORS_OF_PANEL;
    bool packed = cpu_gemm_in_panels(&g);
    g.nv = packed ? VECTORS_OF_PANEL : 0;
    static const int64_t pack_or_not[] = {0, 1};
    if (!packed && !(is_large(&g) && tnk_rule_choice(ctx, "pack", pack_or_not, 2, 1)))
        return NULL;
    if (!choose_tile(&g, bytes))
        return NULL;
    choose_groups(&g);
    const tn_node *f = cpu_gemm_write(&g), *rest = NULL;
    if (!f || g.M >= 0)
        return f;
    const tn_expr *rows = g.extent[g.m];
    const tn_expr *enough = tn_ge_of(ctx, rows, tn_i64(ctx, packed ? g.mr : LEAST_ROWS));
    if (packed) {
        g.mr = 1;
        rest = cpu_gemm_write(&g);
    } else {
        rest = cpu_gemm_of_codes(&g) ? cpu_schedule_gemv(ctx, prim_func, target) : NULL;
        rest = rest ? rest : cpu_schedule_single_rows(ctx, prim_func, target);
    }
    return rest ? cpu_either(ctx, enough, f, rest) : NULL;
}
