/* SPDX-License-Identifier: Apache-2.0 */
/* cache_write, set_scope: where results of a block go first.
 *
 *     C[vi, vj] += ...         =>      C_local[vi, vj] += ...
 *                                      C[v0, v1] = C_local[v0, v1]
 */
#include "schedule_private.h"

typedef struct swap {
    const tn_node *from, *to;
} swap;

static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    const swap *w = r->user;
    if (n->kind == TN_KIND_BUFFER_LOAD && ((const tn_buffer_load *)n)->buffer == w->from)
        return tn_load(r->ctx, w->to, ((const tn_buffer_load *)n)->indices);
    if (n->kind == TN_KIND_BUFFER_STORE && ((const tn_buffer_store *)n)->buffer == w->from)
        return tn_store(r->ctx, w->to, ((const tn_buffer_store *)n)->value, ((const tn_buffer_store *)n)->indices);
    return NULL;
}

static void
swap_buffer(tnk_sch *s, tnk_item *i, const tn_node *from, const tn_node *to)
{
    swap w = {from, to};
    tn_rewriter r = {.ctx = s->ctx, .user = &w, .post = replace};
    tn_block b = *i->block;
    b.body = tn_rewrite(&r, b.body);
    b.init = b.init ? tn_rewrite(&r, b.init) : NULL;
    if (b.body != i->block->body || b.init != i->block->init)
        tnk_block_set(s, i, &b);
}

/* A nest of loops over the shape of `to` around a block that copies `from` to it. */
static tnk_item *
copy_nest(tnk_sch *s, const tn_node *from, const tn_node *to, const char *name, tnk_item **block)
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
        iters = tn_list_append(ctx, iters, tn_iter_var_of(ctx, tn_range_of(ctx, l->min, l->extent), v, TN_ITER_SPATIAL, NULL));
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
    tn_block fields = {.name = tn_str(ctx, name), .iters = iters, .body = tn_store(ctx, to, tn_load(ctx, from, idx), idx)};
    tnk_block_set(s, *block, &fields);
    return top;
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
    const tn_buffer *b = tn_as_buffer(to);
    const tn_node *local = tn_buffer_new(s->ctx, tn_strf(s->ctx, "%s_%s", b->name, scope), b->shape, b->dtype, scope);
    swap_buffer(s, block, to, local);
    TNB_PUSH(tn_arena(s->ctx), s->allocs, local);
    tnk_item *top = block;
    while (top->parent->kind == TNK_ITEM_LOOP)
        top = top->parent;
    tnk_item *copy;
    tnk_item *nest = copy_nest(s, local, to, tn_strf(s->ctx, "%s_%s", b->name, scope), &copy);
    tnk_item_insert(s, s->root, tnk_item_index(top) + 1, nest);
    tnk_sch_note(s, "cache_write(%s, \"%s\")", tnk_item_name(block), scope);
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
        tn_buffer copy = *tn_as_buffer(buffer);
        copy.data = NULL;
        copy.scope = tn_str(s->ctx, scope);
        const tn_node *to = tn_buffer_of(s->ctx, &copy);
        s->allocs.at[i] = to;
        tnk_item *all[256];
        uint32_t n = tnk_sch_blocks(s, all, 256);
        for (uint32_t k = 0; k < n && k < 256; k++)
            swap_buffer(s, all[k], buffer, to);
        tnk_sch_note(s, "set_scope(%s, \"%s\")", tn_as_buffer(buffer)->name, scope);
        return !s->broken;
    }
    return tnk_sch_fail(s, NULL, "set_scope", "the buffer '%s' is not allocated in the function", tn_as_buffer(buffer)->name);
}
