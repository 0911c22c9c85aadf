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

/* Nothing keeps this name: no function has it, or the one that has is renamed itself. */
static bool
is_free(const renames *r, const tn_module *m, const char *name)
{
    return !tn_module_get(m, name) || tnb_strmap_has(&r->map, name);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    tnb_arena *scratch = tn_scratch(ctx);
    const char *prefix = tn_dict_str(m->attrs, "system_lib_prefix", "");
    renames names;
    tnb_strmap_init(&names.map, scratch);
    for (uint32_t i = 0; *prefix && i < m->names.n; i++)
        if (tn_is(m->funcs.at[i], TN_KIND_PRIM_FUNC)) {
            const char *old = tn_module_name(m, i);
            tnb_strmap_set(&names.map, old, tn_strf(ctx, "%s%s", prefix, old));
        }
    TNB_VEC(const char *) keys = {0}, gone = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        const char *old = tn_module_name(m, i), *renamed = tnb_strmap_get(&names.map, old);
        const char *name = renamed ? renamed : old;
        if (tn_is(f, TN_KIND_EXTERN_FUNC))
            continue;
        if (renamed && !is_free(&names, m, renamed)) {
            tn_error(ctx, f->loc, TNB_INVALID,
                     "tensor program '%s' becomes '%s' by the module's system_lib_prefix \"%s\", "
                     "but there is a function of that name",
                     old, renamed, prefix);
            tnb_diag_hint(tn_diags(ctx), "rename one of the two");
            return NULL;
        }
        const tn_string_imm *have = tn_as_string_imm(tn_func_attr(f, "global_symbol"));
        const tn_node *nf = f;
        if (!have || strcmp(have->value, name) != 0)
            nf = tn_func_with_attr(ctx, nf, "global_symbol", tn_string(ctx, name));
        if (names.map.n) {
            tn_rewriter r = {.ctx = ctx, .user = &names, .pre = rename_global};
            nf = tn_rewrite(&r, nf);
        }
        if (renamed)
            TNB_PUSH(scratch, gone, old);
        if (nf != f || renamed) {
            TNB_PUSH(scratch, keys, name);
            TNB_PUSH(scratch, funcs, nf);
        }
    }
    if (!keys.n)
        return m;
    /* the old names first: one may be another's new name */
    m = tn_module_set_all(ctx, m, gone.at, TNB_NEW_N(scratch, const tn_node *, gone.n + 1), gone.n);
    return tn_module_set_all(ctx, m, keys.at, funcs.at, keys.n);
}

const tn_pass transform_attach_global_symbol = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachGlobalSymbol",
    .base.doc = "make every function public under its name",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
