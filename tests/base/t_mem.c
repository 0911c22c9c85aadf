/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas, growing text, arrays and maps hold what was put into them. */
#include "tests/base/harness.h"
#include "tenon/base/mem.h"
#include <stdio.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined TENON_STRESS
#if __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#define COUNTS_MEMORY 1
#endif
#endif

static void
arena_memory_is_zero_and_aligned(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    for (int round = 0; round < 3; round++) {
        for (size_t n = 0; n < 3000; n += 7) {
            unsigned char *p = tnb_alloc(a, n);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xAB, n);
        }
        assert_true(tnb_arena_used(a) >= 600000);
        tnb_arena_reset(a);
        assert_int_equal(tnb_arena_used(a), 0);
    }
    char *big = tnb_alloc(a, 5 << 20);
    big[(5 << 20) - 1] = 1;
    char *small = tnb_strdup(a, "after");
    assert_string_equal(small, "after");
    assert_false(tnb_arena_failed(a));
    tnb_arena_free(a);
    tnb_arena_free(NULL);
}

#ifdef COUNTS_MEMORY
static size_t
taken(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* Compiling is judged by its memory: an arena takes little more than it hands out, and gives nearly all of it back. */
static void
an_arena_takes_memory_in_proportion(void **state)
{
    (void)state;
    size_t before = taken();
    tnb_arena *a = tnb_arena_new();
    for (int round = 0; round < 2; round++) {
        while (tnb_arena_used(a) < 3 << 20)
            tnb_alloc(a, 96);
        assert_true(taken() - before < tnb_arena_used(a) + tnb_arena_used(a) / 4);
        tnb_arena_reset(a);
        assert_true(taken() - before < 128 << 10);
    }
    tnb_arena_free(a);
}
#endif

#ifndef __SANITIZE_ADDRESS__
/* What the child of the tests below says by its exit status. */
enum { SPOILT = 3, NOT_MARKED = 4, ENDED = 5 };
static tnb_arena *limited;
struct chain {
    struct chain *before;
    uint64_t number, pad[2];
};
static struct chain *made;

/* All that was handed out, also as emergency memory, still holds what was written there. */
static void
look_at_all(size_t bytes)
{
    (void)bytes;
    uint64_t n = made->number;
    for (struct chain *c = made; c; c = c->before, n--)
        if (c->number != n || c->pad[0] != ~n || c->pad[1] != 0)
            _exit(SPOILT);
    _exit(tnb_arena_failed(limited) ? ENDED : NOT_MARKED);
}

/* In a child with so little more memory than it has: allocates pieces of `bytes` until none is left. */
static int
run_out(size_t more, size_t bytes)
{
    pid_t child = fork();
    if (child == 0) {
        unsigned long pages = 0;
        FILE *f = fopen("/proc/self/statm", "r");
        if (!f || fscanf(f, "%lu", &pages) != 1)
            _exit(ENDED);
        fclose(f);
        struct rlimit r = {0, 0};
        r.rlim_cur = r.rlim_max = pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
        setrlimit(RLIMIT_AS, &r);
        tnb_on_no_memory(look_at_all);
        limited = tnb_arena_new();
        if (!limited)
            _exit(ENDED);
        for (uint64_t n = 1;; n++) {
            struct chain *c = tnb_alloc(limited, bytes);
            if (c->number || c->pad[0] || ((const char *)c)[bytes - 1])
                _exit(SPOILT);
            *c = (struct chain){made, n, {~n, 0}};
            made = c;
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void
memory_of_a_failed_arena_is_handed_out_once(void **state)
{
    (void)state;
    for (size_t more = 2 << 20; more <= (size_t)128 << 20; more *= 4)
        for (size_t bytes = sizeof(struct chain); bytes < 1 << 20; bytes = bytes * 11 + 13)
            assert_int_equal(run_out(more, bytes), ENDED);
}
#endif

static jmp_buf back;

static void
come_back(size_t bytes)
{
    assert_true(bytes > (size_t)1 << 40);
    longjmp(back, 1);
}

static void
a_request_beyond_all_memory_is_never_served_by_less(void **state)
{
    (void)state;
    tnb_arena *volatile a = tnb_arena_new();
    assert_null(tnb_try_alloc_n(a, SIZE_MAX / 2, 4));
    assert_null(tnb_try_alloc_n(a, (size_t)1 << 60, 1));
    assert_false(tnb_arena_failed(a));
    char *p = tnb_try_alloc_n(a, 1000, 3);
    p[2999] = 1;
    tnb_no_memory_fn before = tnb_on_no_memory(come_back);
    for (volatile int i = 0; i < 2; i++)
        if (setjmp(back) == 0) {
            tnb_alloc_n(a, i ? (size_t)1 << 60 : SIZE_MAX / 2, i ? 1 : 4);
            fail();
        }
    tnb_on_no_memory(before);
    assert_true(tnb_arena_failed(a));
    TNB_VEC(uint64_t) v = {0};
    for (uint64_t i = 0; i < 5000; i++)
        TNB_PUSH(a, v, i);
    for (uint64_t i = 0; i < 5000; i++)
        assert_int_equal(v.at[i], i);
    tnb_strmap m;
    tnb_strmap_init(&m, a);
    for (int i = 0; i < 100; i++)
        tnb_strmap_set(&m, tnb_printf(a, "%d", i), &v.at[i]);
    for (int i = 0; i < 100; i++)
        assert_ptr_equal(tnb_strmap_get(&m, tnb_printf(a, "%d", i)), &v.at[i]);
    assert_true(tnb_arena_has(a, v.at));
    tnb_arena_reset(a);
    assert_false(tnb_arena_failed(a));
    assert_string_equal(tnb_printf(a, "%s-%d", "x", 3), "x-3");
    tnb_arena_free(a);
}

static void
long_texts_are_kept_whole(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    tnb_buf b = {0};
    for (int i = 0; i < 1000; i++)
        tnb_buf_printf(&b, "%d,", i);
    tnb_buf_putc(&b, '.');
    tnb_buf_puts(&b, "");
    assert_int_equal(b.n, strlen(b.s));
    assert_int_equal(b.n, 10 * 2 + 90 * 3 + 900 * 4 + 1);
    char *copy = tnb_printf(a, "<%s>", b.s);
    assert_int_equal(strlen(copy), b.n + 2);
    assert_memory_equal(copy + 1, b.s, b.n);
    tnb_buf_free(&b);
    assert_null(b.s);
    tnb_arena_free(a);
}

static void
maps_find_what_was_set(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    static int things[4000];
    tnb_ptrmap m;
    tnb_ptrmap_init(&m, a);
    for (int n = 0; n < 4000; n++) {
        tnb_ptrmap_set(&m, &things[n], &things[3999 - n]);
        if (n % 3 == 0)
            tnb_ptrmap_remove(&m, &things[n / 2]);
    }
    for (int n = 0; n < 4000; n++) {
        bool removed = n < 2000 && (2 * n % 3 == 0 || (2 * n + 1) % 3 == 0);
        assert_int_equal(tnb_ptrmap_has(&m, &things[n]), !removed);
        assert_ptr_equal(tnb_ptrmap_get(&m, &things[n]), removed ? NULL : &things[3999 - n]);
    }
    assert_null(tnb_ptrmap_get(&m, NULL));
    tnb_strmap s;
    tnb_strmap_init(&s, a);
    char key[32];
    for (int n = 0; n < 3000; n++) {
        snprintf(key, sizeof key, "key%d", n);
        tnb_strmap_set(&s, key, &things[n]);
        tnb_strmap_set(&s, key, &things[n + 1]);
        assert_int_equal(s.n, n + 1);
    }
    for (int n = 0; n < 3000; n++) {
        snprintf(key, sizeof key, "key%d", n);
        assert_string_equal(s.at[n].key, key);
        assert_ptr_equal(tnb_strmap_get(&s, key), &things[n + 1]);
    }
    tnb_strmap_remove(&s, "key17");
    assert_false(tnb_strmap_has(&s, "key17"));
    assert_true(tnb_strmap_has(&s, "key18"));
    assert_false(tnb_strmap_has(&s, ""));
    tnb_arena_free(a);
}

static void
setting_and_removing_one_key_does_not_grow_a_map(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    tnb_strmap s;
    tnb_strmap_init(&s, a);
    for (int i = 0; i < 100000; i++) {
        tnb_strmap_set(&s, i & 1 ? "odd" : "even", a);
        tnb_strmap_remove(&s, i & 1 ? "odd" : "even");
    }
    assert_true(s.cap <= 16);
    tnb_arena_free(a);
}

/* In every build: in the stress build, where small vectors move at each element, too. */
static void
a_vector_takes_memory_in_proportion(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    TNB_VEC(uint64_t) v = {0};
    for (uint32_t i = 0; i < 20000; i++)
        TNB_PUSH(a, v, i);
    for (uint32_t i = 0; i < v.n; i++)
        assert_true(v.at[i] == i);
    assert_true(tnb_arena_used(a) < 8 * v.n * sizeof *v.at);
    tnb_arena_free(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_memory_is_zero_and_aligned),
#ifdef COUNTS_MEMORY
        cmocka_unit_test(an_arena_takes_memory_in_proportion),
#endif
        cmocka_unit_test(a_request_beyond_all_memory_is_never_served_by_less),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(memory_of_a_failed_arena_is_handed_out_once),
#endif
        cmocka_unit_test(a_vector_takes_memory_in_proportion),
        cmocka_unit_test(long_texts_are_kept_whole),
        cmocka_unit_test(maps_find_what_was_set),
        cmocka_unit_test(setting_and_removing_one_key_does_not_grow_a_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
