/* SPDX-License-Identifier: Apache-2.0 */
/* Stages as workers that exchange messages: what arrives, and what is reported when they would wait
 * for ever. */
#include "tests/interp/tinterp.h"

#include "tenon/kit/workers.h"

static int
setup(void **state)
{
    *state = tester_new();
    return 0;
}

static int
teardown(void **state)
{
    tester_free(*state);
    return 0;
}

#define SEND(v) \
    "        _ = R.call_packed(\"runtime.disco.send_to_next_group\", " v ", ty_args=(R.Tuple,))\n"
#define RECEIVE(v, shape, dtype)                                                            \
    "        " v " = R.call_dps_packed(\"runtime.disco.recv_from_prev_group\", R.tuple(), " \
    "out_ty=R.Tensor(" shape ", \"" dtype "\"))\n"
#define STAGE(k, body, result)                                              \
    "    @R.function(private=True, pure=False)\n"                           \
    "    def stage" k "(x: R.Tensor((\"n\",), \"float32\")) -> R.Object:\n" \
    "        n = T.int64()\n" body "        return " result "\n"
#define ENTRY(stages)                                                                           \
    "    @R.function(pure=False)\n"                                                             \
    "    def f(x: R.Tensor((\"n\",), \"float32\")) -> R.Object:\n"                              \
    "        n = T.int64()\n"                                                                   \
    "        cls = Module\n"                                                                    \
    "        r: R.Object = R.call_builtin_with_ctx(\"mlc.multi_gpu.DispatchFunctionByGroup\", " \
    "((" stages ",),), ty_args=(R.Object,))\n"                                                  \
    "        return r\n"
#define TWO "(cls.stage0, x), (cls.stage1, x)"
#define THREE TWO ", (cls.stage2, x)"

static const tn_expr *
run(tester *t, const char *body, tnk_workers_run *w)
{
    tester_load(t, body);
    const tn_expr *x = VEC(t, TNB_F32, 3, 1, 2, 3);
    return tnk_run_workers(t->ctx, t->ev, t->m, "f", &x, 1, &t->opt, w);
}

static void
fails(tester *t, const char *body, tnk_workers_run *w, const char *const *parts)
{
    assert_null(run(t, body, w));
    assert_true(tnb_diags_count(tn_diags(t->ctx)) > 0);
    const tnb_diag *d = tnb_diags_get(tn_diags(t->ctx), 0);
    tnb_buf all = {0};
    tnb_buf_puts(&all, d->message);
    for (uint32_t i = 0; i < d->n_notes; i++)
        tnb_buf_printf(&all, "\n%s", d->notes[i]);
    for (; *parts; parts++)
        if (!strstr(all.s, *parts))
            fail_msg("'%s' is not in: %s", *parts, all.s);
    tnb_buf_free(&all);
    tnb_diags_clear(tn_diags(t->ctx));
}

static void
messages_arrive_in_order(void **state)
{
    tester *t = *state;
    tnk_workers_run w = {0};
    const tn_expr *r = run(
        t,
        STAGE("0", "        a = R.add(x, x)\n" SEND("a") SEND("x"), "a")
            STAGE("1",
                  RECEIVE("p", "(n,)", "float32")
                      RECEIVE("q", "(n,)", "float32") "        s = R.subtract(p, q)\n" SEND("s"),
                  "s") STAGE("2", RECEIVE("p", "(n,)", "float32") "        s = R.multiply(p, x)\n",
                             "s") ENTRY(THREE),
        &w);
    assert_non_null(r);
    for (uint64_t i = 0; i < 3; i++)
        assert_true(tester_at(t, r, i) == (double)((i + 1) * (i + 1)));
    assert_int_equal(w.started, 3);
    assert_int_equal(w.messages, 3);
    assert_true(t->opt.spent > 0);
}

static void
one_worker_where_nothing_is_dispatched(void **state)
{
    tester *t = *state;
    tnk_workers_run w = {0};
    const tn_expr *r =
        run(t,
            "    @R.function\n"
            "    def f(x: R.Tensor((\"n\",), \"float32\")) -> R.Object:\n"
            "        n = T.int64()\n"
            "        b = R.call_pure_packed(\"mlc.pipeline_parallel_stage_boundary\", x, x, "
            "ty_args=(R.Tuple(R.Tensor((n,), \"float32\"), R.Tensor((n,), \"float32\")),))\n"
            "        p = b[1]\n"
            "        c = R.add(p, x)\n"
            "        return c\n",
            &w);
    assert_non_null(r);
    assert_true(tester_at(t, r, 2) == 6);
    assert_int_equal(w.started, 1);
    assert_int_equal(w.messages, 0);
}

static void
a_receive_without_a_send_is_a_deadlock(void **state)
{
    fails(*state,
          STAGE("0", "        a = R.add(x, x)\n" SEND("a"), "a")
              STAGE("1", RECEIVE("p", "(n,)", "float32") RECEIVE("q", "(n,)", "float32"), "q")
                  ENTRY(TWO),
          NULL,
          PARTS("deadlock: worker 1 (stage1) waits for message 1, and nobody can go on",
                "worker 0 (stage0) has ended after sending 1"));
}

static void
every_waiting_worker_is_named(void **state)
{
    fails(*state,
          STAGE("0", RECEIVE("p", "(n,)", "float32") SEND("p"), "p")
              STAGE("1", RECEIVE("p", "(n,)", "float32") SEND("p"), "p")
                  STAGE("2", RECEIVE("p", "(n,)", "float32"), "p") ENTRY(THREE),
          NULL,
          PARTS("deadlock: worker 0 (stage0) waits for message 0",
                "worker 1 (stage1) waits for message 0", "worker 2 (stage2) waits for message 0"));
}

static void
messages_that_nobody_receives(void **state)
{
    fails(*state,
          STAGE("0", SEND("x") SEND("x"), "x") STAGE("1", RECEIVE("p", "(n,)", "float32"), "p")
              ENTRY(TWO),
          NULL,
          PARTS("worker 0 (stage0) sends 2 messages, but worker 1 (stage1) has ended after "
                "receiving 1"));
}

static void
other_shapes_and_dtypes(void **state)
{
    fails(*state,
          STAGE("0", SEND("x"), "x") STAGE("1", RECEIVE("p", "(n, 2)", "float32"), "p") ENTRY(TWO),
          NULL,
          PARTS("worker 1 (stage1) receives message 0 as float32[3, 2]",
                "worker 0 (stage0) sends float32[3]"));
    fails(*state,
          STAGE("0", SEND("x"), "x") STAGE("1", RECEIVE("p", "(n,)", "int32"), "p") ENTRY(TWO),
          NULL, PARTS("receives message 0 as int32[3]", "sends float32[3]"));
}

static void
the_last_worker_sends_to_nobody(void **state)
{
    fails(*state,
          STAGE("0", SEND("x"), "x") STAGE("1", RECEIVE("p", "(n,)", "float32") SEND("p"), "p")
              ENTRY(TWO),
          NULL, PARTS("worker 1 (stage1) is the last and sends to nobody"));
}

static void
the_number_of_groups_has_to_fit(void **state)
{
    tnk_workers_run w = {.groups = 3};
    fails(*state,
          STAGE("0", SEND("x"), "x") STAGE("1", RECEIVE("p", "(n,)", "float32"), "p") ENTRY(TWO),
          &w, PARTS("the function has 2 stages for 3 workers"));
}

static void
a_failure_ends_all_workers(void **state)
{
    fails(*state,
          STAGE("0",
                "        a = R.call_packed(\"no.such_function\", x, "
                "ty_args=(R.Tensor((n,), \"float32\"),))\n" SEND("a"),
                "a") STAGE("1", RECEIVE("p", "(n,)", "float32"), "p") ENTRY(TWO),
          NULL, PARTS("no packed function 'no.such_function'"));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(messages_arrive_in_order),
        TEST(one_worker_where_nothing_is_dispatched),
        TEST(a_receive_without_a_send_is_a_deadlock),
        TEST(every_waiting_worker_is_named),
        TEST(messages_that_nobody_receives),
        TEST(other_shapes_and_dtypes),
        TEST(the_last_worker_sends_to_nobody),
        TEST(the_number_of_groups_has_to_fit),
        TEST(a_failure_ends_all_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
