/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* libvend, a made-up vendor's library: a queue, a thread, matrix products.
 *
 * VEND_FAULT=NAME:N in the environment lets the N-th job of a process end with that error, or, with VEND_TIMEOUT, never.
 */
#include "vend.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ELEMENTS = 1 << 24 };

struct job {
    vend_dense dense;
    vend_done done;
    void *user;
};

struct vend_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct job jobs[VEND_DEPTH]; /* the first may be being done */
    int n;
    bool ending, aborting;
    vend_status failed; /* since the last fence */
};

static const char *const names[] = {
#define X(name, meaning) #name,
    VEND_ERRORS(X)
#undef X
};
static const char *const texts[] = {
#define X(name, meaning) meaning,
    VEND_ERRORS(X)
#undef X
};

int
vend_version(void)
{
    return VEND_VERSION;
}

const char *
vend_error_name(vend_status s)
{
    return (unsigned)s < VEND_N_ERRORS ? names[s] : "VEND_UNKNOWN";
}

const char *
vend_error_text(vend_status s)
{
    return (unsigned)s < VEND_N_ERRORS ? texts[s] : "an error that this version does not know";
}

/* ---- work ---- */

static vend_status
injected(void)
{
    static int count;
    const char *fault = getenv("VEND_FAULT"), *colon = fault ? strchr(fault, ':') : NULL;
    int n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (!colon || atoi(colon + 1) != n)
        return VEND_OK;
    for (int s = 1; s < VEND_N_ERRORS; s++)
        if (strlen(names[s]) == (size_t)(colon - fault) &&
            !strncmp(names[s], fault, (size_t)(colon - fault)))
            return (vend_status)s;
    return VEND_OK;
}

static bool
aborted(vend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool yes = q->aborting;
    pthread_mutex_unlock(&q->lock);
    return yes;
}

static vend_status
row(const vend_dense *d, int64_t i)
{
    for (int64_t j = 0; j < d->n; j++) {
        float sum = d->bias ? d->bias[j] : 0;
        for (int64_t k = 0; k < d->k; k++)
            sum += d->x[i * d->k + k] * d->w[k * d->n + j];
        d->out[i * d->n + j] = d->relu && sum < 0 ? 0 : sum;
    }
    return VEND_OK;
}

static vend_status
work(vend_queue *q, const vend_dense *d)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    vend_status fault = injected();
    while (fault == VEND_TIMEOUT) {
        nanosleep(&moment, NULL);
        if (aborted(q))
            return VEND_ABORTED;
    }
    if (fault != VEND_OK)
        return fault;
    nanosleep(&moment, NULL); /* who does not wait sees what was there before */
    for (int64_t i = 0; i < d->m; i++) {
        if (aborted(q))
            return VEND_ABORTED;
        (void)row(d, i);
    }
    return VEND_OK;
}

static void *
run(void *arg)
{
    vend_queue *q = arg;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        if (q->n == 0) {
            if (q->ending)
                break;
            pthread_cond_wait(&q->changed, &q->lock);
            continue;
        }
        struct job job = q->jobs[0];
        pthread_mutex_unlock(&q->lock);
        vend_status s = work(q, &job.dense);
        if (job.done)
            job.done(job.user, s);
        pthread_mutex_lock(&q->lock);
        memmove(q->jobs, q->jobs + 1, (size_t)--q->n * sizeof *q->jobs);
        if (q->failed == VEND_OK)
            q->failed = s;
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* ---- the interface ---- */

vend_status
vend_queue_new(vend_queue **out)
{
    vend_queue *q = calloc(1, sizeof *q);
    if (!q)
        return VEND_NO_MEMORY;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&q->thread, NULL, run, q) != 0) {
        pthread_cond_destroy(&q->changed);
        pthread_mutex_destroy(&q->lock);
        free(q);
        return VEND_NO_MEMORY;
    }
    *out = q;
    return VEND_OK;
}

void
vend_abort(vend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->aborting = true;
    while (q->n > 0)
        pthread_cond_wait(&q->changed, &q->lock);
    q->aborting = false;
    pthread_mutex_unlock(&q->lock);
}

void
vend_queue_free(vend_queue *q)
{
    if (!q)
        return;
    vend_abort(q);
    pthread_mutex_lock(&q->lock);
    q->ending = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

vend_status
vend_submit(vend_queue *q, const vend_dense *job, vend_done done, void *user)
{
    if (job->m < 1 || job->k < 1 || job->n < 1)
        return VEND_BAD_SHAPE;
    if (job->m > MOST_ELEMENTS / job->k || job->k > MOST_ELEMENTS / job->n ||
        job->m > MOST_ELEMENTS / job->n)
        return VEND_TOO_LARGE;
    pthread_mutex_lock(&q->lock);
    vend_status s = q->n < VEND_DEPTH ? VEND_OK : VEND_QUEUE_FULL;
    if (s == VEND_OK)
        q->jobs[q->n++] = (struct job){.dense = *job, .done = done, .user = user};
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    return s;
}

vend_status
vend_fence(vend_queue *q, int timeout_ms)
{
    struct timespec until;
    vend_status s = VEND_OK;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&q->lock);
    while (q->n > 0 && s == VEND_OK)
        if (pthread_cond_timedwait(&q->changed, &q->lock, &until) == ETIMEDOUT)
            s = VEND_TIMEOUT;
    if (s == VEND_OK) {
        s = q->failed;
        q->failed = VEND_OK;
    }
    pthread_mutex_unlock(&q->lock);
    return s;
}
