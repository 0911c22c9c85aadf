/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation, and every call of a device driver, of opening, loading and running an artifact fails
 * once, and from then on; the driver gives a reason, or none:
 *
 *     faults FILE.tno...
 *
 * Each run has to end with the right result or with a message. With the sanitizers, whose own allocator
 * cannot be made to fail, only calls of drivers do, and what is not given back is found.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/base/plugin.h"
#include "tenon/base/tno.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"
#include "tests/failing_memory.h"

/* ---- what fails ---- */

enum { NOTHING, ALLOCATIONS, CALLS, SILENT_CALLS };
static const char *const kinds[] = {"", "allocations", "calls of the driver",
                                    "calls of the driver without a reason"};
static __thread bool counting;
static int what;
static long seen, fail_from;
static bool once;

static bool
fails(int kind)
{
    if (!counting || (kind != what && (kind != CALLS || what != SILENT_CALLS)))
        return false;
    seen++;
    return once ? seen == fail_from : fail_from && seen >= fail_from;
}

static bool
memory_fails(void)
{
    return fails(ALLOCATIONS);
}

/* ---- a driver in front of the real one ---- */

static tnr_driver real, front;

static tnb_status
failed(tnb_err *err)
{
    return what == SILENT_CALLS ? TNB_DEVICE
                                : tnb_fail(err, TNB_DEVICE, "the test lets this call fail");
}

#define FRONT(name, params, ...)                                    \
    static tnb_status front_##name params                           \
    {                                                               \
        return fails(CALLS) ? failed(err) : real.name(__VA_ARGS__); \
    }
FRONT(count, (void *self, int *n, tnb_err *err), self, n, err)
FRONT(open, (void *self, int id, const tnr_device_options *o, void **dev, tnb_err *err), self, id,
      o, dev, err)
FRONT(check_features, (void *dev, const char *const *f, uint32_t n, tnb_err *err), dev, f, n, err)
FRONT(alloc, (void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err), dev, bytes,
      scope, mem, err)
FRONT(copy, (void *dev, void *stream, const tnr_copy *c, tnb_err *err), dev, stream, c, err)
FRONT(zero, (void *dev, void *stream, void *mem, uint64_t at, uint64_t n, tnb_err *err), dev,
      stream, mem, at, n, err)
FRONT(sync, (void *dev, void *stream, tnb_err *err), dev, stream, err)
FRONT(module_load,
      (void *dev, const char *format, const void *code, size_t n, void **module, tnb_err *err), dev,
      format, code, n, module, err)
FRONT(module_kernel, (void *dev, void *module, const char *name, void **kernel, tnb_err *err), dev,
      module, name, kernel, err)
FRONT(launch, (void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err), dev,
      stream, kernel, l, err)

/* The driver of a plugin, with failing calls before it. */
static bool
put_front(tnr_runtime *rt, const char *device, tnb_err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s_rt.so", getenv("TENON_PLUGIN_PATH"), device);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const tnr_plugin_desc *d = so ? dlsym(so, "tnr_plugin") : NULL;
    if (!d || !d->n_drivers)
        return false;
    real = *d->drivers[0];
    front = real;
    front.base.size = sizeof front;
    front.count = front_count;
    front.open = front_open;
    front.check_features = front_check_features;
    front.alloc = front_alloc;
    front.copy = front_copy;
    front.zero = front_zero;
    front.sync = front_sync;
    front.module_load = front_module_load;
    front.module_kernel = front_module_kernel;
    front.launch = front_launch;
    const tnr_driver *const drivers[] = {&front};
    tnr_plugin_desc own = *d;
    own.drivers = drivers;
    own.n_drivers = 1;
    return tnr_runtime_add(rt, &own, err) == TNB_OK;
}

/* ---- one run ---- */

/* The bytes of the result, or none. */
typedef struct result {
    uint8_t bytes[1 << 14];
    uint64_t n;
} result;

static tnb_status
make_arguments(tnr_runtime *rt, const tnr_signature *s, tnr_value *args, tnb_err *err)
{
    for (uint32_t i = 0; i < s->n_params; i++) {
        const tnr_io *io = &s->params[i];
        int64_t dims[TNB_TNO_MAX_DIMS];
        if (strcmp(io->kind, "scalar") == 0) {
            args[i] = tnr_int(3);
            continue;
        }
        for (int32_t k = 0; k < io->ndim; k++)
            dims[k] = io->dims[k] < 0 ? 3 : io->dims[k];
        if (strcmp(io->kind, "shape") == 0) {
            TNB_TRY(tnr_shape_new(dims, (uint32_t)(io->ndim < 0 ? 0 : io->ndim), &args[i], err));
            continue;
        }
        TNB_TRY(tnr_tensor_new(tnr_device_host(rt), dims, (uint32_t)(io->ndim < 0 ? 0 : io->ndim),
                               io->dtype, &args[i], err));
        memset(tnr_tensor_data(args[i].u.tensor), 1, args[i].u.tensor->n_bytes);
    }
    return TNB_OK;
}

static tnb_status
call_main(tnr_runtime *rt, tnr_vm *vm, const tnr_signature *s, result *out, tnb_err *err)
{
    tnr_value args[16] = {{0}}, ret = tnr_null();
    tnb_status st = make_arguments(rt, s, args, err);
    if (st == TNB_OK)
        st = tnr_vm_call(vm, s->name, args, s->n_params, &ret, err);
    if (st == TNB_OK && ret.tag == TNR_TENSOR && ret.u.tensor->n_bytes <= sizeof out->bytes) {
        out->n = ret.u.tensor->n_bytes;
        st = tnr_tensor_read(ret.u.tensor, out->bytes, out->n, err);
    }
    tnr_release(&ret);
    for (uint32_t i = 0; i < s->n_params; i++)
        tnr_release(&args[i]);
    return st;
}

static tnb_status
run(const char *path, const char *device, result *out, tnb_err *err)
{
    tnr_runtime *rt = NULL;
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    uint32_t variant;
    const tnr_runtime_options opt = {.size = sizeof opt, .threads = 1};
    out->n = 0;
    counting = true;
    tnb_status st = tnr_runtime_new(&opt, &rt, err);
    counting = false; /* loading a plugin is the system's */
    if (st == TNB_OK && !put_front(rt, device, err))
        st = tnb_fail(err, TNB_NOT_FOUND, "no plugin for the device '%s'", device);
    counting = true;
    if (st == TNB_OK)
        st = tnr_artifact_open(path, &a, err);
    if (st == TNB_OK)
        st = tnr_artifact_pick(rt, a, NULL, &variant, NULL, err);
    if (st == TNB_OK)
        st = tnr_vm_new(rt, a, variant, &vm, err);
    if (st == TNB_OK)
        st = call_main(rt, vm, tnr_artifact_function(a, "main"), out, err);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    tnr_runtime_free(rt);
    counting = false;
    return st;
}

/* ---- all of them ---- */

static bool
sweep(const char *path, const char *device, int kind, bool only_once, const result *want)
{
    static result got;
    long failures = 0, at = 1;
    what = kind;
    once = only_once;
    for (;; at++) {
        tnb_err err = {0};
        seen = 0;
        fail_from = at;
        tnb_status st = run(path, device, &got, &err);
        if (st == TNB_OK && (got.n != want->n || memcmp(got.bytes, want->bytes, got.n) != 0)) {
            printf("%s: failure %ld of the %s: another result\n", path, at, kinds[kind]);
            return false;
        }
        if (st != TNB_OK && (err.status != st || !err.message[0])) {
            printf("%s: failure %ld of the %s: no message\n", path, at, kinds[kind]);
            return false;
        }
        failures += st != TNB_OK;
        if (seen < at)
            break; /* it was not reached */
    }
    printf("%s: %ld %s failed %s, %ld ended it\n", path, at - 1, kinds[kind],
           only_once ? "once" : "and all that follow", failures);
    return failures > 0;
}

int
main(int argc, char **argv)
{
    static result want;
    bool ok = true;
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *device = argv[i], *path = argv[i + 1];
        tnb_err err = {0};
        what = NOTHING;
        if (run(path, device, &want, &err) != TNB_OK) {
            printf("%s: %s\n", path, err.message);
            return 1;
        }
        for (int only_once = 0; only_once < 2; only_once++) {
#ifndef TENON_ASAN
            ok &= sweep(path, device, ALLOCATIONS, only_once, &want);
#endif
            ok &= sweep(path, device, CALLS, only_once, &want);
            ok &= sweep(path, device, SILENT_CALLS, only_once, &want);
        }
    }
    return ok ? 0 : 1;
}
