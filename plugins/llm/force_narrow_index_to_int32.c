/* SPDX-License-Identifier: Apache-2.0 */
/* ForceNarrowIndexToInt32: all int64 of a tensor program becomes int32, whether it provably fits or not.
 *
 *     n = T.int64()                                             n = T.int32()
 *     A = T.match_buffer(a, (n, T.int64(8)), "float32")         A = T.match_buffer(a, (n, 8), "float32")
 *     for i, j in T.grid(n, T.int64(8)):                 =>     for i, j in T.grid(n, 8):
 *         ... A[vi, vj]                                             ... A[vi, vj]
 *
 * Variables, extents of buffers, loops, constants, and what they are computed to; casts to int64 fall away. Numbers in attributes and annotations stay. For targets without int64, where
 * nothing is larger than 2^31: lowering narrows by itself what it proves to fit (NarrowDataType), so that no profile has this pass. A
 * program stays as it is that has data of int64, uint64 or constants that do not fit (upstream ends in an error then), or takes scalars
 * of int64, which its callers give as such. Cases: tests/pass/ForceNarrowIndexToInt32.
 */
#include "llm.h"

#include "tenon/core/walk.h"

typedef struct narrower {
    tn_ctx *ctx;
    tnb_ptrmap vars; /* int64 -> int32 */
    bool stays;
} narrower;

static bool
is_wide(const tn_node *n)
{
    const tnb_dtype d = n->type && n->type->kind == TN_KIND_TY_PRIM ? tn_dtype_of(n) : TNB_VOID;
    return d.code == TNB_INT && d.bits == 64;
}

/* Attributes and annotations: their numbers are no indices. */
static bool
is_told(tn_ctx *ctx, const tn_node *n)
{
    return n->kind == TN_KIND_DICT && tn_free_vars(ctx, n, false).n == 0;
}

static const tn_node *
keep_told(tn_rewriter *r, const tn_node *n)
{
    return is_told(r->ctx, n) ? n : NULL;
}

/* Finds the variables, and what a program must not have. */
static tn_walk_step
look(void *user, const tn_node *n)
{
    narrower *w = user;
    const tn_buffer *b = tn_as_buffer(n);
    if (is_told(w->ctx, n))
        return TN_WALK_SKIP;
    const tn_int_imm *i = is_wide(n) ? tn_as_int_imm(n) : NULL;
    if (b && (b->dtype.code == TNB_INT || b->dtype.code == TNB_UINT) && b->dtype.bits == 64)
        w->stays = true;
    if (i && (i->value > INT32_MAX || i->value < INT32_MIN))
        w->stays = true;
    if (n->kind == TN_KIND_VAR && is_wide(n) && !tnb_ptrmap_get(&w->vars, n))
        tnb_ptrmap_set(&w->vars, n, tn_var_dtype(w->ctx, tn_var_name(n), TNB_I32));
    return w->stays ? TN_WALK_STOP : TN_WALK_ON;
}

static tnb_dtype
narrow_dtype(const tn_node *n)
{
    tnb_dtype d = tn_dtype_of(n);
    d.bits = 32;
    return d;
}

static const tn_node *
narrow(tn_rewriter *r, const tn_node *n)
{
    if (!is_wide(n))
        return NULL;
    if (n->kind == TN_KIND_INT_IMM)
        return tn_int_imm_of(r->ctx, narrow_dtype(n), ((const tn_int_imm *)n)->value);
    if (n->kind == TN_KIND_CAST)
        return tn_cast_to(r->ctx, narrow_dtype(n), ((const tn_cast *)n)->value);
    return tn_rebuild(r->ctx, (tn_kind)n->kind, n, tn_ty_prim_of(r->ctx, narrow_dtype(n)));
}

static const tn_node *
run_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
             void *user)
{
    const tn_prim_func *f = tn_as_prim_func(func);
    narrower w = {.ctx = pc->ctx};
    (void)m, (void)name, (void)user;
    tnb_ptrmap_init(&w.vars, tn_scratch(pc->ctx));
    for (uint32_t i = 0; i < f->params.n; i++)
        w.stays |= is_wide(f->params.at[i]);
    if (!w.stays)
        tn_walk(func, TN_WALK_TYPES, look, NULL, &w);
    if (w.stays)
        return func;
    tn_rewriter r = {
        .ctx = pc->ctx, .pre = keep_told, .post = narrow, .map = &w.vars, .retype = true};
    return tn_rewrite(&r, func);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, run_function, NULL);
}

const tn_pass llm_force_narrow_index_to_int32 = {
    .base.size = sizeof(tn_pass),
    .base.name = "ForceNarrowIndexToInt32",
    .base.doc = "make all int64 of tensor programs int32, whether it fits or not",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
