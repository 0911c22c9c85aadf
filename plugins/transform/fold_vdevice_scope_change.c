/* SPDX-License-Identifier: Apache-2.0 */
/* FoldVDeviceScopeChange: a tensor program writes to global memory at once, not to a texture that
 * is copied there.
 *
 *     lv = R.call_tir(f, (x,), out_ty=... "opencl:0:global.texture-weight")
 *     lv1 = R.to_vdevice(lv, "opencl:1:global")
 *
 *     lv1 = R.call_tir(f, (x,), out_ty=... "opencl:1:global")
 *
 * Only where the copy is the texture's one consumer and may use what the call uses. Unused bindings
 * go. Keeps results bit by bit. Cases: tests/pass/FoldVDeviceScopeChange.
 */
#include "transform.h"

#include "tenon/core/walk.h"

typedef struct folding {
    tn_ctx *ctx;
    tnb_ptrmap values; /* variable -> the call_tir that it is bound to */
    tnb_ptrmap uses;   /* variable -> number of uses */
} folding;

static tn_walk_step
note(void *user, const tn_node *n)
{
    folding *f = user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    if (vb && tn_is_call_to(vb->value, "relax.call_tir"))
        tnb_ptrmap_set(&f->values, vb->var, vb->value);
    if (tn_is_var(n))
        tnb_ptrmap_set(&f->uses, n, (void *)((uintptr_t)tnb_ptrmap_get(&f->uses, n) + 1));
    return TN_WALK_ON;
}

/* A definition counts as one visit of the variable. */
enum { ONE_USE_AND_THE_DEFINITION = 2 };

/* Whether the call may stand where its result is copied: the copy of a dataflow variable is in the
 * same block, that of another one may be behind the block that the operands belong to. */
static bool
may_move(const folding *f, const tn_expr *var, const tn_call *c)
{
    tn_list used = tn_free_vars(f->ctx, TN_NODE(c), false);
    for (uint32_t i = 0; i < used.n && !tn_is(var, TN_KIND_DATAFLOW_VAR); i++)
        if (tn_is(used.at[i], TN_KIND_DATAFLOW_VAR))
            return false;
    return true;
}

static const tn_node *
fold(tn_rewriter *r, const tn_node *n)
{
    folding *f = r->user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_call *copy = vb ? tn_is_call_to(vb->value, "relax.to_vdevice") : NULL;
    const tn_expr *source = copy ? copy->args.at[0] : NULL;
    const tn_call *c = source ? tnb_ptrmap_get(&f->values, source) : NULL;
    const tn_ty_tensor *t = c && c->ty_args.n == 1 ? tn_as_ty_tensor(c->ty_args.at[0]) : NULL;
    const tn_vdevice *from = t ? tn_as_vdevice(t->vdevice) : NULL;
    const tn_vdevice *to = copy ? tn_as_vdevice(tn_call_attr(copy, "dst_vdevice")) : NULL;
    if (!from || !to || !strstr(from->scope, "texture") || strcmp(to->scope, "global") != 0 ||
        (uintptr_t)tnb_ptrmap_get(&f->uses, source) != ONE_USE_AND_THE_DEFINITION ||
        !may_move(f, source, c))
        return NULL;
    const tn_type *out = tn_ty_tensor_of(f->ctx, t->shape, t->dtype, t->ndim, TN_NODE(to));
    tn_loc old = tn_at(f->ctx, c->base.loc);
    const tn_expr *call =
        tn_call_of(f->ctx, c->op, c->args, c->attrs, tn_listv(f->ctx, out, NULL), NULL);
    const tn_node *binding = tn_is_error(call) ? call : tn_var_binding_of(f->ctx, vb->var, call);
    tn_at(f->ctx, old);
    return binding;
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)name;
    (void)user;
    folding f = {.ctx = pc->ctx};
    tnb_ptrmap_init(&f.values, tn_scratch(pc->ctx));
    tnb_ptrmap_init(&f.uses, tn_scratch(pc->ctx));
    tn_walk(func, 0, note, NULL, &f);
    tn_rewriter r = {.ctx = pc->ctx, .user = &f, .post = fold};
    const tn_node *out = tn_rewrite(&r, func);
    if (!tn_is_error(out) && out != func)
        out = transform_drop_unused(pc->ctx, m, out);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_fold_vdevice_scope_change = {
    .base.size = sizeof(tn_pass),
    .opt_level = 1,
    .base.name = "FoldVDeviceScopeChange",
    .base.doc = "write to global memory at once where a texture would only be copied there",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
