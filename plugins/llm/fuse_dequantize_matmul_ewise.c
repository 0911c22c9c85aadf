/* SPDX-License-Identifier: Apache-2.0 */
/* FuseDequantizeMatmulEwise: what makes weights of codes becomes a part of the product that reads them.
 *
 *     lv = R.call_tir(cls.dequantize, (q, scales), ...)
 *     lv1 = R.call_tir(cls.NT_matmul, (x, lv), ...)
 *  -> lv1 = R.call_tir(cls.fused_dequantize_NT_matmul, (q, scales, x), ...)
 *
 * so that the weights need no memory of their own once the function is scheduled. The product may have element-wise steps behind it, as
 * FuseOps makes them. Programs are known by what they compute: one makes floats of codes and scales element by element, the other sums
 * products of its second argument. Weights that something else reads, too, stay; upstream goes by names, and makes a function of two
 * results of these. Works on dataflow blocks behind FuseTIR. Cases: tests/pass/FuseDequantizeMatmulEwise.
 */
#include "llm.h"
#include "dequantize.h"

static bool
check(tn_ctx *ctx, const tnk_match *m, void *self)
{
    const tn_prim_func *weights = llm_matched_program(m, "weights"),
                       *product = llm_matched_program(m, "product");
    (void)ctx;
    (void)self;
    return weights && product && !tnk_match_leaks(m) && llm_is_product_with(product, 1) &&
           llm_makes_weights(weights);
}

const tnk_fusion_pattern llm_dequantize_matmul = {
    .base.size = sizeof(tnk_fusion_pattern),
    .base.name = "llm.dequantize_matmul",
    .base.doc = "a product with weights that a program makes of codes",
    .pattern = "product:call_tir(\"*\", *, weights:call_tir(\"*\", ...), ...)",
    .check = check,
};

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return llm_fuse_matches(pc, m, &llm_dequantize_matmul, "FuseDequantizeMatmulEwise", NULL);
}

const tn_pass llm_fuse_dequantize_matmul_ewise = {
    .base.size = sizeof(tn_pass),
    .base.name = "FuseDequantizeMatmulEwise",
    .base.doc = "join what makes weights of codes with the products that read them",
    .keeps = TN_KEEPS_BITS,
    .needs = "op pattern",
    .run = run,
};
