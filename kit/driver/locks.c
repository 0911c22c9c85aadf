/* SPDX-License-Identifier: Apache-2.0 */
/* What a site has locked holds however a user asks for it: by a section of another name for the same backend, a target as JSON,
 * a profile, options of a pass, the passes' configuration, or an option of the command. The locked keys themselves are refused
 * when they are read (core/base/conf.c). */
#include "driver_private.h"

#include <stdarg.h>

void
driver_refuse_locked(tn_ctx *ctx, tnb_place place, const tnb_conf_value *lock, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(tn_diags(ctx), TNB_ERROR, TNB_UNTRUSTED, place, fmt, ap);
    va_end(ap);
    tnb_diag_note(tn_diags(ctx), "locked by %s:%u", lock->file, lock->line);
    tnb_diag_hint(tn_diags(ctx), "leave it out, or ask who administers that file");
}

tnb_place
driver_place(const tnb_conf_value *v)
{
    return (tnb_place){.file = v->file, .line = v->line};
}

const tnb_conf_value *
driver_lock(const tnb_conf *conf, const char *section, const char *name, const tn_target_kind *kind,
            const char *key)
{
    const tnb_conf_value *by = tnb_conf_locked(conf, section, name, key);
    if (!by)
        by = tnb_conf_locked(conf, section, kind->base.name, key);
    for (const char *const *k = kind->kinds; k && *k && !by; k++)
        by = tnb_conf_locked(conf, section, *k, key);
    return by;
}

bool
driver_may_edit(tn_ctx *ctx, const tnb_conf *conf, const tnk_target *t, const tnb_conf_value *v,
                const char *key)
{
    const tnb_conf_value *by =
        v->layer >= TNB_CONF_USER ? driver_lock(conf, "pipeline", t->name, t->kind, key) : NULL;
    if (!by)
        return true;
    driver_refuse_locked(ctx, driver_place(v), by,
                         "'%s' in [%s %s] may not be set here: it changes the pipeline of target "
                         "'%s', where the site has locked '%s'",
                         v->key, v->section, v->name, t->name, key);
    return false;
}

bool
driver_may_give(tn_ctx *ctx, const tnb_conf *conf, tnb_place place, const tn_pass_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const tn_dict *d = tn_as_dict(list->at[i].options);
        for (uint32_t k = 0; d && k < d->items.n; k++) {
            const char *key = tn_as_pair(d->items.at[k])->key;
            const tnb_conf_value *by = tnb_conf_locked(conf, "pass", list->at[i].name, key);
            if (!by)
                continue;
            driver_refuse_locked(ctx, place, by,
                                 "the option '%s' of pass %s may not be set here: the site has "
                                 "locked it",
                                 key, list->at[i].name);
            return false;
        }
    }
    return true;
}

/* The setting that a key of the passes' configuration stands for; NULL: none. */
static const char *
setting_of(const char *key)
{
    static const char *const same[][2] = {{"tenon.fallback", "fallback"},
                                          {"tenon.tuning_db", "tuning_db"},
                                          {"tenon.tuning_threads", "threads"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(same[i][0], key) == 0)
            return same[i][1];
    return NULL;
}

/* What locks a key: the setting of the same effect, or the phase of the target with a pass that reads it. */
static const tnb_conf_value *
config_lock(tn_ctx *ctx, const tnb_conf *conf, const tnk_target *t, const tn_pass_list *list,
            const char *key)
{
    const char *setting = setting_of(key);
    const tnb_conf_value *by = setting ? tnb_conf_locked(conf, "tenon", "", setting) : NULL;
    for (uint32_t i = 0; t && i < list->n && !by; i++)
        if (list->at[i].phase &&
            driver_pass_reads(tn_find_pass(tn_ctx_registry(ctx), list->at[i].name, NULL), key))
            by = driver_lock(conf, "pipeline", t->name, t->kind, list->at[i].phase);
    return by;
}

bool
tnk_check_config(tn_ctx *ctx, const tnb_conf *conf, const tnk_target *t, const tn_node *config,
                 const char *origin, const tn_pass_list *list)
{
    const tn_dict *d = tn_as_dict(config);
    bool ok = true;
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = tn_as_pair(d->items.at[i]);
        const tnb_conf_value *by = config_lock(ctx, conf, t, list, p->key);
        if (by)
            driver_refuse_locked(ctx, (tnb_place){.file = origin}, by,
                                 "the pass configuration '%s' may not be set here: the site has "
                                 "locked what it changes",
                                 p->key);
        ok &= !by && driver_check_key(ctx, p, origin, t, list);
    }
    return ok;
}
