/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The simulated accelerator, device half: the driver. A handle of memory holds a number that the process knows, and no
 * address. Work goes into a queue that is late and out of order (queue.h), which sends it to the process when somebody waits.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "queue.h"
#include "tenon/base/num.h"
#include "tenon/rt/plugin.h"

enum { ALIGNMENT = 64, DEVICES = 2 };

/* Memory, a module or a kernel. */
typedef struct handle {
    uint64_t id;
    uint64_t bytes;      /* of memory */
    unsigned refs;       /* the owner's, and of what is queued */
    struct handle *next; /* of those that are free, or of a module's kernels */
} handle;

typedef struct device {
    simacc_link *link;
    simacc_queue *queue;
    simacc_stream *own; /* the stream NULL */
    uint64_t memory, in_use;
    uint64_t n_ids;
    handle *free_ones; /* their numbers are given again */
    pthread_mutex_t lock;
} device;

/* ---- handles ---- */

static handle *
new_handle(device *d, tnb_err *err)
{
    pthread_mutex_lock(&d->lock);
    handle *h = d->free_ones;
    if (h)
        d->free_ones = h->next;
    else if ((h = calloc(1, sizeof *h)))
        h->id = ++d->n_ids;
    pthread_mutex_unlock(&d->lock);
    if (h)
        *h = (handle){.id = h->id, .refs = 1};
    else
        (void)tnb_fail(err, TNB_NO_MEMORY, "no memory for a handle of the simacc device");
    return h;
}

static void
forget(device *d, handle *h)
{
    pthread_mutex_lock(&d->lock);
    h->next = d->free_ones;
    d->free_ones = h;
    pthread_mutex_unlock(&d->lock);
}

/* A command with up to three arguments and nothing behind it, at once. */
static tnb_status
command(device *d, uint32_t op, uint64_t a, uint64_t b, tnb_err *err)
{
    const simacc_command cmd = {.op = op, .args = {a, b}};
    return simacc_send(d->link, &cmd, NULL, 0, NULL, 0, err);
}

static void
hold(device *d, handle *h)
{
    pthread_mutex_lock(&d->lock);
    h->refs++;
    pthread_mutex_unlock(&d->lock);
}

static void
free_object(void *dev, void *object)
{
    device *d = dev;
    handle *h = object;
    if (!h)
        return;
    pthread_mutex_lock(&d->lock);
    bool last = --h->refs == 0;
    if (last)
        d->in_use -= h->bytes;
    pthread_mutex_unlock(&d->lock);
    if (!last)
        return;
    (void)command(d, SIMACC_FREE, h->id, 0, NULL);
    forget(d, h);
}

static tnb_status
new_object(device *d, uint32_t op, uint64_t bytes, void **out, tnb_err *err)
{
    handle *h = new_handle(d, err);
    if (!h)
        return TNB_NO_MEMORY;
    tnb_status st = command(d, op, h->id, bytes, err);
    if (st != TNB_OK) {
        forget(d, h);
        return st;
    }
    h->bytes = bytes;
    *out = h;
    return TNB_OK;
}

/* ---- work that is queued ---- */

/* A command with the handles it names. What follows it: bytes of its own, or of the host's memory as they are when it is
 * done; its answer goes to the host's memory. */
typedef struct task {
    simacc_task base;
    device *device;
    simacc_command command;
    uint64_t n_own, n_late, n_answer;
    const void *late;
    void *answer;
    uint32_t n_handles;
    handle **handles;
    char own[];
} task;

static tnb_status
perform(simacc_task *base, tnb_err *err)
{
    task *t = (task *)base;
    if (t->answer)
        return simacc_ask(t->device->link, &t->command, NULL, 0, t->answer, t->n_answer, NULL, err);
    return simacc_send(t->device->link, &t->command, t->own, t->n_own, t->late, t->n_late, err);
}

static void
drop(simacc_task *base)
{
    task *t = (task *)base;
    for (uint32_t i = 0; i < t->n_handles; i++)
        free_object(t->device, t->handles[i]);
    free(t->handles);
    free(t);
}

/* With room for so many handles, and bytes of its own. */
static task *
new_task(device *d, uint32_t op, uint32_t handles, uint64_t own, tnb_err *err)
{
    task *t = calloc(1, sizeof *t + own);
    if (t)
        t->handles = calloc(handles + 1, sizeof *t->handles);
    if (!t || !t->handles) {
        free(t);
        (void)tnb_fail(err, TNB_NO_MEMORY, "no memory for the queue of the simacc device");
        return NULL;
    }
    t->base = (simacc_task){perform, drop};
    t->device = d;
    t->command.op = op;
    t->n_own = own;
    return t;
}

/* The number of a handle that the task names from now on. */
static uint64_t
name(task *t, const void *object)
{
    handle *h = (handle *)(uintptr_t)object;
    hold(t->device, h);
    t->handles[t->n_handles++] = h;
    return h->id;
}

static simacc_stream *
stream_of(const device *d, void *stream)
{
    return stream ? stream : d->own;
}

static tnb_status
put(device *d, void *stream, task *t, tnb_err *err)
{
    return simacc_queue_put(d->queue, stream_of(d, stream), &t->base, err);
}

/* ---- opening ---- */

static char program[4096];

static tnb_status
sim_init(const tnb_plugin_start *start, tnb_err *err)
{
    int n = snprintf(program, sizeof program, "%s/simacc_device", start->folder);
    return n > 0 && (size_t)n < sizeof program
               ? TNB_OK
               : tnb_fail(err, TNB_INVALID, "the plugin's folder has too long a name");
}

static tnb_status
sim_count(void *self, int *n, tnb_err *err)
{
    (void)self;
    *n = access(program, X_OK) == 0 ? DEVICES : 0;
    if (!*n) {
        (void)tnb_fail(err, TNB_DEVICE, "the simacc device is simulated by %s: %s", program,
                       strerror(errno));
        tnb_hint(err, "install it beside the plugin");
    }
    return TNB_OK;
}

static const char *
setting(const tnr_device_options *opt, const char *key, const char *otherwise)
{
    const char *s = opt && opt->setting ? opt->setting(opt->user, key) : NULL;
    return s ? s : otherwise;
}

static tnb_status
sim_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    const char *memory = setting(opt, "memory", "1073741824"),
               *timeout = setting(opt, "timeout", "60"), *delay = setting(opt, "delay", "1");
    char *memory_end, *delay_end;
    double seconds = 0; /* stays if it is no number */
    (void)tnb_read_f64(timeout, strlen(timeout), &seconds);
    unsigned long long bytes = strtoull(memory, &memory_end, 10),
                       seed = strtoull(delay, &delay_end, 10);
    (void)self, (void)id;
    if (*memory_end || !bytes || !(seconds > 0 && seconds < 1e6))
        return tnb_fail(
            err, TNB_INVALID,
            "[device simacc] memory = %s, timeout = %s: not a number of bytes and of seconds",
            memory, timeout);
    if (*delay_end || !*delay)
        return tnb_fail(err, TNB_INVALID, "[device simacc] delay = %s: a number, 0 for none",
                        delay);
    device *d = calloc(1, sizeof *d);
    if (d)
        d->queue = simacc_queue_new(seed);
    if (d && d->queue)
        d->own = simacc_stream_new(d->queue);
    if (!d || !d->own) {
        simacc_queue_free(d ? d->queue : NULL);
        free(d);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open the simacc device");
    }
    const simacc_settings s = {.program = program,
                               .memory = memory,
                               .cc = setting(opt, "cc", NULL),
                               .fault = setting(opt, "fault", NULL),
                               .timeout_ms = (int)(seconds * 1000)};
    d->memory = bytes;
    tnb_status st = simacc_link_open(&s, &d->link, err);
    if (st != TNB_OK) {
        simacc_queue_free(d->queue);
        free(d);
        return st;
    }
    pthread_mutex_init(&d->lock, NULL);
    *dev = d;
    return TNB_OK;
}

static void
sim_close(void *dev)
{
    device *d = dev;
    simacc_queue_free(d->queue);
    simacc_link_close(d->link);
    while (d->free_ones) {
        handle *next = d->free_ones->next;
        free(d->free_ones);
        d->free_ones = next;
    }
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void
sim_describe(void *dev, char *out, size_t n)
{
    snprintf(out, n, "simulated by a process, %" PRIu64 " bytes of memory",
             ((device *)dev)->memory);
}

static tnb_status
sim_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err)
{
    (void)dev;
    return n ? tnb_fail(err, TNB_UNSUPPORTED,
                        "the code needs '%s', the simacc device has no features", features[0])
             : TNB_OK;
}

/* ---- memory ---- */

static tnb_status
sim_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    device *d = dev;
    if (strcmp(scope, "global") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED, "the simacc device has no memory of scope '%s'",
                        scope);
    pthread_mutex_lock(&d->lock);
    uint64_t used = d->in_use;
    bool room = bytes <= d->memory && used <= d->memory - bytes;
    if (room)
        d->in_use += bytes;
    pthread_mutex_unlock(&d->lock);
    if (!room)
        return tnb_fail(err, TNB_NO_MEMORY,
                        "no memory for %" PRIu64 " bytes: the simacc device has %" PRIu64
                        ", of which %" PRIu64 " are in use",
                        bytes, d->memory, used);
    tnb_status st = new_object(d, SIMACC_ALLOC, bytes, mem, err);
    if (st != TNB_OK) {
        pthread_mutex_lock(&d->lock);
        d->in_use -= bytes;
        pthread_mutex_unlock(&d->lock);
    }
    return st;
}

static tnb_status
within(const handle *h, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    if (offset <= h->bytes && bytes <= h->bytes - offset)
        return TNB_OK;
    return tnb_fail(err, TNB_BOUNDS, "%" PRIu64 " bytes at %" PRIu64 " of memory that has %" PRIu64,
                    bytes, offset, h->bytes);
}

/* Queues a copy; the host's memory is read, or written, when its turn comes. */
static tnb_status
sim_copy_start(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    device *d = dev;
    task *t = NULL;
    if (c->bytes == 0)
        return TNB_OK;
    if (c->kind != TNR_COPY_TO_HOST)
        TNB_TRY(within(c->dst, c->dst_offset, c->bytes, err));
    if (c->kind != TNR_COPY_TO_DEVICE)
        TNB_TRY(within(c->src, c->src_offset, c->bytes, err));
    switch (c->kind) {
    case TNR_COPY_TO_DEVICE:
        if (!(t = new_task(d, SIMACC_WRITE, 1, 0, err)))
            return TNB_NO_MEMORY;
        t->command.args[0] = name(t, c->dst);
        t->command.args[1] = c->dst_offset;
        t->late = (const char *)c->src + c->src_offset;
        t->n_late = c->bytes;
        break;
    case TNR_COPY_TO_HOST:
        if (!(t = new_task(d, SIMACC_READ, 1, 0, err)))
            return TNB_NO_MEMORY;
        t->command.args[0] = name(t, c->src);
        t->command.args[1] = c->src_offset;
        t->command.args[2] = c->bytes;
        t->answer = (char *)c->dst + c->dst_offset;
        t->n_answer = c->bytes;
        break;
    case TNR_COPY_ON_DEVICE:
        if (!(t = new_task(d, SIMACC_COPY, 2, 0, err)))
            return TNB_NO_MEMORY;
        t->command.args[0] = name(t, c->dst);
        t->command.args[1] = c->dst_offset;
        t->command.args[2] = name(t, c->src);
        t->command.args[3] = c->src_offset;
        t->command.args[4] = c->bytes;
        break;
    default:
        return tnb_fail(err, TNB_INVALID, "a copy of unknown kind %d", c->kind);
    }
    return put(d, stream, t, err);
}

static tnb_status
sim_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    device *d = dev;
    TNB_TRY(sim_copy_start(dev, stream, c, err));
    return c->bytes == 0 || c->kind == TNR_COPY_ON_DEVICE
               ? TNB_OK
               : simacc_queue_sync(d->queue, stream_of(d, stream), SIMACC_FOR_COPY, err);
}

static tnb_status
sim_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    TNB_TRY(within(mem, offset, bytes, err));
    task *t = bytes ? new_task(dev, SIMACC_ZERO, 1, 0, err) : NULL;
    if (!t)
        return bytes ? TNB_NO_MEMORY : TNB_OK;
    t->command.args[0] = name(t, mem);
    t->command.args[1] = offset;
    t->command.args[2] = bytes;
    return put(dev, stream, t, err);
}

/* Memory is there at once; what is given back is spoilt in the order of the stream. */
static tnb_status
sim_alloc_ordered(void *dev, void *stream, uint64_t bytes, const char *scope, void **mem,
                  tnb_err *err)
{
    (void)stream;
    return sim_alloc(dev, bytes, scope, mem, err);
}

static tnb_status
sim_free_ordered(void *dev, void *stream, void *mem, tnb_err *err)
{
    TNB_TRY(sim_zero(dev, stream, mem, 0, ((const handle *)mem)->bytes, err));
    free_object(dev, mem);
    return TNB_OK;
}

static tnb_status
sim_pinned_alloc(void *dev, uint64_t bytes, void **host, tnb_err *err)
{
    (void)dev;
    return tnr_host_alloc(NULL, bytes, NULL, host, err);
}

static void
sim_pinned_free(void *dev, void *host)
{
    tnr_host_free(dev, host);
}

/* ---- copies between devices ---- */

/* By way of the host: the other process gives its bytes when the turn of the copy comes. */
typedef struct peer_task {
    simacc_task base;
    device *to, *from;
    handle *dst, *src;
    uint64_t dst_offset, src_offset, bytes;
} peer_task;

static tnb_status
perform_peer(simacc_task *base, tnb_err *err)
{
    const peer_task *t = (const peer_task *)base;
    const simacc_command get = {.op = SIMACC_READ, .args = {t->src->id, t->src_offset, t->bytes}},
                         put_ = {.op = SIMACC_WRITE, .args = {t->dst->id, t->dst_offset}};
    void *bytes = malloc(t->bytes);
    if (!bytes)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a copy between simacc devices");
    tnb_status st = simacc_ask(t->from->link, &get, NULL, 0, bytes, t->bytes, NULL, err);
    if (st == TNB_OK)
        st = simacc_send(t->to->link, &put_, NULL, 0, bytes, t->bytes, err);
    free(bytes);
    return st;
}

static void
drop_peer(simacc_task *base)
{
    peer_task *t = (peer_task *)base;
    free_object(t->to, t->dst);
    free_object(t->from, t->src);
    free(t);
}

static bool
sim_peer(void *dev, void *from)
{
    return dev != from;
}

static tnb_status
sim_peer_copy(void *dev, void *stream, void *from, const tnr_copy *c, tnb_err *err)
{
    device *d = dev;
    if (c->bytes == 0)
        return TNB_OK;
    TNB_TRY(within(c->dst, c->dst_offset, c->bytes, err));
    TNB_TRY(within(c->src, c->src_offset, c->bytes, err));
    peer_task *t = malloc(sizeof *t);
    if (!t)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the queue of the simacc device");
    *t = (peer_task){.base = {perform_peer, drop_peer},
                     .to = d,
                     .from = from,
                     .dst = c->dst,
                     .src = (handle *)(uintptr_t)c->src,
                     .dst_offset = c->dst_offset,
                     .src_offset = c->src_offset,
                     .bytes = c->bytes};
    hold(t->to, t->dst);
    hold(t->from, t->src);
    return simacc_queue_put(d->queue, stream_of(d, stream), &t->base, err);
}

/* ---- streams and events ---- */

static tnb_status
sim_sync(void *dev, void *stream, tnb_err *err)
{
    device *d = dev;
    const simacc_command cmd = {.op = SIMACC_FENCE};
    TNB_TRY(simacc_queue_sync(d->queue, stream_of(d, stream), SIMACC_FOR_STREAM, err));
    return simacc_ask(d->link, &cmd, NULL, 0, NULL, 0, NULL, err);
}

static tnb_status
sim_stream_new(void *dev, void **stream, tnb_err *err)
{
    *stream = simacc_stream_new(((device *)dev)->queue);
    return *stream ? TNB_OK
                   : tnb_fail(err, TNB_NO_MEMORY, "no memory for a stream of the simacc device");
}

static void
sim_stream_free(void *dev, void *stream)
{
    (void)dev, (void)stream; /* its work goes on; it goes with the queue */
}

static tnb_status
sim_event_new(void *dev, void **event, tnb_err *err)
{
    (void)dev;
    *event = simacc_event_new();
    return *event ? TNB_OK
                  : tnb_fail(err, TNB_NO_MEMORY, "no memory for an event of the simacc device");
}

static void
sim_event_free(void *dev, void *event)
{
    simacc_event_free(((device *)dev)->queue, event);
}

static tnb_status
sim_event_record(void *dev, void *event, void *stream, tnb_err *err)
{
    device *d = dev;
    return simacc_event_record(d->queue, stream_of(d, stream), event, err);
}

static tnb_status
sim_event_wait(void *dev, void *event, void *stream, tnb_err *err)
{
    device *d = dev;
    return simacc_event_wait(d->queue, stream_of(d, stream), event, err);
}

static tnb_status
sim_event_seconds(void *dev, void *from, void *to, double *seconds, tnb_err *err)
{
    device *d = dev;
    TNB_TRY(simacc_event_sync(d->queue, from, err));
    TNB_TRY(simacc_event_sync(d->queue, to, err));
    *seconds = simacc_event_seconds(d->queue, from, to);
    return TNB_OK;
}

static tnb_status
sim_event_done(void *dev, void *event, bool *done, tnb_err *err)
{
    (void)err;
    *done = simacc_event_done(((device *)dev)->queue, event);
    return TNB_OK;
}

static tnb_status
sim_event_sync(void *dev, void *event, tnb_err *err)
{
    return simacc_event_sync(((device *)dev)->queue, event, err);
}

/* ---- graphs ---- */

static tnb_status
sim_graph_begin(void *dev, void *stream, tnb_err *err)
{
    device *d = dev;
    return simacc_graph_begin(d->queue, stream_of(d, stream), err);
}

static tnb_status
sim_graph_end(void *dev, void *stream, void **graph, tnb_err *err)
{
    device *d = dev;
    simacc_graph *g = NULL;
    TNB_TRY(simacc_graph_end(d->queue, stream_of(d, stream), &g, err));
    *graph = g;
    return TNB_OK;
}

static tnb_status
sim_graph_update(void *dev, void *graph, void *from, tnb_err *err)
{
    return simacc_graph_update(((device *)dev)->queue, graph, from, err);
}

static tnb_status
sim_graph_launch(void *dev, void *stream, void *graph, tnb_err *err)
{
    device *d = dev;
    return simacc_graph_launch(d->queue, stream_of(d, stream), graph, err);
}

static void
sim_graph_free(void *dev, void *graph)
{
    simacc_graph_free(((device *)dev)->queue, graph);
}

/* ---- modules ---- */

/* The line in front of the source says how long the source is. */
static tnb_status
check_source(const char *code, size_t n, tnb_err *err)
{
    char line[64] = "";
    const char *end = n ? memchr(code, '\n', n < sizeof line ? n : sizeof line - 1) : NULL;
    unsigned long long said = 0;
    if (end)
        memcpy(line, code, (size_t)(end - code));
    if (!end || sscanf(line, "// " SIMACC_FORMAT " %llu", &said) != 1)
        return tnb_fail(err, TNB_FORMAT, "this is no code of the simacc device (%zu bytes)", n);
    size_t is = n - (size_t)(end + 1 - code);
    if (said != is)
        return tnb_fail(err, TNB_FORMAT, "the code says that it has %llu bytes, and has %zu", said,
                        is);
    return TNB_OK;
}

static tnb_status
sim_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                tnb_err *err)
{
    device *d = dev;
    if (strcmp(format, SIMACC_FORMAT) != 0)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "the simacc device takes code of format '" SIMACC_FORMAT "', not '%s'",
                        format);
    TNB_TRY(check_source(code, n, err));
    handle *h = new_handle(d, err);
    if (!h)
        return TNB_NO_MEMORY;
    const simacc_command cmd = {.op = SIMACC_LOAD, .args = {h->id}};
    tnb_status st = simacc_ask(d->link, &cmd, code, n, NULL, 0, NULL, err);
    if (st != TNB_OK) {
        forget(d, h);
        return st;
    }
    *module = h;
    return TNB_OK;
}

static void
sim_module_free(void *dev, void *module)
{
    handle *m = module;
    while (m && m->next) {
        handle *kernel = m->next;
        m->next = kernel->next;
        free_object(dev, kernel);
    }
    free_object(dev, m);
}

static tnb_status
sim_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    device *d = dev;
    handle *m = module, *h = new_handle(d, err);
    if (!h)
        return TNB_NO_MEMORY;
    const simacc_command cmd = {.op = SIMACC_KERNEL, .args = {h->id, m->id}};
    tnb_status st = simacc_ask(d->link, &cmd, name, strlen(name), NULL, 0, NULL, err);
    if (st != TNB_OK) {
        forget(d, h);
        return st;
    }
    h->next = m->next;
    m->next = h;
    *kernel = h;
    return TNB_OK;
}

/* Parameters in the order of a launch's payload: buffers, then scalars. */
static tnb_status
describe_launch(task *t, const tnr_launch *l, uint32_t n_buffers, tnb_err *err)
{
    simacc_buffer *buffers = (simacc_buffer *)(void *)t->own;
    tnr_scalar *scalars = (tnr_scalar *)(void *)(buffers + n_buffers);
    for (uint32_t i = 0; i < l->n_params; i++) {
        const tnr_param *p = &l->params[i];
        const tnr_memory *m = &p->u.memory;
        if (p->kind == TNB_PARAM_SCALAR)
            *scalars++ = p->u.scalar;
        if (p->kind != TNB_PARAM_BUFFER)
            continue;
        TNB_TRY(within(m->mem, m->offset, m->bytes, err));
        *buffers++ = (simacc_buffer){name(t, m->mem), m->offset, m->bytes, p->written};
    }
    return TNB_OK;
}

static tnb_status
sim_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    uint32_t buffers = 0, scalars = 0;
    for (uint32_t i = 0; i < l->n_params; i++) {
        uint32_t kind = l->params[i].kind;
        buffers += kind == TNB_PARAM_BUFFER;
        scalars += kind == TNB_PARAM_SCALAR;
        /* an index that is refused ends the launch */
        if (kind != TNB_PARAM_BUFFER && kind != TNB_PARAM_SCALAR && kind != TNB_PARAM_REFUSED &&
            kind != TNB_PARAM_TAG)
            return tnr_refuse_param(l, i, err);
    }
    task *t = new_task(dev, SIMACC_LAUNCH, buffers + 1,
                       buffers * sizeof(simacc_buffer) + scalars * sizeof(tnr_scalar), err);
    if (!t)
        return TNB_NO_MEMORY;
    t->command.args[0] = name(t, kernel);
    t->command.args[1] = buffers;
    t->command.args[2] = scalars;
    tnb_status st = describe_launch(t, l, buffers, err);
    if (st != TNB_OK) {
        drop(&t->base);
        return st;
    }
    return put(dev, stream, t, err);
}

static const char *const formats[] = {SIMACC_FORMAT, NULL};

static const tnr_driver driver = {
    .base.size = sizeof(tnr_driver),
    .base.name = "simacc",
    .base.doc = "an accelerator that a process of its own simulates",
    .type = TNB_EXT_DEV,
    .alignment = ALIGNMENT,
    .count = sim_count,
    .open = sim_open,
    .close = sim_close,
    .describe = sim_describe,
    .check_features = sim_check_features,
    .alloc = sim_alloc,
    .free = free_object,
    .copy = sim_copy,
    .zero = sim_zero,
    .sync = sim_sync,
    .stream_new = sim_stream_new,
    .stream_free = sim_stream_free,
    .event_new = sim_event_new,
    .event_free = sim_event_free,
    .event_record = sim_event_record,
    .event_wait = sim_event_wait,
    .event_seconds = sim_event_seconds,
    .event_done = sim_event_done,
    .event_sync = sim_event_sync,
    .copy_start = sim_copy_start,
    .pinned_alloc = sim_pinned_alloc,
    .pinned_free = sim_pinned_free,
    .alloc_ordered = sim_alloc_ordered,
    .free_ordered = sim_free_ordered,
    .peer = sim_peer,
    .peer_copy = sim_peer_copy,
    .graph_begin = sim_graph_begin,
    .graph_end = sim_graph_end,
    .graph_update = sim_graph_update,
    .graph_launch = sim_graph_launch,
    .graph_free = sim_graph_free,
    .formats = formats,
    .module_load = sim_module_load,
    .module_free = sim_module_free,
    .module_kernel = sim_module_kernel,
    .launch = sim_launch,
};
static const tnr_driver *const drivers[] = {&driver};

TNR_PLUGIN(simacc_rt, "0.1.0", "Apache-2.0 OR MIT-0", "the simulated accelerator's device",
           .drivers = drivers, .n_drivers = 1, .init = sim_init);
