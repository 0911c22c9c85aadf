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
 * docs/embedding.md has a whole program.
 *
 * Wrong arguments, for all functions of tenon/rt: NULL is allowed where the comment says so, for an array
 * of no elements, and always for `err`. Another NULL, an unknown flag or an unknown tag is TNB_INVALID
 * with a message that names the argument; functions that return no status then return NULL, 0 or
 * false, or do nothing. Unless said otherwise TNB_NO_MEMORY is possible wherever something is made, and
 * what `out` points to changes only with TNB_OK. Sizes are in bytes, offsets too; extents and strides
 * are in elements.
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
    uint32_t size;               /* sizeof, or 0 */
    struct tnb_plugins *plugins; /* where drivers and packed functions are found; borrowed. NULL:
                                    only what is added by hand */
    const struct tnb_conf *conf; /* [device NAME] settings; borrowed; may be NULL */
    int threads;                 /* of kernels on the host; 0: affinity mask and control group */
    bool no_native;              /* refuse kernels that run as code of the host's processor with the
                                    rights of this process: machine code in the artifact, and what a
                                    device (tnr_device_is_native) compiles to it. Kernels on GPUs and
                                    on the null device, and functions that libraries run by a
                                    description, are not refused: they stay in the memory given to
                                    them as far as the device and its driver keep them there */
    uint64_t memory_limit; /* bytes of storage in use on each device; 0: what the device has */
    /* Of the device `cpu`: memory of its tensors and kernels, threads of kernels. Borrowed until the runtime and all that was made
     * from it is gone. NULL: the runtime's own */
    const tnr_allocator *allocator;
    const tnr_thread_pool *pool; /* its number of threads counts, not `threads` */
} tnr_runtime_options;

/* The caller's, to be given to tnr_runtime_free after the machines made from it. opt may be NULL:
 * defaults. TNB_INVALID: threads < 0; TNB_ABI: an option behind those that this runtime knows is set. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_runtime_new(const tnr_runtime_options *opt, tnr_runtime **out, tnb_err *err);
TNB_EXPORT void
tnr_runtime_free(tnr_runtime *rt); /* NULL is fine */
/* Adds the tables of a descriptor (one linked in; it stays the caller's, and stays), after its init
 * without a folder and settings; loaded plugins are added by themselves. Their fini is called when the runtime
 * is freed. TNB_INVALID: not made with TNR_PLUGIN, a table that is NULL or has NULL in it, an entry without a
 * function that it has to have, a name that exists already; TNB_ABI: made for another ABI; what `init` returned. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_runtime_add(tnr_runtime *rt, const struct tnr_plugin_desc *d, tnb_err *err);
/* Adds or replaces one packed function, for machines that are made later. The entry is copied, its
 * name kept by pointer. TNB_INVALID: no name or code, an unknown flag, min_args above max_args or below
 * 0; TNB_ABI: its size is not that of a tnr_packed. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_runtime_add_packed(tnr_runtime *rt, const tnr_packed *p, tnb_err *err);
/* Loads this plugin, one of the index that the runtime was made with, and adds what it holds; fine when
 * that was done before. TNB_INVALID: no runtime plugin, or a runtime without an index; else why it
 * cannot be loaded (TNB_UNTRUSTED, TNB_ABI, TNB_NOT_FOUND, ...). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_load_plugin(tnr_runtime *rt, const struct tnb_plugin *p, tnb_err *err);
/* Finding loads the plugin that provides the name. NULL, with `err` filled, when nobody does
 * (TNB_NOT_FOUND) or it cannot be loaded. Borrowed from the runtime. */
TNB_EXPORT const tnr_driver *
tnr_find_driver(tnr_runtime *rt, const char *name, tnb_err *err);
TNB_EXPORT const tnr_packed *
tnr_find_packed(tnr_runtime *rt, const char *name, tnb_err *err);
/* Loads every plugin that provides a driver; then tnr_driver_at lists them, NULL past the end. */
TNB_EXPORT void
tnr_load_drivers(tnr_runtime *rt);
TNB_EXPORT const tnr_driver *
tnr_driver_at(tnr_runtime *rt, uint32_t i);
/* Threads that kernels on the host use: the option, or what was found for 0. */
TNB_EXPORT int
tnr_runtime_threads(const tnr_runtime *rt);

/* Verifies the variant's program, opens its devices, loads its kernels and finds its packed
 * functions. The machine is the caller's, to be given to tnr_vm_free; it keeps the artifact alive and
 * borrows the runtime. TNB_BOUNDS: no such variant; TNB_IO: the file was changed; TNB_FORMAT: the program
 * is wrong; TNB_NOT_FOUND: no driver, loader or packed function of a name; TNB_DEVICE: no device;
 * TNB_UNTRUSTED: no_native; TNB_UNSUPPORTED: the device does not take the code. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_vm_new(tnr_runtime *rt, tnr_artifact *a, uint32_t variant, tnr_vm **out, tnb_err *err);
TNB_EXPORT void
tnr_vm_free(tnr_vm *vm); /* NULL is fine. Results live on */
/* Calls a public function with its n arguments, which tnr_artifact_function describes: inputs, then
 * weights where the compiler left them out. Arguments are borrowed; tensors on another device are
 * copied to the machine's, and must be compact (TNB_UNSUPPORTED). The result is the caller's, to be
 * given back with tnr_release: a tensor on tnr_vm_device, or a tuple of results; null after an error.
 * TNB_NOT_FOUND: no public function of the name (the hint lists them); TNB_INVALID: another number of
 * arguments; TNB_TYPE, TNB_SHAPE: an argument's kind, dtype or shape is not what the function takes, or
 * two symbols disagree; TNB_BOUNDS: an index that came as data, or a size, is out of range;
 * TNB_CANCELLED: see tnr_vm_cancel; TNB_IO: the artifact's file was changed; TNB_DEVICE: the device
 * failed. After an error the machine can be called again. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_vm_call(tnr_vm *vm, const char *function, const tnr_value *args, uint32_t n, tnr_value *ret,
            tnb_err *err);
/* For packed functions: calls a closure of this machine (TNB_INVALID: another's) as tnr_vm_call does a
 * function, with values taken as they are. n: its parameters without those bound. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_vm_call_closure(tnr_vm *vm, tnr_closure *c, const tnr_value *args, uint32_t n, tnr_value *ret,
                    tnb_err *err);
/* A closure of one of the machine's functions with values bound to its last parameters (retained). The
 * caller's; to be used while the machine lives. TNB_BOUNDS: no such function, or more values than
 * parameters. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_closure_new(tnr_vm *vm, uint32_t function, const tnr_value *bound, uint32_t n, tnr_value *out,
                tnb_err *err);
TNB_EXPORT tnr_runtime *
tnr_vm_runtime(tnr_vm *vm);
TNB_EXPORT tnr_device *
tnr_vm_device(tnr_vm *vm); /* the variant's */
/* The stream of a device of the machine on which its work is queued in order, for packed functions; NULL: the device's own, or
 * no device of the machine. Work of different machines has no order but where one uses what the other made. */
TNB_EXPORT void *
tnr_vm_stream(tnr_vm *vm, const tnr_device *dev);
/* For packed functions that give work of their own to a device: what its stream of the machine (vm NULL: the device's own) does from
 * now on with the tensor comes behind what other streams did with it. Called before the work is queued, and again behind it if
 * another thread's machine may use the tensor meanwhile. Arguments of the function are in order already; tensors that it got
 * otherwise are not. In a capture the tensor becomes the graph's, which keeps it. Nothing to do, and TNB_OK, on a device without streams. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_vm_use(tnr_vm *vm, const tnr_tensor *t, tnb_err *err);
/* Asks for the end of a call, from any thread or a signal handler: the call under way ends with
 * TNB_CANCELLED before its next kernel, call or iteration of a loop. A request that comes when none is under
 * way, or too late for the one that is, is kept and ends the next one before it begins, so that a request
 * is not lost to a call that is about to start. The call that it ends uses it up. */
TNB_EXPORT void
tnr_vm_cancel(tnr_vm *vm);
/* Takes a request back that no call was ended by: before a machine is used again after a call that
 * ended by itself. */
TNB_EXPORT void
tnr_vm_cancel_clear(tnr_vm *vm);

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
