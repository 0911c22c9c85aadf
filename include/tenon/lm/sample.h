/* SPDX-License-Identifier: Apache-2.0 */
/* From the logits of a step to a token.
 *
 * The steps, always in this order:
 *   1. repetition penalty: the logit of each token in the window is divided by it (multiplied where
 *      the logit is negative), once a token;
 *   2. frequency and presence penalty: minus `frequency` times the token's count in the window, minus
 *      `presence` if it is there;
 *   3. temperature: logits are divided by it; 0 takes the largest logit and ends here;
 *   4. top-k: the k largest stay;
 *   5. top-p: of these, in falling order, the smallest number whose probabilities, normalized over what
 *      step 4 left, sum to top_p or more; at least one;
 *   6. min-p: those stay whose probability is at least min_p times the largest;
 *   7. one of the rest is drawn by its probability.
 * Where logits are equal, the lower id comes first. The sums are of double precision in falling order
 * (step 5's total: by id), so that the same logits give the same token on any number of threads.
 *
 * The random number of a draw is a function of seed, sequence and step (Philox 4x32-10), so that a
 * token depends neither on what is drawn beside it nor on how often. */
#ifndef TENON_LM_SAMPLE_H
#define TENON_LM_SAMPLE_H

#include "tenon/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is a default for every member: all zero is greedy. */
typedef struct tnl_sampling {
    uint32_t size;           /* sizeof, or 0 */
    int32_t top_k;           /* 0: all */
    double temperature;      /* 0: greedy */
    double top_p;            /* in (0, 1]; 0 is 1 */
    double min_p;            /* in [0, 1] */
    double repetition;       /* above 0; 0 is 1: none */
    double frequency;        /* any finite number */
    double presence;         /* any finite number */
    uint32_t penalty_window; /* how many of the last tokens penalties look at; 0: all */
    uint32_t reserved;
    uint64_t seed;
} tnl_sampling;

typedef struct tnl_sampler tnl_sampler;

/* TNB_INVALID: a number out of its range, no vocabulary. The caller's, to be given to tnl_sampler_free;
 * used by one thread at a time. opt may be NULL. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_sampler_new(const tnl_sampling *opt, uint32_t vocab, tnl_sampler **out, tnb_err *err);
TNB_EXPORT void
tnl_sampler_free(tnl_sampler *s); /* NULL is fine */

/* The token for `logits` (as many as the vocabulary, not changed). `history`: the n tokens of the sequence so
 * far, for penalties; those outside of the vocabulary are passed over. A NaN counts as minus infinity.
 * TNB_INVALID: no logit is a number above minus infinity. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_sample(tnl_sampler *s, const float *logits, const int32_t *history, size_t n, uint64_t sequence,
           uint64_t step, int32_t *token, tnb_err *err);

/* The number in [0, 1), a multiple of 2^-53, that tnl_sample draws with. */
TNB_EXPORT double
tnl_uniform(uint64_t seed, uint64_t sequence, uint64_t step);

#ifdef __cplusplus
}
#endif
#endif
