/* SPDX-License-Identifier: Apache-2.0 */
/* What InsertShapeChecks knows of symbolic variables at a place of a function: what was checked before it. */
#ifndef TENON_PLUGINS_TRANSFORM_SHAPE_FACTS_H
#define TENON_PLUGINS_TRANSFORM_SHAPE_FACTS_H

#include "tenon/core/arith.h"
#include "tenon/core/pass.h"

/* A sequence of bindings. Place 0 is its begin, place i + 1 comes after its i-th binding. */
typedef struct shape_scope {
    bool conditional; /* a branch of an If, or within one */
    uint32_t lead;    /* the place behind the last binding so far that is no assertion */
} shape_scope;

/* Something that holds from a place on. */
typedef struct shape_fact {
    const shape_scope *scope;
    uint32_t place;
    const tn_expr *holds;
    uint64_t hash;
} shape_fact;

typedef struct shape_facts {
    tn_ctx *ctx;
    TNB_VEC(shape_fact) list; /* of the scopes that are open, outer ones first */
    tnb_ptrmap by_hash; /* hash -> number of the newest such fact + 1; may be of a closed scope */
    tnb_ptrmap equal;   /* variable -> number + 1 of the fact that it equals something */
    tnb_ptrmap bound; /* variable -> number + 1 of the newest fact that compares it with a number */
    const tnb_ptrmap *scalars; /* variables that are no extents: they may be negative */
} shape_facts;

void
shape_facts_init(shape_facts *f, tn_ctx *ctx, const tnb_ptrmap *scalars);
/* A condition with what is known at the place put in and simplified; the literal 1 if it holds there. */
const tn_expr *
shape_facts_reduce(shape_facts *f, const shape_scope *scope, uint32_t place, const tn_expr *holds);
/* Whether the very condition was settled there, or before: models ask the same of each of their layers. */
bool
shape_facts_settled(const shape_facts *f, const shape_scope *scope, uint32_t place,
                    const tn_expr *holds);
/* A condition as it was asked for, before shape_facts_reduce, holds or is checked from the place on. */
void
shape_facts_settle(shape_facts *f, const shape_scope *scope, uint32_t place, const tn_expr *holds);
/* A condition that shape_facts_reduce gave holds from the place on. */
void
shape_facts_add(shape_facts *f, const shape_scope *scope, uint32_t place, const tn_expr *holds);
/* Forgets what was added since there were `n` facts. */
void
shape_facts_close(shape_facts *f, uint32_t n);

/* ---- shape_assumptions.c ---- */
/* What a call takes for granted: an operator, a tensor program of the module; `before` as tn_call_assumptions_again
 * has it. False after an error. */
TNB_MUST_CHECK bool
shape_call_assumptions(tn_ctx *ctx, const tn_module *module, tnb_ptrmap *before,
                       const tn_call *call, tn_assumptions *out);
/* What a match_cast compares; variables that are not `known` it defines. */
void
shape_match_assumptions(tn_ctx *ctx, const tn_match_cast *mc, const tnb_ptrmap *known,
                        tn_assumptions *out);

/* The tensor program of the module that a call calls, directly or by call_tir and its like; NULL: none. */
const tn_prim_func *
shape_called_program(const tn_module *module, const tn_call *call);

/* ---- shape_casts.c ---- */
/* The sequence with a match_cast for each value of which a call believes more than its type says; the same if there
 * is none. */
const tn_seq_expr *
shape_casts_placed(tn_ctx *ctx, const tn_module *module, const tn_seq_expr *seq);

/* ---- shape_text.c ---- */
/* Extents of a parameter that are plain variables: what they are called in messages. Symbolic variable -> "axis 1 of 'x'". */
void
shape_note_origins(tn_ctx *ctx, tnb_ptrmap *origin, const tn_type *t, const char *name);
/* The text of a message: where, what, and which inputs it is about. Values are appended to *values. */
const char *
shape_check_text(tn_ctx *ctx, const tnb_ptrmap *origin, tn_loc loc, const char *what,
                 const tn_assumption *a, tn_list *values);
/* The error of what holds for no extents. */
void
shape_check_fails(tn_ctx *ctx, tn_loc loc, const char *what, const tn_assumption *a);

/* ---- shape_places.c ---- */
/* An assertion and its place. */
typedef struct shape_check {
    uint32_t place, number; /* those of one place stay in the order in which they were found */
    const tn_node *binding;
} shape_check;
typedef TNB_VEC(shape_check) shape_checks;
typedef TNB_VEC(const tn_node *) shape_bindings;
/* The sequence of the blocks of `seq` with other bindings, and the checks between them, which are sorted. *split: a dataflow block became
 * several. */
const tn_expr *
shape_checks_placed(tn_ctx *ctx, const tn_seq_expr *seq, const shape_bindings *now,
                    shape_checks *checks, bool *split);
/* The function with dataflow variables that are used outside the block that binds them made plain ones. */
const tn_node *
shape_join_blocks(tn_ctx *ctx, const tn_node *f);

#endif
