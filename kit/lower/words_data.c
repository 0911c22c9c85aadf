/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 64 bits that are data, as two words. Words that are used often are variables in front of the statement; what must not
 * be computed there, because a condition guards it, is guarded in its variable.
 */
#include "words.h"

static const tnb_dtype word = TNB_DTYPE(TNB_UINT, 32);

const tn_expr *
tnk_words_refuse(tnk_words *w, const tn_expr *e, const char *what)
{
    if (!w->failed)
        tn_error(w->ctx, e->loc, TNB_UNSUPPORTED,
                 "'%s': %s of %s has no form in words of 32 bits (the target's attribute "
                 "supports_int64 is False)",
                 w->func, what, tnb_dtype_print(tn_dtype_of(e)).s);
    w->failed = true;
    return e;
}

/* ---- variables in front of the statement ---- */

static tn_walk_step
find_risk(void *user, const tn_node *n)
{
    (void)user;
    const tn_op *op = tn_as_call(n) ? tn_call_op_of(tn_as_call(n)) : NULL;
    bool risky = n->kind == TN_KIND_BUFFER_LOAD || tn_is_intrin(n, TN_INTRIN_index_in) ||
                 (tn_as_call(n) && (!op || (op->flags & (TN_OP_IMPURE | TN_OP_READS_MEMORY))));
    return risky ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_expr *
zero_of(tn_ctx *ctx, tnb_dtype d)
{
    tnb_dtype one = d;
    one.lanes = 1;
    const tn_expr *zero = tn_literal(ctx, one, 0);
    return d.lanes > 1 ? tn_broadcast_of(ctx, zero, d.lanes) : zero;
}

static void
bind_in_front(tnk_words *w, tnk_words_scope *s, const tn_expr *var, const tn_expr *e);

/* Whether what stands in the scope is computed; NULL: always. */
static const tn_expr *
guard_of(tnk_words *w, tnk_words_scope *s)
{
    tn_ctx *ctx = w->ctx;
    while (s && !s->cond)
        s = s->up;
    if (!s || s->guard)
        return s ? s->guard : NULL;
    const tn_expr *outer = guard_of(w, s->up), *own = s->holds ? s->cond : tn_not(ctx, s->cond);
    if (outer)
        own = tn_if_then_else(ctx, outer, own, tn_bool(ctx, false));
    s->guard = tn_var_dtype(ctx, "guard", TNB_B8);
    bind_in_front(w, NULL, s->guard, own);
    return s->guard;
}

/* A variable that has the value of `e`, which is computed where the guards hold alone if it may not be elsewhere. */
static void
bind_in_front(tnk_words *w, tnk_words_scope *s, const tn_expr *var, const tn_expr *e)
{
    bool risky = !tn_walk(e, TN_WALK_ONCE, find_risk, NULL, NULL);
    const tn_expr *guard = risky ? guard_of(w, s) : NULL;
    if (guard)
        e = tn_if_then_else(w->ctx, guard, e, zero_of(w->ctx, tn_dtype_of(e)));
    TNB_PUSH(tn_scratch(w->ctx), w->front, tn_bind_of(w->ctx, var, e));
}

const tn_expr *
tnk_words_once(tnk_pairs *p, const tn_expr *e)
{
    tnk_words *w = p->user;
    const tn_broadcast *b = tn_as_broadcast(e);
    const tn_expr *of = b ? b->value : e;
    if (w->failed || tn_is_error(e) || tn_is_var(of) || of->kind == TN_KIND_INT_IMM ||
        of->kind == TN_KIND_FLOAT_IMM)
        return e;
    const tn_expr *v = tn_var_dtype(w->ctx, "word", tn_dtype_of(e));
    bind_in_front(w, w->scope, v, e);
    return v;
}

static void *
known(tnk_words *w, const tn_expr *e, bool pairs)
{
    void *found = NULL;
    for (tnk_words_scope *s = w->scope; s && !found; s = s->up)
        found = tnb_ptrmap_get(pairs ? &s->pairs : &s->memo, e);
    return found;
}

/* Within what is computed where `cond` holds, or does not hold; NULL: always. */
void
tnk_words_enter(tnk_words *w, tnk_words_scope *s, const tn_expr *cond, bool holds)
{
    *s = (tnk_words_scope){.up = w->scope, .cond = cond, .holds = holds};
    tnb_ptrmap_init(&s->memo, tn_scratch(w->ctx));
    tnb_ptrmap_init(&s->pairs, tn_scratch(w->ctx));
    w->scope = s;
}

void
tnk_words_leave(tnk_words *w)
{
    w->scope = w->scope->up;
}

/* ---- data: two words ---- */

static tnk_pair
refused(tnk_words *w, const tn_expr *e, const char *what)
{
    tnk_words_refuse(w, e, what);
    return tnk_pair_of_int(&w->pairs, 0, tn_dtype_of(e).lanes);
}

static tnk_pair
binary(tnk_words *w, const tn_expr *e)
{
    tnk_pairs *p = &w->pairs;
    bool is_signed = tn_dtype_of(e).code == TNB_INT;
    tnk_pair a = tnk_words_data(w, ((const tn_binary *)e)->a),
             b = tnk_words_data(w, ((const tn_binary *)e)->b);
    switch (e->kind) {
    case TN_KIND_ADD:
        return tnk_pair_add(p, a, b);
    case TN_KIND_SUB:
        return tnk_pair_sub(p, a, b);
    case TN_KIND_MUL:
        return tnk_pair_mul(p, a, b);
    case TN_KIND_MIN:
        return tnk_pair_choose(p, tnk_pair_less(p, is_signed, a, b), a, b);
    case TN_KIND_MAX:
        return tnk_pair_choose(p, tnk_pair_less(p, is_signed, a, b), b, a);
    case TN_KIND_DIV:
        return tnk_pair_divide(p, TNK_QUOTIENT_DIV, is_signed, a, b);
    case TN_KIND_MOD:
        return tnk_pair_divide(p, TNK_QUOTIENT_MOD, is_signed, a, b);
    case TN_KIND_FLOOR_DIV:
        return tnk_pair_divide(p, TNK_QUOTIENT_FLOOR_DIV, is_signed, a, b);
    case TN_KIND_FLOOR_MOD:
        return tnk_pair_divide(p, TNK_QUOTIENT_FLOOR_MOD, is_signed, a, b);
    default:
        return refused(w, e, tn_kinds[e->kind].name);
    }
}

/* The places of the two words of elements at an index. */
tnk_pair
tnk_words_places(tn_ctx *ctx, const tn_expr *i)
{
    tnb_dtype d = tn_dtype_of(i);
    const tn_ramp *r = tn_as_ramp(i);
    const tn_expr *lo = tn_mul(ctx, i, tnk_int_of(ctx, d, 2));
    if (!r)
        return (tnk_pair){lo, tn_add(ctx, lo, tnk_int_of(ctx, d, 1))};
    const tn_expr *two = tn_int_imm_of(ctx, tn_dtype_of(r->start), 2),
                  *one = tn_int_imm_of(ctx, tn_dtype_of(r->start), 1),
                  *start = tn_mul(ctx, r->start, two), *stride = tn_mul(ctx, r->stride, two);
    return (tnk_pair){tn_ramp_of(ctx, start, stride, r->lanes),
                      tn_ramp_of(ctx, tn_add(ctx, start, one), stride, r->lanes)};
}

static tnk_pair
load(tnk_words *w, const tn_buffer_load *l)
{
    tn_ctx *ctx = w->ctx;
    const tn_node *b = tnb_ptrmap_get(&w->buffers, l->buffer);
    if (!b)
        return refused(w, TN_NODE(l), "a load");
    const tn_expr *i = tnk_words_index(w, l->indices.at[0]);
    tnk_pair at = tnk_words_places(ctx, tn_as_ramp(i) ? i : tnk_words_once(&w->pairs, i));
    return (tnk_pair){tn_buffer_load_of(ctx, b, tn_list_of(ctx, &at.lo, 1)),
                      tn_buffer_load_of(ctx, b, tn_list_of(ctx, &at.hi, 1))};
}

static tnk_pair
choice(tnk_words *w, const tn_call *c)
{
    tn_ctx *ctx = w->ctx;
    tnk_words_scope s;
    const tn_expr *cond = tnk_words_once(&w->pairs, tnk_words_rest(w, c->args.at[0]));
    tnk_words_enter(w, &s, cond, true);
    tnk_pair a = tnk_words_data(w, c->args.at[1]);
    tnk_words_leave(w);
    tnk_words_enter(w, &s, cond, false);
    tnk_pair b = tnk_words_data(w, c->args.at[2]);
    tnk_words_leave(w);
    return (tnk_pair){tn_if_then_else(ctx, cond, a.lo, b.lo),
                      tn_if_then_else(ctx, cond, a.hi, b.hi)};
}

/* A call for each word. */
static tnk_pair
each_word(tnk_words *w, const tn_call *c)
{
    tn_ctx *ctx = w->ctx;
    tn_list lo = c->args, hi = c->args;
    tnb_dtype u = tnk_lanes_as(word, tn_dtype_of(TN_NODE(c)));
    for (uint32_t i = 0; i < c->args.n; i++) {
        const tn_expr *a = c->args.at[i];
        bool wide = tnk_is_wide(tn_dtype_of(a));
        tnk_pair p = wide ? tnk_words_data(w, a) : (tnk_pair){tnk_words_rest(w, a), NULL};
        tn_list_change(ctx, &lo, c->args, i, p.lo);
        tn_list_change(ctx, &hi, c->args, i, wide ? p.hi : p.lo);
    }
    return (tnk_pair){tn_scalar_call(ctx, u, c->op, lo, c->attrs),
                      tn_scalar_call(ctx, u, c->op, hi, c->attrs)};
}

static tnk_pair
call(tnk_words *w, const tn_expr *e)
{
    const tn_call *c = (const tn_call *)e;
    tnk_pairs *p = &w->pairs;
    bool is_signed = tn_dtype_of(e).code == TNB_INT;
    switch ((int)tn_intrin_of(e)) {
    case TN_INTRIN_if_then_else:
        return choice(w, c);
    case TN_INTRIN_bitwise_and:
    case TN_INTRIN_bitwise_or:
    case TN_INTRIN_bitwise_xor:
    case TN_INTRIN_bitwise_not:
    case TN_INTRIN_likely:
    case TN_INTRIN_tvm_thread_invariant:
    case TN_INTRIN_tvm_warp_shuffle:
    case TN_INTRIN_tvm_warp_shuffle_up:
    case TN_INTRIN_tvm_warp_shuffle_down:
    case TN_INTRIN_tvm_warp_shuffle_xor:
        return each_word(w, c);
    case TN_INTRIN_shift_left:
    case TN_INTRIN_shift_right: {
        tnk_pair a = tnk_words_data(w, c->args.at[0]), by = tnk_words_data(w, c->args.at[1]);
        return tnk_pair_shift(p, tn_is_intrin(e, TN_INTRIN_shift_left), is_signed, a, by);
    }
    case TN_INTRIN_abs: {
        tnk_pair a = tnk_words_data(w, c->args.at[0]),
                 zero = tnk_pair_of_int(p, 0, tn_dtype_of(e).lanes);
        return is_signed ? tnk_pair_choose(p, tnk_pair_less(p, true, a, zero),
                                           tnk_pair_sub(p, zero, a), a)
                         : a;
    }
    case TN_INTRIN_popcount:
        return tnk_pair_extend(p, tnk_pair_popcount(p, tnk_words_data(w, c->args.at[0])));
    case TN_INTRIN_reinterpret:
        if (tnk_is_wide(tn_dtype_of(c->args.at[0])))
            return tnk_words_data(w, c->args.at[0]);
        break;
    case TN_INTRIN_index_in:
        return tnk_pair_extend(p, tnk_words_index(w, e));
    default:
        break;
    }
    return refused(w, e,
                   tn_strf(w->ctx, "a call of '%s'",
                           tn_call_op_of(c) ? tn_call_op_of(c)->base.name : "a function"));
}

static tnk_pair
shuffle(tnk_words *w, const tn_shuffle *s)
{
    tn_ctx *ctx = w->ctx;
    tn_list lo = s->vectors, hi = s->vectors, at = s->indices;
    for (uint32_t i = 0; i < s->vectors.n; i++) {
        tnk_pair p = tnk_words_data(w, s->vectors.at[i]);
        tn_list_change(ctx, &lo, s->vectors, i, p.lo);
        tn_list_change(ctx, &hi, s->vectors, i, p.hi);
    }
    for (uint32_t i = 0; i < at.n; i++)
        tn_list_change(ctx, &at, s->indices, i, tnk_words_index(w, s->indices.at[i]));
    return (tnk_pair){tn_shuffle_of(ctx, lo, at), tn_shuffle_of(ctx, hi, at)};
}

static tnk_pair
of_data(tnk_words *w, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    tnk_pairs *p = &w->pairs;
    tnb_dtype d = tn_dtype_of(e);
    int64_t v;
    if (w->failed)
        return tnk_pair_of_int(p, 0, d.lanes);
    if (tn_int_value(e, &v))
        return tnk_pair_of_int(p, v, d.lanes);
    if (tnk_words_fit(w, e))
        return tnk_pair_extend(p, tnk_words_narrow(w, e));
    if (tn_is_binary(e))
        return binary(w, e);
    switch (e->kind) {
    case TN_KIND_VAR: {
        const tnk_pair *held = tnb_ptrmap_get(&w->vars, e);
        return held ? *held : refused(w, e, tn_strf(ctx, "the variable '%s'", tn_var_name(e)));
    }
    case TN_KIND_CAST: {
        const tn_expr *x = ((const tn_cast *)e)->value;
        tnb_dtype from = tn_dtype_of(x);
        if (tnk_is_wide(from))
            return tnk_words_data(w, x);
        x = tnk_words_rest(w, x);
        if (!tnb_dtype_is_float(from))
            return tnk_pair_extend(p, x);
        return tnk_pair_from_float(p, d.code == TNB_INT,
                                   from.bits < 32 ? tn_cast_to(ctx, tnk_lanes_as(TNB_F32, from), x)
                                                  : x);
    }
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)e;
        tnk_pair a = tnk_words_data(w, s->a), b = tnk_words_data(w, s->b);
        return tnk_pair_choose(p, tnk_words_rest(w, s->cond), a, b);
    }
    case TN_KIND_BROADCAST: {
        tnk_pair x = tnk_words_data(w, ((const tn_broadcast *)e)->value);
        return (tnk_pair){tn_broadcast_of(ctx, x.lo, d.lanes), tn_broadcast_of(ctx, x.hi, d.lanes)};
    }
    case TN_KIND_RAMP: { /* lane i: start + stride * i */
        const tn_ramp *r = (const tn_ramp *)e;
        const tn_expr *zero = tn_i32(ctx, 0), *one = tn_i32(ctx, 1);
        tnk_pair start = tnk_words_data(w, tn_broadcast_of(ctx, r->start, r->lanes)),
                 stride = tnk_words_data(w, tn_broadcast_of(ctx, r->stride, r->lanes)),
                 lane = tnk_pair_extend(p, tn_ramp_of(ctx, zero, one, r->lanes));
        return tnk_pair_add(p, start, tnk_pair_mul(p, stride, lane));
    }
    case TN_KIND_SHUFFLE:
        return shuffle(w, (const tn_shuffle *)e);
    case TN_KIND_BUFFER_LOAD:
        return load(w, (const tn_buffer_load *)e);
    case TN_KIND_CALL:
        return call(w, e);
    default:
        return refused(w, e, tn_kinds[e->kind].name);
    }
}

static const tn_expr *
let(tnk_words *w, const tn_let *l);

tnk_pair
tnk_words_data(tnk_words *w, const tn_expr *e)
{
    tnk_pair *is = known(w, e, true);
    if (!is) {
        is = TNB_NEW(tn_scratch(w->ctx), tnk_pair);
        tn_loc was = tn_at(w->ctx, e->loc);
        if (tn_as_let(e)) {
            *is = tnk_words_data(w, let(w, tn_as_let(e)));
        } else {
            *is = of_data(w, e);
            is->lo = tnk_words_once(&w->pairs, is->lo);
            is->hi = tnk_words_once(&w->pairs, is->hi);
        }
        tn_at(w->ctx, was);
        tnb_ptrmap_set(&w->scope->pairs, e, is);
    }
    return *is;
}

/* ---- other numbers, which may be made of those of 64 bits ---- */

static const tn_expr *
compared(tnk_words *w, const tn_binary *b)
{
    tn_ctx *ctx = w->ctx;
    tnk_pairs *p = &w->pairs;
    tn_kind kind = (tn_kind)b->base.kind;
    bool is_signed = tn_dtype_of(b->a).code == TNB_INT;
    if (tnk_words_fit(w, b->a) && tnk_words_fit(w, b->b))
        return tn_cmp(ctx, kind, tnk_words_narrow(w, b->a), tnk_words_narrow(w, b->b));
    tnk_pair x = tnk_words_data(w, b->a), y = tnk_words_data(w, b->b);
    switch (kind) {
    case TN_KIND_EQ:
        return tnk_pair_equal(p, x, y);
    case TN_KIND_NE:
        return tn_not(ctx, tnk_pair_equal(p, x, y));
    case TN_KIND_LT:
        return tnk_pair_less(p, is_signed, x, y);
    case TN_KIND_GE:
        return tn_not(ctx, tnk_pair_less(p, is_signed, x, y));
    case TN_KIND_GT:
        return tnk_pair_less(p, is_signed, y, x);
    default:
        return tn_not(ctx, tnk_pair_less(p, is_signed, y, x));
    }
}

static const tn_expr *
cast(tnk_words *w, const tn_expr *x, tnb_dtype to)
{
    tn_ctx *ctx = w->ctx;
    bool is_int = !tnb_dtype_is_float(to) && !tnb_dtype_is_bool(to);
    if (is_int ? tnk_words_counts(w, x) : tnk_words_fit(w, x))
        return tn_cast_to(ctx, to, tnk_words_narrow(w, x));
    tnk_pair p = tnk_words_data(w, x);
    if (is_int)
        return tn_cast_to(ctx, to, p.lo);
    if (tnb_dtype_is_bool(to))
        return tn_cmp(ctx, TN_KIND_NE, tn_bitwise_or(ctx, p.lo, p.hi),
                      tnk_int_of(ctx, tn_dtype_of(p.lo), 0));
    bool is_signed = tn_dtype_of(x).code == TNB_INT;
    if (to.bits <= 32)
        return tn_cast_to(ctx, to, tnk_pair_to_float(&w->pairs, is_signed, p));
    /* each word is exact, and so is what the higher one stands for */
    tnb_dtype one = to;
    one.lanes = 1;
    const tn_expr *scale = tn_float_imm_of(ctx, one, 0x1p32),
                  *hi = is_signed ? tn_cast_to(ctx, tnk_lanes_as(TNB_I32, to), p.hi) : p.hi;
    scale = to.lanes > 1 ? tn_broadcast_of(ctx, scale, to.lanes) : scale;
    return tn_add(ctx, tn_mul(ctx, tn_cast_to(ctx, to, hi), scale), tn_cast_to(ctx, to, p.lo));
}

/* A bool or other number, which is computed where the condition alone says so. */
static const tn_expr *
guarded(tnk_words *w, const tn_expr *e, const tn_expr *cond, bool holds)
{
    tnk_words_scope s;
    tnk_words_enter(w, &s, cond, holds);
    e = tnk_words_rest(w, e);
    tnk_words_leave(w);
    return e;
}

/* The variable in front of the statement; the body. */
static const tn_expr *
let(tnk_words *w, const tn_let *l)
{
    if (!tnk_is_wide(tn_dtype_of(l->var))) {
        bind_in_front(w, w->scope, l->var, tnk_words_rest(w, l->value));
        return l->body;
    }
    tnk_pair p = tnk_words_data(w, l->value);
    tnb_ptrmap_set(&w->vars, l->var, tnb_dup(tn_scratch(w->ctx), &p, sizeof p));
    return l->body;
}

static const tn_node *
pre(tn_rewriter *r, const tn_node *n)
{
    tnk_words *w = r->user;
    tn_ctx *ctx = w->ctx;
    if (w->failed)
        return n;
    const tn_binary *b = tn_is_binary(n) ? (const tn_binary *)n : NULL;
    const tn_call *c = tn_as_call(n);
    const tn_expr *e = known(w, n, false);
    if (e)
        return e;
    if (b && n->kind >= TN_KIND_EQ && n->kind <= TN_KIND_GE && tnk_is_wide(tn_dtype_of(b->a)))
        return compared(w, b);
    if (b && (n->kind == TN_KIND_AND || n->kind == TN_KIND_OR)) {
        bool lazy = tn_dtype_of(n).lanes == 1; /* not so with vectors */
        const tn_expr *first = tnk_words_rest(w, b->a);
        return tn_raw_binary(ctx, (tn_kind)n->kind, first,
                             lazy ? guarded(w, b->b, first, n->kind == TN_KIND_AND)
                                  : tnk_words_rest(w, b->b));
    }
    if (tn_is_intrin(n, TN_INTRIN_if_then_else)) {
        const tn_expr *cond = tnk_words_rest(w, c->args.at[0]),
                      *yes = guarded(w, c->args.at[1], cond, true),
                      *no = guarded(w, c->args.at[2], cond, false);
        return tn_if_then_else(ctx, cond, yes, no);
    }
    if (tn_as_let(n))
        return tnk_words_rest(w, let(w, tn_as_let(n)));
    if (tn_as_cast(n) && tnk_is_wide(tn_dtype_of(tn_as_cast(n)->value)) &&
        !tnk_is_wide(tn_dtype_of(n)))
        return cast(w, tn_as_cast(n)->value, tn_dtype_of(n));
    if (tn_is_intrin(n, TN_INTRIN_clz) && tnk_is_wide(tn_dtype_of(c->args.at[0])))
        return tn_cast_to(ctx, tn_dtype_of(n),
                          tnk_pair_clz(&w->pairs, tnk_words_data(w, c->args.at[0])));
    if (tn_as_buffer_load(n) && !tnk_is_wide(tn_dtype_of(n))) {
        const tn_buffer_load *l = tn_as_buffer_load(n);
        tn_list at = l->indices;
        for (uint32_t i = 0; i < at.n; i++)
            tn_list_change(ctx, &at, l->indices, i, tnk_words_index(w, l->indices.at[i]));
        return tn_buffer_load_of(ctx, l->buffer, at);
    }
    if (tn_is_scalar(n) && tnk_is_wide(tn_dtype_of(n)) && n->kind != TN_KIND_INT_IMM)
        return tnk_words_refuse(w, n, "an operand");
    return NULL;
}

tn_walk_step
tnk_find_wide(void *user, const tn_node *n)
{
    (void)user;
    return tn_is_scalar(n) && tnk_is_wide(tn_dtype_of(n)) ? TN_WALK_STOP : TN_WALK_ON;
}

const tn_expr *
tnk_words_rest(tnk_words *w, const tn_expr *e)
{
    tn_rewriter r = {.ctx = w->ctx, .user = w, .pre = pre};
    const tn_expr *is = known(w, e, false);
    if (!is) {
        bool same = w->failed || tn_walk(e, TN_WALK_ONCE, tnk_find_wide, NULL, NULL);
        is = same ? e : tn_rewrite(&r, e);
        tnb_ptrmap_set(&w->scope->memo, e, (void *)(uintptr_t)is);
    }
    return is;
}
