/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime: device drivers and packed functions, from plugins (loaded when first needed) or
 * added by hand, and the devices opened through them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "tenon/base/conf.h"
#include "tenon/base/entry.h"
#include "tenon/base/hash.h"
#include "tenon/base/log.h"
#include "tenon/base/threads.h"

/* ---- packed functions: a table by name ---- */

static struct packed_entry **
packed_slot(struct packed_entry **table, uint32_t slots, const char *name)
{
    uint32_t i = (uint32_t)tnb_hash64(name, strlen(name), 0) & (slots - 1);
    while (table[i] && strcmp(table[i]->p.base.name, name) != 0)
        i = (i + 1) & (slots - 1);
    return &table[i];
}

static tnb_status
packed_grow(tnr_runtime *rt, tnb_err *err)
{
    uint32_t slots = rt->packed_slots ? rt->packed_slots * 2 : 128;
    struct packed_entry **table = calloc(slots, sizeof *table);
    if (!table)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for packed functions");
    for (uint32_t i = 0; i < rt->packed_slots; i++)
        if (rt->packed[i])
            *packed_slot(table, slots, rt->packed[i]->p.base.name) = rt->packed[i];
    free(rt->packed);
    rt->packed = table;
    rt->packed_slots = slots;
    return TNB_OK;
}

static const tnb_member packed_members[] = {TNB_MEMBER(tnr_packed, call), {0}};
static const tnb_entry_kind packed_kind = {"packed function",
                                           "tnr_packed in tenon/rt/packed.h",
                                           sizeof(tnr_packed),
                                           packed_members,
                                           "call",
                                           NULL};

static tnb_status
check_packed(const tnr_packed *p, const char *plugin, tnb_err *err)
{
    const uint32_t flags =
        TNR_PACKED_VM | TNR_PACKED_BLOCKING | TNR_PACKED_CAPTURABLE | TNR_PACKED_STREAM;
    TNB_TRY(tnb_entry_check(&packed_kind, p ? &p->base : NULL, plugin, err));
    if (p->flags & ~flags)
        return tnb_fail(err, TNB_INVALID, "packed function '%s' has the unknown flag 0x%" PRIx32,
                        p->base.name, p->flags & ~flags);
    if (p->min_args < 0 || p->max_args < -1 || (p->max_args >= 0 && p->max_args < p->min_args))
        return tnb_fail(err, TNB_INVALID, "packed function '%s' takes %d to %d arguments",
                        p->base.name, p->min_args, p->max_args);
    return TNB_OK;
}

/* With the lock held; the function was checked. */
static tnb_status
add_packed(tnr_runtime *rt, const tnr_packed *p, bool from_plugin, tnb_err *err)
{
    if (rt->n_packed * 2 >= rt->packed_slots)
        TNB_TRY(packed_grow(rt, err));
    struct packed_entry *e = calloc(1, sizeof *e);
    if (!e)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for packed functions");
    e->p = *p;
    e->from_plugin = from_plugin;
    struct packed_entry **slot = packed_slot(rt->packed, rt->packed_slots, p->base.name);
    if (*slot) {
        (*slot)->next = rt->replaced;
        rt->replaced = *slot;
    } else {
        rt->n_packed++;
    }
    *slot = e;
    return TNB_OK;
}

tnb_status
tnr_runtime_add_packed(tnr_runtime *rt, const tnr_packed *p, tnb_err *err)
{
    NEED(rt, err);
    NEED(p, err);
    TNB_TRY(check_packed(p, NULL, err));
    pthread_mutex_lock(&rt->lock);
    tnb_status st = add_packed(rt, p, false, err);
    pthread_mutex_unlock(&rt->lock);
    return st;
}

/* ---- drivers ---- */

#define FUNCTION(f) TNB_MEMBER(tnr_driver, f)
/* clang-format off */
static const tnb_member driver_members[] = {
    FUNCTION(count), FUNCTION(open), FUNCTION(close), FUNCTION(describe),
    FUNCTION(check_features), FUNCTION(alloc), FUNCTION(free), FUNCTION(copy), FUNCTION(zero),
    FUNCTION(sync), FUNCTION(module_load), FUNCTION(module_free), FUNCTION(module_kernel),
    FUNCTION(launch), FUNCTION(stream_new), FUNCTION(stream_free), FUNCTION(event_new),
    FUNCTION(event_free), FUNCTION(event_record), FUNCTION(event_wait), FUNCTION(event_seconds),
    FUNCTION(event_done), FUNCTION(event_sync), FUNCTION(pinned_alloc), FUNCTION(pinned_free),
    FUNCTION(alloc_ordered), FUNCTION(free_ordered), FUNCTION(peer), FUNCTION(peer_copy),
    FUNCTION(graph_begin), FUNCTION(graph_end), FUNCTION(graph_update), FUNCTION(graph_launch),
    FUNCTION(graph_free), FUNCTION(copy_start), {0}};
/* clang-format on */
#undef FUNCTION
static const tnb_entry_kind driver_kind = {
    .kind = "driver",
    .type = "tnr_driver in tenon/rt/device.h",
    .size = sizeof(tnr_driver),
    .members = driver_members,
    .needs = "count open close describe check_features alloc free copy zero sync module_load "
             "?stream_new+stream_free "
             "?event_new+event_free+event_record+event_wait+event_seconds "
             "?event_done+event_sync "
             "?pinned_alloc+pinned_free "
             "?alloc_ordered+free_ordered "
             "?peer+peer_copy "
             "?graph_begin+graph_end+graph_update+graph_launch+graph_free"};
static const tnb_entry_kind module_kind = {.kind = "driver with formats",
                                           .type = "tnr_driver in tenon/rt/device.h",
                                           .members = driver_members,
                                           .needs = "module_free module_kernel launch"};

static tnb_status
check_driver(const tnr_driver *d, const char *plugin, tnb_err *err)
{
    TNB_TRY(tnb_entry_check(&driver_kind, d ? &d->base : NULL, plugin, err));
    if (d->formats)
        TNB_TRY(tnb_entry_needs(&module_kind, d, d->base.name, plugin, err));
    const struct {
        bool has, needs;
        const char *what, *on;
    } builds[] = {
        {d->event_done, d->event_new, "event_done", "event_new"},
        {d->copy_start, d->event_done, "copy_start", "event_done"},
        {d->alloc_ordered, d->event_new, "alloc_ordered", "event_new"},
        {d->graph_begin, d->stream_new, "graph_begin", "stream_new"},
    };
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        if (builds[i].has && !builds[i].needs)
            return tnb_fail(err, TNB_INVALID,
                            "plugin %s: the driver '%s' has `%s`, but not `%s`, which it builds on",
                            plugin, d->base.name, builds[i].what, builds[i].on);
    return TNB_OK;
}

static const tnr_driver *
driver_named(tnr_runtime *rt, const char *name)
{
    for (uint32_t i = 0; i < rt->n_drivers; i++)
        if (strcmp(rt->drivers[i]->base.name, name) == 0)
            return rt->drivers[i];
    return NULL;
}

/* With the lock held; the driver was checked. */
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
    *copy = *d;
    memmove(rt->drivers + 1, rt->drivers,
            rt->n_drivers++ * sizeof *rt->drivers); /* the last one of a name serves */
    rt->drivers[0] = copy;
    return TNB_OK;
}

static const tnr_loader *
loader_named(const tnr_runtime *rt, const char *name)
{
    for (uint32_t i = 0; i < rt->n_loaders; i++)
        if (strcmp(rt->loaders[i]->base.name, name) == 0)
            return rt->loaders[i];
    return NULL;
}

static const tnb_member loader_members[] = {TNB_MEMBER(tnr_loader, open),
                                            TNB_MEMBER(tnr_loader, call),
                                            TNB_MEMBER(tnr_loader, close),
                                            {0}};
static const tnb_entry_kind loader_kind = {"loader",           "tnr_loader in tenon/rt/loader.h",
                                           sizeof(tnr_loader), loader_members,
                                           "open call close",  NULL};

/* With the lock held; the loader was checked. */
static tnb_status
add_loader(tnr_runtime *rt, const tnr_loader *l, tnb_err *err)
{
    tnr_loader *copy = calloc(1, sizeof *copy);
    tnr_loader **list = realloc(rt->loaders, (rt->n_loaders + 1) * sizeof(tnr_loader *));
    if (list)
        rt->loaders = list;
    if (!copy || !list) {
        free(copy);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a loader");
    }
    *copy = *l;
    memmove(rt->loaders + 1, rt->loaders,
            rt->n_loaders++ * sizeof *rt->loaders); /* the last one of a name serves */
    rt->loaders[0] = copy;
    return TNB_OK;
}

static tnb_status
check_tables(tnr_runtime *rt, const tnr_plugin_desc *d, const tnb_plugin *from, tnb_err *err)
{
    const char *plugin = d->head.name;
    for (uint32_t i = 0; i < d->n_drivers; i++) {
        TNB_TRY(check_driver(d->drivers[i], plugin, err));
        if (!from && driver_named(rt, d->drivers[i]->base.name))
            return tnb_fail(err, TNB_INVALID, "plugin %s: there is a driver '%s' already", plugin,
                            d->drivers[i]->base.name);
    }
    for (uint32_t i = 0; i < d->n_packed; i++)
        TNB_TRY(check_packed(d->packed[i], plugin, err));
    for (uint32_t i = 0; i < d->n_loaders; i++) {
        const tnr_loader *l = d->loaders[i];
        TNB_TRY(tnb_entry_check(&loader_kind, l ? &l->base : NULL, plugin, err));
        if (!from && loader_named(rt, l->base.name))
            return tnb_fail(err, TNB_INVALID, "plugin %s: there is a loader '%s' already", plugin,
                            l->base.name);
    }
    return TNB_OK;
}

/* Whether what the plugin holds by a name is to be found by it; of a plugin that was added by hand, all is. */
static bool
serves(const tnr_runtime *rt, const tnb_plugin *plugin, const char *kind, const char *name)
{
    return !plugin || tnb_plugins_find(rt->opt.plugins, kind, name, NULL) == plugin;
}

/* With the lock held. ORDER: nothing of a plugin is added before all of it was checked and its init succeeded. */
static tnb_status
add_plugin(tnr_runtime *rt, const tnr_plugin_desc *d, const tnb_plugin *plugin, tnb_err *err)
{
    void (**finis)(void) = realloc(rt->finis, (rt->n_finis + 1) * sizeof *finis);
    if (!finis)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to add a plugin");
    rt->finis = finis;
    const tnb_plugin_start start = tnb_plugins_start(rt->opt.plugins, plugin);
    if (d->init)
        TNB_TRY(TNB_CALL(err, d->init(&start, err), "plugin", d->head.name, "init"));
    if (d->fini)
        rt->finis[rt->n_finis++] = d->fini;
    for (uint32_t i = 0; i < d->n_drivers; i++)
        if (serves(rt, plugin, "device", d->drivers[i]->base.name))
            TNB_TRY(add_driver(rt, d->drivers[i], err));
    for (uint32_t i = 0; i < d->n_packed; i++)
        if (serves(rt, plugin, "packed", d->packed[i]->base.name))
            TNB_TRY(add_packed(rt, d->packed[i], plugin != NULL, err));
    for (uint32_t i = 0; i < d->n_loaders; i++)
        if (serves(rt, plugin, "loader", d->loaders[i]->base.name))
            TNB_TRY(add_loader(rt, d->loaders[i], err));
    return TNB_OK;
}

/* Of a plugin that is linked in: what the loader asks of one that it finds in a file. */
static tnb_status
check_descriptor(const tnr_plugin_desc *d, tnb_err *err)
{
    if (d->head.magic != TNB_PLUGIN_MAGIC || d->head.size < sizeof d->head ||
        d->head.kind != TNB_PLUGIN_RUNTIME || !d->head.name) {
        (void)tnb_fail(err, TNB_INVALID, "tnr_runtime_add: not a descriptor of a runtime plugin");
        tnb_hint(err, "make it with TNR_PLUGIN of tenon/rt/plugin.h");
        return TNB_INVALID;
    }
    if (d->head.abi_major != TNB_ABI_MAJOR || d->head.abi_minor != TNB_ABI_MINOR) {
        (void)tnb_fail(err, TNB_ABI, "plugin '%s' was built for ABI %u.%u, this runtime has %d.%d",
                       d->head.name, d->head.abi_major, d->head.abi_minor, TNB_ABI_MAJOR,
                       TNB_ABI_MINOR);
        tnb_hint(err, "rebuild the plugin against the headers of this Tenon");
        return TNB_ABI;
    }
    TNB_TRY(tnb_plugin_size_check(&d->head, sizeof *d, err));
    if ((d->n_drivers && !d->drivers) || (d->n_packed && !d->packed) ||
        (d->n_loaders && !d->loaders))
        return tnb_fail(err, TNB_INVALID, "plugin '%s' counts entries of a table that is NULL",
                        d->head.name);
    return TNB_OK;
}

tnb_status
tnr_runtime_add(tnr_runtime *rt, const tnr_plugin_desc *d, tnb_err *err)
{
    NEED(rt, err);
    NEED(d, err);
    TNB_TRY(check_descriptor(d, err));
    pthread_mutex_lock(&rt->lock);
    tnb_status st = check_tables(rt, d, NULL, err);
    if (st == TNB_OK)
        st = add_plugin(rt, d, NULL, err);
    pthread_mutex_unlock(&rt->lock);
    return st;
}

/* What a loaded plugin's tables hold must be what its manifest promised. */
static tnb_status
check_promises(tnr_runtime *rt, const tnb_plugin *plugin, const tnr_plugin_desc *d, tnb_err *err)
{
    tnb_arena *a = tnb_arena_new();
    if (!a)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load a plugin");
    const char **holds =
        TNB_NEW_N(a, const char *, (size_t)d->n_drivers + d->n_packed + d->n_loaders);
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n_drivers; i++)
        holds[n++] = tnb_printf(a, "device:%s", d->drivers[i]->base.name);
    for (uint32_t i = 0; i < d->n_packed; i++)
        holds[n++] = tnb_printf(a, "packed:%s", d->packed[i]->base.name);
    for (uint32_t i = 0; i < d->n_loaders; i++)
        holds[n++] = tnb_printf(a, "loader:%s", d->loaders[i]->base.name);
    tnb_status st = tnb_arena_failed(a) ? tnb_fail(err, TNB_NO_MEMORY, "no memory to load a plugin")
                                        : tnb_plugins_check(rt->opt.plugins, plugin, holds, n, err);
    tnb_arena_free(a);
    return st;
}

/* With the lock held. */
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
    const tnr_plugin_desc *d = (const tnr_plugin_desc *)(const void *)head;
    tnb_status st = tnb_plugin_size_check(head, sizeof *d, err);
    if (st == TNB_OK)
        st = check_tables(rt, d, plugin, err);
    if (st == TNB_OK)
        st = check_promises(rt, plugin, d, err);
    if (st == TNB_OK)
        st = add_plugin(rt, d, plugin, err);
    if (st != TNB_OK && err)
        tnb_plugins_refuse(rt->opt.plugins, plugin, err);
    return st;
}

/* Two plugins promise the name and nothing says which one serves: TNB_INVALID. What was loaded first would else be taken. */
static bool
is_undecided(const tnr_runtime *rt, const char *kind, const char *name, tnb_err *err)
{
    tnb_err why = {0};
    if (!rt->opt.plugins || tnb_plugins_find(rt->opt.plugins, kind, name, &why) ||
        why.status != TNB_INVALID)
        return false;
    if (err)
        *err = why;
    return true;
}

static const tnr_driver *
find_driver(tnr_runtime *rt, const char *name, tnb_err *err)
{
    if (is_undecided(rt, "device", name, err))
        return NULL;
    const tnr_driver *d = driver_named(rt, name);
    if (d)
        return d;
    const tnb_plugin *p = NULL;
    if (!rt->opt.plugins)
        (void)tnb_fail(err, TNB_NOT_FOUND, "no driver for device '%s' was added", name);
    else
        p = tnb_plugins_find(rt->opt.plugins, "device", name, err);
    if (!p) /* the error names it */
        return NULL;
    if (load(rt, p, err) != TNB_OK) {
        tnb_err_prefix(err, "device '%s'", name);
        return NULL;
    }
    return driver_named(rt, name);
}

const tnr_driver *
tnr_find_driver(tnr_runtime *rt, const char *name, tnb_err *err)
{
    if (!rt || !name) {
        (void)tnr_null_argument(__func__, rt ? "name" : "rt", err);
        return NULL;
    }
    tnb_err own = {0};
    pthread_mutex_lock(&rt->lock);
    const tnr_driver *d = find_driver(rt, name, err ? err : &own);
    pthread_mutex_unlock(&rt->lock);
    return d;
}

static const tnr_loader *
find_loader(tnr_runtime *rt, const char *name, tnb_err *err)
{
    if (is_undecided(rt, "loader", name, err))
        return NULL;
    const tnr_loader *l = loader_named(rt, name);
    if (l)
        return l;
    const tnb_plugin *p = NULL;
    if (!rt->opt.plugins)
        (void)tnb_fail(err, TNB_NOT_FOUND, "no loader '%s' was added", name);
    else
        p = tnb_plugins_find(rt->opt.plugins, "loader", name, err);
    if (!p) /* the error names it */
        return NULL;
    if (load(rt, p, err) != TNB_OK) {
        tnb_err_prefix(err, "functions that were given to '%s'", name);
        return NULL;
    }
    return loader_named(rt, name);
}

const tnr_loader *
tnr_find_loader(tnr_runtime *rt, const char *name, tnb_err *err)
{
    tnb_err own = {0};
    pthread_mutex_lock(&rt->lock);
    const tnr_loader *l = find_loader(rt, name, err ? err : &own);
    pthread_mutex_unlock(&rt->lock);
    return l;
}

static const tnr_packed *
find_packed(tnr_runtime *rt, const char *name, tnb_err *err)
{
    const struct packed_entry *e = *packed_slot(rt->packed, rt->packed_slots, name);
    if (!(e && !e->from_plugin) && is_undecided(rt, "packed", name, err))
        return NULL;
    if (e)
        return &e->p;
    const tnb_plugin *p = NULL;
    if (!rt->opt.plugins)
        (void)tnb_fail(err, TNB_NOT_FOUND, "no packed function '%s'", name);
    else
        p = tnb_plugins_find(rt->opt.plugins, "packed", name, err);
    if (!p) /* the error names it */
        return NULL;
    if (load(rt, p, err) != TNB_OK) {
        tnb_err_prefix(err, "packed function '%s'", name);
        return NULL;
    }
    e = *packed_slot(rt->packed, rt->packed_slots, name);
    return e ? &e->p : NULL;
}

/* Whether something that the plugin promises was added: then all of it was. */
static bool
has_any(tnr_runtime *rt, const tnb_plugin *p)
{
    for (uint32_t i = 0; i < p->n_provides; i++) {
        const char *what = p->provides[i], *name = strchr(what, ':') + 1;
        if (strncmp(what, "device:", 7) == 0 && driver_named(rt, name))
            return true;
        if (strncmp(what, "loader:", 7) == 0 && loader_named(rt, name))
            return true;
        if (strncmp(what, "packed:", 7) == 0 && *packed_slot(rt->packed, rt->packed_slots, name))
            return true;
    }
    return false;
}

tnb_status
tnr_load_plugin(tnr_runtime *rt, const tnb_plugin *p, tnb_err *err)
{
    NEED(rt, err);
    NEED(p, err);
    if (!rt->opt.plugins)
        return tnb_fail(err, TNB_INVALID, "tnr_load_plugin: the runtime was made without plugins");
    tnb_err own = {0};
    pthread_mutex_lock(&rt->lock);
    tnb_status st =
        p->state == TNB_PLUGIN_LOADED && has_any(rt, p) ? TNB_OK : load(rt, p, err ? err : &own);
    pthread_mutex_unlock(&rt->lock);
    return st;
}

const tnr_packed *
tnr_find_packed(tnr_runtime *rt, const char *name, tnb_err *err)
{
    if (!rt || !name) {
        (void)tnr_null_argument(__func__, rt ? "name" : "rt", err);
        return NULL;
    }
    tnb_err own = {0};
    pthread_mutex_lock(&rt->lock);
    const tnr_packed *p = find_packed(rt, name, err ? err : &own);
    pthread_mutex_unlock(&rt->lock);
    return p;
}

void
tnr_load_drivers(tnr_runtime *rt)
{
    tnb_arena *a = rt && rt->opt.plugins ? tnb_arena_new() : NULL;
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
    if (!rt)
        return NULL;
    pthread_mutex_lock(&rt->lock);
    /* in the order in which they came */
    const tnr_driver *d = i < rt->n_drivers ? rt->drivers[rt->n_drivers - 1 - i] : NULL;
    pthread_mutex_unlock(&rt->lock);
    return d;
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

/* Keys of [device NAME] that the driver does not know, and values that it does not take. */
static tnb_status
check_settings(const tnr_runtime *rt, const tnr_driver *d, tnb_err *err)
{
    const char *known[64];
    uint32_t n = 0, n_set = 0;
    for (const tnr_setting *s = d->settings; s && s->name && n < 64; s++)
        known[n++] = s->name;
    if (!d->settings || !rt->opt.conf)
        return TNB_OK;
    tnb_arena *a = tnb_arena_new();
    if (!a)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open a device");
    const tnb_conf_value **set =
        tnb_conf_section_values(rt->opt.conf, a, "device", d->base.name, &n_set);
    tnb_status st = TNB_OK;
    for (uint32_t i = 0; i < n_set && st == TNB_OK; i++) {
        uint32_t k = 0;
        while (k < n && strcmp(known[k], set[i]->key) != 0)
            k++;
        char at[32] = "";
        if (set[i]->line)
            snprintf(at, sizeof at, ":%u", set[i]->line);
        if (k < n) {
            if (d->check_setting && set[i]->value[0])
                st = TNB_CALL(err, d->check_setting(d->self, set[i]->key, set[i]->value, err),
                              "setting", set[i]->key, "check_setting");
            if (st != TNB_OK)
                tnb_err_prefix(err, "%s%s", set[i]->file, at);
            continue;
        }
        const char *near = tnb_nearest(set[i]->key, known, n);
        st = tnb_fail(err, TNB_INVALID, "%s%s: the device '%s' has no setting '%s'", set[i]->file,
                      at, d->base.name, set[i]->key);
        if (near)
            tnb_hint(err, "did you mean '%s'?", near);
        else
            tnb_hint(err, "tenon show devices lists its settings");
    }
    tnb_arena_free(a);
    return st;
}

tnb_status
tnr_device_open(tnr_runtime *rt, const char *name, int id, tnr_device **out, tnb_err *err)
{
    NEED(rt, err);
    NEED(name, err);
    NEED(out, err);
    tnb_err own = {0};
    err = err ? err : &own;
    pthread_mutex_lock(&rt->lock);
    tnr_device *dev = rt->devices;
    while (dev && (dev->dl.id != id || strcmp(dev->driver->base.name, name) != 0))
        dev = dev->next;
    tnb_status st = TNB_OK;
    if (!dev) {
        const tnr_driver *drv =
            strcmp(name, "host") == 0 ? &tnr_host_driver : tnr_find_driver(rt, name, err);
        struct conf_section section = {.conf = rt->opt.conf, .name = name};
        tnr_device_options opt = {.size = sizeof opt,
                                  .threads = rt->threads,
                                  .setting = device_setting,
                                  .user = &section,
                                  .cache_dir = rt->opt.conf ? tnb_conf_text(rt->opt.conf, "tenon",
                                                                            NULL, "cache_dir")
                                                            : NULL,
                                  .allocator = rt->opt.allocator,
                                  .pool = rt->opt.pool};
        st = drv ? check_settings(rt, drv, err) : err->status;
        if (st == TNB_OK)
            st = tnr_device_new(drv, id, &opt, &dev, err);
        if (st == TNB_OK) {
            dev->threads = rt->threads;
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
    return rt ? rt->host : NULL;
}

/* ---- the runtime ---- */

tnb_status
tnr_take_options(const tnr_runtime_options *opt, tnr_runtime_options *out, tnb_err *err)
{
    if (opt->size && opt->size != sizeof *out) {
        (void)tnb_fail(err, TNB_ABI, "tnr_runtime_new: the options have %" PRIu32 " bytes of %zu",
                       opt->size, sizeof *out);
        tnb_hint(err, "rebuild the program against the headers of this Tenon");
        return TNB_ABI;
    }
    *out = *opt;
    if (out->threads < 0)
        return tnb_fail(err, TNB_INVALID, "tnr_runtime_new: %d threads", out->threads);
    if ((out->allocator && (!out->allocator->alloc || !out->allocator->free)) ||
        (out->pool && (!out->pool->run || out->pool->threads < 1)))
        return tnb_fail(
            err, TNB_INVALID,
            "tnr_runtime_new: the allocator lacks a function, or the pool a function or threads");
    return TNB_OK;
}

tnb_status
tnr_runtime_new(const tnr_runtime_options *opt, tnr_runtime **out, tnb_err *err)
{
    NEED(out, err);
    tnr_runtime_options given = {0};
    if (opt)
        TNB_TRY(tnr_take_options(opt, &given, err));
    tnr_runtime *rt = calloc(1, sizeof *rt);
    if (!rt)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a runtime");
    rt->opt = given;
    if (rt->opt.pool)
        rt->opt.threads = rt->opt.pool->threads;
    rt->threads = rt->opt.threads > 0 ? rt->opt.threads : (int)tnb_threads_default();
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&rt->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    tnb_status st = packed_grow(rt, err);
    for (uint32_t i = 0; st == TNB_OK && i < tnr_n_builtins; i++)
        st = tnr_runtime_add_packed(rt, &tnr_builtins[i], err);
    for (uint32_t i = 0; st == TNB_OK && i < tnr_n_kv_builtins; i++)
        st = tnr_runtime_add_packed(rt, &tnr_kv_builtins[i], err);
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
    while (rt->n_finis)
        rt->finis[--rt->n_finis]();
    free(rt->finis);
    for (uint32_t i = 0; i < rt->n_drivers; i++)
        free(rt->drivers[i]);
    for (uint32_t i = 0; i < rt->n_loaders; i++)
        free(rt->loaders[i]);
    free(rt->loaders);
    free(rt->drivers);
    for (uint32_t i = 0; i < rt->packed_slots; i++)
        free(rt->packed[i]);
    free(rt->packed);
    while (rt->replaced) {
        struct packed_entry *next = rt->replaced->next;
        free(rt->replaced);
        rt->replaced = next;
    }
    pthread_mutex_destroy(&rt->lock);
    free(rt);
}

int
tnr_runtime_threads(const tnr_runtime *rt)
{
    return rt ? rt->threads : 0;
}
