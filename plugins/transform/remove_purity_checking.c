/* SPDX-License-Identifier: Apache-2.0 */
/* RemovePurityChecking: pure functions are marked relax.force_pure, so that later passes may insert impure calls; wrappers that only claim
 * purity are taken off.
 *
 *     R.call_pure_packed("f", x, ty_args=(T,))       R.call_packed("f", x, ty_args=(T,))
 *     R.invoke_pure_closure(c, (x,), ty_args=T)      R.invoke_closure(c, (x,), ty_args=T)
 *
 * Works on nested functions too; functions marked impure stay so. A dataflow block may not hold what is left of a
 * wrapper: ToNonDataflow comes before. Cases: tests/pass/RemovePurityChecking.
 */
#include "transform.h"

#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

static const tn_node *
unwrap(tn_rewriter *r, const tn_node *n)
{
    tn_ctx *ctx = r->ctx;
    const tn_function *fn = tn_as_function(n);
    if (fn && fn->pure && !tn_dict_get(fn->attrs, "relax.force_pure"))
        return tn_func_with_attr(ctx, n, "relax.force_pure", tn_bool(ctx, true));
    const tn_call *c = tn_is_call_to(n, "relax.call_pure_packed");
    if (!c)
        c = tn_is_call_to(n, "relax.call_inplace_packed");
    if (c) {
        const tn_node *attrs = tn_dict_set(ctx, c->attrs, "inplace_indices", NULL);
        const tn_dict *d = tn_as_dict(attrs);
        tn_list args = {c->args.at + 1, c->args.n - 1};
        return tn_call_of(ctx, c->args.at[0], args, d && d->items.n ? attrs : NULL, c->ty_args,
                          n->type);
    }
    c = tn_is_call_to(n, "relax.invoke_pure_closure");
    if (!c)
        return NULL;
    const tn_op *invoke = tn_find_op(tn_ctx_registry(ctx), "relax.invoke_closure", NULL);
    return tn_call_of(ctx, tn_op_ref_of(ctx, invoke), c->args, c->attrs, c->ty_args, n->type);
}

static bool
is_wrapper(const tn_node *n)
{
    return tn_is_call_to(n, "relax.call_pure_packed") ||
           tn_is_call_to(n, "relax.call_inplace_packed") ||
           tn_is_call_to(n, "relax.invoke_pure_closure");
}

/* Stops after an error at a wrapper in a dataflow block. */
static tn_walk_step
refuse_in_dataflow(void *user, const tn_node *n)
{
    tn_ctx *ctx = user;
    const tn_bindings_block *b = tn_is(n, TN_KIND_DATAFLOW_BLOCK) ? tn_as_bindings_block(n) : NULL;
    for (uint32_t i = 0; b && i < b->bindings.n; i++) {
        const tn_var_binding *v = tn_as_var_binding(b->bindings.at[i]);
        if (!v || !is_wrapper(v->value))
            continue;
        tn_error(ctx, v->base.loc, TNB_INVALID,
                 "a dataflow block cannot hold this call without its mark of purity");
        tnb_diag_hint(tn_diags(ctx), "ToNonDataflow comes before RemovePurityChecking");
        return TN_WALK_STOP;
    }
    return TN_WALK_ON;
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    (void)user;
    if (!tn_walk(func, 0, refuse_in_dataflow, NULL, pc->ctx))
        return NULL;
    tn_rewriter r = {.ctx = pc->ctx, .post = unwrap, .reach = TN_REACH_GRAPH};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_remove_purity_checking = {
    .base.size = sizeof(tn_pass),
    .base.name = "RemovePurityChecking",
    .base.doc = "mark pure functions as forced pure and unwrap pure calls",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
