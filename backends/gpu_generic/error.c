/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: what Vulkan's codes mean here. */
#include "device.h"

#include <stdio.h>
#include <string.h>

enum { ENDS = 1 }; /* nothing works on the device after it */

static const struct meaning {
    VkResult code;
    tnb_status status;
    int ends;
    const char *name, *means, *hint;
} meanings[] = {
#define MEANING(code, status, ends, means, hint)     \
    {                                                \
        code, TNB_##status, ends, #code, means, hint \
    }
    MEANING(VK_NOT_READY, DEVICE, 0, "the work is not done", ""),
    MEANING(VK_TIMEOUT, DEVICE, 0, "the work was not done in time", ""),
    MEANING(VK_INCOMPLETE, DEVICE, 0, "the answer is not complete", ""),
    MEANING(VK_ERROR_OUT_OF_HOST_MEMORY, NO_MEMORY, 0, "the driver has no memory on the host", ""),
    MEANING(VK_ERROR_OUT_OF_DEVICE_MEMORY, NO_MEMORY, 0, "the device's memory is used up",
            "use smaller inputs, or a device with more memory"),
    MEANING(VK_ERROR_INITIALIZATION_FAILED, DEVICE, 0, "the driver could not start",
            "vulkaninfo shows which drivers start"),
    MEANING(VK_ERROR_DEVICE_LOST, DEVICE, ENDS,
            "the device was reset or has gone, or a kernel ran too long or went astray",
            "look into the system's log for a reset of the device, and start again"),
    MEANING(VK_ERROR_MEMORY_MAP_FAILED, NO_MEMORY, 0,
            "memory of the device cannot be seen from the host", ""),
    MEANING(VK_ERROR_LAYER_NOT_PRESENT, DEVICE, 0, "a layer that was asked for is not there",
            "look at VK_INSTANCE_LAYERS and VK_LAYER_PATH"),
    MEANING(VK_ERROR_EXTENSION_NOT_PRESENT, DEVICE, 0, "the driver lacks an extension", ""),
    MEANING(VK_ERROR_FEATURE_NOT_PRESENT, UNSUPPORTED, 0, "the device lacks a feature", ""),
    MEANING(VK_ERROR_INCOMPATIBLE_DRIVER, DEVICE, 0, "no Vulkan driver is installed",
            "install the driver of your GPU, or mesa-vulkan-drivers, which also has one for the "
            "processor"),
    MEANING(VK_ERROR_TOO_MANY_OBJECTS, NO_MEMORY, 0, "the driver has no more objects of this kind",
            ""),
    MEANING(VK_ERROR_FRAGMENTED_POOL, NO_MEMORY, 0, "a pool is fragmented", ""),
    MEANING(VK_ERROR_OUT_OF_POOL_MEMORY, NO_MEMORY, 0, "a pool is used up", ""),
    MEANING(VK_ERROR_INVALID_SHADER_NV, FORMAT, 0, "the driver does not take the code", ""),
    MEANING(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, NO_MEMORY, 0, "an address is in use", ""),
    MEANING(VK_ERROR_UNKNOWN, DEVICE, 0, "the driver does not say why", ""),
#undef MEANING
};

static const struct meaning *
meaning_of(VkResult code)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].code == code)
            return &meanings[i];
    return NULL;
}

void
gpu_generic_lose(struct gpu_generic_device *d, const char *why)
{
    pthread_mutex_lock(&d->lost_lock);
    if (!atomic_load(&d->lost)) {
        snprintf(d->why_lost, sizeof d->why_lost, "%s", why);
        atomic_store(&d->lost, true);
    }
    pthread_mutex_unlock(&d->lost_lock);
}

tnb_status
gpu_generic_fail(struct gpu_generic_device *d, VkResult code, const char *call, tnb_err *err,
                 const char *fmt, ...)
{
    const struct meaning *m = meaning_of(code);
    char what[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (!m)
        return tnb_fail(err, TNB_DEVICE, "%s: %s: Vulkan's code %d", what, call, (int)code);
    if (d && m->ends)
        gpu_generic_lose(d, m->name);
    (void)tnb_fail(err, m->status, "%s: %s: %s (%d): %s", what, call, m->name, (int)code, m->means);
    if (m->hint[0])
        tnb_hint(err, "%s", m->hint);
    return m->status;
}

tnb_status
gpu_generic_alive(struct gpu_generic_device *d, tnb_err *err)
{
    if (!atomic_load(&d->lost))
        return TNB_OK;
    (void)tnb_fail(err, TNB_DEVICE, "the device '%s' was lost before (%s)",
                   d->info.props.deviceName, d->why_lost);
    tnb_hint(err, "start again; nothing that lay on the device is left");
    return TNB_DEVICE;
}
