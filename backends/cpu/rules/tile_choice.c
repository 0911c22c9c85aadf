/* SPDX-License-Identifier: Apache-2.0 */
/* What a tuner may change of a register tile: its size in each dimension, the vectors' width, and
 * the order of the loops over tiles; of a product with packed panels its tile and groups. */
#include "gemm.h"
#include "tenon/kit/rule.h"

bool
cpu_tile_fits(const cpu_tile *c, int64_t full, int64_t lanes, int64_t tw, int64_t th, int64_t ty)
{
    int64_t X = c->ext[c->x], Y = c->y == UINT32_MAX ? 1 : c->ext[c->y],
            H = c->h == UINT32_MAX ? 1 : c->ext[c->h], fmas = ty * th * tw;
    if (c->in_scan && X % (tw * lanes) != 0 && X >= 2 * full)
        return false; /* whole panels */
    if (c->group && c->group % ty != 0)
        return false; /* rows of two groups would share no vector */
    /* the operand that is shared stays in registers */
    int64_t held = c->paired ? tw : th * tw, r = c->registers;
    return tw * lanes <= X && th <= H && ty <= Y && fmas <= (held == 1 ? r - 2 : r - 4) &&
           fmas + held + 1 <= r;
}

/* ORDER TILE */
enum { LANES, ROWS, LINES, VECTORS, N_SIZES };
static const char *const names[N_SIZES] = {"tile_lanes", "tile_y", "tile_h", "tile_vectors"};
enum { MAX_ROWS = CPU_MAX_TILE_ROWS, MAX_LINES = 6, MAX_VECTORS = 8 };

/* Whether the sizes from `from` on can be chosen so that the tile fits. */
static bool
can_fit(const cpu_tile *c, int64_t full, int64_t *size, int from)
{
    static const int64_t most[N_SIZES] = {0, MAX_ROWS, MAX_LINES, MAX_VECTORS};
    if (from == N_SIZES)
        return cpu_tile_fits(c, full, size[LANES], size[VECTORS], size[LINES], size[ROWS]);
    for (int64_t v = 1; v <= most[from]; v++) {
        size[from] = v;
        if (can_fit(c, full, size, from + 1))
            return true;
    }
    return false;
}

void
cpu_tune_tile(cpu_tile *c, int64_t full)
{
    const int64_t best[N_SIZES] = {c->lanes, c->ty, c->th, c->tw};
    int64_t chosen[N_SIZES] = {0};
    for (int k = 0; k < N_SIZES; k++) {
        int64_t options[MAX_ROWS], preferred = 0;
        uint32_t n = 0;
        for (int64_t v = k == LANES ? 4 : 1; v <= (k == LANES ? full : MAX_ROWS);
             v = k == LANES ? v * 2 : v + 1) {
            int64_t size[N_SIZES];
            memcpy(size, chosen, sizeof size);
            size[k] = v;
            if ((k == LINES && v > MAX_LINES) || (k == VECTORS && v > MAX_VECTORS) ||
                !can_fit(c, full, size, k + 1))
                continue;
            options[n++] = v;
            if (v <= best[k] || preferred == 0)
                preferred = v;
        }
        if (n == 0)
            return; /* the size that was chosen stays */
        chosen[k] = tnk_rule_choice(c->ctx, names[k], options, n, preferred);
    }
    c->lanes = chosen[LANES];
    c->ty = chosen[ROWS];
    c->th = chosen[LINES];
    c->tw = chosen[VECTORS];
}

void
cpu_tune_order(cpu_tile *c)
{
    static const int64_t plain[] = {CPU_ORDER_YHX, CPU_ORDER_HYX, CPU_ORDER_HXY},
                         blocks[] = {CPU_ORDER_YHX, CPU_ORDER_ROWS};
    bool of_blocks = c->h != UINT32_MAX && c->y != UINT32_MAX && c->h < c->y && c->y + 1 == c->x;
    if (c->y != UINT32_MAX)
        c->order = (int)tnk_rule_choice(c->ctx, "tile_order", of_blocks ? blocks : plain,
                                        of_blocks ? 2 : 3, c->order);
}

/* ---- products with packed panels ---- */

void
cpu_tune_gemm_tile(cpu_gemm *g, int64_t registers, bool in_panels)
{
    int64_t options[MAX_ROWS], best = g->mr;
    uint32_t n = 0;
    for (int64_t nv = 1; nv <= 4 && !in_panels; nv++)
        if (nv * g->lanes <= g->N && 2 * nv + 1 <= registers)
            options[n++] = nv;
    g->nv = tnk_rule_choice(g->ctx, "tile_vectors", options, n, g->nv);
    n = 0;
    for (int64_t mr = 1; mr <= MAX_ROWS && (g->M < 0 || mr <= g->M); mr++)
        if (mr * g->nv + g->nv + 1 <= registers)
            options[n++] = mr;
    while (best > 1 && best * g->nv + g->nv + 1 > registers)
        best--;
    g->mr = tnk_rule_choice(g->ctx, "tile_rows", options, n, best);
}

/* Powers of two up to `most`, and that. */
static int64_t
choose_count(tn_ctx *ctx, const char *name, int64_t most, int64_t preferred)
{
    int64_t options[16];
    uint32_t n = 0;
    for (int64_t v = 1; v < most && n < 15; v *= 2)
        options[n++] = v;
    options[n++] = most;
    return tnk_rule_choice(ctx, name, options, n, preferred);
}

void
cpu_tune_gemm_groups(cpu_gemm *g)
{
    enum { MOST_PARTS = 16, LEAST_PART = 64, MOST_ROWS = 256, MOST_COLUMNS = 64 };
    int64_t nr = g->nv * g->lanes, tiles_m = g->M < 0 ? MOST_ROWS : (g->M + g->mr - 1) / g->mr,
            tiles_n = (g->N + nr - 1) / nr, parts[MOST_PARTS];
    uint32_t n = 0;
    for (int64_t v = 1; v <= MOST_PARTS && g->K / v >= LEAST_PART; v++)
        if (g->K % v == 0)
            parts[n++] = v;
    g->turns_k = tnk_rule_choice(g->ctx, "parts_of_k", parts, n, g->turns_k);
    g->gm = choose_count(g->ctx, "group_rows", tiles_m < MOST_ROWS ? tiles_m : MOST_ROWS, g->gm);
    g->gn = choose_count(g->ctx, "group_columns", tiles_n < MOST_COLUMNS ? tiles_n : MOST_COLUMNS,
                         g->gn);
}
