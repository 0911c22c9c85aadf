/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses to memory: loads, stores, addresses; values that move as they lie there. */
#include "emit_private.h"

#include <math.h>

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

/* The hooks of the dialect write accesses to what is no pointer. */
static bool
has_pointer(tnk_emitter *e, const tnk_memory *m, tn_loc loc)
{
    bool reached = !m->type || e->d->element;
    if (!reached)
        tnk_emit_fail(e, loc,
                      "this access to '%s', a parameter of type %s, has no form in %s source",
                      m->name, m->type, e->d->base.name);
    return reached;
}

/* The dtype in memory of elements of `buffer`, one lane. */
static tnb_dtype
stored_dtype(const tn_buffer *b, const tnk_memory *m)
{
    tnb_dtype d = with_lanes(b->dtype, 1);
    tnb_dtype s = tnk_storage_dtype(d), c = tnk_compute_dtype(d);
    if (tnb_dtype_is_int(d) && d.bits < 8)
        return m->packed ? s : c;
    return tnb_dtype_eq(with_lanes(m->elem, 1), c) && !tnb_dtype_is_bool(d) ? c : s;
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

/* An index, or a vector of them, with the bits that helpers take. */
static void
wide_index(tnk_emitter *e, const tn_expr *index)
{
    tnb_dtype wide = {TNB_INT, tnk_index_bits(e), tn_dtype_of(index).lanes};
    bool already = wide.lanes == 1 || tn_dtype_of(index).bits == wide.bits;
    if (!already)
        put(e, tnk_convert_open(e, tn_dtype_of(index), wide));
    ex(e, index);
    if (!already)
        put(e, tnk_convert_close(e, wide));
}

/* The elements as stored. */
static void
load_raw(tnk_emitter *e, const tn_node *buffer, const tnk_memory *m, tnb_dtype s,
         const tn_expr *index)
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
    } else if (r && tn_is_int_const(r->stride, 1) && e->d->structs) {
        const char *type = tnk_c_type(e, v);
        bool whole = tnk_is_whole_access(e, buffer, v, r->start);
        if (whole)
            tnb_buf_printf(e->out, "(*(const %s%s *)", m->space, type);
        else
            tnb_buf_printf(e->out, "%s(", tnk_help_strided_load(e, v, m->space));
        element_address(e, m, s, r->start);
        put(e, whole ? ")" : ", 1)");
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
same_bits(tnk_emitter *e, tnb_dtype from, tnb_dtype d)
{
    return d.lanes > 1 ? tnk_bits_open(e, from, d) : tn_strf(e->ctx, "((%s)", tnk_c_type(e, d));
}

/* The index of an access as one of scalar elements; NULL after an error. An element that is a vector lies side by side with the
 * others; with the hook `element` it is one. */
static const tn_expr *
scalar_index(tnk_emitter *e, const tn_buffer *b, const tnk_memory *m, const tn_expr *i, tn_loc loc)
{
    tn_ctx *ctx = e->ctx;
    const tn_ramp *r = tn_as_ramp(i);
    int64_t lanes = b->dtype.lanes, many = tn_dtype_of(i).lanes;
    if (e->d->element ? many == 1 && !m->packed : lanes == 1)
        return i;
    if (e->d->element)
        tnk_emit_fail(e, loc,
                      "several elements of '%s' are accessed at once, which %s source has no form "
                      "for: is LowerVectorAccess in the target's list?",
                      b->name, e->d->base.name);
    else if (m->packed || (many > 1 && !(r && tn_is_int_const(r->stride, 1))))
        tnk_emit_fail(e, loc, "this access to elements of %s of buffer '%s' has no form in source",
                      tnb_dtype_print(b->dtype).s, b->name);
    else
        return tn_ramp_of(ctx,
                          tn_mul(ctx, r ? r->start : i,
                                 tn_int_imm_of(ctx, tn_dtype_of(r ? r->start : i), lanes)),
                          tn_int_imm_of(ctx, tn_dtype_of(r ? r->start : i), 1), lanes * many);
    return NULL;
}

/* The element, a vector too, in a language without pointers. */
static bool
own_element(tnk_emitter *e, const tn_node *buffer, const tn_expr *at)
{
    if (e->d->element)
        (void)TNK_HOOK(e->src, "element", (e->d->element(e, buffer, at), 0));
    return e->d->element != NULL;
}

void
tnk_emit_raw_load(tnk_emitter *e, const tn_buffer_load *l, tnb_dtype s)
{
    const tnk_memory *m = memory_of(e, l->buffer, l->base.loc);
    const tn_expr *at =
        m ? scalar_index(e, tn_as_buffer(l->buffer), m, l->indices.at[0], l->base.loc) : NULL;
    if (at && (m->promoted || !own_element(e, l->buffer, at)))
        load_raw(e, l->buffer, m, s, at);
}

void
tnk_emit_load(tnk_emitter *e, const tn_buffer_load *l)
{
    const tnk_memory *m = memory_of(e, l->buffer, l->base.loc);
    if (!m || !has_pointer(e, m, l->base.loc) || l->indices.n != 1)
        return;
    const tn_buffer *b = tn_as_buffer(l->buffer);
    tnb_dtype d = with_lanes(b->dtype, 1), s = stored_dtype(b, m);
    const tn_expr *at = scalar_index(e, b, m, l->indices.at[0], l->base.loc);
    if (!at)
        return;
    uint16_t n = tn_dtype_of(TN_NODE(l)).lanes;
    bool convert = !tnb_dtype_eq(s, tnk_compute_dtype(d)) && tnb_dtype_is_float(d);
    if (convert)
        tnb_buf_printf(e->out, "%s(", tnk_help_widen(e, with_lanes(d, n)));
    bool sign = m->packed && d.code == TNB_INT;
    tnb_dtype c = with_lanes(tnk_compute_dtype(d), n);
    if (sign)
        tnb_buf_printf(e->out, "%s(%s", tnk_help_wrap(e, with_lanes(d, n)),
                       same_bits(e, with_lanes(s, n), c));
    if (m->promoted || !own_element(e, l->buffer, at))
        load_raw(e, l->buffer, m, s, at);
    if (convert || sign)
        put(e, sign ? "))" : ")");
}

/* The bits of a small float, if that is what is reinterpreted as one. */
static const tn_expr *
as_bits(const tn_expr *x)
{
    if (!tn_is_intrin(x, TN_INTRIN_reinterpret))
        return NULL;
    const tn_expr *v = ((const tn_call *)x)->args.at[0];
    tnb_dtype d = tn_dtype_of(x);
    return tnb_dtype_eq(tn_dtype_of(v), tnk_storage_dtype(d)) ? v : NULL;
}

bool
tnk_is_moved(tnk_emitter *e, const tn_expr *x)
{
    if (tn_is_intrin(x, TN_INTRIN_if_then_else)) {
        const tn_call *c = (const tn_call *)x;
        return tnk_is_moved(e, c->args.at[1]) && tnk_is_moved(e, c->args.at[2]);
    }
    if (x->kind == TN_KIND_BROADCAST)
        return tnk_is_moved(e, ((const tn_broadcast *)x)->value);
    if (x->kind == TN_KIND_FLOAT_IMM)
        return ((const tn_float_imm *)x)->value == 0 && !signbit(((const tn_float_imm *)x)->value);
    if (as_bits(x))
        return true;
    const tn_buffer_load *l = tn_as_buffer_load(x);
    const tnk_memory *m = l ? tnb_ptrmap_get(&e->memory, tn_as_buffer(l->buffer)->data) : NULL;
    return m && !m->packed && !m->type && !e->d->element &&
           stored_dtype(tn_as_buffer(l->buffer), m).code == TNB_UINT &&
           tn_as_buffer(l->buffer)->dtype.lanes == 1;
}

void
tnk_emit_moved(tnk_emitter *e, const tn_expr *x)
{
    tnb_dtype s = tnk_storage_dtype(tn_dtype_of(x));
    if (as_bits(x)) {
        ex(e, as_bits(x));
    } else if (x->kind == TN_KIND_CALL) {
        const tn_call *c = (const tn_call *)x;
        put(e, "(");
        ex(e, c->args.at[0]);
        put(e, " ? ");
        tnk_emit_moved(e, c->args.at[1]);
        put(e, " : ");
        tnk_emit_moved(e, c->args.at[2]);
        put(e, ")");
    } else if (x->kind == TN_KIND_BUFFER_LOAD) {
        tnk_emit_raw_load(e, (const tn_buffer_load *)x, with_lanes(s, 1));
    } else if (x->kind == TN_KIND_BROADCAST) {
        tnb_buf_printf(e->out, "%s(", tnk_help_broadcast(e, s));
        tnk_emit_moved(e, ((const tn_broadcast *)x)->value);
        put(e, ")");
    } else {
        put(e, "0");
    }
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
        put(e, tnk_bits_open(e, mask, unsigned_));
        put(e, tnk_op_open(e, "&", mask));
        tnk_emit_mask(e, value, 8);
        tnk_put_op(e, "&", mask);
        tnb_buf_printf(e->out, "%s)%s", tnk_one_mask(e, mask), tnk_bits_close(e, unsigned_));
        return;
    }
    if (tnb_dtype_is_float(d) && !tnb_dtype_eq(s, with_lanes(tnk_compute_dtype(d), 1))) {
        if (d.bits >= 8 && tnb_dtype_eq(tn_dtype_of(value), d) && tnk_is_moved(e, value)) {
            tnk_emit_moved(e, value);
            return;
        }
        if (tnk_native_half(e, d) && tnb_dtype_eq(tn_dtype_of(value), d)) {
            put(e, n > 1 ? tn_strf(e->ctx, "as_ushort%d(", n) : "as_ushort(");
            tnk_emit_half(e, value);
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

const tnk_memory *
tnk_memory_of(tnk_emitter *e, const tn_node *buffer)
{
    return tnb_ptrmap_get(&e->memory, tn_as_buffer(buffer)->data);
}

tnb_dtype
tnk_stored_dtype(tnk_emitter *e, const tn_node *buffer)
{
    const tnk_memory *m = tnk_memory_of(e, buffer);
    const tn_buffer *b = tn_as_buffer(buffer);
    return m ? stored_dtype(b, m) : tnk_storage_dtype(with_lanes(b->dtype, 1));
}

void
tnk_emit_stored_value(tnk_emitter *e, const tn_buffer_store *st)
{
    stored_value(e, tn_as_buffer(st->buffer), tnk_stored_dtype(e, st->buffer), st->value);
}

/* The first scalar of an element. */
static const tn_expr *
of_scalars(tnk_emitter *e, const tn_node *buffer, const tn_expr *at)
{
    return tn_mul(e->ctx, at,
                  tn_int_imm_of(e->ctx, tn_dtype_of(at), tn_as_buffer(buffer)->dtype.lanes));
}

void
tnk_emit_address(tnk_emitter *e, const tn_node *buffer, const tn_expr *at)
{
    const tnk_memory *m = memory_of(e, buffer, buffer->loc);
    if (m)
        element_address(e, m, stored_dtype(tn_as_buffer(buffer), m), of_scalars(e, buffer, at));
}

void
tnk_emit_store(tnk_emitter *e, const tn_buffer_store *st)
{
    const tnk_memory *m = memory_of(e, st->buffer, st->base.loc);
    if (!m || !has_pointer(e, m, st->base.loc) || st->indices.n != 1)
        return;
    const tn_buffer *b = tn_as_buffer(st->buffer);
    const tn_expr *index = scalar_index(e, b, m, st->indices.at[0], st->base.loc);
    tnb_dtype s = stored_dtype(b, m);
    if (!index)
        return;
    if (!m->promoted && own_element(e, st->buffer, index)) {
        put(e, " = ");
        stored_value(e, b, s, st->value);
        put(e, ";\n");
        return;
    }
    uint16_t n = tn_dtype_of(index).lanes;
    tnb_dtype v = with_lanes(s, n);
    const tn_ramp *r = tn_as_ramp(index);
    if (m->packed) {
        tnb_buf_printf(e->out, "%s(%s, ", tnk_help_packed_store(e, m->packed, n, m->space),
                       m->name);
        wide_index(e, index);
        tnb_buf_printf(e->out, ", %s",
                       same_bits(e, with_lanes(tnk_compute_dtype(with_lanes(b->dtype, 1)), n),
                                 with_lanes(TNB_U8, n)));
        stored_value(e, b, s, st->value);
        put(e, "));\n");
        return;
    }
    bool whole =
        r && tn_is_int_const(r->stride, 1) && tnk_is_whole_access(e, st->buffer, v, r->start);
    if (m->promoted || n == 1 || whole) {
        if (m->promoted) {
            promoted_name(e, m, index);
        } else if (n == 1) {
            base(e, m, s);
            put(e, "[");
            ex(e, index);
            put(e, "]");
        } else if (!e->d->gnu_vectors && !e->d->structs) {
            put(e, tn_strf(e->ctx, "vstore%d(", n));
            stored_value(e, b, s, st->value);
            put(e, ", 0, ");
            element_address(e, m, s, r->start);
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

bool
tnk_emit_place(tnk_emitter *e, const tn_buffer_load *l, const char *front)
{
    const tnk_memory *m = memory_of(e, l->buffer, l->base.loc);
    if (!m || l->indices.n != 1 || m->packed || m->promoted || tn_dtype_of(TN_NODE(l)).lanes != 1 ||
        !has_pointer(e, m, l->base.loc))
        return false;
    put(e, front);
    if (!e->d->element)
        put(e, "&");
    if (!own_element(e, l->buffer, l->indices.at[0]))
        load_raw(e, l->buffer, m, stored_dtype(tn_as_buffer(l->buffer), m), l->indices.at[0]);
    return true;
}

bool
tnk_emit_pointer(tnk_emitter *e, const tn_expr *x)
{
    const tn_call *c = tn_as_call(x);
    if (tn_is_intrin(x, TN_INTRIN_address_of)) {
        const tn_buffer_load *l = tn_as_buffer_load(c->args.at[0]);
        const tnk_memory *m = l ? memory_of(e, l->buffer, x->loc) : NULL;
        if (!m || l->indices.n != 1 || m->packed || tn_dtype_of(l->indices.at[0]).lanes != 1)
            return false;
        put(e, "(");
        element_address(e, m, stored_dtype(tn_as_buffer(l->buffer), m),
                        of_scalars(e, l->buffer, l->indices.at[0]));
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
