/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a schedule keeps in the shared memory of a thread block fits the target.
 *
 * A rule chooses tiles that fit; but a buffer shrinks to its tile only where CompactBufferAllocation proves which part a block
 * touches, and with extents that are known at run time alone it may fail to. Such a schedule is lowered as far as
 * PlanSharedMemory: the next rule takes the function if it does not fit.
 */
#include "../lower/lower.h"
#include "schedule_private.h"

#include "tenon/core/walk.h"

static tn_walk_step
find_shared(void *user, const tn_node *n)
{
    bool *found = user;
    const tn_buffer *b = tn_as_buffer(n);
    *found |= b && b->scope && !strncmp(b->scope, "shared", 6);
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

bool
tnk_shared_memory_fits(const tn_pass_ctx *pc, const tn_target *target, const char *name,
                       const tn_node *func)
{
    static const tn_pass *const passes[] = {
        &tnk_pass_split_host_device,
        &tnk_pass_cross_thread_reduction,
        &tnk_pass_lower_init_block,
        &tnk_pass_lower_match_buffer,
        &tnk_pass_convert_blocks,
        &tnk_pass_simplify,
        &tnk_pass_index_checks,
        &tnk_pass_thread_sync,
        &tnk_pass_unify_thread_binding,
        &tnk_pass_plan_location,
        &tnk_pass_compact,
        &tnk_pass_flatten,
        &tnk_pass_plan_shared_memory,
    };
    tn_ctx *ctx = pc->ctx;
    bool shared = false;
    if (target && tn_dict_int(target->attrs, "max_shared_memory_per_block", 0) > 0 &&
        tnk_sizes_of(ctx, func).n)
        tn_walk(func, TN_WALK_ONCE, find_shared, NULL, &shared);
    if (!shared)
        return true;
    uint32_t before = tnb_diags_count(tn_diags(ctx));
    tn_pass_ctx own = *pc;
    tn_target declared = *target; /* what a launch may give is no reason to keep a whole buffer */
    declared.attrs = tn_dict_set(ctx, target->attrs, "max_dynamic_shared_memory_per_block", NULL);
    own.target = &declared;
    own.note = NULL;
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), name, func);
    for (size_t i = 0; m && i < sizeof passes / sizeof *passes; i++) {
        own.self = passes[i]->self;
        m = passes[i]->run(&own, m);
    }
    tnb_diags_cut(tn_diags(ctx), before);
    return m != NULL;
}
