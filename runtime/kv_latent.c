/* SPDX-License-Identifier: Apache-2.0 */
/* Latent attention (MLA) on the paged cache: of a token it keeps one row, which all heads of queries share.
 *
 * A model appends the rows of a step first, and then asks for two attentions, or for one of them: of the step's tokens among themselves,
 * with keys and values that it computes for each head, and of queries that it brought into the cache's space over the pages. What the
 * second one sees depends on the first: where the layer's own tokens attend to each other in this step it is what was there before, and the
 * model merges both; else a step of one row a sequence, as in decoding, sees its own row too. (Upstream goes by the length of rows
 * alone, and counts a row of such a step twice where a model asks for both.)
 */
#include <stdio.h>
#include "kv_private.h"

/* The tensor as one of these extents and dtype; *out is the caller's. */
static tnb_status
as_dims(tnr_value v, const char *what, const int64_t *dims, uint32_t n, tnb_dtype dtype,
        tnr_value *out, const char *function, tnb_err *err)
{
    const tnr_tensor *t = v.tag == TNR_TENSOR ? v.u.tensor : NULL;
    uint64_t elems = 1;
    char text[160], wanted[80];
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        elems *= (uint64_t)dims[i];
        at +=
            (size_t)snprintf(wanted + at, sizeof wanted - at, "%s%" PRId64, i ? ", " : "", dims[i]);
    }
    if (t && tnb_dtype_eq(t->dl.dtype, dtype) && t->n_elems == elems && t->dl.ndim > 0 &&
        t->dl.shape[t->dl.ndim - 1] == dims[n - 1])
        return tnr_tensor_reshape(t, dims, n, out, err);
    tnr_describe(v, text, sizeof text);
    return tnb_fail(err, t ? TNB_SHAPE : TNB_TYPE, "%s: %s is %s, the step needs a tensor %s[%s]",
                    function, what, text, tnb_dtype_print(dtype).s, wanted);
}

/* A call within a step on a cache of this kind; *layer becomes its number in the cache. */
static tnb_status
begin(const struct tnr_kv *kv, int64_t *layer, const char *function, tnb_err *err)
{
    if (!kv->latent)
        return tnb_fail(
            err, TNB_UNSUPPORTED,
            "%s: the cache is for multi-head attention, this runs for latent attention only",
            function);
    TNB_TRY(kv_state_in_step(&kv->base, function, err));
    if (!layer)
        return TNB_OK;
    if (*layer < kv->first_layer || *layer - kv->first_layer >= kv->n_layers)
        return tnb_fail(err, TNB_BOUNDS,
                        "%s: layer %" PRId64 ", the cache has layers %" PRId64 " to %" PRId64,
                        function, *layer, kv->first_layer, kv->first_layer + kv->n_layers - 1);
    *layer -= kv->first_layer;
    return TNB_OK;
}

static tnb_status
call(struct tnr_kv *kv, int64_t layer, int kernel, const tnr_value *args, uint32_t n, tnb_err *err)
{
    tnb_status st = kv_call(kv, kernel, args, n, err);
    if (st != TNB_OK && layer >= 0)
        tnb_err_prefix(err, "layer %" PRId64, layer + kv->first_layer);
    return st;
}

static void
release(tnr_value *v, int n)
{
    for (int i = 0; i < n; i++)
        tnr_release(&v[i]);
}

tnb_status
kv_latent_append(struct tnr_kv *kv, int64_t layer, tnr_value rows, const char *function,
                 tnb_err *err)
{
    const int64_t dims[2] = {kv->rows, kv->head_dim};
    tnr_value own;
    TNB_TRY(begin(kv, &layer, function, err));
    TNB_TRY(as_dims(rows, "what is appended", dims, 2, kv->q_dtype, &own, function, err));
    tnr_value args[3] = {kv->pages[layer], own, kv->parts[KV_PLACES]};
    tnb_status st = call(kv, layer, KV_APPEND, args, 3, err);
    tnr_release(&own);
    return st;
}

/* The last extent of a tensor of the module, for one that the cache does not know. */
static int64_t
width_of(tnr_value v)
{
    const tnr_tensor *t = v.tag == TNR_TENSOR ? v.u.tensor : NULL;
    return t && t->dl.ndim > 0 && t->dl.shape[t->dl.ndim - 1] > 0 ? t->dl.shape[t->dl.ndim - 1] : 1;
}

tnb_status
kv_latent_own(struct tnr_kv *kv, int64_t layer, double sm_scale, const tnr_value v[5],
              const char *function, tnb_err *err)
{
    static const char *const names[5] = {"q", "k", "v", "the output", "the log-sum-exp"};
    tnr_value t[5] = {{0}};
    tnb_status st = begin(kv, &layer, function, err);
    for (int i = 0; st == TNB_OK && i < 5; i++) {
        const int64_t dims[3] = {kv->rows, kv->q_heads, width_of(v[i < 2 ? 0 : 2])};
        st = as_dims(v[i], names[i], dims, i < 4 ? 3 : 2, i < 4 ? kv->q_dtype : TNB_F32, &t[i],
                     function, err);
    }
    if (st == TNB_OK) {
        const tnr_value rows = kv->parts[KV_QO_INDPTR];
        const tnr_value args[14] = {t[0],
                                    rows,
                                    t[1],
                                    t[2],
                                    rows,
                                    kv->parts[KV_Q_POSITION],
                                    kv->parts[KV_K_POSITION],
                                    t[3],
                                    t[4],
                                    tnr_int(1) /* causal */,
                                    tnr_int(0) /* no rotation */,
                                    tnr_float(kv->rope_scale),
                                    tnr_float(kv->rope_theta),
                                    tnr_float(sm_scale)};
        st = call(kv, layer, KV_OWN, args, 14, err);
    }
    if (st == TNB_OK)
        kv->owns[layer] = 1;
    release(t, 5);
    return st;
}

tnb_status
kv_latent_pages(struct tnr_kv *kv, int64_t layer, double sm_scale, const tnr_value v[3],
                const char *function, tnb_err *err)
{
    static const char *const names[3] = {"q", "the output", "the log-sum-exp"};
    tnr_value t[3] = {{0}};
    tnb_status st = begin(kv, &layer, function, err);
    for (int i = 0; st == TNB_OK && i < 3; i++) {
        const int64_t dims[3] = {kv->rows, kv->q_heads, i == 0 ? kv->head_dim : kv->v_dim};
        st = as_dims(v[i], names[i], dims, i < 2 ? 3 : 2, i < 2 ? kv->q_dtype : TNB_F32, &t[i],
                     function, err);
    }
    if (st == TNB_OK) {
        bool own = kv->one_row_each && !kv->owns[layer];
        const tnr_value args[10] = {t[0],
                                    kv->parts[KV_QO_INDPTR],
                                    kv->pages[layer],
                                    kv->parts[own ? KV_PAGE_INDPTR : KV_OLD_INDPTR],
                                    kv->parts[own ? KV_PAGES : KV_OLD_PAGES],
                                    kv->parts[own ? KV_LAST_LEN : KV_OLD_LAST_LEN],
                                    t[1],
                                    t[2],
                                    tnr_int(0) /* of all that the tables hold */,
                                    tnr_float(sm_scale)};
        st = call(kv, layer, KV_PREFILL, args, 10, err);
    }
    release(t, 3);
    return st;
}

tnb_status
kv_latent_merge(struct tnr_kv *kv, const tnr_value v[4], const char *function, tnb_err *err)
{
    static const char *const names[4] = {"the output", "the log-sum-exp", "the output to be joined",
                                         "the log-sum-exp to be joined"};
    tnr_value t[4] = {{0}};
    tnb_status st = begin(kv, NULL, function, err);
    for (int i = 0; st == TNB_OK && i < 4; i++) {
        const int64_t dims[3] = {kv->rows, kv->q_heads, width_of(v[0])};
        st = as_dims(v[i], names[i], dims, i % 2 ? 2 : 3, i % 2 ? TNB_F32 : kv->q_dtype, &t[i],
                     function, err);
    }
    if (st == TNB_OK)
        st = call(kv, -1, KV_MERGE, t, 4, err);
    release(t, 4);
    return st;
}
