/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands for language models share: opening one, sampling, Ctrl-C. */
#include "config.h"
#include "language.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include "tenon/base/file.h"
#include "tenon/base/log.h"

enum { USUAL_CONTEXT = 4096 };

/* The bar while weights are transformed. */
typedef struct bar {
    bool quiet;
    tnb_progress *drawn;
    uint64_t done;
} bar;

static void
show_progress(void *user, uint64_t done, uint64_t total)
{
    bar *b = user;
    if (b->quiet)
        return;
    if (!b->drawn)
        b->drawn = tnb_progress_start("weights (MiB)", (total >> 20) + 1);
    tnb_progress_step(b->drawn, (done >> 20) - (b->done >> 20), NULL);
    b->done = done;
}

/* More is asked for than the model has: the library would give what there is. */
static tnb_status
check_context(const tnt_args *a, const tnl_model *m, int64_t context, tnb_err *err)
{
    const int64_t most = tnl_model_facts_of(m)->context;
    if (!tnt_has(a, "context") || !most || context <= most)
        return TNB_OK;
    tnb_fail(err, TNB_BOUNDS, "--context is %lld, but the model's context has %lld tokens",
             (long long)context, (long long)most);
    tnb_hint(err, "leave --context out, or ask for %lld at most", (long long)most);
    return TNB_BOUNDS;
}

/* A model's weights are its own file's. False after a message. */
static bool
check_places(const tnt_args *a, const char *path)
{
    if (!tnt_has(a, "weights") || tnt_is_artifact(path))
        return true;
    tnt_usage(a->command,
              "option '--weights' is for artifacts, which have their weights in other files; '%s' "
              "is a model",
              path);
    return false;
}

/* The tokenizer of a model that has to be compiled first, opened meanwhile. */
typedef struct meanwhile {
    const char *path; /* NULL: the artifact will say where it is */
    tnl_tokenizer *tokenizer;
    pthread_t thread;
    bool started;
} meanwhile;

static void *
open_tokenizer(void *user)
{
    meanwhile *w = user;
    tnb_err err = {0};
    if (tnl_tokenizer_open(w->path, &w->tokenizer, &err) != TNB_OK)
        w->tokenizer = NULL; /* tnl_model_open says why */
    return NULL;
}

static void
start_meanwhile(meanwhile *w, const tnt_args *a, const char *path)
{
    const bool has_own = tnb_ends_with(path, ".gguf");
    w->path = tnt_value(a, "tokenizer", has_own ? path : NULL);
    w->started = w->path && !tnt_is_artifact(path) &&
                 pthread_create(&w->thread, NULL, open_tokenizer, w) == 0;
}

static tnl_tokenizer *
end_meanwhile(meanwhile *w)
{
    if (w->started)
        pthread_join(w->thread, NULL);
    return w->tokenizer;
}

bool
tnt_language_open(tnt_session *s, const tnt_args *a, const char *path, uint64_t room,
                  tnt_language *out)
{
    tnb_err err = {0};
    int64_t context;
    meanwhile other = {0};
    *out = (tnt_language){0};
    if (!tnt_int(a, "context", USUAL_CONTEXT, 1, INT32_MAX, &context) || !check_places(a, path))
        return false;
    start_meanwhile(&other, a, path);
    const bool has_program = tnt_program_open(s, a, path, &out->program);
    tnl_tokenizer *tokenizer = end_meanwhile(&other);
    if (!has_program) {
        tnl_tokenizer_free(tokenizer);
        return false;
    }
    bar weights = {.quiet = tnt_has(a, "quiet")};
    const tnl_model_options o = {.size = sizeof o,
                                 .tokens = room ? room : (uint64_t)context,
                                 .tokenizer = tnt_value(a, "tokenizer", NULL),
                                 .weights = tnt_value(a, "weights", NULL),
                                 .no_cache = tnt_has(a, "no-cache"),
                                 .progress = show_progress,
                                 .user = &weights,
                                 .just_compiled = out->program.was_compiled,
                                 .opened = tokenizer};
    double start = tnt_now();
    tnb_status st = tnl_model_open(out->program.vm, out->program.artifact, &o, &out->model, &err);
    tnb_progress_end(weights.drawn);
    out->open_seconds = tnt_now() - start;
    if (st == TNB_OK)
        st = check_context(a, out->model, context, &err);
    if (st == TNB_OK)
        return true;
    if (!strstr(err.message, path))
        tnb_err_prefix(&err, "%s", path);
    if (st == TNB_UNSUPPORTED && strcmp(a->command->name, "bench") == 0)
        tnb_hint(&err, "leave --prompt and --generate out: they measure language models");
    tnt_complain(&err);
    tnt_language_close(out);
    return false;
}

void
tnt_language_close(tnt_language *l)
{
    tnl_model_free(l->model);
    l->model = NULL;
    tnt_program_close(&l->program);
}

/* What only draws use is an error where nothing is drawn. */
static bool
check_draws(const tnt_args *a, const tnl_sampling *s)
{
    static const char *const of_draws[] = {"seed", "top-k", "top-p", "min-p"};
    for (size_t i = 0; i < sizeof of_draws / sizeof *of_draws && s->temperature == 0; i++)
        if (tnt_has(a, of_draws[i])) {
            tnt_usage(a->command,
                      "option '--%s' has no effect: without --temperature above 0 the likeliest "
                      "token is taken each time",
                      of_draws[i]);
            return false;
        }
    return true;
}

bool
tnt_sampling(const tnt_args *a, tnl_sampling *out)
{
    int64_t k, seed;
    *out = (tnl_sampling){.size = sizeof *out};
    if (!tnt_float(a, "temperature", 0, 0, TNT_FINITE, &out->temperature) ||
        !tnt_float(a, "top-p", 1, TNT_ABOVE_0, 1, &out->top_p) ||
        !tnt_float(a, "min-p", 0, 0, 1, &out->min_p) ||
        !tnt_float(a, "repetition-penalty", 1, TNT_ABOVE_0, TNT_FINITE, &out->repetition) ||
        !tnt_float(a, "frequency-penalty", 0, 0, TNT_FINITE, &out->frequency) ||
        !tnt_float(a, "presence-penalty", 0, 0, TNT_FINITE, &out->presence) ||
        !tnt_int(a, "top-k", 0, 0, INT32_MAX, &k) || !tnt_int(a, "seed", 0, 0, INT64_MAX, &seed))
        return false;
    out->top_k = (int32_t)k;
    out->seed = (uint64_t)seed;
    /* what the library would refuse, before a model is compiled for it */
    tnb_err err = {0};
    tnl_sampler *try;
    if (tnl_sampler_new(out, 1, &try, &err) != TNB_OK) {
        tnt_usage(a->command, "%s", err.message);
        return false;
    }
    tnl_sampler_free(try);
    return !tnt_has(a, "temperature") || check_draws(a, out);
}

bool
tnt_model_sampling(const tnt_args *a, const tnl_model *m, tnl_sampling *s)
{
    const tnl_sampling *own = &tnl_model_facts_of(m)->sampling;
    const struct {
        const char *option;
        double own, *to;
    } rows[] = {{"repetition-penalty", own->repetition, &s->repetition},
                {"temperature", own->temperature, &s->temperature},
                {"top-k", own->top_k, NULL},
                {"top-p", own->top_p, &s->top_p},
                {"min-p", own->min_p, &s->min_p}};
    char told[200] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (tnt_has(a, rows[i].option) || rows[i].own == 0 || (i > 1 && s->temperature == 0))
            continue;
        if (rows[i].to)
            *rows[i].to = rows[i].own;
        else
            s->top_k = own->top_k;
        n += (size_t)snprintf(told + n, sizeof told - n, " --%s %g", rows[i].option, rows[i].own);
    }
    if (n)
        tnt_remark(a, "tenon: as the model's makers draw:%s\n", told);
    return check_draws(a, s);
}

const char **
tnt_stops(const tnt_args *a, uint32_t *n)
{
    const char **stops = tnt_values(a, "stop", n);
    for (uint32_t i = 0; stops && i < *n; i++)
        if (!*stops[i]) {
            tnt_usage(a->command, "option '--stop' needs a text, but the given one is empty");
            free(stops);
            return NULL;
        }
    return stops;
}

bool
tnt_is_text(const char *what, const char *s, size_t n)
{
    const size_t good = tnl_valid_bytes(s, n);
    if (good == n)
        return true;
    fprintf(stderr,
            "tenon: %s: byte %zu (0x%02x) is no UTF-8\n  hint: a text in another encoding is "
            "converted by iconv -f ENCODING -t UTF-8\n",
            what, good, (unsigned)(unsigned char)s[good]);
    return false;
}

bool
tnt_push_id(tnt_ids *ids, int32_t id)
{
    if (ids->n == ids->cap) {
        size_t cap = 2 * ids->cap + 256;
        int32_t *more = realloc(ids->at, cap * sizeof *more);
        if (!more)
            return false;
        ids->at = more;
        ids->cap = cap;
    }
    ids->at[ids->n++] = id;
    return true;
}

void
tnt_free_ids(tnt_ids *ids)
{
    free(ids->at);
    *ids = (tnt_ids){0};
}

/* ---- Ctrl-C ---- */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDS = sizeof ends / sizeof *ends };
static volatile sig_atomic_t interrupted;
static tnr_vm *volatile running;
static struct sigaction usual[ENDS];

static void
on_interrupt(int number)
{
    interrupted = number;
    if (running)
        tnr_vm_cancel(running);
}

void
tnt_catch_interrupt(const tnt_language *l)
{
    const struct sigaction ours = {.sa_handler = on_interrupt};
    const bool begin = l && !running, end = !l && running;
    if (l) {
        interrupted = 0;
        running = l->program.vm;
    }
    for (int i = 0; i < ENDS; i++) {
        if (begin && sigaction(ends[i], NULL, &usual[i]) == 0 && usual[i].sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &ours, NULL);
        if (end)
            (void)sigaction(ends[i], &usual[i], NULL);
    }
    if (end) {
        tnr_vm_cancel_clear(running);
        running = NULL;
    }
}

int
tnt_was_interrupted(void)
{
    return interrupted;
}

static double
rate(uint64_t n, double seconds)
{
    return seconds > 0 ? (double)n / seconds : 0;
}

void
tnt_print_speed(const tnt_args *a, const tnl_generated *r)
{
    tnt_remark(a,
               "tenon: prompt %llu tokens, %.1f a second; answer %llu tokens, %.1f a second; %s\n",
               (unsigned long long)r->prompt_tokens, rate(r->prompt_tokens, r->prompt_seconds),
               (unsigned long long)r->tokens, rate(r->tokens ? r->tokens - 1 : 0, r->seconds),
               tnl_reason_name(r->reason));
}
