/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: modules. A payload has a cubin and PTX for each kernel. The driver is given the cubin where it is
 * for the device, else the PTX, when the kernel is first asked for.
 */
#include "device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/base/log.h"

enum { LOG = 4096 };

struct module {
    struct cuda_function *functions;
    uint32_t n;
    char arch[16];
    bool cubin; /* the device runs cubins of that architecture */
};

const char *const cuda_formats[] = {CUDA_FORMAT, NULL};

tnb_status
cuda_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                 tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_entry *entries;
    uint32_t count;
    char arch[16];
    if (strcmp(format, CUDA_FORMAT) != 0)
        return tnb_fail(err, TNB_UNSUPPORTED, "the cuda device takes code of format '%s', not '%s'",
                        CUDA_FORMAT, format);
    TNB_TRY(cuda_alive(d, err));
    TNB_TRY(cuda_payload_read(code, n, &entries, &count, arch, err));
    if (!cuda_runs_cubin(&d->info, arch) && !cuda_runs_ptx(&d->info, arch)) {
        free(entries);
        (void)tnb_fail(err, TNB_UNSUPPORTED,
                       "kernels for %s do not run on device '%s', which is sm_%d%d", arch,
                       d->info.name, d->info.major, d->info.minor);
        tnb_hint(err,
                 "compile the model with -t cuda:auto where the device is present, or with "
                 "--set target.cuda.arch=sm_%d%d",
                 d->info.major, d->info.minor);
        return TNB_UNSUPPORTED;
    }
    struct module *m = calloc(1, sizeof *m);
    struct cuda_function *all = calloc(count, sizeof *all);
    if (!m || !all) {
        free(m), free(all), free(entries);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    }
    for (uint32_t i = 0; i < count; i++)
        all[i].entry = entries[i];
    free(entries);
    *m = (struct module){.functions = all, .n = count, .cubin = cuda_runs_cubin(&d->info, arch)};
    memcpy(m->arch, arch, sizeof arch);
    *module = m;
    return TNB_OK;
}

void
cuda_module_free(void *dev, void *module)
{
    struct cuda_device *d = dev;
    struct module *m = module;
    if (!m)
        return;
    for (int i = 0; i < CUDA_NOTED; i++)
        atomic_store(&d->launched[i], (uintptr_t)NULL); /* names that go now */
    if (cuda_enter(d, NULL) == TNB_OK) {
        bool done = cuda_wait_all(d, NULL) == TNB_OK; /* else the context is lost, with all in it */
        for (uint32_t i = 0; i < m->n; i++)
            if (done && m->functions[i].module)
                (void)d->api->ModuleUnload(m->functions[i].module);
        cuda_leave(d);
    }
    free(m->functions);
    free(m);
}

/* One image. The driver's compiler of PTX says what is wrong, in lines. */
static CUresult
load_image(struct cuda_device *d, const void *image, CUmodule *out, char log[LOG])
{
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)LOG};
    *log = '\0';
    CUresult r = d->api->ModuleLoadDataEx(out, image, 2, options, values);
    log[LOG - 1] = '\0';
    log[strcspn(log, "\n")] = '\0';
    return r;
}

static tnb_status
load(struct cuda_device *d, const struct module *m, struct cuda_function *f, tnb_err *err)
{
    char log[LOG];
    CUresult r = CUDA_ERROR_NO_BINARY_FOR_GPU;
    CUfunction handle;
    const char *call = "cuModuleLoadDataEx";
    if (m->cubin && f->entry.cubin)
        r = load_image(d, f->entry.cubin, &f->module, log);
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU && cuda_runs_ptx(&d->info, m->arch))
        r = load_image(d, f->entry.ptx, &f->module, log);
    if (r != CUDA_SUCCESS) {
        f->module = NULL;
        return cuda_fail(d, d->api, r, call, err, "loading kernel '%s' for %s%s%.200s",
                         f->entry.name, m->arch, *log ? ": " : "", log);
    }
    call = "cuModuleGetFunction";
    r = d->api->ModuleGetFunction(&handle, f->module, f->entry.name);
    if (r == CUDA_SUCCESS) {
        call = "cuFuncGetAttribute";
        r = d->api->FuncGetAttribute(&f->threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle);
    }
    if (r == CUDA_SUCCESS)
        r = d->api->FuncGetAttribute(&f->shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, handle);
    if (r != CUDA_SUCCESS) {
        (void)d->api->ModuleUnload(f->module);
        f->module = NULL;
        return cuda_fail(d, d->api, r, call, err, "loading kernel '%s'", f->entry.name);
    }
    atomic_store(&f->handle, handle);
    return TNB_OK;
}

tnb_status
cuda_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct module *m = module;
    struct cuda_function *f = NULL;
    for (uint32_t i = 0; i < m->n && !f; i++)
        if (strcmp(m->functions[i].entry.name, name) == 0)
            f = &m->functions[i];
    if (!f)
        return tnb_fail(err, TNB_NOT_FOUND, "the code has no kernel '%s'", name);
    *kernel = f;
    if (atomic_load(&f->handle))
        return TNB_OK;
    TNB_TRY(cuda_enter(d, err));
    pthread_mutex_lock(&d->load_lock);
    tnb_status st = atomic_load(&f->handle) ? TNB_OK : load(d, m, f, err);
    pthread_mutex_unlock(&d->load_lock);
    cuda_leave(d);
    return st;
}
