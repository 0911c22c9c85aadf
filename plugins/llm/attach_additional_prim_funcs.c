/* SPDX-License-Identifier: Apache-2.0 */
/* AttachAdditionalPrimFuncs: tensor programs from TVMScript files become part of the module.
 *
 *     AttachAdditionalPrimFuncs{functions=["kv_copy.py"]}        kv_copy.py:  @T.prim_func
 *     class Module:                   class Module:                           def kv_copy(...)
 *         @R.function                     @T.prim_func
 *         def decode(...)                 def kv_copy(...)      # global_symbol = "kv_copy"
 *                                         @R.function
 *                                         def decode(...)
 *
 * A file is a module or a bare function. A tensor program of the same name is replaced, as
 * upstream does it; what would replace a graph function, or comes from two files, is an error. The
 * files are read when the pass runs. Relative paths count from the folder of the INI file that names
 * them; where nothing lies there, and on a command line, from the current folder. Cases:
 * tests/pass/AttachAdditionalPrimFuncs.
 */
#include "llm.h"

typedef struct additions {
    tn_ctx *ctx;
    const tn_module *m;
    tnb_strmap file_of; /* name -> the file it comes from */
    TNB_VEC(const char *) names;
    TNB_VEC(const tn_node *) funcs;
} additions;

static bool
add(additions *a, const char *file, const char *name, const tn_node *func)
{
    const char *before = tnb_strmap_get(&a->file_of, name);
    if (!tn_is(func, TN_KIND_PRIM_FUNC)) {
        tn_error(a->ctx, func->loc, TNB_TYPE,
                 "AttachAdditionalPrimFuncs: '%s' is no tensor program: only functions under "
                 "@T.prim_func can be attached",
                 name);
        return false;
    }
    if (before || tn_is(tn_module_get(a->m, name), TN_KIND_FUNCTION)) {
        tn_error(a->ctx, func->loc, TNB_INVALID, "AttachAdditionalPrimFuncs: '%s' of %s is %s %s",
                 name, file, before ? "also in" : "a graph function of",
                 before ? before : "the module");
        return false;
    }
    tnb_strmap_set(&a->file_of, name, file);
    TNB_PUSH(tn_scratch(a->ctx), a->names, name);
    TNB_PUSH(tn_scratch(a->ctx), a->funcs,
             llm_attach(a->ctx, func, "global_symbol", tn_string(a->ctx, name)));
    return true;
}

static bool
add_file(additions *a, const char *file)
{
    const tn_module *extra = tn_read_module_file(a->ctx, file);
    if (!extra) {
        tnb_diag_note(tn_diags(a->ctx), "AttachAdditionalPrimFuncs reads this file");
        return false;
    }
    for (uint32_t i = 0; i < extra->names.n; i++)
        if (!add(a, file, tn_module_name(extra, i), extra->funcs.at[i]))
            return false;
    return true;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    additions a = {.ctx = pc->ctx, .m = m};
    const tn_array *files = tn_as_array(tn_dict_get(pc->options, "functions"));
    tnb_strmap_init(&a.file_of, tn_scratch(pc->ctx));
    for (uint32_t i = 0; files && i < files->items.n; i++)
        if (!add_file(&a, tn_pass_path(pc, tn_as_string_imm(files->items.at[i])->value)))
            return NULL;
    return a.names.n ? tn_module_set_all(pc->ctx, m, a.names.at, a.funcs.at, a.names.n) : m;
}

static const tn_attr_schema options[] = {
    {"functions", TN_ATTR_STRS, 0, "[]", "TVMScript files whose tensor programs are added"},
    {0},
};

const tn_pass llm_attach_additional_prim_funcs = {
    .size = sizeof(tn_pass),
    .name = "AttachAdditionalPrimFuncs",
    .doc = "add tensor programs from TVMScript files to the module",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
