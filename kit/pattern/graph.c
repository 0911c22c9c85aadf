/* SPDX-License-Identifier: Apache-2.0 */
/* A function as patterns see it: variable -> value, and who uses what. */
#include "pattern_private.h"

#include "tenon/core/walk.h"

typedef struct var_info {
    const tn_expr *value; /* NULL: a match_cast */
    TNB_VEC(const tn_expr *) users;
} var_info;

struct tnk_graph {
    tn_ctx *ctx;
    const tn_module *module; /* NULL: not known */
    tnb_ptrmap vars;         /* Var -> var_info */
    const tn_expr *user;     /* defined by the binding being scanned */
};

static var_info *
info_of(tnk_graph *g, const tn_expr *var)
{
    var_info *v = tnb_ptrmap_get(&g->vars, var);
    if (!v) {
        v = TNB_NEW(tn_scratch(g->ctx), var_info);
        tnb_ptrmap_set(&g->vars, var, v);
    }
    return v;
}

static void
scan_blocks(tnk_graph *g, tn_list blocks)
{
    for (uint32_t b = 0; b < blocks.n; b++) {
        tn_list at = tn_as_bindings_block(blocks.at[b])->bindings;
        for (uint32_t i = 0; i < at.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(at.at[i]);
            const tn_expr *var = vb ? vb->var : tn_as_match_cast(at.at[i])->var;
            var_info *v = info_of(g, var);
            v->value = vb ? vb->value : NULL;
        }
    }
}

static tn_walk_step
enter(void *user, const tn_node *n)
{
    tnk_graph *g = user;
    const tn_seq_expr *seq = tn_as_seq_expr(n);
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_match_cast *mc = tn_as_match_cast(n);
    if (seq) {
        const tn_expr *outer = g->user;
        scan_blocks(g, seq->blocks);
        for (uint32_t i = 0; i < seq->blocks.n; i++)
            tn_walk(seq->blocks.at[i], 0, enter, NULL, g);
        g->user = outer;
        tn_walk(seq->body, 0, enter, NULL, g);
        return TN_WALK_SKIP;
    }
    if (vb || mc) {
        const tn_expr *outer = g->user;
        g->user = vb ? vb->var : mc->var;
        tn_walk(vb ? vb->value : mc->value, 0, enter, NULL, g);
        g->user = outer;
        return TN_WALK_SKIP;
    }
    if (tn_is_var(n)) {
        var_info *v = info_of(g, n);
        TNB_PUSH(tn_scratch(g->ctx), v->users, g->user);
    }
    return TN_WALK_ON;
}

tnk_graph *
tnk_graph_new(tn_ctx *ctx, const tn_expr *function)
{
    tnk_graph *g = TNB_NEW(tn_scratch(ctx), tnk_graph);
    g->ctx = ctx;
    tnb_ptrmap_init(&g->vars, tn_scratch(ctx));
    const tn_function *fn = tn_as_function(function);
    if (fn)
        tn_walk(fn->body, 0, enter, NULL, g);
    return g;
}

tnk_graph *
tnk_graph_in(tn_ctx *ctx, const tn_module *m, const tn_expr *function)
{
    tnk_graph *g = tnk_graph_new(ctx, function);
    g->module = m;
    return g;
}

const tn_module *
tnk_graph_module(const tnk_graph *g)
{
    return g->module;
}

tn_ctx *
pattern_graph_ctx(const tnk_graph *g)
{
    return g->ctx;
}

const tn_expr *
tnk_graph_value(const tnk_graph *g, const tn_expr *var)
{
    const var_info *v = tnb_ptrmap_get(&g->vars, var);
    return v ? v->value : NULL;
}

const tn_expr *
tnk_graph_follow(const tnk_graph *g, const tn_expr *e, const tn_expr **var)
{
    const tn_expr *last = NULL;
    while (tn_is_var(e)) {
        const tn_expr *value = tnk_graph_value(g, e);
        if (!value)
            break;
        last = e;
        e = value;
    }
    if (var)
        *var = last;
    return e;
}

uint32_t
tnk_graph_uses(const tnk_graph *g, const tn_expr *var)
{
    const var_info *v = tnb_ptrmap_get(&g->vars, var);
    return v ? v->users.n : 0;
}

const tn_expr *
tnk_graph_user(const tnk_graph *g, const tn_expr *var, uint32_t n)
{
    const var_info *v = tnb_ptrmap_get(&g->vars, var);
    return v && n < v->users.n ? v->users.at[n] : NULL;
}
