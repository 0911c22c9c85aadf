/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that name something which is not there: sections of the configuration, names of plugins in
 * it, keys of the passes' configuration. */
#include <string.h>
#include "driver_private.h"
#include "tenon/base/conf.h"
#include "tenon/base/plugin.h"
#include "tenon/kit/driver.h"

/* ---- plugins ---- */

static bool
plugin_exists(const tnb_plugins *p, const char *name)
{
    for (uint32_t i = 0; p && i < tnb_plugins_count(p); i++)
        if (strcmp(tnb_plugins_get(p, i)->name, name) == 0)
            return true;
    return false;
}

bool
driver_promised(tn_ctx *ctx, const char *kind, const char *name)
{
    const tnb_plugins *p = tn_registry_plugins(tn_ctx_registry(ctx));
    size_t n = strlen(kind);
    for (uint32_t i = 0; p && i < tnb_plugins_count(p); i++) {
        const tnb_plugin *c = tnb_plugins_get(p, i);
        for (uint32_t k = 0; k < c->n_provides; k++)
            if (strncmp(c->provides[k], kind, n) == 0 && c->provides[k][n] == ':' &&
                strcmp(c->provides[k] + n + 1, name) == 0)
                return true;
    }
    return false;
}

static const char *
nearest_plugin(const tnb_plugins *p, const char *name)
{
    const char *names[256];
    uint32_t n = 0;
    for (uint32_t i = 0; p && i < tnb_plugins_count(p) && n < 256; i++)
        names[n++] = tnb_plugins_get(p, i)->name;
    return tnb_nearest(name, names, n);
}

/* A value of [tenon] that names a plugin. */
static void
check_plugin_name(tn_ctx *ctx, const tnb_conf_value *v, const char *name)
{
    const tnb_plugins *p = tn_registry_plugins(tn_ctx_registry(ctx));
    if (v->layer < TNB_CONF_SYSTEM || strcmp(name, "*") == 0 || !p || plugin_exists(p, name))
        return;
    tnb_report(tn_diags(ctx), TNB_WARNING, TNB_NOT_FOUND, driver_place(v),
               "'%s' in '%s' is no plugin that was found", name, v->key);
    const char *near = nearest_plugin(p, name);
    if (strchr("!~", *name))
        tnb_diag_hint(tn_diags(ctx), "'*, -%s' leaves that plugin out", name + 1);
    else if (near)
        tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
    else
        tnb_diag_hint(tn_diags(ctx), "tenon list plugins --why shows every plugin");
}

/* Whether a promise, "kind:name" or "kind_alias:name", is what prefer.NAME or prefer.KIND.NAME speaks of. */
static bool
is_promise_of(const char *promise, const char *what)
{
    const char *colon = strchr(promise, ':');
    size_t n = colon ? (size_t)(colon - promise) : 0;
    if (n > 6 && strncmp(colon - 6, "_alias", 6) == 0)
        n -= 6;
    return colon &&
           (strcmp(colon + 1, what) == 0 || (strncmp(promise, what, n) == 0 && what[n] == '.' &&
                                             strcmp(colon + 1, what + n + 1) == 0));
}

/* prefer.WHAT of a plugin that does not provide it. */
static void
check_preference(tn_ctx *ctx, const tnb_conf_value *v, const char *what)
{
    const tnb_plugins *p = tn_registry_plugins(tn_ctx_registry(ctx));
    const char *who = NULL;
    TNB_VEC(const char *) names = {0};
    if (v->layer < TNB_CONF_SYSTEM || !p || !plugin_exists(p, v->value))
        return;
    for (uint32_t i = 0; i < tnb_plugins_count(p); i++) {
        const tnb_plugin *c = tnb_plugins_get(p, i);
        for (uint32_t k = 0; k < c->n_provides; k++) {
            const char *colon = strchr(c->provides[k], ':');
            if (colon)
                TNB_PUSH(tn_arena(ctx), names, colon + 1);
            if (!is_promise_of(c->provides[k], what))
                continue;
            if (strcmp(c->name, v->value) == 0)
                return;
            who = c->name;
        }
    }
    tnb_report(tn_diags(ctx), TNB_WARNING, TNB_NOT_FOUND, driver_place(v),
               "'%s' has no effect: plugin '%s' does not provide '%s'", v->key, v->value, what);
    const char *near = who ? NULL : tnb_nearest(what, names.at, names.n);
    if (who)
        tnb_diag_hint(tn_diags(ctx), "plugin '%s' does", who);
    else if (near)
        tnb_diag_hint(tn_diags(ctx), "no plugin does; did you mean 'prefer.%s'?", near);
    else
        tnb_diag_hint(tn_diags(ctx), "no plugin does; tenon list plugins shows what each is for");
}

static void
check_plugin_names(tn_ctx *ctx, const tnb_conf *conf)
{
    uint32_t n, n_values;
    const tnb_conf_value **values =
        tnb_conf_section_values(conf, tn_arena(ctx), "tenon", "", &n_values);
    for (uint32_t i = 0; i < n_values; i++) {
        if (strncmp(values[i]->key, "prefer.", 7) == 0) {
            check_plugin_name(ctx, values[i], values[i]->value);
            check_preference(ctx, values[i], values[i]->key + 7);
        }
        if (strcmp(values[i]->key, "plugins") != 0)
            continue;
        const char **names = tnb_conf_split(tn_arena(ctx), values[i]->value, &n);
        for (uint32_t k = 0; k < n; k++)
            check_plugin_name(ctx, values[i], names[k] + (*names[k] == '-'));
    }
}

/* ---- names of targets ---- */

bool
driver_is_target(tn_ctx *ctx, const tnb_conf *conf, const char *name)
{
    return *name == '{' || tnb_conf_has(conf, "target", name) ||
           tnb_conf_find(conf, "tags", "", name) || driver_promised(ctx, "target", name) ||
           tn_find_target(tn_ctx_registry(ctx), name, NULL);
}

void
driver_check_target_names(tn_ctx *ctx, const tnb_conf *conf, const char *key)
{
    uint32_t n = 0;
    const tnb_conf_value *v = tnb_conf_find(conf, "tenon", "", key);
    bool order = strcmp(key, "target_order") == 0; /* which names devices, too */
    bool given = v && v->layer != TNB_CONF_BUILT_IN;
    const char **names = given ? tnb_conf_split(tn_arena(ctx), v->value, &n) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (driver_is_target(ctx, conf, names[i]) ||
            (order && driver_promised(ctx, "device", names[i])))
            continue;
        tnb_report(tn_diags(ctx), TNB_WARNING, TNB_NOT_FOUND, driver_place(v),
                   "'%s' is '%s': there is no such target", key, names[i]);
        const char *near = tn_nearest_name(tn_ctx_registry(ctx), "target", names[i]);
        if (near)
            tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
        else
            tnb_diag_hint(tn_diags(ctx), "tenon list targets shows the names");
    }
}

/* ---- sections ---- */

/* `kind`: of what a plugin provides under the section's name; of a plugin itself, "plugin". */
static bool
is_used(tn_ctx *ctx, const tnb_conf *conf, const char *kind, const char *name)
{
    tn_registry *reg = tn_ctx_registry(ctx);
    const tnb_plugins *p = tn_registry_plugins(reg);
    if (strcmp(kind, "pass") == 0)
        return tn_find_pass(reg, name, NULL) != NULL;
    if (strcmp(kind, "plugin") == 0)
        return !p || plugin_exists(p, name);
    if (strcmp(kind, "device") == 0)
        return !p || strcmp(name, "host") == 0 || tnb_plugins_find(p, kind, name, NULL);
    return tnb_conf_has(conf, "target", name) || tn_find_target(reg, name, NULL);
}

static const char *
nearest(tn_ctx *ctx, const char *kind, const char *name)
{
    tn_registry *reg = tn_ctx_registry(ctx);
    const tnb_plugins *p = tn_registry_plugins(reg);
    uint32_t n = 0;
    if (strcmp(kind, "plugin") == 0)
        return nearest_plugin(p, name);
    if (strcmp(kind, "device") != 0)
        return tn_nearest_name(reg, kind, name);
    const tnb_provided *all = p ? tnb_plugins_provided(p, tn_arena(ctx), kind, &n) : NULL;
    const char **names = TNB_NEW_N(tn_arena(ctx), const char *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        names[i] = all[i].name;
    return tnb_nearest(name, names, n);
}

static void
check_sections(tn_ctx *ctx, const tnb_conf *conf, const char *section, const char *kind)
{
    uint32_t n, n_values;
    const char **names = tnb_conf_names(conf, tn_arena(ctx), section, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (is_used(ctx, conf, kind, names[i]))
            continue;
        const tnb_conf_value **values =
            tnb_conf_section_values(conf, tn_arena(ctx), section, names[i], &n_values);
        if (!n_values || values[0]->layer < TNB_CONF_SYSTEM)
            continue; /* packages may speak of what is not installed */
        tnb_report(tn_diags(ctx), TNB_WARNING, TNB_NOT_FOUND, driver_place(values[0]),
                   strcmp(kind, "plugin") == 0
                       ? "[%s %s] has no effect: there is no %s of that name"
                       : "[%s %s] has no effect: no plugin provides a %s of that name",
                   section, names[i], kind);
        const char *near = nearest(ctx, kind, names[i]);
        if (near)
            tnb_diag_hint(tn_diags(ctx), "did you mean [%s %s]?", section, near);
    }
}

void
driver_unknown_kind(tn_ctx *ctx, const tnb_conf_value *k, const tnb_conf_value *any)
{
    if (k) {
        tnb_report(tn_diags(ctx), TNB_WARNING, TNB_NOT_FOUND, driver_place(k),
                   "[target %s] cannot be used: no plugin provides the kind '%s'", k->name,
                   k->value);
    } else {
        tnb_report(tn_diags(ctx), TNB_WARNING, TNB_NOT_FOUND, driver_place(any),
                   "[target %s] cannot be used: it has no kind, and no plugin provides one of that "
                   "name",
                   any->name);
        tnb_diag_hint(tn_diags(ctx), "add kind = cpu or another; tenon list targets shows them");
        return;
    }
    const char *near = tn_nearest_name(tn_ctx_registry(ctx), "target", k->value);
    if (near)
        tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
    else
        tnb_diag_hint(tn_diags(ctx), "tenon list targets shows the kinds");
}

/* A target whose kind nobody serves is told of; attributes of one that is served are checked if a user
 * has set some of them, which may load the backend. */
static void
check_target(tn_ctx *ctx, const tnb_conf *conf, const char *name)
{
    uint32_t n, user = 0;
    const tnb_conf_value **values =
        tnb_conf_section_values(conf, tn_arena(ctx), "target", name, &n);
    while (user < n && values[user]->layer < TNB_CONF_USER)
        user++;
    const tnb_conf_value *k = tnb_conf_find(conf, "target", name, "kind");
    const char *kind = k ? k->value : name;
    tn_registry *reg = tn_ctx_registry(ctx);
    const tnb_plugins *p = tn_registry_plugins(reg);
    if (user == n)
        return;
    if (!p || tnb_plugins_find(p, "target", kind, NULL) || tn_find_target(reg, kind, NULL)) {
        if (p)
            (void)driver_check_target(ctx, conf, name);
        return;
    }
    driver_unknown_kind(ctx, k, values[user]);
}

/* Keys of [plugin NAME] that neither every plugin has nor this one's manifest lists. */
static void
check_plugin_settings(tn_ctx *ctx, const tnb_conf *conf)
{
    const tnb_plugins *p = tn_registry_plugins(tn_ctx_registry(ctx));
    uint32_t n;
    const char **names = tnb_conf_names(conf, tn_arena(ctx), "plugin", &n);
    for (uint32_t i = 0; p && i < n; i++) {
        const tnb_plugin *plugin = tnb_plugins_named(p, names[i]);
        uint32_t n_values, n_known = 1;
        const tnb_conf_value **values =
            tnb_conf_section_values(conf, tn_arena(ctx), "plugin", names[i], &n_values);
        if (!plugin)
            continue;
        const char **known = TNB_NEW_N(tn_arena(ctx), const char *, plugin->n_settings + 1);
        known[0] = "digest";
        for (uint32_t k = 0; k < plugin->n_settings; k++)
            known[n_known++] = plugin->settings[k];
        for (uint32_t v = 0; v < n_values; v++) {
            uint32_t k = 0;
            while (k < n_known && strcmp(known[k], values[v]->key) != 0)
                k++;
            if (k < n_known || values[v]->layer < TNB_CONF_SYSTEM)
                continue;
            tnb_report(tn_diags(ctx), TNB_WARNING, TNB_NOT_FOUND, driver_place(values[v]),
                       "[plugin %s] has no setting '%s'", names[i], values[v]->key);
            const char *near = tnb_nearest(values[v]->key, known, n_known);
            if (near)
                tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
            else
                tnb_diag_hint(tn_diags(ctx), "`settings` in '%s' lists them", plugin->manifest);
        }
    }
}

void
tnk_check_sections(tn_ctx *ctx, const tnb_conf *conf)
{
    uint32_t n;
    check_sections(ctx, conf, "pass", "pass");
    check_sections(ctx, conf, "pipeline", "target");
    check_sections(ctx, conf, "device", "device");
    check_sections(ctx, conf, "plugin", "plugin");
    check_plugin_settings(ctx, conf);
    check_plugin_names(ctx, conf);
    driver_check_target_names(ctx, conf, "target_order");
    const char **targets = tnb_conf_names(conf, tn_arena(ctx), "target", &n);
    for (uint32_t i = 0; i < n; i++)
        check_target(ctx, conf, targets[i]);
}

/* ---- the passes' configuration ---- */

bool
driver_pass_reads(const tn_pass *pass, const char *key)
{
    for (const tn_attr_schema *k = pass ? pass->config : NULL; k && k->name; k++)
        if (strcmp(k->name, key) == 0)
            return true;
    return false;
}

/* A pass of the list that reads the key; NULL: none. */
static const tn_pass *
reader_in(tn_ctx *ctx, const char *key, const tn_pass_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const tn_pass *pass = tn_find_pass(tn_ctx_registry(ctx), list->at[i].name, NULL);
        if (driver_pass_reads(pass, key))
            return pass;
    }
    return NULL;
}

/* Among the passes of every plugin; NULL after recording an error: none reads the key. */
static const tn_pass *
any_reader(tn_ctx *ctx, const char *key, tnb_place place)
{
    tn_registry *reg = tn_ctx_registry(ctx);
    TNB_VEC(const char *) keys = {0};
    const tn_pass *pass;
    tn_registry_load_all(reg, "pass");
    for (uint32_t i = 0; (pass = tn_registry_entry(reg, "pass", i)); i++) {
        if (driver_pass_reads(pass, key))
            return pass;
        for (const tn_attr_schema *k = pass->config; k && k->name; k++)
            TNB_PUSH(tn_arena(ctx), keys, k->name);
    }
    tnb_report(tn_diags(ctx), TNB_ERROR, TNB_NOT_FOUND, place,
               "no pass reads the configuration '%s'", key);
    const char *near = tnb_nearest(key, keys.at, keys.n);
    if (near)
        tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
    else
        tnb_diag_hint(tn_diags(ctx), "tenon show pass NAME tells what a pass reads");
    return NULL;
}

bool
driver_check_key(tn_ctx *ctx, const tn_pair *p, const char *origin, const tnk_target *t,
                 const tn_pass_list *list)
{
    const tnb_place place = {.file = origin};
    const tn_pass *in_list = reader_in(ctx, p->key, list),
                  *pass = in_list ? in_list : any_reader(ctx, p->key, place);
    if (!pass ||
        tn_is_error(tn_pass_config(ctx, pass, tn_dict_of(ctx, &p->key, &p->value, 1), origin)))
        return false;
    if (!in_list)
        tnb_report(tn_diags(ctx), TNB_WARNING, TNB_NOT_FOUND, place,
                   "the configuration '%s' has no effect%s%s%s: no pass of %s reads it", p->key,
                   t ? " for the target '" : "", t ? t->name : "", t ? "'" : "",
                   t ? "its pipeline" : "the list");
    return true;
}
