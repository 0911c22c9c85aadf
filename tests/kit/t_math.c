/* SPDX-License-Identifier: Apache-2.0 */
/* The vector functions of emitted source keep their stated errors, over all exponents and at
 * special values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "krun.h"
#include "tenon/kit/te.h"

enum { N = 1 << 16 };
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

static const struct {
    const char *name;
    double (*exact)(double x);
    double ulps;
} functions[] = {
    {"exp", exp, 2}, {"log", log, 2},      {"sigmoid", sigmoid, 4}, {"tanh", tanh, 6},
    {"erf", erf, 8}, {"sqrt", sqrt, 0.51}, {"floor", floor, 0},
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
        return (float)((double)i / N * 24 - 12);
    uint32_t bits = i * 65537u + i;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static bool
near(float got, double want, double ulps)
{
    float w = (float)want;
    if (isnan(w) || isnan(got))
        return isnan(w) && isnan(got);
    if (isinf(w) || isinf(got))
        return w == got || fabs(want) > 3.402e38; /* at the edge either is right */
    if (fabs(want) < 1.18e-38)                    /* results below the normal range may be 0 */
        return fabs((double)got - want) < 1.18e-38;
    int e;
    frexp(want, &e);
    double unit = ldexp(1, (e < -125 ? -125 : e) - 24);
    return fabs((double)got - want) <= ulps * unit;
}

static void
errors_are_as_stated(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        tnk_te *te = tnk_te_new(k.ctx);
        const tn_node *x = tnk_te_input(
            te, "x", tn_ty_tensor_dims(k.ctx, tn_listv(k.ctx, tn_i64(k.ctx, N), NULL), TNB_F32));
        tnk_stage *s = tnk_te_stage_like(te, "y", x, TNB_F32);
        const tn_node *y = tnk_te_define(s, tn_intrin1(k.ctx, functions[f].name,
                                                       tnk_te_read_at(te, x, s->axes, 1)));
        const tn_node *func = krun_schedule(&k, tnk_te_finish(te, &y, 1), "Fallback");
        const int64_t shape = N;
        void *in, *out;
        const tn_node *a = tn_constant_of(k.ctx, tn_data_new(k.ctx, TNB_F32, 1, &shape, &in));
        const tn_node *b = tn_constant_of(k.ctx, tn_data_new(k.ctx, TNB_F32, 1, &shape, &out));
        for (uint32_t i = 0; i < N; i++)
            ((float *)in)[i] = input(i);
        assert_true(krun_run(&k, func, tn_listv(k.ctx, a, b, NULL)));
        for (uint32_t i = 0; i < N; i++) {
            float v = ((float *)in)[i], got = ((float *)out)[i];
            if (!near(got, functions[f].exact((double)v), functions[f].ulps))
                fail_msg("%s(%.9g) = %.9g, exactly %.9g", functions[f].name, (double)v, (double)got,
                         functions[f].exact((double)v));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_are_as_stated)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
