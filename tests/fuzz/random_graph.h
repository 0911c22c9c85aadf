/* SPDX-License-Identifier: Apache-2.0 */
/* Random well-typed modules: one public graph function over tensors with static and symbolic
 * extents. */
#ifndef TENON_TESTS_RANDOM_GRAPH_H
#define TENON_TESTS_RANDOM_GRAPH_H

#include "tenon/core/build.h"

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

/* The module of a seed; NULL after recording an error. */
const tn_module *
random_graph(tn_ctx *ctx, uint64_t seed);

#endif
