/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of emitted source: literals, operations, choices. */
#include "emit_private.h"

#include <math.h>

#include "tenon/base/num.h"
#include "tenon/core/text.h"

static void
int_literal(tnk_emitter *e, tnb_dtype d, int64_t v)
{
    if (d.code == TNB_UINT && d.bits == 64)
        tnb_buf_printf(e->out, "%lluu", (unsigned long long)v);
    else if (d.code == TNB_UINT && d.bits == 32)
        tnb_buf_printf(e->out, "%uu", (unsigned)v);
    else if (v == INT64_MIN)
        put(e, "(-9223372036854775807 - 1)");
    else if (v == INT32_MIN && d.bits == 32)
        put(e, "(-2147483647 - 1)");
    else
        tnb_buf_printf(e->out, v < 0 ? "(%lld)" : "%lld", (long long)v);
}

void
tnk_float_literal(tnk_emitter *e, tnb_dtype d, double v)
{
    bool f64 = d.bits == 64;
    if (isnan(v)) {
        const char *own = f64 ? e->d->nan64 : e->d->nan32;
        put(e, own ? own : f64 ? "((double)NAN)" : "NAN");
        return;
    }
    if (isinf(v)) {
        const char *own = f64 ? e->d->inf64 : e->d->inf32, *inf = own   ? own
                                                                  : f64 ? "((double)INFINITY)"
                                                                        : "INFINITY";
        tnb_buf_printf(e->out, v < 0 ? "(-%s)" : "%s", inf);
        return;
    }
    tnb_num_text t = f64 ? tnb_print_f64(v) : tnb_print_f32((float)v);
    bool negative = t.s[0] == '-';
    tnb_buf_printf(e->out, "%s%s%s%s", negative ? "(" : "", t.s, f64 ? "" : "f",
                   negative ? ")" : "");
}

/* Whether the language computes x, whose dtype has 64 bits, with 32: a literal that is small enough has its type int, and so
 * has what is chosen of two. */
static bool
is_short(const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    int64_t v;
    if (!tnb_dtype_is_int(d) || d.bits != 64 || d.lanes != 1)
        return false;
    if (tn_int_value(x, &v))
        return d.code == TNB_UINT ? (uint64_t)v <= UINT32_MAX : v > INT32_MIN && v <= INT32_MAX;
    const tn_select *s = tn_as_select(x);
    if (s)
        return is_short(s->a) && is_short(s->b);
    const tn_call *c = tn_as_call(x);
    bool chosen = c && tn_is_intrin(x, TN_INTRIN_if_then_else);
    if (chosen)
        return is_short(c->args.at[1]) && is_short(c->args.at[2]);
    bool bits =
        c && (tn_is_intrin(x, TN_INTRIN_bitwise_and) || tn_is_intrin(x, TN_INTRIN_bitwise_or) ||
              tn_is_intrin(x, TN_INTRIN_bitwise_xor));
    if (bits)
        return is_short(c->args.at[0]) && is_short(c->args.at[1]);
    return tn_is_intrin(x, TN_INTRIN_likely) && is_short(c->args.at[0]);
}

void
tnk_emit_whole(tnk_emitter *e, const tn_expr *x)
{
    if (is_short(x))
        tnb_buf_printf(e->out, "(%s)", tnk_c_type(e, tn_dtype_of(x)));
    ex(e, x);
}

/* Whether x is computed from loaded elements, whose sums and products wrap around. Those of extents and loop variables are
 * taken not to. */
static bool
is_data(tnk_emitter *e, const tn_expr *x)
{
    enum { NO = 1, YES };
    const tn_binary *b = tn_as_binary(x);
    const tn_cast *cast = tn_as_cast(x);
    const tn_select *s = tn_as_select(x);
    const tn_call *c = tn_as_call(x);
    if (x->kind == TN_KIND_BUFFER_LOAD)
        return true;
    if (tn_is_var(x))
        return tnb_ptrmap_has(&e->data, x);
    if (cast || x->kind == TN_KIND_NOT)
        return is_data(e, cast ? cast->value : tn_as_unary(x)->a);
    if (s)
        return is_data(e, s->cond) || is_data(e, s->a) || is_data(e, s->b);
    if (!b && (!c || tn_is_intrin(x, TN_INTRIN_index_in)))
        return false;
    uintptr_t known = (uintptr_t)tnb_ptrmap_get(&e->data, x);
    if (known)
        return known == YES;
    bool data = b && (is_data(e, b->a) || is_data(e, b->b));
    for (uint32_t i = 0; c && i < c->args.n && !data; i++)
        data = tn_is_scalar(c->args.at[i]) && is_data(e, c->args.at[i]);
    tnb_ptrmap_set(&e->data, x, (void *)(uintptr_t)(data ? YES : NO));
    return data;
}

void
tnk_note_data(tnk_emitter *e, const tn_expr *var, const tn_expr *value)
{
    if (!tnb_dtype_is_int(tn_dtype_of(var)))
        return;
    tnb_ptrmap_set(&e->bound, var, (void *)(uintptr_t)value);
    if (is_data(e, value))
        tnb_ptrmap_set(&e->data, var, e);
}

/* The type that x op y has to be computed in, where that is not theirs: signed numbers that may wrap around, which is
 * undefined where the compiler is not told otherwise (-fwrapv), and the products of 16 bits, which are computed as int. NULL: theirs. */
static const char *
wrapping_type(tnk_emitter *e, const tn_binary *b, const char *op, tnb_dtype d)
{
    if (e->d->signed_wraps || d.lanes != 1 || !strchr("+-*", *op) || !tnb_dtype_is_int(d))
        return NULL;
    if (d.bits < 32)
        return *op == '*' && d.bits == 16 && d.code == TNB_UINT
                   ? tnk_c_type(e, (tnb_dtype){TNB_UINT, 32, 1})
                   : NULL;
    bool data = d.code == TNB_INT && (is_data(e, b->a) || is_data(e, b->b));
    return data ? tnk_c_type(e, (tnb_dtype){TNB_UINT, d.bits, 1}) : NULL;
}

static void
infix(tnk_emitter *e, const tn_binary *b, const char *op, tnb_dtype d)
{
    const char *in = wrapping_type(e, b, op, d);
    const tnb_dtype of = tnk_compute_dtype(tn_dtype_of(b->a));
    if (in || (d.lanes == 1 && tnb_dtype_is_int(d) && d.bits < 32))
        tnb_buf_printf(e->out, "(%s)", tnk_c_type(e, d));
    put(e, tnk_op_open(e, op, of));
    if (in)
        tnb_buf_printf(e->out, "(%s)", in);
    if (!in && is_short(b->a) && is_short(b->b))
        tnk_emit_whole(e, b->a);
    else
        ex(e, b->a);
    tnk_put_op(e, op, of);
    if (in)
        tnb_buf_printf(e->out, "(%s)", in);
    ex(e, b->b);
    put(e, ")");
}

static void
division(tnk_emitter *e, const tn_expr *x, tnb_dtype d)
{
    const tn_binary *b = (const tn_binary *)x;
    tnb_dtype s = with_lanes(d, 1);
    unsigned kind = x->kind;
    if (d.code == TNB_FLOAT) {
        const char *floor_fn = NULL;
        if (kind == TN_KIND_DIV) {
            infix(e, b, "/", d);
            return;
        }
        if (kind == TN_KIND_MOD) {
            call2(e, tnk_math_function(e, TN_INTRIN_fmod, d, 2), b->a, b->b);
            return;
        }
        floor_fn = tnk_math_function(e, TN_INTRIN_floor, d, 1);
        if (kind == TN_KIND_FLOOR_DIV) {
            bool apart = e->d->structs && d.lanes > 1;
            tnb_buf_printf(e->out, apart ? "%s(" : "%s", floor_fn);
            infix(e, b, "/", d);
            put(e, apart ? ")" : "");
            return;
        }
        tnb_dtype each = e->d->structs ? s : d;
        const char *t = tnk_c_type(e, each), *f = tn_strf(e->ctx, "tk_ffmod_%s", t);
        floor_fn = tnk_math_function(e, TN_INTRIN_floor, each, 1);
        if (tnk_once(e, f))
            tnb_buf_printf(&e->src->helpers,
                           "%s %s %s(%s a, %s b)\n{\n    return a - %s(a / b) * b;\n}\n",
                           e->d->inline_, t, f, t, t, floor_fn);
        call2(e, e->d->structs && d.lanes > 1 ? tnk_help_map(e, d, d, f, 2) : f, b->a, b->b);
        return;
    }
    int64_t by;
    const tn_expr *divisor =
        tn_is(b->b, TN_KIND_BROADCAST) ? ((const tn_broadcast *)b->b)->value : b->b;
    bool plain = tn_int_value(divisor, &by) && by > 0 &&
                 (kind == TN_KIND_DIV || kind == TN_KIND_MOD || d.code != TNB_INT);
    if (plain) {
        infix(e, b, kind == TN_KIND_DIV || kind == TN_KIND_FLOOR_DIV ? "/" : "%", d);
        return;
    }
    const char *f = tnk_help_int_div(e, s, (tn_kind)kind);
    call2(e, d.lanes > 1 ? tnk_help_map(e, d, d, f, 2) : f, b->a, b->b);
}

/* A literal, or a vector of one; not NaN. */
static bool
is_number(const tn_expr *x)
{
    const tn_broadcast *v = tn_as_broadcast(x);
    const tn_float_imm *f = tn_as_float_imm(v ? v->value : x);
    return f && !isnan(f->value);
}

/* Floats: a literal goes second, where the plain comparison keeps a NaN of the other operand. */
static void
min_max(tnk_emitter *e, const tn_binary *b, tnb_dtype d, bool max)
{
    if (!tnb_dtype_is_float(d) || is_number(b->b))
        call2(e, tnk_help_minmax(e, d, max), b->a, b->b);
    else if (is_number(b->a))
        call2(e, tnk_help_minmax(e, d, max), b->b, b->a);
    else
        call2(e, tnk_help_nan_minmax(e, d, max), b->a, b->b);
}

static void
binary(tnk_emitter *e, const tn_expr *x)
{
    const tn_binary *b = (const tn_binary *)x;
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(x));
    switch (x->kind) {
    case TN_KIND_ADD:
        infix(e, b, tn_dtype_of(x).code == TNB_BOOL ? "|" : "+", d);
        return;
    case TN_KIND_SUB:
        infix(e, b, "-", d);
        return;
    case TN_KIND_MUL:
        infix(e, b, tn_dtype_of(x).code == TNB_BOOL ? "&" : "*", d);
        return;
    case TN_KIND_DIV:
    case TN_KIND_MOD:
    case TN_KIND_FLOOR_DIV:
    case TN_KIND_FLOOR_MOD:
        division(e, x, d);
        return;
    case TN_KIND_MIN:
    case TN_KIND_MAX:
        min_max(e, b, d, x->kind == TN_KIND_MAX);
        return;
    case TN_KIND_AND:
        infix(e, b, "&&", d);
        return;
    case TN_KIND_OR:
        infix(e, b, "||", d);
        return;
    default:
        infix(e, b, tnk_compare_op(x->kind),
              with_lanes(d, 2)); /* the result is an int: no cast back */
        return;
    }
}

bool
tnk_emit_lane(tnk_emitter *e, tn_list vectors, const tn_expr *index)
{
    int64_t at;
    if (!tn_int_value(index, &at) || at < 0)
        return false;
    for (uint32_t i = 0; i < vectors.n; i++) {
        const tn_expr *v = vectors.at[i];
        int64_t lanes = tn_dtype_of(v).lanes;
        if (at < lanes) {
            if (lanes > 1)
                put(e, tnb_dtype_is_bool(tn_dtype_of(v)) ? "(0 != (" : "((");
            ex(e, v);
            if (lanes > 1)
                tnb_buf_printf(e->out, ")%s)", tnk_lane(e, (uint16_t)lanes, (int)at));
            return true;
        }
        at -= lanes;
    }
    return false;
}

/* A vector of scalars, as they stand; false: `s` is something else. */
static bool
scalars(tnk_emitter *e, const tn_shuffle *s)
{
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(TN_NODE(s)));
    bool all = s->vectors.n == s->indices.n && d.lanes > 1 && !tnb_dtype_is_bool(d);
    for (uint32_t i = 0; i < s->vectors.n && all; i++)
        all = tn_dtype_of(s->vectors.at[i]).lanes == 1 && tn_is_int_const(s->indices.at[i], i);
    if (!all)
        return false;
    put(e, tnk_make_open(e, d));
    for (uint32_t i = 0; i < s->vectors.n; i++) {
        put(e, i ? ", " : "");
        ex(e, s->vectors.at[i]);
    }
    put(e, tnk_make_close(e));
    return true;
}

static void
shuffle(tnk_emitter *e, const tn_shuffle *s)
{
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(TN_NODE(s)));
    if (scalars(e, s) || (d.lanes == 1 && tnk_emit_lane(e, s->vectors, s->indices.at[0])))
        return;
    const char *f = tnk_help_shuffle(e, s);
    bool ok = f || d.lanes > 1;
    for (uint32_t i = 0; i < s->indices.n && !f && ok; i++) {
        put(e, i ? ", " : tnk_make_open(e, d));
        ok = tnk_emit_lane(e, s->vectors, s->indices.at[i]);
    }
    if (!f && ok) {
        put(e, tnk_make_close(e));
        return;
    }
    if (!ok) {
        tnk_emit_fail(e, s->base.loc, "the shuffle %s has no form in source",
                      tn_text(e->ctx, TN_NODE(s)));
        return;
    }
    tnb_buf_printf(e->out, "%s(", f);
    for (uint32_t i = 0; i < s->vectors.n; i++) {
        if (i)
            put(e, ", ");
        ex(e, s->vectors.at[i]);
    }
    put(e, ")");
}

static void
let(tnk_emitter *e, const tn_let *l)
{
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(l->var));
    if (!e->d->gnu_vectors) { /* no statement stands in an expression: the value in its place */
        ex(e, tn_subst1(e->ctx, l->body, l->var, l->value));
        return;
    }
    const char *name = tnk_name_of(e, l->var);
    tnk_note_data(e, l->var, l->value);
    tnb_buf_printf(e->out, "({ const %s %s = ", tnk_c_type(e, d), name);
    ex(e, l->value);
    put(e, "; ");
    ex(e, l->body);
    put(e, "; })");
}

/* Whether a value of less than 8 bits may be out of its range after it was computed with 8. */
static bool
wraps(const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    if (!tnb_dtype_is_int(d) || d.bits >= 8)
        return false;
    if (x->kind == TN_KIND_CALL)
        return !tn_is_intrin(x, TN_INTRIN_if_then_else) && !tn_is_intrin(x, TN_INTRIN_likely);
    return x->kind == TN_KIND_CAST || x->kind == TN_KIND_RAMP ||
           (tn_is_binary(x) && x->kind != TN_KIND_MIN && x->kind != TN_KIND_MAX);
}

static void
value(tnk_emitter *e, const tn_expr *x);

void
tnk_emit_expr(tnk_emitter *e, const tn_expr *x)
{
    if (e->failed)
        return;
    if (!wraps(x)) {
        value(e, x);
        return;
    }
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(x));
    tnb_buf_printf(e->out, "%s(", tnk_help_wrap(e, tn_dtype_of(x)));
    if (d.lanes == 1) /* operations on bytes give an int */
        tnb_buf_printf(e->out, "(%s)", tnk_c_type(e, d));
    value(e, x);
    put(e, ")");
}

static void
value(tnk_emitter *e, const tn_expr *x)
{
    if (is_bool_vector(x)) {
        tnk_emit_mask(e, x, 32);
        return;
    }
    if (!e->d->expr || !TNK_HOOK(e->src, "expr", e->d->expr(e, x)))
        tnk_emit_plain_expr(e, x);
}

void
tnk_emit_plain_expr(tnk_emitter *e, const tn_expr *x)
{
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(x));
    if (tnk_half_operator(e, x)) {
        put(e, d.lanes > 1 ? tn_strf(e->ctx, "convert_float%d(", d.lanes) : "convert_float(");
        tnk_emit_half(e, x);
        put(e, ")");
        return;
    }
    if (tn_is_binary(x)) {
        binary(e, x);
        return;
    }
    switch (x->kind) {
    case TN_KIND_VAR:
        put(e, tnk_name_of(e, x));
        return;
    case TN_KIND_INT_IMM:
        int_literal(e, tn_dtype_of(x), ((const tn_int_imm *)x)->value);
        return;
    case TN_KIND_FLOAT_IMM:
        tnk_float_literal(e, d, ((const tn_float_imm *)x)->value);
        return;
    case TN_KIND_CAST:
        tnk_emit_cast(e, x);
        return;
    case TN_KIND_NOT:
        put(e, "(!");
        ex(e, ((const tn_unary *)x)->a);
        put(e, ")");
        return;
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)x;
        if (d.lanes > 1) {
            tnb_buf_printf(e->out, "%s(", tnk_help_select(e, d));
            tnk_emit_mask(e, s->cond, d.bits);
            put(e, ", ");
            ex(e, s->a);
            put(e, ", ");
            ex(e, s->b);
            put(e, ")");
            return;
        }
        put(e, "(");
        ex(e, s->cond);
        put(e, " ? ");
        ex(e, s->a);
        put(e, " : ");
        ex(e, s->b);
        put(e, ")");
        return;
    }
    case TN_KIND_LET:
        let(e, (const tn_let *)x);
        return;
    case TN_KIND_RAMP: {
        const tn_ramp *r = (const tn_ramp *)x;
        call2(e, tnk_help_ramp(e, d), r->start, r->stride);
        return;
    }
    case TN_KIND_BROADCAST:
        tnb_buf_printf(e->out, "%s(", tnk_help_broadcast(e, d));
        ex(e, ((const tn_broadcast *)x)->value);
        put(e, ")");
        return;
    case TN_KIND_BUFFER_LOAD:
        tnk_emit_load(e, (const tn_buffer_load *)x);
        return;
    case TN_KIND_SHUFFLE:
        shuffle(e, (const tn_shuffle *)x);
        return;
    case TN_KIND_CALL:
        tnk_emit_call(e, x);
        return;
    default:
        tnk_emit_fail(e, x->loc, "an expression of kind %s has no form in source",
                      tn_kinds[x->kind].name);
    }
}
