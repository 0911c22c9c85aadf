/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: the loader, the instance, the tables of functions. */
#include "api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "device.h"

/* dlsym gives no function pointer; this does, for all of them. */
typedef union symbol {
    void *data;
    PFN_vkGetInstanceProcAddr get;
} symbol;

static struct {
    pthread_mutex_t lock;
    void *library; /* stays open: drivers do not survive being unloaded everywhere */
    PFN_vkGetInstanceProcAddr get;
    struct gpu_generic_instance instance;
    unsigned users;
    pid_t kept; /* nobody has the instance, and this process keeps it; 0: not kept */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static tnb_status
open_library(tnb_err *err)
{
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so"};
    symbol s = {NULL};
    if (state.get)
        return TNB_OK;
    for (size_t i = 0; !state.library && i < sizeof names / sizeof *names; i++)
        state.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (state.library)
        s.data = dlsym(state.library, "vkGetInstanceProcAddr");
    state.get = s.get;
    if (state.get)
        return TNB_OK;
    (void)tnb_fail(err, TNB_DEVICE, "Vulkan's loader, libvulkan.so.1, cannot be opened");
    tnb_hint(err, "apt-get install libvulkan1");
    return TNB_DEVICE;
}

static bool
has_extension(const VkExtensionProperties *all, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(all[i].extensionName, name) == 0)
            return true;
    return false;
}

/* Drivers that are not fully conforming are hidden by the loader unless they are asked for. */
static bool
has_portability(void)
{
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)
            state.get(NULL, "vkEnumerateInstanceExtensionProperties");
    VkExtensionProperties all[256];
    uint32_t n = sizeof all / sizeof *all;
    VkResult r = enumerate ? enumerate(NULL, &n, all) : VK_ERROR_INITIALIZATION_FAILED;
    return (r == VK_SUCCESS || r == VK_INCOMPLETE) &&
           has_extension(all, n, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
}

static tnb_status
make_instance(struct gpu_generic_instance *in, tnb_err *err)
{
    static const char *const extensions[] = {VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME};
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)state.get(NULL, "vkCreateInstance");
    PFN_vkEnumerateInstanceVersion version =
        (PFN_vkEnumerateInstanceVersion)state.get(NULL, "vkEnumerateInstanceVersion");
    uint32_t has = VK_API_VERSION_1_0;
    if (!create)
        return tnb_fail(err, TNB_DEVICE, "Vulkan's loader has no vkCreateInstance");
    if (version)
        (void)version(&has);
    if (has < VK_API_VERSION_1_1)
        return tnb_fail(err, TNB_DEVICE, "Vulkan's loader is of version 1.0; 1.1 is needed");
    in->version = has < VK_API_VERSION_1_3 ? has : VK_API_VERSION_1_3;
    bool portability = has_portability();
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .pApplicationName = "tenon",
                                   .pEngineName = "tenon",
                                   .apiVersion = in->version};
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .flags = portability ? VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR : 0u,
        .pApplicationInfo = &app,
        .enabledExtensionCount = portability ? 1 : 0,
        .ppEnabledExtensionNames = extensions};
    VkResult r = create(&info, NULL, &in->handle);
    if (r != VK_SUCCESS)
        return gpu_generic_fail(NULL, r, "vkCreateInstance", err, "looking for Vulkan devices");
    const char *missing = NULL;
#define READ(name) in->name = (PFN_vk##name)state.get(in->handle, "vk" #name);
    GPU_GENERIC_OPTIONAL_INSTANCE_CALLS(READ)
#undef READ
#define READ(name)                                              \
    in->name = (PFN_vk##name)state.get(in->handle, "vk" #name); \
    if (!in->name)                                              \
        missing = "vk" #name;
    GPU_GENERIC_INSTANCE_CALLS(READ)
#undef READ
    if (!missing)
        return TNB_OK;
    if (in->DestroyInstance)
        in->DestroyInstance(in->handle, NULL);
    return tnb_fail(err, TNB_DEVICE, "Vulkan's loader has no %s", missing);
}

tnb_status
gpu_generic_instance_take(const struct gpu_generic_instance **out, tnb_err *err)
{
    tnb_status st = TNB_OK;
    pthread_mutex_lock(&state.lock);
    double before = gpu_generic_seconds();
    bool there = state.users || state.kept == getpid(); /* not that of a process that forked */
    if (!there)
        st = gpu_generic_probe(err);
    if (st == TNB_OK && !there)
        st = open_library(err);
    if (st == TNB_OK && !there)
        st = make_instance(&state.instance, err);
    if (!there)
        state.instance.seconds = gpu_generic_seconds() - before;
    if (st == TNB_OK) {
        state.users++;
        state.kept = 0;
        *out = &state.instance;
    }
    pthread_mutex_unlock(&state.lock);
    return st;
}

void
gpu_generic_instance_drop(void)
{
    pthread_mutex_lock(&state.lock);
    if (--state.users == 0)
        state.instance.DestroyInstance(state.instance.handle, NULL);
    pthread_mutex_unlock(&state.lock);
}

void
gpu_generic_instance_keep(double seconds)
{
    pthread_mutex_lock(&state.lock);
    state.instance.seconds += seconds;
    if (--state.users == 0)
        state.kept = getpid();
    pthread_mutex_unlock(&state.lock);
}

/* Under the extension's name, or that of the version that took it over, without the suffix. */
static PFN_vkVoidFunction
extension_call(const struct gpu_generic_instance *in, VkDevice device, const char *name)
{
    char core[64];
    PFN_vkVoidFunction f = in->GetDeviceProcAddr(device, name);
    (void)snprintf(core, sizeof core, "%.*s", (int)strlen(name) - 3, name);
    return f ? f : in->GetDeviceProcAddr(device, core);
}

tnb_status
gpu_generic_calls_read(const struct gpu_generic_instance *in, VkDevice device,
                       struct gpu_generic_calls *out, tnb_err *err)
{
    const char *missing = NULL;
#define READ(name) out->name = (PFN_vk##name)extension_call(in, device, "vk" #name);
    GPU_GENERIC_OPTIONAL_CALLS(READ)
#undef READ
#define READ(name)                                                       \
    out->name = (PFN_vk##name)in->GetDeviceProcAddr(device, "vk" #name); \
    if (!out->name)                                                      \
        missing = "vk" #name;
    GPU_GENERIC_DEVICE_CALLS(READ)
#undef READ
    return missing ? tnb_fail(err, TNB_DEVICE, "the driver has no %s", missing) : TNB_OK;
}
