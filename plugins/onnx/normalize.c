/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations. */
#include <inttypes.h>
#include "import.h"

static const tn_node *
number(onnx_node *n, double v)
{
    return tn_float_imm_of(n->ctx, TNB_F64, v);
}

/* Up to opset 12 the axes from `axis` on are normalised together. */
static bool
softmax(onnx_node *n, const char *op)
{
    const tn_expr *x = onnx_in(n, 0), *two[2];
    int64_t axis = onnx_attr_int(n, "axis", n->version < 13 ? 1 : -1), rank = onnx_rank(n, x);
    tn_list dims;
    if (rank < 0 || (rank > 0 && axis == rank && n->version < 13))
        return rank < 0
                   ? false
                   : onnx_fail(n, TNB_BOUNDS,
                               "attribute 'axis' is %" PRId64 ", but the input has rank %" PRId64,
                               axis, rank);
    if (!onnx_axis(n, rank, &axis) || !onnx_dims(n, x, &dims))
        return false;
    const tn_node *at =
        tn_dictv(n->ctx, "axis", tn_i64(n->ctx, n->version < 13 && axis != rank - 1 ? 1 : axis),
                 NULL);
    if (n->version >= 13 || axis == rank - 1)
        return onnx_ret(n, onnx_emit(n, op, at, x, NULL));
    two[0] = tn_product(n->ctx, (tn_list){dims.at, (uint32_t)axis});
    two[1] = tn_product(n->ctx, (tn_list){dims.at + axis, dims.n - (uint32_t)axis});
    return onnx_ret(n, onnx_reshape(n, onnx_emit(n, op, at, onnx_reshape(n, x, two, 2), NULL),
                                    dims.at, dims.n));
}

static bool
import_softmax(onnx_node *n)
{
    return softmax(n, "nn.softmax");
}

static bool
import_log_softmax(onnx_node *n)
{
    return softmax(n, "nn.log_softmax");
}

/* One at the first maximum of each line. */
static bool
import_hardmax(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *two[2];
    int64_t axis = onnx_attr_int(n, "axis", n->version < 13 ? 1 : -1), rank = onnx_rank(n, x);
    tn_list dims;
    if (rank < 0 || !onnx_axis(n, rank, &axis) || !onnx_dims(n, x, &dims))
        return false;
    const tn_expr *y = x;
    int64_t along = axis, r = rank;
    if (n->version < 13) {
        two[0] = tn_product(n->ctx, (tn_list){dims.at, (uint32_t)axis});
        two[1] = tn_product(n->ctx, (tn_list){dims.at + axis, dims.n - (uint32_t)axis});
        y = onnx_reshape(n, x, two, 2);
        along = 1;
        r = 2;
    }
    tn_list d;
    if (!onnx_dims(n, y, &d))
        return false;
    const tn_expr *first = onnx_emit(n, "argmax",
                                     tn_dictv(n->ctx, "axis", tn_i64(n->ctx, along), "keepdims",
                                              tn_bool(n->ctx, true), NULL),
                                     y, NULL);
    const tn_expr *at = onnx_arange(n, tn_i64(n->ctx, 0), d.at[along], tn_i64(n->ctx, 1), TNB_I64);
    const tn_expr *grid[ONNX_MAX_DIMS];
    for (int64_t i = 0; i < r; i++)
        grid[i] = i == along ? d.at[along] : tn_i64(n->ctx, 1);
    y = onnx_astype(n, onnx_bin(n, "equal", first, onnx_reshape(n, at, grid, (uint32_t)r)),
                    onnx_dtype(x));
    return onnx_ret(n, onnx_reshape(n, y, dims.at, dims.n));
}

static bool
import_batch_norm(onnx_node *n)
{
    static const int64_t second[1] = {1};
    const tn_expr *x = onnx_in(n, 0), *p[4];
    double eps = onnx_attr_float(n, "epsilon", (double)1e-5f);
    onnx_attr(n, "momentum");
    onnx_attr(n, "spatial");
    onnx_attr(n, "is_test");
    onnx_attr(n, "consumed_inputs");
    if (onnx_attr_int(n, "training_mode", 0) || (n->version >= 14 && n->n_out > 1)) {
        onnx_fail(n, TNB_UNSUPPORTED,
                  "attribute 'training_mode' is 1: Tenon compiles for inference");
        onnx_hint(n, "export the model in evaluation mode");
        return false;
    }
    if (!onnx_attr_int(n, "spatial", 1))
        return onnx_fail(n, TNB_UNSUPPORTED, "attribute 'spatial' is 0, which is not supported");
    bool flat = onnx_rank(n, x) == 1; /* entries of one channel */
    x = flat ? onnx_unsqueeze(n, x, second, 1) : x;
    for (uint32_t i = 0; i < 4; i++) {
        p[i] = onnx_in(n, i + 1);
        int64_t c = onnx_dim(x, 1), have = onnx_dim(p[i], 0);
        if (!n->failed && c >= 0 && have >= 0 && c != have)
            return onnx_fail(n, TNB_SHAPE,
                             "input %u has %" PRId64 " entries, but the data have %" PRId64
                             " channels",
                             i + 1, have, c);
        if (!n->failed && !tnb_dtype_eq(onnx_dtype(p[i]), onnx_dtype(x)))
            p[i] = onnx_astype(n, p[i], onnx_dtype(x));
    }
    const tn_expr *t = onnx_emit(n, "nn.batch_norm",
                                 tn_dictv(n->ctx, "axis", tn_i64(n->ctx, 1), "epsilon",
                                          number(n, eps), "training", tn_bool(n->ctx, false), NULL),
                                 x, p[0], p[1], p[2], p[3], NULL);
    if (tn_is_error(t))
        return false;
    const tn_expr *y = onnx_tuple_get(n, t, 0);
    return onnx_ret_at(n, 0, flat ? onnx_squeeze(n, y, second, 1) : y);
}

/* axes [from, rank) */
static const tn_node *
axes_from(onnx_node *n, int64_t from, int64_t rank)
{
    int64_t axes[ONNX_MAX_DIMS];
    for (int64_t i = from; i < rank; i++)
        axes[i - from] = i;
    return tn_int_array(n->ctx, axes, (uint32_t)(rank - from));
}

static bool
import_instance_norm(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t rank = onnx_rank(n, x);
    if (rank < 3)
        return rank < 0 ? false
                        : onnx_fail(n, TNB_SHAPE,
                                    "the input has rank %" PRId64 ", expected 3 or more", rank);
    return onnx_ret(n, onnx_emit(n, "nn.instance_norm",
                                 tn_dictv(n->ctx, "channel_axis", tn_i64(n->ctx, 1), "axes",
                                          axes_from(n, 2, rank), "epsilon",
                                          number(n, onnx_attr_float(n, "epsilon", (double)1e-5f)),
                                          NULL),
                                 x, onnx_in(n, 1), onnx_in(n, 2), NULL));
}

/* Statistics by composition: the mean and 1 / deviation are outputs too, and scales may be of any
 * shape. */
/* Whether the parameter has the extents of x from `axis` on, or fails to when the model runs: it cannot be broadcast. */
static bool
is_full_scale(onnx_node *n, const tn_expr *scale, const tn_expr *x, int64_t axis)
{
    tn_list want, have;
    if (!onnx_dims(n, x, &want) || !onnx_dims(n, scale, &have) || have.n != want.n - axis)
        return false;
    for (uint32_t i = 0; i < have.n; i++) {
        const tn_expr *d = have.at[i];
        if (!tn_prove_equal(n->ctx, d, want.at[axis + i]) &&
            (tn_is_int_const(d, 1) || !tn_is(d, TN_KIND_INT_IMM)))
            return false;
    }
    return true;
}

/* The dtype of the statistics that a normalization hands out. */
static bool
stash_dtype(onnx_node *n, tnb_dtype *out)
{
    int64_t type = onnx_attr_int(n, "stash_type", 1);
    *out = tnb_onnx_dtype(type);
    return tnb_dtype_is_float(*out)
               ? true
               : onnx_fail(n, TNB_INVALID,
                           "attribute 'stash_type' is %" PRId64 ", expected a type of floats",
                           type);
}

static bool
import_layer_norm(onnx_node *n)
{
    tnb_dtype stash;
    const tn_expr *x = onnx_in(n, 0), *scale = onnx_in(n, 1);
    int64_t axis = onnx_attr_int(n, "axis", -1), rank = onnx_rank(n, x), axes[ONNX_MAX_DIMS];
    double eps = onnx_attr_float(n, "epsilon", (double)1e-5f);
    if (rank < 0 || !onnx_axis(n, rank, &axis) || !stash_dtype(n, &stash))
        return false;
    for (int64_t i = axis; i < rank; i++)
        axes[i - axis] = i;
    uint32_t count = (uint32_t)(rank - axis);
    tnb_dtype d = onnx_dtype(x);
    if (n->n_out == 1 && onnx_has(n, 2) && is_full_scale(n, scale, x, axis) &&
        is_full_scale(n, onnx_in(n, 2), x, axis))
        return onnx_ret(n, onnx_emit(n, "nn.layer_norm",
                                     tn_dictv(n->ctx, "axes", axes_from(n, axis, rank), "epsilon",
                                              number(n, eps), NULL),
                                     x, scale, onnx_in(n, 2), NULL));
    const tn_expr *f = onnx_astype(n, x, d.bits < 32 ? TNB_F32 : d);
    const tn_expr *mean = onnx_reduce(n, "mean", f, axes, count, true);
    const tn_expr *diff = onnx_bin(n, "subtract", f, mean);
    const tn_expr *var =
        onnx_reduce(n, "mean", onnx_bin(n, "multiply", diff, diff), axes, count, true);
    const tn_expr *inv = onnx_un(n, "rsqrt", onnx_bin_num(n, "add", var, eps));
    const tn_expr *y =
        onnx_bin(n, "multiply", onnx_astype(n, onnx_bin(n, "multiply", diff, inv), d),
                 onnx_one_way(n, scale, x));
    if (onnx_has(n, 2))
        y = onnx_bin(n, "add", y, onnx_one_way(n, onnx_in(n, 2), x));
    return onnx_ret_at(n, 0, y) &&
           (n->n_out < 2 || onnx_ret_at(n, 1, onnx_astype(n, mean, stash))) &&
           (n->n_out < 3 || onnx_ret_at(n, 2, onnx_astype(n, inv, stash)));
}

static bool
import_rms_norm(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *scale = onnx_in(n, 1);
    int64_t axis = onnx_attr_int(n, "axis", -1), rank = onnx_rank(n, x), axes[ONNX_MAX_DIMS];
    double eps = onnx_attr_float(n, "epsilon", (double)1e-5f);
    onnx_attr(n, "stash_type");
    if (rank < 0 || !onnx_axis(n, rank, &axis))
        return false;
    for (int64_t i = axis; i < rank; i++)
        axes[i - axis] = i;
    if (is_full_scale(n, scale, x, axis))
        return onnx_ret(n, onnx_emit(n, "nn.rms_norm",
                                     tn_dictv(n->ctx, "axes", axes_from(n, axis, rank), "epsilon",
                                              number(n, eps), NULL),
                                     x, scale, NULL));
    tnb_dtype d = onnx_dtype(x);
    x = onnx_astype(n, x, d.bits < 32 ? TNB_F32 : d);
    const tn_expr *ms =
        onnx_reduce(n, "mean", onnx_bin(n, "multiply", x, x), axes, (uint32_t)(rank - axis), true);
    x = onnx_bin(n, "multiply", x, onnx_un(n, "rsqrt", onnx_bin_num(n, "add", ms, eps)));
    x = onnx_astype(n, x, d);
    return onnx_ret(n, onnx_bin(n, "multiply", x, onnx_one_way(n, scale, x)));
}

/* Up to opset 20 scale and bias are one a group, later one a channel. */
static bool
import_group_norm(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *scale = onnx_in(n, 1), *bias = onnx_in(n, 2);
    int64_t groups = onnx_attr_int(n, "num_groups", 0), rank = onnx_rank(n, x), c = onnx_dim(x, 1);
    double eps = onnx_attr_float(n, "epsilon", (double)1e-5f);
    onnx_attr(n, "stash_type");
    if (rank < 3)
        return rank < 0 ? false
                        : onnx_fail(n, TNB_SHAPE,
                                    "the input has rank %" PRId64 ", expected 3 or more", rank);
    if (groups < 1 || (c >= 0 && c % groups))
        return onnx_fail(n, TNB_SHAPE,
                         "attribute 'num_groups' is %" PRId64 ", but the input has %" PRId64
                         " channels",
                         groups, c);
    if (n->version < 21 && c < 0)
        return onnx_unknown(n, "before opset 21 the number of channels has");
    if (n->version < 21 && groups != c) {
        const tn_node *repeat = tn_dictv(n->ctx, "repeats", tn_i64(n->ctx, c / groups), "axis",
                                         tn_i64(n->ctx, 0), NULL);
        scale = onnx_emit(n, "repeat", repeat, scale, NULL);
        bias = onnx_emit(n, "repeat", repeat, bias, NULL);
    }
    return onnx_ret(n, onnx_emit(n, "nn.group_norm",
                                 tn_dictv(n->ctx, "num_groups", tn_i64(n->ctx, groups),
                                          "channel_axis", tn_i64(n->ctx, 1), "axes",
                                          axes_from(n, 2, rank), "epsilon", number(n, eps), NULL),
                                 x, scale, bias, NULL));
}

static bool
import_lrn(onnx_node *n)
{
    double alpha = onnx_attr_float(n, "alpha", (double)1e-4f),
           beta = onnx_attr_float(n, "beta", 0.75), bias = onnx_attr_float(n, "bias", 1);
    int64_t size = onnx_attr_int(n, "size", 0);
    if (size < 1)
        return onnx_fail(n, TNB_INVALID, "attribute 'size' is %" PRId64 ", expected 1 or more",
                         size);
    return onnx_ret(n, onnx_emit(n, "nn.lrn",
                                 tn_dictv(n->ctx, "size", tn_i64(n->ctx, size), "axis",
                                          tn_i64(n->ctx, 1), "bias", number(n, bias), "alpha",
                                          number(n, alpha), "beta", number(n, beta), NULL),
                                 onnx_in(n, 0), NULL));
}

static bool
import_lp_norm(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *norm;
    int64_t axis = onnx_attr_int(n, "axis", -1), p = onnx_attr_int(n, "p", 2),
            rank = onnx_rank(n, x);
    if (rank < 0 || !onnx_axis(n, rank, &axis))
        return false;
    if (p != 1 && p != 2)
        return onnx_fail(n, TNB_INVALID, "attribute 'p' is %" PRId64 ", expected 1 or 2", p);
    norm = onnx_reduce(n, "sum", p == 1 ? onnx_un(n, "abs", x) : onnx_bin(n, "multiply", x, x),
                       &axis, 1, true);
    norm = p == 1 ? norm : onnx_un(n, "sqrt", norm);
    if (tn_is_error(norm))
        return false;
    const tn_expr *zero = onnx_scalar(n, onnx_dtype(x), 0); /* a line of zeros stays zero */
    return onnx_ret(n, onnx_where(n, onnx_bin(n, "equal", norm, zero), zero,
                                  onnx_bin(n, "divide", x, norm)));
}

static bool
import_mvn(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axes[ONNX_MAX_DIMS] = {0, 2, 3}, rank = onnx_rank(n, x);
    int count = onnx_attr_ints(n, "axes", axes, ONNX_MAX_DIMS);
    count = count < 0 ? 3 : count;
    if (rank < 0 || n->failed || !onnx_axes(n, rank, axes, count))
        return false;
    const tn_expr *diff =
        onnx_bin(n, "subtract", x, onnx_reduce(n, "mean", x, axes, (uint32_t)count, true));
    const tn_expr *dev = onnx_un(n, "sqrt",
                                 onnx_reduce(n, "mean", onnx_bin(n, "multiply", diff, diff), axes,
                                             (uint32_t)count, true));
    return onnx_ret(n, onnx_bin(n, "divide", diff, onnx_bin_num(n, "add", dev, 1e-9)));
}

const onnx_op onnx_normalize_ops[] = {
    {"Softmax", 1, 0, 1, 1, 1, 1, import_softmax, NULL, 0, NULL},
    {"LogSoftmax", 1, 0, 1, 1, 1, 1, import_log_softmax, NULL, 0, NULL},
    {"Hardmax", 1, 0, 1, 1, 1, 1, import_hardmax, NULL, 0, NULL},
    {"BatchNormalization", 1, 0, 5, 5, 1, 5, import_batch_norm, NULL, 0, NULL},
    {"InstanceNormalization", 1, 0, 3, 3, 1, 1, import_instance_norm, NULL, 0, NULL},
    {"LayerNormalization", 17, 0, 2, 3, 1, 3, import_layer_norm, NULL, 0, NULL},
    {"RMSNormalization", 23, 0, 2, 2, 1, 1, import_rms_norm, NULL, 0, NULL},
    {"GroupNormalization", 18, 0, 3, 3, 1, 1, import_group_norm, NULL, 0, NULL},
    {"LRN", 1, 0, 1, 1, 1, 1, import_lrn, NULL, 0, NULL},
    {"LpNormalization", 1, 0, 1, 1, 1, 1, import_lp_norm, NULL, 0, NULL},
    {"MeanVarianceNormalization", 9, 0, 1, 1, 1, 1, import_mvn, NULL, 0, NULL},
    {0},
};
