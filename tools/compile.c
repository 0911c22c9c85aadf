/* SPDX-License-Identifier: Apache-2.0 */
/* tenon compile: a model into an artifact. */
#include "tool.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "tenon/base/file.h"
#include "tenon/kit/aot.h"

static const tnt_option options[] = {
    {"target", 't', TNT_VALUE, "NAME[,NAME...]",
     "targets as section names, kinds, tags or JSON; KIND:auto takes the attributes of the device "
     "that is present, where its driver tells them (cuda, gpu_generic) (default: cpu)"},
    {"output", 'o', TNT_VALUE, "FILE.tno",
     "output file (default: the model's name with .tno); with --emit a folder"},
    {"emit", 0, TNT_VALUE, "KIND",
     "write C or machine code for programs without the runtime: c, obj or static-lib "
     "(default: tno, an artifact)"},
    {"prefix", 0, TNT_VALUE, "NAME",
     "with --emit: first part of symbols and file names (default: the model's name)", "emit"},
    {"mtriple", 0, TNT_VALUE, "TRIPLE",
     "with --emit: machine to compile for (aarch64-linux-gnu), in place of the target's mtriple",
     "emit"},
    {"profile", 0, TNT_VALUE, "NAME", "insert the passes of [profile NAME]"},
    TNT_MCPU("default: as the target says"),
    TNT_PASS_CONFIG,
    TNT_QUANTIZE,
    {"dim", 0, TNT_LIST, "NAME=N", "fix a dynamic dimension, or a whole input as INPUT=[N, ...]"},
    {"bind", 0, TNT_LIST, "NAME=FILE", "make an input a constant (.npy, .pb)"},
    {"verify", 0, TNT_FLAG, NULL, "execute the module before and after each pass and compare"},
    {"verify-budget", 0, TNT_VALUE, "N",
     "limit on scalar operations per function and pass (default 1e9)", "verify"},
    {"dump-ir", 0, TNT_VALUE, "DIR", "dump the module before and after each pass into this folder"},
    {"dump-only", 0, TNT_VALUE, "PASS[,PASS]",
     "with --dump-ir: dump only before and after these passes", "dump-ir"},
    {"reproducer", 0, TNT_VALUE, "FILE.py",
     "on a failing pass: write the module and the remaining passes here"},
    {"trace", 0, TNT_VALUE, "FILE.json", "write timings in Chrome trace format"},
    {"jobs", 'j', TNT_VALUE, "N",
     "number of kernels to compile in parallel (default: all processors)"},
    {"no-cache", 0, TNT_FLAG, NULL, "do not use the kernel cache"},
    {"timing", 0, TNT_FLAG, NULL, "print the time of each stage to standard error"},
    {"seed", 0, TNT_VALUE, "N", "seed of the random inputs of --verify", "verify"},
    {0}};

static bool
is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether the artifact would replace the model or a tensor that it is made of. */
static bool
is_read_from(const tnt_args *a, const char *out)
{
    uint32_t n;
    const char **binds = tnt_values(a, "bind", &n);
    bool same = is_same_file(out, a->operands[0]);
    for (uint32_t i = 0; binds && i < n; i++) {
        const char *eq = strchr(binds[i], '=');
        same |= eq && is_same_file(out, eq + 1);
    }
    free(binds);
    if (same)
        fprintf(stderr,
                "tenon: refusing to overwrite %s: the model is read from it\n  hint: choose "
                "another name with -o\n",
                out);
    return same;
}

/* What --emit names; false after a message. */
static bool
emit_kind(const tnt_args *a, tnk_emit *kind)
{
    static const char *const kinds[] = {"tno", "c", "obj", "static-lib"}; /* ORDER EMIT */
    const char *wanted = tnt_value(a, "emit", "tno");
    uint32_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && strcmp(kinds[i], wanted) != 0)
        i++;
    *kind = (tnk_emit)i;
    if (i == sizeof kinds / sizeof *kinds)
        tnt_usage(a->command, "option '--emit' wants tno, c, obj or static-lib, not '%s'", wanted);
    else if (i == 0 && tnt_has(a, "prefix"))
        tnt_usage(a->command, "option '--prefix' has no effect on an artifact");
    else if (i > 0 && !tnt_has(a, "output"))
        tnt_usage(a->command, "option '--emit' needs the folder of -o");
    else
        return true;
    return false;
}

static const char *
emit_prefix(tnt_session *s, const tnt_args *a)
{
    const char *prefix = tnt_value(a, "prefix", NULL), *name = tnb_path_name(a->operands[0]);
    const char *dot = strrchr(name, '.');
    if (prefix)
        return prefix;
    return tnk_aot_identifier(s->ctx,
                              tn_strf(s->ctx, "%.*s",
                                      (int)(dot && dot != name ? dot - name : (long)strlen(name)),
                                      name));
}

/* Names that promise another format than what is written. */
static bool
is_other_format(const tnt_args *a, tnk_emit kind, const char *out)
{
    if (kind) {
        if (!tnb_ends_with(out, ".tno"))
            return false;
        tnt_usage(a->command, "--emit writes a folder, and '%s' would say it is an artifact", out);
        return true;
    }
    static const char *const others[] = {".so",  ".a",    ".o",  ".c",    ".h",
                                         ".exe", ".onnx", ".py", ".json", NULL};
    return tnt_is_misnamed(a, "an artifact (.tno) is written", out, others,
                           "--emit writes C, objects or a static library");
}

static int
run(tnt_session *s, const tnt_args *a)
{
    const char *path = a->operands[0];
    const char *out = tnt_value(a, "output", NULL);
    if (!out) {
        const char *name = tnb_path_name(path), *dot = strrchr(name, '.');
        out = tn_strf(s->ctx, "%.*s.tno",
                      (int)(dot && dot != name ? dot - name : (long)strlen(name)), name);
    }
    tnk_emit kind;
    if (!emit_kind(a, &kind) || is_other_format(a, kind, out))
        return TNT_USAGE;
    if (is_read_from(a, out))
        return TNT_FAILED;
    tnk_model model;
    tnk_compile_options opt;
    double start = tnt_now();
    if (!tnt_import_checked(s, a, path, &model) || !tnt_compile_options(s, a, &opt))
        return tnt_failure();
    opt.emit = kind;
    opt.prefix = emit_prefix(s, a);
    double imported = tnt_now();
    opt.output = out;
    tnk_compile_result r;
    tnb_status st = tnk_compile(s->ctx, &model, &opt, &r);
    tnb_err err = {0};
    if (opt.trace && tn_trace_close(opt.trace, &err) != TNB_OK) {
        tnt_complain(&err);
        st = st == TNB_OK ? TNB_IO : st;
    }
    tnt_report(s);
    if (st != TNB_OK)
        return TNT_FAILED;
    bool verified = !opt.verify || tnt_print_verify(&r.verify);
    if (tnt_has(a, "timing")) {
        double all = tnt_now() - start;
        fprintf(stderr, "%-32s %9.1f ms\n", "import", 1e3 * (imported - start));
        for (uint32_t i = 0; i < r.n_times; i++)
            fprintf(stderr, "%-32s %9.1f ms\n", r.times[i].name, 1e3 * r.times[i].seconds);
        fprintf(stderr,
                "%-32s %9.1f ms, %.1f ms without the C compiler; cache: %u hits, %u misses\n",
                "total", 1e3 * all, 1e3 * (all - r.compiler_seconds), r.cache_hits, r.cache_misses);
        tnt_print_process(r.constant_bytes);
    }
    tnt_remark(a, "tenon: wrote %s (%.1f KiB)\n", out, (double)r.bytes / 1024);
    return verified ? TNT_OK : TNT_FAILED;
}

const tnt_command tnt_command_compile = {
    .name = "compile",
    .operands = "MODEL",
    .summary = "compile a model into an artifact (.tno)",
    .details = "MODEL is an ONNX file, a language model's checkpoint (a GGUF file, a folder of "
               "transformers with safetensors, a file of llama2.c), or a module as TVMScript text "
               "(.py). The artifact holds one "
               "variant per target; "
               "tenon run and the runtime library execute it without a compiler. With --emit a "
               "folder gets C or machine "
               "code that programs link by themselves (docs/ahead-of-time.md).",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .examples =
        (const char *const[]){
            "tenon compile model.onnx -t cpu,opencl -o model.tno",
            "one artifact with a variant for each target",
            "tenon compile model.onnx --dim batch=8 --verify",
            "fixes the dimension; checks every pass by running the module before and after it",
            "tenon compile model.onnx --dump-ir ir --dump-only FuseOps,FuseTIR",
            "shows what these passes do", "tenon compile model.onnx --emit=static-lib -o model",
            "writes model/libmodel.a and model/model.h, for a C program without the runtime", NULL},
    .run = run,
};
