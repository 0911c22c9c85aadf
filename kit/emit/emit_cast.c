/* SPDX-License-Identifier: Apache-2.0 */
/* Casts, and bits read as another type. */
#include "emit_private.h"

static bool
is_small_number(const tn_expr *e)
{
    const tn_broadcast *b = e->kind == TN_KIND_BROADCAST ? (const tn_broadcast *)e : NULL;
    const tn_float_imm *f = tn_as_float_imm(b ? b->value : e);
    return f && f->value > -2147483648.0 && f->value < 2147483648.0;
}

/* max(min(x, high), low) or min(max(x, low), high) within 32 bits; or NaN, for which processors give
 * 0 or the least integer, whose low half is 0 as well. */
static bool
is_bounded(const tn_expr *e)
{
    for (int i = 0; i < 2; i++) {
        const tn_binary *b =
            e->kind == TN_KIND_MIN || e->kind == TN_KIND_MAX ? tn_as_binary(e) : NULL;
        if (!b || !(is_small_number(b->a) || is_small_number(b->b)))
            return false;
        const tn_expr *inner = is_small_number(b->b) ? b->a : b->b;
        if (i == 0 && inner->kind == e->kind)
            return false;
        e = inner;
    }
    return true;
}

void
tnk_emit_cast(tnk_emitter *e, const tn_expr *x)
{
    const tn_expr *v = ((const tn_cast *)x)->value;
    tnb_dtype from = tn_dtype_of(v), to = tn_dtype_of(x);
    tnb_dtype cf = tnk_compute_dtype(from), ct = tnk_compute_dtype(to);
    if (is_bool_vector(v)) {
        const tnb_dtype mask = tnk_mask_dtype(ct.bits, ct.lanes);
        put(e, tnk_convert_open(e, mask, ct));
        put(e, tnk_op_open(e, "&", mask));
        tnk_emit_mask(e, v, ct.bits);
        tnk_put_op(e, "&", mask);
        tnb_buf_printf(e->out, "%s)%s", tnk_one_mask(e, mask), tnk_convert_close(e, ct));
        return;
    }
    if (to.code == TNB_BOOL) {
        put(e, "(");
        ex(e, v);
        put(e, " != 0)");
        return;
    }
    if (tnb_dtype_is_float(to) && to.bits <= 16) { /* rounds; the value stays a float */
        if (tnb_dtype_eq(from, to)) {
            ex(e, v);
            return;
        }
        bool by64 = to.bits <= 8 && cf.bits >= 32 && !tnb_dtype_eq(cf, ct);
        tnb_dtype over = {TNB_FLOAT, by64 ? 64 : 32, to.lanes};
        tnb_buf_printf(e->out, "%s(%s(", tnk_help_widen(e, to),
                       by64 ? tnk_help_narrow_small(e, to, 64) : tnk_help_narrow(e, to));
        if (!tnb_dtype_eq(cf, over)) {
            put(e, to.lanes > 1 ? tnk_convert_open(e, cf, over) : by64 ? "(double)(" : "(float)(");
            ex(e, v);
            put(e, to.lanes > 1 ? tnk_convert_close(e, over) : ")");
        } else {
            ex(e, v);
        }
        put(e, "))");
        return;
    }
    if (tnb_dtype_eq(cf, ct)) {
        ex(e, v);
        return;
    }
    if (e->d->gnu_vectors && ct.lanes > 1 && ct.bits <= 16 && tnb_dtype_is_int(ct) &&
        tnb_dtype_eq(with_lanes(cf, 1), TNB_F32) && is_bounded(v)) {
        const tnb_dtype wide = {TNB_INT, 32, ct.lanes};
        put(e, tnk_convert_open(e, wide, ct));
        put(e, tnk_convert_open(e, cf, wide));
        ex(e, v);
        put(e, tnk_convert_close(e, wide));
        put(e, tnk_convert_close(e, ct));
        return;
    }
    if (tnb_dtype_is_float(cf) && tnb_dtype_is_int(ct)) {
        const char *f = tnk_help_from_float(e, with_lanes(cf, 1), with_lanes(ct, 1));
        tnb_buf_printf(e->out, "%s(", ct.lanes > 1 ? tnk_help_map(e, ct, cf, f, 1) : f);
        ex(e, v);
        put(e, ")");
        return;
    }
    if (ct.lanes > 1) {
        put(e, tnk_convert_open(e, cf, ct));
        ex(e, v);
        put(e, tnk_convert_close(e, ct));
        return;
    }
    tnb_buf_printf(e->out, "((%s)", tnk_c_type(e, ct));
    ex(e, v);
    put(e, ")");
}

void
tnk_emit_reinterpret(tnk_emitter *e, const tn_call *c)
{
    tnb_dtype from = tn_dtype_of(c->args.at[0]), to = tn_dtype_of(TN_NODE(c));
    tnb_dtype sf = tnk_storage_dtype(from), st = tnk_storage_dtype(to);
    if (tnb_dtype_is_float(from) && tnb_dtype_eq(sf, to) && tnk_is_moved(e, c->args.at[0])) {
        tnk_emit_moved(e, c->args.at[0]);
        return;
    }
    if (from.bits < 8 || to.bits < 8 || sf.bits != st.bits) {
        tnk_emit_fail(e, c->base.loc, "reinterpret from %s to %s has no form in source",
                      tnb_dtype_print(from).s, tnb_dtype_print(to).s);
        return;
    }
    /* scalars through a union; GNU vectors of one size are cast by their bits */
    bool by_union = from.lanes == 1 && !e->d->as_functions;
    const char *f = by_union
                        ? tn_strf(e->ctx, "tk_bits_%s_%s(", tnk_short_name(sf), tnk_short_name(st))
                    : e->d->structs     ? tnk_bits_open(e, sf, st)
                    : e->d->gnu_vectors ? tn_strf(e->ctx, "(%s)(", tnk_c_type(e, st))
                                        : tn_strf(e->ctx, "as_%s(", tnk_c_type(e, st));
    if (by_union && tnk_once(e, f))
        tnb_buf_printf(
            &e->src->helpers,
            "%s %s %s%s x)\n{\n    union { %s a; %s b; } u;\n    u.a = x;\n    return u.b;\n}\n",
            e->d->inline_, tnk_c_type(e, st), f, tnk_c_type(e, sf), tnk_c_type(e, sf),
            tnk_c_type(e, st));
    bool narrow = tnb_dtype_is_float(from) && from.bits <= 16,
         widen = tnb_dtype_is_float(to) && to.bits <= 16;
    tnb_buf_printf(e->out, "%s%s%s", widen ? tnk_help_widen(e, to) : "", widen ? "(" : "", f);
    if (narrow)
        tnb_buf_printf(e->out, "%s(", tnk_help_narrow(e, from));
    ex(e, c->args.at[0]);
    put(e, narrow ? "))" : ")");
    if (widen)
        put(e, ")");
}
