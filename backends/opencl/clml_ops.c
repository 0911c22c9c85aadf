/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: operations of Qualcomm's OpenCL ML extension from their description
 * (clml_payload.c). Members of the extension's structures are given in order, since their names are
 * the vendor's.
 */
#include "clml_rt.h"

#include <math.h>
#include <stdlib.h>

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
    const struct opencl_clml_api *api = &s->m->api;
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
            s->in[6], &s->op, s->m->tuning);
    else if (norm)
        s->code =
            api->clCreateMLOpFusedConvolutionBatchNormForwardQCOM(ctx, props, &conv, &bn, x, w, b,
                                                                  s->out, s->in[3], s->in[4],
                                                                  s->in[5], s->in[6], &s->op,
                                                                  s->m->tuning);
    else if (acts)
        s->code = api->clCreateMLOpFusedConvolutionActivationForwardQCOM(ctx, NULL, &conv, &act, x,
                                                                         w, b, NULL, s->out, &s->op,
                                                                         s->m->tuning);
    else
        s->code = api->clCreateMLOpConvolutionForwardQCOM(ctx, NULL, &conv, x, w, b, s->out, &s->op,
                                                          s->m->tuning);
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
                                                         s->in[4], s->out, &s->op, s->m->tuning);
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
                                                       s->m->none, s->out, &s->op, s->m->tuning);
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
                                                          s->m->none, s->out, &s->op, s->m->tuning);
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
                                             &s->op, s->m->tuning);
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
                                                &s->op, s->m->tuning);
    return true;
}

static bool
reshape(struct site *s)
{
    if (s->n != 1)
        return false;
    s->code = s->m->api.clCreateMLOpReshapeQCOM(s->m->device->context, NULL, s->in[0], s->out,
                                                &s->op, s->m->tuning);
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
                                               &s->op, s->m->tuning);
    return true;
}

static bool
fully_connected(struct site *s)
{
    cl_ml_op_fully_connected_desc_qcom d = {1, CL_FC_WEIGHT_TRANSFORM_NONE_QCOM, s->arithmetic};
    if (s->n != 3)
        return false;
    s->code =
        s->m->api.clCreateMLOpFullyConnectedQCOM(s->m->device->context, NULL, &d, s->in[0],
                                                 s->in[1], s->in[2], s->out, &s->op, s->m->tuning);
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
                                             s->out, &s->op, s->m->tuning);
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
                                                   s->in[1], s->out, &s->op, s->m->tuning);
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
                                                       s->out, &s->op, s->m->tuning);
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
    const int arg = m->tensors[out].arg; /* operations write no input */
    if (arg >= 0 && (uint32_t)arg < m->n_args - m->n_results)
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

tnb_status
opencl_clml_make_ops(struct module *m, const json_t *list, tnb_err *err)
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
            return opencl_clml_bad(m, err, "an operation");
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
