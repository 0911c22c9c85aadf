/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of index arithmetic keep what they compute under CommonSubexprElim, bit by bit: by the
 * interpreter, which refuses a division by 0, and some of them compiled. The seed is printed;
 * TENON_SEED sets it, TENON_ROUNDS the number of programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "draw.h"
#include "krun.h"
#include "tenon/core/expr.h"
#include "tenon/core/text.h"

enum { ELEMENTS = 64, NAMES = 24 };

static krun k;
/* What a program may use at a place: variables, expressions of before (to be used again), and which of
 * the parameters n, m and d are not 0. */
typedef struct place {
    const tn_expr *vars[NAMES], *old[NAMES];
    uint32_t n_vars, n_old;
    bool nonzero[3];
} place;

static const tn_expr *params[3];
static const tn_node *data;

static int
open_all(void **state)
{
    (void)state;
    draw_seed(20240229);
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

static const tn_expr *
condition(place *p, int depth);

static const tn_expr *
operation(place *p, int depth);

static const tn_expr *
number(place *p, int depth)
{
    if (p->n_old && between(0, 2) == 0)
        return p->old[between(0, p->n_old - 1)];
    if (depth == 0 || between(0, 5) == 0)
        return between(0, 3) ? p->vars[between(0, p->n_vars - 1)] : tn_i64(k.ctx, between(-3, 6));
    const tn_expr *e = operation(p, depth - 1);
    if (p->n_old < NAMES)
        p->old[p->n_old++] = e;
    return e;
}

/* x // d, which only a place where d is not 0 may compute. */
static const tn_expr *
quotient(place *p, int depth, int by)
{
    place within = *p;
    const tn_expr *x = number(&within, depth);
    return between(0, 1) ? tn_floordiv(k.ctx, x, params[by]) : tn_floormod(k.ctx, x, params[by]);
}

static const tn_expr *
operation(place *p, int depth)
{
    tn_ctx *c = k.ctx;
    int by = (int)between(0, 2);
    const tn_expr *x = number(p, depth);
    switch (between(0, 10)) {
    case 0:
        return tn_floordiv(c, x, tn_i64(c, between(1, 5)));
    case 1:
        return tn_floormod(c, x, tn_i64(c, between(1, 9)));
    case 2:
        return tn_min(c, x, number(p, depth));
    case 3:
        return tn_select_of(c, condition(p, depth), x, number(p, depth));
    case 4: {
        const tn_expr *x32 = tn_cast_to(c, TNB_I32, x);
        return tn_cast_to(c, TNB_I64, tn_add(c, x32, tn_cast_to(c, TNB_I32, number(p, depth))));
    }
    case 5:
        return p->nonzero[by] ? quotient(p, depth, by)
                              : tn_if_then_else(c, tn_ne(c, params[by], tn_i64(c, 0)),
                                                quotient(p, depth, by), x);
    case 6:
        return tn_sub(c, x, number(p, depth));
    case 7:
        return tn_mul(c, x, number(p, depth));
    default:
        return tn_add(c, x, number(p, depth));
    }
}

static const tn_expr *
condition(place *p, int depth)
{
    static const tn_kind kinds[] = {TN_KIND_LT, TN_KIND_LE, TN_KIND_EQ, TN_KIND_NE};
    const tn_expr *x = tn_cmp(k.ctx, kinds[between(0, 3)], number(p, depth), number(p, depth));
    if (depth == 0 || between(0, 2))
        return x;
    return between(0, 1) ? tn_and(k.ctx, x, condition(p, depth - 1))
                         : tn_or(k.ctx, x, condition(p, depth - 1));
}

static tn_list
index_of(place *p)
{
    const tn_expr *i = tn_floormod(k.ctx, number(p, 3), tn_i64(k.ctx, ELEMENTS));
    return tn_list_of(k.ctx, &i, 1);
}

static const tn_stmt *
statement(place p, int depth);

static const tn_stmt *
statements(place p, int depth)
{
    const tn_stmt *v[4];
    uint32_t n = 0, most = (uint32_t)between(1, 4);
    while (n < most) {
        if (n + 1 < most && p.n_vars < NAMES && between(0, 4) == 0) {
            const tn_expr *x = tn_var_dtype(k.ctx, "x", TNB_I64);
            v[n++] = tn_bind_of(k.ctx, x, number(&p, 3));
            p.vars[p.n_vars++] = x;
        } else {
            v[n++] = statement(p, depth);
        }
    }
    return tn_seq_of(k.ctx, tn_list_of(k.ctx, v, n));
}

static const tn_stmt *
loop(place p, int depth)
{
    int by = (int)between(0, 2), and = (int)between(0, 2);
    const tn_expr *turns = tn_i64(k.ctx, between(1, 3)), *i = tn_var_dtype(k.ctx, "i", TNB_I64);
    if (between(0, 3)) {
        turns = params[by];
        p.nonzero[by] = true;
        if (between(0, 1)) {
            turns = tn_mul(k.ctx, turns, params[and]);
            p.nonzero[and] = true;
        }
    }
    if (p.n_vars < NAMES)
        p.vars[p.n_vars++] = i;
    return tn_for_of(k.ctx, i, tn_i64(k.ctx, 0), turns, TN_FOR_SERIAL, NULL, NULL,
                     statements(p, depth - 1));
}

static const tn_stmt *
statement(place p, int depth)
{
    tn_ctx *c = k.ctx;
    int64_t what = depth > 0 ? between(0, 5) : 5;
    if (what < 2 && p.n_vars < NAMES)
        return loop(p, depth);
    if (what == 2) {
        int by = (int)between(0, 2);
        const tn_expr *zero = tn_ne(c, params[by], tn_i64(c, 0));
        place other = p;
        p.nonzero[by] = true;
        const tn_stmt *a = statements(p, depth - 1);
        return tn_if_stmt_of(c, zero, a, between(0, 1) ? statements(other, depth - 1) : NULL);
    }
    if (what == 3) {
        const tn_expr *cond = condition(&p, 2);
        return tn_if_stmt_of(c, cond, statements(p, depth - 1), NULL);
    }
    tn_list at = index_of(&p);
    const tn_expr *more = tn_floormod(c, number(&p, 3), tn_i64(c, 7));
    return tn_buffer_store_of(c, data,
                              tn_add(c, tn_buffer_load_of(c, data, index_of(&p)),
                                     tn_cast_to(c, TNB_F32, more)),
                              at);
}

static const tn_node *
program(void)
{
    tn_ctx *c = k.ctx;
    static const char *const names[] = {"n", "m", "d"};
    const tn_expr *size = tn_i64(c, ELEMENTS);
    data = tn_buffer_new(c, "A", tn_list_of(c, &size, 1), TNB_F32, NULL);
    place p = {.n_vars = 3};
    const tn_node *vars[4] = {tn_var_dtype(c, "a", TNB_DTYPE(TNB_HANDLE, 64))};
    const tn_node *buffers[4] = {data};
    for (int i = 0; i < 3; i++)
        vars[i + 1] = p.vars[i] = params[i] = tn_var_dtype(c, names[i], TNB_I64);
    const tn_stmt *body = statements(p, 4);
    return tn_prim_func_of(c, tn_list_of(c, vars, 4), tn_list_of(c, buffers, 4), body, NULL, NULL);
}

static const tn_node *
eliminated(const tn_node *f)
{
    static const char *const texts[] = {"CommonSubexprElim", "CommonSubexprElim{hoist=1}",
                                        "CommonSubexprElim{hoist=0}",
                                        "CommonSubexprElim,CommonSubexprElim{hoist=1}"};
    tn_pass_list list;
    assert_true(tn_pass_list_parse(k.ctx, texts[between(0, 3)], "test", &list));
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", f);
    tn_pass_run run = {.target = k.target};
    m = tn_run_passes(k.ctx, m, &list, &run);
    return m ? tn_module_get(m, "f") : NULL;
}

static bool
interpreted(const tn_node *f, tn_list args)
{
    tnb_err err = {0};
    const tn_evaluator *eval = tn_find_evaluator(k.reg, "interp", &err);
    assert_non_null(eval);
    tn_eval_options opt = {0};
    const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", f);
    return eval->run(eval->self, k.ctx, m, "f", args.at, args.n, &opt) != NULL;
}

static void
fail_with(const tn_node *before, const tn_node *after, const char *why)
{
    krun_print_errors(&k);
    fprintf(stderr, "%s\n%s\n", tn_text(k.ctx, before), after ? tn_text(k.ctx, after) : "");
    fail_msg("%s", why);
}

static void
check(const tn_node *before, const tn_node *after, bool compiled)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        tn_list a;
        assert_true(tn_random_args(k.ctx, before, seed, NULL, &a));
        for (uint32_t i = 1; i <= 3; i++) /* 0 often: then what is guarded may not be computed */
            a = tn_list_with(k.ctx, a, i, tn_i64(k.ctx, between(0, 1) * between(-1, 4)));
        tn_list b = krun_copy(&k, a), c = krun_copy(&k, a);
        if (!interpreted(before, a))
            fail_with(before, NULL, "the program itself fails");
        if (!interpreted(after, b))
            fail_with(before, after, "it fails when it is changed");
        if (!tn_values_close(k.ctx, b.at[0], a.at[0], 0, 0, NULL))
            fail_with(before, after, "it computes something else");
        if (compiled && seed == 1 &&
            (!krun_run(&k, before, c) || !tn_values_close(k.ctx, c.at[0], a.at[0], 0, 0, NULL)))
            fail_with(before, after, "compiled it computes something else");
    }
}

static void
index_arithmetic_keeps_its_meaning(void **state)
{
    (void)state;
    const char *r = getenv("TENON_ROUNDS");
    int rounds = r ? atoi(r) : draw_long() ? 5000 : 200, changed = 0;
    for (int i = 0; i < rounds; i++) {
        const tn_node *f = program();
        assert_non_null(f);
        const tn_node *g = eliminated(f);
        if (!g)
            fail_with(f, NULL, "the pass fails");
        changed += g != f;
        check(f, g, i % 25 == 0);
    }
    printf("%d of %d programs changed\n", changed, rounds);
    assert_true(changed * 3 > rounds);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(index_arithmetic_keeps_its_meaning)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
