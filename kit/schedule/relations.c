/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks feed which, which lie in a loop, which make the function's results. */
#include "schedule_private.h"

enum { MAX_BLOCKS = 1024 };

static bool
in_regions(tn_list regions, const tn_node *buffer)
{
    for (uint32_t i = 0; i < regions.n; i++)
        if (tn_as_buffer_region(regions.at[i])->buffer == buffer)
            return true;
    return false;
}

/* Whether `to` reads something that `from` writes. */
static bool
feeds(const tnk_item *from, const tnk_item *to)
{
    for (uint32_t i = 0; i < from->block->writes.n; i++)
        if (in_regions(to->block->reads, tn_as_buffer_region(from->block->writes.at[i])->buffer))
            return true;
    return false;
}

static uint32_t
related(tnk_sch *s, const tnk_item *block, bool producers, tnk_item **out, uint32_t max)
{
    tnk_item **all = TNB_NEW_N(tn_scratch(s->ctx), tnk_item *, MAX_BLOCKS);
    uint32_t n = tnk_sch_blocks(s, all, MAX_BLOCKS), found = 0;
    for (uint32_t i = 0; i < n && i < MAX_BLOCKS; i++) {
        if (all[i] == block || !(producers ? feeds(all[i], block) : feeds(block, all[i])))
            continue;
        if (found < max)
            out[found] = all[i];
        found++;
    }
    return found;
}

uint32_t
tnk_sch_producers(tnk_sch *s, const tnk_item *block, tnk_item **out, uint32_t max)
{
    return related(s, block, true, out, max);
}

uint32_t
tnk_sch_consumers(tnk_sch *s, const tnk_item *block, tnk_item **out, uint32_t max)
{
    return related(s, block, false, out, max);
}

uint32_t
tnk_sch_child_blocks(tnk_sch *s, const tnk_item *loop, tnk_item **out, uint32_t max)
{
    tnk_item **all = TNB_NEW_N(tn_scratch(s->ctx), tnk_item *, MAX_BLOCKS);
    uint32_t n = tnk_sch_blocks(s, all, MAX_BLOCKS), found = 0;
    for (uint32_t i = 0; i < n && i < MAX_BLOCKS; i++) {
        if (all[i] == loop || !tnk_item_contains(loop, all[i]))
            continue;
        if (found < max)
            out[found] = all[i];
        found++;
    }
    return found;
}

uint32_t
tnk_sch_output_blocks(tnk_sch *s, tnk_item **out, uint32_t max)
{
    tnk_item **all = TNB_NEW_N(tn_scratch(s->ctx), tnk_item *, MAX_BLOCKS);
    uint32_t n = tnk_sch_blocks(s, all, MAX_BLOCKS), found = 0;
    for (uint32_t i = 0; i < n && i < MAX_BLOCKS; i++) {
        bool makes = false;
        for (uint32_t w = 0; w < all[i]->block->writes.n; w++)
            makes |= tnk_sch_is_param(s, tn_as_buffer_region(all[i]->block->writes.at[w])->buffer);
        if (makes && found < max)
            out[found] = all[i];
        found += makes;
    }
    return found;
}

typedef struct follower {
    const tn_node *buffer;
    const tn_buffer_store *store;
    bool in_place;
} follower;

static tn_walk_step
look_at_load(void *user, const tn_node *n)
{
    follower *f = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || l->buffer != f->buffer)
        return TN_WALK_ON;
    for (uint32_t i = 0; i < l->indices.n; i++)
        f->in_place &= l->indices.at[i] == f->store->indices.at[i] ||
                       (tn_is_int_const(l->indices.at[i], 0) &&
                        tn_is_int_const(tn_as_buffer(l->buffer)->shape.at[i], 1));
    return TN_WALK_ON;
}

/* Whether an iterator runs from 0 to the extent. */
static bool
runs_over(tn_arith *arith, const tn_block *b, const tn_expr *v, const tn_expr *extent)
{
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_iter_var *it = tn_as_iter_var(b->iters.at[k]);
        const tn_range *dom = tn_as_range(it->dom);
        if (it->var == v)
            return tn_is_int_const(dom->min, 0) && tn_prove_eq(arith, dom->extent, extent);
    }
    return tn_is_int_const(v, 0) && tn_is_int_const(extent, 1);
}

bool
tnk_block_follows(tnk_sch *s, const tnk_item *block, const tn_node *buffer)
{
    const tn_block *b = block->block;
    const tn_buffer_store *st = tnk_block_is_injective(block) ? tnk_block_store(b) : NULL;
    const tn_list shape = tn_as_buffer(buffer)->shape;
    if (!st || !tn_is_int_const(block->predicate, 1) || st->indices.n != shape.n)
        return false;
    tn_arith *arith = tn_arith_new(s->ctx);
    for (uint32_t i = 0; i < shape.n; i++) {
        for (uint32_t k = 0; k < i; k++)
            if (st->indices.at[k] == st->indices.at[i] && tn_is_var(st->indices.at[i]))
                return false; /* a diagonal */
        if (!tn_prove_eq(arith, tn_as_buffer(st->buffer)->shape.at[i], shape.at[i]) ||
            !runs_over(arith, b, st->indices.at[i], shape.at[i]))
            return false;
    }
    follower f = {.buffer = buffer, .store = st, .in_place = true};
    tn_walk(st->value, 0, look_at_load, NULL, &f);
    return f.in_place;
}
