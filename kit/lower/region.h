/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of buffers that a statement touches, in terms of the variables defined outside of it. Not
 * installed. */
#ifndef TENON_KIT_REGION_H
#define TENON_KIT_REGION_H

#include "lower.h"

/* One access of a buffer. */
typedef struct tnk_access {
    const tn_node *node; /* BufferLoad or BufferStore */
    tn_list indices;
    bool is_store;
    bool guarded;   /* below an if (or in a lazy branch) whose condition uses a variable of the
                     outside */
    tn_list guards; /* those conditions; one that is NULL is not known outside */
    const tn_expr **lo,
        **hi; /* inclusive bounds per dimension over the inner variables; NULL: not known */
} tnk_access;

typedef struct tnk_accesses {
    TNB_VEC(tnk_access) v;
    bool opaque; /* the buffer is used in another way (address taken, data pointer) */
} tnk_accesses;

/* All accesses of `buffer` in `s`, in order of execution (a store follows the loads of its value).
 * `arith` knows the outer variables. */
void
tnk_collect_accesses(tn_ctx *ctx, tn_arith *arith, const tn_stmt *s, const tn_node *buffer,
                     tnk_accesses *out);

/* ---- a sequence whose allocations are looked at one by one ---- */

typedef struct tnk_seq_user {
    TNB_VEC(uint32_t) at; /* statements that use it, ascending; its own is one of them */
} tnk_seq_user;

typedef struct tnk_seq_used {
    TNB_VEC(uint32_t)
    keys; /* the allocations and binds of the sequence that a statement uses, by their indices */
} tnk_seq_used;

typedef struct tnk_seq_uses {
    tnb_ptrmap
        keys; /* buffers allocated, their data and bound variables -> index of the statement + 1 */
    tnk_seq_user *key;  /* by the index of the allocation or bind */
    tnk_seq_used *used; /* by the index of the statement */
} tnk_seq_uses;

/* All uses in one walk, in scratch memory: asking each statement for each buffer would take the square of the sequence.
 * false: nothing is allocated, and nothing was done. */
bool
tnk_seq_uses_of(tn_ctx *ctx, const tn_seq *q, tnk_seq_uses *out);

#endif
