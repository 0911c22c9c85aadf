/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of StaticPlanBlockMemory: offsets in one storage for each device and scope.
 *
 * Tensors are placed one after the other, each into the smallest gap between those alive at the
 * same time (greedy placement; Pisarchyk and Lee, 2020). In which order is tried out: by size, by
 * size times lifetime, by lifetime, by time; then what ends up highest is moved to the front a few
 * times. The first order whose result no other could improve by much is kept.
 */
#include "memory_plan.h"

#include <stdlib.h>

#include "tenon/core/build.h"

enum {
    ALIGN = 64,
    BUCKET_SHIFT = 6, /* 64 bindings a bucket */
    MAX_MOVES = 64,   /* of what is highest to the front */
    MOVES_LIMIT = 4000
};

typedef struct item {
    memory_token *t;
    int64_t need, offset, kept; /* bytes, aligned; where in this attempt, and in the best one */
    double key;
    uint32_t seen;
} item;

typedef TNB_VEC(item *) item_list;

typedef struct packer {
    tnb_arena *arena;
    item *items;
    item **order;
    uint32_t n;
    item_list *buckets; /* by time: what is placed */
    uint32_t n_buckets, now;
    item_list alive;
    int64_t best;
} packer;

static int64_t
aligned(int64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- one attempt ---- */

static int
by_offset(const void *a, const void *b)
{
    const item *x = *(item *const *)a, *y = *(item *const *)b;
    return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : 0;
}

/* The lowest of the smallest gaps that the item fits into. */
static int64_t
gap_for(packer *p, const item *it)
{
    const memory_token *t = it->t;
    p->alive.n = 0;
    p->now++;
    for (uint32_t b = t->first >> BUCKET_SHIFT; b <= t->last >> BUCKET_SHIFT; b++)
        for (uint32_t i = 0; i < p->buckets[b].n; i++) {
            item *o = p->buckets[b].at[i];
            if (o->seen == p->now || o->t->first > t->last || t->first > o->t->last)
                continue;
            o->seen = p->now;
            TNB_PUSH(p->arena, p->alive, o);
        }
    if (p->alive.n)
        qsort(p->alive.at, p->alive.n, sizeof *p->alive.at, by_offset);
    int64_t at = 0, best = -1, best_gap = 0;
    for (uint32_t i = 0; i < p->alive.n; i++) {
        const item *o = p->alive.at[i];
        int64_t gap = o->offset - at, end = o->offset + o->need;
        if (gap >= it->need && (best < 0 || gap < best_gap)) {
            best = at;
            best_gap = gap;
        }
        at = end > at ? end : at;
    }
    return best >= 0 ? best : at;
}

/* Places all items in order; the bytes taken. The best attempt is remembered. */
static int64_t
pack(packer *p)
{
    int64_t total = 0;
    for (uint32_t b = 0; b < p->n_buckets; b++)
        p->buckets[b].n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        item *it = p->order[i];
        it->offset = gap_for(p, it);
        for (uint32_t b = it->t->first >> BUCKET_SHIFT; b <= it->t->last >> BUCKET_SHIFT; b++)
            TNB_PUSH(p->arena, p->buckets[b], it);
        if (it->offset + it->need > total)
            total = it->offset + it->need;
    }
    if (p->best < 0 || total < p->best) {
        p->best = total;
        for (uint32_t i = 0; i < p->n; i++)
            p->items[i].kept = p->items[i].offset;
    }
    return total;
}

/* ---- orders ---- */

static int
by_key(const void *a, const void *b)
{
    const item *x = *(item *const *)a, *y = *(item *const *)b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    if (x->need != y->need)
        return x->need > y->need ? -1 : 1;
    return x->t->first < y->t->first ? -1 : x->t->first > y->t->first;
}

typedef enum order_kind { BY_SIZE, BY_AREA, BY_LIFETIME, BY_START, BY_END, N_ORDERS } order_kind;

static void
set_order(packer *p, order_kind kind)
{
    for (uint32_t i = 0; i < p->n; i++) {
        item *it = &p->items[i];
        double life = it->t->last - it->t->first + 1.0, size = (double)it->need;
        switch (kind) {
        case BY_SIZE:
            it->key = size;
            break;
        case BY_AREA:
            it->key = size * life;
            break;
        case BY_LIFETIME:
            it->key = life;
            break;
        case BY_START:
            it->key = -(double)it->t->first;
            break;
        default:
            it->key = it->t->last;
            break;
        }
        p->order[i] = it;
    }
    qsort(p->order, p->n, sizeof *p->order, by_key);
}

/* What ends highest goes to the front. */
static void
move_highest(packer *p)
{
    uint32_t top = 0;
    for (uint32_t i = 1; i < p->n; i++)
        if (p->order[i]->offset + p->order[i]->need > p->order[top]->offset + p->order[top]->need)
            top = i;
    item *it = p->order[top];
    memmove(p->order + 1, p->order, top * sizeof *p->order);
    p->order[0] = it;
}

/* The largest sum of what is alive at one time. */
static int64_t
lower_bound(packer *p, bool exact)
{
    uint32_t end = p->n_buckets << BUCKET_SHIFT;
    int64_t *change = TNB_NEW_N(p->arena, int64_t, end + 1), sum = 0, most = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const item *it = &p->items[i];
        int64_t bytes = exact ? it->t->bytes : it->need;
        change[it->t->first] += bytes;
        change[it->t->last + 1] -= bytes;
    }
    for (uint32_t i = 0; i < end; i++) {
        sum += change[i];
        most = sum > most ? sum : most;
    }
    return most;
}

static void
search(packer *p)
{
    int64_t bound = lower_bound(p, false), enough = bound + bound / 50;
    for (int kind = 0; kind < N_ORDERS && (kind == 0 || p->best > enough); kind++) {
        set_order(p, (order_kind)kind);
        pack(p);
    }
    set_order(p, BY_SIZE);
    for (int i = 0; i < MAX_MOVES && p->n <= MOVES_LIMIT && p->best > enough; i++) {
        pack(p);
        move_highest(p);
    }
}

/* ---- all arenas ---- */

static bool
same_arena(const memory_token *a, const memory_token *b)
{
    return a->branch == b->branch && a->device == b->device && strcmp(a->scope, b->scope) == 0;
}

static bool
is_placed(const memory_token *t)
{
    return !t->discarded && t->bytes >= 0 && !t->output;
}

/* One arena: all tokens of the kind of `kind` that have no storage yet. */
static void
plan_one(tn_ctx *ctx, memory_tokens *tokens, uint32_t from, memory_totals *totals)
{
    packer p = {.arena = tn_scratch(ctx), .best = -1};
    const memory_token *kind = tokens->at[from];
    memory_storage *s = TNB_NEW(p.arena, memory_storage);
    p.items = TNB_NEW_N(p.arena, item, tokens->n - from);
    uint32_t last = 0;
    for (uint32_t i = from; i < tokens->n; i++) {
        memory_token *t = tokens->at[i];
        if (!is_placed(t) || t->storage || !same_arena(kind, t))
            continue;
        t->storage = s;
        p.items[p.n++] = (item){.t = t, .need = aligned(t->bytes)};
        last = t->last > last ? t->last : last;
    }
    p.order = TNB_NEW_N(p.arena, item *, p.n);
    p.n_buckets = (last >> BUCKET_SHIFT) + 1;
    p.buckets = TNB_NEW_N(p.arena, item_list, p.n_buckets);
    search(&p);
    for (uint32_t i = 0; i < p.n; i++)
        p.items[i].t->offset = p.items[i].kept;
    *s = (memory_storage){.size = tn_i64(ctx, p.best),
                          .bytes = p.best,
                          .device = kind->device,
                          .scope = kind->scope,
                          .dtype = TNB_U8,
                          .before = kind};
    totals->planned += p.best;
    totals->bound += lower_bound(&p, true);
    totals->tensors += p.n;
}

/* Images are memory of their own: several tensors cannot lie in one. */
static bool
is_image(const memory_token *t)
{
    return strncmp(t->scope, "global.texture", 14) == 0;
}

void
memory_plan_arena(tn_ctx *ctx, memory_tokens *tokens, memory_totals *totals)
{
    for (uint32_t i = 0; i < tokens->n; i++)
        tokens->at[i]->discarded |= is_image(tokens->at[i]);
    for (uint32_t i = 0; i < tokens->n; i++)
        if (is_placed(tokens->at[i]) && !tokens->at[i]->storage)
            plan_one(ctx, tokens, i, totals);
    for (uint32_t i = 0; i < tokens->n; i++) {
        memory_token *t = tokens->at[i];
        if (t->discarded || !t->output)
            continue;
        t->storage = TNB_NEW(tn_scratch(ctx), memory_storage);
        *t->storage = (memory_storage){.bytes = t->bytes,
                                       .size = t->size,
                                       .device = t->device,
                                       .scope = t->scope,
                                       .dtype = TNB_U8,
                                       .before = t};
    }
}
