/* SPDX-License-Identifier: Apache-2.0 */
/* Which values are overwritten by calls that compute in place. Such a value is not what its
 * definition says once the call has run: it may not be shared with an equal one, become a constant
 * or a view of another, or be read after a call that came behind its reader. */
#include "transform.h"

#include "tenon/core/walk.h"

typedef struct store_search {
    const tn_buffer *buffer;
    bool found;
} store_search;

static tn_walk_step
find_store(void *user, const tn_node *n)
{
    store_search *s = user;
    const tn_buffer_store *st = tn_as_buffer_store(n);
    s->found |= (st && st->buffer == TN_NODE(s->buffer)) || n == s->buffer->data;
    return s->found                        ? TN_WALK_STOP
           : tn_is(n, TN_KIND_BUFFER_LOAD) ? TN_WALK_SKIP /* its buffer is not written */
                                           : TN_WALK_ON;
}

/* Whether the program writes its i-th parameter, or may: it hands the pointer on. */
static bool
writes(const tn_prim_func *f, uint32_t i)
{
    store_search s = {.buffer = i < f->buffers.n ? tn_as_buffer(f->buffers.at[i]) : NULL};
    if (s.buffer)
        tn_walk(f->body, TN_WALK_ONCE, find_store, NULL, &s);
    return s.found;
}

tn_list
transform_in_place_args(tn_ctx *ctx, const tn_module *m, const tn_expr *value)
{
    const tn_call *direct = tn_as_call(value);
    const tn_global_var *gv = direct ? tn_as_global_var(direct->op) : NULL;
    const tn_prim_func *f = gv ? tn_as_prim_func(tn_module_get(m, gv->name)) : NULL;
    const tn_call *tir = tn_is_call_to(value, "relax.call_tir_inplace");
    const tn_call *c = tir ? tir : tn_is_call_to(value, "relax.call_inplace_packed");
    const tn_array *which = c ? tn_as_array(tn_call_attr(c, "inplace_indices")) : NULL;
    const tn_tuple *t = tir && tir->args.n > 1 ? tn_as_tuple(tir->args.at[1]) : NULL;
    tn_list given = {0}, out = {0};
    if (t)
        given = t->fields;
    else if (c && c->args.n) /* a lone argument, or those behind the name of a packed function */
        given = (tn_list){c->args.at + 1, c->args.n - 1};
    for (uint32_t i = 0; f && i < direct->args.n; i++)
        if (writes(f, i))
            out = tn_list_append(ctx, out, direct->args.at[i]);
    for (uint32_t i = 0; which && i < which->items.n; i++) {
        int64_t k;
        if (tn_int_value(which->items.at[i], &k) && k >= 0 && k < given.n)
            out = tn_list_append(ctx, out, given.at[k]);
    }
    return out;
}

typedef struct finder {
    tn_ctx *ctx;
    const tn_module *m;
    tnb_ptrmap *found, values; /* variable -> bound value */
    TNB_VEC(const tn_node *) renamings;
} finder;

/* The value that the leaf names: through renamings and fields of known tuples. */
static void
mark(finder *f, const tn_expr *leaf)
{
    for (int hops = 0; leaf && hops < 1000; hops++) {
        const tn_tuple_get *get = tn_as_tuple_get(leaf);
        if (tn_is_var(leaf)) {
            tnb_ptrmap_set(f->found, leaf, f);
            leaf = tnb_ptrmap_get(&f->values, leaf);
            if (!tn_is_var(leaf) && !tn_as_tuple_get(leaf))
                return;
        } else if (get) {
            const tn_expr *t = get->tuple, *name = t;
            while (tn_is_var(t) && tnb_ptrmap_has(&f->values, t)) {
                name = t;
                t = tnb_ptrmap_get(&f->values, t);
            }
            const tn_tuple *known = tn_as_tuple(t);
            if (!known) { /* any of its fields, whatever their names */
                if (tn_is_var(name))
                    tnb_ptrmap_set(f->found, name, f);
                return;
            }
            leaf = known->fields.at[get->index];
        } else {
            return;
        }
    }
}

static tn_walk_step
note(void *user, const tn_node *n)
{
    finder *f = user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_match_cast *mc = tn_as_match_cast(n);
    if (vb || mc)
        tnb_ptrmap_set(&f->values, vb ? vb->var : mc->var, vb ? vb->value : mc->value);
    if (mc || (vb && (tn_is_var(vb->value) || tn_is(vb->value, TN_KIND_TUPLE_GET))))
        TNB_PUSH(tn_scratch(f->ctx), f->renamings, n);
    tn_list args = transform_in_place_args(f->ctx, f->m, n);
    for (uint32_t i = 0; i < args.n; i++)
        mark(f, args.at[i]);
    return TN_WALK_ON;
}

void
transform_find_overwritten(tn_ctx *ctx, const tn_module *m, const tn_node *func, tnb_ptrmap *out)
{
    finder f = {.ctx = ctx, .m = m, .found = out};
    tnb_ptrmap_init(out, tn_scratch(ctx));
    tnb_ptrmap_init(&f.values, tn_scratch(ctx));
    tn_walk(func, 0, note, NULL, &f);
    /* other names of what is overwritten under one */
    for (uint32_t i = 0; out->n && i < f.renamings.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(f.renamings.at[i]);
        const tn_match_cast *mc = tn_as_match_cast(f.renamings.at[i]);
        const tn_expr *value = vb ? vb->value : mc->value;
        const tn_tuple_get *get = tn_as_tuple_get(value);
        value = get ? get->tuple : value;
        if (tn_is_var(value) && tnb_ptrmap_has(out, value))
            tnb_ptrmap_set(out, vb ? vb->var : mc->var, out);
    }
}
