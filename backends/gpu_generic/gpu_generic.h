/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend: what its files share. */
#ifndef TENON_BACKENDS_GPU_GENERIC_H
#define TENON_BACKENDS_GPU_GENERIC_H

#include "tenon/kit/codegen.h"

extern const char *const gpu_generic_library_dispatch[],
    *const gpu_generic_legalize[], *const gpu_generic_finalize[], *const gpu_generic_lower[];

#endif
