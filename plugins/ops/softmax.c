/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its logarithm: maximum, exponentials, their sum, normalisation, a stage each.
 *
 * Narrow floats are summed in float32.
 */
#include "emit.h"

const tn_type *
infer_softmax(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t axis;
    if (!t)
        return tn_error_node(ctx);
    if (!tnb_dtype_is_void(t->dtype) && !tnb_dtype_is_float(t->dtype))
        return infer_fail(ctx, call, TNB_TYPE, "the operand must be of a float type, but is of %s",
                          tnb_dtype_print(t->dtype).s);
    if (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    return infer_same(ctx, call, t, t->dtype);
}

typedef struct rows {
    emit e;
    uint32_t axis, n;
    const tn_expr *dims[INFER_MAX_DIMS]; /* of a result per row */
} rows;

/* A stage with one element a row. */
static tnk_stage *
row_stage(rows *r, const char *name, tnb_dtype d)
{
    return tnk_te_stage(r->e.te, name, r->dims, r->n - 1, d);
}

/* buffer[row of s, k] in a row stage. */
static const tn_expr *
along(rows *r, const tn_node *buffer, const tnk_stage *s, const tn_expr *k)
{
    const tn_expr *idx[INFER_MAX_DIMS];
    for (uint32_t i = 0, j = 0; i < r->n; i++)
        idx[i] = i == r->axis ? k : s->axes[j++];
    return tnk_te_read_at(r->e.te, buffer, idx, r->n);
}

/* The element of a row buffer that belongs to the stage's place. */
static const tn_expr *
of_row(rows *r, const tn_node *buffer, const tnk_stage *s)
{
    const tn_expr *idx[INFER_MAX_DIMS];
    for (uint32_t i = 0, j = 0; i < r->n; i++) {
        if (i != r->axis)
            idx[j++] = s->axes[i];
    }
    return tnk_te_read_at(r->e.te, buffer, idx, r->n - 1);
}

const tn_expr *
legalize_softmax(tn_builder *b, const tn_call *call)
{
    rows r = {.e = emit_begin(b, call)};
    tn_ctx *ctx = r.e.ctx;
    bool logarithm = infer_op(call)->id == OP_nn_log_softmax;
    const tn_node *x = emit_input(&r.e, call->args.at[0]);
    tnb_dtype d = emit_dtype(x), wide = emit_wide(d);
    int64_t axis = tn_call_int(call, "axis");
    r.n = emit_ndim(x);
    r.axis = (uint32_t)(axis < 0 ? axis + r.n : axis);
    if (r.n == 0 || r.n > INFER_MAX_DIMS)
        return NULL;
    for (uint32_t i = 0, j = 0; i < r.n; i++) {
        if (i != r.axis)
            r.dims[j++] = emit_dim(x, i);
    }
    const tn_expr *extent = emit_dim(x, r.axis);

    tnk_stage *s = row_stage(&r, logarithm ? "T_max" : "T_softmax_maxelem", d);
    const tn_expr *k = tnk_te_reduce_axis(s, "k", extent);
    const tn_node *max = tnk_te_reduce(s, TNK_MAX_FINITE, along(&r, x, s, k)), *exp = NULL;

    if (!logarithm) {
        s = tnk_te_stage_like(r.e.te, "T_softmax_exp", x, wide);
        const tn_expr *v = tnk_te_read_at(r.e.te, x, s->axes, s->n_axes);
        exp = tnk_te_define(s, tn_intrin1(ctx, TN_INTRIN_exp,
                                          tn_sub(ctx, tn_cast_to(ctx, wide, v),
                                                 tn_cast_to(ctx, wide, of_row(&r, max, s)))));
    }
    s = row_stage(&r, logarithm ? "compute" : "T_softmax_expsum", wide);
    k = tnk_te_reduce_axis(s, "k", extent);
    const tn_expr *term;
    if (logarithm) {
        const tn_expr *top = tnk_te_read_at(r.e.te, max, s->axes, s->n_axes);
        term = tn_intrin1(ctx, TN_INTRIN_exp,
                          tn_sub(ctx, tn_cast_to(ctx, wide, along(&r, x, s, k)),
                                 tn_cast_to(ctx, wide, top)));
    } else {
        term = along(&r, exp, s, k);
    }
    const tn_node *sum = tnk_te_sum(s, term), *out;
    s = emit_stage(&r.e, logarithm ? "compute" : "T_softmax_norm");
    if (logarithm) {
        const tn_expr *v = tn_cast_to(ctx, wide, tnk_te_read_at(r.e.te, x, s->axes, s->n_axes));
        v = tn_sub(ctx, tn_sub(ctx, v, tn_cast_to(ctx, wide, of_row(&r, max, s))),
                   tn_intrin1(ctx, TN_INTRIN_log, of_row(&r, sum, s)));
        out = tnk_te_define(s, tn_cast_to(ctx, d, v));
    } else {
        const tn_expr *v = tnk_te_read_at(r.e.te, exp, s->axes, s->n_axes);
        out = tnk_te_define(s, tn_cast_to(ctx, d, tn_div(ctx, v, of_row(&r, sum, s))));
    }
    return emit_end(&r.e, logarithm ? "log_softmax" : "softmax", out);
}
