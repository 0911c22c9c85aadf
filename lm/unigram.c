/* SPDX-License-Identifier: Apache-2.0 */
/* The unigram model: of all ways to cut a text into pieces the one with the largest sum of scores (Viterbi), which takes
 * time in the text's length times that of the longest piece. Which way is taken where sums are all but equal hangs on how
 * they are rounded: SentencePiece (0.2.3, EncodeOptimized) sums in float32, gives a user-defined piece a tenth for each
 * byte after its first, and takes a sum beyond 100000 from all that are kept; `tokenizers` and llama.cpp sum in float64,
 * where such a piece has 0. */
#include "tokenizer.h"

#include <math.h>
#include <stdlib.h>

static const float MOST_SUM = 100000;

typedef struct best {
    double score;
    size_t from; /* where the piece that ends here begins; SIZE_MAX: not reached */
    size_t to;   /* where the piece of the best way that begins here ends */
    int32_t id;  /* of the piece that ends here; -1: an unknown character */
} best;

static double
sum(const tnl_tokenizer *t, double before, double score)
{
    return t->of_sentencepiece ? (float)before + (float)score : before + score;
}

static double
score_of(const tnl_tokenizer *t, const tnl_token *p, size_t length)
{
    if (p->kind != TNL_USER_DEFINED)
        return p->score;
    return t->of_sentencepiece ? (float)(0.1 * (double)(length - 1)) : 0;
}

/* Sums are counted from the one at i on, all up to the last that was reached. */
static void
count_from(best *at, size_t i, size_t last)
{
    const float offset = (float)at[i].score;
    for (size_t k = i; k <= last; k++)
        if (at[k].from != SIZE_MAX)
            at[k].score = (float)at[k].score - offset;
}

static void
reach(best *at, size_t from, int32_t id, double score)
{
    if (at->from == SIZE_MAX || score > at->score)
        *at = (best){.score = score, .from = from, .id = id};
}

tnb_status
tnl_unigram(const tnl_tokenizer *t, tnl_text s, tnl_ids *ids, tnb_err *err)
{
    if (!s.n)
        return TNB_OK;
    best *at = s.n < SIZE_MAX / sizeof *at - 1 ? malloc((s.n + 1) * sizeof *at) : NULL;
    if (!at)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a text of %zu bytes", s.n);
    for (size_t i = 0; i <= s.n; i++)
        at[i] = (best){.from = SIZE_MAX};
    at[0].from = 0;
    size_t last = 0;
    for (size_t i = 0, n; i < s.n; i += n) {
        tnl_char c = tnl_char_at(s.s + i, s.n - i);
        n = c.n ? c.n : 1;
        bool single = false;
        uint32_t node = 0;
        if (t->of_sentencepiece && fabs(at[i].score) > MOST_SUM)
            count_from(at, i, last);
        for (size_t k = i; k < s.n; k++) {
            node = tnl_trie_step(&t->trie, node, (uint8_t)s.s[k]);
            if (!node)
                break;
            int32_t id = t->trie.value[node];
            if (id < 0)
                continue;
            reach(&at[k + 1], i, id, sum(t, at[i].score, score_of(t, &t->tokens[id], k + 1 - i)));
            last = last > k + 1 ? last : k + 1;
            single |= k + 1 - i == n;
        }
        if (!single) {
            reach(&at[i + n], i, -1, sum(t, at[i].score, t->unknown_score));
            last = last > i + n ? last : i + n;
        }
    }
    for (size_t i = s.n; i > 0; i = at[i].from)
        at[at[i].from].to = i;
    tnb_status st = TNB_OK;
    bool unknown = false;
    for (size_t i = 0; i < s.n && st == TNB_OK; i = at[i].to) {
        size_t end = at[i].to;
        if (at[end].id < 0 || at[end].id == t->unknown) {
            st = tnl_push_unknown(t, (tnl_text){s.s + i, end - i}, &unknown, ids, err);
        } else {
            unknown = false;
            st = tnl_push(ids, at[end].id, err);
        }
    }
    free(at);
    return st;
}
