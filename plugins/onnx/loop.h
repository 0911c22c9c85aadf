/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of any length as private functions: see loop.c. */
#ifndef ONNX_LOOP_H
#define ONNX_LOOP_H

#include "subgraph.h"

/* A result collected along a new first axis; reverse: the first turn fills the last row (the count
 * must be known before the loop). */
typedef struct onnx_loop_rows {
    bool reverse;
} onnx_loop_rows;

typedef struct onnx_loop {
    const tn_expr *count; /* of turns, of the caller; NULL: no limit */
    bool cond_known;      /* the condition before the first turn is known to be true */
    /* The condition before the first turn, of the caller: int64 scalar, or a tensor of bool. */
    const tn_expr *(*cond_start)(onnx_node *n, bool tensor);
    uint32_t n_carries, n_rows;
    onnx_value *const *start; /* carried values of the caller */
    const onnx_loop_rows *rows;
    /* What the model declares of them; may be NULL, also an entry. */
    const Onnx__ValueInfoProto *const *row_types;
    /* Imports one turn into the region; `i` and `count` are scalars there. *cond may stay NULL:
     * true. It may be called several times. */
    bool (*body)(void *user, onnx_region *r, const tn_expr *i, const tn_expr *count,
                 onnx_value *const *carried, onnx_value **next, onnx_value **cond, onnx_value **y);
    void *user;
    bool *
        changes_rank; /* set where that is the error: a turn gives a carried value another rank or element type */
} onnx_loop;

/* The same for each import of a loop: of its node, and the calls of functions around it. */
const void *
onnx_loop_key(const onnx_node *n);
/* Emits the loop: final values of what is carried, and what was collected. False after an error. */
TNB_MUST_CHECK bool
onnx_make_loop(onnx_node *n, const onnx_loop *l, const tn_expr **carried,
               const tn_expr **collected);

#endif
