/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on scalars is defined for every operand. */
#include "tests/base/harness.h"
#include "tenon/base/scalar.h"
#include <math.h>

static void
divisions_round_towards_zero_and_down(void **state)
{
    static const int64_t a[] = {7, -7, 7, -7, 6, -6, 0}, b[] = {2, 2, -2, -2, -3, 3, -5},
                         quotient[] = {3, -3, -3, 3, -2, -2, 0}, rest[] = {1, -1, 1, -1, 0, 0, 0},
                         down[] = {3, -4, -4, 3, -2, -2, 0}, above[] = {1, 1, -1, -1, 0, 0, 0};
    (void)state;
    for (size_t i = 0; i < sizeof a / sizeof *a; i++) {
        assert_int_equal(tnb_div_i64(a[i], b[i]), quotient[i]);
        assert_int_equal(tnb_mod_i64(a[i], b[i]), rest[i]);
        assert_int_equal(tnb_floor_div_i64(a[i], b[i]), down[i]);
        assert_int_equal(tnb_floor_mod_i64(a[i], b[i]), above[i]);
    }
    assert_true(tnb_div_i64(INT64_MIN, -1) == INT64_MIN);
    assert_true(tnb_floor_div_i64(INT64_MIN, -1) == INT64_MIN);
    assert_int_equal(tnb_mod_i64(INT64_MIN, -1), 0);
    assert_int_equal(tnb_floor_mod_i64(INT64_MIN, -1), 0);
}

static void
integers_wrap_to_their_dtype(void **state)
{
    (void)state;
    assert_int_equal(tnb_wrap_i64(TNB_I8, 130), -126);
    assert_int_equal(tnb_wrap_i64(TNB_U8, -1), 255);
    assert_int_equal(tnb_wrap_i64(TNB_DTYPE(TNB_INT, 4), 9), -7);
    assert_int_equal(tnb_wrap_i64(TNB_DTYPE(TNB_UINT, 1), 3), 1);
    assert_int_equal(tnb_wrap_i64(TNB_B8, 256), 1);
    assert_true(tnb_wrap_i64(TNB_I64, INT64_MIN) == INT64_MIN);
}

static void
floats_round_to_their_dtype(void **state)
{
    (void)state;
    assert_true(tnb_round_f64(TNB_F32, 0.1) == (double)0.1f);
    assert_true(tnb_round_f64(TNB_F64, 0.1) == 0.1);
    assert_true(tnb_round_f64(TNB_F16, 2049) == 2048); /* a tie: to even */
    assert_true(tnb_round_f64(TNB_BF16, 257) == 256);
    assert_true(isinf(tnb_round_f64(TNB_F16, 1e6)));
    assert_true(isnan(tnb_round_f64(TNB_BF16, NAN)));
    assert_true(tnb_round_f64(TNB_DTYPE(TNB_FLOAT8_E4M3FN, 8), 1000) != 1000);
}

static void
conversions_to_integers_have_a_result_for_every_double(void **state)
{
    (void)state;
    assert_int_equal(tnb_f64_to_i64(-2.9), -2);
    assert_int_equal(tnb_f64_to_i64(NAN), 0);
    assert_true(tnb_f64_to_i64(1e300) == INT64_MAX && tnb_f64_to_i64(-INFINITY) == INT64_MIN);
    assert_true(tnb_f64_to_u64(0x1.8p63) == UINT64_C(0xc000000000000000));
    assert_true(tnb_f64_to_u64(INFINITY) == UINT64_MAX && tnb_f64_to_u64(-1) == UINT64_MAX);
    assert_int_equal(tnb_f64_to_u64(NAN), 0);
}

static void
functions_have_their_values(void **state)
{
    (void)state;
    /* each of one argument has a value at 1 */
    for (int id = 0; id < TNB_VM_MATH_pow; id++)
        assert_false(isnan(tnb_math1((tnb_vm_math)id, 1)));
    for (int id = TNB_VM_MATH_pow; id < TNB_VM_N_MATHS; id++) {
        assert_false(isnan(tnb_math2((tnb_vm_math)id, 1, 1)));
        assert_true(isnan(tnb_math1((tnb_vm_math)id, 1)));
    }
    assert_true(tnb_math1(TNB_VM_MATH_rsqrt, 4) == 0.5);
    assert_true(tnb_math1(TNB_VM_MATH_sigmoid, 0) == 0.5);
    assert_true(tnb_math1(TNB_VM_MATH_exp10, 2) == 100);
    assert_true(tnb_math1(TNB_VM_MATH_isinf, -INFINITY) == 1);
    assert_true(tnb_math1(TNB_VM_MATH_nearbyint, 2.5) == 2);
    assert_true(tnb_math2(TNB_VM_MATH_ldexp, 3, 4) == 48);
    assert_true(isinf(tnb_math2(TNB_VM_MATH_ldexp, 1, 1e300)));
    assert_true(tnb_math2(TNB_VM_MATH_ldexp, 1, -INFINITY) == 0);
    assert_true(isnan(tnb_math2(TNB_VM_MATH_ldexp, 1, NAN)));
    assert_true(isnan(tnb_math2(TNB_VM_MATH_exp, 1, 1)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divisions_round_towards_zero_and_down),
        cmocka_unit_test(integers_wrap_to_their_dtype),
        cmocka_unit_test(floats_round_to_their_dtype),
        cmocka_unit_test(conversions_to_integers_have_a_result_for_every_double),
        cmocka_unit_test(functions_have_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
