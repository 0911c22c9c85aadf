/* SPDX-License-Identifier: Apache-2.0 */
/* ComputePrimValue: scalar expressions in graph code become calls of host functions.
 *
 *     R.call_packed("f", x, n * 4 + 1)               pv = cls.compute_symbolic_expr(n)
 *                                                    R.call_packed("f", x, pv)
 *
 * Concerns call arguments, bound values and If conditions, not the extents of shapes and types; integer literals and variables stay as they are. Equal
 * functions are shared. Cases: tests/pass/ComputePrimValue.
 */
#include "transform.h"

#include "tenon/core/builder.h"
#include "tenon/core/walk.h"

typedef struct lowering {
    tn_ctx *ctx;
    tn_builder *b;
    TNB_VEC(const tn_node *) out;
    bool any;
} lowering;

static bool
is_compound(const tn_node *e)
{
    return tn_is_scalar(e) && !tn_is_var(e) && !tn_is(e, TN_KIND_INT_IMM) &&
           !tn_is(e, TN_KIND_TUPLE_GET) && !tn_is(e, TN_KIND_IF_EXPR) &&
           !(tn_is(e, TN_KIND_CALL) && !tn_is(((const tn_call *)e)->op, TN_KIND_OP_REF)) &&
           !(tn_is(e, TN_KIND_CALL) && !(tn_call_op_of((const tn_call *)e)->flags & TN_OP_SCALAR));
}

/* A call of a host function that returns the expression's value. */
static const tn_expr *
host_call(lowering *l, const tn_expr *e)
{
    tn_list vars = tn_free_vars(l->ctx, e, false), params = {0}, none = {0};
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(l->ctx));
    for (uint32_t i = 0; i < vars.n; i++) {
        const tn_expr *p = tn_var_new(l->ctx, tn_var_name(vars.at[i]), vars.at[i]->type);
        tnb_ptrmap_set(&map, vars.at[i], p);
        params = tn_list_append(l->ctx, params, p);
        none = tn_list_append(l->ctx, none, NULL);
    }
    const tn_node *attrs = tn_dictv(l->ctx, "s_tir", tn_bool(l->ctx, true), "tirx.is_host_func",
                                    tn_bool(l->ctx, true), NULL);
    const tn_stmt *body = tn_return_of(l->ctx, tn_subst(l->ctx, e, &map));
    const tn_node *func = tn_prim_func_of(l->ctx, params, none, body, e->type, attrs);
    const tn_expr *gv = tn_builder_add_function(l->b, func, "compute_symbolic_expr");
    l->any = true;
    return tn_call_of(l->ctx, gv, vars, NULL, (tn_list){0}, e->type);
}

static const tn_expr *
lower_leaf(lowering *l, const tn_expr *e)
{
    const tn_tuple *t = tn_as_tuple(e);
    if (is_compound(e)) {
        const tn_expr *call = host_call(l, e), *v = tn_var_new(l->ctx, "pv", e->type);
        TNB_PUSH(tn_scratch(l->ctx), l->out, tn_var_binding_of(l->ctx, v, call));
        return v;
    }
    if (!t)
        return e;
    tn_list fields = t->fields;
    for (uint32_t i = 0; i < fields.n; i++) {
        const tn_expr *f = lower_leaf(l, fields.at[i]);
        if (f != fields.at[i])
            tn_list_change(l->ctx, &fields, t->fields, i, f);
    }
    return fields.at == t->fields.at ? e : tn_tuple_of(l->ctx, fields);
}

static const tn_expr *
lower_value(lowering *l, const tn_expr *v)
{
    if (is_compound(v))
        return host_call(l, v);
    const tn_if_expr *branch = tn_as_if_expr(v);
    if (branch && is_compound(branch->cond))
        return tn_if_expr_of(l->ctx, lower_leaf(l, branch->cond), branch->then_branch,
                             branch->else_branch);
    const tn_call *c = tn_as_call(v);
    if (!c)
        return lower_leaf(l, v);
    tn_list args = c->args;
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_expr *a = lower_leaf(l, args.at[i]);
        if (a != args.at[i])
            tn_list_change(l->ctx, &args, c->args, i, a);
    }
    return args.at == c->args.at ? v
                                 : tn_call_of(l->ctx, c->op, args, c->attrs, c->ty_args, v->type);
}

/* What a body or branch gives. */
static const tn_node *
lower_result(lowering *l, const tn_seq_expr *s)
{
    l->out.n = 0;
    const tn_expr *result = lower_leaf(l, s->body);
    if (result == s->body)
        return NULL;
    const tn_node *block =
        tn_binding_block_of(l->ctx, tn_list_of(l->ctx, l->out.at, l->out.n), false);
    return transform_sequence(l->ctx, tn_list_append(l->ctx, s->blocks, block), result);
}

static const tn_node *
lower_block(tn_rewriter *r, const tn_node *n)
{
    lowering *l = r->user;
    const tn_bindings_block *b = tn_as_bindings_block(n);
    const tn_seq_expr *s = tn_as_seq_expr(n);
    if (s)
        return lower_result(l, s);
    if (!b)
        return NULL;
    l->out.n = 0;
    bool changed = false;
    for (uint32_t i = 0; i < b->bindings.n; i++) {
        const tn_node *binding = b->bindings.at[i];
        const tn_var_binding *vb = tn_as_var_binding(binding);
        tn_loc old = tn_at(l->ctx, binding->loc);
        const tn_expr *value = vb ? lower_value(l, vb->value) : NULL;
        changed |= vb && value != vb->value;
        TNB_PUSH(tn_scratch(l->ctx), l->out,
                 !vb || value == vb->value ? binding : tn_var_binding_of(l->ctx, vb->var, value));
        tn_at(l->ctx, old);
    }
    return changed ? tn_binding_block_of(l->ctx, tn_list_of(l->ctx, l->out.at, l->out.n),
                                         tn_is(n, TN_KIND_DATAFLOW_BLOCK))
                   : NULL;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    lowering l = {.ctx = pc->ctx, .b = tn_builder_new(pc->ctx, m)};
    TNB_VEC(const char *) names = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    for (uint32_t i = 0; i < m->names.n; i++) {
        if (!tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            continue;
        tn_rewriter r = {.ctx = pc->ctx, .user = &l, .post = lower_block, .reach = TN_REACH_BLOCKS};
        const tn_node *nf = tn_rewrite(&r, m->funcs.at[i]);
        if (tn_is_error(nf))
            return NULL;
        if (nf != m->funcs.at[i]) {
            TNB_PUSH(tn_scratch(pc->ctx), names, tn_module_name(m, i));
            TNB_PUSH(tn_scratch(pc->ctx), funcs, nf);
        }
    }
    return l.any ? tn_module_set_all(pc->ctx, tn_builder_module(l.b), names.at, funcs.at, names.n)
                 : m;
}

const tn_pass transform_compute_prim_value = {
    .base.size = sizeof(tn_pass),
    .base.name = "ComputePrimValue",
    .base.doc = "move scalar expressions of graph code into host functions",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
