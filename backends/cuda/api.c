/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: the driver library, opened by name. */
#include "api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include "device.h"

enum { OLDEST = 12000 };

static struct {
    pthread_mutex_t lock;
    void *library; /* stays open: it has threads of its own */
    struct cuda_api api;
    bool ready;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* dlsym gives no function pointer; this does, for all of them. */
typedef union symbol {
    void *data;
    void (*f)(void);
} symbol;

static void (*find(const char *name, const char **missing))(void)
{
    symbol s = {dlsym(state.library, name)};
    if (!s.data)
        *missing = name;
    return s.f;
}

static tnb_status
too_old(int version, const char *missing, tnb_err *err)
{
    (void)tnb_fail(err, TNB_DEVICE, "the NVIDIA driver is for CUDA %d.%d%s%s; 12.0 is needed",
                   version / 1000, version % 1000 / 10, missing ? " and has no " : "",
                   missing ? missing : "");
    tnb_hint(err, "install a newer NVIDIA driver (525 or later)");
    return TNB_DEVICE;
}

static tnb_status
open_library(tnb_err *err)
{
    if (!state.library)
        state.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (state.library)
        return TNB_OK;
    (void)tnb_fail(err, TNB_DEVICE, "the NVIDIA driver, libcuda.so.1, cannot be opened");
    tnb_hint(err, "install the driver of the GPU; the CUDA Toolkit does not have it");
    return TNB_DEVICE;
}

static tnb_status
read_table(struct cuda_api *a, tnb_err *err)
{
    const char *missing = NULL;
    a->Init = (CUresult(*)(unsigned))find("cuInit", &missing);
    a->DriverGetVersion = (CUresult(*)(int *))find("cuDriverGetVersion", &missing);
    a->GetErrorName = (CUresult(*)(CUresult, const char **))find("cuGetErrorName", &missing);
    a->GetErrorString = (CUresult(*)(CUresult, const char **))find("cuGetErrorString", &missing);
    if (missing)
        return tnb_fail(err, TNB_DEVICE, "libcuda.so.1 has no %s: it is no NVIDIA driver", missing);
    CUresult r = a->Init(0);
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_NO_DEVICE)
        return cuda_fail(NULL, a, r, "cuInit", err, "starting the NVIDIA driver");
    if (a->DriverGetVersion(&a->version) != CUDA_SUCCESS)
        a->version = 0;
    if (a->version < OLDEST)
        return too_old(a->version, NULL, err);
#define READ(symbol, name, params) a->name = (CUresult(*) params)find(#symbol, &missing);
    CUDA_CALLS(READ)
#undef READ
    return missing ? too_old(a->version, missing, err) : TNB_OK;
}

const struct cuda_api *
cuda_api_open(tnb_err *err)
{
    pthread_mutex_lock(&state.lock);
    if (!state.ready)
        state.ready = open_library(err) == TNB_OK && read_table(&state.api, err) == TNB_OK;
    bool ready = state.ready;
    pthread_mutex_unlock(&state.lock);
    return ready ? &state.api : NULL;
}
