/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix product as gemm.c recognizes it and gemm_nest.c writes it out. */
#ifndef TENON_BACKENDS_CPU_GEMM_H
#define TENON_BACKENDS_CPU_GEMM_H

#include "rules.h"

enum { GEMM_MAX_RANK = 6, GEMM_NONE = UINT32_MAX };

typedef struct cpu_gemm {
    tn_ctx *ctx;
    const tn_prim_func *func;
    const tn_block *sum;                /* sum[...] += left * right */
    const tn_block *last;               /* the element-wise reader of the sums; NULL: none */
    const tn_buffer_store *store;       /* of `sum` */
    uint32_t rank, m, n;                /* of the result; its dimensions of rows and of columns */
    const tn_expr *axis[GEMM_MAX_RANK]; /* iterators of `sum`, by dimension of the result */
    const tn_expr *extent[GEMM_MAX_RANK];
    const tn_expr *k;            /* the reduction's iterator */
    tn_list units;               /* iterators of one turn */
    const tn_expr *left, *right; /* operands: left runs along m, right along n */
    int64_t M, N, K;             /* M -1: not known */
    tnb_dtype acc;
    /* the tile: mr rows of nv vectors */
    int64_t mr, nv, lanes;
    int64_t turns_k; /* parts of the reduction */
    int64_t gm, gn;  /* tiles of a group, which one thread computes */
} cpu_gemm;

/* The product in a function of one; false: it is none that pays for packing. */
bool
cpu_gemm_find(cpu_gemm *g, tn_ctx *ctx, const tn_node *prim_func);
/* Whether the right operand lies in panels of the tile's width, nv vectors, already. */
bool
cpu_gemm_in_panels(cpu_gemm *g);
/* The tuner's tile and groups in place of those in *g, where it has some. */
void
cpu_tune_gemm_tile(cpu_gemm *g, int64_t registers, bool in_panels);
void
cpu_tune_gemm_groups(cpu_gemm *g);
/* The function with the tile that *g tells; NULL after recording an error. */
const tn_node *
cpu_gemm_write(cpu_gemm *g);

#endif
