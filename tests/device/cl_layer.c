/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL layer for tests: it counts the calls that a program makes, lets one of them fail, and
 * changes what a device says about itself. The loader takes it from OPENCL_LAYERS; a test finds its
 * functions by opening the same file.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static cl_icd_dispatch ours, below;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long seen, fail_at, fail_code; /* fail_at 0: none */
static const char *failed;            /* the name of the call that did */
static struct {
    cl_device_info what;
    cl_ulong value;
} facts[16];
static int n_facts;

/* ---- what a test calls ---- */
EXPORT void
cl_layer_fail(long at, long code);
EXPORT long
cl_layer_calls(void);
EXPORT const char *
cl_layer_failed(void);
EXPORT void
cl_layer_say(unsigned what, unsigned long long value);
EXPORT void
cl_layer_reset(void);

/* From now on, call number `at` fails (1: the next). */
void
cl_layer_fail(long at, long code)
{
    pthread_mutex_lock(&lock);
    seen = 0;
    fail_at = at;
    fail_code = code;
    failed = NULL;
    pthread_mutex_unlock(&lock);
}

/* Calls since cl_layer_fail. */
long
cl_layer_calls(void)
{
    return seen;
}

const char *
cl_layer_failed(void)
{
    return failed;
}

/* Devices answer so from now on. */
void
cl_layer_say(unsigned what, unsigned long long value)
{
    if (n_facts < 16) {
        facts[n_facts].what = what;
        facts[n_facts++].value = value;
    }
}

void
cl_layer_reset(void)
{
    n_facts = 0;
    fail_at = 0;
}

static bool
trip(const char *name)
{
    pthread_mutex_lock(&lock);
    bool now = ++seen == fail_at;
    if (now)
        failed = name;
    pthread_mutex_unlock(&lock);
    return now;
}

/* ---- the calls ---- */

#define CALL(name, params, args)                             \
    static CL_API_ENTRY cl_int CL_API_CALL own_##name params \
    {                                                        \
        if (trip(#name))                                     \
            return (cl_int)fail_code;                        \
        return below.name args;                              \
    }
#define MAKE(type, name, params, args)                     \
    static CL_API_ENTRY type CL_API_CALL own_##name params \
    {                                                      \
        if (trip(#name)) {                                 \
            if (e)                                         \
                *e = (cl_int)fail_code;                    \
            return NULL;                                   \
        }                                                  \
        return below.name args;                            \
    }

CALL(clGetPlatformIDs, (cl_uint n, cl_platform_id *p, cl_uint *k), (n, p, k))
CALL(clGetPlatformInfo, (cl_platform_id p, cl_platform_info w, size_t n, void *v, size_t *k),
     (p, w, n, v, k))
CALL(clGetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *d, cl_uint *k),
     (p, t, n, d, k))
MAKE(cl_context, clCreateContext,
     (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
      void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u, cl_int *e),
     (p, n, d, f, u, e))
MAKE(cl_command_queue, clCreateCommandQueue,
     (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *e), (c, d, p, e))
MAKE(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t n, void *h, cl_int *e),
     (c, f, n, h, e))
MAKE(cl_mem, clCreateImage,
     (cl_context c, cl_mem_flags f, const cl_image_format *m, const cl_image_desc *d, void *h,
      cl_int *e),
     (c, f, m, d, h, e))
CALL(clGetMemObjectInfo, (cl_mem m, cl_mem_info w, size_t n, void *v, size_t *k), (m, w, n, v, k))
CALL(clGetImageInfo, (cl_mem m, cl_image_info w, size_t n, void *v, size_t *k), (m, w, n, v, k))
MAKE(cl_program, clCreateProgramWithSource,
     (cl_context c, cl_uint n, const char **s, const size_t *l, cl_int *e), (c, n, s, l, e))
MAKE(cl_program, clCreateProgramWithBinary,
     (cl_context c, cl_uint n, const cl_device_id *d, const size_t *l, const unsigned char **b,
      cl_int *s, cl_int *e),
     (c, n, d, l, b, s, e))
CALL(clBuildProgram,
     (cl_program p, cl_uint n, const cl_device_id *d, const char *o,
      void(CL_CALLBACK *f)(cl_program, void *), void *u),
     (p, n, d, o, f, u))
CALL(clGetProgramInfo, (cl_program p, cl_program_info w, size_t n, void *v, size_t *k),
     (p, w, n, v, k))
CALL(clGetProgramBuildInfo,
     (cl_program p, cl_device_id d, cl_program_build_info w, size_t n, void *v, size_t *k),
     (p, d, w, n, v, k))
MAKE(cl_kernel, clCreateKernel, (cl_program p, const char *s, cl_int *e), (p, s, e))
CALL(clGetKernelInfo, (cl_kernel c, cl_kernel_info w, size_t n, void *v, size_t *k),
     (c, w, n, v, k))
CALL(clGetKernelWorkGroupInfo,
     (cl_kernel c, cl_device_id d, cl_kernel_work_group_info w, size_t n, void *v, size_t *k),
     (c, d, w, n, v, k))
CALL(clSetKernelArg, (cl_kernel c, cl_uint i, size_t n, const void *v), (c, i, n, v))
CALL(clFlush, (cl_command_queue q), (q))
CALL(clFinish, (cl_command_queue q), (q))
CALL(clWaitForEvents, (cl_uint n, const cl_event *w), (n, w))
CALL(clGetEventProfilingInfo, (cl_event v, cl_profiling_info w, size_t n, void *p, size_t *k),
     (v, w, n, p, k))
#define WAIT cl_uint nw, const cl_event *w, cl_event *out
CALL(clEnqueueReadBuffer,
     (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n, void *p, WAIT),
     (q, m, b, o, n, p, nw, w, out))
CALL(clEnqueueWriteBuffer,
     (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n, const void *p, WAIT),
     (q, m, b, o, n, p, nw, w, out))
CALL(clEnqueueCopyBuffer,
     (cl_command_queue q, cl_mem s, cl_mem d, size_t so, size_t to, size_t n, WAIT),
     (q, s, d, so, to, n, nw, w, out))
CALL(clEnqueueFillBuffer,
     (cl_command_queue q, cl_mem m, const void *p, size_t s, size_t o, size_t n, WAIT),
     (q, m, p, s, o, n, nw, w, out))
CALL(clEnqueueReadImage,
     (cl_command_queue q, cl_mem m, cl_bool b, const size_t *o, const size_t *r, size_t rp,
      size_t sp, void *p, WAIT),
     (q, m, b, o, r, rp, sp, p, nw, w, out))
CALL(clEnqueueWriteImage,
     (cl_command_queue q, cl_mem m, cl_bool b, const size_t *o, const size_t *r, size_t rp,
      size_t sp, const void *p, WAIT),
     (q, m, b, o, r, rp, sp, p, nw, w, out))
CALL(clEnqueueFillImage,
     (cl_command_queue q, cl_mem m, const void *p, const size_t *o, const size_t *r, WAIT),
     (q, m, p, o, r, nw, w, out))
CALL(clEnqueueCopyImageToBuffer,
     (cl_command_queue q, cl_mem s, cl_mem d, const size_t *o, const size_t *r, size_t to, WAIT),
     (q, s, d, o, r, to, nw, w, out))
CALL(clEnqueueCopyBufferToImage,
     (cl_command_queue q, cl_mem s, cl_mem d, size_t so, const size_t *o, const size_t *r, WAIT),
     (q, s, d, so, o, r, nw, w, out))
CALL(clEnqueueNDRangeKernel,
     (cl_command_queue q, cl_kernel c, cl_uint n, const size_t *o, const size_t *g, const size_t *l,
      WAIT),
     (q, c, n, o, g, l, nw, w, out))
CALL(clEnqueueMarkerWithWaitList, (cl_command_queue q, WAIT), (q, nw, w, out))
CALL(clEnqueueBarrierWithWaitList, (cl_command_queue q, WAIT), (q, nw, w, out))

static CL_API_ENTRY cl_int CL_API_CALL
own_clGetDeviceInfo(cl_device_id d, cl_device_info w, size_t n, void *v, size_t *k)
{
    if (trip("clGetDeviceInfo"))
        return (cl_int)fail_code;
    for (int i = 0; i < n_facts; i++)
        if (facts[i].what == w && v && n <= sizeof facts[i].value) {
            memcpy(v, &facts[i].value, n); /* little endian: the low bytes */
            return CL_SUCCESS;
        }
    return below.clGetDeviceInfo(d, w, n, v, k);
}

/* ---- the layer ---- */

EXPORT CL_API_ENTRY cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info what, size_t n, void *value, size_t *size)
{
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION)
        return CL_INVALID_VALUE;
    if (value && n < sizeof version)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (size)
        *size = sizeof version;
    return CL_SUCCESS;
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL
clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_out, const cl_icd_dispatch **out)
{
    if (n < sizeof ours / sizeof(void *))
        return CL_INVALID_VALUE;
    below = ours = *target;
#define TAKE(name) ours.name = own_##name
    TAKE(clGetPlatformIDs), TAKE(clGetPlatformInfo), TAKE(clGetDeviceIDs), TAKE(clGetDeviceInfo);
    TAKE(clCreateContext), TAKE(clCreateCommandQueue), TAKE(clCreateBuffer), TAKE(clCreateImage);
    TAKE(clGetMemObjectInfo), TAKE(clGetImageInfo), TAKE(clCreateProgramWithSource);
    TAKE(clCreateProgramWithBinary), TAKE(clBuildProgram), TAKE(clGetProgramInfo);
    TAKE(clGetProgramBuildInfo), TAKE(clCreateKernel), TAKE(clGetKernelInfo);
    TAKE(clGetKernelWorkGroupInfo), TAKE(clSetKernelArg), TAKE(clFlush), TAKE(clFinish);
    TAKE(clWaitForEvents), TAKE(clGetEventProfilingInfo), TAKE(clEnqueueReadBuffer);
    TAKE(clEnqueueWriteBuffer), TAKE(clEnqueueCopyBuffer), TAKE(clEnqueueFillBuffer);
    TAKE(clEnqueueReadImage), TAKE(clEnqueueWriteImage), TAKE(clEnqueueFillImage);
    TAKE(clEnqueueCopyImageToBuffer), TAKE(clEnqueueCopyBufferToImage);
    TAKE(clEnqueueNDRangeKernel), TAKE(clEnqueueMarkerWithWaitList);
    TAKE(clEnqueueBarrierWithWaitList);
    *n_out = sizeof ours / sizeof(void *);
    *out = &ours;
    return CL_SUCCESS;
}
