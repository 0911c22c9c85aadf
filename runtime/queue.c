/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and the order of their work.
 *
 * Every machine has a stream on each device that has streams. A storage belongs to the stream that used it last (its queue):
 * whoever uses it on another one lets that wait for what was queued until then, and takes it over. So does the pool with
 * a block that comes back. Copies with the host go by the storage's queue. It does not matter how a machine got the storage: it asks
 * for the order before each piece of work, and again behind it, since another thread's machine may have taken the storage over
 * between the two. A program that lets two machines use the same storage at the same time may read it only.
 */
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "tenon/base/log.h"

/* ---- errors that a device reports late ---- */

/* Of the names that `launched` points to: a machine's go with its artifact. */
static pthread_mutex_t names = PTHREAD_MUTEX_INITIALIZER;

tnb_status
tnr_waited(tnr_device *dev, struct tnr_queue *q, tnb_status st, tnb_err *err)
{
    struct launched *l = q ? &q->launched : &dev->launched;
    const char *device = dev->driver->base.name;
    if (st == TNB_OK) {
        atomic_store_explicit(&l->n, 0, memory_order_relaxed);
        return st;
    }
    if (!err)
        return st;
    pthread_mutex_lock(&names);
    const char *kernel = atomic_load(&l->kernel);
    unsigned n = kernel ? atomic_load(&l->n) : 0;
    if (n == 1)
        tnb_err_prefix(err, "device '%s', kernel '%s'", device, kernel);
    else if (n)
        tnb_err_prefix(err, "device '%s', after %u kernels of which '%s' was the last", device, n,
                       kernel);
    else if (strncmp(err->message, "device '", 8) != 0)
        tnb_err_prefix(err, "device '%s'", device);
    pthread_mutex_unlock(&names);
    if (n > 1 && !err->hint[0])
        tnb_hint(err, "tenon run --profile-kernels waits behind each kernel, and names the one");
    return st;
}

static void
forget(struct launched *l, const struct section *s)
{
    const char *kernel = atomic_load(&l->kernel), *from = s->at;
    if (kernel && kernel >= from && kernel < from + s->n)
        atomic_store(&l->kernel, NULL);
}

void
tnr_forget_launches(tnr_vm *vm)
{
    pthread_mutex_lock(&names);
    for (uint32_t i = 0; vm->queues && vm->devices && i < vm->p.head.n_devices; i++) {
        if (vm->devices[i])
            forget(&vm->devices[i]->launched, &vm->variant->program);
        if (vm->queues[i])
            forget(&vm->queues[i]->launched, &vm->variant->program);
    }
    pthread_mutex_unlock(&names);
}

tnb_status
tnr_queue_new(tnr_device *dev, struct tnr_queue **out, tnb_err *err)
{
    *out = NULL;
    if (!dev->has_streams)
        return TNB_OK;
    struct tnr_queue *q = calloc(1, sizeof *q);
    if (!q)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a stream");
    tnb_status st = TNR_ASK(dev, err, stream_new, &q->stream);
    if (st != TNB_OK) {
        free(q);
        return st;
    }
    q->device = dev;
    atomic_init(&q->refs, 1);
    pthread_mutex_lock(&dev->lock);
    q->next = dev->queues;
    dev->queues = q;
    pthread_mutex_unlock(&dev->lock);
    *out = q;
    return TNB_OK;
}

struct tnr_queue *
tnr_queue_retain(struct tnr_queue *q)
{
    if (q)
        atomic_fetch_add(&q->refs, 1);
    return q;
}

static void
drop_locked(struct tnr_queue *q)
{
    if (atomic_fetch_sub(&q->refs, 1) > 1)
        return;
    tnr_device *dev = q->device;
    struct tnr_queue **at = &dev->queues;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    if (q->event)
        dev->driver->event_free(dev->handle, q->event);
    dev->driver->stream_free(dev->handle, q->stream);
    free(q);
}

void
tnr_queue_drop(struct tnr_queue *q, bool locked)
{
    pthread_mutex_t *lock = &q->device->lock;
    if (!locked)
        pthread_mutex_lock(lock);
    drop_locked(q);
    if (!locked)
        pthread_mutex_unlock(lock);
}

tnb_status
tnr_queue_wait_locked(tnr_device *dev, struct tnr_queue *q, struct tnr_queue *behind, tnb_err *err)
{
    const tnr_driver *d = dev->driver;
    if (q == behind)
        return TNB_OK;
    if ((q && q->capturing) || (behind && behind->capturing))
        return tnr_capture_forbids("a wait for another stream", err);
    if (!d->event_new)
        return TNR_WAIT(dev, behind, err, sync, tnr_stream(behind));
    void **event = behind ? &behind->event : &dev->event;
    if (!*event)
        TNB_TRY(TNR_ASK(dev, err, event_new, event));
    TNB_TRY(TNR_ASK(dev, err, event_record, *event, tnr_stream(behind)));
    return TNR_ASK(dev, err, event_wait, *event, tnr_stream(q));
}

tnb_status
tnr_queue_wait(tnr_device *dev, struct tnr_queue *q, struct tnr_queue *behind, tnb_err *err)
{
    if (q == behind)
        return TNB_OK;
    pthread_mutex_lock(&dev->lock);
    tnb_status st = tnr_queue_wait_locked(dev, q, behind, err);
    pthread_mutex_unlock(&dev->lock);
    return st;
}

tnb_status
tnr_capture_forbids(const char *what, tnb_err *err)
{
    (void)tnb_fail(err, TNB_UNSUPPORTED, "%s while a graph is captured", what);
    tnb_hint(err, "what a graph is captured of launches kernels only: memory comes from "
                  "cuda_graph.get_cached_alloc, results are looked at behind it");
    return TNB_UNSUPPORTED;
}

/* ---- storages ---- */

tnb_status
tnr_storage_adopt(tnr_storage *s, struct tnr_queue *q, tnb_err *err)
{
    tnr_device *dev = s->device;
    pthread_mutex_lock(&dev->lock);
    struct tnr_queue *old = s->queue;
    /* ORDER: before the old queue's event is recorded. Whoever queues there behind the event looks at the owner afterwards. */
    __atomic_store_n(&s->queue, q, __ATOMIC_SEQ_CST);
    tnb_status st = tnr_queue_wait_locked(dev, q, old, err);
    if (st != TNB_OK) {
        __atomic_store_n(&s->queue, old, __ATOMIC_SEQ_CST);
    } else if (old != q) {
        (void)tnr_queue_retain(q);
        tnr_queue_release_locked(old);
    }
    pthread_mutex_unlock(&dev->lock);
    return st;
}

tnb_status
tnr_storage_follow(tnr_storage *s, struct tnr_queue *q, tnb_err *err)
{
    pthread_mutex_lock(&s->device->lock);
    tnb_status st = tnr_queue_wait_locked(s->device, s->queue, q, err);
    pthread_mutex_unlock(&s->device->lock);
    return st;
}

struct tnr_queue *
tnr_storage_retain_queue(const tnr_storage *s)
{
    pthread_mutex_lock(&s->device->lock);
    struct tnr_queue *q = tnr_queue_retain(s->queue);
    pthread_mutex_unlock(&s->device->lock);
    return q;
}

/* ---- the whole device ---- */

tnb_status
tnr_device_sync(tnr_device *dev, tnb_err *err)
{
    NEED(dev, err);
    tnb_status st = TNB_OK;
    pthread_mutex_lock(&dev->lock);
    for (struct tnr_queue *q = tnr_queue_retain(dev->queues), *next; q; q = next) {
        pthread_mutex_unlock(&dev->lock);
        tnb_err why;
        tnb_status one = TNR_WAIT(dev, q, &why, sync, q->stream);
        if (one != TNB_OK && st == TNB_OK && err)
            *err = why;
        st = st == TNB_OK ? one : st;
        pthread_mutex_lock(&dev->lock);
        next = tnr_queue_retain(q->next);
        tnr_queue_release_locked(q);
    }
    pthread_mutex_unlock(&dev->lock);
    tnb_err why, *unused = st == TNB_OK ? err : &why;
    tnb_status own = TNR_WAIT(dev, NULL, unused, sync, NULL);
    return st == TNB_OK ? own : st;
}

tnb_status
tnr_pinned_new(tnr_device *dev, uint64_t bytes, void **host, tnb_err *err)
{
    NEED(dev, err);
    NEED(host, err);
    return dev->driver->pinned_alloc ? TNR_ASK(dev, err, pinned_alloc, bytes, host)
                                     : tnr_host_alloc(NULL, bytes, NULL, host, err);
}

void
tnr_pinned_free(tnr_device *dev, void *host)
{
    if (!dev || !host)
        return;
    if (dev->driver->pinned_alloc)
        dev->driver->pinned_free(dev->handle, host);
    else
        tnr_host_free(NULL, host);
}

/* ---- copies that are not waited for ---- */

struct tnr_pending {
    tnr_storage *storage; /* counted */
    void *event;          /* NULL: done */
};

/* Queues the copy where the driver can; *event: that of its end, NULL: it is done. */
static tnb_status
start(tnr_storage *s, const tnr_copy *c, void **event, tnb_err *err)
{
    tnr_device *dev = s->device;
    const tnr_driver *d = dev->driver;
    struct tnr_queue *q = tnr_storage_queue(s);
    tnb_status st = TNB_OK;
    *event = NULL;
    if (q && q->capturing)
        st = tnr_capture_forbids("a copy with the host", err);
    else if (!d->copy_start)
        st = TNR_WAIT(dev, q, err, copy, tnr_stream(q), c);
    else {
        st = TNR_ASK(dev, err, event_new, event);
        if (st == TNB_OK)
            st = TNR_ASK(dev, err, copy_start, tnr_stream(q), c);
        if (st == TNB_OK)
            st = TNR_ASK(dev, err, event_record, *event, tnr_stream(q));
        if (st == TNB_OK && tnr_queue_of(s) != q) /* another thread's machine took it over */
            st = tnr_storage_follow(s, q, err);
        if (st != TNB_OK && *event) {
            (void)d->sync(dev->handle, tnr_stream(q), NULL); /* the copy may be under way */
            d->event_free(dev->handle, *event);
        }
    }
    tnr_queue_release(q);
    return st;
}

static tnb_status
pending(tnr_storage *s, const tnr_copy *c, tnr_pending **out, tnb_err *err)
{
    tnr_pending *p = calloc(1, sizeof *p);
    if (!p)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a copy");
    tnb_status st = c->bytes ? start(s, c, &p->event, err) : TNB_OK;
    if (st != TNB_OK) {
        free(p);
        return st;
    }
    p->storage = s;
    tnr_object_retain(&s->object);
    *out = p;
    return TNB_OK;
}

tnb_status
tnr_tensor_read_start(const tnr_tensor *t, void *host, uint64_t bytes, tnr_pending **out,
                      tnb_err *err)
{
    NEED(t, err);
    NEED(out, err);
    TNB_TRY(tnr_check_copy(t, bytes, false, err));
    NEED_N(host, bytes, err);
    tnr_copy c = {.kind = TNR_COPY_TO_HOST,
                  .dst = host,
                  .src = t->dl.data,
                  .src_offset = t->dl.byte_offset,
                  .bytes = bytes};
    return pending(t->storage, &c, out, err);
}

tnb_status
tnr_tensor_write_start(const tnr_tensor *t, const void *host, uint64_t bytes, tnr_pending **out,
                       tnb_err *err)
{
    NEED(t, err);
    NEED(out, err);
    TNB_TRY(tnr_check_copy(t, bytes, true, err));
    NEED_N(host, bytes, err);
    tnr_copy c = {.kind = TNR_COPY_TO_DEVICE,
                  .dst = t->dl.data,
                  .dst_offset = t->dl.byte_offset,
                  .src = host,
                  .bytes = bytes};
    return pending(t->storage, &c, out, err);
}

static void
forget_event(tnr_pending *p)
{
    tnr_device *dev = p->storage->device;
    if (p->event)
        dev->driver->event_free(dev->handle, p->event);
    p->event = NULL;
}

tnb_status
tnr_pending_done(tnr_pending *p, bool *done, tnb_err *err)
{
    NEED(p, err);
    NEED(done, err);
    tnr_device *dev = p->storage->device;
    if (!p->event) {
        *done = true;
        return TNB_OK;
    }
    tnb_status st = TNR_ASK(dev, err, event_done, p->event, done);
    if (st != TNB_OK) {
        struct tnr_queue *q = tnr_storage_queue(p->storage);
        st = tnr_waited(dev, q, st, err);
        tnr_queue_release(q);
        return st;
    }
    if (*done)
        forget_event(p);
    return TNB_OK;
}

tnb_status
tnr_pending_wait(tnr_pending *p, tnb_err *err)
{
    NEED(p, err);
    tnr_device *dev = p->storage->device;
    if (!p->event)
        return TNB_OK;
    struct tnr_queue *q = tnr_storage_queue(p->storage);
    tnb_status st = TNR_WAIT(dev, q, err, event_sync, p->event);
    tnr_queue_release(q);
    forget_event(p);
    return st;
}

void
tnr_pending_free(tnr_pending *p)
{
    if (!p)
        return;
    tnb_err err;
    if (tnr_pending_wait(p, &err) != TNB_OK)
        tnb_log(TNB_LOG_WARN, "%s", err.message);
    tnr_object_release(&p->storage->object);
    free(p);
}
