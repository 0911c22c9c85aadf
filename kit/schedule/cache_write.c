/* SPDX-License-Identifier: Apache-2.0 */
/* cache_write, cache_read, set_scope: where results of a block go first, where its operands come from.
 *
 *     C[vi, vj] += ...         =>      C_local[vi, vj] += ...
 *                                      C[v0, v1] = C_local[v0, v1]
 */
#include "schedule_private.h"
#include "tenon/kit/lower.h"

typedef struct swap {
    const tn_node *from, *to;
    const uint32_t *perm; /* dimension i of `to` is dimension perm[i] of `from`; NULL: the same */
    bool loads_only;
} swap;

static tn_list
permuted(tn_ctx *ctx, tn_list l, const uint32_t *perm)
{
    tn_list out = l;
    for (uint32_t i = 0; perm && i < l.n; i++)
        out = tn_list_with(ctx, out, i, l.at[perm[i]]);
    return out;
}

static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    const swap *w = r->user;
    if (n->kind == TN_KIND_BUFFER_LOAD && ((const tn_buffer_load *)n)->buffer == w->from)
        return tn_buffer_load_of(r->ctx, w->to,
                                 permuted(r->ctx, ((const tn_buffer_load *)n)->indices, w->perm));
    if (!w->loads_only && n->kind == TN_KIND_BUFFER_STORE &&
        ((const tn_buffer_store *)n)->buffer == w->from)
        return tn_buffer_store_of(r->ctx, w->to, ((const tn_buffer_store *)n)->value,
                                  ((const tn_buffer_store *)n)->indices);
    if (n->kind == TN_KIND_BUFFER_REGION && tn_as_buffer_region(n)->buffer == w->from)
        return tn_buffer_region_of(r->ctx, w->to,
                                   permuted(r->ctx, tn_as_buffer_region(n)->ranges, w->perm));
    return NULL;
}

static void
swap_buffer(tnk_sch *s, tnk_item *i, swap w)
{
    tn_rewriter r = {.ctx = s->ctx, .user = &w, .post = replace};
    const tn_block *b = tn_as_block(tn_rewrite(&r, TN_NODE(i->block)));
    if (b && b != i->block)
        tnk_block_set(s, i, b);
}

static tn_walk_step
find_match(void *user, const tn_node *n)
{
    const tn_match_buffer *m = tn_as_match_buffer(n);
    return m && tn_as_buffer_region(m->source)->buffer == user ? TN_WALK_STOP : TN_WALK_ON;
}

bool
tnk_block_matches(const tn_block *b, const tn_node *buffer)
{
    return !tn_walk(TN_NODE(b), 0, find_match, NULL, (void *)(uintptr_t)buffer);
}

bool
tnk_block_writes(const tn_block *b, const tn_node *buffer)
{
    for (uint32_t w = 0; w < b->writes.n; w++)
        if (tn_as_buffer_region(b->writes.at[w])->buffer == buffer)
            return true;
    return false;
}

/* A nest of loops over the shape of `to` around a block that copies `from` to it. */
static tnk_item *
copy_nest(tnk_sch *s, const tn_node *from, const tn_node *to, const uint32_t *perm,
          const char *name, tnk_item **block)
{
    tn_ctx *ctx = s->ctx;
    const tn_buffer *b = tn_as_buffer(to);
    tnk_item *top = NULL, *at = NULL;
    tn_list iters = {0}, idx = {0};
    *block = tnk_item_new(s, TNK_ITEM_BLOCK, NULL);
    (*block)->values = TNB_NEW_N(tn_arena(ctx), const tn_expr *, b->shape.n + 1);
    (*block)->predicate = tn_bool(ctx, true);
    for (uint32_t i = 0; i < b->shape.n; i++) {
        tnb_dtype d = tn_dtype_of(b->shape.at[i]);
        tnk_item *l = tnk_item_new(s, TNK_ITEM_LOOP, NULL);
        l->var = tn_var_dtype(ctx, tn_strf(ctx, "ax%u", i), d);
        l->min = tn_int_imm_of(ctx, d, 0);
        l->extent = b->shape.at[i];
        const tn_expr *v = tn_var_dtype(ctx, tn_strf(ctx, "v%u", i), d);
        iters = tn_list_append(ctx, iters,
                               tn_iter_var_of(ctx, tn_range_of(ctx, l->min, l->extent), v,
                                              TN_ITER_SPATIAL, NULL));
        idx = tn_list_append(ctx, idx, v);
        (*block)->values[i] = l->var;
        if (at)
            tnk_item_insert(s, at, 0, l);
        else
            top = l;
        at = l;
    }
    if (at)
        tnk_item_insert(s, at, 0, *block);
    else
        top = *block;
    tn_list source = idx;
    for (uint32_t i = 0; perm && i < idx.n; i++)
        source = tn_list_with(ctx, source, perm[i], idx.at[i]);
    tn_block fields = {.name = tn_str(ctx, name),
                       .iters = iters,
                       .body =
                           tn_buffer_store_of(ctx, to, tn_buffer_load_of(ctx, from, source), idx)};
    tnk_block_set(s, *block, &fields);
    return top;
}

bool
tnk_block_fills(tnk_sch *s, const tnk_item *block, const tn_node *buffer)
{
    const tn_buffer_store *all[TNK_MAX_RESULTS], *st = NULL;
    uint32_t n = tnk_stores_of(s->ctx, block->block->body, all);
    tn_list iters = block->block->iters;
    tn_arith *a = tn_arith_new(s->ctx);
    for (uint32_t i = 0; i < n; i++)
        st = all[i]->buffer == buffer ? all[i] : st;
    for (uint32_t i = 0; st && i < st->indices.n; i++) {
        const tn_expr *extent = tn_as_buffer(st->buffer)->shape.at[i];
        bool whole = tn_is_int_const(st->indices.at[i], 0) && tn_is_int_const(extent, 1);
        for (uint32_t k = 0; k < iters.n && !whole; k++) {
            const tn_iter_var *iv = tn_as_iter_var(iters.at[k]);
            const tn_range *dom = tn_as_range(iv->dom);
            whole = iv->var == st->indices.at[i] && tn_is_int_const(dom->min, 0) &&
                    tn_prove_eq(a, dom->extent, extent);
        }
        if (!whole)
            return false;
    }
    return st != NULL;
}

tnk_item *
tnk_cache_write(tnk_sch *s, tnk_item *block, const char *scope)
{
    if (s->broken)
        return NULL;
    const tn_node *to = tnk_block_output(block);
    if (!to) {
        tnk_sch_fail(s, block, "cache_write", "it writes several buffers");
        return NULL;
    }
    tnk_item *all[256];
    uint32_t n = tnk_sch_blocks(s, all, 256), writers = 0;
    for (uint32_t i = 0; i < n && i < 256; i++)
        for (uint32_t w = 0; w < all[i]->block->writes.n; w++)
            writers += tn_as_buffer_region(all[i]->block->writes.at[w])->buffer == to;
    if (n > 256 || writers != 1) {
        tnk_sch_fail(s, block, "cache_write", "another block writes the same buffer");
        return NULL;
    }
    if (!tnk_block_fills(s, block, to)) {
        tnk_sch_fail(s, block, "cache_write", "it does not store every element of its result");
        return NULL;
    }
    tnk_item *top = block;
    while (top->parent->kind == TNK_ITEM_LOOP)
        top = top->parent;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t r = 0; r < all[i]->block->reads.n; r++)
            if (all[i] != block && tnk_item_contains(top, all[i]) &&
                tn_as_buffer_region(all[i]->block->reads.at[r])->buffer == to) {
                tnk_sch_fail(s, block, "cache_write", "block '%s' in the same nest reads it",
                             tnk_item_name(all[i]));
                return NULL;
            }
    const char *ref = tnk_ref(s, block);
    const tn_buffer *b = tn_as_buffer(to);
    const tn_node *local =
        tn_buffer_new(s->ctx, tn_strf(s->ctx, "%s_%s", b->name, scope), b->shape, b->dtype, scope);
    swap_buffer(s, block, (swap){.from = to, .to = local});
    TNB_PUSH(tn_arena(s->ctx), s->allocs, local);
    tnk_item *copy;
    tnk_item *nest = copy_nest(s, local, to, NULL, tn_strf(s->ctx, "%s_%s", b->name, scope), &copy);
    tnk_item_insert(s, s->root, tnk_item_index(top) + 1, nest);
    tnk_sch_note(s, "cache_write(%s, \"%s\")", ref, scope);
    return s->broken ? NULL : copy;
}

tnk_item *
tnk_cache_read(tnk_sch *s, tnk_item *block, const tn_node *buffer, const char *scope,
               const uint32_t *perm)
{
    if (s->broken)
        return NULL;
    tnk_item *all[256], *writer = tnk_sch_writer(s, buffer);
    uint32_t n = tnk_sch_blocks(s, all, 256), at_writer = 0, at_block = 0;
    for (uint32_t i = 0; i < n && i < 256; i++) {
        at_writer = all[i] == writer ? i + 1 : at_writer;
        at_block = all[i] == block ? i + 1 : at_block;
    }
    if (n > 256 || at_writer >= at_block) {
        tnk_sch_fail(s, block, "cache_read", "'%s' is not complete before it",
                     tn_as_buffer(buffer)->name);
        return NULL;
    }
    const tn_buffer *b = tn_as_buffer(buffer);
    if (tnk_block_matches(block->block, buffer) &&
        (perm || (scope && *scope && strcmp(scope, "global")) ||
         tnk_block_writes(block->block, buffer))) {
        tnk_sch_fail(s, block, "cache_read",
                     "it matches a part of '%s', which it writes, or whose scope or order of "
                     "dimensions would change",
                     b->name);
        return NULL;
    }
    const char *ref = tnk_ref(s, block), *buffer_ref = tnk_ref_buffer(s, block, buffer),
               *order = "";
    for (uint32_t i = 0; perm && i < b->shape.n; i++)
        order = tn_strf(s->ctx, "%s%s%u%s", order, i ? ", " : ", [", perm[i],
                        i + 1 < b->shape.n ? "" : "]");
    const char *name = tn_strf(s->ctx, "%s_%s", b->name, *scope ? scope : "copy");
    const tn_node *copy_of =
        tn_buffer_new(s->ctx, name, permuted(s->ctx, b->shape, perm), b->dtype, scope);
    tnk_item *top = block, *copy;
    while (top->parent->kind == TNK_ITEM_LOOP)
        top = top->parent;
    for (tnk_item *w = writer; w; w = w->parent)
        if (w == top) {
            tnk_sch_fail(s, block, "cache_read", "'%s' is written in the same nest", b->name);
            return NULL;
        }
    swap_buffer(s, block, (swap){.from = buffer, .to = copy_of, .perm = perm, .loads_only = true});
    TNB_PUSH(tn_arena(s->ctx), s->allocs, copy_of);
    tnk_item *nest = copy_nest(s, buffer, copy_of, perm, name, &copy);
    tnk_item_insert(s, s->root, tnk_item_index(top), nest);
    tnk_sch_note(s, "cache_read(%s, %s, \"%s\"%s)", ref, buffer_ref, scope, order);
    return s->broken ? NULL : copy;
}

bool
tnk_set_scope(tnk_sch *s, const tn_node *buffer, const char *scope)
{
    if (s->broken)
        return false;
    for (uint32_t i = 0; i < s->allocs.n; i++) {
        if (s->allocs.at[i] != buffer)
            continue;
        tnk_item *all[256];
        uint32_t n = tnk_sch_blocks(s, all, 256);
        for (uint32_t k = 0; k < n && k < 256; k++)
            if (tnk_block_matches(all[k]->block, buffer))
                return tnk_sch_fail(s, all[k], "set_scope", "it matches a part of '%s'",
                                    tn_as_buffer(buffer)->name);
        tn_buffer copy = *tn_as_buffer(buffer);
        copy.data = NULL;
        copy.scope = tn_str(s->ctx, scope);
        const tn_node *to = tn_buffer_of(s->ctx, &copy);
        const char *ref = tnk_ref_buffer(s, NULL, buffer);
        s->allocs.at[i] = to;
        for (uint32_t k = 0; k < n && k < 256; k++)
            swap_buffer(s, all[k], (swap){.from = buffer, .to = to});
        tnk_sch_note(s, "set_scope(%s, \"%s\")", ref, scope);
        return !s->broken;
    }
    return tnk_sch_fail(s, NULL, "set_scope", "the buffer '%s' is not allocated in the function",
                        tn_as_buffer(buffer)->name);
}
