/* SPDX-License-Identifier: Apache-2.0 */
/* tenon onnx-test: runs ONNX backend test cases, each (or each batch) in a process of its own.
 *
 * A case is a folder with model.onnx and folders test_data_set_N, which hold input_K.pb and
 * output_K.pb: tensors with the names of the model's, in any order, or without, in its order.
 * Inputs whose values decide shapes are bound at compile time when the importer asks
 * for it; how many cases needed that is printed.
 */
#include "tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/tensor_pb.h"
#include "tenon/base/wire.h"
#include "tenon/core/eval.h"
#include "tenon/core/walk.h"
#include "tenon/rt/tensor.h"

static const tnt_option options[] = {
    {"target", 't', TNT_VALUE, "NAME", "target (default: cpu)",
     .without = "list|interp|import-only"},
    {"jobs", 'j', TNT_VALUE, "N", "number of cases to run in parallel (default 1)",
     .without = "list"},
    {"batch", 0, TNT_VALUE, "N", "cases per process (default 1); for devices that open slowly",
     .without = "list"},
    {"list", 0, TNT_FLAG, NULL, "only list the cases"},
    {"quiet", 'q', TNT_FLAG, NULL, "print no line for cases that pass"},
    {"interp", 0, TNT_FLAG, NULL,
     "run the imported module on the reference interpreter, without compiling it",
     .without = "list|import-only"},
    {"import-only", 0, TNT_FLAG, NULL, "only import the models and verify the modules",
     .without = "list"},
    {"rtol", 0, TNT_VALUE, "X", "relative tolerance (default 1e-3)", .without = "list|import-only"},
    {"atol", 0, TNT_VALUE, "X", "absolute tolerance (default 1e-7)", .without = "list|import-only"},
    {"timeout", 0, TNT_VALUE, "S", "limit in seconds for a case (default 300)", .without = "list"},
    {"threads", 0, TNT_VALUE, "N", "number of threads per case (default 1)",
     .without = "list|import-only"},
    {"profile", 0, TNT_VALUE, "NAME", "insert the passes of [profile NAME]",
     .without = "list|interp|import-only"},
    TNT_PASS_CONFIG,
    {"dim", 0, TNT_LIST, "NAME=N", "fix a dynamic dimension, or a whole input as INPUT=[N, ...]",
     .without = "list"},
    {"verify", 0, TNT_FLAG, NULL, "execute the module before and after each pass and compare",
     .without = "list|interp|import-only"},
    {"verify-budget", 0, TNT_VALUE, "N",
     "limit on scalar operations per function and pass (default 1e9)", "verify"},
    {"no-cache", 0, TNT_FLAG, NULL, "do not use the kernel cache",
     .without = "list|interp|import-only"},
    {0}};

enum { MAX_TENSORS = 256, MAX_SETS = 1000, MAX_DEPTH = 4, MAX_LINE = 1024 };

typedef enum verdict { PASSED, FAILED, SKIPPED } verdict;

/* What a child tells its parent: one record through the pipe. */
typedef struct report {
    int32_t verdict;
    int32_t bound; /* inputs bound at compile time */
    char why[MAX_LINE];
} report;

/* ---- one case (in the child) ---- */

typedef struct one_case {
    tnt_session *s;
    const tnt_args *a;
    const char *dir;
    double rtol, atol;
    report *out;
    /* of the data set at hand */
    const tn_expr *inputs[MAX_TENSORS], *outputs[MAX_TENSORS];
    uint32_t n_inputs, n_outputs;
    const tn_node *bound; /* Dict name -> Constant */
    bool is_bound[MAX_TENSORS];
} one_case;

static bool
give_up(one_case *c, verdict v, const char *fmt, ...) TNB_PRINTF(3, 4);

static bool
give_up(one_case *c, verdict v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->out->why, sizeof c->out->why, fmt, ap);
    va_end(ap);
    for (char *p = c->out->why; *p; p++)
        if (*p == '\n')
            *p = ' ';
    c->out->verdict = (int32_t)v;
    return false;
}

/* What is missing skips a case; everything else that goes wrong fails it. */
static verdict
verdict_of(tnb_status s)
{
    return s == TNB_UNSUPPORTED ? SKIPPED : FAILED;
}

/* Ends the case with the first error that the context recorded. */
static bool
give_up_recorded(one_case *c, const char *doing)
{
    tnb_diags *d = tn_diags(c->s->ctx);
    for (uint32_t i = 0; i < tnb_diags_count(d); i++) {
        const tnb_diag *e = tnb_diags_get(d, i);
        if (e->severity != TNB_ERROR)
            continue;
        bool no_operator = e->status == TNB_NOT_FOUND && strncmp(e->message, "no op '", 7) == 0;
        return give_up(c, no_operator ? SKIPPED : verdict_of(e->status), "%s: %s%s%s", doing,
                       e->place.node ? e->place.node : "", e->place.node ? ": " : "", e->message);
    }
    return give_up(c, FAILED, "%s: failed without an error message", doing);
}

/* The names of a GraphProto's values: field `number`, whose name is field `name`. False: the bytes
 * are broken. */
static bool
names_of(tn_ctx *ctx, const tnb_wire_field *graph, uint32_t number, uint32_t name, tn_list *out)
{
    tnb_wire_field f, part;
    for (const uint8_t *p = graph->data, *end = p + graph->n; p < end;) {
        if (tnb_wire_next(&p, end, &f))
            return false;
        if (f.number != number || f.type != TNB_WIRE_BYTES)
            continue;
        for (const uint8_t *q = f.data, *stop = q + f.n; q < stop;) {
            if (tnb_wire_next(&q, stop, &part))
                return false;
            if (part.number == name && part.type == TNB_WIRE_BYTES)
                *out = tn_list_append(ctx, *out,
                                      tn_string(ctx, tnb_strndup(tn_arena(ctx),
                                                                 (const char *)part.data, part.n)));
        }
    }
    return true;
}

/* What the model file calls the inputs that it gives no value, as an Array of texts; NULL: it
 * cannot be read. */
static const tn_node *
input_names(one_case *c)
{
    enum { GRAPH = 7, INITIALIZER = 5, INITIALIZER_NAME = 8, INPUT = 11, INPUT_NAME = 1 };
    tn_ctx *ctx = c->s->ctx;
    tnb_mapping map = {0};
    tnb_err err = {0};
    tnb_wire_field graph = {0};
    tn_list inputs = {0}, given = {0}, names = {0};
    tnb_strmap known;
    if (tnb_map_file(tnb_printf(tn_arena(ctx), "%s/model.onnx", c->dir), 0, &map, &err) != TNB_OK)
        return NULL;
    const uint8_t *p = map.data, *end = p + map.size;
    while (p < end && graph.number != GRAPH && !tnb_wire_next(&p, end, &graph))
        ;
    bool ok = graph.number == GRAPH && graph.type == TNB_WIRE_BYTES &&
              names_of(ctx, &graph, INITIALIZER, INITIALIZER_NAME, &given) &&
              names_of(ctx, &graph, INPUT, INPUT_NAME, &inputs);
    tnb_unmap(&map);
    tnb_strmap_init(&known, tn_arena(ctx));
    for (uint32_t i = 0; i < given.n; i++)
        tnb_strmap_set(&known, tn_as_string_imm(given.at[i])->value, c);
    for (uint32_t i = 0; i < inputs.n; i++)
        if (!tnb_strmap_has(&known, tn_as_string_imm(inputs.at[i])->value))
            names = tn_list_append(ctx, names, inputs.at[i]);
    return ok ? tn_array_of(ctx, names) : NULL;
}

/* Puts tensors into the order of the model's values: each has the place of its name, those without
 * one what is left. Where a name means nothing to the model, all stay as the files count them. */
static void
order_by_names(const tn_node *model_names, const char *const *names, const tn_expr **t, uint32_t n)
{
    const tn_expr *placed[MAX_TENSORS] = {0};
    const tn_array *wanted = tn_as_array(model_names);
    for (int with_name = 1; with_name >= 0; with_name--)
        for (uint32_t i = 0, at = 0; i < n; i++) {
            if ((*names[i] != 0) != with_name)
                continue;
            for (at = 0; at < n; at++)
                if (!placed[at] &&
                    (!with_name ||
                     (wanted && at < wanted->items.n &&
                      strcmp(tn_as_string_imm(wanted->items.at[at])->value, names[i]) == 0)))
                    break;
            if (at == n)
                return;
            placed[at] = t[i];
        }
    memcpy(t, placed, n * sizeof *t);
}

/* Reads input_0.pb ... or output_0.pb ... and the tensors' names; 0 files are fine. */
static bool
load_tensors(one_case *c, const char *set, const char *kind, const tn_expr **out,
             const char **names, uint32_t *n)
{
    tnb_arena *arena = tn_arena(c->s->ctx);
    for (*n = 0; *n < MAX_TENSORS; ++*n) {
        tnb_tensor_pb t;
        tnb_err err = {0};
        void *bytes;
        const char *path = tnb_printf(arena, "%s/%s_%u.pb", set, kind, *n);
        if (access(path, F_OK) != 0)
            break;
        if (tnb_tensor_pb_read(path, &t, &err) != TNB_OK)
            return give_up(c, verdict_of(err.status), "%s", err.message);
        const tn_data *d = tn_data_new(c->s->ctx, t.dtype, t.ndim, t.shape, &bytes);
        if (d && t.n_bytes)
            memcpy(bytes, t.data, t.n_bytes);
        names[*n] = tnb_strndup(arena, t.name ? t.name : "", t.name_len);
        tnb_tensor_pb_free(&t);
        if (!d)
            return give_up_recorded(c, "reading the data");
        out[*n] = tn_constant_of(c->s->ctx, d);
    }
    return true;
}

/* Binds the inputs that the importer asked for. False when there are none, or they are bound
 * already. */
static bool
bind_wanted(one_case *c, const tn_node *wanted)
{
    const tn_dict *d = tn_as_dict(wanted);
    bool any = false;
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = tn_as_pair(d->items.at[i]);
        int64_t place = -1;
        if (!tn_int_value(p->value, &place) || place < 0 || place >= (int64_t)c->n_inputs ||
            c->is_bound[place])
            continue;
        c->bound = tn_dict_set(c->s->ctx, c->bound, p->key, c->inputs[place]);
        c->is_bound[place] = true;
        any = true;
    }
    return any;
}

/* A few data sets have another rank than their model declares: the data's extents are then given
 * for the input. */
static bool
adjust_ranks(one_case *c, const tnk_model *model, tnk_import_options *o)
{
    const tn_function *f = tn_as_function(tn_module_get(model->module, "main"));
    const tn_array *names = tn_as_array(tn_dict_get(model->module->attrs, "input_names"));
    uint32_t n = 0;
    bool any = false;
    for (uint32_t i = 0; f && names && i < c->n_inputs; i++) {
        if (c->is_bound[i] || n >= f->params.n || n >= names->items.n)
            continue;
        const tn_data *d = ((const tn_constant *)c->inputs[i])->data;
        int64_t rank = tn_type_ndim(f->params.at[n]->type);
        const char *name = tn_as_string_imm(names->items.at[n++])->value;
        if (rank < 0 || rank == d->ndim)
            continue;
        o->dims = tn_dict_set(c->s->ctx, o->dims, name,
                              tn_int_array(c->s->ctx, d->shape, (uint32_t)d->ndim));
        any = true;
    }
    return any;
}

static bool
import_model(one_case *c, tnk_model *model)
{
    bool adjusted = false;
    const char *path = tnb_printf(tn_arena(c->s->ctx), "%s/model.onnx", c->dir);
    tnk_import_options o;
    if (!tnt_import_options(c->s, c->a, &o))
        return give_up(c, FAILED, "invalid options");
    for (;;) {
        o.inputs = c->bound;
        memset(model, 0, sizeof *model);
        bool ok = tnk_import(c->s->ctx, path, &o, model) == TNB_OK;
        if (ok && (adjusted || !adjust_ranks(c, model, &o)))
            break;
        adjusted |= ok;
        if (!ok && !bind_wanted(c, model->must_bind))
            return give_up_recorded(c, "import");
        tnb_diags_clear(tn_diags(c->s->ctx));
    }
    for (uint32_t i = 0; i < c->n_inputs; i++)
        c->out->bound += c->is_bound[i];
    tnb_diags_clear(tn_diags(c->s->ctx)); /* warnings */
    if (tn_verify(c->s->ctx, model->module))
        return give_up_recorded(c, "the imported module is not well-formed");
    return true;
}

/* Older data sets store bfloat16 tensors as uint16 of the same bits. */
static const tn_expr *
with_type(one_case *c, const tn_expr *e, tnb_dtype wanted)
{
    const tn_data *d = ((const tn_constant *)e)->data;
    static const tnb_dtype u16 = {TNB_UINT, 16, 1};
    void *bytes;
    if (!tnb_dtype_eq(wanted, TNB_BF16) || !tnb_dtype_eq(d->dtype, u16))
        return e;
    const tn_data *copy = tn_data_new(c->s->ctx, wanted, d->ndim, d->shape, &bytes);
    if (!copy)
        return e;
    memcpy(bytes, tn_data_get(c->s->ctx, d), d->n_bytes);
    return tn_constant_of(c->s->ctx, copy);
}

/* The inputs that are given at run time, in order. */
static uint32_t
run_time_inputs(one_case *c, const tnk_model *model, const tn_expr **args)
{
    const tn_function *f = tn_as_function(tn_module_get(model->module, "main"));
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (!c->is_bound[i]) {
            tnb_dtype wanted =
                f && n < f->params.n ? tn_type_dtype(f->params.at[n]->type) : TNB_VOID;
            args[n++] = with_type(c, c->inputs[i], wanted);
        }
    return n;
}

static bool
compare(one_case *c, const char *set, const tn_expr *const *results, uint32_t n)
{
    if (n != c->n_outputs)
        return give_up(c, FAILED, "%s: the model has %u outputs, the data set %u",
                       tnb_path_name(set), n, c->n_outputs);
    for (uint32_t i = 0; i < n; i++) {
        tnb_buf why = {0};
        tnb_dtype d = tn_type_dtype(results[i]->type);
        const tn_expr *want = with_type(c, c->outputs[i], d);
        /* two units in the last place of bfloat16, as ONNX's own runner allows */
        double rtol = tnb_dtype_eq(d, TNB_BF16) && c->rtol < 0x1p-6 ? 0x1p-6 : c->rtol;
        if (!tn_values_close(c->s->ctx, results[i], want, rtol, c->atol, &why))
            give_up(c, FAILED, "%s: output %u differs: %s", tnb_path_name(set), i,
                    why.s ? why.s : "");
        tnb_buf_free(&why);
        if (c->out->verdict != PASSED)
            return false;
    }
    return true;
}

static bool
run_interpreted(one_case *c, const char *set, const tnk_model *model)
{
    tnb_err err = {0};
    const tn_expr *args[MAX_TENSORS];
    tn_eval_options opt = {0};
    const tn_evaluator *e = tn_find_evaluator(c->s->registry, NULL, &err);
    if (!e)
        return give_up(c, FAILED, "%s", err.message);
    uint32_t n = run_time_inputs(c, model, args);
    const tn_expr *r = TN_WITHIN(c->s->ctx, "evaluator", e, NULL,
                                 e->run(e->self, c->s->ctx, model->module, "main", args, n, &opt));
    if (!r)
        return give_up_recorded(c, "interpreter");
    const tn_tuple *t = tn_as_tuple(r);
    return compare(c, set, t ? t->fields.at : &r, t ? t->fields.n : 1);
}

static bool
call_compiled(one_case *c, const char *set, const tnk_model *model, tnr_vm *vm)
{
    tnr_value args[MAX_TENSORS] = {{0}}, ret = tnr_null();
    const tn_expr *given[MAX_TENSORS], *results[MAX_TENSORS];
    tnb_err err = {0};
    uint32_t n = run_time_inputs(c, model, given), n_results = 0;
    tnb_status st = TNB_OK;
    for (uint32_t i = 0; i < n && st == TNB_OK; i++)
        st = tnt_to_runtime(tnr_vm_device(vm), given[i], c->s->ctx, &args[i], &err);
    if (st == TNB_OK)
        st = tnr_vm_call(vm, "main", args, n, &ret, &err);
    for (uint32_t i = 0; i < n; i++)
        tnr_release(&args[i]);
    bool ok =
        st == TNB_OK || give_up(c, verdict_of(st), "%s: run: %s", tnb_path_name(set), err.message);
    if (ok) {
        const tnr_value *values = tnt_results(&ret, &n_results);
        for (uint32_t i = 0; i < n_results && i < MAX_TENSORS && ok; i++) {
            results[i] = tnt_from_runtime(c->s, values[i]);
            ok = results[i] ||
                 give_up(c, FAILED, "%s: cannot read output %u", tnb_path_name(set), i);
        }
        ok = ok && compare(c, set, results, n_results);
    }
    tnr_release(&ret);
    return ok;
}

static bool
run_compiled(one_case *c, const char *set, const tnk_model *model)
{
    tnt_program p = {.compiled.fd = -1};
    tnk_compile_options opt;
    tnb_err err = {0};
    uint32_t variant = 0;
    tnr_runtime *rt = tnt_runtime(c->s, c->a);
    if (!rt || !tnt_compile_options(c->s, c->a, &opt))
        return give_up(c, FAILED, "cannot start the runtime");
    opt.jobs = 1;
    opt.progress = false;
    opt.n_targets = opt.n_targets ? 1 : 0;
    if (tnk_compile(c->s->ctx, model, &opt, &p.compiled) != TNB_OK)
        return give_up_recorded(c, "compile");
    p.was_compiled = true;
    tnb_status st = tnr_artifact_open_fd(p.compiled.fd, c->dir, &p.artifact, &err);
    if (st == TNB_OK)
        st = tnr_artifact_pick(rt, p.artifact, NULL, &variant, NULL, &err);
    if (st == TNB_OK)
        st = tnr_vm_new(rt, p.artifact, variant, &p.vm, &err);
    bool ok = st == TNB_OK ? call_compiled(c, set, model, p.vm)
                           : give_up(c, verdict_of(st), "load: %s", err.message);
    tnt_program_close(&p);
    return ok;
}

static bool
run_set(one_case *c, const char *set)
{
    tnk_model model;
    c->bound = NULL;
    memset(c->is_bound, 0, sizeof c->is_bound);
    c->out->bound = 0;
    c->n_inputs = 0;
    /* first without data: those of sequences and the like would read as broken tensors */
    if (!import_model(c, &model) && !model.must_bind)
        return false;
    c->out->verdict = PASSED;
    c->out->why[0] = 0;
    tnb_diags_clear(tn_diags(c->s->ctx));
    const char *in_names[MAX_TENSORS], *out_names[MAX_TENSORS];
    if (!load_tensors(c, set, "input", c->inputs, in_names, &c->n_inputs) ||
        !load_tensors(c, set, "output", c->outputs, out_names, &c->n_outputs))
        return false;
    order_by_names(input_names(c), in_names, c->inputs, c->n_inputs);
    if (!c->n_outputs)
        return give_up(c, SKIPPED, "%s holds no output_0.pb", tnb_path_name(set));
    if (!import_model(c, &model) || tnt_has(c->a, "import-only"))
        return c->out->verdict == PASSED;
    order_by_names(tn_dict_get(model.module->attrs, "output_names"), out_names, c->outputs,
                   c->n_outputs);
    return tnt_has(c->a, "interp") ? run_interpreted(c, set, &model) : run_compiled(c, set, &model);
}

static void
run_case(tnt_session *s, const tnt_args *a, const char *dir, double rtol, double atol, report *out)
{
    one_case c = {.s = s, .a = a, .dir = dir, .rtol = rtol, .atol = atol, .out = out};
    uint32_t sets = 0;
    for (; sets < MAX_SETS; sets++) {
        const char *set = tnb_printf(tn_arena(s->ctx), "%s/test_data_set_%u", dir, sets);
        if (access(set, F_OK) != 0 || !run_set(&c, set))
            break;
    }
    if (!sets && out->verdict == PASSED && !*out->why)
        give_up(&c, SKIPPED, "the folder has no test_data_set_0");
}

/* ---- finding cases ---- */

typedef struct case_list {
    tnb_arena *arena;
    TNB_VEC(const char *) dirs;
} case_list;

static bool
find_cases(case_list *l, const char *dir, int depth)
{
    tnb_err err = {0};
    const char **names;
    uint32_t n;
    if (access(tnb_path_join(l->arena, dir, "model.onnx"), F_OK) == 0) {
        TNB_PUSH(l->arena, l->dirs, dir);
        return true;
    }
    if (tnb_list_dir(l->arena, dir, NULL, &names, &n, &err) != TNB_OK) {
        if (depth == 0)
            tnt_complain(&err);
        return depth > 0; /* a plain file among the folders */
    }
    for (uint32_t i = 0; i < n && depth < MAX_DEPTH; i++)
        if (names[i][0] != '.' && !find_cases(l, tnb_path_join(l->arena, dir, names[i]), depth + 1))
            return false;
    return true;
}

/* ---- children (in the parent) ---- */

/* A process and the cases that it runs: `n` from `first` on, of which `n_done` have told. */
typedef struct child {
    pid_t pid; /* 0: free */
    int fd;
    uint32_t first, n, n_done;
    double deadline;
    size_t got;
    report report;
} child;

static bool
tell(int fd, const report *r)
{
    const char *p = (const char *)r;
    for (size_t n = 0; n < sizeof *r;) {
        ssize_t k = write(fd, p + n, sizeof *r - n);
        if (k < 0 && errno != EINTR)
            return false;
        n += k > 0 ? (size_t)k : 0;
    }
    return true;
}

static bool
start_child(tnt_session *s, const tnt_args *a, const char *const *dirs, double rtol, double atol,
            double timeout, child *c)
{
    int fds[2];
    fflush(stdout);
    fflush(stderr);
    if (pipe(fds) != 0)
        return false;
    pid_t pid = (pid_t)tnt_fork();
    if (pid < 0) {
        close(fds[0]);
        close(fds[1]);
        return false;
    }
    if (pid == 0) {
        bool told = true;
        close(fds[0]);
        for (uint32_t i = 0; i < c->n && told; i++) {
            report r = {0};
            tnb_diags_clear(tn_diags(s->ctx));
            run_case(s, a, dirs[c->first + i], rtol, atol, &r);
            told = tell(fds[1], &r);
        }
        close(fds[1]);
        tnt_session_close(s);
        exit(0); /* not _exit: a leak checker has its say */
    }
    close(fds[1]);
    c->pid = pid;
    c->fd = fds[0];
    c->deadline = tnt_now() + timeout;
    c->n_done = 0;
    c->got = 0;
    return true;
}

/* Reads what has come; true at the end of the pipe. */
static bool
read_child(child *c, report *reports, bool *done, double timeout)
{
    char *to = (char *)&c->report + c->got;
    ssize_t k = read(c->fd, to, sizeof c->report - c->got);
    if (k < 0)
        return errno != EINTR && errno != EAGAIN;
    c->got += (size_t)k;
    if (c->got == sizeof c->report && c->n_done < c->n) {
        reports[c->first + c->n_done] = c->report;
        c->n_done++;
        c->got = 0;
        c->deadline = tnt_now() + timeout;
        /* the last case of a process is done when the process has ended well */
        if (c->n_done < c->n)
            done[c->first + c->n_done - 1] = true;
    }
    return k == 0;
}

/* Waits for a process. A case that it ended in has failed; those behind are left to another one. */
static void
finish_child(child *c, bool late, double timeout, report *reports, bool *done)
{
    int status = 0;
    if (late)
        kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(c->fd);
    uint32_t at = c->n_done < c->n ? c->n_done : c->n - 1;
    report *r = &reports[c->first + at];
    bool failed = true;
    if (late)
        snprintf(r->why, sizeof r->why, "no result within %g seconds", timeout);
    else if (WIFSIGNALED(status))
        snprintf(r->why, sizeof r->why, "crashed: %s", strsignal(WTERMSIG(status)));
    else if (c->n_done < c->n || WEXITSTATUS(status))
        snprintf(r->why, sizeof r->why, "ended with exit status %d", WEXITSTATUS(status));
    else
        failed = false;
    if (failed)
        r->verdict = FAILED;
    done[c->first + at] = true;
    c->first += at + 1;
    c->n -= at + 1;
    c->pid = 0;
}

typedef struct totals {
    uint32_t count[3], bound;
} totals;

static void
print_line(const tnt_args *a, const char *dir, const report *r, totals *t)
{
    static const char *const words[] = {"PASS", "FAIL", "SKIP"};
    int32_t v = r->verdict >= 0 && r->verdict <= SKIPPED ? r->verdict : FAILED;
    t->count[v]++;
    t->bound += r->bound > 0 && v != SKIPPED;
    if (v == PASSED && tnt_has(a, "quiet"))
        return;
    printf("%s %s", words[v], tnb_path_name(dir));
    if (r->bound)
        printf(" (%d input%s bound)", (int)r->bound, r->bound > 1 ? "s" : "");
    printf("%s%s\n", *r->why ? ": " : "", r->why);
    fflush(stdout);
}

/* How cases are run. */
typedef struct manner {
    double rtol, atol, timeout;
    uint32_t jobs, batch;
} manner;

/* Runs all cases, `jobs` processes at a time, and prints them in order. */
static bool
run_all(tnt_session *s, const tnt_args *a, const case_list *l, const manner *m, totals *t)
{
    /* in an arena, which the children close: in them nothing else points to these */
    tnb_arena *arena = tn_arena(s->ctx);
    child *slots = TNB_NEW_N(arena, child, m->jobs);
    struct pollfd *polls = TNB_NEW_N(arena, struct pollfd, m->jobs);
    report *reports = TNB_NEW_N(arena, report, l->dirs.n + 1u);
    bool *done = TNB_NEW_N(arena, bool, l->dirs.n + 1u), ok = !tnb_arena_failed(arena);
    uint32_t next = 0, printed = 0, running = 0;
    while (ok && printed < l->dirs.n) {
        for (uint32_t i = 0; i < m->jobs; i++) {
            child *c = &slots[i];
            if (c->pid)
                continue;
            if (!c->n) { /* nothing was left to it */
                uint32_t rest = (uint32_t)l->dirs.n - next;
                c->first = next;
                c->n = rest < m->batch ? rest : m->batch;
                next += c->n;
            }
            if (!c->n)
                continue;
            if (!start_child(s, a, l->dirs.at, m->rtol, m->atol, m->timeout, c)) {
                fprintf(stderr, "tenon: cannot start a process for a case: %s\n", strerror(errno));
                ok = running > 0;
                break;
            }
            running++;
        }
        for (uint32_t i = 0; i < m->jobs; i++)
            polls[i] = (struct pollfd){.fd = slots[i].pid ? slots[i].fd : -1, .events = POLLIN};
        if (running)
            poll(polls, m->jobs, 200);
        for (uint32_t i = 0; i < m->jobs; i++) {
            child *c = &slots[i];
            bool late = c->pid && tnt_now() > c->deadline;
            if (!c->pid ||
                (!late && !(polls[i].revents && read_child(c, reports, done, m->timeout))))
                continue;
            finish_child(c, late, m->timeout, reports, done);
            running--;
        }
        for (; printed < l->dirs.n && done[printed]; printed++)
            print_line(a, l->dirs.at[printed], &reports[printed], t);
    }
    for (uint32_t i = 0; ok && i < m->jobs; i++)
        if (slots[i].pid)
            finish_child(&slots[i], true, m->timeout, reports, done);
    return ok;
}

/* "cases/mnist/" names the same folder as "cases/mnist". */
static const char *
without_slashes(tn_ctx *ctx, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return tn_strn(ctx, path, n);
}

static int
run(tnt_session *s, const tnt_args *a)
{
    case_list l = {.arena = tn_arena(s->ctx)};
    totals t = {0};
    manner m;
    int64_t jobs, batch, threads;
    if (!tnt_float(a, "rtol", 1e-3, 0, TNT_FINITE, &m.rtol) ||
        !tnt_float(a, "atol", 1e-7, 0, TNT_FINITE, &m.atol) ||
        !tnt_float(a, "timeout", 300, TNT_ABOVE_0, 1e6, &m.timeout) ||
        !tnt_int(a, "jobs", 1, 1, 256, &jobs) || !tnt_int(a, "batch", 1, 1, 1 << 16, &batch))
        return TNT_USAGE;
    m.jobs = (uint32_t)jobs;
    m.batch = (uint32_t)batch;
    tnk_import_options o; /* once here, for messages about the options themselves */
    tnk_compile_options c;
    tnk_target target;
    tnk_pipeline lists;
    if (!tnt_import_options(s, a, &o) || !tnt_compile_options(s, a, &c) ||
        !tnt_int(a, "threads", 1, 1, 4096, &threads))
        return tnt_failure();
    if (!tnk_target_find(s->ctx, s->conf, c.targets[0], &target) ||
        !tnk_pipeline_make(s->ctx, s->conf, &target, c.profile, &lists)) {
        tnt_report(s);
        return TNT_FAILED;
    }
    for (int i = 0; i < a->n_operands; i++)
        if (!find_cases(&l, without_slashes(s->ctx, a->operands[i]), 0))
            return TNT_FAILED;
    if (!l.dirs.n) {
        fputs("tenon: no case found: a case is a folder with a file model.onnx\n", stderr);
        return TNT_FAILED;
    }
    if (tnt_has(a, "list")) {
        for (uint32_t i = 0; i < l.dirs.n; i++)
            puts(l.dirs.at[i]);
        return TNT_OK;
    }
    bool ok = run_all(s, a, &l, &m, &t);
    if (t.bound)
        printf("%u cases have inputs bound at compile time because they determine shapes\n",
               t.bound);
    printf("%u passed, %u failed, %u skipped\n", t.count[PASSED], t.count[FAILED],
           t.count[SKIPPED]);
    return ok && !t.count[FAILED] ? TNT_OK : TNT_FAILED;
}

const tnt_command tnt_command_onnx_test = {
    .name = "onnx-test",
    .operands = "DIR...",
    .summary = "run ONNX backend test cases",
    .details = "A case is a folder with model.onnx and folders test_data_set_N of input_K.pb and "
               "output_K.pb (in the model's order, or with its names); other folders are searched "
               "for cases. Each case is compiled and run in its own process (--batch: several per "
               "process) and prints one line: PASS, FAIL with the difference, or SKIP with the "
               "missing operator or type. The last line counts them.\n\nInputs whose values "
               "determine shapes become constants at compile time; the line says how many.",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .examples = (const char *const[]){"tenon onnx-test -q -j 2 /usr/share/onnx/node",
                                      "prints the failing cases of the folder", NULL},
    .run = run,
};
