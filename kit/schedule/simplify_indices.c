/* SPDX-License-Identifier: Apache-2.0 */
/* simplify_indices: quotients and remainders in the indices of a block's loads become shorter where its iterators' domains
 * allow it. Reshapes that were inlined leave such indices, and a rule that asks how a load walks through memory sees none of
 * it before.
 *
 *     for i in 2, j in 16: B[i, j] = f(A[(j // 16 + i) % 2, j % 16])     =>     B[i, j] = f(A[i, j])
 */
#include "schedule_private.h"

static tn_walk_step
look_for_quotients(void *user, const tn_node *n)
{
    bool *found = user;
    *found |= n->kind == TN_KIND_FLOOR_DIV || n->kind == TN_KIND_FLOOR_MOD;
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_node *
shorter(tn_rewriter *r, const tn_node *n)
{
    tn_arith *a = r->user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l)
        return NULL;
    tn_list indices = l->indices;
    for (uint32_t i = 0; i < indices.n; i++) {
        bool divides = false;
        tn_walk(indices.at[i], 0, look_for_quotients, NULL, &divides);
        const tn_expr *e = divides ? tn_simplify(a, indices.at[i]) : indices.at[i];
        if (e != indices.at[i] && !tn_equal(r->ctx, e, indices.at[i], false, NULL))
            indices = tn_list_with(r->ctx, indices, i, e);
    }
    return indices.at == l->indices.at ? NULL : tn_buffer_load_of(r->ctx, l->buffer, indices);
}

bool
tnk_simplify_indices(tnk_sch *s, tnk_item *block)
{
    if (s->broken)
        return false;
    bool divides = false;
    tn_walk(block->block->body, 0, look_for_quotients, NULL, &divides);
    if (!divides)
        return true;
    tn_arith *a = tnk_sch_arith(s, block);
    tn_block b = *block->block;
    for (uint32_t i = 0; i < b.iters.n; i++) {
        const tn_iter_var *it = tn_as_iter_var(b.iters.at[i]);
        const tn_range *dom = tn_as_range(it->dom);
        tn_arith_range(a, it->var, dom->min, dom->extent);
    }
    tn_rewriter r = {.ctx = s->ctx, .user = a, .post = shorter};
    const tn_stmt *body = tn_rewrite(&r, b.body);
    if (body == b.body)
        return true;
    b.body = body;
    tnk_sch_note(s, "simplify_indices(%s)", tnk_ref(s, block));
    tnk_block_set(s, block, &b);
    return !s->broken;
}
