/* SPDX-License-Identifier: Apache-2.0 */
/* tenon generate: text that a language model continues. */
#include "config.h"
#include "language.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/log.h"

static const tnt_option options[] = {
    {"prompt", 0, TNT_VALUE, "TEXT", "text to continue; \"\": only the token that begins a text",
     NULL, true},
    {"prompt-file", 0, TNT_VALUE, "FILE",
     "read the prompt from a file or a pipe (-: standard input)"},
    {"max-tokens", 0, TNT_VALUE, "N",
     "generate at most N tokens (default: 256; 0: until the context is full)"},
    TNT_SAMPLING_OPTIONS,
    {"stop", 0, TNT_LIST, "TEXT", "stop before this text; may be repeated", NULL, true},
    {"ignore-end", 0, TNT_FLAG, NULL, "continue after end-of-text tokens"},
    {"special", 0, TNT_FLAG, NULL, "print special tokens too"},
    {"json", 0, TNT_FLAG, NULL, "print one JSON object at the end instead of text as it comes"},
    TNT_LANGUAGE_OPTIONS,
    {0}};

enum { MOST_PROMPT = 64 << 20, USUAL_TOKENS = 256 };

typedef struct output {
    bool json;
    tnb_buf text;
    tnt_ids ids;
    tnb_progress *waiting; /* for the first token */
    bool failed;
} output;

static bool
put_text(void *user, const char *s, size_t n)
{
    output *o = user;
    if (o->json)
        tnb_buf_put(&o->text, s, n);
    else if (fwrite(s, 1, n, stdout) != n || fflush(stdout) != 0)
        o->failed = true;
    return !o->failed && !tnt_was_interrupted();
}

static bool
put_token(void *user, int32_t id)
{
    output *o = user;
    tnb_progress_end(o->waiting);
    o->waiting = NULL;
    return tnt_push_id(&o->ids, id) && !tnt_was_interrupted();
}

/* Microseconds are as fine as clocks are here. */
static const tn_node *
seconds(tnt_session *s, double x)
{
    return tn_float_imm_of(s->ctx, TNB_F64, (double)(int64_t)(x * 1e6 + 0.5) / 1e6);
}

static bool
print_json(tnt_session *s, const tnt_language *l, const output *o, const tnl_generated *r)
{
    tn_ctx *c = s->ctx;
    int64_t *ids = tnb_try_alloc_n(tn_arena(c), o->ids.n + 1, sizeof *ids);
    if (!ids || o->text.failed) {
        fputs("tenon: out of memory\n", stderr);
        return false;
    }
    for (size_t i = 0; i < o->ids.n; i++)
        ids[i] = o->ids.at[i];
    char *text = tnb_strndup(tn_arena(c), o->text.s ? o->text.s : "", o->text.n);
    const tn_node *d =
        tn_dictv(c, "text", tn_string(c, text), "tokens", tn_int_array(c, ids, (uint32_t)o->ids.n),
                 "reason", tn_string(c, tnl_reason_name(r->reason)), "prompt_tokens",
                 tn_i64(c, (int64_t)r->prompt_tokens), "prompt_seconds",
                 seconds(s, r->prompt_seconds), "seconds", seconds(s, r->seconds),
                 "compile_seconds", seconds(s, l->program.compile_seconds), "load_seconds",
                 seconds(s, l->program.load_seconds + l->open_seconds), NULL);
    return tnt_print_json(d);
}

/* The prompt's text, to be freed; NULL after a message. The end of a file's last line is not part of it. */
static char *
read_prompt(const tnt_args *a, size_t *n)
{
    const char *file = tnt_value(a, "prompt-file", NULL), *text = tnt_value(a, "prompt", NULL);
    tnb_err err = {0};
    char *s = NULL;
    if (file && tnb_read_file(file, MOST_PROMPT, &s, n, &err) != TNB_OK) {
        tnt_complain(&err);
        return NULL;
    }
    if (file && *n && s[*n - 1] == '\n')
        *n -= *n > 1 && s[*n - 2] == '\r' ? 2 : 1;
    if (!file) {
        *n = strlen(text);
        s = strdup(text);
    }
    if (!s) {
        fputs("tenon: out of memory\n", stderr);
        return NULL;
    }
    if (tnt_is_text(!file ? "--prompt" : strcmp(file, "-") == 0 ? "standard input" : file, s, *n))
        return s;
    free(s);
    return NULL;
}

static int
write_text(tnt_session *s, const tnt_args *a, const tnt_language *l, const char *prompt, size_t n,
           tnl_generate_options *opt)
{
    output out = {.json = tnt_has(a, "json")};
    tnl_generated result = {.size = sizeof result};
    tnb_err err = {0};
    int32_t *ids = NULL;
    size_t n_ids = 0;
    opt->text = put_text;
    opt->token = put_token;
    opt->user = &out;
    tnb_status st =
        tnl_encode(tnl_model_tokenizer(l->model), prompt, n, TNL_ADD_SPECIAL, &ids, &n_ids, &err);
    if (st == TNB_OK && !n_ids) {
        tnb_fail(&err, TNB_INVALID,
                 "the prompt is empty, and the tokenizer puts nothing before a text");
        tnb_hint(&err, "give a text with --prompt");
        st = TNB_INVALID;
    }
    tnt_catch_interrupt(l);
    out.waiting = tnt_wait_for(a, "reading the prompt", &l->program);
    if (st == TNB_OK)
        st = tnl_generate(l->model, 0, ids, n_ids, opt, &result, &err);
    tnb_progress_end(out.waiting);
    const int stopped = tnt_was_interrupted();
    tnt_catch_interrupt(NULL);
    if (stopped && st == TNB_CANCELLED) { /* before the first token */
        result.reason = TNL_ENDED_BY_CALLER;
        st = TNB_OK;
    }
    bool ok = st == TNB_OK && !out.failed;
    if (ok && out.json)
        ok = print_json(s, l, &out, &result);
    if (!out.json && out.ids.n && isatty(1))
        putchar('\n');
    fflush(stdout);
    if (st == TNB_OK)
        tnt_print_speed(a, &result);
    else
        tnt_complain(&err);
    free(ids);
    tnt_free_ids(&out.ids);
    tnb_buf_free(&out.text);
    if (stopped)
        raise(stopped); /* the program ends as those do that leave it to the system */
    return ok ? TNT_OK : TNT_FAILED;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    tnl_generate_options opt = {.size = sizeof opt,
                                .ignore_end = tnt_has(a, "ignore-end"),
                                .plain = tnt_has(a, "special")};
    int64_t most;
    uint32_t n_stops = 0;
    size_t n = 0;
    if (tnt_has(a, "prompt") == tnt_has(a, "prompt-file"))
        return tnt_usage(a->command,
                         tnt_has(a, "prompt")
                             ? "--prompt and --prompt-file cannot both be given"
                             : "a prompt is needed: --prompt TEXT or --prompt-file FILE");
    if (!tnt_sampling(a, &opt.sampling) ||
        !tnt_int(a, "max-tokens", USUAL_TOKENS, 0, INT32_MAX, &most))
        return TNT_USAGE;
    const char **stops = tnt_stops(a, &n_stops);
    if (!stops)
        return tnt_failure();
    opt.stops = stops;
    opt.n_stops = n_stops;
    opt.max_tokens = (uint64_t)most;
    char *prompt = read_prompt(a, &n);
    tnt_language l;
    int status = TNT_FAILED;
    if (prompt && tnt_language_open(s, a, a->operands[0], 0, &l)) {
        status = tnt_model_sampling(a, l.model, &opt.sampling)
                     ? write_text(s, a, &l, prompt, n, &opt)
                     : TNT_USAGE;
        tnt_language_close(&l);
    } else if (prompt) {
        status = tnt_failure();
    }
    free(prompt);
    free(stops);
    return status;
}

const tnt_command tnt_command_generate = {
    .name = "generate",
    .operands = "MODEL|FILE.tno",
    .summary = "generate text with a language model",
    .details =
        "MODEL is a GGUF file, a folder of transformers with config.json and safetensors, or "
        "a file of llama2.c; FILE.tno is the artifact that tenon compile makes of one.\n\n"
        "The text goes to standard output while it is generated, without the prompt; the speed "
        "goes to standard error. Without sampling options tokens are sampled as the model's "
        "generation_config.json says; where it says nothing, the most likely token is taken. "
        "Sampling applies penalties, temperature, top-k, top-p and min-p in this order. The same "
        "seed gives the same text with any number of threads.\n\n"
        "A prompt longer than the context is an error; generation ends where the context is full. "
        "Ctrl-C, SIGTERM and SIGHUP end the generation: what was generated until then is printed, "
        "with --json too.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .examples =
        (const char *const[]){
            "tenon generate model.gguf --prompt 'Once upon a time' --max-tokens 100",
            "compiles in memory and takes the most likely token each time",
            "tenon generate model.gguf --prompt-file - --temperature 0.8 --top-p 0.9 --seed 7 "
            "--json",
            "reads the prompt from a pipe and prints one JSON object", NULL},
    .run = run,
};
