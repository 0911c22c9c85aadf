/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Fallback: right for every function, symbolic shapes included. Cheap element-wise blocks are
 * inlined; every other block gets parallel outer loops, its reduction decomposed, and vectors
 * inside where its value is element-wise.
 */
#include "rules.h"

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    tnk_sch *s = tnk_sch_new(ctx, prim_func);
    if (!s)
        return prim_func; /* written by hand; it stays as it is */
    cpu_inline_cheap(s, 0);
    tnk_sch_quiet(s);
    int bytes = cpu_vector_bytes(ctx, target);
    tnk_item *blocks[CPU_MAX_BLOCKS];
    uint32_t n = tnk_sch_blocks(s, blocks, CPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < CPU_MAX_BLOCKS; i++)
        cpu_schedule_block(s, blocks[i], bytes);
    const tn_node *f = tnk_sch_finish(s);
    return f ? f : prim_func;
}

const tnk_rule cpu_rule_fallback = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Fallback",
    .base.doc =
        "Parallel outer loops, decomposed reductions, vectors for element-wise blocks; takes "
        "any function.",
    .apply = apply,
};
