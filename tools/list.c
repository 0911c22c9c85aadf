/* SPDX-License-Identifier: Apache-2.0 */
/* tenon list: what is there. Reads manifests only, with --why modules too; nothing is loaded but for devices. */
#include "tool.h"

#include "tenon/kit/codegen.h"
#include "tenon/kit/lists.h"

static const tnt_option options[] = {
    {"why", 0, TNT_FLAG, NULL, "plugins: every candidate, used or not, and the reason"},
    {"json", 0, TNT_FLAG, NULL,
     "print a JSON array of objects; of operators with their schemas, of plugins every candidate"},
    {"names", 0, TNT_FLAG, NULL, "print the names only, one a line", .without = "json"},
    {0}};

/* A list being printed: rows as text, names only, or objects of one JSON array. */
typedef struct listing {
    tnt_session *s;
    const tnt_args *a;
    bool json, names;
    tn_list rows;
} listing;

static const tn_node *
text(const listing *l, const char *t)
{
    return tn_string(l->s->ctx, t ? t : "");
}

/* One row: `object` has at least the key "name"; `fmt` is it as text. */
static void
row(listing *l, const tn_node *object, const char *fmt, ...) TNB_PRINTF(3, 4);
static void
row(listing *l, const tn_node *object, const char *fmt, ...)
{
    va_list ap;
    if (l->json) {
        l->rows = tn_list_append(l->s->ctx, l->rows, object);
        return;
    }
    if (l->names) {
        puts(tn_dict_str(object, "name", ""));
        return;
    }
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    puts("");
}

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

static const char *const states[] = {"ready", "loaded", "hidden", "blocked", "refused"};

static void
list_plugins(listing *l)
{
    tnb_plugins *all = l->s->plugins;
    bool why = tnt_has(l->a, "why"), every = why || l->json;
    for (uint32_t i = 0; every && i < tnb_plugins_count(all); i++)
        (void)tnb_plugins_examine(all, tnb_plugins_get(all, i), NULL);
    for (uint32_t i = 0; i < tnb_plugins_count(all); i++) {
        const tnb_plugin *p = tnb_plugins_get(all, i);
        if (!every && p->state > TNB_PLUGIN_LOADED)
            continue;
        row(l, tnt_plugin_json(l->s, p), "%-12s %-8s %-9s %s", p->name, p->version,
            p->kind == TNB_PLUGIN_RUNTIME ? "runtime" : "compiler", p->summary);
        if (!why || l->json || l->names)
            continue;
        printf("    %s: %s\n    module %s\n", states[p->state], p->why, p->module);
        if (*p->cure)
            printf("    hint: %s\n", p->cure);
        if (p->state <= TNB_PLUGIN_LOADED)
            print_clashes(l->s, p);
    }
}

static void
name_and_plugin(listing *l, const char *name, const char *plugin)
{
    row(l, tn_dictv(l->s->ctx, "name", text(l, name), "plugin", text(l, plugin), NULL), "%-36s %s",
        name, plugin);
}

static void
list_provided(listing *l, const char *kind)
{
    uint32_t n;
    const tnb_provided *p = tnb_plugins_provided(l->s->plugins, tn_arena(l->s->ctx), kind, &n);
    for (uint32_t i = 0; i < n; i++)
        name_and_plugin(l, p[i].name, p[i].plugin->name);
    if (!n && !tnt_has(l->a, "quiet"))
        fprintf(stderr, "tenon: no usable plugin provides a%s %s\n",
                strchr("aeiou", *kind) ? "n" : "",
                strcmp(kind, "packed") ? kind : "packed function");
}

static void
list_ops(listing *l)
{
    for (uint32_t i = 0; i < tn_n_structural_ops; i++)
        name_and_plugin(l, tn_structural_ops[i].base.name, "core");
    list_provided(l, "op");
}

/* `section`: whether a [target NAME] made it. */
static void
target_row(listing *l, const char *name, const char *kind, bool section)
{
    tnt_session *s = l->s;
    const tnb_plugin *p = tnb_plugins_find(s->plugins, "target", kind, NULL);
    const tn_target_kind *k = tn_find_target(s->registry, kind, NULL);
    const char *plugin = p ? p->name : k ? k->base.name : "";
    const char *today = l->names ? "" : tnt_target_today(s, l->a, kind, section ? name : NULL);
    row(l,
        tn_dictv(s->ctx, "name", text(l, name), "kind", text(l, kind), "plugin", text(l, plugin),
                 "today", text(l, today), NULL),
        "%-20s kind %s%s%s%s, %s", name, kind, *plugin && !section ? " (plugin " : "",
        section ? "" : plugin, *plugin && !section ? ")" : "", today);
}

static void
list_targets(listing *l)
{
    tnt_session *s = l->s;
    uint32_t n;
    const char **names = tnb_conf_names(s->conf, tn_arena(s->ctx), "target", &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *kind = tnb_conf_text(s->conf, "target", names[i], "kind");
        target_row(l, names[i], kind ? kind : names[i], true);
    }
    uint32_t m;
    const tnb_provided *p = tnb_plugins_provided(s->plugins, tn_arena(s->ctx), "target", &m);
    for (uint32_t i = 0; i < m; i++)
        if (!tnb_conf_has(s->conf, "target", p[i].name) &&
            (!i || strcmp(p[i].name, p[i - 1].name) != 0)) /* which two plugins may promise */
            target_row(l, p[i].name, p[i].name, false);
}

static void
list_profiles(listing *l)
{
    tnt_session *s = l->s;
    uint32_t n, m;
    const char **names = tnb_conf_names(s->conf, tn_arena(s->ctx), "profile", &n);
    for (uint32_t i = 0; i < n; i++) {
        const tnb_conf_value **v =
            tnb_conf_section_values(s->conf, tn_arena(s->ctx), "profile", names[i], &m);
        row(l,
            tn_dictv(s->ctx, "name", text(l, names[i]), "file", text(l, m ? v[0]->file : ""), NULL),
            "%-20s %s", names[i], m ? v[0]->file : "");
    }
}

/* Names as pass lists write them. */
static void
list_lists(listing *l)
{
#define SHOW_LIST(list, passes, doc)                                                  \
    row(l,                                                                            \
        tn_dictv(l->s->ctx, "name", text(l, "@" list), "doc", text(l, doc), "passes", \
                 text(l, passes), NULL),                                              \
        "@%-18s %s\n    %s", list, doc, passes);
    TNK_PASS_LISTS(SHOW_LIST)
#undef SHOW_LIST
}

static const tn_node *
property_value(tn_ctx *ctx, const tnr_property *p)
{
    switch (p->type) {
    case TNR_PROPERTY_INT:
        return tn_i64(ctx, p->u.i);
    case TNR_PROPERTY_FLOAT:
        return tn_float_imm_of(ctx, TNB_F64, p->u.f);
    case TNR_PROPERTY_BOOL:
        return tn_bool(ctx, p->u.b);
    case TNR_PROPERTY_TEXT:
        return tn_string(ctx, p->u.text);
    }
    return tn_none_value(ctx);
}

const tn_node *
tnt_properties(tn_ctx *ctx, tnr_device *dev)
{
    uint32_t n = 0;
    const tnr_property *p = dev ? tnr_device_properties(dev, &n) : NULL;
    tn_list out = {0};
    for (uint32_t i = 0; i < n; i++)
        out = tn_list_append(ctx, out,
                             tn_dictv(ctx, "name", tn_string(ctx, p[i].name), "value",
                                      property_value(ctx, &p[i]), "doc",
                                      tn_string(ctx, p[i].doc ? p[i].doc : ""), NULL));
    return tn_array_of(ctx, out);
}

static bool
list_legalizers(listing *l, const char *target)
{
    uint32_t n;
    const tnt_legalizer *all = tnt_legalizers(l->s, target, &n);
    for (uint32_t i = 0; all && i < n; i++)
        row(l,
            tn_dictv(l->s->ctx, "name", text(l, all[i].op), "target", text(l, all[i].target),
                     "plugin", text(l, all[i].plugin), "instead_of", text(l, all[i].hides), NULL),
            "%-32s %-12s %s%s%s", all[i].op, all[i].target, all[i].plugin,
            *all[i].hides ? ", instead of " : "", all[i].hides);
    return all != NULL;
}

/* A device of a driver, with what it can or why it cannot be used. */
static const tn_node *
device_object(listing *l, tnr_runtime *rt, const tnr_driver *d, int id)
{
    tnr_device *dev;
    tnb_err err = {0};
    char what[4096] = "";
    bool usable = tnr_device_open(rt, d->base.name, id, &dev, &err) == TNB_OK;
    if (usable)
        d->describe(tnr_device_handle(dev), what, sizeof what);
    return tn_dictv(l->s->ctx, "id", tn_i64(l->s->ctx, id), "usable", tn_bool(l->s->ctx, usable),
                    usable ? "description" : "why", text(l, usable ? what : err.message), "hint",
                    text(l, err.hint), "properties", tnt_properties(l->s->ctx, usable ? dev : NULL),
                    NULL);
}

static void
print_device(const tn_node *dev, int id)
{
    const char *what = tn_dict_str(dev, "description", NULL), *hint = tn_dict_str(dev, "hint", "");
    if (what)
        printf("    %d: %s\n", id, what);
    else
        printf("    %d: not usable: %s\n", id, tn_dict_str(dev, "why", ""));
    if (!what && *hint)
        printf("       %s\n", hint);
}

static void
list_driver(listing *l, tnr_runtime *rt, const tnr_driver *d)
{
    int n = 0;
    tnb_err err = {0};
    tn_list devices = {0};
    const char *doc = d->base.doc ? d->base.doc : "", *why = "";
    if (!l->names && (d->count(d->self, &n, &err) != TNB_OK || n == 0))
        why = err.message[0] ? err.message : "no device found";
    for (int id = 0; id < n; id++)
        devices = tn_list_append(l->s->ctx, devices, device_object(l, rt, d, id));
    row(l,
        tn_dictv(l->s->ctx, "name", text(l, d->base.name), "doc", text(l, doc), "devices",
                 tn_array_of(l->s->ctx, devices), "why", text(l, why), "hint", text(l, err.hint),
                 NULL),
        "%-12s %s", d->base.name, doc);
    if (l->json || l->names)
        return;
    if (*why)
        printf("    none: %s\n", why);
    if (*why && err.hint[0])
        printf("          %s\n", err.hint);
    for (uint32_t id = 0; id < devices.n; id++)
        print_device(devices.at[id], (int)id);
}

static bool
list_devices(listing *l)
{
    tnr_runtime *rt = tnt_runtime(l->s, l->a);
    if (!rt)
        return false;
    tnr_load_drivers(rt);
    const tnr_driver *d;
    for (uint32_t i = 0; (d = tnr_driver_at(rt, i)); i++)
        list_driver(l, rt, d);
    return true;
}

static int
unknown_list(tnt_session *s, const tnt_command *c, const char *what)
{
    const char *names[32], *at = c->operands;
    uint32_t n = 0;
    for (size_t k; n < 32 && (k = strcspn(at, "| ")); at += k + (at[k] == '|'))
        names[n++] = tn_strn(s->ctx, at, k);
    return tnt_unknown(c, "cannot list", what, names, n);
}

static int
run(tnt_session *s, const tnt_args *a)
{
    static const struct {
        const char *list, *kind;
    } provided[] = {{"passes", "pass"},          {"importers", "importer"},
                    {"rules", "rule"},           {"patterns", "pattern"},
                    {"externals", "external"},   {"dialects", "dialect"},
                    {"meanings", "meaning"},     {"tensor_intrins", "tensor_intrin"},
                    {"evaluators", "evaluator"}, {"loaders", "loader"},
                    {"packed", "packed"}};
    enum { N_PROVIDED = sizeof provided / sizeof *provided };
    const char *what = a->operands[0];
    size_t k = 0;
    listing l = {.s = s, .a = a, .json = tnt_has(a, "json"), .names = tnt_has(a, "names")};
    if (a->n_operands > 1 && strcmp(what, "legalizers") != 0)
        return tnt_usage(a->command, "a list of %s takes no further operand", what);
    while (k < N_PROVIDED && strcmp(provided[k].list, what) != 0)
        k++;
    if (k < N_PROVIDED)
        list_provided(&l, provided[k].kind);
    else if (strcmp(what, "legalizers") == 0) {
        if (!list_legalizers(&l, a->n_operands > 1 ? a->operands[1] : NULL))
            return TNT_FAILED;
    } else if (strcmp(what, "plugins") == 0)
        list_plugins(&l);
    else if (strcmp(what, "ops") == 0 && l.json)
        return tnt_list_ops_json(s);
    else if (strcmp(what, "ops") == 0)
        list_ops(&l);
    else if (strcmp(what, "targets") == 0)
        list_targets(&l);
    else if (strcmp(what, "devices") == 0 && !list_devices(&l))
        return TNT_FAILED;
    else if (strcmp(what, "profiles") == 0)
        list_profiles(&l);
    else if (strcmp(what, "lists") == 0)
        list_lists(&l);
    else if (strcmp(what, "devices") != 0)
        return unknown_list(s, a->command, what);
    return !l.json || tnt_print_json(tn_array_of(s->ctx, l.rows)) ? TNT_OK : TNT_FAILED;
}

const tnt_command tnt_command_list = {
    .name = "list",
    .operands = "plugins|passes|lists|rules|ops|targets|profiles|devices|importers|"
                "patterns|externals|dialects|meanings|tensor_intrins|evaluators|loaders|packed|"
                "legalizers [TARGET]",
    .summary = "list what is installed",
    .details =
        "`list targets` says what each target can do today: whether its backend generates "
        "kernels, and whether there is a device here that runs them. Patterns are given to "
        "FuseOpsByPattern, externals generate code for what they found, and loaders run it; "
        "tensor_intrins replace inner loops in schedules, evaluators run modules; "
        "packed are functions that models call by name, and meanings their reference "
        "implementations. `list legalizers TARGET` names, for each operator, the plugin whose "
        "tensor program the target uses, and the plugins whose programs it replaces.",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .examples =
        (const char *const[]){"tenon list plugins --why",
                              "every candidate, used or not, and the reason", "tenon list targets",
                              "what can be compiled for, and what runs here", "tenon list devices",
                              "the devices, and why some cannot be used",
                              "tenon list legalizers cpu",
                              "the operators with code of their own for the target cpu", NULL},
    .ignores = "debug|tuning-db",
    .effects = (const char *const[]){"why plugins", NULL},
    .run = run,
};
