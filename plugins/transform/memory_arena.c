/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of StaticPlanBlockMemory: offsets in one storage for each device and scope.
 *
 * Tensors are placed one after the other, each into the smallest gap between those alive at the
 * same time (greedy placement; Pisarchyk and Lee, 2020). In which order is tried out: by size, by
 * size times lifetime, by lifetime, by time; then what ends up highest is moved to the front a few
 * times. The first order whose result no other could improve by much is kept. Where so many are alive
 * together that this would take time quadratic in their number, one sweep over time does
 * (memory_sweep.c).
 */
#include "memory_arena.h"

#include <stdlib.h>

#include "tenon/core/build.h"

enum {
    ALIGN = 64,
    BUCKET_SHIFT = 6, /* 64 bindings a bucket */
    MAX_MOVES = 64,   /* of what is highest to the front */
    MOVES_LIMIT = 4000,
    MOST_TOGETHER = 256 /* tensors alive at some time of another's life, on average */
};

typedef memory_item item;
typedef TNB_VEC(item *) item_list;

typedef struct packer {
    tnb_arena *arena;
    uint32_t start; /* the first binding; times count from here */
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
    p->alive.n = 0;
    p->now++;
    for (uint32_t b = it->first >> BUCKET_SHIFT; b <= it->last >> BUCKET_SHIFT; b++)
        for (uint32_t i = 0; i < p->buckets[b].n; i++) {
            item *o = p->buckets[b].at[i];
            if (o->seen == p->now || o->first > it->last || it->first > o->last)
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
        for (uint32_t b = it->first >> BUCKET_SHIFT; b <= it->last >> BUCKET_SHIFT; b++)
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
    return x->first < y->first ? -1 : x->first > y->first;
}

typedef enum order_kind { BY_SIZE, BY_AREA, BY_LIFETIME, BY_START, BY_END, N_ORDERS } order_kind;

static void
set_order(packer *p, order_kind kind)
{
    for (uint32_t i = 0; i < p->n; i++) {
        item *it = &p->items[i];
        double life = it->last - it->first + 1.0, size = (double)it->need;
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
            it->key = -(double)it->first;
            break;
        default:
            it->key = it->last;
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
        change[it->first] += bytes;
        change[it->last + 1] -= bytes;
    }
    for (uint32_t i = 0; i < end; i++) {
        sum += change[i];
        most = sum > most ? sum : most;
    }
    return most;
}

/* How many are alive at some time of an item's life, on average. */
static uint64_t
together(packer *p)
{
    uint32_t end = p->n_buckets << BUCKET_SHIFT;
    uint32_t *begun = TNB_NEW_N(p->arena, uint32_t, end + 1); /* before a time */
    uint32_t *ended = TNB_NEW_N(p->arena, uint32_t, end + 1);
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        begun[p->items[i].first + 1]++;
        ended[p->items[i].last + 1]++;
    }
    for (uint32_t i = 0; i < end; i++) {
        begun[i + 1] += begun[i];
        ended[i + 1] += ended[i];
    }
    for (uint32_t i = 0; i < p->n; i++)
        pairs += begun[p->items[i].last + 1] - ended[p->items[i].first];
    return pairs / p->n;
}

static void
search(packer *p)
{
    if (together(p) > MOST_TOGETHER) {
        p->best = memory_sweep(p->arena, p->items, p->n);
        return;
    }
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

/* The tokens of one arena, in order of allocation. */
typedef struct arena_tokens {
    struct arena_tokens *next; /* of the same branch */
    TNB_VEC(memory_token *) tokens;
} arena_tokens;

static void
plan_one(tn_ctx *ctx, const arena_tokens *tokens, memory_totals *totals)
{
    const memory_token *kind = tokens->tokens.at[0];
    packer p = {.arena = tn_scratch(ctx), .best = -1, .start = kind->first};
    memory_storage *s = TNB_NEW(p.arena, memory_storage);
    p.n = tokens->tokens.n;
    p.items = TNB_NEW_N(p.arena, item, p.n);
    uint32_t last = 0;
    for (uint32_t i = 0; i < p.n; i++) {
        memory_token *t = tokens->tokens.at[i];
        t->storage = s;
        p.items[i] = (item){.t = t,
                            .need = aligned(t->bytes),
                            .first = t->first - p.start,
                            .last = t->last - p.start};
        last = p.items[i].last > last ? p.items[i].last : last;
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

/* Adds a token to its arena; the arena, if it is new. */
static arena_tokens *
add_token(tnb_arena *arena, tnb_ptrmap *by_branch, memory_token *t)
{
    const void *key = t->branch ? (const void *)t->branch : (const void *)by_branch;
    arena_tokens *first = tnb_ptrmap_get(by_branch, key), *a = first;
    while (a && !same_arena(a->tokens.at[0], t))
        a = a->next;
    bool is_new = !a;
    if (is_new) {
        a = TNB_NEW(arena, arena_tokens);
        a->next = first;
        tnb_ptrmap_set(by_branch, key, a);
    }
    TNB_PUSH(arena, a->tokens, t);
    return is_new ? a : NULL;
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
    tnb_ptrmap by_branch;
    tnb_ptrmap_init(&by_branch, tn_scratch(ctx));
    TNB_VEC(arena_tokens *) arenas = {0};
    for (uint32_t i = 0; i < tokens->n; i++) {
        arena_tokens *a = is_placed(tokens->at[i]) && !tokens->at[i]->storage
                              ? add_token(tn_scratch(ctx), &by_branch, tokens->at[i])
                              : NULL;
        if (a)
            TNB_PUSH(tn_scratch(ctx), arenas, a);
    }
    for (uint32_t i = 0; i < arenas.n; i++)
        plan_one(ctx, arenas.at[i], totals);
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
