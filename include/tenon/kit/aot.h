/* SPDX-License-Identifier: Apache-2.0 */
/* From a VM program to C: what a program without a loader links. The program of an artifact is written out as straight C that calls
 * the kernels as tenon/base/kernel_abi.h says, with share/tenon/aot/tenon_aot_run.h for what takes more than a line.
 */
#ifndef TENON_KIT_AOT_H
#define TENON_KIT_AOT_H

#include "tenon/kit/codegen.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnk_aot_input {
    uint32_t size;      /* sizeof, or 0 */
    const char *prefix; /* of every symbol and file: a C identifier */
    const void *program;
    uint64_t program_bytes; /* a program section (tenon/base/tno.h), aligned to 8 */
    uint64_t constant_bytes;
    const tnk_kernel *kernels; /* those that the program launches, by name */
    uint32_t n_kernels;
    const tn_node *functions; /* Dict: "functions" of the artifact's metadata */
} tnk_aot_input;

/* Appends the text of PREFIX.c to `source` and that of PREFIX.h to `header`. What has no form in C is a located error: packed
 * functions without one, by name; memory whose size depends on elements; functions that call themselves. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_aot_write(tn_ctx *ctx, const tnk_aot_input *in, tnb_buf *source, tnb_buf *header);

/* A C identifier of the text that symbols can begin with: other characters become '_'; a digit or '_' in front, what symbols of
 * Tenon begin with (`tenon_`, `tnb_`, `tk_`), and the name of a header of the C library (`math`) get an 'm' before them. In the context's arena. */
TNB_EXPORT const char *
tnk_aot_identifier(tn_ctx *ctx, const char *text);

#ifdef __cplusplus
}
#endif
#endif
