/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: launches.
 *
 * Arguments in order: a pointer for each buffer and image, its byte offset (ulong) for each of them, the other parameters,
 * and one pointer to local memory where the kernel takes an argument more than these.
 */
#include "device.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

enum { FLUSH_EVERY = 16 }; /* launches after which the device is told to begin */

/* ---- kernels for a launch ---- */

static cl_int
take(struct opencl_kernel *k, cl_kernel *out)
{
    cl_int e = CL_SUCCESS;
    pthread_mutex_lock(&k->lock);
    *out = k->n_idle ? k->idle[--k->n_idle] : NULL;
    pthread_mutex_unlock(&k->lock);
    if (!*out)
        *out = clCreateKernel(k->module->program, k->name, &e);
    return e;
}

static void
give(struct opencl_kernel *k, cl_kernel c)
{
    pthread_mutex_lock(&k->lock);
    bool room = k->n_idle < OPENCL_KERNELS;
    if (room)
        k->idle[k->n_idle++] = c;
    pthread_mutex_unlock(&k->lock);
    if (!room)
        (void)clReleaseKernel(c);
}

/* ---- checks ---- */

static tnb_status
too_large(const struct opencl_device *d, const struct opencl_kernel *k, const tnr_launch *l,
          size_t limit, const char *whose, tnb_err *err)
{
    (void)tnb_fail(err, TNB_INVALID,
                   "kernel '%s': a group of %" PRIu64 "x%" PRIu64 "x%" PRIu64
                   " work items; %s has at most %zu (%zu, %zu, %zu by dimension) on device '%s'",
                   k->name, l->block[0], l->block[1], l->block[2], whose, limit, d->info.items[0],
                   d->info.items[1], d->info.items[2], d->info.name);
    tnb_hint(err,
             "compile with --set target.NAME.max_threads_per_block=%zu and max_num_threads "
             "alike",
             limit);
    return TNB_INVALID;
}

static tnb_status
check_group(const struct opencl_device *d, const struct opencl_kernel *k, const tnr_launch *l,
            tnb_err *err)
{
    uint64_t items = 1;
    for (int i = 0; i < 3; i++) {
        if (l->block[i] > d->info.items[i] || l->block[i] > SIZE_MAX / items)
            return too_large(d, k, l, d->info.group, "a group", err);
        items *= l->block[i];
        if (l->grid[i] > SIZE_MAX / l->block[i])
            return tnb_fail(err, TNB_BOUNDS,
                            "kernel '%s': %" PRIu64 " groups of %" PRIu64
                            " work items are too many in dimension %d",
                            k->name, l->grid[i], l->block[i], i);
    }
    if (items > k->group)
        return too_large(d, k, l, k->group, "the kernel", err);
    if (k->required[0] && (k->required[0] != l->block[0] || k->required[1] != l->block[1] ||
                           k->required[2] != l->block[2]))
        return tnb_fail(err, TNB_INVALID,
                        "kernel '%s': a group of %" PRIu64 "x%" PRIu64 "x%" PRIu64
                        " work items, it was compiled for %zux%zux%zu",
                        k->name, l->block[0], l->block[1], l->block[2], k->required[0],
                        k->required[1], k->required[2]);
    if (l->shared_bytes > d->info.local || k->local > d->info.local - l->shared_bytes) {
        (void)tnb_fail(err, TNB_INVALID,
                       "kernel '%s' needs %" PRIu64 " bytes of local memory and %" PRIu64
                       " for this launch; device '%s' has %" PRIu64,
                       k->name, (uint64_t)k->local, l->shared_bytes, d->info.name,
                       (uint64_t)d->info.local);
        tnb_hint(err, "compile with --set target.NAME.max_shared_memory_per_block=%" PRIu64,
                 (uint64_t)d->info.local);
        return TNB_INVALID;
    }
    return TNB_OK;
}

static tnb_status
check_args(const struct opencl_kernel *k, const tnr_launch *l, tnb_err *err)
{
    uint64_t memory = 0, n = l->n_params;
    for (uint32_t i = 0; i < l->n_params; i++) {
        if (l->params[i].kind == TNB_PARAM_TENSOR_MAP || l->params[i].kind >= TNB_PARAM_END)
            return tnr_refuse_param(l, i, err);
        memory += (uint64_t)tnb_param_is_memory(l->params[i].kind);
    }
    n += memory;
    if (k->n_args == n ? l->shared_bytes == 0 : k->n_args == n + 1)
        return TNB_OK;
    return tnb_fail(err, TNB_INVALID,
                    "kernel '%s' takes %u arguments; %" PRIu64 " buffers with their offsets and "
                    "%" PRIu64 " other parameters are %" PRIu64 "%s",
                    k->name, (unsigned)k->n_args, memory, l->n_params - memory, n,
                    l->shared_bytes ? ", and local memory is one more" : "");
}

/* ---- arguments ---- */

/* Scalars travel as 64 bits; a kernel takes them as wide as their dtype, halves as float. */
static size_t
narrow(tnb_dtype d, tnr_scalar s, unsigned char out[8])
{
    if (tnb_dtype_is_float(d)) {
        float f = (float)s.f;
        if (d.bits == 64)
            return memcpy(out, &s.f, sizeof s.f), sizeof s.f;
        return memcpy(out, &f, sizeof f), sizeof f;
    }
    int8_t b = (int8_t)s.i;
    int16_t h = (int16_t)s.i;
    int32_t w = (int32_t)s.i;
    if (d.bits <= 8)
        return memcpy(out, &b, sizeof b), sizeof b;
    if (d.bits <= 16)
        return memcpy(out, &h, sizeof h), sizeof h;
    if (d.bits <= 32)
        return memcpy(out, &w, sizeof w), sizeof w;
    return memcpy(out, &s.i, sizeof s.i), sizeof s.i;
}

static tnb_status
set_args(struct opencl_device *d, const struct opencl_kernel *k, cl_kernel c, const tnr_launch *l,
         tnb_err *err)
{
    cl_uint at = 0;
    cl_int e = CL_SUCCESS;
    for (uint32_t i = 0; i < l->n_params && e == CL_SUCCESS; i++) {
        cl_mem m = l->params[i].u.memory.mem;
        if (tnb_param_is_memory(l->params[i].kind))
            e = clSetKernelArg(c, at++, sizeof m, &m);
    }
    for (uint32_t i = 0; i < l->n_params && e == CL_SUCCESS; i++) {
        cl_ulong offset = l->params[i].u.memory.offset;
        if (tnb_param_is_memory(l->params[i].kind))
            e = clSetKernelArg(c, at++, sizeof offset, &offset);
    }
    for (uint32_t i = 0; i < l->n_params && e == CL_SUCCESS; i++) {
        const tnr_param *p = &l->params[i];
        unsigned char bytes[8];
        if (p->kind == TNB_PARAM_REFUSED) {
            cl_mem m = p->u.memory.mem;
            e = clSetKernelArg(c, at++, sizeof m, &m);
        } else if (!tnb_param_is_memory(p->kind)) {
            tnb_dtype tag = {TNB_UINT, 32, 1};
            size_t n = narrow(p->kind == TNB_PARAM_TAG ? tag : p->dtype, p->u.scalar, bytes);
            e = clSetKernelArg(c, at++, n, bytes);
        }
    }
    if (e == CL_SUCCESS && at < k->n_args)
        e = clSetKernelArg(c, at++, l->shared_bytes ? (size_t)l->shared_bytes : 1, NULL);
    return e == CL_SUCCESS
               ? TNB_OK
               : opencl_fail(d, e, err, "kernel '%s', argument %u", k->name, (unsigned)at - 1);
}

/* ---- launching ---- */

static tnb_status
enqueue(struct opencl_device *d, cl_command_queue q, const struct opencl_kernel *k, cl_kernel c,
        const tnr_launch *l, tnb_err *err)
{
    size_t local[3], global[3];
    for (int i = 0; i < 3; i++) {
        local[i] = (size_t)l->block[i];
        global[i] = (size_t)(l->grid[i] * l->block[i]);
    }
    cl_int e = clEnqueueNDRangeKernel(q, c, 3, NULL, global, local, 0, NULL, NULL);
    if (e == CL_SUCCESS && atomic_fetch_add(&d->launches, 1) % FLUSH_EVERY == FLUSH_EVERY - 1)
        e = clFlush(q);
    return e == CL_SUCCESS ? TNB_OK
                           : opencl_fail(d, e, err,
                                         "launching kernel '%s' in %" PRIu64 "x%" PRIu64 "x%" PRIu64
                                         " groups of %zux%zux%zu",
                                         k->name, l->grid[0], l->grid[1], l->grid[2], local[0],
                                         local[1], local[2]);
}

tnb_status
opencl_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    struct opencl_device *d = dev;
    struct opencl_kernel *k = kernel;
    tnr_launch launch = *l;
    cl_kernel c;
    if (!(l->flags & TNR_LAUNCH_GRID)) { /* one work item does it all */
        for (int i = 0; i < 3; i++)
            launch.grid[i] = launch.block[i] = 1;
        launch.shared_bytes = 0;
    }
    for (int i = 0; i < 3; i++)
        if (launch.grid[i] == 0 || launch.block[i] == 0)
            return TNB_OK;
    TNB_TRY(opencl_alive(d, err));
    TNB_TRY(check_args(k, &launch, err));
    TNB_TRY(check_group(d, k, &launch, err));
    cl_int e = take(k, &c);
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "kernel '%s'", k->name);
    tnb_status st = set_args(d, k, c, &launch, err);
    if (st == TNB_OK)
        st = enqueue(d, opencl_queue(d, stream), k, c, &launch, err);
    give(k, c);
    return st;
}
