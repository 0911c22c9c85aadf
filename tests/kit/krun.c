/* SPDX-License-Identifier: Apache-2.0 */
#include "krun.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tenon/base/kernel_abi.h"

bool
krun_open(krun *k)
{
    tnb_err err = {0};
    if (tnb_plugins_open(NULL, NULL, &k->plugins, &err) != TNB_OK) {
        fprintf(stderr, "plugins: %s\n", err.message);
        return false;
    }
    k->reg = tn_registry_new(k->plugins);
    k->ctx = tn_ctx_new(k->reg);
    k->kind = tn_find_target(k->reg, "cpu", &err);
    if (!k->kind) {
        fprintf(stderr, "target cpu: %s\n", err.message);
        return false;
    }
    const char *mcpu = getenv("TENON_TEST_MCPU"), *bytes = getenv("TENON_TEST_VECTOR_BYTES");
    const tn_node *attrs =
        tn_dictv(k->ctx, "mcpu", tn_string(k->ctx, mcpu ? mcpu : "native"), NULL);
    if (bytes)
        attrs = tn_dict_set(k->ctx, attrs, "vector_bytes",
                            tn_i64(k->ctx, (int64_t)strtol(bytes, NULL, 10)));
    attrs = k->kind->probe(k->ctx, attrs, NULL);
    k->only_compile = getenv("TENON_TEST_ONLY_COMPILE") != NULL;
    k->target = tn_as_target(tn_target_of(k->ctx, "cpu", attrs));
    k->threads = 2;
    k->repeat = 1;
    return true;
}

void
krun_close(krun *k)
{
    tn_ctx_free(k->ctx);
    tn_registry_free(k->reg);
    tnb_plugins_close(k->plugins);
}

void
krun_print_errors(krun *k)
{
    tnb_buf b = {0};
    tnb_diags_print(tn_diags(k->ctx), &b);
    fprintf(stderr, "%s\n", b.s ? b.s : "");
    tnb_buf_free(&b);
}

const tn_node *
krun_schedule(krun *k, const tn_node *func, const char *rules)
{
    tn_ctx *ctx = k->ctx;
    char text[300];
    snprintf(text, sizeof text, "ApplyDefaultSchedule{rules=[%s]}", rules);
    tn_pass_list list;
    if (!tn_pass_list_parse(ctx, text, "test", &list))
        return NULL;
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), "f", func);
    tn_pass_run run = {.target = k->target};
    m = tn_run_passes(ctx, m, &list, &run);
    return m ? tn_module_get(m, "f") : NULL;
}

/* What a running kernel has from here. */
typedef struct user {
    krun *k;
    void *blocks[16];
} user;

static void *
workspace(struct tnb_kernel_env *env, size_t bytes)
{
    void **list = ((user *)env->user)->blocks;
    for (int i = 0; i < 16; i++)
        if (!list[i]) {
            list[i] = aligned_alloc(64, (bytes + 63) / 64 * 64);
            return list[i];
        }
    return NULL;
}

/* Two threads that do half of the turns each. */
typedef struct half {
    tnb_kernel_part part;
    void *args;
    int64_t from, to;
} half;

static void *
second_half(void *p)
{
    const half *h = p;
    h->part(h->args, h->from, h->to, 1);
    return NULL;
}

static void
team(struct tnb_kernel_env *env, tnb_kernel_part part, void *args, int64_t min, int64_t n)
{
    krun *k = ((user *)env->user)->k;
    k->team_calls++;
    k->worth = env->worth;
    half h = {part, args, min + n / 2, min + n};
    pthread_t thread;
    bool two = pthread_create(&thread, NULL, second_half, &h) == 0;
    part(args, min, two ? h.from : h.to, 0);
    if (two)
        pthread_join(thread, NULL);
}

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The value of a variable that is a scalar parameter, or an extent of a buffer. */
static tnb_kernel_scalar
scalar_value(const tn_prim_func *f, const tn_expr *var, const tn_expr *const *plain,
             const tn_data *const *data)
{
    tnb_kernel_scalar s = {0};
    for (uint32_t i = 0, np = 0, nb = 0; i < f->params.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        for (uint32_t d = 0; b && d < b->shape.n; d++)
            if (b->shape.at[d] == var)
                s.i = data[nb]->shape[d];
        if (f->params.at[i] == var) {
            const tn_float_imm *v = tn_as_float_imm(plain[np]);
            if (v)
                s.f = v->value;
            else
                (void)tn_int_value(plain[np], &s.i);
        }
        nb += b != NULL;
        np += b == NULL;
    }
    return s;
}

bool
krun_call(krun *k, const krun_kernel *f, tn_list args)
{
    if (k->only_compile)
        return true;
    const tnk_kernel *kernel = &f->kernel;
    union {
        void *p;
        tnb_cpu_kernel f;
    } entry = {dlsym(f->so, kernel->name)};
    void *buffers[32];
    const tn_data *data[32];
    tnb_kernel_scalar scalars[32];
    const tn_expr *plain[32];
    uint32_t nb = 0, ns = 0;
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_constant *c = tn_as_constant(args.at[i]);
        if (!c) {
            plain[ns++] = args.at[i];
            continue;
        }
        data[nb] = c->data;
        buffers[nb++] = (void *)(uintptr_t)tn_data_get(k->ctx, c->data);
    }
    const tnk_param *p;
    for (uint32_t at = 0, i = 0; (p = tnk_next_param(kernel, TNB_PARAM_SCALAR, &at)); i++)
        scalars[i] = scalar_value(tn_as_prim_func(f->func), p->value, plain, data);
    int32_t rc = -1;
    k->seconds = 1e9;
    for (int r = 0; r < k->repeat && entry.f; r++) {
        user temporary = {.k = k};
        k->team_calls = 0;
        tnb_kernel_env env = {.threads = k->threads,
                              .workspace = workspace,
                              .user = &temporary,
                              .team = team};
        double t = now();
        rc = entry.f(buffers, scalars, &env);
        t = now() - t;
        k->seconds = t < k->seconds ? t : k->seconds;
        for (int i = 0; i < 16; i++)
            free(temporary.blocks[i]);
    }
    if (rc != 0)
        fprintf(stderr, "kernel '%s' returned %d\n", kernel->name, rc);
    return rc == 0;
}

bool
krun_compile(krun *k, const tn_node *func, krun_kernel *out)
{
    const tnk_kernel *kernel = tnk_lower_kernel(k->ctx, k->target, k->kind, "f", func);
    if (!kernel) {
        krun_print_errors(k);
        return false;
    }
    *out = (krun_kernel){*kernel, func, NULL};
    tnk_build b = {.ctx = k->ctx, .target = k->target, .jobs = 1, .keep_source = true};
    tnk_code code;
    tnb_status s = k->kind->codegen->build(k->kind->codegen->self, &b, &out->kernel, 1, &code);
    k->last_source = out->kernel.source;
    if (k->keep_source)
        fprintf(stderr, "%s\n", out->kernel.source ? out->kernel.source : "(none)");
    if (s != TNB_OK) {
        krun_print_errors(k);
        return false;
    }
    char path[] = "/tmp/tenon-krun-XXXXXX";
    int fd = mkstemp(path);
    bool ok = fd >= 0 && write(fd, code.bytes, code.n_bytes) == (ssize_t)code.n_bytes;
    if (fd >= 0)
        close(fd);
    if (ok && !k->only_compile) {
        out->so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        ok = out->so != NULL;
        if (!ok)
            fprintf(stderr, "%s\n", dlerror());
    }
    (void)unlink(path);
    return ok;
}

void
krun_kernel_free(krun_kernel *f)
{
    if (f->so)
        dlclose(f->so);
}

bool
krun_run(krun *k, const tn_node *func, tn_list args)
{
    krun_kernel f;
    if (!krun_compile(k, func, &f))
        return false;
    bool ok = krun_call(k, &f, args);
    krun_kernel_free(&f);
    return ok;
}

tn_list
krun_copy(krun *k, tn_list args)
{
    tn_list out = {0};
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_constant *c = tn_as_constant(args.at[i]);
        const tn_node *n = args.at[i];
        if (c) {
            void *bytes;
            const tn_data *d =
                tn_data_new(k->ctx, c->data->dtype, c->data->ndim, c->data->shape, &bytes);
            memcpy(bytes, tn_data_get(k->ctx, c->data), c->data->n_bytes);
            n = tn_constant_of(k->ctx, d);
        }
        out = tn_list_append(k->ctx, out, n);
    }
    return out;
}

bool
krun_interpret(krun *k, const tn_node *func, tn_list args)
{
    tnb_err err = {0};
    const tn_evaluator *eval = tn_find_evaluator(k->reg, "interp", &err);
    if (!eval) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    tn_eval_options opt = {0};
    const tn_module *m = tn_module_set(k->ctx, tn_module_new(k->ctx), "f", func);
    if (eval->run(eval->self, k->ctx, m, "f", args.at, args.n, &opt))
        return true;
    krun_print_errors(k);
    return false;
}

bool
krun_close_to(krun *k, tn_list args, tn_list wanted, double rtol, double atol)
{
    for (uint32_t i = 0; i < wanted.n; i++) {
        tnb_buf why = {0};
        bool ok = tn_values_close(k->ctx, args.at[i], wanted.at[i], rtol, atol, &why);
        if (!ok)
            fprintf(stderr, "argument %u: %s\n%s\n", i, why.s ? why.s : "",
                    k->last_source ? k->last_source : "");
        tnb_buf_free(&why);
        if (!ok)
            return false;
    }
    return true;
}

bool
krun_same(krun *k, const tn_node *func, const tn_node *scheduled, const tn_node *dims, double rtol,
          double atol)
{
    tn_list args;
    if (!scheduled || !tn_random_args(k->ctx, func, 1, dims, &args)) {
        krun_print_errors(k);
        return false;
    }
    tn_list other = krun_copy(k, args);
    if (!krun_run(k, func, args) || !krun_run(k, scheduled, other))
        return false;
    return krun_close_to(k, other, args, rtol, atol);
}
