/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: streams are queues in order, events are markers in them. */
#include "device.h"

#include <stdlib.h>

tnb_status
opencl_queue_new(struct opencl_device *d, cl_command_queue *out, tnb_err *err)
{
    cl_int e;
    *out = clCreateCommandQueue(d->context, d->id, d->properties, &e);
    return e == CL_SUCCESS ? TNB_OK
                           : opencl_fail(d, e, err, "making a queue of device '%s'", d->info.name);
}

tnb_status
opencl_sync(void *dev, void *stream, tnb_err *err)
{
    struct opencl_device *d = dev;
    TNB_TRY(opencl_alive(d, err));
    cl_int e = clFinish(opencl_queue(d, stream));
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(d, e, err, "waiting for the device's work");
}

tnb_status
opencl_stream_new(void *dev, void **stream, tnb_err *err)
{
    struct opencl_device *d = dev;
    cl_command_queue q;
    TNB_TRY(opencl_alive(d, err));
    TNB_TRY(opencl_queue_new(d, &q, err));
    *stream = q;
    return TNB_OK;
}

void
opencl_stream_free(void *dev, void *stream)
{
    (void)dev;
    if (stream)
        (void)clReleaseCommandQueue(stream); /* its work goes on */
}

/* ---- events ---- */

struct opencl_event {
    cl_event marker; /* of the last record; NULL: none yet */
};

tnb_status
opencl_event_new(void *dev, void **event, tnb_err *err)
{
    (void)dev;
    *event = calloc(1, sizeof(struct opencl_event));
    return *event ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory for an event");
}

void
opencl_event_free(void *dev, void *event)
{
    struct opencl_event *ev = event;
    (void)dev;
    if (ev && ev->marker)
        (void)clReleaseEvent(ev->marker);
    free(ev);
}

tnb_status
opencl_event_record(void *dev, void *event, void *stream, tnb_err *err)
{
    struct opencl_device *d = dev;
    struct opencl_event *ev = event;
    cl_event marker = NULL;
    TNB_TRY(opencl_alive(d, err));
    cl_int e = clEnqueueMarkerWithWaitList(opencl_queue(d, stream), 0, NULL, &marker);
    if (e == CL_SUCCESS)
        e = clFlush(opencl_queue(d, stream)); /* or who waits for it waits for ever */
    if (e != CL_SUCCESS) {
        if (marker)
            (void)clReleaseEvent(marker);
        return opencl_fail(d, e, err, "recording an event");
    }
    if (ev->marker)
        (void)clReleaseEvent(ev->marker);
    ev->marker = marker;
    return TNB_OK;
}

/* Nothing was recorded: nothing is waited for. */
tnb_status
opencl_event_wait(void *dev, void *event, void *stream, tnb_err *err)
{
    struct opencl_device *d = dev;
    const struct opencl_event *ev = event;
    TNB_TRY(opencl_alive(d, err));
    if (!ev->marker)
        return TNB_OK;
    cl_int e = clEnqueueBarrierWithWaitList(opencl_queue(d, stream), 1, &ev->marker, NULL);
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(d, e, err, "waiting for an event");
}

tnb_status
opencl_event_done(void *dev, void *event, bool *done, tnb_err *err)
{
    struct opencl_device *d = dev;
    const struct opencl_event *ev = event;
    cl_int status = CL_COMPLETE;
    TNB_TRY(opencl_alive(d, err));
    cl_int e = ev->marker ? clGetEventInfo(ev->marker, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                           sizeof status, &status, NULL)
                          : CL_SUCCESS;
    if (e == CL_SUCCESS && status < 0)
        e = status;
    *done = status == CL_COMPLETE;
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(d, e, err, "asking for an event");
}

tnb_status
opencl_event_sync(void *dev, void *event, tnb_err *err)
{
    struct opencl_device *d = dev;
    const struct opencl_event *ev = event;
    TNB_TRY(opencl_alive(d, err));
    cl_int e = ev->marker ? clWaitForEvents(1, &ev->marker) : CL_SUCCESS;
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(d, e, err, "waiting for an event");
}

static tnb_status
end_of(struct opencl_device *d, const struct opencl_event *ev, cl_ulong *ns, tnb_err *err)
{
    if (!ev->marker)
        return tnb_fail(err, TNB_INVALID, "the event was not recorded");
    cl_int e = clWaitForEvents(1, &ev->marker);
    if (e == CL_SUCCESS)
        e = clGetEventProfilingInfo(ev->marker, CL_PROFILING_COMMAND_END, sizeof *ns, ns, NULL);
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(d, e, err, "asking for the time of an event");
}

tnb_status
opencl_event_seconds(void *dev, void *from, void *to, double *seconds, tnb_err *err)
{
    cl_ulong start = 0, end = 0;
    TNB_TRY(opencl_alive(dev, err));
    TNB_TRY(end_of(dev, from, &start, err));
    TNB_TRY(end_of(dev, to, &end, err));
    *seconds = end >= start ? 1e-9 * (double)(end - start) : -1e-9 * (double)(start - end);
    return TNB_OK;
}
