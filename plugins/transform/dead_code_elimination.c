/* SPDX-License-Identifier: Apache-2.0 */
/* DeadCodeElimination: removes functions that nothing reaches and bindings that nobody uses.
 *
 *     lv = R.add(x, x)                               gv = R.nn.relu(x)
 *     gv = R.nn.relu(x)
 *     R.output(gv)                                   R.output(gv)
 *
 * Entry points are the functions of the option entry_functions, public functions and external ones.
 * Calls with effects and match_casts stay; blocks left empty go. If a callee is missing from the
 * module, no function is removed. Keeps results bit by bit. Cases: tests/pass/DeadCodeElimination.
 */
#include "transform.h"

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)name;
    (void)user;
    const tn_node *out = transform_drop_unused(pc->ctx, m, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_array *entries = tn_as_array(tn_dict_get(pc->options, "entry_functions"));
    for (uint32_t i = 0; i < entries->items.n; i++) {
        const char *name = ((const tn_string_imm *)entries->items.at[i])->value;
        if (tn_module_get(m, name))
            continue;
        tn_error(pc->ctx, 0, TNB_NOT_FOUND, "the module has no function '%s'", name);
        tnb_diag_hint(tn_diags(pc->ctx), "check the option entry_functions");
        return NULL;
    }
    m = transform_drop_unreachable_from(pc->ctx, m, entries->items);
    m = tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
    return m ? transform_drop_unreachable_from(pc->ctx, m, entries->items) : NULL;
}

static const tn_attr_schema options[] = {
    {"entry_functions", TN_ATTR_STRS, 0, "[]", "functions to keep besides the public ones"},
    {NULL, TN_ATTR_ANY, 0, NULL, NULL},
};

const tn_pass transform_dead_code_elimination = {
    .base.size = sizeof(tn_pass),
    .opt_level = 1,
    .base.name = "DeadCodeElimination",
    .base.doc = "remove unused bindings and functions",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
