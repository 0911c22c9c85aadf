/* SPDX-License-Identifier: Apache-2.0 */
/* Broken ONNX models without end: fuzz_onnx [--seed S] [--count N] [--mb MIB] [--keep DIR] CASE...
 *
 * Each CASE is a folder with model.onnx and perhaps test_data_set_0/input_K.pb, as the ONNX backend
 * suite has them. A model is taken, some of its inputs become constants, a few of its fields are
 * changed, and it is imported. If that succeeds, the module has to be well-formed, is taken through
 * the graph passes of the target cpu and is executed by the interpreter.
 *
 * It fails with what a file may not do: crash or trip a sanitizer, take more than ten seconds of the processor or
 * --mb MiB, fail without an error or with one that says neither the node nor the part of the graph,
 * or make an ill-formed module. The model then is written to DIR/SEED.onnx. Models run in child
 * processes, many in each.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz_seeds.h"
#include "mutate.h"
#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/core/eval.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/driver.h"

enum { A_CHILD = 100, MAX_INPUTS = 8, MAX_MUTATIONS = 4, SECONDS = 10 };

/* What children and parent share. */
typedef struct progress {
    uint64_t seed; /* at hand */
    uint32_t imported, legalized, executed, refused, failed;
} progress;

typedef struct fuzzer {
    tn_registry *reg;
    tnb_conf *conf;
    tnb_plugins *plugins;
    const tn_evaluator *interp;
    char *const *cases;
    int n_cases;
    uint64_t mib;
    const char *keep;
    char model[64], folder[48]; /* the file that is imported */
    progress *now;
    tn_ctx *ctx;
} fuzzer;

/* ---- models ---- */

/* NULL: no such file, or a large one. */
static const void *
read_bytes(mutator *m, const char *path, size_t *n)
{
    char *data;
    tnb_err err = {0};
    if (tnb_read_file(path, 100000, &data, n, &err) != TNB_OK)
        return NULL;
    const void *bytes = tnb_dup(m->arena, data, *n);
    free(data);
    return bytes;
}

static message *
read_case(fuzzer *f, mutator *m, uint32_t i)
{
    if (i < FUZZ_SEEDS) {
        mw b = fuzz_seed((int)i);
        const void *bytes = tnb_dup(m->arena, b.s, b.n);
        message *root = mutate_read(m, bytes, b.n);
        tnb_buf_free(&b);
        return root;
    }
    const char *folder = f->cases[i - FUZZ_SEEDS];
    size_t n;
    const void *bytes = read_bytes(m, tnb_printf(m->arena, "%s/model.onnx", folder), &n);
    message *root = bytes ? mutate_read(m, bytes, n) : NULL;
    for (uint32_t k = 0; root && k < MAX_INPUTS; k++) {
        if (mutator_below(m, 5) < 2)
            continue;
        bytes =
            read_bytes(m, tnb_printf(m->arena, "%s/test_data_set_0/input_%u.pb", folder, k), &n);
        if (!bytes)
            break;
        mutate_bind(m, root, k, bytes, n);
    }
    return root;
}

/* The model of a seed. */
static mw
make_model(fuzzer *f, uint64_t seed)
{
    mutator m = {.state = seed * 2654435761u + 1, .arena = tnb_arena_new()};
    uint32_t n = FUZZ_SEEDS + (uint32_t)f->n_cases;
    uint32_t first = mutator_below(&m, 8) ? mutator_below(&m, n) : mutator_below(&m, FUZZ_SEEDS);
    message *root = read_case(f, &m, first);
    const message *other = read_case(f, &m, mutator_below(&m, n));
    mw out = {0};
    for (uint32_t k = mutator_below(&m, MAX_MUTATIONS) + 1; root && k > 0; k--)
        mutate_once(&m, root, other);
    if (root)
        mutate_write(root, &out);
    tnb_arena_free(m.arena);
    return out;
}

/* ---- one model ---- */

static void
found(fuzzer *f, const char *what)
{
    tnb_buf why = {0};
    if (f->ctx)
        tnb_diags_print(tn_diags(f->ctx), &why);
    printf("FAIL seed %llu: %s\n%s", (unsigned long long)f->now->seed, what, why.s ? why.s : "");
    fflush(stdout);
    tnb_buf_free(&why);
    f->now->failed++;
}

/* The first error has a place: a node, or the part of the model that the message begins with. */
static void
check_refusal(fuzzer *f)
{
    static const char *const parts[] = {"input '",    "input ",    "output '",   "initializer",
                                        "the graph ", "the model", "function '", "opset ",
                                        "byte ",      "the file",  "sparse "};
    tnb_diags *d = tn_diags(f->ctx);
    for (uint32_t i = 0; i < tnb_diags_count(d); i++) {
        const tnb_diag *e = tnb_diags_get(d, i);
        if (e->severity != TNB_ERROR)
            continue;
        bool placed = e->place.node != NULL;
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            placed |= strncmp(e->message, parts[k], strlen(parts[k])) == 0;
        if (e->status == TNB_INTERNAL || e->status == TNB_NO_MEMORY)
            found(f, "an error that is none of the model's");
        else if (!placed)
            found(f, "an error without a place");
        return;
    }
    found(f, "refused without an error");
}

/* Inputs for `func`: small numbers, symbols 2. False: no such inputs. */
static bool
make_args(fuzzer *f, mutator *m, const tn_function *func, const tn_expr **args)
{
    for (uint32_t i = 0; i < func->params.n; i++) {
        tn_list dims;
        int64_t shape[16];
        uint64_t count = 1;
        void *bytes;
        const tn_type *t = func->params.at[i]->type;
        if (i == MAX_INPUTS || !tn_type_dims(t, &dims) || dims.n > 16)
            return false;
        for (uint32_t k = 0; k < dims.n; k++) {
            if (!tn_int_value(dims.at[k], &shape[k]))
                shape[k] = 2;
            count = shape[k] > 4096 ? 4097 : count * (uint64_t)shape[k];
            if (count > 4096)
                return false;
        }
        tnb_dtype d = tn_type_dtype(t);
        const tn_data *data = tn_data_new(f->ctx, d, (int32_t)dims.n, shape, &bytes);
        for (uint64_t k = 0; data && k < count; k++)
            if (tnb_dtype_is_float(d))
                tnb_store_f64(bytes, d, k, mutator_below(m, 5) - 2.0);
            else
                tnb_store_i64(bytes, d, k, mutator_below(m, 3));
        if (!data)
            return false;
        args[i] = tn_constant_of(f->ctx, data);
    }
    return true;
}

/* What a refusal at this stage says is the passes' and the interpreter's business: only failures
 * inside count. */
static bool
went_wrong_inside(fuzzer *f)
{
    tnb_err err = {0};
    tnb_diags_first(tn_diags(f->ctx), &err);
    return err.status == TNB_OK || err.status == TNB_INTERNAL;
}

static void
run_module(fuzzer *f, const tn_module *module, uint64_t seed)
{
    tnk_target cpu = {0};
    tnk_pipeline p;
    tnk_compile_options o = {.conf = f->conf};
    const tn_expr *args[MAX_INPUTS];
    mutator m = {.state = seed};
    tn_eval_options eval = {.budget = 1000000};
    if (!tnk_target_find(f->ctx, f->conf, "cpu", &cpu) ||
        !tnk_pipeline_make(f->ctx, f->conf, &cpu, NULL, &p)) {
        found(f, "there is no target");
        return;
    }
    if (tnk_run_phases(f->ctx, module, &cpu, &p, TNK_LIBRARY_DISPATCH, TNK_FINALIZE, &o))
        f->now->legalized++;
    else if (went_wrong_inside(f))
        found(f, "the passes failed");
    tnb_diags_clear(tn_diags(f->ctx));
    const tn_function *main_fn = tn_as_function(tn_module_get(module, "main"));
    if (!main_fn || !make_args(f, &m, main_fn, args))
        return;
    if (f->interp->run(f->interp->self, f->ctx, module, "main", args, main_fn->params.n, &eval))
        f->now->executed++;
    else if (went_wrong_inside(f) && !eval.out_of_budget)
        found(f, "the interpreter failed");
}

static void
run_one(fuzzer *f, uint64_t seed)
{
    mw bytes = make_model(f, seed);
    tnb_err err = {0};
    tnk_model model = {0};
    struct rusage used;
    f->now->seed = seed;
    f->ctx = NULL;
    if (!bytes.n || tnb_write_file(f->model, bytes.s, bytes.n, &err) != TNB_OK) {
        tnb_buf_free(&bytes);
        return;
    }
    tnb_buf_free(&bytes);
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = SECONDS}, NULL);
    f->ctx = tn_ctx_new(f->reg);
    if (tnk_import(f->ctx, f->model, NULL, &model) != TNB_OK) {
        f->now->refused++;
        check_refusal(f);
    } else {
        f->now->imported++;
        tnb_diags_clear(tn_diags(f->ctx)); /* warnings */
        if (tn_verify(f->ctx, model.module))
            found(f, "the module is not well-formed");
        else
            run_module(f, model.module, seed);
    }
    tn_ctx_free(f->ctx);
    f->ctx = NULL;
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    getrusage(RUSAGE_SELF, &used);
    if ((uint64_t)used.ru_maxrss > f->mib * 1024) {
        found(f, "took too much memory");
        _exit(3);
    }
}

/* ---- all ---- */

static void
keep_model(fuzzer *f, uint64_t seed)
{
    char path[512];
    tnb_err err = {0};
    mw m = make_model(f, seed);
    snprintf(path, sizeof path, "%s/%llu.onnx", f->keep, (unsigned long long)seed);
    if (f->keep && tnb_write_file(path, m.s, m.n, &err) == TNB_OK)
        printf("  the model: %s\n", path);
    tnb_buf_free(&m);
}

/* Seeds [first, end) in a child; how far it came. */
static uint64_t
run_child(fuzzer *f, uint64_t first, uint64_t end)
{
    int status = 0;
    uint32_t failed = f->now->failed;
    f->now->seed = first;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        for (uint64_t s = first; s < end && f->now->failed == failed; s++)
            run_one(f, s);
        fflush(stdout);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("fuzz_onnx");
        exit(2);
    }
    bool died = WIFSIGNALED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3);
    if (died)
        found(f, WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ? "takes too long" : "crashed");
    if (f->now->failed > failed) {
        keep_model(f, f->now->seed);
        return f->now->seed + 1;
    }
    return end;
}

static bool
open_all(fuzzer *f)
{
    tnb_err err = {0};
    tnb_diags *diags = tnb_diags_new();
    f->conf = tnb_conf_load(NULL, diags);
    f->now = mmap(NULL, sizeof *f->now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(f->folder, sizeof f->folder, "/tmp/fuzz-onnx-%ld", (long)getpid());
    snprintf(f->model, sizeof f->model, "%s/model.onnx", f->folder);
    if (f->now == MAP_FAILED || !f->conf || tnb_make_dirs(f->folder, 0700, &err) != TNB_OK ||
        tnb_plugins_open(f->conf, NULL, &f->plugins, &err) != TNB_OK ||
        !(f->reg = tn_registry_new(f->plugins)) ||
        !(f->interp = tn_find_evaluator(f->reg, "interp", &err)) ||
        !tn_find_entry(f->reg, "importer", "onnx", &err)) {
        fprintf(stderr, "fuzz_onnx: %s\n", err.message);
        return false;
    }
    tnb_diags_free(diags);
    return true;
}

int
main(int argc, char **argv)
{
    fuzzer f = {.mib = 2048};
    uint64_t seed = 1, count = 500;
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--mb") == 0)
            f.mib = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--keep") == 0)
            f.keep = argv[i + 1];
        else
            return 2;
    }
    f.cases = argv + i;
    f.n_cases = argc - i;
    if (!open_all(&f))
        return 2;
    for (uint64_t s = seed; s < seed + count && f.now->failed < 50;) {
        uint64_t end = s + A_CHILD < seed + count ? s + A_CHILD : seed + count;
        s = run_child(&f, s, end);
    }
    unlink(f.model);
    rmdir(f.folder);
    printf(
        "%llu models from seed %llu: %u refused, %u imported, %u through the passes, %u executed, "
        "%u failures\n",
        (unsigned long long)count, (unsigned long long)seed, f.now->refused, f.now->imported,
        f.now->legalized, f.now->executed, f.now->failed);
    tn_registry_free(f.reg);
    tnb_plugins_close(f.plugins);
    tnb_conf_free(f.conf);
    return f.now->failed != 0;
}
