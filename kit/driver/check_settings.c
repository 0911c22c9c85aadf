/* SPDX-License-Identifier: Apache-2.0 */
/* Every setting looked at, whether something would use it or not (`tenon check-config`). What names nothing at all is found by
 * settings.c, which every command asks; here are values. */
#include "driver_private.h"

#include <sys/stat.h>
#include <unistd.h>
#include "tenon/base/file.h"
#include "tenon/base/num.h"
#include "tenon/base/plugin.h"

/* ---- [tenon] ---- */

static bool
is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A path of a list counts from the folder of the INI file. */
static const char *
item_path(tn_ctx *ctx, const tnb_conf_value *v, const char *item)
{
    return v->line ? tnb_path_join(tn_arena(ctx), tnb_path_dir(tn_arena(ctx), v->file), item)
                   : item;
}

static void
check_list(tn_ctx *ctx, const tnb_conf_value *v)
{
    uint32_t n;
    uint64_t number;
    bool path = strcmp(v->key, "plugin_path") == 0, db = strcmp(v->key, "tuning_db") == 0;
    const char **items = tnb_conf_split(tn_arena(ctx), v->value, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *file = item_path(ctx, v, items[i]);
        if (path && !is_folder(file))
            tnb_conf_report(v, tn_diags(ctx), TNB_NOT_FOUND,
                            "'%s' in 'plugin_path' is no folder that is there", file);
        else if (db && strcmp(items[i], "none") != 0 && access(file, F_OK) != 0) {
            tnb_conf_report(v, tn_diags(ctx), TNB_NOT_FOUND, "'%s' in 'tuning_db' is not there",
                            file);
            tnb_diag_hint(tn_diags(ctx), "tenon tune --tuning-db FILE writes a database");
        } else if (strcmp(v->key, "trust_owners") == 0 &&
                   (!tnb_read_u64(items[i], strlen(items[i]), &number) || number >= UINT32_MAX)) {
            tnb_conf_report(v, tn_diags(ctx), TNB_INVALID,
                            "'%s' in 'trust_owners' is no number of a user", items[i]);
            tnb_diag_hint(tn_diags(ctx), "id -u NAME prints a user's number");
        }
    }
}

static void
check_tenon(tn_ctx *ctx, const tnb_conf *conf)
{
    uint32_t n;
    const tnb_conf_value **values = tnb_conf_section_values(conf, tn_arena(ctx), "tenon", "", &n);
    for (uint32_t i = 0; i < n; i++) {
        const tnb_conf_value *v = values[i];
        check_list(ctx, v);
        if (strcmp(v->key, "cache_dir") == 0 && *v->value && access(v->value, F_OK) == 0 &&
            !is_folder(v->value))
            tnb_conf_report(v, tn_diags(ctx), TNB_INVALID,
                            "'cache_dir' is '%s', which is no folder", v->value);
    }
    driver_check_target_names(ctx, conf, "default_target");
}

static void
check_digests(tn_ctx *ctx, const tnb_conf *conf)
{
    uint32_t n;
    const char **names = tnb_conf_names(conf, tn_arena(ctx), "plugin", &n);
    for (uint32_t i = 0; i < n; i++) {
        const tnb_conf_value *v = tnb_conf_find(conf, "plugin", names[i], "digest");
        if (!v || !*v->value ||
            (strlen(v->value) == 64 && strspn(v->value, "0123456789abcdefABCDEF") == 64))
            continue;
        tnb_conf_report(v, tn_diags(ctx), TNB_INVALID, "'digest' is no SHA-256: %.80s", v->value);
        tnb_diag_hint(tn_diags(ctx), "64 hexadecimal digits are wanted, as sha256sum prints them");
    }
}

/* ---- targets ---- */

static const char *
file_of(const tnb_diag *d)
{
    return d->place.file ? d->place.file : "";
}

void
driver_forget_repeated(tnb_diags *d, uint32_t from)
{
    uint32_t n = tnb_diags_count(d);
    for (uint32_t i = from; i < n; i++) {
        const tnb_diag *x = tnb_diags_get(d, i);
        bool had = false;
        for (uint32_t k = 0; k < from && !had; k++) {
            const tnb_diag *y = tnb_diags_get(d, k);
            had = strcmp(x->message, y->message) == 0 &&
                  ((x->place.line == y->place.line && strcmp(file_of(x), file_of(y)) == 0) ||
                   strstr(file_of(x), ", options "));
        }
        if (!had)
            return;
    }
    tnb_diags_cut(d, from);
}

/* ---- pass lists ---- */

static bool
has_reference(const tn_node *options)
{
    const tn_dict *d = tn_as_dict(options);
    for (uint32_t i = 0; d && i < d->items.n; i++)
        if (tn_is(tn_as_pair(d->items.at[i])->value, TN_KIND_PAIR))
            return true;
    return false;
}

/* A rule's name without what stands before the dot is that of each target (`Matmul` of `cpu.Matmul`); a family of patterns, one
 * of them (`dnnl.*`), and one that is written out has no name. */
static bool
entry_exists(tn_ctx *ctx, const char *kind, const char *name)
{
    const tnb_plugins *plugins = tn_registry_plugins(tn_ctx_registry(ctx));
    const bool family = strcmp(kind, "pattern") == 0 && tnb_ends_with(name, "*"),
               tail = strcmp(kind, "rule") == 0 && !strchr(name, '.');
    uint32_t n = 0;
    if ((strcmp(kind, "pattern") == 0 && strstr(name, ":=")) ||
        tn_find_entry(tn_ctx_registry(ctx), kind, name, NULL) || driver_promised(ctx, kind, name))
        return true;
    const tnb_provided *all =
        plugins ? tnb_plugins_provided(plugins, tn_arena(ctx), kind, &n) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        const char *dot = strrchr(all[i].name, '.');
        if ((family && strncmp(all[i].name, name, strlen(name) - 1) == 0) ||
            (tail && dot && strcmp(dot + 1, name) == 0))
            return true;
    }
    return family && tnb_plugins_unusable(plugins, kind, name, NULL);
}

static const char *
words_of(const char *kind)
{
    return strcmp(kind, "op") == 0         ? "operator"
           : strcmp(kind, "external") == 0 ? "external code generator"
                                           : kind;
}

static void
check_entry(tn_ctx *ctx, const tnb_conf *conf, const tn_pass *pass, const tn_attr_schema *a,
            const char *name, tnb_place place)
{
    const char *kind = a->allowed;
    const bool target = strcmp(kind, "target") == 0;
    if (target ? driver_is_target(ctx, conf, name) : entry_exists(ctx, kind, name))
        return;
    if (target)
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_NOT_FOUND, place,
                   "pass %s: option '%s' is '%s': there is no such target", pass->base.name,
                   a->name, name);
    else
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_NOT_FOUND, place,
                   "pass %s: option '%s' names the %s '%s', which no plugin provides",
                   pass->base.name, a->name, words_of(kind), name);
    const char *near = tn_nearest_name(tn_ctx_registry(ctx), kind, name);
    if (near)
        tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
    else
        tnb_diag_hint(tn_diags(ctx), "tenon list %ss prints the names", kind);
}

/* Options that name rules, patterns, operators, external code generators or targets name such that there are. */
static void
check_entries(tn_ctx *ctx, const tnb_conf *conf, const tn_pass *pass, const tn_node *options,
              tnb_place place)
{
    static const char *const kinds[] = {"rule", "pattern", "op", "external", "target"};
    for (const tn_attr_schema *a = pass->options; a && a->name; a++) {
        const tn_node *v = tn_dict_get(options, a->name);
        const tn_array *names = tn_as_array(v);
        const tn_dict *d = tn_as_dict(v);
        const tn_string_imm *one = tn_as_string_imm(v);
        bool is = false;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            is |= a->allowed && strcmp(a->allowed, kinds[i]) == 0;
        if (!is)
            continue;
        if (a->type == TN_ATTR_ANY && !d && v && !tn_is(v, TN_KIND_NONE))
            tnb_report(tn_diags(ctx), TNB_ERROR, TNB_TYPE, place,
                       "pass %s: option '%s' is %s, expected a dictionary whose keys are names "
                       "of %ss",
                       pass->base.name, a->name, tn_text(ctx, v), words_of(a->allowed));
        if (a->type == TN_ATTR_STR && one)
            check_entry(ctx, conf, pass, a, one->value, place);
        for (uint32_t i = 0; d && i < d->items.n; i++)
            check_entry(ctx, conf, pass, a, tn_as_pair(d->items.at[i])->key, place);
        for (uint32_t i = 0; names && i < names->items.n; i++)
            if ((one = tn_as_string_imm(names->items.at[i])))
                check_entry(ctx, conf, pass, a, one->value, place);
    }
}

/* A plugin that [tenon] plugins leaves out and that is needed. */
static void
report_left_out(tn_ctx *ctx, const tnb_conf *conf, const tnb_plugin *p, const char *who,
                const char *name)
{
    const tnb_conf_value *v = tnb_conf_find(conf, "tenon", "", "plugins");
    if (!p || p->state != TNB_PLUGIN_BLOCKED || !v || v->layer < TNB_CONF_SYSTEM)
        return;
    tnb_conf_report(v, tn_diags(ctx), TNB_NOT_FOUND,
                    "'plugins' leaves out '%s', which %s '%s' needs", p->name, who, name);
    tnb_diag_hint(tn_diags(ctx), "tenon plugin enable %s%s", p->name,
                  v->layer == TNB_CONF_SYSTEM ? " --system" : "");
}

/* Options that name a file, of those that are given, name one that is there. `dir`: where relative ones begin; NULL: here. */
static void
check_option_files(tn_ctx *ctx, const tn_pass *pass, const tn_node *given, const char *dir,
                   tnb_place place)
{
    const tn_pass_ctx pc = {.ctx = ctx, .dir = dir};
    for (const tn_attr_schema *a = pass->options; a && a->name; a++) {
        const char *path =
            a->allowed && strcmp(a->allowed, "file") == 0 ? tn_dict_str(given, a->name, "") : "";
        if (!*path || access(tn_pass_path(&pc, path), R_OK) == 0)
            continue;
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_NOT_FOUND, place,
                   "pass %s: option '%s' is '%s': there is no such file", pass->base.name, a->name,
                   path);
        tnb_diag_hint(tn_diags(ctx), "%s: %s", a->name, a->doc);
    }
}

/* Passes that there are, with options that they have. `target`: whose they are; NULL: any. */
static void
check_items(tn_ctx *ctx, const tnb_conf *conf, const char *target, const tn_pass_list *l)
{
    tn_registry *reg = tn_ctx_registry(ctx);
    const tn_module *none = tn_module_new(ctx);
    for (uint32_t i = 0; i < l->n; i++) {
        tnb_err err = {0};
        const tn_pass_item *item = &l->at[i];
        const tn_pass *pass = tn_find_pass(reg, item->name, &err);
        uint32_t before = tnb_diags_count(tn_diags(ctx));
        tnb_place place = {.file = item->origin};
        if (!pass && driver_promised(ctx, "pass", item->name)) {
            if (target) /* else it is no fault of the setting */
                report_left_out(ctx, conf,
                                tnb_plugins_unusable(tn_registry_plugins(reg), "pass", item->name,
                                                     NULL),
                                "target", target);
        } else if (!pass) {
            tnb_report(tn_diags(ctx), TNB_ERROR, err.status, place, "%s", err.message);
            tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
        } else if (!has_reference(item->options)) {
            tn_loc at = tn_at(ctx, tn_loc_make(ctx, place));
            const tn_node *options = tn_pass_options(ctx, pass, item, none);
            tn_at(ctx, at);
            if (options && !tn_is_error(options)) {
                check_entries(ctx, conf, pass, options, place);
                check_option_files(ctx, pass, item->options, item->dir, place);
            }
        }
        driver_forget_repeated(tn_diags(ctx), before);
    }
}

static void
check_pipeline(tn_ctx *ctx, const tnb_conf *conf, const char *target)
{
    tnk_target t;
    tnk_pipeline p;
    uint32_t before = tnb_diags_count(tn_diags(ctx));
    bool ok = tnk_target_find(ctx, conf, target, &t) && tnk_pipeline_make(ctx, conf, &t, NULL, &p);
    driver_forget_repeated(tn_diags(ctx), before);
    for (int ph = 0; ok && ph < TNK_N_PHASES; ph++)
        check_items(ctx, conf, target, &p.phases[ph]);
}

/* Attributes that name a program or a file. */
static void
check_files(tn_ctx *ctx, const tnb_conf *conf, const char *section, const tn_target_kind *kind)
{
    for (const tn_attr_schema *a = kind->attrs; a && a->name; a++) {
        bool program = a->allowed && strcmp(a->allowed, "program") == 0;
        bool file = a->allowed && strcmp(a->allowed, "file") == 0;
        const tnb_conf_value *v = tnb_conf_find(conf, "target", section, a->name);
        if (!v || !*v->value || strchr("\"'", *v->value))
            continue;
        const char *word = tn_strn(ctx, v->value, strcspn(v->value, " \t"));
        /* a library's name without a folder is looked for by the loader */
        if ((program && !tnb_find_program(tn_arena(ctx), word)) ||
            (file && strchr(v->value, '/') && access(v->value, R_OK) != 0)) {
            tnb_conf_report(v, tn_diags(ctx), TNB_NOT_FOUND, "'%s' is '%s': there is no such %s",
                            v->key, v->value, a->allowed);
            tnb_diag_hint(tn_diags(ctx), "%s: %s", a->name, a->doc);
        }
    }
}

/* The section of a kind by whose name another kind would be chosen. */
static void
check_kind(tn_ctx *ctx, const char *section, const tnb_conf_value *k, const tn_target_kind *kind)
{
    const tn_target_kind *own = tn_find_target(tn_ctx_registry(ctx), section, NULL);
    if (!k || !own || own == kind)
        return;
    tnb_conf_report(k, tn_diags(ctx), TNB_INVALID,
                    "[target %s] has the kind '%s', but '%s' is a kind of its own, which -t would "
                    "not reach any more",
                    section, k->value, section);
    tnb_diag_hint(tn_diags(ctx), "give the section another name");
}

/* A section of the site, without a kind or of one that nobody provides; those that users set are looked at by
 * tnk_check_sections, and packages may speak of what is not installed. */
static void
check_missing_kind(tn_ctx *ctx, const tnb_conf *conf, const char *section, const tnb_conf_value *k)
{
    uint32_t n;
    const tnb_conf_value **values =
        tnb_conf_section_values(conf, tn_arena(ctx), "target", section, &n);
    for (uint32_t i = 0; i < n; i++)
        if (values[i]->layer > TNB_CONF_SYSTEM)
            return;
    if (n && (k ? k : values[0])->layer == TNB_CONF_SYSTEM)
        driver_unknown_kind(ctx, k, values[0]);
}

static void
check_targets(tn_ctx *ctx, const tnb_conf *conf)
{
    const tnb_plugins *plugins = tn_registry_plugins(tn_ctx_registry(ctx));
    uint32_t n, n_kinds = 0;
    const char **names = tnb_conf_names(conf, tn_arena(ctx), "target", &n);
    for (uint32_t i = 0; i < n; i++) {
        const tnb_conf_value *k = tnb_conf_find(conf, "target", names[i], "kind");
        const char *kind = k ? k->value : names[i];
        const tn_target_kind *found = tn_find_target(tn_ctx_registry(ctx), kind, NULL);
        if (found) {
            check_kind(ctx, names[i], k, found);
            check_files(ctx, conf, names[i], found);
            check_pipeline(ctx, conf, names[i]);
        } else if (!driver_promised(ctx, "target", kind)) {
            check_missing_kind(ctx, conf, names[i], k);
        }
    }
    const tnb_provided *kinds =
        plugins ? tnb_plugins_provided(plugins, tn_arena(ctx), "target", &n_kinds) : NULL;
    for (uint32_t i = 0; i < n_kinds; i++)
        if (!tnb_conf_has(conf, "target", kinds[i].name) &&
            tn_find_target(tn_ctx_registry(ctx), kinds[i].name, NULL))
            check_pipeline(ctx, conf, kinds[i].name);
}

/* Whether the name is a tag whose tags never end in a target. */
static bool
stands_for_tags(const tnb_conf *conf, const char *name)
{
    enum { MANY = 64 };
    for (int i = 0; i < MANY; i++) {
        const tnb_conf_value *v =
            tnb_conf_has(conf, "target", name) ? NULL : tnb_conf_find(conf, "tags", "", name);
        if (!v || *v->value == '{')
            return false;
        name = v->value;
    }
    return true;
}

static void
check_tags(tn_ctx *ctx, const tnb_conf *conf)
{
    uint32_t n;
    tnk_target t;
    const tnb_conf_value **tags = tnb_conf_section_values(conf, tn_arena(ctx), "tags", "", &n);
    for (uint32_t i = 0; i < n; i++) {
        tnb_err err = {0};
        const tn_node *d = *tags[i]->value == '{' ? tn_value_from_json(ctx, tags[i]->value,
                                                                       strlen(tags[i]->value), &err)
                                                  : NULL;
        const char *kind = tn_dict_str(d, "kind", NULL);
        if (*tags[i]->value == '{' && (!kind || tn_find_target(tn_ctx_registry(ctx), kind, NULL))) {
            if (!tnk_target_find(ctx, conf, tags[i]->key, &t) && !kind)
                continue; /* it is recorded */
        } else if (*tags[i]->value != '{' && !driver_is_target(ctx, conf, tags[i]->value)) {
            tnb_conf_report(tags[i], tn_diags(ctx), TNB_NOT_FOUND,
                            "the tag '%s' stands for '%s', which is no target", tags[i]->key,
                            tags[i]->value);
            const char *near = tn_nearest_name(tn_ctx_registry(ctx), "target", tags[i]->value);
            if (near)
                tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
        } else if (*tags[i]->value != '{' && stands_for_tags(conf, tags[i]->value)) {
            if (tnk_target_find(ctx, conf, tags[i]->key, &t))
                continue; /* else the error is recorded */
        } else if (kind && tags[i]->layer >= TNB_CONF_SYSTEM &&
                   !driver_promised(ctx, "target", kind)) {
            tnb_conf_report(tags[i], tn_diags(ctx), TNB_NOT_FOUND,
                            "the tag '%s' has the kind '%s', which no plugin provides",
                            tags[i]->key, kind);
            const char *near = tn_nearest_name(tn_ctx_registry(ctx), "target", kind);
            if (near)
                tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
        }
    }
}

/* ---- profiles ---- */

static bool
is_phase(const char *name)
{
    for (int p = 0; p < TNK_N_PHASES; p++)
        if (strcmp(name, tnk_phase_name((tnk_phase)p)) == 0)
            return true;
    return false;
}

static void
check_pass_name(tn_ctx *ctx, const tnb_conf_value *v, const char *name)
{
    tnb_err err = {0};
    if (is_phase(name) || tn_find_pass(tn_ctx_registry(ctx), name, &err) ||
        driver_promised(ctx, "pass", name))
        return;
    tnb_conf_report(v, tn_diags(ctx), TNB_NOT_FOUND, "'%s': %s", v->key, err.message);
    if (*err.hint)
        tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
}

/* "before|after PHASE-or-PASS[#k]: list" of a profile, which is for any target. */
static void
check_insert(tn_ctx *ctx, const tnb_conf *conf, const tnb_conf_value *v)
{
    const char *s = v->value + strspn(v->value, " \n"), *colon = strchr(s, ':');
    size_t word = strncmp(s, "after ", 6) == 0 ? 6 : strncmp(s, "before ", 7) == 0 ? 7 : 0;
    tn_pass_list list = {0};
    if (!*s)
        return;
    if (!word || !colon) {
        tnb_conf_report(v, tn_diags(ctx), TNB_INVALID,
                        "'%s' is not of the form 'before|after PHASE-or-PASS[#k]: list'", v->value);
        tnb_diag_hint(tn_diags(ctx), "for example: after FuseOps: DeadCodeElimination");
        return;
    }
    s += word + strspn(s + word, " ");
    check_pass_name(ctx, v, tn_strn(ctx, s, strcspn(s, "#: ")));
    const char *origin = v->line ? tn_strf(ctx, "%s:%u", v->file, v->line) : v->file;
    if (tn_pass_list_parse(ctx, colon + 1, origin, &list) &&
        tnk_pass_list_expand(ctx, NULL, &list)) {
        for (uint32_t i = 0; i < list.n; i++) {
            list.at[i].origin = origin;
            list.at[i].dir = v->line ? tnb_path_dir(tn_arena(ctx), v->file) : NULL;
        }
        check_items(ctx, conf, NULL, &list);
    }
}

/* A profile that no target here takes, such as one that inserts at a place which no pipeline has. `targets` n of them. */
static void
check_use(tn_ctx *ctx, const tnb_conf *conf, const char *profile, const tnk_target *targets,
          uint32_t n)
{
    tnb_diags *d = tn_diags(ctx);
    uint32_t before = tnb_diags_count(d);
    tnk_pipeline p;
    for (uint32_t i = n; i-- > 0;) { /* the errors of the first stay */
        tnb_diags_cut(d, before);
        if (tnk_pipeline_make(ctx, conf, &targets[i], profile, &p)) {
            tnb_diags_cut(d, before);
            return;
        }
    }
}

/* Targets of this configuration that can be used, and whose pipelines can be made; at most `max`. */
static uint32_t
usable_targets(tn_ctx *ctx, const tnb_conf *conf, tnk_target *out, uint32_t max)
{
    const tnb_plugins *plugins = tn_registry_plugins(tn_ctx_registry(ctx));
    uint32_t n = 0, n_names, n_kinds = 0, before = tnb_diags_count(tn_diags(ctx));
    const char **names = tnb_conf_names(conf, tn_arena(ctx), "target", &n_names);
    const tnb_provided *kinds =
        plugins ? tnb_plugins_provided(plugins, tn_arena(ctx), "target", &n_kinds) : NULL;
    tnk_pipeline p;
    for (uint32_t i = 0; i < n_names + n_kinds && n < max; i++) {
        n +=
            tnk_target_find(ctx, conf, i < n_names ? names[i] : kinds[i - n_names].name, &out[n]) &&
            tnk_pipeline_make(ctx, conf, &out[n], NULL, &p);
        tnb_diags_cut(tn_diags(ctx), before);
    }
    return n;
}

static void
check_profiles(tn_ctx *ctx, const tnb_conf *conf)
{
    enum { MAX_TARGETS = 16 };
    tnk_target targets[MAX_TARGETS];
    uint32_t n, n_values, k;
    const char **names = tnb_conf_names(conf, tn_arena(ctx), "profile", &n);
    uint32_t n_targets = n ? usable_targets(ctx, conf, targets, MAX_TARGETS) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const tnb_conf_value **values =
            tnb_conf_section_values(conf, tn_arena(ctx), "profile", names[i], &n_values);
        uint32_t before = tnb_diags_count(tn_diags(ctx));
        for (uint32_t j = 0; j < n_values; j++) {
            bool drop = strcmp(values[j]->key, "drop") == 0;
            const char **dropped =
                drop ? tnb_conf_split(tn_arena(ctx), values[j]->value, &k) : NULL;
            for (uint32_t d = 0; drop && d < k; d++)
                check_pass_name(ctx, values[j], dropped[d]);
            if (!drop)
                check_insert(ctx, conf, values[j]);
        }
        if (tnb_diags_count(tn_diags(ctx)) == before)
            check_use(ctx, conf, names[i], targets, n_targets);
    }
}

/* ---- what says nothing ---- */

static bool
is_blank(const char *s)
{
    return s[strspn(s, " \t\n")] == '\0';
}

/* Phases without which no target compiles, and inserts of nothing. */
static void
check_blanks(tn_ctx *ctx, const tnb_conf *conf, const char *section)
{
    uint32_t n, n_values;
    const char **names = tnb_conf_names(conf, tn_arena(ctx), section, &n);
    for (uint32_t i = 0; i < n; i++) {
        const tnb_conf_value **values =
            tnb_conf_section_values(conf, tn_arena(ctx), section, names[i], &n_values);
        for (uint32_t k = 0; k < n_values; k++) {
            const tnb_conf_value *v = values[k];
            const char *colon = strchr(v->value, ':');
            if (strncmp(v->key, "insert.", 7) == 0 && colon && is_blank(colon + 1)) {
                tnb_conf_report(v, tn_diags(ctx), TNB_INVALID, "'%s' inserts no pass", v->key);
                tnb_diag_hint(tn_diags(ctx), "an empty value takes an insert of that label away");
            } else if (is_phase(v->key) && is_blank(v->value) &&
                       strcmp(v->key, tnk_phase_name(TNK_LIBRARY_DISPATCH)) != 0) {
                tnb_conf_report(v, tn_diags(ctx), TNB_INVALID,
                                "'%s' is empty: no model compiles without its passes", v->key);
                tnb_diag_hint(tn_diags(ctx), "without this line the phase is that of the target; "
                                             "'drop' leaves out single passes");
            }
        }
    }
}

/* Plugins that are used and require one that is not. */
static void
check_required(tn_ctx *ctx, const tnb_conf *conf)
{
    const tnb_plugins *p = tn_registry_plugins(tn_ctx_registry(ctx));
    for (uint32_t i = 0; p && i < tnb_plugins_count(p); i++) {
        const tnb_plugin *one = tnb_plugins_get(p, i);
        for (uint32_t r = 0; one->state <= TNB_PLUGIN_LOADED && r < one->n_requires; r++)
            for (uint32_t k = 0; k < tnb_plugins_count(p); k++)
                if (strcmp(tnb_plugins_get(p, k)->name, one->requires_[r]) == 0)
                    report_left_out(ctx, conf, tnb_plugins_get(p, k), "plugin", one->name);
    }
}

/* ---- [pass NAME] ---- */

/* One option on its own, so that an error names its line. */
static void
check_option(tn_ctx *ctx, const tnb_conf *conf, const tn_pass *pass, const tnb_conf_value *v)
{
    const char *names[64];
    uint32_t n = 0;
    const tn_attr_schema *row = NULL;
    for (const tn_attr_schema *a = pass->options; a && a->name; a++) {
        row = strcmp(a->name, v->key) == 0 ? a : row;
        if (n < 64)
            names[n++] = a->name;
    }
    if (!row) {
        tnb_conf_report(v, tn_diags(ctx), TNB_INVALID, "pass %s has no option '%s'",
                        pass->base.name, v->key);
        const char *near = tnb_nearest(v->key, names, n);
        if (near)
            tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
        else
            tnb_diag_hint(tn_diags(ctx), "tenon show pass %s prints its options", pass->base.name);
        return;
    }
    const tn_node *value = driver_option(ctx, v);
    if (!value || tn_is(value, TN_KIND_PAIR))
        return; /* recorded; or a reference, which takes a module */
    const tn_attr_schema rows[2] = {*row, {0}};
    tn_loc before = tn_at(ctx, tn_loc_make(ctx, driver_place(v)));
    tn_pass one = *pass;
    one.options = rows;
    const tn_pass_item item = {.name = pass->base.name,
                               .options = tn_dictv(ctx, row->name, value, NULL)};
    const tn_node *options = tn_pass_options(ctx, &one, &item, tn_module_new(ctx));
    tn_at(ctx, before);
    if (options && !tn_is_error(options)) {
        check_entries(ctx, conf, pass, options, driver_place(v));
        check_option_files(ctx, pass, options,
                           v->line ? tnb_path_dir(tn_arena(ctx), v->file) : NULL, driver_place(v));
    }
}

static void
check_passes(tn_ctx *ctx, const tnb_conf *conf)
{
    uint32_t n, n_values;
    const char **names = tnb_conf_names(conf, tn_arena(ctx), "pass", &n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_pass *pass = tn_find_pass(tn_ctx_registry(ctx), names[i], NULL);
        const tnb_conf_value **values =
            tnb_conf_section_values(conf, tn_arena(ctx), "pass", names[i], &n_values);
        for (uint32_t k = 0; pass && k < n_values; k++)
            check_option(ctx, conf, pass, values[k]);
    }
}

void
tnk_check_settings(tn_ctx *ctx, const tnb_conf *conf)
{
    tnk_check_sections(ctx, conf);
    check_tenon(ctx, conf);
    check_digests(ctx, conf);
    check_passes(ctx, conf);
    check_targets(ctx, conf);
    check_tags(ctx, conf);
    check_profiles(ctx, conf);
    check_blanks(ctx, conf, "pipeline");
    check_blanks(ctx, conf, "profile");
    check_required(ctx, conf);
}
