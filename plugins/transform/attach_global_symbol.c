/* SPDX-License-Identifier: Apache-2.0 */
/* AttachGlobalSymbol: every function becomes public under its name.
 *
 *     @T.prim_func(private=True)                     @T.prim_func
 *     def add(...)                                   def add(...)          # global_symbol = "add"
 *
 * PrimFuncs get the module attribute system_lib_prefix in front; a function whose name changes so is renamed everywhere. Graph functions keep their names.
 * A differing symbol is replaced. Cases: tests/pass/AttachGlobalSymbol.
 */
#include "transform.h"

#include "tenon/core/walk.h"

typedef struct renames {
    tnb_strmap map; /* old name -> new name */
} renames;

static const tn_node *
rename_global(tn_rewriter *r, const tn_node *n)
{
    const tn_global_var *gv = tn_as_global_var(n);
    const char *name = gv ? tnb_strmap_get(&((renames *)r->user)->map, gv->name) : NULL;
    return name ? tn_global_var_of(r->ctx, name) : NULL;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    tnb_arena *scratch = tn_scratch(ctx);
    const char *prefix = tn_dict_str(m->attrs, "system_lib_prefix", "");
    renames names;
    tnb_strmap_init(&names.map, scratch);
    TNB_VEC(const char *) keys = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    for (uint32_t i = 0; *prefix && i < m->names.n; i++)
        if (tn_is(m->funcs.at[i], TN_KIND_PRIM_FUNC)) {
            const char *old = tn_module_name(m, i);
            if (strncmp(old, prefix, strlen(prefix)) != 0)
                tnb_strmap_set(&names.map, old, tn_strf(ctx, "%s%s", prefix, old));
        }
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        const char *old = tn_module_name(m, i), *renamed = tnb_strmap_get(&names.map, old);
        const char *name = renamed ? renamed : old;
        if (tn_is(f, TN_KIND_EXTERN_FUNC))
            continue;
        const tn_string_imm *have = tn_as_string_imm(tn_func_attr(f, "global_symbol"));
        const tn_node *nf = f;
        if (!have || strcmp(have->value, name) != 0)
            nf = tn_func_with_attr(ctx, nf, "global_symbol", tn_string(ctx, name));
        if (names.map.n) {
            tn_rewriter r = {.ctx = ctx, .user = &names, .pre = rename_global};
            nf = tn_rewrite(&r, nf);
        }
        if (renamed) {
            TNB_PUSH(scratch, keys, old);
            TNB_PUSH(scratch, funcs, NULL);
        }
        if (nf != f || renamed) {
            TNB_PUSH(scratch, keys, name);
            TNB_PUSH(scratch, funcs, nf);
        }
    }
    return keys.n ? tn_module_set_all(ctx, m, keys.at, funcs.at, keys.n) : m;
}

const tn_pass transform_attach_global_symbol = {
    .size = sizeof(tn_pass),
    .name = "AttachGlobalSymbol",
    .doc = "make every function public under its name",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
