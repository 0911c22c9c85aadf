/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: of operations that are written as calls, of mathematical and of external functions. */
#include "emit_private.h"

#include <math.h>

#include "tenon/core/text.h"

static void
bit_operation(tnk_emitter *e, const tn_call *c, const char *op, tnb_dtype d)
{
    if (tn_dtype_of(TN_NODE(c)).code == TNB_BOOL)
        put(e, "(0 != ");
    if (d.lanes == 1 && d.bits < 32)
        tnb_buf_printf(e->out, "(%s)", tnk_c_type(e, d));
    put(e, tnk_op_open(e, op, d));
    ex(e, c->args.at[0]);
    tnk_put_op(e, op, d);
    ex(e, c->args.at[1]);
    put(e, tn_dtype_of(TN_NODE(c)).code == TNB_BOOL ? "))" : ")");
}

static void
absolute(tnk_emitter *e, const tn_call *c, tnb_dtype d)
{
    tnb_dtype all = d;
    bool map = e->d->structs && d.lanes > 1 && d.code != TNB_FLOAT;
    d.lanes = map ? 1 : d.lanes;
    const char *t = tnk_c_type(e, d), *f = tn_strf(e->ctx, "tk_abs_%s", t);
    const char *mx = d.code == TNB_FLOAT ? NULL : tnk_help_minmax(e, d, true);
    /* before the helper is begun: it may write the type's definition */
    const char *m = d.code == TNB_FLOAT ? tnk_c_type(e, tnk_mask_dtype(d.bits, d.lanes)) : NULL;
    if (d.code == TNB_FLOAT && (d.lanes == 1 || !e->d->gnu_vectors))
        f = tnk_math_function(e, TN_INTRIN_fabs, d, 1);
    else if (tnk_once(e, f)) {
        tnb_buf_printf(&e->src->helpers, "%s %s %s(%s x)\n{\n", e->d->inline_, t, f, t);
        if (d.code == TNB_FLOAT) {
            tnb_buf_printf(&e->src->helpers, "    return (%s)((%s)x & %s);\n}\n", t, m,
                           d.bits == 64 ? "0x7fffffffffffffff" : "0x7fffffff");
        } else if (d.code == TNB_UINT) {
            tnb_buf_puts(&e->src->helpers, "    return x;\n}\n");
        } else {
            const char *u = d.lanes == 1 ? tnk_c_type(e, (tnb_dtype){TNB_UINT, d.bits, 1}) : t;
            tnb_buf_printf(&e->src->helpers, "    return %s(x, (%s)(0 - (%s)x));\n}\n", mx, t, u);
        }
    }
    tnb_buf_printf(e->out, "%s(", map ? tnk_help_map(e, all, all, f, 1) : f);
    ex(e, c->args.at[0]);
    put(e, ")");
}

/* A function that no imported source has: declared as it is called, with the operands from `first` on. */
static void
declare_function(tnk_emitter *e, const char *name, const tn_call *c, uint32_t first)
{
    tnb_dtype ret = with_lanes(tn_dtype_of(TN_NODE(c)), 1);
    if (!e->d->declares || tnb_strmap_has(&e->src->imported, name) ||
        !tnk_once(e, tn_strf(e->ctx, "extern %s", name)))
        return;
    const char *args = "";
    for (uint32_t i = first; i < c->args.n; i++) {
        tnb_dtype d = with_lanes(tn_dtype_of(c->args.at[i]), 1);
        args = tn_strf(e->ctx, "%s%s%s", args, i > first ? ", " : "",
                       d.code == TNB_HANDLE ? "void *" : tnk_c_type(e, tnk_compute_dtype(d)));
    }
    tnb_buf_printf(&e->src->helpers, "%s %s(%s);\n",
                   ret.code == TNB_HANDLE || tnb_dtype_eq(ret, TNB_VOID)
                       ? "void"
                       : tnk_c_type(e, tnk_compute_dtype(ret)),
                   name, *args ? args : "void");
}

/* call_extern(name, operands...) */
static void
extern_call(tnk_emitter *e, const tn_call *c)
{
    const tn_string_imm *name = tn_as_string_imm(c->args.at[0]);
    if (!name) {
        tnk_emit_fail(e, c->base.loc, "the external function that is called has no name");
        return;
    }
    declare_function(e, name->value, c, 1);
    tnb_buf_printf(e->out, "%s(", name->value);
    for (uint32_t i = 1; i < c->args.n; i++) {
        if (i > 1)
            put(e, ", ");
        ex(e, c->args.at[i]);
    }
    put(e, ")");
}

/* if_then_else(condition, t, f) */
static void
choice(tnk_emitter *e, const tn_expr *const *a)
{
    put(e, "(");
    ex(e, a[0]);
    put(e, " ? ");
    ex(e, a[1]);
    put(e, " : ");
    ex(e, a[2]);
    put(e, ")");
}

static void
shift(tnk_emitter *e, const tn_call *c, tnb_dtype d, bool left)
{
    const tn_broadcast *all = tn_as_broadcast(c->args.at[1]);
    int64_t n;
    if (d.lanes > 1 && e->d->gnu_vectors && all && tn_int_value(all->value, &n) && n >= 0 &&
        n < d.bits && (!left || d.code == TNB_UINT)) {
        put(e, "(");
        ex(e, c->args.at[0]);
        tnb_buf_printf(e->out, left ? " << %d)" : " >> %d)", (int)n);
        return;
    }
    const char *f = tnk_help_shift(e, with_lanes(d, 1), left);
    call2(e, d.lanes > 1 ? tnk_help_map(e, d, d, f, 2) : f, c->args.at[0], c->args.at[1]);
}

static void
complement(tnk_emitter *e, const tn_call *c, tnb_dtype d)
{
    if (d.lanes > 1 && e->d->structs) {
        put(e, tnk_not_open(e, d));
        ex(e, c->args.at[0]);
        put(e, ")");
        return;
    }
    tnb_buf_printf(e->out, d.lanes == 1 ? "((%s)" : "(", tnk_c_type(e, d));
    put(e, tn_dtype_of(TN_NODE(c)).code == TNB_BOOL ? "!" : "~");
    tnk_emit_whole(e, c->args.at[0]);
    put(e, ")");
}

const char *
tnk_class_test(tn_intrin_id id)
{
    return id == TN_INTRIN_isnan ? "isnan" : id == TN_INTRIN_isinf ? "isinf" : "isfinite";
}

static void
float_class(tnk_emitter *e, const tn_call *c, const char *name)
{
    tnb_buf_printf(e->out, "(0 != %s%s(", tnk_or_none(e->d->classify), name);
    ex(e, c->args.at[0]);
    put(e, "))");
}

/* The number of ones, or of leading zeros, of `x`: `d` of one lane from `from` of one lane. */
static const char *
bits_counted(tnk_emitter *e, tnb_dtype d, tnb_dtype from, bool ones, const char *x)
{
    const char *to = tnk_c_type(e, d);
    const char *own = tnk_own_name(e, ones ? TN_INTRIN_popcount : TN_INTRIN_clz);
    if (!e->d->gnu_vectors && !own)
        return tn_strf(e->ctx, "((%s)%s((%s)%s))", to, ones ? "popcount" : "clz",
                       tnk_c_type(e, from), x);
    const char *u = tn_strf(e->ctx, "uint%d_t", from.bits);
    if (e->d->no_int64) {
        if (!own)
            own = ones ? "__builtin_popcount" : "__builtin_clz";
        else if (!ones)
            return tn_strf(e->ctx, "((%s)(%s((uint32_t)(%s)%s) - %d))", to, own, u, x,
                           32 - from.bits);
        return ones ? tn_strf(e->ctx, "((%s)%s((uint32_t)(%s)%s))", to, own, u, x)
                    : tn_strf(e->ctx, "((%s)(%s ? %s((uint32_t)(%s)%s) - %d : %d))", to, x, own, u,
                              x, 32 - from.bits, from.bits);
    }
    if (ones)
        return tn_strf(e->ctx, "((%s)%s((uint64_t)(%s)%s))", to, own ? own : "__builtin_popcountll",
                       u, x);
    if (own)
        return tn_strf(e->ctx, "((%s)(%s((uint64_t)(%s)%s) - %d))", to, own, u, x, 64 - from.bits);
    return tn_strf(e->ctx, "((%s)(__builtin_clzll(((uint64_t)(%s)%s << 1) | 1) - %d))", to, u, x,
                   63 - from.bits);
}

/* popcount, clz: by a function, so that vectors take it lane by lane. */
static void
count_bits(tnk_emitter *e, const tn_call *c, tnb_dtype d, bool ones)
{
    tnb_dtype from = tn_dtype_of(c->args.at[0]), one = with_lanes(from, 1), to = with_lanes(d, 1);
    const char *f = tn_strf(e->ctx, "tk_%s_%s", ones ? "popcount" : "clz", tnk_short_name(one));
    const char *counted = bits_counted(e, to, one, ones, "x");
    if (tnk_once(e, f))
        tnb_buf_printf(&e->src->helpers, "%s %s %s(%s x)\n{\n    return %s;\n}\n", e->d->inline_,
                       tnk_c_type(e, to), f, tnk_c_type(e, one), counted);
    tnb_buf_printf(e->out, "%s(", d.lanes > 1 ? tnk_help_map(e, d, from, f, 1) : f);
    ex(e, c->args.at[0]);
    put(e, ")");
}

/* What the dialect calls a plugin's intrinsic; NULL: nothing of its own. */
static const char *
spelling(const tnk_emitter *e, const tn_op *op)
{
    const char *language = e->d->language ? e->d->language : e->d->base.name;
    for (const char *const *s = op->spellings; s && s[0]; s += 2)
        if (!strcmp(s[0], language))
            return s[1];
    return NULL;
}

/* A call of a function of mathematics, or of a plugin's intrinsic. */
static void
function_call(tnk_emitter *e, const tn_call *c, tnb_dtype d)
{
    const tn_op *op = tn_call_op_of(c);
    const tn_expr *const *a = c->args.at;
    uint32_t n = c->args.n;
    tnb_dtype arg = n ? tnk_compute_dtype(tn_dtype_of(a[0])) : d;
    const char *f = spelling(e, op);
    if (f)
        declare_function(e, f, c, 0);
    if (f && d.lanes > 1 && n && n <= 3)
        f = tnk_help_map(e, d, arg, f, (int)n);
    if (!f && n >= 1 && n <= 3)
        f = tnk_math_function(e, op->intrin, arg, (int)n);
    if (!f) {
        tnk_emit_fail(e, c->base.loc, "the intrinsic '%s' on %s has no form in %s source",
                      op->base.name,
                      tnb_dtype_print(n ? tn_dtype_of(a[0]) : tn_dtype_of(TN_NODE(c))).s,
                      e->d->base.name);
        tnb_diag_hint(
            tn_diags(e->ctx),
            "the operator's `spellings` say what a language calls it, tnk_dialect.functions "
            "what this one calls its own");
        return;
    }
    tnb_buf_printf(e->out, "%s(", f);
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            put(e, ", ");
        ex(e, a[i]);
    }
    put(e, ")");
}

/* A function of the place of an element and an operand: "atomicAnd(A[i], x)". */
static void
atomic(tnk_emitter *e, const tn_call *c, tn_intrin_id id)
{
    const char *own = tnk_own_name(e, id);
    const tn_buffer_load *l = tn_as_buffer_load(c->args.at[0]);
    if (!own || !l || !tnk_emit_place(e, l, tn_strf(e->ctx, "%s(", own))) {
        tnk_emit_fail(e, c->base.loc,
                      "the intrinsic '%s' has no form in %s source: its dialect names no function "
                      "for it",
                      tn_call_op_of(c)->base.name, e->d->base.name);
        return;
    }
    put(e, ", ");
    ex(e, c->args.at[1]);
    put(e, ")");
}

void
tnk_emit_call(tnk_emitter *e, const tn_expr *x)
{
    const tn_call *c = (const tn_call *)x;
    const tn_op *op = tn_call_op_of(c);
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(x));
    if (!op) {
        tnk_emit_fail(e, x->loc, "a call of another function has no form in source");
        return;
    }
    switch ((int)op->intrin) {
    case TN_INTRIN_if_then_else:
        choice(e, c->args.at);
        return;
    case TN_INTRIN_likely:
    case TN_INTRIN_tvm_thread_invariant:
        ex(e, c->args.at[0]);
        return;
    case TN_INTRIN_index_in:
        tnk_emit_index(e, c);
        return;
    case TN_INTRIN_bitwise_and:
        bit_operation(e, c, "&", d);
        return;
    case TN_INTRIN_bitwise_or:
        bit_operation(e, c, "|", d);
        return;
    case TN_INTRIN_bitwise_xor:
        bit_operation(e, c, "^", d);
        return;
    case TN_INTRIN_bitwise_not:
        complement(e, c, d);
        return;
    case TN_INTRIN_shift_left:
    case TN_INTRIN_shift_right:
        shift(e, c, d, op->intrin == TN_INTRIN_shift_left);
        return;
    case TN_INTRIN_abs:
    case TN_INTRIN_fabs:
        absolute(e, c, d);
        return;
    case TN_INTRIN_isnan:
    case TN_INTRIN_isinf:
    case TN_INTRIN_isfinite:
        float_class(e, c, tnk_class_test(op->intrin));
        return;
    case TN_INTRIN_popcount:
    case TN_INTRIN_clz:
        count_bits(e, c, d, op->intrin == TN_INTRIN_popcount);
        return;
    case TN_INTRIN_atomic_and:
    case TN_INTRIN_atomic_or:
        atomic(e, c, op->intrin);
        return;
    case TN_INTRIN_dp4a:
        tnk_emit_dot(e, c);
        return;
    case TN_INTRIN_reinterpret:
        tnk_emit_reinterpret(e, c);
        return;
    case TN_INTRIN_call_extern:
    case TN_INTRIN_call_pure_extern:
        extern_call(e, c);
        return;
    case TN_INTRIN_address_of:
    case TN_INTRIN_tvm_access_ptr:
        if (!tnk_emit_pointer(e, x))
            tnk_emit_fail(e, x->loc, "the address %s has no form in source", tn_text(e->ctx, x));
        return;
    default:
        break;
    }
    function_call(e, c, d);
}
