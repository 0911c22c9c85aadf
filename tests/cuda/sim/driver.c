/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1 of the simulated device: start, devices, contexts, errors. README.md has the environment variables. */
#include "config.h"

#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cu_driver cu = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local CUcontext stack[MAX_CONTEXTS];
static _Thread_local int depth;

/* ---- errors ---- */

static const struct {
    CUresult code;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT",
     "the launch timed out and was terminated"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints "
     "specific to instantiated graph update"},
};

CUresult
cuGetErrorName(CUresult code, const char **name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *name = errors[i].name;
            return CUDA_SUCCESS;
        }
    *name = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuGetErrorString(CUresult code, const char **text)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *text = errors[i].text;
            return CUDA_SUCCESS;
        }
    *text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult
cu_refuse(CUresult r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("cudasim: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return r;
}

CUresult
cu_broken(CUcontext c, CUresult r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("cudasim: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    c->failed = r;
    return r;
}

/* ---- start ---- */

static uint64_t
number(const char *name, uint64_t otherwise)
{
    const char *v = getenv(name);
    return v && *v ? strtoull(v, NULL, 10) : otherwise;
}

static CUresult
start(void)
{
    sim_options o = {.seed = number("CUDASIM_SEED", 0),
                     .late = number("CUDASIM_LATE", 0) != 0,
                     .races = number("CUDASIM_RACES", 1) != 0,
                     .idle = number("CUDASIM_IDLE", 0)};
    const char *costs = getenv("CUDASIM_COSTS");
    if (costs && *costs) {
        cu.costs = fopen(costs, "a");
        if (!cu.costs)
            return cu_refuse(CUDA_ERROR_INVALID_VALUE, "CUDASIM_COSTS: cannot write %s", costs);
        o.costs = true;
    }
    cu.late = o.late;
    cu.arch = (int)number("CUDASIM_ARCH", 80);
    cu.n_devices = (int)number("CUDASIM_DEVICES", 1);
    cu.memory = (size_t)number("CUDASIM_MEMORY", 16384) << 20;
    cu.random = o.seed;
    if (cu.n_devices < 1 || cu.n_devices > MAX_DEVICES)
        return CUDA_ERROR_NO_DEVICE;
    cu.machine = sim_new(&o);
    if (!cu.machine)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (int d = 0; d < cu.n_devices; d++) {
        cu.contexts[d] = (struct CUctx_st){.tag = CU_CONTEXT, .device = d};
        cu.pools[d] = (struct CUmemPoolHandle_st){CU_POOL, d};
    }
    cu.null_stream = (struct CUstream_st){.tag = CU_STREAM, .context = &cu.contexts[0]};
    cu.streams = &cu.null_stream;
    cu.started = true;
    return CUDA_SUCCESS;
}

CUresult
cuInit(unsigned flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (number("CUDASIM_ABSENT", 0))
        return CUDA_ERROR_NO_DEVICE;
    pthread_mutex_lock(&cu.lock);
    CUresult r = cu.started ? CUDA_SUCCESS : start();
    pthread_mutex_unlock(&cu.lock);
    return r;
}

CUresult
cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

/* NVRTC asks for tables that no document describes. It goes on when there is none, but not without this function. */
CUresult
cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

/* ---- devices ---- */

static CUresult
check_device(CUdevice d)
{
    return !cu.started                  ? CUDA_ERROR_NOT_INITIALIZED
           : d < 0 || d >= cu.n_devices ? CUDA_ERROR_INVALID_DEVICE
                                        : CUDA_SUCCESS;
}

CUresult
cuDeviceGetCount(int *n)
{
    if (!cu.started)
        return CUDA_ERROR_NOT_INITIALIZED;
    *n = cu.n_devices;
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGet(CUdevice *d, int i)
{
    *d = i;
    return check_device(i);
}

CUresult
cuDeviceGetName(char *out, int n, CUdevice d)
{
    CUresult r = check_device(d);
    if (r == CUDA_SUCCESS)
        snprintf(out, (size_t)n, "Simulated sm_%d", cu.arch);
    return r;
}

CUresult
cuDeviceTotalMem_v2(size_t *out, CUdevice d)
{
    *out = cu.memory;
    return check_device(d);
}

int
cu_most_shared(void)
{
    static const struct {
        int arch, kib;
    } known[] = {{75, 64}, {80, 163}, {86, 99}, {87, 163}, {89, 99}, {120, 99}, {121, 99}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].arch == cu.arch)
            return known[i].kib << 10;
    return 227 << 10;
}

CUresult
cuDeviceGetAttribute(int *out, int attribute, CUdevice d)
{
    const struct {
        int attribute, value;
    } values[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + 1, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + 2, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT32_MAX},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + 1, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + 2, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
        {9 /* constant memory */, 64 << 10},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
        {31 /* concurrent kernels */, 1},
        {36 /* memory clock, kHz */, 1000000},
        {37 /* bits of the bus */, 256},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
        {39 /* threads of a multiprocessor */, 2048},
        {40 /* copy engines */, 2},
        {41 /* unified addresses */, 1},
        {78 /* priorities */, 1},
        {81 /* shared memory of a multiprocessor */,
         cu_most_shared() + (cu.arch < 80 ? 0 : 1 << 10)},
        {82 /* registers of a multiprocessor */, 65536},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, cu_most_shared()},
        {106 /* blocks of a multiprocessor */, 32},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    };
    CUresult r = check_device(d);
    *out = 0;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        *out = cu.arch / 10;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        *out = cu.arch % 10;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].attribute == attribute)
            *out = values[i].value;
    return attribute < 1 ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult
cuDeviceCanAccessPeer(int *out, CUdevice d, CUdevice peer)
{
    *out = d != peer;
    return check_device(d) != CUDA_SUCCESS ? check_device(d) : check_device(peer);
}

CUresult
cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice d)
{
    CUresult r = check_device(d);
    if (r == CUDA_SUCCESS)
        *out = &cu.pools[d];
    return r;
}

/* ---- contexts ---- */

CUresult
cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice d)
{
    CUresult r = check_device(d);
    if (r != CUDA_SUCCESS)
        return r;
    pthread_mutex_lock(&cu.lock);
    cu.contexts[d].n_retained++;
    pthread_mutex_unlock(&cu.lock);
    *out = &cu.contexts[d];
    return CUDA_SUCCESS;
}

CUresult
cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
    CUresult r = check_device(d);
    if (r != CUDA_SUCCESS)
        return r;
    pthread_mutex_lock(&cu.lock);
    CUcontext c = &cu.contexts[d];
    if (c->n_retained == 0)
        r = CUDA_ERROR_INVALID_CONTEXT;
    else if (--c->n_retained == 0)
        c->failed = CUDA_SUCCESS; /* the next one begins anew */
    pthread_mutex_unlock(&cu.lock);
    return r;
}

CUresult
cuCtxPushCurrent_v2(CUcontext c)
{
    if (!c || c->tag != CU_CONTEXT || depth == MAX_CONTEXTS)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = c;
    return CUDA_SUCCESS;
}

CUresult
cuCtxPopCurrent_v2(CUcontext *out)
{
    if (depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (out)
        *out = stack[depth];
    return CUDA_SUCCESS;
}

CUresult
cuCtxSetCurrent(CUcontext c)
{
    if (depth)
        depth--;
    return c ? cuCtxPushCurrent_v2(c) : CUDA_SUCCESS;
}

CUresult
cuCtxGetCurrent(CUcontext *out)
{
    *out = depth ? stack[depth - 1] : NULL;
    return CUDA_SUCCESS;
}

CUresult
cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    return flags                              ? CUDA_ERROR_INVALID_VALUE
           : !peer || peer->tag != CU_CONTEXT ? CUDA_ERROR_INVALID_CONTEXT
                                              : CUDA_SUCCESS;
}

CUresult
cu_enter(CUcontext *out)
{
    if (!cu.started)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (depth == 0 || stack[depth - 1]->n_retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&cu.lock);
    CUcontext c = stack[depth - 1];
    if (out)
        *out = c;
    return c->failed == CUDA_SUCCESS ? CUDA_SUCCESS : cu_leave(c->failed);
}

CUresult
cu_leave(CUresult r)
{
    pthread_mutex_unlock(&cu.lock);
    return r;
}

CUresult
cuCtxSynchronize(void)
{
    CUresult r = cu_enter(NULL);
    return r == CUDA_SUCCESS ? cu_leave(cu_finish_all()) : r;
}
