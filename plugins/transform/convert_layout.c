/* SPDX-License-Identifier: Apache-2.0 */
/* ConvertLayout: gives operators the layouts asked for, and carries them through the operators that
 * follow, so that few conversions are needed.
 *
 *     lv = R.nn.conv2d(x, w)
 *     gv = R.nn.relu(lv)
 *  -> lv1 = R.permute_dims(x, axes=[0, 2, 3, 1])
 *     lv2 = R.permute_dims(w, axes=[0, 2, 3, 1])
 *     lv = R.nn.conv2d(lv1, lv2, data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC")
 *     lv3 = R.nn.relu(lv)
 *     gv = R.permute_dims(lv3, axes=[0, 3, 1, 2])
 *
 * kit/convert_layouts.c does it. Option: desired_layouts = {operator: [data, weight(, result)]}.
 * Cases: tests/pass/ConvertLayout.
 */
#include "transform.h"

#include "tenon/kit/layout.h"

/* {operator: [layouts]} */
static bool
check_desired(tn_ctx *ctx, const tn_node *desired)
{
    const tn_dict *d = tn_as_dict(desired);
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = (const tn_pair *)d->items.at[i];
        const tn_array *a = tn_as_array(p->value);
        tnk_layout parsed;
        bool ok = a && a->items.n > 0;
        for (uint32_t k = 0; ok && k < a->items.n; k++) {
            const tn_string_imm *s = tn_as_string_imm(a->items.at[k]);
            ok = s && *s->value && tnk_layout_parse(s->value, &parsed);
        }
        if (!ok) {
            tn_error(ctx, 0, TNB_INVALID,
                     "option desired_layouts: %s must have a list of layouts such as \"NHWC\" or "
                     "\"NCHW4c\"",
                     p->key);
            return false;
        }
    }
    if (!d)
        tn_error(ctx, 0, TNB_INVALID,
                 "option desired_layouts must be {operator: [data, weight, ...]}");
    return d != NULL;
}

static const tn_node *
wanted(void *desired, tn_ctx *ctx, const tn_call *call)
{
    (void)ctx;
    const tn_node **options = desired;
    return tn_dict_get(*options, tn_call_op_of(call)->base.name);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_node *desired = tn_dict_get(pc->options, "desired_layouts");
    if (!check_desired(pc->ctx, desired))
        return NULL;
    return tnk_convert_layouts(pc, m, wanted, &desired);
}

static const tn_attr_schema options[] = {
    {"desired_layouts", TN_ATTR_ANY, 0, NULL,
     "{operator: [layout of the data, of the weight, of the result (the data's)]}", "op"},
    {NULL, TN_ATTR_ANY, 0, NULL, NULL},
};

const tn_pass transform_convert_layout = {
    .base.size = sizeof(tn_pass),
    .base.name = "ConvertLayout",
    .base.doc = "give operators the layouts asked for and carry them through what follows",
    .options = options,
    .keeps = TN_KEEPS_TOLERANCE,
    .flags = TN_PASS_PARALLEL,
    .run = run,
    .needs = "op",
};
