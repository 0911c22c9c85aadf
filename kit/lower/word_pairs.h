/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on numbers of 64 bits as pairs of 32-bit words, written with operations on uint32, int32 and float32 alone: what
 * LowerInt64 is made of. Words may be vectors; those of one pair, and of pairs that meet, have the same lanes. Not installed.
 */
#ifndef TENON_KIT_WORD_PAIRS_H
#define TENON_KIT_WORD_PAIRS_H

#include "lower.h"

typedef struct tnk_pair {
    const tn_expr *lo, *hi; /* uint32 */
} tnk_pair;

/* Who makes expressions of pairs. */
typedef struct tnk_pairs tnk_pairs;
struct tnk_pairs {
    tn_ctx *ctx;
    /* A short expression for `e`, a variable say, as it is used several times. */
    const tn_expr *(*once)(tnk_pairs *p, const tn_expr *e);
    void *user;
};

typedef enum tnk_quotient {
    TNK_QUOTIENT_DIV, /* towards zero */
    TNK_QUOTIENT_MOD,
    TNK_QUOTIENT_FLOOR_DIV,
    TNK_QUOTIENT_FLOOR_MOD
} tnk_quotient;

tnk_pair
tnk_pair_of_int(tnk_pairs *p, int64_t v, uint16_t lanes);
/* A number of 32 bits or less, extended by its sign where it is signed. */
tnk_pair
tnk_pair_extend(tnk_pairs *p, const tn_expr *x);
tnk_pair
tnk_pair_choose(tnk_pairs *p, const tn_expr *cond, tnk_pair a, tnk_pair b);
tnk_pair
tnk_pair_add(tnk_pairs *p, tnk_pair a, tnk_pair b);
tnk_pair
tnk_pair_sub(tnk_pairs *p, tnk_pair a, tnk_pair b);
tnk_pair
tnk_pair_mul(tnk_pairs *p, tnk_pair a, tnk_pair b);
/* Division by zero gives 0 for both results; the least number by -1 wraps around. */
tnk_pair
tnk_pair_divide(tnk_pairs *p, tnk_quotient what, bool is_signed, tnk_pair a, tnk_pair b);
/* By a count that is unsigned: 64 and more shift everything out. is_signed: to the right, by copies of the sign. */
tnk_pair
tnk_pair_shift(tnk_pairs *p, bool left, bool is_signed, tnk_pair a, tnk_pair by);
const tn_expr *
tnk_pair_less(tnk_pairs *p, bool is_signed, tnk_pair a, tnk_pair b);
const tn_expr *
tnk_pair_equal(tnk_pairs *p, tnk_pair a, tnk_pair b);
/* As int32. */
const tn_expr *
tnk_pair_popcount(tnk_pairs *p, tnk_pair a);
const tn_expr *
tnk_pair_clz(tnk_pairs *p, tnk_pair a);
/* Towards zero; NaN gives 0, what is out of range the nearest number. x: float32 or float64. */
tnk_pair
tnk_pair_from_float(tnk_pairs *p, bool is_signed, const tn_expr *x);
/* The nearest float32, halves to even. */
const tn_expr *
tnk_pair_to_float(tnk_pairs *p, bool is_signed, tnk_pair a);

#endif
