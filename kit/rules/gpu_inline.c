/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules for GPUs do first: element-wise blocks go where their results are read, and a reduction gets the block
 * that its loops are made for. */
#include "gpu.h"

enum { CHEAP_LOADS = 2 };

typedef struct cost {
    uint32_t loads, calls;
} cost;

static tn_walk_step
count(void *user, const tn_node *n)
{
    cost *c = user;
    if (n->kind == TN_KIND_BUFFER_LOAD)
        c->loads++;
    if (n->kind == TN_KIND_CALL) {
        const tn_op *op = tn_call_op_of((const tn_call *)n);
        c->calls += !op || !(op->flags & TN_OP_LAZY);
    }
    return TN_WALK_ON;
}

/* The reader computes one value for each element of the result, so nothing is computed again. */
static bool
reads_once(const tnk_item *reader, const tnk_item *block)
{
    return !tnk_block_is_reduction(reader) ||
           tnk_item_block(reader)->iters.n <= tnk_item_block(block)->iters.n;
}

void
gpu_inline(tnk_sch *s, bool all)
{
    tnk_item *blocks[GPU_MAX_BLOCKS], *readers[8];
    uint32_t n = tnk_sch_blocks(s, blocks, GPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < GPU_MAX_BLOCKS; i++) {
        if (!tnk_block_is_injective(blocks[i]) || !tnk_can_inline(s, blocks[i]))
            continue;
        uint32_t r = tnk_sch_readers(s, tnk_block_output(blocks[i]), readers, 8);
        cost c = {0};
        tn_walk(tnk_item_block(blocks[i])->body, 0, count, NULL, &c);
        bool again = r > 1;
        for (uint32_t k = 0; k < r && k < 8; k++)
            again |= !reads_once(readers[k], blocks[i]);
        if (all || !again || (c.calls == 0 && c.loads <= CHEAP_LOADS))
            (void)tnk_compute_inline(s, blocks[i]);
    }
    n = tnk_sch_blocks(s, blocks, GPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < GPU_MAX_BLOCKS; i++)
        if (tnk_block_is_injective(blocks[i]) || tnk_block_is_reduction(blocks[i]))
            (void)tnk_simplify_indices(s, blocks[i]);
}

/* Whether the block, element-wise, reads `buffer` at the very indices that it stores at. */
static bool
reads_in_place(const tnk_item *reader, const tn_node *buffer)
{
    const tn_block *b = tnk_item_block(reader);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    const tn_buffer_region *reg = NULL;
    if (!tnk_block_is_injective(reader))
        return false;
    for (uint32_t i = 0; i < b->reads.n; i++)
        if (tn_as_buffer_region(b->reads.at[i])->buffer == buffer)
            reg = tn_as_buffer_region(b->reads.at[i]);
    if (!reg || st->indices.n != reg->ranges.n)
        return false;
    for (uint32_t i = 0; i < st->indices.n; i++) {
        const tn_range *r = tn_as_range(reg->ranges.at[i]);
        bool unit = tn_is_int_const(tn_as_buffer(buffer)->shape.at[i], 1);
        if (!tn_is_int_const(r->extent, 1) || (r->min != st->indices.at[i] && !unit))
            return false;
    }
    return true;
}

tnk_item *
gpu_root_of(tnk_sch *s, tnk_item *reduction)
{
    const tn_node *out = tnk_block_output(reduction);
    if (!out)
        return NULL;
    if (!tnk_sch_is_param(s, out)) {
        tnk_item *r[8], *one = NULL;
        uint32_t all = tnk_sch_readers(s, out, r, 8), n = 0;
        for (uint32_t i = 0; i < all && i < 8; i++)
            if (r[i] != reduction) {
                one = r[i];
                n++;
            }
        if (n == 1 && all <= 8 && reads_in_place(one, out))
            return one;
    }
    return tnk_cache_write(s, reduction, "local");
}
