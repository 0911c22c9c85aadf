/* SPDX-License-Identifier: Apache-2.0 */
/* Affine iteration maps: index expressions made by splitting and fusing loop variables.
 *
 * Every index is read as a sum of pieces  (source div lower) mod extent * scale.  A source is a
 * loop variable or a mark: several pieces fused into one number, of which other pieces are taken.
 * Indices are affine when the pieces in each sum do not overlap (each scale is at least the reach
 * of the ones below) and the pieces of each source are disjoint; the map is bijective when scales
 * are dense and the pieces of every source cover it. Extents may be symbolic.
 */
#include "simplify.h"

typedef struct source source;

typedef struct piece {
    source *from;
    const tn_poly *lower, *extent, *scale;
} piece;

/* A sum of pieces in descending order of scale, plus a constant. */
typedef struct sum {
    piece *at;
    uint32_t n;
    const tn_poly *base;
} sum;

struct source {
    const tn_expr *var; /* a loop variable, or NULL: a mark */
    const tn_poly *extent;
    const tn_poly *key; /* of a mark: the fused expression */
    sum parts;          /* of a mark, fused densely from scale 1 */
    TNB_VEC(piece) uses;
    const tn_poly *value; /* for the inverse: in terms of the outputs */
};

typedef struct limit {
    const tn_poly *p; /* p < extent by the predicate */
    const tn_poly *extent;
    bool used;
} limit;

typedef struct detector {
    tn_arith *a;
    tnb_dtype d;
    TNB_VEC(source *) sources;
    TNB_VEC(limit) limits;
    TNB_VEC(const tn_atom *) splits; /* all that occur in the indices */
    const tn_expr *const *vars;
    uint32_t n_vars;
    int depth;
} detector;

static const tn_poly *
mul(detector *t, const tn_poly *x, const tn_poly *y)
{
    return tn_poly_mul(t->a, x, y);
}

static bool
is_const(const tn_poly *p, int64_t k)
{
    return p && p->n == 0 && p->k == k;
}

/* Whether x <= y for certain. */
static bool
at_most(detector *t, const tn_poly *x, const tn_poly *y)
{
    const tn_poly *d = tn_poly_lin(t->a, 1, y, -1, x);
    return d && tn_poly_ge0(t->a, d);
}

/* ---- reading an index ---- */

static bool
read_sum(detector *t, const tn_poly *p, sum *out);

static source *
find_var(detector *t, const tn_expr *var)
{
    for (uint32_t i = 0; i < t->sources.n; i++)
        if (t->sources.at[i]->var == var)
            return t->sources.at[i];
    return NULL;
}

/* Orders pieces by scale, largest first; false when two scales cannot be compared. */
static bool
sort_pieces(detector *t, sum *s)
{
    for (uint32_t i = 1; i < s->n; i++) {
        piece x = s->at[i];
        uint32_t j = i;
        while (j > 0 && !at_most(t, x.scale, s->at[j - 1].scale)) {
            if (!at_most(t, s->at[j - 1].scale, x.scale))
                return false;
            s->at[j] = s->at[j - 1];
            j--;
        }
        s->at[j] = x;
    }
    return true;
}

/* The number of values of pieces that follow one another without gaps from `unit`; NULL: gaps or
 * overlaps. With `loose` gaps are fine and the reach is returned. */
static const tn_poly *
fused_extent(detector *t, const sum *s, const tn_poly *unit, bool loose)
{
    const tn_poly *reach = unit;
    for (uint32_t i = s->n; i-- > 0;) {
        bool fits =
            tn_poly_same(s->at[i].scale, reach) || (loose && at_most(t, reach, s->at[i].scale));
        if (!fits)
            return NULL;
        reach = mul(t, s->at[i].scale, s->at[i].extent);
        if (!reach)
            return NULL;
    }
    return reach;
}

static limit *
find_limit(detector *t, const tn_poly *p)
{
    for (uint32_t i = 0; i < t->limits.n; i++)
        if (tn_poly_same(t->limits.at[i].p, p))
            return &t->limits.at[i];
    return NULL;
}

/* p as one source: a variable, or a mark over densely fused pieces. NULL: it is none. */
static source *
as_source(detector *t, const tn_poly *p)
{
    for (uint32_t i = 0; i < t->sources.n; i++)
        if (t->sources.at[i]->key && tn_poly_same(t->sources.at[i]->key, p))
            return t->sources.at[i];
    sum s;
    if (!read_sum(t, p, &s) || !is_const(s.base, 0) || s.n == 0)
        return NULL;
    limit *l = find_limit(t, p);
    const tn_poly *one = tn_poly_const(t->a, 1);
    if (s.n == 1 && !l && is_const(s.at[0].scale, 1) && is_const(s.at[0].lower, 1) &&
        tn_poly_same(s.at[0].extent, s.at[0].from->extent))
        return s.at[0].from;
    const tn_poly *extent = sort_pieces(t, &s) ? fused_extent(t, &s, one, false) : NULL;
    if (!extent)
        return NULL;
    source *m = TNB_NEW(t->a->arena, source);
    m->key = p;
    m->parts = s;
    m->extent = extent;
    if (l) {
        l->used = true;
        m->extent = l->extent;
    }
    TNB_PUSH(t->a->arena, t->sources, m);
    for (uint32_t i = 0; i < s.n; i++)
        TNB_PUSH(t->a->arena, s.at[i].from->uses, s.at[i]);
    return m;
}

/* ((p div lower) mod extent) as a piece; extent NULL: no mod. */
static bool
read_piece(detector *t, const tn_poly *p, const tn_poly *lower, const tn_poly *extent, piece *out)
{
    sum s;
    /* a piece of a piece stays with its source */
    if (read_sum(t, p, &s) && s.n == 1 && is_const(s.base, 0) && is_const(s.at[0].scale, 1) &&
        !find_limit(t, p)) {
        const piece *in = &s.at[0];
        const tn_poly *top = tn_poly_div_exact(t->a, in->extent, lower);
        if (!top)
            return false;
        if (extent && !tn_poly_div_exact(t->a, top, extent)) /* must divide, or cut nothing off */
            return false;
        *out = (piece){in->from, mul(t, in->lower, lower), extent ? extent : top,
                       tn_poly_const(t->a, 1)};
        return out->lower != NULL;
    }
    source *m = as_source(t, p);
    if (!m)
        return false;
    const tn_poly *top = tn_poly_div_exact(t->a, m->extent, lower);
    if (!top || (extent && !tn_poly_div_exact(t->a, top, extent)))
        return false;
    *out = (piece){m, lower, extent ? extent : top, tn_poly_const(t->a, 1)};
    return true;
}

/* The simplifier reduces coefficients below a remainder: (6a + b) mod 4 is (2a + b) mod 4 there.
 * Gives the form that another piece of the same number has. */
static const tn_poly *
whole_dividend(detector *t, const tn_atom *x)
{
    for (uint32_t i = 0; i < t->splits.n; i++) {
        const tn_atom *y = t->splits.at[i];
        if ((y->u == 0 || y->u > x->u) && tn_poly_congruent(t->a, x->p, y->p, x->u))
            return y->p;
    }
    return x->p;
}

static void
collect_splits(detector *t, const tn_poly *p, int depth)
{
    for (uint32_t i = 0; p && depth < 16 && i < p->n; i++) {
        for (uint32_t j = 0; j < p->t[i].mono->n; j++) {
            const tn_atom *x = p->t[i].mono->at[j];
            if (x->kind == TN_ATOM_SPLIT)
                TNB_PUSH(t->a->arena, t->splits, x);
            collect_splits(t, x->p, depth + 1);
            collect_splits(t, x->q, depth + 1);
        }
    }
}

static bool
read_atom(detector *t, const tn_atom *x, piece *out)
{
    tn_arith *a = t->a;
    const tn_poly *one = tn_poly_const(a, 1);
    switch (x->kind) {
    case TN_ATOM_VAR: {
        source *s = find_var(t, x->expr);
        if (!s)
            return false;
        *out = (piece){s, one, s->extent, one};
        return true;
    }
    case TN_ATOM_CAST:
        return x->p->n == 1 && x->p->k == 0 && tn_poly_as_atom(x->p) &&
               read_atom(t, tn_poly_as_atom(x->p), out);
    case TN_ATOM_SPLIT:
        return read_piece(t, x->u ? whole_dividend(t, x) : x->p, tn_poly_const(a, x->l),
                          x->u ? tn_poly_const(a, x->u / x->l) : NULL, out);
    case TN_ATOM_DIV:
        return read_piece(t, x->p, x->q, NULL, out);
    case TN_ATOM_MOD:
        return read_piece(t, x->p, one, x->q, out);
    default:
        return false;
    }
}

static bool
read_sum(detector *t, const tn_poly *p, sum *out)
{
    tn_arith *a = t->a;
    if (t->depth > 16)
        return false;
    t->depth++;
    *out = (sum){TNB_NEW_N(a->arena, piece, p->n + 1), 0, tn_poly_const(a, p->k)};
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->n; i++) {
        const tn_mono *m = p->t[i].mono;
        const tn_poly *scale = tn_poly_const(a, p->t[i].coef);
        const tn_atom *iter = NULL;
        for (uint32_t j = 0; ok && j < m->n; j++) {
            if (!tn_atom_uses(a, m->at[j], t->vars, t->n_vars))
                scale = mul(t, scale, tn_poly_atom(a, m->at[j]));
            else if (iter)
                ok = false;
            else
                iter = m->at[j];
        }
        if (!ok || !scale)
            ok = false;
        else if (!iter)
            ok = (out->base = tn_poly_lin(a, 1, out->base, 1, scale)) != NULL;
        else
            ok = read_atom(t, iter, &out->at[out->n]) && (out->at[out->n++].scale = scale) != NULL;
    }
    t->depth--;
    /* a variable of one value adds nothing */
    uint32_t n = 0;
    for (uint32_t i = 0; ok && i < out->n; i++)
        if (!is_const(out->at[i].extent, 1))
            out->at[n++] = out->at[i];
    out->n = n;
    return ok;
}

/* ---- the predicate ---- */

static bool
read_predicate(detector *t, const tn_expr *e)
{
    int64_t v;
    if (!e || (tn_int_value(e, &v) && v))
        return true;
    const tn_binary *b = tn_as_binary(e);
    if (!b)
        return false;
    if (e->kind == TN_KIND_AND)
        return read_predicate(t, b->a) && read_predicate(t, b->b);
    if (!tn_is_index_dtype(tn_dtype_of(b->a)) || (e->kind != TN_KIND_LT && e->kind != TN_KIND_GT))
        return false;
    const tn_expr *small = e->kind == TN_KIND_LT ? b->a : b->b,
                  *large = e->kind == TN_KIND_LT ? b->b : b->a;
    const tn_poly *p = tn_poly_of(t->a, small), *bound = tn_poly_of(t->a, large);
    for (uint32_t i = 0; i < bound->n; i++)
        for (uint32_t j = 0; j < bound->t[i].mono->n; j++)
            if (tn_atom_uses(t->a, bound->t[i].mono->at[j], t->vars, t->n_vars))
                return false;
    limit l = {p, bound, false};
    TNB_PUSH(t->a->arena, t->limits, l);
    return true;
}

/* ---- checks ---- */

/* The pieces of a source are disjoint; with `cover` they make it up. */
static bool
check_uses(detector *t, source *s, bool cover)
{
    const tn_poly *reach = tn_poly_const(t->a, 1);
    uint32_t n = s->uses.n;
    if (n == 0)
        return !cover || is_const(s->extent, 1);
    sum pieces = {TNB_NEW_N(t->a->arena, piece, n), n, NULL};
    for (uint32_t i = 0; i < n; i++) { /* a piece weighs its lower factor inside the source */
        pieces.at[i] = s->uses.at[i];
        pieces.at[i].scale = s->uses.at[i].lower;
    }
    if (!sort_pieces(t, &pieces))
        return false;
    for (uint32_t i = n; i-- > 0;) {
        if (!tn_poly_same(pieces.at[i].scale, reach) &&
            (cover || !at_most(t, reach, pieces.at[i].scale)))
            return false;
        reach = mul(t, pieces.at[i].scale, pieces.at[i].extent);
        if (!reach)
            return false;
    }
    return cover ? tn_poly_same(reach, s->extent) : at_most(t, reach, s->extent);
}

static bool
detect(detector *t, const tn_expr *const *indices, uint32_t n_indices,
       const tn_expr *const *extents, const tn_expr *predicate, bool bijective, sum *sums)
{
    tn_arith *a = t->a;
    for (uint32_t i = 0; i < t->n_vars; i++) {
        source *s = TNB_NEW(a->arena, source);
        s->var = t->vars[i];
        s->extent = tn_poly_of(a, extents[i]);
        TNB_PUSH(a->arena, t->sources, s);
    }
    for (uint32_t i = 0; i < n_indices; i++)
        if (tn_is_index_dtype(tn_dtype_of(indices[i])))
            collect_splits(t, tn_poly_of(a, indices[i]), 0);
    if (!read_predicate(t, predicate))
        return false;
    for (uint32_t i = 0; i < n_indices; i++) {
        if (!tn_is_index_dtype(tn_dtype_of(indices[i])))
            return false;
        const tn_poly *p = tn_poly_of(a, indices[i]), *one = tn_poly_const(a, 1);
        if (find_limit(t, p)) { /* the predicate bounds the index itself: a mark of that extent */
            source *m = as_source(t, p);
            if (!m)
                return false;
            sums[i] = (sum){TNB_NEW(a->arena, piece), 1, tn_poly_const(a, 0)};
            sums[i].at[0] = (piece){m, one, m->extent, one};
        } else if (!read_sum(t, p, &sums[i]) || !sort_pieces(t, &sums[i])) {
            return false;
        }
        if (bijective && !is_const(sums[i].base, 0))
            return false;
        if (sums[i].n) {
            const tn_poly *unit = bijective ? one : sums[i].at[sums[i].n - 1].scale;
            if (!tn_poly_ge0(a, tn_poly_add_const(a, unit, -1)) ||
                !fused_extent(t, &sums[i], unit, !bijective))
                return false;
        }
        for (uint32_t j = 0; j < sums[i].n; j++)
            TNB_PUSH(a->arena, sums[i].at[j].from->uses, sums[i].at[j]);
    }
    for (uint32_t i = 0; i < t->limits.n; i++)
        if (!t->limits.at[i].used)
            return false;
    for (uint32_t i = 0; i < t->sources.n; i++)
        if (!check_uses(t, t->sources.at[i], bijective))
            return false;
    return true;
}

/* Variables get their ranges for the time of the analysis only. */
static tn_arith *
with_ranges(tn_arith *a, const tn_expr *const *vars, const tn_expr *const *extents, uint32_t n)
{
    tn_arith *b = tn_arith_new(a->ctx);
    b->all_shape_vars = a->all_shape_vars;
    for (uint32_t i = 0; i < a->vars.n; i++) { /* what is known of the other variables */
        const tn_atom *t = a->vars.at[i].value;
        if (t && (t->known_lo != TN_NEG_INF || t->known_hi != TN_POS_INF))
            tn_arith_bounds_of_var(b, t->expr, t->known_lo, t->known_hi);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!tn_is_int_const(extents[i], 1))
            tn_arith_range(b, vars[i], tn_int_imm_of(a->ctx, tn_dtype_of(vars[i]), 0), extents[i]);
    return b;
}

bool
tn_iter_map_check(tn_arith *a, const tn_expr *const *indices, uint32_t n_indices,
                  const tn_expr *const *vars, const tn_expr *const *extents, uint32_t n_vars,
                  const tn_expr *predicate, bool bijective)
{
    detector t = {.a = with_ranges(a, vars, extents, n_vars), .vars = vars, .n_vars = n_vars};
    sum *sums = TNB_NEW_N(a->arena, sum, n_indices);
    return detect(&t, indices, n_indices, extents, predicate, bijective, sums);
}

/* ---- the inverse ---- */

/* Adds value*lower to the source; a mark that is complete hands its value on to its parts. */
static bool
distribute(detector *t, const sum *s, const tn_poly *value)
{
    tn_arith *a = t->a;
    for (uint32_t i = 0; i < s->n; i++) {
        const piece *p = &s->at[i];
        const tn_poly *v = tn_poly_floordiv(a, t->d, value, p->scale);
        if (i > 0 && v) /* the highest part needs no remainder */
            v = tn_poly_floormod(a, t->d, v, p->extent);
        v = mul(t, v, p->lower);
        p->from->value = p->from->value ? tn_poly_lin(a, 1, p->from->value, 1, v) : v;
        if (!p->from->value)
            return false;
    }
    return true;
}

bool
tn_iter_map_inverse(tn_arith *a, const tn_expr *const *indices, uint32_t n_indices,
                    const tn_expr *const *vars, const tn_expr *const *extents, uint32_t n_vars,
                    const tn_expr *const *outputs, const tn_expr **inverse)
{
    detector t = {.a = with_ranges(a, vars, extents, n_vars), .vars = vars, .n_vars = n_vars};
    sum *sums = TNB_NEW_N(a->arena, sum, n_indices);
    if (!detect(&t, indices, n_indices, extents, NULL, true, sums))
        return false;
    tn_arith *b = t.a;
    for (uint32_t i = 0; i < n_indices; i++) {
        t.d = tn_dtype_of(outputs[i]);
        if (!tn_is_index_dtype(t.d))
            return false;
        /* the range of an output is known: remainders of the whole vanish */
        const tn_poly *extent = sums[i].n ? fused_extent(&t, &sums[i], tn_poly_const(b, 1), false)
                                          : tn_poly_const(b, 1);
        const tn_expr *e = extent ? tn_poly_emit(b, extent, t.d) : NULL;
        if (e && !tn_is_int_const(e, 1))
            tn_arith_range(b, outputs[i], tn_int_imm_of(a->ctx, t.d, 0), e);
    }
    for (uint32_t i = 0; i < n_indices; i++) {
        t.d = tn_dtype_of(outputs[i]);
        if (!distribute(&t, &sums[i], tn_poly_of(b, outputs[i])))
            return false;
    }
    /* marks were made after what they are fused from: hand values down in reverse order */
    for (uint32_t i = t.sources.n; i-- > 0;) {
        source *m = t.sources.at[i];
        if (!m->var && (!m->value || !distribute(&t, &m->parts, tn_poly_join(b, t.d, m->value))))
            return false;
    }
    for (uint32_t i = 0; i < n_vars; i++) {
        tnb_dtype d = tn_dtype_of(vars[i]);
        const tn_poly *v = find_var(&t, vars[i])->value;
        const tn_expr *e =
            v ? tn_poly_emit(b, tn_poly_join(b, t.d, v), t.d) : tn_int_imm_of(a->ctx, d, 0);
        if (!e)
            return false;
        inverse[i] = tn_cast_to(a->ctx, d, e);
    }
    return true;
}
