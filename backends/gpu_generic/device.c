/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: which devices there are, opening them, the table.
 *
 * Devices are numbered: those that the settings leave first, and of these discrete GPUs, integrated ones, others, processors. The
 * settings of [device gpu_generic] are at the end, and in the README.
 */
#include "device.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "tenon/base/log.h"
#include "tenon/base/num.h"

/* ---- which devices there are ---- */

enum { MAX_DEVICES = 64 };

struct found {
    VkPhysicalDevice handle;
    VkPhysicalDeviceType type;
    uint32_t version;
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    bool left_out; /* by the settings */
};
struct devices {
    struct found at[MAX_DEVICES];
    int n, chosen, old; /* old: too old to be used */
};

static int
rank(VkPhysicalDeviceType t)
{
    static const VkPhysicalDeviceType order[] = {VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
                                                 VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
                                                 VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU,
                                                 VK_PHYSICAL_DEVICE_TYPE_OTHER};
    int i = 0;
    while (i < 4 && order[i] != t)
        i++;
    return i;
}

/* A stable order, as drivers give them. */
static void
insert(struct devices *all, struct found f)
{
    int i = all->n++;
    for (; i && rank(all->at[i - 1].type) > rank(f.type); i--)
        all->at[i] = all->at[i - 1];
    all->at[i] = f;
}

static tnb_status
find_devices(const struct gpu_generic_instance *in, struct devices *all, tnb_err *err)
{
    VkPhysicalDevice handles[MAX_DEVICES];
    uint32_t n = MAX_DEVICES;
    *all = (struct devices){0};
    VkResult r = in->EnumeratePhysicalDevices(in->handle, &n, handles);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE)
        return gpu_generic_fail(NULL, r, "vkEnumeratePhysicalDevices", err,
                                "looking for Vulkan devices");
    for (uint32_t i = 0; i < n; i++) {
        VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
        in->GetPhysicalDeviceProperties2(handles[i], &p);
        struct found f = {.handle = handles[i],
                          .type = p.properties.deviceType,
                          .version = p.properties.apiVersion};
        memcpy(f.name, p.properties.deviceName, sizeof f.name);
        if (f.version < VK_API_VERSION_1_1)
            all->old++;
        else
            insert(all, f);
    }
    all->chosen = all->n;
    if (all->n)
        return TNB_OK;
    (void)tnb_fail(err, TNB_DEVICE, "none of the %d Vulkan devices has Vulkan 1.1", all->old);
    if (all->old == 0) {
        (void)tnb_fail(err, TNB_DEVICE, "no driver of Vulkan is installed, or none has a device");
        tnb_hint(err, "install the driver of your GPU, or mesa-vulkan-drivers, which also has one "
                      "for the processor");
    }
    return TNB_DEVICE;
}

static tnb_status
gpu_generic_count(void *self, int *n, tnb_err *err)
{
    const struct gpu_generic_instance *in;
    struct devices *all;
    (void)self;
    *n = 0;
    if (gpu_generic_instance_take(&in, err) != TNB_OK)
        return TNB_OK;
    double before = gpu_generic_seconds();
    all = malloc(sizeof *all);
    tnb_status st =
        all ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory to look for Vulkan devices");
    if (all && find_devices(in, all, err) == TNB_OK)
        *n = all->n;
    free(all);
    if (*n) /* who counts opens */
        gpu_generic_instance_keep(gpu_generic_seconds() - before);
    else
        gpu_generic_instance_drop();
    return st;
}

/* ---- settings ---- */

static const char *
setting(const tnr_device_options *opt, const char *key)
{
    const char *s = opt && opt->setting ? opt->setting(opt->user, key) : NULL;
    return s && *s ? s : NULL;
}

/* Whether a name holds the text, whatever the case of letters. */
static bool
holds(const char *name, const char *text)
{
    size_t n = strlen(text);
    for (; *name; name++)
        if (strncasecmp(name, text, n) == 0)
            return true;
    return false;
}

/* A setting that is a number: its value, else -1. */
static long
number_of(const char *s)
{
    char *end;
    errno = 0;
    long v = isdigit((unsigned char)*s) ? strtol(s, &end, 10) : -1;
    return v >= 0 && errno == 0 && *end == '\0' ? v : -1;
}

static bool
is_type(const struct found *f, const char *type)
{
    return strcmp(type, "any") == 0 || strcmp(type, gpu_generic_type_name(f->type)) == 0 ||
           (strcmp(type, "gpu") == 0 && f->type != VK_PHYSICAL_DEVICE_TYPE_CPU);
}

static tnb_status
check_type(const char *type, tnb_err *err)
{
    static const char *const known[] = {"any", "gpu", "discrete", "integrated", "virtual", "cpu"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(type, known[i]) == 0)
            return TNB_OK;
    return tnb_fail(err, TNB_INVALID,
                    "[device gpu_generic] type = %.60s: it is any, gpu, discrete, integrated, "
                    "virtual or cpu",
                    type);
}

/* Puts the devices that the settings leave before the others. */
static tnb_status
choose(struct devices *all, const tnr_device_options *opt, tnb_err *err)
{
    const char *device = setting(opt, "device"), *type = setting(opt, "type");
    type = type ? type : "any";
    TNB_TRY(check_type(type, err));
    long number = device ? number_of(device) : -1, seen = 0;
    for (int i = 0; i < all->n; i++) {
        struct found *f = &all->at[i];
        f->left_out = !is_type(f, type);
        if (device && number < 0)
            f->left_out |= !holds(f->name, device);
        if (number >= 0 && !f->left_out)
            f->left_out = seen++ != number;
    }
    struct found *sorted = malloc(sizeof all->at);
    if (!sorted)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to look for Vulkan devices");
    int k = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < all->n; i++)
            if (all->at[i].left_out == (pass == 1))
                sorted[k++] = all->at[i];
        if (pass == 0)
            all->chosen = k;
    }
    memcpy(all->at, sorted, (size_t)k * sizeof *sorted);
    free(sorted);
    return TNB_OK;
}

static tnb_status
left_out(const struct found *f, const tnr_device_options *opt, tnb_err *err)
{
    const char *device = setting(opt, "device"), *type = setting(opt, "type");
    (void)tnb_fail(err, TNB_DEVICE, "%s is left out by [device gpu_generic]%s%.80s%s%s%.80s",
                   f->name, device ? " device = " : "", device ? device : "",
                   device && type ? "," : "", type ? " type = " : "", type ? type : "");
    tnb_hint(err, "tenon list devices shows all");
    return TNB_DEVICE;
}

static const struct number {
    const char *key;
    long usual, least, most;
} numbers[] = {{"memory", 0, 0, 1 << 30},
               {"block", 64, 1, 1 << 12},
               {"ring", 16, 1, 1 << 10},
               {"batch", 64, 1, 4096},
               {"timeout", 120, 0, 1 << 20},
               {"cache_size", 0, 0, 1 << 20},
               {"leave_out_barrier", 0, 0, LONG_MAX}};
static const char *const booleans[] = {"staging",           "profiling", "timeline",
                                       "push_descriptors",  "cache",     "check_hazards",
                                       "leave_out_for_host"};

/* NULL: it is none. */
static const struct number *
number_named(const char *key)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            return &numbers[i];
    return NULL;
}

static tnb_status
gpu_generic_check_setting(void *self, const char *key, const char *value, tnb_err *err)
{
    const struct number *n = number_named(key);
    long v = n ? number_of(value) : 0;
    (void)self;
    if (n && (v < n->least || v > n->most))
        return tnb_fail(err, TNB_INVALID,
                        "[device gpu_generic] %s = %.60s: it is a number from %ld to %ld", key,
                        value, n->least, n->most);
    if (strcmp(key, "type") == 0)
        return check_type(value, err);
    if (strcmp(key, "leave_out") == 0)
        return gpu_generic_features_leave_out(NULL, value, err);
    for (size_t i = 0; i < sizeof booleans / sizeof *booleans; i++)
        if (strcmp(key, booleans[i]) == 0 && strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
            return tnb_fail(err, TNB_INVALID, "[device gpu_generic] %s = %.60s: it is yes or no",
                            key, value);
    return TNB_OK;
}

static tnb_status
read_bool(const tnr_device_options *opt, const char *key, bool usual, bool *out, tnb_err *err)
{
    const char *s = setting(opt, key);
    *out = s ? *s == 'y' : usual;
    return s ? gpu_generic_check_setting(NULL, key, s, err) : TNB_OK;
}

/* One of `numbers`, times `unit`. */
static tnb_status
read_number(const tnr_device_options *opt, const char *key, uint64_t unit, uint64_t *out,
            tnb_err *err)
{
    const char *s = setting(opt, key);
    if (s)
        TNB_TRY(gpu_generic_check_setting(NULL, key, s, err));
    *out = (uint64_t)(s ? number_of(s) : number_named(key)->usual) * unit;
    return TNB_OK;
}

static tnb_status
open_cache(struct gpu_generic_device *d, const tnr_device_options *opt, tnb_err *err)
{
    bool cached;
    uint64_t bytes;
    TNB_TRY(read_bool(opt, "cache", true, &cached, err));
    TNB_TRY(read_number(opt, "cache_size", 1 << 20, &bytes, err));
    d->arena = tnb_arena_new();
    if (!d->arena)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open a Vulkan device");
    const char *dir = setting(opt, "cache_dir");
    if (!dir && opt)
        dir = opt->cache_dir;
    tnb_err why = {0};
    if (tnb_cache_open(d->arena,
                       !cached ? NULL
                       : dir   ? dir
                               : "",
                       ".vulkan", bytes, &d->cache, &why) != TNB_OK)
        tnb_log(TNB_LOG_WARN, "compiled kernels are not kept: %s", why.message);
    return TNB_OK;
}

static tnb_status
read_settings(struct gpu_generic_device *d, const tnr_device_options *opt, tnb_err *err)
{
    struct gpu_generic_settings *s = &d->set;
    uint64_t batch, timeout;
    const char *without = setting(opt, "leave_out");
    TNB_TRY(read_bool(opt, "profiling", true, &s->profiling, err));
    TNB_TRY(read_bool(opt, "timeline", true, &s->timeline, err));
    TNB_TRY(read_bool(opt, "push_descriptors", true, &s->push_descriptors, err));
    TNB_TRY(read_bool(opt, "staging", false, &s->staging, err));
    TNB_TRY(read_bool(opt, "check_hazards", false, &s->check_hazards, err));
    TNB_TRY(read_number(opt, "leave_out_barrier", 1, &s->leave_out_barrier, err));
    TNB_TRY(read_bool(opt, "leave_out_for_host", false, &s->leave_out_for_host, err));
    TNB_TRY(read_number(opt, "memory", 1 << 20, &s->memory, err));
    TNB_TRY(read_number(opt, "block", 1 << 20, &s->block, err));
    TNB_TRY(read_number(opt, "ring", 1 << 20, &s->ring, err));
    TNB_TRY(read_number(opt, "batch", 1, &batch, err));
    TNB_TRY(read_number(opt, "timeout", 1, &timeout, err));
    s->batch = (unsigned)batch;
    s->timeout = (double)timeout;
    if (without)
        TNB_TRY(gpu_generic_features_leave_out(&d->info, without, err));
    return open_cache(d, opt, err);
}

/* ---- opening ---- */

/* Memory of a type with all of `needed` and most of `liked`; UINT32_MAX: none. */
static uint32_t
memory_type(const struct gpu_generic_info *info, uint32_t usable, VkMemoryPropertyFlags needed,
            VkMemoryPropertyFlags liked, VkMemoryPropertyFlags disliked)
{
    uint32_t best = UINT32_MAX;
    int most = -100;
    for (uint32_t i = 0; i < info->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags f = info->memory.memoryTypes[i].propertyFlags;
        int worth = 2 * __builtin_popcount(f & liked) - __builtin_popcount(f & disliked);
        if (!(usable >> i & 1) || (f & needed) != needed || worth <= most)
            continue;
        most = worth;
        best = i;
    }
    return best;
}

/* What all buffers of this device may be for. */
static VkBufferUsageFlags
buffer_usage(const struct gpu_generic_device *d)
{
    return VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
           VK_BUFFER_USAGE_TRANSFER_DST_BIT |
           (d->addresses ? (VkBufferUsageFlags)VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0u);
}

/* A processor, and a GPU that has no memory of its own, have one memory that the host may as well use itself. */
static tnb_status
choose_memory(struct gpu_generic_device *d, tnb_err *err)
{
    const VkMemoryPropertyFlags seen =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const struct gpu_generic_info *i = &d->info;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 4096,
                                     .usage = buffer_usage(d)};
    VkMemoryRequirements need;
    VkBuffer b;
    VkResult r = d->vk.CreateBuffer(d->handle, &info, NULL, &b);
    if (r != VK_SUCCESS)
        return gpu_generic_fail(d, r, "vkCreateBuffer", err, "opening device '%s'",
                                i->props.deviceName);
    d->vk.GetBufferMemoryRequirements(d->handle, b, &need);
    d->vk.DestroyBuffer(d->handle, b, NULL);
    bool shares = i->props.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
                  i->props.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    d->both_type = memory_type(i, need.memoryTypeBits, seen, VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                               VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    d->upload_type =
        memory_type(i, need.memoryTypeBits, seen, 0, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    d->own_type = UINT32_MAX;
    if (shares && !d->set.staging)
        d->own_type =
            memory_type(i, need.memoryTypeBits, seen | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                        VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0);
    d->unified = d->own_type != UINT32_MAX;
    if (!d->unified)
        d->own_type =
            memory_type(i, need.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, seen);
    d->alignment = i->props.limits.minStorageBufferOffsetAlignment;
    d->alignment = d->alignment > 256 ? d->alignment : 256;
    if (d->both_type == UINT32_MAX || d->upload_type == UINT32_MAX || d->own_type == UINT32_MAX)
        return tnb_fail(err, TNB_DEVICE, "device '%s' has no memory for buffers",
                        i->props.deviceName);
    return TNB_OK;
}

static tnb_status
make_device(struct gpu_generic_device *d, tnb_err *err)
{
    static const float priorities[8];
    struct gpu_generic_features f;
    const unsigned most = sizeof d->queues / sizeof *d->queues;
    bool timeline = GPU_GENERIC_HAS(&d->info, timelineSemaphore) && d->set.timeline;
    /* without timelines, streams are ordered by the order of one queue */
    d->n_queues = !timeline ? 1 : d->info.n_queues < most ? d->info.n_queues : most;
    const VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueFamilyIndex = d->info.family,
                                            .queueCount = d->n_queues,
                                            .pQueuePriorities = priorities};
    gpu_generic_features_chain(&d->info, &f);
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &f.core,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queues,
                                     .enabledExtensionCount = d->info.n_extensions,
                                     .ppEnabledExtensionNames = d->info.extensions};
    double before = gpu_generic_seconds();
    VkResult r = d->instance->CreateDevice(d->info.handle, &info, NULL, &d->handle);
    d->counts.open_seconds += gpu_generic_seconds() - before;
    if (r != VK_SUCCESS) {
        d->handle = NULL;
        return gpu_generic_fail(d, r, "vkCreateDevice", err, "opening device '%s'",
                                d->info.props.deviceName);
    }
    TNB_TRY(gpu_generic_calls_read(d->instance, d->handle, &d->vk, err));
    for (unsigned i = 0; i < d->n_queues; i++)
        d->vk.GetDeviceQueue(d->handle, d->info.family, i, &d->queues[i]);
    d->timeline = timeline && d->vk.WaitSemaphoresKHR && d->vk.GetSemaphoreCounterValueKHR;
    d->addresses =
        GPU_GENERIC_HAS(&d->info, bufferDeviceAddress) && d->vk.GetBufferDeviceAddressKHR;
    d->info.push_descriptors =
        d->info.push_descriptors && d->set.push_descriptors && d->vk.CmdPushDescriptorSetKHR;
    d->set.profiling = d->set.profiling && d->info.timestamp_bits;
    return choose_memory(d, err);
}

static tnb_status
open_found(struct gpu_generic_device *d, const struct found *f, const tnr_device_options *opt,
           tnb_err *err)
{
    double before = gpu_generic_seconds();
    TNB_TRY(gpu_generic_info_read(d->instance, f->handle, &d->info, err));
    d->counts.open_seconds += gpu_generic_seconds() - before;
    TNB_TRY(read_settings(d, opt, err));
    TNB_TRY(make_device(d, err));
    if (d->set.check_hazards && !(d->check = gpu_generic_check_new()))
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open a Vulkan device");
    TNB_TRY(gpu_generic_buffer_new(d, GPU_GENERIC_UPLOAD, GPU_GENERIC_ZEROS, &d->zeros, err));
    memset(d->zeros.at, 0, GPU_GENERIC_ZEROS);
    return gpu_generic_stream_make(d, &d->usual, err);
}

static void
gpu_generic_close(void *dev)
{
    struct gpu_generic_device *d = dev;
    if (d->handle && d->vk.DestroyDevice) {
        pthread_mutex_lock(&d->lock);
        bool ended = gpu_generic_streams_end(d);
        if (ended) {
            gpu_generic_modules_end(d);
            gpu_generic_events_end(d);
            gpu_generic_layouts_end(d);
            gpu_generic_buffer_free(d, &d->zeros);
        }
        gpu_generic_memory_end(d, ended);
        pthread_mutex_unlock(&d->lock);
        if (ended)
            d->vk.DestroyDevice(d->handle, NULL);
        else /* what the device still runs must not be taken from it */
            tnb_log(TNB_LOG_WARN,
                    "the device '%s' still works when it is closed: its memory is "
                    "not given back",
                    d->info.props.deviceName);
        d->instance = ended ? d->instance : NULL;
    } else if (d->handle) {
        PFN_vkDestroyDevice destroy =
            (PFN_vkDestroyDevice)d->instance->GetDeviceProcAddr(d->handle, "vkDestroyDevice");
        if (destroy)
            destroy(d->handle, NULL);
    }
    if (d->instance)
        gpu_generic_instance_drop();
    gpu_generic_check_free(d->check);
    tnb_arena_free(d->arena);
    free(d->infos);
    free(d->accesses);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->lost_lock);
    free(d);
}

static tnb_status
gpu_generic_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    struct gpu_generic_device *d = calloc(1, sizeof *d);
    struct devices *all = malloc(sizeof *all);
    (void)self;
    if (!d || !all) {
        free(d), free(all);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open a Vulkan device");
    }
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->lost_lock, NULL);
    tnb_status st = gpu_generic_instance_take(&d->instance, err);
    double before = gpu_generic_seconds();
    if (st == TNB_OK)
        st = find_devices(d->instance, all, err);
    if (st == TNB_OK)
        d->counts.open_seconds = d->instance->seconds + gpu_generic_seconds() - before;
    if (st == TNB_OK)
        st = choose(all, opt, err);
    if (st == TNB_OK && (id < 0 || id >= all->n))
        st = tnb_fail(err, TNB_DEVICE, "there is no Vulkan device %d any more, but %d in all", id,
                      all->n);
    if (st == TNB_OK)
        st = id < all->chosen ? open_found(d, &all->at[id], opt, err)
                              : left_out(&all->at[id], opt, err);
    free(all);
    if (st != TNB_OK) {
        gpu_generic_close(d);
        return st;
    }
    *dev = d;
    return TNB_OK;
}

/* Drivers for processors compile kernels to code of the host and run it in this process. */
static bool
gpu_generic_native(void *dev)
{
    const struct gpu_generic_device *d = dev;
    return d->info.props.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

static const char *const gpu_generic_formats[] = {GPU_GENERIC_FORMAT, NULL};

static const tnr_setting gpu_generic_settings[] = {
    {"device", NULL,
     "the device to use: a part of its name, or its number among those that `type` leaves"},
    {"type", "any", "gpu, discrete, integrated, virtual, cpu or any"},
    {"memory", "0", "MiB that are used of the device's memory; 0: all"},
    {"block", "64", "MiB that are taken from the driver at once, and divided"},
    {"ring", "16", "MiB through which a stream's copies with the host go, where they have to"},
    {"staging", "no",
     "yes: copies with the host go that way also where it sees the device's memory"},
    {"batch", "64", "launches and copies that are submitted together at most"},
    {"timeout", "120",
     "seconds after which a device that makes no progress counts as hung; 0: never"},
    {"profiling", "yes", "no: no times are taken; --profile-kernels then goes by the host's clock"},
    {"timeline", "yes", "no: fences and one queue, as where timeline semaphores are missing"},
    {"push_descriptors", "yes", "no: descriptor sets, as where that extension is missing"},
    {"leave_out", NULL,
     "features of Vulkan that the device is used without, as shaderFloat16, bufferDeviceAddress"},
    {"cache", "yes", "whether compiled kernels are kept"},
    {"cache_dir", NULL, "the folder that they are kept in: usually that of [tenon] cache_dir"},
    {"cache_size", "0", "MiB of them that are kept; 0: as many as of kernels"},
    {"check_hazards", "no",
     "yes: what is recorded is checked for accesses without a barrier between them, an error "
     "names both kernels"},
    {"leave_out_barrier", "0",
     "to test that check: the number of a barrier that is not recorded, from 1"},
    {"leave_out_for_host", "no",
     "to test that check, yes: submits end without the barrier that makes what they write visible "
     "to the host"},
    {0},
};

static const tnr_driver gpu_generic_driver = {
    .base.size = sizeof(tnr_driver),
    .base.name = "gpu_generic",
    .base.doc = "GPUs of any vendor through Vulkan 1.1 and newer",
    .type = TNB_VULKAN,
    .alignment = 256,
    .count = gpu_generic_count,
    .open = gpu_generic_open,
    .close = gpu_generic_close,
    .describe = gpu_generic_describe,
    .check_features = gpu_generic_check_features,
    .alloc = gpu_generic_alloc,
    .free = gpu_generic_free,
    .copy = gpu_generic_copy,
    .zero = gpu_generic_zero,
    .sync = gpu_generic_sync,
    .stream_new = gpu_generic_stream_new,
    .stream_free = gpu_generic_stream_free,
    .event_new = gpu_generic_event_new,
    .event_free = gpu_generic_event_free,
    .event_record = gpu_generic_event_record,
    .event_wait = gpu_generic_event_wait,
    .event_seconds = gpu_generic_event_seconds,
    .event_done = gpu_generic_event_done,
    .event_sync = gpu_generic_event_sync,
    .copy_start = gpu_generic_copy_start,
    .pinned_alloc = gpu_generic_pinned_alloc,
    .pinned_free = gpu_generic_pinned_free,
    .formats = gpu_generic_formats,
    .module_load = gpu_generic_module_load,
    .module_free = gpu_generic_module_free,
    .module_kernel = gpu_generic_module_kernel,
    .launch = gpu_generic_launch,
    .settings = gpu_generic_settings,
    .check_setting = gpu_generic_check_setting,
    .native = gpu_generic_native,
    .properties = gpu_generic_facts,
    .target = gpu_generic_target_of,
};
static const tnr_driver *const gpu_generic_drivers[] = {&gpu_generic_driver};

TNR_PLUGIN(gpu_generic_rt, "0.1.0", "Apache-2.0", "runs kernels on GPUs through Vulkan",
           .drivers = gpu_generic_drivers, .n_drivers = 1, .init = gpu_generic_init);
