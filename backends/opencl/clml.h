/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the CLML dispatch share (compiler half): the patterns by name, and what a
 * match of each means. */
#ifndef TENON_BACKENDS_OPENCL_CLML_H
#define TENON_BACKENDS_OPENCL_CLML_H

#include "tenon/core/registry.h"
#include "tenon/kit/pattern.h"

/* In clml.c, in falling priority. */
enum { CLML_N_PATTERNS = 16 };
extern const tnk_fusion_pattern *const clml_patterns[CLML_N_PATTERNS];
const tnk_pat *
clml_pattern(tn_ctx *ctx, const tnk_fusion_pattern *p);
extern const tn_pass clml_dispatch;
/* In clml_payload.c. */
extern const tnk_external clml_external;

/* The extents of a tensor of at most 4 dimensions, all known and above 0, with ones behind them; the
 * rank, or -1. */
int
clml_extents(const tn_type *t, int64_t out[4]);
/* The value of a number, an attribute or a scalar argument; false: it is not known. */
bool
clml_number(const tn_node *n, double *out);

#endif
