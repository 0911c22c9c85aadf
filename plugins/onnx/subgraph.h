/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-graphs as private functions: branches of If, bodies of Loop and Scan.
 *
 * A function sees the graphs around it through parameters only. While its body is imported, each
 * value of an outer graph that a name finds becomes a parameter (a tensor), or comes in as it is
 * (constants, known elements); each symbolic extent becomes a scalar parameter.
 */
#ifndef ONNX_SUBGRAPH_H
#define ONNX_SUBGRAPH_H

#include "import.h"

/* The function in the making. */
typedef struct onnx_function {
    onnx_node *n; /* which needs it */
    const char *name;
    tn_list symbols, symbol_args; /* scalar parameters, and what the caller gives for them */
    tn_list params, args;         /* tensor parameters likewise */
    tnb_ptrmap inside;            /* variable of the caller -> scalar parameter */
    tnb_ptrmap outside;           /* the other way round */
    tnb_ptrmap tensors;           /* expression of the caller -> parameter */
    bool asserts;                 /* its body holds an assertion */
} onnx_function;

/* A sequence of its bindings that is a branch: values that it finds are seen in it alone. */
typedef struct onnx_region {
    onnx_function *f;
    onnx_scope scope;
    tnb_ptrmap seen; /* value of an outer graph -> value of this one */
    uint32_t outer;  /* the number of the region around */
} onnx_region;

void
onnx_function_begin(onnx_function *f, onnx_node *n, const char *hint);
/* An expression or type of the caller in terms of the function's parameters. */
const tn_node *
onnx_to_inside(onnx_function *f, const tn_node *e);
/* The other way round; NULL when it speaks of what the caller does not have. */
const tn_node *
onnx_to_outside(onnx_function *f, const tn_node *e);
/* A tensor of the caller as one of the function. */
const tn_expr *
onnx_tensor_inside(onnx_function *f, const tn_expr *e);
/* What an outer value is in the region. */
onnx_value *
onnx_value_inside(onnx_region *r, onnx_value *v);

/* Between begin and end nodes are emitted into the region, in a dataflow block until
 * onnx_region_plain. The end gives the SeqExpr with this result. */
void
onnx_region_begin(onnx_region *r, onnx_function *f);
void
onnx_region_plain(onnx_region *r);
const tn_expr *
onnx_region_end(onnx_region *r, const tn_expr *result);
/* A value of the region's dataflow block as one that lives on behind it. */
const tn_expr *
onnx_region_output(onnx_region *r, onnx_value *v);

/* A tensor type with extents where all are known, else with the rank alone. `dims`: NULL entries
 * are not known. */
const tn_type *
onnx_type_of_dims(tn_ctx *ctx, tn_list dims, tnb_dtype d);
/* The body around an If, as a sequence with one binding. */
const tn_expr *
onnx_if_sequence(onnx_function *f, const tn_expr *cond, const tn_expr *then_seq,
                 const tn_expr *else_seq);
/* A part of the graph that may never run. */
typedef struct onnx_part {
    uint32_t diags; /* reported before it */
    const tn_node *must_bind;
    uint32_t n_choices;
} onnx_part;
onnx_part
onnx_part_begin(const onnx_import *imp);
/* Why the part, whose import failed, cannot run, and the status of that error. NULL: the model has to be refused, or imported
 * in another way. The caller takes the diagnostics back if the program shall stop there instead. */
const char *
onnx_part_error(const onnx_import *imp, const onnx_part *p, tnb_status *status);
/* Emits what stops the program with the text `why`; in a block without dataflow. */
void
onnx_emit_stop(onnx_function *f, const char *why);
/* A branch that stops the program with `why`; its type is that of `like`, the other branch's
 * results. */
const tn_expr *
onnx_refused_branch(onnx_function *f, const tn_expr *const *like, uint32_t count, const char *why);
/* What a call of the function gives, before the function exists. */
const tn_expr *
onnx_call_unmade(onnx_function *f, tn_list params, const tn_type *ret, tn_list args);
/* Adds the function to the module and emits the call; the error node after an error. */
const tn_expr *
onnx_function_end(onnx_function *f, tn_list params, const tn_expr *body, const tn_type *ret,
                  tn_list args);
/* The module without functions that `main` does not reach: attempts that were given up leave some. */
const tn_module *
onnx_used_functions(tn_ctx *ctx, const tn_module *m, const char *main);

#endif
