/* SPDX-License-Identifier: Apache-2.0 */
/* Opened devices: a bounded pool of storage over the driver's memory. */
#include <inttypes.h>
#include <stdlib.h>
#include "internal.h"

/* ---- the pool ---- */
/* Blocks that were given back wait here for a request of nearly their size. What is cached stays
 * under half of the peak in use plus a constant; the oldest block leaves first. */

enum { POOL_SLACK = 16 << 20 };

/* In stream order where the driver has that; else it keeps what queued work needs. Takes the queue over. */
static void
give_to_driver(tnr_device *dev, struct tnr_queue *q, void *mem)
{
    const tnr_driver *d = dev->driver;
    if (!d->free_ordered || d->free_ordered(dev->handle, tnr_stream(q), mem, NULL) != TNB_OK)
        d->free(dev->handle, mem);
    tnr_queue_release_locked(q);
}

static tnb_status
get_from_driver(tnr_device *dev, struct tnr_queue *q, uint64_t bytes, const char *scope, void **mem,
                tnb_err *err)
{
    return dev->driver->alloc_ordered
               ? TNR_ASK(dev, err, alloc_ordered, tnr_stream(q), bytes, scope, mem)
               : TNR_ASK(dev, err, alloc, bytes, scope, mem);
}

/* A block for work in the order of the queue. Of fitting ones those of its own are free of cost; another one is used
 * behind what its queue did. */
static bool
better(const struct tnr_queue *q, const struct pool_block *a, const struct pool_block *b)
{
    return (a->queue == q) != (b->queue == q) ? a->queue == q : a->bytes < b->bytes;
}

static void
pool_drop(tnr_device *dev, uint32_t i)
{
    give_to_driver(dev, dev->blocks[i].queue, dev->blocks[i].mem);
    dev->stats.cached -= dev->blocks[i].bytes;
    dev->blocks[i] = dev->blocks[--dev->n_blocks];
}

static void
pool_drop_oldest(tnr_device *dev)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < dev->n_blocks; i++)
        if (dev->blocks[i].stamp < dev->blocks[oldest].stamp)
            oldest = i;
    pool_drop(dev, oldest);
}

tnb_status
tnr_pool_get(tnr_device *dev, struct tnr_queue *queue, uint64_t bytes, const char *scope,
             void **mem, uint64_t *capacity, tnb_err *err)
{
    uint64_t grain = bytes >= 1 << 20 ? 65536 : bytes >= 4096 ? 4096 : 64;
    uint64_t want;
    if (!tnb_add_u64(bytes ? bytes : 1, grain - 1, &want) || want > INT64_MAX)
        return tnb_fail(err, TNB_NO_MEMORY, "a storage of %" PRIu64 " bytes is too large", bytes);
    want -= want % grain;
    pthread_mutex_lock(&dev->lock);
    if (dev->limit && (want > dev->limit || dev->stats.in_use > dev->limit - want)) {
        pthread_mutex_unlock(&dev->lock);
        return tnb_fail(err, TNB_NO_MEMORY,
                        "a storage of %" PRIu64 " bytes exceeds the limit of %" PRIu64
                        " bytes on '%s', of which %" PRIu64 " are in use",
                        bytes, dev->limit, dev->driver->base.name, dev->stats.in_use);
    }
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < dev->n_blocks; i++) {
        const struct pool_block *b = &dev->blocks[i];
        if (b->bytes >= want && b->bytes - want <= want / 4 &&
            (best == UINT32_MAX || better(queue, b, &dev->blocks[best])) &&
            (b->scope == scope || strcmp(b->scope, scope) == 0))
            best = i;
    }
    tnb_status st = TNB_OK;
    if (best != UINT32_MAX && dev->blocks[best].queue != queue)
        st = tnr_queue_wait_locked(dev, queue, dev->blocks[best].queue, err);
    if (best != UINT32_MAX && st == TNB_OK) {
        tnr_queue_release_locked(dev->blocks[best].queue);
        *mem = dev->blocks[best].mem;
        *capacity = dev->blocks[best].bytes;
        dev->stats.cached -= *capacity;
        dev->blocks[best] = dev->blocks[--dev->n_blocks];
        dev->stats.reuses++;
    } else if (st == TNB_OK) {
        *capacity = want;
        st = get_from_driver(dev, queue, want, scope, mem, err);
        while (st == TNB_NO_MEMORY && dev->n_blocks) { /* what is cached may make room */
            pool_drop_oldest(dev);
            st = get_from_driver(dev, queue, want, scope, mem, err);
        }
        dev->stats.allocs += st == TNB_OK;
        if (st == TNB_NO_MEMORY)
            tnb_err_prefix(err,
                           "storage for tensors on device '%s', of which %" PRIu64
                           " bytes are in use",
                           dev->driver->base.name, dev->stats.in_use);
    }
    if (st == TNB_OK) {
        dev->stats.in_use += *capacity;
        if (dev->stats.in_use + dev->stats.cached > dev->stats.peak)
            dev->stats.peak = dev->stats.in_use + dev->stats.cached;
    }
    pthread_mutex_unlock(&dev->lock);
    return st;
}

void
tnr_pool_put(tnr_device *dev, struct tnr_queue *queue, void *mem, uint64_t capacity,
             const char *scope)
{
    pthread_mutex_lock(&dev->lock);
    dev->stats.in_use -= capacity;
    while (dev->n_blocks && (dev->n_blocks == POOL_BLOCKS ||
                             dev->stats.cached + capacity > dev->stats.peak / 2 + POOL_SLACK))
        pool_drop_oldest(dev);
    if (dev->n_blocks < POOL_BLOCKS &&
        dev->stats.cached + capacity <= dev->stats.peak + POOL_SLACK) {
        dev->blocks[dev->n_blocks++] = (struct pool_block){
            .mem = mem, .bytes = capacity, .scope = scope, .queue = queue, .stamp = ++dev->stamp};
        dev->stats.cached += capacity;
    } else {
        give_to_driver(dev, queue, mem);
    }
    pthread_mutex_unlock(&dev->lock);
}

void
tnr_device_trim(tnr_device *dev)
{
    if (!dev)
        return;
    pthread_mutex_lock(&dev->lock);
    while (dev->n_blocks)
        pool_drop(dev, dev->n_blocks - 1);
    pthread_mutex_unlock(&dev->lock);
}

void
tnr_device_memory(tnr_device *dev, tnr_memory_stats *out)
{
    if (!out)
        return;
    if (!dev) {
        *out = (tnr_memory_stats){0};
        return;
    }
    pthread_mutex_lock(&dev->lock);
    *out = dev->stats;
    pthread_mutex_unlock(&dev->lock);
}

/* ---- scopes ---- */

const char *
tnr_device_scope(tnr_device *dev, const char *scope)
{
    static const char usual[] = "global";
    if (!scope || !*scope || strcmp(scope, usual) == 0)
        return usual;
    pthread_mutex_lock(&dev->lock);
    struct scope_name *s = dev->scopes;
    while (s && strcmp(s->text, scope) != 0)
        s = s->next;
    size_t n = strlen(scope) + 1;
    if (!s && (s = malloc(sizeof *s + n))) {
        memcpy(s->text, scope, n);
        s->next = dev->scopes;
        dev->scopes = s;
    }
    pthread_mutex_unlock(&dev->lock);
    return s ? s->text : NULL;
}

/* ---- opening ---- */

static void
free_device(tnr_object *o)
{
    tnr_device *dev = (tnr_device *)o;
    tnr_device_trim(dev);
    if (dev->event)
        dev->driver->event_free(dev->handle, dev->event);
    dev->driver->close(dev->handle);
    while (dev->scopes) {
        struct scope_name *next = dev->scopes->next;
        free(dev->scopes);
        dev->scopes = next;
    }
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

tnb_status
tnr_device_new(const tnr_driver *drv, int id, const tnr_device_options *opt, tnr_device **out,
               tnb_err *err)
{
    int count = 0;
    tnb_err why;
    if (TNB_CALL(&why, drv->count(drv->self, &count, &why), "driver", drv->base.name, "count") !=
        TNB_OK) {
        if (err)
            *err = why;
        return why.status;
    }
    if (count == 0) {
        (void)tnb_fail(err, TNB_DEVICE, "no device of driver '%s'%s%s", drv->base.name,
                       why.message[0] ? ": " : "", why.message);
        if (why.hint[0])
            tnb_hint(err, "%s", why.hint);
        return TNB_DEVICE;
    }
    if (id < 0 || id >= count)
        return tnb_fail(err, TNB_BOUNDS, "driver '%s' has %d devices; there is no number %d",
                        drv->base.name, count, id);
    tnr_device *dev = calloc(1, sizeof *dev);
    if (!dev)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open a device");
    dev->object = (tnr_object){.refs = 1, .destroy = free_device};
    dev->table = *drv;
    dev->driver = &dev->table;
    dev->has_streams = drv->stream_new && !(drv->flags & TNR_DRIVER_HOST_MEMORY);
    dev->dl = (tnb_device){.type = drv->type, .id = id};
    pthread_mutex_init(&dev->lock, NULL);
    tnb_status st = TNB_CALL(err, drv->open(drv->self, id, opt, &dev->handle, err), "device",
                             drv->base.name, "open");
    if (st != TNB_OK) {
        pthread_mutex_destroy(&dev->lock);
        free(dev);
        return st;
    }
    *out = dev;
    return TNB_OK;
}

const tnr_driver *
tnr_device_driver(const tnr_device *dev)
{
    return dev ? dev->driver : NULL;
}

void *
tnr_device_handle(const tnr_device *dev)
{
    return dev ? dev->handle : NULL;
}

tnb_device
tnr_device_dl(const tnr_device *dev)
{
    return dev ? dev->dl : (tnb_device){0};
}

int
tnr_device_threads(const tnr_device *dev)
{
    return dev ? dev->threads : 0;
}

bool
tnr_device_is_host(const tnr_device *dev)
{
    return dev && (dev->driver->flags & TNR_DRIVER_HOST_MEMORY) != 0;
}

bool
tnr_device_is_native(const tnr_device *dev)
{
    return dev && (dev->driver->flags & TNR_DRIVER_NATIVE ||
                   (dev->driver->native && dev->driver->native(dev->handle)));
}

const tnr_property *
tnr_device_properties(tnr_device *dev, uint32_t *n)
{
    uint32_t none, *count = n ? n : &none;
    *count = 0;
    return dev && dev->driver->properties ? dev->driver->properties(dev->handle, count) : NULL;
}

const tnr_property *
tnr_device_property(tnr_device *dev, const char *name, tnr_property_type type, tnb_err *err)
{
    static const char *const types[] = {"?", "an integer", "a float", "a bool", "a text"};
    if (!dev || !name) {
        (void)tnr_null_argument(__func__, dev ? "name" : "dev", err);
        return NULL;
    }
    if (type < TNR_PROPERTY_INT || type > TNR_PROPERTY_TEXT) {
        (void)tnb_fail(err, TNB_INVALID, "tnr_device_property: there is no type %d", (int)type);
        return NULL;
    }
    uint32_t n;
    const tnr_property *all = tnr_device_properties(dev, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(all[i].name, name) != 0)
            continue;
        if (all[i].type == type)
            return &all[i];
        bool known = all[i].type >= TNR_PROPERTY_INT && all[i].type <= TNR_PROPERTY_TEXT;
        (void)tnb_fail(err, TNB_TYPE, "the property '%s' of the device '%s' is %s, not %s", name,
                       dev->driver->base.name, types[known ? all[i].type : 0], types[type]);
        return NULL;
    }
    (void)tnb_fail(err, TNB_NOT_FOUND, "the device '%s' has no property '%s'",
                   dev->driver->base.name, name);
    tnb_hint(err, "tenon list devices --json names all that it has");
    return NULL;
}

tnb_status
tnr_device_check_native(const tnr_device *dev, bool no_native, tnb_err *err)
{
    if (!no_native || !tnr_device_is_native(dev))
        return TNB_OK;
    bool machine_code = dev->driver->flags & TNR_DRIVER_NATIVE;
    (void)tnb_fail(err, TNB_UNTRUSTED,
                   machine_code ? "it holds machine code of the host, which is not allowed here"
                                : "device '%s' runs its kernels as machine code of the host, which "
                                  "is not allowed here",
                   dev->driver->base.name);
    tnb_hint(err, machine_code ? "leave out --no-native for artifacts that you trust"
                               : "choose a GPU ([device NAME] in the configuration), or leave out "
                                 "--no-native for artifacts that you trust");
    return TNB_UNTRUSTED;
}
