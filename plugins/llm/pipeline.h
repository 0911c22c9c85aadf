/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of PipelineParallelRewrite share: a function cut into stages, before the stages
 * become functions of their own.
 *
 *     pipeline_cut.c      which binding belongs to which stage, and what travels between stages
 *     pipeline_stage.c    a stage as a function
 *     pipeline_check.c    whether what stages send is what the next ones receive
 */
#ifndef TENON_PLUGINS_LLM_PIPELINE_H
#define TENON_PLUGINS_LLM_PIPELINE_H

#include "llm.h"

#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

#define PIPELINE_BOUNDARY "mlc.pipeline_parallel_stage_boundary"
#define PIPELINE_RECEIVE "runtime.disco.recv_from_prev_group"
#define PIPELINE_SEND "runtime.disco.send_to_next_group"
#define PIPELINE_DISPATCH "mlc.multi_gpu.DispatchFunctionByGroup"

/* A variable of the function: a parameter or a binding. */
typedef struct pipeline_value pipeline_value;
struct pipeline_value {
    const tn_expr *var;
    const tn_node *binding; /* VarBinding or MatchCast; NULL: a parameter, or made here */
    const tn_expr *value;   /* what it is bound to; NULL: a parameter */
    uint64_t order;         /* in the function; fields of a tuple directly behind it */
    uint32_t serial;        /* of creation */
    uint32_t home;          /* the stage that computes it */
    bool portable; /* costs nothing: made again where it is used (constants, tuples, weights) */
    pipeline_value *same;    /* another name of this value; NULL: none */
    pipeline_value **fields; /* of a tuple that travels field by field; NULL: not yet */
};

typedef struct pipeline_message {
    pipeline_value *value;
    const char *name; /* of the variable that receives it */
} pipeline_message;

/* What travels from stage k to stage k + 1: what the boundary says, then what later stages need
 * besides. */
typedef struct pipeline_link {
    const tn_var_binding *boundary;
    TNB_VEC(pipeline_message) messages;
} pipeline_link;

typedef struct pipeline_stage {
    TNB_VEC(pipeline_value *) items; /* what it computes, sorted before it is built */
    TNB_VEC(const tn_expr *) params; /* of the function, in the order of first use */
    tnb_ptrmap has;                  /* pipeline_value -> itself: among items or params */
} pipeline_stage;

typedef struct pipeline {
    tn_ctx *ctx;
    const char *name;
    const tn_function *func;
    const tn_expr *packed; /* the last parameter: the weights */
    uint32_t n_stages;
    pipeline_stage *stages;
    pipeline_link *links; /* n_stages - 1 */
    const tn_expr *output;
    uint32_t n_values;
    tnb_ptrmap values; /* Var -> pipeline_value */
    tnb_ptrmap known;  /* symbolic variables that parameters other than the weights define */
} pipeline;

/* Cuts a function with the attribute pipeline_parallel_stages. False after recording an error. */
TNB_MUST_CHECK bool
pipeline_cut(tn_ctx *ctx, const char *name, const tn_function *func, int64_t n_stages,
             pipeline *out);
/* The value that a variable of the function stands for; NULL: a symbolic variable. */
pipeline_value *
pipeline_value_of(const pipeline *p, const tn_node *var);
/* The position of a value among the messages of a link, or -1. */
int64_t
pipeline_find_message(const pipeline_link *l, const pipeline_value *v);
/* Adds the variables that stand alone as an extent in `t` to the map: those that something of this
 * type defines. */
void
pipeline_add_symbols(tnb_ptrmap *map, const tn_type *t);

/* Stage k as a function; `args`: what the entry passes to it, the weights last as `weights`. NULL
 * after recording an error. */
const tn_node *
pipeline_build_stage(pipeline *p, uint32_t k, const tn_expr *weights, tn_list *args);

/* Whether the stages of every function that dispatches to stages match. False after recording an
 * error that names the two places which disagree. */
TNB_MUST_CHECK bool
pipeline_check(tn_ctx *ctx, const tn_module *m);
/* "FILE:LINE:COLUMN", or "an unknown place". */
const char *
pipeline_place(tn_ctx *ctx, tn_loc loc);

#endif
