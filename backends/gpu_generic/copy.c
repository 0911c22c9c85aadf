/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: copies and zeros.
 *
 * With the host: itself, where it sees the device's memory and the device does not use it; in pinned memory, by the device; else
 * through the stream's ring, in pieces.
 */
#include "device.h"

#include <inttypes.h>
#include <string.h>

enum { SMALL = 65536, CHUNK = 16 << 20 };

/* ---- recording ---- */

/* Opens a batch, with the memory noted as used by it. */
static tnb_status
ready(struct gpu_generic_stream *s, struct gpu_generic_memory *const *m, int n, tnb_err *err)
{
    bool waited = true;
    while (waited) {
        waited = false;
        TNB_TRY(gpu_generic_batch_open(s, err));
        for (int i = 0; i < n && !waited; i++)
            TNB_TRY(gpu_generic_touch(s, m[i]->uses, &m[i]->n_uses, &waited, err));
    }
    return TNB_OK;
}

/* The same, and room of the ring for it. */
static tnb_status
ready_with_ring(struct gpu_generic_stream *s, struct gpu_generic_memory *m, uint64_t bytes,
                uint64_t *offset, tnb_err *err)
{
    bool waited = true;
    while (waited) {
        waited = false;
        TNB_TRY(ready(s, &m, 1, err));
        TNB_TRY(gpu_generic_ring_take(s, &s->staging, bytes, 16, offset, &waited, err));
    }
    return TNB_OK;
}

static struct gpu_generic_access
access_of(const struct gpu_generic_memory *m, uint64_t offset, uint64_t bytes, bool written)
{
    return (struct gpu_generic_access){.block = m->block->id,
                                       .begin = m->offset + offset,
                                       .end = m->offset + offset + bytes,
                                       .written = written};
}

/* One end of a copy on the device: memory, or, with NULL, a buffer that needs no order. */
struct end {
    struct gpu_generic_memory *m;
    VkBuffer buffer;
    uint64_t offset;
};

/* The batch is ready. */
static tnb_status
record(struct gpu_generic_stream *s, struct end from, struct end to, uint64_t bytes, tnb_err *err)
{
    struct gpu_generic_access a[2];
    uint32_t n = 0;
    if (from.m)
        a[n++] = access_of(from.m, from.offset, bytes, false);
    if (to.m)
        a[n++] = access_of(to.m, to.offset, bytes, true);
    TNB_TRY(gpu_generic_order(s, a, n, "a copy", err));
    const VkBufferCopy region = {.srcOffset = from.offset + (from.m ? from.m->offset : 0),
                                 .dstOffset = to.offset + (to.m ? to.m->offset : 0),
                                 .size = bytes};
    s->device->vk.CmdCopyBuffer(s->open->commands, from.m ? from.m->block->buffer : from.buffer,
                                to.m ? to.m->block->buffer : to.buffer, 1, &region);
    return gpu_generic_recorded(s, NULL, err);
}

/* ---- with the host ---- */

/* Waits until the host may read or write the memory itself. */
static tnb_status
host_may(struct gpu_generic_stream *s, struct gpu_generic_memory *m, uint64_t offset,
         uint64_t bytes, bool written, tnb_err *err)
{
    struct gpu_generic_access a = access_of(m, offset, bytes, written);
    s->since = 0;
    TNB_TRY(gpu_generic_settle(m->uses, &m->n_uses, err));
    return gpu_generic_check_access(s->device->check, GPU_GENERIC_HOST, &a, 1, "the host", err);
}

/* An access to the stream's ring, which needs no barrier between commands. */
static tnb_status
ring_access(struct gpu_generic_stream *s, unsigned who, uint64_t at, uint64_t bytes, bool written,
            tnb_err *err)
{
    const struct gpu_generic_access a = {GPU_GENERIC_RING(s), at, at + bytes, written};
    return gpu_generic_check_access(s->device->check, who, &a, 1,
                                    who == GPU_GENERIC_HOST ? "the host" : "a copy", err);
}

static tnb_status
up(struct gpu_generic_stream *s, struct gpu_generic_memory *m, uint64_t offset, const char *host,
   uint64_t bytes, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    if (m->block->at && !d->set.staging && m->n_uses)
        for (struct gpu_generic_stream *t = d->streams; t; t = t->next)
            TNB_TRY(gpu_generic_progress(t, err));
    if (m->block->at && !d->set.staging &&
        (bytes > SMALL || !gpu_generic_in_use(m->uses, m->n_uses))) {
        TNB_TRY(host_may(s, m, offset, bytes, true, err));
        memcpy(m->block->at + m->offset + offset, host, bytes);
        return TNB_OK;
    }
    for (uint64_t done = 0, n; done < bytes; done += n) {
        uint64_t at;
        n = bytes - done < d->set.ring / 4 ? bytes - done : d->set.ring / 4;
        TNB_TRY(ready_with_ring(s, m, n, &at, err));
        TNB_TRY(ring_access(s, GPU_GENERIC_HOST, at, n, true, err));
        memcpy(s->staging.buffer.at + at, host + done, n);
        TNB_TRY(ring_access(s, s->number, at, n, false, err));
        TNB_TRY(record(s, (struct end){NULL, s->staging.buffer.buffer, at},
                       (struct end){.m = m, .offset = offset + done}, n, err));
    }
    return TNB_OK;
}

static tnb_status
down(struct gpu_generic_stream *s, struct gpu_generic_memory *m, uint64_t offset, char *host,
     uint64_t bytes, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    if (m->block->at && !d->set.staging) {
        TNB_TRY(host_may(s, m, offset, bytes, false, err));
        memcpy(host, m->block->at + m->offset + offset, bytes);
        return TNB_OK;
    }
    for (uint64_t done = 0, n; done < bytes; done += n) {
        uint64_t at;
        n = bytes - done < d->set.ring / 4 ? bytes - done : d->set.ring / 4;
        TNB_TRY(ready_with_ring(s, m, n, &at, err));
        uint64_t value = gpu_generic_now(s);
        TNB_TRY(ring_access(s, s->number, at, n, true, err));
        TNB_TRY(record(s, (struct end){.m = m, .offset = offset + done},
                       (struct end){NULL, s->staging.buffer.buffer, at}, n, err));
        TNB_TRY(gpu_generic_reach(s, value, err));
        s->since = 0;
        TNB_TRY(ring_access(s, GPU_GENERIC_HOST, at, n, false, err));
        memcpy(host + done, s->staging.buffer.at + at, n);
    }
    return TNB_OK;
}

/* By the device, to or from pinned memory. */
static tnb_status
pinned(struct gpu_generic_stream *s, struct gpu_generic_memory *p, uint64_t at,
       struct gpu_generic_memory *m, uint64_t offset, bool to_device, uint64_t bytes, tnb_err *err)
{
    struct gpu_generic_memory *const both[] = {p, m};
    struct end host = {.m = p, .offset = at}, device = {.m = m, .offset = offset};
    TNB_TRY(ready(s, both, 2, err));
    return record(s, to_device ? host : device, to_device ? device : host, bytes, err);
}

static tnb_status
with_host(struct gpu_generic_stream *s, const tnr_copy *c, bool wait, tnb_err *err)
{
    bool to_device = c->kind == TNR_COPY_TO_DEVICE;
    struct gpu_generic_memory *m =
        to_device ? c->dst : (struct gpu_generic_memory *)(uintptr_t)c->src;
    uint64_t offset = to_device ? c->dst_offset : c->src_offset;
    char *host =
        to_device ? (char *)(uintptr_t)c->src + c->src_offset : (char *)c->dst + c->dst_offset;
    TNB_TRY(gpu_generic_range(m, offset, c->bytes, err));
    struct gpu_generic_memory *p = wait ? NULL : gpu_generic_pinned_at(s->device, host, c->bytes);
    if (p)
        return pinned(s, p, (uint64_t)(host - (char *)p->block->at), m, offset, to_device, c->bytes,
                      err);
    return to_device ? up(s, m, offset, host, c->bytes, err)
                     : down(s, m, offset, host, c->bytes, err);
}

/* ---- on the device ---- */

static tnb_status
move(struct gpu_generic_stream *s, struct gpu_generic_memory *from, uint64_t from_offset,
     struct gpu_generic_memory *to, uint64_t to_offset, uint64_t bytes, tnb_err *err)
{
    struct gpu_generic_memory *const both[] = {from, to};
    TNB_TRY(ready(s, both, 2, err));
    return record(s, (struct end){.m = from, .offset = from_offset},
                  (struct end){.m = to, .offset = to_offset}, bytes, err);
}

/* Ranges that overlap, by way of other memory, in pieces: from the end when the first would be overwritten. */
static tnb_status
overlapping(struct gpu_generic_stream *s, struct gpu_generic_memory *m, uint64_t from, uint64_t to,
            uint64_t bytes, tnb_err *err)
{
    uint64_t chunk = bytes < CHUNK ? bytes : CHUNK;
    struct gpu_generic_memory *by;
    TNB_TRY(gpu_generic_take(s->device, chunk, &by, err));
    tnb_status st = TNB_OK;
    for (uint64_t done = 0, n; done < bytes && st == TNB_OK; done += n) {
        n = bytes - done < chunk ? bytes - done : chunk;
        uint64_t at = to > from ? bytes - done - n : done;
        st = move(s, m, from + at, by, 0, n, err);
        if (st == TNB_OK)
            st = move(s, by, 0, m, to + at, n, err);
    }
    gpu_generic_give(s->device, by);
    return st;
}

static tnb_status
on_device(struct gpu_generic_stream *s, const tnr_copy *c, tnb_err *err)
{
    struct gpu_generic_memory *from = (struct gpu_generic_memory *)(uintptr_t)c->src, *to = c->dst;
    uint64_t apart = c->src_offset > c->dst_offset ? c->src_offset - c->dst_offset
                                                   : c->dst_offset - c->src_offset;
    TNB_TRY(gpu_generic_range(from, c->src_offset, c->bytes, err));
    TNB_TRY(gpu_generic_range(to, c->dst_offset, c->bytes, err));
    if (from == to && apart == 0)
        return TNB_OK;
    if (from == to && apart < c->bytes)
        return overlapping(s, from, c->src_offset, c->dst_offset, c->bytes, err);
    return move(s, from, c->src_offset, to, c->dst_offset, c->bytes, err);
}

/* ---- of the driver's table ---- */

static tnb_status
copy(struct gpu_generic_device *d, void *stream, const tnr_copy *c, bool wait, tnb_err *err)
{
    struct gpu_generic_stream *s = gpu_generic_stream_of(d, stream);
    tnb_status st;
    if (c->bytes == 0)
        return TNB_OK;
    TNB_TRY(gpu_generic_alive(d, err));
    pthread_mutex_lock(&d->lock);
    switch (c->kind) {
    case TNR_COPY_TO_DEVICE:
    case TNR_COPY_TO_HOST:
        st = with_host(s, c, wait, err);
        break;
    case TNR_COPY_ON_DEVICE:
        st = wait ? on_device(s, c, err)
                  : tnb_fail(err, TNB_INVALID, "a copy on the device that is not waited for");
        break;
    default:
        st = tnb_fail(err, TNB_INVALID, "a copy of unknown kind %d", c->kind);
    }
    pthread_mutex_unlock(&d->lock);
    if (st != TNB_OK)
        tnb_err_prefix(err, "copying %" PRIu64 " bytes %s", c->bytes,
                       c->kind == TNR_COPY_TO_DEVICE ? "to the device"
                       : c->kind == TNR_COPY_TO_HOST ? "from the device"
                                                     : "on the device");
    return st;
}

tnb_status
gpu_generic_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    return copy(dev, stream, c, true, err);
}

tnb_status
gpu_generic_copy_start(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    return copy(dev, stream, c, false, err);
}

/* Zeros for the bytes at either end that are no whole words. */
static tnb_status
zero_bytes(struct gpu_generic_stream *s, struct gpu_generic_memory *m, uint64_t offset,
           uint64_t bytes, tnb_err *err)
{
    if (bytes == 0)
        return TNB_OK;
    TNB_TRY(ready(s, &m, 1, err));
    return record(s, (struct end){NULL, s->device->zeros.buffer, 0},
                  (struct end){.m = m, .offset = offset}, bytes, err);
}

static tnb_status
zero(struct gpu_generic_stream *s, struct gpu_generic_memory *m, uint64_t offset, uint64_t bytes,
     tnb_err *err)
{
    uint64_t before = -offset & 3, after = (offset + bytes) & 3;
    TNB_TRY(gpu_generic_range(m, offset, bytes, err));
    if (bytes < 8 && (before || after))
        return zero_bytes(s, m, offset, bytes, err);
    TNB_TRY(zero_bytes(s, m, offset, before, err));
    TNB_TRY(zero_bytes(s, m, offset + bytes - after, after, err));
    TNB_TRY(ready(s, &m, 1, err));
    struct gpu_generic_access a = access_of(m, offset + before, bytes - before - after, true);
    TNB_TRY(gpu_generic_order(s, &a, 1, "zeros", err));
    s->device->vk.CmdFillBuffer(s->open->commands, m->block->buffer, a.begin, a.end - a.begin, 0);
    return gpu_generic_recorded(s, NULL, err);
}

tnb_status
gpu_generic_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    if (bytes == 0)
        return TNB_OK;
    TNB_TRY(gpu_generic_alive(d, err));
    pthread_mutex_lock(&d->lock);
    tnb_status st = zero(gpu_generic_stream_of(d, stream), mem, offset, bytes, err);
    pthread_mutex_unlock(&d->lock);
    if (st != TNB_OK)
        tnb_err_prefix(err, "zeroing %" PRIu64 " bytes on the device", bytes);
    return st;
}
