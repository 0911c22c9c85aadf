/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Softmax: softmax, layer and RMS normalization, variance: several steps over the same rows, of
 * which some reduce. All steps are done for a row before the next one. See rows.c. */
#include "rules.h"

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    return cpu_schedule_rows(ctx, prim_func, target, true);
}

const tnk_rule cpu_rule_softmax = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.Softmax",
    .base.doc =
        "Softmax, normalizations and other steps over rows some of which reduce: row by row.",
    .apply = apply,
};
