/* SPDX-License-Identifier: Apache-2.0 */
/* compute_at: a producer moves into a loop of its consumers and computes what one turn reads.
 *
 *     for i: for j: B[i, j] = ...               for i:
 *     for i: for j: C[i, j] = B[i, j]     =>        for j: B[i, j] = ...
 *                                                   for j: C[i, j] = B[i, j]
 */
#include "schedule_private.h"

/* The region's extent in dimension d, bounded by the buffer's; a constant if it can be. NULL: all. */
static const tn_expr *
extent_of(tnk_sch *s, tn_arith *arith, const tnk_touched *n, uint32_t d)
{
    tn_ctx *ctx = s->ctx;
    const tn_expr *one = tn_int_imm_of(ctx, tn_dtype_of(n->lo[d]), 1);
    const tn_expr *e = tn_simplify(arith, tn_add(ctx, tn_sub(ctx, n->hi[d], n->lo[d]), one));
    int64_t lo, hi, v;
    if (tn_int_value(e, &v))
        return e;
    tn_bounds(arith, e, &lo, &hi);
    const tn_expr *whole = tn_as_buffer(n->buffer)->shape.at[d];
    int64_t w;
    if (hi != TN_POS_INF && (!tn_int_value(whole, &w) || hi < w))
        return tn_int_imm_of(ctx, tn_dtype_of(e), hi);
    return NULL;
}

/* Why computing the block later, in `loop`, and some of it again, would give something else; NULL:
 * it does not. What lies behind `loop`, within the loops around both, comes after the block in either
 * place. */
static const char *
disturbed(tnk_sch *s, const tnk_item *block, const tnk_item *loop, const tn_node *result)
{
    tnk_item *all[256];
    uint32_t n = tnk_sch_blocks(s, all, 256), end = 0;
    bool after = false;
    if (n > 256)
        return "the function has too many blocks";
    while (loop->parent && !tnk_item_contains(loop->parent, block))
        loop = loop->parent;
    for (uint32_t i = 0; i < n; i++)
        if (tnk_item_contains(loop, all[i]))
            end = i + 1;
    for (uint32_t i = 0; i < n; i++) {
        after |= all[i] == block;
        for (uint32_t w = 0; w < all[i]->block->writes.n && all[i] != block; w++) {
            const tn_node *written = tn_as_buffer_region(all[i]->block->writes.at[w])->buffer;
            if (written == result)
                return "another block writes the same buffer";
            for (uint32_t r = 0; r < block->block->reads.n && after && i < end; r++)
                if (tn_as_buffer_region(block->block->reads.at[r])->buffer == written)
                    return "what it reads is written again later";
        }
    }
    return NULL;
}

bool
tnk_compute_at(tnk_sch *s, tnk_item *block, tnk_item *loop)
{
    if (s->broken)
        return false;
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    const tn_node *buffer = tnk_block_output(block);
    const tn_buffer_store *st = tnk_block_store(b);
    if (!buffer || !st || tnk_sch_is_param(s, buffer))
        return tnk_sch_fail(s, block, "compute_at",
                            "it does not fill one allocated buffer by one store");
    if (!tn_is_int_const(block->predicate, 1) || tnk_item_contains(loop, block))
        return tnk_sch_fail(s, block, "compute_at",
                            "it is guarded by a predicate or in the loop already");
    const char *why = disturbed(s, block, loop, buffer);
    if (why)
        return tnk_sch_fail(s, block, "compute_at", "%s", why);
    tnk_item *readers[64];
    uint32_t n_readers = tnk_sch_readers(s, buffer, readers, 64), rank = st->indices.n,
             first = UINT32_MAX;
    tn_arith *arith = tnk_sch_arith_in(s, loop);
    tnk_touched n = {.buffer = buffer, .loop = loop, .by_all_threads = true};
    bool known = true;
    for (uint32_t i = 0; i < n_readers && i < 64; i++) {
        if (readers[i] == block)
            continue;
        if (!tnk_item_contains(loop, readers[i]))
            return tnk_sch_fail(s, block, "compute_at",
                                "block '%s' outside of the loop '%s' reads its result",
                                tnk_item_name(readers[i]), tn_var_name(loop->var));
        known &= tnk_touch(s, arith, &n, readers[i], false);
        tnk_item *child = readers[i];
        while (child->parent != loop)
            child = child->parent;
        uint32_t at = tnk_item_index(child);
        first = at < first ? at : first;
    }
    if (n_readers > 64 || !known || !n.any)
        return tnk_sch_fail(s, block, "compute_at",
                            "what the loop '%s' reads of its result is not known",
                            tn_var_name(loop->var));
    /* iterators that the result is indexed by run over the region, the others over their whole
     * domain */
    tnk_move move;
    tnk_move_begin(&move, s, arith, block, false);
    for (int reduce = 0; reduce < 2; reduce++)
        for (uint32_t k = 0; k < b->iters.n; k++) {
            const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
            const tn_range *dom = tn_as_range(iv->dom);
            if ((iv->iter_kind != TN_ITER_SPATIAL) != reduce)
                continue;
            uint32_t dim = rank;
            for (uint32_t i = 0; i < rank; i++)
                dim = st->indices.at[i] == iv->var ? i : dim;
            if (dim == rank && !reduce && !tn_is_int_const(dom->extent, 1))
                return tnk_sch_fail(s, block, "compute_at",
                                    "its iterator '%s' is no index of its result",
                                    tn_var_name(iv->var));
            tnb_dtype d = tn_dtype_of(iv->var);
            const tn_expr *start = dom->min, *extent = dom->extent;
            if (dim < rank) {
                const tn_expr *e = extent_of(s, arith, &n, dim);
                if (e) {
                    start = tn_cast_to(ctx, d, n.lo[dim]);
                    extent = tn_cast_to(ctx, d, e);
                }
            }
            (void)tnk_move_iter(&move, k, start, extent);
        }
    const char *ref = tnk_ref(s, block), *target = tnk_ref(s, loop);
    tnk_move_end(&move, loop, first);
    tnk_sch_note(s, "compute_at(%s, %s)", ref, target);
    return true;
}
