/* SPDX-License-Identifier: Apache-2.0 */
/* CanonicalizeBindings, first step: symbolic variables that match_casts determine. */
#include "canonicalize.h"

#include "bind.h"

#include "tenon/core/arith.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

typedef struct knowledge {
    const tn_expr *var, *value;
    const tn_expr *source; /* the variable whose match_cast told */
} knowledge;

typedef struct canonicalizer {
    tn_ctx *ctx;
    tnb_ptrmap known;   /* symbolic variable -> value; variable -> its renewed form */
    tnb_ptrmap renewed; /* variable -> its renewed form alone */
    tnb_ptrmap runtime; /* symbolic variables that are used as values */
    tnb_ptrmap
        given; /* symbolic variables of parameters: a match_cast of other variables only checks them */
    TNB_VEC(knowledge) facts;
    const tn_match_cast *cast; /* the one at hand */
    bool has_runtime_use, failed;
} canonicalizer;

/* ---- which symbolic variables are values ---- */

static tn_walk_step
note_runtime(void *user, const tn_node *n)
{
    if (tn_is(n, TN_KIND_SHAPE_EXPR) || tn_is_type(n))
        return TN_WALK_SKIP;
    if (tn_is(n, TN_KIND_VAR) && tn_is_scalar(n))
        tnb_ptrmap_set(user, n, user);
    return TN_WALK_ON;
}

/* ---- facts ---- */

static const knowledge *
find_fact(const canonicalizer *c, const tn_expr *var)
{
    for (uint32_t i = c->facts.n; i-- > 0;)
        if (c->facts.at[i].var == var)
            return &c->facts.at[i];
    return NULL;
}

static bool
differ(tn_ctx *ctx, const tn_expr *a, const tn_expr *b)
{
    int64_t v;
    const tn_expr *d = tn_simplify_now(ctx, tn_sub(ctx, a, b));
    return tn_int_value(d, &v) && v != 0;
}

static bool
note_fact(void *user, const tn_expr *var, const tn_expr *value)
{
    canonicalizer *c = user;
    tn_ctx *ctx = c->ctx;
    value = bind_in(ctx, value, &c->known); /* the cast's value has its type as written */
    int64_t number;
    if (var == value || (tnb_ptrmap_has(&c->given, var) && !tn_int_value(value, &number)))
        return true;
    c->has_runtime_use |= tnb_ptrmap_has(&c->runtime, var);
    const knowledge *k = find_fact(c, var);
    if (!k) {
        knowledge now = {var, value, c->cast->var};
        TNB_PUSH(tn_scratch(ctx), c->facts, now);
        tnb_ptrmap_set(&c->known, var, value);
        return true;
    }
    if (!differ(ctx, k->value, value))
        return true;
    tn_error(ctx, c->cast->base.loc, TNB_INVALID,
             "match_casts contradict each other: '%s' makes symbolic variable '%s' %s, but '%s' "
             "makes it %s",
             tn_var_name(k->source), tn_var_name(var), tn_text(ctx, k->value),
             tn_var_name(c->cast->var), tn_text(ctx, value));
    c->failed = true;
    return false;
}

static void
forget_facts(canonicalizer *c, uint32_t to)
{
    while (c->facts.n > to)
        tnb_ptrmap_remove(&c->known, c->facts.at[--c->facts.n].var);
}

/* ---- replacing ---- */

/* A call's type follows from its operands: it is not replaced but inferred again. */
static const tn_node *
replace_in_call(tn_rewriter *r, const tn_call *call)
{
    canonicalizer *c = r->user;
    tn_list args = tn_rewrite_list(r, call->args), ty_args = tn_rewrite_list(r, call->ty_args);
    const tn_node *op = tn_rewrite_child(r, call->op);
    if (args.at == call->args.at && ty_args.at == call->ty_args.at && op == call->op)
        return TN_NODE(call);
    const tn_type *type =
        tn_is(op, TN_KIND_OP_REF) ? NULL : bind_in(c->ctx, call->base.type, &c->known);
    return tn_call_of(c->ctx, op, args, call->attrs, ty_args, type);
}

/* Shapes and types take what is known of symbolic variables; values keep them. */
static const tn_node *
replace_in_shapes(tn_rewriter *r, const tn_node *n)
{
    canonicalizer *c = r->user;
    if (tn_is(n, TN_KIND_CALL) && !tn_is_scalar(n))
        return replace_in_call(r, tn_as_call(n));
    if (n->flags & TN_FLAG_CLOSED || !(tn_is_type(n) || tn_is(n, TN_KIND_SHAPE_EXPR)))
        return NULL;
    return bind_in(c->ctx, n, &c->known);
}

static const tn_node *
replace(canonicalizer *c, const tn_node *n)
{
    if (!c->facts.n && !c->renewed.n)
        return n;
    tn_rewriter r = {
        .ctx = c->ctx, .user = c, .pre = replace_in_shapes, .map = &c->renewed, .retype = true};
    return tn_rewrite(&r, n);
}

static const tn_expr *
renew(canonicalizer *c, const tn_expr *var, const tn_type *type)
{
    if (tn_is_error(type) || type == var->type)
        return var;
    const tn_expr *now = tn_var_retyped(c->ctx, var, type);
    tnb_ptrmap_set(&c->known, var, now);
    tnb_ptrmap_set(&c->renewed, var, now);
    return now;
}

/* ---- sequences ---- */

static const tn_expr *
do_sequence(canonicalizer *c, const tn_expr *e);

/* A branch whose value lost symbolic dimensions that the other branch keeps: cast back. */
static const tn_expr *
with_type(canonicalizer *c, const tn_expr *branch, const tn_type *type, const char *name)
{
    if (tn_is_error(branch) || !type || tn_equal(c->ctx, type, branch->type, false, NULL))
        return branch;
    const tn_seq_expr *s = tn_as_seq_expr(branch);
    const tn_expr *var = tn_var_new(c->ctx, name, type);
    const tn_node *cast = tn_match_cast_of(c->ctx, var, s->body, type);
    if (tn_is_error(cast))
        return cast;
    const tn_node *block = tn_binding_block_of(c->ctx, tn_listv(c->ctx, cast, NULL), false);
    return transform_sequence(c->ctx, tn_list_append(c->ctx, s->blocks, block), var);
}

static const tn_expr *
do_if(canonicalizer *c, const tn_if_expr *i)
{
    const tn_expr *cond = replace(c, i->cond);
    uint32_t mark = c->facts.n;
    const tn_expr *a = do_sequence(c, i->then_branch);
    forget_facts(c, mark);
    const tn_expr *b = do_sequence(c, i->else_branch);
    forget_facts(c, mark);
    if (cond == i->cond && a == i->then_branch && b == i->else_branch)
        return TN_NODE(i);
    const tn_type *type = replace(c, i->base.type);
    a = with_type(c, a, type, "then_branch_with_dyn");
    b = with_type(c, b, type, "else_branch_with_dyn");
    if (tn_is_error(a) || tn_is_error(b))
        return tn_error_node(c->ctx);
    return tn_if_expr_of(c->ctx, cond, a, b);
}

static const tn_expr *
do_value(canonicalizer *c, const tn_expr *v)
{
    const tn_function *f = tn_as_function(v);
    if (tn_is(v, TN_KIND_IF_EXPR))
        return do_if(c, tn_as_if_expr(v));
    if (!f)
        return replace(c, v);
    uint32_t mark = c->facts.n;
    tn_list params = f->params, given = tn_defined_symbols(c->ctx, v);
    for (uint32_t i = 0; i < given.n; i++)
        tnb_ptrmap_set(&c->given, given.at[i], c);
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_expr *p = renew(c, f->params.at[i], replace(c, f->params.at[i]->type));
        if (p != f->params.at[i])
            tn_list_change(c->ctx, &params, f->params, i, p);
    }
    const tn_type *ret = f->ret ? replace(c, f->ret) : NULL;
    const tn_expr *body = do_sequence(c, f->body);
    forget_facts(c, mark);
    if (params.at == f->params.at && body == f->body && ret == f->ret)
        return v;
    return transform_function(c->ctx, f, params, body, ret);
}

static const tn_node *
do_cast(canonicalizer *c, const tn_match_cast *mc)
{
    c->cast = mc;
    c->has_runtime_use = false;
    if (mc->value->type && !bind_match(mc->to, mc->value->type, note_fact, c))
        return tn_error_node(c->ctx);
    const tn_expr *value = replace(c, mc->value);
    /* a cast that defines a variable whose value is used stays as it is */
    const tn_type *to = c->has_runtime_use ? mc->to : replace(c, mc->to);
    const tn_expr *var =
        renew(c, mc->var, c->has_runtime_use ? mc->var->type : replace(c, mc->var->type));
    if (value == mc->value && to == mc->to && var == mc->var)
        return TN_NODE(mc);
    return tn_match_cast_of(c->ctx, var, value, to);
}

static const tn_node *
do_binding(canonicalizer *c, const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    if (!vb)
        return do_cast(c, tn_as_match_cast(binding));
    const tn_expr *value = do_value(c, vb->value);
    if (tn_is_error(value))
        return value;
    const tn_type *type = replace(c, vb->var->type);
    if (value != vb->value && value->type &&
        tn_type_check(c->ctx, type, value->type) == TN_SUBTYPE_YES)
        type = value->type;
    const tn_expr *var =
        tn_type_equal(c->ctx, type, vb->var->type) ? vb->var : renew(c, vb->var, type);
    return value == vb->value && var == vb->var ? binding : tn_var_binding_of(c->ctx, var, value);
}

static const tn_expr *
do_sequence(canonicalizer *c, const tn_expr *e)
{
    const tn_seq_expr *s = tn_as_seq_expr(e);
    tn_list blocks = s->blocks;
    for (uint32_t b = 0; b < s->blocks.n && !c->failed; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(s->blocks.at[b]);
        const tn_node **out = TNB_NEW_N(tn_scratch(c->ctx), const tn_node *, block->bindings.n);
        bool changed = false;
        for (uint32_t i = 0; i < block->bindings.n && !c->failed; i++) {
            tn_loc old = tn_at(c->ctx, block->bindings.at[i]->loc);
            out[i] = do_binding(c, block->bindings.at[i]);
            tn_at(c->ctx, old);
            changed |= out[i] != block->bindings.at[i];
            c->failed |= tn_is_error(out[i]);
        }
        if (changed && !c->failed)
            tn_list_change(c->ctx, &blocks, s->blocks, b,
                           tn_binding_block_of(c->ctx, tn_list_of(c->ctx, out, block->bindings.n),
                                               tn_is(TN_NODE(block), TN_KIND_DATAFLOW_BLOCK)));
    }
    if (c->failed)
        return tn_error_node(c->ctx);
    const tn_expr *body = replace(c, s->body);
    if (blocks.at == s->blocks.at && body == s->body)
        return e;
    return transform_sequence(c->ctx, blocks, body);
}

const tn_node *
canonicalize_symbols(tn_ctx *ctx, const tn_function *f)
{
    canonicalizer c = {.ctx = ctx};
    tnb_ptrmap_init(&c.known, tn_scratch(ctx));
    tnb_ptrmap_init(&c.renewed, tn_scratch(ctx));
    tnb_ptrmap_init(&c.runtime, tn_scratch(ctx));
    tnb_ptrmap_init(&c.given, tn_scratch(ctx));
    tn_walk(f->body, 0, note_runtime, NULL, &c.runtime);
    return do_value(&c, TN_NODE(f));
}
