/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: arenas, growing text, growing arrays, hash maps, checked arithmetic.
 *
 * Compiler code allocates from arenas and never checks for NULL: an arena that cannot grow sets its
 * `failed` flag and goes on with emergency memory, which is as good as any, so that code runs on to
 * the next check (tnb_arena_failed) and the work is then reported as TNB_NO_MEMORY. Only when that
 * is used up too, or a single request is larger than all memory, the process ends: see
 * tnb_on_no_memory. What is allocated by a number from outside is therefore bounded first, or asked
 * for with tnb_try_alloc_n. Runtime code uses malloc and checks.
 */
#ifndef TENON_BASE_MEM_H
#define TENON_BASE_MEM_H

#include <stdbool.h>
#include <string.h>
#include "tenon/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arena ---- */
typedef struct tnb_arena tnb_arena;

TNB_EXPORT tnb_arena *
tnb_arena_new(void); /* NULL without memory */
TNB_EXPORT void
tnb_arena_free(tnb_arena *a); /* NULL is fine */
/* Forgets everything allocated, keeps the first block. */
TNB_EXPORT void
tnb_arena_reset(tnb_arena *a);
/* Zeroed, aligned to 16. Never NULL; see above. Size 0 gives a valid pointer. */
TNB_EXPORT void *
tnb_alloc(tnb_arena *a, size_t bytes);
TNB_EXPORT void *
tnb_dup(tnb_arena *a, const void *p, size_t bytes);
TNB_EXPORT char *
tnb_strdup(tnb_arena *a, const char *s);
TNB_EXPORT char *
tnb_strndup(tnb_arena *a, const char *s, size_t n);
TNB_EXPORT char *
tnb_printf(tnb_arena *a, const char *fmt, ...) TNB_PRINTF(2, 3);
TNB_EXPORT size_t
tnb_arena_used(const tnb_arena *a);
TNB_EXPORT bool
tnb_arena_failed(const tnb_arena *a);
/* How many arenas and growing texts of this process could not grow so far. Who allocates goes on, and
 * an arena forgets it when it is reset, so what was made while the number grew may lack parts: it is
 * given up (TNB_NO_MEMORY), neither written nor kept. */
TNB_EXPORT uint64_t
tnb_memory_failures(void);
/* Whether p points into memory that the arena handed out. Takes time in the number of blocks. */
TNB_EXPORT bool
tnb_arena_has(const tnb_arena *a, const void *p);
#define TNB_NEW(arena, T) ((T *)tnb_alloc((arena), sizeof(T)))
#define TNB_NEW_N(arena, T, n) ((T *)tnb_alloc_n((arena), (n), sizeof(T)))
/* As tnb_alloc(a, n * size), with the product checked (overflow counts as lack of memory). */
TNB_EXPORT void *
tnb_alloc_n(tnb_arena *a, size_t n, size_t size);
/* As tnb_alloc_n, but NULL where there is no such memory or the product overflows; the arena is not
 * marked as failed then. */
TNB_EXPORT void *
tnb_try_alloc_n(tnb_arena *a, size_t n, size_t size);

/* What to do when there is no memory left to hand out, not even for an emergency: `end` gets the
 * size of the request, may be called by any thread, and does not return (a program writes a message
 * and exits; a process with other work may end the thread that it started for this). Without one,
 * or when it returns, a line goes to standard error and the process is aborted. This is the one
 * place where a library ends the process: code between two checks holds pointers that it writes
 * through, and nothing is left that they could point to. Who cannot have that compiles in a process
 * of its own (docs/safety.md). Returns what was set before. */
typedef void (*tnb_no_memory_fn)(size_t bytes);
TNB_EXPORT tnb_no_memory_fn
tnb_on_no_memory(tnb_no_memory_fn end);

/* ---- growing text (malloc) ---- */
/* `s` is terminated once anything was appended; NULL before. Zero-initialise, free with
 * tnb_buf_free. After a failed allocation `failed` is set and appends do nothing. */
typedef struct tnb_buf {
    char *s;
    size_t n, cap;
    bool failed;
} tnb_buf;
TNB_EXPORT void
tnb_buf_put(tnb_buf *b, const void *p, size_t n);
TNB_EXPORT void
tnb_buf_puts(tnb_buf *b, const char *s);
TNB_EXPORT void
tnb_buf_putc(tnb_buf *b, char c);
TNB_EXPORT void
tnb_buf_printf(tnb_buf *b, const char *fmt, ...) TNB_PRINTF(2, 3);
TNB_EXPORT void
tnb_buf_free(tnb_buf *b);
/* vsnprintf, and what the functions above that take a format write with: faster where a format has plain %s, %c, %d, %u,
 * %ld, %lld, %zu and their like only. `out` may be NULL where `room` is 0. */
TNB_EXPORT int
tnb_vformat(char *out, size_t room, const char *fmt, va_list ap) TNB_PRINTF(3, 0);

/* ---- growing arrays in an arena ---- */
/* TNB_VEC(T) name; zero-initialised. Growth copies: old storage stays until the arena is reset. */
#define TNB_VEC(T)       \
    struct {             \
        T *at;           \
        uint32_t n, cap; \
    }
#define TNB_PUSH(arena, vec, item)                                                             \
    do {                                                                                       \
        if ((vec).n == (vec).cap)                                                              \
            (vec).at = tnb_vec_grow((arena), (vec).at, (vec).n, &(vec).cap, sizeof *(vec).at); \
        (vec).at[(vec).n++] = (item);                                                          \
    } while (0)
TNB_EXPORT void *
tnb_vec_grow(tnb_arena *a, void *old, uint32_t n, uint32_t *cap, size_t item);

/* ---- hash maps (open addressing, in an arena; never shrink) ---- */
/* Keys are pointers compared by identity. Values are given back without const, as strchr does. A
 * missing key reads as NULL. Iteration order is insertion order: entries [0, n). A removed entry
 * has key NULL and is to be skipped. */
typedef struct tnb_ptrmap {
    tnb_arena *arena;
    struct tnb_ptrmap_entry {
        const void *key;
        void *value;
    } * at;
    uint32_t *slots;
    uint32_t n, cap, n_slots;
} tnb_ptrmap;
TNB_EXPORT void
tnb_ptrmap_init(tnb_ptrmap *m, tnb_arena *a);
TNB_EXPORT void *
tnb_ptrmap_get(const tnb_ptrmap *m, const void *key);
TNB_EXPORT bool
tnb_ptrmap_has(const tnb_ptrmap *m, const void *key);
TNB_EXPORT void
tnb_ptrmap_set(tnb_ptrmap *m, const void *key, const void *value);
TNB_EXPORT void
tnb_ptrmap_remove(tnb_ptrmap *m, const void *key);

/* The same with text keys, compared by bytes and copied into the arena. */
typedef struct tnb_strmap {
    tnb_arena *arena;
    struct tnb_strmap_entry {
        const char *key;
        void *value;
        uint64_t hash;
    } * at;
    uint32_t *slots;
    uint32_t n, cap, n_slots;
} tnb_strmap;
TNB_EXPORT void
tnb_strmap_init(tnb_strmap *m, tnb_arena *a);
TNB_EXPORT void *
tnb_strmap_get(const tnb_strmap *m, const char *key);
TNB_EXPORT bool
tnb_strmap_has(const tnb_strmap *m, const char *key);
TNB_EXPORT void
tnb_strmap_set(tnb_strmap *m, const char *key, const void *value);
TNB_EXPORT void
tnb_strmap_remove(tnb_strmap *m, const char *key);

/* ---- checked arithmetic: false on overflow, `*out` then undefined ---- */
static inline bool
tnb_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool
tnb_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool
tnb_add_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool
tnb_sub_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}
static inline bool
tnb_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
/* How many pieces of `size` cover n: n 0 or more, size 1 or more. Never overflows. */
static inline int64_t
tnb_ceildiv(int64_t n, int64_t size)
{
    return n / size + (n % size != 0);
}

#ifdef __cplusplus
}
#endif
#endif
