/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts of which buffers a block reads and writes, for blocks whose text does not say.
 *
 * Each access is widened over the loops inside the block; accesses of one buffer are joined to
 * their hull. An access whose bounds cannot be told counts as the whole extent. A block with an
 * init does not read what it writes. Regions of nested blocks count with their iteration variables
 * replaced.
 */
#include "reader.h"

typedef struct access {
    const tn_node *buffer;
    const tn_expr **lo, **hi; /* inclusive; hi NULL: the whole extent */
    const tn_expr *
        *extent; /* as written where no loop widens it and nothing was joined; else NULL */
} access;

typedef TNB_VEC(access) access_vec;

typedef struct regions {
    tn_ctx *ctx;
    tnb_arena *arena;
    const tnb_ptrmap *by_data; /* data Var -> Buffer */
    tn_arith *arith;
    TNB_VEC(const tn_for_loop *) loops;
    tnb_ptrmap inside;  /* buffers that the block itself makes */
    tnb_ptrmap lets;    /* Bind variables -> values */
    tnb_ptrmap matched; /* Buffer of a match_buffer -> its source region */
    access_vec reads, writes;
} regions;

/* ---- hulls ---- */
static const tn_expr *
smaller(regions *g, const tn_expr *a, const tn_expr *b, tn_kind kind)
{
    if (a == b ||
        tn_prove(g->arith, tn_bin(g->ctx, kind == TN_KIND_MIN ? TN_KIND_LE : TN_KIND_GE, a, b)))
        return a;
    if (tn_prove(g->arith, tn_bin(g->ctx, kind == TN_KIND_MIN ? TN_KIND_LE : TN_KIND_GE, b, a)))
        return b;
    return tn_bin(g->ctx, kind, a, b);
}

static void
add(regions *g, access_vec *to, const tn_node *buffer, const tn_expr **lo, const tn_expr **hi,
    const tn_expr **extent)
{
    uint32_t n = tn_as_buffer(buffer)->shape.n;
    for (uint32_t i = 0; i < to->n; i++) {
        access *a = &to->at[i];
        if (a->buffer != buffer)
            continue;
        for (uint32_t k = 0; k < n; k++) {
            bool same = a->extent[k] && extent[k] &&
                        tn_equal(g->ctx, a->lo[k], lo[k], false, NULL) &&
                        tn_equal(g->ctx, a->extent[k], extent[k], false, NULL);
            if (same)
                continue;
            a->extent[k] = NULL;
            if (!a->hi[k] || !hi[k]) {
                a->lo[k] = a->hi[k] = NULL;
                continue;
            }
            a->lo[k] = smaller(g, a->lo[k], lo[k], TN_KIND_MIN);
            a->hi[k] = smaller(g, a->hi[k], hi[k], TN_KIND_MAX);
        }
        return;
    }
    access a = {buffer, lo, hi, extent};
    TNB_PUSH(g->arena, *to, a);
}

static tn_walk_step
find_call(void *user, const tn_node *n)
{
    bool *found = user;
    *found |= n->kind == TN_KIND_CALL;
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

/* Bounds of [min, min + extent) over the loops inside the block; *as_is: the extent where none of
 * them matters. */
static void
widen(regions *g, const tn_expr *min, const tn_expr *extent, const tn_expr **lo, const tn_expr **hi,
      const tn_expr **as_is)
{
    uint32_t n = 0;
    const tn_expr **vars = TNB_NEW_N(g->arena, const tn_expr *, g->loops.n);
    const tn_expr **mins = TNB_NEW_N(g->arena, const tn_expr *, g->loops.n);
    const tn_expr **extents = TNB_NEW_N(g->arena, const tn_expr *, g->loops.n);
    if (g->lets.n) {
        min = tn_subst(g->ctx, min, &g->lets);
        extent = tn_subst(g->ctx, extent, &g->lets);
    }
    bool used = false;
    for (uint32_t i = 0; i < g->loops.n; i++) {
        const tn_for_loop *f = g->loops.at[i];
        used |= tn_uses(min, f->var) || tn_uses(extent, f->var);
        vars[n] = f->var;
        mins[n] = f->min;
        extents[n++] = f->extent;
    }
    *as_is = used ? NULL : extent;
    const tn_expr *last =
        tn_sub(g->ctx, tn_add(g->ctx, min, extent), tn_literal(g->ctx, tn_dtype_of(extent), 1));
    const tn_expr *unused;
    *lo = *hi = NULL;
    if (tn_dtype_of(min).lanes > 1 || tn_is_error(last))
        return;
    bool opaque = false;
    int64_t least, most;
    tn_walk(min, 0, find_call, NULL, &opaque);
    if (!used && opaque) { /* what a call gives is anything within the bounds that the rest sets */
        tnb_dtype d = tn_dtype_of(min);
        tn_bounds(g->arith, min, &least, &most);
        *as_is = NULL;
        if (least > TN_NEG_INF && most < TN_POS_INF && tn_is_int_const(extent, 1)) {
            *lo = tn_int_imm_of(g->ctx, d, least);
            *hi = tn_int_imm_of(g->ctx, d, most);
        }
        return;
    }
    if (!used) {
        *lo = min;
        *hi = last;
        return;
    }
    if (!tn_interval(g->arith, min, vars, mins, extents, n, lo, &unused) || !*lo ||
        !tn_interval(g->arith, last, vars, mins, extents, n, &unused, hi) || !*hi)
        *lo = *hi = NULL;
}

static void
touch(regions *g, access_vec *to, const tn_node *buffer, const tn_node *const *ranges, bool points);

/* A matched buffer stands for the region it was matched with. */
static bool
touch_source(regions *g, access_vec *to, const tn_node *buffer)
{
    const tn_buffer_region *from = tn_as_buffer_region(tnb_ptrmap_get(&g->matched, buffer));
    if (!from)
        return false;
    touch(g, to, from->buffer, from->ranges.at, false);
    return true;
}

static void
touch(regions *g, access_vec *to, const tn_node *buffer, const tn_node *const *parts, bool points)
{
    if (tnb_ptrmap_has(&g->inside, buffer) || touch_source(g, to, buffer))
        return;
    uint32_t n = tn_as_buffer(buffer)->shape.n;
    const tn_expr **lo = TNB_NEW_N(g->arena, const tn_expr *, n);
    const tn_expr **hi = TNB_NEW_N(g->arena, const tn_expr *, n);
    const tn_expr **as_is = TNB_NEW_N(g->arena, const tn_expr *, n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *min = parts[i], *extent;
        const tn_ramp *ramp = points ? tn_as_ramp(min) : NULL;
        int64_t stride;
        if (!points) {
            const tn_range *range = tn_as_range(parts[i]);
            min = range->min;
            extent = range->extent;
        } else if (ramp && tn_int_value(ramp->stride, &stride) && stride > 0) {
            min = ramp->start;
            extent = tn_int_imm_of(g->ctx, tn_dtype_of(min), stride * (ramp->lanes - 1) + 1);
        } else {
            tnb_dtype d = tn_dtype_of(min);
            d.lanes = 1;
            extent = tn_int_imm_of(g->ctx, d, 1);
        }
        widen(g, min, extent, &lo[i], &hi[i], &as_is[i]);
    }
    add(g, to, buffer, lo, hi, as_is);
}

static void
touch_all(regions *g, access_vec *to, const tn_node *buffer)
{
    if (tnb_ptrmap_has(&g->inside, buffer) || touch_source(g, to, buffer))
        return;
    uint32_t n = tn_as_buffer(buffer)->shape.n;
    const tn_expr **none = TNB_NEW_N(g->arena, const tn_expr *, (size_t)n * 3);
    add(g, to, buffer, none, none + n, none + 2 * (size_t)n);
}

/* ---- the walk ---- */
static void
nested_block(regions *g, const tn_block_realize *realize)
{
    const tn_block *b = tn_as_block(realize->block);
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, g->arena);
    for (uint32_t i = 0; i < b->iters.n; i++)
        tnb_ptrmap_set(&map, tn_as_iter_var(b->iters.at[i])->var, realize->values.at[i]);
    for (int write = 0; write < 2; write++) {
        tn_list l = write ? b->writes : b->reads;
        for (uint32_t i = 0; i < l.n; i++) {
            const tn_buffer_region *old = tn_as_buffer_region(l.at[i]);
            const tn_node **parts = TNB_NEW_N(g->arena, const tn_node *, old->ranges.n);
            for (uint32_t k = 0; k < old->ranges.n; k++)
                parts[k] = map.n ? tn_subst(g->ctx, old->ranges.at[k], &map) : old->ranges.at[k];
            touch(g, write ? &g->writes : &g->reads, old->buffer, parts, false);
        }
    }
}

static void
opaque_access(regions *g, const tn_call *c)
{
    const tn_node *buffer = c->args.n == 5 ? tnb_ptrmap_get(g->by_data, c->args.at[1]) : NULL;
    int64_t mask;
    if (!buffer || !tn_int_value(c->args.at[4], &mask))
        return;
    if (mask & 1)
        touch_all(g, &g->reads, buffer);
    if (mask & 2)
        touch_all(g, &g->writes, buffer);
}

static tn_walk_step
enter(void *user, const tn_node *n)
{
    regions *g = user;
    switch ((tn_kind)n->kind) {
    case TN_KIND_FOR:
        TNB_PUSH(g->arena, g->loops, (const tn_for_loop *)n);
        break;
    case TN_KIND_BIND:
        tnb_ptrmap_set(&g->lets, ((const tn_bind *)n)->var,
                       tn_subst(g->ctx, ((const tn_bind *)n)->value, &g->lets));
        break;
    case TN_KIND_ALLOC_BUFFER:
    case TN_KIND_DECL_BUFFER:
        tnb_ptrmap_set(&g->inside, ((const tn_alloc_buffer *)n)->buffer, n);
        return TN_WALK_SKIP;
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *s = (const tn_buffer_store *)n;
        touch(g, &g->writes, s->buffer, s->indices.at, true);
        break;
    }
    case TN_KIND_BUFFER_LOAD: {
        const tn_buffer_load *l = (const tn_buffer_load *)n;
        touch(g, &g->reads, l->buffer, l->indices.at, true);
        break;
    }
    case TN_KIND_BLOCK_REALIZE:
        nested_block(g, (const tn_block_realize *)n);
        return TN_WALK_SKIP;
    case TN_KIND_BUFFER:
        return TN_WALK_SKIP;
    case TN_KIND_CALL:
        if (tn_is_intrin(n, TN_INTRIN_tvm_access_ptr))
            opaque_access(g, (const tn_call *)n);
        break;
    default:
        break;
    }
    return TN_WALK_ON;
}

static tn_walk_step
leave(void *user, const tn_node *n)
{
    regions *g = user;
    if (n->kind == TN_KIND_FOR)
        g->loops.n--;
    return TN_WALK_ON;
}

static tn_list
finish(regions *g, const access *at, uint32_t n, const tnb_ptrmap *except)
{
    node_vec out = {0};
    for (uint32_t i = 0; i < n; i++) {
        const tn_buffer *b = tn_as_buffer(at[i].buffer);
        node_vec ranges = {0};
        if (except && tnb_ptrmap_has(except, at[i].buffer))
            continue;
        for (uint32_t k = 0; k < b->shape.n; k++) {
            const tn_expr *min, *extent;
            tnb_dtype d = tn_dtype_of(b->shape.at[k]);
            if (at[i].hi[k] && at[i].extent[k]) {
                min = at[i].lo[k];
                extent = at[i].extent[k];
            } else if (at[i].hi[k]) {
                min = tn_simplify(g->arith, at[i].lo[k]);
                extent =
                    tn_simplify(g->arith, tn_add(g->ctx, tn_sub(g->ctx, at[i].hi[k], at[i].lo[k]),
                                                 tn_literal(g->ctx, tn_dtype_of(min), 1)));
            } else {
                min = tn_int_imm_of(g->ctx, d, 0);
                extent = b->shape.at[k];
            }
            TNB_PUSH(g->arena, ranges, tn_range_of(g->ctx, min, extent));
        }
        TNB_PUSH(g->arena, out,
                 tn_buffer_region_of(g->ctx, at[i].buffer, (tn_list){ranges.at, ranges.n}));
    }
    return tn_list_of(g->ctx, out.at, out.n);
}

void
text_block_regions(tn_ctx *ctx, const tnb_ptrmap *by_data, const tn_block *b, tn_list *reads,
                   tn_list *writes)
{
    regions g = {.ctx = ctx,
                 .arena = tn_scratch(ctx),
                 .by_data = by_data,
                 .arith = tn_arith_new(ctx)};
    tnb_ptrmap_init(&g.inside, g.arena);
    tnb_ptrmap_init(&g.lets, g.arena);
    tnb_ptrmap_init(&g.matched, g.arena);
    for (uint32_t i = 0; i < b->allocs.n; i++)
        tnb_ptrmap_set(&g.inside, b->allocs.at[i], b);
    for (uint32_t i = 0; i < b->match_buffers.n; i++) {
        const tn_match_buffer *m = tn_as_match_buffer(b->match_buffers.at[i]);
        tnb_ptrmap_set(&g.matched, m->buffer, m->source);
    }
    tn_walk(b->body, 0, enter, leave, &g);
    if (b->init)
        tn_walk(b->init, 0, enter, leave, &g);
    tnb_ptrmap written;
    tnb_ptrmap_init(&written, g.arena);
    for (uint32_t i = 0; b->init && i < g.writes.n; i++)
        tnb_ptrmap_set(&written, g.writes.at[i].buffer, b);
    *reads = finish(&g, g.reads.at, g.reads.n, &written);
    *writes = finish(&g, g.writes.at, g.writes.n, NULL);
}

void
tn_block_regions(tn_ctx *ctx, const tn_block *b, tn_list *reads, tn_list *writes)
{
    tnb_ptrmap none;
    tnb_ptrmap_init(&none, tn_scratch(ctx));
    text_block_regions(ctx, &none, b, reads, writes);
}
