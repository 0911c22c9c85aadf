/* SPDX-License-Identifier: Apache-2.0 */
/* tenon opt: runs passes over a model or a TVMScript module. tenon check: reads and verifies one. */
#include "tool.h"

#include <stdlib.h>

#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

static bool
write_module(tnt_session *s, const tn_module *m, const char *path)
{
    tnb_buf b = {0};
    tnb_err err = {0};
    tn_print_options o = {.inline_constants = strcmp(path, "-") == 0};
    if (!o.inline_constants)
        o.sidecar = tn_strf(s->ctx, "%s.consts", path);
    tnb_status st = tn_print(s->ctx, TN_NODE(m), &o, &b);
    if (st == TNB_OK && strcmp(path, "-") == 0)
        fwrite(b.s, 1, b.n, stdout);
    else if (st == TNB_OK)
        st = tnb_write_file(path, b.s, b.n, &err);
    else if (!tnb_diags_errors(tn_diags(s->ctx)))
        tnb_fail(&err, st, "cannot print the module: %s", tnb_status_name(st));
    if (err.status != TNB_OK)
        tnt_complain(&err);
    tnt_report(s);
    tnb_buf_free(&b);
    return st == TNB_OK;
}

/* The time of each pass, and under it what the pass had to tell. */
static void
print_timing(const tn_pass_list *list, const double *seconds, const bool *changed,
             const char *const *notes)
{
    for (uint32_t i = 0; i < list->n; i++) {
        fprintf(stderr, "%9.3f ms  %s%s\n", 1e3 * seconds[i], list->at[i].name,
                changed[i] ? "" : "  (no change)");
        for (const char *line = notes[i]; line && *line;) {
            size_t n = strcspn(line, "\n");
            fprintf(stderr, "              %.*s\n", (int)n, line);
            line += n + (line[n] == '\n');
        }
    }
}

/* A module as text under whatever name, or a model that an importer knows. False after messages. */
static bool
read_input(tnt_session *s, const tnt_args *a, const char *path, tnk_model *out)
{
    bool text =
        !tnb_ends_with(path, ".py") && !tnt_is_artifact(path) && !tnk_find_importer(s->ctx, path);
    tnb_diags_clear(tn_diags(s->ctx));
    if (!text || tnt_has(a, "dim") || tnt_has(a, "bind"))
        return tnt_import(s, a, path, out);
    memset(out, 0, sizeof *out);
    return (out->module = tnt_read(s, path)) != NULL;
}

/* Names that promise another format than text. */
static const char *const no_text[] = {".tno", ".so",   ".a",   ".o",  ".c",    ".h",
                                      ".exe", ".onnx", ".npy", ".pb", ".json", NULL};

static int
run_opt(tnt_session *s, const tnt_args *a)
{
    const char *list_text = tnt_value(a, "passes", tnt_has(a, "target") ? "@pipeline" : NULL);
    if (!list_text)
        return tnt_usage(a->command, "no passes given: add -p LIST, or -t TARGET for all passes of "
                                     "a target");
    if (tnt_is_misnamed(a, "TVMScript text is written", tnt_value(a, "output", ""), no_text,
                        "tenon compile writes artifacts"))
        return TNT_USAGE;
    tnk_model model;
    tnk_compile_options opt;
    if (!read_input(s, a, a->operands[0], &model) || !tnt_compile_options(s, a, &opt))
        return tnt_failure();
    const tn_module *m = model.module;
    tnk_target target = {0};
    if (tnt_has(a, "target") && !tnk_target_find(s->ctx, s->conf, opt.targets[0], &target)) {
        tnt_report(s);
        return TNT_FAILED;
    }
    tn_pass_list list;
    int64_t level;
    if (!tnt_int(a, "opt-level", 2, 0, 4, &level))
        return TNT_USAGE;
    const char *profile = opt.profile ? opt.profile : model.profile;
    tnk_pipeline pipeline;
    if (!tn_pass_list_parse(s->ctx, list_text, "-p", &list) ||
        (target.kind && !tnk_pipeline_make(s->ctx, s->conf, &target, profile, &pipeline)) ||
        !tnk_pass_list_expand(s->ctx, target.kind ? &pipeline : NULL, &list) ||
        !tnk_pass_list_configure(s->ctx, s->conf, &list) ||
        !tnk_check_config(s->ctx, s->conf, target.kind ? &target : NULL, opt.config,
                          opt.config_origin, &list)) {
        tnt_report(s);
        return TNT_FAILED;
    }
    tnk_verify *check = NULL;
    if (opt.verify && tn_verify_reads(s->ctx, m)) {
        tnt_report(s);
        return TNT_FAILED;
    }
    if (opt.verify)
        check = tnk_verify_new(s->ctx, opt.verify_budget, 0, 0, opt.seed);
    double *seconds = TNB_NEW_N(tn_arena(s->ctx), double, list.n + 1);
    bool *changed = TNB_NEW_N(tn_arena(s->ctx), bool, list.n + 1);
    const char **notes = TNB_NEW_N(tn_arena(s->ctx), const char *, list.n + 1);
    tn_pass_run run = {.target = target.target,
                       .config = tnk_pass_config(s->ctx, s->conf, opt.config),
                       .config_origin = opt.config_origin,
                       .opt_level = level ? (int)level : -1,
                       .no_verify = opt.no_verify_ir,
                       .roundtrip = opt.roundtrip,
                       .compact = true,
                       .compact_always = opt.compact,
                       .check = check ? tnk_verify_check(check) : NULL,
                       .dump_dir = opt.dump_dir,
                       .dump_only = opt.dump_only,
                       .skip = opt.skip,
                       .print = opt.print,
                       .stop_after = opt.stop_after,
                       .reproducer = opt.reproducer,
                       .trace = opt.trace,
                       .progress = opt.progress,
                       .seconds = seconds,
                       .changed = changed,
                       .notes = notes};
    m = tn_run_passes(s->ctx, m, &list, &run);
    tnt_report(s);
    tnb_err err = {0};
    bool traced = !opt.trace || tn_trace_close(opt.trace, &err) == TNB_OK;
    if (!traced)
        tnt_complain(&err);
    if (tnt_has(a, "timing"))
        print_timing(&list, seconds, changed, notes);
    bool verified = true;
    if (check) {
        tnk_verify_report result = tnk_verify_result(check);
        verified = tnt_print_verify(&result);
    }
    bool written = m && write_module(s, m, tnt_value(a, "output", "-"));
    return written && verified && traced ? TNT_OK : TNT_FAILED;
}

static int
run_check(tnt_session *s, const tnt_args *a)
{
    int status = TNT_OK;
    for (int i = 0; i < a->n_operands; i++) {
        const tn_module *m = tnt_read(s, a->operands[i]);
        uint32_t errors = m ? tn_verify(s->ctx, m) : 1;
        errors = errors ? errors : tn_verify_reads(s->ctx, m);
        tnt_report(s);
        if (errors)
            status = TNT_FAILED;
        else
            printf("%s: %u functions, well formed\n", a->operands[i], m->names.n);
    }
    return status;
}

static const tnt_option opt_options[] = {
    {"passes", 'p', TNT_VALUE, "LIST",
     "comma-separated passes, Name or Name{option=value, ...}; @pipeline, @PHASE: the target's "
     "passes (default with -t: @pipeline)",
     NULL, true},
    {"target", 't', TNT_VALUE, "NAME", "current target of the passes"},
    {"output", 'o', TNT_VALUE, "FILE.py", "output file (default: standard output)"},
    TNT_PASS_CONFIG,
    {"opt-level", 0, TNT_VALUE, "N", "skip passes above this optimization level (default 2)"},
    {"verify", 0, TNT_FLAG, NULL, "execute the module before and after each pass and compare"},
    {"verify-budget", 0, TNT_VALUE, "N",
     "limit on scalar operations per function and pass (default 1e9)", "verify"},
    {"dump-ir", 0, TNT_VALUE, "DIR", "dump the module before and after each pass into this folder"},
    {"dump-only", 0, TNT_VALUE, "PASS[,PASS]",
     "with --dump-ir: dump only before and after these passes", "dump-ir"},
    {"reproducer", 0, TNT_VALUE, "FILE.py",
     "on a failing pass: write the module and the remaining passes here"},
    {"trace", 0, TNT_VALUE, "FILE.json", "write timings in Chrome trace format"},
    {"timing", 0, TNT_FLAG, NULL, "print the time of each pass to standard error"},
    {"seed", 0, TNT_VALUE, "N", "seed of the random inputs of --verify", "verify"},
    {0}};

const tnt_command tnt_command_opt = {
    .name = "opt",
    .operands = "IN.py|MODEL",
    .summary = "run passes over a module or model",
    .details =
        "Prints the resulting module. A reproducer written by a failed compilation is such "
        "a module, with its remaining "
        "passes in the first line.\n\n"
        "A schedule can be written and read as text, a trace: -p "
        "'ApplyDefaultSchedule{rules=[Matmul,Fallback],trace=\"FILE\"}' writes what the rules "
        "do (to \"-\": standard output), -p 'ApplyScheduleTrace{trace=\"FILE\"}' does what a "
        "file says. One primitive a line, '#' begins a comment, 'function NAME' says to which "
        "tensor program the lines after it apply:\n\n"
        "  function matmul\n"
        "  split(T_matmul, ax1, 8)\n"
        "  split(T_matmul, k, [-1, 4])\n"
        "  reorder(T_matmul, ax1_0, k_0, ax1_1, k_1)\n"
        "  parallel(T_matmul, ax0)\n"
        "  blockize(T_matmul, ax1_1)\n"
        "  tensorize(T_matmul_o, \"dot_4x8\")\n\n"
        "The first operand is a block; loops are named as those around it, buffers as those that "
        "it accesses; NAME#1 is the second of that name. Tensor intrinsics come from plugins, or "
        "from a module with the functions dot_4x8_desc (what it means) and dot_4x8_impl: "
        "ApplyScheduleTrace{trace=\"FILE\",intrinsics=\"dot.py\"}. A primitive that is not legal "
        "is an error that says why, with its line. docs/configuration.md lists the primitives.",
    .options = opt_options,
    .min_operands = 1,
    .max_operands = 1,
    .examples =
        (const char *const[]){
            "tenon opt model.py -t cpu -p @legalize --verify -o after.py",
            "a phase of a target's pipeline, checked by running the module before and after each "
            "pass",
            "tenon opt model.onnx -t cuda -o after.py", "the whole pipeline of a target",
            "tenon opt model.py -p LegalizeOps,FuseOps{fuse_opt_level=0} --timing",
            "two passes, with their times", NULL},
    .run = run_opt,
};

const tnt_command tnt_command_check = {
    .name = "check",
    .operands = "IN.py...",
    .summary = "read TVMScript modules and verify them",
    .min_operands = 1,
    .max_operands = -1,
    .examples = (const char *const[]){"tenon check model.py",
                                      "prints the number of functions, or the errors", NULL},
    .ignores = "debug|tuning-db",
    .run = run_check,
};
