/* SPDX-License-Identifier: Apache-2.0 */
/* The folding scalar operators: dtype matching, literals with the wrap and rounding of their dtype,
 * units, and that what must stay a node stays one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>
#include "tenon/core/expr.h"

static int
setup(void **state)
{
    *state = tn_ctx_new(NULL);
    return *state ? 0 : -1;
}

static int
teardown(void **state)
{
    tn_ctx_free(*state);
    return 0;
}

static void
expect_int(const tn_expr *e, tnb_dtype d, int64_t v)
{
    int64_t got;
    assert_true(tn_int_value(e, &got));
    assert_true(tnb_dtype_eq(tn_dtype_of(e), d));
    assert_int_equal(got, v);
}

static void
expect_float(const tn_expr *e, tnb_dtype d, double v)
{
    assert_int_equal(e->kind, TN_KIND_FLOAT_IMM);
    assert_true(tnb_dtype_eq(tn_dtype_of(e), d));
    assert_true(tn_as_float_imm(e)->value == v);
}

static void
literals_wrap(void **state)
{
    tn_ctx *c = *state;
    static const struct {
        tn_kind kind;
        uint8_t code, bits;
        int64_t a, b, want;
    } cases[] = {
        {TN_KIND_ADD, TNB_INT, 32, INT32_MAX, 1, INT32_MIN},
        {TN_KIND_ADD, TNB_UINT, 8, 250, 10, 4},
        {TN_KIND_SUB, TNB_UINT, 32, 0, 1, UINT32_MAX},
        {TN_KIND_MUL, TNB_INT, 8, 100, 2, -56},
        {TN_KIND_MUL, TNB_INT, 64, INT64_MAX, 2, -2},
        {TN_KIND_FLOOR_DIV, TNB_INT, 32, -7, 2, -4},
        {TN_KIND_FLOOR_MOD, TNB_INT, 32, -7, 2, 1},
        {TN_KIND_FLOOR_DIV, TNB_INT, 32, 7, -2, -4},
        {TN_KIND_FLOOR_MOD, TNB_INT, 32, 7, -2, -1},
        {TN_KIND_DIV, TNB_INT, 32, -7, 2, -3},
        {TN_KIND_MOD, TNB_INT, 32, -7, 2, -1},
        {TN_KIND_FLOOR_DIV, TNB_INT, 64, INT64_MIN, -1, INT64_MIN},
        {TN_KIND_FLOOR_MOD, TNB_INT, 64, INT64_MIN, -1, 0},
        {TN_KIND_DIV, TNB_INT, 32, INT32_MIN, -1, INT32_MIN},
        {TN_KIND_FLOOR_DIV, TNB_UINT, 64, -1, 2, INT64_MAX},
        {TN_KIND_MIN, TNB_UINT, 64, -1, 2, 2},
        {TN_KIND_MAX, TNB_INT, 64, -1, 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnb_dtype d = TNB_DTYPE(cases[i].code, cases[i].bits);
        const tn_expr *a = tn_int_imm_of(c, d, cases[i].a), *b = tn_int_imm_of(c, d, cases[i].b);
        expect_int(tn_bin(c, cases[i].kind, a, b), d, cases[i].want);
    }
}

static void
floats_round_to_their_dtype(void **state)
{
    tn_ctx *c = *state;
    const tn_expr *a = tn_float_imm_of(c, TNB_F32, 0.1), *b = tn_float_imm_of(c, TNB_F32, 0.2);
    expect_float(tn_add(c, a, b), TNB_F32, (double)(0.1f + 0.2f));
    expect_float(tn_add(c, tn_float_imm_of(c, TNB_F64, 0.1), tn_float_imm_of(c, TNB_F64, 0.2)),
                 TNB_F64, 0.1 + 0.2);
    /* half precision is not folded, but its units are */
    const tn_expr *h = tn_float_imm_of(c, TNB_F16, 0.5), *one = tn_float_imm_of(c, TNB_F16, 1);
    assert_int_equal(tn_add(c, h, one)->kind, TN_KIND_ADD);
    assert_ptr_equal(tn_mul(c, h, one), h);
    /* division by zero stays in the program */
    assert_int_equal(tn_div(c, a, tn_float_imm_of(c, TNB_F32, 0))->kind, TN_KIND_DIV);
}

static void
units_vanish(void **state)
{
    tn_ctx *c = *state;
    const tn_expr *x = tn_var_dtype(c, "x", TNB_I64), *zero = tn_i64(c, 0), *one = tn_i64(c, 1);
    assert_ptr_equal(tn_add(c, x, zero), x);
    assert_ptr_equal(tn_add(c, zero, x), x);
    assert_ptr_equal(tn_sub(c, x, zero), x);
    assert_ptr_equal(tn_mul(c, x, one), x);
    assert_ptr_equal(tn_mul(c, one, x), x);
    expect_int(tn_mul(c, x, zero), TNB_I64, 0);
    expect_int(tn_mul(c, zero, x), TNB_I64, 0);
    assert_ptr_equal(tn_floordiv(c, x, one), x);
    expect_int(tn_floordiv(c, zero, x), TNB_I64, 0);
    expect_int(tn_floormod(c, x, one), TNB_I64, 0);
    assert_int_equal(tn_sub(c, zero, x)->kind, TN_KIND_SUB);
    assert_int_equal(tn_sub(c, x, x)->kind, TN_KIND_SUB); /* only units, no algebra */
}

static void
dtypes_are_matched(void **state)
{
    tn_ctx *c = *state;
    const tn_expr *i32 = tn_var_dtype(c, "a", TNB_I32), *i64 = tn_var_dtype(c, "b", TNB_I64);
    const tn_expr *f16 = tn_var_dtype(c, "h", TNB_F16), *u8 = tn_var_dtype(c, "u", TNB_U8);
    const tn_expr *u32 = tn_var_dtype(c, "w", TNB_DTYPE(TNB_UINT, 32)),
                  *t = tn_var_dtype(c, "t", TNB_B8);
    const tn_expr *bf = tn_var_dtype(c, "bf", TNB_BF16);
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_add(c, i32, i64)), TNB_I64));
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_add(c, f16, i64)), TNB_F16));
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_mul(c, f16, tn_float_imm_of(c, TNB_F32, 2))), TNB_F32));
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_add(c, u8, i32)), TNB_I32));
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_add(c, u32, i32)), tn_dtype_of(u32)));
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_add(c, t, i32)), TNB_I32));
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_add(c, bf, i32)), TNB_BF16));
    /* a literal adopts the dtype without a cast */
    const tn_expr *e = tn_add(c, i64, tn_i32(c, 3));
    expect_int(tn_as_binary(e)->b, TNB_I64, 3);
    /* a scalar meets a vector by broadcast */
    const tn_expr *v = tn_broadcast_of(c, i32, 4);
    e = tn_add(c, v, i32);
    assert_int_equal(tn_dtype_of(e).lanes, 4);
    assert_int_equal(tn_as_binary(e)->b->kind, TN_KIND_BROADCAST);
}

static void
comparisons_and_logic_stay(void **state)
{
    tn_ctx *c = *state;
    const tn_expr *x = tn_var_dtype(c, "x", TNB_DTYPE(TNB_INT, 8));
    const tn_expr *e = tn_lt_of(c, x, tn_i32(c, 3));
    assert_true(tnb_dtype_eq(tn_dtype_of(tn_as_binary(e)->b), TNB_I8)); /* the literal takes int8 */
    assert_true(tnb_dtype_eq(tn_dtype_of(e), TNB_B8));
    assert_int_equal(tn_lt_of(c, tn_i32(c, 1), tn_i32(c, 3))->kind, TN_KIND_LT);
    assert_int_equal(tn_and_of(c, tn_bool(c, true), tn_bool(c, true))->kind, TN_KIND_AND);
    expect_int(tn_lt(c, tn_i32(c, 1), tn_i32(c, 3)), TNB_B8, 1);
    assert_ptr_equal(tn_and(c, tn_bool(c, true), e), e);
    assert_ptr_equal(tn_or(c, NULL, e), e);
    expect_int(tn_not(c, tn_bool(c, true)), TNB_B8, 0);
}

static void
casts_fold_literals(void **state)
{
    tn_ctx *c = *state;
    expect_int(tn_cast_to(c, TNB_U8, tn_i32(c, 300)), TNB_U8, 44);
    expect_int(tn_cast_to(c, TNB_I32, tn_float_imm_of(c, TNB_F32, -2.75)), TNB_I32, -2);
    expect_float(tn_cast_to(c, TNB_F16, tn_float_imm_of(c, TNB_F32, 0.1)), TNB_F16,
                 (double)tnb_half_to_float(tnb_float_to_half(0.1f)));
    expect_int(tn_cast_to(c, TNB_B8, tn_i32(c, 7)), TNB_B8, 1);
    expect_int(tn_literal(c, TNB_I64, 1e300), TNB_I64, -1);
    expect_int(tn_literal(c, TNB_I64, -1e300), TNB_I64, INT64_MIN);
    expect_int(tn_literal(c, TNB_I32, NAN), TNB_I32, 0);
    const tn_expr *x = tn_var_dtype(c, "x", TNB_I32);
    assert_ptr_equal(tn_cast_to(c, TNB_I32, x), x);
    tnb_dtype v4 = {TNB_INT, 64, 4};
    const tn_expr *r = tn_cast_to(c, v4, tn_ramp_of(c, x, tn_i32(c, 2), 4));
    assert_int_equal(r->kind, TN_KIND_RAMP);
}

static void
limits(void **state)
{
    tn_ctx *c = *state;
    expect_int(tn_min_value(c, TNB_I8), TNB_I8, -128);
    expect_int(tn_max_value(c, TNB_I8), TNB_I8, 127);
    expect_int(tn_max_value(c, TNB_U8), TNB_U8, 255);
    expect_int(tn_min_value(c, TNB_I64), TNB_I64, INT64_MIN);
    expect_float(tn_min_value(c, TNB_F32), TNB_F32, -340282346638528859811704183484516925440.0);
    expect_float(tn_max_value(c, TNB_F16), TNB_F16, 65504);
}

static void
bits_fold(void **state)
{
    tn_ctx *c = *state;
    const tn_expr *x = tn_var_dtype(c, "x", TNB_I32);
    expect_int(tn_bitwise_and(c, tn_i32(c, 12), tn_i32(c, 10)), TNB_I32, 8);
    expect_int(tn_bitwise_xor(c, tn_i32(c, 12), tn_i32(c, 10)), TNB_I32, 6);
    expect_int(tn_bitwise_not(c, tn_int_imm_of(c, TNB_U8, 1)), TNB_U8, 254);
    expect_int(tn_shift_left(c, tn_i32(c, 1), tn_i32(c, 31)), TNB_I32, INT32_MIN);
    expect_int(tn_shift_right(c, tn_i32(c, -8), tn_i32(c, 1)), TNB_I32, -4);
    assert_int_equal(tn_bitwise_and(c, x, tn_i32(c, 3))->kind, TN_KIND_CALL);
    assert_ptr_equal(tn_shift_right(c, x, tn_i32(c, 0)), x);
}

static void
mistakes_are_told(void **state)
{
    tn_ctx *c = *state;
    const tn_expr *x = tn_var_dtype(c, "x", TNB_I32), *t = tn_var_dtype(c, "t", TNB_B8);
    uint32_t n = 0;
#define TOLD(e)                                               \
    do {                                                      \
        assert_true(tn_is_error(e));                          \
        assert_int_equal(tnb_diags_errors(tn_diags(c)), ++n); \
    } while (0)
    TOLD(tn_floordiv(c, x, tn_i32(c, 0)));
    TOLD(tn_raw_binary(c, TN_KIND_ADD, x, tn_i64(c, 1)));
    TOLD(tn_raw_binary(c, TN_KIND_AND, x, x));
    TOLD(tn_raw_not(c, x));
    TOLD(tn_select_of(c, x, x, x));
    TOLD(tn_shift_left(c, x, tn_i32(c, 32)));
    TOLD(tn_add(c, x, tn_string(c, "no")));
    TOLD(tn_add(c, tn_broadcast_of(c, x, 4), tn_broadcast_of(c, x, 8)));
    TOLD(tn_bitwise_and(c, x, tn_float_imm_of(c, TNB_F32, 1)));
    /* an error node passes on silently */
    assert_true(tn_is_error(tn_add(c, x, tn_error_node(c))));
    assert_true(tn_is_error(tn_select_of(c, t, x, tn_error_node(c))));
    assert_int_equal(tnb_diags_errors(tn_diags(c)), n);
}

static void
choice_folds(void **state)
{
    tn_ctx *c = *state;
    const tn_expr *x = tn_var_dtype(c, "x", TNB_I32), *t = tn_var_dtype(c, "t", TNB_B8);
    assert_ptr_equal(tn_if_then_else(c, tn_bool(c, true), x, tn_i32(c, 1)), x);
    const tn_expr *e = tn_if_then_else(c, t, x, tn_i64(c, 1));
    assert_int_equal(e->kind, TN_KIND_CALL);
    assert_true(tnb_dtype_eq(tn_dtype_of(e), TNB_I64));
    expect_int(tn_ceildiv(c, tn_i64(c, 9), tn_i64(c, 4)), TNB_I64, 3);
    expect_int(tn_neg(c, tn_i32(c, 5)), TNB_I32, -5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(literals_wrap, setup, teardown),
        cmocka_unit_test_setup_teardown(floats_round_to_their_dtype, setup, teardown),
        cmocka_unit_test_setup_teardown(units_vanish, setup, teardown),
        cmocka_unit_test_setup_teardown(dtypes_are_matched, setup, teardown),
        cmocka_unit_test_setup_teardown(comparisons_and_logic_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(casts_fold_literals, setup, teardown),
        cmocka_unit_test_setup_teardown(limits, setup, teardown),
        cmocka_unit_test_setup_teardown(bits_fold, setup, teardown),
        cmocka_unit_test_setup_teardown(mistakes_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(choice_folds, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
