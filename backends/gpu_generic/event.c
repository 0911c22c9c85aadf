/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: events are values of streams, with a timestamp where times are taken. */
#include "device.h"

#include <stdlib.h>

enum { QUERIES = 64 };
/* Timestamps, an event one. */
struct gpu_generic_queries {
    struct gpu_generic_queries *next;
    VkQueryPool pool;
    uint64_t taken; /* a bit each */
};

struct event {
    struct gpu_generic_use at; /* stream NULL: not recorded yet */
    struct gpu_generic_queries *queries;
    uint32_t query;
    bool timed;        /* the last record wrote it */
    uint64_t barriers; /* of the stream, when it was recorded */
};

tnb_status
gpu_generic_event_new(void *dev, void **event, tnb_err *err)
{
    (void)dev;
    *event = calloc(1, sizeof(struct event));
    return *event ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory for an event");
}

void
gpu_generic_event_free(void *dev, void *event)
{
    struct gpu_generic_device *d = dev;
    struct event *ev = event;
    if (!ev)
        return;
    pthread_mutex_lock(&d->lock);
    if (ev->queries) /* whoever takes it next writes it behind what is queued */
        ev->queries->taken &= ~(UINT64_C(1) << ev->query);
    pthread_mutex_unlock(&d->lock);
    free(ev);
}

static tnb_status
take_query(struct gpu_generic_device *d, struct event *ev, tnb_err *err)
{
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = QUERIES};
    struct gpu_generic_queries *q = d->queries;
    while (q && q->taken == UINT64_MAX)
        q = q->next;
    if (!q) {
        q = calloc(1, sizeof *q);
        if (!q)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for timestamps");
        VkResult r = d->vk.CreateQueryPool(d->handle, &info, NULL, &q->pool);
        if (r != VK_SUCCESS) {
            free(q);
            return gpu_generic_fail(d, r, "vkCreateQueryPool", err, "recording an event");
        }
        q->next = d->queries;
        d->queries = q;
    }
    ev->query = (uint32_t)__builtin_ctzll(~q->taken);
    q->taken |= UINT64_C(1) << ev->query;
    ev->queries = q;
    return TNB_OK;
}

static tnb_status
stamp(struct gpu_generic_stream *s, struct event *ev, tnb_err *err)
{
    struct gpu_generic_device *d = s->device;
    if (!ev->queries)
        TNB_TRY(take_query(d, ev, err));
    TNB_TRY(gpu_generic_batch_open(s, err));
    d->vk.CmdResetQueryPool(s->open->commands, ev->queries->pool, ev->query, 1);
    d->vk.CmdWriteTimestamp(s->open->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                            ev->queries->pool, ev->query);
    ev->timed = true;
    return TNB_OK;
}

tnb_status
gpu_generic_event_record(void *dev, void *event, void *stream, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    struct gpu_generic_stream *s = gpu_generic_stream_of(d, stream);
    struct event *ev = event;
    tnb_status st = TNB_OK;
    TNB_TRY(gpu_generic_alive(d, err));
    pthread_mutex_lock(&d->lock);
    /* a query that another queue may still write is left to it */
    ev->timed = false;
    if (d->set.profiling &&
        (!ev->at.stream || !gpu_generic_used(&ev->at) || ev->at.stream->queue == s->queue))
        st = stamp(s, ev, err);
    if (st == TNB_OK && s->follows) /* what the stream waited for is part of the value */
        st = gpu_generic_batch_open(s, err);
    uint64_t value = gpu_generic_last(s);
    if (st == TNB_OK)
        st = gpu_generic_flush(s, err); /* or who waits for it waits for ever */
    if (st == TNB_OK) {
        ev->at = (struct gpu_generic_use){s, value};
        ev->barriers = s->hazards.barriers;
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}

/* Streams of one queue come one behind the other, if a barrier stands between accesses that conflict; others wait for the value.
 * What is done needs neither (hazard.c). */
static tnb_status
wait_for(struct gpu_generic_stream *s, const struct event *ev, tnb_err *err)
{
    struct gpu_generic_stream *other = ev->at.stream;
    uint32_t i = 0;
    if (!other || other == s || !gpu_generic_used(&ev->at))
        return TNB_OK;
    s->follows = true;
    gpu_generic_check_wait(s->device->check, s->number, other->number, ev->at.value,
                           other->queue == s->queue);
    if (other->queue == s->queue) {
        gpu_generic_hazards_follow(&s->hazards, &other->hazards, ev->barriers);
        return TNB_OK;
    }
    if (s->open && s->open->n)
        TNB_TRY(gpu_generic_flush(s, err));
    while (i < s->n_waits && s->waits[i].stream != other)
        i++;
    if (i == GPU_GENERIC_WAITS)
        return gpu_generic_reach(other, ev->at.value, err);
    if (i == s->n_waits)
        s->waits[s->n_waits++] = ev->at;
    if (s->waits[i].value < ev->at.value)
        s->waits[i].value = ev->at.value;
    return TNB_OK;
}

tnb_status
gpu_generic_event_wait(void *dev, void *event, void *stream, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    TNB_TRY(gpu_generic_alive(d, err));
    pthread_mutex_lock(&d->lock);
    tnb_status st = wait_for(gpu_generic_stream_of(d, stream), event, err);
    pthread_mutex_unlock(&d->lock);
    return st;
}

tnb_status
gpu_generic_event_done(void *dev, void *event, bool *done, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    const struct event *ev = event;
    TNB_TRY(gpu_generic_alive(d, err));
    pthread_mutex_lock(&d->lock);
    tnb_status st = ev->at.stream ? gpu_generic_progress(ev->at.stream, err) : TNB_OK;
    *done = st == TNB_OK && (!ev->at.stream || !gpu_generic_used(&ev->at));
    if (*done)
        st = gpu_generic_pinned_visible(d, err);
    pthread_mutex_unlock(&d->lock);
    return st;
}

static tnb_status
settle(struct gpu_generic_device *d, const struct event *ev, tnb_err *err)
{
    TNB_TRY(gpu_generic_alive(d, err));
    if (!ev->at.stream)
        return TNB_OK;
    ev->at.stream->since = 0;
    return gpu_generic_reach(ev->at.stream, ev->at.value, err);
}

tnb_status
gpu_generic_event_sync(void *dev, void *event, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    pthread_mutex_lock(&d->lock);
    tnb_status st = settle(d, event, err);
    if (st == TNB_OK)
        st = gpu_generic_pinned_visible(d, err);
    pthread_mutex_unlock(&d->lock);
    return st;
}

static tnb_status
time_of(struct gpu_generic_device *d, const struct event *ev, uint64_t *ticks, tnb_err *err)
{
    if (!ev->at.stream)
        return tnb_fail(err, TNB_INVALID, "the event was not recorded");
    if (!ev->timed) {
        (void)tnb_fail(err, TNB_UNSUPPORTED, "times are not taken on this queue");
        tnb_hint(err, "leave out 'profiling = no' of [device gpu_generic]");
        return TNB_UNSUPPORTED;
    }
    TNB_TRY(settle(d, ev, err));
    VkResult r =
        d->vk.GetQueryPoolResults(d->handle, ev->queries->pool, ev->query, 1, sizeof *ticks, ticks,
                                  sizeof *ticks, VK_QUERY_RESULT_64_BIT);
    if (r != VK_SUCCESS)
        return gpu_generic_fail(d, r, "vkGetQueryPoolResults", err,
                                "asking for the time of an event");
    if (d->info.timestamp_bits < 64)
        *ticks &= (UINT64_C(1) << d->info.timestamp_bits) - 1;
    return TNB_OK;
}

tnb_status
gpu_generic_event_seconds(void *dev, void *from, void *to, double *seconds, tnb_err *err)
{
    struct gpu_generic_device *d = dev;
    uint64_t start = 0, end = 0;
    pthread_mutex_lock(&d->lock);
    tnb_status st = time_of(d, from, &start, err);
    if (st == TNB_OK)
        st = time_of(d, to, &end, err);
    pthread_mutex_unlock(&d->lock);
    double ticks = end >= start ? (double)(end - start) : -(double)(start - end);
    if (st == TNB_OK)
        *seconds = 1e-9 * (double)d->info.props.limits.timestampPeriod * ticks;
    return st;
}

void
gpu_generic_events_end(struct gpu_generic_device *d)
{
    while (d->queries) {
        struct gpu_generic_queries *next = d->queries->next;
        d->vk.DestroyQueryPool(d->handle, d->queries->pool, NULL);
        free(d->queries);
        d->queries = next;
    }
}
