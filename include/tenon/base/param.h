/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel takes: one ordered table of parameters. The code generator fills it (tenon/kit/codegen.h), the artifact
 * keeps it (tenon/base/tno.h), LAUNCH gives an operand for each (tenon/base/vmcode.h), the driver gets their values
 * (tenon/rt/device.h).
 */
#ifndef TENON_BASE_PARAM_H
#define TENON_BASE_PARAM_H

#include "tenon/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ORDER PARAM_KIND */
typedef enum tnb_param_kind {
    TNB_PARAM_BUFFER = 1, /* memory of the device, from a byte offset on */
    TNB_PARAM_SCALAR,     /* an integer, a bool or a float */
    TNB_PARAM_IMAGE,      /* memory that the device reads and writes through its image units */
    TNB_PARAM_TENSOR_MAP, /* a description of memory by which the device copies tiles */
    TNB_PARAM_REFUSED, /* memory of the device, a tnb_kernel_refusal (tenon/base/kernel_abi.h); the runtime gives it */
    TNB_PARAM_TAG, /* uint32, what the host calls the kernel in a tnb_kernel_refusal; the runtime gives it */
    TNB_PARAM_END /* not one: behind the last */
} tnb_param_kind;

/* Whether it is memory that a caller gives. */
static inline bool
tnb_param_is_memory(unsigned kind)
{
    return kind == TNB_PARAM_BUFFER || kind == TNB_PARAM_IMAGE;
}

enum { TNB_MAP_RANK = 5 };
typedef enum tnb_map_fill { TNB_MAP_ZEROS, TNB_MAP_NANS } tnb_map_fill;

/* The constant part of a tensor map. Axes as those of a tensor: the outermost first. */
typedef struct tnb_tensor_map {
    tnb_dtype dtype; /* of an element */
    uint8_t rank;    /* 1 to TNB_MAP_RANK */
    uint8_t fill;    /* tnb_map_fill: what elements outside of the tensor read as */
    uint16_t
        swizzle; /* bytes of the pattern by which tiles lie in shared memory: 0, 32, 64 or 128 */
    uint32_t
        box[TNB_MAP_RANK]; /* elements of a tile along each axis, at least 1; 0 behind the rank */
    uint32_t reserved;     /* zero */
} tnb_tensor_map;

#ifdef __cplusplus
}
#endif
#endif
