/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Conv2d: convolutions of any group count in NCHW, with padding before and an element-wise
 * epilogue. See contraction.c. */
#include "rules.h"

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    const tn_node *f = cpu_schedule_pixels(ctx, prim_func, target);
    return f ? f : cpu_schedule_contraction(ctx, prim_func, target, 4, 5);
}

const tnk_rule cpu_rule_conv2d = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Conv2d",
    .base.doc = "Convolutions: register tiles over output channels, rows and vectors of columns.",
    .apply = apply,
};
