/* SPDX-License-Identifier: Apache-2.0 */
/* WidenArithmetic: numbers of 8 and 16 bits are computed with in 32 bits, for targets that only store them.
 *
 *     B[i] = A[i] + T.int8(3)        =>        x = T.Cast("int32", A[i]) + 3
 *                                              B[i] = T.Cast("int8", T.shift_right(T.shift_left(x, 24), 24))
 *
 * What the target has is said by its attributes supports_int8, supports_int16 (both for unsigned numbers too) and supports_float16.
 * Integers wrap around as in their own width; results of operations on floats keep the digits of
 * float32 until they are stored or cast, and a Cast of a wider number to float16 rounds it. Narrow numbers are left as
 * loads under a Cast and as Casts that are stored, which WidenStorage knows. What has no form in 32 bits is an error that names it.
 */
#include "lower.h"

typedef struct widening {
    tn_ctx *ctx;
    const char *func;
    bool no_int8, no_int16, no_float16;
    tnb_ptrmap vars, known; /* narrow variable, expression -> the wide one */
    bool failed;
} widening;

static const tn_expr *
wide(widening *w, const tn_expr *e);

/* Whether the target has no arithmetic on it; what it lacks. */
static const char *
lacks(const widening *w, tnb_dtype d)
{
    bool is_int = d.code == TNB_INT || d.code == TNB_UINT;
    return is_int && d.bits == 8 && w->no_int8                    ? "supports_int8"
           : is_int && d.bits == 16 && w->no_int16                ? "supports_int16"
           : d.code == TNB_FLOAT && d.bits == 16 && w->no_float16 ? "supports_float16"
                                                                  : NULL;
}

static tnb_dtype
wide_dtype(const widening *w, tnb_dtype d)
{
    if (lacks(w, d))
        d.bits = 32;
    return d;
}

static const tn_expr *
refuse(widening *w, const tn_expr *e, const char *what)
{
    if (!w->failed)
        tn_error(w->ctx, e->loc, TNB_UNSUPPORTED,
                 "'%s': %s of %s has no form in 32 bits (the target's attribute %s is False)",
                 w->func, what, tnb_dtype_print(tn_dtype_of(e)).s,
                 lacks(w, tn_dtype_of(e)) ? lacks(w, tn_dtype_of(e)) : "for its operands");
    w->failed = true;
    return e;
}

/* A 32-bit number as the number that the lowest bits are. */
static const tn_expr *
wrapped(widening *w, tnb_dtype narrow, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(e);
    if (narrow.code == TNB_FLOAT)
        return e;
    if (narrow.code == TNB_UINT)
        return tn_bitwise_and(ctx, e, tnk_int_of(ctx, d, (1 << narrow.bits) - 1));
    const tn_expr *by = tnk_int_of(ctx, d, 32 - narrow.bits);
    return tn_shift_right(ctx, tn_shift_left(ctx, e, by), by);
}

static const tn_expr *
binary(widening *w, const tn_expr *e)
{
    const tn_binary *b = (const tn_binary *)e;
    const tn_expr *x = wide(w, b->a), *y = wide(w, b->b);
    if (x == b->a && y == b->b)
        return e;
    const tn_expr *r = tn_raw_binary(w->ctx, (tn_kind)e->kind, x, y);
    bool closed = e->kind == TN_KIND_MIN || e->kind == TN_KIND_MAX || !lacks(w, tn_dtype_of(e));
    return closed ? r : wrapped(w, tn_dtype_of(e), r);
}

static const tn_expr *
lane(tn_ctx *ctx, const tn_expr *e, int32_t i)
{
    const tn_expr *k = tn_i32(ctx, i);
    return tn_shuffle_of(ctx, tn_list_of(ctx, &e, 1), tn_list_of(ctx, &k, 1));
}

/* What a float16 is of a wider number, in 32 bits; each lane for itself. */
static const tn_expr *
rounded(widening *w, const tn_expr *x)
{
    tn_ctx *ctx = w->ctx;
    uint32_t lanes = tn_dtype_of(x).lanes;
    if (lanes == 1)
        return tnk_half_to_float(ctx, tnk_float_to_half(ctx, x));
    const tn_expr *v = tn_is_var(x) ? x : tn_var_dtype(ctx, "vector", tn_dtype_of(x));
    tn_list each = {0}, at = {0};
    for (uint32_t i = 0; i < lanes; i++) {
        each = tn_list_append(ctx, each, rounded(w, lane(ctx, v, (int32_t)i)));
        at = tn_list_append(ctx, at, tn_i32(ctx, (int32_t)i));
    }
    const tn_expr *all = tn_shuffle_of(ctx, each, at);
    return v == x ? all : tn_let_of(ctx, v, x, all);
}

/* Of more digits or a larger range than a float16 has. */
static bool
is_wider(tnb_dtype d)
{
    return tnb_dtype_is_float(d) ? d.bits >= 32 || d.code == TNB_BFLOAT
                                 : !tnb_dtype_is_bool(d) && d.bits > 8;
}

static const tn_expr *
cast(widening *w, const tn_expr *e)
{
    const tn_expr *was = ((const tn_cast *)e)->value, *x = wide(w, was);
    tnb_dtype d = tn_dtype_of(e), to = wide_dtype(w, d);
    if (lacks(w, d) && d.code == TNB_FLOAT && is_wider(tn_dtype_of(was)))
        return rounded(w, tn_cast_to(w->ctx, to, x));
    if (!lacks(w, d))
        return x == ((const tn_cast *)e)->value ? e : tn_cast_to(w->ctx, to, x);
    return wrapped(w, d, tn_cast_to(w->ctx, to, x));
}

static const tn_expr *
dot(widening *w, const tn_expr *e, const tn_expr *const *at)
{
    const tn_expr *sum = at[2];
    for (int32_t i = 0; i < 4; i++)
        sum = tn_add(w->ctx, sum,
                     tn_cast_to(w->ctx, tn_dtype_of(e),
                                tn_mul(w->ctx, lane(w->ctx, at[0], i), lane(w->ctx, at[1], i))));
    return sum;
}

static const tn_expr *
reinterpreted(widening *w, const tn_expr *e, const tn_expr *was, const tn_expr *x)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype to = tn_dtype_of(e), from = tn_dtype_of(was), word = TNB_DTYPE(TNB_UINT, 32);
    if (to.bits != from.bits || to.lanes != from.lanes || !lacks(w, to) != !lacks(w, from))
        return refuse(w, e, "a reinterpretation");
    if (!lacks(w, to)) /* only what it is computed from changed */
        return tnk_reinterpret(ctx, to, x);
    word.lanes = to.lanes;
    if ((to.code == TNB_FLOAT || from.code == TNB_FLOAT) && to.lanes != 1)
        return refuse(w, e, "a reinterpretation");
    const tn_expr *bits =
        from.code == TNB_FLOAT ? tnk_float_to_half(ctx, x) : tn_cast_to(ctx, word, x);
    if (to.code == TNB_FLOAT)
        return tnk_half_to_float(ctx, tn_bitwise_and(ctx, bits, tnk_int_of(ctx, word, 0xffff)));
    return wrapped(w, to, tn_cast_to(ctx, wide_dtype(w, to), bits));
}

static const tn_expr *
call(widening *w, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    const tn_call *c = (const tn_call *)e;
    const tn_op *op = tn_call_op_of(c);
    tnb_dtype d = tn_dtype_of(e), in = c->args.n ? tn_dtype_of(c->args.at[0]) : d;
    tn_list args = c->args;
    for (uint32_t i = 0; i < c->args.n; i++)
        tn_list_change(ctx, &args, c->args, i, wide(w, c->args.at[i]));
    if (args.at == c->args.at && !lacks(w, d))
        return e;
    if (!op)
        return refuse(w, e, "a call");
    tnb_dtype to = wide_dtype(w, d);
    const tn_expr *x = args.n ? args.at[0] : NULL, *r;
    switch ((int)tn_intrin_of(e)) {
    case TN_INTRIN_reinterpret:
        return reinterpreted(w, e, c->args.at[0], x);
    case TN_INTRIN_dp4a:
        return args.n == 3 && tn_dtype_of(x).lanes == 4 ? dot(w, e, args.at) : refuse(w, e, "dp4a");
    case TN_INTRIN_nextafter:
    case TN_INTRIN_call_extern:
    case TN_INTRIN_call_pure_extern:
    case TN_INTRIN_call_llvm_intrin:
    case TN_INTRIN_call_llvm_pure_intrin:
        return refuse(w, e, tn_strf(ctx, "a call of '%s'", op->base.name));
    case TN_INTRIN_popcount:
    case TN_INTRIN_clz: /* of the narrow bits */
        if (in.code == TNB_INT)
            x = tn_bitwise_and(ctx, x, tnk_int_of(ctx, tn_dtype_of(x), (1 << in.bits) - 1));
        r = tn_scalar_call(ctx, to, c->op, tn_list_of(ctx, &x, 1), c->attrs);
        return tn_intrin_of(e) == TN_INTRIN_clz ? tn_sub(ctx, r, tnk_int_of(ctx, to, 32 - in.bits))
                                                : r;
    default:
        r = tn_scalar_call(ctx, to, c->op, args, c->attrs);
        return lacks(w, d) && tn_intrin_of(e) != TN_INTRIN_if_then_else ? wrapped(w, d, r) : r;
    }
}

static const tn_expr *
new_wide(widening *w, const tn_expr *e)
{
    tn_ctx *ctx = w->ctx;
    tnb_dtype d = tn_dtype_of(e), to = wide_dtype(w, d);
    if (tn_is_binary(e))
        return binary(w, e);
    switch (e->kind) {
    case TN_KIND_VAR: {
        const tn_expr *v = tnb_ptrmap_get(&w->vars, e);
        return v             ? v
               : lacks(w, d) ? refuse(w, e, tn_strf(ctx, "the scalar '%s'", tn_var_name(e)))
                             : e;
    }
    case TN_KIND_INT_IMM:
        return lacks(w, d) ? tn_int_imm_of(ctx, to, ((const tn_int_imm *)e)->value) : e;
    case TN_KIND_FLOAT_IMM:
        return lacks(w, d) ? tn_float_imm_of(ctx, to, ((const tn_float_imm *)e)->value) : e;
    case TN_KIND_STRING_IMM:
        return e;
    case TN_KIND_CAST:
        return cast(w, e);
    case TN_KIND_NOT: {
        const tn_expr *x = wide(w, ((const tn_unary *)e)->a);
        return x == ((const tn_unary *)e)->a ? e : tn_raw_not(ctx, x);
    }
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)e;
        const tn_expr *c = wide(w, s->cond), *a = wide(w, s->a), *b = wide(w, s->b);
        return c == s->cond && a == s->a && b == s->b ? e : tn_select_of(ctx, c, a, b);
    }
    case TN_KIND_RAMP: {
        const tn_ramp *r = (const tn_ramp *)e;
        const tn_expr *a = wide(w, r->start), *b = wide(w, r->stride);
        const tn_expr *x = a == r->start && b == r->stride ? e : tn_ramp_of(ctx, a, b, r->lanes);
        return lacks(w, d) ? wrapped(w, d, x) : x;
    }
    case TN_KIND_BROADCAST: {
        const tn_expr *x = wide(w, ((const tn_broadcast *)e)->value);
        return x == ((const tn_broadcast *)e)->value
                   ? e
                   : tn_broadcast_of(ctx, x, ((const tn_broadcast *)e)->lanes);
    }
    case TN_KIND_SHUFFLE: {
        const tn_shuffle *s = (const tn_shuffle *)e;
        tn_list v = s->vectors, at = s->indices;
        for (uint32_t i = 0; i < v.n; i++)
            tn_list_change(ctx, &v, s->vectors, i, wide(w, s->vectors.at[i]));
        for (uint32_t i = 0; i < at.n; i++)
            tn_list_change(ctx, &at, s->indices, i, wide(w, s->indices.at[i]));
        return v.at == s->vectors.at && at.at == s->indices.at ? e : tn_shuffle_of(ctx, v, at);
    }
    case TN_KIND_LET: {
        const tn_let *l = (const tn_let *)e;
        const tn_expr *v = l->var, *x = wide(w, l->value);
        if (lacks(w, tn_dtype_of(v))) {
            v = tn_var_dtype(ctx, tn_var_name(v), tn_dtype_of(x));
            tnb_ptrmap_set(&w->vars, l->var, v);
        }
        const tn_expr *body = wide(w, l->body);
        return v == l->var && x == l->value && body == l->body ? e : tn_let_of(ctx, v, x, body);
    }
    case TN_KIND_BUFFER_LOAD: {
        const tn_buffer_load *l = (const tn_buffer_load *)e;
        tn_list at = l->indices;
        for (uint32_t i = 0; i < at.n; i++)
            tn_list_change(ctx, &at, l->indices, i, wide(w, l->indices.at[i]));
        const tn_expr *x = at.at == l->indices.at ? e : tn_buffer_load_of(ctx, l->buffer, at);
        return lacks(w, d) ? tn_raw_cast(ctx, to, x) : x;
    }
    case TN_KIND_CALL:
        return call(w, e);
    default:
        return lacks(w, d) ? refuse(w, e, tn_kinds[e->kind].name) : e;
    }
}

/* The same value in a dtype that the target computes with. */
static const tn_expr *
wide(widening *w, const tn_expr *e)
{
    if (w->failed)
        return e;
    const tn_expr *known = tnb_ptrmap_get(&w->known, e);
    if (!known) {
        tn_loc was = tn_at(w->ctx, e->loc);
        known = new_wide(w, e);
        tn_at(w->ctx, was);
        tnb_ptrmap_set(&w->known, e, known);
    }
    return known;
}

static const tn_node *
pre(tn_rewriter *r, const tn_node *n)
{
    widening *w = r->user;
    tn_ctx *ctx = w->ctx;
    if (n->kind == TN_KIND_BUFFER_STORE) {
        const tn_buffer_store *b = (const tn_buffer_store *)n;
        tn_list at = b->indices;
        for (uint32_t i = 0; i < at.n; i++)
            tn_list_change(ctx, &at, b->indices, i, wide(w, b->indices.at[i]));
        tnb_dtype d = tn_dtype_of(b->value);
        const tn_cast *c = lacks(w, d) && d.code == TNB_FLOAT ? tn_as_cast(b->value) : NULL;
        const tn_expr *v = wide(w, c ? c->value : b->value); /* stored, it is rounded anyway */
        if (c)
            v = tn_cast_to(ctx, wide_dtype(w, d), v);
        if (lacks(w, d)) /* a number that is known stays one of 32 bits too */
            v = tn_raw_cast(ctx, d, v);
        return at.at == b->indices.at && v == b->value ? n
                                                       : tn_buffer_store_of(ctx, b->buffer, v, at);
    }
    const tn_bind *b = tn_as_bind(n);
    if (b && lacks(w, tn_dtype_of(b->var))) {
        const tn_expr *x = wide(w, b->value),
                      *v = tn_var_dtype(ctx, tn_var_name(b->var), tn_dtype_of(x));
        tnb_ptrmap_set(&w->vars, b->var, v);
        return tn_bind_of(ctx, v, x);
    }
    return tn_is_scalar(n) && !tn_is_var(n) ? wide(w, n) : NULL;
}

static tn_walk_step
find_narrow(void *user, const tn_node *n)
{
    return tn_is_scalar(n) && lacks(user, tn_dtype_of(n)) ? TN_WALK_STOP : TN_WALK_ON;
}

static const tn_node *
widen_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m;
    widening w = *(const widening *)user;
    const tn_prim_func *f = tn_as_prim_func(func);
    w.func = name;
    if (tn_walk(f->body, TN_WALK_ONCE, find_narrow, NULL, &w))
        return func;
    tnb_ptrmap_init(&w.vars, tn_scratch(pc->ctx));
    tnb_ptrmap_init(&w.known, tn_scratch(pc->ctx));
    tn_rewriter r = {.ctx = pc->ctx, .user = &w, .pre = pre};
    const tn_stmt *body = tn_rewrite(&r, f->body);
    return w.failed || tn_is_error(body) ? NULL : tnk_func_with_body(pc->ctx, f, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    widening w = {.ctx = pc->ctx,
                  .no_int8 = tnk_target_lacks(pc, "supports_int8"),
                  .no_int16 = tnk_target_lacks(pc, "supports_int16"),
                  .no_float16 = tnk_target_lacks(pc, "supports_float16")};
    return w.no_int8 || w.no_int16 || w.no_float16 ? tnk_map_kernels(pc, m, widen_func, &w) : m;
}

const tn_pass tnk_pass_widen_arithmetic = {
    .base.size = sizeof(tn_pass),
    .base.name = "WidenArithmetic",
    .base.doc = "Computes in 32 bits with numbers that the target only stores.",
    .keeps = TN_KEEPS_HALF,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
