/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The late queue: lists of entries, one a stream, and who waits picks which one goes on. */
#include "queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* A run of tasks that were captured. */
typedef struct body {
    unsigned refs, n, cap;
    simacc_task **tasks;
} body;

struct simacc_graph {
    body *body;
};

struct simacc_event {
    unsigned refs; /* its owner, entries */
    uint64_t recorded, reached;
    double seconds; /* when */
};

typedef enum entry_kind { TASK, RECORD, WAIT, GRAPH } entry_kind;

typedef struct entry {
    struct entry *next;
    entry_kind kind;
    simacc_task *task;
    simacc_event *event;
    uint64_t number; /* of the record */
    body *body;
} entry;

struct simacc_stream {
    simacc_stream *next;
    entry *first, **last;
    body *capture; /* NULL: none */
    bool broken;   /* what cannot be captured came up */
};

struct simacc_queue {
    pthread_mutex_t lock;
    uint64_t seed, random;
    simacc_stream *streams;
    unsigned n_streams;
    tnb_err failed; /* status TNB_OK: nothing */
    simacc_wait forget;
    unsigned nth, seen[SIMACC_N_WAITS];
};

static uint64_t
draw(simacc_queue *q, uint64_t below)
{
    q->random ^= q->random << 13;
    q->random ^= q->random >> 7;
    q->random ^= q->random << 17;
    return q->random % below;
}

simacc_queue *
simacc_queue_new(uint64_t seed)
{
    simacc_queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    pthread_mutex_init(&q->lock, NULL);
    q->seed = seed;
    q->random = seed * 0x9e3779b97f4a7c15u | 1;
    for (int i = 0; i < 8; i++)
        (void)draw(q, 2);
    return q;
}

void
simacc_queue_forget(simacc_queue *q, simacc_wait kind, unsigned n)
{
    pthread_mutex_lock(&q->lock);
    q->forget = kind;
    q->nth = n;
    for (int i = 0; i < SIMACC_N_WAITS; i++)
        q->seen[i] = 0;
    pthread_mutex_unlock(&q->lock);
}

unsigned
simacc_queue_waits(const simacc_queue *q, simacc_wait kind)
{
    return q->seen[kind];
}

static bool
is_forgotten(simacc_queue *q, simacc_wait kind)
{
    return ++q->seen[kind] == q->nth && q->forget == kind;
}

/* ---- entries ---- */

static void
drop_event(simacc_event *e)
{
    if (e && --e->refs == 0)
        free(e);
}

static void
drop_body(body *b)
{
    if (!b || --b->refs)
        return;
    for (unsigned i = 0; i < b->n; i++)
        b->tasks[i]->drop(b->tasks[i]);
    free(b->tasks);
    free(b);
}

static void
note(simacc_queue *q, tnb_status st, const tnb_err *err)
{
    if (st != TNB_OK && q->failed.status == TNB_OK) {
        q->failed = *err;
        q->failed.status = st;
    }
}

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
run_first(simacc_queue *q, simacc_stream *s)
{
    entry *e = s->first;
    tnb_err err = {0};
    s->first = e->next;
    if (!s->first)
        s->last = &s->first;
    switch (e->kind) {
    case TASK:
        note(q, e->task->run(e->task, &err), &err);
        e->task->drop(e->task);
        break;
    case GRAPH:
        for (unsigned i = 0; i < e->body->n; i++)
            note(q, e->body->tasks[i]->run(e->body->tasks[i], &err), &err);
        break;
    case RECORD:
        if (e->event->reached < e->number) {
            e->event->reached = e->number;
            e->event->seconds = now();
        }
        break;
    case WAIT:
        break;
    }
    drop_body(e->body);
    drop_event(e->event);
    free(e);
}

static bool
is_blocked(const simacc_stream *s)
{
    return s->first->kind == WAIT && s->first->event->reached < s->first->number;
}

/* The stream in which the record lies. */
static simacc_stream *
recorder(const simacc_queue *q, const simacc_event *ev, uint64_t number)
{
    for (simacc_stream *s = q->streams; s; s = s->next)
        for (const entry *e = s->first; e; e = e->next)
            if (e->kind == RECORD && e->event == ev && e->number >= number)
                return s;
    return NULL;
}

/* One that has to go on so that `s` does; NULL: nobody can. */
static simacc_stream *
needed(const simacc_queue *q, simacc_stream *s)
{
    for (unsigned i = 0; s && s->first && is_blocked(s); i++) {
        if (i > q->n_streams)
            return NULL;
        s = recorder(q, s->first->event, s->first->number);
    }
    return s && s->first ? s : NULL;
}

/* Lets one entry go: usually one that `s` needs, now and then any other. */
static bool
step(simacc_queue *q, simacc_stream *s)
{
    simacc_stream *go = s ? needed(q, s) : NULL;
    if (q->seed % 3 != 0 && draw(q, 2 + q->seed % 4) == 0) {
        uint64_t skip = draw(q, q->n_streams);
        for (simacc_stream *o = q->streams; o; o = o->next)
            if (skip-- == 0 && o->first && !is_blocked(o))
                go = o;
    }
    if (!go)
        return false;
    run_first(q, go);
    return true;
}

static tnb_status
told(simacc_queue *q, tnb_err *err)
{
    tnb_status st = q->failed.status;
    if (st != TNB_OK && err)
        *err = q->failed;
    q->failed.status = TNB_OK;
    return st;
}

static void
finish(simacc_queue *q, simacc_stream *s)
{
    while (s->first && (step(q, s) || needed(q, s)))
        ;
}

void
simacc_queue_free(simacc_queue *q)
{
    if (!q)
        return;
    for (simacc_stream *s = q->streams; s; s = s->next)
        finish(q, s);
    for (simacc_stream *s = q->streams, *next; s; s = next) {
        next = s->next;
        drop_body(s->capture);
        free(s);
    }
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* ---- streams ---- */

simacc_stream *
simacc_stream_new(simacc_queue *q)
{
    simacc_stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->last = &s->first;
    pthread_mutex_lock(&q->lock);
    s->next = q->streams;
    q->streams = s;
    q->n_streams++;
    pthread_mutex_unlock(&q->lock);
    return s;
}

static tnb_status
append(simacc_queue *q, simacc_stream *s, entry e, tnb_err *err)
{
    entry *own = malloc(sizeof *own);
    if (!own)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the queue of the simacc device");
    *own = e;
    own->next = NULL;
    if (e.event)
        e.event->refs++;
    if (e.body)
        e.body->refs++;
    *s->last = own;
    s->last = &own->next;
    if (q->seed == 0)
        finish(q, s);
    return TNB_OK;
}

static tnb_status
keep(body *b, simacc_task *t, tnb_err *err)
{
    if (b->n == b->cap) {
        unsigned cap = b->cap ? b->cap * 2 : 8;
        simacc_task **grown = realloc(b->tasks, cap * sizeof *grown);
        if (!grown)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a graph of the simacc device");
        b->tasks = grown;
        b->cap = cap;
    }
    b->tasks[b->n++] = t;
    return TNB_OK;
}

tnb_status
simacc_queue_put(simacc_queue *q, simacc_stream *s, simacc_task *t, tnb_err *err)
{
    pthread_mutex_lock(&q->lock);
    tnb_status st =
        s->capture ? keep(s->capture, t, err) : append(q, s, (entry){.kind = TASK, .task = t}, err);
    pthread_mutex_unlock(&q->lock);
    if (st != TNB_OK)
        t->drop(t);
    return st;
}

static tnb_status
no_wait(simacc_stream *s, tnb_err *err)
{
    s->broken = true;
    return tnb_fail(err, TNB_INVALID,
                    "the simacc device waits for nothing while a graph is captured");
}

tnb_status
simacc_queue_sync(simacc_queue *q, simacc_stream *s, simacc_wait how, tnb_err *err)
{
    pthread_mutex_lock(&q->lock);
    tnb_status st = TNB_OK;
    if (s->capture)
        st = no_wait(s, err);
    else if (!is_forgotten(q, how))
        finish(q, s);
    if (st == TNB_OK)
        st = told(q, err);
    pthread_mutex_unlock(&q->lock);
    return st;
}

/* ---- events ---- */

simacc_event *
simacc_event_new(void)
{
    simacc_event *e = calloc(1, sizeof *e);
    if (e)
        e->refs = 1;
    return e;
}

void
simacc_event_free(simacc_queue *q, simacc_event *e)
{
    pthread_mutex_lock(&q->lock);
    drop_event(e);
    pthread_mutex_unlock(&q->lock);
}

tnb_status
simacc_event_record(simacc_queue *q, simacc_stream *s, simacc_event *e, tnb_err *err)
{
    pthread_mutex_lock(&q->lock);
    tnb_status st =
        s->capture
            ? no_wait(s, err)
            : append(q, s, (entry){.kind = RECORD, .event = e, .number = e->recorded + 1}, err);
    e->recorded += st == TNB_OK;
    pthread_mutex_unlock(&q->lock);
    return st;
}

tnb_status
simacc_event_wait(simacc_queue *q, simacc_stream *s, simacc_event *e, tnb_err *err)
{
    pthread_mutex_lock(&q->lock);
    tnb_status st = TNB_OK;
    if (s->capture)
        st = no_wait(s, err);
    else if (!is_forgotten(q, SIMACC_BETWEEN_STREAMS))
        st = append(q, s, (entry){.kind = WAIT, .event = e, .number = e->recorded}, err);
    pthread_mutex_unlock(&q->lock);
    return st;
}

double
simacc_event_seconds(simacc_queue *q, const simacc_event *from, const simacc_event *to)
{
    pthread_mutex_lock(&q->lock);
    double seconds = to->seconds - from->seconds;
    pthread_mutex_unlock(&q->lock);
    return seconds;
}

/* Asking makes the work go on, or nobody would ever see its end. */
bool
simacc_event_done(simacc_queue *q, simacc_event *e)
{
    pthread_mutex_lock(&q->lock);
    bool done = is_forgotten(q, SIMACC_ASK_EVENT) || e->reached >= e->recorded;
    if (!done)
        (void)step(q, recorder(q, e, e->recorded));
    pthread_mutex_unlock(&q->lock);
    return done;
}

tnb_status
simacc_event_sync(simacc_queue *q, simacc_event *e, tnb_err *err)
{
    pthread_mutex_lock(&q->lock);
    bool forgotten = is_forgotten(q, SIMACC_FOR_EVENT);
    while (!forgotten && e->reached < e->recorded) {
        simacc_stream *s = recorder(q, e, e->recorded);
        if (!step(q, s) && !needed(q, s))
            break;
    }
    tnb_status st = told(q, err);
    pthread_mutex_unlock(&q->lock);
    return st;
}

/* ---- graphs ---- */

tnb_status
simacc_graph_begin(simacc_queue *q, simacc_stream *s, tnb_err *err)
{
    pthread_mutex_lock(&q->lock);
    tnb_status st = s->capture
                        ? tnb_fail(err, TNB_INVALID, "a graph of the stream is captured already")
                        : TNB_OK;
    if (st == TNB_OK && !(s->capture = calloc(1, sizeof *s->capture)))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory for a graph of the simacc device");
    if (st == TNB_OK)
        s->capture->refs = 1;
    s->broken = false;
    pthread_mutex_unlock(&q->lock);
    return st;
}

tnb_status
simacc_graph_end(simacc_queue *q, simacc_stream *s, simacc_graph **out, tnb_err *err)
{
    pthread_mutex_lock(&q->lock);
    body *b = s->capture;
    simacc_graph *g = b && !s->broken ? calloc(1, sizeof *g) : NULL;
    s->capture = NULL;
    if (g)
        g->body = b;
    else
        drop_body(b);
    pthread_mutex_unlock(&q->lock);
    if (!g)
        return tnb_fail(err, TNB_INVALID, "the simacc device has captured no graph");
    *out = g;
    return TNB_OK;
}

tnb_status
simacc_graph_update(simacc_queue *q, simacc_graph *g, simacc_graph *from, tnb_err *err)
{
    pthread_mutex_lock(&q->lock);
    bool alike = g->body->n == from->body->n;
    if (alike) {
        drop_body(g->body); /* what is queued has its own */
        g->body = from->body;
        g->body->refs++;
    }
    pthread_mutex_unlock(&q->lock);
    return alike ? TNB_OK : tnb_fail(err, TNB_UNSUPPORTED, "the graphs have different tasks");
}

tnb_status
simacc_graph_launch(simacc_queue *q, simacc_stream *s, simacc_graph *g, tnb_err *err)
{
    pthread_mutex_lock(&q->lock);
    tnb_status st =
        s->capture ? no_wait(s, err) : append(q, s, (entry){.kind = GRAPH, .body = g->body}, err);
    pthread_mutex_unlock(&q->lock);
    return st;
}

void
simacc_graph_free(simacc_queue *q, simacc_graph *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&q->lock);
    drop_body(g->body);
    pthread_mutex_unlock(&q->lock);
    free(g);
}
