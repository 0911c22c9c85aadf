/* SPDX-License-Identifier: Apache-2.0 */
/* T.dp4a: four bytes by four, added in 32 bits; also of vectors, lane by lane where the dialect has no instruction. */
#include "emit_private.h"

/* Whether no byte of the number has its highest bit: a mask says so. */
static bool
has_small_bytes(const tn_expr *x)
{
    int64_t mask;
    if (!tn_is_intrin(x, TN_INTRIN_bitwise_and) || tn_dtype_of(x).bits != 32)
        return false;
    const tn_expr *m = ((const tn_call *)x)->args.at[1];
    const tn_broadcast *all = tn_as_broadcast(m);
    return tn_int_value(all ? all->value : m, &mask) && !(mask & 0x80808080);
}

/* The function of one number: (x, y, sum). */
static const char *
help_dot(tnk_emitter *e, tnb_dtype x, tnb_dtype y, tnb_dtype sum)
{
    const char *f = tn_strf(e->ctx, "tk_dp4a_%s_%s_%s", tnk_short_name(x), tnk_short_name(y),
                            tnk_short_name(sum));
    const char *t[3] = {tnk_c_type(e, x), tnk_c_type(e, y), tnk_c_type(e, sum)},
               *bytes[2] = {tnk_c_type(e, (tnb_dtype){x.code, 8, 1}),
                            tnk_c_type(e, (tnb_dtype){y.code, 8, 1})},
               *u = tnk_c_type(e, TNB_DTYPE(TNB_UINT, 32));
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s a, %s b, %s c)\n{\n    return (%s)((%s)c", e->d->inline_, t[2],
                   f, t[0], t[1], t[2], t[2], u);
    for (int i = 0; i < 32; i += 8)
        tnb_buf_printf(b, " + (%s)((%s)(a >> %d) * (%s)(b >> %d))", u, bytes[0], i, bytes[1], i);
    tnb_buf_puts(b, ");\n}\n");
    return f;
}

/* The same of vectors. */
static const char *
help_dots(tnk_emitter *e, tnb_dtype x, tnb_dtype y, tnb_dtype sum, bool small)
{
    const char *one = help_dot(e, with_lanes(x, 1), with_lanes(y, 1), with_lanes(sum, 1));
    const char *f = tn_strf(e->ctx, "%sx%d%s", one, sum.lanes, small ? "_small" : "");
    const char *t[3] = {tnk_c_type(e, x), tnk_c_type(e, y), tnk_c_type(e, sum)};
    const bool has_form = x.code == TNB_UINT && y.code == TNB_INT && sum.code == TNB_INT;
    const tnk_helper which = small ? TNK_HELPER_DOT_SMALL_BYTES : TNK_HELPER_DOT_BYTES;
    const char *own = has_form && e->d->body ? e->d->body(e, which, TN_INTRIN_dp4a, sum) : NULL;
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b, "%s %s %s(%s a, %s b, %s c)\n{\n%s%s", e->d->inline_, t[2], f, t[0], t[1],
                   t[2], tnk_or_none(own), own ? "#else\n" : "");
    tnb_buf_printf(b, "    return %s", tnk_make_open(e, sum));
    for (int i = 0; i < sum.lanes; i++) {
        const char *lane = tnk_lane(e, sum.lanes, i);
        tnb_buf_printf(b, "%s%s(a%s, b%s, c%s)", i ? ", " : "", one, lane, lane, lane);
    }
    tnb_buf_printf(b, "%s;\n%s}\n", tnk_make_close(e), own ? "#endif\n" : "");
    return f;
}

/* An operand, bytes in numbers of 32 bits. */
static void
operand(tnk_emitter *e, const tn_expr *x, tnb_dtype d)
{
    tnb_dtype from = tn_dtype_of(x);
    if (from.bits == 8)
        put(e, tnk_bits_open(e, from, d));
    ex(e, x);
    if (from.bits == 8)
        put(e, tnk_bits_close(e, d));
}

void
tnk_emit_dot(tnk_emitter *e, const tn_call *c)
{
    const tnb_dtype sum = tn_dtype_of(TN_NODE(c));
    tnb_dtype d[2];
    for (int i = 0; i < 2; i++)
        d[i] = (tnb_dtype){tn_dtype_of(c->args.at[i]).code, 32, sum.lanes};
    if (sum.lanes == 1 &&
        (tn_dtype_of(c->args.at[0]).bits == 8 || tn_dtype_of(c->args.at[1]).bits == 8)) {
        tnk_emit_fail(e, c->base.loc,
                      "dp4a of single vectors of four bytes has no form in %s source",
                      e->d->base.name);
        return;
    }
    put(e, sum.lanes > 1 ? help_dots(e, d[0], d[1], sum, has_small_bytes(c->args.at[0]))
                         : help_dot(e, d[0], d[1], sum));
    put(e, "(");
    for (int i = 0; i < 2; i++) {
        operand(e, c->args.at[i], d[i]);
        put(e, ", ");
    }
    ex(e, c->args.at[2]);
    put(e, ")");
}
