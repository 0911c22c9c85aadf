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
 *     AttachAdditionalPrimFuncs{functions={"kv_copy": "kernels.py:copy_blocks"}}
 *
 * A file is a module or a bare function. Given as a dictionary, each name stands for one function of
 * a file, FILE:FUNCTION, or FILE where the file has one alone. A function of the same name in the
 * module is replaced, whatever it is, as upstream does it; the same name from two files is an error.
 * The files are read when the pass runs. Relative paths count from the folder of the INI file that names
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
    if (before) {
        tn_error(a->ctx, func->loc, TNB_INVALID,
                 "AttachAdditionalPrimFuncs: '%s' of %s is also in %s", name, file, before);
        return false;
    }
    tnb_strmap_set(&a->file_of, name, file);
    TNB_PUSH(tn_scratch(a->ctx), a->names, name);
    TNB_PUSH(tn_scratch(a->ctx), a->funcs,
             llm_attach(a->ctx, func, "global_symbol", tn_string(a->ctx, name)));
    return true;
}

static const tn_module *
read_file(additions *a, const char *file)
{
    const tn_module *extra = tn_read_module_file(a->ctx, file);
    if (!extra)
        tnb_diag_note(tn_diags(a->ctx), "AttachAdditionalPrimFuncs reads this file");
    return extra;
}

static bool
add_file(additions *a, const char *file)
{
    const tn_module *extra = read_file(a, file);
    for (uint32_t i = 0; extra && i < extra->names.n; i++)
        if (!add(a, file, tn_module_name(extra, i), extra->funcs.at[i]))
            return false;
    return extra != NULL;
}

/* `from` is FILE:FUNCTION, or FILE with one function. */
static bool
add_named(additions *a, const tn_pass_ctx *pc, const char *name, const char *from)
{
    const char *colon = strrchr(from, ':');
    const char *file =
        tn_pass_path(pc, colon ? tn_strn(a->ctx, from, (size_t)(colon - from)) : from);
    const tn_module *extra = read_file(a, file);
    if (!extra)
        return false;
    const tn_node *func = colon                 ? tn_module_get(extra, colon + 1)
                          : extra->names.n == 1 ? extra->funcs.at[0]
                                                : NULL;
    if (func)
        return add(a, file, name, func);
    if (colon)
        tn_error(a->ctx, 0, TNB_NOT_FOUND,
                 "AttachAdditionalPrimFuncs: %s has no function '%s', which is to be '%s'", file,
                 colon + 1, name);
    else
        tn_error(a->ctx, 0, TNB_INVALID,
                 "AttachAdditionalPrimFuncs: %s has %u functions, which of them is to be '%s'?",
                 file, extra->names.n, name);
    tnb_diag_hint(tn_diags(a->ctx), "write FILE:FUNCTION");
    return false;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    additions a = {.ctx = pc->ctx, .m = m};
    const tn_node *given = tn_dict_get(pc->options, "functions");
    const tn_array *files = tn_as_array(given);
    const tn_dict *named = tn_as_dict(given);
    uint32_t n = files ? files->items.n : named ? named->items.n : 0;
    bool none = !given || tn_is(given, TN_KIND_NONE);
    tnb_strmap_init(&a.file_of, tn_scratch(pc->ctx));
    for (uint32_t i = 0; i < n; i++) {
        const tn_pair *p = named ? tn_as_pair(named->items.at[i]) : NULL;
        const tn_string_imm *from = tn_as_string_imm(p ? p->value : files->items.at[i]);
        none |= !from;
        if (from && !(p ? add_named(&a, pc, p->key, from->value)
                        : add_file(&a, tn_pass_path(pc, from->value))))
            return NULL;
    }
    if (none ? n : !files && !named) {
        tn_error(
            pc->ctx, 0, TNB_TYPE,
            "AttachAdditionalPrimFuncs: functions is %s, expected a list of files or a dictionary "
            "from names to FILE:FUNCTION",
            tn_text(pc->ctx, given));
        return NULL;
    }
    return a.names.n ? tn_module_set_all(pc->ctx, m, a.names.at, a.funcs.at, a.names.n) : m;
}

static const tn_attr_schema options[] = {
    {"functions", TN_ATTR_ANY, TN_ATTR_OPTIONAL, "None",
     "TVMScript files whose tensor programs are added; or a dictionary: name -> FILE:FUNCTION"},
    {0},
};

const tn_pass llm_attach_additional_prim_funcs = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachAdditionalPrimFuncs",
    .base.doc = "add tensor programs from TVMScript files to the module",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
