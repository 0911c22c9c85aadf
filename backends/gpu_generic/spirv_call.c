/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in kernels in SPIR-V. What functions of mathematics GLSL.std.450 has with guaranteed precision (Vulkan, "Precision and
 * Operation of SPIR-V Instructions"): floor, ceil, trunc, round to even and absolute values are exact; sqrt is mended as quotients are
 * (spirv_float.c). The others come lowered to arithmetic (LowerMath).
 */
#include "spirv_kernel.h"

#include <string.h>

#include <spirv/unified1/GLSL.std.450.h>

static tnk_id
no_form(spirv_kernel *k, const tn_call *x)
{
    return tnk_visit_fail(
        k->v, x->base.loc, "the intrinsic '%s' on %s has no form in SPIR-V",
        tn_call_op_of(x)->base.name,
        tnb_dtype_print(x->args.n ? tn_dtype_of(x->args.at[0]) : tn_dtype_of(TN_NODE(x))).s);
}

static tnk_id
bit_operation(spirv_kernel *k, tn_intrin_id op, tnb_dtype d, const tnk_id *a)
{
    uint32_t t = spirv_type(k, d);
    bool logic = tnb_dtype_is_bool(d);
    if (!t)
        return 0;
    switch ((int)op) {
    case TN_INTRIN_bitwise_and:
        return logic ? RESULT(k, OpLogicalAnd, t, a[0], a[1])
                     : RESULT(k, OpBitwiseAnd, t, a[0], a[1]);
    case TN_INTRIN_bitwise_or:
        return logic ? RESULT(k, OpLogicalOr, t, a[0], a[1])
                     : RESULT(k, OpBitwiseOr, t, a[0], a[1]);
    case TN_INTRIN_bitwise_xor:
        return logic ? RESULT(k, OpLogicalNotEqual, t, a[0], a[1])
                     : RESULT(k, OpBitwiseXor, t, a[0], a[1]);
    default:
        return logic ? RESULT(k, OpLogicalNot, t, a[0])
                     : spirv_wrapped(k, d, RESULT(k, OpNot, t, a[0]));
    }
}

/* A number of bits that the dtype has. */
static bool
is_small_count(const tn_expr *by, tnb_dtype d)
{
    const tn_broadcast *b = tn_as_broadcast(by);
    int64_t n;
    return tn_int_value(b ? b->value : by, &n) && n >= 0 && n < d.bits;
}

static tnk_id
plain_shift(spirv_kernel *k, tnb_dtype d, bool left, tnk_id a, tnk_id by)
{
    uint32_t t = spirv_type(k, d);
    if (!t)
        return 0;
    return left                 ? spirv_wrapped(k, d, RESULT(k, OpShiftLeftLogical, t, a, by))
           : d.code == TNB_UINT ? RESULT(k, OpShiftRightLogical, t, a, by)
                                : RESULT(k, OpShiftRightArithmetic, t, a, by);
}

static tnk_id
absolute(spirv_kernel *k, tnb_dtype d, tnk_id a)
{
    uint32_t t = spirv_type(k, d), b = spirv_bool(&k->m, d.lanes);
    if (!t || d.code == TNB_UINT || tnb_dtype_is_bool(d))
        return t ? a : 0;
    if (tnb_dtype_is_float(d))
        return spirv_glsl(&k->m, GLSLstd450FAbs, t, &a, 1);
    tnk_id negative = RESULT(k, OpSLessThan, b, a, spirv_number(k, d, 0));
    return spirv_wrapped(k, d, RESULT(k, OpSelect, t, negative, RESULT(k, OpSNegate, t, a), a));
}

/* By the bits: a device may take numbers to be finite. */
static tnk_id
float_class(spirv_kernel *k, tn_intrin_id op, tnb_dtype d, tnk_id a)
{
    spirv *m = &k->m;
    tnb_dtype v = spirv_value_dtype(k, d);
    uint32_t b = spirv_bool(m, d.lanes);
    if (!spirv_type(k, d))
        return 0;
    if (v.bits == 16) {
        v.bits = 32;
        a = RESULT(k, OpFConvert, spirv_type(k, v), a);
    }
    if (v.bits == 64 && !spirv_has(k, GPU_GENERIC_INT64))
        return op == TN_INTRIN_isnan   ? RESULT(k, OpIsNan, b, a)
               : op == TN_INTRIN_isinf ? RESULT(k, OpIsInf, b, a)
                                       : RESULT(k, OpLogicalNot, b,
                                                RESULT(k, OpLogicalOr, b, RESULT(k, OpIsNan, b, a),
                                                       RESULT(k, OpIsInf, b, a)));
    uint32_t u = spirv_int(m, v.bits, d.lanes);
    uint64_t sign = v.bits == 64 ? (uint64_t)INT64_MAX : INT32_MAX,
             top = v.bits == 64 ? 0x7ff0000000000000u : 0x7f800000u;
    tnk_id size = RESULT(k, OpBitwiseAnd, u, RESULT(k, OpBitcast, u, a),
                         spirv_const_int(m, v.bits, sign, d.lanes)),
           infinity = spirv_const_int(m, v.bits, top, d.lanes);
    return op == TN_INTRIN_isnan   ? RESULT(k, OpUGreaterThan, b, size, infinity)
           : op == TN_INTRIN_isinf ? RESULT(k, OpIEqual, b, size, infinity)
                                   : RESULT(k, OpULessThan, b, size, infinity);
}

/* popcount and clz of up to 32 bits; of 64 by halves. */
static tnk_id
count_bits(spirv_kernel *k, bool ones, tnb_dtype from, tnb_dtype to, tnk_id a)
{
    spirv *m = &k->m;
    uint32_t u = spirv_int(m, 32, from.lanes);
    tnb_dtype word = {TNB_UINT, 32, from.lanes};
    if (!spirv_type(k, from) || !spirv_type(k, to))
        return 0;
    if (from.bits == 64) {
        uint32_t l = spirv_int(m, 64, from.lanes), b = spirv_bool(m, from.lanes);
        tnk_id lo = RESULT(k, OpUConvert, u, a),
               hi = RESULT(k, OpUConvert, u,
                           RESULT(k, OpShiftRightLogical, l, a,
                                  spirv_const_int(m, 64, 32, from.lanes))),
               n = count_bits(k, ones, word, word, lo), high = count_bits(k, ones, word, word, hi);
        if (ones)
            n = RESULT(k, OpIAdd, u, n, high);
        else
            n = RESULT(k, OpSelect, u,
                       RESULT(k, OpIEqual, b, hi, spirv_const_int(m, 32, 0, from.lanes)),
                       RESULT(k, OpIAdd, u, n, spirv_const_int(m, 32, 32, from.lanes)), high);
        return spirv_cast(k, word, to, n);
    }
    if (from.bits < 32)
        a = RESULT(k, OpBitwiseAnd, u, a,
                   spirv_const_int(m, 32, (1u << from.bits) - 1, from.lanes));
    tnk_id n;
    if (ones) {
        n = RESULT(k, OpBitCount, u, a);
    } else { /* of 0 the number is -1 */
        tnk_id top = spirv_glsl(m, GLSLstd450FindUMsb, u, &a, 1);
        n = RESULT(k, OpISub, u, spirv_const_int(m, 32, from.bits - 1u, from.lanes), top);
    }
    return spirv_cast(k, word, to, n);
}

/* Halves away from zero: where what trunc takes away is a half or more, by 1 further. */
static tnk_id
round_away(spirv_kernel *k, tnb_dtype d, tnk_id a)
{
    spirv *m = &k->m;
    uint32_t t = spirv_type(k, d), b = spirv_bool(m, d.lanes);
    tnk_id whole = spirv_glsl(m, GLSLstd450Trunc, t, &a, 1), rest = RESULT(k, OpFSub, t, a, whole),
           size = spirv_glsl(m, GLSLstd450FAbs, t, &rest, 1),
           sign = spirv_glsl(m, GLSLstd450FSign, t, &a, 1);
    return RESULT(k, OpSelect, t,
                  RESULT(k, OpFOrdGreaterThanEqual, b, size, spirv_number(k, d, 0.5)),
                  RESULT(k, OpFAdd, t, whole, sign), whole);
}

static tnk_id
function(spirv_kernel *k, const tn_call *x, const tnk_id *args)
{
    static const struct {
        tn_intrin_id op;
        uint32_t glsl;
    } rows[] = {
        {TN_INTRIN_floor, GLSLstd450Floor},
        {TN_INTRIN_ceil, GLSLstd450Ceil},
        {TN_INTRIN_trunc, GLSLstd450Trunc},
        {TN_INTRIN_nearbyint, GLSLstd450RoundEven},
    };
    tnb_dtype d = tn_dtype_of(TN_NODE(x));
    tn_intrin_id op = tn_intrin_of(TN_NODE(x));
    uint32_t t = spirv_type(k, d);
    if (!t || !tnb_dtype_is_float(d))
        return t ? no_form(k, x) : 0;
    if (op == TN_INTRIN_round)
        return round_away(k, d, args[0]);
    if (op == TN_INTRIN_rsqrt)
        return spirv_quotient(k, d, spirv_number(k, d, 1), spirv_root(k, d, args[0]));
    if (op == TN_INTRIN_sqrt)
        return spirv_root(k, d, args[0]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return spirv_glsl(&k->m, rows[i].glsl, t, args, 1);
    return no_form(k, x);
}

static tnk_id
index_in(spirv_kernel *k, const tn_call *x, const tnk_id *args)
{
    tnb_dtype d = tn_dtype_of(TN_NODE(x));
    const tn_string_imm *site = tn_as_string_imm(x->args.at[3]);
    uint32_t check = 0;
    while (site && check < k->n_checks && strcmp(k->checks[check], site->value))
        check++;
    if (d.code != TNB_INT || (d.bits != 32 && d.bits != 64) || d.lanes != 1 ||
        tn_dtype_of(x->args.at[1]).bits != d.bits || check == k->n_checks)
        return no_form(k, x);
    return spirv_index(k, d.bits, !tn_is_int_const(x->args.at[2], 0), check, args[0], args[1]);
}

tnk_id
spirv_call(tnk_visitor *v, const tn_call *x, const tnk_id *args, uint32_t n)
{
    spirv_kernel *k = spirv_kernel_of(v);
    tn_intrin_id op = tn_intrin_of(TN_NODE(x));
    tnb_dtype d = tn_dtype_of(TN_NODE(x));
    switch ((int)op) {
    case TN_INTRIN_bitwise_and:
    case TN_INTRIN_bitwise_or:
    case TN_INTRIN_bitwise_xor:
    case TN_INTRIN_bitwise_not:
        return bit_operation(k, op, d, args);
    case TN_INTRIN_shift_left:
    case TN_INTRIN_shift_right:
        if (is_small_count(x->args.at[1], d))
            return plain_shift(k, d, op == TN_INTRIN_shift_left, args[0], args[1]);
        return spirv_shift(k, d, op == TN_INTRIN_shift_left, args[0], args[1]);
    case TN_INTRIN_abs:
    case TN_INTRIN_fabs:
        return absolute(k, d, args[0]);
    case TN_INTRIN_isnan:
    case TN_INTRIN_isinf:
    case TN_INTRIN_isfinite:
        return float_class(k, op, tn_dtype_of(x->args.at[0]), args[0]);
    case TN_INTRIN_popcount:
    case TN_INTRIN_clz:
        return count_bits(k, op == TN_INTRIN_popcount, tn_dtype_of(x->args.at[0]), d, args[0]);
    case TN_INTRIN_reinterpret:
        return spirv_bits(k, tn_dtype_of(x->args.at[0]), d, args[0], x->base.loc);
    case TN_INTRIN_index_in:
        return index_in(k, x, args);
    case TN_INTRIN_warp_size_is:
        return spirv_subgroup_call(k, x, args, n);
    default:
        return tnk_is_warp_call(TN_NODE(x)) ? spirv_subgroup_call(k, x, args, n)
               : n                          ? function(k, x, args)
                                            : no_form(k, x);
    }
}
