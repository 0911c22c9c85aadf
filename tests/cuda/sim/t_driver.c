/* SPDX-License-Identifier: Apache-2.0 */
/* The driver library of the simulated device, used as a program would: memory, streams, events, modules, launches, graphs, and what is
 * done wrong with them. Each mode of execution has a process of its own, since the library reads its environment once. */
#include "config.h"

#include "backends/cuda/api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct cuda_api api;
static CUcontext context;
static bool late, seeded;

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    /* p[i] = p[i] * a + b */
    ".visible .entry scale(.param .u64 p, .param .u32 a, .param .u32 b)\n{\n"
    "  .reg .b32 %r<9>; .reg .b64 %d<4>;\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "  ld.param.u64 %d1, [p]; ld.param.u32 %r5, [a]; ld.param.u32 %r6, [b];\n"
    "  mul.wide.u32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;\n"
    "  ld.global.u32 %r7, [%d3]; mad.lo.u32 %r8, %r7, %r5, %r6;\n"
    "  st.global.u32 [%d3], %r8;\n"
    "  ret;\n}\n";

static void
ok(CUresult r)
{
    const char *name = "?";
    if (r == CUDA_SUCCESS)
        return;
    (void)api.GetErrorName(r, &name);
    fail_msg("%s", name);
}

static int
set_up(void **state)
{
    (void)state;
    ok(api.DevicePrimaryCtxRetain(&context, 0));
    ok(api.CtxPushCurrent(context));
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    ok(api.CtxPopCurrent(NULL));
    ok(api.DevicePrimaryCtxRelease(0));
    return 0;
}

static CUfunction
scale(CUmodule *m)
{
    CUfunction f;
    ok(api.ModuleLoadDataEx(m, text, 0, NULL, NULL));
    ok(api.ModuleGetFunction(&f, *m, "scale"));
    return f;
}

static CUresult
launch(CUfunction f, CUstream s, CUdeviceptr p, unsigned blocks, int a, int b)
{
    CUlaunchConfig c = {{blocks, 1, 1}, {32, 1, 1}, 0, s, NULL, 0};
    void *params[] = {&p, &a, &b};
    return api.LaunchKernelEx(&c, f, params, NULL);
}

enum { N = 64 };

/* Commands of a stream run in order, those of another after the event. */
static void
work_has_an_order(void **state)
{
    (void)state;
    CUmodule m;
    CUfunction f = scale(&m);
    CUstream s, t;
    CUevent e, start;
    CUdeviceptr p;
    int in[N], *out;
    float ms = -1;
    ok(api.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(api.StreamCreate(&t, CU_STREAM_NON_BLOCKING));
    ok(api.EventCreate(&e, 0));
    ok(api.EventCreate(&start, 0));
    ok(api.MemHostAlloc((void **)&out, sizeof in, CU_MEMHOSTALLOC_PORTABLE));
    memset(out, 0, sizeof in);
    for (int i = 0; i < N; i++)
        in[i] = i;
    ok(api.EventRecord(start, s));
    ok(api.MemAllocAsync(&p, sizeof in, s));
    ok(api.MemcpyHtoDAsync(p, in, sizeof in, s));
    memset(in, 255, sizeof in); /* it was copied, since it is not pinned */
    ok(launch(f, s, p, 2, 3, 1));
    ok(api.EventRecord(e, s));
    ok(api.StreamWaitEvent(t, e, 0));
    ok(launch(f, t, p, 2, 10, 5));
    ok(api.MemcpyDtoHAsync(out, p, sizeof in, t));
    ok(api.MemFreeAsync(p, t));
    if (late)
        assert_int_equal(out[1], 0); /* nobody has waited */
    ok(api.StreamSynchronize(t));
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], (i * 3 + 1) * 10 + 5);
    ok(api.EventQuery(e));
    ok(api.EventElapsedTime(&ms, start, e));
    assert_true(ms >= 0);
    ok(api.MemFreeHost(out));
    ok(api.EventDestroy(e));
    ok(api.EventDestroy(start));
    ok(api.StreamDestroy(s));
    ok(api.StreamDestroy(t));
    ok(api.ModuleUnload(m));
}

/* Asking again and again ends. */
static void
events_come(void **state)
{
    (void)state;
    CUmodule m;
    CUfunction f = scale(&m);
    CUstream s;
    CUevent e;
    CUdeviceptr p;
    int asked = 0;
    ok(api.StreamCreate(&s, 0));
    ok(api.EventCreate(&e, 0));
    ok(api.EventQuery(e)); /* of no record */
    ok(api.MemAlloc(&p, 4 * N));
    ok(api.MemsetD8Async(p, 1, 4 * N, s));
    ok(launch(f, s, p, 2, 1, 1));
    ok(api.EventRecord(e, s));
    while (api.EventQuery(e) == CUDA_ERROR_NOT_READY)
        asked++;
    assert_true(asked < 10 && (asked > 0) == late);
    ok(api.EventDestroy(e));
    ok(api.StreamDestroy(s));
    ok(api.MemFree(p));
    ok(api.ModuleUnload(m));
}

static void
graphs_are_launched_again(void **state)
{
    (void)state;
    CUmodule m;
    CUfunction f = scale(&m);
    CUstream s, t;
    CUevent e;
    CUdeviceptr p, q;
    CUgraph g, h, copy;
    CUgraphExec x;
    CUgraphExecUpdateResultInfo info;
    int out[N];
    ok(api.StreamCreate(&s, 0));
    ok(api.StreamCreate(&t, 0));
    ok(api.EventCreate(&e, 0));
    ok(api.MemAlloc(&p, 4 * N));
    ok(api.MemAlloc(&q, 4 * N));
    ok(api.StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(api.MemsetD8Async(p, 0, 4 * N, s));
    ok(launch(f, s, p, 2, 1, 7));
    ok(api.EventRecord(e, s));
    ok(api.StreamWaitEvent(t, e, 0)); /* the other stream joins */
    ok(launch(f, t, p, 2, 3, 0));
    ok(api.EventRecord(e, t));
    ok(api.StreamWaitEvent(s, e, 0));
    assert_int_not_equal(api.StreamSynchronize(s), CUDA_SUCCESS);
    ok(api.StreamEndCapture(s, &g));
    ok(api.GraphInstantiate(&x, g, 0));
    ok(api.GraphClone(&copy, g));
    for (int k = 0; k < 3; k++) {
        ok(api.GraphLaunch(x, s));
        ok(launch(f, s, p, 2, 1, k));
        ok(api.MemcpyDtoHAsync(out, p, sizeof out, s));
        ok(api.StreamSynchronize(s));
        assert_int_equal(out[N - 1], 21 + k);
    }
    ok(api.StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(api.MemsetD8Async(q, 0, 4 * N, s));
    ok(launch(f, s, q, 2, 1, 5));
    ok(launch(f, s, q, 1, 2, 0));
    ok(api.StreamEndCapture(s, &h));
    ok(api.GraphLaunch(x, s)); /* as it is now, whenever it runs */
    ok(api.GraphExecUpdate(x, h, &info));
    ok(api.GraphLaunch(x, s));
    ok(api.MemcpyDtoHAsync(out, q, sizeof out, s));
    assert_true(out[0] == 10 && out[N - 1] == 5);
    ok(api.MemcpyDtoHAsync(out, p, sizeof out, s));
    assert_int_equal(out[0], 21);
    ok(api.GraphDestroy(h));
    ok(api.StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(api.MemsetD8Async(q, 0, 4 * N, s));
    ok(api.StreamEndCapture(s, &h));
    assert_int_equal(api.GraphExecUpdate(x, h, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_not_equal(info.result, 0);
    ok(api.GraphExecUpdate(x, copy, &info));
    ok(api.GraphExecDestroy(x));
    ok(api.GraphDestroy(g));
    ok(api.GraphDestroy(h));
    ok(api.GraphDestroy(copy));
    ok(api.MemFree(p));
    ok(api.MemFree(q));
    ok(api.EventDestroy(e));
    ok(api.StreamDestroy(s));
    ok(api.StreamDestroy(t));
    ok(api.ModuleUnload(m));
}

/* A fault ends the context: all later calls fail, until it is made anew. */
static void
faults_stay(void **state)
{
    (void)state;
    CUmodule m;
    CUfunction f = scale(&m);
    CUstream s;
    CUdeviceptr p, q;
    ok(api.StreamCreate(&s, 0));
    ok(api.MemAlloc(&p, 4 * N));
    ok(api.MemsetD8Async(p, 0, 4 * N, s));
    ok(launch(f, s, p, 3, 1, 1));
    assert_int_equal(api.StreamSynchronize(s), 700);
    assert_int_equal(api.MemAlloc(&q, 4), 700);
    assert_int_equal(launch(f, s, p, 1, 1, 1), 700);
    (void)tear_down(NULL);
    (void)set_up(NULL);
    ok(api.MemFree(p));
    ok(api.StreamDestroy(s));
    ok(api.ModuleUnload(m));
}

/* What the order of streams does not allow: use of memory before it is made, and after it is freed. */
static void
wrong_orders_are_found(void **state)
{
    (void)state;
    CUmodule m;
    CUfunction f = scale(&m);
    CUstream s, t;
    CUdeviceptr p;
    for (int k = 0; k < 2; k++) {
        ok(api.StreamCreate(&s, 0));
        ok(api.StreamCreate(&t, 0));
        ok(api.MemAllocAsync(&p, 4 * N, s));
        ok(api.MemsetD8Async(p, 0, 4 * N, s));
        if (k) {
            ok(api.StreamSynchronize(s));
            ok(api.MemFreeAsync(p, s));
        }
        ok(launch(f, t, p, 2, 1, 1)); /* without an event between */
        CUresult first = k ? api.StreamSynchronize(s) : CUDA_SUCCESS, r = api.StreamSynchronize(t);
        if ((k && !late) || (late && !seeded))
            assert_true(first == 700 || r == 700);
        (void)tear_down(NULL);
        (void)set_up(NULL);
        ok(api.StreamDestroy(s));
        ok(api.StreamDestroy(t));
    }
    ok(api.ModuleUnload(m));
}

static void
what_is_wrong_is_refused(void **state)
{
    (void)state;
    CUmodule m;
    CUfunction f = scale(&m);
    CUdeviceptr p;
    CUcontext top;
    char log[400] = "";
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}, n;
    void *values[] = {log, (void *)sizeof log};
    CUmodule none;
    assert_int_equal(api.ModuleLoadDataEx(&none, "\177ELF....", 0, NULL, NULL),
                     CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_int_equal(api.ModuleLoadDataEx(
                         &none, ".version 8.0\n.target sm_80\n.entry k() { nonsense.u32 a, b; }\n",
                         2, options, values),
                     218);
    assert_non_null(strstr(log, "line 3: instruction 'nonsense.u32' is not known"));
    assert_int_equal(api.ModuleLoadDataEx(&none, ".version 9.0\n.target sm_100\n", 2, options,
                                          values),
                     CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_int_equal(api.ModuleGetFunction(&f, m, "other"), 500);
    ok(api.ModuleGetFunction(&f, m, "scale"));
    CUlaunchConfig c = {{1, 1, 1}, {2048, 1, 1}, 0, NULL, NULL, 0};
    void *params[3] = {&p, &p, &p};
    assert_int_equal(api.LaunchKernelEx(&c, f, params, NULL), CUDA_ERROR_INVALID_VALUE);
    c.block[0] = 32;
    c.shared_bytes = 100 << 10;
    assert_int_equal(api.LaunchKernelEx(&c, f, params, NULL), CUDA_ERROR_INVALID_VALUE);
    ok(api.FuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
    ok(api.MemAlloc(&p, 4 * N));
    ok(api.MemsetD8Async(p, 0, 4 * N, NULL));
    ok(api.LaunchKernelEx(&c, f, params, NULL));
    ok(api.MemFree(p));
    assert_int_equal(api.MemFree(p), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(api.MemAlloc(&p, (size_t)1 << 40), CUDA_ERROR_OUT_OF_MEMORY);
    ok(api.DeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    assert_int_equal(n, 8);
    assert_int_equal(api.DeviceGet(&n, 7), 101);
    ok(api.CtxPopCurrent(&top));
    assert_ptr_equal(top, context);
    assert_int_equal(api.MemAlloc(&p, 4), 201);
    ok(api.CtxPushCurrent(context));
    ok(api.ModuleUnload(m));
}

static void *
symbol(void *library, const char *name)
{
    void *p = dlsym(library, name);
    if (!p) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    return p;
}

static int
run(const char *library)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(work_has_an_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(events_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(graphs_are_launched_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_orders_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_refused, set_up, tear_down),
    };
    void *l = dlopen(library, RTLD_NOW | RTLD_LOCAL), *p;
    if (!l) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
#define GET(name, member) \
    p = symbol(l, name);  \
    memcpy(&api.member, &p, sizeof api.member);
#define GET_CALL(name, member, params) GET(#name, member)
    CUDA_CALLS(GET_CALL)
    GET("cuInit", Init)
    GET("cuGetErrorName", GetErrorName)
    /* NVRTC looks for a driver, and ends badly where one has not this function */
    union {
        void *p;
        CUresult (*call)(const void **table, const void *id);
    } tables = {symbol(l, "cuGetExportTable")};
    const void *table = NULL;
    if (api.Init(0) != CUDA_SUCCESS || tables.call(&table, "0123456789abcdef") == CUDA_SUCCESS ||
        table)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int
main(void)
{
    static const char *const modes[][2] = {{"0", "0"}, {"0", "1"}, {"7", "0"}, {"9", "1"}};
    const char *top = getenv("top_builddir");
    char library[4096];
    int failed = 0;
    snprintf(library, sizeof library, "%s/tests/cuda/sim/.libs/libcuda.so.1", top ? top : ".");
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
        pid_t child = fork();
        if (child == 0) {
            setenv("CUDASIM_SEED", modes[k][0], 1);
            setenv("CUDASIM_LATE", modes[k][1], 1);
            seeded = *modes[k][0] != '0';
            late = *modes[k][1] == '1';
            exit(run(library) != 0);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
            fprintf(stderr, "with CUDASIM_SEED=%s CUDASIM_LATE=%s: failed\n", modes[k][0],
                    modes[k][1]);
            failed = 1;
        }
    }
    return failed;
}
