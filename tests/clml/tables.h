/* SPDX-License-Identifier: Apache-2.0 */
/* Prototypes of the stand-in's entries: sc_NAME for each NAME of the tables. */
#ifndef TENON_TESTS_CLML_TABLES_H
#define TENON_TESTS_CLML_TABLES_H

#include "standin.h"

#define SC_PROTOTYPE(name, args) cl_int sc_##name args;
TENON_CLML_COMMON(SC_PROTOTYPE)
TENON_CLML_OPS(SC_PROTOTYPE)

cl_int
sc_clCreateMLTensorQCOM(cl_context context, const cl_ml_tensor_properties_qcom *props,
                        const cl_ml_tensor_desc_qcom *d, cl_ml_tensor_qcom *out);
cl_int
sc_clCreateMLTensorWithUsageQCOM(cl_context context, const cl_ml_tensor_properties_qcom *props,
                                 const cl_ml_tensor_desc_qcom *d, cl_ml_tensor_usage_qcom usage,
                                 cl_ml_tensor_qcom *out);
cl_int
sc_clCreateMLOpClipQCOM(cl_context context, const cl_ml_op_properties_qcom *props,
                        const cl_ml_op_clip_desc_qcom *d, cl_ml_tensor_qcom in,
                        cl_ml_tensor_qcom out, cl_ml_op_qcom *op, cl_ml_tuningcache_qcom tc);
cl_int
sc_clSetMLTensorDimensionsQCOM(const cl_ml_tensor_desc_qcom *d, cl_ml_tensor_qcom *tensor);
cl_int
sc_clUpdateMLOpQCOM(cl_ml_op_qcom op, const cl_update_ml_op_properties_qcom *props,
                    cl_ml_tensor_mem_desc_set_qcom set, void *reserved);

cl_int
sc_clQueryMLInterfaceVersionsQCOM(cl_int *majors, cl_int *minors, cl_uint n, cl_uint *count);
cl_int
sc_clGetMLInterfaceQCOM(void **table, cl_int major, cl_int minor);
cl_recording_qcom
sc_clNewRecordingQCOM(cl_command_queue queue, cl_int *err);
cl_int
sc_clEndRecordingQCOM(cl_recording_qcom recording);
cl_int
sc_clRetainRecordingQCOM(cl_recording_qcom recording);
cl_int
sc_clReleaseRecordingQCOM(cl_recording_qcom recording);

#endif
