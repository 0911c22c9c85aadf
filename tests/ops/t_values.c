/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that legalized operators give on the interpreter, against formulas written here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "tops.h"

#define F32(...) tops_const(t, TNB_F32, NULL, SHAPE(__VA_ARGS__))
#define ATTRS(...) tn_dictv(t->ctx, __VA_ARGS__, NULL)
#define INTS(...) \
    tn_int_array(t->ctx, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)
#define INT(v) tn_i64(t->ctx, v)
#define RUN(op, attrs, ...)                                  \
    tops_run(t, op, attrs, (const tn_expr *[]){__VA_ARGS__}, \
             sizeof((const tn_expr *[]){__VA_ARGS__}) / sizeof(void *))

/* The elements that tops_const gives without values. */
static double
pattern(int64_t i)
{
    return (double)((i * 7 + 3) % 17) / 4 - 2;
}

static void
near(tops *t, const tn_expr *value, uint64_t i, double wanted)
{
    if (!value)
        tops_print_errors(t);
    assert_non_null(value);
    double got = tops_at(t, value, i);
    if (!(fabs(got - wanted) <= 1e-5 + 1e-5 * fabs(wanted)))
        fail_msg("element %d is %.9g, expected %.9g", (int)i, got, wanted);
}

static void
elementwise_and_reductions(void **state)
{
    tops *t = *state;
    const tn_expr *x = F32(3, 4), *v;
    v = RUN("nn.gelu", NULL, x);
    for (int i = 0; i < 12; i++)
        near(t, v, (uint64_t)i, pattern(i) * 0.5 * (1 + erf(pattern(i) / sqrt(2))));
    v = RUN("add", NULL, x, F32(3, 1));
    for (int i = 0; i < 12; i++)
        near(t, v, (uint64_t)i, pattern(i) + pattern(i / 4));
    v = RUN("variance", ATTRS("axis", INTS(1)), x);
    for (int r = 0; r < 3; r++) {
        double mean = 0, sum = 0;
        for (int i = 0; i < 4; i++)
            mean += pattern(4 * r + i) / 4;
        for (int i = 0; i < 4; i++)
            sum += (pattern(4 * r + i) - mean) * (pattern(4 * r + i) - mean) / 4;
        near(t, v, (uint64_t)r, sum);
    }
    v = RUN("argmax", ATTRS("axis", INT(0)),
            tops_const(t, TNB_F32, VALUES(1, 5, 3, 5, 3, 5), SHAPE(3, 2)));
    near(t, v, 0, 1); /* the first of equal ones */
    near(t, v, 1, 0);
    v = RUN("floor_mod", NULL, tops_const(t, TNB_I32, VALUES(-7, 7), SHAPE(2)), tn_i32(t->ctx, 3));
    near(t, v, 0, 2);
    near(t, v, 1, 1);
    v = RUN("max", NULL, tops_const(t, TNB_F32, VALUES(-INFINITY, -INFINITY), SHAPE(2)));
    assert_true(isinf(tops_at(t, v, 0)) && tops_at(t, v, 0) < 0);
}

static void
softmax_does_not_overflow(void **state)
{
    tops *t = *state;
    const tn_expr *v =
        RUN("nn.softmax", NULL, tops_const(t, TNB_F32, VALUES(1000, 1001, 1002), SHAPE(3)));
    for (int i = 0; i < 3; i++)
        near(t, v, (uint64_t)i, exp(i - 2) / (1 + exp(-1) + exp(-2)));
}

static void
convolution_is_the_sum_of_products(void **state)
{
    tops *t = *state;
    enum { C = 4, H = 5, W = 6, O = 6, K = 3, G = 2, OH = 3, OW = 4 };
    const tn_expr *v =
        RUN("nn.conv2d",
            ATTRS("padding", INTS(1, 0, 1, 0), "strides", INTS(2, 1), "groups", INT(G)),
            F32(1, C, H, W), F32(O, C / G, K, K));
    for (int o = 0; o < O; o++)
        for (int y = 0; y < OH; y++)
            for (int x = 0; x < OW; x++) {
                double sum = 0;
                for (int c = 0; c < C / G; c++)
                    for (int i = 0; i < K; i++)
                        for (int j = 0; j < K; j++) {
                            int row = 2 * y + i - 1, in = o / (O / G) * (C / G) + c;
                            if (row >= 0 && row < H)
                                sum += pattern((in * H + row) * W + x + j) *
                                       pattern(((o * (C / G) + c) * K + i) * K + j);
                        }
                near(t, v, (uint64_t)((o * OH + y) * OW + x), sum);
            }
}

/* A transposed convolution scatters every input element, times the kernel. */
static void
transposed_convolution_scatters(void **state)
{
    tops *t = *state;
    enum { I = 2, L = 4, O = 3, K = 3, S = 2, OUT = (L - 1) * S + K - 1 + 1 - 2 };
    double sum[O][OUT] = {{0}};
    const tn_expr *v = RUN("nn.conv1d_transpose", ATTRS("strides", INTS(S), "padding", INTS(1)),
                           F32(1, I, L), F32(I, O, K));
    for (int c = 0; c < I; c++)
        for (int i = 0; i < L; i++)
            for (int o = 0; o < O; o++)
                for (int k = 0; k < K; k++) {
                    int at = i * S + k - 1;
                    if (at >= 0 && at < OUT)
                        sum[o][at] += pattern(c * L + i) * pattern((c * O + o) * K + k);
                }
    for (int o = 0; o < O; o++)
        for (int i = 0; i < OUT; i++)
            near(t, v, (uint64_t)(o * OUT + i), sum[o][i]);
}

static void
pooling_leaves_padding_out(void **state)
{
    tops *t = *state;
    const tn_expr *x = tops_const(t, TNB_F32, VALUES(-1, -2, -3, -4, -5), SHAPE(1, 1, 5));
    const tn_node *attrs = ATTRS("pool_size", INTS(3), "strides", INTS(2), "padding", INTS(1));
    const double most[3] = {-1, -2, -4}, mean[3] = {-1.5, -3, -4.5};
    const tn_expr *max = RUN("nn.max_pool1d", attrs, x), *avg = RUN("nn.avg_pool1d", attrs, x);
    for (int i = 0; i < 3; i++) {
        near(t, max, (uint64_t)i, most[i]);
        near(t, avg, (uint64_t)i, mean[i]);
    }
}

static void
products_of_matrices(void **state)
{
    tops *t = *state;
    const tn_expr *v = RUN("matmul", NULL, F32(2, 3, 4), F32(4, 5));
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 5; j++) {
                double sum = 0;
                for (int k = 0; k < 4; k++)
                    sum += pattern((b * 3 + i) * 4 + k) * pattern(k * 5 + j);
                near(t, v, (uint64_t)((b * 3 + i) * 5 + j), sum);
            }
    v = RUN("det", NULL, tops_const(t, TNB_F32, VALUES(0, 2, 1, 3), SHAPE(2, 2)));
    near(t, v, 0, -2);
}

static void
places_of_elements(void **state)
{
    tops *t = *state;
    const tn_expr *x = F32(2, 3), *v;
    v = RUN("permute_dims", NULL, x);
    for (int i = 0; i < 6; i++)
        near(t, v, (uint64_t)i, pattern(i % 2 * 3 + i / 2));
    v = RUN("take", ATTRS("axis", INT(1)), x, tops_const(t, TNB_I64, VALUES(2, -3), SHAPE(2)));
    for (int i = 0; i < 4; i++)
        near(t, v, (uint64_t)i, pattern(i / 2 * 3 + (i % 2 ? 0 : 2)));
    v = RUN("scatter_elements", ATTRS("reduction", tn_string(t->ctx, "add")), F32(3),
            tops_const(t, TNB_I64, VALUES(1, 1), SHAPE(2)),
            tops_const(t, TNB_F32, VALUES(10, 20), SHAPE(2)));
    for (int i = 0; i < 3; i++)
        near(t, v, (uint64_t)i, pattern(i) + (i == 1 ? 30 : 0));
    v = RUN("cumsum", ATTRS("axis", INT(0), "exclusive", tn_bool(t->ctx, true)),
            tops_const(t, TNB_F32, VALUES(1, 2, 4), SHAPE(3)));
    for (int i = 0; i < 3; i++)
        near(t, v, (uint64_t)i, i == 2 ? 3 : i);
}

/* Every length up to 20: odd runs, powers of two; equal elements keep their order. */
static void
sorting_is_stable(void **state)
{
    tops *t = *state;
    double values[20];
    for (int i = 0; i < 20; i++)
        values[i] = i * 7 % 5;
    for (int n = 1; n <= 20; n++) {
        const tn_expr *v = RUN("argsort", NULL, tops_const(t, TNB_F32, values, SHAPE(n)));
        assert_non_null(v);
        for (int i = 1; i < n; i++) {
            int a = (int)tops_at(t, v, (uint64_t)i - 1), b = (int)tops_at(t, v, (uint64_t)i);
            assert_true(values[a] < values[b] || (values[a] == values[b] && a < b));
        }
    }
}

static tops shared;

static int
open_all(void **state)
{
    *state = &shared;
    return tops_open(&shared) && shared.eval ? 0 : -1;
}

static int
close_all(void **state)
{
    tops_close(*state);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_and_reductions),
        cmocka_unit_test(softmax_does_not_overflow),
        cmocka_unit_test(convolution_is_the_sum_of_products),
        cmocka_unit_test(transposed_convolution_scatters),
        cmocka_unit_test(pooling_leaves_padding_out),
        cmocka_unit_test(products_of_matrices),
        cmocka_unit_test(places_of_elements),
        cmocka_unit_test(sorting_is_stable),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
