/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that --quantize makes of a checkpoint's floats: how the runtime is to make them (tenon/base/tno.h). Formats and names are MLC-LLM's, whose products have the same operands:
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

const char *
checkpoint_quantization_name(int64_t bits, tnb_dtype scales)
{
    for (size_t i = 0; i < sizeof quantizations / sizeof *quantizations; i++)
        if (bits && quantizations[i].bits == bits && tnb_dtype_eq(quantizations[i].floats, scales))
            return quantizations[i].name;
    return NULL;
}

int
checkpoint_quantization_bits(const checkpoint_quantization *q)
{
    return q->bits;
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
