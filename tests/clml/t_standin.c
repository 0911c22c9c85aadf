/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in against formulas written here: every operation in both dtypes and three layouts, what it
 * has to refuse, recordings, memory on the chip, faults and leaks. Ends with 77 (skipped) where there
 * is no OpenCL device.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "CL/cl_qcom_ml_ops.h"

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static CLMLInterfaceV5QCOM *ml;
static cl_channel_type dtype = CL_FLOAT;
static cl_ml_tensor_layout_qcom layout = CL_TENSOR_LAYOUT_OPTIMAL_QCOM;
static char log_file[64];

static void *
entry(const char *name)
{
    return clGetExtensionFunctionAddressForPlatform(platform, name);
}

static cl_arithmetic_mode_qcom
mode(void)
{
    return dtype == CL_FLOAT ? CL_ARITHMETIC_MODE_FP32_QCOM : CL_ARITHMETIC_MODE_FP16_QCOM;
}

/* ---- tensors with their values ---- */

typedef struct value {
    cl_ml_tensor_qcom t;
    cl_mem memory;
    uint32_t n, c, h, w;
    float *v; /* in the order of NCHW */
} value;

static uint32_t seed = 1;
static float
draw(void)
{
    seed = seed * 1664525u + 1013904223u;
    return ((int)(seed >> 16) % 65 - 32) / 16.0f; /* exact as half */
}

static uint16_t
half(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    int e = (int)(u >> 23 & 255) - 112;
    return f == 0 ? 0 : (uint16_t)((u >> 16 & 0x8000) | (uint32_t)e << 10 | (u >> 13 & 0x3ff));
}

static float
of_half(uint16_t h)
{
    if (h == 0)
        return 0;
    int e = h >> 10 & 31;
    if (e == 31)
        return h & 0x3ff ? NAN : INFINITY;
    float m = e ? 1 + (h & 0x3ff) / 1024.0f : (h & 0x3ff) / 1024.0f,
          v = ldexpf(m, e ? e - 15 : -14);
    return h & 0x8000 ? -v : v;
}

static value
tensor_as(uint32_t n, uint32_t c, uint32_t h, uint32_t w, cl_ml_tensor_usage_qcom usage)
{
    value x = {.n = n, .c = c, .h = h, .w = w, .v = calloc((size_t)n * c * h * w, sizeof(float))};
    cl_ml_tensor_desc_qcom d = {dtype, layout, n, c, h, w, 0, CL_TENSOR_DIMENSIONS_4D_QCOM, {0}};
    cl_uint bytes = 0;
    cl_int err;
    assert_int_equal(ml->clCreateMLTensorWithUsageQCOM(context, NULL, &d, usage, &x.t), CL_SUCCESS);
    assert_int_equal(ml->clGetMLTensorMemorySizeQCOM(context, x.t, &bytes), CL_SUCCESS);
    if (layout == CL_TENSOR_LAYOUT_OPTIMAL_QCOM)
        assert_true(bytes > (size_t)n * c * h * w * (dtype == CL_FLOAT ? 4 : 2));
    x.memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    assert_int_equal(err, CL_SUCCESS);
    return x;
}

static value
tensor(uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
    return tensor_as(n, c, h, w, CL_TENSOR_USAGE_CNN_QCOM);
}

static size_t
count(const value *x)
{
    return (size_t)x->n * x->c * x->h * x->w;
}

static void
upload(const value *x)
{
    uint16_t *halves = calloc(count(x), 2);
    for (size_t i = 0; i < count(x); i++)
        halves[i] = half(x->v[i]);
    const void *host = dtype == CL_FLOAT ? (const void *)x->v : halves;
    assert_int_equal(ml->clEnqueueWriteMLTensorDataQCOM(queue, host, CL_TENSOR_LAYOUT_NCHW_QCOM,
                                                        x->t, x->memory, 0, NULL, NULL),
                     CL_SUCCESS);
    clFinish(queue);
    free(halves);
}

static value
random_tensor(uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
    value x = tensor(n, c, h, w);
    for (size_t i = 0; i < count(&x); i++)
        x.v[i] = draw();
    upload(&x);
    return x;
}

static value
no_tensor(void)
{
    value x = {0};
    cl_ml_tensor_desc_qcom d = {.num_dimensions = CL_TENSOR_UNUSED_QCOM};
    assert_int_equal(ml->clCreateMLTensorWithUsageQCOM(context, NULL, &d,
                                                       CL_TENSOR_USAGE_UNUSED_QCOM, &x.t),
                     CL_SUCCESS);
    return x;
}

static void
drop(value *x)
{
    if (x->memory)
        clReleaseMemObject(x->memory);
    assert_int_equal(ml->clReleaseMLTensorQCOM(x->t), CL_SUCCESS);
    free(x->v);
}

static float
get(const value *x, int n, int c, int h, int w)
{
    return h < 0 || w < 0 || h >= (int)x->h || w >= (int)x->w
               ? 0
               : x->v[((n * x->c + c) * x->h + h) * x->w + w];
}

/* Reads the result and compares it with out->v. */
static void
compare(const value *out)
{
    size_t n = count(out);
    float *got = calloc(n, sizeof *got);
    uint16_t *halves = calloc(n, 2);
    void *host = dtype == CL_FLOAT ? (void *)got : halves;
    cl_event e;
    assert_int_equal(ml->clEnqueueReadMLTensorDataQCOM(queue, out->t, out->memory, host,
                                                       CL_TENSOR_LAYOUT_NCHW_QCOM, 0, NULL, &e),
                     CL_SUCCESS);
    clWaitForEvents(1, &e);
    clReleaseEvent(e);
    for (size_t i = 0; i < n; i++) {
        float g = dtype == CL_FLOAT ? got[i] : of_half(halves[i]),
              tolerance = (dtype == CL_FLOAT ? 1e-5f : 4e-3f) * (1 + fabsf(out->v[i]));
        if (!(fabsf(g - out->v[i]) <= tolerance))
            fail_msg("element %zu: %g where %g is right", i, (double)g, (double)out->v[i]);
    }
    free(got);
    free(halves);
}

/* Runs `op` on tensors that all have memory, and compares. */
static void
run(cl_ml_op_qcom op, const value *const *all, cl_uint n, const value *out)
{
    cl_ml_tensor_mem_desc_set_qcom set;
    cl_ml_tensor_memory_desc_qcom entries[12];
    cl_uint k = 0;
    for (cl_uint i = 0; i < n; i++)
        if (all[i]->memory)
            entries[k++] = (cl_ml_tensor_memory_desc_qcom){all[i]->t, all[i]->memory};
    entries[k++] = (cl_ml_tensor_memory_desc_qcom){out->t, out->memory};
    assert_int_equal(ml->clCreateMLTensorMemoryDescriptorSetQCOM(&set), CL_SUCCESS);
    assert_int_equal(ml->clUpdateMLTensorMemoryDescriptorSetQCOM(set, k - 1, entries), CL_SUCCESS);
    assert_int_not_equal(ml->clEnqueueMLOpQCOM(queue, op, set, 0, NULL, NULL), CL_SUCCESS);
    assert_int_equal(ml->clUpdateMLTensorMemoryDescriptorSetQCOM(set, k, entries), CL_SUCCESS);
    cl_event e;
    assert_int_equal(ml->clEnqueueMLOpQCOM(queue, op, set, 0, NULL, &e), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &e), CL_SUCCESS);
    cl_ulong from = 0, to = 0;
    assert_int_equal(clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_START, sizeof from, &from,
                                             NULL),
                     CL_SUCCESS);
    clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL);
    assert_true(to >= from);
    clReleaseEvent(e);
    compare(out);
    assert_int_equal(ml->clReleaseMLOpQCOM(op), CL_SUCCESS);
    assert_int_equal(ml->clReleaseMLTensorMemoryDescriptorSetQCOM(set), CL_SUCCESS);
}

static void
in_every_form(void (*test)(void))
{
    const cl_channel_type dtypes[] = {CL_FLOAT, CL_HALF_FLOAT};
    for (int d = 0; d < 2; d++)
        for (int l = CL_TENSOR_LAYOUT_NCHW_QCOM; l <= CL_TENSOR_LAYOUT_OPTIMAL_QCOM; l++) {
            dtype = dtypes[d];
            layout = (cl_ml_tensor_layout_qcom)l;
            test();
        }
    dtype = CL_FLOAT;
    layout = CL_TENSOR_LAYOUT_OPTIMAL_QCOM;
}

/* ---- operations ---- */

static float
relu6(float v)
{
    return v < 0 ? 0 : v > 6 ? 6 : v;
}

static void
conv_form(int depthwise)
{
    uint32_t oc = depthwise ? 5 : 6;
    value x = random_tensor(2, 5, 6, 7), k = random_tensor(oc, depthwise ? 1 : 5, 3, 2),
          b = random_tensor(1, oc, 1, 1), mean = random_tensor(1, oc, 1, 1),
          var = random_tensor(1, oc, 1, 1), scale = random_tensor(1, oc, 1, 1),
          shift = random_tensor(1, oc, 1, 1), y = tensor(2, oc, 3, 7);
    for (size_t i = 0; i < oc; i++)
        var.v[i] = fabsf(var.v[i]) + 1;
    upload(&var);
    float epsilon = 0.5f;
    uint32_t bits;
    memcpy(&bits, &epsilon, 4);
    const cl_ml_op_properties_qcom props[] = {CL_ML_BATCH_NORM_OP_EPSILON_QCOM, bits,
                                              CL_ML_OP_PROPERTY_LIST_END_QCOM};
    cl_ml_op_convolution_desc_qcom d = {depthwise ? CL_CONVOLUTION_MODE_DEPTHWISE_QCOM
                                                  : CL_CONVOLUTION_MODE_CONVOLUTION_QCOM,
                                        1,
                                        4,
                                        {1, 0},
                                        {1, 1},
                                        {2, 1},
                                        {1, 1},
                                        0,
                                        mode()};
    cl_ml_op_batchnorm_desc_qcom bn = {CL_BATCHNORM_MODE_SPATIAL_QCOM, mode()};
    cl_ml_op_activation_desc_qcom act = {CL_ACTIVATION_RELU6, CL_PROPAGATE_NAN_QCOM, mode()};
    for (int n = 0; n < 2; n++)
        for (int o = 0; o < (int)oc; o++)
            for (int h = 0; h < 3; h++)
                for (int w = 0; w < 7; w++) {
                    double sum = b.v[o];
                    for (int i = 0; i < (depthwise ? 1 : 5); i++)
                        for (int r = 0; r < 3; r++)
                            for (int s = 0; s < 2; s++)
                                sum += (double)get(&x, n, depthwise ? o : i, 2 * h - 1 + r, w + s) *
                                       get(&k, o, i, r, s);
                    sum = (sum - mean.v[o]) / sqrt(var.v[o] + epsilon) * scale.v[o] + shift.v[o];
                    y.v[((n * oc + o) * 3 + h) * 7 + w] = relu6((float)sum);
                }
    cl_ml_op_qcom op;
    assert_int_equal(ml->clCreateMLOpFusedConvolutionBatchNormActivationForwardQCOM(
                         context, props, &d, &bn, &act, x.t, k.t, b.t, y.t, NULL, mean.t, var.t,
                         scale.t, shift.t, &op, NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x, &k, &b, &mean, &var, &scale, &shift}, 7, &y);
    d.groups = 5;
    assert_int_not_equal(ml->clCreateMLOpConvolutionForwardQCOM(context, NULL, &d, x.t, k.t, b.t,
                                                                y.t, &op, NULL),
                         CL_SUCCESS);
    value *all[] = {&x, &k, &b, &mean, &var, &scale, &shift, &y};
    for (int i = 0; i < 8; i++)
        drop(all[i]);
}

static void
conv_plain(void)
{
    conv_form(0);
}
static void
conv_depthwise(void)
{
    conv_form(1);
}

static void
conv_transposed(void)
{
    value x = random_tensor(1, 3, 4, 3), k = random_tensor(3, 2, 3, 3), none = no_tensor(),
          y = tensor(1, 2, 7, 6);
    for (int c = 0; c < 3; c++)
        for (int h = 0; h < 4; h++)
            for (int w = 0; w < 3; w++)
                for (int o = 0; o < 2; o++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++) {
                            int a = 2 * h + r - 1, b = 2 * w + s - 1;
                            if (a >= 0 && b >= 0 && a < 7 && b < 6)
                                y.v[(o * 7 + a) * 6 + b] +=
                                    get(&x, 0, c, h, w) * get(&k, c, o, r, s);
                        }
    cl_ml_op_convolution_desc_qcom d = {
        CL_CONVOLUTION_MODE_TRANSPOSE_QCOM, 1, 4, {1, 1}, {1, 1}, {2, 2}, {1, 1}, 0, mode()};
    cl_ml_op_qcom op;
    assert_int_equal(ml->clCreateMLOpConvolutionForwardQCOM(context, NULL, &d, x.t, k.t, none.t,
                                                            y.t, &op, NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x, &k}, 2, &y);
    value *all[] = {&x, &k, &none, &y};
    for (int i = 0; i < 4; i++)
        drop(all[i]);
}

static void
element_wise(void)
{
    value x = random_tensor(1, 6, 3, 2), z = random_tensor(1, 6, 3, 2), y = tensor(1, 6, 3, 2),
          none = no_tensor();
    size_t n = count(&x);
    cl_ml_op_qcom op;
    cl_ml_op_activation_desc_qcom act = {CL_ACTIVATION_RELU, CL_PROPAGATE_NAN_QCOM, mode()};
    for (size_t i = 0; i < n; i++)
        y.v[i] = x.v[i] < 0 ? 0 : x.v[i];
    assert_int_equal(ml->clCreateMLOpActivationForwardQCOM(context, NULL, &act, x.t, none.t, y.t,
                                                           &op, NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x}, 1, &y);
    cl_ml_op_clip_desc_qcom clip = {CL_CLIP_BY_VALUE_QCOM,
                                    {{1.5f}, CL_FLOAT},
                                    {{-0.5f}, CL_FLOAT},
                                    mode()};
    for (size_t i = 0; i < n; i++)
        y.v[i] = fminf(fmaxf(x.v[i], -0.5f), 1.5f);
    assert_int_equal(ml->clCreateMLOpClipQCOM(context, NULL, &clip, x.t, y.t, &op, NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x}, 1, &y);
    for (int k = CL_TENSOR_OP_ADD_QCOM; k <= CL_TENSOR_OP_MAX_QCOM; k++) {
        cl_ml_op_binary_desc_qcom b = {
            (cl_binary_op_qcom)k, {{1}, CL_FLOAT}, {{1}, CL_FLOAT}, {{0}, CL_FLOAT}, mode()};
        for (size_t i = 0; i < n; i++) {
            float p = x.v[i], q = z.v[i] = z.v[i] == 0 ? 1 : z.v[i];
            y.v[i] = k == CL_TENSOR_OP_ADD_QCOM   ? p + q
                     : k == CL_TENSOR_OP_SUB_QCOM ? p - q
                     : k == CL_TENSOR_OP_MUL_QCOM ? p * q
                     : k == CL_TENSOR_OP_DIV_QCOM ? p / q
                     : k == CL_TENSOR_OP_MIN_QCOM ? fminf(p, q)
                                                  : fmaxf(p, q);
        }
        upload(&z);
        assert_int_equal(ml->clCreateMLOpBinaryQCOM(context, NULL, &b, x.t, z.t, y.t, &op, NULL),
                         CL_SUCCESS);
        run(op, (const value *[]){&x, &z}, 2, &y);
    }
    value *all[] = {&x, &z, &y, &none};
    for (int i = 0; i < 4; i++)
        drop(all[i]);
}

static void
pooling(void)
{
    value x = random_tensor(1, 5, 6, 5), none = no_tensor(), y = tensor(1, 5, 3, 3);
    for (int maximum = 0; maximum < 2; maximum++) {
        cl_ml_op_pooling_desc_qcom d = {maximum ? CL_POOLING_MODE_MAX_QCOM
                                                : CL_POOLING_MODE_AVERAGE_EXCLUDE_PADDING_QCOM,
                                        4,
                                        {1, 1},
                                        {0, 1},
                                        {2, 2},
                                        {3, 3},
                                        CL_PROPAGATE_NAN_QCOM,
                                        mode()};
        for (int c = 0; c < 5; c++)
            for (int h = 0; h < 3; h++)
                for (int w = 0; w < 3; w++) {
                    float sum = 0, top = -INFINITY;
                    int k = 0;
                    for (int a = 2 * h - 1; a < 2 * h + 2; a++)
                        for (int b = 2 * w - 1; b < 2 * w + 2; b++)
                            if (a >= 0 && b >= 0 && a < 6 && b < 5) {
                                sum += get(&x, 0, c, a, b);
                                top = fmaxf(top, get(&x, 0, c, a, b));
                                k++;
                            }
                    y.v[(c * 3 + h) * 3 + w] = maximum ? top : sum / (float)k;
                }
        cl_ml_op_qcom op;
        assert_int_equal(ml->clCreateMLOpPoolingForwardQCOM(context, NULL, &d, x.t, none.t, y.t,
                                                            &op, NULL),
                         CL_SUCCESS);
        run(op, (const value *[]){&x}, 1, &y);
    }
    drop(&x);
    drop(&none);
    drop(&y);
}

static void
softmax_and_moves(void)
{
    value x = random_tensor(1, 8, 2, 3), y = tensor(1, 8, 2, 3), wide = tensor(1, 2, 4, 6),
          flat = tensor(1, 48, 1, 1), padded = tensor(1, 8, 4, 6), both = tensor(1, 16, 2, 3),
          large = tensor(1, 8, 3, 5);
    cl_ml_op_qcom op;
    cl_ml_op_softmax_desc_qcom s = {CL_SOFTMAX_ALGORITHM_ACCURATE_QCOM,
                                    CL_SOFTMAX_MODE_SPATIAL_QCOM, mode()};
    for (int i = 0; i < 6; i++) {
        double sum = 0;
        for (int c = 0; c < 8; c++)
            sum += exp(x.v[c * 6 + i]);
        for (int c = 0; c < 8; c++)
            y.v[c * 6 + i] = (float)(exp(x.v[c * 6 + i]) / sum);
    }
    assert_int_equal(ml->clCreateMLOpSoftmaxQCOM(context, NULL, &s, x.t, y.t, &op, NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x}, 1, &y);

    memcpy(flat.v, x.v, 48 * sizeof(float));
    assert_int_equal(ml->clCreateMLOpReshapeQCOM(context, NULL, x.t, flat.t, &op, NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x}, 1, &flat);

    cl_ml_op_depthtospace_desc_qcom blocks = {2, mode()};
    for (int c = 0; c < 2; c++)
        for (int h = 0; h < 4; h++)
            for (int w = 0; w < 6; w++)
                wide.v[(c * 4 + h) * 6 + w] = get(&x, 0, (h % 2 * 2 + w % 2) * 2 + c, h / 2, w / 2);
    assert_int_equal(ml->clCreateMLOpDepthToSpaceQCOM(context, NULL, &blocks, x.t, wide.t, &op,
                                                      NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x}, 1, &wide);

    cl_ml_op_pad_desc_qcom pad = {CL_PAD_MODE_CONSTANT_QCOM, {0}, {1, 2, 1, 1}, mode()};
    for (int c = 0; c < 8; c++)
        for (int h = 0; h < 4; h++)
            for (int w = 0; w < 6; w++)
                padded.v[(c * 4 + h) * 6 + w] = get(&x, 0, c, h - 1, w - 2);
    assert_int_equal(ml->clCreateMLOpPadQCOM(context, NULL, &pad, x.t, padded.t, &op, NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x}, 1, &padded);

    cl_ml_op_concat_desc_qcom join = {1, 2, mode()};
    memcpy(both.v, x.v, 48 * sizeof(float));
    memcpy(both.v + 48, y.v, 48 * sizeof(float));
    upload(&y);
    assert_int_equal(ml->clCreateMLOpConcatQCOM(context, NULL, &join,
                                                (const cl_ml_tensor_qcom[]){x.t, y.t}, both.t, &op,
                                                NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x, &y}, 2, &both);

    cl_ml_op_resize_bilinear_desc_qcom resize = {CL_TRUE, CL_FALSE, mode()};
    for (int c = 0; c < 8; c++)
        for (int h = 0; h < 3; h++)
            for (int w = 0; w < 5; w++) {
                float a = (float)h / 2, b = (float)w / 2;
                int h0 = (int)a, w0 = (int)b, h1 = h0 < 1 ? h0 + 1 : 1, w1 = w0 < 2 ? w0 + 1 : 2;
                a -= (float)h0, b -= (float)w0;
                large.v[(c * 3 + h) * 5 + w] =
                    (get(&x, 0, c, h0, w0) * (1 - b) + get(&x, 0, c, h0, w1) * b) * (1 - a) +
                    (get(&x, 0, c, h1, w0) * (1 - b) + get(&x, 0, c, h1, w1) * b) * a;
            }
    assert_int_equal(ml->clCreateMLOpResizeBilinearQCOM(context, NULL, &resize, x.t, large.t, &op,
                                                        NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x}, 1, &large);
    value *all[] = {&x, &y, &wide, &flat, &padded, &both, &large};
    for (int i = 0; i < 7; i++)
        drop(all[i]);
}

static void
matrices(void)
{
    value x = random_tensor(3, 8, 1, 1), k = random_tensor(1, 1, 5, 8),
          b = random_tensor(1, 5, 1, 1), y = tensor(3, 5, 1, 1);
    cl_ml_op_qcom op;
    cl_ml_op_fully_connected_desc_qcom d = {1, CL_FC_WEIGHT_TRANSFORM_TRANSPOSE_QCOM, mode()};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 5; j++) {
            y.v[i * 5 + j] = b.v[j];
            for (int l = 0; l < 8; l++)
                y.v[i * 5 + j] += x.v[i * 8 + l] * k.v[j * 8 + l];
        }
    assert_int_equal(ml->clCreateMLOpFullyConnectedQCOM(context, NULL, &d, x.t, k.t, b.t, y.t, &op,
                                                        NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x, &k, &b}, 3, &y);
    cl_ml_op_gemm_desc_qcom g = {3,
                                 5,
                                 8,
                                 CL_GEMM_TRANSFORM_NONE_QCOM,
                                 CL_GEMM_TRANSFORM_TRANSPOSE_QCOM,
                                 {{2}, CL_FLOAT},
                                 {{0}, CL_FLOAT},
                                 mode()};
    for (int i = 0; i < 15; i++)
        y.v[i] = 2 * (y.v[i] - b.v[i % 5]);
    cl_int err = ml->clCreateMLOpGemmQCOM(context, NULL, &g, x.t, k.t, y.t, &op, NULL);
    if (layout == CL_TENSOR_LAYOUT_NCHW_QCOM) {
        assert_int_equal(err, CL_SUCCESS);
        run(op, (const value *[]){&x, &k}, 2, &y);
    } else {
        assert_int_not_equal(err, CL_SUCCESS);
    }
    value *all[] = {&x, &k, &b, &y};
    for (int i = 0; i < 4; i++)
        drop(all[i]);
}

static void
test_operations(void **state)
{
    (void)state;
    in_every_form(conv_plain);
    in_every_form(conv_depthwise);
    in_every_form(conv_transposed);
    in_every_form(element_wise);
    in_every_form(pooling);
    in_every_form(softmax_and_moves);
    in_every_form(matrices);
}

static void
test_quantized(void **state)
{
    (void)state;
    enum { K = 64, N = 6, M = 2 };
    layout = CL_TENSOR_LAYOUT_NCHW_QCOM;
    value x = tensor_as(1, 1, M, K, CL_TENSOR_USAGE_TNN_QCOM),
          scale = tensor_as(1, 1, K / 32, N, CL_TENSOR_USAGE_PARAMETER_QCOM),
          y = tensor_as(1, 1, M, N, CL_TENSOR_USAGE_TNN_QCOM), none = no_tensor();
    uint32_t words[K / 8 * N];
    for (size_t i = 0; i < count(&x); i++)
        x.v[i] = draw();
    for (size_t i = 0; i < count(&scale); i++)
        scale.v[i] = draw();
    for (int i = 0; i < K / 8 * N; i++)
        words[i] = (uint32_t)rand() * 2654435761u;
    upload(&x);
    upload(&scale);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++)
                y.v[i * N + j] += x.v[i * K + k] *
                                  ((float)(words[k / 8 * N + j] >> k % 8 * 4 & 15) - 7) *
                                  scale.v[k / 32 * N + j];
    cl_ml_quantization_desc_qcom q = {CL_ML_QUANTIZATION_DESC_QCOM,
                                      CL_QUANTIZATION_MODE_4_BIT_AS_UINT32_QCOM, 1, &scale.t, NULL};
    const cl_ml_tensor_properties_qcom props[] = {CL_ML_TENSOR_PROPERTY_QUANTIZATION_QCOM,
                                                  (cl_ml_tensor_properties_qcom)(uintptr_t)&q,
                                                  CL_ML_TENSOR_PROPERTY_LIST_END_QCOM};
    cl_ml_tensor_desc_qcom d = {CL_ML_QUANTIZED_4_BIT_AS_UINT32_QCOM, layout, 1, 1, K / 8, N, 0,
                                CL_TENSOR_DIMENSIONS_4D_QCOM,         {0}};
    cl_int err;
    value w = {.memory = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof words, words, &err)};
    assert_int_not_equal(ml->clCreateMLTensorWithUsageQCOM(context, NULL, &d,
                                                           CL_TENSOR_USAGE_PARAMETER_QCOM, &w.t),
                         CL_SUCCESS);
    assert_int_equal(ml->clCreateMLTensorWithUsageQCOM(context, props, &d,
                                                       CL_TENSOR_USAGE_PARAMETER_QCOM, &w.t),
                     CL_SUCCESS);
    cl_ml_op_fully_connected_desc_qcom fc = {1, CL_FC_WEIGHT_TRANSFORM_NONE_QCOM, mode()};
    cl_ml_op_qcom op;
    assert_int_equal(ml->clCreateMLOpFullyConnectedQCOM(context, NULL, &fc, x.t, w.t, none.t, y.t,
                                                        &op, NULL),
                     CL_SUCCESS);
    run(op, (const value *[]){&x, &w, &scale}, 3, &y);
    value *all[] = {&x, &scale, &y, &none, &w};
    for (int i = 0; i < 5; i++)
        drop(all[i]);
    layout = CL_TENSOR_LAYOUT_OPTIMAL_QCOM;
}

/* ---- sequences ---- */

static void
test_recording(void **state)
{
    (void)state;
    clNewRecordingQCOM_fn begin = (clNewRecordingQCOM_fn)entry("clNewRecordingQCOM");
    clEndRecordingQCOM_fn end = (clEndRecordingQCOM_fn)entry("clEndRecordingQCOM");
    clReleaseRecordingQCOM_fn release = (clReleaseRecordingQCOM_fn)entry("clReleaseRecordingQCOM");
    value x = random_tensor(1, 4, 2, 2), y = tensor(1, 4, 2, 2), none = no_tensor();
    cl_int err;
    cl_command_queue q = clCreateCommandQueue(context, device, CL_QUEUE_RECORDABLE_QCOM, &err);
    assert_int_equal(err, CL_SUCCESS);
    cl_ml_op_activation_desc_qcom act = {CL_ACTIVATION_RELU, CL_PROPAGATE_NAN_QCOM, mode()};
    cl_ml_op_qcom op;
    assert_int_equal(ml->clCreateMLOpActivationForwardQCOM(context, NULL, &act, x.t, none.t, y.t,
                                                           &op, NULL),
                     CL_SUCCESS);
    cl_ml_tensor_mem_desc_set_qcom set;
    cl_ml_tensor_memory_desc_qcom entries[] = {{x.t, x.memory}, {y.t, y.memory}};
    ml->clCreateMLTensorMemoryDescriptorSetQCOM(&set);
    ml->clUpdateMLTensorMemoryDescriptorSetQCOM(set, 2, entries);
    assert_int_not_equal(ml->clEnqueueMLOpQCOM(q, op, set, 0, NULL, NULL), CL_SUCCESS);
    cl_recording_qcom r = begin(q, &err);
    assert_int_equal(err, CL_SUCCESS);
    upload(&y); /* zeros */
    assert_int_equal(ml->clEnqueueMLOpQCOM(q, op, set, 0, NULL, NULL), CL_SUCCESS);
    clFinish(q);
    compare(&y); /* nothing has run */
    assert_int_not_equal(ml->clEnqueueRecordingMLOpQCOM(queue, r, 0, NULL, 0, NULL, 0, NULL, 0,
                                                        NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL,
                                                        NULL),
                         CL_SUCCESS);
    assert_int_equal(end(r), CL_SUCCESS);
    assert_int_equal(ml->clEnqueueRecordingMLOpQCOM(queue, r, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0,
                                                    NULL, 0, NULL, 0, NULL, 0, NULL, NULL),
                     CL_SUCCESS);
    for (size_t i = 0; i < count(&x); i++)
        y.v[i] = x.v[i] < 0 ? 0 : x.v[i];
    compare(&y);
    assert_int_equal(release(r), CL_SUCCESS);
    assert_int_not_equal(release(r), CL_SUCCESS);
    clReleaseCommandQueue(q);
    ml->clReleaseMLOpQCOM(op);
    ml->clReleaseMLTensorMemoryDescriptorSetQCOM(set);
    drop(&x);
    drop(&y);
    drop(&none);
}

static void
test_on_chip(void **state)
{
    (void)state;
    size_t size = 0;
    clGetDeviceInfo(device, CL_DEVICE_ONCHIP_GLOBAL_MEM_SIZE_QCOM, sizeof size, &size, NULL);
    assert_int_equal(size, 65536);
    const cl_mem_properties first[] = {CL_MEM_ONCHIP_GLOBAL_QCOM, 1,
                                       CL_MEM_ONCHIP_GLOBAL_OFFSET_QCOM, 0, 0},
                            second[] = {CL_MEM_ONCHIP_GLOBAL_QCOM, 1,
                                        CL_MEM_ONCHIP_GLOBAL_OFFSET_QCOM, 1024, 0},
                            beyond[] = {CL_MEM_ONCHIP_GLOBAL_QCOM, 1,
                                        CL_MEM_ONCHIP_GLOBAL_OFFSET_QCOM, 65536, 0};
    cl_int err;
    cl_mem a = clCreateBufferWithProperties(context, first, CL_MEM_READ_WRITE, 2048, NULL, &err);
    assert_int_equal(err, CL_SUCCESS);
    cl_mem b = clCreateBufferWithProperties(context, second, CL_MEM_READ_WRITE, 1024, NULL, &err);
    assert_int_equal(err, CL_SUCCESS);
    assert_null(clCreateBufferWithProperties(context, beyond, CL_MEM_READ_WRITE, 4, NULL, &err));
    uint32_t put = 42, got = 0;
    clEnqueueWriteBuffer(queue, b, CL_TRUE, 0, 4, &put, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, a, CL_TRUE, 1024, 4, &got, 0, NULL, NULL);
    assert_int_equal(got, 42);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
}

static void
test_tuning(void **state)
{
    (void)state;
    cl_ml_tuningcache_qcom tc;
    unsigned char blob[64];
    size_t n = 0;
    assert_int_equal(ml->clCreateMLTuningCacheQCOM(&tc), CL_SUCCESS);
    assert_int_equal(ml->clSaveMLTuningCacheQCOM(tc, 0, NULL, &n), CL_SUCCESS);
    assert_in_range(n, 1, sizeof blob);
    assert_int_equal(ml->clSaveMLTuningCacheQCOM(tc, n, blob, &n), CL_SUCCESS);
    assert_int_equal(ml->clLoadMLTuningCacheQCOM(tc, n, blob), CL_SUCCESS);
    blob[0] ^= 1;
    assert_int_not_equal(ml->clLoadMLTuningCacheQCOM(tc, n, blob), CL_SUCCESS);
    assert_int_equal(ml->clReleaseMLTuningCacheQCOM(tc), CL_SUCCESS);
    assert_int_not_equal(ml->clReleaseMLTuningCacheQCOM(tc), CL_SUCCESS);
}

static void
test_faults(void **state)
{
    (void)state;
    cl_ml_tuningcache_qcom tc = NULL;
    setenv("TENON_CLML_STANDIN_FAIL", "clCreateMLTuningCacheQCOM:2", 1);
    assert_int_equal(ml->clCreateMLTuningCacheQCOM(&tc), CL_SUCCESS);
    ml->clReleaseMLTuningCacheQCOM(tc);
    assert_int_equal(ml->clCreateMLTuningCacheQCOM(&tc), CL_OUT_OF_RESOURCES);
    unsetenv("TENON_CLML_STANDIN_FAIL");
    value x = random_tensor(1, 4, 2, 2), y = tensor(1, 4, 2, 2), other = tensor(1, 4, 2, 3);
    cl_ml_op_softmax_desc_qcom s = {CL_SOFTMAX_ALGORITHM_ACCURATE_QCOM,
                                    CL_SOFTMAX_MODE_SPATIAL_QCOM, mode()};
    cl_ml_op_qcom op;
    assert_int_not_equal(ml->clCreateMLOpSoftmaxQCOM(context, NULL, &s, x.t, other.t, &op, NULL),
                         CL_SUCCESS);
    s.arithmetic = CL_ARITHMETIC_MODE_FP16_QCOM;
    assert_int_not_equal(ml->clCreateMLOpSoftmaxQCOM(context, NULL, &s, x.t, y.t, &op, NULL),
                         CL_SUCCESS);
    s.arithmetic = mode();
    setenv("TENON_CLML_STANDIN_REFUSE", "pooling,softmax", 1);
    assert_int_not_equal(ml->clCreateMLOpSoftmaxQCOM(context, NULL, &s, x.t, y.t, &op, NULL),
                         CL_SUCCESS);
    unsetenv("TENON_CLML_STANDIN_REFUSE");
    assert_int_equal(ml->clCreateMLOpSoftmaxQCOM(context, NULL, &s, x.t, y.t, &op, NULL),
                     CL_SUCCESS);
    ml->clReleaseMLOpQCOM(op);
    drop(&x);
    drop(&y);
    drop(&other);
}

static void
test_log(void **state)
{
    (void)state;
    char text[256] = "";
    FILE *f = fopen(log_file, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    assert_string_equal(text, "clQueryMLInterfaceVersionsQCOM\n");
}

static int
open_device(void)
{
    cl_uint n = 0;
    cl_int err;
    if (clGetPlatformIDs(1, &platform, &n) || !n ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 77;
    char names[8192] = "";
    clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof names, names, NULL);
    clQueryMLInterfaceVersionsQCOM_fn query =
        (clQueryMLInterfaceVersionsQCOM_fn)entry("clQueryMLInterfaceVersionsQCOM");
    clGetMLInterfaceQCOM_fn get_table = (clGetMLInterfaceQCOM_fn)entry("clGetMLInterfaceQCOM");
    cl_uint versions = 0;
    void *table = NULL;
    if (!strstr(names, TENON_CLML_EXTENSION) || !query || !get_table ||
        query(NULL, NULL, 0, &versions) || versions != 5 || get_table(&table, 5, 0))
        return 1;
    ml = table;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    if (!err)
        queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
    return err != 0;
}

int
main(void)
{
    snprintf(log_file, sizeof log_file, "clml-log.%ld", (long)getpid());
    remove(log_file);
    setenv("TENON_CLML_STANDIN_LOG", log_file, 1);
    setenv("TENON_CLML_STANDIN_ONCHIP", "65536", 1);
    int status = open_device();
    if (status) {
        fprintf(stderr, status == 77 ? "no OpenCL device\n" : "the layer is not there\n");
        remove(log_file);
        return status;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations), cmocka_unit_test(test_quantized),
        cmocka_unit_test(test_recording),  cmocka_unit_test(test_on_chip),
        cmocka_unit_test(test_tuning),     cmocka_unit_test(test_faults),
        cmocka_unit_test(test_log),
    };
    status = cmocka_run_group_tests(tests, NULL, NULL);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    setenv("TENON_CLML_STANDIN_LOG", "", 1);
    remove(log_file);
    return status;
}
