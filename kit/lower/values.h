/* SPDX-License-Identifier: Apache-2.0 */
/* Value numbers of scalar integer expressions, for CommonSubexprElim: equal expressions have one
 * number, whatever nodes they are made of and in whatever order they add and multiply. Not
 * installed.
 *
 * Numbered are literals, variables that were defined here, arithmetic of 32 and 64 bits,
 * comparisons, conditions and calls without effects; nothing that loads. 0: not numbered.
 */
#ifndef TENON_KIT_VALUES_H
#define TENON_KIT_VALUES_H

#include "lower.h"

/* A list of statements in which variables may be bound: the body of a function, loop or branch. */
typedef struct tnk_scope {
    struct tnk_scope *up;
    uint32_t depth, loops;   /* scopes and loops around */
    uint32_t index, order;   /* of the statement that it belongs to: in `up`, in the function */
    TNB_VEC(uint64_t) binds; /* numbers bound in it; above them, in front of which statement */
} tnk_scope;

/* Where an expression stands: in a statement of a scope. */
typedef struct tnk_place {
    tnk_scope *scope;
    uint32_t index, order;
    bool certain; /* evaluated whenever the statement runs */
} tnk_place;

typedef struct tnk_value {
    unsigned kind;
    const tn_type *type;
    const void *id;     /* variable, operator of a call */
    int64_t number;     /* of literals */
    uint32_t part[3];   /* operands; 0: none */
    tnk_scope *at;      /* the outermost scope where it can be had */
    tnk_scope *nonzero; /* within which it is not 0; NULL: not known */
    uint32_t size;      /* operations, divisions counting several times */
    bool faults;        /* divides by what may be 0 */
    bool asked;         /* whether its bounds show that it is not 0 */
    /* what CommonSubexprElim finds */
    uint32_t uses;
    tnk_scope *common; /* around all uses */
    tnk_place first;
    bool bound, changed;
    const tn_expr *expr; /* as a node; built when asked for */
    const tn_expr *var;  /* that it is bound to */
} tnk_value;

typedef struct tnk_values {
    tn_ctx *ctx;
    tn_arith *arith;
    TNB_VEC(tnk_value) v; /* [0]: none */
    uint32_t *slots, n_slots;
    tnb_ptrmap known; /* node -> its number + 1 */
    tnk_scope *top;
} tnk_values;

void
tnk_values_init(tnk_values *s, tn_ctx *ctx, tn_arith *arith, tnk_scope *top);
/* A variable of this scope. False: it was defined before. */
bool
tnk_values_define(tnk_values *s, const tn_expr *var, tnk_scope *at);
uint32_t
tnk_values_number(tnk_values *s, const tn_expr *e);
/* The number found before, 0: none. */
uint32_t
tnk_values_find(const tnk_values *s, const tn_node *e);
/* Of the factors of `extent` it is known within `to`, instead of `from`, that they are not 0: said when the
 * body of a loop of so many turns begins (from NULL), unsaid when it ends (to NULL). */
void
tnk_values_turns(tnk_values *s, uint32_t extent, tnk_scope *from, tnk_scope *to);
/* Whether `s` is `outer` or within it. */
bool
tnk_scope_holds(const tnk_scope *outer, const tnk_scope *s);

#endif
