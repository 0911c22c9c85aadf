/* SPDX-License-Identifier: Apache-2.0 */
/* Decomposition of composite operators, for inference and for training. */
#ifndef TENON_PLUGINS_TRANSFORM_DECOMPOSE_H
#define TENON_PLUGINS_TRANSFORM_DECOMPOSE_H

#include "transform.h"

/* Where decompositions put their steps: the block of the call being decomposed. */
typedef struct decomposer decomposer;
/* Binds `e` to a new variable before the call. */
const tn_expr *
decompose_step(decomposer *d, const tn_expr *e);
/* `e` in the dtype of `like`; itself if it has that. */
const tn_expr *
decompose_as(decomposer *d, const tn_expr *e, const tn_expr *like);
tn_ctx *
decompose_ctx(decomposer *d);

/* The value in place of the call; the same pointer: it stays. */
typedef const tn_expr *(*decompose_fn)(decomposer *d, const tn_call *call);

/* Runs `fn` over all calls of the functions that option func_name (NULL: all) names. */
const tn_module *
decompose_module(const tn_pass_ctx *pc, const tn_module *m, decompose_fn fn);

/* Whether the call is a batch_norm marked for the other use: for training (`training`: for inference). */
bool
decompose_is_other(const tn_node *call, bool training);
/* Whether option only_marked says that such calls stay. */
bool
decompose_only_marked(const tn_pass_ctx *pc);
/* For tn_pass.adapt: functions are compared as they are, unless the pass has changed on purpose what one of the module computes. */
bool
decompose_comparable(const tn_pass_ctx *pc, const tn_module *before, bool training,
                     const char **why);

/* The rules of inference: batch_norm, tensor_to_shape. */
const tn_expr *
decompose_for_inference(decomposer *d, const tn_call *call);
/* (x - mean) / sqrt(var + epsilon) * gamma + beta, of parts that broadcast against x, in x's
 * dtype; `call` has the attributes. gamma or beta NULL: absent. */
const tn_expr *
decompose_normalized(decomposer *d, const tn_call *call, const tn_expr *x, const tn_expr *mean,
                     const tn_expr *var, const tn_expr *gamma, const tn_expr *beta,
                     const int64_t *expand, uint32_t n_expand);
/* Match-casts a shape to one of fresh variables, bound before the call; the ShapeExpr of these. */
const tn_expr *
decompose_shape(decomposer *d, const tn_expr *shape, int64_t ndim);

extern const tn_attr_schema decompose_options[];

#endif
