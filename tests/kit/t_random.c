/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs: what the rules make of them computes what the unscheduled program computes. The
 * seed is printed; TENON_SEED sets it, TENON_ROUNDS the number of programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "krun.h"
#include "programs.h"

static krun k;
static uint64_t rng;

static int64_t
between(int64_t lo, int64_t hi)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return lo + (int64_t)(rng % (uint64_t)(hi - lo + 1));
}

static int
open_all(void **state)
{
    (void)state;
    const char *seed = getenv("TENON_SEED");
    rng = seed ? strtoull(seed, NULL, 10) : 20240229;
    printf("seed %llu\n", (unsigned long long)rng);
    rng = rng * 0x9E3779B97F4A7C15u + 1;
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

static int
rounds(int usual)
{
    const char *r = getenv("TENON_ROUNDS");
    return r ? atoi(r) : usual;
}

static void
check(const tn_node *f, bool half, const char *what)
{
    assert_non_null(f);
    const tn_node *s = krun_schedule(&k, f, "Recurrent,Conv2d,Matmul,Pool,GEMV,Fallback");
    if (!s)
        krun_print_errors(&k);
    if (!s || !krun_same(&k, f, s, NULL, half ? 5e-2 : 2e-4, half ? 3e-2 : 2e-5))
        fail_msg("%s", what);
}

static void
convolutions(void **state)
{
    (void)state;
    for (int i = 0; i < rounds(12); i++) {
        conv_shape c = {.n = between(1, 2), .groups = 1};
        c.kh = between(1, 4);
        c.kw = between(1, 4);
        c.stride = between(1, 5);
        c.pad = between(0, 2);
        c.h = between(c.kh, 20);
        c.w = between(c.kw, 34);
        c.ic = between(1, 9);
        c.oc = between(1, 19);
        if (between(0, 2) == 0) {
            c.groups = between(1, 4);
            c.ic = c.groups * between(1, 3);
            c.oc = c.groups * between(1, 5);
        }
        bool half = between(0, 5) == 0;
        char what[160];
        snprintf(what, sizeof what,
                 "conv n=%d ic=%d h=%d w=%d oc=%d kh=%d kw=%d stride=%d pad=%d groups=%d half=%d",
                 (int)c.n, (int)c.ic, (int)c.h, (int)c.w, (int)c.oc, (int)c.kh, (int)c.kw,
                 (int)c.stride, (int)c.pad, (int)c.groups, half);
        check(program_conv(k.ctx, c, half ? TNB_F16 : TNB_F32), half, what);
    }
}

static void
products(void **state)
{
    (void)state;
    for (int i = 0; i < rounds(8); i++) {
        int64_t m = between(1, 30), n = between(1, 50), r = between(1, 40);
        tnb_dtype types[] = {TNB_F32, TNB_F32, TNB_F64, TNB_I32, TNB_F16};
        tnb_dtype d = types[between(0, 4)];
        char what[100];
        snprintf(what, sizeof what, "matmul %d %d %d %s", (int)m, (int)n, (int)r,
                 tnb_dtype_print(d).s);
        check(program_matmul(k.ctx, m, n, r, d), d.bits == 16, what);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(products),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
