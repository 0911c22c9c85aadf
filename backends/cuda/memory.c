/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: memory and copies. A handle is an address of the device. Memory in the order of a stream comes from
 * the driver's pool, other memory is the driver's own; `free` takes both, and waits first, since work that is queued may use it.
 */
#include "device.h"

#include <inttypes.h>
#include <string.h>

static CUdeviceptr
address(const void *mem, uint64_t offset)
{
    return (CUdeviceptr)(uintptr_t)mem + offset;
}

/* ---- memory ---- */

static tnb_status
no_room(struct cuda_device *d, CUresult r, const char *call, uint64_t bytes, tnb_err *err)
{
    size_t left = 0, total = d->info.memory;
    if (r != CUDA_ERROR_OUT_OF_MEMORY || d->api->MemGetInfo(&left, &total) != CUDA_SUCCESS)
        return cuda_fail(d, d->api, r, call, err, "taking %" PRIu64 " bytes of device '%s'", bytes,
                         d->info.name);
    return cuda_fail(d, d->api, r, call, err,
                     "%" PRIu64 " bytes, with %zu of %zu bytes of device '%s' free", bytes, left,
                     total, d->info.name);
}

static tnb_status
check_scope(const char *scope, tnb_err *err)
{
    if (strcmp(scope, "global") == 0)
        return TNB_OK;
    (void)tnb_fail(err, TNB_UNSUPPORTED, "the cuda device has no memory of scope '%s'", scope);
    tnb_hint(err, "it has 'global'");
    return TNB_UNSUPPORTED;
}

/* Kernels store parts of bytes by atomic operations on whole words. SIZE_MAX: too large for anything. */
static size_t
rounded(uint64_t bytes)
{
    return bytes > SIZE_MAX - 3 ? SIZE_MAX : bytes ? ((size_t)bytes + 3) & ~(size_t)3 : 4;
}

/* Memory that the pool holds and nobody uses. */
static void
empty_pool(struct cuda_device *d)
{
    CUmemoryPool pool;
    if (d->info.pools && d->api->DeviceGetDefaultMemPool(&pool, d->gpu) == CUDA_SUCCESS)
        (void)d->api->MemPoolTrimTo(pool, 0);
}

tnb_status
cuda_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    struct cuda_device *d = dev;
    CUdeviceptr p = 0;
    TNB_TRY(check_scope(scope, err));
    TNB_TRY(cuda_enter(d, err));
    tnb_status st = TNB_OK;
    CUresult r = d->api->MemAlloc(&p, rounded(bytes));
    if (r == CUDA_ERROR_OUT_OF_MEMORY && cuda_wait_all(d, NULL) == TNB_OK) {
        empty_pool(d);
        r = d->api->MemAlloc(&p, rounded(bytes));
    }
    if (r != CUDA_SUCCESS)
        st = no_room(d, r, "cuMemAlloc", bytes, err);
    else
        *mem = (void *)(uintptr_t)p;
    cuda_leave(d);
    return st;
}

void
cuda_free(void *dev, void *mem)
{
    struct cuda_device *d = dev;
    if (!mem || cuda_enter(d, NULL) != TNB_OK)
        return;
    if (cuda_wait_all(d, NULL) == TNB_OK)
        (void)d->api->MemFree(address(mem, 0));
    cuda_leave(d);
}

tnb_status
cuda_alloc_ordered(void *dev, void *stream, uint64_t bytes, const char *scope, void **mem,
                   tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_stream *s = cuda_stream_of(d, stream);
    CUdeviceptr p = 0;
    TNB_TRY(check_scope(scope, err));
    TNB_TRY(cuda_not_captured(s, "taking memory", err));
    if (!d->info.pools)
        return cuda_alloc(dev, bytes, scope, mem, err);
    TNB_TRY(cuda_enter(d, err));
    tnb_status st = TNB_OK;
    CUresult r = d->api->MemAllocAsync(&p, rounded(bytes), s->handle);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && cuda_wait_all(d, NULL) == TNB_OK) {
        empty_pool(d);
        r = d->api->MemAllocAsync(&p, rounded(bytes), s->handle);
    }
    if (r != CUDA_SUCCESS)
        st = no_room(d, r, "cuMemAllocAsync", bytes, err);
    else
        *mem = (void *)(uintptr_t)p;
    cuda_leave(d);
    return st;
}

tnb_status
cuda_free_ordered(void *dev, void *stream, void *mem, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_stream *s = cuda_stream_of(d, stream);
    if (!mem)
        return TNB_OK;
    TNB_TRY(cuda_not_captured(s, "giving memory back", err));
    TNB_TRY(cuda_enter(d, err));
    tnb_status st = TNB_OK;
    if (!d->info.pools) {
        cuda_free(d, mem);
    } else {
        CUresult r = d->api->MemFreeAsync(address(mem, 0), s->handle);
        if (r != CUDA_SUCCESS)
            st = cuda_fail(d, d->api, r, "cuMemFreeAsync", err, "giving memory back");
    }
    cuda_leave(d);
    return st;
}

tnb_status
cuda_pinned_alloc(void *dev, uint64_t bytes, void **host, tnb_err *err)
{
    struct cuda_device *d = dev;
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->MemHostAlloc(host, rounded(bytes), CU_MEMHOSTALLOC_PORTABLE);
    cuda_leave(d);
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, "cuMemHostAlloc", err,
                                         "%" PRIu64 " bytes of pinned memory of the host", bytes);
}

void
cuda_pinned_free(void *dev, void *host)
{
    struct cuda_device *d = dev;
    if (!host || cuda_enter(d, NULL) != TNB_OK)
        return;
    if (cuda_wait_all(d, NULL) == TNB_OK)
        (void)d->api->MemFreeHost(host);
    cuda_leave(d);
}

/* ---- copies ---- */

static tnb_status
with_host(struct cuda_device *d, struct cuda_stream *s, const tnr_copy *c, tnb_err *err)
{
    bool up = c->kind == TNR_COPY_TO_DEVICE;
    CUresult r =
        up ? d->api->MemcpyHtoDAsync(address(c->dst, c->dst_offset),
                                     (const char *)c->src + c->src_offset, (size_t)c->bytes,
                                     s->handle)
           : d->api->MemcpyDtoHAsync((char *)c->dst + c->dst_offset, address(c->src, c->src_offset),
                                     (size_t)c->bytes, s->handle);
    return r == CUDA_SUCCESS
               ? TNB_OK
               : cuda_fail(d, d->api, r, up ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync", err,
                           "copying %" PRIu64 " bytes %s the device", c->bytes, up ? "to" : "from");
}

static tnb_status
move(struct cuda_device *d, struct cuda_stream *s, CUdeviceptr to, CUdeviceptr from, uint64_t n,
     tnb_err *err)
{
    CUresult r = d->api->MemcpyDtoDAsync(to, from, (size_t)n, s->handle);
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, "cuMemcpyDtoDAsync", err,
                                         "copying %" PRIu64 " bytes on the device", n);
}

/* The driver's copies are not for ranges that overlap: those go in pieces no longer than the ranges are apart, from the end where
 * the first piece would be overwritten; when that were many, by way of other memory. */
static tnb_status
on_device(struct cuda_device *d, struct cuda_stream *s, const tnr_copy *c, tnb_err *err)
{
    enum { MOST_PIECES = 64 };
    CUdeviceptr to = address(c->dst, c->dst_offset), from = address(c->src, c->src_offset);
    uint64_t apart = to > from ? to - from : from - to, n;
    void *by = NULL;
    if (apart == 0)
        return TNB_OK;
    if (apart >= c->bytes)
        return move(d, s, to, from, c->bytes, err);
    if (c->bytes / apart < MOST_PIECES) {
        for (uint64_t done = 0; done < c->bytes; done += n) {
            n = c->bytes - done < apart ? c->bytes - done : apart;
            uint64_t at = to > from ? c->bytes - done - n : done;
            TNB_TRY(move(d, s, to + at, from + at, n, err));
        }
        return TNB_OK;
    }
    TNB_TRY(cuda_not_captured(s, "a copy of ranges that overlap closely", err));
    TNB_TRY(cuda_alloc_ordered(d, s, c->bytes, "global", &by, err));
    tnb_status st = move(d, s, address(by, 0), from, c->bytes, err);
    if (st == TNB_OK)
        st = move(d, s, to, address(by, 0), c->bytes, err);
    tnb_status freed = cuda_free_ordered(d, s, by, st == TNB_OK ? err : NULL);
    return st == TNB_OK ? freed : st;
}

tnb_status
cuda_copy_start(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_stream *s = cuda_stream_of(d, stream);
    if (c->kind != TNR_COPY_TO_DEVICE && c->kind != TNR_COPY_TO_HOST)
        return tnb_fail(err, TNB_INVALID, "a copy of kind %d that is not waited for", c->kind);
    if (c->bytes == 0)
        return TNB_OK;
    TNB_TRY(cuda_not_captured(s, "a copy with the host", err));
    TNB_TRY(cuda_enter(d, err));
    tnb_status st = with_host(d, s, c, err);
    cuda_leave(d);
    return st;
}

tnb_status
cuda_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    struct cuda_device *d = dev;
    if (c->kind == TNR_COPY_TO_DEVICE || c->kind == TNR_COPY_TO_HOST) {
        TNB_TRY(cuda_copy_start(dev, stream, c, err));
        return c->bytes ? cuda_sync(dev, stream, err) : TNB_OK;
    }
    if (c->kind != TNR_COPY_ON_DEVICE)
        return tnb_fail(err, TNB_INVALID, "a copy of unknown kind %d", c->kind);
    if (c->bytes == 0)
        return TNB_OK;
    TNB_TRY(cuda_enter(d, err));
    tnb_status st = on_device(d, cuda_stream_of(d, stream), c, err);
    cuda_leave(d);
    return st;
}

tnb_status
cuda_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    struct cuda_device *d = dev;
    if (bytes == 0)
        return TNB_OK;
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->MemsetD8Async(address(mem, offset), 0, (size_t)bytes,
                                       cuda_stream_of(d, stream)->handle);
    cuda_leave(d);
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, "cuMemsetD8Async", err,
                                         "zeroing %" PRIu64 " bytes on the device", bytes);
}

/* ---- copies between devices ---- */

bool
cuda_peer(void *dev, void *from)
{
    struct cuda_device *d = dev;
    const struct cuda_device *f = from;
    int can = 0;
    return d != f && d->api->DeviceCanAccessPeer(&can, d->gpu, f->gpu) == CUDA_SUCCESS && can;
}

tnb_status
cuda_peer_copy(void *dev, void *stream, void *from, const tnr_copy *c, tnb_err *err)
{
    struct cuda_device *d = dev;
    const struct cuda_device *f = from;
    if (c->bytes == 0)
        return TNB_OK;
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->CtxEnablePeerAccess(f->context, 0);
    const char *call = "cuCtxEnablePeerAccess";
    if (r == CUDA_SUCCESS || r == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
        call = "cuMemcpyPeerAsync";
        r = d->api->MemcpyPeerAsync(address(c->dst, c->dst_offset), d->context,
                                    address(c->src, c->src_offset), f->context, (size_t)c->bytes,
                                    cuda_stream_of(d, stream)->handle);
    }
    cuda_leave(d);
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, call, err,
                                         "copying %" PRIu64 " bytes from device '%s' to '%s'",
                                         c->bytes, f->info.name, d->info.name);
}
