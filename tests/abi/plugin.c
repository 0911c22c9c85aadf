/* SPDX-License-Identifier: Apache-2.0 */
/* A compiler plugin as an author outside of the tree writes it: an operator with its program; a pass that makes it out
 * of `x + x`; a legalizer of another's operator for another's target. */
#include "tenon/core/build.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/te.h"

/* ---- relax.abi.twice(x): x + x ---- */

static const tn_type *
infer_twice(tn_ctx *ctx, const tn_call *call)
{
    const tn_type *t = call->args.at[0]->type;
    return tn_is(t, TN_KIND_TY_TENSOR)
               ? t
               : tn_error(ctx, call->base.loc, TNB_TYPE, "abi.twice takes a tensor");
}

static const tn_expr *
times(tn_builder *b, const tn_call *call, const char *name, double factor)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = call->args.at[0];
    tn_list dims;
    if (!tn_type_dims(x->type, &dims))
        return NULL;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *a = tnk_te_input(te, "A", x->type);
    tnb_dtype d = tn_type_dtype(x->type);
    tnk_stage *s = tnk_te_stage(te, "T", dims.at, dims.n, d);
    const tn_expr *v = tnk_te_read_at(te, a, s->axes, s->n_axes);
    const tn_node *out =
        tnk_te_define(s, tn_mul(ctx, v, tn_cast_to(ctx, d, tn_float_imm_of(ctx, TNB_F32, factor))));
    return tnk_te_call(te, b, name, &x, 1, &out, 1);
}

static const tn_expr *
legalize_twice(tn_builder *b, const tn_call *call)
{
    return times(b, call, "abi_twice", 2);
}

static const tn_arg_schema twice_args[] = {{.name = "x", .doc = "any tensor"}, {0}};
static const tn_op twice = {
    .base.size = sizeof(tn_op),
    .base.name = "relax.abi.twice",
    .base.doc = "x + x",
    .args = twice_args,
    .min_args = -1,
    .infer = infer_twice,
    .legalize = legalize_twice,
};
static const tn_op *const ops[] = {&twice};

/* ---- AbiTwice: R.add(x, x) becomes R.abi.twice(x) ---- */

static const tn_node *
fold(tn_rewriter *r, const tn_node *n)
{
    const tn_call *c = tn_is_call_to(n, "relax.add");
    if (!c || c->args.at[0] != c->args.at[1])
        return NULL;
    return tn_call_opv(r->ctx, "relax.abi.twice", NULL, c->args.at[0], NULL);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_rewriter r = {.ctx = pc->ctx, .post = fold};
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        if (!tn_is(f, TN_KIND_FUNCTION))
            continue;
        const tn_node *nf = tn_rewrite(&r, f);
        if (tn_is_error(nf))
            return NULL;
        if (nf != f)
            m = tn_module_set(pc->ctx, m, tn_module_name(m, i), nf);
    }
    return m;
}

static const tn_pass abi_twice = {
    .base.size = sizeof(tn_pass),
    .base.name = "AbiTwice",
    .base.doc = "x + x by one operator",
    .keeps = TN_KEEPS_BITS,
    .run = run,
    .needs = "op",
};
static const tn_pass *const passes[] = {&abi_twice};

/* ---- on the cpu target relax.sin is four times, so that the test sees who legalized ---- */

static const tn_expr *
legalize_four(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    return times(b, call, "abi_four", 4);
}

static const tn_legalizer four = {.base.size = sizeof(tn_legalizer),
                                  .base.name = "relax.sin",
                                  .target = "cpu",
                                  .legalize = legalize_four};
static const tn_legalizer *const legalizers[] = {&four};

TN_PLUGIN(abi, "1.0", "Apache-2.0", "a plugin of the ABI test", .ops = ops, .n_ops = 1,
          .passes = passes, .n_passes = 1, .legalizers = legalizers, .n_legalizers = 1);
