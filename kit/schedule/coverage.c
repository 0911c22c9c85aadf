/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a scheduled function may still write all that it wrote before.
 *
 *     before:  for i in 18, j in 32: Y[i, j] = ...             rows 0 .. 17, columns 0 .. 31
 *     after:   for i in 18:          Y[i, 0] = ...             column 0 alone: refused
 *
 * Before, a function's nests store at iterators over constant or symbolic domains, so that what they write is known exactly. Of the
 * scheduled function the bounds of all stores are taken, which are at least as wide as what it writes. Where these are
 * narrower than what was written, elements are missing for certain: a rule that writes a nest by itself has joined blocks of different
 * extents. What is not known counts as written, so that a right schedule is never refused.
 */
#include "schedule_private.h"

#include "tenon/core/pass.h"

enum { MAX_RANK = 16 };

typedef struct bounds {
    bool any, all;                      /* something is written; all of it may be */
    int64_t lo[MAX_RANK], hi[MAX_RANK]; /* inclusive */
} bounds;

/* One walk finds what is written to all parameters. */
typedef struct stores {
    tn_ctx *ctx;
    tn_arith *arith;
    tnb_ptrmap of; /* buffer, and its pointer -> bounds */
    bool exactly;  /* what may write less than its bounds counts as nothing, else as everything */
    bool unclear;  /* then: something around a store may skip turns */
    tnb_ptrmap around; /* then: variables of loops */
} stores;

static void
add_store(stores *q, const tn_buffer_store *st)
{
    bounds *b = tnb_ptrmap_get(&q->of, st->buffer);
    if (!b)
        return;
    if (st->indices.n > MAX_RANK) {
        b->all = true;
        return;
    }
    for (uint32_t i = 0; i < st->indices.n && q->exactly; i++)
        if (!tn_is_var(st->indices.at[i]) && !tn_is(st->indices.at[i], TN_KIND_INT_IMM))
            return;
    for (uint32_t i = 0; i < st->indices.n; i++) {
        int64_t lo, hi;
        tn_bounds(q->arith, st->indices.at[i], &lo, &hi);
        b->lo[i] = b->any && b->lo[i] < lo ? b->lo[i] : lo;
        b->hi[i] = b->any && b->hi[i] > hi ? b->hi[i] : hi;
    }
    b->any = true;
}

static tn_walk_step
meet_loop_var(void *user, const tn_node *n)
{
    stores *q = user;
    q->unclear |= tn_is_var(n) && tnb_ptrmap_has(&q->around, n);
    return q->unclear ? TN_WALK_STOP : TN_WALK_ON;
}

static void
enter_loop(stores *q, const tn_for_loop *f)
{
    if (q->exactly) {
        tn_walk(f->min, 0, meet_loop_var, NULL, q);
        tn_walk(f->extent, 0, meet_loop_var, NULL, q);
        tnb_ptrmap_set(&q->around, f->var, f->var);
    }
    tn_arith_range(q->arith, f->var, f->min, f->extent);
}

/* A block's iterators run over their domains if their values do and nothing guards it. */
static void
enter_block(stores *q, const tn_block_realize *r)
{
    const tn_block *b = tn_as_block(r->block);
    q->unclear |= !tn_is_int_const(r->predicate, 1);
    for (uint32_t i = 0; i < b->iters.n && i < r->values.n; i++) {
        const tn_iter_var *it = tn_as_iter_var(b->iters.at[i]);
        const tn_range *dom = tn_as_range(it->dom);
        int64_t lo, hi, from, to;
        if (q->exactly)
            tn_bounds(q->arith, r->values.at[i], &from, &to);
        tn_arith_range(q->arith, it->var, dom->min, dom->extent);
        if (!q->exactly)
            continue;
        tn_bounds(q->arith, it->var, &lo, &hi);
        q->unclear |= from > lo || to < hi;
    }
}

/* All of a buffer, for what it is or what its pointer is. */
static void
add_all(stores *q, const tn_node *n)
{
    bounds *b = tnb_ptrmap_get(&q->of, n);
    if (b)
        b->all = true;
}

static tn_walk_step
enter(void *user, const tn_node *n)
{
    stores *q = user;
    switch ((int)n->kind) {
    case TN_KIND_FOR:
        enter_loop(q, tn_as_for_loop(n));
        break;
    case TN_KIND_BLOCK_REALIZE:
        enter_block(q, tn_as_block_realize(n));
        break;
    case TN_KIND_IF_STMT:
    case TN_KIND_WHILE:
        q->unclear = true;
        break;
    case TN_KIND_BUFFER_STORE:
        add_store(q, tn_as_buffer_store(n));
        break;
    case TN_KIND_MATCH_BUFFER:
        /* a part that has a name of its own */
        add_all(q, tn_as_buffer_region(((const tn_match_buffer *)n)->source)->buffer);
        break;
    case TN_KIND_BUFFER_REGION: /* says what is read and written, and does neither */
    case TN_KIND_BUFFER_LOAD:   /* what computes an index does not write */
        return TN_WALK_SKIP;
    default:
        if (tn_is_var(n)) /* through a pointer */
            add_all(q, n);
    }
    return q->exactly && q->unclear ? TN_WALK_STOP : TN_WALK_ON;
}

/* What is written, by parameter; NULL: not known. */
static const bounds *
written(tn_ctx *ctx, const tn_prim_func *f, bool exactly)
{
    stores q = {.ctx = ctx, .arith = tn_arith_new(ctx), .exactly = exactly};
    bounds *all = TNB_NEW_N(tn_scratch(ctx), bounds, f->buffers.n + 1);
    tnb_ptrmap_init(&q.around, tn_scratch(ctx));
    tnb_ptrmap_init(&q.of, tn_scratch(ctx));
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        if (b) {
            tnb_ptrmap_set(&q.of, TN_NODE(b), &all[i]);
            tnb_ptrmap_set(&q.of, b->data, &all[i]);
        }
    }
    tn_walk(f->body, 0, enter, NULL, &q);
    return exactly && q.unclear ? NULL : all;
}

const char *
tnk_not_written(tn_ctx *ctx, const tn_node *before, const tn_node *after)
{
    const tn_prim_func *f = tn_as_prim_func(before), *g = tn_as_prim_func(after);
    const bounds *of_f = written(ctx, f, true), *of_g = of_f ? written(ctx, g, false) : NULL;
    if (!of_g)
        return NULL;
    for (uint32_t i = 0; i < f->buffers.n && i < g->buffers.n; i++) {
        const tn_node *was = f->buffers.at[i], *is = g->buffers.at[i];
        if (!tn_is(was, TN_KIND_BUFFER) || !tn_is(is, TN_KIND_BUFFER))
            continue;
        uint32_t rank = tn_as_buffer(was)->shape.n;
        bounds b = of_f[i], a = of_g[i];
        if (!b.any || b.all || rank != tn_as_buffer(is)->shape.n)
            continue;
        if (a.all)
            continue;
        if (!a.any)
            return tn_strf(ctx, "'%s' is not written any more", tn_as_buffer(was)->name);
        for (uint32_t d = 0; d < rank; d++)
            if (a.lo[d] > b.lo[d] || a.hi[d] < b.hi[d])
                return tn_strf(ctx,
                               "of dimension %u of '%s', where places %lld to %lld were written, "
                               "none beyond %lld to %lld is",
                               d, tn_as_buffer(was)->name, (long long)b.lo[d], (long long)b.hi[d],
                               (long long)a.lo[d], (long long)a.hi[d]);
    }
    return NULL;
}
