/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions that plugins provide: the frames that a thread is in, and reasons for failures that came without one. */
#include "tenon/base/call.h"
#include <stdatomic.h>
#include <stdio.h>

static __thread const tnb_running *innermost;
/* For threads without a frame. ORDER: a thread that leaves a frame stores the outer one before the frame goes. */
static _Atomic(const tnb_running *) latest;

void
tnb_running_enter(tnb_running *here)
{
    here->outer = innermost;
    innermost = here;
    atomic_store_explicit(&latest, here, memory_order_relaxed);
}

void
tnb_running_leave(const tnb_running *here)
{
    innermost = here->outer;
    atomic_store_explicit(&latest, here->outer, memory_order_relaxed);
}

const tnb_running *
tnb_running_now(void)
{
    const tnb_running *own = innermost;
    return own ? own : atomic_load_explicit(&latest, memory_order_relaxed);
}

void
tnb_err_clear(tnb_err *err)
{
    if (!err)
        return;
    err->status = TNB_OK;
    err->message[0] = err->hint[0] = 0;
}

tnb_status
tnb_err_reason(tnb_err *err, tnb_status s, const char *kind, const char *name, const char *function)
{
    if (s == TNB_OK || !err)
        return s;
    err->status = s;
    if (err->message[0])
        return s;
    (void)tnb_fail(err, s, "%s '%s'%s%s failed without a reason (%s)", kind, name,
                   function ? ": " : "", function ? function : "", tnb_status_name(s));
    tnb_hint(err, "tell the author of the plugin: a function that fails says why, with tnb_fail");
    return s;
}
