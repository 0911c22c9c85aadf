/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: functions under sorted names, changed by path copying. */
#include "private.h"
#include <stdlib.h>

const char *
tn_module_name(const tn_module *m, uint32_t i)
{
    return ((const tn_global_var *)m->names.at[i])->name;
}

const tn_module *
tn_module_new(tn_ctx *ctx)
{
    return tn_as_module(TN_MAKE(ctx, TN_KIND_MODULE, module, NULL, .attrs = NULL));
}

/* Index of the first function whose name is not before `name`. */
static uint32_t
lower_bound(const tn_module *m, const char *name)
{
    uint32_t lo = 0, hi = m->names.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (strcmp(tn_module_name(m, mid), name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const tn_node *
tn_module_get(const tn_module *m, const char *name)
{
    uint32_t i = lower_bound(m, name);
    return i < m->names.n && strcmp(tn_module_name(m, i), name) == 0 ? m->funcs.at[i] : NULL;
}

struct change {
    const char *name;
    const tn_node *func;
    uint32_t order;
};

static int
by_name(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

const tn_module *
tn_module_set_all(tn_ctx *ctx, const tn_module *m, const char *const *names,
                  const tn_node *const *funcs, uint32_t n)
{
    if (!m)
        return NULL;
    tnb_arena *s = tn_scratch(ctx);
    struct change *c = TNB_NEW_N(s, struct change, n);
    for (uint32_t i = 0; i < n; i++) {
        if (tn_is_error(funcs[i]))
            return NULL; /* told by its constructor */
        if (funcs[i] && !tn_is(funcs[i], TN_KIND_FUNCTION) && !tn_is(funcs[i], TN_KIND_PRIM_FUNC) &&
            !tn_is(funcs[i], TN_KIND_EXTERN_FUNC)) {
            tn_error(ctx, 0, TNB_TYPE, "a module holds functions; '%s' is %s", names[i],
                     tn_brief(ctx, funcs[i]));
            return NULL;
        }
        c[i] = (struct change){names[i], funcs[i], i};
    }
    if (n > 1)
        qsort(c, n, sizeof *c, by_name);
    size_t room = (size_t)m->names.n + n;
    const tn_node **ns = TNB_NEW_N(s, const tn_node *, room),
                  **fs = TNB_NEW_N(s, const tn_node *, room);
    uint32_t k = 0, i = 0, j = 0;
    bool changed = false;
    while (i < m->names.n || j < n) {
        if (j + 1 < n && strcmp(c[j].name, c[j + 1].name) == 0) {
            j++; /* a later change of the same name wins */
            continue;
        }
        int order = i == m->names.n ? 1 : j == n ? -1 : strcmp(tn_module_name(m, i), c[j].name);
        if (order < 0) {
            ns[k] = m->names.at[i];
            fs[k++] = m->funcs.at[i++];
            continue;
        }
        const tn_node *old = order == 0 ? m->funcs.at[i++] : NULL;
        changed |= old != c[j].func;
        if (c[j].func) {
            ns[k] = tn_global_var_of(ctx, c[j].name);
            fs[k++] = c[j].func;
        }
        j++;
    }
    if (!changed)
        return m;
    return tn_as_module(TN_MAKE(ctx, TN_KIND_MODULE, module, NULL, .base.loc = m->base.loc,
                                .names = {ns, k}, .funcs = {fs, k}, .attrs = m->attrs,
                                .infos = m->infos));
}

const tn_module *
tn_module_set(tn_ctx *ctx, const tn_module *m, const char *name, const tn_node *func)
{
    return tn_module_set_all(ctx, m, &name, &func, 1);
}

struct tn_module_edit {
    tn_ctx *ctx;
    const tn_module *m;
    tnb_strmap changed;
};

tn_module_edit *
tn_module_edit_new(tn_ctx *ctx, const tn_module *m)
{
    tn_module_edit *e = TNB_NEW(tn_scratch(ctx), tn_module_edit);
    e->ctx = ctx;
    e->m = m;
    tnb_strmap_init(&e->changed, tn_scratch(ctx));
    return e;
}

const tn_node *
tn_module_edit_get(const tn_module_edit *e, const char *name)
{
    return tnb_strmap_has(&e->changed, name) ? tnb_strmap_get(&e->changed, name)
                                             : tn_module_get(e->m, name);
}

void
tn_module_edit_set(tn_module_edit *e, const char *name, const tn_node *func)
{
    tnb_strmap_set(&e->changed, name, func);
}

const tn_module *
tn_module_edit_end(tn_module_edit *e)
{
    uint32_t n = e->changed.n;
    const char **names = TNB_NEW_N(tn_scratch(e->ctx), const char *, n + 1);
    const tn_node **funcs = TNB_NEW_N(tn_scratch(e->ctx), const tn_node *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = e->changed.at[i].key;
        funcs[i] = e->changed.at[i].value;
    }
    return tn_module_set_all(e->ctx, e->m, names, funcs, n);
}

static const tn_module *
with(tn_ctx *ctx, const tn_module *m, const tn_node *attrs, const tn_node *infos)
{
    if (!m || !tn_is_dict_or_null(ctx, attrs, "module attributes") ||
        !tn_is_dict_or_null(ctx, infos, "global infos"))
        return NULL;
    attrs = tn_norm_dict(attrs);
    infos = tn_norm_dict(infos);
    if (attrs == m->attrs && infos == m->infos)
        return m;
    tn_module copy = *m;
    copy.attrs = attrs;
    copy.infos = infos;
    return tn_as_module(tn_make(ctx, TN_KIND_MODULE, &copy, NULL, false));
}

const tn_module *
tn_module_with_attrs(tn_ctx *ctx, const tn_module *m, const tn_node *attrs)
{
    return m ? with(ctx, m, attrs, m->infos) : NULL;
}

const tn_module *
tn_module_with_infos(tn_ctx *ctx, const tn_module *m, const tn_node *infos)
{
    return m ? with(ctx, m, m->attrs, infos) : NULL;
}

/* ---- attributes of functions ---- */
static const tn_node *
attrs_of(const tn_node *func)
{
    if (tn_is(func, TN_KIND_FUNCTION))
        return ((const tn_function *)func)->attrs;
    return tn_is(func, TN_KIND_PRIM_FUNC) ? ((const tn_prim_func *)func)->attrs : NULL;
}

const tn_node *
tn_func_attr(const tn_node *func, const char *key)
{
    return tn_dict_get(attrs_of(func), key);
}

const tn_node *
tn_func_with_attr(tn_ctx *ctx, const tn_node *func, const char *key, const tn_node *value)
{
    if (tn_bad(ctx, func) || tn_is_error(value))
        return tn_error_node(ctx);
    const tn_node *old = attrs_of(func);
    const tn_node *attrs = tn_norm_dict(tn_dict_set(ctx, old, key, value));
    if (attrs == old)
        return func;
    if (tn_is(func, TN_KIND_FUNCTION)) {
        tn_function copy = *(const tn_function *)func;
        copy.attrs = attrs;
        return tn_make(ctx, TN_KIND_FUNCTION, &copy, func->type, false);
    }
    if (tn_is(func, TN_KIND_PRIM_FUNC)) {
        tn_prim_func copy = *(const tn_prim_func *)func;
        copy.attrs = attrs;
        return tn_make(ctx, TN_KIND_PRIM_FUNC, &copy, NULL, false);
    }
    return tn_error(ctx, 0, TNB_TYPE, "%s has no attributes", tn_brief(ctx, func));
}
