/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of kernels: their parameters from the registers of the frame, grids and what follows, copies for the device that stands in
 * for another, times, and refused indices.
 */
#include "config.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "frame.h"

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- launches on the device that stands in for another ---- */

/* A copy of an argument on it; of one that holds nothing yet only the room. */
static tnb_status
bring(tnr_vm *vm, uint32_t i, const tnr_tensor *t, bool empty, tnb_err *err)
{
    TNB_TRY(tnr_tensor_new_on(vm->fallback, vm->fallback_queue, t->dl.shape, (uint32_t)t->dl.ndim,
                              t->dl.dtype, &vm->copies[i], err));
    return empty ? TNB_OK : tnr_tensor_copy(t, vm->copies[i].u.tensor, err);
}

/* After a launch, or one that failed: what the kernel wrote goes to where it belongs; copies go. */
static tnb_status
give_back(tnr_vm *vm, const tnb_tno_kernel *k, const uint32_t *list, tnb_status st, tnb_err *err)
{
    for (uint32_t i = 0; i < k->n_params; i++) {
        const tnb_tno_param *p = &vm->p.params[k->first_param + i];
        tnr_value v;
        if (vm->copies[i].tag == TNR_TENSOR) {
            if (st == TNB_OK && p->flags & TNB_TNO_WRITTEN) {
                st = TNR_WAIT(vm->fallback, vm->fallback_queue, err, sync,
                              tnr_stream(vm->fallback_queue));
                if (st == TNB_OK)
                    st = operand(vm, top(vm), *list, &v, err);
                if (st == TNB_OK)
                    st = tnr_tensor_copy(vm->copies[i].u.tensor, v.u.tensor, err);
            }
            tnr_release(&vm->copies[i]);
        }
        list += tnb_tno_operands(p);
    }
    return st;
}

/* Whether a launch takes the tensor as it is: what nearly all are. */
static inline bool
is_usual(tnr_value v, const tnb_tno_param *want, const tnr_device *dev, const struct tnr_queue *q)
{
    if (v.tag != TNR_TENSOR)
        return false;
    const tnr_tensor *t = v.u.tensor;
    uint32_t forbidden = want->flags & TNB_TNO_WRITTEN ? TNR_STORAGE_READ_ONLY : 0;
    return tnb_dtype_eq(want->dtype, t->dl.dtype) && want->ndim == t->dl.ndim && !t->dl.strides &&
           t->storage->device == dev && tnr_queue_of(t->storage) == q &&
           !(t->storage->flags & forbidden);
}

/* The memory of parameter i: the tensor of one that is not usual, or why the kernel does not take it. */
static __attribute__((noinline)) tnb_status
odd_argument(tnr_vm *vm, const tnb_tno_kernel *k, uint32_t i, tnr_value v, bool empty,
             const tnr_tensor **out, tnb_err *err)
{
    const tnb_tno_param *want = &vm->p.params[k->first_param + i];
    tnr_device *dev = vm->devices[k->device];
    if (v.tag != TNR_TENSOR)
        return tnr_vm_wrong(v, "a tensor", err);
    const tnr_tensor *t = v.u.tensor;
    if ((!tnb_dtype_is_void(want->dtype) && !tnb_dtype_eq(want->dtype, t->dl.dtype)) ||
        (want->ndim >= 0 && want->ndim != t->dl.ndim)) {
        char text[160];
        tnr_describe(v, text, sizeof text);
        return tnb_fail(err, TNB_TYPE,
                        "argument %" PRIu32 " is %s, the kernel takes %s of %d dimensions", i, text,
                        tnb_dtype_print(want->dtype).s, want->ndim);
    }
    bool elsewhere = t->storage->device != dev &&
                     !(tnr_device_is_host(t->storage->device) && tnr_device_is_host(dev));
    if (elsewhere && dev != vm->fallback)
        return tnb_fail(err, TNB_DEVICE,
                        "argument %" PRIu32 " lies on device '%s', the kernel runs on '%s'", i,
                        t->storage->device->driver->base.name, dev->driver->base.name);
    if (t->dl.strides)
        return tnb_fail(err, TNB_UNSUPPORTED, "argument %" PRIu32 " is not compact", i);
    if (want->flags & TNB_TNO_WRITTEN && t->storage->flags & TNR_STORAGE_READ_ONLY)
        return tnb_fail(err, TNB_INVALID,
                        "argument %" PRIu32 ", which the kernel writes, is a constant", i);
    if (elsewhere) {
        TNB_TRY(bring(vm, i, t, empty, err));
        t = vm->copies[i].u.tensor;
    } else if (t->storage->device == dev && tnr_queue_of(t->storage) != vm->queues[k->device]) {
        TNB_TRY(tnr_storage_adopt(t->storage, vm->queues[k->device], err));
    }
    *out = t;
    return TNB_OK;
}

static inline tnb_status
memory_argument(tnr_vm *vm, const tnb_tno_kernel *k, uint32_t i, tnr_value v, bool empty,
                tnr_memory *out, tnb_err *err)
{
    const tnr_tensor *t = v.u.tensor;
    if (__builtin_expect(!is_usual(v, &vm->p.params[k->first_param + i], vm->devices[k->device],
                                   vm->queues[k->device]),
                         0))
        TNB_TRY(odd_argument(vm, k, i, v, empty, &t, err));
    *out = (tnr_memory){.mem = t->dl.data, .offset = t->dl.byte_offset, .bytes = t->n_bytes};
    return TNB_OK;
}

static inline tnb_status
ask_launch(tnr_vm *vm, uint32_t kernel, tnr_device *dev, void *stream, const tnr_launch *l,
           tnb_err *err)
{
    if (!(dev->driver->flags & TNR_DRIVER_HOST_MEMORY))
        tnr_note_launch(dev, vm->queues[vm->p.kernels[kernel].device],
                        vm->p.text + vm->p.kernels[kernel].name);
    tnb_status st =
        TNR_HOT_CALL(vm, err,
                     dev->driver->launch(dev->handle, stream, vm->kernels[kernel].handle, l, err),
                     "kernel", vm->p.text + vm->p.kernels[kernel].name);
    return __builtin_expect(st == TNB_OK, 1)
               ? TNB_OK
               : tnb_err_reason(err, st, "device", dev->driver->base.name, "launch");
}

/* Between two events where the device has them, else by the clock from before to after. */
static tnb_status
timed_launch(tnr_vm *vm, uint32_t kernel, tnr_device *dev, void *stream, const tnr_launch *l,
             double *seconds, tnb_err *err)
{
    const tnr_driver *d = dev->driver;
    void *from = NULL, *to = NULL, *h = dev->handle;
    bool events = d->event_new && d->event_new(h, &from, NULL) == TNB_OK &&
                  d->event_new(h, &to, NULL) == TNB_OK &&
                  d->event_record(h, from, stream, NULL) == TNB_OK;
    double start = now();
    tnb_status st = ask_launch(vm, kernel, dev, stream, l, err);
    if (st == TNB_OK)
        events = events && d->event_record(h, to, stream, NULL) == TNB_OK;
    if (st == TNB_OK)
        st = TNR_ASK(dev, err, sync, stream);
    if (st == TNB_OK && (!events || d->event_seconds(h, from, to, seconds, NULL) != TNB_OK))
        *seconds = now() - start;
    if (from)
        d->event_free(h, from);
    if (to)
        d->event_free(h, to);
    return st;
}

static tnb_status
run_launch(tnr_vm *vm, uint32_t kernel, uint32_t device, const tnr_launch *l, tnb_err *err)
{
    double seconds = 0;
    tnr_device *dev = vm->devices[device];
    void *stream = tnr_stream(vm->queues[device]);
    if (!vm->profiling)
        return ask_launch(vm, kernel, dev, stream, l, err);
    TNB_TRY(TNR_ASK(dev, err, sync, stream));
    TNB_TRY(timed_launch(vm, kernel, dev, stream, l, &seconds, err));
    struct kernel *k = &vm->kernels[kernel];
    k->seconds += seconds;
    k->calls++;
    for (uint32_t i = 0; i < l->n_params; i++)
        k->bytes += tnb_param_is_memory(l->params[i].kind) ? l->params[i].u.memory.bytes : 0;
    return TNB_OK;
}

static bool
is_cancelled(const void *vm)
{
    return atomic_load_explicit(&((const tnr_vm *)vm)->cancel, memory_order_relaxed);
}

/* A tensor map: the tensor, its extents, its strides but the last. */
static __attribute__((noinline)) tnb_status
map_argument(tnr_vm *vm, const tnb_tno_kernel *k, uint32_t i, const uint32_t *list,
             tnr_tensor_map *out, tnb_err *err)
{
    const struct frame *f = top(vm);
    const tnb_tensor_map *m = &vm->p.maps[vm->p.params[k->first_param + i].map];
    tnr_value v;
    TNB_TRY(operand(vm, f, list[0], &v, err));
    TNB_TRY(memory_argument(vm, k, i, v, false, &out->memory, err));
    if (!tnb_dtype_eq(v.u.tensor->dl.dtype, m->dtype))
        return tnb_fail(err, TNB_TYPE, "argument %" PRIu32 " is of %s, its tensor map of %s", i,
                        tnb_dtype_print(v.u.tensor->dl.dtype).s, tnb_dtype_print(m->dtype).s);
    out->map = m;
    uint64_t last = 0;
    bool none = false;
    for (uint32_t d = 0; d < m->rank; d++) {
        int64_t n = int_operand(vm, f, list[1 + d]),
                step = d + 1u < m->rank ? int_operand(vm, f, list[1 + m->rank + d]) : 1;
        uint64_t part;
        if (n < 0 || step < 0 || !tnb_mul_u64((uint64_t)(n ? n - 1 : 0), (uint64_t)step, &part) ||
            !tnb_add_u64(last, part, &last))
            return tnb_fail(err, TNB_BOUNDS,
                            "axis %" PRIu32 " of tensor map %" PRIu32 " has extent %" PRId64
                            " and stride %" PRId64,
                            d, i, n, step);
        none |= n == 0;
        out->extents[d] = (uint64_t)n;
        out->strides[d] = (uint64_t)step;
    }
    if (!none && last >= v.u.tensor->n_elems)
        return tnb_fail(err, TNB_BOUNDS,
                        "tensor map %" PRIu32 " reaches element %" PRIu64 " of %" PRIu64, i, last,
                        v.u.tensor->n_elems);
    return TNB_OK;
}

static tnb_status
launch_size(tnr_vm *vm, const tnb_tno_kernel *k, uint32_t operand_, uint64_t *out, tnb_err *err)
{
    int64_t n = int_operand(vm, top(vm), operand_);
    if (n < 0 || n > UINT32_MAX)
        return tnb_fail(err, TNB_BOUNDS, "kernel '%s': a launch of %" PRId64, vm->p.text + k->name,
                        n);
    *out = (uint64_t)n;
    return TNB_OK;
}

/* Grid and what follows; *nothing: there is nothing to do. */
static tnb_status
launch_sizes(tnr_vm *vm, const tnb_tno_kernel *k, const uint32_t *list, tnr_launch *l,
             bool *nothing, tnb_err *err)
{
    uint64_t n = 0;
    l->flags = TNR_LAUNCH_GRID;
    for (int i = 0; i < 6; i++) {
        TNB_TRY(launch_size(vm, k, *list++, &n, err));
        if (n == 0) {
            *nothing = true;
            return TNB_OK;
        }
        *(i < 3 ? &l->grid[i] : &l->block[i - 3]) = n;
    }
    for (int i = 0; k->flags & TNB_TNO_CLUSTER && i < 3; i++) {
        TNB_TRY(launch_size(vm, k, *list++, &n, err));
        if (n == 0 || l->grid[i] % n)
            return tnb_fail(err, TNB_INVALID,
                            "kernel '%s': clusters of %" PRIu64
                            " blocks in dimension %d of a grid of "
                            "%" PRIu64,
                            vm->p.text + k->name, n, i, l->grid[i]);
        l->cluster[i] = (uint32_t)n;
    }
    l->flags |= (k->flags & TNB_TNO_CLUSTER ? TNR_LAUNCH_CLUSTER : 0u) |
                (k->flags & TNB_TNO_COOPERATIVE ? TNR_LAUNCH_COOPERATIVE : 0u) |
                (k->flags & TNB_TNO_PROGRAMMATIC ? TNR_LAUNCH_PROGRAMMATIC : 0u);
    if (!(k->flags & TNB_TNO_SHARED))
        return TNB_OK;
    int64_t shared = int_operand(vm, top(vm), *list);
    if (shared < 0)
        return tnb_fail(err, TNB_BOUNDS, "kernel '%s': negative shared memory",
                        vm->p.text + k->name);
    l->shared_bytes = (uint64_t)shared;
    return TNB_OK;
}

/* The parameters that the program gives. *nothing: what would be written is empty; outer loops, which may be long beside an
 * inner extent of zero, would run for nothing. */
static tnb_status
gather_params(tnr_vm *vm, const tnb_vm_insn *in, const uint32_t **list, bool *nothing,
              uint32_t *refused, tnb_err *err)
{
    const tnb_tno_kernel *k = &vm->p.kernels[in->b];
    const struct frame *f = top(vm);
    tnr_value v;
    bool writes = false;
    uint64_t written = 0;
    uint32_t maps = 0;
    for (uint32_t i = 0; i < k->n_params; i++) {
        const tnb_tno_param *p = &vm->p.params[k->first_param + i];
        tnr_param *to = &vm->params[i];
        to->kind = p->kind;
        to->written = p->flags & TNB_TNO_WRITTEN;
        to->dtype = p->dtype;
        switch (p->kind) {
        case TNB_PARAM_SCALAR: /* doubles travel as bits */
            to->u.scalar.i = int_operand(vm, f, *(*list)++);
            break;
        case TNB_PARAM_BUFFER:
        case TNB_PARAM_IMAGE:
            TNB_TRY(operand(vm, f, *(*list)++, &v, err));
            TNB_TRY(memory_argument(vm, k, i, v, i < 32 && in->a >> i & 1, &to->u.memory, err));
            writes |= to->written;
            written |= to->written ? to->u.memory.bytes : 0;
            break;
        case TNB_PARAM_TENSOR_MAP:
            TNB_TRY(map_argument(vm, k, i, *list, &vm->maps[maps], err));
            to->u.map = &vm->maps[maps++];
            *list += tnb_tno_operands(p);
            break;
        case TNB_PARAM_REFUSED:
            *refused = i;
            break;
        default: /* TAG */
            to->u.scalar.i = in->b;
        }
    }
    *nothing = writes && !written;
    return TNB_OK;
}

/* Behind a launch: another thread's machine may have taken a storage over since it was asked for. */
static __attribute__((noinline)) tnb_status
order_again(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    const tnb_tno_kernel *k = &vm->p.kernels[in->b];
    const uint32_t *list = operands(vm, in);
    tnr_value v;
    for (uint32_t i = 0; i < k->n_params; i++) {
        const tnb_tno_param *p = &vm->p.params[k->first_param + i];
        if (tnb_param_is_memory(p->kind)) {
            TNB_TRY(operand(vm, top(vm), *list, &v, err));
            TNB_TRY(tnr_vm_order(vm, v, 0, err));
        }
        list += tnb_tno_operands(p);
    }
    return TNB_OK;
}

/* Device halves that know the kernel by its name may have named it. */
static void
name_kernel(const tnr_vm *vm, const tnb_tno_kernel *k, tnb_err *err)
{
    const char *name = vm->p.text + k->name, *m = err->message;
    size_t n = strlen(name);
    if (strncmp(m, "kernel '", 8) || strncmp(m + 8, name, n) || m[8 + n] != '\'')
        tnb_err_prefix(err, "kernel '%s'", name);
}

static tnb_status
launch_with(tnr_vm *vm, const tnb_vm_insn *in, const uint32_t *list, tnb_err *err)
{
    const tnb_tno_kernel *k = &vm->p.kernels[in->b];
    bool nothing = false;
    uint32_t refused = 0;
    tnb_status st = gather_params(vm, in, &list, &nothing, &refused, err);
    if (st != TNB_OK) {
        name_kernel(vm, k, err);
        return st;
    }
    if (nothing)
        return TNB_OK;
    tnr_launch l = {.size = sizeof l,
                    .n_params = k->n_params,
                    .params = vm->params,
                    .cancelled = is_cancelled,
                    .user = vm};
    if (k->flags & TNB_TNO_GRID)
        TNB_TRY(launch_sizes(vm, k, list, &l, &nothing, err));
    if (nothing)
        return TNB_OK;
    if (k->flags & TNB_TNO_CHECKED)
        TNB_TRY(tnr_refusal_give(vm, in->b, &vm->params[refused].u.memory, err));
    st = run_launch(vm, in->b, k->device, &l, err);
    if (vm->has_queues && st == TNB_OK)
        st = order_again(vm, in, err);
    if (k->flags & TNB_TNO_CHECKED && tnr_refusal_after(vm, in->b, err) != TNB_OK)
        return TNB_BOUNDS; /* with a message that names the kernel */
    if (st != TNB_OK)
        name_kernel(vm, k, err);
    return st;
}

tnb_status
tnr_vm_launch(tnr_vm *vm, const tnb_vm_insn *in, tnb_err *err)
{
    const tnb_tno_kernel *k = &vm->p.kernels[in->b];
    const uint32_t *list = operands(vm, in);
    tnb_status st = launch_with(vm, in, list, err);
    return vm->devices[k->device] == vm->fallback ? give_back(vm, k, list, st, err) : st;
}
