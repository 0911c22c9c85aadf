/* SPDX-License-Identifier: Apache-2.0 */
/* Plain memory of the host: a device without kernels, and the parts that other drivers of host
 * memory take from it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

tnb_status
tnr_host_count(void *self, int *n, tnb_err *err)
{
    NEED(n, err);
    (void)self, (void)err;
    *n = 1;
    return TNB_OK;
}

tnb_status
tnr_host_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    NEED(dev, err);
    (void)self, (void)id, (void)opt, (void)err;
    *dev = NULL;
    return TNB_OK;
}

void
tnr_host_close(void *dev)
{
    (void)dev;
}

tnb_status
tnr_host_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err)
{
    NEED_N(features, n, err);
    (void)dev;
    return n ? tnb_fail(err, TNB_UNSUPPORTED,
                        "the code needs '%s', which this device does not have", features[0])
             : TNB_OK;
}

tnb_status
tnr_host_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    NEED(mem, err);
    (void)dev;
    if (scope && strcmp(scope, "global") != 0 && strcmp(scope, "host") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED, "the host has no memory of scope '%s'", scope);
    if (bytes > PTRDIFF_MAX || posix_memalign(mem, TNR_HOST_ALIGNMENT, bytes ? bytes : 1) != 0)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %" PRIu64 " bytes", bytes);
    return TNB_OK;
}

void
tnr_host_free(void *dev, void *mem)
{
    (void)dev;
    free(mem);
}

tnb_status
tnr_host_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    NEED(c, err);
    NEED_N(c->dst, c->bytes, err);
    NEED_N(c->src, c->bytes, err);
    (void)dev, (void)stream;
    if (c->bytes)
        memmove((char *)c->dst + c->dst_offset, (const char *)c->src + c->src_offset, c->bytes);
    return TNB_OK;
}

tnb_status
tnr_host_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    NEED_N(mem, bytes, err);
    (void)dev, (void)stream;
    if (bytes)
        memset((char *)mem + offset, 0, bytes);
    return TNB_OK;
}

tnb_status
tnr_host_sync(void *dev, void *stream, tnb_err *err)
{
    (void)dev, (void)stream, (void)err;
    return TNB_OK;
}

tnb_status
tnr_refuse_param(const tnr_launch *l, uint32_t i, tnb_err *err)
{
    static const char *const names[] = {/* ORDER PARAM_KIND */
                                        "?",        "a buffer",     "a scalar",
                                        "an image", "a tensor map", "a place for a refused index",
                                        "a tag"};
    NEED(l, err);
    if (i >= l->n_params)
        return tnb_fail(err, TNB_BOUNDS, "parameter %" PRIu32 " of %" PRIu32, i, l->n_params);
    uint32_t kind = l->params[i].kind < TNB_PARAM_END ? l->params[i].kind : 0;
    return tnb_fail(err, TNB_UNSUPPORTED,
                    "parameter %" PRIu32 " is %s, which this device does not take", i, names[kind]);
}

/* ---- the device "host" ---- */

static void
host_describe(void *dev, char *out, size_t n)
{
    (void)dev;
    snprintf(out, n, "memory of the host");
}

static tnb_status
host_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                 tnb_err *err)
{
    (void)dev, (void)format, (void)code, (void)n, (void)module;
    return tnb_fail(err, TNB_UNSUPPORTED, "plain host memory runs no kernels");
}

const tnr_driver tnr_host_driver = {
    .base.size = sizeof(tnr_driver),
    .flags = TNR_DRIVER_HOST_MEMORY,
    .base.name = "host",
    .base.doc = "memory of the host, without kernels",
    .type = TNB_CPU,
    .alignment = TNR_HOST_ALIGNMENT,
    .count = tnr_host_count,
    .open = tnr_host_open,
    .close = tnr_host_close,
    .describe = host_describe,
    .check_features = tnr_host_check_features,
    .alloc = tnr_host_alloc,
    .free = tnr_host_free,
    .copy = tnr_host_copy,
    .zero = tnr_host_zero,
    .sync = tnr_host_sync,
    .module_load = host_module_load,
};
