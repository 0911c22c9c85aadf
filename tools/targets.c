/* SPDX-License-Identifier: Apache-2.0 */
/* What a target can do on this machine: whether its backend generates kernels, and whether there is a device that runs them. */
#include "tool.h"

#include "tenon/base/file.h"
#include "tenon/kit/codegen.h"

/* The first word of a command, where it names a program that there is; the usual compilers where it is empty. */
static bool
has_compiler(tnt_session *s, const char *command)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    tnb_arena *a = tn_arena(s->ctx);
    if (!*command)
        command = tnb_env("CC") ? tnb_env("CC") : "";
    if (*command)
        return tnb_find_program(a, tn_strn(s->ctx, command, strcspn(command, " \t")));
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (tnb_find_program(a, usual[i]))
            return true;
    return false;
}

static const tn_attr_schema *
attribute(const tn_target_kind *k, const char *name)
{
    for (const tn_attr_schema *a = k->attrs; a && a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

/* NULL: a device of the driver can be opened; else why not. */
static const char *
no_device(tnt_session *s, const tnt_args *a, const char *name)
{
    tnb_err err = {0};
    tnr_device *dev;
    int n = 0;
    tnr_runtime *rt = tnt_runtime(s, a);
    const tnr_driver *d = rt ? tnr_find_driver(rt, name, &err) : NULL;
    if (!rt)
        return "the runtime cannot be started";
    if (!d)
        return tn_str(s->ctx, err.message);
    if (d->count(d->self, &n, &err) != TNB_OK || n == 0)
        return *err.message ? tn_str(s->ctx, err.message) : "the driver finds none";
    return tnr_device_open(rt, name, 0, &dev, &err) == TNB_OK ? NULL : tn_str(s->ctx, err.message);
}

const char tnt_runs_here[] = "compiles and runs here";

/* The attributes of the target with the name, or an error; nothing stays recorded. */
static const tn_node *
attributes_of(tnt_session *s, const char *name, tnb_err *err)
{
    tnb_diags *d = tn_diags(s->ctx);
    uint32_t before = tnb_diags_count(d);
    tnk_target t;
    bool found = tnk_target_find(s->ctx, s->conf, name, &t);
    for (uint32_t i = before; !found && i < tnb_diags_count(d) && !*err->message; i++)
        if (tnb_diags_get(d, i)->severity == TNB_ERROR)
            (void)tnb_fail(err, tnb_diags_get(d, i)->status, "%s", tnb_diags_get(d, i)->message);
    tnb_diags_cut(d, before);
    return found ? t.target->attrs : NULL;
}

const char *
tnt_target_today(tnt_session *s, const tnt_args *a, const char *kind, const char *name)
{
    tnb_err err = {0};
    const tn_target_kind *k = tn_find_target(s->registry, kind, &err);
    const tn_node *attrs = k && name ? attributes_of(s, name, &err) : NULL;
    if (!k || (name && !attrs))
        return tn_strf(s->ctx, "cannot be used: %s", err.message);
    const char *triple = tn_dict_str(attrs, "mtriple", ""), *cc = tn_dict_str(attrs, "cc", "");
    if (!k->codegen || !k->codegen->build)
        return "generates no kernels: its pass lists can be run (tenon opt)";
    if (*triple && k->codegen->sources)
        return tn_strf(s->ctx, "makes C and objects for %s (tenon compile --emit)", triple);
    if (attribute(k, "cc") && !has_compiler(s, cc))
        return "cannot compile: there is no C compiler";
    const char *why = no_device(s, a, k->device ? k->device : k->base.name);
    return why ? tn_strf(s->ctx, "compiles; nothing here runs it: %s", why) : tnt_runs_here;
}
