/* SPDX-License-Identifier: Apache-2.0 */
/* Operators over vectors: what can be said as one ramp or one broadcast becomes one. */
#include "simplify.h"

static const tn_expr *
ramp(tn_arith *a, const tn_expr *start, const tn_expr *stride, int64_t lanes)
{
    start = tn_simplify(a, start);
    stride = tn_simplify(a, stride);
    if (tn_is_int_const(stride, 0))
        return tn_broadcast_of(a->ctx, start, lanes);
    return tn_ramp_of(a->ctx, start, stride, lanes);
}

static const tn_expr *
broadcast(tn_arith *a, const tn_expr *v, int64_t lanes)
{
    return tn_broadcast_of(a->ctx, tn_simplify(a, v), lanes);
}

/* All lanes of r divided by c give one quotient. */
static bool
one_quotient(tn_arith *a, const tn_ramp *r, int64_t c)
{
    int64_t s, reach, lo, hi;
    tnb_dtype d = tn_dtype_of(r->start);
    if (!tn_int_value(r->stride, &s) || !tnb_mul_i64(s, r->lanes - 1, &reach))
        return false;
    const tn_poly *rem = tn_poly_split(a, d, tn_poly_of(a, r->start), 1, c);
    if (!rem)
        return false;
    tn_poly_bounds(a, rem, &lo, &hi);
    return hi != TN_POS_INF && lo != TN_NEG_INF && (reach < 0 ? lo >= -reach : hi < c - reach);
}

static const tn_expr *
ramp_divided(tn_arith *a, tn_kind kind, const tn_ramp *r, const tn_expr *by)
{
    tn_ctx *ctx = a->ctx;
    int64_t s, c;
    if (!tn_int_value(r->stride, &s) || !tn_int_value(by, &c) || c <= 0)
        return NULL;
    bool quotient = kind == TN_KIND_FLOOR_DIV;
    if (s % c == 0) {
        if (!quotient)
            return broadcast(a, tn_floormod(ctx, r->start, by), r->lanes);
        return ramp(a, tn_floordiv(ctx, r->start, by), tn_int_imm_of(ctx, tn_dtype_of(by), s / c),
                    r->lanes);
    }
    if (!one_quotient(a, r, c))
        return NULL;
    if (quotient)
        return broadcast(a, tn_floordiv(ctx, r->start, by), r->lanes);
    return ramp(a, tn_floormod(ctx, r->start, by), r->stride, r->lanes);
}

static const tn_expr *
vector_binary(tn_arith *a, const tn_expr *e, const tn_binary *b)
{
    tn_ctx *ctx = a->ctx;
    const tn_ramp *r = tn_as_ramp(b->a), *s = tn_as_ramp(b->b);
    const tn_broadcast *x = tn_as_broadcast(b->a), *y = tn_as_broadcast(b->b);
    if (x && y && x->lanes == y->lanes) {
        bool zero = tn_is_int_const(y->value, 0);
        return zero ? NULL
                    : broadcast(a, tn_raw_binary(ctx, e->kind, x->value, y->value), x->lanes);
    }
    switch (e->kind) {
    case TN_KIND_ADD:
        if (r && s)
            return ramp(a, tn_add(ctx, r->start, s->start), tn_add(ctx, r->stride, s->stride),
                        r->lanes);
        if (r && y)
            return ramp(a, tn_add(ctx, r->start, y->value), r->stride, r->lanes);
        return x && s ? ramp(a, tn_add(ctx, x->value, s->start), s->stride, s->lanes) : NULL;
    case TN_KIND_SUB:
        if (r && s)
            return ramp(a, tn_sub(ctx, r->start, s->start), tn_sub(ctx, r->stride, s->stride),
                        r->lanes);
        if (r && y)
            return ramp(a, tn_sub(ctx, r->start, y->value), r->stride, r->lanes);
        return x && s ? ramp(a, tn_sub(ctx, x->value, s->start), tn_neg(ctx, s->stride), s->lanes)
                      : NULL;
    case TN_KIND_MUL:
        if (r && y)
            return ramp(a, tn_mul(ctx, r->start, y->value), tn_mul(ctx, r->stride, y->value),
                        r->lanes);
        return x && s ? ramp(a, tn_mul(ctx, x->value, s->start), tn_mul(ctx, x->value, s->stride),
                             s->lanes)
                      : NULL;
    case TN_KIND_FLOOR_DIV:
    case TN_KIND_FLOOR_MOD:
        return r && y ? ramp_divided(a, e->kind, r, y->value) : NULL;
    default:
        return NULL;
    }
}

const tn_expr *
tn_simplify_vector(tn_arith *a, const tn_expr *e)
{
    const tn_binary *b = tn_as_binary(e);
    tnb_dtype d = b ? tn_dtype_of(b->a) : TNB_VOID;
    const tn_expr *r = NULL;
    bool both = b && tn_is(b->a, TN_KIND_BROADCAST) && tn_is(b->b, TN_KIND_BROADCAST);
    if (b && (both || (d.code == TNB_INT && d.bits >= 32)))
        r = vector_binary(a, e, b);
    return r ? r : e;
}
