/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: a bump allocator over a list of blocks, freed as a whole.
 *
 * Code that allocates does not check, so an arena that gets no more from malloc must go on handing
 * out memory that is as good as any: zeroed, of the size asked for, and nobody else's. It comes from
 * emergency regions: address space mapped when it is needed (pages that the system grants when they
 * are touched), or else pieces of a pool that was set aside when the first arena was made. The
 * arena is marked as failed, and who runs the work ends it at the next check. When the pool is used
 * up as well, or does not hold a request, the process ends (tnb_on_no_memory): writing past the end
 * of something smaller, or handing out live memory again, would be worse.
 * In the stress build every allocation is a malloc of its own, so that the sanitizers see each
 * overrun and each use after a reset.
 */
#include "config.h"
#include "mem_private.h"
#include "tenon/base/mem.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Blocks grow with the arena, to an eighth of it, so that little of the last one is left unused, and up to LAST_BLOCK. Beyond
 * LARGE each is one huge page of the processor: a large arena costs few page faults. */
enum { FIRST_BLOCK = 16 << 10, LAST_BLOCK = 1 << 20, LARGE = 8 << 20, HUGE_PAGE = 2 << 20 };
/* Bytes that an arena keeps when it is reset. More would save no time: malloc keeps what it is given back. */
enum { KEPT = 64 << 10 };
/* Vectors in the stress build move at each of so many first elements. */
enum { STRESS_MOVES = 32 };
/* Emergency regions: of mapped address space (at most a request's size, since the system would
 * promise any), and pieces of the pool. */
enum { MAPPED_REGION = 64 << 20, LARGEST_REQUEST = 256 << 20 };
enum { PIECE = 64 << 10, MOST_PIECES = 1024, FEWEST_PIECES = 16 };

typedef struct block {
    struct block *next;
    size_t bytes; /* usable, behind this header */
} block;

typedef struct region {
    struct region *next;
    size_t bytes;             /* with this header */
    _Alignas(16) bool pooled; /* pieces of the pool; else mapped */
} region;

struct tnb_arena {
    char *at, *end;
    block *blocks; /* newest first */
    block *spare;  /* kept by a reset; none of them is in use */
    size_t used, next_bytes;
    bool failed;
    region *regions; /* newest first; memory is taken from the newest */
    char *region_at, *region_end;
    block **sorted; /* by address, as when `newest` was the newest; NULL: not made */
    block *newest;
    size_t n_sorted;
};

/* ---- where nothing is left ---- */

static _Atomic(tnb_no_memory_fn) end_of_memory;

tnb_no_memory_fn
tnb_on_no_memory(tnb_no_memory_fn end)
{
    return atomic_exchange(&end_of_memory, end);
}

static _Noreturn void
give_up(size_t bytes)
{
    tnb_no_memory_fn end = atomic_load(&end_of_memory);
    if (end)
        end(bytes);
    fputs("tenon: memory ran out\n", stderr);
    abort();
}

/* ---- emergency regions ---- */

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
    uint32_t n;
    bool taken[MOST_PIECES];
} pool = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

/* At most a quarter of what a limit lets the process have. */
static void
make_pool(void)
{
    static const int limits[] = {RLIMIT_AS, RLIMIT_DATA};
    uint32_t n = MOST_PIECES;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit r;
        if (getrlimit(limits[i], &r) == 0 && r.rlim_cur != RLIM_INFINITY)
            while (n > FEWEST_PIECES && (rlim_t)n * PIECE > r.rlim_cur / 4)
                n /= 2;
    }
    while (!(pool.memory = map((size_t)n * PIECE)) && n > FEWEST_PIECES)
        n /= 2;
    pool.n = n;
}

/* So many pieces beside each other; NULL: there are none. */
static char *
take_pieces(uint32_t want)
{
    char *p = NULL;
    pthread_mutex_lock(&pool.lock);
    for (uint32_t i = 0, run = 0; i < pool.n && !p; i++) {
        run = pool.taken[i] ? 0 : run + 1;
        if (run == want) {
            p = pool.memory + (size_t)(i + 1 - want) * PIECE;
            memset(pool.taken + (i + 1 - want), true, want);
        }
    }
    pthread_mutex_unlock(&pool.lock);
    return p;
}

static void
give_pieces(char *p, size_t bytes)
{
    madvise(p, bytes, MADV_DONTNEED); /* so that they are zeros again */
    pthread_mutex_lock(&pool.lock);
    memset(pool.taken + (size_t)(p - pool.memory) / PIECE, false, bytes / PIECE);
    pthread_mutex_unlock(&pool.lock);
}

/* A region with room for so many bytes; ends the process where there is none. */
static void
add_region(tnb_arena *a, size_t bytes)
{
    region *r = NULL;
    bool pooled = false;
    size_t size = MAPPED_REGION;
    if (bytes > LARGEST_REQUEST)
        give_up(bytes);
    if (size < bytes + sizeof *r)
        size = (bytes + sizeof *r + PIECE - 1) / PIECE * PIECE;
    r = map(size);
    if (!r) {
        size = (bytes + sizeof *r + PIECE - 1) / PIECE * PIECE;
        pooled = true;
        r = size / PIECE <= pool.n ? (region *)(void *)take_pieces((uint32_t)(size / PIECE)) : NULL;
    }
    if (!r)
        give_up(bytes);
    *r = (region){a->regions, size, pooled};
    a->regions = r;
    a->region_at = (char *)r + sizeof *r;
    a->region_end = (char *)r + size;
}

static void
forget_order(tnb_arena *a)
{
    free(a->sorted);
    a->sorted = NULL;
    a->newest = NULL;
    a->n_sorted = 0;
}

static void
give_regions(tnb_arena *a)
{
    for (region *r = a->regions, *next; r; r = next) {
        next = r->next;
        if (r->pooled)
            give_pieces((char *)r, r->bytes);
        else
            munmap(r, r->bytes);
    }
    a->regions = NULL;
    a->region_at = a->region_end = NULL;
}

/* ---- arenas ---- */

static char *
start_of(block *b)
{
    return (char *)b + sizeof *b;
}
_Static_assert(sizeof(block) % 16 == 0, "blocks keep the alignment of malloc");

static block *
link_block(tnb_arena *a, block *b)
{
    b->next = a->blocks;
    a->blocks = b;
    return b;
}

static block *
new_block(tnb_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX - sizeof(block))
        return NULL;
    block *b = malloc(sizeof *b + bytes);
    if (!b)
        return NULL;
    b->bytes = bytes;
    return link_block(a, b);
}

/* A block that many allocations share. */
static block *
shared_block(tnb_arena *a)
{
    block *b = a->used < LARGE ? NULL : aligned_alloc(HUGE_PAGE, HUGE_PAGE);
    if (!b) {
        while (a->next_bytes < LAST_BLOCK && a->next_bytes < a->used / 8)
            a->next_bytes *= 2;
        return new_block(a, a->next_bytes);
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(b, HUGE_PAGE, MADV_HUGEPAGE); /* where the system has none, small pages serve */
#endif
    b->bytes = HUGE_PAGE - sizeof *b;
    return link_block(a, b);
}

/* The first of a few spare blocks with room for several times as much; NULL: none has. */
static block *
spare_block(tnb_arena *a, size_t bytes)
{
    enum { MOST_TRIED = 16 };
    block **at = &a->spare, *b;
    for (int i = 0; i < MOST_TRIED && *at && bytes > (*at)->bytes / 4; i++)
        at = &(*at)->next;
    b = *at;
    if (!b || bytes > b->bytes / 4)
        return NULL;
    *at = b->next;
    return link_block(a, b);
}

static void
free_blocks(block *b)
{
    for (block *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

static _Atomic uint64_t memory_failures;

void
tnb_count_memory_failure(void)
{
    atomic_fetch_add(&memory_failures, 1);
}

uint64_t
tnb_memory_failures(void)
{
    return atomic_load(&memory_failures);
}

tnb_arena *
tnb_arena_new(void)
{
    pthread_once(&pool.once, make_pool);
    tnb_arena *a = pool.memory ? calloc(1, sizeof *a) : NULL;
    if (!a) {
        tnb_count_memory_failure(); /* who does without it leaves something out */
        return NULL;
    }
    a->next_bytes = FIRST_BLOCK;
    return a;
}

void
tnb_arena_free(tnb_arena *a)
{
    if (!a)
        return;
    free_blocks(a->blocks);
    free_blocks(a->spare);
    give_regions(a);
    forget_order(a);
    free(a);
}

void
tnb_arena_reset(tnb_arena *a)
{
#ifndef TENON_STRESS
    size_t kept = 0;
    for (const block *b = a->spare; b; b = b->next)
        kept += b->bytes;
    for (block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        if (b->bytes < FIRST_BLOCK || b->bytes > KEPT - kept) {
            free(b);
            continue;
        }
        kept += b->bytes;
        b->next = a->spare;
        a->spare = b;
    }
    a->blocks = NULL;
#endif
    free_blocks(a->blocks);
    a->blocks = NULL;
    a->at = a->end = NULL;
    give_regions(a);
    forget_order(a);
    a->used = 0;
    a->failed = false;
    a->next_bytes = FIRST_BLOCK;
}

/* Once malloc has refused: `bytes` is a multiple of 16, or too much for any memory. */
static void *
from_region(tnb_arena *a, size_t bytes)
{
    if (!a->failed)
        tnb_count_memory_failure();
    a->failed = true;
    if (!a->regions || (size_t)(a->region_end - a->region_at) < bytes)
        add_region(a, bytes);
    char *p = a->region_at;
    a->region_at += bytes;
    a->used += bytes;
    return p; /* pages of zeros */
}

static void *
alloc_slow(tnb_arena *a, size_t asked)
{
    size_t rounded = asked ? (asked + 15) & ~(size_t)15 : 16, bytes = rounded;
    if (a->failed)
        return from_region(a, rounded);
#ifdef TENON_STRESS
    bytes = asked;
#else
    block *shared = spare_block(a, bytes);
    if (shared || bytes <= a->next_bytes / 4) {
        block *b = shared ? shared : shared_block(a);
        if (!b)
            return from_region(a, rounded);
        a->at = start_of(b) + bytes;
        a->end = start_of(b) + b->bytes;
        a->used += bytes;
        return memset(start_of(b), 0, bytes);
    }
#endif
    /* A block of its own; the one in use stays in use. */
    block *b = new_block(a, bytes);
    if (!b)
        return from_region(a, rounded);
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
        return from_region(a, bytes);
    return alloc_slow(a, bytes);
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
mem_alloc_raw(tnb_arena *a, size_t n, size_t size)
{
    size_t bytes;
    void *p = __builtin_mul_overflow(n, size, &bytes) ? NULL : alloc_fast(a, bytes);
    return p ? p : tnb_alloc_n(a, n, size);
}

void *
tnb_try_alloc_n(tnb_arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX - 2 * sizeof(block))
        return NULL;
    if (a->failed)
        return NULL;
    void *p = alloc_fast(a, bytes);
    if (p)
        return memset(p, 0, bytes);
    block *b = new_block(a, bytes ? (bytes + 15) & ~(size_t)15 : 16);
    if (!b)
        return NULL;
    a->used += b->bytes;
    return memset(start_of(b), 0, b->bytes);
}

void *
tnb_dup(tnb_arena *a, const void *p, size_t bytes)
{
    void *q = bytes ? alloc_fast(a, bytes) : NULL;
    if (q)
        return memcpy(q, p, bytes);
    q = tnb_alloc(a, bytes);
    return bytes ? memcpy(q, p, bytes) : q;
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
    return n ? memcpy(q, s, n) : q;
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
    int n = tnb_vformat(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return tnb_alloc(a, 1);
    if ((size_t)n < sizeof text)
        return tnb_strndup(a, text, (size_t)n);
    char *s = tnb_alloc(a, (size_t)n + 1);
    va_start(ap, fmt);
    tnb_vformat(s, (size_t)n + 1, fmt, ap);
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

static bool
block_has(block *b, uintptr_t at)
{
    return at >= (uintptr_t)start_of(b) && at - (uintptr_t)start_of(b) < b->bytes;
}

static int
by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (block *const *)a, y = (uintptr_t) * (block *const *)b;
    return x < y ? -1 : x > y;
}

/* Compaction asks of each node whether it lies in an arena that does not grow any more: its blocks
 * are put in order once. False: there are few, or no memory. */
static bool
put_in_order(const tnb_arena *asked)
{
    enum { FEW = 8 };
    tnb_arena *a = (tnb_arena *)(uintptr_t)asked; /* a cache: what it is asked about stays */
    size_t n = 0;
    if (a->sorted && a->newest == a->blocks)
        return true;
    forget_order(a);
    for (block *b = a->blocks; b; b = b->next)
        n++;
    if (n <= FEW || !(a->sorted = malloc(n * sizeof(block *))))
        return false;
    for (block *b = a->blocks; b; b = b->next)
        a->sorted[a->n_sorted++] = b;
    qsort(a->sorted, n, sizeof(block *), by_address);
    a->newest = a->blocks;
    return true;
}

bool
tnb_arena_has(const tnb_arena *a, const void *p)
{
    uintptr_t at = (uintptr_t)p;
    if (put_in_order(a)) {
        size_t lo = 0, hi = a->n_sorted;
        while (lo < hi) { /* the first block behind the place */
            size_t mid = lo + (hi - lo) / 2;
            if ((uintptr_t)a->sorted[mid] <= at)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo && block_has(a->sorted[lo - 1], at))
            return true;
    } else {
        for (block *b = a->blocks; b; b = b->next)
            if (block_has(b, at))
                return true;
    }
    for (region *r = a->regions; r; r = r->next)
        if (at > (uintptr_t)r && at - (uintptr_t)r < r->bytes)
            return true;
    return false;
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
    if (n)
        memcpy(p, old, bytes);
    *cap = want;
    return p;
}
