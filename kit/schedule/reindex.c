/* SPDX-License-Identifier: Apache-2.0 */
/* reindex: a block accesses a buffer through a copy that is indexed by the block's own iterators.
 *
 *     C[vi, vj] += A[vj + vi * 8] * B[vk]     =>     A_reindex[vi, vj] = A[vj + vi * 8]
 *                                                    C[vi, vj] += A_reindex[vi, vj] * B[vk]
 */
#include "schedule_private.h"

typedef struct access_search {
    tn_ctx *ctx;
    const tn_node *buffer;
    bool stores, differ, any;
    tn_list indices;
} access_search;

static tn_walk_step
find_access(void *user, const tn_node *n)
{
    access_search *f = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *st = tn_as_buffer_store(n);
    bool hit = (l && l->buffer == f->buffer) || (st && st->buffer == f->buffer);
    if (!hit)
        return TN_WALK_ON;
    tn_list idx = l ? l->indices : st->indices;
    if (!f->any)
        f->indices = idx;
    f->any = true;
    for (uint32_t i = 0; i < idx.n; i++)
        f->differ |= !tn_equal(f->ctx, idx.at[i], f->indices.at[i], false, NULL);
    return TN_WALK_ON;
}

typedef struct exchange {
    const tn_node *from, *to;
    tn_list indices;
} exchange;

static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    const exchange *x = r->user;
    if (n->kind == TN_KIND_BUFFER_LOAD && ((const tn_buffer_load *)n)->buffer == x->from)
        return tn_buffer_load_of(r->ctx, x->to, x->indices);
    if (n->kind == TN_KIND_BUFFER_STORE && ((const tn_buffer_store *)n)->buffer == x->from)
        return tn_buffer_store_of(r->ctx, x->to, ((const tn_buffer_store *)n)->value, x->indices);
    return NULL;
}

tnk_item *
tnk_reindex(tnk_sch *s, tnk_item *block, const tn_node *buffer)
{
    static const char me[] = "reindex";
    if (s->broken)
        return NULL;
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    const char *name = tn_as_buffer(buffer)->name;
    bool writes = false;
    for (uint32_t i = 0; i < b->writes.n; i++)
        writes |= tn_as_buffer_region(b->writes.at[i])->buffer == buffer;
    access_search f = {.ctx = ctx, .buffer = buffer};
    tn_walk(b->body, 0, find_access, NULL, &f);
    if (b->init)
        tn_walk(b->init, 0, find_access, NULL, &f);
    if (!f.any || b->match_buffers.n) {
        tnk_sch_fail(s, block, me, "it does not access '%s', or matches a part of it", name);
        return NULL;
    }
    if (f.differ) {
        tnk_sch_fail(s, block, me, "it accesses several elements of '%s' at a time", name);
        return NULL;
    }
    if (tn_is(b->body, TN_KIND_FOR) || tn_is(b->body, TN_KIND_SEQ)) {
        tnk_sch_fail(s, block, me, "its body is more than one store");
        return NULL;
    }
    tnk_item *top = block, *all[256], *writer = NULL;
    while (top->parent->kind == TNK_ITEM_LOOP)
        top = top->parent;
    uint32_t n = tnk_sch_blocks(s, all, 256);
    bool seen = false;
    for (uint32_t i = 0; i < n && i < 256; i++) {
        seen |= all[i] == block;
        for (uint32_t w = 0; w < all[i]->block->writes.n; w++)
            if (all[i] != block &&
                tn_as_buffer_region(all[i]->block->writes.at[w])->buffer == buffer &&
                (writes || seen || tnk_item_contains(top, all[i])))
                writer = all[i];
        for (uint32_t r = 0; r < all[i]->block->reads.n && writes; r++)
            if (all[i] != block &&
                tn_as_buffer_region(all[i]->block->reads.at[r])->buffer == buffer &&
                tnk_item_contains(top, all[i]))
                writer = all[i];
    }
    if (n > 256 || writer) {
        tnk_sch_fail(s, block, me, "block '%s' writes '%s' too, or uses it in the same nest",
                     writer ? tnk_item_name(writer) : "?", name);
        return NULL;
    }
    /* the iterators in the indices, in the block's order; of others one turn counts for the buffer */
    tn_list shape = {0}, idx = {0}, iters = {0}, inside = {0};
    const tn_expr *vars[64], *extents[64];
    tnk_item *copy = tnk_item_new(s, TNK_ITEM_BLOCK, NULL), *nest = copy, *at = NULL;
    copy->loc = block->loc;
    copy->values = TNB_NEW_N(tn_arena(ctx), const tn_expr *, b->iters.n + 1);
    copy->predicate = tn_bool(ctx, true);
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    uint32_t m = 0;
    for (uint32_t k = 0; k < b->iters.n && m < 64; k++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[k]);
        const tn_range *dom = tn_as_range(iv->dom);
        bool used = false;
        for (uint32_t i = 0; i < f.indices.n; i++)
            used |= tn_uses(f.indices.at[i], iv->var);
        if (!used && writes && iv->iter_kind == TN_ITER_SPATIAL &&
            !tn_is_int_const(dom->extent, 1)) {
            tnk_sch_fail(s, block, me, "its result does not have the iterator '%s'",
                         tn_var_name(iv->var));
            return NULL;
        }
        if (!used)
            continue;
        if (!tn_is_int_const(dom->min, 0)) {
            tnk_sch_fail(s, block, me, "its iterator '%s' does not begin at 0",
                         tn_var_name(iv->var));
            return NULL;
        }
        tnb_dtype d = tn_dtype_of(iv->var);
        tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, NULL);
        l->loc = block->loc;
        l->var = tn_var_dtype(ctx, tn_strf(ctx, "ax%u", m), d);
        l->min = tn_int_imm_of(ctx, d, 0);
        l->extent = dom->extent;
        const tn_expr *v = tn_var_dtype(ctx, tn_strf(ctx, "v%u", m), d);
        vars[m] = iv->var;
        extents[m] = dom->extent;
        copy->values[m++] = l->var;
        tnb_ptrmap_set(&map, iv->var, v);
        shape = tn_list_append(ctx, shape, dom->extent);
        idx = tn_list_append(ctx, idx, v);
        inside = tn_list_append(ctx, inside, iv->var);
        iters = tn_list_append(ctx, iters,
                               tn_iter_var_of(ctx, tn_range_of(ctx, l->min, l->extent), v,
                                              TN_ITER_SPATIAL, NULL));
        if (at)
            tnk_item_insert(s, at, 0, l);
        else
            nest = l;
        at = l;
    }
    tn_arith *in = tn_arith_new(ctx);
    for (uint32_t k = 0; k < s->sizes.n; k++)
        tn_arith_shape_var(in, s->sizes.at[k]);
    for (uint32_t k = 0; k < m; k++)
        tn_arith_range(in, vars[k], tn_int_imm_of(ctx, tn_dtype_of(vars[k]), 0), extents[k]);
    for (uint32_t i = 0; i < f.indices.n; i++) {
        const tn_expr *e = f.indices.at[i], *zero = tn_int_imm_of(ctx, tn_dtype_of(e), 0);
        if (!tn_prove(in, tn_ge_of(ctx, e, zero)) ||
            !tn_prove(in, tn_lt_of(ctx, e, tn_as_buffer(buffer)->shape.at[i]))) {
            tnk_sch_fail(s, block, me,
                         "an index may lie outside of '%s' where the block does not access it",
                         name);
            return NULL;
        }
    }
    if (writes && !tn_is_int_const(block->predicate, 1)) {
        tnk_sch_fail(s, block, me, "it is guarded by a predicate");
        return NULL;
    }
    if (writes) { /* every element of the result once */
        tn_arith *a = tn_arith_new(ctx);
        for (uint32_t k = 0; k < s->sizes.n; k++)
            tn_arith_shape_var(a, s->sizes.at[k]);
        bool plain = true;
        for (uint32_t i = 0; i < f.indices.n; i++)
            for (uint32_t k = 0; k < i; k++)
                plain &= f.indices.at[i] != f.indices.at[k];
        for (uint32_t i = 0; i < f.indices.n; i++)
            plain &= tn_is_var(f.indices.at[i]) || tn_is(f.indices.at[i], TN_KIND_INT_IMM);
        if (!plain && !tn_iter_map_check(a, f.indices.at, f.indices.n, vars, extents, m,
                                         tn_bool(ctx, true), true)) {
            tnk_sch_fail(s, block, me, "it may store an element of '%s' twice", name);
            return NULL;
        }
    }
    if (at)
        tnk_item_insert(s, at, 0, copy);
    const char *ref = tnk_ref(s, block), *buffer_ref = tnk_ref_buffer(s, block, buffer);
    const tn_node *to = tn_buffer_new(ctx, tn_strf(ctx, "%s_reindex", name), shape,
                                      tn_as_buffer(buffer)->dtype, NULL);
    tn_list there = f.indices;
    for (uint32_t i = 0; i < there.n; i++)
        there = tn_list_with(ctx, there, i, tn_subst(ctx, there.at[i], &map));
    tn_block fields = {.name = tn_strf(ctx, "%s_reindex", name), .iters = iters};
    fields.body = writes ? tn_buffer_store_of(ctx, buffer, tn_buffer_load_of(ctx, to, idx), there)
                         : tn_buffer_store_of(ctx, to, tn_buffer_load_of(ctx, buffer, there), idx);
    TNB_PUSH(tn_arena(ctx), s->allocs, to);
    exchange x = {buffer, to, inside};
    tn_rewriter r = {.ctx = ctx, .user = &x, .post = replace};
    tn_block mine = *b;
    mine.body = tn_rewrite(&r, b->body);
    mine.init = b->init ? tn_rewrite(&r, b->init) : NULL;
    tnk_block_set(s, copy, &fields);
    tnk_block_set(s, block, &mine);
    tnk_item_insert(s, top->parent, tnk_item_index(top) + writes, nest);
    tnk_sch_note(s, "reindex(%s, %s)", ref, buffer_ref);
    return s->broken ? NULL : copy;
}
