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
#include "device.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "CL/cl_qcom_ml_ops.h"
#include "tenon/base/log.h"
#include "tenon/rt/tensor.h"

#if CL_QCOM_ML_OPS_H_MAJOR_VERSION < 3
#error "CL/cl_qcom_ml_ops.h of the OpenCL ML SDK is too old: version 3 or newer is needed"
#endif

#ifdef TENON_CLML_STANDIN
#define EXTENSION TENON_CLML_EXTENSION
#define RECORDABLE_EXTENSION TENON_CLML_RECORDABLE_EXTENSION
#else
#define EXTENSION "cl_qcom_ml_ops"
#define RECORDABLE_EXTENSION "cl_qcom_recordable_queues"
#endif

bool
opencl_has_clml(const struct opencl_info *info)
{
    return opencl_has_extension(info, EXTENSION);
}

/* ---- the extension's functions ---- */

/* NAME of the tables of all versions. */
#define ENTRIES(X)                                                \
    X(clReleaseMLTensorQCOM)                                      \
    X(clReleaseMLOpQCOM)                                          \
    X(clGetMLTensorMemorySizeQCOM)                                \
    X(clCreateMLTensorMemoryDescriptorSetQCOM)                    \
    X(clUpdateMLTensorMemoryDescriptorSetQCOM)                    \
    X(clReleaseMLTensorMemoryDescriptorSetQCOM)                   \
    X(clEnqueueCopyMLTensorDataQCOM)                              \
    X(clEnqueueMLOpQCOM)                                          \
    X(clEnqueueRecordingMLOpQCOM)                                 \
    X(clCreateMLOpConvolutionForwardQCOM)                         \
    X(clCreateMLOpFusedConvolutionActivationForwardQCOM)          \
    X(clCreateMLOpFusedConvolutionBatchNormForwardQCOM)           \
    X(clCreateMLOpFusedConvolutionBatchNormActivationForwardQCOM) \
    X(clCreateMLOpActivationForwardQCOM)                          \
    X(clCreateMLOpPoolingForwardQCOM)                             \
    X(clCreateMLOpBatchNormForwardQCOM)                           \
    X(clCreateMLOpSoftmaxQCOM)                                    \
    X(clCreateMLOpResizeBilinearQCOM)                             \
    X(clCreateMLOpReshapeQCOM)                                    \
    X(clCreateMLOpConcatQCOM)                                     \
    X(clCreateMLOpFullyConnectedQCOM)                             \
    X(clCreateMLOpGemmQCOM)                                       \
    X(clCreateMLOpBinaryQCOM)                                     \
    X(clCreateMLOpClipQCOM)

/* The extension as this file calls it. */
struct api {
#define MEMBER(name) __typeof__(((CLMLInterfaceV3QCOM *)0)->name) name;
    ENTRIES(MEMBER)
#undef MEMBER
    __typeof__(((CLMLInterfaceV3QCOM *)0)->clCreateMLTensorQCOM) clCreateMLTensorQCOM;
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 4
    __typeof__(((CLMLInterfaceV4QCOM *)0)
                   ->clCreateMLTensorWithUsageQCOM) clCreateMLTensorWithUsageQCOM;
#endif
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 5
    __typeof__(((CLMLInterfaceV5QCOM *)0)->clSetMLTensorDimensionsQCOM) clSetMLTensorDimensionsQCOM;
    __typeof__(((CLMLInterfaceV5QCOM *)0)->clUpdateMLOpQCOM) clUpdateMLOpQCOM;
#endif
    cl_int major;
};

typedef cl_int (*query_fn)(cl_int *majors, cl_int *minors, cl_uint n, cl_uint *count);
typedef cl_int (*table_fn)(void **table, cl_int major, cl_int minor);
typedef cl_recording_qcom (*new_recording_fn)(cl_command_queue queue, cl_int *err);
typedef cl_int (*recording_fn)(cl_recording_qcom recording);

static void *
entry(const struct opencl_device *d, const char *name)
{
    return clGetExtensionFunctionAddressForPlatform(d->platform, name);
}

#define TAKE(name) api->name = t->name;
#define TAKE_TABLE(version)                             \
    {                                                   \
        const CLMLInterfaceV##version##QCOM *t = table; \
        ENTRIES(TAKE)                                   \
        TENSOR_##version                                \
    }
#define TENSOR_3 TAKE(clCreateMLTensorQCOM)
#define TENSOR_4 TAKE(clCreateMLTensorWithUsageQCOM)
#define TENSOR_5 \
    TAKE(clCreateMLTensorWithUsageQCOM) TAKE(clSetMLTensorDimensionsQCOM) TAKE(clUpdateMLOpQCOM)

/* The newest version that the device and this program have. */
static tnb_status
choose_version(struct opencl_device *d, cl_int *major, cl_int *minor, tnb_err *err)
{
    enum {
        MOST = 64,
        NEWEST = CL_QCOM_ML_OPS_H_MAJOR_VERSION > 5 ? 5 : CL_QCOM_ML_OPS_H_MAJOR_VERSION
    };
    query_fn query = (query_fn)entry(d, "clQueryMLInterfaceVersionsQCOM");
    cl_int majors[MOST], minors[MOST], newest = 0;
    cl_uint n = 0;
    if (!opencl_has_clml(&d->info) || !query)
        return tnb_fail(err, TNB_UNSUPPORTED, "device '%s' has no extension " EXTENSION,
                        d->info.name);
    cl_int e = query(NULL, NULL, 0, &n);
    n = n > MOST ? MOST : n;
    if (e == CL_SUCCESS)
        e = query(majors, minors, n, NULL);
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "asking for the versions of " EXTENSION);
    for (cl_uint i = 0; i < n; i++) {
        newest = majors[i] > newest ? majors[i] : newest;
        if (majors[i] <= NEWEST && majors[i] >= *major) {
            *major = majors[i];
            *minor = minors[i];
        }
    }
    if (*major < 3)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "device '%s' has version %d of " EXTENSION ", this program takes 3 to %d",
                        d->info.name, newest, NEWEST);
    return TNB_OK;
}

int
opencl_clml_version(struct opencl_device *d)
{
    cl_int major = 0, minor = 0;
    tnb_err why = {0};
    return choose_version(d, &major, &minor, &why) == TNB_OK ? major : 0;
}

static tnb_status
load_api(struct opencl_device *d, struct api *api, tnb_err *err)
{
    table_fn get = (table_fn)entry(d, "clGetMLInterfaceQCOM");
    cl_int minor = 0;
    void *table = NULL;
    TNB_TRY(choose_version(d, &api->major, &minor, err));
    if (!get)
        return tnb_fail(err, TNB_UNSUPPORTED, "device '%s' has no entry clGetMLInterfaceQCOM",
                        d->info.name);
    cl_int e = get(&table, api->major, minor);
    if (e != CL_SUCCESS || !table)
        return opencl_fail(d, e != CL_SUCCESS ? e : CL_INVALID_VALUE, err,
                           "getting version %d.%d of " EXTENSION, api->major, minor);
    switch (api->major) {
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 5
    case 5:
        TAKE_TABLE(5)
        break;
#endif
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 4
    case 4:
        TAKE_TABLE(4)
        break;
#endif
    default:
        TAKE_TABLE(3)
    }
    return TNB_OK;
}

/* ---- modules ---- */

struct tensor {
    cl_ml_tensor_qcom handle;
    cl_uint dims[4];
    cl_channel_type dtype;
    bool optimal;
    bool packed;     /* 4-bit numbers, eight to a word, times `scale` */
    bool open;       /* dims[2] is told by the arguments of a call */
    int usage;       /* an index of usages */
    int scale;       /* -1: none */
    int arg;         /* -1: none */
    bool constant;   /* its argument is */
    bool used;       /* by an operation */
    int first, last; /* operations between which its memory counts; -1: before the first */
    int memory;      /* index of the module's memory; -1: the argument's */
};
struct copy {
    uint32_t from, to;
};
struct memory {
    cl_mem mem;
    size_t bytes;
    int busy_until;
};
struct module {
    struct opencl_device *device;
    const tnr_external *desc;
    struct api api;
    uint32_t n_args, n_results;
    struct tensor *tensors;
    uint32_t n_tensors;
    struct copy *before, *after;
    uint32_t n_before, n_after;
    cl_ml_op_qcom *ops;
    uint32_t n_ops;
    struct memory *memory;
    uint32_t n_memory;
    cl_ml_tensor_qcom none; /* stands for an operand that is not used */
    cl_ml_tensor_mem_desc_set_qcom set;
    cl_command_queue recorder;
    cl_recording_qcom recording;
    cl_mem *args; /* of the call under way */
    bool *owned;  /* whether it is to be released */
    bool constants_done;
    int64_t rows; /* of the open tensors, as the extension was told last; -1: not yet */
};

static tnb_status
bad(struct module *m, tnb_err *err, const char *what)
{
    return tnb_fail(err, TNB_FORMAT, "the description of '%s' is broken: %s", m->desc->symbol,
                    what);
}

/* A list of exactly n integers from low to high. */
static bool
read_ints(const json_t *list, int64_t low, int64_t high, size_t n, cl_uint *out)
{
    if (!json_is_array(list) || json_array_size(list) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || json_integer_value(v) < low || json_integer_value(v) > high)
            return false;
        out[i] = (cl_uint)json_integer_value(v);
    }
    return true;
}

static bool
is_text(const json_t *o, const char *key, const char *want)
{
    const char *have = json_string_value(json_object_get(o, key));
    return have && strcmp(have, want) == 0;
}

/* An index below n; -1: it is none. */
static int
read_index(const json_t *o, const char *key, uint32_t n)
{
    const json_t *v = json_object_get(o, key);
    json_int_t i = json_is_integer(v) ? json_integer_value(v) : -1;
    return i >= 0 && i < n ? (int)i : -1;
}

static bool
is_constant(const tnr_external *x, int arg)
{
    for (uint32_t i = 0; i < x->n_constants; i++)
        if (x->constants[i] == (uint32_t)arg)
            return true;
    return false;
}

enum usage { UNUSED, CNN, TNN, PARAMETER };

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
            const cl_ml_tensor_desc_qcom *desc, enum usage usage, cl_ml_tensor_qcom *out,
            tnb_err *err)
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
        return make_tensor(m, props, &desc, (enum usage)t->usage, &t->handle, err);
    }
#endif
    (void)t;
    return tnb_fail(err, TNB_UNSUPPORTED,
                    "'%s' needs version 5 of " EXTENSION ", version %d is in use", m->desc->symbol,
                    m->api.major);
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
        (json_object_get(o, "arg") && (t->arg < 0 || t->optimal)))
        return bad(m, err, "a tensor");
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

static tnb_status
read_copies(struct module *m, const json_t *list, struct copy **out, uint32_t *n, tnb_err *err)
{
    *out = calloc(json_array_size(list) + 1, sizeof **out);
    if (!*out)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a list of copies");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        int from = read_index(o, "from", m->n_tensors), to = read_index(o, "to", m->n_tensors);
        if (from < 0 || to < 0 ||
            memcmp(m->tensors[from].dims, m->tensors[to].dims, sizeof m->tensors[from].dims) != 0)
            return bad(m, err, "a copy");
        (*out)[(*n)++] = (struct copy){(uint32_t)from, (uint32_t)to};
    }
    return TNB_OK;
}

/* ---- operations ---- */

enum { MAX_IN = 8 };
struct site {
    struct module *m;
    const json_t *o;
    cl_ml_tensor_qcom in[MAX_IN], out;
    const struct tensor *first, *result; /* in[0] and out */
    const struct tensor *tensors[MAX_IN];
    uint32_t n;
    cl_arithmetic_mode_qcom arithmetic;
    cl_ml_op_qcom op;
    cl_int code;
};

static double
number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* pads before h, w and after h, w; strides; dilation or window. */
static bool
window(const struct site *s, const char *last, cl_uint pads[4], cl_uint strides[2], cl_uint size[2])
{
    return read_ints(json_object_get(s->o, "pads"), 0, INT32_MAX, 4, pads) &&
           read_ints(json_object_get(s->o, "strides"), 1, INT32_MAX, 2, strides) &&
           read_ints(json_object_get(s->o, last), 1, INT32_MAX, 2, size);
}

static void
epsilon_of(const json_t *o, cl_ml_op_properties_qcom out[3])
{
    float epsilon = (float)number(o, "epsilon");
    uint32_t bits; /* a property is wider than a float: the rest of it is zeros */
    memcpy(&bits, &epsilon, sizeof bits);
    out[0] = CL_ML_BATCH_NORM_OP_EPSILON_QCOM;
    out[1] = (cl_ml_op_properties_qcom)bits;
    out[2] = CL_ML_OP_PROPERTY_LIST_END_QCOM;
}

static bool
activation_of(const json_t *o, cl_activation_function_qcom *out)
{
    *out = is_text(o, "activation", "relu6") ? CL_ACTIVATION_RELU6 : CL_ACTIVATION_RELU;
    return is_text(o, "activation", "relu6") || is_text(o, "activation", "relu");
}

static bool
convolution(struct site *s)
{
    const struct api *api = &s->m->api;
    cl_context ctx = s->m->device->context;
    cl_uint p[4], st[2], d[2];
    cl_activation_function_qcom function;
    cl_ml_op_properties_qcom props[3];
    bool acts = activation_of(s->o, &function), norm = s->n == 7;
    if ((s->n != 3 && !norm) || !window(s, "dilation", p, st, d))
        return false;
    epsilon_of(s->o, props);
    cl_ml_op_convolution_desc_qcom conv = {is_text(s->o, "mode", "depthwise")
                                               ? CL_CONVOLUTION_MODE_DEPTHWISE_QCOM
                                           : is_text(s->o, "mode", "transposed")
                                               ? CL_CONVOLUTION_MODE_TRANSPOSE_QCOM
                                               : CL_CONVOLUTION_MODE_CONVOLUTION_QCOM,
                                           1, /* groups: a depthwise one is a mode */
                                           4,
                                           {p[0], p[1]},
                                           {p[2], p[3]},
                                           {st[0], st[1]},
                                           {d[0], d[1]},
                                           0,
                                           s->arithmetic};
    cl_ml_op_activation_desc_qcom act = {function, CL_PROPAGATE_NAN_QCOM, s->arithmetic};
    cl_ml_op_batchnorm_desc_qcom bn = {CL_BATCHNORM_MODE_SPATIAL_QCOM, s->arithmetic};
    cl_ml_tensor_qcom x = s->in[0], w = s->in[1], b = s->in[2];
    if (norm && acts)
        s->code = api->clCreateMLOpFusedConvolutionBatchNormActivationForwardQCOM(
            ctx, props, &conv, &bn, &act, x, w, b, s->out, NULL, s->in[3], s->in[4], s->in[5],
            s->in[6], &s->op, NULL);
    else if (norm)
        s->code =
            api->clCreateMLOpFusedConvolutionBatchNormForwardQCOM(ctx, props, &conv, &bn, x, w, b,
                                                                  s->out, s->in[3], s->in[4],
                                                                  s->in[5], s->in[6], &s->op, NULL);
    else if (acts)
        s->code =
            api->clCreateMLOpFusedConvolutionActivationForwardQCOM(ctx, NULL, &conv, &act, x, w, b,
                                                                   NULL, s->out, &s->op, NULL);
    else
        s->code = api->clCreateMLOpConvolutionForwardQCOM(ctx, NULL, &conv, x, w, b, s->out, &s->op,
                                                          NULL);
    return true;
}

static bool
batch_norm(struct site *s)
{
    cl_ml_op_properties_qcom props[3];
    cl_ml_op_batchnorm_desc_qcom bn = {CL_BATCHNORM_MODE_SPATIAL_QCOM, s->arithmetic};
    if (s->n != 5)
        return false;
    epsilon_of(s->o, props);
    s->code = s->m->api.clCreateMLOpBatchNormForwardQCOM(s->m->device->context, props, &bn,
                                                         s->in[0], s->in[1], s->in[2], s->in[3],
                                                         s->in[4], s->out, &s->op, NULL);
    return true;
}

static bool
pool(struct site *s)
{
    cl_uint p[4], st[2], w[2];
    if (s->n != 1 || !window(s, "window", p, st, w))
        return false;
    cl_ml_op_pooling_desc_qcom d = {is_text(s->o, "mode", "max")
                                        ? CL_POOLING_MODE_MAX_QCOM
                                        : CL_POOLING_MODE_AVERAGE_EXCLUDE_PADDING_QCOM,
                                    4,
                                    {p[0], p[1]},
                                    {p[2], p[3]},
                                    {st[0], st[1]},
                                    {w[0], w[1]},
                                    CL_PROPAGATE_NAN_QCOM,
                                    s->arithmetic};
    s->code = s->m->api.clCreateMLOpPoolingForwardQCOM(s->m->device->context, NULL, &d, s->in[0],
                                                       s->m->none, s->out, &s->op, NULL);
    return true;
}

static bool
activation(struct site *s)
{
    cl_activation_function_qcom function;
    if (s->n != 1 || !activation_of(s->o, &function))
        return false;
    cl_ml_op_activation_desc_qcom d = {function, CL_PROPAGATE_NAN_QCOM, s->arithmetic};
    s->code = s->m->api.clCreateMLOpActivationForwardQCOM(s->m->device->context, NULL, &d, s->in[0],
                                                          s->m->none, s->out, &s->op, NULL);
    return true;
}

static bool
clip(struct site *s)
{
    if (s->n != 1)
        return false;
    cl_ml_op_clip_desc_qcom d = {CL_CLIP_BY_VALUE_QCOM,
                                 {{(cl_float)number(s->o, "max")}, CL_FLOAT},
                                 {{(cl_float)number(s->o, "min")}, CL_FLOAT},
                                 s->arithmetic};
    s->code = s->m->api.clCreateMLOpClipQCOM(s->m->device->context, NULL, &d, s->in[0], s->out,
                                             &s->op, NULL);
    return true;
}

static bool
softmax(struct site *s)
{
    cl_ml_op_softmax_desc_qcom d = {CL_SOFTMAX_ALGORITHM_ACCURATE_QCOM,
                                    CL_SOFTMAX_MODE_SPATIAL_QCOM, s->arithmetic};
    if (s->n != 1)
        return false;
    s->code = s->m->api.clCreateMLOpSoftmaxQCOM(s->m->device->context, NULL, &d, s->in[0], s->out,
                                                &s->op, NULL);
    return true;
}

static bool
reshape(struct site *s)
{
    if (s->n != 1)
        return false;
    s->code = s->m->api.clCreateMLOpReshapeQCOM(s->m->device->context, NULL, s->in[0], s->out,
                                                &s->op, NULL);
    return true;
}

static bool
concat(struct site *s)
{
    int axis = read_index(s->o, "axis", 4);
    if (s->n < 1 || axis < 0)
        return false;
    cl_ml_op_concat_desc_qcom d = {(cl_uint)axis, s->n, s->arithmetic};
    s->code = s->m->api.clCreateMLOpConcatQCOM(s->m->device->context, NULL, &d, s->in, s->out,
                                               &s->op, NULL);
    return true;
}

static bool
fully_connected(struct site *s)
{
    cl_ml_op_fully_connected_desc_qcom d = {1, CL_FC_WEIGHT_TRANSFORM_NONE_QCOM, s->arithmetic};
    if (s->n != 3)
        return false;
    s->code = s->m->api.clCreateMLOpFullyConnectedQCOM(s->m->device->context, NULL, &d, s->in[0],
                                                       s->in[1], s->in[2], s->out, &s->op, NULL);
    return true;
}

/* (m, k, 1, 1) times (1, 1, k, n). */
static bool
gemm(struct site *s)
{
    if (s->n != 2 || !s->tensors[1])
        return false;
    const cl_uint *a = s->first->dims, *b = s->tensors[1]->dims;
    cl_ml_op_gemm_desc_qcom d = {a[0],
                                 b[3],
                                 a[1],
                                 CL_GEMM_TRANSFORM_NONE_QCOM,
                                 CL_GEMM_TRANSFORM_NONE_QCOM,
                                 {{1}, CL_FLOAT},
                                 {{0}, CL_FLOAT},
                                 s->arithmetic};
    s->code = s->m->api.clCreateMLOpGemmQCOM(s->m->device->context, NULL, &d, s->in[0], s->in[1],
                                             s->out, &s->op, NULL);
    return true;
}

static bool
binary(struct site *s)
{
    static const struct {
        const char *name;
        cl_binary_op_qcom op;
    } functions[] = {{"add", CL_TENSOR_OP_ADD_QCOM},      {"subtract", CL_TENSOR_OP_SUB_QCOM},
                     {"multiply", CL_TENSOR_OP_MUL_QCOM}, {"divide", CL_TENSOR_OP_DIV_QCOM},
                     {"minimum", CL_TENSOR_OP_MIN_QCOM},  {"maximum", CL_TENSOR_OP_MAX_QCOM}};
    for (size_t i = 0; s->n == 2 && i < sizeof functions / sizeof *functions; i++) {
        if (!is_text(s->o, "function", functions[i].name))
            continue;
        cl_ml_op_binary_desc_qcom d = {
            functions[i].op, {{1}, CL_FLOAT}, {{1}, CL_FLOAT}, {{0}, CL_FLOAT}, s->arithmetic};
        s->code = s->m->api.clCreateMLOpBinaryQCOM(s->m->device->context, NULL, &d, s->in[0],
                                                   s->in[1], s->out, &s->op, NULL);
        return true;
    }
    return false;
}

static bool
resize(struct site *s)
{
    cl_ml_op_resize_bilinear_desc_qcom d = {is_text(s->o, "place", "align_corners"),
                                            is_text(s->o, "place", "half_pixel"), s->arithmetic};
    if (s->n != 1)
        return false;
    s->code = s->m->api.clCreateMLOpResizeBilinearQCOM(s->m->device->context, NULL, &d, s->in[0],
                                                       s->out, &s->op, NULL);
    return true;
}

static const struct {
    const char *name;
    bool (*make)(
        struct site *s); /* false: the description is broken; else s->code says how it went */
} operations[] = {
    {"convolution", convolution},
    {"batch_norm", batch_norm},
    {"pool", pool},
    {"activation", activation},
    {"clip", clip},
    {"softmax", softmax},
    {"reshape", reshape},
    {"concat", concat},
    {"fully_connected", fully_connected},
    {"gemm", gemm},
    {"binary", binary},
    {"resize", resize},
};

static void
note_use(struct tensor *t, int at)
{
    t->used = true;
    t->first = at < t->first ? at : t->first;
    t->last = at > t->last ? at : t->last;
}

/* Operands of operation `at`. */
static bool
read_operands(struct site *s, int at)
{
    struct module *m = s->m;
    const json_t *in = json_object_get(s->o, "in");
    int out = read_index(s->o, "out", m->n_tensors);
    s->n = (uint32_t)json_array_size(in);
    if (out < 0 || s->n > MAX_IN)
        return false;
    for (uint32_t i = 0; i < s->n; i++) {
        const json_t *v = json_array_get(in, i);
        json_int_t k = json_is_integer(v) ? json_integer_value(v) : -2;
        if (k < -1 || k >= m->n_tensors || (k < 0 && i == 0) || k == out)
            return false;
        s->in[i] = k < 0 ? m->none : m->tensors[k].handle;
        s->tensors[i] = k < 0 ? NULL : &m->tensors[k];
        if (k >= 0)
            note_use(&m->tensors[k], at);
        if (k >= 0 && m->tensors[k].packed)
            note_use(&m->tensors[m->tensors[k].scale], at);
    }
    note_use(&m->tensors[out], at);
    s->out = m->tensors[out].handle;
    s->result = &m->tensors[out];
    s->first = s->tensors[0];
    s->arithmetic =
        s->result->dtype == CL_FLOAT ? CL_ARITHMETIC_MODE_FP32_QCOM : CL_ARITHMETIC_MODE_FP16_QCOM;
    return s->n > 0;
}

static tnb_status
make_ops(struct module *m, const json_t *list, tnb_err *err)
{
    size_t n = json_array_size(list);
    m->ops = calloc(n + 1, sizeof *m->ops);
    if (!m->ops)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %zu operations", n);
    for (; m->n_ops < n; m->n_ops++) {
        struct site s = {.m = m, .o = json_array_get(list, m->n_ops)};
        size_t k = 0;
        while (k < sizeof operations / sizeof *operations &&
               !is_text(s.o, "op", operations[k].name))
            k++;
        if (k == sizeof operations / sizeof *operations || !read_operands(&s, (int)m->n_ops) ||
            !operations[k].make(&s))
            return bad(m, err, "an operation");
        if (s.code != CL_SUCCESS) {
            const cl_uint *x = s.first->dims, *y = s.result->dims;
            return opencl_fail(m->device, s.code, err,
                               "operation %" PRIu32 " (%s, (%u, %u, %u, %u) to (%u, %u, %u, %u))",
                               m->n_ops, operations[k].name, x[0], x[1], x[2], x[3], y[0], y[1],
                               y[2], y[3]);
        }
        m->ops[m->n_ops] = s.op;
    }
    return TNB_OK;
}

/* ---- memory ---- */

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
        m->memory[best] = (struct memory){mem, bytes, last};
    }
    m->memory[best].busy_until = last;
    *out = best;
    return TNB_OK;
}

/* Tensors share memory when none is needed while the other is. What is copied before the first
 * operation is busy from then on, constants always. */
static tnb_status
plan_memory(struct module *m, tnb_err *err)
{
    m->memory = calloc(m->n_tensors + 1, sizeof *m->memory);
    if (!m->memory)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a plan of memory");
    for (uint32_t i = 0; i < m->n_before; i++) {
        struct tensor *to = &m->tensors[m->before[i].to];
        to->first = -1;
        if (m->tensors[m->before[i].from].constant)
            to->last = INT32_MAX;
    }
    for (uint32_t i = 0; i < m->n_after; i++)
        m->tensors[m->after[i].from].last = INT32_MAX;
    for (int at = -1; at < (int)m->n_ops; at++)
        for (uint32_t i = 0; i < m->n_tensors; i++) {
            struct tensor *t = &m->tensors[i];
            cl_uint bytes = 0;
            if (t->first != at || t->arg >= 0)
                continue;
            cl_int e = m->api.clGetMLTensorMemorySizeQCOM(m->device->context, t->handle, &bytes);
            if (e != CL_SUCCESS)
                return opencl_fail(m->device, e, err, "asking for a tensor's size");
            TNB_TRY(own_memory(m, bytes, t->first, t->last, &t->memory, err));
        }
    return TNB_OK;
}

/* Tells the descriptor set where tensors lie: those with memory of their own, or those of arguments. */
static tnb_status
update_set(struct module *m, bool arguments, tnb_err *err)
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

/* ---- recordings ---- */

/* Where the device has recordable queues, the operations become one recording. Operations that use
 * the memory of arguments are enqueued one by one, since that changes from call to call. */
static tnb_status
record(struct module *m, tnb_err *err)
{
    struct opencl_device *d = m->device;
    new_recording_fn begin = (new_recording_fn)entry(d, "clNewRecordingQCOM");
    recording_fn end = (recording_fn)entry(d, "clEndRecordingQCOM");
    cl_int e;
    if (!opencl_has_extension(&d->info, RECORDABLE_EXTENSION) || !begin || !end)
        return TNB_OK;
    for (uint32_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].used && m->tensors[i].arg >= 0)
            return TNB_OK;
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
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(d, e, err, "recording the operations");
}

/* ---- open, close ---- */

static void
close_module(void *module)
{
    struct module *m = module;
    recording_fn release = (recording_fn)entry(m->device, "clReleaseRecordingQCOM");
    (void)clFinish(m->device->queue);
    if (m->recording && release)
        (void)release(m->recording);
    if (m->recorder)
        (void)clReleaseCommandQueue(m->recorder);
    for (uint32_t i = 0; i < m->n_ops; i++)
        (void)m->api.clReleaseMLOpQCOM(m->ops[i]);
    if (m->set)
        (void)m->api.clReleaseMLTensorMemoryDescriptorSetQCOM(m->set);
    for (uint32_t i = 0; i < m->n_tensors; i++)
        (void)m->api.clReleaseMLTensorQCOM(m->tensors[i].handle);
    if (m->none)
        (void)m->api.clReleaseMLTensorQCOM(m->none);
    for (uint32_t i = 0; i < m->n_memory; i++)
        opencl_free(m->device, m->memory[i].mem);
    free(m->tensors);
    free(m->before);
    free(m->after);
    free(m->ops);
    free(m->memory);
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
        return bad(m, err, "its arguments");
    m->n_args = (uint32_t)json_integer_value(args);
    int results = read_index(root, "results", m->n_args + 1);
    if (results < 0)
        return bad(m, err, "its results");
    m->n_results = (uint32_t)results;
    m->args = calloc(m->n_args, sizeof *m->args);
    m->owned = calloc(m->n_args, sizeof *m->owned);
    if (!m->args || !m->owned)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %" PRIu32 " arguments", m->n_args);
    TNB_TRY(load_api(m->device, &m->api, err));
    TNB_TRY(read_tensors(m, json_object_get(root, "tensors"), err));
    TNB_TRY(read_copies(m, json_object_get(root, "before"), &m->before, &m->n_before, err));
    TNB_TRY(read_copies(m, json_object_get(root, "after"), &m->after, &m->n_after, err));
    TNB_TRY(make_ops(m, json_object_get(root, "ops"), err));
    TNB_TRY(plan_memory(m, err));
    cl_int e = m->api.clCreateMLTensorMemoryDescriptorSetQCOM(&m->set);
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "making a descriptor set");
    TNB_TRY(update_set(m, false, err));
    return record(m, err);
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
    tnb_log(TNB_LOG_INFO, "clml: '%s': %s%s; version %d, %s", m->desc->symbol, names,
            at >= sizeof names ? " ..." : "", m->api.major,
            m->recording ? "recorded" : "enqueued one by one");
}

static tnb_status
open_module(void *self, const tnr_external *desc, tnr_device *dev, void **module, tnb_err *err)
{
    (void)self;
    json_error_t je;
    if (strcmp(tnr_device_driver(dev)->name, "opencl") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED, "clml runs on opencl devices, not on '%s'",
                        tnr_device_driver(dev)->name);
    json_t *root = json_loads(desc->payload, 0, &je);
    struct module *m = calloc(1, sizeof *m);
    if (!root || !m) {
        json_decref(root);
        free(m);
        return tnb_fail(err, root ? TNB_NO_MEMORY : TNB_FORMAT, "%s", root ? "no memory" : je.text);
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
    uint64_t offset = t->storage->offset + t->dl.byte_offset;
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
                                (size_t)(t->storage->offset + t->dl.byte_offset),
                                (size_t)t->n_bytes, 0, NULL, NULL);
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
    TNB_TRY(update_set(m, true, err));
    cl_int e = rows < 0 ? CL_SUCCESS : update_ops(m);
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "telling the operations of %" PRId64 " rows", rows);
    e = enqueue_copies(m, m->before, m->n_before);
    if (e != CL_SUCCESS)
        return opencl_fail(m->device, e, err, "copying the arguments");
    if (m->recording)
        e = m->api.clEnqueueRecordingMLOpQCOM(q, m->recording, 0, NULL, 0, NULL, 0, NULL, 0, NULL,
                                              0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL);
    for (uint32_t i = 0; !m->recording && i < m->n_ops && e == CL_SUCCESS; i++)
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
        if (t->open && *rows < 0 && bytes % row == 0 && bytes / row <= INT32_MAX)
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
    TNB_TRY(opencl_alive(m->device, err));
    if (n < 0 || (uint32_t)n != m->n_args)
        return tnb_fail(err, TNB_INVALID, "%d arguments, the function has %" PRIu32, n, m->n_args);
    for (uint32_t i = 0; i < m->n_args; i++) {
        const tnr_tensor *t = args[i].tag == TNR_TENSOR ? args[i].u.tensor : NULL;
        if (!t || !t->storage || tnr_device_handle(t->storage->device) != m->device ||
            !tnr_tensor_is_compact(t))
            return tnb_fail(err, TNB_INVALID,
                            "argument %" PRIu32 " is no compact tensor on the device", i);
        TNB_TRY(check_bytes(m, i, t->n_bytes, &rows, err));
    }
    if (rows == 0)
        return TNB_OK;
    tnb_status st = TNB_OK;
    for (uint32_t i = 0; i < m->n_args && st == TNB_OK; i++)
        st = enter(m, i, args[i].u.tensor, err);
    if (st == TNB_OK)
        st = enqueue(m, rows, err);
    uint32_t inputs = m->n_args - m->n_results;
    for (uint32_t i = 0; i < m->n_args; i++) {
        cl_int e = leave(m, i, args[i].u.tensor, i >= inputs && st == TNB_OK);
        if (e != CL_SUCCESS && st == TNB_OK)
            st = opencl_fail(m->device, e, err, "copying result %" PRIu32, i - inputs);
    }
    return st;
}

const tnr_loader opencl_clml = {
    .size = sizeof(tnr_loader),
    .name = "clml",
    .doc = "Qualcomm's OpenCL ML extension (" EXTENSION ")",
    .open = open_module,
    .call = call,
    .close = close_module,
};

const tnr_loader opencl_clml5 = {
    .size = sizeof(tnr_loader),
    .name = "clml5",
    .doc = "Qualcomm's OpenCL ML extension (" EXTENSION "), of version 5",
    .open = open_module,
    .call = call,
    .close = close_module,
};
