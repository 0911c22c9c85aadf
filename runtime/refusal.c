/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that came as data and are out of range: kernels note the first one in memory of their device (tenon/base/kernel_abi.h). Where
 * that is the host's, the machine looks after each launch; elsewhere when the outermost call ends, which then waits for the
 * device.
 */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "tenon/base/kernel_abi.h"

static bool
on_host(const tnr_device *dev)
{
    return dev->driver->flags & TNR_DRIVER_HOST_MEMORY;
}

tnb_status
tnr_refusal_give(tnr_vm *vm, uint32_t kernel, tnr_memory *out, tnb_err *err)
{
    const tnb_tno_kernel *k = &vm->p.kernels[kernel];
    tnr_device *dev = vm->devices[k->device];
    struct refusal *r = &vm->refusals[k->device];
    if (!r->mem) {
        void *mem = NULL;
        TNB_TRY(TNR_ASK(dev, err, alloc, sizeof(tnb_kernel_refusal), "global", &mem));
        tnb_status st = TNR_ASK(dev, err, zero, tnr_stream(vm->queues[k->device]), mem, 0,
                                sizeof(tnb_kernel_refusal));
        if (st != TNB_OK) {
            dev->driver->free(dev->handle, mem);
            return st;
        }
        r->mem = mem;
    }
    r->pending = true;
    *out = (tnr_memory){.mem = r->mem, .bytes = sizeof(tnb_kernel_refusal)};
    return TNB_OK;
}

/* The text of a check: line `n` of the kernel's. */
static void
describe(tnr_vm *vm, const tnb_kernel_refusal *r, tnb_err *err)
{
    const char *kernel = "?", *text = "an index";
    size_t n = strlen(text);
    if (r->tag < vm->p.head.n_kernels && vm->p.kernels[r->tag].flags & TNB_TNO_CHECKED) {
        const char *at = vm->p.text + vm->p.kernels[r->tag].checks;
        kernel = vm->p.text + vm->p.kernels[r->tag].name;
        for (uint32_t i = 0; i < r->check && *at; i++) {
            at += strcspn(at, "\n");
            at += *at == '\n';
        }
        if (*at) {
            text = at;
            n = strcspn(at, "\n");
        }
    }
    (void)tnb_fail(err, TNB_BOUNDS,
                   "kernel '%s': %.*s: index %" PRId64 " is out of range, the extent is %" PRId64,
                   kernel, (int)n, text, r->index, r->extent);
    tnb_hint(err,
             "the target's attribute check_indices says what becomes of such an index: refuse, "
             "clamp or off");
}

/* Looks at what kernels of the device noted; TNB_BOUNDS with a message when it is something. */
static tnb_status
look(tnr_vm *vm, uint32_t device, const uint32_t *kernel, tnb_err *err)
{
    tnr_device *dev = vm->devices[device];
    struct refusal *r = &vm->refusals[device];
    tnb_kernel_refusal found;
    void *stream = tnr_stream(vm->queues[device]);
    r->pending = false;
    if (on_host(dev)) {
        memcpy(&found, r->mem, sizeof found);
    } else {
        tnr_copy c = {.kind = TNR_COPY_TO_HOST,
                      .dst = &found,
                      .src = r->mem,
                      .bytes = sizeof found};
        TNB_TRY(TNR_WAIT(dev, vm->queues[device], err, copy, stream, &c));
    }
    if (!found.state)
        return TNB_OK;
    if (kernel)
        found.tag = *kernel;
    tnb_err none;
    if (dev->driver->zero(dev->handle, stream, r->mem, 0, sizeof found, &none) != TNB_OK) {
        dev->driver->free(dev->handle, r->mem); /* the next launch gets another one */
        r->mem = NULL;
    }
    describe(vm, &found, err);
    return TNB_BOUNDS;
}

tnb_status
tnr_refusal_after(tnr_vm *vm, uint32_t kernel, tnb_err *err)
{
    uint32_t device = vm->p.kernels[kernel].device;
    bool here = vm->refusals[device].pending && on_host(vm->devices[device]);
    return here ? look(vm, device, &kernel, err) : TNB_OK;
}

tnb_status
tnr_refusal_end(tnr_vm *vm, tnb_status st, tnb_err *err)
{
    for (uint32_t i = 0; i < vm->p.head.n_devices; i++) {
        tnb_err why;
        if (!vm->refusals[i].pending)
            continue;
        tnb_status found = look(vm, i, NULL, &why);
        /* what went wrong behind a refused index follows from it */
        if (found != TNB_OK && (st == TNB_OK || found == TNB_BOUNDS)) {
            *err = why;
            st = found;
        }
    }
    return st;
}

void
tnr_refusal_free(tnr_vm *vm)
{
    for (uint32_t i = 0; vm->refusals && i < vm->p.head.n_devices; i++)
        if (vm->refusals[i].mem)
            vm->devices[i]->driver->free(vm->devices[i]->handle, vm->refusals[i].mem);
    free(vm->refusals);
}
