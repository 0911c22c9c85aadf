/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: what a device says about itself, in numbers, in one line for a person, and as features that
 * code asks for.
 */
#include "device.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- features ---- */

static const char *const feature_names[] = {
#define NAME(name, where) #name,
    GPU_GENERIC_FEATURES(NAME)
#undef NAME
#define NAME(name) #name,
        GPU_GENERIC_CONTROLS(NAME)
#undef NAME
};

const char *
gpu_generic_vulkan_name(unsigned bit)
{
    return feature_names[bit];
}

/* Bits of the structures' members. */
static uint64_t
bits_of(const struct gpu_generic_features *f)
{
    uint64_t bits = 0;
#define READ(name, where) bits |= (uint64_t)(f->where.name == VK_TRUE) << GPU_GENERIC_BIT_##name;
    GPU_GENERIC_FEATURES(READ)
#undef READ
    return bits;
}

/* Structures of extensions are chained where the device has these, or a version that took them over. */
static bool
has_structure(const struct gpu_generic_info *info, const char *extension, uint32_t core)
{
    if (info->props.apiVersion >= core)
        return true;
    for (uint32_t i = 0; i < info->n_extensions; i++)
        if (strcmp(info->extensions[i], extension) == 0)
            return true;
    return false;
}

static void
chain(const struct gpu_generic_info *info, struct gpu_generic_features *f)
{
    static const struct {
        size_t at;
        VkStructureType type;
        uint32_t core;
        const char *extension;
    } all[] = {
#define STRUCTURE(member, TYPE, core, extension)    \
    {offsetof(struct gpu_generic_features, member), \
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE##_FEATURES, VK_API_VERSION_##core, extension}
        STRUCTURE(storage16, 16BIT_STORAGE, 1_1, ""),
        STRUCTURE(pointers, VARIABLE_POINTERS, 1_1, ""),
        STRUCTURE(storage8, 8BIT_STORAGE, 1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME),
        STRUCTURE(small, SHADER_FLOAT16_INT8, 1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME),
        STRUCTURE(address, BUFFER_DEVICE_ADDRESS, 1_2, VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME),
        STRUCTURE(model, VULKAN_MEMORY_MODEL, 1_2, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME),
        STRUCTURE(subgroup_types, SHADER_SUBGROUP_EXTENDED_TYPES, 1_2,
                  VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME),
        STRUCTURE(atomic64, SHADER_ATOMIC_INT64, 1_2, VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME),
        STRUCTURE(scalar, SCALAR_BLOCK_LAYOUT, 1_2, VK_EXT_SCALAR_BLOCK_LAYOUT_EXTENSION_NAME),
        STRUCTURE(timeline, TIMELINE_SEMAPHORE, 1_2, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME),
        STRUCTURE(subgroup, SUBGROUP_SIZE_CONTROL, 1_3,
                  VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME),
        STRUCTURE(dot, SHADER_INTEGER_DOT_PRODUCT, 1_3,
                  VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME),
#undef STRUCTURE
        {offsetof(struct gpu_generic_features, matrix),
         VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, UINT32_MAX,
         VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME},
    };
    *f = (struct gpu_generic_features){
        .core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        VkBaseOutStructure *s = (VkBaseOutStructure *)(void *)((char *)f + all[i].at);
        if (!has_structure(info, all[i].extension, all[i].core))
            continue;
        s->sType = all[i].type;
        s->pNext = f->core.pNext;
        f->core.pNext = s;
    }
}

void
gpu_generic_features_chain(const struct gpu_generic_info *info, struct gpu_generic_features *out)
{
    chain(info, out);
#define WRITE(name, where) out->where.name = GPU_GENERIC_HAS(info, name) ? VK_TRUE : VK_FALSE;
    GPU_GENERIC_FEATURES(WRITE)
#undef WRITE
}

tnb_status
gpu_generic_features_leave_out(struct gpu_generic_info *info, const char *list, tnb_err *err)
{
    for (const char *s = list + strspn(list, ", "); *s; s += strspn(s, ", ")) {
        size_t n = strcspn(s, ", ");
        unsigned bit = 0;
        while (bit < GPU_GENERIC_N_FEATURES &&
               (strlen(feature_names[bit]) != n || memcmp(feature_names[bit], s, n) != 0))
            bit++;
        if (bit == GPU_GENERIC_N_FEATURES)
            return tnb_fail(err, TNB_INVALID,
                            "[device gpu_generic] leave_out: '%.*s' is no feature of Vulkan that "
                            "is used, as shaderFloat16 and bufferDeviceAddress are",
                            (int)(n < 60 ? n : 60), s);
        if (info)
            info->features &= ~(UINT64_C(1) << bit);
        s += n;
    }
    return TNB_OK;
}

/* ---- asking ---- */

/* Extensions that the device is opened with, where it has them. */
static const char *const wanted[] = {
    VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
    VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME,
    VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME,
    VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME,
    VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME,
    VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME,
    VK_EXT_SCALAR_BLOCK_LAYOUT_EXTENSION_NAME,
    VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME,
    VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME,
    VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME,
    VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME,
    VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME,
    VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME,
    VK_KHR_SPIRV_1_4_EXTENSION_NAME,
    VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
    "VK_KHR_portability_subset", /* has to be taken where it is there */
};

static tnb_status
read_extensions(const struct gpu_generic_instance *in, struct gpu_generic_info *info, tnb_err *err)
{
    uint32_t n = 0;
    VkResult r = in->EnumerateDeviceExtensionProperties(info->handle, NULL, &n, NULL);
    VkExtensionProperties *all = r == VK_SUCCESS ? calloc(n + 1u, sizeof *all) : NULL;
    if (all)
        r = in->EnumerateDeviceExtensionProperties(info->handle, NULL, &n, all);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE) {
        free(all);
        return gpu_generic_fail(NULL, r, "vkEnumerateDeviceExtensionProperties", err,
                                "asking device '%s'", info->props.deviceName);
    }
    if (!all)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to look for Vulkan devices");
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
        for (uint32_t i = 0; i < n; i++)
            if (strcmp(all[i].extensionName, wanted[k]) == 0) {
                info->extensions[info->n_extensions++] = wanted[k];
                break;
            }
    free(all);
    return TNB_OK;
}

/* What the driver says of floats: bits. */
static uint64_t
controls_of(const VkPhysicalDeviceFloatControlsProperties *p)
{
    uint64_t bits = 0;
#define READ(name) bits |= (uint64_t)(p->name == VK_TRUE) << GPU_GENERIC_BIT_##name;
    GPU_GENERIC_CONTROLS(READ)
#undef READ
    return bits;
}

static void
read_properties(const struct gpu_generic_instance *in, struct gpu_generic_info *info)
{
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    VkPhysicalDeviceMaintenance3Properties largest = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &largest};
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    VkPhysicalDevicePushDescriptorPropertiesKHR push = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR};
    VkPhysicalDeviceFloatControlsProperties floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
    p.pNext = &subgroup;
    if (has_structure(info, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, VK_API_VERSION_1_2))
        floats.pNext = p.pNext, p.pNext = &floats;
    if (has_structure(info, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME, VK_API_VERSION_1_2))
        driver.pNext = p.pNext, p.pNext = &driver;
    if (has_structure(info, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_API_VERSION_1_3))
        sizes.pNext = p.pNext, p.pNext = &sizes;
    info->push_descriptors = has_structure(info, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, UINT32_MAX);
    if (info->push_descriptors)
        push.pNext = p.pNext, p.pNext = &push;
    in->GetPhysicalDeviceProperties2(info->handle, &p);
    info->props = p.properties;
    info->features = controls_of(&floats);
    info->driver_id = driver.driverID;
    memcpy(info->driver, driver.driverName, sizeof info->driver);
    memcpy(info->driver_info, driver.driverInfo, sizeof info->driver_info);
    info->largest = largest.maxMemoryAllocationSize;
    info->subgroup_ops =
        subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT ? subgroup.supportedOperations : 0;
    info->subgroup = subgroup.subgroupSize;
    info->subgroup_min = sizes.minSubgroupSize ? sizes.minSubgroupSize : subgroup.subgroupSize;
    info->subgroup_max = sizes.maxSubgroupSize ? sizes.maxSubgroupSize : subgroup.subgroupSize;
    info->subgroup_sizes = sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
    info->max_push_descriptors = push.maxPushDescriptors;
}

static void
read_memory(const struct gpu_generic_instance *in, struct gpu_generic_info *info)
{
    VkPhysicalDeviceMemoryProperties2 m = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    in->GetPhysicalDeviceMemoryProperties2(info->handle, &m);
    info->memory = m.memoryProperties;
    if (info->memory.memoryTypeCount > VK_MAX_MEMORY_TYPES)
        info->memory.memoryTypeCount = VK_MAX_MEMORY_TYPES;
    if (info->memory.memoryHeapCount > VK_MAX_MEMORY_HEAPS)
        info->memory.memoryHeapCount = VK_MAX_MEMORY_HEAPS;
    for (uint32_t i = 0; i < info->memory.memoryHeapCount; i++)
        if (info->memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
            info->memory.memoryHeaps[i].size > info->heap)
            info->heap = info->memory.memoryHeaps[i].size;
    if (info->largest == 0 || info->largest > info->heap)
        info->largest = info->heap;
}

/* The family for compute: one without graphics runs beside what a desktop draws, but not all have timestamps. */
static tnb_status
read_queues(const struct gpu_generic_instance *in, struct gpu_generic_info *info, tnb_err *err)
{
    VkQueueFamilyProperties2 all[32];
    uint32_t n = sizeof all / sizeof *all;
    int best = -1;
    for (uint32_t i = 0; i < n; i++)
        all[i] = (VkQueueFamilyProperties2){.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2};
    in->GetPhysicalDeviceQueueFamilyProperties2(info->handle, &n, all);
    for (uint32_t i = 0; i < n; i++) {
        const VkQueueFamilyProperties *q = &all[i].queueFamilyProperties;
        int worth =
            (q->queueFlags & VK_QUEUE_GRAPHICS_BIT ? 1 : 2) + (q->timestampValidBits ? 4 : 0);
        if (!(q->queueFlags & VK_QUEUE_COMPUTE_BIT) || q->queueCount == 0 || worth <= best)
            continue;
        best = worth;
        info->family = i;
        info->n_queues = q->queueCount;
        info->timestamp_bits = q->timestampValidBits;
    }
    return best >= 0 ? TNB_OK
                     : tnb_fail(err, TNB_DEVICE, "device '%s' has no queue for compute",
                                info->props.deviceName);
}

/* Which matrices sub-groups multiply; a driver that does not tell has none. */
static void
read_units(const struct gpu_generic_instance *in, struct gpu_generic_info *info)
{
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR ask =
        in->GetPhysicalDeviceCooperativeMatrixPropertiesKHR;
    VkCooperativeMatrixPropertiesKHR all[64];
    uint32_t n = sizeof all / sizeof *all;
    for (uint32_t i = 0; i < n; i++)
        all[i] = (VkCooperativeMatrixPropertiesKHR){
            .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
    VkResult r = ask && GPU_GENERIC_HAS(info, cooperativeMatrix) ? ask(info->handle, &n, all)
                                                                 : VK_ERROR_FEATURE_NOT_PRESENT;
    for (uint32_t i = 0; i < n && (r == VK_SUCCESS || r == VK_INCOMPLETE); i++) {
        const VkCooperativeMatrixPropertiesKHR *p = &all[i];
        if (p->AType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
            p->BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
            p->CType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
            p->ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR && !p->saturatingAccumulation &&
            p->scope == VK_SCOPE_SUBGROUP_KHR && info->n_units < GPU_GENERIC_MAX_UNITS)
            info->units[info->n_units++] = (struct gpu_generic_unit){p->MSize, p->NSize, p->KSize};
    }
    if (info->n_units == 0)
        info->features &= ~(UINT64_C(1) << GPU_GENERIC_BIT_cooperativeMatrix);
}

/* Features whose results are wrong by a driver, and how that was seen. They count as absent. */
static const struct {
    VkDriverId driver;
    unsigned bit;
} wrong_features[] = {
    /* 580.159.04 on an H100: the lowest bit of the quotient of two 64-bit integers is 1 in some kernels (ONNX's test_tile, gpt2), with its
     * optimizer and without, however the division is written; the same kernels with pairs of 32 bits are right. */
    {VK_DRIVER_ID_NVIDIA_PROPRIETARY, GPU_GENERIC_BIT_shaderInt64},
};

/* Drivers that end a thread's loops after so many turns of all of them together and report nothing. */
static const struct {
    VkDriverId driver;
    uint32_t turns;
} short_loops[] = {
    /* LP_MAX_TGSI_LOOP_ITERATIONS of its sources; the turn in which a loop's condition fails counts as well. Seen with Mesa 22.3.6. */
    {VK_DRIVER_ID_MESA_LLVMPIPE, 65535},
};

tnb_status
gpu_generic_info_read(const struct gpu_generic_instance *in, VkPhysicalDevice device,
                      struct gpu_generic_info *out, tnb_err *err)
{
    struct gpu_generic_features f;
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    *out = (struct gpu_generic_info){.handle = device};
    in->GetPhysicalDeviceProperties2(device, &p);
    out->props = p.properties;
    if (out->props.apiVersion < VK_API_VERSION_1_1)
        return tnb_fail(err, TNB_DEVICE, "device '%s' has Vulkan %u.%u; 1.1 is needed",
                        out->props.deviceName, VK_API_VERSION_MAJOR(out->props.apiVersion),
                        VK_API_VERSION_MINOR(out->props.apiVersion));
    TNB_TRY(read_extensions(in, out, err));
    read_properties(in, out);
    read_memory(in, out);
    TNB_TRY(read_queues(in, out, err));
    chain(out, &f);
    in->GetPhysicalDeviceFeatures2(device, &f.core);
    out->features |= bits_of(&f);
    for (size_t i = 0; i < sizeof wrong_features / sizeof *wrong_features; i++)
        if (wrong_features[i].driver == out->driver_id)
            out->features &= ~(UINT64_C(1) << wrong_features[i].bit);
    for (size_t i = 0; i < sizeof short_loops / sizeof *short_loops; i++)
        if (short_loops[i].driver == out->driver_id)
            out->loop_turns = short_loops[i].turns;
    read_units(in, out);
    return TNB_OK;
}

bool
gpu_generic_subgroups_are(const struct gpu_generic_info *info, uint32_t size, uint32_t x)
{
    bool sized = info->subgroup_sizes && GPU_GENERIC_HAS(info, subgroupSizeControl);
    if (size == 0 || x % size)
        return false;
    return sized ? size >= info->subgroup_min && size <= info->subgroup_max &&
                       GPU_GENERIC_HAS(info, computeFullSubgroups)
                 : size == info->subgroup;
}

/* ---- telling ---- */

const char *
gpu_generic_type_name(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return "cpu";
    default:
        return "other";
    }
}

/* What a kernel of this device gets, in short. */
static const struct {
    unsigned bit;
    const char *text;
} words[] = {
    {GPU_GENERIC_BIT_shaderFloat16, "fp16"},
    {GPU_GENERIC_BIT_shaderFloat64, "fp64"},
    {GPU_GENERIC_BIT_shaderInt8, "int8"},
    {GPU_GENERIC_BIT_shaderInt16, "int16"},
    {GPU_GENERIC_BIT_shaderInt64, "int64"},
    {GPU_GENERIC_BIT_storageBuffer16BitAccess, "storage16"},
    {GPU_GENERIC_BIT_storageBuffer8BitAccess, "storage8"},
    {GPU_GENERIC_BIT_shaderIntegerDotProduct, "dot"},
    {GPU_GENERIC_BIT_bufferDeviceAddress, "addresses"},
};

void
gpu_generic_describe(void *dev, char *out, size_t n)
{
    const struct gpu_generic_device *d = dev;
    const struct gpu_generic_info *i = &d->info;
    const VkPhysicalDeviceLimits *l = &i->props.limits;
    char can[256] = "";
    size_t at = 0;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (i->features >> words[k].bit & 1)
            at += (size_t)snprintf(can + at, sizeof can - at, " %s", words[k].text);
    for (uint32_t k = 0; k < i->n_units && k < 3 && GPU_GENERIC_HAS(i, cooperativeMatrix); k++)
        at += (size_t)snprintf(can + at, sizeof can - at, "%s%ux%ux%u", k ? ", " : " matrices ",
                               i->units[k].rows, i->units[k].columns, i->units[k].steps);
    snprintf(out, n,
             "%s, driver %s %s; Vulkan %u.%u; %s; %" PRIu64 " MiB, %" PRIu64 " MiB a binding, %u "
             "KiB shared; groups of %u, sub-groups of %u;%s",
             i->props.deviceName, i->driver[0] ? i->driver : "unknown", i->driver_info,
             VK_API_VERSION_MAJOR(i->props.apiVersion), VK_API_VERSION_MINOR(i->props.apiVersion),
             gpu_generic_type_name(i->props.deviceType), i->heap >> 20,
             (uint64_t)l->maxStorageBufferRange >> 20, l->maxComputeSharedMemorySize >> 10,
             l->maxComputeWorkGroupInvocations, i->subgroup, can);
}

/* ---- what code may ask for: a feature's name, "subgroup:" and a class of operations, or QUANTITY>=NUMBER ---- */

static const struct {
    const char *name;
    VkSubgroupFeatureFlags flag;
} operations[] = {{"basic", VK_SUBGROUP_FEATURE_BASIC_BIT},
                  {"vote", VK_SUBGROUP_FEATURE_VOTE_BIT},
                  {"arithmetic", VK_SUBGROUP_FEATURE_ARITHMETIC_BIT},
                  {"ballot", VK_SUBGROUP_FEATURE_BALLOT_BIT},
                  {"shuffle", VK_SUBGROUP_FEATURE_SHUFFLE_BIT},
                  {"shuffle_relative", VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT},
                  {"clustered", VK_SUBGROUP_FEATURE_CLUSTERED_BIT},
                  {"quad", VK_SUBGROUP_FEATURE_QUAD_BIT}};
enum { N_OPERATIONS = sizeof operations / sizeof *operations };

enum { N_QUANTITIES = 6 };
struct quantity {
    const char *name;
    uint64_t value;
};

static void
quantities(const struct gpu_generic_info *i, struct quantity out[N_QUANTITIES])
{
    const VkPhysicalDeviceLimits *l = &i->props.limits;
    uint64_t version = VK_API_VERSION_MAJOR(i->props.apiVersion) * 100 +
                       VK_API_VERSION_MINOR(i->props.apiVersion) * 10;
    const struct quantity all[N_QUANTITIES] = {
        {"group_size", l->maxComputeWorkGroupInvocations},
        {"shared_memory", l->maxComputeSharedMemorySize},
        {"subgroup_size", i->subgroup_sizes ? i->subgroup_max : i->subgroup},
        {"push_constants", l->maxPushConstantsSize},
        {"bindings", l->maxPerStageDescriptorStorageBuffers},
        {"vulkan", version},
    };
    memcpy(out, all, sizeof all);
}

static bool
has_quantity(const struct gpu_generic_info *info, const char *f, const char *at)
{
    struct quantity all[N_QUANTITIES];
    char *end;
    quantities(info, all);
    for (int k = 0; k < N_QUANTITIES; k++) {
        if (strlen(all[k].name) != (size_t)(at - f) ||
            memcmp(all[k].name, f, (size_t)(at - f)) != 0)
            continue;
        if (!isdigit((unsigned char)at[2]))
            return false;
        if (strcmp(all[k].name, "vulkan") == 0) { /* 1.2 */
            int major = 0, minor = 0, used = 0;
            return sscanf(at + 2, "%3d.%1d%n", &major, &minor, &used) == 2 && !at[2 + used] &&
                   all[k].value >= (uint64_t)(major * 100 + minor * 10);
        }
        unsigned long long want = strtoull(at + 2, &end, 10);
        return *end == '\0' && all[k].value >= want;
    }
    return false;
}

/* ROWSxCOLUMNSxSTEPS:THREADS of a sub-group. */
static bool
has_unit(const struct gpu_generic_info *info, const char *text)
{
    uint32_t rows, columns, steps, threads;
    int end = 0;
    if (sscanf(text, "%3" SCNu32 "x%3" SCNu32 "x%3" SCNu32 ":%3" SCNu32 "%n", &rows, &columns,
               &steps, &threads, &end) != 4 ||
        text[end] || !gpu_generic_subgroups_are(info, threads, threads))
        return false;
    for (uint32_t i = 0; i < info->n_units; i++)
        if (info->units[i].rows == rows && info->units[i].columns == columns &&
            info->units[i].steps == steps)
            return GPU_GENERIC_HAS(info, cooperativeMatrix);
    return false;
}

static bool
has_feature(const struct gpu_generic_info *info, const char *f)
{
    const char *at = strstr(f, ">=");
    if (at)
        return has_quantity(info, f, at);
    if (strncmp(f, "subgroup:", 9) == 0) {
        for (int k = 0; k < N_OPERATIONS; k++)
            if (strcmp(f + 9, operations[k].name) == 0)
                return info->subgroup_ops & operations[k].flag;
        return false;
    }
    if (strncmp(f, "cooperativeMatrix:", 18) == 0)
        return has_unit(info, f + 18);
    for (unsigned bit = 0; bit < GPU_GENERIC_N_FEATURES; bit++)
        if (strcmp(f, feature_names[bit]) == 0)
            return info->features >> bit & 1;
    return false;
}

/* Appends a word to the list of `size` bytes, as far as there is room. */
static void
append(char *out, size_t size, const char *before, const char *word)
{
    size_t at = strlen(out);
    snprintf(out + at, size - at, "%s%s%s", at ? " " : "", before, word);
}

tnb_status
gpu_generic_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err)
{
    const struct gpu_generic_info *info = &((const struct gpu_generic_device *)dev)->info;
    const char *missing = NULL;
    char need[224] = "", have[480] = "", number[48];
    for (uint32_t k = 0; k < n; k++) {
        if (!missing && !has_feature(info, features[k]))
            missing = features[k];
        append(need, sizeof need, "", features[k]);
    }
    if (!missing)
        return TNB_OK;
    struct quantity all[N_QUANTITIES];
    quantities(info, all);
    for (int k = 0; k < N_QUANTITIES - 1; k++) {
        snprintf(number, sizeof number, "%s>=%" PRIu64, all[k].name, all[k].value);
        append(have, sizeof have, "", number);
    }
    for (uint32_t k = 0; k < info->n_units && k < 4; k++) {
        const struct gpu_generic_unit *u = &info->units[k];
        snprintf(number, sizeof number, "cooperativeMatrix:%ux%ux%u:%u", u->rows, u->columns,
                 u->steps, info->subgroup);
        append(have, sizeof have, "", number);
    }
    for (unsigned bit = 0; bit < GPU_GENERIC_N_FEATURES; bit++)
        if (info->features >> bit & 1)
            append(have, sizeof have, "", feature_names[bit]);
    for (int k = 0; k < N_OPERATIONS; k++)
        if (info->subgroup_ops & operations[k].flag)
            append(have, sizeof have, "subgroup:", operations[k].name);
    (void)tnb_fail(err, TNB_UNSUPPORTED,
                   "device '%.80s' lacks '%.60s': the code needs [%s], the device has [%s]",
                   info->props.deviceName, missing, need, have);
    tnb_hint(err, "compile the model for the device, with -t gpu_generic:auto where it is present: "
                  "its features are attributes of the target (tenon show target gpu_generic)");
    return TNB_UNSUPPORTED;
}

/* ---- attributes of the target ---- */

/* ORDER: as the compiler half has them. */
static const struct {
    const char *name;
    unsigned bit;
} supports[] = {
    {"supports_float16", GPU_GENERIC_BIT_shaderFloat16},
    {"supports_float64", GPU_GENERIC_BIT_shaderFloat64},
    {"supports_int8", GPU_GENERIC_BIT_shaderInt8},
    {"supports_int16", GPU_GENERIC_BIT_shaderInt16},
    {"supports_int64", GPU_GENERIC_BIT_shaderInt64},
    {"supports_16bit_buffer", GPU_GENERIC_BIT_storageBuffer16BitAccess},
    {"supports_8bit_buffer", GPU_GENERIC_BIT_storageBuffer8BitAccess},
    {"supports_buffer_device_address", GPU_GENERIC_BIT_bufferDeviceAddress},
};
static const char *const asked_for[] = {
    "subgroup:arithmetic",
    "subgroup:clustered",
    "subgroup:shuffle",
    "shaderSignedZeroInfNanPreserveFloat16",
    "shaderSignedZeroInfNanPreserveFloat32",
    "shaderSignedZeroInfNanPreserveFloat64",
    "shaderDenormPreserveFloat32",
    "shaderRoundingModeRTEFloat16",
};

/* Schedules use no more than 256 threads of a block: more keep few registers on many GPUs. */
tnb_status
gpu_generic_target_of(void *dev, char *out, size_t n, tnb_err *err)
{
    const struct gpu_generic_device *d = dev;
    const struct gpu_generic_info *i = &d->info;
    const VkPhysicalDeviceLimits *l = &i->props.limits;
    uint32_t threads = l->maxComputeWorkGroupInvocations;
    for (int k = 0; k < 2; k++)
        threads = l->maxComputeWorkGroupSize[k] < threads ? l->maxComputeWorkGroupSize[k] : threads;
    threads = threads < 65536 ? threads : 65536;
    char text[2048];
    int at = snprintf(text, sizeof text,
                      "\"max_threads_per_block\": %u, \"max_num_threads\": %u, "
                      "\"max_shared_memory_per_block\": %u, \"max_push_constants_size\": %u, "
                      "\"thread_warp_size\": %u",
                      threads, threads < 256 ? threads : 256, l->maxComputeSharedMemorySize,
                      l->maxPushConstantsSize, i->subgroup_ops ? i->subgroup : 1);
    for (size_t k = 0; k < sizeof supports / sizeof *supports; k++)
        at += snprintf(text + at, sizeof text - (size_t)at, ", \"%s\": %s", supports[k].name,
                       i->features >> supports[k].bit & 1 ? "true" : "false");
    at += snprintf(text + at, sizeof text - (size_t)at, ", \"features\": [");
    bool some = false;
    for (size_t k = 0; k < sizeof asked_for / sizeof *asked_for; k++)
        if (has_feature(i, asked_for[k])) {
            at += snprintf(text + at, sizeof text - (size_t)at, "%s\"%s\"", some ? ", " : "",
                           asked_for[k]);
            some = true;
        }
    at += snprintf(text + at, sizeof text - (size_t)at, "]");
    if ((size_t)at >= n)
        return tnb_fail(err, TNB_NO_MEMORY, "the attributes of device '%s' need %d bytes",
                        i->props.deviceName, at + 1);
    memcpy(out, text, (size_t)at + 1);
    return TNB_OK;
}
