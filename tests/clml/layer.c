/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in as an OpenCL layer: OPENCL_LAYERS=/path/clml_layer.so puts it over every platform.
 *
 * It adds the extensions to a device's list, gives the entry points, makes recordable queues and
 * memory on the chip, and leaves everything else as it is.
 *
 * TENON_CLML_STANDIN_VERSION=N   newest interface offered, 1 to 5 (default 5)
 * TENON_CLML_STANDIN_ONCHIP=N    bytes of memory on the chip (default 0: none)
 * TENON_CLML_STANDIN_NAMES=LIST  extensions to list in place of its own
 */
#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

#define EXPORT __attribute__((visibility("default")))

const cl_icd_dispatch *sc_cl;

static long
number(const char *name, long otherwise)
{
    const char *v = getenv(name);
    return v && *v ? atol(v) : otherwise;
}

static int
newest(void)
{
    long v = number("TENON_CLML_STANDIN_VERSION", CL_QCOM_ML_OPS_H_MAJOR_VERSION);
    return v < 1 ? 1 : v > CL_QCOM_ML_OPS_H_MAJOR_VERSION ? CL_QCOM_ML_OPS_H_MAJOR_VERSION : (int)v;
}

/* ---- tables ---- */

#define ENTRY(name, args) .name = sc_##name,
static CLMLInterfaceV1QCOM v1 = {
    TENON_CLML_COMMON(ENTRY) TENON_CLML_OPS(ENTRY).clCreateMLTensorQCOM = sc_clCreateMLTensorQCOM};
static CLMLInterfaceV2QCOM v2 = {
    TENON_CLML_COMMON(ENTRY) TENON_CLML_OPS(ENTRY).clCreateMLTensorQCOM = sc_clCreateMLTensorQCOM,
    .clCreateMLOpClipQCOM = sc_clCreateMLOpClipQCOM};
static CLMLInterfaceV3QCOM v3 = {
    TENON_CLML_COMMON(ENTRY) TENON_CLML_OPS(ENTRY).clCreateMLTensorQCOM = sc_clCreateMLTensorQCOM,
    .clCreateMLOpClipQCOM = sc_clCreateMLOpClipQCOM};
static CLMLInterfaceV4QCOM v4 = {
    TENON_CLML_COMMON(ENTRY) TENON_CLML_OPS(ENTRY).clCreateMLTensorWithUsageQCOM =
        sc_clCreateMLTensorWithUsageQCOM,
    .clCreateMLOpClipQCOM = sc_clCreateMLOpClipQCOM};
static CLMLInterfaceV5QCOM v5 = {
    TENON_CLML_COMMON(ENTRY) TENON_CLML_OPS(ENTRY).clCreateMLTensorWithUsageQCOM =
        sc_clCreateMLTensorWithUsageQCOM,
    .clCreateMLOpClipQCOM = sc_clCreateMLOpClipQCOM,
    .clSetMLTensorDimensionsQCOM = sc_clSetMLTensorDimensionsQCOM,
    .clUpdateMLOpQCOM = sc_clUpdateMLOpQCOM};

void *
sc_table(int major)
{
    void *const tables[] = {&v1, &v2, &v3, &v4, &v5};
    return major < 1 || major > newest() ? NULL : tables[major - 1];
}

cl_int
sc_clQueryMLInterfaceVersionsQCOM(cl_int *majors, cl_int *minors, cl_uint n, cl_uint *count)
{
    cl_int err = sc_enter("clQueryMLInterfaceVersionsQCOM", "%s", "");
    if (err)
        return err;
    if (count)
        *count = (cl_uint)newest();
    for (cl_uint i = 0; majors && minors && i < n && i < (cl_uint)newest(); i++) {
        majors[i] = (cl_int)i + 1;
        minors[i] = 0;
    }
    return CL_SUCCESS;
}

cl_int
sc_clGetMLInterfaceQCOM(void **table, cl_int major, cl_int minor)
{
    cl_int err = sc_enter("clGetMLInterfaceQCOM", "%d.%d", major, minor);
    if (err)
        return err;
    *table = minor ? NULL : sc_table(major);
    return *table ? CL_SUCCESS : CL_INVALID_VALUE;
}

static void *
find(const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } entries[] = {
        {"clQueryMLInterfaceVersionsQCOM", (void (*)(void))sc_clQueryMLInterfaceVersionsQCOM},
        {"clGetMLInterfaceQCOM", (void (*)(void))sc_clGetMLInterfaceQCOM},
        {"clNewRecordingQCOM", (void (*)(void))sc_clNewRecordingQCOM},
        {"clEndRecordingQCOM", (void (*)(void))sc_clEndRecordingQCOM},
        {"clRetainRecordingQCOM", (void (*)(void))sc_clRetainRecordingQCOM},
        {"clReleaseRecordingQCOM", (void (*)(void))sc_clReleaseRecordingQCOM},
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (name && !strcmp(name, entries[i].name))
            return *(void *const *)&entries[i].function;
    return NULL;
}

/* ---- what the layer changes ---- */

static void *CL_API_CALL
function_address(const char *name)
{
    void *f = find(name);
    return f ? f : sc_cl->clGetExtensionFunctionAddress(name);
}

static void *CL_API_CALL
function_address_for(cl_platform_id platform, const char *name)
{
    void *f = find(name);
    return f ? f : sc_cl->clGetExtensionFunctionAddressForPlatform(platform, name);
}

static cl_int
give(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret)
{
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL
device_info(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *size_ret)
{
    if (what == CL_DEVICE_ONCHIP_GLOBAL_MEM_SIZE_QCOM) {
        size_t bytes = (size_t)number("TENON_CLML_STANDIN_ONCHIP", 0);
        return give(&bytes, sizeof bytes, size, value, size_ret);
    }
    if (what != CL_DEVICE_EXTENSIONS)
        return sc_cl->clGetDeviceInfo(device, what, size, value, size_ret);
    static const char all_but_chip[] = TENON_CLML_EXTENSION " " TENON_CLML_RECORDABLE_EXTENSION,
                      with_chip[] = TENON_CLML_EXTENSION " " TENON_CLML_RECORDABLE_EXTENSION
                                                         " " TENON_CLML_ONCHIP_EXTENSION;
    const char *given = getenv("TENON_CLML_STANDIN_NAMES");
    const char *more = given                                    ? given
                       : number("TENON_CLML_STANDIN_ONCHIP", 0) ? with_chip
                                                                : all_but_chip;
    size_t n = 0;
    cl_int err = sc_cl->clGetDeviceInfo(device, what, 0, NULL, &n);
    char *all = err ? NULL : malloc(n + 1 + strlen(more) + 1);
    if (!all)
        return err ? err : CL_OUT_OF_HOST_MEMORY;
    err = sc_cl->clGetDeviceInfo(device, what, n, all, NULL);
    if (!err) {
        strcat(strcat(all, " "), more);
        err = give(all, strlen(all) + 1, size, value, size_ret);
    }
    free(all);
    return err;
}

static cl_command_queue CL_API_CALL
create_queue(cl_context context, cl_device_id device, cl_command_queue_properties props,
             cl_int *err_ret)
{
    cl_int err;
    bool recordable = props & CL_QUEUE_RECORDABLE_QCOM;
    props &= ~(cl_command_queue_properties)CL_QUEUE_RECORDABLE_QCOM;
    cl_command_queue queue = sc_cl->clCreateCommandQueue(context, device, props, &err);
    sc_queue *q = !err && recordable ? sc_new(SC_QUEUE, sizeof *q) : NULL;
    if (q)
        q->queue = queue;
    if (err_ret)
        *err_ret = err;
    return queue;
}

static cl_command_queue CL_API_CALL
create_queue_with(cl_context context, cl_device_id device, const cl_queue_properties *props,
                  cl_int *err_ret)
{
    for (const cl_queue_properties *p = props; p && *p; p += 2)
        if (p[0] == CL_QUEUE_PROPERTIES && (p[1] & CL_QUEUE_RECORDABLE_QCOM))
            return create_queue(context, device, p[1], err_ret);
    return sc_cl->clCreateCommandQueueWithProperties(context, device, props, err_ret);
}

static cl_int CL_API_CALL
release_queue(cl_command_queue queue)
{
    cl_uint refs = 0;
    sc_queue *q = sc_recordable(queue);
    if (q &&
        !sc_cl->clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof refs, &refs, NULL) &&
        refs == 1)
        sc_release(q);
    return sc_cl->clReleaseCommandQueue(queue);
}

/* Nothing but operations of the extension can be recorded here. */
static cl_int CL_API_CALL
launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
       const size_t *global, const size_t *local, cl_uint n, const cl_event *wait, cl_event *event)
{
    if (sc_recordable(queue))
        return sc_refuse(CL_INVALID_COMMAND_QUEUE, "a kernel on a recordable queue");
    return sc_cl->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, n, wait,
                                         event);
}

/* Memory on the chip is one buffer for each context; what overlaps in it shares its bytes. */
static cl_mem
on_chip(cl_context context, cl_mem_flags flags, size_t offset, size_t size, cl_int *err)
{
    enum { MAX = 8 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        cl_context context;
        cl_mem memory;
    } chips[MAX];
    size_t all = (size_t)number("TENON_CLML_STANDIN_ONCHIP", 0);
    *err = sc_enter("clCreateBufferWithProperties", "%zu bytes at %zu on the chip", size, offset);
    if (*err)
        return NULL;
    if (!size || offset > all || size > all - offset) {
        *err = sc_refuse(CL_INVALID_BUFFER_SIZE, "%zu bytes at %zu of %zu on the chip", size,
                         offset, all);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < MAX - 1 && chips[i].context && chips[i].context != context)
        i++;
    *err = CL_SUCCESS;
    if (chips[i].context != context) {
        chips[i].memory = sc_cl->clCreateBuffer(context, CL_MEM_READ_WRITE, all, NULL, err);
        chips[i].context = *err ? NULL : context;
    }
    cl_buffer_region region = {offset, size};
    cl_mem m = *err ? NULL
                    : sc_cl->clCreateSubBuffer(chips[i].memory, flags, CL_BUFFER_CREATE_TYPE_REGION,
                                               &region, err);
    pthread_mutex_unlock(&lock);
    return m;
}

static cl_mem CL_API_CALL
create_buffer_with(cl_context context, const cl_mem_properties *props, cl_mem_flags flags,
                   size_t size, void *host, cl_int *err_ret)
{
    bool chip = false;
    size_t offset = 0;
    for (const cl_mem_properties *p = props; p && *p; p += 2) {
        chip = chip || (p[0] == CL_MEM_ONCHIP_GLOBAL_QCOM && p[1]);
        offset = p[0] == CL_MEM_ONCHIP_GLOBAL_OFFSET_QCOM ? p[1] : offset;
    }
    if (!chip)
        return sc_cl->clCreateBufferWithProperties(context, props, flags, size, host, err_ret);
    cl_int err;
    cl_mem m = on_chip(context, flags, offset, size, &err);
    if (err_ret)
        *err_ret = err;
    return m;
}

/* ---- the loader's side ---- */

EXPORT cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret)
{
    static const char name[] = "stand-in for a vendor's machine-learning extension";
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what == CL_LAYER_API_VERSION)
        return give(&version, sizeof version, size, value, size_ret);
    return what == CL_LAYER_NAME ? give(name, sizeof name, size, value, size_ret)
                                 : CL_INVALID_VALUE;
}

EXPORT cl_int CL_API_CALL
clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret, const cl_icd_dispatch **layer)
{
    static cl_icd_dispatch mine;
    if (!target || !n_ret || !layer || n * sizeof(void *) < sizeof mine)
        return CL_INVALID_VALUE;
    sc_cl = target;
    mine.clGetExtensionFunctionAddress = function_address;
    mine.clGetExtensionFunctionAddressForPlatform = function_address_for;
    mine.clGetDeviceInfo = device_info;
    mine.clCreateCommandQueue = create_queue;
    mine.clCreateCommandQueueWithProperties = create_queue_with;
    mine.clReleaseCommandQueue = release_queue;
    mine.clEnqueueNDRangeKernel = launch;
    mine.clCreateBufferWithProperties = create_buffer_with;
    *n_ret = sizeof mine / sizeof(void *);
    *layer = &mine;
    return CL_SUCCESS;
}
