/* SPDX-License-Identifier: Apache-2.0 */
/* LowerMath: functions of mathematics on float32 as sums, products and bits, for targets whose own are not precise
 * (supports_math is False).
 *
 *     B[i] = T.exp(A[i])     =>     c = T.max(T.min(A[i], 88.75), -87.34); n = T.nearbyint(c * 1.4427)
 *                                   r = c - n * 0.6934 + n * 0.0002; p = ((r * 0.0166 + 0.0838) * r + ...) * r + 2.0
 *                                   B[i] = p * T.reinterpret("float32", T.Cast("int32", n) + 126 << 23)
 *
 * Functions of float16 and bfloat16 are those of float32, rounded; those of float64 stay, but for exp and log. So do sqrt, rsqrt, floor, ceil, trunc, round,
 * nearbyint, fabs and what tests numbers, which each target has. Greatest errors in units in the last place (tests/kit/t_lower_math.c):
 * exp, exp2, log2, log10, log1p, sin and cos 4, also far from zero; log 2; exp10, sigmoid, asin, acos and atan 6; tan, tanh, atan2 and
 * hypot 8; erf 10; sinh, cosh and inverse hyperbolic functions 12; pow 24; exp and log of float64 1. fmod is exact where the quotient is below 2^12. Results of exp,
 * sigmoid and pow below 2.4e-38, and others below the normal range, may be 0. NaN stays NaN. Coefficients: polynomials.h, and those of
 * Cephes for inverse and hyperbolic functions, of FreeBSD's msun for float64.
 */
#include "lower.h"

#include <math.h>

#include "../polynomials.h"

/* The values of a function in the making: variables, in the order in which they are computed. */
typedef struct math {
    tn_ctx *ctx;
    tnb_dtype d; /* float32 or float64, with lanes */
    TNB_VEC(const tn_expr *) vars;
    TNB_VEC(const tn_expr *) values;
} math;

typedef const tn_expr *ex;

static tnb_dtype
ints(const math *m)
{
    return (tnb_dtype){TNB_INT, m->d.bits, m->d.lanes};
}

/* What is used more than once. */
static ex
keep(math *m, const char *name, ex value)
{
    if (tn_is_var(value))
        return value;
    ex v = tn_var_dtype(m->ctx, name, tn_dtype_of(value));
    TNB_PUSH(tn_scratch(m->ctx), m->vars, v);
    TNB_PUSH(tn_scratch(m->ctx), m->values, value);
    return v;
}

/* The result with what was kept since `from` around it. */
static ex
around(math *m, uint32_t from, ex result)
{
    while (m->vars.n > from) {
        m->vars.n--, m->values.n--;
        result = tn_let_of(m->ctx, m->vars.at[m->vars.n], m->values.at[m->values.n], result);
    }
    return result;
}

static ex
f(const math *m, double v)
{
    return tn_literal(m->ctx, m->d, v);
}

static ex
n(const math *m, int64_t v)
{
    return tnk_int_of(m->ctx, ints(m), v);
}

static ex
add(const math *m, ex a, ex b)
{
    return tn_raw_binary(m->ctx, TN_KIND_ADD, a, b);
}

static ex
sub(const math *m, ex a, ex b)
{
    return tn_raw_binary(m->ctx, TN_KIND_SUB, a, b);
}

static ex
mul(const math *m, ex a, ex b)
{
    return tn_raw_binary(m->ctx, TN_KIND_MUL, a, b);
}

static ex
quotient(const math *m, ex a, ex b)
{
    return tn_raw_binary(m->ctx, TN_KIND_DIV, a, b);
}

/* a * b + c */
static ex
fma3(const math *m, ex a, double b, ex c)
{
    return add(m, mul(m, a, f(m, b)), c);
}

static ex
test(const math *m, tn_kind kind, ex a, ex b)
{
    return tn_raw_binary(m->ctx, kind, a, b);
}

static ex
below(const math *m, ex a, double b)
{
    return test(m, TN_KIND_LT, a, f(m, b));
}

static ex
above(const math *m, ex a, double b)
{
    return test(m, TN_KIND_GT, a, f(m, b));
}

static ex
is(const math *m, ex a, double b)
{
    return test(m, TN_KIND_EQ, a, f(m, b));
}

static ex
both(const math *m, ex a, ex b)
{
    return test(m, TN_KIND_AND, a, b);
}

static ex
either(const math *m, ex a, ex b)
{
    return test(m, TN_KIND_OR, a, b);
}

static ex
select(const math *m, ex cond, ex a, ex b)
{
    return tn_select_of(m->ctx, cond, a, b);
}

static ex
within(const math *m, ex x, double lo, double hi)
{
    return tn_raw_binary(m->ctx, TN_KIND_MIN, tn_raw_binary(m->ctx, TN_KIND_MAX, x, f(m, lo)),
                         f(m, hi));
}

static ex
call1(const math *m, tn_intrin_id id, ex x)
{
    return tn_intrin1(m->ctx, id, x);
}

static ex
size_of(const math *m, ex x)
{
    return call1(m, TN_INTRIN_fabs, x);
}

static ex
nearest(const math *m, ex x)
{
    return call1(m, TN_INTRIN_nearbyint, x);
}

static ex
bits_of(const math *m, ex x)
{
    return tnk_reinterpret(m->ctx, ints(m), x);
}

static ex
of_bits(const math *m, ex x)
{
    return tnk_reinterpret(m->ctx, m->d, x);
}

static ex
up(const math *m, ex x, int64_t by)
{
    return tn_shift_left(m->ctx, x, tnk_int_of(m->ctx, tn_dtype_of(x), by));
}

static ex
down(const math *m, ex x, int64_t by)
{
    return tn_shift_right(m->ctx, x, tnk_int_of(m->ctx, tn_dtype_of(x), by));
}

static ex
masked(const math *m, ex x, int64_t mask)
{
    return tn_bitwise_and(m->ctx, x, tnk_int_of(m->ctx, tn_dtype_of(x), mask));
}

/* A whole number between lo and hi as an integer. */
static ex
whole(const math *m, ex x, double lo, double hi)
{
    return tn_raw_cast(m->ctx, ints(m), within(m, x, lo, hi));
}

static ex
real(const math *m, ex x)
{
    return tn_raw_cast(m->ctx, m->d, x);
}

/* x with the sign of `of`, where x has none. */
static ex
signed_as(const math *m, ex x, ex of)
{
    return of_bits(m, tn_bitwise_or(m->ctx, bits_of(m, x), masked(m, bits_of(m, of), INT32_MIN)));
}

/* x without the lower half of its digits: products of two such are exact. */
static ex
coarse(const math *m, ex x)
{
    return of_bits(m, masked(m, bits_of(m, x), (int32_t)0xfffff000));
}

#define FIRST(p, x, a, b) a, b,
#define NEXT(p, x, c) c,

static ex
polynomial(math *m, ex x, const float *c, size_t count)
{
    ex p = fma3(m, x, c[0], f(m, c[1]));
    for (size_t i = 2; i < count; i++)
        p = add(m, mul(m, p, x), f(m, c[i]));
    return p;
}
#define POLYNOMIAL(m, x, list)                               \
    polynomial(m, x, (const float[]){list(FIRST, NEXT, , )}, \
               sizeof((const float[]){list(FIRST, NEXT, , )}) / sizeof(float))
#define POLYNOMIAL_OF(m, x, ...)                   \
    polynomial(m, x, (const float[]){__VA_ARGS__}, \
               sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

/* ---- powers ---- */

/* 2^n e^r, n a whole number from -126 to 128, |r| <= ln(2) / 2: the polynomial is 2 e^r, so that it overflows by itself. */
static ex
scaled_exp(math *m, ex power, ex r)
{
    r = keep(m, "r", r);
    ex p = POLYNOMIAL(m, r, TNK_EXP_P), e = add(m, whole(m, power, -126, 128), n(m, 126));
    return mul(m, p, of_bits(m, up(m, e, 23)));
}

static ex
lower_exp(math *m, ex x)
{
    ex c = keep(m, "clamped", within(m, x, -87.3365479f, 88.75)),
       k = keep(m, "n", nearest(m, mul(m, c, f(m, 1.44269504f))));
    ex r = add(m, sub(m, c, mul(m, k, f(m, 0.693359375f))), mul(m, k, f(m, 2.12194440e-4f)));
    return scaled_exp(m, k, r);
}

static ex
lower_exp2(math *m, ex x)
{
    ex c = keep(m, "clamped", within(m, x, -126, 128.5)), k = keep(m, "n", nearest(m, c));
    return scaled_exp(m, k, mul(m, sub(m, c, k), f(m, 0.693147181f)));
}

static ex
lower_exp10(math *m, ex x)
{
    ex c = keep(m, "clamped", within(m, x, -37.9297794f, 38.6)),
       k = keep(m, "n", nearest(m, mul(m, c, f(m, 3.32192809f))));
    ex r = sub(m, sub(m, c, mul(m, k, f(m, 0.301025391f))), mul(m, k, f(m, 4.60503907e-6f)));
    return scaled_exp(m, k, mul(m, r, f(m, 2.30258509f)));
}

/* ---- logarithms: x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f + p, of which f is exact ---- */

typedef struct log_parts {
    ex e, f, p;
} log_parts;

static ex
log_rest(math *m, ex v)
{
    ex z = keep(m, "z", mul(m, v, v));
    return sub(m, mul(m, mul(m, z, v), POLYNOMIAL(m, v, TNK_LOG_P)), mul(m, z, f(m, 0.5)));
}

static void
split(math *m, ex x, ex *e, ex *v)
{
    ex tiny = keep(m, "tiny", below(m, x, 0x1p-126)),
       y = select(m, tiny, mul(m, x, f(m, 0x1p23)), x),
       b = keep(m, "b", sub(m, bits_of(m, y), n(m, 0x3f3504f3)));
    *e = keep(m, "e", real(m, sub(m, down(m, b, 23), select(m, tiny, n(m, 23), n(m, 0)))));
    *v =
        keep(m, "f", sub(m, of_bits(m, add(m, masked(m, b, 0x7fffff), n(m, 0x3f3504f3))), f(m, 1)));
}

static log_parts
log_of(math *m, ex x)
{
    log_parts l;
    split(m, x, &l.e, &l.f);
    l.p = log_rest(m, l.f);
    return l;
}

static ex
natural(math *m, log_parts l)
{
    ex rest = sub(m, l.p, mul(m, l.e, f(m, 2.12194440e-4f)));
    return add(m, mul(m, l.e, f(m, 0.693359375f)), add(m, l.f, rest));
}

/* Infinity stays, NaN comes of what is below `zero`, and -infinity there. */
static ex
log_ends(math *m, ex x, double zero, ex y)
{
    y = select(m, is(m, x, INFINITY), x, y);
    y = select(m, is(m, x, zero), f(m, -INFINITY), y);
    return select(m, test(m, TN_KIND_GE, x, f(m, zero)), y, f(m, NAN));
}

static ex
lower_log(math *m, ex x)
{
    return log_ends(m, x, 0, natural(m, log_of(m, x)));
}

static ex
lower_log2(math *m, ex x)
{
    log_parts l = log_of(m, x);
    return log_ends(m, x, 0, add(m, l.e, mul(m, add(m, l.f, l.p), f(m, 1.44269504f))));
}

static ex
lower_log10(math *m, ex x)
{
    log_parts l = log_of(m, x);
    ex part =
        add(m, mul(m, add(m, l.f, l.p), f(m, 0.434294492f)), mul(m, l.e, f(m, 4.60503907e-6f)));
    return log_ends(m, x, 0, add(m, mul(m, l.e, f(m, 0.301025391f)), part));
}

/* What 1 + x is rounded by comes to f. */
static ex
lower_log1p(math *m, ex x)
{
    ex one = f(m, 1), y = keep(m, "y", add(m, one, x)),
       c = select(m, below(m, x, 1), sub(m, x, sub(m, y, one)), sub(m, one, sub(m, y, x))),
       b = keep(m, "b", sub(m, bits_of(m, y), n(m, 0x3f3504f3))), k = keep(m, "n", down(m, b, 23)),
       q = keep(m, "q", sub(m, n(m, 127), k)),
       scale = of_bits(m, up(m, select(m, test(m, TN_KIND_LT, q, n(m, 0)), n(m, 0), q), 23));
    log_parts l = {.e = keep(m, "e", real(m, k))};
    l.f = sub(m, of_bits(m, add(m, masked(m, b, 0x7fffff), n(m, 0x3f3504f3))), one);
    l.f = keep(m, "f", add(m, l.f, mul(m, c, scale)));
    l.p = log_rest(m, l.f);
    return log_ends(m, x, -1, natural(m, l));
}

/* ---- sine and cosine: x = n pi/2 + r, |r| <= pi/4 ---- */

static ex
wave(math *m, ex k, ex r)
{
    k = keep(m, "k", k);
    r = keep(m, "r", r);
    ex z = keep(m, "z", mul(m, r, r));
    ex s = add(m, mul(m, mul(m, POLYNOMIAL(m, z, TNK_SIN_P), z), r), r),
       c = add(m, mul(m, mul(m, POLYNOMIAL(m, z, TNK_COS_P), z), z),
               sub(m, f(m, 1), mul(m, z, f(m, 0.5))));
    ex y = select(m, test(m, TN_KIND_NE, masked(m, k, 1), n(m, 0)), c, s);
    return of_bits(m, tn_bitwise_xor(m->ctx, bits_of(m, y), up(m, masked(m, k, 2), 30)));
}

static ex
near_wave(math *m, ex x, int64_t first)
{
    uint32_t from = m->vars.n;
    ex k = keep(m, "n", nearest(m, mul(m, x, f(m, 0.636619747f)))),
       r = sub(m, x, mul(m, k, f(m, TNK_HALF_PI_1)));
    r = sub(m, r, mul(m, k, f(m, TNK_HALF_PI_2)));
    r = sub(m, r, mul(m, k, f(m, TNK_HALF_PI_3)));
    r = sub(m, r, mul(m, k, f(m, TNK_HALF_PI_4)));
    return around(m, from, wave(m, add(m, whole(m, k, -8192, 8192), n(m, first)), r));
}

/* The upper word of a product of a number of 24 bits and one of 32. */
static ex
high_word(math *m, ex a, ex b)
{
    ex al = masked(m, a, 0xffff), ah = down(m, a, 16), bl = masked(m, b, 0xffff),
       bh = down(m, b, 16);
    ex mid = keep(m, "mid", add(m, mul(m, al, bh), down(m, mul(m, al, bl), 16))),
       low = add(m, mul(m, ah, bl), masked(m, mid, 0xffff));
    return add(m, add(m, mul(m, ah, bh), down(m, mid, 16)), down(m, low, 16));
}

/* |x| = M 2^s: the product of M and those bits of 2/pi that are worth from 2 down to 2^-94 in quarter turns (Payne and Hanek). One
 * lane. */
static ex
far_wave(math *m, ex x, int64_t first)
{
    static const uint32_t bits[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                    0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    const tnb_dtype word = TNB_DTYPE(TNB_UINT, 32);
    uint32_t from = m->vars.n;
    tn_ctx *ctx = m->ctx;
    ex b = keep(m, "b", tnk_reinterpret(ctx, word, x)),
       digits =
           keep(m, "m",
                tn_bitwise_or(ctx, masked(m, b, 0x7fffff), tn_int_imm_of(ctx, word, 0x800000))),
       place =
           keep(m, "place", sub(m, masked(m, down(m, b, 23), 0xff), tn_int_imm_of(ctx, word, 120))),
       at = keep(m, "at", down(m, place, 5)), by = keep(m, "by", masked(m, place, 31));
    ex w[4], p[3];
    for (int i = 0; i < 4; i++) {
        w[i] = tn_int_imm_of(ctx, word, bits[i]);
        for (int k = 1; k < 5; k++)
            w[i] = select(m, test(m, TN_KIND_GE, at, tn_int_imm_of(ctx, word, k)),
                          tn_int_imm_of(ctx, word, bits[i + k]), w[i]);
        w[i] = keep(m, "w", w[i]);
    }
    for (int i = 0; i < 3; i++) { /* a shift by 32 gives 0 */
        ex rest = tn_shift_right(ctx, w[i + 1], sub(m, tn_int_imm_of(ctx, word, 32), by));
        p[i] = keep(m, "p", tn_bitwise_or(ctx, tn_shift_left(ctx, w[i], by), rest));
    }
    ex low = keep(m, "low", mul(m, digits, p[1])),
       second = keep(m, "second", add(m, low, high_word(m, digits, p[2]))),
       carry = tn_raw_cast(ctx, word, test(m, TN_KIND_LT, second, low)),
       top =
           keep(m, "top", add(m, add(m, mul(m, digits, p[0]), high_word(m, digits, p[1])), carry));
    ex part = keep(m, "part", tn_bitwise_or(ctx, up(m, top, 2), down(m, second, 30))),
       turns = add(m, down(m, top, 30), down(m, part, 31)),
       r = fma3(m, real(m, up(m, second, 2)), 0x1p-32, real(m, tn_raw_cast(ctx, ints(m), part)));
    r = mul(m, r, f(m, 1.57079633 * 0x1p-32));
    ex negative = keep(m, "negative", below(m, x, 0)), k = tn_raw_cast(ctx, ints(m), turns);
    k = select(m, negative, sub(m, n(m, 0), k), k);
    r = select(m, negative, sub(m, f(m, 0), r), r);
    return around(m, from, wave(m, add(m, k, n(m, first)), r));
}

static ex
waves(math *m, ex x, int64_t first)
{
    ex size = keep(m, "size", size_of(m, x)), close = near_wave(m, x, first),
       distant = far_wave(m, x, first);
    const tn_expr *args[] = {test(m, TN_KIND_LE, size, f(m, 8192)), close, distant};
    ex y = tn_intrin(m->ctx, TN_INTRIN_if_then_else, tn_list_of(m->ctx, args, 3));
    return select(m, below(m, size, INFINITY), y, f(m, NAN));
}

static ex
lower_sin(math *m, ex x)
{
    return waves(m, x, 0);
}

static ex
lower_cos(math *m, ex x)
{
    return waves(m, x, 1);
}

static ex
lower_tan(math *m, ex x)
{
    ex s = keep(m, "sine", waves(m, x, 0)), c = waves(m, x, 1);
    return quotient(m, s, c);
}

/* ---- others of one operand ---- */

static ex
lower_sigmoid(math *m, ex x)
{
    ex e = lower_exp(m, sub(m, f(m, 0), x));
    return quotient(m, f(m, 1), add(m, f(m, 1), e));
}

static ex
lower_tanh(math *m, ex x)
{
    ex c = keep(m, "clamped", within(m, x, -9.46f, 9.46f)), z = keep(m, "z", mul(m, c, c)),
       q = quotient(m, mul(m, c, POLYNOMIAL(m, z, TNK_TANH_P)), POLYNOMIAL(m, z, TNK_TANH_Q));
    return within(m, q, -1, 1);
}

static ex
lower_erf(math *m, ex x)
{
    ex c = keep(m, "clamped", within(m, x, -4.05f, 4.05f)), z = keep(m, "z", mul(m, c, c)),
       q = quotient(m, mul(m, c, POLYNOMIAL(m, z, TNK_ERF_P)), POLYNOMIAL(m, z, TNK_ERF_Q));
    return within(m, q, -1, 1);
}

/* Of a number that is not negative. */
static ex
arc_tangent(math *m, ex a)
{
    ex one = f(m, 1), steep = keep(m, "steep", above(m, a, 2.41421356)),
       middle = keep(m, "middle", above(m, a, 0.414213562)),
       over = select(m, steep, f(m, -1), select(m, middle, sub(m, a, one), a)),
       under = select(m, steep, a, select(m, middle, add(m, a, one), one)),
       x = keep(m, "x", quotient(m, over, under)), z = keep(m, "z", mul(m, x, x)),
       base = select(m, steep, f(m, M_PI_2), select(m, middle, f(m, M_PI_4), f(m, 0)));
    ex p = POLYNOMIAL_OF(m, z, 8.05374449538e-2f, -1.38776856032e-1f, 1.99777106478e-1f,
                         -3.33329491539e-1f);
    x = add(m, base, add(m, mul(m, mul(m, p, z), x), x));
    return select(m, is(m, a, INFINITY), f(m, M_PI_2), x);
}

static ex
lower_atan(math *m, ex x)
{
    return signed_as(m, arc_tangent(m, keep(m, "a", size_of(m, x))), x);
}

/* asin(t) for a number up to 1/2 that is the one itself, or of which 1 - 2 t^2 is the one: asin and acos are made of it. */
static ex
arc_sine(math *m, ex a, ex *big)
{
    *big = keep(m, "big", above(m, a, 0.5));
    ex z = keep(m, "z", select(m, *big, mul(m, sub(m, f(m, 1), a), f(m, 0.5)), mul(m, a, a))),
       t = keep(m, "t", select(m, *big, call1(m, TN_INTRIN_sqrt, z), a));
    ex p = POLYNOMIAL_OF(m, z, 4.2163199048e-2f, 2.4181311049e-2f, 4.5470025998e-2f,
                         7.4953002686e-2f, 1.6666752422e-1f);
    return keep(m, "p", add(m, mul(m, mul(m, p, z), t), t));
}

static ex
lower_asin(math *m, ex x)
{
    ex a = keep(m, "a", size_of(m, x)), big, p = arc_sine(m, a, &big),
       y = select(m, big, sub(m, f(m, M_PI_2), mul(m, p, f(m, 2))), p);
    return select(m, test(m, TN_KIND_LE, a, f(m, 1)), signed_as(m, y, x), f(m, NAN));
}

static ex
lower_acos(math *m, ex x)
{
    ex a = keep(m, "a", size_of(m, x)), big, p = arc_sine(m, a, &big), twice = mul(m, p, f(m, 2)),
       negative = keep(m, "negative", below(m, x, 0));
    ex y = select(m, big, select(m, negative, sub(m, f(m, M_PI), twice), twice),
                  select(m, negative, add(m, f(m, M_PI_2), p), sub(m, f(m, M_PI_2), p)));
    return select(m, test(m, TN_KIND_LE, a, f(m, 1)), y, f(m, NAN));
}

/* e^(a / 2), of which the square overflows later than the function that is made of it. */
static ex
half_exp(math *m, ex a)
{
    return keep(m, "half", lower_exp(m, mul(m, a, f(m, 0.5))));
}

static ex
lower_sinh(math *m, ex x)
{
    ex a = keep(m, "a", size_of(m, x)), z = keep(m, "z", mul(m, a, a)), h = half_exp(m, a),
       large = sub(m, mul(m, h, mul(m, h, f(m, 0.5))), quotient(m, f(m, 0.5), mul(m, h, h)));
    ex p = POLYNOMIAL_OF(m, z, 2.03721912945e-4f, 8.33028376239e-3f, 1.66667160211e-1f),
       small = add(m, mul(m, mul(m, p, z), a), a);
    return signed_as(m, select(m, below(m, a, 1), small, large), x);
}

static ex
lower_cosh(math *m, ex x)
{
    ex h = half_exp(m, keep(m, "a", size_of(m, x)));
    return add(m, mul(m, h, mul(m, h, f(m, 0.5))), quotient(m, f(m, 0.5), mul(m, h, h)));
}

/* log(x + rest), where x is so large that this is log(2 x) */
static ex
large_log(math *m, ex x)
{
    return add(m, natural(m, log_of(m, x)), f(m, M_LN2));
}

static ex
lower_asinh(math *m, ex x)
{
    ex a = keep(m, "a", size_of(m, x)), c = keep(m, "clamped", within(m, a, 0, 1e9)),
       z = keep(m, "z", mul(m, c, c)), root = call1(m, TN_INTRIN_sqrt, add(m, z, f(m, 1))),
       sum = keep(m, "sum", add(m, c, quotient(m, z, add(m, root, f(m, 1)))));
    ex y = select(m, above(m, a, 1e9), large_log(m, a), lower_log1p(m, sum));
    return signed_as(m, select(m, is(m, a, INFINITY), a, y), x);
}

static ex
lower_acosh(math *m, ex x)
{
    ex t = keep(m, "t", sub(m, within(m, x, 1, 1e9), f(m, 1))),
       root = call1(m, TN_INTRIN_sqrt, add(m, mul(m, t, f(m, 2)), mul(m, t, t))),
       sum = keep(m, "sum", add(m, t, root));
    ex y = select(m, above(m, x, 1e9), large_log(m, x), lower_log1p(m, sum));
    y = select(m, is(m, x, INFINITY), x, y);
    return select(m, test(m, TN_KIND_GE, x, f(m, 1)), y, f(m, NAN));
}

static ex
lower_atanh(math *m, ex x)
{
    ex a = keep(m, "a", size_of(m, x)),
       q = keep(m, "q",
                quotient(m, mul(m, a, f(m, 2)), sub(m, f(m, 1), within(m, a, 0, 0x1.fffffep-1)))),
       y = mul(m, lower_log1p(m, q), f(m, 0.5));
    y = select(m, is(m, a, 1), f(m, INFINITY), y);
    return select(m, test(m, TN_KIND_LE, a, f(m, 1)), signed_as(m, y, x), f(m, NAN));
}

/* ---- of two operands ---- */

/* log2 of a positive number as a sum of two, the first the larger: f - f^2 / 2 is computed with its error. */
static void
long_log2(math *m, ex a, ex *hi, ex *lo)
{
    ex e, v;
    split(m, a, &e, &v);
    ex vh = keep(m, "vh", coarse(m, v)), z = mul(m, v, v),
       square = keep(m, "sh", mul(m, mul(m, vh, vh), f(m, -0.5))),
       rest = mul(m, mul(m, sub(m, v, vh), add(m, v, vh)), f(m, -0.5)),
       cubic = mul(m, mul(m, z, v), POLYNOMIAL(m, v, TNK_LOG_P)),
       sum = keep(m, "sum", add(m, v, square)),
       left = keep(m, "left", add(m, add(m, sub(m, square, sub(m, sum, v)), rest), cubic));
    /* times log2(e) = 1.4423828125 + 3.12228...e-4 */
    ex sh = keep(m, "top", coarse(m, sum)), sl = sub(m, sum, sh),
       bh = keep(m, "bh", mul(m, sh, f(m, 1.4423828125))),
       bl = keep(m, "bl",
                 add(m, mul(m, add(m, sl, left), f(m, 1.44269504f)),
                     mul(m, sh, f(m, 3.12228388963e-4))));
    ex high = keep(m, "hi", add(m, e, bh)), by_size = sub(m, bh, sub(m, high, e)),
       or_so = sub(m, e, sub(m, high, bh));
    ex error = select(m, is(m, e, 0), or_so, by_size);
    *hi = high;
    *lo = keep(m, "lo", add(m, error, bl));
}

static ex
lower_pow(math *m, ex x, ex y)
{
    ex a = keep(m, "a", size_of(m, x)), c = keep(m, "clamped", within(m, y, -1e30, 1e30)), hi, lo;
    long_log2(m, a, &hi, &lo);
    ex ch = keep(m, "ch", coarse(m, c)), cl = keep(m, "cl", sub(m, c, ch)),
       hh = keep(m, "hh", coarse(m, hi)), hl = keep(m, "hl", sub(m, hi, hh)),
       top = keep(m, "product", mul(m, ch, hh)),
       rest = keep(m, "rest", add(m, add(m, mul(m, cl, hh), mul(m, c, hl)), mul(m, c, lo))),
       t = keep(m, "power", add(m, top, rest)),
       k = keep(m, "n", nearest(m, within(m, t, -126, 128))),
       r = within(m, add(m, sub(m, top, k), rest), -1, 1);
    ex w = scaled_exp(m, k, mul(m, r, f(m, 0.693147181f)));
    w = select(m, above(m, t, 128.5), f(m, INFINITY), select(m, below(m, t, -126.5), f(m, 0), w));
    ex is_zero = keep(m, "is_zero", is(m, a, 0)), ends = either(m, is_zero, is(m, a, INFINITY)),
       down_ = below(m, y, 0), known = keep(m, "known", test(m, TN_KIND_EQ, y, y));
    /* zero of zero and y > 0, or of infinity and y < 0 */
    ex to_zero = either(m, both(m, is_zero, tn_raw_not(m->ctx, down_)),
                        both(m, tn_raw_not(m->ctx, is_zero), down_));
    w = select(m, both(m, ends, known), select(m, to_zero, f(m, 0), f(m, INFINITY)), w);
    w = select(m, both(m, is(m, a, 1), known), f(m, 1), w);
    ex entire = keep(m, "entire", test(m, TN_KIND_EQ, call1(m, TN_INTRIN_trunc, c), c)),
       odd = both(m, both(m, entire, below(m, size_of(m, c), 0x1p24)),
                  test(m, TN_KIND_NE, masked(m, whole(m, c, -0x1p24, 0x1p24), 1), n(m, 0)));
    w = keep(m, "w", w);
    ex sign = masked(m, bits_of(m, x), INT32_MIN),
       turned = of_bits(m, tn_bitwise_or(m->ctx, bits_of(m, w), sign));
    ex z = select(m, odd, turned, w);
    ex none = both(m, both(m, below(m, x, 0), tn_raw_not(m->ctx, entire)), below(m, a, INFINITY));
    z = select(m, either(m, none, test(m, TN_KIND_NE, x, x)), f(m, NAN), z);
    return select(m, either(m, is(m, x, 1), is(m, y, 0)), f(m, 1), z);
}

static ex
lower_atan2(math *m, ex y, ex x)
{
    ex ay = keep(m, "ay", size_of(m, y)), ax = keep(m, "ax", size_of(m, x)),
       steep = keep(m, "swap", test(m, TN_KIND_GT, ay, ax)),
       over = keep(m, "over", select(m, steep, ax, ay)),
       under = keep(m, "under", select(m, steep, ay, ax)),
       q = select(m, test(m, TN_KIND_EQ, over, under), f(m, 1), quotient(m, over, under));
    q = keep(m, "ratio", select(m, is(m, over, 0), f(m, 0), q));
    ex t = keep(m, "t", arc_tangent(m, q));
    t = keep(m, "t", select(m, steep, sub(m, f(m, M_PI_2), t), t));
    t = select(m, test(m, TN_KIND_LT, bits_of(m, x), n(m, 0)), sub(m, f(m, M_PI), t), t);
    ex none = either(m, test(m, TN_KIND_NE, x, x), test(m, TN_KIND_NE, y, y));
    return select(m, none, f(m, NAN), signed_as(m, t, y));
}

static ex
lower_fmod(math *m, ex x, ex y)
{
    ex a = keep(m, "a", size_of(m, x)), b = keep(m, "b", size_of(m, y)),
       q = keep(m, "q", call1(m, TN_INTRIN_trunc, quotient(m, a, b))),
       bh = keep(m, "bh", coarse(m, b));
    ex r = sub(m, sub(m, a, mul(m, q, bh)), mul(m, q, sub(m, b, bh)));
    r = keep(m, "r", r);
    r = keep(m, "r", select(m, below(m, r, 0), add(m, r, b), r));
    r = select(m, test(m, TN_KIND_GE, r, b), sub(m, r, b), r);
    r = select(m, test(m, TN_KIND_LT, a, b), a, r);
    ex good = both(m, below(m, a, INFINITY), above(m, b, 0));
    return select(m, good, signed_as(m, r, x), f(m, NAN));
}

static ex
lower_hypot(math *m, ex x, ex y)
{
    ex a = keep(m, "a", size_of(m, x)), b = keep(m, "b", size_of(m, y)),
       more = test(m, TN_KIND_GT, a, b), top = keep(m, "top", select(m, more, a, b)),
       low = select(m, more, b, a), q = keep(m, "q", quotient(m, low, top)),
       y1 = mul(m, top, call1(m, TN_INTRIN_sqrt, add(m, mul(m, q, q), f(m, 1))));
    y1 = select(m, is(m, top, 0), f(m, 0), y1);
    y1 = select(m, either(m, test(m, TN_KIND_NE, x, x), test(m, TN_KIND_NE, y, y)), f(m, NAN), y1);
    return select(m, either(m, is(m, a, INFINITY), is(m, b, INFINITY)), f(m, INFINITY), y1);
}

static ex
lower_copysign(math *m, ex x, ex y)
{
    return signed_as(m, size_of(m, x), y);
}

static ex
power_of_two(math *m, ex k)
{
    return of_bits(m, up(m, add(m, k, n(m, 127)), 23));
}

/* By two factors, of which neither is out of range. */
static ex
lower_ldexp(math *m, ex x, ex y)
{
    ex k = tnb_dtype_is_float(tn_dtype_of(y)) ? whole(m, y, -250, 250)
                                              : tn_cast_to(m->ctx, ints(m), y);
    k = tn_raw_binary(m->ctx, TN_KIND_MAX, tn_raw_binary(m->ctx, TN_KIND_MIN, k, n(m, 250)),
                      n(m, -250));
    k = keep(m, "k", k);
    ex h = keep(m, "h", down(m, k, 1));
    return mul(m, mul(m, x, power_of_two(m, h)), power_of_two(m, sub(m, k, h)));
}

static ex
lower_nextafter(math *m, ex x, ex y)
{
    ex b = keep(m, "b", bits_of(m, x)), down_ = below(m, x, 0),
       away = either(m, both(m, down_, test(m, TN_KIND_LT, y, x)),
                     both(m, tn_raw_not(m->ctx, down_), test(m, TN_KIND_GT, y, x)));
    ex next = of_bits(m, select(m, away, add(m, b, n(m, 1)), sub(m, b, n(m, 1)))),
       least = of_bits(m, tn_bitwise_or(m->ctx, masked(m, bits_of(m, y), INT32_MIN), n(m, 1)));
    ex z = select(m, is(m, x, 0), least, next);
    z = select(m, test(m, TN_KIND_EQ, x, y), y, z);
    return select(m, either(m, test(m, TN_KIND_NE, x, x), test(m, TN_KIND_NE, y, y)), f(m, NAN), z);
}

/* ---- float64: exp(x) = 2^k e^r by a quotient, log(2^k (1 + f)) by s = f / (2 + f) ---- */

static ex
polynomial64(math *m, ex x, const double *c, size_t count)
{
    ex p = f(m, c[0]);
    for (size_t i = 1; i < count; i++)
        p = add(m, mul(m, p, x), f(m, c[i]));
    return p;
}
#define POLYNOMIAL64(m, x, ...)                       \
    polynomial64(m, x, (const double[]){__VA_ARGS__}, \
                 sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static const double LN2_HI = 0x1.62e42feep-1, LN2_LO = 0x1.a39ef35793c76p-33;

/* The power of two in two factors, of which neither is out of range: those of results below the normal range and near its end. */
static ex
lower_exp64(math *m, ex x)
{
    const tnb_dtype small = {TNB_INT, 32, m->d.lanes};
    ex c = keep(m, "clamped", within(m, x, -746, 709.79)),
       k = keep(m, "n", nearest(m, mul(m, c, f(m, 0x1.71547652b82fep+0)))),
       hi = keep(m, "hi", sub(m, c, mul(m, k, f(m, LN2_HI)))),
       lo = keep(m, "lo", mul(m, k, f(m, LN2_LO))), r = keep(m, "r", sub(m, hi, lo)),
       t = keep(m, "t", mul(m, r, r));
    ex p = POLYNOMIAL64(m, t, 4.13813679705723846039e-08, -1.65339022054652515390e-06,
                        6.61375632143793436117e-05, -2.77777777770155933842e-03,
                        1.66666666666666019037e-01),
       q = keep(m, "q", sub(m, r, mul(m, t, p))),
       y = sub(m, f(m, 1), sub(m, sub(m, lo, quotient(m, mul(m, r, q), sub(m, f(m, 2), q))), hi));
    ex power = keep(m, "power", tn_raw_cast(m->ctx, small, within(m, k, -1077, 1024))),
       half = keep(m, "half", down(m, power, 1)), one = tnk_int_of(m->ctx, small, 1023);
    ex first = tn_raw_cast(m->ctx, ints(m), add(m, half, one)),
       second = tn_raw_cast(m->ctx, ints(m), add(m, sub(m, power, half), one));
    return mul(m, mul(m, y, of_bits(m, up(m, first, 52))), of_bits(m, up(m, second, 52)));
}

static ex
lower_log64(math *m, ex x)
{
    const tnb_dtype small = {TNB_INT, 32, m->d.lanes};
    const int64_t root = 0x3fe6a09e00000000; /* about sqrt(1/2) */
    ex tiny = keep(m, "tiny", below(m, x, 0x1p-1022)),
       b = keep(m, "b",
                sub(m, bits_of(m, select(m, tiny, mul(m, x, f(m, 0x1p54)), x)), n(m, root)));
    ex power = tn_raw_cast(m->ctx, small, down(m, b, 52)),
       shift = select(m, tiny, tnk_int_of(m->ctx, small, 54), tnk_int_of(m->ctx, small, 0)),
       e = keep(m, "e", real(m, sub(m, power, shift))),
       v = keep(m, "f",
                sub(m, of_bits(m, add(m, masked(m, b, 0xfffffffffffff), n(m, root))), f(m, 1)));
    ex s = keep(m, "s", quotient(m, v, add(m, v, f(m, 2)))), z = keep(m, "z", mul(m, s, s)),
       w = keep(m, "w", mul(m, z, z)), half = keep(m, "half", mul(m, mul(m, v, v), f(m, 0.5)));
    ex even = POLYNOMIAL64(m, w, 1.531383769920937332e-01, 2.222219843214978396e-01,
                           3.999999999940941908e-01),
       odd = POLYNOMIAL64(m, w, 1.479819860511658591e-01, 1.818357216161805012e-01,
                          2.857142874366239149e-01, 6.666666666666735130e-01),
       rest = add(m, mul(m, z, odd), mul(m, w, even));
    ex y = add(m, mul(m, s, add(m, half, rest)), mul(m, e, f(m, LN2_LO)));
    y = add(m, add(m, sub(m, y, half), v), mul(m, e, f(m, LN2_HI)));
    return log_ends(m, x, 0, y);
}

/* ---- the pass ---- */

typedef struct row {
    tn_intrin_id id;
    ex (*one)(math *m, ex x);
    ex (*two)(math *m, ex x, ex y);
    bool by_lane;                    /* it branches */
    ex (*of_float64)(math *m, ex x); /* NULL: none */
} row;

static const row rows[] = {
    {TN_INTRIN_exp, .one = lower_exp, .of_float64 = lower_exp64},
    {TN_INTRIN_exp2, .one = lower_exp2},
    {TN_INTRIN_exp10, .one = lower_exp10},
    {TN_INTRIN_log, .one = lower_log, .of_float64 = lower_log64},
    {TN_INTRIN_log2, .one = lower_log2},
    {TN_INTRIN_log10, .one = lower_log10},
    {TN_INTRIN_log1p, .one = lower_log1p},
    {TN_INTRIN_sigmoid, .one = lower_sigmoid},
    {TN_INTRIN_tanh, .one = lower_tanh},
    {TN_INTRIN_erf, .one = lower_erf},
    {TN_INTRIN_sin, .one = lower_sin, .by_lane = true},
    {TN_INTRIN_cos, .one = lower_cos, .by_lane = true},
    {TN_INTRIN_tan, .one = lower_tan, .by_lane = true},
    {TN_INTRIN_asin, .one = lower_asin},
    {TN_INTRIN_acos, .one = lower_acos},
    {TN_INTRIN_atan, .one = lower_atan},
    {TN_INTRIN_sinh, .one = lower_sinh},
    {TN_INTRIN_cosh, .one = lower_cosh},
    {TN_INTRIN_asinh, .one = lower_asinh},
    {TN_INTRIN_acosh, .one = lower_acosh},
    {TN_INTRIN_atanh, .one = lower_atanh},
    {TN_INTRIN_pow, .two = lower_pow},
    {TN_INTRIN_atan2, .two = lower_atan2},
    {TN_INTRIN_fmod, .two = lower_fmod},
    {TN_INTRIN_hypot, .two = lower_hypot},
    {TN_INTRIN_copysign, .two = lower_copysign},
    {TN_INTRIN_ldexp, .two = lower_ldexp},
    {TN_INTRIN_nextafter, .two = lower_nextafter},
};

static const row *
find_row(tn_intrin_id id)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].id == id)
            return &rows[i];
    return NULL;
}

bool
tnk_is_lowered_math(tn_intrin_id id, uint32_t bits)
{
    const row *r = find_row(id);
    return r && (bits <= 32 || (bits == 64 && r->of_float64));
}

static const row *
row_of(const tn_node *e, tn_list *args)
{
    static const row remainder = {TN_INTRIN_fmod, .two = lower_fmod};
    tnb_dtype d = e->kind == TN_KIND_CALL || e->kind == TN_KIND_MOD ? tn_dtype_of(e) : TNB_VOID;
    if (!tnb_dtype_is_float(d) || d.bits > 64)
        return NULL;
    if (e->kind == TN_KIND_MOD)
        return d.bits > 32 ? NULL : &remainder;
    *args = ((const tn_call *)e)->args;
    const row *r = find_row(tn_intrin_of(e));
    if (r && d.bits > 32 && !r->of_float64)
        return NULL;
    return r && args->n == (r->one ? 1u : 2u) ? r : NULL;
}

static ex
lane(tn_ctx *ctx, ex e, int64_t i)
{
    ex k = tn_i32(ctx, (int32_t)i);
    return tn_dtype_of(e).lanes == 1
               ? e
               : tn_shuffle_of(ctx, tn_list_of(ctx, &e, 1), tn_list_of(ctx, &k, 1));
}

/* Of operands of `d`, which are variables or numbers. */
static ex
lowered(tn_ctx *ctx, const row *r, tnb_dtype d, ex x, ex y)
{
    if (r->by_lane && d.lanes > 1) {
        ex lanes[64], order[64];
        tnb_dtype one = d;
        one.lanes = 1;
        for (int i = 0; i < d.lanes && i < 64; i++) {
            math m = {.ctx = ctx, .d = one};
            ex v = keep(&m, "x", lane(ctx, x, i));
            lanes[i] = around(&m, 0, r->one(&m, v));
            order[i] = tn_i32(ctx, i);
        }
        return tn_shuffle_of(ctx, tn_list_of(ctx, lanes, d.lanes), tn_list_of(ctx, order, d.lanes));
    }
    math m = {.ctx = ctx, .d = d};
    ex result = d.bits > 32 ? r->of_float64(&m, x) : r->one ? r->one(&m, x) : r->two(&m, x, y);
    return around(&m, 0, result);
}

static const tn_node *
lower(tn_rewriter *rw, const tn_node *e)
{
    tn_ctx *ctx = rw->ctx;
    const tn_binary *b = tn_as_binary(e);
    tn_list args = {0};
    const row *r = row_of(e, &args);
    if (!r)
        return NULL;
    tnb_dtype d = tn_dtype_of(e), single = {TNB_FLOAT, d.bits > 32 ? 64 : 32, d.lanes};
    ex x = b ? b->a : args.at[0], y = b ? b->b : args.n > 1 ? args.at[1] : NULL;
    tn_loc was = tn_at(ctx, e->loc);
    math m = {.ctx = ctx, .d = single};
    x = keep(&m, "x", tn_cast_to(ctx, single, x));
    if (y)
        y = keep(&m, "y", tnb_dtype_is_float(tn_dtype_of(y)) ? tn_cast_to(ctx, single, y) : y);
    ex result = tn_cast_to(ctx, d, lowered(ctx, r, single, x, y));
    result = around(&m, 0, result);
    tn_at(ctx, was);
    return result;
}

static tn_walk_step
find_call(void *user, const tn_node *e)
{
    tn_list args;
    (void)user;
    return row_of(e, &args) ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_node *
lower_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m, (void)name, (void)user;
    const tn_prim_func *fn = tn_as_prim_func(func);
    if (tn_walk(fn->body, TN_WALK_ONCE, find_call, NULL, NULL))
        return func;
    tn_rewriter rw = {.ctx = pc->ctx, .post = lower};
    const tn_stmt *body = tn_rewrite(&rw, fn->body);
    return tn_is_error(body) ? NULL : tnk_func_with_body(pc->ctx, fn, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_target_lacks(pc, "supports_math") ? tnk_map_kernels(pc, m, lower_func, NULL) : m;
}

const tn_pass tnk_pass_lower_math = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerMath",
    .base.doc =
        "Computes functions of mathematics by sums and products, where the target's own are not "
        "precise.",
    .keeps = TN_KEEPS_TOLERANCE,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
