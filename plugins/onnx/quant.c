/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized operators, by composition: integer products are exact in int32, scaling is done in
 * float32. */
#include <inttypes.h>
#include <math.h>
#include "dynamic.h"

/* The zero point of input i, or zeros of `d` shaped like the scale. */
static const tn_expr *
zero_point(onnx_node *n, uint32_t i, const tn_expr *scale, tnb_dtype d)
{
    tn_list dims;
    bool known = onnx_dims(n, scale, &dims);
    if (onnx_has(n, i) && known && onnx_rank(n, onnx_in(n, i)) == (int64_t)dims.n)
        return onnx_fix_extents(n, onnx_in(n, i), dims, "the zero point");
    if (onnx_has(n, i))
        return onnx_in(n, i);
    if (!known)
        return tn_error_node(n->ctx);
    bool packed = d.bits < 8; /* of these there is no constant of one value */
    return onnx_astype(n, onnx_full(n, dims.at, dims.n, packed ? TNB_F32 : d, 0), d);
}

static const tn_expr *
quantize(onnx_node *n, const tn_expr *x, const tn_expr *scale, const tn_expr *zp, int64_t axis)
{
    if (tn_is_error(x) || tn_is_error(zp))
        return tn_error_node(n->ctx);
    return onnx_emit(n, "quantize",
                     tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), "out_dtype",
                              tn_dtype_imm_of(n->ctx, onnx_dtype(zp)), NULL),
                     x, scale, zp, NULL);
}

static bool
channel_axis(onnx_node *n, const tn_expr *x, const tn_expr *scale, int64_t *axis)
{
    *axis = onnx_attr_int(n, "axis", 1);
    int64_t rank = onnx_rank(n, x), rs = onnx_rank(n, scale);
    if (rank < 0 || rs < 0)
        return false;
    if (rs == 0 || (rs == 1 && onnx_dim(scale, 0) == 1)) {
        *axis = -1;
        return true;
    }
    return onnx_axis(n, rank, axis);
}

/* Scales of one entry are taken as scalars. */
static const tn_expr *
scalar_if_one(onnx_node *n, const tn_expr *x)
{
    int64_t zero = 0;
    return onnx_rank(n, x) == 1 && onnx_dim(x, 0) == 1 ? onnx_squeeze(n, x, &zero, 1) : x;
}

/* The parameter of each element, from one a block of `size` along the axis. */
static const tn_expr *
spread(onnx_node *n, const tn_expr *p, const tn_expr *x, int64_t axis, int64_t size)
{
    int64_t extent = onnx_dim(x, axis), blocks = onnx_dim(p, axis);
    tn_list dims;
    if (n->failed || onnx_rank(n, p) != onnx_rank(n, x) ||
        (extent >= 0 && blocks >= 0 && blocks != tnb_ceildiv(extent, size))) {
        if (!n->failed)
            onnx_fail(n, TNB_SHAPE,
                      "parameters of type %s do not fit data of type %s in blocks of %" PRId64,
                      onnx_type_text(n->imp, p->type), onnx_type_text(n->imp, x->type), size);
        return tn_error_node(n->ctx);
    }
    if (!onnx_dims(n, x, &dims))
        return tn_error_node(n->ctx);
    const tn_expr *all = dims.at[axis],
                  *wanted = onnx_simplify(n, tn_ceildiv(n->ctx, all, tn_i64(n->ctx, size)));
    p = onnx_fix_extents(n, p, tn_list_with(n->ctx, dims, (uint32_t)axis, wanted),
                         "a scale or zero point of blocks");
    p = onnx_emit(n, "repeat",
                  tn_dictv(n->ctx, "repeats", tn_i64(n->ctx, size), "axis", tn_i64(n->ctx, axis),
                           NULL),
                  p, NULL);
    if (extent >= 0)
        return onnx_slice_ints(n, p, axis, 0, extent);
    return size == 1 ? p : onnx_slice_inside(n, p, axis, tn_i64(n->ctx, 0), all, 1);
}

/* The axis of blocks; false after an error. */
static bool
block_axis(onnx_node *n, const tn_expr *x, int64_t size, int64_t *axis)
{
    *axis = onnx_attr_int(n, "axis", 1);
    if (size < 1)
        return onnx_fail(n, TNB_INVALID, "attribute 'block_size' is %" PRId64, size);
    return onnx_rank(n, x) >= 0 && onnx_axis(n, onnx_rank(n, x), axis);
}

/* Rounded to an integer, with the zero point, within the range of `d`. */
static const tn_expr *
quantize_blocks(onnx_node *n, const tn_expr *x, const tn_expr *scale, int64_t axis, int64_t size,
                tnb_dtype d)
{
    const tn_expr *y = onnx_bin(n, "divide", onnx_astype(n, x, TNB_F32),
                                spread(n, onnx_astype(n, scale, TNB_F32), x, axis, size));
    if (!tnb_dtype_is_int(d))
        return onnx_cast_saturated(n, y, d);
    y = onnx_un(n, "round", y);
    if (onnx_has(n, 2))
        y = onnx_bin(n, "add", y, spread(n, onnx_astype(n, onnx_in(n, 2), TNB_F32), x, axis, size));
    bool sign = d.code == TNB_INT;
    double low = sign ? -ldexp(1, d.bits - 1) : 0, high = ldexp(1, d.bits - sign) - 1;
    return onnx_astype(n, onnx_clip(n, y, low, high), d);
}

/* To a float of 8 bits and less, which has no zero point: divided and rounded. */
static const tn_expr *
quantize_to_float(onnx_node *n, const tn_expr *x, const tn_expr *scale, int64_t axis, tnb_dtype d)
{
    int64_t axes[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    uint32_t k = 0;
    for (int64_t i = axis + 1; axis >= 0 && i < rank && k < ONNX_MAX_DIMS; i++, k++)
        axes[k] = k + 1;
    scale = k ? onnx_unsqueeze(n, scale, axes, k) : scale;
    return onnx_cast_saturated(n, onnx_bin(n, "divide", x, scale), d);
}

static bool
import_quantize(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *scale = onnx_in(n, 1);
    int64_t axis, type = onnx_attr_int(n, "output_dtype", 0),
                  size = onnx_attr_int(n, "block_size", 0);
    tnb_dtype d = type ? tnb_onnx_dtype(type) : onnx_has(n, 2) ? onnx_in_dtype(n, 2) : TNB_U8;
    onnx_attr(n, "saturate");
    onnx_attr(n, "precision"); /* float32 is enough for all */
    if (!d.bits)
        return onnx_fail(n, TNB_UNSUPPORTED, "attribute 'output_dtype' is %" PRId64, type);
    if (size)
        return block_axis(n, x, size, &axis) &&
               onnx_ret(n, quantize_blocks(n, x, scale, axis, size, d));
    if (!channel_axis(n, x, scale, &axis))
        return false;
    x = onnx_astype(n, x, onnx_dtype(scale));
    if (tnb_dtype_is_float(d))
        return onnx_ret(n, quantize_to_float(n, x, scalar_if_one(n, scale), axis, d));
    const tn_expr *zp = scalar_if_one(n, zero_point(n, 2, scale, d));
    return onnx_ret(n, quantize(n, x, scalar_if_one(n, scale), zp, axis));
}

static const tn_expr *
dequantize_blocks(onnx_node *n, const tn_expr *x, const tn_expr *scale, int64_t axis, int64_t size,
                  tnb_dtype to)
{
    tnb_dtype exact = tnb_dtype_is_int(onnx_dtype(x)) ? TNB_I32 : TNB_F32;
    const tn_expr *y = onnx_astype(n, x, exact);
    if (onnx_has(n, 2))
        y = onnx_bin(n, "subtract", y,
                     spread(n, onnx_astype(n, onnx_in(n, 2), exact), x, axis, size));
    y = onnx_bin(n, "multiply", onnx_astype(n, y, TNB_F32),
                 spread(n, onnx_astype(n, scale, TNB_F32), x, axis, size));
    return onnx_astype(n, y, to);
}

static bool
import_dequantize(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *scale = onnx_in(n, 1);
    int64_t axis, type = onnx_attr_int(n, "output_dtype", 0),
                  size = onnx_attr_int(n, "block_size", 0);
    tnb_dtype to = type ? tnb_onnx_dtype(type) : onnx_dtype(scale);
    if (!n->failed && !tnb_dtype_is_float(to))
        return onnx_fail(n, TNB_UNSUPPORTED, "attribute 'output_dtype' is %" PRId64, type);
    if (size)
        return block_axis(n, x, size, &axis) &&
               onnx_ret(n, dequantize_blocks(n, x, scale, axis, size, to));
    if (!channel_axis(n, x, scale, &axis))
        return false;
    const tn_expr *zp = scalar_if_one(n, zero_point(n, 2, scale, onnx_dtype(x)));
    /* the operator's float16 stops at the largest number, ONNX's is infinite beyond it */
    bool half = tnb_dtype_eq(to, TNB_F16);
    scale = scalar_if_one(n, half ? onnx_astype(n, scale, TNB_F32) : scale);
    const tn_expr *y = onnx_emit(n, "dequantize",
                                 tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), "out_dtype",
                                          tn_dtype_imm_of(n->ctx, half ? TNB_F32 : to), NULL),
                                 x, scale, zp, NULL);
    return onnx_ret(n, onnx_astype(n, y, to));
}

static bool
import_dynamic_quantize(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    const tn_expr *lo = onnx_bin_num(n, "minimum", onnx_reduce(n, "min", x, NULL, 0, false), 0);
    const tn_expr *hi = onnx_bin_num(n, "maximum", onnx_reduce(n, "max", x, NULL, 0, false), 0);
    const tn_expr *scale = onnx_bin_num(n, "divide", onnx_bin(n, "subtract", hi, lo), 255);
    scale = onnx_where(n, onnx_bin_num(n, "equal", scale, 0), onnx_scalar(n, TNB_F32, 1),
                       scale); /* all are 0 */
    const tn_expr *zp =
        onnx_un(n, "round", onnx_un(n, "negative", onnx_bin(n, "divide", lo, scale)));
    zp = onnx_astype(n, onnx_clip(n, zp, 0, 255), TNB_U8);
    return onnx_ret_at(n, 1, scale) && onnx_ret_at(n, 2, zp) &&
           onnx_ret_at(n, 0, quantize(n, x, scale, zp, -1));
}

/* Whether inputs i and k are bytes: their differences from zero points are int16, products of which
 * are summed in int32. */
static bool
are_bytes(onnx_node *n, uint32_t i, uint32_t k)
{
    return !n->failed && onnx_in_dtype(n, i).bits == 8 && onnx_in_dtype(n, k).bits == 8;
}

/* x - zero point, of type `d`; the zero point is aligned with axis `axis` of x counted from the end when
 * it has several entries. */
static const tn_expr *
centred(onnx_node *n, uint32_t i, uint32_t i_zp, int64_t trailing, tnb_dtype d)
{
    const tn_expr *x = onnx_astype(n, onnx_in(n, i), d), *zp;
    int64_t axes[ONNX_MAX_DIMS];
    if (!onnx_has(n, i_zp))
        return x;
    zp = scalar_if_one(n, onnx_astype(n, onnx_in(n, i_zp), d));
    if (onnx_rank(n, zp) == 1 && trailing > 0) {
        for (int64_t k = 0; k < trailing; k++)
            axes[k] = k + 1;
        zp = onnx_unsqueeze(n, zp, axes, (uint32_t)trailing);
    }
    return onnx_bin(n, "subtract", x, zp);
}

/* The integer product of inputs a and b, centred. */
static const tn_expr *
matmul_int32(onnx_node *n, uint32_t a, uint32_t a_zp, uint32_t b, uint32_t b_zp)
{
    tnb_dtype d = are_bytes(n, a, b) ? TNB_DTYPE(TNB_INT, 16) : TNB_I32;
    const tn_expr *x = centred(n, a, a_zp, 1, d), *y = centred(n, b, b_zp, 0, d);
    if (tn_is_error(x) || tn_is_error(y))
        return tn_error_node(n->ctx);
    return onnx_emit(n, "matmul",
                     tn_dictv(n->ctx, "out_dtype", tn_dtype_imm_of(n->ctx, TNB_I32), NULL), x, y,
                     NULL);
}

static bool
import_matmul_integer(onnx_node *n)
{
    return onnx_ret(n, matmul_int32(n, 0, 2, 1, 3));
}

/* float(acc) * (sa * sb / sy), rounded, plus the zero point, saturated. */
static const tn_expr *
requantize(onnx_node *n, const tn_expr *acc, const tn_expr *factor, uint32_t i_scale)
{
    const tn_expr *sy = onnx_in(n, i_scale), *zp = onnx_in(n, i_scale + 1);
    factor = onnx_bin(n, "divide", factor, scalar_if_one(n, onnx_astype(n, sy, TNB_F32)));
    const tn_expr *f = onnx_bin(n, "multiply", onnx_astype(n, acc, TNB_F32), factor);
    return quantize(n, f, onnx_scalar(n, TNB_F32, 1), scalar_if_one(n, zp), -1);
}

static bool
import_qlinear_matmul(onnx_node *n)
{
    const tn_expr *acc = matmul_int32(n, 0, 2, 3, 5);
    const tn_expr *sa = onnx_astype(n, scalar_if_one(n, onnx_in(n, 1)), TNB_F32);
    const tn_expr *sb = onnx_astype(n, scalar_if_one(n, onnx_in(n, 4)), TNB_F32);
    int64_t last = 1;
    if (onnx_rank(n, sa) == 1)
        sa = onnx_unsqueeze(n, sa, &last, 1);
    return onnx_ret(n, requantize(n, acc, onnx_bin(n, "multiply", sa, sb), 6));
}

static bool
import_conv_integer(onnx_node *n)
{
    int64_t trailing = onnx_rank(n, onnx_in(n, 1)) - 1;
    tnb_dtype d = are_bytes(n, 0, 1) ? TNB_DTYPE(TNB_INT, 16) : TNB_I32;
    return onnx_ret(n, onnx_convolve(n, centred(n, 0, 2, 0, d), centred(n, 1, 3, trailing, d),
                                     n->in[1]->name, TNB_I32));
}

static bool
import_qlinear_conv(onnx_node *n)
{
    const tn_expr *w = onnx_in(n, 3);
    int64_t rank = onnx_rank(n, w), axes[ONNX_MAX_DIMS];
    if (rank < 3)
        return n->failed ? false
                         : onnx_fail(n, TNB_SHAPE,
                                     "the weight has rank %" PRId64 ", expected 3 or more", rank);
    for (int64_t i = 0; i < rank - 1; i++) /* all but the channels' */
        axes[i] = i + (i > 0);
    tnb_dtype d = are_bytes(n, 0, 3) ? TNB_DTYPE(TNB_INT, 16) : TNB_I32;
    const tn_expr *acc = onnx_convolve(n, centred(n, 0, 2, 0, d), centred(n, 3, 5, rank - 1, d),
                                       n->in[3]->name, TNB_I32);
    if (onnx_has(n, 8))
        acc = onnx_bin(n, "add", acc,
                       onnx_one_way(n,
                                    onnx_unsqueeze(n, onnx_astype(n, onnx_in(n, 8), TNB_I32), axes,
                                                   (uint32_t)(rank - 1)),
                                    acc));
    const tn_expr *sw = scalar_if_one(n, onnx_in(n, 4));
    if (onnx_rank(n, sw) == 1)
        sw = onnx_unsqueeze(n, sw, axes, (uint32_t)(rank - 1));
    return onnx_ret(n, requantize(n, acc,
                                  onnx_bin(n, "multiply", scalar_if_one(n, onnx_in(n, 1)), sw), 6));
}

const onnx_op onnx_quant_ops[] = {
    {"QuantizeLinear", 10, 0, 2, 3, 1, 1, import_quantize, NULL, 0, NULL},
    {"DequantizeLinear", 10, 0, 2, 3, 1, 1, import_dequantize, NULL, 0, NULL},
    {"DynamicQuantizeLinear", 11, 0, 1, 1, 1, 3, import_dynamic_quantize, NULL, 0, NULL},
    {"MatMulInteger", 10, 0, 2, 4, 1, 1, import_matmul_integer, NULL, 0, NULL},
    {"QLinearMatMul", 10, 0, 8, 8, 1, 1, import_qlinear_matmul, NULL, 0, NULL},
    {"ConvInteger", 10, 0, 2, 4, 1, 1, import_conv_integer, NULL, 0, NULL},
    {"QLinearConv", 10, 0, 8, 9, 1, 1, import_qlinear_conv, NULL, 0, NULL},
    {0},
};
