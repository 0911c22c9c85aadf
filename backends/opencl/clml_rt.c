/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: runs what CLMLDispatch gave to Qualcomm's OpenCL ML extension.
 *
 * One module a function: its tensors, their memory, its operations and a descriptor set are made when
 * a machine is made. A call copies the arguments into the device's own layout, enqueues the
 * operations (as one recording where the device has recordable queues), and copies the results back;
 * constants are copied by the first call alone. What the payload is: clml_payload.c.
 *
 * Compiled against the CL/cl_qcom_ml_ops.h of a user's SDK (configure --with-clml=DIR), version 3 or
 * newer; nothing here knows its numbers. The entry points are asked of the platform, the tables for
 * the newest version that header and device both have. Compiled with the stand-in of tests/clml, it
 * runs on that layer alone, since the extension then has another name.
 */
#include "clml_rt.h"

#include <stdio.h>
#include <stdlib.h>
#include "tenon/base/json.h"
#include "tenon/base/log.h"

typedef cl_recording_qcom (*new_recording_fn)(cl_command_queue queue, cl_int *err);
typedef cl_int (*recording_fn)(cl_recording_qcom recording);

tnb_status
opencl_clml_bad(const struct module *m, tnb_err *err, const char *what)
{
    return tnb_fail(err, TNB_FORMAT, "the description of '%s' is broken: %s", m->desc->symbol,
                    what);
}

/* A list of exactly n integers from low to high. */
static bool
is_constant(const tnr_external *x, int arg)
{
    for (uint32_t i = 0; i < x->n_constants; i++)
        if (x->constants[i] == (uint32_t)arg)
            return true;
    return false;
}

static cl_ml_tensor_desc_qcom
describe(const struct tensor *t)
{
    cl_ml_tensor_desc_qcom desc = {
        t->dtype,   t->optimal ? CL_TENSOR_LAYOUT_OPTIMAL_QCOM : CL_TENSOR_LAYOUT_NCHW_QCOM,
        t->dims[0], t->dims[1],
        t->dims[2], t->dims[3],
        0,          CL_TENSOR_DIMENSIONS_4D_QCOM,
        {0}};
    return desc;
}

static tnb_status
make_tensor(struct module *m, const cl_ml_tensor_properties_qcom *props,
            const cl_ml_tensor_desc_qcom *desc, enum opencl_clml_usage usage,
            cl_ml_tensor_qcom *out, tnb_err *err)
{
    cl_int e;
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 4
    if (m->api.major >= 4)
        e = m->api.clCreateMLTensorWithUsageQCOM(m->device->context, props, desc,
                                                 usage == UNUSED ? CL_TENSOR_USAGE_UNUSED_QCOM
                                                 : usage == TNN  ? CL_TENSOR_USAGE_TNN_QCOM
                                                 : usage == PARAMETER
                                                     ? CL_TENSOR_USAGE_PARAMETER_QCOM
                                                     : CL_TENSOR_USAGE_CNN_QCOM,
                                                 out);
    else
#endif
        e = m->api.clCreateMLTensorQCOM(m->device->context, props, desc, out);
    (void)usage;
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(m->device, e, err, "making a tensor");
}

/* Rows of any number, packed numbers and what belongs to them: version 5 of the extension. */
static tnb_status
make_tensor_5(struct module *m, struct tensor *t, tnb_err *err)
{
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 5
    enum { USUAL_ROWS = 64 }; /* until a call tells */
    cl_ml_tensor_properties_qcom props[] = {CL_ML_TENSOR_PROPERTY_LIST_END_QCOM, 0, 0};
    cl_ml_quantization_desc_qcom quantization = {CL_ML_QUANTIZATION_DESC_QCOM,
                                                 CL_QUANTIZATION_MODE_4_BIT_AS_UINT32_QCOM, 1,
                                                 t->packed ? &m->tensors[t->scale].handle : NULL,
                                                 NULL};
    if (m->api.major >= 5) {
        if (t->packed) {
            t->dtype = CL_ML_QUANTIZED_4_BIT_AS_UINT32_QCOM;
            props[0] = CL_ML_TENSOR_PROPERTY_QUANTIZATION_QCOM;
            props[1] = (cl_ml_tensor_properties_qcom)(uintptr_t)&quantization;
        } else if (t->open) {
            t->dims[2] = USUAL_ROWS;
            props[0] = CL_ML_TENSOR_PROPERTY_DYNAMIC_DIMENSIONS_QCOM;
            props[1] = CL_ML_TENSOR_DYNAMIC_H_DIMENSION_QCOM;
        }
        props[2] = CL_ML_TENSOR_PROPERTY_LIST_END_QCOM;
        cl_ml_tensor_desc_qcom desc = describe(t);
        return make_tensor(m, props, &desc, (enum opencl_clml_usage)t->usage, &t->handle, err);
    }
#endif
    (void)t;
    return tnb_fail(err, TNB_UNSUPPORTED,
                    "'%s' needs version 5 of " EXTENSION ", version %d is in use", m->desc->symbol,
                    m->api.major);
}

/* Whether the elements can be counted in bytes, also when an open extent is known; and 4-bit numbers,
 * eight to a word, have a scale for each 32 of a column. */
static bool
fits_memory(const struct module *m, const struct tensor *t)
{
    enum { WORD = 8, GROUP = 32 };
    uint64_t bytes = 4;
    for (int i = 0; i < 4; i++)
        if (!tnb_mul_u64(bytes, i == 2 && t->open ? INT32_MAX : t->dims[i], &bytes) ||
            bytes > INT64_MAX)
            return false;
    if (!t->packed)
        return true;
    const cl_uint *s = m->tensors[t->scale].dims, *d = t->dims;
    return s[0] == d[0] && s[1] == d[1] && s[3] == d[3] &&
           (uint64_t)d[2] * WORD == (uint64_t)s[2] * GROUP;
}

static tnb_status
read_tensor(struct module *m, const json_t *o, struct tensor *t, tnb_err *err)
{
    bool half = is_text(o, "dtype", "float16"), usual = !json_object_get(o, "usage");
    t->packed = is_text(o, "dtype", "q4");
    t->optimal = is_text(o, "layout", "optimal");
    t->usage = usual ? CNN : is_text(o, "usage", "tnn") ? TNN : PARAMETER;
    t->scale = read_index(o, "scale", m->n_tensors);
    t->arg = json_object_get(o, "arg") ? read_index(o, "arg", m->n_args) : -1;
    bool fits = read_ints(json_object_get(o, "dims"), 0, INT32_MAX, 4, t->dims);
    t->open = fits && t->usage == TNN && t->dims[2] == 0;
    for (int i = 0; i < 4; i++)
        fits = fits && (t->dims[i] > 0 || (i == 2 && t->open));
    if (!fits || (!half && !t->packed && !is_text(o, "dtype", "float32")) ||
        (!t->optimal && !is_text(o, "layout", "nchw")) ||
        (!usual && t->usage == PARAMETER && !is_text(o, "usage", "parameter")) ||
        (!usual && (t->arg < 0 || t->optimal)) ||
        (t->packed &&
         (t->usage != PARAMETER || t->scale < 0 || m->tensors[t->scale].usage != PARAMETER)) ||
        (json_object_get(o, "arg") && (t->arg < 0 || t->optimal)) || !fits_memory(m, t))
        return opencl_clml_bad(m, err, "a tensor");
    t->dtype = half ? CL_HALF_FLOAT : CL_FLOAT;
    t->constant = t->arg >= 0 && is_constant(m->desc, t->arg);
    t->first = INT32_MAX;
    t->last = -1;
    t->memory = -1;
    if (t->usage != CNN)
        return make_tensor_5(m, t, err);
    cl_ml_tensor_desc_qcom desc = describe(t);
    return make_tensor(m, NULL, &desc, CNN, &t->handle, err);
}

static tnb_status
read_tensors(struct module *m, const json_t *list, tnb_err *err)
{
    size_t n = json_array_size(list);
    m->tensors = calloc(n + 1, sizeof *m->tensors);
    if (!m->tensors)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %zu tensors", n);
    for (; m->n_tensors < n; m->n_tensors++)
        TNB_TRY(read_tensor(m, json_array_get(list, m->n_tensors), &m->tensors[m->n_tensors], err));
    cl_ml_tensor_desc_qcom unused = {.num_dimensions = CL_TENSOR_UNUSED_QCOM};
    return make_tensor(m, NULL, &unused, UNUSED, &m->none, err);
}

/* The tensor lies in the argument that receives a result. */
static bool
is_result(const struct module *m, const struct tensor *t)
{
    return t->arg >= 0 && (uint32_t)t->arg >= m->n_args - m->n_results;
}

/* Copies before the operations lead from arguments to memory of the module, those behind them from
 * there to results; what is read was written. ORDER: the operations are known. */
static tnb_status
check_copies(const struct module *m, tnb_err *err)
{
    for (uint32_t i = 0; i < m->n_before; i++) {
        const struct tensor *from = &m->tensors[m->before[i].from],
                            *to = &m->tensors[m->before[i].to];
        if (from->arg < 0 || to->arg >= 0)
            return opencl_clml_bad(m, err, "a copy before the operations");
    }
    for (uint32_t i = 0; i < m->n_after; i++) {
        const struct tensor *from = &m->tensors[m->after[i].from];
        bool known = from->arg >= 0 || from->used;
        for (uint32_t k = 0; k < m->n_before && !known; k++)
            known = m->before[k].to == m->after[i].from;
        if (!known || !is_result(m, &m->tensors[m->after[i].to]))
            return opencl_clml_bad(m, err, "a copy behind the operations");
    }
    return TNB_OK;
}

static tnb_status
read_copies(struct module *m, const json_t *list, struct copy **out, uint32_t *n, tnb_err *err)
{
    *out = calloc(json_array_size(list) + 1, sizeof **out);
    if (!*out)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a list of copies");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        int from = read_index(o, "from", m->n_tensors), to = read_index(o, "to", m->n_tensors);
        if (from < 0 || to < 0 || m->tensors[from].usage != CNN || m->tensors[to].usage != CNN ||
            memcmp(m->tensors[from].dims, m->tensors[to].dims, sizeof m->tensors[from].dims) != 0)
            return opencl_clml_bad(m, err, "a copy");
        (*out)[(*n)++] = (struct copy){(uint32_t)from, (uint32_t)to};
    }
    return TNB_OK;
}

/* ---- recordings ---- */

/* Whether an operation uses the memory of arguments, which may be another one at each call. */
static bool
uses_arguments(const struct module *m)
{
    for (uint32_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].used && m->tensors[i].arg >= 0)
            return true;
    return false;
}

/* Whether the operations can be one recording: the device has recordable queues, the shapes are known,
 * and nothing is to be tuned. */
static bool
can_record(const struct module *m)
{
    const struct opencl_device *d = m->device;
    for (uint32_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].open)
            return false;
    return !d->clml_tune && opencl_has_extension(&d->info, RECORDABLE_EXTENSION) &&
           opencl_clml_entry(d, "clNewRecordingQCOM") && opencl_clml_entry(d, "clEndRecordingQCOM");
}

static void
drop_recording(struct module *m)
{
    recording_fn release = (recording_fn)opencl_clml_entry(m->device, "clReleaseRecordingQCOM");
    if (m->recording && release)
        (void)release(m->recording);
    if (m->recorder)
        (void)clReleaseCommandQueue(m->recorder);
    m->recording = NULL;
    m->recorder = NULL;
}

/* The descriptor set knows all memory by now. Operations over arguments are recorded by the first call;
 * later ones tell the set where the arguments lie, as open callers of the extension do, and replay. */
static tnb_status
record(struct module *m, tnb_err *err)
{
    struct opencl_device *d = m->device;
    new_recording_fn begin = (new_recording_fn)opencl_clml_entry(d, "clNewRecordingQCOM");
    recording_fn end = (recording_fn)opencl_clml_entry(d, "clEndRecordingQCOM");
    cl_int e;
    drop_recording(m); /* one that failed */
    m->recorder = clCreateCommandQueue(d->context, d->id, CL_QUEUE_RECORDABLE_QCOM, &e);
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "making a recordable queue");
    m->recording = begin(m->recorder, &e);
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "beginning a recording");
    for (uint32_t i = 0; i < m->n_ops && e == CL_SUCCESS; i++)
        e = m->api.clEnqueueMLOpQCOM(m->recorder, m->ops[i], m->set, 0, NULL, NULL);
    if (e == CL_SUCCESS)
        e = end(m->recording);
    m->recorded = e == CL_SUCCESS;
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(d, e, err, "recording the operations");
}

/* ---- open, close ---- */

static void
close_module(void *module)
{
    struct module *m = module;
    (void)clFinish(m->device->queue);
    drop_recording(m);
    for (uint32_t i = 0; i < m->n_ops; i++)
        (void)m->api.clReleaseMLOpQCOM(m->ops[i]);
    if (m->set)
        (void)m->api.clReleaseMLTensorMemoryDescriptorSetQCOM(m->set);
    for (uint32_t i = 0; i < m->n_tensors; i++)
        (void)m->api.clReleaseMLTensorQCOM(m->tensors[i].handle);
    if (m->none)
        (void)m->api.clReleaseMLTensorQCOM(m->none);
    opencl_clml_free_memory(m);
    if (m->tuning)
        (void)m->api.clReleaseMLTuningCacheQCOM(m->tuning);
    free(m->tensors);
    free(m->before);
    free(m->after);
    free(m->ops);
    free(m->args);
    free(m->owned);
    free(m);
}

static tnb_status
build(struct module *m, const json_t *root, tnb_err *err)
{
    const json_t *args = json_object_get(root, "args");
    if (!json_is_integer(args) || json_integer_value(args) < 1 ||
        json_integer_value(args) > UINT16_MAX)
        return opencl_clml_bad(m, err, "its arguments");
    m->n_args = (uint32_t)json_integer_value(args);
    int results = read_index(root, "results", m->n_args + 1);
    if (results < 0)
        return opencl_clml_bad(m, err, "its results");
    m->n_results = (uint32_t)results;
    m->args = calloc(m->n_args, sizeof *m->args);
    m->owned = calloc(m->n_args, sizeof *m->owned);
    if (!m->args || !m->owned)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %" PRIu32 " arguments", m->n_args);
    TNB_TRY(opencl_clml_load(m->device, &m->api, err));
    TNB_TRY(read_tensors(m, json_object_get(root, "tensors"), err));
    TNB_TRY(read_copies(m, json_object_get(root, "before"), &m->before, &m->n_before, err));
    TNB_TRY(read_copies(m, json_object_get(root, "after"), &m->after, &m->n_after, err));
    TNB_TRY(opencl_clml_load_tuning(m, err));
    TNB_TRY(opencl_clml_make_ops(m, json_object_get(root, "ops"), err));
    TNB_TRY(check_copies(m, err));
    m->records = can_record(m);
    TNB_TRY(opencl_clml_plan_memory(m, err));
    cl_int e = m->api.clCreateMLTensorMemoryDescriptorSetQCOM(&m->set);
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "making a descriptor set");
    TNB_TRY(opencl_clml_update_set(m, false, err));
    return m->records && !uses_arguments(m) ? record(m, err) : TNB_OK;
}

/* Which operations the function became. */
static void
tell(const struct module *m, const json_t *root)
{
    char names[400] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < m->n_ops && at < sizeof names; i++) {
        const json_t *op = json_array_get(json_object_get(root, "ops"), i);
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
                               json_string_value(json_object_get(op, "op")));
    }
    tnb_log(TNB_LOG_INFO, "clml: '%s': %s%s; version %d, %s, %" PRIu64 " bytes on the chip",
            m->desc->symbol, names, at >= sizeof names ? " ..." : "", m->api.major,
            m->records ? "recorded" : "enqueued one by one", m->on_chip);
}

static tnb_status
open_module(void *self, const tnr_external *desc, tnr_device *dev, void **module, tnb_err *err)
{
    (void)self;
    json_t *root;
    if (strcmp(tnr_device_driver(dev)->base.name, "opencl") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED, "clml runs on opencl devices, not on '%s'",
                        tnr_device_driver(dev)->base.name);
    TNB_TRY(tnb_json_parse(desc->payload, strlen(desc->payload), 0, &root, err));
    struct module *m = calloc(1, sizeof *m);
    if (!m) {
        json_decref(root);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a module of CLML");
    }
    m->device = tnr_device_handle(dev);
    m->desc = desc;
    m->rows = -1;
    tnb_status st = build(m, root, err);
    if (st != TNB_OK) {
        json_decref(root);
        close_module(m);
        return st;
    }
    if (tnb_log_on(TNB_LOG_INFO))
        tell(m, root);
    json_decref(root);
    *module = m;
    return TNB_OK;
}

/* ---- calls ---- */

/* The argument as memory that begins with its first element: as it is, a part of it where the device's
 * alignment allows, else a copy. */
static tnb_status
enter(struct module *m, uint32_t i, const tnr_tensor *t, tnb_err *err)
{
    struct opencl_device *d = m->device;
    uint64_t offset = t->dl.byte_offset; /* from the beginning of the memory */
    cl_mem whole = t->storage->mem;
    cl_uint bits = 0;
    cl_int e = CL_SUCCESS;
    m->args[i] = whole;
    m->owned[i] = false;
    if (!offset)
        return TNB_OK;
    (void)clGetDeviceInfo(d->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    m->owned[i] = true;
    if (bits && offset % (bits / 8) == 0) {
        cl_buffer_region region = {(size_t)offset, (size_t)t->n_bytes};
        m->args[i] =
            clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &e);
    } else {
        m->args[i] = clCreateBuffer(d->context, CL_MEM_READ_WRITE, (size_t)t->n_bytes, NULL, &e);
        if (e == CL_SUCCESS)
            e = clEnqueueCopyBuffer(d->queue, whole, m->args[i], (size_t)offset, 0,
                                    (size_t)t->n_bytes, 0, NULL, NULL);
    }
    if (e == CL_SUCCESS)
        return TNB_OK;
    if (!m->args[i])
        m->owned[i] = false;
    return opencl_fail(d, e, err, "argument %" PRIu32, i);
}

/* Gives back what `enter` made; a result in a copy goes where it belongs. */
static cl_int
leave(struct module *m, uint32_t i, const tnr_tensor *t, bool result)
{
    cl_int e = CL_SUCCESS;
    cl_mem parent = NULL;
    if (!m->owned[i])
        return e;
    (void)clGetMemObjectInfo(m->args[i], CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
    if (result && !parent)
        e = clEnqueueCopyBuffer(m->device->queue, m->args[i], t->storage->mem, 0,
                                (size_t)t->dl.byte_offset, (size_t)t->n_bytes, 0, NULL, NULL);
    (void)clReleaseMemObject(m->args[i]);
    m->owned[i] = false;
    return e;
}

static cl_mem
memory_of(const struct module *m, const struct tensor *t)
{
    return t->arg >= 0 ? m->args[t->arg] : m->memory[t->memory].mem;
}

static cl_int
enqueue_copies(struct module *m, const struct copy *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct tensor *from = &m->tensors[list[i].from], *to = &m->tensors[list[i].to];
        if (from->constant && m->constants_done)
            continue;
        cl_int e =
            m->api.clEnqueueCopyMLTensorDataQCOM(m->device->queue, from->handle, memory_of(m, from),
                                                 to->handle, memory_of(m, to), 0, NULL, NULL);
        if (e != CL_SUCCESS)
            return e;
    }
    return CL_SUCCESS;
}

/* Tells the open tensors how many rows they have now. */
static tnb_status
set_rows(struct module *m, int64_t rows, tnb_err *err)
{
    cl_int e = CL_SUCCESS;
    if (rows < 0 || rows == m->rows)
        return TNB_OK;
    m->rows = -1;
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 5
    for (uint32_t i = 0; i < m->n_tensors && e == CL_SUCCESS; i++) {
        struct tensor *t = &m->tensors[i];
        if (!t->open)
            continue;
        t->dims[2] = (cl_uint)rows;
        cl_ml_tensor_desc_qcom desc = describe(t);
        e = m->api.clSetMLTensorDimensionsQCOM(&desc, &t->handle);
    }
#endif
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "telling a tensor that it has %" PRId64 " rows",
                           rows);
    m->rows = rows;
    return TNB_OK;
}

/* After a change of rows the operations are told as well; the descriptor set is up to date. */
static cl_int
update_ops(struct module *m)
{
    cl_int e = CL_SUCCESS;
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 5
    const cl_update_ml_op_properties_qcom props[] = {CL_UPDATE_ML_OP_PROPERTY_DYNAMIC_TENSORS_QCOM,
                                                     CL_TRUE,
                                                     CL_UPDATE_ML_OP_PROPERTY_LIST_END_QCOM};
    for (uint32_t i = 0; i < m->n_ops && e == CL_SUCCESS; i++)
        e = m->api.clUpdateMLOpQCOM(m->ops[i], props, m->set, NULL);
#endif
    (void)m;
    return e;
}

static tnb_status
enqueue(struct module *m, int64_t rows, tnb_err *err)
{
    cl_command_queue q = m->device->queue;
    TNB_TRY(set_rows(m, rows, err));
    TNB_TRY(opencl_clml_update_set(m, true, err));
    cl_int e = rows < 0 ? CL_SUCCESS : update_ops(m);
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "telling the operations of %" PRId64 " rows", rows);
    bool tune = m->device->clml_tune && !m->tuned;
    e = enqueue_copies(m, m->before, m->n_before);
    if (tune && e == CL_SUCCESS) {
        TNB_TRY(opencl_clml_tune(m, err));
        m->tuned = true;
        e = enqueue_copies(m, m->before, m->n_before); /* others may have their memory by now */
    }
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "copying the arguments");
    if (m->records && !m->recorded)
        TNB_TRY(record(m, err));
    if (m->recorded)
        e = m->api.clEnqueueRecordingMLOpQCOM(q, m->recording, 0, NULL, 0, NULL, 0, NULL, 0, NULL,
                                              0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL);
    for (uint32_t i = 0; !m->recorded && i < m->n_ops && e == CL_SUCCESS; i++)
        e = m->api.clEnqueueMLOpQCOM(q, m->ops[i], m->set, 0, NULL, NULL);
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "running the operations");
    e = enqueue_copies(m, m->after, m->n_after);
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "copying the results");
    m->constants_done = true;
    return TNB_OK;
}

static uint64_t
tensor_bytes(const struct tensor *t)
{
    return (uint64_t)t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3] *
           (t->dtype == CL_HALF_FLOAT ? 2 : 4);
}

/* Whether argument i has the bytes of the tensors over it. *rows: of open tensors, equal for all of a
 * call; -1: there are none. */
static tnb_status
check_bytes(const struct module *m, uint32_t i, uint64_t bytes, int64_t *rows, tnb_err *err)
{
    for (uint32_t k = 0; k < m->n_tensors; k++) {
        const struct tensor *t = &m->tensors[k];
        uint64_t want = tensor_bytes(t), row = t->open ? want / t->dims[2] : 0;
        if (t->arg != (int)i)
            continue;
        if (t->open && *rows < 0 && row && bytes % row == 0 && bytes / row <= INT32_MAX)
            *rows = (int64_t)(bytes / row);
        want = t->open && *rows >= 0 ? row * (uint64_t)*rows : want;
        if (bytes != want)
            return tnb_fail(err, TNB_INVALID,
                            "argument %" PRIu32 " has %" PRIu64 " bytes, %" PRIu64 " were expected",
                            i, bytes, want);
    }
    return TNB_OK;
}

static tnb_status
call(void *module, const tnr_value *args, int n, tnb_err *err)
{
    struct module *m = module;
    int64_t rows = -1;
    const uint32_t inputs = m->n_args - m->n_results;
    TNB_TRY(opencl_alive(m->device, err));
    if (n < 0 || (uint32_t)n != m->n_args)
        return tnb_fail(err, TNB_INVALID, "%d arguments, the function has %" PRIu32, n, m->n_args);
    for (uint32_t i = 0; i < m->n_args; i++) {
        const tnr_tensor *t = args[i].tag == TNR_TENSOR ? args[i].u.tensor : NULL;
        if (!t || !t->storage || tnr_device_handle(t->storage->device) != m->device ||
            !tnr_tensor_is_compact(t))
            return tnb_fail(err, TNB_INVALID,
                            "argument %" PRIu32 " is no compact tensor on the device", i);
        if (i >= inputs && t->storage->flags & TNR_STORAGE_READ_ONLY)
            return tnb_fail(err, TNB_INVALID,
                            "argument %" PRIu32 ", which receives a result, is a constant", i);
        TNB_TRY(check_bytes(m, i, t->n_bytes, &rows, err));
    }
    for (uint32_t i = inputs; rows == 0 && i < m->n_args; i++)
        if (args[i].u.tensor->n_bytes)
            return tnb_fail(err, TNB_INVALID, "no rows give argument %" PRIu32 " elements", i);
    if (rows == 0)
        return TNB_OK;
    tnb_status st = TNB_OK;
    for (uint32_t i = 0; i < m->n_args && st == TNB_OK; i++)
        st = enter(m, i, args[i].u.tensor, err);
    if (st == TNB_OK)
        st = enqueue(m, rows, err);
    for (uint32_t i = 0; i < m->n_args; i++) {
        cl_int e = leave(m, i, args[i].u.tensor, i >= inputs && st == TNB_OK);
        if (e != CL_SUCCESS && st == TNB_OK)
            st = opencl_fail(m->device, e, err, "copying result %" PRIu32, i - inputs);
    }
    return st;
}

const tnr_loader opencl_clml = {
    .base.size = sizeof(tnr_loader),
    .base.name = "clml",
    .base.doc = "Qualcomm's OpenCL ML extension (" EXTENSION ")",
    .open = open_module,
    .call = call,
    .close = close_module,
};

const tnr_loader opencl_clml5 = {
    .base.size = sizeof(tnr_loader),
    .base.name = "clml5",
    .base.doc = "Qualcomm's OpenCL ML extension (" EXTENSION "), of version 5",
    .open = open_module,
    .call = call,
    .close = close_module,
};
