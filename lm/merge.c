/* SPDX-License-Identifier: Apache-2.0 */
/* Byte pair encoding of a word: the neighbours with the best merge become one token, until none is left. A heap
 * holds the merges that are possible, best first and of equal ones the leftmost, so that a word of n characters takes
 * O(n log n). */
#include "tokenizer.h"

#include <stdlib.h>

typedef struct tnl_symbol {
    const char *s;
    size_t n; /* 0: merged into the one before */
    int64_t prev, next;
    int32_t id; /* of merges by rank; -1: no token */
    bool frozen, unknown, joined;
} symbol;

typedef struct tnl_candidate {
    double order; /* the smallest first */
    int64_t left;
    size_t n; /* of both texts: whether the symbols are still those */
    int32_t id;
} candidate;

typedef struct word {
    const tnl_tokenizer *t;
    symbol *at;
    size_t n;
    candidate *heap;
    size_t n_heap;
} word;

static bool
before(const candidate *a, const candidate *b)
{
    return a->order < b->order || (a->order == b->order && a->left < b->left);
}

static void
push(word *w, candidate c)
{
    size_t i = w->n_heap++;
    for (; i > 0 && before(&c, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = c;
}

static candidate
pop(word *w)
{
    candidate top = w->heap[0], last = w->heap[--w->n_heap];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < w->n_heap; i = k) {
        k += k + 1 < w->n_heap && before(&w->heap[k + 1], &w->heap[k]);
        if (!before(&w->heap[k], &last))
            break;
        w->heap[i] = w->heap[k];
    }
    w->heap[i] = last;
    return top;
}

static void
consider(word *w, int64_t left)
{
    if (left < 0 || w->at[left].next < 0)
        return;
    const symbol *a = &w->at[left], *b = &w->at[a->next];
    if (a->frozen || b->frozen)
        return;
    candidate c = {.left = left, .n = a->n + b->n};
    if (w->t->model == TNL_BPE_RANKED) {
        const struct tnl_pair *p = tnl_pairs_find(&w->t->pairs, a->id, b->id);
        if (!p)
            return;
        c.id = p->id;
        c.order = p->rank;
    } else {
        c.id = tnl_table_find(&w->t->pieces, a->s, c.n);
        if (c.id < 0)
            return;
        c.order = -(double)w->t->tokens[c.id].score;
    }
    push(w, c);
}

/* ---- characters ---- */
/* The symbols of a word in `w`, which has room for one a byte. */
static void
begin(word *w, tnl_text s)
{
    const tnl_tokenizer *t = w->t;
    for (size_t i = 0, n; i < s.n; i += n) {
        symbol *y = &w->at[w->n];
        tnl_char c = tnl_char_at(s.s + i, s.n - i);
        n = c.n ? c.n : 1;
        *y = (symbol){.s = s.s + i, .n = n, .prev = (int64_t)w->n - 1, .next = (int64_t)w->n + 1};
        if (t->has_user && t->model == TNL_BPE_SCORED &&
            tnl_trie_longest(&t->user, s.s + i, s.n - i, &n) >= 0) {
            y->n = n;
            y->frozen = true;
        }
        w->n++;
        if (t->model != TNL_BPE_RANKED)
            continue;
        y->id = tnl_table_find(&t->pieces, y->s, y->n);
        if (y->id >= 0)
            continue;
        bool bytes = t->byte_fallback;
        for (size_t k = 0; k < n; k++)
            bytes = bytes && t->of_byte[(uint8_t)s.s[i + k]] >= 0;
        for (size_t k = 0; bytes && k < n; k++) {
            w->at[w->n - 1 + k] = (symbol){.s = s.s + i + k,
                                           .n = 1,
                                           .prev = (int64_t)(w->n + k) - 2,
                                           .next = (int64_t)(w->n + k),
                                           .id = t->of_byte[(uint8_t)s.s[i + k]]};
        }
        if (bytes) {
            w->n += n - 1;
        } else if (t->unknown < 0) {
            w->n--; /* nothing stands for it */
        } else if (t->fuse_unknown && w->n > 1 && w->at[w->n - 2].unknown &&
                   w->at[w->n - 2].s + w->at[w->n - 2].n == y->s) {
            w->at[w->n - 2].n += n;
            w->n--;
        } else {
            y->id = t->unknown;
            y->unknown = true;
        }
    }
    if (w->n)
        w->at[w->n - 1].next = -1;
}

static tnb_status
reserve(tnl_scratch *s, size_t n, tnb_err *err)
{
    if (n > SIZE_MAX / 3 / sizeof(symbol))
        return tnb_fail(err, TNB_NO_MEMORY, "a word of %zu bytes is too long", n);
    if (n > s->cap) {
        size_t cap = n > 1024 ? n : 1024;
        free(s->symbols);
        free(s->heap);
        s->symbols = malloc(cap * sizeof *s->symbols);
        s->heap =
            malloc(3 * cap * sizeof *s->heap); /* a symbol's pair at first, two for each merge */
        s->cap = s->symbols && s->heap ? cap : 0;
        if (!s->cap)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a word of %zu bytes", n);
    }
    return TNB_OK;
}

/* ---- the result ---- */
/* A piece that is for merging only is put out as the two that it was made of. */
static tnb_status
put_scored(const word *w, tnl_text s, bool *unknown, int depth, tnl_ids *ids, tnb_err *err)
{
    int32_t id = tnl_table_find(&w->t->ids, s.s, s.n);
    if (id >= 0 && w->t->tokens[id].kind == TNL_UNUSED && depth < 64) {
        /* the best of its merges: SentencePiece remembers the one that was made, which is that of the best parts */
        size_t best = 0;
        double score = 0;
        for (size_t k = 1; k < s.n; k++) {
            int32_t l = tnl_table_find(&w->t->pieces, s.s, k),
                    r = tnl_table_find(&w->t->pieces, s.s + k, s.n - k);
            double both =
                l >= 0 && r >= 0 ? (double)w->t->tokens[l].score + w->t->tokens[r].score : 0;
            if (l >= 0 && r >= 0 && (!best || both > score)) {
                best = k;
                score = both;
            }
        }
        if (best) {
            TNB_TRY(put_scored(w, (tnl_text){s.s, best}, unknown, depth + 1, ids, err));
            return put_scored(w, (tnl_text){s.s + best, s.n - best}, unknown, depth + 1, ids, err);
        }
    }
    if (id < 0 || id == w->t->unknown)
        return tnl_push_unknown(w->t, s, unknown, ids, err);
    *unknown = false;
    return tnl_push(ids, id, err);
}

tnb_status
tnl_merge(const tnl_tokenizer *t, tnl_text s, tnl_scratch *scratch, tnl_ids *ids, tnb_err *err)
{
    int32_t whole = t->ignore_merges ? tnl_table_find(&t->pieces, s.s, s.n) : -1;
    if (whole >= 0)
        return tnl_push(ids, whole, err);
    TNB_TRY(reserve(scratch, s.n, err));
    word w = {.t = t, .at = scratch->symbols, .heap = scratch->heap};
    begin(&w, s);
    for (size_t i = 0; i + 1 < w.n; i++)
        consider(&w, (int64_t)i);
    while (w.n_heap) {
        candidate c = pop(&w);
        symbol *a = &w.at[c.left];
        if (!a->n || a->next < 0 || a->n + w.at[a->next].n != c.n)
            continue;
        symbol *b = &w.at[a->next];
        a->n = c.n;
        a->id = c.id;
        a->next = b->next;
        b->n = 0;
        if (a->next >= 0)
            w.at[a->next].prev = c.left;
        consider(&w, a->prev);
        consider(&w, c.left);
    }
    bool unknown = false;
    for (int64_t i = w.n ? 0 : -1; i >= 0; i = w.at[i].next) {
        if (t->model == TNL_BPE_RANKED)
            TNB_TRY(tnl_push(ids, w.at[i].id, err));
        else
            TNB_TRY(put_scored(&w, (tnl_text){w.at[i].s, w.at[i].n}, &unknown, 0, ids, err));
    }
    return TNB_OK;
}
