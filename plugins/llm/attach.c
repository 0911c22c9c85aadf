/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching an attribute to a function, for the passes that do nothing else. */
#include "llm.h"

#include "tenon/core/walk.h"

const tn_node *
llm_attach(tn_ctx *ctx, const tn_node *func, const char *key, const tn_node *value)
{
    const tn_node *have = tn_func_attr(func, key);
    if (have && tn_equal(ctx, have, value, false, NULL))
        return func;
    return tn_func_with_attr(ctx, func, key, value);
}

bool
llm_is_gpu(const tn_target *target)
{
    static const char *const kinds[] = {"cuda", "rocm", "metal", "vulkan", "opencl", "webgpu"};
    for (size_t i = 0; target && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(target->kind, kinds[i]))
            return true;
    const tn_array *keys = target ? tn_as_array(tn_dict_get(target->attrs, "keys")) : NULL;
    for (uint32_t i = 0; keys && i < keys->items.n; i++) {
        const tn_string_imm *k = tn_as_string_imm(keys->items.at[i]);
        if (k && !strcmp(k->value, "gpu"))
            return true;
    }
    return false;
}
