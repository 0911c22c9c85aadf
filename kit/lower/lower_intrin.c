/* SPDX-License-Identifier: Apache-2.0 */
/* LowerIntrin: floor division and modulo become the truncating ones where both agree, which every machine has.
 *
 *     A[i // 4, i % 4]        =>      A[T.truncdiv(i, 4), T.truncmod(i, 4)]      (0 <= i)
 *
 * What cannot be proved stays floor division; source emission writes it exactly. Needs: no blocks.
 */
#include "lower.h"

static const tn_node *
lower(tn_rewriter *rw, const tn_node *n)
{
    tnk_ranged *r = rw->user;
    if ((n->kind != TN_KIND_FLOOR_DIV && n->kind != TN_KIND_FLOOR_MOD) || tn_dtype_of(n).lanes != 1)
        return NULL;
    const tn_binary *b = (const tn_binary *)n;
    tnb_dtype d = tn_dtype_of(n);
    if (!tnb_dtype_is_int(d))
        return NULL;
    int64_t alo = 0, ahi, blo = 0, bhi;
    if (d.code == TNB_INT) {
        tn_bounds(r->arith, b->a, &alo, &ahi);
        tn_bounds(r->arith, b->b, &blo, &bhi);
    } else if (!tn_int_value(b->b, &blo)) {
        return NULL;
    }
    if (alo < 0 || blo <= 0)
        return NULL;
    return tn_raw_binary(rw->ctx, n->kind == TN_KIND_FLOOR_DIV ? TN_KIND_DIV : TN_KIND_MOD, b->a,
                         b->b);
}

static tn_walk_step
find_division(void *user, const tn_node *n)
{
    bool *found = user;
    *found |= n->kind == TN_KIND_FLOOR_DIV || n->kind == TN_KIND_FLOOR_MOD;
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_expr *
in_expr(tnk_ranged *r, const tn_expr *e)
{
    bool found = false; /* most expressions divide nothing: a walk is cheaper than a rewriter */
    tn_walk(e, 0, find_division, NULL, &found);
    if (!found)
        return e;
    tn_rewriter rw = {.ctx = r->ctx, .user = r, .post = lower};
    return tn_rewrite(&rw, e);
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    tnk_ranged r = {.expr = in_expr};
    tnk_ranged_init(&r, ctx, f);
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_lower_intrin = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerIntrin",
    .base.doc = "Replaces floor division by truncating division where both agree.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
