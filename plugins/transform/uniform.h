/* SPDX-License-Identifier: Apache-2.0 */
/* Results of tensor programs that are one value, repeated. */
#ifndef TENON_PLUGINS_UNIFORM_H
#define TENON_PLUGINS_UNIFORM_H

#include "tenon/core/build.h"

/* Result `result` of a program over constants as a splat; NULL if it is none (an error may be
 * recorded). */
const tn_data *
transform_uniform_result(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape,
                         const tn_node *program, const tn_data *const *inputs, uint32_t n_inputs,
                         uint32_t result);

#endif
