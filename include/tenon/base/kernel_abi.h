/* SPDX-License-Identifier: Apache-2.0 */
/* How host code calls a CPU kernel: shared by generated C code (which has a copy of these lines in
 * its prologue), the code generator and the CPU device.
 */
#ifndef TENON_BASE_KERNEL_ABI_H
#define TENON_BASE_KERNEL_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A scalar argument: int, uint and bool in i (sign- or zero-extended), floats in f. */
typedef union tnb_kernel_scalar {
    int64_t i;
    double f;
} tnb_kernel_scalar;

/* A part of a kernel: iterations `from` to `to` (excluded) of a loop, for the thread of this number. */
typedef void (*tnb_kernel_part)(void *args, int64_t from, int64_t to, int32_t thread);

/* An index that came as data and is out of its range. The kernel goes on with another one in its
 * place, so that it touches no memory that is not its own; its results mean nothing. */
typedef struct tnb_kernel_refusal {
    int32_t state;  /* 0: none; else the first one that was found is below */
    uint32_t tag;   /* what the host calls the launch; devices only */
    uint32_t check; /* number of the place in the kernel */
    uint32_t reserved;
    int64_t index;  /* as it came: before a negative one is taken from the end */
    int64_t extent; /* of the axis */
} tnb_kernel_refusal;

/* What a kernel may use of its host. Grows at the end. */
typedef struct tnb_kernel_env {
    int32_t threads; /* size of the team that T.parallel loops run on; 1: there is no team */
    int32_t worth;   /* the kernel's word before `team`: threads that its loop is worth; 0: all */
    /* Temporary memory, aligned to 64, freed by the host when the kernel returns; NULL without
     * memory (the kernel then returns TNB_KERNEL_NO_MEMORY). Called outside parallel regions only.
     */
    void *(*workspace)(struct tnb_kernel_env *env, size_t bytes);
    void *user;
    /* With threads > 1 (NULL: as if that were 1): runs a part for [min, min + n), cut into pieces,
     * on threads numbered below `threads`; returns when all is done. Not called from within a part.
     */
    void (*team)(struct tnb_kernel_env *env, tnb_kernel_part part, void *args, int64_t min,
                 int64_t n);
    /* Where an index that is out of range is noted, zero before; any thread writes there. NULL: the
     * kernel returns TNB_KERNEL_REFUSED all the same. */
    tnb_kernel_refusal *refused;
} tnb_kernel_env;

enum {
    TNB_KERNEL_OK = 0,
    TNB_KERNEL_REFUSED = -2,  /* an index that came as data is out of range */
    TNB_KERNEL_NO_MEMORY = -1 /* n > 0: the n-th assertion of the kernel failed */
};

/* buffers[i]: address of the first element of the i-th buffer parameter (byte offset included,
 * aligned to 64 unless the buffer says otherwise). scalars: the kernel's scalar parameters and
 * shape variables in the order its description lists. */
typedef int32_t (*tnb_cpu_kernel)(void *const *buffers, const tnb_kernel_scalar *scalars,
                                  struct tnb_kernel_env *env);

#ifdef __cplusplus
}
#endif
#endif
