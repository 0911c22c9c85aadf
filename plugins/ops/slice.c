/* SPDX-License-Identifier: Apache-2.0 */
/* Slices: strided_slice, dynamic_strided_slice, slice_scatter. */
#include "emit.h"

/* A start or end brought into the range that Python's slices have. dim: the axis' extent. */
static const tn_expr *
clamp_bound(tn_ctx *ctx, const tn_expr *v, const tn_expr *dim, bool forward, bool inbound)
{
    int64_t i, n;
    const tn_expr *lowest = tn_i64(ctx, forward ? 0 : -1);
    const tn_expr *highest = forward ? dim : dim_addi(ctx, dim, -1);
    v = tn_cast_to(ctx, TNB_I64, v);
    if (tn_int_value(v, &i) && tn_int_value(dim, &n)) {
        i = i < 0 ? (i < -n ? (forward ? 0 : -1) : i + n) : i;
        int64_t low = forward ? 0 : -1, high = forward ? n : n - 1;
        return tn_i64(ctx, i < low ? low : i > high ? high : i);
    }
    if (tn_int_value(v, &i)) {
        if (i >= INT32_MAX)
            return highest;
        if (i <= -INT32_MAX)
            return lowest;
        if (i < 0)
            v = dim_addi(ctx, dim, i);
    } else if (!inbound && !tn_prove(tn_arith_new(ctx), tn_ge_of(ctx, v, tn_i64(ctx, 0)))) {
        v = tn_select_of(ctx, tn_lt_of(ctx, v, tn_i64(ctx, 0)), tn_add(ctx, v, dim), v);
    }
    if (inbound)
        return dim_simplify(ctx, v);
    return dim_simplify(ctx, tn_min(ctx, tn_max(ctx, v, lowest), highest));
}

/* How many elements lie between begin and end. */
static const tn_expr *
slice_length(tn_ctx *ctx, const tn_expr *begin, const tn_expr *end, int64_t step)
{
    int64_t b, e, width = step > 0 ? step : -step;
    if (tn_int_value(begin, &b) && tn_int_value(end, &e)) {
        int64_t n = step > 0 ? e - b : b - e;
        return tn_i64(ctx, n <= 0 ? 0 : (n + width - 1) / width);
    }
    const tn_expr *span = step > 0 ? tn_sub(ctx, end, begin) : tn_sub(ctx, begin, end);
    const tn_expr *n = dim_simplify(ctx, tn_floordiv(ctx, tn_add(ctx, span, tn_i64(ctx, width - 1)),
                                                     tn_i64(ctx, width)));
    tn_arith *a = tn_arith_new(ctx);
    tn_list vars = tn_free_vars(ctx, n, false);
    for (uint32_t i = 0; i < vars.n; i++)
        tn_arith_shape_var(a, vars.at[i]);
    if (tn_prove(a, tn_ge_of(ctx, n, tn_i64(ctx, 0))))
        return n;
    return dim_simplify(ctx, tn_max(ctx, n, tn_i64(ctx, 0)));
}

typedef struct slices {
    int n;
    int64_t axis[INFER_MAX_DIMS], step[INFER_MAX_DIMS];
    const tn_expr *begin[INFER_MAX_DIMS], *end[INFER_MAX_DIMS];
} slices;

/* Scalars of a tuple argument, or of the tuple a variable is known to be; false after an error. */
static bool
scalars_of(tn_ctx *ctx, const tn_call *call, uint32_t i, const char *what, tn_list *out)
{
    const tn_tuple *t = tn_as_tuple(infer_arg(call, i));
    const tn_shape_expr *s = tn_as_shape_expr(infer_arg(call, i));
    if (!t && !s) {
        infer_fail(ctx, call, TNB_TYPE, "argument '%s' must be a tuple of integers", what);
        return false;
    }
    *out = t ? t->fields : s->values;
    for (uint32_t k = 0; k < out->n; k++) {
        if (!tn_is_scalar(out->at[k]) || tnb_dtype_is_float(tn_dtype_of(out->at[k]))) {
            infer_fail(ctx, call, TNB_TYPE, "field %u of argument '%s' must be an integer", k,
                       what);
            return false;
        }
    }
    return true;
}

static bool
read_slices(tn_ctx *ctx, const tn_call *call, int64_t ndim, slices *s)
{
    tn_list axes, begin, end, steps = {0};
    bool seen[INFER_MAX_DIMS] = {false};
    if (!scalars_of(ctx, call, 1, "axes", &axes) || !scalars_of(ctx, call, 2, "begin", &begin) ||
        !scalars_of(ctx, call, 3, "end", &end) ||
        (infer_arg(call, 4) && !scalars_of(ctx, call, 4, "strides", &steps)))
        return false;
    if (axes.n != begin.n || axes.n != end.n || (infer_arg(call, 4) && steps.n != axes.n) ||
        axes.n > INFER_MAX_DIMS) {
        infer_fail(ctx, call, TNB_INVALID,
                   "axes, begin, end and strides must have equally many entries, but have %u, %u, "
                   "%u and %u",
                   axes.n, begin.n, end.n, infer_arg(call, 4) ? steps.n : axes.n);
        return false;
    }
    s->n = (int)axes.n;
    for (int i = 0; i < s->n; i++) {
        int64_t axis;
        s->step[i] = 1;
        if (!tn_int_value(axes.at[i], &axis) ||
            (steps.n && !tn_int_value(steps.at[i], &s->step[i]))) {
            infer_fail(ctx, call, TNB_INVALID, "axes and strides must be literals");
            return false;
        }
        s->axis[i] = axis;
        if (ndim >= 0 && !infer_axis(ctx, call, "axis", axis, ndim, &s->axis[i]))
            return false;
        if (s->step[i] == 0 || s->step[i] == INT64_MIN) {
            infer_fail(ctx, call, TNB_INVALID, "a stride of %s",
                       s->step[i] ? "the least integer" : "0");
            return false;
        }
        if (ndim >= 0 && seen[s->axis[i]]) {
            infer_fail(ctx, call, TNB_INVALID, "axis %lld is named twice", (long long)axis);
            return false;
        }
        if (ndim >= 0)
            seen[s->axis[i]] = true;
        s->begin[i] = begin.at[i];
        s->end[i] = end.at[i];
    }
    return true;
}

const tn_type *
infer_strided_slice(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    slices s;
    if (!t || !read_slices(ctx, call, t->ndim, &s))
        return tn_error_node(ctx);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, t->ndim, t->dtype);
    bool inbound = tn_call_int(call, "assume_inbound") != 0;
    for (int i = 0; i < s.n; i++) {
        const tn_expr *dim = dims.at[s.axis[i]];
        bool forward = s.step[i] > 0;
        const tn_expr *begin = clamp_bound(ctx, s.begin[i], dim, forward, inbound);
        const tn_expr *end = clamp_bound(ctx, s.end[i], dim, forward, inbound);
        if (inbound) {
            dim_exceeds(ctx, tn_i64(ctx, forward ? 0 : -1), forward ? begin : end,
                        "a slice reaches below {} along axis %lld: {}", (long long)s.axis[i]);
            dim_exceeds(ctx, forward ? end : begin, forward ? dim : dim_addi(ctx, dim, -1),
                        "a slice reaches {} along axis %lld, beyond {}", (long long)s.axis[i]);
        }
        dims =
            tn_list_with(ctx, dims, (uint32_t)s.axis[i], slice_length(ctx, begin, end, s.step[i]));
    }
    return infer_known(ctx, call, dims, t->dtype);
}

const tn_expr *
legalize_strided_slice(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tn_list dims = emit_dims(call->args.at[0]);
    slices sl;
    if (!read_slices(ctx, call, dims.n, &sl) || dims.n > INFER_MAX_DIMS)
        return NULL;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    bool inbound = tn_call_int(call, "assume_inbound") != 0;
    const tn_expr *idx[INFER_MAX_DIMS];
    tnk_stage *s = emit_stage(&e, "T_strided_slice");
    memcpy(idx, s->axes, s->n_axes * sizeof *idx);
    for (int i = 0; i < sl.n; i++) {
        int64_t at = sl.axis[i];
        const tn_expr *begin = clamp_bound(ctx, sl.begin[i], dims.at[at], sl.step[i] > 0, inbound);
        int64_t known;
        bool trusted = inbound && !tn_int_value(begin, &known);
        begin = tnk_te_expr(e.te, begin);
        idx[at] = tn_add(ctx, begin, tn_muli(ctx, s->axes[at], sl.step[i]));
        if (trusted) /* what is promised of the bounds is looked at */
            idx[at] = tnk_te_index(ctx, idx[at], emit_dim(x, (uint32_t)at), false, "strided_slice",
                                   emit_axis(ctx, at));
    }
    return emit_end(&e, "strided_slice", tnk_te_define(s, tnk_te_read_at(e.te, x, idx, s->n_axes)));
}

const tn_type *
infer_dynamic_strided_slice(tn_ctx *ctx, const tn_call *call)
{
    static const char *const names[] = {"x", "begin", "end", "strides"};
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    for (uint32_t i = 1; t && i < 4; i++) {
        const tn_ty_tensor *v = infer_tensor(ctx, call, i);
        if (!v)
            return tn_error_node(ctx);
        if ((v->ndim >= 0 && v->ndim != 1) ||
            (!tnb_dtype_is_void(v->dtype) && !tnb_dtype_eq(v->dtype, TNB_I64)))
            return infer_fail(ctx, call, TNB_TYPE, "argument '%s' must be a vector of int64",
                              names[i]);
        if (t->ndim >= 0 && tn_type_dims(TN_NODE(v), &dims) &&
            dim_differ(ctx, dims.at[0], tn_i64(ctx, t->ndim),
                       "argument '%s' has {} entries, the data {} axes", names[i]))
            return infer_fail(ctx, call, TNB_SHAPE,
                              "argument '%s' has %s entries, the data %lld axes", names[i],
                              tn_text(ctx, dims.at[0]), (long long)t->ndim);
    }
    return t ? infer_rank(ctx, call, t->ndim, t->dtype) : tn_error_node(ctx);
}

/* begin and end of axis i of x as the program sees them, clamped; and the step. */
static void
dynamic_bounds(emit *e, const tn_node *const *v, const tn_expr *i, const tn_expr *dim,
               const tn_expr **begin, const tn_expr **end, const tn_expr **step)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *raw[3];
    for (int k = 0; k < 3; k++)
        raw[k] = tnk_te_read(e->te, v[k], i, NULL);
    const tn_expr *forward = tn_gt_of(ctx, raw[2], tn_i64(ctx, 0));
    const tn_expr *low = tn_select_of(ctx, forward, tn_i64(ctx, 0), tn_i64(ctx, -1)),
                  *high = tn_select_of(ctx, forward, dim, tn_subi(ctx, dim, 1));
    *begin = tn_min(ctx, tn_max(ctx, emit_index(ctx, raw[0], dim), low), high);
    *end = tn_min(ctx, tn_max(ctx, emit_index(ctx, raw[1], dim), low), high);
    *step = raw[2];
}

const tn_expr *
legalize_dynamic_strided_slice(tn_builder *b, const tn_call *call)
{
    /* first the result's shape, as a tensor */
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    tn_list dims = emit_dims(call->args.at[0]);
    if (dims.n == 0 || dims.n > INFER_MAX_DIMS)
        return NULL;
    const tn_node *v[3];
    const tn_expr *count = tn_i64(ctx, dims.n), *begin, *end, *step;
    for (uint32_t i = 0; i < 3; i++)
        v[i] = emit_input(&e, call->args.at[i + 1]);
    tnk_stage *s = tnk_te_stage(e.te, "T_shape_func_strided_slice_dynamic", &count, 1, TNB_I64);
    const tn_expr *dim = tnk_te_expr(e.te, dims.at[dims.n - 1]);
    for (uint32_t i = dims.n - 1; i-- > 0;)
        dim = tn_select_of(ctx, tn_eq_of(ctx, s->axes[0], tn_i64(ctx, i)),
                           tnk_te_expr(e.te, dims.at[i]), dim);
    dynamic_bounds(&e, v, s->axes[0], dim, &begin, &end, &step);
    const tn_expr *width = tn_select_of(ctx, tn_gt_of(ctx, step, tn_i64(ctx, 0)), step,
                                        tn_sub(ctx, tn_i64(ctx, 0), step));
    const tn_expr *span = tn_select_of(ctx, tn_gt_of(ctx, step, tn_i64(ctx, 0)),
                                       tn_sub(ctx, end, begin), tn_sub(ctx, begin, end));
    const tn_expr *steps = emit_floordiv(ctx, tn_subi(ctx, tn_add(ctx, span, width), 1),
                                         tn_max(ctx, width, tn_i64(ctx, 1)));
    const tn_expr *n = tn_max(ctx, steps, tn_i64(ctx, 0));
    const tn_expr *names[INFER_MAX_DIMS];
    if (!emit_read_extents(b, emit_end(&e, "shape_func", tnk_te_define(s, n)), names, dims.n))
        return tn_error_node(ctx);
    tn_list out_dims = tn_list_of(ctx, names, dims.n);

    e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, call->args.at[0]);
    for (uint32_t i = 0; i < 3; i++)
        v[i] = emit_input(&e, call->args.at[i + 1]);
    s = tnk_te_stage(e.te, "T_strided_slice_dynamic", out_dims.at, dims.n, emit_dtype(x));
    const tn_expr *idx[INFER_MAX_DIMS];
    for (uint32_t i = 0; i < dims.n; i++) {
        dynamic_bounds(&e, v, tn_i64(ctx, i), emit_dim(x, i), &begin, &end, &step);
        idx[i] =
            tnk_te_index(ctx, tn_add(ctx, begin, tn_mul(ctx, s->axes[i], step)), emit_dim(x, i),
                         false, "dynamic_strided_slice", emit_axis(ctx, i)); /* a step may be 0 */
    }
    return emit_end(&e, "dynamic_strided_slice",
                    tnk_te_define(s, tnk_te_read_at(e.te, x, idx, dims.n)));
}

/* The source has an element for each place of the slice. */
static bool
check_source(tn_ctx *ctx, const tn_call *call, tn_list dims, tn_list source, uint32_t axis)
{
    const tn_expr *step = tn_cast_to(ctx, TNB_I64, infer_arg(call, 4)), *bound[2];
    for (uint32_t i = 0; i < 2; i++)
        bound[i] = clamp_bound(ctx, infer_arg(call, 2 + i), dims.at[axis], true, false);
    dim_exceeds(ctx, tn_i64(ctx, 1), step, "the step must be at least {}, but is {}");
    const tn_expr *span = tn_sub(ctx, bound[1], bound[0]);
    const tn_expr *last = tn_sub(ctx, tn_add(ctx, span, step), tn_i64(ctx, 1));
    const tn_expr *count = tn_max(ctx, tn_floordiv(ctx, last, step), tn_i64(ctx, 0));
    for (uint32_t i = 0; i < dims.n; i++) {
        const tn_expr *want = i == axis ? dim_simplify(ctx, count) : dims.at[i];
        if (dim_exceeds(ctx, want, source.at[i],
                        "{} places along axis %u, but the source has {} elements", i)) {
            infer_fail(ctx, call, TNB_SHAPE,
                       "%s places along axis %u, but the source has %s elements",
                       tn_text(ctx, want), i, tn_text(ctx, source.at[i]));
            return false;
        }
    }
    return true;
}

const tn_type *
infer_slice_scatter(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0), *u = infer_tensor(ctx, call, 1);
    tnb_dtype d;
    int64_t axis;
    if (!t || !u || !infer_same_dtype(ctx, call, t->dtype, u->dtype, &d))
        return tn_error_node(ctx);
    for (uint32_t i = 2; i < 5; i++) {
        if (!infer_scalar(ctx, call, i))
            return tn_error_node(ctx);
    }
    if (tn_is_int_const(infer_arg(call, 4), 0) || (tn_is(infer_arg(call, 4), TN_KIND_INT_IMM) &&
                                                   tn_as_int_imm(infer_arg(call, 4))->value < 0))
        return infer_fail(ctx, call, TNB_INVALID, "the step must be at least 1");
    if (infer_ranks_differ(t, u))
        return infer_fail(ctx, call, TNB_SHAPE, "the data has %lld axes, the source %lld",
                          (long long)t->ndim, (long long)u->ndim);
    if (t->ndim >= 0 && !infer_axis(ctx, call, "axis", tn_call_int(call, "axis"), t->ndim, &axis))
        return tn_error_node(ctx);
    tn_list dims, source;
    if (tn_type_dims(TN_NODE(t), &dims) && tn_type_dims(TN_NODE(u), &source) &&
        !check_source(ctx, call, dims, source, (uint32_t)axis))
        return tn_error_node(ctx);
    return infer_same(ctx, call, t, d);
}

const tn_expr *
legalize_slice_scatter(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]), *src = emit_input(&e, call->args.at[1]);
    int64_t axis = tn_call_int(call, "axis");
    if (axis < 0)
        axis += emit_ndim(x);
    const tn_expr *dim = emit_dim(x, (uint32_t)axis), *bound[2],
                  *step = emit_scalar(&e, call->args.at[4], TNB_I64);
    for (int i = 0; i < 2; i++) {
        const tn_expr *v = emit_index(ctx, emit_scalar(&e, call->args.at[2 + i], TNB_I64), dim);
        bound[i] = tn_min(ctx, tn_max(ctx, v, tn_i64(ctx, 0)), dim);
    }
    tnk_stage *s = emit_stage(&e, "slice_scatter");
    const tn_expr *idx[INFER_MAX_DIMS], *at = s->axes[axis], *off = tn_sub(ctx, at, bound[0]);
    if (s->n_axes > INFER_MAX_DIMS)
        return NULL;
    memcpy(idx, s->axes, s->n_axes * sizeof *idx);
    idx[axis] = emit_floordiv(ctx, off, step);
    const tn_expr *hit =
        tn_and_of(ctx, tn_and_of(ctx, tn_ge_of(ctx, at, bound[0]), tn_lt_of(ctx, at, bound[1])),
                  tn_eq_of(ctx, emit_floormod(ctx, off, step), tn_i64(ctx, 0)));
    const tn_expr *v = tn_if_then_else(ctx, hit, tnk_te_read_at(e.te, src, idx, s->n_axes),
                                       tnk_te_read_at(e.te, x, s->axes, s->n_axes));
    return emit_end(&e, "slice_scatter", tnk_te_define(s, v));
}
