/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas, growing text, arrays and maps hold what was put into them. */
#include "tests/base/harness.h"
#include "tenon/base/mem.h"
#include <stdio.h>
#include <stdint.h>

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

static void
a_failed_arena_goes_on_until_it_is_checked(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    int *p = TNB_NEW_N(a, int, SIZE_MAX / 2);
    assert_non_null(p);
    assert_true(tnb_arena_failed(a));
    TNB_VEC(uint64_t) v = {0};
    for (uint64_t i = 0; i < 5000; i++)
        TNB_PUSH(a, v, i);
    assert_int_equal(v.n, 5000);
    tnb_strmap m;
    tnb_strmap_init(&m, a);
    for (int i = 0; i < 100; i++) {
        tnb_strmap_set(&m, tnb_printf(a, "%d", i), p);
        tnb_strmap_get(&m, "3");
    }
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
        cmocka_unit_test(a_failed_arena_goes_on_until_it_is_checked),
        cmocka_unit_test(a_vector_takes_memory_in_proportion),
        cmocka_unit_test(long_texts_are_kept_whole),
        cmocka_unit_test(maps_find_what_was_set),
        cmocka_unit_test(setting_and_removing_one_key_does_not_grow_a_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
