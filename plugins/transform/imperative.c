/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions the last passes of finalize may put impure calls into. */
#include "transform.h"

#include "tenon/core/walk.h"

static tn_walk_step
stop_at_dataflow(void *user, const tn_node *n)
{
    (void)user;
    if (tn_is(n, TN_KIND_DATAFLOW_BLOCK))
        return TN_WALK_STOP;
    return tn_is(n, TN_KIND_CALL) ? TN_WALK_SKIP : TN_WALK_ON;
}

bool
transform_is_imperative(const tn_function *f)
{
    if (f->pure && tn_dict_int(f->attrs, "relax.force_pure", 0) == 0)
        return false;
    return tn_walk(f->body, 0, stop_at_dataflow, NULL, NULL);
}
