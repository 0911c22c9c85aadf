/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the stand-in: an OpenCL layer that offers the machine-learning extension of
 * CL/cl_qcom_ml_ops.h (the one in this folder) over any OpenCL device. See README.md.
 */
#ifndef TENON_TESTS_CLML_INTERNAL_H
#define TENON_TESTS_CLML_INTERNAL_H

#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stdint.h>

#include "CL/cl_qcom_ml_ops.h"

/* The implementation below the layer. */
extern const cl_icd_dispatch *sc_cl;

/* ---- objects ---- */
typedef enum sc_kind { SC_TENSOR = 1, SC_OP, SC_SET, SC_TUNING, SC_RECORDING, SC_QUEUE } sc_kind;
typedef struct sc_object {
    struct sc_object *next;
    sc_kind kind;
    int refs;
} sc_object;

/* Makes a zeroed object; NULL without memory. */
void *
sc_new(sc_kind kind, size_t size);
/* Whether `handle` is one of the kind that has not been released. */
bool
sc_alive(const void *handle, sc_kind kind);
void
sc_release(void *handle);

struct clml_tensor {
    sc_object object;
    bool unused;
    cl_channel_type dtype;
    cl_ml_tensor_layout_qcom layout;
    cl_uint n, c, h, w;
    int usage;               /* 0 where the interface has none */
    cl_bitfield dynamic;     /* CL_ML_TENSOR_DYNAMIC_*: what may be set later */
    cl_ml_tensor_qcom scale; /* of a quantized one */
};
/* Bytes of memory that the tensor needs. */
size_t
sc_tensor_bytes(const struct clml_tensor *t);
/* What kernels get of a tensor: dtype, layout, n, c, h, w (numbers in kernels.h). */
void
sc_tensor_words(const struct clml_tensor *t, cl_int out[8]);

enum { SC_MAX_TENSORS = 40, SC_PARAMS = 16 };
struct clml_op {
    sc_object object;
    const char *kernel; /* of kernels.h */
    cl_context context;
    cl_uint n_in;
    cl_ml_tensor_qcom in[SC_MAX_TENSORS], out; /* NULL: not used */
    cl_int params[SC_PARAMS];
    cl_float numbers[4];
};

typedef struct sc_entry {
    cl_ml_tensor_qcom tensor;
    cl_mem memory;
} sc_entry;
struct clml_set {
    sc_object object;
    cl_uint n;
    sc_entry *entries;
};
struct clml_tuning {
    sc_object object;
    cl_uint n; /* operations tuned */
};
typedef struct sc_recorded {
    cl_ml_op_qcom op;
    cl_ml_tensor_mem_desc_set_qcom set;
} sc_recorded;
struct clml_recording {
    sc_object object;
    cl_command_queue queue;
    bool ended;
    cl_uint n, capacity;
    sc_recorded *calls;
};
/* A queue made with CL_QUEUE_RECORDABLE_QCOM. */
typedef struct sc_queue {
    sc_object object;
    cl_command_queue queue;
    struct clml_recording *recording;
} sc_queue;
sc_queue *
sc_recordable(cl_command_queue queue);

/* ---- calls ---- */
/* To be called first in each entry: writes the log, and fails the call that
 * TENON_CLML_STANDIN_FAIL=NAME[:K] chooses. */
cl_int
sc_enter(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Logs why a call is refused and gives `code`. */
cl_int
sc_refuse(cl_int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether TENON_CLML_STANDIN_REFUSE names the operation. */
bool
sc_refused(const char *op);

/* Runs an operation with the memory that the set gives its tensors. */
cl_int
sc_run(cl_command_queue queue, cl_ml_op_qcom op, cl_ml_tensor_mem_desc_set_qcom set, cl_uint n,
       const cl_event *wait, cl_event *event);
/* Copies between two forms of a tensor; `from` and `to` may have different layouts. */
cl_int
sc_copy(cl_command_queue queue, const struct clml_tensor *from, cl_mem from_mem,
        const struct clml_tensor *to, cl_mem to_mem, cl_uint n, const cl_event *wait,
        cl_event *event);
/* The tables, by major version. NULL: no such version. */
void *
sc_table(int major);

#endif
