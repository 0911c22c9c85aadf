/* SPDX-License-Identifier: Apache-2.0 */
/* For passes of a target's `lower` list: rewriting the statements of tensor programs. */
#ifndef TENON_KIT_LOWER_H
#define TENON_KIT_LOWER_H

#include "tenon/core/arith.h"
#include "tenon/core/op.h"
#include "tenon/core/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rewriting while the ranges of loop variables and the conditions on the way are known ---- */
typedef struct tnk_ranged tnk_ranged;
struct tnk_ranged {
    tn_ctx *ctx;
    tn_arith *arith;
    /* Each expression of a statement (index, value, condition, bound); NULL: left as it is. */
    const tn_expr *(*expr)(tnk_ranged *r, const tn_expr *e);
    /* A statement, before its children: a replacement (not visited further) or NULL. May be NULL.
     */
    const tn_stmt *(*pre)(tnk_ranged *r, const tn_stmt *s);
    /* A statement, after its children. May be NULL. */
    const tn_stmt *(*post)(tnk_ranged *r, const tn_stmt *s);
    void *user;
};
/* Sets ctx and arith. Variables of `f` that are never negative are registered first. */
TNB_EXPORT void
tnk_ranged_init(tnk_ranged *r, tn_ctx *ctx, const tn_prim_func *f);
/* The error node after an error was recorded. */
TNB_EXPORT const tn_stmt *
tnk_ranged_rewrite(tnk_ranged *r, const tn_stmt *s);

/* ---- what a device lacks ---- */
/* The attributes by which a target says it, which the passes of @gpu_lower look at; up to the entry without a name. A target's schema
 * has those that it wants, under these names and of these types, with values of its own; one that it does not have is as the
 * `fallback` here says. */
TNB_EXPORT extern const tn_attr_schema tnk_capabilities[];
/* The capability of this name, or that of the nearest name, which may be meant; NULL: none is near. */
TNB_EXPORT const tn_attr_schema *
tnk_capability_like(const char *name);

/* Whether the intrinsic is a function of mathematics that LowerMath computes by sums and products for floats of so many bits: with up to
 * 32 all of them, of float64 exp and log. A target without functions of its own (supports_math is False) has no others of float64. */
TNB_EXPORT bool
tnk_is_lowered_math(tn_intrin_id id, uint32_t bits);

/* ---- statements ---- */
/* The sequence of the statements that do something. */
TNB_EXPORT const tn_stmt *
tnk_seq(tn_ctx *ctx, const tn_stmt *const *at, uint32_t n);
/* A copy of `f` with these bounds and body. */
TNB_EXPORT const tn_stmt *
tnk_for_with(tn_ctx *ctx, const tn_for_loop *f, const tn_expr *min, const tn_expr *extent,
             const tn_stmt *body);
/* Runs `fn` over the body of every PrimFunc of a module that the pass may lower; NULL after an error: `fn` gave the error node. */
TNB_EXPORT const tn_module *
tnk_map_bodies(const tn_pass_ctx *pc, const tn_module *m,
               const tn_stmt *(*fn)(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f));

/* ---- reductions of several results together, such as the largest value and its place ---- */
enum { TNK_MAX_RESULTS = 8 };
typedef struct tnk_tuple_reducer {
    uint32_t n; /* at least 2 */
    /* Every result is joined with its own values alone (sums, say); else each join takes all results of one side or of the
     * other by comparing them, so that a side may be joined in again without harm. */
    bool independent;
    const tn_buffer_store *store[TNK_MAX_RESULTS]; /* values in terms of loads alone */
    const tn_expr *init[TNK_MAX_RESULTS], *value[TNK_MAX_RESULTS];
    tn_kind op[TNK_MAX_RESULTS]; /* independent: TN_KIND_ADD and so on */
    /* the results of two parts, as variables, and of both together */
    const tn_expr *lhs[TNK_MAX_RESULTS], *rhs[TNK_MAX_RESULTS], *joined[TNK_MAX_RESULTS];
} tnk_tuple_reducer;
/* Whether a block with init is a reduction of several results whose parts may be joined in any order. */
TNB_EXPORT bool
tnk_tuple_reducer_of(tn_ctx *ctx, const tn_block *b, tnk_tuple_reducer *out);
/* The stores of a straight line of statements, in terms of loads alone; 0: it is something else, or a
 * store reads what an earlier one wrote. */
TNB_EXPORT uint32_t
tnk_stores_of(tn_ctx *ctx, const tn_stmt *s, const tn_buffer_store *out[TNK_MAX_RESULTS]);

#ifdef __cplusplus
}
#endif
#endif
