/* SPDX-License-Identifier: Apache-2.0 */
/* Five wrong passes. Each makes one mistake, at the first place (or, for storages, at every place)
 * that allows it; modules without such a place stay as they are. */
#include "broken.h"

#include "tenon/core/walk.h"

/* The rewriter's callbacks share this: the mistake is made once. */
typedef struct mistake {
    tn_ctx *ctx;
    bool made;
    /* BreakBroadcast, BreakBound: where we are */
    const tn_node *store;
} mistake;

static const tn_module *
rewrite_all(const tn_pass_ctx *pc, const tn_module *m,
            const tn_node *(*pre)(tn_rewriter *, const tn_node *),
            const tn_node *(*post)(tn_rewriter *, const tn_node *), unsigned which)
{
    mistake user = {.ctx = pc->ctx};
    tn_rewriter r = {.ctx = pc->ctx, .user = &user, .pre = pre, .post = post};
    for (uint32_t i = 0; i < m->names.n && !user.made; i++) {
        const tn_node *f = m->funcs.at[i];
        bool graph = tn_is(f, TN_KIND_FUNCTION), tensor = tn_is(f, TN_KIND_PRIM_FUNC);
        if (!(graph && (which & TN_FUNCTIONS)) && !(tensor && (which & TN_PRIM_FUNCS)))
            continue;
        const tn_node *nf = tn_rewrite(&r, f);
        if (tn_is_error(nf))
            return NULL;
        if (nf != f)
            m = tn_module_set(pc->ctx, m, tn_module_name(m, i), nf);
    }
    return m;
}

/* ---- a dropped binding: y = f(x) becomes y = x ---- */

static const tn_node *
drop_binding(tn_rewriter *r, const tn_node *n)
{
    mistake *k = r->user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_call *c = vb ? tn_as_call(vb->value) : NULL;
    if (k->made || !c || !tn_is(vb->var->type, TN_KIND_TY_TENSOR))
        return NULL;
    tn_list args = c->args;
    if (tn_is_call_to(vb->value, "relax.call_tir"))
        args = tn_as_tuple(args.at[1]) ? tn_as_tuple(args.at[1])->fields : (tn_list){0};
    for (uint32_t i = 0; i < args.n; i++)
        if (tn_is_var(args.at[i]) &&
            tn_equal(k->ctx, args.at[i]->type, vb->var->type, true, NULL)) {
            k->made = true;
            return tn_var_binding_of(k->ctx, vb->var, args.at[i]);
        }
    return NULL;
}

static const tn_module *
run_drop_binding(const tn_pass_ctx *pc, const tn_module *m)
{
    return rewrite_all(pc, m, NULL, drop_binding, TN_FUNCTIONS);
}

/* ---- a wrong broadcast: b[j] beside out[i, j] becomes b[0] ---- */

static const tn_node *
wrong_broadcast(tn_rewriter *r, const tn_node *n)
{
    mistake *k = r->user;
    const tn_buffer_store *s = tn_as_buffer_store(n);
    if (s)
        k->store = n;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const tn_buffer_store *to = tn_as_buffer_store(k->store);
    if (k->made || !l || !to || l->buffer == to->buffer || l->indices.n == 0 ||
        l->indices.n >= to->indices.n)
        return NULL;
    for (uint32_t i = 0; i < l->indices.n; i++)
        if (tn_is_var(l->indices.at[i]) &&
            !tn_is_int_const(tn_as_buffer(l->buffer)->shape.at[i], 1)) {
            tn_list indices = tn_list_with(k->ctx, l->indices, i,
                                           tn_int_imm_of(k->ctx, tn_dtype_of(l->indices.at[i]), 0));
            k->made = true;
            return tn_buffer_load_of(k->ctx, l->buffer, indices);
        }
    return NULL;
}

static const tn_module *
run_wrong_broadcast(const tn_pass_ctx *pc, const tn_module *m)
{
    return rewrite_all(pc, m, wrong_broadcast, NULL, TN_PRIM_FUNCS);
}

/* ---- a lost transpose: the elements stay where they are, only the shape changes ---- */

static const tn_node *
lose_transpose(tn_rewriter *r, const tn_node *n)
{
    mistake *k = r->user;
    const tn_call *c = tn_is_call_to(n, "relax.permute_dims");
    tn_list dims;
    if (k->made || !c || !tn_type_dims(n->type, &dims))
        return NULL;
    k->made = true;
    return tn_call_opv(k->ctx, "relax.reshape", NULL, c->args.at[0], tn_shape_expr_of(k->ctx, dims),
                       NULL);
}

static const tn_module *
run_lose_transpose(const tn_pass_ctx *pc, const tn_module *m)
{
    return rewrite_all(pc, m, NULL, lose_transpose, TN_FUNCTIONS);
}

/* ---- a storage reused too early: every tensor begins at the same place ---- */

static const tn_node *
reuse_storage(tn_rewriter *r, const tn_node *n)
{
    mistake *k = r->user;
    const tn_call *c = tn_is_call_to(n, "relax.memory.alloc_tensor");
    if (!c || tn_is_int_const(c->args.at[1], 0))
        return NULL;
    return tn_call_op(k->ctx, "relax.memory.alloc_tensor",
                      tn_list_with(k->ctx, c->args, 1, tn_i64(k->ctx, 0)), NULL);
}

static const tn_module *
run_reuse_storage(const tn_pass_ctx *pc, const tn_module *m)
{
    return rewrite_all(pc, m, NULL, reuse_storage, TN_FUNCTIONS);
}

/* ---- an off-by-one bound: a loop ends one turn early ---- */

static const tn_node *
shorten_loop(tn_rewriter *r, const tn_node *n)
{
    mistake *k = r->user;
    const tn_for_loop *f = tn_as_for_loop(n);
    if (k->made || !f || tn_is_int_const(f->extent, 1))
        return NULL;
    k->made = true;
    return tn_for_of(k->ctx, f->var, f->min,
                     tn_sub(k->ctx, f->extent, tn_int_imm_of(k->ctx, tn_dtype_of(f->extent), 1)),
                     (tn_for_kind)f->for_kind, f->thread_tag, f->annotations, f->body);
}

static const tn_module *
run_shorten_loop(const tn_pass_ctx *pc, const tn_module *m)
{
    return rewrite_all(pc, m, NULL, shorten_loop, TN_PRIM_FUNCS);
}

#define BROKEN(id, pass_name, text)                                 \
    static const tn_pass pass_##id = {.base.size = sizeof(tn_pass), \
                                      .base.name = pass_name,       \
                                      .base.doc = text,             \
                                      .run = run_##id,              \
                                      .needs = "op"}

BROKEN(drop_binding, "BreakDropBinding", "drops a binding");
BROKEN(wrong_broadcast, "BreakBroadcast", "broadcasts one element too far");
BROKEN(lose_transpose, "BreakTranspose", "loses a transpose");
BROKEN(reuse_storage, "BreakStorage", "reuses storage too early");
BROKEN(shorten_loop, "BreakBound", "ends a loop one iteration early");

const tn_pass *const broken_passes[N_ALL_PASSES] = {&pass_drop_binding,      &pass_wrong_broadcast,
                                                    &pass_lose_transpose,    &pass_reuse_storage,
                                                    &pass_shorten_loop,      &broken_reverse,
                                                    &broken_reverse_wrongly, &broken_itself,
                                                    &broken_parameters,      &broken_zeros,
                                                    &broken_nothing};
