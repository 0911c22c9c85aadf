/* SPDX-License-Identifier: Apache-2.0 */
/* Passes, pass lists and the pass manager.
 *
 * A pass list is text: `LegalizeOps, FuseOps{fuse_opt_level=2},
 * ApplyDefaultSchedule{rules=[Matmul,GEMV]}`. The manager gives every pass, without the pass
 * knowing: verification, timing, dumps, trace, progress, execution checks, reproducers.
 */
#ifndef TENON_CORE_PASS_H
#define TENON_CORE_PASS_H

#include "tenon/core/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pass gets. Borrowed for the run. */
typedef struct tn_pass_ctx {
    tn_ctx *ctx;
    const tn_target *target; /* NULL: none */
    const tn_node *options;  /* Dict, checked against the schema, defaults filled in; never NULL */
    const tn_node *config; /* Dict under upstream's keys ("relax.FuseOps.max_depth"); may be NULL */
    int opt_level;         /* of the run; default 2 */
    void *self;            /* of the table entry */
    void (*progress)(void *user, uint32_t done, uint32_t total); /* may be NULL */
    void *progress_user;
    void (*note)(void *user, const char *text); /* see tn_pass_note; may be NULL */
    void *note_user;
    const char *dir; /* see tn_pass_path; may be NULL */
    /* Dict: of `config` what the pass declares, checked, defaults filled in; read with tn_config_* */
    const tn_node *settings;
} tn_pass_ctx;

/* What execution checking may compare. ORDER KEEPS */
typedef enum tn_keeps {
    TN_KEEPS_BITS,       /* results are bit-equal */
    TN_KEEPS_TOLERANCE,  /* equal within tolerance (reassociation, fusion) */
    TN_KEEPS_SIGNATURES, /* functions not present on both sides with equal signatures are left out
                          */
    TN_KEEPS_NOTHING,    /* not comparable by execution */
    TN_KEEPS_HALF,       /* equal within what float16 leaves of the largest values */
    TN_KEEPS_INT8 /* float32 within what numbers of int8 leave of the largest value: 3% of it */
} tn_keeps;

/* One side of a comparison by execution: a function of a module. */
typedef struct tn_pass_side {
    const tn_module *m;
    const char *name;
} tn_pass_side;

typedef struct tn_pass {
    tnb_entry base; /* name: upstream's */
    const char *
        alias; /* another accepted name, which the manifest promises as `pass_alias:NAME`; or NULL */
    int opt_level;
    const tn_attr_schema *options; /* ends with a NULL name; may be NULL */
    /* What the pass reads of the run's configuration ("relax.FuseOps.max_depth"), ends with a NULL
     * name; may be NULL. Passes of the same key give it the same type. A key that no pass reads, and a
     * value of another type, is a mistake of whoever gives it. */
    const tn_attr_schema *config;
    tn_keeps keeps;
    unsigned flags; /* TN_PASS_* */
    /* The new module; the same pointer if nothing changed; NULL after recording an error. */
    const tn_module *(*run)(const tn_pass_ctx *pc, const tn_module *m);
    void *self;
    /* Provider kinds the manager makes available (loads plugins for) before the run: "op", "rule",
     * ... space separated; NULL: none. */
    const char *needs;
    /* For execution checking, where a function takes other parameters afterwards: makes of one function before and after the
     * pass two that have to compute the same of the same arguments. A side that is no such function as it is becomes a function
     * added to its module, which gives what a call of the original gives and uses each of its own parameters; the
     * functions that are there may not be changed, and the checker sees to both. A name that becomes NULL says that comparing
     * other functions covers this one. False: they cannot be compared; *why says so, and the function counts as not verified:
     * so it is where a pass changes on purpose what a function computes. Not set: functions are compared as they are. */
    bool (*adapt)(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after,
                  const char **why);
} tn_pass;

enum { TN_PASS_PARALLEL = 1 /* may run concurrently with itself on other contexts */ };

/* ---- pass lists ---- */
typedef struct tn_pass_item {
    const char *name;
    const tn_node *options; /* Dict as written; NULL: none */
    const char *origin;     /* where the entry comes from: "cpu plugin", "site.ini:12" */
    const char *phase;      /* "legalize"; NULL outside pipelines */
    /* Folders of the files that name options, one a line, the last file's first; NULL: none */
    const char *dir;
} tn_pass_item;
typedef struct tn_pass_list {
    tn_pass_item *at;
    uint32_t n;
} tn_pass_list;

/* Parses a list; texts go into the context's arena. `origin` is kept by pointer. False after
 * recording an error. */
TNB_EXPORT TNB_MUST_CHECK bool
tn_pass_list_parse(tn_ctx *ctx, const char *text, const char *origin, tn_pass_list *out);
TNB_EXPORT void
tn_pass_list_print(const tn_pass_list *l, tnb_buf *out);

/* The options of an item for a run over `m`: references looked up, checked against the pass's
 * schema, completed. The error node after recording an error. */
TNB_EXPORT const tn_node *
tn_pass_options(tn_ctx *ctx, const tn_pass *pass, const tn_pass_item *item, const tn_module *m);

/* What `pass` reads of a run's configuration (Dict or NULL): checked against the pass's schema,
 * completed. The error node after recording an error for each value that does not fit; `origin` says where the configuration comes
 * from ("--pass-config"), NULL: from a program. */
TNB_EXPORT const tn_node *
tn_pass_config(tn_ctx *ctx, const tn_pass *pass, const tn_node *config, const char *origin);

/* ---- running ---- */
/* Execution checking: implemented outside the core (tenon/core/eval.h), set by the driver. */
typedef struct tn_pass_check {
    void *user;
    /* Compares the modules before and after `item`; false after recording an error: one of status TNB_DIFFERS, which names
     * the pass, or one of TNB_BOUNDS, of what the module did already before. */
    bool (*compare)(void *user, tn_ctx *ctx, const tn_pass_item *item, tn_keeps keeps,
                    const tn_module *before, const tn_module *after);
} tn_pass_check;

typedef struct tn_pass_run {
    uint32_t size; /* sizeof, or 0 */
    const tn_target *target;
    const tn_node *config; /* Dict or NULL */
    int opt_level;         /* 0: default 2; -1: level 0 */
    bool no_verify;        /* skip the verifier after each pass */
    bool roundtrip;        /* print, read, print, compare: the input, and after each pass */
    /* Frees garbage between phases when it outgrows what is alive: what was made during the run and
     * is neither part of the module nor interned. What was there before stays. Nothing is freed
     * with `check`. */
    bool compact;
    const tn_pass_check *check;
    const char *dump_dir; /* modules before and after each pass as files NNN-Pass.py; NULL: none */
    uint32_t dump_first;  /* number of the input's file; above 0 the input is not written: a run
                             that goes on from another */
    const char *const *skip;  /* pass names, NULL-terminated; may be NULL */
    const char *const *print; /* print the module after these passes to stderr */
    const char *stop_after;
    const char *reproducer; /* path written when a pass fails; NULL: none */
    struct tn_trace *trace; /* Chrome trace; NULL: none */
    bool progress;          /* a bar on standard error */
    /* per item, filled if not NULL: seconds and whether the module changed */
    double *seconds;
    bool *changed;
    const char **notes;  /* what the pass told with tn_pass_note, one fact a line; NULL: nothing */
    bool compact_always; /* after each pass, for finding passes that keep pointers */
    /* With dump_dir: only these passes are written, the module before and after each; NULL: all */
    const char *const *dump_only;
    const char *config_origin; /* where `config` comes from, for messages: "--pass-config" */
} tn_pass_run;

/* Runs the list over m. NULL after recording an error; the failing pass is named in a note. */
TNB_EXPORT const tn_module *
tn_run_passes(tn_ctx *ctx, const tn_module *m, const tn_pass_list *l, tn_pass_run *run);

/* Chrome trace format, written by events. */
typedef struct tn_trace tn_trace;
TNB_EXPORT tn_trace *
tn_trace_open(const char *path, tnb_err *err);
TNB_EXPORT void
tn_trace_event(tn_trace *t, const char *category, const char *name, double start_s,
               double duration_s, int thread);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tn_trace_close(tn_trace *t, tnb_err *err);

/* ---- inside a pass ---- */
/* A fact about the run for whoever looks at it, as "main: 1024 bytes planned": shown by --timing
 * and
 * --log=info. */
TNB_EXPORT void
tn_pass_note(const tn_pass_ctx *pc, const char *fmt, ...) TNB_PRINTF(2, 3);
TNB_EXPORT int64_t
tn_option_int(const tn_pass_ctx *pc, const char *key);
TNB_EXPORT bool
tn_option_bool(const tn_pass_ctx *pc, const char *key);
TNB_EXPORT const char *
tn_option_str(const tn_pass_ctx *pc, const char *key);

/* What the run's configuration says under a key of tn_pass.config, or the schema's default. A key that the pass does not declare is
 * an error of the pass, which is recorded: NULL, 0, false. */
TNB_EXPORT const tn_node *
tn_config_value(const tn_pass_ctx *pc, const char *key);
TNB_EXPORT int64_t
tn_config_int(const tn_pass_ctx *pc, const char *key);
TNB_EXPORT bool
tn_config_bool(const tn_pass_ctx *pc, const char *key);
TNB_EXPORT const char *
tn_config_str(const tn_pass_ctx *pc, const char *key);

/* The path of a file that an option names: a relative one counts from the folder of the INI file that
 * sets the option, or another option of the pass; where no such file is there, and for options given on a command line, from the
 * current folder. */
TNB_EXPORT const char *
tn_pass_path(const tn_pass_ctx *pc, const char *path);

/* For passes that work function by function: `fn` gives the new function (same pointer: unchanged;
 * NULL: error). Runs over Functions, PrimFuncs or both. */
enum { TN_FUNCTIONS = 1, TN_PRIM_FUNCS = 2 };
TNB_EXPORT const tn_module *
tn_map_functions(const tn_pass_ctx *pc, const tn_module *m, unsigned which,
                 const tn_node *(*fn)(const tn_pass_ctx *pc, const tn_module *m, const char *name,
                                      const tn_node *func, void *user),
                 void *user);

#ifdef __cplusplus
}
#endif
#endif
