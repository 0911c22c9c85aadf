/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar expressions in one line each: comparisons, intrinsics by id, and operands that are integers of C.
 *
 *     tn_and_of(ctx, tn_ge_of(ctx, i, tn_i64(ctx, 0)), tn_lt_of(ctx, i, n))     0 <= i and i < n
 *     tn_addi(ctx, tn_muli(ctx, block, 16), 3)                                  block * 16 + 3
 *     tn_intrin1(ctx, TN_INTRIN_exp, x)                                         exp(x)
 *
 * Names follow the rule of build.h: tn_lt computes, which of two literals is a literal; tn_lt_of gives an LT in any case.
 * Operands of both may have different dtypes, which are matched as tn_bin does. Errors: as in build.h.
 */
#ifndef TENON_CORE_EXPR_H
#define TENON_CORE_EXPR_H

#include "tenon/core/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- division that truncates towards zero (of floats: true division) ---- */
static inline const tn_expr *
tn_div(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_DIV, a, b);
}
/* The remainder of tn_div, with the sign of a. */
static inline const tn_expr *
tn_mod(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_MOD, a, b);
}

/* ---- an operand that is an int64 literal ---- */
static inline const tn_expr *
tn_addi(tn_ctx *ctx, const tn_expr *a, int64_t b)
{
    return tn_add(ctx, a, tn_i64(ctx, b));
}
static inline const tn_expr *
tn_subi(tn_ctx *ctx, const tn_expr *a, int64_t b)
{
    return tn_sub(ctx, a, tn_i64(ctx, b));
}
static inline const tn_expr *
tn_muli(tn_ctx *ctx, const tn_expr *a, int64_t b)
{
    return tn_mul(ctx, a, tn_i64(ctx, b));
}
static inline const tn_expr *
tn_floordivi(tn_ctx *ctx, const tn_expr *a, int64_t b)
{
    return tn_floordiv(ctx, a, tn_i64(ctx, b));
}
static inline const tn_expr *
tn_floormodi(tn_ctx *ctx, const tn_expr *a, int64_t b)
{
    return tn_floormod(ctx, a, tn_i64(ctx, b));
}

/* ---- comparisons that fold literals ---- */
static inline const tn_expr *
tn_lt(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_cmp(ctx, TN_KIND_LT, a, b);
}
static inline const tn_expr *
tn_le(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_cmp(ctx, TN_KIND_LE, a, b);
}
static inline const tn_expr *
tn_gt(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_cmp(ctx, TN_KIND_GT, a, b);
}
static inline const tn_expr *
tn_ge(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_cmp(ctx, TN_KIND_GE, a, b);
}
static inline const tn_expr *
tn_eq(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_cmp(ctx, TN_KIND_EQ, a, b);
}
static inline const tn_expr *
tn_ne(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_cmp(ctx, TN_KIND_NE, a, b);
}

/* ---- comparisons and connectives that are always the node ---- */
static inline const tn_expr *
tn_lt_of(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_LT, a, b);
}
static inline const tn_expr *
tn_le_of(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_LE, a, b);
}
static inline const tn_expr *
tn_gt_of(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_GT, a, b);
}
static inline const tn_expr *
tn_ge_of(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_GE, a, b);
}
static inline const tn_expr *
tn_eq_of(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_EQ, a, b);
}
static inline const tn_expr *
tn_ne_of(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_NE, a, b);
}
static inline const tn_expr *
tn_and_of(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_AND, a, b);
}
static inline const tn_expr *
tn_or_of(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(ctx, TN_KIND_OR, a, b);
}

/* ---- calls of the core's scalar intrinsics ---- */
/* The type follows the intrinsic's rule. One of a plugin has no id: tn_intrin_named (build.h). */
TNB_EXPORT const tn_expr *
tn_intrin(tn_ctx *ctx, tn_intrin_id id, tn_list args);
static inline const tn_expr *
tn_intrin1(tn_ctx *ctx, tn_intrin_id id, const tn_expr *a)
{
    tn_list args = {&a, 1};
    return tn_intrin(ctx, id, args);
}
static inline const tn_expr *
tn_intrin2(tn_ctx *ctx, tn_intrin_id id, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *const both[] = {a, b};
    tn_list args = {both, 2};
    return tn_intrin(ctx, id, args);
}

#ifdef __cplusplus
}
#endif
#endif
