/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops a team of threads runs: those with enough work, which is estimated when the kernel is compiled and, where
 * extents are symbolic, computed when it runs; functions weigh more than additions; one thread never calls a team.
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
#include "tenon/kit/te.h"

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

/* function(x) or x + 1 for n rows of 64 elements; how many loops a team ran. */
static int
team_calls(int64_t n, bool symbolic, tn_intrin_id function, int threads)
{
    tn_ctx *ctx = k.ctx;
    tnk_te *te = tnk_te_new(ctx);
    const tn_expr *rows = symbolic ? tn_var_dtype(ctx, "n", TNB_I64) : tn_i64(ctx, n);
    const tn_node *dims = symbolic ? tn_dictv(ctx, "n", tn_i64(ctx, n), NULL) : tn_dictv(ctx, NULL);
    const tn_node *x =
        tnk_te_input(te, "x",
                     tn_ty_tensor_dims(ctx, tn_listv(ctx, rows, tn_i64(ctx, 64), NULL), TNB_F32));
    const tn_expr *shape[2] = {tnk_te_expr(te, rows), tn_i64(ctx, 64)};
    tnk_stage *s = tnk_te_stage(te, "y", shape, 2, TNB_F32);
    const tn_expr *v = tnk_te_read_at(te, x, s->axes, 2);
    const tn_node *y = tnk_te_define(s, function ? tn_intrin1(ctx, function, v)
                                                 : tn_add(ctx, v, tn_literal(ctx, TNB_F32, 1)));
    const tn_node *f = tnk_te_finish(te, &y, 1);
    const tn_node *scheduled = krun_schedule(&k, f, "Elementwise,Fallback");
    k.threads = threads;
    k.team_calls = -1;
    assert_true(krun_same(&k, f, scheduled, dims, 1e-4, 1e-4)); /* runs the scheduled one last */
    return k.team_calls;
}

static void
little_work_is_done_by_one_thread(void **state)
{
    (void)state;
    assert_int_equal(team_calls(4, false, TN_INTRIN_NONE, 2), 0);
    assert_int_equal(team_calls(8192, false, TN_INTRIN_NONE, 2), 1);
}

static void
symbolic_extents_decide_when_the_kernel_runs(void **state)
{
    (void)state;
    assert_int_equal(team_calls(4, true, TN_INTRIN_NONE, 2), 0);
    assert_int_equal(team_calls(8192, true, TN_INTRIN_NONE, 2), 1);
}

static void
functions_weigh_more_than_additions(void **state)
{
    (void)state;
    int64_t plain = 1, costly = 1;
    for (; plain < 1 << 16 && team_calls(plain, true, TN_INTRIN_NONE, 2) == 0; plain *= 2)
        ;
    for (; costly < 1 << 16 && team_calls(costly, true, TN_INTRIN_erf, 2) == 0; costly *= 2)
        ;
    assert_in_range(plain, 2, 1 << 12);
    assert_in_range(costly, 2, plain / 4);
}

static void
a_loop_is_worth_as_many_threads_as_it_has_work_for(void **state)
{
    (void)state;
    for (int symbolic = 0; symbolic < 2; symbolic++) {
        assert_int_equal(team_calls(512, symbolic, TN_INTRIN_NONE, 2), 1);
        int worth = k.worth;
        assert_in_range(worth, 2, 64);
        assert_int_equal(team_calls(8192, symbolic, TN_INTRIN_NONE, 2), 1);
        assert_in_range(k.worth, 8 * worth, 32 * worth);
    }
}

static void
one_thread_calls_no_team(void **state)
{
    (void)state;
    assert_int_equal(team_calls(8192, false, TN_INTRIN_NONE, 1), 0);
    assert_int_equal(team_calls(8192, true, TN_INTRIN_erf, 1), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_work_is_done_by_one_thread),
        cmocka_unit_test(symbolic_extents_decide_when_the_kernel_runs),
        cmocka_unit_test(functions_weigh_more_than_additions),
        cmocka_unit_test(a_loop_is_worth_as_many_threads_as_it_has_work_for),
        cmocka_unit_test(one_thread_calls_no_team),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
