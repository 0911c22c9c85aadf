/* SPDX-License-Identifier: Apache-2.0 */
/* LowerInitBlock: the init of a reduction block becomes a guarded first statement of its body.
 *
 *     with T.init():                    if vk == 0:
 *         C[vi] = 0            =>           C[vi] = 0
 *     C[vi] = C[vi] + A[vi, vk]         C[vi] = C[vi] + A[vi, vk]
 *
 * Needs: blocks. Keeps: values. Leaves: no block with an init.
 */
#include "lower.h"

static const tn_node *
lower(tn_rewriter *r, const tn_node *n)
{
    const tn_block *b = tn_as_block(n);
    if (!b || !b->init)
        return NULL;
    const tn_expr *first = NULL;
    for (uint32_t i = 0; i < b->iters.n; i++) {
        const tn_iter_var *iv = tn_as_iter_var(b->iters.at[i]);
        if (iv->iter_kind != TN_ITER_REDUCE)
            continue;
        const tn_expr *at_start = tn_bin(r->ctx, TN_KIND_EQ, iv->var, tn_as_range(iv->dom)->min);
        first = first ? tn_bin(r->ctx, TN_KIND_AND, first, at_start) : at_start;
    }
    tn_block copy = *b;
    const tn_stmt *init = first ? tn_if_stmt_of(r->ctx, first, b->init, NULL) : b->init;
    copy.init = NULL;
    copy.body = tn_seqv(r->ctx, init, b->body, NULL);
    return tn_block_of(r->ctx, &copy);
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    tn_rewriter r = {.ctx = ctx, .post = lower};
    return tn_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_lower_init_block = {
    .size = sizeof(tn_pass),
    .name = "LowerInitBlock",
    .doc = "Turns the init of reduction blocks into a guarded statement of the body.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
