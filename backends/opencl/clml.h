/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the CLML dispatch share (compiler half): the patterns by name, and what a
 * match of each means. */
#ifndef TENON_BACKENDS_OPENCL_CLML_H
#define TENON_BACKENDS_OPENCL_CLML_H

#include "tenon/core/registry.h"
#include "tenon/kit/pattern.h"

/* In clml.c, in falling priority. */
enum { CLML_N_PATTERNS = 17 };
extern const tnk_fusion_pattern *const clml_patterns[CLML_N_PATTERNS];
const tnk_pat *
clml_pattern(tn_ctx *ctx, const tnk_fusion_pattern *p);
extern const tn_pass clml_dispatch;
/* In clml_payload.c; clml5 is what needs version 5 of the extension. */
extern const tnk_external clml_external, clml5_external;
/* In clml_quant.c: whether the program unpacks a matrix (k, n) of 4-bit numbers as the extension
 * does. */
bool
clml_is_quantized(tn_ctx *ctx, const tn_prim_func *f, int64_t k, int64_t n);
/* In clml_why.c: logs why matrices of 4-bit numbers are left; `allowed`: whether version 5 may be
 * used. */
void
clml_tell_left(tn_ctx *ctx, const tn_module *m, bool allowed);
/* In clml_cost.c: functions for clml with less than `min_work` operations an element copied are put
 * back where they are called. */
const tn_module *
clml_drop_cheap(tn_ctx *ctx, const tn_module *m, int64_t min_work);

/* The extents of a tensor of at most 4 dimensions, all known and above 0, with ones behind them; the
 * rank, or -1. */
int
clml_extents(const tn_type *t, int64_t out[4]);
/* The value of a number, an attribute or a scalar argument; false: it is not known. */
bool
clml_number(const tn_node *n, double *out);

#endif
