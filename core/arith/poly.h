/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of the analyzer: polynomials over atoms.
 *
 * An index expression is kept as a sum of products: a constant and terms, each a coefficient and a
 * monomial (a sorted product of atoms). An atom is a variable, a quotient-remainder piece
 *     split(x, l, u) = (x mod u) div l          (u == 0: no mod; l divides u; floor semantics)
 * a division by something symbolic, a minimum or maximum, a cast, or any other expression. Atoms
 * and monomials are interned per analyzer, so equality of polynomials is equality of terms.
 * Arithmetic on coefficients is checked: on overflow NULL is returned and the caller keeps the
 * expression as an atom.
 *
 * Sums and products of loaded elements wrap around. A polynomial stands for them all the same, as addition and
 * multiplication modulo 2^32 and 2^64 obey its laws; orders, quotients and wider types do not. These take
 * tn_number_of, which makes an atom of what may have wrapped.
 */
#ifndef TENON_CORE_ARITH_POLY_H
#define TENON_CORE_ARITH_POLY_H

#include "tenon/core/arith.h"
#include "tenon/core/op.h"
#include "tenon/core/walk.h"
#include "../scalar.h"

typedef struct tn_poly tn_poly;

typedef enum tn_atom_kind {
    TN_ATOM_VAR,
    TN_ATOM_SPLIT, /* p, l, u */
    TN_ATOM_DIV,   /* floordiv(p, q), q not constant */
    TN_ATOM_MOD,
    TN_ATOM_MIN, /* p, q */
    TN_ATOM_MAX,
    TN_ATOM_CAST,  /* of p, a polynomial of dtype `from` */
    TN_ATOM_OPAQUE /* expr */
} tn_atom_kind;

typedef struct tn_atom {
    uint32_t id;   /* by first appearance */
    uint32_t lead; /* id of the first variable inside: terms are ordered by lead, then id */
    uint8_t kind;
    bool impure, nested; /* nested: bounds are being computed */
    bool data;           /* computed from loaded elements: sums of it may wrap around */
    bool ranged;         /* a range was told before bounds were asked for */
    tnb_dtype dtype, from;
    const tn_expr *expr; /* VAR, OPAQUE; else made when first emitted */
    const tn_poly *p, *q;
    int64_t l, u;
    int64_t first_lo, first_hi; /* that range: as if known from the start, nothing is learned */
    int64_t known_lo, known_hi; /* from ranges and assumptions */
    int64_t lo, hi;             /* cached bounds, valid in `epoch` */
    uint32_t epoch;
    uint64_t hash;
} tn_atom;

typedef struct tn_mono {
    uint32_t id, n; /* n >= 1; the id orders by atoms */
    uint64_t hash;
    tn_atom *const *at; /* ascending ids, with repetition */
} tn_mono;

typedef struct tn_term {
    int64_t coef;
    const tn_mono *mono;
} tn_term;

struct tn_poly {
    int64_t k;
    uint32_t n;
    bool impure, data;
    const tn_term *t; /* ascending */
};

typedef struct tn_fact {
    const tn_poly *p; /* p >= 0, or p != 0 */
    bool nonzero;
} tn_fact;

typedef struct tn_known {
    tn_atom *atom;
    int64_t lo, hi;
} tn_known;

/* A proof that failed. */
typedef struct tn_failed {
    uint64_t key;    /* hash of what was asked; 0: empty */
    int given, cost; /* steps that it had, and took */
} tn_failed;

typedef struct tn_arith_frame {
    uint32_t n_facts, n_conds, n_undo, n_falses;
    uint64_t learned;
    tnb_ptrmap *polys, *exprs;
} tn_arith_frame;

struct tn_arith {
    tn_ctx *ctx;
    tnb_arena *arena;
    bool all_shape_vars;       /* variables not told about are >= 0 */
    bool data_vars;            /* a variable holds data */
    bool marked;               /* an atom is impure or of data */
    bool checks;               /* an index that may be out of its range (T.index_in) was met */
    tnb_ptrmap vars;           /* Var -> atom */
    tnb_ptrmap values;         /* Var -> expression */
    tnb_ptrmap *polys, *exprs; /* results under the present assumptions */
    struct {
        void **at;
        uint32_t n, n_slots;
    } atoms, monos;
    struct {
        tn_failed *at;
        uint32_t n, n_slots;
    } failed;
    uint64_t learned; /* hash of all that is assumed */
    TNB_VEC(tn_fact) facts;
    TNB_VEC(const tn_expr *) conds;  /* assumed true, not about integers */
    TNB_VEC(const tn_expr *) falses; /* assumed false */
    TNB_VEC(tn_known) undo;
    TNB_VEC(tn_arith_frame) frames;
    uint32_t epoch;
    uint32_t contexts; /* nested assumptions made while simplifying */
    uint32_t proving;  /* nested proofs */
    int budget;        /* of the present proof */
};

static inline uint64_t
tn_mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

/* Something more is known: x, y and z say what, or stand for it. */
static inline void
tn_arith_learn(tn_arith *a, uint64_t x, uint64_t y, uint64_t z)
{
    a->learned = tn_mix(tn_mix(tn_mix(a->learned, x), y), z);
}

/* ---- polynomials (poly.c) ---- */
uint64_t
tn_poly_hash(uint64_t seed, const tn_poly *p); /* p may be NULL */
const tn_poly *
tn_poly_const(tn_arith *a, int64_t k);
const tn_poly *
tn_poly_atom(tn_arith *a, tn_atom *t);
/* s*x + t*y; NULL on overflow or a NULL operand. */
const tn_poly *
tn_poly_lin(tn_arith *a, int64_t s, const tn_poly *x, int64_t t, const tn_poly *y);
const tn_poly *
tn_poly_mul(tn_arith *a, const tn_poly *x, const tn_poly *y);
const tn_poly *
tn_poly_add_const(tn_arith *a, const tn_poly *x, int64_t k);
bool
tn_poly_same(const tn_poly *x, const tn_poly *y);
/* Terms 0..n-1 in any order (equal monomials allowed), as a polynomial. */
const tn_poly *
tn_poly_of_terms(tn_arith *a, int64_t k, const tn_term *t, uint32_t n);
int64_t
tn_poly_gcd(const tn_poly *p); /* of the coefficients, without the constant; 0: none */
static inline bool
tn_poly_is_const(const tn_poly *p)
{
    return p && p->n == 0;
}
/* The atom that p is (coefficient 1, constant k), else NULL. */
static inline tn_atom *
tn_poly_as_atom(const tn_poly *p)
{
    return p->n == 1 && p->t[0].coef == 1 && p->t[0].mono->n == 1 ? p->t[0].mono->at[0] : NULL;
}
const tn_mono *
tn_mono_of(tn_arith *a, tn_atom *const *at, uint32_t n); /* sorted here */
/* The monomial x / y as atoms; false if y does not divide x. *n may become 0. */
bool
tn_mono_quotient(const tn_mono *x, const tn_mono *y, tn_atom **out, uint32_t *n);
tn_atom *
tn_atom_var(tn_arith *a, const tn_expr *var);
tn_atom *
tn_atom_of(tn_arith *a, const tn_atom *key); /* found or made */
tn_atom *
tn_atom_opaque(tn_arith *a, const tn_expr *e, bool impure, bool data);
/* The expression; NULL when a number does not fit the dtype. */
const tn_expr *
tn_poly_emit(tn_arith *a, const tn_poly *p, tnb_dtype d);
const tn_expr *
tn_atom_emit(tn_arith *a, tn_atom *t);
bool
tn_atom_uses(tn_arith *a, const tn_atom *t, const tn_expr *const *vars, uint32_t n);

/* ---- division (split.c) ---- */
const tn_poly *
tn_poly_split(tn_arith *a, tnb_dtype d, const tn_poly *p, int64_t l, int64_t u);
const tn_poly *
tn_poly_floordiv(tn_arith *a, tnb_dtype d, const tn_poly *p, const tn_poly *q);
const tn_poly *
tn_poly_floormod(tn_arith *a, tnb_dtype d, const tn_poly *p, const tn_poly *q);
/* Joins pieces of one expression: k*split(x,l,m) + k*(m/l)*split(x,m,u) = k*split(x,l,u). */
const tn_poly *
tn_poly_join(tn_arith *a, tnb_dtype d, const tn_poly *p);
/* p / q when it is exact, else NULL. */
const tn_poly *
tn_poly_div_exact(tn_arith *a, const tn_poly *p, const tn_poly *q);
/* x and y leave the same remainder modulo m, coefficient by coefficient. */
bool
tn_poly_congruent(tn_arith *a, const tn_poly *x, const tn_poly *y, int64_t m);
int64_t
tn_floor_div_i64(int64_t x, int64_t y); /* y > 0 */

/* ---- bounds and proofs (prove.c) ---- */
void
tn_poly_bounds(tn_arith *a, const tn_poly *p, int64_t *lo, int64_t *hi);
/* Whether the value in dtype d may differ from the sum that p is. */
bool
tn_poly_may_wrap(tn_arith *a, const tn_poly *p, tnb_dtype d);
bool
tn_poly_ge0(tn_arith *a, const tn_poly *p); /* certainly >= 0 */
bool
tn_poly_ne0(tn_arith *a, const tn_poly *p);
/* 1: true, 0: false, -1: unknown. kind: a comparison of diff with zero. */
int
tn_poly_decide(tn_arith *a, tn_kind kind, const tn_poly *diff);
/* p >= 0, or p != 0, among the facts; nothing where p is NULL. */
void
tn_arith_add_fact(tn_arith *a, const tn_poly *p, bool nonzero);
void
tn_arith_assume(tn_arith *a, const tn_expr *simplified); /* no frame is made */
/* What tn_poly_decide says of a comparison of index expressions as it stands, simplified or not. */
int
tn_compare_decide(tn_arith *a, const tn_expr *compare);

/* ---- expressions (simplify.c) ---- */
static inline bool
tn_is_index_dtype(tnb_dtype d)
{
    return d.code == TNB_INT && d.bits >= 32 && d.lanes == 1;
}
/* e is of an index dtype. Never NULL: what overflows becomes an atom. */
const tn_poly *
tn_poly_of(tn_arith *a, const tn_expr *e);
/* e is computed from loaded elements. */
bool
tn_is_data(tn_arith *a, const tn_expr *e);
/* The same for what is not sums and products modulo 2^n: a polynomial whose value is e's, one atom where the sum may
 * have wrapped around. */
const tn_poly *
tn_number_of(tn_arith *a, const tn_expr *e);

/* ---- rules (rules.c) ---- */
/* One rule of the table: `lhs` becomes `rhs` when `cond` holds. Prefix notation: x y z w any
 * expressions, c d literals. Only for integers and bool. */
typedef struct tn_arith_rule {
    const char *lhs, *rhs, *cond;
} tn_arith_rule;
extern TNB_EXPORT const tn_arith_rule tn_arith_rules[];
extern TNB_EXPORT const uint32_t tn_n_arith_rules;
/* The result of the first rule that fits, NULL: none. */
TNB_EXPORT const tn_expr *
tn_apply_rules(tn_ctx *ctx, const tn_expr *e);

#endif
