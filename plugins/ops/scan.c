/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums and products, bucketize. */
#include "emit.h"

const tn_type *
infer_scan(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    int64_t axis;
    if (!t)
        return tn_error_node(ctx);
    tnb_dtype d = tn_call_dtype(call, "dtype");
    if (tnb_dtype_is_void(d))
        d = t->dtype;
    if (!tn_call_attr(call, "axis")) {
        if (!tn_type_dims(TN_NODE(t), &dims))
            return infer_rank(ctx, call, 1, d);
        return infer_known(ctx, call, tn_listv(ctx, tn_product(ctx, dims), NULL), d);
    }
    if (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    return infer_same(ctx, call, t, d);
}

const tn_expr *
legalize_scan(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const char *op = infer_op_name(call);
    bool sum = infer_op(call)->id == OP_cumsum, exclusive = tn_call_int(call, "exclusive") != 0;
    if (!tn_call_attr(call, "axis")) {
        const tn_expr *flat = tn_call_opv(ctx, "flatten", NULL, call->args.at[0], NULL);
        return tn_call_opv(ctx, op, tn_dict_set(ctx, call->attrs, "axis", tn_i64(ctx, 0)), flat,
                           NULL);
    }
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, call->args.at[0]);
    uint32_t n = emit_ndim(x);
    int64_t axis = tn_call_int(call, "axis");
    tnb_dtype d = tn_type_dtype(call->base.type);
    const tn_expr *vars[INFER_MAX_DIMS], *extents[INFER_MAX_DIMS], *before[INFER_MAX_DIMS];
    if (n > INFER_MAX_DIMS)
        return NULL;
    axis += axis < 0 ? (int64_t)n : 0;
    const tn_node *out = tnk_te_buffer(e.te, "out_buf", tn_as_buffer(x)->shape.at, n, d);
    emit_loop_vars(ctx, vars, n);
    for (uint32_t i = 0; i < n; i++)
        extents[i] = emit_dim(x, i);
    memcpy(before, vars, n * sizeof *before);
    before[axis] = tn_subi(ctx, vars[axis], 1);
    const tn_expr *so_far = tnk_te_read_at(e.te, out, before, n),
                  *start = tn_literal(ctx, d, sum ? 0 : 1);
    const tn_expr *term = tn_cast_to(ctx, d, tnk_te_read_at(e.te, x, exclusive ? before : vars, n));
    const tn_expr *next = sum ? tn_add(ctx, so_far, term) : tn_mul(ctx, so_far, term);
    const tn_expr *v = tn_if_then_else(ctx, tn_gt_of(ctx, vars[axis], tn_i64(ctx, 0)), next,
                                       exclusive ? start : term);
    const tn_stmt *body = tn_buffer_store_of(ctx, out, v, tn_list_of(ctx, vars, n));
    tnk_te_extern(e.te, op, &x, 1, &out, 1, emit_loops(ctx, vars, extents, n, body));
    return emit_end(&e, op, out);
}

const tn_type *
infer_bucketize(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *u = infer_tensor(ctx, call, 1);
    tnb_dtype d;
    if (!t || !u || !infer_same_dtype(ctx, call, t->dtype, u->dtype, &d))
        return tn_error_node(ctx);
    if (u->ndim >= 0 && u->ndim != 1)
        return infer_fail(ctx, call, TNB_SHAPE, "boundaries must be a vector, but have %lld axes",
                          (long long)u->ndim);
    return infer_same(ctx, call, t, tn_call_int(call, "out_int32") ? TNB_I32 : TNB_I64);
}

const tn_expr *
legalize_bucketize(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]), *limits = emit_input(&e, call->args.at[1]);
    tnb_dtype d = tn_type_dtype(call->base.type);
    tnk_stage *s = emit_stage(&e, "bucketize");
    const tn_expr *k = tnk_te_reduce_axis(s, "k", emit_dim(limits, 0));
    const tn_expr *v = tnk_te_read_at(e.te, x, s->axes, s->n_axes),
                  *limit = tnk_te_read(e.te, limits, k, NULL);
    const tn_expr *past =
        tn_call_int(call, "right") ? tn_le_of(ctx, limit, v) : tn_lt_of(ctx, limit, v);
    if (tnb_dtype_is_float(tn_dtype_of(v))) /* NaN is past every limit */
        past = tn_or_of(ctx, past, tn_ne_of(ctx, v, v));
    return emit_end(&e, "bucketize",
                    tnk_te_sum(s, tn_select_of(ctx, past, tn_literal(ctx, d, 1),
                                               tn_literal(ctx, d, 0))));
}
