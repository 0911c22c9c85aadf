/* SPDX-License-Identifier: Apache-2.0 */
/* InsertShapeChecks: what operators take for granted about extents is checked by the program before it is relied upon.
 *
 *     def main(x: R.Tensor((n, k)), w: R.Tensor((m, 4))):
 *         with R.dataflow():
 *             y = R.matmul(x, w)
 *  -> def main(x: R.Tensor((n, k)), w: R.Tensor((m, 4))):
 *         R.func_attr({"relax.force_pure": True})
 *         _ = R.assert_op(k == m, k, m, ..., format="...: the summed extents differ: {} ..., {} ...")
 *         with R.dataflow():
 *             y = R.matmul(x, w)
 *
 * Not upstream's. Has to run before operators become something else: a library's call, a tensor program. What a type
 * inference states (tn_assume) and no analysis proves is asserted as soon as its variables are known: at the begin of the
 * function or branch, or after the match_cast that defines the last of them. What follows from checks before is left
 * out. Values of which a call believes more than their types say are cast first (shape_casts.c). A condition that never
 * holds is an error, in a branch of an If one at run time. Bodies of functions that somebody fused or gave to a library
 * (Primitive, Composite, Codegen) are left alone. Keeps results bit by bit. Cases: tests/pass/InsertShapeChecks.
 */
#include "shape_facts.h"
#include "transform.h"

#include "tenon/core/walk.h"

typedef struct inserter {
    tn_ctx *ctx;
    const tn_module *module;
    shape_facts facts;
    tnb_ptrmap calls;   /* for tn_call_assumptions_again */
    tnb_ptrmap scalars; /* variables that are values, not extents */
    tnb_ptrmap scope_of,
        place_of;      /* where a variable becomes known; none: before the body begins */
    tnb_ptrmap origin; /* symbolic variable -> "axis 1 of 'x'" */
    bool split;        /* a dataflow block became several */
    bool any;          /* the function being made has an assertion */
    bool failed;
} inserter;

/* ---- where variables are known ---- */

static void
know_from(inserter *s, const tn_expr *var, const shape_scope *scope, uint32_t place)
{
    if (tnb_ptrmap_has(&s->scope_of, var))
        return;
    tnb_ptrmap_set(&s->scope_of, var, (void *)(uintptr_t)scope);
    tnb_ptrmap_set(&s->place_of, var, (void *)(uintptr_t)(place + 1));
}

static uint32_t
first_place(inserter *s, const shape_scope *scope, const tn_expr *e)
{
    tn_list vars = tn_free_vars(s->ctx, e, false);
    uint32_t place = 0;
    for (uint32_t i = 0; i < vars.n; i++) {
        uint32_t own = (uint32_t)(uintptr_t)tnb_ptrmap_get(&s->place_of, vars.at[i]);
        if (own > place + 1 && tnb_ptrmap_get(&s->scope_of, vars.at[i]) == scope)
            place = own - 1;
    }
    return place;
}

/* ---- one assertion ---- */

static void
require(inserter *s, const shape_scope *scope, shape_checks *checks, tn_loc loc, const char *what,
        const tn_assumption *a)
{
    uint32_t place = first_place(s, scope, a->holds);
    if (shape_facts_settled(&s->facts, scope, place, a->holds))
        return;
    const tn_expr *holds = shape_facts_reduce(&s->facts, scope, place, a->holds);
    int64_t known;
    bool literal = tn_int_value(holds, &known);
    shape_facts_settle(&s->facts, scope, place, a->holds);
    if (literal && known)
        return;
    if (literal && !scope->conditional) {
        shape_check_fails(s->ctx, loc, what, a);
        s->failed = true;
        return;
    }
    tn_loc old = tn_at(s->ctx, loc);
    tn_list args = tn_listv(s->ctx, holds, NULL);
    for (uint32_t i = 0; i < a->values.n; i++)
        args = tn_list_append(s->ctx, args, a->values.at[i]);
    const char *text = shape_check_text(s->ctx, &s->origin, loc, what, a, &args);
    const tn_expr *value = tn_call_op(s->ctx, "assert_op", args,
                                      tn_dictv(s->ctx, "format", tn_string(s->ctx, text), NULL));
    shape_check c = {place, checks->n,
                     tn_var_binding_of(s->ctx, tn_var_new(s->ctx, "_", value->type), value)};
    tn_at(s->ctx, old);
    s->failed |= tn_is_error(value);
    TNB_PUSH(tn_scratch(s->ctx), *checks, c);
    if (!literal)
        shape_facts_add(&s->facts, scope, place, holds);
}

/* ---- sequences ---- */

static const tn_expr *
check_sequence(inserter *s, const shape_scope *outer, bool conditional, const tn_expr *e);
static const tn_expr *
check_function(inserter *s, const shape_scope *outer, const tn_function *f);

static bool
is_graph_call(const tn_expr *e)
{
    const tn_op *op = tn_is(e, TN_KIND_CALL) ? tn_call_op_of((const tn_call *)e) : NULL;
    return tn_is(e, TN_KIND_CALL) && !(op && (op->flags & TN_OP_SCALAR));
}

/* What the program asserts already. */
static void
note_assertion(inserter *s, const shape_scope *scope, const tn_call *c)
{
    const tn_expr *holds = c->args.at[0];
    if (!tn_is_scalar(holds) || is_graph_call(holds))
        return;
    holds = shape_facts_reduce(&s->facts, scope, scope->lead, holds);
    if (!tn_is(holds, TN_KIND_INT_IMM))
        shape_facts_add(&s->facts, scope, scope->lead, holds);
}

static const tn_expr *
check_value(inserter *s, shape_scope *scope, shape_checks *checks, uint32_t index, const tn_expr *v)
{
    const tn_if_expr *branch = tn_as_if_expr(v);
    const tn_call *call = tn_as_call(v);
    tn_assumptions found;
    if (tn_is_call_to(v, "relax.assert_op")) {
        note_assertion(s, scope, call);
        return v;
    }
    scope->lead = index + 1;
    if (tn_is(v, TN_KIND_FUNCTION))
        return check_function(s, scope, tn_as_function(v));
    if (branch) {
        const tn_expr *yes = check_sequence(s, scope, true, branch->then_branch),
                      *no = check_sequence(s, scope, true, branch->else_branch);
        if (yes == branch->then_branch && no == branch->else_branch)
            return v;
        tn_loc old = tn_at(s->ctx, v->loc);
        v = tn_if_expr_of(s->ctx, branch->cond, yes, no);
        tn_at(s->ctx, old);
        return v;
    }
    if (call && is_graph_call(v)) {
        const tn_op *op = tn_call_op_of(call);
        s->failed |= !shape_call_assumptions(s->ctx, s->module, &s->calls, call, &found);
        for (uint32_t i = 0; i < found.n && !s->failed; i++)
            require(s, scope, checks, v->loc, op ? op->base.name : "call", &found.at[i]);
    }
    return v;
}

static const tn_node *
check_binding(inserter *s, shape_scope *scope, shape_checks *checks, uint32_t index,
              const tn_node *b)
{
    const tn_match_cast *mc = tn_as_match_cast(b);
    const tn_var_binding *vb = tn_as_var_binding(b);
    if (mc) {
        tn_assumptions found = {NULL, 0, 0};
        shape_match_assumptions(s->ctx, mc, &s->place_of, &found);
        for (uint32_t i = 0; i < found.n && !s->failed; i++)
            require(s, scope, checks, b->loc, "match_cast", &found.at[i]);
        scope->lead = index + 1;
        tn_list vars = tn_free_vars(s->ctx, mc->to, false);
        for (uint32_t i = 0; i < vars.n; i++)
            know_from(s, vars.at[i], scope, index + 1);
        return b;
    }
    if (tn_is_scalar(vb->var)) {
        tnb_ptrmap_set(&s->scalars, vb->var, s);
        know_from(s, vb->var, scope, index + 1);
    }
    const tn_expr *value = check_value(s, scope, checks, index, vb->value);
    if (value == vb->value)
        return b;
    tn_loc old = tn_at(s->ctx, b->loc);
    b = tn_var_binding_of(s->ctx, vb->var, value);
    tn_at(s->ctx, old);
    return b;
}

static const tn_expr *
check_sequence(inserter *s, const shape_scope *outer, bool conditional, const tn_expr *e)
{
    const tn_seq_expr *seq = tn_as_seq_expr(e);
    if (!seq)
        return e;
    seq = shape_casts_placed(s->ctx, s->module, seq);
    if (!seq) {
        s->failed = true;
        return e;
    }
    shape_scope *scope = TNB_NEW(tn_scratch(s->ctx), shape_scope);
    scope->conditional = conditional || outer->conditional;
    uint32_t known = s->facts.list.n;
    shape_checks checks = {NULL, 0, 0};
    shape_bindings now = {NULL, 0, 0};
    bool changed = false;
    for (uint32_t b = 0; b < seq->blocks.n && !s->failed; b++) {
        tn_list bindings = tn_as_bindings_block(seq->blocks.at[b])->bindings;
        for (uint32_t i = 0; i < bindings.n; i++) {
            const tn_node *n = check_binding(s, scope, &checks, now.n, bindings.at[i]);
            changed |= n != bindings.at[i];
            TNB_PUSH(tn_scratch(s->ctx), now, n);
        }
    }
    shape_facts_close(&s->facts, known);
    if (s->failed || (!changed && !checks.n))
        return TN_NODE(seq);
    s->any |= checks.n != 0;
    return shape_checks_placed(s->ctx, seq, &now, &checks, &s->split);
}

/* ---- functions ---- */

static const tn_expr *
check_function(inserter *s, const shape_scope *outer, const tn_function *f)
{
    tn_list symbols = tn_defined_symbols(s->ctx, TN_NODE(f));
    bool outer_any = s->any;
    for (uint32_t i = 0; i < symbols.n; i++)
        know_from(s, symbols.at[i], outer, 0);
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_expr *p = f->params.at[i];
        if (tn_is_scalar(p)) {
            tnb_ptrmap_set(&s->scalars, p, s);
            know_from(s, p, outer, 0);
        }
        shape_note_origins(s->ctx, &s->origin, p->type, tn_var_name(p));
    }
    s->any = false;
    const tn_expr *body = check_sequence(s, outer, false, f->body);
    bool any = s->any;
    s->any = outer_any;
    if (body == f->body || s->failed)
        return TN_NODE(f);
    tn_loc old = tn_at(s->ctx, f->base.loc);
    const tn_expr *out = tn_function_of(s->ctx, f->params, body, f->ret, f->pure, f->attrs);
    if (any && f->pure && !tn_is_error(out))
        out = tn_func_with_attr(s->ctx, out, "relax.force_pure", tn_bool(s->ctx, true));
    tn_at(s->ctx, old);
    return out;
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    static const char *const others[] = {"Primitive", "Composite", "Codegen"};
    (void)name;
    (void)user;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tn_func_attr(func, others[i]))
            return func;
    tn_ctx *ctx = pc->ctx;
    const shape_scope entry = {false, 0};
    inserter s = {.ctx = ctx, .module = m};
    tnb_ptrmap_init(&s.scalars, tn_scratch(ctx));
    tnb_ptrmap_init(&s.scope_of, tn_scratch(ctx));
    tnb_ptrmap_init(&s.place_of, tn_scratch(ctx));
    tnb_ptrmap_init(&s.origin, tn_scratch(ctx));
    shape_facts_init(&s.facts, ctx, &s.scalars);
    const tn_node *out = check_function(&s, &entry, (const tn_function *)func);
    if (s.failed || tn_is_error(out))
        return NULL;
    if (s.split)
        out = shape_join_blocks(ctx, out);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_insert_shape_checks = {
    .base.size = sizeof(tn_pass),
    .base.name = "InsertShapeChecks",
    .base.doc = "check what operators take for granted about extents",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
