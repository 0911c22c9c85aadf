/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, constants, and tensors made from nothing. */
#include <inttypes.h>
#include <math.h>
#include "fold.h"

static bool
import_shape(onnx_node *n)
{
    (void)onnx_rank(n, onnx_in(n, 0));
    return n->failed ? false : onnx_fail(n, TNB_UNSUPPORTED, "the shape of the input is not known");
}

/* A list of numbers as a constant. */
static const tn_expr *
number_list(onnx_node *n, tnb_dtype d, const void *values, size_t count, size_t each, int32_t ndim)
{
    void *mem = NULL;
    int64_t shape = (int64_t)count;
    const tn_data *data = tn_data_new(n->ctx, d, ndim, &shape, &mem);
    if (!data)
        return tn_error_node(n->ctx);
    if (count)
        memcpy(mem, values, count * each);
    return tn_constant_of(n->ctx, data);
}

static bool
import_constant(onnx_node *n)
{
    const Onnx__AttributeProto *a = onnx_attr(n, "value");
    if (a && a->t)
        return onnx_ret(n, onnx_tensor(n, a->t, "attribute 'value'"));
    if ((a = onnx_attr(n, "value_int")))
        return onnx_ret(n, number_list(n, TNB_I64, &a->i, 1, 8, 0));
    if ((a = onnx_attr(n, "value_ints")))
        return onnx_ret(n, number_list(n, TNB_I64, a->ints, a->n_ints, 8, 1));
    if ((a = onnx_attr(n, "value_float")))
        return onnx_ret(n, number_list(n, TNB_F32, &a->f, 1, 4, 0));
    if ((a = onnx_attr(n, "value_floats")))
        return onnx_ret(n, number_list(n, TNB_F32, a->floats, a->n_floats, 4, 1));
    return onnx_fail(
        n, TNB_UNSUPPORTED,
        "the constant has no tensor or number (texts and sparse tensors are not supported)");
}

/* The fill value of ConstantOfShape as a splat's element. */
static bool
fill_value(onnx_node *n, tnb_dtype *d, uint8_t *elem)
{
    const Onnx__AttributeProto *a = onnx_attr(n, "value");
    *d = TNB_F32;
    memset(elem, 0, 16);
    if (!a || !a->t)
        return true;
    const tn_constant *c = tn_as_constant(onnx_tensor(n, a->t, "attribute 'value'"));
    if (!c)
        return false;
    if (c->data->n_elems != 1)
        return onnx_fail(n, TNB_SHAPE, "attribute 'value' has %" PRIu64 " elements, wanted one",
                         c->data->n_elems);
    *d = c->data->dtype;
    memcpy(elem, tn_data_get(n->ctx, c->data), tnb_dtype_bytes(*d));
    return true;
}

static bool
import_constant_of_shape(onnx_node *n)
{
    const tn_expr *const *e;
    const tn_expr *dims[ONNX_MAX_DIMS];
    int64_t shape[ONNX_MAX_DIMS];
    uint8_t elem[16];
    uint32_t count;
    tnb_dtype d;
    bool fixed = true;
    if (!onnx_elems(n, 0, "the shape", &e, &count) || !fill_value(n, &d, elem))
        return false;
    if (count > ONNX_MAX_DIMS)
        return onnx_fail(n, TNB_BOUNDS, "the shape has %u entries", count);
    for (uint32_t i = 0; i < count; i++) {
        dims[i] = onnx_simplify(n, e[i]);
        fixed &= tn_int_value(dims[i], &shape[i]);
        if (tn_int_value(dims[i], &shape[i]) && shape[i] < 0)
            return onnx_fail(n, TNB_SHAPE, "entry %u of the shape is %" PRId64, i, shape[i]);
    }
    if (fixed)
        return onnx_ret(n, tn_constant_of(n->ctx,
                                          tn_data_splat(n->ctx, d, (int32_t)count, shape, elem)));
    const tn_expr *value = tn_constant_of(n->ctx, tn_data_splat(n->ctx, d, 0, NULL, elem));
    return onnx_ret(n,
                    onnx_emit(n, "full", tn_dictv(n->ctx, "dtype", tn_dtype_value(n->ctx, d), NULL),
                              tn_shape(n->ctx, tn_list_of(n->ctx, dims, count)), value, NULL));
}

static bool
float_range(onnx_node *n, tnb_dtype d)
{
    double start, end, step;
    if (!onnx_in_float(n, 0, "the start", &start) || !onnx_in_float(n, 1, "the limit", &end) ||
        !onnx_in_float(n, 2, "the step", &step))
        return false;
    if (step == 0)
        return onnx_fail(n, TNB_INVALID, "the step is 0");
    double count = ceil((end - start) / step);
    if (!(count < 1e9))
        return onnx_fail(n, TNB_BOUNDS, "the range has no sensible length");
    const tn_expr *zero = tn_i64(n->ctx, 0), *one = tn_i64(n->ctx, 1);
    const tn_expr *i = onnx_astype(
        n, onnx_arange(n, zero, tn_i64(n->ctx, count > 0 ? (int64_t)count : 0), one, TNB_I64), d);
    return onnx_ret(n, onnx_bin_num(n, "add", onnx_bin_num(n, "multiply", i, step), start));
}

static bool
import_range(onnx_node *n)
{
    tnb_dtype d = onnx_in_dtype(n, 0);
    const tn_expr *const *e;
    const tn_expr *v[3];
    uint32_t count;
    static const char *const what[] = {"the start", "the limit", "the step"};
    if (tnb_dtype_is_float(d))
        return float_range(n, d);
    for (uint32_t i = 0; i < 3; i++) {
        if (!onnx_elems(n, i, what[i], &e, &count))
            return false;
        if (count != 1)
            return onnx_fail(n, TNB_SHAPE, "%s has %u entries, wanted one", what[i], count);
        v[i] = onnx_simplify(n, e[0]);
    }
    return onnx_ret(n, onnx_arange(n, v[0], v[1], v[2], d));
}

static bool
import_eye_like(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t k = onnx_attr_int(n, "k", 0), type = onnx_attr_int(n, "dtype", 0);
    tnb_dtype d = type ? tnb_onnx_dtype(type) : onnx_dtype(x);
    if (!d.bits)
        return onnx_fail(n, TNB_UNSUPPORTED, "attribute 'dtype' is %" PRId64, type);
    return onnx_ret(n, onnx_emit(n, "eye_like",
                                 tn_dictv(n->ctx, "dtype", tn_dtype_value(n->ctx, d), NULL), x,
                                 tn_i64(n->ctx, k), NULL));
}

/* on where the (wrapped) index is the position, off elsewhere: by comparison, so that values may be
 * computed. */
static bool
import_one_hot(onnx_node *n)
{
    const tn_expr *idx = onnx_in(n, 0), *values = onnx_in(n, 2);
    int64_t axis = onnx_attr_int(n, "axis", -1), rank = onnx_rank(n, idx), zero = 0,
            shape[ONNX_MAX_DIMS + 1];
    double depth;
    if (rank < 0 || !onnx_in_float(n, 1, "the depth", &depth) || !onnx_axis(n, rank + 1, &axis))
        return false;
    if (!(depth >= 1 && depth < 1e9))
        return onnx_fail(n, TNB_INVALID, "the depth is %g", depth);
    idx = onnx_astype(n, idx, TNB_I64);
    idx = onnx_where(n, onnx_bin_num(n, "less", idx, 0), onnx_bin_num(n, "add", idx, depth), idx);
    idx = onnx_unsqueeze(n, idx, &axis, 1);
    for (int64_t i = 0; i <= rank; i++)
        shape[i] = i == axis ? (int64_t)depth : 1;
    const tn_expr *positions = onnx_arange(n, tn_i64(n->ctx, 0), tn_i64(n->ctx, (int64_t)depth),
                                           tn_i64(n->ctx, 1), TNB_I64);
    positions = onnx_reshape_ints(n, positions, shape, (uint32_t)rank + 1);
    const tn_expr *off = onnx_squeeze(n, onnx_slice_ints(n, values, 0, 0, 1), &zero, 1);
    const tn_expr *on = onnx_squeeze(n, onnx_slice_ints(n, values, 0, 1, 2), &zero, 1);
    return onnx_ret(n, onnx_where(n, onnx_bin(n, "equal", idx, positions), on, off));
}

const onnx_op onnx_shape_ops[] = {
    {"Shape", 1, 0, 1, 1, 1, 1, import_shape, onnx_fold_shape,
     ONNX_OP_SHAPE_ONLY | ONNX_OP_FOLD_SHAPE, NULL},
    {"Size", 1, 0, 1, 1, 1, 1, import_shape, onnx_fold_size,
     ONNX_OP_SHAPE_ONLY | ONNX_OP_FOLD_SHAPE, NULL},
    {"Constant", 1, 0, 0, 0, 1, 1, import_constant, NULL, 0, NULL},
    {"ConstantOfShape", 9, 0, 1, 1, 1, 1, import_constant_of_shape, onnx_fold_constant_of_shape, 0,
     NULL},
    {"Range", 11, 0, 3, 3, 1, 1, import_range, onnx_fold_range, 0, NULL},
    {"EyeLike", 9, 0, 1, 1, 1, 1, import_eye_like, NULL, ONNX_OP_SHAPE_ONLY, NULL},
    {"OneHot", 9, 0, 3, 3, 1, 1, import_one_hot, NULL, 0, NULL},
    {0},
};
