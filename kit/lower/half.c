/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between float32 and the bits of a float16 or bfloat16, in 32-bit integers and float32 alone: for devices that have no
 * such numbers. To the nearest, halves to even; subnormal numbers, infinities and NaN are exact. No step to or from a float16 needs a
 * subnormal float32.
 */
#include "lower.h"

static const tn_expr *
u32(tn_ctx *ctx, uint32_t v)
{
    return tn_int_imm_of(ctx, TNB_DTYPE(TNB_UINT, 32), v);
}

static const tn_expr *
bits_of(tn_ctx *ctx, const tn_expr *x)
{
    return tnk_reinterpret(ctx, TNB_DTYPE(TNB_UINT, 32), x);
}

static const tn_expr *
to_float(tn_ctx *ctx, const tn_expr *half)
{
    const tn_expr *sign =
                      tn_shift_left(ctx, tn_bitwise_and(ctx, half, u32(ctx, 0x8000)), u32(ctx, 16)),
                  *rest = tn_bitwise_and(ctx, half, u32(ctx, 0x7fff)),
                  *moved = tn_shift_left(ctx, rest, u32(ctx, 13));
    const tn_expr *normal = tn_add(ctx, moved, u32(ctx, 112u << 23)),
                  *infinite = tn_bitwise_or(ctx, moved, u32(ctx, 0x7f800000)),
                  *small = bits_of(ctx, tn_mul(ctx, tn_cast_to(ctx, TNB_F32, rest),
                                               tn_float_imm_of(ctx, TNB_F32, 0x1p-24)));
    const tn_expr *size =
        tn_select_of(ctx, tn_cmp(ctx, TN_KIND_LT, rest, u32(ctx, 0x400)), small, normal);
    size = tn_select_of(ctx, tn_cmp(ctx, TN_KIND_GE, rest, u32(ctx, 0x7c00)), infinite, size);
    return tnk_reinterpret(ctx, TNB_F32, tn_bitwise_or(ctx, size, sign));
}

static const tn_expr *
to_half(tn_ctx *ctx, const tn_expr *x)
{
    const tn_expr *b = bits_of(ctx, x),
                  *sign =
                      tn_bitwise_and(ctx, tn_shift_right(ctx, b, u32(ctx, 16)), u32(ctx, 0x8000)),
                  *rest = tn_bitwise_and(ctx, b, u32(ctx, 0x7fffffff));
    const tn_expr *odd = tn_bitwise_and(ctx, tn_shift_right(ctx, rest, u32(ctx, 13)), u32(ctx, 1));
    /* exponents move by 112; 0xfff and the last bit kept round halves to even */
    const tn_expr *normal =
        tn_shift_right(ctx, tn_add(ctx, tn_add(ctx, rest, odd), u32(ctx, 0xfffu - (112u << 23))),
                       u32(ctx, 13));
    /* the sum with 0.5 has its last bit where the last of a subnormal float16 is */
    const tn_expr *small = tn_sub(ctx,
                                  bits_of(ctx, tn_add(ctx, tnk_reinterpret(ctx, TNB_F32, rest),
                                                      tn_float_imm_of(ctx, TNB_F32, 0.5))),
                                  u32(ctx, 0x3f000000));
    const tn_expr *infinite = tn_select_of(ctx, tn_cmp(ctx, TN_KIND_GT, rest, u32(ctx, 0x7f800000)),
                                           u32(ctx, 0x7e00), u32(ctx, 0x7c00));
    const tn_expr *size =
        tn_select_of(ctx, tn_cmp(ctx, TN_KIND_LT, rest, u32(ctx, 0x38800000)), small, normal);
    size = tn_select_of(ctx, tn_cmp(ctx, TN_KIND_GE, rest, u32(ctx, 0x477ff000)), infinite, size);
    return tn_bitwise_or(ctx, size, sign);
}

/* The operand is used often: it is computed once. */
static const tn_expr *
of_one(tn_ctx *ctx, const tn_expr *x, const tn_expr *(*fn)(tn_ctx *ctx, const tn_expr *x))
{
    const tn_expr *v = tn_is_var(x) ? x : tn_var_dtype(ctx, "half", tn_dtype_of(x));
    return v == x ? fn(ctx, x) : tn_let_of(ctx, v, x, fn(ctx, v));
}

const tn_expr *
tnk_half_to_float(tn_ctx *ctx, const tn_expr *bits)
{
    return of_one(ctx, bits, to_float);
}

const tn_expr *
tnk_float_to_half(tn_ctx *ctx, const tn_expr *x)
{
    return of_one(ctx, x, to_half);
}

const tn_expr *
tnk_bfloat_to_float(tn_ctx *ctx, const tn_expr *bits)
{
    return tnk_reinterpret(ctx, TNB_F32, tn_shift_left(ctx, bits, u32(ctx, 16)));
}

static const tn_expr *
to_bfloat(tn_ctx *ctx, const tn_expr *x)
{
    const tn_expr *b = bits_of(ctx, x), *high = tn_shift_right(ctx, b, u32(ctx, 16)),
                  *rest = tn_bitwise_and(ctx, b, u32(ctx, 0x7fffffff)),
                  *odd = tn_bitwise_and(ctx, high, u32(ctx, 1)),
                  *near = tn_shift_right(ctx, tn_add(ctx, tn_add(ctx, b, odd), u32(ctx, 0x7fff)),
                                         u32(ctx, 16));
    return tn_select_of(ctx, tn_cmp(ctx, TN_KIND_GT, rest, u32(ctx, 0x7f800000)),
                        tn_bitwise_or(ctx, high, u32(ctx, 0x40)), near);
}

const tn_expr *
tnk_float_to_bfloat(tn_ctx *ctx, const tn_expr *x)
{
    return of_one(ctx, x, to_bfloat);
}
