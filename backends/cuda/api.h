/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: the functions of NVIDIA's driver library, by table. Nothing of the CUDA Toolkit is needed to build
 * this: types and numbers are those of the driver API's binary interface, which do not change. The library is opened when the first
 * device is asked for, so that a system without it has this plugin and a message.
 */
#ifndef TENON_BACKENDS_CUDA_API_H
#define TENON_BACKENDS_CUDA_API_H

#include <stddef.h>
#include <stdint.h>
#include "tenon/base/status.h"

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,

    CU_STREAM_NON_BLOCKING = 1,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    CU_MEMHOSTALLOC_PORTABLE = 1,

    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,

    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,

    CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,

    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2, /* Y and Z follow */
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,  /* Y and Z follow */
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, /* kHz */
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115
};

typedef struct CUlaunchAttribute {
    int id;
    char pad[4];
    union {
        char room[64];
        struct {
            unsigned x, y, z;
        } cluster;
        int flag;
    } value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
    unsigned grid[3], block[3], shared_bytes;
    CUstream stream;
    CUlaunchAttribute *attrs;
    unsigned n_attrs;
} CUlaunchConfig;

typedef struct CUgraphExecUpdateResultInfo {
    int result;
    void *node, *from;
} CUgraphExecUpdateResultInfo;

/* Name in the library, member, parameters. All of CUDA 12.0. */
#define CUDA_CALLS(X)                                                                             \
    X(cuDeviceGetCount, DeviceGetCount, (int *n))                                                 \
    X(cuDeviceGet, DeviceGet, (CUdevice * d, int i))                                              \
    X(cuDeviceGetName, DeviceGetName, (char *out, int n, CUdevice d))                             \
    X(cuDeviceGetAttribute, DeviceGetAttribute, (int *out, int attribute, CUdevice d))            \
    X(cuDeviceTotalMem_v2, DeviceTotalMem, (size_t * out, CUdevice d))                            \
    X(cuDeviceCanAccessPeer, DeviceCanAccessPeer, (int *out, CUdevice d, CUdevice peer))          \
    X(cuDeviceGetDefaultMemPool, DeviceGetDefaultMemPool, (CUmemoryPool * out, CUdevice d))       \
    X(cuDevicePrimaryCtxRetain, DevicePrimaryCtxRetain, (CUcontext * out, CUdevice d))            \
    X(cuDevicePrimaryCtxRelease_v2, DevicePrimaryCtxRelease, (CUdevice d))                        \
    X(cuCtxPushCurrent_v2, CtxPushCurrent, (CUcontext c))                                         \
    X(cuCtxPopCurrent_v2, CtxPopCurrent, (CUcontext * out))                                       \
    X(cuCtxEnablePeerAccess, CtxEnablePeerAccess, (CUcontext peer, unsigned flags))               \
    X(cuMemAlloc_v2, MemAlloc, (CUdeviceptr * out, size_t bytes))                                 \
    X(cuMemFree_v2, MemFree, (CUdeviceptr p))                                                     \
    X(cuMemAllocAsync, MemAllocAsync, (CUdeviceptr * out, size_t bytes, CUstream s))              \
    X(cuMemFreeAsync, MemFreeAsync, (CUdeviceptr p, CUstream s))                                  \
    X(cuMemPoolTrimTo, MemPoolTrimTo, (CUmemoryPool p, size_t keep))                              \
    X(cuMemHostAlloc, MemHostAlloc, (void **out, size_t bytes, unsigned flags))                   \
    X(cuMemFreeHost, MemFreeHost, (void *p))                                                      \
    X(cuMemGetInfo_v2, MemGetInfo, (size_t * left, size_t * total))                               \
    X(cuMemcpyHtoDAsync_v2, MemcpyHtoDAsync,                                                      \
      (CUdeviceptr to, const void *from, size_t n, CUstream s))                                   \
    X(cuMemcpyDtoHAsync_v2, MemcpyDtoHAsync, (void *to, CUdeviceptr from, size_t n, CUstream s))  \
    X(cuMemcpyDtoDAsync_v2, MemcpyDtoDAsync,                                                      \
      (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s))                                   \
    X(cuMemcpyPeerAsync, MemcpyPeerAsync,                                                         \
      (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n,  \
       CUstream s))                                                                               \
    X(cuMemsetD8Async, MemsetD8Async, (CUdeviceptr p, unsigned char value, size_t n, CUstream s)) \
    X(cuStreamCreate, StreamCreate, (CUstream * out, unsigned flags))                             \
    X(cuStreamDestroy_v2, StreamDestroy, (CUstream s))                                            \
    X(cuStreamSynchronize, StreamSynchronize, (CUstream s))                                       \
    X(cuStreamWaitEvent, StreamWaitEvent, (CUstream s, CUevent e, unsigned flags))                \
    X(cuStreamBeginCapture_v2, StreamBeginCapture, (CUstream s, int mode))                        \
    X(cuStreamEndCapture, StreamEndCapture, (CUstream s, CUgraph * out))                          \
    X(cuEventCreate, EventCreate, (CUevent * out, unsigned flags))                                \
    X(cuEventDestroy_v2, EventDestroy, (CUevent e))                                               \
    X(cuEventRecord, EventRecord, (CUevent e, CUstream s))                                        \
    X(cuEventQuery, EventQuery, (CUevent e))                                                      \
    X(cuEventSynchronize, EventSynchronize, (CUevent e))                                          \
    X(cuEventElapsedTime, EventElapsedTime, (float *ms, CUevent from, CUevent to))                \
    X(cuModuleLoadDataEx, ModuleLoadDataEx,                                                       \
      (CUmodule * out, const void *image, unsigned n, int *options, void **values))               \
    X(cuModuleUnload, ModuleUnload, (CUmodule m))                                                 \
    X(cuModuleGetFunction, ModuleGetFunction, (CUfunction * out, CUmodule m, const char *name))   \
    X(cuFuncGetAttribute, FuncGetAttribute, (int *out, int attribute, CUfunction f))              \
    X(cuFuncSetAttribute, FuncSetAttribute, (CUfunction f, int attribute, int value))             \
    X(cuLaunchKernelEx, LaunchKernelEx,                                                           \
      (const CUlaunchConfig *config, CUfunction f, void **params, void **extra))                  \
    X(cuGraphClone, GraphClone, (CUgraph * out, CUgraph from))                                    \
    X(cuGraphInstantiateWithFlags, GraphInstantiate,                                              \
      (CUgraphExec * out, CUgraph g, unsigned long long flags))                                   \
    X(cuGraphExecUpdate_v2, GraphExecUpdate,                                                      \
      (CUgraphExec e, CUgraph g, CUgraphExecUpdateResultInfo * info))                             \
    X(cuGraphLaunch, GraphLaunch, (CUgraphExec e, CUstream s))                                    \
    X(cuGraphExecDestroy, GraphExecDestroy, (CUgraphExec e))                                      \
    X(cuGraphDestroy, GraphDestroy, (CUgraph g))

struct cuda_api {
    CUresult (*Init)(unsigned flags);
    CUresult (*DriverGetVersion)(int *version);
    CUresult (*GetErrorName)(CUresult code, const char **name);
    CUresult (*GetErrorString)(CUresult code, const char **text);
#define MEMBER(symbol, name, params) CUresult(*name) params;
    CUDA_CALLS(MEMBER)
#undef MEMBER
    int version; /* of the driver: 12040 for 12.4 */
};

/* The driver, opened and initialized once a process; it stays open. NULL with `err`: TNB_DEVICE, there is none, it is too old, or it
 * cannot start (cuInit). */
const struct cuda_api *
cuda_api_open(tnb_err *err);

#endif
