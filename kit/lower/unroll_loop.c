/* SPDX-License-Identifier: Apache-2.0 */
/* UnrollLoop: loops marked unrolled become their turns, one after the other.
 *
 *     for i in T.unroll(2):              A[0] = 0
 *         A[i] = 0               =>      A[1] = 0
 *
 * A loop whose extent is not constant, or too long with all that it contains, becomes a serial one. Needs: no blocks.
 */
#include "lower.h"

enum { MAX_STEPS = 4096 };

static uint32_t
leaves(const tn_stmt *s)
{
    switch (s->kind) {
    case TN_KIND_SEQ: {
        uint32_t n = 0;
        for (uint32_t i = 0; i < ((const tn_seq *)s)->stmts.n; i++)
            n += leaves(((const tn_seq *)s)->stmts.at[i]);
        return n;
    }
    case TN_KIND_FOR:
        return leaves(((const tn_for_loop *)s)->body) + 1;
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *i = (const tn_if_stmt *)s;
        return 1 + leaves(i->then_case) + (i->else_case ? leaves(i->else_case) : 0);
    }
    case TN_KIND_WHILE:
        return 1 + leaves(((const tn_while_loop *)s)->body);
    case TN_KIND_ATTR_STMT:
        return leaves(((const tn_attr_stmt *)s)->body);
    default:
        return 1;
    }
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    if (!f || f->for_kind != TN_FOR_UNROLLED)
        return NULL;
    tn_ctx *ctx = r->ctx;
    int64_t n;
    if (!tn_int_value(f->extent, &n) || n * (int64_t)leaves(f->body) > MAX_STEPS)
        return tn_for_of(ctx, f->var, f->min, f->extent, TN_FOR_SERIAL, NULL, f->annotations,
                         f->body);
    TNB_VEC(const tn_stmt *) v = {0};
    for (int64_t i = 0; i < n; i++) {
        const tn_stmt *body = i == 0 ? f->body : tn_fresh_copy(ctx, f->body, NULL);
        const tn_expr *at = tn_add(ctx, f->min, tn_int_imm_of(ctx, tn_dtype_of(f->var), i));
        TNB_PUSH(tn_scratch(ctx), v, tn_subst1(ctx, body, f->var, at));
    }
    return tnk_seq(ctx, v.at, v.n);
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

const tn_pass tnk_pass_unroll = {
    .base.size = sizeof(tn_pass),
    .base.name = "UnrollLoop",
    .base.doc = "Writes out the iterations of loops marked unrolled.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
