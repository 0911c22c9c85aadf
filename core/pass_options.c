/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a pass and its part of the run's configuration: looked up, checked, completed; and how a pass reads them. */
#include "pass_private.h"

#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/npy.h"

static const char *
found_from(tn_ctx *ctx, const char *dir, const char *path)
{
    while (dir && *dir && path[0] != '/') {
        size_t n = strcspn(dir, "\n");
        const char *there = tnb_path_join(tn_arena(ctx), tn_strn(ctx, dir, n), path);
        if (access(there, F_OK) == 0)
            return there;
        dir += n + (dir[n] != '\0');
    }
    return path;
}

const char *
tn_pass_path(const tn_pass_ctx *pc, const char *path)
{
    return found_from(pc->ctx, pc->dir, path);
}

static const tn_node *
constant_of_file(tn_ctx *ctx, const char *dir, const char *path)
{
    tnb_array a = {0};
    tnb_err err;
    if (tnb_npy_read(found_from(ctx, dir, path), &a, &err) != TNB_OK)
        return tn_error(ctx, 0, err.status, "%s", err.message);
    void *bytes;
    const tn_data *d = tn_data_new(ctx, a.dtype, a.ndim, a.shape, &bytes);
    if (d && d->n_bytes == a.bytes && a.bytes)
        memcpy(bytes, a.data, (size_t)a.bytes);
    tnb_array_free(&a);
    return tn_constant_of(ctx, d);
}

/* Texts "@FILE.npy" inside a dictionary or list are the files' contents. */
static const tn_node *
with_files(tn_ctx *ctx, const char *dir, const tn_node *v)
{
    const tn_dict *d = tn_as_dict(v);
    const tn_array *a = tn_as_array(v);
    for (uint32_t i = 0; i < (d ? d->items.n : a ? a->items.n : 0); i++) {
        const tn_pair *p = d ? (const tn_pair *)d->items.at[i] : NULL;
        const tn_node *old = p ? p->value : a->items.at[i], *now = old;
        const tn_string_imm *s = tn_as_string_imm(old);
        size_t n = s ? strlen(s->value) : 0;
        if (n > 5 && s->value[0] == '@' && !strcmp(s->value + n - 4, ".npy"))
            now = constant_of_file(ctx, dir, s->value + 1);
        else if (tn_is(old, TN_KIND_DICT) || tn_is(old, TN_KIND_ARRAY))
            now = with_files(ctx, dir, old);
        if (tn_is_error(now))
            return now;
        if (now == old)
            continue;
        v = p ? tn_dict_set(ctx, v, p->key, now)
              : tn_array_of(ctx, tn_list_with(ctx, tn_as_array(v)->items, i, now));
    }
    return v;
}

static const tn_node *
look_up(tn_ctx *ctx, const tn_pass *pass, const char *dir, const tn_pair *ref, const tn_module *m)
{
    const char *name = ((const tn_string_imm *)ref->value)->value;
    if (strcmp(ref->key, TN_PASS_FILE) == 0)
        return constant_of_file(ctx, dir, name);
    const tn_node *v = tn_dict_get(m->attrs, name);
    return v ? v
             : tn_error(ctx, 0, TNB_NOT_FOUND, "pass %s: the module has no attribute '%s'",
                        pass->base.name, name);
}

const tn_node *
tn_pass_options(tn_ctx *ctx, const tn_pass *pass, const tn_pass_item *item, const tn_module *m)
{
    const tn_node *given = item->options;
    const tn_dict *d = tn_as_dict(given);
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = (const tn_pair *)d->items.at[i];
        const tn_node *v = tn_is(p->value, TN_KIND_PAIR)
                               ? look_up(ctx, pass, item->dir, (const tn_pair *)p->value, m)
                               : with_files(ctx, item->dir, p->value);
        if (v == p->value)
            continue;
        if (tn_is_error(v))
            return v;
        given = tn_dict_set(ctx, given, p->key, v);
    }
    return tn_schema_apply(ctx, tn_strf(ctx, "pass %s", pass->base.name), "option", pass->options,
                           given);
}

const tn_node *
tn_pass_config(tn_ctx *ctx, const tn_pass *pass, const tn_node *config, const char *origin)
{
    const char *owner = tn_strf(ctx, "pass %s", pass->base.name);
    const tn_node *all = tn_dict_of(ctx, NULL, NULL, 0);
    bool ok = true;
    tn_loc at = tn_at(ctx, tn_loc_make(ctx, (tnb_place){.file = origin}));
    for (const tn_attr_schema *k = pass->config; k && k->name; k++) {
        const tn_node *v =
            tn_schema_value(ctx, owner, "configuration", k, tn_dict_get(config, k->name));
        if (tn_is_error(v) && !origin)
            tnb_diag_note(tn_diags(ctx), "the caller gave it, in `config` of its options");
        ok &= !tn_is_error(v);
        all = ok ? tn_dict_set(ctx, all, k->name, v) : all;
    }
    tn_at(ctx, at);
    return ok ? all : tn_error_node(ctx);
}

int64_t
tn_option_int(const tn_pass_ctx *pc, const char *key)
{
    return tn_dict_int(pc->options, key, 0);
}

bool
tn_option_bool(const tn_pass_ctx *pc, const char *key)
{
    return tn_dict_int(pc->options, key, 0) != 0;
}

const char *
tn_option_str(const tn_pass_ctx *pc, const char *key)
{
    return tn_dict_str(pc->options, key, NULL);
}

const tn_node *
tn_config_value(const tn_pass_ctx *pc, const char *key)
{
    const tn_node *v = tn_dict_get(pc->settings, key);
    if (!v)
        tn_error(pc->ctx, 0, TNB_INTERNAL,
                 "a pass reads the configuration '%s', which its table `config` does not declare",
                 key);
    return v;
}

int64_t
tn_config_int(const tn_pass_ctx *pc, const char *key)
{
    int64_t v;
    return tn_int_value(tn_config_value(pc, key), &v) ? v : 0;
}

bool
tn_config_bool(const tn_pass_ctx *pc, const char *key)
{
    return tn_config_int(pc, key) != 0;
}

const char *
tn_config_str(const tn_pass_ctx *pc, const char *key)
{
    const tn_string_imm *s = tn_as_string_imm(tn_config_value(pc, key));
    return s ? s->value : NULL;
}

const tn_module *
tn_map_functions(const tn_pass_ctx *pc, const tn_module *m, unsigned which,
                 const tn_node *(*fn)(const tn_pass_ctx *pc, const tn_module *m, const char *name,
                                      const tn_node *func, void *user),
                 void *user)
{
    uint32_t n = 0;
    const char **names = TNB_NEW_N(tn_scratch(pc->ctx), const char *, m->names.n);
    const tn_node **funcs = TNB_NEW_N(tn_scratch(pc->ctx), const tn_node *, m->names.n);
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        unsigned kind = tn_is(f, TN_KIND_FUNCTION)    ? TN_FUNCTIONS
                        : tn_is(f, TN_KIND_PRIM_FUNC) ? TN_PRIM_FUNCS
                                                      : 0;
        if (!(kind & which))
            continue;
        const char *name = tn_module_name(m, i);
        const tn_node *now = fn(pc, m, name, f, user);
        if (!now || tn_is_error(now))
            return NULL;
        if (pc->progress)
            pc->progress(pc->progress_user, i + 1, m->names.n);
        if (now == f)
            continue;
        names[n] = name;
        funcs[n++] = now;
    }
    return n ? tn_module_set_all(pc->ctx, m, names, funcs, n) : m;
}
