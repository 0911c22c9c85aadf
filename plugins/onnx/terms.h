/* SPDX-License-Identifier: Apache-2.0 */
/* Terms: scalar expressions that stand for known elements.
 *
 * An element of an integer or boolean tensor is an int64 term over symbolic dimensions (a boolean is
 * 0 or 1). An element of a float tensor is a literal (float64, rounded to the tensor's dtype) or a
 * term of the tensor's own dtype, float32 or float64, so that run time computes it with the roundings
 * that the model has. Where floats are quotients of small integers (n * 0.5, n / 16, n * 1.5 + 2),
 * floor, ceil and casts give integer terms; these are equal as long as the numbers before the
 * division stay below 2^24 (float32) or 2^53 (float64).
 *
 * Functions give NULL for what they cannot follow: then run time computes the tensor.
 */
#ifndef ONNX_TERMS_H
#define ONNX_TERMS_H

#include "tenon/core/arith.h"
#include "tenon/core/build.h"

/* Extents are 0 or more. An int64 term of any sign is two of them: e or -1 - e, and whether it is the latter. (As a difference of two,
 * -2^63 would need 2^63; and comparisons of differences are rewritten to ones that exceed int64.) */
void
onnx_term_split(tn_ctx *ctx, const tn_expr *e, const tn_expr *parts[2]);
const tn_expr *
onnx_term_join(tn_ctx *ctx, const tn_expr *value, const tn_expr *negative);
/* Whether it is that of two variables. */
bool
onnx_term_is_joined(const tn_expr *e);

/* What an operator computes of each element. */
typedef enum onnx_arith {
    ONNX_NO_ARITH,
    /* of two */
    ONNX_ADD,
    ONNX_SUB,
    ONNX_MUL,
    ONNX_DIV,
    ONNX_MOD,
    ONNX_MIN,
    ONNX_MAX,
    ONNX_POW,
    ONNX_AND,
    ONNX_OR,
    ONNX_XOR,
    ONNX_EQUAL,
    ONNX_LESS,
    ONNX_LESS_EQUAL,
    ONNX_GREATER,
    ONNX_GREATER_EQUAL,
    /* of one */
    ONNX_NEG,
    ONNX_ABS,
    ONNX_SIGN,
    ONNX_FLOOR,
    ONNX_CEIL,
    ONNX_ROUND,
    ONNX_NOT,
    ONNX_SQRT,
    ONNX_RECIPROCAL,
    ONNX_RELU
} onnx_arith;

enum { ONNX_MAX_TERM = 96 }; /* nodes of a term; larger ones are left to run time */

/* Whether the term is known to be 0 or more (dimensions are). */
bool
onnx_term_nonneg(tn_ctx *ctx, const tn_expr *e);
/* The least and the largest number that an integer term can be, dimensions being 0 or more. */
void
onnx_term_bounds(tn_ctx *ctx, const tn_expr *e, int64_t *lo, int64_t *hi);
/* Whether the term holds a quotient by something else than a number. */
bool
onnx_term_divides(const tn_expr *e);
/* Whether a sum or product may be a number beyond int64: a factor or a summand is large already. (Extents and products of them are
 * taken to be below 2^31 here.) */
bool
onnx_term_is_far(const tn_expr *e);
/* Whether the term, written out, has at most ONNX_MAX_TERM nodes. */
bool
onnx_term_small(const tn_expr *e);
/* A literal integer wrapped to its dtype, a float one rounded; other terms as they are. */
const tn_expr *
onnx_term_fit(tn_ctx *ctx, tnb_dtype d, const tn_expr *e);
/* One of two terms of dtype d. Comparisons give 0 or 1. fmod: Mod's attribute. */
const tn_expr *
onnx_term_binary(tn_ctx *ctx, onnx_arith op, tnb_dtype d, bool fmod, const tn_expr *a,
                 const tn_expr *b);
const tn_expr *
onnx_term_unary(tn_ctx *ctx, onnx_arith op, tnb_dtype d, const tn_expr *a);
const tn_expr *
onnx_term_cast(tn_ctx *ctx, tnb_dtype from, tnb_dtype to, const tn_expr *e);
/* cond ? a : b; cond: an integer term, a and b of dtype d. */
const tn_expr *
onnx_term_where(tn_ctx *ctx, tnb_dtype d, const tn_expr *cond, const tn_expr *a, const tn_expr *b);
/* An integer term as a condition (bool). */
const tn_expr *
onnx_term_truth(tn_ctx *ctx, const tn_expr *e);

#endif
