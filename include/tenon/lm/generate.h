/* SPDX-License-Identifier: Apache-2.0 */
/* Language models that Tenon has compiled: their functions, weights and cache as one thing, and the loop that writes text.
 *
 *     tnl_model *m;                        tnl_model_open(vm, artifact, NULL, &m, &err)
 *     tnl_generate(m, 0, ids, n, &options, &result, &err)
 *     tnl_model_free(m)
 *
 * An artifact of a language model has the functions embed, prefill, decode and create_paged_kv_cache (of a recurrent one create_rnn_state), as
 * MLC-LLM exports them, and describes the model in its metadata (docs/llm.md). A model is used by the thread of its machine. Wrong arguments are
 * TNB_INVALID, as in tenon/rt/vm.h. */
#ifndef TENON_LM_GENERATE_H
#define TENON_LM_GENERATE_H

#include "tenon/lm/sample.h"
#include "tenon/lm/tokenizer.h"
#include "tenon/rt/vm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnl_model tnl_model;

typedef struct tnl_model_options {
    uint32_t size;      /* sizeof, or 0 */
    uint32_t sequences; /* at once; 0: 1 */
    uint64_t
        tokens; /* that the cache holds, of all sequences; 0, or more than the model's context for each: so many */
    uint32_t chunk; /* tokens of a step of prefill; 0: 512 */
    const char *
        weights; /* where the weights' files are: tnr_params_options.path; NULL: where the artifact says. Borrowed */
    const char *
        tokenizer; /* a file or folder for tnl_tokenizer_open; NULL: the one that the artifact names, or one of its name with the weights or
                      beside the artifact. Borrowed */
    /* As of tnr_params_options */
    bool no_cache;
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
    bool just_compiled; /* as of tnr_params_options */
    /* The tokenizer where the caller has opened it already, in another thread for example: tnl_model_open takes it, also when it fails with another error than TNB_ABI. NULL:
       it is opened as `tokenizer` says */
    tnl_tokenizer *opened;
} tnl_model_options;

/* What the artifact says of the model. */
typedef struct tnl_model_facts {
    int64_t context;     /* tokens that the model was made for; 0: not said */
    int64_t vocabulary;  /* logits of a step */
    int64_t window;      /* tokens that attention sees, where fewer than all; 0: all */
    const int32_t *stop; /* tokens that end a text */
    uint32_t n_stop;
    uint64_t
        cache_tokens; /* that the cache has room for; of a recurrent model, which needs none, a bound */
    uint64_t cache_bytes;
    uint64_t weight_bytes; /* of the weights in their files; 0: the artifact has them itself */
    /* How the model's makers draw tokens (generation_config.json of a checkpoint); temperature 0, the likeliest, where they say nothing.
     * For the caller to use: tnl_generate takes what its options say. */
    tnl_sampling sampling;
} tnl_model_facts;

/* Opens weights and tokenizer and makes the cache; all memory that generating takes is there then, but that of a step. The
 * artifact is that of the machine; both are borrowed and outlive the model, which is the caller's, to be given to tnl_model_free.
 * TNB_UNSUPPORTED: no language model (the hint says what it lacks); TNB_DIFFERS: the tokenizer of another model; else as tnr_params_open, tnl_tokenizer_open, tnr_vm_call. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_model_open(tnr_vm *vm, const tnr_artifact *a, const tnl_model_options *opt, tnl_model **out,
               tnb_err *err);
TNB_EXPORT void
tnl_model_free(tnl_model *m); /* NULL is fine */
/* Borrowed; never NULL for a model. */
TNB_EXPORT const tnl_tokenizer *
tnl_model_tokenizer(const tnl_model *m);
TNB_EXPORT const tnl_model_facts *
tnl_model_facts_of(const tnl_model *m);
/* Whether the token ends a text of this model. */
TNB_EXPORT bool
tnl_model_stops(const tnl_model *m, int32_t token);

/* ---- sequences ---- */
/* A sequence, any number >= 0, is there from the first tokens that are appended to it. Appends n >= 1 tokens, in chunks, and gives
 * the logits behind the last one (tnl_model_facts.vocabulary of them; NULL: not wanted). TNB_BOUNDS: an id outside of the
 * vocabulary, or more tokens than the cache or the model's context have room for; nothing is appended then. After another
 * error, TNB_CANCELLED too, the sequence has the tokens of the chunks before. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_model_append(tnl_model *m, int64_t sequence, const int32_t *ids, size_t n, float *logits,
                 tnb_err *err);
/* Its tokens; 0: none, or no such sequence. */
TNB_EXPORT int64_t
tnl_model_length(const tnl_model *m, int64_t sequence);
/* Forgets the sequence from its token `length` on; 0 forgets it. TNB_UNSUPPORTED: tokens that would be seen again have left a window, or the
 * model is recurrent and its state cannot go back so far; nothing changed. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_model_cut(tnl_model *m, int64_t sequence, int64_t length, tnb_err *err);

/* ---- writing ---- */
typedef struct tnl_generate_options {
    uint32_t size; /* sizeof, or 0 */
    uint32_t n_stops;
    tnl_sampling sampling;
    uint64_t max_tokens;      /* at most so many new ones; 0: as many as there is room for */
    const char *const *stops; /* texts: writing ends before the first that appears */
    bool ignore_end;          /* go on behind tokens that end a text */
    bool plain;               /* with the text of special tokens */
    bool keep_sequence;       /* leave the tokens in the cache, for more of the same conversation */
    bool reserved;
    /* Text as it comes, whole characters; none of it is part of a stop text. False: end. NULL: not wanted */
    bool (*text)(void *user, const char *s, size_t n);
    /* Each new token, before its text. False: end. NULL: not wanted */
    bool (*token)(void *user, int32_t id);
    void *user;
} tnl_generate_options;

typedef enum tnl_reason {
    TNL_ENDED_BY_TOKEN, /* one that ends a text */
    TNL_ENDED_BY_TEXT,  /* one of `stops` */
    TNL_ENDED_BY_COUNT, /* max_tokens */
    TNL_ENDED_BY_ROOM,  /* the context or the cache is full */
    TNL_ENDED_BY_CALLER
} tnl_reason;
/* "end of text", "stop text", ...; never NULL. */
TNB_EXPORT const char *
tnl_reason_name(tnl_reason r);

typedef struct tnl_generated {
    uint32_t size; /* sizeof, or 0 */
    tnl_reason reason;
    uint64_t prompt_tokens, tokens; /* tokens: new ones, a token that ended the text among them */
    double prompt_seconds;          /* until the first new token was chosen */
    double seconds;                 /* from then on */
} tnl_generated;

/* Appends the prompt, n >= 1 tokens, to the sequence and writes on. The random numbers are those of sampling.seed,
 * the sequence and the number of the token in it, so that neither chunks nor what was written beside it matter. result may be
 * NULL; it is filled after TNB_OK. tnr_vm_cancel ends the writing as a false from `text` does, before the first token with
 * TNB_CANCELLED. Errors as of tnl_model_append, tnl_sampler_new, tnl_sample. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_generate(tnl_model *m, int64_t sequence, const int32_t *prompt, size_t n,
             const tnl_generate_options *opt, tnl_generated *result, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
