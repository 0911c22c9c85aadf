/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that writes: logits, a token, its text, and again. */
#include "config.h"
#include "tenon/lm/generate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct writer {
    tnl_model *m;
    const tnl_generate_options *o;
    tnl_sampler *sampler;
    tnl_stream *stream;
    float *logits;
    int32_t *tokens; /* of this call: the prompt, then what was written */
    size_t n, cap;
    tnb_buf held; /* text that may become a stop text */
    bool ended;   /* by the caller */
} writer;

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *
tnl_reason_name(tnl_reason r)
{
    static const char *const names[] = {"end of text", "stop text", "token limit", "context full",
                                        "stopped"}; /* ORDER tnl_reason */
    return (unsigned)r < sizeof names / sizeof *names ? names[r] : "unknown";
}

/* ---- text ---- */
static void
emit(writer *w, size_t n)
{
    if (n && w->o->text && !w->o->text(w->o->user, w->held.s, n))
        w->ended = true;
    memmove(w->held.s, w->held.s + n, w->held.n - n);
    w->held.n -= n;
}

/* Puts out what can be no part of a stop text any more. True: one of them is there. */
static bool
release(writer *w, bool last)
{
    size_t first = w->held.n, keep = 0;
    bool found = false;
    if (!w->held.n)
        return false;
    for (uint32_t i = 0; i < w->o->n_stops; i++) {
        size_t n = strlen(w->o->stops[i]);
        const char *p = n ? memmem(w->held.s, w->held.n, w->o->stops[i], n) : NULL;
        if (p && (size_t)(p - w->held.s) <= first) {
            first = (size_t)(p - w->held.s);
            found = true;
        }
        for (size_t k = n ? n - 1 : 0; k > keep; k--)
            if (k <= w->held.n && memcmp(w->held.s + w->held.n - k, w->o->stops[i], k) == 0)
                keep = k;
    }
    if (found)
        w->held.n = first;
    emit(w, found || last ? w->held.n : w->held.n - keep);
    return found;
}

/* ---- steps ---- */
static tnb_status
remember(writer *w, const int32_t *ids, size_t n, tnb_err *err)
{
    if (n > w->cap - w->n) {
        size_t cap = 2 * w->cap + n + 256;
        int32_t *more = realloc(w->tokens, cap * sizeof *more);
        if (!more)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for %zu tokens", cap);
        w->tokens = more;
        w->cap = cap;
    }
    memcpy(w->tokens + w->n, ids, n * sizeof *ids);
    w->n += n;
    return TNB_OK;
}

/* Whether one token more can be appended. */
static bool
has_room(const writer *w, int64_t sequence)
{
    const tnl_model_facts *f = tnl_model_facts_of(w->m);
    uint64_t most = f->context && (uint64_t)f->context < f->cache_tokens ? (uint64_t)f->context
                                                                         : f->cache_tokens;
    return (uint64_t)tnl_model_length(w->m, sequence) < most;
}

static tnb_status
put_text(writer *w, int32_t id, bool *stop, tnb_err *err)
{
    TNB_TRY(tnl_stream_put(w->stream, id, &w->held, err));
    *stop = release(w, false);
    return TNB_OK;
}

static tnb_status
write_on(writer *w, int64_t sequence, tnl_generated *r, tnb_err *err)
{
    double start = now();
    for (;;) {
        int32_t id;
        bool stop = false;
        TNB_TRY(tnl_sample(w->sampler, w->logits, w->tokens, w->n, (uint64_t)sequence,
                           (uint64_t)tnl_model_length(w->m, sequence), &id, err));
        if (!r->tokens++)
            r->prompt_seconds += now() - start;
        if (w->o->token && !w->o->token(w->o->user, id))
            w->ended = true;
        bool end = !w->o->ignore_end && tnl_model_stops(w->m, id);
        TNB_TRY(remember(w, &id, 1, err));
        if (!end)
            TNB_TRY(put_text(w, id, &stop, err));
        if (end || stop || w->ended || r->tokens == w->o->max_tokens || !has_room(w, sequence)) {
            r->reason = end                             ? TNL_ENDED_BY_TOKEN
                        : stop                          ? TNL_ENDED_BY_TEXT
                        : w->ended                      ? TNL_ENDED_BY_CALLER
                        : r->tokens == w->o->max_tokens ? TNL_ENDED_BY_COUNT
                                                        : TNL_ENDED_BY_ROOM;
            break;
        }
        tnb_status st = tnl_model_append(w->m, sequence, &id, 1, w->logits, err);
        if (st == TNB_CANCELLED) {
            r->reason = TNL_ENDED_BY_CALLER;
            break;
        }
        TNB_TRY(st);
    }
    if (r->reason != TNL_ENDED_BY_TEXT) {
        TNB_TRY(tnl_stream_end(w->stream, &w->held, err));
        if (release(w, true))
            r->reason = TNL_ENDED_BY_TEXT;
    }
    r->seconds = now() - start;
    return TNB_OK;
}

static tnb_status
run(writer *w, int64_t sequence, const int32_t *prompt, size_t n, tnl_generated *r, tnb_err *err)
{
    const tnl_model_facts *f = tnl_model_facts_of(w->m);
    double start = now();
    TNB_TRY(tnl_sampler_new(&w->o->sampling, (uint32_t)f->vocabulary, &w->sampler, err));
    TNB_TRY(tnl_stream_new(tnl_model_tokenizer(w->m), w->o->plain ? 0 : TNL_SKIP_SPECIAL,
                           &w->stream, err));
    w->logits = malloc((size_t)f->vocabulary * sizeof *w->logits);
    if (!w->logits)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %lld logits", (long long)f->vocabulary);
    TNB_TRY(remember(w, prompt, n, err));
    /* the first new token's text is that behind the prompt's */
    tnb_buf before = {0};
    tnb_status st = TNB_OK;
    for (size_t i = 0; i < n && st == TNB_OK; i++, before.n = 0)
        st = tnl_stream_put(w->stream, prompt[i], &before, err);
    tnb_buf_free(&before);
    if (st == TNB_OK)
        st = tnl_model_append(w->m, sequence, prompt, n, w->logits, err);
    if (st != TNB_OK)
        return st;
    r->prompt_tokens = n;
    r->prompt_seconds = now() - start;
    return write_on(w, sequence, r, err);
}

tnb_status
tnl_generate(tnl_model *m, int64_t sequence, const int32_t *prompt, size_t n,
             const tnl_generate_options *opt, tnl_generated *result, tnb_err *err)
{
    static const tnl_generate_options none = {0};
    tnl_generated r = {.size = sizeof r};
    if (!m || !prompt || !n || sequence < 0)
        return tnb_fail(err, TNB_INVALID, "tnl_generate: %s",
                        !m              ? "the model is NULL"
                        : !prompt || !n ? "the prompt has no tokens"
                                        : "the sequence's number is negative");
    if ((opt && opt->size && opt->size != sizeof *opt) ||
        (result && result->size && result->size != sizeof r))
        return tnb_fail(err, TNB_ABI,
                        "tnl_generate_options or tnl_generated has another size here");
    if (opt && opt->n_stops && !opt->stops)
        return tnb_fail(err, TNB_INVALID, "tnl_generate: stops is NULL");
    writer w = {.m = m, .o = opt ? opt : &none};
    tnb_status st = run(&w, sequence, prompt, n, &r, err);
    if (st == TNB_OK && !w.o->keep_sequence)
        st = tnl_model_cut(m, sequence, 0, err);
    else if (st != TNB_OK && tnl_model_cut(m, sequence, 0, NULL) != TNB_OK)
        tnb_err_prefix(err, "the sequence is lost");
    tnl_sampler_free(w.sampler);
    tnl_stream_free(w.stream);
    tnb_buf_free(&w.held);
    free(w.tokens);
    free(w.logits);
    if (st == TNB_OK && result)
        *result = r;
    return st;
}
