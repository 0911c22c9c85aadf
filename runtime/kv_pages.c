/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of the paged cache and the pages that they own or share: no device, no kernel. */
#include <stdlib.h>
#include <string.h>
#include "kv_private.h"

int32_t
kv_take_page(struct tnr_kv *kv)
{
    int32_t page = kv->free[--kv->n_free];
    kv->refs[page] = 1;
    return page;
}

void
kv_drop_page(struct tnr_kv *kv, int32_t page)
{
    if (--kv->refs[page] == 0)
        kv->free[kv->n_free++] = page;
}

static int64_t
sink_pages(const struct tnr_kv *kv, const struct kv_sequence *s)
{
    return (s->sink + kv->page_tokens - 1) / kv->page_tokens;
}

int64_t
kv_pages_for(const struct tnr_kv *kv, const struct kv_sequence *s, int64_t tokens)
{
    return (tokens + kv->page_tokens - 1) / kv->page_tokens - s->evicted;
}

bool
kv_writes_shared(const struct tnr_kv *kv, const struct kv_sequence *s)
{
    return s->length % kv->page_tokens && kv->refs[s->pages[s->n_pages - 1]] > 1;
}

void
kv_trim(struct tnr_kv *kv, struct kv_sequence *s, int64_t tokens)
{
    for (int64_t want = kv_pages_for(kv, s, tokens); s->n_pages > want;)
        kv_drop_page(kv, s->pages[--s->n_pages]);
}

void
kv_evict(struct tnr_kv *kv, struct kv_sequence *s)
{
    if (!s->window)
        return;
    int64_t first = sink_pages(kv, s);
    /* the next token, at position `length`, sees positions from length - window + 1 on */
    int64_t unseen = (s->length - s->window + 1) / kv->page_tokens - first - s->evicted;
    if (s->length < s->window || unseen <= 0)
        return;
    for (int64_t i = 0; i < unseen; i++)
        kv_drop_page(kv, s->pages[first + i]);
    memmove(s->pages + first, s->pages + first + unseen,
            (size_t)(s->n_pages - first - unseen) * sizeof *s->pages);
    s->n_pages -= unseen;
    s->evicted += unseen;
}

void
kv_remove(struct kv_state *st, struct kv_sequence *s)
{
    struct tnr_kv *kv = (struct tnr_kv *)st;
    for (int64_t i = 0; i < s->n_pages; i++)
        kv_drop_page(kv, s->pages[i]);
    free(s->pages);
    free(s->tree);
}

tnb_status
kv_reserve(struct kv_sequence *s, int64_t n_pages, tnb_err *err)
{
    if (n_pages <= s->cap_pages)
        return TNB_OK;
    int64_t cap = n_pages + n_pages / 2 + 4;
    int32_t *pages = realloc(s->pages, (size_t)cap * sizeof *pages);
    if (!pages)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a table of %" PRId64 " pages", cap);
    s->pages = pages;
    s->cap_pages = cap;
    return TNB_OK;
}

/* Whether the window of a sequence that is `length` tokens long shows only what is still there. */
static tnb_status
window_is_there(const struct tnr_kv *kv, const struct kv_sequence *s, int64_t length,
                const char *function, tnb_err *err)
{
    int64_t there = (sink_pages(kv, s) + s->evicted) * kv->page_tokens;
    if (!s->evicted || length - s->window + 1 >= there)
        return TNB_OK;
    tnb_fail(err, TNB_UNSUPPORTED,
             "%s: at %" PRId64 " tokens the window of sequence %" PRId64
             " shows tokens before %" PRId64 ", which have left it",
             function, length, s->id, there);
    tnb_hint(err, "go back by less, or begin the sequence anew");
    return TNB_UNSUPPORTED;
}

tnb_status
kv_fork(struct kv_state *st, const struct kv_sequence *parent, int64_t position,
        struct kv_sequence *s, const char *function, tnb_err *err)
{
    struct tnr_kv *kv = (struct tnr_kv *)st;
    int64_t n = kv_pages_for(kv, parent, position);
    TNB_TRY(kv_tree_settled(parent, function, err));
    TNB_TRY(window_is_there(kv, parent, position, function, err));
    TNB_TRY(kv_reserve(s, n, err));
    s->window = parent->window;
    s->sink = parent->sink;
    s->evicted = parent->evicted;
    s->n_pages = n;
    if (n)
        memcpy(s->pages, parent->pages, (size_t)n * sizeof *s->pages);
    for (int64_t i = 0; i < n; i++)
        kv->refs[s->pages[i]]++;
    return TNB_OK;
}

tnb_status
kv_pop(struct kv_state *st, struct kv_sequence *s, int64_t n, const char *function, tnb_err *err)
{
    struct tnr_kv *kv = (struct tnr_kv *)st;
    TNB_TRY(window_is_there(kv, s, s->length - n, function, err));
    kv_trim(kv, s, s->length - n);
    if (kv_tree_size(s)) /* its last nodes, which have no children but each other */
        s->tree->n = s->tree->n > n ? s->tree->n - (int32_t)n : 0;
    return TNB_OK;
}
