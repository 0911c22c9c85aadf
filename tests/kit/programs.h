/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor programs that tests of kit run: as legalization writes them. */
#ifndef TESTS_KIT_PROGRAMS_H
#define TESTS_KIT_PROGRAMS_H

#include "tenon/kit/te.h"

typedef struct conv_shape {
    int64_t n, ic, h, w, oc, kh, kw, stride, pad, groups;
} conv_shape;

const tn_node *
program_matmul(tn_ctx *ctx, int64_t m, int64_t n, int64_t k, tnb_dtype d);
/* Padding, convolution, bias, relu in one function, as fusion leaves them. */
const tn_node *
program_conv(tn_ctx *ctx, conv_shape s, tnb_dtype d);
/* The collection; `dims` receives values for symbolic extents. */
int
program_count(void);
const tn_node *
program_get(tn_ctx *ctx, int i, const char **name, const tn_node **dims);

#endif
