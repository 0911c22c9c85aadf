/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs through random orders of passes, each pass checked by execution.
 *
 *     fuzz_passes [--seed S] [--count N] [--keep DIR]
 *     fuzz_passes --broken PASS [--seed S] [--count N]
 *
 * A pass may not refuse a module, make it ill-formed, change what it computes, or crash. What a pass
 * needs is seen to before: the passes with needs, and what these are, stand in `needs` below.
 * A function is not compared where one of both cannot be run; FUZZ_PASSES_UNVERIFIED in the
 * environment tells where: after FuseTIR, when it makes a tensor program of a function that had been
 * given a global_symbol; after a second LiftTransformParams, when inputs share an extent with the
 * weights of the transform function only through an expression (`m - 1`), so that inputs that fit
 * cannot be made up.
 *
 * The first form ends with 1 when a pass does what it may not, and writes the module before it, with
 * the command that shows the failure, to DIR/fuzz-SEED-PASS.py.
 * With --broken a pass that is known to be wrong stands in every order at the place that it is made
 * for; the run succeeds if it, and no other, is caught and named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_graph.h"
#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/driver.h"
#include "tests/broken/broken.h"

#define HALF_INPUTS "ToMixedPrecision{fp16_input_names=[\"x0\", \"x1\"]}"
#define BIND_N "BindSymbolicVars{binding_map={\"n\": 4}}"
#define BIND_M "BindSymbolicVars{binding_map={\"m\": \"n + 1\"}}"

/* In this order they make a finalized module. */
static const char *const pipeline[] = {"LegalizeOps",
                                       "AnnotateTIROpPattern",
                                       "FoldConstant",
                                       "FuseOps",
                                       "FuseTIR",
                                       "RewriteDataflowReshape",
                                       "ToNonDataflow",
                                       "RemovePurityChecking",
                                       "CallTIRRewrite",
                                       "StaticPlanBlockMemory{mode=arena}",
                                       "LowerAllocTensor",
                                       "KillAfterLastUse",
                                       "LowerRuntimeBuiltin",
                                       "ComputePrimValue",
                                       "VMShapeLower",
                                       "AttachGlobalSymbol"};
/* These may stand anywhere between. */
static const char *const others[] = {
    "CanonicalizeBindings",
    "DeadCodeElimination",
    "EliminateCommonSubexpr",
    "EliminateCommonSubexpr{call_only=true}",
    "Normalize",
    "FoldConstant",
    "FoldBatchNorm",
    "FakeQuantizationToInteger",
    "DecomposeOpsForInference",
    "CombineParallelMatmul",
    "FuseOps{fuse_opt_level=1}",
    "StaticPlanBlockMemory{mode=upstream}",
    "ApplyDefaultSchedule{rules=[cpu.Fallback]}",
    "SpecializePrimFuncBasedOnCallSite",
    "LiftTransformParams",
    "LambdaLift",
    "ToMixedPrecision{out_dtype=float32}",
    HALF_INPUTS,
    BIND_N,
    BIND_M,
    "DecomposeOpsForTraining",
    "ConvertLayout{desired_layouts={\"relax.nn.conv2d\": [\"NHWC\", "
    "\"OHWI\"]}}"};
enum { N_PIPELINE = sizeof pipeline / sizeof *pipeline, N_OTHERS = sizeof others / sizeof *others };
enum { MAX_ORDER = 48 };

/* Where each broken pass stands: after this item of the pipeline; NULL: first. */
static const struct {
    const char *pass, *after;
} places[N_BROKEN_PASSES] = {{"BreakDropBinding", NULL},
                             {"BreakBroadcast", "LegalizeOps"},
                             {"BreakTranspose", NULL},
                             {"BreakStorage", "StaticPlanBlockMemory{mode=arena}"},
                             {"BreakBound", "LegalizeOps"}};

typedef struct fuzzer {
    tn_registry *reg;
    const char *broken, *after; /* NULL: none */
    const char *keep;
    uint64_t seed;
    uint32_t graphs, runs, changes, verified, unverified, caught, failed;
} fuzzer;

/* ---- orders ---- */

static bool
exists(fuzzer *f, const char *item)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(item, "{"), item);
    return tn_find_pass(f->reg, name, NULL) != NULL;
}

static uint32_t
push(fuzzer *f, const char **order, uint32_t n, const char *item)
{
    if (n < MAX_ORDER && exists(f, item))
        order[n++] = item;
    return n;
}

/* The pipeline with some passes left out and others put between, or any passes in any order. A
 * broken pass needs the first form. */
static uint32_t
make_order(fuzzer *f, random_source *r, const char **order)
{
    uint32_t n = 0;
    if (!f->broken && random_chance(r, 35)) {
        for (uint32_t i = 4 + random_below(r, 10); i > 0; i--) {
            uint32_t k = random_below(r, N_PIPELINE + N_OTHERS);
            n = push(f, order, n, k < N_PIPELINE ? pipeline[k] : others[k - N_PIPELINE]);
        }
        return n;
    }
    if (f->broken && !f->after)
        n = push(f, order, n, f->broken);
    for (uint32_t i = 0; i < N_PIPELINE; i++) {
        if (random_chance(r, 25))
            n = push(f, order, n, others[random_below(r, N_OTHERS)]);
        if (f->broken || !random_chance(r, 12))
            n = push(f, order, n, pipeline[i]);
        if (f->after && strcmp(f->after, pipeline[i]) == 0)
            n = push(f, order, n, f->broken);
    }
    return n;
}

/* ---- what passes need ---- */

typedef struct search {
    const char *name; /* of an operator or a symbolic variable; NULL: a local function */
    const tn_node *func;
    bool found;
} search;

static tn_walk_step
find_call(void *user, const tn_node *n)
{
    search *s = user;
    s->found |= tn_is_call_to(n, s->name) != NULL;
    return s->found ? TN_WALK_STOP : TN_WALK_ON;
}

static tn_walk_step
find_local(void *user, const tn_node *n)
{
    search *s = user;
    s->found |= n != s->func && tn_is(n, TN_KIND_FUNCTION);
    return s->found ? TN_WALK_STOP : TN_WALK_ON;
}

static tn_walk_step
find_symbol(void *user, const tn_node *n)
{
    search *s = user;
    s->found |= tn_is_var(n) && tn_is_scalar(n) && strcmp(tn_var_name(n), s->name) == 0;
    return s->found ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
has(const tn_node *func, tn_visit_fn visit, const char *name)
{
    search s = {.name = name, .func = func};
    if (tn_is(func, TN_KIND_FUNCTION))
        tn_walk(func, TN_WALK_TYPES | TN_WALK_ONCE, visit, NULL, &s);
    return s.found;
}

static bool
any_has(const tn_module *m, tn_visit_fn visit, const char *name)
{
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (has(m->funcs.at[i], visit, name))
            return true;
    return false;
}

static bool
has_n(const tn_module *m)
{
    return any_has(m, find_symbol, "n");
}

static bool
has_m_beside_n(const tn_module *m)
{
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (has(m->funcs.at[i], find_symbol, "m") && !has(m->funcs.at[i], find_symbol, "n"))
            return false;
    return any_has(m, find_symbol, "m");
}

static bool
has_lowered_tensors(const tn_module *m)
{
    return !any_has(m, find_call, "relax.builtin.alloc_tensor");
}

static tn_walk_step
find_pure_call_in_dataflow(void *user, const tn_node *n)
{
    search *s = user;
    search inner = {.name = s->name};
    if (tn_is(n, TN_KIND_DATAFLOW_BLOCK))
        tn_walk(n, 0, find_call, NULL, &inner);
    s->found |= inner.found;
    return s->found ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
has_no_pure_call_in_dataflow(const tn_module *m)
{
    return !any_has(m, find_pure_call_in_dataflow, "relax.call_pure_packed");
}

static bool
has_no_local_function(const tn_module *m)
{
    return !any_has(m, find_local, NULL);
}

static bool
has_no_transform(const tn_module *m)
{
    for (uint32_t i = 0; i < m->names.n; i++)
        if (strstr(tn_module_name(m, i), "transform_params"))
            return false;
    return true;
}

static const struct {
    const char *item;
    bool (*met)(const tn_module *m);
} needs[] = {
    /* a variable that is not there cannot be bound, nor to one that is not there */
    {BIND_N, has_n},
    {BIND_M, has_m_beside_n},
    /* what a transform function gives, the function takes: its parameters keep their dtypes */
    {HALF_INPUTS, has_no_transform},
    /* ToNonDataflow comes before */
    {"RemovePurityChecking", has_no_pure_call_in_dataflow},
    /* LowerAllocTensor comes before */
    {"LowerRuntimeBuiltin", has_lowered_tensors},
    /* the machine has no form for local functions: a front end lifts them to the module */
    {"VMShapeLower", has_no_local_function},
};

static bool
may_run(const char *item, const tn_module *m)
{
    for (uint32_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (strcmp(needs[i].item, item) == 0)
            return needs[i].met(m);
    return true;
}

/* ---- one pass ---- */

static void
print_diags(tn_ctx *ctx, tnb_buf *out)
{
    tnb_diags_print(tn_diags(ctx), out);
    tnb_diags_clear(tn_diags(ctx));
}

/* A pass did what it must not: caught if it is the broken one. */
static void
found(fuzzer *f, tn_ctx *ctx, const tn_module *before, const char *item, uint64_t seed,
      const char *what)
{
    tnb_buf why = {0}, text = {0};
    print_diags(ctx, &why);
    if (f->broken && strcmp(item, f->broken) == 0 && why.s && strstr(why.s, f->broken)) {
        if (f->caught++ == 0)
            printf("seed %llu: %s", (unsigned long long)seed, why.s);
    } else {
        f->failed++;
        printf("FAIL seed %llu: %s %s\n%s", (unsigned long long)seed, item, what,
               why.s ? why.s : "");
        if (f->keep) {
            tnb_err err;
            tn_print_options po = {.inline_constants = true};
            const char *path = tn_strf(ctx, "%s/fuzz-%llu-%.*s.py", f->keep,
                                       (unsigned long long)seed, (int)strcspn(item, "{"), item);
            tnb_buf_printf(&text, "# tenon opt FILE --verify -p '%s'\n", item);
            if (tn_print(ctx, &before->base, &po, &text) == TNB_OK && text.s &&
                tnb_write_file(path, text.s, text.n, &err) == TNB_OK)
                printf("  the module before it: %s\n", path);
        }
    }
    fflush(stdout);
    tnb_buf_free(&why);
    tnb_buf_free(&text);
}

/* The module after the pass; NULL if the pass is wrong. */
static const tn_module *
run_pass(fuzzer *f, tn_ctx *ctx, const tn_module *m, const char *text, const tn_pass_check *check,
         const tn_target *target, uint64_t seed)
{
    tn_pass_list list = {0};
    tn_pass_run run = {.no_verify = true, .target = target};
    if (!tn_pass_list_parse(ctx, text, "fuzz_passes", &list)) {
        found(f, ctx, m, text, seed, "cannot be parsed");
        return NULL;
    }
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    const tn_module *after = tn_run_passes(ctx, m, &list, &run);
    f->runs++;
    if (!after) {
        if (tnb_diags_errors(tn_diags(ctx)) == errors) {
            found(f, ctx, m, text, seed, "refused the module and did not say why");
            return NULL;
        }
        tnb_err err = {0};
        tnb_diags_first(tn_diags(ctx), &err);
        found(f, ctx, m, text, seed,
              err.status == TNB_INTERNAL ? "failed inside" : "refused the module");
        return NULL;
    }
    tnb_diags_clear(tn_diags(ctx));
    if (after == m)
        return m;
    f->changes++;
    if (tn_verify(ctx, after)) {
        found(f, ctx, m, text, seed, "made the module ill-formed");
        return NULL;
    }
    const tn_pass *pass = tn_find_pass(f->reg, list.at[0].name, NULL);
    if (pass->keeps != TN_KEEPS_NOTHING &&
        !check->compare(check->user, ctx, &list.at[0], pass->keeps, m, after)) {
        found(f, ctx, m, text, seed, "changed what the module computes");
        return NULL;
    }
    tnb_arena_reset(tn_scratch(ctx));
    return after;
}

/* ---- one graph ---- */

static void
run_graph(fuzzer *f, const tnb_conf *conf, uint64_t seed)
{
    tn_ctx *ctx = tn_ctx_new(f->reg);
    const tn_module *m = random_graph(ctx, seed);
    const char *order[MAX_ORDER];
    random_source r = {seed ^ 0x5eed};
    tnk_target cpu = {0};
    f->graphs++;
    if (!m || tn_verify(ctx, m) || !tnk_target_find(ctx, conf, "cpu", &cpu)) {
        tnb_buf why = {0};
        print_diags(ctx, &why);
        printf("FAIL seed %llu: the graph itself is wrong\n%s", (unsigned long long)seed,
               why.s ? why.s : "");
        tnb_buf_free(&why);
        f->failed++;
        tn_ctx_free(ctx);
        return;
    }
    tnk_verify *v = tnk_verify_new(ctx, 10000000, 0, 0, seed);
    uint32_t n = make_order(f, &r, order);
    for (uint32_t i = 0; i < n && m; i++)
        if (may_run(order[i], m))

            m = run_pass(f, ctx, m, order[i], tnk_verify_check(v), cpu.target, seed);
    tnk_verify_report report = tnk_verify_result(v);
    f->verified += report.verified;
    f->unverified += report.n_unverified;
    for (uint32_t i = 0; i < report.n_unverified && getenv("FUZZ_PASSES_UNVERIFIED"); i++)
        printf("seed %llu: not verified: %s\n", (unsigned long long)seed, report.unverified[i]);
    tn_ctx_free(ctx);
}

static bool
parse_args(fuzzer *f, int argc, char **argv, uint32_t *count)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return false;
        if (strcmp(argv[i], "--seed") == 0)
            f->seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--count") == 0)
            *count = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--keep") == 0)
            f->keep = argv[i + 1];
        else if (strcmp(argv[i], "--broken") == 0)
            f->broken = argv[i + 1];
        else
            return false;
    }
    for (int i = 0; f->broken && i < N_BROKEN_PASSES; i++)
        if (strcmp(places[i].pass, f->broken) == 0) {
            f->after = places[i].after;
            return true;
        }
    return !f->broken;
}

int
main(int argc, char **argv)
{
    static const tn_plugin_desc broken = {.head =
                                              TNB_PLUGIN_HEAD(tn_plugin_desc, TNB_PLUGIN_COMPILER,
                                                              "broken", "0.1.0", "Apache-2.0",
                                                              "passes that break modules"),
                                          .passes = broken_passes,
                                          .n_passes = N_BROKEN_PASSES};
    fuzzer f = {.seed = 1};
    uint32_t count = 200;
    tnb_err err = {0};
    tnb_diags *diags = tnb_diags_new();
    tnb_conf *conf = tnb_conf_load(NULL, diags);
    tnb_plugins *plugins = NULL;
    if (!parse_args(&f, argc, argv, &count)) {
        fprintf(stderr, "usage: fuzz_passes [--broken PASS] [--seed S] [--count N] [--keep DIR]\n");
        return 2;
    }
    if (!conf || tnb_plugins_open(conf, NULL, &plugins, &err) != TNB_OK ||
        !(f.reg = tn_registry_new(plugins)) || tn_registry_add(f.reg, &broken, &err) != TNB_OK) {
        fprintf(stderr, "fuzz_passes: %s\n", err.message);
        return 2;
    }
    for (uint32_t i = 0; i < count && f.failed < 10; i++)
        run_graph(&f, conf, f.seed + i);
    printf("%u graphs from seed %llu, %u passes run, %u changed something, %u results compared, %u "
           "not compared, %u failures\n",
           f.graphs, (unsigned long long)f.seed, f.runs, f.changes, f.verified, f.unverified,
           f.failed);
    if (f.broken)
        printf("%s was caught %u times\n", f.broken, f.caught);
    tn_registry_free(f.reg);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    tnb_diags_free(diags);
    return f.failed || (f.broken && !f.caught);
}
