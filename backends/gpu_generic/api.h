/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: Vulkan's functions, by table. The loader is opened when the first device is asked for,
 * so that a system without it has this plugin and a message.
 */
#ifndef TENON_BACKENDS_GPU_GENERIC_API_H
#define TENON_BACKENDS_GPU_GENERIC_API_H

#define VK_NO_PROTOTYPES
#include <stdbool.h>
#include <vulkan/vulkan_core.h>
#include "tenon/base/status.h"

/* What headers of Vulkan 1.3.250 and older lack. */
#ifndef VK_KHR_cooperative_matrix
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME "VK_KHR_cooperative_matrix"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR \
    ((VkStructureType)1000506000)
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR ((VkStructureType)1000506001)
enum { VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR, VK_SCOPE_SUBGROUP_KHR = 3 };
typedef struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
    VkStructureType sType;
    void *pNext;
    VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
} VkPhysicalDeviceCooperativeMatrixFeaturesKHR;
typedef struct VkCooperativeMatrixPropertiesKHR {
    VkStructureType sType;
    void *pNext;
    uint32_t MSize, NSize, KSize;
    uint32_t AType, BType, CType, ResultType; /* enumerations */
    VkBool32 saturatingAccumulation;
    uint32_t scope;
} VkCooperativeMatrixPropertiesKHR;
typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(
    VkPhysicalDevice device, uint32_t *n, VkCooperativeMatrixPropertiesKHR *properties);
#endif

/* Of an instance. */
#define GPU_GENERIC_INSTANCE_CALLS(X)          \
    X(DestroyInstance)                         \
    X(EnumeratePhysicalDevices)                \
    X(GetPhysicalDeviceProperties2)            \
    X(GetPhysicalDeviceFeatures2)              \
    X(GetPhysicalDeviceMemoryProperties2)      \
    X(GetPhysicalDeviceQueueFamilyProperties2) \
    X(EnumerateDeviceExtensionProperties)      \
    X(CreateDevice)                            \
    X(GetDeviceProcAddr)

/* Of a device, all of Vulkan 1.1. */
#define GPU_GENERIC_DEVICE_CALLS(X) \
    X(DestroyDevice)                \
    X(DeviceWaitIdle)               \
    X(GetDeviceQueue)               \
    X(QueueSubmit)                  \
    X(AllocateMemory)               \
    X(FreeMemory)                   \
    X(MapMemory)                    \
    X(CreateBuffer)                 \
    X(DestroyBuffer)                \
    X(GetBufferMemoryRequirements)  \
    X(BindBufferMemory)             \
    X(CreateFence)                  \
    X(DestroyFence)                 \
    X(ResetFences)                  \
    X(GetFenceStatus)               \
    X(WaitForFences)                \
    X(CreateSemaphore)              \
    X(DestroySemaphore)             \
    X(CreateQueryPool)              \
    X(DestroyQueryPool)             \
    X(GetQueryPoolResults)          \
    X(CreateCommandPool)            \
    X(DestroyCommandPool)           \
    X(ResetCommandPool)             \
    X(AllocateCommandBuffers)       \
    X(BeginCommandBuffer)           \
    X(EndCommandBuffer)             \
    X(CreateShaderModule)           \
    X(DestroyShaderModule)          \
    X(CreatePipelineCache)          \
    X(DestroyPipelineCache)         \
    X(GetPipelineCacheData)         \
    X(CreateComputePipelines)       \
    X(DestroyPipeline)              \
    X(CreatePipelineLayout)         \
    X(DestroyPipelineLayout)        \
    X(CreateDescriptorSetLayout)    \
    X(DestroyDescriptorSetLayout)   \
    X(CreateDescriptorPool)         \
    X(DestroyDescriptorPool)        \
    X(AllocateDescriptorSets)       \
    X(UpdateDescriptorSets)         \
    X(CmdBindPipeline)              \
    X(CmdBindDescriptorSets)        \
    X(CmdPushConstants)             \
    X(CmdDispatch)                  \
    X(CmdCopyBuffer)                \
    X(CmdFillBuffer)                \
    X(CmdPipelineBarrier)           \
    X(CmdResetQueryPool)            \
    X(CmdWriteTimestamp)

/* Of extensions; NULL where the device lacks them. */
#define GPU_GENERIC_OPTIONAL_CALLS(X) \
    X(WaitSemaphoresKHR)              \
    X(GetSemaphoreCounterValueKHR)    \
    X(GetBufferDeviceAddressKHR)      \
    X(CmdPushDescriptorSetKHR)

/* Of an instance, of extensions; NULL where no driver has them. */
#define GPU_GENERIC_OPTIONAL_INSTANCE_CALLS(X) X(GetPhysicalDeviceCooperativeMatrixPropertiesKHR)

#define GPU_GENERIC_MEMBER(name) PFN_vk##name name;

struct gpu_generic_instance {
    VkInstance handle;
    uint32_t version; /* of Vulkan that the instance was made for */
    GPU_GENERIC_INSTANCE_CALLS(GPU_GENERIC_MEMBER)
    GPU_GENERIC_OPTIONAL_INSTANCE_CALLS(GPU_GENERIC_MEMBER)
    double seconds; /* that making it took, and asking it for devices */
};

struct gpu_generic_calls {
    GPU_GENERIC_DEVICE_CALLS(GPU_GENERIC_MEMBER)
    GPU_GENERIC_OPTIONAL_CALLS(GPU_GENERIC_MEMBER)
};

/* The process's instance, made when nobody has it. Each call that succeeds needs a gpu_generic_instance_drop. */
TNB_MUST_CHECK tnb_status
gpu_generic_instance_take(const struct gpu_generic_instance **out, tnb_err *err);
void
gpu_generic_instance_drop(void);
/* The same, but the instance stays for whoever takes it next: making one takes longer than all that Tenon does to load a model. `seconds`
 * went by in its calls. */
void
gpu_generic_instance_keep(double seconds);
/* Fills the table of a device; TNB_DEVICE when it lacks one of Vulkan 1.1. */
TNB_MUST_CHECK tnb_status
gpu_generic_calls_read(const struct gpu_generic_instance *in, VkDevice device,
                       struct gpu_generic_calls *out, tnb_err *err);

#endif
