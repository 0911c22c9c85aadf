/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of an expression over ranges of some variables, as expressions of the others.
 *
 * Interval arithmetic on polynomials: a term with a variable contributes its bound by the sign of
 * its coefficient, floor division is monotone, a remainder keeps its exact bounds when the whole
 * interval lies in one period and gets [0, u) otherwise.
 */
#include "simplify.h"

typedef struct interval {
    const tn_poly *lo, *hi;
} interval;

typedef struct scope {
    tn_arith *a;
    const tn_expr *const *vars;
    const interval *at;
    uint32_t n;
    tnb_dtype d;
    int depth;
} scope;

static bool
poly_interval(scope *s, const tn_poly *p, tnb_dtype d, interval *out);

static interval
point(const tn_poly *p)
{
    return (interval){p, p};
}

static const tn_poly *
min_max(scope *s, bool is_min, tnb_dtype d, const tn_poly *x, const tn_poly *y)
{
    tn_arith *a = s->a;
    const tn_expr *ex = tn_poly_emit(a, x, d), *ey = tn_poly_emit(a, y, d);
    if (!ex || !ey)
        return NULL;
    return tn_poly_of(a, is_min ? tn_min(a->ctx, ex, ey) : tn_max(a->ctx, ex, ey));
}

static bool
join(scope *s, tnb_dtype d, interval x, interval y, interval *out)
{
    out->lo = min_max(s, true, d, x.lo, y.lo);
    out->hi = min_max(s, false, d, x.hi, y.hi);
    return out->lo && out->hi;
}

static bool
split_interval(scope *s, const tn_atom *t, interval *out)
{
    tn_arith *a = s->a;
    interval x;
    if (!poly_interval(s, t->p, t->dtype, &x))
        return false;
    if (t->u) {
        /* exact when both ends lie in one period */
        const tn_poly *l = tn_poly_split(a, t->dtype, x.lo, t->u, 0);
        const tn_poly *h = tn_poly_split(a, t->dtype, x.hi, t->u, 0);
        const tn_poly *gap = tn_poly_lin(a, 1, h, -1, l);
        if (!gap || !tn_poly_is_const(gap) || gap->k != 0) {
            *out = (interval){tn_poly_const(a, 0), tn_poly_const(a, t->u / t->l - 1)};
            return true;
        }
    }
    out->lo = tn_poly_split(a, t->dtype, x.lo, t->l, t->u);
    out->hi = tn_poly_split(a, t->dtype, x.hi, t->l, t->u);
    return out->lo && out->hi;
}

static bool
symbolic_division(scope *s, const tn_atom *t, interval *out)
{
    tn_arith *a = s->a;
    interval x, y;
    if (!poly_interval(s, t->p, t->dtype, &x) || !poly_interval(s, t->q, t->dtype, &y) ||
        !tn_poly_ge0(a, tn_poly_add_const(a, y.lo, -1)))
        return false;
    if (t->kind == TN_ATOM_MOD) {
        out->lo = tn_poly_const(a, 0);
        out->hi = tn_poly_add_const(a, y.hi, -1);
        return out->hi != NULL;
    }
    bool nonneg = tn_poly_ge0(a, x.lo);
    if (!nonneg && !tn_poly_same(y.lo, y.hi))
        return false;
    out->lo = tn_poly_floordiv(a, t->dtype, x.lo, y.hi);
    out->hi = tn_poly_floordiv(a, t->dtype, x.hi, y.lo);
    return out->lo && out->hi;
}

static bool
expr_interval(scope *s, const tn_expr *e, interval *out)
{
    return tn_is_index_dtype(tn_dtype_of(e)) &&
           poly_interval(s, tn_poly_of(s->a, e), tn_dtype_of(e), out);
}

static bool
opaque_interval(scope *s, const tn_atom *t, interval *out)
{
    const tn_expr *e = t->expr;
    const tn_select *sel = tn_as_select(e);
    const tn_call *c = tn_as_call(e);
    interval x, y;
    if (sel)
        return expr_interval(s, sel->a, &x) && expr_interval(s, sel->b, &y) &&
               join(s, t->dtype, x, y, out);
    if (tn_is_intrin(e, TN_INTRIN_if_then_else))
        return expr_interval(s, c->args.at[1], &x) && expr_interval(s, c->args.at[2], &y) &&
               join(s, t->dtype, x, y, out);
    if (tn_is_intrin(e, TN_INTRIN_index_in) && expr_interval(s, c->args.at[1], &x) && x.hi) {
        *out = (interval){tn_poly_const(s->a, 0), tn_poly_add_const(s->a, x.hi, -1)};
        return true;
    }
    int64_t lo, hi;
    const tn_poly *self = tn_poly_of(s->a, e);
    tn_poly_bounds(s->a, self, &lo, &hi);
    if (lo == TN_NEG_INF || hi == TN_POS_INF)
        return false;
    *out = (interval){tn_poly_const(s->a, lo), tn_poly_const(s->a, hi)};
    return true;
}

static bool
atom_interval(scope *s, tn_atom *t, interval *out)
{
    tn_arith *a = s->a;
    if (!tn_atom_uses(a, t, s->vars, s->n)) {
        *out = point(tn_poly_atom(a, t));
        return true;
    }
    interval x, y;
    switch (t->kind) {
    case TN_ATOM_VAR:
        for (uint32_t i = 0; i < s->n; i++)
            if (s->vars[i] == t->expr)
                *out = s->at[i];
        return out->lo && out->hi;
    case TN_ATOM_SPLIT:
        return split_interval(s, t, out);
    case TN_ATOM_DIV:
    case TN_ATOM_MOD:
        return symbolic_division(s, t, out);
    case TN_ATOM_MIN:
    case TN_ATOM_MAX:
        if (!poly_interval(s, t->p, t->dtype, &x) || !poly_interval(s, t->q, t->dtype, &y))
            return false;
        out->lo = min_max(s, t->kind == TN_ATOM_MIN, t->dtype, x.lo, y.lo);
        out->hi = min_max(s, t->kind == TN_ATOM_MIN, t->dtype, x.hi, y.hi);
        return out->lo && out->hi;
    case TN_ATOM_CAST: {
        if (!poly_interval(s, t->p, t->from, &x))
            return false;
        const tn_expr *lo = tn_poly_emit(a, x.lo, t->from), *hi = tn_poly_emit(a, x.hi, t->from);
        if (!lo || !hi || t->from.bits > t->dtype.bits)
            return false;
        *out = (interval){tn_poly_of(a, tn_cast_to(a->ctx, t->dtype, lo)),
                          tn_poly_of(a, tn_cast_to(a->ctx, t->dtype, hi))};
        return true;
    }
    default:
        return opaque_interval(s, t, out);
    }
}

/* c * x * y for x the product so far (of any sign when it is a point) */
static bool
mul_interval(scope *s, interval x, interval y, interval *out)
{
    tn_arith *a = s->a;
    bool px = tn_poly_same(x.lo, x.hi), py = tn_poly_same(y.lo, y.hi);
    if (!px && py) {
        interval swap = x;
        x = y;
        y = swap;
        px = true;
        py = false;
    }
    if (px) {
        const tn_poly *neg = tn_poly_lin(a, -1, x.lo, 0, x.lo);
        bool up = py || tn_poly_ge0(a, x.lo), down = !up && neg && tn_poly_ge0(a, neg);
        if (!up && !down)
            return false;
        out->lo = tn_poly_mul(a, x.lo, up ? y.lo : y.hi);
        out->hi = tn_poly_mul(a, x.lo, up ? y.hi : y.lo);
    } else {
        if (!tn_poly_ge0(a, x.lo) || !tn_poly_ge0(a, y.lo))
            return false;
        out->lo = tn_poly_mul(a, x.lo, y.lo);
        out->hi = tn_poly_mul(a, x.hi, y.hi);
    }
    return out->lo && out->hi;
}

static bool
poly_interval(scope *s, const tn_poly *p, tnb_dtype d, interval *out)
{
    tn_arith *a = s->a;
    (void)d;
    if (!p || s->depth > 64)
        return false;
    s->depth++;
    interval sum = point(tn_poly_const(a, p->k));
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->n; i++) {
        interval f = point(tn_poly_const(a, 1));
        for (uint32_t j = 0; ok && j < p->t[i].mono->n; j++) {
            interval x = {NULL, NULL};
            ok = atom_interval(s, p->t[i].mono->at[j], &x) && mul_interval(s, f, x, &f);
        }
        int64_t c = p->t[i].coef;
        if (!ok)
            break;
        sum.lo = tn_poly_lin(a, 1, sum.lo, c, c > 0 ? f.lo : f.hi);
        sum.hi = tn_poly_lin(a, 1, sum.hi, c, c > 0 ? f.hi : f.lo);
        ok = sum.lo && sum.hi;
    }
    s->depth--;
    *out = sum;
    return ok;
}

bool
tn_interval(tn_arith *a, const tn_expr *e, const tn_expr *const *vars, const tn_expr *const *mins,
            const tn_expr *const *extents, uint32_t n, const tn_expr **lo, const tn_expr **hi)
{
    tnb_dtype d = tn_dtype_of(e);
    *lo = *hi = NULL;
    if (!tn_is_index_dtype(d))
        return false;
    interval *at = TNB_NEW_N(a->arena, interval, n), r;
    scope s = {a, vars, at, n, d, 0};
    for (uint32_t i = 0; i < n; i++) {
        tnb_dtype vd = tn_dtype_of(vars[i]);
        const tn_poly *min = tn_poly_of(a, tn_cast_to(a->ctx, vd, mins[i]));
        const tn_poly *ext = tn_poly_of(a, tn_cast_to(a->ctx, vd, extents[i]));
        at[i] = (interval){min, tn_poly_add_const(a, tn_poly_lin(a, 1, min, 1, ext), -1)};
        if (tn_poly_is_const(ext) && ext->k == 1)
            at[i].hi = min;
    }
    if (!poly_interval(&s, tn_poly_of(a, e), d, &r))
        return false;
    *lo = tn_poly_emit(a, tn_poly_join(a, d, r.lo), d);
    *hi = tn_poly_emit(a, tn_poly_join(a, d, r.hi), d);
    return *lo && *hi;
}
