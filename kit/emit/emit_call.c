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
    put(e, "(");
    ex(e, c->args.at[0]);
    tnb_buf_printf(e->out, " %s ", op);
    ex(e, c->args.at[1]);
    put(e, tn_dtype_of(TN_NODE(c)).code == TNB_BOOL ? "))" : ")");
}

static void
absolute(tnk_emitter *e, const tn_call *c, tnb_dtype d)
{
    const char *t = tnk_c_type(e, d), *f = tn_strf(e->ctx, "tk_abs_%s", t);
    const char *mx = d.code == TNB_FLOAT ? NULL : tnk_help_minmax(e, d, true);
    /* before the helper is begun: it may write the type's definition */
    const char *m = d.code == TNB_FLOAT ? tnk_c_type(e, tnk_mask_dtype(d.bits, d.lanes)) : NULL;
    if (d.code == TNB_FLOAT && (d.lanes == 1 || !e->d->gnu_vectors))
        f = tnk_math_function(e, "fabs", d, NULL, 1);
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
    tnb_buf_printf(e->out, "%s(", f);
    ex(e, c->args.at[0]);
    put(e, ")");
}

/* A function that no imported source has: declared as it is called. */
static void
declare_function(tnk_emitter *e, const char *name, const tn_call *c)
{
    tnb_dtype ret = tn_dtype_of(TN_NODE(c));
    if (e->d->id != TN_DIALECT_C || tnb_strmap_has(&e->src->imported, name) ||
        !tnk_once(e, tn_strf(e->ctx, "extern %s", name)))
        return;
    const char *args = "";
    for (uint32_t i = 1; i < c->args.n; i++) {
        tnb_dtype d = tn_dtype_of(c->args.at[i]);
        args = tn_strf(e->ctx, "%s%s%s", args, i > 1 ? ", " : "",
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
    declare_function(e, name->value, c);
    tnb_buf_printf(e->out, "%s(", name->value);
    for (uint32_t i = 1; i < c->args.n; i++) {
        if (i > 1)
            put(e, ", ");
        ex(e, c->args.at[i]);
    }
    put(e, ")");
}

void
tnk_emit_call(tnk_emitter *e, const tn_expr *x)
{
    const tn_call *c = (const tn_call *)x;
    const tn_op *op = tn_call_op_of(c);
    tnb_dtype dt = tn_dtype_of(x), d = tnk_compute_dtype(dt);
    if (!op) {
        tnk_emit_fail(e, x->loc, "a call of another function has no form in source");
        return;
    }
    const char *dot = strchr(op->name, '.'), *name = dot ? dot + 1 : op->name;
    const tn_expr *const *a = c->args.at;
    uint32_t n = c->args.n;
    if (n == 3 && !strcmp(name, "if_then_else")) {
        put(e, "(");
        ex(e, a[0]);
        put(e, " ? ");
        ex(e, a[1]);
        put(e, " : ");
        ex(e, a[2]);
        put(e, ")");
        return;
    }
    if (n >= 1 && (!strcmp(name, "likely") || !strcmp(name, "tvm_thread_invariant"))) {
        ex(e, a[0]);
        return;
    }
    if (n == 4 && !strcmp(name, "index_in")) {
        tnk_emit_index(e, c);
        return;
    }
    if (n == 2 && !strcmp(name, "bitwise_and"))
        bit_operation(e, c, "&", d);
    else if (n == 2 && !strcmp(name, "bitwise_or"))
        bit_operation(e, c, "|", d);
    else if (n == 2 && !strcmp(name, "bitwise_xor"))
        bit_operation(e, c, "^", d);
    else if (n == 1 && !strcmp(name, "bitwise_not")) {
        tnb_buf_printf(e->out, d.lanes == 1 ? "((%s)" : "(", tnk_c_type(e, d));
        put(e, dt.code == TNB_BOOL ? "!" : "~");
        tnk_emit_whole(e, a[0]);
        put(e, ")");
    } else if (n == 2 && (!strcmp(name, "shift_left") || !strcmp(name, "shift_right"))) {
        const char *f = tnk_help_shift(e, with_lanes(d, 1), name[6] == 'l');
        call2(e, d.lanes > 1 ? tnk_help_map(e, d, d, f, 2) : f, a[0], a[1]);
    } else if (n == 1 && (!strcmp(name, "abs") || !strcmp(name, "fabs"))) {
        absolute(e, c, d);
    } else if (n == 1 &&
               (!strcmp(name, "isnan") || !strcmp(name, "isinf") || !strcmp(name, "isfinite"))) {
        tnb_buf_printf(e->out, "(%s%s(",
                       e->d->id == TN_DIALECT_C ? "0 != __builtin_" : "0 != ", name);
        ex(e, a[0]);
        put(e, "))");
    } else if (n == 1 && (!strcmp(name, "popcount") || !strcmp(name, "clz")) && d.lanes == 1) {
        tnb_dtype from = tn_dtype_of(a[0]);
        bool pop = name[0] == 'p';
        if (!e->d->gnu_vectors) {
            tnb_buf_printf(e->out, "((%s)%s((%s)", tnk_c_type(e, d), name, tnk_c_type(e, from));
            ex(e, a[0]);
            put(e, "))");
            return;
        }
        tnb_buf_printf(e->out, "((%s)", tnk_c_type(e, d));
        if (pop)
            tnb_buf_printf(e->out, "__builtin_popcountll((uint64_t)(u%s)",
                           tnk_c_type(e, (tnb_dtype){TNB_INT, from.bits, 1}));
        else
            tnb_buf_printf(e->out, "(__builtin_clzll(((uint64_t)(u%s)",
                           tnk_c_type(e, (tnb_dtype){TNB_INT, from.bits, 1}));
        ex(e, a[0]);
        if (pop)
            put(e, "))");
        else
            tnb_buf_printf(e->out, " << 1) | 1) - %d))", 63 - from.bits);
    } else if (n == 1 && !strcmp(name, "reinterpret")) {
        tnk_emit_reinterpret(e, c);
    } else if (n && (!strcmp(name, "call_extern") || !strcmp(name, "call_pure_extern"))) {
        extern_call(e, c);
    } else if (n && (!strcmp(name, "address_of") || !strcmp(name, "tvm_access_ptr"))) {
        if (!tnk_emit_pointer(e, x))
            tnk_emit_fail(e, x->loc, "the address %s has no form in source", tn_text(e->ctx, x));
    } else if (n == 0 && !strcmp(name, "infinity")) {
        tnk_float_literal(e, d, (double)INFINITY);
    } else if (!tnk_emit_warp_call(e, c)) {
        tnb_dtype arg = n ? tnk_compute_dtype(tn_dtype_of(a[0])) : d;
        const char *f = n >= 1 && n <= 3 ? tnk_math_function(e, name, arg, op, (int)n) : NULL;
        if (!f) {
            tnk_emit_fail(e, x->loc, "the intrinsic '%s' on %s has no form in %s source", op->name,
                          tnb_dtype_print(n ? tn_dtype_of(a[0]) : dt).s, e->d->name);
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
}
