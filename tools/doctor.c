/* SPDX-License-Identifier: Apache-2.0 */
/* tenon doctor: what is installed and found, what is missing, and the command that adds it. */
#include "tool.h"

#include <stdlib.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/threads.h"

static bool
on_path(const char *program, char *where, size_t n)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t k = strcspn(path, ":");
        snprintf(where, n, "%.*s/%s", (int)k, path, program);
        if (k && access(where, X_OK) == 0)
            return true;
        path += k + (path[k] == ':');
    }
    return false;
}

static bool
check_compiler(tnt_session *s)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    char where[4096];
    const char *set = tnb_env("CC");
    if (set) { /* a command, whose first word is the program */
        const char *word = tn_strn(s->ctx, set, strcspn(set, " \t"));
        if (access(word, X_OK) == 0 || on_path(word, where, sizeof where)) {
            printf("ok       C compiler: %s (from CC)\n", set);
            return true;
        }
        printf(
            "missing  C compiler: CC is '%s', which is not there\n         unset CC, or set it to "
            "a compiler that is installed\n",
            set);
        return false;
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (on_path(usual[i], where, sizeof where)) {
            printf("ok       C compiler: %s\n", where);
            return true;
        }
    puts("missing  C compiler, needed to compile for the target cpu\n         apt-get install gcc "
         "libc6-dev");
    return false;
}

static bool
check_plugins(tnt_session *s)
{
    bool ok = true;
    uint32_t usable = 0;
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++) {
        const tnb_plugin *p = tnb_plugins_get(s->plugins, i);
        if (p->state == TNB_PLUGIN_REFUSED) {
            printf("refused  plugin %s: %s\n", p->name, p->why);
            if (*p->cure)
                printf("         %s\n", p->cure);
            ok = false;
        }
        usable += p->state <= TNB_PLUGIN_LOADED;
    }
    printf("ok       %u plugins usable in %s\n", usable,
           tnb_places_get() ? tnb_places_get()->plugins : "");
    static const char *const needed[] = {"ops", "transform", "interp", "onnx", "cpu"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!tnb_plugins_named(s->plugins, needed[i])) {
            printf("missing  plugin %s\n         it is part of Tenon: install it again, or see "
                   "`tenon list plugins --why`\n",
                   needed[i]);
            ok = false;
        }
    return ok;
}

static bool
check_devices(tnt_session *s, const tnt_args *a)
{
    tnr_runtime *rt = tnt_runtime(s, a);
    if (!rt)
        return false;
    tnr_load_drivers(rt);
    const tnr_driver *d;
    for (uint32_t i = 0; (d = tnr_driver_at(rt, i)); i++) {
        tnb_err err = {0};
        tnr_device *dev;
        if (tnr_device_open(rt, d->name, 0, &dev, &err) == TNB_OK) {
            char line[256] = "";
            if (tnr_device_driver(dev)->describe)
                tnr_device_driver(dev)->describe(tnr_device_handle(dev), line, sizeof line);
            printf("ok       device %s: %s\n", d->name, line);
        } else {
            printf("absent   device %s: %s\n", d->name, err.message);
            if (*err.hint)
                printf("         %s\n", err.hint);
        }
    }
    return true;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    const tnb_places *p = tnb_places_get();
    bool ok = check_compiler(s);
    ok &= check_plugins(s);
    ok &= check_devices(s, a);
    if (p)
        printf("ok       %s tree; configuration in %s\n", p->build_tree ? "build" : "installed",
               p->conf);
    printf("ok       %u processors may be used\n", tnb_threads_default());
    tnb_err err = {0};
    const char *dir;
    if (tnb_cache_dir(tn_arena(s->ctx), tnb_conf_text(s->conf, "tenon", "", "cache_dir"), &dir,
                      &err) == TNB_OK) {
        printf("ok       cache of kernels in %s (bounded; may be emptied at any time)\n", dir);
    } else {
        printf("warning  no cache of kernels: %s\n", err.message);
        if (*err.hint)
            printf("         %s\n", err.hint);
    }
    return ok ? TNT_OK : TNT_FAILED;
}

const tnt_command tnt_command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "check the installation and say what is missing",
    .max_operands = 0,
    .examples = (const char *const[]){"tenon doctor", "everything, and what to install", NULL},
    .run = run,
};
