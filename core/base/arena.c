/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: a bump allocator over a list of blocks, freed as a whole.
 *
 * An arena without memory goes on from a reserve of address space (pages that the system grants
 * when they are touched), so that code which checks later does not write through NULL. Where the
 * system grants no more address space either, the reserve is a part of a pool that was set aside
 * when the first arena was made; and when all of that is taken, a small region in the arena itself.
 * In the stress build every allocation is a malloc of its own, so that the sanitizers see each
 * overrun and each use after a reset.
 */
#include "config.h"
#include "tenon/base/mem.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { FIRST_BLOCK = 16 << 10, LAST_BLOCK = 1 << 20, INLINE_RESERVE = 8 << 10 };
#define MAPPED_RESERVE ((size_t)256 << 20)
/* Vectors in the stress build move at each of so many first elements. */
enum { STRESS_MOVES = 32 };
enum { POOL_PARTS = 4, POOL_PART = 16 << 20 };

typedef struct block {
    struct block *next;
    size_t bytes; /* usable, behind this header */
} block;

struct tnb_arena {
    char *at, *end;
    block *blocks; /* newest first; `first` is the last of the list */
    block *first;
    size_t used, next_bytes;
    bool failed;
    char *reserve; /* NULL until the first failure */
    size_t reserve_at, reserve_bytes;
    _Alignas(16) char last_resort[INLINE_RESERVE];
};

/* ---- reserves ---- */

static void *
map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static struct pool {
    pthread_once_t once;
    pthread_mutex_t lock;
    char *memory; /* NULL: there was none */
    bool taken[POOL_PARTS];
} pool = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void
make_pool(void)
{
    pool.memory = map((size_t)POOL_PARTS * POOL_PART);
}

static char *
take_part(void)
{
    char *p = NULL;
    pthread_mutex_lock(&pool.lock);
    for (size_t i = 0; i < POOL_PARTS && pool.memory && !p; i++)
        if (!pool.taken[i]) {
            pool.taken[i] = true;
            p = pool.memory + i * POOL_PART;
        }
    pthread_mutex_unlock(&pool.lock);
    return p;
}

static void
give_part(char *p)
{
    madvise(p, POOL_PART, MADV_DONTNEED);
    pthread_mutex_lock(&pool.lock);
    pool.taken[(size_t)(p - pool.memory) / POOL_PART] = false;
    pthread_mutex_unlock(&pool.lock);
}

static void
take_reserve(tnb_arena *a)
{
    a->reserve_at = 0;
    a->reserve_bytes = MAPPED_RESERVE;
    a->reserve = map(MAPPED_RESERVE);
    if (a->reserve)
        return;
    a->reserve_bytes = POOL_PART;
    a->reserve = take_part();
}

static void
give_reserve(tnb_arena *a)
{
    if (a->reserve && a->reserve_bytes == POOL_PART)
        give_part(a->reserve);
    else if (a->reserve)
        munmap(a->reserve, MAPPED_RESERVE);
    a->reserve = NULL;
}

/* ---- arenas ---- */

static char *
start_of(block *b)
{
    return (char *)b + sizeof *b;
}
_Static_assert(sizeof(block) % 16 == 0, "blocks keep the alignment of malloc");

static block *
new_block(tnb_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX - sizeof(block))
        return NULL;
    block *b = malloc(sizeof *b + bytes);
    if (!b)
        return NULL;
    b->bytes = bytes;
    b->next = a->blocks;
    a->blocks = b;
    if (!a->first)
        a->first = b;
    return b;
}

tnb_arena *
tnb_arena_new(void)
{
    pthread_once(&pool.once, make_pool);
    tnb_arena *a = malloc(sizeof *a);
    if (!a)
        return NULL;
    memset(a, 0, offsetof(tnb_arena, last_resort));
    a->next_bytes = FIRST_BLOCK;
    return a;
}

void
tnb_arena_free(tnb_arena *a)
{
    if (!a)
        return;
    for (block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    give_reserve(a);
    free(a);
}

void
tnb_arena_reset(tnb_arena *a)
{
    for (block *b = a->blocks, *next; b; b = next) {
        next = b->next;
#ifdef TENON_STRESS
        free(b);
#else
        if (b != a->first)
            free(b);
#endif
    }
#ifdef TENON_STRESS
    a->first = NULL;
#endif
    a->blocks = a->first;
    a->at = a->end = NULL;
    if (a->first) {
        a->first->next = NULL;
        a->at = start_of(a->first);
        a->end = a->at + a->first->bytes;
    }
    give_reserve(a);
    a->used = a->reserve_at = 0;
    a->failed = false;
    a->next_bytes = FIRST_BLOCK;
}

static void *
from_reserve(tnb_arena *a, size_t bytes)
{
    if (!a->failed) {
        a->failed = true;
        take_reserve(a);
    }
    char *from = a->reserve ? a->reserve : a->last_resort;
    size_t room = a->reserve ? a->reserve_bytes : sizeof a->last_resort;
    bytes = bytes > room ? room : (bytes + 15) & ~(size_t)15;
    if (bytes > room - a->reserve_at)
        a->reserve_at = 0;
    char *p = from + a->reserve_at;
    a->reserve_at += bytes;
    return memset(p, 0, bytes);
}

static void *
alloc_slow(tnb_arena *a, size_t bytes)
{
    if (a->failed)
        return from_reserve(a, bytes);
#ifndef TENON_STRESS
    if (bytes <= a->next_bytes / 4) {
        block *b = new_block(a, a->next_bytes);
        if (!b)
            return from_reserve(a, bytes);
        if (a->next_bytes < LAST_BLOCK)
            a->next_bytes *= 2;
        a->at = start_of(b) + bytes;
        a->end = start_of(b) + b->bytes;
        a->used += bytes;
        return memset(start_of(b), 0, bytes);
    }
#endif
    /* A block of its own; the one in use stays in use. */
    block *b = new_block(a, bytes);
    if (!b)
        return from_reserve(a, bytes);
    if (b == a->first)
        a->at = a->end = start_of(b) + bytes;
    a->used += bytes;
    return memset(start_of(b), 0, bytes);
}

/* What the block in use has room for, as it lies there; NULL: it has not. */
static inline void *
alloc_fast(tnb_arena *a, size_t bytes)
{
#ifndef TENON_STRESS
    if (__builtin_expect(bytes <= SIZE_MAX - 15, 1)) {
        bytes = (bytes + 15) & ~(size_t)15;
        if (__builtin_expect((size_t)(a->end - a->at) >= bytes && a->at && !a->failed, 1)) {
            void *p = a->at;
            a->at += bytes;
            a->used += bytes;
            return p;
        }
    }
#endif
    return NULL;
}

void *
tnb_alloc(tnb_arena *a, size_t bytes)
{
    void *p = alloc_fast(a, bytes);
    if (p)
        return memset(p, 0, bytes);
    if (bytes > SIZE_MAX - 15)
        return from_reserve(a, bytes);
#ifdef TENON_STRESS
    return alloc_slow(a, bytes);
#else
    return alloc_slow(a, bytes ? (bytes + 15) & ~(size_t)15 : 16);
#endif
}

void *
tnb_alloc_n(tnb_arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX;
    return tnb_alloc(a, bytes);
}

void *
tnb_dup(tnb_arena *a, const void *p, size_t bytes)
{
    void *q = bytes ? alloc_fast(a, bytes) : NULL;
    if (q)
        return memcpy(q, p, bytes);
    q = tnb_alloc(a, bytes);
    if (bytes && (!a->failed || bytes <= INLINE_RESERVE))
        memcpy(q, p, bytes);
    return q;
}

char *
tnb_strndup(tnb_arena *a, const char *s, size_t n)
{
    char *q = n < SIZE_MAX ? alloc_fast(a, n + 1) : NULL;
    if (q) {
        if (n)
            memcpy(q, s, n);
        q[n] = 0;
        return q;
    }
    q = tnb_alloc(a, n < SIZE_MAX ? n + 1 : n);
    if (n && (!a->failed || n < INLINE_RESERVE))
        memcpy(q, s, n);
    return q;
}

char *
tnb_strdup(tnb_arena *a, const char *s)
{
    return tnb_strndup(a, s, strlen(s));
}

char *
tnb_printf(tnb_arena *a, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return tnb_alloc(a, 1);
    if ((size_t)n < sizeof text)
        return tnb_strndup(a, text, (size_t)n);
    char *s = tnb_alloc(a, (size_t)n + 1);
    size_t room = a->failed && (size_t)n >= INLINE_RESERVE ? INLINE_RESERVE : (size_t)n + 1;
    va_start(ap, fmt);
    vsnprintf(s, room, fmt, ap);
    va_end(ap);
    return s;
}

size_t
tnb_arena_used(const tnb_arena *a)
{
    return a->used;
}

bool
tnb_arena_failed(const tnb_arena *a)
{
    return a->failed;
}

bool
tnb_arena_has(const tnb_arena *a, const void *p)
{
    uintptr_t at = (uintptr_t)p;
    for (block *b = a->blocks; b; b = b->next)
        if (at >= (uintptr_t)start_of(b) && at - (uintptr_t)start_of(b) < b->bytes)
            return true;
    return at >= (uintptr_t)a && at - (uintptr_t)a < sizeof *a;
}

void *
tnb_vec_grow(tnb_arena *a, void *old, uint32_t n, uint32_t *cap, size_t item)
{
    uint32_t want = *cap < 8 ? 8 : *cap > UINT32_MAX / 2 ? UINT32_MAX : *cap * 2;
#ifdef TENON_STRESS
    if (n < STRESS_MOVES)
        want = n + 1;
#endif
    void *p = tnb_alloc_n(a, want, item);
    size_t bytes = (size_t)n * item;
    if (n && (!a->failed || bytes <= INLINE_RESERVE))
        memcpy(p, old, bytes);
    *cap = want;
    return p;
}
