/* SPDX-License-Identifier: Apache-2.0 */
/* TextureLayout: convolutions in the layouts that images hold, four channels to an element, where the
 * target has the key `texture`.
 *
 *     lv = R.nn.conv2d(x, w)
 *     gv = R.nn.relu(lv)
 *  -> lv1 = R.layout_transform(x, ...)                       NCHW4c
 *     lv = R.nn.conv2d(lv1, w1, data_layout="NCHW4c", kernel_layout="OIHW4o", out_layout="NCHW4c")
 *     gv = R.layout_transform(R.nn.relu(lv), ...)
 *
 * ConvertLayout does it, for convolutions whose channels are multiples of 4. What is computed then has the
 * loop over four output channels innermost, which the rule opencl.Texture makes a vector of. Cases:
 * tests/pass/TextureLayout.
 */
#include "texture.h"

#include <string.h>

#include "tenon/core/build.h"

bool
texture_wanted(const tn_target *t)
{
    const tn_array *a = t ? tn_as_array(tn_dict_get(t->attrs, "keys")) : NULL;
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(a->items.at[i]);
        if (s && strcmp(s->value, "texture") == 0)
            return true;
    }
    return false;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    static const char list[] =
        "ConvertLayout{desired_layouts={\"relax.nn.conv2d\": [\"NCHW4c\", \"OIHW4o\"]}}";
    tn_pass_list passes = {0};
    if (!texture_wanted(pc->target))
        return m;
    if (!tn_pass_list_parse(pc->ctx, list, "TextureLayout", &passes))
        return NULL;
    tn_pass_run r = {.target = pc->target, .config = pc->config, .opt_level = pc->opt_level};
    return tn_run_passes(pc->ctx, m, &passes, &r);
}

const tn_pass texture_layout = {
    .base.size = sizeof(tn_pass),
    .base.name = "TextureLayout",
    .base.doc = "convolutions in layouts that images hold, for targets with the key texture",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op pass",
};
