/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The simulated accelerator, device half: the driver. A handle of memory holds a number that the process knows, and no
 * address; commands are sent and not waited for, except reads, fences, and what loads code.
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
#include "tenon/base/num.h"
#include "tenon/rt/plugin.h"

enum { ALIGNMENT = 64, SOME_PARAMS = 32 };

/* Memory, a stream, an event, a module or a kernel. */
typedef struct handle {
    uint64_t id;
    uint64_t bytes;      /* of memory */
    uint64_t records;    /* of an event */
    struct handle *next; /* of those that are free, or of a module's kernels */
} handle;

typedef struct device {
    simacc_link *link;
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
        *h = (handle){.id = h->id};
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

static uint64_t
stream_id(const void *stream)
{
    return stream ? ((const handle *)stream)->id : 0;
}

/* A command with up to three arguments and nothing behind it. */
static tnb_status
command(device *d, uint32_t op, const void *stream, uint64_t a, uint64_t b, uint64_t c,
        tnb_err *err)
{
    const simacc_command cmd = {.op = op, .stream = stream_id(stream), .args = {a, b, c}};
    return simacc_send(d->link, &cmd, NULL, 0, NULL, 0, err);
}

static void
free_object(void *dev, void *object)
{
    device *d = dev;
    handle *h = object;
    if (!h)
        return;
    (void)command(d, SIMACC_FREE, NULL, h->id, 0, 0, NULL);
    pthread_mutex_lock(&d->lock);
    d->in_use -= h->bytes;
    pthread_mutex_unlock(&d->lock);
    forget(d, h);
}

static tnb_status
new_object(device *d, uint32_t op, uint64_t bytes, void **out, tnb_err *err)
{
    handle *h = new_handle(d, err);
    if (!h)
        return TNB_NO_MEMORY;
    tnb_status st = command(d, op, NULL, h->id, bytes, 0, err);
    if (st != TNB_OK) {
        forget(d, h);
        return st;
    }
    h->bytes = bytes;
    *out = h;
    return TNB_OK;
}

/* ---- opening ---- */

static char program[4096];

static tnb_status
sim_init(const char *plugin_dir, tnb_err *err)
{
    int n = snprintf(program, sizeof program, "%s/simacc_device", plugin_dir);
    return n > 0 && (size_t)n < sizeof program
               ? TNB_OK
               : tnb_fail(err, TNB_INVALID, "the plugin's folder has too long a name");
}

static tnb_status
sim_count(void *self, int *n, tnb_err *err)
{
    (void)self;
    *n = access(program, X_OK) == 0;
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
               *timeout = setting(opt, "timeout", "60");
    char *memory_end;
    double seconds = 0; /* stays if it is no number */
    (void)tnb_read_f64(timeout, strlen(timeout), &seconds);
    unsigned long long bytes = strtoull(memory, &memory_end, 10);
    (void)self, (void)id;
    if (*memory_end || !bytes || !(seconds > 0 && seconds < 1e6))
        return tnb_fail(
            err, TNB_INVALID,
            "[device simacc] memory = %s, timeout = %s: not a number of bytes and of seconds",
            memory, timeout);
    device *d = calloc(1, sizeof *d);
    if (!d)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open the simacc device");
    const simacc_settings s = {.program = program,
                               .memory = memory,
                               .cc = setting(opt, "cc", NULL),
                               .fault = setting(opt, "fault", NULL),
                               .timeout_ms = (int)(seconds * 1000)};
    d->memory = bytes;
    tnb_status st = simacc_link_open(&s, &d->link, err);
    if (st != TNB_OK) {
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

static tnb_status
sim_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    device *d = dev;
    const handle *dst = c->dst, *src = c->src;
    simacc_command cmd = {.stream = stream_id(stream)};
    if (c->bytes == 0)
        return TNB_OK;
    switch (c->kind) {
    case TNR_COPY_TO_DEVICE:
        TNB_TRY(within(dst, c->dst_offset, c->bytes, err));
        cmd.op = SIMACC_WRITE;
        cmd.args[0] = dst->id;
        cmd.args[1] = c->dst_offset;
        return simacc_send(d->link, &cmd, (const char *)c->src + c->src_offset, c->bytes, NULL, 0,
                           err);
    case TNR_COPY_TO_HOST:
        TNB_TRY(within(src, c->src_offset, c->bytes, err));
        cmd.op = SIMACC_READ;
        cmd.args[0] = src->id;
        cmd.args[1] = c->src_offset;
        cmd.args[2] = c->bytes;
        return simacc_ask(d->link, &cmd, NULL, 0, (char *)c->dst + c->dst_offset, c->bytes, NULL,
                          err);
    case TNR_COPY_ON_DEVICE:
        TNB_TRY(within(dst, c->dst_offset, c->bytes, err));
        TNB_TRY(within(src, c->src_offset, c->bytes, err));
        cmd = (simacc_command){.op = SIMACC_COPY,
                               .stream = cmd.stream,
                               .args = {dst->id, c->dst_offset, src->id, c->src_offset, c->bytes}};
        return simacc_send(d->link, &cmd, NULL, 0, NULL, 0, err);
    default:
        return tnb_fail(err, TNB_INVALID, "a copy of unknown kind %d", c->kind);
    }
}

static tnb_status
sim_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    const handle *h = mem;
    TNB_TRY(within(h, offset, bytes, err));
    return bytes ? command(dev, SIMACC_ZERO, stream, h->id, offset, bytes, err) : TNB_OK;
}

/* ---- streams and events ---- */

static tnb_status
sim_sync(void *dev, void *stream, tnb_err *err)
{
    const simacc_command cmd = {.op = SIMACC_FENCE, .stream = stream_id(stream)};
    return simacc_ask(((device *)dev)->link, &cmd, NULL, 0, NULL, 0, NULL, err);
}

static tnb_status
sim_stream_new(void *dev, void **stream, tnb_err *err)
{
    return new_object(dev, SIMACC_NEW_STREAM, 0, stream, err);
}

static tnb_status
sim_event_new(void *dev, void **event, tnb_err *err)
{
    return new_object(dev, SIMACC_NEW_EVENT, 0, event, err);
}

static tnb_status
sim_event_record(void *dev, void *event, void *stream, tnb_err *err)
{
    handle *h = event;
    TNB_TRY(command(dev, SIMACC_RECORD, stream, h->id, h->records + 1, 0, err));
    h->records++;
    return TNB_OK;
}

static tnb_status
sim_event_wait(void *dev, void *event, void *stream, tnb_err *err)
{
    const handle *h = event;
    return h->records ? command(dev, SIMACC_WAIT, stream, h->id, h->records, 0, err) : TNB_OK;
}

static tnb_status
time_of(device *d, const handle *h, uint64_t *ns, tnb_err *err)
{
    const simacc_command cmd = {.op = SIMACC_TIME, .args = {h->id, h->records}};
    if (!h->records)
        return tnb_fail(err, TNB_INVALID, "the event was not recorded");
    return simacc_ask(d->link, &cmd, NULL, 0, NULL, 0, ns, err);
}

static tnb_status
sim_event_seconds(void *dev, void *from, void *to, double *seconds, tnb_err *err)
{
    uint64_t a, b;
    TNB_TRY(time_of(dev, from, &a, err));
    TNB_TRY(time_of(dev, to, &b, err));
    *seconds = (double)(int64_t)(b - a) * 1e-9;
    return TNB_OK;
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

/* The parameters in the two arrays that follow a launch; both have room for all. */
static tnb_status
gather(const tnr_launch *l, simacc_buffer *buffers, tnr_scalar *scalars, uint32_t n[2],
       tnb_err *err)
{
    for (uint32_t i = 0; i < l->n_params; i++) {
        const tnr_param *p = &l->params[i];
        const tnr_memory *m = &p->u.memory;
        switch (p->kind) {
        case TNB_PARAM_BUFFER:
            TNB_TRY(within(m->mem, m->offset, m->bytes, err));
            buffers[n[0]++] =
                (simacc_buffer){((const handle *)m->mem)->id, m->offset, m->bytes, p->written};
            break;
        case TNB_PARAM_SCALAR:
            scalars[n[1]++] = p->u.scalar;
            break;
        case TNB_PARAM_REFUSED: /* an index that is refused ends the launch */
        case TNB_PARAM_TAG:
            break;
        default:
            return tnr_refuse_param(l, i, err);
        }
    }
    return TNB_OK;
}

static tnb_status
sim_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    simacc_buffer some[SOME_PARAMS], *buffers = some;
    tnr_scalar few[SOME_PARAMS], *scalars = few;
    uint32_t n[2] = {0};
    if (l->n_params > SOME_PARAMS) {
        buffers = calloc(l->n_params, sizeof *buffers);
        scalars = calloc(l->n_params, sizeof *scalars);
    }
    tnb_status st = buffers && scalars ? gather(l, buffers, scalars, n, err)
                                       : tnb_fail(err, TNB_NO_MEMORY, "no memory for a launch");
    const simacc_command cmd = {.op = SIMACC_LAUNCH,
                                .stream = stream_id(stream),
                                .args = {((const handle *)kernel)->id, n[0], n[1]}};
    if (st == TNB_OK)
        st = simacc_send(((device *)dev)->link, &cmd, buffers, n[0] * sizeof *buffers, scalars,
                         n[1] * sizeof *scalars, err);
    if (buffers != some)
        free(buffers);
    if (scalars != few)
        free(scalars);
    return st;
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
    .stream_free = free_object,
    .event_new = sim_event_new,
    .event_free = free_object,
    .event_record = sim_event_record,
    .event_wait = sim_event_wait,
    .event_seconds = sim_event_seconds,
    .formats = formats,
    .module_load = sim_module_load,
    .module_free = sim_module_free,
    .module_kernel = sim_module_kernel,
    .launch = sim_launch,
};
static const tnr_driver *const drivers[] = {&driver};

TNR_PLUGIN(simacc_rt, "0.1.0", "Apache-2.0 OR MIT-0", "the simulated accelerator's device",
           .drivers = drivers, .n_drivers = 1, .init = sim_init);
