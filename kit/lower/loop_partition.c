/* SPDX-License-Identifier: Apache-2.0 */
/* LoopPartition: a loop is cut where a condition in its body becomes or stops being true, so that the long part needs no test.
 *
 *     for i in range(4):                            for i in range(3):
 *         for j in T.vectorized(8):                     for j in T.vectorized(8): A[i * 8 + j] = 0
 *             if i * 8 + j < 30:            =>      for j in T.vectorized(8):
 *                 A[i * 8 + j] = 0                      if 24 + j < 30: A[24 + j] = 0
 *
 * Conditions are those of ifs and if_then_else that are linear in the loop variable; the ranges of loops further inside are relaxed.
 * So are those of the threads around a loop in which they meet: all threads have to go the same number of turns through a barrier.
 * The pieces are simplified with what is known in them, and not cut again. Needs: no blocks; works best after
 * FlattenBuffer and Simplify.
 */
#include "lower.h"

enum { MAX_CUTS = 24, MAX_BODY = 4000, MAX_MEETING_CUTS = 1 };

typedef TNB_VEC(const tn_for_loop *) loops;

typedef struct cut_state {
    uint32_t cuts, meetings; /* meetings: cuts of loops in which threads meet */
    tnb_ptrmap pieces;       /* variables of loops that are what a cut left */
    loops threads;           /* of the function */
} cut_state;

typedef struct finder {
    tnk_ranged *r;
    const tn_expr *var;
    TNB_VEC(const tn_expr *) vars, mins, extents; /* loops between */
    TNB_VEC(uint32_t) marks;                      /* what is known outside of them */
    const tn_expr *lo, *hi; /* the variable's values [lo, hi) for which every condition seen holds;
                               NULL: no limit */
    tnb_ptrmap holds;       /* those conditions */
    uint32_t found, size;
} finder;

static const tn_expr *
relax(finder *f, const tn_expr *e)
{
    const tn_expr *lo, *hi;
    for (uint32_t i = f->vars.n; i-- > 0;) {
        if (!tn_uses(e, f->vars.at[i]))
            continue;
        if (!tn_interval(f->r->arith, e, &f->vars.at[i], &f->mins.at[i], &f->extents.at[i], 1, &lo,
                         &hi) ||
            !hi)
            return NULL;
        e = hi;
    }
    return e;
}

/* e < 0, which is what `cond` says */
static void
negative(finder *f, const tn_expr *cond, const tn_expr *e)
{
    tn_ctx *ctx = f->r->ctx;
    const tn_expr *coeff, *rest;
    int64_t c;
    if (!tn_linear(f->r->arith, e, &f->var, 1, &coeff, &rest) || !tn_int_value(coeff, &c) || c == 0)
        return;
    rest = relax(f, rest);
    if (!rest || tn_uses(rest, f->var))
        return;
    tnb_dtype d = tn_dtype_of(f->var);
    rest = tn_cast_to(ctx, d, rest);
    const tn_expr *abs_c = tn_int_imm_of(ctx, d, c < 0 ? -c : c);
    const tn_expr *one = tn_int_imm_of(ctx, d, 1), *zero = tn_int_imm_of(ctx, d, 0);
    if (c > 0) { /* var < ceil(-rest / c) */
        const tn_expr *hi =
            tn_floordiv(ctx, tn_add(ctx, tn_sub(ctx, zero, rest), tn_sub(ctx, abs_c, one)), abs_c);
        hi = tn_simplify(f->r->arith, hi);
        f->hi = f->hi ? tn_simplify(f->r->arith, tn_min(ctx, f->hi, hi)) : hi;
    } else { /* var >= floor(rest / |c|) + 1 */
        const tn_expr *lo =
            tn_simplify(f->r->arith, tn_add(ctx, tn_floordiv(ctx, rest, abs_c), one));
        f->lo = f->lo ? tn_simplify(f->r->arith, tn_max(ctx, f->lo, lo)) : lo;
    }
    tnb_ptrmap_set(&f->holds, cond, tn_bool(ctx, true));
    f->found++;
}

static void
condition(finder *f, const tn_expr *e)
{
    tn_ctx *ctx = f->r->ctx;
    const tn_binary *b = tn_as_binary(e);
    if (e->kind == TN_KIND_CALL && ((const tn_call *)e)->args.n == 1 &&
        tn_is_intrin(e, TN_INTRIN_likely)) {
        condition(f, ((const tn_call *)e)->args.at[0]);
        return;
    }
    if (!b || !tn_uses(e, f->var) || tnk_checks_index(e))
        return;
    if (e->kind == TN_KIND_AND) {
        condition(f, b->a);
        condition(f, b->b);
        return;
    }
    if (!tnb_dtype_is_int(tn_dtype_of(b->a)) || tn_dtype_of(b->a).lanes != 1)
        return;
    const tn_expr *one = tn_int_imm_of(ctx, tn_dtype_of(b->a), 1);
    switch (e->kind) {
    case TN_KIND_LT:
        negative(f, e, tn_sub(ctx, b->a, b->b));
        return;
    case TN_KIND_LE:
        negative(f, e, tn_sub(ctx, tn_sub(ctx, b->a, b->b), one));
        return;
    case TN_KIND_GT:
        negative(f, e, tn_sub(ctx, b->b, b->a));
        return;
    case TN_KIND_GE:
        negative(f, e, tn_sub(ctx, tn_sub(ctx, b->b, b->a), one));
        return;
    default:
        return;
    }
}

static void
push_range(finder *f, const tn_for_loop *l)
{
    tnb_arena *a = tn_scratch(f->r->ctx);
    TNB_PUSH(a, f->vars, l->var);
    TNB_PUSH(a, f->mins, l->min);
    TNB_PUSH(a, f->extents, l->extent);
}

static tn_walk_step
collect_threads(void *user, const tn_node *n)
{
    tnk_ranged *r = user;
    const tn_for_loop *l = tn_as_for_loop(n);
    bool is_block;
    int dim;
    if (l && l->for_kind == TN_FOR_THREAD_BINDING &&
        tnk_thread_tag(l->thread_tag, &is_block, &dim) && !is_block)
        TNB_PUSH(tn_scratch(r->ctx), ((cut_state *)r->user)->threads, l);
    return TN_WALK_ON;
}

/* Barriers, and calls of functions that may be one or that threads have to call together. */
static tn_walk_step
find_meeting(void *user, const tn_node *n)
{
    *(bool *)user |= tn_is_intrin(n, TN_INTRIN_tvm_storage_sync) ||
                     tn_is_intrin(n, TN_INTRIN_call_extern) ||
                     tn_is_intrin(n, TN_INTRIN_call_pure_extern);
    return TN_WALK_ON;
}

static tn_walk_step
enter(void *user, const tn_node *n)
{
    finder *f = user;
    f->size++;
    if (n->kind == TN_KIND_FOR) {
        const tn_for_loop *l = (const tn_for_loop *)n;
        push_range(f, l);
        TNB_PUSH(tn_scratch(f->r->ctx), f->marks, tn_arith_push(f->r->arith, NULL));
        tn_arith_range(f->r->arith, l->var, l->min, l->extent);
    }
    if (n->kind == TN_KIND_IF_STMT)
        condition(f, ((const tn_if_stmt *)n)->cond);
    if (tn_is_intrin(n, TN_INTRIN_if_then_else))
        condition(f, ((const tn_call *)n)->args.at[0]);
    return TN_WALK_ON;
}

static tn_walk_step
leave(void *user, const tn_node *n)
{
    finder *f = user;
    if (n->kind == TN_KIND_FOR) {
        f->vars.n--;
        f->mins.n--;
        f->extents.n--;
        tn_arith_pop(f->r->arith, f->marks.at[--f->marks.n]);
    }
    return TN_WALK_ON;
}

/* The loop from `from` to `to`, with variables of its own. */
static const tn_stmt *
piece(tnk_ranged *r, const tn_for_loop *f, const tn_stmt *body, const tn_expr *from,
      const tn_expr *to)
{
    tn_ctx *ctx = r->ctx;
    const tn_expr *extent = tn_simplify(r->arith, tn_sub(ctx, to, from));
    int64_t n;
    if (tn_int_value(extent, &n) && n <= 0)
        return tnk_nothing(ctx);
    /* vectorized loops start at 0 */
    const tn_expr *v = tn_var_dtype(ctx, tn_var_name(f->var), tn_dtype_of(f->var));
    bool rebase = f->for_kind == TN_FOR_VECTORIZED || f->for_kind == TN_FOR_UNROLLED;
    body = tn_fresh_copy(ctx, body, NULL);
    const tn_expr *zero = tn_int_imm_of(ctx, tn_dtype_of(v), 0);
    body = tn_subst1(ctx, body, f->var, rebase ? tn_add(ctx, v, from) : v);
    return tn_for_of(ctx, v, rebase ? zero : from, extent, (tn_for_kind)f->for_kind, f->thread_tag,
                     f->annotations, body);
}

static const tn_node *
decided(tn_rewriter *r, const tn_node *n)
{
    return tnb_ptrmap_get(r->user, n);
}

static const tn_expr *
clamp(tnk_ranged *r, const tn_expr *e, const tn_expr *lo, const tn_expr *hi)
{
    return tn_simplify(r->arith, tn_min(r->ctx, tn_max(r->ctx, e, lo), hi));
}

static const tn_stmt *
pre(tnk_ranged *r, const tn_stmt *s)
{
    cut_state *st = r->user;
    if (s->kind != TN_KIND_FOR || st->cuts >= MAX_CUTS)
        return NULL;
    const tn_for_loop *f = (const tn_for_loop *)s;
    if (f->for_kind == TN_FOR_THREAD_BINDING || tn_is_int_const(f->extent, 1) ||
        tnb_ptrmap_has(&st->pieces, f->var))
        return NULL;
    finder fi = {.r = r, .var = f->var};
    tnb_ptrmap_init(&fi.holds, tn_scratch(r->ctx));
    bool meets = false;
    if (st->threads.n)
        tn_walk(f->body, 0, find_meeting, NULL, &meets);
    for (uint32_t i = 0; meets && i < st->threads.n; i++)
        push_range(&fi, st->threads.at[i]);
    uint32_t outside = tn_arith_push(r->arith, NULL);
    tn_arith_range(r->arith, f->var, f->min, f->extent);
    tn_walk(f->body, 0, enter, leave, &fi);
    tn_arith_pop(r->arith, outside); /* the pieces are right for a loop that does not run, too */
    if (fi.found == 0 || fi.size > MAX_BODY)
        return NULL;
    tn_ctx *ctx = r->ctx;
    const tn_expr *begin = f->min, *end = tn_simplify(r->arith, tn_add(ctx, f->min, f->extent));
    const tn_expr *a = fi.lo ? clamp(r, fi.lo, begin, end) : begin;
    const tn_expr *b = fi.hi ? clamp(r, fi.hi, a, end) : end;
    if (tn_prove_eq(r->arith, a, begin) && tn_prove_eq(r->arith, b, end))
        return NULL;
    int64_t na, nb;
    bool fixed = tn_int_value(a, &na) && tn_int_value(b, &nb);
    if (fixed && nb <= na)
        return NULL; /* nowhere always true: cutting would not help */
    /* the cuts of a loop of known length have to be known too: else the pieces are small and many
     */
    if (!fixed && (tn_is(f->extent, TN_KIND_INT_IMM) || f->for_kind == TN_FOR_VECTORIZED ||
                   f->for_kind == TN_FOR_UNROLLED))
        return NULL;
    /* device compilers unroll and split at barriers: three loops around some are slow to compile, nine hang */
    if (meets && st->meetings++ >= MAX_MEETING_CUTS && !fixed)
        return NULL;
    st->cuts++;
    tn_rewriter decide = {.ctx = ctx, .pre = decided, .user = &fi.holds};
    const tn_stmt *parts[3] = {piece(r, f, f->body, begin, a),
                               piece(r, f, tn_rewrite(&decide, f->body), a, b),
                               piece(r, f, f->body, b, end)};
    for (int i = 0; i < 3; i++) {
        /* what is left in the pieces is cut further, the pieces themselves are not: where the cut is an
         * expression, the analyzer need not see that a condition is decided at both sides of it */
        if (parts[i]->kind != TN_KIND_FOR)
            continue;
        const tn_for_loop *p = (const tn_for_loop *)parts[i];
        tnb_ptrmap_set(&st->pieces, p->var, p); /* an enclosing loop of one turn comes here again */
        uint32_t mark = tn_arith_push(r->arith, NULL);
        tn_arith_range(r->arith, p->var, p->min, p->extent);
        tnk_ranged inner = {.ctx = ctx,
                            .arith = r->arith,
                            .expr = r->expr,
                            .pre = r->pre,
                            .post = r->post,
                            .user = r->user};
        const tn_stmt *body = tnk_ranged_rewrite(&inner, p->body);
        tn_arith_pop(r->arith, mark);
        parts[i] = tnk_for_with(ctx, p, p->min, p->extent, body);
        if (r->post) {
            const tn_stmt *n = r->post(r, parts[i]);
            parts[i] = n ? n : parts[i];
        }
    }
    return tnk_seq(ctx, parts, 3);
}

static const tn_expr *
simplify_expr(tnk_ranged *r, const tn_expr *e)
{
    return tn_simplify(r->arith, e);
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
        if (tn_is_int_const(i->cond, 0) || tn_prove(r->arith, tn_not(r->ctx, i->cond)))
            return i->else_case ? i->else_case : tnk_nothing(r->ctx);
    }
    if (s->kind == TN_KIND_FOR) {
        const tn_for_loop *f = (const tn_for_loop *)s;
        if (tnk_is_nothing(f->body))
            return tnk_nothing(r->ctx);
        if (tn_is_int_const(f->extent, 1) && f->for_kind != TN_FOR_THREAD_BINDING &&
            !f->annotations) {
            const tn_stmt *body = tn_subst1(r->ctx, f->body, f->var, f->min);
            return tnk_ranged_rewrite(r, body);
        }
    }
    return NULL;
}

static tn_walk_step
find_condition(void *user, const tn_node *n)
{
    bool *found = user;
    *found |= n->kind == TN_KIND_IF_STMT || tn_is_intrin(n, TN_INTRIN_if_then_else);
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    bool found = false; /* else there is nowhere to cut */
    tn_walk(f->body, 0, find_condition, NULL, &found);
    if (!found)
        return f->body;
    cut_state st = {0};
    tnb_ptrmap_init(&st.pieces, tn_scratch(ctx));
    tnk_ranged r = {.expr = simplify_expr, .pre = pre, .post = post, .user = &st};
    tnk_ranged_init(&r, ctx, f);
    tn_walk(f->body, 0, collect_threads, NULL, &r);
    return tnk_ranged_rewrite(&r, f->body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_loop_partition = {
    .base.size = sizeof(tn_pass),
    .base.name = "LoopPartition",
    .base.doc =
        "Cuts loops where conditions of their bodies change, so that the long part needs no test.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
