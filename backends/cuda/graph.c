/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: graphs. What a stream is given between begin and end is captured by the driver; a graph is kept
 * beside its executable form, since updates start from the former.
 */
#include "device.h"

#include <stdlib.h>

struct graph {
    CUgraph graph;
    CUgraphExec exec;
};

tnb_status
cuda_graph_begin(void *dev, void *stream, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_stream *s = cuda_stream_of(d, stream);
    TNB_TRY(cuda_not_captured(s, "the beginning of another capture", err));
    TNB_TRY(cuda_enter(d, err));
    /* relaxed: threads that have nothing to do with this stream may go on */
    CUresult r = d->api->StreamBeginCapture(s->handle, CU_STREAM_CAPTURE_MODE_RELAXED);
    cuda_leave(d);
    if (r != CUDA_SUCCESS)
        return cuda_fail(d, d->api, r, "cuStreamBeginCapture", err, "beginning a graph");
    atomic_store(&s->spoilt, false);
    atomic_store(&s->capturing, true);
    return TNB_OK;
}

static tnb_status
instantiate(struct cuda_device *d, CUgraph captured, void **out, tnb_err *err)
{
    struct graph *g = calloc(1, sizeof *g);
    if (!g)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a graph");
    CUresult r = d->api->GraphInstantiate(&g->exec, captured, 0);
    if (r != CUDA_SUCCESS) {
        free(g);
        return cuda_fail(d, d->api, r, "cuGraphInstantiateWithFlags", err,
                         "making a captured graph ready");
    }
    g->graph = captured;
    *out = g;
    return TNB_OK;
}

tnb_status
cuda_graph_end(void *dev, void *stream, void **graph, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_stream *s = cuda_stream_of(d, stream);
    CUgraph captured = NULL;
    *graph = NULL;
    if (!atomic_exchange(&s->capturing, false))
        return tnb_fail(err, TNB_INVALID, "the end of a graph that was not begun");
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->StreamEndCapture(s->handle, &captured);
    tnb_status st = TNB_OK;
    if (r != CUDA_SUCCESS)
        st = cuda_fail(d, d->api, r, "cuStreamEndCapture", err, "ending a graph");
    else if (atomic_load(&s->spoilt))
        st =
            tnb_fail(err, TNB_INVALID, "no graph: something was asked for that cannot be captured");
    else
        st = instantiate(d, captured, graph, err);
    if (st != TNB_OK && captured)
        (void)d->api->GraphDestroy(captured);
    if (st == TNB_OK)
        atomic_fetch_add(&d->captures, 1);
    cuda_leave(d);
    return st;
}

tnb_status
cuda_graph_update(void *dev, void *graph, void *from, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct graph *g = graph;
    const struct graph *f = from;
    CUgraphExecUpdateResultInfo info = {0};
    CUgraph copy = NULL;
    TNB_TRY(cuda_enter(d, err));
    const char *call = "cuGraphClone";
    CUresult r = d->api->GraphClone(&copy, f->graph);
    if (r == CUDA_SUCCESS) {
        call = "cuGraphExecUpdate";
        r = d->api->GraphExecUpdate(g->exec, copy, &info);
        (void)d->api->GraphDestroy(r == CUDA_SUCCESS ? g->graph : copy);
    }
    if (r == CUDA_SUCCESS) {
        g->graph = copy;
        atomic_fetch_add(&d->updates, 1);
    }
    cuda_leave(d);
    if (r == CUDA_SUCCESS)
        return TNB_OK;
    if (r == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "a graph that differs too much from what it is updated to (reason %d of "
                        "the driver)",
                        info.result);
    return cuda_fail(d, d->api, r, call, err, "updating a graph");
}

tnb_status
cuda_graph_launch(void *dev, void *stream, void *graph, tnb_err *err)
{
    struct cuda_device *d = dev;
    struct cuda_stream *s = cuda_stream_of(d, stream);
    TNB_TRY(cuda_not_captured(s, "the launch of another graph", err));
    TNB_TRY(cuda_enter(d, err));
    CUresult r = d->api->GraphLaunch(((struct graph *)graph)->exec, s->handle);
    cuda_leave(d);
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, "cuGraphLaunch", err, "launching a graph");
}

void
cuda_graph_free(void *dev, void *graph)
{
    struct cuda_device *d = dev;
    struct graph *g = graph;
    if (!g)
        return;
    if (cuda_enter(d, NULL) == TNB_OK) {
        (void)d->api->GraphExecDestroy(g->exec); /* a launch that is not done goes on */
        (void)d->api->GraphDestroy(g->graph);
        cuda_leave(d);
    }
    free(g);
}
