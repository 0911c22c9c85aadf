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
