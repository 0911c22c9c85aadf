/* SPDX-License-Identifier: Apache-2.0 */
/* Floor division and remainder of polynomials.
 *
 *     split(x, l, u) = (x mod u) div l        l > 0, u == 0 (no mod) or a multiple of l
 *
 * What is divisible is taken out, what is provably small vanishes, nested pieces collapse:
 *     (i*4 + j) div 16  ->  i div 4                 for 0 <= j < 4
 *     (x div 4) mod 8   ->  split(x, 4, 32)
 * and tn_poly_join puts pieces of one expression together again.
 */
#include "poly.h"

int64_t
tn_floor_div_i64(int64_t x, int64_t y)
{
    int64_t q = x / y;
    return x % y < 0 ? q - 1 : q;
}

static int64_t
gcd64(int64_t x, int64_t y)
{
    uint64_t a = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, b = y < 0 ? 0 - (uint64_t)y : (uint64_t)y;
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return (int64_t)a;
}

/* p = g*out + rest, rest holding the terms that g does not divide and p.k mod g. */
static bool
take_multiples(tn_arith *a, const tn_poly *p, int64_t g, const tn_poly **out, const tn_poly **rest)
{
    tn_term *m = TNB_NEW_N(a->arena, tn_term, p->n + 1),
            *r = TNB_NEW_N(a->arena, tn_term, p->n + 1);
    uint32_t nm = 0, nr = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->t[i].coef % g == 0)
            m[nm++] = (tn_term){p->t[i].coef / g, p->t[i].mono};
        else
            r[nr++] = p->t[i];
    }
    int64_t k = tn_floor_div_i64(p->k, g);
    *out = tn_poly_of_terms(a, k, m, nm);
    *rest = tn_poly_of_terms(a, p->k - k * g, r, nr);
    return *out && *rest;
}

/* Whether the terms of f are s times those of p; s is 1 or -1. */
static bool
same_terms(const tn_poly *f, const tn_poly *p, int64_t s)
{
    if (f->n != p->n)
        return false;
    for (uint32_t i = 0; i < p->n; i++)
        if (f->t[i].mono != p->t[i].mono || p->t[i].coef == INT64_MIN ||
            f->t[i].coef != s * p->t[i].coef)
            return false;
    return true;
}

/* Narrows bounds of p by what is assumed of the same sum: i*256 + j < n, the test of a last group. */
static void
bounds_by_facts(tn_arith *a, const tn_poly *p, int64_t *lo, int64_t *hi)
{
    for (uint32_t i = 0; i < a->facts.n; i++) {
        const tn_poly *f = a->facts.at[i].p; /* f >= 0 */
        int64_t bound;
        if (a->facts.at[i].nonzero)
            continue;
        if (same_terms(f, p, -1) && tnb_add_i64(f->k, p->k, &bound) && bound < *hi)
            *hi = bound;
        else if (same_terms(f, p, 1) && tnb_sub_i64(p->k, f->k, &bound) && bound > *lo)
            *lo = bound;
    }
}

/* Whether all values of p lie in one interval [*m * c, (*m + 1) * c). */
static bool
one_block(tn_arith *a, const tn_poly *p, int64_t c, int64_t *m)
{
    int64_t lo, hi;
    tn_poly_bounds(a, p, &lo, &hi);
    if (p->n > 1)
        bounds_by_facts(a, p, &lo, &hi);
    if (lo == TN_NEG_INF || hi == TN_POS_INF || lo > hi)
        return false;
    *m = tn_floor_div_i64(lo, c);
    return *m == tn_floor_div_i64(hi, c);
}

static const tn_poly *
split_atom(tn_arith *a, tnb_dtype d, const tn_poly *p, int64_t l, int64_t u)
{
    return tn_poly_atom(
        a, tn_atom_of(a, &(tn_atom){.kind = TN_ATOM_SPLIT, .dtype = d, .p = p, .l = l, .u = u}));
}

/* p is one split piece: piece mod u, or piece div l. NULL when nothing collapses. */
static const tn_poly *
split_nested(tn_arith *a, tnb_dtype d, const tn_poly *p, int64_t l, int64_t u)
{
    const tn_atom *t =
        p->n == 1 && p->t[0].coef == 1 && p->t[0].mono->n == 1 ? p->t[0].mono->at[0] : NULL;
    int64_t x;
    if (!t || t->kind != TN_ATOM_SPLIT)
        return NULL;
    if (p->k != 0) { /* (y div l2 + k) div l = (y + k*l2) div (l2*l) */
        int64_t shift;
        if (u != 0 || t->u != 0 || !tnb_mul_i64(p->k, t->l, &shift) || !tnb_mul_i64(t->l, l, &x))
            return NULL;
        const tn_poly *moved = tn_poly_add_const(a, t->p, shift);
        return moved ? tn_poly_split(a, d, moved, x, 0) : NULL;
    }
    if (u == 0) {
        if (!tnb_mul_i64(t->l, l, &x))
            return NULL;
        if (t->u == 0 || t->u % x == 0)
            return tn_poly_split(a, d, t->p, x, t->u);
        return NULL;
    }
    if (!tnb_mul_i64(t->l, u, &x) || !(t->u == 0 || t->u % x == 0))
        return NULL;
    int64_t lower;
    return tnb_mul_i64(t->l, l, &lower) ? tn_poly_split(a, d, t->p, lower, x) : NULL;
}

/* Looks for g with p = g*A + B and B inside one block of g: then only A matters to the outer part.
 */
static const tn_poly *
split_by_factor(tn_arith *a, tnb_dtype d, const tn_poly *p, int64_t l, int64_t u)
{
    enum { MAX_TRIED = 16 };
    int64_t tried[MAX_TRIED], whole = u ? u : l;
    int n = 0;
    for (uint32_t i = 0; i < p->n && n < MAX_TRIED; i++) {
        int64_t g = gcd64(p->t[i].coef, whole);
        bool seen = g <= 1;
        for (int j = 0; j < n && !seen; j++)
            seen = tried[j] == g;
        if (!seen)
            tried[n++] = g;
    }
    for (int done = 0; done < n; done++) { /* largest first */
        int best = done;
        for (int j = done; j < n; j++)
            if (tried[j] > tried[best])
                best = j;
        int64_t g = tried[best], m;
        tried[best] = tried[done];
        const tn_poly *outer, *inner;
        if (!take_multiples(a, p, g, &outer, &inner) || !one_block(a, inner, g, &m))
            continue;
        outer = tn_poly_add_const(a, outer, m);
        inner = tn_poly_add_const(a, inner, -m * g);
        if (!outer || !inner)
            continue;
        if (l % g == 0) { /* ((gA+B) mod u) div l = (A mod u/g) div (l/g) */
            if (g == 1)
                continue;
            return tn_poly_split(a, d, outer, l / g, u / g);
        }
        if (u == 0 || g % l != 0)
            continue;
        /* l divides g, g divides u: (g*(A mod u/g) + B) div l */
        const tn_poly *high = g == u ? tn_poly_const(a, 0) : tn_poly_split(a, d, outer, 1, u / g);
        const tn_poly *low = tn_poly_split(a, d, inner, l, 0);
        return tn_poly_lin(a, g / l, high, 1, low);
    }
    return NULL;
}

const tn_poly *
tn_poly_split(tn_arith *a, tnb_dtype d, const tn_poly *p, int64_t l, int64_t u)
{
    const tn_poly *q, *r, *s;
    int64_t m;
    if (!p)
        return NULL;
    if (u && l == u)
        return tn_poly_const(a, 0);
    if (u == 0) {
        if (l == 1)
            return p;
        if (!take_multiples(a, p, l, &q, &r))
            return NULL;
        if (one_block(a, r, l, &m))
            return tn_poly_add_const(a, q, m);
        s = split_nested(a, d, r, l, 0);
        if (!s)
            s = split_by_factor(a, d, r, l, 0);
        if (!s)
            s = split_atom(a, d, r, l, 0);
        return tn_poly_lin(a, 1, q, 1, s);
    }
    if (!take_multiples(a, p, u, &q, &r))
        return NULL;
    if (one_block(a, r, u, &m)) {
        int64_t off;
        if (!tnb_mul_i64(m, u, &off) || off == INT64_MIN)
            return NULL;
        return tn_poly_split(a, d, tn_poly_add_const(a, r, -off), l, 0);
    }
    tn_term *t = TNB_NEW_N(a->arena, tn_term, r->n + 1);
    bool changed = false;
    for (uint32_t i = 0; i < r->n; i++) {
        int64_t c = r->t[i].coef - tn_floor_div_i64(r->t[i].coef, u) * u;
        changed |= c != r->t[i].coef;
        t[i] = (tn_term){c, r->t[i].mono};
    }
    if (changed) {
        r = tn_poly_of_terms(a, r->k, t, r->n);
        if (!r)
            return NULL;
        if (one_block(a, r, u, &m) && m == 0)
            return tn_poly_split(a, d, r, l, 0);
    }
    s = split_nested(a, d, r, l, u);
    if (!s)
        s = split_by_factor(a, d, r, l, u);
    return s ? s : split_atom(a, d, r, l, u);
}

/* ---- symbolic divisors (taken to be nonzero, as division by zero is undefined) ---- */

/* p = out*q + rest for a divisor of one term, or one that p is a multiple of in its leading terms.
 */
static bool
take_symbolic(tn_arith *a, const tn_poly *p, const tn_poly *q, const tn_poly **out,
              const tn_poly **rest)
{
    enum { MAX_DEGREE = 8 };
    const tn_term *lead = NULL; /* the divisor's term of highest degree */
    for (uint32_t i = 0; i < q->n; i++)
        if (!lead || q->t[i].mono->n > lead->mono->n)
            lead = &q->t[i];
    const tn_poly *quotient = tn_poly_const(a, 0), *r = p;
    for (int steps = 0; lead && steps < 16; steps++) {
        bool found = false;
        for (uint32_t i = 0; i < r->n && !found; i++) {
            tn_atom *at[MAX_DEGREE];
            uint32_t n;
            const tn_term *t = &r->t[i];
            if (t->mono->n > MAX_DEGREE || t->coef == INT64_MIN || t->coef % lead->coef != 0 ||
                !tn_mono_quotient(t->mono, lead->mono, at, &n))
                continue;
            const tn_poly *f = tn_poly_const(a, t->coef / lead->coef);
            if (n) {
                tn_term one = {t->coef / lead->coef, tn_mono_of(a, at, n)};
                f = tn_poly_of_terms(a, 0, &one, 1);
            }
            const tn_poly *next = tn_poly_lin(a, 1, r, -1, tn_poly_mul(a, f, q));
            /* with several terms in q, only steps that make the rest shorter */
            if (!next || (q->n + (q->k != 0) > 1 && next->n + (next->k != 0) >= r->n + (r->k != 0)))
                continue;
            quotient = tn_poly_lin(a, 1, quotient, 1, f);
            r = next;
            found = true;
        }
        if (!quotient)
            return false;
        if (!found)
            break;
    }
    *out = quotient;
    *rest = r;
    return true;
}

const tn_poly *
tn_poly_div_exact(tn_arith *a, const tn_poly *p, const tn_poly *q)
{
    const tn_poly *out, *rest;
    if (!p || !q)
        return NULL;
    if (q->n == 0) {
        if (q->k == -1)
            return tn_poly_lin(a, -1, p, 0, p);
        if (q->k == 0 || p->k % q->k != 0)
            return NULL;
        for (uint32_t i = 0; i < p->n; i++)
            if (p->t[i].coef % q->k != 0)
                return NULL;
        tn_term *t = TNB_NEW_N(a->arena, tn_term, p->n + 1);
        for (uint32_t i = 0; i < p->n; i++)
            t[i] = (tn_term){p->t[i].coef / q->k, p->t[i].mono};
        return tn_poly_of_terms(a, p->k / q->k, t, p->n);
    }
    if (!take_symbolic(a, p, q, &out, &rest) || rest->n || rest->k)
        return NULL;
    return out;
}

/* 0 <= r < q for certain */
static bool
is_remainder(tn_arith *a, const tn_poly *r, const tn_poly *q)
{
    if (!tn_poly_ge0(a, r))
        return false;
    const tn_poly *gap = tn_poly_lin(a, 1, q, -1, r);
    return gap && tn_poly_ge0(a, tn_poly_add_const(a, gap, -1));
}

const tn_poly *
tn_poly_floordiv(tn_arith *a, tnb_dtype d, const tn_poly *p, const tn_poly *q)
{
    if (!p || !q)
        return NULL;
    if (q->n == 0) {
        if (q->k == 0 || q->k == INT64_MIN)
            return NULL;
        if (q->k < 0)
            return tn_poly_floordiv(a, d, tn_poly_lin(a, -1, p, 0, p), tn_poly_const(a, -q->k));
        return tn_poly_split(a, d, p, q->k, 0);
    }
    const tn_poly *out, *rest;
    if (!take_symbolic(a, p, q, &out, &rest))
        return NULL;
    if ((rest->n == 0 && rest->k == 0) || is_remainder(a, rest, q))
        return out;
    tn_atom key = {.kind = TN_ATOM_DIV, .dtype = d, .p = rest, .q = q};
    return tn_poly_lin(a, 1, out, 1, tn_poly_atom(a, tn_atom_of(a, &key)));
}

const tn_poly *
tn_poly_floormod(tn_arith *a, tnb_dtype d, const tn_poly *p, const tn_poly *q)
{
    if (!p || !q)
        return NULL;
    if (q->n == 0) {
        if (q->k == 0 || q->k == INT64_MIN)
            return NULL;
        if (q->k < 0) { /* p mod -c = -(-p mod c) */
            const tn_poly *r =
                tn_poly_floormod(a, d, tn_poly_lin(a, -1, p, 0, p), tn_poly_const(a, -q->k));
            return r ? tn_poly_lin(a, -1, r, 0, r) : NULL;
        }
        return tn_poly_split(a, d, p, 1, q->k);
    }
    const tn_poly *out, *rest;
    if (!take_symbolic(a, p, q, &out, &rest))
        return NULL;
    if ((rest->n == 0 && rest->k == 0) || is_remainder(a, rest, q))
        return rest;
    tn_atom key = {.kind = TN_ATOM_MOD, .dtype = d, .p = rest, .q = q};
    return tn_poly_atom(a, tn_atom_of(a, &key));
}

/* ---- joining ---- */

static const tn_atom *
split_term(const tn_term *t)
{
    return t->mono->n == 1 && t->mono->at[0]->kind == TN_ATOM_SPLIT ? t->mono->at[0] : NULL;
}

bool
tn_poly_congruent(tn_arith *a, const tn_poly *x, const tn_poly *y, int64_t m)
{
    const tn_poly *diff = tn_poly_lin(a, 1, x, -1, y);
    if (!diff || diff->k % m != 0)
        return false;
    for (uint32_t i = 0; i < diff->n; i++)
        if (diff->t[i].coef % m != 0)
            return false;
    return true;
}

/* c*M*(x mod q) + c*M*q*(x div q) = c*M*x, when p holds all of it; NULL: not here. */
static const tn_poly *
join_symbolic(tn_arith *a, const tn_poly *p, const tn_term *t)
{
    enum { MAX_DEGREE = 8 };
    const tn_atom *mod = NULL;
    tn_atom *others[MAX_DEGREE];
    uint32_t n = 0;
    if (t->mono->n > MAX_DEGREE)
        return NULL;
    for (uint32_t i = 0; i < t->mono->n; i++) {
        if (!mod && t->mono->at[i]->kind == TN_ATOM_MOD)
            mod = t->mono->at[i];
        else
            others[n++] = t->mono->at[i];
    }
    if (!mod || mod->impure)
        return NULL;
    tn_atom key = {.kind = TN_ATOM_DIV, .dtype = mod->dtype, .p = mod->p, .q = mod->q};
    const tn_poly *div = tn_poly_atom(a, tn_atom_of(a, &key)), *f = tn_poly_const(a, t->coef);
    if (n) {
        tn_term one = {t->coef, tn_mono_of(a, others, n)};
        f = tn_poly_of_terms(a, 0, &one, 1);
    }
    const tn_poly *part = tn_poly_mul(a, f, tn_poly_mul(a, mod->q, div));
    if (!part)
        return NULL;
    for (uint32_t i = 0; i < part->n; i++) {
        bool found = false;
        for (uint32_t j = 0; j < p->n && !found; j++)
            found = p->t[j].mono == part->t[i].mono && p->t[j].coef == part->t[i].coef;
        if (!found)
            return NULL;
    }
    const tn_poly *mine = tn_poly_of_terms(a, 0, t, 1);
    const tn_poly *rest = tn_poly_lin(a, 1, tn_poly_lin(a, 1, p, -1, part), -1, mine);
    return tn_poly_lin(a, 1, rest, 1, tn_poly_mul(a, f, mod->p));
}

static const tn_poly *
join_once(tn_arith *a, tnb_dtype d, const tn_poly *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const tn_atom *x = split_term(&p->t[i]);
        const tn_poly *j = x ? NULL : join_symbolic(a, p, &p->t[i]);
        if (j)
            return j;
        if (!x || x->u == 0 || x->impure)
            continue;
        for (uint32_t k = 0; k < p->n; k++) {
            const tn_atom *y = k == i ? NULL : split_term(&p->t[k]);
            int64_t ratio = x->u / x->l, want;
            if (!y || y->l != x->u || !tnb_mul_i64(p->t[i].coef, ratio, &want) ||
                want != p->t[k].coef || !tn_poly_congruent(a, x->p, y->p, x->u))
                continue;
            tn_term pair[2] = {p->t[i], p->t[k]};
            const tn_poly *rest = tn_poly_lin(a, 1, p, -1, tn_poly_of_terms(a, 0, pair, 2));
            const tn_poly *whole = tn_poly_split(a, d, y->p, x->l, y->u);
            return tn_poly_lin(a, 1, rest, p->t[i].coef, whole);
        }
    }
    return NULL;
}

const tn_poly *
tn_poly_join(tn_arith *a, tnb_dtype d, const tn_poly *p)
{
    enum { MAX_PIECES = 64 };
    uint32_t pieces = 0;
    for (uint32_t i = 0; p && i < p->n; i++)
        for (uint32_t j = 0; j < p->t[i].mono->n; j++) {
            uint8_t kind = p->t[i].mono->at[j]->kind;
            pieces += kind == TN_ATOM_SPLIT || kind == TN_ATOM_MOD;
        }
    if (pieces == 0 || pieces > MAX_PIECES)
        return p;
    for (uint32_t rounds = 0; rounds < pieces; rounds++) {
        const tn_poly *j = join_once(a, d, p);
        if (!j)
            break;
        p = j;
    }
    return p;
}
