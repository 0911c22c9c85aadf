/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: launches. What can be known to be wrong is refused with the kernel's name and the limit, before
 * the driver is asked.
 */
#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static tnb_status
check_params(const struct cuda_function *f, const tnr_launch *l, tnb_err *err)
{
    const struct cuda_entry *e = &f->entry;
    for (uint32_t i = 0; i < l->n_params; i++)
        if (l->params[i].kind == TNB_PARAM_TENSOR_MAP || l->params[i].kind == TNB_PARAM_IMAGE ||
            l->params[i].kind >= TNB_PARAM_END)
            return tnr_refuse_param(l, i, err);
    if (l->n_params != e->head.n_params)
        return tnb_fail(err, TNB_INVALID, "kernel '%s' takes %" PRIu32 " parameters, not %" PRIu32,
                        e->name, e->head.n_params, l->n_params);
    for (uint32_t i = 0; i < l->n_params; i++) {
        uint32_t kind = cuda_entry_param(e, i) & 0xff;
        if (l->params[i].kind != kind)
            return tnb_fail(err, TNB_INVALID,
                            "kernel '%s': parameter %" PRIu32 " is of kind %d, it takes kind "
                            "%" PRIu32,
                            e->name, i, l->params[i].kind, kind);
    }
    return TNB_OK;
}

static tnb_status
check_shape(const struct cuda_device *d, const struct cuda_function *f, const tnr_launch *l,
            tnb_err *err)
{
    static const char axis[] = "xyz";
    const struct cuda_info *i = &d->info;
    const char *name = f->entry.name;
    uint64_t threads = 1, most = (uint64_t)f->threads;
    if (l->flags & TNR_LAUNCH_COOPERATIVE && !i->cooperative)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "kernel '%s': all its blocks run at the same time, which device '%s' does "
                        "not offer",
                        name, i->name);
    for (int k = 0; k < 3; k++) {
        if (l->grid[k] > (uint64_t)i->grid[k])
            return tnb_fail(err, TNB_UNSUPPORTED,
                            "kernel '%s': a grid of %" PRIu64 "x%" PRIu64 "x%" PRIu64
                            " blocks; device '%s' has at most %d in %c",
                            name, l->grid[0], l->grid[1], l->grid[2], i->name, i->grid[k], axis[k]);
        if (l->block[k] > (uint64_t)i->block[k])
            return tnb_fail(err, TNB_UNSUPPORTED,
                            "kernel '%s': blocks of %" PRIu64 "x%" PRIu64 "x%" PRIu64
                            " threads; device '%s' has at most %d in %c",
                            name, l->block[0], l->block[1], l->block[2], i->name, i->block[k],
                            axis[k]);
        threads *= l->block[k]; /* no more than 2^30 */
    }
    if (threads > most) {
        (void)tnb_fail(err, TNB_UNSUPPORTED,
                       "kernel '%s': blocks of %" PRIu64 " threads; with its registers and shared "
                       "memory device '%s' runs at most %" PRIu64,
                       name, threads, i->name, most);
        tnb_hint(err, "compile with --set target.cuda.max_threads_per_block=%" PRIu64, most);
        return TNB_UNSUPPORTED;
    }
    if (f->entry.head.threads && threads != f->entry.head.threads)
        return tnb_fail(err, TNB_INVALID,
                        "kernel '%s': blocks of %" PRIu64 " threads, it was compiled for %" PRIu32,
                        name, threads, f->entry.head.threads);
    uint64_t room = (uint64_t)i->shared_most - (uint64_t)f->shared;
    if (f->shared > i->shared_most || l->shared_bytes > room) {
        (void)tnb_fail(err, TNB_UNSUPPORTED,
                       "kernel '%s': %d bytes of shared memory and %" PRIu64
                       " of the launch; a block on device '%s' has at most %d",
                       name, f->shared, l->shared_bytes, i->name, i->shared_most);
        tnb_hint(err, "compile with --set target.cuda.max_dynamic_shared_memory_per_block=%d",
                 i->shared_most);
        return TNB_UNSUPPORTED;
    }
    return TNB_OK;
}

/* More than the usual shared memory has to be allowed first. */
static tnb_status
allow_shared(struct cuda_device *d, struct cuda_function *f, uint64_t bytes, tnb_err *err)
{
    if ((uint64_t)f->shared + bytes <= (uint64_t)d->info.shared ||
        bytes <= (uint64_t)atomic_load(&f->dynamic))
        return TNB_OK;
    CUresult r =
        d->api->FuncSetAttribute(atomic_load(&f->handle),
                                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
    if (r != CUDA_SUCCESS)
        return cuda_fail(d, d->api, r, "cuFuncSetAttribute", err,
                         "kernel '%s': %" PRIu64 " bytes of shared memory", f->entry.name, bytes);
    atomic_store(&f->dynamic, (int)bytes);
    return TNB_OK;
}

/* A scalar as wide as the kernel takes it; floats of at most 32 bits as float32. */
static void
put_scalar(const tnr_param *p, uint32_t bytes, uint64_t *out)
{
    if (p->kind == TNB_PARAM_SCALAR && tnb_dtype_is_float(p->dtype) && bytes == 4) {
        float f = (float)p->u.scalar.f;
        memcpy(out, &f, sizeof f);
        return;
    }
    memcpy(out, &p->u.scalar, sizeof *out); /* little-endian: a prefix is the narrower number */
}

static unsigned
attributes(const tnr_launch *l, CUlaunchAttribute out[3])
{
    unsigned n = 0;
    if (l->flags & TNR_LAUNCH_CLUSTER) {
        out[n] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
        out[n].value.cluster.x = l->cluster[0];
        out[n].value.cluster.y = l->cluster[1];
        out[n++].value.cluster.z = l->cluster[2];
    }
    if (l->flags & TNR_LAUNCH_COOPERATIVE) {
        out[n] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
        out[n++].value.flag = 1;
    }
    if (l->flags & TNR_LAUNCH_PROGRAMMATIC) {
        out[n] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
        out[n++].value.flag = 1;
    }
    return n;
}

static tnb_status
failed(struct cuda_device *d, const struct cuda_function *f, const tnr_launch *l, CUresult r,
       const char *call, tnb_err *err)
{
    return cuda_fail(d, d->api, r, call, err,
                     "kernel '%s' of %" PRIu64 "x%" PRIu64 "x%" PRIu64 " blocks of %" PRIu64
                     "x%" PRIu64 "x%" PRIu64 " threads",
                     f->entry.name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                     l->block[2]);
}

static tnb_status
enqueue(struct cuda_device *d, struct cuda_stream *s, struct cuda_function *f, const tnr_launch *l,
        tnb_err *err)
{
    CUlaunchAttribute attrs[3];
    uint64_t values[CUDA_MAX_PARAMS];
    void *params[CUDA_MAX_PARAMS];
    for (uint32_t i = 0; i < l->n_params; i++) {
        const tnr_param *p = &l->params[i];
        params[i] = &values[i];
        if (tnb_param_is_memory(p->kind) || p->kind == TNB_PARAM_REFUSED)
            values[i] = (uint64_t)(uintptr_t)p->u.memory.mem + p->u.memory.offset;
        else
            put_scalar(p, cuda_entry_param(&f->entry, i) >> 16, &values[i]);
    }
    CUlaunchConfig config = {.shared_bytes = (unsigned)l->shared_bytes,
                             .stream = s->handle,
                             .attrs = attrs,
                             .n_attrs = attributes(l, attrs)};
    for (int k = 0; k < 3; k++) {
        config.grid[k] = (unsigned)l->grid[k];
        config.block[k] = (unsigned)l->block[k];
    }
    cuda_note_launch(d, f->entry.name);
    CUresult r = d->api->LaunchKernelEx(&config, atomic_load(&f->handle), params, NULL);
    if (r != CUDA_SUCCESS)
        return failed(d, f, l, r, "cuLaunchKernelEx", err);
    atomic_fetch_add(&d->launches, 1);
    if (!d->check_launches || atomic_load(&s->capturing))
        return TNB_OK;
    r = d->api->StreamSynchronize(s->handle);
    return r == CUDA_SUCCESS ? TNB_OK : failed(d, f, l, r, "cuStreamSynchronize", err);
}

tnb_status
cuda_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_function *f = kernel;
    tnr_launch own = *l;
    if (!(l->flags & TNR_LAUNCH_GRID)) { /* one thread does it all */
        for (int i = 0; i < 3; i++)
            own.grid[i] = own.block[i] = 1;
        own.shared_bytes = 0;
    }
    for (int i = 0; i < 3; i++)
        if (own.grid[i] == 0 || own.block[i] == 0)
            return TNB_OK;
    TNB_TRY(check_params(f, &own, err));
    TNB_TRY(check_shape(d, f, &own, err));
    TNB_TRY(cuda_enter(d, err));
    tnb_status st = allow_shared(d, f, own.shared_bytes, err);
    if (st == TNB_OK)
        st = enqueue(d, cuda_stream_of(d, stream), f, &own, err);
    cuda_leave(d);
    return st;
}
