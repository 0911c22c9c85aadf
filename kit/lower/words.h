/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of LowerInt64 share: numbers of 64 bits that count are int32 (words_count.c), data is two words (words_data.c).
 * Not installed.
 */
#ifndef TENON_KIT_WORDS_H
#define TENON_KIT_WORDS_H

#include "word_pairs.h"

enum { TNK_WORDS_LOOPS = 64 };

/* Where expressions stand: variables go in front of the statement; what is known here, is known further in. */
typedef struct tnk_words_scope {
    struct tnk_words_scope *up;
    const tn_expr *cond; /* this is computed only where it holds, or does not; NULL: always */
    const tn_expr
        *guard; /* a variable that says so, and what the scopes around say; NULL: none yet */
    bool holds;
    tnb_ptrmap memo, pairs;
} tnk_words_scope;

typedef struct tnk_words {
    tn_ctx *ctx;
    const char *func;
    tnk_pairs pairs;
    tn_arith *arith;
    tnb_ptrmap buffers;          /* of 64 bits -> that of words */
    tnb_ptrmap small;            /* variable that counts -> int32 */
    tnb_ptrmap bound;            /* variable that counts -> its value in 64 bits */
    tnb_ptrmap given;            /* scalar parameter of 64 bits -> itself */
    tnb_ptrmap vars;             /* variable of data -> pair of variables */
    tnb_ptrmap counted, fitting; /* expression -> what tnk_words_counts and _fit say of it, + 1 */
    const tn_expr *loops[TNK_WORDS_LOOPS], *mins[TNK_WORDS_LOOPS], *extents[TNK_WORDS_LOOPS];
    uint32_t n_loops;
    tn_list requires_; /* of the host */
    tnk_words_scope *scope;
    tnk_stmt_vec front; /* of the statement at hand */
    bool failed;
} tnk_words;

static inline bool
tnk_is_wide(tnb_dtype d)
{
    return (d.code == TNB_INT || d.code == TNB_UINT) && d.bits == 64;
}

static inline tnb_dtype
tnk_lanes_as(tnb_dtype d, tnb_dtype of)
{
    d.lanes = of.lanes;
    return d;
}

/* Stops at an expression of 64 bits. */
tn_walk_step
tnk_find_wide(void *user, const tn_node *n);
/* Records that `what` of e has no form, once; e. */
const tn_expr *
tnk_words_refuse(tnk_words *w, const tn_expr *e, const char *what);

/* ---- words_count.c ---- */
/* The host has to look before a launch whether `e`, of what it gives, fits. what: "the number n * 4" */
void
tnk_words_require(tnk_words *w, const tn_expr *e, tn_loc loc, const char *what);
/* Whether all variables are scalar parameters. */
bool
tnk_words_given(tnk_words *w, const tn_expr *e);
/* Whether the lower word of `e` is what int32 gives: nothing in it came as data, and what is divided, compared or moved to the
 * right on the way fits. */
bool
tnk_words_counts(tnk_words *w, const tn_expr *e);
/* Whether int32 holds the value of `e`. */
bool
tnk_words_fit(tnk_words *w, const tn_expr *e);
/* A number that counts, as an int32. */
const tn_expr *
tnk_words_narrow(tnk_words *w, const tn_expr *e);
/* An index, or the bound of a loop, which may have come as data, as an int32. */
const tn_expr *
tnk_words_index(tnk_words *w, const tn_expr *e);

/* ---- words_data.c ---- */
/* Of tnk_pairs. */
const tn_expr *
tnk_words_once(tnk_pairs *p, const tn_expr *e);
/* Within what is computed where `cond` holds, or does not hold; NULL: always. */
void
tnk_words_enter(tnk_words *w, tnk_words_scope *s, const tn_expr *cond, bool holds);
void
tnk_words_leave(tnk_words *w);
/* The two words of a number. */
tnk_pair
tnk_words_data(tnk_words *w, const tn_expr *e);
/* The places of the two words of elements at an index. */
tnk_pair
tnk_words_places(tn_ctx *ctx, const tn_expr *i);
/* A number of less bits, which may be made of some of 64. */
const tn_expr *
tnk_words_rest(tnk_words *w, const tn_expr *e);

#endif
