/* SPDX-License-Identifier: Apache-2.0 */
/* A token follows from logits, seed, sequence and step alone, by the steps that tenon/lm/sample.h lists. */
#include "tests/base/harness.h"
#include "tenon/lm/sample.h"
#include <math.h>
#include <stdlib.h>

enum { VOCAB = 50, DRAWS = 20000 };

static tnl_sampler *
sampler(tnl_sampling o)
{
    tnl_sampler *s;
    tnb_err err = {0};
    if (tnl_sampler_new(&o, VOCAB, &s, &err) != TNB_OK)
        fail_msg("%s", err.message);
    return s;
}

static int32_t
token(tnl_sampler *s, const float *logits, uint64_t sequence, uint64_t step)
{
    int32_t t;
    tnb_err err = {0};
    assert_int_equal(tnl_sample(s, logits, NULL, 0, sequence, step, &t, &err), TNB_OK);
    return t;
}

static void
the_generator_is_philox(void **state)
{
    (void)state;
    /* the known answers of Random123 */
    assert_true(tnl_uniform(0, 0, 0) == (double)(0x6627e8d5e169c58dULL >> 11) * 0x1p-53);
    assert_true(tnl_uniform(UINT64_MAX, UINT64_MAX, UINT64_MAX) ==
                (double)(0x408f276d41c83b0eULL >> 11) * 0x1p-53);
    assert_true(tnl_uniform(0x299f31d0a4093822ULL, 0x0370734413198a2eULL, 0x85a308d3243f6a88ULL) ==
                (double)(0xd16cfe0994fdccebULL >> 11) * 0x1p-53);
}

static void
greedy_takes_the_largest_and_of_equal_ones_the_first(void **state)
{
    (void)state;
    float l[VOCAB] = {0};
    l[7] = l[3] = l[30] = 2;
    l[0] = NAN;
    tnl_sampler *s = sampler((tnl_sampling){0});
    assert_int_equal(token(s, l, 0, 0), 3);
    tnl_sampler_free(s);
    s = sampler((tnl_sampling){.temperature = 1, .top_k = 1});
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(token(s, l, 1, i), 3);
    tnl_sampler_free(s);
    s = sampler((tnl_sampling){.temperature = 1e-320});
    assert_true(token(s, l, 0, 0) == 3 || token(s, l, 0, 0) == 7 || token(s, l, 0, 0) == 30);
    tnl_sampler_free(s);
}

/* What is drawn, against the distribution written out the long way. */
static void
expected(const float *logits, const tnl_sampling *o, double *p)
{
    int order[VOCAB];
    double w[VOCAB], total = 0, sum = 0;
    for (int i = 0; i < VOCAB; i++) {
        order[i] = i;
        w[i] = exp(logits[i] / o->temperature);
        p[i] = 0;
    }
    for (int i = 1; i < VOCAB; i++)
        for (int k = i; k > 0 && w[order[k]] > w[order[k - 1]]; k--) {
            int t = order[k];
            order[k] = order[k - 1];
            order[k - 1] = t;
        }
    int n = o->top_k ? o->top_k : VOCAB;
    for (int i = 0; i < n; i++)
        total += w[order[i]];
    for (int i = 0; i < n && o->top_p; i++)
        if ((sum += w[order[i]]) >= o->top_p * total)
            n = i + 1;
    while (o->min_p && w[order[n - 1]] < o->min_p * w[order[0]])
        n--;
    for (total = 0, sum = 0; (int)sum < n; sum++)
        total += w[order[(int)sum]];
    for (int i = 0; i < n; i++)
        p[order[i]] = w[order[i]] / total;
}

static void
draws_follow_the_distribution(void **state)
{
    (void)state;
    static const tnl_sampling options[] = {
        {.temperature = 1, .seed = 1},
        {.temperature = 0.7, .seed = 2, .top_k = 8},
        {.temperature = 1.3, .seed = 3, .top_p = 0.8},
        {.temperature = 1, .seed = 4, .min_p = 0.2},
        {.temperature = 0.9, .seed = 5, .top_k = 20, .top_p = 0.9, .min_p = 0.05},
    };
    float logits[VOCAB];
    for (int i = 0; i < VOCAB; i++)
        logits[i] = (float)((i * 37) % VOCAB) / 12.0f;
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        double p[VOCAB];
        int count[VOCAB] = {0};
        tnl_sampler *s = sampler(options[o]);
        expected(logits, &options[o], p);
        for (uint64_t i = 0; i < DRAWS; i++)
            count[token(s, logits, 5, i)]++;
        for (int i = 0; i < VOCAB; i++) {
            double mean = p[i] * DRAWS, deviation = sqrt(mean * (1 - p[i]));
            if (fabs(count[i] - mean) > 5 * deviation + 1e-9)
                fail_msg("options %d, token %d: %d draws, %.1f expected", (int)o, i, count[i],
                         mean);
        }
        tnl_sampler_free(s);
    }
}

static void
a_draw_depends_on_seed_sequence_and_step_alone(void **state)
{
    (void)state;
    float logits[VOCAB] = {0};
    tnl_sampler *a = sampler((tnl_sampling){.temperature = 1, .seed = 9});
    tnl_sampler *b = sampler((tnl_sampling){.temperature = 1, .seed = 10});
    int32_t first = token(a, logits, 3, 4);
    int seeds = 0, sequences = 0, steps = 0;
    for (uint64_t i = 0; i < 50; i++) {
        steps += token(a, logits, 3, i) != first;
        sequences += token(a, logits, i, 4) != first;
        seeds += token(b, logits, 3, i) != token(a, logits, 3, i);
    }
    assert_true(steps > 40 && sequences > 40 && seeds > 40);
    assert_int_equal(token(a, logits, 3, 4), first);
    tnl_sampler_free(a);
    tnl_sampler_free(b);
}

static void
penalties_count_the_window(void **state)
{
    (void)state;
    float l[VOCAB] = {0};
    l[1] = 4;
    l[2] = 3;
    l[3] = 1.5f;
    const int32_t history[] = {2, 1, 1, -1, VOCAB};
    struct {
        tnl_sampling o;
        int32_t want;
    } cases[] = {
        {{.repetition = 2}, 1},                       /* 2, 1.5, 1.5 */
        {{.repetition = 3}, 3},                       /* 1.33, 1, 1.5 */
        {{.presence = 2}, 1},                         /* 2, 1, 1.5 */
        {{.frequency = 1.1}, 2},                      /* 1.8, 1.9, 1.5 */
        {{.frequency = 1.3}, 2},                      /* 1.4, 1.7, 1.5 */
        {{.frequency = 1.3, .penalty_window = 4}, 2}, /* 1.4, 3, 1.5 */
        {{.repetition = 10, .penalty_window = 2}, 1}, /* none in the window */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnl_sampler *s = sampler(cases[i].o);
        for (int again = 0; again < 2; again++) { /* counts are forgotten */
            int32_t t;
            assert_int_equal(tnl_sample(s, l, history, 5, 0, 0, &t, NULL), TNB_OK);
            assert_int_equal(t, cases[i].want);
        }
        tnl_sampler_free(s);
    }
}

static void
wrong_numbers_are_refused(void **state)
{
    (void)state;
    static const tnl_sampling bad[] = {
        {.temperature = -1}, {.temperature = NAN},   {.temperature = INFINITY},
        {.top_k = -1},       {.top_p = 1.5},         {.top_p = -0.1},
        {.top_p = NAN},      {.min_p = 2},           {.repetition = -1},
        {.frequency = NAN},  {.presence = INFINITY},
    };
    tnl_sampler *s = NULL;
    tnb_err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(tnl_sampler_new(&bad[i], VOCAB, &s, &err), TNB_INVALID);
    assert_int_equal(tnl_sampler_new(NULL, 0, &s, &err), TNB_INVALID);
    assert_int_equal(tnl_sampler_new(&(tnl_sampling){.size = 8}, VOCAB, &s, &err), TNB_ABI);
    s = sampler((tnl_sampling){0});
    float l[VOCAB];
    int32_t t;
    for (int i = 0; i < VOCAB; i++)
        l[i] = i % 2 ? NAN : -INFINITY;
    assert_int_equal(tnl_sample(s, l, NULL, 0, 0, 0, &t, &err), TNB_INVALID);
    assert_int_equal(tnl_sample(s, NULL, NULL, 0, 0, 0, &t, &err), TNB_INVALID);
    tnl_sampler_free(s);
    tnl_sampler_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_philox),
        cmocka_unit_test(greedy_takes_the_largest_and_of_equal_ones_the_first),
        cmocka_unit_test(draws_follow_the_distribution),
        cmocka_unit_test(a_draw_depends_on_seed_sequence_and_step_alone),
        cmocka_unit_test(penalties_count_the_window),
        cmocka_unit_test(wrong_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
