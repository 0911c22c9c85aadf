/* SPDX-License-Identifier: Apache-2.0 */
/* T.dp4a: compiled for each level of x86-64 that this processor has, it gives what the interpreter gives; bytes of both signs, in
 * numbers of 32 bits and as lanes of 8 bits, at the ends of their ranges too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "krun.h"
#include "tenon/core/build.h"
#include "tenon/core/text.h"

static const char head[] =
    "@I.ir_module\n"
    "class M:\n"
    "    @T.prim_func\n"
    "    def f(A: T.Buffer((256,), 'uint8'), B: T.Buffer((256,), 'int8'), C: T.Buffer((%d, 64), "
    "'int32')):\n";

/* A part of the program, lanes %2$d: x and y of the dtypes %3$s and %4$s begin with %7$s and %8$s. */
static const char numbers[] =
    "        X%1$d = T.alloc_buffer((64,), '%3$s')\n"
    "        Y%1$d = T.alloc_buffer((64,), '%4$s')\n"
    "        for i in range(64):\n"
    "            X%1$d[i] = T.Select(i < 16, T.%3$s(%7$s), T.Cast('%3$s', i) * "
    "T.%3$s(1540483477))\n"
    "            Y%1$d[i] = T.Select(i %% 16 < 8, T.%4$s(%8$s), T.Cast('%4$s', i) * "
    "T.%4$s(1640531527))\n"
    "        for i in range(64 // %2$d):\n"
    "            for v in T.vectorized(%2$d):\n"
    "                C[%1$d, i * %2$d + v] = T.Cast('int32', T.dp4a(X%1$d[i * %2$d + v]%5$s, "
    "Y%1$d[i * %2$d + v], "
    "T.Cast('%6$s', i)))\n";

/* Of single bytes. */
static const char lanes[] = "        for i in range(64 // %2$d):\n"
                            "            C[%1$d, T.Ramp(i * %2$d, 1, %2$d)] = T.dp4a(A[T.Ramp(i * "
                            "%3$d, 1, %3$d)], B[T.Ramp(i * "
                            "%3$d, 1, %3$d)], T.Broadcast(7, %2$d))\n";

static void
compare(krun *k, const char *text)
{
    const tn_module *m = tn_read_module(k->ctx, "test", text, strlen(text));
    tn_list args;
    if (!m)
        krun_print_errors(k);
    assert_non_null(m);
    const tn_node *f = tn_module_get(m, "f");
    assert_true(tn_random_args(k->ctx, f, 3, NULL, &args));
    tn_list wanted = krun_copy(k, args);
    assert_true(krun_interpret(k, f, wanted));
    if (!krun_run(k, f, args) || !krun_close_to(k, args, wanted, 0, 0)) {
        krun_print_errors(k);
        fail_msg("%s", text);
    }
}

static void
at_level(const char *mcpu)
{
    static const struct {
        const char *x, *y, *mask, *sum, *first_x, *first_y;
    } rows[] = {
        {"uint32", "int32", "", "int32", "4294967295", "-2139062144"},
        {"uint32", "int32", " & T.uint32(2139062143)", "int32", "4294967295", "-2139062144"},
        {"uint32", "uint32", "", "uint32", "4294967295", "4294967295"},
        {"int32", "int32", "", "int32", "-2139062144", "-2139062144"},
        {"int32", "uint32", "", "int32", "-2139062144", "4294967295"},
    };
    krun k = {0};
    tnb_buf parts = {0}, text = {0};
    int n_parts = 0;
    for (int n = 1; n <= 16; n *= n == 1 ? 4 : 2) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            tnb_buf_printf(&parts, numbers, n_parts++, n, rows[i].x, rows[i].y, rows[i].mask,
                           rows[i].sum, rows[i].first_x, rows[i].first_y);
        if (n > 1)
            tnb_buf_printf(&parts, lanes, n_parts++, n, 4 * n);
    }
    setenv("TENON_TEST_MCPU", mcpu, 1);
    assert_true(krun_open(&k));
    tnb_buf_printf(&text, head, n_parts);
    tnb_buf_puts(&text, parts.s);
    compare(&k, text.s);
    tnb_buf_free(&parts);
    tnb_buf_free(&text);
    krun_close(&k);
}

static void
every_level_gives_what_the_interpreter_gives(void **state)
{
    (void)state;
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "native"};
#if defined(__x86_64__)
    const int has[] = {1, __builtin_cpu_supports("ssse3"), __builtin_cpu_supports("avx2"),
                       __builtin_cpu_supports("avx512bw"), 1};
#else
    const int has[] = {0, 0, 0, 0, 1};
#endif
    for (int i = 0; i < 5; i++)
        if (has[i])
            at_level(levels[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_gives_what_the_interpreter_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
