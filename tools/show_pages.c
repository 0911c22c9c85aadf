/* SPDX-License-Identifier: Apache-2.0 */
/* The reference pages passes.md, targets.md and devices.md: all that plugins provide, from the schemas that also check what users
 * write, and from the pass lists as they are without any INI file. */
#include "tool.h"

static const char *
text_or(const char *s, const char *other)
{
    return s ? s : other;
}

const char *
tnt_keeps_words(tn_keeps k)
{
    static const char *const words[] = {/* ORDER KEEPS */
                                        "results bit by bit",
                                        "results within tolerance",
                                        "results of functions with equal signatures",
                                        "nothing comparable",
                                        "results within what float16 leaves",
                                        "results within what int8 leaves"};
    return words[k];
}

/* ---- pipelines of all backends ---- */

typedef struct pipelines {
    const tn_target_kind **kinds;
    const char **plugins;
    tnk_pipeline *lists;
    uint32_t n;
} pipelines;

static bool
find_pipelines(tnt_session *s, pipelines *out)
{
    tnb_arena *arena = tn_arena(s->ctx);
    uint32_t n;
    const tnb_provided *p = tnb_plugins_provided(s->plugins, arena, "target", &n);
    *out = (pipelines){.kinds = TNB_NEW_N(arena, const tn_target_kind *, n + 1),
                       .plugins = TNB_NEW_N(arena, const char *, n + 1),
                       .lists = TNB_NEW_N(arena, tnk_pipeline, n + 1)};
    for (uint32_t i = 0; i < n; i++) {
        tnk_target t;
        if (!tnk_target_find(s->ctx, NULL, p[i].name, &t) ||
            !tnk_pipeline_make(s->ctx, NULL, &t, NULL, &out->lists[out->n])) {
            tnt_report(s);
            return false;
        }
        out->kinds[out->n] = t.kind;
        out->plugins[out->n++] = p[i].plugin->name;
    }
    return true;
}

/* ---- passes ---- */

static const char passes_head[] =
    "# Passes\n\n"
    "Every pass that a plugin provides, from the schemas that also check pass lists. In a list a "
    "pass stands as `NAME` or\n"
    "`NAME{option=value,...}`; `[pass NAME]` in an INI file gives options wherever it stands "
    "(configuration.md). `--pass-config KEY=JSON`\n"
    "gives the keys of the run's configuration. `tenon show pipeline TARGET` prints the lists that "
    "are in effect\n"
    "on this machine; named below are those that targets have without INI files.\n";

/* Where a pass stands: a line a target, with each place's phase and options. */
static void
print_places(const pipelines *all, const tn_pass *p)
{
    bool any = false;
    for (uint32_t i = 0; i < all->n; i++) {
        bool here = false;
        for (int ph = 0; ph < TNK_N_PHASES; ph++) {
            const tn_pass_list *l = &all->lists[i].phases[ph];
            for (uint32_t k = 0; k < l->n; k++) {
                if (strcmp(l->at[k].name, p->base.name) != 0 &&
                    (!p->alias || strcmp(l->at[k].name, p->alias) != 0))
                    continue;
                tnb_buf b = {0};
                tn_pass_list one = {&l->at[k], 1};
                tn_pass_list_print(&one, &b);
                if (!here)
                    printf("%s* %s: ", any ? "" : "\n", all->kinds[i]->base.name);
                printf("%s%s, number %u", here ? "; " : "", tnk_phase_name((tnk_phase)ph), k + 1);
                if (l->at[k].options && b.n)
                    printf(", as `%s`", b.s);
                tnb_buf_free(&b);
                any = here = true;
            }
        }
        if (here)
            puts("");
    }
    if (!any)
        puts("\nIn no target's lists.");
}

int
tnt_show_passes(tnt_session *s)
{
    pipelines all;
    uint32_t n;
    if (!find_pipelines(s, &all))
        return TNT_FAILED;
    const tnb_provided *p = tnb_plugins_provided(s->plugins, tn_arena(s->ctx), "pass", &n);
    fputs(passes_head, stdout);
    for (uint32_t i = 0; i < n; i++) {
        tnb_err err = {0};
        const tn_pass *pass = tn_find_pass(s->registry, p[i].name, &err);
        if (!pass) {
            tnt_complain(&err);
            return TNT_FAILED;
        }
        printf("\n## %s\n\n%s\n\nOf plugin %s; optimization level %d; keeps %s.\n", pass->base.name,
               text_or(pass->base.doc, ""), p[i].plugin->name, pass->opt_level,
               tnt_keeps_words(pass->keeps));
        tnt_print_schema_table(s, pass->options, "option");
        tnt_print_schema_table(s, pass->config, "pass configuration");
        print_places(&all, pass);
    }
    return TNT_OK;
}

/* ---- targets ---- */

static const char targets_head[] =
    "# Targets\n\n"
    "Every backend with the kinds of target that it serves, the attributes that `[target NAME]` in "
    "an INI file and JSON targets may\n"
    "have, and its pass lists as they are without INI files. `tenon show target NAME` prints one "
    "with what was found on this\n"
    "machine, `tenon show pipeline NAME` its lists as they are in effect, with origins. What the "
    "passes do: passes.md.\n";

/* Rules whose names begin with the backend's or one of its kinds' names. */
static void
print_rules(tnt_session *s, const tn_target_kind *k)
{
    uint32_t n, found = 0;
    const tnb_provided *p = tnb_plugins_provided(s->plugins, tn_arena(s->ctx), "rule", &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *dot = strchr(p[i].name, '.');
        if (!dot || strlen(k->base.name) != (size_t)(dot - p[i].name) ||
            strncmp(p[i].name, k->base.name, (size_t)(dot - p[i].name)) != 0)
            continue;
        printf("%s`%s`", found++ ? ", " : "\nSchedule rules of its own: ", p[i].name);
    }
    if (found)
        puts(".");
}

int
tnt_show_targets(tnt_session *s)
{
    pipelines all;
    if (!find_pipelines(s, &all))
        return TNT_FAILED;
    fputs(targets_head, stdout);
    for (uint32_t i = 0; i < all.n; i++) {
        const tn_target_kind *k = all.kinds[i];
        printf("\n## %s\n\n%s\n\nOf plugin %s. Kinds: ", k->base.name, text_or(k->base.doc, ""),
               all.plugins[i]);
        for (uint32_t j = 0; k->kinds && k->kinds[j]; j++)
            printf("%s`%s`", j ? ", " : "", k->kinds[j]);
        printf(". Device: `%s`.%s\n", text_or(k->device, k->base.name),
               k->codegen ? "" : " It generates no code yet: its lists can be run and looked at.");
        tnt_print_schema_table(s, k->attrs, "attribute");
        print_rules(s, k);
        puts("\n| list | passes |\n|---|---|");
        for (int ph = 0; ph < TNK_N_PHASES; ph++) {
            const tn_pass_list *l = &all.lists[i].phases[ph];
            printf("| `%s` |", tnk_phase_name((tnk_phase)ph));
            for (uint32_t j = 0; j < l->n; j++) {
                tnb_buf b = {0};
                tn_pass_list one = {&l->at[j], 1};
                tn_pass_list_print(&one, &b);
                printf("%s `%s`", j ? "," : "", b.s ? b.s : l->at[j].name);
                tnb_buf_free(&b);
            }
            puts(l->n ? " |" : " (empty) |");
        }
    }
    return TNT_OK;
}

/* ---- devices ---- */

static const char devices_head[] =
    "# Devices\n\n"
    "Every driver of the runtime with the keys that `[device NAME]` in an INI file may have. "
    "`tenon list devices` says which devices\n"
    "this machine has, and why others cannot be used.\n";

int
tnt_show_devices(tnt_session *s, const tnt_args *a)
{
    uint32_t n;
    const tnb_provided *p = tnb_plugins_provided(s->plugins, tn_arena(s->ctx), "device", &n);
    tnr_runtime *rt = tnt_runtime(s, a);
    if (!rt)
        return TNT_FAILED;
    fputs(devices_head, stdout);
    for (uint32_t i = 0; i < n; i++) {
        tnb_err err = {0};
        const tnr_driver *d = tnr_find_driver(rt, p[i].name, &err);
        if (!d) {
            tnt_complain(&err);
            return TNT_FAILED;
        }
        printf("\n## %s\n\n%s. Of plugin %s.\n", d->base.name, text_or(d->base.doc, ""),
               p[i].plugin->name);
        if (!d->settings || !d->settings->name) {
            puts(d->settings ? "\nNo settings." : "\nIts settings are not listed by the driver.");
            continue;
        }
        puts("\n| setting | default | |\n|---|---|---|");
        for (const tnr_setting *k = d->settings; k->name; k++)
            printf("| `%s` | %s%s%s | %s |\n", k->name, k->fallback ? "`" : "",
                   text_or(k->fallback, "unset"), k->fallback ? "`" : "", text_or(k->doc, ""));
    }
    return TNT_OK;
}

/* ---- settings ---- */

static const char settings_head[] =
    "# Settings\n\n"
    "Sections and keys of INI files, from the schema that also checks them. Files and their order: "
    "configuration.md. `tenon show\n"
    "config` prints the values in effect with their origins. Attributes of targets: targets.md; "
    "options of passes: passes.md; settings\n"
    "of devices: devices.md.\n";

static const char *
conf_type_words(const tnb_conf_key *k)
{
    static const char *const words[] = {"text", "integer", "boolean", "list", "path"};
    return (size_t)k->type < sizeof words / sizeof *words ? words[k->type] : "?";
}

int
tnt_show_settings(void)
{
    fputs(settings_head, stdout);
    for (const tnb_conf_section *s = tnb_conf_schema(); s->name; s++) {
        printf("\n## [%s%s]\n\n%s.%s\n", s->name, s->named ? " NAME" : "", text_or(s->doc, ""),
               s->open ? " Other keys belong to the part of Tenon that reads the section." : "");
        if (!s->keys || !s->keys->name)
            continue;
        puts("\n| key | type | default | |\n|---|---|---|---|");
        for (const tnb_conf_key *k = s->keys; k->name; k++) {
            const char *q = k->fallback ? "`" : "";
            printf("| `%s` | %s", k->name, conf_type_words(k));
            if (k->least || k->most)
                printf(", %lld to %lld", (long long)k->least, (long long)k->most);
            printf(" | %s%s%s | ", q, text_or(k->fallback, "unset"), q);
            for (const char *c = text_or(k->doc, ""); *c; c++)
                printf(*c == '|' ? "\\%c" : "%c", *c);
            puts(" |");
        }
    }
    return TNT_OK;
}
