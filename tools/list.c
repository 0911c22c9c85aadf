/* SPDX-License-Identifier: Apache-2.0 */
/* tenon list: what is there. Reads manifests only, with --why modules too; nothing is loaded but for devices. */
#include "tool.h"

#include "tenon/kit/codegen.h"
#include "tenon/kit/lists.h"

static const tnt_option options[] = {{"why", 0, TNT_FLAG, NULL,
                                      "plugins: every candidate, used or not, and the reason"},
                                     {"json", 0, TNT_FLAG, NULL,
                                      "ops: the operators' schemas as a JSON array"},
                                     {0}};

/* What two usable plugins promise, with the setting that decides. */
static void
print_clashes(tnt_session *s, const tnb_plugin *p)
{
    for (uint32_t i = 0; i < p->n_provides; i++) {
        const char *name = strchr(p->provides[i], ':');
        for (uint32_t k = 0; name && k < tnb_plugins_count(s->plugins); k++) {
            const tnb_plugin *q = tnb_plugins_get(s->plugins, k);
            bool too = false;
            for (uint32_t j = 0; q != p && q->state <= TNB_PLUGIN_LOADED && j < q->n_provides; j++)
                too |= strcmp(q->provides[j], p->provides[i]) == 0;
            if (!too)
                continue;
            tnb_err err = {0};
            const char *kind = tn_strn(s->ctx, p->provides[i], (size_t)(name - p->provides[i]));
            const tnb_plugin *serves = tnb_plugins_find(s->plugins, kind, name + 1, &err);
            printf("    %s is also provided by plugin %s: ", p->provides[i], q->name);
            if (serves)
                printf("[tenon] prefer.%s chooses %s\n", name + 1, serves->name);
            else
                printf("neither is used\n    hint: set [tenon] prefer.%s = %s or %s\n", name + 1,
                       p->name, q->name);
        }
    }
}

static int
list_plugins(tnt_session *s, bool why)
{
    static const char *const states[] = {"ready", "loaded", "hidden", "blocked", "refused"};
    for (uint32_t i = 0; why && i < tnb_plugins_count(s->plugins); i++)
        (void)tnb_plugins_examine(s->plugins, tnb_plugins_get(s->plugins, i), NULL);
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++) {
        const tnb_plugin *p = tnb_plugins_get(s->plugins, i);
        if (!why && p->state > TNB_PLUGIN_LOADED)
            continue;
        printf("%-12s %-8s %-9s %s\n", p->name, p->version,
               p->kind == TNB_PLUGIN_RUNTIME ? "runtime" : "compiler", p->summary);
        if (!why)
            continue;
        printf("    %s: %s\n    module %s\n", states[p->state], p->why, p->module);
        if (*p->cure)
            printf("    hint: %s\n", p->cure);
        if (p->state <= TNB_PLUGIN_LOADED)
            print_clashes(s, p);
    }
    return TNT_OK;
}

static int
list_provided(tnt_session *s, const char *kind)
{
    uint32_t n;
    const tnb_provided *p = tnb_plugins_provided(s->plugins, tn_arena(s->ctx), kind, &n);
    for (uint32_t i = 0; i < n; i++)
        printf("%-36s %s\n", p[i].name, p[i].plugin->name);
    return TNT_OK;
}

static int
list_ops(tnt_session *s)
{
    for (uint32_t i = 0; i < tn_n_structural_ops; i++)
        printf("%-36s %s\n", tn_structural_ops[i].base.name, "core");
    return list_provided(s, "op");
}

/* What to know of a kind before a model is compiled for it; "" for most. */
static const char *
kind_note(tnt_session *s, const char *kind)
{
    const tn_target_kind *k = tn_find_target(s->registry, kind, NULL);
    if (!k)
        return ", provided by no plugin";
    return k->codegen && k->codegen->build ? "" : ", generates no kernels";
}

static int
list_targets(tnt_session *s)
{
    uint32_t n;
    const char **names = tnb_conf_names(s->conf, tn_arena(s->ctx), "target", &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *kind = tnb_conf_text(s->conf, "target", names[i], "kind");
        kind = kind ? kind : names[i];
        printf("%-20s kind %s%s\n", names[i], kind, kind_note(s, kind));
    }
    uint32_t m;
    const tnb_provided *p = tnb_plugins_provided(s->plugins, tn_arena(s->ctx), "target", &m);
    for (uint32_t i = 0; i < m; i++)
        if (!tnb_conf_has(s->conf, "target", p[i].name))
            printf("%-20s kind %s (plugin %s)%s\n", p[i].name, p[i].name, p[i].plugin->name,
                   kind_note(s, p[i].name));
    return TNT_OK;
}

/* Names as pass lists write them. */
static int
list_lists(void)
{
#define SHOW_LIST(name, passes, doc) printf("@%-18s %s\n    %s\n", name, doc, passes);
    TNK_PASS_LISTS(SHOW_LIST)
#undef SHOW_LIST
    return TNT_OK;
}

/* The devices of a driver, each with what it can or why it cannot be used. */
static void
list_driver(tnr_runtime *rt, const tnr_driver *d)
{
    int n = 0;
    tnb_err err = {0};
    if (d->count(d->self, &n, &err) != TNB_OK || n == 0) {
        printf("    none: %s\n", err.message[0] ? err.message : "no device found");
        if (err.hint[0])
            printf("          %s\n", err.hint);
    }
    for (int id = 0; id < n; id++) {
        tnr_device *dev;
        char text[512] = "";
        if (tnr_device_open(rt, d->base.name, id, &dev, &err) == TNB_OK) {
            d->describe(tnr_device_handle(dev), text, sizeof text);
            printf("    %d: %s\n", id, text);
        } else {
            printf("    %d: not usable: %s\n", id, err.message);
            if (err.hint[0])
                printf("       %s\n", err.hint);
        }
    }
}

static int
list_devices(tnt_session *s, const tnt_args *a)
{
    tnr_runtime *rt = tnt_runtime(s, a);
    if (!rt)
        return TNT_FAILED;
    tnr_load_drivers(rt);
    const tnr_driver *d;
    for (uint32_t i = 0; (d = tnr_driver_at(rt, i)); i++) {
        printf("%-12s %s\n", d->base.name, d->base.doc ? d->base.doc : "");
        list_driver(rt, d);
    }
    return TNT_OK;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    const char *what = a->operands[0];
    if (strcmp(what, "plugins") == 0)
        return list_plugins(s, tnt_has(a, "why"));
    if (strcmp(what, "passes") == 0)
        return list_provided(s, "pass");
    if (strcmp(what, "ops") == 0)
        return tnt_has(a, "json") ? tnt_list_ops_json(s) : list_ops(s);
    if (strcmp(what, "targets") == 0)
        return list_targets(s);
    if (strcmp(what, "devices") == 0)
        return list_devices(s, a);
    if (strcmp(what, "importers") == 0)
        return list_provided(s, "importer");
    if (strcmp(what, "rules") == 0)
        return list_provided(s, "rule");
    if (strcmp(what, "lists") == 0)
        return list_lists();
    return tnt_usage(a->command, "cannot list '%s'", what);
}

const tnt_command tnt_command_list = {
    .name = "list",
    .operands = "plugins|passes|lists|rules|ops|targets|devices|importers",
    .summary = "list what is installed",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .examples =
        (const char *const[]){"tenon list plugins --why",
                              "every candidate, used or not, and the reason", "tenon list devices",
                              "the devices, and why some cannot be used", NULL},
    .run = run,
};
