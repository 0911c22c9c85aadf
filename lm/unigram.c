/* SPDX-License-Identifier: Apache-2.0 */
/* The unigram model: of all ways to cut a text into pieces the one with the largest sum of scores (Viterbi), which takes
 * time in the text's length times that of the longest piece. */
#include "tokenizer.h"

#include <stdlib.h>

typedef struct best {
    double score;
    size_t from; /* where the piece that ends here begins; SIZE_MAX: not reached */
    size_t to;   /* where the piece of the best way that begins here ends */
    int32_t id;  /* of the piece that ends here; -1: an unknown character */
} best;

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
    for (size_t i = 0, n; i < s.n; i += n) {
        tnl_char c = tnl_char_at(s.s + i, s.n - i);
        n = c.n ? c.n : 1;
        bool single = false;
        uint32_t node = 0;
        for (size_t k = i; k < s.n; k++) {
            node = tnl_trie_step(&t->trie, node, (uint8_t)s.s[k]);
            if (!node)
                break;
            int32_t id = t->trie.value[node];
            if (id < 0)
                continue;
            const tnl_token *p = &t->tokens[id];
            double own = p->kind == TNL_USER_DEFINED ? 0 : p->score;
            double score = at[i].score + own;
            if (t->single_precision)
                score = (float)at[i].score + (float)own;
            if (at[k + 1].from == SIZE_MAX || score > at[k + 1].score)
                at[k + 1] = (best){.score = t->single_precision ? (float)score : score,
                                   .from = i,
                                   .id = id};
            single |= k + 1 - i == n;
        }
        double score = at[i].score + t->unknown_score;
        if (t->single_precision)
            score = (float)at[i].score + (float)t->unknown_score;
        if (!single && (at[i + n].from == SIZE_MAX || score > at[i + n].score))
            at[i + n] =
                (best){.score = t->single_precision ? (float)score : score, .from = i, .id = -1};
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
