/* SPDX-License-Identifier: Apache-2.0 */
/* Two passes that change signatures: they reverse the parameters of public functions, and say how
 * the function as it was is called then (tn_pass.adapt). One of them also makes a mistake. */
#include "broken.h"

#include "tenon/core/walk.h"

static tn_list
reversed(tn_ctx *ctx, tn_list l)
{
    tn_list out = {0};
    for (uint32_t i = l.n; i-- > 0;)
        out = tn_list_append(ctx, out, l.at[i]);
    return out;
}

static const tn_node *
reverse(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
        void *user)
{
    const tn_function *f = tn_as_function(func);
    (void)m, (void)name, (void)user;
    return tn_func_attr(func, "global_symbol")
               ? tn_function_of(pc->ctx, reversed(pc->ctx, f->params), f->body, f->ret,
                                f->pure != 0, f->attrs)
               : func;
}

static const tn_module *
run_reverse(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, reverse, NULL);
}

static const tn_module *
run_reverse_wrongly(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_pass *drop = broken_passes[0];
    m = drop->run(pc, m);
    return m ? run_reverse(pc, m) : NULL;
}

/* before: a function of the new order that calls the one as it was */
static bool
adapt(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    tn_ctx *ctx = pc->ctx;
    const tn_function *f = tn_as_function(tn_module_get(before->m, before->name));
    const tn_expr *call = tn_call_of(ctx, tn_global_var_of(ctx, before->name), f->params, NULL,
                                     (tn_list){0}, tn_ty_any(ctx));
    const tn_expr *gv = tn_var_new(ctx, "gv", call->type);
    const tn_node *block =
        tn_binding_block(ctx, tn_listv(ctx, tn_binding(ctx, gv, call), NULL), false);
    const tn_expr *body = tn_seq_expr_of(ctx, tn_listv(ctx, block, NULL), gv);
    const tn_node *caller =
        tn_function_of(ctx, reversed(ctx, f->params), body, NULL, f->pure != 0, NULL);
    (void)after, (void)why;
    if (tn_is_error(caller))
        return false;
    before->name = "caller";
    before->m = tn_module_set(ctx, before->m, "caller", tn_fresh_copy(ctx, caller, NULL));
    return true;
}

const tn_pass broken_reverse = {.size = sizeof(tn_pass),
                                .name = "ReverseParameters",
                                .doc = "reverses the parameters of public functions",
                                .run = run_reverse,
                                .needs = "op",
                                .adapt = adapt};
const tn_pass broken_reverse_wrongly = {.size = sizeof(tn_pass),
                                        .name = "BreakSignature",
                                        .doc = "the same, and drops a binding",
                                        .run = run_reverse_wrongly,
                                        .needs = "op",
                                        .adapt = adapt};
