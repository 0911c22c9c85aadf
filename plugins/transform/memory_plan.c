/* SPDX-License-Identifier: Apache-2.0 */
/* The two plans of StaticPlanBlockMemory: upstream's pool of storages, and one arena for each
 * device and scope. */
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

/* ---- arena ---- */

enum { ARENA_ALIGN = 64 };

static int
by_size(const void *a, const void *b)
{
    const memory_token *x = *(memory_token *const *)a, *y = *(memory_token *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int
by_offset(const void *a, const void *b)
{
    const memory_token *x = *(memory_token *const *)a, *y = *(memory_token *const *)b;
    return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : 0;
}

static int64_t
aligned(int64_t bytes)
{
    return (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

/* The lowest gap, among what is alive together with t, that t fits into (greedy by size; Pisarchyk
 * and Lee, 2020). */
static int64_t
place(tn_ctx *ctx, memory_token *const *placed, uint32_t n, const memory_token *t)
{
    memory_token **alive = TNB_NEW_N(tn_scratch(ctx), memory_token *, n + 1);
    uint32_t n_alive = 0;
    for (uint32_t i = 0; i < n; i++)
        if (placed[i]->first <= t->last && t->first <= placed[i]->last)
            alive[n_alive++] = placed[i];
    if (n_alive)
        qsort(alive, n_alive, sizeof *alive, by_offset);
    int64_t at = 0, best = -1, best_gap = 0, need = aligned(t->bytes);
    for (uint32_t i = 0; i < n_alive; i++) {
        int64_t gap = alive[i]->offset - at;
        if (gap >= need && (best < 0 || gap < best_gap)) {
            best = at;
            best_gap = gap;
        }
        int64_t end = alive[i]->offset + aligned(alive[i]->bytes);
        at = end > at ? end : at;
    }
    return best >= 0 ? best : at;
}

static bool
same_arena(const memory_token *a, const memory_token *b)
{
    return a->branch == b->branch && a->device == b->device && strcmp(a->scope, b->scope) == 0;
}

void
memory_plan_arena(tn_ctx *ctx, memory_tokens *tokens)
{
    memory_token **rest = TNB_NEW_N(tn_scratch(ctx), memory_token *, tokens->n + 1);
    memory_token **placed = TNB_NEW_N(tn_scratch(ctx), memory_token *, tokens->n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < tokens->n; i++)
        if (is_planned(tokens->at[i]) && tokens->at[i]->bytes >= 0 && !tokens->at[i]->output)
            rest[n++] = tokens->at[i];
    if (n)
        qsort(rest, n, sizeof *rest, by_size);
    for (uint32_t done = 0; done < n;) {
        /* one arena: all of the kind of the first token left */
        memory_token *kind = NULL;
        memory_storage *s = TNB_NEW(tn_scratch(ctx), memory_storage);
        uint32_t n_placed = 0;
        for (uint32_t i = 0; i < n; i++) {
            memory_token *t = rest[i];
            if (t->storage || (kind && !same_arena(kind, t)))
                continue;
            kind = kind ? kind : t;
            t->offset = place(ctx, placed, n_placed, t);
            t->storage = s;
            placed[n_placed++] = t;
            done++;
            int64_t end = t->offset + aligned(t->bytes);
            s->bytes = end > s->bytes ? end : s->bytes;
            if (!s->before || t->first < s->before->first)
                s->before = t;
        }
        if (!kind)
            break;
        s->size = tn_i64(ctx, s->bytes);
        s->device = kind->device;
        s->scope = kind->scope;
        s->dtype = TNB_U8;
    }
    for (uint32_t i = 0; i < tokens->n; i++)
        if (is_planned(tokens->at[i]) && tokens->at[i]->output) {
            memory_token *t = tokens->at[i];
            t->storage = TNB_NEW(tn_scratch(ctx), memory_storage);
            *t->storage = (memory_storage){.bytes = t->bytes,
                                           .size = t->size,
                                           .device = t->device,
                                           .scope = t->scope,
                                           .dtype = TNB_U8,
                                           .before = t};
        }
}
