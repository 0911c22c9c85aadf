/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of several results that do not depend on each other become one each, which threads can reduce together:
 *
 *     for i, k: s[i], q[i] = s[i] + A[i, k], q[i] + A[i, k] * A[i, k]
 *  =>
 *     for i, k: s[i] = s[i] + A[i, k]
 *     for i, k: q[i] = q[i] + A[i, k] * A[i, k]
 *
 * The second one finds what the first one read in a cache. An argmax, whose results depend on each other, stays.
 */
#include "../schedule/schedule_private.h"
#include "tenon/kit/lower.h"
#include "gpu.h"

typedef struct results {
    const tn_buffer_store *init[TNK_MAX_RESULTS],
        *update[TNK_MAX_RESULTS]; /* update: in terms of loads alone */
    uint32_t n;
} results;

/* Whether the block computes several results, each from itself alone. */
static bool
independent(tn_ctx *ctx, const tn_block *b, results *r)
{
    const tn_buffer_store *init[TNK_MAX_RESULTS];
    if (!b->init || b->allocs.n || b->match_buffers.n)
        return false;
    r->n = tnk_stores_of(ctx, b->body, r->update);
    if (r->n < 2 || tnk_stores_of(ctx, b->init, init) != r->n)
        return false;
    for (uint32_t i = 0; i < r->n; i++) {
        r->init[i] = NULL;
        for (uint32_t k = 0; k < r->n; k++) {
            if (k != i && (r->update[k]->buffer == r->update[i]->buffer ||
                           tn_uses(r->update[i]->value, r->update[k]->buffer)))
                return false;
            if (init[k]->buffer == r->update[i]->buffer)
                r->init[i] = init[k];
        }
        if (!r->init[i])
            return false;
    }
    return true;
}

/* A copy of the loops from `i` down to its one block, which computes result k alone. */
static tnk_item *
copy_of(tnk_sch *s, const tnk_item *i, const results *r, uint32_t k, tnb_ptrmap *map)
{
    tn_ctx *ctx = s->ctx;
    tnk_item *c = tnk_item_new(s, i->kind, NULL);
    c->loc = i->loc;
    if (i->kind == TNK_ITEM_LOOP) {
        c->min = tn_subst(ctx, i->min, map);
        c->extent = tn_subst(ctx, i->extent, map);
        c->var = tn_var_dtype(ctx, tn_var_name(i->var), tn_dtype_of(i->var));
        c->for_kind = i->for_kind;
        c->thread_tag = i->thread_tag;
        c->annotations = i->annotations;
        tnb_ptrmap_set(map, i->var, c->var);
        tnk_item_insert(s, c, 0, copy_of(s, i->children.at[0], r, k, map));
        return c;
    }
    tn_block b = *i->block;
    b.name = tn_strf(ctx, "%s_%u", b.name, k);
    b.init = TN_NODE(r->init[k]);
    b.body = TN_NODE(r->update[k]);
    c->block = tn_as_block(tn_fresh_copy(ctx, tn_block_of(ctx, &b), NULL));
    c->predicate = tn_subst(ctx, i->predicate, map);
    c->values = TNB_NEW_N(tn_arena(ctx), const tn_expr *, b.iters.n + 1);
    for (uint32_t v = 0; v < b.iters.n; v++)
        c->values[v] = tn_subst(ctx, i->values[v], map);
    tn_block fields = *c->block;
    tnk_block_set(s, c, &fields);
    return c;
}

void
gpu_separate(tnk_sch *s)
{
    tnk_item *blocks[GPU_MAX_BLOCKS];
    uint32_t n = tnk_sch_blocks(s, blocks, GPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < GPU_MAX_BLOCKS; i++) {
        results r;
        if (!independent(s->ctx, blocks[i]->block, &r))
            continue;
        tnk_item *top = blocks[i];
        while (top->parent->kind == TNK_ITEM_LOOP && top->parent->children.n == 1)
            top = top->parent;
        uint32_t at = tnk_item_index(top);
        tnk_item *parent = top->parent;
        for (uint32_t k = 0; k < r.n; k++) {
            tnb_ptrmap map;
            tnb_ptrmap_init(&map, tn_scratch(s->ctx));
            tnk_item_insert(s, parent, at + k, copy_of(s, top, &r, k, &map));
        }
        tnk_item_remove(top);
        tnk_sch_note(s, "# %s: %u results separated", blocks[i]->block->name, r.n);
    }
}
