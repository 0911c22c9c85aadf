/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the CLML device half share: clml_api.c finds the extension's entries, clml_ops.c makes
 * operations, clml_memory.c says where tensors lie, clml_tuning.c keeps what tuning found, clml_rt.c
 * does the rest.
 */
#ifndef TENON_BACKENDS_OPENCL_CLML_RT_H
#define TENON_BACKENDS_OPENCL_CLML_RT_H

#include "device.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include "CL/cl_qcom_ml_ops.h"
#include "tenon/rt/tensor.h"

#if CL_QCOM_ML_OPS_H_MAJOR_VERSION < 3
#error "CL/cl_qcom_ml_ops.h of the OpenCL ML SDK is too old: version 3 or newer is needed"
#endif

#ifdef TENON_CLML_STANDIN
#define EXTENSION TENON_CLML_EXTENSION
#define RECORDABLE_EXTENSION TENON_CLML_RECORDABLE_EXTENSION
#define ONCHIP_EXTENSION TENON_CLML_ONCHIP_EXTENSION
#else
#define EXTENSION "cl_qcom_ml_ops"
#define RECORDABLE_EXTENSION "cl_qcom_recordable_queues"
#define ONCHIP_EXTENSION "cl_qcom_onchip_global_memory"
#endif

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
    X(clCreateMLTuningCacheQCOM)                                  \
    X(clReleaseMLTuningCacheQCOM)                                 \
    X(clLoadMLTuningCacheQCOM)                                    \
    X(clSaveMLTuningCacheQCOM)                                    \
    X(clTuneMLOpQCOM)                                             \
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
struct opencl_clml_api {
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

/* ---- clml_api.c ---- */
/* An entry of the platform; NULL: it has none. */
void *
opencl_clml_entry(const struct opencl_device *d, const char *name);
TNB_MUST_CHECK tnb_status
opencl_clml_load(struct opencl_device *d, struct opencl_clml_api *api, tnb_err *err);

/* ---- modules ---- */

enum opencl_clml_usage { UNUSED, CNN, TNN, PARAMETER };
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
    bool chip; /* on the chip, not from opencl_alloc */
};
struct module {
    struct opencl_device *device;
    const tnr_external *desc;
    struct opencl_clml_api api;
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
    bool records, recorded;        /* whether its operations can be a recording, and are one */
    cl_ml_tuningcache_qcom tuning; /* NULL: none */
    bool tuned;
    uint64_t on_chip; /* bytes */
    cl_mem *args;     /* of the call under way */
    bool *owned;      /* whether it is to be released */
    bool constants_done;
    int64_t rows; /* of the open tensors, as the extension was told last; -1: not yet */
};

/* "the description of FUNCTION is broken". */
tnb_status
opencl_clml_bad(const struct module *m, tnb_err *err, const char *what);

/* ---- reading the description ---- */

static inline bool
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

static inline bool
is_text(const json_t *o, const char *key, const char *want)
{
    const char *have = json_string_value(json_object_get(o, key));
    return have && strcmp(have, want) == 0;
}

/* An index below n; -1: it is none. */
static inline int
read_index(const json_t *o, const char *key, uint32_t n)
{
    const json_t *v = json_object_get(o, key);
    json_int_t i = json_is_integer(v) ? json_integer_value(v) : -1;
    return i >= 0 && i < n ? (int)i : -1;
}

/* ---- clml_ops.c ---- */
/* Makes m->ops, and notes which tensors they use when. */
TNB_MUST_CHECK tnb_status
opencl_clml_make_ops(struct module *m, const json_t *list, tnb_err *err);

/* ---- clml_memory.c ---- */
/* Gives memory to all tensors that do not lie in an argument's. */
TNB_MUST_CHECK tnb_status
opencl_clml_plan_memory(struct module *m, tnb_err *err);
/* Tells the descriptor set where tensors lie: those with memory of their own, or those of arguments. */
TNB_MUST_CHECK tnb_status
opencl_clml_update_set(struct module *m, bool arguments, tnb_err *err);
void
opencl_clml_free_memory(struct module *m);

/* ---- clml_tuning.c ---- */
/* Makes m->tuning where the settings name a file: from what the file has for this function, or empty. */
TNB_MUST_CHECK tnb_status
opencl_clml_load_tuning(struct module *m, tnb_err *err);
/* Tunes the operations with the memory that the descriptor set has now, and writes the file. */
TNB_MUST_CHECK tnb_status
opencl_clml_tune(struct module *m, tnb_err *err);

#endif
