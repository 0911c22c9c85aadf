/* SPDX-License-Identifier: Apache-2.0 */
/* RemoveNoOp: statements without effect disappear: empty loops and ifs, evaluations of literals, loops of no turn, stores of a
 * value to the place it was just loaded from.
 *
 *     for i in range(8):
 *         T.evaluate(0)          =>      (nothing)
 *     A[0] = A[0]
 */
#include "lower.h"

static bool
stores_itself(tn_ctx *ctx, const tn_buffer_store *s)
{
    const tn_buffer_load *l = tn_as_buffer_load(s->value);
    if (!l || l->buffer != s->buffer || l->indices.n != s->indices.n || tnk_checks_index(s->value))
        return false;
    for (uint32_t i = 0; i < l->indices.n; i++)
        if (!tn_equal(ctx, l->indices.at[i], s->indices.at[i], false, NULL))
            return false;
    return true;
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    switch (s->kind) {
    case TN_KIND_BUFFER_STORE:
        return stores_itself(r->ctx, (const tn_buffer_store *)s) ? tnk_nothing(r->ctx) : NULL;
    case TN_KIND_FOR: {
        const tn_for_loop *f = (const tn_for_loop *)s;
        return tnk_is_nothing(f->body) || tn_is_int_const(f->extent, 0) ? tnk_nothing(r->ctx)
                                                                        : NULL;
    }
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *i = (const tn_if_stmt *)s;
        return tnk_is_nothing(i->then_case) && !i->else_case && !tnk_checks_index(i->cond)
                   ? tnk_nothing(r->ctx)
                   : NULL;
    }
    case TN_KIND_ATTR_STMT:
        return tnk_is_nothing(((const tn_attr_stmt *)s)->body) ? tnk_nothing(r->ctx) : NULL;
    default:
        return NULL;
    }
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

const tn_pass tnk_pass_remove_no_op = {
    .base.size = sizeof(tn_pass),
    .base.name = "RemoveNoOp",
    .base.doc = "Removes statements without effect.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
