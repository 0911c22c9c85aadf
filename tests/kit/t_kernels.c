/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels through lowering, emission and the processor: against formulas, and scheduled against
 * unscheduled. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "krun.h"
#include "programs.h"

static krun k;

static int
open_all(void **state)
{
    (void)state;
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

static float *
floats(tn_list args, uint32_t i)
{
    return (float *)(uintptr_t)tn_data_get(k.ctx, tn_as_constant(args.at[i])->data);
}

static void
matmul_equals_formula(void **state)
{
    (void)state;
    const tn_node *f = program_matmul(k.ctx, 7, 9, 11, TNB_F32);
    tn_list args;
    assert_true(tn_random_args(k.ctx, f, 3, NULL, &args));
    assert_true(krun_run(&k, f, args));
    const float *a = floats(args, 0), *b = floats(args, 1), *c = floats(args, 2);
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 9; j++) {
            double s = 0;
            for (int x = 0; x < 11; x++)
                s += (double)a[i * 11 + x] * b[x * 9 + j];
            assert_true(fabs(s - c[i * 9 + j]) <= 1e-4 * (1 + fabs(s)));
        }
}

static void
keeps_results(const char *rules)
{
    for (int i = 0; i < program_count(); i++) {
        const char *name;
        const tn_node *dims = NULL;
        const tn_node *f = program_get(k.ctx, i, &name, &dims);
        assert_non_null(f);
        const tn_node *s = krun_schedule(&k, f, rules);
        if (!s)
            krun_print_errors(&k);
        assert_non_null(s);
        /* unscheduled float16 sums round after every addition */
        bool half = strstr(name, "half") != NULL;
        if (!krun_same(&k, f, s, dims, half ? 5e-2 : 1e-4, half ? 2e-2 : 1e-5))
            fail_msg("program %s", name);
    }
}

static void
fallback_keeps_results(void **state)
{
    (void)state;
    keeps_results("Fallback");
}

static void
all_rules_keep_results(void **state)
{
    (void)state;
    keeps_results(
        "Transpose,Elementwise,Recurrent,Conv2d,Matmul,Softmax,Reduction,Pool,GEMV,Fallback");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_equals_formula),
        cmocka_unit_test(fallback_keeps_results),
        cmocka_unit_test(all_rules_keep_results),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
