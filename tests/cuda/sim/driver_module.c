/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1 of the simulated device: modules, functions, launches. */
#include "config.h"

#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_SHARED = 48 << 10 };

/* ---- modules ---- */

static void
write_log(unsigned n, const int *options, void *const *values, const char *text)
{
    char *to = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            to = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            size = (size_t)(uintptr_t)values[i];
    }
    if (to && size)
        snprintf(to, size, "%s", text);
}

CUresult
cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, int *options, void **values)
{
    tnb_err err = {0};
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    const char *text = image;
    uint32_t first;
    memcpy(&first, text, sizeof first);
    if (memcmp(text, "\177ELF", 4) == 0 || first == 0xba55ed50 || first == 0x466243b1)
        return cu_leave(CUDA_ERROR_NO_BINARY_FOR_GPU); /* code of a processor, or a bundle of it */
    CUmodule m = calloc(1, sizeof *m);
    if (!m)
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    m->tag = CU_MODULE;
    tnb_status st = sim_load(cu.machine, text, &m->module, &err);
    if (st == TNB_OK && sim_module_arch(m->module) > cu.arch) {
        write_log(n, options, values,
                  "the PTX is for a newer architecture than the simulated device's (CUDASIM_ARCH)");
        sim_unload(cu.machine, m->module);
        free(m);
        return cu_leave(CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
    if (st != TNB_OK) {
        write_log(n, options, values, err.message);
        free(m);
        return cu_leave(
            cu_refuse(st == TNB_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX, "%s",
                      err.message));
    }
    *out = m;
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuModuleLoadData(CUmodule *out, const void *image)
{
    return cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

CUresult
cuModuleUnload(CUmodule m)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!m || m->tag != CU_MODULE)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    r = cu_finish_all();
    sim_unload(cu.machine, m->module);
    while (m->functions) {
        CUfunction f = m->functions;
        m->functions = f->next;
        f->tag = 0;
        free(f);
    }
    m->tag = 0;
    free(m);
    return cu_leave(r);
}

CUresult
cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!m || m->tag != CU_MODULE)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    sim_kernel *k = sim_find_kernel(m->module, name);
    if (!k)
        return cu_leave(CUDA_ERROR_NOT_FOUND);
    for (CUfunction f = m->functions; f; f = f->next)
        if (f->kernel == k) {
            *out = f;
            return cu_leave(CUDA_SUCCESS);
        }
    CUfunction f = calloc(1, sizeof *f);
    if (!f)
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *f = (struct CUfunc_st){.tag = CU_FUNCTION, .module = m, .kernel = k, .next = m->functions};
    int room = USUAL_SHARED - (int)sim_info(k).shared_bytes;
    f->dynamic = room > 0 ? room : 0;
    m->functions = *out = f;
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *bytes, CUmodule m, const char *name)
{
    uint64_t address;
    size_t size;
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!m || m->tag != CU_MODULE)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (!sim_find_variable(m->module, name, &address, &size))
        return cu_leave(CUDA_ERROR_NOT_FOUND);
    if (out)
        *out = address;
    if (bytes)
        *bytes = size;
    return cu_leave(CUDA_SUCCESS);
}

/* ---- functions ---- */

CUresult
cuFuncGetAttribute(int *out, int attribute, CUfunction f)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!f || f->tag != CU_FUNCTION)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    sim_kernel_info i = sim_info(f->kernel);
    const int values[] = {i.max_threads ? (int)i.max_threads : 1024,
                          (int)i.shared_bytes,
                          (int)i.const_bytes,
                          (int)i.local_bytes,
                          (int)i.registers,
                          sim_module_arch(f->module->module),
                          cu.arch,
                          0,
                          f->dynamic,
                          -1};
    if (attribute < 0 || (size_t)attribute >= sizeof values / sizeof *values)
        return cu_leave(CUDA_ERROR_INVALID_VALUE);
    *out = values[attribute];
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuFuncSetAttribute(CUfunction f, int attribute, int value)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!f || f->tag != CU_FUNCTION)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return cu_leave(CUDA_SUCCESS);
    if (value < 0 || value + (int)sim_info(f->kernel).shared_bytes > cu_most_shared())
        return cu_leave(CUDA_ERROR_INVALID_VALUE);
    f->dynamic = value;
    return cu_leave(CUDA_SUCCESS);
}

/* ---- launches ---- */

static CUresult
code_of(sim_fault_kind k)
{
    return k == SIM_ADDRESS      ? CUDA_ERROR_ILLEGAL_ADDRESS
           : k == SIM_MISALIGNED ? CUDA_ERROR_MISALIGNED_ADDRESS
           : k == SIM_HUNG       ? CUDA_ERROR_LAUNCH_TIMEOUT
                                 : CUDA_ERROR_LAUNCH_FAILED;
}

static void
write_cost(const cu_command *c)
{
    sim_cost k = sim_last_cost(cu.machine);
    const uint32_t *grid = c->size.grid, *block = c->size.block;
    fprintf(cu.costs, "kernel=%s graph=%d grid=%ux%ux%u block=%ux%ux%u",
            sim_info(c->function->kernel).name, c->of_graph, grid[0], grid[1], grid[2], block[0],
            block[1], block[2]);
    const struct {
        const char *name;
        uint64_t value;
    } values[] = {{"instructions", k.instructions},
                  {"operations", k.operations},
                  {"mma", k.matrix},
                  {"ldmatrix", k.matrix_rows},
                  {"cp_async", k.copies},
                  {"barriers", k.barriers},
                  {"global_bytes", k.global_bytes},
                  {"global_sectors", k.global_sectors},
                  {"global_least", k.global_least},
                  {"shared_passes", k.shared_passes},
                  {"shared_least", k.shared_least}};
    for (size_t n = 0; n < sizeof values / sizeof *values; n++)
        fprintf(cu.costs, " %s=%llu", values[n].name, (unsigned long long)values[n].value);
    fputc('\n', cu.costs);
    fflush(cu.costs);
}

CUresult
cu_run_launch(CUcontext context, const cu_command *c)
{
    tnb_err err;
    if (sim_launch(cu.machine, c->function->kernel, &c->size, c->data, &err) == TNB_OK) {
        if (cu.costs)
            write_cost(c);
        return CUDA_SUCCESS;
    }
    return cu_broken(context, code_of(sim_last_fault(cu.machine)), "%s", err.message);
}

/* Parameters one after another, as the kernel finds them. */
static CUresult
gather(CUfunction f, void **params, void **extra, uint8_t *out, size_t bytes)
{
    enum { END, POINTER, SIZE };
    if (params) {
        uint32_t at, n;
        for (uint32_t i = 0; sim_param(f->kernel, i, &at, &n); i++)
            memcpy(out + at, params[i], n);
        return CUDA_SUCCESS;
    }
    const void *from = NULL;
    size_t given = 0;
    for (; extra && (uintptr_t)*extra != END; extra += 2) {
        if ((uintptr_t)*extra == POINTER)
            from = extra[1];
        else if ((uintptr_t)*extra == SIZE)
            given = *(const size_t *)extra[1];
    }
    if (bytes && (!from || given < bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes)
        memcpy(out, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult
launch(CUfunction f, const sim_launch_size *size, CUstream s, void **params, void **extra)
{
    sim_kernel_info i = sim_info(f->kernel);
    uint64_t threads = (uint64_t)size->block[0] * size->block[1] * size->block[2];
    if (size->shared_bytes > (uint32_t)f->dynamic)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE,
                         "kernel '%s': a launch with %u bytes of shared memory; it may ask for %d "
                         "(cuFuncSetAttribute)",
                         i.name, size->shared_bytes, f->dynamic);
    if (threads == 0 || threads > (i.max_threads ? i.max_threads : 1024))
        return cu_refuse(CUDA_ERROR_INVALID_VALUE,
                         "kernel '%s': a launch with %llu threads in a block", i.name,
                         (unsigned long long)threads);
    cu_command c = {.kind = CU_LAUNCH, .function = f, .size = *size, .n_data = i.param_bytes};
    c.data = calloc(i.param_bytes + 1, 1);
    if (!c.data)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = gather(f, params, extra, c.data, i.param_bytes);
    if (r == CUDA_SUCCESS)
        r = cu_enqueue(s, &c);
    free(c.data);
    return r;
}

CUresult
cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    CUstream s = cu_stream_of(config->stream);
    if (!s || !f || f->tag != CU_FUNCTION)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    sim_launch_size size = {.shared_bytes = config->shared_bytes};
    memcpy(size.grid, config->grid, sizeof size.grid);
    memcpy(size.block, config->block, sizeof size.block);
    return cu_leave(launch(f, &size, s, params, extra));
}

CUresult
cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
               unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
    CUlaunchConfig c = {{gx, gy, gz}, {bx, by, bz}, shared, s, NULL, 0};
    return cuLaunchKernelEx(&c, f, params, extra);
}
