/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, the same in every locale. */
#ifndef TENON_BASE_NUM_H
#define TENON_BASE_NUM_H

#include <stdbool.h>
#include "tenon/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The readers take exactly `n` bytes at `s` and return false, leaving `out` alone, when these are
 * not one number of the type: no blanks, nothing behind it, nothing out of range. Integers: an
 * optional sign, decimal or 0x hexadecimal. Floats: decimal or hexadecimal with optional exponent;
 * "inf", "infinity" and "nan" in any case; rounded once, to nearest even; too large reads as
 * infinity. */
TNB_EXPORT bool
tnb_read_i64(const char *s, size_t n, int64_t *out);
TNB_EXPORT bool
tnb_read_u64(const char *s, size_t n, uint64_t *out);
TNB_EXPORT bool
tnb_read_f64(const char *s, size_t n, double *out);
TNB_EXPORT bool
tnb_read_f32(const char *s, size_t n, float *out);

/* The shortest text that reads back as the same number, in Python's form: "1.0", "0.1", "1e-05",
 * "1.5e+16", "inf", "-inf", "nan". */
typedef struct tnb_num_text {
    char s[32];
} tnb_num_text;
TNB_EXPORT tnb_num_text
tnb_print_f64(double v);
TNB_EXPORT tnb_num_text
tnb_print_f32(float v);

#ifdef __cplusplus
}
#endif
#endif
