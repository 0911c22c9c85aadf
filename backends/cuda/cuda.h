/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend: what its files share. */
#ifndef TENON_BACKENDS_CUDA_H
#define TENON_BACKENDS_CUDA_H

#include "tenon/kit/codegen.h"
#include "tenon/kit/emit_hooks.h"

/* ---- codegen.c ---- */
extern const struct tnk_codegen cuda_codegen;
/* Threads of a block; 0: not all extents are constant. */
int64_t
cuda_threads(const tnk_kernel *k);
/* ---- dialect.c ---- */
extern const struct tnk_dialect cuda_dialect;
/* ---- matrix.c ---- */
/* Writes a call of ldmatrix, mma or cp.async; false: it is another one. */
bool
cuda_matrix_call(tnk_emitter *e, const tn_call *c);
/* ---- barriers.c ---- */
/* Writes a call of a barrier in shared memory or with a number; false: it is another one. */
bool
cuda_barrier_call(tnk_emitter *e, const tn_call *c);
/* Whether the architecture has what the kernel uses of them; false after recording an error. */
bool
cuda_has_barriers(tn_ctx *ctx, const tnk_kernel *k, const char *arch);
/* ---- occupancy.c ---- */
/* A line of tnk_kernel.compiled; empty: nothing is known of the architecture. Registers of a thread, bytes of shared memory of a block. */
const char *
cuda_blocks_at_once(tn_ctx *ctx, const char *arch, int64_t threads, int64_t registers,
                    int64_t shared);
/* ---- vectors.c ---- */
extern const struct tnk_vector_structs cuda_vectors;
/* ---- pipeline.c ---- */
extern const char *const cuda_library_dispatch[], *const cuda_legalize[], *const cuda_finalize[],
                                                                              *const cuda_lower[];

#endif
