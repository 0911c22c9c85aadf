/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduling one block by itself: the element-wise nest, the reduction nest. */
#include "rules.h"

enum { ENOUGH_TURNS = 64 /* of a parallel loop: more do not balance better */ };

int64_t
cpu_lanes(int vector_bytes, tnb_dtype d)
{
    /* small floats are computed in 32 bits, elements that share a byte one by one */
    if (d.bits < 8)
        return 1;
    int64_t bytes = tnb_dtype_is_bool(d) ? 4 : (int64_t)tnb_dtype_bytes(TNB_DTYPE(d.code, d.bits));
    if (tnb_dtype_is_float(d) && bytes <= 2)
        bytes = 4;
    return bytes > 0 && vector_bytes / bytes > 1 ? vector_bytes / bytes : 1;
}

void
cpu_parallel_outer(tnk_sch *s, tnk_item **loops, uint32_t n)
{
    if (n == 0)
        return;
    tnk_item *l = loops[0];
    int64_t turns = 1, e;
    if (tnk_loop_extent(l, &e))
        turns = e;
    /* an extent that is not known is taken for 1: it often is a batch */
    for (uint32_t i = 1; i < n && turns < ENOUGH_TURNS; i++) {
        l = tnk_fuse(s, l, loops[i]);
        if (!l)
            return;
        turns *= tnk_loop_extent(loops[i], &e) ? e : 1;
    }
    int64_t one;
    if (!tnk_loop_extent(l, &one) || one > 1)
        (void)tnk_set_kind(s, l, TN_FOR_PARALLEL);
}

bool
cpu_is_alone(tnk_sch *s, tnk_item *block)
{
    tnk_item *l[CPU_MAX_LOOPS], *all[CPU_MAX_BLOCKS], *other[CPU_MAX_LOOPS];
    uint32_t n = tnk_sch_loops(s, block, l, CPU_MAX_LOOPS),
             n_blocks = tnk_sch_blocks(s, all, CPU_MAX_BLOCKS);
    if (n == 0 || n > CPU_MAX_LOOPS || n_blocks > CPU_MAX_BLOCKS)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (tnk_loop_kind(l[i]) != TN_FOR_SERIAL)
            return false;
    for (uint32_t i = 0; i < n_blocks; i++)
        if (all[i] != block && tnk_sch_loops(s, all[i], other, CPU_MAX_LOOPS) > 0 &&
            other[0] == l[0])
            return false;
    return true;
}

typedef struct jump {
    tn_ctx *ctx;
    const tn_expr *x;
    bool found;
} jump;

static tn_walk_step
look_for_jumps(void *user, const tn_node *n)
{
    jump *j = user;
    const tn_buffer_load *l = n->kind == TN_KIND_BUFFER_LOAD ? tn_as_buffer_load(n) : NULL;
    j->found |= l && cpu_load_uses(l, j->x) && cpu_step_along(j->ctx, l, j->x) == 0;
    return j->found ? TN_WALK_STOP : TN_WALK_ON;
}

bool
cpu_jumps(tn_ctx *ctx, const tn_block *b)
{
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    jump j = {.ctx = ctx, .x = st && st->indices.n ? st->indices.at[st->indices.n - 1] : NULL};
    if (j.x && tn_is_var(j.x))
        tn_walk(st->value, 0, look_for_jumps, NULL, &j);
    return j.found;
}

void
cpu_schedule_block(tnk_sch *s, tnk_item *block, int vector_bytes)
{
    const tn_block *b = tnk_item_block(block);
    for (uint32_t i = 0; i < b->iters.n; i++) {
        int64_t k = tn_as_iter_var(b->iters.at[i])->iter_kind;
        if (k != TN_ITER_SPATIAL && k != TN_ITER_REDUCE)
            return;
    }
    if (b->iters.n == 0 || b->writes.n == 0 || cpu_schedule_choice(s, block, vector_bytes) ||
        !tnk_sch_ok(s))
        return;
    tnk_item *l[CPU_MAX_LOOPS];
    uint32_t n = tnk_sch_loops(s, block, l, CPU_MAX_LOOPS);
    if (n == 0 || n > CPU_MAX_LOOPS)
        return;
    uint32_t spatial = 0;
    while (spatial < n && !tnk_loop_reduces(l[spatial], block))
        spatial++;
    if (b->init && spatial < n)
        (void)tnk_decompose_reduction(s, block, l[spatial]);
    if (spatial == 0 || !tnk_sch_ok(s))
        return;
    int64_t e, lanes = cpu_lanes(vector_bytes,
                                 tn_as_buffer(tnk_block_output(block)
                                                  ? tnk_block_output(block)
                                                  : tn_as_buffer_region(b->writes.at[0])->buffer)
                                     ->dtype);
    uint32_t outer = spatial;
    bool vector = spatial == n && tnk_block_is_injective(block) && lanes > 1;
    if (vector && tnk_loop_extent(l[n - 1], &e)) {
        tnk_item *part[2];
        if (e > lanes && tnk_split(s, l[n - 1], lanes, part)) {
            (void)tnk_set_kind(s, part[1], TN_FOR_VECTORIZED);
            l[n - 1] = part[0];
        } else if (e > 1 && n > 1) {
            /* with constant lanes the indices are sums; those of vectors would be divided */
            bool scalars = cpu_jumps(tnk_sch_ctx(s), tnk_item_block(block));
            (void)tnk_set_kind(s, l[n - 1], scalars ? TN_FOR_UNROLLED : TN_FOR_VECTORIZED);
            outer--;
        }
    }
    if (tnk_sch_ok(s))
        cpu_parallel_outer(s, l, outer);
}
