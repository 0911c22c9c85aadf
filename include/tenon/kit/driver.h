/* SPDX-License-Identifier: Apache-2.0 */
/* A whole compilation: model -> profile -> pipeline phases of a target -> kernels -> artifact.
 *
 *     tnk_model model;                        tnk_import(ctx, "model.onnx", NULL, &model)
 *     tnk_compile_options opt = {.conf = conf, .targets = targets, .n_targets = 1, .output = "model.tno"};
 *     tnk_compile_result result;              tnk_compile(ctx, &model, &opt, &result)
 *
 * Errors are recorded in the context. Same input and options give the same bytes, whatever `jobs` and the cache's state.
 */
#ifndef TENON_KIT_DRIVER_H
#define TENON_KIT_DRIVER_H

#include "tenon/kit/codegen.h"
#include "tenon/kit/importer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tnb_conf; /* tenon/base/conf.h */

/* ---- targets ---- */
typedef struct tnk_target {
    const char *name;        /* as the user calls it: a section's name, a kind, a tag, or "json" */
    const tn_target *target; /* attributes complete, `native` resolved */
    const tn_target_kind *kind; /* the backend that serves it */
} tnk_target;
/* text: a [target NAME], a kind, an upstream tag, or a JSON target. conf may be NULL. False after
 * recording an error. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_target_find(tn_ctx *ctx, const struct tnb_conf *conf, const char *text, tnk_target *out);
/* The same with attributes beside those that the text stands for, each a Dict or NULL: `over` in their place, `usual` where they
 * say nothing. Those that the kind does not know are left out. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_target_find_with(tn_ctx *ctx, const struct tnb_conf *conf, const char *text,
                     const tn_node *over, const tn_node *usual, tnk_target *out);

/* ---- pipelines ---- */
/* ORDER PHASE */
typedef enum tnk_phase {
    TNK_LIBRARY_DISPATCH,
    TNK_LEGALIZE,
    TNK_FINALIZE,
    TNK_LOWER,
    TNK_N_PHASES
} tnk_phase;
TNB_EXPORT const char *
tnk_phase_name(tnk_phase p);

/* The effective lists of a target, after the edits of [pipeline NAME] (the section's name, then the
 * kind it serves), of the profile, and the options of [pass NAME]. Every entry keeps its origin:
 * "cpu plugin", "site.ini:12". */
typedef struct tnk_pipeline {
    tn_pass_list phases[TNK_N_PHASES];
    /* passes that a `drop` or a replaced phase took out, with the origin of the edit as `origin`;
     * for `show pipeline` */
    tn_pass_list dropped;
} tnk_pipeline;
TNB_EXPORT bool
tnk_pipeline_make(tn_ctx *ctx, const struct tnb_conf *conf, const tnk_target *t,
                  const char *profile, tnk_pipeline *out);

/* `list` with the lists of tenon/kit/lists.h in the place of their names, and "@pipeline", "@library_dispatch", "@legalize",
 * "@finalize" and "@lower" replaced by what the pipeline has there. False after recording an error: an '@' name that is none
 * of these, or p NULL (no target) where one is needed. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_pass_list_expand(tn_ctx *ctx, const tnk_pipeline *p, tn_pass_list *list);

/* Completes the items of a list that a user wrote with the options of [pass NAME]; what an item says
 * itself stays. False after recording an error: a value that cannot be read. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_pass_list_configure(tn_ctx *ctx, const struct tnb_conf *conf, tn_pass_list *list);

/* `config` (may be NULL) with what the site's configuration says to all passes: "tenon.fallback",
 * and the databases of measured schedules, "tenon.tuning_db" and "tenon.tuning_threads". */
TNB_EXPORT const tn_node *
tnk_pass_config(tn_ctx *ctx, const struct tnb_conf *conf, const tn_node *config);

/* Records a warning for each section of the configuration that names a pass, target, device or plugin
 * which nobody provides, and for each other name of a plugin there, as it has no effect; and errors for
 * attributes in [target NAME] sections of users that the target's kind does not know. Targets and plugins
 * of packages and sites may speak of what is not installed. */
TNB_EXPORT void
tnk_check_sections(tn_ctx *ctx, const struct tnb_conf *conf);

/* Looks at every setting, whether something would use it or not, and uses none: what tnk_check_sections does, and values of
 * [tenon], digests, every target and tag whose backend is there, every pass list of pipelines and profiles with the options in it,
 * every [pass NAME]. Records an error or a warning, with file and line, for each that is wrong. */
TNB_EXPORT void
tnk_check_settings(tn_ctx *ctx, const struct tnb_conf *conf);

/* Records an error for each key of `config` (Dict, may be NULL) that no pass reads, whose value is not of the type that passes
 * declare (tn_pass.config), or that changes what the site has locked, and a warning for each that none of the list reads.
 * `origin` as tn_pass_config takes it. `t`: whose pipeline the list is; NULL: nobody's. False after an error. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_check_config(tn_ctx *ctx, const struct tnb_conf *conf, const tnk_target *t,
                 const tn_node *config, const char *origin, const tn_pass_list *list);

/* Gives the context the limits of the configuration (NULL: keeps those it has). tnk_compile does it
 * too; done before, it holds for reading the model as well. */
TNB_EXPORT void
tnk_set_limits(tn_ctx *ctx, const struct tnb_conf *conf);

/* What becomes of a compiled model: one file for the runtime, or what programs without a loader link (tenon/kit/aot.h):
 * PREFIX.c, one C file or more of kernels, one of constants, and PREFIX.flags with the compiler's options; objects of them; a static
 * library libPREFIX.a. PREFIX.h and tenon_aot.h always. */
typedef enum tnk_emit {
    TNK_EMIT_ARTIFACT,
    TNK_EMIT_C,
    TNK_EMIT_OBJECTS,
    TNK_EMIT_STATIC_LIBRARY
} tnk_emit;

/* ---- compilation ---- */
typedef struct tnk_compile_options {
    uint32_t size;               /* sizeof, or 0 */
    const struct tnb_conf *conf; /* NULL: built-in defaults only */
    const char *const *targets;  /* texts; each becomes a variant, in this order */
    uint32_t n_targets;
    const char *profile;   /* NULL: the model's own */
    const char *output;    /* path of the .tno, written beside and renamed; NULL: an anonymous file
                              (result.fd) */
    int jobs;              /* 0: [tenon] threads, or all processors */
    const char *cache_dir; /* of generated kernels, as tnb_cache_dir takes it ("": the usual one);
                              NULL: no cache */
    /* pass configuration under upstream's keys; Dict or NULL. Unknown keys and values of another type are errors
     * (tnk_check_config). */
    const tn_node *config;
    int opt_level;
    /* --verify: every pass is executed before and after on the evaluator `interp` */
    bool verify;
    uint64_t verify_budget;          /* scalar operations a function and pass; 0: 10^9 */
    double verify_rtol, verify_atol; /* 0: 1e-3 and 1e-5; more where a module computes in a float
                                        dtype narrower than float32 */
    uint64_t seed;
    /* debugging, as in tn_pass_run */
    bool no_verify_ir, roundtrip, progress, keep_source;
    bool compact; /* after each pass; else between phases, when it pays */
    const char *dump_dir, *stop_after, *reproducer;
    const char *const *skip, *const *print;
    struct tn_trace *trace;
    const char *const *dump_only; /* with dump_dir: only these passes; see tn_pass_run */
    uint64_t cache_bytes; /* above which the cache loses what was not used for longest; 0: 2 GiB */
    /* The module is the output of that pass: the pipeline up to and including the last pass of this
     * name is skipped. NULL: the whole pipeline runs. */
    const char *start_after;
    const tn_node *verify_extents; /* as tnk_verify_extents takes them; NULL: all are drawn */
    /* What is written; other than an artifact for one target only, whose code generator makes C, and `output` is then a folder,
     * which is made if need be. */
    tnk_emit emit;
    const char *prefix; /* of every symbol and file there: a C identifier */
    /* Attributes of targets, as tnk_target_find_with takes them. One of `target_attrs` that no target knows, or that the site has
     * locked, is an error. */
    const tn_node *target_attrs, *usual_attrs;
    const char *config_origin; /* where `config` comes from, for messages: "--pass-config" */
} tnk_compile_options;

typedef struct tnk_stage_time {
    const char *name; /* "import", "legalize", "cpu: kernels", "write" */
    double seconds;
} tnk_stage_time;

/* What executing modules before and after passes came to. */
typedef struct tnk_verify_report {
    uint32_t verified;             /* functions compared, over all passes */
    uint64_t longest;              /* scalar operations of the longest run */
    const char *const *unverified; /* what a budget or a pass left unverified, a line each */
    uint32_t n_unverified;
    bool out_of_budget; /* some of them for want of operations: a larger budget may verify them */
} tnk_verify_report;

/* In the context's arena, except the descriptor. */
typedef struct tnk_compile_result {
    int fd;         /* without `output`: the artifact, to be closed by the caller; else -1 */
    uint64_t bytes; /* size of the artifact */
    const tn_module *const *modules;  /* per target: the finalized module */
    const tnk_kernel *const *kernels; /* per target: an array */
    const uint32_t *n_kernels;
    uint32_t n_targets;
    const tnk_stage_time *times;
    uint32_t n_times;
    double compiler_seconds; /* in external compilers (wall time) */
    uint32_t cache_hits, cache_misses;
    uint64_t constant_bytes;
    tnk_verify_report verify; /* with `verify` */
} tnk_compile_result;

TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_compile(tn_ctx *ctx, const tnk_model *model, const tnk_compile_options *opt,
            tnk_compile_result *out);

/* Runs phases [first, last] of a pipeline over m. NULL after recording an error, also of a key of opt's `config` that no pass reads.
 * For tools that stop half way. */
TNB_EXPORT const tn_module *
tnk_run_phases(tn_ctx *ctx, const tn_module *m, const tnk_target *t, const tnk_pipeline *p,
               tnk_phase first, tnk_phase last, const tnk_compile_options *opt);

/* ---- execution checking of passes ---- */
typedef struct tnk_verify tnk_verify;
/* For tn_pass_run.check. In the context's arena. */
TNB_EXPORT tnk_verify *
tnk_verify_new(tn_ctx *ctx, uint64_t budget, double rtol, double atol, uint64_t seed);
/* Extents of the arguments by the name of their symbol (Dict to ints; NULL: all are drawn), for functions
 * that take them. */
TNB_EXPORT void
tnk_verify_extents(tnk_verify *v, const tn_node *extents);
TNB_EXPORT const tn_pass_check *
tnk_verify_check(tnk_verify *v);
TNB_EXPORT tnk_verify_report
tnk_verify_result(const tnk_verify *v); /* so far */

#ifdef __cplusplus
}
#endif
#endif
