/* SPDX-License-Identifier: Apache-2.0 */
/* Variables used and variables defined. */
#include "private.h"

/* ---- symbols ---- */
struct symbols {
    tn_ctx *ctx;
    tnb_ptrmap seen;
    tn_node_vec out;
};

static void
add_symbol(struct symbols *s, const tn_node *v)
{
    if (!tn_is_var(v) || tnb_ptrmap_has(&s->seen, v))
        return;
    tnb_ptrmap_set(&s->seen, v, s);
    TNB_PUSH(tn_scratch(s->ctx), s->out, v);
}

static void
symbols_of_type(struct symbols *s, const tn_type *t)
{
    if (!t || (t->flags & TN_FLAG_CLOSED))
        return;
    tn_list dims;
    if (tn_is(t, TN_KIND_TY_TENSOR) && tn_is_var(((const tn_ty_tensor *)t)->shape))
        add_symbol(s, ((const tn_ty_tensor *)t)->shape);
    else if (tn_type_dims(t, &dims))
        for (uint32_t i = 0; i < dims.n; i++)
            add_symbol(s, dims.at[i]);
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        symbols_of_type(s, tuple->fields.at[i]);
}

static void
symbols_of_buffer(struct symbols *s, const tn_node *n)
{
    const tn_buffer *b = tn_as_buffer(n);
    if (!b)
        return;
    for (uint32_t i = 0; i < b->shape.n; i++)
        add_symbol(s, b->shape.at[i]);
    for (uint32_t i = 0; i < b->strides.n; i++)
        add_symbol(s, b->strides.at[i]);
    add_symbol(s, b->elem_offset);
}

tn_list
tn_symbols_of_type(tn_ctx *ctx, const tn_type *t)
{
    struct symbols s = {.ctx = ctx};
    tnb_ptrmap_init(&s.seen, tn_scratch(ctx));
    symbols_of_type(&s, t);
    return (tn_list){s.out.at, s.out.n};
}

tn_list
tn_defined_symbols(tn_ctx *ctx, const tn_node *func)
{
    struct symbols s = {.ctx = ctx};
    tnb_ptrmap_init(&s.seen, tn_scratch(ctx));
    const tn_function *f = tn_as_function(func);
    for (uint32_t i = 0; f && i < f->params.n; i++) /* parameters themselves are no symbols */
        tnb_ptrmap_set(&s.seen, f->params.at[i], &s);
    for (uint32_t i = 0; f && i < f->params.n; i++)
        symbols_of_type(&s, f->params.at[i]->type);
    const tn_prim_func *p = tn_as_prim_func(func);
    for (uint32_t i = 0; p && i < p->params.n; i++)
        tnb_ptrmap_set(&s.seen, p->params.at[i], &s);
    for (uint32_t i = 0; p && i < p->buffers.n; i++)
        symbols_of_buffer(&s, p->buffers.at[i]);
    return (tn_list){s.out.at, s.out.n};
}

/* ---- free variables ---- */
struct free_vars {
    tn_ctx *ctx;
    tnb_ptrmap bound, seen;
    bool buffers;
    tn_node_vec out;
};

static void
visit(struct free_vars *w, const tn_node *n);
static void
visit_fields(struct free_vars *w, const tn_node *n);

static void
bind(struct free_vars *w, const tn_node *n)
{
    tnb_ptrmap_set(&w->bound, n, w);
}

static void
bind_unused(struct free_vars *w, tn_list symbols)
{
    for (uint32_t i = 0; i < symbols.n; i++)
        if (!tnb_ptrmap_has(&w->seen, symbols.at[i]))
            bind(w, symbols.at[i]);
}

/* Where a variable or buffer is defined. */
static void
define(struct free_vars *w, const tn_node *n, bool data_is_use)
{
    const tn_buffer *b = tn_as_buffer(n);
    if (!b && !tn_is_var(n)) { /* an iteration variable or match_buffer, which defines inside */
        visit(w, n);
        return;
    }
    bind(w, n);
    if (!b) {
        visit(w, n->type);
        return;
    }
    if (data_is_use)
        visit(w, b->data);
    else
        define(w, b->data, false);
    for (uint32_t i = 0; i < b->shape.n; i++)
        visit(w, b->shape.at[i]);
    for (uint32_t i = 0; i < b->strides.n; i++)
        visit(w, b->strides.at[i]);
    visit(w, b->elem_offset);
}

static void
visit_fields(struct free_vars *w, const tn_node *n)
{
    bool decl = n->kind == TN_KIND_DECL_BUFFER;
    for (const tn_field *f = tn_kinds[n->kind].fields; f->name; f++) {
        if (f->type == TN_FIELD_NODE) {
            visit(w, tn_field_node(n, f));
        } else if (f->type == TN_FIELD_LIST || f->type == TN_FIELD_DEFS) {
            tn_list l = tn_field_list(n, f);
            for (uint32_t i = 0; i < l.n; i++) {
                if (!l.at[i])
                    continue;
                if (f->type == TN_FIELD_DEFS)
                    define(w, l.at[i], false);
                else
                    visit(w, l.at[i]);
            }
        } else if (f->type == TN_FIELD_DEF && tn_field_node(n, f)) {
            define(w, tn_field_node(n, f), decl);
        }
    }
}

static void
visit(struct free_vars *w, const tn_node *n)
{
    if (!n || (n->flags & TN_FLAG_CLOSED) || tnb_ptrmap_has(&w->bound, n) ||
        tnb_ptrmap_has(&w->seen, n))
        return;
    tnb_ptrmap_set(&w->seen, n, w);
    if (tn_is_var(n)) {
        TNB_PUSH(tn_scratch(w->ctx), w->out, n);
        visit(w, n->type);
        return;
    }
    if (n->kind == TN_KIND_BUFFER) {
        if (w->buffers)
            TNB_PUSH(tn_scratch(w->ctx), w->out, n);
        const tn_buffer *b = (const tn_buffer *)n;
        if (!w->buffers)
            visit(w, b->data);
        for (uint32_t i = 0; i < b->shape.n; i++)
            visit(w, b->shape.at[i]);
        for (uint32_t i = 0; i < b->strides.n; i++)
            visit(w, b->strides.at[i]);
        visit(w, b->elem_offset);
        return;
    }
    if (n->kind == TN_KIND_FUNCTION || n->kind == TN_KIND_PRIM_FUNC) {
        bind_unused(w, tn_defined_symbols(w->ctx, n));
    } else if (n->kind == TN_KIND_MATCH_CAST) {
        visit(w, ((const tn_match_cast *)n)->value);
        bind_unused(w, tn_symbols_of_type(w->ctx, ((const tn_match_cast *)n)->to));
    } else if (n->kind == TN_KIND_MATCH_BUFFER) {
        const tn_buffer *b = tn_as_buffer(((const tn_match_buffer *)n)->buffer);
        if (b && tn_is_var(b->elem_offset) && !tnb_ptrmap_has(&w->seen, b->elem_offset))
            bind(w, b->elem_offset);
        if (b)
            bind_unused(w, b->strides);
    } else if (n->kind == TN_KIND_TY_FUNC) {
        tn_list params = ((const tn_ty_func *)n)->params;
        for (uint32_t i = 0; i < params.n; i++)
            bind_unused(w, tn_symbols_of_type(w->ctx, params.at[i]));
    }
    /* A function's own type lists its parameters' types: nothing new, and its scope is the
     * function's. */
    if (n->kind != TN_KIND_FUNCTION)
        visit(w, n->type);
    visit_fields(w, n);
}

tn_list
tn_free_vars(tn_ctx *ctx, const tn_node *n, bool buffers)
{
    if (!n || (n->flags & TN_FLAG_CLOSED))
        return (tn_list){0};
    tnb_arena *a = tn_borrow_arena(ctx);
    if (!a)
        return (tn_list){0};
    struct free_vars w = {.ctx = ctx, .buffers = buffers};
    tnb_ptrmap_init(&w.bound, a);
    tnb_ptrmap_init(&w.seen, a);
    visit(&w, n);
    tn_return_arena(ctx, a);
    return (tn_list){w.out.at, w.out.n};
}

/* ---- uses ---- */
struct uses {
    const tn_node *var;
    uint32_t left; /* nodes to look at before shared ones are remembered */
};

static tn_walk_step
is_wanted(void *user, const tn_node *n)
{
    struct uses *u = user;
    if (n == u->var || (n->kind == TN_KIND_BUFFER && ((const tn_buffer *)n)->data == u->var))
        return TN_WALK_STOP;
    if (u->left == 0 || (n->flags & TN_FLAG_CLOSED))
        return u->left ? TN_WALK_SKIP : TN_WALK_STOP;
    u->left--;
    return TN_WALK_ON;
}

/* Most of what is asked about is small; only what turns out to be large is worth a set. */
bool
tn_uses(const tn_node *n, const tn_node *var)
{
    enum { SMALL = 1000 };
    if (!n || (n->flags & TN_FLAG_CLOSED))
        return false;
    struct uses u = {var, SMALL};
    bool found = !tn_walk(n, TN_WALK_TYPES, is_wanted, NULL, &u);
    if (!found || u.left)
        return found;
    u.left = UINT32_MAX;
    return !tn_walk(n, TN_WALK_TYPES | TN_WALK_ONCE, is_wanted, NULL, &u);
}
