/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated device as a driver: what the files of libcuda.so.1 share. One lock guards all; work runs in the thread that waits for
 * it. All devices share one machine, so that their addresses differ. */
#ifndef CUDASIM_DRIVER_H
#define CUDASIM_DRIVER_H

#include "backends/cuda/api.h"
#include "sim.h"

#include <pthread.h>
#include <stdio.h>

#define CU_EXPORT __attribute__((visibility("default")))

/* Beside those of api.h. */
enum {
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
};

enum { MAX_DEVICES = 8, MAX_CONTEXTS = 64 };

/* What handles point to begins with one of these. */
typedef enum cu_tag {
    CU_CONTEXT = 0x4375c0de,
    CU_STREAM,
    CU_EVENT,
    CU_MODULE,
    CU_FUNCTION,
    CU_GRAPH,
    CU_EXEC,
    CU_POOL,
} cu_tag;

struct CUctx_st {
    cu_tag tag;
    int device, n_retained;
    CUresult failed; /* a fault ends a context: all calls give it from then on */
};

struct CUmemPoolHandle_st {
    cu_tag tag;
    int device;
};

/* ---- work ---- */

typedef enum cu_kind {
    CU_UPLOAD,
    CU_DOWNLOAD,
    CU_COPY,
    CU_FILL,
    CU_LAUNCH,
    CU_RECORD,
    CU_WAIT,
    CU_COMMIT, /* an allocation in the order of a stream */
    CU_FREE,
    CU_CALL, /* a function of the host */
} cu_kind;

typedef struct cu_command {
    cu_kind kind;
    CUdeviceptr to, from;
    void *host; /* the other side of a copy */
    size_t bytes;
    uint32_t value, element; /* of a fill */
    CUevent event;
    uint64_t version; /* of the event */
    CUfunction function;
    bool of_graph; /* a launch that a graph has captured */
    sim_launch_size size;
    uint8_t *data; /* parameters, or a copy of what is uploaded: owned */
    size_t n_data;
    void (*call)(void *user);
    void *user;
    struct cu_command *next;
} cu_command;

typedef struct cu_list {
    cu_command *first, **last;
    uint32_t n;
} cu_list;

struct CUstream_st {
    cu_tag tag;
    CUcontext context;
    unsigned flags;
    cu_list work;
    CUgraph capture; /* borrowed by streams that joined */
    bool is_origin;
    bool is_gone; /* destroyed with work left */
    struct CUstream_st *next;
};

struct CUevent_st {
    cu_tag tag;
    CUcontext context;
    uint64_t recorded, done; /* versions */
    double time;
    CUgraph capture; /* was recorded in a capture */
    uint32_t n_waiting;
    bool is_gone;
};

struct CUgraph_st {
    cu_tag tag;
    cu_list nodes;
};

struct CUgraphExec_st {
    cu_tag tag;
    cu_list nodes;
};

struct CUfunc_st {
    cu_tag tag;
    CUmodule module;
    sim_kernel *kernel;
    int dynamic; /* bytes of shared memory that a launch may ask for */
    struct CUfunc_st *next;
};

struct CUmod_st {
    cu_tag tag;
    sim_module *module;
    CUfunction functions;
};

typedef struct cu_driver {
    pthread_mutex_t lock;
    bool started, late;
    FILE *costs; /* where a line for each launch goes, or NULL */
    sim_machine *machine;
    int n_devices, arch;
    size_t memory, used; /* of each device; of all */
    uint64_t random;     /* 0: no seed */
    struct CUctx_st contexts[MAX_DEVICES];
    struct CUmemPoolHandle_st pools[MAX_DEVICES];
    struct CUstream_st null_stream;
    CUstream streams; /* all, the null stream last */
} cu_driver;
extern cu_driver cu;

/* Bytes of shared memory that a launch may give a block of a device of CUDASIM_ARCH. */
int
cu_most_shared(void);

/* Locks, and checks that there is a current context that has not failed. Not CUDA_SUCCESS: not locked. */
CUresult
cu_enter(CUcontext *out);
CUresult
cu_leave(CUresult r);
/* Prints what went wrong, and fails the context. */
CUresult
cu_broken(CUcontext c, CUresult r, const char *fmt, ...) TNB_PRINTF(3, 4);
/* Says on stderr why a call is refused. */
CUresult
cu_refuse(CUresult r, const char *fmt, ...) TNB_PRINTF(2, 3);

/* The stream that a handle means, the null stream for NULL. NULL: none. */
CUstream
cu_stream_of(CUstream s);
/* Adds work to a stream or to the graph that it captures into, and, unless work waits for as long as it may, runs what can run. */
CUresult
cu_enqueue(CUstream s, const cu_command *c);
CUresult
cu_finish(CUstream s);
CUresult
cu_finish_all(void);
bool
cu_append(cu_list *l, const cu_command *c);
void
cu_clear(cu_list *l);
/* An allocation with its place, of memory that is counted. 0: none left. `now`: else it is made by cu_commit. */
CUdeviceptr
cu_reserve(size_t bytes, bool now);
CUresult
cu_run_launch(CUcontext context, const cu_command *c);

#define PROTOTYPE(symbol, name, params) CU_EXPORT CUresult symbol params;
CUDA_CALLS(PROTOTYPE)
#undef PROTOTYPE
/* Beside those that Tenon calls. */
CU_EXPORT CUresult
cuCtxSetCurrent(CUcontext c);
CU_EXPORT CUresult
cuCtxGetCurrent(CUcontext *out);
CU_EXPORT CUresult
cuCtxSynchronize(void);
CU_EXPORT CUresult
cuGetErrorName(CUresult code, const char **name);
CU_EXPORT CUresult
cuGetErrorString(CUresult code, const char **text);
CU_EXPORT CUresult
cuInit(unsigned flags);
CU_EXPORT CUresult
cuGetExportTable(const void **table, const void *id);
CU_EXPORT CUresult
cuDriverGetVersion(int *version);
CU_EXPORT CUresult
cuStreamIsCapturing(CUstream s, int *status);
CU_EXPORT CUresult
cuMemPoolSetAttribute(CUmemoryPool p, int attribute, void *value);
CU_EXPORT CUresult
cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags);
CU_EXPORT CUresult
cuMemHostUnregister(void *p);
CU_EXPORT CUresult
cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags);
CU_EXPORT CUresult
cuPointerGetAttribute(void *out, int attribute, CUdeviceptr p);
CU_EXPORT CUresult
cuMemsetD32Async(CUdeviceptr p, unsigned value, size_t n, CUstream s);
CU_EXPORT CUresult
cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n);
CU_EXPORT CUresult
cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n);
CU_EXPORT CUresult
cuModuleLoadData(CUmodule *out, const void *image);
CU_EXPORT CUresult
cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *bytes, CUmodule m, const char *name);
CU_EXPORT CUresult
cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
               unsigned bz, unsigned shared, CUstream s, void **params, void **extra);
CU_EXPORT CUresult
cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority);
CU_EXPORT CUresult
cuStreamQuery(CUstream s);
CU_EXPORT CUresult
cuLaunchHostFunc(CUstream s, void (*call)(void *user), void *user);

#endif
