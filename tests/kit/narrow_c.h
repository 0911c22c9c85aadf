/* SPDX-License-Identifier: Apache-2.0 */
/* A language of the C family for devices without pointers and without numbers of 64 bits, with vectors of its own: memory is a structure
 * that elements are taken from, scalars or vectors. There is no such device; the C compiler makes code of it, and threads run one after the
 * other.
 */
#ifndef TESTS_KIT_NARROW_C_H
#define TESTS_KIT_NARROW_C_H

#include "tenon/kit/codegen.h"

/* Whether threads one after the other compute what they would side by side: the kernel has no barriers. */
bool
narrow_c_takes(const tnk_kernel *kernel);
/* Compiles the kernel and runs it. memory: of each parameter that is memory; scalars: of the others, in their order; grid, block: as a launch
 * has them. False, with a message on stderr, where it has no form or is not compiled. */
bool
narrow_c_run(tn_ctx *ctx, tnk_kernel *kernel, void *const *memory, const tn_list scalars,
             const int64_t grid[3], const int64_t block[3]);

#endif
