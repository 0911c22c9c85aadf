/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Elementwise: functions without reductions, whose elements can be computed in any order. Dimensions
 * that all of a block's accesses run through alike become one, so that short ones do not make short
 * vectors; WidenLoop makes the vectors.
 *
 *     for n, c, h, w: B[n, c, h, w] = max(A[n, c, h, w], 0)   =>   for i0: (parallel) for i1 in 4096: ... (vectors)
 *
 * Where memory runs along another dimension than the result's last one (a transposition), the two are
 * cut into tiles of 16 by 16, of which every line of a cache that is touched is used up:
 *
 *     for i, j: B[i, j] = A[j, i]     =>     for i0, j0: (parallel) for i1 in 16: for j1 in 16: ...
 */
#include "rules.h"

enum {
    TILE = 16,       /* floats of a line; half of it was measured to be slower */
    CHUNK = 1 << 12, /* elements of a turn for a thread */
    AHEAD = 512,     /* elements that are fetched early */
};

typedef struct elements {
    tnk_sch *s;
    tn_ctx *ctx;
    int bytes; /* of a vector */
    cpu_caches caches;
} elements;

/* ---- how a block's loads run along its dimensions ---- */

typedef struct runs {
    tn_ctx *ctx;
    const tn_expr *const *var; /* of the dimensions */
    uint32_t n;
    int64_t place[CPU_MAX_LOOPS]; /* elements between neighbours in the result */
    bool alike[CPU_MAX_LOOPS];    /* every load runs as the result does, or not at all */
    bool none[CPU_MAX_LOOPS];     /* some load does not run along it */
    bool some[CPU_MAX_LOOPS];     /* some load does */
    uint32_t turned;              /* the dimension that a load has last; n: none */
} runs;

static tn_walk_step
look(void *user, const tn_node *n)
{
    runs *r = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (n->kind == TN_KIND_CALL) {
        const tn_op *op = tn_call_op_of((const tn_call *)n);
        for (uint32_t i = 0; i < r->n; i++)
            if (!op || (op->flags & TN_OP_LAZY && tn_uses(n, r->var[i])))
                r->alike[i] = false;
    }
    if (!l) {
        for (uint32_t i = 0; i < r->n; i++)
            r->alike[i] &= n != r->var[i]; /* a value of its own */
        return TN_WALK_ON;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        if (!cpu_load_uses(l, r->var[i])) {
            r->none[i] = true;
            continue;
        }
        int64_t step = cpu_step_along(r->ctx, l, r->var[i]);
        r->some[i] = true;
        r->alike[i] &= step == r->place[i];
        if (i + 1 < r->n && step == 1 && cpu_load_uses(l, r->var[r->n - 1]) &&
            cpu_step_along(r->ctx, l, r->var[r->n - 1]) != 1)
            r->turned = i;
    }
    return TN_WALK_SKIP;
}

static bool
look_at(const elements *e, const tnk_item *block, runs *r)
{
    const tn_buffer_store *st = tn_as_buffer_store(tnk_item_block(block)->body);
    const tn_list shape = tn_as_buffer(st->buffer)->shape;
    int64_t place = 1, extent;
    *r = (runs){.ctx = e->ctx, .var = st->indices.at, .n = st->indices.n};
    r->turned = r->n;
    if (r->n == 0 || r->n > CPU_MAX_LOOPS / 2)
        return false;
    for (uint32_t i = r->n; i-- > 0;) {
        if (!tn_is_var(st->indices.at[i]))
            return false;
        r->place[i] = place;
        r->alike[i] = place > 0;
        place = place > 0 && tn_int_value(shape.at[i], &extent) ? place * extent : -1;
    }
    tn_walk(st->value, 0, look, NULL, r);
    return true;
}

/* Whether dimension i may become one with the one behind it. */
static bool
goes_with_next(const runs *r, uint32_t i)
{
    return r->alike[i] && r->alike[i + 1] && (!r->some[i] || !r->none[i]) &&
           (!r->some[i + 1] || !r->none[i + 1]) && r->some[i] == r->some[i + 1];
}

/* ---- loops ---- */

static tnk_item *
fuse(tnk_sch *s, tnk_item *const *l, uint32_t n)
{
    tnk_item *f = l[0];
    for (uint32_t i = 1; f && i < n; i++)
        f = tnk_fuse(s, f, l[i]);
    return f;
}

/* Tiles of dimension y (along which a load runs through memory) and the last one. */
static bool
tile(elements *e, tnk_item **l, uint32_t n, uint32_t y, int64_t lanes)
{
    tnk_item *part[2], *order[CPU_MAX_LOOPS], *inner[2] = {NULL, NULL};
    uint32_t dims[2] = {y, n - 1}, k = 0;
    int64_t extent;
    tnk_item *outer[CPU_MAX_LOOPS];
    memcpy(outer, l, n * sizeof *l);
    for (int i = 0; i < 2; i++) {
        tnk_item *loop = l[dims[i]];
        if (!tnk_loop_extent(loop, &extent))
            return false;
        outer[dims[i]] = NULL;
        inner[i] = loop;
        if (extent <= TILE)
            continue;
        if (!tnk_split_overlap(e->s, loop, TILE, part))
            return false;
        outer[dims[i]] = part[0];
        inner[i] = part[1];
    }
    for (uint32_t i = 0; i < n; i++)
        if (outer[i])
            order[k++] = outer[i];
    uint32_t n_outer = k;
    order[k++] = inner[0];
    order[k++] = inner[1];
    if (!tnk_reorder(e->s, order, k))
        return false;
    /* vectors of what is gathered */
    if (lanes > 1 && tnk_loop_extent(inner[1], &extent) && extent % lanes == 0) {
        if (extent > lanes) {
            if (!tnk_split(e->s, inner[1], lanes, part) ||
                !tnk_set_kind(e->s, part[0], TN_FOR_UNROLLED))
                return false;
            inner[1] = part[1];
        }
        if (!tnk_set_kind(e->s, inner[1], TN_FOR_VECTORIZED))
            return false;
    }
    if (n_outer)
        cpu_parallel_outer(e->s, order, n_outer);
    return tnk_sch_ok(e->s);
}

static bool
schedule(elements *e, tnk_item *block)
{
    tnk_item *l[CPU_MAX_LOOPS], *part[2];
    const tn_block *b = tnk_item_block(block);
    uint32_t n = tnk_sch_loops(e->s, block, l, CPU_MAX_LOOPS);
    runs r;
    int64_t extent;
    if (b->iters.n == 0)
        return true;
    if (n != b->iters.n || !look_at(e, block, &r) || r.n != n)
        return false;
    for (uint32_t i = 0; i < n; i++) /* a loop for each dimension, in order */
        if (tn_as_iter_var(b->iters.at[i])->var != r.var[i])
            return false;
    const tn_expr *last = r.var[n - 1];
    if (r.turned < n)
        return tile(e, l, n, r.turned, cpu_wide_lanes(block, last, e->bytes));
    uint32_t from = n - 1;
    while (from > 0 && goes_with_next(&r, from - 1))
        from--;
    int64_t lanes = cpu_wide_lanes(block, last, e->bytes);
    tnk_item *row = fuse(e->s, l + from, n - from);
    if (!row)
        return false;
    bool known = tnk_loop_extent(row, &extent);
    if (known && extent >= 2 * CHUNK && lanes > 1) {
        if (!tnk_split_overlap(e->s, row, CHUNK, part))
            return false;
        l[from++] = part[0];
        row = part[1];
    }
    if ((!known || extent > 1) && lanes > 1) {
        while (known && lanes > extent && lanes > 4)
            lanes /= 2;
        if (!tnk_annotate(e->s, row, "tenon.wide", tn_i64(e->ctx, lanes)) ||
            !cpu_fetch_ahead(e->s, row, tn_as_buffer_store(b->body)->buffer, AHEAD, &e->caches))
            return false;
    }
    if (from)
        cpu_parallel_outer(e->s, l, from);
    else if (!known)
        (void)tnk_set_kind(e->s, row, TN_FOR_PARALLEL); /* its vectors are shared out */
    return tnk_sch_ok(e->s) && (lanes < 2 || cpu_store_past(e->s, block, &e->caches));
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    tnk_sch *s = cpu_is_noalias(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    tnk_item *all[CPU_MAX_BLOCKS];
    uint32_t n = s ? tnk_sch_blocks(s, all, CPU_MAX_BLOCKS) : 0;
    if (n == 0 || n > CPU_MAX_BLOCKS)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!tnk_block_is_injective(all[i]))
            return NULL;
    tnk_sch_quiet(s);
    cpu_inline_cheap(s, 0);
    elements e = {.s = s,
                  .ctx = ctx,
                  .bytes = cpu_vector_bytes(ctx, target),
                  .caches = cpu_caches_of(target)};
    n = tnk_sch_blocks(s, all, CPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n; i++)
        if (!cpu_is_alone(s, all[i]) || cpu_jumps(ctx, tnk_item_block(all[i])) ||
            !schedule(&e, all[i]))
            return NULL;
    return tnk_sch_finish(s);
}

const tnk_rule cpu_rule_elementwise = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Elementwise",
    .base.doc =
        "Functions without reductions: vectors through all dimensions alike, tiles of transposed "
        "ones.",
    .apply = apply,
};
