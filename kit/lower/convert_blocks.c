/* SPDX-License-Identifier: Apache-2.0 */
/* ConvertBlocksToOpaque: takes blocks away.
 *
 *     for i in range(8):                       for i in range(8):
 *         with T.sblock("B"):          =>          if i < 6:
 *             vi = T.axis.spatial(6, i)                B[i] = A[i] * 2
 *             T.where(i < 6)
 *             B[vi] = A[vi] * 2
 *
 * Iteration variables are replaced by their values, predicates become ifs, allocations AllocBuffer
 * statements at the place of the block, matched sub-regions what LowerMatchBuffer makes of them. How a block wants the strides
 * of what it writes (buffer_dim_align) goes to the allocation as a list of axis, factor and offset; the index map of the fragment that
 * it writes (fragment_layout) and the mark permuted_layout go there as they are.
 * Needs: no init. (Upstream keeps opaque
 * blocks and removes them in LowerOpaqueBlock, which is accepted as another name of this pass.)
 */
#include "lower.h"

static const char align_key[] = "buffer_dim_align", layout_key[] = "fragment_layout",
                  permuted_key[] = "permuted_layout";

typedef struct alignments {
    tn_ctx *ctx;
    tnb_ptrmap by_buffer; /* Buffer -> array of [axis, factor, offset] */
    tnb_ptrmap layouts;   /* Buffer -> IndexMap */
    tnb_ptrmap permuted;  /* Buffer -> the mark */
} alignments;

static tn_walk_step
note_alignment(void *user, const tn_node *n)
{
    alignments *a = user;
    const tn_block *b = tn_as_block(n);
    const tn_array *all = b ? tn_as_array(tn_dict_get(b->annotations, align_key)) : NULL;
    const tn_node *layout = b ? tn_dict_get(b->annotations, layout_key) : NULL;
    if (layout && b->writes.n)
        tnb_ptrmap_set(&a->layouts, tn_as_buffer_region(b->writes.at[0])->buffer, layout);
    layout = b ? tn_dict_get(b->annotations, permuted_key) : NULL;
    if (layout && b->writes.n)
        tnb_ptrmap_set(&a->permuted, tn_as_buffer_region(b->writes.at[0])->buffer, layout);
    for (uint32_t i = 0; all && i < all->items.n; i++) {
        const tn_array *one = tn_as_array(all->items.at[i]);
        int64_t v[4];
        bool known = one && one->items.n == 4;
        for (int k = 0; known && k < 4; k++)
            known = tn_int_value(one->items.at[k], &v[k]);
        if (!known || v[0] < 0 || v[0] >= b->writes.n)
            continue;
        const tn_node *buffer = tn_as_buffer_region(b->writes.at[v[0]])->buffer;
        const tn_array *old = tn_as_array(tnb_ptrmap_get(&a->by_buffer, buffer));
        tn_list l =
            tn_list_append(a->ctx, old ? old->items : (tn_list){0}, tn_int_array(a->ctx, v + 1, 3));
        tnb_ptrmap_set(&a->by_buffer, buffer, tn_array_of(a->ctx, l));
    }
    return tn_is_scalar(n) ? TN_WALK_SKIP : TN_WALK_ON;
}

static const tn_node *
allocation(const alignments *a, const tn_node *buffer, const tn_node *annotations)
{
    const tn_node *want = tnb_ptrmap_get(&a->by_buffer, buffer);
    if (want)
        annotations = tn_dict_set(a->ctx, annotations, align_key, want);
    want = tnb_ptrmap_get(&a->layouts, buffer);
    if (want)
        annotations = tn_dict_set(a->ctx, annotations, layout_key, want);
    want = tnb_ptrmap_get(&a->permuted, buffer);
    if (want)
        annotations = tn_dict_set(a->ctx, annotations, permuted_key, want);
    return tn_alloc_buffer_of(a->ctx, buffer, annotations);
}

static const tn_node *
lower(tn_rewriter *r, const tn_node *n)
{
    const alignments *a = r->user;
    const tn_block_realize *br = tn_as_block_realize(n);
    if (n->kind == TN_KIND_ALLOC_BUFFER &&
        (tnb_ptrmap_has(&a->by_buffer, tn_as_alloc_buffer(n)->buffer) ||
         tnb_ptrmap_has(&a->layouts, tn_as_alloc_buffer(n)->buffer) ||
         tnb_ptrmap_has(&a->permuted, tn_as_alloc_buffer(n)->buffer)))
        return allocation(a, tn_as_alloc_buffer(n)->buffer, tn_as_alloc_buffer(n)->annotations);
    if (!br)
        return NULL;
    tn_ctx *ctx = r->ctx;
    const tn_block *b = tn_as_block(br->block);
    if (b->init) {
        tn_error(ctx, br->block->loc, TNB_INVALID,
                 "cannot take the block '%s' away: it has an init", b->name);
        tnb_diag_hint(tn_diags(ctx), "run LowerInitBlock first");
        return tn_error_node(ctx);
    }
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < b->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        tnb_ptrmap_set(&map, iv->var, tn_cast_to(ctx, tn_dtype_of(iv->var), br->values.at[i]));
    }
    const tn_stmt *body = b->iters.n ? tn_subst(ctx, b->body, &map) : b->body;
    if (b->allocs.n) {
        TNB_VEC(const tn_node *) v = {0};
        for (uint32_t i = 0; i < b->allocs.n; i++)
            TNB_PUSH(tn_scratch(ctx), v, allocation(a, b->allocs.at[i], NULL));
        TNB_PUSH(tn_scratch(ctx), v, body);
        body = tn_seq_of(ctx, (tn_list){v.at, v.n});
    }
    if (br->predicate && !tn_is_int_const(br->predicate, 1))
        body = tn_if_stmt_of(ctx, br->predicate, body, NULL);
    return body;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    alignments a = {.ctx = ctx};
    tn_rewriter r = {.ctx = ctx, .user = &a, .post = lower};
    const tn_stmt *body = tnk_lower_matches(ctx, f->body);
    if (tn_is_error(body))
        return body;
    tnb_ptrmap_init(&a.by_buffer, tn_scratch(ctx));
    tnb_ptrmap_init(&a.layouts, tn_scratch(ctx));
    tnb_ptrmap_init(&a.permuted, tn_scratch(ctx));
    tn_walk(body, 0, note_alignment, NULL, &a);
    return tn_rewrite(&r, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_convert_blocks = {
    .base.size = sizeof(tn_pass),
    .base.name = "ConvertBlocksToOpaque",
    .alias = "LowerOpaqueBlock",
    .base.doc = "Removes blocks: substitutes iteration variables, turns predicates into ifs and "
                "allocations into statements.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
