/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated device with kernels that NVRTC makes of CUDA C++, for tests; they are skipped where there is no NVRTC. */
#ifndef CUDASIM_T_DEVICE_H
#define CUDASIM_T_DEVICE_H

#include "backends/cuda/nvrtc.h"
#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static cuda_nvrtc *nvrtc;
static tnb_arena *arena;

typedef struct device {
    sim_machine *m;
    sim_module *module;
} device;

/* The PTX of a text, which is compiled once, for sm_80 or the architecture that the text begins with: "// sm_90\n". */
static const char *
ptx_of(const char *text)
{
    static tnb_ptrmap made;
    tnb_err err = {0};
    cuda_object o = {0};
    char arch[8] = "sm_80";
    (void)sscanf(text, "// %7s", arch);
    if (!made.arena)
        tnb_ptrmap_init(&made, arena);
    if (!tnb_ptrmap_has(&made, text)) {
        if (cuda_nvrtc_compile(nvrtc, arch, "test", text, &o, &err) != TNB_OK)
            fail_msg("%s", err.message);
        tnb_ptrmap_set(&made, text, tnb_strdup(arena, o.ptx));
        cuda_object_free(&o);
    }
    return tnb_ptrmap_get(&made, text);
}

static device
device_with(const char *text, uint64_t seed, bool late)
{
    device d = {
        .m = sim_new(&(sim_options){.seed = seed, .late = late, .races = true, .idle = 1 << 20})};
    tnb_err err = {0};
    if (sim_load(d.m, ptx_of(text), &d.module, &err) != TNB_OK)
        fail_msg("%s\n%s", err.message, ptx_of(text));
    return d;
}

static uint64_t
upload(device *d, const void *data, size_t bytes)
{
    tnb_err err = {0};
    uint64_t a = sim_alloc(d->m, bytes);
    assert_true(a != 0);
    if (data && sim_write(d->m, a, data, bytes, &err) != TNB_OK)
        fail_msg("%s", err.message);
    return a;
}

static void
download(device *d, uint64_t a, void *data, size_t bytes)
{
    tnb_err err = {0};
    if (sim_read(d->m, data, a, bytes, &err) != TNB_OK)
        fail_msg("%s", err.message);
}

/* Parameters are 8 bytes each. */
static tnb_status
launch(device *d, const char *name, sim_launch_size size, const uint64_t *params, tnb_err *err)
{
    sim_kernel *k = sim_find_kernel(d->module, name);
    assert_non_null(k);
    return sim_launch(d->m, k, &size, params, err);
}

static void
run(device *d, const char *name, sim_launch_size size, const uint64_t *params)
{
    tnb_err err = {0};
    if (launch(d, name, size, params, &err) != TNB_OK)
        fail_msg("%s", err.message);
}

#define SIZE(blocks, threads) ((sim_launch_size){{blocks, 1, 1}, {threads, 1, 1}, 0})

/* Runs tests; 77 without NVRTC. */
static int
run_on_device(const char *name, const struct CMUnitTest *tests, size_t n)
{
    tnb_err err = {0};
    arena = tnb_arena_new();
    if (cuda_nvrtc_open(arena, "", &nvrtc, &err) != TNB_OK) {
        printf("skipped: %s\n", err.message);
        return 77;
    }
    int failed = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    cuda_nvrtc_close(nvrtc);
    tnb_arena_free(arena);
    return failed;
}

#endif
