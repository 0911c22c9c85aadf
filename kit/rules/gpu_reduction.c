/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.Reduction: one reduction, with what is computed of its result, if anything.
 *
 *     for i, k: s[i] += A[i, k]       =>     for b in blockIdx.x:
 *     for i: B[i] = exp(s[i])                    for k0: for t in threadIdx.x: s_shared += A[b, k0 * 256 + t]
 *                                                B[b] = exp(s_shared)                        (by the first thread)
 *
 * Where what is read lies along the result (A[k, i]), threadIdx.x runs over 32 neighbours of it and threadIdx.y over the
 * reduction (gpu_columns.c, where it is large), unless the result is so large that a thread for each element keeps the device
 * busy, or the reduction so short that threads have nothing to share: then each thread reduces by itself into a register. A
 * reduction of several results (the largest value and its place, sum and sum of squares) is shared in the same way:
 * gpu_together.c.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

enum { ROW_THREADS = 256, COLUMNS = 32 };

typedef struct widest {
    const tn_block *b;
    uint32_t iters;
    int64_t bytes; /* of an element */
    bool inner, found;
} widest;

/* The load that runs over most iterators decides: whether the reduction is its last index's. */
static tn_walk_step
consider(void *user, const tn_node *n)
{
    widest *w = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    for (uint32_t i = 0; l && i < w->b->writes.n; i++)
        if (l->buffer == tn_as_buffer_region(w->b->writes.at[i])->buffer)
            return TN_WALK_ON;
    if (!l)
        return TN_WALK_ON;
    uint32_t count = 0;
    bool inner = false, spatial = false;
    for (uint32_t k = 0; k < w->b->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(w->b->iters.at[k]);
        bool uses = false, last = false;
        for (uint32_t i = 0; i < l->indices.n; i++)
            if (tn_uses(l->indices.at[i], iv->var)) {
                uses = true;
                last = i + 1 == l->indices.n;
            }
        count += uses && !tn_is_int_const(tn_as_range(iv->dom)->extent, 1);
        inner |= last && iv->iter_kind == TN_ITER_REDUCE;
        spatial |= last && iv->iter_kind == TN_ITER_SPATIAL &&
                   !tn_is_int_const(tn_as_range(iv->dom)->extent, 1);
    }
    if (!w->found || count > w->iters) {
        w->found = true;
        w->iters = count;
        w->bytes = (int64_t)tnb_dtype_bytes(tn_as_buffer(l->buffer)->dtype);
        w->inner = inner || !spatial;
    }
    return TN_WALK_ON;
}

bool
gpu_reduces_inner(const tnk_item *reduction)
{
    widest w = {.b = reduction->block};
    tn_walk(reduction->block->body, 0, consider, NULL, &w);
    return w.inner || !w.found;
}

int64_t
gpu_turns(const tnk_item *block, tn_iter_kind kind)
{
    int64_t n = 1;
    for (uint32_t k = 0; k < block->block->iters.n; k++) {
        if (tn_as_iter_var(block->block->iters.at[k])->iter_kind != (int64_t)kind)
            continue;
        int64_t e = gpu_iter_extent(block, k);
        if (e < 0 || (e > 0 && n > INT64_MAX / e))
            return -1;
        n *= e;
    }
    return n;
}

bool
gpu_reduces_alone(const tnk_item *reduction)
{
    enum { MANY_RESULTS = 1 << 15, SHORT = 16 };
    int64_t turns = gpu_turns(reduction, TN_ITER_REDUCE),
            results = gpu_turns(reduction, TN_ITER_SPATIAL);
    bool many = results < 0 || results >= MANY_RESULTS;
    return gpu_count_iters(reduction, TN_ITER_SPATIAL) > 0 &&
           ((turns >= 0 && turns < SHORT) || (many && !gpu_reduces_inner(reduction)));
}

tnk_item *
gpu_only_reduction(tnk_sch *s)
{
    tnk_item *all[3], *red = NULL;
    uint32_t n = tnk_sch_blocks(s, all, 3), reductions = 0;
    for (uint32_t i = 0; i < n && i < 3; i++)
        if (tnk_block_is_reduction(all[i])) {
            red = all[i];
            reductions++;
        }
    if (n > 2 || reductions != 1 || gpu_has_order(red) || !red->block->init ||
        !tnk_block_store(red->block) || gpu_is_bound(s, red))
        return NULL;
    return red;
}

/* columns: as gpu_columns.c does, or not at all. */
static const tn_node *
attempt(tn_ctx *ctx, const tn_node *prim_func, const gpu_target *t, bool columns)
{
    tnk_sch *s = tnk_sch_new(ctx, prim_func);
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    gpu_inline(s, true);
    tnk_item *red = gpu_only_reduction(s), *all[3];
    if (!red)
        return columns ? NULL : gpu_reduce_together(s, t);
    int64_t turns = gpu_turns(red, TN_ITER_REDUCE);
    bool inner = gpu_reduces_inner(red);
    gpu_rows r = {
        .s = s, .t = t, .group = 1, .lane_tag = "threadIdx.x", .group_tag = "threadIdx.y"};
    if (tnk_sch_blocks(s, all, 3) == 2) {
        r.root = all[1];
        if (r.root == red || !tnk_block_is_injective(r.root))
            return NULL;
    } else if (!(r.root = tnk_cache_write(s, red, "local"))) {
        return NULL;
    }
    bool alone = gpu_reduces_alone(red);
    if (!gpu_find_rows(&r))
        return NULL;
    bool broadcast = false;
    for (uint32_t k = 0; k < r.root->block->iters.n; k++)
        broadcast |= r.row[k] != 1 && gpu_iter_extent(r.root, k) != 1;
    if (columns) {
        widest w = {.b = red->block};
        tn_walk(red->block->body, 0, consider, NULL, &w);
        return !inner && !alone && !broadcast && gpu_schedule_columns(s, t, red, r.root, w.bytes)
                   ? tnk_sch_finish(s)
                   : NULL;
    }
    if (alone && !broadcast)
        return gpu_finish_rest(s, t);
    if (inner || gpu_floor_pow2(t->threads) <= 1) {
        r.lanes =
            gpu_choose_threads(ctx, "threads", t->threads, gpu_threads_for(t, turns, ROW_THREADS));
    } else {
        int64_t most =
            gpu_choose_threads(ctx, "threads", t->threads, gpu_threads_for(t, -1, ROW_THREADS));
        r.group = most >= 4 * COLUMNS ? COLUMNS : most >= 8 ? most / 8 : most / 2;
        r.lanes = gpu_threads_for(t, turns, most / r.group);
        r.lane_tag = r.group > 1 ? "threadIdx.y" : "threadIdx.x"; /* a kernel has the latter */
        r.group_tag = r.group > 1 ? "threadIdx.x" : "threadIdx.y";
    }
    return gpu_schedule_rows(&r) ? tnk_sch_finish(s) : NULL;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)self;
    const tn_node *within;
    if (gpu_within(ctx, prim_func, target, apply, &within))
        return within;
    gpu_target t;
    if (!gpu_target_of(ctx, target, &t))
        return NULL;
    const tn_node *f = attempt(ctx, prim_func, &t, true);
    return f ? f : attempt(ctx, prim_func, &t, false);
}

const tnk_rule tnk_rule_gpu_reduction = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.Reduction",
    .base.doc =
        "One reduction: threads of a block share it where it is long, and reduce along memory.",
    .apply = apply,
    .attrs = gpu_attrs,
};
