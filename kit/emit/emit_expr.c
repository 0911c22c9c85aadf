/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of emitted source. */
#include "emit_private.h"

#include "tenon/core/text.h"

#include <math.h>

#include "tenon/base/num.h"

static void
put(tnk_emitter *e, const char *s)
{
    tnb_buf_puts(e->out, s);
}

static void
ex(tnk_emitter *e, const tn_expr *x)
{
    tnk_emit_expr(e, x);
}

static tnb_dtype
with_lanes(tnb_dtype d, uint16_t lanes)
{
    d.lanes = lanes;
    return d;
}

static bool
is_bool_vector(const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    return d.code == TNB_BOOL && d.lanes > 1;
}

/* ---- literals ---- */

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

static void
float_literal(tnk_emitter *e, tnb_dtype d, double v)
{
    bool f64 = d.bits == 64, c = e->d->id == TN_DIALECT_C;
    if (isnan(v)) {
        put(e, c ? (f64 ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")")
                 : (f64 ? "((double)NAN)" : "NAN"));
        return;
    }
    if (isinf(v)) {
        const char *inf = c ? (f64 ? "__builtin_inf()" : "__builtin_inff()")
                            : (f64 ? "((double)INFINITY)" : "INFINITY");
        tnb_buf_printf(e->out, v < 0 ? "(-%s)" : "%s", inf);
        return;
    }
    tnb_num_text t = f64 ? tnb_print_f64(v) : tnb_print_f32((float)v);
    bool negative = t.s[0] == '-';
    tnb_buf_printf(e->out, "%s%s%s%s", negative ? "(" : "", t.s, f64 ? "" : "f",
                   negative ? ")" : "");
}

/* ---- memory ---- */

static const tnk_memory *
memory_of(tnk_emitter *e, const tn_node *buffer, tn_loc loc)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    const tnk_memory *m = tnb_ptrmap_get(&e->memory, b->data);
    if (!m)
        tnk_emit_fail(
            e, loc, "the memory of buffer '%s' is neither a parameter nor allocated in the kernel",
            b->name);
    return m;
}

/* The dtype in memory of elements of `buffer`, one lane. */
static tnb_dtype
stored_dtype(const tn_buffer *b, const tnk_memory *m)
{
    tnb_dtype d = with_lanes(b->dtype, 1);
    tnb_dtype s = tnk_storage_dtype(d), c = tnk_compute_dtype(d);
    if (tnb_dtype_is_int(d) && d.bits < 8)
        return m->packed ? s : c;
    return tnb_dtype_eq(m->elem, c) && !tnb_dtype_is_bool(d) ? m->elem : s;
}

/* The pointer to elements of dtype `d`. */
static void
base(tnk_emitter *e, const tnk_memory *m, tnb_dtype d)
{
    if (tnb_dtype_eq(m->elem, d))
        put(e, m->name);
    else
        tnb_buf_printf(e->out, "((%s%s *)%s)", m->space, tnk_c_type(e, d), m->name);
}

static void
element_address(tnk_emitter *e, const tnk_memory *m, tnb_dtype d, const tn_expr *at)
{
    put(e, "(");
    base(e, m, d);
    if (!tn_is_int_const(at, 0)) {
        put(e, " + ");
        ex(e, at);
    }
    put(e, ")");
}

static void
promoted_name(tnk_emitter *e, const tnk_memory *m, const tn_expr *index)
{
    const tn_ramp *r = tn_as_ramp(index);
    int64_t at = 0;
    (void)tn_int_value(r ? r->start : index, &at);
    tnb_buf_printf(e->out, "%s_%lld", m->name, (long long)(at / m->lanes));
}

/* An index, or a vector of them, with 64 bits each. */
static void
wide_index(tnk_emitter *e, const tn_expr *index)
{
    tnb_dtype wide = {TNB_INT, 64, tn_dtype_of(index).lanes};
    bool already = wide.lanes == 1 || tn_dtype_of(index).bits == 64;
    if (!already)
        put(e, tnk_convert_open(e, wide));
    ex(e, index);
    if (!already)
        put(e, tnk_convert_close(e, wide));
}

/* The elements as stored. */
static void
load_raw(tnk_emitter *e, const tnk_memory *m, tnb_dtype s, const tn_expr *index)
{
    uint16_t n = tn_dtype_of(index).lanes;
    tnb_dtype v = with_lanes(s, n);
    const tn_ramp *r = tn_as_ramp(index);
    int64_t stride;
    if (m->promoted) {
        promoted_name(e, m, index);
    } else if (m->packed) {
        tnb_buf_printf(e->out, "%s(%s, ", tnk_help_packed_load(e, m->packed, n, m->space), m->name);
        wide_index(e, index);
        put(e, ")");
    } else if (n == 1) {
        base(e, m, s);
        put(e, "[");
        ex(e, index);
        put(e, "]");
    } else if (r && tn_is_int_const(r->stride, 1) && !e->d->gnu_vectors) {
        (void)tnk_c_type(e, v);
        tnb_buf_printf(e->out, "vload%d(0, ", n);
        element_address(e, m, s, r->start);
        put(e, ")");
    } else if (r && tn_int_value(r->stride, &stride) && stride == 1) {
        tnb_buf_printf(e->out, "((%s)*(const %s%s *)", tnk_c_type(e, v), m->space,
                       tnk_c_access_type(e, v));
        element_address(e, m, s, r->start);
        put(e, ")");
    } else if (r && tn_int_value(r->stride, &stride) && stride == 0) {
        tnb_buf_printf(e->out, "%s(", tnk_help_broadcast(e, v));
        base(e, m, s);
        put(e, "[");
        ex(e, r->start);
        put(e, "])");
    } else if (r && tn_int_value(r->stride, &stride) && stride == 2 && n >= 4 && s.bits == 32 &&
               e->d->gnu_vectors) {
        tnb_buf_printf(e->out, "%s", tnk_help_pair_load(e, v));
        element_address(e, m, s, r->start);
    } else if (r) {
        tnb_buf_printf(e->out, "%s(", tnk_help_strided_load(e, v, m->space));
        element_address(e, m, s, r->start);
        put(e, ", ");
        ex(e, r->stride);
        put(e, ")");
    } else {
        tnb_buf_printf(e->out, "%s(", tnk_help_gather(e, v, m->space));
        base(e, m, s);
        put(e, ", ");
        wide_index(e, index);
        put(e, ")");
    }
}

/* Bytes of either sign as those of the other: "((int8_t)"; a parenthesis closes. */
static const char *
same_bits(tnk_emitter *e, tnb_dtype d)
{
    return d.lanes > 1 ? tnk_bits_open(e, d) : tn_strf(e->ctx, "((%s)", tnk_c_type(e, d));
}

static void
load(tnk_emitter *e, const tn_buffer_load *l)
{
    const tnk_memory *m = memory_of(e, l->buffer, l->base.loc);
    if (m && m->image)
        tnk_emit_image_load(e, m, l);
    if (!m || m->image || l->indices.n != 1)
        return;
    const tn_buffer *b = tn_as_buffer(l->buffer);
    tnb_dtype d = with_lanes(b->dtype, 1), s = stored_dtype(b, m);
    if (b->dtype.lanes != 1) {
        tnk_emit_fail(e, l->base.loc,
                      "buffer '%s' has vector elements, which source emission does not handle",
                      b->name);
        return;
    }
    uint16_t n = tn_dtype_of(l->indices.at[0]).lanes;
    bool convert = !tnb_dtype_eq(s, tnk_compute_dtype(d)) && tnb_dtype_is_float(d);
    if (convert)
        tnb_buf_printf(e->out, "%s(", tnk_help_widen(e, with_lanes(d, n)));
    bool sign = m->packed && d.code == TNB_INT;
    tnb_dtype c = with_lanes(tnk_compute_dtype(d), n);
    if (sign)
        tnb_buf_printf(e->out, "%s(%s", tnk_help_wrap(e, with_lanes(d, n)), same_bits(e, c));
    load_raw(e, m, s, l->indices.at[0]);
    if (convert || sign)
        put(e, sign ? "))" : ")");
}

/* The bits of a small float, if that is what is reinterpreted as one. */
static const tn_expr *
as_bits(const tn_expr *x)
{
    if (!tn_is_call_to(x, "tirx.reinterpret"))
        return NULL;
    const tn_expr *v = ((const tn_call *)x)->args.at[0];
    tnb_dtype d = tn_dtype_of(x);
    return tnb_dtype_eq(tn_dtype_of(v), tnk_storage_dtype(d)) ? v : NULL;
}

/* Whether the value of a small float can be had as it lies in memory: moved, not computed. */
static bool
is_moved(tnk_emitter *e, const tn_expr *x)
{
    if (tn_is_call_to(x, "tirx.if_then_else")) {
        const tn_call *c = (const tn_call *)x;
        return is_moved(e, c->args.at[1]) && is_moved(e, c->args.at[2]);
    }
    if (x->kind == TN_KIND_BROADCAST)
        return is_moved(e, ((const tn_broadcast *)x)->value);
    if (x->kind == TN_KIND_FLOAT_IMM)
        return ((const tn_float_imm *)x)->value == 0 && !signbit(((const tn_float_imm *)x)->value);
    if (as_bits(x))
        return true;
    const tn_buffer_load *l = tn_as_buffer_load(x);
    const tnk_memory *m = l ? tnb_ptrmap_get(&e->memory, tn_as_buffer(l->buffer)->data) : NULL;
    return m && !m->packed && !m->image &&
           stored_dtype(tn_as_buffer(l->buffer), m).code == TNB_UINT &&
           tn_as_buffer(l->buffer)->dtype.lanes == 1;
}

static void
moved(tnk_emitter *e, const tn_expr *x)
{
    tnb_dtype s = tnk_storage_dtype(tn_dtype_of(x));
    if (as_bits(x)) {
        ex(e, as_bits(x));
    } else if (x->kind == TN_KIND_CALL) {
        const tn_call *c = (const tn_call *)x;
        put(e, "(");
        ex(e, c->args.at[0]);
        put(e, " ? ");
        moved(e, c->args.at[1]);
        put(e, " : ");
        moved(e, c->args.at[2]);
        put(e, ")");
    } else if (x->kind == TN_KIND_BUFFER_LOAD) {
        const tn_buffer_load *l = (const tn_buffer_load *)x;
        load_raw(e, memory_of(e, l->buffer, x->loc), with_lanes(s, 1), l->indices.at[0]);
    } else if (x->kind == TN_KIND_BROADCAST) {
        tnb_buf_printf(e->out, "%s(", tnk_help_broadcast(e, s));
        moved(e, ((const tn_broadcast *)x)->value);
        put(e, ")");
    } else {
        put(e, "0");
    }
}

/* ---- half, where the device computes with it ---- */

static const char *
half_operator(const tnk_emitter *e, const tn_expr *x)
{
    if (!tnk_native_half(e, tn_dtype_of(x)))
        return NULL;
    return x->kind == TN_KIND_ADD   ? "+"
           : x->kind == TN_KIND_SUB ? "-"
           : x->kind == TN_KIND_MUL ? "*"
           : x->kind == TN_KIND_DIV ? "/"
                                    : NULL;
}

/* A float16 as a half, where others are floats. */
static void
half(tnk_emitter *e, const tn_expr *x)
{
    uint16_t n = tn_dtype_of(x).lanes;
    const char *type = n > 1 ? tn_strf(e->ctx, "half%d", n) : "half", *op = half_operator(e, x);
    const tn_float_imm *f = tn_as_float_imm(x);
    tnk_need(e, "fp16");
    if (op) {
        put(e, "(");
        half(e, tn_as_binary(x)->a);
        tnb_buf_printf(e->out, " %s ", op);
        half(e, tn_as_binary(x)->b);
    } else if (x->kind == TN_KIND_BUFFER_LOAD && is_moved(e, x)) {
        tnb_buf_printf(e->out, "as_%s(", type);
        moved(e, x);
    } else if (x->kind == TN_KIND_BROADCAST) {
        tnb_buf_printf(e->out, "(%s)(", type);
        half(e, ((const tn_broadcast *)x)->value);
    } else if (f && isfinite(f->value)) {
        put(e, "((half)");
        float_literal(e, TNB_F32, f->value);
    } else {
        const tn_cast *c = tn_as_cast(x);
        bool once = c && tnb_dtype_eq(with_lanes(tn_dtype_of(c->value), 1), TNB_F32);
        tnb_buf_printf(e->out, "convert_%s_rte(", type);
        ex(e, once ? c->value : x);
    }
    put(e, ")");
}

/* What masks are combined with to leave their lowest bits. */
static const char *
one_mask(tnk_emitter *e, tnb_dtype mask)
{
    return e->d->gnu_vectors ? "1" : tn_strf(e->ctx, "((%s)(1))", tnk_c_type(e, mask));
}

/* The value to be stored, in the form that memory wants. */
static void
stored_value(tnk_emitter *e, const tn_buffer *b, tnb_dtype s, const tn_expr *value)
{
    uint16_t n = tn_dtype_of(value).lanes;
    tnb_dtype d = with_lanes(b->dtype, n);
    if (d.code == TNB_BOOL) {
        if (n == 1) {
            put(e, "(");
            ex(e, value);
            put(e, ") != 0");
            return;
        }
        /* 0 or -1 in each lane; its low bit */
        tnb_dtype mask = tnk_mask_dtype(8, n), unsigned_ = with_lanes(s, n);
        tnb_buf_printf(e->out, "%s(", tnk_bits_open(e, unsigned_));
        tnk_emit_mask(e, value, 8);
        tnb_buf_printf(e->out, " & %s)%s", one_mask(e, mask), tnk_bits_close(e, unsigned_));
        return;
    }
    if (tnb_dtype_is_float(d) && !tnb_dtype_eq(s, with_lanes(tnk_compute_dtype(d), 1))) {
        if (d.bits >= 8 && tnb_dtype_eq(tn_dtype_of(value), d) && is_moved(e, value)) {
            moved(e, value);
            return;
        }
        if (tnk_native_half(e, d) && tnb_dtype_eq(tn_dtype_of(value), d)) {
            put(e, n > 1 ? tn_strf(e->ctx, "as_ushort%d(", n) : "as_ushort(");
            half(e, value);
            put(e, ")");
            return;
        }
        tnb_buf_printf(e->out, "%s(", tnk_help_narrow(e, d));
        ex(e, value);
        put(e, ")");
        return;
    }
    ex(e, value);
}

/* In a loop that writes past the caches: whole registers of the kernel's results. */
static bool
is_streamed(tnk_emitter *e, const tnk_memory *m, tnb_dtype v)
{
    int bytes = v.bits / 8 * v.lanes;
    if (!e->stream || e->d->id != TN_DIALECT_C || (bytes != 16 && bytes != 32 && bytes != 64))
        return false;
    for (uint32_t i = 0; i < e->kernel->n_buffers; i++)
        if (m == tnb_ptrmap_get(&e->memory, tn_as_buffer(e->kernel->buffers[i])->data))
            return true;
    return false;
}

void
tnk_emit_address(tnk_emitter *e, const tn_node *buffer, const tn_expr *at)
{
    const tnk_memory *m = memory_of(e, buffer, buffer->loc);
    if (m)
        element_address(e, m, stored_dtype(tn_as_buffer(buffer), m), at);
}

void
tnk_emit_store(tnk_emitter *e, const tn_buffer_store *st)
{
    const tnk_memory *m = memory_of(e, st->buffer, st->base.loc);
    if (m && m->image)
        tnk_emit_image_store(e, m, st);
    if (!m || m->image || st->indices.n != 1)
        return;
    const tn_buffer *b = tn_as_buffer(st->buffer);
    if (b->dtype.lanes != 1) {
        tnk_emit_fail(e, st->base.loc,
                      "buffer '%s' has vector elements, which source emission does not handle",
                      b->name);
        return;
    }
    const tn_expr *index = st->indices.at[0];
    tnb_dtype s = stored_dtype(b, m);
    uint16_t n = tn_dtype_of(index).lanes;
    tnb_dtype v = with_lanes(s, n);
    const tn_ramp *r = tn_as_ramp(index);
    if (m->packed) {
        tnb_buf_printf(e->out, "%s(%s, ", tnk_help_packed_store(e, m->packed, n, m->space),
                       m->name);
        wide_index(e, index);
        tnb_buf_printf(e->out, ", %s", same_bits(e, with_lanes(TNB_U8, n)));
        stored_value(e, b, s, st->value);
        put(e, "));\n");
        return;
    }
    if (m->promoted || n == 1 || (r && tn_is_int_const(r->stride, 1))) {
        if (m->promoted) {
            promoted_name(e, m, index);
        } else if (n == 1) {
            base(e, m, s);
            put(e, "[");
            ex(e, index);
            put(e, "]");
        } else if (!e->d->gnu_vectors) {
            put(e, tn_strf(e->ctx, "vstore%d(", n));
            stored_value(e, b, s, st->value);
            put(e, ", 0, ");
            element_address(e, m, s, r->start);
            put(e, ");\n");
            return;
        } else if (is_streamed(e, m, v)) {
            tnb_buf_printf(e->out, "%s(", tnk_help_stream(e, v));
            element_address(e, m, s, r->start);
            put(e, ", ");
            stored_value(e, b, s, st->value);
            put(e, ");\n");
            return;
        } else {
            tnb_buf_printf(e->out, "*(%s%s *)", m->space, tnk_c_access_type(e, v));
            element_address(e, m, s, r->start);
        }
        put(e, " = ");
        stored_value(e, b, s, st->value);
        put(e, ";\n");
        return;
    }
    if (r) {
        tnb_buf_printf(e->out, "%s(", tnk_help_strided_store(e, v, m->space));
        element_address(e, m, s, r->start);
        put(e, ", ");
        ex(e, r->stride);
    } else {
        tnb_buf_printf(e->out, "%s(", tnk_help_scatter(e, v, m->space));
        base(e, m, s);
        put(e, ", ");
        wide_index(e, index);
    }
    put(e, ", ");
    stored_value(e, b, s, st->value);
    put(e, ");\n");
}

/* ---- masks ---- */

static const char *
compare_op(unsigned kind)
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

/* (`text` of width `from`) as a mask of width `to`: opens or closes the conversion. */
static void
open_mask(tnk_emitter *e, uint8_t from, uint8_t to, uint16_t lanes)
{
    if (from != to)
        put(e, tnk_convert_open(e, tnk_mask_dtype(to, lanes)));
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
    const tn_binary *b = tn_as_binary(x);
    if (b && x->kind >= TN_KIND_EQ && x->kind <= TN_KIND_GE && !is_bool_vector(b->a)) {
        uint8_t from = tnk_compute_dtype(tn_dtype_of(b->a)).bits;
        open_mask(e, from, bits, n);
        put(e, "(");
        ex(e, b->a);
        tnb_buf_printf(e->out, " %s ", compare_op(x->kind));
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
        tnb_buf_printf(e->out, x->kind == TN_KIND_EQ ? "(~(" : "((");
        tnk_emit_mask(e, b->a, bits);
        tnb_buf_printf(e->out, " %s ", op);
        tnk_emit_mask(e, b->b, bits);
        put(e, "))");
        return;
    }
    switch (x->kind) {
    case TN_KIND_NOT:
        put(e, "(~");
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
        put(e, "(");
        ex(e, v);
        tnb_buf_printf(e->out, " != %s)", tnk_zeros(e, d));
        close_mask(e, d.bits, bits, n);
        return;
    }
    case TN_KIND_BUFFER_LOAD: {
        const tn_buffer_load *l = (const tn_buffer_load *)x;
        const tnk_memory *m = memory_of(e, l->buffer, x->loc);
        if (!m)
            return;
        tnb_dtype s = {TNB_UINT, 8, n};
        open_mask(e, 8, bits, n);
        put(e, "(");
        load_raw(e, m, with_lanes(s, 1), l->indices.at[0]);
        tnb_buf_printf(e->out, " != %s)", tnk_zeros(e, s));
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
    case TN_KIND_VAR: /* held with 32 bits */
        open_mask(e, 32, bits, n);
        put(e, tnk_name_of(e, x));
        close_mask(e, 32, bits, n);
        return;
    case TN_KIND_CALL: {
        const tn_call *c = (const tn_call *)x;
        const tn_op *op = tn_call_op_of(c);
        const char *name = op && strchr(op->name, '.') ? strchr(op->name, '.') + 1 : "";
        if (c->args.n >= 1 && !is_bool_vector(c->args.at[0]) &&
            (!strcmp(name, "isnan") || !strcmp(name, "isinf") || !strcmp(name, "isfinite"))) {
            tnb_dtype d = tnk_compute_dtype(tn_dtype_of(c->args.at[0]));
            const char *fn = tn_strf(e->ctx, "__builtin_%s", name);
            const char *map = e->d->gnu_vectors
                                  ? tnk_help_map(e, tnk_mask_dtype(d.bits, d.lanes), d, fn, 1)
                                  : name;
            open_mask(e, d.bits, bits, n);
            put(e, "(");
            put(e, map);
            put(e, "(");
            ex(e, c->args.at[0]);
            tnb_buf_printf(e->out, ") != %s)", tnk_zeros(e, tnk_mask_dtype(d.bits, d.lanes)));
            close_mask(e, d.bits, bits, n);
            return;
        }
        if (c->args.n == 2 && (!strcmp(name, "bitwise_and") || !strcmp(name, "bitwise_or") ||
                               !strcmp(name, "bitwise_xor"))) {
            put(e, "(");
            tnk_emit_mask(e, c->args.at[0], bits);
            put(e, name[8] == 'a' ? " & " : name[8] == 'o' ? " | " : " ^ ");
            tnk_emit_mask(e, c->args.at[1], bits);
            put(e, ")");
            return;
        }
        if (c->args.n == 1 && !strcmp(name, "bitwise_not")) {
            put(e, "(~");
            tnk_emit_mask(e, c->args.at[0], bits);
            put(e, ")");
            return;
        }
        if (c->args.n == 3 && !strcmp(name, "if_then_else")) { /* the condition is a scalar */
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

/* ---- operations ---- */

static void
infix(tnk_emitter *e, const tn_binary *b, const char *op, tnb_dtype d)
{
    bool narrow = d.lanes == 1 && (tnb_dtype_is_int(d) && d.bits < 32);
    if (narrow)
        tnb_buf_printf(e->out, "(%s)", tnk_c_type(e, d));
    put(e, "(");
    ex(e, b->a);
    tnb_buf_printf(e->out, " %s ", op);
    ex(e, b->b);
    put(e, ")");
}

static void
call2(tnk_emitter *e, const char *f, const tn_expr *a, const tn_expr *b)
{
    tnb_buf_printf(e->out, "%s(", f);
    ex(e, a);
    put(e, ", ");
    ex(e, b);
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
            call2(e, tnk_math_function(e, "fmod", d, NULL, 2), b->a, b->b);
            return;
        }
        floor_fn = tnk_math_function(e, "floor", d, NULL, 1);
        if (kind == TN_KIND_FLOOR_DIV) {
            tnb_buf_printf(e->out, "%s", floor_fn);
            infix(e, b, "/", d);
            return;
        }
        const char *f = tn_strf(e->ctx, "tk_ffmod_%s", tnk_c_type(e, d));
        if (tnk_once(e, f))
            tnb_buf_printf(&e->src->helpers,
                           "%s %s %s(%s a, %s b)\n{\n    return a - %s(a / b) * b;\n}\n",
                           e->d->inline_, tnk_c_type(e, d), f, tnk_c_type(e, d), tnk_c_type(e, d),
                           floor_fn);
        call2(e, f, b->a, b->b);
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
        infix(e, b, compare_op(x->kind), with_lanes(d, 2)); /* the result is an int: no cast back */
        return;
    }
}

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

static void
cast(tnk_emitter *e, const tn_expr *x)
{
    const tn_expr *v = ((const tn_cast *)x)->value;
    tnb_dtype from = tn_dtype_of(v), to = tn_dtype_of(x);
    tnb_dtype cf = tnk_compute_dtype(from), ct = tnk_compute_dtype(to);
    if (is_bool_vector(v)) {
        put(e, tnk_convert_open(e, ct));
        put(e, "(");
        tnk_emit_mask(e, v, ct.bits);
        tnb_buf_printf(e->out, " & %s)%s", one_mask(e, tnk_mask_dtype(ct.bits, ct.lanes)),
                       tnk_convert_close(e, ct));
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
        if (to.bits <= 8 && tnb_dtype_is_int(cf) && cf.bits >= 32 &&
            e->d->id == TN_DIALECT_OPENCL) { /* without doubles */
            tnb_buf_printf(e->out, "%s(%s(", tnk_help_widen(e, to), tnk_help_narrow_int(e, to, cf));
            ex(e, v);
            put(e, "))");
            return;
        }
        bool by64 = to.bits <= 8 && cf.bits >= 32 && !tnb_dtype_eq(cf, ct);
        tnb_dtype over = {TNB_FLOAT, by64 ? 64 : 32, to.lanes};
        tnb_buf_printf(e->out, "%s(%s(", tnk_help_widen(e, to),
                       by64 ? tnk_help_narrow_small(e, to, 64) : tnk_help_narrow(e, to));
        if (!tnb_dtype_eq(cf, over)) {
            put(e, to.lanes > 1 ? tnk_convert_open(e, over) : by64 ? "(double)(" : "(float)(");
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
        put(e, tnk_convert_open(e, ct));
        put(e, tnk_convert_open(e, wide));
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
        put(e, tnk_convert_open(e, ct));
        ex(e, v);
        put(e, tnk_convert_close(e, ct));
        return;
    }
    tnb_buf_printf(e->out, "((%s)", tnk_c_type(e, ct));
    ex(e, v);
    put(e, ")");
}

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
            tnb_buf_printf(&e->src->helpers, "    return %s(x, (%s)(0 - x));\n}\n", mx, t);
        }
    }
    tnb_buf_printf(e->out, "%s(", f);
    ex(e, c->args.at[0]);
    put(e, ")");
}

static void
reinterpret(tnk_emitter *e, const tn_call *c)
{
    tnb_dtype from = tn_dtype_of(c->args.at[0]), to = tn_dtype_of(TN_NODE(c));
    tnb_dtype sf = tnk_storage_dtype(from), st = tnk_storage_dtype(to);
    if (tnb_dtype_is_float(from) && tnb_dtype_eq(sf, to) && is_moved(e, c->args.at[0])) {
        moved(e, c->args.at[0]);
        return;
    }
    if (from.bits < 8 || to.bits < 8 || sf.bits != st.bits) {
        tnk_emit_fail(e, c->base.loc, "reinterpret from %s to %s has no form in source",
                      tnb_dtype_print(from).s, tnb_dtype_print(to).s);
        return;
    }
    /* scalars through a union; GNU vectors of one size are cast by their bits */
    const char *f = !e->d->gnu_vectors ? tn_strf(e->ctx, "as_%s", tnk_c_type(e, st))
                    : from.lanes > 1
                        ? tn_strf(e->ctx, "(%s)", tnk_c_type(e, st))
                        : tn_strf(e->ctx, "tk_bits_%s_%s", tnk_short_name(sf), tnk_short_name(st));
    if (from.lanes == 1 && e->d->gnu_vectors && tnk_once(e, f))
        tnb_buf_printf(
            &e->src->helpers,
            "%s %s %s(%s x)\n{\n    union { %s a; %s b; } u;\n    u.a = x;\n    return u.b;\n}\n",
            e->d->inline_, tnk_c_type(e, st), f, tnk_c_type(e, sf), tnk_c_type(e, sf),
            tnk_c_type(e, st));
    bool narrow = tnb_dtype_is_float(from) && from.bits <= 16,
         widen = tnb_dtype_is_float(to) && to.bits <= 16;
    tnb_buf_printf(e->out, "%s%s%s(", widen ? tnk_help_widen(e, to) : "", widen ? "(" : "", f);
    if (narrow)
        tnb_buf_printf(e->out, "%s(", tnk_help_narrow(e, from));
    ex(e, c->args.at[0]);
    put(e, narrow ? "))" : ")");
    if (widen)
        put(e, ")");
}

/* ---- functions of the outside ---- */

/* The address of an element, or of what a pointer intrinsic says. */
static bool
address(tnk_emitter *e, const tn_expr *x)
{
    const tn_call *c = tn_as_call(x);
    if (tn_is_call_to(x, "tirx.address_of")) {
        const tn_buffer_load *l = tn_as_buffer_load(c->args.at[0]);
        const tnk_memory *m = l ? memory_of(e, l->buffer, x->loc) : NULL;
        if (!m || l->indices.n != 1 || m->packed || tn_dtype_of(l->indices.at[0]).lanes != 1)
            return false;
        put(e, "(");
        element_address(e, m, stored_dtype(tn_as_buffer(l->buffer), m), l->indices.at[0]);
        put(e, ")");
        return true;
    }
    /* type, data, offset, extent, mask */
    const tnk_memory *m = c->args.n == 5 ? tnb_ptrmap_get(&e->memory, c->args.at[1]) : NULL;
    if (!m || m->packed)
        return false;
    put(e, "(");
    element_address(e, m, m->elem, c->args.at[2]);
    put(e, ")");
    return true;
}

/* A function that no imported source has: declared as it is called. */
static void
declare_function(tnk_emitter *e, const char *name, const tn_call *c)
{
    tnb_dtype ret = tn_dtype_of(TN_NODE(c));
    if (e->d->id != TN_DIALECT_C || (e->src->helpers.s && strstr(e->src->helpers.s, name)) ||
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

static void
call(tnk_emitter *e, const tn_expr *x)
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
    if (n == 2 && !strcmp(name, "bitwise_and"))
        bit_operation(e, c, "&", d);
    else if (n == 2 && !strcmp(name, "bitwise_or"))
        bit_operation(e, c, "|", d);
    else if (n == 2 && !strcmp(name, "bitwise_xor"))
        bit_operation(e, c, "^", d);
    else if (n == 1 && !strcmp(name, "bitwise_not")) {
        tnb_buf_printf(e->out, d.lanes == 1 ? "((%s)" : "(", tnk_c_type(e, d));
        put(e, dt.code == TNB_BOOL ? "!" : "~");
        ex(e, a[0]);
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
        reinterpret(e, c);
    } else if (n && (!strcmp(name, "call_extern") || !strcmp(name, "call_pure_extern"))) {
        extern_call(e, c);
    } else if (n && (!strcmp(name, "address_of") || !strcmp(name, "tvm_access_ptr"))) {
        if (!address(e, x))
            tnk_emit_fail(e, x->loc, "the address %s has no form in source", tn_text(e->ctx, x));
    } else if (n == 0 && !strcmp(name, "infinity")) {
        float_literal(e, d, INFINITY);
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

static void
shuffle(tnk_emitter *e, const tn_shuffle *s)
{
    const char *f = tnk_help_shuffle(e, s);
    if (!f) {
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
        return !tn_is_call_to(x, "tirx.if_then_else") && !tn_is_call_to(x, "tirx.likely");
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
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(x));
    if (half_operator(e, x)) {
        put(e, d.lanes > 1 ? tn_strf(e->ctx, "convert_float%d(", d.lanes) : "convert_float(");
        half(e, x);
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
        float_literal(e, d, ((const tn_float_imm *)x)->value);
        return;
    case TN_KIND_CAST:
        cast(e, x);
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
        load(e, (const tn_buffer_load *)x);
        return;
    case TN_KIND_SHUFFLE:
        shuffle(e, (const tn_shuffle *)x);
        return;
    case TN_KIND_CALL:
        call(e, x);
        return;
    default:
        tnk_emit_fail(e, x->loc, "an expression of kind %s has no form in source",
                      tn_kinds[x->kind].name);
    }
}
