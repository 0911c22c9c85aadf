/* SPDX-License-Identifier: Apache-2.0 */
/* From a finalized module to a VM program. */
#ifndef TENON_KIT_VM_H
#define TENON_KIT_VM_H

#include "tenon/kit/artifact.h"
#include "tenon/kit/codegen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where constants go: the offset of the data in the artifact's constants. Records an error and
 * returns false on failure. */
typedef struct tnk_constant_sink {
    bool (*put)(void *user, tn_ctx *ctx, const tn_data *d, uint64_t *offset);
    void *user;
} tnk_constant_sink;

typedef struct tnk_vm_input {
    uint32_t size;           /* sizeof, or 0 */
    const tn_module *module; /* in VM form */
    const char *device;      /* driver that runs the kernels */
    const tnk_kernel
        *kernels; /* one for each PrimFunc that is not a host function; func_names parallel */
    const char *const *kernel_funcs; /* the module's names of their PrimFuncs */
    uint32_t n_kernels;
    uint32_t n_fallback;         /* of them, the last: those that fallback_device runs */
    const char *fallback_device; /* a driver; NULL: none */
    const char *const *publics;  /* functions that may be called from outside */
    uint32_t n_publics;
    tnk_constant_sink constants;
} tnk_vm_input;

/* Whether a PrimFunc is host code (attribute tirx.is_host_func). */
TNB_EXPORT bool
tnk_is_host_func(const tn_node *prim_func);
/* Fills `out` with the code of all functions of the module. What is not in VM form is a located
 * error. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_vm_build(tn_ctx *ctx, const tnk_vm_input *in, tnk_program *out);

#ifdef __cplusplus
}
#endif
#endif
