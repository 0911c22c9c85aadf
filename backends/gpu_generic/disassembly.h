/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V as a text for people. */
#ifndef GPU_GENERIC_DISASSEMBLY_H
#define GPU_GENERIC_DISASSEMBLY_H

#include "tenon/core/ctx.h"

/* By SPIRV-Tools, in the context's arena; where the build has none of it, NULL. */
const char *
gpu_generic_disassembly(tn_ctx *ctx, const uint32_t *words, size_t n);

#endif
