/* SPDX-License-Identifier: Apache-2.0 */
/* FuseDequantizeTranspose: weights that are made of codes, transposed, and transposed back for a product are made once.
 *
 *     lv = R.call_tir(cls.dequantize, (q, scales), R.Tensor((N, K)))     makes (K, N), then turns it
 *     lv1 = R.permute_dims(lv)
 *     y = R.matmul(x, lv1)                                               x (.., 1, K)
 *  -> lv1 = R.call_tir(cls.dequantize1, (q, scales), R.Tensor((K, N)))   makes (K, N)
 *     y = R.matmul(x, lv1)
 *
 * For products of one row; with more rows the transposed weights are as good. A program of two nests, the last of which turns what the
 * first one makes, is taken; upstream goes by names. Cases: tests/pass/FuseDequantizeTranspose.
 */
#include "llm.h"
#include "dequantize.h"

#include "tenon/core/builder.h"
#include "tenon/core/walk.h"

typedef struct fuser {
    tn_ctx *ctx;
    tn_builder *b;
    const tn_module *m;
    const tnk_graph *g;
    bool dataflow; /* of the block at hand */
} fuser;

/* The block of a nest of loops around one block. */
static const tn_block *
only_block(const tn_stmt *s)
{
    while (tn_is(s, TN_KIND_FOR))
        s = tn_as_for_loop(s)->body;
    const tn_block_realize *r = tn_as_block_realize(s);
    return r ? tn_as_block(r->block) : NULL;
}

/* out[i, j] = made[j, i] */
static bool
turns(const tn_stmt *nest, const tn_node *made, const tn_node *out)
{
    const tn_block *b = only_block(nest);
    const tn_buffer_store *s = b && !b->init ? tn_as_buffer_store(b->body) : NULL;
    const tn_buffer_load *l = s ? tn_as_buffer_load(s->value) : NULL;
    return l && s->buffer == out && l->buffer == made && s->indices.n == 2 && l->indices.n == 2 &&
           tn_is_var(s->indices.at[0]) && tn_is_var(s->indices.at[1]) &&
           s->indices.at[0] != s->indices.at[1] && s->indices.at[0] == l->indices.at[1] &&
           s->indices.at[1] == l->indices.at[0];
}

/* The program without the transposition at its end; NULL: it has none. */
static const tn_node *
unturned(tn_ctx *ctx, const tn_prim_func *f)
{
    const tn_block_realize *root = f ? tn_as_block_realize(f->body) : NULL;
    const tn_block *b = root ? tn_as_block(root->block) : NULL;
    const tn_seq *two = b && !b->iters.n && b->allocs.n == 1 ? tn_as_seq(b->body) : NULL;
    if (!two || two->stmts.n != 2 ||
        !turns(two->stmts.at[1], b->allocs.at[0], f->buffers.at[f->buffers.n - 1]))
        return NULL;
    tn_block only = {.name = b->name, .body = two->stmts.at[0]};
    const tn_stmt *body =
        tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), tn_block_of(ctx, &only));
    tn_list buffers = tn_list_with(ctx, f->buffers, f->buffers.n - 1, b->allocs.at[0]);
    const tn_node *made = tn_prim_func_of(ctx, f->params, buffers, body, NULL, f->attrs);
    return llm_makes_weights(tn_as_prim_func(made)) ? tn_fresh_copy(ctx, made, NULL) : NULL;
}

static bool
has_one_row(const tn_expr *x)
{
    tn_list dims;
    return tn_type_dims(x->type, &dims) && dims.n >= 2 && tn_is_int_const(dims.at[dims.n - 2], 1);
}

/* The product's operand, made as it is wanted; NULL: the product stays. */
static const tn_expr *
operand(fuser *f, const tn_call *product)
{
    const tn_expr *wt = product->args.at[1];
    const tn_expr *value = tn_is_var(wt) ? tnk_graph_value(f->g, wt) : NULL;
    const tn_call *turn = value ? tn_is_call_to(value, "relax.permute_dims") : NULL;
    if (!turn || !has_one_row(product->args.at[0]) || tn_call_attr(turn, "axes") ||
        tn_type_ndim(turn->args.at[0]->type) != 2 || !tn_is_var(turn->args.at[0]))
        return NULL;
    value = tnk_graph_value(f->g, turn->args.at[0]);
    const tn_call *make = value ? tn_is_call_to(value, "relax.call_tir") : NULL;
    const tn_global_var *gv = make ? tn_as_global_var(make->args.at[0]) : NULL;
    const tn_node *made =
        gv ? unturned(f->ctx, tn_as_prim_func(tn_module_get(f->m, gv->name))) : NULL;
    const tn_tuple *args = made ? tn_as_tuple(make->args.at[1]) : NULL;
    return args ? tn_builder_call_tir(f->b, made, "dequantize", args->fields, turn->base.type)
                : NULL;
}

/* A binding of such a product becomes two. */
static const tn_node *
fuse(tn_rewriter *r, const tn_node *n)
{
    fuser *f = r->user;
    if (tn_as_bindings_block(n))
        f->dataflow = tn_is(n, TN_KIND_DATAFLOW_BLOCK);
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_call *product = vb ? tn_is_call_to(vb->value, "relax.matmul") : NULL;
    const tn_expr *w = product ? operand(f, product) : NULL;
    if (!w || tn_is_error(w))
        return w;
    const tn_expr *var = f->dataflow ? tn_dataflow_var_new(f->ctx, "lv", w->type)
                                     : tn_var_new(f->ctx, "lv", w->type);
    const tn_expr *y = tn_call_of(f->ctx, product->op, tn_list_with(f->ctx, product->args, 1, var),
                                  product->attrs, product->ty_args, product->base.type);
    return tn_binding_block_of(f->ctx,
                               tn_listv(f->ctx, tn_var_binding_of(f->ctx, var, w),
                                        tn_var_binding_of(f->ctx, vb->var, y), NULL),
                               f->dataflow);
}

static const tn_node *
each(void *user, const tn_node *func)
{
    fuser *f = user;
    f->g = tnk_graph_new(f->ctx, func);
    tn_rewriter r = {.ctx = f->ctx, .user = f, .pre = fuse};
    return tn_rewrite(&r, func);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    fuser f = {.ctx = pc->ctx, .b = tn_builder_new(pc->ctx, m), .m = m};
    const tn_module *out = llm_each_function(pc, m, f.b, each, &f);
    return !out || out == m
               ? out
               : llm_run_list(pc, out, "DeadCodeElimination", "FuseDequantizeTranspose");
}

const tn_pass llm_fuse_dequantize_transpose = {
    .base.size = sizeof(tn_pass),
    .base.name = "FuseDequantizeTranspose",
    .base.doc = "make weights as a product of one row wants them, without turning them twice",
    .keeps = TN_KEEPS_BITS,
    .needs = "op",
    .run = run,
};
