/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_generic_probe: asks all Vulkan drivers for their devices.
 *
 * probe.c starts it to learn whether drivers and layers let a process live. It says "began", each call before it is made, with the
 * device that is asked, and "done".
 */
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vulkan/vulkan_core.h>

enum { DEVICES = 64 };

static void
say(const char *call, const char *device)
{
    printf("%s%s%s%s\n", call, device ? " of '" : "", device ? device : "", device ? "'" : "");
    fflush(stdout);
}

/* dlsym gives no function pointer; this does. */
typedef union symbol {
    void *data;
    PFN_vkGetInstanceProcAddr get;
} symbol;

static void
ask_device(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkPhysicalDevice device)
{
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    VkPhysicalDeviceFeatures2 f = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDeviceMemoryProperties2 m = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    uint32_t n = 0;
#define CALL(name, ...)                                                               \
    do {                                                                              \
        PFN_vk##name call = (PFN_vk##name)get(instance, "vk" #name);                  \
        say("vk" #name, p.properties.deviceName[0] ? p.properties.deviceName : NULL); \
        if (call)                                                                     \
            (void)call(device, __VA_ARGS__);                                          \
    } while (0)
    CALL(GetPhysicalDeviceProperties2, &p);
    p.properties.deviceName[sizeof p.properties.deviceName - 1] = '\0';
    CALL(GetPhysicalDeviceFeatures2, &f);
    CALL(GetPhysicalDeviceMemoryProperties2, &m);
    CALL(GetPhysicalDeviceQueueFamilyProperties2, &n, NULL);
    CALL(EnumerateDeviceExtensionProperties, NULL, &n, NULL);
#undef CALL
}

static void
ask(PFN_vkGetInstanceProcAddr get)
{
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .pApplicationName = "tenon",
                                   .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &app};
    VkInstance instance = VK_NULL_HANDLE;
    say("vkCreateInstance", NULL);
    if (!create || create(&info, NULL, &instance) != VK_SUCCESS)
        return;
    PFN_vkEnumeratePhysicalDevices enumerate =
        (PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices");
    VkPhysicalDevice devices[DEVICES];
    uint32_t n = DEVICES;
    say("vkEnumeratePhysicalDevices", NULL);
    VkResult r = enumerate ? enumerate(instance, &n, devices) : VK_ERROR_INITIALIZATION_FAILED;
    for (uint32_t i = 0; i < n && i < DEVICES && (r == VK_SUCCESS || r == VK_INCOMPLETE); i++)
        ask_device(get, instance, devices[i]);
    PFN_vkDestroyInstance destroy = (PFN_vkDestroyInstance)get(instance, "vkDestroyInstance");
    say("vkDestroyInstance", NULL);
    if (destroy)
        destroy(instance, NULL);
}

int
main(void)
{
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so"};
    void *library = NULL;
    symbol s = {NULL};
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    say("began", NULL);
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library)
        s.data = dlsym(library, "vkGetInstanceProcAddr");
    if (s.get)
        ask(s.get);
    say("done", NULL);
    _exit(0); /* what drivers do at the end of a process is not asked for */
}
