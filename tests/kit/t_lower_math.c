/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that LowerMath makes keep their stated errors, compiled for the processor: over all exponents, with special values,
 * and over pairs that are drawn. Prints the greatest errors that it met. TENON_ROUNDS: chunks of arguments for each function.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "draw.h"
#include "krun.h"
#include "tenon/core/build.h"
#include "tenon/core/pass.h"
#include "tenon/core/walk.h"
#include "tenon/kit/te.h"

enum { CHUNK = 1 << 16 };
static krun k;

static int
open_all(void **state)
{
    (void)state;
    draw_seed(20261124);
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
exp10_(double x)
{
    return pow(10, x);
}

static double
next(double x, double y)
{
    return (double)nextafterf((float)x, (float)y);
}

typedef struct function {
    const char *name;
    double (*exact)(double x);
    double (*exact2)(double x, double y);
    double ulps;
    double least; /* results below may come out as 0 */
    double most;  /* arguments beyond are not tried */
} function;

static const function functions[] = {
    {"exp", exp, NULL, 4, 2.4e-38, 0},       {"exp2", exp2, NULL, 4, 2.4e-38, 0},
    {"exp10", exp10_, NULL, 6, 2.4e-38, 0},  {"log", log, NULL, 2, 0, 0},
    {"log2", log2, NULL, 4, 0, 0},           {"log10", log10, NULL, 4, 0, 0},
    {"log1p", log1p, NULL, 4, 1.18e-38, 0},  {"sigmoid", sigmoid, NULL, 6, 2.4e-38, 0},
    {"tanh", tanh, NULL, 8, 1.18e-38, 0},    {"erf", erf, NULL, 10, 1.18e-38, 0},
    {"sin", sin, NULL, 4, 1.18e-38, 0},      {"cos", cos, NULL, 4, 0, 0},
    {"tan", tan, NULL, 8, 1.18e-38, 0},      {"asin", asin, NULL, 6, 1.18e-38, 0},
    {"acos", acos, NULL, 6, 0, 0},           {"atan", atan, NULL, 6, 1.18e-38, 0},
    {"sinh", sinh, NULL, 12, 1.18e-38, 0},   {"cosh", cosh, NULL, 12, 0, 0},
    {"asinh", asinh, NULL, 12, 1.18e-38, 0}, {"acosh", acosh, NULL, 12, 0, 0},
    {"atanh", atanh, NULL, 12, 1.18e-38, 0}, {"pow", NULL, pow, 24, 2.4e-38, 0},
    {"atan2", NULL, atan2, 8, 1.18e-38, 0},  {"fmod", NULL, fmod, 0, 1.18e-38, 4096},
    {"hypot", NULL, hypot, 8, 1.18e-38, 0},  {"copysign", NULL, copysign, 0, 0, 0},
    {"nextafter", NULL, next, 0, 0, 0},
};

/* ---- arguments ---- */

static float
float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static const float special[] = {
    0.0f,    -0.0f,       1.0f,        -1.0f,       0.5f,        -0.5f,     2.0f,    -2.0f,
    3.0f,    -3.0f,       88.7f,       88.8f,       -87.3f,      3e38f,     -3e38f,  0.35f,
    -0.35f,  16777215.0f, 1e-30f,      INFINITY,    NAN,         -INFINITY, 8192.0f, 8193.0f,
    -1e10f,  1e22f,       0.99999994f, 1.00000012f, -103.9f,     1.5f,      -2.5f,   4.0f,
    -150.0f, 128.0f,      0.70710677f, 1.41421354f, 2.41421366f,
};
enum { SPECIAL = sizeof special / sizeof special[0] };

/* Numbers below the normal range are none of the arguments: a device may take them as 0. */
static float
normal(float x)
{
    return fabsf(x) < 0x1p-126f ? 0 : x;
}

static void
sample(const function *f, uint32_t round, uint32_t i, float *x, float *y)
{
    uint32_t a = (uint32_t)(draw_next() >> 32), b = (uint32_t)(draw_next() >> 32);
    *x = i % 2 ? (float)((double)(int32_t)a * 0x1p-31 * (i % 4 == 1 ? 12 : 1)) : float_of(a);
    *y = float_of(b);
    if (round == 0 && i < SPECIAL * SPECIAL) {
        *x = special[i / SPECIAL];
        *y = special[i % SPECIAL];
    } else if (f->exact2 == pow && i % 8) {
        *x = i % 8 < 3 ? (float)a * 0x1p-31f : fabsf(*x);
        *y = (float)((double)(int32_t)b * 0x1p-31 * 152 / log2((double)*x));
        if (i % 8 == 7) {
            *y = rintf(*y);
            *x = -*x;
        }
    } else if (f->exact2 == fmod || f->exact2 == atan2 || f->exact2 == hypot) {
        *y = *x * (float)((double)(int32_t)b * 0x1p-31 * 4);
    }
    *x = normal(*x);
    *y = normal(*y);
}

/* ---- errors ---- */

/* In units in the last place; 0 where any result is allowed, infinity where it is wrong. */
static double
error_of(const function *f, float got, double want)
{
    float w = (float)want;
    if (isnan(w) || isnan(got))
        return isnan(w) && isnan(got) ? 0 : (double)INFINITY;
    if (isinf(w) || isinf(got)) /* at the edge either is right */
        return w == got || fabs(want) > 3.402e38 ? 0 : (double)INFINITY;
    if (fabs(want) < f->least && fabs((double)got - want) < f->least)
        return 0;
    int e;
    frexp(want, &e);
    return fabs((double)got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

/* ---- runs ---- */

/* y = f(x) or f(x, y) for a chunk of elements. */
static const tn_node *
program_of(const function *f, tnb_dtype d)
{
    tnk_te *te = tnk_te_new(k.ctx);
    const tn_node *vector =
        tn_ty_tensor_dims(k.ctx, tn_listv(k.ctx, tn_i64(k.ctx, CHUNK), NULL), d);
    const tn_node *x = tnk_te_input(te, "x", vector), *y = tnk_te_input(te, "y", vector);
    tnk_stage *s = tnk_te_stage_like(te, "out", x, d);
    const tn_expr *both[] = {tnk_te_read_at(te, x, s->axes, 1), tnk_te_read_at(te, y, s->axes, 1)};
    const tn_node *out =
        tnk_te_define(s, tn_intrin_named(k.ctx, f->name,
                                         (tn_list){(const tn_node **)both, f->exact2 ? 2 : 1}));
    return tnk_te_finish(te, &out, 1);
}

static tn_walk_step
find_function(void *user, const tn_node *n)
{
    const tn_op *op = n->kind == TN_KIND_CALL ? tn_call_op_of((const tn_call *)n) : NULL;
    const char *name = op ? strrchr(op->base.name, '.') : NULL;
    return name && !strcmp(name + 1, user) ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_node *
lowered(const function *f, tnb_dtype d)
{
    tn_pass_list list;
    assert_true(tn_pass_list_parse(k.ctx, "LowerMath", "test", &list));
    const tn_node *attrs = tn_dictv(k.ctx, "supports_math", tn_bool(k.ctx, false), NULL);
    tn_pass_run run = {.target = tn_as_target(tn_target_of(k.ctx, "vulkan", attrs))};
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", program_of(f, d));
    m = tn_run_passes(k.ctx, m, &list, &run);
    if (!m)
        krun_print_errors(&k);
    assert_non_null(m);
    const tn_node *func = tn_module_get(m, "f");
    assert_true(
        tn_walk(tn_as_prim_func(func)->body, 0, find_function, NULL, (void *)(uintptr_t)f->name));
    return func;
}

/* The chunk's elements, in *bytes. */
static const tn_expr *
tensor(tnb_dtype dtype, void *bytes)
{
    const int64_t n = CHUNK;
    void *p;
    const tn_data *d = tn_data_new(k.ctx, dtype, 1, &n, &p);
    assert_non_null(d);
    memcpy(bytes, &p, sizeof p);
    return tn_constant_of(k.ctx, d);
}

static void
functions_keep_their_errors(void **state)
{
    (void)state;
    int rounds = draw_rounds(draw_long() ? 200 : 3);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const function *f = &functions[i];
        krun_kernel kernel;
        if (!krun_compile(&k, lowered(f, TNB_F32), &kernel)) {
            krun_print_errors(&k);
            fail_msg("%s is not compiled", f->name);
        }
        float *x, *y, *out;
        const tn_expr *args[] = {tensor(TNB_F32, &x), tensor(TNB_F32, &y), tensor(TNB_F32, &out)};
        double worst = 0, at[2] = {0};
        for (int r = 0; r < rounds; r++) {
            for (uint32_t j = 0; j < CHUNK; j++)
                sample(f, (uint32_t)r, j, &x[j], &y[j]);
            assert_true(krun_call(&k, &kernel, tn_list_of(k.ctx, args, 3)));
            for (uint32_t j = 0; j < CHUNK; j++) {
                double a = (double)x[j], b = (double)y[j],
                       want = f->exact ? f->exact(a) : f->exact2(a, b), e = 0;
                if (f->most == 0 || !(fabs(a / b) >= f->most) || !isfinite(b))
                    e = error_of(f, out[j], want);
                if (e > f->ulps)
                    fail_msg("%s(%.9g; %.9g) = %.9g, exactly %.9g: %.3g units", f->name, a, b,
                             (double)out[j], want, e);
                if (e > worst)
                    worst = e, at[0] = a, at[1] = b;
            }
        }
        printf("%s: %.3g units in the last place, at %.9g", f->name, worst, at[0]);
        printf(f->exact ? "\n" : ", %.9g\n", at[1]);
        krun_kernel_free(&kernel);
    }
}

/* ---- float64, against the processor's long double ---- */

typedef struct wide {
    function f;
    long double (*exact)(long double x);
} wide;

static const wide wides[] = {{{.name = "exp", .exact = exp}, expl},
                             {{.name = "log", .exact = log}, logl}};

static double
double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* All bits, numbers of the usual sizes, and those around 0, 1 and the ends of the range; none below the normal one. */
static double
wide_sample(uint32_t i)
{
    static const double ends[] = {0.0,
                                  -0.0,
                                  1.0,
                                  -1.0,
                                  0.5,
                                  709.78,
                                  709.79,
                                  -708.3,
                                  -744.4,
                                  -746.0,
                                  1e300,
                                  -1e300,
                                  INFINITY,
                                  -INFINITY,
                                  (double)NAN,
                                  0x1p-1022,
                                  0x1p1023,
                                  0x1.6a09e667f3bcdp-1,
                                  0x1.6a09e667f3bccp-1,
                                  0x1.fffffffffffffp-1,
                                  0x1.0000000000001p+0};
    uint64_t a = draw_next();
    if (i < sizeof ends / sizeof *ends)
        return ends[i];
    double x = i % 4 == 0   ? double_of(a)
               : i % 4 == 1 ? (double)(int64_t)a * 0x1p-63 * 746
               : i % 4 == 2 ? (double)(a >> 1) * 0x1p-63 * 2
                            : 1 + (double)(int64_t)a * 0x1p-73;
    return fabs(x) < 0x1p-1022 ? 0 : x;
}

/* Results below the normal range are right to a unit there. */
static double
wide_error(double got, long double want)
{
    double w = (double)want;
    if (isnan(w) || isnan(got))
        return isnan(w) && isnan(got) ? 0 : (double)INFINITY;
    if (isinf(w) || isinf(got))
        return w == got ? 0 : (double)INFINITY;
    int e;
    frexpl(want, &e);
    return (double)(fabsl((long double)got - want) / ldexpl(1, (e < -1021 ? -1021 : e) - 53));
}

static void
functions_of_float64_keep_their_errors(void **state)
{
    (void)state;
    int rounds = draw_rounds(draw_long() ? 100 : 3);
    for (size_t i = 0; i < sizeof wides / sizeof *wides; i++) {
        krun_kernel kernel;
        if (!krun_compile(&k, lowered(&wides[i].f, TNB_F64), &kernel)) {
            krun_print_errors(&k);
            fail_msg("%s of float64 is not compiled", wides[i].f.name);
        }
        double *x, *y, *out, worst = 0, at = 0;
        const tn_expr *args[] = {tensor(TNB_F64, &x), tensor(TNB_F64, &y), tensor(TNB_F64, &out)};
        for (int r = 0; r < rounds; r++) {
            for (uint32_t j = 0; j < CHUNK; j++)
                x[j] = wide_sample(r ? j + CHUNK : j);
            assert_true(krun_call(&k, &kernel, tn_list_of(k.ctx, args, 3)));
            for (uint32_t j = 0; j < CHUNK; j++) {
                double e = wide_error(out[j], wides[i].exact((long double)x[j]));
                if (e > 1)
                    fail_msg("%s(%.17g) = %.17g, %.3g units off", wides[i].f.name, x[j], out[j], e);
                if (e > worst)
                    worst = e, at = x[j];
            }
        }
        printf("%s of float64: %.3g units in the last place, at %.17g\n", wides[i].f.name, worst,
               at);
        krun_kernel_free(&kernel);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_keep_their_errors),
                                       cmocka_unit_test(functions_of_float64_keep_their_errors)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
