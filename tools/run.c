/* SPDX-License-Identifier: Apache-2.0 */
/* tenon run: compiles if need be, runs a function, shows, saves or compares its results. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>

#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/base/npy.h"
#include "tenon/base/num.h"
#include "tenon/core/eval.h"

static const tnt_option options[] = {
    {"target", 't', TNT_VALUE, "NAME",
     "target (default: cpu); with an artifact: the variants to choose from, NAME[,NAME...] "
     "(default: "
     "[tenon] target_order)"},
    {"function", 'f', TNT_VALUE, "NAME", "function to run (default: main)"},
    {"input", 'i', TNT_LIST, "NAME=FILE",
     "read an input from a .npy or .pb file or a pipe (-: standard input); #INDEX=FILE counts from "
     "0"},
    {"output-dir", 'o', TNT_VALUE, "DIR", "write every output as INDEX-NAME.npy into this folder"},
    {"expect", 0, TNT_LIST, "NAME=FILE",
     "compare an output with this file; exit status 1 if it differs"},
    {"rtol", 0, TNT_VALUE, "X", "relative tolerance of --expect (default 1e-3)", "expect"},
    {"atol", 0, TNT_VALUE, "X", "absolute tolerance of --expect (default 1e-4)", "expect"},
    {"threads", 0, TNT_VALUE, "N", "number of threads (default: all processors of the process)"},
    {"profile-kernels", 0, TNT_FLAG, NULL, "time each kernel and print a table to standard error"},
    {"timing", 0, TNT_FLAG, NULL, "print compile, load and run time to standard error"},
    {"no-native", 0, TNT_FLAG, NULL,
     "refuse kernels that run as machine code on the host: cpu, and opencl on a CPU device"},
    {"seed", 0, TNT_VALUE, "N", "seed of random inputs"},
    {"profile", 0, TNT_VALUE, "NAME", "insert the passes of [profile NAME]"},
    TNT_MCPU("default: native"),
    TNT_PASS_CONFIG,
    {"dim", 0, TNT_LIST, "NAME=N", "fix a dynamic dimension, or a whole input as INPUT=[N, ...]"},
    {"bind", 0, TNT_LIST, "NAME=FILE", "make an input a constant (.npy, .pb)"},
    {"verify", 0, TNT_FLAG, NULL, "execute the module before and after each pass and compare"},
    {"verify-budget", 0, TNT_VALUE, "N",
     "limit on scalar operations per function and pass (default 1e9)", "verify"},
    {"dump-ir", 0, TNT_VALUE, "DIR", "dump the module before and after each pass into this folder"},
    {"dump-only", 0, TNT_VALUE, "PASS[,PASS]",
     "with --dump-ir: dump only before and after these passes", "dump-ir"},
    {"trace", 0, TNT_VALUE, "FILE.json", "write timings in Chrome trace format"},
    {"jobs", 'j', TNT_VALUE, "N", "number of kernels to compile in parallel"},
    {"no-cache", 0, TNT_FLAG, NULL, "do not use the kernel cache"},
    {0}};

/* ---- showing ---- */

/* An element of a result: of a float dtype `f`, else `i`, of an unsigned one its bits. */
typedef struct ranked {
    double f;
    int64_t i;
    uint64_t index;
} ranked;

static bool
read_element(const void *bytes, tnb_dtype d, uint64_t i, ranked *out)
{
    *out = (ranked){.index = i};
    return tnb_dtype_is_float(d) ? tnb_load_f64(bytes, d, i, &out->f)
                                 : tnb_load_i64(bytes, d, i, &out->i);
}

static bool
is_less(tnb_dtype d, const ranked *a, const ranked *b)
{
    return tnb_dtype_is_float(d) ? a->f < b->f
           : d.code == TNB_UINT  ? (uint64_t)a->i < (uint64_t)b->i
                                 : a->i < b->i;
}

static void
print_element(const char *before, tnb_dtype d, const ranked *e)
{
    if (tnb_dtype_is_float(d))
        printf("%s%s", before, tnb_print_f64(e->f).s);
    else if (d.code == TNB_UINT)
        printf("%s%llu", before, (unsigned long long)e->i);
    else
        printf("%s%lld", before, (long long)e->i);
}

static void
print_result(const char *name, const tn_data *d, const void *bytes)
{
    enum { MOST = 5 };
    printf("%s: %s[", name, tnb_dtype_print(d->dtype).s);
    for (int32_t k = 0; k < d->ndim; k++)
        printf("%s%lld", k ? ", " : "", (long long)d->shape[k]);
    printf("]");
    ranked top[MOST], lowest = {0}, e;
    uint32_t n_top = 0;
    uint64_t nans = 0;
    for (uint64_t i = 0; i < d->n_elems && read_element(bytes, d->dtype, i, &e); i++) {
        if (isnan(e.f)) {
            nans++;
            continue;
        }
        if (!n_top || is_less(d->dtype, &e, &lowest))
            lowest = e;
        uint32_t at = n_top < MOST                            ? n_top++
                      : is_less(d->dtype, &top[MOST - 1], &e) ? MOST - 1
                                                              : MOST;
        if (at == MOST)
            continue;
        for (; at > 0 && is_less(d->dtype, &top[at - 1], &e); at--)
            top[at] = top[at - 1];
        top[at] = e;
    }
    if (n_top) {
        print_element(" from ", d->dtype, &lowest);
        print_element(" to ", d->dtype, &top[0]);
    }
    if (nans)
        printf(", %llu NaN", (unsigned long long)nans);
    for (uint32_t i = 0; i < n_top; i++) {
        printf("%s[%llu]", i ? ", " : "; top ", (unsigned long long)top[i].index);
        print_element(" ", d->dtype, &top[i]);
    }
    putchar('\n');
}

static bool
save_result(tnt_session *s, const tnt_args *a, const char *dir, uint32_t i, const char *name,
            const tn_data *d, const void *bytes)
{
    tnb_err err = {0};
    char *safe = tnb_strdup(tn_arena(s->ctx), name);
    for (char *c = safe; *c; c++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *c))
            *c = '_';
    const char *path = tn_strf(s->ctx, "%s/%u-%s.npy", dir, i, safe);
    if (tnb_make_dirs(dir, 0777, &err) != TNB_OK ||
        tnb_npy_write(path, d->dtype, d->ndim, d->shape, bytes, &err) != TNB_OK) {
        tnt_complain(&err);
        return false;
    }
    tnt_remark(a, "tenon: wrote %s (%s[", path, tnb_dtype_print(d->dtype).s);
    for (int32_t k = 0; k < d->ndim; k++)
        tnt_remark(a, "%s%lld", k ? ", " : "", (long long)d->shape[k]);
    tnt_remark(a, "])\n");
    return true;
}

/* ---- the command ---- */

static int
show_results(tnt_session *s, const tnt_args *a, const tnr_signature *sig, const tnr_value *ret)
{
    const char **names;
    const tn_expr **results;
    uint32_t n;
    if (!tnt_take_results(s, sig, ret, &names, &results, &n))
        return TNT_FAILED;
    bool compare = tnt_has(a, "expect");
    const char *dir = tnt_value(a, "output-dir", NULL);
    for (uint32_t i = 0; i < n; i++) {
        const tn_data *d = ((const tn_constant *)results[i])->data;
        const void *bytes = tn_data_get(s->ctx, d);
        if (dir && !save_result(s, a, dir, i, names[i], d, bytes))
            return TNT_FAILED;
        if (!dir && !compare)
            print_result(names[i], d, bytes);
    }
    return compare ? tnt_compare_results(s, a, results, names, n, true) : TNT_OK;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    static const char *const files[] = {".npy", ".npz", ".pb", ".tno", ".json", ".txt", NULL};
    tnt_program p;
    if (tnt_has(a, "output-dir") &&
        tnt_is_misnamed(a, "a folder of .npy files is written", tnt_value(a, "output-dir", ""),
                        files, "-o takes a folder"))
        return TNT_USAGE;
    if (!tnt_program_open(s, a, a->operands[0], &p))
        return tnt_failure();
    bool verified = !p.unverified;
    const char *name = tnt_value(a, "function", "main");
    const tnr_signature *sig = tnr_artifact_function(p.artifact, name);
    int status = TNT_FAILED;
    tnr_value *args = NULL, ret = tnr_null();
    uint32_t n = 0;
    tnb_err err = {0};
    if (!sig) {
        tnt_no_function(&p, a->operands[0], name);
    } else if (tnt_make_inputs(s, a, &p, sig, &args, &n)) {
        if (tnt_has(a, "profile-kernels"))
            tnr_vm_set_profile(p.vm, true);
        double start = tnt_now();
        tnb_progress *waiting = tnt_wait_for(a, "running", &p);
        tnb_status st = tnr_vm_call(p.vm, name, args, n, &ret, &err);
        if (st == TNB_OK) /* what is queued still runs */
            st = tnr_device_sync(tnr_vm_device(p.vm), &err);
        tnb_progress_end(waiting);
        double seconds = tnt_now() - start;
        if (st != TNB_OK) {
            tnt_hint_extents(a, sig, &err);
            tnt_complain(&err);
        } else {
            status = show_results(s, a, sig, &ret);
        }
        if (st == TNB_OK && tnt_has(a, "timing")) {
            fprintf(stderr,
                    "compile %.1f ms (%.1f ms in the C compiler), load %.1f ms, run %.3f ms\n",
                    1e3 * p.compile_seconds, 1e3 * p.compiled.compiler_seconds,
                    1e3 * p.load_seconds, 1e3 * seconds);
            tnt_print_process(p.compiled.constant_bytes);
        }
        if (st == TNB_OK && tnt_has(a, "profile-kernels")) {
            uint32_t n_kernels;
            const tnr_kernel_time *times = tnr_vm_profile(p.vm, &n_kernels);
            tnt_print_kernels(times, n_kernels);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        tnr_release(&args[i]);
    free(args);
    tnr_release(&ret);
    tnt_program_close(&p);
    status = status == TNT_OK && !verified ? TNT_FAILED : status;
    return status == TNT_FAILED ? tnt_failure() : status;
}

const tnt_command tnt_command_run = {
    .name = "run",
    .operands = "MODEL|FILE.tno",
    .summary = "run a model or an artifact",
    .details = "Without -i the inputs are random (see --seed). Without -o and --expect the outputs "
               "are printed: shape, range and the five largest elements.\n\nTwo tensors are equal "
               "if dtype and shape are equal and every element is: NaN equals NaN, an infinity the "
               "same infinity, other numbers if |a-b| <= atol + rtol*|b|.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .examples =
        (const char *const[]){
            "tenon run model.tno -i image=digit.npy -o results",
            "reads one input from a file; writes results/0-NAME.npy and so on",
            "tenon run model.onnx -t opencl --expect logits=want.npy",
            "compiles in memory, runs, compares; exit status 1 if the output differs", NULL},
    .run = run,
};
