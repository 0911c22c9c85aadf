/* SPDX-License-Identifier: Apache-2.0 */
/* AttachMemoryPlanAttr: memory planning may plan what functions return, too.
 *
 *     @R.function                            @R.function
 *     def decode(...):                       def decode(...):
 *         ... R.func_attr({"relax.memory_plan_dynamic_func_output": True})
 *
 * Every graph function gets the attribute; tensor programs stay as they are. StaticPlanBlockMemory
 * reads it. Cases: tests/pass/AttachMemoryPlanAttr.
 */
#include "llm.h"

static const tn_node *
attach(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    (void)m;
    (void)name;
    (void)user;
    return llm_attach(pc->ctx, func, "relax.memory_plan_dynamic_func_output",
                      tn_bool(pc->ctx, true));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, attach, NULL);
}

const tn_pass llm_attach_memory_plan_attr = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachMemoryPlanAttr",
    .base.doc = "let memory planning plan what functions return",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
