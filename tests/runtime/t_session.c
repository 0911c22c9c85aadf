/* SPDX-License-Identifier: Apache-2.0 */
/* One session in the hands of several threads: a call is made, or refused because another one is under way; none disturbs another. */
#include "tests/base/scratch.h"

#include "tenon/base/conf.h"
#include "tenon/core/text.h"
#include "tenon/kit/driver.h"
#include "tenon/rt/session.h"

#include <pthread.h>
#include <stdatomic.h>

enum { N = 20000, CALLS = 200, THREADS = 3 };

static tnb_conf *conf;
static tnb_plugins *plugins;
static tn_registry *registry;
static tnr_runtime *rt;
static tnr_session *session;

static const char module[] = "@I.ir_module\n"
                             "class Module:\n"
                             "    @R.function\n"
                             "    def main(x: R.Tensor((20000,), \"float32\")):\n"
                             "        with R.dataflow():\n"
                             "            gv = R.add(x, x)\n"
                             "            R.output(gv)\n"
                             "        return gv\n";

#define OK(expr)                                    \
    do {                                            \
        tnb_err err = {0};                          \
        if ((expr) != TNB_OK)                       \
            fail_msg("%s: %s", #expr, err.message); \
    } while (0)

static int
setup(void **state)
{
    tnb_diags *diags = tnb_diags_new();
    conf = tnb_conf_load(NULL, diags);
    assert_non_null(conf);
    tnb_diags_free(diags);
    OK(tnb_plugins_open(conf, NULL, &plugins, &err));
    registry = tn_registry_new(plugins);
    tnr_runtime_options opt = {.plugins = plugins, .conf = conf, .threads = 2};
    OK(tnr_runtime_new(&opt, &rt, &err));
    assert_int_equal(scratch_make(state), 0);
    tn_ctx *ctx = tn_ctx_new(registry);
    tnk_model model = {.module = tn_read_module(ctx, "double.py", module, sizeof module - 1)};
    const char *target = "cpu", *out = in_scratch("double.tno");
    tnk_compile_options how = {
        .conf = conf, .targets = &target, .n_targets = 1, .jobs = 1, .output = out};
    tnk_compile_result result;
    assert_true(model.module && tnk_compile(ctx, &model, &how, &result) == TNB_OK);
    tn_ctx_free(ctx);
    tnr_session_options so = {.runtime = rt};
    OK(tnr_session_open(out, &so, &session, &err));
    return 0;
}

static int
teardown(void **state)
{
    tnr_session_close(session);
    tnr_runtime_free(rt);
    tn_registry_free(registry);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    return scratch_free(state);
}

/* What a thread saw. */
typedef struct calls {
    float value;
    bool starts; /* and waits, in place of running */
    int made, refused, wrong;
    float x[N], y[N];
} calls;

static void *
use(void *p)
{
    calls *c = p;
    tnr_binding in = {.data = c->x}, out = {.data = c->y, .bytes = sizeof c->y};
    for (int i = 0; i < N; i++)
        c->x[i] = c->value + (float)i;
    for (int i = 0; i < CALLS; i++) {
        tnb_err err = {0};
        memset(c->y, 0, sizeof c->y);
        tnb_status st = c->starts ? tnr_session_start(session, &in, 1, &out, 1, NULL, NULL, &err)
                                  : tnr_session_run(session, &in, 1, &out, 1, &err);
        if (st != TNB_OK) {
            c->refused++;
            c->wrong += st != TNB_INVALID || !strstr(err.message, "is under way");
            continue;
        }
        if (c->starts)
            c->wrong += tnr_session_wait(session, &err) != TNB_OK;
        c->made++;
        for (int k = 0; k < N; k++)
            if (c->y[k] != 2 * c->x[k]) {
                c->wrong++;
                break;
            }
    }
    return NULL;
}

static void
threads_disturb_no_call_of_another(void **state)
{
    (void)state;
    calls *c = calloc(THREADS, sizeof *c);
    pthread_t thread[THREADS];
    assert_non_null(c);
    for (int i = 0; i < THREADS; i++) {
        c[i].value = (float)i * 1000;
        c[i].starts = i == 2;
        assert_int_equal(pthread_create(&thread[i], NULL, use, &c[i]), 0);
    }
    int made = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(c[i].wrong, 0);
        assert_int_equal(c[i].made + c[i].refused, CALLS);
        made += c[i].made;
    }
    assert_true(made > 0 && tnr_session_done(session));
    c[0].made = c[0].refused = 0;
    use(&c[0]);
    assert_int_equal(c[0].made, CALLS);
    free(c);
}

/* ---- a call that waits for itself ---- */

static _Atomic int waited;

static void
wait_within(void *user)
{
    tnb_err err = {0};
    waited = tnr_session_wait(user, &err);
}

static void
a_call_does_not_wait_for_itself(void **state)
{
    (void)state;
    static float x[N], y[N];
    tnr_binding in = {.data = x}, out = {.data = y, .bytes = sizeof y};
    for (int i = 0; i < 20; i++) {
        waited = -1;
        OK(tnr_session_start(session, &in, 1, &out, 1, wait_within, session, &err));
        while (waited == -1)
            usleep(100);
        OK(tnr_session_wait(session, &err));
        assert_int_equal(waited, TNB_INVALID);
    }
}

/* ---- what a caller may get wrong ---- */

static void
refused(uint32_t n_in, const tnr_binding *in, uint32_t n_out, tnb_status status, const char *text)
{
    static float y[2][N];
    tnb_err err = {0};
    tnr_binding out[2] = {{.data = y[0], .bytes = sizeof y[0]},
                          {.data = y[1], .bytes = sizeof y[1]}};
    assert_int_equal(tnr_session_run(session, in, n_in, out, n_out, &err), status);
    if (!strstr(err.message, text))
        fail_msg("'%s' does not say '%s'", err.message, text);
}

static void
messages_speak_of_the_callers_arguments(void **state)
{
    (void)state;
    static float x[N];
    tnr_binding in[2] = {{.data = x}, {.data = x}};
    refused(2, in, 1, TNB_NOT_FOUND, "input 1, counted from 0, is given; the function has 1");
    refused(1, in, 2, TNB_NOT_FOUND, "output 1, counted from 0, is given; the function has 1");
    for (int k = 0; k < 2; k++) {
        in[0].ndim = k ? -1 : 9;
        refused(1, in, 1, TNB_SHAPE,
                k ? "ndim is -1, expected 0 to 8" : "ndim is 9, expected 0 to 8");
    }
    tnb_err err = {0};
    tnr_session *s = NULL;
    tnr_session_options o = {.size = sizeof o, .n_drivers = 1};
    assert_int_equal(tnr_session_open(in_scratch("double.tno"), &o, &s, &err), TNB_INVALID);
    assert_non_null(strstr(err.message, "n_drivers is 1, but drivers is NULL"));
    o = (tnr_session_options){.size = 12345};
    assert_int_equal(tnr_session_open(in_scratch("double.tno"), &o, &s, &err), TNB_ABI);
    assert_non_null(strstr(err.message, "size is 12345, expected "));
}

static void
opens(const tnr_session_options *o, tnb_status status, const char *text)
{
    tnb_err err = {0};
    tnr_session *s = NULL;
    assert_int_equal(tnr_session_open(in_scratch("double.tno"), o, &s, &err), status);
    if (!strstr(err.message, text))
        fail_msg("'%s' does not say '%s'", err.message, text);
    tnr_session_close(s);
}

static void
options_without_effect_are_refused(void **state)
{
    (void)state;
    const tnr_runtime_options ro = {.threads = 1};
    opens(&(tnr_session_options){.runtime = rt, .weights = "/nonexistent"}, TNB_INVALID,
          "weights is '/nonexistent', but the artifact has its weights itself");
    opens(&(tnr_session_options){.runtime = rt, .options = &ro}, TNB_INVALID,
          "options has no effect beside a runtime");
    opens(&(tnr_session_options){.runtime = rt, .n_drivers = 1}, TNB_INVALID,
          "n_drivers has no effect beside a runtime");
}

static void
memory_that_is_not_aligned_is_told_of(void **state)
{
    (void)state;
    static float x[N + 32];
    char *bytes = (char *)(x + (64 - (uintptr_t)x % 64) % 64 / sizeof *x);
    for (int off = 1; off < 4; off++) {
        char text[80];
        tnr_binding in = {.data = bytes + off}, out = {.data = bytes + off, .bytes = 4 * N};
        snprintf(text, sizeof text, "input 'x': its memory begins %d byte%s behind a multiple of 4",
                 off, off == 1 ? "" : "s");
        refused(1, &in, 1, TNB_INVALID, text);
        tnb_dltensor dl = {.data = bytes,
                           .byte_offset = (uint64_t)off,
                           .ndim = 1,
                           .shape = (int64_t[]){N},
                           .dtype = TNB_F32,
                           .device = {TNB_CPU, 0}};
        refused(1, &(tnr_binding){.dl = &dl}, 1, TNB_INVALID, text);
        refused(1, &(tnr_binding){.dl = &dl, .data = bytes}, 1, TNB_INVALID,
                "has both data and a tensor of DLPack");
        tnb_err err = {0};
        in.data = bytes;
        assert_int_equal(tnr_session_run(session, &in, 1, &out, 1, &err), TNB_INVALID);
        assert_non_null(strstr(err.message, "': its memory begins "));
    }
    static float y[N];
    for (int off = 4; off < 64; off += 4) { /* copied for the kernels */
        tnr_binding in = {.data = bytes + off}, out = {.data = y, .bytes = sizeof y};
        OK(tnr_session_run(session, &in, 1, &out, 1, &err));
    }
    tnb_err err = {0};
    tnr_session *s = NULL;
    assert_int_equal(tnr_session_open_memory(bytes + 8, 4096, NULL, &s, &err), TNB_INVALID);
    assert_non_null(strstr(err.message, "begins 8 bytes behind a multiple of 64"));
}

/* ---- an allocator that forgets what it was asked for ---- */

static void *
careless_alloc(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    char *at = aligned_alloc(alignment, (bytes + 2 * alignment) / alignment * alignment);
    return at ? at + 8 : NULL;
}

static void
careless_free(void *user, void *memory)
{
    (void)user;
    free((char *)memory - 8);
}

static void
an_allocators_memory_is_looked_at(void **state)
{
    (void)state;
    static float x[N], y[N];
    const tnr_allocator allocator = {careless_alloc, careless_free, NULL};
    const tnr_runtime_options ro = {.plugins = plugins, .conf = conf, .allocator = &allocator};
    const tnr_session_options o = {.options = &ro};
    tnr_session *s = NULL;
    tnb_err err = {0};
    tnr_binding in = {.data = x}, out = {.data = y, .bytes = sizeof y};
    tnb_status st = tnr_session_open(in_scratch("double.tno"), &o, &s, &err);
    if (st == TNB_OK)
        st = tnr_session_run(s, &in, 1, &out, 1, &err);
    assert_int_equal(st, TNB_INVALID);
    assert_non_null(
        strstr(err.message,
               "asked for memory at a multiple of 64, and gave some 8 bytes behind one"));
    tnr_session_close(s);
}

/* Whether the elements of a tensor lie one behind the other in row-major order, found one by one. */
static bool
lies_dense(const int64_t shape[3], const int64_t *strides)
{
    int64_t k = 0;
    for (int64_t a = 0; a < shape[0]; a++)
        for (int64_t b = 0; b < shape[1]; b++)
            for (int64_t c = 0; c < shape[2]; c++, k++)
                if (strides && a * strides[0] + b * strides[1] + c * strides[2] != k)
                    return false;
    return true;
}

/* Extents of 0, 1 and more with strides of every kind. NumPy gives zeros for an array of no elements, and anything for an extent of 1. */
static void
dlpack_is_taken_where_its_elements_lie_dense(void **state)
{
    (void)state;
    static const char text[] = "@I.ir_module\n"
                               "class Module:\n"
                               "    @R.function\n"
                               "    def main(x: R.Tensor((\"a\", \"b\", \"c\"), \"float32\")):\n"
                               "        return R.add(x, x)\n";
    tn_ctx *ctx = tn_ctx_new(registry);
    tnk_model model = {.module = tn_read_module(ctx, "cube.py", text, sizeof text - 1)};
    const char *target = "cpu", *file = in_scratch("cube.tno");
    tnk_compile_options how = {
        .conf = conf, .targets = &target, .n_targets = 1, .jobs = 1, .output = file};
    tnk_compile_result result;
    assert_true(model.module && tnk_compile(ctx, &model, &how, &result) == TNB_OK);
    tn_ctx_free(ctx);
    tnr_session_options so = {.runtime = rt};
    tnr_session *s = NULL;
    OK(tnr_session_open(file, &so, &s, &err));
    static float x[64], y[64];
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    static const int64_t steps[] = {0, 1, 2, 3, 4, 6, 9, -1};
    int taken = 0, refused_ones = 0;
    enum { STEPS = sizeof steps / sizeof *steps };
    for (int e = 0; e < 3 * 3 * 3; e++)
        for (int n = 0; n <= STEPS * STEPS * STEPS; n++) {
            int64_t shape[3] = {e / 9, e / 3 % 3, e % 3}, strides[3], dense[3];
            for (int i = 0, left = n; i < 3; i++, left /= STEPS)
                strides[i] = steps[left % STEPS];
            dense[2] = 1, dense[1] = shape[2], dense[0] = shape[1] * shape[2];
            const bool none = n == STEPS * STEPS * STEPS;
            const int64_t count = shape[0] * dense[0];
            tnb_dltensor in = {.data = x,
                               .ndim = 3,
                               .shape = shape,
                               .strides = none ? NULL : strides,
                               .dtype = TNB_F32,
                               .device = {TNB_CPU, 0}};
            tnb_dltensor out = {.data = y,
                                .ndim = 3,
                                .shape = shape,
                                .strides = dense,
                                .dtype = TNB_F32,
                                .device = {TNB_CPU, 0}};
            tnb_dltensor *pair[2] = {&in, &out};
            const bool fine = lies_dense(shape, in.strides);
            for (int turn = 0; turn < 2; turn++) { /* as an input, and as an output */
                tnr_binding a = {.dl = pair[turn]}, b = {.dl = pair[!turn]};
                pair[turn]->data = x, pair[!turn]->data = y;
                for (int i = 0; i < 64; i++)
                    x[i] = (float)i, y[i] = -1;
                tnb_err err = {0};
                tnb_status st = tnr_session_run(s, &a, 1, &b, 1, &err);
                if (fine != (st == TNB_OK))
                    fail_msg("[%d, %d, %d] with steps %d, %d, %d: %s", (int)shape[0], (int)shape[1],
                             (int)shape[2], (int)strides[0], (int)strides[1], (int)strides[2],
                             st == TNB_OK ? "taken" : err.message);
                for (int64_t i = 0; i < 8; i++)
                    assert_float_equal(y[i], fine && i < count ? 2 * x[i] : -1, 0);
                if (!fine) {
                    assert_int_equal(st, TNB_UNSUPPORTED);
                    assert_non_null(strstr(err.message, "is not compact"));
                    assert_non_null(strstr(err.hint, "contiguous"));
                }
                taken += fine, refused_ones += !fine;
            }
        }
    assert_true(taken > 1000 && refused_ones > 1000);
    tnr_session_close(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_disturb_no_call_of_another),
        cmocka_unit_test(a_call_does_not_wait_for_itself),
        cmocka_unit_test(messages_speak_of_the_callers_arguments),
        cmocka_unit_test(options_without_effect_are_refused),
        cmocka_unit_test(memory_that_is_not_aligned_is_told_of),
        cmocka_unit_test(dlpack_is_taken_where_its_elements_lie_dense),
        cmocka_unit_test(an_allocators_memory_is_looked_at),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
