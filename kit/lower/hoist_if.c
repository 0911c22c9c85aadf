/* SPDX-License-Identifier: Apache-2.0 */
/* HoistIfThenElse: an if that is the whole body of a loop and does not depend on it moves out of it.
 *
 *     for i in range(8):                 if n > 4:
 *         if n > 4:              =>          for i in range(8):
 *             A[i] = 0                           A[i] = 0
 *
 * So does the question whether a loop has any turns that is the whole body of another one, which would run for nothing: its own
 * turns may be as many as no memory bounds, where a tensor has another axis without entries.
 *
 *     for i in range(n):                 if m > 0:
 *         for k in range(m):     =>          for i in range(n):
 *             A[0] += B[i, k]                    for k in range(m):
 *                                                    A[0] += B[i, k]
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

/* What may have no value where nobody asks for it. */
static tn_walk_step
divides(void *user, const tn_node *n)
{
    bool division = n->kind == TN_KIND_DIV || n->kind == TN_KIND_MOD ||
                    n->kind == TN_KIND_FLOOR_DIV || n->kind == TN_KIND_FLOOR_MOD;
    if (division && !tn_is(tn_as_binary(n)->b, TN_KIND_INT_IMM))
        *(bool *)user = true;
    return TN_WALK_ON;
}

/* Whether `e` is the same in all turns of `f`. */
static bool
is_outside(const tn_for_loop *f, const tn_expr *e)
{
    bool bad = tn_uses(e, f->var);
    tn_walk(e, 0, impure, NULL, &bad);
    return !bad;
}

/* That the loop, whose bounds `f` does not change, has turns; NULL: it always has some, or they
 * depend on `f`, or on a division that only a turn of `f` makes sense of. */
static const tn_expr *
has_turns(tnk_ranged *r, const tn_for_loop *f, const tn_for_loop *inner)
{
    bool plain = f->for_kind == TN_FOR_SERIAL || f->for_kind == TN_FOR_UNROLLED, no_value = false;
    tn_walk(inner->extent, 0, divides, NULL, &no_value);
    if (!plain || no_value || tn_is(inner->extent, TN_KIND_INT_IMM) ||
        inner->for_kind == TN_FOR_THREAD_BINDING || !is_outside(f, inner->extent))
        return NULL;
    const tn_expr *c =
        tn_gt(r->ctx, inner->extent, tn_int_imm_of(r->ctx, tn_type_dtype(inner->extent->type), 0));
    return tn_prove(r->arith, c) ? NULL : c;
}

static const tn_stmt *
post(tnk_ranged *r, const tn_stmt *s)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    if (!f || f->for_kind == TN_FOR_THREAD_BINDING)
        return NULL;
    const tn_if_stmt *i = tn_as_if_stmt(f->body);
    if (i && !is_outside(f, i->cond)) {
        const tn_for_loop *guarded = i->else_case ? NULL : tn_as_for_loop(i->then_case);
        const tn_expr *any = guarded ? has_turns(r, f, guarded) : NULL;
        return any ? tn_if_stmt_of(r->ctx, any, s, NULL) : NULL;
    }
    const tn_stmt *body = i ? i->then_case : f->body, *b = NULL;
    const tn_for_loop *inner = i && i->else_case ? NULL : tn_as_for_loop(body);
    const tn_expr *cond = inner ? has_turns(r, f, inner) : NULL;
    if (!i && !cond)
        return NULL;
    if (i)
        cond = cond ? tn_and(r->ctx, i->cond, cond) : i->cond;
    const tn_stmt *a = tnk_for_with(r->ctx, f, f->min, f->extent, body);
    if (i && i->else_case) {
        const tn_for_loop *copy = tn_as_for_loop(tn_fresh_copy(r->ctx, s, NULL));
        b = tnk_for_with(r->ctx, copy, copy->min, copy->extent,
                         tn_as_if_stmt(copy->body)->else_case);
    }
    return tn_if_stmt_of(r->ctx, cond, a, b);
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
    .base.size = sizeof(tn_pass),
    .base.name = "HoistIfThenElse",
    .base.doc = "Moves ifs that do not depend on a loop out of it, and guards loops whose inner "
                "loop may be "
                "empty.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
