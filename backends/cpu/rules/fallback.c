/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.Fallback: right for every function. */
#include "cpu.h"

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)ctx, (void)target, (void)self;
    return prim_func;
}

const tnk_rule cpu_rule_fallback = {
    .size = sizeof(tnk_rule),
    .name = "cpu.Fallback",
    .doc = "Parallel outer loops; any function.",
    .apply = apply,
};
