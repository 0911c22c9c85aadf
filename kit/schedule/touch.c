/* SPDX-License-Identifier: Apache-2.0 */
/* What the accesses of a block touch in one turn of a loop.
 *
 *     for i: for j: with T.block: vi = i; vj = j; ... A[vi, vj * 2]
 *
 * In a turn of i: A[i .. i, 0 .. 2 * (n_j - 1)]. Of memory that threads share (see tnk_scope_spans), what all of them touch.
 */
#include "schedule_private.h"

typedef struct touch {
    tnk_sch *s;
    tnk_touched *t;
    tn_arith *arith;
    const tnk_item *block;
    bool stores, bad;
    tnb_ptrmap map; /* iterators to their values */
} touch;

/* Bounds over the loops between the block and the loop, and the threads that share the buffer. */
static bool
relax(touch *w, const tn_expr **lo, const tn_expr **hi)
{
    const tn_expr *unused;
    const char *scope = tn_as_buffer(w->t->buffer)->scope;
    bool inside = true;
    for (const tnk_item *p = w->block->parent; p; p = p->parent) {
        inside &= p != w->t->loop;
        if (p->kind != TNK_ITEM_LOOP ||
            (!inside && !(w->t->by_all_threads && tnk_scope_spans(scope, p->thread_tag))))
            continue;
        if (tn_uses(*lo, p->var) &&
            (!tn_interval(w->arith, *lo, &p->var, &p->min, &p->extent, 1, lo, &unused) || !*lo))
            return false;
        if (tn_uses(*hi, p->var) &&
            (!tn_interval(w->arith, *hi, &p->var, &p->min, &p->extent, 1, &unused, hi) || !*hi))
            return false;
    }
    *lo = tn_simplify(w->arith, *lo);
    *hi = tn_simplify(w->arith, *hi);
    return true;
}

static const tn_expr *
pick(touch *w, const tn_expr *a, const tn_expr *b, bool least)
{
    tn_ctx *ctx = w->s->ctx;
    if (tn_prove(w->arith, tn_bin(ctx, least ? TN_KIND_LE : TN_KIND_GE, a, b)))
        return a;
    if (tn_prove(w->arith, tn_bin(ctx, least ? TN_KIND_LE : TN_KIND_GE, b, a)))
        return b;
    return tn_simplify(w->arith, least ? tn_min(ctx, a, b) : tn_max(ctx, a, b));
}

static void
join(touch *w, uint32_t d, const tn_expr *lo, const tn_expr *hi)
{
    tnk_touched *t = w->t;
    lo = tn_subst(w->s->ctx, lo, &w->map);
    hi = hi ? tn_subst(w->s->ctx, hi, &w->map) : lo;
    if (!relax(w, &lo, &hi)) {
        w->bad = true;
        return;
    }
    t->lo[d] = t->lo[d] ? pick(w, t->lo[d], lo, true) : lo;
    t->hi[d] = t->hi[d] ? pick(w, t->hi[d], hi, false) : hi;
    t->any = true;
}

/* Whether indices of the buffer use variables that the body binds itself. */
static tn_walk_step
find_scopes(void *user, const tn_node *n)
{
    const touch *w = user;
    bool binds = n->kind == TN_KIND_FOR || n->kind == TN_KIND_BLOCK || n->kind == TN_KIND_LET ||
                 n->kind == TN_KIND_BIND;
    return binds && tn_uses(n, w->t->buffer) ? TN_WALK_STOP : TN_WALK_ON;
}

static tn_walk_step
find_accesses(void *user, const tn_node *n)
{
    touch *w = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *st = tn_as_buffer_store(n);
    w->t->any |= !w->t->rank && /* no index says it */
                 (w->stores ? st && st->buffer == w->t->buffer : l && l->buffer == w->t->buffer);
    if (!w->stores && l && l->buffer == w->t->buffer)
        for (uint32_t i = 0; i < l->indices.n && !w->bad; i++)
            join(w, i, l->indices.at[i], NULL);
    if (w->stores && st && st->buffer == w->t->buffer)
        for (uint32_t i = 0; i < st->indices.n && !w->bad; i++)
            join(w, i, st->indices.at[i], NULL);
    return w->bad ? TN_WALK_STOP : TN_WALK_ON;
}

bool
tnk_touch(tnk_sch *s, tn_arith *arith, tnk_touched *t, const tnk_item *block, bool stores)
{
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    if (!t->lo) {
        t->rank = tn_as_buffer(t->buffer)->shape.n;
        t->lo = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, t->rank + 1);
        t->hi = TNB_NEW_N(tn_scratch(ctx), const tn_expr *, t->rank + 1);
    }
    touch w = {.s = s, .t = t, .arith = arith, .block = block, .stores = stores};
    tnb_ptrmap_init(&w.map, tn_scratch(ctx));
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_expr *v = tn_as_iter_var(b->iters.at[k])->var;
        tnb_ptrmap_set(&w.map, v, tn_cast_to(ctx, tn_dtype_of(v), block->values[k]));
    }
    if (tn_walk(b->body, 0, find_scopes, NULL, &w) && !b->match_buffers.n) {
        tn_walk(b->body, 0, find_accesses, NULL, &w);
        if (b->init)
            tn_walk(b->init, 0, find_accesses, NULL, &w);
        return !w.bad;
    }
    tn_list regions = stores ? b->writes : b->reads;
    for (uint32_t i = 0; i < regions.n; i++) {
        const tn_buffer_region *r = tn_as_buffer_region(regions.at[i]);
        for (uint32_t d = 0; d < r->ranges.n && r->buffer == t->buffer && !w.bad; d++) {
            const tn_range *g = tn_as_range(r->ranges.at[d]);
            const tn_expr *one = tn_int_imm_of(ctx, tn_dtype_of(g->extent), 1);
            join(&w, d, g->min, tn_add(ctx, g->min, tn_sub(ctx, g->extent, one)));
        }
    }
    return !w.bad;
}
