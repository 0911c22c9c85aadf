/* SPDX-License-Identifier: Apache-2.0 */
/* Rebuilding functions and sequences, and removal of bindings that nobody uses: shared by passes.
 */
#include "transform.h"

#include "tenon/core/walk.h"

const tn_expr *
transform_sequence(tn_ctx *ctx, tn_list blocks, const tn_expr *body)
{
    TNB_VEC(const tn_node *) out = {0};
    for (uint32_t i = 0; i < blocks.n; i++) {
        const tn_bindings_block *b = tn_as_bindings_block(blocks.at[i]);
        const tn_bindings_block *last = out.n ? tn_as_bindings_block(out.at[out.n - 1]) : NULL;
        if (!b->bindings.n)
            continue;
        if (!last || last->base.kind != b->base.kind) {
            TNB_PUSH(tn_scratch(ctx), out, blocks.at[i]);
            continue;
        }
        uint32_t n = last->bindings.n + b->bindings.n;
        const tn_node **both = TNB_NEW_N(tn_scratch(ctx), const tn_node *, n);
        memcpy(both, last->bindings.at, last->bindings.n * sizeof *both);
        memcpy(both + last->bindings.n, b->bindings.at, b->bindings.n * sizeof *both);
        out.at[out.n - 1] = tn_binding_block_of(ctx, tn_list_of(ctx, both, n),
                                                b->base.kind == TN_KIND_DATAFLOW_BLOCK);
    }
    return tn_seq_expr_of(ctx, tn_list_of(ctx, out.at, out.n), body);
}

const tn_expr *
transform_function(tn_ctx *ctx, const tn_function *f, tn_list params, const tn_expr *body,
                   const tn_type *ret)
{
    if (tn_is_error(body) || tn_is_error(ret))
        return tn_error_node(ctx);
    if (ret && body->type && tn_type_check(ctx, ret, body->type) == TN_SUBTYPE_YES)
        ret = NULL;
    tn_loc old = tn_at(ctx, f->base.loc);
    const tn_expr *out = tn_function_of(ctx, params, body, ret, f->pure, f->attrs);
    tn_at(ctx, old);
    return out;
}

/* ---- unused bindings ---- */

typedef struct pruner {
    tn_ctx *ctx;
    const tn_module *m;
    tnb_ptrmap used;
} pruner;

static tn_walk_step
note_use(void *user, const tn_node *n)
{
    pruner *p = user;
    if (tn_is_var(n))
        tnb_ptrmap_set(&p->used, n, p);
    return n->flags & TN_FLAG_CLOSED ? TN_WALK_SKIP : TN_WALK_ON;
}

static tn_walk_step
find_impure(void *user, const tn_node *n)
{
    const tn_call *c = tn_as_call(n);
    if (tn_is(n, TN_KIND_FUNCTION))
        return TN_WALK_SKIP; /* a function that is not called does nothing */
    return c && !tn_call_is_pure_in(user, c) ? TN_WALK_STOP : TN_WALK_ON;
}

bool
transform_has_effects(const tn_module *m, const tn_expr *value)
{
    /* the walk hands its user pointer through untouched */
    void *user;
    memcpy(&user, &m, sizeof user);
    return !tn_walk(value, 0, find_impure, NULL, user);
}

static const tn_expr *
prune_sequence(pruner *p, const tn_expr *e);

static const tn_expr *
prune_function(pruner *p, const tn_function *f)
{
    for (uint32_t i = 0; i < f->params.n; i++)
        tn_walk(f->params.at[i]->type, TN_WALK_TYPES, note_use, NULL, p);
    if (f->ret)
        tn_walk(f->ret, TN_WALK_TYPES, note_use, NULL, p);
    const tn_expr *body = prune_sequence(p, f->body);
    return body == f->body ? TN_NODE(f) : transform_function(p->ctx, f, f->params, body, f->ret);
}

/* A value that stays: what it uses is noted, what it contains is pruned. */
static const tn_expr *
prune_value(pruner *p, const tn_expr *v)
{
    const tn_if_expr *i = tn_as_if_expr(v);
    if (tn_is(v, TN_KIND_FUNCTION))
        return prune_function(p, tn_as_function(v));
    if (!i) {
        tn_walk(v, TN_WALK_TYPES, note_use, NULL, p);
        return v;
    }
    note_use(p, i->cond);
    const tn_expr *a = prune_sequence(p, i->then_branch), *b = prune_sequence(p, i->else_branch);
    if (a == i->then_branch && b == i->else_branch)
        return v;
    tn_loc old = tn_at(p->ctx, v->loc);
    v = tn_if_expr_of(p->ctx, i->cond, a, b);
    tn_at(p->ctx, old);
    return v;
}

/* From the end, so that chains go at once. */
static const tn_expr *
prune_sequence(pruner *p, const tn_expr *e)
{
    const tn_seq_expr *s = tn_as_seq_expr(e);
    tn_walk(s->body, TN_WALK_TYPES, note_use, NULL, p);
    tn_list blocks = s->blocks;
    for (uint32_t b = s->blocks.n; b-- > 0;) {
        const tn_bindings_block *block = tn_as_bindings_block(s->blocks.at[b]);
        uint32_t n = block->bindings.n, at = n;
        const tn_node **kept = TNB_NEW_N(tn_scratch(p->ctx), const tn_node *, n);
        bool changed = n == 0;
        for (uint32_t i = n; i-- > 0;) {
            const tn_node *binding = block->bindings.at[i];
            const tn_var_binding *vb = tn_as_var_binding(binding);
            const tn_match_cast *mc = tn_as_match_cast(binding);
            if (vb && !tnb_ptrmap_has(&p->used, vb->var) &&
                !transform_has_effects(p->m, vb->value)) {
                changed = true;
                continue;
            }
            const tn_expr *old_value = mc ? mc->value : vb->value;
            const tn_expr *value = prune_value(p, old_value);
            tn_walk(mc ? mc->to : vb->var->type, TN_WALK_TYPES, note_use, NULL, p);
            if (value != old_value) {
                tn_loc old = tn_at(p->ctx, binding->loc);
                binding = mc ? tn_match_cast_of(p->ctx, mc->var, value, mc->to)
                             : tn_var_binding_of(p->ctx, vb->var, value);
                tn_at(p->ctx, old);
                changed = true;
            }
            kept[--at] = binding;
        }
        if (changed)
            tn_list_change(p->ctx, &blocks, s->blocks, b,
                           tn_binding_block_of(p->ctx, tn_list_of(p->ctx, kept + at, n - at),
                                               tn_is(TN_NODE(block), TN_KIND_DATAFLOW_BLOCK)));
    }
    return blocks.at == s->blocks.at ? e : transform_sequence(p->ctx, blocks, s->body);
}

const tn_node *
transform_drop_unused(tn_ctx *ctx, const tn_module *m, const tn_node *func)
{
    const tn_function *f = tn_as_function(func);
    if (!f)
        return func;
    pruner p = {.ctx = ctx, .m = m};
    tnb_ptrmap_init(&p.used, tn_scratch(ctx));
    return prune_function(&p, f);
}
