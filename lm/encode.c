/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding: added tokens are cut out of the text, what is between them goes through normalizers, pre-tokenizers and
 * the model. */
#include "tokenizer.h"

#include <stdlib.h>

enum { MOST_BYTES = 1 << 30 };

tnb_status
tnl_push(tnl_ids *ids, int32_t id, tnb_err *err)
{
    if (ids->n == ids->cap) {
        size_t cap = ids->cap ? 2 * ids->cap : 64;
        int32_t *more = realloc(ids->at, cap * sizeof *more);
        if (!more)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for %zu tokens", cap);
        ids->at = more;
        ids->cap = cap;
    }
    ids->at[ids->n++] = id;
    return TNB_OK;
}

tnb_status
tnl_push_unknown(const tnl_tokenizer *t, tnl_text s, bool *joined, tnl_ids *ids, tnb_err *err)
{
    bool bytes = t->byte_fallback;
    for (size_t i = 0; i < s.n && bytes; i++)
        bytes = t->of_byte[(uint8_t)s.s[i]] >= 0;
    if (bytes) {
        *joined = false;
        for (size_t i = 0; i < s.n; i++)
            TNB_TRY(tnl_push(ids, t->of_byte[(uint8_t)s.s[i]], err));
        return TNB_OK;
    }
    bool again = *joined && t->fuse_unknown;
    *joined = true;
    return again || t->unknown < 0 ? TNB_OK : tnl_push(ids, t->unknown, err);
}

/* ---- one call ---- */
typedef struct encoder {
    const tnl_tokenizer *t;
    tnl_matcher matcher;
    tnl_pieces pieces;
    tnl_scratch scratch;
    tnb_buf normal;
    tnl_ids *ids;
    bool plain; /* special tokens are text */
} encoder;

static tnb_status
model(encoder *e, tnl_text word, tnb_err *err)
{
    return e->t->model == TNL_UNIGRAM_MODEL ? tnl_unigram(e->t, word, e->ids, err)
                                            : tnl_merge(e->t, word, &e->scratch, e->ids, err);
}

static tnb_status
words(encoder *e, tnl_text s, bool first, tnb_err *err)
{
    if (!s.n)
        return TNB_OK;
    if (!e->t->n_splitters)
        return model(e, s, err);
    e->pieces.text.n = 0;
    tnb_buf_put(&e->pieces.text, s.s, s.n);
    if (!e->pieces.end) {
        e->pieces.end = malloc(64 * sizeof *e->pieces.end);
        e->pieces.cap = 64;
    }
    if (!e->pieces.end || e->pieces.text.failed) {
        e->pieces.cap = e->pieces.end ? e->pieces.cap : 0;
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to cut a text of %zu bytes", s.n);
    }
    e->pieces.end[0] = s.n;
    e->pieces.n = 1;
    e->pieces.first = first;
    TNB_TRY(tnl_split(e->t, &e->matcher, &e->pieces, err));
    for (size_t k = 0, from = 0; k < e->pieces.n; from = e->pieces.end[k++])
        TNB_TRY(model(e, (tnl_text){e->pieces.text.s + from, e->pieces.end[k] - from}, err));
    return TNB_OK;
}

/* ---- added tokens ---- */
static bool
ends_with_word(tnl_text s, size_t end)
{
    size_t at = end;
    while (at > 0 && end - at < 4 && ((uint8_t)s.s[--at] & 0xc0) == 0x80)
        ;
    tnl_char c = end ? tnl_char_at(s.s + at, end - at) : (tnl_char){0};
    return c.n && tnl_is_word(c.code);
}

static bool
begins_with_word(tnl_text s, size_t at)
{
    tnl_char c = at < s.n ? tnl_char_at(s.s + at, s.n - at) : (tnl_char){0};
    return c.n && tnl_is_word(c.code);
}

static size_t
space_before(tnl_text s, size_t end, size_t least)
{
    while (end > least) {
        size_t at = end;
        while (at > least && end - at < 4 && ((uint8_t)s.s[--at] & 0xc0) == 0x80)
            ;
        tnl_char c = tnl_char_at(s.s + at, end - at);
        if (!c.n || !tnl_is_space(c.code))
            break;
        end = at;
    }
    return end;
}

static size_t
space_behind(tnl_text s, size_t at)
{
    while (at < s.n) {
        tnl_char c = tnl_char_at(s.s + at, s.n - at);
        if (!c.n || !tnl_is_space(c.code))
            break;
        at += c.n;
    }
    return at;
}

/* Calls `between` for what lies between the tokens of the trie. */
static tnb_status
cut_added(encoder *e, const tnl_trie *trie, bool has, tnl_text s, bool first,
          tnb_status (*between)(encoder *, tnl_text, bool, tnb_err *), tnb_err *err)
{
    size_t done = 0, length = 0;
    for (size_t at = 0; has && at < s.n;) {
        int32_t i = tnl_trie_longest(trie, s.s + at, s.n - at, &length);
        if (i < 0) {
            at++;
            continue;
        }
        const tnl_added *a = &e->t->added[i];
        size_t from = at, to = at + length;
        at = to;
        if ((e->plain && a->special) || from < done ||
            (a->single_word && (ends_with_word(s, from) || begins_with_word(s, to))))
            continue;
        if (a->lstrip)
            from = space_before(s, from, done);
        if (a->rstrip)
            to = space_behind(s, to);
        TNB_TRY(between(e, (tnl_text){s.s + done, from - done}, first && done == 0, err));
        TNB_TRY(tnl_push(e->ids, a->id, err));
        done = to;
    }
    return between(e, (tnl_text){s.s + done, s.n - done}, first && done == 0, err);
}

static tnb_status
normalized(encoder *e, tnl_text s, bool first, tnb_err *err)
{
    if (!s.n)
        return TNB_OK;
    for (uint32_t i = 0; i < e->t->n_normalizers && first;
         i++) /* what is stripped is the beginning */
        first = !(e->t->normalizers[i].kind == TNL_STRIP && e->t->normalizers[i].left &&
                  space_behind(s, 0));
    if (e->t->n_normalizers) {
        e->normal.n = 0;
        TNB_TRY(tnl_normalize(e->t, &e->matcher, s, &e->normal, err));
        s = (tnl_text){e->normal.s ? e->normal.s : "", e->normal.n};
    }
    return cut_added(e, &e->t->added_normalized, e->t->has_added_normalized, s, first, words, err);
}

size_t
tnl_valid_bytes(const char *text, size_t n)
{
    size_t i = 0;
    for (tnl_char c; i < n; i += c.n) {
        c = tnl_char_at(text + i, n - i);
        if (!c.n)
            break;
    }
    return i;
}

/* A copy in which bytes that are no UTF-8 are U+FFFD; without a copy where there are none. */
static tnb_status
valid(tnl_text *s, bool single, tnb_buf *out, tnb_err *err)
{
    size_t good = 0;
    for (size_t i = 0; i < s->n;) {
        tnl_char c = tnl_char_at(s->s + i, s->n - i);
        if (c.n) {
            i += c.n;
            continue;
        }
        tnb_buf_put(out, s->s + good, i - good);
        tnb_buf_puts(out, TNL_REPLACEMENT);
        i += single ? 1 : c.bad;
        good = i;
    }
    if (!good)
        return TNB_OK;
    tnb_buf_put(out, s->s + good, s->n - good);
    if (out->failed)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a text of %zu bytes", s->n);
    *s = (tnl_text){out->s, out->n};
    return TNB_OK;
}

tnb_status
tnl_encode(const tnl_tokenizer *t, const char *text, size_t n, uint32_t flags, int32_t **ids,
           size_t *n_ids, tnb_err *err)
{
    if (!t || (n && !text) || !ids || !n_ids)
        return tnb_fail(err, TNB_INVALID, "tnl_encode: %s is NULL",
                        !t           ? "the tokenizer"
                        : n && !text ? "the text"
                                     : "ids or n_ids");
    if (flags & ~(uint32_t)(TNL_ADD_SPECIAL | TNL_PLAIN_SPECIAL))
        return tnb_fail(err, TNB_INVALID, "tnl_encode: unknown flags %#x", flags);
    if (n > MOST_BYTES)
        return tnb_fail(err, TNB_BOUNDS,
                        "a text of %zu bytes is too long to be encoded at once (limit: 1 GiB)", n);
    tnl_ids out = {0};
    tnb_buf copy = {0};
    tnl_text s = {n ? text : "", n};
    encoder e = {.t = t, .ids = &out, .plain = flags & TNL_PLAIN_SPECIAL};
    tnb_status st = tnl_matcher_new(&e.matcher, err);
    if (st == TNB_OK)
        st = valid(&s, t->one_error_a_byte, &copy, err);
    for (uint32_t i = 0; i < t->n_before && st == TNB_OK && (flags & TNL_ADD_SPECIAL); i++)
        st = tnl_push(&out, t->before[i], err);
    if (st == TNB_OK)
        st = cut_added(&e, &t->added_raw, t->has_added_raw, s, true, normalized, err);
    for (uint32_t i = 0; i < t->n_after && st == TNB_OK && (flags & TNL_ADD_SPECIAL); i++)
        st = tnl_push(&out, t->after[i], err);
    if (st == TNB_OK && !out.at && !(out.at = malloc(sizeof *out.at)))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory for tokens");
    tnl_matcher_free(&e.matcher);
    tnl_pieces_free(&e.pieces);
    tnb_buf_free(&e.normal);
    tnb_buf_free(&copy);
    free(e.scratch.symbols);
    free(e.scratch.heap);
    if (st != TNB_OK) {
        free(out.at);
        return st;
    }
    *ids = out.at;
    *n_ids = out.n;
    return TNB_OK;
}
