/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: streams and events are the driver's. Streams are listed so that all can be waited for but those
 * that capture, which a wait for the whole context would spoil.
 */
#include "device.h"

#include <stdlib.h>

tnb_status
cuda_not_captured(struct cuda_stream *s, const char *what, tnb_err *err)
{
    if (!atomic_load(&s->capturing))
        return TNB_OK;
    atomic_store(&s->spoilt, true);
    return tnb_fail(err, TNB_INVALID, "%s cannot be captured into a graph", what);
}

static tnb_status
wait(struct cuda_device *d, struct cuda_stream *s, tnb_err *err)
{
    CUresult r = d->api->StreamSynchronize(s->handle);
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, "cuStreamSynchronize", err,
                                         "waiting for the work of device '%s'", d->info.name);
}

tnb_status
cuda_wait_all(struct cuda_device *d, tnb_err *err)
{
    tnb_status st = TNB_OK;
    pthread_mutex_lock(&d->lock);
    for (struct cuda_stream *s = &d->own; s && st == TNB_OK; s = s->next)
        if (!atomic_load(&s->capturing))
            st = wait(d, s, err);
    pthread_mutex_unlock(&d->lock);
    return st;
}

tnb_status
cuda_sync(void *dev, void *stream, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_stream *s = cuda_stream_of(d, stream);
    TNB_TRY(cuda_not_captured(s, "a wait", err));
    TNB_TRY(cuda_enter(d, err));
    tnb_status st = wait(d, s, err);
    cuda_leave(d);
    return st;
}

tnb_status
cuda_stream_new(void *dev, void **stream, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_stream *s = calloc(1, sizeof *s);
    if (!s)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a stream");
    tnb_status st = cuda_enter(d, err);
    if (st == TNB_OK) {
        CUresult r = d->api->StreamCreate(&s->handle, CU_STREAM_NON_BLOCKING);
        if (r != CUDA_SUCCESS)
            st = cuda_fail(d, d->api, r, "cuStreamCreate", err, "making a stream of device '%s'",
                           d->info.name);
        cuda_leave(d);
    }
    if (st != TNB_OK) {
        free(s);
        return st;
    }
    pthread_mutex_lock(&d->lock);
    s->next = d->own.next;
    d->own.next = s;
    pthread_mutex_unlock(&d->lock);
    *stream = s;
    return TNB_OK;
}

void
cuda_stream_free(void *dev, void *stream)
{
    struct cuda_device *d = dev;
    struct cuda_stream *s = stream;
    if (!s)
        return;
    pthread_mutex_lock(&d->lock);
    struct cuda_stream **at = &d->own.next;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    pthread_mutex_unlock(&d->lock);
    if (cuda_enter(d, NULL) == TNB_OK) {
        (void)d->api->StreamDestroy(s->handle); /* its work goes on */
        cuda_leave(d);
    }
    free(s);
}

/* ---- events: handles are the driver's own ---- */

tnb_status
cuda_event_new(void *dev, void **event, tnb_err *err)
{
    struct cuda_device *d = dev;
    CUevent e = NULL;
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->EventCreate(&e, 0);
    cuda_leave(d);
    *event = e;
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, "cuEventCreate", err,
                                         "making an event of device '%s'", d->info.name);
}

void
cuda_event_free(void *dev, void *event)
{
    struct cuda_device *d = dev;
    if (!event || cuda_enter(d, NULL) != TNB_OK)
        return;
    (void)d->api->EventDestroy(event);
    cuda_leave(d);
}

tnb_status
cuda_event_record(void *dev, void *event, void *stream, tnb_err *err)
{
    struct cuda_device *d = dev;
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->EventRecord(event, cuda_stream_of(d, stream)->handle);
    cuda_leave(d);
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, "cuEventRecord", err, "recording an event");
}

tnb_status
cuda_event_wait(void *dev, void *event, void *stream, tnb_err *err)
{
    struct cuda_device *d = dev;
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->StreamWaitEvent(cuda_stream_of(d, stream)->handle, event, 0);
    cuda_leave(d);
    return r == CUDA_SUCCESS
               ? TNB_OK
               : cuda_fail(d, d->api, r, "cuStreamWaitEvent", err, "waiting for an event");
}

tnb_status
cuda_event_done(void *dev, void *event, bool *done, tnb_err *err)
{
    struct cuda_device *d = dev;
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->EventQuery(event);
    cuda_leave(d);
    *done = r == CUDA_SUCCESS;
    return r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY
               ? TNB_OK
               : cuda_fail(d, d->api, r, "cuEventQuery", err, "asking for an event");
}

tnb_status
cuda_event_sync(void *dev, void *event, tnb_err *err)
{
    struct cuda_device *d = dev;
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->EventSynchronize(event);
    cuda_leave(d);
    return r == CUDA_SUCCESS
               ? TNB_OK
               : cuda_fail(d, d->api, r, "cuEventSynchronize", err, "waiting for an event");
}

tnb_status
cuda_event_seconds(void *dev, void *from, void *to, double *seconds, tnb_err *err)
{
    struct cuda_device *d = dev;
    float ms = 0;
    const char *call = "cuEventSynchronize";
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->EventSynchronize(from);
    if (r == CUDA_SUCCESS)
        r = d->api->EventSynchronize(to);
    if (r == CUDA_SUCCESS) {
        call = "cuEventElapsedTime";
        r = d->api->EventElapsedTime(&ms, from, to);
    }
    cuda_leave(d);
    *seconds = 1e-3 * (double)ms;
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, call, err, "asking for the time of events");
}
