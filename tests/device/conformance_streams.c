/* SPDX-License-Identifier: Apache-2.0 */
/* The device conformance suite: work that is queued - streams, events, copies that go on, memory in stream order, graphs. */
#include "conformance.h"

#include <math.h>

tnb_status
stream_new(struct suite *s, void **stream, tnb_err *err)
{
    *stream = NULL;
    return s->d->stream_new ? s->d->stream_new(s->dev, stream, err) : TNB_OK;
}

void
stream_free(struct suite *s, void *stream)
{
    if (s->d->stream_new)
        s->d->stream_free(s->dev, stream);
}

static const char no_streams[] = "the driver has no streams",
                  no_events[] = "the driver has no events",
                  no_ordered[] = "the driver has no memory in stream order (alloc_ordered)";

static bool
waiting_for_nothing_is_no_error(struct suite *s)
{
    void *stream;
    DONE(s->d->sync(s->dev, NULL, &err));
    DONE(stream_new(s, &stream, &err));
    DONE(s->d->sync(s->dev, stream, &err));
    stream_free(s, stream);
    return true;
}

static bool
events_tell_the_time(struct suite *s)
{
    void *stream, *from, *to;
    double seconds = -1;
    SKIP_UNLESS(s->d->event_new, no_events);
    DONE(stream_new(s, &stream, &err));
    DONE(s->d->event_new(s->dev, &from, &err));
    DONE(s->d->event_new(s->dev, &to, &err));
    DONE(s->d->event_record(s->dev, from, stream, &err));
    DONE(s->d->event_record(s->dev, to, stream, &err));
    DONE(s->d->event_wait(s->dev, to, NULL, &err));
    DONE(s->d->sync(s->dev, stream, &err));
    DONE(s->d->event_seconds(s->dev, from, to, &seconds, &err));
    NEED(seconds >= 0 && isfinite(seconds));
    s->d->event_free(s->dev, from);
    s->d->event_free(s->dev, to);
    stream_free(s, stream);
    return true;
}

/* Copies of `from` to `to`, queued and not waited for: enough that the first has not ended when the last is queued, if the device is
 * late at all. */
static bool
queue_copies(struct suite *s, void *stream, void *to, void *from, uint64_t bytes)
{
    tnr_copy c = copy_of(TNR_COPY_ON_DEVICE, to, from, bytes);
    for (int i = 0; i < 16; i++)
        DONE(s->d->copy(s->dev, stream, &c, &err));
    return true;
}

static bool
work_of_a_freed_stream_is_done(struct suite *s)
{
    enum { BYTES = 1 << 20 };
    static uint8_t out[BYTES], back[BYTES];
    void *stream, *event, *mem[2];
    SKIP_UNLESS(s->d->stream_new, no_streams);
    SKIP_UNLESS(s->d->event_new, no_events);
    for (int i = 0; i < 2; i++)
        DONE(s->d->alloc(s->dev, BYTES, "global", &mem[i], &err));
    pattern(out, BYTES, 5);
    DONE(s->d->stream_new(s->dev, &stream, &err));
    DONE(s->d->event_new(s->dev, &event, &err));
    tnr_copy c = copy_of(TNR_COPY_TO_DEVICE, mem[0], out, BYTES);
    DONE(s->d->copy(s->dev, stream, &c, &err));
    NEED(queue_copies(s, stream, mem[1], mem[0], BYTES));
    DONE(s->d->event_record(s->dev, event, stream, &err));
    s->d->stream_free(s->dev, stream);
    DONE(s->d->event_wait(s->dev, event, NULL, &err));
    s->d->event_free(s->dev, event); /* which the queued wait does not mind */
    NEED(down(s, mem[1], 0, back, BYTES));
    NEED(memcmp(out, back, BYTES) == 0);
    s->d->free(s->dev, mem[0]);
    s->d->free(s->dev, mem[1]);
    return true;
}

static bool
streams_are_ordered_by_events(struct suite *s)
{
    enum { BYTES = 1 << 16 };
    static uint8_t out[BYTES], back[BYTES];
    void *a, *b, *mem, *event;
    SKIP_UNLESS(s->d->stream_new, no_streams);
    SKIP_UNLESS(s->d->event_new, no_events);
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

/* Memory is freed that queued work still reads; then other memory is written, which may be the same if it was given out too soon. */
static bool
freed_too_soon(struct suite *s, bool in_order)
{
    enum { BYTES = 1 << 20 };
    static uint8_t out[BYTES], other[BYTES], back[BYTES];
    void *stream, *from, *to, *next;
    DONE(stream_new(s, &stream, &err));
    for (unsigned i = 0; i < 4; i++) {
        pattern(out, BYTES, i);
        pattern(other, BYTES, i + 100);
        if (in_order)
            DONE(s->d->alloc_ordered(s->dev, stream, BYTES, "global", &from, &err));
        else
            DONE(s->d->alloc(s->dev, BYTES, "global", &from, &err));
        DONE(s->d->alloc(s->dev, BYTES, "global", &to, &err));
        tnr_copy c = copy_of(TNR_COPY_TO_DEVICE, from, out, BYTES);
        DONE(s->d->copy(s->dev, stream, &c, &err));
        NEED(queue_copies(s, stream, to, from, BYTES));
        if (in_order)
            DONE(s->d->free_ordered(s->dev, stream, from, &err));
        else
            s->d->free(s->dev, from);
        DONE(s->d->alloc(s->dev, BYTES, "global", &next, &err));
        NEED(up(s, next, 0, other, BYTES));
        c = copy_of(TNR_COPY_TO_HOST, back, to, BYTES);
        DONE(s->d->copy(s->dev, stream, &c, &err));
        NEED(memcmp(out, back, BYTES) == 0);
        NEED(down(s, next, 0, back, BYTES));
        NEED(memcmp(other, back, BYTES) == 0);
        s->d->free(s->dev, to);
        s->d->free(s->dev, next);
    }
    stream_free(s, stream);
    return true;
}

static bool
freed_memory_stays_for_queued_work(struct suite *s)
{
    return freed_too_soon(s, false);
}

static bool
copies_between_devices(struct suite *s)
{
    enum { BYTES = 1 << 16, AT = 100 };
    static uint8_t out[BYTES], back[BYTES];
    void *devices[2] = {s->dev, s->other}, *stream = NULL;
    bool tried = false;
    SKIP_UNLESS(s->d->peer_copy, "the driver copies nothing between devices");
    SKIP_UNLESS(s->other, "there is no second device");
    for (int i = 0; i < 2; i++) {
        void *to = devices[i], *from = devices[!i], *dst, *src;
        if (!s->d->peer(to, from))
            continue;
        tried = true;
        if (s->d->stream_new)
            DONE(s->d->stream_new(to, &stream, &err));
        DONE(s->d->alloc(to, BYTES + AT, "global", &dst, &err));
        DONE(s->d->alloc(from, BYTES, "global", &src, &err));
        for (unsigned round = 0; round < 5; round++) {
            pattern(out, BYTES, round);
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
    SKIP_UNLESS(tried, "the devices do not reach each other's memory");
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
    SKIP_UNLESS(s->d->copy_start, "the driver has no copy_start");
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
waiting_for_a_stream_is_waiting_for_its_copies(struct suite *s)
{
    enum { BYTES = 1 << 16 };
    static uint8_t out[BYTES], back[BYTES];
    void *stream, *mem;
    SKIP_UNLESS(s->d->copy_start, "the driver has no copy_start");
    DONE(stream_new(s, &stream, &err));
    DONE(s->d->alloc(s->dev, BYTES, "global", &mem, &err));
    for (unsigned i = 0; i < 4; i++) {
        void *in = i % 2 ? stream : NULL;
        pattern(out, BYTES, i);
        memset(back, 0, BYTES);
        tnr_copy c = copy_of(TNR_COPY_TO_DEVICE, mem, out, BYTES);
        DONE(s->d->copy_start(s->dev, in, &c, &err));
        c = copy_of(TNR_COPY_TO_HOST, back, mem, BYTES);
        DONE(s->d->copy_start(s->dev, in, &c, &err));
        DONE(s->d->sync(s->dev, in, &err));
        NEED(memcmp(out, back, BYTES) == 0);
    }
    s->d->free(s->dev, mem);
    stream_free(s, stream);
    return true;
}

static bool
memory_comes_in_the_order_of_its_stream(struct suite *s)
{
    uint8_t out[4096], back[4096];
    void *stream, *mem;
    SKIP_UNLESS(s->d->alloc_ordered, no_ordered);
    DONE(stream_new(s, &stream, &err));
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
    stream_free(s, stream);
    return true;
}

static bool
memory_freed_in_order_stays_for_queued_work(struct suite *s)
{
    SKIP_UNLESS(s->d->alloc_ordered, no_ordered);
    return freed_too_soon(s, true);
}

static bool
graphs_are_replayed(struct suite *s)
{
    uint8_t out[256], back[256];
    void *stream, *mem, *graph[2] = {NULL}, *none = NULL;
    SKIP_UNLESS(s->d->graph_begin, "the driver has no graphs");
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

const struct check stream_checks[] = {
    CHECK(waiting_for_nothing_is_no_error),
    CHECK(freed_memory_stays_for_queued_work),
    CHECK(work_of_a_freed_stream_is_done),
    CHECK(events_tell_the_time),
    CHECK(streams_are_ordered_by_events),
    CHECK(copies_between_devices),
    CHECK(copies_go_on),
    CHECK(waiting_for_a_stream_is_waiting_for_its_copies),
    CHECK(memory_comes_in_the_order_of_its_stream),
    CHECK(memory_freed_in_order_stays_for_queued_work),
    CHECK(graphs_are_replayed),
    {0},
};
