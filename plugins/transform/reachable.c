/* SPDX-License-Identifier: Apache-2.0 */
/* Removal of functions that no public function reaches: shared by the passes that replace
 * functions. */
#include "transform.h"

#include "tenon/core/walk.h"

typedef struct reach {
    tn_ctx *ctx;
    const tn_module *m;
    tnb_strmap seen;
    TNB_VEC(const char *) work;
} reach;

static tn_walk_step
note_global(void *user, const tn_node *n)
{
    reach *r = user;
    const tn_global_var *gv = tn_as_global_var(n);
    if (gv && !tnb_strmap_has(&r->seen, gv->name)) {
        tnb_strmap_set(&r->seen, gv->name, r);
        TNB_PUSH(tn_scratch(r->ctx), r->work, gv->name);
    }
    return TN_WALK_ON;
}

const tn_module *
transform_drop_unreachable(tn_ctx *ctx, const tn_module *m)
{
    return transform_drop_unreachable_from(ctx, m, (tn_list){0});
}

const tn_module *
transform_drop_unreachable_from(tn_ctx *ctx, const tn_module *m, tn_list entries)
{
    reach r = {.ctx = ctx, .m = m};
    tnb_strmap_init(&r.seen, tn_scratch(ctx));
    for (uint32_t i = 0; i < entries.n; i++)
        note_global(&r, tn_global_var_of(ctx, ((const tn_string_imm *)entries.at[i])->value));
    for (uint32_t i = 0; i < m->names.n; i++)
        if (tn_func_attr(m->funcs.at[i], "global_symbol") ||
            tn_is(m->funcs.at[i], TN_KIND_EXTERN_FUNC))
            note_global(&r, m->names.at[i]);
    if (!r.work.n)
        return m;    /* nothing is public: everything stays */
    while (r.work.n) /* the verifier saw to it that all are there */
        tn_walk(tn_module_get(m, r.work.at[--r.work.n]), 0, note_global, NULL, &r);
    TNB_VEC(const char *) names = {0};
    for (uint32_t i = 0; i < m->names.n; i++)
        if (!tnb_strmap_has(&r.seen, tn_module_name(m, i)))
            TNB_PUSH(tn_scratch(ctx), names, tn_module_name(m, i));
    if (!names.n)
        return m;
    const tn_node **none = TNB_NEW_N(tn_scratch(ctx), const tn_node *, names.n);
    return tn_module_set_all(ctx, m, names.at, none, names.n);
}
