/* SPDX-License-Identifier: Apache-2.0 */
/* A step of the paged cache: room for its tokens, and the integers that the kernels of all layers read. */
#include <stdlib.h>
#include <string.h>
#include "kv_private.h"

enum { ALIGNED = TNR_HOST_ALIGNMENT / sizeof(int32_t) }; /* kernels take parts as they are then */

/* ---- room ---- */

/* Pages that the step takes. A page that several of its sequences share is copied by all but the last of those that have it. */
static int64_t
pages_wanted(struct tnr_kv *kv)
{
    int64_t wanted = 0;
    for (uint32_t i = 0; i < kv->base.n_step; i++) {
        struct kv_sequence *s = &kv->base.sequences[kv->base.of_step[i]];
        wanted += kv_pages_for(kv, s, s->length + s->pending) - s->n_pages;
        if (kv_writes_shared(kv, s)) {
            int32_t page = s->pages[s->n_pages - 1];
            wanted += ++kv->claims[page] < kv->refs[page];
        }
    }
    for (uint32_t i = 0; i < kv->base.n_step; i++) {
        struct kv_sequence *s = &kv->base.sequences[kv->base.of_step[i]];
        if (s->n_pages)
            kv->claims[s->pages[s->n_pages - 1]] = 0;
    }
    return wanted;
}

/* The sequence's last page becomes its own. */
static tnb_status
own_last_page(struct tnr_kv *kv, struct kv_sequence *s, tnb_err *err)
{
    int32_t from = s->pages[s->n_pages - 1], to = kv_take_page(kv);
    for (int64_t layer = 0; layer < kv->n_layers; layer++) {
        tnr_value args[4] = {kv->pages[layer], tnr_int(from), tnr_int(to),
                             tnr_int(s->length % kv->page_tokens)};
        tnb_status st = kv_call(kv, KV_COPY_PAGE, args, 4, err);
        if (st != TNB_OK) {
            kv_drop_page(kv, to);
            return st;
        }
    }
    kv_drop_page(kv, from);
    s->pages[s->n_pages - 1] = to;
    return TNB_OK;
}

static tnb_status
take_pages(struct tnr_kv *kv, tnb_err *err)
{
    for (uint32_t i = 0; i < kv->base.n_step; i++) {
        struct kv_sequence *s = &kv->base.sequences[kv->base.of_step[i]];
        int64_t want = kv_pages_for(kv, s, s->length + s->pending);
        TNB_TRY(kv_reserve(s, want, err));
        if (kv_writes_shared(kv, s))
            TNB_TRY(own_last_page(kv, s, err));
        while (s->n_pages < want)
            s->pages[s->n_pages++] = kv_take_page(kv);
    }
    return TNB_OK;
}

/* ---- integers ---- */

static uint64_t
aligned(uint64_t n)
{
    return (n + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* Where each part begins, and how many integers there are in all; the last entry is the sum. The tables have room up to a power of two,
 * so that what kernels are given stays the same for many steps. */
static void
lay_out(const struct tnr_kv *kv, uint64_t at[KV_N_PARTS + 1], uint64_t count[KV_N_PARTS])
{
    uint64_t entries = 0, room = ALIGNED, n = kv->base.n_step, rows = (uint64_t)kv->rows, nodes = 0;
    for (uint32_t i = 0; i < kv->base.n_step; i++) {
        const struct kv_sequence *s = &kv->base.sequences[kv->base.of_step[i]];
        entries += (uint64_t)s->n_pages;
        nodes += kv->branches ? (uint64_t)kv_tree_size(s) : 0;
    }
    while (room < entries)
        room *= 2;
    const bool old = kv->latent;
    const uint64_t all[KV_N_PARTS] = {n + 1,
                                      n + 1,
                                      room,
                                      n,
                                      3 * n,
                                      3 * n,
                                      n,
                                      rows,
                                      rows,
                                      old ? n + 1 : 0,
                                      old ? room : 0,
                                      old ? n : 0,
                                      kv->branches ? n + 1 : 0,
                                      2 * nodes};
    at[0] = 0;
    for (int p = 0; p < KV_N_PARTS; p++) {
        count[p] = all[p];
        at[p + 1] = at[p] + aligned(all[p]);
    }
}

static tnb_status
room_for_integers(struct tnr_kv *kv, uint64_t n, tnb_err *err)
{
    if (n > kv->cap_host) {
        int32_t *host = realloc(kv->host, n * sizeof *host);
        if (!host)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a step of %" PRId64 " tokens",
                            kv->rows);
        kv->host = host;
        kv->cap_host = n;
    }
    if (n > kv->cap_device) {
        tnr_release(&kv->device_ints);
        kv->cap_device = 0;
        TNB_TRY(tnr_storage_new_on(kv->base.device, tnr_vm_queue(kv->base.vm, kv->base.device),
                                   (n + n / 2) * sizeof *kv->host, NULL, &kv->device_ints, err));
        kv->cap_device = n + n / 2;
    }
    return TNB_OK;
}

/* Three rows of n: tokens of the last page, where the first row's window begins in the table (maybe before it), sinks. Row r of a
 * sequence sees the sinks, and what is from that place + r on. */
static void
put_lengths(int32_t *to, uint32_t n, uint32_t i, int64_t last, int64_t from, int64_t sink)
{
    to[i] = (int32_t)last;
    to[n + i] = (int32_t)from;
    to[2 * n + i] = (int32_t)sink;
}

static int64_t
window_from(const struct tnr_kv *kv, const struct kv_sequence *s, int64_t window, int64_t sink)
{
    if (!window)
        return INT32_MIN / 2;
    int64_t from = s->length - window + 1 - s->evicted * kv->page_tokens;
    /* one row: as upstream's kernels read it */
    return s->pending == 1 && from < sink ? sink : from;
}

/* Of the token at this place: behind what was there before the tree, as deep as it stands in it. */
static int64_t
tree_position(const struct kv_sequence *s, int64_t place)
{
    const int64_t before = s->length + s->pending - s->tree->n;
    return before + s->tree->depths[place - before];
}

static void
fill(struct tnr_kv *kv, const uint64_t at[KV_N_PARTS + 1])
{
    int32_t *part[KV_N_PARTS];
    uint32_t n = kv->base.n_step;
    int64_t P = kv->page_tokens, row = 0, entry = 0, old = 0, node = 0;
    memset(kv->host, 0, at[KV_N_PARTS] * sizeof *kv->host);
    for (int p = 0; p < KV_N_PARTS; p++)
        part[p] = kv->host + at[p];
    part[KV_QO_INDPTR][0] = part[KV_PAGE_INDPTR][0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct kv_sequence *s = &kv->base.sequences[kv->base.of_step[i]];
        int64_t end = s->length + s->pending, last = (end - 1) % P + 1;
        int64_t layer = kv->layer_window;
        bool narrower = s->window && (!layer || s->window < layer);
        memcpy(part[KV_PAGES] + entry, s->pages, (size_t)s->n_pages * sizeof *s->pages);
        entry += s->n_pages;
        part[KV_PAGE_INDPTR][i + 1] = (int32_t)entry;
        part[KV_LAST_LEN][i] = (int32_t)last;
        put_lengths(part[KV_LENGTHS], n, i, last, window_from(kv, s, s->window, s->sink), s->sink);
        put_lengths(part[KV_LAYER_LENGTHS], n, i, last,
                    window_from(kv, s, narrower ? s->window : layer, narrower ? s->sink : 0),
                    narrower ? s->sink : 0);
        part[KV_K_POSITION][i] = 0;
        for (int64_t p = s->length; p < end; p++, row++) {
            int64_t place = p - s->evicted * P;
            part[KV_Q_POSITION][row] = (int32_t)(kv->rope_mode == KV_ROPE_INLINE ? place
                                                 : kv->in_trees ? tree_position(s, p)
                                                                : p);
            part[KV_PLACES][row] = (int32_t)(s->pages[place / P] * P + place % P);
        }
        part[KV_QO_INDPTR][i + 1] = (int32_t)row;
        if (kv->branches) {
            kv_tree_order(s->tree, part[KV_TREE_ORDER] + 2 * node);
            node += s->tree->n;
            part[KV_TREE_INDPTR][i + 1] = (int32_t)node;
        }
        if (!kv->latent)
            continue;
        int64_t before = kv_pages_for(kv, s, s->length);
        memcpy(part[KV_OLD_PAGES] + old, s->pages, (size_t)before * sizeof *s->pages);
        old += before;
        part[KV_OLD_INDPTR][i + 1] = (int32_t)old;
        part[KV_OLD_LAST_LEN][i] = (int32_t)(before ? (s->length - 1) % P + 1 : 0);
    }
}

static tnb_status
make_views(struct tnr_kv *kv, const uint64_t at[KV_N_PARTS + 1], const uint64_t count[KV_N_PARTS],
           tnb_err *err)
{
    tnr_value all;
    int64_t total = (int64_t)at[KV_N_PARTS];
    TNB_TRY(tnr_tensor_view(kv->device_ints.u.storage, 0, &total, 1, TNB_I32, &all, err));
    tnb_status st =
        tnr_tensor_write(all.u.tensor, kv->host, (uint64_t)total * sizeof *kv->host, err);
    tnr_release(&all);
    for (int p = 0; st == TNB_OK && p < KV_N_PARTS; p++) {
        bool rows3 = p == KV_LENGTHS || p == KV_LAYER_LENGTHS, pairs = p == KV_TREE_ORDER;
        int64_t dims[2] = {rows3 ? 3 : (int64_t)count[p], kv->base.n_step};
        if (p >= KV_TREE_INDPTR ? !kv->branches : p >= KV_OLD_INDPTR && !kv->latent)
            continue;
        if (pairs) {
            dims[0] /= 2;
            dims[1] = 2;
        }
        st = tnr_tensor_view(kv->device_ints.u.storage, at[p] * sizeof *kv->host, dims,
                             rows3 || pairs ? 2 : 1, TNB_I32, &kv->parts[p], err);
    }
    const int64_t heads[4] = {kv->q_heads, kv->kv_heads, kv->kv_heads, kv->q_heads};
    const int64_t width[4] = {kv->head_dim, kv->head_dim, kv->v_dim, 0};
    tnr_value *const views[4] = {&kv->q, &kv->k, &kv->v, &kv->sums};
    for (int i = 0; st == TNB_OK && i < 4 && !kv->latent; i++) {
        int64_t dims[3] = {kv->rows, heads[i], width[i]};
        st = tnr_tensor_view(kv->scratch[i].u.storage, 0, dims, i == 3 ? 2 : 3,
                             i == 3 ? TNB_F32 : kv->q_dtype, views[i], err);
    }
    return st;
}

/* ---- begin and end ---- */

static tnb_status
check_room(struct tnr_kv *kv, const char *function, tnb_err *err)
{
    int64_t wanted = pages_wanted(kv);
    if (wanted <= kv->n_free)
        return TNB_OK;
    tnb_fail(err, TNB_BOUNDS,
             "%s: the cache is full: %" PRId64 " more tokens take %" PRId64 " pages of %" PRId64
             " tokens, and %" PRId64 " of %" PRId64 " pages are free",
             function, kv->rows, wanted, kv->page_tokens, kv->n_free, kv->n_pages);
    if (kv->base.n_step == 1) {
        const struct kv_sequence *s = &kv->base.sequences[kv->base.of_step[0]];
        int64_t room = s->n_pages * kv->page_tokens - (s->length - s->evicted * kv->page_tokens);
        room = kv_writes_shared(kv, s) && !kv->n_free ? 0 : room + kv->n_free * kv->page_tokens;
        room -= kv_writes_shared(kv, s) && kv->n_free ? kv->page_tokens : 0;
        tnb_hint(err,
                 "sequence %" PRId64 " has %" PRId64 " tokens and room for %" PRId64
                 " more: make the cache for a longer text, or end here",
                 s->id, s->length, room);
    } else {
        tnb_hint(err, "remove sequences, or make the cache for more tokens");
    }
    return TNB_BOUNDS;
}

static void
drop_views(struct tnr_kv *kv)
{
    for (int p = 0; p < KV_N_PARTS; p++)
        tnr_release(&kv->parts[p]);
    tnr_release(&kv->q);
    tnr_release(&kv->k);
    tnr_release(&kv->v);
    tnr_release(&kv->sums);
}

void
kv_end(struct kv_state *st, bool keep)
{
    struct tnr_kv *kv = (struct tnr_kv *)st;
    drop_views(kv);
    for (uint32_t i = 0; i < st->n_step; i++) {
        struct kv_sequence *s = &st->sequences[st->of_step[i]];
        kv_trim(kv, s, s->length);
        if (keep)
            kv_evict(kv, s);
        else if (kv->in_trees)
            s->tree->n -= (int32_t)s->pending;
    }
    kv->rows = 0;
    kv->in_trees = kv->branches = false;
}

tnb_status
kv_begin(struct kv_state *st, const char *function, tnb_err *err)
{
    struct tnr_kv *kv = (struct tnr_kv *)st;
    uint64_t at[KV_N_PARTS + 1], count[KV_N_PARTS];
    kv->rows = 0;
    kv->one_row_each = true;
    for (uint32_t i = 0; i < st->n_step; i++) {
        kv->rows += st->sequences[st->of_step[i]].pending;
        kv->one_row_each &= st->sequences[st->of_step[i]].pending == 1;
    }
    TNB_TRY(kv_tree_begin(kv, function, err));
    TNB_TRY(check_room(kv, function, err));
    TNB_TRY(take_pages(kv, err));
    lay_out(kv, at, count);
    TNB_TRY(room_for_integers(kv, at[KV_N_PARTS], err));
    fill(kv, at);
    TNB_TRY(make_views(kv, at, count, err));
    memset(kv->owns, 0, (size_t)kv->n_layers);
    return TNB_OK;
}
