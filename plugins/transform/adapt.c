/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for comparing by execution what passes that change signatures did: for tn_pass.adapt.
 *
 *     BindParams, params {w}:     def main(x, w)     =>     def main(x)
 *     compared with the latter:   def main_adapted(x): return main(x, metadata[...])
 */
#include "transform.h"

#include "tenon/core/walk.h"

const tn_expr *
transform_caller_bind(transform_caller *c, const tn_expr *value)
{
    if (tn_is_error(value))
        return value;
    const tn_expr *var = tn_var_new(c->ctx, "gv", value->type);
    TNB_PUSH(tn_scratch(c->ctx), c->bindings, tn_var_binding_of(c->ctx, var, value));
    return var;
}

const tn_expr *
transform_caller_call(transform_caller *c, const char *function, tn_list args)
{
    return transform_caller_bind(c, tn_call_of(c->ctx, tn_global_var_of(c->ctx, function), args,
                                               NULL, (tn_list){0}, tn_ty_any(c->ctx)));
}

tn_list
transform_caller_fields(transform_caller *c, const char *function, tn_list args, uint32_t n)
{
    const tn_node **all = TNB_NEW_N(tn_scratch(c->ctx), const tn_node *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        all[i] = tn_ty_any(c->ctx);
    const tn_type *type = tn_ty_tuple_of(c->ctx, tn_list_of(c->ctx, all, n));
    const tn_expr *tuple =
        transform_caller_bind(c, tn_call_of(c->ctx, tn_global_var_of(c->ctx, function), args, NULL,
                                            (tn_list){0}, type));
    for (uint32_t i = 0; i < n; i++)
        all[i] = transform_caller_bind(c, tn_tuple_item(c->ctx, tuple, i));
    return tn_list_of(c->ctx, all, n);
}

const tn_node *
transform_caller_end(transform_caller *c, tn_list params, const tn_expr *result)
{
    const tn_node *block =
        tn_binding_block_of(c->ctx, tn_list_of(c->ctx, c->bindings.at, c->bindings.n), false);
    const tn_expr *body = tn_seq_expr_of(c->ctx, (tn_list){&block, 1}, result);
    const tn_node *f = tn_function_of(c->ctx, params, body, NULL, true, NULL);
    return tn_is_error(f) ? f : tn_fresh_copy(c->ctx, f, NULL);
}

const tn_node *
transform_caller_of(tn_ctx *ctx, const tn_function *f, const char *name)
{
    transform_caller c = {.ctx = ctx};
    return transform_caller_end(&c, f->params, transform_caller_call(&c, name, f->params));
}

bool
transform_compare_with(tn_ctx *ctx, tn_pass_side *side, const tn_node *func)
{
    if (tn_is_error(func))
        return false;
    const char *name = tn_strf(ctx, "%s_adapted", side->name);
    while (tn_module_get(side->m, name))
        name = tn_strf(ctx, "%s_", name);
    side->m = tn_module_set(ctx, side->m, name, func);
    side->name = name;
    return true;
}
