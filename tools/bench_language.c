/* SPDX-License-Identifier: Apache-2.0 */
/* tenon bench of a language model: tokens a second of a prompt, and of what is written behind it; where the time goes. */
#include "config.h"
#include "language.h"

#include <stdlib.h>
#include "tenon/base/log.h"

enum { MOST_RUNS = 1000, USUAL_RUNS = 5 };

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Tokens of the vocabulary by a fixed rule: what they are does not matter to the time. */
static void
draw_ids(int32_t *ids, size_t n, int64_t vocabulary)
{
    uint64_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        ids[i] = (int32_t)((x >> 33) % (uint64_t)vocabulary);
    }
}

typedef struct measured {
    uint32_t runs;
    double prompt[MOST_RUNS], written[MOST_RUNS]; /* seconds */
} measured;

static tnb_status
append(const tnt_language *l, const int32_t *ids, size_t prompt, size_t written, float *logits,
       double *t_prompt, double *t_written, tnb_err *err)
{
    double start = tnt_now();
    if (prompt)
        TNB_TRY(tnl_model_append(l->model, 0, ids, prompt, logits, err));
    *t_prompt = tnt_now() - start;
    start = tnt_now();
    for (size_t i = 0; i < written; i++)
        TNB_TRY(tnl_model_append(l->model, 0, ids + prompt + i, 1, logits, err));
    *t_written = tnt_now() - start;
    return TNB_OK;
}

static tnb_status
one_run(const tnt_language *l, const int32_t *ids, size_t prompt, size_t written, float *logits,
        double *t_prompt, double *t_written, tnb_err *err)
{
    TNB_TRY(append(l, ids, prompt, written, logits, t_prompt, t_written, err));
    return tnl_model_cut(l->model, 0, 0, err);
}

static tnb_status
measure(const tnt_args *a, const tnt_language *l, size_t prompt, size_t written, measured *m,
        tnb_err *err)
{
    int64_t vocabulary = tnl_model_facts_of(l->model)->vocabulary;
    int32_t *ids = malloc((prompt + written) * sizeof *ids);
    float *logits = malloc((size_t)vocabulary * sizeof *logits);
    double unused[2];
    tnb_status st = ids && logits ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory for a run");
    if (st == TNB_OK) {
        draw_ids(ids, prompt + written, vocabulary);
        /* the first run, which maps weights, is not counted */
        tnb_progress *waiting = tnt_wait_for(a, "first run", &l->program);
        st =
            one_run(l, ids, prompt, written < 4 ? written : 4, logits, &unused[0], &unused[1], err);
        tnb_progress_end(waiting);
    }
    for (uint32_t i = 0; i < m->runs && st == TNB_OK; i++)
        st = one_run(l, ids, prompt, written, logits, &m->prompt[i], &m->written[i], err);
    free(ids);
    free(logits);
    qsort(m->prompt, m->runs, sizeof(double), by_value);
    qsort(m->written, m->runs, sizeof(double), by_value);
    return st;
}

/* One more run, which waits behind each kernel: a table, or an entry of the object, for the prompt and for what is written. */
static tnb_status
profile(tnt_session *s, const tnt_args *a, const tnt_language *l, size_t prompt, size_t written,
        const tn_node **json, tnb_err *err)
{
    const size_t parts[] = {prompt, written};
    static const char *const names[] = {"prompt", "generate"};
    const tnl_model_facts *f = tnl_model_facts_of(l->model);
    int32_t *ids = malloc((prompt + written) * sizeof *ids);
    float *logits = malloc((size_t)f->vocabulary * sizeof *logits);
    double unused[2];
    tnb_status st = ids && logits ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory for a run");
    if (st == TNB_OK)
        draw_ids(ids, prompt + written, f->vocabulary);
    for (int k = 0; k < 2 && st == TNB_OK; k++) {
        uint32_t n;
        if (!parts[k])
            continue;
        tnr_vm_set_profile(l->program.vm, true);
        st = append(l, ids + (k ? prompt : 0), k ? 0 : prompt, k ? written : 0, logits, &unused[0],
                    &unused[1], err);
        if (st != TNB_OK)
            break;
        const tnr_kernel_time *t = tnr_vm_profile(l->program.vm, &n);
        if (tnt_has(a, "json")) {
            *json = tn_dict_set(s->ctx, *json, names[k], tnt_kernels(s->ctx, t, n));
        } else {
            fprintf(stderr, "\nkernels of %s, %zu tokens\n", names[k], parts[k]);
            tnt_print_kernels(t, n);
        }
    }
    tnr_vm_set_profile(l->program.vm, false);
    free(ids);
    free(logits);
    return st == TNB_OK ? tnl_model_cut(l->model, 0, 0, err) : st;
}

static const tn_node *
numbers(tnt_session *s, const double *t, uint32_t runs, size_t tokens)
{
    double median = t[runs / 2];
    return tn_dictv(s->ctx, "tokens", tn_i64(s->ctx, (int64_t)tokens), "tokens_per_second",
                    tn_float_imm_of(s->ctx, TNB_F64, (double)tokens / median), "median_seconds",
                    tn_float_imm_of(s->ctx, TNB_F64, median), "min_seconds",
                    tn_float_imm_of(s->ctx, TNB_F64, t[0]), "max_seconds",
                    tn_float_imm_of(s->ctx, TNB_F64, t[runs - 1]), NULL);
}

static void
print_row(const char *name, const double *t, uint32_t runs, size_t tokens, uint64_t bytes)
{
    double n = (double)tokens;
    printf("%-8s %7zu %12.1f %12.1f %12.1f", name, tokens, n / t[runs / 2], n / t[runs - 1],
           n / t[0]);
    if (bytes)
        printf(" %8.2f", 1e-9 * (double)bytes * n / t[runs / 2]);
    putchar('\n');
}

static bool
print(tnt_session *s, const tnt_args *a, const tnt_language *l, const measured *m, size_t prompt,
      size_t written, const tn_node *kernels)
{
    const tnl_model_facts *f = tnl_model_facts_of(l->model);
    const tnr_variant *v = tnr_artifact_variant(l->program.artifact, l->program.variant);
    int threads = tnr_runtime_threads(tnr_vm_runtime(l->program.vm));
    if (tnt_has(a, "json")) {
        const tn_node *d = tn_dictv(s->ctx, "target", tn_string(s->ctx, v->name), "threads",
                                    tn_i64(s->ctx, threads), "runs", tn_i64(s->ctx, m->runs),
                                    "weight_bytes", tn_i64(s->ctx, (int64_t)f->weight_bytes),
                                    "cache_bytes", tn_i64(s->ctx, (int64_t)f->cache_bytes), NULL);
        if (prompt)
            d = tn_dict_set(s->ctx, d, "prompt", numbers(s, m->prompt, m->runs, prompt));
        if (written)
            d = tn_dict_set(s->ctx, d, "generate", numbers(s, m->written, m->runs, written));
        if (kernels)
            d = tn_dict_set(s->ctx, d, "kernels", kernels);
        return tnt_print_json(d);
    }
    printf("target %s, %d threads, %u runs; weights %.1f MB, cache %.1f MB\n", v->name, threads,
           m->runs, 1e-6 * (double)f->weight_bytes, 1e-6 * (double)f->cache_bytes);
    printf("%-8s %7s %12s %12s %12s %8s\n", "", "tokens", "tokens/s", "slowest", "fastest",
           written ? "GB/s" : "");
    if (prompt)
        print_row("prompt", m->prompt, m->runs, prompt, 0);
    if (written) /* each token reads the weights once */
        print_row("generate", m->written, m->runs, written, f->weight_bytes);
    return true;
}

int
tnt_bench_language(tnt_session *s, const tnt_args *a)
{
    static const char *const others[] = {"function", "input", "expect", "seconds",
                                         "seed",     "bind",  "dim"};
    int64_t prompt, written, runs;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tnt_has(a, others[i]))
            return tnt_usage(
                a->command,
                "--%s is not for --prompt and --generate, which measure a language model",
                others[i]);
    if (!tnt_int(a, "prompt", 0, 0, 1 << 24, &prompt) ||
        !tnt_int(a, "generate", 0, 0, 1 << 24, &written) ||
        !tnt_int(a, "runs", USUAL_RUNS, 1, MOST_RUNS, &runs))
        return TNT_USAGE;
    if (!prompt && !written)
        return tnt_usage(a->command, "--prompt and --generate are both 0");
    tnt_language l;
    tnb_err err = {0};
    if (!tnt_language_open(s, a, a->operands[0], (uint64_t)(prompt + written), &l))
        return tnt_failure();
    measured *m = calloc(1, sizeof *m);
    bool ok = m;
    if (m) {
        m->runs = (uint32_t)runs;
        const tn_node *kernels = NULL;
        const bool json = tnt_has(a, "json");
        tnb_status st = measure(a, &l, (size_t)prompt, (size_t)written, m, &err);
        ok = st == TNB_OK && (json || print(s, a, &l, m, (size_t)prompt, (size_t)written, NULL));
        if (ok && tnt_has(a, "profile-kernels")) {
            st = profile(s, a, &l, (size_t)prompt, (size_t)written, &kernels, &err);
            ok = st == TNB_OK;
        }
        if (st != TNB_OK)
            tnt_complain(&err);
        else if (ok && json)
            ok = print(s, a, &l, m, (size_t)prompt, (size_t)written, kernels);
    } else {
        fputs("tenon: out of memory\n", stderr);
    }
    free(m);
    tnt_language_close(&l);
    return ok ? TNT_OK : TNT_FAILED;
}
