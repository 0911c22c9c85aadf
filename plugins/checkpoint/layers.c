/* SPDX-License-Identifier: Apache-2.0 */
/* A model's layers. Which tensors a checkpoint has decides much: biases, norms of q and k, q, k and v or gate and up in one
 * tensor. Activations are float32.
 */
#include "checkpoint.h"

#include <math.h>
#include "tenon/base/gguf.h"
#include "tenon/core/registry.h"

/* ---- short forms ---- */

static const tn_expr *
emit(checkpoint_function *f, const tn_expr *e, const char *hint)
{
    return tn_emit(f->b, e, hint);
}

static const tn_expr *
reshape(checkpoint_function *f, const tn_expr *x, const tn_expr *a, const tn_expr *b,
        const tn_expr *c, const tn_expr *d)
{
    tn_list shape = d ? tn_listv(f->ctx, a, b, c, d, NULL) : tn_listv(f->ctx, a, b, c, NULL);
    return emit(f, tn_call_opv(f->ctx, "reshape", NULL, x, tn_shape_expr_of(f->ctx, shape), NULL),
                "reshape");
}

static const tn_expr *
integer(checkpoint_function *f, int64_t n)
{
    return tn_i64(f->ctx, n);
}

static const tn_expr *
to_float(checkpoint_function *f, const tn_expr *x)
{
    if (tnb_dtype_eq(tn_type_dtype(x->type), TNB_F32))
        return x;
    return emit(f,
                tn_call_opv(f->ctx, "astype",
                            tn_dictv(f->ctx, "dtype", tn_dtype_imm_of(f->ctx, TNB_F32), NULL), x,
                            NULL),
                "astype");
}

static const tn_expr *
scaled(checkpoint_function *f, const tn_expr *x, double by)
{
    return emit(f,
                tn_call_opv(f->ctx, "multiply", NULL, x, tn_scalar_constant(f->ctx, TNB_F32, by),
                            NULL),
                "scaled");
}

/* cap * tanh(x / cap); a cap of 0 limits nothing. */
static const tn_expr *
limited(checkpoint_function *f, const tn_expr *x, double cap)
{
    if (!(cap > 0))
        return x;
    x = scaled(f, x, 1 / cap);
    return scaled(f, emit(f, tn_call_opv(f->ctx, "tanh", NULL, x, NULL), "tanh"), cap);
}

/* ---- weights ---- */

static const tn_expr *
weight(checkpoint_function *f, const checkpoint_tensor *t)
{
    if (!f->weights[t->param])
        f->weights[t->param] = emit(f, tn_tuple_item(f->ctx, f->packed, t->param), t->name);
    return f->weights[t->param];
}

/* A vector in float32; NULL: the checkpoint has none. */
static const tn_expr *
vector(checkpoint_function *f, int64_t layer, const char *name, const char *suffix)
{
    const checkpoint_tensor *t = checkpoint_find(f->m, layer, name, suffix);
    return t && t->param >= 0 ? to_float(f, weight(f, t)) : NULL;
}

static bool
has(checkpoint_function *f, int64_t layer, const char *name)
{
    return checkpoint_find(f->m, layer, name, "weight") != NULL;
}

/* x times the turned weight, and its bias. */
static const tn_expr *
linear(checkpoint_function *f, const tn_expr *x, int64_t layer, const char *name)
{
    const checkpoint_tensor *t = checkpoint_find(f->m, layer, name, "weight");
    const tn_expr *w = weight(f, t), *bias = vector(f, layer, name, "bias"), *y;
    const bool blocks = !t->dtype.bits;
    if (t->scales) {
        const tn_node *bits = tn_i64(f->ctx, checkpoint_quantization_bits(f->m->quantization));
        y = emit(f,
                 tn_call_opv(f->ctx, "quantized_matmul", tn_dictv(f->ctx, "bits", bits, NULL), x, w,
                             weight(f, t->scales), NULL),
                 "product");
    } else if (blocks) {
        const tn_node *type = tn_string(f->ctx, tnb_gguf_type_of(t->blocks).name);
        y = emit(f,
                 tn_call_opv(f->ctx, "gguf_matmul", tn_dictv(f->ctx, "type", type, NULL), x, w,
                             NULL),
                 "product");
    } else {
        w = to_float(f, w);
        if (!t->turned)
            w = emit(f, tn_call_opv(f->ctx, "permute_dims", NULL, w, NULL), "turned");
        y = emit(f, tn_call_opv(f->ctx, "matmul", NULL, x, w, NULL), "matmul");
    }
    return bias ? emit(f, tn_call_opv(f->ctx, "add", NULL, y, bias, NULL), "add") : y;
}

/* ---- parts of a layer ---- */

static const tn_expr *
norm(checkpoint_function *f, const tn_expr *x, int64_t layer, const char *name)
{
    static const int64_t last = -1;
    tn_ctx *ctx = f->ctx;
    const tn_expr *scale = vector(f, layer, name, "weight"), *bias = vector(f, layer, name, "bias");
    const tn_node *attrs = tn_dictv(ctx, "axes", tn_int_array(ctx, &last, 1), "epsilon",
                                    tn_float_imm_of(ctx, TNB_F64, f->m->epsilon), NULL);
    if (f->m->flags & CHECKPOINT_NORM_PLUS_ONE)
        scale =
            emit(f, tn_call_opv(ctx, "add", NULL, scale, tn_scalar_constant(ctx, TNB_F32, 1), NULL),
                 "scale");
    if (!(f->m->flags & CHECKPOINT_LAYER_NORM))
        return emit(f, tn_call_opv(ctx, "nn.rms_norm", attrs, x, scale, NULL), "norm");
    if (!bias)
        bias = tn_constant_of(ctx, tn_data_splat(ctx, TNB_F32, 1, &f->m->hidden, &(float){0}));
    return emit(f, tn_call_opv(ctx, "nn.layer_norm", attrs, x, scale, bias, NULL), "norm");
}

/* Neighbours of a head as halves: what turns pairs of neighbours then turns halves, with the same products of q and k. */
static const tn_expr *
neighbours_to_halves(checkpoint_function *f, const tn_expr *x, int64_t heads)
{
    static const int64_t order[] = {0, 1, 2, 4, 3};
    tn_ctx *ctx = f->ctx;
    const int64_t half = f->m->rotary_dim / 2;
    if (half * 2 != f->m->head_dim)
        return tn_error(ctx, 0, TNB_UNSUPPORTED,
                        "RoPE that turns neighbours in a part of a head is not supported");
    const tn_node *axes = tn_dictv(ctx, "axes", tn_int_array(ctx, order, 5), NULL);
    tn_list pairs = tn_listv(ctx, f->batch, f->length, integer(f, heads), integer(f, half),
                             integer(f, 2), NULL);
    x = emit(f, tn_call_opv(ctx, "reshape", NULL, x, tn_shape_expr_of(ctx, pairs), NULL), "pairs");
    x = emit(f, tn_call_opv(ctx, "permute_dims", axes, x, NULL), "halves");
    return reshape(f, x, f->batch, f->length, integer(f, heads), integer(f, f->m->head_dim));
}

/* A projection as heads, [batch, length, heads, head_dim], ready for RoPE. */
static const tn_expr *
as_heads(checkpoint_function *f, const tn_expr *x, int64_t layer, int64_t heads,
         const char *norm_name)
{
    x = reshape(f, x, f->batch, f->length, integer(f, heads), integer(f, f->m->head_dim));
    if (norm_name && has(f, layer, norm_name))
        x = norm(f, x, layer, norm_name);
    if (norm_name && f->m->flags & CHECKPOINT_INTERLEAVED)
        x = neighbours_to_halves(f, x, heads);
    return x;
}

/* q, k and v, [batch, length, heads + 2 * kv_heads, head_dim]. */
static const tn_expr *
projections(checkpoint_function *f, const tn_expr *x, int64_t layer)
{
    tn_ctx *ctx = f->ctx;
    const int64_t q = f->m->heads, kv = f->m->kv_heads;
    const tn_expr *parts[3];
    if (has(f, layer, "attn_qkv")) {
        const tn_expr *all = linear(f, x, layer, "attn_qkv");
        bool plain = !has(f, layer, "attn_q_norm") && !has(f, layer, "attn_k_norm") &&
                     !(f->m->flags & CHECKPOINT_INTERLEAVED);
        if (plain)
            return as_heads(f, all, layer, q + 2 * kv, NULL);
        const int64_t at[] = {q * f->m->head_dim, (q + kv) * f->m->head_dim};
        const tn_node *attrs = tn_dictv(ctx, "indices_or_sections", tn_int_array(ctx, at, 2),
                                        "axis", tn_i64(ctx, -1), NULL);
        const tn_expr *split = emit(f, tn_call_opv(ctx, "split", attrs, all, NULL), "split");
        for (int i = 0; i < 3; i++)
            parts[i] = emit(f, tn_tuple_item(ctx, split, i), "part");
    } else {
        parts[0] = linear(f, x, layer, "attn_q");
        parts[1] = linear(f, x, layer, "attn_k");
        parts[2] = linear(f, x, layer, "attn_v");
    }
    parts[0] = as_heads(f, parts[0], layer, q, "attn_q_norm");
    parts[1] = as_heads(f, parts[1], layer, kv, "attn_k_norm");
    parts[2] = as_heads(f, parts[2], layer, kv, NULL);
    return emit(f,
                tn_call_opv(ctx, "concat", tn_dictv(ctx, "axis", tn_i64(ctx, 2), NULL),
                            tn_tuple_of(ctx, tn_list_of(ctx, parts, 3)), NULL),
                "qkv");
}

static const tn_expr *
attention(checkpoint_function *f, const tn_expr *x, int64_t layer)
{
    tn_ctx *ctx = f->ctx;
    const tn_expr *heads = integer(f, f->m->heads), *dim = integer(f, f->m->head_dim);
    const tn_expr *qkv = projections(f, x, layer);
    tn_list args = tn_listv(ctx, f->cache, integer(f, layer),
                            tn_float_imm_of(ctx, TNB_F32, f->m->score_scale), qkv, NULL);
    const tn_type *type =
        tn_ty_tensor_dims(ctx, tn_listv(ctx, f->batch, f->length, heads, dim, NULL), TNB_F32);
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_dps_packed", NULL);
    const tn_expr *callee =
        tn_extern_func_of(ctx, "vm.builtin.attention_kv_cache_attention_with_fused_qkv");
    x = emit(f,
             tn_call_of(ctx, tn_op_ref_of(ctx, op),
                        tn_listv(ctx, callee, tn_tuple_of(ctx, args), NULL), NULL,
                        (tn_list){&type, 1}, NULL),
             "attention");
    x = reshape(f, x, f->batch, f->length, integer(f, f->m->heads * f->m->head_dim), NULL);
    return linear(f, x, layer, "attn_output");
}

static const tn_expr *
activate(checkpoint_function *f, const tn_expr *x)
{
    const char *op = f->m->flags & CHECKPOINT_GELU ? "nn.gelu_tanh" : "nn.silu";
    return emit(f, tn_call_opv(f->ctx, op, NULL, x, NULL), "activated");
}

static const tn_expr *
feed_forward(checkpoint_function *f, const tn_expr *x, int64_t layer)
{
    tn_ctx *ctx = f->ctx;
    const tn_expr *gate = NULL, *up = linear(f, x, layer, "ffn_up");
    if (has(f, layer, "ffn_gate")) {
        gate = linear(f, x, layer, "ffn_gate");
    } else if (!(f->m->flags & CHECKPOINT_PLAIN_MLP)) {
        const tn_node *attrs =
            tn_dictv(ctx, "indices_or_sections", tn_i64(ctx, 2), "axis", tn_i64(ctx, -1), NULL);
        const tn_expr *both = emit(f, tn_call_opv(ctx, "split", attrs, up, NULL), "split");
        gate = emit(f, tn_tuple_item(ctx, both, 0), "gate");
        up = emit(f, tn_tuple_item(ctx, both, 1), "up");
    }
    x = gate ? emit(f, tn_call_opv(ctx, "multiply", NULL, activate(f, gate), up, NULL), "inner")
             : activate(f, up);
    return linear(f, x, layer, "ffn_down");
}

static const tn_expr *
add(checkpoint_function *f, const tn_expr *x, const tn_expr *y)
{
    return emit(f, tn_call_opv(f->ctx, "add", NULL, x, y, NULL), "add");
}

static const tn_expr *
one_layer(checkpoint_function *f, const tn_expr *x, int64_t layer)
{
    const bool behind = f->m->flags & CHECKPOINT_POST_NORMS;
    const tn_expr *y = attention(f, norm(f, x, layer, "attn_norm"), layer);
    x = add(f, x, behind ? norm(f, y, layer, "post_attention_norm") : y);
    y = feed_forward(f, norm(f, x, layer, "ffn_norm"), layer);
    return add(f, x, behind ? norm(f, y, layer, "post_ffw_norm") : y);
}

/* ---- from tokens to logits ---- */

static const tn_expr *
rows_of(checkpoint_function *f, const char *name, const tn_expr *at)
{
    const checkpoint_tensor *t = checkpoint_find(f->m, -1, name, "weight");
    const tn_node *attrs = tn_dictv(f->ctx, "axis", tn_i64(f->ctx, 0), NULL);
    const tn_expr *rows =
        emit(f, tn_call_opv(f->ctx, "take", attrs, weight(f, t), at, NULL), "rows");
    if (t->scales) {
        const tn_expr *scales =
            emit(f, tn_call_opv(f->ctx, "take", attrs, weight(f, t->scales), at, NULL), "scales");
        return checkpoint_quantized_values(f->b, rows, scales,
                                           checkpoint_quantization_bits(f->m->quantization),
                                           t->shape[t->turned ? 0 : 1]);
    }
    return t->dtype.bits ? to_float(f, rows)
                         : checkpoint_dequantize(f->b, rows, t->blocks, t->shape[1]);
}

const tn_expr *
checkpoint_embed(checkpoint_function *f, const tn_expr *ids)
{
    const tn_expr *x = rows_of(f, "token_embd", ids);
    return f->m->flags & CHECKPOINT_SCALED_EMBED ? scaled(f, x, sqrt((double)f->m->hidden)) : x;
}

/* Learned positions of the tokens at hand, which the cache knows. */
static const tn_expr *
add_positions(checkpoint_function *f, const tn_expr *x)
{
    tn_ctx *ctx = f->ctx;
    const tn_expr *n = tn_mul(ctx, f->batch, f->length);
    const tn_type *type = tn_ty_tensor_dims(ctx, tn_listv(ctx, n, NULL), TNB_I32);
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_pure_packed", NULL);
    const tn_expr *callee =
        tn_extern_func_of(ctx, "vm.builtin.attention_kv_cache_get_query_positions");
    const tn_expr *at =
        emit(f,
             tn_call_of(ctx, tn_op_ref_of(ctx, op), tn_listv(ctx, callee, f->cache, NULL), NULL,
                        (tn_list){&type, 1}, NULL),
             "positions");
    const tn_expr *rows = rows_of(f, "position_embd", at);
    return add(f, x, reshape(f, rows, f->batch, f->length, integer(f, f->m->hidden), NULL));
}

const tn_expr *
checkpoint_layers(checkpoint_function *f, const tn_expr *x)
{
    if (f->m->flags & CHECKPOINT_POSITIONS)
        x = add_positions(f, x);
    for (int64_t i = 0; i < f->m->layers && !tn_is_error(x); i++)
        x = one_layer(f, x, i);
    return x;
}

const tn_expr *
checkpoint_logits(checkpoint_function *f, const tn_expr *x)
{
    x = norm(f, x, -1, "output_norm");
    x = linear(f, x, -1, has(f, -1, "output") ? "output" : "token_embd");
    return limited(f, x, f->m->logit_cap);
}
