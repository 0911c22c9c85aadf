/* SPDX-License-Identifier: Apache-2.0 */
/* An arena planned in one sweep over time: each tensor takes a free part when its life begins and gives it
 * back when it ends, as in a heap. Free parts are in lists by size, so that one is found in constant
 * time, and join their free neighbours (two-level segregated fit; Masmano et al., 2004). What a list of
 * larger sizes gives is not always the smallest part that would do.
 */
#include "memory_arena.h"

#include <stdlib.h>

enum {
    SUB_SHIFT = 3, /* 8 lists from each power of two to the next */
    LISTS = 64 << SUB_SHIFT,
    LOOK_AT = 8 /* parts of the own list, of which some are too small */
};

typedef struct part {
    int64_t offset, size;
    struct part *before, *after; /* neighbours in memory */
    struct part *next, *prev;    /* in the list of its size, while free */
    bool free;
} part;

typedef struct heap {
    tnb_arena *arena;
    part *lists[LISTS];
    uint64_t filled[LISTS / 64]; /* which lists have a part */
    part *last;                  /* the highest in memory */
    part *spare;
} heap;

static uint32_t
list_of(int64_t size)
{
    uint32_t log = 63 - (uint32_t)__builtin_clzll((uint64_t)size | 1);
    uint32_t sub =
        log < SUB_SHIFT ? 0 : (uint32_t)(size >> (log - SUB_SHIFT)) & ((1u << SUB_SHIFT) - 1);
    return (log << SUB_SHIFT) + sub;
}

static void
list_add(heap *h, part *p)
{
    uint32_t l = list_of(p->size);
    p->free = true;
    p->prev = NULL;
    p->next = h->lists[l];
    if (p->next)
        p->next->prev = p;
    h->lists[l] = p;
    h->filled[l / 64] |= (uint64_t)1 << l % 64;
}

static void
list_remove(heap *h, part *p)
{
    uint32_t l = list_of(p->size);
    p->free = false;
    *(p->prev ? &p->prev->next : &h->lists[l]) = p->next;
    if (p->next)
        p->next->prev = p->prev;
    if (!h->lists[l])
        h->filled[l / 64] &= ~((uint64_t)1 << l % 64);
}

static part *
new_part(heap *h)
{
    part *p = h->spare;
    if (p)
        h->spare = p->next;
    else
        p = TNB_NEW(h->arena, part);
    *p = (part){0};
    return p;
}

/* The best of the first few of the own list, or any of the next list that has one: all of these are
 * large enough. */
static part *
find_free(heap *h, int64_t size)
{
    uint32_t l = list_of(size);
    part *best = NULL;
    int looked = 0;
    for (part *p = h->lists[l]; p && looked < LOOK_AT; p = p->next, looked++)
        if (p->size >= size && (!best || p->size < best->size))
            best = p;
    for (uint32_t w = ++l / 64; !best && w < LISTS / 64; w++) {
        uint64_t set = h->filled[w] & (w == l / 64 ? ~(uint64_t)0 << l % 64 : ~(uint64_t)0);
        if (set)
            best = h->lists[64 * w + (uint32_t)__builtin_ctzll(set)];
    }
    return best;
}

static void
insert_after(heap *h, part *p, part *at)
{
    p->before = at;
    p->after = at ? at->after : NULL;
    if (p->after)
        p->after->before = p;
    if (at)
        at->after = p;
    if (h->last == at)
        h->last = p;
}

static part *
take(heap *h, int64_t size)
{
    part *p = find_free(h, size);
    if (p) {
        list_remove(h, p);
        if (p->size > size) {
            part *rest = new_part(h);
            rest->offset = p->offset + size;
            rest->size = p->size - size;
            p->size = size;
            insert_after(h, rest, p);
            list_add(h, rest);
        }
        return p;
    }
    if (h->last && h->last->free) { /* what is free at the end grows */
        p = h->last;
        list_remove(h, p);
        p->size = size;
        return p;
    }
    p = new_part(h);
    p->offset = h->last ? h->last->offset + h->last->size : 0;
    p->size = size;
    insert_after(h, p, h->last);
    return p;
}

/* `b`, behind `a` in memory, becomes part of it. */
static void
join(heap *h, part *a, part *b)
{
    a->size += b->size;
    a->after = b->after;
    if (b->after)
        b->after->before = a;
    if (h->last == b)
        h->last = a;
    b->next = h->spare;
    h->spare = b;
}

static void
give_back(heap *h, part *p)
{
    part *before = p->before, *after = p->after;
    if (after && after->free) {
        list_remove(h, after);
        join(h, p, after);
    }
    if (before && before->free) {
        list_remove(h, before);
        join(h, before, p);
        p = before;
    }
    list_add(h, p);
}

static int
by_last(const void *a, const void *b)
{
    const memory_item *x = *(memory_item *const *)a, *y = *(memory_item *const *)b;
    return x->last != y->last ? (x->last < y->last ? -1 : 1) : x < y ? -1 : x > y;
}

int64_t
memory_sweep(tnb_arena *arena, memory_item *items, uint32_t n)
{
    heap *h = TNB_NEW(arena, heap);
    part **parts = TNB_NEW_N(arena, part *, n);
    memory_item **ending = TNB_NEW_N(arena, memory_item *, n);
    int64_t total = 0;
    h->arena = arena;
    for (uint32_t i = 0; i < n; i++)
        ending[i] = &items[i];
    if (n)
        qsort(ending, n, sizeof *ending, by_last);
    for (uint32_t i = 0, ended = 0; i < n; i++) {
        for (; ended < n && ending[ended]->last < items[i].first; ended++)
            if (parts[ending[ended] - items])
                give_back(h, parts[ending[ended] - items]);
        items[i].kept = 0;
        if (items[i].need <= 0)
            continue;
        parts[i] = take(h, items[i].need);
        items[i].kept = parts[i]->offset;
        total = parts[i]->offset + items[i].need > total ? parts[i]->offset + items[i].need : total;
    }
    return total;
}
