/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching an attribute to a function, for the passes that do nothing else. */
#include "llm.h"

#include "tenon/base/conf.h"
#include "tenon/core/walk.h"

const tn_node *
llm_attach(tn_ctx *ctx, const tn_node *func, const char *key, const tn_node *value)
{
    const tn_node *have = tn_func_attr(func, key);
    if (have && tn_equal(ctx, have, value, false, NULL))
        return func;
    return tn_func_with_attr(ctx, func, key, value);
}

struct names {
    tn_ctx *ctx;
    TNB_VEC(const char *) at;
};

static void
add_names(struct names *all, tn_list vars)
{
    for (uint32_t i = 0; i < vars.n; i++)
        TNB_PUSH(tn_scratch(all->ctx), all->at, tn_var_name(vars.at[i]));
}

static tn_walk_step
of_cast(void *user, const tn_node *n)
{
    struct names *all = user;
    const tn_match_cast *c = tn_as_match_cast(n);
    if (c)
        add_names(all, tn_free_vars(all->ctx, c->to, false));
    return TN_WALK_ON;
}

void
llm_need_symbol(tn_ctx *ctx, const tn_module *m, const char *func, const char *option,
                const char *name)
{
    struct names all = {.ctx = ctx};
    for (uint32_t i = 0; i < m->names.n; i++) {
        if ((func && strcmp(tn_module_name(m, i), func) != 0) ||
            !tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            continue;
        add_names(&all, tn_defined_symbols(ctx, m->funcs.at[i]));
        tn_walk(m->funcs.at[i], 0, of_cast, NULL, &all);
    }
    for (uint32_t i = 0; i < all.at.n; i++)
        if (strcmp(all.at.at[i], name) == 0)
            return;
    if (func)
        tn_warn(ctx, 0, "option '%s': function '%s' has no symbolic variable '%s'", option, func,
                name);
    else
        tn_warn(ctx, 0, "option '%s': no function has a symbolic variable '%s'", option, name);
    const char *near = tnb_nearest(name, all.at.at, all.at.n);
    if (near)
        tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
}

bool
llm_is_served(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_option_bool(pc, "always") ||
           tn_is(tn_module_get(m, "batch_verify"), TN_KIND_FUNCTION);
}

const tn_module *
llm_attach_file(const tn_pass_ctx *pc, const tn_module *m, const tn_node *given, const char *by,
                bool (*wanted)(const tn_module *m, const char *name))
{
    tn_ctx *ctx = pc->ctx;
    const char *path = tn_pass_path(pc, tn_option_str(pc, "kernels"));
    const tn_module *file = tn_read_module_file_with(ctx, path, given);
    TNB_VEC(const char *) names = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    if (!file) {
        tnb_diag_note(tn_diags(ctx), "%s reads this file", by);
        return NULL;
    }
    for (uint32_t i = 0; i < file->names.n; i++) {
        const char *name = tn_module_name(file, i);
        if (wanted && !wanted(m, name))
            continue;
        if (tn_module_get(m, name)) {
            tn_error(ctx, tn_module_get(m, name)->loc, TNB_INVALID,
                     "%s: the module has a function '%s' already", by, name);
            tnb_diag_hint(tn_diags(ctx), "rename it, or leave the pass out of the profile");
            return NULL;
        }
        TNB_PUSH(tn_scratch(ctx), names, tn_str(ctx, name));
        TNB_PUSH(tn_scratch(ctx), funcs, file->funcs.at[i]);
    }
    return tn_module_set_all(ctx, m, names.at, funcs.at, names.n);
}

bool
llm_is_gpu(const tn_target *target)
{
    static const char *const kinds[] = {"cuda", "rocm", "metal", "vulkan", "opencl", "webgpu"};
    for (size_t i = 0; target && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(target->kind, kinds[i]))
            return true;
    const tn_array *keys = target ? tn_as_array(tn_dict_get(target->attrs, "keys")) : NULL;
    for (uint32_t i = 0; keys && i < keys->items.n; i++) {
        const tn_string_imm *k = tn_as_string_imm(keys->items.at[i]);
        if (k && !strcmp(k->value, "gpu"))
            return true;
    }
    return false;
}
