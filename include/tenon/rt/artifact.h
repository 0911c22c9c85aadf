/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts: mapped, checked before use, shared by the machines made from them. */
#ifndef TENON_RT_ARTIFACT_H
#define TENON_RT_ARTIFACT_H

#include <stdbool.h>
#include "tenon/base/mem.h"
#include "tenon/rt/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_artifact tnr_artifact;

/* Constants and code are mapped, not read; programs are copied and verified. Close with
 * tnr_artifact_close; tensors made from its constants keep the mapping alive. A file that is to be
 * replaced while it is open has to be renamed over, as the compiler does, not written into: a machine
 * that is made or called later then fails with TNB_IO; a call that is under way, and constants that
 * are read outside of any, may meet the end of the file, which the system answers with SIGBUS. What
 * others than root and the effective user may write is therefore read into memory, not mapped.
 * TNB_IO: the file cannot be read; TNB_FORMAT: it is no artifact, damaged or cut; TNB_ABI: made for
 * another version of Tenon. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_artifact_open(const char *path, tnr_artifact **out, tnb_err *err);
/* From an open file (an anonymous one of the compiler, for instance); the descriptor stays the
 * caller's, and so does `name`, which messages show. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_artifact_open_fd(int fd, const char *name, tnr_artifact **out, tnb_err *err);
/* From memory, which is copied. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_artifact_open_memory(const void *bytes, size_t n, const char *name, tnr_artifact **out,
                         tnb_err *err);
/* From memory that is not copied: it stays as it is, and the caller's, until the artifact is closed and all that was made from it is
 * gone. TNB_INVALID: it does not begin at a multiple of 64 bytes, as constants have to. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_artifact_open_borrowed(const void *bytes, size_t n, const char *name, tnr_artifact **out,
                           tnb_err *err);
TNB_EXPORT void
tnr_artifact_close(tnr_artifact *a); /* NULL is fine */

/* The path or name with which it was opened. */
TNB_EXPORT const char *
tnr_artifact_name(const tnr_artifact *a);
/* The metadata, JSON, terminated; borrowed, like all that the questions below answer. */
TNB_EXPORT const char *
tnr_artifact_metadata(const tnr_artifact *a);
/* Reads all constant data and compares its hash: TNB_FORMAT where it differs, TNB_IO where the file was
 * changed. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_artifact_check_data(const tnr_artifact *a, tnb_err *err);

typedef struct tnr_variant {
    const char *name;   /* of the target section: "cpu" */
    const char *target; /* the target as JSON text */
    const char *device; /* driver */
    const char *format; /* of the code; "" when there is none */
    const char *const *features;
    uint32_t n_features;
    const char *const *packed; /* packed functions that the program needs */
    uint32_t n_packed;
    size_t code_bytes;
    const struct tnr_external *externals; /* tenon/rt/loader.h */
    uint32_t n_externals;
    /* kernels that the device does not take run on another; NULL: there are none */
    const char *fallback_device, *fallback_format;
    const char *const *fallback_features;
    uint32_t n_fallback_features;
    size_t fallback_bytes;
} tnr_variant;
TNB_EXPORT uint32_t
tnr_artifact_variants(const tnr_artifact *a);
/* NULL past the end. */
TNB_EXPORT const tnr_variant *
tnr_artifact_variant(const tnr_artifact *a, uint32_t i);

/* The first variant that this machine can run: of those that `wanted` names (targets or devices with
 * commas between them, best first), or where it is NULL of all, in the order of [tenon] target_order of
 * the runtime's settings; variants that are not named there come behind, in the artifact's order. `why` (may
 * be NULL) receives a line that says which one and why, and one for each variant that was tried before
 * it. The error holds the latter when none is left, with the status of the first one passed over that was
 * named (TNB_NOT_FOUND: no variant, driver or packed function of a name; TNB_DEVICE; TNB_UNSUPPORTED;
 * TNB_UNTRUSTED). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_artifact_pick(tnr_runtime *rt, const tnr_artifact *a, const char *wanted, uint32_t *variant,
                  tnb_buf *why, tnb_err *err);

/* The signature of a function as the compiler recorded it. */
typedef struct tnr_io {
    const char *name;
    const char *kind;           /* "tensor", "shape", "scalar", "tuple", "object" */
    tnb_dtype dtype;            /* void: not known */
    int32_t ndim;               /* -1: not known */
    const int64_t *dims;        /* -1: symbolic */
    const char *const *symbols; /* per dimension: its text when symbolic, else NULL */
} tnr_io;
typedef struct tnr_signature {
    const char *name;
    const tnr_io *params, *results;
    uint32_t n_params, n_results;
    uint32_t n_inputs; /* parameters before the weights */
    bool tuple_result; /* the result is a tuple even when n_results is 1 */
    /* A shape for each parameter with which the function can be called, as the compiler found them; NULL:
     * no parameter has symbols, or it found none. */
    const int64_t *const *example_shapes;
} tnr_signature;
/* NULL: no such public function. Borrowed. */
TNB_EXPORT const tnr_signature *
tnr_artifact_function(const tnr_artifact *a, const char *name);
TNB_EXPORT const tnr_signature *
tnr_artifact_function_at(const tnr_artifact *a, uint32_t i); /* NULL past the end */

#ifdef __cplusplus
}
#endif
#endif
