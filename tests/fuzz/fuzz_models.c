/* SPDX-License-Identifier: Apache-2.0 */
/* Random models, compiled for the cpu target in several ways, against the interpreter on the module as it is.
 *
 *     fuzz_models [--seed S] [--count N] [--seconds T] [--only NUMBER] [--keep DIR] [--verbose 1]
 *
 * Each seed makes one graph (model_graph.h) and runs it in every width of vectors, each time with other settings, which the seed
 * chooses too: threads, blocked layouts, Winograd's transforms, one of the optional passes left out. --only takes one of the ways alone.
 *
 * What differs, does not compile or does not run is reduced: results but one are left out, bindings become parameters, as long as
 * it goes wrong; the module and the settings are printed, and written to DIR/model-SEED.py. Ends with 1 then.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model_graph.h"
#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/driver.h"
#include "tenon/rt/vm.h"

enum { WAYS = 3, MAX_ARGS = 64, MOST_REDUCTIONS = 60 };

/* Passes that a target may do without: results are the same, to rounding. */
static const char *const optional[] = {"FoldBatchNorm",
                                       "FakeQuantizationToInteger",
                                       "BlockLayouts",
                                       "DeadCodeElimination",
                                       "FoldConstant",
                                       "FuseOps",
                                       "FuseTIR",
                                       "ApplyDefaultSchedule",
                                       "WidenLoop",
                                       "LoopPartition",
                                       "HoistIfThenElse",
                                       "RemoveNoOp",
                                       "RewriteDataflowReshape",
                                       "CommonSubexprElim",
                                       "KillAfterLastUse"};

typedef struct way {
    int vector_bytes, threads;
    bool winograd;
    const char *mcpu;
    const char *skip[3]; /* ends with NULL */
} way;

typedef struct fuzzer {
    tnb_conf *conf;
    tnb_plugins *plugins;
    tn_registry *reg;
    tnr_runtime *rt[4]; /* by threads */
    const char *keep;
    uint64_t seed;
    int only;
    bool verbose;
    uint32_t graphs, runs, refused, failed;
    uint64_t elements;
} fuzzer;

/* A graph and what it has to give. */
typedef struct problem {
    tn_ctx *ctx;
    const tn_module *m;
    tn_list args;
    const tn_expr *want;
    bool rounds; /* steps, see model_graph.h */
    bool half;
} problem;

static way
choose_way(uint64_t seed, int number)
{
    static const int widths[WAYS] = {16, 32, 64};
    random_source r = {seed ^ (0xabcdef + (uint64_t)number * 7919)};
    way w = {.vector_bytes = widths[number % WAYS],
             .threads = 1 + (int)random_below(&r, 3),
             .winograd = random_chance(&r, 70),
             .mcpu = random_chance(&r, 70) ? "native" : "x86-64-v3"};
    uint32_t n = 0;
    if (random_chance(&r, 30))
        w.skip[n++] = "BlockLayouts";
    if (random_chance(&r, 35))
        w.skip[n++] = optional[random_below(&r, sizeof optional / sizeof *optional)];
    return w;
}

static void
print_way(tnb_buf *b, const way *w)
{
    tnb_buf_printf(b,
                   "-t '{\"kind\": \"cpu\", \"mcpu\": \"%s\", \"vector_bytes\": %d, \"winograd\": "
                   "%d}' --threads %d",
                   w->mcpu, w->vector_bytes, w->winograd, w->threads);
    for (int i = 0; w->skip[i]; i++)
        tnb_buf_printf(b, "%s%s", i ? ",skip=" : " --debug skip=", w->skip[i]);
}

/* ---- running ---- */

static const tn_expr *
from_runtime(tn_ctx *ctx, tnr_value v, tnb_err *err)
{
    void *bytes;
    if (v.tag == TNR_TUPLE) {
        const tn_node *fields[8];
        uint32_t n = v.u.tuple->n;
        for (uint32_t i = 0; i < n && i < 8; i++)
            if (!(fields[i] = from_runtime(ctx, v.u.tuple->items[i], err)))
                return NULL;
        return n <= 8 ? tn_tuple_of(ctx, tn_list_of(ctx, fields, n)) : NULL;
    }
    if (v.tag != TNR_TENSOR)
        return NULL;
    const tnr_tensor *t = v.u.tensor;
    const tn_data *d = tn_data_new(ctx, t->dl.dtype, t->dl.ndim, t->dl.shape, &bytes);
    return d && tnr_tensor_read(t, bytes, t->n_bytes, err) == TNB_OK ? tn_constant_of(ctx, d)
                                                                     : NULL;
}

static const tn_expr *
call(tn_ctx *ctx, tnr_vm *vm, tn_list args, tnb_err *err)
{
    tnr_value values[MAX_ARGS] = {{0}}, ret = tnr_null();
    const tn_expr *out = NULL;
    tnb_status st = TNB_OK;
    for (uint32_t i = 0; i < args.n && st == TNB_OK; i++) {
        const tn_data *d = tn_as_constant(args.at[i])->data;
        st = tnr_tensor_from(tnr_vm_device(vm), tn_data_get(ctx, d), d->shape, (uint32_t)d->ndim,
                             d->dtype, &values[i], err);
    }
    if (st == TNB_OK)
        st = tnr_vm_call(vm, "main", values, args.n, &ret, err);
    if (st == TNB_OK)
        out = from_runtime(ctx, ret, err);
    for (uint32_t i = 0; i < args.n; i++)
        tnr_release(&values[i]);
    tnr_release(&ret);
    return out;
}

static void
take_diags(tn_ctx *ctx, tnb_buf *why)
{
    tnb_diags_print(tn_diags(ctx), why);
    tnb_diags_clear(tn_diags(ctx));
}

static const tn_expr *
compile_and_run(fuzzer *f, const problem *p, const way *w, tnb_buf *why)
{
    tnb_buf text = {0};
    tnb_buf_printf(&text,
                   "{\"kind\": \"cpu\", \"mcpu\": \"%s\", \"vector_bytes\": %d, \"winograd\": %d}",
                   w->mcpu, w->vector_bytes, w->winograd);
    const char *target = tn_str(p->ctx, text.s);
    tnb_buf_free(&text);
    tnk_model model = {.module = p->m};
    tnk_compile_options opt = {
        .conf = f->conf, .targets = &target, .n_targets = 1, .jobs = 1, .skip = w->skip};
    tnk_compile_result result;
    if (tnk_compile(p->ctx, &model, &opt, &result) != TNB_OK) {
        tnb_buf_puts(why, "it does not compile\n");
        take_diags(p->ctx, why);
        return NULL;
    }
    tnb_err err = {0};
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    uint32_t variant;
    tnr_runtime *rt = f->rt[w->threads];
    const tn_expr *out = NULL;
    tnb_status st = tnr_artifact_open_fd(result.fd, "compiled", &a, &err);
    close(result.fd);
    if (st == TNB_OK)
        st = tnr_artifact_pick(rt, a, NULL, &variant, NULL, &err);
    if (st == TNB_OK)
        st = tnr_vm_new(rt, a, variant, &vm, &err);
    if (st == TNB_OK)
        out = call(p->ctx, vm, p->args, &err);
    if (!out)
        tnb_buf_printf(why, "it does not run: %s\n", err.message);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    return out;
}

/* ---- comparing ---- */

static double
element(tn_ctx *ctx, const tn_data *d, uint64_t i)
{
    const void *bytes = tn_data_get(ctx, d);
    double v = 0;
    int64_t n = 0;
    if (tnb_dtype_is_float(d->dtype))
        (void)tnb_load_f64(bytes, d->dtype, i, &v);
    else if (tnb_load_i64(bytes, d->dtype, i, &n))
        v = (double)n;
    return v;
}

/* Steps may fall to either side of a rounding, and what follows spreads that: the difference as a whole is small, and so is the
 * share of elements that differ by much. */
static bool
nearly(tn_ctx *ctx, const tn_data *a, const tn_data *b, tnb_buf *why)
{
    double diff = 0, norm = 0;
    for (uint64_t i = 0; i < b->n_elems; i++) {
        double x = element(ctx, a, i), y = element(ctx, b, i);
        if (isnan(x) != isnan(y)) {
            tnb_buf_printf(why, "element %llu is %g instead of %g\n", (unsigned long long)i, x, y);
            return false;
        }
        diff += isnan(x) ? 0 : (x - y) * (x - y);
        norm += isnan(x) ? 0 : y * y;
    }
    if (sqrt(diff) <= 0.1 * sqrt(norm) + 0.03 * sqrt((double)b->n_elems) + 1e-6)
        return true;
    tnb_buf_printf(why, "the results differ by %g of their norm\n", sqrt(diff / norm));
    return false;
}

static bool
agree(fuzzer *f, const problem *p, const tn_expr *is, const tn_expr *want, tnb_buf *why)
{
    const tn_tuple *a = tn_as_tuple(is), *b = tn_as_tuple(want);
    if (b && (!a || a->fields.n != b->fields.n))
        return false;
    for (uint32_t i = 0; b && i < b->fields.n; i++)
        if (!agree(f, p, a->fields.at[i], b->fields.at[i], why))
            return false;
    if (b)
        return true;
    const tn_constant *x = tn_as_constant(is), *y = tn_as_constant(want);
    if (!x || !y || !tnb_dtype_eq(x->data->dtype, y->data->dtype) ||
        x->data->n_elems != y->data->n_elems) {
        tnb_buf_puts(why, "the result has another type\n");
        return false;
    }
    f->elements += y->data->n_elems;
    if (p->rounds)
        return nearly(p->ctx, x->data, y->data, why);
    /* sums of some thousand products around 1, over a few layers */
    double rtol = p->half ? 0.05 : 2e-3, atol = p->half ? 0.05 : 5e-4;
    return tn_values_close(p->ctx, is, want, rtol, atol, why);
}

/* ---- one graph ---- */

/* Arguments and what the interpreter gives; false: nothing can be said of the module. */
static bool
prepare(fuzzer *f, problem *p, uint64_t seed, const tn_node *dims, tnb_buf *why)
{
    tnb_err err = {0};
    const tn_evaluator *ev = tn_find_evaluator(f->reg, "interp", &err);
    tn_eval_options opt = {.budget = 400000000};
    if (!ev || !tn_random_args(p->ctx, tn_module_get(p->m, "main"), seed, dims, &p->args) ||
        p->args.n > MAX_ARGS) {
        take_diags(p->ctx, why);
        return false;
    }
    p->want = ev->run(ev->self, p->ctx, p->m, "main", p->args.at, p->args.n, &opt);
    if (!p->want || tn_is_error(p->want))
        take_diags(p->ctx, why);
    return p->want && !tn_is_error(p->want);
}

/* Whether it goes wrong; `why` tells how. */
static bool
goes_wrong(fuzzer *f, const problem *p, const way *w, tnb_buf *why)
{
    const tn_expr *is = compile_and_run(f, p, w, why);
    f->runs++;
    return !is || !agree(f, p, is, p->want, why);
}

static tn_walk_step
look_for_half(void *user, const tn_node *n)
{
    *(bool *)user |= n->kind == TN_KIND_TY_TENSOR && tnb_dtype_eq(tn_type_dtype(n), TNB_F16);
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
has_half(const tn_module *m)
{
    bool half = false;
    for (uint32_t i = 0; i < m->funcs.n; i++)
        tn_walk(m->funcs.at[i], TN_WALK_TYPES | TN_WALK_ONCE, look_for_half, NULL, &half);
    return half;
}

/* ---- reducing ---- */

/* The bindings of `main`, one block. */
static tn_list
bindings_of(const tn_module *m)
{
    const tn_function *f = tn_as_function(tn_module_get(m, "main"));
    const tn_seq_expr *s = tn_as_seq_expr(f->body);
    return ((const tn_bindings_block *)s->blocks.at[0])->bindings;
}

/* `main` with the given results, in which binding k is a parameter where cut[k]; what nothing uses is left out. */
static const tn_module *
rebuilt(tn_ctx *ctx, const tn_module *m, const bool *cut, tn_list wanted)
{
    const tn_function *f = tn_as_function(tn_module_get(m, "main"));
    tn_list all = bindings_of(m), kept = {0}, extra = {0}, params = {0};
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    bool *live = TNB_NEW_N(tn_scratch(ctx), bool, all.n + 1);
    for (uint32_t i = all.n; i-- > 0;) {
        const tn_var_binding *b = tn_as_var_binding(all.at[i]);
        for (uint32_t k = 0; k < wanted.n; k++)
            live[i] |= wanted.at[k] == b->var;
        for (uint32_t k = i + 1; k < all.n && !live[i]; k++)
            live[i] = live[k] && !cut[k] && tn_uses(tn_as_var_binding(all.at[k])->value, b->var);
    }
    for (uint32_t i = 0; i < all.n; i++) {
        const tn_var_binding *b = tn_as_var_binding(all.at[i]);
        if (live[i] && cut[i]) {
            const tn_expr *p = tn_var_new(ctx, tn_strf(ctx, "p%u", i), b->var->type);
            tnb_ptrmap_set(&map, b->var, p);
            extra = tn_list_append(ctx, extra, p);
        }
    }
    tn_builder *nb = tn_builder_new(ctx, NULL);
    for (uint32_t i = 0; i < f->params.n; i++) {
        bool used = i == 0; /* it may define the symbols */
        for (uint32_t k = 0; k < all.n && !used; k++)
            used = live[k] && !cut[k] && tn_uses(all.at[k], f->params.at[i]);
        if (used)
            params = tn_list_append(ctx, params, f->params.at[i]);
    }
    for (uint32_t i = 0; i < extra.n; i++)
        params = tn_list_append(ctx, params, extra.at[i]);
    (void)kept;
    tn_builder_begin_function(nb, params);
    tn_builder_begin_block(nb, true);
    const tn_node *given[8];
    uint32_t n = 0;
    for (uint32_t i = 0; i < all.n; i++) {
        const tn_var_binding *b = tn_as_var_binding(all.at[i]);
        if (live[i] && !cut[i])
            tnb_ptrmap_set(&map, b->var, tn_emit(nb, tn_subst(ctx, b->value, &map), "lv"));
    }
    for (uint32_t k = 0; k < wanted.n && n < 8; k++)
        given[n++] = tn_emit_output(nb, tn_subst(ctx, wanted.at[k], &map), "gv");
    tn_builder_end_block(nb);
    const tn_expr *body = n == 1 ? given[0] : tn_tuple_of(ctx, tn_list_of(ctx, given, n));
    const tn_node *attrs = tn_dictv(ctx, "global_symbol", tn_string(ctx, "main"), NULL);
    const tn_expr *nf = tn_builder_end_function(nb, body, NULL, true, attrs);
    if (tn_is_error(nf))
        return NULL;
    nf = tn_fresh_copy(ctx, nf, NULL);
    return tn_is_error(tn_builder_add_function(nb, nf, "main")) ? NULL : tn_builder_module(nb);
}

/* A smaller module that goes wrong in the same way, as far as some attempts get. */
static const tn_module *
reduce(fuzzer *f, const problem *p, const way *w, uint64_t seed, const tn_node *dims)
{
    tn_ctx *ctx = p->ctx;
    tn_list all = bindings_of(p->m);
    bool *cut = TNB_NEW_N(tn_arena(ctx), bool, all.n + 1);
    const tn_module *best = p->m;
    int tries = 0;
    tn_list wanted = {0};
    /* the first binding that goes wrong as the only result */
    for (uint32_t i = 0; i < all.n && tries < MOST_REDUCTIONS && !wanted.n; i++) {
        const tn_expr *v = tn_as_var_binding(all.at[i])->var;
        if (!tn_is(v->type, TN_KIND_TY_TENSOR))
            continue;
        tn_list one = tn_listv(ctx, v, NULL);
        problem q = *p;
        tnb_buf why = {0};
        q.m = rebuilt(ctx, p->m, cut, one);
        tries++;
        if (q.m && prepare(f, &q, seed, dims, &why) && goes_wrong(f, &q, w, &why)) {
            best = q.m;
            wanted = one;
        }
        tnb_buf_free(&why);
        tnb_diags_clear(tn_diags(ctx));
    }
    for (uint32_t i = all.n; i-- > 0 && wanted.n && tries < 2 * MOST_REDUCTIONS;) {
        const tn_var_binding *b = tn_as_var_binding(all.at[i]);
        if (b->var == wanted.at[0] || !tn_is(b->var->type, TN_KIND_TY_TENSOR) ||
            !tn_as_call(b->value))
            continue;
        problem q = *p;
        tnb_buf why = {0};
        cut[i] = true;
        q.m = rebuilt(ctx, p->m, cut, wanted);
        tries++;
        if (q.m && prepare(f, &q, seed, dims, &why) && goes_wrong(f, &q, w, &why))
            best = q.m;
        else
            cut[i] = false;
        tnb_buf_free(&why);
        tnb_diags_clear(tn_diags(ctx));
    }
    return best;
}

static void
report(fuzzer *f, const problem *p, const way *w, int number, uint64_t seed, const tn_node *dims,
       const char *why)
{
    tnb_buf settings = {0}, text = {0};
    f->failed++;
    print_way(&settings, w);
    printf("FAIL seed %llu way %d: %s%s\n", (unsigned long long)seed, number, why ? why : "",
           why && strchr(why, '\n') ? "" : "\n");
    fflush(stdout);
    const tn_module *small = reduce(f, p, w, seed, dims);
    tn_print_options po = {.inline_constants = true};
    tnb_buf_printf(
        &text, "# tenon diff THIS THIS --exec %s\n# fuzz_models --seed %llu --count 1 --only %d\n",
        settings.s, (unsigned long long)seed, number);
    if (dims && tn_as_dict(dims)->items.n)
        tnb_buf_printf(&text, "# extents: %s\n", tn_text(p->ctx, dims));
    if (tn_print(p->ctx, &small->base, &po, &text) != TNB_OK || !text.s)
        puts("the module cannot be printed");
    else if (text.n < 6000)
        puts(text.s);
    else
        printf("%.*s...\n", 3000, text.s);
    tnb_err err;
    const char *path =
        f->keep ? tn_strf(p->ctx, "%s/model-%llu-%d.py", f->keep, (unsigned long long)seed, number)
                : NULL;
    if (path && text.s && tnb_write_file(path, text.s, text.n, &err) == TNB_OK)
        printf("the reduced module: %s\n", path);
    fflush(stdout);
    tnb_buf_free(&settings);
    tnb_buf_free(&text);
}

static void
run_graph(fuzzer *f, uint64_t seed)
{
    tn_ctx *ctx = tn_ctx_new(f->reg);
    model_graph g;
    problem p = {.ctx = ctx};
    tnb_buf why = {0};
    f->graphs++;
    p.m = model_graph_make(&g, ctx, seed);
    p.rounds = g.rounds;
    bool made = p.m && !tn_verify(ctx, p.m), ready = made && prepare(f, &p, seed, g.dims, &why);
    if (!ready && made && tn_as_dict(g.dims)->items.n > 0) {
        f->refused++; /* a symbol is smaller than a window */
    } else if (!ready) {
        take_diags(ctx, &why);
        printf("FAIL seed %llu: the graph itself is wrong\n%s", (unsigned long long)seed,
               why.s ? why.s : "");
        f->failed++;
    }
    if (!ready) {
        tnb_buf_free(&why);
        tn_ctx_free(ctx);
        return;
    }
    p.half = has_half(p.m);
    if (f->verbose) {
        tnb_buf text = {0};
        if (tn_print(ctx, &p.m->base, NULL, &text) == TNB_OK)
            puts(text.s);
        tnb_buf_free(&text);
    }
    for (int i = 0; i < WAYS; i++) {
        if (f->only >= 0 && f->only != i)
            continue;
        way w = choose_way(seed, i);
        tnb_buf wrong = {0};
        if (goes_wrong(f, &p, &w, &wrong)) {
            report(f, &p, &w, i, seed, g.dims, wrong.s);
            i = WAYS; /* one of a graph is enough */
        }
        tnb_buf_free(&wrong);
    }
    tnb_buf_free(&why);
    tn_ctx_free(ctx);
}

/* ---- the program ---- */

static bool
parse_args(fuzzer *f, int argc, char **argv, uint32_t *count, double *seconds)
{
    f->only = -1;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return false;
        if (strcmp(argv[i], "--seed") == 0)
            f->seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--count") == 0)
            *count = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0)
            *seconds = (double)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--only") == 0)
            f->only = (int)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--keep") == 0)
            f->keep = argv[i + 1];
        else if (strcmp(argv[i], "--verbose") == 0)
            f->verbose = true;
        else
            return false;
    }
    return true;
}

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int
main(int argc, char **argv)
{
    fuzzer f = {.seed = 1};
    uint32_t count = 20;
    double seconds = 0, start = now();
    tnb_err err = {0};
    tnb_diags *diags = tnb_diags_new();
    if (!parse_args(&f, argc, argv, &count, &seconds)) {
        fprintf(
            stderr,
            "usage: fuzz_models [--seed S] [--count N] [--seconds T] [--only NUMBER] [--keep DIR] "
            "[--verbose 1]\n");
        return 2;
    }
    f.conf = tnb_conf_load(NULL, diags);
    bool ok = f.conf && tnb_plugins_open(f.conf, NULL, &f.plugins, &err) == TNB_OK &&
              (f.reg = tn_registry_new(f.plugins)) != NULL;
    for (int i = 1; i < 4 && ok; i++) {
        tnr_runtime_options opt = {.plugins = f.plugins, .conf = f.conf, .threads = i};
        ok = tnr_runtime_new(&opt, &f.rt[i], &err) == TNB_OK;
    }
    if (!ok) {
        fprintf(stderr, "fuzz_models: %s\n", err.message);
        return 2;
    }
    for (uint32_t i = 0; i < count && f.failed < 10 && (!seconds || now() - start < seconds); i++)
        run_graph(&f, f.seed + i);
    printf("%u graphs from seed %llu (%u do not fit their extents), %u runs, %llu elements "
           "compared, %u "
           "failures, %.0f s\n",
           f.graphs, (unsigned long long)f.seed, f.refused, f.runs, (unsigned long long)f.elements,
           f.failed, now() - start);
    for (int i = 1; i < 4; i++)
        tnr_runtime_free(f.rt[i]);
    tn_registry_free(f.reg);
    tnb_plugins_close(f.plugins);
    tnb_conf_free(f.conf);
    tnb_diags_free(diags);
    return f.failed > 0 || f.runs == 0 || f.refused > 20 + f.graphs / 20;
}
