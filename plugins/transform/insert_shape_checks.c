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
 * out. A condition that never holds is an error, in a branch of an If one at run time. Bodies of functions that
 * somebody fused or gave to a library (Primitive, Composite, Codegen) are left alone. Keeps results bit by bit. Cases:
 * tests/pass/InsertShapeChecks.
 */
#include "shape_facts.h"
#include "transform.h"

#include "tenon/core/text.h"
#include "tenon/core/walk.h"

#include <stdlib.h>

/* An assertion and its place. */
typedef struct check {
    uint32_t place, number;
    const tn_node *binding;
} check;
typedef TNB_VEC(check) check_vec;

typedef struct inserter {
    tn_ctx *ctx;
    const tn_module *module;
    shape_facts facts;
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

/* Extents of a parameter or match_cast that are plain variables: what they are called in messages. */
static void
note_origins(inserter *s, const tn_type *t, const char *name)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    tn_list dims;
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        note_origins(s, tuple->fields.at[i], tn_strf(s->ctx, "%s[%u]", name, i));
    if (tuple || !tn_type_dims(t, &dims))
        return;
    for (uint32_t i = 0; i < dims.n; i++)
        if (tn_is_var(dims.at[i]) && !tnb_ptrmap_has(&s->origin, dims.at[i]))
            tnb_ptrmap_set(&s->origin, dims.at[i],
                           (void *)(uintptr_t)tn_strf(s->ctx, "axis %u of '%s'", i, name));
}

/* ---- one assertion ---- */

static void
put_text(tnb_buf *out, const char *text, bool braces_mean_values)
{
    for (const char *c = text; *c; c++) {
        if ((*c == '{' || *c == '}') && !braces_mean_values)
            tnb_buf_putc(out, *c);
        tnb_buf_putc(out, *c);
    }
}

/* The text of a message: where, what, and which inputs it is about. Values are appended to *values. */
static const char *
message(inserter *s, tn_loc loc, const char *what, const tn_assumption *a, tn_list *values)
{
    tnb_place place = tn_loc_place(s->ctx, loc);
    tnb_buf out = {0};
    if (place.node)
        put_text(&out, place.node, false);
    else if (place.line)
        tnb_buf_printf(&out, "line %u (%s)", place.line, what);
    else
        tnb_buf_puts(&out, what);
    tnb_buf_puts(&out, ": ");
    put_text(&out, a->text, true);
    tn_list vars = tn_free_vars(s->ctx, a->holds, false);
    bool first = true;
    for (uint32_t i = 0; i < vars.n; i++) {
        const char *origin = tnb_ptrmap_get(&s->origin, vars.at[i]);
        if (!origin)
            continue;
        tnb_buf_puts(&out, first ? "; " : ", ");
        put_text(&out, origin, false);
        tnb_buf_puts(&out, " is {}");
        *values = tn_list_append(s->ctx, *values, vars.at[i]);
        first = false;
    }
    const char *text = tn_str(s->ctx, out.s ? out.s : "");
    tnb_buf_free(&out);
    return text;
}

static void
never_holds(inserter *s, tn_loc loc, const char *what, const tn_assumption *a)
{
    tnb_buf out = {0};
    uint32_t next = 0;
    for (const char *c = a->text; *c; c++) {
        if (c[0] == '{' && c[1] == '}' && next < a->values.n) {
            tnb_buf_puts(&out, tn_text(s->ctx, a->values.at[next++]));
            c++;
        } else {
            tnb_buf_putc(&out, *c);
        }
    }
    tn_error(s->ctx, loc, TNB_SHAPE, "%s: %s", what, out.s ? out.s : "");
    tnb_buf_free(&out);
    s->failed = true;
}

static void
require(inserter *s, const shape_scope *scope, check_vec *checks, tn_loc loc, const char *what,
        const tn_assumption *a)
{
    uint32_t place = first_place(s, scope, a->holds);
    const tn_expr *holds = shape_facts_reduce(&s->facts, scope, place, a->holds);
    int64_t known;
    bool literal = tn_int_value(holds, &known);
    if (literal && known)
        return;
    if (literal && !scope->conditional) {
        never_holds(s, loc, what, a);
        return;
    }
    tn_loc old = tn_at(s->ctx, loc);
    tn_list args = tn_listv(s->ctx, holds, NULL);
    for (uint32_t i = 0; i < a->values.n; i++)
        args = tn_list_append(s->ctx, args, a->values.at[i]);
    const char *text = message(s, loc, what, a, &args);
    const tn_expr *value = tn_call_op(s->ctx, "assert_op", args,
                                      tn_dictv(s->ctx, "format", tn_string(s->ctx, text), NULL));
    check c = {place, checks->n, tn_binding(s->ctx, tn_var_new(s->ctx, "_", value->type), value)};
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
check_value(inserter *s, shape_scope *scope, check_vec *checks, uint32_t index, const tn_expr *v)
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
        v = tn_if(s->ctx, branch->cond, yes, no);
        tn_at(s->ctx, old);
        return v;
    }
    if (call && is_graph_call(v)) {
        const tn_op *op = tn_call_op_of(call);
        s->failed |= !shape_call_assumptions(s->ctx, s->module, call, &found);
        for (uint32_t i = 0; i < found.n && !s->failed; i++)
            require(s, scope, checks, v->loc, op ? op->name : "call", &found.at[i]);
    }
    return v;
}

static const tn_node *
check_binding(inserter *s, shape_scope *scope, check_vec *checks, uint32_t index, const tn_node *b)
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
    b = tn_binding(s->ctx, vb->var, value);
    tn_at(s->ctx, old);
    return b;
}

/* By place; those of one place stay in the order in which they were found. */
static int
by_place(const void *a, const void *b)
{
    const check *x = a, *y = b;
    return x->place != y->place ? (x->place < y->place ? -1 : 1)
                                : (x->number > y->number) - (x->number < y->number);
}

typedef TNB_VEC(const tn_node *) node_vec;

static void
put_block(inserter *s, node_vec *bindings, bool dataflow, node_vec *blocks)
{
    if (bindings->n)
        TNB_PUSH(tn_scratch(s->ctx), *blocks,
                 tn_binding_block(s->ctx, tn_list_of(s->ctx, bindings->at, bindings->n), dataflow));
    bindings->n = 0;
}

/* The sequence of the blocks of `seq` with other bindings, and the checks between them. */
static const tn_expr *
with_checks(inserter *s, const tn_seq_expr *seq, const node_vec *now, const check_vec *checks)
{
    node_vec blocks = {NULL, 0, 0}, bindings = {NULL, 0, 0}, own = {NULL, 0, 0};
    uint32_t at = 0, next = 0;
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        bool dataflow = tn_is(TN_NODE(block), TN_KIND_DATAFLOW_BLOCK);
        for (uint32_t i = 0; i < block->bindings.n; i++, at++) {
            for (; next < checks->n && checks->at[next].place == at; next++)
                TNB_PUSH(tn_scratch(s->ctx), own, checks->at[next].binding);
            if (own.n) {
                s->split |= bindings.n && dataflow;
                put_block(s, &bindings, dataflow, &blocks);
                put_block(s, &own, false, &blocks);
            }
            TNB_PUSH(tn_scratch(s->ctx), bindings, now->at[at]);
        }
        put_block(s, &bindings, dataflow, &blocks);
    }
    return transform_sequence(s->ctx, tn_list_of(s->ctx, blocks.at, blocks.n), seq->body);
}

static const tn_expr *
check_sequence(inserter *s, const shape_scope *outer, bool conditional, const tn_expr *e)
{
    const tn_seq_expr *seq = tn_as_seq_expr(e);
    if (!seq)
        return e;
    shape_scope *scope = TNB_NEW(tn_scratch(s->ctx), shape_scope);
    scope->conditional = conditional || outer->conditional;
    uint32_t known = s->facts.list.n;
    check_vec checks = {NULL, 0, 0};
    node_vec now = {NULL, 0, 0};
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
        return e;
    s->any |= checks.n != 0;
    if (checks.n)
        qsort(checks.at, checks.n, sizeof *checks.at, by_place);
    return with_checks(s, seq, &now, &checks);
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
        note_origins(s, p->type, tn_var_name(p));
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

/* Dataflow variables that are used outside the block which binds them, now that blocks were split. */
typedef struct crossing {
    tn_ctx *ctx;
    const tn_node *block;
    tnb_ptrmap home, *renamed;
} crossing;

static tn_walk_step
find_crossings(void *user, const tn_node *n)
{
    crossing *c = user;
    const tn_expr *var = tn_is(n, TN_KIND_VAR_BINDING)  ? ((const tn_var_binding *)n)->var
                         : tn_is(n, TN_KIND_MATCH_CAST) ? ((const tn_match_cast *)n)->var
                                                        : NULL;
    if (tn_as_bindings_block(n))
        c->block = n;
    else if (tn_is(var, TN_KIND_DATAFLOW_VAR))
        tnb_ptrmap_set(&c->home, var, (void *)(uintptr_t)c->block);
    else if (tn_is(n, TN_KIND_DATAFLOW_VAR) && tnb_ptrmap_get(&c->home, n) != c->block &&
             !tnb_ptrmap_has(c->renamed, n))
        tnb_ptrmap_set(c->renamed, n,
                       (void *)(uintptr_t)tn_var_new(c->ctx, tn_var_name(n), n->type));
    return TN_WALK_ON;
}

static const tn_node *
join_blocks(tn_ctx *ctx, const tn_node *f)
{
    tnb_ptrmap renamed;
    tnb_ptrmap_init(&renamed, tn_scratch(ctx));
    crossing c = {.ctx = ctx, .renamed = &renamed};
    tnb_ptrmap_init(&c.home, tn_scratch(ctx));
    tn_walk(f, 0, find_crossings, NULL, &c);
    tn_rewriter r = {.ctx = ctx, .map = &renamed};
    return tn_rewrite(&r, f);
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
        out = join_blocks(ctx, out);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_insert_shape_checks = {
    .size = sizeof(tn_pass),
    .name = "InsertShapeChecks",
    .doc = "check what operators take for granted about extents",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
