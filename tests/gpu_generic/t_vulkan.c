/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic device beyond the conformance suite: settings, memory, grids and bindings at the limits, hazards, many launches,
 * threads, a device that hangs or is lost, and every call of Vulkan failing once (through vk_layer.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vulkan/vulkan_core.h>
#include "tenon/base/file.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

/* vulkan_core.h is not needed for these */
enum { OUT_OF_HOST = -1, OUT_OF_DEVICE = -2, LOST = -4, UNKNOWN = -13 };
enum { CALLS, LIVE, MADE, SUBMITS, BARRIERS };

static tnb_plugins *plugins;
static tnb_conf *conf;
static tnb_diags *diags;
static tnr_runtime *rt;
static const tnr_driver *drv;
static char scratch[64];

static void (*layer_fail)(long at, long code);
static const char *(*layer_failed)(void);
static long (*layer_count)(int what);
static void (*layer_hang)(int on);
static void (*layer_limits)(unsigned groups, unsigned bindings, unsigned range);
static void (*layer_driver)(unsigned id);

/* ---- devices, with settings ---- */

struct settings {
    const char *key[6], *value[6];
};

static const char *
setting(const void *user, const char *key)
{
    const struct settings *s = user;
    for (int i = 0; i < 6 && s->key[i]; i++)
        if (strcmp(s->key[i], key) == 0)
            return s->value[i];
    return NULL;
}

static tnb_status
open_id(int id, const struct settings *s, void **dev, tnb_err *err)
{
    static const struct settings none;
    tnr_device_options opt = {.size = sizeof opt,
                              .setting = setting,
                              .user = s ? s : &none,
                              .cache_dir = scratch};
    *err = (tnb_err){0};
    return drv->open(drv->self, id, &opt, dev, err);
}

static void *
open_device(const struct settings *s)
{
    void *dev = NULL;
    tnb_err err;
    if (open_id(0, s, &dev, &err) != TNB_OK)
        fail_msg("%s", err.message);
    return dev;
}

#define ONE(k, v) (&(struct settings){{k}, {v}})
#define OK(expr)                                                       \
    do {                                                               \
        tnb_err err = {0};                                             \
        if ((expr) != TNB_OK)                                          \
            fail_msg("line %d: %s: %s", __LINE__, #expr, err.message); \
    } while (0)
/* The call fails with this status, and a message that holds the text. */
#define FAILS(status_, text, expr)                                                          \
    do {                                                                                    \
        tnb_err err = {0};                                                                  \
        tnb_status st_ = (expr);                                                            \
        if (st_ != (status_) || !strstr(err.message, text))                                 \
            fail_msg("line %d: %s: status %d, '%s' (hint '%s')", __LINE__, #expr, (int)st_, \
                     err.message, err.hint);                                                \
    } while (0)

static void
settings_choose_a_device(void **state)
{
    void *dev;
    char text[300];
    (void)state;
    dev = open_device(NULL);
    drv->describe(dev, text, sizeof text);
    drv->close(dev);
    text[strcspn(text, " (,")] = '\0';
    drv->close(open_device(ONE("device", text)));
    drv->close(open_device(ONE("device", "0")));
    FAILS(TNB_DEVICE, "left out by [device gpu_generic] device = no such",
          open_id(0, ONE("device", "no such"), &dev, &err));
    FAILS(TNB_DEVICE, "left out by", open_id(0, ONE("device", "99999999999999999999"), &dev, &err));
    FAILS(TNB_INVALID, "discrete, integrated", open_id(0, ONE("type", "toaster"), &dev, &err));
    FAILS(TNB_INVALID, "yes or no", open_id(0, ONE("staging", "maybe"), &dev, &err));
    FAILS(TNB_INVALID, "a number from", open_id(0, ONE("batch", "0"), &dev, &err));
    FAILS(TNB_INVALID, "a number from", open_id(0, ONE("timeout", "-1"), &dev, &err));
    FAILS(TNB_INVALID, "'noSuch' is no feature",
          open_id(0, ONE("leave_out", "shaderInt64, noSuch"), &dev, &err));
    FAILS(TNB_DEVICE, "there is no Vulkan device 99", open_id(99, NULL, &dev, &err));
    assert_int_equal(layer_count(LIVE), 0);
}

static void
features_are_compared(void **state)
{
    static const char *const fine[] = {"group_size>=1", "shared_memory>=1024", "vulkan>=1.1",
                                       "subgroup_size>=1"};
    static const char *const bad[] = {"group_size>=99999999", "vulkan>=9.0",    "vulkan>=two",
                                      "group_size>=",         "group_size>=5x", ">=1",
                                      "subgroup:magic",       "subgroup:",      ""};
    static const char *const left[] = {"bufferDeviceAddress"};
    (void)state;
    void *dev = open_device(NULL);
    OK(drv->check_features(dev, fine, 4, &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(TNB_UNSUPPORTED, "the code needs [", drv->check_features(dev, &bad[i], 1, &err));
    drv->close(dev);
    dev = open_device(ONE("leave_out", "bufferDeviceAddress"));
    FAILS(TNB_UNSUPPORTED, "lacks 'bufferDeviceAddress'", drv->check_features(dev, left, 1, &err));
    drv->close(dev);
}

/* ---- kernels ---- */

/* A payload of kernels.py, with all its kernels in one form. */
struct code {
    char *bytes;
    size_t n;
};
static struct code plain, addresses, based, blocks;

static tnb_status
load(void *dev, const struct code *c, void **module, tnb_err *err)
{
    return drv->module_load(dev, "tenon-spirv", c->bytes, c->n, module, err);
}

static void
get(void *dev, void *stream, void *mem, uint64_t offset, void *host, uint64_t n)
{
    tnr_copy c = {
        .kind = TNR_COPY_TO_HOST, .dst = host, .src = mem, .src_offset = offset, .bytes = n};
    OK(drv->copy(dev, stream, &c, &err));
}

static void
put(void *dev, void *stream, void *mem, uint64_t offset, const void *host, uint64_t n)
{
    tnr_copy c = {
        .kind = TNR_COPY_TO_DEVICE, .dst = mem, .dst_offset = offset, .src = host, .bytes = n};
    OK(drv->copy(dev, stream, &c, &err));
}

static tnr_param
memory(void *mem, uint64_t offset, uint64_t bytes, bool written)
{
    return (tnr_param){.kind = TNB_PARAM_BUFFER,
                       .written = written,
                       .u.memory = {.mem = mem, .offset = offset, .bytes = bytes}};
}

static tnr_param
integer(int64_t v)
{
    return (tnr_param){.kind = TNB_PARAM_SCALAR, .dtype = {TNB_INT, 64, 1}, .u.scalar.i = v};
}

static tnr_launch
launch_of(const tnr_param *params, uint32_t n, uint64_t gx, uint64_t gy)
{
    return (tnr_launch){.size = sizeof(tnr_launch),
                        .flags = TNR_LAUNCH_GRID,
                        .n_params = n,
                        .params = params,
                        .grid = {gx, gy, 1},
                        .block = {64, 1, 1}};
}

/* "count" on n floats: each becomes one more. */
static tnb_status
launch_count(void *dev, void *stream, void *k, void *mem, uint64_t offset, uint64_t n, tnb_err *err)
{
    tnr_param p[] = {memory(mem, offset, 4 * n, true), integer((int64_t)n)};
    tnr_launch l = launch_of(p, 2, (n + 63) / 64, 1);
    return drv->launch(dev, stream, k, &l, err);
}

/* "step": to = 2 from + 1. */
static tnb_status
launch_step(void *dev, void *stream, void *k, void *from, void *to, uint64_t n, tnb_err *err)
{
    tnr_param p[] = {memory(from, 0, 4 * n, false), memory(to, 0, 4 * n, true),
                     integer((int64_t)n)};
    tnr_launch l = launch_of(p, 3, (n + 63) / 64, 1);
    return drv->launch(dev, stream, k, &l, err);
}

static void
grids_beyond_the_limit_are_several(void **state)
{
    enum { X = 10, Y = 5 };
    float back[X * Y];
    void *dev, *module, *k, *mem;
    (void)state;
    layer_limits(3, 0, 0);
    dev = open_device(NULL);
    layer_limits(0, 0, 0);
    OK(drv->alloc(dev, sizeof back, "global", &mem, &err));
    tnr_param p[] = {memory(mem, 0, sizeof back, true), integer(X)};
    tnr_launch l = launch_of(p, 2, X, Y);
    const struct code *forms[] = {&based, &blocks};
    for (int form = 0; form < 2; form++) {
        OK(load(dev, forms[form], &module, &err));
        OK(drv->module_kernel(dev, module, "where", &k, &err));
        OK(drv->zero(dev, NULL, mem, 0, sizeof back, &err));
        OK(drv->launch(dev, NULL, k, &l, &err));
        get(dev, NULL, mem, 0, back, sizeof back);
        for (int i = 0; i < X * Y; i++)
            assert_true(back[i] == (float)(i % X + 1000 * (i / X)));
        drv->module_free(dev, module);
    }
    OK(load(dev, &plain, &module, &err));
    OK(drv->module_kernel(dev, module, "where", &k, &err));
    FAILS(TNB_INVALID, "kernel 'where': a grid of 10x5x1 groups",
          drv->launch(dev, NULL, k, &l, &err));
    drv->module_free(dev, module);
    drv->free(dev, mem);
    drv->close(dev);
}

/* A feature that a driver has wrong is none of its device. */
static void
wrong_features_are_left_out(void **state)
{
    char text[512];
    (void)state;
    for (int nvidia = 0; nvidia < 2; nvidia++) {
        layer_driver(nvidia ? VK_DRIVER_ID_NVIDIA_PROPRIETARY : 0);
        void *dev = open_device(NULL);
        layer_driver(0);
        drv->describe(dev, text, sizeof text);
        assert_int_equal(strstr(text, " int64") != NULL, !nvidia);
        assert_non_null(strstr(text, " int16"));
        drv->close(dev);
    }
}

static void
what_cannot_be_bound_is_told(void **state)
{
    void *dev, *module, *k, *mem;
    (void)state;
    layer_limits(0, 2, 0);
    dev = open_device(NULL);
    FAILS(TNB_UNSUPPORTED, "kernel 'add_f32' needs 3 buffers (2 can be bound",
          load(dev, &plain, &module, &err));
    OK(load(dev, &addresses, &module, &err));
    drv->module_free(dev, module);
    drv->close(dev);
    layer_limits(0, 0, 4096);
    dev = open_device(NULL);
    layer_limits(0, 0, 0);
    OK(load(dev, &plain, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k, &err));
    OK(drv->alloc(dev, 8192, "global", &mem, &err));
    OK(drv->zero(dev, NULL, mem, 0, 8192, &err));
    OK(launch_count(dev, NULL, k, mem, 4096, 1024, &err));
    FAILS(TNB_UNSUPPORTED, "parameter 0 of 4100 bytes cannot be bound",
          launch_count(dev, NULL, k, mem, 0, 1025, &err));
    FAILS(TNB_UNSUPPORTED, "is no multiple of its elements' 4 bytes",
          launch_count(dev, NULL, k, mem, 2, 10, &err));
    FAILS(TNB_BOUNDS, "kernel 'count': parameter 0",
          launch_count(dev, NULL, k, mem, 8000, 100, &err));
    drv->module_free(dev, module);
    OK(load(dev, &addresses, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k, &err));
    OK(launch_count(dev, NULL, k, mem, 0, 2048, &err));
    float v[2];
    get(dev, NULL, mem, 4092, v, 8);
    assert_true(v[0] == 1 && v[1] == 2);
    drv->module_free(dev, module);
    drv->free(dev, mem);
    drv->close(dev);
    dev = open_device(ONE("leave_out", "bufferDeviceAddress"));
    FAILS(TNB_UNSUPPORTED, "PhysicalStorageBufferAddresses (bufferDeviceAddress)",
          load(dev, &addresses, &module, &err));
    drv->close(dev);
}

static void
launches_of_another_shape_are_refused(void **state)
{
    void *dev = open_device(NULL), *module, *k, *mem;
    (void)state;
    OK(load(dev, &plain, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k, &err));
    OK(drv->alloc(dev, 256, "global", &mem, &err));
    tnr_param p[] = {memory(mem, 0, 256, true), integer(64)};
    tnr_launch l = launch_of(p, 2, 1, 1);
    l.block[0] = 32;
    FAILS(TNB_INVALID, "it was compiled for 64x1x1", drv->launch(dev, NULL, k, &l, &err));
    l = launch_of(p, 1, 1, 1);
    FAILS(TNB_INVALID, "takes 2 parameters, not 1", drv->launch(dev, NULL, k, &l, &err));
    tnr_param turned[] = {integer(64), memory(mem, 0, 256, true)};
    l = launch_of(turned, 2, 1, 1);
    FAILS(TNB_INVALID, "parameter 0 is of kind", drv->launch(dev, NULL, k, &l, &err));
    l = launch_of(p, 2, 1, 1);
    l.shared_bytes = 16;
    FAILS(TNB_INVALID, "shared memory", drv->launch(dev, NULL, k, &l, &err));
    l = launch_of(p, 2, 0, 1);
    OK(drv->launch(dev, NULL, k, &l, &err)); /* nothing to do */
    drv->free(dev, mem);
    drv->module_free(dev, module);
    drv->close(dev);
}

/* ---- memory ---- */

static void
memory_is_divided_and_found_again(void **state)
{
    enum { N = 200 };
    void *dev = open_device(ONE("block", "1")), *mem[N] = {0};
    unsigned seed = 1;
    (void)state;
    for (int turn = 0; turn < 4000; turn++) {
        int i = (int)((seed = seed * 1103515245u + 12345) >> 16) % N;
        if (mem[i]) {
            uint32_t v;
            get(dev, NULL, mem[i], 0, &v, 4);
            assert_int_equal(v, 7 * i);
            drv->free(dev, mem[i]);
            mem[i] = NULL;
        } else {
            uint32_t v = (uint32_t)(7 * i);
            uint64_t n =
                4 + ((seed = seed * 1103515245u + 12345) >> 16) % (turn % 50 ? 20000u : 3000000u);
            OK(drv->alloc(dev, n, "global", &mem[i], &err));
            put(dev, NULL, mem[i], 0, &v, 4);
        }
    }
    for (int i = 0; i < N; i++)
        drv->free(dev, mem[i]);
    drv->close(dev);
    dev = open_device(ONE("memory", "2"));
    OK(drv->alloc(dev, 1 << 20, "global", &mem[0], &err));
    FAILS(TNB_NO_MEMORY, "[device gpu_generic] memory leaves",
          drv->alloc(dev, (1 << 20) + 1, "global", &mem[1], &err));
    drv->free(dev, mem[0]);
    OK(drv->alloc(dev, 2 << 20, "global", &mem[0], &err));
    FAILS(TNB_UNSUPPORTED, "no memory of scope 'shared'",
          drv->alloc(dev, 64, "shared", &mem[1], &err));
    drv->free(dev, mem[0]);
    drv->close(dev);
    assert_int_equal(layer_count(LIVE), 0);
}

/* Memory that is freed while kernels use it is given to nobody else before they are done. */
static void
freed_memory_stays_until_its_work_is_done(void **state)
{
    enum { N = 1 << 14 };
    static float x[N];
    void *dev = open_device(ONE("block", "1")), *module, *k, *mem, *other;
    (void)state;
    OK(load(dev, &plain, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k, &err));
    for (int turn = 0; turn < 50; turn++) {
        OK(drv->alloc(dev, sizeof x, "global", &mem, &err));
        for (int i = 0; i < 10; i++)
            OK(launch_count(dev, NULL, k, mem, 0, N, &err));
        drv->free(dev, mem);
        OK(drv->alloc(dev, sizeof x, "global", &other, &err));
        memset(x, 0, sizeof x);
        put(dev, NULL, other, 0, x, sizeof x);
        get(dev, NULL, other, 0, x, sizeof x);
        for (int i = 0; i < N; i++)
            assert_true(x[i] == 0);
        drv->free(dev, other);
    }
    drv->module_free(dev, module); /* while its kernels may run */
    drv->close(dev);
}

/* ---- hazards ---- */

/* A chain in which each command needs the one before: RAW, WAR and WAW between kernels, copies and zeros. */
static tnb_status
chain(void *dev, void *stream, void *const k[2], void *const mem[3], tnb_err *err)
{
    enum { N = 300 };
    for (int i = 0; i < 4; i++) {
        TNB_TRY(drv->zero(dev, stream, mem[0], 0, 4 * N, err));          /* WAW, WAR */
        TNB_TRY(launch_count(dev, stream, k[0], mem[0], 0, N, err));     /* RAW */
        TNB_TRY(launch_step(dev, stream, k[1], mem[0], mem[1], N, err)); /* RAW */
        TNB_TRY(launch_step(dev, stream, k[1], mem[0], mem[2], N, err)); /* none */
        tnr_copy c = {.kind = TNR_COPY_ON_DEVICE, .dst = mem[0], .src = mem[1], .bytes = 4 * N};
        TNB_TRY(drv->copy(dev, stream, &c, err));                        /* RAW, WAR */
        TNB_TRY(launch_step(dev, stream, k[1], mem[0], mem[2], N, err)); /* RAW, WAW */
    }
    return TNB_OK;
}

static tnb_status
run_chain(const struct settings *s, const struct code *code, float *out, long *barriers,
          tnb_err *why)
{
    void *dev = open_device(s), *module, *k[2], *mem[3], *stream;
    OK(load(dev, code, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k[0], &err));
    OK(drv->module_kernel(dev, module, "step", &k[1], &err));
    OK(drv->stream_new(dev, &stream, &err));
    for (int i = 0; i < 3; i++)
        OK(drv->alloc(dev, 1200, "global", &mem[i], &err));
    long before = layer_count(BARRIERS);
    tnb_status st = chain(dev, stream, k, mem, why);
    if (st == TNB_OK)
        get(dev, stream, mem[2], 0, out, 1200);
    *barriers = layer_count(BARRIERS) - before;
    for (int i = 0; i < 3; i++)
        drv->free(dev, mem[i]);
    drv->stream_free(dev, stream);
    drv->module_free(dev, module);
    drv->close(dev);
    return st;
}

static void
every_barrier_that_is_left_out_is_reported(void **state)
{
    const struct code *forms[] = {&plain, &addresses};
    float out[300];
    (void)state;
    for (int form = 0; form < 2; form++) {
        long n = 0, less = 0;
        OK(run_chain(ONE("check_hazards", "yes"), forms[form], out, &n, &err));
        for (int i = 0; i < 300; i++)
            assert_true(out[i] == 7); /* 2 * (2 * 1 + 1) + 1 */
        assert_int_equal(n, 4 * 5 - 1);
        for (long i = 1; i <= n; i++) {
            char number[24];
            tnb_err err = {0};
            snprintf(number, sizeof number, "%ld", i);
            struct settings s = {{"check_hazards", "leave_out_barrier"}, {"yes", number}};
            if (run_chain(&s, forms[form], out, &less, &err) != TNB_INTERNAL ||
                !strstr(err.message, "hazard: '"))
                fail_msg("barrier %ld of %ld is missing and not reported: %s", i, n, err.message);
        }
    }
}

/* The host sees what was written before a barrier for it: in pinned memory, in its own view of memory and in a copy's ring. */
static void
barriers_for_the_host_that_are_left_out_are_reported(void **state)
{
    const char *const answers[] = {"no", "yes"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        const struct settings settings = {{"check_hazards", "leave_out_for_host", "staging"},
                                          {"yes", answers[i / 2], answers[i % 2]}};
        void *dev = open_device(&settings), *mem, *host, *event;
        uint32_t v[4];
        OK(drv->alloc(dev, 400, "global", &mem, &err));
        OK(drv->pinned_alloc(dev, 400, &host, &err));
        OK(drv->event_new(dev, &event, &err));
        OK(drv->zero(dev, NULL, mem, 0, 400, &err));
        tnr_copy c = {.kind = TNR_COPY_TO_HOST, .dst = host, .src = mem, .bytes = 400};
        OK(drv->copy_start(dev, NULL, &c, &err));
        OK(drv->event_record(dev, event, NULL, &err));
        tnr_copy own = {.kind = TNR_COPY_TO_HOST, .dst = v, .src = mem, .bytes = sizeof v};
        if (i < 2) {
            OK(drv->event_sync(dev, event, &err));
            OK(drv->copy(dev, NULL, &own, &err));
        } else {
            FAILS(TNB_INTERNAL, "no barrier for the host", drv->event_sync(dev, event, &err));
            FAILS(TNB_INTERNAL, "hazard: 'the host'", drv->copy(dev, NULL, &own, &err));
        }
        drv->event_free(dev, event);
        drv->pinned_free(dev, host);
        drv->free(dev, mem);
        drv->close(dev);
    }
}

/* Streams are in order where events say so, and reported where they do not. */
static void
streams_without_events_are_reported(void **state)
{
    void *dev = open_device(ONE("check_hazards", "yes")), *module, *k, *mem, *a, *b, *event;
    (void)state;
    OK(load(dev, &plain, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k, &err));
    OK(drv->alloc(dev, 400, "global", &mem, &err));
    OK(drv->stream_new(dev, &a, &err));
    OK(drv->stream_new(dev, &b, &err));
    OK(drv->event_new(dev, &event, &err));
    OK(drv->zero(dev, a, mem, 0, 400, &err));
    for (int i = 0; i < 6; i++) {
        OK(launch_count(dev, a, k, mem, 0, 100, &err));
        OK(drv->event_record(dev, event, a, &err));
        OK(drv->event_wait(dev, event, b, &err));
        OK(launch_count(dev, b, k, mem, 0, 100, &err));
        OK(drv->event_record(dev, event, b, &err));
        OK(drv->event_wait(dev, event, a, &err));
    }
    float v[100];
    get(dev, a, mem, 0, v, sizeof v);
    assert_true(v[0] == 12 && v[99] == 12);
    OK(launch_count(dev, a, k, mem, 0, 100, &err));
    FAILS(TNB_INTERNAL, "hazard: 'count'", launch_count(dev, b, k, mem, 0, 100, &err));
    drv->event_free(dev, event);
    drv->stream_free(dev, a);
    drv->stream_free(dev, b);
    drv->free(dev, mem);
    drv->module_free(dev, module);
    drv->close(dev);
}

/* An event of a stream that only waited for another one is behind that one's work. */
static void
events_are_behind_what_their_stream_waited_for(void **state)
{
    static const struct settings settings = {{"check_hazards", "profiling"},
                                             {"yes", "no"}}; /* no timestamp is a command */
    void *dev = open_device(&settings), *module, *k, *mem, *s[3], *event;
    float v[100];
    (void)state;
    OK(load(dev, &plain, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k, &err));
    OK(drv->alloc(dev, 400, "global", &mem, &err));
    OK(drv->event_new(dev, &event, &err));
    for (int i = 0; i < 3; i++)
        OK(drv->stream_new(dev, &s[i], &err));
    OK(drv->zero(dev, s[0], mem, 0, 400, &err));
    for (int i = 0; i < 9; i++) {
        OK(drv->sync(dev, s[(i + 1) % 3], &err)); /* it has no work of its own */
        OK(launch_count(dev, s[i % 3], k, mem, 0, 100, &err));
        for (int j = i; j < i + 2; j++) { /* the last one by way of the next */
            OK(drv->event_record(dev, event, s[j % 3], &err));
            OK(drv->event_wait(dev, event, s[(j + 1) % 3], &err));
        }
        OK(launch_count(dev, s[(i + 2) % 3], k, mem, 0, 100, &err));
        OK(drv->event_record(dev, event, s[(i + 2) % 3], &err));
        OK(drv->event_wait(dev, event, s[(i + 1) % 3], &err));
    }
    OK(drv->event_sync(dev, event, &err));
    get(dev, s[1], mem, 0, v, sizeof v);
    assert_true(v[0] == 18 && v[99] == 18);
    drv->event_free(dev, event);
    for (int i = 0; i < 3; i++)
        drv->stream_free(dev, s[i]);
    drv->free(dev, mem);
    drv->module_free(dev, module);
    drv->close(dev);
}

/* What the host has waited for is visible to all that is submitted later. */
static void
what_the_host_waited_for_needs_no_barrier(void **state)
{
    void *dev = open_device(ONE("check_hazards", "yes")), *module, *k, *mem, *a, *b, *event;
    (void)state;
    OK(load(dev, &plain, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k, &err));
    OK(drv->alloc(dev, 400, "global", &mem, &err));
    OK(drv->stream_new(dev, &a, &err));
    OK(drv->stream_new(dev, &b, &err));
    OK(drv->event_new(dev, &event, &err));
    OK(drv->zero(dev, a, mem, 0, 400, &err));
    long before = layer_count(BARRIERS);
    for (int i = 0; i < 4; i++) {
        OK(drv->event_record(dev, event, a, &err));
        if (i % 2)
            OK(drv->event_sync(dev, event, &err));
        else
            OK(drv->sync(dev, a, &err));
        OK(drv->event_wait(dev, event, b, &err));
        OK(launch_count(dev, b, k, mem, 0, 100, &err));
        OK(drv->sync(dev, b, &err));
        OK(launch_count(dev, a, k, mem, 0, 100, &err));
    }
    assert_int_equal(layer_count(BARRIERS), before);
    OK(launch_count(dev, a, k, mem, 0, 100, &err));
    assert_int_equal(layer_count(BARRIERS), before + 1);
    drv->event_free(dev, event);
    drv->stream_free(dev, a);
    drv->stream_free(dev, b);
    drv->free(dev, mem);
    drv->module_free(dev, module);
    drv->close(dev);
}

/* ---- many launches ---- */

static void
launches_allocate_nothing(void **state)
{
    enum { N = 10000 };
    static const struct settings all[] = {{{0}, {0}},
                                          {{"push_descriptors"}, {"no"}},
                                          {{"timeline"}, {"no"}}};
    const struct code *forms[] = {&plain, &addresses, &blocks};
    (void)state;
    for (int i = 0; i < 9; i++) {
        void *dev = open_device(&all[i / 3]), *module, *k, *mem;
        float v;
        OK(load(dev, forms[i % 3], &module, &err));
        OK(drv->module_kernel(dev, module, "count", &k, &err));
        OK(drv->alloc(dev, 4, "global", &mem, &err));
        OK(drv->zero(dev, NULL, mem, 0, 4, &err));
        for (int t = 0; t < 1000; t++)
            OK(launch_count(dev, NULL, k, mem, 0, 1, &err));
        long made = layer_count(MADE), submits = layer_count(SUBMITS);
        for (int t = 0; t < N; t++)
            OK(launch_count(dev, NULL, k, mem, 0, 1, &err));
        OK(drv->sync(dev, NULL, &err));
        assert_int_equal(layer_count(MADE), made);
        assert_in_range(layer_count(SUBMITS) - submits, 1, N / 32);
        get(dev, NULL, mem, 0, &v, 4);
        assert_true(v == N + 1000);
        drv->free(dev, mem);
        drv->module_free(dev, module);
        drv->close(dev);
    }
}

struct thread {
    pthread_t id;
    void *dev, *k, *mem, *stream;
    int failed;
};

static void *
work(void *p)
{
    struct thread *t = p;
    tnb_err err;
    float x[256], back[256];
    for (int turn = 0; turn < 20; turn++) {
        tnr_copy c = {.kind = TNR_COPY_TO_DEVICE, .dst = t->mem, .src = x, .bytes = sizeof x};
        for (int i = 0; i < 256; i++)
            x[i] = (float)(turn + i);
        t->failed += drv->copy(t->dev, t->stream, &c, &err) != TNB_OK;
        for (int i = 0; i < 25; i++)
            t->failed += launch_count(t->dev, t->stream, t->k, t->mem, 0, 256, &err) != TNB_OK;
        c = (tnr_copy){.kind = TNR_COPY_TO_HOST, .dst = back, .src = t->mem, .bytes = sizeof back};
        t->failed += drv->copy(t->dev, t->stream, &c, &err) != TNB_OK;
        for (int i = 0; i < 256; i++)
            t->failed += back[i] != x[i] + 25;
    }
    return NULL;
}

static void
threads_may_launch_one_kernel_at_once(void **state)
{
    enum { N = 6 };
    static const struct settings all[] = {{{"staging"}, {"yes"}},
                                          {{"push_descriptors"}, {"no"}},
                                          {{"timeline"}, {"no"}}};
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        void *dev = open_device(&all[turn]), *module, *k;
        struct thread t[N];
        OK(load(dev, &blocks, &module, &err));
        OK(drv->module_kernel(dev, module, "count", &k, &err));
        for (int i = 0; i < N; i++) { /* two of them on the device's own stream */
            t[i] = (struct thread){.dev = dev, .k = k};
            if (i > 1)
                OK(drv->stream_new(dev, &t[i].stream, &err));
            OK(drv->alloc(dev, 1024, "global", &t[i].mem, &err));
        }
        for (int i = 0; i < N; i++)
            assert_int_equal(pthread_create(&t[i].id, NULL, work, &t[i]), 0);
        for (int i = 0; i < N; i++)
            pthread_join(t[i].id, NULL);
        for (int i = 0; i < N; i++) {
            assert_int_equal(t[i].failed, 0);
            drv->stream_free(dev, t[i].stream);
            drv->free(dev, t[i].mem);
        }
        drv->module_free(dev, module);
        drv->close(dev);
    }
    assert_int_equal(layer_count(LIVE), 0);
}

/* ---- faults ---- */

static long calls_before_the_end; /* of `everything`: what fails behind them fails in silence */

/* What a program does with a device; every failure ends it, with a message. */
static tnb_status
everything(const struct settings *s, const struct code *code, tnb_err *err)
{
    void *dev = NULL, *mem[3] = {0}, *module = NULL, *k, *stream = NULL, *from = NULL, *to = NULL;
    void *host = NULL;
    uint8_t bytes[512] = {0};
    double seconds;
    tnb_status st = open_id(0, s, &dev, err);
    if (st != TNB_OK)
        return st;
#define STEP(expr)    \
    if (st == TNB_OK) \
    st = (expr)
    for (int i = 0; i < 3; i++)
        STEP(drv->alloc(dev, 512, "global", &mem[i], err));
    STEP(drv->pinned_alloc(dev, 512, &host, err));
    STEP(drv->zero(dev, NULL, mem[0], 1, 510, err));
    for (int kind = TNR_COPY_TO_DEVICE; kind <= TNR_COPY_ON_DEVICE; kind++)
        for (int a = 0; a < 2; a++) {
            tnr_copy c = {.kind = kind,
                          .dst = kind == TNR_COPY_TO_HOST ? (void *)bytes : mem[a],
                          .dst_offset = kind == TNR_COPY_TO_HOST ? 0 : 64,
                          .src = kind == TNR_COPY_TO_DEVICE ? (void *)bytes : mem[0],
                          .bytes = 256};
            STEP(drv->copy(dev, NULL, &c, err));
        }
    STEP(load(dev, code, &module, err));
    STEP(drv->module_kernel(dev, module, "count", &k, err));
    STEP(drv->stream_new(dev, &stream, err));
    STEP(drv->event_new(dev, &from, err));
    STEP(drv->event_new(dev, &to, err));
    STEP(drv->event_record(dev, from, stream, err));
    for (int i = 0; i < 17; i++) /* with submits */
        STEP(launch_count(dev, stream, k, mem[i % 2], 0, 100, err));
    STEP(drv->event_record(dev, to, stream, err));
    STEP(drv->event_wait(dev, to, NULL, err));
    tnr_copy c = {.kind = TNR_COPY_TO_HOST, .dst = host, .src = mem[0], .bytes = 512};
    if (host)
        STEP(drv->copy_start(dev, NULL, &c, err));
    STEP(drv->sync(dev, stream, err));
    STEP(drv->sync(dev, NULL, err));
    STEP(drv->event_seconds(dev, from, to, &seconds, err));
#undef STEP
    calls_before_the_end = layer_count(CALLS);
    if (from)
        drv->event_free(dev, from);
    if (to)
        drv->event_free(dev, to);
    if (stream)
        drv->stream_free(dev, stream);
    if (host)
        drv->pinned_free(dev, host);
    for (int i = 0; i < 3; i++)
        if (mem[i])
            drv->free(dev, mem[i]);
    if (module)
        drv->module_free(dev, module);
    drv->close(dev);
    return st;
}

/* Calls of which nobody has to know that they failed: the cache on disk is only worth time, the loader asks for extensions itself,
 * memory is asked for again when room was made. */
static bool
may_be_silent(const char *call, long code)
{
    static const char *const always[] = {"vkEnumerateDeviceExtensionProperties",
                                         "vkGetPipelineCacheData", "vkCreatePipelineCache"};
    static const char *const again[] = {"vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory",
                                        "vkMapMemory"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcmp(call, always[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        if (strcmp(call, again[i]) == 0)
            return code == OUT_OF_HOST || code == OUT_OF_DEVICE;
    return false;
}

static void
every_call_may_fail(void **state)
{
    static const long codes[] = {OUT_OF_HOST, OUT_OF_DEVICE, LOST, UNKNOWN, -12345};
    static const struct settings all[] = {
        {{0}, {0}},
        {{"push_descriptors", "staging", "cache"}, {"no", "yes", "no"}},
        {{"timeline", "batch"}, {"no", "4"}},
    };
    const struct code *forms[] = {&plain, &blocks, &addresses};
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        tnb_err e = {0};
        layer_fail(0, 0);
        OK(everything(&all[turn], forms[turn], &err));
        layer_fail(0, 0);
        OK(everything(&all[turn], forms[turn], &err)); /* pipelines come from the cache now */
        long calls = layer_count(CALLS), failures = 0;
        assert_true(calls > 60);
        for (long at = 1; at <= calls; at++) {
            long code = codes[at % 5];
            layer_fail(at, code);
            e = (tnb_err){0};
            tnb_status st = everything(&all[turn], forms[turn], &e);
            const char *was = layer_failed();
            layer_fail(0, 0);
            if (layer_count(LIVE) != 0)
                fail_msg("call %ld (%s) fails with %ld: %ld objects are left; %s", at,
                         was ? was : "none", code, layer_count(LIVE), e.message);
            if (!was) /* waiting asks as often as it has to */
                continue;
            failures += st != TNB_OK;
            if (st != TNB_OK && !strstr(e.message, was) && !may_be_silent(was, code))
                fail_msg("call %ld fails, and the message does not name %s: %s", at, was,
                         e.message);
            if (st == TNB_OK && !may_be_silent(was, code) && at <= calls_before_the_end)
                fail_msg("call %ld (%s) of %ld fails, and nobody is told", at, was, calls);
        }
        assert_true(failures > calls / 2);
        OK(everything(&all[turn], forms[turn], &err));
    }
}

static void
a_device_that_hangs_is_told(void **state)
{
    static const struct settings all[] = {{{"timeout"}, {"1"}},
                                          {{"timeout", "timeline"}, {"1", "no"}}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        void *dev = open_device(&all[i]), *module, *k, *mem, *other;
        OK(load(dev, &plain, &module, &err));
        OK(drv->module_kernel(dev, module, "count", &k, &err));
        OK(drv->alloc(dev, 4, "global", &mem, &err));
        layer_hang(1);
        OK(launch_count(dev, NULL, k, mem, 0, 1, &err));
        FAILS(TNB_DEVICE, "made no progress for 1 s in kernel 'count'", drv->sync(dev, NULL, &err));
        FAILS(TNB_DEVICE, "was lost before (it hung)", drv->sync(dev, NULL, &err));
        FAILS(TNB_DEVICE, "was lost before", drv->alloc(dev, 4, "global", &other, &err));
        layer_hang(0);
        drv->free(dev, mem);
        drv->module_free(dev, module);
        drv->close(dev);
        assert_int_equal(layer_count(LIVE), 0);
    }
}

/* The artifact goes before the device that still works at its kernels. In a process of its own: the device is never given back. */
static void
a_device_that_still_hangs_is_closed(void **state)
{
    static const struct settings short_time = {{"timeout"}, {"1"}};
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        void *dev = open_device(&short_time), *module, *k, *mem;
        struct code copy = plain;
        tnb_err err = {0};
        copy.bytes =
            mmap(NULL, plain.n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        bool fine = copy.bytes != MAP_FAILED;
        if (fine)
            memcpy(copy.bytes, plain.bytes, plain.n);
        fine = fine && load(dev, &copy, &module, &err) == TNB_OK &&
               drv->module_kernel(dev, module, "count", &k, &err) == TNB_OK &&
               drv->alloc(dev, 4, "global", &mem, &err) == TNB_OK;
        layer_hang(1);
        fine = fine && launch_count(dev, NULL, k, mem, 0, 1, &err) == TNB_OK &&
               drv->sync(dev, NULL, &err) == TNB_DEVICE;
        if (fine) {
            drv->free(dev, mem);
            drv->module_free(dev, module);
            munmap(copy.bytes, copy.n);
            drv->close(dev);
        }
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void
a_lost_device_is_told_to_all_that_follow(void **state)
{
    void *dev = open_device(NULL), *mem, *other;
    (void)state;
    OK(drv->alloc(dev, 64, "global", &mem, &err));
    OK(drv->zero(dev, NULL, mem, 0, 64, &err));
    layer_fail(1, LOST);
    FAILS(TNB_DEVICE, "VK_ERROR_DEVICE_LOST", drv->sync(dev, NULL, &err));
    layer_fail(0, 0);
    FAILS(TNB_DEVICE, "was lost before (VK_ERROR_DEVICE_LOST)", drv->sync(dev, NULL, &err));
    FAILS(TNB_DEVICE, "was lost before", drv->zero(dev, NULL, mem, 0, 64, &err));
    FAILS(TNB_DEVICE, "was lost before", drv->alloc(dev, 64, "global", &other, &err));
    drv->free(dev, mem);
    drv->close(dev);
    assert_int_equal(layer_count(LIVE), 0);
}

/* ---- setting up ---- */

/* The manifest of the layer in the scratch folder, and the layer's functions. */
static bool
find_layer(const char *build)
{
    char path[512], text[1024];
    snprintf(path, sizeof path, "%s/tests/gpu_generic/.libs/vk_layer.so", build);
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h)
        return false;
    snprintf(text, sizeof text,
             "{\"file_format_version\": \"1.1.0\", \"layer\": {\"name\": \"VK_LAYER_TENON_test\", "
             "\"type\": \"GLOBAL\", \"library_path\": \"%s\", \"api_version\": \"1.3.0\", "
             "\"implementation_version\": \"1\", \"description\": \"tests\"}}",
             path);
    snprintf(path, sizeof path, "%s/layer.json", scratch);
    if (tnb_write_file(path, text, strlen(text), NULL) != TNB_OK)
        return false;
    setenv("VK_LAYER_PATH", scratch, 1);
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_TENON_test", 1);
    *(void **)&layer_fail = dlsym(h, "vk_layer_fail");
    *(void **)&layer_failed = dlsym(h, "vk_layer_failed");
    *(void **)&layer_count = dlsym(h, "vk_layer_count");
    *(void **)&layer_hang = dlsym(h, "vk_layer_hang");
    *(void **)&layer_limits = dlsym(h, "vk_layer_limits");
    *(void **)&layer_driver = dlsym(h, "vk_layer_driver");
    return true;
}

static bool
make(const char *form, struct code *out)
{
    char command[1024], path[128];
    tnb_err err;
    const char *python = getenv("PYTHON"), *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/code", scratch);
    snprintf(command, sizeof command,
             "'%s' '%s/tests/gpu_generic/kernels.py' '%s' add_f32%s step%s count%s where%s",
             python ? python : "python3", top ? top : ".", path, form, form, form, form);
    return system(command) == 0 && tnb_read_file(path, 0, &out->bytes, &out->n, &err) == TNB_OK;
}

static int
close_all(void **state)
{
    char command[128];
    (void)state;
    tnr_runtime_free(rt);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    tnb_diags_free(diags);
    free(plain.bytes), free(addresses.bytes), free(based.bytes), free(blocks.bytes);
    snprintf(command, sizeof command, "rm -r '%s'", scratch);
    return system(command);
}

int
main(void)
{
    const char *build = getenv("top_builddir");
    tnb_err err = {0};
    int n = 0;
    if (system("spirv-as --version >/dev/null 2>&1") != 0) {
        print_message("spirv-as is not installed (spirv-tools)\n");
        return 77;
    }
    strcpy(scratch, "/tmp/tenon-vulkan-XXXXXX");
    if (!mkdtemp(scratch) || !find_layer(build ? build : "."))
        return 99;
    diags = tnb_diags_new();
    conf = tnb_conf_load(NULL, diags);
    tnr_runtime_options opt = {.conf = conf};
    if (!conf || tnb_plugins_open(conf, NULL, &plugins, &err) != TNB_OK)
        return 99;
    opt.plugins = plugins;
    if (tnr_runtime_new(&opt, &rt, &err) != TNB_OK ||
        !(drv = tnr_find_driver(rt, "gpu_generic", &err))) {
        print_message("%s\n", err.message);
        return 99;
    }
    if (drv->count(drv->self, &n, &err) != TNB_OK || n == 0) {
        print_message("%s\n", err.message);
        close_all(NULL);
        return 77;
    }
    if (!make("", &plain) || !make(":addresses", &addresses) || !make(":base", &based) ||
        !make(":base:block", &blocks))
        return 99;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_choose_a_device),
        cmocka_unit_test(features_are_compared),
        cmocka_unit_test(grids_beyond_the_limit_are_several),
        cmocka_unit_test(wrong_features_are_left_out),
        cmocka_unit_test(what_cannot_be_bound_is_told),
        cmocka_unit_test(launches_of_another_shape_are_refused),
        cmocka_unit_test(memory_is_divided_and_found_again),
        cmocka_unit_test(freed_memory_stays_until_its_work_is_done),
        cmocka_unit_test(every_barrier_that_is_left_out_is_reported),
        cmocka_unit_test(barriers_for_the_host_that_are_left_out_are_reported),
        cmocka_unit_test(streams_without_events_are_reported),
        cmocka_unit_test(events_are_behind_what_their_stream_waited_for),
        cmocka_unit_test(what_the_host_waited_for_needs_no_barrier),
        cmocka_unit_test(launches_allocate_nothing),
        cmocka_unit_test(threads_may_launch_one_kernel_at_once),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(a_device_that_hangs_is_told),
        cmocka_unit_test(a_device_that_still_hangs_is_closed),
        cmocka_unit_test(a_lost_device_is_told_to_all_that_follow),
    };
    return cmocka_run_group_tests(tests, NULL, close_all);
}
