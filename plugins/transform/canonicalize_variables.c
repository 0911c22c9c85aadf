/* SPDX-License-Identifier: Apache-2.0 */
/* CanonicalizeBindings, second step: renamings, tuples, constants, dataflow variables. A plan is
 * made over the whole function, then carried out. */
#include "canonicalize.h"

#include "tenon/core/walk.h"

/* What the plan knows of a variable. */
typedef struct facts {
    const tn_expr *value;      /* what it is bound to, looked through */
    const tn_expr *same;       /* the variable it only renames; NULL: none */
    const tn_node *block;      /* of its definition */
    bool in_dataflow, outside; /* defined in a dataflow block; used outside its block */
    bool removed;
    const tn_expr *define, *use; /* what stands in its place; NULL: itself */
} facts;

typedef struct planner {
    tn_ctx *ctx;
    tnb_ptrmap facts; /* variable -> facts */
    TNB_VEC(const tn_expr *) order;
    const tn_node *block; /* at hand; NULL: none */
} planner;

static facts *
facts_of(planner *p, const tn_expr *var)
{
    facts *f = tnb_ptrmap_get(&p->facts, var);
    if (!f) {
        f = TNB_NEW(tn_scratch(p->ctx), facts);
        tnb_ptrmap_set(&p->facts, var, f);
        TNB_PUSH(tn_scratch(p->ctx), p->order, var);
    }
    return f;
}

/* ---- the plan ---- */

static const tn_expr *
look_through(planner *p, const tn_expr *e)
{
    for (;;) {
        const facts *f = tn_is_var(e) ? tnb_ptrmap_get(&p->facts, e) : NULL;
        if (!f || !f->value || f->value == e)
            return e;
        e = f->value;
    }
}

/* (t[0], t[1]) of all of t: t itself. */
static const tn_expr *
whole_tuple(planner *p, const tn_tuple *t)
{
    const tn_tuple_get *first =
        t->fields.n ? tn_as_tuple_get(look_through(p, t->fields.at[0])) : NULL;
    const tn_ty_tuple *type = first ? tn_as_ty_tuple(first->tuple->type) : NULL;
    if (!type || type->fields.n != t->fields.n)
        return NULL;
    const tn_expr *source = look_through(p, first->tuple);
    for (uint32_t i = 0; i < t->fields.n; i++) {
        const tn_tuple_get *g = tn_as_tuple_get(look_through(p, t->fields.at[i]));
        if (!g || g->index != (int64_t)i || look_through(p, g->tuple) != source)
            return NULL;
    }
    /* the source may be a call; then the variable that holds it */
    return tn_is_var(source) ? source : first->tuple;
}

static const tn_expr *
known_value(planner *p, const tn_expr *v)
{
    const tn_tuple_get *g = tn_as_tuple_get(v);
    const tn_tuple *t = tn_as_tuple(g ? look_through(p, g->tuple) : v);
    if (g)
        return t && g->index < (int64_t)t->fields.n ? t->fields.at[g->index] : v;
    const tn_expr *whole = t ? whole_tuple(p, t) : NULL;
    return whole ? whole : v;
}

static void
plan_sequence(planner *p, const tn_expr *e);

static void
use(planner *p, const tn_expr *var)
{
    facts *f = facts_of(p, var);
    if (!tn_is(p->block, TN_KIND_DATAFLOW_BLOCK) || (f->block && f->block != p->block))
        f->outside = true;
}

static tn_walk_step
visit_use(void *user, const tn_node *n)
{
    if (tn_is_var(n) && !tn_is_scalar(n))
        use(user, n);
    return TN_WALK_ON;
}

static void
plan_function(planner *p, const tn_function *f)
{
    const tn_node *block = p->block;
    p->block = NULL;
    tn_list free = tn_free_vars(p->ctx, TN_NODE(f), false);
    for (uint32_t i = 0; i < free.n; i++)
        facts_of(p, free.at[i])->outside = true;
    plan_sequence(p, f->body);
    p->block = block;
}

static void
plan_value(planner *p, const tn_expr *v)
{
    const tn_if_expr *i = tn_as_if_expr(v);
    if (tn_is(v, TN_KIND_FUNCTION)) {
        plan_function(p, tn_as_function(v));
    } else if (i) {
        tn_walk(i->cond, TN_WALK_TYPES, visit_use, NULL, p);
        plan_sequence(p, i->then_branch);
        plan_sequence(p, i->else_branch);
    } else {
        tn_walk(v, TN_WALK_TYPES, visit_use, NULL, p);
    }
}

static void
plan_binding(planner *p, const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    const tn_match_cast *mc = tn_as_match_cast(binding);
    const tn_expr *var = vb ? vb->var : mc->var, *value = vb ? vb->value : mc->value;
    facts *f = facts_of(p, var);
    bool same_type = vb || tn_equal(p->ctx, var->type, value->type, false, NULL);
    const tn_expr *known = known_value(p, value);
    if (tn_is_var(known) && same_type)
        f->same = known;
    f->value = same_type ? known : NULL; /* behind a cast more is known than of its value */
    f->block = p->block;
    plan_value(p, value);
    f->in_dataflow = tn_is(p->block, TN_KIND_DATAFLOW_BLOCK);
}

static void
plan_sequence(planner *p, const tn_expr *e)
{
    const tn_seq_expr *s = tn_as_seq_expr(e);
    const tn_node *block = p->block;
    for (uint32_t b = 0; b < s->blocks.n; b++) {
        const tn_bindings_block *each = tn_as_bindings_block(s->blocks.at[b]);
        p->block = s->blocks.at[b];
        for (uint32_t i = 0; i < each->bindings.n; i++)
            plan_binding(p, each->bindings.at[i]);
    }
    p->block = NULL;
    tn_walk(s->body, TN_WALK_TYPES, visit_use, NULL, p);
    p->block = block;
}

static const tn_expr *
defined_as(planner *p, const tn_expr *var)
{
    for (const facts *f; (f = tnb_ptrmap_get(&p->facts, var)) && f->define;)
        var = f->define;
    return var;
}

static void
decide(planner *p)
{
    uint32_t n = p->order.n;
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *var = p->order.at[i];
        facts *f = facts_of(p, var);
        if (f->in_dataflow && !tn_is(var, TN_KIND_DATAFLOW_VAR) && !f->outside)
            f->define = f->use = tn_dataflow_var_new(p->ctx, tn_var_name(var), var->type);
    }
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *var = p->order.at[i];
        facts *f = facts_of(p, var), *g;
        if (!f->same)
            continue;
        const tn_expr *to = f->same;
        while ((g = tnb_ptrmap_get(&p->facts, to)) && g->same)
            to = g->same;
        to = defined_as(p, to);
        f->removed = true;
        if (tn_is(var, TN_KIND_DATAFLOW_VAR) || !tn_is(to, TN_KIND_DATAFLOW_VAR) || !f->outside) {
            f->use = to;
        } else { /* the variable that lives on takes over */
            g = facts_of(p, to);
            g->define = g->use = var;
        }
    }
}

/* ---- carrying it out ---- */

typedef struct doer {
    planner *p;
    tn_ctx *ctx;
    tnb_ptrmap uses;   /* variable -> what stands for it where it is used */
    tnb_ptrmap behind; /* the other way: what stands -> a var_list */
} doer;

typedef TNB_VEC(const tn_expr *) var_list;

static void
resolve_uses(doer *d)
{
    planner *p = d->p;
    for (uint32_t i = 0; i < p->order.n; i++) {
        const tn_expr *var = p->order.at[i], *now = var;
        const facts *f;
        while ((f = tnb_ptrmap_get(&p->facts, now)) && f->use)
            now = f->use;
        if (f && tn_is(f->value, TN_KIND_CONSTANT))
            now = f->value;
        if (now == var)
            continue;
        tnb_ptrmap_set(&d->uses, var, now);
        var_list *all = tnb_ptrmap_get(&d->behind, now);
        if (!all) {
            all = TNB_NEW(tn_scratch(d->ctx), var_list);
            tnb_ptrmap_set(&d->behind, now, all);
        }
        TNB_PUSH(tn_scratch(d->ctx), *all, var);
    }
}

static const tn_expr *
do_sequence(doer *d, const tn_expr *e);

static const tn_expr *
do_value(doer *d, const tn_expr *v)
{
    tn_rewriter r = {.ctx = d->ctx, .map = &d->uses, .retype = true};
    const tn_function *f = tn_as_function(v);
    const tn_if_expr *i = tn_as_if_expr(v);
    if (f) {
        const tn_expr *body = do_sequence(d, f->body);
        return body == f->body ? v : transform_function(d->ctx, f, f->params, body, f->ret);
    }
    if (!i)
        return tn_rewrite(&r, v);
    const tn_expr *cond = tn_rewrite(&r, i->cond);
    const tn_expr *a = do_sequence(d, i->then_branch), *b = do_sequence(d, i->else_branch);
    if (cond == i->cond && a == i->then_branch && b == i->else_branch)
        return v;
    return tn_if_expr_of(d->ctx, cond, a, b);
}

static const tn_expr *
do_definition(doer *d, const tn_expr *var, const tn_type *type)
{
    const tn_expr *now = defined_as(d->p, var);
    if (type && !tn_type_equal(d->ctx, now->type, type)) {
        const tn_expr *typed = tn_var_retyped(d->ctx, now, type);
        tnb_ptrmap_set(&d->uses, var, typed);
        tnb_ptrmap_set(&d->uses, now, typed);
        /* renamings of it lead to the new form too */
        const var_list *all = tnb_ptrmap_get(&d->behind, now);
        for (uint32_t i = 0; all && i < all->n; i++)
            tnb_ptrmap_set(&d->uses, all->at[i], typed);
        now = typed;
    }
    return now;
}

static const tn_node *
do_binding(doer *d, const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    const tn_match_cast *mc = tn_as_match_cast(binding);
    const tn_expr *var = vb ? vb->var : mc->var, *old = vb ? vb->value : mc->value;
    const facts *f = tnb_ptrmap_get(&d->p->facts, var);
    if (f && f->removed)
        return tn_removed();
    const tn_expr *value = do_value(d, old);
    if (tn_is_error(value))
        return value;
    const tn_expr *now = do_definition(d, var, vb && value != old ? value->type : NULL);
    if (now == var && value == old)
        return binding;
    return vb ? tn_var_binding_of(d->ctx, now, value)
              : tn_match_cast_of(d->ctx, now, value, mc->to);
}

/* ---- blocks ---- */

static const tn_expr *
do_sequence(doer *d, const tn_expr *e)
{
    const tn_seq_expr *s = tn_as_seq_expr(e);
    tn_list blocks = s->blocks;
    for (uint32_t b = 0; b < s->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(s->blocks.at[b]);
        bool dataflow = tn_is(TN_NODE(block), TN_KIND_DATAFLOW_BLOCK), changed = false;
        const tn_node **out = TNB_NEW_N(tn_scratch(d->ctx), const tn_node *, block->bindings.n);
        uint32_t n = 0;
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            tn_loc old = tn_at(d->ctx, block->bindings.at[i]->loc);
            const tn_node *now = do_binding(d, block->bindings.at[i]);
            tn_at(d->ctx, old);
            changed |= now != block->bindings.at[i];
            if (tn_is_error(now))
                return now;
            if (now != tn_removed())
                out[n++] = now;
        }
        const tn_node *nb = TN_NODE(block);
        if (changed)
            nb = tn_binding_block_of(d->ctx, tn_list_of(d->ctx, out, n), dataflow);
        if (nb != TN_NODE(block))
            tn_list_change(d->ctx, &blocks, s->blocks, b, nb);
    }
    tn_rewriter r = {.ctx = d->ctx, .map = &d->uses};
    const tn_expr *body = tn_rewrite(&r, s->body);
    if (blocks.at == s->blocks.at && body == s->body)
        return e;
    return transform_sequence(d->ctx, blocks, body);
}

const tn_node *
canonicalize_variables(tn_ctx *ctx, const tn_function *f)
{
    planner p = {.ctx = ctx};
    tnb_ptrmap_init(&p.facts, tn_scratch(ctx));
    plan_function(&p, f);
    decide(&p);
    doer d = {.p = &p, .ctx = ctx};
    tnb_ptrmap_init(&d.uses, tn_scratch(ctx));
    tnb_ptrmap_init(&d.behind, tn_scratch(ctx));
    resolve_uses(&d);
    return do_value(&d, TN_NODE(f));
}
