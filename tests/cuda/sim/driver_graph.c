/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1 of the simulated device: graphs. A graph is the list of commands in the order in which they were captured, which is one of
 * the orders that it allows. */
#include "config.h"

#include "driver.h"

#include <stdlib.h>

static bool
append_all(cu_list *to, const cu_list *from)
{
    for (const cu_command *c = from->first; c; c = c->next)
        if (!cu_append(to, c))
            return false;
    return true;
}

CUresult
cuStreamBeginCapture_v2(CUstream s, int mode)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s || mode < 0 || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return cu_leave(s ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    if (s == &cu.null_stream || s->capture)
        return cu_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph g = calloc(1, sizeof *g);
    if (!g)
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    g->tag = CU_GRAPH;
    s->capture = g;
    s->is_origin = true;
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuStreamEndCapture(CUstream s, CUgraph *out)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s || !s->capture || !s->is_origin)
        return cu_leave(s ? CUDA_ERROR_STREAM_CAPTURE_UNMATCHED : CUDA_ERROR_INVALID_HANDLE);
    CUgraph g = s->capture;
    s->is_origin = false;
    for (CUstream x = cu.streams; x; x = x->next)
        if (x->capture == g)
            x->capture = NULL;
    *out = g;
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuStreamIsCapturing(CUstream s, int *status)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    *status = s->capture != NULL;
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuGraphClone(CUgraph *out, CUgraph from)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!from || from->tag != CU_GRAPH)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    CUgraph g = calloc(1, sizeof *g);
    if (!g)
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    g->tag = CU_GRAPH;
    if (!append_all(&g->nodes, &from->nodes)) {
        cu_clear(&g->nodes);
        free(g);
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *out = g;
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
    CUresult r = cu_enter(NULL);
    (void)flags;
    if (r != CUDA_SUCCESS)
        return r;
    if (!g || g->tag != CU_GRAPH)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    CUgraphExec e = calloc(1, sizeof *e);
    if (!e)
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    e->tag = CU_EXEC;
    if (!append_all(&e->nodes, &g->nodes)) {
        cu_clear(&e->nodes);
        free(e);
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *out = e;
    return cu_leave(CUDA_SUCCESS);
}

/* Nodes must be as many and of the same kinds; kernels, sizes, parameters and addresses may change. */
CUresult
cuGraphExecUpdate_v2(CUgraphExec e, CUgraph g, CUgraphExecUpdateResultInfo *info)
{
    enum { SUCCESS, ERROR, TOPOLOGY, NODE_TYPE };
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!e || e->tag != CU_EXEC || !g || g->tag != CU_GRAPH)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    *info = (CUgraphExecUpdateResultInfo){.result = SUCCESS};
    if (e->nodes.n != g->nodes.n)
        info->result = TOPOLOGY;
    const cu_command *b = g->nodes.first;
    for (const cu_command *a = e->nodes.first; a && b && info->result == SUCCESS;
         a = a->next, b = b->next)
        if (a->kind != b->kind)
            info->result = NODE_TYPE;
    if (info->result != SUCCESS)
        return cu_leave(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    cu_list fresh = {0};
    if (!append_all(&fresh, &g->nodes)) {
        cu_clear(&fresh);
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    cu_clear(&e->nodes);
    append_all(&e->nodes, &fresh);
    cu_clear(&fresh);
    return cu_leave(CUDA_SUCCESS);
}

/* What is enqueued is a copy: an update later does not change it. */
CUresult
cuGraphLaunch(CUgraphExec e, CUstream s)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s || !e || e->tag != CU_EXEC)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    for (const cu_command *c = e->nodes.first; c && r == CUDA_SUCCESS; c = c->next) {
        cu_command one = *c;
        one.of_graph = true;
        r = cu_enqueue(s, &one);
    }
    return cu_leave(r);
}

CUresult
cuGraphExecDestroy(CUgraphExec e)
{
    if (!e || e->tag != CU_EXEC)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&cu.lock);
    cu_clear(&e->nodes);
    e->tag = 0;
    free(e);
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuGraphDestroy(CUgraph g)
{
    if (!g || g->tag != CU_GRAPH)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&cu.lock);
    cu_clear(&g->nodes);
    g->tag = 0;
    free(g);
    return cu_leave(CUDA_SUCCESS);
}
