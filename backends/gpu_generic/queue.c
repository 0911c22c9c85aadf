/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: streams. Commands are recorded into batches; each batch that is submitted raises the
 * stream's value by one, which a timeline semaphore tells, or a fence of the batch.
 *
 * Waiting gives the device's lock up, so that whoever waits in the middle of something begins again.
 */
#include "device.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/base/log.h"

enum { SLICE_NS = 100000000 }; /* of waiting, after which it is looked whether there is progress */

/* ---- what a batch is, for messages ---- */

static const struct gpu_generic_batch *
oldest(const struct gpu_generic_stream *s)
{
    const struct gpu_generic_batch *b = NULL;
    for (int i = 0; i < GPU_GENERIC_BATCHES; i++)
        if (s->batches[i].pending && (!b || s->batches[i].value < b->value))
            b = &s->batches[i];
    return b;
}

static const char *
work_of(const struct gpu_generic_batch *b, char out[200])
{
    if (!b || !b->first)
        snprintf(out, 200, "copies");
    else if (b->first == b->last)
        snprintf(out, 200, "kernel '%.80s'", b->first->name);
    else
        snprintf(out, 200, "kernels '%.80s' to '%.80s'", b->first->name, b->last->name);
    return out;
}

/* ---- progress ---- */

static void
retire(struct gpu_generic_stream *s, uint64_t value)
{
    s->done = value;
    for (int i = 0; i < GPU_GENERIC_BATCHES; i++) {
        struct gpu_generic_batch *b = &s->batches[i];
        if (!b->pending || b->value > value)
            continue;
        b->pending = false;
        s->params.tail = b->params > s->params.tail ? b->params : s->params.tail;
        s->staging.tail = b->staging > s->staging.tail ? b->staging : s->staging.tail;
    }
    gpu_generic_check_seen(s->device->check, s->number, value);
}

tnb_status
gpu_generic_progress(struct gpu_generic_stream *s, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    char work[200];
    if (s->done == s->submitted)
        return TNB_OK;
    if (s->timeline) {
        uint64_t value = 0;
        VkResult r = d->vk.GetSemaphoreCounterValueKHR(d->handle, s->timeline, &value);
        if (r == VK_SUCCESS && value > s->submitted) /* some drivers say that a device is lost so */
            r = VK_ERROR_DEVICE_LOST;
        if (r != VK_SUCCESS)
            return gpu_generic_fail(d, r, "vkGetSemaphoreCounterValue", err, "waiting for %s",
                                    work_of(oldest(s), work));
        if (value > s->done)
            retire(s, value);
        return TNB_OK;
    }
    for (const struct gpu_generic_batch *b = oldest(s); b; b = oldest(s)) {
        VkResult r = d->vk.GetFenceStatus(d->handle, b->fence);
        if (r == VK_NOT_READY)
            break;
        if (r != VK_SUCCESS)
            return gpu_generic_fail(d, r, "vkGetFenceStatus", err, "waiting for %s",
                                    work_of(b, work));
        retire(s, b->value);
    }
    return TNB_OK;
}

/* Waits a little, without the lock. */
static tnb_status
wait_slice(struct gpu_generic_stream *s, uint64_t value, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    char work[200];
    struct gpu_generic_batch *b =
        s->timeline ? NULL : (struct gpu_generic_batch *)(uintptr_t)oldest(s);
    VkResult r;
    if (b)
        b->waiters++;
    pthread_mutex_unlock(&d->lock);
    if (b) {
        r = d->vk.WaitForFences(d->handle, 1, &b->fence, VK_TRUE, SLICE_NS);
    } else {
        const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                          .semaphoreCount = 1,
                                          .pSemaphores = &s->timeline,
                                          .pValues = &value};
        r = d->vk.WaitSemaphoresKHR(d->handle, &info, SLICE_NS);
    }
    pthread_mutex_lock(&d->lock);
    if (b)
        b->waiters--;
    return r == VK_SUCCESS || r == VK_TIMEOUT
               ? TNB_OK
               : gpu_generic_fail(d, r, b ? "vkWaitForFences" : "vkWaitSemaphores", err,
                                  "waiting for %s", work_of(oldest(s), work));
}

static tnb_status
await(struct gpu_generic_stream *s, uint64_t value, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    double limit = d->set.timeout, since = 0;
    char work[200];
    value = value < s->submitted ? value : s->submitted;
    TNB_TRY(s->done < value ? gpu_generic_progress(s, err) : TNB_OK);
    for (uint64_t last = s->done; s->done < value;) {
        if (since == 0)
            since = gpu_generic_seconds();
        TNB_TRY(wait_slice(s, value, err));
        TNB_TRY(gpu_generic_progress(s, err));
        if (s->done != last) {
            last = s->done;
            since = 0;
        } else if (limit > 0 && gpu_generic_seconds() - since > limit) {
            d->hung = true;
            gpu_generic_lose(d, "it hung");
            (void)tnb_fail(err, TNB_DEVICE,
                           "device '%s' made no progress for %.0f s in %s: it counts as hung",
                           d->info.props.deviceName, limit, work_of(oldest(s), work));
            tnb_hint(err, "[device gpu_generic] timeout = SECONDS gives kernels more time, batch = "
                          "1 submits each alone");
            return TNB_DEVICE;
        }
    }
    return TNB_OK;
}

tnb_status
gpu_generic_reach(struct gpu_generic_stream *s, uint64_t value, tnb_err *err)
{
    TNB_TRY(gpu_generic_alive(s->device, err));
    if (value > s->submitted)
        TNB_TRY(gpu_generic_flush(s, err));
    return await(s, value, err);
}

bool
gpu_generic_in_use(const struct gpu_generic_use *uses, uint8_t n)
{
    for (uint8_t i = 0; i < n; i++)
        if (gpu_generic_used(&uses[i]))
            return true;
    return false;
}

tnb_status
gpu_generic_settle(struct gpu_generic_use *uses, const uint8_t *n, tnb_err *err)
{
    for (uint8_t i = 0; i < *n; i++)
        if (gpu_generic_used(&uses[i]))
            TNB_TRY(gpu_generic_reach(uses[i].stream, uses[i].value, err));
    return TNB_OK;
}

tnb_status
gpu_generic_touch(struct gpu_generic_stream *s, struct gpu_generic_use *uses, uint8_t *n,
                  bool *waited, tnb_err *err)
{
    uint8_t k = 0;
    for (uint8_t i = 0; i < *n; i++)
        if (uses[i].stream != s && gpu_generic_used(&uses[i]))
            uses[k++] = uses[i];
    *n = k;
    if (k == GPU_GENERIC_USES) {
        *waited = true;
        return gpu_generic_reach(uses[0].stream, uses[0].value, err);
    }
    uses[(*n)++] = (struct gpu_generic_use){s, gpu_generic_now(s)};
    return TNB_OK;
}

/* ---- batches ---- */

static tnb_status
make_batch(struct gpu_generic_device *d, struct gpu_generic_batch *b, tnb_err *err)
{
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                          .queueFamilyIndex = d->info.family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult r;
    if (!b->pool && (r = d->vk.CreateCommandPool(d->handle, &pool, NULL, &b->pool)) != VK_SUCCESS) {
        b->pool = VK_NULL_HANDLE;
        return gpu_generic_fail(d, r, "vkCreateCommandPool", err, "beginning to record commands");
    }
    const VkCommandBufferAllocateInfo buffer = {.sType =
                                                    VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = b->pool,
                                                .commandBufferCount = 1};
    if (!b->commands &&
        (r = d->vk.AllocateCommandBuffers(d->handle, &buffer, &b->commands)) != VK_SUCCESS) {
        b->commands = NULL;
        return gpu_generic_fail(d, r, "vkAllocateCommandBuffers", err,
                                "beginning to record commands");
    }
    if (!d->timeline && !b->fence &&
        (r = d->vk.CreateFence(d->handle, &fence, NULL, &b->fence)) != VK_SUCCESS) {
        b->fence = VK_NULL_HANDLE;
        return gpu_generic_fail(d, r, "vkCreateFence", err, "beginning to record commands");
    }
    return TNB_OK;
}

static tnb_status
begin(struct gpu_generic_stream *s, struct gpu_generic_batch *b, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    TNB_TRY(make_batch(d, b, err));
    VkResult r = d->vk.ResetCommandPool(d->handle, b->pool, 0);
    if (r != VK_SUCCESS)
        return gpu_generic_fail(d, r, "vkResetCommandPool", err, "beginning to record commands");
    r = d->vk.BeginCommandBuffer(b->commands, &info);
    if (r != VK_SUCCESS)
        return gpu_generic_fail(d, r, "vkBeginCommandBuffer", err, "beginning to record commands");
    b->n = 0;
    b->writes = false;
    b->first = b->last = NULL;
    s->bound = VK_NULL_HANDLE;
    s->open = b;
    return TNB_OK;
}

tnb_status
gpu_generic_batch_open(struct gpu_generic_stream *s, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    TNB_TRY(gpu_generic_alive(d, err));
    while (!s->open) {
        struct gpu_generic_batch *b = NULL;
        bool pending = false;
        for (int i = 0; i < GPU_GENERIC_BATCHES && !b; i++) {
            struct gpu_generic_batch *at = &s->batches[s->turn++ % GPU_GENERIC_BATCHES];
            pending |= at->pending;
            b = at->pending || at->waiters ? NULL : at;
        }
        if (b) {
            TNB_TRY(begin(s, b, err));
        } else if (pending) {
            TNB_TRY(gpu_generic_reach(s, oldest(s)->value, err));
        } else { /* others are about to leave its fence */
            pthread_mutex_unlock(&d->lock);
            sched_yield();
            pthread_mutex_lock(&d->lock);
        }
    }
    return TNB_OK;
}

static const VkPipelineStageFlags stages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;

static void
memory_barrier(struct gpu_generic_stream *s, VkPipelineStageFlags to, VkAccessFlags access)
{
    const VkMemoryBarrier b = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask =
                                   VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = access};
    s->device->vk.CmdPipelineBarrier(s->open->commands, stages, to, 0, 1, &b, 0, NULL, 0, NULL);
}

static VkResult
submit(struct gpu_generic_stream *s, struct gpu_generic_batch *b, const char **call)
{
    struct gpu_generic_device *d = s->device;
    VkSemaphore waits[GPU_GENERIC_WAITS];
    uint64_t values[GPU_GENERIC_WAITS], value = s->submitted + 1;
    VkPipelineStageFlags at[GPU_GENERIC_WAITS];
    for (uint32_t i = 0; i < s->n_waits; i++) {
        waits[i] = s->waits[i].stream->timeline;
        values[i] = s->waits[i].value;
        at[i] = stages;
    }
    const VkTimelineSemaphoreSubmitInfo times = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = s->n_waits,
        .pWaitSemaphoreValues = values,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &value};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = d->timeline ? &times : NULL,
                               .waitSemaphoreCount = s->n_waits,
                               .pWaitSemaphores = waits,
                               .pWaitDstStageMask = at,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &b->commands,
                               .signalSemaphoreCount = d->timeline ? 1 : 0,
                               .pSignalSemaphores = &s->timeline};
    if (!d->timeline) {
        *call = "vkResetFences";
        VkResult r = d->vk.ResetFences(d->handle, 1, &b->fence);
        if (r != VK_SUCCESS)
            return r;
    }
    *call = "vkQueueSubmit";
    return d->vk.QueueSubmit(d->queues[s->queue], 1, &info,
                             d->timeline ? VK_NULL_HANDLE : b->fence);
}

tnb_status
gpu_generic_flush(struct gpu_generic_stream *s, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    struct gpu_generic_batch *b = s->open;
    const char *call = "vkEndCommandBuffer";
    char work[200];
    if (!b)
        return TNB_OK;
    TNB_TRY(gpu_generic_alive(d, err));
    if (b->writes && !d->set.leave_out_for_host) {
        memory_barrier(s, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
        gpu_generic_check_barrier_for_host(d->check, s->number);
    }
    VkResult r = d->vk.EndCommandBuffer(b->commands);
    if (r == VK_SUCCESS)
        r = submit(s, b, &call);
    s->open = NULL;
    if (r != VK_SUCCESS) { /* what was recorded is lost */
        s->hazards.all = true;
        return gpu_generic_fail(d, r, call, err, "submitting %s", work_of(b, work));
    }
    s->n_waits = 0;
    s->follows = false;
    b->value = ++s->submitted;
    b->pending = true;
    b->params = s->params.head;
    b->staging = s->staging.head;
    s->since++;
    d->counts.submits++;
    gpu_generic_check_submit(d->check, s->number, b->value);
    return TNB_OK;
}

tnb_status
gpu_generic_order(struct gpu_generic_stream *s, const struct gpu_generic_access *a, uint32_t n,
                  const char *what, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    struct gpu_generic_hazards *h = &s->hazards;
    if (gpu_generic_hazards_meet(h, a, n)) {
        gpu_generic_hazards_end(h);
        if (++d->counts.barriers != d->set.leave_out_barrier) {
            memory_barrier(s, stages,
                           VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                               VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
            gpu_generic_check_barrier(d->check, s->number);
        }
    }
    gpu_generic_hazards_add(h, a, n, (struct gpu_generic_use){s, gpu_generic_now(s)});
    return gpu_generic_check_access(d->check, s->number, a, n, what, err);
}

/* The first batches are small, so that the device begins early. */
tnb_status
gpu_generic_recorded(struct gpu_generic_stream *s, const struct gpu_generic_function *k,
                     tnb_err *err)
{
    struct gpu_generic_batch *b = s->open;
    unsigned most = s->device->set.batch, limit = 4u << (s->since < 10 ? s->since : 10);
    b->n++;
    b->writes = true;
    b->first = b->first ? b->first : k;
    b->last = k ? k : b->last;
    return b->n >= (limit < most ? limit : most) ? gpu_generic_flush(s, err) : TNB_OK;
}

/* ---- rings ---- */

tnb_status
gpu_generic_ring_take(struct gpu_generic_stream *s, struct gpu_generic_ring *r, uint64_t bytes,
                      uint64_t alignment, uint64_t *offset, bool *waited, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    if (!r->buffer.buffer)
        TNB_TRY(
            gpu_generic_buffer_new(d, r == &s->staging ? GPU_GENERIC_BOTH_WAYS : GPU_GENERIC_UPLOAD,
                                   r == &s->staging ? d->set.ring : 1 << 20, &r->buffer, err));
    uint64_t size = r->buffer.bytes, at = (r->head + alignment - 1) & ~(alignment - 1);
    if (at % size + bytes > size)
        at += size - at % size;
    if (at + bytes - r->tail > size)
        TNB_TRY(gpu_generic_progress(s, err));
    if (at + bytes - r->tail > size) {
        const struct gpu_generic_batch *b = oldest(s);
        *waited = true;
        return gpu_generic_reach(s, b ? b->value : gpu_generic_last(s), err);
    }
    r->head = at + bytes;
    *offset = at % size;
    return TNB_OK;
}

/* ---- streams ---- */

tnb_status
gpu_generic_stream_make(struct gpu_generic_device *d, struct gpu_generic_stream **out, tnb_err *err)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &type};
    struct gpu_generic_stream *s = calloc(1, sizeof *s);
    if (!s)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a stream");
    s->device = d;
    if (d->timeline) {
        VkResult r = d->vk.CreateSemaphore(d->handle, &info, NULL, &s->timeline);
        if (r != VK_SUCCESS) {
            free(s);
            return gpu_generic_fail(d, r, "vkCreateSemaphore", err, "making a stream");
        }
    }
    s->number = d->n_streams++;
    s->queue = d->next_queue++ % d->n_queues;
    s->next = d->streams;
    d->streams = s;
    *out = s;
    return TNB_OK;
}

static void
free_stream(struct gpu_generic_device *d, struct gpu_generic_stream *s)
{
    for (int i = 0; i < GPU_GENERIC_BATCHES; i++) {
        struct gpu_generic_batch *b = &s->batches[i];
        if (b->pool)
            d->vk.DestroyCommandPool(d->handle, b->pool, NULL);
        if (b->fence)
            d->vk.DestroyFence(d->handle, b->fence, NULL);
    }
    if (s->timeline)
        d->vk.DestroySemaphore(d->handle, s->timeline, NULL);
    gpu_generic_buffer_free(d, &s->params.buffer);
    gpu_generic_buffer_free(d, &s->staging.buffer);
}

bool
gpu_generic_streams_end(struct gpu_generic_device *d)
{
    for (struct gpu_generic_stream *s = d->streams; s; s = s->next) {
        if (d->hung)
            d->set.timeout = 1;
        s->open = NULL;
        for (int i = 0; i < 2; i++) /* a driver may want memory that it has the next time */
            if (await(s, s->submitted, NULL) == TNB_OK)
                break;
    }
    bool ended = true;
    for (struct gpu_generic_stream *s = d->streams; s; s = s->next)
        ended &= s->done == s->submitted;
    if (!ended && !d->hung) { /* lost */
        (void)d->vk.DeviceWaitIdle(d->handle);
        ended = true;
    }
    for (struct gpu_generic_stream *s = d->streams, *next; s; s = next) {
        next = s->next;
        if (ended)
            free_stream(d, s);
        free(s);
    }
    d->streams = d->usual = NULL;
    return ended;
}

/* ---- of the driver's table ---- */

tnb_status
gpu_generic_sync(void *dev, void *stream, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_stream *s = gpu_generic_stream_of(d, stream);
    pthread_mutex_lock(&d->lock);
    tnb_status st = gpu_generic_reach(s, gpu_generic_last(s), err);
    s->since = 0;
    if (st == TNB_OK)
        st = gpu_generic_pinned_visible(d, err);
    pthread_mutex_unlock(&d->lock);
    return st;
}

tnb_status
gpu_generic_stream_new(void *dev, void **stream, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_stream *s;
    TNB_TRY(gpu_generic_alive(d, err));
    pthread_mutex_lock(&d->lock);
    s = d->streams;
    while (s && !s->idle)
        s = s->next;
    tnb_status st = s ? TNB_OK : gpu_generic_stream_make(d, &s, err);
    if (st == TNB_OK) {
        s->idle = false;
        *stream = s;
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}

/* Its work goes on. */
void
gpu_generic_stream_free(void *dev, void *stream)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_stream *s = stream;
    tnb_err err;
    if (!s)
        return;
    pthread_mutex_lock(&d->lock);
    if (!atomic_load(&d->lost) && gpu_generic_flush(s, &err) != TNB_OK)
        tnb_log(TNB_LOG_WARN, "%s", err.message);
    s->idle = true;
    pthread_mutex_unlock(&d->lock);
}
