/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the header of Qualcomm's OpenCL ML SDK, for tests on machines without such a GPU.
 *
 * The names are those that open-source callers of the extension use, in their argument order.
 * Everything else is this project's own: values, order of tables, names of members. Code that is
 * compiled with this header therefore works with the layer in this folder and with nothing else: the
 * extension's name here is not the vendor's, and a real device is refused. Members of descriptors
 * have to be initialized in order, not by name, for the same source to compile with the vendor's.
 */
#ifndef TENON_TESTS_CLML_STANDIN_H
#define TENON_TESTS_CLML_STANDIN_H

#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_CLML_STANDIN 1
#define TENON_CLML_EXTENSION "cl_tenon_ml_ops_standin"
#define TENON_CLML_RECORDABLE_EXTENSION "cl_tenon_recordable_queues_standin"
#define TENON_CLML_ONCHIP_EXTENSION "cl_tenon_onchip_global_memory_standin"

/* A test may compile as if the SDK were an older one. */
#ifndef CL_QCOM_ML_OPS_H_MAJOR_VERSION
#define CL_QCOM_ML_OPS_H_MAJOR_VERSION 5
#endif
#define CL_QCOM_ML_OPS_H_MINOR_VERSION 0

enum { CL_ML_TENSOR_MAX_SPATIAL_DIMS_QCOM = 3, CL_ML_TENSOR_MAX_DIMS_QCOM = 5 };
enum { CL_TENSOR_UNUSED_QCOM = 91, CL_TENSOR_DIMENSIONS_4D_QCOM = 94 };

typedef struct clml_tensor *cl_ml_tensor_qcom;
typedef struct clml_op *cl_ml_op_qcom;
typedef struct clml_set *cl_ml_tensor_mem_desc_set_qcom;
typedef struct clml_tuning *cl_ml_tuningcache_qcom;
typedef struct clml_recording *cl_recording_qcom;

typedef cl_bitfield cl_ml_tensor_properties_qcom, cl_ml_op_properties_qcom,
    cl_update_ml_op_properties_qcom;

typedef enum cl_ml_tensor_layout_qcom {
    CL_TENSOR_LAYOUT_NCHW_QCOM = 201,
    CL_TENSOR_LAYOUT_NHWC_QCOM,
    CL_TENSOR_LAYOUT_OPTIMAL_QCOM /* opaque */
} cl_ml_tensor_layout_qcom;

#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 4
typedef enum cl_ml_tensor_usage_qcom {
    CL_TENSOR_USAGE_INVALID_QCOM = 210,
    CL_TENSOR_USAGE_UNUSED_QCOM,
    CL_TENSOR_USAGE_PARAMETER_QCOM,
    CL_TENSOR_USAGE_CNN_QCOM,
    CL_TENSOR_USAGE_TNN_QCOM
} cl_ml_tensor_usage_qcom;
#endif

typedef enum cl_arithmetic_mode_qcom {
    CL_ARITHMETIC_MODE_FP32_QCOM = 220,
    CL_ARITHMETIC_MODE_FP16_QCOM,
    CL_ARITHMETIC_MODE_FP16_ACC32_QCOM
} cl_arithmetic_mode_qcom;
typedef enum cl_convolution_mode_qcom {
    CL_CONVOLUTION_MODE_CONVOLUTION_QCOM = 230,
    CL_CONVOLUTION_MODE_DEPTHWISE_QCOM,
    CL_CONVOLUTION_MODE_TRANSPOSE_QCOM
} cl_convolution_mode_qcom;
typedef enum cl_activation_function_qcom {
    CL_ACTIVATION_RELU = 240,
    CL_ACTIVATION_RELU6
} cl_activation_function_qcom;
typedef enum cl_nan_propagation_qcom { CL_PROPAGATE_NAN_QCOM = 245 } cl_nan_propagation_qcom;
typedef enum cl_pooling_mode_qcom {
    CL_POOLING_MODE_MAX_QCOM = 250,
    CL_POOLING_MODE_AVERAGE_EXCLUDE_PADDING_QCOM
} cl_pooling_mode_qcom;
typedef enum cl_batchnorm_mode_qcom { CL_BATCHNORM_MODE_SPATIAL_QCOM = 255 } cl_batchnorm_mode_qcom;
typedef enum cl_softmax_algorithm_qcom {
    CL_SOFTMAX_ALGORITHM_ACCURATE_QCOM = 260
} cl_softmax_algorithm_qcom;
typedef enum cl_softmax_mode_qcom { CL_SOFTMAX_MODE_SPATIAL_QCOM = 262 } cl_softmax_mode_qcom;
typedef enum cl_pad_mode_qcom {
    CL_PAD_MODE_CONSTANT_QCOM = 265,
    CL_PAD_MODE_SYMMETRIC_QCOM,
    CL_PAD_MODE_REFLECT_QCOM
} cl_pad_mode_qcom;
typedef enum cl_fc_weight_transform_qcom {
    CL_FC_WEIGHT_TRANSFORM_NONE_QCOM = 270,
    CL_FC_WEIGHT_TRANSFORM_TRANSPOSE_QCOM
} cl_fc_weight_transform_qcom;
typedef enum cl_gemm_transform_qcom {
    CL_GEMM_TRANSFORM_NONE_QCOM = 275,
    CL_GEMM_TRANSFORM_TRANSPOSE_QCOM
} cl_gemm_transform_qcom;
typedef enum cl_binary_op_qcom {
    CL_TENSOR_OP_ADD_QCOM = 280,
    CL_TENSOR_OP_SUB_QCOM,
    CL_TENSOR_OP_MUL_QCOM,
    CL_TENSOR_OP_DIV_QCOM,
    CL_TENSOR_OP_MIN_QCOM,
    CL_TENSOR_OP_MAX_QCOM
} cl_binary_op_qcom;
typedef enum cl_clip_mode_qcom { CL_CLIP_BY_VALUE_QCOM = 290 } cl_clip_mode_qcom;

enum {
    CL_ML_TENSOR_PROPERTY_LIST_END_QCOM = 0,
    CL_ML_OP_PROPERTY_LIST_END_QCOM = 0,
    CL_UPDATE_ML_OP_PROPERTY_LIST_END_QCOM = 0,
    CL_ML_BATCH_NORM_OP_EPSILON_QCOM = 301, /* the bits of a float in the low half */
    CL_ML_TENSOR_PROPERTY_QUANTIZATION_QCOM = 311,
    CL_ML_TENSOR_PROPERTY_DYNAMIC_DIMENSIONS_QCOM,
    CL_UPDATE_ML_OP_PROPERTY_DYNAMIC_TENSORS_QCOM = 321,
    CL_ML_TENSOR_DYNAMIC_C_DIMENSION_QCOM = 1,
    CL_ML_TENSOR_DYNAMIC_H_DIMENSION_QCOM = 2,
    CL_ML_TENSOR_DYNAMIC_W_DIMENSION_QCOM = 4,
    CL_ML_QUANTIZATION_DESC_QCOM = 331,
    CL_QUANTIZATION_MODE_4_BIT_AS_UINT32_QCOM = 335
};
/* Beside CL_FLOAT and CL_HALF_FLOAT: eight 4-bit numbers in a 32-bit one, the lowest bits first. */
#define CL_ML_QUANTIZED_4_BIT_AS_UINT32_QCOM 0x7e01

/* cl_qcom_recordable_queues, and memory on the chip */
#define CL_QUEUE_RECORDABLE_QCOM (1u << 30)
#define CL_DEVICE_ONCHIP_GLOBAL_MEM_SIZE_QCOM 0x7e10
#define CL_MEM_ONCHIP_GLOBAL_QCOM 0x7e11
#define CL_MEM_ONCHIP_GLOBAL_OFFSET_QCOM 0x7e12

/* ---- descriptors ---- */
typedef struct cl_ml_tensor_desc_qcom {
    cl_channel_type dtype;
    cl_ml_tensor_layout_qcom layout;
    cl_uint n, c, h, w, d;
    cl_uint num_dimensions;
    cl_uint strides[CL_ML_TENSOR_MAX_DIMS_QCOM];
} cl_ml_tensor_desc_qcom;
typedef struct cl_ml_tensor_memory_desc_qcom {
    cl_ml_tensor_qcom tensor;
    cl_mem memory;
} cl_ml_tensor_memory_desc_qcom;
typedef struct clml_number {
    union {
        cl_float f;
        cl_int i;
    } value;
    cl_channel_type type;
} clml_number;
typedef struct cl_ml_op_convolution_desc_qcom {
    cl_convolution_mode_qcom mode;
    cl_uint groups, dims;
    cl_uint before[CL_ML_TENSOR_MAX_SPATIAL_DIMS_QCOM], after[CL_ML_TENSOR_MAX_SPATIAL_DIMS_QCOM],
        stride[CL_ML_TENSOR_MAX_SPATIAL_DIMS_QCOM], dilation[CL_ML_TENSOR_MAX_SPATIAL_DIMS_QCOM];
    cl_uint reserved;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_convolution_desc_qcom;
typedef struct cl_ml_op_activation_desc_qcom {
    cl_activation_function_qcom function;
    cl_nan_propagation_qcom nan;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_activation_desc_qcom;
typedef struct cl_ml_op_pooling_desc_qcom {
    cl_pooling_mode_qcom mode;
    cl_uint dims;
    cl_uint before[CL_ML_TENSOR_MAX_SPATIAL_DIMS_QCOM], after[CL_ML_TENSOR_MAX_SPATIAL_DIMS_QCOM],
        stride[CL_ML_TENSOR_MAX_SPATIAL_DIMS_QCOM], window[CL_ML_TENSOR_MAX_SPATIAL_DIMS_QCOM];
    cl_nan_propagation_qcom nan;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_pooling_desc_qcom;
typedef struct cl_ml_op_batchnorm_desc_qcom {
    cl_batchnorm_mode_qcom mode;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_batchnorm_desc_qcom;
typedef struct cl_ml_op_softmax_desc_qcom {
    cl_softmax_algorithm_qcom algorithm;
    cl_softmax_mode_qcom mode;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_softmax_desc_qcom;
typedef struct cl_ml_op_pad_desc_qcom {
    cl_pad_mode_qcom mode;
    cl_uint reserved[2];
    cl_uint pads[8]; /* before h and w, after h and w, then zeros */
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_pad_desc_qcom;
typedef struct cl_ml_op_concat_desc_qcom {
    cl_uint axis, n;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_concat_desc_qcom;
typedef struct cl_ml_op_fully_connected_desc_qcom {
    cl_uint axis;
    cl_fc_weight_transform_qcom transform;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_fully_connected_desc_qcom;
typedef struct cl_ml_op_gemm_desc_qcom {
    cl_uint m, n, k;
    cl_gemm_transform_qcom a, b;
    clml_number alpha, beta;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_gemm_desc_qcom;
typedef struct cl_ml_op_binary_desc_qcom {
    cl_binary_op_qcom op;
    clml_number alpha, beta, gamma; /* op(alpha * a, beta * b) + gamma * out */
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_binary_desc_qcom;
typedef struct cl_ml_op_clip_desc_qcom {
    cl_clip_mode_qcom mode;
    clml_number max, min;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_clip_desc_qcom;
typedef struct cl_ml_op_depthtospace_desc_qcom {
    cl_uint block;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_depthtospace_desc_qcom;
typedef struct cl_ml_op_resize_bilinear_desc_qcom {
    cl_bool align_corners, half_pixel;
    cl_arithmetic_mode_qcom arithmetic;
} cl_ml_op_resize_bilinear_desc_qcom;
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 5
typedef struct cl_ml_quantization_desc_qcom {
    cl_uint id, mode, n_scales;
    cl_ml_tensor_qcom *scales;
    const void *next;
} cl_ml_quantization_desc_qcom;
#endif

/* ---- entry points ---- */
/* Found through clGetExtensionFunctionAddressForPlatform. */
typedef cl_int (*clQueryMLInterfaceVersionsQCOM_fn)(cl_int *majors, cl_int *minors, cl_uint n,
                                                    cl_uint *count);
typedef cl_int (*clGetMLInterfaceQCOM_fn)(void **table, cl_int major, cl_int minor);
typedef cl_recording_qcom (*clNewRecordingQCOM_fn)(cl_command_queue queue, cl_int *err);
typedef cl_int (*clEndRecordingQCOM_fn)(cl_recording_qcom recording);
typedef cl_int (*clRetainRecordingQCOM_fn)(cl_recording_qcom recording);
typedef cl_int (*clReleaseRecordingQCOM_fn)(cl_recording_qcom recording);

/* What the tables hold: CALL(name, arguments). `tc` is a tuning cache or NULL. */
#define TENON_CLML_OPS(CALL)                                                                       \
    CALL(clCreateMLOpConvolutionForwardQCOM,                                                       \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_convolution_desc_qcom *,    \
          cl_ml_tensor_qcom in, cl_ml_tensor_qcom weight, cl_ml_tensor_qcom bias,                  \
          cl_ml_tensor_qcom out, cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                    \
    CALL(clCreateMLOpFusedConvolutionActivationForwardQCOM,                                        \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_convolution_desc_qcom *,    \
          const cl_ml_op_activation_desc_qcom *, cl_ml_tensor_qcom in, cl_ml_tensor_qcom weight,   \
          cl_ml_tensor_qcom bias, cl_ml_tensor_qcom unused, cl_ml_tensor_qcom out,                 \
          cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                                           \
    CALL(clCreateMLOpFusedConvolutionBatchNormForwardQCOM,                                         \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_convolution_desc_qcom *,    \
          const cl_ml_op_batchnorm_desc_qcom *, cl_ml_tensor_qcom in, cl_ml_tensor_qcom weight,    \
          cl_ml_tensor_qcom bias, cl_ml_tensor_qcom out, cl_ml_tensor_qcom mean,                   \
          cl_ml_tensor_qcom var, cl_ml_tensor_qcom scale, cl_ml_tensor_qcom shift,                 \
          cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                                           \
    CALL(clCreateMLOpFusedConvolutionBatchNormActivationForwardQCOM,                               \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_convolution_desc_qcom *,    \
          const cl_ml_op_batchnorm_desc_qcom *, const cl_ml_op_activation_desc_qcom *,             \
          cl_ml_tensor_qcom in, cl_ml_tensor_qcom weight, cl_ml_tensor_qcom bias,                  \
          cl_ml_tensor_qcom out, cl_ml_tensor_qcom unused, cl_ml_tensor_qcom mean,                 \
          cl_ml_tensor_qcom var, cl_ml_tensor_qcom scale, cl_ml_tensor_qcom shift,                 \
          cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                                           \
    CALL(clCreateMLOpActivationForwardQCOM,                                                        \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_activation_desc_qcom *,     \
          cl_ml_tensor_qcom in, cl_ml_tensor_qcom unused, cl_ml_tensor_qcom out,                   \
          cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                                           \
    CALL(clCreateMLOpPoolingForwardQCOM,                                                           \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_pooling_desc_qcom *,        \
          cl_ml_tensor_qcom in, cl_ml_tensor_qcom unused, cl_ml_tensor_qcom out,                   \
          cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                                           \
    CALL(clCreateMLOpBatchNormForwardQCOM,                                                         \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_batchnorm_desc_qcom *,      \
          cl_ml_tensor_qcom in, cl_ml_tensor_qcom mean, cl_ml_tensor_qcom var,                     \
          cl_ml_tensor_qcom scale, cl_ml_tensor_qcom shift, cl_ml_tensor_qcom out,                 \
          cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                                           \
    CALL(clCreateMLOpSoftmaxQCOM,                                                                  \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_softmax_desc_qcom *,        \
          cl_ml_tensor_qcom in, cl_ml_tensor_qcom out, cl_ml_op_qcom *op,                          \
          cl_ml_tuningcache_qcom tc))                                                              \
    CALL(clCreateMLOpPadQCOM,                                                                      \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_pad_desc_qcom *,            \
          cl_ml_tensor_qcom in, cl_ml_tensor_qcom out, cl_ml_op_qcom *op,                          \
          cl_ml_tuningcache_qcom tc))                                                              \
    CALL(clCreateMLOpDepthToSpaceQCOM,                                                             \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_depthtospace_desc_qcom *,   \
          cl_ml_tensor_qcom in, cl_ml_tensor_qcom out, cl_ml_op_qcom *op,                          \
          cl_ml_tuningcache_qcom tc))                                                              \
    CALL(clCreateMLOpResizeBilinearQCOM,                                                           \
         (cl_context, const cl_ml_op_properties_qcom *,                                            \
          const cl_ml_op_resize_bilinear_desc_qcom *, cl_ml_tensor_qcom in, cl_ml_tensor_qcom out, \
          cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                                           \
    CALL(clCreateMLOpReshapeQCOM,                                                                  \
         (cl_context, const cl_ml_op_properties_qcom *, cl_ml_tensor_qcom in,                      \
          cl_ml_tensor_qcom out, cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                    \
    CALL(clCreateMLOpConcatQCOM,                                                                   \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_concat_desc_qcom *,         \
          const cl_ml_tensor_qcom *in, cl_ml_tensor_qcom out, cl_ml_op_qcom *op,                   \
          cl_ml_tuningcache_qcom tc))                                                              \
    CALL(clCreateMLOpFullyConnectedQCOM,                                                           \
         (cl_context, const cl_ml_op_properties_qcom *,                                            \
          const cl_ml_op_fully_connected_desc_qcom *, cl_ml_tensor_qcom in,                        \
          cl_ml_tensor_qcom weight, cl_ml_tensor_qcom bias, cl_ml_tensor_qcom out,                 \
          cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc))                                           \
    CALL(clCreateMLOpGemmQCOM,                                                                     \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_gemm_desc_qcom *,           \
          cl_ml_tensor_qcom a, cl_ml_tensor_qcom b, cl_ml_tensor_qcom c, cl_ml_op_qcom *op,        \
          cl_ml_tuningcache_qcom tc))                                                              \
    CALL(clCreateMLOpBinaryQCOM,                                                                   \
         (cl_context, const cl_ml_op_properties_qcom *, const cl_ml_op_binary_desc_qcom *,         \
          cl_ml_tensor_qcom a, cl_ml_tensor_qcom b, cl_ml_tensor_qcom out, cl_ml_op_qcom *op,      \
          cl_ml_tuningcache_qcom tc))

#define TENON_CLML_COMMON(CALL)                                                                    \
    CALL(clReleaseMLTensorQCOM, (cl_ml_tensor_qcom))                                               \
    CALL(clReleaseMLOpQCOM, (cl_ml_op_qcom))                                                       \
    CALL(clGetMLTensorMemorySizeQCOM, (cl_context, cl_ml_tensor_qcom, cl_uint * bytes))            \
    CALL(clCreateMLTensorMemoryDescriptorSetQCOM, (cl_ml_tensor_mem_desc_set_qcom *))              \
    CALL(clUpdateMLTensorMemoryDescriptorSetQCOM,                                                  \
         (cl_ml_tensor_mem_desc_set_qcom, cl_uint n, const cl_ml_tensor_memory_desc_qcom *))       \
    CALL(clReleaseMLTensorMemoryDescriptorSetQCOM, (cl_ml_tensor_mem_desc_set_qcom))               \
    CALL(clEnqueueWriteMLTensorDataQCOM,                                                           \
         (cl_command_queue, const void *host, cl_ml_tensor_layout_qcom, cl_ml_tensor_qcom, cl_mem, \
          cl_uint n, const cl_event *wait, cl_event *))                                            \
    CALL(clEnqueueReadMLTensorDataQCOM,                                                            \
         (cl_command_queue, cl_ml_tensor_qcom, cl_mem, void *host, cl_ml_tensor_layout_qcom,       \
          cl_uint n, const cl_event *wait, cl_event *))                                            \
    CALL(clEnqueueCopyMLTensorDataQCOM,                                                            \
         (cl_command_queue, cl_ml_tensor_qcom from, cl_mem, cl_ml_tensor_qcom to, cl_mem,          \
          cl_uint n, const cl_event *wait, cl_event *))                                            \
    CALL(clEnqueueMLOpQCOM, (cl_command_queue, cl_ml_op_qcom, cl_ml_tensor_mem_desc_set_qcom,      \
                             cl_uint n, const cl_event *wait, cl_event *))                         \
    CALL(clEnqueueRecordingMLOpQCOM,                                                               \
         (cl_command_queue, cl_recording_qcom, size_t, const void *, size_t, const void *, size_t, \
          const void *, size_t, const void *, size_t, const void *, size_t, const void *, size_t,  \
          const void *, cl_uint n, const cl_event *wait, cl_event *))                              \
    CALL(clCreateMLTuningCacheQCOM, (cl_ml_tuningcache_qcom *))                                    \
    CALL(clReleaseMLTuningCacheQCOM, (cl_ml_tuningcache_qcom))                                     \
    CALL(clLoadMLTuningCacheQCOM, (cl_ml_tuningcache_qcom, size_t, const unsigned char *))         \
    CALL(clSaveMLTuningCacheQCOM, (cl_ml_tuningcache_qcom, size_t, unsigned char *, size_t *))     \
    CALL(clTuneMLOpQCOM, (cl_command_queue, cl_ml_op_qcom, cl_ml_tensor_mem_desc_set_qcom,         \
                          cl_ml_tuningcache_qcom, void *))

#define TENON_CLML_TENSOR                                                            \
    cl_int (*clCreateMLTensorQCOM)(cl_context, const cl_ml_tensor_properties_qcom *, \
                                   const cl_ml_tensor_desc_qcom *, cl_ml_tensor_qcom *);
#define TENON_CLML_CLIP                                                                   \
    cl_int (*clCreateMLOpClipQCOM)(cl_context, const cl_ml_op_properties_qcom *,          \
                                   const cl_ml_op_clip_desc_qcom *, cl_ml_tensor_qcom in, \
                                   cl_ml_tensor_qcom out, cl_ml_op_qcom *op,              \
                                   cl_ml_tuningcache_qcom tc);
#define TENON_CLML_MEMBER(name, args) cl_int(*name) args;

/* The tables differ in order, so that a call through the wrong one is seen at once. */
typedef struct CLMLInterfaceV1QCOM {
    TENON_CLML_TENSOR
    TENON_CLML_COMMON(TENON_CLML_MEMBER) TENON_CLML_OPS(TENON_CLML_MEMBER)
} CLMLInterfaceV1QCOM;
typedef struct CLMLInterfaceV2QCOM {
    TENON_CLML_OPS(TENON_CLML_MEMBER)
    TENON_CLML_COMMON(TENON_CLML_MEMBER) TENON_CLML_TENSOR TENON_CLML_CLIP
} CLMLInterfaceV2QCOM;
typedef struct CLMLInterfaceV3QCOM {
    TENON_CLML_CLIP
    TENON_CLML_COMMON(TENON_CLML_MEMBER) TENON_CLML_TENSOR TENON_CLML_OPS(TENON_CLML_MEMBER)
} CLMLInterfaceV3QCOM;
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 4
#define TENON_CLML_TENSOR_WITH_USAGE                                                          \
    cl_int (*clCreateMLTensorWithUsageQCOM)(cl_context, const cl_ml_tensor_properties_qcom *, \
                                            const cl_ml_tensor_desc_qcom *,                   \
                                            cl_ml_tensor_usage_qcom, cl_ml_tensor_qcom *);
typedef struct CLMLInterfaceV4QCOM {
    TENON_CLML_COMMON(TENON_CLML_MEMBER)
    TENON_CLML_TENSOR_WITH_USAGE
    TENON_CLML_OPS(TENON_CLML_MEMBER) TENON_CLML_CLIP
} CLMLInterfaceV4QCOM;
#endif
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 5
typedef struct CLMLInterfaceV5QCOM {
    cl_int (*clSetMLTensorDimensionsQCOM)(const cl_ml_tensor_desc_qcom *, cl_ml_tensor_qcom *);
    cl_int (*clUpdateMLOpQCOM)(cl_ml_op_qcom, const cl_update_ml_op_properties_qcom *,
                               cl_ml_tensor_mem_desc_set_qcom, void *);
    TENON_CLML_TENSOR_WITH_USAGE
    TENON_CLML_OPS(TENON_CLML_MEMBER) TENON_CLML_CLIP TENON_CLML_COMMON(TENON_CLML_MEMBER)
} CLMLInterfaceV5QCOM;
#endif

#ifdef __cplusplus
}
#endif
#endif
