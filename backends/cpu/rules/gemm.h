/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix product as gemm.c recognizes it and gemm_nest.c writes it out. */
#ifndef TENON_BACKENDS_CPU_GEMM_H
#define TENON_BACKENDS_CPU_GEMM_H

#include "rules.h"

/* GEMM_SHARED_BY: work is divided so that two or four threads have the same. */
enum { GEMM_MAX_RANK = 6, GEMM_NONE = UINT32_MAX, GEMM_SHARED_BY = 4 };

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
    int64_t M, N, K; /* M -1: not known; N -1: likewise, where the right operand is made of codes */
    tnb_dtype acc;
    /* the tile: mr rows of nv vectors */
    int64_t mr, nv, lanes;
    int64_t turns_k; /* parts of the reduction */
    int64_t gm, gn;  /* tiles of a group, which one thread computes */
    bool pack_left;  /* into panels of mr rows, too */
    bool ahead;      /* the next panel is fetched while one is used */
    cpu_caches caches;
} cpu_gemm;

/* The product in a function of one. False: it is none; m is GEMM_NONE where it is one of a vector. */
bool
cpu_gemm_find(cpu_gemm *g, tn_ctx *ctx, const tn_node *prim_func);
/* Whether the right operand is computed where it is read: weights made of codes. */
bool
cpu_gemm_of_codes(const cpu_gemm *g);
/* Elements between neighbouring rows and neighbouring places of the sum in the left operand, as float32 of the function's own
 * buffers; false: it is something else, or they are not the same everywhere. */
bool
cpu_gemm_left_steps(cpu_gemm *g, int64_t *rows, int64_t *k);
/* Whether the right operand lies in panels of the tile's width, nv vectors, already. */
bool
cpu_gemm_in_panels(cpu_gemm *g);
/* The tuner's tile and groups in place of those in *g, where it has some. */
void
cpu_tune_gemm_tile(cpu_gemm *g, int64_t registers, bool in_panels);
void
cpu_tune_gemm_groups(cpu_gemm *g);

/* ---- gemm_nest.c ---- */
/* What loads in the tile read. */
typedef struct cpu_nest_operand {
    const tn_node *panels;           /* NULL: as the function has it */
    uint32_t dims[GEMM_MAX_RANK], n; /* dimensions of the result that the panels have, outermost */
} cpu_nest_operand;

typedef struct cpu_nest cpu_nest;
struct cpu_nest {
    cpu_gemm *g;
    cpu_nest_operand left, right;
    const tn_node *acc, *partial;      /* a tile; those of a group between parts of k; NULL: none */
    const tn_expr *at[GEMM_MAX_RANK];  /* the tile's place: in m and n its first row and column */
    const tn_expr *panel, *left_panel; /* numbers of the tile's panels */
    const tn_expr *k;                  /* place in the reduction */
    const tn_expr *row_turn;           /* number of the tile's rows within the group */
    const tn_expr *slot;               /* of the tile in `partial` */
    /* the statements of a tile, for part number k_part of the reduction, and what they allocate */
    const tn_stmt *(*tile)(cpu_nest *n, const tn_expr *k_part);
    tn_list tile_allocs;
};

const tn_expr *
cpu_nest_var(cpu_gemm *g, const char *name);
const tn_stmt *
cpu_nest_loop(cpu_gemm *g, const tn_expr *var, const tn_expr *extent, tn_for_kind kind,
              const tn_stmt *body);
/* An expression of the sum's block at a place: `place` by dimension of the result. */
const tn_expr *
cpu_nest_at(cpu_gemm *g, const tn_expr *e, const tn_expr *const *place, const tn_expr *k);
/* Steps of a load between neighbours along two variables; false: not everywhere the same. */
bool
cpu_nest_steps(tn_ctx *ctx, tn_arith *a, const tn_expr *e, const tn_expr *const *vars,
               int64_t *out);
/* Writes element (i, j) of the tile, which is in n->acc, with what follows the sum. */
const tn_stmt *
cpu_nest_result(cpu_nest *n, const tn_expr *i, const tn_expr *j);
/* The function of the groups of tiles alone. */
const tn_node *
cpu_nest_finish(cpu_nest *n);
/* The function with the tile that *g tells; NULL after recording an error. */
const tn_node *
cpu_gemm_write(cpu_gemm *g);

#endif
