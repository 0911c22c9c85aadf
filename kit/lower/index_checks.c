/* SPDX-License-Identifier: Apache-2.0 */
/* LowerIndexChecks: what the target's attribute check_indices says becomes of indices that came as data (T.index_in).
 *
 *     refuse   B[i] = A[T.index_in(I[i], n, 1, "take, axis 0")]   stays: code generators note the index that is out of range
 *     clamp    B[i] = A[T.max(T.min(T.Select(I[i] < 0, I[i] + n, I[i]), n - 1), 0)]
 *     off      B[i] = A[T.Select(I[i] < 0, I[i] + n, I[i])]
 *
 * Where an axis may have no elements there is no index to take instead. What is loaded there is 0, and stores do not happen:
 *
 *     B[i] = T.if_then_else(0 < n, A[T.index_in(I[i], n, ...)], T.Cast("float32", T.index_in(I[i], n, ...)))
 *
 * whose second index notes the refusal and is 0. Needs: no blocks. Comes after Simplify, which drops what is known to be in its
 * range. Cases: tests/pass/LowerIndexChecks.
 */
#include "lower.h"

typedef enum index_mode { REFUSE, CLAMP, OFF } index_mode;

typedef struct checks {
    tn_ctx *ctx;
    tn_arith *arith;
    index_mode mode;
    TNB_VEC(const tn_call *) open; /* of the access at hand: indices of axes that may be empty */
} checks;

static const tn_expr *
number(checks *k, const tn_expr *like, int64_t v)
{
    return tn_int_imm_of(k->ctx, tn_dtype_of(like), v);
}

static tn_walk_step
find_open(void *user, const tn_node *n)
{
    checks *k = user;
    if (n->kind == TN_KIND_BUFFER_LOAD)
        return TN_WALK_SKIP; /* has its own */
    if (n->kind != TN_KIND_CALL || !tn_is_intrin(n, TN_INTRIN_index_in))
        return TN_WALK_ON;
    const tn_call *c = (const tn_call *)n;
    const tn_expr *extent = c->args.at[1];
    if (!tn_prove(k->arith, tn_ge_of(k->ctx, extent, number(k, extent, 1))))
        TNB_PUSH(tn_scratch(k->ctx), k->open, c);
    return TN_WALK_ON;
}

/* 0 < extent */
static const tn_expr *
has_elements(checks *k, const tn_call *index)
{
    const tn_expr *extent = index->args.at[1];
    return tn_lt_of(k->ctx, number(k, extent, 0), extent);
}

static void
find_all_open(checks *k, tn_list indices)
{
    k->open.n = 0;
    for (uint32_t i = 0; i < indices.n; i++)
        tn_walk(indices.at[i], 0, find_open, NULL, k);
}

static const tn_node *
guard(tn_rewriter *r, const tn_node *n)
{
    checks *k = r->user;
    tn_ctx *ctx = k->ctx;
    if (n->kind == TN_KIND_BUFFER_LOAD) {
        find_all_open(k, ((const tn_buffer_load *)n)->indices);
        for (uint32_t i = 0; i < k->open.n; i++)
            n = tn_if_then_else(ctx, has_elements(k, k->open.at[i]), n,
                                tn_cast_to(ctx, tn_dtype_of(n), TN_NODE(k->open.at[i])));
        return k->open.n ? n : NULL;
    }
    if (n->kind != TN_KIND_BUFFER_STORE)
        return NULL;
    find_all_open(k, ((const tn_buffer_store *)n)->indices);
    for (uint32_t i = 0; i < k->open.n; i++)
        n = tn_if_stmt_of(ctx, has_elements(k, k->open.at[i]), n,
                          tn_evaluate_of(ctx, TN_NODE(k->open.at[i])));
    return k->open.n ? n : NULL;
}

static const tn_node *
replace(tn_rewriter *r, const tn_node *n)
{
    checks *k = r->user;
    tn_ctx *ctx = k->ctx;
    if (n->kind != TN_KIND_CALL || !tn_is_intrin(n, TN_INTRIN_index_in))
        return NULL;
    const tn_call *c = (const tn_call *)n;
    const tn_expr *i = c->args.at[0], *extent = c->args.at[1], *zero = number(k, i, 0);
    if (!tn_is_int_const(c->args.at[2], 0))
        i = tn_select_of(ctx, tn_lt_of(ctx, i, zero), tn_add(ctx, i, extent), i);
    return k->mode == OFF
               ? i
               : tn_max(ctx, tn_min(ctx, i, tn_sub(ctx, extent, number(k, extent, 1))), zero);
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    const char *mode = pc->target ? tn_dict_str(pc->target->attrs, "check_indices", "") : "";
    checks k = {.ctx = ctx,
                .mode = !strcmp(mode, "off")     ? OFF
                        : !strcmp(mode, "clamp") ? CLAMP
                                                 : REFUSE};
    if (!tnk_checks_index(f->body))
        return f->body;
    tnk_ranged known = {0};
    tnk_ranged_init(&known, ctx, f);
    k.arith = known.arith;
    tn_rewriter guards = {.ctx = ctx, .user = &k, .post = guard};
    tn_rewriter modes = {.ctx = ctx, .user = &k, .post = replace};
    const tn_stmt *s = k.mode == OFF ? f->body : tn_rewrite(&guards, f->body);
    return k.mode == REFUSE ? s : tn_rewrite(&modes, s);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_index_checks = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerIndexChecks",
    .base.doc =
        "Makes of indices that came as data what the target's attribute check_indices says: "
        "refused, "
        "clamped or as they are.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
