/* SPDX-License-Identifier: Apache-2.0 */
/* R.quantized_matmul(x, words, scales, bits=4): x, float32 [..., columns], times the turned matrix of weights that --quantize makes:
 * words, uint32 [rows, groups * bits], scales [rows, groups], groups of 32 columns, the last one of which may be short (quantized.c).
 *
 * Its own rule computes with float32: in the product where x has one row a sequence, else the weights are made numbers in
 * front of it. A target may have another rule.
 */
#include "checkpoint.h"

#include "tenon/core/arith.h"
#include "tenon/core/registry.h"
#include "tenon/kit/te.h"

enum { GROUP = 32 };

/* A number of a word less what stands for zero, in 32 bits; the place in the word counts elements. */
static const tn_expr *
number(tn_ctx *ctx, const tn_expr *word, const tn_expr *place, int bits)
{
    const tnb_dtype u32 = TNB_DTYPE(TNB_UINT, 32);
    const tn_expr *shift = tn_cast_to(ctx, u32, tn_muli(ctx, place, bits)),
                  *mask = tn_int_imm_of(ctx, u32, (1 << bits) - 1);
    const tn_expr *q = tn_bitwise_and(ctx, tn_shift_right(ctx, word, shift), mask);
    return tn_sub(ctx, tn_cast_to(ctx, TNB_I32, q), tn_i32(ctx, (1 << (bits - 1)) - 1));
}

static const tn_expr *
real(tn_ctx *ctx, const tn_expr *x)
{
    return tn_cast_to(ctx, TNB_F32, x);
}

static const char *
format_name(int bits, const tn_expr *scales)
{
    return checkpoint_quantization_name(bits, tn_type_dtype(scales->type));
}

const tn_expr *
checkpoint_quantized_values(tn_builder *b, const tn_expr *words, const tn_expr *scales, int bits,
                            int64_t columns)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list dims;
    const int in_word = 32 / bits;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "words", words->type),
                  *by = tnk_te_input(te, "scales", scales->type);
    if (!tn_type_dims(words->type, &dims) || dims.n != 2)
        return tn_error(ctx, 0, TNB_INTERNAL, "quantized rows without a shape");
    const tn_expr *extents[] = {tnk_te_expr(te, dims.at[0]), tn_i64(ctx, columns)};
    tnk_stage *s = tnk_te_stage(te, "dequantize", extents, 2, TNB_F32);
    const tn_expr *row = s->axes[0], *k = s->axes[1];
    const tn_expr *word = tnk_te_read(te, in, row, tn_floordivi(ctx, k, in_word), NULL),
                  *scale = tnk_te_read(te, by, row, tn_floordivi(ctx, k, GROUP), NULL);
    const tn_expr *q = number(ctx, word, tn_floormodi(ctx, k, in_word), bits);
    const tn_node *out = tnk_te_define(s, tn_mul(ctx, real(ctx, q), real(ctx, scale)));
    const tn_expr *operands[] = {words, scales};
    const char *name = tn_strf(ctx, "dequantize_%s", format_name(bits, scales));
    return tn_emit(b, tnk_te_call(te, b, name, operands, 2, &out, 1), "dequantized");
}

/* Groups of a row that an iteration of the product's loop takes at most. */
enum { TOGETHER = 8 };

/* The part of a product that a group is; `lane` runs over the numbers of a word. */
static const tn_expr *
group_sum(tnk_te *te, const tn_node *const in[3], const tnk_stage *s, const tn_expr *group,
          const tn_expr *lane, int bits)
{
    tn_ctx *ctx = tnk_te_ctx(te);
    const tn_expr *sum = NULL;
    const int in_word = 32 / bits;
    for (int i = 0; i < bits; i++) { /* as many words as bits */
        const tn_expr *at = tn_addi(ctx, tn_muli(ctx, group, bits), i),
                      *k = tn_add(ctx, tn_muli(ctx, at, in_word), lane);
        const tn_expr *x = tnk_te_read(te, in[0], s->axes[0], s->axes[1], k, NULL),
                      *word = tnk_te_read(te, in[1], s->axes[2], at, NULL);
        const tn_expr *term = tn_mul(ctx, x, real(ctx, number(ctx, word, lane, bits)));
        sum = sum ? tn_add(ctx, sum, term) : term;
    }
    return tn_mul(ctx, real(ctx, tnk_te_read(te, in[2], s->axes[2], group, NULL)), sum);
}

/* A product of one row a sequence with weights of whole groups. */
static const tn_expr *
one_row(tn_builder *b, const tn_expr *x, const tn_expr *words, const tn_expr *scales, int bits,
        int64_t columns)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list dims, rows;
    const int64_t groups = columns / GROUP;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *const in[] = {tnk_te_input(te, "x", x->type),
                                 tnk_te_input(te, "words", words->type),
                                 tnk_te_input(te, "scales", scales->type)};
    if (!tn_type_dims(x->type, &dims) || dims.n != 3 || !tn_type_dims(words->type, &rows))
        return tn_error(ctx, 0, TNB_INTERNAL, "a product without a shape");
    const tn_expr *extents[] = {tnk_te_expr(te, dims.at[0]), tnk_te_expr(te, dims.at[1]),
                                tnk_te_expr(te, rows.at[0])};
    tnk_stage *s = tnk_te_stage(te, "product", extents, 3, TNB_F32);
    int64_t together = TOGETHER;
    while (groups % together)
        together /= 2;
    const tn_expr *iteration = tnk_te_reduce_axis(s, "iteration", tn_i64(ctx, groups / together)),
                  *lane = tnk_te_reduce_axis(s, "lane", tn_i64(ctx, 32 / bits)), *sum = NULL;
    for (int64_t i = 0; i < together; i++) {
        const tn_expr *group = tn_addi(ctx, tn_muli(ctx, iteration, together), i),
                      *term = group_sum(te, in, s, group, lane, bits);
        sum = sum ? tn_add(ctx, sum, term) : term;
    }
    const tn_node *out = tnk_te_sum(s, sum);
    const tn_expr *operands[] = {x, words, scales};
    const char *name = tn_strf(ctx, "product_%s", format_name(bits, scales));
    return tn_emit(b, tnk_te_call(te, b, name, operands, 3, &out, 1), "product");
}

/* ---- the operator ---- */

static const tn_type *
infer(tn_ctx *ctx, const tn_call *call)
{
    const tn_type *x = call->args.at[0]->type, *w = call->args.at[1]->type,
                  *s = call->args.at[2]->type;
    const int64_t bits = tn_call_int(call, "bits");
    tn_list xd, wd, sd;
    int64_t columns, words, groups;
    if (!tn_is(x, TN_KIND_TY_TENSOR) || !tnb_dtype_eq(tn_type_dtype(x), TNB_F32) ||
        !tn_is(w, TN_KIND_TY_TENSOR) || !tnb_dtype_eq(tn_type_dtype(w), TNB_DTYPE(TNB_UINT, 32)) ||
        !tn_is(s, TN_KIND_TY_TENSOR) || !checkpoint_quantization_name(bits, tn_type_dtype(s)))
        return tn_error(
            ctx, 0, TNB_TYPE,
            "quantized_matmul takes float32, words of uint32 with 4 or 8 bits a number, "
            "and scales of float16, of 4 bits float32, too");
    if (!tn_type_dims(x, &xd) || xd.n < 1 || !tn_int_value(xd.at[xd.n - 1], &columns) ||
        !tn_type_dims(w, &wd) || wd.n != 2 || !tn_int_value(wd.at[1], &words) ||
        !tn_type_dims(s, &sd) || sd.n != 2 || !tn_int_value(sd.at[1], &groups))
        return tn_error(ctx, 0, TNB_SHAPE,
                        "quantized_matmul takes [..., columns], [rows, words] and [rows, groups] "
                        "with known columns, words and groups");
    if (groups != (columns + GROUP - 1) / GROUP || words != groups * bits ||
        !tn_prove_equal(ctx, wd.at[0], sd.at[0]))
        return tn_error(ctx, 0, TNB_SHAPE,
                        "quantized_matmul: %lld words and %lld scales a row are not what %lld "
                        "columns of %lld bits have",
                        (long long)words, (long long)groups, (long long)columns, (long long)bits);
    return tn_ty_tensor_dims(ctx, tn_list_with(ctx, xd, xd.n - 1, wd.at[0]), TNB_F32);
}

static const tn_expr *
legalize(tn_builder *b, const tn_call *call)
{
    const tn_expr *x = call->args.at[0], *words = call->args.at[1], *scales = call->args.at[2];
    const int bits = (int)tn_call_int(call, "bits");
    tn_list xd;
    int64_t columns;
    if (!tn_type_dims(x->type, &xd) || !tn_int_value(xd.at[xd.n - 1], &columns))
        return NULL;
    if (xd.n == 3 && tn_is_int_const(xd.at[1], 1) && columns % GROUP == 0)
        return one_row(b, x, words, scales, bits, columns);
    return checkpoint_turned_product(b, x,
                                     checkpoint_quantized_values(b, words, scales, bits, columns));
}

static const tn_arg_schema args[] = {{"x", "float32, [..., columns]"},
                                     {"words", "uint32, [rows, groups * bits]"},
                                     {"scales", "[rows, groups]"},
                                     {NULL, NULL}};
static const tn_attr_schema attrs[] = {
    {"bits", TN_ATTR_INT, 0, "4", "of a number: 4 or 8"},
    {0},
};

const tn_op checkpoint_quantized_matmul = {
    .base.size = sizeof(tn_op),
    .base.name = "relax.quantized_matmul",
    .base.doc = "a product with the turned matrix of weights quantized in groups of 32",
    .args = args,
    .min_args = -1,
    .attrs = attrs,
    .mixed = TN_MIXED_NEVER,
    .result = "float32, [..., rows]",
    .infer = infer,
    .legalize = legalize,
};
