/* SPDX-License-Identifier: Apache-2.0 */
/* The device conformance suite: what every driver must do, by name.
 *
 *     device-conformance DRIVER [ID] [--module FORMAT FILE]
 *
 * Drivers are found as always (TENON_PLUGIN_PATH, the configuration). With a module that holds a kernel `add_f32` (two inputs and
 * an output of float32, then the element count as an int64 scalar), launches are checked too. Prints a line a check; exits with
 * 1 if one failed, 77 if there is no such device here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/base/file.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

struct suite {
    const tnr_driver *d;
    void *dev, *other;  /* another one of the driver; NULL: there is none */
    const char *format; /* of the module; NULL: none given */
    const char *code;
    size_t n_code;
    int failed;
};

/* ---- reporting ---- */

static char reason[1024];

#define NEED(cond)                                                           \
    do {                                                                     \
        if (!(cond)) {                                                       \
            snprintf(reason, sizeof reason, "line %d: %s", __LINE__, #cond); \
            return false;                                                    \
        }                                                                    \
    } while (0)
#define DONE(expr)                                                                            \
    do {                                                                                      \
        tnb_err err = {0};                                                                    \
        tnb_status st_ = (expr);                                                              \
        if (st_ != TNB_OK) {                                                                  \
            snprintf(reason, sizeof reason, "line %d: %s: %s", __LINE__, #expr, err.message); \
            return false;                                                                     \
        }                                                                                     \
    } while (0)
/* The call fails with a message. */
#define REFUSED(expr)                                                                              \
    do {                                                                                           \
        tnb_err err = {0};                                                                         \
        if ((expr) == TNB_OK || err.status == TNB_OK || !err.message[0]) {                         \
            snprintf(reason, sizeof reason, "line %d: %s is not refused with a message", __LINE__, \
                     #expr);                                                                       \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

/* ---- memory ---- */

static bool
up(struct suite *s, void *mem, uint64_t offset, const void *host, uint64_t n)
{
    tnr_copy c = {
        .kind = TNR_COPY_TO_DEVICE, .dst = mem, .dst_offset = offset, .src = host, .bytes = n};
    DONE(s->d->copy(s->dev, NULL, &c, &err));
    return true;
}

static bool
down(struct suite *s, const void *mem, uint64_t offset, void *host, uint64_t n)
{
    tnr_copy c = {
        .kind = TNR_COPY_TO_HOST, .dst = host, .src = mem, .src_offset = offset, .bytes = n};
    DONE(s->d->copy(s->dev, NULL, &c, &err));
    return true;
}

static bool
across(struct suite *s, void *to, uint64_t to_offset, const void *from, uint64_t from_offset,
       uint64_t n)
{
    tnr_copy c = {.kind = TNR_COPY_ON_DEVICE,
                  .dst = to,
                  .dst_offset = to_offset,
                  .src = from,
                  .src_offset = from_offset,
                  .bytes = n};
    DONE(s->d->copy(s->dev, NULL, &c, &err));
    return true;
}

static void
pattern(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((i * 31 + seed * 17) ^ (i >> 8));
}

static bool
memory_keeps_what_is_written(struct suite *s)
{
    static uint8_t out[100003], back[100003];
    void *mem;
    DONE(s->d->alloc(s->dev, sizeof out, "global", &mem, &err));
    NEED(mem != NULL);
    pattern(out, sizeof out, 1);
    NEED(up(s, mem, 0, out, sizeof out) && down(s, mem, 0, back, sizeof back));
    s->d->free(s->dev, mem);
    NEED(memcmp(out, back, sizeof out) == 0);
    return true;
}

static bool
allocations_are_apart_and_aligned(struct suite *s)
{
    enum { N = 50 };
    void *mem[N];
    uint8_t v;
    for (int i = 0; i < N; i++) {
        DONE(s->d->alloc(s->dev, (uint64_t)(i * 37 + 1), "global", &mem[i], &err));
        if (s->d->flags & TNR_DRIVER_HOST_MEMORY)
            NEED(s->d->alignment >= 64 && (uintptr_t)mem[i] % s->d->alignment == 0);
        v = (uint8_t)i;
        for (int k = 0; k < i * 37 + 1; k++)
            NEED(up(s, mem[i], (uint64_t)k, &v, 1));
    }
    for (int i = 0; i < N; i++) {
        NEED(down(s, mem[i], (uint64_t)(i * 37), &v, 1) && v == (uint8_t)i);
        NEED(down(s, mem[i], 0, &v, 1) && v == (uint8_t)i);
        s->d->free(s->dev, mem[i]);
    }
    return true;
}

static bool
no_bytes_are_no_error(struct suite *s)
{
    void *mem;
    uint8_t v = 7;
    DONE(s->d->alloc(s->dev, 0, "global", &mem, &err));
    NEED(up(s, mem, 0, &v, 0) && down(s, mem, 0, &v, 0) && across(s, mem, 0, mem, 0, 0));
    DONE(s->d->zero(s->dev, NULL, mem, 0, 0, &err));
    s->d->free(s->dev, mem);
    NEED(v == 7);
    return true;
}

static bool
copies_honour_offsets(struct suite *s)
{
    uint8_t out[256], back[256], want[256];
    void *a, *b;
    DONE(s->d->alloc(s->dev, 256, "global", &a, &err));
    DONE(s->d->alloc(s->dev, 256, "global", &b, &err));
    pattern(out, 256, 2);
    memset(want, 0, 256);
    DONE(s->d->zero(s->dev, NULL, b, 0, 256, &err));
    NEED(up(s, a, 0, out, 256) && across(s, b, 13, a, 101, 59) && down(s, b, 0, back, 256));
    memcpy(want + 13, out + 101, 59);
    NEED(memcmp(back, want, 256) == 0);
    NEED(up(s, b, 200, out, 3) && down(s, b, 201, back, 2) && memcmp(back, out + 1, 2) == 0);
    s->d->free(s->dev, a);
    s->d->free(s->dev, b);
    return true;
}

static bool
copies_may_overlap(struct suite *s)
{
    uint8_t out[300], back[300], want[300];
    void *a;
    DONE(s->d->alloc(s->dev, 300, "global", &a, &err));
    pattern(out, 300, 3);
    memcpy(want, out, 300);
    NEED(up(s, a, 0, out, 300) && across(s, a, 10, a, 0, 200));
    memmove(want + 10, want, 200);
    NEED(across(s, a, 0, a, 50, 200) && down(s, a, 0, back, 300));
    memmove(want, want + 50, 200);
    s->d->free(s->dev, a);
    NEED(memcmp(back, want, 300) == 0);
    return true;
}

static bool
zero_touches_its_range_only(struct suite *s)
{
    uint8_t out[64], back[64];
    void *a;
    DONE(s->d->alloc(s->dev, 64, "global", &a, &err));
    memset(out, 0xff, 64);
    NEED(up(s, a, 0, out, 64));
    DONE(s->d->zero(s->dev, NULL, a, 5, 17, &err));
    NEED(down(s, a, 0, back, 64));
    s->d->free(s->dev, a);
    memset(out + 5, 0, 17);
    NEED(memcmp(out, back, 64) == 0);
    return true;
}

static bool
too_much_memory_is_an_error(struct suite *s)
{
    void *mem;
    REFUSED(s->d->alloc(s->dev, (uint64_t)1 << 62, "global", &mem, &err));
    REFUSED(s->d->alloc(s->dev, UINT64_MAX, "global", &mem, &err));
    DONE(s->d->alloc(s->dev, 4096, "global", &mem, &err)); /* and does no harm */
    s->d->free(s->dev, mem);
    return true;
}

/* ---- the rest ---- */

static bool
describes_itself(struct suite *s)
{
    char text[200], tiny[4] = "xxx";
    int n = 0;
    memset(text, 'x', sizeof text);
    s->d->describe(s->dev, text, sizeof text);
    NEED(memchr(text, '\0', sizeof text) != NULL && text[0] != '\0');
    s->d->describe(s->dev, tiny, sizeof tiny);
    NEED(tiny[3] == '\0');
    NEED(s->d->base.doc && s->d->base.doc[0]);
    DONE(s->d->count(s->d->self, &n, &err));
    NEED(n >= 1);
    return true;
}

static bool
unknown_features_are_refused(struct suite *s)
{
    static const char *const odd[] = {"no-such-feature"};
    DONE(s->d->check_features(s->dev, NULL, 0, &err));
    REFUSED(s->d->check_features(s->dev, odd, 1, &err));
    return true;
}

static bool
sync_and_streams(struct suite *s)
{
    void *stream, *from, *to;
    double seconds = -1;
    DONE(s->d->sync(s->dev, NULL, &err));
    if (!s->d->stream_new)
        return true;
    NEED(s->d->stream_free);
    DONE(s->d->stream_new(s->dev, &stream, &err));
    DONE(s->d->sync(s->dev, stream, &err));
    if (s->d->event_new) {
        DONE(s->d->event_new(s->dev, &from, &err));
        DONE(s->d->event_new(s->dev, &to, &err));
        DONE(s->d->event_record(s->dev, from, stream, &err));
        DONE(s->d->event_record(s->dev, to, stream, &err));
        DONE(s->d->event_wait(s->dev, to, NULL, &err));
        DONE(s->d->sync(s->dev, stream, &err));
        DONE(s->d->event_seconds(s->dev, from, to, &seconds, &err));
        NEED(seconds >= 0);
        s->d->event_free(s->dev, from);
        s->d->event_free(s->dev, to);
    }
    s->d->stream_free(s->dev, stream);
    return true;
}

static bool
streams_are_ordered_by_events(struct suite *s)
{
    enum { BYTES = 1 << 16 };
    static uint8_t out[BYTES], back[BYTES];
    void *a, *b, *mem, *event;
    if (!s->d->stream_new || !s->d->event_new)
        return true;
    DONE(s->d->stream_new(s->dev, &a, &err));
    DONE(s->d->stream_new(s->dev, &b, &err));
    DONE(s->d->event_new(s->dev, &event, &err));
    DONE(s->d->event_wait(s->dev, event, a, &err)); /* never recorded: nothing is waited for */
    DONE(s->d->alloc(s->dev, 2 * BYTES, "global", &mem, &err));
    for (unsigned i = 0; i < 20; i++) {
        pattern(out, BYTES, i);
        tnr_copy up_ = {.kind = TNR_COPY_TO_DEVICE, .dst = mem, .src = out, .bytes = BYTES};
        tnr_copy over = {.kind = TNR_COPY_ON_DEVICE,
                         .dst = mem,
                         .dst_offset = BYTES,
                         .src = mem,
                         .bytes = BYTES};
        tnr_copy down_ = {
            .kind = TNR_COPY_TO_HOST, .dst = back, .src = mem, .src_offset = BYTES, .bytes = BYTES};
        DONE(s->d->copy(s->dev, a, &up_, &err));
        DONE(s->d->copy(s->dev, a, &over, &err));
        DONE(s->d->event_record(s->dev, event, a, &err));
        DONE(s->d->event_wait(s->dev, event, b, &err));
        DONE(s->d->copy(s->dev, b, &down_, &err));
        NEED(memcmp(out, back, BYTES) == 0);
    }
    s->d->event_free(s->dev, event);
    s->d->stream_free(s->dev, a);
    s->d->stream_free(s->dev, b);
    s->d->free(s->dev, mem);
    return true;
}

/* Between two devices, both ways: in the order of the stream that the copy is given. */
static bool
copies_between_devices(struct suite *s)
{
    enum { BYTES = 1 << 16, AT = 100 };
    static uint8_t out[BYTES], back[BYTES];
    void *devices[2] = {s->dev, s->other}, *stream = NULL;
    if (!s->d->peer_copy || !s->other)
        return true;
    for (int i = 0; i < 2; i++) {
        void *to = devices[i], *from = devices[!i], *dst, *src;
        if (!s->d->peer(to, from))
            continue;
        if (s->d->stream_new)
            DONE(s->d->stream_new(to, &stream, &err));
        DONE(s->d->alloc(to, BYTES + AT, "global", &dst, &err));
        DONE(s->d->alloc(from, BYTES, "global", &src, &err));
        for (unsigned turn = 0; turn < 5; turn++) {
            pattern(out, BYTES, turn);
            tnr_copy up_ = {.kind = TNR_COPY_TO_DEVICE, .dst = src, .src = out, .bytes = BYTES};
            tnr_copy over = {.kind = TNR_COPY_ON_DEVICE,
                             .dst = dst,
                             .dst_offset = AT,
                             .src = src,
                             .src_offset = 1,
                             .bytes = BYTES - 1};
            tnr_copy down_ = {.kind = TNR_COPY_TO_HOST,
                              .dst = back,
                              .src = dst,
                              .src_offset = AT - 1,
                              .bytes = BYTES};
            DONE(s->d->copy(from, NULL, &up_, &err));
            DONE(s->d->zero(to, stream, dst, 0, BYTES + AT, &err));
            DONE(s->d->peer_copy(to, stream, from, &over, &err));
            DONE(s->d->copy(to, stream, &down_, &err));
            NEED(back[0] == 0 && memcmp(out + 1, back + 1, BYTES - 1) == 0);
            over.bytes = 0;
            DONE(s->d->peer_copy(to, stream, from, &over, &err));
        }
        DONE(s->d->sync(to, stream, &err));
        s->d->free(to, dst);
        s->d->free(from, src);
        if (s->d->stream_new)
            s->d->stream_free(to, stream);
        stream = NULL;
    }
    return true;
}

/* Copies that are not waited for, and how the host learns of their end. */
static bool
copies_go_on(struct suite *s)
{
    enum { BYTES = 1 << 16 };
    uint8_t *host[2];
    void *mem, *event;
    bool done = false;
    if (!s->d->event_done || !s->d->copy_start)
        return true;
    for (int i = 0; i < 2; i++) {
        void *p = NULL;
        if (s->d->pinned_alloc)
            DONE(s->d->pinned_alloc(s->dev, BYTES, &p, &err));
        else
            p = malloc(BYTES);
        NEED(p);
        host[i] = p;
    }
    DONE(s->d->event_new(s->dev, &event, &err));
    DONE(s->d->event_done(s->dev, event, &done, &err));
    NEED(done); /* nothing was recorded */
    DONE(s->d->event_sync(s->dev, event, &err));
    DONE(s->d->alloc(s->dev, BYTES, "global", &mem, &err));
    for (unsigned i = 0; i < 6; i++) {
        pattern(host[0], BYTES, i);
        memset(host[1], 0, BYTES);
        tnr_copy c = {.kind = TNR_COPY_TO_DEVICE, .dst = mem, .src = host[0], .bytes = BYTES};
        DONE(s->d->copy_start(s->dev, NULL, &c, &err));
        c = (tnr_copy){.kind = TNR_COPY_TO_HOST, .dst = host[1], .src = mem, .bytes = BYTES};
        DONE(s->d->copy_start(s->dev, NULL, &c, &err));
        DONE(s->d->event_record(s->dev, event, NULL, &err));
        done = false;
        while (i % 2 && !done)
            DONE(s->d->event_done(s->dev, event, &done, &err));
        if (!done)
            DONE(s->d->event_sync(s->dev, event, &err));
        DONE(s->d->event_done(s->dev, event, &done, &err));
        NEED(done && memcmp(host[0], host[1], BYTES) == 0);
    }
    for (int i = 0; i < 2; i++)
        if (s->d->pinned_alloc)
            s->d->pinned_free(s->dev, host[i]);
        else
            free(host[i]);
    s->d->event_free(s->dev, event);
    s->d->free(s->dev, mem);
    return true;
}

static bool
memory_comes_in_the_order_of_its_stream(struct suite *s)
{
    uint8_t out[4096], back[4096];
    void *stream, *mem;
    if (!s->d->alloc_ordered)
        return true;
    DONE(s->d->stream_new(s->dev, &stream, &err));
    for (unsigned i = 0; i < 10; i++) {
        pattern(out, sizeof out, i);
        DONE(s->d->alloc_ordered(s->dev, stream, sizeof out, "global", &mem, &err));
        tnr_copy c = {.kind = TNR_COPY_TO_DEVICE, .dst = mem, .src = out, .bytes = sizeof out};
        DONE(s->d->copy(s->dev, stream, &c, &err));
        c = (tnr_copy){.kind = TNR_COPY_TO_HOST, .dst = back, .src = mem, .bytes = sizeof back};
        DONE(s->d->copy(s->dev, stream, &c, &err));
        DONE(s->d->free_ordered(s->dev, stream, mem, &err));
        NEED(memcmp(out, back, sizeof out) == 0);
    }
    REFUSED(s->d->alloc_ordered(s->dev, stream, UINT64_MAX, "global", &mem, &err));
    DONE(s->d->alloc_ordered(s->dev, stream, 64, "global", &mem, &err));
    s->d->free(s->dev, mem);
    s->d->stream_free(s->dev, stream);
    return true;
}

static bool
graphs_are_replayed(struct suite *s)
{
    uint8_t out[256], back[256];
    void *stream, *mem, *graph[2] = {NULL}, *none = NULL;
    if (!s->d->graph_begin)
        return true;
    DONE(s->d->stream_new(s->dev, &stream, &err));
    DONE(s->d->alloc(s->dev, 3 * 256, "global", &mem, &err));
    for (unsigned i = 0; i < 2; i++) { /* copies the first part to the second, or to the third */
        tnr_copy c = {.kind = TNR_COPY_ON_DEVICE,
                      .dst = mem,
                      .dst_offset = 256 * (i + 1),
                      .src = mem,
                      .bytes = 256};
        DONE(s->d->graph_begin(s->dev, stream, &err));
        DONE(s->d->copy(s->dev, stream, &c, &err));
        DONE(s->d->graph_end(s->dev, stream, &graph[i], &err));
    }
    DONE(s->d->zero(s->dev, stream, mem, 0, 3 * 256, &err));
    for (unsigned i = 0; i < 6; i++) {
        if (i == 3) {
            DONE(s->d->graph_update(s->dev, graph[0], graph[1], &err));
            s->d->graph_free(s->dev, graph[1]);
        }
        pattern(out, sizeof out, i + 1);
        tnr_copy c = {.kind = TNR_COPY_TO_DEVICE, .dst = mem, .src = out, .bytes = sizeof out};
        DONE(s->d->copy(s->dev, stream, &c, &err));
        DONE(s->d->graph_launch(s->dev, stream, graph[0], &err));
        c = (tnr_copy){.kind = TNR_COPY_TO_HOST,
                       .dst = back,
                       .src = mem,
                       .src_offset = i < 3 ? 256 : 512,
                       .bytes = sizeof back};
        DONE(s->d->copy(s->dev, stream, &c, &err));
        NEED(memcmp(out, back, sizeof out) == 0);
    }
    DONE(s->d->graph_begin(s->dev, stream, &err));
    REFUSED(s->d->sync(s->dev, stream, &err)); /* a wait cannot be captured */
    REFUSED(s->d->graph_end(s->dev, stream, &none, &err));
    DONE(s->d->sync(s->dev, stream, &err));
    s->d->graph_free(s->dev, graph[0]);
    s->d->free(s->dev, mem);
    s->d->stream_free(s->dev, stream);
    return true;
}

static bool
garbage_is_no_module(struct suite *s)
{
    char junk[2048];
    void *module = NULL;
    if (!s->d->formats)
        return true;
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
    if (!s->code)
        return true;
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
    if (!s->code)
        return true;
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
    if (!s->code)
        return true;
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

static const struct check {
    const char *name;
    bool (*run)(struct suite *s);
} checks[] = {
#define CHECK(f) \
    {            \
#f, f    \
    }
    CHECK(describes_itself),
    CHECK(memory_keeps_what_is_written),
    CHECK(allocations_are_apart_and_aligned),
    CHECK(no_bytes_are_no_error),
    CHECK(copies_honour_offsets),
    CHECK(copies_may_overlap),
    CHECK(zero_touches_its_range_only),
    CHECK(too_much_memory_is_an_error),
    CHECK(unknown_features_are_refused),
    CHECK(sync_and_streams),
    CHECK(streams_are_ordered_by_events),
    CHECK(copies_between_devices),
    CHECK(copies_go_on),
    CHECK(memory_comes_in_the_order_of_its_stream),
    CHECK(graphs_are_replayed),
    CHECK(garbage_is_no_module),
    CHECK(truncated_modules_are_refused),
    CHECK(launches_compute),
    CHECK(parameters_that_it_does_not_take_are_refused),
};

static int
run_all(struct suite *s)
{
    int n = (int)(sizeof checks / sizeof *checks);
    for (int i = 0; i < n; i++) {
        bool ok = checks[i].run(s);
        printf("%s %d - %s\n", ok ? "ok" : "not ok", i + 1, checks[i].name);
        if (!ok)
            printf("# %s\n", reason);
        s->failed += !ok;
    }
    printf("# %s: %d checks, %d failed%s\n", s->d->base.name, n, s->failed,
           s->code ? "" : ", launches not checked (no module given)");
    return s->failed ? 1 : 0;
}

int
main(int argc, char **argv)
{
    struct suite s = {0};
    tnb_err err = {0};
    const char *file = NULL;
    int id = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: %s DRIVER [ID] [--module FORMAT FILE]\n", argv[0]);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--module") == 0 && i + 2 < argc) {
            s.format = argv[++i];
            file = argv[++i];
        } else {
            id = atoi(argv[i]);
        }
    }
    char *code = NULL;
    tnb_plugins *plugins = NULL;
    tnb_diags *diags = tnb_diags_new();
    tnb_conf *conf = diags ? tnb_conf_load(NULL, diags) : NULL;
    tnr_runtime *rt = NULL;
    tnr_device *dev = NULL, *other = NULL;
    tnr_runtime_options opt = {.conf = conf};
    tnb_status st = conf ? tnb_plugins_open(conf, NULL, &plugins, &err)
                         : tnb_fail(&err, TNB_FORMAT, "bad configuration");
    opt.plugins = plugins;
    if (st == TNB_OK && file)
        st = tnb_read_file(file, 0, &code, &s.n_code, &err);
    s.code = code;
    if (st == TNB_OK)
        st = tnr_runtime_new(&opt, &rt, &err);
    if (st == TNB_OK)
        st = tnr_device_open(rt, argv[1], id, &dev, &err);
    int rc = st == TNB_DEVICE ? 77 : 1;
    if (st == TNB_OK) {
        s.d = tnr_device_driver(dev);
        s.dev = tnr_device_handle(dev);
        if (tnr_device_open(rt, argv[1], id ? 0 : 1, &other, NULL) == TNB_OK)
            s.other = tnr_device_handle(other);
        rc = run_all(&s);
    } else {
        fprintf(stderr, "%s\n", err.message);
    }
    tnr_runtime_free(rt);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    tnb_diags_free(diags);
    free(code);
    return rc;
}
