/* SPDX-License-Identifier: Apache-2.0 */
/* Simplify: expressions are simplified with the ranges of the enclosing loops, loops of one turn and decided ifs disappear.
 *
 *     for i in range(4):
 *         for j in range(1):                   for i in range(4):
 *             if i * 8 + j < 32:      =>           A[i * 8] = 0
 *                 A[i * 8 + j] = 0
 *
 * Works at every stage; blocks are left as they are. Keeps: values.
 */
#include "lower.h"

static const tn_expr *
simplify_expr(tnk_ranged *r, const tn_expr *e)
{
    return tn_simplify(r->arith, e);
}

/* A loop that turns once is its body; thread-bound loops stay. */
static const tn_stmt *
pre(tnk_ranged *r, const tn_stmt *s)
{
    if (s->kind != TN_KIND_FOR)
        return s->kind == TN_KIND_BLOCK_REALIZE ? s : NULL;
    const tn_for_loop *f = (const tn_for_loop *)s;
    if (f->for_kind == TN_FOR_THREAD_BINDING || f->annotations)
        return NULL;
    const tn_expr *extent = tn_simplify(r->arith, f->extent);
    int64_t n;
    if (!tn_int_value(extent, &n))
        return NULL;
    if (n <= 0)
        return tnk_nothing(r->ctx);
    if (n > 1)
        return NULL;
    const tn_expr *at = tn_cast_to(r->ctx, tn_dtype_of(f->var), tn_simplify(r->arith, f->min));
    return tnk_ranged_rewrite(r, tn_subst1(r->ctx, f->body, f->var, at));
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    if (s->kind == TN_KIND_IF_STMT) {
        const tn_if_stmt *i = (const tn_if_stmt *)s;
        if (tnk_checks_index(i->cond)) /* it has more to say than true or false */
            return NULL;
        if (tn_is_int_const(i->cond, 1) || tn_prove(r->arith, i->cond))
            return i->then_case;
        if (tn_is_int_const(i->cond, 0))
            return i->else_case ? i->else_case : tnk_nothing(r->ctx);
        if (tnk_is_nothing(i->then_case) && !i->else_case)
            return tnk_nothing(r->ctx);
    }
    if (s->kind == TN_KIND_FOR && tnk_is_nothing(((const tn_for_loop *)s)->body))
        return tnk_nothing(r->ctx);
    return NULL;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    tnk_ranged r = {.expr = simplify_expr, .pre = pre, .post = post};
    tnk_ranged_init(&r, ctx, f);
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_simplify = {
    .base.size = sizeof(tn_pass),
    .base.name = "Simplify",
    .base.doc = "Simplifies scalar expressions and removes loops of one iteration and decided ifs.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
