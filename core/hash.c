/* SPDX-License-Identifier: Apache-2.0 */
/* Structural hash: equal nodes (core/equal.c) have equal hashes.
 *
 * Bound variables count by the order of their definitions, variables bound inside expressions
 * (which may be shared and so be met again) only by their dtype.
 */
#include "private.h"

enum { MEMO_DEPTH = 5 };

struct hasher {
    tn_ctx *ctx;
    tnb_ptrmap number; /* bound variable or buffer -> its number + 1, as a pointer */
    tnb_ptrmap memo;   /* node -> uint64_t * */
    tnb_arena *arena;
    uintptr_t next;
    int defining;
    bool map_free;
};

static uint64_t
hash(struct hasher *h, const tn_node *n);

static void
number(struct hasher *h, const tn_node *n, bool in_expression)
{
    if (!tnb_ptrmap_has(&h->number, n))
        tnb_ptrmap_set(&h->number, n, (void *)(in_expression ? (uintptr_t)1 : ++h->next + 1));
}

static uint64_t
hash_fields(struct hasher *h, const tn_node *n, bool data_is_use);

static uint64_t
hash_use(struct hasher *h, const tn_node *n)
{
    bool may_define = h->map_free || (h->defining && tn_is_var(n));
    if (!tnb_ptrmap_has(&h->number, n)) {
        if (!may_define)
            return tn_mix(n->kind, (uintptr_t)n);
        number(h, n, false);
    }
    return tn_mix(n->kind, (uintptr_t)tnb_ptrmap_get(&h->number, n));
}

static uint64_t
hash_define(struct hasher *h, const tn_node *n, tn_kind parent)
{
    bool is_var = tn_is_var(n);
    if (!is_var && n->kind != TN_KIND_BUFFER)
        return hash(h, n);
    if (!is_var && tnb_ptrmap_has(&h->number, n))
        return hash_use(h, n);
    bool signature =
        parent == TN_KIND_FUNCTION || parent == TN_KIND_PRIM_FUNC || parent == TN_KIND_MATCH_BUFFER;
    h->defining += signature;
    uint64_t x = is_var ? hash(h, n->type) : hash_fields(h, n, parent == TN_KIND_DECL_BUFFER);
    h->defining -= signature;
    number(h, n,
           parent == TN_KIND_LET || parent == TN_KIND_INDEX_MAP || parent == TN_KIND_COMM_REDUCER);
    return tn_mix(x, hash_use(h, n));
}

static uint64_t
hash_data(const tn_data *d)
{
    /* the elements are left out: they may be large, or not there yet */
    uint64_t x = tn_mix_dtype(1, d->dtype);
    for (int32_t i = 0; i < d->ndim; i++)
        x = tn_mix(x, (uint64_t)d->shape[i]);
    return x;
}

static uint64_t
hash_leaf(const tn_field *f, const void *p)
{
    uint64_t bits;
    const char *s;
    switch (f->type) {
    case TN_FIELD_NAME:
        return 0;
    case TN_FIELD_STR:
        s = *(const char *const *)p;
        return s ? tn_hash_bytes(s, strlen(s)) : 0;
    case TN_FIELD_DTYPE:
        return tn_mix_dtype(0, *(const tnb_dtype *)p);
    case TN_FIELD_OP:
        s = (*(const tn_op *const *)p)->base.name;
        return tn_hash_bytes(s, strlen(s));
    case TN_FIELD_DATA:
        return hash_data(*(const tn_data *const *)p);
    default:
        memcpy(&bits, p, sizeof bits);
        return bits;
    }
}

static uint64_t
hash_fields(struct hasher *h, const tn_node *n, bool data_is_use)
{
    uint64_t x = n->kind;
    const tn_var_binding *b = tn_as_var_binding(n);
    if (b && tn_is(b->value, TN_KIND_FUNCTION)) /* may call itself */
        x = tn_mix(x, hash_define(h, b->var, TN_KIND_VAR_BINDING));
    for (const tn_field *f = tn_kinds[n->kind].fields; f->name; f++) {
        const tn_node *c;
        tn_list l;
        bool defining;
        switch (f->type) {
        case TN_FIELD_NODE:
        case TN_FIELD_DEF:
            c = tn_field_node(n, f);
            defining = n->kind == TN_KIND_MATCH_CAST && strcmp(f->name, "to") == 0;
            h->defining += defining;
            x = tn_mix(x, !c                                        ? 0
                          : f->type == TN_FIELD_DEF && !data_is_use ? hash_define(h, c, n->kind)
                                                                    : hash(h, c));
            h->defining -= defining;
            break;
        case TN_FIELD_LIST:
        case TN_FIELD_DEFS:
            l = tn_field_list(n, f);
            h->defining += n->kind == TN_KIND_TY_FUNC;
            x = tn_mix(x, l.n);
            for (uint32_t i = 0; i < l.n; i++)
                x = tn_mix(x, !l.at[i]                   ? 0
                              : f->type == TN_FIELD_DEFS ? hash_define(h, l.at[i], n->kind)
                                                         : hash(h, l.at[i]));
            h->defining -= n->kind == TN_KIND_TY_FUNC;
            break;
        default:
            x = tn_mix(x, hash_leaf(f, tn_field_at(n, f)));
        }
    }
    return x;
}

static uint64_t
hash(struct hasher *h, const tn_node *n)
{
    if (!n)
        return 0;
    if (tn_is_var(n) || n->kind == TN_KIND_BUFFER)
        return hash_use(h, n);
    bool memo = (TN_DEPTH(n) >= MEMO_DEPTH || (n->flags & TN_FLAG_INTERNED)) && !tn_is_stmt(n);
    const uint64_t *known = memo ? tnb_ptrmap_get(&h->memo, n) : NULL;
    if (known)
        return *known;
    bool typed =
        n->kind != TN_KIND_FUNCTION && n->kind != TN_KIND_SEQ_EXPR; /* as in core/equal.c */
    uint64_t x = typed ? hash(h, n->type) : 0;
    x = tn_mix(x, hash_fields(h, n, false));
    if (memo)
        tnb_ptrmap_set(&h->memo, n, tnb_dup(h->arena, &x, sizeof x));
    return x;
}

uint64_t
tn_hash(tn_ctx *ctx, const tn_node *n, bool map_free)
{
    struct hasher h = {.ctx = ctx, .map_free = map_free, .arena = tn_borrow_arena(ctx)};
    if (!h.arena)
        return 0;
    tnb_ptrmap_init(&h.number, h.arena);
    tnb_ptrmap_init(&h.memo, h.arena);
    uint64_t x = hash(&h, n);
    tn_return_arena(ctx, h.arena);
    return x;
}
