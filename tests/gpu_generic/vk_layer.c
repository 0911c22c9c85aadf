/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan layer for tests: it counts the calls that a program makes and the objects that it has, lets one call fail, lets work
 * never end, and changes what a device says about itself. The loader takes it by the manifest that a test writes; the test finds its
 * functions by opening the same file. One device at a time.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long seen, fail_at, fail_code; /* fail_at 0: none */
static const char *failed;            /* the name of the call that did */
static long live, made, submits, barriers;
static bool never;
static uint64_t last_value; /* that a counter had before work never ended */
static uint32_t groups, bindings, range, driver_id;

/* ---- what a test calls ---- */
EXPORT void
vk_layer_fail(long at, long code);
EXPORT const char *
vk_layer_failed(void);
EXPORT long
vk_layer_count(int what);
EXPORT void
vk_layer_hang(int on);
EXPORT void
vk_layer_limits(unsigned max_groups, unsigned max_bindings, unsigned max_range);
EXPORT void
vk_layer_driver(unsigned id);

/* From now on, call number `at` fails (1: the next). */
void
vk_layer_fail(long at, long code)
{
    pthread_mutex_lock(&lock);
    seen = 0;
    fail_at = at;
    fail_code = code;
    failed = NULL;
    pthread_mutex_unlock(&lock);
}

const char *
vk_layer_failed(void)
{
    return failed;
}

/* 0: calls since vk_layer_fail; 1: objects that are there; 2: objects ever made; 3: submits; 4: barriers but those for the host. */
long
vk_layer_count(int what)
{
    const long all[] = {seen, live, made, submits, barriers};
    return all[what];
}

void
vk_layer_hang(int on)
{
    never = on;
}

/* 0: the device's own. */
void
vk_layer_limits(unsigned max_groups, unsigned max_bindings, unsigned max_range)
{
    groups = max_groups;
    bindings = max_bindings;
    range = max_range;
}

/* The driver that the device says it has; 0: its own. */
void
vk_layer_driver(unsigned id)
{
    driver_id = id;
}

static bool
trip(const char *name)
{
    pthread_mutex_lock(&lock);
    bool now = ++seen == fail_at;
    if (now)
        failed = name;
    pthread_mutex_unlock(&lock);
    return now;
}

static void
count(int n)
{
    pthread_mutex_lock(&lock);
    live += n;
    made += n > 0 ? n : 0;
    pthread_mutex_unlock(&lock);
}

/* ---- the calls ---- */
/* PASS: may fail. MAKE: and makes an object. END: takes one away. */

#define NAMES(PASS, MAKE, END)                                                                     \
    PASS(DeviceWaitIdle, (VkDevice d), (d))                                                        \
    PASS(MapMemory,                                                                                \
         (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize n, VkMemoryMapFlags f,        \
          void **p),                                                                               \
         (d, m, o, n, f, p))                                                                       \
    PASS(BindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o),             \
         (d, b, m, o))                                                                             \
    PASS(ResetFences, (VkDevice d, uint32_t n, const VkFence *f), (d, n, f))                       \
    PASS(GetQueryPoolResults,                                                                      \
         (VkDevice d, VkQueryPool p, uint32_t q, uint32_t n, size_t k, void *o, VkDeviceSize s,    \
          VkQueryResultFlags f),                                                                   \
         (d, p, q, n, k, o, s, f))                                                                 \
    PASS(ResetCommandPool, (VkDevice d, VkCommandPool p, VkCommandPoolResetFlags f), (d, p, f))    \
    PASS(AllocateCommandBuffers,                                                                   \
         (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *o), (d, i, o))        \
    PASS(BeginCommandBuffer, (VkCommandBuffer c, const VkCommandBufferBeginInfo *i), (c, i))       \
    PASS(EndCommandBuffer, (VkCommandBuffer c), (c))                                               \
    PASS(GetPipelineCacheData, (VkDevice d, VkPipelineCache c, size_t * n, void *o), (d, c, n, o)) \
    PASS(AllocateDescriptorSets,                                                                   \
         (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *o), (d, i, o))        \
    PASS(CreateComputePipelines,                                                                   \
         (VkDevice d, VkPipelineCache c, uint32_t n, const VkComputePipelineCreateInfo *i,         \
          const VkAllocationCallbacks *a, VkPipeline *o),                                          \
         (d, c, n, i, a, o))                                                                       \
    MAKE(AllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)                                     \
    MAKE(CreateBuffer, VkBufferCreateInfo, VkBuffer)                                               \
    MAKE(CreateFence, VkFenceCreateInfo, VkFence)                                                  \
    MAKE(CreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore)                                      \
    MAKE(CreateQueryPool, VkQueryPoolCreateInfo, VkQueryPool)                                      \
    MAKE(CreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)                                \
    MAKE(CreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)                             \
    MAKE(CreatePipelineCache, VkPipelineCacheCreateInfo, VkPipelineCache)                          \
    MAKE(CreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)                       \
    MAKE(CreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)        \
    MAKE(CreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)                       \
    END(FreeMemory, VkDeviceMemory)                                                                \
    END(DestroyBuffer, VkBuffer)                                                                   \
    END(DestroyFence, VkFence)                                                                     \
    END(DestroySemaphore, VkSemaphore)                                                             \
    END(DestroyQueryPool, VkQueryPool)                                                             \
    END(DestroyCommandPool, VkCommandPool)                                                         \
    END(DestroyShaderModule, VkShaderModule)                                                       \
    END(DestroyPipelineCache, VkPipelineCache)                                                     \
    END(DestroyPipelineLayout, VkPipelineLayout)                                                   \
    END(DestroyDescriptorSetLayout, VkDescriptorSetLayout)                                         \
    END(DestroyDescriptorPool, VkDescriptorPool)                                                   \
    END(DestroyPipeline, VkPipeline)

/* Those that do more than that. */
#define OTHERS(X)                  \
    X(QueueSubmit)                 \
    X(GetFenceStatus)              \
    X(WaitForFences)               \
    X(WaitSemaphoresKHR)           \
    X(GetSemaphoreCounterValueKHR) \
    X(CmdPipelineBarrier)          \
    X(DestroyDevice)

#define MEMBER3(name, a, b) PFN_vk##name name;
#define MEMBER2(name, a) PFN_vk##name name;
#define MEMBER1(name) PFN_vk##name name;
static struct {
    PFN_vkGetInstanceProcAddr instance_get;
    PFN_vkGetDeviceProcAddr device_get;
    PFN_vkDestroyInstance DestroyInstance;
    PFN_vkEnumeratePhysicalDevices EnumeratePhysicalDevices;
    PFN_vkEnumerateDeviceExtensionProperties EnumerateDeviceExtensionProperties;
    PFN_vkGetPhysicalDeviceProperties2 GetPhysicalDeviceProperties2;
    NAMES(MEMBER3, MEMBER3, MEMBER2)
    OTHERS(MEMBER1)
} below;

#define PASS(name, params, args)                                         \
    static VKAPI_ATTR VkResult VKAPI_CALL own_##name params              \
    {                                                                    \
        if (trip("vk" #name))                                            \
            return (VkResult)fail_code;                                  \
        VkResult r = below.name args;                                    \
        if (r == VK_SUCCESS && !strcmp(#name, "CreateComputePipelines")) \
            count(1);                                                    \
        return r;                                                        \
    }
#define MAKE(name, info, type)                                                                \
    static VKAPI_ATTR VkResult VKAPI_CALL own_##name(VkDevice d, const info *i,               \
                                                     const VkAllocationCallbacks *a, type *o) \
    {                                                                                         \
        if (trip("vk" #name))                                                                 \
            return (VkResult)fail_code;                                                       \
        VkResult r = below.name(d, i, a, o);                                                  \
        if (r == VK_SUCCESS)                                                                  \
            count(1);                                                                         \
        return r;                                                                             \
    }
#define END(name, type)                                                          \
    static VKAPI_ATTR void VKAPI_CALL own_##name(VkDevice d, type o,             \
                                                 const VkAllocationCallbacks *a) \
    {                                                                            \
        if (o)                                                                   \
            count(-1);                                                           \
        below.name(d, o, a);                                                     \
    }
NAMES(PASS, MAKE, END)

static VKAPI_ATTR VkResult VKAPI_CALL
own_QueueSubmit(VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f)
{
    if (trip("vkQueueSubmit"))
        return (VkResult)fail_code;
    submits++;
    return below.QueueSubmit(q, n, i, f);
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_GetFenceStatus(VkDevice d, VkFence f)
{
    if (trip("vkGetFenceStatus"))
        return (VkResult)fail_code;
    return never ? VK_NOT_READY : below.GetFenceStatus(d, f);
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_WaitForFences(VkDevice d, uint32_t n, const VkFence *f, VkBool32 all, uint64_t t)
{
    if (trip("vkWaitForFences"))
        return (VkResult)fail_code;
    VkResult r = below.WaitForFences(d, n, f, all, t);
    return never ? VK_TIMEOUT : r;
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_WaitSemaphoresKHR(VkDevice d, const VkSemaphoreWaitInfo *i, uint64_t t)
{
    if (trip("vkWaitSemaphores"))
        return (VkResult)fail_code;
    VkResult r = below.WaitSemaphoresKHR(d, i, t);
    return never ? VK_TIMEOUT : r;
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_GetSemaphoreCounterValueKHR(VkDevice d, VkSemaphore s, uint64_t *value)
{
    if (trip("vkGetSemaphoreCounterValue"))
        return (VkResult)fail_code;
    VkResult r = below.GetSemaphoreCounterValueKHR(d, s, value);
    if (never)
        *value = last_value;
    return r;
}

static VKAPI_ATTR void VKAPI_CALL
own_CmdPipelineBarrier(VkCommandBuffer c, VkPipelineStageFlags from, VkPipelineStageFlags to,
                       VkDependencyFlags f, uint32_t n, const VkMemoryBarrier *b, uint32_t k,
                       const VkBufferMemoryBarrier *bb, uint32_t m, const VkImageMemoryBarrier *ib)
{
    barriers += to != VK_PIPELINE_STAGE_HOST_BIT;
    below.CmdPipelineBarrier(c, from, to, f, n, b, k, bb, m, ib);
}

static VKAPI_ATTR void VKAPI_CALL
own_DestroyDevice(VkDevice d, const VkAllocationCallbacks *a)
{
    count(-1);
    below.DestroyDevice(d, a);
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_EnumeratePhysicalDevices(VkInstance in, uint32_t *n, VkPhysicalDevice *d)
{
    if (d && trip("vkEnumeratePhysicalDevices"))
        return (VkResult)fail_code;
    return below.EnumeratePhysicalDevices(in, n, d);
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_EnumerateDeviceExtensionProperties(VkPhysicalDevice d, const char *layer, uint32_t *n,
                                       VkExtensionProperties *p)
{
    if (trip("vkEnumerateDeviceExtensionProperties"))
        return (VkResult)fail_code;
    return below.EnumerateDeviceExtensionProperties(d, layer, n, p);
}

static VKAPI_ATTR void VKAPI_CALL
own_GetPhysicalDeviceProperties2(VkPhysicalDevice d, VkPhysicalDeviceProperties2 *p)
{
    below.GetPhysicalDeviceProperties2(d, p);
    VkPhysicalDeviceLimits *l = &p->properties.limits;
    for (int i = 0; groups && i < 3; i++)
        l->maxComputeWorkGroupCount[i] = groups;
    if (bindings)
        l->maxPerStageDescriptorStorageBuffers = bindings;
    if (range)
        l->maxStorageBufferRange = range;
    for (VkBaseOutStructure *s = p->pNext; driver_id && s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)
            ((VkPhysicalDeviceDriverProperties *)(void *)s)->driverID = (VkDriverId)driver_id;
}

/* ---- the chain ---- */

static VKAPI_ATTR void VKAPI_CALL
own_DestroyInstance(VkInstance in, const VkAllocationCallbacks *a)
{
    count(-1);
    below.DestroyInstance(in, a);
}

static VkLayerInstanceCreateInfo *
instance_link(const VkInstanceCreateInfo *i)
{
    VkLayerInstanceCreateInfo *l = (VkLayerInstanceCreateInfo *)(uintptr_t)i->pNext;
    while (l && !(l->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                  l->function == VK_LAYER_LINK_INFO))
        l = (VkLayerInstanceCreateInfo *)(uintptr_t)l->pNext;
    return l;
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_CreateInstance(const VkInstanceCreateInfo *i, const VkAllocationCallbacks *a, VkInstance *o)
{
    VkLayerInstanceCreateInfo *l = instance_link(i);
    if (trip("vkCreateInstance"))
        return (VkResult)fail_code;
    below.instance_get = l->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)below.instance_get(NULL, "vkCreateInstance");
    l->u.pLayerInfo = l->u.pLayerInfo->pNext;
    VkResult r = create(i, a, o);
    if (r != VK_SUCCESS)
        return r;
    count(1);
#define TAKE(name) below.name = (PFN_vk##name)below.instance_get(*o, "vk" #name)
    TAKE(DestroyInstance), TAKE(EnumeratePhysicalDevices);
    TAKE(EnumerateDeviceExtensionProperties), TAKE(GetPhysicalDeviceProperties2);
#undef TAKE
    return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_CreateDevice(VkPhysicalDevice d, const VkDeviceCreateInfo *i, const VkAllocationCallbacks *a,
                 VkDevice *o)
{
    VkLayerDeviceCreateInfo *l = (VkLayerDeviceCreateInfo *)(uintptr_t)i->pNext;
    if (trip("vkCreateDevice"))
        return (VkResult)fail_code;
    while (l && !(l->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                  l->function == VK_LAYER_LINK_INFO))
        l = (VkLayerDeviceCreateInfo *)(uintptr_t)l->pNext;
    PFN_vkGetInstanceProcAddr get = l->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    below.device_get = l->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)get(NULL, "vkCreateDevice");
    l->u.pLayerInfo = l->u.pLayerInfo->pNext;
    VkResult r = create(d, i, a, o);
    if (r != VK_SUCCESS)
        return r;
    count(1);
#define TAKE3(name, x, y) below.name = (PFN_vk##name)below.device_get(*o, "vk" #name);
#define TAKE2(name, x) TAKE3(name, x, x)
#define TAKE1(name) TAKE3(name, name, name)
    NAMES(TAKE3, TAKE3, TAKE2)
    OTHERS(TAKE1)
    return r;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
device_get(VkDevice d, const char *name)
{
#define OWN3(n, x, y)               \
    if (strcmp(name, "vk" #n) == 0) \
        return below.n ? (PFN_vkVoidFunction)own_##n : NULL;
#define OWN2(n, x) OWN3(n, x, x)
#define OWN1(n) OWN3(n, n, n)
    NAMES(OWN3, OWN3, OWN2)
    OTHERS(OWN1)
    return below.device_get(d, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
instance_get(VkInstance in, const char *name)
{
#define OWN(n)                      \
    if (strcmp(name, "vk" #n) == 0) \
    return (PFN_vkVoidFunction)own_##n
    OWN(CreateInstance);
    OWN(DestroyInstance);
    OWN(CreateDevice);
    OWN(EnumeratePhysicalDevices);
    OWN(EnumerateDeviceExtensionProperties);
    OWN(GetPhysicalDeviceProperties2);
#undef OWN
    if (strcmp(name, "vkGetInstanceProcAddr") == 0)
        return (PFN_vkVoidFunction)instance_get;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)device_get;
    return below.instance_get(in, name);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *v)
{
    if (v->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    v->loaderLayerInterfaceVersion = 2;
    v->pfnGetInstanceProcAddr = instance_get;
    v->pfnGetDeviceProcAddr = device_get;
    v->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
