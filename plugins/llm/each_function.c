/* SPDX-License-Identifier: Apache-2.0 */
/* For passes that rewrite the functions of a module and add programs of their own. */
#include "llm.h"

const tn_module *
llm_each_function(const tn_pass_ctx *pc, const tn_module *m, tn_builder *b,
                  const tn_node *(*each)(void *user, const tn_node *func), void *user)
{
    TNB_VEC(const char *) names = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    for (uint32_t i = 0; i < m->names.n; i++) {
        if (!tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            continue;
        const tn_node *out = each(user, m->funcs.at[i]);
        if (tn_is_error(out))
            return NULL;
        if (out == m->funcs.at[i])
            continue;
        TNB_PUSH(tn_scratch(pc->ctx), names, tn_module_name(m, i));
        TNB_PUSH(tn_scratch(pc->ctx), funcs, out);
    }
    return names.n ? tn_module_set_all(pc->ctx, tn_builder_module(b), names.at, funcs.at, names.n)
                   : m;
}
