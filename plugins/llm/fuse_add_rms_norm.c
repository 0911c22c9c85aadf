/* SPDX-License-Identifier: Apache-2.0 */
/* FuseAddRMSNorm: a sum and its normalization are one tensor program, which gives both.
 *
 *     lv = R.add(x, y)                               lv = R.call_tir(cls.fuse_add_norm_decode, (x, y, w),
 *     lv1 = R.nn.rms_norm(lv, w, axes=[-1])    =>        out_ty=[R.Tensor((n, 1, 4096)), R.Tensor((n, 1, 4096))])
 *     ... uses of lv                                 lv1, and lv in its uses: items 0 and 1
 *
 * For targets with the key `gpu`, tensors of float16 or bfloat16 of one shape, rank 3, known last extent. Uses of the sum in front of the
 * normalization stay. Upstream's programs are scheduled for as many threads as the target has, and made only for extents that these
 * divide; here the target's rules schedule them. One of a batch is called fuse_add_norm_prefill. Cases: tests/pass/FuseAddRMSNorm.
 */
#include "llm.h"
#include "dequantize.h"

#include "tenon/core/walk.h"
#include "tenon/kit/te.h"

enum { RANK = 3 };

typedef struct fuser {
    tn_ctx *ctx;
    tn_builder *b;
    const tnk_graph *g;
    tnb_ptrmap again; /* variable of a sum -> the one that the program gives */
} fuser;

/* The sum of `norm`, if both can be one program. */
static const tn_call *
sum_of(const fuser *f, const tn_call *norm)
{
    const tn_expr *var = norm->args.at[0];
    const tn_expr *value = tn_is_var(var) ? tnk_graph_value(f->g, var) : NULL;
    const tn_call *add =
        value && tn_is(var, TN_KIND_DATAFLOW_VAR) && !tnb_ptrmap_has(&f->again, var)
            ? tn_is_call_to(value, "relax.add")
            : NULL;
    tnb_dtype d = tn_type_dtype(norm->base.type);
    int64_t axes[RANK], last;
    tn_list dims;
    bool last_axis =
        tn_call_ints(norm, "axes", axes, RANK) == 1 && (axes[0] == -1 || axes[0] == RANK - 1);
    return add && last_axis && (tnb_dtype_eq(d, TNB_F16) || tnb_dtype_eq(d, TNB_BF16)) &&
                   tn_type_dims(norm->base.type, &dims) && dims.n == RANK &&
                   tn_int_value(dims.at[RANK - 1], &last) &&
                   tn_type_equal(f->ctx, add->args.at[0]->type, norm->base.type) &&
                   tn_type_equal(f->ctx, add->args.at[1]->type, norm->base.type) &&
                   tn_is(norm->args.at[1]->type, TN_KIND_TY_TENSOR) &&
                   tn_type_ndim(norm->args.at[1]->type) == 1
               ? add
               : NULL;
}

/* The call of the program: (normalized, sum). */
static const tn_expr *
program(fuser *f, const tn_call *norm, const tn_expr *const *operands)
{
    tn_ctx *ctx = f->ctx;
    tnb_dtype d = tn_type_dtype(norm->base.type);
    tn_list dims;
    (void)tn_type_dims(norm->base.type, &dims);
    int64_t extent = tn_as_int_imm(dims.at[RANK - 1])->value;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = tnk_te_input(te, "x", operands[0]->type),
                  *y = tnk_te_input(te, "y", operands[1]->type),
                  *w = tnk_te_input(te, "weight", operands[2]->type);
    tnk_stage *s = tnk_te_stage(te, "T_add", dims.at, RANK, d);
    const tn_node *sum = tnk_te_define(s, tn_add(ctx, tnk_te_read_at(te, x, s->axes, RANK),
                                                 tnk_te_read_at(te, y, s->axes, RANK)));
    s = tnk_te_stage(te, "square_sum", dims.at, RANK - 1, TNB_F32);
    const tn_expr *k = tnk_te_reduce_axis(s, "k", dims.at[RANK - 1]);
    const tn_expr *v =
        tn_cast_to(ctx, TNB_F32, tnk_te_read(te, sum, s->axes[0], s->axes[1], k, NULL));
    const tn_node *squares = tnk_te_sum(s, tn_mul(ctx, v, v));
    s = tnk_te_stage(te, "T_rms_norm", dims.at, RANK, d);
    const tn_expr *mean = tn_div(ctx, tnk_te_read(te, squares, s->axes[0], s->axes[1], NULL),
                                 tn_float_imm_of(ctx, TNB_F32, (double)extent));
    const tn_expr *by =
        tn_intrin1(ctx, TN_INTRIN_rsqrt,
                   tn_add(ctx, mean,
                          tn_float_imm_of(ctx, TNB_F32, tn_call_float(norm, "epsilon"))));
    const tn_expr *value =
        tn_mul(ctx,
               tn_mul(ctx, by, tn_cast_to(ctx, TNB_F32, tnk_te_read_at(te, sum, s->axes, RANK))),
               tn_cast_to(ctx, TNB_F32, tnk_te_read(te, w, s->axes[RANK - 1], NULL)));
    const tn_node *outs[2] = {tnk_te_define(s, tn_cast_to(ctx, d, value)), sum};
    const char *name =
        tn_is_int_const(dims.at[0], 1) ? "fuse_add_norm_prefill" : "fuse_add_norm_decode";
    return tnk_te_call(te, f->b, name, operands, 3, outs, 2);
}

/* The normalization's binding becomes the call and its items; what comes behind it uses the program's sum. */
static const tn_node *
fuse(tn_rewriter *r, const tn_node *n)
{
    fuser *f = r->user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_call *norm = vb ? tn_is_call_to(vb->value, "relax.nn.rms_norm") : NULL;
    const tn_call *add = norm ? sum_of(f, norm) : NULL;
    if (!add)
        return NULL;
    const tn_expr *operands[3] = {tn_rewrite_child(r, add->args.at[0]),
                                  tn_rewrite_child(r, add->args.at[1]),
                                  tn_rewrite_child(r, norm->args.at[1])};
    tn_loc old = tn_at(f->ctx, n->loc);
    const tn_expr *both = program(f, norm, operands);
    tn_at(f->ctx, old);
    if (tn_is_error(both))
        return both;
    const tn_expr *sum = norm->args.at[0], *var = tn_dataflow_var_new(f->ctx, "lv", both->type),
                  *again = tn_dataflow_var_new(f->ctx, tn_var_name(sum), sum->type);
    tnb_ptrmap_set(&f->again, sum, again);
    return tn_binding_block_of(
        f->ctx,
        tn_listv(f->ctx, tn_var_binding_of(f->ctx, var, both),
                 tn_var_binding_of(f->ctx, again, tn_tuple_item(f->ctx, var, 1)),
                 tn_var_binding_of(f->ctx, vb->var, tn_tuple_item(f->ctx, var, 0)), NULL),
        true);
}

static const tn_node *
each(void *user, const tn_node *func)
{
    fuser *f = user;
    f->g = tnk_graph_new(f->ctx, func);
    tnb_ptrmap_init(&f->again, tn_scratch(f->ctx));
    tn_rewriter r = {.ctx = f->ctx, .user = f, .pre = fuse, .map = &f->again, .in_context = true};
    return tn_rewrite(&r, func);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    fuser f = {.ctx = pc->ctx, .b = tn_builder_new(pc->ctx, m)};
    const tn_module *out = llm_is_gpu(pc->target) ? llm_each_function(pc, m, f.b, each, &f) : m;
    return !out || out == m ? out : llm_run_list(pc, out, "DeadCodeElimination", "FuseAddRMSNorm");
}

const tn_pass llm_fuse_add_rms_norm = {
    .base.size = sizeof(tn_pass),
    .base.name = "FuseAddRMSNorm",
    .base.doc = "join sums with their normalization by the root mean square, for GPUs",
    .keeps = TN_KEEPS_HALF,
    .needs = "op",
    .run = run,
};
