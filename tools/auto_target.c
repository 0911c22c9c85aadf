/* SPDX-License-Identifier: Apache-2.0 */
/* Targets with the attributes of a device that is present: -t NAME:auto, and what is compiled to run at once. */
#include "tool.h"

#include <string.h>
#include "tenon/core/text.h"
#include "tenon/rt/device.h"

static const char suffix[] = ":auto";

/* The driver's answer for its first device as the configuration leaves them; no device is opened of a driver that would not answer. The
 * device is closed again: a process that is forked from this one does not have the threads of its driver. */
static tnb_status
ask(tnt_session *s, const char *driver, char *out, size_t n, tnb_err *err)
{
    const tnr_runtime_options o = {.plugins = s->plugins, .conf = s->conf};
    tnr_runtime *rt = NULL;
    tnr_device *dev = NULL;
    tnb_status st = tnr_runtime_new(&o, &rt, err);
    const tnr_driver *d = st == TNB_OK ? tnr_find_driver(rt, driver, err) : NULL;
    if (st == TNB_OK && !d)
        st = TNB_NOT_FOUND;
    if (d && !d->target)
        st = tnb_fail(err, TNB_UNSUPPORTED, "device '%s' does not tell attributes", driver);
    if (st == TNB_OK)
        st = tnr_device_open(rt, driver, 0, &dev, err);
    if (st == TNB_OK)
        st = d->target(tnr_device_handle(dev), out, n, err);
    tnr_runtime_free(rt);
    return st;
}

const char *
tnt_auto_target(tnt_session *s, const char *name)
{
    size_t n = strlen(name), k = sizeof suffix - 1;
    char text[4096];
    tnb_err err = {0};
    if (n <= k || strcmp(name + n - k, suffix) != 0)
        return name;
    const char *kind = tn_strn(s->ctx, name, n - k);
    const tn_target_kind *t = tn_find_target(s->registry, kind, &err);
    if (t && ask(s, t->device ? t->device : t->base.name, text, sizeof text, &err) == TNB_OK)
        return tn_strf(s->ctx, "{\"kind\": \"%s\", \"tag\": \"%s\", %s}", kind, name, text);
    if (t) {
        tnb_err_prefix(&err, "target %s", name);
        if (!err.hint[0])
            tnb_hint(&err, "-t %s takes the usual attributes", kind);
    }
    tnt_complain(&err);
    return NULL;
}

const tn_node *
tnt_device_attrs(tnt_session *s, const char *kind)
{
    char text[4096];
    tnb_err err = {0};
    const tn_target_kind *t = tn_find_target(s->registry, kind, &err);
    if (!t || ask(s, t->device ? t->device : t->base.name, text, sizeof text, &err) != TNB_OK)
        return NULL;
    const char *json = tn_strf(s->ctx, "{%s}", text);
    return tn_value_from_json(s->ctx, json, strlen(json), &err);
}
