/* SPDX-License-Identifier: Apache-2.0 */
/* The paged cache as functions of tenon/rt/kv.h, and it and the state of recurrent models as packed functions under upstream's names. */
#include <string.h>
#include "kv_private.h"

/* ---- tenon/rt/kv.h ---- */

/* A sequence of a paged cache outside of a step. */
static tnb_status
find(tnr_vm *vm, tnr_value cache, int64_t id, const char *function, struct tnr_kv **kv,
     struct kv_sequence **s, tnb_err *err)
{
    struct kv_state *st;
    TNB_TRY(kv_state_at_rest(vm, cache, &kv_paged, function, &st, err));
    *kv = (struct tnr_kv *)st;
    *s = kv_find(st, id, function, err);
    return *s ? TNB_OK : TNB_NOT_FOUND;
}

tnb_status
tnr_kv_set_window(tnr_vm *vm, tnr_value cache, int64_t sequence, int64_t window, int64_t sink,
                  tnb_err *err)
{
    static const char fn[] = "attention_kv_cache_enable_sliding_window_for_seq";
    struct tnr_kv *kv;
    struct kv_sequence *s;
    NEED(vm, err);
    TNB_TRY(find(vm, cache, sequence, fn, &kv, &s, err));
    if (!kv->windows) {
        tnb_fail(err, TNB_UNSUPPORTED, "%s: the cache was made without windows", fn);
        tnb_hint(err, "make it with support_sliding_window 1");
        return TNB_UNSUPPORTED;
    }
    if (window < 1 || window > INT32_MAX / 4 || sink < 0 || sink >= window)
        return tnb_fail(err, TNB_INVALID,
                        "%s: a window of %" PRId64 " tokens with %" PRId64 " sinks", fn, window,
                        sink);
    if (s->length || s->window)
        return tnb_fail(err, TNB_INVALID, "%s: sequence %" PRId64 " has %s already", fn, sequence,
                        s->window ? "a window" : "tokens");
    s->window = window;
    s->sink = sink;
    return TNB_OK;
}

tnb_status
tnr_kv_describe(tnr_value cache, tnr_kv_info *out, tnb_err *err)
{
    NEED(out, err);
    struct kv_state *st;
    TNB_TRY(kv_state_of(cache, NULL, "tnr_kv_describe", &st, err));
    if (out->size != sizeof *out)
        return tnb_fail(err, TNB_ABI,
                        "tnr_kv_describe: a tnr_kv_info of %" PRIu32 " bytes, not %zu", out->size,
                        sizeof *out);
    *out = (tnr_kv_info){.size = sizeof *out,
                         .n_sequences = st->n_sequences,
                         .max_sequences = st->max_sequences,
                         .step_tokens = st->step_tokens};
    for (uint32_t i = 0; i < st->n_sequences; i++)
        out->n_tokens += st->sequences[i].length;
    if (st->kind == &kv_recurrent) {
        kv_recurrent_describe(st, out);
        return TNB_OK;
    }
    const struct tnr_kv *kv = (const struct tnr_kv *)st;
    out->page_tokens = kv->page_tokens;
    out->n_pages = kv->n_pages;
    out->free_pages = kv->n_free;
    out->bytes = kv->pages[0].u.tensor->n_bytes * (uint64_t)kv->n_layers;
    out->dtype = kv->dtype;
    out->n_layers = kv->n_layers;
    return TNB_OK;
}

/* ---- packed functions ---- */

#define ARGS tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err
#define STATE "vm.builtin.kv_state_"
#define CACHE "vm.builtin.attention_kv_cache_"

static tnb_status
clear(ARGS)
{
    (void)n, (void)ret;
    return tnr_kv_clear(vm, args[0], err);
}

static tnb_status
add_sequence(ARGS)
{
    int64_t id;
    (void)n, (void)ret;
    TNB_TRY(tnr_want_int(STATE "add_sequence", args, 1, &id, err));
    return tnr_kv_add_sequence(vm, args[0], id, err);
}

static tnb_status
remove_sequence(ARGS)
{
    int64_t id;
    (void)n, (void)ret;
    TNB_TRY(tnr_want_int(STATE "remove_sequence", args, 1, &id, err));
    return tnr_kv_remove_sequence(vm, args[0], id, err);
}

static tnb_status
fork_sequence(ARGS)
{
    int64_t parent, child, position = -1;
    (void)ret;
    TNB_TRY(tnr_want_int(STATE "fork_sequence", args, 1, &parent, err));
    TNB_TRY(tnr_want_int(STATE "fork_sequence", args, 2, &child, err));
    if (n > 3)
        TNB_TRY(tnr_want_int(STATE "fork_sequence", args, 3, &position, err));
    return tnr_kv_fork_sequence(vm, args[0], parent, child, position, err);
}

static tnb_status
popn(ARGS)
{
    int64_t id, count;
    (void)n, (void)ret;
    TNB_TRY(tnr_want_int(STATE "popn", args, 1, &id, err));
    TNB_TRY(tnr_want_int(STATE "popn", args, 2, &count, err));
    return tnr_kv_popn(vm, args[0], id, count, err);
}

static tnb_status
begin_forward(ARGS)
{
    static const char fn[] = STATE "begin_forward";
    (void)ret;
    TNB_TRY(tnr_want(fn, args, 1, TNR_SHAPE, err));
    TNB_TRY(tnr_want(fn, args, 2, TNR_SHAPE, err));
    const tnr_shape *ids = args[1].u.shape, *lengths = args[2].u.shape;
    if (ids->n != lengths->n)
        return tnb_fail(err, TNB_INVALID, "%s: %" PRId32 " sequences and %" PRId32 " lengths", fn,
                        ids->n, lengths->n);
    if (n > 3 && args[3].tag != TNR_NULL) {
        TNB_TRY(tnr_want(fn, args, 3, TNR_SHAPE, err));
        const tnr_shape *parents = args[3].u.shape;
        return tnr_kv_begin_tree(vm, args[0], ids->dims, lengths->dims, (uint32_t)ids->n,
                                 parents->dims, (uint32_t)parents->n, err);
    }
    return tnr_kv_begin_forward(vm, args[0], ids->dims, lengths->dims, (uint32_t)ids->n, err);
}

static tnb_status
end_forward(ARGS)
{
    (void)n, (void)ret;
    return tnr_kv_end_forward(vm, args[0], err);
}

static tnb_status
enable_sliding_window_for_seq(ARGS)
{
    static const char fn[] = CACHE "enable_sliding_window_for_seq";
    int64_t id, window, sink;
    (void)n, (void)ret;
    TNB_TRY(tnr_want_int(fn, args, 1, &id, err));
    TNB_TRY(tnr_want_int(fn, args, 2, &window, err));
    TNB_TRY(tnr_want_int(fn, args, 3, &sink, err));
    return tnr_kv_set_window(vm, args[0], id, window, sink, err);
}

/* (cache, sequences, leaves) */
static tnb_status
commit_accepted_token_tree_nodes(ARGS)
{
    static const char fn[] = CACHE "commit_accepted_token_tree_nodes";
    (void)n, (void)ret;
    TNB_TRY(tnr_want(fn, args, 1, TNR_SHAPE, err));
    TNB_TRY(tnr_want(fn, args, 2, TNR_SHAPE, err));
    const tnr_shape *ids = args[1].u.shape, *leaves = args[2].u.shape;
    if (ids->n != leaves->n)
        return tnb_fail(err, TNB_INVALID, "%s: %" PRId32 " sequences and %" PRId32 " leaves", fn,
                        ids->n, leaves->n);
    return tnr_kv_commit_tree(vm, args[0], ids->dims, leaves->dims, (uint32_t)ids->n, err);
}

static tnb_status
ask(tnr_value cache, tnr_kv_info *info, tnb_err *err)
{
    *info = (tnr_kv_info){.size = sizeof *info};
    return tnr_kv_describe(cache, info, err);
}

static tnb_status
empty(ARGS)
{
    tnr_kv_info info;
    (void)vm, (void)n;
    TNB_TRY(ask(args[0], &info, err));
    *ret = tnr_bool(info.n_sequences == 0);
    return TNB_OK;
}

static tnb_status
get_num_available_pages(ARGS)
{
    tnr_kv_info info;
    (void)vm, (void)n;
    TNB_TRY(ask(args[0], &info, err));
    *ret = tnr_int(info.free_pages);
    return TNB_OK;
}

static tnb_status
get_total_sequence_length(ARGS)
{
    tnr_kv_info info;
    (void)vm, (void)n;
    TNB_TRY(ask(args[0], &info, err));
    *ret = tnr_int(info.n_tokens);
    return TNB_OK;
}

static tnb_status
get_query_positions(ARGS)
{
    struct tnr_kv *kv;
    (void)n;
    TNB_TRY(kv_open(vm, args[0], CACHE "get_query_positions", &kv, err));
    TNB_TRY(kv_state_in_step(&kv->base, CACHE "get_query_positions", err));
    *ret = kv->parts[KV_Q_POSITION];
    tnr_retain(*ret);
    return TNB_OK;
}

/* (cache, layer, scale, qkv, output) */
static tnb_status
attention_with_fused_qkv(ARGS)
{
    static const char fn[] = CACHE "attention_with_fused_qkv";
    struct tnr_kv *kv;
    int64_t layer;
    (void)n, (void)ret;
    TNB_TRY(kv_open(vm, args[0], fn, &kv, err));
    TNB_TRY(tnr_want_int(fn, args, 1, &layer, err));
    TNB_TRY(tnr_want(fn, args, 2, TNR_FLOAT, err));
    return kv_attention(kv, layer, args[2].u.f, args[3], args[4], fn, err);
}

/* (cache, layer that has the keys, scale, q, k, v, output) */
static tnb_status
attention_with_shared_kv(ARGS)
{
    static const char fn[] = CACHE "attention_with_shared_kv";
    struct tnr_kv *kv;
    int64_t layer;
    (void)n, (void)ret;
    TNB_TRY(kv_open(vm, args[0], fn, &kv, err));
    TNB_TRY(tnr_want_int(fn, args, 1, &layer, err));
    TNB_TRY(tnr_want(fn, args, 2, TNR_FLOAT, err));
    return kv_shared_attention(kv, layer, args[2].u.f, args + 3, fn, err);
}

/* A function of latent attention: the step's cache, its layer and scale. */
static tnb_status
latent_args(tnr_vm *vm, const tnr_value *args, const char *fn, struct tnr_kv **kv, int64_t *layer,
            double *sm_scale, tnb_err *err)
{
    TNB_TRY(kv_open(vm, args[0], fn, kv, err));
    TNB_TRY(tnr_want_int(fn, args, 1, layer, err));
    if (!sm_scale)
        return TNB_OK;
    TNB_TRY(tnr_want(fn, args, 2, TNR_FLOAT, err));
    *sm_scale = args[2].u.f;
    return TNB_OK;
}

/* (cache, layer, rows): the cache */
static tnb_status
append_mla_kv(ARGS)
{
    static const char fn[] = CACHE "append_mla_kv";
    struct tnr_kv *kv;
    int64_t layer;
    (void)n;
    TNB_TRY(latent_args(vm, args, fn, &kv, &layer, NULL, err));
    TNB_TRY(kv_latent_append(kv, layer, args[2], fn, err));
    *ret = args[0];
    tnr_retain(*ret);
    return TNB_OK;
}

/* (cache, layer, scale, q, k, v, output, log-sum-exp) */
static tnb_status
self_attention(ARGS)
{
    static const char fn[] = CACHE "self_attention";
    struct tnr_kv *kv;
    int64_t layer;
    double sm_scale;
    (void)n, (void)ret;
    TNB_TRY(latent_args(vm, args, fn, &kv, &layer, &sm_scale, err));
    return kv_latent_own(kv, layer, sm_scale, args + 3, fn, err);
}

/* (cache, layer, scale, q, output, log-sum-exp) */
static tnb_status
cross_attention(ARGS)
{
    static const char fn[] = CACHE "cross_attention";
    struct tnr_kv *kv;
    int64_t layer;
    double sm_scale;
    (void)n, (void)ret;
    TNB_TRY(latent_args(vm, args, fn, &kv, &layer, &sm_scale, err));
    return kv_latent_pages(kv, layer, sm_scale, args + 3, fn, err);
}

/* (cache, output, log-sum-exp, output and log-sum-exp to be joined): the first two */
static tnb_status
merge_attn_output_inplace(ARGS)
{
    static const char fn[] = CACHE "merge_attn_output_inplace";
    struct tnr_kv *kv;
    (void)n;
    TNB_TRY(kv_open(vm, args[0], fn, &kv, err));
    TNB_TRY(kv_latent_merge(kv, args + 1, fn, err));
    return tnr_tuple_new(args + 1, 2, ret, err);
}

static tnb_status
get_of_pages(tnr_vm *vm, const tnr_value *args, uint32_t n_out, const char *fn, tnb_err *err)
{
    struct tnr_kv *kv;
    struct kv_sequence *s;
    int64_t id, from, to;
    TNB_TRY(tnr_want_int(fn, args, 1, &id, err));
    TNB_TRY(tnr_want_int(fn, args, 2, &from, err));
    TNB_TRY(tnr_want_int(fn, args, 3, &to, err));
    TNB_TRY(find(vm, args[0], id, fn, &kv, &s, err));
    return kv_get(kv, s, from, to, args + 4, n_out, fn, err);
}

/* (cache, sequence, from, to, keys, values) */
static tnb_status
debug_get_kv(ARGS)
{
    (void)n, (void)ret;
    return get_of_pages(vm, args, 2, CACHE "debug_get_kv", err);
}

/* (cache, sequence, from, to, rows) */
static tnb_status
debug_get_kv_mla(ARGS)
{
    (void)n, (void)ret;
    return get_of_pages(vm, args, 1, CACHE "debug_get_kv_mla", err);
}

#define ENTRY(prefix, fn, least, most)                                               \
    {                                                                                \
        .base.size = sizeof(tnr_packed), .flags = TNR_PACKED_STREAM | TNR_PACKED_VM, \
        .base.name = prefix #fn, .call = fn, .min_args = (least), .max_args = (most) \
    }
#define STATE_ENTRY(fn, args)                                                                  \
    {                                                                                          \
        .base.size = sizeof(tnr_packed), .flags = TNR_PACKED_STREAM | TNR_PACKED_VM,           \
        .base.name = "vm.builtin.rnn_state_" #fn, .call = kv_recurrent_##fn, .min_args = args, \
        .max_args = args                                                                       \
    }
const tnr_packed tnr_kv_builtins[] = {
    {.base.size = sizeof(tnr_packed),
     .flags = TNR_PACKED_STREAM | TNR_PACKED_VM,
     .base.name = "vm.builtin.paged_attention_kv_cache_create",
     .call = kv_create,
     .min_args = 28,
     .max_args = 30},
    ENTRY(STATE, clear, 1, 1),
    ENTRY(STATE, add_sequence, 2, 2),
    ENTRY(STATE, remove_sequence, 2, 2),
    ENTRY(STATE, fork_sequence, 3, 4),
    ENTRY(STATE, popn, 3, 3),
    ENTRY(STATE, begin_forward, 3, 4),
    ENTRY(STATE, end_forward, 1, 1),
    ENTRY(CACHE, enable_sliding_window_for_seq, 4, 4),
    ENTRY(CACHE, commit_accepted_token_tree_nodes, 3, 3),
    ENTRY(CACHE, empty, 1, 1),
    ENTRY(CACHE, get_num_available_pages, 1, 1),
    ENTRY(CACHE, get_total_sequence_length, 1, 1),
    ENTRY(CACHE, get_query_positions, 1, 1),
    ENTRY(CACHE, attention_with_fused_qkv, 5, 5),
    ENTRY(CACHE, attention_with_shared_kv, 7, 7),
    ENTRY(CACHE, append_mla_kv, 3, 3),
    ENTRY(CACHE, self_attention, 8, 8),
    ENTRY(CACHE, cross_attention, 6, 6),
    ENTRY(CACHE, merge_attn_output_inplace, 5, 5),
    ENTRY(CACHE, debug_get_kv, 6, 6),
    ENTRY(CACHE, debug_get_kv_mla, 5, 5),
    STATE_ENTRY(create, 6),
    STATE_ENTRY(get, 4),
    STATE_ENTRY(set, 4),
    STATE_ENTRY(debug_get, 4),
};
const uint32_t tnr_n_kv_builtins = sizeof tnr_kv_builtins / sizeof *tnr_kv_builtins;
