/* SPDX-License-Identifier: Apache-2.0 */
/* What a database calls functions and targets, and where databases lie. */
#include "tune_private.h"

#include <unistd.h>

#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

const char *
tnk_tuning_function(tn_ctx *ctx, const tn_node *prim_func)
{
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    if (!f)
        return NULL;
    /* of the attributes, rules go by one alone */
    const tn_node *alias = tn_func_attr(prim_func, "tirx.noalias");
    alias = alias ? alias : tn_func_attr(prim_func, "tir.noalias");
    bool noalias = alias && !tn_is_int_const(alias, 0);
    const tn_node *attrs = tn_dictv(ctx, "noalias", tn_bool(ctx, noalias), NULL);
    const tn_node *bare = tn_prim_func_of(ctx, f->params, f->buffers, f->body, f->ret, attrs);
    if (tn_is_error(bare))
        return NULL;
    return tn_strf(ctx, "%016llx", (unsigned long long)tn_hash(ctx, bare, true));
}

const char *
tnk_tuning_target(tn_ctx *ctx, const tn_target *target)
{
    /* names, what is kept for others, and what a measured choice does not depend on */
    static const char *const idle[] = {"host",  "tag", "keys",        "libs",
                                       "model", "cc",  "num_threads", NULL};
    if (!target)
        return "none";
    const tn_dict *all = tn_as_dict(target->attrs);
    const tn_node *kept = tn_dict_of(ctx, NULL, NULL, 0);
    for (uint32_t i = 0; all && i < all->items.n; i++) {
        const tn_pair *p = tn_as_pair(all->items.at[i]);
        const tn_string_imm *text = tn_as_string_imm(p->value);
        const tn_array *list = tn_as_array(p->value);
        bool leave =
            tn_is(p->value, TN_KIND_NONE) || (text && !*text->value) || (list && !list->items.n);
        for (int k = 0; idle[k]; k++)
            leave |= !strcmp(idle[k], p->key);
        if (!leave)
            kept = tn_dict_set(ctx, kept, p->key, p->value);
    }
    tnb_buf b = {0};
    const char *text = target->kind;
    if (tn_value_to_json(kept, &b) == TNB_OK && b.s)
        text = tn_strf(ctx, "%s %s", target->kind, b.s);
    tnb_buf_free(&b);
    return text;
}

static const char file_name[] = "tuning.jsonl";

static const char *
users_file(tn_ctx *ctx)
{
    tnb_arena *a = tn_arena(ctx);
    const char *data = tnb_env("XDG_DATA_HOME"), *home = tnb_home();
    if (data && *data == '/')
        return tnb_printf(a, "%s/tenon/%s", data, file_name);
    return home ? tnb_printf(a, "%s/.local/share/tenon/%s", home, file_name) : NULL;
}

/* [tenon] tuning_db; relative paths count from the folder of the file that says it. */
static const char **
configured(tn_ctx *ctx, const tnb_conf *conf, uint32_t *n)
{
    tnb_arena *a = tn_arena(ctx);
    const tnb_conf_value *v = tnb_conf_find(conf, "tenon", "", "tuning_db");
    *n = 0;
    if (!v)
        return NULL;
    const char **items = tnb_conf_split(a, v->value, n);
    if (*n == 1 && !strcmp(items[0], "none"))
        *n = 0;
    for (uint32_t i = 0; i < *n && v->line; i++)
        items[i] = tnb_path_join(a, tnb_path_dir(a, v->file), items[i]);
    return items ? items : TNB_NEW_N(a, const char *, 1);
}

const char **
tnk_tuning_files(tn_ctx *ctx, const tnb_conf *conf, uint32_t *n)
{
    const char **files = configured(ctx, conf, n);
    if (files || !conf)
        return files;
    const tnb_places *p = tnb_places_get();
    const char *known[2] = {p ? tnb_printf(tn_arena(ctx), "%s/%s", p->data, file_name) : NULL,
                            users_file(ctx)};
    files = TNB_NEW_N(tn_arena(ctx), const char *, 2);
    for (int i = 0; files && i < 2; i++)
        if (known[i] && access(known[i], F_OK) == 0)
            files[(*n)++] = known[i];
    return files;
}

const char *
tnk_tuning_output(tn_ctx *ctx, const tnb_conf *conf)
{
    uint32_t n;
    const char **files = configured(ctx, conf, &n);
    return files ? (n ? files[n - 1] : NULL) : users_file(ctx);
}
