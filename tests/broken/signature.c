/* SPDX-License-Identifier: Apache-2.0 */
/* Two passes that change signatures: they reverse the parameters of public functions, and say how
 * the function as it was is called then (tn_pass.adapt). One of them also makes a mistake. Then passes that drop a binding and
 * have their result compared with something that agrees with it: with the module after them, with a caller that
 * gives something else, with a caller that lets no input through, and with nothing. */
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
        tn_binding_block_of(ctx, tn_listv(ctx, tn_var_binding_of(ctx, gv, call), NULL), false);
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

const tn_pass broken_reverse = {.base.size = sizeof(tn_pass),
                                .base.name = "ReverseParameters",
                                .base.doc = "reverses the parameters of public functions",
                                .run = run_reverse,
                                .needs = "op",
                                .adapt = adapt};
const tn_pass broken_reverse_wrongly = {.base.size = sizeof(tn_pass),
                                        .base.name = "BreakSignature",
                                        .base.doc = "the same, and drops a binding",
                                        .run = run_reverse_wrongly,
                                        .needs = "op",
                                        .adapt = adapt};

static bool
compare_with_itself(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after,
                    const char **why)
{
    (void)pc, (void)why;
    before->m = after->m;
    return true;
}

/* A caller with the parameters `params` that calls the function on `args` and gives `result`, NULL: what the call gives. */
static bool
add_caller(tn_ctx *ctx, tn_pass_side *side, tn_list params, tn_list args, const tn_expr *result)
{
    const tn_expr *call = tn_call_of(ctx, tn_global_var_of(ctx, side->name), args, NULL,
                                     (tn_list){0}, tn_ty_any(ctx));
    const tn_expr *gv = tn_var_new(ctx, "gv", call->type);
    const tn_node *block =
        tn_binding_block_of(ctx, tn_listv(ctx, tn_var_binding_of(ctx, gv, call), NULL), false);
    const tn_expr *body = tn_seq_expr_of(ctx, tn_listv(ctx, block, NULL), result ? result : gv);
    const tn_node *caller = tn_function_of(ctx, params, body, NULL, true, NULL);
    if (tn_is_error(caller))
        return false;
    side->m = tn_module_set(ctx, side->m, "caller", tn_fresh_copy(ctx, caller, NULL));
    side->name = "caller";
    return true;
}

/* Both callers give their first parameter. */
static bool
compare_parameters(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after,
                   const char **why)
{
    const tn_list p = tn_as_function(tn_module_get(before->m, before->name))->params;
    (void)why;
    return add_caller(pc->ctx, before, p, p, p.at[0]) && add_caller(pc->ctx, after, p, p, p.at[0]);
}

/* Both callers call with zeros, whatever they get. */
static bool
compare_zeros(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    const tn_list p = tn_as_function(tn_module_get(before->m, before->name))->params;
    tn_list zeros = {0};
    (void)why;
    for (uint32_t i = 0; i < p.n; i++) {
        int64_t shape[8];
        tn_list dims;
        const uint32_t zero = 0;
        if (!tn_type_dims(p.at[i]->type, &dims) || dims.n > 8)
            return false;
        for (uint32_t d = 0; d < dims.n; d++)
            if (!tn_int_value(dims.at[d], &shape[d]))
                return false;
        const tn_data *data =
            tn_data_splat(pc->ctx, tn_type_dtype(p.at[i]->type), (int32_t)dims.n, shape, &zero);
        zeros = tn_list_append(pc->ctx, zeros, tn_constant_of(pc->ctx, data));
    }
    return add_caller(pc->ctx, before, p, zeros, NULL) &&
           add_caller(pc->ctx, after, p, zeros, NULL);
}

static bool
compare_nothing(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    (void)pc, (void)before, (void)why;
    after->name = NULL;
    return true;
}

static const tn_module *
run_drop(const tn_pass_ctx *pc, const tn_module *m)
{
    return broken_passes[0]->run(pc, m);
}

#define CHEAT(id, pass_name, adapter)                                       \
    const tn_pass broken_##id = {.base.size = sizeof(tn_pass),              \
                                 .base.name = pass_name,                    \
                                 .base.doc = "drops a binding, and cheats", \
                                 .run = run_drop,                           \
                                 .needs = "op",                             \
                                 .adapt = adapter}
CHEAT(itself, "BreakReference", compare_with_itself);
CHEAT(parameters, "BreakCaller", compare_parameters);
CHEAT(zeros, "BreakInputs", compare_zeros);
CHEAT(nothing, "BreakCover", compare_nothing);
