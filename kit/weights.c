/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a model in another layout (tenon/kit/weights.h). */
#include "tenon/kit/weights.h"

#include <string.h>
#include "tenon/core/walk.h"

typedef struct rewriting {
    tnk_weights w;
    const tnk_weights_user *u;
    tnb_ptrmap values;     /* variable -> the value it is bound to */
    const tn_type *packed; /* the type of packed_params; NULL: there is none */
    uint32_t n_packed;
    tn_list fields;         /* its fields, and those that were added */
    const tn_expr *renewed; /* the function's parameter with more fields; NULL: it has none */
    TNB_VEC(const tn_node *) bindings; /* of the block at hand */
    bool dataflow, any;
} rewriting;

int64_t
tnk_weights_item(const tnk_weights *w, const tn_expr *var)
{
    rewriting *r = w->state;
    const tn_expr *value = tnb_ptrmap_get(&r->values, var);
    const tn_tuple_get *item = value ? tn_as_tuple_get(value) : NULL;
    return item && r->packed && item->tuple->type == r->packed && tn_is_var(item->tuple) &&
                   item->index < r->n_packed
               ? item->index
               : -1;
}

int64_t
tnk_weights_add(tnk_weights *w, int64_t item, const int64_t *shape, int ndim, tnb_dtype dtype,
                const tn_node *transform)
{
    rewriting *r = w->state;
    tn_ctx *ctx = w->ctx;
    enum { MOST = 8 };
    const tn_expr *dims[MOST];
    int64_t bytes = (int64_t)tnb_dtype_bytes(dtype);
    for (int i = 0; i < ndim; i++) {
        dims[i] = tn_i64(ctx, shape[i]);
        bytes *= shape[i];
    }
    const tn_node *e = w->list.at[item];
    e = tn_dict_set(ctx, e, "shape", tn_int_array(ctx, shape, (uint32_t)ndim));
    e = tn_dict_set(ctx, e, "bytes", tn_i64(ctx, bytes));
    e = tn_dict_set(ctx, e, "dtype", tn_string(ctx, tnb_dtype_print(dtype).s));
    e = tn_dict_set(ctx, e, "transform", transform);
    w->list = tn_list_append(ctx, w->list, e);
    r->fields =
        tn_list_append(ctx, r->fields,
                       tn_ty_tensor_dims(ctx, tn_list_of(ctx, dims, (uint32_t)ndim), dtype));
    return w->list.n - 1;
}

const tn_expr *
tnk_weights_bind(tnk_weights *w, const tn_expr *value, const char *name)
{
    rewriting *r = w->state;
    if (tn_is_error(value))
        return value;
    const tn_expr *v = r->dataflow ? tn_dataflow_var_new(w->ctx, name, value->type)
                                   : tn_var_new(w->ctx, name, value->type);
    TNB_PUSH(tn_scratch(w->ctx), r->bindings, tn_var_binding_of(w->ctx, v, value));
    return v;
}

const tn_expr *
tnk_weights_get(tnk_weights *w, int64_t place)
{
    rewriting *r = w->state;
    return tnk_weights_bind(w, tn_tuple_item(w->ctx, r->renewed, place), "weight");
}

/* The list, where functions have a parameter of so many fields. */
static void
find_packed(rewriting *r, const tn_module *m)
{
    const tn_array *list = tn_as_array(tn_dict_get(tn_dict_get(m->attrs, "params"), "list"));
    for (uint32_t i = 0; list && i < m->funcs.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        for (uint32_t k = 0; f && k < f->params.n; k++) {
            const tn_type *t = ((const tn_expr *)f->params.at[k])->type;
            const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
            if (!tuple || tuple->fields.n != list->items.n)
                continue;
            r->packed = t;
            r->fields = tuple->fields;
            r->w.list = list->items;
            r->n_packed = list->items.n;
            return;
        }
    }
}

static tn_walk_step
find_values(void *user, const tn_node *n)
{
    rewriting *r = user;
    const tn_var_binding *v = tn_is(n, TN_KIND_VAR_BINDING) ? tn_as_var_binding(n) : NULL;
    if (v) {
        tnb_ptrmap_set(&r->values, v->var, (void *)(uintptr_t)v->value);
        r->any = r->u->find(r->u->user, &r->w, v->value) || r->any;
    }
    return TN_WALK_ON;
}

/* ---- functions ---- */

static const tn_node *
rewrite_block(tn_rewriter *rw, const tn_node *n)
{
    rewriting *r = rw->user;
    const tn_bindings_block *block = tn_as_bindings_block(n);
    if (!block)
        return NULL;
    r->bindings.n = 0;
    r->dataflow = n->kind == TN_KIND_DATAFLOW_BLOCK;
    for (uint32_t i = 0; i < block->bindings.n; i++) {
        const tn_node *b = block->bindings.at[i];
        const tn_var_binding *v = tn_is(b, TN_KIND_VAR_BINDING) ? tn_as_var_binding(b) : NULL;
        const tn_expr *value = v ? r->u->replace(r->u->user, &r->w, v->value) : NULL;
        if (value && tn_is_error(value))
            return value;
        TNB_PUSH(tn_scratch(r->w.ctx), r->bindings,
                 value ? tn_var_binding_of(r->w.ctx, v->var, value) : tn_rewrite_child(rw, b));
    }
    const tn_node **copy =
        tnb_dup(tn_arena(r->w.ctx), r->bindings.at, r->bindings.n * sizeof *r->bindings.at);
    return tn_binding_block_of(r->w.ctx, (tn_list){copy, r->bindings.n}, r->dataflow);
}

static const tn_node *
rewrite_function(rewriting *r, const tn_function *f)
{
    tn_ctx *ctx = r->w.ctx;
    tn_list params = f->params;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    r->renewed = NULL;
    for (uint32_t i = 0; r->packed && i < f->params.n; i++) {
        const tn_expr *p = f->params.at[i];
        if (p->type != r->packed)
            continue;
        r->renewed = tn_var_new(ctx, tn_var_name(p), tn_ty_tuple_of(ctx, r->fields));
        tn_list_change(ctx, &params, f->params, i, r->renewed);
        tnb_ptrmap_set(&map, p, (void *)(uintptr_t)r->renewed);
    }
    r->w.has_packed = r->renewed != NULL;
    if (r->u->begin)
        r->u->begin(r->u->user);
    tn_rewriter rw = {.ctx = ctx, .user = r, .pre = rewrite_block, .map = &map};
    const tn_node *body = tn_rewrite(&rw, f->body);
    return tn_is_error(body) ? body : tn_function_of(ctx, params, body, f->ret, f->pure, f->attrs);
}

/* ---- entries that nothing reads any more ---- */

typedef struct readings {
    tnb_ptrmap items; /* variable -> the item that it is + 1 */
    uint32_t n;       /* of packed_params */
    bool *read;
} readings;

static tn_walk_step
find_readings(void *user, const tn_node *n)
{
    readings *r = user;
    const tn_var_binding *v = tn_is(n, TN_KIND_VAR_BINDING) ? tn_as_var_binding(n) : NULL;
    const tn_tuple_get *item = v ? tn_as_tuple_get(v->value) : NULL;
    const tn_ty_tuple *of = item ? tn_as_ty_tuple(item->tuple->type) : NULL;
    if (of && of->fields.n == r->n && tn_is_var(item->tuple)) {
        tnb_ptrmap_set(&r->items, v->var, (void *)(uintptr_t)(item->index + 1));
        return TN_WALK_SKIP;
    }
    const uintptr_t at = tn_is_var(n) ? (uintptr_t)tnb_ptrmap_get(&r->items, n) : 0;
    if (at)
        r->read[at - 1] = true;
    return TN_WALK_ON;
}

static tn_list
with_unused(rewriting *w, const tn_node *const *funcs, uint32_t n)
{
    tn_ctx *ctx = w->w.ctx;
    const tn_list list = w->w.list;
    readings r = {.n = list.n, .read = TNB_NEW_N(tn_scratch(ctx), bool, list.n)};
    tn_list out = list;
    uint32_t first = 0;
    while (first < w->n_packed && !tn_dict_get(list.at[first], "transform"))
        first++;
    if (first == w->n_packed)
        return list; /* what was added is read */
    tnb_ptrmap_init(&r.items, tn_scratch(ctx));
    memset(r.read, 0, list.n * sizeof *r.read);
    for (uint32_t i = 0; i < n; i++)
        if (tn_is(funcs[i], TN_KIND_FUNCTION))
            (void)tn_walk(funcs[i], 0, find_readings, NULL, &r);
    for (uint32_t i = first; i < list.n; i++)
        if (!r.read[i] && tn_dict_get(list.at[i], "transform"))
            tn_list_change(ctx, &out, list, i,
                           tn_dict_set(ctx, list.at[i], "unused", tn_bool(ctx, true)));
    return out;
}

const tn_module *
tnk_weights_rewrite(tn_ctx *ctx, const tn_module *m, const tnk_weights_user *u)
{
    rewriting r = {.w.ctx = ctx, .u = u};
    r.w.state = &r;
    tnb_ptrmap_init(&r.values, tn_scratch(ctx));
    find_packed(&r, m);
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            (void)tn_walk(m->funcs.at[i], 0, find_values, NULL, &r);
    if (!r.any)
        return m;
    r.w.b = tn_builder_new(ctx, m);
    const tn_node **changed = TNB_NEW_N(tn_scratch(ctx), const tn_node *, m->funcs.n);
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        changed[i] = f ? rewrite_function(&r, f) : m->funcs.at[i];
        if (tn_is_error(changed[i]))
            return NULL;
    }
    const tn_module *out = tn_builder_module(r.w.b);
    for (uint32_t i = 0; out && i < m->funcs.n; i++)
        if (changed[i] != m->funcs.at[i])
            out = tn_module_set(ctx, out, tn_module_name(m, i), changed[i]);
    if (!out || !r.packed)
        return out;
    const tn_node *params = tn_dict_set(ctx, tn_dict_get(m->attrs, "params"), "list",
                                        tn_array_of(ctx, with_unused(&r, changed, m->funcs.n)));
    return tn_module_with_attrs(ctx, out, tn_dict_set(ctx, m->attrs, "params", params));
}
