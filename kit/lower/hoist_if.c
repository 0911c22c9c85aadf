/* SPDX-License-Identifier: Apache-2.0 */
/* HoistIfThenElse: an if that is the whole body of a loop and does not depend on it moves out of it.
 *
 *     for i in range(8):                 if n > 4:
 *         if n > 4:              =>          for i in range(8):
 *             A[i] = 0                           A[i] = 0
 *
 * Only conditions that load nothing. Needs: no blocks.
 */
#include "lower.h"

static tn_walk_step
impure(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_BUFFER_LOAD || n->kind == TN_KIND_CALL)
        *(bool *)user = true;
    return TN_WALK_ON;
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    const tn_if_stmt *i = f ? tn_as_if_stmt(f->body) : NULL;
    if (!i || f->for_kind == TN_FOR_THREAD_BINDING || tn_uses(i->cond, f->var))
        return NULL;
    bool bad = false;
    tn_walk(i->cond, 0, impure, NULL, &bad);
    if (bad)
        return NULL;
    const tn_stmt *a = tnk_for_with(r->ctx, f, f->min, f->extent, i->then_case), *b = NULL;
    if (i->else_case) {
        const tn_for_loop *copy = tn_as_for_loop(tn_fresh_copy(r->ctx, s, NULL));
        b = tnk_for_with(r->ctx, copy, copy->min, copy->extent,
                         tn_as_if_stmt(copy->body)->else_case);
    }
    return tn_if_stmt_of(r->ctx, i->cond, a, b);
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    tnk_ranged r = {.post = post};
    tnk_ranged_init(&r, ctx, f);
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_hoist_if = {
    .size = sizeof(tn_pass),
    .name = "HoistIfThenElse",
    .doc = "Moves ifs that do not depend on a loop out of it.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
