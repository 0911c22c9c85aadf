/* SPDX-License-Identifier: Apache-2.0 */
/* Spelling, sizes and conversions of element types. */
#include "tests/base/harness.h"
#include "tenon/base/diag.h"
#include "tenon/base/dtype.h"
#include <math.h>
#include <stdlib.h>

static void
names_are_read_and_written(void **state)
{
    (void)state;
    static const char *const good[] = {
        "float32",         "float16",       "float64",       "bfloat16",       "int8",
        "int8x4",          "int4",          "uint1",         "bool",           "boolx4",
        "handle",          "void",          "float8_e4m3fn", "float8_e5m2x16", "float8_e4m3fnuz",
        "float8_e5m2fnuz", "float4_e2m1fn", "complex64",     "uint64x65535",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        tnb_dtype d;
        assert_true(tnb_dtype_parse(good[i], strlen(good[i]), &d));
        assert_string_equal(tnb_dtype_print(d).s, good[i]);
    }
    static const char *const bad[] = {
        "",          "floa",     "float3",         "float32x",
        "float32x0", "float032", "int99999999999", "int8x70000",
        "bool8",     "handle64", "float8_e4m3",    "int8 ",
        "x4",        "void4",    "bfloat32",       "float32x4x4",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tnb_dtype d = TNB_I8;
        assert_false(tnb_dtype_parse(bad[i], strlen(bad[i]), &d));
        assert_true(tnb_dtype_eq(d, TNB_I8));
    }
    tnb_dtype d;
    assert_true(tnb_dtype_parse("float", 5, &d) && tnb_dtype_eq(d, TNB_F32));
    assert_true(tnb_dtype_parse("int", 3, &d) && tnb_dtype_eq(d, TNB_I32));
}

static void
storage_packs_and_refuses_overflow(void **state)
{
    (void)state;
    uint64_t n;
    tnb_err err;
    assert_int_equal(tnb_dtype_storage(TNB_DTYPE(TNB_INT, 4), 5, &n, &err), TNB_OK);
    assert_int_equal(n, 3);
    assert_int_equal(tnb_dtype_storage(TNB_F64, 7, &n, &err), TNB_OK);
    assert_int_equal(n, 56);
    assert_int_equal(tnb_dtype_bytes((tnb_dtype){TNB_UINT, 8, 3}), 3);
    assert_int_equal(tnb_dtype_storage(TNB_F32, UINT64_MAX / 2, &n, &err), TNB_BOUNDS);
    assert_non_null(strstr(err.message, "float32"));
}

#ifdef __FLT16_MANT_DIG__ /* the compiler has the type */
static void
half_agrees_with_the_compiler(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        uint16_t in = (uint16_t)h;
        float f = tnb_half_to_float(in);
        _Float16 want;
        memcpy(&want, &in, 2);
        if (isnan((float)want)) {
            assert_true(isnan(f));
            assert_int_equal(tnb_float_to_half(f) & 0x7C00, 0x7C00);
            continue;
        }
        assert_true(f == (float)want);
        assert_int_equal(tnb_float_to_half(f), in);
        assert_int_equal(tnb_double_to_half((double)f), in);
    }
    srand(1);
    for (int i = 0; i < 300000; i++) {
        uint32_t u = (uint32_t)rand() << 16 ^ (uint32_t)rand();
        float f;
        memcpy(&f, &u, 4);
        if (isnan(f))
            continue;
        _Float16 want = (_Float16)f;
        uint16_t bits;
        memcpy(&bits, &want, 2);
        assert_int_equal(tnb_float_to_half(f), bits);
        double x = (double)f * (1 + 0x1p-40);
        want = (_Float16)x;
        memcpy(&bits, &want, 2);
        assert_int_equal(tnb_double_to_half(x), bits);
    }
    /* between two halves, and as near to there as doubles come; beyond the greatest one */
    for (uint16_t h = 0; h < 0x7C00; h++) {
        double lo = (double)tnb_half_to_float(h),
               hi = h == 0x7BFF ? 65536 : (double)tnb_half_to_float((uint16_t)(h + 1)),
               half = (lo + hi) / 2;
        const double near[] = {half, nextafter(half, 0), nextafter(half, 1e9), -half};
        for (int i = 0; i < 4; i++) {
            _Float16 want = (_Float16)near[i];
            uint16_t bits;
            memcpy(&bits, &want, 2);
            assert_int_equal(tnb_double_to_half(near[i]), bits);
        }
    }
    assert_int_equal(tnb_double_to_half(INFINITY), 0x7C00);
    assert_int_equal(tnb_double_to_half(-INFINITY), 0xFC00);
    assert_int_equal(tnb_double_to_half(0x1p-1074), 0);
    assert_int_equal(tnb_double_to_half(NAN) & 0x7E00, 0x7E00);
}
#endif

static void
every_code_of_a_small_float_survives(void **state)
{
    (void)state;
    const tnb_dtype d[] = {TNB_BF16,
                           TNB_DTYPE(TNB_FLOAT8_E4M3FN, 8),
                           TNB_DTYPE(TNB_FLOAT8_E5M2, 8),
                           TNB_DTYPE(TNB_FLOAT4_E2M1FN, 4),
                           TNB_DTYPE(TNB_FLOAT8_E4M3FNUZ, 8),
                           TNB_DTYPE(TNB_FLOAT8_E5M2FNUZ, 8)};
    for (int k = 0; k < 6; k++)
        for (uint32_t c = 0; c < 1u << d[k].bits; c++) {
            uint16_t in = (uint16_t)c, out = 0;
            double v, w;
            assert_true(tnb_load_f64(&in, d[k], 0, &v));
            assert_true(tnb_store_f64(&out, d[k], 0, v));
            assert_true(tnb_load_f64(&out, d[k], 0, &w));
            if (isnan(v))
                assert_true(isnan(w));
            else
                assert_int_equal(in, out);
        }
    uint8_t b;
    double v;
    tnb_store_f64(&b, d[1], 0, 448.0);
    tnb_load_f64(&b, d[1], 0, &v);
    assert_true(v == 448.0);
    tnb_store_f64(&b, d[1], 0, 1e6);
    tnb_load_f64(&b, d[1], 0, &v);
    assert_true(isnan(v));
    tnb_store_f64(&b, d[2], 0, 1e6);
    tnb_load_f64(&b, d[2], 0, &v);
    assert_true(isinf(v));
    /* one zero, whose negative is NaN; no infinity */
    for (int k = 4; k < 6; k++) {
        const double greatest = k == 4 ? 240 : 57344, least = k == 4 ? 0x1p-10 : 0x1p-17;
        const uint8_t one_less_than_nan = 0x7f, one = 1;
        assert_true(tnb_load_f64(&one_less_than_nan, d[k], 0, &v) && v == greatest);
        assert_true(tnb_load_f64(&one, d[k], 0, &v) && v == least);
        const double to_nan[] = {NAN, INFINITY, -INFINITY, 1e6, -1e6, greatest * 1.125};
        for (size_t i = 0; i < sizeof to_nan / sizeof *to_nan; i++)
            assert_true(tnb_store_f64(&b, d[k], 0, to_nan[i]) && b == 0x80);
        const double to_zero[] = {0.0, -0.0, least / 2, -least / 2};
        for (size_t i = 0; i < sizeof to_zero / sizeof *to_zero; i++)
            assert_true(tnb_store_f64(&b, d[k], 0, to_zero[i]) && b == 0);
    }
}

static void
elements_are_read_as_numbers(void **state)
{
    (void)state;
    unsigned char packed[2] = {0xF7, 0x08};
    int64_t n;
    assert_true(tnb_load_i64(packed, TNB_DTYPE(TNB_INT, 4), 0, &n) && n == 7);
    assert_true(tnb_load_i64(packed, TNB_DTYPE(TNB_INT, 4), 1, &n) && n == -1);
    assert_true(tnb_load_i64(packed, TNB_DTYPE(TNB_INT, 4), 2, &n) && n == -8);
    assert_true(tnb_store_i64(packed, TNB_DTYPE(TNB_UINT, 4), 1, 0x23));
    assert_int_equal(packed[0], 0x37);
    uint8_t u8;
    assert_true(tnb_store_i64(&u8, TNB_U8, 0, -1) && u8 == 255);
    assert_true(tnb_store_f64(&u8, TNB_B8, 0, 0.5) && u8 == 1);
    int32_t i32;
    assert_true(tnb_store_f64(&i32, TNB_I32, 0, -2.9) && i32 == -2);
    assert_true(tnb_store_f64(&i32, TNB_I32, 0, NAN) && i32 == 0);
    double v;
    uint64_t u64 = UINT64_MAX;
    assert_true(tnb_load_f64(&u64, TNB_DTYPE(TNB_UINT, 64), 0, &v) && v == 0x1p64);
    assert_false(tnb_load_f64(&u64, TNB_DTYPE(TNB_COMPLEX, 64), 0, &v));
    assert_false(tnb_load_i64(&u64, TNB_F32, 0, &n));
    assert_false(tnb_load_f64(&u64, (tnb_dtype){TNB_FLOAT, 32, 2}, 0, &v));
}

/* Exactly those that have a spelling; void is none. */
static void
there_are_no_other_types(void **state)
{
    (void)state;
    static const uint16_t lanes[] = {0, 1, 3, UINT16_MAX};
    int found = 0;
    for (int code = 0; code < 256; code++)
        for (int bits = 0; bits < 256; bits++)
            for (int i = 0; i < 4; i++) {
                tnb_dtype d = {(uint8_t)code, (uint8_t)bits, lanes[i]}, again;
                tnb_dtype_text t = tnb_dtype_print(d);
                bool spelled =
                    bits && tnb_dtype_parse(t.s, strlen(t.s), &again) && tnb_dtype_eq(d, again);
                assert_int_equal(tnb_dtype_exists(d), spelled);
                found += spelled;
            }
    assert_int_equal(found, 3 * (7 + 7 + 3 + 1 + 1 + 2 + 1 + 5));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_and_written),
        cmocka_unit_test(there_are_no_other_types),
        cmocka_unit_test(storage_packs_and_refuses_overflow),
#ifdef __FLT16_MANT_DIG__
        cmocka_unit_test(half_agrees_with_the_compiler),
#endif
        cmocka_unit_test(every_code_of_a_small_float_survives),
        cmocka_unit_test(elements_are_read_as_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
