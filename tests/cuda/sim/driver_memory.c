/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1 of the simulated device: memory and copies. */
#include "config.h"

#include "driver.h"

#include <stdlib.h>

CUdeviceptr
cu_reserve(size_t bytes, bool now)
{
    if (bytes > cu.memory * (size_t)cu.n_devices - cu.used)
        return 0;
    CUdeviceptr p = now ? sim_alloc(cu.machine, bytes) : sim_reserve(cu.machine, bytes);
    cu.used += p ? bytes : 0;
    return p;
}

CUresult
cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (bytes == 0)
        return cu_leave(CUDA_ERROR_INVALID_VALUE);
    *out = cu_reserve(bytes, true);
    return cu_leave(*out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Memory goes in a moment at which no work is left. */
CUresult
cuMemFree_v2(CUdeviceptr p)
{
    uint64_t start;
    size_t bytes;
    bool is_host;
    tnb_err err;
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (p == 0)
        return cu_leave(CUDA_SUCCESS);
    r = cu_finish_all();
    if (r != CUDA_SUCCESS)
        return cu_leave(r);
    if (sim_find_memory(cu.machine, p, &start, &bytes, &is_host) && start == p && !is_host)
        cu.used -= bytes;
    return cu_leave(sim_release(cu.machine, p, &err) == TNB_OK
                        ? CUDA_SUCCESS
                        : cu_refuse(CUDA_ERROR_INVALID_VALUE, "cuMemFree: %s", err.message));
}

CUresult
cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream s)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s || bytes == 0)
        return cu_leave(s ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    *out = cu_reserve(bytes, false);
    if (!*out)
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    return cu_leave(cu_enqueue(s, &(cu_command){.kind = CU_COMMIT, .to = *out}));
}

CUresult
cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    return cu_leave(p ? cu_enqueue(s, &(cu_command){.kind = CU_FREE, .to = p}) : CUDA_SUCCESS);
}

CUresult
cuMemPoolTrimTo(CUmemoryPool p, size_t keep)
{
    (void)keep;
    return p && p->tag == CU_POOL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuMemPoolSetAttribute(CUmemoryPool p, int attribute, void *value)
{
    (void)attribute;
    return p && p->tag == CU_POOL && value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuMemGetInfo_v2(size_t *left, size_t *total)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    *total = cu.memory;
    *left = cu.used < cu.memory ? cu.memory - cu.used : 0;
    return cu_leave(CUDA_SUCCESS);
}

/* ---- pinned memory ---- */

CUresult
cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    CUresult r = cu_enter(NULL);
    (void)flags;
    if (r != CUDA_SUCCESS)
        return r;
    void *p = bytes ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
    if (!p || !sim_register(cu.machine, p, bytes)) {
        free(p);
        return cu_leave(bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
    }
    *out = p;
    return cu_leave(CUDA_SUCCESS);
}

static CUresult
forget_host(void *p, bool owned)
{
    tnb_err err;
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    r = cu_finish_all();
    if (sim_release(cu.machine, (uint64_t)(uintptr_t)p, &err) != TNB_OK)
        return cu_leave(cu_refuse(CUDA_ERROR_INVALID_VALUE, "pinned memory: %s", err.message));
    if (owned)
        free(p);
    return cu_leave(r);
}

CUresult
cuMemFreeHost(void *p)
{
    return forget_host(p, true);
}

CUresult
cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
    CUresult r = cu_enter(NULL);
    (void)flags;
    if (r != CUDA_SUCCESS)
        return r;
    return cu_leave(sim_register(cu.machine, p, bytes) ? CUDA_SUCCESS
                                                       : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}

CUresult
cuMemHostUnregister(void *p)
{
    return forget_host(p, false);
}

CUresult
cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags)
{
    uint64_t start;
    size_t bytes;
    bool is_host;
    CUresult r = cu_enter(NULL);
    (void)flags;
    if (r != CUDA_SUCCESS)
        return r;
    *out = (CUdeviceptr)(uintptr_t)p;
    return cu_leave(sim_find_memory(cu.machine, *out, &start, &bytes, &is_host)
                        ? CUDA_SUCCESS
                        : CUDA_ERROR_INVALID_VALUE);
}

CUresult
cuPointerGetAttribute(void *out, int attribute, CUdeviceptr p)
{
    enum {
        MEMORY_TYPE = 2,
        DEVICE_POINTER,
        HOST_POINTER,
        IS_MANAGED = 8,
        ORDINAL,
        START = 11,
        SIZE
    };
    uint64_t start;
    size_t bytes;
    bool is_host;
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!sim_find_memory(cu.machine, p, &start, &bytes, &is_host))
        return cu_leave(CUDA_ERROR_INVALID_VALUE);
    switch (attribute) {
    case MEMORY_TYPE:
        *(unsigned *)out = is_host ? 1 : 2;
        break;
    case DEVICE_POINTER:
        *(CUdeviceptr *)out = p;
        break;
    case HOST_POINTER:
        if (!is_host)
            return cu_leave(CUDA_ERROR_INVALID_VALUE);
        *(CUdeviceptr *)out = p;
        break;
    case IS_MANAGED:
    case ORDINAL:
        *(int *)out = 0;
        break;
    case START:
        *(CUdeviceptr *)out = start;
        break;
    case SIZE:
        *(size_t *)out = bytes;
        break;
    default:
        return cu_leave(CUDA_ERROR_NOT_SUPPORTED);
    }
    return cu_leave(CUDA_SUCCESS);
}

/* ---- copies ---- */

static bool
is_pinned(const void *p)
{
    uint64_t start;
    size_t bytes;
    bool is_host;
    return sim_find_memory(cu.machine, (uint64_t)(uintptr_t)p, &start, &bytes, &is_host);
}

/* Checks the stream, and adds. */
static CUresult
enqueue(CUstream s, const cu_command *c)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    cu_command own = *c;
    bool waits = false;
    if (!s->capture && c->kind == CU_UPLOAD && !is_pinned(c->host)) {
        own.data = c->host; /* the caller may change it when the call is over */
        own.n_data = c->bytes;
    } else if (!s->capture && c->kind == CU_DOWNLOAD && !is_pinned(c->host)) {
        waits = true; /* as the driver does */
    }
    r = cu_enqueue(s, &own);
    if (r == CUDA_SUCCESS && waits)
        r = cu_finish(s);
    return cu_leave(r);
}

CUresult
cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s)
{
    cu_command c = {.kind = CU_UPLOAD, .to = to, .bytes = n};
    c.host = (void *)(uintptr_t)from; /* only read */
    return enqueue(s, &c);
}

CUresult
cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s)
{
    return enqueue(s, &(cu_command){.kind = CU_DOWNLOAD, .host = to, .from = from, .bytes = n});
}

CUresult
cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s)
{
    return enqueue(s, &(cu_command){.kind = CU_COPY, .to = to, .from = from, .bytes = n});
}

CUresult
cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                  size_t n, CUstream s)
{
    if (!to_context || !from_context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return cuMemcpyDtoDAsync_v2(to, from, n, s);
}

CUresult
cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t n, CUstream s)
{
    return enqueue(
        s, &(cu_command){.kind = CU_FILL, .to = p, .value = value, .element = 1, .bytes = n});
}

CUresult
cuMemsetD32Async(CUdeviceptr p, unsigned value, size_t n, CUstream s)
{
    return enqueue(
        s, &(cu_command){.kind = CU_FILL, .to = p, .value = value, .element = 4, .bytes = n});
}

CUresult
cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
    CUresult r = cuMemcpyHtoDAsync_v2(to, from, n, NULL);
    return r == CUDA_SUCCESS ? cuStreamSynchronize(NULL) : r;
}

CUresult
cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
    CUresult r = cuMemcpyDtoHAsync_v2(to, from, n, NULL);
    return r == CUDA_SUCCESS ? cuStreamSynchronize(NULL) : r;
}
