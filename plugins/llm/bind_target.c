/* SPDX-License-Identifier: Apache-2.0 */
/* BindTarget: tensor programs say which target they are for.
 *
 *     @T.prim_func                   @T.prim_func
 *     def add(...):          =>      def add(...):
 *         ...                            T.func_attr({"target": T.target({"kind": "cuda", ...})})
 *
 * The target is the run's; a program that has one keeps it. Without a target nothing changes. Upstream adds a host to it, and completes its
 * attributes; here it is as the configuration has it. Cases: tests/pass/BindTarget.
 */
#include "llm.h"

static const tn_node *
bind(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    (void)m;
    (void)name;
    (void)user;
    return tn_func_attr(func, "target")
               ? func
               : tn_func_with_attr(pc->ctx, func, "target",
                                   tn_target_of(pc->ctx, pc->target->kind, pc->target->attrs));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return pc->target ? tn_map_functions(pc, m, TN_PRIM_FUNCS, bind, NULL) : m;
}

const tn_pass llm_bind_target = {
    .base.size = sizeof(tn_pass),
    .base.name = "BindTarget",
    .base.doc = "attach the target to tensor programs",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
