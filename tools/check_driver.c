/* SPDX-License-Identifier: Apache-2.0 */
/* What a loaded runtime plugin's tables say, tried: flags and numbers, then its devices, which are counted, opened, and asked what they
 * say of themselves. For tenon check-plugin, in its child process.
 */
#include "tool.h"

#include <string.h>

#include "tenon/core/text.h"

enum { MOST_DEVICES = 4096, MOST_ALIGNMENT = 1 << 20 };

static void
try_settings(tnt_finder *f, const tnr_driver *d)
{
    for (const tnr_setting *s = d->settings; s && s->name; s++) {
        const tnr_setting *same = d->settings;
        tnb_err err = {0};
        while (strcmp(same->name, s->name) != 0)
            same++;
        if (!*s->name || same != s)
            tnt_found(f, "settings", "names are unique", "has '%s' twice, or an empty name",
                      s->name);
        if (!s->doc || !*s->doc)
            tnt_found(f, "settings", "say what the setting does", "has '%s' without a text (doc)",
                      s->name);
        if (s->fallback && d->check_setting &&
            d->check_setting(d->self, s->name, s->fallback, &err) != TNB_OK)
            tnt_found(f, "check_setting", err.hint, "refuses what '%s' is without a setting: %s",
                      s->name, err.message);
    }
}

static void
try_properties(tnt_finder *f, tnr_device *dev)
{
    uint32_t n;
    const tnr_property *p = tnr_device_properties(dev, &n);
    for (uint32_t i = 0; i < n; i++) {
        bool twice = false;
        for (uint32_t k = 0; k < i; k++)
            twice |= p[i].name && p[k].name && !strcmp(p[i].name, p[k].name);
        if (!p[i].name || !*p[i].name || twice)
            tnt_found(f, "properties", "names are unique",
                      "has number %u without a name of its own", i);
        else if (p[i].type < TNR_PROPERTY_INT || p[i].type > TNR_PROPERTY_TEXT ||
                 (p[i].type == TNR_PROPERTY_TEXT && !p[i].u.text))
            tnt_found(f, "properties", "see tnr_property_type",
                      "has '%s' of type %d, or without a text", p[i].name, (int)p[i].type);
    }
}

static void
try_open(tnt_session *s, tnt_finder *f, const tnr_driver *d, tnr_device *dev)
{
    void *handle = tnr_device_handle(dev);
    char text[4096];
    tnb_err err = {0};
    memset(text, 1, sizeof text);
    d->describe(handle, text, sizeof text);
    if (!memchr(text, 0, sizeof text) || !*text)
        tnt_found(f, "describe", "one line for a person", "writes nothing, or no text that ends");
    if (d->check_features(handle, NULL, 0, &err) != TNB_OK)
        tnt_found(f, "check_features", err.hint, "refuses a device of which nothing is wanted: %s",
                  err.message);
    try_properties(f, dev);
    if (!d->target)
        return;
    text[0] = '{';
    err = (tnb_err){0};
    if (d->target(handle, text + 1, sizeof text - 2, &err) != TNB_OK) {
        tnt_found(f, "target", err.hint, "fails: %s",
                  *err.message ? err.message : "without a reason");
        return;
    }
    strcat(text, "}");
    if (!tn_value_from_json(s->ctx, text, strlen(text), &err))
        tnt_found(f, "target", "members of a JSON object: \"warp\": 32, \"features\": []",
                  "writes what is none: %s", err.message);
}

static void
try_devices(tnt_session *s, tnt_finder *f, tnr_runtime *rt, const tnr_driver *d)
{
    tnb_err err = {0};
    int n = 0, opened = 0;
    f->tell('P', "its driver counted devices");
    tnb_status st = d->count(d->self, &n, &err);
    if (n < 0 || n > MOST_DEVICES) {
        tnt_found(f, "count", "0 and a reason where there is none", "gives %d devices", n);
        return;
    }
    if (st != TNB_OK || n == 0) {
        if (st != TNB_OK && !*err.message)
            tnt_found(f, "count", "tnb_fail writes it", "fails without a reason");
        else
            f->tell('O', "driver %s; no device: %s", d->base.name,
                    *err.message ? err.message : "none found");
        return;
    }
    for (int i = 0; i < n; i++) {
        tnr_device *dev;
        char phase[160];
        snprintf(phase, sizeof phase, "its driver '%s' opened device %d (.open)", d->base.name, i);
        f->tell('P', "%s", phase);
        err = (tnb_err){0};
        if (tnr_device_open(rt, d->base.name, i, &dev, &err) != TNB_OK) {
            if (!*err.message)
                tnt_found(f, "open", "tnb_fail writes it", "fails without a reason for device %d",
                          i);
            else
                f->tell('W', "driver %s: device %d cannot be opened: %s", d->base.name, i,
                        err.message);
            continue;
        }
        opened++;
        f->tell('P',
                "its device said what it is (.describe, .check_features, .properties, .target)");
        try_open(s, f, d, dev);
    }
    if (!opened)
        tnt_found(f, "open", "tenon list devices --config FILE shows what settings do",
                  "opens none of the %d device%s that .count gives: %s", n, n == 1 ? "" : "s",
                  err.message);
    else
        f->tell('O', "driver %s, %d device%s, %d opened", d->base.name, n, n == 1 ? "" : "s",
                opened);
}

static void
try_driver(tnt_session *s, tnt_finder *f, tnr_runtime *rt, const tnr_driver *d)
{
    tnt_known_flags(f, "flags", d->flags, TNR_DRIVER_HOST_MEMORY | TNR_DRIVER_NATIVE);
    tnt_known_flags(f, "takes", d->takes, 2 * TNR_TAKES_SHARED - 1);
    tnt_in_range(f, "type", d->type, 1, INT32_MAX);
    if (d->alignment == 0 || d->alignment & (d->alignment - 1) || d->alignment > MOST_ALIGNMENT)
        tnt_found(f, "alignment", "of the memory that .alloc gives: a power of two", "is %u",
                  d->alignment);
    else if (d->flags & TNR_DRIVER_HOST_MEMORY && d->alignment < TNR_HOST_ALIGNMENT)
        tnt_found(f, "alignment", "memory of the host has 64 at least (TNR_HOST_ALIGNMENT)",
                  "is %u", d->alignment);
    tnt_no_empty_text(f, "formats", d->formats);
    try_settings(f, d);
    if (!f->found)
        try_devices(s, f, rt, d);
}

bool
tnt_check_drivers(tnt_session *s, tnr_runtime *rt, const tnr_plugin_desc *desc, tnt_tell tell)
{
    tnt_finder f = {.tell = tell};
    uint32_t found = 0;
    for (uint32_t i = 0; i < desc->n_drivers; i++) {
        f = (tnt_finder){.tell = tell, .kind = "driver", .name = desc->drivers[i]->base.name};
        try_driver(s, &f, rt, desc->drivers[i]);
        found += f.found;
    }
    for (uint32_t i = 0; i < desc->n_packed; i++) {
        const tnr_packed *p = desc->packed[i];
        f = (tnt_finder){.tell = tell, .kind = "packed function", .name = p->base.name};
        tnt_known_flags(&f, "flags", p->flags, 2 * TNR_PACKED_STREAM - 1);
        if (p->flags & TNR_PACKED_BLOCKING && p->flags & TNR_PACKED_CAPTURABLE)
            tnt_found(&f, "flags", "what waits cannot be captured",
                      "has TNR_PACKED_BLOCKING and TNR_PACKED_CAPTURABLE");
        found += f.found;
    }
    for (uint32_t i = 0; i < desc->n_loaders; i++) {
        f = (tnt_finder){.tell = tell, .kind = "loader", .name = desc->loaders[i]->base.name};
        tnt_known_flags(&f, "flags", desc->loaders[i]->flags, 0);
        found += f.found;
    }
    return !found;
}
