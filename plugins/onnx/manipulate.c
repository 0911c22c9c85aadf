/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that rearrange, cut, join and repeat. */
#include <inttypes.h>
#include "fold.h"

static bool
import_identity(onnx_node *n)
{
    if (!onnx_has(n, 0))
        return onnx_fail(n, TNB_INVALID, "input 0 is missing");
    onnx_ret_value(n, 0, n->in[0]);
    return true;
}

static bool
import_reshape(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *out[ONNX_MAX_DIMS], *attr_dims[ONNX_MAX_DIMS];
    const tn_expr *const *target = attr_dims;
    int64_t v[ONNX_MAX_DIMS];
    uint32_t count = 0;
    tn_list in;
    bool keep_zero = onnx_attr_int(n, "allowzero", 0) != 0;
    onnx_attr(n, "consumed_inputs");
    if (n->version < 5) {
        int have = onnx_attr_ints(n, "shape", v, ONNX_MAX_DIMS);
        for (int i = 0; i < have; i++)
            attr_dims[i] = tn_i64(n->ctx, v[i]);
        count = have < 0 ? 0 : (uint32_t)have;
    } else if (!onnx_elems(n, 1, "the target shape", &target, &count)) {
        return false;
    }
    if (!onnx_dims(n, x, &in) || !onnx_reshape_target(n, in, target, count, !keep_zero, out))
        return false;
    return onnx_ret(n, onnx_reshape(n, x, out, count));
}

static bool
import_transpose(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t perm[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    int count = onnx_attr_ints(n, "perm", perm, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed)
        return false;
    if (count < 0)
        for (int64_t i = 0; i < rank; i++)
            perm[i] = rank - 1 - i;
    else if (count != rank)
        return onnx_fail(n, TNB_SHAPE,
                         "attribute 'perm' has %d entries, but the input has rank %" PRId64, count,
                         rank);
    return onnx_axes(n, rank, perm, (int)rank) &&
           onnx_ret(n, onnx_permute(n, x, perm, (uint32_t)rank));
}

static bool
import_concat(onnx_node *n)
{
    int64_t axis = onnx_attr_int(n, "axis", n->version < 4 ? 1 : 0), rank = 0, zero = 0;
    const tn_expr **x = TNB_NEW_N(n->imp->arena, const tn_expr *, n->n_in);
    for (uint32_t i = 0; i < n->n_in; i++) {
        x[i] = onnx_in(n, i);
        int64_t r = onnx_rank(n, x[i]);
        if (r < 0)
            return false;
        rank = r > rank ? r : rank;
    }
    rank = rank ? rank : 1;
    for (uint32_t i = 0; i < n->n_in;
         i++) /* some exporters join scalars: each counts as one element */
        if (rank == 1 && onnx_rank(n, x[i]) == 0)
            x[i] = onnx_unsqueeze(n, x[i], &zero, 1);
    return onnx_axis(n, rank, &axis) && onnx_ret(n, onnx_concat(n, x, n->n_in, axis));
}

static bool
import_split(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axis = onnx_attr_int(n, "axis", 0), sizes[64], cuts[64], at = 0;
    uint32_t count;
    if (!onnx_axis(n, onnx_rank(n, x), &axis) ||
        !onnx_split_sizes(n, onnx_dim(x, axis), sizes, &count))
        return false;
    if (count == 1)
        return onnx_ret(n, x);
    for (uint32_t i = 0; i + 1 < count; i++)
        cuts[i] = at += sizes[i];
    return onnx_ret(n, onnx_emit(n, "split",
                                 tn_dictv(n->ctx, "indices_or_sections",
                                          tn_int_array(n->ctx, cuts, count - 1), "axis",
                                          tn_i64(n->ctx, axis), NULL),
                                 x, NULL));
}

static bool
import_slice(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    onnx_slices s;
    int64_t v;
    int64_t rank = onnx_rank(n, x);
    if (rank < 0 || !onnx_read_slices(n, rank, &s))
        return false;
    for (uint32_t i = 0; i < s.count; i++) {
        s.starts[i] = onnx_simplify(n, s.starts[i]);
        s.ends[i] = onnx_simplify(n, s.ends[i]);
        /* "to the end" is written as a very large number */
        tn_list dims;
        if (tn_int_value(s.ends[i], &v) && v >= 1000000000 && tn_type_dims(x->type, &dims))
            s.ends[i] = dims.at[s.axes[i]];
        else if (tn_int_value(s.ends[i], &v) && (v > INT32_MAX || v < INT32_MIN))
            s.ends[i] = tn_i64(n->ctx, v > 0 ? INT32_MAX : INT32_MIN);
        if (tn_int_value(s.starts[i], &v) && (v > INT32_MAX || v < INT32_MIN))
            s.starts[i] = tn_i64(n->ctx, v > 0 ? INT32_MAX : INT32_MIN);
    }
    return onnx_ret(n, onnx_slice(n, x, s.axes, s.starts, s.ends, s.steps, s.count));
}

static bool
import_squeeze(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axes[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed)
        return false;
    if (count < 0) {
        count = 0;
        for (int64_t i = 0; i < rank; i++)
            if (onnx_dim(x, i) == 1)
                axes[count++] = i;
    }
    if (!onnx_axes(n, rank, axes, count))
        return false;
    for (int i = 0; i < count; i++)
        if (onnx_dim(x, axes[i]) > 1 || onnx_dim(x, axes[i]) == 0)
            return onnx_fail(n, TNB_SHAPE, "axis %" PRId64 " has %" PRId64 " entries, wanted 1",
                             axes[i], onnx_dim(x, axes[i]));
    return onnx_ret(n, onnx_squeeze(n, x, axes, (uint32_t)count));
}

static bool
import_unsqueeze(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axes[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed)
        return false;
    if (count < 0)
        return onnx_fail(n, TNB_INVALID, "the list of axes is missing");
    return onnx_axes(n, rank + count, axes, count) &&
           onnx_ret(n, onnx_unsqueeze(n, x, axes, (uint32_t)count));
}

static bool
import_flatten(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *out[2];
    int64_t axis = onnx_attr_int(n, "axis", 1), rank = onnx_rank(n, x);
    tn_list dims;
    if (rank < 0 || !onnx_dims(n, x, &dims))
        return false;
    if (axis < -rank || axis > rank)
        return onnx_fail(n, TNB_BOUNDS,
                         "attribute 'axis' is %" PRId64 ", but the input has rank %" PRId64, axis,
                         rank);
    axis = axis < 0 ? axis + rank : axis;
    out[0] = tn_product(n->ctx, (tn_list){dims.at, (uint32_t)axis});
    out[1] = tn_product(n->ctx, (tn_list){dims.at + axis, dims.n - (uint32_t)axis});
    return onnx_ret(n, onnx_reshape(n, x, out, 2));
}

static bool
import_expand(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *const * want;
    const tn_expr *out[ONNX_MAX_DIMS];
    uint32_t count;
    tn_list dims;
    if (!onnx_elems(n, 1, "the target shape", &want, &count) || !onnx_dims(n, x, &dims))
        return false;
    uint32_t rank = dims.n > count ? dims.n : count;
    if (rank > ONNX_MAX_DIMS)
        return onnx_fail(n, TNB_BOUNDS, "the target shape has %u entries", count);
    for (uint32_t i = 0; i < rank; i++) {
        const tn_expr *a = i < rank - dims.n ? tn_i64(n->ctx, 1) : dims.at[i - (rank - dims.n)];
        const tn_expr *b =
            i < rank - count ? tn_i64(n->ctx, 1) : onnx_simplify(n, want[i - (rank - count)]);
        int64_t va, vb;
        if (tn_int_value(a, &va) && tn_int_value(b, &vb) && va != vb && va != 1 && vb != 1)
            return onnx_fail(n, TNB_SHAPE,
                             "extent %" PRId64 " of axis %u cannot be expanded to %" PRId64, va, i,
                             vb);
        out[i] = tn_is_int_const(b, 1) ? a : b;
    }
    return onnx_ret(n, onnx_broadcast(n, x, out, rank));
}

static bool
import_tile(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t repeats[ONNX_MAX_DIMS], rank = onnx_rank(n, x), tiles, axis;
    uint32_t count;
    if (rank < 0)
        return false;
    if (n->version < 6) {
        if (!onnx_in_int(n, 1, "the number of tiles", &tiles) ||
            !onnx_in_int(n, 2, "the axis", &axis) || !onnx_axis(n, rank, &axis))
            return false;
        for (count = 0; count < rank; count++)
            repeats[count] = count == axis ? tiles : 1;
    } else if (!onnx_ints(n, 1, "the repeats", repeats, ONNX_MAX_DIMS, &count)) {
        return false;
    }
    if (count != rank)
        return onnx_fail(n, TNB_SHAPE, "there are %u repeats, but the input has rank %" PRId64,
                         count, rank);
    return onnx_ret(n, onnx_emit(n, "tile",
                                 tn_dictv(n->ctx, "repeats", tn_int_array(n->ctx, repeats, count),
                                          NULL),
                                 x, NULL));
}

static bool
import_pad(onnx_node *n)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap", NULL};
    static const char *const relax[] = {"constant", "reflect", "replicate", "circular"};
    const tn_expr *x = onnx_in(n, 0);
    int64_t pads[2 * ONNX_MAX_DIMS], width[2 * ONNX_MAX_DIMS] = {0}, axes[ONNX_MAX_DIMS],
                                               rank = onnx_rank(n, x);
    int mode = onnx_attr_choice(n, "mode", "constant", modes);
    uint32_t count = 0, n_axes = 0;
    double value = 0;
    bool at_run_time = false;
    if (rank < 0 || mode < 0)
        return false;
    if (n->version < 11) {
        int have = onnx_attr_ints(n, n->version < 2 ? "paddings" : "pads", pads, 2 * ONNX_MAX_DIMS);
        if (have < 0)
            return n->failed ? false : onnx_fail(n, TNB_INVALID, "attribute 'pads' is missing");
        count = (uint32_t)have;
        value = onnx_attr_float(n, "value", 0);
    } else {
        if (!onnx_ints(n, 1, "the paddings", pads, 2 * ONNX_MAX_DIMS, &count))
            return false;
        at_run_time = onnx_has(n, 2) && !onnx_known(n, 2);
        if (onnx_has(n, 2) && !at_run_time && !onnx_in_float(n, 2, "the padding value", &value))
            return false;
    }
    for (n_axes = 0; n_axes < rank; n_axes++)
        axes[n_axes] = n_axes;
    if (onnx_has(n, 3) && (!onnx_ints(n, 3, "the axes", axes, ONNX_MAX_DIMS, &n_axes) ||
                           !onnx_axes(n, rank, axes, (int)n_axes)))
        return false;
    if (count != 2 * n_axes)
        return onnx_fail(n, TNB_SHAPE, "there are %u paddings for %u axes, wanted %u", count,
                         n_axes, 2 * n_axes);
    for (uint32_t i = 0; i < n_axes; i++) {
        width[2 * axes[i]] = pads[i];
        width[2 * axes[i] + 1] = pads[n_axes + i];
    }
    const tn_node *attrs =
        tn_dictv(n->ctx, "pad_width", tn_int_array(n->ctx, width, 2 * (uint32_t)rank), "pad_mode",
                 tn_string(n->ctx, relax[mode]), "pad_value",
                 tn_float_imm_of(n->ctx, TNB_F64, value), NULL);
    const tn_expr *y = onnx_emit(n, "nn.pad", attrs, x, NULL);
    if (mode != 0 || !at_run_time)
        return onnx_ret(n, y);
    /* the same paddings around ones say where the value goes */
    tn_list d;
    if (n->failed || !onnx_dims(n, x, &d))
        return false;
    const tn_expr *own = onnx_emit(n, "nn.pad", attrs, onnx_full(n, d.at, d.n, TNB_I8, 1), NULL);
    const tn_expr *outside = onnx_reshape(n, onnx_in(n, 2), NULL, 0);
    return onnx_ret(n, onnx_where(n, onnx_astype(n, own, TNB_B8), y, outside));
}

/* The input's extents as [N, C, H, W] expressions. */
static bool
image_dims(onnx_node *n, const tn_expr *x, tn_list *d, int64_t *block)
{
    *block = onnx_attr_int(n, "blocksize", 0);
    if (!onnx_dims(n, x, d))
        return false;
    if (d->n != 4)
        return onnx_fail(n, TNB_SHAPE, "the input has rank %u, wanted 4", d->n);
    return (*block > 0 && *block < 65536) ||
           onnx_fail(n, TNB_INVALID, "attribute 'blocksize' is %" PRId64 ", wanted 1 or more",
                     *block);
}

static bool
import_depth_to_space(onnx_node *n)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    static const int64_t perms[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}};
    const tn_expr *x = onnx_in(n, 0);
    int crd = onnx_attr_choice(n, "mode", "DCR", modes);
    int64_t b;
    tn_list d;
    if (crd < 0 || !image_dims(n, x, &d, &b))
        return false;
    const tn_expr *k = tn_i64(n->ctx, b),
                  *c = onnx_simplify(n, tn_floordiv(n->ctx, d.at[1], tn_i64(n->ctx, b * b)));
    const tn_expr *six[2][6] = {{d.at[0], k, k, c, d.at[2], d.at[3]},
                                {d.at[0], c, k, k, d.at[2], d.at[3]}};
    const tn_expr *out[] = {d.at[0], c, tn_mul(n->ctx, d.at[2], k), tn_mul(n->ctx, d.at[3], k)};
    x = onnx_permute(n, onnx_reshape(n, x, six[crd], 6), perms[crd], 6);
    return onnx_ret(n, onnx_reshape(n, x, out, 4));
}

static bool
import_space_to_depth(onnx_node *n)
{
    static const int64_t perm[6] = {0, 3, 5, 1, 2, 4};
    const tn_expr *x = onnx_in(n, 0);
    int64_t b;
    tn_list d;
    if (!image_dims(n, x, &d, &b))
        return false;
    const tn_expr *k = tn_i64(n->ctx, b), *h = onnx_simplify(n, tn_floordiv(n->ctx, d.at[2], k)),
                  *w = onnx_simplify(n, tn_floordiv(n->ctx, d.at[3], k));
    const tn_expr *six[] = {d.at[0], d.at[1], h, k, w, k};
    const tn_expr *out[] = {d.at[0], tn_mul(n->ctx, d.at[1], tn_i64(n->ctx, b * b)), h, w};
    return onnx_ret(n,
                    onnx_reshape(n, onnx_permute(n, onnx_reshape(n, x, six, 6), perm, 6), out, 4));
}

static bool
import_reverse_sequence(onnx_node *n)
{
    int64_t seq = onnx_attr_int(n, "time_axis", 0), batch = onnx_attr_int(n, "batch_axis", 1);
    return onnx_ret(n, onnx_emit(n, "reverse_sequence",
                                 tn_dictv(n->ctx, "seq_axis", tn_i64(n->ctx, seq), "batch_axis",
                                          tn_i64(n->ctx, batch), NULL),
                                 onnx_in(n, 0), onnx_in(n, 1), NULL));
}

/* The diagonal is known at run time: distances of elements from the main one are compared with it.
 */
static bool
trilu_at(onnx_node *n, bool upper)
{
    const tn_expr *x = onnx_in(n, 0), *at[2];
    const tn_expr *k = onnx_reshape(n, onnx_astype(n, onnx_in(n, 1), TNB_I64), NULL, 0);
    int64_t last = 1;
    tn_list d;
    if (n->failed || !onnx_dims(n, x, &d))
        return false;
    if (d.n < 2)
        return onnx_fail(n, TNB_SHAPE, "the input has rank %u, wanted 2 or more", d.n);
    for (uint32_t i = 0; i < 2; i++)
        at[i] = onnx_arange(n, tn_i64(n->ctx, 0), d.at[d.n - 2 + i], tn_i64(n->ctx, 1), TNB_I64);
    const tn_expr *distance = onnx_bin(n, "subtract", at[1], onnx_unsqueeze(n, at[0], &last, 1));
    const tn_expr *kept = onnx_bin(n, upper ? "greater_equal" : "less_equal", distance, k);
    return onnx_ret(n, onnx_where(n, kept, x, onnx_scalar_int(n, onnx_dtype(x), 0)));
}

static bool
import_trilu(onnx_node *n)
{
    int64_t k = 0;
    bool upper = onnx_attr_int(n, "upper", 1) != 0;
    if (onnx_has(n, 1) && !onnx_known(n, 1))
        return trilu_at(n, upper);
    if (onnx_has(n, 1) && !onnx_in_int(n, 1, "the diagonal", &k))
        return false;
    return onnx_ret(n, onnx_emit(n, upper ? "triu" : "tril", NULL, onnx_in(n, 0), tn_i64(n->ctx, k),
                                 NULL));
}

static bool
import_center_crop_pad(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t dims[ONNX_MAX_DIMS], want[ONNX_MAX_DIMS], axes[ONNX_MAX_DIMS],
        before[ONNX_MAX_DIMS] = {0}, after[ONNX_MAX_DIMS] = {0};
    uint32_t count;
    int rank = onnx_static_dims(n, x, dims, "the input"),
        n_axes = onnx_attr_ints(n, "axes", axes, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed || !onnx_ints(n, 1, "the target shape", want, ONNX_MAX_DIMS, &count))
        return false;
    if (n_axes < 0)
        for (n_axes = 0; n_axes < rank; n_axes++)
            axes[n_axes] = n_axes;
    if (!onnx_axes(n, rank, axes, n_axes) || count != (uint32_t)n_axes)
        return n->failed ? false
                         : onnx_fail(n, TNB_SHAPE, "there are %u target extents for %d axes", count,
                                     n_axes);
    for (int i = 0; i < n_axes; i++) {
        if (want[i] < 0)
            return onnx_fail(n, TNB_SHAPE, "target extent %d is %" PRId64, i, want[i]);
        int64_t have = dims[axes[i]], more = want[i] - have;
        if (more < 0)
            x = onnx_slice_ints(n, x, axes[i], -more / 2, -more / 2 + want[i]);
        before[axes[i]] = more > 0 ? more / 2 : 0;
        after[axes[i]] = more > 0 ? more - more / 2 : 0;
    }
    return onnx_ret(n, onnx_pad(n, x, before, after, (uint32_t)rank, 0));
}

const onnx_op onnx_manipulate_ops[] = {
    {"Identity", 1, 0, 1, 1, 1, 1, import_identity, onnx_fold_reshape, 0, NULL},
    {"Reshape", 1, 0, 1, 2, 1, 1, import_reshape, onnx_fold_reshape, 0, NULL},
    {"Transpose", 1, 0, 1, 1, 1, 1, import_transpose, onnx_fold_transpose, 0, NULL},
    {"Concat", 1, 0, 1, -1, 1, 1, import_concat, onnx_fold_concat, 0, NULL},
    {"Split", 1, 0, 1, 2, 1, -1, import_split, onnx_fold_split, 0, NULL},
    {"Slice", 1, 0, 1, 5, 1, 1, import_slice, onnx_fold_slice, 0, NULL},
    {"Squeeze", 1, 0, 1, 2, 1, 1, import_squeeze, onnx_fold_reshape, 0, NULL},
    {"Unsqueeze", 1, 0, 1, 2, 1, 1, import_unsqueeze, onnx_fold_reshape, 0, NULL},
    {"Flatten", 1, 0, 1, 1, 1, 1, import_flatten, NULL, 0, NULL},
    {"Expand", 8, 0, 2, 2, 1, 1, import_expand, onnx_fold_expand, 0, NULL},
    {"Tile", 1, 0, 2, 3, 1, 1, import_tile, NULL, 0, NULL},
    {"Pad", 1, 0, 1, 4, 1, 1, import_pad, NULL, 0, NULL},
    {"DepthToSpace", 1, 0, 1, 1, 1, 1, import_depth_to_space, NULL, 0, NULL},
    {"SpaceToDepth", 1, 0, 1, 1, 1, 1, import_space_to_depth, NULL, 0, NULL},
    {"ReverseSequence", 10, 0, 2, 2, 1, 1, import_reverse_sequence, NULL, 0, NULL},
    {"Trilu", 14, 0, 1, 2, 1, 1, import_trilu, NULL, 0, NULL},
    {"CenterCropPad", 18, 0, 2, 2, 1, 1, import_center_crop_pad, NULL, 0, NULL},
    {0},
};
