/* SPDX-License-Identifier: Apache-2.0 */
/* Squares of elements that are turned in registers. */
#ifndef TENON_BACKENDS_CPU_SQUARES_H
#define TENON_BACKENDS_CPU_SQUARES_H

#include "axes.h"

enum { CPU_SQUARE_BUFFERS = 6 };

/* `lanes` vectors of `lanes` elements. Its elements are moved as `dtype`: the one of their memory, but bits where
 * computing would change them. */
typedef struct cpu_square {
    tn_ctx *ctx;
    tnb_dtype dtype;
    int64_t bytes, lanes, part; /* of an element; in a vector; in 16 bytes */
    uint32_t rounds;
    const tn_node *round
        [CPU_SQUARE_BUFFERS]; /* the vectors before each round of shuffles, and after the last */
} cpu_square;

/* False: elements of this dtype do not lie in bytes of their own. */
bool
cpu_square_init(cpu_square *s, tn_ctx *ctx, tnb_dtype d, int vector_bytes);
/* Its local buffers; the count. */
uint32_t
cpu_square_buffers(const cpu_square *s, const tn_node **out);
/* Element (row, column), before the turn and after it. */
const tn_stmt *
cpu_square_set(const cpu_square *s, const tn_expr *row, const tn_expr *column,
               const tn_expr *value);
const tn_expr *
cpu_square_get(const cpu_square *s, const tn_expr *row, const tn_expr *column);
const tn_stmt *
cpu_square_turn(const cpu_square *s);
/* A moved element as the dtype that it has in memory. */
const tn_expr *
cpu_square_value(const cpu_square *s, const tn_expr *moved, tnb_dtype d);

#endif
