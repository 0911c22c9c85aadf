/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend: what its files share. */
#ifndef TENON_BACKENDS_GPU_GENERIC_H
#define TENON_BACKENDS_GPU_GENERIC_H

#include <string.h>

#include "tenon/kit/codegen.h"

extern const char *const gpu_generic_library_dispatch[],
    *const gpu_generic_legalize[], *const gpu_generic_finalize[], *const gpu_generic_lower[];

extern const tnk_codegen gpu_generic_codegen;

/* What kernels may need beyond Vulkan 1.1: the name in the artifact's list of features, which the device half looks for; Vulkan's
 * own where it has one. */
#define GPU_GENERIC_FEATURES(X)                                          \
    X(INT64, "shaderInt64", "supports_int64")                            \
    X(FLOAT64, "shaderFloat64", "supports_float64")                      \
    X(FLOAT16, "shaderFloat16", "supports_float16")                      \
    X(INT8, "shaderInt8", "supports_int8")                               \
    X(INT16, "shaderInt16", "supports_int16")                            \
    X(STORAGE8, "storageBuffer8BitAccess", "supports_8bit_buffer")       \
    X(STORAGE16, "storageBuffer16BitAccess", "supports_16bit_buffer")    \
    X(POINTERS, "bufferDeviceAddress", "supports_buffer_device_address") \
    X(ARITHMETIC, "subgroup:arithmetic", NULL)                           \
    X(CLUSTERED, "subgroup:clustered", NULL)                             \
    X(SHUFFLE, "subgroup:shuffle", NULL)                                 \
    X(NAN32, "shaderSignedZeroInfNanPreserveFloat32", NULL)              \
    X(NAN16, "shaderSignedZeroInfNanPreserveFloat16", NULL)              \
    X(NAN64, "shaderSignedZeroInfNanPreserveFloat64", NULL)              \
    X(DENORM32, "shaderDenormPreserveFloat32", NULL)                     \
    X(ROUND16, "shaderRoundingModeRTEFloat16", NULL)                     \
    X(MATRIX, "cooperativeMatrix", "cooperative_matrix")

typedef enum gpu_generic_feature {
#define X(id, name, attr) GPU_GENERIC_##id,
    GPU_GENERIC_FEATURES(X)
#undef X
        GPU_GENERIC_N_FEATURES
} gpu_generic_feature;

typedef struct gpu_generic_limits {
    uint32_t has; /* 1 << feature */
    int64_t push_bytes, shared_bytes, threads;
    uint32_t warp,
        unit[3]; /* threads of a sub-group; the matrix product that it computes at once; 0: none */
} gpu_generic_limits;

/* What the attributes of a target say. */
gpu_generic_limits
gpu_generic_limits_of(const tn_node *attrs);
const char *
gpu_generic_feature_name(gpu_generic_feature f);
/* Whether a target's list of features may have the name; else *near may be what was meant. */
bool
gpu_generic_feature_known(const char *name, const char **near);

/* The words of the payload that tell the turns of the kernel's loops, GPU_GENERIC_MAX_TURNS_WORDS at most; how many. */
uint32_t
gpu_generic_put_turns(tn_ctx *ctx, const tnk_kernel *k, uint32_t *words);

#endif
