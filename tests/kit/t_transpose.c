/* SPDX-License-Identifier: Apache-2.0 */
/* Random permutations of dimensions, with reshapes before and behind and elements computed on the way: what the cpu's rule
 * makes of them computes what the unscheduled program computes, for all sizes of elements, odd, empty and symbolic extents.
 * The seed is printed; TENON_SEED sets it, TENON_ROUNDS the number of programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "draw.h"
#include "krun.h"
#include "tenon/core/text.h"
#include "tenon/kit/te.h"

enum { MAX_RANK = 13, DRAWN_RANK = 5 };

static krun k;
static uint32_t n_turned; /* programs that the rule took */

static int
open_all(void **state)
{
    (void)state;
    draw_seed(20261121);
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

static const tnb_dtype types[] = {TNB_F32,           TNB_F32, TNB_F16, TNB_BF16,
                                  TNB_F64,           TNB_I32, TNB_I64, {TNB_INT, 16, 1},
                                  {TNB_UINT, 16, 1}, TNB_I8,  TNB_U8,  TNB_B8};
enum { N_TYPES = sizeof types / sizeof types[0] };

typedef struct program {
    tnk_te *te;
    const tn_node *dims;
    const tn_expr *extent[MAX_RANK]; /* of the operand */
    int64_t size[MAX_RANK];
    uint32_t rank, perm[MAX_RANK]; /* dimension i of the result is the operand's perm[i] */
    tnb_dtype d;
    char what[200];
} program;

static int64_t
some_extent(int64_t most)
{
    int64_t n;
    switch (between(0, 9)) {
    case 0:
        n = between(0, 3);
        break;
    case 1:
        n = (int64_t)1 << between(0, 9);
        break;
    case 2:
        n = ((int64_t)1 << between(3, 8)) + between(-1, 1);
        break;
    case 3:
        n = between(120, 300);
        break;
    default:
        n = between(1, 50);
    }
    return n < most ? n : most;
}

static void
begin(program *p, uint32_t rank, bool symbolic)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    *p = (program){.te = tnk_te_new(k.ctx),
                   .dims = tn_dictv(k.ctx, NULL),
                   .rank = rank,
                   .d = types[between(0, N_TYPES - 1)]};
    int64_t left = 60000;
    int at = snprintf(p->what, sizeof p->what, "%s:", tnb_dtype_print(p->d).s);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t n = p->size[i] = some_extent(left);
        left = n > 0 ? left / n : left;
        bool known = !symbolic || between(0, 1);
        p->extent[i] = known ? tn_i64(k.ctx, n) : tn_var_dtype(k.ctx, names[i], TNB_I64);
        if (!known)
            p->dims = tn_dict_set(k.ctx, p->dims, names[i], tn_i64(k.ctx, n));
        at += snprintf(p->what + at, sizeof p->what - (size_t)at, " %lld%s", (long long)n,
                       known ? "" : "?");
    }
    for (uint32_t i = 0; i < rank; i++) { /* a permutation */
        uint32_t j = (uint32_t)between(0, i);
        p->perm[i] = p->perm[j];
        p->perm[j] = i;
    }
    for (uint32_t i = 0; i < rank; i++)
        at += snprintf(p->what + at, sizeof p->what - (size_t)at, "%s%u", i ? "," : " by ",
                       p->perm[i]);
}

static void
check(program *p, const tn_node *result)
{
    const tn_node *f = tnk_te_finish(p->te, &result, 1);
    assert_non_null(f);
    const tn_node *alone = krun_schedule(&k, f, "Transpose"),
                  *s = krun_schedule(&k, f, "Transpose,Elementwise,Fallback");
    n_turned += alone && alone != f;
    if (!s)
        krun_print_errors(&k);
    /* moved elements are moved bits; no tolerance */
    if (!s || !krun_same(&k, f, s, p->dims, 0, 0))
        fail_msg("%s", p->what);
}

/* Element [at] of the operand, whose indices are those of the result's stage permuted. */
static const tn_expr *
element(program *p, const tn_node *x, const tn_expr *const *axes)
{
    const tn_expr *at[MAX_RANK];
    for (uint32_t i = 0; i < p->rank; i++)
        at[p->perm[i]] = axes[i];
    return tnk_te_read_at(p->te, x, at, p->rank);
}

static const tn_node *
operand(program *p, const char *name, const tn_expr *const *extent, uint32_t rank)
{
    return tnk_te_input(p->te, name,
                        tn_ty_tensor_dims(k.ctx, tn_list_of(k.ctx, extent, rank), p->d));
}

static void
result_extents(program *p, const tn_expr **out)
{
    for (uint32_t i = 0; i < p->rank; i++)
        out[i] = tnk_te_expr(p->te, p->extent[p->perm[i]]);
}

static void
permutations(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(80); i++) {
        program p;
        begin(&p, (uint32_t)between(2, DRAWN_RANK), i % 3 == 0);
        const tn_node *x = operand(&p, "x", p.extent, p.rank);
        const tn_expr *dims[MAX_RANK];
        result_extents(&p, dims);
        tnk_stage *s = tnk_te_stage(p.te, "y", dims, p.rank, p.d);
        check(&p, tnk_te_define(s, element(&p, x, s->axes)));
    }
    assert_true(n_turned > 0);
}

/* y[...] = x permuted + z as the result lies, or + w permuted as x is; cast to another type. */
static void
permutations_with_elements(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(50); i++) {
        program p;
        begin(&p, (uint32_t)between(2, 4), i % 3 == 0);
        if (tnb_dtype_is_bool(p.d) || (tnb_dtype_is_float(p.d) && p.d.bits == 16))
            p.d = TNB_F32;
        const tn_expr *dims[MAX_RANK], *own[MAX_RANK];
        const tn_node *x = operand(&p, "x", p.extent, p.rank);
        for (uint32_t j = 0; j < p.rank; j++)
            own[j] = p.extent[p.perm[j]];
        bool turned = between(0, 1);
        const tn_node *z = operand(&p, "z", turned ? p.extent : own, p.rank);
        result_extents(&p, dims);
        tnb_dtype to = between(0, 2) ? p.d : TNB_I32;
        tnk_stage *s = tnk_te_stage(p.te, "y", dims, p.rank, to);
        const tn_expr *e =
            turned ? element(&p, z, s->axes) : tnk_te_read_at(p.te, z, s->axes, p.rank);
        e = tn_add(k.ctx, element(&p, x, s->axes), e);
        if (!tnb_dtype_eq(to, p.d))
            e = tn_cast_to(k.ctx, to, e);
        check(&p, tnk_te_define(s, e));
    }
}

/* The last two dimensions of the result as one, the first of the operand as two: heads of attention, channels
 * that are shuffled. */
static void
permutations_with_reshapes(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(50); i++) {
        program p;
        begin(&p, (uint32_t)between(3, 4), false);
        const tn_node *x = operand(&p, "x", p.extent, p.rank);
        const tn_expr *dims[MAX_RANK], *at[MAX_RANK];
        result_extents(&p, dims);
        uint32_t joined = (uint32_t)between(0, p.rank - 2);
        int64_t inner = p.size[p.perm[joined + 1]];
        if (inner == 0)
            continue;
        dims[joined] = tn_mul(k.ctx, dims[joined], dims[joined + 1]);
        for (uint32_t j = joined + 1; j + 1 < p.rank; j++)
            dims[j] = dims[j + 1];
        tnk_stage *s = tnk_te_stage(p.te, "y", dims, p.rank - 1, p.d);
        for (uint32_t j = 0; j < p.rank; j++)
            at[j] = s->axes[j > joined ? j - 1 : j];
        at[joined] = tn_floordiv(k.ctx, s->axes[joined], tn_i64(k.ctx, inner));
        at[joined + 1] = tn_floormod(k.ctx, s->axes[joined], tn_i64(k.ctx, inner));
        check(&p, tnk_te_define(s, element(&p, x, at)));
    }
}

/* Results that are written past the caches, by several threads. */
static void
large_ones(void **state)
{
    (void)state;
    static const struct {
        uint32_t rank, perm[MAX_RANK];
        int64_t size[MAX_RANK];
        tnb_dtype d;
    } all[] = {{2, {1, 0}, {2048, 2064}, TNB_F32},
               {3, {0, 2, 1}, {2, 48, 65536}, TNB_F32},
               {3, {0, 2, 1}, {4, 70000, 32}, {TNB_UINT, 16, 1}},
               {4, {0, 2, 1, 3}, {8, 64, 128, 96}, TNB_F32},
               {2, {1, 0}, {1024, 4097}, TNB_I64},
               {13, /* more axes than a rule counts, most of them of one element */
                {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 11, 10},
                {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 64, 3, 80},
                TNB_F32}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        program p = {.te = tnk_te_new(k.ctx),
                     .dims = tn_dictv(k.ctx, NULL),
                     .rank = all[i].rank,
                     .d = all[i].d};
        snprintf(p.what, sizeof p.what, "large one %zu", i);
        for (uint32_t j = 0; j < p.rank; j++) {
            p.extent[j] = tn_i64(k.ctx, all[i].size[j]);
            p.perm[j] = all[i].perm[j];
        }
        const tn_node *x = operand(&p, "x", p.extent, p.rank);
        const tn_expr *dims[MAX_RANK];
        result_extents(&p, dims);
        tnk_stage *s = tnk_te_stage(p.te, "y", dims, p.rank, p.d);
        check(&p, tnk_te_define(s, element(&p, x, s->axes)));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutations),
        cmocka_unit_test(permutations_with_elements),
        cmocka_unit_test(permutations_with_reshapes),
        cmocka_unit_test(large_ones),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
