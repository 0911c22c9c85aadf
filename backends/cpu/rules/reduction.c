/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Reduction: one reduction that is long, along memory or across it, with vectors of sums. Products
 * are for other rules, as are the short reductions of pooling windows. See rows.c. */
#include "rules.h"

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    return cpu_schedule_rows(ctx, prim_func, target, false);
}

const tnk_rule cpu_rule_reduction = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Reduction",
    .base.doc = "One long reduction: vectors of sums, parallel over results or over parts.",
    .apply = apply,
};
