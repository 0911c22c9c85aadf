/* SPDX-License-Identifier: Apache-2.0 */
/* Computing with known elements while importing: the `fold` functions of operators (see import.h).
 */
#ifndef ONNX_FOLD_H
#define ONNX_FOLD_H

#include "import.h"
#include "terms.h"

/* What the row of the operator's table says of each two or each one (ONNX_OP_ARITH). */
bool
onnx_fold_binary(onnx_node *n);
bool
onnx_fold_unary(onnx_node *n);
bool
onnx_fold_clip(onnx_node *n);
bool
onnx_fold_where(onnx_node *n);
bool
onnx_fold_cast(onnx_node *n);
bool
onnx_fold_cast_like(onnx_node *n);
bool
onnx_fold_shape(onnx_node *n);
bool
onnx_fold_size(onnx_node *n);
bool
onnx_fold_identity(onnx_node *n);
bool
onnx_fold_reshape(onnx_node *n);
bool
onnx_fold_flatten(onnx_node *n);
bool
onnx_fold_unsqueeze(onnx_node *n);
bool
onnx_fold_squeeze(onnx_node *n);
bool
onnx_fold_gather(onnx_node *n);
bool
onnx_fold_concat(onnx_node *n);
bool
onnx_fold_slice(onnx_node *n);
bool
onnx_fold_split(onnx_node *n);
bool
onnx_fold_transpose(onnx_node *n);
bool
onnx_fold_expand(onnx_node *n);
bool
onnx_fold_constant_of_shape(onnx_node *n);
bool
onnx_fold_range(onnx_node *n);
bool
onnx_fold_reduce(onnx_node *n); /* by ONNX_OP_ARITH too */

/* Shared with the handlers of the same operators. */
/* The extents that Reshape makes: target with 0 and -1 resolved against the input's. */
bool
onnx_reshape_target(onnx_node *n, tn_list in, const tn_expr *const *target, uint32_t count,
                    bool zero_copies, const tn_expr **out);
/* Slices normalised for one axis: starts and ends in the file's meaning. */
typedef struct onnx_slices {
    uint32_t count;
    int64_t axes[ONNX_MAX_DIMS], steps[ONNX_MAX_DIMS];
    const tn_expr *starts[ONNX_MAX_DIMS], *ends[ONNX_MAX_DIMS];
} onnx_slices;
/* The same as terms, read at run time where they have to be. */
typedef struct onnx_terms {
    uint32_t count;
    const tn_expr *starts[ONNX_MAX_DIMS], *ends[ONNX_MAX_DIMS], *axes[ONNX_MAX_DIMS],
        *steps[ONNX_MAX_DIMS];
} onnx_terms;
bool
onnx_read_slice_terms(onnx_node *n, int64_t rank, onnx_terms *t);
bool
onnx_read_slices(onnx_node *n, int64_t rank, onnx_slices *s);
/* Sizes of Split's parts; false after an error. */
TNB_MUST_CHECK bool
onnx_split_sizes(onnx_node *n, int64_t extent, int64_t *sizes, uint32_t *count);

#endif
