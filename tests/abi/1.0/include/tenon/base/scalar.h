/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on scalars, as tensor programs and VM code mean it: defined for every operand.
 * Integers are 64 bits, kept sign- or zero-extended; floats are doubles. */
#ifndef TENON_BASE_SCALAR_H
#define TENON_BASE_SCALAR_H

#include "tenon/base/dtype.h"
#include "tenon/base/vmcode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Quotient and remainder, rounded towards zero or down. b is not 0; the least integer divided by
 * -1 wraps to itself. */
static inline int64_t
tnb_div_i64(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static inline int64_t
tnb_mod_i64(int64_t a, int64_t b)
{
    return b == -1 ? 0 : a % b;
}
static inline int64_t
tnb_floor_div_i64(int64_t a, int64_t b)
{
    return tnb_div_i64(a, b) - (tnb_mod_i64(a, b) != 0 && (a < 0) != (b < 0));
}
static inline int64_t
tnb_floor_mod_i64(int64_t a, int64_t b)
{
    int64_t r = tnb_mod_i64(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* The integer of dtype `d` (an integer or bool) that has the low bits of v; a bool is v != 0. */
static inline int64_t
tnb_wrap_i64(tnb_dtype d, int64_t v)
{
    if (d.code == TNB_BOOL)
        return v != 0;
    if (d.bits >= 64 || d.bits == 0)
        return v;
    uint64_t high = (uint64_t)v << (64 - d.bits);
    return d.code == TNB_INT ? (int64_t)high >> (64 - d.bits) : (int64_t)(high >> (64 - d.bits));
}

/* v rounded to the float dtype `d`, to nearest even; v itself when d is none. */
TNB_EXPORT double
tnb_round_f64(tnb_dtype d, double v);

/* v as a 64-bit integer: a C cast; where that is undefined the nearest integer, and 0 for NaN. A
 * negative v as an unsigned integer has the bits of the signed one, as on most machines. */
TNB_EXPORT int64_t
tnb_f64_to_i64(double v);
TNB_EXPORT uint64_t
tnb_f64_to_u64(double v);

/* A function of one or of two arguments (ORDER VM_MATH); tests give 0 or 1. NaN for any other id.
 */
TNB_EXPORT double
tnb_math1(tnb_vm_math id, double x);
TNB_EXPORT double
tnb_math2(tnb_vm_math id, double x, double y);

#ifdef __cplusplus
}
#endif
#endif
