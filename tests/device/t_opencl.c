/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl device beyond the conformance suite: settings, images, launches of every kind, the
 * compiler's complaints, memory that is not there, the cache of programs, threads, and every call
 * of OpenCL failing once (through cl_layer.c).
 *
 * PoCL is asked for two devices; other platforms are tested with what they have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

/* CL/cl.h is not needed for these */
enum {
    DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    DEVICE_IMAGE_SUPPORT = 0x1016,
    DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    DEVICE_LOCAL_MEM_SIZE = 0x1023,
    DEVICE_AVAILABLE = 0x1027,
    DEVICE_COMPILER_AVAILABLE = 0x1028,
    OUT_OF_RESOURCES = -5,
    DEVICE_NOT_AVAILABLE = -2
};

static tnb_plugins *plugins;
static tnb_conf *conf;
static tnb_diags *diags;
static tnr_runtime *rt;
static const tnr_driver *drv;
static char scratch[64];
static char last_log[2048];
static int n_logged;

static void (*layer_fail)(long at, long code);
static long (*layer_calls)(void);
static const char *(*layer_failed)(void);
static void (*layer_say)(unsigned what, unsigned long long value);
static void (*layer_reset)(void);

/* ---- settings ---- */

struct settings {
    const char *key[4], *value[4];
};

static const char *
setting(const void *user, const char *key)
{
    const struct settings *s = user;
    for (int i = 0; i < 4 && s->key[i]; i++)
        if (strcmp(s->key[i], key) == 0)
            return s->value[i];
    return strcmp(key, "cache") == 0 ? "yes" : NULL; /* which is not what is usual with PoCL */
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
    tnb_err e;
    char first[512];
    int n = 0;
    (void)state;
    dev = open_device(NULL);
    drv->describe(dev, first, sizeof first);
    drv->close(dev);
    assert_int_equal(drv->count(drv->self, &n, &e), TNB_OK);
    char *slash = strstr(first, " / ");
    assert_non_null(slash);
    char platform[16];
    snprintf(platform, sizeof platform, "%.8s", first); /* a part, whatever the case */
    for (char *c = platform; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    drv->close(open_device(ONE("platform", platform)));
    drv->close(open_device(ONE("platform", "0")));
    drv->close(open_device(ONE("device", "0")));
    if (n > 1) {
        char second[512], again[512];
        assert_int_equal(open_id(1, NULL, &dev, &e), TNB_OK);
        drv->describe(dev, second, sizeof second);
        drv->close(dev);
        dev = open_device(ONE("device", "1"));
        drv->describe(dev, again, sizeof again);
        drv->close(dev);
        assert_string_equal(second, again);
        FAILS(TNB_DEVICE, "is left out by [device opencl] device = 1",
              open_id(1, ONE("device", "1"), &dev, &err));
    }
    FAILS(TNB_DEVICE, "there is no OpenCL device 99", open_id(99, NULL, &dev, &err));
}

static void
hostile_settings_are_refused(void **state)
{
    void *dev;
    char big[5000];
    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    FAILS(TNB_DEVICE, "left out by", open_id(0, ONE("platform", "no such"), &dev, &err));
    FAILS(TNB_DEVICE, "left out by", open_id(0, ONE("platform", big), &dev, &err));
    FAILS(TNB_DEVICE, "left out by", open_id(0, ONE("device", "77"), &dev, &err));
    FAILS(TNB_DEVICE, "left out by",
          open_id(0, ONE("device", "99999999999999999999999"), &dev, &err));
    FAILS(TNB_DEVICE, "left out by", open_id(0, ONE("device", "%s%n"), &dev, &err));
    FAILS(TNB_INVALID, "any, gpu, cpu or accelerator",
          open_id(0, ONE("type", "toaster"), &dev, &err));
    FAILS(TNB_INVALID, "yes or no", open_id(0, ONE("profiling", "maybe"), &dev, &err));
    FAILS(TNB_INVALID, "yes or no", open_id(0, ONE("cache", big), &dev, &err));
    FAILS(TNB_INVALID, "number of MiB", open_id(0, ONE("cache_size", "-1"), &dev, &err));
    FAILS(TNB_INVALID, "number of MiB", open_id(0, ONE("cache_size", "1e9"), &dev, &err));
}

/* ---- programs ---- */

static tnb_status
load(void *dev, const char *text, void **module, tnb_err *err)
{
    return drv->module_load(dev, "opencl-c", text, strlen(text), module, err);
}

static void
the_compilers_complaints_name_the_kernel(void **state)
{
    static const char broken[] = "__kernel void first(__global int *a) { a[0] = 1; }\n"
                                 "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
                                 "void second(__global int *a)\n{\n    a[0] = 2;\n}\n"
                                 "__kernel void third_one(__global int *a)\n{\n"
                                 "    a[0] = nowhere + 1;\n}\n"
                                 "__kernel void fourth(__global int *a) { a[0] = 4; }\n";
    void *dev = open_device(NULL), *module;
    char *many = malloc(200000);
    (void)state;
    FAILS(TNB_BUILD, "kernel 'third_one'", load(dev, broken, &module, &err));
    FAILS(TNB_BUILD, "nowhere", load(dev, broken, &module, &err));
    /* thousands of complaints: cut, and no harm */
    strcpy(many, "__kernel void f(__global int *a) {\n");
    for (int i = 0; i < 3000; i++)
        strcat(many + (i ? (size_t)i * 30 : 0), "    a[0] = unknown_name_12345;\n");
    FAILS(TNB_BUILD, "", load(dev, many, &module, &err));
    free(many);
    drv->close(dev);
    dev = open_device(ONE("build_options", "-no-such-option"));
    tnb_err e = {0};
    assert_int_not_equal(load(dev, "__kernel void f(__global int *a) { a[0] = 1; }", &module, &e),
                         TNB_OK);
    assert_true(e.message[0] != '\0');
    drv->close(dev);
}

static const char arguments[] =
    "__kernel void take_all(__global long *o, ulong at, char a, short b, int c, long d, uchar e, "
    "float "
    "f,\n"
    "                  float h)\n{\n"
    "    __global long *p = (__global long *)((__global char *)o + at);\n"
    "    p[0] = a, p[1] = b, p[2] = c, p[3] = d, p[4] = e, p[5] = (long)(f * 4), p[6] = (long)(h * "
    "4);\n}\n"
    "__kernel void ids(__global int *o, ulong at)\n{\n"
    "    size_t i = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) "
    "* "
    "get_global_id(2));\n"
    "    o[i] = (int)(get_group_id(0) + 100 * get_local_id(1) + 10000 * get_local_id(2));\n}\n"
    "__kernel void fixed(__global int *o, ulong at) { __local int x[64]; x[get_local_id(0)] = 1; "
    "barrier(CLK_LOCAL_MEM_FENCE); o[0] = x[0]; }\n"
    "__kernel __attribute__((reqd_work_group_size(4, 2, 1))) void shaped(__global int *o, ulong "
    "at) { "
    "o[0] = 5; }\n"
    "__kernel void dynamic(__global int *o, ulong at, __local int *x)\n{\n"
    "    x[get_local_id(0)] = (int)get_local_id(0);\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (get_local_id(0) == 0)\n        o[0] = x[get_local_size(0) - 1];\n}\n"
    "__kernel void count(__global int *o, ulong at, int n)\n{\n"
    "    o[at / 4] = n;\n}\n";

static void
get(void *dev, void *mem, uint64_t offset, void *host, uint64_t n)
{
    tnr_copy c = {
        .kind = TNR_COPY_TO_HOST, .dst = host, .src = mem, .src_offset = offset, .bytes = n};
    OK(drv->copy(dev, NULL, &c, &err));
}

static void
put(void *dev, void *mem, uint64_t offset, const void *host, uint64_t n)
{
    tnr_copy c = {
        .kind = TNR_COPY_TO_DEVICE, .dst = mem, .dst_offset = offset, .src = host, .bytes = n};
    OK(drv->copy(dev, NULL, &c, &err));
}

static tnr_param
written(void *mem, uint64_t offset, uint64_t bytes)
{
    return (tnr_param){.kind = TNB_PARAM_BUFFER,
                       .written = 1,
                       .u.memory = {.mem = mem, .offset = offset, .bytes = bytes}};
}

static tnr_param
integer(uint8_t bits, int64_t v)
{
    return (tnr_param){.kind = TNB_PARAM_SCALAR, .dtype = {TNB_INT, bits, 1}, .u.scalar.i = v};
}

static tnr_param
real(uint8_t bits, double v)
{
    return (tnr_param){.kind = TNB_PARAM_SCALAR, .dtype = {TNB_FLOAT, bits, 1}, .u.scalar.f = v};
}

static tnr_launch
launch_of(const tnr_param *params, uint32_t n, uint64_t gx, uint64_t bx)
{
    return (tnr_launch){.size = sizeof(tnr_launch),
                        .flags = TNR_LAUNCH_GRID,
                        .n_params = n,
                        .params = params,
                        .grid = {gx, 1, 1},
                        .block = {bx, 1, 1}};
}

static void
launches_pass_what_they_are_given(void **state)
{
    void *dev = open_device(NULL), *module, *mem, *all, *ids, *dynamic;
    (void)state;
    OK(load(dev, arguments, &module, &err));
    OK(drv->module_kernel(dev, module, "take_all", &all, &err));
    OK(drv->module_kernel(dev, module, "ids", &ids, &err));
    OK(drv->module_kernel(dev, module, "dynamic", &dynamic, &err));
    OK(drv->alloc(dev, 4096, "global", &mem, &err));
    tnr_param b[] = {written(mem, 64, 56),
                     integer(8, -7),
                     integer(16, -30000),
                     integer(32, -2000000000),
                     integer(64, INT64_MIN),
                     {.kind = TNB_PARAM_SCALAR, .dtype = {TNB_BOOL, 8, 1}, .u.scalar.i = 1},
                     real(32, 2.25),
                     real(16, -0.75)};
    tnr_launch l = launch_of(b, 8, 1, 1);
    OK(drv->launch(dev, NULL, all, &l, &err));
    int64_t want[] = {-7, -30000, -2000000000, INT64_MIN, 1, 9, -3}, have[7];
    get(dev, mem, 64, have, sizeof have);
    assert_memory_equal(want, have, sizeof want);
    l.flags = 0; /* one work item */
    b[1].u.scalar.i = 100;
    OK(drv->launch(dev, NULL, all, &l, &err));
    get(dev, mem, 64, have, sizeof have);
    assert_int_equal(have[0], 100);

    int32_t seen[3 * 2 * 2 * 2];
    b[0] = written(mem, 0, sizeof seen);
    l = launch_of(b, 1, 3, 1);
    l.block[1] = 2;
    l.block[2] = 2;
    l.grid[1] = 2;
    OK(drv->launch(dev, NULL, ids, &l, &err));
    get(dev, mem, 0, seen, sizeof seen);
    for (int x = 0; x < 3; x++)
        for (int y = 0; y < 4; y++)
            for (int z = 0; z < 2; z++)
                assert_int_equal(seen[x + 3 * (y + 4 * z)], x + 100 * (y % 2) + 10000 * z);
    l.grid[1] = 0; /* nothing to do */
    b[0].u.memory.mem = NULL;
    OK(drv->launch(dev, NULL, ids, &l, &err));
    b[0].u.memory.mem = mem;

    l = launch_of(b, 1, 1, 16);
    l.shared_bytes = 64;
    OK(drv->launch(dev, NULL, dynamic, &l, &err));
    get(dev, mem, 0, seen, 4);
    assert_int_equal(seen[0], 15);
    drv->free(dev, mem);
    drv->module_free(dev, module);
    drv->close(dev);
}

static void
launches_beyond_the_limits_are_refused(void **state)
{
    void *dev = open_device(NULL), *module, *mem, *k;
    (void)state;
    OK(load(dev, arguments, &module, &err));
    FAILS(TNB_NOT_FOUND, "kernel 'nowhere'", drv->module_kernel(dev, module, "nowhere", &k, &err));
    OK(drv->module_kernel(dev, module, "fixed", &k, &err));
    OK(drv->alloc(dev, 4096, "global", &mem, &err));
    tnr_param b = written(mem, 0, 4096);
    tnr_launch l = launch_of(&b, 1, 1, 1u << 30);
    FAILS(TNB_INVALID, "kernel 'fixed': a group of 1073741824x1x1",
          drv->launch(dev, NULL, k, &l, &err));
    l = launch_of(&b, 1, 1, 256);
    l.block[1] = l.block[2] = 256;
    FAILS(TNB_INVALID, "kernel 'fixed': a group of 256x256x256",
          drv->launch(dev, NULL, k, &l, &err));
    l = launch_of(&b, 1, UINT64_MAX, 64);
    FAILS(TNB_BOUNDS, "too many", drv->launch(dev, NULL, k, &l, &err));
    l = launch_of(&b, 1, 1, 64);
    l.n_params = 0;
    FAILS(TNB_INVALID, "takes 2 arguments", drv->launch(dev, NULL, k, &l, &err));
    l = launch_of(&b, 1, 1, 64);
    l.shared_bytes = 128;
    FAILS(TNB_INVALID, "takes 2 arguments", drv->launch(dev, NULL, k, &l, &err));
    OK(drv->module_kernel(dev, module, "dynamic", &k, &err));
    l.shared_bytes = (uint64_t)1 << 40;
    FAILS(TNB_INVALID, "bytes of local memory", drv->launch(dev, NULL, k, &l, &err));
    OK(drv->module_kernel(dev, module, "shaped", &k, &err));
    l = launch_of(&b, 1, 1, 8);
    FAILS(TNB_INVALID, "compiled for 4x2x1", drv->launch(dev, NULL, k, &l, &err));
    int32_t v = 0;
    l = launch_of(&b, 1, 1, 4);
    l.block[1] = 2;
    OK(drv->launch(dev, NULL, k, &l, &err));
    get(dev, mem, 0, &v, 4);
    assert_int_equal(v, 5);
    drv->free(dev, mem);
    drv->module_free(dev, module);
    drv->close(dev);
}

/* ---- threads ---- */

struct worker {
    void *dev, *kernel, *mem;
    int number;
    bool wrong;
};

static void *
work(void *p)
{
    struct worker *w = p;
    for (int i = 0; i < 50; i++) {
        int32_t back = 0;
        tnr_param b[] = {written(w->mem, (uint64_t)w->number * 64, 4),
                         integer(32, w->number * 1000 + i)};
        tnr_launch l = launch_of(b, 2, 1, 1);
        tnr_copy c = {.kind = TNR_COPY_TO_HOST,
                      .dst = &back,
                      .src = w->mem,
                      .src_offset = b[0].u.memory.offset,
                      .bytes = 4};
        w->wrong |= drv->launch(w->dev, NULL, w->kernel, &l, NULL) != TNB_OK ||
                    drv->copy(w->dev, NULL, &c, NULL) != TNB_OK || back != b[1].u.scalar.i;
    }
    return NULL;
}

static void
threads_may_launch_one_kernel_at_once(void **state)
{
    enum { N = 12 }; /* more than a kernel keeps idle */
    struct worker w[N];
    pthread_t t[N];
    void *dev, *module, *mem, *k;
    tnb_err e;
    (void)state;
    /* PoCL's device 'basic' is made for one thread: it stops when several wait for it */
    if (open_id(0, ONE("device", "pthread"), &dev, &e) != TNB_OK)
        dev = open_device(NULL);
    OK(load(dev, arguments, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k, &err));
    OK(drv->alloc(dev, N * 64, "global", &mem, &err));
    for (int i = 0; i < N; i++) {
        w[i] = (struct worker){.dev = dev, .kernel = k, .mem = mem, .number = i};
        assert_int_equal(pthread_create(&t[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], NULL);
        assert_false(w[i].wrong);
    }
    drv->free(dev, mem);
    drv->module_free(dev, module);
    drv->close(dev);
}

static void
streams_wait_for_events(void **state)
{
    /* takes long enough for another stream to be too early */
    static const char slow[] =
        "__kernel void slow(__global uchar *m, ulong at, int n)\n{\n    float x = n;\n"
        "    for (int i = 0; i < 5000000; i++)\n        x = x * 0.999f + 1.0f;\n"
        "    *(__global int *)(m + at) = x > 1e30f ? -1 : n;\n}\n";
    void *dev = open_device(NULL), *module, *mem, *k, *a, *b, *done, *begun;
    double seconds = -1;
    (void)state;
    OK(load(dev, slow, &module, &err));
    OK(drv->module_kernel(dev, module, "slow", &k, &err));
    OK(drv->alloc(dev, 64, "global", &mem, &err));
    OK(drv->stream_new(dev, &a, &err));
    OK(drv->stream_new(dev, &b, &err));
    OK(drv->event_new(dev, &done, &err));
    OK(drv->event_new(dev, &begun, &err));
    OK(drv->event_wait(dev, done, a, &err)); /* nothing recorded: nothing to wait for */
    FAILS(TNB_INVALID, "not recorded", drv->event_seconds(dev, done, done, &seconds, &err));
    for (int i = 0; i < 5; i++) {
        tnr_param args[] = {written(mem, 0, 4), integer(32, i)};
        tnr_launch l = launch_of(args, 2, 1, 1);
        OK(drv->event_record(dev, begun, a, &err));
        OK(drv->launch(dev, a, k, &l, &err));
        OK(drv->event_record(dev, done, a, &err));
        OK(drv->event_wait(dev, done, b, &err));
        int32_t back = -1;
        tnr_copy c = {.kind = TNR_COPY_TO_HOST, .dst = &back, .src = mem, .bytes = 4};
        OK(drv->copy(dev, b, &c, &err));
        assert_int_equal(back, i);
    }
    OK(drv->event_seconds(dev, done, done, &seconds, &err));
    assert_true(seconds == 0);
    if (layer_fail) { /* drivers may order what uses the same memory by themselves */
        layer_fail(1, OUT_OF_RESOURCES);
        FAILS(TNB_DEVICE, "waiting for an event", drv->event_wait(dev, done, b, &err));
        assert_string_equal(layer_failed(), "clEnqueueBarrierWithWaitList");
        layer_reset();
    }
    OK(drv->event_seconds(dev, begun, done, &seconds, &err));
    assert_true(seconds > 1e-4); /* five million steps, each after the other */
    drv->event_free(dev, done);
    drv->event_free(dev, begun);
    drv->stream_free(dev, a);
    drv->stream_free(dev, b);
    drv->free(dev, mem);
    drv->module_free(dev, module);
    drv->close(dev);
}

/* ---- images ---- */

static void
image_round_trip(void *dev, const char *scope, size_t n)
{
    void *image, *other, *buffer;
    uint8_t *out = malloc(n), *back = malloc(n);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(i * 7 + i / 251);
    OK(drv->alloc(dev, n, scope, &image, &err));
    OK(drv->alloc(dev, n, scope, &other, &err));
    OK(drv->alloc(dev, n, "global", &buffer, &err));
    put(dev, image, 0, out, n);
    get(dev, image, 0, back, n);
    assert_memory_equal(out, back, n);
    /* part of a row, some rows, some layers: any run of elements */
    size_t cuts[] = {0, 8, 24, 72, 8 * 11, n / 16 * 8, n - 24, n};
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++)
        for (size_t k = i + 1; k < sizeof cuts / sizeof *cuts; k++) {
            if (cuts[k] < cuts[i])
                continue;
            size_t from = cuts[i], len = cuts[k] - from;
            memset(back, 0, n);
            get(dev, image, from, back, len);
            assert_memory_equal(out + from, back, len);
            OK(drv->zero(dev, NULL, buffer, 0, n, &err));
            tnr_copy c = {.kind = TNR_COPY_ON_DEVICE,
                          .dst = buffer,
                          .src = image,
                          .src_offset = from,
                          .bytes = len};
            OK(drv->copy(dev, NULL, &c, &err)); /* to a buffer */
            get(dev, buffer, 0, back, len);
            assert_memory_equal(out + from, back, len);
            c = (tnr_copy){.kind = TNR_COPY_ON_DEVICE,
                           .dst = other,
                           .dst_offset = from,
                           .src = buffer,
                           .bytes = len};
            OK(drv->zero(dev, NULL, other, 0, n, &err));
            OK(drv->copy(dev, NULL, &c, &err)); /* from a buffer */
            c = (tnr_copy){.kind = TNR_COPY_ON_DEVICE,
                           .dst = other,
                           .src = other,
                           .src_offset = from,
                           .bytes = len};
            OK(drv->copy(dev, NULL, &c, &err)); /* within an image */
            get(dev, other, 0, back, len);
            assert_memory_equal(out + from, back, len);
        }
    drv->free(dev, image);
    drv->free(dev, other);
    drv->free(dev, buffer);
    free(out);
    free(back);
}

static void
images_hold_what_is_copied(void **state)
{
    void *dev = open_device(NULL), *image;
    tnb_err e = {0};
    const char *need[] = {"images"};
    (void)state;
    if (drv->check_features(dev, need, 1, &e) != TNB_OK) {
        drv->close(dev);
        skip();
    }
    image_round_trip(dev, "global.texture:9x5:float16", 9 * 5 * 8);
    image_round_trip(dev, "global.texture-weight:9x5x4:float16", 9 * 5 * 4 * 8);
    image_round_trip(dev, "global.texture-nhwc:1x40:int16", 40 * 8);
    OK(drv->alloc(dev, 16, "global.texture:2x2:float32", &image, &err));
    char some[128] = "";
    tnr_copy c = {.kind = TNR_COPY_TO_DEVICE, .dst = image, .src = some, .bytes = 80};
    FAILS(TNB_BOUNDS, "of an image of 64 bytes", drv->copy(dev, NULL, &c, &err));
    c.bytes = 5;
    FAILS(TNB_UNSUPPORTED, "whose elements have 16", drv->copy(dev, NULL, &c, &err));
    drv->free(dev, image);
    static const char *const bad[] = {"global.texture",
                                      "global.texture:",
                                      "global.texture:4:float16",
                                      "global.texture:4x4",
                                      "global.texture:4x4:float64",
                                      "global.texture:0x4:float16",
                                      "global.texture:-4x4:int8",
                                      "global.texture:4x4x4x4:int8",
                                      "global.texture:4x4:int8x4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(TNB_INVALID, "does not say what the image is",
              drv->alloc(dev, 64, bad[i], &image, &err));
    FAILS(TNB_UNSUPPORTED, "images of at most",
          drv->alloc(dev, 64, "global.texture:999999999x1:int8", &image, &err));
    FAILS(TNB_UNSUPPORTED, "no memory of scope 'shared'",
          drv->alloc(dev, 64, "shared", &image, &err));
    drv->close(dev);
    if (!layer_say)
        return;
    layer_say(DEVICE_IMAGE_SUPPORT, 0);
    dev = open_device(NULL);
    layer_reset();
    FAILS(TNB_UNSUPPORTED, "has no images",
          drv->alloc(dev, 64, "global.texture:2x2:float16", &image, &err));
    FAILS(TNB_UNSUPPORTED, "lacks 'images'", drv->check_features(dev, need, 1, &err));
    drv->close(dev);
}

/* ---- what a device cannot ---- */

static void
features_are_compared(void **state)
{
    void *dev = open_device(NULL);
    static const char *const fine[] = {"opencl>=1.2", "local_memory>=1024", "group_size>=1",
                                       "buffer_bytes>=1"};
    static const char *const bad[] = {"local_memory>=99999999999999",
                                      "opencl>=9.0",
                                      "opencl>=two",
                                      "local_memory>=",
                                      "local_memory>=5x",
                                      ">=1",
                                      "cl_khr_no_such_thing",
                                      "cl_khr_",
                                      ""};
    (void)state;
    OK(drv->check_features(dev, fine, 4, &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(TNB_UNSUPPORTED, "the code needs [", drv->check_features(dev, &bad[i], 1, &err));
    drv->close(dev);
}

static void
memory_that_is_not_there_is_told_with_figures(void **state)
{
    void *dev, *a, *b;
    (void)state;
    if (!layer_say)
        skip();
    layer_say(DEVICE_MAX_MEM_ALLOC_SIZE, 1000000);
    layer_say(DEVICE_GLOBAL_MEM_SIZE, 1500000);
    dev = open_device(NULL);
    layer_reset();
    FAILS(TNB_NO_MEMORY, "gives at most 1000000 bytes",
          drv->alloc(dev, 1000001, "global", &a, &err));
    OK(drv->alloc(dev, 1000000, "global", &a, &err));
    FAILS(TNB_NO_MEMORY, "has 1500000 bytes, of which 1000000 are in use",
          drv->alloc(dev, 600000, "global", &b, &err));
    drv->free(dev, a);
    OK(drv->alloc(dev, 600000, "global", &b, &err));
    drv->free(dev, b);
    drv->close(dev);
}

static void
devices_that_cannot_be_used_say_why(void **state)
{
    void *dev;
    (void)state;
    if (!layer_say)
        skip();
    layer_say(DEVICE_AVAILABLE, 0);
    FAILS(TNB_DEVICE, "not available now", open_id(0, NULL, &dev, &err));
    layer_reset();
    layer_say(DEVICE_COMPILER_AVAILABLE, 0);
    FAILS(TNB_DEVICE, "no compiler of OpenCL C", open_id(0, NULL, &dev, &err));
    layer_reset();
    drv->close(open_device(NULL));
}

/* ---- the cache ---- */

static int
cache_files(void (*visit)(const char *path))
{
    char dir[128], path[512];
    int n = 0;
    snprintf(dir, sizeof dir, "%s/%d", scratch, TNB_ABI_MAJOR);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!tnb_ends_with(e->d_name, ".opencl"))
            continue;
        n++;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (visit)
            visit(path);
    }
    if (d)
        closedir(d);
    return n;
}

static void
remove_file(const char *path)
{
    (void)unlink(path);
}

static void
flip_a_byte(const char *path)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, -20, SEEK_END);
    int c = fgetc(f);
    fseek(f, -20, SEEK_END);
    fputc(c ^ 0x55, f);
    fclose(f);
}

static void
cut(const char *path)
{
    assert_int_equal(truncate(path, 50), 0);
}

static void
log_sink(void *user, tnb_log_level level, const char *line)
{
    (void)user, (void)level;
    snprintf(last_log, sizeof last_log, "%s", line);
    n_logged++;
}

/* Loads a program and runs it. */
static void
use_program(const struct settings *s)
{
    void *dev = open_device(s), *module, *k, *mem;
    int32_t back = 0;
    OK(load(dev, arguments, &module, &err));
    OK(drv->module_kernel(dev, module, "count", &k, &err));
    OK(drv->alloc(dev, 4, "global", &mem, &err));
    tnr_param b[] = {written(mem, 0, 4), integer(32, 77)};
    tnr_launch l = launch_of(b, 2, 1, 1);
    OK(drv->launch(dev, NULL, k, &l, &err));
    get(dev, mem, 0, &back, 4);
    assert_int_equal(back, 77);
    drv->free(dev, mem);
    drv->module_free(dev, module);
    drv->close(dev);
}

static void
programs_are_kept_and_damage_is_noticed(void **state)
{
    (void)state;
    cache_files(remove_file);
    use_program(ONE("cache", "no"));
    assert_int_equal(cache_files(NULL), 0);
    use_program(NULL);
    assert_int_equal(cache_files(NULL), 1);
    use_program(NULL); /* from the cache */
    use_program(ONE("build_options", "-DX=1"));
    assert_int_equal(cache_files(NULL), 2); /* other options, another program */
    cache_files(flip_a_byte);
    use_program(NULL);
    cache_files(cut);
    use_program(NULL);
    assert_int_equal(cache_files(NULL), 2);
    if (layer_fail) { /* the driver does not take the binary: built from the text */
        void *dev = open_device(NULL), *module;
        OK(load(dev, arguments, &module, &err));
        drv->module_free(dev, module);
        layer_fail(1, -42);
        OK(load(dev, arguments, &module, &err));
        assert_string_equal(layer_failed(), "clCreateProgramWithBinary");
        layer_reset();
        drv->module_free(dev, module);
        drv->close(dev);
    }
}

static const char *
no_setting(const void *user, const char *key)
{
    (void)user, (void)key;
    return NULL;
}

static void
what_pocl_keeps_itself_is_not_kept_twice(void **state)
{
    (void)state;
    tnr_device_options opt = {.size = sizeof opt, .setting = no_setting, .cache_dir = scratch};
    void *dev, *module;
    char name[256];
    cache_files(remove_file);
    OK(drv->open(drv->self, 0, &opt, &dev, &err));
    OK(load(dev, arguments, &module, &err));
    drv->describe(dev, name, sizeof name);
    assert_int_equal(cache_files(NULL), strstr(name, "Portable Computing Language") ? 0 : 1);
    drv->module_free(dev, module);
    drv->close(dev);
}

static void
without_a_cache_one_notice_is_enough(void **state)
{
    char file[128];
    (void)state;
    snprintf(file, sizeof file, "%s/a-file", scratch);
    assert_int_equal(tnb_write_file(file, "x", 1, NULL), TNB_OK);
    tnb_log_set_sink(log_sink, NULL);
    n_logged = 0;
    use_program(ONE("cache_dir", file));
    tnb_log_set_sink(NULL, NULL);
    assert_int_equal(n_logged, 1);
    assert_non_null(strstr(last_log, "not kept"));
}

/* ---- every call fails once ---- */

/* What a program does with a device; every failure ends it, with a message. */
static tnb_status
everything(tnb_err *err)
{
    static const char *const features[] = {"opencl>=1.2"};
    void *dev = NULL, *mem[3] = {0}, *module = NULL, *k, *stream = NULL, *from = NULL, *to = NULL;
    uint8_t bytes[512] = {0};
    double seconds;
    tnb_status st = open_id(0, NULL, &dev, err);
    if (st != TNB_OK)
        return st;
#define STEP(expr)    \
    if (st == TNB_OK) \
    st = (expr)
    STEP(drv->check_features(dev, features, 1, err));
    STEP(drv->alloc(dev, 512, "global", &mem[0], err));
    STEP(drv->alloc(dev, 512, "global", &mem[1], err));
    STEP(drv->alloc(dev, 512, "global.texture:8x8:float16", &mem[2], err));
    STEP(drv->zero(dev, NULL, mem[0], 0, 512, err));
    STEP(drv->zero(dev, NULL, mem[2], 0, 512, err));
    for (int kind = TNR_COPY_TO_DEVICE; kind <= TNR_COPY_ON_DEVICE; kind++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                tnr_copy c = {.kind = kind,
                              .dst = kind == TNR_COPY_TO_HOST ? (void *)bytes : mem[b],
                              .dst_offset = kind == TNR_COPY_TO_HOST ? 0 : 64,
                              .src = kind == TNR_COPY_TO_DEVICE ? (void *)bytes : mem[a],
                              .bytes = 256};
                if (kind == TNR_COPY_ON_DEVICE || a == b)
                    STEP(drv->copy(dev, NULL, &c, err));
            }
    STEP(load(dev, arguments, &module, err));
    STEP(drv->module_kernel(dev, module, "count", &k, err));
    STEP(drv->stream_new(dev, &stream, err));
    STEP(drv->event_new(dev, &from, err));
    STEP(drv->event_new(dev, &to, err));
    STEP(drv->event_record(dev, from, stream, err));
    tnr_param b[] = {written(mem[0], 0, 4), integer(32, 5)};
    tnr_launch l = launch_of(b, 2, 1, 1);
    for (int i = 0; i < 17; i++) /* with a flush */
        STEP(drv->launch(dev, stream, k, &l, err));
    STEP(drv->event_record(dev, to, stream, err));
    STEP(drv->event_wait(dev, to, NULL, err));
    STEP(drv->sync(dev, stream, err));
    STEP(drv->sync(dev, NULL, err));
    STEP(drv->event_seconds(dev, from, to, &seconds, err));
#undef STEP
    if (from)
        drv->event_free(dev, from);
    if (to)
        drv->event_free(dev, to);
    if (stream)
        drv->stream_free(dev, stream);
    if (module)
        drv->module_free(dev, module);
    for (int i = 0; i < 3; i++)
        if (mem[i])
            drv->free(dev, mem[i]);
    drv->close(dev);
    return st;
}

static void
every_call_may_fail(void **state)
{
    static const long codes[] = {OUT_OF_RESOURCES, -6, DEVICE_NOT_AVAILABLE, -36, -12345};
    tnb_err e = {0};
    long calls, failures = 0;
    (void)state;
    if (!layer_fail)
        skip();
    OK(everything(&err));
    layer_fail(0, 0);
    if (everything(&e) != TNB_OK) /* programs come from the cache now */
        fail_msg("%s", e.message);
    calls = layer_calls();
    assert_true(calls > 100);
    for (long at = 1; at <= calls; at++) {
        char was[64];
        layer_fail(at, codes[at % 5]);
        e = (tnb_err){0};
        tnb_status st = everything(&e);
        assert_non_null(layer_failed());
        snprintf(was, sizeof was, "%s", layer_failed());
        layer_fail(0, 0);
        if (st != TNB_OK) {
            failures++;
            if (!e.message[0])
                fail_msg("call %ld (%s) failed without a message", at, was);
        }
    }
    assert_true(failures > calls / 2); /* some calls only ask for what may be missing */
    if (everything(&e) != TNB_OK)
        fail_msg("%s", e.message);
}

static void
a_lost_device_is_told_to_all_that_follow(void **state)
{
    void *dev, *mem;
    (void)state;
    if (!layer_fail)
        skip();
    dev = open_device(NULL);
    OK(drv->alloc(dev, 64, "global", &mem, &err));
    layer_fail(1, DEVICE_NOT_AVAILABLE);
    FAILS(TNB_DEVICE, "CL_DEVICE_NOT_AVAILABLE", drv->sync(dev, NULL, &err));
    layer_reset();
    FAILS(TNB_DEVICE, "was lost before (CL_DEVICE_NOT_AVAILABLE)", drv->sync(dev, NULL, &err));
    FAILS(TNB_DEVICE, "was lost before", drv->zero(dev, NULL, mem, 0, 64, &err));
    void *other;
    FAILS(TNB_DEVICE, "was lost before", drv->alloc(dev, 64, "global", &other, &err));
    drv->free(dev, mem);
    drv->close(dev);
}

/* ---- setting up ---- */

static void
find_layer(const char *path)
{
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h)
        return;
    *(void **)&layer_fail = dlsym(h, "cl_layer_fail");
    *(void **)&layer_calls = dlsym(h, "cl_layer_calls");
    *(void **)&layer_failed = dlsym(h, "cl_layer_failed");
    *(void **)&layer_say = dlsym(h, "cl_layer_say");
    *(void **)&layer_reset = dlsym(h, "cl_layer_reset");
    int n;
    layer_fail(0, 0);
    (void)drv->count(drv->self, &n, NULL);
    if (layer_calls() == 0) { /* this loader takes no layers */
        print_message("the OpenCL loader takes no layers: failures are not tested\n");
        layer_fail = NULL;
        layer_say = NULL;
    }
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
    snprintf(command, sizeof command, "rm -r '%s'", scratch);
    return system(command);
}

int
main(void)
{
    const char *build = getenv("top_builddir");
    char layer[512];
    tnb_err err = {0};
    int n = 0;
    snprintf(layer, sizeof layer, "%s/tests/device/.libs/cl_layer.so", build ? build : ".");
    setenv("OPENCL_LAYERS", layer, 1);
    setenv("POCL_DEVICES", "pthread basic", 0);
    strcpy(scratch, "/tmp/tenon-opencl-XXXXXX");
    if (!mkdtemp(scratch))
        return 99;
    diags = tnb_diags_new();
    conf = tnb_conf_load(NULL, diags);
    tnr_runtime_options opt = {.conf = conf};
    if (!conf || tnb_plugins_open(conf, NULL, &plugins, &err) != TNB_OK)
        return 99;
    opt.plugins = plugins;
    if (tnr_runtime_new(&opt, &rt, &err) != TNB_OK ||
        !(drv = tnr_find_driver(rt, "opencl", &err))) {
        print_message("%s\n", err.message);
        return 99;
    }
    if (drv->count(drv->self, &n, &err) != TNB_OK || n == 0) {
        print_message("%s\n", err.message);
        close_all(NULL);
        return 77;
    }
    find_layer(layer);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_choose_a_device),
        cmocka_unit_test(hostile_settings_are_refused),
        cmocka_unit_test(the_compilers_complaints_name_the_kernel),
        cmocka_unit_test(launches_pass_what_they_are_given),
        cmocka_unit_test(launches_beyond_the_limits_are_refused),
        cmocka_unit_test(threads_may_launch_one_kernel_at_once),
        cmocka_unit_test(streams_wait_for_events),
        cmocka_unit_test(images_hold_what_is_copied),
        cmocka_unit_test(features_are_compared),
        cmocka_unit_test(memory_that_is_not_there_is_told_with_figures),
        cmocka_unit_test(devices_that_cannot_be_used_say_why),
        cmocka_unit_test(programs_are_kept_and_damage_is_noticed),
        cmocka_unit_test(what_pocl_keeps_itself_is_not_kept_twice),
        cmocka_unit_test(without_a_cache_one_notice_is_enough),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(a_lost_device_is_told_to_all_that_follow),
    };
    return cmocka_run_group_tests(tests, NULL, close_all);
}
