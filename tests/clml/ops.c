/* SPDX-License-Identifier: Apache-2.0 */
/* Making operations in the stand-in: shapes, dtypes, usage and arithmetic mode are checked as a
 * strict driver would.
 *
 * Layouts of weights, where open sources say nothing: a plain convolution's is (O, I, kh, kw), a
 * depthwise one's (C, 1, kh, kw), a transposed one's (I, O, kh, kw).
 */
#include <string.h>

#include "tables.h"

static bool
used(cl_ml_tensor_qcom t)
{
    return t && !t->unused;
}

static size_t
elements(const struct clml_tensor *t)
{
    return (size_t)t->n * t->c * t->h * t->w;
}

static bool
same_shape(const struct clml_tensor *a, const struct clml_tensor *b)
{
    return a->n == b->n && a->c == b->c && a->h == b->h && a->w == b->w;
}

/* A new operation of `kernel` reading in[0..n). */
static cl_int
begin(const char *kernel, cl_context context, cl_arithmetic_mode_qcom arithmetic,
      const cl_ml_tensor_qcom *in, cl_uint n, cl_ml_tensor_qcom out, cl_ml_op_qcom *op)
{
    if (!context || !op)
        return sc_refuse(CL_INVALID_VALUE, "%s: no context or no place for the result", kernel);
    *op = NULL;
    if (sc_refused(kernel))
        return sc_refuse(CL_INVALID_OPERATION, "%s: not on this device", kernel);
    if (!sc_alive(out, SC_TENSOR) || out->unused)
        return sc_refuse(CL_INVALID_VALUE, "%s: the result is no tensor", kernel);
    if (arithmetic < CL_ARITHMETIC_MODE_FP32_QCOM ||
        arithmetic > CL_ARITHMETIC_MODE_FP16_ACC32_QCOM ||
        (out->dtype == CL_FLOAT) != (arithmetic == CL_ARITHMETIC_MODE_FP32_QCOM))
        return sc_refuse(CL_INVALID_VALUE, "%s: arithmetic mode %d for type %#x", kernel,
                         (int)arithmetic, out->dtype);
    for (cl_uint i = 0; i < n; i++) {
        if (!sc_alive(in[i], SC_TENSOR))
            return sc_refuse(CL_INVALID_VALUE, "%s: input %u is no tensor", kernel, i);
        if (!in[i]->unused && !in[i]->scale && in[i]->dtype != out->dtype)
            return sc_refuse(CL_INVALID_VALUE, "%s: input %u has another type", kernel, i);
    }
    struct clml_op *o = sc_new(SC_OP, sizeof *o);
    if (!o)
        return CL_OUT_OF_HOST_MEMORY;
    o->kernel = kernel;
    o->context = context;
    o->n_in = n;
    for (cl_uint i = 0; i < n; i++)
        o->in[i] = in[i]->unused ? NULL : in[i];
    o->out = out;
    *op = o;
    return CL_SUCCESS;
}

/* Undoes `begin`. */
#define NOT(op, ...) (sc_release(*(op)), *(op) = NULL, sc_refuse(CL_INVALID_VALUE, __VA_ARGS__))

static cl_int
tuning(cl_ml_tuningcache_qcom tc)
{
    return !tc || sc_alive(tc, SC_TUNING)
               ? CL_SUCCESS
               : sc_refuse(CL_INVALID_VALUE, "what is given as tuning cache is none");
}

#define ENTER(name)                         \
    cl_int err = sc_enter(#name, "%s", ""); \
    if (err || (err = tuning(tc)))          \
    return err

/* ---- convolution ---- */

/* The extent of a result. */
static long
extent(cl_uint in, cl_uint before, cl_uint after, cl_uint window, cl_uint stride, cl_uint dilation)
{
    return ((long)in + before + after - ((long)window - 1) * dilation - 1) / stride + 1;
}

static cl_int
check_shapes(const cl_ml_op_convolution_desc_qcom *d, const struct clml_op *o, cl_ml_op_qcom *op)
{
    const struct clml_tensor *x = o->in[0], *k = o->in[1], *y = o->out;
    if (d->dims != 4 || d->groups < 1 || !d->stride[0] || !d->stride[1] || !d->dilation[0] ||
        !d->dilation[1])
        return NOT(op, "convolution: dims %u, groups %u, or a stride or dilation of 0", d->dims,
                   d->groups);
    if (d->mode == CL_CONVOLUTION_MODE_TRANSPOSE_QCOM) {
        long h = (long)(x->h - 1) * d->stride[0] + (k->h - 1) * d->dilation[0] + 1 - d->before[0] -
                 d->after[0];
        long w = (long)(x->w - 1) * d->stride[1] + (k->w - 1) * d->dilation[1] + 1 - d->before[1] -
                 d->after[1];
        return d->groups == 1 && k->n == x->c && k->c == y->c && y->n == x->n && y->h >= h &&
                       y->w >= w && y->h < h + d->stride[0] && y->w < w + d->stride[1]
                   ? CL_SUCCESS
                   : NOT(op, "convolution: shapes of a transposed one do not fit");
    }
    long h = extent(x->h, d->before[0], d->after[0], k->h, d->stride[0], d->dilation[0]);
    long w = extent(x->w, d->before[1], d->after[1], k->w, d->stride[1], d->dilation[1]);
    bool depthwise = d->mode == CL_CONVOLUTION_MODE_DEPTHWISE_QCOM;
    if (!depthwise && d->mode != CL_CONVOLUTION_MODE_CONVOLUTION_QCOM)
        return NOT(op, "convolution: mode %d", (int)d->mode);
    if (d->groups != 1) /* as the vendor's: a depthwise one is a mode of its own */
        return NOT(op, "convolution: %u groups", d->groups);
    return y->n == x->n && y->h == h && y->w == w && k->n == y->c &&
                   (depthwise ? k->c == 1 && y->c == x->c : k->c == x->c)
               ? CL_SUCCESS
               : NOT(op, "convolution: shapes do not fit");
}

/* A tensor with a value for each channel of the result. */
static bool
per_channel(const struct clml_tensor *t, const struct clml_tensor *out)
{
    return t->n == 1 && t->c == out->c && t->h == 1 && t->w == 1;
}

/* The epsilon of `props`, exactly as the bits of a float. */
static cl_int
read_epsilon(const cl_ml_op_properties_qcom *props, float *out)
{
    *out = -1;
    for (; props && *props != CL_ML_OP_PROPERTY_LIST_END_QCOM; props += 2) {
        uint32_t bits = (uint32_t)props[1];
        if (props[0] != CL_ML_BATCH_NORM_OP_EPSILON_QCOM || props[1] >> 32)
            return sc_refuse(CL_INVALID_PROPERTY, "property %llu with value %#llx",
                             (unsigned long long)props[0], (unsigned long long)props[1]);
        memcpy(out, &bits, sizeof bits);
    }
    return *out >= 0 ? CL_SUCCESS
                     : sc_refuse(CL_INVALID_PROPERTY, "batch normalization without an epsilon");
}

typedef struct conv {
    cl_context context;
    const cl_ml_op_properties_qcom *props;
    const cl_ml_op_convolution_desc_qcom *desc;
    const cl_ml_op_batchnorm_desc_qcom *bn;
    const cl_ml_op_activation_desc_qcom *act;
    cl_ml_tensor_qcom in[7]; /* input, weight, bias, then mean, variance, scale, shift */
    cl_ml_tensor_qcom out;
} conv;

static int
activation_code(cl_activation_function_qcom f)
{
    return f == CL_ACTIVATION_RELU ? 1 : f == CL_ACTIVATION_RELU6 ? 2 : 0;
}

static cl_int
make_conv(const conv *c, cl_ml_op_qcom *op)
{
    const cl_ml_op_convolution_desc_qcom *d = c->desc;
    if (!d)
        return sc_refuse(CL_INVALID_VALUE, "convolution: no description");
    cl_int err = begin("convolution", c->context, d->arithmetic, c->in, c->bn ? 7 : 3, c->out, op);
    if (err)
        return err;
    struct clml_op *o = *op;
    o->n_in = 7;
    if (!o->in[0] || !o->in[1])
        return NOT(op, "convolution: no input or no weight");
    if ((err = check_shapes(d, o, op)))
        return err;
    for (int i = 2; i < 7; i++)
        if (i == 2 || c->bn) {
            if (o->in[i] && !per_channel(o->in[i], o->out))
                return NOT(op, "convolution: input %d is not (1, %u, 1, 1)", i, o->out->c);
            if (!o->in[i] && i > 2)
                return NOT(op, "convolution: batch normalization without its input %d", i);
        }
    if (c->bn && (err = read_epsilon(c->props, &o->numbers[0]))) {
        sc_release(o);
        *op = NULL;
        return err;
    }
    if (c->act && !activation_code(c->act->function))
        return NOT(op, "convolution: activation %d", (int)c->act->function);
    cl_int params[] = {d->mode == CL_CONVOLUTION_MODE_DEPTHWISE_QCOM   ? 1
                       : d->mode == CL_CONVOLUTION_MODE_TRANSPOSE_QCOM ? 2
                                                                       : 0,
                       1,
                       (cl_int)d->before[0],
                       (cl_int)d->before[1],
                       (cl_int)d->after[0],
                       (cl_int)d->after[1],
                       (cl_int)d->stride[0],
                       (cl_int)d->stride[1],
                       (cl_int)d->dilation[0],
                       (cl_int)d->dilation[1],
                       o->in[2] != NULL,
                       c->bn != NULL,
                       c->act ? activation_code(c->act->function) : 0};
    memcpy(o->params, params, sizeof params);
    return CL_SUCCESS;
}

cl_int
sc_clCreateMLOpConvolutionForwardQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                                      const cl_ml_op_convolution_desc_qcom *d, cl_ml_tensor_qcom in,
                                      cl_ml_tensor_qcom weight, cl_ml_tensor_qcom bias,
                                      cl_ml_tensor_qcom out, cl_ml_op_qcom *op,
                                      cl_ml_tuningcache_qcom tc)
{
    ENTER(clCreateMLOpConvolutionForwardQCOM);
    return make_conv(&(conv){context, props, d, NULL, NULL, {in, weight, bias}, out}, op);
}

cl_int
sc_clCreateMLOpFusedConvolutionActivationForwardQCOM(
    cl_context context, const cl_ml_op_properties_qcom *props,
    const cl_ml_op_convolution_desc_qcom *d, const cl_ml_op_activation_desc_qcom *act,
    cl_ml_tensor_qcom in, cl_ml_tensor_qcom weight, cl_ml_tensor_qcom bias,
    cl_ml_tensor_qcom unused, cl_ml_tensor_qcom out, cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    ENTER(clCreateMLOpFusedConvolutionActivationForwardQCOM);
    if (!act || unused)
        return sc_refuse(CL_INVALID_VALUE,
                         "convolution: no activation, or a tensor that is reserved");
    return make_conv(&(conv){context, props, d, NULL, act, {in, weight, bias}, out}, op);
}

cl_int
sc_clCreateMLOpFusedConvolutionBatchNormForwardQCOM(
    cl_context context, const cl_ml_op_properties_qcom *props,
    const cl_ml_op_convolution_desc_qcom *d, const cl_ml_op_batchnorm_desc_qcom *bn,
    cl_ml_tensor_qcom in, cl_ml_tensor_qcom weight, cl_ml_tensor_qcom bias, cl_ml_tensor_qcom out,
    cl_ml_tensor_qcom mean, cl_ml_tensor_qcom var, cl_ml_tensor_qcom scale, cl_ml_tensor_qcom shift,
    cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    ENTER(clCreateMLOpFusedConvolutionBatchNormForwardQCOM);
    if (!bn || bn->mode != CL_BATCHNORM_MODE_SPATIAL_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "convolution: batch normalization without its mode");
    return make_conv(
        &(conv){context, props, d, bn, NULL, {in, weight, bias, mean, var, scale, shift}, out}, op);
}

cl_int
sc_clCreateMLOpFusedConvolutionBatchNormActivationForwardQCOM(
    cl_context context, const cl_ml_op_properties_qcom *props,
    const cl_ml_op_convolution_desc_qcom *d, const cl_ml_op_batchnorm_desc_qcom *bn,
    const cl_ml_op_activation_desc_qcom *act, cl_ml_tensor_qcom in, cl_ml_tensor_qcom weight,
    cl_ml_tensor_qcom bias, cl_ml_tensor_qcom out, cl_ml_tensor_qcom unused, cl_ml_tensor_qcom mean,
    cl_ml_tensor_qcom var, cl_ml_tensor_qcom scale, cl_ml_tensor_qcom shift, cl_ml_op_qcom *op,
    cl_ml_tuningcache_qcom tc)
{
    ENTER(clCreateMLOpFusedConvolutionBatchNormActivationForwardQCOM);
    if (!bn || bn->mode != CL_BATCHNORM_MODE_SPATIAL_QCOM || !act || unused)
        return sc_refuse(CL_INVALID_VALUE, "convolution: batch normalization without its mode, no "
                                           "activation, or a tensor that is reserved");
    return make_conv(
        &(conv){context, props, d, bn, act, {in, weight, bias, mean, var, scale, shift}, out}, op);
}

/* ---- others ---- */

cl_int
sc_clCreateMLOpActivationForwardQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                                     const cl_ml_op_activation_desc_qcom *d, cl_ml_tensor_qcom in,
                                     cl_ml_tensor_qcom unused, cl_ml_tensor_qcom out,
                                     cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpActivationForwardQCOM);
    if (!d || !activation_code(d->function) || d->nan != CL_PROPAGATE_NAN_QCOM || used(unused))
        return sc_refuse(CL_INVALID_VALUE, "activation: no function known");
    if ((err = begin("activation", context, d->arithmetic, &in, 1, out, op)))
        return err;
    (*op)->params[0] = activation_code(d->function);
    return (*op)->in[0] && same_shape(in, out) ? CL_SUCCESS : NOT(op, "activation: shapes differ");
}

cl_int
sc_clCreateMLOpClipQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                        const cl_ml_op_clip_desc_qcom *d, cl_ml_tensor_qcom in,
                        cl_ml_tensor_qcom out, cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpClipQCOM);
    if (!d || d->mode != CL_CLIP_BY_VALUE_QCOM || d->min.type != CL_FLOAT ||
        d->max.type != CL_FLOAT)
        return sc_refuse(CL_INVALID_VALUE, "clip: not by values that are floats");
    if ((err = begin("clip", context, d->arithmetic, &in, 1, out, op)))
        return err;
    (*op)->numbers[0] = d->min.value.f;
    (*op)->numbers[1] = d->max.value.f;
    return (*op)->in[0] && same_shape(in, out) ? CL_SUCCESS : NOT(op, "clip: shapes differ");
}

cl_int
sc_clCreateMLOpPoolingForwardQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                                  const cl_ml_op_pooling_desc_qcom *d, cl_ml_tensor_qcom in,
                                  cl_ml_tensor_qcom unused, cl_ml_tensor_qcom out,
                                  cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpPoolingForwardQCOM);
    if (!d || d->dims != 4 || used(unused) || d->nan != CL_PROPAGATE_NAN_QCOM || !d->stride[0] ||
        !d->stride[1] || !d->window[0] || !d->window[1] ||
        (d->mode != CL_POOLING_MODE_MAX_QCOM &&
         d->mode != CL_POOLING_MODE_AVERAGE_EXCLUDE_PADDING_QCOM))
        return sc_refuse(CL_INVALID_VALUE, "pooling: mode, window or stride");
    if ((err = begin("pooling", context, d->arithmetic, &in, 1, out, op)))
        return err;
    if (!(*op)->in[0] || out->n != in->n || out->c != in->c ||
        out->h != extent(in->h, d->before[0], d->after[0], d->window[0], d->stride[0], 1) ||
        out->w != extent(in->w, d->before[1], d->after[1], d->window[1], d->stride[1], 1))
        return NOT(op, "pooling: shapes do not fit");
    cl_int params[] = {d->mode == CL_POOLING_MODE_MAX_QCOM,
                       0,
                       (cl_int)d->before[0],
                       (cl_int)d->before[1],
                       (cl_int)d->after[0],
                       (cl_int)d->after[1],
                       (cl_int)d->stride[0],
                       (cl_int)d->stride[1],
                       (cl_int)d->window[0],
                       (cl_int)d->window[1]};
    memcpy((*op)->params, params, sizeof params);
    return CL_SUCCESS;
}

cl_int
sc_clCreateMLOpBatchNormForwardQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                                    const cl_ml_op_batchnorm_desc_qcom *d, cl_ml_tensor_qcom in,
                                    cl_ml_tensor_qcom mean, cl_ml_tensor_qcom var,
                                    cl_ml_tensor_qcom scale, cl_ml_tensor_qcom shift,
                                    cl_ml_tensor_qcom out, cl_ml_op_qcom *op,
                                    cl_ml_tuningcache_qcom tc)
{
    ENTER(clCreateMLOpBatchNormForwardQCOM);
    float epsilon = 0;
    if (!d || d->mode != CL_BATCHNORM_MODE_SPATIAL_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "batch normalization: no mode known");
    if ((err = read_epsilon(props, &epsilon)))
        return err;
    cl_ml_tensor_qcom all[] = {in, mean, var, scale, shift};
    if ((err = begin("batch_norm", context, d->arithmetic, all, 5, out, op)))
        return err;
    (*op)->numbers[0] = epsilon;
    for (int i = 1; i < 5; i++)
        if (!(*op)->in[i] || !per_channel(all[i], out))
            return NOT(op, "batch normalization: input %d is not (1, %u, 1, 1)", i, out->c);
    return (*op)->in[0] && same_shape(in, out) ? CL_SUCCESS
                                               : NOT(op, "batch normalization: shapes differ");
}

cl_int
sc_clCreateMLOpSoftmaxQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                           const cl_ml_op_softmax_desc_qcom *d, cl_ml_tensor_qcom in,
                           cl_ml_tensor_qcom out, cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpSoftmaxQCOM);
    if (!d || d->algorithm != CL_SOFTMAX_ALGORITHM_ACCURATE_QCOM ||
        d->mode != CL_SOFTMAX_MODE_SPATIAL_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "softmax: algorithm or mode");
    if ((err = begin("softmax", context, d->arithmetic, &in, 1, out, op)))
        return err;
    return (*op)->in[0] && same_shape(in, out) ? CL_SUCCESS : NOT(op, "softmax: shapes differ");
}

cl_int
sc_clCreateMLOpPadQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                       const cl_ml_op_pad_desc_qcom *d, cl_ml_tensor_qcom in, cl_ml_tensor_qcom out,
                       cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpPadQCOM);
    if (!d || d->mode < CL_PAD_MODE_CONSTANT_QCOM || d->mode > CL_PAD_MODE_REFLECT_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "pad: mode");
    for (int i = 4; i < 8; i++)
        if (d->pads[i])
            return sc_refuse(CL_INVALID_VALUE, "pad: pads beyond h and w");
    if ((err = begin("pad", context, d->arithmetic, &in, 1, out, op)))
        return err;
    if (!(*op)->in[0] || out->n != in->n || out->c != in->c ||
        out->h != in->h + d->pads[0] + d->pads[2] || out->w != in->w + d->pads[1] + d->pads[3])
        return NOT(op, "pad: shapes do not fit");
    (*op)->params[0] = (cl_int)(d->mode - CL_PAD_MODE_CONSTANT_QCOM);
    (*op)->params[2] = (cl_int)d->pads[0];
    (*op)->params[3] = (cl_int)d->pads[1];
    return CL_SUCCESS;
}

cl_int
sc_clCreateMLOpDepthToSpaceQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                                const cl_ml_op_depthtospace_desc_qcom *d, cl_ml_tensor_qcom in,
                                cl_ml_tensor_qcom out, cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpDepthToSpaceQCOM);
    if (!d || !d->block)
        return sc_refuse(CL_INVALID_VALUE, "depth to space: no block");
    if ((err = begin("depth_to_space", context, d->arithmetic, &in, 1, out, op)))
        return err;
    (*op)->params[0] = (cl_int)d->block;
    return (*op)->in[0] && out->n == in->n && out->c * d->block * d->block == in->c &&
                   out->h == in->h * d->block && out->w == in->w * d->block
               ? CL_SUCCESS
               : NOT(op, "depth to space: shapes do not fit");
}

cl_int
sc_clCreateMLOpResizeBilinearQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                                  const cl_ml_op_resize_bilinear_desc_qcom *d, cl_ml_tensor_qcom in,
                                  cl_ml_tensor_qcom out, cl_ml_op_qcom *op,
                                  cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpResizeBilinearQCOM);
    if (!d || (d->align_corners && d->half_pixel))
        return sc_refuse(CL_INVALID_VALUE, "resize: corners and half pixels at once");
    if ((err = begin("resize", context, d->arithmetic, &in, 1, out, op)))
        return err;
    (*op)->params[0] = d->align_corners != 0;
    (*op)->params[1] = d->half_pixel != 0;
    return (*op)->in[0] && out->n == in->n && out->c == in->c
               ? CL_SUCCESS
               : NOT(op, "resize: shapes do not fit");
}

cl_int
sc_clCreateMLOpReshapeQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                           cl_ml_tensor_qcom in, cl_ml_tensor_qcom out, cl_ml_op_qcom *op,
                           cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpReshapeQCOM);
    cl_arithmetic_mode_qcom any = sc_alive(out, SC_TENSOR) && out->dtype == CL_FLOAT
                                      ? CL_ARITHMETIC_MODE_FP32_QCOM
                                      : CL_ARITHMETIC_MODE_FP16_QCOM;
    if ((err = begin("reshape", context, any, &in, 1, out, op)))
        return err;
    return (*op)->in[0] && elements(in) == elements(out)
               ? CL_SUCCESS
               : NOT(op, "reshape: the numbers of elements differ");
}

cl_int
sc_clCreateMLOpConcatQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                          const cl_ml_op_concat_desc_qcom *d, const cl_ml_tensor_qcom *in,
                          cl_ml_tensor_qcom out, cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpConcatQCOM);
    if (!d || d->axis > 3 || d->n < 1 || d->n > SC_MAX_TENSORS)
        return sc_refuse(CL_INVALID_VALUE, "concat: axis or number of tensors");
    if ((err = begin("concat", context, d->arithmetic, in, d->n, out, op)))
        return err;
    cl_uint want[4] = {out->n, out->c, out->h, out->w}, sum = 0;
    for (cl_uint i = 0; i < d->n; i++) {
        if (!(*op)->in[i])
            return NOT(op, "concat: input %u is not used", i);
        cl_uint have[4] = {in[i]->n, in[i]->c, in[i]->h, in[i]->w};
        for (cl_uint k = 0; k < 4; k++)
            if (k != d->axis && have[k] != want[k])
                return NOT(op, "concat: input %u has another extent of dimension %u", i, k);
        sum += have[d->axis];
    }
    (*op)->params[0] = (cl_int)d->axis;
    return sum == want[d->axis] ? CL_SUCCESS : NOT(op, "concat: the extents do not add up");
}

/* The weight's last two dimensions are the matrix; the result's last one, or its channels where the
 * last two are 1, are its columns. */
cl_int
sc_clCreateMLOpFullyConnectedQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                                  const cl_ml_op_fully_connected_desc_qcom *d, cl_ml_tensor_qcom in,
                                  cl_ml_tensor_qcom weight, cl_ml_tensor_qcom bias,
                                  cl_ml_tensor_qcom out, cl_ml_op_qcom *op,
                                  cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpFullyConnectedQCOM);
    if (!d || d->axis != 1 || d->transform < CL_FC_WEIGHT_TRANSFORM_NONE_QCOM ||
        d->transform > CL_FC_WEIGHT_TRANSFORM_TRANSPOSE_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "fully connected: axis or transform");
    cl_ml_tensor_qcom all[] = {in, weight, bias};
    if ((err = begin("fully_connected", context, d->arithmetic, all, 3, out, op)))
        return err;
    struct clml_op *o = *op;
    if (!o->in[0] || !o->in[1])
        return NOT(op, "fully connected: no input or no weight");
    bool transposed = d->transform == CL_FC_WEIGHT_TRANSFORM_TRANSPOSE_QCOM;
    cl_uint k = transposed ? weight->w : weight->h, n = transposed ? weight->h : weight->w;
    if (weight->scale) {
        const struct clml_tensor *s = weight->scale;
        k *= 8;
        if (transposed || s->h * 32 != k || s->w != n || s->n != 1 || s->c != 1)
            return NOT(op, "fully connected: scales are not (1, 1, K / 32, N)");
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 4
        if (weight->usage != CL_TENSOR_USAGE_PARAMETER_QCOM ||
            in->usage != CL_TENSOR_USAGE_TNN_QCOM || out->usage != CL_TENSOR_USAGE_TNN_QCOM)
            return NOT(op, "fully connected: tensors of another usage with a quantized weight");
#endif
        o->kernel = "fully_connected_q4";
        o->in[3] = weight->scale;
        o->n_in = 4;
    }
    if (weight->n != 1 || weight->c != 1 || !k || !n || elements(in) % k ||
        elements(in) / k * n != elements(out) ||
        (out->w != n && (out->c != n || out->h != 1 || out->w != 1)))
        return NOT(op, "fully connected: shapes do not fit");
    if (o->in[2] && elements(bias) != n)
        return NOT(op, "fully connected: the bias has not %u elements", n);
    o->params[0] = transposed;
    o->params[1] = (cl_int)k;
    o->params[2] = (cl_int)n;
    o->params[10] = o->in[2] != NULL;
    return CL_SUCCESS;
}

cl_int
sc_clCreateMLOpGemmQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                        const cl_ml_op_gemm_desc_qcom *d, cl_ml_tensor_qcom a, cl_ml_tensor_qcom b,
                        cl_ml_tensor_qcom c, cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpGemmQCOM);
    if (!d || d->alpha.type != CL_FLOAT || d->beta.type != CL_FLOAT)
        return sc_refuse(CL_INVALID_VALUE, "gemm: no factors that are floats");
    cl_ml_tensor_qcom in[] = {a, b};
    if ((err = begin("gemm", context, d->arithmetic, in, 2, c, op)))
        return err;
    struct clml_op *o = *op;
    if (!o->in[0] || !o->in[1] || a->layout != CL_TENSOR_LAYOUT_NCHW_QCOM ||
        b->layout != CL_TENSOR_LAYOUT_NCHW_QCOM || c->layout != CL_TENSOR_LAYOUT_NCHW_QCOM)
        return NOT(op, "gemm: a tensor that is not NCHW");
    if (elements(a) != (size_t)d->m * d->k || elements(b) != (size_t)d->k * d->n ||
        elements(c) != (size_t)d->m * d->n)
        return NOT(op, "gemm: shapes do not fit");
    o->params[0] = (cl_int)d->m;
    o->params[1] = (cl_int)d->n;
    o->params[2] = (cl_int)d->k;
    o->params[3] = d->a == CL_GEMM_TRANSFORM_TRANSPOSE_QCOM;
    o->params[4] = d->b == CL_GEMM_TRANSFORM_TRANSPOSE_QCOM;
    o->numbers[0] = d->alpha.value.f;
    o->numbers[1] = d->beta.value.f;
    return CL_SUCCESS;
}

cl_int
sc_clCreateMLOpBinaryQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                          const cl_ml_op_binary_desc_qcom *d, cl_ml_tensor_qcom a,
                          cl_ml_tensor_qcom b, cl_ml_tensor_qcom out, cl_ml_op_qcom *op,
                          cl_ml_tuningcache_qcom tc)
{
    (void)props;
    ENTER(clCreateMLOpBinaryQCOM);
    if (!d || d->op < CL_TENSOR_OP_ADD_QCOM || d->op > CL_TENSOR_OP_MAX_QCOM ||
        d->alpha.type != CL_FLOAT || d->beta.type != CL_FLOAT || d->gamma.type != CL_FLOAT)
        return sc_refuse(CL_INVALID_VALUE, "binary: operation or factors");
    cl_ml_tensor_qcom in[] = {a, b};
    if ((err = begin("binary", context, d->arithmetic, in, 2, out, op)))
        return err;
    if (!(*op)->in[0] || !(*op)->in[1] || !same_shape(a, out) || !same_shape(b, out))
        return NOT(op, "binary: shapes differ");
    (*op)->params[0] = (cl_int)(d->op - CL_TENSOR_OP_ADD_QCOM);
    (*op)->numbers[0] = d->alpha.value.f;
    (*op)->numbers[1] = d->beta.value.f;
    (*op)->numbers[2] = d->gamma.value.f;
    return CL_SUCCESS;
}

cl_int
sc_clReleaseMLOpQCOM(cl_ml_op_qcom op)
{
    cl_int err = sc_enter("clReleaseMLOpQCOM", "%s", "");
    if (err)
        return err;
    if (!sc_alive(op, SC_OP))
        return sc_refuse(CL_INVALID_VALUE, "release of what is no operation");
    sc_release(op);
    return CL_SUCCESS;
}
