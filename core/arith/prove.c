/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of polynomials and proofs of comparisons.
 *
 * Bounds are intervals of the atoms, added up. Where they are open, a proof of p >= 0 subtracts
 * known nonnegative polynomials (assumptions, symbolic ranges, and what holds of every quotient,
 * remainder, minimum and maximum) so that a term cancels, and asks again. The search is bounded in
 * depth and steps.
 */
#include "poly.h"

/* ---- saturating interval arithmetic; the two infinities are absorbing ---- */

/* `open` is the infinity that wins when both occur: TN_NEG_INF for lower bounds. */
static int64_t
sat_add(int64_t x, int64_t y, int64_t open)
{
    int64_t other = open == TN_NEG_INF ? TN_POS_INF : TN_NEG_INF, r;
    if (x == open || y == open)
        return open;
    if (x == other || y == other)
        return other;
    return tnb_add_i64(x, y, &r) ? r : x < 0 ? TN_NEG_INF : TN_POS_INF;
}

static int64_t
sat_mul(int64_t x, int64_t y)
{
    if (x == 0 || y == 0)
        return 0;
    int64_t r;
    bool open = x == TN_NEG_INF || x == TN_POS_INF || y == TN_NEG_INF || y == TN_POS_INF;
    if (!open && tnb_mul_i64(x, y, &r))
        return r;
    return (x < 0) == (y < 0) ? TN_POS_INF : TN_NEG_INF;
}

typedef struct span {
    int64_t lo, hi;
} span;

static span
span_mul(span x, span y)
{
    int64_t c[4] = {sat_mul(x.lo, y.lo), sat_mul(x.lo, y.hi), sat_mul(x.hi, y.lo),
                    sat_mul(x.hi, y.hi)};
    span r = {c[0], c[0]};
    for (int i = 1; i < 4; i++) {
        r.lo = c[i] < r.lo ? c[i] : r.lo;
        r.hi = c[i] > r.hi ? c[i] : r.hi;
    }
    return r;
}

static span
span_scale(int64_t c, span x)
{
    int64_t lo = sat_mul(c, x.lo), hi = sat_mul(c, x.hi);
    return c < 0 ? (span){hi, lo} : (span){lo, hi};
}

static int64_t
sat_floor_div(int64_t x, int64_t y) /* y > 0 */
{
    if (x == TN_NEG_INF || x == TN_POS_INF)
        return x;
    return tn_floor_div_i64(x, y);
}

static int64_t
min64(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t
max64(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* ---- bounds ---- */

static span
poly_span(tn_arith *a, const tn_poly *p);

static span
dtype_span(tnb_dtype d)
{
    if (d.code == TNB_BOOL)
        return (span){0, 1};
    if (d.code == TNB_UINT && d.bits < 63)
        return (span){0, (int64_t)(((uint64_t)1 << d.bits) - 1)};
    if (d.code == TNB_INT && d.bits < 32)
        return (span){-((int64_t)1 << (d.bits - 1)), ((int64_t)1 << (d.bits - 1)) - 1};
    return (span){d.code == TNB_UINT ? 0 : TN_NEG_INF, TN_POS_INF};
}

static span
expr_span(tn_arith *a, const tn_expr *e)
{
    tnb_dtype d = tn_dtype_of(e);
    int64_t v;
    if (tn_int_value(e, &v) && !(d.code == TNB_UINT && v < 0))
        return (span){v, v};
    if (tn_is_index_dtype(d))
        return poly_span(a, tn_number_of(a, e));
    return dtype_span(d);
}

static span
span_union(span x, span y)
{
    return (span){min64(x.lo, y.lo), max64(x.hi, y.hi)};
}

static span
opaque_span(tn_arith *a, const tn_expr *e)
{
    span open = {TN_NEG_INF, TN_POS_INF};
    const tn_select *s = tn_as_select(e);
    if (s)
        return span_union(expr_span(a, s->a), expr_span(a, s->b));
    const tn_cast *c = tn_as_cast(e);
    if (c) {
        span x = expr_span(a, c->value);
        tnb_dtype from = tn_dtype_of(c->value), to = tn_dtype_of(e);
        if (tnb_dtype_is_float(from))
            return open;
        /* a narrowing cast may wrap */
        if (to.bits >= 64 || (x.lo >= INT32_MIN && x.hi <= INT32_MAX))
            return x.hi == TN_POS_INF && from.code == TNB_UINT && from.bits == 64 ? open : x;
        return open;
    }
    const tn_call *call = tn_as_call(e);
    const tn_op *op = call ? tn_call_op_of(call) : NULL;
    if (!op || !(op->flags & TN_OP_SCALAR))
        return open;
    int64_t n;
    switch ((int)op->intrin) {
    case TN_INTRIN_if_then_else:
        return span_union(expr_span(a, call->args.at[1]), expr_span(a, call->args.at[2]));
    case TN_INTRIN_index_in: {
        span in = expr_span(a, call->args.at[1]);
        return (span){0, in.hi == TN_POS_INF ? in.hi : in.hi > 0 ? in.hi - 1 : 0};
    }
    case TN_INTRIN_bitwise_and:
        for (uint32_t i = 0; i < 2; i++) {
            span m = expr_span(a, call->args.at[i]);
            if (m.lo >= 0)
                return (span){0, m.hi};
        }
        return open;
    case TN_INTRIN_bitwise_xor:
    case TN_INTRIN_bitwise_or: {
        span x = expr_span(a, call->args.at[0]), y = expr_span(a, call->args.at[1]);
        int64_t most = max64(x.hi, y.hi), all = 0;
        if (x.lo < 0 || y.lo < 0 || most >= (int64_t)1 << 62)
            return open;
        while (all < most) /* the bits that either may have */
            all = 2 * all + 1;
        return (span){0, all};
    }
    case TN_INTRIN_shift_right:
        if (tn_int_value(call->args.at[1], &n) && n >= 0 && n < 62) {
            span x = expr_span(a, call->args.at[0]);
            return (span){sat_floor_div(x.lo, (int64_t)1 << n),
                          sat_floor_div(x.hi, (int64_t)1 << n)};
        }
        return open;
    default:
        return open;
    }
}

static span
structural_span(tn_arith *a, const tn_atom *t)
{
    span x = t->p ? poly_span(a, t->p) : (span){TN_NEG_INF, TN_POS_INF};
    span y = t->q ? poly_span(a, t->q) : x;
    switch (t->kind) {
    case TN_ATOM_SPLIT:
        if (t->u == 0)
            return (span){sat_floor_div(x.lo, t->l), sat_floor_div(x.hi, t->l)};
        if (x.lo >= 0 && x.hi < t->u)
            return (span){sat_floor_div(x.lo, t->l), sat_floor_div(x.hi, t->l)};
        return (span){0, t->u / t->l - 1};
    case TN_ATOM_DIV:
        if (y.lo >= 0 && x.lo >= 0) /* no program divides by 0 */
            return (span){0, sat_floor_div(x.hi, max64(y.lo, 1))};
        if (y.lo > 0)
            return (span){min64(x.lo, 0), max64(x.hi, -1)};
        return (span){TN_NEG_INF, TN_POS_INF};
    case TN_ATOM_MOD:
        if (y.lo > 0)
            return (span){0, x.lo >= 0 ? min64(x.hi, sat_add(y.hi, -1, TN_POS_INF))
                                       : sat_add(y.hi, -1, TN_POS_INF)};
        if (y.lo == 0) /* no program divides by 0 */
            return (span){0, min64(x.lo >= 0 ? x.hi : TN_POS_INF,
                                   sat_add(max64(y.hi, 1), -1, TN_POS_INF))};
        return (span){TN_NEG_INF, TN_POS_INF};
    case TN_ATOM_MIN:
        return (span){min64(x.lo, y.lo), min64(x.hi, y.hi)};
    case TN_ATOM_MAX:
        return (span){max64(x.lo, y.lo), max64(x.hi, y.hi)};
    case TN_ATOM_CAST:
        return x;
    case TN_ATOM_OPAQUE:
        return opaque_span(a, t->expr);
    default:
        return (span){TN_NEG_INF, TN_POS_INF};
    }
}

static span
atom_span(tn_arith *a, tn_atom *t)
{
    if (t->epoch == a->epoch)
        return (span){t->lo, t->hi};
    span s = {TN_NEG_INF, TN_POS_INF};
    if (!t->nested) {
        t->nested = true;
        s = structural_span(a, t);
        t->nested = false;
    }
    s.lo = max64(s.lo, t->known_lo);
    s.hi = min64(s.hi, t->known_hi);
    t->lo = s.lo;
    t->hi = s.hi;
    t->epoch = a->epoch;
    return s;
}

static span
mono_span(tn_arith *a, const tn_mono *m)
{
    if (m->n == 1)
        return atom_span(a, m->at[0]);
    span s = {1, 1};
    for (uint32_t i = 0; i < m->n; i++) {
        span x = atom_span(a, m->at[i]);
        uint32_t same = 1;
        for (; i + 1 < m->n && m->at[i + 1] == m->at[i]; i++, same++)
            ;
        span power = x;
        for (uint32_t k = 1; k < same; k++)
            power = span_mul(power, x);
        if (same % 2 == 0 && power.lo < 0)
            power.lo = 0;
        s = span_mul(s, power);
    }
    return s;
}

/* The span of p; those of its terms go to `each` unless that is NULL. */
static span
span_of_terms(tn_arith *a, const tn_poly *p, span *each)
{
    span s = {p->k, p->k};
    for (uint32_t i = 0; i < p->n; i++) {
        span m = span_scale(p->t[i].coef, mono_span(a, p->t[i].mono));
        if (each)
            each[i] = m;
        s.lo = sat_add(s.lo, m.lo, TN_NEG_INF);
        s.hi = sat_add(s.hi, m.hi, TN_POS_INF);
    }
    return s;
}

static span
poly_span(tn_arith *a, const tn_poly *p)
{
    return span_of_terms(a, p, NULL);
}

void
tn_poly_bounds(tn_arith *a, const tn_poly *p, int64_t *lo, int64_t *hi)
{
    span s = poly_span(a, p);
    *lo = s.lo;
    *hi = s.hi;
}

static span
within(span x, int64_t most)
{
    return (span){max64(x.lo, -most - 1), min64(x.hi, most)};
}

/* Extents and loop variables are taken not to overflow; where their bounds are open, sums of them are counted with
 * half of the range. */
bool
tn_poly_may_wrap(tn_arith *a, const tn_poly *p, tnb_dtype d)
{
    if (!p->data || (p->n == 1 && p->k == 0 && p->t[0].coef == 1 && p->t[0].mono->n == 1))
        return false;
    int64_t most = d.bits <= 32 ? INT32_MAX : INT64_MAX;
    span data = {p->k, p->k}, rest = {0, 0};
    for (uint32_t i = 0; i < p->n; i++) {
        const tn_mono *m = p->t[i].mono;
        span x = {p->t[i].coef, p->t[i].coef}, *sum = &rest;
        for (uint32_t j = 0; j < m->n; j++) {
            const tn_atom *t = m->at[j];
            x = span_mul(x, within(atom_span(a, m->at[j]),
                                   t->dtype.bits <= 32 ? INT32_MAX : INT64_MAX));
            if (t->data)
                sum = &data;
        }
        sum->lo = sat_add(sum->lo, x.lo, TN_NEG_INF);
        sum->hi = sat_add(sum->hi, x.hi, TN_POS_INF);
    }
    rest.lo = rest.lo == TN_NEG_INF ? -(most / 2) : rest.lo;
    rest.hi = rest.hi == TN_POS_INF ? most / 2 : rest.hi;
    data.lo = sat_add(data.lo, rest.lo, TN_NEG_INF);
    data.hi = sat_add(data.hi, rest.hi, TN_POS_INF);
    return data.lo == TN_NEG_INF || data.hi == TN_POS_INF || data.lo < -most - 1 || data.hi > most;
}

/* ---- proofs ---- */

enum { MAX_STEPS = 160, MAX_DEPTH = 5, MAX_DEGREE = 8, MAX_ROUNDED = 8, FEW = 12 };

static bool
prove_ge0(tn_arith *a, const tn_poly *p, int depth);

/* Tries f >= 0 on the term `t` of p: p*|cf| - f*M*|cp| >= 0 with M >= 0 implies p >= 0. As p is an
 * integer, c*p + c - 1 >= 0 is enough for c*p >= 0. */
static bool
use_fact(tn_arith *a, const tn_poly *p, const tn_term *t, const tn_poly *f, int depth)
{
    for (uint32_t j = 0; j < f->n; j++) {
        tn_atom *rest[MAX_DEGREE];
        uint32_t n;
        const tn_term *ft = &f->t[j];
        if ((ft->coef < 0) != (t->coef < 0) || t->mono->n > MAX_DEGREE ||
            !tn_mono_quotient(t->mono, ft->mono, rest, &n))
            continue;
        const tn_poly *g = f;
        if (n) {
            tn_term one = {1, tn_mono_of(a, rest, n)};
            if (mono_span(a, one.mono).lo < 0)
                continue;
            g = tn_poly_mul(a, f, tn_poly_of_terms(a, 0, &one, 1));
        }
        int64_t cp = t->coef < 0 ? -t->coef : t->coef, cf = ft->coef < 0 ? -ft->coef : ft->coef;
        int64_t x = cf, y = cp;
        while (y) {
            int64_t r = x % y;
            x = y;
            y = r;
        }
        const tn_poly *next = tn_poly_lin(a, cf / x, p, -(cp / x), g);
        next = tn_poly_add_const(a, next, cf / x - 1);
        if (!next || a->budget-- <= 0)
            return false;
        if (prove_ge0(a, next, depth + 1))
            return true;
    }
    return false;
}

/* p without its term `t`. */
static const tn_poly *
without(tn_arith *a, const tn_poly *p, const tn_term *t)
{
    tn_term gone = {-t->coef, t->mono};
    return tn_poly_lin(a, 1, p, 1, &(tn_poly){.n = 1, .t = &gone});
}

/* r + x div y >= 0 if x + r * y >= 0; r - x div y >= 0 if (r + 1) * y - 1 - x >= 0. y > 0. */
static bool
whole_quotient(tn_arith *a, const tn_poly *p, const tn_term *t, const tn_atom *at, int depth)
{
    if (t->mono->n != 1 || (t->coef != 1 && t->coef != -1))
        return false;
    const tn_poly *r = without(a, p, t);
    bool less = t->coef < 0;
    r = tn_poly_mul(a, less ? tn_poly_add_const(a, r, 1) : r, at->q);
    r = tn_poly_lin(a, 1, r, less ? -1 : 1, at->p);
    return r && a->budget-- > 0 && prove_ge0(a, less ? tn_poly_add_const(a, r, -1) : r, depth + 1);
}

/* What always holds of an atom, used on term `t` of p. No program divides by 0. */
static bool
use_atom(tn_arith *a, const tn_poly *p, const tn_term *t, tn_atom *at, int depth)
{
    if (at->kind == TN_ATOM_VAR || at->kind == TN_ATOM_CAST || at->kind == TN_ATOM_OPAQUE)
        return false;
    /* what holds of these bounds them from one side: it is of no use to a term that is the atom alone and of the other sign */
    if (t->mono->n == 1 &&
        (at->kind == TN_ATOM_MIN || at->kind == TN_ATOM_MOD || at->kind == TN_ATOM_MAX) &&
        (at->kind == TN_ATOM_MAX) == (t->coef < 0))
        return false;
    const tn_poly *self = tn_poly_atom(a, at), *f[2] = {NULL, NULL};
    switch (at->kind) {
    case TN_ATOM_SPLIT:
        if (at->u == 0) { /* l*s <= x <= l*s + l - 1 */
            f[0] = tn_poly_lin(a, 1, at->p, -at->l, self);
            f[1] = tn_poly_add_const(a, tn_poly_lin(a, at->l, self, -1, at->p), at->l - 1);
        } else if (poly_span(a, at->p).lo >= 0) { /* l*s <= x */
            f[0] = tn_poly_lin(a, 1, at->p, -at->l, self);
        }
        break;
    case TN_ATOM_DIV: {
        if (poly_span(a, at->q).lo < 0)
            break;
        if (whole_quotient(a, p, t, at, depth))
            return true;
        const tn_poly *back = tn_poly_mul(a, at->q, self);
        f[0] = tn_poly_lin(a, 1, at->p, -1, back);
        f[1] = tn_poly_lin(a, 1, tn_poly_lin(a, 1, back, -1, at->p), 1,
                           tn_poly_add_const(a, at->q, -1));
        break;
    }
    case TN_ATOM_MOD:
        if (poly_span(a, at->q).lo < 0)
            break;
        f[0] = tn_poly_add_const(a, tn_poly_lin(a, 1, at->q, -1, self), -1);
        if (poly_span(a, at->p).lo >= 0)
            f[1] = tn_poly_lin(a, 1, at->p, -1, self);
        break;
    case TN_ATOM_MIN:
        f[0] = tn_poly_lin(a, 1, at->p, -1, self);
        f[1] = tn_poly_lin(a, 1, at->q, -1, self);
        break;
    case TN_ATOM_MAX:
        f[0] = tn_poly_lin(a, 1, self, -1, at->p);
        f[1] = tn_poly_lin(a, 1, self, -1, at->q);
        break;
    default:
        break;
    }
    return (f[0] && use_fact(a, p, t, f[0], depth)) || (f[1] && use_fact(a, p, t, f[1], depth));
}

/* max(x, y) + r >= 0 needs one of the sides, min(x, y) + r >= 0 both. */
static bool
by_cases(tn_arith *a, const tn_poly *p, const tn_term *t, const tn_atom *at, int depth)
{
    if (t->mono->n != 1 || (at->kind != TN_ATOM_MIN && at->kind != TN_ATOM_MAX))
        return false;
    const tn_poly *rest = without(a, p, t);
    bool both = (at->kind == TN_ATOM_MIN) == (t->coef > 0);
    if (!rest || a->budget-- <= 0)
        return false;
    if (prove_ge0(a, tn_poly_lin(a, 1, rest, t->coef, at->p), depth + 1) != both)
        return !both;
    return prove_ge0(a, tn_poly_lin(a, 1, rest, t->coef, at->q), depth + 1);
}

/* With g a coefficient of p: terms that g divides count in steps of g, so the others, at their least, and the constant may be
 * rounded down to a multiple: 4*q - 4*s - v - 1 >= 0 with v <= 3 if q - s - 1 >= 0. */
static bool
by_rounding(tn_arith *a, const tn_poly *p, int depth)
{
    tn_term kept[MAX_ROUNDED];
    int64_t last = 0;
    for (uint32_t i = 0; i < p->n && p->n <= MAX_ROUNDED; i++) {
        int64_t g = p->t[i].coef, k = p->k;
        uint32_t n = 0;
        if (g == INT64_MIN || (g = g < 0 ? -g : g) <= 1 || g == last)
            continue;
        last = g;
        for (uint32_t j = 0; j < p->n; j++) {
            const tn_term *t = &p->t[j];
            if (t->coef % g == 0)
                kept[n++] = (tn_term){t->coef / g, t->mono};
            else
                k = sat_add(k, span_scale(t->coef, mono_span(a, t->mono)).lo, TN_NEG_INF);
        }
        if (n < 2 || k == TN_NEG_INF || (n == p->n && k % g == 0) || a->budget-- <= 0)
            continue;
        if (prove_ge0(a, tn_poly_of_terms(a, tn_floor_div_i64(k, g), kept, n), depth + 1))
            return true;
    }
    return false;
}

/* `each`: the spans of the terms. */
static bool
search(tn_arith *a, const tn_poly *p, const span *each, int depth)
{
    /* first the terms that pull the bound down, then the others */
    for (uint32_t i = 0; i < 2 * p->n; i++) {
        bool first = i < p->n;
        uint32_t at = first ? i : i - p->n;
        const tn_term *t = &p->t[at];
        if (t->coef == INT64_MIN || (each[at].lo < 0) != first)
            continue;
        for (uint32_t k = 0; k < a->facts.n && a->budget > 0; k++)
            if (!a->facts.at[k].nonzero && use_fact(a, p, t, a->facts.at[k].p, depth))
                return true;
        for (uint32_t j = 0; j < t->mono->n && a->budget > 0; j++)
            if (use_atom(a, p, t, t->mono->at[j], depth) ||
                by_cases(a, p, t, t->mono->at[j], depth))
                return true;
    }
    return depth < 2 && by_rounding(a, p, depth);
}

/* ---- proofs that failed ---- */

/* Passes ask the same under the same assumptions again and again, of every loop that they enter and every buffer that they look
 * at, and a search that finds nothing is the dear one: it is remembered, with the steps that it took, which are counted when it
 * is asked again, so that what is found does not depend on what was asked before. */

/* Where a question is, or goes. Its hash stands for it: were it that of another as well, a proof would not be found, which is
 * never wrong. */
static tn_failed *
find_failed(tn_arith *a, uint64_t key)
{
    uint32_t mask = a->failed.n_slots - 1, i = (uint32_t)key & mask;
    while (a->failed.at[i].key && a->failed.at[i].key != key)
        i = (i + 1) & mask;
    return &a->failed.at[i];
}

/* p >= 0 at this depth and under what is known. */
static uint64_t
question(const tn_arith *a, const tn_poly *p, int depth)
{
    uint64_t key = tn_poly_hash(tn_mix(a->learned, (uint64_t)depth), p);
    return key ? key : 1;
}

/* Whether this failed before, with steps left over, or for want of more than are left now. */
static bool
failed_before(tn_arith *a, uint64_t key)
{
    const tn_failed *f = a->failed.n ? find_failed(a, key) : NULL;
    if (!f || !f->key || (f->cost >= f->given && a->budget > f->given))
        return false;
    a->budget -= f->cost;
    return true;
}

static void
remember_failed(tn_arith *a, uint64_t key, int given)
{
    if (2 * a->failed.n >= a->failed.n_slots) {
        tn_failed *old = a->failed.at;
        uint32_t n = a->failed.n_slots;
        a->failed.n_slots = n ? 2 * n : 32;
        a->failed.at = TNB_NEW_N(a->arena, tn_failed, a->failed.n_slots);
        for (uint32_t i = 0; i < n; i++)
            if (old[i].key)
                *find_failed(a, old[i].key) = old[i];
    }
    tn_failed *f = find_failed(a, key);
    a->failed.n += !f->key;
    *f = (tn_failed){key, given, given - a->budget};
}

static bool
prove_ge0(tn_arith *a, const tn_poly *p, int depth)
{
    if (!p || p->impure)
        return false;
    span few[FEW], *each = p->n <= FEW ? few : TNB_NEW_N(a->arena, span, p->n);
    span s = span_of_terms(a, p, each);
    if (s.lo >= 0)
        return true;
    if (s.hi < 0 || depth >= MAX_DEPTH || p->n == 0)
        return false;
    uint64_t key = question(a, p, depth);
    if (failed_before(a, key))
        return false;
    int given = a->budget;
    if (search(a, p, each, depth))
        return true;
    remember_failed(a, key, given);
    return false;
}

bool
tn_poly_ge0(tn_arith *a, const tn_poly *p)
{
    if (!p || p->impure)
        return false;
    span s = poly_span(a, p);
    if (s.lo >= 0)
        return true;
    if (s.hi < 0 || a->proving >= 3) /* proofs that division asks for inside proofs stay shallow */
        return false;
    int saved = a->budget;
    a->budget = a->proving ? 16 : MAX_STEPS;
    a->proving++;
    bool ok = prove_ge0(a, p, 0);
    a->proving--;
    a->budget = saved;
    return ok;
}

/* p = coeff*j + base for every value: gcd of coefficients, with split pieces taken as they are. */
bool
tn_poly_ne0(tn_arith *a, const tn_poly *p)
{
    if (!p || p->impure)
        return false;
    span s = poly_span(a, p);
    if (s.lo > 0 || s.hi < 0)
        return true;
    if (p->n == 0)
        return p->k != 0;
    int64_t g = tn_poly_gcd(p);
    if (g > 1 && p->k % g != 0)
        return true;
    for (uint32_t i = 0; i < a->facts.n; i++) {
        if (!a->facts.at[i].nonzero)
            continue;
        const tn_poly *f = a->facts.at[i].p;
        const tn_poly *minus = tn_poly_lin(a, -1, f, 0, f);
        if (tn_poly_same(f, p) || (minus && tn_poly_same(minus, p)))
            return true;
    }
    if (tn_poly_ge0(a, tn_poly_add_const(a, p, -1)))
        return true;
    const tn_poly *n = tn_poly_lin(a, -1, p, 0, p);
    return n && tn_poly_ge0(a, tn_poly_add_const(a, n, -1));
}

static bool
prove_le0(tn_arith *a, const tn_poly *p)
{
    return p && tn_poly_ge0(a, tn_poly_lin(a, -1, p, 0, p));
}

static bool
prove_gt0(tn_arith *a, const tn_poly *p)
{
    return p && tn_poly_ge0(a, tn_poly_add_const(a, p, -1));
}

static bool
prove_lt0(tn_arith *a, const tn_poly *p)
{
    return p && prove_gt0(a, tn_poly_lin(a, -1, p, 0, p));
}

int
tn_poly_decide(tn_arith *a, tn_kind kind, const tn_poly *diff)
{
    if (!diff || diff->impure)
        return -1;
    switch (kind) {
    case TN_KIND_LT:
        return prove_lt0(a, diff) ? 1 : tn_poly_ge0(a, diff) ? 0 : -1;
    case TN_KIND_LE:
        return prove_le0(a, diff) ? 1 : prove_gt0(a, diff) ? 0 : -1;
    case TN_KIND_GT:
        return prove_gt0(a, diff) ? 1 : prove_le0(a, diff) ? 0 : -1;
    case TN_KIND_GE:
        return tn_poly_ge0(a, diff) ? 1 : prove_lt0(a, diff) ? 0 : -1;
    case TN_KIND_EQ:
        if (diff->n == 0)
            return diff->k == 0;
        if (tn_poly_ne0(a, diff))
            return 0;
        return tn_poly_ge0(a, diff) && prove_le0(a, diff) ? 1 : -1;
    case TN_KIND_NE: {
        int eq = tn_poly_decide(a, TN_KIND_EQ, diff);
        return eq < 0 ? -1 : !eq;
    }
    default:
        return -1;
    }
}

int
tn_compare_decide(tn_arith *a, const tn_expr *compare)
{
    const tn_binary *b = tn_as_binary(compare);
    tnb_dtype d = tn_dtype_of(b->a);
    const tn_poly *p = tn_number_of(a, b->a);
    const tn_poly *diff = tn_poly_lin(a, 1, p, -1, tn_number_of(a, b->b));
    return diff ? tn_poly_decide(a, compare->kind, tn_poly_join(a, d, diff)) : -1;
}

/* ---- assumptions ---- */

void
tn_arith_add_fact(tn_arith *a, const tn_poly *p, bool nonzero)
{
    if (!p)
        return;
    tn_fact f = {p, nonzero};
    TNB_PUSH(a->arena, a->facts, f);
    a->learned = tn_poly_hash(tn_mix(a->learned, 3 + nonzero), p);
}

static void
add_fact(tn_arith *a, const tn_poly *p, bool nonzero)
{
    if (!p || p->impure)
        return;
    if (p->n == 1 && p->t[0].mono->n == 1 && !nonzero && p->t[0].coef != INT64_MIN &&
        p->k != INT64_MIN) {
        /* c*x + k >= 0 is a bound of x */
        tn_atom *t = p->t[0].mono->at[0];
        tn_known old = {t, t->known_lo, t->known_hi};
        int64_t c = p->t[0].coef;
        TNB_PUSH(a->arena, a->undo, old);
        tn_arith_learn(a, t->id, (uint64_t)c, (uint64_t)p->k);
        if (c > 0)
            t->known_lo = max64(t->known_lo, -tn_floor_div_i64(p->k, c));
        else
            t->known_hi = min64(t->known_hi, tn_floor_div_i64(p->k, -c));
        a->epoch++;
        return;
    }
    if (p->n == 0)
        return;
    tn_arith_add_fact(a, p, nonzero);
    a->epoch++;
}

void
tn_arith_assume(tn_arith *a, const tn_expr *e)
{
    const tn_binary *b = tn_as_binary(e);
    if (b && e->kind == TN_KIND_AND) {
        tn_arith_assume(a, b->a);
        tn_arith_assume(a, b->b);
        return;
    }
    if (b && tn_is_compare(e->kind) && tn_is_index_dtype(tn_dtype_of(b->a))) {
        const tn_poly *d = tn_poly_lin(a, 1, tn_number_of(a, b->a), -1, tn_number_of(a, b->b));
        const tn_poly *n = d ? tn_poly_lin(a, -1, d, 0, d) : NULL;
        switch (e->kind) {
        case TN_KIND_LT:
            add_fact(a, tn_poly_add_const(a, n, -1), false);
            return;
        case TN_KIND_LE:
            add_fact(a, n, false);
            return;
        case TN_KIND_GT:
            add_fact(a, tn_poly_add_const(a, d, -1), false);
            return;
        case TN_KIND_GE:
            add_fact(a, d, false);
            return;
        case TN_KIND_EQ:
            add_fact(a, d, false);
            add_fact(a, n, false);
            return;
        default:
            add_fact(a, d, true);
            return;
        }
    }
    const tn_unary *u = tn_as_unary(e);
    if (u && e->kind == TN_KIND_NOT) {
        TNB_PUSH(a->arena, a->falses, u->a);
        tn_arith_learn(a, 1, (uintptr_t)u->a, 0);
        return;
    }
    if (!tn_is(e, TN_KIND_INT_IMM)) {
        TNB_PUSH(a->arena, a->conds, e);
        tn_arith_learn(a, 2, (uintptr_t)e, 0);
    }
}
