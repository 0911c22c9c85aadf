/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the cpu backend: formats of GGUF's blocks, and the programs that multiply by them. */
#ifndef TENON_BACKENDS_CPU_BLOCK_PRODUCT_H
#define TENON_BACKENDS_CPU_BLOCK_PRODUCT_H

#include "tenon/base/mem.h"
#include "tenon/core/build.h"

enum { CPU_BLOCK_FIELDS = 6 };

/* What activations are besides their bytes, for each part of a block with a scale of its own. */
typedef enum cpu_block_extra {
    CPU_BLOCK_OFFSET, /* the sum of the bytes times what weights are stored above their value, int32 */
    CPU_BLOCK_SUM     /* the sum of the values, float32, for formats whose weights have minima */
} cpu_block_extra;

typedef struct cpu_block_format {
    const char *name;     /* GGUF's */
    int64_t elems, bytes; /* of a block */
    int64_t part;         /* elements that share a scale */
    cpu_block_extra extra;
    int64_t offset; /* of CPU_BLOCK_OFFSET */
    struct {
        int64_t bytes, granule;
    } field[CPU_BLOCK_FIELDS]; /* of a block, in order; ends with 0 bytes */
} cpu_block_format;

/* NULL: the cpu target has no program for it. */
const cpu_block_format *
cpu_block_format_of(const char *name);

/* A product's extents. */
typedef struct cpu_block_extents {
    int64_t rows, padded; /* of the matrix; with those that fill the last panel */
    int64_t columns;
    int64_t lanes; /* rows of a panel */
    tn_list batch; /* extents of the activations but for the columns */
} cpu_block_extents;

/* Tensor programs as PrimFuncs; the error node after an error. */
/* (w [rows, bytes]) -> [padded, bytes]: panels of rows interleaved, as the transform interleave_rows makes them. */
const tn_node *
cpu_block_interleave(tn_ctx *ctx, const cpu_block_format *f, const cpu_block_extents *e);
/* (x [..., columns]) -> int8 [..., columns], scales float32 [..., columns / 32], extra [..., columns / part] */
const tn_node *
cpu_block_quantize(tn_ctx *ctx, const cpu_block_format *f, const cpu_block_extents *e);
/* (bytes, scales, extra, panels) -> float32 [..., rows] */
const tn_node *
cpu_block_multiply(tn_ctx *ctx, const cpu_block_format *f, const cpu_block_extents *e);

#endif
