/* SPDX-License-Identifier: Apache-2.0 */
/* vm.builtin.paged_attention_kv_cache_create: the paged cache from upstream's 28 arguments.
 *
 *      0  [sequences, tokens, tokens of a step, tokens of a page, windows, (window of layers that have one)]
 *      1  [first layer, behind the last]    2 heads of queries    3 heads of keys    4, 5 dimension of keys, of values
 *      6  kind of attention of each layer   7 transfer between machines              8 RoPE mode    9, 10 its scale and theta
 *     11  factors of RoPE, or a number      12 a tensor of the cache's dtype
 *     13  append   14 append for MLA   15 ragged prefill   16 prefill   17 decode   18, 19 the same with windows
 *     20, 21 with trees   22 prefill for MLA   23 merging   24 rotation   25 copy of a page   26 read   27 compaction
 *     28  optional, Tenon's own: a dtype, that of queries and of what the model computes with; without it, the cache's
 *     29  optional, Tenon's own: a cache for so many tokens or more is one for long texts. Argument 11 is then a table, a row for short and
 *         one for long texts, and two more for layers with a window where there are four; argument 24 takes the row's number behind it
 *
 * What is not used here (21) may be anything: attention of a step is one kernel over the pages (kv_attention.c). A cache for latent
 * attention is made of 14, 15, 22, 23, 25 and 26 instead (kv_latent.c).
 */
#include <stdlib.h>
#include <string.h>
#include "kv_private.h"

static const char fn[] = "vm.builtin.paged_attention_kv_cache_create";

enum { MAX_LAYERS = 1 << 16, MAX_HEADS = 1 << 16, MAX_SEQUENCES = 1 << 16 };

static void
destroy(tnr_object *o)
{
    struct tnr_kv *kv = (struct tnr_kv *)o;
    tnr_graphs_free(kv->base.device, &kv->graphs);
    for (int i = 0; i < KV_N_KERNELS; i++)
        tnr_release(&kv->kernels[i]);
    for (int64_t i = 0; kv->pages && i < kv->n_layers; i++)
        tnr_release(&kv->pages[i]);
    for (int i = 0; i < 4; i++)
        tnr_release(&kv->scratch[i]);
    for (int p = 0; p < KV_N_PARTS; p++)
        tnr_release(&kv->parts[p]);
    tnr_release(&kv->rope_factors);
    tnr_release(&kv->device_ints);
    tnr_release(&kv->q);
    tnr_release(&kv->k);
    tnr_release(&kv->v);
    tnr_release(&kv->sums);
    free(kv->kinds);
    free(kv->owns);
    free(kv->pages);
    free(kv->refs);
    free(kv->claims);
    free(kv->free);
    for (uint32_t i = 0; i < kv->base.n_sequences; i++) {
        free(kv->base.sequences[i].pages);
        free(kv->base.sequences[i].tree);
    }
    kv_state_free(&kv->base);
    free(kv->host);
    free(kv);
}

const struct kv_kind kv_paged = {
    .destroy = destroy,
    .remove = kv_remove,
    .fork = kv_fork,
    .pop = kv_pop,
    .begin = kv_begin,
    .end = kv_end,
};

tnb_status
kv_open(tnr_vm *vm, tnr_value v, const char *function, struct tnr_kv **out, tnb_err *err)
{
    struct kv_state *st;
    TNB_TRY(kv_state_open(vm, v, &kv_paged, function, &st, err));
    *out = (struct tnr_kv *)st;
    return TNB_OK;
}

static tnb_status
number(const tnr_value *args, int i, const char *what, int64_t least, int64_t most, int64_t *out,
       tnb_err *err)
{
    TNB_TRY(tnr_want_int(fn, args, i, out, err));
    if (*out < least || *out > most)
        return tnb_fail(err, TNB_INVALID,
                        "%s: argument %d, %s, is %" PRId64 ", it is %" PRId64 " to %" PRId64, fn, i,
                        what, *out, least, most);
    return TNB_OK;
}

static tnb_status
real(const tnr_value *args, int i, double *out, tnb_err *err)
{
    if (args[i].tag == TNR_FLOAT)
        *out = args[i].u.f;
    else if (args[i].tag == TNR_INT)
        *out = (double)args[i].u.i;
    else
        return tnr_expect(fn, args, i, TNR_FLOAT, err);
    return TNB_OK;
}

static tnb_status
take_sizes(struct tnr_kv *kv, const tnr_value *args, tnb_err *err)
{
    static const char *const names[5] = {"sequences", "tokens", "tokens of a step",
                                         "tokens of a page", "the switch for windows"};
    TNB_TRY(tnr_want(fn, args, 0, TNR_SHAPE, err));
    const tnr_shape *s = args[0].u.shape;
    if (s->n != 5 && s->n != 6)
        return tnb_fail(err, TNB_INVALID, "%s: argument 0 has %" PRId32 " sizes, there are 5 or 6",
                        fn, s->n);
    const int64_t most[5] = {MAX_SEQUENCES, INT32_MAX / 4, INT32_MAX / 4, 1 << 16, 1};
    for (int i = 0; i < 5; i++)
        if (s->dims[i] < (i < 4) || s->dims[i] > most[i])
            return tnb_fail(err, TNB_INVALID, "%s: %s: %" PRId64 ", it is %d to %" PRId64, fn,
                            names[i], s->dims[i], i < 4, most[i]);
    kv->base.max_sequences = s->dims[0];
    kv->base.step_tokens = s->dims[2];
    kv->page_tokens = s->dims[3];
    kv->windows = s->dims[4] != 0;
    kv->layer_window = s->n == 6 ? s->dims[5] : 1024;
    if (kv->layer_window < 1 || kv->layer_window > INT32_MAX / 4)
        return tnb_fail(err, TNB_INVALID, "%s: a window of %" PRId64 " tokens", fn,
                        kv->layer_window);
    /* one more, for the copy of a shared page; with windows two a sequence, where window and sinks begin and end in pages */
    kv->n_pages = (s->dims[1] + kv->page_tokens - 1) / kv->page_tokens + 1 +
                  (kv->windows ? 2 * kv->base.max_sequences : 0);
    if (kv->n_pages > INT32_MAX / kv->page_tokens)
        return tnb_fail(err, TNB_BOUNDS, "%s: %" PRId64 " tokens are too many", fn, s->dims[1]);
    return TNB_OK;
}

static tnb_status
take_layers(struct tnr_kv *kv, const tnr_value *args, tnb_err *err)
{
    TNB_TRY(tnr_want(fn, args, 1, TNR_SHAPE, err));
    TNB_TRY(tnr_want(fn, args, 6, TNR_SHAPE, err));
    const tnr_shape *layers = args[1].u.shape, *kinds = args[6].u.shape;
    if (layers->n != 2) {
        tnb_fail(err, TNB_UNSUPPORTED, "%s: layers in %" PRId32 " stages", fn, layers->n - 1);
        tnb_hint(err, "stages of a pipeline on several machines do not run yet; compile with one");
        return TNB_UNSUPPORTED;
    }
    if (layers->dims[0] < 0 || layers->dims[0] > MAX_LAYERS || layers->dims[1] <= layers->dims[0] ||
        layers->dims[1] > MAX_LAYERS || kinds->n < layers->dims[1])
        return tnb_fail(err, TNB_INVALID,
                        "%s: layers %" PRId64 " to %" PRId64 " with kinds for %" PRId32 " layers",
                        fn, layers->dims[0], layers->dims[1], kinds->n);
    kv->first_layer = layers->dims[0];
    kv->n_layers = layers->dims[1] - layers->dims[0];
    kv->kinds = calloc((size_t)kv->n_layers, 1);
    kv->pages = calloc((size_t)kv->n_layers, sizeof *kv->pages);
    kv->owns = calloc((size_t)kv->n_layers, 1);
    if (!kv->kinds || !kv->pages || !kv->owns)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory for %" PRId64 " layers", fn,
                        kv->n_layers);
    for (int64_t i = 0; i < kv->n_layers; i++) {
        int64_t kind = kinds->dims[kv->first_layer + i];
        if (kind != KV_MHA && kind != KV_MHA_SLIDING && kind != KV_MLA)
            return tnb_fail(err, TNB_UNSUPPORTED,
                            "%s: layer %" PRId64 " has attention of kind %" PRId64
                            "; 0 (multi-head), 1 (latent) and 3 (with a window) run",
                            fn, kv->first_layer + i, kind);
        if (i > 0 && (kind == KV_MLA) != kv->latent)
            return tnb_fail(err, TNB_UNSUPPORTED,
                            "%s: layer %" PRId64 " has attention of kind %" PRId64
                            " behind others: latent attention is of all layers, or none",
                            fn, kv->first_layer + i, kind);
        kv->latent = kind == KV_MLA;
        kv->kinds[i] = (uint8_t)kind;
        kv->any_layer_window |= kind == KV_MHA_SLIDING;
    }
    return TNB_OK;
}

/* A function, ("tirx", function), or nothing: an empty tuple, null. */
static tnb_status
take_kernel(struct tnr_kv *kv, const tnr_value *args, int i, int kernel, bool needed, tnb_err *err)
{
    tnr_value v = args[i];
    if (v.tag == TNR_TUPLE && v.u.tuple->n) {
        tnr_value kind = v.u.tuple->items[0];
        bool tir = kind.tag == TNR_STRING &&
                   (!strcmp(kind.u.string->s, "tirx") || !strcmp(kind.u.string->s, "tir"));
        if (!tir || v.u.tuple->n != 2) {
            char text[160];
            tnr_describe(kind, text, sizeof text);
            return tnb_fail(err, TNB_UNSUPPORTED,
                            "%s: argument %d is a function of %s, only \"tirx\" runs", fn, i, text);
        }
        v = v.u.tuple->items[1];
    } else if (v.tag == TNR_TUPLE) {
        v = tnr_null();
    }
    if (v.tag == TNR_CLOSURE && v.u.closure->vm == kv->base.vm) {
        kv->kernels[kernel] = v;
        tnr_retain(v);
        return TNB_OK;
    }
    if (v.tag != TNR_NULL || needed) {
        char text[160];
        tnr_describe(args[i], text, sizeof text);
        return tnb_fail(err, TNB_TYPE, "%s: argument %d is %s, expected a function of the module",
                        fn, i, text);
    }
    return TNB_OK;
}

static tnb_status
take_latent_kernels(struct tnr_kv *kv, const tnr_value *args, tnb_err *err)
{
    TNB_TRY(take_kernel(kv, args, 14, KV_APPEND, true, err));
    TNB_TRY(take_kernel(kv, args, 15, KV_OWN, false, err));
    TNB_TRY(take_kernel(kv, args, 22, KV_PREFILL, true, err));
    TNB_TRY(take_kernel(kv, args, 25, KV_COPY_PAGE, true, err));
    TNB_TRY(take_kernel(kv, args, 26, KV_GET, false, err));
    tnr_value merge =
        args[23]; /* two functions, of which the second joins heads of these dimensions */
    if (merge.tag == TNR_NULL || (merge.tag == TNR_TUPLE && !merge.u.tuple->n))
        return TNB_OK;
    if (merge.tag != TNR_TUPLE || merge.u.tuple->n != 2)
        return tnb_fail(err, TNB_TYPE, "%s: argument 23 is no pair of functions that merge", fn);
    tnr_value second[24] = {[23] = merge.u.tuple->items[1]};
    return take_kernel(kv, second, 23, KV_MERGE, true, err);
}

static tnb_status
take_kernels(struct tnr_kv *kv, const tnr_value *args, tnb_err *err)
{
    bool window = kv->windows || kv->any_layer_window;
    if (kv->latent)
        return take_latent_kernels(kv, args, err);
    TNB_TRY(take_kernel(kv, args, 13, KV_APPEND, true, err));
    TNB_TRY(take_kernel(kv, args, 16, KV_PREFILL, !kv->windows, err));
    TNB_TRY(take_kernel(kv, args, 17, KV_DECODE, false, err));
    TNB_TRY(take_kernel(kv, args, 18, KV_PREFILL_WINDOW, window, err));
    TNB_TRY(take_kernel(kv, args, 19, KV_DECODE_WINDOW, false, err));
    TNB_TRY(take_kernel(kv, args, 20, KV_TREE, false, err));
    TNB_TRY(take_kernel(kv, args, 24, KV_ROTARY, true, err));
    TNB_TRY(take_kernel(kv, args, 25, KV_COPY_PAGE, true, err));
    TNB_TRY(take_kernel(kv, args, 26, KV_GET, false, err));
    return take_kernel(kv, args, 27, KV_COMPACT, false, err);
}

/* Which rows of the table of RoPE's frequencies hold: keys stay as they were rotated, so that it is the cache's size that tells, not the
 * length that a text has grown to. */
static tnb_status
take_table(struct tnr_kv *kv, const tnr_value *args, tnb_err *err)
{
    int64_t from;
    TNB_TRY(tnr_want_int(fn, args, 29, &from, err));
    TNB_TRY(tnr_want(fn, args, 11, TNR_TENSOR, err));
    const tnr_tensor *t = args[11].u.tensor;
    if (t->dl.ndim != 2 || (t->dl.shape[0] != 2 && t->dl.shape[0] != 4))
        return tnb_fail(err, TNB_SHAPE, "%s: argument 11 is no table of 2 or 4 rows", fn);
    kv->rope_rows = t->dl.shape[0];
    kv->rope_long = args[0].u.shape->dims[1] >= from;
    return TNB_OK;
}

static tnb_status
take_args(struct tnr_kv *kv, const tnr_value *args, int n, tnb_err *err)
{
    int64_t transfer;
    TNB_TRY(take_sizes(kv, args, err));
    TNB_TRY(take_layers(kv, args, err));
    TNB_TRY(number(args, 2, "heads of queries", 1, MAX_HEADS, &kv->q_heads, err));
    TNB_TRY(number(args, 3, "heads of keys", 1, MAX_HEADS, &kv->kv_heads, err));
    TNB_TRY(number(args, 4, "the dimension of keys", 1, MAX_HEADS, &kv->head_dim, err));
    TNB_TRY(number(args, 5, "the dimension of values", 1, MAX_HEADS, &kv->v_dim, err));
    TNB_TRY(number(args, 7, "transfer between machines", 0, 1, &transfer, err));
    TNB_TRY(number(args, 8, "the mode of RoPE", 0, 2, &kv->rope_mode, err));
    TNB_TRY(real(args, 9, &kv->rope_scale, err));
    TNB_TRY(real(args, 10, &kv->rope_theta, err));
    if (kv->q_heads % kv->kv_heads)
        return tnb_fail(err, TNB_INVALID,
                        "%s: %" PRId64 " heads of queries are no multiple of %" PRId64
                        " heads of keys",
                        fn, kv->q_heads, kv->kv_heads);
    if (transfer || (kv->head_dim != kv->v_dim && !kv->latent))
        return tnb_fail(err, TNB_UNSUPPORTED,
                        transfer ? "%s: a cache that is sent between machines does not run yet"
                                 : "%s: keys and values of different dimensions do not run yet",
                        fn);
    if (kv->latent && (kv->kv_heads != 1 || kv->v_dim > kv->head_dim || kv->rope_mode))
        return tnb_fail(
            err, TNB_INVALID,
            "%s: latent attention has one head of keys, values that are a part of it, and no "
            "RoPE of the cache's; %" PRId64 " heads, dimensions %" PRId64 " and %" PRId64
            ", mode %" PRId64,
            fn, kv->kv_heads, kv->head_dim, kv->v_dim, kv->rope_mode);
    if (kv->latent && kv->windows)
        return tnb_fail(err, TNB_UNSUPPORTED, "%s: latent attention with windows does not run yet",
                        fn);
    TNB_TRY(tnr_want(fn, args, 12, TNR_TENSOR, err));
    kv->dtype = kv->q_dtype = args[12].u.tensor->dl.dtype;
    if (n > 28) {
        TNB_TRY(tnr_want(fn, args, 28, TNR_DTYPE, err));
        kv->q_dtype = args[28].u.dtype;
    }
    if (args[11].tag == TNR_TENSOR) {
        kv->rope_factors = args[11];
        tnr_retain(args[11]);
    }
    if (n > 29)
        TNB_TRY(take_table(kv, args, err));
    return take_kernels(kv, args, err);
}

static tnb_status
make_tables(struct tnr_kv *kv, tnb_err *err)
{
    size_t pages = (size_t)kv->n_pages;
    kv->refs = calloc(pages, sizeof *kv->refs);
    kv->claims = calloc(pages, sizeof *kv->claims);
    kv->free = calloc(pages, sizeof *kv->free);
    TNB_TRY(kv_state_init(&kv->base, err));
    if (!kv->refs || !kv->claims || !kv->free)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory for tables of %" PRId64 " pages", fn,
                        kv->n_pages);
    for (int64_t i = kv->n_pages; i-- > 0;) /* the first pages are taken first */
        kv->free[kv->n_free++] = (int32_t)i;
    return TNB_OK;
}

/* Storage for the rows of a step: queries, keys, values as the model computes with, and sums. */
static tnb_status
make_scratch(struct tnr_kv *kv, struct tnr_queue *q, tnb_err *err)
{
    const int64_t heads[4] = {kv->q_heads, kv->kv_heads, kv->kv_heads, kv->q_heads};
    for (int i = 0; i < 4 && !kv->latent; i++) {
        const int64_t dims[3] = {kv->base.step_tokens, heads[i], i < 3 ? kv->head_dim : 1};
        tnr_value t;
        TNB_TRY(
            tnr_tensor_new_on(kv->base.device, q, dims, 3, i < 3 ? kv->q_dtype : TNB_F32, &t, err));
        kv->scratch[i] = (tnr_value){.tag = TNR_STORAGE, .u.storage = t.u.tensor->storage};
        tnr_retain(kv->scratch[i]);
        tnr_release(&t);
    }
    return TNB_OK;
}

/* Of the dimension, for a head: those of tokens, and behind them in pages of int8 a float32 for each token. */
static int64_t
page_rows(const struct tnr_kv *kv)
{
    const int64_t P = kv->page_tokens, d = kv->head_dim;
    return tnb_dtype_eq(kv->dtype, TNB_I8) ? P + (4 * P + d - 1) / d : P;
}

static tnb_status
make_memory(struct tnr_kv *kv, tnb_err *err)
{
    const int64_t heads[5] = {kv->n_pages, 2, kv->kv_heads, page_rows(kv), kv->head_dim},
                  latent[3] = {kv->n_pages, kv->page_tokens, kv->head_dim};
    const int64_t *dims = kv->latent ? latent : heads;
    struct tnr_queue *q = tnr_vm_queue(kv->base.vm, kv->base.device);
    tnb_status st = TNB_OK;
    for (int64_t i = 0; st == TNB_OK && i < kv->n_layers; i++)
        st = tnr_tensor_new_on(kv->base.device, q, dims, kv->latent ? 3 : 5, kv->dtype,
                               &kv->pages[i], err);
    if (st == TNB_OK)
        st = make_scratch(kv, q, err);
    if (st == TNB_OK) /* behind what may be too large */
        st = make_tables(kv, err);
    if (st == TNB_NO_MEMORY) {
        tnb_err_prefix(err,
                       "%s: %" PRId64 " layers of %" PRId64 " pages of %" PRId64 " tokens, %" PRId64
                       " heads, dimension %" PRId64 ", %s",
                       fn, kv->n_layers, kv->n_pages, kv->page_tokens, kv->kv_heads, kv->head_dim,
                       tnb_dtype_print(kv->dtype).s);
        tnb_hint(err, "make the cache for fewer tokens");
    }
    return st;
}

tnb_status
kv_create(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    struct tnr_kv *kv = calloc(1, sizeof *kv);
    if (!kv)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory", fn);
    kv->base.object = (tnr_object){.refs = 1, .nests = 1, .destroy = destroy};
    kv->base.kind = &kv_paged;
    kv->base.vm = vm;
    kv->base.device = tnr_vm_device(vm);
    tnb_status st = take_args(kv, args, n, err);
    if (st == TNB_OK)
        st = make_memory(kv, err);
    if (st != TNB_OK) {
        destroy(&kv->base.object);
        return st;
    }
    *ret = (tnr_value){.tag = TNR_OBJECT, .u.object = &kv->base.object};
    return TNB_OK;
}
