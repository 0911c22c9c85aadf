/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors over counted storage, copies between devices, exchange through DLPack. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

/* ---- storage ---- */

static void
free_storage(tnr_object *o)
{
    tnr_storage *s = (tnr_storage *)o;
    if (s->release) {
        s->release(s->owner);
        tnr_queue_release(s->queue);
    } else {
        tnr_pool_put(s->device, s->queue, s->mem, s->capacity, s->scope);
    }
    tnr_object_release(&s->device->object);
    free(s);
}

static tnr_storage *
storage_struct(tnr_device *dev, tnb_err *err)
{
    tnr_storage *s = calloc(1, sizeof *s);
    if (!s) {
        (void)tnb_fail(err, TNB_NO_MEMORY, "no memory for a storage");
        return NULL;
    }
    s->object = (tnr_object){.refs = 1, .destroy = free_storage};
    s->device = dev;
    return s;
}

tnb_status
tnr_storage_new(tnr_device *dev, uint64_t bytes, const char *scope, tnr_value *out, tnb_err *err)
{
    NEED(dev, err);
    NEED(out, err);
    return tnr_storage_new_on(dev, NULL, bytes, scope, out, err);
}

tnb_status
tnr_storage_new_on(tnr_device *dev, struct tnr_queue *q, uint64_t bytes, const char *scope,
                   tnr_value *out, tnb_err *err)
{
    if (q && q->capturing)
        return tnr_capture_forbids("memory of the device is asked for", err);
    const char *kept = tnr_device_scope(dev, scope);
    if (!kept)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a storage");
    tnr_storage *s = storage_struct(dev, err);
    if (!s)
        return TNB_NO_MEMORY;
    s->scope = kept;
    s->size = bytes;
    tnb_status st = tnr_pool_get(dev, q, bytes, kept, &s->mem, &s->capacity, err);
    if (st != TNB_OK) {
        free(s);
        return st;
    }
    tnr_object_retain(&dev->object);
    s->queue = tnr_queue_retain(q);
    *out = (tnr_value){.tag = TNR_STORAGE, .u.storage = s};
    return TNB_OK;
}

/* Whether `bytes` bytes from `offset` on end inside the address space, for memory that is the host's. */
static tnb_status
check_range(const tnr_device *dev, const void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    uint64_t at = tnr_device_is_host(dev) ? (uint64_t)(uintptr_t)mem : 0, end;
    if (tnb_add_u64(at, offset, &end) && tnb_add_u64(end, bytes, &end) && end <= UINTPTR_MAX)
        return TNB_OK;
    return tnb_fail(err, TNB_BOUNDS,
                    "%" PRIu64 " bytes at offset %" PRIu64 " go beyond the address space", bytes,
                    offset);
}

/* Memory that stays its owner's. */
static void
keep(void *owner)
{
    (void)owner;
}

tnb_status
tnr_storage_wrap(tnr_device *dev, void *mem, uint64_t bytes, uint32_t flags, void *owner,
                 void (*release)(void *), tnr_value *out, tnb_err *err)
{
    NEED(dev, err);
    NEED_N(mem, bytes, err);
    NEED(out, err);
    if (flags & ~(uint32_t)TNR_STORAGE_READ_ONLY)
        return tnb_fail(err, TNB_INVALID, "a storage has no flag 0x%" PRIx32,
                        flags & ~(uint32_t)TNR_STORAGE_READ_ONLY);
    TNB_TRY(check_range(dev, mem, 0, bytes, err));
    tnr_storage *s = storage_struct(dev, err);
    if (!s)
        return TNB_NO_MEMORY;
    s->scope = "global";
    s->mem = mem;
    s->size = bytes;
    s->flags = flags;
    s->owner = owner;
    s->release = release ? release : keep;
    tnr_object_retain(&dev->object);
    *out = (tnr_value){.tag = TNR_STORAGE, .u.storage = s};
    return TNB_OK;
}

/* ---- tensors ---- */

static void
free_tensor(tnr_object *o)
{
    tnr_tensor *t = (tnr_tensor *)o;
    tnr_object_release(&t->storage->object);
    free(t);
}

static tnb_status
no_dtype(tnb_dtype d, tnb_err *err)
{
    (void)tnb_fail(err, TNB_TYPE, "there is no element type of code %u with %u bits and %u lanes",
                   d.code, d.bits, d.lanes);
    tnb_hint(
        err,
        "tenon/base/dtype.h has the codes; a width is one that the code has, lanes are 1 or more");
    return TNB_TYPE;
}

/* Elements and bytes of a shape, checked. */
static tnb_status
measure(const int64_t *shape, uint32_t ndim, tnb_dtype dtype, uint64_t *elems, uint64_t *bytes,
        tnb_err *err)
{
    if (ndim > TNB_TNO_MAX_DIMS)
        return tnb_fail(err, TNB_SHAPE,
                        "a tensor of %" PRIu32 " dimensions; at most %d are supported", ndim,
                        TNB_TNO_MAX_DIMS);
    if (tnb_dtype_is_void(dtype))
        return tnb_fail(err, TNB_TYPE, "a tensor needs an element type that has bits");
    if (!tnb_dtype_exists(dtype))
        return no_dtype(dtype, err);
    /* most tensors of a program: elements of whole bytes, none of the extents 0, small */
    uint64_t n = 1, bits = (uint64_t)dtype.bits * dtype.lanes;
    uint32_t i = 0;
    while (i < ndim && shape[i] > 0 && shape[i] <= UINT32_MAX && n <= UINT32_MAX)
        n *= (uint64_t)shape[i++];
    if (i == ndim && n <= UINT32_MAX && bits % 8 == 0) {
        *elems = n;
        *bytes = n * (bits / 8);
        return TNB_OK;
    }
    return tnb_shape_bytes(dtype, (int32_t)ndim, shape, elems, bytes, err);
}

tnb_status
tnr_tensor_view(tnr_storage *s, uint64_t offset, const int64_t *shape, uint32_t ndim,
                tnb_dtype dtype, tnr_value *out, tnb_err *err)
{
    NEED(s, err);
    NEED_N(shape, ndim, err);
    NEED(out, err);
    uint64_t elems, bytes;
    TNB_TRY(measure(shape, ndim, dtype, &elems, &bytes, err));
    if (offset > s->size || bytes > s->size - offset)
        return tnb_fail(err, TNB_BOUNDS,
                        "a tensor of %" PRIu64 " bytes at offset %" PRIu64
                        " does not fit its storage of %" PRIu64 " bytes",
                        bytes, offset, s->size);
    tnr_tensor *t = malloc(sizeof *t + ndim * sizeof *shape);
    if (!t)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a tensor");
    *t = (tnr_tensor){.object = {.refs = 1, .destroy = free_tensor},
                      .dl = {.data = s->mem,
                             .device = s->device->dl,
                             .ndim = (int32_t)ndim,
                             .dtype = dtype,
                             .shape = t->dims,
                             .byte_offset = s->offset + offset},
                      .storage = s,
                      .n_elems = elems,
                      .n_bytes = bytes};
    for (uint32_t i = 0; i < ndim; i++)
        t->dims[i] = shape[i];
    tnr_object_retain(&s->object);
    *out = (tnr_value){.tag = TNR_TENSOR, .u.tensor = t};
    return TNB_OK;
}

tnb_status
tnr_tensor_new(tnr_device *dev, const int64_t *shape, uint32_t ndim, tnb_dtype dtype,
               tnr_value *out, tnb_err *err)
{
    NEED(dev, err);
    NEED_N(shape, ndim, err);
    NEED(out, err);
    return tnr_tensor_new_on(dev, NULL, shape, ndim, dtype, out, err);
}

tnb_status
tnr_tensor_new_on(tnr_device *dev, struct tnr_queue *q, const int64_t *shape, uint32_t ndim,
                  tnb_dtype dtype, tnr_value *out, tnb_err *err)
{
    uint64_t elems, bytes;
    TNB_TRY(measure(shape, ndim, dtype, &elems, &bytes, err));
    tnr_value s;
    TNB_TRY(tnr_storage_new_on(dev, q, bytes, NULL, &s, err));
    tnb_status st = tnr_tensor_view(s.u.storage, 0, shape, ndim, dtype, out, err);
    tnr_release(&s);
    return st;
}

tnb_status
tnr_tensor_from(tnr_device *dev, const void *data, const int64_t *shape, uint32_t ndim,
                tnb_dtype dtype, tnr_value *out, tnb_err *err)
{
    NEED(dev, err);
    NEED_N(shape, ndim, err);
    NEED(out, err);
    tnr_value v;
    uint64_t elems, bytes;
    TNB_TRY(measure(shape, ndim, dtype, &elems, &bytes, err));
    NEED_N(data, bytes, err);
    TNB_TRY(tnr_tensor_new(dev, shape, ndim, dtype, &v, err));
    tnb_status st = tnr_tensor_write(v.u.tensor, data, v.u.tensor->n_bytes, err);
    if (st != TNB_OK)
        tnr_release(&v);
    else
        *out = v;
    return st;
}

bool
tnr_tensor_is_compact(const tnr_tensor *t)
{
    if (!t || !t->dl.strides)
        return t != NULL;
    uint64_t expect = 1; /* may wrap where an extent is 0: then nothing is compared with it */
    for (int32_t i = t->dl.ndim - 1; i >= 0; i--) {
        if (t->dl.shape[i] != 1 && (uint64_t)t->dl.strides[i] != expect)
            return t->n_elems == 0;
        expect *= (uint64_t)t->dl.shape[i];
    }
    return true;
}

static tnb_status
need_compact(const tnr_tensor *t, tnb_err *err)
{
    if (tnr_tensor_is_compact(t))
        return TNB_OK;
    (void)tnb_fail(err, TNB_UNSUPPORTED, "the tensor's elements are not compact and row-major");
    tnb_hint(err, "make it contiguous first");
    return TNB_UNSUPPORTED;
}

tnb_status
tnr_tensor_reshape(const tnr_tensor *t, const int64_t *shape, uint32_t ndim, tnr_value *out,
                   tnb_err *err)
{
    NEED(t, err);
    NEED_N(shape, ndim, err);
    NEED(out, err);
    uint64_t elems, bytes;
    TNB_TRY(measure(shape, ndim, t->dl.dtype, &elems, &bytes, err));
    if (elems != t->n_elems) {
        char from[128], to[128];
        tnr_value v;
        tnr_describe((tnr_value){.tag = TNR_TENSOR, .u.tensor = (tnr_tensor *)(uintptr_t)t}, from,
                     sizeof from);
        TNB_TRY(tnr_shape_new(shape, ndim, &v, err));
        tnr_describe(v, to, sizeof to);
        tnr_release(&v);
        return tnb_fail(err, TNB_SHAPE,
                        "%s cannot be reshaped to %s: %" PRIu64 " elements against %" PRIu64, from,
                        to, t->n_elems, elems);
    }
    TNB_TRY(need_compact(t, err));
    return tnr_tensor_view(t->storage, t->dl.byte_offset - t->storage->offset, shape, ndim,
                           t->dl.dtype, out, err);
}

void *
tnr_tensor_data(const tnr_tensor *t)
{
    return t && t->storage->device->driver->flags & TNR_DRIVER_HOST_MEMORY
               ? (char *)t->dl.data + t->dl.byte_offset
               : NULL;
}

tnb_status
tnr_check_copy(const tnr_tensor *t, uint64_t bytes, bool write, tnb_err *err)
{
    if (bytes != t->n_bytes)
        return tnb_fail(err, TNB_SHAPE,
                        write ? "the tensor holds %" PRIu64 " bytes, %" PRIu64 " were given"
                              : "the tensor holds %" PRIu64 " bytes, %" PRIu64 " were asked for",
                        t->n_bytes, bytes);
    TNB_TRY(need_compact(t, err));
    if (write && t->storage->flags & TNR_STORAGE_READ_ONLY)
        return tnb_fail(err, TNB_INVALID,
                        "the tensor is a constant of the artifact and cannot be written");
    return TNB_OK;
}

/* In the order of the storage's queue. */
static tnb_status
copy_in_order(const tnr_storage *s, const tnr_copy *c, tnb_err *err)
{
    if (!c->bytes)
        return TNB_OK;
    struct tnr_queue *q = tnr_storage_queue(s);
    bool waits = c->kind != TNR_COPY_ON_DEVICE;
    tnb_status st =
        q && q->capturing && waits
            ? tnr_capture_forbids("a copy with the host, which waits for the device,", err)
            : TNR_WAIT(s->device, q, err, copy, tnr_stream(q), c);
    tnr_queue_release(q);
    return st;
}

tnb_status
tnr_tensor_read(const tnr_tensor *t, void *host, uint64_t bytes, tnb_err *err)
{
    NEED(t, err);
    TNB_TRY(tnr_check_copy(t, bytes, false, err));
    NEED_N(host, bytes, err);
    tnr_copy c = {.kind = TNR_COPY_TO_HOST,
                  .dst = host,
                  .src = t->dl.data,
                  .src_offset = t->dl.byte_offset,
                  .bytes = bytes};
    return copy_in_order(t->storage, &c, err);
}

tnb_status
tnr_tensor_write(const tnr_tensor *t, const void *host, uint64_t bytes, tnb_err *err)
{
    NEED(t, err);
    TNB_TRY(tnr_check_copy(t, bytes, true, err));
    NEED_N(host, bytes, err);
    tnr_copy c = {.kind = TNR_COPY_TO_DEVICE,
                  .dst = t->dl.data,
                  .dst_offset = t->dl.byte_offset,
                  .src = host,
                  .bytes = bytes};
    return copy_in_order(t->storage, &c, err);
}

/* Between tensors of one device: in the order of `to`, behind what was done with `from` and before what will be. */
static tnb_status
copy_on_device(const tnr_tensor *from, const tnr_tensor *to, const tnr_copy *c, tnb_err *err)
{
    tnr_device *dev = to->storage->device;
    struct tnr_queue *source = tnr_storage_queue(from->storage),
                     *q = tnr_storage_queue(to->storage);
    tnb_status st = tnr_queue_wait(dev, q, source, err);
    if (st == TNB_OK && c->bytes)
        st = TNR_ASK(dev, err, copy, tnr_stream(q), c);
    if (st == TNB_OK)
        st = tnr_storage_follow(from->storage, q, err);
    tnr_queue_release(q);
    tnr_queue_release(source);
    return st;
}

/* Between two devices of a driver that can copy straight. */
static tnb_status
copy_to_peer(const tnr_tensor *from, const tnr_tensor *to, const tnr_copy *c, tnb_err *err)
{
    tnr_device *a = from->storage->device, *b = to->storage->device;
    struct tnr_queue *source = tnr_storage_queue(from->storage),
                     *q = tnr_storage_queue(to->storage);
    tnb_status st = TNB_OK;
    if ((source && source->capturing) || (q && q->capturing))
        st = tnr_capture_forbids("a copy between devices, which is waited for,", err);
    if (st == TNB_OK)
        st = TNR_WAIT(a, source, err, sync, tnr_stream(source));
    if (st == TNB_OK && c->bytes)
        st = TNR_ASK(b, err, peer_copy, tnr_stream(q), a->handle, c);
    if (st == TNB_OK)
        st = TNR_WAIT(b, q, err, sync, tnr_stream(q));
    tnr_queue_release(q);
    tnr_queue_release(source);
    return st;
}

static bool
are_peers(const tnr_device *a, const tnr_device *b)
{
    return a->driver->peer_copy && a->driver->peer_copy == b->driver->peer_copy &&
           b->driver->peer(b->handle, a->handle);
}

tnb_status
tnr_tensor_copy(const tnr_tensor *from, const tnr_tensor *to, tnb_err *err)
{
    NEED(from, err);
    NEED(to, err);
    if (!tnb_dtype_eq(from->dl.dtype, to->dl.dtype) || from->n_elems != to->n_elems)
        return tnb_fail(err, TNB_SHAPE,
                        "tensors to copy differ: %s, %" PRIu64 " elements against %s, %" PRIu64
                        " elements",
                        tnb_dtype_print(from->dl.dtype).s, from->n_elems,
                        tnb_dtype_print(to->dl.dtype).s, to->n_elems);
    tnr_device *a = from->storage->device, *b = to->storage->device;
    if (a->driver->flags & TNR_DRIVER_HOST_MEMORY) {
        TNB_TRY(need_compact(from, err));
        return tnr_tensor_write(to, (char *)from->dl.data + from->dl.byte_offset, from->n_bytes,
                                err);
    }
    if (b->driver->flags & TNR_DRIVER_HOST_MEMORY) {
        TNB_TRY(need_compact(to, err));
        if (to->storage->flags & TNR_STORAGE_READ_ONLY)
            return tnb_fail(err, TNB_INVALID,
                            "the tensor is a constant of the artifact and cannot be written");
        return tnr_tensor_read(from, (char *)to->dl.data + to->dl.byte_offset, to->n_bytes, err);
    }
    if (a == b || are_peers(a, b)) {
        TNB_TRY(need_compact(from, err));
        TNB_TRY(need_compact(to, err));
        tnr_copy c = {.kind = TNR_COPY_ON_DEVICE,
                      .dst = to->dl.data,
                      .dst_offset = to->dl.byte_offset,
                      .src = from->dl.data,
                      .src_offset = from->dl.byte_offset,
                      .bytes = from->n_bytes};
        return a == b ? copy_on_device(from, to, &c, err) : copy_to_peer(from, to, &c, err);
    }
    /* two devices whose memory the host does not see: by way of the host */
    void *bounce = malloc(from->n_bytes ? from->n_bytes : 1);
    if (!bounce)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to copy %" PRIu64 " bytes between devices",
                        from->n_bytes);
    tnb_status st = tnr_tensor_read(from, bounce, from->n_bytes, err);
    if (st == TNB_OK)
        st = tnr_tensor_write(to, bounce, to->n_bytes, err);
    free(bounce);
    return st;
}

tnb_status
tnr_tensor_to(tnr_tensor *t, tnr_device *dev, tnr_value *out, tnb_err *err)
{
    NEED(t, err);
    NEED(dev, err);
    NEED(out, err);
    return tnr_tensor_to_on(t, dev, NULL, out, err);
}

tnb_status
tnr_tensor_to_on(tnr_tensor *t, tnr_device *dev, struct tnr_queue *q, tnr_value *out, tnb_err *err)
{
    if (t->storage->device == dev ||
        (tnr_device_is_host(t->storage->device) && tnr_device_is_host(dev))) {
        *out = (tnr_value){.tag = TNR_TENSOR, .u.tensor = t};
        tnr_retain(*out);
        return TNB_OK;
    }
    tnr_value v;
    TNB_TRY(tnr_tensor_new_on(dev, q, t->dl.shape, (uint32_t)t->dl.ndim, t->dl.dtype, &v, err));
    tnb_status st = tnr_tensor_copy(t, v.u.tensor, err);
    if (st != TNB_OK)
        tnr_release(&v);
    else
        *out = v;
    return st;
}

/* ---- DLPack ---- */

static void
delete_export(tnr_dlmanaged *m)
{
    if (!m)
        return;
    tnr_tensor *t = m->manager_ctx;
    tnr_object_release(&t->object);
    free(m);
}

tnb_status
tnr_tensor_to_dlpack(tnr_tensor *t, tnr_dlmanaged **out, tnb_err *err)
{
    NEED(t, err);
    NEED(out, err);
    if (t->storage->device->has_streams) { /* whoever gets it knows nothing of the stream */
        struct tnr_queue *q = tnr_storage_queue(t->storage);
        tnb_status st = TNR_WAIT(t->storage->device, q, err, sync, tnr_stream(q));
        tnr_queue_release(q);
        TNB_TRY(st);
    }
    tnr_dlmanaged *m = malloc(sizeof *m);
    if (!m)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to export a tensor");
    *m = (tnr_dlmanaged){.dl = t->dl, .manager_ctx = t, .deleter = delete_export};
    tnr_object_retain(&t->object);
    *out = m;
    return TNB_OK;
}

static void
delete_import(void *p)
{
    tnr_dlmanaged *m = p;
    if (m->deleter)
        m->deleter(m);
}

/* Bytes from the first to past the last element, with strides. */
static tnb_status
strided_extent(const tnb_dltensor *dl, uint64_t *bytes, tnb_err *err)
{
    int64_t last = 0;
    for (int32_t i = 0; i < dl->ndim; i++) {
        int64_t step;
        if (dl->shape[i] == 0) {
            *bytes = 0;
            return TNB_OK;
        }
        if (dl->strides[i] < 0)
            return tnb_fail(err, TNB_UNSUPPORTED,
                            "a tensor with a negative stride cannot be imported");
        if (!tnb_mul_i64(dl->shape[i] - 1, dl->strides[i], &step) ||
            !tnb_add_i64(last, step, &last))
            return tnb_fail(err, TNB_BOUNDS, "the strides of a tensor overflow 64 bits");
    }
    return tnb_dtype_storage(dl->dtype, (uint64_t)last + 1, bytes, err);
}

tnb_status
tnr_tensor_from_dlpack(tnr_device *dev, tnr_dlmanaged *m, tnr_value *out, tnb_err *err)
{
    NEED(dev, err);
    NEED(m, err);
    NEED(out, err);
    const tnb_dltensor *dl = &m->dl;
    uint64_t elems, bytes, extent;
    if (dl->device.type != dev->dl.type || dl->device.id != dev->dl.id)
        return tnb_fail(err, TNB_INVALID, "the tensor lies on device (%d, %d), not on %s %d",
                        dl->device.type, dl->device.id, dev->driver->base.name, dev->dl.id);
    if (dl->ndim < 0 || (dl->ndim && !dl->shape))
        return tnb_fail(err, TNB_INVALID, "the tensor's description is broken");
    uint32_t ndim = (uint32_t)dl->ndim;
    TNB_TRY(measure(dl->shape, ndim, dl->dtype, &elems, &bytes, err));
    extent = bytes;
    if (dl->strides)
        TNB_TRY(strided_extent(dl, &extent, err));
    if (extent && !dl->data)
        return tnb_fail(err, TNB_INVALID, "the tensor has no data");
    TNB_TRY(check_range(dev, dl->data, dl->byte_offset, extent, err));
    tnr_tensor *t = malloc(sizeof *t + 2 * ndim * sizeof *dl->shape);
    tnr_value s;
    tnb_status st = t ? tnr_storage_wrap(dev, dl->data, 0, 0, m, NULL, &s, err)
                      : tnb_fail(err, TNB_NO_MEMORY, "no memory to import a tensor");
    if (st != TNB_OK) {
        free(t);
        return st;
    }
    s.u.storage->offset = dl->byte_offset;
    s.u.storage->size = extent;
    s.u.storage->release = delete_import;
    memset(t, 0, sizeof *t);
    t->object = (tnr_object){.refs = 1, .destroy = free_tensor};
    if (ndim)
        memcpy(t->dims, dl->shape, ndim * sizeof *t->dims);
    t->dl = *dl;
    t->dl.shape = t->dims;
    t->n_elems = elems;
    t->n_bytes = bytes;
    t->storage = s.u.storage; /* takes the reference over */
    if (dl->strides && ndim) {
        memcpy(t->dims + ndim, dl->strides, ndim * sizeof *t->dims);
        t->dl.strides = t->dims + ndim;
        if (tnr_tensor_is_compact(t))
            t->dl.strides = NULL;
    } else {
        t->dl.strides = NULL;
    }
    *out = (tnr_value){.tag = TNR_TENSOR, .u.tensor = t};
    return TNB_OK;
}
