/* SPDX-License-Identifier: Apache-2.0 */
/* Which statements of a sequence use what it allocates or binds; see region.h. */
#include "region.h"

typedef struct finder {
    tnk_seq_uses *uses;
    tnb_arena *arena;
    uint32_t at; /* the statement */
} finder;

static void
found(finder *f, uint32_t key)
{
    tnk_seq_user *of = &f->uses->key[key];
    if (of->at.n && of->at.at[of->at.n - 1] == f->at)
        return;
    TNB_PUSH(f->arena, of->at, f->at);
    TNB_PUSH(f->arena, f->uses->used[f->at].keys, key);
}

static tn_walk_step
in_node(void *user, const tn_node *n)
{
    finder *f = user;
    const tn_buffer *b = n->kind == TN_KIND_BUFFER ? (const tn_buffer *)n : NULL;
    uintptr_t key = (uintptr_t)tnb_ptrmap_get(&f->uses->keys, n);
    if (!key && b)
        key = (uintptr_t)tnb_ptrmap_get(&f->uses->keys, b->data);
    if (key)
        found(f, (uint32_t)(key - 1));
    return n->flags & TN_FLAG_CLOSED ? TN_WALK_SKIP : TN_WALK_ON;
}

bool
tnk_seq_uses_of(tn_ctx *ctx, const tn_seq *q, tnk_seq_uses *out)
{
    tnb_arena *a = tn_scratch(ctx);
    bool allocates = false;
    *out = (tnk_seq_uses){0};
    for (uint32_t i = 0; i < q->stmts.n; i++)
        allocates |= q->stmts.at[i]->kind == TN_KIND_ALLOC_BUFFER;
    if (!allocates)
        return false;
    tnb_ptrmap_init(&out->keys, a);
    out->key = TNB_NEW_N(a, tnk_seq_user, q->stmts.n + 1);
    out->used = TNB_NEW_N(a, tnk_seq_used, q->stmts.n + 1);
    for (uint32_t i = 0; i < q->stmts.n; i++) {
        const tn_stmt *s = q->stmts.at[i];
        void *key = (void *)(uintptr_t)(i + 1);
        if (s->kind == TN_KIND_ALLOC_BUFFER) {
            const tn_node *buffer = tn_as_alloc_buffer(s)->buffer;
            tnb_ptrmap_set(&out->keys, buffer, key);
            tnb_ptrmap_set(&out->keys, tn_as_buffer(buffer)->data, key);
        } else if (s->kind == TN_KIND_BIND) {
            tnb_ptrmap_set(&out->keys, ((const tn_bind *)s)->var, key);
        }
    }
    finder f = {.uses = out, .arena = a};
    for (f.at = 0; f.at < q->stmts.n; f.at++)
        tn_walk(q->stmts.at[f.at], TN_WALK_TYPES | TN_WALK_ONCE, in_node, NULL, &f);
    return true;
}
