/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: buffers, and copies of buffers and images. */
#include "device.h"

#include <inttypes.h>
#include <string.h>
#include "tenon/base/num.h"

enum { CHUNK = 16 << 20 }; /* bytes that a copy by way of another buffer moves at once */

/* ---- memory ---- */

static uint64_t
bytes_of(void *mem)
{
    size_t n = 0;
    return clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof n, &n, NULL) == CL_SUCCESS ? n : 0;
}

/* Drivers give memory at its first use, so what cannot be given is said here, with figures. */
static tnb_status
check_room(struct opencl_device *d, uint64_t bytes, tnb_err *err)
{
    uint64_t used = atomic_load(&d->in_use);
    if (bytes > d->info.largest) {
        (void)tnb_fail(err, TNB_NO_MEMORY,
                       "a buffer of %" PRIu64 " bytes: device '%s' gives at most %" PRIu64
                       " bytes to one buffer",
                       bytes, d->info.name, (uint64_t)d->info.largest);
        tnb_hint(err, "use a smaller batch or model, or a device with more memory");
        return TNB_NO_MEMORY;
    }
    if (used > d->info.memory || bytes > d->info.memory - used) {
        (void)tnb_fail(err, TNB_NO_MEMORY,
                       "a buffer of %" PRIu64 " bytes: device '%s' has %" PRIu64
                       " bytes, of which %" PRIu64 " are in use",
                       bytes, d->info.name, (uint64_t)d->info.memory, used);
        tnb_hint(err, "use a smaller batch or model, or a device with more memory");
        return TNB_NO_MEMORY;
    }
    return TNB_OK;
}

tnb_status
opencl_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    struct opencl_device *d = dev;
    cl_mem m = NULL;
    TNB_TRY(opencl_alive(d, err));
    if (strncmp(scope, "global.texture", 14) == 0) {
        TNB_TRY(opencl_image_new(d, scope, &m, err));
    } else if (strcmp(scope, "global") == 0) {
        cl_int e;
        TNB_TRY(check_room(d, bytes, err));
        /* whole words: kernels store parts of bytes by atomic operations on 32 bits */
        size_t size = bytes ? ((size_t)bytes + 3) & ~(size_t)3 : 4;
        m = clCreateBuffer(d->context, CL_MEM_READ_WRITE, size, NULL, &e);
        if (e != CL_SUCCESS)
            return opencl_fail(d, e, err,
                               "a buffer of %" PRIu64 " bytes, with %" PRIu64 " of %" PRIu64
                               " bytes of device '%s' in use",
                               bytes, (uint64_t)atomic_load(&d->in_use), (uint64_t)d->info.memory,
                               d->info.name);
    } else {
        (void)tnb_fail(err, TNB_UNSUPPORTED, "the opencl device has no memory of scope '%s'",
                       scope);
        tnb_hint(err, "it has 'global' and images: 'global.texture:WIDTHxHEIGHT:float16'");
        return TNB_UNSUPPORTED;
    }
    atomic_fetch_add(&d->in_use, bytes_of(m));
    *mem = m;
    return TNB_OK;
}

void
opencl_free(void *dev, void *mem)
{
    struct opencl_device *d = dev;
    if (!mem)
        return;
    atomic_fetch_sub(&d->in_use, bytes_of(mem));
    (void)clReleaseMemObject(mem); /* what is queued keeps it */
}

/* ---- copies ---- */

/* Two ranges of the device by way of a buffer, in pieces. The pieces go from the end when the
 * ranges overlap so that the first would be overwritten. */
struct side {
    cl_mem mem;
    bool is_image;
    struct opencl_image image;
    uint64_t offset;
};

static tnb_status
move(struct opencl_device *d, cl_command_queue q, cl_mem from, uint64_t from_offset, cl_mem to,
     uint64_t to_offset, uint64_t bytes, tnb_err *err)
{
    cl_int e = clEnqueueCopyBuffer(q, from, to, (size_t)from_offset, (size_t)to_offset,
                                   (size_t)bytes, 0, NULL, NULL);
    return e == CL_SUCCESS
               ? TNB_OK
               : opencl_fail(d, e, err, "copying %" PRIu64 " bytes on the device", bytes);
}

static tnb_status
piece(struct opencl_device *d, cl_command_queue q, const struct side *from, const struct side *to,
      uint64_t at, uint64_t n, cl_mem by, tnb_err *err)
{
    if (from->is_image)
        TNB_TRY(opencl_image_move(d, q, OPENCL_TO_BUFFER, &from->image, from->offset + at, n, NULL,
                                  by, 0, err));
    else
        TNB_TRY(move(d, q, from->mem, from->offset + at, by, 0, n, err));
    if (to->is_image)
        return opencl_image_move(d, q, OPENCL_FROM_BUFFER, &to->image, to->offset + at, n, NULL, by,
                                 0, err);
    return move(d, q, by, 0, to->mem, to->offset + at, n, err);
}

static tnb_status
indirect(struct opencl_device *d, cl_command_queue q, const struct side *from,
         const struct side *to, uint64_t bytes, tnb_err *err)
{
    uint64_t chunk = bytes < CHUNK ? bytes : CHUNK;
    bool backwards = from->mem == to->mem && to->offset > from->offset;
    cl_int e;
    cl_mem by = clCreateBuffer(d->context, CL_MEM_READ_WRITE, (size_t)chunk, NULL, &e);
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "a buffer of %" PRIu64 " bytes for a copy on the device",
                           chunk);
    tnb_status st = TNB_OK;
    for (uint64_t done = 0; done < bytes && st == TNB_OK;) {
        uint64_t n = bytes - done < chunk ? bytes - done : chunk;
        st = piece(d, q, from, to, backwards ? bytes - done - n : done, n, by, err);
        done += n;
    }
    (void)clReleaseMemObject(by);
    return st;
}

static tnb_status
on_device(struct opencl_device *d, cl_command_queue q, const tnr_copy *c, tnb_err *err)
{
    struct side from = {.mem = (cl_mem)(uintptr_t)c->src, .offset = c->src_offset};
    struct side to = {.mem = c->dst, .offset = c->dst_offset};
    uint64_t apart = from.offset > to.offset ? from.offset - to.offset : to.offset - from.offset;
    TNB_TRY(opencl_image_of(d, from.mem, &from.is_image, &from.image, err));
    TNB_TRY(opencl_image_of(d, to.mem, &to.is_image, &to.image, err));
    if (from.mem == to.mem && apart == 0)
        return TNB_OK;
    if (from.is_image && !to.is_image)
        return opencl_image_move(d, q, OPENCL_TO_BUFFER, &from.image, from.offset, c->bytes, NULL,
                                 to.mem, to.offset, err);
    if (to.is_image && !from.is_image)
        return opencl_image_move(d, q, OPENCL_FROM_BUFFER, &to.image, to.offset, c->bytes, NULL,
                                 from.mem, from.offset, err);
    if (from.is_image || (from.mem == to.mem && apart < c->bytes))
        return indirect(d, q, &from, &to, c->bytes, err);
    return move(d, q, from.mem, from.offset, to.mem, to.offset, c->bytes, err);
}

/* Buffers without waiting where that is not asked for; images always wait. */
static tnb_status
with_host(struct opencl_device *d, cl_command_queue q, const tnr_copy *c, cl_bool wait,
          tnb_err *err)
{
    bool up = c->kind == TNR_COPY_TO_DEVICE, is_image;
    cl_mem mem = up ? c->dst : (cl_mem)(uintptr_t)c->src;
    uint64_t offset = up ? c->dst_offset : c->src_offset;
    char *host = up ? (char *)(uintptr_t)c->src + c->src_offset : (char *)c->dst + c->dst_offset;
    struct opencl_image image;
    TNB_TRY(opencl_image_of(d, mem, &is_image, &image, err));
    if (is_image)
        return opencl_image_move(d, q, up ? OPENCL_FROM_HOST : OPENCL_TO_HOST, &image, offset,
                                 c->bytes, host, NULL, 0, err);
    cl_int e = up ? clEnqueueWriteBuffer(q, mem, wait, (size_t)offset, (size_t)c->bytes, host, 0,
                                         NULL, NULL)
                  : clEnqueueReadBuffer(q, mem, wait, (size_t)offset, (size_t)c->bytes, host, 0,
                                        NULL, NULL);
    return e == CL_SUCCESS ? TNB_OK
                           : opencl_fail(d, e, err, "copying %" PRIu64 " bytes %s the device",
                                         c->bytes, up ? "to" : "from");
}

tnb_status
opencl_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    struct opencl_device *d = dev;
    cl_command_queue q = opencl_queue(d, stream);
    if (c->bytes == 0)
        return TNB_OK;
    TNB_TRY(opencl_alive(d, err));
    switch (c->kind) {
    case TNR_COPY_TO_DEVICE:
    case TNR_COPY_TO_HOST:
        return with_host(d, q, c, CL_TRUE, err);
    case TNR_COPY_ON_DEVICE:
        return on_device(d, q, c, err);
    default:
        return tnb_fail(err, TNB_INVALID, "a copy of unknown kind %d", c->kind);
    }
}

tnb_status
opencl_copy_start(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    struct opencl_device *d = dev;
    if (c->bytes == 0)
        return TNB_OK;
    TNB_TRY(opencl_alive(d, err));
    if (c->kind != TNR_COPY_TO_DEVICE && c->kind != TNR_COPY_TO_HOST)
        return tnb_fail(err, TNB_INVALID, "a copy of kind %d that is not waited for", c->kind);
    return with_host(d, opencl_queue(d, stream), c, CL_FALSE, err);
}

tnb_status
opencl_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    struct opencl_device *d = dev;
    struct opencl_image image;
    bool is_image;
    const cl_uchar nothing = 0;
    if (bytes == 0)
        return TNB_OK;
    TNB_TRY(opencl_alive(d, err));
    TNB_TRY(opencl_image_of(d, mem, &is_image, &image, err));
    if (is_image)
        return opencl_image_move(d, opencl_queue(d, stream), OPENCL_ZEROS, &image, offset, bytes,
                                 NULL, NULL, 0, err);
    cl_int e = clEnqueueFillBuffer(opencl_queue(d, stream), mem, &nothing, sizeof nothing,
                                   (size_t)offset, (size_t)bytes, 0, NULL, NULL);
    return e == CL_SUCCESS
               ? TNB_OK
               : opencl_fail(d, e, err, "zeroing %" PRIu64 " bytes on the device", bytes);
}
