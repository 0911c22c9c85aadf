/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of bools: masks, integers that are 0 or -1 in each lane. */
#include "emit_private.h"

const char *
tnk_compare_op(unsigned kind)
{
    switch (kind) {
    case TN_KIND_EQ:
        return "==";
    case TN_KIND_NE:
        return "!=";
    case TN_KIND_LT:
        return "<";
    case TN_KIND_LE:
        return "<=";
    case TN_KIND_GT:
        return ">";
    default:
        return ">=";
    }
}

const char *
tnk_one_mask(tnk_emitter *e, tnb_dtype mask)
{
    return e->d->gnu_vectors ? "1"
           : e->d->structs   ? tn_strf(e->ctx, "%s(1)", tnk_help_broadcast(e, mask))
                             : tn_strf(e->ctx, "((%s)(1))", tnk_c_type(e, mask));
}

/* (`text` of width `from`) as a mask of width `to`: opens or closes the conversion. */
static void
open_mask(tnk_emitter *e, uint8_t from, uint8_t to, uint16_t lanes)
{
    if (from != to)
        put(e, tnk_convert_open(e, tnk_mask_dtype(from, lanes), tnk_mask_dtype(to, lanes)));
    if (e->d->gnu_vectors)
        tnb_buf_printf(e->out, "(%s)", tnk_c_type(e, tnk_mask_dtype(from, lanes)));
}

static void
close_mask(tnk_emitter *e, uint8_t from, uint8_t to, uint16_t lanes)
{
    if (from != to)
        put(e, tnk_convert_close(e, tnk_mask_dtype(to, lanes)));
}

void
tnk_emit_mask(tnk_emitter *e, const tn_expr *x, uint8_t bits)
{
    uint16_t n = tn_dtype_of(x).lanes;
    const tnb_dtype mask = tnk_mask_dtype(bits, n);
    const tn_binary *b = tn_as_binary(x);
    if (b && x->kind >= TN_KIND_EQ && x->kind <= TN_KIND_GE && !is_bool_vector(b->a)) {
        const tnb_dtype d = tnk_compute_dtype(tn_dtype_of(b->a));
        const char *op = tnk_compare_op(x->kind);
        uint8_t from = d.bits;
        open_mask(e, from, bits, n);
        put(e, tnk_op_open(e, op, d));
        ex(e, b->a);
        tnk_put_op(e, op, d);
        ex(e, b->b);
        put(e, ")");
        close_mask(e, from, bits, n);
        return;
    }
    if (b) {
        const char *op =
            x->kind == TN_KIND_AND || x->kind == TN_KIND_MUL || x->kind == TN_KIND_MIN  ? "&"
            : x->kind == TN_KIND_OR || x->kind == TN_KIND_ADD || x->kind == TN_KIND_MAX ? "|"
            : x->kind == TN_KIND_NE || x->kind == TN_KIND_EQ                            ? "^"
                                                                                        : NULL;
        if (!op) {
            tnk_emit_fail(e, x->loc, "an operation on vectors of bool has no form in source");
            return;
        }
        put(e, x->kind == TN_KIND_EQ ? tnk_not_open(e, mask) : "(");
        put(e, tnk_op_open(e, op, mask));
        tnk_emit_mask(e, b->a, bits);
        tnk_put_op(e, op, mask);
        tnk_emit_mask(e, b->b, bits);
        put(e, "))");
        return;
    }
    switch (x->kind) {
    case TN_KIND_NOT:
        put(e, tnk_not_open(e, mask));
        tnk_emit_mask(e, ((const tn_unary *)x)->a, bits);
        put(e, ")");
        return;
    case TN_KIND_BROADCAST:
        tnb_buf_printf(e->out, "%s((%s)-(", tnk_help_broadcast(e, tnk_mask_dtype(bits, n)),
                       tnk_c_type(e, tnk_mask_dtype(bits, 1)));
        ex(e, ((const tn_broadcast *)x)->value);
        put(e, " != 0))");
        return;
    case TN_KIND_CAST: {
        const tn_expr *v = ((const tn_cast *)x)->value;
        if (is_bool_vector(v)) {
            tnk_emit_mask(e, v, bits);
            return;
        }
        tnb_dtype d = tnk_compute_dtype(tn_dtype_of(v));
        open_mask(e, d.bits, bits, n);
        put(e, tnk_op_open(e, "!=", d));
        ex(e, v);
        tnk_put_op(e, "!=", d);
        tnb_buf_printf(e->out, "%s)", tnk_zeros(e, d));
        close_mask(e, d.bits, bits, n);
        return;
    }
    case TN_KIND_BUFFER_LOAD: {
        const tn_buffer_load *l = (const tn_buffer_load *)x;
        tnb_dtype s = {TNB_UINT, 8, n};
        open_mask(e, 8, bits, n);
        put(e, tnk_op_open(e, "!=", s));
        tnk_emit_raw_load(e, l, with_lanes(s, 1));
        tnk_put_op(e, "!=", s);
        tnb_buf_printf(e->out, "%s)", tnk_zeros(e, s));
        close_mask(e, 8, bits, n);
        return;
    }
    case TN_KIND_SELECT: {
        const tn_select *s = (const tn_select *)x;
        tnb_buf_printf(e->out, "%s(", tnk_help_select(e, tnk_mask_dtype(bits, n)));
        tnk_emit_mask(e, s->cond, bits);
        put(e, ", ");
        tnk_emit_mask(e, s->a, bits);
        put(e, ", ");
        tnk_emit_mask(e, s->b, bits);
        put(e, ")");
        return;
    }
    case TN_KIND_SHUFFLE: {
        const tn_shuffle *s = (const tn_shuffle *)x;
        bool ok = true;
        for (uint32_t i = 0; i < s->indices.n && ok; i++) {
            tnb_buf_printf(e->out, "%s(%s)-(", i ? ", " : tnk_make_open(e, mask),
                           tnk_c_type(e, with_lanes(mask, 1)));
            ok = tnk_emit_lane(e, s->vectors, s->indices.at[i]);
            put(e, " != 0)");
        }
        put(e, tnk_make_close(e));
        if (ok)
            return;
        break;
    }
    case TN_KIND_VAR: /* held with 32 bits */
        open_mask(e, 32, bits, n);
        put(e, tnk_name_of(e, x));
        close_mask(e, 32, bits, n);
        return;
    case TN_KIND_CALL: {
        const tn_call *c = (const tn_call *)x;
        tn_intrin_id id = tn_intrin_of(x);
        bool test = id == TN_INTRIN_isnan || id == TN_INTRIN_isinf || id == TN_INTRIN_isfinite;
        if (test && !is_bool_vector(c->args.at[0])) {
            const char *name = tnk_class_test(id);
            tnb_dtype d = tnk_compute_dtype(tn_dtype_of(c->args.at[0]));
            const char *fn = tn_strf(e->ctx, "%s%s", tnk_or_none(e->d->classify), name);
            const tnb_dtype found = tnk_mask_dtype(d.bits, d.lanes);
            const char *map =
                e->d->gnu_vectors || e->d->structs ? tnk_help_map(e, found, d, fn, 1) : name;
            open_mask(e, d.bits, bits, n);
            put(e, tnk_op_open(e, "!=", found));
            put(e, map);
            put(e, "(");
            ex(e, c->args.at[0]);
            put(e, ")");
            tnk_put_op(e, "!=", found);
            tnb_buf_printf(e->out, "%s)", tnk_zeros(e, found));
            close_mask(e, d.bits, bits, n);
            return;
        }
        if (id == TN_INTRIN_bitwise_and || id == TN_INTRIN_bitwise_or ||
            id == TN_INTRIN_bitwise_xor) {
            const char *op = id == TN_INTRIN_bitwise_and  ? "&"
                             : id == TN_INTRIN_bitwise_or ? "|"
                                                          : "^";
            put(e, tnk_op_open(e, op, mask));
            tnk_emit_mask(e, c->args.at[0], bits);
            tnk_put_op(e, op, mask);
            tnk_emit_mask(e, c->args.at[1], bits);
            put(e, ")");
            return;
        }
        if (id == TN_INTRIN_bitwise_not) {
            put(e, tnk_not_open(e, mask));
            tnk_emit_mask(e, c->args.at[0], bits);
            put(e, ")");
            return;
        }
        if (id == TN_INTRIN_if_then_else) { /* the condition is a scalar */
            put(e, "(");
            ex(e, c->args.at[0]);
            put(e, " ? ");
            tnk_emit_mask(e, c->args.at[1], bits);
            put(e, " : ");
            tnk_emit_mask(e, c->args.at[2], bits);
            put(e, ")");
            return;
        }
        break;
    }
    default:
        break;
    }
    tnk_emit_fail(e, x->loc, "a vector of bool has no form in source here");
}
