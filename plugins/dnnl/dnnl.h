/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the dispatch to oneDNN share (compiler half). */
#ifndef TENON_PLUGINS_DNNL_DNNL_H
#define TENON_PLUGINS_DNNL_DNNL_H

#include "tenon/core/registry.h"
#include "tenon/kit/pattern.h"

enum { DNNL_MAX_RANK = 6 };

/* In dnnl.c. Names in the patterns are what dnnl_payload.c looks for:
 *
 *     conv, mm, pool, norm, op    the operation itself
 *     x, w, b, r                  its operands: input, kernel or matrix, bias, what is added after it
 *     act                         the activation behind it
 */
enum { DNNL_N_PATTERNS = 16 };
extern const tnk_fusion_pattern *const dnnl_patterns[DNNL_N_PATTERNS];
const tnk_pat *
dnnl_pattern(tn_ctx *ctx, const tnk_fusion_pattern *p);
extern const tn_pass dnnl_dispatch;
/* In dnnl_payload.c. */
extern const tnk_external dnnl_external;

/* The extents of a float32 tensor of 1 to DNNL_MAX_RANK dimensions: numbers above 0, or variables. */
bool
dnnl_dims(const tn_type *t, tn_list *dims);
/* The n-th extent; -1: it is not known, or there is none. */
int64_t
dnnl_extent(tn_list dims, uint32_t n);
/* What an activation is called in the payload, with its two numbers; NULL: it is none that oneDNN has. */
const char *
dnnl_activation(const tn_call *c, double *alpha, double *beta);

#endif
