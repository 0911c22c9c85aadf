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
        else if (db && strcmp(items[i], "none") != 0 && access(file, F_OK) != 0 &&
                 !is_folder(tnb_path_dir(tn_arena(ctx), file)))
            tnb_conf_report(v, tn_diags(ctx), TNB_NOT_FOUND,
                            "'%s' in 'tuning_db': neither the file nor its folder is there", file);
        else if (strcmp(v->key, "trust_owners") == 0 &&
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

/* Forgets what was recorded from `from` on if all of it was recorded before: targets share sections. */
static void
forget_repeated(tnb_diags *d, uint32_t from)
{
    uint32_t n = tnb_diags_count(d);
    for (uint32_t i = from; i < n; i++) {
        const tnb_diag *x = tnb_diags_get(d, i);
        bool had = false;
        for (uint32_t k = 0; k < from && !had; k++) {
            const tnb_diag *y = tnb_diags_get(d, k);
            had = x->place.line == y->place.line && strcmp(x->message, y->message) == 0;
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

/* Passes that there are, with options that they have. */
static void
check_items(tn_ctx *ctx, const tn_pass_list *l)
{
    tn_registry *reg = tn_ctx_registry(ctx);
    const tn_module *none = tn_module_new(ctx);
    for (uint32_t i = 0; i < l->n; i++) {
        tnb_err err = {0};
        const tn_pass_item *item = &l->at[i];
        const tn_pass *pass = tn_find_pass(reg, item->name, &err);
        uint32_t before = tnb_diags_count(tn_diags(ctx));
        tnb_place place = {.file = item->origin};
        if (!pass && driver_promised(ctx, "pass", item->name))
            continue; /* of a plugin that is not used: no fault of the setting */
        if (!pass) {
            tnb_report(tn_diags(ctx), TNB_ERROR, err.status, place, "%s", err.message);
            tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
        } else if (!has_reference(item->options)) {
            tn_loc at = tn_at(ctx, tn_loc_make(ctx, place));
            (void)tn_pass_options(ctx, pass, item, none);
            tn_at(ctx, at);
        }
        forget_repeated(tn_diags(ctx), before);
    }
}

static void
check_pipeline(tn_ctx *ctx, const tnb_conf *conf, const char *target)
{
    tnk_target t;
    tnk_pipeline p;
    uint32_t before = tnb_diags_count(tn_diags(ctx));
    bool ok = tnk_target_find(ctx, conf, target, &t) && tnk_pipeline_make(ctx, conf, &t, NULL, &p);
    forget_repeated(tn_diags(ctx), before);
    for (int ph = 0; ok && ph < TNK_N_PHASES; ph++)
        check_items(ctx, &p.phases[ph]);
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
        if (tn_find_target(tn_ctx_registry(ctx), kind, NULL))
            check_pipeline(ctx, conf, names[i]);
        else if (!driver_promised(ctx, "target", kind) && k &&
                 k->layer == TNB_CONF_SYSTEM) { /* users': tnk_check_sections */
            tnb_conf_report(k, tn_diags(ctx), TNB_NOT_FOUND,
                            "[target %s] cannot be used: no plugin provides the kind '%s'",
                            names[i], k->value);
            const char *near = tn_nearest_name(tn_ctx_registry(ctx), "target", k->value);
            if (near)
                tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
        }
    }
    const tnb_provided *kinds =
        plugins ? tnb_plugins_provided(plugins, tn_arena(ctx), "target", &n_kinds) : NULL;
    for (uint32_t i = 0; i < n_kinds; i++)
        if (!tnb_conf_has(conf, "target", kinds[i].name) &&
            tn_find_target(tn_ctx_registry(ctx), kinds[i].name, NULL))
            check_pipeline(ctx, conf, kinds[i].name);
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
check_insert(tn_ctx *ctx, const tnb_conf_value *v)
{
    const char *s = v->value + strspn(v->value, " \n"), *colon = strchr(s, ':');
    size_t word = strncmp(s, "after ", 6) == 0 ? 6 : strncmp(s, "before ", 7) == 0 ? 7 : 0;
    tn_pass_list list = {0};
    if (!*s)
        return;
    if (!word || !colon) {
        tnb_conf_report(v, tn_diags(ctx), TNB_INVALID,
                        "'%s' is not of the form 'before|after PHASE-or-PASS[#k]: list'", v->value);
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
        check_items(ctx, &list);
    }
}

static void
check_profiles(tn_ctx *ctx, const tnb_conf *conf)
{
    uint32_t n, n_values, k;
    const char **names = tnb_conf_names(conf, tn_arena(ctx), "profile", &n);
    for (uint32_t i = 0; i < n; i++) {
        const tnb_conf_value **values =
            tnb_conf_section_values(conf, tn_arena(ctx), "profile", names[i], &n_values);
        for (uint32_t j = 0; j < n_values; j++) {
            bool drop = strcmp(values[j]->key, "drop") == 0;
            const char **dropped =
                drop ? tnb_conf_split(tn_arena(ctx), values[j]->value, &k) : NULL;
            for (uint32_t d = 0; drop && d < k; d++)
                check_pass_name(ctx, values[j], dropped[d]);
            if (!drop)
                check_insert(ctx, values[j]);
        }
    }
}

/* ---- [pass NAME] ---- */

/* One option on its own, so that an error names its line. */
static void
check_option(tn_ctx *ctx, const tn_pass *pass, const tnb_conf_value *v)
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
    tn_op schema = {.base.size = sizeof schema,
                    .base.name = tn_strf(ctx, "pass %s", pass->base.name),
                    .attrs = rows};
    tn_loc before = tn_at(ctx, tn_loc_make(ctx, driver_place(v)));
    (void)tn_op_attrs(ctx, &schema, tn_dictv(ctx, row->name, value, NULL));
    tn_at(ctx, before);
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
            check_option(ctx, pass, values[k]);
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
}
