/* SPDX-License-Identifier: Apache-2.0 */
/* Making nodes: flags, depth, interning of what has no variables. */
#include "private.h"

/* Kinds interned when all their children are. */
static bool
may_intern(tn_kind k)
{
    switch (k) {
    case TN_KIND_TY_ANY:
    case TN_KIND_TY_PRIM:
    case TN_KIND_TY_PTR:
    case TN_KIND_TY_SHAPE:
    case TN_KIND_TY_TENSOR:
    case TN_KIND_TY_TUPLE:
    case TN_KIND_TY_FUNC:
    case TN_KIND_INT_IMM:
    case TN_KIND_FLOAT_IMM:
    case TN_KIND_STRING_IMM:
    case TN_KIND_DTYPE_IMM:
    case TN_KIND_GLOBAL_VAR:
    case TN_KIND_EXTERN_FUNC:
    case TN_KIND_OP_REF:
    case TN_KIND_SHAPE_EXPR:
    case TN_KIND_NONE:
    case TN_KIND_ARRAY:
    case TN_KIND_PAIR:
    case TN_KIND_DICT:
    case TN_KIND_TARGET:
    case TN_KIND_VDEVICE:
        return true;
    default:
        return false;
    }
}

struct summary {
    bool closed, interned;
    uint32_t depth;
};

static void
add_child(struct summary *s, const tn_node *c)
{
    if (!c)
        return;
    s->closed &= (c->flags & TN_FLAG_CLOSED) != 0;
    s->interned &= (c->flags & TN_FLAG_INTERNED) != 0;
    if (TN_DEPTH(c) > s->depth)
        s->depth = TN_DEPTH(c);
}

static struct summary
summarize(const tn_node *n, const tn_type *type)
{
    struct summary s = {true, may_intern(n->kind), 0};
    const tn_kind_info *k = &tn_kinds[n->kind];
    add_child(&s, type);
    for (const tn_field *f = k->fields; f->name; f++) {
        if (f->type == TN_FIELD_NODE || f->type == TN_FIELD_DEF) {
            add_child(&s, tn_field_node(n, f));
        } else if (f->type == TN_FIELD_LIST || f->type == TN_FIELD_DEFS) {
            tn_list l = tn_field_list(n, f);
            for (uint32_t i = 0; i < l.n; i++)
                add_child(&s, l.at[i]);
        }
    }
    if (n->kind == TN_KIND_VAR || n->kind == TN_KIND_DATAFLOW_VAR || n->kind == TN_KIND_BUFFER)
        s.closed = false;
    s.interned &= s.closed;
    s.depth++;
    return s;
}

/* Hash and comparison of interned nodes: children by identity. */
static uint64_t
shallow_hash(const tn_node *n)
{
    uint64_t h = tn_mix(n->kind, (uintptr_t)n->type);
    for (const tn_field *f = tn_kinds[n->kind].fields; f->name; f++) {
        const void *p = tn_field_at(n, f);
        uint64_t bits = 0;
        tn_list l;
        switch (f->type) {
        case TN_FIELD_LIST:
        case TN_FIELD_DEFS:
            l = *(const tn_list *)p;
            h = tn_mix(h, l.n);
            for (uint32_t i = 0; i < l.n; i++)
                h = tn_mix(h, (uintptr_t)l.at[i]);
            break;
        case TN_FIELD_DTYPE:
            h = tn_mix_dtype(h, *(const tnb_dtype *)p);
            break;
        default: /* pointers and numbers, 8 bytes each */
            memcpy(&bits, p, sizeof bits);
            h = tn_mix(h, bits);
        }
    }
    return h;
}
_Static_assert(sizeof(void *) == 8 && sizeof(double) == 8, "fields are hashed as 8 bytes");

static bool
shallow_same(const void *stored, const void *key, size_t extra)
{
    (void)extra;
    const tn_node *a = stored, *b = key;
    if (a->kind != b->kind || a->type != b->type)
        return false;
    for (const tn_field *f = tn_kinds[a->kind].fields; f->name; f++) {
        const void *p = tn_field_at(a, f), *q = tn_field_at(b, f);
        if (f->type == TN_FIELD_LIST || f->type == TN_FIELD_DEFS) {
            const tn_list *l = p, *m = q;
            if (l->n != m->n || (l->n && memcmp(l->at, m->at, l->n * sizeof *l->at) != 0))
                return false;
        } else if (f->type == TN_FIELD_DTYPE) {
            if (!tnb_dtype_eq(*(const tnb_dtype *)p, *(const tnb_dtype *)q))
                return false;
        } else if (memcmp(p, q, 8) != 0) {
            return false;
        }
    }
    return true;
}

static tn_node *
store(tnb_arena *a, const tn_node *fields, bool copy_lists)
{
    const tn_kind_info *k = &tn_kinds[fields->kind];
    tn_node *n = tnb_dup(a, fields, k->size);
    if (!copy_lists)
        return n;
    for (const tn_field *f = k->fields; f->name; f++)
        if (f->type == TN_FIELD_LIST || f->type == TN_FIELD_DEFS) {
            tn_list *l = (tn_list *)(void *)((char *)n + f->offset);
            l->at = l->n ? tnb_dup(a, l->at, l->n * sizeof *l->at) : NULL;
        }
    return n;
}

static const tn_node *
intern_node(tn_ctx *ctx, const tn_node *key)
{
    uint64_t h = shallow_hash(key);
    for (const tn_ctx *c = ctx; c; c = c->parent) {
        const tn_node *found = tn_intern_find(&c->nodes, h, shallow_same, key, 0);
        if (found)
            return found;
    }
    const tn_node *n = store(ctx->perm, key, true);
    tn_intern_add(&ctx->nodes, h, n);
    return n;
}

const tn_node *
tn_make(tn_ctx *ctx, tn_kind kind, const void *fields, const tn_type *type, bool copy_lists)
{
    tn_any_node copy; /* as far as the kind goes */
    memcpy(&copy, fields, tn_kinds[kind].size);
    tn_node *n = &copy.base;
    n->kind = (uint16_t)kind;
    n->type = type;
    struct summary s = summarize(n, type);
    if (s.depth > TN_MAX_DEPTH)
        return tn_error(ctx, n->loc, TNB_UNSUPPORTED,
                        "expression or statement nested deeper than %d", TN_MAX_DEPTH);
    n->flags = (uint16_t)(s.depth << TN_DEPTH_SHIFT);
    if (s.closed)
        n->flags |= TN_FLAG_CLOSED;
    if (s.interned) {
        n->flags |= TN_FLAG_INTERNED;
        n->loc = 0;
        return intern_node(ctx, n);
    }
    if (!n->loc)
        n->loc = ctx->at;
    return store(ctx->arena, n, copy_lists);
}

bool
tn_bad(tn_ctx *ctx, const tn_node *n)
{
    if (!n) {
        tn_error(ctx, 0, TNB_INTERNAL, "a constructor was given no operand");
        return true;
    }
    return n->kind == TN_KIND_ERROR;
}

bool
tn_bad_list(tn_ctx *ctx, tn_list l)
{
    (void)ctx;
    for (uint32_t i = 0; i < l.n; i++)
        if (tn_is_error(l.at[i]))
            return true;
    return false;
}

const tn_node *
tn_norm_dict(const tn_node *d)
{
    return tn_is(d, TN_KIND_DICT) && !((const tn_dict *)d)->items.n ? NULL : d;
}

bool
tn_is_dict_or_null(tn_ctx *ctx, const tn_node *d, const char *what)
{
    if (!d || tn_is(d, TN_KIND_DICT))
        return true;
    if (!tn_is_error(d))
        tn_error(ctx, 0, TNB_TYPE, "%s must be a dictionary, not %s", what, tn_kinds[d->kind].name);
    return false;
}

const tn_node *
tn_rebuild(tn_ctx *ctx, tn_kind kind, const void *fields, const tn_type *type)
{
    tn_any_node copy = {0};
    memcpy(&copy, fields, tn_kinds[kind].size);
    copy.base.kind = (uint16_t)kind;
    for (const tn_field *f = tn_kinds[kind].fields; f->name; f++) {
        if (f->type == TN_FIELD_NODE || f->type == TN_FIELD_DEF) {
            if (tn_is_error(tn_field_node(&copy.base, f)))
                return tn_error_node(ctx);
        } else if (f->type == TN_FIELD_LIST || f->type == TN_FIELD_DEFS) {
            if (tn_bad_list(ctx, tn_field_list(&copy.base, f)))
                return tn_error_node(ctx);
        }
    }
    if (!type) {
        tn_loc old = copy.base.loc ? tn_at(ctx, copy.base.loc) : ctx->at;
        type = tn_infer(ctx, &copy.base);
        tn_at(ctx, old);
        if (tn_is_error(type))
            return type;
    }
    return tn_make(ctx, kind, &copy, type, true);
}
