/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime and its virtual machine.
 *
 *     tnr_runtime *rt;                     tnr_runtime_new(&options, &rt, &err)
 *     tnr_artifact *a;                     tnr_artifact_open("model.tno", &a, &err)
 *     uint32_t v;                          tnr_artifact_pick(rt, a, NULL, &v, NULL, &err)
 *     tnr_vm *vm;                          tnr_vm_new(rt, a, v, &vm, &err)
 *     tnr_vm_call(vm, "main", args, n, &result, &err)
 *
 * A machine is used by one thread at a time; several may share a runtime and an artifact.
 */
#ifndef TENON_RT_VM_H
#define TENON_RT_VM_H

#include <stdbool.h>
#include "tenon/rt/artifact.h"
#include "tenon/rt/packed.h"
#include "tenon/rt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tnb_plugins; /* tenon/base/plugin.h */
struct tnb_plugin;
struct tnb_conf;        /* tenon/base/conf.h */
struct tnr_plugin_desc; /* tenon/rt/plugin.h */

typedef struct tnr_runtime_options {
    uint32_t size;               /* sizeof, or 0: that of ABI 1.0 */
    struct tnb_plugins *plugins; /* where drivers and packed functions are found; borrowed. NULL:
                                    only what is added by hand */
    const struct tnb_conf *conf; /* [device NAME] settings; borrowed; may be NULL */
    int threads;                 /* 0: affinity mask and control group */
    bool no_native;              /* refuse kernels that run as code of the host's processor with the
                                    rights of this process: machine code in the artifact, and what a
                                    device (tnr_device_is_native) compiles to it. Kernels on GPUs and
                                    on the null device, and functions that libraries run by a
                                    description, are not refused: they stay in the memory given to
                                    them as far as the device and its driver keep them there */
    uint64_t memory_limit; /* bytes of storage in use on each device; 0: what the device has */
} tnr_runtime_options;

/* opt may be NULL. Free after everything made from it. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_runtime_new(const tnr_runtime_options *opt, tnr_runtime **out, tnb_err *err);
TNB_EXPORT void
tnr_runtime_free(tnr_runtime *rt);
/* Adds the tables of a descriptor (one linked in), after its init with a folder of NULL; loaded
 * plugins are added by themselves. Their fini is called when the runtime is freed. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_runtime_add(tnr_runtime *rt, const struct tnr_plugin_desc *d, tnb_err *err);
/* Adds or replaces one packed function, for machines that are made later. The entry is copied, its
 * name kept by pointer. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_runtime_add_packed(tnr_runtime *rt, const tnr_packed *p, tnb_err *err);
/* Loads this plugin and adds what it holds; fine when that was done before. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_load_plugin(tnr_runtime *rt, const struct tnb_plugin *p, tnb_err *err);
/* Finding loads the plugin that provides the name. NULL and `err` (may be NULL) when nobody does.
 */
TNB_EXPORT const tnr_driver *
tnr_find_driver(tnr_runtime *rt, const char *name, tnb_err *err);
TNB_EXPORT const tnr_packed *
tnr_find_packed(tnr_runtime *rt, const char *name, tnb_err *err);
/* Loads every plugin that provides a driver; then tnr_driver_at lists them, NULL past the end. */
TNB_EXPORT void
tnr_load_drivers(tnr_runtime *rt);
TNB_EXPORT const tnr_driver *
tnr_driver_at(tnr_runtime *rt, uint32_t i);
TNB_EXPORT int
tnr_runtime_threads(const tnr_runtime *rt);

/* Verifies the variant's program, opens its devices, loads its kernels and finds its packed
 * functions. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_vm_new(tnr_runtime *rt, tnr_artifact *a, uint32_t variant, tnr_vm **out, tnb_err *err);
TNB_EXPORT void
tnr_vm_free(tnr_vm *vm);
/* Calls a public function. Arguments are borrowed; tensors on another device are copied to the
 * machine's. The result is the caller's, to be given back with tnr_release. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_vm_call(tnr_vm *vm, const char *function, const tnr_value *args, uint32_t n, tnr_value *ret,
            tnb_err *err);
/* For packed functions: calls a closure. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_vm_call_closure(tnr_vm *vm, tnr_closure *c, const tnr_value *args, uint32_t n, tnr_value *ret,
                    tnb_err *err);
/* A closure of one of the machine's functions with values bound to its last parameters (retained).
 */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_closure_new(tnr_vm *vm, uint32_t function, const tnr_value *bound, uint32_t n, tnr_value *out,
                tnb_err *err);
TNB_EXPORT tnr_runtime *
tnr_vm_runtime(tnr_vm *vm);
TNB_EXPORT tnr_device *
tnr_vm_device(tnr_vm *vm); /* the variant's */
/* Lets another thread stop a call that runs: it ends with TNB_CANCELLED. */
TNB_EXPORT void
tnr_vm_cancel(tnr_vm *vm);

/* ---- timing ---- */
/* While on, every launch is waited for and timed. Turning it on forgets earlier times. */
TNB_EXPORT void
tnr_vm_set_profile(tnr_vm *vm, bool on);
typedef struct tnr_kernel_time {
    const char *name;
    uint64_t calls;
    double seconds;
    uint64_t bytes; /* of all buffers given, summed over the calls */
} tnr_kernel_time;
/* Kernels that ran, longest first; in memory of the machine, valid until the next call of this
 * function. */
TNB_EXPORT const tnr_kernel_time *
tnr_vm_profile(tnr_vm *vm, uint32_t *n);

#ifdef __cplusplus
}
#endif
#endif
