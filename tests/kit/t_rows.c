/* SPDX-License-Identifier: Apache-2.0 */
/* Random reductions, softmaxes, normalizations and element-wise programs: what the rules of the cpu
 * make of them computes what the unscheduled program computes, for extents of any size, empty and
 * symbolic ones included, and all dtypes. The seed is printed; TENON_SEED sets it, TENON_ROUNDS the
 * number of programs.
 */
#include <math.h>
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

static krun k;
static int
open_all(void **state)
{
    (void)state;
    draw_seed(20250417);
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

/* A program under construction: a tensor x of some rank, some extents symbolic. */
typedef struct program {
    tnk_te *te;
    const tn_node *dims, *x;
    const tn_expr *extent[4];
    int64_t size[4];
    uint32_t rank;
    tnb_dtype d;
} program;

static const tnb_dtype types[] = {TNB_F32, TNB_F32, TNB_F32, TNB_F16, TNB_BF16,
                                  TNB_F64, TNB_I32, TNB_I64, TNB_I8,  TNB_U8};
enum { N_TYPES = sizeof types / sizeof types[0], N_FLOATS = 6 };

/* Powers of two, their neighbours, small numbers, none; now and then one that several threads share. */
static int64_t
some_extent(int64_t most)
{
    int64_t n;
    switch (between(0, 7)) {
    case 0:
        n = between(0, 3);
        break;
    case 1:
        n = (int64_t)1 << between(0, 9);
        break;
    case 2:
        n = ((int64_t)1 << between(2, 8)) + between(-1, 1);
        break;
    default:
        n = between(1, 70);
    }
    return n < most ? n : most;
}

static void
begin(program *p, uint32_t rank, tnb_dtype d)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    *p = (program){.te = tnk_te_new(k.ctx), .dims = tn_dictv(k.ctx, NULL), .rank = rank, .d = d};
    TNB_VEC(const tn_node *) shape = {0};
    int64_t left = 40000;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t n = p->size[i] = some_extent(left);
        left = n > 0 ? left / n : left;
        if (between(0, 2) > 0) {
            p->extent[i] = tn_i64(k.ctx, n);
        } else {
            p->dims = tn_dict_set(k.ctx, p->dims, names[i], tn_i64(k.ctx, n));
            p->extent[i] = tn_var_dtype(k.ctx, names[i], TNB_I64);
        }
        TNB_PUSH(tn_scratch(k.ctx), shape, p->extent[i]);
    }
    p->x = tnk_te_input(p->te, "x", tn_ty_tensor_dims(k.ctx, (tn_list){shape.at, shape.n}, d));
}

static void
check(program *p, const tn_node *result, const char *kind)
{
    char what[240];
    const tn_node *f = tnk_te_finish(p->te, &result, 1);
    int at = snprintf(what, sizeof what, "%s of %s:", kind, tnb_dtype_print(p->d).s);
    for (uint32_t i = 0; i < p->rank; i++)
        at += snprintf(what + at, sizeof what - (size_t)at, " %lld%s", (long long)p->size[i],
                       tn_is(p->extent[i], TN_KIND_INT_IMM) ? "" : "?");
    assert_non_null(f);
    const tn_node *s = krun_schedule(
        &k, f,
        "Transpose,Elementwise,Recurrent,Conv2d,Matmul,Softmax,Reduction,Pool,GEMV,Fallback");
    if (!s)
        krun_print_errors(&k);
    bool half = tnb_dtype_is_float(p->d) && p->d.bits == 16;
    if (!s || !krun_same(&k, f, s, p->dims, half ? 6e-2 : 3e-4, half ? 6e-2 : 3e-4))
        fail_msg("%s", what);
}

/* ---- programs ---- */

/* Some dimensions to reduce; 0: none. Not empty ones: an unscheduled block that never runs leaves its
 * result as it was. */
static unsigned
reduced_dims(const program *p)
{
    unsigned dims = (unsigned)between(1, (1 << p->rank) - 1);
    for (uint32_t i = 0; i < p->rank; i++)
        if (p->size[i] == 0)
            dims &= ~(1u << i);
    return dims;
}

typedef enum kind { SUM, LARGEST, LEAST, SQUARES } kind;

/* Reduces the dimensions whose bit is set; the others stay. `less`: subtracted from what is read, over
 * what stays; NULL: nothing. Sums of 16-bit floats are taken in float32, as legalization has them: one in bfloat16 stops to
 * grow at 256 times its summands, so that orders of summation differ by any factor. */
static const tn_node *
reduce(program *p, const tn_node *of, unsigned dims, kind how, const tn_node *less, bool exp)
{
    const tn_expr *kept[4], *at[4], *own[4];
    uint32_t n = 0, j = 0;
    for (uint32_t i = 0; i < p->rank; i++)
        if (!(dims >> i & 1))
            kept[n++] = tnk_te_expr(p->te, p->extent[i]);
    bool sum = how == SUM || how == SQUARES,
         wider = sum && tnb_dtype_is_float(p->d) && p->d.bits == 16;
    tnk_stage *s = tnk_te_stage(p->te, "red", kept, n, wider ? TNB_F32 : p->d);
    for (uint32_t i = 0; i < p->rank; i++)
        at[i] = dims >> i & 1 ? tnk_te_reduce_axis(s, "k", tnk_te_expr(p->te, p->extent[i]))
                              : (own[j] = s->axes[j], s->axes[j++]);
    const tn_expr *v = tnk_te_read_at(p->te, of, at, p->rank);
    if (less)
        v = tn_sub(k.ctx, v, tnk_te_read_at(p->te, less, own, n));
    if (exp)
        v = tn_intrin1(k.ctx, TN_INTRIN_exp, v);
    if (!sum)
        return tnk_te_reduce(s, how == LARGEST ? TNK_MAX : TNK_MIN, v);
    v = tn_cast_to(k.ctx, wider ? TNB_F32 : p->d, v);
    const tn_node *total = tnk_te_sum(s, how == SQUARES ? tn_mul(k.ctx, v, v) : v);
    if (!wider)
        return total;
    s = tnk_te_stage_like(p->te, "narrow", total, p->d);
    v = tnk_te_read_at(p->te, total, s->axes, s->n_axes);
    return tnk_te_define(s, tn_cast_to(k.ctx, p->d, v));
}

/* A sum, a product, the largest or the least, over any of the dimensions, with something behind it. */
static void
reductions(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(60); i++) {
        program p;
        begin(&p, (uint32_t)between(1, 4), types[between(0, N_TYPES - 1)]);
        unsigned dims = reduced_dims(&p);
        if (!dims)
            continue;
        kind how = (kind)between(0, 3);
        const tn_node *y = reduce(&p, p.x, dims, how, NULL, false);
        if (between(0, 2) == 0) {
            tnk_stage *s = tnk_te_stage_like(p.te, "more", y, p.d);
            y = tnk_te_define(s, tn_add(k.ctx, tnk_te_read_at(p.te, y, s->axes, s->n_axes),
                                        tn_literal(k.ctx, p.d, 3)));
        }
        char what[40];
        snprintf(what, sizeof what, "reduction %d over %x", how, dims);
        check(&p, y, what);
    }
}

/* The better value and its place; NaN is better than any number, and of equal values the one before or behind. */
typedef struct best {
    bool most, last, nan;
} best;

static void
better(tn_ctx *ctx, const tn_expr *const *acc, const tn_expr *const *x, const tn_expr **next,
       uint32_t n, void *user)
{
    const best *b = user;
    (void)n;
    const tn_expr *take = tn_bin(ctx, b->most ? TN_KIND_GT : TN_KIND_LT, x[1], acc[1]);
    const tn_expr *equal = tn_eq_of(ctx, x[1], acc[1]);
    if (b->nan) {
        const tn_expr *none = tn_ne_of(ctx, x[1], x[1]);
        take = tn_or(ctx, take, tn_and(ctx, none, tn_eq_of(ctx, acc[1], acc[1])));
        equal = tn_or(ctx, equal, tn_and(ctx, none, tn_ne_of(ctx, acc[1], acc[1])));
    }
    const tn_expr *at = tn_bin(ctx, b->last ? TN_KIND_GT : TN_KIND_LT, x[0], acc[0]);
    take = tn_or(ctx, take, tn_and(ctx, equal, at));
    next[0] = tn_select_of(ctx, take, x[0], acc[0]);
    next[1] = tn_select_of(ctx, take, x[1], acc[1]);
}

/* The place of the largest or the least element, the first or the last of equal ones, of which there are many. */
static void
places(void **state)
{
    (void)state;
    int wide = 0;
    for (int i = 0; i < draw_rounds(60); i++) {
        program p;
        begin(&p, (uint32_t)between(1, 3), types[between(0, N_TYPES - 1)]);
        unsigned dims = reduced_dims(&p);
        if (!dims)
            continue;
        bool floats = tnb_dtype_is_float(p.d);
        best b = {.most = between(0, 1), .last = between(0, 1), .nan = floats};
        const tn_expr *kept[4], *at[4], *place = tn_i64(k.ctx, 0);
        uint32_t n = 0, j = 0;
        for (uint32_t d = 0; d < p.rank; d++)
            if (!(dims >> d & 1))
                kept[n++] = tnk_te_expr(p.te, p.extent[d]);
        tnk_stage *s = tnk_te_stage(p.te, "best", kept, n, TNB_I64);
        for (uint32_t d = 0; d < p.rank; d++) {
            const tn_expr *e = tnk_te_expr(p.te, p.extent[d]);
            at[d] = dims >> d & 1 ? tnk_te_reduce_axis(s, "k", e) : s->axes[j++];
            if (dims >> d & 1)
                place = tn_add(k.ctx, tn_mul(k.ctx, place, e), at[d]);
        }
        const tn_expr *v = tnk_te_read_at(p.te, p.x, at, p.rank);
        int how = between(0, 3);
        if (how == 0) /* many equal ones */
            v = tn_max(k.ctx, v, tn_literal(k.ctx, p.d, 1));
        else if (how == 1 && floats && p.d.bits >= 32) /* and many that are no number */
            v = tn_intrin1(k.ctx, TN_INTRIN_sqrt, v);
        else if (how == 2)
            v = tn_literal(k.ctx, p.d, 0); /* nothing else */
        if (how == 2)
            v = tn_min(k.ctx, tnk_te_read_at(p.te, p.x, at, p.rank), v);
        const tn_expr *worst =
            floats   ? tn_float_imm_of(k.ctx, p.d, b.most ? (double)-INFINITY : (double)INFINITY)
            : b.most ? tn_min_value(k.ctx, p.d)
                     : tn_max_value(k.ctx, p.d);
        const tn_expr *values[2] = {place, v},
                      *init[2] = {b.last ? tn_i64(k.ctx, -1) : tn_max_value(k.ctx, TNB_I64), worst};
        const tnb_dtype dtypes[2] = {TNB_I64, p.d};
        const tn_node *outs[2];
        tnk_te_reduce_tuple(s, dtypes, values, init, 2, better, &b, outs);
        char what[60];
        snprintf(what, sizeof what, "place %d%d over %x of %d", b.most, b.last, dims, how);
        s = tnk_te_stage_like(p.te, "place", outs[0], TNB_I64);
        check(&p, tnk_te_define(s, tnk_te_read_at(p.te, outs[0], s->axes, s->n_axes)), what);
        wide += strstr(k.last_source, "places") != NULL;
    }
    assert_true(wide > 0);
}

/* (x - largest) / sum and the like, over any of the dimensions. */
static void
steps_over_rows(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(60); i++) {
        program p;
        begin(&p, (uint32_t)between(1, 4), types[between(0, N_FLOATS - 1)]);
        unsigned dims = reduced_dims(&p);
        if (!dims)
            continue;
        bool kept = between(0, 1), exp = between(0, 1);
        const tn_node *m = reduce(&p, p.x, dims, exp ? LARGEST : (kind)between(1, 2), NULL, false);
        const tn_node *e = NULL;
        tnk_stage *s;
        if (kept) {
            const tn_expr *own[4];
            uint32_t n = 0;
            s = tnk_te_stage_like(p.te, "less", p.x, p.d);
            for (uint32_t j = 0; j < p.rank; j++)
                if (!(dims >> j & 1))
                    own[n++] = s->axes[j];
            const tn_expr *v = tn_sub(k.ctx, tnk_te_read_at(p.te, p.x, s->axes, p.rank),
                                      tnk_te_read_at(p.te, m, own, n));
            e = tnk_te_define(s, exp ? tn_intrin1(k.ctx, TN_INTRIN_exp, v) : v);
        }
        const tn_node *sum = kept ? reduce(&p, e, dims, exp ? SUM : SQUARES, NULL, false)
                                  : reduce(&p, p.x, dims, exp ? SUM : SQUARES, m, exp);
        s = tnk_te_stage_like(p.te, "out", p.x, p.d);
        const tn_expr *own[4];
        uint32_t n = 0;
        for (uint32_t j = 0; j < p.rank; j++)
            if (!(dims >> j & 1))
                own[n++] = s->axes[j];
        const tn_expr *v = tnk_te_read_at(p.te, kept ? e : p.x, s->axes, p.rank);
        if (!kept)
            v = tn_sub(k.ctx, v, tnk_te_read_at(p.te, m, own, n));
        const tn_node *y = tnk_te_define(s, tn_div(k.ctx, v,
                                                   tn_add(k.ctx, tnk_te_read_at(p.te, sum, own, n),
                                                          tn_literal(k.ctx, p.d, 1))));
        char what[60];
        snprintf(what, sizeof what, "rows over %x kept=%d exp=%d", dims, kept, exp);
        check(&p, y, what);
    }
}

/* Chains of one element each, a tensor of fewer dimensions added, dimensions in another order. */
static void
elements(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(60); i++) {
        program p;
        begin(&p, (uint32_t)between(1, 4), types[between(0, N_TYPES - 1)]);
        const tn_expr *shape[4], *at[4], *b_at[4];
        uint32_t order[4] = {0, 1, 2, 3}, n = 0;
        for (uint32_t j = 0; j < p.rank && between(0, 1); j++) {
            uint32_t a = (uint32_t)between(0, p.rank - 1), t = order[a];
            order[a] = order[j];
            order[j] = t;
        }
        TNB_VEC(const tn_node *) fewer = {0};
        unsigned used = (unsigned)between(0, (1 << p.rank) - 1);
        for (uint32_t j = 0; j < p.rank; j++)
            if (used >> j & 1)
                TNB_PUSH(tn_scratch(k.ctx), fewer, p.extent[j]);
        const tn_node *b =
            tnk_te_input(p.te, "y", tn_ty_tensor_dims(k.ctx, (tn_list){fewer.at, fewer.n}, p.d));
        for (uint32_t j = 0; j < p.rank; j++)
            shape[j] = tnk_te_expr(p.te, p.extent[order[j]]);
        tnk_stage *s = tnk_te_stage(p.te, "out", shape, p.rank, p.d);
        for (uint32_t j = 0; j < p.rank; j++)
            at[order[j]] = s->axes[j];
        for (uint32_t j = 0; j < p.rank; j++)
            if (used >> j & 1)
                b_at[n++] = at[j];
        const tn_expr *v = tnk_te_read_at(p.te, p.x, at, p.rank);
        v = tn_sub(k.ctx, v, tnk_te_read_at(p.te, b, b_at, n));
        if (tnb_dtype_is_float(p.d) && between(0, 1))
            v = tn_intrin1(k.ctx, between(0, 1) ? TN_INTRIN_tanh : TN_INTRIN_sigmoid, v);
        else
            v = tn_max(k.ctx, v, tn_literal(k.ctx, p.d, 2));
        char what[60];
        snprintf(what, sizeof what, "elements, order %u%u%u%u, added %x", order[0], order[1],
                 order[2], order[3], used);
        check(&p, tnk_te_define(s, v), what);
    }
}

/* What divides a row may be anything: its reciprocal is used only where that is a normal number. */
static void
divisors_of_any_size(void **state)
{
    (void)state;
    static const float by[] = {1,         3,         -7,      0.0f,     -0.0f,
                               1e-38f,    1e-40f,    -1e-45f, 3e38f,    -3.4e38f,
                               INFINITY,  -INFINITY, NAN,     0x1p100f, 0x1p101f,
                               0x1p-100f, 0x1p-101f, 1e20f,   1e-20f};
    enum { N = sizeof by / sizeof by[0], K = 75 };
    const int64_t xs[2] = {N, K}, bs[1] = {N};
    tnk_te *te = tnk_te_new(k.ctx);
    const tn_node *x =
        tnk_te_input(te, "x",
                     tn_ty_tensor_dims(k.ctx,
                                       tn_listv(k.ctx, tn_i64(k.ctx, N), tn_i64(k.ctx, K), NULL),
                                       TNB_F32));
    const tn_node *b =
        tnk_te_input(te, "b",
                     tn_ty_tensor_dims(k.ctx, tn_listv(k.ctx, tn_i64(k.ctx, N), NULL), TNB_F32));
    tnk_stage *s = tnk_te_stage_like(te, "y", x, TNB_F32);
    const tn_node *y = tnk_te_define(s, tn_div(k.ctx, tnk_te_read_at(te, x, s->axes, 2),
                                               tnk_te_read_at(te, b, s->axes, 1)));
    const tn_node *f = krun_schedule(&k, tnk_te_finish(te, &y, 1), "Elementwise");
    float *in, *div, *out;
    const tn_node *args[] = {
        tn_constant_of(k.ctx, tn_data_new(k.ctx, TNB_F32, 2, xs, (void **)&in)),
        tn_constant_of(k.ctx, tn_data_new(k.ctx, TNB_F32, 1, bs, (void **)&div)),
        tn_constant_of(k.ctx, tn_data_new(k.ctx, TNB_F32, 2, xs, (void **)&out))};
    for (int i = 0; i < N * K; i++)
        in[i] = by[i * 7 % N] * (i % 3 ? 1.0f : 0.37f);
    memcpy(div, by, sizeof by);
    assert_true(krun_run(&k, f, tn_listv(k.ctx, args[0], args[1], args[2], NULL)));
    assert_non_null(strstr(k.last_source, "reciprocal"));
    if (k.only_compile)
        return;
    for (int i = 0; i < N * K; i++) {
        float want = in[i] / by[i / K], got = out[i];
        bool same =
            isnan(want) ? isnan(got) : want == got || fabsf(want - got) <= 2.4e-7f * fabsf(want);
        if (!same && !(isfinite(want) && fabsf(want) < 1e-37f && fabsf(want - got) < 2e-45f))
            fail_msg("%.9g / %.9g = %.9g, not %.9g", (double)in[i], (double)by[i / K], (double)want,
                     (double)got);
    }
}

/* A result that caches of 1 and 8 MiB do not hold, with rows that begin anywhere: written past the caches, read ahead. */
static void
large_results(void **state)
{
    (void)state;
    const tn_target *usual = k.target;
    const tn_node *attrs = tn_dict_set(k.ctx, usual->attrs, "l2_bytes", tn_i64(k.ctx, 1 << 20));
    attrs = tn_dict_set(k.ctx, attrs, "l3_bytes", tn_i64(k.ctx, 1 << 23));
    k.target = tn_as_target(tn_target_of(k.ctx, "cpu", attrs));
    for (int i = 0; i < 2; i++) {
        program p = {.te = tnk_te_new(k.ctx),
                     .dims = tn_dictv(k.ctx, NULL),
                     .rank = 2,
                     .d = TNB_F32,
                     .size = {i ? 65551 : 8209, i ? 129 : 1027}};
        TNB_VEC(const tn_node *) shape = {0};
        for (uint32_t j = 0; j < 2; j++)
            TNB_PUSH(tn_scratch(k.ctx), shape, p.extent[j] = tn_i64(k.ctx, p.size[j]));
        p.x = tnk_te_input(p.te, "x", tn_ty_tensor_dims(k.ctx, (tn_list){shape.at, 2}, p.d));
        const tn_node *sum = reduce(&p, p.x, 2, SQUARES, NULL, false);
        tnk_stage *s = tnk_te_stage_like(p.te, "out", p.x, p.d);
        const tn_expr *v = tn_div(k.ctx, tnk_te_read_at(p.te, p.x, s->axes, 2),
                                  tnk_te_read_at(p.te, sum, s->axes, 1));
        check(&p, tnk_te_define(s, v), "large rows");
        assert_non_null(strstr(k.last_source, "prefetch"));
        assert_non_null(strstr(k.last_source, "tk_stream_f32x"));
    }
    k.target = usual;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions),           cmocka_unit_test(places),
        cmocka_unit_test(steps_over_rows),      cmocka_unit_test(elements),
        cmocka_unit_test(divisors_of_any_size), cmocka_unit_test(large_results),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
