/* SPDX-License-Identifier: Apache-2.0 */
/* CommonSubexprElim: index arithmetic and conditions that occur several times, or do not change in a
 * loop, are bound to variables.
 *
 *     for i in range(n):                        cse_v1 = w * (h // 2)
 *         for j in range(m):                    for i in range(n):
 *             A[h // 2 * w * i + j] = 0   =>        cse_v2 = cse_v1 * i
 *             B[h // 2 * w * i + j] = 1             for j in range(m):
 *                                                       cse_v3 = cse_v2 + j; A[cse_v3] = 0; ...
 *
 * A value that is used twice is bound in front of the statements that use it, outside of the loops
 * in which it does not change. What is used once moves out of loops when it has `hoist` operations or
 * more (a division counts as several; 0: it does not move). What loads stays where it is. What divides
 * by a number that may be 0 is computed only where it was; a number that is a factor of a loop's turns
 * is not 0 in that loop. values.c says which expressions are equal. Functions without variables for
 * extents are left alone unless `static` says otherwise: compilers see through their arithmetic. Takes
 * time in the size of the program, times the depth of its loops. Needs: no blocks. Comes last, behind
 * what reasons about indices. Cases: tests/pass/CommonSubexprElim.
 */
#include <stdlib.h>

#include "values.h"

typedef struct cse {
    tn_ctx *ctx;
    tnk_values s;
    TNB_VEC(tnk_scope *) scopes; /* in the order in which both walks come to them */
    uint32_t order, next, names, hoist;
    bool twice; /* a variable is defined at two places */
} cse;

static tnb_dtype
dtype_of(const tnk_value *v)
{
    return ((const tn_ty_prim *)v->type)->dtype;
}

/* ---- what is used where ---- */

static void
use(cse *c, uint32_t n, uint32_t times, tnk_scope *common, tnk_place at)
{
    tnk_value *v = &c->s.v.at[n];
    if (!v->uses || at.order < v->first.order ||
        (at.order == v->first.order && at.scope == v->first.scope && !v->first.certain))
        v->first = at;
    if (!v->uses)
        v->common = common;
    v->uses += times;
    tnk_scope *a = v->common;
    while (a != common) {
        if (a->depth >= common->depth)
            a = a->up;
        else
            common = common->up;
    }
    v->common = a;
}

static void
look(cse *c, const tn_expr *e, tnk_place at);

static void
look_at_all(cse *c, tn_list l, tnk_place at)
{
    for (uint32_t i = 0; i < l.n; i++)
        look(c, l.at[i], at);
}

/* Uses of numbered expressions within `e`. */
static void
look(cse *c, const tn_expr *e, tnk_place at)
{
    if (!e || e->kind == TN_KIND_INT_IMM || e->kind == TN_KIND_VAR)
        return;
    uint32_t n = tnk_values_number(&c->s, e);
    if (n) {
        use(c, n, 1, at.scope, at);
        return;
    }
    tnk_place maybe = at;
    maybe.certain = false;
    if (tn_is_binary(e)) {
        look(c, ((const tn_binary *)e)->a, at);
        look(c, ((const tn_binary *)e)->b,
             e->kind == TN_KIND_AND || e->kind == TN_KIND_OR ? maybe : at);
        return;
    }
    switch (e->kind) {
    case TN_KIND_NOT:
        look(c, ((const tn_unary *)e)->a, at);
        return;
    case TN_KIND_CAST:
        look(c, ((const tn_cast *)e)->value, at);
        return;
    case TN_KIND_SELECT:
        look(c, ((const tn_select *)e)->cond, at);
        look(c, ((const tn_select *)e)->a, at);
        look(c, ((const tn_select *)e)->b, at);
        return;
    case TN_KIND_LET:
        look(c, ((const tn_let *)e)->value, at);
        look(c, ((const tn_let *)e)->body, at);
        return;
    case TN_KIND_RAMP:
        look(c, ((const tn_ramp *)e)->start, at);
        look(c, ((const tn_ramp *)e)->stride, at);
        return;
    case TN_KIND_BROADCAST:
        look(c, ((const tn_broadcast *)e)->value, at);
        return;
    case TN_KIND_SHUFFLE:
        look_at_all(c, ((const tn_shuffle *)e)->vectors, at);
        return;
    case TN_KIND_BUFFER_LOAD:
        look_at_all(c, ((const tn_buffer_load *)e)->indices, at);
        return;
    case TN_KIND_CALL:
        look_at_all(c, ((const tn_call *)e)->args,
                    tn_is_intrin(e, TN_INTRIN_if_then_else) ? maybe : at);
        return;
    default:
        return;
    }
}

static void
statement(cse *c, const tn_stmt *s, tnk_place at);

static tnk_scope *
enter(cse *c, tnk_place at, bool loop)
{
    tnk_scope *n = TNB_NEW(tn_scratch(c->ctx), tnk_scope);
    *n = (tnk_scope){.up = at.scope, .index = at.index, .order = at.order};
    if (at.scope) {
        n->depth = at.scope->depth + 1;
        n->loops = at.scope->loops + loop;
    }
    TNB_PUSH(tn_scratch(c->ctx), c->scopes, n);
    return n;
}

static void
statements(cse *c, const tn_stmt *s, tnk_scope *in)
{
    const tn_seq *q = tn_as_seq(s);
    for (uint32_t i = 0; q && i < q->stmts.n; i++)
        statement(c, q->stmts.at[i], (tnk_place){in, i, 0, true});
    if (!q && s)
        statement(c, s, (tnk_place){in, 0, 0, true});
}

static void
define(cse *c, const tn_expr *var, tnk_scope *at)
{
    c->twice |= !tnk_values_define(&c->s, var, at);
}

/* The extents of threads are the host's business. */
static void
for_stmt(cse *c, const tn_for_loop *f, tnk_place at)
{
    bool threads = f->for_kind == TN_FOR_THREAD_BINDING;
    uint32_t extent = tnk_values_number(&c->s, f->extent);
    if (!threads) {
        look(c, f->min, at);
        look(c, f->extent, at);
    }
    tnk_scope *body = enter(c, at, !threads);
    define(c, f->var, body);
    tnk_values_turns(&c->s, extent, NULL, body);
    statements(c, f->body, body);
    tnk_values_turns(&c->s, extent, body, NULL);
}

static void
statement(cse *c, const tn_stmt *s, tnk_place at)
{
    at.order = ++c->order;
    switch (s->kind) {
    case TN_KIND_SEQ:
    case TN_KIND_ATTR_STMT:
        statements(c, s->kind == TN_KIND_SEQ ? s : ((const tn_attr_stmt *)s)->body,
                   enter(c, at, false));
        return;
    case TN_KIND_FOR:
        for_stmt(c, (const tn_for_loop *)s, at);
        return;
    case TN_KIND_IF_STMT:
        look(c, ((const tn_if_stmt *)s)->cond, at);
        statements(c, ((const tn_if_stmt *)s)->then_case, enter(c, at, false));
        if (((const tn_if_stmt *)s)->else_case)
            statements(c, ((const tn_if_stmt *)s)->else_case, enter(c, at, false));
        return;
    case TN_KIND_WHILE:
        look(c, ((const tn_while_loop *)s)->cond, at);
        statements(c, ((const tn_while_loop *)s)->body, enter(c, at, true));
        return;
    case TN_KIND_BUFFER_STORE:
        look(c, ((const tn_buffer_store *)s)->value, at);
        look_at_all(c, ((const tn_buffer_store *)s)->indices, at);
        return;
    case TN_KIND_BIND:
        look(c, ((const tn_bind *)s)->value, at);
        define(c, ((const tn_bind *)s)->var, at.scope);
        return;
    case TN_KIND_EVALUATE:
    case TN_KIND_RETURN:
        look(c, ((const tn_evaluate *)s)->value, at);
        return;
    default:
        return;
    }
}

/* ---- what is bound where ---- */

/* Whether and where: `at` becomes the statement in front of which it is bound. */
static bool
worth(const cse *c, const tnk_value *v, tnk_place *at)
{
    if (!v->part[0] || !tnk_scope_holds(v->at, v->common))
        return false;
    bool truth = dtype_of(v).code == TNB_BOOL;
    tnk_scope *to = v->common, *s = v->common;
    if (!v->faults)
        for (; s != v->at; s = s->up)
            if (s->loops > s->up->loops)
                to = s->up;
    bool moves = to->loops < v->common->loops;
    bool often = v->uses > 1 && v->size >= (truth ? 3 : 2);
    if (!often && !(moves && !truth && c->hoist && v->size >= c->hoist))
        return false;
    *at = v->first;
    if (v->faults)
        return at->certain && at->scope == to;
    while (at->scope != to)
        *at = (tnk_place){at->scope->up, at->scope->index, at->scope->order, true};
    at->certain = true;
    return true;
}

/* From the largest expressions to the smallest: those within one that is bound stand at its binding
 * only, those within one that is not wherever it does. */
static bool
plan(cse *c)
{
    bool any = false;
    for (uint32_t n = c->s.v.n; n-- > 1;) {
        tnk_value *v = &c->s.v.at[n];
        if (!v->uses)
            continue;
        tnk_place at = v->first;
        v->bound = worth(c, v, &at);
        any |= v->bound;
        if (v->bound)
            TNB_PUSH(tn_scratch(c->ctx), at.scope->binds, (uint64_t)at.index << 32 | n);
        for (int i = 0; i < 3 && v->part[i]; i++)
            use(c, v->part[i], v->bound ? 1 : v->uses, v->bound ? at.scope : v->common, at);
    }
    for (uint32_t n = 1; any && n < c->s.v.n; n++) {
        tnk_value *v = &c->s.v.at[n];
        v->changed = v->bound;
        for (int i = 0; i < 3 && v->part[i]; i++)
            v->changed |= c->s.v.at[v->part[i]].changed;
    }
    return any;
}

/* ---- the program with the variables ---- */

static const tn_expr *
expr_of(cse *c, uint32_t n);

/* The operation on its parts as they are now. */
static const tn_expr *
operation(cse *c, const tnk_value *v)
{
    const tn_expr *p[3] = {0};
    uint32_t n = 0;
    for (; n < 3 && v->part[n]; n++)
        p[n] = expr_of(c, v->part[n]);
    switch (v->kind) {
    case TN_KIND_INT_IMM:
        return tn_int_imm_of(c->ctx, dtype_of(v), v->number);
    case TN_KIND_CAST:
        return tn_raw_cast(c->ctx, dtype_of(v), p[0]);
    case TN_KIND_NOT:
        return tn_raw_not(c->ctx, p[0]);
    case TN_KIND_SELECT:
        return tn_select_of(c->ctx, p[0], p[1], p[2]);
    case TN_KIND_CALL:
        return tn_call_of(c->ctx, tn_op_ref_of(c->ctx, v->id), tn_list_of(c->ctx, p, n), NULL,
                          (tn_list){0}, v->type);
    default:
        return tn_raw_binary(c->ctx, (tn_kind)v->kind, p[0], p[1]);
    }
}

static const tn_expr *
expr_of(cse *c, uint32_t n)
{
    tnk_value *v = &c->s.v.at[n];
    if (v->var)
        return v->var;
    if (!v->expr)
        v->expr = operation(c, v);
    return v->expr;
}

static const tn_node *
replace(tn_rewriter *r, const tn_node *e)
{
    cse *c = r->user;
    uint32_t n = tnk_values_find(&c->s, e);
    if (!n)
        return NULL;
    return c->s.v.at[n].changed ? expr_of(c, n) : e;
}

static const tn_expr *
with_vars(cse *c, const tn_expr *e)
{
    tn_rewriter r = {.ctx = c->ctx, .user = c, .pre = replace};
    return e ? tn_rewrite(&r, e) : NULL;
}

static tn_list
list_with_vars(cse *c, tn_list l)
{
    tn_list out = l;
    for (uint32_t i = 0; i < l.n; i++)
        tn_list_change(c->ctx, &out, l, i, with_vars(c, l.at[i]));
    return out;
}

static const tn_stmt *
rewrite(cse *c, const tn_stmt *s);

static int
by_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static const tn_stmt *
rewrite_all(cse *c, const tn_stmt *s)
{
    tnk_scope *in = c->scopes.at[c->next++];
    const tn_seq *q = tn_as_seq(s);
    tn_list old = q ? q->stmts : (tn_list){&s, 1};
    TNB_VEC(const tn_stmt *) v = {0};
    bool changed = false;
    if (in->binds.n)
        qsort(in->binds.at, in->binds.n, sizeof *in->binds.at, by_place);
    for (uint32_t i = 0, b = 0; i < old.n; i++) {
        for (; b < in->binds.n && in->binds.at[b] >> 32 == i; b++) {
            uint32_t number = (uint32_t)in->binds.at[b];
            tnk_value *x = &c->s.v.at[number];
            const tn_expr *value = expr_of(c, number);
            x->var = tn_var_dtype(c->ctx, tn_strf(c->ctx, "cse_v%u", ++c->names), dtype_of(x));
            TNB_PUSH(tn_scratch(c->ctx), v, tn_bind_of(c->ctx, x->var, value));
            changed = true;
        }
        const tn_stmt *n = rewrite(c, old.at[i]);
        changed |= n != old.at[i];
        TNB_PUSH(tn_scratch(c->ctx), v, n);
    }
    if (!changed)
        return s;
    return v.n == 1 ? v.at[0] : tn_seq_of(c->ctx, tn_list_of(c->ctx, v.at, v.n));
}

static const tn_stmt *
rewrite_for(cse *c, const tn_for_loop *f)
{
    bool threads = f->for_kind == TN_FOR_THREAD_BINDING;
    const tn_expr *min = threads ? f->min : with_vars(c, f->min);
    const tn_expr *extent = threads ? f->extent : with_vars(c, f->extent);
    return tnk_for_with(c->ctx, f, min, extent, rewrite_all(c, f->body));
}

static const tn_stmt *
rewrite(cse *c, const tn_stmt *s)
{
    tn_ctx *ctx = c->ctx;
    tn_at(ctx, s->loc);
    switch (s->kind) {
    case TN_KIND_SEQ:
        return rewrite_all(c, s);
    case TN_KIND_ATTR_STMT: {
        const tn_attr_stmt *a = (const tn_attr_stmt *)s;
        const tn_stmt *body = rewrite_all(c, a->body);
        return body == a->body ? s : tn_attr_stmt_of(ctx, a->node, a->key, a->value, body);
    }
    case TN_KIND_FOR:
        return rewrite_for(c, (const tn_for_loop *)s);
    case TN_KIND_IF_STMT: {
        const tn_if_stmt *i = (const tn_if_stmt *)s;
        const tn_expr *cond = with_vars(c, i->cond);
        const tn_stmt *a = rewrite_all(c, i->then_case);
        const tn_stmt *b = i->else_case ? rewrite_all(c, i->else_case) : NULL;
        return cond == i->cond && a == i->then_case && b == i->else_case
                   ? s
                   : tn_if_stmt_of(ctx, cond, a, b);
    }
    case TN_KIND_WHILE: {
        const tn_while_loop *w = (const tn_while_loop *)s;
        const tn_expr *cond = with_vars(c, w->cond);
        const tn_stmt *body = rewrite_all(c, w->body);
        return cond == w->cond && body == w->body ? s : tn_while_of(ctx, cond, body);
    }
    case TN_KIND_BUFFER_STORE: {
        const tn_buffer_store *b = (const tn_buffer_store *)s;
        const tn_expr *value = with_vars(c, b->value);
        tn_list at = list_with_vars(c, b->indices);
        return value == b->value && at.at == b->indices.at
                   ? s
                   : tn_buffer_store_of(ctx, b->buffer, value, at);
    }
    case TN_KIND_BIND: {
        const tn_bind *b = (const tn_bind *)s;
        const tn_expr *value = with_vars(c, b->value);
        return value == b->value ? s : tn_bind_of(ctx, b->var, value);
    }
    case TN_KIND_EVALUATE:
    case TN_KIND_RETURN: {
        const tn_expr *old = ((const tn_evaluate *)s)->value, *value = with_vars(c, old);
        return value == old                  ? s
               : s->kind == TN_KIND_EVALUATE ? tn_evaluate_of(ctx, value)
                                             : tn_return_of(ctx, value);
    }
    default:
        return s;
    }
}

static void
begin(cse *c, tn_ctx *ctx, tn_arith *arith, const tn_prim_func *f, uint32_t hoist)
{
    *c = (cse){.ctx = ctx, .hoist = hoist};
    tnk_scope *top = enter(c, (tnk_place){0}, false);
    tnk_values_init(&c->s, ctx, arith, top);
    tn_list symbols = tn_defined_symbols(ctx, TN_NODE(f));
    for (uint32_t i = 0; i < symbols.n; i++)
        (void)tnk_values_define(&c->s, symbols.at[i], top);
    for (uint32_t i = 0; i < f->params.n; i++)
        (void)tnk_values_define(&c->s, f->params.at[i], top);
}

/* Whether a variable of the function is a number that only its calls know. */
static bool
is_symbolic(tn_ctx *ctx, const tn_prim_func *f)
{
    for (uint32_t i = 0; i < f->params.n; i++)
        if (tnb_dtype_is_int(tn_dtype_of(f->params.at[i])))
            return true;
    return tn_defined_symbols(ctx, TN_NODE(f)).n > 0;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    if (!is_symbolic(ctx, f) && !tn_option_bool(pc, "static"))
        return f->body;
    tnk_ranged r = {0};
    tnk_ranged_init(&r, ctx, f);
    int64_t hoist = tn_option_int(pc, "hoist");
    const tn_stmt *body = f->body;
    cse c;
    for (int turn = 0; turn < 2; turn++) {
        begin(&c, ctx, r.arith, f, hoist > 0 ? (uint32_t)hoist : 0);
        statements(&c, body, c.scopes.at[0]);
        if (!c.twice)
            break;
        if (turn) /* a copy with variables of its own has them once */
            return f->body;
        body = tn_fresh_copy(ctx, body, NULL);
    }
    tn_loc was = tn_at(ctx, f->base.loc);
    body = plan(&c) ? rewrite_all(&c, body) : f->body;
    tn_at(ctx, was);
    return body;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

static const tn_attr_schema options[] = {
    {"hoist", TN_ATTR_INT, 0, "4",
     "operations that what is used once must have to move out of a loop; 0: it does not"},
    {"static", TN_ATTR_BOOL, 0, "False", "functions without variables for extents too"},
    {0},
};

const tn_pass tnk_pass_common_subexpr = {
    .base.size = sizeof(tn_pass),
    .base.name = "CommonSubexprElim",
    .base.doc = "Binds common index arithmetic and conditions to variables, out of loops.",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
