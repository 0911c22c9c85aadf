/* SPDX-License-Identifier: Apache-2.0 */
/* Making a virtual machine from a variant of an artifact, calling its functions, timing its
 * kernels. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "internal.h"
#include "tenon/base/log.h"

enum { LOOK_AGAIN = 1000000 }; /* at a file, ns */

/* ---- making ---- */

static tnb_status
find_packed(tnr_vm *vm, tnb_err *err)
{
    for (uint32_t i = 0; i < vm->p.head.n_packed; i++) {
        if (tnr_variant_external(&vm->variant->info, vm->p.text + vm->p.packed[i]))
            continue;
        vm->packed[i] = tnr_find_packed(vm->rt, vm->p.text + vm->p.packed[i], err);
        if (!vm->packed[i])
            return err ? err->status : TNB_NOT_FOUND;
    }
    return TNB_OK;
}

/* A stream for each device, which its entries share. */
static tnb_status
open_queues(tnr_vm *vm, tnb_err *err)
{
    for (uint32_t i = 0; i < vm->p.head.n_devices; i++) {
        uint32_t j = 0;
        while (vm->devices[j] != vm->devices[i])
            j++;
        if (j < i)
            vm->queues[i] = tnr_queue_retain(vm->queues[j]);
        else
            TNB_TRY(tnr_queue_new(vm->devices[i], &vm->queues[i], err));
        vm->has_queues |= vm->queues[i] != NULL;
    }
    return TNB_OK;
}

static tnb_status
open_devices(tnr_vm *vm, tnb_err *err)
{
    for (uint32_t i = 0; i < vm->p.head.n_devices; i++) {
        const tnb_tno_device *d = &vm->p.devices[i];
        TNB_TRY(tnr_device_open(vm->rt, vm->p.text + d->driver, (int)d->id, &vm->devices[i], err));
    }
    vm->device = vm->p.head.n_devices ? vm->devices[0] : tnr_device_host(vm->rt);
    return open_queues(vm, err);
}

/* The functions that libraries run, on the variant's device. */
static tnb_status
open_externals(tnr_vm *vm, tnb_err *err)
{
    for (uint32_t i = 0; i < vm->p.head.n_packed; i++) {
        const tnr_external *x =
            vm->packed[i] ? NULL
                          : tnr_variant_external(&vm->variant->info, vm->p.text + vm->p.packed[i]);
        const tnr_loader *l = x ? tnr_find_loader(vm->rt, x->loader, err) : NULL;
        if (!x)
            continue;
        if (!l)
            return err ? err->status : TNB_NOT_FOUND;
        void *module = NULL;
        tnb_status st = TNB_CALL(err, l->open(l->self, x, vm->device, &module, err), "loader",
                                 x->loader, "open");
        if (st != TNB_OK) {
            tnb_err_prefix(err, "'%s', which %s runs", x->symbol, x->loader);
            return st;
        }
        vm->externals[i] = (struct external){l, module};
    }
    return TNB_OK;
}

/* One module a device that has kernels; entries of the same device share it. */
static tnb_status
device_module(tnr_vm *vm, uint32_t i, tnb_err *err)
{
    tnr_device *dev = vm->devices[i];
    for (uint32_t j = 0; j < i; j++)
        if (vm->devices[j] == dev && vm->modules[j])
            return vm->modules[i] = vm->modules[j], TNB_OK;
    if (vm->modules[i])
        return TNB_OK;
    const tnr_variant *info = &vm->variant->info;
    bool other = info->fallback_device && strcmp(dev->driver->base.name, info->device) != 0 &&
                 strcmp(dev->driver->base.name, info->fallback_device) == 0;
    const struct section *code = other ? &vm->variant->fallback : &vm->variant->code;
    if (!code->at)
        return tnb_fail(err, TNB_FORMAT, "the program has kernels, but the variant holds no code");
    TNB_TRY(tnr_device_check_native(dev, vm->rt->opt.no_native, err));
    tnb_status st = TNR_ASK(dev, err, module_load, other ? info->fallback_format : info->format,
                            code->at, code->n, &vm->modules[i]);
    if (st == TNB_OK && other) {
        vm->fallback = dev;
        vm->fallback_queue = vm->queues[i];
    }
    if (st != TNB_OK)
        tnb_err_prefix(err, "loading kernels for '%s'", dev->driver->base.name);
    return st;
}

/* TNB_UNSUPPORTED where a kernel needs of a launch what the device's driver does not take. */
static tnb_status
check_takes(const tnr_vm *vm, const tnb_tno_kernel *k, tnb_err *err)
{
    static const struct {
        uint32_t takes, flag;
        int kind;
        const char *text;
    } all[] = {{TNR_TAKES_IMAGES, 0, TNB_PARAM_IMAGE, "an image as a parameter"},
               {TNR_TAKES_TENSOR_MAPS, 0, TNB_PARAM_TENSOR_MAP, "a tensor map as a parameter"},
               {TNR_TAKES_CLUSTERS, TNB_TNO_CLUSTER, 0, "clusters of blocks"},
               {TNR_TAKES_COOPERATIVE, TNB_TNO_COOPERATIVE, 0, "a cooperative launch"},
               {TNR_TAKES_PROGRAMMATIC, TNB_TNO_PROGRAMMATIC, 0, "a programmatic launch"},
               {TNR_TAKES_SHARED, TNB_TNO_SHARED, 0, "shared memory whose size a launch says"}};
    const tnr_driver *d = vm->devices[k->device]->driver;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        bool needs = (k->flags & all[i].flag) != 0;
        for (uint32_t j = 0; all[i].kind && j < k->n_params; j++)
            needs |= vm->p.params[k->first_param + j].kind == all[i].kind;
        if (!needs || d->takes & all[i].takes)
            continue;
        (void)tnb_fail(err, TNB_UNSUPPORTED,
                       "kernel '%s' needs %s, which device '%s' does not take",
                       vm->p.text + k->name, all[i].text, d->base.name);
        tnb_hint(err, "compile the model for a target whose device this is");
        return TNB_UNSUPPORTED;
    }
    return TNB_OK;
}

static tnb_status
load_kernels(tnr_vm *vm, tnb_err *err)
{
    for (uint32_t i = 0; i < vm->p.head.n_kernels; i++) {
        const tnb_tno_kernel *k = &vm->p.kernels[i];
        tnr_device *dev = vm->devices[k->device];
        TNB_TRY(check_takes(vm, k, err));
        TNB_TRY(device_module(vm, k->device, err));
        TNB_TRY(TNR_ASK(dev, err, module_kernel, vm->modules[k->device], vm->p.text + k->name,
                        &vm->kernels[i].handle));
    }
    return TNB_OK;
}

static void *
table(uint32_t n, size_t item, bool *failed)
{
    void *p = calloc(n ? n : 1, item);
    *failed |= p == NULL;
    return p;
}

static tnb_status
allocate(tnr_vm *vm, tnb_err *err)
{
    const tnb_tno_program *h = &vm->p.head;
    uint32_t params = 0;
    bool failed = false;
    for (uint32_t i = 0; i < h->n_kernels; i++)
        if (vm->p.kernels[i].n_params > params)
            params = vm->p.kernels[i].n_params;
    vm->devices = table(h->n_devices, sizeof *vm->devices, &failed);
    vm->modules = table(h->n_devices, sizeof *vm->modules, &failed);
    vm->kernels = table(h->n_kernels, sizeof *vm->kernels, &failed);
    vm->queues = table(h->n_devices, sizeof *vm->queues, &failed);
    vm->refusals = table(h->n_devices, sizeof *vm->refusals, &failed);
    vm->packed = table(h->n_packed, sizeof *vm->packed, &failed);
    vm->externals = table(h->n_packed, sizeof *vm->externals, &failed);
    vm->constants = table(h->n_constants, sizeof *vm->constants, &failed);
    vm->params = table(params, sizeof *vm->params, &failed);
    vm->maps = table(h->n_maps ? params : 0, sizeof *vm->maps, &failed);
    vm->copies = table(params, sizeof *vm->copies, &failed);
    vm->times = table(h->n_kernels, sizeof *vm->times, &failed);
    return failed ? tnb_fail(err, TNB_NO_MEMORY, "no memory for a virtual machine") : TNB_OK;
}

tnb_status
tnr_vm_new(tnr_runtime *rt, tnr_artifact *a, uint32_t variant, tnr_vm **out, tnb_err *err)
{
    NEED(rt, err);
    NEED(a, err);
    NEED(out, err);
    if (variant >= a->n_variants)
        return tnb_fail(err, TNB_BOUNDS, "variant %" PRIu32 " of %" PRIu32, variant, a->n_variants);
    tnr_vm *vm = calloc(1, sizeof *vm);
    if (!vm)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a virtual machine");
    vm->rt = rt;
    vm->artifact = a;
    tnr_object_retain(&a->object);
    vm->variant = &a->variants[variant];
    tnb_status st = tnr_artifact_unchanged(a, err);
    if (st == TNB_OK)
        st = tnb_tno_verify(vm->variant->program.at, vm->variant->program.n, a->constants.n, &vm->p,
                            err);
    if (st == TNB_OK)
        st = allocate(vm, err);
    if (st == TNB_OK)
        st = find_packed(vm, err);
    if (st == TNB_OK)
        st = open_devices(vm, err);
    if (st == TNB_OK)
        st = load_kernels(vm, err);
    if (st == TNB_OK)
        st = open_externals(vm, err);
    if (st != TNB_OK) {
        tnb_err_prefix(err, "%s", a->name);
        tnr_vm_free(vm);
        return st;
    }
    *out = vm;
    return TNB_OK;
}

static void
free_modules(tnr_vm *vm)
{
    for (uint32_t i = 0; vm->modules && i < vm->p.head.n_devices; i++) {
        bool shared = false;
        for (uint32_t j = 0; j < i; j++)
            shared |= vm->modules[j] == vm->modules[i];
        if (vm->modules[i] && !shared) {
            tnb_err err;
            if (tnr_device_sync(vm->devices[i], &err) != TNB_OK) /* a kernel may still run */
                tnb_log(TNB_LOG_WARN, "%s", err.message);
            vm->devices[i]->driver->module_free(vm->devices[i]->handle, vm->modules[i]);
        }
    }
}

void
tnr_vm_free(tnr_vm *vm)
{
    if (!vm)
        return;
    tnr_graphs_free(vm->device, &vm->graphs);
    for (uint32_t i = 0; vm->constants && i < vm->p.head.n_constants; i++)
        tnr_release(&vm->constants[i]);
    for (uint32_t i = 0; vm->externals && i < vm->p.head.n_packed; i++)
        if (vm->externals[i].loader)
            vm->externals[i].loader->close(vm->externals[i].module);
    free_modules(vm);
    tnr_refusal_free(vm);
    if (vm->uploaded)
        vm->device->driver->event_free(vm->device->handle, vm->uploaded);
    tnr_forget_launches(vm);
    for (uint32_t i = 0; vm->queues && i < vm->p.head.n_devices; i++)
        tnr_queue_release(vm->queues[i]);
    free(vm->queues);
    tnr_artifact_close(vm->artifact);
    free(vm->devices);
    free(vm->modules);
    free(vm->kernels);
    free(vm->packed);
    free(vm->externals);
    free(vm->constants);
    free(vm->values);
    free(vm->scalars);
    free(vm->frames);
    free(vm->copies);
    free(vm->params);
    free(vm->maps);
    free(vm->times);
    free(vm);
}

tnr_runtime *
tnr_vm_runtime(tnr_vm *vm)
{
    return vm ? vm->rt : NULL;
}

tnr_device *
tnr_vm_device(tnr_vm *vm)
{
    return vm ? vm->device : NULL;
}

struct tnr_queue *
tnr_vm_queue(const tnr_vm *vm, const tnr_device *dev)
{
    for (uint32_t i = 0; vm && i < vm->p.head.n_devices; i++)
        if (vm->devices[i] == dev)
            return vm->queues[i];
    return NULL;
}

void *
tnr_vm_stream(tnr_vm *vm, const tnr_device *dev)
{
    return tnr_stream(tnr_vm_queue(vm, dev));
}

tnb_status
tnr_vm_use(tnr_vm *vm, const tnr_tensor *t, tnb_err *err)
{
    NEED(t, err);
    tnr_storage *s = t->storage;
    if (!s->device->has_streams)
        return TNB_OK;
    if (vm && vm->capturing)
        return tnr_graph_note(vm, s, err);
    struct tnr_queue *q = tnr_vm_queue(vm, s->device);
    return tnr_queue_of(s) == q ? TNB_OK : tnr_storage_adopt(s, q, err);
}

void
tnr_vm_cancel(tnr_vm *vm)
{
    if (vm)
        atomic_store(&vm->cancel, true);
}

void
tnr_vm_cancel_clear(tnr_vm *vm)
{
    if (vm)
        atomic_store(&vm->cancel, false);
}

/* ---- closures ---- */

static void
free_closure(tnr_object *o)
{
    tnr_closure *c = (tnr_closure *)o;
    for (uint32_t i = 0; i < c->n_bound; i++)
        tnr_release(&c->bound[i]);
    free(c);
}

static tnb_status
check_values(const tnr_value *v, uint32_t n, const char *what, tnb_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        tnb_status st = tnr_check_value(v[i], err);
        if (st != TNB_OK) {
            tnb_err_prefix(err, "%s %" PRIu32, what, i);
            return st;
        }
    }
    return TNB_OK;
}

tnb_status
tnr_closure_new(tnr_vm *vm, uint32_t function, const tnr_value *bound, uint32_t n, tnr_value *out,
                tnb_err *err)
{
    NEED(vm, err);
    NEED_N(bound, n, err);
    NEED(out, err);
    TNB_TRY(check_values(bound, n, "bound value", err));
    if (function >= vm->p.head.n_functions || n > vm->p.functions[function].n_params)
        return tnb_fail(err, TNB_BOUNDS,
                        "a closure of function %" PRIu32 " with %" PRIu32 " bound values", function,
                        n);
    tnr_closure *c = malloc(sizeof *c + n * sizeof *bound);
    if (!c)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a closure");
    *c = (tnr_closure){.object = {.refs = 1, .nests = 1, .destroy = free_closure},
                       .vm = vm,
                       .function = function,
                       .n_bound = n};
    for (uint32_t i = 0; i < n; i++) {
        c->bound[i] = bound[i];
        tnr_retain(bound[i]);
    }
    *out = (tnr_value){.tag = TNR_CLOSURE, .u.closure = c};
    return TNB_OK;
}

/* ---- calling ---- */

enum { DEEPEST_ARGUMENT = 32, MOST_ITEMS = 1 << 20 };

/* A tensor on the machine's device, in the order of its stream. A copy of the host's may go on when this returns (*uploads). */
static tnb_status
take_tensor(tnr_vm *vm, tnr_tensor *t, bool *uploads, tnr_value *out, tnb_err *err)
{
    struct tnr_queue *q = vm->has_queues ? vm->queues[0] : NULL;
    tnr_device *dev = vm->device;
    if (!q)
        return tnr_tensor_to(t, dev, out, err);
    if (t->storage->device == dev)
        TNB_TRY(tnr_storage_adopt(t->storage, q, err));
    if (t->storage->device == dev || !tnr_device_is_host(t->storage->device) ||
        !dev->driver->copy_start || !t->n_bytes)
        return tnr_tensor_to_on(t, dev, q, out, err);
    tnr_value v;
    TNB_TRY(tnr_tensor_new_on(dev, q, t->dl.shape, (uint32_t)t->dl.ndim, t->dl.dtype, &v, err));
    tnr_copy c = {.kind = TNR_COPY_TO_DEVICE,
                  .dst = v.u.tensor->dl.data,
                  .dst_offset = v.u.tensor->dl.byte_offset,
                  .src = tnr_tensor_data(t),
                  .bytes = t->n_bytes};
    *uploads = true;
    tnb_status st = TNR_ASK(dev, err, copy_start, q->stream, &c);
    if (st != TNB_OK)
        tnr_release(&v);
    else
        *out = v;
    return st;
}

/* Notes the end of the copies of arguments, for uploads_end. */
static tnb_status
uploads_begun(tnr_vm *vm, tnb_err *err)
{
    if (!vm->uploaded)
        TNB_TRY(TNR_ASK(vm->device, err, event_new, &vm->uploaded));
    return TNR_ASK(vm->device, err, event_record, vm->uploaded, vm->queues[0]->stream);
}

/* The host's memory is the caller's again. */
static tnb_status
uploads_end(tnr_vm *vm, bool noted, tnb_status st, tnb_err *err)
{
    tnb_err why, *own = st == TNB_OK ? err : &why;
    tnb_status waited = noted
                            ? TNR_WAIT(vm->device, vm->queues[0], own, event_sync, vm->uploaded)
                            : TNR_WAIT(vm->device, vm->queues[0], own, sync, vm->queues[0]->stream);
    return st == TNB_OK ? waited : st;
}

tnb_status
tnr_vm_order(tnr_vm *vm, tnr_value v, int depth, tnb_err *err)
{
    if (v.tag == TNR_TENSOR && tnr_vm_queue(vm, v.u.tensor->storage->device))
        return tnr_vm_use(vm, v.u.tensor, err);
    for (uint32_t i = 0; v.tag == TNR_TUPLE && depth <= DEEPEST_ARGUMENT && i < v.u.tuple->n; i++)
        TNB_TRY(tnr_vm_order(vm, v.u.tuple->items[i], depth + 1, err));
    return TNB_OK;
}

/* The argument as the machine takes it: tensors on its device, compact. The result is the caller's.
 * `items` counts those of tuples, which may hold one another many times. */
static tnb_status
take_argument(tnr_vm *vm, tnr_value v, int depth, uint32_t *items, bool *uploads, tnr_value *out,
              tnb_err *err)
{
    if (v.tag == TNR_TENSOR) {
        if (!tnr_tensor_is_compact(v.u.tensor)) {
            (void)tnb_fail(err, TNB_UNSUPPORTED,
                           "the tensor's elements are not compact and row-major");
            tnb_hint(err, "make it contiguous first");
            return TNB_UNSUPPORTED;
        }
        return take_tensor(vm, v.u.tensor, uploads, out, err);
    }
    if (v.tag != TNR_TUPLE) {
        tnr_retain(v);
        *out = v;
        return TNB_OK;
    }
    if (v.u.tuple->lazy) { /* its items are made for the device */
        TNB_TRY(v.u.tuple->lazy->check(v.u.tuple, err));
        tnr_retain(v);
        *out = v;
        return TNB_OK;
    }
    if (depth > DEEPEST_ARGUMENT)
        return tnb_fail(err, TNB_BOUNDS, "tuples nest deeper than %d", DEEPEST_ARGUMENT);
    if (v.u.tuple->n > MOST_ITEMS - *items)
        return tnb_fail(err, TNB_BOUNDS, "tuples of more than %d items in all", MOST_ITEMS);
    *items += v.u.tuple->n;
    tnr_value t;
    TNB_TRY(tnr_tuple_new(NULL, v.u.tuple->n, &t, err));
    for (uint32_t i = 0; i < v.u.tuple->n; i++) {
        tnb_status st = take_argument(vm, v.u.tuple->items[i], depth + 1, items, uploads,
                                      &t.u.tuple->items[i], err);
        if (st != TNB_OK) {
            tnr_release(&t);
            return st;
        }
    }
    *out = t;
    return TNB_OK;
}

static tnb_status
find_public(const tnr_vm *vm, const char *name, uint32_t *index, tnb_err *err)
{
    tnb_buf names = {0};
    for (uint32_t i = 0; i < vm->p.head.n_functions; i++) {
        const tnb_tno_function *f = &vm->p.functions[i];
        if (!(f->flags & TNB_TNO_PUBLIC))
            continue;
        if (strcmp(vm->p.text + f->name, name) == 0) {
            tnb_buf_free(&names);
            *index = i;
            return TNB_OK;
        }
        tnb_buf_printf(&names, "%s%s", names.n ? ", " : "", vm->p.text + f->name);
    }
    (void)tnb_fail(err, TNB_NOT_FOUND, "%s: no function '%s'", vm->artifact->name, name);
    if (names.s)
        tnb_hint(err, "it has: %s", names.s);
    tnb_buf_free(&names);
    return TNB_NOT_FOUND;
}

/* Whether the file of the artifact is as it was: a system call, which of a small model would be a good part of a run. A call
 * may meet a change anyway while it is under way, so that one look is enough for some that follow at once. */
static tnb_status
look_at_file(tnr_vm *vm, tnb_err *err)
{
    struct timespec t;
    if (vm->artifact->fd < 0)
        return TNB_OK;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    if (now - vm->looked < LOOK_AGAIN)
        return TNB_OK;
    TNB_TRY(tnr_artifact_unchanged(vm->artifact, err));
    vm->looked = now;
    return TNB_OK;
}

tnb_status
tnr_vm_call(tnr_vm *vm, const char *function, const tnr_value *args, uint32_t n, tnr_value *ret,
            tnb_err *err)
{
    NEED(ret, err);
    *ret = tnr_null();
    NEED(vm, err);
    NEED(function, err);
    NEED_N(args, n, err);
    TNB_TRY(check_values(args, n, "argument", err));
    uint32_t index, taken = 0, items = 0;
    TNB_TRY(look_at_file(vm, err));
    TNB_TRY(find_public(vm, function, &index, err));
    tnr_value closure = tnr_null(), *own = malloc((n ? n : 1) * sizeof *own);
    if (!own)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the arguments of '%s'", function);
    bool uploads = false, noted = false;
    tnb_status st = tnr_closure_new(vm, index, NULL, 0, &closure, err);
    for (; st == TNB_OK && taken < n; taken++) {
        own[taken] = tnr_null();
        st = take_argument(vm, args[taken], 0, &items, &uploads, &own[taken], err);
        if (st != TNB_OK)
            tnb_err_prefix(err, "argument %" PRIu32 " of '%s'", taken, function);
    }
    if (st == TNB_OK && uploads) {
        st = uploads_begun(vm, err);
        noted = st == TNB_OK;
    }
    tnb_running here = {0}, *around = vm->at;
    tnb_running_enter(&here);
    vm->at = &here;
    if (st == TNB_OK)
        st = tnr_vm_call_closure(vm, closure.u.closure, own, n, ret, err);
    vm->at = around;
    tnb_running_leave(&here);
    if (uploads)
        st = uploads_end(vm, noted, st, err);
    if (st != TNB_OK)
        tnr_release(ret);
    while (taken)
        tnr_release(&own[--taken]);
    tnr_release(&closure);
    free(own);
    return st;
}

/* ---- timing ---- */

void
tnr_vm_set_profile(tnr_vm *vm, bool on)
{
    if (!vm)
        return;
    if (on)
        for (uint32_t i = 0; i < vm->p.head.n_kernels; i++) {
            vm->kernels[i].calls = vm->kernels[i].bytes = 0;
            vm->kernels[i].seconds = 0;
        }
    vm->profiling = on;
}

static int
longest_first(const void *x, const void *y)
{
    const tnr_kernel_time *a = x, *b = y;
    if (a->seconds != b->seconds)
        return a->seconds < b->seconds ? 1 : -1;
    return strcmp(a->name, b->name);
}

const tnr_kernel_time *
tnr_vm_profile(tnr_vm *vm, uint32_t *n)
{
    if (n)
        *n = 0;
    if (!vm || !n)
        return NULL;
    for (uint32_t i = 0; i < vm->p.head.n_kernels; i++)
        if (vm->kernels[i].calls)
            vm->times[(*n)++] = (tnr_kernel_time){.name = vm->p.text + vm->p.kernels[i].name,
                                                  .calls = vm->kernels[i].calls,
                                                  .seconds = vm->kernels[i].seconds,
                                                  .bytes = vm->kernels[i].bytes};
    if (*n)
        qsort(vm->times, *n, sizeof *vm->times, longest_first);
    return vm->times;
}
