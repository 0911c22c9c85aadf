/* SPDX-License-Identifier: Apache-2.0 */
/* What the schedule rules for GPUs share. Not installed.
 *
 * A rule tries schedules from the most to the least ambitious, each on a tree of its own (tnk_sch_new is cheap): the first
 * that is legal is taken. Every block of a scheduled function runs in loops that are bound to blockIdx and threadIdx. */
#ifndef TENON_KIT_RULES_GPU_H
#define TENON_KIT_RULES_GPU_H

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"
#include "tenon/kit/rule.h"
#include "rules.h"
#include "tenon/kit/schedule.h"

enum { GPU_MAX_BLOCKS = 64, GPU_MAX_LOOPS = 32 };

/* ---- gpu_target.c: what a target's attributes say ---- */
typedef struct gpu_target {
    int64_t threads;      /* of a block, at most */
    int64_t warp;         /* threads in lock step; 1: not known */
    int64_t shared_bytes; /* of a block */
    int64_t most_shared;  /* that a launch may give one: for choices of a tuner */
    int64_t vector_bytes; /* the widest load of a thread */
    int64_t unit
        [3]; /* rows, columns and steps of the product of float16 that a warp computes at once, summed in float32; 0: none */
} gpu_target;
/* The names of these attributes: what all rules go by. */
extern const char *const gpu_attrs[];
/* False: the target is no GPU, which these rules leave alone. */
bool
gpu_target_of(tn_ctx *ctx, const tn_target *target, gpu_target *out);
/* The largest power of two that is at most n (n >= 1). */
int64_t
gpu_floor_pow2(int64_t n);
/* Threads for n independent pieces of work (n < 0: not known): a power of two, at most `most`. */
int64_t
gpu_threads_for(const gpu_target *t, int64_t n, int64_t most);
/* A count of threads, at most `most`, that a tuner may choose: a power of two from 8 on. */
int64_t
gpu_choose_threads(tn_ctx *ctx, const char *name, int64_t most, int64_t preferred);
/* Elements of a dtype that one load of a thread moves. */
int64_t
gpu_lanes(const gpu_target *t, tnb_dtype d);

/* ---- gpu_nest.c: loops around one block ---- */
/* The loops around a block that hold nothing else, outermost first; at most GPU_MAX_LOOPS, else 0. */
uint32_t
gpu_own_loops(tnk_sch *s, const tnk_item *block, tnk_item **l);
/* Of these, those that run over spatial iterators alone come first in `l`; their count. */
uint32_t
gpu_spatial_first(const tnk_item *block, tnk_item **l, uint32_t n);
/* Whether a loop around the block is bound to an index already. */
bool
gpu_is_bound(tnk_sch *s, const tnk_item *block);
/* l[0..n) nested in each other become one loop; n >= 1. NULL: not legal. */
tnk_item *
gpu_fuse(tnk_sch *s, tnk_item *const *l, uint32_t n);
/* Splits a loop over blocks and `threads` threads, and binds both; out (may be NULL) gets the two. */
bool
gpu_bind_grid(tnk_sch *s, tnk_item *loop, int64_t threads, tnk_item *out[2]);
/* Splits a loop over `threads` threads of an index and binds the inner part, which it gives. */
tnk_item *
gpu_bind_threads(tnk_sch *s, tnk_item *loop, const char *tag, int64_t threads);
/* The block is run by the first of `threads` threads of an index alone. */
bool
gpu_first_thread(tnk_sch *s, tnk_item *block, const char *tag, int64_t threads);
/* Moves a producer into a loop, its result into memory of that scope. False: not legal. */
bool
gpu_into(tnk_sch *s, tnk_item *block, const char *scope, tnk_item *loop);
/* The innermost loop of several turns around a copy in vectors of at most so many lanes, its other loops unrolled. */
bool
gpu_copy_in_vectors(tnk_sch *s, tnk_item *copy, int64_t lanes);
/* The loop that an iterator's value is the variable of; NULL: it is something else. */
tnk_item *
gpu_loop_of_iter(tnk_sch *s, tnk_item *block, uint32_t k);
/* The iterator of a block that its store has at an index; UINT32_MAX: none. */
uint32_t
gpu_iter_of_dim(const tnk_item *block, uint32_t dim);
/* The loops of two of a block's dimensions in tiles, and those in parts (part NULL: not). All other loops and those over tiles become
 * one, which it gives; in it inner[0..1], which run over the parts of a tile (else over the tile), and in these own[0..1], over a part. NULL:
 * not legal. */
tnk_item *
gpu_tile(tnk_sch *s, tnk_item *block, const uint32_t dim[2], const int64_t tile[2],
         const int64_t *part, tnk_item *inner[2], tnk_item *own[2]);
/* Iterators of a kind, and whether there is one that is neither spatial nor reducing. */
uint32_t
gpu_count_iters(const tnk_item *block, tn_iter_kind kind);
bool
gpu_has_order(const tnk_item *block);
/* Turns of a block's iterator; -1: not known. */
int64_t
gpu_iter_extent(const tnk_item *block, uint32_t k);
/* The most that they can be; -1: not known. */
int64_t
gpu_iter_most(const tnk_sch *s, const tnk_item *block, uint32_t k);

/* ---- gpu_within.c: nests in loops that are bound to thread blocks already, but to no threads ---- */
typedef const tn_node *(*gpu_apply)(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target,
                                    void *self); /* of a tnk_rule */
/* Whether a statement has loops over threads or thread blocks. */
bool
gpu_has_threads(const tn_stmt *body);
/* Whether the function is one such nest; *out is then the function in which the rule scheduled what a turn of these loops does,
 * NULL where it gave no launches. */
bool
gpu_within(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, gpu_apply apply,
           const tn_node **out);
/* The function with each such nest that it has scheduled by the rule; one thread runs a nest that the rule gives no launches for. */
const tn_node *
gpu_within_each(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, gpu_apply apply);

/* ---- gpu_view.c: parts of buffers at indices that stay the same ---- */
typedef struct gpu_view {
    const tn_node *of,
        *is; /* the buffer, and what stands for the part; the same where all is needed */
    uint32_t rank;
    const tn_expr **index; /* of each dimension of `of`; NULL: the part has the dimension */
} gpu_view;
typedef struct gpu_views {
    gpu_view *at;
    uint32_t n, cap;
    tn_ctx *ctx;
    tn_list known, bound; /* variables from outside; those of them whose indices are parts */
    tn_list inside;       /* buffers that stay as they are */
    tn_list stored;
    bool undo;
} gpu_views;
/* The statement with views for the buffers that it accesses; `at` tells them. */
const tn_stmt *
gpu_views_make(gpu_views *v, const tn_stmt *body);
/* A statement made of that, with the buffers themselves again. */
const tn_stmt *
gpu_views_undo(gpu_views *v, const tn_stmt *body);

/* ---- gpu_inline.c ---- */
/* Inlines element-wise blocks: all but those that would be computed again for many results and cost
 * more than reading them (all: those too). */
void
gpu_inline(tnk_sch *s, bool all);
/* The block in whose loops a reduction is computed: the one element-wise block that reads its result
 * at the same place, else a copy of the result that is made here. NULL: neither is possible. */
tnk_item *
gpu_root_of(tnk_sch *s, tnk_item *reduction);

/* ---- gpu_tuple.c ---- */
/* Makes each reduction of several independent results (sum and sum of squares) into one for each. */
void
gpu_separate(tnk_sch *s);

/* ---- gpu_rows.c: rows that a thread block computes together ---- */
typedef struct gpu_rows {
    tnk_sch *s;
    const gpu_target *t;
    tnk_item *root; /* the last block: element-wise, or a copy */
    int64_t row
        [GPU_MAX_LOOPS]; /* of its iterators: 1: rows run over it; 0: it runs within a row; c: rows of c turns each */
    int64_t lanes, group; /* threads of a row; rows of a thread block */
    const char *lane_tag, *group_tag;
    int64_t vector;         /* neighbouring turns of the reduction that a thread takes; 0: 1 */
    const tn_node *wide[2]; /* operands that have them next to each other; NULL: none */
    int64_t shared_left;
} gpu_rows;
/* Finds the rows: those of root's iterators that all results which it reads are indexed by. False: another block is no
 * reduction, or results are indexed by something else. */
bool
gpu_find_rows(gpu_rows *r);
/* blockIdx.x runs over rows; all other blocks of the function are computed for one row (or a group), their results in
 * shared memory, each by all threads: reductions across threads. False: not possible; the schedule may be broken. */
bool
gpu_schedule_rows(gpu_rows *r);

/* All blocks in one kernel, the rows of the last one in a thread block each; NULL: not possible. */
const tn_node *
gpu_one_kernel_of_rows(tn_ctx *ctx, tnk_sch *s, const gpu_target *t, int64_t most_threads);

/* ---- gpu_columns.c ---- */
/* A large reduction of what lies along its results, with root, which computes of it: each thread takes neighbouring columns and some
 * rows, threads join their sums. `bytes`: of an element of what it reads most. False: it is not large, or an extent not known; or
 * not possible, the schedule may be broken. */
bool
gpu_schedule_columns(tnk_sch *s, const gpu_target *t, tnk_item *red, tnk_item *root, int64_t bytes);

/* ---- gpu_reduction.c ---- */
/* The function's one reduction, of one result, if there is at most one block beside it; else NULL. */
tnk_item *
gpu_only_reduction(tnk_sch *s);
/* Whether what it reads most lies in memory along the reduction. */
bool
gpu_reduces_inner(const tnk_item *reduction);
/* Whether threads gain nothing by sharing it: it is short, or has results enough for all threads. */
bool
gpu_reduces_alone(const tnk_item *reduction);
/* Product of the extents of a block's iterators of a kind; -1: not known. */
int64_t
gpu_turns(const tnk_item *block, tn_iter_kind kind);

/* ---- gpu_together.c ---- */
/* The function's one reduction, of several results, by all threads of a block; NULL: not possible. */
const tn_node *
gpu_reduce_together(tnk_sch *s, const gpu_target *t);

/* ---- gpu_matmul.c ---- */
typedef struct gpu_product {
    tnk_sch *s;
    const gpu_target *t;
    tnk_item *block, *root;
    const tn_buffer_load *load[2];
    uint32_t
        dim[2]; /* of the result: rows, which load 0 has alone, and columns, which load 1 has */
    int64_t tile[2], micro[2], threads[2], depth;
    int64_t budget; /* bytes of shared memory for operands as large as the tile */
} gpu_product;
/* gpu_operands of the block. */
bool
gpu_find_product(gpu_product *m);
/* Rows, columns and steps whose number is not known (all: also those that are no multiples) become multiples of the tile's, zeros behind
 * them: only copies and the last store have tests. False: not possible. */
bool
gpu_pad_product(gpu_product *m, bool all);
/* All threads of a block copy together, each a vector at a time where that is aligned. An operand that lies along the
 * reduction gets rows of an odd length, so that the threads that read different ones do not wait for a bank. */
bool
gpu_fetch(gpu_product *m, tnk_item *stage, bool along);
/* acc + x * y, with casts anywhere: the two loads. */
bool
gpu_product_of(const tn_block *b, const tn_buffer_load *l[2]);
/* The operands of such a block, and of the result's dimensions rows, which the first one has alone, and columns, which the second
 * one has: that is the operand of the last dimension of several elements. */
bool
gpu_operands(const tnk_item *block, const tn_buffer_load *load[2], uint32_t dim[2]);
bool
gpu_load_uses(const tn_buffer_load *l, const tn_expr *var);
/* The function's one reduction, of one result; NULL: there are several, or something that depends on its order. */
tnk_item *
gpu_sole_reduction(tnk_sch *s);
/* Inlines element-wise blocks, but for those whose results only `keep` reads, which may stay its operands. */
void
gpu_inline_around(tnk_sch *s, const tnk_item *keep);
/* The block reads a copy of `buffer` in that scope, which computes it if it was computed element by element. */
tnk_item *
gpu_stage(tnk_sch *s, tnk_item *block, const tn_node *buffer, const char *scope);

/* ---- gpu_matrix_units.c ---- */
/* The product with all of its tiles by matrix units; NULL: the target has none, or they do not fit. */
const tn_node *
gpu_by_matrix_units(tn_ctx *ctx, const tn_node *prim_func, const gpu_target *t);

/* ---- gpu_low_batch_gemv.c ---- */
/* Whether the function is a large matrix times vectors, known to be few, that gpu.LowBatchGEMV takes. */
bool
gpu_has_few_vectors(tn_ctx *ctx, const tn_node *prim_func, const gpu_target *t);

/* ---- gpu_fallback.c ---- */
/* Binds the blocks that are not bound yet, as gpu.Fallback does; the function, NULL where that failed. */
const tn_node *
gpu_finish_rest(tnk_sch *s, const gpu_target *t);

#endif
