/* SPDX-License-Identifier: Apache-2.0 */
/* The vector functions of emitted source keep their stated errors: over all exponents and at special values; with
 * TENON_LONG for every float32 there is (pairs: a thousand million drawn, and every base with some exponents). With fused
 * multiply-adds and without. Prints the greatest errors that it met. Arguments: the functions to try (all).
 *
 * The C library's functions of double are the reference. Where the library has them for vectors, those look first,
 * and what they find wrong is judged by the others. */
#include <dlfcn.h>
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
#include "tenon/kit/te.h"

enum { CHUNK = 1 << 16, ALL = 1 << 16 /* chunks: 2^32 arguments */, PAIRS = 1 << 14 /* chunks */ };
static krun k;
static char *const *only; /* names of functions; NULL: all */

static int
open_all(void **state)
{
    (void)state;
    draw_seed(20261122);
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
    double (*exact2)(double x, double y);
    double ulps;
    double least;  /* results below may come out as 0 */
    double most;   /* float32 results of larger arguments are that of this one; 0: none such */
    bool positive; /* no number for negative arguments */
} function;

static const function functions[] = {
    {"exp", exp, NULL, 3, 1.67e-38, 200, false},
    {"log", log, NULL, 1.5, 0, 0, true},
    {"tanh", tanh, NULL, 8, 1.18e-38, 20, false},
    {"sigmoid", sigmoid, NULL, 4, 1.18e-38, 200, false},
    {"erf", erf, NULL, 9, 1.18e-38, 10, false},
    {"sqrt", sqrt, NULL, 0.51, 0, 0, false},
    {"floor", floor, NULL, 0, 0, 0, false},
    {"log2", log2, NULL, 2.5, 0, 0, true},
    {"log1p", log1p, NULL, 2, 0, 0, false},
    {"log10", log10, NULL, 2.5, 0, 0, true},
    {"sin", sin, NULL, 3, 0, 0, false},
    {"cos", cos, NULL, 3, 0, 0, false},
    {"rsqrt", rsqrt, NULL, 1.5, 0, 0, false},
    {"pow", NULL, pow, 0.6, 0, 0, false},
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
    0.0f,   -0.0f,           1.0f,       -1.0f,       0.5f,        -0.5f,       2.0f,    -2.0f,
    3.0f,   -3.0f,           88.7f,      88.8f,       -87.3f,      1e-40f,      -1e-40f, 3e38f,
    -3e38f, 0.35f,           -0.35f,     0.7f,        0.69999f,    16777215.0f, 1e-30f,  INFINITY,
    NAN,    -INFINITY,       8388607.5f, -8388609.0f, 0.99999994f, 1.00000012f, -103.9f, -104.5f,
    1e-45f, 1.17549435e-38f, 1.5f,       -2.5f,       4.0f,        -149.0f,     -150.0f, 128.0f,
};
enum { SPECIAL = sizeof special / sizeof special[0] };

/* Special values, then half of them in [-12, 12], half over all bit patterns. */
static float
sample(uint32_t i)
{
    if (i < SPECIAL)
        return special[i];
    return i % 2 ? (float)((double)i / CHUNK * 24 - 12) : float_of(i * 65537u + i);
}

/* All pairs of special values first; then any two floats, or two with a power that has an exponent, some of them whole. */
static void
sample_pair(uint32_t i, float *x, float *y)
{
    uint32_t a = (uint32_t)(draw_next() >> 32), b = (uint32_t)(draw_next() >> 32);
    *x = float_of(a);
    *y = float_of(b);
    if (i < SPECIAL * SPECIAL) {
        *x = special[i / SPECIAL];
        *y = special[i % SPECIAL];
    } else if (i % 8) {
        *x = i % 8 < 3 ? (float)a * 0x1p-31f : fabsf(*x);
        *y = (float)((double)(int32_t)b * 0x1p-31 * 152 / log2((double)*x));
        if (i % 8 == 7) {
            *y = rintf(*y);
            *x = -*x;
        }
    }
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

enum { MACHINES = 2 };
static const char *const machines[MACHINES] = {"native", "x86-64-v2"};

/* A function, the arguments and results of a chunk, and what was met. */
typedef struct run {
    const function *f;
    float *x, *y, *out[MACHINES];
    double worst[MACHINES], at[MACHINES][2];
    double *want; /* by vectors */
    bool vectors; /* look first, */
    void *vector; /* the library's for four doubles, or an instruction */
} run;

static void
check_one(run *r, int m, int64_t i)
{
    double x = (double)r->x[i], y = (double)r->y[i], got = (double)r->out[m][i],
           want = r->f->exact ? r->f->exact(x) : r->f->exact2(x, y),
           e = error_of(r->f, r->out[m][i], want);
    if (e > r->f->ulps)
        fail_msg("%s, %s(%.9g%s%.9g) = %.9g, exactly %.9g", machines[m], r->f->name, x,
                 r->f->exact ? "; " : ", ", y, got, want);
    if (e > r->worst[m]) {
        r->worst[m] = e;
        r->at[m][0] = x;
        r->at[m][1] = y;
    }
}

#if defined(__x86_64__) && defined(__GLIBC__)
#include <immintrin.h>

#define VECTORS __attribute__((target("avx2,fma")))

/* Whether there are vectors, and in them the function that this one is or is made of. */
static void
find_vector(run *r)
{
    char name[32];
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return;
    void *lib = dlopen("libmvec.so.1", RTLD_NOW); /* stays: the C library's */
    snprintf(name, sizeof name, "_ZGVdN4v%s_%s", r->f->exact2 ? "v" : "",
             r->f->exact == sigmoid ? "exp" : r->f->name);
    r->vector = lib ? dlsym(lib, name) : NULL;
    r->vectors = r->vector || r->f->exact == sqrt || r->f->exact == rsqrt || r->f->exact == floor;
}

VECTORS static __m256d
reference(const run *r, __m256d x, __m256d y)
{
    union {
        void *any;
        __m256d (*one)(__m256d);
        __m256d (*two)(__m256d, __m256d);
    } v = {r->vector};
    if (r->f->exact2)
        return v.two(x, y);
    if (r->f->exact == sigmoid)
        return 1 / (1 + v.one(-x));
    if (r->f->exact == sqrt)
        return _mm256_sqrt_pd(x);
    if (r->f->exact == rsqrt)
        return 1 / _mm256_sqrt_pd(x);
    return r->vector ? v.one(x) : _mm256_floor_pd(x);
}

/* Not for arguments that the library's vectors leave to its other functions, as far as their results are plain. */
VECTORS static void
fill_want(run *r, int64_t n)
{
    const double most = r->f->most > 0 ? r->f->most : (double)INFINITY;
    const __m256d high = _mm256_set1_pd(most), low = _mm256_set1_pd(-most), one = _mm256_set1_pd(1),
                  none = _mm256_set1_pd((double)NAN);
    for (int64_t i = 0; i < n; i += 4) {
        /* the second operand stays where the first is no number */
        __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(r->x + i)),
                y = _mm256_cvtps_pd(_mm_loadu_ps(r->y + i)),
                negative = _mm256_and_pd(x, r->f->positive
                                                ? _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_LT_OQ)
                                                : _mm256_setzero_pd());
        x = _mm256_max_pd(low, _mm256_min_pd(high, x));
        _mm256_storeu_pd(r->want + i,
                         _mm256_blendv_pd(reference(r, _mm256_blendv_pd(x, one, negative), y), none,
                                          negative));
    }
}

/* What is worse than all before is judged. */
VECTORS static void
check_vectors(run *r, int m, int64_t n)
{
    const __m256d magnitude = _mm256_castsi256_pd(_mm256_set1_epi64x(INT64_MAX)),
                  power = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7ff0000000000000)),
                  least = _mm256_set1_pd(0x1p-126), above = _mm256_set1_pd((double)INFINITY);
    __m256d worst = _mm256_set1_pd(r->worst[m]);
    for (int64_t i = 0; i < n; i += 4) {
        __m256d want = _mm256_loadu_pd(r->want + i),
                got = _mm256_cvtps_pd(_mm_loadu_ps(r->out[m] + i)),
                unit = _mm256_max_pd(_mm256_and_pd(want, power), least) * 0x1p-23,
                ulps = _mm256_and_pd(got - want, magnitude) / unit,
                worse = _mm256_cmp_pd(ulps, worst, _CMP_NLE_UQ);
        if (!_mm256_movemask_pd(worse))
            continue;
        __m256d rounded = _mm256_cvtps_pd(_mm256_cvtpd_ps(want)),
                infinite =
                    _mm256_and_pd(_mm256_cmp_pd(got, rounded, _CMP_EQ_OQ),
                                  _mm256_cmp_pd(_mm256_and_pd(got, magnitude), above, _CMP_EQ_OQ)),
                no_number = _mm256_and_pd(_mm256_cmp_pd(got, got, _CMP_UNORD_Q),
                                          _mm256_cmp_pd(want, want, _CMP_UNORD_Q));
        if (_mm256_movemask_pd(_mm256_andnot_pd(_mm256_or_pd(infinite, no_number), worse))) {
            for (int64_t j = i; j < i + 4; j++)
                check_one(r, m, j);
            worst = _mm256_set1_pd(r->worst[m]);
        }
    }
}
#else
static void
find_vector(run *r)
{
    (void)r;
}

static void
fill_want(run *r, int64_t n)
{
    (void)r;
    (void)n;
}

static void
check_vectors(run *r, int m, int64_t n)
{
    (void)r;
    (void)m;
    (void)n;
}
#endif

static void
check(run *r, int64_t n)
{
    if (r->vectors)
        fill_want(r, n);
    for (int m = 0; m < MACHINES; m++) {
        if (r->vectors)
            check_vectors(r, m, n);
        for (int64_t i = 0; i < n && !r->vectors; i++)
            check_one(r, m, i);
    }
}

/* ---- runs ---- */

/* y = f(x) or f(x, y) for a chunk of elements. */
static const tn_node *
kernel_of(const function *f)
{
    tnk_te *te = tnk_te_new(k.ctx);
    const tn_node *vector =
        tn_ty_tensor_dims(k.ctx, tn_listv(k.ctx, tn_i64(k.ctx, CHUNK), NULL), TNB_F32);
    const tn_node *x = tnk_te_input(te, "x", vector), *y = tnk_te_input(te, "y", vector);
    tnk_stage *s = tnk_te_stage_like(te, "out", x, TNB_F32);
    const tn_expr *both[] = {tnk_te_read_at(te, x, s->axes, 1), tnk_te_read_at(te, y, s->axes, 1)};
    const tn_node *out =
        tnk_te_define(s, tn_intrin_named(k.ctx, f->name,
                                         (tn_list){(const tn_node **)both, f->exact2 ? 2 : 1}));
    return krun_schedule(&k, tnk_te_finish(te, &out, 1), "Elementwise");
}

/* The arguments of a chunk; false when there is none. */
static bool
fill(const function *f, bool all, uint32_t chunk, float *x, float *y)
{
    static const float exponents[] = {2.4f, -5};
    enum { EXPONENTS = sizeof exponents / sizeof exponents[0] };
    if (chunk >= (!all ? 1 : f->exact ? ALL : PAIRS + EXPONENTS * ALL))
        return false;
    if (f->exact2 && chunk < PAIRS) {
        for (uint32_t i = 0; i < CHUNK; i++)
            sample_pair(chunk ? SPECIAL * SPECIAL + i : i, &x[i], &y[i]);
        return true;
    }
    uint32_t from = f->exact2 ? chunk - PAIRS : chunk;
    for (uint32_t i = 0; i < CHUNK; i++) {
        x[i] = all ? float_of(from * CHUNK + i) : sample(i);
        y[i] = exponents[from / ALL];
    }
    return true;
}

static const tn_node *
vector_of(int64_t n, float **data)
{
    void *bytes;
    const tn_node *c = tn_constant_of(k.ctx, tn_data_new(k.ctx, TNB_F32, 1, &n, &bytes));
    *data = bytes;
    return c;
}

static void
use_machine(int m)
{
    const tn_node *mcpu = tn_string(k.ctx, machines[m]);
    const tn_node *attrs = k.kind->probe(k.ctx, tn_dictv(k.ctx, "mcpu", mcpu, NULL), NULL);
    k.target = tn_as_target(tn_target_of(k.ctx, "cpu", attrs));
}

static bool
is_wanted(const function *f)
{
    bool named = !only;
    for (char *const *name = only; name && *name; name++)
        named |= !strcmp(*name, f->name);
    return named;
}

static void
errors_are_as_stated(void **state)
{
    (void)state;
    static double want[CHUNK];
    run r = {.want = want};
    const tn_node *x = vector_of(CHUNK, &r.x), *y = vector_of(CHUNK, &r.y), *out[MACHINES];
    for (int m = 0; m < MACHINES; m++)
        out[m] = vector_of(CHUNK, &r.out[m]);
    k.threads = 1;
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        krun_kernel code[MACHINES];
        if (!is_wanted(&functions[f]))
            continue;
        r = (run){&functions[f], r.x, r.y, {r.out[0], r.out[1]}, .want = want};
        find_vector(&r);
        for (int m = 0; m < MACHINES; m++) {
            use_machine(m);
            assert_true(krun_compile(&k, kernel_of(r.f), &code[m]));
        }
        for (uint32_t i = 0; fill(r.f, draw_long(), i, r.x, r.y); i++) {
            for (int m = 0; m < MACHINES; m++)
                assert_true(krun_call(&k, &code[m], tn_listv(k.ctx, x, y, out[m], NULL)));
            check(&r, CHUNK);
        }
        for (int m = 0; m < MACHINES; m++) {
            krun_kernel_free(&code[m]);
            print_message("%-9s %-8s %.4f of %g ulp, at %.9g", machines[m], r.f->name, r.worst[m],
                          r.f->ulps, r.at[m][0]);
            print_message(r.f->exact2 ? ", %.9g\n" : "\n", r.at[m][1]);
        }
    }
}

int
main(int argc, char **argv)
{
    only = argc > 1 ? argv + 1 : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_as_stated),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
