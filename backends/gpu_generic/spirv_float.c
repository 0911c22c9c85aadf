/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients and square roots of kernels in SPIR-V. Vulkan allows 2.5 units in the last place for OpFDiv and more for Sqrt, and GPUs use
 * them: 6 / 3 may be a little less than 2. What is left of the dividend tells how much the device's quotient is off:
 *
 *     q = a / b + (a - q * b) * (1 / b)                           root = sqrt(x) + (x - root * root) * (0.5 / root)
 *
 * The product is taken in halves of 12 bits (T. J. Dekker, "A floating-point technique for extending the available precision", 1971):
 * each part is exact, whether the device's fma rounds once, as GPUs' do, or twice, as lavapipe's. A result that is a float is then
 * exact; others are rounded correctly but where they lie within 2^-19 units of the middle of two floats.
 *
 * That holds where nothing in between leaves the normal range, which the exponents tell; elsewhere the device's own value stays.
 */
#include "spirv_kernel.h"

#include <spirv/unified1/GLSL.std.450.h>

/* Of values with 32 bits: a type, how many lanes, and what the device does not rearrange. */
struct floats {
    spirv_kernel *k;
    uint32_t type, words, bools, lanes;
};

static struct floats
floats_of(spirv_kernel *k, uint32_t lanes)
{
    spirv *m = &k->m;
    return (struct floats){k, spirv_float(m, 32, lanes), spirv_int(m, 32, lanes),
                           spirv_bool(m, lanes), lanes};
}

static tnk_id
number(const struct floats *f, double v)
{
    return spirv_const_float(&f->k->m, 32, v, f->lanes);
}

static tnk_id
as_is(const struct floats *f, tnk_id id)
{
    if (id)
        SPIRV(&f->k->m, &f->k->m.marks, OpDecorate, id, SpvDecorationNoContraction);
    return id;
}

static tnk_id
quotient_of(const struct floats *f, tnk_id a, tnk_id b)
{
    spirv_kernel *k = f->k;
    return as_is(f, RESULT(k, OpFDiv, f->type, a, b));
}

static tnk_id
fma_of(const struct floats *f, tnk_id a, tnk_id b, tnk_id c)
{
    const tnk_id args[3] = {a, b, c};
    return as_is(f, spirv_glsl(&f->k->m, GLSLstd450Fma, f->type, args, 3));
}

static tnk_id
minus(const struct floats *f, tnk_id a)
{
    spirv_kernel *k = f->k;
    return RESULT(k, OpFNegate, f->type, a);
}

static tnk_id
word(const struct floats *f, uint32_t v)
{
    return spirv_const_int(&f->k->m, 32, v, f->lanes);
}

/* The exponent as it is stored; with `sign` 256 more of negative numbers. */
static tnk_id
exponent(const struct floats *f, tnk_id a, bool sign)
{
    spirv_kernel *k = f->k;
    tnk_id e =
        RESULT(k, OpShiftRightLogical, f->words, RESULT(k, OpBitcast, f->words, a), word(f, 23));
    return sign ? e : RESULT(k, OpBitwiseAnd, f->words, e, word(f, 255));
}

/* first <= e <= last */
static tnk_id
within(const struct floats *f, tnk_id e, int first, int last)
{
    spirv_kernel *k = f->k;
    return RESULT(k, OpULessThanEqual, f->bools,
                  RESULT(k, OpISub, f->words, e, word(f, (uint32_t)first)),
                  word(f, (uint32_t)(last - first)));
}

static tnk_id
both(const struct floats *f, tnk_id a, tnk_id b)
{
    spirv_kernel *k = f->k;
    return RESULT(k, OpLogicalAnd, f->bools, a, b);
}

/* The upper 12 bits of a number's 24; *low: the others. */
static tnk_id
high_of(const struct floats *f, tnk_id a, tnk_id *low)
{
    spirv_kernel *k = f->k;
    tnk_id bits = RESULT(k, OpBitwiseAnd, f->words, RESULT(k, OpBitcast, f->words, a),
                         word(f, 0xfffff000)),
           high = RESULT(k, OpBitcast, f->type, bits);
    *low = as_is(f, RESULT(k, OpFSub, f->type, a, high));
    return high;
}

/* c - a * b, of which little is left. */
static tnk_id
left_of(const struct floats *f, tnk_id c, tnk_id a, tnk_id b)
{
    tnk_id al, bl, ah = minus(f, high_of(f, a, &al)), bh = high_of(f, b, &bl);
    al = minus(f, al);
    return fma_of(f, al, bl, fma_of(f, al, bh, fma_of(f, ah, bl, fma_of(f, ah, bh, c))));
}

static tnk_id
exact_quotient(const struct floats *f, tnk_id a, tnk_id b)
{
    spirv_kernel *k = f->k;
    tnk_id own = quotient_of(f, a, b), left = left_of(f, a, own, b),
           q = fma_of(f, left, quotient_of(f, number(f, 1), b), own), ea = exponent(f, a, false),
           eb = exponent(f, b, false), apart = RESULT(k, OpISub, f->words, ea, eb),
           normal = both(f, within(f, ea, 50, 254),
                         both(f, within(f, eb, 1, 252), within(f, apart, -100, 125)));
    return RESULT(k, OpSelect, f->type, normal, q, own);
}

static tnk_id
exact_root(const struct floats *f, tnk_id x)
{
    spirv_kernel *k = f->k;
    tnk_id own = as_is(f, spirv_glsl(&k->m, GLSLstd450Sqrt, f->type, &x, 1)),
           left = left_of(f, x, own, own),
           root = fma_of(f, left, quotient_of(f, number(f, 0.5), own), own);
    return RESULT(k, OpSelect, f->type, within(f, exponent(f, x, true), 50, 254), root, own);
}

/* By way of 32 bits for 16; what has 64 is left to the device. */
static tnk_id
by_words(spirv_kernel *k, tnb_dtype d, tnk_id a, tnk_id b)
{
    uint32_t t = spirv_type(k, d);
    struct floats f = floats_of(k, d.lanes);
    bool half = t != f.type;
    if (half) {
        a = RESULT(k, OpFConvert, f.type, a);
        b = b ? RESULT(k, OpFConvert, f.type, b) : 0;
    }
    tnk_id out = b ? exact_quotient(&f, a, b) : exact_root(&f, a);
    return half ? RESULT(k, OpFConvert, t, out) : out;
}

tnk_id
spirv_quotient(spirv_kernel *k, tnb_dtype d, tnk_id a, tnk_id b)
{
    uint32_t t = spirv_type(k, d);
    if (!t)
        return 0;
    if (spirv_value_dtype(k, d).bits < 64)
        return by_words(k, d, a, b);
    tnk_id q = RESULT(k, OpFDiv, t, a, b);
    SPIRV(&k->m, &k->m.marks, OpDecorate, q, SpvDecorationNoContraction);
    return q;
}

tnk_id
spirv_root(spirv_kernel *k, tnb_dtype d, tnk_id a)
{
    uint32_t t = spirv_type(k, d);
    if (!t)
        return 0;
    return spirv_value_dtype(k, d).bits < 64 ? by_words(k, d, a, 0)
                                             : spirv_glsl(&k->m, GLSLstd450Sqrt, t, &a, 1);
}
