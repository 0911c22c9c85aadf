/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend: what its files share. */
#ifndef TENON_BACKENDS_CUDA_H
#define TENON_BACKENDS_CUDA_H

#include "tenon/kit/codegen.h"

/* ---- dialect.c ---- */
extern const struct tnk_dialect cuda_dialect;
/* ---- vectors.c ---- */
extern const struct tnk_vector_structs cuda_vectors;
/* ---- pipeline.c ---- */
extern const char *const cuda_library_dispatch[], *const cuda_legalize[], *const cuda_finalize[],
                                                                              *const cuda_lower[];

#endif
