/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, positions of extremes, running sums. */
#include <inttypes.h>
#include "dynamic.h"
#include "fold.h"

typedef enum before { PLAIN, ABS, SQUARE, EXP } before;
typedef enum after { NOTHING, ROOT, LOG } after;

/* What integers give that is no integer (means, roots, logarithms) is computed in float64 and cut off, as numpy does for ONNX's
 * reference. */
static const tn_expr *
as_float(onnx_node *n, const tn_expr *x)
{
    return tnb_dtype_is_float(onnx_in_dtype(n, 0)) ? x : onnx_astype(n, x, TNB_F64);
}

static const tn_expr *
as_input(onnx_node *n, const tn_expr *x)
{
    tnb_dtype d = onnx_in_dtype(n, 0);
    return tnb_dtype_is_float(d) ? x : onnx_astype(n, x, d);
}

static bool
reduce(onnx_node *n, const char *op, before first, after last)
{
    bool fraction = last != NOTHING || first == EXP || strcmp(op, "mean") == 0;
    const tn_expr *x = fraction ? as_float(n, onnx_in(n, 0)) : onnx_in(n, 0);
    int64_t axes[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    bool keep = onnx_attr_int(n, "keepdims", 1) != 0,
         noop = onnx_attr_int(n, "noop_with_empty_axes", 0) != 0;
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed || (count > 0 && !onnx_axes(n, rank, axes, count)))
        return false;
    if (first == SQUARE)
        x = onnx_bin(n, "multiply", x, x);
    else if (first != PLAIN)
        x = onnx_un(n, first == ABS ? "abs" : "exp", x);
    if (count <= 0 && !noop)
        for (count = 0; count < rank; count++)
            axes[count] = count;
    if (count > 0)
        x = onnx_reduce(n, op, x, axes, (uint32_t)count, keep);
    x = last == NOTHING ? x : onnx_un(n, last == ROOT ? "sqrt" : "log", x);
    return onnx_ret(n, fraction ? as_input(n, x) : x);
}

#define REDUCE(fn, op, first, last)        \
    static bool fn(onnx_node *n)           \
    {                                      \
        return reduce(n, op, first, last); \
    }
REDUCE(import_sum, "sum", PLAIN, NOTHING)
REDUCE(import_mean, "mean", PLAIN, NOTHING)
REDUCE(import_prod, "prod", PLAIN, NOTHING)
REDUCE(import_l1, "sum", ABS, NOTHING)
REDUCE(import_l2, "sum", SQUARE, ROOT)
REDUCE(import_sum_square, "sum", SQUARE, NOTHING)
REDUCE(import_log_sum, "sum", PLAIN, LOG)

static bool
extreme(onnx_node *n, const char *op)
{
    if (!tnb_dtype_is_bool(onnx_in_dtype(n, 0)))
        return reduce(n, op, PLAIN, NOTHING);
    return reduce(n, op[1] == 'a' ? "any" : "all", PLAIN, NOTHING);
}

static bool
import_max(onnx_node *n)
{
    return extreme(n, "max");
}

static bool
import_min(onnx_node *n)
{
    return extreme(n, "min");
}

/* log(sum(exp(x - m))) + m with m the maximum, so that nothing overflows; infinite maxima are taken
 * as 0. */
static bool
import_log_sum_exp(onnx_node *n)
{
    const tn_expr *x = as_float(n, onnx_in(n, 0));
    int64_t axes[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    bool keep = onnx_attr_int(n, "keepdims", 1) != 0,
         noop = onnx_attr_int(n, "noop_with_empty_axes", 0) != 0;
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed || (count > 0 && !onnx_axes(n, rank, axes, count)))
        return false;
    if (count <= 0 && noop)
        return onnx_ret(n, onnx_in(n, 0));
    if (count <= 0)
        for (count = 0; count < rank; count++)
            axes[count] = count;
    for (int i = 0; i < count; i++) /* an empty axis has no maximum: the plain form */
        if (onnx_dim(x, axes[i]) == 0)
            return reduce(n, "sum", EXP, LOG);
    const tn_expr *m = onnx_reduce(n, "max", x, axes, (uint32_t)count, true);
    if (tn_is_error(m))
        return false;
    m = onnx_where(n, onnx_un(n, "isfinite", m), m, onnx_scalar(n, onnx_dtype(m), 0));
    const tn_expr *s = onnx_reduce(n, "sum", onnx_un(n, "exp", onnx_bin(n, "subtract", x, m)), axes,
                                   (uint32_t)count, true);
    s = onnx_bin(n, "add", onnx_un(n, "log", s), m);
    return onnx_ret(n, as_input(n, keep ? s : onnx_squeeze(n, s, axes, (uint32_t)count)));
}

/* x with an axis that has entries, for certain or checked at run time: of none of them there is a position. Where the result
 * has no elements, none is asked for. */
static const tn_expr *
with_entries(onnx_node *n, const tn_expr *x, int64_t axis)
{
    tn_ctx *ctx = n->ctx;
    tn_list dims;
    int64_t v;
    if (!onnx_dims(n, x, &dims))
        return tn_error_node(ctx);
    const tn_expr *extent = dims.at[axis], *zero = tn_i64(ctx, 0);
    const tn_expr *ok = tn_ge(ctx, extent, tn_i64(ctx, 1));
    for (uint32_t i = 0; i < dims.n; i++)
        if (i != axis && (!tn_int_value(dims.at[i], &v) || v == 0))
            ok = tn_or(ctx, ok, tn_eq_of(ctx, dims.at[i], zero));
    ok = onnx_simplify(n, ok);
    if (tn_is_int_const(ok, 1))
        return x;
    const char *text = tn_strf(ctx, "axis %lld has no entries", (long long)axis);
    if (tn_is_int_const(ok, 0)) {
        onnx_fail(n, TNB_SHAPE, "%s", text);
        return tn_error_node(ctx);
    }
    onnx_demand d = {ok, NULL, 0, text};
    return onnx_bind(n, &extent, 1, &d) ? onnx_fix_extent(n, x, axis, extent, "the data")
                                        : tn_error_node(ctx);
}

/* Also the last of equal ones: positions counted from the end. */
static bool
arg_extreme(onnx_node *n, const char *op)
{
    const tn_expr *x = onnx_in(n, 0), *y;
    int64_t axis = onnx_attr_int(n, "axis", 0), rank = onnx_rank(n, x);
    bool keep = onnx_attr_int(n, "keepdims", 1) != 0,
         last = onnx_attr_int(n, "select_last_index", 0) != 0;
    if (rank < 0 || !onnx_axis(n, rank, &axis) || tn_is_error(x = with_entries(n, x, axis)))
        return false;
    if (last)
        x = onnx_emit(n, "flip", tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), NULL), x, NULL);
    y = onnx_emit(n, op,
                  tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), "keepdims", tn_bool(n->ctx, keep),
                           NULL),
                  x, NULL);
    if (last) {
        tn_list dims;
        if (!onnx_dims(n, x, &dims))
            return false;
        const tn_expr *end = tn_sub(n->ctx, dims.at[axis], tn_i64(n->ctx, 1));
        const tn_expr *top = onnx_elems_expr(n, &end, 1, TNB_I64, 0, NULL);
        y = onnx_bin(n, "subtract", top, y);
    }
    return onnx_ret(n, y);
}

static bool
import_argmax(onnx_node *n)
{
    return arg_extreme(n, "argmax");
}

static bool
import_argmin(onnx_node *n)
{
    return arg_extreme(n, "argmin");
}

static const tn_expr *
scan_along(onnx_node *n, const char *op, int64_t axis)
{
    const tn_expr *x = onnx_in(n, 0);
    bool exclusive = onnx_attr_int(n, "exclusive", 0) != 0,
         reverse = onnx_attr_int(n, "reverse", 0) != 0;
    const tn_node *flip = tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), NULL);
    x = reverse ? onnx_emit(n, "flip", flip, x, NULL) : x;
    x = onnx_emit(n, op,
                  tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), "exclusive",
                           tn_bool(n->ctx, exclusive), NULL),
                  x, NULL);
    return reverse ? onnx_emit(n, "flip", flip, x, NULL) : x;
}

static bool
scan(onnx_node *n, const char *op)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axis = 0, rank = onnx_rank(n, x);
    if (rank < 0)
        return false;
    if (rank > 0 && !onnx_known(n, 1))
        return onnx_ret(n, onnx_along_axis(n, 1, rank, rank, op, scan_along));
    return onnx_in_int(n, 1, "the axis", &axis) && onnx_axis(n, rank, &axis) &&
           onnx_ret(n, scan_along(n, op, axis));
}

static bool
import_cumsum(onnx_node *n)
{
    return scan(n, "cumsum");
}

static bool
import_cumprod(onnx_node *n)
{
    return scan(n, "cumprod");
}

#define ROW(name, fn)                             \
    {                                             \
        name, 1, 0, 1, 2, 1, 1, fn, NULL, 0, NULL \
    }

#define FOLDED(name, fn, arith)                                                  \
    {                                                                            \
        name, 1, 0, 1, 2, 1, 1, fn, onnx_fold_reduce, ONNX_OP_ARITH(arith), NULL \
    }

const onnx_op onnx_reduce_ops[] = {
    FOLDED("ReduceSum", import_sum, ONNX_ADD),
    ROW("ReduceMean", import_mean),
    FOLDED("ReduceProd", import_prod, ONNX_MUL),
    FOLDED("ReduceMax", import_max, ONNX_MAX),
    FOLDED("ReduceMin", import_min, ONNX_MIN),
    ROW("ReduceL1", import_l1),
    ROW("ReduceL2", import_l2),
    ROW("ReduceSumSquare", import_sum_square),
    ROW("ReduceLogSum", import_log_sum),
    ROW("ReduceLogSumExp", import_log_sum_exp),
    {"ArgMax", 1, 0, 1, 1, 1, 1, import_argmax, NULL, 0, NULL},
    {"ArgMin", 1, 0, 1, 1, 1, 1, import_argmin, NULL, 0, NULL},
    {"CumSum", 11, 0, 2, 2, 1, 1, import_cumsum, NULL, 0, NULL},
    {"CumProd", 26, 0, 2, 2, 1, 1, import_cumprod, NULL, 0, NULL},
    {0},
};
