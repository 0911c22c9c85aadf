/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of Vulkan that ends or holds up the process that asks it, for probe.py. $VK_BROKEN is HOW:CALL: abort, segv, exit or hang, in
 * create, enumerate, properties, features or memory; "lies": its device says impossible things. A line of $VK_BROKEN_LOG for each
 * process that makes an instance.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

static void
in(const char *call)
{
    const char *how = getenv("VK_BROKEN"), *colon = how ? strchr(how, ':') : NULL;
    if (!colon || strcmp(colon + 1, call) != 0)
        return;
    fprintf(stderr, "broken: %s\n", call);
    if (strncmp(how, "abort", 5) == 0)
        abort();
    if (strncmp(how, "segv", 4) == 0)
        raise(SIGSEGV);
    if (strncmp(how, "exit", 4) == 0)
        _exit(3);
    for (;;)
        pause();
}

/* What the loader takes for a handle begins with this number. */
static void *handle[8] = {(void *)0x01CDC0DE};

static VKAPI_ATTR VkResult VKAPI_CALL
create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *a, VkInstance *out)
{
    const char *log = getenv("VK_BROKEN_LOG");
    FILE *f = log ? fopen(log, "a") : NULL;
    (void)info, (void)a;
    if (f) {
        fprintf(f, "%ld\n", (long)getpid());
        fclose(f);
    }
    in("create");
    *out = (VkInstance)handle;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL
destroy_instance(VkInstance instance, const VkAllocationCallbacks *a)
{
    (void)instance, (void)a;
}

static VKAPI_ATTR VkResult VKAPI_CALL
enumerate(VkInstance instance, uint32_t *n, VkPhysicalDevice *out)
{
    (void)instance;
    in("enumerate");
    *n = 1;
    if (out)
        out[0] = (VkPhysicalDevice)handle;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL
no_extensions(VkPhysicalDevice d, const char *layer, uint32_t *n, VkExtensionProperties *out)
{
    (void)d, (void)layer, (void)out;
    *n = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL
no_instance_extensions(const char *layer, uint32_t *n, VkExtensionProperties *out)
{
    return no_extensions(NULL, layer, n, out);
}

static VKAPI_ATTR void VKAPI_CALL
properties(VkPhysicalDevice d, VkPhysicalDeviceProperties *p)
{
    (void)d;
    memset(p, 0, sizeof *p);
    p->apiVersion = VK_API_VERSION_1_1;
    strcpy(p->deviceName, "Broken");
}

static VKAPI_ATTR void VKAPI_CALL
properties2(VkPhysicalDevice d, VkPhysicalDeviceProperties2 *p)
{
    properties(d, &p->properties);
    in("properties");
}

static VKAPI_ATTR void VKAPI_CALL
features2(VkPhysicalDevice d, VkPhysicalDeviceFeatures2 *f)
{
    (void)d;
    in("features");
    memset(&f->features, 0, sizeof f->features);
}

static VKAPI_ATTR void VKAPI_CALL
memory2(VkPhysicalDevice d, VkPhysicalDeviceMemoryProperties2 *m)
{
    const char *how = getenv("VK_BROKEN");
    (void)d;
    in("memory");
    memset(&m->memoryProperties, how && strcmp(how, "lies") == 0 ? 0xff : 0,
           sizeof m->memoryProperties);
}

static VKAPI_ATTR void VKAPI_CALL
queues2(VkPhysicalDevice d, uint32_t *n, VkQueueFamilyProperties2 *q)
{
    (void)d;
    *n = 1;
    if (q)
        q->queueFamilyProperties =
            (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_COMPUTE_BIT, .queueCount = 1};
}

static VKAPI_ATTR VkResult VKAPI_CALL
create_device(VkPhysicalDevice d, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *a,
              VkDevice *out)
{
    (void)d, (void)info, (void)a, (void)out;
    return VK_ERROR_INITIALIZATION_FAILED;
}

static VKAPI_ATTR void VKAPI_CALL
nothing(void)
{
}

__attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL
vk_icdGetInstanceProcAddr(VkInstance instance, const char *name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vk_icdGetInstanceProcAddr(VkInstance instance, const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction f;
    } all[] = {
#define CALL(name, f) {"vk" name, (PFN_vkVoidFunction)f},
        CALL("CreateInstance", create_instance) CALL("DestroyInstance", destroy_instance)
            CALL("EnumeratePhysicalDevices", enumerate)
                CALL("EnumerateInstanceExtensionProperties", no_instance_extensions)
                    CALL("EnumerateDeviceExtensionProperties", no_extensions)
                        CALL("GetPhysicalDeviceProperties", properties)
                            CALL("GetPhysicalDeviceProperties2", properties2)
                                CALL("GetPhysicalDeviceFeatures2", features2)
                                    CALL("GetPhysicalDeviceMemoryProperties2", memory2)
                                        CALL("GetPhysicalDeviceQueueFamilyProperties2", queues2)
                                            CALL("CreateDevice", create_device)
        /* the loader wants these to be there */
        CALL("GetDeviceProcAddr", nothing) CALL("GetPhysicalDeviceFeatures", nothing)
            CALL("GetPhysicalDeviceMemoryProperties", nothing)
                CALL("GetPhysicalDeviceQueueFamilyProperties", nothing)
                    CALL("GetPhysicalDeviceFormatProperties", nothing)
                        CALL("GetPhysicalDeviceImageFormatProperties", nothing)
                            CALL("GetPhysicalDeviceSparseImageFormatProperties", nothing)
#undef CALL
    };
    (void)instance;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, all[i].name) == 0)
            return all[i].f;
    return NULL;
}

__attribute__((visibility("default"))) VkResult VKAPI_CALL
vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
VKAPI_ATTR VkResult VKAPI_CALL
vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    *version = *version < 5 ? *version : 5;
    return VK_SUCCESS;
}
