/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime: device drivers and packed functions, from plugins (loaded when first needed) or
 * added by hand, and the devices opened through them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "tenon/base/conf.h"
#include "tenon/base/hash.h"
#include "tenon/base/log.h"
#include "tenon/base/threads.h"

/* ---- packed functions: a table by name ---- */

static tnr_packed *
packed_slot(tnr_packed *table, uint32_t slots, const char *name)
{
    uint32_t i = (uint32_t)tnb_hash64(name, strlen(name), 0) & (slots - 1);
    while (table[i].name && strcmp(table[i].name, name) != 0)
        i = (i + 1) & (slots - 1);
    return &table[i];
}

static tnb_status
packed_grow(tnr_runtime *rt, tnb_err *err)
{
    uint32_t slots = rt->packed_slots ? rt->packed_slots * 2 : 128;
    tnr_packed *table = calloc(slots, sizeof *table);
    if (!table)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for packed functions");
    for (uint32_t i = 0; i < rt->packed_slots; i++)
        if (rt->packed[i].name)
            *packed_slot(table, slots, rt->packed[i].name) = rt->packed[i];
    free(rt->packed);
    rt->packed = table;
    rt->packed_slots = slots;
    return TNB_OK;
}

/* The table is not locked against readers: packed functions are added before machines run. */
tnb_status
tnr_runtime_add_packed(tnr_runtime *rt, const tnr_packed *p, tnb_err *err)
{
    if (!p->name || !p->call)
        return tnb_fail(err, TNB_INVALID, "a packed function needs a name and code");
    if (rt->n_packed * 2 >= rt->packed_slots)
        TNB_TRY(packed_grow(rt, err));
    tnr_packed *slot = packed_slot(rt->packed, rt->packed_slots, p->name);
    rt->n_packed += slot->name == NULL;
    tnb_copy_sized(slot, sizeof *slot, p, p->size);
    return TNB_OK;
}

/* ---- drivers ---- */

static tnb_status
check_driver(const tnr_driver *d, tnb_err *err)
{
    if (d->name && d->count && d->open && d->close && d->describe && d->check_features &&
        d->alloc && d->free && d->copy && d->zero && d->sync && d->module_load &&
        (!d->formats || (d->module_free && d->module_kernel && d->launch)))
        return TNB_OK;
    return tnb_fail(err, TNB_ABI, "the driver '%s' lacks functions that every driver has",
                    d->name ? d->name : "?");
}

static tnb_status
add_driver(tnr_runtime *rt, const tnr_driver *d, tnb_err *err)
{
    tnr_driver *copy = calloc(1, sizeof *copy);
    tnr_driver **list = realloc(rt->drivers, (rt->n_drivers + 1) * sizeof(tnr_driver *));
    if (list)
        rt->drivers = list;
    if (!copy || !list) {
        free(copy);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a driver");
    }
    tnb_copy_sized(copy, sizeof *copy, d, d->size);
    tnb_status st = check_driver(copy, err);
    for (uint32_t i = 0; st == TNB_OK && i < rt->n_drivers; i++)
        if (strcmp(rt->drivers[i]->name, copy->name) == 0)
            st = tnb_fail(err, TNB_INVALID, "two drivers are named '%s'", copy->name);
    if (st != TNB_OK) {
        free(copy);
        return st;
    }
    rt->drivers[rt->n_drivers++] = copy;
    return TNB_OK;
}

tnb_status
tnr_runtime_add(tnr_runtime *rt, const tnr_plugin_desc *given, tnb_err *err)
{
    tnr_plugin_desc d;
    tnb_copy_sized(&d, sizeof d, given, given->head.size);
    for (uint32_t i = 0; i < d.n_drivers; i++)
        TNB_TRY(add_driver(rt, d.drivers[i], err));
    for (uint32_t i = 0; i < d.n_packed; i++)
        TNB_TRY(tnr_runtime_add_packed(rt, d.packed[i], err));
    return TNB_OK;
}

/* What a loaded plugin's tables hold must be what its manifest promised. */
static tnb_status
check_promises(tnr_runtime *rt, const tnb_plugin *plugin, const tnr_plugin_desc *d, tnb_err *err)
{
    tnb_arena *a = tnb_arena_new();
    if (!a)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load a plugin");
    const char **holds = TNB_NEW_N(a, const char *, (size_t)d->n_drivers + d->n_packed);
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n_drivers; i++)
        holds[n++] = tnb_printf(a, "device:%s", d->drivers[i]->name);
    for (uint32_t i = 0; i < d->n_packed; i++)
        holds[n++] = tnb_printf(a, "packed:%s", d->packed[i]->name);
    tnb_status st = tnb_arena_failed(a) ? tnb_fail(err, TNB_NO_MEMORY, "no memory to load a plugin")
                                        : tnb_plugins_check(rt->opt.plugins, plugin, holds, n, err);
    tnb_arena_free(a);
    return st;
}

static tnb_status
load(tnr_runtime *rt, const tnb_plugin *plugin, tnb_err *err)
{
    if (plugin->state == TNB_PLUGIN_LOADED && plugin->kind != TNB_PLUGIN_RUNTIME)
        return tnb_fail(err, TNB_INVALID, "plugin '%s' is no runtime plugin", plugin->name);
    const tnb_plugin_head *head = tnb_plugins_load(rt->opt.plugins, plugin, err);
    if (!head)
        return err && err->status ? err->status : TNB_NOT_FOUND;
    if (head->kind != TNB_PLUGIN_RUNTIME)
        return tnb_fail(err, TNB_INVALID, "plugin '%s' is no runtime plugin", plugin->name);
    tnr_plugin_desc d;
    tnb_copy_sized(&d, sizeof d, head, head->size);
    tnb_status st = check_promises(rt, plugin, &d, err);
    if (st == TNB_OK && d.init)
        st = d.init(plugin->folder, err);
    if (st == TNB_OK)
        st = tnr_runtime_add(rt, &d, err);
    if (st != TNB_OK && err)
        tnb_plugins_refuse(rt->opt.plugins, plugin, err);
    return st;
}

static const tnr_driver *
driver_named(tnr_runtime *rt, const char *name)
{
    for (uint32_t i = 0; i < rt->n_drivers; i++)
        if (strcmp(rt->drivers[i]->name, name) == 0)
            return rt->drivers[i];
    return NULL;
}

const tnr_driver *
tnr_find_driver(tnr_runtime *rt, const char *name, tnb_err *err)
{
    const tnr_driver *d = driver_named(rt, name);
    if (d)
        return d;
    tnb_err own = {0}, *e = err ? err : &own;
    const tnb_plugin *p = NULL;
    if (!rt->opt.plugins)
        (void)tnb_fail(e, TNB_NOT_FOUND, "no driver for device '%s' was added", name);
    else
        p = tnb_plugins_find(rt->opt.plugins, "device", name, e);
    if (!p || load(rt, p, e) != TNB_OK) {
        tnb_err_prefix(e, "device '%s'", name);
        return NULL;
    }
    return driver_named(rt, name);
}

const tnr_packed *
tnr_find_packed(tnr_runtime *rt, const char *name, tnb_err *err)
{
    const tnr_packed *slot = packed_slot(rt->packed, rt->packed_slots, name);
    if (slot->name)
        return slot;
    tnb_err own = {0}, *e = err ? err : &own;
    const tnb_plugin *p = NULL;
    if (!rt->opt.plugins)
        (void)tnb_fail(e, TNB_NOT_FOUND, "no packed function '%s'", name);
    else
        p = tnb_plugins_find(rt->opt.plugins, "packed", name, e);
    if (!p || load(rt, p, e) != TNB_OK) {
        tnb_err_prefix(e, "packed function '%s'", name);
        return NULL;
    }
    slot = packed_slot(rt->packed, rt->packed_slots, name);
    return slot->name ? slot : NULL;
}

void
tnr_load_drivers(tnr_runtime *rt)
{
    tnb_arena *a = rt->opt.plugins ? tnb_arena_new() : NULL;
    if (!a)
        return;
    uint32_t n;
    const tnb_provided *all = tnb_plugins_provided(rt->opt.plugins, a, "device", &n);
    for (uint32_t i = 0; i < n; i++) {
        tnb_err err;
        if (!tnr_find_driver(rt, all[i].name, &err))
            tnb_log(TNB_LOG_INFO, "%s", err.message);
    }
    tnb_arena_free(a);
}

const tnr_driver *
tnr_driver_at(tnr_runtime *rt, uint32_t i)
{
    return i < rt->n_drivers ? rt->drivers[i] : NULL;
}

/* ---- devices ---- */

struct conf_section {
    const struct tnb_conf *conf;
    const char *name;
};

static const char *
device_setting(const void *user, const char *key)
{
    const struct conf_section *s = user;
    return s->conf ? tnb_conf_text(s->conf, "device", s->name, key) : NULL;
}

tnb_status
tnr_device_open(tnr_runtime *rt, const char *name, int id, tnr_device **out, tnb_err *err)
{
    pthread_mutex_lock(&rt->lock);
    tnr_device *dev = rt->devices;
    while (dev && (dev->dl.id != id || strcmp(dev->driver->name, name) != 0))
        dev = dev->next;
    tnb_status st = TNB_OK;
    if (!dev) {
        const tnr_driver *drv =
            strcmp(name, "host") == 0 ? &tnr_host_driver : tnr_find_driver(rt, name, err);
        struct conf_section section = {.conf = rt->opt.conf, .name = name};
        tnr_device_options opt = {.size = sizeof opt,
                                  .threads = rt->threads,
                                  .setting = device_setting,
                                  .user = &section};
        st = drv ? tnr_device_new(drv, id, &opt, &dev, err) : TNB_NOT_FOUND;
        if (st == TNB_OK) {
            dev->limit = rt->opt.memory_limit;
            dev->next = rt->devices;
            rt->devices = dev;
        }
    }
    pthread_mutex_unlock(&rt->lock);
    if (st == TNB_OK)
        *out = dev;
    return st;
}

tnr_device *
tnr_device_host(tnr_runtime *rt)
{
    return rt->host;
}

/* ---- the runtime ---- */

tnb_status
tnr_runtime_new(const tnr_runtime_options *opt, tnr_runtime **out, tnb_err *err)
{
    tnr_runtime *rt = calloc(1, sizeof *rt);
    if (!rt)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a runtime");
    if (opt)
        rt->opt = *opt;
    rt->threads = rt->opt.threads > 0 ? rt->opt.threads : (int)tnb_threads_default();
    pthread_mutex_init(&rt->lock, NULL);
    tnb_status st = packed_grow(rt, err);
    for (uint32_t i = 0; st == TNB_OK && i < tnr_n_builtins; i++)
        st = tnr_runtime_add_packed(rt, &tnr_builtins[i], err);
    if (st == TNB_OK)
        st = tnr_device_open(rt, "host", 0, &rt->host, err);
    if (st != TNB_OK)
        tnr_runtime_free(rt);
    else
        *out = rt;
    return st;
}

void
tnr_runtime_free(tnr_runtime *rt)
{
    if (!rt)
        return;
    while (rt->devices) {
        tnr_device *next = rt->devices->next;
        tnr_object_release(&rt->devices->object);
        rt->devices = next;
    }
    for (uint32_t i = 0; i < rt->n_drivers; i++)
        free(rt->drivers[i]);
    free(rt->drivers);
    free(rt->packed);
    pthread_mutex_destroy(&rt->lock);
    free(rt);
}

int
tnr_runtime_threads(const tnr_runtime *rt)
{
    return rt->threads;
}
