/* SPDX-License-Identifier: Apache-2.0 */
/* compute_inline: a block's expression goes where its result is read.
 *
 *     B[vi] = A[vi] * 2
 *     C[vi] = B[vi] + 1         =>      C[vi] = A[vi] * 2 + 1
 */
#include "schedule_private.h"

/* Nodes that inlining a block may add to the program; tnk_can_inline says no above. */
enum { MOST_COPIED = 1024 };

/* Why the block cannot be inlined; NULL if it can. */
static const char *
obstacle(tnk_sch *s, const tnk_item *block)
{
    const tn_block *b = block->block;
    const tn_buffer_store *st = tnk_block_store(b);
    if (!tnk_block_is_injective(block))
        return "it is not one store of a value without reduction";
    if (tnk_sch_is_param(s, st->buffer))
        return "its result is a parameter of the function";
    if (!tn_is_int_const(block->predicate, 1))
        return "it is guarded by a predicate";
    for (uint32_t i = 0; i < st->indices.n; i++) {
        bool iter = false;
        for (uint32_t k = 0; k < b->iters.n; k++)
            iter |= tn_as_iter_var(b->iters.at[k])->var == st->indices.at[i];
        /* a constant index is fine in a dimension of extent 1 */
        if (!iter && !(tn_is(st->indices.at[i], TN_KIND_INT_IMM) &&
                       tn_is_int_const(tn_as_buffer(st->buffer)->shape.at[i], 1)))
            return "it does not store at its iterators";
        for (uint32_t k = 0; k < i; k++)
            if (iter && st->indices.at[k] == st->indices.at[i])
                return "it stores along a diagonal";
    }
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_expr *v = tn_as_iter_var(b->iters.at[k])->var;
        bool stored = false;
        for (uint32_t i = 0; i < st->indices.n; i++)
            stored |= st->indices.at[i] == v;
        if (!stored && tn_uses(st->value, v))
            return "its value uses an iterator that its result does not have";
    }
    uint32_t n_writers = 0;
    tnk_item *all[256];
    uint32_t n = tnk_sch_blocks(s, all, 256);
    for (uint32_t i = 0; i < n && i < 256; i++)
        for (uint32_t w = 0; w < all[i]->block->writes.n; w++)
            if (tn_as_buffer_region(all[i]->block->writes.at[w])->buffer == st->buffer)
                n_writers++;
    if (n > 256 || n_writers != 1)
        return "another block writes the same buffer";
    tnk_item *readers[64];
    uint32_t n_readers = tnk_sch_readers(s, st->buffer, readers, 64);
    if (n_readers == 0 || n_readers > 64)
        return "nothing reads its result";
    for (uint32_t i = 0; i < n_readers; i++)
        if (tnk_block_matches(readers[i]->block, st->buffer))
            return "a reader matches a part of its result";
    /* what it loads must not change between it and its readers: each buffer is written by one
     * block, before it */
    for (uint32_t r = 0; r < b->reads.n; r++) {
        const tn_node *buf = tn_as_buffer_region(b->reads.at[r])->buffer;
        bool before = true;
        for (uint32_t i = 0; i < n; i++) {
            if (all[i] == block)
                before = false;
            for (uint32_t w = 0; w < all[i]->block->writes.n && !before; w++)
                if (tn_as_buffer_region(all[i]->block->writes.at[w])->buffer == buf)
                    return "what it reads is written again later";
        }
    }
    return NULL;
}

/* ---- what it costs ---- */

typedef struct growth {
    const tn_buffer_store *store; /* of the block that may be inlined */
    uint32_t *uses; /* in its value, of the iterator that each dimension is stored at */
    uint32_t loads;
    uint64_t nodes; /* that its readers get more of */
} growth;

static tn_walk_step
count_nodes(void *user, const tn_node *n)
{
    (void)n;
    ++*(uint64_t *)user;
    return TN_WALK_ON;
}

static tn_walk_step
count_uses(void *user, const tn_node *n)
{
    growth *g = user;
    for (uint32_t i = 0; tn_is_var(n) && i < g->store->indices.n; i++)
        g->uses[i] += g->store->indices.at[i] == n;
    return TN_WALK_ON;
}

static tn_walk_step
count_load(void *user, const tn_node *n)
{
    growth *g = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || l->buffer != g->store->buffer)
        return TN_WALK_ON;
    g->loads++;
    for (uint32_t i = 0; i < l->indices.n; i++) {
        uint64_t size = 0;
        if (g->uses[i] > 1)
            tn_walk(l->indices.at[i], 0, count_nodes, NULL, &size);
        g->nodes += size * (g->uses[i] - (g->uses[i] > 0));
    }
    return TN_WALK_ON;
}

/* Whether the expression, written at each place that reads it, stays short. In a chain where each
 * block reads the one before twice, the text would double with every block; and so would an index
 * in a chain where each block uses its iterator twice, as reshapes do that split a dimension. */
static bool
stays_short(tnk_sch *s, const tnk_item *block)
{
    const tn_buffer_store *st = tnk_block_store(block->block);
    growth g = {.store = st, .uses = TNB_NEW_N(tn_scratch(s->ctx), uint32_t, st->indices.n + 1)};
    tn_walk(st->value, 0, count_uses, NULL, &g);
    tnk_item *readers[64];
    uint32_t n = tnk_sch_readers(s, st->buffer, readers, 64);
    for (uint32_t i = 0; i < n && i < 64; i++)
        tn_walk(readers[i]->block->body, 0, count_load, NULL, &g);
    if (g.loads > 1) {
        uint64_t size = 0;
        tn_walk(st->value, 0, count_nodes, NULL, &size);
        g.nodes += size * (g.loads - 1);
    }
    return g.nodes <= MOST_COPIED;
}

bool
tnk_can_inline(tnk_sch *s, tnk_item *block)
{
    return !s->broken && !obstacle(s, block) && stays_short(s, block);
}

typedef struct inliner {
    const tn_block *producer;
    const tn_buffer_store *store;
    bool bad;
} inliner;

/* Blocks that match parts of buffers keep what they say they read (tnk_block_set): what the expression loads takes the place of
 * its result. */
static tn_list
reads_instead(tn_ctx *ctx, const inliner *in, const tn_block *b)
{
    tn_list out = {0}, reads, writes;
    const tn_node *own = in->store->buffer;
    tn_block_regions(ctx, b, &reads, &writes);
    for (uint32_t i = 0; i < b->reads.n; i++)
        if (tn_as_buffer_region(b->reads.at[i])->buffer != own)
            out = tn_list_append(ctx, out, b->reads.at[i]);
    for (uint32_t i = 0; i < reads.n; i++) {
        bool loaded = false, there = false;
        for (uint32_t k = 0; k < in->producer->reads.n; k++)
            loaded |= tn_as_buffer_region(in->producer->reads.at[k])->buffer ==
                      tn_as_buffer_region(reads.at[i])->buffer;
        for (uint32_t k = 0; k < out.n; k++)
            there |= tn_equal(ctx, out.at[k], reads.at[i], false, NULL);
        if (loaded && !there)
            out = tn_list_append(ctx, out, reads.at[i]);
    }
    return out;
}

static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    inliner *in = r->user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_block *inner = tn_as_block(n);
    if (inner && inner->match_buffers.n) {
        tn_block b = *inner;
        b.reads = reads_instead(r->ctx, in, inner);
        return tn_block_of(r->ctx, &b);
    }
    if (!l || l->buffer != in->store->buffer)
        return NULL;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(r->ctx));
    for (uint32_t i = 0; i < l->indices.n; i++)
        if (tn_is_var(in->store->indices.at[i])) {
            tnb_dtype d = tn_dtype_of(in->store->indices.at[i]);
            in->bad |= tn_dtype_of(l->indices.at[i]).lanes != 1;
            tnb_ptrmap_set(&map, in->store->indices.at[i], tn_cast_to(r->ctx, d, l->indices.at[i]));
        }
    const tn_expr *value = tn_subst(r->ctx, in->store->value, &map);
    /* lets inside need variables of their own at each place */
    return tn_fresh_copy(r->ctx, value, NULL);
}

bool
tnk_compute_inline(tnk_sch *s, tnk_item *block)
{
    if (s->broken)
        return false;
    const char *why = obstacle(s, block);
    if (why)
        return tnk_sch_fail(s, block, "compute_inline", "%s", why);
    const char *ref = tnk_ref(s, block);
    inliner in = {block->block, tnk_block_store(block->block), false};
    tnk_item *readers[64];
    uint32_t n = tnk_sch_readers(s, in.store->buffer, readers, 64);
    for (uint32_t i = 0; i < n; i++) {
        tn_rewriter r = {.ctx = s->ctx, .user = &in, .post = replace};
        tn_block b = *readers[i]->block;
        b.body = tn_rewrite(&r, b.body);
        b.init = b.init ? tn_rewrite(&r, b.init) : NULL;
        if (in.bad)
            return tnk_sch_fail(s, readers[i], "compute_inline", "it reads vectors");
        if (b.match_buffers.n)
            b.reads = reads_instead(s->ctx, &in, &b);
        tnk_block_set(s, readers[i], &b);
    }
    const tn_node *buffer = in.store->buffer;
    uint32_t k = 0;
    for (uint32_t i = 0; i < s->allocs.n; i++)
        if (s->allocs.at[i] != buffer)
            s->allocs.at[k++] = s->allocs.at[i];
    s->allocs.n = k;
    tnk_item_remove(block);
    tnk_sch_note(s, "compute_inline(%s)", ref);
    return !s->broken;
}
