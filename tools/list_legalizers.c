/* SPDX-License-Identifier: Apache-2.0 */
/* tenon list legalizers: whose tensor programs operators get on a target. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* Whether a target of the kind, asked for by this name of it, takes what is made for `name`. */
static bool
is_for(const tn_target_kind *k, const char *called, const char *name)
{
    bool usual = strcmp(k->base.name, called) == 0 && k->kinds && k->kinds[0];
    return strcmp(usual ? k->kinds[0] : called, name) == 0;
}

static int
by_name(const void *a, const void *b)
{
    const tnt_legalizer *x = a, *y = b;
    int order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->target, y->target);
}

static const char *
add_text(tnt_session *s, const char *list, const char *name)
{
    return *list ? tn_strf(s->ctx, "%s, %s", list, name) : name;
}

/* Those of the loaded plugins, of `only` alone unless that is NULL, which was asked for as `called`, each operator and target once. */
static tnt_legalizer *
legalizers(tnt_session *s, const tn_target_kind *only, const char *called, uint32_t *n)
{
    TNB_VEC(tnt_legalizer) all = {0};
    tn_ctx *c = s->ctx;
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++) {
        const tnb_plugin *p = tnb_plugins_get(s->plugins, i);
        const tn_plugin_desc *d = (const tn_plugin_desc *)(const void *)p->head;
        if (p->kind != TNB_PLUGIN_COMPILER || p->state != TNB_PLUGIN_LOADED || !d)
            continue;
        for (uint32_t k = 0; k < d->n_legalizers; k++) {
            const tn_legalizer *l = d->legalizers[k];
            if (only && !is_for(only, called, l->target))
                continue;
            bool serves = tn_find_legalizer(s->registry, l->base.name, l->target) == l;
            tnt_legalizer *row = NULL;
            for (uint32_t r = 0; r < all.n && !row; r++)
                if (!strcmp(all.at[r].op, l->base.name) && !strcmp(all.at[r].target, l->target))
                    row = &all.at[r];
            if (!row) {
                const tnt_legalizer made = {l->base.name, l->target, p->name, ""};
                TNB_PUSH(tn_arena(c), all, made);
            } else if (serves) {
                row->hides = add_text(s, row->hides, row->plugin);
                row->plugin = p->name;
            } else {
                row->hides = add_text(s, row->hides, p->name);
            }
        }
    }
    for (uint32_t r = 0; r < all.n; r++) {
        const tn_op *op = tn_find_op(s->registry, all.at[r].op, NULL);
        const tnb_plugin *of = tnb_plugins_find(s->plugins, "op", all.at[r].op, NULL);
        if (op && op->legalize && of)
            all.at[r].hides = add_text(s, all.at[r].hides, of->name);
    }
    if (all.n)
        qsort(all.at, all.n, sizeof *all.at, by_name);
    *n = all.n;
    return all.at;
}

const tnt_legalizer *
tnt_legalizers(tnt_session *s, const char *target, uint32_t *n)
{
    static const char *const kinds[] = {"target", "op", "legalizer"};
    const tn_target_kind *only = NULL;
    tnb_err err = {0};
    if (target) {
        const char *kind = tnb_conf_text(s->conf, "target", target, "kind");
        target = kind ? kind : target;
        only = tn_find_target(s->registry, target, &err);
        if (!only) {
            tnt_complain(&err);
            return NULL;
        }
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        tn_registry_load_all(s->registry, kinds[i]);
    const tnt_legalizer *all = legalizers(s, only, target, n);
    static const tnt_legalizer none;
    return all ? all : &none;
}
