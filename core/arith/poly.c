/* SPDX-License-Identifier: Apache-2.0 */
/* Polynomials over atoms: interning, ring operations, and the way back to expressions. */
#include "poly.h"

#include <stdlib.h>

/* ---- interning ---- */

uint64_t
tn_poly_hash(uint64_t h, const tn_poly *p)
{
    if (!p)
        return tn_mix(h, 17);
    h = tn_mix(h, (uint64_t)p->k);
    for (uint32_t i = 0; i < p->n; i++)
        h = tn_mix(tn_mix(h, (uint64_t)p->t[i].coef), p->t[i].mono->id);
    return h;
}

/* Both tables hold pointers to things whose hash `hash_of` gives. */
static void
table_add(tnb_arena *arena, void ***at, uint32_t *n, uint32_t *n_slots, void *item,
          uint64_t (*hash_of)(const void *))
{
    if (*n * 2 >= *n_slots) {
        uint32_t slots = *n_slots ? *n_slots * 2 : 64;
        void **fresh = TNB_NEW_N(arena, void *, slots);
        for (uint32_t i = 0; i < *n_slots; i++) {
            if (!(*at)[i])
                continue;
            uint32_t s = (uint32_t)hash_of((*at)[i]) & (slots - 1);
            while (fresh[s])
                s = (s + 1) & (slots - 1);
            fresh[s] = (*at)[i];
        }
        *at = fresh;
        *n_slots = slots;
    }
    uint32_t s = (uint32_t)hash_of(item) & (*n_slots - 1);
    while ((*at)[s])
        s = (s + 1) & (*n_slots - 1);
    (*at)[s] = item;
    ++*n;
}

static uint64_t
atom_hash(const void *p)
{
    return ((const tn_atom *)p)->hash;
}

static uint64_t
mono_hash(const void *p)
{
    return ((const tn_mono *)p)->hash;
}

static bool
same_atom(tn_arith *a, const tn_atom *x, const tn_atom *y)
{
    if (x->kind != y->kind || x->hash != y->hash || !tnb_dtype_eq(x->dtype, y->dtype) ||
        x->impure || y->impure)
        return false;
    switch (x->kind) {
    case TN_ATOM_VAR:
        return x->expr == y->expr;
    case TN_ATOM_OPAQUE:
        return x->expr == y->expr || tn_equal(a->ctx, x->expr, y->expr, false, NULL);
    case TN_ATOM_SPLIT:
        return x->l == y->l && x->u == y->u && tn_poly_same(x->p, y->p);
    case TN_ATOM_CAST:
        return tnb_dtype_eq(x->from, y->from) && tn_poly_same(x->p, y->p);
    default:
        return tn_poly_same(x->p, y->p) && tn_poly_same(x->q, y->q);
    }
}

tn_atom *
tn_atom_of(tn_arith *a, const tn_atom *key)
{
    tn_atom k = *key;
    uint64_t h = tn_mix(k.kind, (uint64_t)k.dtype.bits);
    if (k.kind == TN_ATOM_VAR)
        h = tn_mix(h, (uint64_t)(uintptr_t)k.expr);
    else if (k.kind == TN_ATOM_OPAQUE)
        h = tn_mix(h, tn_hash(a->ctx, k.expr, false));
    else
        h = tn_mix(tn_mix(tn_poly_hash(tn_poly_hash(h, k.p), k.q), (uint64_t)k.l), (uint64_t)k.u);
    k.hash = h;
    if (a->atoms.n_slots && !k.impure) {
        uint32_t m = a->atoms.n_slots - 1;
        for (uint32_t s = (uint32_t)h & m; a->atoms.at[s]; s = (s + 1) & m)
            if (same_atom(a, a->atoms.at[s], &k))
                return a->atoms.at[s];
    }
    tn_atom *t = TNB_NEW(a->arena, tn_atom);
    *t = k;
    t->id = a->atoms.n + 1;
    t->lead = t->p && t->p->n ? t->p->t[0].mono->at[0]->lead : t->id;
    t->known_lo = TN_NEG_INF;
    t->known_hi = TN_POS_INF;
    t->epoch = 0;
    t->nested = false;
    t->impure |= (t->p && t->p->impure) || (t->q && t->q->impure);
    t->data |= (t->p && t->p->data) || (t->q && t->q->data);
    a->marked |= t->impure || t->data;
    table_add(a->arena, &a->atoms.at, &a->atoms.n, &a->atoms.n_slots, t, atom_hash);
    return t;
}

tn_atom *
tn_atom_var(tn_arith *a, const tn_expr *var)
{
    tn_atom *t = tnb_ptrmap_get(&a->vars, var);
    if (t)
        return t;
    t = tn_atom_of(a, &(tn_atom){.kind = TN_ATOM_VAR, .dtype = tn_dtype_of(var), .expr = var});
    if (a->all_shape_vars)
        t->known_lo = 0;
    tnb_ptrmap_set(&a->vars, var, t);
    return t;
}

tn_atom *
tn_atom_opaque(tn_arith *a, const tn_expr *e, bool impure, bool data)
{
    return tn_atom_of(a, &(tn_atom){.kind = TN_ATOM_OPAQUE,
                                    .dtype = tn_dtype_of(e),
                                    .expr = e,
                                    .impure = impure,
                                    .data = data});
}

static int
atom_cmp(const tn_atom *x, const tn_atom *y)
{
    if (x->lead != y->lead)
        return x->lead < y->lead ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

const tn_mono *
tn_mono_of(tn_arith *a, tn_atom *const *at, uint32_t n)
{
    tn_atom *few[16], **s = n <= 16 ? few : TNB_NEW_N(a->arena, tn_atom *, n);
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = i;
        for (; j > 0 && atom_cmp(s[j - 1], at[i]) > 0; j--)
            s[j] = s[j - 1];
        s[j] = at[i];
    }
    for (uint32_t i = 0; i < n; i++)
        h = tn_mix(h, s[i]->id);
    if (a->monos.n_slots) {
        uint32_t m = a->monos.n_slots - 1;
        for (uint32_t k = (uint32_t)h & m; a->monos.at[k]; k = (k + 1) & m) {
            const tn_mono *o = a->monos.at[k];
            if (o->hash == h && o->n == n && memcmp(o->at, s, n * sizeof *s) == 0)
                return o;
        }
    }
    tn_mono *o = TNB_NEW(a->arena, tn_mono);
    o->n = n;
    o->id = a->monos.n + 1;
    o->hash = h;
    o->at = tnb_dup(a->arena, s, n * sizeof *s);
    table_add(a->arena, &a->monos.at, &a->monos.n, &a->monos.n_slots, o, mono_hash);
    return o;
}

bool
tn_mono_quotient(const tn_mono *x, const tn_mono *y, tn_atom **out, uint32_t *n)
{
    uint32_t j = 0, k = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (j < y->n && y->at[j] == x->at[i])
            j++;
        else
            out[k++] = x->at[i];
    }
    *n = k;
    return j == y->n;
}

/* Terms stand in the order in which their variables first appeared in the source. */
static int
mono_cmp(const tn_mono *x, const tn_mono *y)
{
    if (x == y)
        return 0;
    for (uint32_t i = 0; i < x->n && i < y->n; i++)
        if (x->at[i] != y->at[i])
            return atom_cmp(x->at[i], y->at[i]);
    return x->n < y->n ? -1 : 1;
}

/* ---- ring operations ---- */

static tn_poly *
set_poly(const tn_arith *a, tn_poly *p, int64_t k, const tn_term *t, uint32_t n)
{
    p->k = k;
    p->n = n;
    p->t = t;
    for (uint32_t i = 0; i < n && a->marked; i++) {
        for (uint32_t j = 0; j < t[i].mono->n; j++) {
            p->impure |= t[i].mono->at[j]->impure;
            p->data |= t[i].mono->at[j]->data;
        }
    }
    return p;
}

static tn_poly *
new_poly(tn_arith *a, int64_t k, const tn_term *t, uint32_t n)
{
    return set_poly(a, TNB_NEW(a->arena, tn_poly), k, t, n);
}

/* A polynomial in one piece with `n` terms to be written, of which set_poly takes the first. */
static tn_poly *
with_terms(tn_arith *a, size_t n, tn_term **t)
{
    tn_poly *p = tnb_alloc(a->arena, sizeof *p + n * sizeof **t);
    *t = (tn_term *)(void *)(p + 1);
    return p;
}

const tn_poly *
tn_poly_const(tn_arith *a, int64_t k)
{
    return new_poly(a, k, NULL, 0);
}

const tn_poly *
tn_poly_atom(tn_arith *a, tn_atom *t)
{
    tn_term *m;
    tn_poly *p = with_terms(a, 1, &m);
    m->coef = 1;
    m->mono = tn_mono_of(a, &t, 1);
    return set_poly(a, p, 0, m, 1);
}

/* The sum or product p of x and y is of data if they are, also where these terms cancel: what is left is the value
 * modulo 2^n. */
static const tn_poly *
of_data(tn_poly *p, const tn_poly *x, const tn_poly *y)
{
    p->data |= x->data || y->data;
    return p;
}

static bool
scaled_sum(int64_t s, int64_t x, int64_t t, int64_t y, int64_t *out)
{
    int64_t p, q;
    return tnb_mul_i64(s, x, &p) && tnb_mul_i64(t, y, &q) && tnb_add_i64(p, q, out);
}

const tn_poly *
tn_poly_lin(tn_arith *a, int64_t s, const tn_poly *x, int64_t t, const tn_poly *y)
{
    if (!x || !y)
        return NULL;
    if (s == 1 && (t == 0 || (y->n == 0 && y->k == 0)))
        return x;
    int64_t k;
    if (!scaled_sum(s, x->k, t, y->k, &k))
        return NULL;
    tn_term *m;
    tn_poly *p = with_terms(a, (size_t)x->n + y->n, &m);
    uint32_t i = 0, j = 0, n = 0;
    while (i < x->n || j < y->n) {
        int c = i == x->n ? 1 : j == y->n ? -1 : mono_cmp(x->t[i].mono, y->t[j].mono);
        int64_t cx = c <= 0 ? x->t[i].coef : 0, cy = c >= 0 ? y->t[j].coef : 0;
        const tn_mono *mono = c <= 0 ? x->t[i].mono : y->t[j].mono;
        i += c <= 0;
        j += c >= 0;
        if (!scaled_sum(s, cx, t, cy, &m[n].coef))
            return NULL;
        m[n].mono = mono;
        n += m[n].coef != 0;
    }
    return of_data(set_poly(a, p, k, m, n), x, y);
}

const tn_poly *
tn_poly_add_const(tn_arith *a, const tn_poly *x, int64_t k)
{
    int64_t s;
    if (!x || !tnb_add_i64(x->k, k, &s))
        return NULL;
    if (!k)
        return x;
    tn_poly *p = TNB_NEW(a->arena, tn_poly);
    *p = *x;
    p->k = s;
    return p;
}

static int
term_order(const void *x, const void *y)
{
    return mono_cmp(((const tn_term *)x)->mono, ((const tn_term *)y)->mono);
}

static tn_poly *
of_terms(tn_arith *a, int64_t k, const tn_term *t, uint32_t n)
{
    if (n == 0)
        return new_poly(a, k, NULL, 0);
    tn_term *m = tnb_dup(a->arena, t, n * sizeof *t);
    if (n > 1)
        qsort(m, n, sizeof *m, term_order);
    uint32_t w = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (w && m[w - 1].mono == m[i].mono) {
            if (!tnb_add_i64(m[w - 1].coef, m[i].coef, &m[w - 1].coef))
                return NULL;
            continue;
        }
        if (w && m[w - 1].coef == 0)
            w--;
        m[w++] = m[i];
    }
    if (w && m[w - 1].coef == 0)
        w--;
    return new_poly(a, k, m, w);
}

const tn_poly *
tn_poly_of_terms(tn_arith *a, int64_t k, const tn_term *t, uint32_t n)
{
    return of_terms(a, k, t, n);
}

const tn_poly *
tn_poly_mul(tn_arith *a, const tn_poly *x, const tn_poly *y)
{
    enum { MAX_TERMS = 64, MAX_DEGREE = 8 };
    if (!x || !y)
        return NULL;
    if (y->n == 0)
        return tn_poly_lin(a, y->k, x, 0, tn_poly_const(a, 0));
    if (x->n == 0)
        return tn_poly_lin(a, x->k, y, 0, tn_poly_const(a, 0));
    if (((uint64_t)x->n + 1) * (y->n + 1) > MAX_TERMS)
        return NULL;
    tn_term m[MAX_TERMS];
    uint32_t n = 0;
    int64_t k;
    if (!tnb_mul_i64(x->k, y->k, &k))
        return NULL;
    for (uint32_t i = 0; i <= x->n; i++) {
        for (uint32_t j = 0; j <= y->n; j++) {
            int64_t cx = i < x->n ? x->t[i].coef : x->k, cy = j < y->n ? y->t[j].coef : y->k;
            if ((i == x->n && j == y->n) || cx == 0 || cy == 0)
                continue;
            if (!tnb_mul_i64(cx, cy, &m[n].coef))
                return NULL;
            if (i == x->n || j == y->n) {
                m[n++].mono = i == x->n ? y->t[j].mono : x->t[i].mono;
                continue;
            }
            const tn_mono *p = x->t[i].mono, *q = y->t[j].mono;
            if (p->n + q->n > MAX_DEGREE)
                return NULL;
            tn_atom *at[MAX_DEGREE];
            memcpy(at, p->at, p->n * sizeof *at);
            memcpy(at + p->n, q->at, q->n * sizeof *at);
            m[n++].mono = tn_mono_of(a, at, p->n + q->n);
        }
    }
    tn_poly *p = of_terms(a, k, m, n);
    return p ? of_data(p, x, y) : NULL;
}

bool
tn_poly_same(const tn_poly *x, const tn_poly *y)
{
    if (x == y)
        return true;
    if (!x || !y || x->k != y->k || x->n != y->n || x->impure || y->impure)
        return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->t[i].coef != y->t[i].coef || x->t[i].mono != y->t[i].mono)
            return false;
    return true;
}

int64_t
tn_poly_gcd(const tn_poly *p)
{
    uint64_t g = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        uint64_t x = p->t[i].coef < 0 ? 0 - (uint64_t)p->t[i].coef : (uint64_t)p->t[i].coef;
        while (x) {
            uint64_t r = g % x;
            g = x;
            x = r;
        }
    }
    return g > INT64_MAX ? 1 : (int64_t)g;
}

/* ---- back to expressions ---- */

static bool
fits(tnb_dtype d, int64_t v)
{
    return tn_wrap_int(d, v) == v;
}

static const tn_expr *
emit_mono(tn_arith *a, const tn_mono *m, int64_t coef, tnb_dtype d)
{
    if (!fits(d, coef))
        return NULL;
    const tn_expr *e = NULL;
    for (uint32_t i = 0; i < m->n; i++) {
        const tn_expr *f = tn_atom_emit(a, m->at[i]);
        if (!f)
            return NULL;
        e = e ? tn_mul(a->ctx, e, f) : f;
    }
    return coef == 1 ? e : tn_mul(a->ctx, e, tn_int_imm_of(a->ctx, d, coef));
}

const tn_expr *
tn_poly_emit(tn_arith *a, const tn_poly *p, tnb_dtype d)
{
    tn_ctx *ctx = a->ctx;
    if (!p || !fits(d, p->k))
        return NULL;
    const tn_expr *e = NULL;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->t[i].coef < 0)
            continue;
        const tn_expr *f = emit_mono(a, p->t[i].mono, p->t[i].coef, d);
        if (!f)
            return NULL;
        e = e ? tn_add(ctx, e, f) : f;
    }
    int64_t k = p->k;
    if (k > 0 || (!e && p->n == 0)) {
        const tn_expr *f = tn_int_imm_of(ctx, d, k);
        e = e ? tn_add(ctx, e, f) : f;
        k = 0;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->t[i].coef > 0)
            continue;
        int64_t c = p->t[i].coef;
        if (e && c == INT64_MIN)
            return NULL;
        const tn_expr *f = emit_mono(a, p->t[i].mono, e ? -c : c, d);
        if (!f)
            return NULL;
        e = e ? tn_sub(ctx, e, f) : f;
    }
    if (k < 0) {
        if (k == INT64_MIN || !fits(d, -k))
            return NULL;
        e = tn_sub(ctx, e, tn_int_imm_of(ctx, d, -k));
    }
    return tn_is_error(e) ? NULL : e;
}

const tn_expr *
tn_atom_emit(tn_arith *a, tn_atom *t)
{
    tnb_dtype d = t->dtype, of = t->kind == TN_ATOM_CAST ? t->from : d;
    if ((t->p && tn_poly_may_wrap(a, t->p, of)) || (t->q && tn_poly_may_wrap(a, t->q, of)))
        return NULL; /* a coefficient was taken modulo the divisor, which made it larger */
    if (t->expr)
        return t->expr;
    tn_ctx *ctx = a->ctx;
    const tn_expr *e = tn_poly_emit(a, t->p, of), *f = NULL;
    if (!e)
        return NULL;
    if (t->q && !(f = tn_poly_emit(a, t->q, d)))
        return NULL;
    switch (t->kind) {
    case TN_ATOM_SPLIT:
        if (!fits(d, t->u) || !fits(d, t->l))
            return NULL;
        if (t->u)
            e = tn_floormod(ctx, e, tn_int_imm_of(ctx, d, t->u));
        if (t->l != 1)
            e = tn_floordiv(ctx, e, tn_int_imm_of(ctx, d, t->l));
        break;
    case TN_ATOM_DIV:
        e = tn_floordiv(ctx, e, f);
        break;
    case TN_ATOM_MOD:
        e = tn_floormod(ctx, e, f);
        break;
    case TN_ATOM_MIN:
        e = tn_min(ctx, e, f);
        break;
    case TN_ATOM_MAX:
        e = tn_max(ctx, e, f);
        break;
    case TN_ATOM_CAST:
        e = tn_cast_to(ctx, d, e);
        break;
    default:
        return NULL;
    }
    if (tn_is_error(e))
        return NULL;
    t->expr = e;
    return e;
}

static bool
poly_uses(tn_arith *a, const tn_poly *p, const tn_expr *const *vars, uint32_t n)
{
    for (uint32_t i = 0; p && i < p->n; i++)
        for (uint32_t j = 0; j < p->t[i].mono->n; j++)
            if (tn_atom_uses(a, p->t[i].mono->at[j], vars, n))
                return true;
    return false;
}

bool
tn_atom_uses(tn_arith *a, const tn_atom *t, const tn_expr *const *vars, uint32_t n)
{
    if (t->kind != TN_ATOM_VAR && t->kind != TN_ATOM_OPAQUE)
        return poly_uses(a, t->p, vars, n) || poly_uses(a, t->q, vars, n);
    for (uint32_t i = 0; i < n; i++)
        if (t->expr == vars[i] || (t->kind == TN_ATOM_OPAQUE && tn_uses(t->expr, vars[i])))
            return true;
    return false;
}
