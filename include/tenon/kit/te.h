/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor-expression builder: writes the PrimFuncs of legalizations.
 *
 * Each stage fills one buffer, in a nest of serial loops around one block, as a schedule expects it. A `tensor` is a Buffer node.
 *
 *     tnk_te *te = tnk_te_new(ctx);
 *     const tn_node *A = tnk_te_input(te, "A", type_of_x), *B = tnk_te_input(te, "B", type_of_y);
 *     tnk_stage *s = tnk_te_stage(te, "T_matmul", dims, n_dims, TNB_F32);
 *     const tn_expr *k = tnk_te_reduce_axis(s, "k", extent);
 *     const tn_expr *prod = tn_mul(ctx, tnk_te_read(te, A, s->axes[0], k, NULL), tnk_te_read(te, B, k, s->axes[1], NULL));
 *     const tn_node *C = tnk_te_sum(s, prod);
 *     return tnk_te_call(te, builder, "matmul", inputs, n_inputs, &C, 1);
 *
 * Symbolic extents: the graph's variables are replaced by fresh ones of the PrimFunc; one that no bare extent of an input
 * defines (nor one of an output) becomes a scalar parameter, passed by tnk_te_call.
 */
#ifndef TENON_KIT_TE_H
#define TENON_KIT_TE_H

#include "tenon/core/builder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnk_te tnk_te;

typedef struct tnk_stage {
    tnk_te *te;
    const tn_expr *const *axes; /* block iteration variables (int64), one per dimension */
    uint32_t n_axes;
} tnk_stage;

/* In the scratch arena of the context. */
TNB_EXPORT tnk_te *
tnk_te_new(tn_ctx *ctx);
TNB_EXPORT tn_ctx *
tnk_te_ctx(tnk_te *te);
/* An input buffer of a Tensor type with known shape. Names are made unique. */
TNB_EXPORT const tn_node *
tnk_te_input(tnk_te *te, const char *name, const tn_type *tensor);
/* A scalar parameter; the Var to use in expressions. */
TNB_EXPORT const tn_expr *
tnk_te_scalar(tnk_te *te, const char *name, tnb_dtype d);
/* A graph-level scalar expression in terms of the PrimFunc's variables. */
TNB_EXPORT const tn_expr *
tnk_te_expr(tnk_te *te, const tn_expr *e);

/* Starts a stage that fills a new buffer of extents `dims` (graph-level or PrimFunc expressions).
 */
TNB_EXPORT tnk_stage *
tnk_te_stage(tnk_te *te, const char *name, const tn_expr *const *dims, uint32_t n_dims,
             tnb_dtype d);
TNB_EXPORT tnk_stage *
tnk_te_stage_like(tnk_te *te, const char *name, const tn_node *buffer, tnb_dtype d);
/* A further loop, with a reduction iterator from 0. */
TNB_EXPORT const tn_expr *
tnk_te_reduce_axis(tnk_stage *s, const char *name, const tn_expr *extent);
/* A[i, j, ...]; ends with NULL. */
TNB_EXPORT const tn_expr *
tnk_te_read(tnk_te *te, const tn_node *buffer, ...) __attribute__((sentinel));
TNB_EXPORT const tn_expr *
tnk_te_read_at(tnk_te *te, const tn_node *buffer, const tn_expr *const *idx, uint32_t n);

/* An index that comes as data, as one in [0, extent): what to make of others is the target's to say
 * (attribute check_indices). wraps: -extent to -1 count from the end. Messages call it by the current location's
 * node, or else by `op` ("take"), and by `what` ("axis 0"). */
TNB_EXPORT const tn_expr *
tnk_te_index(tn_ctx *ctx, const tn_expr *index, const tn_expr *extent, bool wraps, const char *op,
             const char *what);

/* Ends a stage; the buffer filled. */
TNB_EXPORT const tn_node *
tnk_te_define(tnk_stage *s, const tn_expr *value);
/* Maxima of floats start from -infinity; MAX_FINITE from the least finite value. */
typedef enum tnk_reduction {
    TNK_SUM,
    TNK_PROD,
    TNK_MAX,
    TNK_MIN,
    TNK_ANY,
    TNK_ALL,
    TNK_MAX_FINITE
} tnk_reduction;
TNB_EXPORT const tn_node *
tnk_te_reduce(tnk_stage *s, tnk_reduction kind, const tn_expr *value);
TNB_EXPORT const tn_node *
tnk_te_sum(tnk_stage *s, const tn_expr *value);
/* Several results reduced together (argmax; mean and variance). Adds a buffer per value to
 * outs[0..n). Accumulators are given to `combine` as acc[], the elements as x[]; it writes the new
 * accumulators to next[]. init[]: the start values. */
TNB_EXPORT void
tnk_te_reduce_tuple(tnk_stage *s, const tnb_dtype *dtypes, const tn_expr *const *values,
                    const tn_expr *const *init, uint32_t n,
                    void (*combine)(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x,
                                    const tn_expr **next, uint32_t n, void *user),
                    void *user, const tn_node **outs);
/* Statements written by hand (sort, scan, scatter): `body` fills `outs` (made with tnk_te_buffer)
 * and becomes one opaque block that reads all of `ins` and writes all of `outs`. */
TNB_EXPORT const tn_node *
tnk_te_buffer(tnk_te *te, const char *name, const tn_expr *const *dims, uint32_t n_dims,
              tnb_dtype d);
TNB_EXPORT void
tnk_te_extern(tnk_te *te, const char *name, const tn_node *const *ins, uint32_t n_ins,
              const tn_node *const *outs, uint32_t n_outs, const tn_stmt *body);

/* Statements with blocks of their own (nests that share a serial loop), behind the stages so far.
 * Their buffers are made with tnk_te_buffer. */
TNB_EXPORT void
tnk_te_append(tnk_te *te, const tn_stmt *nest);

/* The PrimFunc: inputs in order, scalar parameters, then outputs; other buffers are allocated in
 * its root block. attrs: tirx.noalias. */
TNB_EXPORT const tn_node *
tnk_te_finish(tnk_te *te, const tn_node *const *outputs, uint32_t n_outputs);
/* Finishes, adds the function to the builder's module under `hint` and gives the R.call_tir on
 * `inputs` (tensor expressions parallel to the tnk_te_input calls; then the values of tnk_te_scalar
 * parameters). One output: Tensor type; several: Tuple. */
TNB_EXPORT const tn_expr *
tnk_te_call(tnk_te *te, tn_builder *b, const char *hint, const tn_expr *const *inputs,
            uint32_t n_inputs, const tn_node *const *outputs, uint32_t n_outputs);

/* The same for a program that writes into its input `index` (by tnk_te_extern): R.call_tir_inplace,
 * whose result is that input's tensor. */
TNB_EXPORT const tn_expr *
tnk_te_call_inplace(tnk_te *te, tn_builder *b, const char *hint, const tn_expr *const *inputs,
                    uint32_t n_inputs, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
