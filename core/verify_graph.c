/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier, graph level: A-normal form, definitions before uses, purity, types that fit. */
#include "verify.h"

struct graph {
    verifier *v;
    bool pure; /* no impure call allowed */
    bool in_dataflow;
    tnb_ptrmap *locals; /* dataflow variables of the block */
};

static void
check_seq(struct graph *g, const tn_expr *e, const char *where);
static void
check_function(struct graph *outer, verifier *v, const tn_function *f);

/* ---- definitions ---- */
static void
define(verifier *v, const tn_node *var)
{
    const uint32_t defined = v->defined.n;
    tnb_ptrmap_set(&v->defined, var, var);
    if (v->defined.n == defined && tn_is_var(var)) {
        tn_verify_error(v, var, "variable '%s' is defined twice", tn_var_name(var));
        return;
    }
    const char *owner = tnb_ptrmap_get(&v->owner, var);
    if (owner && owner != v->func)
        tn_verify_error(v, var, "variable '%s' is also a variable of function '%s'",
                        tn_var_name(var), owner);
    tnb_ptrmap_set(&v->owner, var, v->func);
}

static void
define_symbols(verifier *v, tn_list l)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (!tnb_ptrmap_has(&v->defined, l.at[i]))
            define(v, l.at[i]);
}

/* No tensor has a negative extent. */
static void
check_extents(verifier *v, const tn_type *t)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    tn_list dims;
    int64_t x;
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        check_extents(v, tuple->fields.at[i]);
    if (!tn_is(t, TN_KIND_TY_TENSOR) || !tn_type_dims(t, &dims))
        return;
    for (uint32_t i = 0; i < dims.n; i++)
        if (tn_int_value(dims.at[i], &x) && x < 0)
            tn_verify_error(v, dims.at[i], "extent %u of %s is negative", i, tn_brief(v->ctx, t));
}

static void
check_type(verifier *v, const tn_type *t)
{
    tn_verify_scalar(v, t);
    check_extents(v, t);
}

/* ---- expressions ---- */
static bool
is_scalar_call(const tn_node *e)
{
    const tn_call *c = tn_as_call(e);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    return op && (op->flags & TN_OP_SCALAR);
}

static void
check_var(struct graph *g, const tn_expr *e)
{
    verifier *v = g->v;
    if (e->kind == TN_KIND_DATAFLOW_VAR && tnb_ptrmap_has(&v->defined, e) &&
        !(g->locals && tnb_ptrmap_has(g->locals, e)))
        tn_verify_error(v, e, "dataflow variable '%s' is used outside its block", tn_var_name(e));
    else
        tn_verify_scalar(v, e);
}

/* What may stand as an argument. */
static void
check_leaf(struct graph *g, const tn_expr *e, const char *what)
{
    verifier *v = g->v;
    switch ((tn_kind)e->kind) {
    case TN_KIND_VAR:
    case TN_KIND_DATAFLOW_VAR:
        check_var(g, e);
        return;
    case TN_KIND_TUPLE: {
        tn_list l = ((const tn_tuple *)e)->fields;
        for (uint32_t i = 0; i < l.n; i++)
            check_leaf(g, l.at[i], "a field of a tuple");
        return;
    }
    case TN_KIND_GLOBAL_VAR: {
        const char *name = ((const tn_global_var *)e)->name;
        if (!tn_module_get(v->module, name))
            tn_verify_error(v, e, "the module has no function '%s'", name);
        return;
    }
    case TN_KIND_CALL:
        if (is_scalar_call(e))
            break;
        /* fall through */
    case TN_KIND_TUPLE_GET:
    case TN_KIND_IF_EXPR:
    case TN_KIND_SEQ_EXPR:
    case TN_KIND_FUNCTION:
        tn_verify_error(v, e, "%s is a %s; only variables, constants and the like may stand there",
                        what, tn_kinds[e->kind].name);
        return;
    case TN_KIND_ERROR:
        tn_verify_error(v, e, "an error node is part of the module");
        return;
    default:
        break;
    }
    tn_verify_scalar(v, e);
}

static bool
callee_is_pure(const verifier *v, const tn_call *c)
{
    const tn_global_var *gv = tn_as_global_var(c->op);
    if (!gv)
        return tn_call_is_pure(c);
    const tn_node *f = tn_module_get(v->module, gv->name);
    if (tn_is(f, TN_KIND_FUNCTION))
        return ((const tn_function *)f)->pure != 0;
    /* A tensor program counts as pure: the tensors that it fills are the caller's. A missing
     * function is told elsewhere. */
    return tn_is(f, TN_KIND_PRIM_FUNC) || !f;
}

/* The type of an operator's call is not one that the operator rules out. */
static void
check_call_type(verifier *v, const tn_call *c)
{
    const tn_op *op = tn_call_op_of(c);
    if (!op || !op->infer)
        return;
    uint32_t errors = tnb_diags_errors(tn_diags(v->ctx));
    tn_call copy = *c;
    copy.base.type = NULL;
    tn_loc old = tn_at(v->ctx, tn_verify_at(v, &c->base));
    const tn_type *t =
        TNB_WITHIN("operator", op->base.name, "infer", NULL, op->infer(v->ctx, &copy));
    tn_at(v->ctx, old);
    if (tn_is_error(t) || !t)
        v->errors += tnb_diags_errors(tn_diags(v->ctx)) - errors;
    else if (tn_type_check(v->ctx, c->base.type, t) == TN_SUBTYPE_FAIL)
        tn_verify_error(v, &c->base, "the call of %s has type %s, but the operator gives %s",
                        op->base.name, tn_brief(v->ctx, c->base.type), tn_brief(v->ctx, t));
}

static void
check_call(struct graph *g, const tn_call *c)
{
    verifier *v = g->v;
    const tn_op *op = tn_call_op_of(c);
    if (!op)
        check_leaf(g, c->op, "the callee");
    for (uint32_t i = 0; i < c->args.n; i++)
        check_leaf(g, c->args.at[i], "an argument");
    for (uint32_t i = 0; i < c->ty_args.n; i++)
        check_type(v, c->ty_args.at[i]);
    if ((g->in_dataflow || g->pure) && !callee_is_pure(v, c)) {
        const char *name = op ? op->base.name : tn_brief(v->ctx, c->op);
        if (g->in_dataflow) {
            tn_verify_error(v, &c->base, "an impure call (of %s) stands in a dataflow block", name);
        } else {
            tn_verify_error(v, &c->base, "a pure function contains an impure call (of %s)", name);
            tnb_diag_hint(tn_diags(v->ctx), "declare the function with pure=False");
        }
    }
    if (v->errors)
        return;
    /* what stands behind this depends on the call and its program alone */
    const tn_node *with = &c->base;
    if (tn_is_call_tir(&c->base)) {
        const tn_global_var *gv = tn_as_global_var(c->args.n ? c->args.at[0] : NULL);
        with = gv ? tn_module_get(v->module, gv->name) : NULL;
    }
    if (tn_is_found_right(v->ctx, c, with))
        return;
    check_call_type(v, c);
    if (tn_is_call_tir(&c->base))
        tn_verify_call_tir(v, c);
    if (!v->errors)
        tn_note_right(v->ctx, c, with);
}

static void
check_value(struct graph *g, const tn_expr *e)
{
    verifier *v = g->v;
    switch ((tn_kind)e->kind) {
    case TN_KIND_CALL:
        if (is_scalar_call(e))
            break;
        check_call(g, (const tn_call *)e);
        return;
    case TN_KIND_TUPLE_GET:
        check_leaf(g, ((const tn_tuple_get *)e)->tuple, "the tuple of a TupleGetItem");
        return;
    case TN_KIND_IF_EXPR: {
        const tn_if_expr *i = (const tn_if_expr *)e;
        if (g->in_dataflow)
            tn_verify_error(v, e, "an If stands in a dataflow block");
        check_leaf(g, i->cond, "the condition of an If");
        check_seq(g, i->then_branch, "a branch of an If");
        check_seq(g, i->else_branch, "a branch of an If");
        return;
    }
    case TN_KIND_SEQ_EXPR:
        tn_verify_error(v, e,
                        "a sequence is bound to a variable; it may only be a body or a branch");
        return;
    case TN_KIND_FUNCTION:
        check_function(g, v, (const tn_function *)e);
        return;
    default:
        break;
    }
    check_leaf(g, e, "a bound value");
}

/* ---- bindings ---- */
static void
check_fits(verifier *v, const tn_node *at, const tn_expr *var, const tn_type *value)
{
    if (value && tn_type_check(v->ctx, var->type, value) == TN_SUBTYPE_FAIL)
        tn_verify_error(v, at, "variable '%s' has type %s, its value %s", tn_var_name(var),
                        tn_brief(v->ctx, var->type), tn_brief(v->ctx, value));
}

static void
check_binding(struct graph *g, const tn_node *n)
{
    verifier *v = g->v;
    const tn_var_binding *b = tn_as_var_binding(n);
    const tn_match_cast *m = tn_as_match_cast(n);
    const tn_expr *var = b ? b->var : m->var;
    if (var->kind == TN_KIND_DATAFLOW_VAR && !g->in_dataflow)
        tn_verify_error(v, n, "dataflow variable '%s' is bound outside a dataflow block",
                        tn_var_name(var));
    if (b) {
        bool recursive = tn_is(b->value, TN_KIND_FUNCTION);
        if (recursive) /* a local function may call itself */
            define(v, var);
        if (recursive && g->locals)
            tnb_ptrmap_set(g->locals, var, var);
        check_value(g, b->value);
        check_fits(v, n, var, b->value->type);
        if (!recursive)
            define(v, var);
    } else {
        check_leaf(g, m->value, "the value of a match_cast");
        if (m->value->type && tn_type_check(v->ctx, m->to, m->value->type) == TN_SUBTYPE_FAIL &&
            tn_type_check(v->ctx, m->value->type, m->to) == TN_SUBTYPE_FAIL)
            tn_verify_error(v, n, "a match_cast from %s to %s can never succeed",
                            tn_brief(v->ctx, m->value->type), tn_brief(v->ctx, m->to));
        define_symbols(v, tn_symbols_of_type(v->ctx, m->to));
        check_type(v, m->to);
        check_fits(v, n, var, m->to);
        define(v, var);
    }
    if (g->locals)
        tnb_ptrmap_set(g->locals, var, var);
    check_type(v, var->type);
}

static void
check_block(struct graph *g, const tn_node *n)
{
    const tn_bindings_block *b = tn_as_bindings_block(n);
    if (!b) {
        tn_verify_error(g->v, n, "a sequence holds a %s instead of a block",
                        tn_kinds[n->kind].name);
        return;
    }
    struct graph inner = *g;
    tnb_ptrmap locals;
    if (n->kind == TN_KIND_DATAFLOW_BLOCK) {
        tnb_ptrmap_init(&locals, g->v->arena);
        inner.in_dataflow = true;
        inner.locals = &locals;
    }
    for (uint32_t i = 0; i < b->bindings.n && g->v->errors < MAX_ERRORS_PER_FUNCTION; i++)
        check_binding(&inner, b->bindings.at[i]);
}

static void
check_seq(struct graph *g, const tn_expr *e, const char *where)
{
    const tn_seq_expr *s = tn_as_seq_expr(e);
    if (!s) {
        tn_verify_error(g->v, e, "%s is a %s; it must be a sequence", where,
                        tn_kinds[e->kind].name);
        return;
    }
    for (uint32_t i = 0; i < s->blocks.n; i++)
        check_block(g, s->blocks.at[i]);
    check_leaf(g, s->body, "the result of a sequence");
}

/* ---- functions ---- */
static void
check_function(struct graph *outer, verifier *v, const tn_function *f)
{
    bool force_pure = tn_dict_int(f->attrs, "relax.force_pure", 0) != 0;
    if (force_pure && !f->pure)
        tn_verify_error(v, &f->base, "relax.force_pure is set on a function that is not pure");
    if (outer && tn_func_attr(&f->base, "global_symbol"))
        tn_verify_error(v, &f->base, "a local function has a global_symbol");
    for (uint32_t i = 0; i < f->params.n; i++) {
        if (f->params.at[i]->kind != TN_KIND_VAR) {
            tn_verify_error(v, f->params.at[i], "parameter %u is not a variable", i);
            return;
        }
        define(v, f->params.at[i]);
    }
    define_symbols(v, tn_defined_symbols(v->ctx, &f->base));
    for (uint32_t i = 0; i < f->params.n; i++)
        check_type(v, f->params.at[i]->type);
    check_type(v, f->ret);
    struct graph g = {.v = v,
                      .pure = f->pure && !force_pure,
                      .locals = outer ? outer->locals : NULL};
    check_seq(&g, f->body, "the body of a function");
    if (f->ret && f->body->type && tn_type_check(v->ctx, f->ret, f->body->type) == TN_SUBTYPE_FAIL)
        tn_verify_error(v, &f->base, "the function returns %s, but is declared to return %s",
                        tn_brief(v->ctx, f->body->type), tn_brief(v->ctx, f->ret));
}

void
tn_verify_function(verifier *v, const tn_function *f)
{
    check_function(NULL, v, f);
}
