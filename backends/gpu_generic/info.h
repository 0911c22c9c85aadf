/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: what a device says about itself (info.c). */
#ifndef TENON_BACKENDS_GPU_GENERIC_INFO_H
#define TENON_BACKENDS_GPU_GENERIC_INFO_H

#include "api.h"

/* Features that code may ask for, by Vulkan's names; a bit of gpu_generic_info.features each, in this order:
 * X(name, structure). */
#define GPU_GENERIC_FEATURES(X)                      \
    X(shaderInt64, core.features)                    \
    X(shaderInt16, core.features)                    \
    X(shaderFloat64, core.features)                  \
    X(shaderFloat16, small)                          \
    X(shaderInt8, small)                             \
    X(storageBuffer16BitAccess, storage16)           \
    X(storageBuffer8BitAccess, storage8)             \
    X(bufferDeviceAddress, address)                  \
    X(vulkanMemoryModel, model)                      \
    X(vulkanMemoryModelDeviceScope, model)           \
    X(subgroupSizeControl, subgroup)                 \
    X(computeFullSubgroups, subgroup)                \
    X(shaderSubgroupExtendedTypes, subgroup_types)   \
    X(shaderIntegerDotProduct, dot)                  \
    X(shaderBufferInt64Atomics, atomic64)            \
    X(variablePointers, pointers)                    \
    X(variablePointersStorageBuffer, pointers)       \
    X(uniformAndStorageBuffer16BitAccess, storage16) \
    X(uniformAndStorageBuffer8BitAccess, storage8)   \
    X(scalarBlockLayout, scalar)                     \
    X(timelineSemaphore, timeline)                   \
    X(cooperativeMatrix, matrix)

/* What floats keep, properties of Vulkan's: bits behind those. */
#define GPU_GENERIC_CONTROLS(X)              \
    X(shaderSignedZeroInfNanPreserveFloat16) \
    X(shaderSignedZeroInfNanPreserveFloat32) \
    X(shaderSignedZeroInfNanPreserveFloat64) \
    X(shaderDenormPreserveFloat16)           \
    X(shaderDenormPreserveFloat32)           \
    X(shaderDenormPreserveFloat64)           \
    X(shaderDenormFlushToZeroFloat32)        \
    X(shaderRoundingModeRTEFloat16)          \
    X(shaderRoundingModeRTEFloat32)          \
    X(shaderRoundingModeRTEFloat64)

#define GPU_GENERIC_BIT(name, where) GPU_GENERIC_BIT_##name,
#define GPU_GENERIC_CONTROL(name) GPU_GENERIC_BIT_##name,
enum {
    GPU_GENERIC_FEATURES(GPU_GENERIC_BIT) GPU_GENERIC_CONTROLS(GPU_GENERIC_CONTROL)
        GPU_GENERIC_N_FEATURES
};
#define GPU_GENERIC_HAS(info, name) ((info)->features >> GPU_GENERIC_BIT_##name & 1)

/* The structures that they lie in, chained as `available` and the device's version allow. */
struct gpu_generic_features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDevice8BitStorageFeatures storage8;
    VkPhysicalDeviceShaderFloat16Int8Features small;
    VkPhysicalDeviceBufferDeviceAddressFeatures address;
    VkPhysicalDeviceVulkanMemoryModelFeatures model;
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroup;
    VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures subgroup_types;
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot;
    VkPhysicalDeviceShaderAtomicInt64Features atomic64;
    VkPhysicalDeviceVariablePointersFeatures pointers;
    VkPhysicalDeviceScalarBlockLayoutFeatures scalar;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix;
};

enum { GPU_GENERIC_MAX_EXTENSIONS = 24, GPU_GENERIC_MAX_UNITS = 16 };

/* The product of matrices of float16 that a sub-group computes at once, summed in float32. */
struct gpu_generic_unit {
    uint32_t rows, columns, steps;
};

struct gpu_generic_info {
    VkPhysicalDevice handle;
    VkPhysicalDeviceProperties props;
    VkPhysicalDeviceMemoryProperties memory;
    VkDriverId driver_id; /* 0: not known */
    uint32_t loop_turns;  /* of a thread, after which its loops end in silence; 0: never */
    char driver[VK_MAX_DRIVER_NAME_SIZE], driver_info[VK_MAX_DRIVER_INFO_SIZE];
    uint64_t features; /* bits as GPU_GENERIC_FEATURES; less those that the settings leave out */
    uint64_t heap;     /* bytes of the device's own memory */
    uint64_t largest;  /* bytes of one allocation */
    VkSubgroupFeatureFlags subgroup_ops; /* in compute shaders */
    uint32_t subgroup, subgroup_min, subgroup_max;
    bool subgroup_sizes; /* compute shaders may demand a size */
    bool push_descriptors;
    uint32_t max_push_descriptors;
    const char *extensions[GPU_GENERIC_MAX_EXTENSIONS]; /* that the device is opened with */
    uint32_t n_extensions;
    uint32_t family, n_queues, timestamp_bits; /* of queues for compute */
    struct gpu_generic_unit units[GPU_GENERIC_MAX_UNITS];
    uint32_t n_units;
};

/* Reads all but `features` left out. */
TNB_MUST_CHECK tnb_status
gpu_generic_info_read(const struct gpu_generic_instance *in, VkPhysicalDevice device,
                      struct gpu_generic_info *out, tnb_err *err);
/* The structures for opening the device with the features of the bits; out->core heads the chain. */
void
gpu_generic_features_chain(const struct gpu_generic_info *info, struct gpu_generic_features *out);
const char *
gpu_generic_vulkan_name(unsigned bit);
/* Takes the features named in the list (between commas or blanks) from the bits; `info` NULL: only looks at the names. */
TNB_MUST_CHECK tnb_status
gpu_generic_features_leave_out(struct gpu_generic_info *info, const char *list, tnb_err *err);
const char *
gpu_generic_type_name(VkPhysicalDeviceType type);
/* Whether sub-groups of a group of x threads are full, and of this size, wherever that is demanded. */
bool
gpu_generic_subgroups_are(const struct gpu_generic_info *info, uint32_t size, uint32_t x);
void
gpu_generic_describe(void *dev, char *out, size_t n);
TNB_MUST_CHECK tnb_status
gpu_generic_target_of(void *dev, char *out, size_t n, tnb_err *err);
TNB_MUST_CHECK tnb_status
gpu_generic_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err);

#endif
