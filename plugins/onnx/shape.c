/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, constants, and tensors made from nothing. */
#include <inttypes.h>
#include <math.h>
#include "dynamic.h"
#include "fold.h"
#include "tenon/kit/te.h"
#include "terms.h"

static bool
import_shape(onnx_node *n)
{
    (void)onnx_rank(n, onnx_in(n, 0));
    return n->failed ? false : onnx_unknown(n, "the shape of the input has");
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
        return onnx_fail(n, TNB_SHAPE, "attribute 'value' has %" PRIu64 " elements, expected one",
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
    if (fixed && !onnx_is_large(n, d, shape, count))
        return onnx_ret(n, tn_constant_of(n->ctx,
                                          tn_data_splat(n->ctx, d, (int32_t)count, shape, elem)));
    if (!onnx_bind(n, dims, count, NULL))
        return false;
    const tn_expr *value = tn_constant_of(n->ctx, tn_data_splat(n->ctx, d, 0, NULL, elem));
    return onnx_ret(n, onnx_emit(n, "full",
                                 tn_dictv(n->ctx, "dtype", tn_dtype_imm_of(n->ctx, d), NULL),
                                 tn_shape_expr_of(n->ctx, tn_list_of(n->ctx, dims, count)), value,
                                 NULL));
}

/* start + i * step for i in range(count), computed in dtype d. */
static bool
ret_range(onnx_node *n, const tn_expr *count, tnb_dtype d, const tn_expr *start,
          const tn_expr *step)
{
    tnb_dtype wide = tnb_dtype_is_int(d) && d.bits < 64 ? TNB_I64 : d;
    const tn_expr *i =
        onnx_astype(n, onnx_arange(n, tn_i64(n->ctx, 0), count, tn_i64(n->ctx, 1), TNB_I64), wide);
    step = onnx_reshape(n, onnx_astype(n, step, wide), NULL, 0);
    start = onnx_reshape(n, onnx_astype(n, start, wide), NULL, 0);
    i = onnx_bin(n, "add", onnx_bin(n, "multiply", i, step), start);
    return onnx_ret(n, onnx_astype(n, i, d));
}

/* The number of entries is computed in float64, by the program when the limits come at run time. */
static bool
open_float_range(onnx_node *n, tnb_dtype d)
{
    const tn_expr *v[3], *zero = onnx_scalar(n, TNB_F64, 0), *count;
    for (uint32_t i = 0; i < 3; i++)
        v[i] = onnx_reshape(n, onnx_in(n, i), NULL, 0);
    const tn_expr *span = onnx_astype(n, onnx_bin(n, "subtract", v[1], v[0]), TNB_F64);
    span = onnx_un(n, "ceil", onnx_bin(n, "divide", span, onnx_astype(n, v[2], TNB_F64)));
    /* also what is no number becomes one that is refused: -1 */
    const tn_expr *most = onnx_scalar(n, TNB_F64, 1e15);
    span = onnx_where(n, onnx_bin(n, "less_equal", span, most), onnx_bin(n, "maximum", span, zero),
                      onnx_scalar(n, TNB_F64, -1));
    onnx_value total = {.name = "the number of entries"};
    total.expr = onnx_astype(n, span, TNB_I64);
    if (n->failed || !onnx_value_read(n, &total))
        return false;
    count = total.elems[0];
    onnx_demand demand = {NULL, NULL, 0, "the range has no sensible length"};
    return onnx_bind(n, &count, 1, &demand) && ret_range(n, count, d, v[0], v[2]);
}

static bool
float_range(onnx_node *n, tnb_dtype d)
{
    double start, end, step;
    for (uint32_t i = 0; i < 3; i++)
        if (!onnx_known(n, i) || n->in[i]->n_elems != 1 ||
            !tn_is(n->in[i]->elems[0], TN_KIND_FLOAT_IMM))
            return open_float_range(n, d);
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

/* The number of entries as a tensor of one int64: -1 for a step of 0 and where int64 cannot hold the
 * number. The span of the limits and the step's width are taken modulo 2^64, as unsigned numbers: these
 * are right for all limits, signed ones are not. */
static const tn_expr *
range_count(onnx_node *n, const tn_expr *const *v)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *x[3], *in[3], *one = tn_i64(ctx, 1), *zero = tn_i64(ctx, 0), *shape[] = {one};
    tnk_te *te = tnk_te_new(ctx);
    for (int i = 0; i < 3; i++) {
        x[i] = onnx_reshape(n, onnx_astype(n, v[i], TNB_I64), shape, 1);
        if (n->failed || tn_is_error(x[i]))
            return tn_error_node(ctx);
        in[i] = tnk_te_read(te, tnk_te_input(te, "x", x[i]->type), zero, NULL);
    }
    tnk_stage *s = tnk_te_stage(te, "count", shape, 1, TNB_I64);
    const tn_expr *up = tn_gt_of(ctx, in[2], zero),
                  *span =
                      tn_select_of(ctx, up, tn_sub(ctx, in[1], in[0]), tn_sub(ctx, in[0], in[1])),
                  *width = tn_select_of(ctx, up, in[2], tn_sub(ctx, zero, in[2])),
                  *any = tn_select_of(ctx, up, tn_lt_of(ctx, in[0], in[1]),
                                      tn_lt_of(ctx, in[1], in[0]));
    const tnb_dtype U64 = TNB_DTYPE(TNB_UINT, 64);
    const tn_expr *least = tn_literal(ctx, U64, 1);
    span = tn_sub(ctx, tn_cast_to(ctx, U64, span), least);
    width = tn_max(ctx, tn_cast_to(ctx, U64, width), least);
    const tn_expr *steps = tn_cast_to(ctx, TNB_I64, tn_floordiv(ctx, span, width)),
                  *most = tn_i64(ctx, INT64_MAX), *no = tn_i64(ctx, -1);
    const tn_expr *fits = tn_and(ctx, tn_ge_of(ctx, steps, zero), tn_lt_of(ctx, steps, most));
    const tn_expr *count = tn_select_of(ctx, fits, tn_add(ctx, steps, one), no);
    count = tn_select_of(ctx, any, count, zero);
    count = tn_select_of(ctx, tn_eq_of(ctx, in[2], zero), no, count);
    const tn_node *out = tnk_te_define(s, count);
    return onnx_emit_call(n, tnk_te_call(te, n->imp->b, "range_count", x, 3, &out, 1));
}

/* max(ceil((end - start) / step), 0) entries, whatever the step's sign is. */
static bool
open_range(onnx_node *n, const tn_expr *const *v, tnb_dtype d)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *scalar[3], *total;
    int64_t step;
    onnx_demand demand = {NULL, v, 3, "a range from {1} to {2} cannot have the step {3}"};
    bool small = tn_int_value(v[2], &step) && step && step >= -INT32_MAX && step <= INT32_MAX &&
                 onnx_is_plain(n, v[0]) && onnx_is_plain(n, v[1]);
    for (int i = 0; i < 3; i++)
        scalar[i] = onnx_elems_expr(n, &v[i], 1, TNB_I64, 0, NULL);
    if (small) { /* extents of tensors, whose differences do not overflow */
        const tn_expr *width = onnx_step_width(ctx, v[2]);
        total =
            onnx_steps(ctx, step > 0 ? tn_sub(ctx, v[1], v[0]) : tn_sub(ctx, v[0], v[1]), width);
        demand.text = NULL;
    } else {
        onnx_value count = {.name = "the number of entries"};
        const tn_expr *given[3];
        for (uint32_t i = 0; i < 3; i++) /* as they came: of 2^63 a term holds no negative */
            given[i] = onnx_in(n, i);
        count.expr = range_count(n, given);
        if (n->failed || !onnx_value_read(n, &count))
            return false;
        total = count.elems[0];
    }
    return onnx_bind(n, &total, 1, demand.text ? &demand : NULL) &&
           ret_range(n, total, d, small ? scalar[0] : onnx_in(n, 0),
                     small ? scalar[2] : onnx_in(n, 2));
}

static bool
import_range(onnx_node *n)
{
    tnb_dtype d = onnx_in_dtype(n, 0);
    const tn_expr *const *e;
    const tn_expr *v[3];
    uint32_t count;
    int64_t start, step;
    static const char *const what[] = {"the start", "the limit", "the step"};
    if (tnb_dtype_is_float(d))
        return float_range(n, d);
    for (uint32_t i = 0; i < 3; i++) {
        if (!onnx_elems(n, i, what[i], &e, &count))
            return false;
        if (count != 1)
            return onnx_fail(n, TNB_SHAPE, "%s has %u entries, expected one", what[i], count);
        v[i] = onnx_simplify(n, e[0]);
    }
    bool numbers = onnx_are_numbers(n, 0) && onnx_are_numbers(n, 1) && onnx_are_numbers(n, 2);
    bool counts = tn_int_value(v[0], &start) && start == 0 && tn_int_value(v[2], &step) &&
                  step == 1 && onnx_is_plain(n, v[1]) && onnx_term_nonneg(n->ctx, v[1]);
    if (tn_is_int_const(v[2], 0))
        return onnx_fail(n, TNB_INVALID, "the step is 0");
    return numbers || counts ? onnx_ret(n, onnx_arange(n, v[0], v[1], v[2], d))
                             : open_range(n, v, d);
}

static bool
import_eye_like(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t k = onnx_attr_int(n, "k", 0), type = onnx_attr_int(n, "dtype", 0);
    tnb_dtype d = type ? tnb_onnx_dtype(type) : onnx_dtype(x);
    if (!d.bits)
        return onnx_fail(n, TNB_UNSUPPORTED, "attribute 'dtype' is %" PRId64, type);
    int64_t rank = onnx_rank(n, x);
    if (rank != 2)
        return n->failed
                   ? false
                   : onnx_fail(n, TNB_SHAPE, "the input has rank %" PRId64 ", expected 2", rank);
    return onnx_ret(n, onnx_emit(n, "eye_like",
                                 tn_dictv(n->ctx, "dtype", tn_dtype_imm_of(n->ctx, d), NULL), x,
                                 tn_i64(n->ctx, k), NULL));
}

/* The depth as an extent: a number or a term. */
static bool
read_depth(onnx_node *n, const tn_expr **depth)
{
    double number;
    const tn_expr *const *e;
    uint32_t count;
    if (onnx_known(n, 1) && tnb_dtype_is_float(n->in[1]->dtype)) {
        if (!onnx_in_float(n, 1, "the depth", &number))
            return false;
        *depth = tn_i64(n->ctx, number >= 1 && number < 1e9 ? (int64_t)number : 0);
    } else if (!onnx_has(n, 1) || !tnb_dtype_is_float(onnx_in_dtype(n, 1))) {
        if (!onnx_elems(n, 1, "the depth", &e, &count))
            return false;
        if (count != 1)
            return onnx_fail(n, TNB_SHAPE, "the depth has %u entries, expected one", count);
        *depth = onnx_simplify(n, e[0]);
    } else { /* a float of run time: as an integer it can be read */
        onnx_value v = {.name = "the depth"};
        v.expr = onnx_astype(n, onnx_in(n, 1), TNB_I64);
        if (n->failed || !onnx_value_read(n, &v) || v.n_elems != 1)
            return n->failed ? false : onnx_fail(n, TNB_SHAPE, "the depth is not one number");
        *depth = v.elems[0];
    }
    int64_t v;
    if (tn_int_value(*depth, &v))
        return v >= 1 ||
               onnx_fail(n, TNB_INVALID, "the depth is %" PRId64 ", expected 1 or more", v);
    const tn_expr *shown = *depth;
    onnx_demand d = {tn_ge(n->ctx, *depth, tn_i64(n->ctx, 1)), &shown, 1,
                     "the depth is {1}, expected 1 or more"};
    return onnx_bind(n, depth, 1, &d);
}

/* on where the (wrapped) index is the position, off elsewhere: by comparison, so that values may be
 * computed. */
static bool
import_one_hot(onnx_node *n)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *idx = onnx_in(n, 0), *values = onnx_in(n, 2), *depth, *shape[ONNX_MAX_DIMS + 1];
    int64_t axis = onnx_attr_int(n, "axis", -1), rank = onnx_rank(n, idx), zero = 0;
    if (rank < 0 || !read_depth(n, &depth) || !onnx_axis(n, rank + 1, &axis))
        return false;
    idx = onnx_astype(n, idx, TNB_I64);
    idx = onnx_where(n, onnx_bin_num(n, "less", idx, 0),
                     onnx_bin(n, "add", idx, onnx_elems_expr(n, &depth, 1, TNB_I64, 0, NULL)), idx);
    idx = onnx_unsqueeze(n, idx, &axis, 1);
    for (int64_t i = 0; i <= rank; i++)
        shape[i] = i == axis ? depth : tn_i64(ctx, 1);
    const tn_expr *positions = onnx_arange(n, tn_i64(ctx, 0), depth, tn_i64(ctx, 1), TNB_I64);
    positions = onnx_reshape(n, positions, shape, (uint32_t)rank + 1);
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
