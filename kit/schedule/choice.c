/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of schedule rules that can be tuned: a rule asks, whoever set a chooser answers. */
#include "tenon/core/ctx.h"
#include "tenon/kit/rule.h"

static const char key; /* its address names the chooser of a context */

const tnk_chooser *
tnk_rule_set_chooser(tn_ctx *ctx, const tnk_chooser *c)
{
    return tn_ctx_set_user(ctx, &key, (void *)(uintptr_t)c);
}

int64_t
tnk_rule_choice(tn_ctx *ctx, const char *name, const int64_t *options, uint32_t n,
                int64_t preferred)
{
    const tnk_chooser *c = tn_ctx_user(ctx, &key);
    if (!c)
        return preferred;
    int64_t v = c->choose(c->user, name, options, n, preferred);
    for (uint32_t i = 0; i < n; i++)
        if (options[i] == v)
            return v;
    return preferred;
}
