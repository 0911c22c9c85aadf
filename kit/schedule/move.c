/* SPDX-License-Identifier: Apache-2.0 */
/* What compute_at and reverse_compute_at share: a block leaves its place and gets loops of its own, over
 * ranges of its iterators, in another loop.
 *
 *     for i: for j: B[i, j] = ...      =>      for p: for vi_i: for vj_i: B[start + vi_i, vj_i] = ...
 */
#include "schedule_private.h"

void
tnk_move_begin(tnk_move *m, tnk_sch *s, tn_arith *arith, tnk_item *block, bool hide_units)
{
    *m = (tnk_move){.s = s,
                    .arith = arith,
                    .block = block,
                    .hide_units = hide_units,
                    .predicate = tn_bool(s->ctx, true)};
    m->values = TNB_NEW_N(tn_arena(s->ctx), const tn_expr *, block->block->iters.n + 1);
}

tnk_item *
tnk_move_iter(tnk_move *m, uint32_t k, const tn_expr *start, const tn_expr *extent)
{
    tn_ctx *ctx = m->s->ctx;
    const tn_iter_var *iv = tn_as_iter_var(m->block->block->iters.at[k]);
    const tn_range *dom = tn_as_range(iv->dom);
    tnb_dtype d = tn_dtype_of(iv->var);
    tnk_item *l = tnk_item_new(m->s, TNK_ITEM_LOOP, NULL);
    l->loc = m->block->loc;
    l->var = tn_var_dtype(ctx, tn_strf(ctx, "%s_i", tn_var_name(iv->var)), d);
    l->min = tn_int_imm_of(ctx, d, 0);
    l->extent = extent;
    /* ORDER: once its range is known, a loop of one turn vanishes from the value */
    if (m->hide_units)
        tn_arith_range(m->arith, l->var, l->min, l->extent);
    m->values[k] = tn_simplify(m->arith, tn_add(ctx, start, l->var));
    if (!m->hide_units)
        tn_arith_range(m->arith, l->var, l->min, l->extent);
    const tn_expr *bounds[2] = {tn_lt_of(ctx, m->values[k], tn_add(ctx, dom->min, dom->extent)),
                                tn_ge_of(ctx, m->values[k], dom->min)};
    for (int i = 0; i < 2; i++)
        if (!tn_prove(m->arith, bounds[i]))
            m->predicate = tn_is_int_const(m->predicate, 1)
                               ? bounds[i]
                               : tn_and_of(ctx, m->predicate, bounds[i]);
    if (m->innermost)
        tnk_item_insert(m->s, m->innermost, 0, l);
    else
        m->top = l;
    m->innermost = l;
    return l;
}

void
tnk_move_end(tnk_move *m, tnk_item *loop, uint32_t at)
{
    tnk_sch *s = m->s;
    tnk_item *block = m->block;
    /* in the block's old place until its loops are removed */
    tnk_item *hole = tnk_item_new(s, TNK_ITEM_BLOCK, NULL);
    tnk_item_replace(block, hole);
    block->values = m->values;
    block->predicate = m->predicate;
    if (m->innermost)
        tnk_item_insert(s, m->innermost, 0, block);
    else
        m->top = block;
    tnk_item_insert(s, loop, at, m->top);
    tnk_item_remove(hole);
}
