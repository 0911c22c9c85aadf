/* SPDX-License-Identifier: Apache-2.0 */
/* What most rules do first: element-wise blocks go where their results are read. */
#include "rules.h"

typedef struct cost {
    uint32_t loads, calls;
    bool lazy, codes; /* codes: integers are made numbers */
} cost;

static tn_walk_step
count(void *user, const tn_node *n)
{
    cost *c = user;
    if (n->kind == TN_KIND_BUFFER_LOAD)
        c->loads++;
    if (n->kind == TN_KIND_CAST && tnb_dtype_is_float(tn_dtype_of(n)))
        c->codes |= !tnb_dtype_is_float(tn_dtype_of(((const tn_cast *)n)->value));
    if (n->kind == TN_KIND_DIV && tnb_dtype_is_float(tn_dtype_of(n)))
        c->calls++;
    if (n->kind == TN_KIND_CALL) {
        const tn_op *op = tn_call_op_of((const tn_call *)n);
        if (op && op->flags & TN_OP_LAZY)
            c->lazy = true;
        else
            c->calls++;
    }
    return TN_WALK_ON;
}

static cost
cost_of(const tnk_item *block)
{
    cost c = {0};
    tn_walk(tnk_item_block(block)->body, 0, count, NULL, &c);
    return c;
}

void
cpu_inline_cheap(tnk_sch *s, unsigned flags)
{
    tnk_item *blocks[CPU_MAX_BLOCKS], *readers[8];
    uint32_t n = tnk_sch_blocks(s, blocks, CPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < CPU_MAX_BLOCKS; i++) {
        if (!tnk_block_is_injective(blocks[i]) || !tnk_can_inline(s, blocks[i]))
            continue;
        uint32_t r = tnk_sch_readers(s, tnk_block_output(blocks[i]), readers, 8);
        cost c = cost_of(blocks[i]);
        bool reduced = false;
        for (uint32_t k = 0; k < r && k < 8; k++)
            reduced |= tnk_block_is_reduction(readers[k]);
        if (r > 1 && (c.calls > 0 || c.loads > 2))
            continue; /* computing it again costs more than keeping it */
        bool codes = (flags & CPU_INLINE_CODES) && c.codes && !c.lazy && r == 1;
        if (reduced && ((c.calls > 0 && !codes) || (c.lazy && (flags & CPU_KEEP_PADDING))))
            continue;
        (void)tnk_compute_inline(s, blocks[i]);
    }
    n = tnk_sch_blocks(s, blocks, CPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < CPU_MAX_BLOCKS; i++)
        if (tnk_block_is_injective(blocks[i]) || tnk_block_is_reduction(blocks[i]))
            (void)tnk_simplify_indices(s, blocks[i]);
}
