/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: matmul, linear, outer. Float16 products are summed in float32. */
#include "emit.h"

static bool
product_dtype(tn_ctx *ctx, const tn_call *call, const tn_ty_tensor *a, const tn_ty_tensor *b,
              tnb_dtype *d)
{
    *d = tn_call_dtype(call, "out_dtype");
    return !tnb_dtype_is_void(*d) || infer_same_dtype(ctx, call, a->dtype, b->dtype, d);
}

static bool
check_inner(tn_ctx *ctx, const tn_call *call, const tn_expr *a, const tn_expr *b)
{
    if (!dim_differ(ctx, a, b,
                    "the summed extents differ: {} of the first operand, {} of the second"))
        return true;
    infer_fail(ctx, call, TNB_SHAPE,
               "the summed extents differ: %s of the first operand, %s of the second",
               tn_text(ctx, a), tn_text(ctx, b));
    return false;
}

const tn_type *
infer_matmul(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *a = infer_tensor(ctx, call, 0), *b = infer_tensor(ctx, call, 1);
    tnb_dtype d;
    tn_list x, y, batch;
    if (!a || !b || !product_dtype(ctx, call, a, b, &d))
        return tn_error_node(ctx);
    if (a->ndim == 0 || b->ndim == 0)
        return infer_fail(ctx, call, TNB_SHAPE,
                          "operands must have at least one axis, but operand %d has none",
                          a->ndim == 0 ? 1 : 2);
    if (a->ndim < 0 || b->ndim < 0)
        return infer_rank(ctx, call, -1, d);
    int64_t most = a->ndim > b->ndim ? a->ndim : b->ndim;
    int64_t rank = a->ndim == 1 && b->ndim == 1   ? 0
                   : a->ndim == 1 || b->ndim == 1 ? most - 1
                                                  : most;
    if (!tn_type_dims(TN_NODE(a), &x) || !tn_type_dims(TN_NODE(b), &y))
        return infer_rank(ctx, call, rank, d);
    if (!check_inner(ctx, call, x.at[x.n - 1], y.at[y.n > 1 ? y.n - 2 : 0]))
        return tn_error_node(ctx);
    tn_list xb = {x.at, x.n > 2 ? x.n - 2 : 0}, yb = {y.at, y.n > 2 ? y.n - 2 : 0};
    int known = infer_broadcast(ctx, call, xb, yb, &batch);
    if (known < 0)
        return tn_error_node(ctx);
    if (!known)
        return infer_rank(ctx, call, rank, d);
    if (x.n > 1)
        batch = tn_list_append(ctx, batch, x.at[x.n - 2]);
    if (y.n > 1)
        batch = tn_list_append(ctx, batch, y.at[y.n - 1]);
    return infer_known(ctx, call, batch, d);
}

/* The operand's index from the result's axes and the summed one: batch axes aligned at the end. */
static const tn_expr *
operand_at(emit *e, const tn_node *t, const tnk_stage *s, uint32_t n_batch, const tn_expr *row,
           const tn_expr *column)
{
    tn_ctx *ctx = e->ctx;
    tn_list out = emit_dims(TN_NODE(e->call));
    const tn_expr *idx[INFER_MAX_DIMS];
    uint32_t n = emit_ndim(t), inner = n > 1 ? 2 : 1, batch = n - inner;
    for (uint32_t i = 0; i < batch; i++) {
        uint32_t at = n_batch - batch + i;
        const tn_expr *own = emit_dim(t, i);
        idx[i] = tn_is_int_const(own, 1) ? tn_i64(ctx, 0)
                                         : emit_stretched(e, own, out.at[at], s->axes[at]);
    }
    if (n > 1)
        idx[batch] = row;
    idx[n - 1] = column;
    return tnk_te_read_at(e->te, t, idx, n);
}

const tn_expr *
legalize_matmul(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tnb_dtype d = tn_type_dtype(call->base.type), sum = emit_wide(d);
    const tn_node *x = emit_input(&e, call->args.at[0]), *y = emit_input(&e, call->args.at[1]);
    if (emit_ndim(x) > INFER_MAX_DIMS || emit_ndim(y) > INFER_MAX_DIMS)
        return NULL;
    tnk_stage *s = emit_stage_of(&e, "matmul", call->base.type, sum);
    uint32_t rows = emit_ndim(x) > 1, columns = emit_ndim(y) > 1,
             n_batch = s->n_axes - rows - columns;
    const tn_expr *k = tnk_te_reduce_axis(s, "k", emit_dim(x, emit_ndim(x) - 1));
    const tn_expr *i = rows ? s->axes[n_batch] : NULL,
                  *j = columns ? s->axes[n_batch + rows] : NULL;
    const tn_expr *vx = tn_cast_to(ctx, sum, operand_at(&e, x, s, n_batch, i, k));
    /* the second operand's row is the summed axis; a vector has only that */
    const tn_expr *vy =
        tn_cast_to(ctx, sum,
                   columns ? operand_at(&e, y, s, n_batch, k, j) : tnk_te_read(e.te, y, k, NULL));
    const tn_node *out = tnk_te_sum(s, tn_mul(ctx, vx, vy));
    if (!tnb_dtype_eq(sum, d)) {
        s = emit_stage(&e, "T_cast");
        out = tnk_te_define(s, tn_cast_to(ctx, d, tnk_te_read_at(e.te, out, s->axes, s->n_axes)));
    }
    return emit_end(&e, "matmul", out);
}

const tn_type *
infer_linear(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *x = infer_tensor(ctx, call, 0), *w = infer_tensor(ctx, call, 1);
    tnb_dtype d;
    tn_list xd, wd;
    if (!x || !w || !product_dtype(ctx, call, x, w, &d) ||
        (infer_arg(call, 2) && !infer_tensor(ctx, call, 2)))
        return tn_error_node(ctx);
    if (w->ndim >= 0 && w->ndim != 2)
        return infer_fail(ctx, call, TNB_SHAPE, "the weight must have two axes, but has %lld",
                          (long long)w->ndim);
    if (x->ndim == 0)
        return infer_fail(ctx, call, TNB_SHAPE, "the data must have at least one axis");
    if (!tn_type_dims(TN_NODE(x), &xd) || !tn_type_dims(TN_NODE(w), &wd))
        return infer_rank(ctx, call, x->ndim, d);
    if (!check_inner(ctx, call, xd.at[xd.n - 1], wd.at[1]))
        return tn_error_node(ctx);
    tn_list bias;
    if (infer_arg(call, 2) && tn_type_dims(infer_arg(call, 2)->type, &bias) && bias.n == 1 &&
        dim_misfit(ctx, bias.at[0], wd.at[0], "the bias has {} entries for {} out features"))
        return infer_fail(ctx, call, TNB_SHAPE, "the bias has %s entries for %s out features",
                          tn_text(ctx, bias.at[0]), tn_text(ctx, wd.at[0]));
    return infer_known(ctx, call, tn_list_with(ctx, xd, xd.n - 1, wd.at[0]), d);
}

/* y + bias, of which nothing proves whether it has one entry or one for each out feature. */
static const tn_expr *
biased(tn_builder *b, const tn_call *call, const tn_expr *y)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, tn_emit(b, y, "lv")),
                  *bias = emit_input(&e, call->args.at[2]);
    tnk_stage *s = emit_stage(&e, "T_add");
    const tn_expr *at = tn_min(ctx, s->axes[s->n_axes - 1], tn_subi(ctx, emit_dim(bias, 0), 1));
    const tn_expr *v =
        tn_add(ctx, tnk_te_read_at(e.te, x, s->axes, s->n_axes), tnk_te_read(e.te, bias, at, NULL));
    return emit_end(&e, "add", tnk_te_define(s, v));
}

const tn_expr *
legalize_linear(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *w = tn_call_opv(ctx, "permute_dims", NULL, call->args.at[1], NULL);
    const tn_node *attrs =
        tn_dictv(ctx, "out_dtype", tn_dtype_imm_of(ctx, tn_call_dtype(call, "out_dtype")), NULL);
    const tn_expr *y = tn_call_opv(ctx, "matmul", attrs, call->args.at[0], w, NULL);
    const tn_expr *bias = infer_arg(call, 2);
    if (!bias)
        return y;
    tn_list own = emit_dims(bias), out = emit_dims(call->args.at[1]);
    bool plain =
        own.n != 1 || tn_is_int_const(own.at[0], 1) || dim_equal(ctx, own.at[0], out.at[0]);
    return plain ? tn_call_opv(ctx, "add", NULL, y, bias, NULL) : biased(b, call, y);
}

const tn_type *
infer_outer(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *a = infer_tensor(ctx, call, 0), *b = infer_tensor(ctx, call, 1);
    tnb_dtype d;
    tn_list x, y;
    if (!a || !b || !infer_same_dtype(ctx, call, a->dtype, b->dtype, &d))
        return tn_error_node(ctx);
    if ((a->ndim >= 0 && a->ndim != 1) || (b->ndim >= 0 && b->ndim != 1))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "operands must be vectors, but have %lld and %lld axes",
                          (long long)a->ndim, (long long)b->ndim);
    if (!tn_type_dims(TN_NODE(a), &x) || !tn_type_dims(TN_NODE(b), &y))
        return infer_rank(ctx, call, 2, d);
    return infer_known(ctx, call, tn_listv(ctx, x.at[0], y.at[0], NULL), d);
}

const tn_expr *
legalize_outer(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]), *y = emit_input(&e, call->args.at[1]);
    tnk_stage *s = emit_stage(&e, "T_outer");
    const tn_expr *v =
        tn_mul(ctx, tnk_te_read(e.te, x, s->axes[0], NULL), tnk_te_read(e.te, y, s->axes[1], NULL));
    return emit_end(&e, "outer", tnk_te_define(s, v));
}
