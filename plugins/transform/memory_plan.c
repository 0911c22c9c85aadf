/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream's plan of StaticPlanBlockMemory: a pool of storages. The other one: memory_arena.c. */
#include "memory_plan.h"

#include <stdlib.h>

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

/* ---- upstream's pool ---- */

/* A free storage may serve a need up to this many times smaller, or grow by as much. */
enum { MATCH_RANGE = 16 };

typedef struct pool {
    tn_ctx *ctx;
    TNB_VEC(memory_storage *) free;
} pool;

static bool
same_kind(const memory_storage *s, const memory_token *t)
{
    return s->branch == t->branch && s->device == t->device && strcmp(s->scope, t->scope) == 0 &&
           tnb_dtype_eq(s->dtype, t->dtype);
}

static memory_storage *
take(pool *p, uint32_t i)
{
    memory_storage *s = p->free.at[i];
    p->free.at[i] = p->free.at[--p->free.n];
    return s;
}

static memory_storage *
request(pool *p, memory_token *t)
{
    uint32_t best = UINT32_MAX, grown = UINT32_MAX;
    for (uint32_t i = 0; i < p->free.n; i++) {
        const memory_storage *s = p->free.at[i];
        if (!same_kind(s, t))
            continue;
        if (t->bytes < 0 || s->bytes < 0) {
            if (t->bytes < 0 && s->bytes < 0 && tn_prove_equal(p->ctx, s->size, t->size))
                return take(p, i);
            continue;
        }
        if (s->bytes >= t->bytes && s->bytes <= MATCH_RANGE * t->bytes &&
            (best == UINT32_MAX || s->bytes < p->free.at[best]->bytes))
            best = i;
        if (s->bytes < t->bytes && s->bytes >= t->bytes / MATCH_RANGE &&
            (grown == UINT32_MAX || s->bytes > p->free.at[grown]->bytes))
            grown = i;
    }
    if (best != UINT32_MAX)
        return take(p, best);
    if (grown != UINT32_MAX) {
        memory_storage *s = take(p, grown);
        s->bytes = t->bytes;
        s->size = tn_i64(p->ctx, t->bytes);
        return s;
    }
    memory_storage *s = TNB_NEW(tn_scratch(p->ctx), memory_storage);
    *s = (memory_storage){.bytes = t->bytes,
                          .size = t->bytes < 0 ? t->size : tn_i64(p->ctx, t->bytes),
                          .branch = t->branch,
                          .device = t->device,
                          .scope = t->scope,
                          .dtype = t->dtype,
                          .before = t};
    return s;
}

static bool
is_planned(const memory_token *t)
{
    return !t->discarded;
}

static int
by_last_use(const void *a, const void *b)
{
    const memory_token *x = *(memory_token *const *)a, *y = *(memory_token *const *)b;
    return x->last != y->last    ? (x->last < y->last ? -1 : 1)
           : x->first < y->first ? -1
                                 : x->first > y->first;
}

void
memory_plan_upstream(tn_ctx *ctx, memory_tokens *tokens)
{
    pool p = {.ctx = ctx};
    memory_token **ending = TNB_NEW_N(tn_scratch(ctx), memory_token *, tokens->n);
    uint32_t n = 0, released = 0;
    for (uint32_t i = 0; i < tokens->n; i++)
        if (is_planned(tokens->at[i]) && tokens->at[i]->uses && !tokens->at[i]->output)
            ending[n++] = tokens->at[i];
    if (n)
        qsort(ending, n, sizeof *ending, by_last_use);
    for (uint32_t i = 0; i < tokens->n; i++) {
        memory_token *t = tokens->at[i];
        if (!is_planned(t))
            continue;
        for (; released < n && ending[released]->last < t->first; released++)
            if (ending[released]->storage)
                TNB_PUSH(tn_scratch(ctx), p.free, ending[released]->storage);
        if (t->output) { /* storage of its own, of the bound's size */
            pool alone = {.ctx = ctx};
            t->storage = request(&alone, t);
        } else {
            t->storage = request(&p, t);
        }
    }
}
