/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend: what its files share. */
#ifndef TENON_BACKENDS_OPENCL_H
#define TENON_BACKENDS_OPENCL_H

#include "tenon/core/registry.h"
#include "tenon/kit/codegen.h"

extern const char *const opencl_library_dispatch[],
    *const opencl_legalize[], *const opencl_finalize[], *const opencl_lower[];
/* ---- codegen.c ---- */
extern const tnk_codegen opencl_codegen;
/* Whether a target may have the feature: one that emission asks about, or any extension. Else *near gets the nearest name, or
 * NULL. */
bool
opencl_feature_known(const char *name, const char **near);

/* ---- verify.c ---- */
typedef struct opencl_limits {
    const char *const *features; /* that the target has, up to NULL */
    int64_t local_bytes;         /* of a group */
} opencl_limits;
/* Whether the text of one kernel, or of helper functions, asks no more than that; local_bytes (may be NULL) gets what it
 * declares. False after recording an error at `func` that names the kernel, what was found and what is allowed. */
TNB_MUST_CHECK bool
opencl_verify(tn_ctx *ctx, const tn_node *func, const char *kernel, const char *text,
              const opencl_limits *limits, int64_t *local_bytes);

#endif
