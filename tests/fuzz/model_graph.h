/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs as real models have them: images through convolutions, gates, residuals, resizes and concatenations,
 * sequences through attention and layers of perceptrons, in float32, float16 and bytes, with constant weights, channel counts that
 * vectors divide and that they do not, batches and extents that may be symbols.
 */
#ifndef TENON_TESTS_MODEL_GRAPH_H
#define TENON_TESTS_MODEL_GRAPH_H

#include "random_graph.h"

enum { MODEL_VALUES = 96 };

typedef struct model_graph {
    tn_ctx *ctx;
    tn_builder *b;
    random_source rnd;
    const tn_expr *values[MODEL_VALUES];
    bool used[MODEL_VALUES];
    uint32_t n;
    tnb_dtype d; /* of what is computed: float32 or float16 */
    bool
        rounds; /* somewhere a difference of a rounding becomes one of a step: quantize, argmax, floor */
    const tn_expr *batch, *height, *width; /* extents of images; may be symbols */
    uint64_t kinds;                        /* of steps that it has */
    double work;                           /* multiply-adds so far */
    const tn_node *dims;                   /* Dict: values for the symbols */
} model_graph;

/* Public function `main` of a module; NULL after recording an error. `g` tells what it has. */
const tn_module *
model_graph_make(model_graph *g, tn_ctx *ctx, uint64_t seed);

/* ---- for model_graph.c and model_steps.c ---- */
uint32_t
model_below(model_graph *g, uint32_t n);
bool
model_chance(model_graph *g, uint32_t percent);
/* Binds a call and keeps its result; NULL if it is an error or too large. */
const tn_expr *
model_keep(model_graph *g, const tn_expr *call);
/* A value of that rank (0: any), later ones more often; NULL: there is none. */
const tn_expr *
model_value(model_graph *g, uint32_t rank);
tn_list
model_dims(const tn_expr *x);
/* Extent number i; -1: not constant. */
int64_t
model_extent(const tn_expr *x, uint32_t i);
/* Random elements between -scale and scale around `middle`. */
const tn_expr *
model_constant(model_graph *g, tnb_dtype d, const int64_t *shape, int32_t ndim, double scale,
               double middle);
/* A number of channels that models have. */
int64_t
model_channels(model_graph *g);
/* A call with operands, NULL-terminated; kept. NULL operands give NULL. */
const tn_expr *
model_op(model_graph *g, const char *op, const tn_node *attrs, ...) __attribute__((sentinel));
/* Some steps; each an operator or a small group of them. */
void
model_steps(model_graph *g, uint32_t n);

#endif
