/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on pairs of 32-bit words. The quotient is Hacker's Delight's (H. S. Warren, 2nd edition, 9-4 and 9-5): one of 64 by 32
 * bits in two digits of 16, from which one of 64 by 64 bits is at most 1 away.
 */
#include "word_pairs.h"

static const tnb_dtype word = TNB_DTYPE(TNB_UINT, 32);

static tnb_dtype
like(tnb_dtype d, const tn_expr *x)
{
    d.lanes = tn_dtype_of(x).lanes;
    return d;
}

/* The number v in each lane of `x`. */
static const tn_expr *
num(tnk_pairs *p, const tn_expr *x, uint32_t v)
{
    return tnk_int_of(p->ctx, like(word, x), v);
}

static const tn_expr *
once(tnk_pairs *p, const tn_expr *e)
{
    return p->once(p, e);
}

static tnk_pair
both_once(tnk_pairs *p, tnk_pair a)
{
    const tn_expr *lo = once(p, a.lo);
    return (tnk_pair){lo, once(p, a.hi)};
}

static const tn_expr *
add(tnk_pairs *p, const tn_expr *a, const tn_expr *b)
{
    return tn_add(p->ctx, a, b);
}

static const tn_expr *
sub(tnk_pairs *p, const tn_expr *a, const tn_expr *b)
{
    return tn_sub(p->ctx, a, b);
}

static const tn_expr *
mul(tnk_pairs *p, const tn_expr *a, const tn_expr *b)
{
    return tn_mul(p->ctx, a, b);
}

static const tn_expr *
both(tnk_pairs *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bitwise_and(p->ctx, a, b);
}

static const tn_expr *
either(tnk_pairs *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bitwise_or(p->ctx, a, b);
}

/* Counts are below 32. */
static const tn_expr *
left(tnk_pairs *p, const tn_expr *a, const tn_expr *by)
{
    return tn_shift_left(p->ctx, a, by);
}

static const tn_expr *
right(tnk_pairs *p, const tn_expr *a, const tn_expr *by)
{
    return tn_shift_right(p->ctx, a, by);
}

static const tn_expr *
left_by(tnk_pairs *p, const tn_expr *a, uint32_t by)
{
    return left(p, a, num(p, a, by));
}

static const tn_expr *
right_by(tnk_pairs *p, const tn_expr *a, uint32_t by)
{
    return right(p, a, num(p, a, by));
}

/* Copies of the sign move in. */
static const tn_expr *
signed_right(tnk_pairs *p, const tn_expr *a, const tn_expr *by)
{
    tnb_dtype s = like(TNB_I32, a);
    return tn_cast_to(p->ctx, like(word, a),
                      right(p, tn_cast_to(p->ctx, s, a), tn_cast_to(p->ctx, s, by)));
}

static const tn_expr *
compare(tnk_pairs *p, tn_kind kind, const tn_expr *a, const tn_expr *b)
{
    return tn_cmp(p->ctx, kind, a, b);
}

static const tn_expr *
is_zero(tnk_pairs *p, const tn_expr *a)
{
    return compare(p, TN_KIND_EQ, a, num(p, a, 0));
}

static const tn_expr *
pick(tnk_pairs *p, const tn_expr *cond, const tn_expr *a, const tn_expr *b)
{
    int64_t known;
    return a == b                       ? a
           : tn_int_value(cond, &known) ? (known ? a : b)
                                        : tn_select_of(p->ctx, cond, a, b);
}

static const tn_expr *
is_negative(tnk_pairs *p, tnk_pair a)
{
    const tn_expr *s = tn_cast_to(p->ctx, like(TNB_I32, a.hi), a.hi);
    return once(p, compare(p, TN_KIND_LT, s, tnk_int_of(p->ctx, tn_dtype_of(s), 0)));
}

tnk_pair
tnk_pair_of_int(tnk_pairs *p, int64_t v, uint16_t lanes)
{
    tnb_dtype u = word;
    u.lanes = lanes;
    return (tnk_pair){tnk_int_of(p->ctx, u, v & 0xffffffff),
                      tnk_int_of(p->ctx, u, (v >> 32) & 0xffffffff)};
}

tnk_pair
tnk_pair_extend(tnk_pairs *p, const tn_expr *x)
{
    tn_ctx *ctx = p->ctx;
    tnb_dtype d = tn_dtype_of(x), u = like(word, x), s = like(TNB_I32, x);
    if (d.code != TNB_INT)
        return (tnk_pair){tn_cast_to(ctx, u, x), tnk_int_of(ctx, u, 0)};
    x = once(p, tn_cast_to(ctx, s, x));
    return (tnk_pair){tn_cast_to(ctx, u, x),
                      tn_cast_to(ctx, u, right(p, x, tnk_int_of(ctx, s, 31)))};
}

tnk_pair
tnk_pair_choose(tnk_pairs *p, const tn_expr *cond, tnk_pair a, tnk_pair b)
{
    cond = once(p, cond);
    return (tnk_pair){pick(p, cond, a.lo, b.lo), pick(p, cond, a.hi, b.hi)};
}

tnk_pair
tnk_pair_add(tnk_pairs *p, tnk_pair a, tnk_pair b)
{
    a.lo = once(p, a.lo);
    const tn_expr *lo = once(p, add(p, a.lo, b.lo)),
                  *carry = pick(p, compare(p, TN_KIND_LT, lo, a.lo), num(p, lo, 1), num(p, lo, 0));
    return (tnk_pair){lo, add(p, add(p, a.hi, b.hi), carry)};
}

tnk_pair
tnk_pair_sub(tnk_pairs *p, tnk_pair a, tnk_pair b)
{
    a.lo = once(p, a.lo), b.lo = once(p, b.lo);
    const tn_expr *borrow =
        pick(p, compare(p, TN_KIND_LT, a.lo, b.lo), num(p, a.lo, 1), num(p, a.lo, 0));
    return (tnk_pair){sub(p, a.lo, b.lo), sub(p, sub(p, a.hi, b.hi), borrow)};
}

static tnk_pair
negative(tnk_pairs *p, tnk_pair a)
{
    return tnk_pair_sub(p, (tnk_pair){num(p, a.lo, 0), num(p, a.lo, 0)}, a);
}

/* -a where the condition holds. */
static tnk_pair
negative_if(tnk_pairs *p, const tn_expr *cond, tnk_pair a)
{
    a = both_once(p, a);
    return both_once(p, tnk_pair_choose(p, cond, negative(p, a), a));
}

/* By halves of the lower words, whose products fit. */
tnk_pair
tnk_pair_mul(tnk_pairs *p, tnk_pair a, tnk_pair b)
{
    a = both_once(p, a), b = both_once(p, b);
    const tn_expr *low = num(p, a.lo, 0xffff);
    const tn_expr *al = once(p, both(p, a.lo, low)), *ah = once(p, right_by(p, a.lo, 16)),
                  *bl = once(p, both(p, b.lo, low)), *bh = once(p, right_by(p, b.lo, 16));
    const tn_expr *lh = once(p, mul(p, al, bh)), *hl = once(p, mul(p, ah, bl)),
                  *mid = add(p, right_by(p, mul(p, al, bl), 16),
                             add(p, both(p, lh, low), both(p, hl, low)));
    const tn_expr *hi = add(p, mul(p, ah, bh), right_by(p, mid, 16));
    hi = add(p, hi, add(p, right_by(p, lh, 16), right_by(p, hl, 16)));
    hi = add(p, hi, add(p, mul(p, a.lo, b.hi), mul(p, a.hi, b.lo)));
    return (tnk_pair){mul(p, a.lo, b.lo), hi};
}

const tn_expr *
tnk_pair_less(tnk_pairs *p, bool is_signed, tnk_pair a, tnk_pair b)
{
    tn_ctx *ctx = p->ctx;
    tnb_dtype d = is_signed ? like(TNB_I32, a.lo) : like(word, a.lo);
    const tn_expr *x = once(p, tn_cast_to(ctx, d, a.hi)), *y = once(p, tn_cast_to(ctx, d, b.hi));
    return tn_or(ctx, compare(p, TN_KIND_LT, x, y),
                 tn_and(ctx, compare(p, TN_KIND_EQ, x, y), compare(p, TN_KIND_LT, a.lo, b.lo)));
}

const tn_expr *
tnk_pair_equal(tnk_pairs *p, tnk_pair a, tnk_pair b)
{
    return tn_and(p->ctx, compare(p, TN_KIND_EQ, a.lo, b.lo), compare(p, TN_KIND_EQ, a.hi, b.hi));
}

/* ---- shifts ---- */

tnk_pair
tnk_pair_shift(tnk_pairs *p, bool to_left, bool is_signed, tnk_pair a, tnk_pair by)
{
    a = both_once(p, a), by = both_once(p, by);
    const tn_expr *zero = num(p, a.lo, 0), *bits = once(p, both(p, by.lo, num(p, a.lo, 31))),
                  *back = once(p, sub(p, num(p, a.lo, 31), bits)),
                  *fill = is_signed && !to_left ? once(p, signed_right(p, a.hi, num(p, a.hi, 31)))
                                                : zero;
    tnk_pair few, many;
    /* what goes from one word to the other is moved by 1 before, so that a count of 0 moves all of it out */
    if (to_left) {
        few = (tnk_pair){left(p, a.lo, bits),
                         either(p, left(p, a.hi, bits), right(p, right_by(p, a.lo, 1), back))};
        few.lo = once(p, few.lo);
        many = (tnk_pair){zero, few.lo};
    } else {
        few.hi = once(p, is_signed ? signed_right(p, a.hi, bits) : right(p, a.hi, bits));
        few.lo = either(p, right(p, a.lo, bits), left(p, left_by(p, a.hi, 1), back));
        many = (tnk_pair){few.hi, fill};
    }
    const tn_expr *above = compare(p, TN_KIND_GE, by.lo, num(p, a.lo, 32)),
                  *all = tn_or(p->ctx, compare(p, TN_KIND_NE, by.hi, zero),
                               compare(p, TN_KIND_GE, by.lo, num(p, a.lo, 64)));
    return tnk_pair_choose(p, all, (tnk_pair){fill, fill}, tnk_pair_choose(p, above, many, few));
}

/* ---- bits that are counted ---- */

/* The leading zeros of a word, at most 31; *moved: the word without them. */
static const tn_expr *
leading_zeros(tnk_pairs *p, const tn_expr *x, const tn_expr **moved)
{
    const tn_expr *n = NULL;
    for (uint32_t k = 16; k; k /= 2) {
        const tn_expr *none =
            once(p, compare(p, TN_KIND_LT, x, num(p, x, UINT32_C(1) << (32 - k))));
        const tn_expr *more = pick(p, none, num(p, x, k), num(p, x, 0));
        n = n ? add(p, n, more) : more;
        x = once(p, pick(p, none, left_by(p, x, k), x));
    }
    *moved = x;
    return once(p, n);
}

const tn_expr *
tnk_pair_clz(tnk_pairs *p, tnk_pair a)
{
    a = both_once(p, a);
    const tn_expr *above = once(p, is_zero(p, a.hi)), *moved,
                  *n = leading_zeros(p, once(p, pick(p, above, a.lo, a.hi)), &moved);
    n = add(p, n, pick(p, above, num(p, n, 32), num(p, n, 0)));
    n = add(p, n, pick(p, is_zero(p, moved), num(p, n, 1), num(p, n, 0)));
    return tn_cast_to(p->ctx, like(TNB_I32, n), n);
}

static const tn_expr *
ones(tnk_pairs *p, const tn_expr *x)
{
    x = once(p, sub(p, x, both(p, right_by(p, x, 1), num(p, x, 0x55555555))));
    x = once(p, add(p, both(p, x, num(p, x, 0x33333333)),
                    both(p, right_by(p, x, 2), num(p, x, 0x33333333))));
    x = both(p, add(p, x, right_by(p, x, 4)), num(p, x, 0x0f0f0f0f));
    return right_by(p, mul(p, x, num(p, x, 0x01010101)), 24);
}

const tn_expr *
tnk_pair_popcount(tnk_pairs *p, tnk_pair a)
{
    a = both_once(p, a);
    return tn_cast_to(p->ctx, like(TNB_I32, a.lo), add(p, ones(p, a.lo), ones(p, a.hi)));
}

/* ---- quotients ---- */

/* A digit of 16 bits of a quotient: of `rest` * 2^16 + `next` by `v`, whose highest bit is set; rest < v. */
static const tn_expr *
digit(tnk_pairs *p, const tn_expr *rest, const tn_expr *next, const tn_expr *vh, const tn_expr *vl)
{
    tn_ctx *ctx = p->ctx;
    const tn_expr *q = once(p, tn_bin(ctx, TN_KIND_DIV, rest, vh)),
                  *r = once(p, sub(p, rest, mul(p, q, vh))), *end = num(p, q, 0x10000),
                  *one = num(p, q, 1), *zero = num(p, q, 0);
    for (int i = 0; i < 2; i++) { /* it may be 2 too large; no more where r has left 16 bits */
        const tn_expr *large = compare(p, TN_KIND_GE, q, end),
                      *over =
                          compare(p, TN_KIND_GT, mul(p, q, vl), add(p, left_by(p, r, 16), next));
        const tn_expr *less =
            once(p, pick(p, tn_and(ctx, compare(p, TN_KIND_LT, r, end), tn_or(ctx, large, over)),
                         one, zero));
        q = once(p, sub(p, q, less));
        if (i == 0)
            r = once(p, add(p, r, mul(p, less, vh)));
    }
    return q;
}

/* (high, low) / v, where high < v. */
static const tn_expr *
two_digits(tnk_pairs *p, const tn_expr *high, const tn_expr *low, const tn_expr *v)
{
    const tn_expr *norm, *s = leading_zeros(p, v, &norm), *half = num(p, v, 0xffff);
    const tn_expr *back = sub(p, num(p, v, 31), s),
                  *top = once(p, either(p, left(p, high, s), right(p, right_by(p, low, 1), back))),
                  *rest = once(p, left(p, low, s));
    const tn_expr *vh = once(p, right_by(p, norm, 16)), *vl = once(p, both(p, norm, half)),
                  *upper = once(p, right_by(p, rest, 16));
    const tn_expr *q1 = digit(p, top, upper, vh, vl);
    top = once(p, sub(p, add(p, left_by(p, top, 16), upper), mul(p, q1, norm)));
    const tn_expr *q0 = digit(p, top, once(p, both(p, rest, half)), vh, vl);
    return once(p, add(p, left_by(p, q1, 16), q0));
}

/* Of unsigned numbers, b not 0: the quotient, or the remainder too. */
static void
divide(tnk_pairs *p, tnk_pair a, tnk_pair b, tnk_pair *quotient, tnk_pair *remainder)
{
    const tn_expr *zero = num(p, a.lo, 0), *one = num(p, a.lo, 1);
    const tn_expr *large = once(p, compare(p, TN_KIND_NE, b.hi, zero)),
                  *d = once(p, pick(p, large, one, b.lo)),
                  *q_high = once(p, tn_bin(p->ctx, TN_KIND_DIV, a.hi, d)),
                  *r_high = sub(p, a.hi, mul(p, q_high, d));
    const tn_expr *moved, *n = leading_zeros(p, once(p, pick(p, large, b.hi, one)), &moved),
                          *back = once(p, sub(p, num(p, n, 31), n));
    const tn_expr *v = either(p, moved, right(p, right_by(p, b.lo, 1), back));
    const tn_expr *high = once(p, pick(p, large, right_by(p, a.hi, 1), r_high)),
                  *low = once(p, pick(p, large,
                                      either(p, right_by(p, a.lo, 1), left_by(p, a.hi, 31)), a.lo));
    const tn_expr *t = two_digits(p, high, low, once(p, pick(p, large, v, d)));
    /* of large numbers: 1 too large at most, so it is made smaller by 1, and corrected */
    const tn_expr *guess = once(p, right(p, t, back));
    guess = once(p, sub(p, guess, pick(p, is_zero(p, guess), zero, one)));
    tnk_pair q = {once(p, pick(p, large, guess, t)), zero};
    tnk_pair r = both_once(p, tnk_pair_sub(p, a, tnk_pair_mul(p, q, b)));
    const tn_expr *less = tnk_pair_less(p, false, r, b),
                  *more = once(p, tn_and(p->ctx, large, tn_not(p->ctx, less)));
    *quotient = (tnk_pair){add(p, q.lo, pick(p, more, one, zero)), pick(p, large, zero, q_high)};
    if (!remainder)
        return;
    r.hi = pick(p, large, r.hi, zero); /* the upper digit of a small divisor is not in q */
    *remainder = tnk_pair_choose(p, more, tnk_pair_sub(p, r, b), r);
}

tnk_pair
tnk_pair_divide(tnk_pairs *p, tnk_quotient what, bool is_signed, tnk_pair a, tnk_pair b)
{
    bool rest = what == TNK_QUOTIENT_MOD || what == TNK_QUOTIENT_FLOOR_MOD,
         floors = is_signed && (what == TNK_QUOTIENT_FLOOR_DIV || what == TNK_QUOTIENT_FLOOR_MOD);
    a = both_once(p, a), b = both_once(p, b);
    const tn_expr *zero = num(p, a.lo, 0), *by_zero = once(p, is_zero(p, either(p, b.lo, b.hi)));
    const tn_expr *a_below = is_signed ? is_negative(p, a) : NULL,
                  *b_below = is_signed ? is_negative(p, b) : NULL,
                  *differ =
                      is_signed
                          ? is_negative(p, (tnk_pair){zero, tn_bitwise_xor(p->ctx, a.hi, b.hi)})
                          : NULL;
    tnk_pair x = is_signed ? negative_if(p, a_below, a) : a,
             y = is_signed ? negative_if(p, b_below, b) : b, q, r;
    y.lo = once(p, pick(p, by_zero, num(p, a.lo, 1), y.lo));
    divide(p, x, y, &q, rest || floors ? &r : NULL);
    if (rest || floors)
        r = both_once(p, r);
    const tn_expr *some =
        floors ? once(p, tn_and(p->ctx, differ, tn_not(p->ctx, is_zero(p, either(p, r.lo, r.hi)))))
               : NULL;
    tnk_pair out;
    if (rest) {
        out = is_signed ? negative_if(p, a_below, r) : r;
        if (floors)
            out = tnk_pair_choose(p, some, tnk_pair_add(p, out, b), out);
    } else {
        if (floors)
            q = tnk_pair_add(p, q, (tnk_pair){pick(p, some, num(p, a.lo, 1), zero), zero});
        out = is_signed ? negative_if(p, differ, q) : q;
    }
    return tnk_pair_choose(p, by_zero, (tnk_pair){zero, zero}, out);
}

/* ---- floats ---- */

static const tn_expr *
float_of(tnk_pairs *p, tnb_dtype d, double v)
{
    tnb_dtype one = d;
    one.lanes = 1;
    const tn_expr *x = tn_float_imm_of(p->ctx, one, v);
    return d.lanes > 1 ? tn_broadcast_of(p->ctx, x, d.lanes) : x;
}

/* Each step is exact: the words of |x| are its parts above and below 2^32. */
tnk_pair
tnk_pair_from_float(tnk_pairs *p, bool is_signed, const tn_expr *x)
{
    tn_ctx *ctx = p->ctx;
    tnb_dtype f = tn_dtype_of(x), u = like(word, x);
    x = once(p, x);
    const tn_expr *zero = float_of(p, f, 0), *below = once(p, compare(p, TN_KIND_LT, x, zero)),
                  *size = once(p, pick(p, below, tn_sub(ctx, zero, x), x));
    const tn_expr *fits = compare(p, TN_KIND_LT, size, float_of(p, f, 0x1p63));
    if (!is_signed) /* a negative number has the bits of the signed one */
        fits = tn_or(ctx, fits,
                     tn_and(ctx, tn_not(ctx, below),
                            compare(p, TN_KIND_LT, size, float_of(p, f, 0x1p64))));
    fits = once(p, fits);
    size = once(p, pick(p, fits, size, zero));
    const tn_expr *hi = once(p, tn_cast_to(ctx, u, tn_mul(ctx, size, float_of(p, f, 0x1p-32)))),
                  *lo = tn_cast_to(ctx, u,
                                   tn_sub(ctx, size,
                                          tn_mul(ctx, tn_cast_to(ctx, f, hi),
                                                 float_of(p, f, 0x1p32))));
    tnk_pair least = tnk_pair_of_int(p, INT64_MIN, f.lanes),
             most = tnk_pair_of_int(p, is_signed ? INT64_MAX : -1, f.lanes);
    tnk_pair beyond =
        tnk_pair_choose(p, compare(p, TN_KIND_NE, x, x), tnk_pair_of_int(p, 0, f.lanes),
                        tnk_pair_choose(p, below, least, most));
    return tnk_pair_choose(p, fits, negative_if(p, below, (tnk_pair){lo, hi}), beyond);
}

const tn_expr *
tnk_pair_to_float(tnk_pairs *p, bool is_signed, tnk_pair a)
{
    tn_ctx *ctx = p->ctx;
    a = both_once(p, a);
    const tn_expr *zero = num(p, a.lo, 0), *below = is_signed ? is_negative(p, a) : NULL;
    tnk_pair m = is_signed ? negative_if(p, below, a) : a;
    const tn_expr *small = once(p, is_zero(p, m.hi)), *moved,
                  *n = leading_zeros(p, once(p, pick(p, small, m.lo, m.hi)), &moved),
                  *back = sub(p, num(p, n, 31), n);
    /* the bits from the highest that is set on, and those behind the first 32 */
    const tn_expr *top =
                      once(p, either(p, moved,
                                     pick(p, small, zero, right(p, right_by(p, m.lo, 1), back)))),
                  *rest = pick(p, small, zero, left(p, m.lo, n)),
                  *zeros = add(p, n, pick(p, small, num(p, n, 32), zero));
    const tn_expr *digits = once(p, right_by(p, top, 8)), *one = num(p, top, 1);
    const tn_expr *behind = either(p, both(p, top, num(p, top, 0x7f)), rest),
                  *odd = either(p, digits, pick(p, is_zero(p, behind), zero, one)),
                  *up = both(p, both(p, right_by(p, top, 7), odd), one);
    /* the highest of the 24 digits adds 1 to the exponent, a carry too */
    const tn_expr *bits = add(p, left_by(p, sub(p, num(p, n, 189), zeros), 23), add(p, digits, up));
    bits = pick(p, is_zero(p, either(p, m.lo, m.hi)), zero, bits);
    if (below)
        bits = either(p, bits, pick(p, below, num(p, n, UINT32_C(1) << 31), zero));
    return tnk_reinterpret(ctx, like(TNB_F32, a.lo), once(p, bits));
}
