/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands for language models share. */
#ifndef TENON_TOOLS_LANGUAGE_H
#define TENON_TOOLS_LANGUAGE_H

#include "tenon/lm/generate.h"
#include "tool.h"

/* Rows of a table of options: those of the model, and those of sampling. */
#define TNT_LANGUAGE_OPTIONS                                                                 \
    {"target", 't', TNT_VALUE, "NAME",                                                       \
     "target (default: cpu); with an artifact: the variants to choose from, NAME[,NAME...] " \
     "(default: [tenon] target_order)"},                                                     \
        {"context", 0, TNT_VALUE, "N",                                                       \
         "size of the cache in tokens (default: the model's context, at most 4096)"},        \
        {"tokenizer", 0, TNT_VALUE, "FILE",                                                  \
         "tokenizer.json, tokenizer.model, GGUF file or folder (default: the model's own)"}, \
        {"weights", 0, TNT_VALUE, "PATH",                                                    \
         "where an artifact's weights are (default: where they were when it was compiled)"}, \
        {"threads", 0, TNT_VALUE, "N",                                                       \
         "number of threads (default: all processors of the process)"},                      \
        TNT_QUANTIZE, TNT_MCPU("default: native"),                                           \
        {"jobs", 'j', TNT_VALUE, "N", "number of kernels to compile in parallel"},           \
    {                                                                                        \
        "no-cache", 0, TNT_FLAG, NULL,                                                       \
            "do not use the caches of kernels and of transformed weights", .artifact = true  \
    }
#define TNT_SAMPLING_OPTIONS                                                                      \
    {"temperature", 0, TNT_VALUE, "X",                                                            \
     "sampling temperature; 0 takes the most likely token (default: the model's, else 0)"},       \
        {"top-k", 0, TNT_VALUE, "N",                                                              \
         "sample from the N most likely tokens (default: the model's, else all)"},                \
        {"top-p", 0, TNT_VALUE, "X",                                                              \
         "sample from the smallest set of tokens whose probabilities sum to X (default: the "     \
         "model's, else 1)"},                                                                     \
        {"min-p", 0, TNT_VALUE, "X",                                                              \
         "sample from tokens at least X times as likely as the most likely one (default: the "    \
         "model's, else 0)"},                                                                     \
        {"repetition-penalty", 0, TNT_VALUE, "X",                                                 \
         "divide the logits of tokens that occurred before by X (default: the model's, else 1)"}, \
        {"frequency-penalty", 0, TNT_VALUE, "X",                                                  \
         "subtract X from a token's logit for each earlier occurrence (default: 0)"},             \
        {"presence-penalty", 0, TNT_VALUE, "X",                                                   \
         "subtract X from the logit of each token that occurred before (default: 0)"},            \
    {                                                                                             \
        "seed", 0, TNT_VALUE, "N", "seed of sampling (default: 0)"                                \
    }

typedef struct tnt_language {
    tnt_program program;
    tnl_model *model;
    double open_seconds; /* of weights, tokenizer and cache */
} tnt_language;

/* False after a message. `room` 0: as --context says. */
bool
tnt_language_open(tnt_session *s, const tnt_args *a, const char *path, uint64_t room,
                  tnt_language *out);
void
tnt_language_close(tnt_language *l);
/* What the options say; without them the defaults without a model. */
bool
tnt_sampling(const tnt_args *a, tnl_sampling *out);
/* Adds what the model says where no option does, and tells. False after a message: an option has no effect. */
bool
tnt_model_sampling(const tnt_args *a, const tnl_model *m, tnl_sampling *s);
/* The texts of --stop, to be freed; NULL after a message. */
const char **
tnt_stops(const tnt_args *a, uint32_t *n);

/* From now on Ctrl-C, SIGTERM and SIGHUP end the writing of the model (NULL: the program again). */
void
tnt_catch_interrupt(const tnt_language *l);
/* The signal that did since; 0: none. */
int
tnt_was_interrupted(void);

/* Whether a text of the user is UTF-8; if not, says where it stops being that. */
bool
tnt_is_text(const char *what, const char *s, size_t n);

/* Tokens as they come; {0} has none. */
typedef struct tnt_ids {
    int32_t *at;
    size_t n, cap;
} tnt_ids;
/* False without memory. */
bool
tnt_push_id(tnt_ids *ids, int32_t id);
void
tnt_free_ids(tnt_ids *ids);

/* bench_language.c */
int
tnt_bench_language(tnt_session *s, const tnt_args *a);

/* "prompt 5 tokens, 120.3 a second; answer 200 tokens, 80.1 a second; end of text" on standard error. */
void
tnt_print_speed(const tnt_args *a, const tnl_generated *r);

#endif
