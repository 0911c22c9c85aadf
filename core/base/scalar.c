/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on scalars: rounding, conversion, the functions of VM code. */
#include "config.h"
#include "tenon/base/scalar.h"

#include <math.h>

double
tnb_round_f64(tnb_dtype d, double v)
{
    uint64_t cell = 0;
    d.lanes = 1;
    if (d.code == TNB_FLOAT && d.bits == 32)
        return (double)(float)v;
    if (tnb_dtype_is_float(d) && d.bits < 64 && tnb_store_f64(&cell, d, 0, v))
        tnb_load_f64(&cell, d, 0, &v);
    return v;
}

int64_t
tnb_f64_to_i64(double v)
{
    if (isnan(v))
        return 0;
    return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

uint64_t
tnb_f64_to_u64(double v)
{
    if (!(v >= 0x1p63))
        return (uint64_t)tnb_f64_to_i64(v);
    return v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
}

double
tnb_math1(tnb_vm_math id, double x)
{
    switch (id) {
#define CASE(f)           \
    case TNB_VM_MATH_##f: \
        return f(x);
#define TEST(f)           \
    case TNB_VM_MATH_##f: \
        return f(x) != 0;
        /* clang-format off */
    CASE(exp) CASE(exp2) CASE(exp10) CASE(log) CASE(log2) CASE(log10) CASE(log1p)
    CASE(sqrt) CASE(sin) CASE(cos) CASE(tan) CASE(sinh) CASE(cosh) CASE(tanh)
    CASE(asin) CASE(acos) CASE(atan) CASE(asinh) CASE(acosh) CASE(atanh) CASE(erf) CASE(floor)
    CASE(ceil) CASE(round) CASE(nearbyint) CASE(trunc) CASE(fabs)
    TEST(isnan) TEST(isinf) TEST(isfinite)
    case TNB_VM_MATH_rsqrt:
        return 1 / sqrt(x);
    case TNB_VM_MATH_sigmoid:
        return 1 / (1 + exp(-x));
    /* clang-format on */
    default:
        return NAN;
    }
}

double
tnb_math2(tnb_vm_math id, double x, double y)
{
    switch (id) {
    case TNB_VM_MATH_pow:
        return pow(x, y);
    case TNB_VM_MATH_fmod:
        return fmod(x, y);
    case TNB_VM_MATH_atan2:
        return atan2(x, y);
    case TNB_VM_MATH_hypot:
        return hypot(x, y);
    case TNB_VM_MATH_copysign:
        return copysign(x, y);
    case TNB_VM_MATH_nextafter:
        return nextafter(x, y);
    case TNB_VM_MATH_ldexp: /* beyond 2^-100000 .. 2^100000 the result is 0 or infinite anyway */
        return isnan(y) ? y : ldexp(x, (int)fmax(fmin(y, 100000), -100000));
    default:
        return NAN;
    }
}
