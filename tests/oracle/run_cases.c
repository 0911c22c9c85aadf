/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the oracle's cases (cases.h) and compares what Tenon computes with what they say.
 *
 *     run_cases interp|cpu STEM...
 *
 * interp: the functions after LegalizeOps, on the reference interpreter. cpu: compiled for the cpu
 * target and run. Both also hold the inferred type of each function against its results: extents
 * that are expressions of symbols have to give the extents found, with the symbols that the inputs
 * define. What a module as a whole does not pass is tried again in halves, so that every function
 * has its own verdict.
 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/base/conf.h"
#include "tenon/core/arith.h"
#include "tenon/core/eval.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/driver.h"
#include "tenon/rt/vm.h"

typedef struct session {
    tnb_conf *conf;
    tnb_plugins *plugins;
    tnr_runtime *rt;
    const char *cache_dir;
    bool cpu;
    /* of one file */
    tn_registry *reg;
    tn_ctx *ctx;
    const tn_evaluator *eval;
    const tn_module *module;
    oracle_file file;
    /* counts */
    uint32_t ran, failed, dims;
} session;

static void
fail(session *s, const oracle_case *c, const char *what)
{
    printf("FAIL %s draw %d (%s, function %s): %s\n", c->op, c->draw, s->cpu ? "cpu" : "interp",
           c->function, what);
    s->failed++;
}

static void
fail_with_errors(session *s, const oracle_case *c, const char *what)
{
    tnb_buf b = {0};
    tnb_buf_puts(&b, what);
    tnb_buf_puts(&b, "\n");
    tnb_diags_print(tn_diags(s->ctx), &b);
    fail(s, c, b.s);
    tnb_buf_free(&b);
    tnb_diags_clear(tn_diags(s->ctx));
}

/* ---- types ---- */

/* What the parameters' types say of the symbols, with the extents of the inputs. */
static bool
bind_symbols(session *s, const tn_function *f, const oracle_case *c, tnb_ptrmap *symbols)
{
    tnb_ptrmap_init(symbols, tn_arena(s->ctx));
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_ty_tensor *t = tn_as_ty_tensor(f->params.at[i]->type);
        const tn_shape_expr *e = t ? tn_as_shape_expr(t->shape) : NULL;
        if (!t || i >= c->n_in)
            return false;
        for (uint32_t k = 0; e && k < e->values.n; k++)
            if (tn_is_var(e->values.at[k]))
                tnb_ptrmap_set(symbols, e->values.at[k], tn_i64(s->ctx, c->in[i].shape[k]));
    }
    return true;
}

/* The type says what the result is. What it leaves open (rank, dtype, extents) is not counted. */
static bool
type_holds(session *s, const oracle_case *c, const tn_type *type, const oracle_value *v,
           tnb_ptrmap *symbols, tnb_buf *why)
{
    const tn_ty_tensor *t = tn_as_ty_tensor(type);
    const tn_shape_expr *e = t ? tn_as_shape_expr(t->shape) : NULL;
    if (tn_is(type, TN_KIND_TY_PRIM))
        return v->ndim == 0 && tnb_dtype_eq(tn_type_dtype(type), v->dtype);
    bool ok = t && (t->ndim < 0 || t->ndim == v->ndim) &&
              (tnb_dtype_is_void(t->dtype) || tnb_dtype_eq(t->dtype, v->dtype));
    for (uint32_t i = 0; ok && e && i < e->values.n; i++) {
        int64_t n;
        const tn_expr *x = tn_subst(s->ctx, e->values.at[i], symbols);
        if (!tn_int_value(tn_simplify_now(s->ctx, x), &n)) {
            /* a symbol that the function itself defines */
            continue;
        }
        s->dims++;
        ok = n == v->shape[i];
    }
    if (!ok)
        tnb_buf_printf(why, "the inferred type %s is not that of the result of draw %d",
                       tn_text(s->ctx, type), c->draw);
    return ok;
}

/* Compares all results; got: as many as the case has. */
static void
check_results(session *s, const oracle_case *c, const oracle_value *got, uint32_t n)
{
    const tn_function *f = tn_as_function(tn_module_get(s->module, c->function));
    const tn_ty_tuple *fields = tn_as_ty_tuple(f->ret);
    tnb_ptrmap symbols;
    tnb_buf why = {0};
    bool ok = n == c->n_out;
    if (!ok)
        tnb_buf_printf(&why, "%u results, expected %u", n, c->n_out);
    ok = ok && bind_symbols(s, f, c, &symbols);
    for (uint32_t i = 0; ok && i < n; i++) {
        const tn_type *t = !fields ? f->ret : i < fields->fields.n ? fields->fields.at[i] : NULL;
        ok = cases_compare(c, i, &got[i], &why) && type_holds(s, c, t, &got[i], &symbols, &why);
    }
    s->ran++;
    if (!ok)
        fail(s, c, why.n ? why.s : "its inputs do not fit the function");
    tnb_buf_free(&why);
}

/* ---- the interpreter ---- */

static uint32_t
flatten(session *s, const tn_expr *v, oracle_value *out, uint32_t n)
{
    const tn_tuple *t = tn_as_tuple(v);
    const tn_constant *c = tn_as_constant(v);
    for (uint32_t i = 0; t && i < t->fields.n; i++)
        n = flatten(s, t->fields.at[i], out, n);
    int64_t i;
    if (tn_int_value(v, &i) && n < CASES_MAX_TENSORS) { /* a scalar, as a tensor without axes */
        void *bytes;
        const tn_data *d = tn_data_new(s->ctx, tn_dtype_of(v), 0, NULL, &bytes);
        if (d && tnb_store_i64(bytes, d->dtype, 0, i))
            out[n++] = (oracle_value){d->dtype, 0, NULL, bytes};
    }
    if (c && n < CASES_MAX_TENSORS)
        out[n++] = (oracle_value){c->data->dtype, c->data->ndim, c->data->shape,
                                  tn_data_get(s->ctx, c->data)};
    return n;
}

static const tn_expr *
constant(session *s, const oracle_tensor *t)
{
    void *bytes;
    const tn_data *d = tn_data_new(s->ctx, t->dtype, t->ndim, t->shape, &bytes);
    if (d && t->n_bytes)
        memcpy(bytes, t->bytes, t->n_bytes);
    return d ? tn_constant_of(s->ctx, d) : NULL;
}

static void
run_interp(session *s, const tn_module *m, const oracle_case *c)
{
    const tn_expr *args[CASES_MAX_TENSORS];
    oracle_value got[CASES_MAX_TENSORS];
    tn_eval_options opt = {.budget = 200000000};
    for (uint32_t i = 0; i < c->n_in; i++)
        args[i] = constant(s, &c->in[i]);
    const tn_expr *r = s->eval->run(s->eval->self, s->ctx, m, c->function, args, c->n_in, &opt);
    if (!r || tn_is_error(r))
        fail_with_errors(s, c, "it does not run");
    else
        check_results(s, c, got, flatten(s, r, got, 0));
}

/* ---- the cpu target ---- */

static uint32_t
flatten_value(const tnr_value *v, const tnr_value **out, uint32_t n)
{
    bool scalar = v->tag == TNR_INT || v->tag == TNR_BOOL;
    if ((v->tag == TNR_TENSOR || scalar) && n < CASES_MAX_TENSORS)
        out[n++] = v;
    for (uint32_t i = 0; v->tag == TNR_TUPLE && i < v->u.tuple->n; i++)
        n = flatten_value(&v->u.tuple->items[i], out, n);
    return n;
}

/* bytes: malloced, the caller's */
static bool
read_value(const oracle_tensor *want, const tnr_value *v, oracle_value *out, tnb_err *err)
{
    const tnr_tensor *t = v->u.tensor;
    if (v->tag != TNR_TENSOR) { /* a scalar has no width of its own */
        void *bytes = calloc(1, 16);
        *out = (oracle_value){want->dtype, 0, NULL, bytes};
        return bytes && tnb_store_i64(bytes, want->dtype, 0, v->u.i);
    }
    void *bytes = malloc(t->n_bytes + 1);
    *out = (oracle_value){t->dl.dtype, t->dl.ndim, t->dl.shape, bytes};
    return bytes && tnr_tensor_read(t, bytes, t->n_bytes, err) == TNB_OK;
}

static void
run_vm(session *s, tnr_vm *vm, const oracle_case *c)
{
    tnr_value in[CASES_MAX_TENSORS], out = tnr_null();
    const tnr_value *values[CASES_MAX_TENSORS];
    oracle_value got[CASES_MAX_TENSORS] = {{.bytes = NULL}};
    tnb_err err = {0};
    bool ok = true;
    for (uint32_t i = 0; i < c->n_in; i++) {
        const oracle_tensor *t = &c->in[i];
        in[i] = tnr_null();
        ok = ok && tnr_tensor_from(tnr_device_host(s->rt), t->bytes, t->shape, (uint32_t)t->ndim,
                                   t->dtype, &in[i], &err) == TNB_OK;
    }
    ok = ok && tnr_vm_call(vm, c->function, in, c->n_in, &out, &err) == TNB_OK;
    uint32_t n = ok ? flatten_value(&out, values, 0) : 0;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = read_value(&c->out[i], values[i], &got[i], &err);
    if (!ok)
        fail(s, c, err.message);
    else
        check_results(s, c, got, n);
    for (uint32_t i = 0; i < n; i++)
        free((void *)(uintptr_t)got[i].bytes);
    for (uint32_t i = 0; i < c->n_in; i++)
        tnr_release(&in[i]);
    tnr_release(&out);
}

/* ---- modules, and their halves ---- */

/* The cases' functions as a module. */
static const tn_module *
module_of(session *s, const oracle_case *cases, uint32_t n)
{
    const tn_module *m = tn_module_new(s->ctx);
    for (uint32_t i = 0; i < n; i++)
        m = tn_module_set(s->ctx, m, cases[i].function,
                          tn_module_get(s->module, cases[i].function));
    return m;
}

static bool
legalize_and_run(session *s, const tn_module *m, const oracle_case *cases, uint32_t n)
{
    tn_pass_list list;
    tn_pass_run run = {0};
    if (!tn_pass_list_parse(s->ctx, "LegalizeOps", "oracle", &list))
        return false;
    m = tn_run_passes(s->ctx, m, &list, &run);
    for (uint32_t i = 0; m && i < n; i++)
        run_interp(s, m, &cases[i]);
    return m != NULL;
}

static bool
compile_and_run(session *s, const tn_module *m, const oracle_case *cases, uint32_t n)
{
    static const char *const cpu = "cpu";
    tnk_model model = {.module = m};
    tnk_compile_options opt = {
        .conf = s->conf, .targets = &cpu, .n_targets = 1, .jobs = 2, .cache_dir = s->cache_dir};
    tnk_compile_result compiled;
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    uint32_t variant;
    tnb_err err = {0};
    if (tnk_compile(s->ctx, &model, &opt, &compiled) != TNB_OK)
        return false;
    bool ok = tnr_artifact_open_fd(compiled.fd, "compiled", &a, &err) == TNB_OK &&
              tnr_artifact_pick(s->rt, a, NULL, &variant, NULL, &err) == TNB_OK &&
              tnr_vm_new(s->rt, a, variant, &vm, &err) == TNB_OK;
    close(compiled.fd);
    for (uint32_t i = 0; ok && i < n; i++)
        run_vm(s, vm, &cases[i]);
    if (!ok)
        tn_error(s->ctx, 0, TNB_INTERNAL, "the artifact is refused: %s", err.message);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    return ok;
}

static void
run_group(session *s, const oracle_case *cases, uint32_t n)
{
    const tn_module *m = module_of(s, cases, n);
    if (n == 0 || (s->cpu ? compile_and_run(s, m, cases, n) : legalize_and_run(s, m, cases, n)))
        return;
    if (n == 1) {
        fail_with_errors(s, cases, s->cpu ? "it does not compile" : "it is not legalized");
        return;
    }
    tnb_diags_clear(tn_diags(s->ctx));
    run_group(s, cases, n / 2);
    run_group(s, cases + n / 2, n - n / 2);
}

static void
run_file(session *s, const char *stem)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.py", stem);
    s->reg = tn_registry_new(s->plugins);
    s->ctx = tn_ctx_new(s->reg);
    s->eval = tn_find_evaluator(s->reg, "interp", NULL);
    s->module = tn_read_module_file(s->ctx, path);
    bool ok = s->eval && cases_read(stem, &s->file);
    if (ok && s->module) {
        run_group(s, s->file.cases, s->file.n);
    } else {
        static const oracle_case none = {.op = "?", .function = "?"};
        fail_with_errors(s, s->file.n ? s->file.cases : &none, "the functions cannot be read");
    }
    cases_free(&s->file);
    tn_ctx_free(s->ctx);
    tn_registry_free(s->reg);
}

int
main(int argc, char **argv)
{
    session s = {0};
    tnb_err err = {0};
    tnb_diags *diags = tnb_diags_new();
    if (argc < 3 || (strcmp(argv[1], "interp") && strcmp(argv[1], "cpu"))) {
        fprintf(stderr, "usage: run_cases interp|cpu STEM...\n");
        return 2;
    }
    s.cpu = strcmp(argv[1], "cpu") == 0;
    s.cache_dir = getenv("ORACLE_CACHE");
    s.conf = tnb_conf_load(NULL, diags);
    bool ok = s.conf && tnb_plugins_open(s.conf, NULL, &s.plugins, &err) == TNB_OK;
    tnr_runtime_options o = {.plugins = s.plugins, .conf = s.conf, .threads = 2};
    ok = ok && tnr_runtime_new(&o, &s.rt, &err) == TNB_OK;
    for (int i = 2; ok && i < argc; i++) {
        run_file(&s, argv[i]);
        fflush(stdout);
    }
    if (!ok)
        fprintf(stderr, "run_cases: %s\n", err.message);
    printf("%s: %u functions run, %u inferred extents compared, %u failed\n", argv[1], s.ran,
           s.dims, s.failed);
    tnr_runtime_free(s.rt);
    tnb_plugins_close(s.plugins);
    tnb_conf_free(s.conf);
    tnb_diags_free(diags);
    return !ok || s.failed || !s.ran;
}
