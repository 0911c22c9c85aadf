/* SPDX-License-Identifier: Apache-2.0 */
/* One model, opened and called: what most programs need of the runtime.
 *
 *     tnr_session *s;
 *     tnr_session_open("model.tno", NULL, &s, &err);
 *     tnr_binding in = {.name = "image", .data = pixels}, out = {.name = "probabilities", .data = p, .bytes = sizeof p};
 *     tnr_session_run(s, &in, 1, &out, 1, &err);
 *     tnr_session_close(s);
 *
 * A session is a runtime, an artifact and a machine (tenon/rt/vm.h), which can be asked for. It is used by one thread at a time (a call
 * of a second one is refused); several sessions may share a runtime. docs/embedding.md has a whole program. Arguments that are NULL and memory that lacks are
 * reported as tenon/rt/vm.h says.
 */
#ifndef TENON_RT_SESSION_H
#define TENON_RT_SESSION_H

#include "tenon/rt/artifact.h"
#include "tenon/rt/tensor.h"
#include "tenon/rt/vm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that runs, "0.1.0"; TNB_ABI_MAJOR and TNB_ABI_MINOR (tenon/base/plugin.h) are those of the headers. */
TNB_EXPORT const char *
tnr_version(void);

typedef struct tnr_session tnr_session;

typedef struct tnr_session_options {
    uint32_t size; /* sizeof, or 0 */
    const char *
        target; /* the variant's target or device, or several, as tnr_artifact_pick has them; NULL: as the settings say */
    const char *function; /* NULL: "main" */
    tnr_runtime *
        runtime; /* shared; borrowed, it outlives the session. NULL: one of the session's own, made by */
    const tnr_runtime_options *
        options; /* these; where they name no plugins and `drivers` are none, settings and plugins are those
                                           of the installation */
    const struct tnr_plugin_desc *const *
        drivers; /* device halves that are linked in (TNB_PLUGIN_SYMBOL(cpu_rt, tnr_plugin)), added to
                                                     an own runtime: no setting is then read and no plugin looked for */
    uint32_t n_drivers;
    /* Where the files of weights are that the artifact names, as tnr_params_options.path; NULL: as recorded. Not for an artifact or
     * function without such weights. */
    const char *weights;
} tnr_session_options;

/* opt may be NULL. Errors as of tnr_artifact_open, tnr_artifact_pick and tnr_vm_new; TNB_NOT_FOUND: no such function, or nothing at
 * `weights`; TNB_INVALID: an option that has no effect beside the others or on this artifact. The session is the caller's, to be given to
 * tnr_session_close. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_session_open(const char *path, const tnr_session_options *opt, tnr_session **out, tnb_err *err);
/* From memory, as tnr_artifact_open_borrowed takes it: not copied. TNB_INVALID: it does not begin at a multiple of 64 bytes. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_session_open_memory(const void *bytes, size_t n, const tnr_session_options *opt,
                        tnr_session **out, tnb_err *err);
/* Waits for a call that was started. NULL is fine. */
TNB_EXPORT void
tnr_session_close(tnr_session *s);

/* Names, dtypes and shapes of what the function takes and gives. Borrowed; never NULL. */
TNB_EXPORT const tnr_signature *
tnr_session_signature(const tnr_session *s);
/* The variant that runs and, where `why` is not NULL, lines that say why it is that one (tnr_artifact_pick). Borrowed; never NULL. */
TNB_EXPORT const tnr_variant *
tnr_session_variant(const tnr_session *s, const char **why);
TNB_EXPORT tnr_vm *
tnr_session_vm(
    tnr_session *s); /* its machine; borrowed, not to be called while a call is under way */

enum { TNR_BINDING_DIMS = 8 };
/* Memory of the caller's for one input or output; zero-initialize what is not said. */
typedef struct tnr_binding {
    const char *name; /* NULL: the input, or output, of the binding's place */
    /* Of the host, dense and row-major. It begins at a multiple of an element's bytes. Inputs are read where they lie on devices that
     * use the host's memory (from a multiple of 64 bytes on; else they are copied) and not changed. Outputs: NULL: only bytes, dtype
     * and shape are wanted. */
    void *data;
    uint64_t
        bytes; /* inputs: of the elements, or 0; outputs: room at `data`, then the bytes of the elements */
    tnb_dtype dtype; /* inputs: void: the function's. Outputs: set */
    int32_t ndim;    /* inputs: 0: the function's shape, if it has no symbols. Outputs: set */
    int64_t dims[TNR_BINDING_DIMS];
    tnb_dltensor *
        dl; /* a tensor of DLPack in memory of the host, compact, in place of all of the above but the name; borrowed. Outputs
                         of its dtype and shape are written there. NULL: none */
} tnr_binding;

/* Calls the function. Every input is given once (weights that lie in files of their own are opened by the first call: errors as of
 * tnr_params_open), outputs that are not given are dropped. Returns when the outputs are written.
 * TNB_NOT_FOUND: no input or output of a name; TNB_INVALID: an input is missing or given twice, memory that does not begin at a
 * multiple of an element's bytes, or a call is under way; TNB_SHAPE: bytes that are not those of the shape, too little room for an output (its binding says how much), a DLPack tensor of another shape, more than
 * TNR_BINDING_DIMS dimensions; TNB_TYPE: a DLPack tensor of another dtype; TNB_UNSUPPORTED: one that is not compact or not of the host; an
 * input or output that is no tensor (tnr_session_vm calls such functions); else as tnr_vm_call. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_session_run(tnr_session *s, const tnr_binding *inputs, uint32_t n_inputs, tnr_binding *outputs,
                uint32_t n_outputs, tnb_err *err);

/* The same in a thread of the session's; returns at once. Bindings and what they point to stay, and are not looked at, until
 * tnr_session_wait has returned. `done(user)` (NULL: nothing) is called in that thread at the end of the call; it must not wait (TNB_INVALID). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_session_start(tnr_session *s, const tnr_binding *inputs, uint32_t n_inputs,
                  tnr_binding *outputs, uint32_t n_outputs, void (*done)(void *user), void *user,
                  tnb_err *err);
/* Whether the call that was started has ended; true when there is none. Does not wait. */
TNB_EXPORT bool
tnr_session_done(const tnr_session *s);
/* Waits for it, and gives its status and error. TNB_INVALID: none was started, or another thread waits. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_session_wait(tnr_session *s, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
