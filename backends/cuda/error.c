/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: what the driver's codes mean here. A kernel that goes astray is reported by a later call, and
 * ends the context: nothing works on the device after it. */
#include "device.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ENDS = 1 };

/* The driver has the names and texts of its codes. */
static const struct meaning {
    CUresult code;
    tnb_status status;
    int ends; /* nothing works in this process after it */
    const char *hint;
} meanings[] = {
    {1, TNB_INVALID, 0, ""},
    {2, TNB_NO_MEMORY, 0, "use a smaller batch or model, or a device with more memory"},
    {34, TNB_DEVICE, 0, "libcuda.so.1 is the CUDA Toolkit's stub: install the driver of the GPU"},
    {46, TNB_DEVICE, 0, "another process has the device for itself (nvidia-smi -c)"},
    {100, TNB_DEVICE, 0, "no GPU of NVIDIA is present, or CUDA_VISIBLE_DEVICES hides it"},
    {101, TNB_BOUNDS, 0, ""},
    {200, TNB_FORMAT, 0, ""},
    {209, TNB_UNSUPPORTED, 0,
     "compile the model for the device's architecture: -t cuda:auto where it is present, or "
     "--set target.cuda.arch=sm_XY"},
    {214, TNB_DEVICE, ENDS, "the device's memory has an error that cannot be corrected"},
    {218, TNB_FORMAT, 0, ""},
    {220, TNB_DEVICE, ENDS, ""},
    {222, TNB_UNSUPPORTED, 0,
     "the driver is older than the NVRTC that made the code: install a newer driver, or compile "
     "for the device's own architecture (-t cuda:auto)"},
    {700, TNB_DEVICE, ENDS, ""},
    {701, TNB_UNSUPPORTED, 0, ""},
    {702, TNB_DEVICE, ENDS, "the device also drives a display, which limits a kernel's time"},
    {709, TNB_DEVICE, ENDS, ""},
    {710, TNB_DEVICE, ENDS, ""},
    {714, TNB_DEVICE, ENDS, ""},
    {715, TNB_DEVICE, ENDS, ""},
    {716, TNB_DEVICE, ENDS, ""},
    {717, TNB_DEVICE, ENDS, ""},
    {718, TNB_DEVICE, ENDS, ""},
    {719, TNB_DEVICE, ENDS, ""},
    {720, TNB_UNSUPPORTED, 0, ""},
    {801, TNB_UNSUPPORTED, 0, ""},
    {803, TNB_DEVICE, 0, "the driver's library and its kernel module differ: restart the machine"},
    {900, TNB_INVALID, 0, ""},
    {901, TNB_INVALID, 0, ""},
    {912, TNB_UNSUPPORTED, 0, ""},
};

static const struct meaning *
meaning_of(CUresult code)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].code == code)
            return &meanings[i];
    return NULL;
}

/* Kernels are launched before what they do wrong is known: the last names are kept, newest first in the text. */
void
cuda_note_launch(struct cuda_device *d, const char *name)
{
    unsigned i = atomic_fetch_add(&d->n_launched, 1);
    atomic_store(&d->launched[i % CUDA_NOTED], (uintptr_t)name);
}

static void
last_launches(struct cuda_device *d, char *out, size_t size)
{
    unsigned n = atomic_load(&d->n_launched);
    size_t at = 0;
    *out = '\0';
    for (unsigned k = 0; k < CUDA_NOTED && k < n && at < size; k++) {
        const char *name = (const char *)atomic_load(&d->launched[(n - 1 - k) % CUDA_NOTED]);
        if (name)
            at += (size_t)snprintf(out + at, size - at, "%s'%.60s'", at ? ", " : "", name);
    }
}

static void
lose(struct cuda_device *d, const char *why)
{
    pthread_mutex_lock(&d->lost_lock);
    if (!atomic_load(&d->lost)) {
        snprintf(d->why_lost, sizeof d->why_lost, "%s", why);
        atomic_store(&d->lost, true);
    }
    pthread_mutex_unlock(&d->lost_lock);
}

tnb_status
cuda_fail(struct cuda_device *d, const struct cuda_api *api, CUresult code, const char *call,
          tnb_err *err, const char *fmt, ...)
{
    const struct meaning *m = meaning_of(code);
    const char *name = NULL, *text = NULL;
    char what[320], launches[288] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (api->GetErrorName(code, &name) != CUDA_SUCCESS || !name)
        name = "unknown code";
    if (api->GetErrorString(code, &text) != CUDA_SUCCESS || !text)
        text = "no text";
    tnb_status st = m ? m->status : TNB_DEVICE;
    bool ends = d && m && m->ends;
    if (ends) {
        lose(d, name);
        if (!d->check_launches)
            last_launches(d, launches, sizeof launches);
    }
    (void)tnb_fail(err, st, "%s: %s: %s (%d): %s%s%s", what, call, name, code, text,
                   *launches ? "; last launched: " : "", launches);
    if (m && m->hint[0])
        tnb_hint(err, "%s", m->hint);
    else if (ends && !d->check_launches)
        tnb_hint(err, "--set device.cuda.check_launches=yes waits for each kernel and names it");
    return st;
}

tnb_status
cuda_alive(struct cuda_device *d, tnb_err *err)
{
    if (!atomic_load(&d->lost))
        return TNB_OK;
    (void)tnb_fail(err, TNB_DEVICE, "the device '%s' was lost before (%s)", d->info.name,
                   d->why_lost);
    tnb_hint(err, "start again; nothing that lay on the device is left");
    return TNB_DEVICE;
}
