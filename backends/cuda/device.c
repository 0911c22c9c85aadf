/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: which devices there are, opening them, the table. Devices come in the driver's order, after the
 * one that [device cuda] names.
 */
#include "device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEVICES = 64 };

tnb_status
cuda_enter(struct cuda_device *d, tnb_err *err)
{
    TNB_TRY(cuda_alive(d, err));
    CUresult r = d->api->CtxPushCurrent(d->context);
    return r == CUDA_SUCCESS ? TNB_OK
                             : cuda_fail(d, d->api, r, "cuCtxPushCurrent", err, "using device '%s'",
                                         d->info.name);
}

void
cuda_leave(struct cuda_device *d)
{
    CUcontext own;
    (void)d->api->CtxPopCurrent(&own);
}

/* ---- which devices there are ---- */

static tnb_status
cuda_count(void *self, int *n, tnb_err *err)
{
    (void)self;
    *n = 0;
    const struct cuda_api *api = cuda_api_open(err);
    if (!api)
        return TNB_OK;
    CUresult r = api->DeviceGetCount(n);
    if (r == CUDA_SUCCESS && *n > 0)
        return TNB_OK;
    *n = 0;
    (void)cuda_fail(NULL, api, r == CUDA_SUCCESS ? CUDA_ERROR_NO_DEVICE : r, "cuDeviceGetCount",
                    err, "looking for GPUs");
    return TNB_OK;
}

/* ---- settings ---- */

static const char *
setting(const tnr_device_options *opt, const char *key)
{
    const char *s = opt && opt->setting ? opt->setting(opt->user, key) : NULL;
    return s && *s ? s : NULL;
}

static tnb_status
cuda_check_setting(void *self, const char *key, const char *value, tnb_err *err)
{
    (void)self;
    if (strcmp(key, "check_launches") == 0 && strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
        return tnb_fail(err, TNB_INVALID, "[device cuda] %s = %.60s: it is yes or no", key, value);
    return TNB_OK;
}

/* Whether a name holds the text, whatever the case of letters. */
static bool
holds(const char *name, const char *text)
{
    size_t n = strlen(text);
    for (; *name; name++)
        if (strncasecmp(name, text, n) == 0)
            return true;
    return false;
}

static bool
is_chosen(const struct cuda_api *api, CUdevice gpu, int number, const char *wanted)
{
    char name[CUDA_TEXT] = "", text[16];
    snprintf(text, sizeof text, "%d", number);
    if (isdigit((unsigned char)*wanted))
        return strcmp(text, wanted) == 0;
    return api->DeviceGetName(name, CUDA_TEXT - 1, gpu) == CUDA_SUCCESS && holds(name, wanted);
}

/* The device of that number, where the one that the setting names is number 0. */
static tnb_status
find(const struct cuda_api *api, int id, const char *wanted, CUdevice *out, tnb_err *err)
{
    CUdevice all[MAX_DEVICES];
    int n = 0, k = 0;
    CUresult r = api->DeviceGetCount(&n);
    n = n < MAX_DEVICES ? n : MAX_DEVICES;
    for (int i = 0; r == CUDA_SUCCESS && i < n; i++)
        r = api->DeviceGet(&all[i], i);
    if (r != CUDA_SUCCESS)
        return cuda_fail(NULL, api, r, "cuDeviceGet", err, "looking for GPUs");
    for (int i = 0; wanted && i < n; i++)
        if (is_chosen(api, all[i], i, wanted)) {
            CUdevice chosen = all[i];
            for (int j = i; j > k; j--)
                all[j] = all[j - 1];
            all[k++] = chosen;
        }
    if (id < 0 || id >= n)
        return tnb_fail(err, TNB_BOUNDS, "GPU number %d of %d", id, n);
    if (wanted && id >= k) {
        (void)tnb_fail(err, TNB_DEVICE, "%s by [device cuda] device = %.80s",
                       k ? "the GPU is left out" : "every GPU is left out", wanted);
        tnb_hint(err,
                 "it is a number from 0 to %d or a part of a name; tenon list devices shows "
                 "all",
                 n - 1);
        return TNB_DEVICE;
    }
    *out = all[id];
    return TNB_OK;
}

/* ---- opening ---- */

static void
cuda_close(void *dev)
{
    struct cuda_device *d = dev;
    if (d->context) {
        if (d->own.handle && cuda_enter(d, NULL) == TNB_OK) {
            if (cuda_wait_all(d, NULL) == TNB_OK)
                (void)d->api->StreamDestroy(d->own.handle);
            cuda_leave(d);
        }
        (void)d->api->DevicePrimaryCtxRelease(d->gpu);
    }
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->load_lock);
    pthread_mutex_destroy(&d->lost_lock);
    free(d);
}

static tnb_status
open_gpu(struct cuda_device *d, tnb_err *err)
{
    TNB_TRY(cuda_info_read(d->api, d->gpu, &d->info, err));
    snprintf(d->version_text, sizeof d->version_text, "CUDA %d.%d", d->api->version / 1000,
             d->api->version % 1000 / 10);
    CUresult r = d->api->DevicePrimaryCtxRetain(&d->context, d->gpu);
    if (r != CUDA_SUCCESS) {
        d->context = NULL;
        return cuda_fail(NULL, d->api, r, "cuDevicePrimaryCtxRetain", err, "opening device '%s'",
                         d->info.name);
    }
    TNB_TRY(cuda_enter(d, err));
    r = d->api->StreamCreate(&d->own.handle, CU_STREAM_NON_BLOCKING);
    cuda_leave(d);
    if (r == CUDA_SUCCESS)
        return TNB_OK;
    d->own.handle = NULL;
    return cuda_fail(d, d->api, r, "cuStreamCreate", err, "opening device '%s'", d->info.name);
}

static tnb_status
cuda_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    const char *check = setting(opt, "check_launches");
    CUdevice gpu;
    (void)self;
    const struct cuda_api *api = cuda_api_open(err);
    if (!api)
        return TNB_DEVICE;
    if (check)
        TNB_TRY(cuda_check_setting(NULL, "check_launches", check, err));
    TNB_TRY(find(api, id, setting(opt, "device"), &gpu, err));
    struct cuda_device *d = calloc(1, sizeof *d);
    if (!d)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open a GPU");
    d->api = api;
    d->gpu = gpu;
    d->check_launches = check && *check == 'y';
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_mutex_init(&d->load_lock, NULL);
    (void)pthread_mutex_init(&d->lost_lock, NULL);
    tnb_status st = open_gpu(d, err);
    if (st != TNB_OK) {
        cuda_close(d);
        return st;
    }
    *dev = d;
    return TNB_OK;
}

static const tnr_setting settings[] = {
    {"device", NULL, "the GPU: its number, or a part of its name"},
    {"check_launches", "no",
     "yes: each kernel is waited for, so that an error of one names it and nothing else"},
    {0},
};

static const tnr_driver cuda_driver = {
    .base.size = sizeof(tnr_driver),
    .base.name = "cuda",
    .base.doc = "GPUs of NVIDIA through the driver of CUDA 12.0 and newer",
    .takes = TNR_TAKES_CLUSTERS | TNR_TAKES_COOPERATIVE | TNR_TAKES_PROGRAMMATIC | TNR_TAKES_SHARED,
    .type = TNB_CUDA,
    .alignment = 256,
    .settings = settings,
    .count = cuda_count,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .check_features = cuda_check_features,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .sync = cuda_sync,
    .stream_new = cuda_stream_new,
    .stream_free = cuda_stream_free,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_seconds = cuda_event_seconds,
    .event_done = cuda_event_done,
    .event_sync = cuda_event_sync,
    .copy_start = cuda_copy_start,
    .pinned_alloc = cuda_pinned_alloc,
    .pinned_free = cuda_pinned_free,
    .alloc_ordered = cuda_alloc_ordered,
    .free_ordered = cuda_free_ordered,
    .peer = cuda_peer,
    .peer_copy = cuda_peer_copy,
    .formats = cuda_formats,
    .module_load = cuda_module_load,
    .module_free = cuda_module_free,
    .module_kernel = cuda_module_kernel,
    .launch = cuda_launch,
    .graph_begin = cuda_graph_begin,
    .graph_end = cuda_graph_end,
    .graph_update = cuda_graph_update,
    .graph_launch = cuda_graph_launch,
    .graph_free = cuda_graph_free,
    .properties = cuda_facts,
    .target = cuda_target_of,
    .check_setting = cuda_check_setting,
};
static const tnr_driver *const drivers[] = {&cuda_driver};

TNR_PLUGIN(cuda_rt, "0.1.0", "Apache-2.0", "runs kernels on GPUs of NVIDIA", .drivers = drivers,
           .n_drivers = 1);
