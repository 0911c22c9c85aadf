/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of a layer on the paged cache: rotation of queries and keys, appending, and one kernel over the pages.
 *
 * Keys and values are appended before attention, so that one kernel reads all tokens from the pages, in the order of their positions,
 * whether they came in this step or before: how a text was cut into steps does not change its result. A step of one row a sequence takes
 * the kernel for decoding where the module has one.
 */
#include <stdlib.h>
#include "kv_private.h"

static const char *const kernel_names[KV_N_KERNELS] = {
    "appending keys and values",
    "attention of a prefill",
    "attention of a decode step",
    "attention of a prefill with a window",
    "attention of a decode step with a window",
    "rotary embedding",
    "copying a page",
    "reading keys and values",
    "attention of a step's own tokens",
    "merging two attentions",
    "attention of trees of tokens",
    "moving the tokens of a tree",
};

tnb_status
kv_call(struct tnr_kv *kv, int kernel, const tnr_value *args, uint32_t n, tnb_err *err)
{
    if (kv->kernels[kernel].tag != TNR_CLOSURE)
        return tnb_fail(err, TNB_NOT_FOUND, "the cache was made without a function for %s",
                        kernel_names[kernel]);
    return kv_state_call(&kv->base, kv->kernels[kernel], args, n, kernel_names[kernel], err);
}

/* The tensor as one of rows, heads and the dimension of a head: itself, or without the first of four axes. *out is the
 * caller's. */
static tnb_status
as_rows(const struct tnr_kv *kv, tnr_value v, const char *what, int64_t heads, int64_t width,
        tnr_value *out, const char *function, tnb_err *err)
{
    const tnr_tensor *t = v.tag == TNR_TENSOR ? v.u.tensor : NULL;
    const int64_t dims[3] = {kv->rows, heads, width};
    if (t && tnb_dtype_eq(t->dl.dtype, kv->q_dtype) && (t->dl.ndim == 3 || t->dl.ndim == 4) &&
        t->dl.shape[t->dl.ndim - 1] == width && t->dl.shape[t->dl.ndim - 2] == heads &&
        t->n_elems == (uint64_t)kv->rows * (uint64_t)heads * (uint64_t)width)
        return tnr_tensor_reshape(t, dims, 3, out, err);
    char text[160];
    tnr_describe(v, text, sizeof text);
    return tnb_fail(err, t ? TNB_SHAPE : TNB_TYPE,
                    "%s: %s is %s, the step needs a tensor %s[%" PRId64 ", %" PRId64 ", %" PRId64
                    "]",
                    function, what, text, tnb_dtype_print(kv->q_dtype).s, kv->rows, heads, width);
}

static tnb_status
rotate(struct tnr_kv *kv, int64_t layer, tnr_value qkv, tnb_err *err)
{
    tnr_value args[8] = {qkv, kv->parts[KV_Q_POSITION], kv->q, kv->k, kv->v};
    uint32_t n = 5;
    if (kv->rope_factors.tag == TNR_TENSOR)
        args[n++] = kv->rope_factors;
    else
        args[n++] = tnr_int(kv->rope_mode == KV_ROPE_NORMAL);
    if (kv->rope_rows)
        args[n++] = tnr_int((kv->rope_rows == 4 && kv->kinds[layer] == KV_MHA_SLIDING ? 2 : 0) +
                            kv->rope_long);
    return kv_call(kv, KV_ROTARY, args, n, err);
}

static tnb_status
attend_in_trees(struct tnr_kv *kv, int64_t layer, double sm_scale, tnr_value q, tnr_value out,
                tnb_err *err)
{
    const tnr_value args[16] = {q,
                                kv->parts[KV_QO_INDPTR],
                                kv->pages[layer],
                                kv->parts[KV_PAGE_INDPTR],
                                kv->parts[KV_PAGES],
                                kv->parts[KV_LAST_LEN],
                                kv->parts[KV_K_POSITION],
                                kv->parts[KV_Q_POSITION],
                                out,
                                kv->sums,
                                tnr_int(0) /* no rotation */,
                                tnr_float(kv->rope_scale),
                                tnr_float(kv->rope_theta),
                                tnr_float(sm_scale),
                                kv->parts[KV_TREE_INDPTR],
                                kv->parts[KV_TREE_ORDER]};
    return kv_call(kv, KV_TREE, args, 16, err);
}

static tnb_status
attend(struct tnr_kv *kv, int64_t layer, double sm_scale, tnr_value q, tnr_value out, tnb_err *err)
{
    if (kv->branches)
        return attend_in_trees(kv, layer, sm_scale, q, out, err);
    bool window = kv->windows || kv->kinds[layer] == KV_MHA_SLIDING;
    int decode = window ? KV_DECODE_WINDOW : KV_DECODE;
    bool one = kv->one_row_each && kv->kernels[decode].tag == TNR_CLOSURE;
    tnr_value lengths = !window                              ? kv->parts[KV_LAST_LEN]
                        : kv->kinds[layer] == KV_MHA_SLIDING ? kv->parts[KV_LAYER_LENGTHS]
                                                             : kv->parts[KV_LENGTHS];
    tnr_value args[16];
    uint32_t n = 0;
    args[n++] = q;
    if (!one)
        args[n++] = kv->parts[KV_QO_INDPTR];
    args[n++] = kv->pages[layer];
    args[n++] = kv->parts[KV_PAGE_INDPTR];
    args[n++] = kv->parts[KV_PAGES];
    args[n++] = lengths;
    args[n++] = kv->parts[KV_K_POSITION];
    args[n++] = kv->parts[KV_Q_POSITION];
    args[n++] = out;
    args[n++] = kv->sums;
    if (!one)
        args[n++] = tnr_int(1); /* causal */
    args[n++] = tnr_int(kv->rope_mode == KV_ROPE_INLINE);
    args[n++] = tnr_float(kv->rope_scale);
    args[n++] = tnr_float(kv->rope_theta);
    args[n++] = tnr_float(sm_scale);
    return kv_call(kv, one ? decode : window ? KV_PREFILL_WINDOW : KV_PREFILL, args, n, err);
}

/* The launches of a layer. */
struct layer_work {
    struct tnr_kv *kv;
    int64_t layer;
    double sm_scale;
    tnr_value rows, out;
};

static tnb_status
run_layer(void *user, tnb_err *err)
{
    const struct layer_work *w = user;
    struct tnr_kv *kv = w->kv;
    tnr_value args[4] = {kv->pages[w->layer], kv->k, kv->v, kv->parts[KV_PLACES]};
    TNB_TRY(rotate(kv, w->layer, w->rows, err));
    TNB_TRY(kv_call(kv, KV_APPEND, args, 4, err));
    return attend(kv, w->layer, w->sm_scale, kv->q, w->out, err);
}

/* Steps of one row a sequence differ in what the parts hold, and now and then in their extents. */
static tnb_status
repeat_layer(struct layer_work *w, tnb_err *err)
{
    struct tnr_kv *kv = w->kv;
    tnr_value args[KV_OLD_INDPTR + 9];
    uint32_t n = 0;
    for (int p = 0; p < KV_OLD_INDPTR; p++)
        args[n++] = kv->parts[p];
    const tnr_value others[] = {w->rows,
                                w->out,
                                kv->pages[w->layer],
                                kv->q,
                                kv->k,
                                kv->v,
                                kv->sums,
                                tnr_float(w->sm_scale),
                                tnr_int(kv->windows << 1 | kv->rope_long)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        args[n++] = others[i];
    const struct tnr_repeated r = {.call = run_layer,
                                   .user = w,
                                   .slot = w->layer,
                                   .dims = {kv->rows, kv->parts[KV_PAGES].u.tensor->dl.shape[0]},
                                   .n_dims = 2,
                                   .args = args,
                                   .n_args = n};
    return tnr_graph_repeat(kv->base.vm, &kv->graphs, &r, err);
}

/* A call for a layer within a step of a cache of heads; *layer becomes its number in the cache. */
static tnb_status
check_layer(const struct tnr_kv *kv, int64_t *layer, const char *function, tnb_err *err)
{
    TNB_TRY(kv_state_in_step(&kv->base, function, err));
    if (*layer < kv->first_layer || *layer - kv->first_layer >= kv->n_layers)
        return tnb_fail(err, TNB_BOUNDS,
                        "%s: layer %" PRId64 ", the cache has layers %" PRId64 " to %" PRId64,
                        function, *layer, kv->first_layer, kv->first_layer + kv->n_layers - 1);
    if (kv->latent)
        return tnb_fail(err, TNB_INVALID, "%s: the cache is for latent attention", function);
    *layer -= kv->first_layer;
    return TNB_OK;
}

tnb_status
kv_attention(struct tnr_kv *kv, int64_t layer, double sm_scale, tnr_value qkv, tnr_value out,
             const char *function, tnb_err *err)
{
    tnr_value rows = tnr_null(), to = tnr_null();
    TNB_TRY(check_layer(kv, &layer, function, err));
    TNB_TRY(as_rows(kv, qkv, "qkv", kv->q_heads + 2 * kv->kv_heads, kv->head_dim, &rows, function,
                    err));
    tnb_status st = as_rows(kv, out, "the output", kv->q_heads, kv->v_dim, &to, function, err);
    struct layer_work w = {.kv = kv, .layer = layer, .sm_scale = sm_scale, .rows = rows, .out = to};
    if (st == TNB_OK)
        st = kv->one_row_each && !kv->branches && kv->base.device == tnr_vm_device(kv->base.vm)
                 ? repeat_layer(&w, err)
                 : run_layer(&w, err);
    if (st == TNB_OK)
        kv->owns[layer] = 1;
    tnr_release(&rows);
    tnr_release(&to);
    if (st != TNB_OK)
        tnb_err_prefix(err, "layer %" PRId64, layer + kv->first_layer);
    return st;
}

tnb_status
kv_shared_attention(struct tnr_kv *kv, int64_t layer, double sm_scale, const tnr_value v[4],
                    const char *function, tnb_err *err)
{
    static const char *const names[4] = {"q", "k", "v", "the output"};
    const int64_t heads[4] = {kv->q_heads, kv->kv_heads, kv->kv_heads, kv->q_heads};
    tnr_value t[4] = {{0}};
    TNB_TRY(check_layer(kv, &layer, function, err));
    if (!kv->owns[layer]) {
        tnb_fail(err, TNB_INVALID, "%s: layer %" PRId64 " has not run in this step", function,
                 layer + kv->first_layer);
        tnb_hint(err, "call attention_with_fused_qkv of the layer that has the keys before it");
        return TNB_INVALID;
    }
    tnb_status st = TNB_OK;
    for (int i = 0; st == TNB_OK && i < 4; i++)
        st = as_rows(kv, v[i], names[i], heads[i], i < 2 ? kv->head_dim : kv->v_dim, &t[i],
                     function, err);
    if (st == TNB_OK) {
        st = attend(kv, layer, sm_scale, t[0], t[3], err);
        if (st != TNB_OK)
            tnb_err_prefix(err, "keys of layer %" PRId64, layer + kv->first_layer);
    }
    for (int i = 0; i < 4; i++)
        tnr_release(&t[i]);
    return st;
}

tnb_status
kv_get(struct tnr_kv *kv, struct kv_sequence *s, int64_t from, int64_t to, const tnr_value *out,
       uint32_t n_out, const char *function, tnb_err *err)
{
    int64_t n = to - from, P = kv->page_tokens, gone = s->evicted * P;
    int64_t kept = s->evicted ? (s->sink + P - 1) / P * P : 0;
    tnr_value places;
    if (kv->latent != (n_out == 1))
        return tnb_fail(err, TNB_UNSUPPORTED, "%s: the cache is for %s attention", function,
                        kv->latent ? "latent" : "multi-head");
    if (from < 0 || to > s->length || n < 1)
        return tnb_fail(err, TNB_BOUNDS,
                        "%s: tokens %" PRId64 " to %" PRId64 " of sequence %" PRId64
                        ", which has %" PRId64,
                        function, from, to, s->id, s->length);
    if (gone && to > kept && from < kept + gone)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "%s: tokens of sequence %" PRId64 " have left its window", function, s->id);
    TNB_TRY(tnr_tensor_new_on(kv->base.device, tnr_vm_queue(kv->base.vm, kv->base.device), &n, 1,
                              TNB_I32, &places, err));
    int32_t *host = malloc((size_t)n * sizeof *host);
    tnb_status st =
        host ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory for %" PRId64 " places", n);
    for (int64_t i = 0; host && i < n; i++) {
        int64_t place = from + i < kept ? from + i : from + i - gone;
        host[i] = (int32_t)(s->pages[place / P] * P + place % P);
    }
    if (st == TNB_OK)
        st = tnr_tensor_write(places.u.tensor, host, (uint64_t)n * sizeof *host, err);
    free(host);
    for (int64_t layer = 0; st == TNB_OK && layer < kv->n_layers; layer++) {
        tnr_value args[5] = {kv->pages[layer], places, out[0]};
        uint32_t n_args = 3;
        if (n_out == 2)
            args[n_args++] = out[1];
        args[n_args++] = tnr_int(layer);
        st = kv_call(kv, KV_GET, args, n_args, err);
    }
    tnr_release(&places);
    return st;
}
