/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions that choose, such as for the largest element and its place: several results that are computed together.
 *
 *     for i, k: take = A[i, k] > v[i] or ...               for i: (parallel)
 *               v[i], p[i] = take ? A[i, k], k : v[i], p[i]  =>  for k: (vectors of rivals)
 *
 * Where memory runs along the results (A[k, i]), vectors run over these, each lane with the best of its column. WidenLoop
 * makes the vectors of both.
 */
#include "rules.h"

enum {
    COLUMNS = 1024, /* of a turn: their bests stay in the first cache */
    LEAST_TURNS = 16,
    AHEAD = 2048,         /* elements that are fetched early, */
    AHEAD_FROM = 1 << 16, /* where there are so many that a core's caches may not hold them */
};

typedef struct loads {
    const tn_block *b;
    const tn_expr *along; /* the iterator that memory runs along; NULL: none, or several */
    int64_t lanes;
    bool bad;
    int vector_bytes;
} loads;

static bool
is_result(const tn_block *b, const tn_node *buffer)
{
    for (uint32_t i = 0; i < b->writes.n; i++)
        if (tn_as_buffer_region(b->writes.at[i])->buffer == buffer)
            return true;
    return false;
}

static tn_walk_step
look(void *user, const tn_node *n)
{
    loads *q = user;
    if (n->kind == TN_KIND_CALL) {
        const tn_op *op = tn_call_op_of((const tn_call *)n);
        q->bad |= !op || op->flags & TN_OP_LAZY;
    }
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || l->indices.n == 0 || is_result(q->b, l->buffer))
        return TN_WALK_ON;
    int64_t lanes = cpu_lanes(q->vector_bytes, tn_dtype_of(n));
    q->lanes = lanes < q->lanes ? lanes : q->lanes;
    for (uint32_t k = 0; k < q->b->iters.n; k++) {
        const tn_expr *v = tn_as_iter_var(q->b->iters.at[k])->var;
        if (tn_is_int_const(tn_as_range(tn_as_iter_var(q->b->iters.at[k])->dom)->extent, 1) ||
            !tn_uses(l->indices.at[l->indices.n - 1], v))
            continue;
        q->bad |= q->along && q->along != v;
        q->along = v;
    }
    return TN_WALK_ON;
}

/* The loop over an iterator, which the block's values name. */
static tnk_item *
loop_of(tnk_item *const *l, uint32_t n, const tn_block *b, const tn_expr *v)
{
    for (uint32_t i = 0; i < b->iters.n && n == b->iters.n; i++)
        if (tn_as_iter_var(b->iters.at[i])->var == v)
            return l[i];
    return NULL;
}

static bool
widen(tnk_sch *s, tnk_item *loop, int64_t lanes)
{
    int64_t e;
    if (tnk_loop_extent(loop, &e))
        while (lanes > e && lanes > 4)
            lanes /= 2;
    return lanes < 2 || tnk_annotate(s, loop, "tenon.wide", tn_i64(tnk_sch_ctx(s), lanes));
}

bool
cpu_schedule_choice(tnk_sch *s, tnk_item *block, int vector_bytes)
{
    const tn_block *b = tnk_item_block(block);
    tnk_item *l[CPU_MAX_LOOPS], *order[CPU_MAX_LOOPS], *part[2];
    uint32_t n = tnk_sch_loops(s, block, l, CPU_MAX_LOOPS), k = 0;
    loads q = {.b = b, .lanes = 64, .vector_bytes = vector_bytes};
    if (b->writes.n < 2 || !b->init || n == 0 || n > CPU_MAX_LOOPS - 1 || b->iters.n != n)
        return false;
    tn_walk(b->body, 0, look, NULL, &q);
    tnk_item *wide = q.bad || !q.along ? NULL : loop_of(l, n, b, q.along);
    if (!wide)
        return false;
    bool columns = !tnk_loop_reduces(wide, block);
    int64_t e;
    if (columns && (!tnk_loop_extent(wide, &e) || e < 4))
        return false;
    double elements = 1; /* that are looked at, if all extents are known */
    for (uint32_t i = 0; i < n; i++) {
        int64_t known;
        elements *= tnk_loop_extent(l[i], &known) ? (double)known : 0;
        if (l[i] != wide && !tnk_loop_reduces(l[i], block))
            order[k++] = l[i];
    }
    if (columns && e > COLUMNS) {
        if (!tnk_split_overlap(s, wide, COLUMNS, part))
            return false;
        order[k++] = part[0];
        wide = part[1];
    }
    int64_t best_lanes = q.lanes;
    for (uint32_t i = 0; i < b->writes.n && columns; i++) {
        /* every lane has all results, places as wide as they are */
        tnb_dtype d = tn_as_buffer(tn_as_buffer_region(b->writes.at[i])->buffer)->dtype;
        int64_t own = cpu_lanes(vector_bytes, d);
        q.lanes = own < q.lanes ? own : q.lanes;
    }
    uint32_t outer = k;
    for (uint32_t i = 0; i < n; i++)
        if (l[i] != wide && tnk_loop_reduces(l[i], block))
            order[k++] = l[i];
    order[k++] = wide;
    tnk_item *init;
    if ((k > 1 && !tnk_reorder(s, order, k)) ||
        !(init = tnk_decompose_reduction(s, block, order[outer])))
        return false;
    /* the loop around the columns, where the best of each is found before the results are looked at */
    tnk_item *turns = columns && k >= 2 && tnk_loop_extent(order[k - 2], &e) && e >= LEAST_TURNS &&
                              e >= best_lanes && tnk_loop_extent(wide, &e) && e >= best_lanes
                          ? order[k - 2]
                          : NULL;
    if (!(turns ? widen(s, turns, best_lanes) : widen(s, wide, q.lanes)))
        return false;
    if (!columns && elements >= AHEAD_FROM &&
        !tnk_annotate(s, wide, "tenon.ahead", tn_i64(tnk_sch_ctx(s), AHEAD)))
        return false;
    n = columns ? tnk_sch_loops(s, init, l, CPU_MAX_LOOPS) : 0;
    if (n > 0 && n <= CPU_MAX_LOOPS && !widen(s, l[n - 1], q.lanes))
        return false;
    cpu_parallel_outer(s, order, outer);
    return tnk_sch_ok(s);
}
