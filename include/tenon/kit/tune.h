/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: schedules that were measured, kept in a file, and used again by ApplyDefaultSchedule.
 *
 * A database is a text file of JSON objects, one a line; the first says which version of the format
 * it is. Every other line is a point that was measured, or that could not be:
 *
 *     {"tenon_tuning": 1}
 *     {"target": "cpu {...}", "function": "5f0c...", "name": "fused_matmul_relu", "rule": "cpu.Matmul",
 *      "choices": {"tile_y": 6, "tile_vectors": 2}, "threads": 2, "machine": "...", "seconds": 1.5e-05}
 *     {..., "failed": "gave another result"}
 *
 * Lines are only added. A last line without its end, as an interrupted program leaves one, does not
 * count. Keys that a version does not know are left alone.
 */
#ifndef TENON_KIT_TUNE_H
#define TENON_KIT_TUNE_H

#include "tenon/kit/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tnb_conf;

typedef struct tnk_choice {
    const char *name;
    int64_t value;
} tnk_choice;

/* ---- the database ---- */
typedef struct tnk_tuning_record {
    const char *target;   /* as tnk_tuning_target gives it */
    const char *function; /* as tnk_tuning_function gives it */
    const char *name;     /* of the function in the model that was tuned; for people */
    const char *rule;     /* "cpu.Matmul" */
    const tnk_choice *choices;
    uint32_t n_choices;
    int64_t threads;     /* it was measured with; 0: does not apply */
    const char *machine; /* it was measured on */
    double seconds;      /* of a call; below 0: it failed */
    const char *failed;  /* why; NULL: it did not */
    /* where it stands; not written */
    const char *file;
    uint32_t line;
    const char *key; /* rule and choices as one text */
} tnk_tuning_record;

typedef struct tnk_tuning tnk_tuning;
/* NULL without memory. */
TNB_EXPORT tnk_tuning *
tnk_tuning_new(void);
TNB_EXPORT void
tnk_tuning_free(tnk_tuning *t); /* NULL is fine */
/* Adds the records of a file. An error names file and line. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_tuning_read(tnk_tuning *t, const char *path, tnb_err *err);
TNB_EXPORT uint32_t
tnk_tuning_count(const tnk_tuning *t);
TNB_EXPORT const tnk_tuning_record *
tnk_tuning_get(const tnk_tuning *t, uint32_t i);
/* The fastest schedule of a function. Times of different machines or counts of threads cannot be
 * compared: those of the machine and the count that come last count, of `threads` threads if
 * there are any; of a schedule that was measured more than once, the last. NULL: none. */
TNB_EXPORT const tnk_tuning_record *
tnk_tuning_best(const tnk_tuning *t, const char *target, const char *function, int64_t threads);
/* Adds a record to a file, which is made if need be, at once and whole; what an interrupted program
 * left of a last line goes. Several processes may add to one file. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_tuning_append(const char *path, const tnk_tuning_record *r, tnb_err *err);

/* What records call a tensor program that is not scheduled yet: 16 hexadecimal digits, a hash of
 * its structure that no name takes part in. NULL without memory. In the context's arena. */
TNB_EXPORT const char *
tnk_tuning_function(tn_ctx *ctx, const tn_node *prim_func);
/* And a target: its kind and what of its attributes schedules may depend on. */
TNB_EXPORT const char *
tnk_tuning_target(tn_ctx *ctx, const tn_target *target);

/* The files that compilations read: [tenon] tuning_db, or, where it is not set, those of the two
 * that exist: $(datadir)/tenon/tuning.jsonl and the user's $XDG_DATA_HOME/tenon/tuning.jsonl. The
 * array is in the context's arena. */
TNB_EXPORT const char **
tnk_tuning_files(tn_ctx *ctx, const struct tnb_conf *conf, uint32_t *n);
/* The one that tuning adds to: the last of [tenon] tuning_db, or the user's. NULL: none is known. */
TNB_EXPORT const char *
tnk_tuning_output(tn_ctx *ctx, const struct tnb_conf *conf);

/* ---- trying schedules ---- */
/* A parameter that a rule asked for. */
typedef struct tnk_asked {
    const char *name;
    const int64_t *options;
    uint32_t n;
    int64_t preferred, value; /* what it got */
} tnk_asked;

/* One application of a rule, with a say in its parameters. */
typedef struct tnk_trial {
    /* For the first question of a name; what is none of the options stands for the preferred value.
     * NULL: `choices` say it, and the preferred value is taken for others. */
    int64_t (*pick)(void *user, const tnk_asked *q, uint32_t i);
    void *user;
    const tnk_choice *choices;
    uint32_t n_choices;
    /* filled in, in the context's arena */
    tnk_asked *asked;
    uint32_t n_asked;
} tnk_trial;
/* The scheduled function. NULL: the rule does not take it so, or an error was recorded. */
TNB_EXPORT const tn_node *
tnk_trial_run(tn_ctx *ctx, const tnk_rule *rule, const tn_node *prim_func, const tn_target *target,
              tnk_trial *t);
/* Whether every one of `choices` was asked for and taken. */
TNB_EXPORT bool
tnk_trial_followed(const tnk_trial *t);

/* A rule by its name in a pass list: a name with a dot is the rule's own; "Matmul" is looked for as that of the target
 * (cpu.Matmul), then of each of its keys (gpu.Matmul). NULL after recording an error. */
TNB_EXPORT const tnk_rule *
tnk_find_rule(tn_ctx *ctx, const tn_target *target, const char *name);

/* ---- searching ---- */
typedef struct tnk_search tnk_search;
typedef struct tnk_candidate {
    const tnk_rule *rule;
    const tnk_choice *choices; /* all parameters that were asked for */
    uint32_t n_choices;
    const char *key; /* rule and choices as one text, as a record has it */
    uint64_t code;   /* hash of the scheduled function: equal ones are the same program */
} tnk_candidate;

/* The schedules of a function under rules that are tried in this order. All points are enumerated
 * if they are at most `small`; else there are random ones first, then changes of the fastest.
 * Everything lives in the context's arena. NULL: no rule takes the function, or an error. */
TNB_EXPORT tnk_search *
tnk_search_new(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target,
               const tnk_rule *const *rules, uint32_t n_rules, uint32_t small, uint64_t seed);
/* What the rules prefer. */
TNB_EXPORT const tnk_candidate *
tnk_search_default(const tnk_search *s);
/* How many schedules there are with the default; 0: more than `small`. */
TNB_EXPORT uint32_t
tnk_search_size(const tnk_search *s);
/* One that was neither given nor known before, the default not among them. NULL: none is found. */
TNB_EXPORT const tnk_candidate *
tnk_search_next(tnk_search *s);
/* The schedule of a record, which is not given any more. NULL: the rules do not make it. */
TNB_EXPORT const tnk_candidate *
tnk_search_know(tnk_search *s, const tnk_tuning_record *r);
/* What measuring said; below 0: it failed. */
TNB_EXPORT void
tnk_search_tell(tnk_search *s, const tnk_candidate *c, double seconds);
/* How many points were told, each counted once; `failed` may be NULL. */
TNB_EXPORT uint32_t
tnk_search_told(const tnk_search *s, uint32_t *failed);
/* The fastest of what was told; NULL: nothing was measured. `seconds` may be NULL. */
TNB_EXPORT const tnk_candidate *
tnk_search_fastest(const tnk_search *s, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
