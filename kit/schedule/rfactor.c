/* SPDX-License-Identifier: Apache-2.0 */
/* rfactor: the turns of a loop reduce for themselves, and a second block joins their results.
 *
 *     for i: for k0: for k1:                      for i: for k0: for k1:   rf block, k1 is spatial
 *         C[i] += A[i, k0 * 8 + k1]      =>           C_rf[k1, i] += A[i, k0 * 8 + k1]
 *                                                 for i: for k1:           the block given, as it goes on
 *                                                     C[i] += C_rf[k1, i]
 */
#include "schedule_private.h"

enum { MAX_LOOPS = 64 };

static bool
uses(const tnk_item *b, const tn_expr *var, bool reduce)
{
    for (uint32_t k = 0; k < b->block->iters.n; k++)
        if ((tn_as_iter_var(b->block->iters.at[k])->iter_kind != TN_ITER_SPATIAL) == reduce &&
            tn_uses(b->values[k], var))
            return true;
    return false;
}

static tn_list
with_index(tn_ctx *ctx, tn_list l, uint32_t at, const tn_node *x)
{
    tn_list out = {0};
    for (uint32_t i = 0; i <= l.n; i++) {
        if (i == at)
            out = tn_list_append(ctx, out, x);
        if (i < l.n)
            out = tn_list_append(ctx, out, l.at[i]);
    }
    return out;
}

tnk_item *
tnk_rfactor(tnk_sch *s, tnk_item *loop, int factor_axis)
{
    static const char me[] = "rfactor";
    if (s->broken)
        return NULL;
    tn_ctx *ctx = s->ctx;
    tnk_item *block = loop;
    while (block->kind == TNK_ITEM_LOOP && block->children.n == 1)
        block = block->children.at[0];
    if (block->kind != TNK_ITEM_BLOCK) {
        tnk_sch_fail(s, loop, me, "it holds more than one block");
        return NULL;
    }
    tnk_reducer red;
    if (!tnk_block_reducer(s, block, &red)) {
        tnk_sch_fail(s, block, me,
                     "it does not reduce by add, mul, min or max with its init inside");
        return NULL;
    }
    const tn_block *b = block->block;
    uint32_t rank = red.store->indices.n;
    int axis = factor_axis < 0 ? factor_axis + (int)rank + 1 : factor_axis;
    if (axis < 0 || axis > (int)rank) {
        tnk_sch_fail(s, loop, me, "the result with one more dimension has no axis %d", factor_axis);
        return NULL;
    }
    if (!uses(block, loop->var, true) || uses(block, loop->var, false)) {
        tnk_sch_fail(s, loop, me, "it does not reduce, or not only");
        return NULL;
    }
    if (loop->for_kind != TN_FOR_SERIAL) {
        tnk_sch_fail(s, loop, me, "it is bound, parallel, vectorized or unrolled already");
        return NULL;
    }
    if (!tn_is_int_const(loop->min, 0)) {
        tnk_sch_fail(s, loop, me, "it does not begin at 0");
        return NULL;
    }
    for (const tnk_item *p = loop->parent; p && p->kind == TNK_ITEM_LOOP; p = p->parent)
        if (tn_uses(loop->extent, p->var)) {
            tnk_sch_fail(s, loop, me, "its extent depends on '%s'", tn_var_name(p->var));
            return NULL;
        }
    /* the loops that the block has for itself, outermost first */
    tnk_item *chain[MAX_LOOPS], *top = block;
    uint32_t n = 0;
    for (tnk_item *p = block->parent;
         p && p->kind == TNK_ITEM_LOOP && p->children.n == 1 && n < MAX_LOOPS; p = p->parent)
        chain[n++] = top = p;
    for (uint32_t i = 0; i < n / 2; i++) {
        tnk_item *t = chain[i];
        chain[i] = chain[n - 1 - i];
        chain[n - 1 - i] = t;
    }
    for (const tnk_item *p = top->parent; p && p->kind == TNK_ITEM_LOOP; p = p->parent)
        if (uses(block, p->var, true)) {
            tnk_sch_fail(s, loop, me,
                         "the loop '%s' further out reduces too, and holds other blocks",
                         tn_var_name(p->var));
            return NULL;
        }
    for (uint32_t i = 0; i < n; i++)
        if (uses(block, chain[i]->var, true) &&
            (uses(block, chain[i]->var, false) || chain[i]->for_kind == TN_FOR_THREAD_BINDING ||
             !tn_is_int_const(chain[i]->min, 0))) {
            tnk_sch_fail(s, chain[i], me,
                         "it reduces and is spatial, or bound, or does not begin at 0");
            return NULL;
        }
    /* what of the predicate concerns reducing loops goes into the value: results of turns without an
     * element are neutral */
    const tn_expr *keep = NULL, *masked = NULL, *rest = block->predicate;
    while (rest) {
        const tn_expr *one = tn_is(rest, TN_KIND_AND) ? tn_as_binary(rest)->b : rest;
        rest = tn_is(rest, TN_KIND_AND) ? tn_as_binary(rest)->a : NULL;
        bool reduces = false, spatial = false, idle = false;
        for (uint32_t i = 0; i < n; i++) {
            reduces |= uses(block, chain[i]->var, true) && tn_uses(one, chain[i]->var);
            spatial |= uses(block, chain[i]->var, false) && tn_uses(one, chain[i]->var);
            idle |= !uses(block, chain[i]->var, false) && !uses(block, chain[i]->var, true) &&
                    tn_uses(one, chain[i]->var);
        }
        if (idle || (reduces && spatial)) {
            tnk_sch_fail(s, block, me, "its predicate has %s",
                         idle ? "a loop that none of its iterators uses"
                              : "spatial and reducing loops in one condition");
            return NULL;
        }
        if (tn_is_int_const(one, 1))
            continue;
        if (reduces)
            masked = tn_and(ctx, one, masked);
        else
            keep = tn_and(ctx, one, keep);
    }
    const char *ref = tnk_ref(s, loop);

    /* the buffer of the turns' results */
    const tn_buffer *c = tn_as_buffer(red.store->buffer);
    tnb_dtype d = tn_dtype_of(loop->var);
    tn_list shape = with_index(ctx, c->shape, (uint32_t)axis, loop->extent);
    const tn_node *part = tn_buffer_new(ctx, tn_strf(ctx, "%s_rf", c->name), shape, c->dtype, NULL);
    TNB_PUSH(tn_arena(ctx), s->allocs, part);

    /* the rf block stays in the loops; each reducing loop is an iterator of it */
    tnk_item *rf = tnk_item_new(s, TNK_ITEM_BLOCK, NULL);
    rf->loc = block->loc;
    rf->values = TNB_NEW_N(tn_arena(ctx), const tn_expr *, b->iters.n + n + 1);
    rf->predicate = keep ? keep : tn_bool(ctx, true);
    tnb_ptrmap loops, old;
    tnb_ptrmap_init(&loops, tn_scratch(ctx));
    tnb_ptrmap_init(&old, tn_scratch(ctx));
    tn_list iters = {0};
    uint32_t count = 0;
    const tn_expr *turn = NULL;
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        if (iv->iter_kind != TN_ITER_SPATIAL)
            continue;
        const tn_expr *v = tn_var_dtype(ctx, tn_var_name(iv->var), tn_dtype_of(iv->var));
        tnb_ptrmap_set(&old, iv->var, v);
        rf->values[count++] = block->values[k];
        iters = tn_list_append(ctx, iters, tn_iter_var_of(ctx, iv->dom, v, TN_ITER_SPATIAL, NULL));
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!uses(block, chain[i]->var, true))
            continue;
        tnb_dtype t = tn_dtype_of(chain[i]->var);
        const tn_expr *v = tn_var_dtype(ctx, tn_strf(ctx, "v%s", tn_var_name(chain[i]->var)), t);
        turn = chain[i] == loop ? v : turn;
        tnb_ptrmap_set(&loops, chain[i]->var, v);
        rf->values[count++] = chain[i]->var;
        iters =
            tn_list_append(ctx, iters,
                           tn_iter_var_of(ctx, tn_range_of(ctx, chain[i]->min, chain[i]->extent), v,
                                          chain[i] == loop ? TN_ITER_SPATIAL : TN_ITER_REDUCE,
                                          NULL));
    }
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        if (iv->iter_kind != TN_ITER_SPATIAL)
            tnb_ptrmap_set(&old, iv->var,
                           tn_cast_to(ctx, tn_dtype_of(iv->var),
                                      tn_subst(ctx, block->values[k], &loops)));
    }
    tn_list at = {0};
    for (uint32_t i = 0; i < rank; i++)
        at = tn_list_append(ctx, at, tn_subst(ctx, red.store->indices.at[i], &old));
    at = with_index(ctx, at, (uint32_t)axis, turn);
    const tn_expr *value = tn_subst(ctx, red.value, &old),
                  *identity = tn_subst(ctx, red.identity, &old);
    if (masked)
        value = tn_if_then_else(ctx, tn_subst(ctx, masked, &loops), value, identity);
    tn_block fields = {.name = tn_strf(ctx, "%s_rf", b->name),
                       .iters = iters,
                       .annotations = b->annotations,
                       .init = tn_buffer_store_of(ctx, part, identity, at),
                       .body = tn_buffer_store_of(ctx, part,
                                                  tn_bin(ctx, red.op,
                                                         tn_buffer_load_of(ctx, part, at), value),
                                                  at)};
    bool still_reduces = false;
    for (uint32_t k = 0; k < iters.n; k++)
        still_reduces |= tn_as_iter_var(iters.at[k])->iter_kind == TN_ITER_REDUCE;
    if (!still_reduces) { /* each turn has one element */
        fields.init = NULL;
        fields.body = tn_buffer_store_of(ctx, part, value, at);
    }
    tnk_item_replace(block, rf);
    tnk_block_set(s, rf, &fields);

    /* the block given joins the turns, in spatial loops of its own */
    tnk_item *nest = NULL, *inner = NULL;
    tnb_ptrmap fresh;
    tnb_ptrmap_init(&fresh, tn_scratch(ctx));
    for (uint32_t i = 0; i < n; i++) {
        if (chain[i] != loop && !uses(rf, chain[i]->var, false))
            continue;
        tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, NULL);
        l->loc = chain[i]->loc;
        l->var = tn_var_dtype(ctx, tn_var_name(chain[i]->var), tn_dtype_of(chain[i]->var));
        l->min = tn_subst(ctx, chain[i]->min, &fresh);
        l->extent = tn_subst(ctx, chain[i]->extent, &fresh);
        l->for_kind = chain[i]->for_kind;
        l->thread_tag = chain[i]->thread_tag;
        tnb_ptrmap_set(&fresh, chain[i]->var, l->var);
        if (inner)
            tnk_item_insert(s, inner, 0, l);
        else
            nest = l;
        inner = l;
    }
    const tn_expr *joined = tn_var_dtype(ctx, tn_strf(ctx, "v%s", tn_var_name(loop->var)), d);
    const tn_expr **values = TNB_NEW_N(tn_arena(ctx), const tn_expr *, b->iters.n + 1);
    iters = (tn_list){0};
    for (uint32_t k = 0; k < b->iters.n; k++) {
        if (tn_as_iter_var(b->iters.at[k])->iter_kind != TN_ITER_SPATIAL)
            continue;
        values[iters.n] = tn_subst(ctx, block->values[k], &fresh);
        iters = tn_list_append(ctx, iters, b->iters.at[k]);
    }
    values[iters.n] = tn_subst(ctx, loop->var, &fresh);
    iters = tn_list_append(ctx, iters,
                           tn_iter_var_of(ctx, tn_range_of(ctx, loop->min, loop->extent), joined,
                                          TN_ITER_REDUCE, NULL));
    tn_list idx = red.store->indices;
    tn_block join = {.name = b->name,
                     .iters = iters,
                     .annotations = b->annotations,
                     .init = b->init,
                     .body = tn_buffer_store_of(
                         ctx, red.store->buffer,
                         tn_bin(ctx, red.op, tn_buffer_load_of(ctx, red.store->buffer, idx),
                                tn_buffer_load_of(ctx, part,
                                                  with_index(ctx, idx, (uint32_t)axis, joined))),
                         idx)};
    block->values = values;
    block->predicate = keep ? tn_subst(ctx, keep, &fresh) : tn_bool(ctx, true);
    tnk_item_insert(s, inner, 0, block);
    tnk_block_set(s, block, &join);
    tnk_item_insert(s, top->parent, tnk_item_index(top) + 1, nest);
    tnk_sch_note(s, "rfactor(%s, %d)", ref, factor_axis);
    return s->broken ? NULL : rf;
}
