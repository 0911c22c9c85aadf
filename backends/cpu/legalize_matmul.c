/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of the cpu target, where the right operand does not lie as R.matmul has it.
 *
 *     lv = R.matmul(x, w)                        # w constant, (768, 3072)
 *  -> lv1 = R.call_tir(cls.panels, (w,), R.Tensor((192, 768, 16)))             folded
 *     lv = R.call_tir(cls.matmul_panels, (x, lv1), R.Tensor((128, 3072)))
 *
 *     lv = R.permute_dims(w, axes=[1, 0])
 *     lv1 = R.matmul(x, lv)
 *  -> lv1 = R.call_tir(cls.matmul_turned, (x, w), ...)                          w is not copied
 *
 * Where w was widened from float16 or bfloat16, the product reads what there was before. Weights that a model has in a tuple:
 * row_product.c.
 *
 * A panel is as wide as the tile that cpu.Matmul gives a product of many rows. Everything else
 * becomes what the operator's own rule makes of it.
 */
#include "cpu.h"
#include "tenon/kit/te.h"

enum { MAX_RANK = 6, LEAST_ROWS = 16, MAX_STEPS = 8 /* of calls that make a constant */ };

typedef enum form { PANELS, TURNED } form;

static bool
is_constant(tn_builder *b, const tn_expr *e, int steps)
{
    if (tn_is(e, TN_KIND_CONSTANT))
        return true;
    if (tn_is_var(e)) {
        const tn_expr *value = tn_builder_find_value(b, e);
        return value && is_constant(b, value, steps);
    }
    const tn_call *call = tn_is(e, TN_KIND_CALL) ? tn_as_call(e) : NULL;
    if (!call || !steps || !tn_call_is_pure(call))
        return false;
    bool any = false;
    for (uint32_t i = 0; i < call->args.n; i++) {
        const tn_expr *arg = call->args.at[i];
        if (!tn_is(arg->type, TN_KIND_TY_TENSOR))
            continue;
        if (!is_constant(b, arg, steps - 1))
            return false;
        any = true;
    }
    return any;
}

bool
cpu_is_constant(tn_builder *b, const tn_expr *e)
{
    return is_constant(b, e, MAX_STEPS);
}

/* What permute_dims of the last two dimensions turns; NULL: the value is none. */
static const tn_expr *
turned_source(tn_builder *b, const tn_expr *w)
{
    const tn_expr *value = tn_is_var(w) ? tn_builder_find_value(b, w) : w;
    const tn_call *call = value ? tn_is_call_to(value, "relax.permute_dims") : NULL;
    int64_t axes[MAX_RANK], rank = tn_type_ndim(w->type);
    if (!call || rank < 2 || rank > MAX_RANK)
        return NULL;
    int n = tn_dict_ints(call->attrs, "axes", axes, MAX_RANK);
    if (n < 0 && rank == 2)
        return call->args.at[0]; /* all reversed */
    for (int i = 0; i < n; i++) {
        int64_t want = i < n - 2 ? i : i == n - 2 ? n - 1 : n - 2;
        if ((axes[i] < 0 ? axes[i] + n : axes[i]) != want)
            return NULL;
    }
    return n == rank ? call->args.at[0] : NULL;
}

/* What is widened to float32; the value itself, if nothing is. */
static const tn_expr *
before_widening(tn_builder *b, const tn_expr *w)
{
    const tn_expr *value = tn_is_var(w) ? tn_builder_find_value(b, w) : w;
    const tn_call *call = value ? tn_is_call_to(value, "relax.astype") : NULL;
    const tnb_dtype d = call ? tn_type_dtype(call->args.at[0]->type) : TNB_F32;
    return tnb_dtype_eq(d, TNB_F16) || tnb_dtype_eq(d, TNB_BF16) ? call->args.at[0] : w;
}

static tnk_stage *
stage_of_type(tnk_te *te, const char *name, const tn_type *type)
{
    tn_list dims;
    const tn_expr *d[MAX_RANK];
    (void)tn_type_dims(type, &dims);
    for (uint32_t i = 0; i < dims.n; i++)
        d[i] = tnk_te_expr(te, dims.at[i]);
    return tnk_te_stage(te, name, d, dims.n, TNB_F32);
}

/* (K, N) in panels (N / width, K, width). */
static const tn_expr *
pack(tn_builder *b, const tn_expr *w, int64_t k, int64_t n, int64_t width)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "w", w->type);
    const tn_expr *dims[3] = {tn_i64(ctx, n / width), tn_i64(ctx, k), tn_i64(ctx, width)};
    tnk_stage *s = tnk_te_stage(te, "panels", dims, 3, TNB_F32);
    const tn_expr *column = tn_add(ctx, tn_mul(ctx, s->axes[0], dims[2]), s->axes[2]);
    const tn_node *out = tnk_te_define(s, tnk_te_read(te, in, s->axes[1], column, NULL));
    return tn_emit(b, tnk_te_call(te, b, "panels", &w, 1, &out, 1), "panels");
}

/* The operand's element for the result's axes; its last two indices are given. */
static const tn_expr *
read_batch(tnk_te *te, const tn_node *buffer, const tnk_stage *s, const tn_expr *row,
           const tn_expr *column)
{
    const tn_list shape = tn_as_buffer(buffer)->shape;
    const tn_expr *idx[MAX_RANK];
    for (uint32_t i = 0; i + 2 < shape.n; i++)
        idx[i] = tn_is_int_const(shape.at[i], 1) ? tn_i64(tnk_te_ctx(te), 0)
                                                 : s->axes[s->n_axes - shape.n + i];
    idx[shape.n - 2] = row;
    idx[shape.n - 1] = column;
    return tnk_te_read_at(te, buffer, idx, shape.n);
}

static const tn_expr *
product(tn_builder *b, const tn_call *call, const tn_expr *w, form how, const tn_expr *sum_over,
        int64_t width)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tnk_te *te = tnk_te_new(ctx);
    const tn_expr *x = call->args.at[0];
    const tn_node *left = tnk_te_input(te, "x", x->type), *right = tnk_te_input(te, "w", w->type);
    const char *name = how == PANELS ? "matmul_panels" : "matmul_turned";
    tnk_stage *s = stage_of_type(te, name, call->base.type);
    const tn_expr *k = tnk_te_reduce_axis(s, "k", tnk_te_expr(te, sum_over));
    const tn_expr *i = s->axes[s->n_axes - 2], *j = s->axes[s->n_axes - 1];
    const tn_expr *to = tn_i64(ctx, width);
    const tn_expr *r = how == TURNED ? read_batch(te, right, s, j, k)
                                     : tnk_te_read(te, right, tn_floordiv(ctx, j, to), k,
                                                   tn_floormod(ctx, j, to), NULL);
    r = tn_cast_to(ctx, TNB_F32, r); /* weights may be halves */
    const tn_node *out = tnk_te_sum(s, tn_mul(ctx, read_batch(te, left, s, i, k), r));
    const tn_expr *operands[2] = {x, w};
    return tnk_te_call(te, b, name, operands, 2, &out, 1);
}

/* Rows of the left operand, with its batch; unknown extents count as many. */
static bool
has_many_rows(tn_list x)
{
    int64_t rows = 1, e;
    for (uint32_t i = 0; i + 1 < x.n; i++)
        rows *= tn_int_value(x.at[i], &e) ? e : LEAST_ROWS;
    return rows >= LEAST_ROWS;
}

static const tn_expr *
legalize(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)self;
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = call->args.at[0], *w = call->args.at[1];
    const tn_expr *other = cpu_legalize_dot(b, call, target);
    tn_list xd, wd, out;
    if (!other)
        other = cpu_legalize_products(b, call, target);
    if (other)
        return other;
    if (!tnb_dtype_eq(tn_type_dtype(x->type), TNB_F32) ||
        !tnb_dtype_eq(tn_type_dtype(w->type), TNB_F32) ||
        !tnb_dtype_eq(tn_type_dtype(call->base.type), TNB_F32) || !tn_type_dims(x->type, &xd) ||
        !tn_type_dims(w->type, &wd) || !tn_type_dims(call->base.type, &out) || xd.n < 2 ||
        wd.n < 2 || out.n > MAX_RANK)
        return NULL;
    int64_t k, n, width = cpu_panel_width(ctx, target);
    if (is_constant(b, w, MAX_STEPS)) {
        if (wd.n != 2 || !has_many_rows(xd) || !tn_int_value(wd.at[0], &k) ||
            !tn_int_value(wd.at[1], &n) || n % width || k < 8)
            return NULL;
        return product(b, call, pack(b, w, k, n, width), PANELS, xd.at[xd.n - 1], width);
    }
    const tn_expr *source = turned_source(b, w);
    if (!source)
        return NULL;
    source = before_widening(b, source);
    const tn_expr *rows = cpu_row_product(b, call, source, target);
    return rows ? rows : product(b, call, source, TURNED, xd.at[xd.n - 1], 0);
}

static const tn_expr *
legalize_conv(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)self;
    const tn_expr *dot = cpu_legalize_dot(b, call, target);
    return dot ? dot : cpu_legalize_winograd(b, call, target);
}

#define ONE(id, op, kind, f)                                                               \
    static const tn_legalizer id##_for_##kind = {.base = {sizeof(tn_legalizer), op, NULL}, \
                                                 .target = #kind,                          \
                                                 .legalize = f};
#define FOR_KIND(kind)                                                                 \
    ONE(matmul, "relax.matmul", kind, legalize)                                        \
    ONE(conv, "relax.nn.conv2d", kind, legalize_conv)                                  \
    ONE(conv1d, "relax.nn.conv1d", kind, cpu_legalize_conv1d)                          \
    ONE(transposed, "relax.nn.conv2d_transpose", kind, cpu_legalize_transposed)        \
    ONE(attention, "relax.nn.attention", kind, cpu_legalize_attention)                 \
    ONE(attention_bias, "relax.nn.attention_bias", kind, cpu_legalize_attention)       \
    ONE(attention_var_len, "relax.nn.attention_var_len", kind, cpu_legalize_attention) \
    ONE(permuted, "relax.permute_dims", kind, cpu_legalize_permuted)
CPU_KINDS(FOR_KIND)

#define ENTRIES(kind)                                                                     \
    &matmul_for_##kind, &conv_for_##kind, &conv1d_for_##kind, &transposed_for_##kind,     \
        &attention_for_##kind, &attention_bias_for_##kind, &attention_var_len_for_##kind, \
        &permuted_for_##kind,
const tn_legalizer *const cpu_legalizers[CPU_N_LEGALIZERS] = {CPU_KINDS(ENTRIES)};
