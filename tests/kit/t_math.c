/* SPDX-License-Identifier: Apache-2.0 */
/* The vector functions of emitted source keep their stated errors: over all exponents and at special values; with
 * TENON_LONG for every float32 there is. With fused multiply-adds and without. */
#include <math.h>
#include <pthread.h>
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

enum { SAMPLE = 1 << 16, CHUNK = 1 << 24, TURNS = 256 /* CHUNK * TURNS = 2^32 */, THREADS = 2 };
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

static double
sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double
rsqrt(double x)
{
    return 1 / sqrt(x);
}

typedef struct function {
    const char *name;
    double (*exact)(double x);
    double ulps;
    double least; /* results below may come out as 0 */
} function;

static const function functions[] = {
    {"exp", exp, 3, 1.67e-38},   {"log", log, 1.5, 0},      {"sigmoid", sigmoid, 4, 1.18e-38},
    {"tanh", tanh, 8, 1.18e-38}, {"erf", erf, 9, 1.18e-38}, {"sqrt", sqrt, 0.51, 0},
    {"floor", floor, 0, 0},      {"log2", log2, 2.5, 0},    {"log10", log10, 2.5, 0},
    {"log1p", log1p, 2, 0},      {"sin", sin, 3, 0},        {"cos", cos, 3, 0},
    {"rsqrt", rsqrt, 1.5, 0},
};

static float
input(uint32_t i)
{
    static const float special[] = {0.0f,  -0.0f,  1.0f,    -1.0f,   0.5f,    88.7f,
                                    88.8f, -87.3f, -103.9f, -104.5f, 1e-30f,  1e-40f,
                                    3e38f, 0.35f,  -0.35f,  0.7f,    0.69999f};
    if (i < sizeof special / sizeof special[0])
        return special[i];
    if (i == 20)
        return INFINITY;
    if (i == 21)
        return -INFINITY;
    if (i == 22)
        return NAN;
    /* half of them in [-12, 12], half over all bit patterns */
    if (i % 2)
        return (float)((double)i / SAMPLE * 24 - 12);
    uint32_t bits = i * 65537u + i;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static bool
near(const function *f, float got, double want)
{
    float w = (float)want;
    if (isnan(w) || isnan(got))
        return isnan(w) && isnan(got);
    if (isinf(w) || isinf(got))
        return w == got || fabs(want) > 3.402e38; /* at the edge either is right */
    if (fabs(want) < f->least && fabs((double)got - want) < f->least)
        return true;
    int e;
    frexp(want, &e);
    double unit = ldexp(1, (e < -125 ? -125 : e) - 24);
    return fabs((double)got - want) <= f->ulps * unit;
}

/* y = f(x) for n elements. */
static const tn_node *
kernel_of(const function *f, int64_t n)
{
    tnk_te *te = tnk_te_new(k.ctx);
    const tn_node *x =
        tnk_te_input(te, "x",
                     tn_ty_tensor_dims(k.ctx, tn_listv(k.ctx, tn_i64(k.ctx, n), NULL), TNB_F32));
    tnk_stage *s = tnk_te_stage_like(te, "y", x, TNB_F32);
    const tn_node *y =
        tnk_te_define(s, tn_intrin1(k.ctx, f->name, tnk_te_read_at(te, x, s->axes, 1)));
    return krun_schedule(&k, tnk_te_finish(te, &y, 1), "Elementwise");
}

typedef struct part {
    const function *f;
    const float *in, *out;
    int64_t n, wrong; /* the first that is; -1: none */
} part;

static void *
check_part(void *arg)
{
    part *p = arg;
    p->wrong = -1;
    for (int64_t i = 0; i < p->n && p->wrong < 0; i++)
        if (!near(p->f, p->out[i], p->f->exact((double)p->in[i])))
            p->wrong = i;
    return NULL;
}

static void
check(const function *f, const float *in, const float *out, int64_t n)
{
    part p[THREADS];
    pthread_t id[THREADS];
    for (int i = 0; i < THREADS; i++) {
        p[i] = (part){f, in + n / THREADS * i, out + n / THREADS * i, n / THREADS, -1};
        assert_int_equal(pthread_create(&id[i], NULL, check_part, &p[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (p[i].wrong >= 0) {
            double v = (double)p[i].in[p[i].wrong], got = (double)p[i].out[p[i].wrong];
            fail_msg("%s(%.9g) = %.9g, exactly %.9g", f->name, v, got, f->exact(v));
        }
}

static void
keep_their_errors(void)
{
    const char *long_run = getenv("TENON_LONG"); /* empty in a short one */
    bool all = long_run && *long_run;
    const int64_t n = all ? CHUNK : SAMPLE;
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        const tn_node *func = kernel_of(&functions[f], n);
        void *in, *out;
        const tn_node *a = tn_constant_of(k.ctx, tn_data_new(k.ctx, TNB_F32, 1, &n, &in));
        const tn_node *b = tn_constant_of(k.ctx, tn_data_new(k.ctx, TNB_F32, 1, &n, &out));
        for (uint32_t turn = 0; turn < (all ? TURNS : 1); turn++) {
            for (uint32_t i = 0; i < n; i++)
                if (all)
                    ((uint32_t *)in)[i] = turn * CHUNK + i;
                else
                    ((float *)in)[i] = input(i);
            assert_true(krun_run(&k, func, tn_listv(k.ctx, a, b, NULL)));
            check(&functions[f], in, out, n);
        }
    }
}

static void
errors_are_as_stated(void **state)
{
    (void)state;
    keep_their_errors();
}

static void
errors_are_as_stated_without_fused_operations(void **state)
{
    (void)state;
    const tn_node *attrs =
        k.kind->probe(k.ctx, tn_dictv(k.ctx, "mcpu", tn_string(k.ctx, "x86-64-v2"), NULL), NULL);
    k.target = tn_as_target(tn_target_of(k.ctx, "cpu", attrs));
    keep_their_errors();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_as_stated),
        cmocka_unit_test(errors_are_as_stated_without_fused_operations),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
