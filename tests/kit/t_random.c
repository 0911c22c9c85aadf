/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs: what the rules make of them computes what the unscheduled program computes. The
 * seed is printed; TENON_SEED sets it, TENON_ROUNDS the number of programs.
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
#include "programs.h"
#include "tenon/core/text.h"
#include "tenon/kit/te.h"

static krun k;
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

static void
check_with(const tn_node *f, const tn_node *dims, bool half, const char *what)
{
    assert_non_null(f);
    const tn_node *s = krun_schedule(
        &k, f,
        "Transpose,Elementwise,Recurrent,Conv2d,Matmul,Softmax,Reduction,Pool,GEMV,Fallback");
    if (!s)
        krun_print_errors(&k);
    if (!s || !krun_same(&k, f, s, dims, half ? 5e-2 : 2e-4, half ? 3e-2 : 2e-5))
        fail_msg("%s", what);
}

static void
check(const tn_node *f, bool half, const char *what)
{
    check_with(f, NULL, half, what);
}

static void
convolutions(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(12); i++) {
        conv_shape c = {.n = between(1, 2), .groups = 1};
        c.kh = between(1, 4);
        c.kw = between(1, 4);
        c.stride = between(1, 5);
        c.pad = between(0, 2);
        c.h = between(c.kh, 20);
        c.w = between(c.kw, 34);
        c.ic = between(1, 9);
        c.oc = between(1, 19);
        if (between(0, 2) == 0) {
            c.groups = between(1, 4);
            c.ic = c.groups * between(1, 3);
            c.oc = c.groups * between(1, 5);
        }
        bool half = between(0, 5) == 0;
        char what[160];
        snprintf(what, sizeof what,
                 "conv n=%d ic=%d h=%d w=%d oc=%d kh=%d kw=%d stride=%d pad=%d groups=%d half=%d",
                 (int)c.n, (int)c.ic, (int)c.h, (int)c.w, (int)c.oc, (int)c.kh, (int)c.kw,
                 (int)c.stride, (int)c.pad, (int)c.groups, half);
        check(program_conv(k.ctx, c, half ? TNB_F16 : TNB_F32), half, what);
    }
}

static void
products(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(8); i++) {
        int64_t m = between(1, 30), n = between(1, 50), r = between(1, 40);
        tnb_dtype types[] = {TNB_F32, TNB_F32, TNB_F64, TNB_I32, TNB_F16};
        tnb_dtype d = types[between(0, 4)];
        char what[100];
        snprintf(what, sizeof what, "matmul %d %d %d %s", (int)m, (int)n, (int)r,
                 tnb_dtype_print(d).s);
        check(program_matmul(k.ctx, m, n, r, d), d.bits == 16, what);
    }
}

/* An extent that is a variable two times of three; `dims` gets its value. */
static const tn_expr *
extent(const char *name, int64_t most, const tn_node **dims)
{
    int64_t n = between(0, 5) == 0 ? between(0, 3) : between(1, most);
    if (between(0, 2) == 0 && n > 0)
        return tn_i64(k.ctx, n);
    *dims = tn_dict_set(k.ctx, *dims, name, tn_i64(k.ctx, n));
    return tn_var_dtype(k.ctx, name, TNB_I64);
}

static const tn_node *
input(tnk_te *te, const char *name, tnb_dtype d, const tn_expr *a, const tn_expr *b,
      const tn_expr *c, const tn_expr *e)
{
    return tnk_te_input(te, name, tn_ty_tensor_dims(k.ctx, tn_listv(k.ctx, a, b, c, e, NULL), d));
}

/* The most that extents may be; columns and the sum's length may be variables too. */
typedef struct most {
    int64_t m, n, r;
    bool all_unknown;
    tnb_dtype d; /* of the operands */
    bool exact;  /* n and r are as large as that */
} most;

/* A matrix product: a batch, an operand turned, what follows it. */
static void
product(most to)
{
    const tn_node *dims = tn_dictv(k.ctx, NULL);
    tnk_te *te = tnk_te_new(k.ctx);
    const tn_expr *e[3], *m = extent("m", to.m, &dims);
    int64_t least_n = to.exact ? to.n : 8, least_r = to.exact ? to.r : 8;
    const tn_expr *n =
        to.all_unknown ? extent("n", to.n, &dims) : tn_i64(k.ctx, between(least_n, to.n));
    const tn_expr *r =
        to.all_unknown ? extent("r", to.r, &dims) : tn_i64(k.ctx, between(least_r, to.r));
    bool batch = between(0, 2) == 0, turned = between(0, 2) == 0, bias = between(0, 1);
    bool both = batch && between(0, 1); /* the right operand has the batch too */
    bool panels = !to.all_unknown && !both && between(0, 2) == 0;
    bool columns_left = !batch && between(0, 4) == 0; /* the left operand is turned */
    const tn_expr *width = tn_i64(k.ctx, 16);
    if (panels)
        n = tn_i64(k.ctx, 16 * between(1, 6));
    const tn_expr *first = batch ? extent("b", 3, &dims) : m, *none = NULL;
    const tn_node *a = batch          ? input(te, "A", to.d, first, m, r, NULL)
                       : columns_left ? input(te, "A", to.d, r, m, NULL, NULL)
                                      : input(te, "A", to.d, m, r, NULL, NULL);
    const tn_expr *rows = turned ? n : r, *columns = turned ? r : n;
    const tn_node *b = panels ? input(te, "B", to.d, tn_floordiv(k.ctx, n, width), r, width, none)
                       : both ? input(te, "B", to.d, first, rows, columns, none)
                              : input(te, "B", to.d, rows, columns, none, none);
    uint32_t rank = 0;
    if (batch)
        e[rank++] = tnk_te_expr(te, first);
    e[rank++] = tnk_te_expr(te, m);
    e[rank++] = tnk_te_expr(te, n);
    tnk_stage *s = tnk_te_stage(te, "T_matmul", e, rank, TNB_F32);
    const tn_expr *x = tnk_te_reduce_axis(s, "k", tnk_te_expr(te, r)), *at[3], *from[3];
    memcpy(at, s->axes, rank * sizeof *at);
    from[0] = at[0];
    from[both] = turned ? at[rank - 1] : x;
    from[both + 1] = turned ? x : at[rank - 1];
    if (panels) {
        from[0] = tn_floordiv(k.ctx, at[rank - 1], width);
        from[1] = x;
        from[2] = tn_floormod(k.ctx, at[rank - 1], width);
    }
    at[rank - 1] = x;
    if (columns_left) {
        at[1] = at[0];
        at[0] = x;
    }
    const tn_expr *left = tn_cast_to(k.ctx, TNB_F32, tnk_te_read_at(te, a, at, rank)),
                  *right = tn_cast_to(k.ctx, TNB_F32,
                                      tnk_te_read_at(te, b, from, 2u + (both || panels)));
    const tn_node *y = tnk_te_sum(s, tn_mul(k.ctx, left, right));
    if (bias) {
        s = tnk_te_stage_like(te, "T_add", y, TNB_F32);
        y = tnk_te_define(s, tn_add(k.ctx, tnk_te_read_at(te, y, s->axes, rank),
                                    tn_float_imm_of(k.ctx, TNB_F32, 0.5)));
    }
    char what[200];
    tnb_buf text = {0};
    (void)tn_print(k.ctx, dims, NULL, &text);
    snprintf(what, sizeof what,
             "matmul up to %d %d %d %s batch=%d both=%d turned=%d panels=%d bias=%d left=%d",
             (int)to.m, (int)to.n, (int)to.r, text.s ? text.s : "", batch, both, turned, panels,
             bias, columns_left);
    tnb_buf_free(&text);
    check_with(tnk_te_finish(te, &y, 1), dims, to.d.bits == 16, what);
}

static void
products_of_unknown_extents(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(10); i++)
        product((most){30, 70, 20, true, TNB_F32});
}

/* A matrix and a vector: rows along the sum or along the result. */
static void
products_of_vectors(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(6); i++)
        product((most){1, 90, 70, false, between(0, 3) ? TNB_F32 : TNB_F16});
    product((most){1, 3000, 40, false, TNB_F32});
}

/* Large enough for packed panels. */
static void
large_products(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(8); i++)
        product((most){60, 80, 40, false, between(0, 3) ? TNB_F32 : TNB_F16});
    product((most){24, 24, 2400, false, TNB_F32});
}

/* Caches so small that sums are cut, panels fetched ahead and rows packed. */
static void
products_beyond_caches(void **state)
{
    (void)state;
    const tn_target *usual = k.target;
    const tn_node *attrs = usual->attrs;
    attrs = tn_dict_set(k.ctx, attrs, "l1_bytes", tn_i64(k.ctx, 4096));
    attrs = tn_dict_set(k.ctx, attrs, "l2_bytes", tn_i64(k.ctx, 8192));
    attrs = tn_dict_set(k.ctx, attrs, "l3_bytes", tn_i64(k.ctx, 65536));
    k.target = tn_as_target(tn_target_of(k.ctx, "cpu", attrs));
    for (int i = 0; i < draw_rounds(6); i++)
        product((most){60, 80, 400, false, TNB_F32});
    for (int i = 0; i < draw_rounds(2); i++)
        product((most){40, 272, 512, false, TNB_F32, .exact = true});
    product((most){1, 700, 70, false, TNB_F32});
    k.target = usual;
}

/* Symbolic images, without padding; kernels of one or two dimensions. */
static void
convolutions_of_unknown_extents(void **state)
{
    (void)state;
    for (int i = 0; i < draw_rounds(8); i++) {
        const tn_node *dims = tn_dictv(k.ctx, NULL);
        tnk_te *te = tnk_te_new(k.ctx);
        int64_t kh = between(1, 3), kw = between(1, 3), oc = between(1, 20), ic = between(1, 5);
        int64_t stride = between(1, 2);
        const tn_expr *h = extent("h", 12, &dims), *w = extent("w", 60, &dims);
        const tn_expr *n = extent("n", 3, &dims);
        /* the image is as large as its result needs */
        const tn_expr *st = tn_i64(k.ctx, stride);
        const tn_expr *ih = tn_add(k.ctx, tn_mul(k.ctx, h, st), tn_i64(k.ctx, kh)),
                      *iw = tn_add(k.ctx, tn_mul(k.ctx, w, st), tn_i64(k.ctx, kw));
        const tn_node *shape = input(te, "S", TNB_F32, n, h, w, NULL);
        const tn_node *x = input(te, "data", TNB_F32, n, tn_i64(k.ctx, ic), ih, iw);
        const tn_node *f = input(te, "weight", TNB_F32, tn_i64(k.ctx, oc), tn_i64(k.ctx, ic),
                                 tn_i64(k.ctx, kh), tn_i64(k.ctx, kw));
        const tn_expr *e[4] = {tnk_te_expr(te, n), tn_i64(k.ctx, oc), tnk_te_expr(te, h),
                               tnk_te_expr(te, w)};
        tnk_stage *s = tnk_te_stage(te, "conv2d", e, 4, TNB_F32);
        const tn_expr *rc = tnk_te_reduce_axis(s, "rc", tn_i64(k.ctx, ic)),
                      *ry = tnk_te_reduce_axis(s, "ry", tn_i64(k.ctx, kh)),
                      *rx = tnk_te_reduce_axis(s, "rx", tn_i64(k.ctx, kw));
        const tn_expr *v =
            tnk_te_read(te, x, s->axes[0], rc, tn_add(k.ctx, tn_mul(k.ctx, s->axes[2], st), ry),
                        tn_add(k.ctx, tn_mul(k.ctx, s->axes[3], st), rx), NULL);
        const tn_node *y =
            tnk_te_sum(s, tn_mul(k.ctx, v, tnk_te_read(te, f, s->axes[1], rc, ry, rx, NULL)));
        s = tnk_te_stage_like(te, "T_add", y, TNB_F32);
        y = tnk_te_define(s,
                          tn_add(k.ctx, tnk_te_read_at(te, y, s->axes, 4),
                                 tnk_te_read(te, shape, s->axes[0], s->axes[2], s->axes[3], NULL)));
        char what[200];
        tnb_buf text = {0};
        (void)tn_print(k.ctx, dims, NULL, &text);
        snprintf(what, sizeof what, "conv %s ic=%d oc=%d kh=%d kw=%d stride=%d",
                 text.s ? text.s : "", (int)ic, (int)oc, (int)kh, (int)kw, (int)stride);
        tnb_buf_free(&text);
        check_with(tnk_te_finish(te, &y, 1), dims, false, what);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(products),
        cmocka_unit_test(products_of_unknown_extents),
        cmocka_unit_test(large_products),
        cmocka_unit_test(products_beyond_caches),
        cmocka_unit_test(products_of_vectors),
        cmocka_unit_test(convolutions_of_unknown_extents),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
