/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling. Candidates lie in a heap whose top is the largest logit, so that only as many are put in
 * order as the draw looks at. */
#include "tenon/lm/sample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct tnl_sampler {
    tnl_sampling opt;
    uint32_t vocab;
    double *score; /* logits after penalties; then less the largest, over the temperature */
    uint32_t *heap;
    uint32_t *count; /* of tokens in the window; zero between calls */
    double *weight;  /* exp(score) of candidates in falling order, and their ids */
    int32_t *order;
};

/* ---- the generator: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011) ---- */
static void
philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

double
tnl_uniform(uint64_t seed, uint64_t sequence, uint64_t step)
{
    uint32_t c[4] = {(uint32_t)step, (uint32_t)(step >> 32), (uint32_t)sequence,
                     (uint32_t)(sequence >> 32)};
    philox(c, (uint32_t)seed, (uint32_t)(seed >> 32));
    uint64_t bits = (uint64_t)c[0] << 32 | c[1];
    return (double)(bits >> 11) * 0x1p-53;
}

/* ---- the heap ---- */
static bool
before(const tnl_sampler *s, uint32_t a, uint32_t b)
{
    return s->score[a] > s->score[b] || (s->score[a] == s->score[b] && a < b);
}

static void
sift(tnl_sampler *s, uint32_t i, uint32_t n)
{
    uint32_t id = s->heap[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!before(s, s->heap[child], id))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = id;
}

static uint32_t
pop(tnl_sampler *s, uint32_t *n)
{
    uint32_t id = s->heap[0];
    s->heap[0] = s->heap[--*n];
    if (*n)
        sift(s, 0, *n);
    return id;
}

/* ---- the steps ---- */
static void
penalize(tnl_sampler *s, const int32_t *history, size_t n)
{
    const tnl_sampling *o = &s->opt;
    if (o->repetition == 1 && o->frequency == 0 && o->presence == 0)
        return;
    if (o->penalty_window && n > o->penalty_window) {
        history += n - o->penalty_window;
        n = o->penalty_window;
    }
    for (size_t i = 0; i < n; i++)
        if (history[i] >= 0 && (uint32_t)history[i] < s->vocab)
            s->count[history[i]]++;
    for (size_t i = 0; i < n; i++) {
        if (history[i] < 0 || (uint32_t)history[i] >= s->vocab || !s->count[history[i]])
            continue;
        double *x = &s->score[history[i]];
        *x = *x > 0 ? *x / o->repetition : *x * o->repetition;
        *x -= o->frequency * s->count[history[i]] + o->presence;
        s->count[history[i]] = 0;
    }
}

/* Takes the largest candidate out of the heap to the end of the order. */
static double
take(tnl_sampler *s, uint32_t *left, uint32_t at)
{
    uint32_t id = pop(s, left);
    s->order[at] = (int32_t)id;
    return s->weight[at] = exp(s->score[id]);
}

static int32_t
draw(tnl_sampler *s, double u)
{
    const tnl_sampling *o = &s->opt;
    double sum = 0, total = 0;
    uint32_t left = s->vocab, n = 0;
    for (uint32_t i = 0; i < s->vocab; i++)
        s->heap[i] = i;
    for (uint32_t i = s->vocab / 2; i-- > 0;)
        sift(s, i, s->vocab);
    uint32_t most = o->top_k > 0 && (uint32_t)o->top_k < s->vocab ? (uint32_t)o->top_k : s->vocab;
    if (most < s->vocab) {
        while (n < most)
            total += take(s, &left, n++);
    } else {
        for (uint32_t i = 0; i < s->vocab; i++)
            total += exp(s->score[i]);
    }
    uint32_t kept = most;
    if (o->top_p < 1) {
        for (kept = 0, sum = 0; kept < most;) {
            sum += kept < n ? s->weight[kept] : take(s, &left, n++);
            kept++;
            if (sum >= o->top_p * total)
                break;
        }
        total = sum;
    }
    if (o->min_p > 0) {
        uint32_t i = 0;
        for (sum = 0; i < kept; i++) {
            double w = i < n ? s->weight[i] : take(s, &left, n++);
            if (w < o->min_p)
                break;
            sum += w;
        }
        kept = i;
        total = sum;
    }
    uint32_t i = 0;
    for (sum = 0; i + 1 < kept; i++) {
        sum += i < n ? s->weight[i] : take(s, &left, n++);
        if (sum > u * total)
            break;
    }
    if (i >= n)
        take(s, &left, n);
    return s->order[i];
}

tnb_status
tnl_sample(tnl_sampler *s, const float *logits, const int32_t *history, size_t n, uint64_t sequence,
           uint64_t step, int32_t *token, tnb_err *err)
{
    if (!s || !logits || !token || (n && !history))
        return tnb_fail(err, TNB_INVALID, "tnl_sample: %s is NULL",
                        !s        ? "the sampler"
                        : !logits ? "logits"
                        : !token  ? "token"
                                  : "history");
    for (uint32_t i = 0; i < s->vocab; i++)
        s->score[i] = isnan(logits[i]) ? -INFINITY : (double)logits[i];
    penalize(s, history, n);
    uint32_t largest = 0;
    for (uint32_t i = 1; i < s->vocab; i++)
        if (s->score[i] > s->score[largest])
            largest = i;
    if (!(s->score[largest] > -INFINITY))
        return tnb_fail(err, TNB_INVALID, "none of the %u logits is a number above minus infinity",
                        s->vocab);
    if (s->opt.temperature == 0 || s->score[largest] == INFINITY) {
        *token = (int32_t)largest;
        return TNB_OK;
    }
    double most = s->score[largest]; /* becomes 0, whatever the temperature is */
    for (uint32_t i = 0; i < s->vocab; i++)
        s->score[i] = (s->score[i] - most) / s->opt.temperature;
    *token = draw(s, tnl_uniform(s->opt.seed, sequence, step));
    return TNB_OK;
}

/* ---- making ---- */
static tnb_status
check(const tnl_sampling *o, tnb_err *err)
{
    if (!(o->temperature >= 0 && isfinite(o->temperature)))
        return tnb_fail(err, TNB_INVALID, "the temperature is %g, which is not 0 or more",
                        o->temperature);
    if (o->top_k < 0)
        return tnb_fail(err, TNB_INVALID, "top-k is %d, which is not 0 or more", o->top_k);
    if (!(o->top_p > 0 && o->top_p <= 1))
        return tnb_fail(err, TNB_INVALID, "top-p is %g, which is not above 0 and at most 1",
                        o->top_p);
    if (!(o->min_p >= 0 && o->min_p <= 1))
        return tnb_fail(err, TNB_INVALID, "min-p is %g, which is not from 0 to 1", o->min_p);
    if (!(o->repetition > 0 && isfinite(o->repetition)))
        return tnb_fail(err, TNB_INVALID, "the repetition penalty is %g, which is not above 0",
                        o->repetition);
    if (!isfinite(o->frequency) || !isfinite(o->presence))
        return tnb_fail(err, TNB_INVALID, "the frequency or presence penalty is not finite");
    return TNB_OK;
}

tnb_status
tnl_sampler_new(const tnl_sampling *opt, uint32_t vocab, tnl_sampler **out, tnb_err *err)
{
    tnl_sampling o = {0};
    if (!out)
        return tnb_fail(err, TNB_INVALID, "tnl_sampler_new: out is NULL");
    if (opt && opt->size && opt->size != sizeof *opt)
        return tnb_fail(err, TNB_ABI, "tnl_sampling has %u bytes here, not %u", (unsigned)sizeof o,
                        opt->size);
    if (opt)
        o = *opt;
    o.top_p = o.top_p == 0 ? 1 : o.top_p;
    o.repetition = o.repetition == 0 ? 1 : o.repetition;
    TNB_TRY(check(&o, err));
    if (!vocab || vocab > INT32_MAX)
        return tnb_fail(err, TNB_INVALID, "a vocabulary of %u tokens cannot be sampled from",
                        vocab);
    tnl_sampler *s = calloc(1, sizeof *s);
    if (s) {
        *s = (tnl_sampler){.opt = o, .vocab = vocab};
        s->score = malloc(vocab * sizeof *s->score);
        s->heap = malloc(vocab * sizeof *s->heap);
        s->count = calloc(vocab, sizeof *s->count);
        s->weight = malloc(vocab * sizeof *s->weight);
        s->order = malloc(vocab * sizeof *s->order);
    }
    if (!s || !s->score || !s->heap || !s->count || !s->weight || !s->order) {
        tnl_sampler_free(s);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to sample from %u tokens", vocab);
    }
    *out = s;
    return TNB_OK;
}

void
tnl_sampler_free(tnl_sampler *s)
{
    if (!s)
        return;
    free(s->score);
    free(s->heap);
    free(s->count);
    free(s->weight);
    free(s->order);
    free(s);
}
