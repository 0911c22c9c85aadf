/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Matmul: matrix products, batched and transposed ones included, with an element-wise epilogue.
 * See gemm.c for large ones, contraction.c for the others. */
#include "rules.h"

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    const tn_node *f = cpu_schedule_gemm(ctx, prim_func, target);
    f = f ? f : cpu_schedule_gemv(ctx, prim_func, target);
    return f ? f : cpu_schedule_contraction(ctx, prim_func, target, 2, 4);
}

const tnk_rule cpu_rule_matmul = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Matmul",
    .base.doc = "Matrix products: register tiles over rows and vectors of columns.",
    .apply = apply,
};
