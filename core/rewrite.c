/* SPDX-License-Identifier: Apache-2.0 */
/* The path-copying rewriter, and substitution on top of it.
 *
 * A node is rebuilt only if a child changed. Definitions (fields DEF and DEFS) are renewed when
 * their own fields change, and uses follow through the map `renewed`. Results of deep nodes are
 * remembered, so that shared subexpressions are rewritten once.
 */
#include "private.h"
#include <stddef.h>

/* Nodes at least this deep are worth remembering: below, going again is cheaper. */
enum { MEMO_DEPTH = 4 };

struct state {
    tnb_ptrmap renewed; /* variables and buffers defined inside -> their new selves */
    tnb_ptrmap memo;
    const tn_node *root;
    tnb_arena *arena;
    bool fresh;          /* definitions are renewed even if nothing in them changed */
    const tn_node *view; /* a buffer that a DECL_BUFFER defines, in memory defined elsewhere */
    tnb_ptrmap used;     /* fresh: free variables met as uses */
};

static const tn_node removed = {.kind = TN_KIND_NONE,
                                .flags = TN_FLAG_CLOSED | 1u << TN_DEPTH_SHIFT};

const tn_node *
tn_removed(void)
{
    return &removed;
}

static struct state *
state_of(tn_rewriter *r)
{
    return r->state;
}

static const tn_node *
rewrite(tn_rewriter *r, const tn_node *n);

/* ---- definitions ---- */
static const tn_node *
renew_children(tn_rewriter *r, const tn_node *n);

/* At the place where a variable or buffer is defined. */
static const tn_node *
define(tn_rewriter *r, const tn_node *n)
{
    struct state *s = state_of(r);
    const tn_node *given = r->map ? tnb_ptrmap_get(r->map, n) : NULL;
    if (given && tn_kinds[given->kind].struct_id == tn_kinds[n->kind].struct_id)
        return given;
    const tn_node *known = tnb_ptrmap_get(&s->renewed, n);
    if (known)
        return known;
    const tn_node *now = renew_children(r, n);
    if (now != n)
        tnb_ptrmap_set(&s->renewed, n, now);
    return now;
}

static bool
is_identity(const tn_node *n)
{
    return tn_is_var(n) || n->kind == TN_KIND_BUFFER;
}

static const tn_node *
child(tn_rewriter *r, const tn_node *c, bool is_def)
{
    return is_def && is_identity(c) ? define(r, c) : rewrite(r, c);
}

/* ---- lists ---- */
/* Appends what a statement or binding became, flattening Seqs among statements and blocks among
 * bindings. */
static void
append(tnb_arena *a, tn_node_vec *out, const tn_node *was, const tn_node *now)
{
    tn_list inner = {0};
    if (now == &removed)
        return;
    if (now->kind == TN_KIND_SEQ && was->kind != TN_KIND_SEQ)
        inner = ((const tn_seq *)now)->stmts;
    else if (tn_as_bindings_block(now) && !tn_as_bindings_block(was))
        inner = ((const tn_bindings_block *)now)->bindings;
    else
        inner = (tn_list){&now, 1};
    for (uint32_t i = 0; i < inner.n; i++)
        TNB_PUSH(a, *out, inner.at[i]);
}

static tn_list
rewrite_list(tn_rewriter *r, tn_list l, bool is_def)
{
    struct state *s = state_of(r);
    uint32_t i = 0;
    const tn_node *now = NULL;
    for (; i < l.n; i++) {
        now = l.at[i] ? child(r, l.at[i], is_def) : NULL;
        if (now != l.at[i])
            break;
    }
    if (i == l.n)
        return l;
    tn_node_vec out = {0};
    for (uint32_t k = 0; k < i; k++)
        TNB_PUSH(s->arena, out, l.at[k]);
    for (;;) {
        if (!now)
            TNB_PUSH(s->arena, out, now);
        else
            append(s->arena, &out, l.at[i], now);
        if (++i == l.n)
            break;
        now = l.at[i] ? child(r, l.at[i], is_def) : NULL;
    }
    return tn_list_of(r->ctx, out.at, out.n);
}

/* ---- rebuilding ---- */
static const tn_node *
no_op(tn_ctx *ctx)
{
    return tn_evaluate_of(ctx, tn_i32(ctx, 0));
}

/* What becomes of a statement or block one of whose parts was removed. NULL: build it as it is now.
 */
static const tn_node *
after_removal(tn_ctx *ctx, const tn_node *was, tn_any_node *now)
{
    switch ((tn_kind)was->kind) {
    case TN_KIND_SEQ:
        if (now->as_seq.stmts.n == 0)
            return &removed;
        return now->as_seq.stmts.n == 1 ? now->as_seq.stmts.at[0] : NULL;
    case TN_KIND_BINDING_BLOCK:
    case TN_KIND_DATAFLOW_BLOCK:
        return now->as_bindings_block.bindings.n == 0 &&
                       ((const tn_bindings_block *)was)->bindings.n != 0
                   ? &removed
                   : NULL;
    case TN_KIND_FOR:
        return now->as_for_loop.body == &removed ? &removed : NULL;
    case TN_KIND_ATTR_STMT:
        return now->as_attr_stmt.body == &removed ? &removed : NULL;
    case TN_KIND_IF_STMT:
        if (now->as_if_stmt.else_case == &removed)
            now->as_if_stmt.else_case = NULL;
        if (now->as_if_stmt.then_case != &removed)
            return NULL;
        if (!now->as_if_stmt.else_case)
            return &removed;
        now->as_if_stmt.then_case = no_op(ctx);
        return NULL;
    case TN_KIND_BLOCK:
        if (now->as_block.init == &removed)
            now->as_block.init = NULL;
        if (now->as_block.body == &removed)
            now->as_block.body = no_op(ctx);
        return NULL;
    case TN_KIND_WHILE:
        if (now->as_while_loop.body == &removed)
            now->as_while_loop.body = no_op(ctx);
        return NULL;
    case TN_KIND_PRIM_FUNC:
        if (now->as_prim_func.body == &removed)
            now->as_prim_func.body = no_op(ctx);
        return NULL;
    case TN_KIND_BLOCK_REALIZE:
        return now->as_block_realize.block == &removed ? &removed : NULL;
    default:
        return NULL;
    }
}

/* With `retype`: the variable takes the value's new type if it had the old one. */
static const tn_node *
follow_value(tn_rewriter *r, const tn_node *old_var, const tn_node *new_var,
             const tn_node *old_value, const tn_node *new_value)
{
    if (!r->retype || !new_value->type || old_value->type == new_value->type ||
        tn_is_error(new_value))
        return new_var;
    if (new_var->type == new_value->type ||
        !tn_equal(r->ctx, old_var->type, old_value->type, false, NULL))
        return new_var;
    const tn_node *v = tn_var_retyped(r->ctx, new_var, new_value->type);
    tnb_ptrmap_set(&state_of(r)->renewed, old_var, v);
    return v;
}

static bool
any_error(const tn_node *n)
{
    for (const tn_field *f = tn_kinds[n->kind].fields; f->name; f++) {
        if (f->type == TN_FIELD_NODE || f->type == TN_FIELD_DEF) {
            if (tn_is_error(tn_field_node(n, f)))
                return true;
        } else if (f->type == TN_FIELD_LIST || f->type == TN_FIELD_DEFS) {
            tn_list l = tn_field_list(n, f);
            for (uint32_t i = 0; i < l.n; i++)
                if (tn_is_error(l.at[i]))
                    return true;
        }
    }
    return tn_is_error(n->type);
}

/* Whether a call was given a shape that its operator does not know. */
static bool
was_told(const tn_node *now, const tn_type *inferred)
{
    const tn_ty_tensor *own = tn_as_ty_tensor(now->type), *t = tn_as_ty_tensor(inferred);
    tn_list dims;
    return now->kind == TN_KIND_CALL && own && t && tn_type_dims(now->type, &dims) &&
           !tn_type_dims(inferred, &dims) && tnb_dtype_eq(own->dtype, t->dtype);
}

/* The type of the rebuilt node, whose own type has been rewritten. */
static const tn_type *
new_type(tn_rewriter *r, const tn_node *was, const tn_node *now)
{
    if (is_identity(was) || !was->type)
        return now->type;
    if (!r->retype && (was->kind == TN_KIND_CALL || was->kind == TN_KIND_IF_EXPR))
        return now->type;
    tn_loc old = tn_at(r->ctx, was->loc);
    const tn_type *t = tn_infer(r->ctx, now);
    tn_at(r->ctx, old);
    return was_told(now, t) ? now->type : t;
}

/* With `retype`: a function's result type that was its body's follows the body. */
static void
follow_body(tn_rewriter *r, const tn_function *was, tn_function *now)
{
    if (!r->retype || was->body->type == now->body->type || !now->body->type || !was->ret ||
        tn_is_error(now->body))
        return;
    if (!tn_equal(r->ctx, was->ret, was->body->type, false, NULL))
        return;
    const tn_expr *f =
        tn_function_of(r->ctx, now->params, now->body, NULL, now->pure != 0, now->attrs);
    if (tn_as_function(f))
        now->ret = ((const tn_function *)f)->ret;
}

/* Rewrites type and fields; the same pointer if nothing changed. */
static const tn_node *
renew_children(tn_rewriter *r, const tn_node *n)
{
    tn_any_node copy; /* as far as the kind goes */
    const tn_kind_info *k = &tn_kinds[n->kind];
    memcpy(&copy, n, k->size);
    bool changed = false, type_changed = false;
    const bool is_view = n == state_of(r)->view;
    /* the type of what defines variables may name them: it comes behind the definitions */
    bool type_last = n->kind == TN_KIND_FUNCTION || n->kind == TN_KIND_SEQ_EXPR;
    if (n->type && !type_last) {
        copy.base.type = rewrite(r, n->type);
        type_changed = copy.base.type != n->type;
    }
    for (const tn_field *f = k->fields; f->name; f++) {
        char *at = (char *)&copy + f->offset;
        bool is_def = (f->type == TN_FIELD_DEF || f->type == TN_FIELD_DEFS) &&
                      !(is_view && f->offset == offsetof(tn_buffer, data));
        if (n->kind == TN_KIND_DECL_BUFFER && is_def)
            state_of(r)->view = tn_field_node(n, f);
        if (f->type == TN_FIELD_NODE || f->type == TN_FIELD_DEF) {
            const tn_node *c = tn_field_node(n, f);
            if (!c)
                continue;
            const tn_node *now = child(r, c, is_def);
            if (is_def && n->kind == TN_KIND_VAR_BINDING)
                now = follow_value(r, c, now, ((const tn_var_binding *)n)->value,
                                   copy.as_var_binding.value);
            if (is_def && (n->kind == TN_KIND_BIND || n->kind == TN_KIND_LET))
                now = follow_value(r, c, now, ((const tn_bind *)n)->value, copy.as_bind.value);
            changed |= now != c;
            memcpy(at, &now, sizeof now);
        } else if (f->type == TN_FIELD_LIST || f->type == TN_FIELD_DEFS) {
            tn_list l = tn_field_list(n, f), now = rewrite_list(r, l, is_def);
            changed |= now.at != l.at;
            memcpy(at, &now, sizeof now);
        }
    }
    if (n->type && type_last) {
        copy.base.type = rewrite(r, n->type);
        type_changed = copy.base.type != n->type;
    }
    bool fresh = state_of(r)->fresh && is_identity(n);
    if (!changed && !type_changed && !fresh)
        return n;
    if (any_error(&copy.base))
        return tn_error_node(r->ctx);
    const tn_node *instead = changed ? after_removal(r->ctx, n, &copy) : NULL;
    if (instead)
        return instead;
    if (n->kind == TN_KIND_SEQ_EXPR)
        copy.as_seq_expr.blocks = tn_merge_blocks(r->ctx, copy.as_seq_expr.blocks);
    if (n->kind == TN_KIND_FUNCTION)
        follow_body(r, (const tn_function *)n, &copy.as_function);
    const tn_type *t = changed ? new_type(r, n, &copy.base) : copy.base.type;
    if (tn_is_error(t))
        return t;
    copy.base.flags = 0;
    return tn_make(r->ctx, n->kind, &copy, t, false);
}
_Static_assert(offsetof(tn_bind, value) == offsetof(tn_let, value) &&
                   offsetof(tn_bind, var) == offsetof(tn_let, var),
               "Bind and Let begin alike");

/* ---- fresh copies: symbols that signatures and casts define without a field DEF ---- */
static void
renew_symbol(tn_rewriter *r, const tn_node *v)
{
    struct state *s = state_of(r);
    if (!tn_is_var(v) || tnb_ptrmap_has(&s->renewed, v) || tnb_ptrmap_has(&s->used, v))
        return;
    const tn_node *now = tn_var_retyped(r->ctx, v, v->type);
    tnb_ptrmap_set(&s->renewed, v, now);
}

static void
renew_symbols(tn_rewriter *r, const tn_node *n)
{
    tn_list l = {0};
    if (n->kind == TN_KIND_FUNCTION || n->kind == TN_KIND_PRIM_FUNC)
        l = tn_defined_symbols(r->ctx, n);
    else if (n->kind == TN_KIND_MATCH_CAST)
        l = tn_symbols_of_type(r->ctx, ((const tn_match_cast *)n)->to);
    for (uint32_t i = 0; i < l.n; i++)
        renew_symbol(r, l.at[i]);
}

/* Whether nothing at or below the node is of the graph. */
static bool
is_out_of_reach(const tn_node *n)
{
    switch ((tn_kind)n->kind) {
    case TN_KIND_SHAPE_EXPR:
    case TN_KIND_ARRAY:
    case TN_KIND_DICT:
        return true;
    case TN_KIND_VAR:
    case TN_KIND_DATAFLOW_VAR:
        return false; /* where it is defined */
    default:
        return tn_is_type(n) || (n->kind >= TN_KIND_FIRST_SCALAR && n->kind <= TN_KIND_LAST_SCALAR);
    }
}

/* A binding of a value that no callback looks into. */
static bool
is_plain_binding(const tn_node *n)
{
    const tn_var_binding *b = tn_as_var_binding(n);
    return b ? b->value->kind != TN_KIND_FUNCTION && b->value->kind != TN_KIND_IF_EXPR &&
                   b->value->kind != TN_KIND_SEQ_EXPR
             : n->kind == TN_KIND_MATCH_CAST;
}

static const tn_node *
rewrite(tn_rewriter *r, const tn_node *n)
{
    struct state *s = state_of(r);
    const tn_node *hit;
    if (is_identity(n)) {
        if (r->map && (hit = tnb_ptrmap_get(r->map, n)))
            return hit;
        if ((hit = tnb_ptrmap_get(&s->renewed, n)))
            return hit;
        if (s->fresh)
            tnb_ptrmap_set(&s->used, n, s);
        if (n == s->root && n->kind == TN_KIND_BUFFER) /* asked to rewrite the buffer itself */
            return define(r, n);
    }
    if ((n->flags & TN_FLAG_CLOSED) && !r->pre && !r->post)
        return n;
    const bool bounded = r->reach && !s->renewed.n && (!r->map || !r->map->n);
    if (bounded && is_out_of_reach(n))
        return n;
    const bool plain = bounded && r->reach == TN_REACH_BLOCKS && is_plain_binding(n);
    if (s->fresh)
        renew_symbols(r, n);
    bool memo = !r->in_context &&
                (TN_DEPTH(n) >= MEMO_DEPTH || ((n->flags & TN_FLAG_INTERNED) && TN_DEPTH(n) > 1)) &&
                !tn_is_stmt(n);
    if (memo && (hit = tnb_ptrmap_get(&s->memo, n)))
        return hit;
    const tn_node *now = r->pre ? r->pre(r, n) : NULL;
    if (!now) {
        now = is_identity(n) || plain ? n : renew_children(r, n);
        if (r->post && now != &removed && !tn_is_error(now)) {
            const tn_node *p = r->post(r, now);
            now = p ? p : now;
        }
    }
    if (memo)
        tnb_ptrmap_set(&s->memo, n, now);
    return now;
}

static const tn_node *
run(tn_rewriter *r, const tn_node *n, bool fresh, tnb_ptrmap *out)
{
    if (!n || tn_is_error(n))
        return n;
    struct state s = {.root = n, .arena = tn_borrow_arena(r->ctx), .fresh = fresh};
    if (!s.arena)
        return tn_error(r->ctx, 0, TNB_NO_MEMORY, "no memory for rewriting");
    tnb_ptrmap_init(&s.renewed, s.arena);
    tnb_ptrmap_init(&s.memo, s.arena);
    tnb_ptrmap_init(&s.used, s.arena);
    void *outer = r->state;
    r->state = &s;
    const tn_node *now = rewrite(r, n);
    r->state = outer;
    if (now == &removed && tn_is_stmt(n))
        now = no_op(r->ctx);
    for (uint32_t i = 0; out && i < s.renewed.n; i++)
        tnb_ptrmap_set(out, s.renewed.at[i].key, s.renewed.at[i].value);
    if (tnb_arena_failed(s.arena))
        now = tn_error(r->ctx, 0, TNB_NO_MEMORY, "no memory for rewriting");
    tn_return_arena(r->ctx, s.arena);
    return now;
}

const tn_node *
tn_rewrite(tn_rewriter *r, const tn_node *n)
{
    return run(r, n, false, NULL);
}

const tn_node *
tn_rewrite_child(tn_rewriter *r, const tn_node *n)
{
    return n ? rewrite(r, n) : NULL;
}

const tn_node *
tn_rewrite_children(tn_rewriter *r, const tn_node *n)
{
    return n ? renew_children(r, n) : NULL;
}

const tn_node *
tn_rewrite_def(tn_rewriter *r, const tn_node *n)
{
    return n ? define(r, n) : NULL;
}

tn_list
tn_rewrite_list(tn_rewriter *r, tn_list l)
{
    return rewrite_list(r, l, false);
}

/* ---- substitution ---- */
const tn_node *
tn_subst(tn_ctx *ctx, const tn_node *n, tnb_ptrmap *map)
{
    if (!n || !map->n || (n->flags & TN_FLAG_CLOSED))
        return n;
    tn_rewriter r = {.ctx = ctx, .map = map};
    return tn_rewrite(&r, n);
}

const tn_node *
tn_subst1(tn_ctx *ctx, const tn_node *n, const tn_expr *var, const tn_expr *value)
{
    if (!n || (n->flags & TN_FLAG_CLOSED))
        return n;
    tnb_arena *a = tn_borrow_arena(ctx);
    if (!a)
        return tn_error(ctx, 0, TNB_NO_MEMORY, "no memory for rewriting");
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, a);
    tnb_ptrmap_set(&map, var, value);
    const tn_node *now = tn_subst(ctx, n, &map);
    tn_return_arena(ctx, a);
    return now;
}

/* ---- fresh copies ---- */
const tn_node *
tn_fresh_copy(tn_ctx *ctx, const tn_node *n, tnb_ptrmap *map)
{
    tn_rewriter r = {.ctx = ctx};
    return run(&r, n, true, map);
}
