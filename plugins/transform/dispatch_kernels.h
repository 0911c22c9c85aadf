/* SPDX-License-Identifier: Apache-2.0 */
/* What passes that put hand-written kernels in place of operators share. */
#ifndef TENON_PLUGINS_TRANSFORM_DISPATCH_KERNELS_H
#define TENON_PLUGINS_TRANSFORM_DISPATCH_KERNELS_H

#include "tenon/core/builder.h"
#include "tenon/core/pass.h"

/* For one binding of a call to be replaced: bindings are added here, the last one's value is what
 * `emit` of the pass returns. */
typedef struct dispatch {
    tn_ctx *ctx;
    const tn_pass_ctx *pc;
    tn_builder *b; /* kernels are added to its module */
    bool dataflow;
    TNB_VEC(const tn_node *) before;
} dispatch;

/* The new value of a call, NULL: it stays, and what was bound for it goes; the error node after an error. */
typedef const tn_expr *(*dispatch_fn)(dispatch *d, const tn_call *call);

/* Runs fn on every bound call of all graph functions. */
const tn_module *
dispatch_calls(const tn_pass_ctx *pc, const tn_module *m, dispatch_fn fn);
/* Binds `value` to a new variable. */
const tn_expr *
dispatch_emit(dispatch *d, const tn_expr *value);
/* x seen with other extents: vm.builtin.reshape, which copies nothing. */
const tn_expr *
dispatch_reshape(dispatch *d, const tn_expr *x, tn_list dims);
/* The target a call is for: that of the virtual device in its type, else the current one. NULL:
 * none. */
const tn_target *
dispatch_target(const dispatch *d, const tn_call *call);
bool
dispatch_is_gpu(const tn_target *t);
const char *
dispatch_dtype_text(dispatch *d, tnb_dtype t);
/* A PrimFunc from TVMScript in which each "$NAME$" stands for a text: names and texts alternate,
 * NULL ends them. Known beside them are what a target's block can be: $THREADS$ (a power of two, at most 256), $LAST$ (one less),
 * $TILE$ (four times as many), $STEPS$ (its logarithm). Added to the module; its GlobalVar. NULL: the target does not take it (float64, where a
 * GPU has none), so that the operator stays for FallbackKernels. */
const tn_expr *
dispatch_kernel(dispatch *d, const tn_target *target, const char *name, const char *text, ...)
    __attribute__((sentinel));

#endif
