/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels value by value (tenon/kit/visit.h). */
#include "tenon/kit/visit.h"

#include <stdarg.h>
#include <stdio.h>

#include "../lower/lower.h"
#include "emit_private.h"

enum { MAX_ARGS = 16 };

typedef struct visiting {
    tnk_visitor v; /* first: what functions of the table are given is all of it */
    const tnk_visits *f;
    tnb_ptrmap values; /* Var -> its id */
    tnb_ptrmap places; /* data Var -> tnk_place */
} visiting;

tnk_id
tnk_visit_fail(tnk_visitor *v, tn_loc loc, const char *fmt, ...)
{
    char message[512];
    va_list ap;
    if (v->failed)
        return 0;
    v->failed = true;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    tn_error(v->ctx, loc ? loc : v->kernel->func->loc, TNB_UNSUPPORTED, "kernel '%s': %s",
             v->kernel->name, message);
    return 0;
}

static tnk_id
no_form(visiting *g, const tn_node *n, const char *what)
{
    return tnk_visit_fail(&g->v, n->loc, "%s has no form in %s", what, g->f->what);
}

/* ---- memory ---- */

static void
add_place(visiting *g, const tn_node *buffer, tnk_room room, const tnk_param *param,
          int64_t elements)
{
    tnk_place *p = TNB_NEW(tn_scratch(g->v.ctx), tnk_place);
    *p = (tnk_place){buffer, room, param, elements, 0};
    p->id = g->f->memory ? g->f->memory(&g->v, p) : no_form(g, buffer, "memory");
    g->v.failed |= !p->id;
    tnb_ptrmap_set(&g->places, tn_as_buffer(buffer)->data, p);
}

static tn_walk_step
find_allocation(void *user, const tn_node *n)
{
    visiting *g = user;
    if (n->kind != TN_KIND_ALLOC_BUFFER || g->v.failed)
        return TN_WALK_ON;
    const tn_node *buffer = ((const tn_alloc_buffer *)n)->buffer;
    const tn_buffer *b = tn_as_buffer(buffer);
    int64_t elements;
    if (b->shape.n != 1 || !tn_int_value(b->shape.at[0], &elements))
        tnk_visit_fail(&g->v, n->loc, "the size of the temporary '%s' is not constant", b->name);
    else
        add_place(g, buffer, tnk_is_shared(buffer) ? TNK_ROOM_SHARED : TNK_ROOM_LOCAL, NULL,
                  elements);
    return TN_WALK_SKIP;
}

static const tnk_place *
place_of(visiting *g, const tn_node *buffer, tn_loc loc)
{
    const tnk_place *p = tnb_ptrmap_get(&g->places, tn_as_buffer(buffer)->data);
    const char *name = tn_as_buffer(buffer)->name;
    if (!p)
        tnk_visit_fail(&g->v, loc, "the memory of buffer '%s' is not the kernel's", name);
    else if (!tnb_dtype_eq(tn_as_buffer(p->buffer)->dtype, tn_as_buffer(buffer)->dtype))
        tnk_visit_fail(&g->v, loc,
                       "buffer '%s' views memory of another dtype, which has no form in %s", name,
                       g->f->what);
    return g->v.failed ? NULL : p;
}

/* ---- values ---- */

static tnk_id
value(visiting *g, const tn_expr *x);

/* What a function of the table gave. */
static tnk_id
given(visiting *g, tnk_id id)
{
    g->v.failed |= !id;
    return id;
}

static tnk_id
choice(visiting *g, const tn_expr *x, const tn_expr *cond, const tn_expr *first,
       const tn_expr *second)
{
    if (!g->f->choice_begin || !g->f->choice_other || !g->f->choice_end)
        return no_form(g, x, "a value of which one of two is computed");
    tnk_id c = value(g, cond);
    if (!c)
        return 0;
    g->f->choice_begin(&g->v, x, c);
    tnk_id a = value(g, first);
    if (!a)
        return 0;
    g->f->choice_other(&g->v, x, a);
    tnk_id b = value(g, second);
    return b ? given(g, g->f->choice_end(&g->v, x, b)) : 0;
}

/* Choices within the other sides of choices, as a concatenation of many tensors has them: longer ones are computed as a tree, since
 * devices allow conditions to nest so deep only (lavapipe: 80, and reports nothing beyond). */
enum { LONG_CHAIN = 16 };

typedef struct chain {
    tn_ctx *ctx;
    TNB_VEC(const tn_expr *) conds;
    TNB_VEC(const tn_expr *) values; /* one more than conditions */
} chain;

static tn_walk_step
find_load_or_call(void *user, const tn_node *n)
{
    (void)user;
    return n->kind == TN_KIND_BUFFER_LOAD || n->kind == TN_KIND_CALL ? TN_WALK_STOP : TN_WALK_ON;
}

/* Of the values from lo to hi the first whose condition holds, the last if no other does. */
static const tn_expr *
pick(const chain *c, uint32_t lo, uint32_t hi)
{
    if (lo == hi)
        return c->values.at[lo];
    uint32_t mid = lo + (hi - lo) / 2;
    const tn_expr *any = c->conds.at[lo];
    for (uint32_t i = lo + 1; i <= mid; i++)
        any = tn_or(c->ctx, any, c->conds.at[i]);
    return tn_if_then_else(c->ctx, any, pick(c, lo, mid), pick(c, mid + 1, hi));
}

/* A long chain as a tree; NULL: it is none, or a condition may be computed only where those before it do not hold. */
static const tn_expr *
balanced(visiting *g, const tn_expr *x)
{
    chain c = {.ctx = g->v.ctx};
    tnb_arena *a = tn_scratch(g->v.ctx);
    while (tn_is_intrin(x, TN_INTRIN_if_then_else)) {
        tn_list args = ((const tn_call *)x)->args;
        if (tn_dtype_of(args.at[0]).lanes != 1 ||
            !tn_walk(args.at[0], TN_WALK_ONCE, find_load_or_call, NULL, NULL))
            break;
        TNB_PUSH(a, c.conds, args.at[0]);
        TNB_PUSH(a, c.values, args.at[1]);
        x = args.at[2];
    }
    TNB_PUSH(a, c.values, x);
    return c.conds.n > LONG_CHAIN ? pick(&c, 0, c.conds.n) : NULL;
}

static tn_walk_step
find_reading(void *user, const tn_node *n)
{
    bool div = n->kind >= TN_KIND_DIV && n->kind <= TN_KIND_FLOOR_MOD;
    *(bool *)user |= n->kind == TN_KIND_BUFFER_LOAD || n->kind == TN_KIND_CALL ||
                     (div && tnb_dtype_is_int(tn_dtype_of(n)));
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

static tnk_id
binary(visiting *g, const tn_expr *x)
{
    const tn_binary *b = tn_as_binary(x);
    bool reads = false, and = x->kind == TN_KIND_AND;
    if (and || x->kind == TN_KIND_OR)
        tn_walk(b->b, TN_WALK_ONCE, find_reading, NULL, &reads);
    if (reads && tn_dtype_of(x).lanes == 1) { /* the second may rely on the first */
        const tn_expr *known = tn_int_imm_of(g->v.ctx, tn_dtype_of(x), !and);
        return choice(g, x, b->a, and? b->b : known, and? known : b->b);
    }
    tnk_id left = value(g, b->a), right = left ? value(g, b->b) : 0;
    if (!right)
        return 0;
    return g->f->binary ? given(g, g->f->binary(&g->v, x, left, right))
                        : no_form(g, x, tn_kinds[x->kind].name);
}

/* The first of the elements that an index names. */
static tnk_id
first_of(visiting *g, const tn_node *n, tn_list indices)
{
    const tn_ramp *r = indices.n == 1 ? tn_as_ramp(indices.at[0]) : NULL;
    bool apart = r && !tn_is_int_const(r->stride, 1);
    if (indices.n != 1 || apart || (!r && tn_dtype_of(indices.at[0]).lanes != 1))
        return no_form(g, n, "an access to elements that are no neighbours");
    return value(g, r ? r->start : indices.at[0]);
}

static tnk_id
load(visiting *g, const tn_expr *x)
{
    const tn_buffer_load *l = (const tn_buffer_load *)x;
    const tnk_place *p = place_of(g, l->buffer, x->loc);
    tnk_id at = p ? first_of(g, x, l->indices) : 0;
    if (!at)
        return 0;
    return g->f->load ? given(g, g->f->load(&g->v, x, p, at)) : no_form(g, x, "a load");
}

static tnk_id
shuffle(visiting *g, const tn_expr *x)
{
    const tn_shuffle *s = (const tn_shuffle *)x;
    tnk_id vectors[MAX_ARGS];
    int64_t lane;
    for (uint32_t i = 0; i < s->indices.n; i++)
        if (!tn_int_value(s->indices.at[i], &lane))
            return no_form(g, x, "a shuffle whose lanes are not known");
    if (s->vectors.n > MAX_ARGS)
        return no_form(g, x, "a shuffle of so many vectors");
    for (uint32_t i = 0; i < s->vectors.n; i++)
        if (!(vectors[i] = value(g, s->vectors.at[i])))
            return 0;
    return g->f->shuffle ? given(g, g->f->shuffle(&g->v, x, vectors, s->vectors.n))
                         : no_form(g, x, "a Shuffle");
}

static tnk_id
atomic(visiting *g, const tn_expr *x)
{
    const tn_call *c = (const tn_call *)x;
    const tn_buffer_load *l = tn_as_buffer_load(c->args.at[0]);
    const tnk_place *p = l ? place_of(g, l->buffer, x->loc) : NULL;
    tnk_id at = p ? first_of(g, x, l->indices) : 0, operand = at ? value(g, c->args.at[1]) : 0;
    if (!operand)
        return 0;
    return g->f->atomic ? given(g, g->f->atomic(&g->v, c, p, at, operand))
                        : no_form(g, x, "an atomic operation");
}

static tnk_id
call(visiting *g, const tn_expr *x)
{
    const tn_call *c = (const tn_call *)x;
    tnk_id args[MAX_ARGS];
    const tn_expr *balance;
    switch ((int)tn_intrin_of(x)) {
    case TN_INTRIN_if_then_else:
        if ((balance = balanced(g, x)))
            return value(g, balance);
        return choice(g, x, c->args.at[0], c->args.at[1], c->args.at[2]);
    case TN_INTRIN_likely:
    case TN_INTRIN_tvm_thread_invariant:
        return value(g, c->args.at[0]);
    case TN_INTRIN_atomic_and:
    case TN_INTRIN_atomic_or:
        return atomic(g, x);
    default:
        break;
    }
    const tn_op *op = tn_call_op_of(c);
    if (!op || c->args.n > MAX_ARGS)
        return no_form(g, x, op ? op->base.name : "a call of another function");
    for (uint32_t i = 0; i < c->args.n; i++) {
        args[i] = tn_is(c->args.at[i], TN_KIND_STRING_IMM) ? 0 : value(g, c->args.at[i]);
        if (g->v.failed)
            return 0;
    }
    return g->f->call ? given(g, g->f->call(&g->v, c, args, c->args.n))
                      : no_form(g, x, op->base.name);
}

static tnk_id
one_operand(visiting *g, const tn_expr *x, const tn_expr *a,
            tnk_id (*fn)(tnk_visitor *, const tn_expr *, tnk_id))
{
    tnk_id id = value(g, a);
    if (!id)
        return 0;
    return fn ? given(g, fn(&g->v, x, id)) : no_form(g, x, tn_kinds[x->kind].name);
}

static tnk_id
value(visiting *g, const tn_expr *x)
{
    if (g->v.failed)
        return 0;
    if (tn_is_binary(x))
        return binary(g, x);
    switch (x->kind) {
    case TN_KIND_VAR: {
        tnk_id id = (tnk_id)(uintptr_t)tnb_ptrmap_get(&g->values, x);
        return id ? id : no_form(g, x, tn_strf(g->v.ctx, "the variable '%s'", tn_var_name(x)));
    }
    case TN_KIND_INT_IMM:
    case TN_KIND_FLOAT_IMM:
        return g->f->constant ? given(g, g->f->constant(&g->v, x)) : no_form(g, x, "a number");
    case TN_KIND_CAST:
        return one_operand(g, x, ((const tn_cast *)x)->value, g->f->cast);
    case TN_KIND_NOT:
        return one_operand(g, x, ((const tn_unary *)x)->a, g->f->not_);
    case TN_KIND_BROADCAST:
        return one_operand(g, x, ((const tn_broadcast *)x)->value, g->f->broadcast);
    case TN_KIND_RAMP: {
        const tn_ramp *r = (const tn_ramp *)x;
        tnk_id a = value(g, r->start), b = a ? value(g, r->stride) : 0;
        if (!b)
            return 0;
        return g->f->ramp ? given(g, g->f->ramp(&g->v, x, a, b)) : no_form(g, x, "a Ramp");
    }
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)x;
        tnk_id c = value(g, s->cond), a = c ? value(g, s->a) : 0, b = a ? value(g, s->b) : 0;
        if (!b)
            return 0;
        return g->f->select ? given(g, g->f->select(&g->v, x, c, a, b)) : no_form(g, x, "a Select");
    }
    case TN_KIND_LET: {
        const tn_let *l = (const tn_let *)x;
        tnk_id id = value(g, l->value);
        tnb_ptrmap_set(&g->values, l->var, (void *)(uintptr_t)id);
        return value(g, l->body);
    }
    case TN_KIND_SHUFFLE:
        return shuffle(g, x);
    case TN_KIND_BUFFER_LOAD:
        return load(g, x);
    case TN_KIND_CALL:
        return call(g, x);
    default:
        return no_form(g, x, tn_kinds[x->kind].name);
    }
}

/* ---- statements ---- */

static void
stmt(visiting *g, const tn_stmt *s);

static void
bound_loop(visiting *g, const tn_for_loop *f)
{
    bool is_block;
    int dim;
    if (!g->f->thread || !tnk_thread_tag(f->thread_tag, &is_block, &dim)) {
        no_form(g, TN_NODE(f), tn_strf(g->v.ctx, "the thread index '%s'", f->thread_tag));
        return;
    }
    tnk_id id = given(g, g->f->thread(&g->v, tn_dtype_of(f->var), is_block, dim));
    tnb_ptrmap_set(&g->values, f->var, (void *)(uintptr_t)id);
    if (!tn_is_int_const(f->min, 0))
        tnb_ptrmap_set(&g->values, f->var,
                       (void *)(uintptr_t)value(g, tn_add(g->v.ctx, f->var, f->min)));
    stmt(g, f->body);
}

static void
loop(visiting *g, const tn_for_loop *f)
{
    if (f->for_kind == TN_FOR_THREAD_BINDING) {
        bound_loop(g, f);
        return;
    }
    if (f->annotations && g->f->nest && g->f->nest(&g->v, f))
        return;
    if (!g->f->loop_begin || !g->f->loop_end || f->for_kind == TN_FOR_VECTORIZED) {
        no_form(g, TN_NODE(f), "a loop of this kind");
        return;
    }
    tnk_id from = value(g, f->min), end = from ? value(g, tn_add(g->v.ctx, f->min, f->extent)) : 0,
           id = end ? given(g, g->f->loop_begin(&g->v, f, from, end)) : 0;
    tnb_ptrmap_set(&g->values, f->var, (void *)(uintptr_t)id);
    stmt(g, f->body);
    if (!g->v.failed)
        g->f->loop_end(&g->v, f);
}

static void
while_stmt(visiting *g, const tn_stmt *s)
{
    const tn_while_loop *w = (const tn_while_loop *)s;
    if (!g->f->while_begin || !g->f->while_test || !g->f->while_end) {
        no_form(g, s, "a loop of unknown length");
        return;
    }
    g->f->while_begin(&g->v, s);
    tnk_id cond = value(g, w->cond);
    if (cond)
        g->f->while_test(&g->v, s, cond);
    stmt(g, w->body);
    if (!g->v.failed)
        g->f->while_end(&g->v, s);
}

static void
if_stmt(visiting *g, const tn_stmt *s)
{
    const tn_if_stmt *i = (const tn_if_stmt *)s;
    tnk_id cond = value(g, i->cond);
    if (!g->f->if_begin || !g->f->if_end || (i->else_case && !g->f->if_else))
        no_form(g, s, "a branch");
    if (g->v.failed)
        return;
    g->f->if_begin(&g->v, s, cond);
    stmt(g, i->then_case);
    if (i->else_case && !g->v.failed) {
        g->f->if_else(&g->v, s);
        stmt(g, i->else_case);
    }
    if (!g->v.failed)
        g->f->if_end(&g->v, s);
}

static void
store(visiting *g, const tn_stmt *s)
{
    const tn_buffer_store *st = (const tn_buffer_store *)s;
    const tnk_place *p = place_of(g, st->buffer, s->loc);
    tnk_id at = p ? first_of(g, s, st->indices) : 0, v = at ? value(g, st->value) : 0;
    if (!v)
        return;
    if (g->f->store)
        g->f->store(&g->v, s, p, at, v);
    else
        no_form(g, s, "a store");
}

static void
evaluate(visiting *g, const tn_expr *x)
{
    const tn_call *c = tn_as_call(x);
    if (!c || tn_is_intrin(x, TN_INTRIN_assume) || tn_is_intrin(x, TN_INTRIN_prefetch))
        return;
    const tn_string_imm *scope =
        tn_is_intrin(x, TN_INTRIN_tvm_storage_sync) ? tn_as_string_imm(c->args.at[0]) : NULL;
    if (!scope)
        (void)value(g, x);
    else if (g->f->barrier)
        g->f->barrier(&g->v, scope->value);
    else
        no_form(g, x, "a barrier");
}

static void
stmt(visiting *g, const tn_stmt *s)
{
    if (!s || g->v.failed)
        return;
    switch (s->kind) {
    case TN_KIND_SEQ:
        for (uint32_t i = 0; i < ((const tn_seq *)s)->stmts.n; i++)
            stmt(g, ((const tn_seq *)s)->stmts.at[i]);
        return;
    case TN_KIND_FOR:
        loop(g, (const tn_for_loop *)s);
        return;
    case TN_KIND_WHILE:
        while_stmt(g, s);
        return;
    case TN_KIND_IF_STMT:
        if_stmt(g, s);
        return;
    case TN_KIND_BUFFER_STORE:
        store(g, s);
        return;
    case TN_KIND_BIND:
        tnb_ptrmap_set(&g->values, ((const tn_bind *)s)->var,
                       (void *)(uintptr_t)value(g, ((const tn_bind *)s)->value));
        return;
    case TN_KIND_ATTR_STMT:
        stmt(g, ((const tn_attr_stmt *)s)->body);
        return;
    case TN_KIND_EVALUATE:
        evaluate(g, ((const tn_evaluate *)s)->value);
        return;
    case TN_KIND_BREAK:
    case TN_KIND_CONTINUE:
        if (g->f->leave)
            g->f->leave(&g->v, s);
        else
            no_form(g, s, "a break");
        return;
    case TN_KIND_ALLOC_BUFFER: /* the memory was named before */
    case TN_KIND_DECL_BUFFER:
    case TN_KIND_ASSERT: /* the host has checked what can be checked */
        return;
    default:
        no_form(g, s, tn_kinds[s->kind].name);
    }
}

tnk_id
tnk_visit_value(tnk_visitor *v, const tn_expr *x)
{
    return value((visiting *)v, x);
}

const tnk_place *
tnk_visit_place(tnk_visitor *v, const tn_node *buffer)
{
    return place_of((visiting *)v, buffer, 0);
}

bool
tnk_visit_kernel(tn_ctx *ctx, const tnk_kernel *k, const tnk_visits *visits, void *user)
{
    visiting g = {.v = {ctx, k, visits, user, false}, .f = visits};
    const tn_prim_func *f = tn_as_prim_func(k->func);
    tnb_ptrmap_init(&g.values, tn_scratch(ctx));
    tnb_ptrmap_init(&g.places, tn_scratch(ctx));
    for (uint32_t i = 0; i < k->n_params && !g.v.failed; i++) {
        const tnk_param *p = &k->params[i];
        if (tnb_param_is_memory(p->kind))
            add_place(&g, p->buffer, TNK_ROOM_PARAM, p, -1);
    }
    tn_walk(f->body, 0, find_allocation, NULL, &g);
    for (uint32_t i = 0; i < k->n_params && !g.v.failed; i++) {
        const tnk_param *p = &k->params[i];
        if (p->kind != TNB_PARAM_SCALAR)
            continue;
        tnk_id id = visits->scalar ? given(&g, visits->scalar(&g.v, p))
                                   : no_form(&g, p->var, "a scalar parameter");
        tnb_ptrmap_set(&g.values, p->var, (void *)(uintptr_t)id);
    }
    stmt(&g, f->body);
    return !g.v.failed;
}
