/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of several results together, such as the largest value and its place. Not installed. */
#ifndef TENON_KIT_TUPLE_REDUCER_H
#define TENON_KIT_TUPLE_REDUCER_H

#include "tenon/core/build.h"

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
bool
tnk_tuple_reducer_of(tn_ctx *ctx, const tn_block *b, tnk_tuple_reducer *out);
/* The stores of a straight line of statements, in terms of loads alone; 0: it is something else, or a
 * store reads what an earlier one wrote. */
uint32_t
tnk_stores_of(tn_ctx *ctx, const tn_stmt *s, const tn_buffer_store *out[TNK_MAX_RESULTS]);

#endif
