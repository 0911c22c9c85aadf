/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier's state, shared by its graph and tensor parts. Not installed. */
#ifndef TENON_CORE_VERIFY_H
#define TENON_CORE_VERIFY_H

#include "private.h"

typedef struct verifier {
    tn_ctx *ctx;
    const tn_module *module;
    const char *func; /* the function being looked at */
    tn_loc place;     /* of what in it has no place of its own; 0: not made yet */
    tnb_arena *arena;
    uint32_t errors;
    tnb_ptrmap owner;   /* graph: variable or symbol -> name of the function that defines it */
    tnb_ptrmap defined; /* what may be used here: variables, symbols, buffers, each with itself as
                           value; loop variables out of reach with the block that hides them */
    tnb_ptrmap seen;    /* types and scalar expressions found right in this function */
} verifier;

enum { MAX_ERRORS_PER_FUNCTION = 20 };

/* Whether the call was found right with that program, or by itself (tn_found_right); NULL: with nothing. */
bool
tn_is_found_right(const tn_ctx *ctx, const tn_call *c, const tn_node *with);
void
tn_note_right(tn_ctx *ctx, const tn_call *c, const tn_node *with);
/* The place of a node, or its function when it has none. */
tn_loc
tn_verify_at(verifier *v, const tn_node *n);
/* Records an error at the node's place, or in the function when it has none. Always false. */
bool
tn_verify_error(verifier *v, const tn_node *n, const char *fmt, ...) TNB_PRINTF(3, 4);
/* All variables in a scalar expression or type are defined, dtypes of operands agree. */
void
tn_verify_scalar(verifier *v, const tn_node *e);
void
tn_verify_prim_func(verifier *v, const tn_prim_func *f);
/* Whether the attributes of a function have the types that their readers expect. */
void
tn_verify_attrs(verifier *v, const tn_node *func, const tn_node *attrs);
void
tn_verify_function(verifier *v, const tn_function *f);
/* A call of a tensor program by call_tir against the program's parameters. */
void
tn_verify_call_tir(verifier *v, const tn_call *c);

#endif
