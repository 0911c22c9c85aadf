/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, their memory, descriptor sets and copies of the stand-in. */
#include <stdlib.h>
#include <string.h>

#include "tables.h"

enum { OPAQUE_START = 64 };

static size_t
element(cl_channel_type dtype)
{
    return dtype == CL_HALF_FLOAT ? 2 : 4;
}

size_t
sc_tensor_bytes(const struct clml_tensor *t)
{
    size_t place = (size_t)t->n * t->h * t->w;
    if (t->layout != CL_TENSOR_LAYOUT_OPTIMAL_QCOM)
        return place * t->c * element(t->dtype);
    return OPAQUE_START + place * ((t->c + 3) / 4 * 4) * element(t->dtype);
}

void
sc_tensor_words(const struct clml_tensor *t, cl_int out[8])
{
    cl_int words[8] = {t->dtype == CL_HALF_FLOAT                          ? 1
                       : t->dtype == CL_ML_QUANTIZED_4_BIT_AS_UINT32_QCOM ? 2
                                                                          : 0,
                       t->layout == CL_TENSOR_LAYOUT_OPTIMAL_QCOM ? 2
                       : t->layout == CL_TENSOR_LAYOUT_NHWC_QCOM  ? 1
                                                                  : 0,
                       (cl_int)t->n,
                       (cl_int)t->c,
                       (cl_int)t->h,
                       (cl_int)t->w,
                       0,
                       0};
    memcpy(out, words, sizeof words);
}

/* ---- making ---- */

static cl_int
read_properties(struct clml_tensor *t, const cl_ml_tensor_properties_qcom *p)
{
    for (; p && *p != CL_ML_TENSOR_PROPERTY_LIST_END_QCOM; p += 2) {
        if (p[0] == CL_ML_TENSOR_PROPERTY_DYNAMIC_DIMENSIONS_QCOM) {
            t->dynamic = p[1];
            continue;
        }
        if (p[0] != CL_ML_TENSOR_PROPERTY_QUANTIZATION_QCOM)
            return sc_refuse(CL_INVALID_PROPERTY, "tensor property %llu", (unsigned long long)p[0]);
        const cl_ml_quantization_desc_qcom *q =
            (const cl_ml_quantization_desc_qcom *)(uintptr_t)p[1];
        if (!q || q->id != CL_ML_QUANTIZATION_DESC_QCOM ||
            q->mode != CL_QUANTIZATION_MODE_4_BIT_AS_UINT32_QCOM || q->n_scales != 1 ||
            !sc_alive(q->scales[0], SC_TENSOR))
            return sc_refuse(CL_INVALID_PROPERTY, "a quantization that is not of 4 bits with one "
                                                  "tensor of scales");
        t->scale = q->scales[0];
    }
    return CL_SUCCESS;
}

static cl_int
check_desc(const cl_ml_tensor_desc_qcom *d)
{
    if (d->num_dimensions != CL_TENSOR_DIMENSIONS_4D_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "a tensor of dimensions %u", d->num_dimensions);
    if (d->dtype != CL_FLOAT && d->dtype != CL_HALF_FLOAT &&
        d->dtype != CL_ML_QUANTIZED_4_BIT_AS_UINT32_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "a tensor of type %#x", d->dtype);
    if (d->layout < CL_TENSOR_LAYOUT_NCHW_QCOM || d->layout > CL_TENSOR_LAYOUT_OPTIMAL_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "a tensor of layout %d", (int)d->layout);
    if (!d->n || !d->c || !d->h || !d->w || d->d)
        return sc_refuse(CL_INVALID_VALUE, "a tensor of shape (%u, %u, %u, %u), depth %u", d->n,
                         d->c, d->h, d->w, d->d);
    for (int i = 0; i < CL_ML_TENSOR_MAX_DIMS_QCOM; i++)
        if (d->strides[i])
            return sc_refuse(CL_INVALID_VALUE, "a tensor with strides");
    return CL_SUCCESS;
}

static cl_int
make(cl_context context, const cl_ml_tensor_properties_qcom *props, const cl_ml_tensor_desc_qcom *d,
     int usage, cl_ml_tensor_qcom *out)
{
    if (!context || !d || !out)
        return sc_refuse(CL_INVALID_VALUE, "a tensor without context, description or result");
    *out = NULL;
    bool unused = d->num_dimensions == CL_TENSOR_UNUSED_QCOM;
    cl_int err = unused ? CL_SUCCESS : check_desc(d);
    if (err)
        return err;
    struct clml_tensor *t = sc_new(SC_TENSOR, sizeof *t);
    if (!t)
        return CL_OUT_OF_HOST_MEMORY;
    t->unused = unused;
    t->dtype = d->dtype;
    t->layout = d->layout;
    t->n = d->n, t->c = d->c, t->h = d->h, t->w = d->w;
    t->usage = usage;
    err = read_properties(t, props);
    if (!err && t->dtype == CL_ML_QUANTIZED_4_BIT_AS_UINT32_QCOM && !t->unused && !t->scale)
        err = sc_refuse(CL_INVALID_PROPERTY, "a quantized tensor without scales");
    if (err) {
        sc_release(t);
        return err;
    }
    *out = t;
    return CL_SUCCESS;
}

cl_int
sc_clCreateMLTensorQCOM(cl_context context, const cl_ml_tensor_properties_qcom *props,
                        const cl_ml_tensor_desc_qcom *d, cl_ml_tensor_qcom *out)
{
    cl_int err = sc_enter("clCreateMLTensorQCOM", "%s", "");
    return err ? err : make(context, props, d, 0, out);
}

cl_int
sc_clCreateMLTensorWithUsageQCOM(cl_context context, const cl_ml_tensor_properties_qcom *props,
                                 const cl_ml_tensor_desc_qcom *d, cl_ml_tensor_usage_qcom usage,
                                 cl_ml_tensor_qcom *out)
{
    cl_int err = sc_enter("clCreateMLTensorWithUsageQCOM", "usage %d", (int)usage);
    if (err)
        return err;
    bool unused = d && d->num_dimensions == CL_TENSOR_UNUSED_QCOM;
    if (unused != (usage == CL_TENSOR_USAGE_UNUSED_QCOM) || usage == CL_TENSOR_USAGE_INVALID_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "a tensor whose usage is %d", (int)usage);
    return make(context, props, d, (int)usage, out);
}

cl_int
sc_clReleaseMLTensorQCOM(cl_ml_tensor_qcom t)
{
    cl_int err = sc_enter("clReleaseMLTensorQCOM", "%s", "");
    if (err)
        return err;
    if (!sc_alive(t, SC_TENSOR))
        return sc_refuse(CL_INVALID_VALUE, "release of what is no tensor");
    sc_release(t);
    return CL_SUCCESS;
}

cl_int
sc_clGetMLTensorMemorySizeQCOM(cl_context context, cl_ml_tensor_qcom t, cl_uint *bytes)
{
    cl_int err = sc_enter("clGetMLTensorMemorySizeQCOM", "%s", "");
    if (err)
        return err;
    if (!context || !sc_alive(t, SC_TENSOR) || t->unused || !bytes)
        return sc_refuse(CL_INVALID_VALUE, "the memory of what is no tensor");
    *bytes = (cl_uint)sc_tensor_bytes(t);
    return CL_SUCCESS;
}

cl_int
sc_clSetMLTensorDimensionsQCOM(const cl_ml_tensor_desc_qcom *d, cl_ml_tensor_qcom *tensor)
{
    cl_int err = sc_enter("clSetMLTensorDimensionsQCOM", "%s", "");
    if (err)
        return err;
    if (!tensor || !sc_alive(*tensor, SC_TENSOR) || !d)
        return sc_refuse(CL_INVALID_VALUE, "dimensions of what is no tensor");
    struct clml_tensor *t = *tensor;
    if ((err = check_desc(d)))
        return err;
    if (d->dtype != t->dtype || d->layout != t->layout || d->n != t->n ||
        (d->c != t->c && !(t->dynamic & CL_ML_TENSOR_DYNAMIC_C_DIMENSION_QCOM)) ||
        (d->h != t->h && !(t->dynamic & CL_ML_TENSOR_DYNAMIC_H_DIMENSION_QCOM)) ||
        (d->w != t->w && !(t->dynamic & CL_ML_TENSOR_DYNAMIC_W_DIMENSION_QCOM)))
        return sc_refuse(CL_INVALID_VALUE, "a dimension changed that is not dynamic");
    t->c = d->c, t->h = d->h, t->w = d->w;
    return CL_SUCCESS;
}

/* ---- descriptor sets ---- */

cl_int
sc_clCreateMLTensorMemoryDescriptorSetQCOM(cl_ml_tensor_mem_desc_set_qcom *out)
{
    cl_int err = sc_enter("clCreateMLTensorMemoryDescriptorSetQCOM", "%s", "");
    if (err)
        return err;
    if (!out)
        return CL_INVALID_VALUE;
    *out = sc_new(SC_SET, sizeof **out);
    return *out ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

cl_int
sc_clUpdateMLTensorMemoryDescriptorSetQCOM(cl_ml_tensor_mem_desc_set_qcom set, cl_uint n,
                                           const cl_ml_tensor_memory_desc_qcom *entries)
{
    cl_int err = sc_enter("clUpdateMLTensorMemoryDescriptorSetQCOM", "%u", n);
    if (err)
        return err;
    if (!sc_alive(set, SC_SET))
        return sc_refuse(CL_INVALID_VALUE, "an update of what is no descriptor set");
    for (cl_uint i = 0; i < n; i++) {
        size_t have = 0;
        if (!sc_alive(entries[i].tensor, SC_TENSOR) || entries[i].tensor->unused)
            return sc_refuse(CL_INVALID_VALUE, "entry %u of a descriptor set is no tensor", i);
        if (!entries[i].memory ||
            sc_cl->clGetMemObjectInfo(entries[i].memory, CL_MEM_SIZE, sizeof have, &have, NULL))
            return sc_refuse(CL_INVALID_MEM_OBJECT, "entry %u of a descriptor set has no memory",
                             i);
        if (have < sc_tensor_bytes(entries[i].tensor))
            return sc_refuse(CL_INVALID_BUFFER_SIZE,
                             "entry %u of a descriptor set has %zu bytes of %zu", i, have,
                             sc_tensor_bytes(entries[i].tensor));
    }
    for (cl_uint i = 0; i < n; i++) {
        cl_uint k = 0;
        while (k < set->n && set->entries[k].tensor != entries[i].tensor)
            k++;
        if (k == set->n) {
            sc_entry *more = realloc(set->entries, (k + 1) * sizeof *more);
            if (!more)
                return CL_OUT_OF_HOST_MEMORY;
            set->entries = more;
            set->n++;
        }
        set->entries[k] = (sc_entry){entries[i].tensor, entries[i].memory};
    }
    return CL_SUCCESS;
}

cl_int
sc_clReleaseMLTensorMemoryDescriptorSetQCOM(cl_ml_tensor_mem_desc_set_qcom set)
{
    cl_int err = sc_enter("clReleaseMLTensorMemoryDescriptorSetQCOM", "%s", "");
    if (err)
        return err;
    if (!sc_alive(set, SC_SET))
        return sc_refuse(CL_INVALID_VALUE, "release of what is no descriptor set");
    sc_release(set);
    return CL_SUCCESS;
}

/* ---- copies ---- */

static cl_int
check_copy(cl_ml_tensor_qcom t, cl_mem mem)
{
    size_t have = 0;
    if (!sc_alive(t, SC_TENSOR) || t->unused)
        return sc_refuse(CL_INVALID_VALUE, "a copy of what is no tensor");
    if (!mem || sc_cl->clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof have, &have, NULL))
        return sc_refuse(CL_INVALID_MEM_OBJECT, "a copy without memory");
    if (have < sc_tensor_bytes(t))
        return sc_refuse(CL_INVALID_BUFFER_SIZE, "a copy with %zu bytes of %zu", have,
                         sc_tensor_bytes(t));
    return CL_SUCCESS;
}

static cl_context
context_of(cl_command_queue queue)
{
    cl_context c = NULL;
    return sc_cl->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof c, &c, NULL) ? NULL : c;
}

/* The tensor as it lies in the host's memory. */
static struct clml_tensor
on_host(const struct clml_tensor *t, cl_ml_tensor_layout_qcom layout)
{
    struct clml_tensor h = *t;
    h.layout = layout;
    return h;
}

cl_int
sc_clEnqueueWriteMLTensorDataQCOM(cl_command_queue queue, const void *host,
                                  cl_ml_tensor_layout_qcom layout, cl_ml_tensor_qcom t, cl_mem mem,
                                  cl_uint n, const cl_event *wait, cl_event *event)
{
    cl_int err = sc_enter("clEnqueueWriteMLTensorDataQCOM", "%s", "");
    if (err || (err = check_copy(t, mem)))
        return err;
    if (!host || layout == CL_TENSOR_LAYOUT_OPTIMAL_QCOM || sc_recordable(queue))
        return sc_refuse(CL_INVALID_VALUE, "the host's data can't be written so");
    if (t->scale)
        return sc_cl->clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, sc_tensor_bytes(t), host, n,
                                           wait, event);
    struct clml_tensor h = on_host(t, layout);
    cl_mem staged = sc_cl->clCreateBuffer(context_of(queue), CL_MEM_COPY_HOST_PTR,
                                          sc_tensor_bytes(&h), (void *)(uintptr_t)host, &err);
    if (err)
        return err;
    err = sc_copy(queue, &h, staged, t, mem, n, wait, event);
    sc_cl->clReleaseMemObject(staged);
    return err;
}

cl_int
sc_clEnqueueReadMLTensorDataQCOM(cl_command_queue queue, cl_ml_tensor_qcom t, cl_mem mem,
                                 void *host, cl_ml_tensor_layout_qcom layout, cl_uint n,
                                 const cl_event *wait, cl_event *event)
{
    cl_int err = sc_enter("clEnqueueReadMLTensorDataQCOM", "%s", "");
    if (err || (err = check_copy(t, mem)))
        return err;
    if (!host || layout == CL_TENSOR_LAYOUT_OPTIMAL_QCOM || t->scale || sc_recordable(queue))
        return sc_refuse(CL_INVALID_VALUE, "the tensor can't be read so");
    struct clml_tensor h = on_host(t, layout);
    cl_mem staged = sc_cl->clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, sc_tensor_bytes(&h),
                                          NULL, &err);
    cl_event copied = NULL;
    if (!err)
        err = sc_copy(queue, t, mem, &h, staged, n, wait, &copied);
    if (!err)
        err = sc_cl->clEnqueueReadBuffer(queue, staged, CL_FALSE, 0, sc_tensor_bytes(&h), host, 1,
                                         &copied, event);
    if (copied)
        sc_cl->clReleaseEvent(copied);
    if (staged)
        sc_cl->clReleaseMemObject(staged);
    return err;
}

cl_int
sc_clEnqueueCopyMLTensorDataQCOM(cl_command_queue queue, cl_ml_tensor_qcom from, cl_mem from_mem,
                                 cl_ml_tensor_qcom to, cl_mem to_mem, cl_uint n,
                                 const cl_event *wait, cl_event *event)
{
    cl_int err = sc_enter("clEnqueueCopyMLTensorDataQCOM", "%s", "");
    if (err || (err = check_copy(from, from_mem)) || (err = check_copy(to, to_mem)))
        return err;
    if (from->n != to->n || from->c != to->c || from->h != to->h || from->w != to->w ||
        from->dtype != to->dtype || from->scale || sc_recordable(queue))
        return sc_refuse(CL_INVALID_VALUE, "a copy between tensors that differ");
    return sc_copy(queue, from, from_mem, to, to_mem, n, wait, event);
}
