/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic, comparisons and casts of kernels in SPIR-V, with the results that the reference interpreter gives: integers wrap around,
 * divisions by zero give 0, casts from floats saturate at 64 bits and give 0 for NaN, shifts by all bits or more shift everything out.
 * What SPIR-V leaves undefined (a quotient of the least integer by -1, the remainder of a negative number, a float out of range made an
 * integer) is not computed.
 */
#include "spirv_kernel.h"

#include <math.h>

#include <spirv/unified1/GLSL.std.450.h>

static bool
is_float(tnb_dtype d)
{
    return tnb_dtype_is_float(d);
}

tnb_dtype
spirv_value_dtype(spirv_kernel *k, tnb_dtype d)
{
    if (tnb_dtype_is_int(d))
        d.bits = d.bits <= 32 ? 32 : d.bits;
    else if (is_float(d) && d.bits <= 16) {
        bool half = d.code == TNB_FLOAT && k->limits->has >> GPU_GENERIC_FLOAT16 & 1;
        d.code = TNB_FLOAT;
        d.bits = half ? 16 : 32;
    }
    return d;
}

uint32_t
spirv_type(spirv_kernel *k, tnb_dtype d)
{
    tnb_dtype v = spirv_value_dtype(k, d);
    if (d.lanes < 1 || d.lanes > 4)
        return tnk_visit_fail(k->v, 0, "a vector of %u lanes has no form in SPIR-V",
                              (unsigned)d.lanes);
    if (tnb_dtype_is_bool(d))
        return spirv_bool(&k->m, d.lanes);
    if (tnb_dtype_is_int(v) && (v.bits == 32 || spirv_need(k, GPU_GENERIC_INT64)))
        return spirv_int(&k->m, v.bits, d.lanes);
    bool known = v.code == TNB_FLOAT && (d.code == TNB_FLOAT || d.code == TNB_BFLOAT);
    if (known &&
        (v.bits == 32 || spirv_need(k, v.bits == 64 ? GPU_GENERIC_FLOAT64 : GPU_GENERIC_FLOAT16)))
        return spirv_float(&k->m, v.bits, d.lanes);
    return tnk_visit_fail(k->v, 0, "the dtype %s has no form in SPIR-V", tnb_dtype_print(d).s);
}

uint32_t
spirv_number(spirv_kernel *k, tnb_dtype d, double n)
{
    tnb_dtype v = spirv_value_dtype(k, d);
    if (!spirv_type(k, d))
        return 0;
    return tnb_dtype_is_bool(v)  ? spirv_const_bool(&k->m, n != 0, v.lanes)
           : tnb_dtype_is_int(v) ? spirv_const_int(&k->m, v.bits, (uint64_t)(int64_t)n, v.lanes)
                                 : spirv_const_float(&k->m, v.bits, n, v.lanes);
}

static uint32_t
integer(spirv_kernel *k, tnb_dtype d, uint64_t n)
{
    tnb_dtype v = spirv_value_dtype(k, d);
    return spirv_const_int(&k->m, v.bits, n, v.lanes);
}

static tnk_id
binary_op(spirv_kernel *k, SpvOp op, uint32_t type, tnk_id a, tnk_id b)
{
    const uint32_t both[] = {a, b};
    return type ? spirv_result(&k->m, &k->m.body, op, type, both, 2) : 0;
}

tnk_id
spirv_select(spirv_kernel *k, tnb_dtype d, tnk_id cond, tnk_id a, tnk_id b)
{
    uint32_t t = spirv_type(k, d);
    return t ? RESULT(k, OpSelect, t, cond, a, b) : 0;
}

tnk_id
spirv_wrapped(spirv_kernel *k, tnb_dtype d, tnk_id a)
{
    if (!tnb_dtype_is_int(d) || d.bits >= 32 || !a)
        return a;
    uint32_t t = spirv_type(k, d);
    if (d.code == TNB_UINT)
        return RESULT(k, OpBitwiseAnd, t, a, integer(k, d, (1u << d.bits) - 1));
    uint32_t up = integer(k, d, 32u - d.bits);
    return RESULT(k, OpShiftRightArithmetic, t, RESULT(k, OpShiftLeftLogical, t, a, up), up);
}

tnk_id
spirv_bfloat_value(spirv_kernel *k, uint32_t lanes, tnk_id bits)
{
    uint32_t u = spirv_int(&k->m, 32, lanes), sixteen = spirv_const_int(&k->m, 32, 16, lanes);
    return RESULT(k, OpBitcast, spirv_float(&k->m, 32, lanes),
                  RESULT(k, OpShiftLeftLogical, u, bits, sixteen));
}

/* The nearest, halves to even; a NaN stays one. */
tnk_id
spirv_bfloat_bits(spirv_kernel *k, uint32_t lanes, tnk_id a)
{
    spirv *m = &k->m;
    uint32_t u = spirv_int(m, 32, lanes), sixteen = spirv_const_int(m, 32, 16, lanes),
             bits = RESULT(k, OpBitcast, u, a),
             high = RESULT(k, OpShiftRightLogical, u, bits, sixteen),
             odd = RESULT(k, OpBitwiseAnd, u, high, spirv_const_int(m, 32, 1, lanes)),
             sum = RESULT(k, OpIAdd, u, RESULT(k, OpIAdd, u, bits, odd),
                          spirv_const_int(m, 32, 0x7fff, lanes)),
             size = RESULT(k, OpBitwiseAnd, u, bits, spirv_const_int(m, 32, 0x7fffffff, lanes)),
             nan = RESULT(k, OpUGreaterThan, spirv_bool(m, lanes), size,
                          spirv_const_int(m, 32, 0x7f800000, lanes));
    return RESULT(k, OpSelect, u, nan,
                  RESULT(k, OpBitwiseOr, u, high, spirv_const_int(m, 32, 0x40, lanes)),
                  RESULT(k, OpShiftRightLogical, u, sum, sixteen));
}

/* ---- casts ---- */

/* A float of 32 or 64 bits towards zero: out of range the nearest of 64 bits, whose lowest 32 are taken; NaN gives 0. */
static tnk_id
low_word_of(spirv_kernel *k, tnb_dtype f, tnk_id x)
{
    spirv *m = &k->m;
    uint32_t ft = spirv_type(k, f), u = spirv_int(m, 32, f.lanes), b = spirv_bool(m, f.lanes);
    uint32_t zero = spirv_number(k, f, 0), limit = spirv_number(k, f, 0x1p63);
    tnk_id size = spirv_glsl(m, GLSLstd450FAbs, ft, &x, 1),
           part = RESULT(k, OpFMul, ft, size, spirv_number(k, f, 0x1p-32)),
           above = spirv_glsl(m, GLSLstd450Floor, ft, &part, 1),
           rest = RESULT(k, OpFSub, ft, size,
                         RESULT(k, OpFMul, ft, above, spirv_number(k, f, 0x1p32)));
    rest = RESULT(k, OpSelect, ft, RESULT(k, OpFOrdLessThan, b, size, limit), rest, zero);
    tnk_id n = RESULT(k, OpConvertFToU, u, rest);
    n = RESULT(k, OpSelect, u, RESULT(k, OpFOrdLessThan, b, x, zero), RESULT(k, OpSNegate, u, n),
               n);
    return RESULT(k, OpSelect, u, RESULT(k, OpFOrdGreaterThanEqual, b, x, limit),
                  spirv_const_int(m, 32, 0xffffffff, f.lanes), n);
}

static tnk_id
long_of(spirv_kernel *k, tnb_dtype f, bool is_signed, tnk_id x)
{
    spirv *m = &k->m;
    uint32_t ft = spirv_type(k, f), l = spirv_int(m, 64, f.lanes), b = spirv_bool(m, f.lanes),
             zero = spirv_number(k, f, 0), least = spirv_number(k, f, -0x1p63),
             top = spirv_number(k, f, is_signed ? 0x1p63 : 0x1p64);
    tnk_id negative = RESULT(k, OpFOrdLessThan, b, x, zero),
           over = RESULT(k, OpFOrdGreaterThanEqual, b, x, top),
           under = RESULT(k, OpFOrdLessThanEqual, b, x, least),
           below = RESULT(k, OpLogicalAnd, b, negative, RESULT(k, OpLogicalNot, b, under)),
           within = RESULT(k, OpLogicalAnd, b, RESULT(k, OpFOrdGreaterThanEqual, b, x, zero),
                           RESULT(k, OpFOrdLessThan, b, x, top));
    tnk_id n = RESULT(k, OpBitwiseOr, l,
                      RESULT(k, OpConvertFToS, l, RESULT(k, OpSelect, ft, below, x, zero)),
                      RESULT(k, OpConvertFToU, l, RESULT(k, OpSelect, ft, within, x, zero)));
    n = RESULT(k, OpSelect, l, over,
               spirv_const_int(m, 64, is_signed ? (uint64_t)INT64_MAX : UINT64_MAX, f.lanes), n);
    return RESULT(k, OpSelect, l, under, spirv_const_int(m, 64, (uint64_t)INT64_MIN, f.lanes), n);
}

/* Of a float between limits that an integer of 32 bits has; NaN gives 0. */
tnk_id
spirv_bounded_cast(spirv_kernel *k, tnb_dtype from, tnb_dtype to, tnk_id a)
{
    spirv *m = &k->m;
    tnb_dtype v = spirv_value_dtype(k, from);
    uint32_t b = spirv_bool(m, from.lanes), u = spirv_int(m, 32, from.lanes);
    if (!spirv_type(k, from) || !spirv_type(k, to))
        return 0;
    tnk_id number = RESULT(k, OpSelect, spirv_type(k, from), RESULT(k, OpFOrdEqual, b, a, a), a,
                           spirv_number(k, v, 0));
    return spirv_wrapped(k, to, RESULT(k, OpConvertFToS, u, number));
}

/* Rounded to what the dtype has, as a value. */
static tnk_id
rounded(spirv_kernel *k, tnb_dtype to, tnk_id a)
{
    if (to.code == TNB_BFLOAT)
        return spirv_bfloat_value(k, to.lanes, spirv_bfloat_bits(k, to.lanes, a));
    return RESULT(k, OpQuantizeToF16, spirv_float(&k->m, 32, to.lanes), a);
}

static tnk_id
to_float(spirv_kernel *k, tnb_dtype from, tnb_dtype to, tnk_id a)
{
    tnb_dtype vf = spirv_value_dtype(k, from), vt = spirv_value_dtype(k, to);
    uint32_t t = spirv_type(k, to);
    if (tnb_dtype_is_int(from)) {
        a = from.code == TNB_INT ? RESULT(k, OpConvertSToF, t, a) : RESULT(k, OpConvertUToF, t, a);
        return to.bits == 16 && vt.bits == 32 ? rounded(k, to, a) : a;
    }
    if (vf.bits != vt.bits)
        a = RESULT(k, OpFConvert, t, a);
    bool narrows = to.bits == 16 && vt.bits == 32 && !tnb_dtype_eq(from, to);
    return narrows ? rounded(k, to, a) : a;
}

/* An int of 32 bits with 64. Not by OpSConvert: Mesa 22's lavapipe takes a comparison of its result with a constant to be false. */
static tnk_id
sign_extended(spirv_kernel *k, uint32_t lanes, tnk_id a)
{
    uint32_t t = spirv_int(&k->m, 64, lanes), sign = spirv_const_int(&k->m, 64, 1u << 31, lanes);
    return RESULT(k, OpISub, t, RESULT(k, OpBitwiseXor, t, RESULT(k, OpUConvert, t, a), sign),
                  sign);
}

static tnk_id
to_int(spirv_kernel *k, tnb_dtype from, tnb_dtype to, tnk_id a)
{
    tnb_dtype vf = spirv_value_dtype(k, from), vt = spirv_value_dtype(k, to);
    uint32_t t = spirv_type(k, to);
    if (is_float(from)) {
        if (vf.bits == 16) {
            vf.bits = 32;
            a = RESULT(k, OpFConvert, spirv_type(k, vf), a);
        }
        if (vt.bits == 64)
            return long_of(k, vf, to.code == TNB_INT, a);
        return spirv_wrapped(k, to, low_word_of(k, vf, a));
    }
    if (vf.bits < vt.bits)
        a = from.code == TNB_INT ? sign_extended(k, to.lanes, a) : RESULT(k, OpUConvert, t, a);
    else if (vf.bits > vt.bits)
        a = RESULT(k, OpUConvert, t, a);
    bool fits =
        from.code == to.code ? from.bits <= to.bits : from.code == TNB_UINT && from.bits < to.bits;
    return fits ? a : spirv_wrapped(k, to, a);
}

tnk_id
spirv_cast(spirv_kernel *k, tnb_dtype from, tnb_dtype to, tnk_id a)
{
    uint32_t b = spirv_bool(&k->m, to.lanes);
    if (!spirv_type(k, from) || !spirv_type(k, to) || tnb_dtype_eq(from, to))
        return k->v->failed ? 0 : a;
    if (tnb_dtype_is_bool(to))
        return is_float(from) ? RESULT(k, OpFUnordNotEqual, b, a, spirv_number(k, from, 0))
                              : RESULT(k, OpINotEqual, b, a, integer(k, from, 0));
    if (tnb_dtype_is_bool(from))
        return spirv_select(k, to, a, spirv_number(k, to, 1), spirv_number(k, to, 0));
    return is_float(to) ? to_float(k, from, to, a) : to_int(k, from, to, a);
}

/* The bits of a float of 16 bits, in 32; and back. */
static tnk_id
half_bits(spirv_kernel *k, tnb_dtype d, tnk_id a)
{
    spirv *m = &k->m;
    uint32_t f = spirv_float(m, 32, 1), u = spirv_int(m, 32, 1);
    if (d.code == TNB_BFLOAT)
        return spirv_bfloat_bits(k, 1, a);
    if (spirv_value_dtype(k, d).bits == 16)
        a = RESULT(k, OpFConvert, f, a);
    tnk_id two =
        RESULT(k, OpCompositeConstruct, spirv_float(m, 32, 2), a, spirv_const_float(m, 32, 0, 1));
    return spirv_glsl(m, GLSLstd450PackHalf2x16, u, &two, 1);
}

static tnk_id
half_value(spirv_kernel *k, tnb_dtype d, tnk_id bits)
{
    spirv *m = &k->m;
    if (d.code == TNB_BFLOAT)
        return spirv_bfloat_value(k, 1, bits);
    bits = RESULT(k, OpBitwiseAnd, spirv_int(m, 32, 1), bits, spirv_const_int(m, 32, 0xffff, 1));
    tnk_id two = spirv_glsl(m, GLSLstd450UnpackHalf2x16, spirv_float(m, 32, 2), &bits, 1),
           one = RESULT(k, OpCompositeExtract, spirv_float(m, 32, 1), two, 0);
    return spirv_value_dtype(k, d).bits == 16 ? RESULT(k, OpFConvert, spirv_type(k, d), one) : one;
}

tnk_id
spirv_bits(spirv_kernel *k, tnb_dtype from, tnb_dtype to, tnk_id a, tn_loc loc)
{
    bool bytes = tnb_dtype_is_bool(from) || tnb_dtype_is_bool(to) || from.bits < 8;
    if (from.bits != to.bits || from.lanes != to.lanes || bytes ||
        (from.bits == 16 && from.lanes > 1 && (is_float(from) || is_float(to))))
        return tnk_visit_fail(k->v, loc, "reinterpret from %s to %s has no form in SPIR-V",
                              tnb_dtype_print(from).s, tnb_dtype_print(to).s);
    if (!spirv_type(k, from) || !spirv_type(k, to) || tnb_dtype_eq(from, to))
        return k->v->failed ? 0 : a;
    if (is_float(from) && from.bits == 16)
        a = half_bits(k, from, a);
    if (is_float(to) && to.bits == 16)
        return half_value(k, to, a);
    if (tnb_dtype_is_int(from) && tnb_dtype_is_int(to))
        return spirv_wrapped(k, to, a);
    if (is_float(from) && from.bits == 16)
        return spirv_wrapped(k, to, a);
    return RESULT(k, OpBitcast, spirv_type(k, to), a);
}

/* ---- operations ---- */

/* The number that an expression is, in each lane. */
static bool
literal(const tn_expr *x, int64_t *v)
{
    const tn_broadcast *b = tn_as_broadcast(x);
    return tn_int_value(b ? b->value : x, v);
}

static bool
is_float_literal(const tn_expr *x)
{
    const tn_broadcast *b = tn_as_broadcast(x);
    const tn_float_imm *f = tn_as_float_imm(b ? b->value : x);
    return f && !isnan(f->value);
}

/* A division by 0 gives 0: it is 0 / 1. `by`: what b is, NULL where that is not known. */
static void
none_by_zero(spirv_kernel *k, tnb_dtype d, const int64_t *by, tnk_id *a, tnk_id *b)
{
    uint32_t t = spirv_type(k, d);
    if (by && *by)
        return;
    tnk_id none = RESULT(k, OpIEqual, spirv_bool(&k->m, d.lanes), *b, integer(k, d, 0));
    *a = RESULT(k, OpSelect, t, none, integer(k, d, 0), *a);
    *b = RESULT(k, OpSelect, t, none, integer(k, d, 1), *b);
}

static tnk_id
unsigned_division(spirv_kernel *k, tnb_dtype d, bool quotient, const int64_t *by, tnk_id a,
                  tnk_id b)
{
    none_by_zero(k, d, by, &a, &b);
    return binary_op(k, quotient ? SpvOpUDiv : SpvOpUMod, spirv_type(k, d), a, b);
}

static bool
is_power_of_two(int64_t n)
{
    return n > 0 && !(n & (n - 1));
}

/* a & (n - 1); of 64 bits only those that count. */
static tnk_id
low_bits(spirv_kernel *k, tnb_dtype d, tnk_id a, int64_t n)
{
    uint32_t t = spirv_type(k, d), word = spirv_int(&k->m, 32, d.lanes);
    if (d.bits <= 32 || n > (int64_t)1 << 32)
        return RESULT(k, OpBitwiseAnd, t, a, integer(k, d, (uint64_t)n - 1));
    tnk_id low = RESULT(k, OpBitwiseAnd, word, RESULT(k, OpUConvert, word, a),
                        spirv_const_int(&k->m, 32, (uint64_t)n - 1, d.lanes));
    return RESULT(k, OpUConvert, t, low);
}

/* By sizes, which are unsigned: that of the least integer, too. A quotient below 0 that is rounded down is ~((|a| - 1) / |b|). What is
 * selected is selected in front of the division, not behind it: the lowest bit of a 64-bit quotient, corrected and selected behind it,
 * was always 1 by NVIDIA's compiler of version 580. */
static tnk_id
signed_division(spirv_kernel *k, tnb_dtype d, tn_kind kind, const int64_t *by, tnk_id a, tnk_id b)
{
    uint32_t t = spirv_type(k, d), top = integer(k, d, spirv_value_dtype(k, d).bits - 1u);
    bool quotient = kind == TN_KIND_DIV || kind == TN_KIND_FLOOR_DIV,
         floors = kind == TN_KIND_FLOOR_DIV || kind == TN_KIND_FLOOR_MOD, plain = by && *by > 0;
    if (floors && plain && is_power_of_two(*by))
        return quotient ? RESULT(k, OpShiftRightArithmetic, t, a,
                                 integer(k, d, (uint64_t)__builtin_ctzll((uint64_t)*by)))
                        : low_bits(k, d, a, *by);
    none_by_zero(k, d, by, &a, &b);
    tnk_id sign = RESULT(k, OpShiftRightArithmetic, t, a, top), /* -1 or 0, as `below` is */
        size = RESULT(k, OpISub, t, RESULT(k, OpBitwiseXor, t, a, sign), sign), size_b = b,
           below = sign;
    if (!plain) {
        tnk_id sign_b = RESULT(k, OpShiftRightArithmetic, t, b, top);
        size_b = RESULT(k, OpISub, t, RESULT(k, OpBitwiseXor, t, b, sign_b), sign_b);
        below = RESULT(k, OpBitwiseXor, t, sign, sign_b);
    }
    if (floors && !plain) { /* 0 is not below 0 */
        uint32_t zero = integer(k, d, 0), bt = spirv_bool(&k->m, d.lanes);
        below = RESULT(k, OpSelect, t, RESULT(k, OpIEqual, bt, a, zero), zero, below);
    }
    if (floors)
        size = RESULT(k, OpIAdd, t, size, below);
    tnk_id q = RESULT(k, OpBitwiseXor, t, RESULT(k, OpUDiv, t, size, size_b), below);
    if (!floors)
        q = RESULT(k, OpISub, t, q, below);
    return quotient ? q : RESULT(k, OpISub, t, a, RESULT(k, OpIMul, t, q, b));
}

/* A float operation, which a device does not join with another or rearrange; sums of products are joined here (fused). */
static tnk_id
exact(spirv_kernel *k, SpvOp op, uint32_t type, tnk_id a, tnk_id b)
{
    tnk_id id = binary_op(k, op, type, a, b);
    if (id)
        SPIRV(&k->m, &k->m.marks, OpDecorate, id, SpvDecorationNoContraction);
    return id;
}

static tnk_id
product(spirv_kernel *k, uint32_t type, tnk_id a, tnk_id b)
{
    tnk_id id = exact(k, SpvOpFMul, type, a, b);
    TNB_PUSH(k->m.arena, k->products, id);
    TNB_PUSH(k->m.arena, k->products, a);
    TNB_PUSH(k->m.arena, k->products, b);
    return id;
}

/* The operands of a product that was made just before; NULL: it is none. */
static const uint32_t *
factors(const spirv_kernel *k, const tn_expr *x, tnk_id id)
{
    enum { LOOK_BACK = 64 };
    uint32_t n = k->products.n;
    if (x->kind != TN_KIND_MUL)
        return NULL;
    for (uint32_t i = 3; i <= n && i <= 3 * LOOK_BACK; i += 3)
        if (k->products.at[n - i] == id)
            return &k->products.at[n - i + 1];
    return NULL;
}

/* Fma keeps what a product and a sum have, and is one instruction where the device has it. */
static tnk_id
sum(spirv_kernel *k, const tn_binary *x, uint32_t type, bool minus, tnk_id a, tnk_id b)
{
    const uint32_t *p = factors(k, x->b, b);
    tnk_id args[3] = {0, 0, a};
    if (p) {
        args[0] = minus ? RESULT(k, OpFNegate, type, p[0]) : p[0];
        args[1] = p[1];
    } else if ((p = factors(k, x->a, a))) {
        args[0] = p[0];
        args[1] = p[1];
        args[2] = minus ? RESULT(k, OpFNegate, type, b) : b;
    } else {
        return exact(k, minus ? SpvOpFSub : SpvOpFAdd, type, a, b);
    }
    return spirv_glsl(&k->m, GLSLstd450Fma, type, args, 3);
}

static tnk_id
float_division(spirv_kernel *k, tnb_dtype d, tn_kind kind, tnk_id a, tnk_id b)
{
    uint32_t t = spirv_type(k, d);
    tnk_id q = spirv_quotient(k, d, a, b);
    if (kind == TN_KIND_DIV)
        return q;
    q = spirv_glsl(&k->m, kind == TN_KIND_MOD ? GLSLstd450Trunc : GLSLstd450Floor, t, &q, 1);
    if (kind == TN_KIND_FLOOR_DIV)
        return q;
    return exact(k, SpvOpFSub, t, a, exact(k, SpvOpFMul, t, q, b));
}

static tnk_id
division(spirv_kernel *k, const tn_binary *x, tnb_dtype d, tn_kind kind, tnk_id a, tnk_id b)
{
    int64_t by;
    bool known = x && literal(x->b, &by),
         quotient = kind == TN_KIND_DIV || kind == TN_KIND_FLOOR_DIV;
    if (is_float(d))
        return float_division(k, d, kind, a, b);
    tnk_id r = d.code == TNB_UINT ? unsigned_division(k, d, quotient, known ? &by : NULL, a, b)
                                  : signed_division(k, d, kind, known ? &by : NULL, a, b);
    return spirv_wrapped(k, d, r);
}

enum { OF_UINTS, OF_INTS, OF_FLOATS, OF_BOOLS };

static SpvOp
comparison(tn_kind kind, int of)
{
    static const struct {
        tn_kind kind;
        SpvOp op[4];
    } rows[] = {
        {TN_KIND_EQ, {SpvOpIEqual, SpvOpIEqual, SpvOpFOrdEqual, SpvOpLogicalEqual}},
        {TN_KIND_NE, {SpvOpINotEqual, SpvOpINotEqual, SpvOpFUnordNotEqual, SpvOpLogicalNotEqual}},
        {TN_KIND_LT, {SpvOpULessThan, SpvOpSLessThan, SpvOpFOrdLessThan, SpvOpNop}},
        {TN_KIND_LE, {SpvOpULessThanEqual, SpvOpSLessThanEqual, SpvOpFOrdLessThanEqual, SpvOpNop}},
        {TN_KIND_GT, {SpvOpUGreaterThan, SpvOpSGreaterThan, SpvOpFOrdGreaterThan, SpvOpNop}},
        {TN_KIND_GE,
         {SpvOpUGreaterThanEqual, SpvOpSGreaterThanEqual, SpvOpFOrdGreaterThanEqual, SpvOpNop}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == kind)
            return rows[i].op[of];
    return SpvOpNop;
}

static SpvOp
arithmetic(tn_kind kind, int of)
{
    switch ((int)kind) {
    case TN_KIND_ADD:
        return of == OF_BOOLS ? SpvOpLogicalOr : SpvOpIAdd;
    case TN_KIND_SUB:
        return of == OF_BOOLS ? SpvOpLogicalNotEqual : SpvOpISub;
    case TN_KIND_MUL:
        return of == OF_BOOLS ? SpvOpLogicalAnd : SpvOpIMul;
    case TN_KIND_AND:
        return SpvOpLogicalAnd;
    case TN_KIND_OR:
        return SpvOpLogicalOr;
    default:
        return SpvOpNop;
    }
}

static int
class_of(tnb_dtype d)
{
    return tnb_dtype_is_bool(d) ? OF_BOOLS
           : is_float(d)        ? OF_FLOATS
           : d.code == TNB_INT  ? OF_INTS
                                : OF_UINTS;
}

/* NaN if either is; a literal goes second, where the plain comparison keeps a NaN of the other operand. */
static tnk_id
min_max(spirv_kernel *k, const tn_binary *x, tnb_dtype d, bool max, tnk_id a, tnk_id b)
{
    uint32_t t = spirv_type(k, d), bt = spirv_bool(&k->m, d.lanes);
    int of = class_of(d);
    if (of == OF_BOOLS)
        return max ? RESULT(k, OpLogicalOr, t, a, b) : RESULT(k, OpLogicalAnd, t, a, b);
    bool first = x && is_float_literal(x->a), second = x && is_float_literal(x->b);
    if (first && !second) {
        tnk_id c = a;
        a = b;
        b = c;
    }
    tnk_id take = binary_op(k, comparison(max ? TN_KIND_GT : TN_KIND_LT, of), bt, b, a);
    if (of == OF_FLOATS && !first && !second)
        take = RESULT(k, OpLogicalOr, bt, take, RESULT(k, OpFUnordNotEqual, bt, b, b));
    return RESULT(k, OpSelect, t, take, b, a);
}

/* x, of which only the literals are looked at, may be NULL. */
tnk_id
spirv_operation(spirv_kernel *k, const tn_expr *x, tn_kind kind, tnk_id a, tnk_id b)
{
    const tn_binary *e = tn_as_binary(x);
    tnb_dtype d = tn_dtype_of(e->a);
    uint32_t t = spirv_type(k, d), bt = spirv_bool(&k->m, d.lanes);
    int of = class_of(d);
    if (!t)
        return 0;
    if (kind == TN_KIND_MIN || kind == TN_KIND_MAX)
        return min_max(k, e, d, kind == TN_KIND_MAX, a, b);
    if (kind >= TN_KIND_DIV && kind <= TN_KIND_FLOOR_MOD && of != OF_BOOLS)
        return division(k, e, d, kind, a, b);
    if (of == OF_FLOATS && kind == TN_KIND_MUL)
        return product(k, t, a, b);
    if (of == OF_FLOATS && (kind == TN_KIND_ADD || kind == TN_KIND_SUB))
        return sum(k, e, t, kind == TN_KIND_SUB, a, b);
    SpvOp op = arithmetic(kind, of);
    if (op != SpvOpNop)
        return spirv_wrapped(k, d, binary_op(k, op, t, a, b));
    op = comparison(kind, of);
    if (op == SpvOpNop && of == OF_BOOLS) { /* as numbers */
        tnb_dtype u = {TNB_UINT, 32, d.lanes};
        op = comparison(kind, OF_UINTS);
        a = spirv_cast(k, d, u, a);
        b = spirv_cast(k, d, u, b);
    }
    if (op == SpvOpNop)
        return tnk_visit_fail(k->v, x->loc, "%s of %s has no form in SPIR-V", tn_kinds[kind].name,
                              tnb_dtype_print(d).s);
    return binary_op(k, op, bt, a, b);
}

tnk_id
spirv_shift(spirv_kernel *k, tnb_dtype d, bool left, tnk_id a, tnk_id n)
{
    tnb_dtype v = spirv_value_dtype(k, d);
    uint32_t t = spirv_type(k, d), bt = spirv_bool(&k->m, d.lanes);
    tnk_id within = RESULT(k, OpULessThan, bt, n, integer(k, d, d.bits)),
           by = RESULT(k, OpBitwiseAnd, t, n, integer(k, d, v.bits - 1u));
    if (left)
        return RESULT(k, OpSelect, t, within,
                      spirv_wrapped(k, d, RESULT(k, OpShiftLeftLogical, t, a, by)),
                      integer(k, d, 0));
    if (d.code == TNB_UINT)
        return RESULT(k, OpSelect, t, within, RESULT(k, OpShiftRightLogical, t, a, by),
                      integer(k, d, 0));
    by = RESULT(k, OpSelect, t, within, by, integer(k, d, v.bits - 1u));
    return RESULT(k, OpShiftRightArithmetic, t, a, by);
}
