/* SPDX-License-Identifier: Apache-2.0 */
/* Putting values in the place of parameters and symbolic variables. */
#include "bind.h"

#include <stdlib.h>

#include "tenon/core/arith.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* ---- symbolic variables ---- */

typedef struct symbols {
    tn_ctx *ctx;
    TNB_VEC(const tn_node *) list;
    tnb_ptrmap known;
} symbols;

static void
add_symbol(symbols *s, const tn_expr *v)
{
    if (!tn_is(v, TN_KIND_VAR) || !tn_is_scalar(v) || tnb_ptrmap_has(&s->known, v))
        return;
    tnb_ptrmap_set(&s->known, v, v);
    TNB_PUSH(tn_scratch(s->ctx), s->list, v);
}

static bool
found_symbol(void *user, const tn_expr *var, const tn_expr *value)
{
    (void)value;
    add_symbol(user, var);
    return true;
}

static tn_walk_step
casts(void *user, const tn_node *n)
{
    const tn_match_cast *mc = tn_as_match_cast(n);
    if (mc)
        bind_match(mc->to, mc->to, found_symbol, user);
    return TN_WALK_ON;
}

tn_list
bind_symbols(tn_ctx *ctx, const tn_node *func)
{
    symbols s = {.ctx = ctx};
    tnb_ptrmap_init(&s.known, tn_scratch(ctx));
    tn_list defined = tn_defined_symbols(ctx, func);
    for (uint32_t i = 0; i < defined.n; i++)
        add_symbol(&s, defined.at[i]);
    tn_walk(func, 0, casts, NULL, &s);
    return tn_list_of(ctx, s.list.at, s.list.n);
}

static bool
match_dims(tn_list a, tn_list b, bind_found found, void *user)
{
    if (a.n != b.n)
        return true;
    for (uint32_t i = 0; i < a.n; i++)
        if (tn_is_var(a.at[i]) && !found(user, a.at[i], b.at[i]))
            return false;
    return true;
}

bool
bind_match(const tn_type *pattern, const tn_type *value, bind_found found, void *user)
{
    tn_list a, b;
    const tn_ty_tuple *t = tn_as_ty_tuple(pattern), *u = tn_as_ty_tuple(value);
    if (t && u && t->fields.n == u->fields.n) {
        for (uint32_t i = 0; i < t->fields.n; i++)
            if (!bind_match(t->fields.at[i], u->fields.at[i], found, user))
                return false;
        return true;
    }
    if (!pattern || !value || pattern->kind != value->kind || !tn_type_dims(pattern, &a) ||
        !tn_type_dims(value, &b))
        return true;
    return match_dims(a, b, found, user);
}

/* ---- texts ---- */

static bool
skip(const char **s, const char *what)
{
    size_t n = strlen(what);
    if (strncmp(*s, what, n) != 0)
        return false;
    *s += n;
    return true;
}

/* "12]" */
static bool
index_of(const char **s, int64_t *out)
{
    char *end = NULL;
    if (**s < '0' || **s > '9')
        return false;
    *out = strtoll(*s, &end, 10);
    *s = end;
    return *out <= UINT32_MAX && skip(s, "]");
}

bool
bind_place_of(tn_ctx *ctx, const char *text, bind_place *out)
{
    const char *s = strchr(text, '['), *end;
    int64_t param, dim = -1;
    if (!s || (s[1] != '\'' && s[1] != '"') || !(end = strchr(s + 2, s[1])))
        return false;
    const char *func = tn_strn(ctx, s + 2, (size_t)(end - s - 2));
    s = end + 1;
    if (!skip(&s, "].params[") || !index_of(&s, &param))
        return false;
    if (skip(&s, ".ty.shape[") || skip(&s, ".ty.shape.values[") ||
        skip(&s, ".struct_info.shape[") || skip(&s, ".struct_info.shape.values[")) {
        if (!index_of(&s, &dim))
            return false;
    }
    *out = (bind_place){func, (uint32_t)param, dim};
    return !*s;
}

const tn_expr *
bind_at(const tn_function *f, const char *name, const bind_place *p)
{
    tn_list dims;
    if (strcmp(p->func, name) != 0 || p->param >= f->params.n)
        return NULL;
    const tn_expr *param = f->params.at[p->param];
    if (p->dim < 0)
        return param;
    return tn_type_dims(param->type, &dims) && p->dim < dims.n ? dims.at[p->dim] : NULL;
}

/* ---- replacing ---- */

static tn_walk_step
stop_at_load(void *user, const tn_node *n)
{
    (void)user;
    return tn_is(n, TN_KIND_BUFFER_LOAD) ? TN_WALK_STOP : TN_WALK_ON;
}

/* Compound scalars change as a whole, so that they can be simplified. Not those that read buffers:
 * the rewriter may have renewed these. */
static const tn_node *
replace_scalar(tn_rewriter *r, const tn_node *n)
{
    if (!tn_is_scalar(n) || tn_is_var(n) || n->flags & TN_FLAG_CLOSED || tn_is(n, TN_KIND_CALL) ||
        !tn_walk(n, TN_WALK_ONCE, stop_at_load, NULL, NULL))
        return NULL;
    const tn_node *now = tn_subst(r->ctx, n, r->map);
    return now == n || tn_is_error(now) ? now : tn_simplify_now(r->ctx, now);
}

const tn_node *
bind_in(tn_ctx *ctx, const tn_node *n, tnb_ptrmap *map)
{
    tn_rewriter r = {.ctx = ctx, .pre = replace_scalar, .map = map};
    return tn_rewrite(&r, n);
}

/* The function itself: parameters that have a value go. */
static const tn_node *
replace_in_function(tn_rewriter *r, const tn_node *n)
{
    const tn_function *f = *(const tn_function **)r->user;
    if (n != TN_NODE(f))
        return replace_scalar(r, n);
    tn_list params = {0};
    for (uint32_t i = 0; i < f->params.n; i++)
        if (!tnb_ptrmap_has(r->map, f->params.at[i]))
            params = tn_list_append(r->ctx, params, tn_rewrite_def(r, f->params.at[i]));
    const tn_type *ret = f->ret ? tn_rewrite_child(r, f->ret) : NULL;
    const tn_expr *body = tn_rewrite_child(r, f->body);
    return transform_function(r->ctx, f, params, body, ret);
}

const tn_expr *
bind_in_function(tn_ctx *ctx, const tn_function *f, tnb_ptrmap *map)
{
    tn_rewriter r = {
        .ctx = ctx, .user = &f, .pre = replace_in_function, .map = map, .retype = true};
    return tn_rewrite(&r, TN_NODE(f));
}
