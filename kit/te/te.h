/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the tensor-expression builder share. */
#ifndef TENON_KIT_TE_TE_H
#define TENON_KIT_TE_TE_H

#include "tenon/core/walk.h"
#include "tenon/kit/te.h"

struct tnk_te {
    tn_ctx *ctx;
    tnb_arena *arena;                 /* scratch */
    bool bad;                         /* an error was recorded */
    tnb_strmap names;                 /* taken by buffers and blocks */
    tnb_ptrmap own;                   /* variables of the PrimFunc */
    tnb_ptrmap inner;                 /* the graph's variable -> the PrimFunc's */
    tnb_ptrmap outer;                 /* and back */
    tnb_ptrmap known;                 /* variables that a bare extent of a parameter defines */
    TNB_VEC(const tn_node *) inputs;  /* Buffers */
    TNB_VEC(const tn_node *) scalars; /* Vars */
    TNB_VEC(const tn_node *) symbols; /* Vars that stand for the graph's, in order of first use */
    TNB_VEC(const tn_node *) made;    /* Buffers that stages fill */
    TNB_VEC(const tn_node *) stages;  /* statements */
};

const char *
te_name(tnk_te *te, const char *hint);
const tn_expr *
te_var(tnk_te *te, const char *name, tnb_dtype d);
/* A buffer. Where its elements cannot be counted the program is bad, and a buffer of one element stands in, so that a rule
 * may go on asking for extents. */
const tn_node *
te_new_buffer(tnk_te *te, const char *name, tn_list dims, tnb_dtype d);
tn_list
te_exprs(tnk_te *te, const tn_expr *const *e, uint32_t n);
/* The parameter that stands for a buffer. */
const tn_expr *
te_handle(tnk_te *te, const tn_node *buffer);

#endif
