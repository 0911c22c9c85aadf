/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions that plugins provide. A failure has a reason, and a crash can be told with whose code it was in.
 *
 *     TNB_TRY(TNB_CALL(err, d->count(d->self, &n, err), "driver", d->base.name, "count"));
 *     f = TNB_WITHIN("rule", r->base.name, NULL, plugin, r->apply(ctx, f, target, r->self));
 *
 * Plugins need none of this.
 */
#ifndef TENON_BASE_CALL_H
#define TENON_BASE_CALL_H

#include "tenon/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What this thread is in. Frames lie on the thread's stack, the innermost first. */
typedef struct tnb_running {
    const char *kind;     /* "pass", "rule", "device" */
    const char *name;     /* of that kind; NULL: the frame says nothing */
    const char *function; /* of the entry: "open"; NULL: the kind says it */
    const char *plugin;   /* that provides it; NULL: not known */
    const struct tnb_running *outer;
} tnb_running;

/* The frame, whose texts stay meanwhile, is this thread's innermost one until tnb_running_leave. Leaving is in the reverse order. */
TNB_EXPORT void
tnb_running_enter(tnb_running *here);
TNB_EXPORT void
tnb_running_leave(const tnb_running *here);
/* The innermost frame of this thread; of one that has none, as those that run a part of a kernel, that of the thread that entered
 * or left one last. NULL: none. Safe to ask for in a signal's handler. */
TNB_EXPORT const tnb_running *
tnb_running_now(void);

/* Empties the error; NULL: nothing. */
TNB_EXPORT void
tnb_err_clear(tnb_err *err);
/* After a function returned `s`: a failure has that status and a message, which is, where the function left none in the error
 * that was empty before: "KIND 'NAME': FUNCTION failed without a reason". Returns `s`. */
TNB_EXPORT tnb_status
tnb_err_reason(tnb_err *err, tnb_status s, const char *kind, const char *name,
               const char *function);

/* The value of `call`, which runs within such a frame. */
#define TNB_WITHIN(kind_, name_, function_, plugin_, call)                     \
    __extension__({                                                            \
        tnb_running tnb_here_ = {(kind_), (name_), (function_), (plugin_), 0}; \
        tnb_running_enter(&tnb_here_);                                         \
        __typeof__(call) tnb_result_ = (call);                                 \
        tnb_running_leave(&tnb_here_);                                         \
        tnb_result_;                                                           \
    })

/* The same for a function that returns a status and fills `err` (may be NULL). */
#define TNB_CALL(err, call, kind_, name_, function_)                                         \
    (tnb_err_clear(err), tnb_err_reason((err), TNB_WITHIN(kind_, name_, function_, 0, call), \
                                        (kind_), (name_), (function_)))

#ifdef __cplusplus
}
#endif
#endif
