/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and the storage they lie in. The description is DLPack's; byte offsets are honoured
 * everywhere. */
#ifndef TENON_RT_TENSOR_H
#define TENON_RT_TENSOR_H

#include <stdbool.h>
#include "tenon/rt/device.h"
#include "tenon/rt/value.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* flexible array members, an extension in C++ */
extern "C" {
#endif

/* A run of device memory. */
struct tnr_storage {
    tnr_object object;
    tnr_device *device; /* counted */
    void *mem;         /* the driver's handle; an address where the driver's memory is the host's */
    uint64_t offset;   /* where the storage begins in mem */
    uint64_t size;     /* bytes that may be used */
    uint64_t capacity; /* bytes to give back to the pool; 0: not from the pool */
    uint32_t flags;    /* TNR_STORAGE_* */
    const char *scope;
    void *owner; /* of memory from elsewhere, with its release function */
    void (*release)(void *owner);
    struct tnr_queue
        *queue; /* the runtime's: in whose order it is used; NULL: of the device's own stream */
};
enum { TNR_STORAGE_READ_ONLY = 1 /* constants: a kernel that writes it is refused */ };

struct tnr_tensor {
    tnr_object object;
    tnb_dltensor
        dl; /* shape and strides point into this object; strides NULL: compact, row-major */
    tnr_storage *storage;      /* counted */
    uint64_t n_elems, n_bytes; /* of the elements, compact */
    int64_t dims[];            /* ndim extents, then strides if any */
};

/* Storage of at least `bytes` from the device's pool, not initialised; the caller's, to be given back
 * with tnr_release. scope NULL: "global". TNB_NO_MEMORY: too large, or beyond the runtime's memory_limit;
 * TNB_UNSUPPORTED: the device has no such scope. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_storage_new(tnr_device *dev, uint64_t bytes, const char *scope, tnr_value *out, tnb_err *err);
/* Storage over memory of others, which never goes to the device's pool; `release(owner)` is called
 * when it is no longer used (not when this fails). release NULL: the memory is borrowed, and stays
 * until everything that uses the storage is gone. `mem` is the driver's handle, NULL only for 0 bytes.
 * Kernels on the host copy buffers that do not begin at a multiple of 64. TNB_INVALID: an unknown flag;
 * TNB_BOUNDS: the bytes go beyond the address space. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_storage_wrap(tnr_device *dev, void *mem, uint64_t bytes, uint32_t flags, void *owner,
                 void (*release)(void *), tnr_value *out, tnb_err *err);
/* A compact, row-major view of the storage from `offset` bytes on; it has to fit (TNB_BOUNDS). shape: ndim
 * extents >= 0, copied (TNB_SHAPE: a negative one, or more than 64); ndim 0: a scalar. TNB_TYPE: the
 * void dtype, one that there is not (tnb_dtype_exists); TNB_BOUNDS: the elements do not fit the address space. Retains
 * the storage; `out` is the caller's. So are shape, dtype and errors of the functions below. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_view(tnr_storage *s, uint64_t offset, const int64_t *shape, uint32_t ndim,
                tnb_dtype dtype, tnr_value *out, tnb_err *err);
/* Storage of its own, not initialised. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_new(tnr_device *dev, const int64_t *shape, uint32_t ndim, tnb_dtype dtype,
               tnr_value *out, tnb_err *err);
/* A tensor on the device with the host's dense, row-major elements copied into it: as many bytes as
 * shape and dtype say (tnb_shape_bytes). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_from(tnr_device *dev, const void *data, const int64_t *shape, uint32_t ndim,
                tnb_dtype dtype, tnr_value *out, tnb_err *err);
/* The same elements under another shape of as many elements (else TNB_SHAPE); shares the storage.
 * TNB_UNSUPPORTED: the tensor is not compact. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_reshape(const tnr_tensor *t, const int64_t *shape, uint32_t ndim, tnr_value *out,
                   tnb_err *err);
/* Copies between tensors of equal dtype and element count (else TNB_SHAPE), on any two devices. Both
 * compact (else TNB_UNSUPPORTED); `to` is no constant of an artifact (TNB_INVALID). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_copy(const tnr_tensor *from, const tnr_tensor *to, tnb_err *err);
/* The same with memory of the host, without waiting for the device where its driver has such copies (tnr_driver.copy_start; others
 * are done when this returns): `host` stays, and is not changed or looked at, until the copy is done. The tensor may be released. *out
 * is the caller's, to be given to tnr_pending_free. Errors as of tnr_tensor_read. */
typedef struct tnr_pending tnr_pending;
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_read_start(const tnr_tensor *t, void *host, uint64_t bytes, tnr_pending **out,
                      tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_write_start(const tnr_tensor *t, const void *host, uint64_t bytes, tnr_pending **out,
                       tnb_err *err);
/* Whether it is done, without waiting; waiting for it. TNB_DEVICE: the device failed. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_pending_done(tnr_pending *p, bool *done, tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_pending_wait(tnr_pending *p, tnb_err *err);
/* Waits first. NULL is fine. */
TNB_EXPORT void
tnr_pending_free(tnr_pending *p);
/* All elements, dense and row-major, to or from host memory of exactly `bytes` bytes, those of the tensor
 * (else TNB_SHAPE); waits for the device. Errors as of tnr_tensor_copy. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_read(const tnr_tensor *t, void *host, uint64_t bytes, tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_write(const tnr_tensor *t, const void *host, uint64_t bytes, tnb_err *err);
/* The tensor on another device: itself (retained) where it is there already, or where both devices
 * use the host's memory. `out` is the caller's. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_to(tnr_tensor *t, tnr_device *dev, tnr_value *out, tnb_err *err);
/* Address of the first element in host memory; NULL when the tensor is not there. */
TNB_EXPORT void *
tnr_tensor_data(const tnr_tensor *t);
/* Whether the elements lie one after another, the last dimension's first. */
TNB_EXPORT bool
tnr_tensor_is_compact(const tnr_tensor *t);

/* DLPack 0.x's DLManagedTensor. */
typedef struct tnr_dlmanaged {
    tnb_dltensor dl;
    void *manager_ctx;
    void (*deleter)(struct tnr_dlmanaged *self);
} tnr_dlmanaged;
/* Without copying. Export waits for what the device does with the tensor; what is exported keeps the tensor alive until its
 * deleter is called. Import takes the
 * managed tensor over (its deleter runs with the last reference) only when it succeeds. It has to lie on
 * `dev` (else TNB_INVALID), its data may be NULL only without elements; negative strides are
 * TNB_UNSUPPORTED; an offset or strides beyond the address space TNB_BOUNDS; a shape or dtype as of
 * tnr_tensor_view. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_to_dlpack(tnr_tensor *t, tnr_dlmanaged **out, tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_tensor_from_dlpack(tnr_device *dev, tnr_dlmanaged *m, tnr_value *out, tnb_err *err);

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
#endif
