/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: where the tensors of a CLML function lie.
 *
 * Tensors share memory when none is needed while the other is. Those that only operations of one
 * recording see go into memory on the chip, where the device has it and it has room: each gets the
 * smallest gap between those that live at the same time. Their content ends with the recording.
 */
#include "clml_rt.h"

#include <dlfcn.h>
#include <stdlib.h>
#include "tenon/base/log.h"
#if __has_include("CL/cl_ext_qcom.h")
#include "CL/cl_ext_qcom.h"
#endif

/* ---- on the chip ---- */
/* The names of its properties are macros of the SDK's headers; without them nothing goes there. */
#ifdef CL_MEM_ONCHIP_GLOBAL_QCOM

typedef cl_ulong property;
typedef cl_mem(CL_API_CALL *create_fn)(cl_context context, const property *props,
                                       cl_mem_flags flags, size_t bytes, void *host, cl_int *err);

struct place {
    size_t offset, bytes;
    int first, last; /* operations between which it is taken */
};

static size_t
chip_bytes(const struct opencl_device *d)
{
    size_t n = 0;
    if (!d->clml_onchip || !opencl_has_extension(&d->info, ONCHIP_EXTENSION) ||
        clGetDeviceInfo(d->id, CL_DEVICE_ONCHIP_GLOBAL_MEM_SIZE_QCOM, sizeof n, &n, NULL) !=
            CL_SUCCESS)
        return 0;
    return n;
}

/* The end of the places of [first, last] that reach over `at`; `at` when none does. *next: where the
 * first one behind it begins. */
static size_t
end_of_taken(const struct place *p, uint32_t n, const struct place *want, size_t at, size_t *next)
{
    size_t end = at;
    for (uint32_t i = 0; i < n; i++) {
        if (p[i].last < want->first || p[i].first > want->last)
            continue;
        if (p[i].offset <= at && p[i].offset + p[i].bytes > end)
            end = p[i].offset + p[i].bytes;
        if (p[i].offset > at && p[i].offset < *next)
            *next = p[i].offset;
    }
    return end;
}

/* The smallest gap of `total` bytes that has room; false: none has. */
static bool
find_gap(const struct place *p, uint32_t n, struct place *want, size_t total)
{
    size_t best = SIZE_MAX, at = 0;
    while (at < total) {
        size_t next = total, end = end_of_taken(p, n, want, at, &next);
        if (end > at) {
            at = end;
            continue;
        }
        if (next - at >= want->bytes && next - at < best) {
            best = next - at;
            want->offset = at;
        }
        at = next;
    }
    return best != SIZE_MAX;
}

static cl_mem
chip_memory(struct opencl_device *d, const struct place *p)
{
    union {
        void *symbol;
        create_fn call;
    } create = {dlsym(RTLD_DEFAULT, "clCreateBufferWithProperties")}; /* of OpenCL 3.0 */
    const property props[] = {CL_MEM_ONCHIP_GLOBAL_QCOM, 1, CL_MEM_ONCHIP_GLOBAL_OFFSET_QCOM,
                              p->offset, 0};
    cl_int e = CL_INVALID_OPERATION;
    cl_mem mem = create.symbol
                     ? create.call(d->context, props, CL_MEM_READ_WRITE, p->bytes, NULL, &e)
                     : NULL;
    if (e == CL_SUCCESS)
        return mem;
    char number[16];
    tnb_log(TNB_LOG_WARN,
            "clml: %zu bytes on the chip are not to be had (%s); they are taken from "
            "global memory",
            p->bytes, opencl_error_name(e, number));
    return NULL;
}

/* Puts the tensor on the chip if there is room. */
static void
put_on_chip(struct module *m, struct tensor *t, size_t bytes, struct place *places, uint32_t *n)
{
    cl_uint bits = 0;
    struct place p = {0, bytes, t->first, t->last};
    (void)clGetDeviceInfo(m->device->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    size_t align = bits >= 8 ? bits / 8 : 1;
    p.bytes = (bytes + align - 1) / align * align;
    if (!m->records || t->first < 0 || t->last == INT32_MAX ||
        !find_gap(places, *n, &p, chip_bytes(m->device)))
        return;
    cl_mem mem = chip_memory(m->device, &p);
    if (!mem)
        return;
    places[(*n)++] = p;
    m->on_chip += bytes;
    t->memory = (int)m->n_memory;
    m->memory[m->n_memory++] = (struct memory){mem, bytes, INT32_MAX, true};
}

#else

struct place {
    size_t offset;
};

static void
put_on_chip(struct module *m, struct tensor *t, size_t bytes, struct place *places, uint32_t *n)
{
    (void)m, (void)t, (void)bytes, (void)places, (void)n;
}

#endif

/* ---- all ---- */

static tnb_status
own_memory(struct module *m, size_t bytes, int first, int last, int *out, tnb_err *err)
{
    int best = -1;
    for (uint32_t i = 0; i < m->n_memory; i++)
        if (m->memory[i].busy_until < first && m->memory[i].bytes >= bytes &&
            (best < 0 || m->memory[i].bytes < m->memory[best].bytes))
            best = (int)i;
    if (best < 0) {
        void *mem;
        TNB_TRY(opencl_alloc(m->device, bytes, "global", &mem, err));
        best = (int)m->n_memory++;
        m->memory[best] = (struct memory){mem, bytes, last, false};
    }
    m->memory[best].busy_until = last;
    *out = best;
    return TNB_OK;
}

static tnb_status
place_tensor(struct module *m, struct tensor *t, struct place *places, uint32_t *n, tnb_err *err)
{
    cl_uint bytes = 0;
    cl_int e = m->api.clGetMLTensorMemorySizeQCOM(m->device->context, t->handle, &bytes);
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "asking for a tensor's size");
    put_on_chip(m, t, bytes, places, n);
    return t->memory >= 0 ? TNB_OK : own_memory(m, bytes, t->first, t->last, &t->memory, err);
}

/* What is copied before the first operation is busy from then on, constants always. */
tnb_status
opencl_clml_plan_memory(struct module *m, tnb_err *err)
{
    struct place *places = calloc(m->n_tensors + 1, sizeof *places);
    uint32_t n = 0;
    tnb_status st = TNB_OK;
    m->memory = calloc(m->n_tensors + 1, sizeof *m->memory);
    if (!m->memory || !places) {
        free(places);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a plan of memory");
    }
    for (uint32_t i = 0; i < m->n_before; i++) {
        struct tensor *to = &m->tensors[m->before[i].to];
        to->first = -1;
        if (m->tensors[m->before[i].from].constant)
            to->last = INT32_MAX;
    }
    for (uint32_t i = 0; i < m->n_after; i++)
        m->tensors[m->after[i].from].last = INT32_MAX;
    for (int at = -1; at < (int)m->n_ops; at++)
        for (uint32_t i = 0; i < m->n_tensors && st == TNB_OK; i++)
            if (m->tensors[i].first == at && m->tensors[i].arg < 0)
                st = place_tensor(m, &m->tensors[i], places, &n, err);
    free(places);
    return st;
}

void
opencl_clml_free_memory(struct module *m)
{
    for (uint32_t i = 0; i < m->n_memory; i++)
        if (m->memory[i].chip)
            (void)clReleaseMemObject(m->memory[i].mem);
        else
            opencl_free(m->device, m->memory[i].mem);
    free(m->memory);
}

tnb_status
opencl_clml_update_set(struct module *m, bool arguments, tnb_err *err)
{
    cl_ml_tensor_memory_desc_qcom *all = calloc(m->n_tensors + 1, sizeof *all);
    cl_uint n = 0;
    if (!all)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a descriptor set");
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        const struct tensor *t = &m->tensors[i];
        if (t->used && (t->arg >= 0) == arguments)
            all[n++] =
                (cl_ml_tensor_memory_desc_qcom){t->handle, arguments ? m->args[t->arg]
                                                                     : m->memory[t->memory].mem};
    }
    cl_int e = n ? m->api.clUpdateMLTensorMemoryDescriptorSetQCOM(m->set, n, all) : CL_SUCCESS;
    free(all);
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(m->device, e, err, "filling a descriptor set");
}
