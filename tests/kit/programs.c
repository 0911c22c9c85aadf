/* SPDX-License-Identifier: Apache-2.0 */
#include "programs.h"

static const tn_type *
tensor(tn_ctx *ctx, const int64_t *dims, uint32_t n, tnb_dtype d)
{
    tn_list l = {0};
    for (uint32_t i = 0; i < n; i++)
        l = tn_list_append(ctx, l, tn_i64(ctx, dims[i]));
    return tn_ty_tensor_dims(ctx, l, d);
}

static const tn_node *
input(tnk_te *te, const char *name, const int64_t *dims, uint32_t n, tnb_dtype d)
{
    return tnk_te_input(te, name, tensor(tnk_te_ctx(te), dims, n, d));
}

static tnk_stage *
stage(tnk_te *te, const char *name, const int64_t *dims, uint32_t n, tnb_dtype d)
{
    const tn_expr *e[8];
    for (uint32_t i = 0; i < n; i++)
        e[i] = tn_i64(tnk_te_ctx(te), dims[i]);
    return tnk_te_stage(te, name, e, n, d);
}

const tn_node *
program_matmul(tn_ctx *ctx, int64_t m, int64_t n, int64_t k, tnb_dtype d)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *a = input(te, "A", (int64_t[]){m, k}, 2, d),
                  *b = input(te, "B", (int64_t[]){k, n}, 2, d);
    tnk_stage *s = stage(te, "T_matmul", (int64_t[]){m, n}, 2, d);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", tn_i64(ctx, k));
    const tn_node *c = tnk_te_sum(s, tn_mul(ctx, tnk_te_read(te, a, s->axes[0], r, NULL),
                                            tnk_te_read(te, b, r, s->axes[1], NULL)));
    return tnk_te_finish(te, &c, 1);
}

static const tn_node *
matmul_bias(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *a = input(te, "A", (int64_t[]){33, 40}, 2, TNB_F32),
                  *b = input(te, "B", (int64_t[]){20, 40}, 2, TNB_F32);
    const tn_node *bias = input(te, "bias", (int64_t[]){20}, 1, TNB_F32);
    tnk_stage *s = stage(te, "NT_matmul", (int64_t[]){33, 20}, 2, TNB_F32);
    const tn_expr *r = tnk_te_reduce_axis(s, "k", tn_i64(ctx, 40));
    const tn_node *c = tnk_te_sum(s, tn_mul(ctx, tnk_te_read(te, a, s->axes[0], r, NULL),
                                            tnk_te_read(te, b, s->axes[1], r, NULL)));
    tnk_stage *e = stage(te, "T_add", (int64_t[]){33, 20}, 2, TNB_F32);
    const tn_node *o = tnk_te_define(e, tn_add(ctx, tnk_te_read_at(te, c, e->axes, 2),
                                               tnk_te_read(te, bias, e->axes[1], NULL)));
    tnk_stage *t = stage(te, "T_tanh", (int64_t[]){33, 20}, 2, TNB_F32);
    o = tnk_te_define(t, tn_intrin1(ctx, TN_INTRIN_tanh, tnk_te_read_at(te, o, t->axes, 2)));
    return tnk_te_finish(te, &o, 1);
}

const tn_node *
program_conv(tn_ctx *ctx, conv_shape c, tnb_dtype d)
{
    tnk_te *te = tnk_te_new(ctx);
    int64_t ph = c.h + 2 * c.pad, pw = c.w + 2 * c.pad;
    int64_t oh = (ph - c.kh) / c.stride + 1, ow = (pw - c.kw) / c.stride + 1;
    int64_t icg = c.ic / c.groups, ocg = c.oc / c.groups;
    const tn_node *x = input(te, "data", (int64_t[]){c.n, c.ic, c.h, c.w}, 4, d);
    const tn_node *w = input(te, "weight", (int64_t[]){c.oc, icg, c.kh, c.kw}, 4, d);
    const tn_node *bias = input(te, "bias", (int64_t[]){1, c.oc, 1, 1}, 4, d);
    if (c.pad) {
        tnk_stage *p = stage(te, "pad_temp", (int64_t[]){c.n, c.ic, ph, pw}, 4, d);
        const tn_expr *pad = tn_i64(ctx, c.pad), *y = p->axes[2], *z = p->axes[3];
        const tn_expr *in = tn_and_of(
            ctx, tn_and_of(ctx, tn_le_of(ctx, pad, y), tn_lt_of(ctx, y, tn_i64(ctx, c.h + c.pad))),
            tn_and_of(ctx, tn_le_of(ctx, pad, z), tn_lt_of(ctx, z, tn_i64(ctx, c.w + c.pad))));
        const tn_expr *v = tnk_te_read(te, x, p->axes[0], p->axes[1], tn_sub(ctx, y, pad),
                                       tn_sub(ctx, z, pad), NULL);
        x = tnk_te_define(p, tn_if_then_else(ctx, in, v, tn_literal(ctx, d, 0)));
    }
    tnk_stage *s = stage(te, "conv2d_nchw", (int64_t[]){c.n, c.oc, oh, ow}, 4, d);
    const tn_expr *rc = tnk_te_reduce_axis(s, "rc", tn_i64(ctx, icg));
    const tn_expr *ry = tnk_te_reduce_axis(s, "ry", tn_i64(ctx, c.kh)),
                  *rx = tnk_te_reduce_axis(s, "rx", tn_i64(ctx, c.kw));
    const tn_expr *stride = tn_i64(ctx, c.stride);
    const tn_expr *group = tn_floordiv(ctx, s->axes[1], tn_i64(ctx, ocg));
    const tn_expr *ch = c.groups == 1 ? rc : tn_add(ctx, tn_mul(ctx, group, tn_i64(ctx, icg)), rc);
    const tn_expr *a =
        tnk_te_read(te, x, s->axes[0], ch, tn_add(ctx, tn_mul(ctx, s->axes[2], stride), ry),
                    tn_add(ctx, tn_mul(ctx, s->axes[3], stride), rx), NULL);
    const tn_node *y =
        tnk_te_sum(s, tn_mul(ctx, a, tnk_te_read(te, w, s->axes[1], rc, ry, rx, NULL)));
    tnk_stage *e = tnk_te_stage_like(te, "T_add", y, d);
    const tn_expr *zero = tn_i64(ctx, 0);
    y = tnk_te_define(e, tn_add(ctx, tnk_te_read_at(te, y, e->axes, 4),
                                tnk_te_read(te, bias, zero, e->axes[1], zero, zero, NULL)));
    tnk_stage *r = tnk_te_stage_like(te, "T_relu", y, d);
    y = tnk_te_define(r, tn_max(ctx, tnk_te_read_at(te, y, r->axes, 4), tn_literal(ctx, d, 0)));
    return tnk_te_finish(te, &y, 1);
}

static const tn_node *
softmax(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = input(te, "x", (int64_t[]){5, 37}, 2, TNB_F32);
    tnk_stage *s = stage(te, "T_softmax_maxelem", (int64_t[]){5}, 1, TNB_F32);
    const tn_expr *k = tnk_te_reduce_axis(s, "k", tn_i64(ctx, 37));
    const tn_node *mx = tnk_te_reduce(s, TNK_MAX, tnk_te_read(te, x, s->axes[0], k, NULL));
    s = stage(te, "T_softmax_exp", (int64_t[]){5, 37}, 2, TNB_F32);
    const tn_node *e = tnk_te_define(s, tn_intrin1(ctx, TN_INTRIN_exp,
                                                   tn_sub(ctx, tnk_te_read_at(te, x, s->axes, 2),
                                                          tnk_te_read_at(te, mx, s->axes, 1))));
    s = stage(te, "T_softmax_expsum", (int64_t[]){5}, 1, TNB_F32);
    k = tnk_te_reduce_axis(s, "k", tn_i64(ctx, 37));
    const tn_node *sum = tnk_te_sum(s, tnk_te_read(te, e, s->axes[0], k, NULL));
    s = stage(te, "T_softmax_norm", (int64_t[]){5, 37}, 2, TNB_F32);
    const tn_node *o = tnk_te_define(s, tn_div(ctx, tnk_te_read_at(te, e, s->axes, 2),
                                               tnk_te_read_at(te, sum, s->axes, 1)));
    return tnk_te_finish(te, &o, 1);
}

static const tn_node *
max_pool(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = input(te, "x", (int64_t[]){1, 6, 17, 23}, 4, TNB_F32);
    tnk_stage *s = stage(te, "pool_max", (int64_t[]){1, 6, 8, 11}, 4, TNB_F32);
    const tn_expr *a = tnk_te_reduce_axis(s, "rv0", tn_i64(ctx, 3)),
                  *b = tnk_te_reduce_axis(s, "rv1", tn_i64(ctx, 3));
    const tn_expr *two = tn_i64(ctx, 2);
    const tn_node *o =
        tnk_te_reduce(s, TNK_MAX,
                      tnk_te_read(te, x, s->axes[0], s->axes[1],
                                  tn_add(ctx, tn_mul(ctx, s->axes[2], two), a),
                                  tn_add(ctx, tn_mul(ctx, s->axes[3], two), b), NULL));
    return tnk_te_finish(te, &o, 1);
}

static const tn_node *
transpose(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = input(te, "x", (int64_t[]){3, 17, 29}, 3, TNB_F32);
    tnk_stage *s = stage(te, "T_transpose", (int64_t[]){3, 29, 17}, 3, TNB_F32);
    const tn_node *o =
        tnk_te_define(s, tnk_te_read(te, x, s->axes[0], s->axes[2], s->axes[1], NULL));
    return tnk_te_finish(te, &o, 1);
}

/* where(x > y, sigmoid(x) + erf(y), log(|x| + 1)) in one block */
static const tn_node *
math(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = input(te, "x", (int64_t[]){4, 53}, 2, TNB_F32),
                  *y = input(te, "y", (int64_t[]){53}, 1, TNB_F32);
    tnk_stage *s = stage(te, "compute", (int64_t[]){4, 53}, 2, TNB_F32);
    const tn_expr *a = tnk_te_read_at(te, x, s->axes, 2), *b = tnk_te_read(te, y, s->axes[1], NULL);
    const tn_expr *t =
        tn_add(ctx, tn_intrin1(ctx, TN_INTRIN_sigmoid, a), tn_intrin1(ctx, TN_INTRIN_erf, b));
    const tn_expr *f =
        tn_intrin1(ctx, TN_INTRIN_log,
                   tn_add(ctx, tn_intrin1(ctx, TN_INTRIN_fabs, a), tn_literal(ctx, TNB_F32, 1)));
    const tn_node *o = tnk_te_define(s, tn_select_of(ctx, tn_gt_of(ctx, a, b), t, f));
    return tnk_te_finish(te, &o, 1);
}

static const tn_node *
half_ops(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = input(te, "x", (int64_t[]){6, 40}, 2, TNB_F16);
    tnk_stage *s = stage(te, "T_relu", (int64_t[]){6, 40}, 2, TNB_F16);
    const tn_node *o = tnk_te_define(s, tn_max(ctx, tnk_te_read_at(te, x, s->axes, 2),
                                               tn_literal(ctx, TNB_F16, 0)));
    s = stage(te, "cast", (int64_t[]){6, 40}, 2, TNB_F32);
    o = tnk_te_define(s, tn_cast_to(ctx, TNB_F32, tnk_te_read_at(te, o, s->axes, 2)));
    return tnk_te_finish(te, &o, 1);
}

/* y = concat(x, 0): float16 moved under a condition */
static const tn_node *
half_concat(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = input(te, "x", (int64_t[]){6, 19}, 2, TNB_F16),
                  *y = input(te, "y", (int64_t[]){4, 19}, 2, TNB_F16);
    tnk_stage *s = stage(te, "T_concat", (int64_t[]){12, 19}, 2, TNB_F16);
    const tn_expr *i = s->axes[0], *six = tn_i64(ctx, 6), *ten = tn_i64(ctx, 10);
    const tn_expr *b = tnk_te_read(te, y, tn_sub(ctx, i, six), s->axes[1], NULL);
    b = tn_if_then_else(ctx, tn_lt_of(ctx, i, ten), b, tn_literal(ctx, TNB_F16, 0));
    const tn_expr *a = tnk_te_read_at(te, x, s->axes, 2);
    const tn_node *o = tnk_te_define(s, tn_if_then_else(ctx, tn_lt_of(ctx, i, six), a, b));
    return tnk_te_finish(te, &o, 1);
}

static const tn_node *
int_ops(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = input(te, "x", (int64_t[]){77}, 1, TNB_I32),
                  *y = input(te, "y", (int64_t[]){77}, 1, TNB_I32);
    tnk_stage *s = stage(te, "compute", (int64_t[]){77}, 1, TNB_I64);
    const tn_expr *a = tnk_te_read(te, x, s->axes[0], NULL),
                  *b = tnk_te_read(te, y, s->axes[0], NULL);
    const tn_expr *q = tn_add(ctx, tn_floordiv(ctx, a, b), tn_floormod(ctx, a, tn_i32(ctx, -7)));
    q = tn_add(ctx, q, tn_mod(ctx, b, tn_i32(ctx, 5)));
    const tn_node *o = tnk_te_define(s, tn_cast_to(ctx, TNB_I64, q));
    return tnk_te_finish(te, &o, 1);
}

static const tn_node *
symbolic_add(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_expr *n = tn_var_dtype(ctx, "n", TNB_I64), *m = tn_var_dtype(ctx, "m", TNB_I64);
    const tn_type *t = tn_ty_tensor_dims(ctx, tn_listv(ctx, n, m, NULL), TNB_F32);
    const tn_node *x = tnk_te_input(te, "x", t), *y = tnk_te_input(te, "y", t);
    tnk_stage *s = tnk_te_stage_like(te, "T_add", x, TNB_F32);
    const tn_node *o = tnk_te_define(s, tn_add(ctx, tnk_te_read_at(te, x, s->axes, 2),
                                               tnk_te_read_at(te, y, s->axes, 2)));
    return tnk_te_finish(te, &o, 1);
}

static const tn_node *
symbolic_sum(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_expr *n = tn_var_dtype(ctx, "n", TNB_I64), *m = tn_var_dtype(ctx, "m", TNB_I64);
    const tn_node *x =
        tnk_te_input(te, "x", tn_ty_tensor_dims(ctx, tn_listv(ctx, n, m, NULL), TNB_F32));
    const tn_expr *dn = tnk_te_expr(te, n), *dm = tnk_te_expr(te, m);
    tnk_stage *s = tnk_te_stage(te, "T_sum", &dn, 1, TNB_F32);
    const tn_expr *k = tnk_te_reduce_axis(s, "k", dm);
    const tn_node *o = tnk_te_sum(s, tnk_te_read(te, x, s->axes[0], k, NULL));
    return tnk_te_finish(te, &o, 1);
}

static const tn_node *
bool_ops(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = input(te, "x", (int64_t[]){3, 41}, 2, TNB_F32),
                  *y = input(te, "y", (int64_t[]){3, 41}, 2, TNB_B8);
    tnk_stage *s = stage(te, "compute", (int64_t[]){3, 41}, 2, TNB_B8);
    const tn_expr *c =
        tn_lt_of(ctx, tnk_te_read_at(te, x, s->axes, 2), tn_literal(ctx, TNB_F32, 0.5));
    const tn_node *o =
        tnk_te_define(s, tn_and_of(ctx, tn_not(ctx, c), tnk_te_read_at(te, y, s->axes, 2)));
    return tnk_te_finish(te, &o, 1);
}

static const tn_node *
matmul_small(tn_ctx *ctx)
{
    return program_matmul(ctx, 13, 40, 21, TNB_F32);
}
static const tn_node *
matmul_half(tn_ctx *ctx)
{
    return program_matmul(ctx, 8, 24, 16, TNB_F16);
}
static const tn_node *
conv_3x3(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){1, 5, 15, 19, 9, 3, 3, 1, 1, 1}, TNB_F32);
}
static const tn_node *
conv_stride(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){2, 3, 29, 31, 7, 5, 5, 2, 2, 1}, TNB_F32);
}
/* Images that are padded by groups of rows. */
static const tn_node *
conv_large(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){1, 8, 96, 64, 9, 3, 3, 1, 1, 1}, TNB_F32);
}

static const tn_node *
conv_large_5x5(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){2, 6, 120, 64, 7, 5, 5, 1, 2, 1}, TNB_F32);
}

static const tn_node *
conv_1x1(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){1, 24, 13, 13, 20, 1, 1, 1, 0, 1}, TNB_F32);
}
static const tn_node *
conv_depthwise(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){1, 12, 20, 20, 12, 3, 3, 1, 1, 12}, TNB_F32);
}
static const tn_node *
conv_depthwise_stride(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){1, 12, 21, 21, 12, 3, 3, 2, 1, 12}, TNB_F32);
}
static const tn_node *
conv_groups(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){1, 12, 10, 12, 8, 3, 3, 1, 1, 4}, TNB_F32);
}
static const tn_node *
conv_half(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){1, 4, 13, 13, 8, 3, 3, 1, 1, 1}, TNB_F16);
}
static const tn_node *
conv_tiny(tn_ctx *ctx)
{
    return program_conv(ctx, (conv_shape){1, 2, 3, 3, 3, 3, 3, 1, 1, 1}, TNB_F32);
}

/* An image times what a product of a vector says of its channels, with what lies between: the gate of a squeeze and excitation. */
static const tn_node *
gate(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *x = input(te, "x", (int64_t[]){1, 24, 7, 9}, 4, TNB_F32),
                  *v = input(te, "s", (int64_t[]){1, 24, 1, 1}, 4, TNB_F32),
                  *w = input(te, "w", (int64_t[]){24, 24, 1, 1}, 4, TNB_F32);
    tnk_stage *s = stage(te, "conv2d", (int64_t[]){1, 24, 1, 1}, 4, TNB_F32);
    const tn_expr *zero = tn_i64(ctx, 0), *rc = tnk_te_reduce_axis(s, "rc", tn_i64(ctx, 24));
    const tn_node *y =
        tnk_te_sum(s, tn_mul(ctx, tnk_te_read(te, v, s->axes[0], rc, s->axes[2], s->axes[3], NULL),
                             tnk_te_read(te, w, s->axes[1], rc, zero, zero, NULL)));
    s = tnk_te_stage_like(te, "compute", y, TNB_F32);
    y = tnk_te_define(s, tn_intrin1(ctx, TN_INTRIN_sigmoid, tnk_te_read_at(te, y, s->axes, 4)));
    s = tnk_te_stage_like(te, "T_multiply", x, TNB_F32);
    y = tnk_te_define(s, tn_mul(ctx, tnk_te_read_at(te, x, s->axes, 4),
                                tnk_te_read(te, y, s->axes[0], s->axes[1], zero, zero, NULL)));
    return tnk_te_finish(te, &y, 1);
}

/* Each operation on bits, of operands that shifts and counts of zeros are defined for. */
static const tn_node *
bit_ops(tn_ctx *ctx)
{
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = input(te, "x", (int64_t[]){77}, 1, TNB_I32);
    tnk_stage *s = stage(te, "bits", (int64_t[]){77}, 1, TNB_I32);
    const tn_expr *x = tnk_te_read_at(te, in, s->axes, 1), *three = tn_int_imm_of(ctx, TNB_I32, 3),
                  *one = tn_bitwise_or(ctx, x, tn_int_imm_of(ctx, TNB_I32, 1));
    const tn_expr *v =
        tn_add(ctx, tn_intrin1(ctx, TN_INTRIN_popcount, x), tn_intrin1(ctx, TN_INTRIN_clz, one));
    v = tn_add(ctx, v,
               tn_bitwise_and(ctx, tn_shift_right(ctx, x, three),
                              tn_intrin1(ctx, TN_INTRIN_bitwise_not, one)));
    v = tn_bitwise_xor(ctx, v, tn_shift_left(ctx, tn_bitwise_and(ctx, x, three), three));
    v = tn_add(ctx, v, tn_intrin1(ctx, TN_INTRIN_abs, tn_shift_right(ctx, x, three)));
    const tn_node *o = tnk_te_define(s, v);
    return tnk_te_finish(te, &o, 1);
}

static const struct {
    const char *name;
    const tn_node *(*make)(tn_ctx *ctx);
} all[] = {
    {"matmul", matmul_small},
    {"matmul_bias", matmul_bias},
    {"matmul_half", matmul_half},
    {"softmax", softmax},
    {"max_pool", max_pool},
    {"transpose", transpose},
    {"math", math},
    {"half", half_ops},
    {"half_concat", half_concat},
    {"int", int_ops},
    {"bool", bool_ops},
    {"bits", bit_ops},
    {"symbolic_add", symbolic_add},
    {"symbolic_sum", symbolic_sum},
    {"conv_3x3", conv_3x3},
    {"conv_large", conv_large},
    {"conv_large_5x5", conv_large_5x5},
    {"conv_stride", conv_stride},
    {"conv_1x1", conv_1x1},
    {"conv_depthwise", conv_depthwise},
    {"conv_depthwise_stride", conv_depthwise_stride},
    {"conv_groups", conv_groups},
    {"conv_half", conv_half},
    {"conv_tiny", conv_tiny},
    {"gate", gate},
};

int
program_count(void)
{
    return (int)(sizeof all / sizeof all[0]);
}

const tn_node *
program_get(tn_ctx *ctx, int i, const char **name, const tn_node **dims)
{
    *name = all[i].name;
    *dims = tn_dictv(ctx, "n", tn_i64(ctx, 5), "m", tn_i64(ctx, 19), NULL);
    return all[i].make(ctx);
}
