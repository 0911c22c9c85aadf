/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose weights are one value everywhere, with seeded random weights and at a reduced size:
 * what a target computes (cpu, if none is named) is compared with the interpreter on the imported
 * module, or with another target.
 *
 *     random_weights MODEL.onnx [--target NAME] [--against NAME] [--size N] [--value K=L]...
 *                    [--kernel K=L]... [--seed S]
 *
 * --size N makes inputs N pixels wide and high. What follows from the size is changed with it:
 * --value K=L writes L for K in integer vectors (shapes of weights, targets of Reshape), --kernel
 * K=L in the windows of average pooling. Ends with 0 when the results agree and tell something.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx.pb-c.h"
#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/core/eval.h"
#include "tenon/core/walk.h"
#include "tenon/kit/driver.h"
#include "tenon/rt/vm.h"

enum { MAX_CHANGES = 8 };

typedef struct change {
    int64_t from, to;
} change;

typedef struct request {
    const char *model, *target, *against; /* NULL: the interpreter */
    int64_t size;
    uint64_t seed;
    change values[MAX_CHANGES], kernels[MAX_CHANGES];
    uint32_t n_values, n_kernels;
} request;

/* ---- the reduced model ---- */

static int64_t
changed(const change *c, uint32_t n, int64_t v)
{
    for (uint32_t i = 0; i < n; i++)
        if (c[i].from == v)
            return c[i].to;
    return v;
}

static bool
is_initializer(const Onnx__GraphProto *g, const char *name)
{
    for (size_t i = 0; i < g->n_initializer; i++)
        if (strcmp(g->initializer[i]->name, name) == 0)
            return true;
    return false;
}

static void
reduce_inputs(const request *q, Onnx__GraphProto *g)
{
    for (size_t i = 0; q->size && i < g->n_input; i++) {
        Onnx__TypeProto *t = g->input[i]->type;
        if (is_initializer(g, g->input[i]->name) || !t || !t->tensor_type ||
            !t->tensor_type->shape || t->tensor_type->shape->n_dim != 4)
            continue;
        for (int k = 2; k < 4; k++)
            t->tensor_type->shape->dim[k]->dim_value = q->size;
    }
}

static void
reduce_initializers(const request *q, Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        Onnx__TensorProto *t = g->initializer[i];
        if (t->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__INT64 || t->n_dims != 1)
            continue;
        for (size_t k = 0; k < t->n_int64_data; k++)
            t->int64_data[k] = changed(q->values, q->n_values, t->int64_data[k]);
        for (size_t k = 0; k + 8 <= t->raw_data.len; k += 8) {
            int64_t v;
            memcpy(&v, t->raw_data.data + k, 8);
            v = changed(q->values, q->n_values, v);
            memcpy(t->raw_data.data + k, &v, 8);
        }
    }
}

static void
reduce_windows(const request *q, Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_node; i++) {
        Onnx__NodeProto *n = g->node[i];
        for (size_t a = 0; strcmp(n->op_type, "AveragePool") == 0 && a < n->n_attribute; a++)
            for (size_t k = 0;
                 strcmp(n->attribute[a]->name, "kernel_shape") == 0 && k < n->attribute[a]->n_ints;
                 k++)
                n->attribute[a]->ints[k] =
                    changed(q->kernels, q->n_kernels, n->attribute[a]->ints[k]);
    }
}

/* Writes the reduced model to `path`. */
static bool
write_reduced(const request *q, const char *path, tnb_err *err)
{
    char *bytes = NULL;
    size_t n;
    if (tnb_read_file(q->model, 0, &bytes, &n, err) != TNB_OK)
        return false;
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, n, (const uint8_t *)bytes);
    free(bytes);
    if (!m || !m->graph) {
        tnb_fail(err, TNB_FORMAT, "%s is no ONNX model", q->model);
        return false;
    }
    reduce_inputs(q, m->graph);
    reduce_initializers(q, m->graph);
    reduce_windows(q, m->graph);
    size_t size = onnx__model_proto__get_packed_size(m);
    uint8_t *out = malloc(size);
    bool ok = out && onnx__model_proto__pack(m, out) == size &&
              tnb_write_file(path, (const char *)out, size, err) == TNB_OK;
    free(out);
    onnx__model_proto__free_unpacked(m, NULL);
    return ok;
}

/* ---- weights ---- */

typedef struct weights {
    uint64_t state;
    uint32_t n;
} weights;

/* 0 <= result < 1 (splitmix64) */
static double
uniform(weights *w)
{
    uint64_t z = (w->state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Kernels get values around 0 that keep the size of what flows through; vectors (biases, scales,
 * variances) positive ones. The softmax at the end goes: it would hide all but the largest values.
 */
static const tn_node *
draw(tn_rewriter *r, const tn_node *n)
{
    weights *w = r->user;
    const tn_call *softmax = tn_is_call_to(n, "relax.nn.softmax");
    if (softmax)
        return softmax->args.at[0];
    const tn_constant *c = tn_as_constant(n);
    const tn_data *d = c ? c->data : NULL;
    if (!d || d->kind != TN_DATA_SPLAT || !tnb_dtype_is_float(d->dtype) || d->n_elems < 2)
        return NULL;
    double fan_in = 1;
    for (int32_t i = 1; i < d->ndim; i++)
        fan_in *= (double)d->shape[i];
    double width = 1;
    while (width * width < fan_in / 6) /* sqrt(6 / fan_in) to within a factor of 1.1 */
        width *= 1.1;
    void *bytes;
    const tn_data *made = tn_data_new(r->ctx, d->dtype, d->ndim, d->shape, &bytes);
    for (uint64_t i = 0; made && i < d->n_elems; i++)
        tnb_store_f64(bytes, d->dtype, i,
                      d->ndim == 1 ? 0.1 + uniform(w) : (2 * uniform(w) - 1) / width);
    w->n++;
    return made ? tn_constant_of(r->ctx, made) : tn_error_node(r->ctx);
}

/* ---- running ---- */

typedef struct session {
    tnb_conf *conf;
    tnb_plugins *plugins;
    tn_registry *reg;
    tnr_runtime *rt;
    tn_ctx *ctx;
} session;

static const tn_expr *
run_compiled(session *s, const tn_module *m, const char *target, const tn_expr *arg, tnb_err *err)
{
    tnk_model model = {.module = m};
    tnk_compile_options opt = {.conf = s->conf, .targets = &target, .n_targets = 1};
    tnk_compile_result compiled;
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    tnr_value in = tnr_null(), out = tnr_null();
    uint32_t variant;
    const tn_data *d = ((const tn_constant *)arg)->data;
    const tn_expr *result = NULL;
    if (tnk_compile(s->ctx, &model, &opt, &compiled) != TNB_OK)
        return NULL;
    bool ok = tnr_artifact_open_fd(compiled.fd, "compiled", &a, err) == TNB_OK &&
              tnr_artifact_pick(s->rt, a, NULL, &variant, NULL, err) == TNB_OK &&
              tnr_vm_new(s->rt, a, variant, &vm, err) == TNB_OK &&
              tnr_tensor_from(tnr_device_host(s->rt), d->bytes, d->shape, (uint32_t)d->ndim,
                              d->dtype, &in, err) == TNB_OK &&
              tnr_vm_call(vm, "main", &in, 1, &out, err) == TNB_OK;
    close(compiled.fd);
    if (ok && out.tag == TNR_TENSOR) {
        void *bytes;
        const tnr_tensor *t = out.u.tensor;
        const tn_data *made = tn_data_new(s->ctx, t->dl.dtype, t->dl.ndim, t->dl.shape, &bytes);
        if (made && tnr_tensor_read(t, bytes, t->n_bytes, err) == TNB_OK)
            result = tn_constant_of(s->ctx, made);
    }
    tnr_release(&in);
    tnr_release(&out);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    return result;
}

/* Whether a result has different elements: one that is the same everywhere tells nothing. `largest`
 * becomes its largest absolute value. */
static bool
tells_something(const tn_expr *e, double *largest)
{
    const tn_data *d = ((const tn_constant *)e)->data;
    double v, lo = 0, hi = 0;
    *largest = 0;
    for (uint64_t i = 0; i < d->n_elems; i++) {
        if (!tnb_load_f64(d->bytes, d->dtype, i, &v) || v - v != 0)
            return false;
        lo = i == 0 || v < lo ? v : lo;
        hi = i == 0 || v > hi ? v : hi;
    }
    *largest = hi > -lo ? hi : -lo;
    return d->n_elems > 1 && hi - lo > 0.05 * *largest;
}

/* What the result has to be. */
static const tn_expr *
reference(session *s, const tn_module *m, const char *against, const tn_expr *arg, tnb_err *err)
{
    if (against)
        return run_compiled(s, m, against, arg, err);
    const tn_evaluator *interp = tn_find_evaluator(s->reg, "interp", err);
    tn_eval_options opt = {.threads = 2};
    return interp ? interp->run(interp->self, s->ctx, m, "main", &arg, 1, &opt) : NULL;
}

static bool
compare(session *s, const request *q, const char *path)
{
    tnb_err err = {0};
    tnk_model model;
    tn_list args;
    weights w = {.state = q->seed};
    if (tnk_import(s->ctx, path, NULL, &model) != TNB_OK)
        return false;
    const tn_node *f = tn_module_get(model.module, "main");
    tn_rewriter r = {.ctx = s->ctx, .user = &w, .post = draw};
    f = tn_rewrite(&r, f);
    if (tn_is_error(f) || !tn_random_args(s->ctx, f, q->seed, NULL, &args) || args.n != 1)
        return false;
    const tn_module *m = tn_module_set(s->ctx, model.module, "main", f);
    const tn_expr *want = reference(s, m, q->against, args.at[0], &err);
    const tn_expr *got = want ? run_compiled(s, m, q->target, args.at[0], &err) : NULL;
    if (!got) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    tnb_buf why = {0};
    double largest;
    bool tells = tells_something(want, &largest);
    bool equal = tn_values_close(s->ctx, got, want, 1e-4, 1e-5 * largest, &why);
    printf("%s %s: %u random weights, against %s; %s%s\n", equal && tells && w.n ? "ok  " : "FAIL",
           q->model, w.n, q->against ? q->against : "the interpreter", why.s ? why.s : "equal",
           tells ? "" : "; the result is the same everywhere");
    tnb_buf_free(&why);
    return equal && tells && w.n > 0;
}

/* ---- the command ---- */

static bool
parse_change(const char *text, change *list, uint32_t *n)
{
    long long from, to;
    if (*n == MAX_CHANGES || sscanf(text, "%lld=%lld", &from, &to) != 2)
        return false;
    list[(*n)++] = (change){from, to};
    return true;
}

static bool
parse_args(request *q, int argc, char **argv)
{
    if (argc < 2)
        return false;
    q->model = argv[1];
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--size") == 0)
            q->size = strtoll(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--target") == 0)
            q->target = argv[i + 1];
        else if (strcmp(argv[i], "--against") == 0)
            q->against = argv[i + 1];
        else if (strcmp(argv[i], "--seed") == 0)
            q->seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--value") == 0
                     ? !parse_change(argv[i + 1], q->values, &q->n_values)
                 : strcmp(argv[i], "--kernel") == 0
                     ? !parse_change(argv[i + 1], q->kernels, &q->n_kernels)
                     : true)
            return false;
    }
    return argc % 2 == 0;
}

int
main(int argc, char **argv)
{
    request q = {.seed = 1, .target = "cpu"};
    session s = {0};
    tnb_err err = {0};
    tnb_diags *diags = tnb_diags_new();
    char path[] = "/tmp/tenon-reduced-XXXXXX.onnx";
    if (!parse_args(&q, argc, argv)) {
        fprintf(stderr,
                "usage: random_weights MODEL.onnx [--target NAME] [--against NAME] [--size N] "
                "[--value K=L]... [--kernel K=L]... [--seed S]\n");
        return 2;
    }
    s.conf = tnb_conf_load(NULL, diags);
    bool ok = s.conf && tnb_plugins_open(s.conf, NULL, &s.plugins, &err) == TNB_OK;
    tnr_runtime_options o = {.plugins = s.plugins, .conf = s.conf, .threads = 2};
    ok = ok && tnr_runtime_new(&o, &s.rt, &err) == TNB_OK;
    s.reg = ok ? tn_registry_new(s.plugins) : NULL;
    s.ctx = s.reg ? tn_ctx_new(s.reg) : NULL;
    int fd = mkstemps(path, 5);
    ok = s.ctx && fd >= 0 && write_reduced(&q, path, &err);
    if (!ok)
        fprintf(stderr, "random_weights: %s\n", err.message);
    ok = ok && compare(&s, &q, path);
    if (s.ctx && tnb_diags_errors(tn_diags(s.ctx))) {
        tnb_buf b = {0};
        tnb_diags_print(tn_diags(s.ctx), &b);
        fprintf(stderr, "%s", b.s ? b.s : "");
        tnb_buf_free(&b);
    }
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    tnr_runtime_free(s.rt);
    tn_ctx_free(s.ctx);
    tn_registry_free(s.reg);
    tnb_plugins_close(s.plugins);
    tnb_conf_free(s.conf);
    tnb_diags_free(diags);
    return ok ? 0 : 1;
}
