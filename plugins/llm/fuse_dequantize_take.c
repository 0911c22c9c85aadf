/* SPDX-License-Identifier: Apache-2.0 */
/* FuseDequantizeTake: a lookup makes numbers of the codes of the rows that it takes, alone.
 *
 *     lv = R.call_tir(cls.dequantize, (q, scales), ...)                 all rows of a table
 *     lv1 = R.call_tir(cls.take, (lv, ids), ...)
 *  -> lv1 = R.call_tir(cls.fused_dequantize_take, (q, scales, ids), ...)     whose block has the dequantization inlined
 *
 * Programs are known by what they compute, as for FuseDequantizeMatmulEwise. Upstream makes the function's extents and indices int32;
 * here they keep their dtype, and lowering narrows what it proves to fit. Works on dataflow blocks behind FuseTIR. Cases:
 * tests/pass/FuseDequantizeTake.
 */
#include "llm.h"
#include "dequantize.h"

#include "tenon/kit/schedule.h"

enum { MOST_BLOCKS = 64 };

static bool
check(tn_ctx *ctx, const tnk_match *m, void *self)
{
    const tn_prim_func *weights = llm_matched_program(m, "weights"),
                       *take = llm_matched_program(m, "take");
    (void)ctx;
    (void)self;
    return weights && take && !tn_is(tnk_match_get(m, "ids"), TN_KIND_CONSTANT) &&
           !tnk_match_leaks(m) && llm_is_lookup(take) && llm_makes_weights(weights);
}

/* The blocks whose results the last block reads go into it. */
static const tn_node *
inlined(tn_ctx *ctx, const tn_node *func)
{
    tnk_sch *s = tnk_sch_new(ctx, func);
    tnk_item *blocks[MOST_BLOCKS], *made[MOST_BLOCKS];
    uint32_t n = s ? tnk_sch_blocks(s, blocks, MOST_BLOCKS) : 0;
    if (!n || n > MOST_BLOCKS)
        return func;
    uint32_t n_made = tnk_sch_producers(s, blocks[n - 1], made, MOST_BLOCKS);
    for (uint32_t i = 0; i < n_made && i < MOST_BLOCKS; i++)
        if (tnk_can_inline(s, made[i]) && !tnk_compute_inline(s, made[i]))
            return NULL;
    return tnk_sch_finish(s);
}

const tnk_fusion_pattern llm_dequantize_take = {
    .base.size = sizeof(tnk_fusion_pattern),
    .base.name = "llm.dequantize_take",
    .base.doc = "rows taken of a table that a program makes of codes",
    .pattern = "take:call_tir(\"*\", weights:call_tir(\"*\", ...), ids, ...)",
    .check = check,
};

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return llm_fuse_matches(pc, m, &llm_dequantize_take, "FuseDequantizeTake", inlined);
}

const tn_pass llm_fuse_dequantize_take = {
    .base.size = sizeof(tn_pass),
    .base.name = "FuseDequantizeTake",
    .base.doc = "let lookups make numbers of the codes of the rows that they take",
    .keeps = TN_KEEPS_BITS,
    .needs = "op pattern",
    .run = run,
};
