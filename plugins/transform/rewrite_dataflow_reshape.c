/* SPDX-License-Identifier: Apache-2.0 */
/* RewriteDataflowReshape: tensor programs that only give their input another shape become
 * R.reshape, which copies nothing.
 *
 *     lv = R.call_tir(cls.flatten, (x,), out_ty=R.Tensor((6,), "float32"))
 *  -> lv = R.reshape(x, R.shape([6]))
 *
 * In dataflow blocks, for bindings of dataflow variables only: outputs stay copies, as memory
 * planning relies on it; so does what a call overwrites. The program has to read one of its tensors only, keep its dtype and
 * element count, and copy element for element in row-major order through any number of blocks (in_order.c); neither may lie in
 * an image. Cases: tests/pass/RewriteDataflowReshape.
 */
#include "transform.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

/* ---- rewriting ---- */

typedef struct rewriting {
    tn_ctx *ctx;
    const tn_module *m;
    tnb_ptrmap overwritten; /* variables that calls compute in place: they must not be views */
    tnb_ptrmap seen;        /* programs that were looked at */
} rewriting;

static int
reshaped_param_once(rewriting *w, const tn_prim_func *f)
{
    const int *known = tnb_ptrmap_get(&w->seen, f);
    if (!known) {
        int *which = TNB_NEW(tn_scratch(w->ctx), int);
        *which = transform_param_in_order(w->ctx, f, NULL);
        tnb_ptrmap_set(&w->seen, f, which);
        known = which;
    }
    return *known;
}

static const tn_expr *
as_reshape(rewriting *w, const tn_expr *value)
{
    const tn_call *c = tn_is_call_to(value, "relax.call_tir");
    const tn_global_var *gv = c ? tn_as_global_var(c->args.at[0]) : NULL;
    const tn_prim_func *f = gv ? tn_as_prim_func(tn_module_get(w->m, gv->name)) : NULL;
    const tn_tuple *args = c ? tn_as_tuple(c->args.at[1]) : NULL;
    tn_list in, out;
    int which = f && args && tn_is(value->type, TN_KIND_TY_TENSOR) ? reshaped_param_once(w, f) : -1;
    if (which < 0 || (uint32_t)which >= args->fields.n)
        return NULL;
    const tn_expr *x = args->fields.at[which];
    if (tnb_ptrmap_has(&w->overwritten, x) || !tn_is(x->type, TN_KIND_TY_TENSOR) ||
        !tn_type_dims(x->type, &in) || !tn_type_dims(value->type, &out) ||
        !tnb_dtype_eq(tn_type_dtype(x->type), tn_type_dtype(value->type)) ||
        !tn_prove_equal(w->ctx, tn_product(w->ctx, in), tn_product(w->ctx, out)))
        return NULL;
    return tn_call_opv(w->ctx, "relax.reshape", NULL, x, tn_shape_expr_of(w->ctx, out), NULL);
}

static const tn_node *
rewrite_block(tn_rewriter *r, const tn_node *n)
{
    rewriting *w = r->user;
    if (!tn_is(n, TN_KIND_DATAFLOW_BLOCK))
        return NULL;
    const tn_list was = ((const tn_bindings_block *)n)->bindings;
    tn_list bindings = was;
    for (uint32_t i = 0; i < was.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(was.at[i]);
        const tn_expr *reshape =
            vb && tn_is(vb->var, TN_KIND_DATAFLOW_VAR) && !tnb_ptrmap_has(&w->overwritten, vb->var)
                ? as_reshape(w, vb->value)
                : NULL;
        if (reshape && !tn_is_error(reshape))
            tn_list_change(w->ctx, &bindings, was, i, tn_var_binding_of(w->ctx, vb->var, reshape));
    }
    return bindings.at == was.at ? NULL : tn_binding_block_of(w->ctx, bindings, true);
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)name;
    (void)user;
    rewriting w = {.ctx = pc->ctx, .m = m};
    tnb_ptrmap_init(&w.seen, tn_scratch(pc->ctx));
    transform_find_overwritten(pc->ctx, m, func, &w.overwritten);
    tn_rewriter r = {.ctx = pc->ctx, .user = &w, .post = rewrite_block, .reach = TN_REACH_BLOCKS};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_rewrite_dataflow_reshape = {
    .base.size = sizeof(tn_pass),
    .base.name = "RewriteDataflowReshape",
    .base.doc = "replace tensor programs that only reshape by R.reshape",
    .keeps = TN_KEEPS_BITS,
    .run = run,
    .needs = "op",
};
