/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU reaches: bytes a second that a copy in its memory moves, floating-point operations a second of its threads and of its matrix
 * units. Lines "name value". Needs the driver and nothing else.
 *
 *     peak [MiB [iterations]]         of the copy; of the loops
 */
#include "config.h"

#include "backends/cuda/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, BLOCKS_OF_UNIT = 8, TIMES = 5, CHAINS = 8 };

static struct cuda_api api;
static CUstream stream;
static CUevent from, to;

static void
ok(CUresult r, const char *what)
{
    const char *name = "?";
    if (r == CUDA_SUCCESS)
        return;
    (void)api.GetErrorName(r, &name);
    fprintf(stderr, "peak: %s: %s\n", what, name);
    exit(1);
}

static int
open_device(void)
{
    void *l = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *p;
    CUcontext c;
    int units;
    if (!l) {
        fprintf(stderr, "peak: %s\n", dlerror());
        exit(77);
    }
#define GET(symbol, member)                                               \
    p = dlsym(l, #symbol);                                                \
    if (!p) {                                                             \
        fprintf(stderr, "peak: the driver is too old: no " #symbol "\n"); \
        exit(1);                                                          \
    }                                                                     \
    memcpy(&api.member, &p, sizeof api.member);
#define GET_CALL(symbol, member, params) GET(symbol, member)
    CUDA_CALLS(GET_CALL)
    GET(cuInit, Init)
    GET(cuGetErrorName, GetErrorName)
    ok(api.Init(0), "cuInit");
    ok(api.DevicePrimaryCtxRetain(&c, 0), "cuDevicePrimaryCtxRetain");
    ok(api.CtxPushCurrent(c), "cuCtxPushCurrent");
    ok(api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    ok(api.EventCreate(&from, 0), "cuEventCreate");
    ok(api.EventCreate(&to, 0), "cuEventCreate");
    ok(api.DeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), "units");
    return units;
}

/* The least milliseconds of some times. */
static double
least(void (*work)(void *), void *user)
{
    double best = 0;
    for (int k = 0; k <= TIMES; k++) {
        float ms;
        ok(api.EventRecord(from, stream), "cuEventRecord");
        work(user);
        ok(api.EventRecord(to, stream), "cuEventRecord");
        ok(api.StreamSynchronize(stream), "cuStreamSynchronize");
        ok(api.EventElapsedTime(&ms, from, to), "cuEventElapsedTime");
        if (k && (best == 0 || (double)ms < best)) /* the first one warms up */
            best = (double)ms;
    }
    return best > 0 ? best : 1e-6;
}

typedef struct copy {
    CUdeviceptr to, from;
    size_t bytes;
} copy;

static void
run_copy(void *user)
{
    copy *c = user;
    ok(api.MemcpyDtoDAsync(c->to, c->from, c->bytes, stream), "a copy");
}

typedef struct loop {
    CUfunction kernel;
    CUdeviceptr out;
    unsigned n, blocks;
} loop;

static void
run_loop(void *user)
{
    loop *l = user;
    void *params[] = {&l->out, &l->n};
    CUlaunchConfig config = {.grid = {l->blocks, 1, 1}, .block = {THREADS, 1, 1}, .stream = stream};
    ok(api.LaunchKernelEx(&config, l->kernel, params, NULL), "a launch");
}

/* A kernel that repeats `body` n times, CHAINS of which do not depend on each other; what they give is stored. */
static CUfunction
kernel_of(int arch, const char *registers, const char *body, const char *result)
{
    char text[4096];
    CUmodule m;
    CUfunction f;
    snprintf(text, sizeof text,
             ".version 7.0\n.target sm_%d\n.address_size 64\n"
             ".visible .entry k(.param .u64 out, .param .u32 times)\n{\n"
             "  .reg .b64 o; .reg .b32 n, t, u; .reg .pred p; %s\n"
             "  ld.param.u64 o, [out]; ld.param.u32 n, [times];\n"
             "  mov.u32 t, %%tid.x; mov.u32 u, %%ctaid.x; mad.lo.u32 u, u, %d, t;\n"
             "  mad.wide.u32 o, u, 4, o;\n"
             "again:\n%s  sub.u32 n, n, 1; setp.ne.u32 p, n, 0;\n  @p bra again;\n"
             "  %s\n  ret;\n}\n",
             arch, registers, THREADS, body, result);
    if (api.ModuleLoadDataEx(&m, text, 0, NULL, NULL) != CUDA_SUCCESS)
        return NULL;
    ok(api.ModuleGetFunction(&f, m, "k"), "cuModuleGetFunction");
    return f;
}

static CUfunction
fma_loop(void)
{
    char registers[256], body[1024] = "", result[512] = "";
    snprintf(registers, sizeof registers, ".reg .f32 a<%d>; .reg .f32 b; mov.f32 b, 0f3f000000;",
             CHAINS);
    for (int k = 0; k < CHAINS; k++) {
        char line[64];
        snprintf(line, sizeof line, " mov.f32 a%d, 0f3f800000;", k);
        strcat(registers, line);
        snprintf(line, sizeof line, "  fma.rn.f32 a%d, a%d, b, b;\n", k, k);
        strcat(body, line);
        snprintf(line, sizeof line, "add.f32 b, b, a%d; ", k);
        strcat(result, line);
    }
    strcat(result, "st.global.f32 [o], b;");
    return kernel_of(70, registers, body, result);
}

static CUfunction
mma_loop(void)
{
    char registers[512] = ".reg .b32 x; mov.b32 x, 0; .reg .f32 s; mov.f32 s, 0f00000000;",
         body[2048] = "", result[512] = "";
    for (int k = 0; k < CHAINS / 2; k++) {
        char line[400];
        snprintf(
            line, sizeof line,
            " .reg .f32 c%d_<4>; mov.f32 c%d_0, s; mov.f32 c%d_1, s; mov.f32 c%d_2, s; mov.f32 "
            "c%d_3, s;",
            k, k, k, k, k);
        strncat(registers, line, sizeof registers - strlen(registers) - 1);
        snprintf(line, sizeof line,
                 "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {c%d_0,c%d_1,c%d_2,c%d_3}, "
                 "{x,x,x,x}, {x,x}, {c%d_0,c%d_1,c%d_2,c%d_3};\n",
                 k, k, k, k, k, k, k, k);
        strcat(body, line);
        snprintf(line, sizeof line, "add.f32 s, s, c%d_0; ", k);
        strcat(result, line);
    }
    strcat(result, "st.global.f32 [o], s;");
    return kernel_of(80, registers, body, result);
}

int
main(int argc, char **argv)
{
    size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 1024) << 20;
    unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 20000;
    unsigned blocks = BLOCKS_OF_UNIT * (unsigned)open_device();
    copy c = {.bytes = bytes};
    loop l = {.n = n, .blocks = blocks};
    ok(api.MemAlloc(&c.to, bytes), "memory of a copy");
    ok(api.MemAlloc(&c.from, bytes), "memory of a copy");
    ok(api.MemAlloc(&l.out, 4 * (size_t)blocks * THREADS), "memory of results");
    ok(api.MemsetD8Async(c.from, 0, bytes, stream), "filling memory");
    printf("bytes_a_second %.4g\n", 2.0 * (double)bytes / least(run_copy, &c) * 1e3);
    double threads = (double)blocks * THREADS;
    l.kernel = fma_loop();
    if (l.kernel)
        printf("operations_a_second %.4g\n",
               2.0 * CHAINS * n * threads / least(run_loop, &l) * 1e3);
    l.kernel = mma_loop();
    if (l.kernel)
        printf("matrix_operations_a_second %.4g\n",
               2.0 * 16 * 8 * 16 * CHAINS / 2 * n * threads / 32 / least(run_loop, &l) * 1e3);
    return 0;
}
