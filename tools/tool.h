/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands of `tenon` share: declared options, a session (configuration, plugins,
 * context, runtime), tensors from and to files. Logic that a library user would miss does not
 * belong here.
 */
#ifndef TENON_TOOLS_TOOL_H
#define TENON_TOOLS_TOOL_H

#include <float.h>
#include <stdio.h>

#include "tenon/base/conf.h"
#include "tenon/base/plugin.h"
#include "tenon/core/registry.h"
#include "tenon/kit/driver.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

enum { TNT_OK = 0, TNT_FAILED = 1, TNT_USAGE = 2 };

/* ---- options ---- */
typedef enum tnt_option_kind {
    TNT_FLAG,
    TNT_VALUE,
    TNT_LIST /* may be repeated */
} tnt_option_kind;

typedef struct tnt_option {
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    tnt_option_kind kind;
    const char *metavar;
    const char *doc;
    const char *
        needs; /* other options, '|' between them: without any, this one has no effect; NULL: none */
    bool blank; /* a value of blanks, or none, means something */
    const char *
        without; /* other options, '|' between them: beside any, this one has no effect; NULL: none */
    bool artifact; /* one of compiling, which means something for an artifact, too */
} tnt_option;

/* The option of commands that run passes; tnt_compile_options reads it. */
#define TNT_PASS_CONFIG                                                                         \
    {                                                                                           \
        "pass-config", 0, TNT_LIST, "KEY=JSON", "configuration of passes under upstream's keys" \
    }

/* The option of commands that compile; tnt_compile_options reads it. */
#define TNT_QUANTIZE                                                                       \
    {                                                                                      \
        "quantize", 0, TNT_VALUE, "NAME",                                                  \
            "quantize a checkpoint's weights: q4f16_1, q4f32_1, q8f16, or q0f16 or q0f32 " \
            "(floats)"                                                                     \
    }
#define TNT_MCPU(otherwise)                                                               \
    {                                                                                     \
        "mcpu", 0, TNT_VALUE, "CPU",                                                      \
            "processor to compile for: native (this machine), x86-64-v3, ...; " otherwise \
    }

typedef struct tnt_args tnt_args;
typedef struct tnt_session tnt_session;

typedef struct tnt_command {
    const char *name;
    const char *operands;           /* "MODEL"; "" for none */
    const char *summary;            /* one line */
    const char *details;            /* paragraphs for the manual page */
    const tnt_option *options;      /* ends with a NULL name; the common ones come on top */
    const char *const *examples;    /* command, what it does, ..., NULL */
    int min_operands, max_operands; /* max -1: no limit */
    bool bare;                      /* works without a session: `s` is NULL */
    const char *ignores; /* common options without effect, '|' between them; NULL: none */
    /* options that have an effect beside some first operands only: "OPTION one|another", ..., NULL; NULL: none */
    const char *const *effects;
    bool loads_nothing; /* its session is opened without loading any plugin */
    int (*run)(tnt_session *s, const tnt_args *a);
} tnt_command;

extern const tnt_command *const tnt_commands[];      /* ends with NULL */
extern const tnb_static_plugin tnt_static_plugins[]; /* that the program holds; made by the build */
extern const tnt_option tnt_common_options[];

struct tnt_args {
    const tnt_command *command;
    const char **operands;
    int n_operands;
    struct tnt_given {
        const tnt_option *option;
        const char *value;
    } * given;
    int n_given;
};

/* Parses argv after the subcommand's name. TNT_USAGE after a message. */
int
tnt_parse(const tnt_command *c, int argc, char **argv, tnt_args *out);
void
tnt_args_free(tnt_args *a);
bool
tnt_has(const tnt_args *a, const char *name);
/* Whether the name `out` ends like one of `others`, NULL at the end, which promise another format than that of what is written; that is
 * said then, with what else there is to say. */
bool
tnt_is_misnamed(const tnt_args *a, const char *written, const char *out, const char *const *others,
                const char *more);
/* The last value given; `otherwise` when none. */
const char *
tnt_value(const tnt_args *a, const char *name, const char *otherwise);
/* All values; the array is malloc'ed and ends with NULL. NULL after a message. */
const char **
tnt_values(const tnt_args *a, const char *name, uint32_t *n);
/* Numbers: false after a message when the text is none or out of [lo, hi]. */
bool
tnt_int(const tnt_args *a, const char *name, int64_t otherwise, int64_t lo, int64_t hi,
        int64_t *out);
bool
tnt_float(const tnt_args *a, const char *name, double otherwise, double lo, double hi, double *out);
/* The least and the largest number of tnt_float for one that is above 0, and for one that has only to be finite. */
#define TNT_ABOVE_0 DBL_MIN
#define TNT_FINITE DBL_MAX
/* Says what is wrong with the command line; gives TNT_USAGE. */
int
tnt_usage(const tnt_command *c, const char *fmt, ...) TNB_PRINTF(2, 3);
/* The same of a word that is none of `names`: "WHAT 'word'", with the nearest of them. */
int
tnt_unknown(const tnt_command *c, const char *what, const char *word, const char *const *names,
            uint32_t n);
/* Whether an option, one of the command's or a common one, has an effect beside this first operand (NULL: beside some). */
bool
tnt_has_effect(const tnt_command *c, const tnt_option *o, const char *operand);
/* What a user may like to know, on standard error; nothing with -q. */
void
tnt_remark(const tnt_args *a, const char *fmt, ...) TNB_PRINTF(2, 3);
/* The status after a function that failed with a message: TNT_USAGE when the message was about the
 * command line, else TNT_FAILED. */
int
tnt_failure(void);

void
tnt_print_help(const tnt_command *c); /* NULL: of the program */
void
tnt_print_manual(const tnt_command *c, FILE *out); /* roff */
/* Shells: bash, zsh, fish. False: another. */
bool
tnt_print_completion(FILE *out, const char *shell);

/* ---- session ---- */
struct tnt_session {
    tnb_diags *diags; /* of configuration */
    tnb_conf *conf;
    tnb_plugins *plugins;
    tn_registry *registry;
    tn_ctx *ctx;
    tnr_runtime *runtime; /* made by tnt_runtime */
};
/* Status TNT_OK, or another after messages. */
int
tnt_session_open(const tnt_args *a, tnt_session *out);
/* The same for a look at every setting: goes on after those that are wrong, prints all of them and counts them. */
int
tnt_session_check(const tnt_args *a, tnt_session *out, uint32_t *faults);
void
tnt_session_close(tnt_session *s);
/* The runtime, made when first asked for; NULL after a message. */
tnr_runtime *
tnt_runtime(tnt_session *s, const tnt_args *a);
/* Prints what the context has recorded, and forgets it. */
void
tnt_report(tnt_session *s);
/* "tenon: message" and the hint. */
void
tnt_complain(const tnb_err *err);
/* What --verify found out, on standard error. False: passes changed functions, and none of these could be compared. */
bool
tnt_print_verify(const tnk_verify_report *r);

/* A value as a line of JSON on standard output. False after a message. */
bool
tnt_print_json(const tn_node *v);

/* ---- targets.c ---- */
/* What a target of the kind can do on this machine now, in a few words: tnt_runs_here or another text. `name`: of the target, whose
 * attributes count; NULL: those that the kind has by itself. Loads the backend and opens its device. */
extern const char tnt_runs_here[];
const char *
tnt_target_today(tnt_session *s, const tnt_args *a, const char *kind, const char *name);

/* ---- show_op.c: schemas ---- */
/* Rows of an attribute or option schema below a title; nothing without rows. */
void
tnt_print_schema(tnt_session *s, const tn_attr_schema *a, const char *title);
/* The same as a table of a page; `what` heads its first column. */
void
tnt_print_schema_table(tnt_session *s, const tn_attr_schema *a, const char *what);
/* The same as a JSON array of objects. */
const tn_node *
tnt_schema_json(tnt_session *s, const tn_attr_schema *a);
int
tnt_show_op(tnt_session *s, const char *name, bool json);
/* The reference page of all operators, and their schemas as JSON. */
int
tnt_show_ops(tnt_session *s);
int
tnt_list_ops_json(tnt_session *s);

/* ---- show_json.c: the same things as JSON ---- */
struct tnk_rule;
const tn_node *
tnt_plugin_json(tnt_session *s, const tnb_plugin *p);
const tn_node *
tnt_pass_json(tnt_session *s, const tn_pass *p);
const tn_node *
tnt_rule_json(tnt_session *s, const struct tnk_rule *r, const char *plugin);
const tn_node *
tnt_target_json(tnt_session *s, const tnk_target *t);
const tn_node *
tnt_pipeline_json(tnt_session *s, const tnk_pipeline *p);
const tn_node *
tnt_config_json(tnt_session *s);
/* An input or output of a model: name, type, dtype and shape; what is not known is null. */
const tn_node *
tnt_value_json(tnt_session *s, const char *name, const tn_type *type);
/* `whole`: the constants have their checksum. */
const tn_node *
tnt_artifact_json(tnt_session *s, const tnr_artifact *a, const char *path, bool whole);

/* ---- check_tables.c, check_driver.c: for tenon check-plugin, in its child process ---- */
/* Who hears what a plugin's tables have wrong: 'E' an error, its hint behind a TAB; 'W' a warning; 'O' what is right; 'P' what comes
 * next, should the process end. */
typedef void (*tnt_tell)(char what, const char *fmt, ...) TNB_PRINTF(2, 3);
/* One member of an entry that is wrong: "the pass 'X': .keeps is 9: HINT". */
typedef struct tnt_finder {
    tnt_tell tell;
    const char *kind, *name; /* of the entry at hand */
    uint32_t found;
} tnt_finder;
void
tnt_found(tnt_finder *f, const char *field, const char *hint, const char *fmt, ...)
    TNB_PRINTF(4, 5);
/* A number that is one of [lo, hi]; flags that are among the known ones; texts that are set, each of a list up to NULL (which may be
 * NULL itself). */
void
tnt_in_range(tnt_finder *f, const char *field, int64_t v, int64_t lo, int64_t hi);
void
tnt_known_flags(tnt_finder *f, const char *field, uint64_t v, uint64_t known);
void
tnt_no_empty_text(tnt_finder *f, const char *field, const char *const *list);
/* That the tables are there and of a believable size; to be asked before they are read. */
bool
tnt_check_spans(const tnb_plugin_head *head, bool runtime, tnt_tell tell);
/* Whether what a loaded plugin's tables say can be used: numbers, patterns, texts and the names in them, pass lists. */
bool
tnt_check_tables(tnt_session *s, const tn_plugin_desc *d, tnt_tell tell);
/* The same of a runtime plugin; its devices are counted and opened. */
bool
tnt_check_drivers(tnt_session *s, tnr_runtime *rt, const tnr_plugin_desc *d, tnt_tell tell);

/* ---- list_legalizers.c ---- */
/* Where tensor programs for an operator come from on a target: whose they are, and whose those hide. */
typedef struct tnt_legalizer {
    const char *op, *target, *plugin;
    const char *hides; /* plugins, commas between them; "": nobody's */
} tnt_legalizer;
/* Of one target, by name; of all, where it is NULL. NULL after a message. */
const tnt_legalizer *
tnt_legalizers(tnt_session *s, const char *target, uint32_t *n);

/* ---- show_cost.c ---- */
/* False: it is not for threads, or too large; nothing is printed. */
bool
tnt_show_cost(tnt_session *s, const tn_target *target, const tnk_kernel *k);

/* ---- show_placement.c ---- */
/* What of a model a target's libraries take, what its kernels, and why. */
int
tnt_show_placement(tnt_session *s, const tnt_args *a, const char *path);

/* ---- show_pages.c: reference pages, from schemas and the plugins' own lists ---- */
int
tnt_show_passes(tnt_session *s);
int
tnt_show_targets(tnt_session *s);
int
tnt_show_devices(tnt_session *s, const tnt_args *a);
/* The page of the sections and keys of INI files. */
int
tnt_show_settings(void);
/* Words for tn_pass.keeps. */
const char *
tnt_keeps_words(tn_keeps k);

/* Fills the parts of `opt` that come from common options. False after a message. */
bool
tnt_compile_options(tnt_session *s, const tnt_args *a, tnk_compile_options *opt);
/* What a device tells of itself by name, for --json: name, value and doc of each. */
const tn_node *
tnt_properties(tn_ctx *ctx, tnr_device *dev);
/* The name, or of NAME:auto a target as JSON with the attributes of the device that is present; NULL after a message. */
const char *
tnt_auto_target(tnt_session *s, const char *name);
/* Attributes for a target that is named by its kind, from the first device that is present: a Dict; NULL where there is none, or where
 * its driver does not tell any. */
const tn_node *
tnt_device_attrs(tnt_session *s, const char *kind);
/* [-t] or [tenon] default_target or "cpu": names between commas as an array in the context's arena, :auto filled in; NULL after a
 * message. */
const char **
tnt_targets(tnt_session *s, const tnt_args *a, uint32_t *n);
/* What --dim and --bind say. False after a message. */
bool
tnt_import_options(tnt_session *s, const tnt_args *a, tnk_import_options *o);
/* Reads a model with --dim NAME=N and --bind NAME=FILE applied. */
bool
tnt_import(tnt_session *s, const tnt_args *a, const char *path, tnk_model *out);
/* The same of what is to be kept: checksums of the model's files are compared. */
bool
tnt_import_checked(tnt_session *s, const tnt_args *a, const char *path, tnk_model *out);
/* Reads a TVMScript module; NULL after messages. */
const tn_module *
tnt_read(tnt_session *s, const char *path);
/* Opens a .tno, or compiles a model in memory; and makes a machine. */
typedef struct tnt_program {
    tnr_artifact *artifact;
    tnr_vm *vm;
    tnk_compile_result compiled; /* numbers and fd; fd -1 unless compiled here */
    bool was_compiled;
    bool unverified;  /* with --verify: nothing could be compared, which was said */
    uint32_t variant; /* of the artifact, that runs */
    bool native;      /* compiled here for this machine, unless the target says otherwise */
    double compile_seconds, load_seconds;
} tnt_program;
/* Whether the file is an artifact, by its name or its first bytes. */
bool
tnt_is_artifact(const char *path);
/* False after a message: an option is for a compilation, which the artifact `path` has behind it. */
bool
tnt_needs_no_compiler(const tnt_args *a, const char *path);
bool
tnt_program_open(tnt_session *s, const tnt_args *a, const char *path, tnt_program *out);
/* ---- child.c ---- */
/* As fork; the child is ended when this thread ends. */
long
tnt_fork(void);
/* A line on the terminal with what is waited for and the seconds that have passed, until tnb_progress_end; nothing with -q. */
struct tnb_progress *
tnt_wait_for(const tnt_args *a, const char *what, const tnt_program *p);
void
tnt_program_close(tnt_program *p);
/* Says that the program, of the file `path`, has no such function, and which it has. */
void
tnt_no_function(const tnt_program *p, const char *path, const char *name);
double
tnt_now(void); /* seconds */
/* The most memory that this program had at a time, in bytes: not what the one before exec had. */
uint64_t
tnt_peak_memory(void);
/* The line of --timing on what this process itself took, without compilers that it started. */
void
tnt_print_process(uint64_t constant_bytes);

/* ---- tensors and files ---- */
/* A .npy or TensorProto .pb file as a Constant; NULL after a message. */
const tn_expr *
tnt_load_tensor(tnt_session *s, const char *path);
tnb_status
tnt_to_runtime(tnr_device *dev, const tn_expr *constant, tn_ctx *ctx, tnr_value *out, tnb_err *err);
/* The extents, by symbol, that the files of -i have for inputs of the model's function (Dict, or NULL: none
 * are symbolic). Pipes, which can be read only once, are left out. False after a message. */
bool
tnt_given_extents(tnt_session *s, const tnt_args *a, const tnk_model *model, const tn_node **out);
/* A tensor value as a Constant. NULL after a message. */
const tn_expr *
tnt_from_runtime(tnt_session *s, tnr_value v);
/* ---- results.c ---- */
/* The tensors that a call gave, with their names: the fields of a tuple among them are NAME_0, NAME_1, ... False after a message. */
bool
tnt_take_results(tnt_session *s, const tnr_signature *sig, const tnr_value *ret,
                 const char ***names, const tn_expr ***results, uint32_t *n);
/* Compares them with the files of --expect, by --rtol and --atol; `tell`: says which are equal, too. TNT_OK, or another after
 * messages. */
int
tnt_compare_results(tnt_session *s, const tnt_args *a, const tn_expr *const *results,
                    const char *const *names, uint32_t n, bool tell);

/* "NAME=FILE" or "#INDEX=FILE": the index among `n` names; -1 after a message. `file` points into
 * text. */
int
tnt_assignment(const char *text, const char *const *names, uint32_t n, const char *what,
               const char **file);
/* A hint for an error of a call that had random inputs, if it has none. */
void
tnt_hint_extents(const tnt_args *a, const tnr_signature *sig, tnb_err *err);
/* Whether --seed, if it is given, draws something: inputs, as `drawn` says, or those of --verify; false after a message with the reason
 * `why` it does not. */
bool
tnt_seed_counts(const tnt_args *a, const char *why, bool drawn);
/* Arguments for a function of the artifact: from -i, or seeded random. n values, to be released. */
bool
tnt_make_inputs(tnt_session *s, const tnt_args *a, const tnt_program *p, const tnr_signature *sig,
                tnr_value **out, uint32_t *n);
/* inputs.c: whether the tensors among `args` are such as the function takes; false after a message in the model's terms. */
bool
tnt_check_inputs(tnt_session *s, const tnr_signature *sig, const tnr_value *args);
/* Tuples entered so far by somebody who shows a value: a program may nest them without end, and have
 * one item many times. Starts as zero; false, with a message, where it is too much. */
typedef struct tnt_items {
    uint32_t depth, n;
} tnt_items;
bool
tnt_enter_tuple(tnt_items *items, const tnr_tuple *t);
/* The results as a flat array of values (borrowed from `ret`). */
const tnr_value *
tnt_results(const tnr_value *ret, uint32_t *n);
/* Milliseconds, to the nanosecond. */
const tn_node *
tnt_ms(tn_ctx *ctx, double seconds);
/* Kernels and their times: an Array of Dicts with name, calls, ms and bytes. */
const tn_node *
tnt_kernels(tn_ctx *ctx, const tnr_kernel_time *t, uint32_t n);
/* The same as a table on standard error. */
void
tnt_print_kernels(const tnr_kernel_time *t, uint32_t n);

/* ---- the subcommands ---- */
extern const tnt_command tnt_command_compile, tnt_command_run, tnt_command_bench, tnt_command_opt,
    tnt_command_check, tnt_command_check_config, tnt_command_diff, tnt_command_list,
    tnt_command_show, tnt_command_onnx_test, tnt_command_doctor, tnt_command_tune,
    tnt_command_new_plugin, tnt_command_check_plugin, tnt_command_plugin, tnt_command_help;
/* Where the language models' library is built. */
extern const tnt_command tnt_command_generate, tnt_command_chat;

#endif
