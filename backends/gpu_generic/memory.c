/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: memory.
 *
 * It is taken from the driver in blocks and divided; what is larger has a block of its own. A piece that is freed while the device
 * still uses it waits on a list until that is over.
 */
#include "device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- from the driver ---- */

static VkResult
make_buffer(struct gpu_generic_device *d, uint32_t type, uint64_t bytes, bool map,
            struct gpu_generic_buffer *out, const char **call)
{
    const bool addresses = d->addresses;
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 (addresses ? (VkBufferUsageFlags)VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0u)};
    VkMemoryRequirements need;
    *out = (struct gpu_generic_buffer){.bytes = bytes};
    *call = "vkCreateBuffer";
    VkResult r = d->vk.CreateBuffer(d->handle, &info, NULL, &out->buffer);
    if (r != VK_SUCCESS) {
        out->buffer = VK_NULL_HANDLE;
        return r;
    }
    d->vk.GetBufferMemoryRequirements(d->handle, out->buffer, &need);
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = addresses ? &flags : NULL,
                                         .allocationSize = need.size,
                                         .memoryTypeIndex = type};
    *call = "vkAllocateMemory";
    r = d->vk.AllocateMemory(d->handle, &memory, NULL, &out->memory);
    d->counts.allocations += r == VK_SUCCESS;
    if (r != VK_SUCCESS)
        out->memory = VK_NULL_HANDLE;
    if (r == VK_SUCCESS) {
        *call = "vkBindBufferMemory";
        r = d->vk.BindBufferMemory(d->handle, out->buffer, out->memory, 0);
    }
    if (r == VK_SUCCESS && map) {
        void *at = NULL;
        *call = "vkMapMemory";
        r = d->vk.MapMemory(d->handle, out->memory, 0, VK_WHOLE_SIZE, 0, &at);
        out->at = at;
    }
    if (r == VK_SUCCESS && addresses) {
        const VkBufferDeviceAddressInfo ask = {.sType =
                                                   VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                               .buffer = out->buffer};
        out->address = d->vk.GetBufferDeviceAddressKHR(d->handle, &ask);
    }
    if (r != VK_SUCCESS)
        gpu_generic_buffer_free(d, out);
    return r;
}

void
gpu_generic_buffer_free(struct gpu_generic_device *d, struct gpu_generic_buffer *b)
{
    if (b->buffer)
        d->vk.DestroyBuffer(d->handle, b->buffer, NULL);
    if (b->memory) /* which ends its mapping */
        d->vk.FreeMemory(d->handle, b->memory, NULL);
    *b = (struct gpu_generic_buffer){0};
}

tnb_status
gpu_generic_buffer_new(struct gpu_generic_device *d, int use, uint64_t bytes,
                       struct gpu_generic_buffer *out, tnb_err *err)
{
    const char *call;
    uint32_t type = use == GPU_GENERIC_OWN      ? d->own_type
                    : use == GPU_GENERIC_UPLOAD ? d->upload_type
                                                : d->both_type;
    VkResult r = make_buffer(d, type, bytes, use != GPU_GENERIC_OWN || d->unified, out, &call);
    return r == VK_SUCCESS
               ? TNB_OK
               : gpu_generic_fail(d, r, call, err, "a buffer of %" PRIu64 " bytes on device '%s'",
                                  bytes, d->info.props.deviceName);
}

/* ---- blocks ---- */

static void
block_free(struct gpu_generic_device *d, struct gpu_generic_block *b, bool ended)
{
    struct gpu_generic_block **at = &d->blocks;
    struct gpu_generic_buffer own = {.memory = b->memory, .buffer = b->buffer};
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    while (b->first) {
        struct gpu_generic_memory *next = b->first->next;
        free(b->first);
        b->first = next;
    }
    if (ended)
        gpu_generic_buffer_free(d, &own);
    free(b);
}

static tnb_status
block_new(struct gpu_generic_device *d, bool host, uint64_t bytes, struct gpu_generic_block **out,
          tnb_err *err)
{
    struct gpu_generic_buffer own;
    struct gpu_generic_block *b = calloc(1, sizeof *b);
    struct gpu_generic_memory *m = calloc(1, sizeof *m);
    tnb_status st = b && m
                        ? gpu_generic_buffer_new(d, host ? GPU_GENERIC_BOTH_WAYS : GPU_GENERIC_OWN,
                                                 bytes, &own, err)
                        : tnb_fail(err, TNB_NO_MEMORY, "no memory on the host for a buffer");
    if (st != TNB_OK) {
        free(b), free(m);
        return st;
    }
    *m = (struct gpu_generic_memory){.block = b, .bytes = bytes};
    *b = (struct gpu_generic_block){.next = d->blocks,
                                    .memory = own.memory,
                                    .buffer = own.buffer,
                                    .address = own.address,
                                    .at = own.at,
                                    .bytes = bytes,
                                    .id = ++d->next_id,
                                    .first = m,
                                    .host = host};
    d->blocks = b;
    *out = b;
    return TNB_OK;
}

/* Gives blocks that nobody uses back to the driver; `all`: also the one that is kept for what comes. */
static void
trim(struct gpu_generic_device *d, bool all)
{
    bool kept = all;
    for (struct gpu_generic_block *b = d->blocks, *next; b; b = next) {
        next = b->next;
        if (b->in_use || b->host)
            continue;
        if (!kept && b->bytes <= d->set.block)
            kept = true;
        else
            block_free(d, b, true);
    }
}

/* ---- pieces ---- */

/* Joins a free piece with the one behind it. */
static void
join(struct gpu_generic_memory *m)
{
    struct gpu_generic_memory *n = m->next;
    if (m->taken || !n || n->taken)
        return;
    m->bytes += n->bytes;
    m->next = n->next;
    if (n->next)
        n->next->prev = m;
    free(n);
}

static void
release(struct gpu_generic_device *d, struct gpu_generic_memory *m)
{
    struct gpu_generic_memory *before = m->prev;
    m->taken = false;
    m->block->in_use -= m->bytes;
    d->in_use -= m->bytes;
    join(m);
    if (before)
        join(before);
}

/* Takes `bytes` of the smallest free piece that has them; NULL: no block has. */
static struct gpu_generic_memory *
find(struct gpu_generic_device *d, uint64_t bytes)
{
    struct gpu_generic_memory *best = NULL;
    for (struct gpu_generic_block *b = d->blocks; b; b = b->next)
        for (struct gpu_generic_memory *m = b->host || b->bytes - b->in_use < bytes ? NULL
                                                                                    : b->first;
             m; m = m->next)
            if (!m->taken && m->bytes >= bytes && (!best || m->bytes < best->bytes))
                best = m;
    if (!best)
        return NULL;
    if (best->bytes > bytes) {
        struct gpu_generic_memory *rest = calloc(1, sizeof *rest);
        if (rest) { /* without, the whole piece is given */
            *rest = (struct gpu_generic_memory){.block = best->block,
                                                .prev = best,
                                                .next = best->next,
                                                .offset = best->offset + bytes,
                                                .bytes = best->bytes - bytes};
            if (rest->next)
                rest->next->prev = rest;
            best->next = rest;
            best->bytes = bytes;
        }
    }
    best->taken = true;
    best->n_uses = 0;
    best->block->in_use += best->bytes;
    d->in_use += best->bytes;
    return best;
}

/* Frees what the device uses no longer. */
static void
reap(struct gpu_generic_device *d)
{
    bool some = false;
    if (!d->dying)
        return;
    for (struct gpu_generic_stream *s = d->streams; s; s = s->next)
        if (gpu_generic_progress(s, NULL) != TNB_OK)
            return;
    for (struct gpu_generic_memory **at = &d->dying; *at;) {
        struct gpu_generic_memory *m = *at;
        if (gpu_generic_in_use(m->uses, m->n_uses)) {
            at = &m->dying;
            continue;
        }
        *at = m->dying;
        m->dying = NULL;
        some = true;
        if (m->block->host)
            block_free(d, m->block, true);
        else
            release(d, m);
    }
    if (some)
        trim(d, false);
}

/* Waits for what was freed, and gives all that is free to the driver. */
static tnb_status
make_room(struct gpu_generic_device *d, tnb_err *err)
{
    for (struct gpu_generic_stream *s = d->streams; s && d->dying; s = s->next)
        TNB_TRY(gpu_generic_reach(s, gpu_generic_last(s), err));
    reap(d);
    trim(d, true);
    return TNB_OK;
}

static tnb_status
check_room(const struct gpu_generic_device *d, uint64_t bytes, tnb_err *err)
{
    const char *name = d->info.props.deviceName;
    tnb_status st = TNB_OK;
    if (bytes > d->info.largest)
        st = tnb_fail(err, TNB_NO_MEMORY,
                      "a buffer of %" PRIu64 " bytes: device '%s' gives at most %" PRIu64
                      " bytes to one buffer",
                      bytes, name, d->info.largest);
    else if (d->set.memory && (d->in_use > d->set.memory || bytes > d->set.memory - d->in_use))
        st = tnb_fail(err, TNB_NO_MEMORY,
                      "a buffer of %" PRIu64 " bytes: %" PRIu64 " of the %" PRIu64
                      " bytes that [device gpu_generic] memory leaves of device '%s' are in use",
                      bytes, d->in_use, d->set.memory, name);
    if (st != TNB_OK)
        tnb_hint(err, "use a smaller batch or model, or a device with more memory");
    return st;
}

tnb_status
gpu_generic_take(struct gpu_generic_device *d, uint64_t bytes, struct gpu_generic_memory **out,
                 tnb_err *err)
{
    uint64_t asked = bytes, mask = d->alignment - 1;
    struct gpu_generic_block *b;
    bytes = bytes > UINT64_MAX - mask ? bytes : ((bytes ? bytes : 1) + mask) & ~mask;
    reap(d);
    if (d->dying && d->set.memory && check_room(d, bytes, NULL) != TNB_OK)
        TNB_TRY(make_room(d, err));
    TNB_TRY(check_room(d, bytes, err));
    struct gpu_generic_memory *m = find(d, bytes);
    if (!m) {
        uint64_t own =
            bytes > d->set.block / 2 || d->set.block > d->info.largest ? bytes : d->set.block;
        tnb_status st = block_new(d, false, own, &b, err);
        if (st == TNB_NO_MEMORY && make_room(d, NULL) == TNB_OK && !(m = find(d, bytes)))
            st = block_new(d, false, bytes, &b, err);
        if (!m && st != TNB_OK) {
            tnb_err_prefix(err, "with %" PRIu64 " of %" PRIu64 " bytes in use", d->in_use,
                           d->info.heap);
            return st;
        }
        if (!m)
            m = find(d, bytes);
        if (!m)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory on the host for a buffer");
    }
    m->asked = asked;
    *out = m;
    return TNB_OK;
}

void
gpu_generic_give(struct gpu_generic_device *d, struct gpu_generic_memory *m)
{
    if (gpu_generic_in_use(m->uses, m->n_uses)) {
        m->dying = d->dying;
        d->dying = m;
        return;
    }
    if (m->block->host) {
        block_free(d, m->block, true);
        return;
    }
    release(d, m);
    trim(d, false);
}

/* ---- of the driver's table ---- */

tnb_status
gpu_generic_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_memory *m;
    if (strcmp(scope, "global") != 0) {
        (void)tnb_fail(err, TNB_UNSUPPORTED, "the gpu_generic device has no memory of scope '%s'",
                       scope);
        tnb_hint(err, "it has 'global'");
        return TNB_UNSUPPORTED;
    }
    TNB_TRY(gpu_generic_alive(d, err));
    pthread_mutex_lock(&d->lock);
    tnb_status st = gpu_generic_take(d, bytes, &m, err);
    pthread_mutex_unlock(&d->lock);
    if (st == TNB_OK)
        *mem = m;
    return st;
}

void
gpu_generic_free(void *dev, void *mem)
{
    struct gpu_generic_device *d = dev;
    if (!mem)
        return;
    pthread_mutex_lock(&d->lock);
    gpu_generic_give(d, mem);
    pthread_mutex_unlock(&d->lock);
}

tnb_status
gpu_generic_pinned_alloc(void *dev, uint64_t bytes, void **host, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_block *b;
    TNB_TRY(gpu_generic_alive(d, err));
    if (bytes > d->info.largest)
        return tnb_fail(err, TNB_NO_MEMORY,
                        "%" PRIu64 " bytes of the host that device '%s' reaches: it gives at most "
                        "%" PRIu64,
                        bytes, d->info.props.deviceName, d->info.largest);
    pthread_mutex_lock(&d->lock);
    tnb_status st = block_new(d, true, bytes ? bytes : 1, &b, err);
    if (st == TNB_OK) {
        b->first->taken = true;
        b->first->asked = bytes;
        *host = b->at;
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}

struct gpu_generic_memory *
gpu_generic_pinned_at(struct gpu_generic_device *d, const void *host, uint64_t bytes)
{
    uintptr_t at = (uintptr_t)host;
    for (struct gpu_generic_block *b = d->blocks; b; b = b->next)
        if (b->host && at >= (uintptr_t)b->at && at - (uintptr_t)b->at <= b->bytes &&
            bytes <= b->bytes - (at - (uintptr_t)b->at))
            return b->first;
    return NULL;
}

tnb_status
gpu_generic_pinned_visible(const struct gpu_generic_device *d, tnb_err *err)
{
    for (const struct gpu_generic_block *b = d->check ? d->blocks : NULL; b; b = b->next)
        if (b->host)
            TNB_TRY(gpu_generic_check_visible(d->check, b->id, err));
    return TNB_OK;
}

void
gpu_generic_pinned_free(void *dev, void *host)
{
    struct gpu_generic_device *d = dev;
    if (!host)
        return;
    pthread_mutex_lock(&d->lock);
    struct gpu_generic_block *b = d->blocks;
    while (b && !(b->host && b->at == host))
        b = b->next;
    if (b)
        gpu_generic_give(d, b->first);
    pthread_mutex_unlock(&d->lock);
}

tnb_status
gpu_generic_range(const struct gpu_generic_memory *m, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    if (m && offset <= m->bytes && bytes <= m->bytes - offset)
        return TNB_OK;
    return tnb_fail(err, TNB_BOUNDS, "bytes %" PRIu64 " to %" PRIu64 " of memory of %" PRIu64,
                    offset, offset + bytes, m ? m->asked : 0);
}

void
gpu_generic_memory_end(struct gpu_generic_device *d, bool ended)
{
    while (d->blocks)
        block_free(d, d->blocks, ended);
}
