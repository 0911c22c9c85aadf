/* SPDX-License-Identifier: Apache-2.0 */
/* AttachVariableBounds: upper bounds of symbolic variables, for memory planning.
 *
 *     AttachVariableBounds{variable_bounds={"batch_size": 16, "sliding_window": -1}}
 *     @R.function               @R.function
 *     def decode(...):          def decode(...):
 *         ...                       R.func_attr({"tir_var_upper_bound": {"batch_size": 16},
 *                                                "tir_non_negative_var": ["vocab_size"]})
 *
 * Every graph function gets both, in the place of what it had, as upstream does it; without the
 * option the bounds are empty. A bound that is not positive says that there is none and is left
 * out. Cases: tests/pass/AttachVariableBounds.
 */
#include "llm.h"

/* The bounds that are positive; the error node when a value is no integer. */
static const tn_node *
positive(tn_ctx *ctx, const tn_node *bounds)
{
    const tn_dict *d = tn_as_dict(bounds);
    const tn_node *kept = tn_dict_of(ctx, NULL, NULL, 0);
    if (!d)
        return tn_error(
            ctx, 0, TNB_TYPE,
            "AttachVariableBounds: variable_bounds is %s, expected a dictionary from names "
            "of symbolic variables to integers",
            tn_text(ctx, bounds));
    for (uint32_t i = 0; i < d->items.n; i++) {
        const tn_pair *p = (const tn_pair *)d->items.at[i];
        int64_t v;
        if (!tn_int_value(p->value, &v))
            return tn_error(ctx, 0, TNB_TYPE,
                            "AttachVariableBounds: the bound of '%s' is %s, expected an integer",
                            p->key, tn_text(ctx, p->value));
        if (v > 0)
            kept = tn_dict_set(ctx, kept, p->key, tn_i64(ctx, v));
    }
    return kept;
}

static const tn_node *
attach(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    const tn_node *f = llm_attach(pc->ctx, func, "tir_var_upper_bound", user);
    (void)m;
    (void)name;
    return llm_attach(pc->ctx, f, "tir_non_negative_var",
                      tn_array_of(pc->ctx,
                                  tn_listv(pc->ctx, tn_string(pc->ctx, "vocab_size"), NULL)));
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_node *bounds = tn_dict_get(pc->options, "variable_bounds");
    if (!bounds || tn_is(bounds, TN_KIND_NONE))
        bounds = tn_dict_of(pc->ctx, NULL, NULL, 0);
    if (tn_is_error(bounds = positive(pc->ctx, bounds)))
        return NULL;
    const tn_dict *d = tn_as_dict(bounds);
    for (uint32_t i = 0; i < d->items.n; i++)
        llm_need_symbol(pc->ctx, m, NULL, "variable_bounds", tn_as_pair(d->items.at[i])->key);
    return tn_map_functions(pc, m, TN_FUNCTIONS, attach, (void *)(uintptr_t)bounds);
}

static const tn_attr_schema options[] = {
    {"variable_bounds", TN_ATTR_ANY, TN_ATTR_OPTIONAL, "None",
     "dictionary: name of a symbolic variable -> largest value; not positive: no bound"},
    {0},
};

const tn_pass llm_attach_variable_bounds = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachVariableBounds",
    .base.doc = "attach upper bounds of symbolic variables to functions, for memory planning",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
