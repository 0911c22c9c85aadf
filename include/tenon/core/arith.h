/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic integer arithmetic: simplify, prove, bounds, modular sets, affine iteration maps.
 *
 * An analyzer holds what is known of variables (ranges, values, assumptions). Unless bound
 * otherwise, shape variables registered with tn_arith_shape_var are >= 0.
 */
#ifndef TENON_CORE_ARITH_H
#define TENON_CORE_ARITH_H

#include "tenon/core/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_arith tn_arith;

#define TN_POS_INF INT64_MAX
#define TN_NEG_INF INT64_MIN

/* In the scratch arena of the context. */
TNB_EXPORT tn_arith *
tn_arith_new(tn_ctx *ctx);
/* min <= var < min + extent */
TNB_EXPORT void
tn_arith_range(tn_arith *a, const tn_expr *var, const tn_expr *min, const tn_expr *extent);
TNB_EXPORT void
tn_arith_bounds_of_var(tn_arith *a, const tn_expr *var, int64_t lo, int64_t hi); /* inclusive */
TNB_EXPORT void
tn_arith_value(tn_arith *a, const tn_expr *var, const tn_expr *value);
TNB_EXPORT void
tn_arith_shape_var(tn_arith *a, const tn_expr *var); /* >= 0 */
/* A variable that is bound to `value` from here on: it has its bounds, and holds data where the value is computed from
 * loaded elements. Sums and products of data wrap around, those of other integers of 32 and 64 bits are taken not to. */
TNB_EXPORT void
tn_arith_bind(tn_arith *a, const tn_expr *var, const tn_expr *value);
/* Assumes a condition (NULL: none) until tn_arith_pop(mark). What tn_arith_range says of a loop's
 * variable implies that the loop runs at all: it has to be said within such a frame, which ends
 * with the loop. */
TNB_EXPORT uint32_t
tn_arith_push(tn_arith *a, const tn_expr *condition);
TNB_EXPORT void
tn_arith_pop(tn_arith *a, uint32_t mark);

/* A canonical, usually shorter form: equal integers in all values that the bindings allow. Also
 * floats: only exact rules. */
TNB_EXPORT const tn_expr *
tn_simplify(tn_arith *a, const tn_expr *e);
/* a `kind` b of integers or truth values of dtype d, wrapped: arithmetic, minimum and maximum, comparisons, and, or (then 0 or 1).
 * False where the result is not defined (division by zero). */
TNB_EXPORT bool
tn_fold_int(tn_kind kind, tnb_dtype d, int64_t a, int64_t b, int64_t *out);
/* Certainly true; false means "not proved". */
TNB_EXPORT bool
tn_prove(tn_arith *a, const tn_expr *condition);
TNB_EXPORT bool
tn_prove_eq(tn_arith *a, const tn_expr *x, const tn_expr *y);
/* Inclusive bounds; TN_NEG_INF and TN_POS_INF when open. */
TNB_EXPORT void
tn_bounds(tn_arith *a, const tn_expr *e, int64_t *lo, int64_t *hi);
/* e == coeff * k + base for some integer k; coeff 0: constant base. */
TNB_EXPORT void
tn_modular(tn_arith *a, const tn_expr *e, int64_t *coeff, int64_t *base);
/* Bounds of e over ranges of some variables, as expressions of the rest; NULL: unknown.
 * vars/mins/extents of length n. */
TNB_EXPORT bool
tn_interval(tn_arith *a, const tn_expr *e, const tn_expr *const *vars, const tn_expr *const *mins,
            const tn_expr *const *extents, uint32_t n, const tn_expr **lo, const tn_expr **hi);
/* e as sum of coeffs[i] * vars[i] + rest, when it is linear in vars; rest uses none of them. */
TNB_EXPORT bool
tn_linear(tn_arith *a, const tn_expr *e, const tn_expr *const *vars, uint32_t n,
          const tn_expr **coeffs, const tn_expr **rest);
/* Shortcuts with a fresh analyzer whose free variables count as shape variables. */
TNB_EXPORT const tn_expr *
tn_simplify_now(tn_ctx *ctx, const tn_expr *e);
TNB_EXPORT bool
tn_prove_equal(tn_ctx *ctx, const tn_expr *x, const tn_expr *y);
/* Product of a list of int64 extents, simplified; 1 for none. */
TNB_EXPORT const tn_expr *
tn_product(tn_ctx *ctx, tn_list dims);

/* The extent of two axes that are broadcast together: the one that is not 1, and T.Select(n == 1, m, n) where
 * that is decided at run time, in one form whatever the order, so that broadcasting with a part of it gives
 * it again. Within type inference it is an assumption of the call that they can be (tenon/core/op.h).
 * NULL: two literals that cannot. `from_end`: which axis a message is about, from 1 for the last. */
TNB_EXPORT const tn_expr *
tn_broadcast_dim(tn_ctx *ctx, const tn_expr *x, const tn_expr *y, uint32_t from_end);

/* ---- affine iteration maps ---- */
/* Whether `indices`, over loop variables `vars` with ranges [0, extents[i]), form a map that splits
 * and fuses the variables (each index an affine form of disjoint pieces). bijective: every point
 * hit once. */
TNB_EXPORT bool
tn_iter_map_check(tn_arith *a, const tn_expr *const *indices, uint32_t n_indices,
                  const tn_expr *const *vars, const tn_expr *const *extents, uint32_t n_vars,
                  const tn_expr *predicate, bool bijective);
/* The loop variables as expressions of `outputs` (Vars standing for the indices); false if not
 * invertible. */
TNB_EXPORT TNB_MUST_CHECK bool
tn_iter_map_inverse(tn_arith *a, const tn_expr *const *indices, uint32_t n_indices,
                    const tn_expr *const *vars, const tn_expr *const *extents, uint32_t n_vars,
                    const tn_expr *const *outputs, const tn_expr **inverse);

#ifdef __cplusplus
}
#endif
#endif
