/* SPDX-License-Identifier: Apache-2.0 */
/* What the schedule rules of the cpu backend share. */
#ifndef TENON_BACKENDS_CPU_RULES_H
#define TENON_BACKENDS_CPU_RULES_H

#include "../cpu.h"
#include "tenon/core/arith.h"
#include "tenon/core/walk.h"
#include "tenon/kit/schedule.h"

enum { CPU_MAX_BLOCKS = 64, CPU_MAX_LOOPS = 16 };

/* ---- inline.c ---- */
enum {
    CPU_KEEP_PADDING = 1, /* guarded producers of reductions stay blocks of their own */
    CPU_INLINE_CODES = 2  /* producers that make numbers of codes do not, whatever that costs */
};
/* Inlines element-wise blocks whose results are cheap to compute again or read once. */
void
cpu_inline_cheap(tnk_sch *s, unsigned flags);

/* ---- nest.c ---- */
/* Fuses the outermost `n` loops as far as it is worth and makes them parallel. */
void
cpu_parallel_outer(tnk_sch *s, tnk_item **loops, uint32_t n);
/* Schedules one block on its own: parallel outside, reductions decomposed, vectors inside where
 * that pays. */
void
cpu_schedule_block(tnk_sch *s, tnk_item *block, int vector_bytes);
/* Whether the result's last index moves some operand by steps that differ: a channel of a block that
 * is somewhere else before. */
bool
cpu_jumps(tn_ctx *ctx, const tn_block *b);
/* Whether no loop around the block was marked or contains another block. */
bool
cpu_is_alone(tnk_sch *s, tnk_item *block);
/* Lanes of a dtype in a vector register. */
int64_t
cpu_lanes(int vector_bytes, tnb_dtype d);
/* How many vector registers there are: AVX-512 doubles them. */
static inline int64_t
cpu_registers(int vector_bytes)
{
    return vector_bytes == 64 ? 32 : 16;
}

/* ---- choice.c ---- */
/* Schedules a block of several results that are chosen together, an argmax. False: it is none; where the schedule is still
 * good, it is as it was. */
bool
cpu_schedule_choice(tnk_sch *s, tnk_item *block, int vector_bytes);

/* ---- rows.c ---- */
/* Lanes of vectors along an iterator of the block: of the widest type that it loads, stores or
 * converts to there; 1: it has no vector form. */
int64_t
cpu_wide_lanes(const tnk_item *block, const tn_expr *along, int vector_bytes);
/* Has a loop for WidenLoop fetch what it will read `ahead` elements later, unless the function's result may be in a core's
 * caches. */
bool
cpu_fetch_ahead(tnk_sch *s, tnk_item *loop, const tn_node *result, int64_t ahead,
                const cpu_caches *caches);
/* Has the block's loops write past the caches a result that none of them holds. */
bool
cpu_store_past(tnk_sch *s, tnk_item *block, const cpu_caches *caches);
/* Schedules a function of reductions and element-wise blocks row by row; `several`: with more than
 * one block. NULL: it is none. */
const tn_node *
cpu_schedule_rows(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, bool several);

/* ---- contraction.c ---- */
typedef struct cpu_operand {
    const tn_buffer_load *load;
    int64_t step; /* elements between neighbours along x; 0: not the same everywhere */
} cpu_operand;

/* A tile of accumulators for a reduction: ty of dimension y, th of h, tw * lanes of x, the result's
 * last dimension. */
enum { CPU_MAX_TILE_ROWS = 14 };

typedef struct cpu_tile {
    tnk_sch *s;
    tn_ctx *ctx;
    tnk_item *block;
    cpu_operand a, b;           /* of a product: a runs along x, b does not, */
    bool paired;                /* or both do */
    uint32_t x, h, y;           /* dimensions of the result; h, y UINT32_MAX: none */
    int64_t group;              /* of y that has the same part of a; 0: all of it */
    int64_t ext[CPU_MAX_LOOPS]; /* -1: not known; what a rule puts there is taken for granted, */
    const tn_expr *need;        /* and this has to hold when the function runs; NULL: nothing */
    int64_t ty, th, tw, lanes;  /* lanes 1: x is unrolled, not vectorized */
    int64_t registers;          /* of vectors, that the target has */
    double reduce;              /* turns of the reduction */
    enum {
        CPU_ORDER_YHX,
        CPU_ORDER_HYX,
        CPU_ORDER_HXY,
        CPU_ORDER_ROWS /* of an image, through all blocks of channels, which are h */
    } order;           /* of the loops over tiles, outermost first */
    /* what a vector of the result and the last dimension of the reduction are; NULL: a product each */
    const char *intrinsic;
    int64_t rows, steps; /* of it: ty, and turns of the reduction before the last one; 0: none */
    /* within a serial loop over steps: */
    bool in_scan;
    uint32_t shared; /* the outermost loops, which hold other blocks too */
    tnk_item *outer
        [CPU_MAX_LOOPS]; /* the loops over tiles, `shared` ones first; made by cpu_apply_tile */
    uint32_t n_outer;
} cpu_tile;
/* Whether a vector of elements with this step may be loaded as it lies: by one load, a shuffle, or
 * element by element, which a tile with several rows still pays for. */
static inline bool
cpu_runs_along(int64_t step)
{
    return step >= 1 && step <= 8;
}
/* Whether the function promises that its buffers do not overlap. Tiles compute some elements twice,
 * which must not read what the first time wrote. */
bool
cpu_is_noalias(const tn_node *prim_func);
/* As cpu_is_noalias, of a function that reduces something: what rules ask before they make a schedule and inline. */
bool
cpu_may_reduce(const tn_node *prim_func);
/* Finds a, b, paired, y and h; false where the block is no sum of products that vectors compute. */
bool
cpu_find_operands(cpu_tile *c);
/* Which loops over tiles go outside; the tile is chosen. */
void
cpu_choose_order(cpu_tile *c, const cpu_caches *caches);
/* Whether a tile of that size is possible: it lies within the result and in the registers. `full`:
 * lanes of a register. */
bool
cpu_tile_fits(const cpu_tile *c, int64_t full, int64_t lanes, int64_t tw, int64_t th, int64_t ty);
/* The tuner's tile in place of the one in *c, if it has one. */
void
cpu_tune_tile(cpu_tile *c, int64_t full);
/* The tuner's choice of an order, among those that a tile with these dimensions can have. */
void
cpu_tune_order(cpu_tile *c);
/* Copies padding by groups of rows, before they are used: `rows` is the loop over an image's rows, outside of which only images and
 * channels are. The loop over groups; NULL: nothing was done, unless the schedule is broken. */
tnk_item *
cpu_pad_by_rows(cpu_tile *c, tnk_item *rows);
/* Makes the loops of the tile. False: not possible, the schedule may be broken. */
bool
cpu_apply_tile(cpu_tile *c);
/* Elements between neighbours along variable v of a load; 0: not the same everywhere. */
int64_t
cpu_step_along(tn_ctx *ctx, const tn_buffer_load *l, const tn_expr *v);
bool
cpu_load_uses(const tn_buffer_load *l, const tn_expr *v);
/* The function's one block with a reduction, if it has one result whose shape and domains are
 * constant and that it stores at its iterators; fills s, ctx, block, x, ext and reduce. */
bool
cpu_find_reduction(tn_ctx *ctx, tnk_sch *s, cpu_tile *c);
/* Schedules the blocks that no tile has touched, and gives the function. */
const tn_node *
cpu_finish_rest(tnk_sch *s, int vector_bytes);
/* Schedules a function with one sum of products whose result has a rank in the range; NULL: it is
 * none. */
const tn_node *
cpu_schedule_contraction(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target,
                         uint32_t min_rank, uint32_t max_rank);
/* The same for images whose pixels are all treated alike, each as one row; NULL also where vectors divide its rows. */
const tn_node *
cpu_schedule_pixels(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target);

/* Schedules a matrix product row by row: right for any number of rows. */
const tn_node *
cpu_schedule_single_rows(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target);
/* `fast` where the condition holds, else `rest`. */
const tn_node *
cpu_either(tn_ctx *ctx, const tn_expr *condition, const tn_node *fast, const tn_node *rest);

/* ---- gemm.c ---- */
/* Schedules one matrix product that is large enough for packed panels; NULL: it is none. */
const tn_node *
cpu_schedule_gemm(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target);

/* ---- gemv_nest.c ---- */
/* Schedules one product of a matrix and a vector; NULL: it is none. */
const tn_node *
cpu_schedule_gemv(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target);

/* A sum of products within `shared` loops around it and others, whose result one block reads at the
 * same place: the tile is made there; loops stay serial. False: nothing was done, unless the
 * schedule is broken. */
bool
cpu_tile_in_scan(tn_ctx *ctx, tnk_sch *s, tnk_item *block, uint32_t shared, const tn_target *target,
                 cpu_tile *c);

#endif
