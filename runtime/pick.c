/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a variant of an artifact: the first that can run here, in the order that the caller or the site's settings give
 * ([tenon] target_order), and else in the artifact's.
 */
#include <string.h>
#include "internal.h"
#include "tenon/base/conf.h"
#include "tenon/base/log.h"

/* Code on one of the variant's devices. */
static tnb_status
device_takes(tnr_runtime *rt, const char *device, size_t code_bytes, const char *format,
             const char *const *features, uint32_t n_features, tnb_err *err)
{
    tnr_device *dev;
    TNB_TRY(tnr_device_open(rt, device, 0, &dev, err));
    const tnr_driver *drv = tnr_device_driver(dev);
    if (code_bytes)
        TNB_TRY(tnr_device_check_native(dev, rt->opt.no_native, err));
    if (code_bytes) {
        bool known = false;
        for (const char *const *f = drv->formats; f && *f; f++)
            known |= strcmp(*f, format) == 0;
        if (!known)
            return tnb_fail(err, TNB_UNSUPPORTED, "driver '%s' does not take code of format '%s'",
                            drv->base.name, format);
    }
    return TNR_ASK(dev, err, check_features, features, n_features);
}

static tnb_status
can_run(tnr_runtime *rt, const tnr_variant *v, tnb_err *err)
{
    TNB_TRY(device_takes(rt, v->device, v->code_bytes, v->format, v->features, v->n_features, err));
    if (v->fallback_device)
        TNB_TRY(device_takes(rt, v->fallback_device, v->fallback_bytes, v->fallback_format,
                             v->fallback_features, v->n_fallback_features, err));
    for (uint32_t i = 0; i < v->n_packed; i++) {
        const tnr_external *x = tnr_variant_external(v, v->packed[i]);
        if (x ? !tnr_find_loader(rt, x->loader, err) : !tnr_find_packed(rt, v->packed[i], err))
            return err->status;
    }
    return TNB_OK;
}

/* ---- the order ---- */

#define BETWEEN ", \t\n"

static uint32_t
count_names(const char *list)
{
    uint32_t n = 0;
    for (const char *at = list; at && *(at += strspn(at, BETWEEN)); at += strcspn(at, BETWEEN))
        n++;
    return n;
}

/* The place of a name in the list; behind all where it is not there. */
static uint32_t
find_name(const char *name, const char *list)
{
    uint32_t place = 0;
    for (const char *at = list; at && *(at += strspn(at, BETWEEN)); place++) {
        size_t n = strcspn(at, BETWEEN);
        if (strlen(name) == n && !memcmp(name, at, n))
            break;
        at += n;
    }
    return place;
}

/* The place of the variant's target or else of its device, and whether it is the target's. */
static uint32_t
place_of(const tnr_variant *v, const char *list, bool *exactly)
{
    uint32_t place = find_name(v->name, list);
    *exactly = place < count_names(list);
    return *exactly ? place : find_name(v->device, list);
}

/* A choice under way. */
struct choice {
    tnr_runtime *rt;
    const tnr_artifact *a;
    const char *wanted;    /* NULL: any */
    const char *preferred; /* the settings'; NULL: none */
    tnb_buf passed;        /* a line for each variant passed over */
    tnb_err first;         /* the reason that counts when none is left */
};

static void
pass_over(struct choice *c, uint32_t i, const tnb_err *e)
{
    const tnr_variant *v = &c->a->variants[i].info;
    if (c->first.status == TNB_OK ||
        (c->first.status == TNB_NOT_FOUND && e->status != TNB_NOT_FOUND))
        c->first = *e;
    tnb_buf_printf(&c->passed, "%svariant %" PRIu32 " (%s on %s): %s", c->passed.n ? "\n" : "", i,
                   v->name, v->device, e->message);
}

/* The first of those at this place that can run, by their targets' names or by their devices'; the number of variants if there is
 * none. */
static uint32_t
try_place(struct choice *c, uint32_t place, bool by_target)
{
    const char *list = c->wanted ? c->wanted : c->preferred;
    for (uint32_t i = 0; i < c->a->n_variants; i++) {
        const tnr_variant *v = &c->a->variants[i].info;
        bool exactly;
        tnb_err e = {0};
        if (place_of(v, list, &exactly) != place || exactly != by_target)
            continue;
        if (c->wanted && place == count_names(list)) {
            (void)tnb_fail(&e, TNB_NOT_FOUND, "not among the chosen: '%s'", c->wanted);
        } else if (can_run(c->rt, v, &e) == TNB_OK) {
            return i;
        } else {
            tnb_log(TNB_LOG_INFO, "%s: variant %" PRIu32 " (%s on %s) is passed over: %s",
                    c->a->name, i, v->name, v->device, e.message);
        }
        pass_over(c, i, &e);
    }
    return c->a->n_variants;
}

static void
say_picked(const struct choice *c, uint32_t i, tnb_buf *why)
{
    const tnr_variant *v = &c->a->variants[i].info;
    bool exactly;
    tnb_buf b = {0};
    if (!why && c->a->n_variants == 1)
        return;
    tnb_buf_printf(&b, "variant %" PRIu32 " (%s on %s) is used: ", i, v->name, v->device);
    if (c->wanted)
        tnb_buf_printf(&b, "chosen by name, '%s'", c->wanted);
    else if (place_of(v, c->preferred, &exactly) < count_names(c->preferred))
        tnb_buf_puts(&b, "the first of [tenon] target_order that can run here");
    else
        tnb_buf_puts(&b, "the first in the file that can run here");
    if (b.s && c->a->n_variants > 1)
        tnb_log(TNB_LOG_INFO, "%s: %s", c->a->name, b.s);
    if (why && b.s)
        tnb_buf_printf(why, "%s%s%s", b.s, c->passed.n ? "\n" : "", c->passed.n ? c->passed.s : "");
    tnb_buf_free(&b);
}

static tnb_status
say_none(const struct choice *c, tnb_buf *why, tnb_err *err)
{
    tnb_status st = tnb_fail(err, c->first.status, "%s: no variant runs here: %s", c->a->name,
                             c->passed.s ? c->passed.s : c->first.message);
    tnb_buf names = {0};
    for (uint32_t i = 0; i < c->a->n_variants; i++)
        tnb_buf_printf(&names, "%s%s", i ? ", " : "", c->a->variants[i].info.name);
    if (c->first.hint[0])
        tnb_hint(err, "%s", c->first.hint);
    else if (c->first.status == TNB_NOT_FOUND && c->wanted && names.s)
        tnb_hint(err, "it has %s: name one of these, or none, or compile the model for '%s'",
                 names.s, c->wanted);
    tnb_buf_free(&names);
    if (why && c->passed.n)
        tnb_buf_puts(why, c->passed.s);
    return st;
}

tnb_status
tnr_artifact_pick(tnr_runtime *rt, const tnr_artifact *a, const char *wanted, uint32_t *variant,
                  tnb_buf *why, tnb_err *err)
{
    NEED(rt, err);
    NEED(a, err);
    NEED(variant, err);
    struct choice c = {.rt = rt, .a = a, .wanted = wanted};
    if (rt->opt.conf)
        c.preferred = tnb_conf_text(rt->opt.conf, "tenon", "", "target_order");
    uint32_t found = a->n_variants, places = count_names(wanted ? wanted : c.preferred);
    for (uint32_t place = 0; place <= places && found == a->n_variants; place++) {
        found = try_place(&c, place, true);
        if (found == a->n_variants)
            found = try_place(&c, place, false);
    }
    tnb_status st = TNB_OK;
    if (found < a->n_variants) {
        *variant = found;
        say_picked(&c, found, why);
    } else {
        st = say_none(&c, why, err);
    }
    tnb_buf_free(&c.passed);
    return st;
}
