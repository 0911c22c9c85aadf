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
 * statements at the place of the block, matched sub-regions what LowerMatchBuffer makes of them.
 * Needs: no init. (Upstream keeps opaque
 * blocks and removes them in LowerOpaqueBlock, which is accepted as another name of this pass.)
 */
#include "lower.h"

static const tn_node *
lower(tn_rewriter *r, const tn_node *n)
{
    const tn_block_realize *br = tn_as_block_realize(n);
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
            TNB_PUSH(tn_scratch(ctx), v, tn_alloc_buffer_of(ctx, b->allocs.at[i], NULL));
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
    tn_rewriter r = {.ctx = ctx, .post = lower};
    const tn_stmt *body = tnk_lower_matches(ctx, f->body);
    return tn_is_error(body) ? body : tn_rewrite(&r, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_convert_blocks = {
    .size = sizeof(tn_pass),
    .name = "ConvertBlocksToOpaque",
    .alias = "LowerOpaqueBlock",
    .doc = "Removes blocks: substitutes iteration variables, turns predicates into ifs and "
           "allocations into statements.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
