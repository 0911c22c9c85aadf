/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1 of the simulated device: streams and events. Each stream is a list of commands. They run when they are enqueued, or, with
 * CUDASIM_LATE, not before somebody waits; with a seed, which of the streams that can go on does so is random. */
#include "config.h"

#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- lists ---- */

bool
cu_append(cu_list *l, const cu_command *c)
{
    cu_command *mine = malloc(sizeof *mine);
    uint8_t *data = NULL;
    if (c->n_data)
        data = malloc(c->n_data);
    if (!mine || (c->n_data && !data)) {
        free(mine);
        free(data);
        return false;
    }
    *mine = *c;
    mine->data = data;
    mine->next = NULL;
    if (data)
        memcpy(data, c->data, c->n_data);
    if (c->kind == CU_RECORD || c->kind == CU_WAIT)
        c->event->n_waiting++;
    if (!l->first)
        l->last = &l->first;
    *l->last = mine;
    l->last = &mine->next;
    l->n++;
    return true;
}

static void
drop_first(cu_list *l)
{
    cu_command *c = l->first;
    l->first = c->next;
    l->n--;
    if (c->kind == CU_RECORD || c->kind == CU_WAIT)
        if (--c->event->n_waiting == 0 && c->event->is_gone)
            free(c->event);
    free(c->data);
    free(c);
}

void
cu_clear(cu_list *l)
{
    while (l->first)
        drop_first(l);
}

/* ---- execution ---- */

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static bool
can_run(const cu_command *c)
{
    return c && (c->kind != CU_WAIT || c->event->done >= c->version);
}

static CUresult
memory_fault(CUstream s, const tnb_err *err)
{
    return cu_broken(s->context, CUDA_ERROR_ILLEGAL_ADDRESS, "%s", err->message);
}

/* Frees memory in the order of a stream. */
static CUresult
run_free(CUstream s, CUdeviceptr p)
{
    uint64_t start;
    size_t bytes;
    bool is_host;
    tnb_err err;
    if (sim_find_memory(cu.machine, p, &start, &bytes, &is_host))
        cu.used -= bytes;
    return sim_release(cu.machine, p, &err) == TNB_OK ? CUDA_SUCCESS : memory_fault(s, &err);
}

static CUresult
run(CUstream s, const cu_command *c)
{
    tnb_err err;
    tnb_status st = TNB_OK;
    switch (c->kind) {
    case CU_UPLOAD:
        st = sim_write(cu.machine, c->to, c->data ? c->data : c->host, c->bytes, &err);
        break;
    case CU_DOWNLOAD:
        st = sim_read(cu.machine, c->host, c->from, c->bytes, &err);
        break;
    case CU_COPY:
        st = sim_copy(cu.machine, c->to, c->from, c->bytes, &err);
        break;
    case CU_FILL:
        st = sim_fill(cu.machine, c->to, c->value, c->element, c->bytes, &err);
        break;
    case CU_COMMIT:
        st = sim_commit(cu.machine, c->to, &err);
        break;
    case CU_FREE:
        return run_free(s, c->to);
    case CU_LAUNCH:
        return cu_run_launch(s->context, c);
    case CU_CALL:
        pthread_mutex_unlock(&cu.lock);
        c->call(c->user);
        pthread_mutex_lock(&cu.lock);
        break;
    case CU_RECORD:
        c->event->time = now();
        c->event->done = c->version > c->event->done ? c->version : c->event->done;
        break;
    case CU_WAIT:
        break;
    }
    return st == TNB_OK ? CUDA_SUCCESS : memory_fault(s, &err);
}

/* Runs the first command of a stream; after a fault the context's work is given up. */
static CUresult
step(CUstream s)
{
    CUresult r = s->context->failed;
    if (r == CUDA_SUCCESS)
        r = run(s, s->work.first);
    if (r != CUDA_SUCCESS) {
        for (cu_command *c = s->work.first; c; c = c->next)
            if (c->kind == CU_RECORD)
                c->event->done = c->version;
        cu_clear(&s->work);
        return r;
    }
    drop_first(&s->work);
    return r;
}

/* A stream that can go on: the wanted one, if it can, else any; with a seed a random one. */
static CUstream
pick(CUstream wanted)
{
    CUstream found = NULL;
    uint64_t n = 1;
    if (!cu.random && wanted && can_run(wanted->work.first))
        return wanted;
    for (CUstream s = cu.streams; s; s = s->next)
        if (can_run(s->work.first)) {
            if (cu.random)
                cu.random = cu.random * 6364136223846793005 + 1442695040888963407;
            if (!found || (cu.random && (cu.random >> 33) % ++n == 0))
                found = s;
        }
    return found;
}

static void
forget_streams(void)
{
    for (CUstream *at = &cu.streams; *at;) {
        CUstream s = *at;
        if (s->is_gone && !s->work.first) {
            *at = s->next;
            free(s);
        } else {
            at = &s->next;
        }
    }
}

CUresult
cu_finish(CUstream s)
{
    CUcontext context = s->context;
    while (s->work.first) {
        CUstream x = pick(s);
        if (!x) { /* an event that nobody will record */
            cu_clear(&s->work);
            return cu_broken(context, CUDA_ERROR_LAUNCH_TIMEOUT,
                             "a stream waits for an event that is not recorded");
        }
        CUresult r = step(x);
        if (r != CUDA_SUCCESS && x->context == context)
            return r;
    }
    return context->failed;
}

CUresult
cu_finish_all(void)
{
    CUresult r = CUDA_SUCCESS;
    for (CUstream s = cu.streams; s; s = s->next) {
        CUresult mine = cu_finish(s);
        r = r == CUDA_SUCCESS ? mine : r;
    }
    forget_streams();
    return r;
}

CUstream
cu_stream_of(CUstream s)
{
    /* 1 and 2 are the null streams of old and of threads */
    if ((uintptr_t)s <= 2)
        return &cu.null_stream;
    return s->tag == CU_STREAM && !s->is_gone ? s : NULL;
}

CUresult
cu_enqueue(CUstream s, const cu_command *c)
{
    if (!cu_append(s->capture ? &s->capture->nodes : &s->work, c))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (s->capture || cu.late)
        return CUDA_SUCCESS;
    for (CUstream x = s; x; x = pick(NULL)) /* what it records may let others go on */
        while (can_run(x->work.first)) {
            CUresult r = step(x);
            if (r != CUDA_SUCCESS)
                return CUDA_SUCCESS; /* as on the hardware: who waits is told */
        }
    return CUDA_SUCCESS;
}

/* ---- streams ---- */

CUresult
cuStreamCreate(CUstream *out, unsigned flags)
{
    CUcontext c;
    CUresult r = cu_enter(&c);
    if (r != CUDA_SUCCESS)
        return r;
    CUstream s = calloc(1, sizeof *s);
    if (!s)
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *s = (struct CUstream_st){.tag = CU_STREAM, .context = c, .flags = flags, .next = cu.streams};
    cu.streams = *out = s;
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    (void)priority;
    return cuStreamCreate(out, flags);
}

CUresult
cuStreamDestroy_v2(CUstream s)
{
    if (!cu.started)
        return CUDA_ERROR_NOT_INITIALIZED;
    if ((uintptr_t)s <= 2 || s->tag != CU_STREAM || s->is_gone)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&cu.lock);
    s->is_gone = true;
    forget_streams();
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuStreamSynchronize(CUstream s)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (s->capture)
        return cu_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    r = cu_finish(s);
    forget_streams();
    return cu_leave(r);
}

/* Who only asks lets one command of any stream run, so that asking again and again ends. */
static CUresult
one_step(void)
{
    CUstream s = pick(NULL);
    return s ? step(s) : CUDA_SUCCESS;
}

CUresult
cuStreamQuery(CUstream s)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (s->work.first)
        r = one_step();
    return cu_leave(r != CUDA_SUCCESS ? r : s->work.first ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUresult
cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags)
{
    CUresult r = cu_enter(NULL);
    (void)flags;
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s || !e || e->tag != CU_EVENT)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (e->capture) { /* the stream joins the capture, whose nodes are in order */
        s->capture = e->capture;
        return cu_leave(CUDA_SUCCESS);
    }
    if (s->capture)
        return cu_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return cu_leave(
        cu_enqueue(s, &(cu_command){.kind = CU_WAIT, .event = e, .version = e->recorded}));
}

CUresult
cuLaunchHostFunc(CUstream s, void (*call)(void *user), void *user)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s || !call)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    return cu_leave(cu_enqueue(s, &(cu_command){.kind = CU_CALL, .call = call, .user = user}));
}

/* ---- events ---- */

CUresult
cuEventCreate(CUevent *out, unsigned flags)
{
    CUcontext c;
    CUresult r = cu_enter(&c);
    (void)flags;
    if (r != CUDA_SUCCESS)
        return r;
    CUevent e = calloc(1, sizeof *e);
    if (!e)
        return cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *e = (struct CUevent_st){.tag = CU_EVENT, .context = c};
    *out = e;
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuEventDestroy_v2(CUevent e)
{
    if (!e || e->tag != CU_EVENT || e->is_gone)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&cu.lock);
    e->is_gone = true;
    if (e->n_waiting == 0)
        free(e);
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuEventRecord(CUevent e, CUstream s)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    s = cu_stream_of(s);
    if (!s || !e || e->tag != CU_EVENT)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    e->capture = s->capture;
    if (s->capture)
        return cu_leave(CUDA_SUCCESS);
    cu_command c = {.kind = CU_RECORD, .event = e, .version = ++e->recorded};
    return cu_leave(cu_enqueue(s, &c));
}

CUresult
cuEventQuery(CUevent e)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!e || e->tag != CU_EVENT)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (e->done < e->recorded)
        r = one_step();
    return cu_leave(r != CUDA_SUCCESS       ? r
                    : e->done < e->recorded ? CUDA_ERROR_NOT_READY
                                            : CUDA_SUCCESS);
}

CUresult
cuEventSynchronize(CUevent e)
{
    CUcontext c;
    CUresult r = cu_enter(&c);
    if (r != CUDA_SUCCESS)
        return r;
    if (!e || e->tag != CU_EVENT)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    while (e->done < e->recorded) {
        CUstream s = pick(NULL);
        if (!s)
            return cu_leave(cu_broken(c, CUDA_ERROR_LAUNCH_TIMEOUT, "an event is not recorded"));
        r = step(s);
        if (r != CUDA_SUCCESS)
            return cu_leave(r);
    }
    return cu_leave(CUDA_SUCCESS);
}

CUresult
cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    CUresult r = cu_enter(NULL);
    if (r != CUDA_SUCCESS)
        return r;
    if (!from || !to || from->tag != CU_EVENT || to->tag != CU_EVENT || !from->recorded ||
        !to->recorded)
        return cu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (from->done < from->recorded || to->done < to->recorded)
        return cu_leave(CUDA_ERROR_NOT_READY);
    *ms = (float)(to->time - from->time);
    return cu_leave(CUDA_SUCCESS);
}
