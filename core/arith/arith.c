/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's interface: what is known of variables, proofs, bounds, modular sets, linear forms.
 */
#include "simplify.h"

#include <stdlib.h>

/* ---- what is known ---- */

tn_arith *
tn_arith_new(tn_ctx *ctx)
{
    tnb_arena *arena = tn_scratch(ctx);
    tn_arith *a = TNB_NEW(arena, tn_arith);
    a->ctx = ctx;
    a->arena = arena;
    tnb_ptrmap_init(&a->vars, arena);
    tnb_ptrmap_init(&a->values, arena);
    a->epoch = 1;
    tn_arith_forget(a);
    return a;
}

void
tn_arith_bounds_of_var(tn_arith *a, const tn_expr *var, int64_t lo, int64_t hi)
{
    if (!tn_is_var(var))
        return;
    tn_atom *t = tn_atom_var(a, var);
    t->known_lo = lo;
    t->known_hi = hi;
    tn_arith_learn(a, t->id, (uint64_t)lo, (uint64_t)hi);
    tn_arith_forget(a);
}

void
tn_arith_bind(tn_arith *a, const tn_expr *var, const tn_expr *value)
{
    if (!tn_is_var(var) || !tnb_dtype_is_int(tn_dtype_of(var)) || tn_dtype_of(var).lanes != 1)
        return;
    int64_t lo, hi;
    tn_bounds(a, value, &lo, &hi);
    bool data = tn_is_data(a, value);
    if (!data && lo == TN_NEG_INF && hi == TN_POS_INF)
        return;
    tn_atom *t = tn_atom_var(a, var);
    t->known_lo = lo;
    t->known_hi = hi;
    t->data = data;
    a->data_vars |= data;
    a->marked |= data;
    tn_arith_learn(a, t->id, (uint64_t)lo, (uint64_t)hi);
    tn_arith_forget(a);
}

void
tn_arith_shape_var(tn_arith *a, const tn_expr *var)
{
    if (!tn_is_var(var))
        return;
    tn_atom *t = tn_atom_var(a, var);
    if (t->known_lo < 0)
        t->known_lo = 0;
    tn_arith_learn(a, t->id, 0, 0);
    tn_arith_forget(a);
}

void
tn_arith_value(tn_arith *a, const tn_expr *var, const tn_expr *value)
{
    if (!tn_is_var(var) || var == value || tn_uses(value, var))
        return;
    tnb_dtype d = tn_dtype_of(var);
    if (!tnb_dtype_eq(d, tn_dtype_of(value)))
        value = tn_cast_to(a->ctx, d, value);
    tnb_ptrmap_set(&a->values, var, value);
    tn_arith_learn(a, (uintptr_t)var, (uintptr_t)value, 0);
    tn_arith_forget(a);
}

void
tn_arith_range(tn_arith *a, const tn_expr *var, const tn_expr *min, const tn_expr *extent)
{
    tnb_dtype d = tn_dtype_of(var);
    if (!tn_is_var(var) || !tn_is_index_dtype(d) || tn_is_error(min) || tn_is_error(extent))
        return;
    if (tn_is_int_const(extent, 1)) {
        tn_arith_value(a, var, min);
        return;
    }
    const tn_poly *lo = tn_poly_of(a, tn_cast_to(a->ctx, d, min));
    const tn_poly *hi =
        tn_poly_add_const(a, tn_poly_lin(a, 1, lo, 1, tn_poly_of(a, tn_cast_to(a->ctx, d, extent))),
                          -1);
    int64_t l, h, unused;
    tn_poly_bounds(a, lo, &l, &unused);
    h = TN_POS_INF;
    if (hi)
        tn_poly_bounds(a, hi, &unused, &h);
    tn_atom *t = tn_atom_var(a, var);
    if (!t->epoch && !t->ranged) {
        t->ranged = true;
        t->first_lo = l;
        t->first_hi = h;
    } else if (!t->ranged || t->first_lo != l || t->first_hi != h) {
        tn_arith_learn(a, t->id, (uint64_t)l, (uint64_t)h);
    }
    t->known_lo = l;
    t->known_hi = h;
    const tn_poly *self = tn_poly_atom(a, t);
    const tn_poly *above = lo->n ? tn_poly_lin(a, 1, self, -1, lo) : NULL;
    const tn_poly *below = hi && hi->n ? tn_poly_lin(a, 1, hi, -1, self) : NULL;
    tn_arith_add_fact(a, above, false);
    tn_arith_add_fact(a, below, false);
    tn_arith_forget(a);
}

/* ---- proofs ---- */

bool
tn_prove(tn_arith *a, const tn_expr *condition)
{
    int64_t v;
    if (!condition || tn_is_error(condition) || !tnb_dtype_is_bool(tn_dtype_of(condition)))
        return false;
    const tn_expr *c = tn_simplify(a, condition);
    if (tn_int_value(c, &v))
        return v != 0;
    const tn_binary *b = tn_as_binary(c);
    /* true, and only kept for an index in it that is looked at */
    if (a->checks && tn_is_compare(c->kind) && tn_is_index_dtype(tn_dtype_of(b->a)))
        return tn_compare_decide(a, c) == 1;
    if (tn_is(c, TN_KIND_AND))
        return tn_prove(a, b->a) && tn_prove(a, b->b);
    if (tn_is(c, TN_KIND_OR))
        return tn_prove(a, b->a) || tn_prove(a, b->b);
    return false;
}

bool
tn_prove_eq(tn_arith *a, const tn_expr *x, const tn_expr *y)
{
    if (x == y)
        return true;
    if (!x || !y || tn_is_error(x) || tn_is_error(y) || !tn_is_scalar(x) || !tn_is_scalar(y))
        return false;
    tnb_dtype dx = tn_dtype_of(x), dy = tn_dtype_of(y);
    if (!tn_is_index_dtype(dx) || !tn_is_index_dtype(dy)) {
        if (!tnb_dtype_eq(dx, dy))
            return false;
        return tn_equal(a->ctx, tn_simplify(a, x), tn_simplify(a, y), false, NULL);
    }
    tnb_dtype d = dx.bits >= dy.bits ? dx : dy;
    const tn_poly *p = tn_poly_of(a, tn_cast_to(a->ctx, d, x));
    const tn_poly *diff = tn_poly_lin(a, 1, p, -1, tn_poly_of(a, tn_cast_to(a->ctx, d, y)));
    if (diff && diff->data && diff->n)
        diff = tn_poly_lin(a, 1, tn_number_of(a, tn_cast_to(a->ctx, d, x)), -1,
                           tn_number_of(a, tn_cast_to(a->ctx, d, y)));
    return diff && tn_poly_decide(a, TN_KIND_EQ, tn_poly_join(a, d, diff)) == 1;
}

void
tn_bounds(tn_arith *a, const tn_expr *e, int64_t *lo, int64_t *hi)
{
    *lo = TN_NEG_INF;
    *hi = TN_POS_INF;
    if (!e || tn_is_error(e) || !tn_is_scalar(e))
        return;
    tnb_dtype d = tn_dtype_of(e);
    if (tn_is_index_dtype(d)) {
        tn_poly_bounds(a, tn_number_of(a, e), lo, hi);
    } else if (d.lanes == 1 && (tnb_dtype_is_int(d) || tnb_dtype_is_bool(d))) {
        int64_t v;
        bool wide = d.code == TNB_UINT && d.bits >= 63;
        if (tn_int_value(e, &v) && !(wide && v < 0)) {
            *lo = *hi = v;
        } else if (wide) {
            *lo = 0;
        } else if (d.code == TNB_INT) {
            *lo = -((int64_t)1 << (d.bits - 1));
            *hi = -1 - *lo;
        } else {
            *lo = 0;
            *hi = d.code == TNB_BOOL ? 1 : (int64_t)(((uint64_t)1 << d.bits) - 1);
        }
    }
}

/* ---- modular sets ---- */

typedef struct residue {
    int64_t coeff, base; /* coeff >= 0 */
} residue;

static int64_t
gcd2(int64_t x, int64_t y)
{
    uint64_t m = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, n = y < 0 ? 0 - (uint64_t)y : (uint64_t)y;
    while (n) {
        uint64_t r = m % n;
        m = n;
        n = r;
    }
    return m > INT64_MAX ? 1 : (int64_t)m;
}

static residue
reduce(int64_t coeff, int64_t base)
{
    return (residue){coeff, coeff ? base - tn_floor_div_i64(base, coeff) * coeff : base};
}

static residue
poly_residue(tn_arith *a, const tn_poly *p, int depth);

static residue
atom_residue(tn_arith *a, const tn_atom *t, int depth)
{
    residue any = {1, 0};
    if (t->known_lo == t->known_hi)
        return (residue){0, t->known_lo};
    if (depth > 8)
        return any;
    if (t->kind == TN_ATOM_CAST)
        return poly_residue(a, t->p, depth + 1);
    if (t->kind == TN_ATOM_SPLIT && t->l == 1) { /* x mod u */
        residue r = poly_residue(a, t->p, depth + 1);
        return reduce(gcd2(r.coeff, t->u), r.base);
    }
    if (t->kind == TN_ATOM_MIN || t->kind == TN_ATOM_MAX) {
        residue x = poly_residue(a, t->p, depth + 1), y = poly_residue(a, t->q, depth + 1);
        int64_t gap;
        if (!tnb_sub_i64(x.base, y.base, &gap))
            return any;
        return reduce(gcd2(gcd2(x.coeff, y.coeff), gap), x.base);
    }
    return any;
}

static residue
mul_residue(residue x, residue y)
{
    int64_t cc, cb, bc, bb;
    if (!tnb_mul_i64(x.coeff, y.coeff, &cc) || !tnb_mul_i64(x.coeff, y.base, &cb) ||
        !tnb_mul_i64(x.base, y.coeff, &bc) || !tnb_mul_i64(x.base, y.base, &bb))
        return (residue){1, 0};
    return reduce(gcd2(gcd2(cc, cb), bc), bb);
}

static residue
poly_residue(tn_arith *a, const tn_poly *p, int depth)
{
    residue s = {0, p->k};
    for (uint32_t i = 0; i < p->n; i++) {
        residue r = {0, p->t[i].coef};
        for (uint32_t j = 0; j < p->t[i].mono->n; j++)
            r = mul_residue(r, atom_residue(a, p->t[i].mono->at[j], depth));
        int64_t base;
        if (!tnb_add_i64(s.base, r.base, &base))
            return (residue){1, 0};
        s = reduce(gcd2(s.coeff, r.coeff), base);
    }
    return s;
}

void
tn_modular(tn_arith *a, const tn_expr *e, int64_t *coeff, int64_t *base)
{
    residue r = {1, 0};
    if (e && tn_is_index_dtype(tn_dtype_of(e)))
        r = poly_residue(a, tn_poly_of(a, e), 0);
    *coeff = r.coeff;
    *base = r.base;
}

/* ---- linear forms ---- */

bool
tn_linear(tn_arith *a, const tn_expr *e, const tn_expr *const *vars, uint32_t n,
          const tn_expr **coeffs, const tn_expr **rest)
{
    tnb_dtype d = tn_dtype_of(e);
    if (!tn_is_index_dtype(d))
        return false;
    const tn_poly *p = tn_poly_of(a, e), *r = tn_poly_const(a, p->k);
    const tn_poly **c = TNB_NEW_N(a->arena, const tn_poly *, n);
    for (uint32_t v = 0; v < n; v++)
        c[v] = tn_poly_const(a, 0);
    for (uint32_t i = 0; i < p->n; i++) {
        const tn_mono *m = p->t[i].mono;
        const tn_poly *f = tn_poly_const(a, p->t[i].coef);
        uint32_t which = n;
        for (uint32_t j = 0; j < m->n; j++) {
            uint32_t v = n;
            for (uint32_t k = 0; k < n && m->at[j]->kind == TN_ATOM_VAR; k++)
                if (vars[k] == m->at[j]->expr)
                    v = k;
            if (v < n && which == n) {
                which = v;
                continue;
            }
            if (v < n || tn_atom_uses(a, m->at[j], vars, n))
                return false;
            f = tn_poly_mul(a, f, tn_poly_atom(a, m->at[j]));
        }
        if (which < n)
            c[which] = tn_poly_lin(a, 1, c[which], 1, f);
        else
            r = tn_poly_lin(a, 1, r, 1, f);
        if (!f || !r || (which < n && !c[which]))
            return false;
    }
    for (uint32_t v = 0; v < n; v++)
        if (!(coeffs[v] = tn_poly_emit(a, c[v], d)))
            return false;
    return (*rest = tn_poly_emit(a, r, d)) != NULL;
}

/* ---- shortcuts ---- */

const tn_expr *
tn_simplify_now(tn_ctx *ctx, const tn_expr *e)
{
    if (!e || tn_is(e, TN_KIND_INT_IMM) || tn_is_var(e))
        return e;
    tn_arith *a = tn_arith_new(ctx);
    a->all_shape_vars = true;
    return tn_simplify(a, e);
}

bool
tn_prove_equal(tn_ctx *ctx, const tn_expr *x, const tn_expr *y)
{
    int64_t v, w;
    if (x == y)
        return true;
    if (tn_int_value(x, &v) && tn_int_value(y, &w))
        return v == w;
    tn_arith *a = tn_arith_new(ctx);
    a->all_shape_vars = true;
    return tn_prove_eq(a, x, y);
}

const tn_expr *
tn_product(tn_ctx *ctx, tn_list dims)
{
    const tn_expr *e = tn_i64(ctx, 1);
    for (uint32_t i = 0; i < dims.n; i++)
        e = tn_mul(ctx, e, dims.at[i]);
    return tn_simplify_now(ctx, e);
}
