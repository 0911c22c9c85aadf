/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that --quantize makes of a checkpoint's floats: how the runtime is to make them (tenon/base/tno.h), and programs that
 * compute with them. Formats and names are MLC-LLM's, whose products have the same operands:
 *
 *     q4f16_1, q4f32_1   uint32 [N, K / 8], numbers of 4 bits less 7; scales [N, K / 32]
 *     q8f16              uint32 [N, K / 4], numbers of 8 bits less 127; scales [N, K / 32]
 *     q0f16, q0f32       floats
 *
 * The number behind f is the width of scales, or of the floats. Only matrices change; groups of 32 lie along K, the last one may be
 * short. Activations are float32 in any case.
 */
#include "checkpoint.h"

#include <stdio.h>
#include "tenon/base/gguf.h"
#include "tenon/kit/te.h"

enum { GROUP = 32 };

struct checkpoint_quantization {
    const char *name;
    int bits;         /* 0: floats */
    tnb_dtype floats; /* of scales, or of the weights */
};

static const checkpoint_quantization quantizations[] = {
    {"q4f16_1", 4, TNB_F16}, {"q4f32_1", 4, TNB_F32}, {"q8f16", 8, TNB_F16},
    {"q0f16", 0, TNB_F16},   {"q0f32", 0, TNB_F32},
};
const char *const checkpoint_quantizations[] = {"q4f16_1", "q4f32_1", "q8f16",
                                                "q0f16",   "q0f32",   NULL};

const checkpoint_quantization *
checkpoint_find_quantization(const char *name)
{
    for (size_t i = 0; name && i < sizeof quantizations / sizeof *quantizations; i++)
        if (strcmp(quantizations[i].name, name) == 0)
            return &quantizations[i];
    return NULL;
}

bool
checkpoint_quantize(checkpoint_model *m, checkpoint_tensor *t)
{
    const checkpoint_quantization *q = m->quantization;
    if (!t->dtype.bits) {
        checkpoint_fail(m, t->own, TNB_UNSUPPORTED,
                        "%s is made of floats, and the tensor is quantized as %s already", q->name,
                        tnb_gguf_type_of(t->blocks).name);
        tnb_diag_hint(tn_diags(m->ctx),
                      "leave --quantize out, or name the checkpoint that the file was made of");
        return false;
    }
    if (t->dtype.bits > 32)
        return checkpoint_fail(m, t->own, TNB_UNSUPPORTED,
                               "%s is made of float32, float16 or bfloat16, not of %s", q->name,
                               tnb_dtype_print(t->dtype).s);
    t->from = t->dtype;
    t->dtype = q->floats;
    if (!q->bits)
        return true;
    t->part = CHECKPOINT_NUMBERS;
    checkpoint_tensor *scales = tnb_dup(tn_arena(m->ctx), t, sizeof *t);
    scales->part = CHECKPOINT_SCALES;
    scales->name = tn_strf(m->ctx, "%s.scales", t->name);
    scales->param = m->params.n;
    TNB_PUSH(tn_arena(m->ctx), m->params, scales);
    t->scales = scales;
    return true;
}

static int64_t
rows_of(const checkpoint_tensor *t)
{
    return t->shape[t->turned ? 1 : 0];
}

static int64_t
columns_of(const checkpoint_tensor *t)
{
    return t->shape[t->turned ? 0 : 1];
}

const tn_type *
checkpoint_quantized_type(checkpoint_model *m, const checkpoint_tensor *t)
{
    tn_ctx *ctx = m->ctx;
    const bool numbers = t->part == CHECKPOINT_NUMBERS;
    const int64_t groups = (columns_of(t) + GROUP - 1) / GROUP;
    const tn_expr *width = tn_i64(ctx, numbers ? groups * m->quantization->bits : groups);
    return tn_ty_tensor_dims(ctx, tn_listv(ctx, tn_i64(ctx, rows_of(t)), width, NULL),
                             numbers ? TNB_DTYPE(TNB_UINT, 32) : m->quantization->floats);
}

const tn_node *
checkpoint_transform(checkpoint_model *m, const checkpoint_tensor *t)
{
    tn_ctx *ctx = m->ctx;
    const tn_node *from = tn_string(ctx, tnb_dtype_print(t->from).s);
    if (t->part == CHECKPOINT_WHOLE)
        return t->from.bits && !tnb_dtype_eq(t->from, t->dtype)
                   ? tn_dictv(ctx, "kind", tn_string(ctx, "convert"), "from", from, NULL)
                   : NULL;
    return tn_dictv(ctx, "kind", tn_string(ctx, "quantize"), "part",
                    tn_string(ctx, t->part == CHECKPOINT_NUMBERS ? "numbers" : "scales"), "bits",
                    tn_i64(ctx, m->quantization->bits), "columns", tn_i64(ctx, columns_of(t)),
                    "from", from, "scales",
                    tn_string(ctx, tnb_dtype_print(m->quantization->floats).s), "turned",
                    tn_bool(ctx, t->turned), NULL);
}

/* ---- programs ---- */

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

const tn_expr *
checkpoint_quantized_values(checkpoint_function *f, const checkpoint_tensor *t,
                            const tn_expr *words, const tn_expr *scales)
{
    tn_ctx *ctx = f->ctx;
    tn_list dims;
    const int bits = f->m->quantization->bits, in_word = 32 / bits;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "words", words->type),
                  *by = tnk_te_input(te, "scales", scales->type);
    if (!tn_type_dims(words->type, &dims) || dims.n != 2)
        return tn_error(ctx, 0, TNB_INTERNAL, "quantized rows without a shape");
    const tn_expr *extents[] = {tnk_te_expr(te, dims.at[0]), tn_i64(ctx, columns_of(t))};
    tnk_stage *s = tnk_te_stage(te, "dequantize", extents, 2, TNB_F32);
    const tn_expr *row = s->axes[0], *k = s->axes[1];
    const tn_expr *word = tnk_te_read(te, in, row, tn_floordivi(ctx, k, in_word), NULL),
                  *scale = tnk_te_read(te, by, row, tn_floordivi(ctx, k, GROUP), NULL);
    const tn_expr *q = number(ctx, word, tn_floormodi(ctx, k, in_word), bits);
    const tn_node *out = tnk_te_define(s, tn_mul(ctx, real(ctx, q), real(ctx, scale)));
    const tn_expr *operands[] = {words, scales};
    const char *name = tn_strf(ctx, "dequantize_%s", f->m->quantization->name);
    return tn_emit(f->b, tnk_te_call(te, f->b, name, operands, 2, &out, 1), "dequantized");
}

/* Groups of a row that a turn of the product's loop takes at most. */
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

const tn_expr *
checkpoint_quantized_product(checkpoint_function *f, const checkpoint_tensor *t, const tn_expr *x,
                             const tn_expr *words, const tn_expr *scales)
{
    tn_ctx *ctx = f->ctx;
    tn_list dims;
    const int bits = f->m->quantization->bits;
    const int64_t groups = columns_of(t) / GROUP;
    if (columns_of(t) % GROUP)
        return NULL;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *const in[] = {tnk_te_input(te, "x", x->type),
                                 tnk_te_input(te, "words", words->type),
                                 tnk_te_input(te, "scales", scales->type)};
    if (!tn_type_dims(x->type, &dims) || dims.n != 3)
        return tn_error(ctx, 0, TNB_INTERNAL, "a product without a shape");
    const tn_expr *extents[] = {tnk_te_expr(te, dims.at[0]), tnk_te_expr(te, dims.at[1]),
                                tn_i64(ctx, rows_of(t))};
    tnk_stage *s = tnk_te_stage(te, "product", extents, 3, TNB_F32);
    int64_t together = TOGETHER;
    while (groups % together)
        together /= 2;
    const tn_expr *turn = tnk_te_reduce_axis(s, "turn", tn_i64(ctx, groups / together)),
                  *lane = tnk_te_reduce_axis(s, "lane", tn_i64(ctx, 32 / bits)), *sum = NULL;
    for (int64_t i = 0; i < together; i++) {
        const tn_expr *group = tn_addi(ctx, tn_muli(ctx, turn, together), i),
                      *term = group_sum(te, in, s, group, lane, bits);
        sum = sum ? tn_add(ctx, sum, term) : term;
    }
    const tn_node *out = tnk_te_sum(s, sum);
    const tn_expr *operands[] = {x, words, scales};
    const char *name = tn_strf(ctx, "product_%s", f->m->quantization->name);
    return tn_emit(f->b, tnk_te_call(te, f->b, name, operands, 3, &out, 1), "product");
}
