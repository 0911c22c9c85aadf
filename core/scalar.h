/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on literals with the wrapping and rounding of a dtype; shared by the folding operators
 * and the simplifier. Not installed. */
#ifndef TENON_CORE_SCALAR_H
#define TENON_CORE_SCALAR_H

#include "tenon/core/build.h"
#include "tenon/core/arith.h"

/* v as a value of the integer (or bool) dtype d: wrapped, sign- or zero-extended to 64 bits. A
 * uint64 keeps its bit pattern. */
int64_t
tn_wrap_int(tnb_dtype d, int64_t v);
/* The same for float32 and float64, rounded to that precision; comparisons give 0 or 1. */
bool
tn_fold_float(tn_kind kind, tnb_dtype d, double a, double b, double *out);
/* The dtype that a binary node over operands of dtype d has. */
tnb_dtype
tn_binary_dtype(tn_kind kind, tnb_dtype d);
static inline bool
tn_is_compare(tn_kind k)
{
    return k >= TN_KIND_EQ && k <= TN_KIND_GE;
}

#endif
