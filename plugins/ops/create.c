/* SPDX-License-Identifier: Apache-2.0 */
/* Creation: full, ones, zeros and their likes, eye, arange, windows, triangles. */
#include "emit.h"

#include <math.h>

static tnb_dtype
wanted_dtype(const tn_call *call, tnb_dtype otherwise)
{
    tnb_dtype d = tn_call_dtype(call, "dtype");
    return tnb_dtype_is_void(d) ? otherwise : d;
}

static bool
is_full(const tn_call *call)
{
    op_id id = infer_op(call)->id;
    return id == OP_full || id == OP_full_like;
}

/* The fill value's type; false after an error. Its dtype is void for ones and zeros. */
static bool
fill_dtype(tn_ctx *ctx, const tn_call *call, tnb_dtype *d)
{
    *d = TNB_VOID;
    if (!is_full(call))
        return true;
    const tn_ty_tensor *v = infer_tensor(ctx, call, 1);
    if (!v)
        return false;
    if (v->ndim > 0) {
        infer_fail(ctx, call, TNB_SHAPE, "the fill value must have no axes, but has %lld",
                   (long long)v->ndim);
        return false;
    }
    *d = v->dtype;
    return true;
}

const tn_type *
infer_full(tn_ctx *ctx, const tn_call *call)
{
    tn_list dims;
    int64_t ndim;
    tnb_dtype d;
    int known = infer_shape_arg(ctx, call, 0, &dims, &ndim);
    if (known < 0 || !fill_dtype(ctx, call, &d))
        return tn_error_node(ctx);
    d = wanted_dtype(call, d);
    if (!is_full(call) && tnb_dtype_is_void(d))
        return infer_fail(ctx, call, TNB_INVALID, "attribute 'dtype' must not be void");
    const tn_expr *arg = infer_arg(call, 0);
    if (!known)
        return tn_is_var(arg) ? tn_ty_tensor_of(ctx, arg, d, ndim, NULL)
                              : infer_rank(ctx, call, ndim, d);
    for (uint32_t i = 0; i < dims.n; i++) {
        int64_t v;
        if (tn_int_value(dims.at[i], &v) && v < 0)
            return infer_fail(ctx, call, TNB_SHAPE, "extent %u is %lld", i, (long long)v);
    }
    return infer_known(ctx, call, dims, d);
}

const tn_type *
infer_like(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tnb_dtype d;
    if (!t || !fill_dtype(ctx, call, &d))
        return tn_error_node(ctx);
    if (infer_op(call)->id == OP_eye_like && t->ndim >= 0 && t->ndim != 2)
        return infer_fail(ctx, call, TNB_SHAPE, "the tensor must be a matrix, but has %lld axes",
                          (long long)t->ndim);
    return infer_same(ctx, call, t, wanted_dtype(call, t->dtype));
}

const tn_expr *
legalize_full(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tnb_dtype d = tn_type_dtype(call->base.type);
    op_id id = infer_op(call)->id;
    bool ones = id == OP_ones || id == OP_ones_like;
    const tn_expr *value;
    const tn_node *fill = NULL;
    if (is_full(call)) {
        value = emit_constant(ctx, call->args.at[1], d);
        if (!value)
            fill = emit_input(&e, call->args.at[1]);
    } else {
        value = tn_literal(ctx, d, ones ? 1 : 0);
    }
    tnk_stage *s = emit_stage(&e, "T_full");
    if (fill)
        value = tn_cast_to(ctx, d, tnk_te_read_at(e.te, fill, NULL, 0));
    const char *hint = is_full(call) ? "full" : ones ? "ones" : "zeros";
    return emit_end(&e, hint, tnk_te_define(s, value));
}

const tn_type *
infer_eye(tn_ctx *ctx, const tn_call *call)
{
    const tn_expr *n = infer_scalar(ctx, call, 0), *m = infer_scalar(ctx, call, 1);
    if (!n || !m || !infer_scalar(ctx, call, 2))
        return tn_error_node(ctx);
    if (!tnb_dtype_is_int(tn_dtype_of(n)) || !tnb_dtype_is_int(tn_dtype_of(m)))
        return infer_fail(ctx, call, TNB_TYPE, "rows and columns must be integers");
    tn_list dims = tn_listv(ctx, tn_cast_to(ctx, TNB_I64, n), tn_cast_to(ctx, TNB_I64, m), NULL);
    return infer_known(ctx, call, dims, tn_call_dtype(call, "dtype"));
}

const tn_expr *
legalize_eye(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tnb_dtype d = tn_type_dtype(call->base.type);
    const tn_expr *k = emit_scalar(&e, call->args.at[call->args.n - 1], TNB_I64);
    tnk_stage *s = emit_stage(&e, "T_eye");
    const tn_expr *hit = tn_eq_of(ctx, tn_sub(ctx, s->axes[1], s->axes[0]), k);
    return emit_end(&e, "eye",
                    tnk_te_define(s, tn_select_of(ctx, hit, tn_literal(ctx, d, 1),
                                                  tn_literal(ctx, d, 0))));
}

static double
number(const tn_expr *e)
{
    int64_t i;
    return tn_int_value(e, &i) ? (double)i : tn_as_float_imm(e) ? tn_as_float_imm(e)->value : NAN;
}

/* How many numbers a range has: 0 where the step leads away from the end. */
static const tn_expr *
range_count(tn_ctx *ctx, const tn_expr *start, const tn_expr *end, const tn_expr *step)
{
    const tn_expr *zero = tn_i64(ctx, 0), *n = tn_sub(ctx, end, start);
    int64_t by, lo, hi;
    if (tn_int_value(step, &by) && by < 0 && by > INT64_MIN) {
        n = tn_sub(ctx, start, end);
        step = tn_i64(ctx, -by);
    }
    if (tn_int_value(step, &by))
        n = by == 1 ? n : tn_ceildiv(ctx, n, step);
    else /* rounded up for steps of either sign */
        n = tn_sub(ctx, zero, tn_floordiv(ctx, dim_simplify(ctx, tn_sub(ctx, zero, n)), step));
    n = dim_simplify(ctx, n);
    tn_arith *a = tn_arith_new(ctx);
    tn_list vars = tn_free_vars(ctx, n, false);
    for (uint32_t i = 0; i < vars.n; i++)
        tn_arith_shape_var(a, vars.at[i]);
    tn_bounds(a, n, &lo, &hi);
    return lo >= 0 ? n : dim_simplify(ctx, tn_max(ctx, n, zero));
}

const tn_type *
infer_arange(tn_ctx *ctx, const tn_call *call)
{
    const tn_expr *v[3];
    bool literal = true, ints = true;
    for (uint32_t i = 0; i < 3; i++) {
        v[i] = infer_scalar(ctx, call, i);
        if (!v[i])
            return tn_error_node(ctx);
        literal &= !isnan(number(v[i]));
        ints &= tnb_dtype_is_int(tn_dtype_of(v[i]));
    }
    tnb_dtype d = tn_call_dtype(call, "dtype");
    if (number(v[2]) == 0)
        return infer_fail(ctx, call, TNB_INVALID, "the step is 0");
    if (literal) {
        double n = ceil((number(v[1]) - number(v[0])) / number(v[2]));
        if (n > (double)(INT64_C(1) << 40))
            return infer_fail(ctx, call, TNB_UNSUPPORTED, "a range of %.0f numbers", n);
        return infer_known(ctx, call, tn_listv(ctx, tn_i64(ctx, n > 0 ? (int64_t)n : 0), NULL), d);
    }
    if (!ints)
        return infer_rank(ctx, call, 1, d);
    for (int i = 0; i < 3; i++)
        v[i] = tn_cast_to(ctx, TNB_I64, v[i]);
    return infer_known(ctx, call, tn_listv(ctx, range_count(ctx, v[0], v[1], v[2]), NULL), d);
}

const tn_expr *
legalize_arange(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tnb_dtype d = tn_type_dtype(call->base.type), wide = emit_wide(d);
    const tn_expr *start = emit_scalar(&e, call->args.at[0], wide),
                  *step = emit_scalar(&e, call->args.at[2], wide);
    tnk_stage *s = emit_stage(&e, "T_arange");
    const tn_expr *v = tn_add(ctx, start, tn_mul(ctx, tn_cast_to(ctx, wide, s->axes[0]), step));
    return emit_end(&e, "arange", tnk_te_define(s, tn_cast_to(ctx, d, v)));
}

const tn_type *
infer_hamming_window(tn_ctx *ctx, const tn_call *call)
{
    const tn_expr *n = infer_scalar(ctx, call, 0);
    for (uint32_t i = 1; n && i < 4; i++)
        n = infer_scalar(ctx, call, i) ? n : NULL;
    if (!n)
        return tn_error_node(ctx);
    if (!tnb_dtype_is_int(tn_dtype_of(n)))
        return infer_fail(ctx, call, TNB_TYPE, "the window size must be an integer");
    if (!tnb_dtype_is_float(tn_call_dtype(call, "dtype")))
        return infer_fail(ctx, call, TNB_TYPE, "attribute 'dtype' must be a float type");
    return infer_known(ctx, call, tn_listv(ctx, tn_cast_to(ctx, TNB_I64, n), NULL),
                       tn_call_dtype(call, "dtype"));
}

const tn_expr *
legalize_hamming_window(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tnb_dtype d = tn_type_dtype(call->base.type), wide = emit_wide(d);
    int64_t periodic;
    if (!tn_int_value(call->args.at[1], &periodic))
        return NULL;
    const tn_expr *n = tn_cast_to(ctx, wide, emit_scalar(&e, call->args.at[0], TNB_I64));
    const tn_expr *alpha = emit_scalar(&e, call->args.at[2], wide),
                  *beta = emit_scalar(&e, call->args.at[3], wide);
    tnk_stage *s = emit_stage(&e, "T_hamming_window");
    const tn_expr *span = tn_max(ctx, periodic ? n : tn_sub(ctx, n, tn_literal(ctx, wide, 1)),
                                 tn_literal(ctx, wide, 1));
    const tn_expr *turn = tn_div(ctx,
                                 tn_mul(ctx, tn_cast_to(ctx, wide, s->axes[0]),
                                        tn_literal(ctx, wide, 6.283185307179586)),
                                 span);
    const tn_expr *swing = tn_mul(ctx, beta, tn_intrin1(ctx, TN_INTRIN_cos, turn));
    const tn_expr *v = tn_cast_to(ctx, d, tn_sub(ctx, alpha, swing));
    return emit_end(&e, "hamming_window", tnk_te_define(s, v));
}

const tn_type *
infer_triangle(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    if (!t || !infer_scalar(ctx, call, 1))
        return tn_error_node(ctx);
    if (t->ndim >= 0 && t->ndim < 2)
        return infer_fail(ctx, call, TNB_SHAPE,
                          "the tensor must have at least two axes, but has %lld",
                          (long long)t->ndim);
    return infer_same(ctx, call, t, t->dtype);
}

const tn_expr *
legalize_triangle(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    bool upper = infer_op(call)->id == OP_triu;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    const tn_expr *k = emit_scalar(&e, call->args.at[1], TNB_I64);
    tnk_stage *s = emit_stage(&e, "trilu");
    const tn_expr *row = s->axes[s->n_axes - 2], *column = s->axes[s->n_axes - 1];
    const tn_expr *kept = upper ? tn_ge_of(ctx, tn_sub(ctx, column, row), k)
                                : tn_le_of(ctx, tn_sub(ctx, column, row), k);
    const tn_expr *v = tn_select_of(ctx, kept, tnk_te_read_at(e.te, x, s->axes, s->n_axes),
                                    tn_literal(ctx, emit_dtype(x), 0));
    return emit_end(&e, upper ? "triu" : "tril", tnk_te_define(s, v));
}
