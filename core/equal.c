/* SPDX-License-Identifier: Apache-2.0 */
/* Structural equality up to the names of bound variables.
 *
 * Walking both trees in step, each definition ties its variables to one another; uses must agree
 * with the ties. In a defining region (types of a function's parameters, buffers of a PrimFunc, the
 * type of a match_cast) variables met for the first time are tied there.
 */
#include "private.h"

enum { MEMO_DEPTH = 5, MAX_PATH = 64 };

struct eq {
    tn_ctx *ctx;
    tnb_arena *arena;
    tnb_ptrmap fwd, bwd; /* variables and buffers: a -> b, b -> a */
    tnb_ptrmap memo;     /* deep nodes found equal: a -> b */
    bool map_free;
    uint32_t renamed; /* ties of different variables */
    int defining;
    bool wants_path;
    const char *path[MAX_PATH]; /* from the inside out */
    uint32_t n_path;
    const char *reason;
    tn_difference *found; /* NULL: not wanted */
    bool has_found;
};

static bool
eq(struct eq *e, const tn_node *a, const tn_node *b);

static bool
differ(struct eq *e, const char *reason)
{
    if (!e->reason)
        e->reason = reason;
    return false;
}

/* Called from the inside out with nodes found different. */
static bool
found(struct eq *e, const tn_node *a, const tn_node *b)
{
    tn_difference *d = e->found;
    if (!d)
        return false;
    if (!e->has_found) {
        d->a = a;
        d->b = b;
        e->has_found = true;
    }
    const tn_node *any = a ? a : b;
    bool frame = tn_is_stmt(any) || tn_is(any, TN_KIND_VAR_BINDING) ||
                 tn_is(any, TN_KIND_MATCH_CAST) || tn_is(any, TN_KIND_FUNCTION) ||
                 tn_is(any, TN_KIND_PRIM_FUNC);
    if (frame && !d->around_a && !d->around_b && !tn_is(any, TN_KIND_SEQ)) {
        d->around_a = a;
        d->around_b = b;
    }
    return false;
}

static void
note_path(struct eq *e, const char *field, int64_t index)
{
    if (!e->wants_path || e->n_path == MAX_PATH)
        return;
    e->path[e->n_path++] =
        index < 0 ? field : tnb_printf(e->arena, "%s[%lld]", field, (long long)index);
}

static void
tie(struct eq *e, const tn_node *a, const tn_node *b)
{
    tnb_ptrmap_set(&e->fwd, a, b);
    tnb_ptrmap_set(&e->bwd, b, a);
    e->renamed += a != b;
}

/* 1: tied to each other, 0: to something else, -1: neither is tied. */
static int
tied(const struct eq *e, const tn_node *a, const tn_node *b)
{
    const tn_node *m = tnb_ptrmap_get(&e->fwd, a);
    if (m)
        return m == b;
    return tnb_ptrmap_has(&e->bwd, b) ? 0 : -1;
}

static bool
eq_buffer_fields(struct eq *e, const tn_node *a, const tn_node *b, bool data_is_use);

static bool
eq_use(struct eq *e, const tn_node *a, const tn_node *b)
{
    int t = tied(e, a, b);
    if (t >= 0)
        return t || differ(e, "different variables");
    bool is_buffer = a->kind == TN_KIND_BUFFER;
    if (!e->map_free && !(e->defining && !is_buffer)) {
        if (a != b)
            return differ(e, "different free variables");
        return true;
    }
    if (a != b) {
        if (is_buffer ? !eq_buffer_fields(e, a, b, false) : !eq(e, a->type, b->type))
            return false;
        t = tied(e, a, b);
        if (t >= 0)
            return t || differ(e, "different variables");
    }
    tie(e, a, b);
    return true;
}

/* Binders inside expressions may be met twice, because expressions are shared. */
static bool
rebinds(tn_kind k)
{
    return k == TN_KIND_LET || k == TN_KIND_INDEX_MAP || k == TN_KIND_COMM_REDUCER;
}

static bool
eq_define(struct eq *e, const tn_node *a, const tn_node *b, tn_kind parent)
{
    if (a->kind != b->kind)
        return differ(e, "different kinds of definition");
    bool is_var = tn_is_var(a);
    if (!is_var && a->kind != TN_KIND_BUFFER)
        return eq(e, a, b);
    int t = tied(e, a, b);
    if (t == 1 && !is_var)
        return true;
    bool signature =
        parent == TN_KIND_FUNCTION || parent == TN_KIND_PRIM_FUNC || parent == TN_KIND_MATCH_BUFFER;
    e->defining += signature;
    bool same =
        is_var ? eq(e, a->type, b->type) : eq_buffer_fields(e, a, b, parent == TN_KIND_DECL_BUFFER);
    e->defining -= signature;
    if (!same)
        return false;
    t = tied(e, a, b);
    if (t == 1)
        return true;
    if (t == 0) {
        if (!rebinds(parent))
            return differ(e, "different variables");
        const tn_node *old = tnb_ptrmap_get(&e->fwd, a);
        if (old)
            tnb_ptrmap_remove(&e->bwd, old);
        old = tnb_ptrmap_get(&e->bwd, b);
        if (old)
            tnb_ptrmap_remove(&e->fwd, old);
        tnb_ptrmap_init(&e->memo, e->arena);
    }
    tie(e, a, b);
    return true;
}

static bool
eq_list(struct eq *e, tn_list a, tn_list b, const char *name, bool defs, tn_kind parent)
{
    for (uint32_t i = 0; i < a.n && i < b.n; i++) {
        const tn_node *x = a.at[i], *y = b.at[i];
        bool same = defs && x && y ? eq_define(e, x, y, parent) : eq(e, x, y);
        if (!same) {
            note_path(e, name, i);
            return false;
        }
    }
    if (a.n != b.n) {
        note_path(e, name, -1);
        found(e, a.n > b.n ? a.at[b.n] : NULL, b.n > a.n ? b.at[a.n] : NULL);
        return differ(e, "different lengths");
    }
    return true;
}

static bool
same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool
eq_leaf(struct eq *e, const tn_field *f, const void *p, const void *q)
{
    switch (f->type) {
    case TN_FIELD_NAME:
        return true;
    case TN_FIELD_STR:
        return same_text(*(const char *const *)p, *(const char *const *)q);
    case TN_FIELD_DTYPE:
        return tnb_dtype_eq(*(const tnb_dtype *)p, *(const tnb_dtype *)q);
    case TN_FIELD_OP: {
        const tn_op *x = *(const tn_op *const *)p, *y = *(const tn_op *const *)q;
        return x == y || (x && y && strcmp(x->base.name, y->base.name) == 0);
    }
    case TN_FIELD_DATA:
        return tn_data_equal(e->ctx, *(const tn_data *const *)p, *(const tn_data *const *)q);
    default:
        return memcmp(p, q, 8) == 0;
    }
}

static bool
eq_field(struct eq *e, const tn_node *a, const tn_node *b, const tn_field *f)
{
    const void *p = tn_field_at(a, f), *q = tn_field_at(b, f);
    bool same, defining = false;
    switch (f->type) {
    case TN_FIELD_NODE:
        defining = a->kind == TN_KIND_MATCH_CAST && strcmp(f->name, "to") == 0;
        e->defining += defining;
        same = eq(e, tn_field_node(a, f), tn_field_node(b, f));
        e->defining -= defining;
        break;
    case TN_FIELD_DEF: {
        const tn_node *x = tn_field_node(a, f), *y = tn_field_node(b, f);
        same = x && y ? eq_define(e, x, y, a->kind) : eq(e, x, y);
        break;
    }
    case TN_FIELD_LIST:
    case TN_FIELD_DEFS:
        defining = a->kind == TN_KIND_TY_FUNC;
        e->defining += defining;
        same = eq_list(e, *(const tn_list *)p, *(const tn_list *)q, f->name,
                       f->type == TN_FIELD_DEFS, a->kind);
        e->defining -= defining;
        return same; /* the path has been noted */
    default:
        same = eq_leaf(e, f, p, q) || differ(e, "different values");
    }
    if (!same)
        note_path(e, f->name, -1);
    return same;
}

/* A local function may call itself: its variable is known before its value. */
static bool
eq_local_function(struct eq *e, const tn_node *a, const tn_node *b)
{
    const tn_var_binding *x = tn_as_var_binding(a), *y = tn_as_var_binding(b);
    if (!x || !y || !tn_is(x->value, TN_KIND_FUNCTION) || !tn_is(y->value, TN_KIND_FUNCTION))
        return true;
    return eq_define(e, x->var, y->var, TN_KIND_VAR_BINDING);
}

static bool
eq_fields(struct eq *e, const tn_node *a, const tn_node *b)
{
    if (!eq_local_function(e, a, b))
        return false;
    for (const tn_field *f = tn_kinds[a->kind].fields; f->name; f++)
        if (!eq_field(e, a, b, f))
            return false;
    return true;
}

static bool
eq_buffer_fields(struct eq *e, const tn_node *a, const tn_node *b, bool data_is_use)
{
    const tn_buffer *x = (const tn_buffer *)a, *y = (const tn_buffer *)b;
    for (const tn_field *f = tn_kinds[a->kind].fields; f->name; f++) {
        bool same =
            data_is_use && f->type == TN_FIELD_DEF ? eq(e, x->data, y->data) : eq_field(e, a, b, f);
        if (!same)
            return false;
    }
    return true;
}

static bool
eq_nodes(struct eq *e, const tn_node *a, const tn_node *b)
{
    if (a == b &&
        (!a || (a->flags & TN_FLAG_CLOSED) || (!e->map_free && !e->renamed && !e->defining)))
        return true;
    if (!a || !b)
        return differ(e, "only one side has this");
    if (a->kind != b->kind)
        return differ(e, "different kinds of node");
    if ((a->flags & b->flags) & TN_FLAG_INTERNED && a != b)
        return differ(e, "different values");
    if (tn_is_var(a) || a->kind == TN_KIND_BUFFER)
        return eq_use(e, a, b);
    bool memo = TN_DEPTH(a) >= MEMO_DEPTH && !tn_is_stmt(a);
    if (memo && tnb_ptrmap_get(&e->memo, a) == b)
        return true;
    /* the types of these two follow from their parts, and may name variables defined there */
    bool typed = a->kind != TN_KIND_FUNCTION && a->kind != TN_KIND_SEQ_EXPR;
    if (typed && a->type != b->type && !eq(e, a->type, b->type)) {
        note_path(e, "type", -1);
        return false;
    }
    if (!eq_fields(e, a, b))
        return false;
    if (memo)
        tnb_ptrmap_set(&e->memo, a, b);
    return true;
}

static bool
eq(struct eq *e, const tn_node *a, const tn_node *b)
{
    return eq_nodes(e, a, b) || found(e, a, b);
}

/* "main.body.blocks[0].bindings[2].value: different values (x against y)" */
static void
describe(const struct eq *e, tnb_buf *where)
{
    for (uint32_t i = e->n_path; i-- > 0;)
        tnb_buf_printf(where, "%s%s", i + 1 == e->n_path ? "" : ".", e->path[i]);
    tnb_buf_printf(where, "%s%s", e->n_path ? ": " : "", e->reason ? e->reason : "different");
}

/* Modules are compared name by name, so that the difference is named. */
static bool
eq_modules(struct eq *e, const tn_module *a, const tn_module *b)
{
    for (uint32_t i = 0, k = 0; i < a->names.n || k < b->names.n; i++, k++) {
        int order = i == a->names.n   ? 1
                    : k == b->names.n ? -1
                                      : strcmp(tn_module_name(a, i), tn_module_name(b, k));
        if (order != 0) {
            note_path(e, order < 0 ? tn_module_name(a, i) : tn_module_name(b, k), -1);
            found(e, order < 0 ? a->funcs.at[i] : NULL, order < 0 ? NULL : b->funcs.at[k]);
            return differ(e, order < 0 ? "only in the first module" : "only in the second module");
        }
        if (!eq(e, a->funcs.at[i], b->funcs.at[k])) {
            note_path(e, tn_module_name(a, i), -1);
            return false;
        }
    }
    if (!eq(e, a->attrs, b->attrs)) {
        note_path(e, "attrs", -1);
        return false;
    }
    if (!eq(e, a->infos, b->infos)) {
        note_path(e, "infos", -1);
        return false;
    }
    return true;
}

bool
tn_equal(tn_ctx *ctx, const tn_node *a, const tn_node *b, bool map_free, tnb_buf *where)
{
    return tn_equal_or(ctx, a, b, map_free, where, NULL);
}

bool
tn_equal_or(tn_ctx *ctx, const tn_node *a, const tn_node *b, bool map_free, tnb_buf *where,
            tn_difference *d)
{
    if (d)
        *d = (tn_difference){0};
    if (a == b)
        return true;
    struct eq e = {.ctx = ctx, .map_free = map_free, .wants_path = where != NULL, .found = d};
    e.arena = tn_borrow_arena(ctx);
    if (!e.arena) {
        tn_error(ctx, 0, TNB_NO_MEMORY, "no memory for a comparison");
        return false;
    }
    tnb_ptrmap_init(&e.fwd, e.arena);
    tnb_ptrmap_init(&e.bwd, e.arena);
    tnb_ptrmap_init(&e.memo, e.arena);
    bool same = tn_is(a, TN_KIND_MODULE) && tn_is(b, TN_KIND_MODULE)
                    ? eq_modules(&e, (const tn_module *)a, (const tn_module *)b)
                    : eq(&e, a, b);
    if (!same && where)
        describe(&e, where);
    tn_return_arena(ctx, e.arena);
    return same;
}
