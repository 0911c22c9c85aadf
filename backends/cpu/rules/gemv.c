/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.GEMV: reductions along memory, such as a matrix times a vector or a mean over an image: eight
 * results at a time, so that eight sums run side by side and hide the latency of addition. Memory
 * is the limit then.
 */
#include "rules.h"
#include "tenon/kit/rule.h"

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    tnk_sch *s = cpu_may_reduce(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    cpu_tile c;
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    int bytes = cpu_vector_bytes(ctx, target);
    cpu_inline_cheap(s, CPU_KEEP_PADDING);
    if (!cpu_find_reduction(ctx, s, &c))
        return NULL;
    /* the last dimension that is longer than 1, as far as that is known */
    while (c.x > 0 && c.ext[c.x] <= 1)
        c.x--;
    if (c.ext[c.x] < 4 || c.reduce < 4)
        return NULL;
    static const int64_t sums[] = {4, 6, 8, 12, 16};
    uint32_t n = 0;
    while (n < sizeof sums / sizeof sums[0] && sums[n] <= c.ext[c.x])
        n++;
    c.tw = tnk_rule_choice(ctx, "sums", sums, n, c.ext[c.x] >= 8 ? 8 : 4);
    if (!cpu_apply_tile(&c))
        return NULL;
    return cpu_finish_rest(s, bytes);
}

const tnk_rule cpu_rule_gemv = {
    .base.size = sizeof(tnk_rule),
    .base.name = "cpu.GEMV",
    .base.doc =
        "Matrix times vector, and other reductions along memory: eight results side by side.",
    .apply = apply,
};
