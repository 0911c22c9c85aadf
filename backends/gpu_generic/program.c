/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: modules, their pipelines, and what drivers make of them on disk.
 *
 * A pipeline is made when its kernel is first launched. A module has one cache for all of its pipelines, kept by the hash of the
 * module and the driver, so that what one program makes does not grow with others.
 */
#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/base/hash.h"
#include "tenon/base/log.h"

enum { MAX_CACHE = 1 << 28, SPIRV_MATRICES = 6022 };

/* ---- whether the device has what a module needs ---- */

/* Capabilities of SPIR-V and the features of Vulkan that allow them; those without are always allowed. */
static const struct {
    uint32_t capability;
    int bit; /* -1: always there */
    VkSubgroupFeatureFlags operations;
    const char *name;
} capabilities[] = {
#define ALWAYS(number, name) \
    {                        \
        number, -1, 0, name  \
    }
#define FEATURE(number, name, feature)             \
    {                                              \
        number, GPU_GENERIC_BIT_##feature, 0, name \
    }
#define SUBGROUP(number, name, flag)                       \
    {                                                      \
        number, -1, VK_SUBGROUP_FEATURE_##flag##_BIT, name \
    }
    ALWAYS(0, "Matrix"),
    ALWAYS(1, "Shader"),
    FEATURE(9, "Float16", shaderFloat16),
    FEATURE(10, "Float64", shaderFloat64),
    FEATURE(11, "Int64", shaderInt64),
    FEATURE(12, "Int64Atomics", shaderBufferInt64Atomics),
    FEATURE(22, "Int16", shaderInt16),
    FEATURE(39, "Int8", shaderInt8),
    ALWAYS(50, "ImageQuery"),
    SUBGROUP(61, "GroupNonUniform", BASIC),
    SUBGROUP(62, "GroupNonUniformVote", VOTE),
    SUBGROUP(63, "GroupNonUniformArithmetic", ARITHMETIC),
    SUBGROUP(64, "GroupNonUniformBallot", BALLOT),
    SUBGROUP(65, "GroupNonUniformShuffle", SHUFFLE),
    SUBGROUP(66, "GroupNonUniformShuffleRelative", SHUFFLE_RELATIVE),
    SUBGROUP(67, "GroupNonUniformClustered", CLUSTERED),
    SUBGROUP(68, "GroupNonUniformQuad", QUAD),
    FEATURE(4433, "StorageBuffer16BitAccess", storageBuffer16BitAccess),
    FEATURE(4434, "UniformAndStorageBuffer16BitAccess", uniformAndStorageBuffer16BitAccess),
    FEATURE(4441, "VariablePointersStorageBuffer", variablePointersStorageBuffer),
    FEATURE(4442, "VariablePointers", variablePointers),
    FEATURE(4448, "StorageBuffer8BitAccess", storageBuffer8BitAccess),
    FEATURE(4449, "UniformAndStorageBuffer8BitAccess", uniformAndStorageBuffer8BitAccess),
    FEATURE(4464, "DenormPreserve", shaderDenormPreserveFloat32),
    FEATURE(4465, "DenormFlushToZero", shaderDenormFlushToZeroFloat32),
    FEATURE(4466, "SignedZeroInfNanPreserve", shaderSignedZeroInfNanPreserveFloat32),
    FEATURE(4467, "RoundingModeRTE", shaderRoundingModeRTEFloat16),
    FEATURE(5345, "VulkanMemoryModel", vulkanMemoryModel),
    FEATURE(5346, "VulkanMemoryModelDeviceScope", vulkanMemoryModelDeviceScope),
    FEATURE(5347, "PhysicalStorageBufferAddresses", bufferDeviceAddress),
    FEATURE(SPIRV_MATRICES, "CooperativeMatrixKHR", cooperativeMatrix),
    FEATURE(6016, "DotProductInputAll", shaderIntegerDotProduct),
    FEATURE(6017, "DotProductInput4x8Bit", shaderIntegerDotProduct),
    FEATURE(6018, "DotProductInput4x8BitPacked", shaderIntegerDotProduct),
    FEATURE(6019, "DotProduct", shaderIntegerDotProduct),
#undef ALWAYS
#undef FEATURE
#undef SUBGROUP
};

struct lack {
    const struct gpu_generic_info *info;
    bool some, matrices;
    char text[96];
};

static void
check_capability(void *user, uint32_t number)
{
    struct lack *l = user;
    size_t i = 0, n = sizeof capabilities / sizeof *capabilities;
    while (i < n && capabilities[i].capability != number)
        i++;
    l->matrices |= number == SPIRV_MATRICES;
    if (l->some)
        return;
    l->some = i == n ||
              (capabilities[i].bit >= 0 && !(l->info->features >> capabilities[i].bit & 1)) ||
              (l->info->subgroup_ops & capabilities[i].operations) != capabilities[i].operations;
    if (l->some && i == n)
        snprintf(l->text, sizeof l->text,
                 "capability %" PRIu32 " of SPIR-V, which is not known here", number);
    else if (l->some)
        snprintf(l->text, sizeof l->text, "%s (%s)", capabilities[i].name,
                 capabilities[i].bit >= 0 ? gpu_generic_vulkan_name((unsigned)capabilities[i].bit)
                                          : "operations of sub-groups");
}

static tnb_status
lacks(const struct gpu_generic_device *d, const char *kernel, const char *what, tnb_err *err)
{
    (void)tnb_fail(err, TNB_UNSUPPORTED, "kernel '%s' needs %s; device '%s' does not have it",
                   kernel, what, d->info.props.deviceName);
    tnb_hint(err, "compile the model for the device, with -t gpu_generic:auto where it is present");
    return TNB_UNSUPPORTED;
}

/* Sizes against the device's limits. */
static tnb_status
check_limits(const struct gpu_generic_device *d, const struct gpu_generic_function *k, tnb_err *err)
{
    const struct gpu_generic_info *i = &d->info;
    const VkPhysicalDeviceLimits *l = &i->props.limits;
    const gpu_generic_kernel *h = &k->head;
    char what[160] = "";
    uint32_t group[3];
    gpu_generic_group(h->local_size, h->subgroup_size, group);
    uint64_t threads = (uint64_t)group[0] * group[1] * group[2];
    const struct gpu_generic_layout *y = k->layout;
    if (threads > l->maxComputeWorkGroupInvocations || group[0] > l->maxComputeWorkGroupSize[0] ||
        group[1] > l->maxComputeWorkGroupSize[1] || group[2] > l->maxComputeWorkGroupSize[2])
        snprintf(what, sizeof what, "groups of %ux%ux%u threads (the device's have at most %u)",
                 group[0], group[1], group[2], l->maxComputeWorkGroupInvocations);
    else if (h->shared_bytes > l->maxComputeSharedMemorySize)
        snprintf(what, sizeof what, "%u bytes of shared memory (a group has %u)", h->shared_bytes,
                 l->maxComputeSharedMemorySize);
    else if (y->push > l->maxPushConstantsSize)
        snprintf(what, sizeof what, "%u bytes of push constants (there are %u)", y->push,
                 l->maxPushConstantsSize);
    else if (y->bindings > l->maxPerStageDescriptorStorageBuffers ||
             y->bindings > l->maxDescriptorSetStorageBuffers)
        snprintf(what, sizeof what,
                 "%u buffers (%u can be bound; with bufferDeviceAddress any number)", y->bindings,
                 l->maxPerStageDescriptorStorageBuffers);
    else if (h->flags & GPU_GENERIC_ADDRESSES && !d->addresses)
        snprintf(what, sizeof what, "bufferDeviceAddress");
    return what[0] ? lacks(d, k->name, what, err) : TNB_OK;
}

/* ---- layouts ---- */

static void
free_layout(struct gpu_generic_device *d, struct gpu_generic_layout *y)
{
    if (y->pipeline)
        d->vk.DestroyPipelineLayout(d->handle, y->pipeline, NULL);
    if (y->set)
        d->vk.DestroyDescriptorSetLayout(d->handle, y->set, NULL);
    free(y);
}

static VkResult
make_set_layout(struct gpu_generic_device *d, struct gpu_generic_layout *y)
{
    VkDescriptorSetLayoutBinding *b = calloc(y->bindings + 1u, sizeof *b);
    if (!b)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < y->bindings; i++)
        b[i] = (VkDescriptorSetLayoutBinding){.binding = y->first + i,
                                              .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                              .descriptorCount = 1,
                                              .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = y->pushed ? (VkDescriptorSetLayoutCreateFlags)
                                 VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR
                           : 0u,
        .bindingCount = y->bindings,
        .pBindings = b};
    VkResult r = d->vk.CreateDescriptorSetLayout(d->handle, &info, NULL, &y->set);
    free(b);
    return r;
}

static tnb_status
make_layout(struct gpu_generic_device *d, struct gpu_generic_layout *y, const char *kernel,
            tnb_err *err)
{
    if (y->bindings) {
        VkResult r = make_set_layout(d, y);
        if (r != VK_SUCCESS) {
            y->set = VK_NULL_HANDLE;
            return gpu_generic_fail(d, r, "vkCreateDescriptorSetLayout", err, "kernel '%s'",
                                    kernel);
        }
    }
    const VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = y->push};
    const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = y->bindings ? 1 : 0,
                                             .pSetLayouts = &y->set,
                                             .pushConstantRangeCount = y->push ? 1 : 0,
                                             .pPushConstantRanges = &range};
    VkResult r = d->vk.CreatePipelineLayout(d->handle, &info, NULL, &y->pipeline);
    if (r == VK_SUCCESS)
        return TNB_OK;
    y->pipeline = VK_NULL_HANDLE;
    return gpu_generic_fail(d, r, "vkCreatePipelineLayout", err, "kernel '%s'", kernel);
}

/* What the record says of its bindings and push constants. */
static struct gpu_generic_layout
wanted_layout(const struct gpu_generic_device *d, const struct gpu_generic_function *k)
{
    uint32_t flags = k->head.flags;
    bool bound = !(flags & GPU_GENERIC_ADDRESSES), block = flags & GPU_GENERIC_BLOCK;
    struct gpu_generic_layout y = {.first = bound && block ? 0 : 1};
    if (bound)
        y.bindings = k->n_bindings + (block ? 1 : 0);
    y.push = !block                     ? k->head.block_bytes
             : !bound                   ? GPU_GENERIC_BLOCK_ADDRESS + 8
             : flags & GPU_GENERIC_BASE ? 12
                                        : 0;
    y.push = (y.push + 3) & ~3u;
    y.pushed = d->info.push_descriptors && y.bindings <= d->info.max_push_descriptors;
    return y;
}

/* Locked. */
static tnb_status
find_layout(struct gpu_generic_device *d, struct gpu_generic_function *k, tnb_err *err)
{
    struct gpu_generic_layout want = wanted_layout(d, k), *y = d->layouts;
    while (y && (y->bindings != want.bindings || y->push != want.push || y->first != want.first))
        y = y->next;
    if (!y) {
        k->layout = &want;
        tnb_status st = check_limits(d, k, err);
        k->layout = NULL;
        TNB_TRY(st);
        y = malloc(sizeof *y);
        if (!y)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
        *y = want;
        st = make_layout(d, y, k->name, err);
        if (st != TNB_OK) {
            free_layout(d, y);
            return st;
        }
        y->next = d->layouts;
        d->layouts = y;
    }
    k->layout = y;
    return check_limits(d, k, err);
}

void
gpu_generic_layouts_end(struct gpu_generic_device *d)
{
    while (d->layouts) {
        struct gpu_generic_layout *next = d->layouts->next;
        free_layout(d, d->layouts);
        d->layouts = next;
    }
}

/* ---- the cache ---- */

static bool
key_of(const struct gpu_generic_device *d, const void *code, size_t n, char out[40])
{
    const VkPhysicalDeviceProperties *p = &d->info.props;
    const uint32_t numbers[] = {p->vendorID, p->deviceID, p->driverVersion, p->apiVersion};
    tnb_hasher *h = tnb_hasher_new();
    if (!h)
        return false;
    tnb_hasher_put(h, "vulkan pipelines 1", 19);
    tnb_hasher_put(h, numbers, sizeof numbers);
    tnb_hasher_put(h, p->pipelineCacheUUID, sizeof p->pipelineCacheUUID);
    tnb_hasher_put(h, d->info.driver_info, strlen(d->info.driver_info) + 1);
    tnb_hasher_put(h, code, n);
    snprintf(out, 40, "%s", tnb_hash_print(tnb_hasher_get(h)).s);
    tnb_hasher_free(h);
    return true;
}

/* A driver that does not take what was kept gets an empty one. */
static tnb_status
open_cache(struct gpu_generic_device *d, struct gpu_generic_module *m, const void *code, size_t n,
           tnb_err *err)
{
    size_t size = 0;
    tnb_arena *a = d->cache.dir ? tnb_arena_new() : NULL;
    const void *kept = NULL;
    if (a && key_of(d, code, n, m->key))
        kept = tnb_cache_get(a, &d->cache, m->key, &size);
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = kept ? size : 0,
                                      .pInitialData = kept};
    double before = gpu_generic_seconds();
    VkResult r = d->vk.CreatePipelineCache(d->handle, &info, NULL, &m->cache);
    d->counts.pipeline_seconds += gpu_generic_seconds() - before;
    if (r != VK_SUCCESS && kept) {
        tnb_cache_drop(a, &d->cache, m->key);
        info.initialDataSize = 0;
        r = d->vk.CreatePipelineCache(d->handle, &info, NULL, &m->cache);
    }
    tnb_arena_free(a);
    m->cache = r == VK_SUCCESS ? m->cache : VK_NULL_HANDLE;
    return r == VK_SUCCESS
               ? TNB_OK
               : gpu_generic_fail(d, r, "vkCreatePipelineCache", err, "loading kernels");
}

/* Keeps what the driver made since the module was loaded; failure is no error. */
static void
keep(struct gpu_generic_device *d, struct gpu_generic_module *m)
{
    size_t n = 0;
    tnb_err err = {0};
    if (!m->made || !m->key[0] ||
        d->vk.GetPipelineCacheData(d->handle, m->cache, &n, NULL) != VK_SUCCESS || n == 0 ||
        n > MAX_CACHE)
        return;
    void *data = malloc(n);
    tnb_arena *a = tnb_arena_new();
    if (data && a && d->vk.GetPipelineCacheData(d->handle, m->cache, &n, data) == VK_SUCCESS &&
        tnb_cache_put(a, &d->cache, m->key, data, n, &err) != TNB_OK && !d->cache_told) {
        d->cache_told = true;
        tnb_log(TNB_LOG_WARN, "compiled kernels are not kept: %s", err.message);
    }
    free(data);
    tnb_arena_free(a);
}

/* ---- modules ---- */

static void
free_kernel(struct gpu_generic_device *d, struct gpu_generic_function *k)
{
    if (k->pipeline)
        d->vk.DestroyPipeline(d->handle, k->pipeline, NULL);
    if (k->sets) {
        d->vk.DestroyDescriptorPool(d->handle, k->sets->pool, NULL);
        free(k->sets);
    }
    free(k->params);
    free(k->name);
}

static void
free_module(struct gpu_generic_device *d, struct gpu_generic_module *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        free_kernel(d, &m->kernels[i]);
    if (m->cache)
        d->vk.DestroyPipelineCache(d->handle, m->cache, NULL);
    free(m->kernels);
    free(m);
}

/* Room for the memory of a launch. Locked. */
static tnb_status
make_scratch(struct gpu_generic_device *d, uint32_t n, tnb_err *err)
{
    if (n <= d->room)
        return TNB_OK;
    void *infos = realloc(d->infos, n * sizeof *d->infos);
    if (!infos)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    d->infos = infos;
    void *accesses = realloc(d->accesses, n * sizeof *d->accesses);
    if (!accesses)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    d->accesses = accesses;
    d->room = n;
    return TNB_OK;
}

static tnb_status
make_kernel(struct gpu_generic_device *d, struct gpu_generic_module *m,
            const struct gpu_generic_entry *e, struct gpu_generic_function *k, tnb_err *err)
{
    struct lack l = {.info = &d->info};
    uint32_t flags = e->head.flags;
    uint32_t end = flags & GPU_GENERIC_BASE && !(flags & GPU_GENERIC_BLOCK) ? 12 : 0;
    *k = (struct gpu_generic_function){.module = m,
                                       .name = strdup(e->name),
                                       .code = e->module,
                                       .turns = e->turns,
                                       .head = e->head};
    k->params = calloc(e->head.n_params + 1u, sizeof *k->params);
    if (!k->params || !k->name)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    for (uint32_t i = 0; i < e->head.n_params; i++) {
        gpu_generic_param p = gpu_generic_param_of(gpu_generic_word(e->params, i));
        k->params[i] = (struct gpu_generic_placed){.at = gpu_generic_place(flags, p, &end),
                                                   .kind = (uint8_t)p.kind,
                                                   .written = p.written,
                                                   .bytes = (uint16_t)p.bytes,
                                                   .more = (uint8_t)p.more};
        k->n_memory += gpu_generic_is_memory(p);
        k->n_bindings += gpu_generic_is_memory(p) ? 1 + p.more : 0;
    }
    gpu_generic_capabilities(e, check_capability, &l);
    uint32_t group[3];
    gpu_generic_group(e->head.local_size, e->head.subgroup_size, group);
    if (l.matrices && !l.some &&
        !gpu_generic_subgroups_are(&d->info, e->head.subgroup_size, group[0])) {
        snprintf(l.text, sizeof l.text, "full sub-groups of %u threads, for its matrices",
                 e->head.subgroup_size);
        l.some = true;
    }
    if (l.some)
        return lacks(d, k->name, l.text, err);
    TNB_TRY(make_scratch(d, k->n_bindings + 1, err));
    if (!(flags & GPU_GENERIC_PARTS))
        return find_layout(d, k, err);
    k[-1].parts =
        k; /* its layout may have more bindings than the device: only a launch asks for it */
    return TNB_OK;
}

tnb_status
gpu_generic_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                        tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_entry *entries;
    uint32_t count;
    if (strcmp(format, GPU_GENERIC_FORMAT) != 0)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "the gpu_generic device takes code of format '%s', not '%s'",
                        GPU_GENERIC_FORMAT, format);
    TNB_TRY(gpu_generic_alive(d, err));
    TNB_TRY(gpu_generic_payload_read(code, n, &entries, &count, err));
    struct gpu_generic_module *m = calloc(1, sizeof *m);
    if (m)
        m->kernels = calloc(count, sizeof *m->kernels);
    tnb_status st =
        m && m->kernels ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    pthread_mutex_lock(&d->lock);
    if (st == TNB_OK)
        st = open_cache(d, m, code, n, err);
    while (st == TNB_OK && m->n < count) {
        m->n++;
        st = make_kernel(d, m, &entries[m->n - 1], &m->kernels[m->n - 1], err);
    }
    if (st != TNB_OK && m)
        free_module(d, m);
    pthread_mutex_unlock(&d->lock);
    free(entries);
    if (st == TNB_OK)
        *module = m;
    return st;
}

void
gpu_generic_module_free(void *dev, void *module)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_module *m = module;
    bool idle = true;
    if (!m)
        return;
    pthread_mutex_lock(&d->lock);
    for (uint32_t i = 0; i < m->n; i++) { /* what is queued keeps its pipelines */
        struct gpu_generic_function *k = &m->kernels[i];
        idle &= gpu_generic_settle(k->uses, &k->n_uses, NULL) == TNB_OK;
    }
    if (!idle && !d->hung) {
        (void)d->vk.DeviceWaitIdle(d->handle);
        for (struct gpu_generic_stream *s = d->streams; s; s = s->next)
            s->open = NULL; /* what could not be submitted never will be */
    }
    if (idle || !d->hung) {
        keep(d, m);
        free_module(d, m);
    } else {
        m->next = d->stuck;
        d->stuck = m;
    }
    pthread_mutex_unlock(&d->lock);
}

void
gpu_generic_modules_end(struct gpu_generic_device *d)
{
    while (d->stuck) {
        struct gpu_generic_module *next = d->stuck->next;
        free_module(d, d->stuck);
        d->stuck = next;
    }
}

tnb_status
gpu_generic_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_module *m = module;
    TNB_TRY(gpu_generic_alive(d, err));
    for (uint32_t i = 0; i < m->n; i++)
        if (strcmp(m->kernels[i].name, name) == 0) {
            *kernel = &m->kernels[i];
            return TNB_OK;
        }
    return tnb_fail(err, TNB_NOT_FOUND, "the code has %" PRIu32 " kernels, but no '%s'", m->n,
                    name);
}

/* ---- at the first launch ---- */

static tnb_status
make_pipeline(struct gpu_generic_device *d, struct gpu_generic_function *k, tnb_err *err)
{
    size_t bytes = 4 * (size_t)k->head.module_words;
    uint32_t *own = NULL;
    VkShaderModule shader;
    if ((uintptr_t)k->code % sizeof(uint32_t)) {
        own = malloc(bytes);
        if (!own)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory to compile kernel '%s'", k->name);
        memcpy(own, k->code, bytes);
    }
    const VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = bytes,
                                             .pCode =
                                                 own ? own
                                                     : (const uint32_t *)(const void *)k->code};
    double before = gpu_generic_seconds();
    VkResult r = d->vk.CreateShaderModule(d->handle, &module, NULL, &shader);
    free(own);
    if (r != VK_SUCCESS)
        return gpu_generic_fail(d, r, "vkCreateShaderModule", err, "kernel '%s'", k->name);
    const struct gpu_generic_info *i = &d->info;
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = k->head.subgroup_size};
    /* where the device has no sub-groups of this size, the kernel finds out, and runs without */
    bool sized = k->head.subgroup_size >= i->subgroup_min &&
                 k->head.subgroup_size <= i->subgroup_max && i->subgroup_sizes &&
                 GPU_GENERIC_HAS(i, subgroupSizeControl);
    uint32_t group[3];
    gpu_generic_group(k->head.local_size, k->head.subgroup_size, group);
    bool full =
        sized && GPU_GENERIC_HAS(i, computeFullSubgroups) && group[0] % k->head.subgroup_size == 0;
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .pNext = sized ? &size : NULL,
                  .flags = full ? (VkPipelineShaderStageCreateFlags)
                                      VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
                                : 0u,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = shader,
                  .pName = "main"},
        .layout = k->layout->pipeline};
    r = d->vk.CreateComputePipelines(d->handle, k->module->cache, 1, &info, NULL, &k->pipeline);
    d->vk.DestroyShaderModule(d->handle, shader, NULL);
    d->counts.pipeline_seconds += gpu_generic_seconds() - before;
    if (r != VK_SUCCESS) {
        k->pipeline = VK_NULL_HANDLE;
        return gpu_generic_fail(d, r, "vkCreateComputePipelines", err, "kernel '%s'", k->name);
    }
    k->module->made = true;
    d->counts.pipelines++;
    return TNB_OK;
}

static tnb_status
make_sets(struct gpu_generic_device *d, struct gpu_generic_function *k, tnb_err *err)
{
    const VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .descriptorCount = GPU_GENERIC_SETS * k->layout->bindings};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = GPU_GENERIC_SETS,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    VkDescriptorSetLayout layouts[GPU_GENERIC_SETS];
    struct gpu_generic_sets *s = calloc(1, sizeof *s);
    if (!s)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for kernel '%s'", k->name);
    VkResult r = d->vk.CreateDescriptorPool(d->handle, &pool, NULL, &s->pool);
    if (r != VK_SUCCESS) {
        free(s);
        return gpu_generic_fail(d, r, "vkCreateDescriptorPool", err, "kernel '%s'", k->name);
    }
    for (int i = 0; i < GPU_GENERIC_SETS; i++)
        layouts[i] = k->layout->set;
    const VkDescriptorSetAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = s->pool,
                                              .descriptorSetCount = GPU_GENERIC_SETS,
                                              .pSetLayouts = layouts};
    r = d->vk.AllocateDescriptorSets(d->handle, &info, s->at);
    if (r != VK_SUCCESS) {
        d->vk.DestroyDescriptorPool(d->handle, s->pool, NULL);
        free(s);
        return gpu_generic_fail(d, r, "vkAllocateDescriptorSets", err, "kernel '%s'", k->name);
    }
    d->counts.sets += GPU_GENERIC_SETS;
    k->sets = s;
    return TNB_OK;
}

tnb_status
gpu_generic_kernel_ready(struct gpu_generic_device *d, struct gpu_generic_function *k, tnb_err *err)
{
    if (!k->layout)
        TNB_TRY(find_layout(d, k, err));
    if (!k->pipeline)
        TNB_TRY(make_pipeline(d, k, err));
    if (k->layout->bindings && !k->layout->pushed && !k->sets)
        TNB_TRY(make_sets(d, k, err));
    return TNB_OK;
}
