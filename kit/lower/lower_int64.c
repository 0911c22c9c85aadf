/* SPDX-License-Identifier: Apache-2.0 */
/* LowerInt64: numbers of 64 bits are pairs of 32-bit words, for targets that have none (supports_int64 is False).
 *
 *     A, B: T.Buffer((n,), "int64")                A, B: T.Buffer((n * 2,), "uint32")
 *     for i in range(n):                     =>    for i in range(n_1):                      (n_1: n as an int32)
 *         B[i] = A[i] + T.int64(1)                     lo = A[i * 2] + 1; hi = A[i * 2 + 1] + T.Select(A[i * 2] + 1 < A[i * 2], 1, 0)
 *                                                      B[i * 2] = lo; B[i * 2 + 1] = hi
 *
 * Indices, loops, scalars, and what is computed of them without loads, count in int32: memory that such a device reaches has fewer
 * than 2^31 elements. Data has two words, the lower first, as on a little-endian host: loads, stores, casts, sums, differences, products, min,
 * max, comparisons, choices and bitwise operations. The rest (quotients and shifts of data) is an error that names it. An
 * index that came as data and needs more than 32 bits is out of every range. A float of more than 56 bits is rounded twice.
 * Needs: flat buffers without views (LowerViews); NarrowDataType before, so that little is left.
 */
#include "lower.h"

#include "tenon/kit/codegen.h"

typedef struct pair {
    const tn_expr *lo, *hi;
} pair;

typedef struct words {
    tn_ctx *ctx;
    const char *func;
    tnb_ptrmap buffers; /* of 64 bits -> that of words */
    tnb_ptrmap small;   /* variable that counts -> int32 */
    tnb_ptrmap vars;    /* variable of data -> pair of variables */
    tnb_ptrmap memo, pairs;
    bool failed;
} words;

static const tnb_dtype word = TNB_DTYPE(TNB_UINT, 32);

static const tn_expr *
rest(words *w, const tn_expr *e);
static pair
data(words *w, const tn_expr *e);

static bool
is_wide(tnb_dtype d)
{
    return (d.code == TNB_INT || d.code == TNB_UINT) && d.bits == 64;
}

static tnb_dtype
lanes_as(tnb_dtype d, tnb_dtype of)
{
    d.lanes = of.lanes;
    return d;
}

static const tn_expr *
refuse(words *w, const tn_expr *e, const char *what)
{
    if (!w->failed)
        tn_error(w->ctx, e->loc, TNB_UNSUPPORTED,
                 "'%s': %s of %s has no form in words of 32 bits (the target's attribute "
                 "supports_int64 is False)",
                 w->func, what, tnb_dtype_print(tn_dtype_of(e)).s);
    w->failed = true;
    return e;
}

/* ---- what counts: int32 ---- */

static tn_walk_step
find_data(void *user, const tn_node *n)
{
    const words *w = user;
    int64_t v;
    if (!tn_is_scalar(n))
        return TN_WALK_SKIP;
    if (!is_wide(tn_dtype_of(n)))
        return n->kind == TN_KIND_BUFFER_LOAD ? TN_WALK_SKIP : TN_WALK_ON;
    bool large = tn_int_value(n, &v) && (v > INT32_MAX || v < -INT32_MAX);
    return n->kind == TN_KIND_BUFFER_LOAD || large || tnb_ptrmap_has(&w->vars, n) ? TN_WALK_STOP
                                                                                  : TN_WALK_ON;
}

static bool
counts(words *w, const tn_expr *e)
{
    return tn_walk(e, TN_WALK_ONCE, find_data, NULL, w);
}

/* A number that counts, as an int32. */
static const tn_expr *
narrow(words *w, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(e), to = lanes_as(TNB_I32, d);
    if (w->failed || !is_wide(d))
        return tn_cast_to(ctx, to, rest(w, e));
    if (tn_is_binary(e)) {
        const tn_binary *b = (const tn_binary *)e;
        return tn_bin(ctx, (tn_kind)e->kind, narrow(w, b->a), narrow(w, b->b));
    }
    switch (e->kind) {
    case TN_KIND_INT_IMM:
        return tn_int_imm_of(ctx, TNB_I32, ((const tn_int_imm *)e)->value);
    case TN_KIND_VAR: {
        const tn_expr *v = tnb_ptrmap_get(&w->small, e);
        return v ? v : refuse(w, e, tn_strf(ctx, "the variable '%s'", tn_var_name(e)));
    }
    case TN_KIND_CAST:
        return narrow(w, ((const tn_cast *)e)->value);
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)e;
        return tn_select_of(ctx, rest(w, s->cond), narrow(w, s->a), narrow(w, s->b));
    }
    case TN_KIND_RAMP:
        return tn_ramp_of(ctx, narrow(w, ((const tn_ramp *)e)->start),
                          narrow(w, ((const tn_ramp *)e)->stride), d.lanes);
    case TN_KIND_BROADCAST:
        return tn_broadcast_of(ctx, narrow(w, ((const tn_broadcast *)e)->value),
                               ((const tn_broadcast *)e)->lanes);
    case TN_KIND_CALL: {
        const tn_call *c = (const tn_call *)e;
        const tn_op *op = tn_call_op_of(c);
        tn_list args = c->args;
        for (uint32_t i = 0; i < args.n; i++)
            tn_list_change(ctx, &args, c->args, i,
                           is_wide(tn_dtype_of(c->args.at[i])) ? narrow(w, c->args.at[i])
                                                               : rest(w, c->args.at[i]));
        if (op && !(op->flags & TN_OP_IMPURE))
            return tn_scalar_call(ctx, to, c->op, args, c->attrs);
        return refuse(w, e, "a call with effects");
    }
    default:
        return refuse(w, e, tn_kinds[e->kind].name);
    }
}

/* An index, which may have come as data. */
static const tn_expr *
index_of(words *w, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(e), to = lanes_as(TNB_I32, d);
    if (!is_wide(d) || counts(w, e))
        return is_wide(d) ? narrow(w, e) : rest(w, e);
    if (tn_is_intrin(e, TN_INTRIN_index_in) || tn_is_binary(e) || tn_as_ramp(e) ||
        tn_as_broadcast(e)) {
        /* of parts, of which each fits or is out of every range */
        if (tn_is_binary(e))
            return tn_bin(ctx, (tn_kind)e->kind, index_of(w, ((const tn_binary *)e)->a),
                          index_of(w, ((const tn_binary *)e)->b));
        if (tn_as_ramp(e))
            return tn_ramp_of(ctx, index_of(w, tn_as_ramp(e)->start),
                              index_of(w, tn_as_ramp(e)->stride), d.lanes);
        if (tn_as_broadcast(e))
            return tn_broadcast_of(ctx, index_of(w, tn_as_broadcast(e)->value), d.lanes);
        const tn_call *c = (const tn_call *)e;
        tn_list args = c->args;
        for (uint32_t i = 0; i < 2; i++)
            tn_list_change(ctx, &args, c->args, i, index_of(w, c->args.at[i]));
        return tn_scalar_call(ctx, to, c->op, args, c->attrs);
    }
    pair p = data(w, e);
    const tn_expr *lo = tn_cast_to(ctx, to, p.lo),
                  *fits = tn_cmp(ctx, TN_KIND_EQ, tn_cast_to(ctx, to, p.hi),
                                 tn_shift_right(ctx, lo, tnk_int_of(ctx, to, 31)));
    return tn_select_of(ctx, fits, lo, tnk_int_of(ctx, to, INT32_MAX));
}

/* ---- data: two words ---- */

static pair
choose(words *w, const tn_expr *cond, pair a, pair b)
{
    return (pair){tn_select_of(w->ctx, cond, a.lo, b.lo), tn_select_of(w->ctx, cond, a.hi, b.hi)};
}

static const tn_expr *
less(words *w, bool is_signed, pair a, pair b)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = lanes_as(is_signed ? TNB_I32 : word, tn_dtype_of(a.lo));
    const tn_expr *x = tn_cast_to(ctx, d, a.hi), *y = tn_cast_to(ctx, d, b.hi);
    return tn_raw_binary(ctx, TN_KIND_OR, tn_cmp(ctx, TN_KIND_LT, x, y),
                         tn_raw_binary(ctx, TN_KIND_AND, tn_cmp(ctx, TN_KIND_EQ, x, y),
                                       tn_cmp(ctx, TN_KIND_LT, a.lo, b.lo)));
}

static const tn_expr *
equal(words *w, pair a, pair b)
{
    return tn_raw_binary(w->ctx, TN_KIND_AND, tn_cmp(w->ctx, TN_KIND_EQ, a.lo, b.lo),
                         tn_cmp(w->ctx, TN_KIND_EQ, a.hi, b.hi));
}

static pair
extended(words *w, const tn_expr *x)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(x), u = lanes_as(word, d), s = lanes_as(TNB_I32, d);
    const tn_expr *up = tn_cast_to(ctx, s, x);
    return (pair){tn_cast_to(ctx, u, x),
                  d.code == TNB_INT
                      ? tn_cast_to(ctx, u, tn_shift_right(ctx, up, tnk_int_of(ctx, s, 31)))
                      : tnk_int_of(ctx, u, 0)};
}

/* By halves of the lower words, whose products fit. */
static pair
product(words *w, pair a, pair b)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(a.lo);
    const tn_expr *low = tnk_int_of(ctx, d, 0xffff), *up = tnk_int_of(ctx, d, 16);
    const tn_expr *al = tn_bitwise_and(ctx, a.lo, low), *ah = tn_shift_right(ctx, a.lo, up),
                  *bl = tn_bitwise_and(ctx, b.lo, low), *bh = tn_shift_right(ctx, b.lo, up);
    const tn_expr *lh = tn_mul(ctx, al, bh), *hl = tn_mul(ctx, ah, bl),
                  *mid = tn_add(ctx, tn_shift_right(ctx, tn_mul(ctx, al, bl), up),
                                tn_add(ctx, tn_bitwise_and(ctx, lh, low),
                                       tn_bitwise_and(ctx, hl, low)));
    const tn_expr *hi = tn_add(ctx, tn_mul(ctx, ah, bh), tn_shift_right(ctx, mid, up));
    hi = tn_add(ctx, hi, tn_add(ctx, tn_shift_right(ctx, lh, up), tn_shift_right(ctx, hl, up)));
    hi = tn_add(ctx, hi, tn_add(ctx, tn_mul(ctx, a.lo, b.hi), tn_mul(ctx, a.hi, b.lo)));
    return (pair){tn_mul(ctx, a.lo, b.lo), hi};
}

static pair
of_data(words *w, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(e), u = lanes_as(word, d);
    pair none = {tnk_int_of(ctx, u, 0), tnk_int_of(ctx, u, 0)};
    int64_t v;
    if (tn_int_value(e, &v))
        return (pair){tnk_int_of(ctx, u, v & 0xffffffff),
                      tnk_int_of(ctx, u, (v >> 32) & 0xffffffff)};
    if (counts(w, e))
        return extended(w, narrow(w, e));
    if (tn_is_binary(e)) {
        pair a = data(w, ((const tn_binary *)e)->a), b = data(w, ((const tn_binary *)e)->b);
        const tn_expr *one = tnk_int_of(ctx, u, 1), *zero = tnk_int_of(ctx, u, 0), *lo, *carry;
        switch (e->kind) {
        case TN_KIND_ADD:
            lo = tn_add(ctx, a.lo, b.lo);
            carry = tn_select_of(ctx, tn_cmp(ctx, TN_KIND_LT, lo, a.lo), one, zero);
            return (pair){lo, tn_add(ctx, tn_add(ctx, a.hi, b.hi), carry)};
        case TN_KIND_SUB:
            carry = tn_select_of(ctx, tn_cmp(ctx, TN_KIND_LT, a.lo, b.lo), one, zero);
            return (pair){tn_sub(ctx, a.lo, b.lo), tn_sub(ctx, tn_sub(ctx, a.hi, b.hi), carry)};
        case TN_KIND_MUL:
            return product(w, a, b);
        case TN_KIND_MIN:
            return choose(w, less(w, d.code == TNB_INT, a, b), a, b);
        case TN_KIND_MAX:
            return choose(w, less(w, d.code == TNB_INT, a, b), b, a);
        default:
            refuse(w, e, tn_kinds[e->kind].name);
            return none;
        }
    }
    switch (e->kind) {
    case TN_KIND_VAR: {
        const pair *p = tnb_ptrmap_get(&w->vars, e);
        return p ? *p : none;
    }
    case TN_KIND_CAST: {
        const tn_expr *x = ((const tn_cast *)e)->value;
        if (is_wide(tn_dtype_of(x)))
            return data(w, x);
        if (tnb_dtype_is_float(tn_dtype_of(x)))
            break;
        return extended(w, rest(w, x));
    }
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)e;
        return choose(w, rest(w, s->cond), data(w, s->a), data(w, s->b));
    }
    case TN_KIND_BROADCAST: {
        pair p = data(w, ((const tn_broadcast *)e)->value);
        return (pair){tn_broadcast_of(ctx, p.lo, d.lanes), tn_broadcast_of(ctx, p.hi, d.lanes)};
    }
    case TN_KIND_BUFFER_LOAD: {
        const tn_buffer_load *l = (const tn_buffer_load *)e;
        const tn_node *b = tnb_ptrmap_get(&w->buffers, l->buffer);
        if (!b)
            break;
        const tn_expr *i = index_of(w, l->indices.at[0]);
        tnb_dtype at = tn_dtype_of(i);
        const tn_expr *lo = tn_mul(ctx, i, tnk_int_of(ctx, at, 2)),
                      *hi = tn_add(ctx, lo, tnk_int_of(ctx, at, 1));
        if (tn_as_ramp(i)) {
            const tn_ramp *r = tn_as_ramp(i);
            const tn_expr *two = tn_int_imm_of(ctx, tn_dtype_of(r->start), 2),
                          *start = tn_mul(ctx, r->start, two);
            lo = tn_ramp_of(ctx, start, tn_mul(ctx, r->stride, two), r->lanes);
            hi = tn_ramp_of(ctx, tn_add(ctx, start, tn_int_imm_of(ctx, tn_dtype_of(start), 1)),
                            tn_mul(ctx, r->stride, two), r->lanes);
        }
        return (pair){tn_buffer_load_of(ctx, b, tn_list_of(ctx, &lo, 1)),
                      tn_buffer_load_of(ctx, b, tn_list_of(ctx, &hi, 1))};
    }
    case TN_KIND_CALL: {
        const tn_call *c = (const tn_call *)e;
        pair a, b;
        switch ((int)tn_intrin_of(e)) {
        case TN_INTRIN_if_then_else:
            a = data(w, c->args.at[1]), b = data(w, c->args.at[2]);
            return (pair){tn_if_then_else(ctx, rest(w, c->args.at[0]), a.lo, b.lo),
                          tn_if_then_else(ctx, rest(w, c->args.at[0]), a.hi, b.hi)};
        case TN_INTRIN_bitwise_and:
            a = data(w, c->args.at[0]), b = data(w, c->args.at[1]);
            return (pair){tn_bitwise_and(ctx, a.lo, b.lo), tn_bitwise_and(ctx, a.hi, b.hi)};
        case TN_INTRIN_bitwise_or:
            a = data(w, c->args.at[0]), b = data(w, c->args.at[1]);
            return (pair){tn_bitwise_or(ctx, a.lo, b.lo), tn_bitwise_or(ctx, a.hi, b.hi)};
        case TN_INTRIN_bitwise_xor:
            a = data(w, c->args.at[0]), b = data(w, c->args.at[1]);
            return (pair){tn_bitwise_xor(ctx, a.lo, b.lo), tn_bitwise_xor(ctx, a.hi, b.hi)};
        case TN_INTRIN_bitwise_not:
            a = data(w, c->args.at[0]);
            return (pair){tn_bitwise_not(ctx, a.lo), tn_bitwise_not(ctx, a.hi)};
        case TN_INTRIN_index_in:
            return extended(w, index_of(w, e));
        default:
            break;
        }
        refuse(w, e,
               tn_strf(ctx, "a call of '%s'",
                       tn_call_op_of(c) ? tn_call_op_of(c)->base.name : "a function"));
        return none;
    }
    default:
        break;
    }
    refuse(w, e, tn_kinds[e->kind].name);
    return none;
}

static pair
data(words *w, const tn_expr *e)
{
    pair *known = tnb_ptrmap_get(&w->pairs, e);
    if (!known) {
        known = TNB_NEW(tn_scratch(w->ctx), pair);
        tn_loc was = tn_at(w->ctx, e->loc);
        *known = of_data(w, e);
        tn_at(w->ctx, was);
        tnb_ptrmap_set(&w->pairs, e, known);
    }
    return *known;
}

/* ---- other numbers, which may be made of those of 64 bits ---- */

static const tn_expr *
compared(words *w, const tn_binary *b)
{
    tn_ctx *ctx = w->ctx;
    tn_kind kind = (tn_kind)b->base.kind;
    bool is_signed = tn_dtype_of(b->a).code == TNB_INT;
    if (counts(w, b->a) && counts(w, b->b))
        return tn_cmp(ctx, kind, narrow(w, b->a), narrow(w, b->b));
    pair x = data(w, b->a), y = data(w, b->b);
    switch (kind) {
    case TN_KIND_EQ:
        return equal(w, x, y);
    case TN_KIND_NE:
        return tn_raw_not(ctx, equal(w, x, y));
    case TN_KIND_LT:
        return less(w, is_signed, x, y);
    case TN_KIND_GE:
        return tn_raw_not(ctx, less(w, is_signed, x, y));
    case TN_KIND_GT:
        return less(w, is_signed, y, x);
    default:
        return tn_raw_not(ctx, less(w, is_signed, y, x));
    }
}

static const tn_expr *
cast(words *w, const tn_expr *x, tnb_dtype to)
{
    tn_ctx *ctx = w->ctx;
    if (counts(w, x))
        return tn_cast_to(ctx, to, narrow(w, x));
    pair p = data(w, x);
    if (tnb_dtype_is_bool(to))
        return tn_cmp(ctx, TN_KIND_NE, tn_bitwise_or(ctx, p.lo, p.hi),
                      tnk_int_of(ctx, tn_dtype_of(p.lo), 0));
    if (!tnb_dtype_is_float(to))
        return tn_cast_to(ctx, to, p.lo);
    tnb_dtype s = lanes_as(TNB_I32, to), one = to, f = lanes_as(TNB_F32, to);
    one = to.bits < 32 ? f : to;
    tnb_dtype scalar = one;
    scalar.lanes = 1;
    const tn_expr *scale = tn_float_imm_of(ctx, scalar, 4294967296.0),
                  *hi = tn_dtype_of(x).code == TNB_INT ? tn_cast_to(ctx, s, p.hi) : p.hi;
    if (to.lanes > 1)
        scale = tn_broadcast_of(ctx, scale, to.lanes);
    return tn_cast_to(ctx, to,
                      tn_add(ctx, tn_mul(ctx, tn_cast_to(ctx, one, hi), scale),
                             tn_cast_to(ctx, one, p.lo)));
}

static const tn_node *
pre(tn_rewriter *r, const tn_node *n)
{
    words *w = r->user;
    if (w->failed)
        return n;
    const tn_binary *b = n->kind >= TN_KIND_EQ && n->kind <= TN_KIND_GE ? tn_as_binary(n) : NULL;
    if (b && is_wide(tn_dtype_of(b->a)))
        return compared(w, b);
    if (tn_as_cast(n) && is_wide(tn_dtype_of(tn_as_cast(n)->value)) && !is_wide(tn_dtype_of(n)))
        return cast(w, tn_as_cast(n)->value, tn_dtype_of(n));
    if (tn_as_buffer_load(n) && !is_wide(tn_dtype_of(n))) {
        const tn_buffer_load *l = tn_as_buffer_load(n);
        tn_list at = l->indices;
        for (uint32_t i = 0; i < at.n; i++)
            tn_list_change(w->ctx, &at, l->indices, i, index_of(w, l->indices.at[i]));
        return tn_buffer_load_of(w->ctx, l->buffer, at);
    }
    if (tn_is_scalar(n) && is_wide(tn_dtype_of(n)) && n->kind != TN_KIND_INT_IMM)
        return refuse(w, n, "an operand");
    return NULL;
}

static const tn_expr *
rest(words *w, const tn_expr *e)
{
    tn_rewriter r = {.ctx = w->ctx, .user = w, .pre = pre};
    const tn_expr *known = tnb_ptrmap_get(&w->memo, e);
    if (!known) {
        known = w->failed ? e : tn_rewrite(&r, e);
        tnb_ptrmap_set(&w->memo, e, known);
    }
    return known;
}

/* ---- statements ---- */

static const tn_expr *
small_var(words *w, const tn_expr *var)
{
    const tn_expr *v = tn_var_dtype(w->ctx, tn_var_name(var), lanes_as(TNB_I32, tn_dtype_of(var)));
    tnb_ptrmap_set(&w->small, var, v);
    return v;
}

/* Two variables for the words, and what binds them. */
static pair
held(words *w, const char *name, pair p, tnk_stmt_vec *out)
{
    pair v = {tn_var_dtype(w->ctx, name, tn_dtype_of(p.lo)),
              tn_var_dtype(w->ctx, name, tn_dtype_of(p.hi))};
    TNB_PUSH(tn_scratch(w->ctx), *out, tn_bind_of(w->ctx, v.lo, p.lo));
    TNB_PUSH(tn_scratch(w->ctx), *out, tn_bind_of(w->ctx, v.hi, p.hi));
    return v;
}

static const tn_stmt *
bind(words *w, const tn_bind *b)
{
    tn_ctx *ctx = w->ctx;
    if (!is_wide(tn_dtype_of(b->var)))
        return tn_bind_of(ctx, b->var, rest(w, b->value));
    if (counts(w, b->value))
        return tn_bind_of(ctx, small_var(w, b->var), narrow(w, b->value));
    tnk_stmt_vec out = {0};
    pair v = held(w, tn_var_name(b->var), data(w, b->value), &out);
    tnb_ptrmap_set(&w->vars, b->var, tnb_dup(tn_scratch(ctx), &v, sizeof v));
    return tnk_seq(ctx, out.at, out.n);
}

static const tn_stmt *
store(words *w, const tn_buffer_store *b)
{
    tn_ctx *ctx = w->ctx;
    tn_list at = b->indices;
    for (uint32_t i = 0; i < at.n; i++)
        tn_list_change(ctx, &at, b->indices, i, index_of(w, b->indices.at[i]));
    const tn_node *to = tnb_ptrmap_get(&w->buffers, b->buffer);
    if (!to)
        return tn_buffer_store_of(ctx, b->buffer, rest(w, b->value), at);
    tnk_stmt_vec out = {0};
    pair v = held(w, "word", data(w, b->value), &out);
    const tn_expr *i = at.at[0];
    tnb_dtype d = tn_dtype_of(i);
    const tn_expr *lo = tn_mul(ctx, i, tnk_int_of(ctx, d, 2)),
                  *hi = tn_add(ctx, lo, tnk_int_of(ctx, d, 1));
    if (tn_as_ramp(i)) {
        const tn_ramp *r = tn_as_ramp(i);
        const tn_expr *two = tn_int_imm_of(ctx, tn_dtype_of(r->start), 2),
                      *start = tn_mul(ctx, r->start, two);
        lo = tn_ramp_of(ctx, start, tn_mul(ctx, r->stride, two), r->lanes);
        hi = tn_ramp_of(ctx, tn_add(ctx, start, tn_int_imm_of(ctx, tn_dtype_of(start), 1)),
                        tn_mul(ctx, r->stride, two), r->lanes);
    }
    TNB_PUSH(tn_scratch(ctx), out, tn_buffer_store_of(ctx, to, v.lo, tn_list_of(ctx, &lo, 1)));
    TNB_PUSH(tn_scratch(ctx), out, tn_buffer_store_of(ctx, to, v.hi, tn_list_of(ctx, &hi, 1)));
    return tnk_seq(ctx, out.at, out.n);
}

static const tn_node *
stmt(tn_rewriter *r, const tn_node *n)
{
    words *w = r->user;
    tn_ctx *ctx = w->ctx;
    if (w->failed)
        return n;
    if (tn_is_scalar(n))
        return is_wide(tn_dtype_of(n)) ? narrow(w, n) : rest(w, n);
    tn_loc was = tn_at(ctx, n->loc);
    const tn_node *out = NULL;
    if (n->kind == TN_KIND_BUFFER_STORE)
        out = store(w, (const tn_buffer_store *)n);
    else if (n->kind == TN_KIND_BIND)
        out = bind(w, (const tn_bind *)n);
    else if (n->kind == TN_KIND_ALLOC_BUFFER) {
        const tn_alloc_buffer *a = (const tn_alloc_buffer *)n;
        const tn_node *to = tnb_ptrmap_get(&w->buffers, a->buffer);
        out = to ? tn_alloc_buffer_of(ctx, to, a->annotations) : n;
    } else if (n->kind == TN_KIND_FOR && is_wide(tn_dtype_of(((const tn_for_loop *)n)->var))) {
        const tn_for_loop *f = (const tn_for_loop *)n;
        const tn_expr *min = narrow(w, f->min), *extent = narrow(w, f->extent),
                      *v = small_var(w, f->var);
        out = tn_for_of(ctx, v, min, extent, (tn_for_kind)f->for_kind, f->thread_tag,
                        f->annotations, tn_rewrite_child(r, f->body));
    }
    tn_at(ctx, was);
    return out;
}

static void
replace(words *w, const tn_node *buffer)
{
    tn_ctx *ctx = w->ctx;
    tn_buffer b = *tn_as_buffer(buffer);
    if (!is_wide(b.dtype))
        return;
    if (b.shape.n != 1 || b.dtype.lanes != 1) {
        tn_error(ctx, buffer->loc, TNB_UNSUPPORTED,
                 "'%s': buffer '%s' of %s has no form in words of 32 bits (the target's attribute "
                 "supports_int64 is "
                 "False)",
                 w->func, b.name, tnb_dtype_print(b.dtype).s);
        w->failed = true;
        return;
    }
    const tn_expr *size =
        tn_mul(ctx, b.shape.at[0], tn_int_imm_of(ctx, tn_dtype_of(b.shape.at[0]), 2));
    b.shape = tn_list_of(ctx, &size, 1);
    b.dtype = word;
    b.data = NULL;
    tnb_ptrmap_set(&w->buffers, buffer, tn_buffer_of(ctx, &b));
}

static tn_walk_step
find_local(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_ALLOC_BUFFER)
        replace(user, ((const tn_alloc_buffer *)n)->buffer);
    return TN_WALK_ON;
}

/* Scalars become int32; the host says what they are. */
static void
small_params(words *w, const tn_prim_func *f, tn_list *params, const tn_node **attrs,
             tnb_ptrmap *sizes)
{
    tn_ctx *ctx = w->ctx;
    const tn_node *launch = tn_dict_get(f->attrs, TNK_LAUNCH_ATTR);
    const tn_array *had = tn_as_array(tn_dict_get(launch, "values"));
    tn_list values = had ? had->items : (tn_list){0};
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_expr *p = f->params.at[i];
        if (!is_wide(tn_dtype_of(p)))
            continue;
        const tn_expr *v = small_var(w, p);
        tnb_ptrmap_set(sizes, p, tn_cast_to(ctx, tn_dtype_of(p), v));
        tn_list_change(ctx, params, f->params, i, v);
        values =
            tn_list_append(ctx, values,
                           tn_array_of(ctx, tn_listv(ctx, v, tn_cast_to(ctx, TNB_I32, p), NULL)));
    }
    if (sizes->n)
        *attrs = tn_dict_set(ctx, f->attrs, TNK_LAUNCH_ATTR,
                             tn_dict_set(ctx, launch, "values", tn_array_of(ctx, values)));
}

static tn_walk_step
find_wide(void *user, const tn_node *n)
{
    (void)user;
    return tn_is_scalar(n) && is_wide(tn_dtype_of(n)) ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_node *
lower_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m;
    (void)user;
    tn_ctx *ctx = pc->ctx;
    const tn_prim_func *f = tn_as_prim_func(func);
    if (tn_walk(f->body, TN_WALK_ONCE, find_wide, NULL, NULL))
        return func;
    words w = {.ctx = ctx, .func = name};
    tnb_ptrmap sizes, *maps[] = {&w.buffers, &w.small, &w.vars, &w.memo, &w.pairs, &sizes};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        tnb_ptrmap_init(maps[i], tn_scratch(ctx));
    tn_list params = f->params, buffers = f->buffers;
    const tn_node *attrs = f->attrs;
    small_params(&w, f, &params, &attrs, &sizes);
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_node *b = f->buffers.at[i];
        if (b)
            replace(&w, b);
    }
    tn_walk(f->body, TN_WALK_ONCE, find_local, NULL, &w);
    tn_rewriter r = {.ctx = ctx, .user = &w, .pre = stmt};
    const tn_stmt *body = w.failed ? f->body : tn_rewrite(&r, f->body);
    tnb_ptrmap resized;
    tnb_ptrmap_init(&resized, tn_scratch(ctx));
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_node *b = f->buffers.at[i], *to = b ? tnb_ptrmap_get(&w.buffers, b) : NULL;
        const tn_node *now = to ? to : b;
        const tn_buffer *x = tn_as_buffer(now);
        const tn_expr *size = x && x->shape.n == 1 ? tn_subst(ctx, x->shape.at[0], &sizes) : NULL;
        if (size && size != x->shape.at[0]) {
            tn_buffer copy = *x;
            copy.shape = tn_list_of(ctx, &size, 1);
            tnb_ptrmap_set(&resized, now, tn_buffer_of(ctx, &copy));
            now = tnb_ptrmap_get(&resized, now);
        }
        if (now)
            tn_list_change(ctx, &buffers, f->buffers, i, now);
    }
    if (resized.n && !w.failed)
        body = tn_subst(ctx, body, &resized);
    tn_loc was = tn_at(ctx, func->loc);
    const tn_node *n = w.failed ? NULL : tn_prim_func_of(ctx, params, buffers, body, f->ret, attrs);
    tn_at(ctx, was);
    return !n || tn_is_error(body) || tn_is_error(n) ? NULL : n;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_target_lacks(pc, "supports_int64") ? tnk_map_kernels(pc, m, lower_func, NULL) : m;
}

const tn_pass tnk_pass_lower_int64 = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerInt64",
    .base.doc = "Makes numbers of 64 bits pairs of 32-bit words, for targets that have none.",
    .keeps = TN_KEEPS_SIGNATURES,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
