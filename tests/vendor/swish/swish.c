/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* FindSwish: a value times its sigmoid is one operator.
 *
 *     lv = R.sigmoid(x)
 *     y = R.multiply(x, lv)     ->   y = R.nn.silu(x)
 *
 * FuseOpsByPattern groups what the plugin's pattern matches into functions that are named after it; calls of those become
 * calls of the operator. What a group computes on the way must not be needed elsewhere.
 */
#include <string.h>

#include "tenon/core/op.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/pattern.h"

static bool
check(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx, (void)self;
    return !tnk_match_leaks(m);
}

static const tnk_fusion_pattern silu = {
    .base.size = sizeof(tnk_fusion_pattern),
    .base.name = "swish.silu",
    .base.doc = "a value times its sigmoid",
    .pattern = "multiply(x, sigmoid(x)) | multiply(sigmoid(x), x)",
    .check = check,
};

/* A call of such a function is one of the operator. */
static const tn_node *
to_operator(tn_rewriter *r, const tn_node *n)
{
    const tn_call *c = tn_as_call(n);
    const tn_function *f =
        c && tn_is(c->op, TN_KIND_GLOBAL_VAR)
            ? tn_as_function(tn_module_get(r->user, tn_as_global_var(c->op)->name))
            : NULL;
    if (!f || strcmp(tn_dict_str(f->attrs, "Composite", ""), silu.base.name) != 0)
        return NULL;
    return tn_call_op(r->ctx, "relax.nn.silu", c->args, NULL);
}

static const tn_module *
passes(const tn_pass_ctx *pc, const tn_module *m, const char *list)
{
    tn_pass_list l = {0};
    if (!tn_pass_list_parse(pc->ctx, list, "FindSwish", &l))
        return NULL;
    tn_pass_run run = {.target = pc->target, .config = pc->config, .opt_level = pc->opt_level};
    return tn_run_passes(pc->ctx, m, &l, &run);
}

static const tn_module *
find_swish(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_module *grouped =
        passes(pc, m, "FuseOpsByPattern{patterns=[\"swish.*\"], bind_constants=false}");
    if (!grouped || grouped == m)
        return grouped;
    tn_rewriter r = {.ctx = pc->ctx, .user = (void *)(uintptr_t)grouped, .post = to_operator};
    m = grouped;
    for (uint32_t i = 0; i < grouped->names.n; i++) {
        const tn_node *f = tn_rewrite(&r, grouped->funcs.at[i]);
        if (tn_is_error(f))
            return NULL;
        m = tn_module_set(pc->ctx, m, tn_module_name(grouped, i), f);
    }
    return passes(pc, m, "DeadCodeElimination"); /* the functions that nobody calls any more */
}

static const tn_pass pass = {
    .base.size = sizeof(tn_pass),
    .base.name = "FindSwish",
    .base.doc = "replaces a value times its sigmoid by one operator",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = find_swish,
    .needs = "op pattern pass",
};
static const tn_pass *const all_passes[] = {&pass};
static const tnk_fusion_pattern *const patterns[] = {&silu};

TN_PLUGIN(swish, "0.1.0", "Apache-2.0 OR MIT-0", "finds x * sigmoid(x)", .passes = all_passes,
          .n_passes = 1, .patterns = patterns, .n_patterns = 1);
