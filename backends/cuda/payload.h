/* SPDX-License-Identifier: Apache-2.0 */
/* The form of generated code between the two halves of cuda: format "tenon-cuda" of an artifact. Numbers are little-endian; offsets
 * count from the payload's start:
 *
 *     cuda_payload              the head
 *     n_kernels cuda_kernel     one record each
 *     names, parameters, code   where the records say
 *
 * Each kernel has its code twice: a cubin for the architecture of the head, and PTX, from which a driver makes code for a newer one.
 * A kernel takes its parameters in the order of its table: memory as an address of 8 bytes, scalars as wide as their dtype, bool
 * as one byte, floats of 16 bits as float32.
 */
#ifndef CUDA_PAYLOAD_H
#define CUDA_PAYLOAD_H

#include <stdint.h>

#define CUDA_FORMAT "tenon-cuda"

enum {
    CUDA_MAGIC = 0x44435454, /* "TTCD" */
    CUDA_VERSION = 1,
    CUDA_MAX_PARAMS = 1024, /* 4 KiB of parameters hold no more */
    CUDA_ALIGNMENT = 8      /* of parameters and cubins */
};

typedef struct cuda_payload {
    uint32_t magic, version, n_kernels, reserved;
    char arch[16]; /* "sm_90a", zero-filled */
} cuda_payload;

typedef struct cuda_kernel {
    uint64_t name;    /* offset of the name, which ends with a zero, as does the PTX */
    uint64_t params;  /* offset of n_params words: cuda_param_word */
    uint64_t ptx;     /* offset */
    uint64_t cubin;   /* offset */
    uint64_t n_ptx;   /* bytes, with the zero */
    uint64_t n_cubin; /* bytes */
    uint32_t n_name;  /* bytes, with the zero */
    uint32_t n_params;
    uint32_t threads; /* of a block, which registers were allotted for; 0: not known */
    uint32_t reserved;
} cuda_kernel;

/* A word for each parameter: tnb_param_kind | written << 8 | bytes << 16, where bytes is what the kernel takes: 8 for memory. */
static inline uint32_t
cuda_param_word(uint32_t kind, uint32_t written, uint32_t bytes)
{
    return kind | written << 8 | bytes << 16;
}
#endif
