/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC, the compiler of CUDA C++ as a library, opened when kernels are compiled. */
#ifndef TENON_BACKENDS_CUDA_NVRTC_H
#define TENON_BACKENDS_CUDA_NVRTC_H

#include "tenon/base/mem.h"

typedef struct cuda_nvrtc cuda_nvrtc;

/* Opens the library in the file `wanted`; "": where the system has it, then in the folders of the CUDA Toolkit. `out` lies in the arena;
 * cuda_nvrtc_close gives the library back. TNB_NOT_FOUND: there is none, with a hint on how to get one. */
TNB_MUST_CHECK tnb_status
cuda_nvrtc_open(tnb_arena *a, const char *wanted, cuda_nvrtc **out, tnb_err *err);
void
cuda_nvrtc_close(cuda_nvrtc *n);
/* "13.5" */
const char *
cuda_nvrtc_version(const cuda_nvrtc *n);
#define CUDA_ARCH_CHARS 16
/* What it compiles for to run on an architecture, such as "sm_90a": the same, or for one that is newer than it the newest that it knows,
 * whose PTX the driver compiles. TNB_UNSUPPORTED: any other that it does not know; with those that it does. */
TNB_MUST_CHECK tnb_status
cuda_nvrtc_arch(const cuda_nvrtc *n, const char *arch, char out[CUDA_ARCH_CHARS], tnb_err *err);

/* The macro of kernels' texts for the threads of their blocks. */
#define CUDA_BOUNDS "TK_BOUNDS"

typedef struct cuda_object {
    char *ptx, *cubin; /* from malloc; the PTX ends with a zero */
    size_t n_ptx, n_cubin;
    uint32_t registers,
        spilled; /* of a thread: registers, and bytes of them that are kept in memory */
} cuda_object;

/* Compiles a text for one architecture, so that all registers are registers where that is possible. May be called from several threads at once. TNB_BUILD: `err` has the first error of the
 * log. `name`: what messages call the text. */
TNB_MUST_CHECK tnb_status
cuda_nvrtc_compile(const cuda_nvrtc *n, const char *arch, const char *name, const char *text,
                   cuda_object *out, tnb_err *err);
void
cuda_object_free(cuda_object *o);
/* What decides on the result beside text, architecture and version. NULL-terminated. */
extern const char *const cuda_nvrtc_options[];

#endif
