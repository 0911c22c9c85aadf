/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as legalize_attention.c recognizes it and attention.c writes it out. */
#ifndef TENON_BACKENDS_CPU_ATTENTION_H
#define TENON_BACKENDS_CPU_ATTENTION_H

#include "cpu.h"

enum { CPU_ATTENTION_RANK = 6, CPU_ATTENTION_BATCH = 4, CPU_ATTENTION_STEPS = 8 };

/* What a dimension of a tensor runs along: a dimension of the batch (0, 1, ...), or: */
enum { CPU_ALONG_ROW = 8, CPU_ALONG_COLUMN, CPU_ALONG_NOTHING /* its extent is 1 */ };

/* A tensor and its dimensions. Queries, keys, values and the result have rows, one a position, and columns; a
 * tensor that changes scores has a row a query and a column a key. */
typedef struct cpu_attention_operand {
    const tn_expr *x; /* NULL: none; of the result */
    uint32_t n;
    uint32_t along[CPU_ATTENTION_RANK];
    int64_t shared
        [CPU_ATTENTION_RANK]; /* how many of that dimension of the batch have one element here; 0: 1 */
} cpu_attention_operand;

/* What happens to scores between the products. */
typedef struct cpu_attention_step {
    enum {
        CPU_STEP_MULTIPLY, /* by c */
        CPU_STEP_ADD,      /* x */
        CPU_STEP_KEEP,     /* where x holds; c elsewhere */
        CPU_STEP_REPLACE,  /* by c where x holds */
        CPU_STEP_TANH
    } kind;
    cpu_attention_operand x;
    double c;
} cpu_attention_step;

typedef struct cpu_attention {
    tn_ctx *ctx;
    uint32_t n_batch;
    const tn_expr *batch[CPU_ATTENTION_BATCH], *queries, *keys; /* extents */
    int64_t d, dv;                                              /* columns of keys, of values */
    cpu_attention_operand q, k, v, out;
    double scale;
    cpu_attention_step step[CPU_ATTENTION_STEPS];
    uint32_t n_steps;
    /* which keys a query may see: up to its own position, fewer than `window` before it */
    bool causal, from_end; /* positions of queries count so that the last one is the last key's */
    int64_t window;        /* 0: none */
    const tn_expr *starts[2]; /* of sequences of queries and of keys; NULL: one each */
    bool zero;                /* a query that sees no key gives 0, not NaN */
    tnb_dtype dtype;          /* of the result */
} cpu_attention;

/* R.call_tir of the program, whose result has that type; NULL: it has extents that its operands do not tell. */
const tn_expr *
cpu_attention_call(tn_builder *b, const cpu_attention *a, const tn_type *type,
                   const tn_target *target);

#endif
