/* SPDX-License-Identifier: Apache-2.0 */
/* A device for faults.py: two of it, in the host's memory, with everything that a driver may have and a queue that is late and out of
 * order. `[device faulty] fault = NAME` has it do wrong what the check NAME of the conformance suite looks at; also "crash", "hang"
 * and "exit" when memory is allocated the second time.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../vendor/simacc/queue.h"
#include "tenon/rt/plugin.h"

enum { SPARE = 64, LITTLE = 4096, MOST = 1 << 28 };
static const char code[] = "add_f32: z = x + y\n";

typedef struct memory {
    pthread_mutex_t *lock;
    char *data;
    uint64_t bytes;
    uint32_t refs;
    bool spared; /* its data were given out again, too soon */
} memory;

typedef struct stream {
    struct stream *next;
    simacc_stream *own;
    bool lost; /* what is queued is not done */
} stream;

typedef struct device {
    pthread_mutex_t lock;
    simacc_queue *queue;
    stream *streams, *first;
    char fault[80];
    memory spare[SPARE]; /* data of memory that was freed too soon */
    uint32_t n_spare, allocs;
    memory *last; /* of little memory, which has the next request's place too */
} device;

static bool
faulty(const device *d, const char *check)
{
    return !strcmp(d->fault, check);
}

/* ---- work ---- */

enum { COPY, COPY_FORWARD, ZERO, ADD };
typedef struct task {
    simacc_task base;
    int what;
    memory *held[3];
    const stream *in;
    const void *from;
    void *to;
    uint64_t bytes;
    const float *x, *y;
    float *z;
} task;

static void
drop_memory(memory *m)
{
    if (!m)
        return;
    pthread_mutex_lock(m->lock);
    bool last = --m->refs == 0;
    pthread_mutex_unlock(m->lock);
    if (last && !m->spared)
        free(m->data);
    if (last)
        free(m);
}

static tnb_status
perform(simacc_task *base, tnb_err *err)
{
    task *t = (task *)base;
    (void)err;
    if (t->in->lost)
        return TNB_OK;
    switch (t->what) {
    case COPY:
        memmove(t->to, t->from, t->bytes);
        break;
    case COPY_FORWARD:
        for (uint64_t i = 0; i < t->bytes; i++)
            ((volatile char *)t->to)[i] = ((const char *)t->from)[i];
        break;
    case ZERO:
        memset(t->to, 0, t->bytes);
        break;
    default:
        for (uint64_t i = 0; i < t->bytes / sizeof *t->z; i++)
            t->z[i] = t->x[i] + t->y[i];
    }
    return TNB_OK;
}

static void
drop(simacc_task *base)
{
    task *t = (task *)base;
    for (int i = 0; i < 3; i++)
        drop_memory(t->held[i]);
    free(t);
}

static memory *
hold(void *mem)
{
    memory *m = mem;
    pthread_mutex_lock(m->lock);
    m->refs++;
    pthread_mutex_unlock(m->lock);
    return m;
}

static stream *
stream_of(device *d, void *s)
{
    return s ? s : d->first;
}

static tnb_status
put(device *d, void *in, task t, tnb_err *err)
{
    task *own = malloc(sizeof *own);
    if (!own)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory");
    *own = t;
    own->base = (simacc_task){perform, drop};
    own->in = stream_of(d, in);
    return simacc_queue_put(d->queue, own->in->own, &own->base, err);
}

/* ---- the device ---- */

static tnb_status
dev_count(void *self, int *n, tnb_err *err)
{
    (void)self, (void)err;
    *n = 2;
    return TNB_OK;
}

static tnb_status
dev_stream_new(void *dev, void **out, tnb_err *err)
{
    device *d = dev;
    stream *s = calloc(1, sizeof *s);
    if (!s || !(s->own = simacc_stream_new(d->queue))) {
        free(s);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory");
    }
    pthread_mutex_lock(&d->lock);
    s->next = d->streams;
    d->streams = s;
    pthread_mutex_unlock(&d->lock);
    *out = s;
    return TNB_OK;
}

static tnb_status
dev_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    device *d = calloc(1, sizeof *d);
    const char *fault = opt->setting ? opt->setting(opt->user, "fault") : NULL;
    void *first = NULL;
    (void)self, (void)id;
    if (!d || !(d->queue = simacc_queue_new(1)) || dev_stream_new(d, &first, err) != TNB_OK)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory");
    pthread_mutex_init(&d->lock, NULL);
    d->first = first;
    strncpy(d->fault, fault ? fault : "", sizeof d->fault - 1);
    *dev = d;
    return TNB_OK;
}

static void
dev_close(void *dev)
{
    device *d = dev;
    simacc_queue_free(d->queue);
    for (stream *s = d->streams, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    for (uint32_t i = 0; i < d->n_spare; i++)
        free(d->spare[i].data);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void
dev_describe(void *dev, char *out, size_t n)
{
    bool bad = faulty(dev, "describes_itself");
    size_t k = strlen("faulty, 256 MiB");
    k = k < n - 1 ? k : n - 1;
    memcpy(out, "faulty, 256 MiB", k);
    if (!bad)
        out[k] = 0;
}

static tnb_status
dev_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err)
{
    (void)features;
    return n == 0 || faulty(dev, "unknown_features_are_refused")
               ? TNB_OK
               : tnb_fail(err, TNB_UNSUPPORTED, "the device has no features");
}

/* ---- memory ---- */

static tnb_status
dev_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    device *d = dev;
    (void)scope;
    if (++d->allocs == 2) {
        if (faulty(d, "crash"))
            raise(SIGSEGV);
        if (faulty(d, "exit"))
            exit(0);
        while (faulty(d, "hang"))
            sleep(1);
    }
    if (d->last && bytes <= LITTLE) {
        d->last->bytes = bytes > d->last->bytes ? bytes : d->last->bytes;
        *mem = hold(d->last);
        return TNB_OK;
    }
    if (bytes == 0 && faulty(d, "no_bytes_are_no_error"))
        return tnb_fail(err, TNB_INVALID, "memory of no bytes");
    if (bytes > MOST) {
        if (!faulty(d, "too_much_memory_is_an_error"))
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for that");
        bytes = 1;
    }
    memory *m = calloc(1, sizeof *m);
    if (!m)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory");
    m->lock = &d->lock;
    m->bytes = bytes;
    m->refs = 1;
    for (uint32_t i = 0; i < d->n_spare && !m->data; i++)
        if (d->spare[i].bytes == bytes) {
            m->data = d->spare[i].data;
            d->spare[i] = d->spare[--d->n_spare];
        }
    if (!m->data)
        m->data = malloc(bytes > LITTLE ? bytes : LITTLE);
    if (!m->data) {
        free(m);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory");
    }
    *mem = m;
    if (bytes <= LITTLE && faulty(d, "allocations_are_apart_and_aligned"))
        d->last = m;
    return TNB_OK;
}

/* Its data may be given out again while queued work uses them. */
static void
free_too_soon(device *d, memory *m)
{
    if (d->n_spare < SPARE) {
        d->spare[d->n_spare++] = *m;
        m->spared = true;
    }
}

static void
give_back(device *d, memory *m, bool too_soon)
{
    if (d->last == m)
        d->last = NULL;
    if (too_soon)
        free_too_soon(d, m);
    drop_memory(m);
}

static void
dev_free(void *dev, void *mem)
{
    give_back(dev, mem, faulty(dev, "freed_memory_stays_for_queued_work"));
}

static tnb_status
dev_alloc_ordered(void *dev, void *in, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    (void)in;
    if (bytes > MOST && faulty(dev, "memory_comes_in_the_order_of_its_stream"))
        bytes = 1;
    return dev_alloc(dev, bytes, scope, mem, err);
}

static tnb_status
dev_free_ordered(void *dev, void *in, void *mem, tnb_err *err)
{
    (void)in, (void)err;
    give_back(dev, mem, faulty(dev, "memory_freed_in_order_stays_for_queued_work"));
    return TNB_OK;
}

static tnb_status
dev_pinned_alloc(void *dev, uint64_t bytes, void **host, tnb_err *err)
{
    return tnr_host_alloc(dev, bytes, NULL, host, err);
}

static void
dev_pinned_free(void *dev, void *host)
{
    tnr_host_free(dev, host);
}

static tnb_status
start(device *d, void *in, const tnr_copy *c, tnb_err *err)
{
    task t = {.what = COPY, .bytes = c->bytes};
    memory *to = c->kind == TNR_COPY_TO_HOST ? NULL : c->dst,
           *from = c->kind == TNR_COPY_TO_DEVICE ? NULL : (memory *)(uintptr_t)c->src;
    if (c->bytes == 0)
        return TNB_OK;
    if ((to && (c->dst_offset > to->bytes || c->bytes > to->bytes - c->dst_offset)) ||
        (from && (c->src_offset > from->bytes || c->bytes > from->bytes - c->src_offset)))
        return tnb_fail(err, TNB_BOUNDS, "beyond the memory");
    t.to = (to ? to->data : (char *)c->dst) + c->dst_offset;
    t.from = (from ? from->data : (const char *)c->src) +
             (to && from && faulty(d, "copies_honour_offsets") ? 0 : c->src_offset);
    if (to && from && faulty(d, "copies_may_overlap"))
        t.what = COPY_FORWARD;
    if (!from && faulty(d, "memory_keeps_what_is_written"))
        t.bytes--;
    t.held[0] = to ? hold(to) : NULL;
    t.held[1] = from ? hold(from) : NULL;
    return put(d, in, t, err);
}

static tnb_status
dev_copy_start(void *dev, void *in, const tnr_copy *c, tnb_err *err)
{
    return start(dev, in, c, err);
}

static tnb_status
dev_copy(void *dev, void *in, const tnr_copy *c, tnb_err *err)
{
    device *d = dev;
    TNB_TRY(start(d, in, c, err));
    return c->kind == TNR_COPY_ON_DEVICE
               ? TNB_OK
               : simacc_queue_sync(d->queue, stream_of(d, in)->own, SIMACC_FOR_COPY, err);
}

static tnb_status
dev_zero(void *dev, void *in, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    memory *m = mem;
    uint64_t more = faulty(dev, "zero_touches_its_range_only");
    if (bytes == 0)
        return TNB_OK;
    return put(dev, in,
               (task){.what = ZERO,
                      .held = {hold(m)},
                      .to = m->data + offset,
                      .bytes = offset + bytes < m->bytes ? bytes + more : bytes},
               err);
}

static bool
dev_peer(void *dev, void *from)
{
    return dev != from;
}

static tnb_status
dev_peer_copy(void *dev, void *in, void *from, const tnr_copy *c, tnb_err *err)
{
    tnr_copy there = *c;
    (void)from;
    if (faulty(dev, "copies_between_devices"))
        there.dst_offset = 0;
    return start(dev, in, &there, err);
}

/* ---- streams, events, graphs ---- */

static tnb_status
dev_sync(void *dev, void *in, tnb_err *err)
{
    device *d = dev;
    if (faulty(d, "waiting_for_a_stream_is_waiting_for_its_copies"))
        return TNB_OK;
    if (in && faulty(d, "waiting_for_nothing_is_no_error"))
        return tnb_fail(err, TNB_DEVICE, "nothing is queued");
    return simacc_queue_sync(d->queue, stream_of(d, in)->own, SIMACC_FOR_STREAM, err);
}

static void
dev_stream_free(void *dev, void *in)
{
    if (faulty(dev, "work_of_a_freed_stream_is_done"))
        ((stream *)in)->lost = true;
}

static tnb_status
dev_event_new(void *dev, void **event, tnb_err *err)
{
    (void)dev;
    *event = simacc_event_new();
    return *event ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory");
}

static void
dev_event_free(void *dev, void *event)
{
    simacc_event_free(((device *)dev)->queue, event);
}

static tnb_status
dev_event_record(void *dev, void *event, void *in, tnb_err *err)
{
    return simacc_event_record(((device *)dev)->queue, stream_of(dev, in)->own, event, err);
}

static tnb_status
dev_event_wait(void *dev, void *event, void *in, tnb_err *err)
{
    return faulty(dev, "streams_are_ordered_by_events")
               ? TNB_OK
               : simacc_event_wait(((device *)dev)->queue, stream_of(dev, in)->own, event, err);
}

static tnb_status
dev_event_sync(void *dev, void *event, tnb_err *err)
{
    return simacc_event_sync(((device *)dev)->queue, event, err);
}

static tnb_status
dev_event_seconds(void *dev, void *from, void *to, double *seconds, tnb_err *err)
{
    TNB_TRY(dev_event_sync(dev, from, err));
    TNB_TRY(dev_event_sync(dev, to, err));
    *seconds = simacc_event_seconds(((device *)dev)->queue, from, to);
    if (faulty(dev, "events_tell_the_time"))
        *seconds = -1;
    return TNB_OK;
}

static tnb_status
dev_event_done(void *dev, void *event, bool *done, tnb_err *err)
{
    (void)err;
    *done = faulty(dev, "copies_go_on") || simacc_event_done(((device *)dev)->queue, event);
    return TNB_OK;
}

static tnb_status
dev_graph_begin(void *dev, void *in, tnb_err *err)
{
    return simacc_graph_begin(((device *)dev)->queue, stream_of(dev, in)->own, err);
}

static tnb_status
dev_graph_end(void *dev, void *in, void **graph, tnb_err *err)
{
    simacc_graph *g = NULL;
    TNB_TRY(simacc_graph_end(((device *)dev)->queue, stream_of(dev, in)->own, &g, err));
    *graph = g;
    return TNB_OK;
}

static tnb_status
dev_graph_update(void *dev, void *graph, void *from, tnb_err *err)
{
    return faulty(dev, "graphs_are_replayed")
               ? TNB_OK
               : simacc_graph_update(((device *)dev)->queue, graph, from, err);
}

static tnb_status
dev_graph_launch(void *dev, void *in, void *graph, tnb_err *err)
{
    return simacc_graph_launch(((device *)dev)->queue, stream_of(dev, in)->own, graph, err);
}

static void
dev_graph_free(void *dev, void *graph)
{
    simacc_graph_free(((device *)dev)->queue, graph);
}

/* ---- modules: one text, one kernel ---- */

static tnb_status
dev_module_load(void *dev, const char *format, const void *bytes, size_t n, void **module,
                tnb_err *err)
{
    bool same = n == sizeof code - 1 && !memcmp(bytes, code, n);
    bool part = n < sizeof code - 1 && !memcmp(bytes, code, n);
    if (strcmp(format, "faulty") ||
        !(same || (part && faulty(dev, "truncated_modules_are_refused")) ||
          faulty(dev, "garbage_is_no_module")))
        return tnb_fail(err, TNB_FORMAT, "that is no code");
    *module = dev;
    return TNB_OK;
}

static void
dev_module_free(void *dev, void *module)
{
    (void)dev, (void)module;
}

static tnb_status
dev_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    (void)dev;
    if (strcmp(name, "add_f32"))
        return tnb_fail(err, TNB_NOT_FOUND, "no kernel '%s'", name);
    *kernel = module;
    return TNB_OK;
}

static tnb_status
dev_launch(void *dev, void *in, void *kernel, const tnr_launch *l, tnb_err *err)
{
    task t = {.what = ADD};
    (void)kernel;
    for (uint32_t i = 0; i < l->n_params; i++) {
        const tnr_param *p = &l->params[i];
        if (p->kind != TNB_PARAM_BUFFER && p->kind != TNB_PARAM_SCALAR)
            return faulty(dev, "parameters_that_it_does_not_take_are_refused")
                       ? TNB_OK
                       : tnr_refuse_param(l, i, err);
    }
    if (l->n_params != 4)
        return tnb_fail(err, TNB_INVALID, "add_f32 has four parameters");
    for (int i = 0; i < 3; i++)
        t.held[i] = hold(l->params[i].u.memory.mem);
    t.x = (const float *)(const void *)(t.held[0]->data + l->params[0].u.memory.offset);
    t.y = (const float *)(const void *)(t.held[1]->data + l->params[1].u.memory.offset);
    t.z = (float *)(void *)(t.held[2]->data + l->params[2].u.memory.offset);
    t.bytes = (uint64_t)(l->params[3].u.scalar.i - faulty(dev, "launches_compute")) * sizeof *t.z;
    return put(dev, in, t, err);
}

static const char *const formats[] = {"faulty", NULL};
static const tnr_setting settings[] = {{"fault", NULL, "the check that finds it"}, {0}};
static const tnr_driver driver = {
    .base = {sizeof(tnr_driver), "faulty", "a device that does one thing wrong"},
    .type = 12,
    .alignment = 16,
    .settings = settings,
    .count = dev_count,
    .open = dev_open,
    .close = dev_close,
    .describe = dev_describe,
    .check_features = dev_check_features,
    .alloc = dev_alloc,
    .free = dev_free,
    .copy = dev_copy,
    .zero = dev_zero,
    .sync = dev_sync,
    .stream_new = dev_stream_new,
    .stream_free = dev_stream_free,
    .event_new = dev_event_new,
    .event_free = dev_event_free,
    .event_record = dev_event_record,
    .event_wait = dev_event_wait,
    .event_seconds = dev_event_seconds,
    .event_done = dev_event_done,
    .event_sync = dev_event_sync,
    .copy_start = dev_copy_start,
    .pinned_alloc = dev_pinned_alloc,
    .pinned_free = dev_pinned_free,
    .alloc_ordered = dev_alloc_ordered,
    .free_ordered = dev_free_ordered,
    .peer = dev_peer,
    .peer_copy = dev_peer_copy,
    .formats = formats,
    .module_load = dev_module_load,
    .module_free = dev_module_free,
    .module_kernel = dev_module_kernel,
    .launch = dev_launch,
    .graph_begin = dev_graph_begin,
    .graph_end = dev_graph_end,
    .graph_update = dev_graph_update,
    .graph_launch = dev_graph_launch,
    .graph_free = dev_graph_free,
};
static const tnr_driver *const drivers[] = {&driver};

TNR_PLUGIN(faulty, "0.1.0", "Apache-2.0", "a device that does one thing wrong", .drivers = drivers,
           .n_drivers = 1);
