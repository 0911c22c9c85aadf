/* SPDX-License-Identifier: Apache-2.0 */
/* Running operations of the stand-in: each is a kernel of kernels.h in the caller's context and queue,
 * with an event of its own. A recordable queue runs nothing; what is put into it is kept.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "tables.h"

/* ---- the program, built once a context ---- */

enum { MAX_PROGRAMS = 8 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    cl_context context;
    cl_program program;
} programs[MAX_PROGRAMS];

static cl_program
build(cl_context context, cl_int *err)
{
    const char *text = sc_kernels;
    cl_program p = sc_cl->clCreateProgramWithSource(context, 1, &text, NULL, err);
    if (*err)
        return NULL;
    *err = sc_cl->clBuildProgram(p, 0, NULL, "", NULL, NULL);
    if (*err) {
        cl_device_id device = NULL;
        char log[360] = "";
        sc_cl->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
        sc_cl->clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        sc_refuse(*err, "the stand-in's own kernels: %s", log);
        sc_cl->clReleaseProgram(p);
        return NULL;
    }
    return p;
}

/* A program keeps its context; so it is not kept here longer than the context's user does. */
static cl_kernel
kernel_of(cl_context context, const char *name, cl_int *err)
{
    pthread_mutex_lock(&lock);
    cl_program p = NULL;
    int free_ = 0;
    for (int i = 0; i < MAX_PROGRAMS; i++) {
        if (programs[i].context == context)
            p = programs[i].program;
        if (!programs[i].context)
            free_ = i;
    }
    *err = CL_SUCCESS;
    if (!p && (p = build(context, err))) {
        if (programs[free_].program)
            sc_cl->clReleaseProgram(programs[free_].program);
        programs[free_].context = context;
        programs[free_].program = p;
    }
    cl_kernel k = p ? sc_cl->clCreateKernel(p, name, err) : NULL;
    pthread_mutex_unlock(&lock);
    return k;
}

/* ---- launches ---- */

typedef struct argument {
    const struct clml_tensor *tensor; /* NULL: not used */
    cl_mem memory;
} argument;

static cl_int
launch(cl_command_queue queue, cl_context context, const char *name, const cl_int *params,
       const cl_float *numbers, const argument *args, cl_uint n_args, cl_uint n,
       const cl_event *wait, cl_event *event)
{
    cl_int err, words[8];
    cl_kernel k = kernel_of(context, name, &err);
    if (err)
        return err;
    for (cl_uint i = 0, at = 0; i < n_args && !err; i++) {
        memset(words, 0, sizeof words);
        if (args[i].tensor)
            sc_tensor_words(args[i].tensor, words);
        err =
            sc_cl->clSetKernelArg(k, at++, sizeof(cl_mem), args[i].tensor ? &args[i].memory : NULL);
        err = err ? err : sc_cl->clSetKernelArg(k, at++, sizeof words, words);
        if (i == 0 && !err) {
            err = sc_cl->clSetKernelArg(k, at++, SC_PARAMS * sizeof *params, params);
            err = err ? err : sc_cl->clSetKernelArg(k, at++, 4 * sizeof *numbers, numbers);
        }
    }
    const struct clml_tensor *out = args[0].tensor;
    size_t lanes = out->layout == CL_TENSOR_LAYOUT_OPTIMAL_QCOM ? (out->c + 3) / 4 * 4 : out->c;
    size_t global[3] = {out->w, out->h, out->n * lanes};
    if (!err)
        err = sc_cl->clEnqueueNDRangeKernel(queue, k, 3, NULL, global, NULL, n, wait, event);
    sc_cl->clReleaseKernel(k);
    return err;
}

cl_int
sc_copy(cl_command_queue queue, const struct clml_tensor *from, cl_mem from_mem,
        const struct clml_tensor *to, cl_mem to_mem, cl_uint n, const cl_event *wait,
        cl_event *event)
{
    cl_context context = NULL;
    const cl_int params[SC_PARAMS] = {0};
    const cl_float numbers[4] = {0};
    const argument args[] = {{to, to_mem}, {from, from_mem}};
    cl_int err =
        sc_cl->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    return err ? err : launch(queue, context, "copy", params, numbers, args, 2, n, wait, event);
}

static cl_int
memory_of(const struct clml_set *set, const struct clml_tensor *t, const char *kernel, cl_mem *out)
{
    size_t have = 0;
    if (!sc_alive(t, SC_TENSOR))
        return sc_refuse(CL_INVALID_VALUE, "%s: a tensor has been released", kernel);
    for (cl_uint i = 0; i < set->n; i++)
        if (set->entries[i].tensor == t) {
            *out = set->entries[i].memory;
            if (sc_cl->clGetMemObjectInfo(*out, CL_MEM_SIZE, sizeof have, &have, NULL) ||
                have < sc_tensor_bytes(t))
                return sc_refuse(CL_INVALID_BUFFER_SIZE, "%s: memory is too small", kernel);
            return CL_SUCCESS;
        }
    return sc_refuse(CL_INVALID_VALUE, "%s: a tensor is not in the descriptor set", kernel);
}

/* One launch a part: the channels that only fill up are written by each. */
static cl_int
run_concat(cl_command_queue queue, const struct clml_op *op, const argument *args, cl_uint n,
           const cl_event *wait, cl_event *event)
{
    cl_int params[SC_PARAMS], err = CL_SUCCESS;
    memcpy(params, op->params, sizeof params);
    cl_event last = NULL;
    for (cl_uint i = 0; i < op->n_in && !err; i++) {
        const struct clml_tensor *t = op->in[i];
        const cl_uint extents[] = {t->n, t->c, t->h, t->w};
        cl_event done = NULL;
        err = launch(queue, op->context, "concat", params, op->numbers,
                     (const argument[]){args[0], args[i + 1]}, 2, last ? 1 : n, last ? &last : wait,
                     &done);
        if (last)
            sc_cl->clReleaseEvent(last);
        last = done;
        params[1] += (cl_int)extents[params[0]];
    }
    if (event && !err)
        *event = last;
    else if (last)
        sc_cl->clReleaseEvent(last);
    return err;
}

/* What the operation writes, then what it reads, with the memory that the set says. */
static cl_int
arguments_of(cl_ml_op_qcom op, cl_ml_tensor_mem_desc_set_qcom set, argument *args)
{
    if (!sc_alive(op, SC_OP) || !sc_alive(set, SC_SET))
        return sc_refuse(CL_INVALID_VALUE, "an operation or a descriptor set has been released");
    args[0].tensor = op->out;
    cl_int err = memory_of(set, op->out, op->kernel, &args[0].memory);
    for (cl_uint i = 0; i < op->n_in && !err; i++)
        if ((args[i + 1].tensor = op->in[i])) {
            err = memory_of(set, op->in[i], op->kernel, &args[i + 1].memory);
            if (!err && args[i + 1].memory == args[0].memory)
                err =
                    sc_refuse(CL_INVALID_VALUE, "%s: writes the memory that it reads", op->kernel);
        }
    return err;
}

cl_int
sc_run(cl_command_queue queue, cl_ml_op_qcom op, cl_ml_tensor_mem_desc_set_qcom set, cl_uint n,
       const cl_event *wait, cl_event *event)
{
    argument args[SC_MAX_TENSORS + 1] = {0};
    cl_int err = arguments_of(op, set, args);
    if (err)
        return err;
    if (!strcmp(op->kernel, "concat"))
        return run_concat(queue, op, args, n, wait, event);
    return launch(queue, op->context, op->kernel, op->params, op->numbers, args, op->n_in + 1, n,
                  wait, event);
}

/* ---- entries ---- */

/* What is recorded could run at once: its tensors have memory. Open callers record nothing whose
 * dimensions are told later. */
static cl_int
record(struct clml_recording *r, cl_ml_op_qcom op, cl_ml_tensor_mem_desc_set_qcom set)
{
    argument args[SC_MAX_TENSORS + 1] = {0};
    if (!r || r->ended)
        return sc_refuse(CL_INVALID_OPERATION, "a recordable queue without a recording");
    cl_int err = arguments_of(op, set, args);
    for (cl_uint i = 0; i <= op->n_in && !err; i++)
        if (args[i].tensor && args[i].tensor->dynamic)
            err = sc_refuse(CL_INVALID_OPERATION, "%s: a recording of open dimensions", op->kernel);
    if (err)
        return err;
    if (r->n == r->capacity) {
        cl_uint capacity = r->capacity ? 2 * r->capacity : 16;
        sc_recorded *more = realloc(r->calls, capacity * sizeof *more);
        if (!more)
            return CL_OUT_OF_HOST_MEMORY;
        r->calls = more;
        r->capacity = capacity;
    }
    r->calls[r->n++] = (sc_recorded){op, set};
    return CL_SUCCESS;
}

cl_int
sc_clEnqueueMLOpQCOM(cl_command_queue queue, cl_ml_op_qcom op, cl_ml_tensor_mem_desc_set_qcom set,
                     cl_uint n, const cl_event *wait, cl_event *event)
{
    sc_queue *q = sc_recordable(queue);
    cl_int err = sc_enter("clEnqueueMLOpQCOM", "%s%s", sc_alive(op, SC_OP) ? op->kernel : "?",
                          q ? " (recorded)" : "");
    if (err)
        return err;
    return q ? record(q->recording, op, set) : sc_run(queue, op, set, n, wait, event);
}

cl_int
sc_clUpdateMLOpQCOM(cl_ml_op_qcom op, const cl_update_ml_op_properties_qcom *props,
                    cl_ml_tensor_mem_desc_set_qcom set, void *reserved)
{
    cl_int err = sc_enter("clUpdateMLOpQCOM", "%s", sc_alive(op, SC_OP) ? op->kernel : "?");
    if (err)
        return err;
    if (!sc_alive(op, SC_OP) || !sc_alive(set, SC_SET) || reserved || !props ||
        props[0] != CL_UPDATE_ML_OP_PROPERTY_DYNAMIC_TENSORS_QCOM)
        return sc_refuse(CL_INVALID_VALUE, "an update without its property");
    const struct clml_tensor *x = op->in[0];
    size_t k = (size_t)op->params[1], rows = (size_t)x->n * x->c * x->h * x->w;
    if (strncmp(op->kernel, "fully_connected", 15) || rows % k ||
        rows / k * (size_t)op->params[2] !=
            (size_t)op->out->n * op->out->c * op->out->h * op->out->w)
        return sc_refuse(CL_INVALID_VALUE, "%s: the new shapes do not fit", op->kernel);
    return CL_SUCCESS;
}

cl_int
sc_clEnqueueRecordingMLOpQCOM(cl_command_queue queue, cl_recording_qcom r, size_t n0,
                              const void *a0, size_t n1, const void *a1, size_t n2, const void *a2,
                              size_t n3, const void *a3, size_t n4, const void *a4, size_t n5,
                              const void *a5, size_t n6, const void *a6, cl_uint n,
                              const cl_event *wait, cl_event *event)
{
    (void)a0, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6;
    cl_int err = sc_enter("clEnqueueRecordingMLOpQCOM", "%s", "");
    if (err)
        return err;
    if (!sc_alive(r, SC_RECORDING) || !r->ended || sc_recordable(queue) ||
        n0 + n1 + n2 + n3 + n4 + n5 + n6)
        return sc_refuse(CL_INVALID_VALUE,
                         "a recording that has not ended, updates, or a recordable queue");
    if (!r->n)
        return sc_cl->clEnqueueMarkerWithWaitList(queue, n, wait, event);
    cl_event last = NULL;
    for (cl_uint i = 0; i < r->n && !err; i++) {
        cl_event done = NULL;
        err = sc_run(queue, r->calls[i].op, r->calls[i].set, last ? 1 : n, last ? &last : wait,
                     &done);
        if (last)
            sc_cl->clReleaseEvent(last);
        last = done;
    }
    if (event && !err)
        *event = last;
    else if (last)
        sc_cl->clReleaseEvent(last);
    return err;
}

cl_recording_qcom
sc_clNewRecordingQCOM(cl_command_queue queue, cl_int *err)
{
    sc_queue *q = sc_recordable(queue);
    cl_int e = sc_enter("clNewRecordingQCOM", "%s", "");
    if (!e && (!q || (q->recording && !q->recording->ended)))
        e = sc_refuse(CL_INVALID_COMMAND_QUEUE, "a recording on a queue that takes none");
    struct clml_recording *r = e ? NULL : sc_new(SC_RECORDING, sizeof *r);
    if (r) {
        r->queue = queue;
        q->recording = r;
    }
    if (err)
        *err = e ? e : r ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    return r;
}

cl_int
sc_clEndRecordingQCOM(cl_recording_qcom r)
{
    cl_int err = sc_enter("clEndRecordingQCOM", "%s", "");
    if (err)
        return err;
    if (!sc_alive(r, SC_RECORDING) || r->ended)
        return sc_refuse(CL_INVALID_VALUE, "the end of what is no open recording");
    r->ended = true;
    return CL_SUCCESS;
}

cl_int
sc_clRetainRecordingQCOM(cl_recording_qcom r)
{
    if (!sc_alive(r, SC_RECORDING))
        return sc_refuse(CL_INVALID_VALUE, "what is no recording");
    r->object.refs++;
    return CL_SUCCESS;
}

cl_int
sc_clReleaseRecordingQCOM(cl_recording_qcom r)
{
    cl_int err = sc_enter("clReleaseRecordingQCOM", "%s", "");
    if (err)
        return err;
    if (!sc_alive(r, SC_RECORDING))
        return sc_refuse(CL_INVALID_VALUE, "release of what is no recording");
    sc_queue *q = sc_recordable(r->queue);
    if (q && q->recording == r && r->object.refs == 1)
        q->recording = NULL;
    sc_release(r);
    return CL_SUCCESS;
}

/* ---- tuning: a cache counts what was tuned ---- */

static const char magic[8] = "scTUNING";

cl_int
sc_clCreateMLTuningCacheQCOM(cl_ml_tuningcache_qcom *out)
{
    cl_int err = sc_enter("clCreateMLTuningCacheQCOM", "%s", "");
    if (err)
        return err;
    *out = sc_new(SC_TUNING, sizeof **out);
    return *out ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

cl_int
sc_clReleaseMLTuningCacheQCOM(cl_ml_tuningcache_qcom tc)
{
    cl_int err = sc_enter("clReleaseMLTuningCacheQCOM", "%s", "");
    if (err)
        return err;
    if (!sc_alive(tc, SC_TUNING))
        return sc_refuse(CL_INVALID_VALUE, "release of what is no tuning cache");
    sc_release(tc);
    return CL_SUCCESS;
}

cl_int
sc_clLoadMLTuningCacheQCOM(cl_ml_tuningcache_qcom tc, size_t n, const unsigned char *data)
{
    cl_int err = sc_enter("clLoadMLTuningCacheQCOM", "%zu bytes", n);
    if (err)
        return err;
    if (!sc_alive(tc, SC_TUNING) || n != sizeof magic + sizeof tc->n ||
        memcmp(data, magic, sizeof magic))
        return sc_refuse(CL_INVALID_VALUE, "what is no tuning cache of this device");
    memcpy(&tc->n, data + sizeof magic, sizeof tc->n);
    return CL_SUCCESS;
}

cl_int
sc_clSaveMLTuningCacheQCOM(cl_ml_tuningcache_qcom tc, size_t n, unsigned char *data, size_t *need)
{
    cl_int err = sc_enter("clSaveMLTuningCacheQCOM", "%s", "");
    if (err)
        return err;
    size_t bytes = sizeof magic + sizeof tc->n;
    if (!sc_alive(tc, SC_TUNING) || (data && n < bytes))
        return sc_refuse(CL_INVALID_VALUE, "no tuning cache, or no place for it");
    if (need)
        *need = bytes;
    if (data) {
        memcpy(data, magic, sizeof magic);
        memcpy(data + sizeof magic, &tc->n, sizeof tc->n);
    }
    return CL_SUCCESS;
}

cl_int
sc_clTuneMLOpQCOM(cl_command_queue queue, cl_ml_op_qcom op, cl_ml_tensor_mem_desc_set_qcom set,
                  cl_ml_tuningcache_qcom tc, void *reserved)
{
    cl_int err = sc_enter("clTuneMLOpQCOM", "%s", sc_alive(op, SC_OP) ? op->kernel : "?");
    cl_command_queue_properties props = 0;
    if (err)
        return err;
    sc_cl->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof props, &props, NULL);
    if (!sc_alive(op, SC_OP) || !sc_alive(set, SC_SET) || !sc_alive(tc, SC_TUNING) || reserved ||
        !(props & CL_QUEUE_PROFILING_ENABLE))
        return sc_refuse(CL_INVALID_VALUE, "tuning without an operation, or on a queue that does "
                                           "not measure");
    tc->n++;
    return sc_run(queue, op, set, 0, NULL, NULL);
}
