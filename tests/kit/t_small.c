/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels over elements of 8 bits and less, floats and packed integers, give the bits that the
 * reference interpreter gives: over all patterns of a byte, from all halves between two numbers, one by
 * one and in vectors, with two threads that share a byte. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "krun.h"
#include "tenon/kit/schedule.h"
#include "tenon/kit/te.h"

static krun k;

static const tnb_dtype floats[] = {
    {TNB_FLOAT8_E4M3FN, 8, 1},   {TNB_FLOAT8_E5M2, 8, 1},   {TNB_FLOAT8_E4M3FNUZ, 8, 1},
    {TNB_FLOAT8_E5M2FNUZ, 8, 1}, {TNB_FLOAT4_E2M1FN, 4, 1},
};
static const tnb_dtype ints[] = {{TNB_INT, 4, 1},  {TNB_UINT, 4, 1}, {TNB_INT, 2, 1},
                                 {TNB_UINT, 2, 1}, {TNB_INT, 1, 1},  {TNB_UINT, 1, 1}};
enum { N_FLOATS = sizeof floats / sizeof *floats, N_INTS = sizeof ints / sizeof *ints };
static const tnb_dtype large[] = {{TNB_FLOAT, 32, 1},  {TNB_FLOAT, 64, 1}, {TNB_FLOAT, 16, 1},
                                  {TNB_BFLOAT, 16, 1}, {TNB_INT, 8, 1},    {TNB_INT, 32, 1},
                                  {TNB_INT, 64, 1},    {TNB_UINT, 8, 1},   {TNB_BOOL, 8, 1}};
enum { N_LARGE = sizeof large / sizeof *large };

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

static tnb_dtype
small_dtype(int i)
{
    return i < N_FLOATS ? floats[i] : ints[i - N_FLOATS];
}

static const tn_node *
vector_of(tnb_dtype d, int64_t n, void **bytes)
{
    return tn_constant_of(k.ctx, tn_data_new(k.ctx, d, 1, &n, bytes));
}

/* y = f(x[, z]) of n elements; `how`: 0 as it is, 1 scheduled, 2 in vectors of 8. */
static const tn_node *
program(const tnb_dtype *in, uint32_t n_in, tnb_dtype out, int64_t n, int how,
        const tn_expr *(*f)(const tn_expr *const *x, tnb_dtype out))
{
    tnk_te *te = tnk_te_new(k.ctx);
    const tn_expr *dim = tn_i64(k.ctx, n), *x[2] = {0};
    const tn_node *inputs[2];
    for (uint32_t i = 0; i < n_in; i++)
        inputs[i] = tnk_te_input(te, i ? "z" : "x",
                                 tn_ty_tensor_dims(k.ctx, tn_listv(k.ctx, dim, NULL), in[i]));
    tnk_stage *s = tnk_te_stage(te, "y", &dim, 1, out);
    for (uint32_t i = 0; i < n_in; i++)
        x[i] = tnk_te_read_at(te, inputs[i], s->axes, 1);
    const tn_node *y = tnk_te_define(s, f(x, out));
    const tn_node *func = tnk_te_finish(te, &y, 1);
    if (how == 1)
        return krun_schedule(&k, func, "Fallback");
    if (how == 2) {
        tnk_sch *sch = tnk_sch_new(k.ctx, func);
        tnk_item *block, *loop, *part[2];
        assert_int_equal(tnk_sch_blocks(sch, &block, 1), 1);
        assert_int_equal(tnk_sch_loops(sch, block, &loop, 1), 1);
        assert_true(tnk_split(sch, loop, 8, part));
        assert_true(tnk_set_kind(sch, part[1], TN_FOR_VECTORIZED));
        func = tnk_sch_finish(sch);
    }
    return func;
}

/* Both run func; the bytes of the result are the same. */
static void
same(const tn_node *func, const tn_node *const *in, uint32_t n_in, tnb_dtype out, int64_t n)
{
    tnb_err err = {0};
    const tn_evaluator *eval = tn_find_evaluator(k.reg, "interp", &err);
    assert_non_null(eval);
    void *got, *want;
    tn_list a = {0}, b = {0};
    for (uint32_t i = 0; i < n_in; i++) {
        a = tn_list_append(k.ctx, a, in[i]);
        b = tn_list_append(k.ctx, b, in[i]);
    }
    const tn_node *y = vector_of(out, n, &got), *w = vector_of(out, n, &want);
    size_t bytes = (size_t)((n * out.bits + 7) / 8);
    memset(got, 0, bytes);
    memset(want, 0, bytes);
    a = tn_list_append(k.ctx, a, y);
    b = tn_list_append(k.ctx, b, w);
    if (!func || !krun_run(&k, func, a)) {
        krun_print_errors(&k);
        fail_msg("%s: not run", tnb_dtype_print(out).s);
    }
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", func);
    tn_eval_options opt = {0};
    if (!eval->run(eval->self, k.ctx, m, "f", b.at, b.n, &opt)) {
        krun_print_errors(&k);
        fail_msg("not interpreted");
    }
    for (int64_t i = 0; i < n; i++) {
        double x, z;
        tnb_dtype from = tn_as_constant(in[0])->data->dtype;
        assert_true(tnb_load_f64(got, out, (uint64_t)i, &x));
        assert_true(tnb_load_f64(want, out, (uint64_t)i, &z));
        if (!(x == z && signbit(x) == signbit(z)) && !(isnan(x) && isnan(z))) {
            double v = 0;
            (void)tnb_load_f64(tn_data_get(k.ctx, tn_as_constant(in[0])->data), from, (uint64_t)i,
                               &v);
            fail_msg("%s to %s, element %lld, of %.17g: %.17g, interpreted %.17g\n%s",
                     tnb_dtype_print(from).s, tnb_dtype_print(out).s, (long long)i, v, x, z,
                     k.last_source);
        }
    }
}

static const tn_expr *
converted(const tn_expr *const *x, tnb_dtype out)
{
    return tn_cast_to(k.ctx, out, x[0]);
}

static void
all_patterns_are_read(void **state)
{
    (void)state;
    for (int i = 0; i < N_FLOATS + N_INTS; i++)
        for (int j = 0; j < N_LARGE; j++) {
            tnb_dtype d = small_dtype(i);
            int64_t n = 256 * 8 / d.bits;
            void *bytes;
            const tn_node *x = vector_of(d, n, &bytes);
            for (int b = 0; b < 256; b++)
                ((uint8_t *)bytes)[b] = (uint8_t)b;
            same(program(&d, 1, large[j], n, (i + j) % 3, converted), &x, 1, large[j], n);
        }
}

/* Numbers of the format, what lies in the middle of two, and the next ones to that; then all sorts. */
static int64_t
fill(tnb_dtype target, tnb_dtype d, void *to, int64_t n)
{
    int64_t at = 0;
    for (unsigned code = 0; code < 256; code++) {
        uint8_t cell = (uint8_t)code, next = (uint8_t)(code + 1);
        double a = 0, b = 0;
        (void)tnb_load_f64(&cell, target, 0, &a);
        (void)tnb_load_f64(&next, target, 0, &b);
        double middle = a / 2 + b / 2;
        float f = (float)middle;
        const double v[] = {a,
                            middle,
                            (double)nextafterf(f, -INFINITY),
                            (double)nextafterf(f, INFINITY),
                            nextafter(middle, -INFINITY),
                            nextafter(middle, INFINITY)};
        for (size_t i = 0; i < sizeof v / sizeof *v && at < n; i++)
            (void)tnb_store_f64(to, d, (uint64_t)at++, v[i]);
    }
    const double special[] = {0.0,    -0.0,  INFINITY, -INFINITY, NAN,  1e30,  -1e30, 1e-30,
                              -1e-30, 248,   256,      464,       465,  480,   61440, 61439,
                              65536,  57344, 5,        7,         9e18, -9e18, 1e300};
    for (size_t i = 0; i < sizeof special / sizeof *special && at < n; i++)
        (void)tnb_store_f64(to, d, (uint64_t)at++, special[i]);
    uint64_t rng = 7;
    for (; at < n; at++) {
        rng = rng * 6364136223846793005u + 1442695040888963407u;
        (void)tnb_store_f64(to, d, (uint64_t)at,
                            ldexp((double)(int64_t)rng, (int)(rng >> 8) % 24 - 63));
    }
    return at;
}

static void
all_values_are_rounded(void **state)
{
    (void)state;
    enum { N = 4096 };
    for (int i = 0; i < N_FLOATS + N_INTS; i++)
        for (int j = 0; j < N_LARGE; j++) {
            tnb_dtype d = small_dtype(i);
            void *bytes;
            const tn_node *x = vector_of(large[j], N, &bytes);
            fill(d, large[j], bytes, N);
            same(program(&large[j], 1, d, N, (i + j + 1) % 3, converted), &x, 1, d, N);
        }
}

static const tn_expr *
chosen(const tn_expr *const *x, tnb_dtype out)
{
    return tn_if_then_else(k.ctx, tn_gt_of(k.ctx, x[1], tn_literal(k.ctx, TNB_F32, 0)), x[0],
                           tn_literal(k.ctx, out, 0));
}

static void
elements_are_moved(void **state)
{
    (void)state;
    for (int i = 0; i < N_FLOATS + N_INTS; i++) {
        tnb_dtype d[2] = {small_dtype(i), TNB_F32};
        int64_t n = 256 * 8 / d[0].bits;
        void *bytes, *which;
        const tn_node *in[2] = {vector_of(d[0], n, &bytes), vector_of(TNB_F32, n, &which)};
        for (int b = 0; b < 256; b++)
            ((uint8_t *)bytes)[b] = (uint8_t)b;
        for (int64_t b = 0; b < n; b++)
            ((float *)which)[b] = b % 3 ? 1 : -1;
        for (int how = 0; how < 2; how++)
            same(program(d, 2, d[0], n, how, chosen), in, 2, d[0], n);
    }
}

static tn_kind operation;

static const tn_expr *
operated(const tn_expr *const *x, tnb_dtype out)
{
    (void)out;
    return tn_bin(k.ctx, operation, x[0], x[1]);
}

static void
small_integers_wrap(void **state)
{
    (void)state;
    static const tn_kind kinds[] = {TN_KIND_ADD,       TN_KIND_SUB, TN_KIND_MUL,
                                    TN_KIND_DIV,       TN_KIND_MOD, TN_KIND_FLOOR_DIV,
                                    TN_KIND_FLOOR_MOD, TN_KIND_MIN, TN_KIND_MAX};
    for (int i = 0; i < N_INTS; i++)
        for (size_t o = 0; o < sizeof kinds / sizeof *kinds; o++) {
            tnb_dtype d[2] = {ints[i], ints[i]};
            void *a, *b;
            const tn_node *in[2] = {vector_of(d[0], 256, &a), vector_of(d[0], 256, &b)};
            bool division = kinds[o] >= TN_KIND_DIV && kinds[o] <= TN_KIND_FLOOR_MOD;
            for (uint64_t e = 0; e < 256; e++) {
                int64_t by = (int64_t)(e >> 4);
                assert_true(tnb_store_i64(a, d[0], e, (int64_t)e & 15));
                if (division && by % (1 << d[0].bits) == 0)
                    by = 1; /* the interpreter refuses a division by zero */
                assert_true(tnb_store_i64(b, d[0], e, by));
            }
            operation = kinds[o];
            for (int how = i % 2 ? 2 : 0; how < 3; how += 2)
                same(program(d, 2, d[0], 256, how, operated), in, 2, d[0], 256);
        }
}

static void
threads_share_bytes(void **state)
{
    (void)state;
    enum { N = 100003 };
    const tnb_dtype from = TNB_I32;
    void *bytes;
    const tn_node *x = vector_of(from, N, &bytes);
    for (int32_t i = 0; i < N; i++)
        ((int32_t *)bytes)[i] = i * 7 - 3;
    for (int i = 0; i < N_INTS; i++)
        for (int turn = 0; turn < 2; turn++)
            same(program(&from, 1, ints[i], N, 1, converted), &x, 1, ints[i], N);
    assert_non_null(strstr(k.last_source, "_shared("));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_patterns_are_read), cmocka_unit_test(all_values_are_rounded),
        cmocka_unit_test(elements_are_moved),    cmocka_unit_test(small_integers_wrap),
        cmocka_unit_test(threads_share_bytes),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
