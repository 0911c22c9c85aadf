/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Recurrent: programs with a serial loop over steps (T.axis.scan), such as recurrent layers.
 *
 *     for d: for t:                                 for d: for t:
 *         for b, j, k: sums[d, b, j] += ...             for b, j0: (parallel when a step is long)
 *         for b, j: gates[d, b, j] = sums + x     =>        acc = 0; for k: acc[...] += ...; gates[...] = acc + x
 *         for b, h: cell                                for b, h0: cell on a vector
 *
 * Where a step is short its parts stay on one thread, and the loops around the steps are parallel
 * instead: directions. Whether a step is long can depend on the batch, which is looked at as it
 * runs.
 */
#include "rules.h"

enum { LONG_STEP = 200000 /* products: what pays for waking the team twice */ };

static bool
scans(const tnk_item *block)
{
    const tn_block *b = tnk_item_block(block);
    for (uint32_t i = 0; i < b->iters.n; i++)
        if (tn_as_iter_var(b->iters.at[i])->iter_kind == TN_ITER_SCAN)
            return true;
    return false;
}

/* The loops around every block within the loop over steps: that one and those around it. 0: there
 * is none. */
static uint32_t
shared_loops(tnk_sch *s, tnk_item **blocks, uint32_t n, tnk_item **shared)
{
    uint32_t n_shared = 0;
    for (uint32_t i = 0; i < n; i++) {
        tnk_item *l[CPU_MAX_LOOPS];
        uint32_t depth = tnk_sch_loops(s, blocks[i], l, CPU_MAX_LOOPS);
        if (!scans(blocks[i]) || tnk_block_is_reduction(blocks[i]) || depth > CPU_MAX_LOOPS)
            continue;
        for (uint32_t k = n_shared; k < depth; k++)
            if (tnk_loop_reduces(l[k], blocks[i])) {
                n_shared = k + 1;
                memcpy(shared, l, n_shared * sizeof *l);
            }
    }
    return n_shared;
}

static bool
is_within(tnk_sch *s, tnk_item *block, tnk_item *const *shared, uint32_t n_shared)
{
    tnk_item *l[CPU_MAX_LOOPS];
    uint32_t n = tnk_sch_loops(s, block, l, CPU_MAX_LOOPS);
    return n >= n_shared && n <= CPU_MAX_LOOPS && l[n_shared - 1] == shared[n_shared - 1];
}

/* Vectors along the last loop. The block may update what it reads, so that no element is computed
 * twice. */
static void
vectorize(tnk_sch *s, tnk_item *block, uint32_t n_shared, int vector_bytes)
{
    tnk_item *l[CPU_MAX_LOOPS], *part[2];
    uint32_t n = tnk_sch_loops(s, block, l, CPU_MAX_LOOPS);
    const tn_block *b = tnk_item_block(block);
    if (!b->writes.n)
        return;
    int64_t e, lanes = cpu_lanes(vector_bytes,
                                 tn_as_buffer(tn_as_buffer_region(b->writes.at[0])->buffer)->dtype);
    if (n <= n_shared || lanes < 2 || b->init || tnk_block_is_reduction(block) ||
        !tnk_loop_extent(l[n - 1], &e) || e < lanes)
        return;
    if (tnk_split(s, l[n - 1], lanes, part))
        (void)tnk_set_kind(s, part[1], TN_FOR_VECTORIZED);
}

/* The init of a reduction that has no tile. */
static void
decompose(tnk_sch *s, tnk_item *block)
{
    tnk_item *l[CPU_MAX_LOOPS];
    uint32_t n = tnk_sch_loops(s, block, l, CPU_MAX_LOOPS);
    for (uint32_t i = 0; i < n && i < CPU_MAX_LOOPS; i++)
        if (tnk_loop_reduces(l[i], block)) {
            (void)tnk_decompose_reduction(s, block, l[i]);
            return;
        }
}

/* Products of one turn of the tiles' loops together; extents that are not known count as 1. */
static double
step_work(const cpu_tile *c, uint32_t first_dim)
{
    double n = c->reduce;
    for (uint32_t i = first_dim; i <= c->x; i++)
        n *= c->ext[i] > 0 ? (double)c->ext[i] : 1;
    return n;
}

/* The tiles of a step on several threads, if there are enough of them. */
static void
share_tiles(tn_ctx *ctx, tnk_sch *s, const cpu_tile *c)
{
    double tile = (double)(c->ty * c->th * c->tw * c->lanes) * c->reduce;
    int64_t least = (int64_t)(LONG_STEP / tile) + 2;
    tnk_item *l = c->outer[c->shared];
    for (uint32_t i = c->shared + 1; i < c->n_outer; i++)
        if (!(l = tnk_fuse(s, l, c->outer[i])))
            return;
    int64_t turns;
    if (tnk_loop_extent(l, &turns) && turns < least)
        return;
    (void)(tnk_annotate(s, l, "tenon.parallel_from", tn_i64(ctx, least)) &&
           tnk_set_kind(s, l, TN_FOR_PARALLEL));
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    tnk_sch *s = cpu_is_noalias(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    tnk_item *blocks[CPU_MAX_BLOCKS], *shared[CPU_MAX_LOOPS];
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    uint32_t n = tnk_sch_blocks(s, blocks, CPU_MAX_BLOCKS), n_tiles = 0;
    uint32_t n_shared = n <= CPU_MAX_BLOCKS ? shared_loops(s, blocks, n, shared) : 0;
    if (!n_shared)
        return NULL;
    int bytes = cpu_vector_bytes(ctx, target);
    cpu_tile tiles[4];
    double work = 0;
    bool in_tile[CPU_MAX_BLOCKS] = {false};
    for (uint32_t i = 0; i < n; i++) {
        if (!tnk_block_is_reduction(blocks[i]) || !is_within(s, blocks[i], shared, n_shared))
            continue;
        if (n_tiles < 4 && cpu_tile_in_scan(ctx, s, blocks[i], n_shared, target, &tiles[n_tiles])) {
            work += step_work(&tiles[n_tiles++], n_shared - 1);
            in_tile[i] = true;
            if (i + 1 < n)
                in_tile[i + 1] = true; /* its reader, where the tile is */
        } else if (tnk_sch_ok(s)) {
            decompose(s, blocks[i]);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (!in_tile[i] && is_within(s, blocks[i], shared, n_shared))
            vectorize(s, blocks[i], n_shared, bytes);
    int64_t around = 1;
    bool several = n_shared > 1 && (!tnk_loop_extent(shared[0], &around) || around > 1);
    if (several && work < LONG_STEP)
        (void)tnk_set_kind(s, shared[0], TN_FOR_PARALLEL);
    else
        for (uint32_t i = 0; i < n_tiles; i++)
            share_tiles(ctx, s, &tiles[i]);
    return tnk_sch_ok(s) ? cpu_finish_rest(s, bytes) : NULL;
}

const tnk_rule cpu_rule_recurrent = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Recurrent",
    .base.doc = "Serial loops over steps: tiles for the products of a step, vectors for the rest.",
    .apply = apply,
};
