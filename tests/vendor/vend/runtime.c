/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The vend plugin, device half: the loader of what payload.c wrote.
 *
 * A call brings what is not in the host's memory there (reading waits for the device), submits the jobs, waits for
 * a place where the queue is full, then for all of them, and sends the results back. However it ends, nothing of it is in
 * the queue any more.
 */
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "tenon/base/json.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/tensor.h"

enum { TIMEOUT_MS = 60000, TICK_MS = 20, MOST_JOBS = 4096 };

struct job {
    int64_t x, w, b, relu;
};

struct module {
    const char *symbol;
    vend_queue *queue;
    uint32_t n_inputs, n_jobs, n_results;
    struct job *jobs;
    int64_t *out;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    uint32_t n_ended, failed_job; /* jobs of this call that have ended; the first that failed */
    vend_status failed;
};

/* A matrix in the host's memory. */
struct value {
    float *at, *own; /* own: to be freed */
    int64_t rows, columns;
};

static vend_api api;

static tnb_status
init(const tnb_plugin_start *start, tnb_err *err)
{
    (void)start;
    return vend_api_load(&api, err);
}

/* ---- opening ---- */

static bool
integer(const json_t *object, const char *key, int64_t least, int64_t most, int64_t *out)
{
    const json_t *v = json_object_get(object, key);
    *out = json_is_integer(v) ? json_integer_value(v) : least - 1;
    return *out >= least && *out <= most;
}

static bool
read_payload(struct module *m, const json_t *root)
{
    const json_t *jobs = json_object_get(root, "jobs"), *out = json_object_get(root, "out");
    int64_t inputs;
    if (!integer(root, "inputs", 1, MOST_JOBS, &inputs) || json_array_size(jobs) < 1 ||
        json_array_size(jobs) > MOST_JOBS || json_array_size(out) < 1 ||
        json_array_size(out) > MOST_JOBS)
        return false;
    m->n_inputs = (uint32_t)inputs;
    m->n_jobs = (uint32_t)json_array_size(jobs);
    m->n_results = (uint32_t)json_array_size(out);
    m->jobs = calloc(m->n_jobs, sizeof *m->jobs);
    m->out = calloc(m->n_results, sizeof *m->out);
    for (uint32_t i = 0; m->jobs && m->out && i < m->n_jobs; i++) {
        const json_t *o = json_array_get(jobs, i);
        struct job *j = &m->jobs[i];
        int64_t last = inputs + i - 1; /* values that are there */
        if (!integer(o, "x", 0, last, &j->x) || !integer(o, "w", 0, last, &j->w) ||
            !integer(o, "b", -1, last, &j->b) || !integer(o, "relu", 0, 1, &j->relu))
            return false;
    }
    for (uint32_t i = 0; m->jobs && m->out && i < m->n_results; i++) {
        const json_t *o = json_array_get(out, i);
        m->out[i] = json_is_integer(o) ? json_integer_value(o) : -1;
        if (m->out[i] < 0 || m->out[i] >= inputs + m->n_jobs)
            return false;
    }
    return m->jobs && m->out;
}

static tnb_status
library_error(tnb_err *err, vend_status s, const struct module *m, const char *what)
{
    return tnb_fail(err, s == VEND_NO_MEMORY ? TNB_NO_MEMORY : TNB_DEVICE,
                    "vend: '%s': %s: %s (%s)", m->symbol, what, api.error_name(s),
                    api.error_text(s));
}

static void
close_module(void *module)
{
    struct module *m = module;
    if (m->queue)
        api.queue_free(m->queue);
    pthread_cond_destroy(&m->ended);
    pthread_mutex_destroy(&m->lock);
    free(m->jobs);
    free(m->out);
    free(m);
}

static tnb_status
open_module(void *self, const tnr_external *desc, tnr_device *dev, void **module, tnb_err *err)
{
    struct module *m = calloc(1, sizeof *m);
    (void)self, (void)dev;
    if (!m)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for '%s'", desc->symbol);
    m->symbol = desc->symbol;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->ended, NULL);
    json_t *root;
    tnb_status st = tnb_json_parse(desc->payload, strlen(desc->payload), 0, &root, err);
    if (st == TNB_OK && !read_payload(m, root))
        st = tnb_fail(err, TNB_FORMAT, "vend: '%s' is described by what is no list of jobs",
                      desc->symbol);
    json_decref(root);
    if (st == TNB_OK) {
        vend_status s = api.queue_new(&m->queue);
        st = s == VEND_OK ? TNB_OK : library_error(err, s, m, "making a queue");
    }
    if (st != TNB_OK) {
        close_module(m);
        return st;
    }
    *module = m;
    return TNB_OK;
}

/* ---- calls ---- */

/* On the library's thread. */
static void
job_ended(void *user, vend_status s)
{
    struct module *m = user;
    pthread_mutex_lock(&m->lock);
    if (s != VEND_OK && m->failed == VEND_OK) {
        m->failed = s;
        m->failed_job = m->n_ended;
    }
    m->n_ended++;
    pthread_cond_signal(&m->ended);
    pthread_mutex_unlock(&m->lock);
}

/* Waits until more jobs have ended than there were, a moment at most; false: none has. */
static bool
another_ended(struct module *m, uint32_t than)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TICK_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&m->lock);
    if (m->n_ended <= than)
        (void)pthread_cond_timedwait(&m->ended, &m->lock, &until);
    bool yes = m->n_ended > than;
    pthread_mutex_unlock(&m->lock);
    return yes;
}

static uint32_t
ended(struct module *m)
{
    pthread_mutex_lock(&m->lock);
    uint32_t n = m->n_ended;
    pthread_mutex_unlock(&m->lock);
    return n;
}

static int
timeout_ms(void)
{
    const char *s = getenv("VEND_PLUGIN_TIMEOUT_MS");
    int ms = s ? atoi(s) : 0;
    return ms > 0 ? ms : TIMEOUT_MS;
}

/* The queue is short: while it is full, jobs have to end, one in every so many milliseconds. */
static vend_status
submit(struct module *m, const vend_dense *d)
{
    for (int waited = 0;;) {
        uint32_t before = ended(m);
        vend_status s = api.submit(m->queue, d, job_ended, m);
        if (s != VEND_QUEUE_FULL)
            return s;
        if (another_ended(m, before))
            waited = 0;
        else if ((waited += TICK_MS) >= timeout_ms())
            return VEND_TIMEOUT;
    }
}

static tnb_status
take_input(const tnr_value *arg, uint32_t i, struct value *v, tnb_err *err)
{
    const tnr_tensor *t = arg->tag == TNR_TENSOR ? arg->u.tensor : NULL;
    if (!t || !tnr_tensor_is_compact(t) || !tnb_dtype_eq(t->dl.dtype, TNB_F32) || t->dl.ndim < 1)
        return tnb_fail(err, TNB_INVALID,
                        "vend: argument %" PRIu32 " is no compact tensor of float32", i);
    v->columns = t->dl.shape[t->dl.ndim - 1];
    v->rows = v->columns ? (int64_t)t->n_elems / v->columns : 0;
    v->at = tnr_tensor_data(t);
    if (v->at || t->n_bytes == 0)
        return TNB_OK;
    v->at = v->own = malloc(t->n_bytes);
    if (!v->own)
        return tnb_fail(err, TNB_NO_MEMORY, "vend: no memory for a copy of argument %" PRIu32, i);
    return tnr_tensor_read(t, v->own, t->n_bytes, err);
}

/* Where a job's result goes: to the result of the call that it is, if that is in the host's memory. */
static tnb_status
place_output(const struct module *m, const tnr_value *args, int64_t id, struct value *v,
             tnb_err *err)
{
    uint64_t bytes = (uint64_t)v->rows * (uint64_t)v->columns * sizeof(float);
    for (uint32_t i = 0; i < m->n_results && !v->at; i++)
        if (m->out[i] == id && args[m->n_inputs + i].u.tensor->n_bytes == bytes)
            v->at = tnr_tensor_data(args[m->n_inputs + i].u.tensor);
    if (!v->at && bytes)
        v->at = v->own = malloc(bytes);
    return v->at || !bytes
               ? TNB_OK
               : tnb_fail(err, TNB_NO_MEMORY, "vend: no memory for %" PRIu64 " bytes", bytes);
}

static tnb_status
submit_all(struct module *m, const tnr_value *args, struct value *values, tnb_err *err)
{
    for (uint32_t i = 0; i < m->n_jobs; i++) {
        const struct job *j = &m->jobs[i];
        struct value *x = &values[j->x], *w = &values[j->w], *b = j->b < 0 ? NULL : &values[j->b],
                     *out = &values[m->n_inputs + i];
        if (x->columns != w->rows || (b && b->rows * b->columns != w->columns))
            return tnb_fail(err, TNB_SHAPE,
                            "vend: '%s': a product of %" PRId64 "x%" PRId64 " and %" PRId64
                            "x%" PRId64,
                            m->symbol, x->rows, x->columns, w->rows, w->columns);
        out->rows = x->rows;
        out->columns = w->columns;
        TNB_TRY(place_output(m, args, m->n_inputs + i, out, err));
        if (out->rows == 0 || out->columns == 0)
            continue;
        const vend_dense d = {.m = x->rows,
                              .k = x->columns,
                              .n = w->columns,
                              .x = x->at,
                              .w = w->at,
                              .bias = b ? b->at : NULL,
                              .out = out->at,
                              .relu = (int32_t)j->relu};
        vend_status s = submit(m, &d);
        if (s != VEND_OK)
            return library_error(err, s, m, "submitting a job");
    }
    return TNB_OK;
}

static tnb_status
wait_for_all(struct module *m, tnb_err *err)
{
    vend_status s = api.fence(m->queue, timeout_ms());
    char what[64];
    if (s == VEND_TIMEOUT)
        return library_error(err, s, m, "waiting for its jobs");
    pthread_mutex_lock(&m->lock);
    s = m->failed;
    snprintf(what, sizeof what, "job %" PRIu32 " of %" PRIu32, m->failed_job + 1, m->n_jobs);
    pthread_mutex_unlock(&m->lock);
    return s == VEND_OK ? TNB_OK : library_error(err, s, m, what);
}

static tnb_status
give_results(const struct module *m, const tnr_value *args, const struct value *values,
             tnb_err *err)
{
    for (uint32_t i = 0; i < m->n_results; i++) {
        const struct value *v = &values[m->out[i]];
        const tnr_tensor *t = args[m->n_inputs + i].u.tensor;
        uint64_t bytes = (uint64_t)v->rows * (uint64_t)v->columns * sizeof(float);
        if (t->n_bytes != bytes)
            return tnb_fail(err, TNB_SHAPE,
                            "vend: result %" PRIu32 " has %" PRIu64 " bytes, not %" PRIu64, i,
                            bytes, (uint64_t)t->n_bytes);
        if (bytes && v->at != tnr_tensor_data(t))
            TNB_TRY(tnr_tensor_write(t, v->at, bytes, err));
    }
    return TNB_OK;
}

static tnb_status
call(void *module, const tnr_value *args, int n, tnb_err *err)
{
    struct module *m = module;
    if (n < 0 || (uint32_t)n != m->n_inputs + m->n_results)
        return tnb_fail(err, TNB_INVALID, "vend: %d arguments, '%s' has %" PRIu32, n, m->symbol,
                        m->n_inputs + m->n_results);
    struct value *values = calloc(m->n_inputs + m->n_jobs, sizeof *values);
    if (!values)
        return tnb_fail(err, TNB_NO_MEMORY, "vend: no memory for a call");
    tnb_status st = TNB_OK;
    for (uint32_t i = m->n_inputs; i < (uint32_t)n && st == TNB_OK; i++)
        if (args[i].tag != TNR_TENSOR || !tnr_tensor_is_compact(args[i].u.tensor))
            st = tnb_fail(err, TNB_INVALID, "vend: argument %" PRIu32 " is no compact tensor", i);
    for (uint32_t i = 0; i < m->n_inputs && st == TNB_OK; i++)
        st = take_input(&args[i], i, &values[i], err);
    m->n_ended = 0;
    m->failed = VEND_OK;
    if (st == TNB_OK)
        st = submit_all(m, args, values, err);
    if (st == TNB_OK)
        st = wait_for_all(m, err);
    if (st == TNB_OK)
        st = give_results(m, args, values, err);
    else
        api.abort(m->queue);
    (void)api.fence(m->queue, 0); /* forgets what it keeps of errors */
    for (uint32_t i = 0; i < m->n_inputs + m->n_jobs; i++)
        free(values[i].own);
    free(values);
    return st;
}

static const tnr_loader loader = {
    .base.size = sizeof(tnr_loader),
    .base.name = "vend",
    .base.doc = "libvend, matrix products on a made-up accelerator",
    .open = open_module,
    .call = call,
    .close = close_module,
};
static const tnr_loader *const loaders[] = {&loader};

TNR_PLUGIN(vend_rt, "0.1.0", "Apache-2.0 OR MIT-0", "jobs of libvend", .loaders = loaders,
           .n_loaders = 1, .init = init);
