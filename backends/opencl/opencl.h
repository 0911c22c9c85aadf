/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend: what its files share. */
#ifndef TENON_BACKENDS_OPENCL_H
#define TENON_BACKENDS_OPENCL_H

#include "tenon/core/registry.h"
#include "tenon/kit/codegen.h"

extern const char *const opencl_library_dispatch[],
    *const opencl_legalize[], *const opencl_finalize[], *const opencl_lower[];
extern const tnk_codegen opencl_codegen;

#endif
