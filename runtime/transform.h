/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the runtime: how a weight is made of what its checkpoint has, as the artifact's metadata say
 * (tenon/base/tno.h). Rows are made piece by piece, so that neither the source nor the result has to be in
 * memory whole.
 */
#ifndef TENON_RUNTIME_TRANSFORM_H
#define TENON_RUNTIME_TRANSFORM_H

#include <jansson.h>
#include "tenon/base/dtype.h"
#include "tenon/base/mem.h"

/* What is made. */
typedef struct transform_result {
    tnb_dtype dtype;
    uint32_t ndim;
    const int64_t *shape;
    uint64_t bytes;
} transform_result;

typedef struct transform transform;

/* A transform of the metadata, checked: the source has `source_bytes` of it. In the arena. TNB_FORMAT, TNB_UNSUPPORTED (a kind that
 * this runtime does not know). */
TNB_MUST_CHECK tnb_status
transform_read(const json_t *o, const transform_result *result, tnb_arena *arena, transform **out,
               uint64_t *source_bytes, tnb_err *err);
/* Rows of the result, and how many of them are made together at least. A scalar has one. */
uint64_t
transform_rows(const transform *t);
uint64_t
transform_unit(const transform *t);
/* Bytes of a row of the result. */
uint64_t
transform_row_bytes(const transform *t);
/* The source's bytes that rows [first, first + n) are made of; both are multiples of the unit. */
void
transform_source_range(const transform *t, uint64_t first, uint64_t n, uint64_t *offset,
                       uint64_t *bytes);
/* Makes these rows; `source` is all of it. One thread at a time. */
void
transform_make(transform *t, const void *source, uint64_t first, uint64_t n, void *out);

#endif
