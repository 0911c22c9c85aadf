/* SPDX-License-Identifier: Apache-2.0 */
/* What LiftTransformParams lifts out of a function (lift_params.c). */
#ifndef TENON_PLUGINS_TRANSFORM_LIFT_PARAMS_H
#define TENON_PLUGINS_TRANSFORM_LIFT_PARAMS_H

#include "transform.h"

/* A function and the plan for it. For a shared transform also the plan of all: its weights,
 * bindings and outputs are those of the first function that has them. */
typedef struct lift {
    const char *name;
    const tn_function *func;
    const tn_module *module;
    uint32_t num_input;
    tn_list weights;        /* parameters behind num_input */
    tn_list lifted;         /* VarBindings, in order */
    tn_list outputs;        /* weights and lifted variables that the function still needs */
    tn_list symbols;        /* symbolic variables to be handed over */
    tnb_ptrmap also;        /* shared: variable -> the output that has the same value */
    tnb_ptrmap overwritten; /* variables that calls compute in place */
    tnb_ptrmap suppressed;  /* variables whose bindings leave the function */
    tnb_ptrmap from_weights,
        required; /* variables that depend on weights; that are needed as it runs */
} lift;

/* The functions to work on: with `num_input`, all (by name) or those listed in `shared`. False
 * after recording an error. */
TNB_MUST_CHECK bool
lift_targets(tn_ctx *ctx, const tn_module *m, const tn_node *shared, lift **out, uint32_t *n);
/* Whether weights determine all symbolic variables of the type, so that the transform function can
 * state it. A weight of another type is passed on as it is: nothing made of it is lifted. */
bool
lift_defines(tn_ctx *ctx, const lift *l, const tn_type *t);
/* The type within the bundle of weights: without the extents that the bundle does not tell, those
 * which are weights themselves and those which no weight determines. */
const tn_type *
lift_bundled(tn_ctx *ctx, const lift *l, const tn_type *t);
/* Plans one function. */
void
lift_plan(tn_ctx *ctx, lift *l);
/* Plans all together: `all` is the shared transform. False after recording an error. */
TNB_MUST_CHECK bool
lift_plan_shared(tn_ctx *ctx, lift *each, uint32_t n, lift *all);

#endif
