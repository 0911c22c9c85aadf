/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Stands for the vendor's library: products with weights that it lays out in its own way. Replace it by the real one, and name that
 * in the Makefile: onelib_rt_PKGCONFIG or onelib_rt_LIBS. */
#ifndef ONELIB_LIBRARY_H
#define ONELIB_LIBRARY_H

#include <stdint.h>

/* Weights of k rows and n columns, laid out; from malloc. NULL: no memory. */
float *
onelib_pack(const float *w, int64_t k, int64_t n);
/* out = x * w (+ bias), not below zero with `relu`; `bias` may be NULL. */
void
onelib_dense(const float *x, const float *packed, const float *bias, float *out, int64_t rows,
             int64_t k, int64_t n, int relu);

#endif
