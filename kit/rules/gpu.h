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
    int64_t vector_bytes; /* the widest load of a thread */
} gpu_target;
/* False: the target is no GPU, which these rules leave alone. */
bool
gpu_target_of(const tn_target *target, gpu_target *out);
/* The largest power of two that is at most n (n >= 1). */
int64_t
gpu_floor_pow2(int64_t n);
/* Threads for n independent pieces of work (n < 0: not known): a power of two, at most `most`. */
int64_t
gpu_threads_for(const gpu_target *t, int64_t n, int64_t most);
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
/* The iterator of a block that its store has at an index; UINT32_MAX: none. */
uint32_t
gpu_iter_of_dim(const tnk_item *block, uint32_t dim);
/* Iterators of a kind, and whether there is one that is neither spatial nor reducing. */
uint32_t
gpu_count_iters(const tnk_item *block, tn_iter_kind kind);
bool
gpu_has_order(const tnk_item *block);
/* Turns of a block's iterator; -1: not known. */
int64_t
gpu_iter_extent(const tnk_item *block, uint32_t k);

/* ---- gpu_inline.c ---- */
/* Inlines element-wise blocks: all but those that would be computed again for many results and cost
 * more than reading them (all: those too). */
void
gpu_inline(tnk_sch *s, bool all);
/* The block in whose loops a reduction is computed: the one element-wise block that reads its result
 * at the same place, else a copy of the result that is made here. NULL: neither is possible. */
tnk_item *
gpu_root_of(tnk_sch *s, tnk_item *reduction);

/* ---- gpu_rows.c: rows that a thread block computes together ---- */
typedef struct gpu_rows {
    tnk_sch *s;
    const gpu_target *t;
    tnk_item *root;       /* the last block: element-wise, or a copy */
    bool row_dim[GPU_MAX_LOOPS]; /* dimensions of its result that run over rows */
    int64_t threads;
} gpu_rows;
/* blockIdx.x runs over rows; all other blocks of the function are computed for one row, their results in shared memory,
 * each by all threads: reductions across threads. */
bool
gpu_schedule_rows(gpu_rows *r);

/* ---- gpu_fallback.c ---- */
/* Binds the blocks that are not bound yet, as gpu.Fallback does. */
void
gpu_bind_rest(tnk_sch *s, const gpu_target *t);

#endif
