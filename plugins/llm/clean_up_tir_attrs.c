/* SPDX-License-Identifier: Apache-2.0 */
/* CleanUpTIRAttrs: attributes that later passes are not to see go.
 *
 *     CleanUpTIRAttrs{attrs=["op_pattern"]}
 *     @T.prim_func                                              @T.prim_func
 *     def add(...):                                             def add(...):
 *         T.func_attr({"op_pattern": 0, "tirx.noalias": True})      T.func_attr({"tirx.noalias": True})
 *
 * Tensor programs and graph functions lose all the attributes named; upstream takes one of them from a function. Cases:
 * tests/pass/CleanUpTIRAttrs.
 */
#include "llm.h"

static const tn_node *
clean(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    const tn_array *keys = user;
    (void)m;
    (void)name;
    for (uint32_t i = 0; i < keys->items.n; i++) {
        const char *key = tn_as_string_imm(keys->items.at[i])->value;
        if (tn_func_attr(func, key))
            func = tn_func_with_attr(pc->ctx, func, key, NULL);
    }
    return func;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_node *keys = tn_dict_get(pc->options, "attrs");
    return tn_map_functions(pc, m, TN_FUNCTIONS | TN_PRIM_FUNCS, clean, (void *)(uintptr_t)keys);
}

static const tn_attr_schema options[] = {
    {"attrs", TN_ATTR_STRS, 0, "[]", "names of the attributes to remove"},
    {0},
};

const tn_pass llm_clean_up_tir_attrs = {
    .base.size = sizeof(tn_pass),
    .base.name = "CleanUpTIRAttrs",
    .base.doc = "remove attributes of functions by name",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
