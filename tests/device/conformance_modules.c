/* SPDX-License-Identifier: Apache-2.0 */
/* The device conformance suite: code, and kernels that are launched. */
#include "conformance.h"

static const char no_module[] = "no module was given (--module FORMAT FILE)";

static bool
garbage_is_no_module(struct suite *s)
{
    char junk[2048];
    void *module = NULL;
    SKIP_UNLESS(s->d->formats && s->d->formats[0], "the driver runs no code (formats)");
    pattern((uint8_t *)junk, sizeof junk, 4);
    for (const char *const *f = s->d->formats; *f; f++) {
        REFUSED(s->d->module_load(s->dev, *f, junk, sizeof junk, &module, &err));
        REFUSED(s->d->module_load(s->dev, *f, junk, 0, &module, &err));
        memcpy(junk, "\177ELF", 4);
        REFUSED(s->d->module_load(s->dev, *f, junk, sizeof junk, &module, &err));
    }
    REFUSED(s->d->module_load(s->dev, "no-such-format", junk, sizeof junk, &module, &err));
    return true;
}

static bool
truncated_modules_are_refused(struct suite *s)
{
    void *module = NULL;
    SKIP_UNLESS(s->code, no_module);
    for (size_t n = 0; n < 2000 && n < s->n_code; n = n * 2 + 1)
        REFUSED(s->d->module_load(s->dev, s->format, s->code, n, &module, &err));
    return true;
}

static bool
launches_compute(struct suite *s)
{
    enum { N = 1000 };
    static float x[N], y[N], z[N + 2];
    void *module, *kernel, *mem;
    SKIP_UNLESS(s->code, no_module);
    DONE(s->d->module_load(s->dev, s->format, s->code, s->n_code, &module, &err));
    REFUSED(s->d->module_kernel(s->dev, module, "no_such_kernel", &kernel, &err));
    DONE(s->d->module_kernel(s->dev, module, "add_f32", &kernel, &err));
    DONE(s->d->alloc(s->dev, 3 * 4096 + 4 * N + 8, "global", &mem, &err));
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 0.5f * (float)i;
    }
    z[0] = z[N + 1] = -1;
    for (unsigned shift = 0; shift <= 64;
         shift += 4) { /* aligned or not, a launch gives the same */
        uint64_t ox = 0, oy = 4096 + shift, oz = 2 * 4096 + 64;
        NEED(up(s, mem, ox, x, 4 * N) && up(s, mem, oy, y, 4 * N) && up(s, mem, oz - 4, z, 4) &&
             up(s, mem, oz + 4 * N, &z[N + 1], 4));
        tnr_param params[] = {
            {.kind = TNB_PARAM_BUFFER, .u.memory = {mem, ox, 4 * N}},
            {.kind = TNB_PARAM_BUFFER, .u.memory = {mem, oy, 4 * N}},
            {.kind = TNB_PARAM_BUFFER, .written = 1, .u.memory = {mem, oz, 4 * N}},
            {.kind = TNB_PARAM_SCALAR, .dtype = {TNB_INT, 64, 1}, .u.scalar.i = N}};
        tnr_launch l = {.size = sizeof l,
                        .flags = s->d->flags & TNR_DRIVER_HOST_MEMORY ? 0 : TNR_LAUNCH_GRID,
                        .n_params = 4,
                        .params = params,
                        .grid = {(N + 63) / 64, 1, 1},
                        .block = {64, 1, 1}};
        DONE(s->d->launch(s->dev, NULL, kernel, &l, &err));
        DONE(s->d->sync(s->dev, NULL, &err));
        NEED(down(s, mem, oz - 4, z, sizeof z));
        NEED(z[0] == -1 && z[N + 1] == -1);
        for (int i = 0; i < N; i++)
            NEED(z[i + 1] == x[i] + y[i]);
    }
    s->d->free(s->dev, mem);
    s->d->module_free(s->dev, module);
    return true;
}

static bool
parameters_that_it_does_not_take_are_refused(struct suite *s)
{
    void *module, *kernel, *mem;
    SKIP_UNLESS(s->code, no_module);
    DONE(s->d->module_load(s->dev, s->format, s->code, s->n_code, &module, &err));
    DONE(s->d->module_kernel(s->dev, module, "add_f32", &kernel, &err));
    DONE(s->d->alloc(s->dev, 64, "global", &mem, &err));
    tnb_tensor_map map = {.dtype = TNB_F32, .rank = 1, .box = {4}};
    tnr_tensor_map value = {.map = &map, .memory = {mem, 0, 64}, .extents = {16}, .strides = {1}};
    tnr_param p = {.kind = TNB_PARAM_TENSOR_MAP, .u.map = &value};
    tnr_launch l = {.size = sizeof l,
                    .flags = s->d->flags & TNR_DRIVER_HOST_MEMORY ? 0 : TNR_LAUNCH_GRID,
                    .n_params = 1,
                    .params = &p,
                    .grid = {1, 1, 1},
                    .block = {1, 1, 1}};
    REFUSED(s->d->launch(s->dev, NULL, kernel, &l, &err)); /* add_f32 takes none */
    s->d->free(s->dev, mem);
    s->d->module_free(s->dev, module);
    return true;
}

const struct check module_checks[] = {
    CHECK(garbage_is_no_module),
    CHECK(truncated_modules_are_refused),
    CHECK(launches_compute),
    CHECK(parameters_that_it_does_not_take_are_refused),
    {0},
};
