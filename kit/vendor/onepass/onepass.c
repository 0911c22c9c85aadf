/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* DropEqualOperands: the larger or smaller of a value and itself is the value.
 *
 *     lv = R.maximum(x, x)
 *     gv = R.add(lv, y)         ->  gv = R.add(x, y), once DeadCodeElimination has run
 *
 * The whole of a plugin with one pass: the rewrite, the pass, the descriptor. A pass gets an immutable module and returns a
 * new one, or the same where there was nothing to do; here the rewriter copies what changes. Cases: tests/.
 */
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

/* Called for each node after its children; NULL leaves it as it is. */
static const tn_node *
onepass_simplify(tn_rewriter *r, const tn_node *n)
{
    (void)r;
    if (!tn_is_call_to(n, "relax.maximum") && !tn_is_call_to(n, "relax.minimum"))
        return NULL;
    const tn_call *c = tn_as_call(n);
    return c->args.n == 2 && c->args.at[0] == c->args.at[1] ? c->args.at[0] : NULL;
}

static const tn_module *
onepass_run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_rewriter r = {.ctx = pc->ctx, .post = onepass_simplify};
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        if (!tn_is(f, TN_KIND_FUNCTION))
            continue;
        const tn_node *changed = tn_rewrite(&r, f);
        if (tn_is_error(changed))
            return NULL; /* the context has recorded why */
        if (changed != f)
            m = tn_module_set(pc->ctx, m, tn_module_name(m, i), changed);
    }
    return m;
}

static const tn_pass onepass_pass = {
    .base.size = sizeof(tn_pass),
    .base.name = "DropEqualOperands",
    .base.doc = "replaces the maximum or minimum of a value and itself by the value",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = onepass_run,
};
static const tn_pass *const passes[] = {&onepass_pass};

TN_PLUGIN(onepass, "0.1.0", "Apache-2.0 OR MIT-0", "one pass", .passes = passes, .n_passes = 1);
