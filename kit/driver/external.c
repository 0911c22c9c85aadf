/* SPDX-License-Identifier: Apache-2.0 */
/* External calls in an artifact: the graph functions that RunCodegen keeps as their meaning
 * (attribute `external`) need no code, nor do the tensor programs that only they call. */
#include "driver_private.h"

#include "tenon/core/walk.h"

typedef struct reach {
    tn_ctx *ctx;
    const tn_module *m;
    tnb_strmap seen;
    TNB_VEC(const tn_node *) work;
} reach;

static bool
is_meaning(const tn_node *f)
{
    return tn_is(f, TN_KIND_FUNCTION) && tn_func_attr(f, "external");
}

static void
reached(reach *r, const char *name)
{
    const tn_node *f = tn_module_get(r->m, name);
    if (!f || is_meaning(f) || tnb_strmap_has(&r->seen, name))
        return;
    tnb_strmap_set(&r->seen, name, f);
    TNB_PUSH(tn_scratch(r->ctx), r->work, f);
}

static tn_walk_step
note_global(void *user, const tn_node *n)
{
    const tn_global_var *gv = tn_as_global_var(n);
    if (gv)
        reached(user, gv->name);
    return TN_WALK_ON;
}

const tn_module *
driver_without_meanings(tn_ctx *ctx, const tn_module *m)
{
    reach r = {.ctx = ctx, .m = m};
    tnb_strmap_init(&r.seen, tn_scratch(ctx));
    uint32_t meanings = 0, n = 0;
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        meanings += is_meaning(m->funcs.at[i]);
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            reached(&r, tn_module_name(m, i));
    }
    if (!meanings)
        return m;
    while (r.work.n)
        tn_walk(r.work.at[--r.work.n], 0, note_global, NULL, &r);
    const char **names = TNB_NEW_N(tn_scratch(ctx), const char *, m->names.n);
    const tn_node **none = TNB_NEW_N(tn_scratch(ctx), const tn_node *, m->names.n);
    for (uint32_t i = 0; i < m->names.n; i++)
        if (!tnb_strmap_has(&r.seen, tn_module_name(m, i)) &&
            !tn_is(m->funcs.at[i], TN_KIND_EXTERN_FUNC))
            names[n++] = tn_module_name(m, i);
    return tn_module_set_all(ctx, m, names, none, n);
}
