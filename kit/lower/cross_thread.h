/* SPDX-License-Identifier: Apache-2.0 */
/* What the two forms of a reduction over threads share: the tree in shared memory (cross_thread_reduction.c) and warps
 * (warp_reduction.c). Not installed. */
#ifndef TENON_KIT_CROSS_THREAD_H
#define TENON_KIT_CROSS_THREAD_H

#include "tenon/kit/lower.h"
#include "lower.h"
#include "tenon/core/registry.h"

enum { TNK_MAX_LOOPS = 64 };

/* One reduction being lowered. */
typedef struct tnk_reduction {
    const tn_block_realize *realize;
    const tn_block *block;
    tnk_tuple_reducer of;                    /* n may be 1 */
    const tn_for_loop *inner[TNK_MAX_LOOPS]; /* loops from the place of the change to the block */
    uint32_t n_inner;
    const tn_node *own[TNK_MAX_RESULTS], *red[TNK_MAX_RESULTS]; /* the thread's share; all shares */
} tnk_reduction;

typedef struct tnk_threads {
    const tn_expr *row, *lane; /* of `red`: which reduction, which share */
    int64_t rows, lanes;
    /* threadIdx.x, .y, .z around it: extent (1: none), index, and whether it is part of `lane` */
    int64_t extent[3];
    const tn_expr *index[3];
    bool reduces[3];
    bool lanes_first; /* `red` is [lane, row]; threads are in no warps then */
} tnk_threads;

typedef struct tnk_stmts {
    TNB_VEC(const tn_stmt *) v;
} tnk_stmts;

/* What changes nothing when it is joined in. */
const tn_expr *
tnk_neutral(tn_ctx *ctx, tn_kind op, tnb_dtype d);
/* to[k][i, j] = lhs[k] joined with rhs[k], for all results k; j may be NULL. */
const tn_stmt *
tnk_join_shares(tn_ctx *ctx, const tnk_reduction *r, const tn_node *const *to, const tn_expr *i,
                const tn_expr *j, const tn_expr *const *lhs, const tn_expr *const *rhs);
const tn_stmt *
tnk_barrier(tn_ctx *ctx);

/* ---- warp_reduction.c ---- */
/* How the lanes of one reduction lie in warps. */
typedef struct tnk_warps {
    tn_warp warp;
    int64_t shares;              /* of one reduction, one a warp; 1: no two warps take part */
    const tn_expr *lane, *share; /* of its warp; of its reduction */
} tnk_warps;
/* Whether these threads, which are all of their block, can join their shares in warps. */
bool
tnk_in_warps(tn_ctx *ctx, const tn_warp *w, const tnk_reduction *r, const tnk_threads *t,
             tnk_warps *out);
/* Statements that leave the whole in each thread's `own`. `red` has room for all shares of warps, if there are several; again: a
 * turn before may still read it. */
void
tnk_join_in_warps(tn_ctx *ctx, const tnk_warps *w, const tnk_reduction *r, const tnk_threads *t,
                  bool again, tnk_stmts *out);

#endif
