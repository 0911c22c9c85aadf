/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* A queue that is late and out of order, as a device's may be: nothing is done before somebody waits for it, and work of
 * different streams comes in any order that events allow, by a seed. Who forgets a wait sees it. Functions may be called
 * from several threads; tasks are run by those who wait.
 */
#ifndef SIMACC_QUEUE_H
#define SIMACC_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "tenon/base/status.h"

/* One piece of work; first member of what it needs. */
typedef struct simacc_task {
    tnb_status (*run)(struct simacc_task *t, tnb_err *err); /* that of a graph more than once */
    void (*drop)(struct simacc_task *t);                    /* frees it */
} simacc_task;

typedef struct simacc_queue simacc_queue;
typedef struct simacc_stream simacc_stream;
typedef struct simacc_event simacc_event;
typedef struct simacc_graph simacc_graph;

/* Waits, which a test may have forgotten. */
typedef enum simacc_wait {
    SIMACC_BETWEEN_STREAMS, /* a stream waits for an event */
    SIMACC_FOR_EVENT,       /* the host does */
    SIMACC_ASK_EVENT,       /* the host asks; forgotten: it is told that all is done */
    SIMACC_FOR_COPY,        /* the host waits for a copy, and what is in front of it */
    SIMACC_FOR_STREAM,      /* the host waits for all of a stream */
    SIMACC_N_WAITS
} simacc_wait;

/* NULL without memory. seed 0: everything is done at once. */
simacc_queue *
simacc_queue_new(uint64_t seed);
void
simacc_queue_free(simacc_queue *q); /* does what is left */
/* The wait of this kind that is the n-th from now on (from 1; 0: none) is not done. */
void
simacc_queue_forget(simacc_queue *q, simacc_wait kind, unsigned n);
/* How many of the kind there were since the last call of simacc_queue_forget. */
unsigned
simacc_queue_waits(const simacc_queue *q, simacc_wait kind);

/* Streams live as long as the queue. */
simacc_stream *
simacc_stream_new(simacc_queue *q);
/* Takes the task over, also on failure. */
tnb_status
simacc_queue_put(simacc_queue *q, simacc_stream *s, simacc_task *t, tnb_err *err);
/* Does all that is in the stream; how gives the kind of wait. The first error of any task is told here. */
tnb_status
simacc_queue_sync(simacc_queue *q, simacc_stream *s, simacc_wait how, tnb_err *err);

simacc_event *
simacc_event_new(void);
void
simacc_event_free(simacc_queue *q, simacc_event *e); /* what is queued keeps it */
tnb_status
simacc_event_record(simacc_queue *q, simacc_stream *s, simacc_event *e, tnb_err *err);
tnb_status
simacc_event_wait(simacc_queue *q, simacc_stream *s, simacc_event *e, tnb_err *err);
/* Both have to be done; by the clock when they were. */
double
simacc_event_seconds(simacc_queue *q, const simacc_event *from, const simacc_event *to);
bool
simacc_event_done(simacc_queue *q, simacc_event *e);
tnb_status
simacc_event_sync(simacc_queue *q, simacc_event *e, tnb_err *err);

/* Between begin and end tasks of the stream are kept; records and waits are refused. */
tnb_status
simacc_graph_begin(simacc_queue *q, simacc_stream *s, tnb_err *err);
tnb_status
simacc_graph_end(simacc_queue *q, simacc_stream *s, simacc_graph **out, tnb_err *err);
/* TNB_UNSUPPORTED unless both have as many tasks. */
tnb_status
simacc_graph_update(simacc_queue *q, simacc_graph *g, simacc_graph *from, tnb_err *err);
tnb_status
simacc_graph_launch(simacc_queue *q, simacc_stream *s, simacc_graph *g, tnb_err *err);
void
simacc_graph_free(simacc_queue *q, simacc_graph *g);

#endif
