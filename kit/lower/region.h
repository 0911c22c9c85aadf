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

#endif
