/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer says only what is so: every rule by executing both sides, random expressions keep
 * their values, proofs, bounds and modular sets hold at every point; and it says what passes rely
 * on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../core/arith/poly.h"
#include "scalar_eval.h"
#include "tenon/core/text.h"

static env
new_env(void)
{
    env e = {.ctx = tn_ctx_new(NULL)};
    assert_non_null(e.ctx);
    return e;
}

static void
free_env(env *e)
{
    assert_int_equal(tnb_diags_errors(tn_diags(e->ctx)), 0);
    tn_ctx_free(e->ctx);
}

static void
fail_expr(env *e, const char *what, const tn_expr *x, const tn_expr *y)
{
    tnb_buf out = {0};
    for (int i = 0; i < e->n; i++)
        tnb_buf_printf(&out, "%s=%lld ", e->name[i], (long long)e->value[i]);
    tn_print(e->ctx, x, NULL, &out);
    tnb_buf_printf(&out, " and ");
    tn_print(e->ctx, y, NULL, &out);
    fail_msg("%s: at %s", what, out.s ? out.s : "");
}

/* ---- the rule table ---- */

/* Values for the names of a rule: integers -4..4, bool 0..1. False past the last. */
static bool
next_point(env *e)
{
    for (int i = 0; i < e->n; i++) {
        bool b = tnb_dtype_is_bool(tn_dtype_of(e->var[i]));
        if (++e->value[i] <= (b ? 1 : 4))
            return true;
        e->value[i] = b ? 0 : -4;
    }
    return false;
}

static void
first_point(env *e)
{
    for (int i = 0; i < e->n; i++)
        e->value[i] = tnb_dtype_is_bool(tn_dtype_of(e->var[i])) ? 0 : -4;
}

/* c and d stand for literals: they are replaced by each value in turn. */
static const tn_expr *
with_literals(env *e, const tn_expr *x)
{
    for (int i = 0; i < e->n; i++)
        if (strcmp(e->name[i], "c") == 0 || strcmp(e->name[i], "d") == 0)
            x = tn_subst1(e->ctx, x, e->var[i], tn_i64(e->ctx, e->value[i]));
    return x;
}

static void
every_rule_keeps_the_value(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < tn_n_arith_rules; r++) {
        const tn_arith_rule *rule = &tn_arith_rules[r];
        env e = new_env();
        const tn_expr *lhs = read_expr(&e, rule->lhs), *rhs = read_expr(&e, rule->rhs);
        const tn_expr *cond = rule->cond ? read_expr(&e, rule->cond) : NULL;
        int64_t x, y, c = 1;
        uint32_t points = 0, applied = 0;
        first_point(&e);
        do {
            if (cond && (!eval_expr(&e, cond, &c) || !c))
                continue;
            if (!eval_expr(&e, lhs, &x))
                continue;
            if (!eval_expr(&e, rhs, &y) || x != y)
                fail_msg("rule %s -> %s: %lld and %lld", rule->lhs, rule->rhs, (long long)x,
                         (long long)y);
            points++;
            if (points % 37 == 1) {
                const tn_expr *got = tn_apply_rules(e.ctx, with_literals(&e, lhs));
                if (!got)
                    fail_msg("rule %s did not apply", rule->lhs);
                if (!eval_expr(&e, got, &y) || x != y)
                    fail_msg("applying rules to %s changed the value", rule->lhs);
                applied++;
            }
        } while (next_point(&e));
        if (points == 0 || applied == 0)
            fail_msg("rule %s was never tried", rule->lhs);
        free_env(&e);
    }
}

/* ---- what is expected of the simplifier ---- */

/* i in [0, 64), j in [0, 4), k in [0, 16), n m shape variables, u v any */
static tn_arith *
usual(env *e)
{
    tn_arith *a = tn_arith_new(e->ctx);
    tn_arith_range(a, env_var(e, "i", TNB_I64), tn_i64(e->ctx, 0), tn_i64(e->ctx, 64));
    tn_arith_range(a, env_var(e, "j", TNB_I64), tn_i64(e->ctx, 0), tn_i64(e->ctx, 4));
    tn_arith_range(a, env_var(e, "k", TNB_I64), tn_i64(e->ctx, 0), tn_i64(e->ctx, 16));
    tn_arith_shape_var(a, env_var(e, "n", TNB_I64));
    tn_arith_shape_var(a, env_var(e, "m", TNB_I64));
    return a;
}

static void
canonical_forms(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"(+ i (- j i))", "j"},
        {"(- (+ (* i 3) j) (* i 2))", "(+ i j)"},
        {"(fdiv (+ (* i 4) j) 4)", "i"},
        {"(fmod (+ (* i 4) j) 4)", "j"},
        {"(fdiv (+ (* i 4) j) 16)", "(fdiv i 4)"},
        {"(fmod (+ (* i 4) j) 16)", "(+ (* (fmod i 4) 4) j)"},
        {"(fdiv (fdiv u 4) 8)", "(fdiv u 32)"},
        {"(fmod (fdiv u 4) 8)", "(fdiv (fmod u 32) 4)"},
        {"(+ (* (fdiv u 8) 8) (fmod u 8))", "u"},
        {"(+ (* (fdiv u 8) 2) (fdiv (fmod u 8) 4))", "(fdiv u 4)"},
        {"(+ (* (fdiv i 16) 16) (fmod i 16))", "i"},
        {"(+ (* (fdiv u n) n) (fmod u n))", "u"},
        {"(fdiv (* n m) n)", "m"},
        {"(fmod (+ (* n m) 0) n)", "0"},
        {"(fdiv (+ u 7) 8)", "(fdiv (+ u 7) 8)"},
        {"(fdiv (+ u 9) 8)", "(fdiv (+ u 9) 8)"}, /* no longer than before */
        {"(min i 63)", "i"},
        {"(min i 70)", "i"},
        {"(max (+ i 1) i)", "(+ i 1)"},
        {"(min (+ u 3) (+ v 3))", "(+ (min u v) 3)"},
        {"(< (* i 4) 256)", "(== 0 0)"},
        {"(< (+ i 3) 10)", "(< i 7)"},
        {"(< (* u 4) 13)", "(< u 4)"},
        {"(<= (* u 4) 13)", "(<= u 3)"},
        {"(< (fdiv u 4) 3)", "(< u 12)"},
        {"(> 10 u)", "(< u 10)"},
        {"(== (+ u 3) (+ v 3))", "(== u v)"},
        {"(== (* u 2) 7)", "(== 0 1)"},
        {"(and (< i 64) (< u 3))", "(< u 3)"},
        {"(and (<= 0 u) (<= 0 u))", "(<= 0 u)"},
        {"(select (< i 64) u v)", "u"},
        {"(select (< u 5) (min u 10) v)", "(select (< u 5) u v)"},
        /* both sides are evaluated, so the divisor stays clamped */
        {"(select (< 0 u) (fdiv v (max 1 u)) 0)", "(select (< 0 u) (fdiv v (max u 1)) 0)"},
        {"(select (< 0 u) (fmod v (max 1 u)) 0)", "(select (< 0 u) (fmod v (max u 1)) 0)"},
        {"(select (< u 1) 0 (fdiv v (max 1 u)))", "(select (< u 1) 0 (fdiv v (max u 1)))"},
        {"(select (< 0 u) (fdiv (max 1 u) 2) 0)", "(select (< 0 u) (fdiv u 2) 0)"},
        {"(* (+ n 1) m)", "(* (+ n 1) m)"},
        {"(- u u)", "0"},
        {"(- 0 u)", "(* u -1)"},
        {"(fmod (- (* u 8) 3) 4)", "1"},
        {"(not (< u v))", "(<= v u)"},
        {"(tdiv (+ (* i 4) j) 4)", "i"},
        {"(fdiv (- (+ n 3) 0) 4)", "(fdiv (+ n 3) 4)"},
        {"(* (fdiv (* i 8) 8) 2)", "(* i 2)"},
        {"(fmod (* i 4) 8)", "(* (fmod i 2) 4)"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        env e = new_env();
        tn_arith *a = usual(&e);
        const tn_expr *got = tn_simplify(a, read_expr(&e, cases[c][0])),
                      *want = read_expr(&e, cases[c][1]);
        int64_t v;
        /* bool literals are written as comparisons of literals */
        const tn_binary *b = tn_as_binary(want);
        if (b && tn_is(b->a, TN_KIND_INT_IMM) && tn_is(b->b, TN_KIND_INT_IMM) &&
            eval_expr(&e, want, &v))
            want = tn_bool(e.ctx, v != 0);
        tnb_buf where = {0};
        if (!tn_equal(e.ctx, got, want, false, &where))
            fail_msg("%s should become %s: %s", cases[c][0], cases[c][1], where.s);
        tnb_buf_free(&where);
        assert_ptr_equal(tn_simplify(a, got), got); /* nothing left to do: the same node */
        free_env(&e);
    }
}

static void
proofs_with_symbolic_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *given, *claim;
        bool holds;
    } cases[] = {
        {NULL, "(< x n)", true}, /* x in [0, n) */
        {NULL, "(<= 0 x)", true},
        {NULL, "(< (+ (* x 4) j) (* n 4))", true},
        {NULL, "(< (+ (* x m) y) (* n m))", true}, /* y in [0, m) */
        {NULL, "(< (+ (* x 4) j) (- (* n 4) 1))", false},
        {NULL, "(<= n (* (fdiv (+ n 15) 16) 16))", true},
        {NULL, "(< (fdiv x 16) (fdiv (+ n 15) 16))", true},
        {NULL, "(== (fmod (* n 8) 4) 0)", true},
        {NULL, "(<= (min n m) n)", true},
        {NULL, "(<= n (max n m))", true},
        {NULL, "(< x m)", false},
        {"(<= n m)", "(< x m)", true},
        {"(and (<= n m) (< m u))", "(< x u)", true},
        {"(== n m)", "(< x m)", true},
        {"(!= u v)", "(!= v u)", true},
        {"(< u v)", "(!= u v)", true},
        {"(< u v)", "(<= (+ u 1) v)", true},
        {"(< u v)", "(<= (+ u 2) v)", false},
        {"(or p q)", "(or p q)", true},
        {"p", "p", true},
        {"(not p)", "(not p)", true},
        {NULL, "(== (fdiv (* n m) m) n)", true},
        {NULL, "(< (fmod u 8) 8)", true},
        {NULL, "(<= 0 (fmod u 8))", true},
        {NULL, "(<= (* (fdiv u 8) 8) u)", true},
        {NULL, "(< u (* (+ (fdiv u 8) 1) 8))", true},
        /* z in [0, (n + 63) / 64 * ((m + 63) / 64)): a block of a grid of tiles */
        {NULL, "(< (fmod u n) n)", true},
        {NULL, "(<= 0 (fmod u n))", true},
        {NULL, "(< (fmod u n) m)", false},
        {NULL, "(< (fmod u v) v)", false}, /* v may be negative */
        {NULL, "(< (fmod z (fdiv (+ m 63) 64)) (fdiv (+ m 63) 64))", true},
        {NULL, "(< (fdiv z (fdiv (+ m 63) 64)) (fdiv (+ n 63) 64))", true},
        {NULL, "(<= 0 (fdiv z (fdiv (+ m 63) 64)))", true},
        {NULL, "(< (fdiv z (fdiv (+ m 63) 64)) (fdiv (+ m 63) 64))", false},
        {NULL, "(< (+ (* (fmod z (fdiv (+ m 63) 64)) 64) (fmod u 64)) (* (fdiv (+ m 63) 64) 64))",
         true},
        {NULL, "(< (+ (* (fdiv z (fdiv (+ m 63) 64)) 64) (fmod u 64)) (* (fdiv (+ n 63) 64) 64))",
         true},
        {NULL, "(< (+ (* (fdiv z (fdiv (+ m 63) 64)) 64) (fmod u 65)) (* (fdiv (+ n 63) 64) 64))",
         false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        env e = new_env();
        tn_arith *a = usual(&e);
        const tn_expr *zero = tn_i64(e.ctx, 0);
        tn_arith_range(a, env_var(&e, "x", TNB_I64), zero, env_var(&e, "n", TNB_I64));
        tn_arith_range(a, env_var(&e, "y", TNB_I64), zero, env_var(&e, "m", TNB_I64));
        tn_arith_range(a, env_var(&e, "z", TNB_I64), zero,
                       read_expr(&e, "(* (fdiv (+ n 63) 64) (fdiv (+ m 63) 64))"));
        const tn_expr *claim = read_expr(&e, cases[c].claim);
        uint32_t mark = cases[c].given ? tn_arith_push(a, read_expr(&e, cases[c].given)) : 0;
        if (tn_prove(a, claim) != cases[c].holds)
            fail_msg("%s given %s: expected %s", cases[c].claim,
                     cases[c].given ? cases[c].given : "nothing",
                     cases[c].holds ? "a proof" : "none");
        if (cases[c].given) { /* an assumption is gone after its scope */
            tn_arith_pop(a, mark);
            assert_false(tn_prove(a, claim));
        }
        free_env(&e);
    }
}

/* ---- random expressions ---- */

enum { N_VARS = 4 };

static const tn_expr *
random_bool(env *e, uint64_t *seed, int depth);

static const tn_expr *
random_int(env *e, uint64_t *seed, int depth)
{
    static const char *const names[N_VARS] = {"i", "j", "u", "v"};
    static const tn_kind kinds[] = {TN_KIND_ADD,       TN_KIND_ADD,       TN_KIND_SUB,
                                    TN_KIND_MUL,       TN_KIND_FLOOR_DIV, TN_KIND_FLOOR_MOD,
                                    TN_KIND_FLOOR_DIV, TN_KIND_FLOOR_MOD, TN_KIND_MIN,
                                    TN_KIND_MAX,       TN_KIND_DIV,       TN_KIND_MOD};
    static const int64_t literals[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, -1, -2, -3, -4, 5, 7};
    uint64_t r = next_random(seed);
    tn_ctx *ctx = e->ctx;
    if (depth == 0 || r % 8 == 0) {
        if (r >> 8 & 1)
            return env_var(e, names[(r >> 16) % N_VARS], TNB_I64);
        return tn_i64(ctx, literals[(r >> 16) % 16]);
    }
    if (r % 16 == 1)
        return tn_select_of(ctx, random_bool(e, seed, depth - 1), random_int(e, seed, depth - 1),
                            random_int(e, seed, depth - 1));
    tn_kind k = kinds[(r >> 8) % 12];
    const tn_expr *x = random_int(e, seed, depth - 1), *y;
    bool divides =
        k == TN_KIND_FLOOR_DIV || k == TN_KIND_FLOOR_MOD || k == TN_KIND_DIV || k == TN_KIND_MOD;
    /* mostly literal divisors, as in programs; products stay small */
    if ((divides && (r >> 24) % 8 != 0) || (k == TN_KIND_MUL && (r >> 24) % 4 != 0))
        y = tn_i64(ctx, literals[(r >> 16) % 16]);
    else
        y = random_int(e, seed, depth - 1);
    return tn_raw_binary(ctx, k, x, y);
}

static const tn_expr *
random_bool(env *e, uint64_t *seed, int depth)
{
    static const tn_kind kinds[] = {TN_KIND_LT, TN_KIND_LE, TN_KIND_GT,
                                    TN_KIND_GE, TN_KIND_EQ, TN_KIND_NE};
    uint64_t r = next_random(seed);
    if (depth > 0 && r % 4 == 0) {
        const tn_expr *x = random_bool(e, seed, depth - 1);
        if ((r >> 8) % 4 == 0)
            return tn_raw_not(e->ctx, x);
        return tn_raw_binary(e->ctx, (r >> 8) % 4 == 1 ? TN_KIND_OR : TN_KIND_AND, x,
                             random_bool(e, seed, depth - 1));
    }
    int d = depth > 1 ? depth - 1 : 1;
    const tn_expr *x = random_int(e, seed, d);
    return tn_raw_binary(e->ctx, kinds[(r >> 8) % 6], x, random_int(e, seed, d));
}

/* i in [0, 12), j in [lo, lo + 7), u in [-9, 10) and v in [0, 33), but the analyzer knows no bound of u, and of v only that it
 * may be an extent, and this in every other round. */
static tn_arith *
random_arith(env *e, uint64_t *seed, int64_t *j_min)
{
    tn_ctx *ctx = e->ctx;
    tn_arith *a = tn_arith_new(ctx);
    *j_min = (int64_t)(next_random(seed) % 9) - 4;
    tn_arith_range(a, env_var(e, "i", TNB_I64), tn_i64(ctx, 0), tn_i64(ctx, 12));
    tn_arith_range(a, env_var(e, "j", TNB_I64), tn_i64(ctx, *j_min), tn_i64(ctx, 7));
    env_var(e, "u", TNB_I64);
    env_var(e, "v", TNB_I64);
    if (next_random(seed) % 2)
        tn_arith_shape_var(a, e->var[3]);
    return a;
}

static void
random_point(env *e, uint64_t *seed, int64_t j_min)
{
    e->value[0] = (int64_t)(next_random(seed) % 12);
    e->value[1] = j_min + (int64_t)(next_random(seed) % 7);
    e->value[2] = (int64_t)(next_random(seed) % 19) - 9;
    e->value[3] = (int64_t)(next_random(seed) % 33);
}

static void
random_expressions_keep_their_values(void **state)
{
    (void)state;
    uint64_t seed = 20240607;
    for (int round = 0; round < 6000; round++) {
        env e = new_env();
        int64_t j_min;
        tn_arith *a = random_arith(&e, &seed, &j_min);
        int depth = 2 + round % 4;
        bool logic = round % 3 == 0;
        const tn_expr *x = logic ? random_bool(&e, &seed, depth) : random_int(&e, &seed, depth);
        const tn_expr *given = round % 5 == 0 ? random_bool(&e, &seed, 1) : NULL;
        uint32_t mark = given ? tn_arith_push(a, given) : 0;
        const tn_expr *s = tn_simplify(a, x);
        int64_t lo = TN_NEG_INF, hi = TN_POS_INF, coeff = 1, base = 0;
        bool proved = logic && tn_prove(a, x);
        if (!logic) {
            tn_bounds(a, x, &lo, &hi);
            tn_modular(a, x, &coeff, &base);
        }
        for (int p = 0; p < 40; p++) {
            int64_t want, got, holds = 1;
            random_point(&e, &seed, j_min);
            if (given && (!eval_expr(&e, given, &holds) || !holds))
                continue;
            if (!eval_expr(&e, x, &want))
                continue;
            if (!eval_expr(&e, s, &got) || got != want)
                fail_expr(&e, "simplifying changed the value", x, s);
            if (proved && !want)
                fail_expr(&e, "proved, but false", x, s);
            if (!logic && (want < lo || want > hi))
                fail_expr(&e, "outside of the bounds", x, s);
            if (!logic && !(coeff ? (want - base) % coeff == 0 : want == base))
                fail_expr(&e, "not of the modular set", x, s);
        }
        if (given)
            tn_arith_pop(a, mark);
        tnb_diags_clear(tn_diags(e.ctx));
        tn_ctx_free(e.ctx);
    }
}

/* x, y and z are elements of tensors, i a loop's variable, which stands beside an element only: arithmetic of loop variables
 * is taken not to overflow. */
static const tn_expr *
random_data(env *e, uint64_t *seed, int depth)
{
    static const char *const names[] = {"x", "y", "z"};
    static const tn_kind kinds[] = {TN_KIND_ADD,       TN_KIND_SUB,       TN_KIND_SUB, TN_KIND_MUL,
                                    TN_KIND_FLOOR_DIV, TN_KIND_FLOOR_MOD, TN_KIND_MIN, TN_KIND_MAX,
                                    TN_KIND_LT,        TN_KIND_LE,        TN_KIND_EQ,  TN_KIND_MUL};
    static const int64_t literals[] = {0,       1,         2,  3,  4,  251,
                                       1 << 20, INT32_MAX, -1, -2, -3, INT32_MIN};
    static const tn_kind divisions[] = {TN_KIND_FLOOR_DIV, TN_KIND_FLOOR_MOD, TN_KIND_DIV,
                                        TN_KIND_MOD};
    uint64_t r = next_random(seed);
    const tn_expr *literal = tn_int_imm_of(e->ctx, TNB_I32, literals[(r >> 16) % 12]);
    if (depth == 0 || r % 8 == 0) {
        const tn_expr *x = env_var(e, names[(r >> 16) % 3], TNB_I32);
        bool beside = (r >> 8 & 7) == 1;
        return beside       ? tn_raw_binary(e->ctx, TN_KIND_ADD, x, env_var(e, "i", TNB_I32))
               : r >> 8 & 3 ? x
                            : literal;
    }
    const tn_expr *a = random_data(e, seed, depth - 1), *b = random_data(e, seed, depth - 1);
    tn_kind k = kinds[(r >> 8) % 12];
    if (k == TN_KIND_FLOOR_DIV || k == TN_KIND_FLOOR_MOD)
        return tn_raw_binary(e->ctx, divisions[(r >> 24) % 4], a,
                             tn_int_imm_of(e->ctx, TNB_I32, 1 + (int64_t)(r >> 32) % 300));
    const tn_expr *x = tn_raw_binary(e->ctx, k, a, r >> 24 & 1 ? b : literal);
    return tn_is_compare(k) ? tn_select_of(e->ctx, x, a, b) : x;
}

static int64_t
random_element(uint64_t *seed)
{
    static const int64_t values[] = {0,       1,       -1, INT32_MIN, INT32_MAX, INT32_MIN + 1,
                                     1 << 30, 10000019};
    uint64_t r = next_random(seed);
    return r & 1 ? values[(r >> 8) % 8] : r & 2 ? (int32_t)(r >> 8) : (int64_t)(r >> 8) % 200 - 100;
}

/* Sums and products of elements wrap around, and what is made of them afterwards takes them wrapped. */
static void
arithmetic_of_data_wraps(void **state)
{
    (void)state;
    uint64_t seed = 20261123;
    for (int round = 0; round < 20000; round++) {
        env e = new_env();
        tn_ctx *ctx = e.ctx;
        tn_arith *a = tn_arith_new(ctx);
        static const char *const names[] = {"x", "y", "z"};
        tn_list at = tn_list_of(ctx, (const tn_node *[]){tn_i64(ctx, 0)}, 1);
        const tn_node *b =
            tn_buffer_new(ctx, "b", tn_list_of(ctx, (const tn_node *[]){tn_i64(ctx, 9)}, 1),
                          TNB_I32, NULL);
        for (int i = 0; i < 3; i++)
            tn_arith_bind(a, env_var(&e, names[i], TNB_I32), tn_buffer_load_of(ctx, b, at));
        tn_arith_range(a, env_var(&e, "i", TNB_I32), tn_int_imm_of(ctx, TNB_I32, 0),
                       tn_int_imm_of(ctx, TNB_I32, 12));
        const tn_expr *x = random_data(&e, &seed, 1 + round % 4);
        if (round % 4 == 3)
            x = tn_raw_binary(ctx, TN_KIND_MUL, tn_raw_cast(ctx, TNB_I64, x), tn_i64(ctx, 3));
        const tn_expr *s = tn_simplify(a, x);
        int64_t lo, hi;
        tn_bounds(a, x, &lo, &hi);
        for (int p = 0; p < 20; p++) {
            int64_t want, got;
            for (int i = 0; i < 3; i++)
                e.value[i] = random_element(&seed);
            e.value[3] = (int64_t)(next_random(&seed) % 12);
            if (!eval_expr(&e, x, &want))
                continue;
            if (!eval_expr(&e, s, &got) || got != want)
                fail_expr(&e, "simplifying changed the value", x, s);
            if (want < lo || want > hi)
                fail_expr(&e, "outside of the bounds", x, s);
        }
        tnb_diags_clear(tn_diags(ctx));
        tn_ctx_free(ctx);
    }
}

/* Extrema of operands that may be equal, whose order is known all the same. */
static void
extrema_under_conditions(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"(< 0 u)", "(max u 1)", "u"},
        {"(<= 1 u)", "(fmod v (max u 1))", "(fmod v u)"},
        {"(<= 1 u)", "(min u 1)", "1"},
        {"(<= u v)", "(max v u)", "v"},
        {"(<= u v)", "(min (+ v 2) (+ u 2))", "(+ u 2)"},
        {"(<= 0 u)", "(max u 1)", "(max u 1)"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        env e = new_env();
        tn_arith *a = tn_arith_new(e.ctx);
        (void)tn_arith_push(a, read_expr(&e, cases[c][0]));
        const tn_expr *got = tn_simplify(a, read_expr(&e, cases[c][1])),
                      *want = tn_simplify(a, read_expr(&e, cases[c][2]));
        if (!tn_equal(e.ctx, got, want, false, NULL) ||
            tn_is(got, TN_KIND_MAX) != (strstr(cases[c][2], "max") != NULL))
            fail_msg("%s under %s does not become %s", cases[c][1], cases[c][0], cases[c][2]);
        free_env(&e);
    }
}

static void
intervals_hold(void **state)
{
    (void)state;
    uint64_t seed = 77;
    int found = 0;
    for (int round = 0; round < 1500; round++) {
        env e = new_env();
        int64_t j_min;
        tn_arith *a = random_arith(&e, &seed, &j_min);
        const tn_expr *x = random_int(&e, &seed, 1 + round % 4), *lo, *hi;
        const tn_expr *vars[2] = {e.var[0], e.var[1]};
        const tn_expr *mins[2] = {tn_i64(e.ctx, 0), tn_i64(e.ctx, j_min)};
        const tn_expr *extents[2] = {tn_i64(e.ctx, 12), tn_i64(e.ctx, 7)};
        if (tn_interval(a, x, vars, mins, extents, 2, &lo, &hi)) {
            found++;
            for (int p = 0; p < 40; p++) {
                int64_t v, l, h;
                random_point(&e, &seed, j_min);
                if (!eval_expr(&e, x, &v))
                    continue;
                if (eval_expr(&e, lo, &l) && eval_expr(&e, hi, &h) && (v < l || v > h))
                    fail_expr(&e, "outside of the interval", x, lo);
            }
            assert_false(tn_uses(lo, vars[0]) || tn_uses(hi, vars[1]));
        }
        tn_ctx_free(e.ctx);
    }
    assert_true(found > 500);
}

static void
linear_forms(void **state)
{
    (void)state;
    env e = new_env();
    tn_arith *a = usual(&e);
    const tn_expr *x = read_expr(&e, "(+ (* (+ (* i 3) (* n j)) 2) (+ (fdiv u 4) (- 5 i)))");
    const tn_expr *vars[2] = {env_var(&e, "i", TNB_I64), env_var(&e, "j", TNB_I64)}, *coeffs[2],
                  *rest;
    assert_true(tn_linear(a, x, vars, 2, coeffs, &rest));
    assert_true(tn_is_int_const(coeffs[0], 5));
    assert_true(tn_prove_eq(a, coeffs[1], read_expr(&e, "(* n 2)")));
    assert_true(tn_prove_eq(a, rest, read_expr(&e, "(+ (fdiv u 4) 5)")));
    assert_false(tn_linear(a, read_expr(&e, "(* i j)"), vars, 2, coeffs, &rest));
    assert_false(tn_linear(a, read_expr(&e, "(fdiv i 3)"), vars, 2, coeffs, &rest));
    free_env(&e);
}

/* ---- iteration maps ---- */

typedef struct map_case {
    const char *indices[3];
    int64_t extents[3]; /* of a, b, c; 0: not used */
    const char *predicate;
    int affine, bijective; /* what is to be found */
} map_case;

static const map_case map_cases[] = {
    {{"a", "b"}, {8, 4, 0}, NULL, 1, 1},
    {{"b", "a"}, {8, 4, 0}, NULL, 1, 1},
    {{"(+ (* a 4) b)"}, {8, 4, 0}, NULL, 1, 1},
    {{"(+ (* a 5) b)"}, {8, 4, 0}, NULL, 1, 0},
    {{"(+ (* a 3) b)"}, {8, 4, 0}, NULL, 0, 0},
    {{"(+ a b)"}, {8, 4, 0}, NULL, 0, 0},
    {{"(fdiv a 2)", "(fmod a 2)"}, {8, 0, 0}, NULL, 1, 1},
    {{"(fdiv a 2)"}, {8, 0, 0}, NULL, 1, 0},
    {{"(fmod a 2)", "(fmod (fdiv a 2) 2)", "(fdiv a 4)"}, {8, 0, 0}, NULL, 1, 1},
    {{"(fdiv (+ (* a 4) b) 8)", "(fmod (+ (* a 4) b) 8)"}, {8, 4, 0}, NULL, 1, 1},
    {{"(fdiv (+ (* a 6) b) 4)", "(fmod (+ (* a 6) b) 4)"}, {8, 6, 0}, NULL, 1, 1},
    {{"(+ (* (fmod a 4) 8) (+ (* b 2) (fdiv a 4)))"}, {8, 4, 0}, NULL, 1, 1},
    {{"a", "a"}, {8, 0, 0}, NULL, 0, 0},
    {{"(* a 2)"}, {8, 0, 0}, NULL, 1, 0},
    {{"(+ a 1)"}, {8, 0, 0}, NULL, 1, 0},
    {{"(+ (* a 4) b)"}, {3, 4, 0}, "(< (+ (* a 4) b) 10)", 1, 1},
    {{"(+ (* a 4) b)"}, {3, 4, 0}, "(< (* a b) 10)", 0, 0},
    {{"(fmod a 3)"}, {8, 0, 0}, NULL, 0, 0},
    {{"a", "b"}, {8, 1, 0}, NULL, 1, 1},
    {{"(+ (* (+ (* a 4) b) 2) c)"}, {3, 4, 2}, NULL, 1, 1},
};

static void
iteration_maps(void **state)
{
    (void)state;
    static const char *const names[3] = {"a", "b", "c"};
    for (size_t k = 0; k < sizeof map_cases / sizeof *map_cases; k++) {
        const map_case *m = &map_cases[k];
        env e = new_env();
        tn_arith *a = tn_arith_new(e.ctx);
        const tn_expr *vars[3], *extents[3], *indices[3], *outputs[3], *inverse[3];
        uint32_t nv = 0, ni = 0;
        for (; nv < 3 && m->extents[nv]; nv++) {
            vars[nv] = env_var(&e, names[nv], TNB_I64);
            extents[nv] = tn_i64(e.ctx, m->extents[nv]);
        }
        for (; ni < 3 && m->indices[ni]; ni++)
            indices[ni] = read_expr(&e, m->indices[ni]);
        const tn_expr *pred = m->predicate ? read_expr(&e, m->predicate) : NULL;
        if (tn_iter_map_check(a, indices, ni, vars, extents, nv, pred, false) != m->affine)
            fail_msg("%s ...: affine should be %d", m->indices[0], m->affine);
        if (tn_iter_map_check(a, indices, ni, vars, extents, nv, pred, true) != m->bijective)
            fail_msg("%s ...: bijective should be %d", m->indices[0], m->bijective);
        static const char *const out_names[3] = {"o0", "o1", "o2"};
        for (uint32_t i = 0; i < ni; i++)
            outputs[i] = env_var(&e, out_names[i], TNB_I64);
        bool inv =
            !pred && tn_iter_map_inverse(a, indices, ni, vars, extents, nv, outputs, inverse);
        if (!pred && inv != m->bijective)
            fail_msg("%s ...: inverse should%s exist", m->indices[0], m->bijective ? "" : " not");
        /* the inverse of the image of every point is the point */
        for (int64_t p = 0;
             inv && p < m->extents[0] * (nv > 1 ? m->extents[1] : 1) * (nv > 2 ? m->extents[2] : 1);
             p++) {
            int64_t rest = p, image[3], v;
            for (uint32_t i = 0; i < nv; i++) {
                e.value[i] = rest % m->extents[i];
                rest /= m->extents[i];
            }
            for (uint32_t i = 0; i < ni; i++)
                assert_true(eval_expr(&e, indices[i], &image[i]));
            for (uint32_t i = 0; i < ni; i++)
                e.value[env_find(&e, out_names[i])] = image[i];
            for (uint32_t i = 0; i < nv; i++)
                if (!eval_expr(&e, inverse[i], &v) || v != e.value[i])
                    fail_msg("%s ...: inverse of point %lld is wrong", m->indices[0], (long long)p);
        }
        free_env(&e);
    }
}

static void
symbolic_iteration_maps(void **state)
{
    (void)state;
    env e = new_env();
    tn_arith *a = tn_arith_new(e.ctx);
    const tn_expr *n = env_var(&e, "n", TNB_I64), *m = env_var(&e, "m", TNB_I64);
    tn_arith_bounds_of_var(a, n, 1, TN_POS_INF);
    tn_arith_bounds_of_var(a, m, 1, TN_POS_INF);
    const tn_expr *vars[2] = {env_var(&e, "a", TNB_I64), env_var(&e, "b", TNB_I64)};
    const tn_expr *extents[2] = {n, m};
    const tn_expr *fuse[1] = {read_expr(&e, "(+ (* a m) b)")};
    assert_true(tn_iter_map_check(a, fuse, 1, vars, extents, 2, NULL, true));
    const tn_expr *wrong[1] = {read_expr(&e, "(+ (* a n) b)")};
    assert_false(tn_iter_map_check(a, wrong, 1, vars, extents, 2, NULL, true));
    const tn_expr *whole[1] = {read_expr(&e, "(* n m)")};
    const tn_expr *split[2] = {read_expr(&e, "(fdiv a m)"), read_expr(&e, "(fmod a m)")};
    assert_true(tn_iter_map_check(a, split, 2, vars, whole, 1, NULL, true));
    free_env(&e);
}

/* Casts widen and narrow around index arithmetic. */
static void
casts_meet(void **state)
{
    (void)state;
    env e = new_env();
    tn_arith *a = tn_arith_new(e.ctx);
    env_var(&e, "s", TNB_I32);
    const tn_expr *wide = read_expr(&e, "(i64 (+ s s))");
    const tn_expr *twice = tn_mul(e.ctx, tn_raw_cast(e.ctx, TNB_I64, e.var[0]), tn_i64(e.ctx, 2));
    assert_true(tn_prove_eq(a, wide, twice));
    assert_ptr_equal(tn_simplify(a, tn_raw_cast(e.ctx, TNB_I32,
                                                tn_raw_cast(e.ctx, TNB_I64, e.var[0]))),
                     e.var[0]);
    /* narrowing may cut: no equality */
    const tn_expr *u = env_var(&e, "u", TNB_I64);
    assert_false(tn_prove_eq(a, tn_raw_cast(e.ctx, TNB_I64, tn_raw_cast(e.ctx, TNB_I32, u)), u));
    free_env(&e);
}

/* Unsigned arithmetic wraps: x + 1 > x is not a theorem there. */
static void
unsigned_is_left_alone(void **state)
{
    (void)state;
    env e = new_env();
    tn_arith *a = tn_arith_new(e.ctx);
    const tn_expr *x = env_var(&e, "x", TNB_U8), *one = tn_int_imm_of(e.ctx, TNB_U8, 1);
    const tn_expr *next = tn_raw_binary(e.ctx, TN_KIND_ADD, x, one);
    assert_false(tn_prove(a, tn_raw_binary(e.ctx, TN_KIND_LT, x, next)));
    assert_ptr_equal(tn_simplify(a, next), next);
    free_env(&e);
}

/* Deep sharing and long sums stay fast: these would take forever if shared parts were visited
 * again. */
static void
shared_nodes_are_visited_once(void **state)
{
    (void)state;
    env e = new_env();
    tn_arith *a = tn_arith_new(e.ctx);
    const tn_expr *x = env_var(&e, "x", TNB_I64), *sum = x;
    for (int i = 0; i < 40; i++)
        x = tn_raw_binary(e.ctx, TN_KIND_MAX, tn_raw_binary(e.ctx, TN_KIND_ADD, x, x), x);
    tn_simplify(a, x);
    for (int i = 0; i < 1500; i++)
        sum = tn_raw_binary(e.ctx, TN_KIND_ADD, sum, tn_i64(e.ctx, i));
    sum = tn_simplify(a, sum);
    assert_true(tn_prove_eq(a, sum, tn_add(e.ctx, e.var[0], tn_i64(e.ctx, 1500 * 1499 / 2))));
    tn_ctx_free(e.ctx);
}

/* ---- asked again ---- */

/* What is said to an analyzer, one thing after the other: the range of a loop, or a condition. */
typedef struct said {
    const tn_expr *var, *what; /* var NULL: a condition */
} said;

static void
say(env *e, tn_arith *a, const said *s)
{
    tn_arith_push(a, s->var ? NULL : s->what);
    if (s->var)
        tn_arith_range(a, s->var, tn_i64(e->ctx, 0), s->what);
}

/* An analyzer that knows what these tell, and was asked nothing. */
static tn_arith *
told(env *e, const said *s, uint32_t n)
{
    tn_arith *a = tn_arith_new(e->ctx);
    for (int i = 0; i < 4; i++)
        env_var(e, (const char *[]){"n", "m", "i", "j"}[i], TNB_I64);
    tn_arith_shape_var(a, e->var[0]);
    tn_arith_shape_var(a, e->var[1]);
    for (uint32_t i = 0; i < n; i++)
        say(e, a, &s[i]);
    return a;
}

static const tn_expr *
any_of(env *e, uint64_t *seed, const char *const *text, uint32_t n)
{
    return read_expr(e, text[next_random(seed) % n]);
}

static bool
is_inside(const said *s, uint32_t n, const tn_expr *var)
{
    for (uint32_t i = 0; i < n; i++)
        if (s[i].var == var)
            return true;
    return false;
}

/* Whether x uses the variable of a loop that these are not in; where `entered` is given, of one that was left, as its range is
 * not forgotten. */
static bool
uses_outside(const env *e, const tn_expr *x, const bool *entered, const said *s, uint32_t n)
{
    for (int v = 2; v < 4; v++)
        if (!is_inside(s, n, e->var[v]) && (!entered || entered[v]) && tn_uses(x, e->var[v]))
            return true;
    return false;
}

/* What fails is remembered, and no answer depends on it: one analyzer, through loops and conditions that come and go, says
 * what a new one says that was told the same. */
static void
answers_do_not_depend_on_questions(void **state)
{
    (void)state;
    enum { DEPTH = 4 };
    static const char *const extents[] = {"n", "m", "8", "(fdiv (+ n 7) 8)", "(min m 16)"};
    static const char *const conditions[] = {"(<= n m)", "(< i m)", "(<= (+ (* i 8) j) n)",
                                             "(<= 8 n)", "(< j 4)", "(<= n 16)"};
    static const char *const questions[] = {
        "(< i n)",          "(< i m)",        "(< j m)",
        "(<= i (min n m))", "(<= 0 (- n i))", "(< (min i 5) n)",
        "(< (* i 8) n)",    "(< j i)",        "(<= (max i j) (max n m))",
        "(< j 16)",         "(<= 4 n)",       "(<= (fdiv (+ n 7) 8) (fdiv (+ m 7) 8))",
        "(< i 64)",         "(< j 4)",        "(< (+ (* i 8) (fmod j 8)) (+ n 8))"};
    uint64_t seed = 77;
    uint32_t proved = 0, again = 0;
    for (int round = 0; round < 150; round++) {
        env e = new_env();
        said s[DEPTH];
        uint32_t n = 0;
        tn_arith *a = told(&e, NULL, 0);
        bool entered[4] = {false};
        for (int step = 0; step < 60; step++) {
            uint64_t r = next_random(&seed);
            if (r % 8 < 2 && n) {
                tn_arith_pop(a, --n);
            } else if (r % 8 < 4 && n < DEPTH) {
                int v = is_inside(s, n, e.var[2]) ? 3 : 2;
                bool loop = r >> 8 & 1 && !is_inside(s, n, e.var[v]);
                said next = {loop ? e.var[v] : NULL, NULL};
                next.what = loop ? any_of(&e, &seed, extents, 5) : any_of(&e, &seed, conditions, 6);
                if (uses_outside(&e, next.what, NULL, s, n))
                    continue;
                entered[v] |= loop;
                say(&e, a, &next);
                s[n++] = next;
            } else {
                const tn_expr *q = any_of(&e, &seed, questions, 15);
                if (uses_outside(&e, q, entered, s, n))
                    continue;
                uint32_t failed = a->failed.n;
                bool holds = tn_prove(a, q);
                if (holds != tn_prove(told(&e, s, n), q))
                    fail_expr(&e,
                              holds ? "proved for having been asked before" : "not proved again", q,
                              q);
                proved += holds;
                again += !holds && failed && a->failed.n == failed;
            }
        }
        free_env(&e);
    }
    assert_true(proved > 300 && again > 300);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_keeps_the_value),
        cmocka_unit_test(canonical_forms),
        cmocka_unit_test(proofs_with_symbolic_ranges),
        cmocka_unit_test(random_expressions_keep_their_values),
        cmocka_unit_test(arithmetic_of_data_wraps),
        cmocka_unit_test(extrema_under_conditions),
        cmocka_unit_test(intervals_hold),
        cmocka_unit_test(linear_forms),
        cmocka_unit_test(iteration_maps),
        cmocka_unit_test(symbolic_iteration_maps),
        cmocka_unit_test(casts_meet),
        cmocka_unit_test(unsigned_is_left_alone),
        cmocka_unit_test(shared_nodes_are_visited_once),
        cmocka_unit_test(answers_do_not_depend_on_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
