/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that lie in files of their own: the tuple that functions of such an artifact take behind their inputs
 * (packed_params).
 *
 *     tnr_value weights;
 *     tnr_params_open(vm, NULL, &weights, &err);
 *     tnr_vm_call(vm, "embed", (tnr_value[]){ids, weights}, 2, &embeddings, &err);
 *     tnr_release(&weights);
 *
 * The artifact's metadata say for each weight its file, range, dtype and shape (tenon/base/tno.h). The tuple is lazy: a
 * weight is mapped, or copied to the machine's device, when it is first used, once for all calls. Where the device
 * uses the host's memory and the file has the weight as kernels need it, aligned to 64 bytes, it is not copied.
 *
 * Weights that kernels need in another form than the checkpoint's ("transform" in the metadata) are made once, when they are first
 * opened, into a parameter file in the cache ([tenon] cache_dir, weights_cache_size), and mapped from there. Making it takes a
 * few mebibytes of memory. Without a cache each is made in memory on first use, and one warning says so.
 */
#ifndef TENON_RT_PARAMS_H
#define TENON_RT_PARAMS_H

#include "tenon/rt/vm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_params_options {
    uint32_t size; /* sizeof, or 0 */
    /* Where the files are now: the folder that has them, or, of an artifact with one such file, that file. NULL: where they
     * were when the model was compiled, else beside the artifact. Borrowed */
    const char *path;
    bool
        no_cache; /* neither use nor make a parameter file: transformed weights are made in memory, each by itself */
    /* Called while a parameter file is made: bytes so far, of how many. NULL: not wanted */
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
    /* The caller has compiled the artifact a moment ago, from these files: their sizes and headers are compared, but no data read */
    bool just_compiled;
} tnr_params_options;

/* How many weights the artifact takes from files; 0: it has its weights itself. */
TNB_EXPORT uint32_t
tnr_params_count(const tnr_artifact *a);
/* Opens the files and checks that they are those that the model was compiled from: size, and what the headers say. `out`
 * is the caller's, for calls of this machine and of others with the same device; files stay open until
 * it and all that was made from it is released. They are not to be changed meanwhile: a call that finds that fails with
 * TNB_IO. opt may be NULL. TNB_NOT_FOUND: the artifact names no such weights, or a file is not there; TNB_IO: it cannot be
 * read; TNB_DIFFERS: another file; TNB_FORMAT: the metadata are damaged. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_params_open(tnr_vm *vm, const tnr_params_options *opt, tnr_value *out, tnb_err *err);
/* Bytes of the weights in use so far: `mapped` lie in the files, `copied` in the device's memory. Pointers may be NULL.
 * Nothing for other values. */
TNB_EXPORT void
tnr_params_bytes(tnr_value params, uint64_t *mapped, uint64_t *copied);

#ifdef __cplusplus
}
#endif
#endif
