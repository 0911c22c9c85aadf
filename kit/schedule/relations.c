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
