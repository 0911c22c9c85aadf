/* SPDX-License-Identifier: Apache-2.0 */
/* What legalizations share: one tensor program and its call. */
#ifndef TENON_PLUGINS_OPS_EMIT_H
#define TENON_PLUGINS_OPS_EMIT_H

#include "infer.h"

#include "tenon/core/expr.h"
#include "tenon/kit/te.h"

enum { EMIT_MAX_INPUTS = 1024 };

/* A tensor program in the making. */
typedef struct emit {
    tn_ctx *ctx;
    tn_builder *b;
    const tn_call *call;
    tnk_te *te;
    TNB_VEC(const tn_expr *) args;    /* of the call_tir: tensors */
    TNB_VEC(const tn_expr *) scalars; /* then scalar values */
} emit;

emit
emit_begin(tn_builder *b, const tn_call *call);
/* A tensor expression becomes an input; its buffer. */
const tn_node *
emit_input(emit *e, const tn_expr *tensor);
/* A scalar value: a literal or an expression of shape variables stays in the program, anything else
 * becomes a parameter. */
const tn_expr *
emit_scalar(emit *e, const tn_expr *value, tnb_dtype d);
/* The operator's name without its groups: "relu" of "nn.relu". A name for its program. */
const char *
emit_hint(const tn_call *call);
/* The program's call. */
const tn_expr *
emit_end(emit *e, const char *hint, const tn_node *out);
const tn_expr *
emit_end_n(emit *e, const char *hint, const tn_node *const *outs, uint32_t n);

/* Extents that a program has computed: `counts` is its call, which gives a vector of n int64. They
 * are read back and get names, vars[0..n). False after an error. */
TNB_MUST_CHECK bool
emit_read_extents(tn_builder *b, const tn_expr *counts, const tn_expr **vars, uint32_t n);

/* The literal that each element of a constant is, as dtype d, where it has one element or was written
 * as one value; NULL for anything else. */
const tn_expr *
emit_constant(tn_ctx *ctx, const tn_expr *e, tnb_dtype d);
/* A stage shaped as the call's type (which must be one tensor of known shape). */
tnk_stage *
emit_stage(emit *e, const char *name);
/* A stage shaped as any tensor type. */
tnk_stage *
emit_stage_of(emit *e, const char *name, const tn_type *type, tnb_dtype d);
/* buffer[axes aligned at the end, 0 where an extent of 1 is broadcast] */
const tn_expr *
emit_broadcast(emit *e, const tn_node *buffer, const tnk_stage *s);
const tn_expr *
emit_broadcast_at(emit *e, const tn_node *buffer, const tn_expr *const *idx,
                  const tn_expr *const *extents, uint32_t n);
/* The index along an axis of extent `own` (of a buffer) for the place `idx` along one of extent `extent` (of
 * the graph), to which it is broadcast; whether it is may depend on the values of both. */
const tn_expr *
emit_stretched(emit *e, const tn_expr *own, const tn_expr *extent, const tn_expr *idx);
/* Extents, rank and element type of a buffer. */
const tn_expr *
emit_dim(const tn_node *buffer, uint32_t i);
uint32_t
emit_ndim(const tn_node *buffer);
tnb_dtype
emit_dtype(const tn_node *buffer);
/* The extents of a tensor expression; an internal error is impossible where LegalizeOps asked for
 * shapes. */
tn_list
emit_dims(const tn_expr *tensor);
/* float32 for float16 and bfloat16, else the dtype itself: what sums are computed in. */
tnb_dtype
emit_wide(tnb_dtype d);
/* An index of any integer type as int64; with `wrap` counting from the end when negative. */
const tn_expr *
emit_index(tn_ctx *ctx, const tn_expr *i, const tn_expr *wrap);
/* The index `i` that the program reads from the call's argument `arg` (a tensor, or a scalar), as one of [0, extent). Where the
 * argument is a constant it is looked at now: an index that is out of range is an error, and
 * the error node is given. In a row of `width` of its elements those at `column` are meant. `what`: "axis 0". */
const tn_expr *
emit_data_index(emit *e, const tn_expr *arg, const tn_expr *i, const tn_expr *extent, bool wraps,
                const char *what);
const tn_expr *
emit_data_index_of(emit *e, const tn_expr *arg, uint32_t column, uint32_t width, const tn_expr *i,
                   const tn_expr *extent, bool wraps, const char *what);
/* "axis 0" */
const char *
emit_axis(tn_ctx *ctx, int64_t axis);
/* The row-major position of idx in extents; and back: idx[] of a position. */
const tn_expr *
emit_flatten(tn_ctx *ctx, const tn_expr *const *idx, const tn_expr *const *extents, uint32_t n);
void
emit_unflatten(tn_ctx *ctx, const tn_expr *pos, const tn_expr *const *extents, uint32_t n,
               const tn_expr **idx);
/* An extent to divide positions by. Where it is 0 there are no positions: 1 does as well. */
const tn_expr *
emit_divisor(tn_ctx *ctx, const tn_expr *extent);
/* A position divided by such an extent, rounded down; what remains. */
const tn_expr *
emit_floordiv(tn_ctx *ctx, const tn_expr *pos, const tn_expr *extent);
const tn_expr *
emit_floormod(tn_ctx *ctx, const tn_expr *pos, const tn_expr *extent);
/* Index expressions made simpler by the ranges of the stage's axes. */
void
emit_simplify(const tnk_stage *s, const tn_expr *const *extents, const tn_expr **idx, uint32_t n);
/* log(1 + exp(z)) without overflow. */
const tn_expr *
emit_softplus(tn_ctx *ctx, const tn_expr *z, tnb_dtype d);
/* The weights of cubic convolution of a tap at a distance x of at most 1; of one from 1 to 2. */
const tn_expr *
emit_cubic_near(tn_ctx *ctx, double alpha, const tn_expr *x);
const tn_expr *
emit_cubic_far(tn_ctx *ctx, double alpha, const tn_expr *x);
/* Whether 0 <= i < extent. */
const tn_expr *
emit_inside(tn_ctx *ctx, const tn_expr *i, const tn_expr *extent);
/* Loop variables for hand-written programs, and the nest of serial loops over them. */
void
emit_loop_vars(tn_ctx *ctx, const tn_expr **vars, uint32_t n);
const tn_stmt *
emit_loops(tn_ctx *ctx, const tn_expr *const *vars, const tn_expr *const *extents, uint32_t n,
           const tn_stmt *body);

#endif
