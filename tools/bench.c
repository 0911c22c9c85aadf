/* SPDX-License-Identifier: Apache-2.0 */
/* tenon bench: how long a function takes, warm. What --expect says of the results is held to in the same process, with the same
 * threads and inputs: by the first run, before anything is measured, and by the last one. Without it both have to agree. */
#include "config.h"
#include "tool.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LM
#include "language.h"
#endif
#include "tenon/base/log.h"
#include "tenon/base/num.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"

static const tnt_option options[] = {
    {"target", 't', TNT_VALUE, "NAME",
     "target (default: cpu); with an artifact: the variants to choose from, NAME[,NAME...] "
     "(default: "
     "[tenon] target_order)"},
    {"function", 'f', TNT_VALUE, "NAME", "function to run (default: main)"},
    {"input", 'i', TNT_LIST, "NAME=FILE",
     "read an input from a .npy or .pb file (default: random)"},
    {"expect", 0, TNT_LIST, "NAME=FILE",
     "compare an output with this file; if it differs, nothing is measured (exit status 1)"},
    {"rtol", 0, TNT_VALUE, "X", "relative tolerance of --expect (default 1e-3)", "expect"},
    {"atol", 0, TNT_VALUE, "X", "absolute tolerance of --expect (default 1e-4)", "expect"},
    {"threads", 0, TNT_VALUE, "N", "number of threads"},
    {"seconds", 0, TNT_VALUE, "X", "seconds to measure (default 3)", .without = "runs"},
    {"runs", 0, TNT_VALUE, "N", "number of runs, instead of --seconds"},
#ifdef HAVE_LM
    {"prompt", 0, TNT_VALUE, "N", "language model: number of tokens in the prompt"},
    {"generate", 0, TNT_VALUE, "N", "language model: number of tokens to generate"},
    {"weights", 0, TNT_VALUE, "PATH", "language model's artifact: where its weights are",
     "prompt|generate"},
    {"tokenizer", 0, TNT_VALUE, "FILE", "language model: its tokenizer", "prompt|generate"},
#endif
    {"profile-kernels", 0, TNT_FLAG, NULL,
     "time each kernel; the table shows the fastest run, for a language model one more run"},
    {"json", 0, TNT_FLAG, NULL, "print one JSON object"},
    {"seed", 0, TNT_VALUE, "N", "seed of random inputs"},
    {"profile", 0, TNT_VALUE, "NAME", "insert the passes of [profile NAME]"},
    TNT_MCPU("default: native"),
    TNT_PASS_CONFIG,
    TNT_QUANTIZE,
    {"dim", 0, TNT_LIST, "NAME=N", "fix a dynamic dimension"},
    {"bind", 0, TNT_LIST, "NAME=FILE", "make an input a constant"},
    {"jobs", 'j', TNT_VALUE, "N", "number of kernels to compile in parallel"},
    {"no-cache", 0, TNT_FLAG, NULL, "do not use the caches of kernels and of transformed weights"},
    {0}};

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

enum { MAX_RUNS = 100000, WARM_RUNS = 2 };

/* The fastest run's kernels: `best` is it so far, has room for as many as the machine knows. */
static bool
keep_kernels(tnr_vm *vm, tnr_kernel_time **best, uint32_t *n)
{
    const tnr_kernel_time *t = tnr_vm_profile(vm, n);
    tnr_kernel_time *copy = realloc(*best, (*n + 1) * sizeof *copy);
    if (!copy)
        return false;
    memcpy(copy, t, *n * sizeof *copy);
    *best = copy;
    return true;
}

/* The run's results and what they are compared with. */
typedef struct checked {
    tnt_session *s;
    const tnt_args *a;
    const tnr_signature *sig;
    const tn_expr **first; /* of the first run; NULL: none yet */
    uint32_t n;
} checked;

/* Whether results are those of --expect, and those of the first run, to the tolerance. A status after messages. */
static int
check_results(checked *c, const tnr_value *ret)
{
    const char **names;
    const tn_expr **results;
    double rtol, atol;
    uint32_t n;
    if (!tnt_float(c->a, "rtol", 1e-3, 0, TNT_FINITE, &rtol) ||
        !tnt_float(c->a, "atol", 1e-4, 0, TNT_FINITE, &atol))
        return TNT_USAGE;
    if (!tnt_take_results(c->s, c->sig, ret, &names, &results, &n))
        return TNT_FAILED;
    if (!c->first) {
        c->first = results;
        c->n = n;
        return tnt_compare_results(c->s, c->a, results, names, n, false);
    }
    int status = TNT_OK;
    for (uint32_t i = 0; i < n && i < c->n; i++) {
        tnb_buf why = {0};
        if (!tn_values_close(c->s->ctx, results[i], c->first[i], rtol, atol, &why)) {
            fprintf(stderr, "tenon: output '%s' of the last run differs from the first run: %s\n",
                    names[i], why.n ? why.s : "");
            status = TNT_FAILED;
        }
        tnb_buf_free(&why);
    }
    return status == TNT_OK ? tnt_compare_results(c->s, c->a, results, names, n, false) : status;
}

/* What was measured with. */
typedef struct used {
    const tnr_variant *variant;
    const char *mcpu;    /* NULL: the target has none */
    uint32_t n_features; /* that it names besides */
    bool native;
    char device[4096]; /* as its driver describes it */
    int threads;
} used;

static used
find_used(tnt_session *s, const tnt_program *p)
{
    used u = {.native = p->native,
              .variant = tnr_artifact_variant(p->artifact, p->variant),
              .threads = tnr_runtime_threads(tnr_vm_runtime(p->vm))};
    tnr_device *dev = tnr_vm_device(p->vm);
    const tn_node *target =
        tn_value_from_json(s->ctx, u.variant->target, strlen(u.variant->target), NULL);
    const tn_array *features = tn_as_array(tn_dict_get(target, "features"));
    u.mcpu = tn_dict_str(target, "mcpu", NULL);
    u.n_features = features ? features->items.n : 0;
    if (tnr_device_driver(dev)->describe)
        tnr_device_driver(dev)->describe(tnr_device_handle(dev), u.device, sizeof u.device);
    return u;
}

/* Bytes of a description that fit a line: all, or whole words; `tenon list devices` prints the rest. */
static int
fitting(const char *s)
{
    enum { MOST = 100 };
    size_t n = strlen(s);
    if (n > MOST)
        for (n = MOST; n && s[n] != ' '; n--)
            ;
    return (int)n;
}

static void
print_used(const used *u)
{
    const int n = fitting(u->device);
    printf("target %s", u->variant->name);
    if (u->mcpu)
        printf(" (%s%s", u->native && u->n_features ? "native: " : "mcpu ", u->mcpu);
    if (u->mcpu && u->n_features)
        printf(" and %u features", u->n_features);
    printf("%s, %d threads, device %s: %.*s%s\n", u->mcpu ? ")" : "", u->threads,
           u->variant->device, n, u->device, u->device[n] ? " ..." : "");
}

static int
print_json(tnt_session *s, const tnt_program *p, const double *t, uint32_t runs, double mean,
           double first, bool compared, const tnr_kernel_time *kernels, uint32_t n)
{
    tn_ctx *ctx = s->ctx;
    used u = find_used(s, p);
    tn_list features = {0};
    for (uint32_t i = 0; i < u.variant->n_features; i++)
        features = tn_list_append(ctx, features, tn_string(ctx, u.variant->features[i]));
    const tn_node *d =
        tn_dictv(ctx, "runs", tn_i64(ctx, runs), "threads", tn_i64(ctx, u.threads), "target",
                 tn_string(ctx, u.variant->name), "device", tn_string(ctx, u.variant->device),
                 "description", tn_string(ctx, u.device), "properties",
                 tnt_properties(ctx, tnr_vm_device(p->vm)), "features", tn_array_of(ctx, features),
                 "min_ms", tnt_ms(ctx, t[0]), "median_ms", tnt_ms(ctx, t[runs / 2]), "mean_ms",
                 tnt_ms(ctx, mean), "max_ms", tnt_ms(ctx, t[runs - 1]), "first_ms",
                 tnt_ms(ctx, first), "compile_ms", tnt_ms(ctx, p->compile_seconds), "compiler_ms",
                 tnt_ms(ctx, p->compiled.compiler_seconds), "load_ms", tnt_ms(ctx, p->load_seconds),
                 "peak_bytes", tn_i64(ctx, (int64_t)tnt_peak_memory()), "compared",
                 tn_bool(ctx, compared), NULL);
    if (n)
        d = tn_dict_set(ctx, d, "kernels", tnt_kernels(ctx, kernels, n));
    return tnt_print_json(d) ? TNT_OK : TNT_FAILED;
}

static int
measure(checked *c, tnt_program *p, const char *name, const tnr_value *args, uint32_t n)
{
    const tnt_args *a = c->a;
    int64_t runs;
    double budget;
    if (!tnt_int(a, "runs", 0, 1, MAX_RUNS, &runs) ||
        !tnt_float(a, "seconds", 3, TNT_ABOVE_0, 1e6, &budget))
        return TNT_USAGE;
    double *t = malloc(MAX_RUNS * sizeof *t);
    if (!t)
        return TNT_FAILED;
    bool profile = tnt_has(a, "profile-kernels");
    tnr_kernel_time *kernels = NULL;
    uint32_t done = 0, n_kernels = 0;
    tnb_err err = {0};
    double start = 0, first = 0,
           best = DBL_MAX; /* first: with all that is made when it is first used */
    bool last = false;
    int status = TNT_OK;
    for (int64_t i = -WARM_RUNS; i < (runs ? runs : MAX_RUNS); i++) {
        if (i == 0)
            start = tnt_now();
        tnr_value ret = tnr_null();
        if (profile)
            tnr_vm_set_profile(p->vm, true);
        tnb_progress *waiting = i == -WARM_RUNS ? tnt_wait_for(a, "first run", p) : NULL;
        double before = tnt_now();
        tnb_status st = tnr_vm_call(p->vm, name, args, n, &ret, &err);
        if (st == TNB_OK) /* a device may still be at it when the call is over */
            st = tnr_device_sync(tnr_vm_device(p->vm), &err);
        double after = tnt_now();
        tnb_progress_end(waiting);
        if (i == -WARM_RUNS)
            first = after - before;
        last = i + 1 == (runs ? runs : MAX_RUNS) || (!runs && i >= 2 && after - start > budget);
        if (st != TNB_OK) {
            tnt_hint_extents(a, c->sig, &err);
            tnt_complain(&err);
            status = TNT_FAILED;
        } else if (i == -WARM_RUNS || last) {
            status = check_results(c, &ret);
        }
        tnr_release(&ret);
        if (status != TNT_OK) {
            free(kernels);
            free(t);
            return status;
        }
        if (i < 0)
            continue;
        if (profile && after - before < best) {
            best = after - before;
            profile = keep_kernels(p->vm, &kernels, &n_kernels);
        }
        t[done++] = after - before;
        if (last)
            break;
    }
    qsort(t, done, sizeof *t, by_value);
    double sum = 0;
    for (uint32_t i = 0; i < done; i++)
        sum += t[i];
    if (tnt_has(a, "json")) {
        status = print_json(c->s, p, t, done, sum / done, first, tnt_has(a, "expect"), kernels,
                            n_kernels);
    } else {
        used u = find_used(c->s, p);
        print_used(&u);
        printf("%u runs, %d threads: min %.3f ms, median %.3f ms, mean %.3f ms, max %.3f ms%s\n",
               done, tnr_runtime_threads(tnr_vm_runtime(p->vm)), 1e3 * t[0], 1e3 * t[done / 2],
               1e3 * sum / done, 1e3 * t[done - 1],
               tnt_has(a, "expect") ? "" : "; outputs not compared (no --expect)");
    }
    if (tnt_has(a, "profile-kernels") && !tnt_has(a, "json"))
        tnt_print_kernels(kernels, n_kernels);
    free(kernels);
    free(t);
    return status;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    tnt_program p;
#ifdef HAVE_LM
    if (tnt_has(a, "prompt") || tnt_has(a, "generate"))
        return tnt_bench_language(s, a);
#endif
    if (!tnt_program_open(s, a, a->operands[0], &p))
        return tnt_failure();
    const char *name = tnt_value(a, "function", "main");
    const tnr_signature *sig = tnr_artifact_function(p.artifact, name);
    tnr_value *args = NULL;
    uint32_t n = 0;
    int status = TNT_FAILED;
    if (!sig)
        tnt_no_function(&p, a->operands[0], name);
    else if (tnt_make_inputs(s, a, &p, sig, &args, &n))
        status = measure(&(checked){.s = s, .a = a, .sig = sig}, &p, name, args, n);
    for (uint32_t i = 0; i < n; i++)
        tnr_release(&args[i]);
    free(args);
    tnt_program_close(&p);
    return status == TNT_FAILED ? tnt_failure() : status;
}

const tnt_command tnt_command_bench = {
    .name = "bench",
    .operands = "MODEL|FILE.tno",
    .summary = "measure how long a model takes to run",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .examples = (const char *const[]){"tenon bench model.onnx -t cpu --threads 2",
                                      "measures for three seconds",
                                      "tenon bench model.tno -i x=x.npy --expect y=y.npy --json",
                                      "measures only if the outputs are right",
                                      "tenon bench model.tno --runs 20 --profile-kernels",
                                      "times the kernels of a compiled model", NULL},
    .run = run,
};
