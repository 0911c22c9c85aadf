/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.GEMV: a matrix, batched or not, times a vector. Memory is the limit: every element of the matrix is read once, in order.
 *
 *     for i, k: y[i] += A[i, k] * x[k]     =>     for b in blockIdx.x: 8 rows, one for each threadIdx.y
 *                                                     for k0, t in threadIdx.x, v: y_shared += A[., (k0 * 32 + t) * 8 + v] * x[.]
 *                                                     y[.] = y_shared                           with what is computed of it
 *
 * A thread takes neighbouring elements, as many as one load moves (8 of a 4-bit matrix come out of one word), the threads of a
 * row join their sums. A matrix that lies the other way (A[k, i]) has neighbouring threads on neighbouring results, a large one as
 * gpu_columns.c says.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

enum { USUAL_THREADS = 256, ROW_THREADS = 32, COLUMNS = 32, PACKED = 8 };

/* An index of a result and one of the sum together: a window, not a vector. */
static bool
mixes(const tnk_item *red, const tn_expr *index)
{
    bool uses[2] = {false, false};
    for (uint32_t k = 0; k < red->block->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(red->block->iters.at[k]);
        if (gpu_iter_extent(red, k) != 1 && tn_uses(index, iv->var))
            uses[iv->iter_kind == TN_ITER_REDUCE] = true;
    }
    return uses[0] && uses[1];
}

/* One operand has every spatial iterator of several turns (the matrix); the other one lacks some. */
static bool
is_gemv(const tnk_item *red, const tn_buffer_load **matrix)
{
    const tn_buffer_load *l[2];
    uint32_t have[2] = {0, 0}, spatial = 0;
    if (!gpu_product_of(red->block, l))
        return false;
    for (uint32_t k = 0; k < red->block->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(red->block->iters.at[k]);
        if (gpu_iter_extent(red, k) == 1)
            continue;
        for (int i = 0; i < 2; i++) {
            bool uses = gpu_load_uses(l[i], iv->var);
            if (iv->iter_kind == TN_ITER_REDUCE && !uses)
                return false;
            have[i] += iv->iter_kind == TN_ITER_SPATIAL && uses;
        }
        spatial += iv->iter_kind == TN_ITER_SPATIAL;
    }
    for (int i = 0; i < 2; i++)
        for (uint32_t d = 0; d < l[i]->indices.n; d++)
            if (mixes(red, l[i]->indices.at[d]))
                return false;
    int m = have[0] >= have[1] ? 0 : 1;
    *matrix = l[m];
    return have[m] == spatial && (have[1 - m] < spatial || spatial == 0);
}

/* Operands that are parameters and have the last iterator of the sum as their last index. */
static void
note_wide(gpu_rows *r, const tnk_item *red)
{
    const tn_buffer_load *l[2];
    const tn_expr *last = NULL;
    for (uint32_t k = 0; k < red->block->iters.n; k++)
        if (tn_as_iter_var(red->block->iters.at[k])->iter_kind == TN_ITER_REDUCE)
            last = tn_as_iter_var(red->block->iters.at[k])->var;
    if (r->vector == 1 || !gpu_product_of(red->block, l) || l[0]->buffer == l[1]->buffer)
        return;
    for (int i = 0; i < 2; i++)
        if (tnk_sch_is_param(r->s, l[i]->buffer) && l[i]->indices.at[l[i]->indices.n - 1] == last)
            r->wide[i] = l[i]->buffer;
}

/* columns: as gpu_columns.c does, or not at all. */
static const tn_node *
attempt(tn_ctx *ctx, const tn_node *prim_func, const gpu_target *t, bool columns)
{
    tnk_sch *s = tnk_sch_new(ctx, prim_func);
    const tn_buffer_load *matrix;
    tnk_item *all[3];
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    tnk_item *red = gpu_sole_reduction(s);
    if (!red)
        return NULL;
    gpu_inline_around(s, red);
    if (!is_gemv(red, &matrix))
        return NULL;
    bool packed = !tnk_sch_is_param(s, matrix->buffer);
    bool inner = false;
    for (uint32_t k = 0; k < red->block->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(red->block->iters.at[k]);
        inner |= iv->iter_kind == TN_ITER_REDUCE &&
                 tn_uses(matrix->indices.at[matrix->indices.n - 1], iv->var);
    }
    int64_t lanes = gpu_lanes(t, tn_as_buffer(matrix->buffer)->dtype),
            turns = gpu_turns(red, TN_ITER_REDUCE);
    gpu_inline(s, true);
    uint32_t n = tnk_sch_blocks(s, all, 3);
    gpu_rows r = {.s = s, .t = t, .vector = 1};
    r.root = n == 1 ? tnk_cache_write(s, red, "local") : n == 2 && all[1] != red ? all[1] : NULL;
    if (!r.root || !tnk_block_is_injective(r.root) || !gpu_find_rows(&r))
        return NULL;
    if (columns) {
        int64_t bytes = (int64_t)tnb_dtype_bytes(tn_as_buffer(matrix->buffer)->dtype);
        return !inner && gpu_schedule_columns(s, t, red, r.root, bytes) ? tnk_sch_finish(s) : NULL;
    }
    int64_t most =
        gpu_choose_threads(ctx, "threads", t->threads, gpu_threads_for(t, -1, USUAL_THREADS));
    if (inner) {
        static const int64_t vectors[] = {8, 1, 2, 4, 16};
        r.vector = packed && lanes < PACKED ? PACKED : lanes;
        int64_t row = t->warp > ROW_THREADS ? t->warp : ROW_THREADS;
        row = gpu_choose_threads(ctx, "row_threads", most, gpu_threads_for(t, turns, row));
        r.vector = tnk_rule_choice(ctx, "vector", vectors, packed ? 1 : 5, r.vector);
        while (r.vector > 1 && (turns < 0 || turns % (r.vector * row)))
            r.vector /= 2;
        note_wide(&r, red);
        r.lanes = row;
        r.group = most > row ? most / row : 1;
        r.lane_tag = "threadIdx.x";
        r.group_tag = "threadIdx.y";
    } else {
        r.group = most >= 2 * COLUMNS ? COLUMNS : most >= 2 ? most / 2 : 1;
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

const tnk_rule tnk_rule_gpu_gemv = {
    .base.size = sizeof(tnk_rule),
    .base.name = "gpu.GEMV",
    .base.doc = "Matrix times vector: the threads of a row read it in order and join their sums.",
    .apply = apply,
    .attrs = gpu_attrs,
};
