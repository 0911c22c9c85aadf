/* SPDX-License-Identifier: Apache-2.0 */
/* Random well-typed modules: a public graph function `main` over tensors with static, symbolic and
 * empty extents, with branches, loops, private and local functions, match_casts and calls that compute in
 * place.
 */
#ifndef TENON_TESTS_RANDOM_GRAPH_H
#define TENON_TESTS_RANDOM_GRAPH_H

#include "tenon/core/builder.h"

/* A generator with a state of its own; equal seeds give equal sequences everywhere. */
typedef struct random_source {
    uint64_t state;
} random_source;
uint64_t
random_next(random_source *r);
/* 0 <= result < n */
uint32_t
random_below(random_source *r, uint32_t n);
bool
random_chance(random_source *r, uint32_t percent);

/* ---- for random_graph.c and random_flow.c ---- */
enum { RANDOM_VALUES = 64 };
typedef struct random_module {
    const char *names[16];
    const tn_node *funcs[16]; /* besides main */
    uint32_t n;
} random_module;
typedef struct random_generator {
    tn_ctx *ctx;
    tn_builder *b;
    random_source rnd;
    const tn_expr *values[RANDOM_VALUES]; /* what the next step may use */
    uint32_t n;
    const tn_expr *symbols[2]; /* NULL: the graph is static */
    const tn_expr *first;      /* the value whose type defines the symbols */
    random_module *m;
    uint32_t depth; /* of functions and branches being made */
} random_generator;
/* Operators, each with a value or two of those so far. */
void
random_steps(random_generator *g, uint32_t n);
/* Binds the value and may use it from now on; NULL if it is an error or too large. */
const tn_expr *
random_keep(random_generator *g, const tn_expr *value);
const tn_expr *
random_value(random_generator *g);
/* In place of a step: a call of a private function, a call in place. */
void
random_call(random_generator *g);
void
random_in_place(random_generator *g);
/* A match_cast: an extent gets a name of its own, also one that is found at run time. */
void
random_match_cast(random_generator *g);
/* Whether the symbols of the graph, or none, make up the value's type: no names of match_casts. */
bool
random_is_plain(const random_generator *g, const tn_expr *value);
/* Between blocks: an If, a loop (a function that calls itself last), a local function. */
void
random_branch(random_generator *g);
void
random_loop(random_generator *g);
void
random_local_function(random_generator *g);

/* The module of a seed; NULL after recording an error. */
const tn_module *
random_graph(tn_ctx *ctx, uint64_t seed);

#endif
