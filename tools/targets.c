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

const char *
tnt_target_today(tnt_session *s, const tnt_args *a, const char *kind, const char *cc)
{
    tnb_err err = {0};
    const tn_target_kind *k = tn_find_target(s->registry, kind, &err);
    if (!k)
        return tn_strf(s->ctx, "cannot be used: %s", err.message);
    if (!k->codegen || !k->codegen->build)
        return "generates no kernels: its pass lists can be run (tenon opt)";
    if (attribute(k, "cc") && !has_compiler(s, cc ? cc : ""))
        return "cannot compile: there is no C compiler";
    const char *why = no_device(s, a, k->device ? k->device : k->base.name);
    return why ? tn_strf(s->ctx, "compiles; nothing here runs it: %s", why) : tnt_runs_here;
}
