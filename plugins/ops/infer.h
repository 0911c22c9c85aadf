/* SPDX-License-Identifier: Apache-2.0 */
/* What type inference functions share. All errors are recorded at the call and name the operator.
 */
#ifndef TENON_PLUGINS_OPS_INFER_H
#define TENON_PLUGINS_OPS_INFER_H

#include "tenon/core/arith.h"
#include "tenon/core/op.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* every inference and legalization function that the tables name */
#define OP(id, name, args, attrs, flags, infer, legalize, doc, ...) \
    const tn_type *infer(tn_ctx *ctx, const tn_call *call);         \
    const tn_expr *legalize(tn_builder *b, const tn_call *call);
#include "tables.def"
#undef OP

/* Which row of the tables an operator is: OP_nn_relu and so on. */
typedef enum op_id {
#define OP(id, ...) OP_##id,
#include "tables.def"
#undef OP
} op_id;

/* An operator of this plugin. */
typedef struct op_row {
    tn_op op;
    op_id id;
    int spatial; /* spatial axes of windows and images; 0: none */
} op_row;

enum { INFER_MAX_DIMS = 32 };

/* Records an error at the call and returns the error node. */
const tn_type *
infer_fail(tn_ctx *ctx, const tn_call *call, tnb_status status, const char *fmt, ...)
    TNB_PRINTF(4, 5);

/* The operator called, which is one of this plugin's. */
static inline const op_row *
infer_op(const tn_call *call)
{
    return (const op_row *)tn_call_op_of(call);
}
/* Its name without "relax.", for messages and the names of programs. */
const char *
infer_op_name(const tn_call *call);
/* The call's i-th argument; NULL when it was left out. */
const tn_expr *
infer_arg(const tn_call *call, uint32_t i);

/* The type of argument i, which must be a tensor; NULL after an error. */
const tn_ty_tensor *
infer_tensor(tn_ctx *ctx, const tn_call *call, uint32_t i);
/* Argument i as a scalar value (Prim type); NULL after an error. */
const tn_expr *
infer_scalar(tn_ctx *ctx, const tn_call *call, uint32_t i);
/* Argument i as a tuple's field types; false after an error. */
TNB_MUST_CHECK bool
infer_tensors(tn_ctx *ctx, const tn_call *call, uint32_t i, tn_list *fields);
/* The values of a shape argument: ShapeExpr, or a variable with known Shape type. 1: known; 0: not;
 * -1 after an error. */
int
infer_shape_arg(tn_ctx *ctx, const tn_call *call, uint32_t i, tn_list *values, int64_t *ndim);

/* Tensor types of the result; the virtual device is that of the first argument that has one. */
const tn_type *
infer_known(tn_ctx *ctx, const tn_call *call, tn_list dims, tnb_dtype d);
const tn_type *
infer_rank(tn_ctx *ctx, const tn_call *call, int64_t ndim, tnb_dtype d);
/* As `t`, with another dtype. */
const tn_type *
infer_same(tn_ctx *ctx, const tn_call *call, const tn_ty_tensor *t, tnb_dtype d);

/* Brings an axis into [0, ndim); false after an error. */
TNB_MUST_CHECK bool
infer_axis(tn_ctx *ctx, const tn_call *call, const char *what, int64_t axis, int64_t ndim,
           int64_t *out);
/* Attribute `key`: different axes, ascending order not needed. `used[i]` tells whether axis i is
 * named. None: all. The number of axes, or -1 after an error. */
int
infer_axes(tn_ctx *ctx, const tn_call *call, const char *key, int64_t ndim, bool *used,
           int64_t *list);

/* The extents of two operands broadcast together. 1: known; 0: not decidable now; -1 after an
 * error. */
int
infer_broadcast(tn_ctx *ctx, const tn_call *call, tn_list a, tn_list b, tn_list *out);
/* The operand is of a float type, or its dtype is unknown; false after an error. */
TNB_MUST_CHECK bool
infer_float_data(tn_ctx *ctx, const tn_call *call, const tn_ty_tensor *t);
/* Both ranks are known, and are not the same. */
static inline bool
infer_ranks_differ(const tn_ty_tensor *a, const tn_ty_tensor *b)
{
    return a->ndim >= 0 && b->ndim >= 0 && a->ndim != b->ndim;
}
/* The common dtype of both, void if one is unknown; false after an error when they differ. */
TNB_MUST_CHECK bool
infer_same_dtype(tn_ctx *ctx, const tn_call *call, tnb_dtype a, tnb_dtype b, tnb_dtype *out);

/* Simplified arithmetic on extents. */
const tn_expr *
dim_add(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
const tn_expr *
dim_sub(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
const tn_expr *
dim_mul(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
const tn_expr *
dim_addi(tn_ctx *ctx, const tn_expr *a, int64_t b);
const tn_expr *
dim_muli(tn_ctx *ctx, const tn_expr *a, int64_t b);
const tn_expr *
dim_floordiv(tn_ctx *ctx, const tn_expr *a, int64_t b);
const tn_expr *
dim_ceildiv(tn_ctx *ctx, const tn_expr *a, int64_t b);
const tn_expr *
dim_simplify(tn_ctx *ctx, const tn_expr *e);
bool
dim_equal(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
/* Both are literals and differ. Where that is not known, their equality becomes an assumption of the
 * call; the text says what is wrong where it does not hold, with "{}" for either. */
bool
dim_differ(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, const char *fmt, ...) TNB_PRINTF(4, 5);
/* The same for a <= b; for a % k == 0 (one value in the text); for `from` being `to` or 1. True: known not to
 * hold. */
bool
dim_exceeds(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, const char *fmt, ...) TNB_PRINTF(4, 5);
bool
dim_ragged(tn_ctx *ctx, const tn_expr *a, int64_t k, const char *fmt, ...) TNB_PRINTF(4, 5);
bool
dim_misfit(tn_ctx *ctx, const tn_expr *from, const tn_expr *to, const char *fmt, ...)
    TNB_PRINTF(4, 5);
/* For operators that clamp an index into an axis of `from` elements: the axis has an element, or the
 * result of extents `to` has none. In an empty axis there is no place to clamp to: the program would
 * read in front of the buffer. True: known not to hold. One value in the text: `from`. */
bool
dim_vacant(tn_ctx *ctx, const tn_expr *from, tn_list to, const char *fmt, ...) TNB_PRINTF(4, 5);

#endif
