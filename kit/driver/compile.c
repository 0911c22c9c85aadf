/* SPDX-License-Identifier: Apache-2.0 */
/* A whole compilation: for each target the phases of its pipeline, kernels, VM code; then one
 * artifact for all of them. */
#include "driver_private.h"

#include <time.h>
#include <unistd.h>
#include "tenon/base/log.h"
#include "tenon/base/threads.h"

struct driver {
    tn_ctx *ctx;
    const tnk_model *model;
    const tnk_compile_options *opt;
    tnk_compile_result *out;
    tnk_verify *verify;
    tnk_artifact *artifact;
    struct driver_variant *variants;
    const char *const *publics;
    uint32_t n_publics;
    TNB_VEC(tnk_stage_time) times;
};

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Notes the time since `start` under a name. */
static void
timed(struct driver *d, const char *name, double start)
{
    tnk_stage_time t = {.name = name, .seconds = now() - start};
    TNB_PUSH(tn_arena(d->ctx), d->times, t);
    if (d->opt->trace)
        tn_trace_event(d->opt->trace, "driver", name, start, t.seconds, 0);
}

static int
driver_jobs(const struct driver *d)
{
    int64_t threads;
    if (d->opt->jobs > 0)
        return d->opt->jobs;
    tnb_conf_int(d->opt->conf, "tenon", "", "threads", 0, &threads, NULL);
    return threads > 0 ? (int)threads : (int)tnb_threads_default();
}

/* ---- phases ---- */

static tn_pass_list
phases(tn_ctx *ctx, const tnk_pipeline *p, tnk_phase first, tnk_phase last)
{
    TNB_VEC(tn_pass_item) items = {0};
    for (int ph = first; ph <= (int)last; ph++)
        for (uint32_t i = 0; i < p->phases[ph].n; i++)
            TNB_PUSH(tn_arena(ctx), items, p->phases[ph].at[i]);
    return (tn_pass_list){.at = items.at, .n = items.n};
}

/* Whether a pass reads each key of the configuration that was given, and the site lets users give it. The passes that lower a
 * kernel have none. */
static bool
check_config(tn_ctx *ctx, const tnk_compile_options *opt, const tnk_target *t,
             const tnk_pipeline *p)
{
    tn_pass_list all = phases(ctx, p, TNK_LIBRARY_DISPATCH, TNK_FINALIZE);
    return tnk_check_config(ctx, opt->conf, t, opt->config, opt->config_origin, &all);
}

/* Who may not drop a pass of the target may not have it skipped either. */
static bool
may_skip(tn_ctx *ctx, const tnk_compile_options *opt, const tnk_target *t)
{
    const tnb_conf_value *lock = driver_lock(opt->conf, "pipeline", t->name, t->kind, "drop");
    if (!lock || !((opt->skip && *opt->skip) || opt->stop_after))
        return true;
    driver_refuse_locked(ctx, (tnb_place){0}, lock,
                         "no pass of target '%s' may be left out: the site has locked its pipeline",
                         t->name);
    return false;
}

static const tn_module *
run_phases(tn_ctx *ctx, const tn_module *m, const tnk_target *t, const tnk_pipeline *p,
           tnk_phase first, tnk_phase last, const tnk_compile_options *opt,
           const tn_pass_check *check, uint32_t dump_first)
{
    tn_pass_list all = phases(ctx, p, first, last);
    tn_pass_run run = {.target = t->target,
                       .config = tnk_pass_config(ctx, opt->conf, opt->config),
                       .config_origin = opt->config_origin,
                       .opt_level = opt->opt_level,
                       .no_verify = opt->no_verify_ir,
                       .roundtrip = opt->roundtrip,
                       .compact = true,
                       .compact_always = opt->compact,
                       .check = check,
                       .dump_dir = opt->dump_dir,
                       .dump_only = opt->dump_only,
                       .dump_first = dump_first,
                       .skip = opt->skip,
                       .print = opt->print,
                       .stop_after = opt->stop_after,
                       .reproducer = opt->reproducer,
                       .trace = opt->trace,
                       .progress = opt->progress};
    return tn_run_passes(ctx, m, &all, &run);
}

const tn_module *
tnk_run_phases(tn_ctx *ctx, const tn_module *m, const tnk_target *t, const tnk_pipeline *p,
               tnk_phase first, tnk_phase last, const tnk_compile_options *opt)
{
    static const tnk_compile_options none;
    if (opt && (!may_skip(ctx, opt, t) || !check_config(ctx, opt, t, p)))
        return NULL;
    return run_phases(ctx, m, t, p, first, last, opt ? opt : &none, NULL, 0);
}

/* ---- kernels ---- */

const tn_target_kind *
driver_kind_with_lower(tn_ctx *ctx, const tn_target_kind *kind, const tn_pass_list *lower)
{
    tn_target_kind *k = tnb_dup(tn_arena(ctx), kind, sizeof *kind);
    const char **texts = TNB_NEW_N(tn_arena(ctx), const char *, lower->n + 1);
    for (uint32_t i = 0; i < lower->n; i++) {
        tn_pass_list one = {.at = &lower->at[i], .n = 1};
        tnb_buf b = {0};
        tn_pass_list_print(&one, &b);
        texts[i] = tn_str(ctx, b.s ? b.s : lower->at[i].name);
        tnb_buf_free(&b);
    }
    k->lower = texts;
    return k;
}

/* A target whose backend only has pass lists can compile what needs no kernel. */
static tnb_status
check_codegen(struct driver *d, const struct driver_variant *v)
{
    const tnk_codegen *cg = v->target.kind->codegen;
    const tn_module *m = v->module;
    const tn_node *first = NULL;
    const char *name = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->names.n; i++) {
        if (!tn_as_prim_func(m->funcs.at[i]) || tnk_is_host_func(m->funcs.at[i]) ||
            driver_falls_back(m->funcs.at[i]))
            continue;
        if (n++ == 0) {
            first = m->funcs.at[i];
            name = tn_module_name(m, i);
        }
    }
    if (n == 0 || (cg && cg->build))
        return TNB_OK;
    tn_error(
        d->ctx, first->loc, TNB_UNSUPPORTED,
        "target '%s': the backend '%s' of this build generates no kernels; the model needs %u, "
        "the first is '%s'",
        v->target.name, v->target.kind->base.name, n, name);
    tnb_diag_hint(
        tn_diags(d->ctx),
        "tenon compile MODEL -t %s --dump-ir DIR shows what its pass lists make of the model; "
        "tenon list targets shows the targets that generate kernels",
        v->target.name);
    return TNB_UNSUPPORTED;
}

/* Kernels are symbols of programs that other models are linked into. */
static const char *
symbol_of(tn_ctx *ctx, const tnk_compile_options *opt, const char *name)
{
    return opt->emit == TNK_EMIT_ARTIFACT ? name : tn_strf(ctx, "%s_%s", opt->prefix, name);
}

bool
driver_add_kernel(tn_ctx *ctx, struct driver_variant *v, const tnk_target *target,
                  const tn_target_kind *kind, const char *name, const char *symbol,
                  const tn_node *func)
{
    const tnk_kernel *k = tnk_lower_kernel(ctx, target->target, kind, symbol ? symbol : name, func);
    if (!k) {
        tnb_diag_note(tn_diags(ctx), "while lowering tensor program '%s' for target '%s'", name,
                      target->name);
        return false;
    }
    v->kernels[v->n_kernels] = *k;
    v->kernel_funcs[v->n_kernels++] = name;
    return true;
}

static tnb_status
lower_kernels(struct driver *d, struct driver_variant *v, const tn_target_kind *kind)
{
    tn_ctx *ctx = d->ctx;
    const tn_module *m = v->module;
    v->kernels = TNB_NEW_N(tn_arena(ctx), tnk_kernel, m->names.n);
    v->kernel_funcs = TNB_NEW_N(tn_arena(ctx), const char *, m->names.n);
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        if (!tn_as_prim_func(f) || tnk_is_host_func(f) || driver_falls_back(f))
            continue;
        const char *name = tn_module_name(m, i);
        if (!driver_add_kernel(ctx, v, &v->target, kind, name, symbol_of(ctx, d->opt, name), f))
            return TNB_UNSUPPORTED;
    }
    return driver_fallback_kernels(ctx, v, d->opt);
}

static tnk_build
build_of(const struct driver *d, const tnk_target *target)
{
    return (tnk_build){.ctx = d->ctx,
                       .target = target->target,
                       .jobs = driver_jobs(d),
                       .cache_dir = d->opt->cache_dir,
                       .cache_bytes = d->opt->cache_bytes,
                       .keep_source = d->opt->keep_source};
}

/* The bar of a code generator, which says itself how many steps there are. */
struct bar {
    tnb_progress *bar;
    uint32_t done;
};

static void
step_bar(void *user, uint32_t done, uint32_t total)
{
    struct bar *b = user;
    if (!b->bar)
        b->bar = tnb_progress_start("kernels", total);
    tnb_progress_step(b->bar, done > b->done ? done - b->done : 0, NULL);
    b->done = done;
}

static tnb_status
generate(struct driver *d, const tnk_target *target, tnk_kernel *kernels, uint32_t n,
         tnk_code *code)
{
    if (n == 0)
        return TNB_OK;
    const tnk_codegen *cg = target->kind->codegen;
    struct bar bar = {0};
    tnk_build b = build_of(d, target);
    b.progress = d->opt->progress ? step_bar : NULL;
    b.progress_user = &bar;
    uint32_t errors = tnb_diags_errors(tn_diags(d->ctx));
    tnb_status st = TN_WITHIN(d->ctx, "target", target->kind, "code generator",
                              cg->build(cg->self, &b, kernels, n, code));
    tnb_progress_end(bar.bar);
    d->out->compiler_seconds += b.compiler_seconds;
    d->out->cache_hits += b.cache_hits;
    d->out->cache_misses += b.cache_misses;
    return st == TNB_OK
               ? st
               : tn_need_reason(d->ctx, errors, st, "target", target->name, "code generator");
}

/* ---- VM code and constants ---- */

struct put {
    struct driver *driver;
    driver_constants *constants;
    uint64_t made; /* bytes of constants that are not ranges of files, written so far */
    bool failed;   /* and said why: the other constants are not tried */
};

static bool
put_constant(void *user, tn_ctx *ctx, const tn_data *data, uint64_t *offset)
{
    struct put *p = user;
    struct driver *d = p->driver;
    tnb_err err = {0};
    tnb_status st;
    if (p->failed)
        return false;
    if (data->kind != TN_DATA_FILE) {
        uint64_t most = tn_limit_get(ctx, TN_LIMIT_CONSTANTS);
        if (data->n_bytes > most || p->made > most - data->n_bytes) {
            tn_limit_error(ctx, TN_LIMIT_CONSTANTS, data->n_bytes, 0);
            return false;
        }
        p->made += data->n_bytes;
    }
    if (data->kind == TN_DATA_SPLAT) {
        st = tnk_artifact_splat(d->artifact, data->splat, tnb_dtype_bytes(data->dtype),
                                data->n_bytes, offset, &err);
    } else {
        const void *bytes = driver_constants_get(p->constants, data);
        if (!bytes)
            return false;
        st = tnk_artifact_constant(d->artifact, bytes, data->n_bytes, offset, &err);
        driver_constants_done(p->constants, data);
    }
    p->failed = st != TNB_OK;
    if (st != TNB_OK)
        driver_error(d->ctx, &err);
    else
        d->out->constant_bytes += data->n_bytes;
    return st == TNB_OK;
}

static tnb_status
make_program(struct driver *d, struct driver_variant *v)
{
    double start = now();
    tn_native_options native = {.jobs = driver_jobs(d),
                                .cache_dir = d->opt->cache_dir,
                                .cache_bytes = d->opt->cache_bytes};
    struct put put = {.driver = d, .constants = driver_constants_new(d->ctx, v->module, &native)};
    d->out->compiler_seconds += native.compiler_seconds;
    d->out->cache_hits += native.cache_hits;
    d->out->cache_misses += native.cache_misses;
    timed(d, tn_strf(d->ctx, "%s: code for constants", v->target.name), start);
    start = now();
    tnk_vm_input in = {.module = v->module,
                       .device = driver_device(v->target.kind),
                       .kernels = v->kernels,
                       .kernel_funcs = v->kernel_funcs,
                       .n_kernels = v->n_kernels,
                       .n_fallback = v->n_fallback,
                       .fallback_device = v->n_fallback ? driver_device(v->fallback.kind) : NULL,
                       .publics = d->publics,
                       .n_publics = d->n_publics,
                       .constants = {.put = put_constant, .user = &put}};
    v->program = tnk_program_new(tn_arena(d->ctx));
    tnb_status st = tnk_vm_build(d->ctx, &in, v->program);
    driver_constants_free(put.constants);
    timed(d, tn_strf(d->ctx, "%s: VM code and constants", v->target.name), start);
    return st;
}

/* ---- one variant ---- */

/* Removes the last pass of that name, and all before it: a site may have inserted the pass once more, with its own rules. */
static tnb_status
start_after(tn_ctx *ctx, tnk_pipeline *p, const char *name)
{
    for (int ph = TNK_FINALIZE; ph >= 0; ph--) {
        tn_pass_list *l = &p->phases[ph];
        for (uint32_t i = l->n; i-- > 0;)
            if (strcmp(l->at[i].name, name) == 0) {
                l->at += i + 1;
                l->n -= i + 1;
                while (ph-- > 0)
                    p->phases[ph].n = 0;
                return TNB_OK;
            }
    }
    tn_error(ctx, 0, TNB_NOT_FOUND, "the pipeline has no pass '%s' to start after", name);
    return TNB_NOT_FOUND;
}

static tnb_status
compile_variant(struct driver *d, struct driver_variant *v)
{
    tn_ctx *ctx = d->ctx;
    const char *profile = d->opt->profile ? d->opt->profile : d->model->profile;
    tnk_pipeline pipeline;
    double start = now();
    if (!may_skip(ctx, d->opt, &v->target))
        return TNB_UNTRUSTED;
    if (!tnk_pipeline_make(ctx, d->opt->conf, &v->target, profile, &pipeline) ||
        !check_config(ctx, d->opt, &v->target, &pipeline))
        return TNB_INVALID;
    if (d->opt->start_after)
        TNB_TRY(start_after(ctx, &pipeline, d->opt->start_after));
    v->module = d->model->module;
    uint32_t passes = 0;
    for (int p = 0; p <= TNK_FINALIZE; p++) {
        v->module = run_phases(ctx, v->module, &v->target, &pipeline, (tnk_phase)p, (tnk_phase)p,
                               d->opt, d->verify ? tnk_verify_check(d->verify) : NULL, passes);
        if (!v->module)
            return TNB_UNSUPPORTED;
        passes += pipeline.phases[p].n;
        timed(d, tn_strf(ctx, "%s: %s", v->target.name, tnk_phase_name((tnk_phase)p)), start);
        start = now();
    }
    v->module = driver_without_meanings(ctx, v->module);
    TNB_TRY(check_codegen(d, v));
    TNB_TRY(
        lower_kernels(d, v,
                      driver_kind_with_lower(ctx, v->target.kind, &pipeline.phases[TNK_LOWER])));
    timed(d, tn_strf(ctx, "%s: lower", v->target.name), start);
    start = now();
    uint32_t own = v->n_kernels - v->n_fallback;
    if (d->opt->emit != TNK_EMIT_ARTIFACT) {
        tnk_build b = build_of(d, &v->target);
        const tnk_codegen *cg = v->target.kind->codegen;
        if (v->n_fallback) {
            tn_error(ctx, 0, TNB_UNSUPPORTED,
                     "kernel '%s' falls back to target '%s': C is of one target",
                     v->kernels[own].name, v->fallback.name);
            return TNB_UNSUPPORTED;
        }
        uint32_t errors = tnb_diags_errors(tn_diags(ctx));
        tnb_status st = TN_WITHIN(ctx, "target", v->target.kind, "sources",
                                  cg->sources(cg->self, &b, v->kernels, own, &v->sources));
        if (st != TNB_OK)
            return tn_need_reason(ctx, errors, st, "target", v->target.name, "sources");
        timed(d, tn_strf(ctx, "%s: kernels", v->target.name), start);
        return make_program(d, v);
    }
    TNB_TRY(generate(d, &v->target, v->kernels, own, &v->code));
    TNB_TRY(generate(d, &v->fallback, v->kernels + own, v->n_fallback, &v->fallback_code));
    timed(d, tn_strf(ctx, "%s: kernels", v->target.name), start);
    return make_program(d, v);
}

/* ---- the artifact ---- */

static tnb_status
write_variants(struct driver *d, tnb_err *err)
{
    for (uint32_t i = 0; i < d->opt->n_targets; i++) {
        tnb_buf program = {0};
        tnb_status st = tnk_program_write(d->variants[i].program, &program, err);
        if (st == TNB_OK)
            st = tnk_artifact_section(d->artifact, TNB_TNO_PROGRAM, i, program.s, program.n, err);
        if (st == TNB_OK && d->variants[i].code.n_bytes)
            st = tnk_artifact_section(d->artifact, TNB_TNO_CODE, i, d->variants[i].code.bytes,
                                      d->variants[i].code.n_bytes, err);
        if (st == TNB_OK && d->variants[i].fallback_code.n_bytes)
            st = tnk_artifact_section(d->artifact, TNB_TNO_FALLBACK_CODE, i,
                                      d->variants[i].fallback_code.bytes,
                                      d->variants[i].fallback_code.n_bytes, err);
        tnb_buf_free(&program);
        TNB_TRY(st);
    }
    return TNB_OK;
}

static tnb_status
write_artifact(struct driver *d)
{
    tnb_err err = {0};
    tnb_buf json = {0};
    double start = now();
    tnb_status st = driver_metadata(d->ctx, d->model->module, d->publics, d->n_publics, d->variants,
                                    d->opt->n_targets, &json);
    if (st == TNB_OK)
        st = tnk_artifact_section(d->artifact, TNB_TNO_METADATA, 0, json.s, json.n, &err);
    else if (tnb_diags_errors(tn_diags(d->ctx)) == 0)
        (void)tnb_fail(&err, st, "the artifact's metadata cannot be written");
    tnb_buf_free(&json);
    if (st == TNB_OK)
        st = write_variants(d, &err);
    if (st == TNB_OK && !tn_ctx_check_memory(d->ctx))
        return TNB_NO_MEMORY;
    if (st == TNB_OK) {
        st = tnk_artifact_finish(d->artifact, &d->out->fd, &d->out->bytes, &err);
        d->artifact = NULL;
    }
    if (st != TNB_OK && *err.message)
        driver_error(d->ctx, &err);
    timed(d, "write", start);
    return st;
}

static tnb_status
compile_all(struct driver *d)
{
    tnb_err err = {0};
    uint32_t n = d->opt->n_targets;
    for (uint32_t i = 0; i < n; i++)
        if (!tnk_target_find_with(d->ctx, d->opt->conf, d->opt->targets[i], d->opt->target_attrs,
                                  d->opt->usual_attrs, &d->variants[i].target))
            return TNB_INVALID;
    if (!driver_has_attrs(d->ctx, d->opt, d->variants, n))
        return TNB_INVALID;
    bool emits = d->opt->emit != TNK_EMIT_ARTIFACT;
    if (emits)
        TNB_TRY(driver_emit_check(d->ctx, d->opt, &d->variants[0].target));
    tnb_status st = tnk_artifact_new(emits ? NULL : d->opt->output, n, &d->artifact, &err);
    if (st != TNB_OK) {
        driver_error(d->ctx, &err);
        return st;
    }
    for (uint32_t i = 0; i < n; i++)
        TNB_TRY(compile_variant(d, &d->variants[i]));
    TNB_TRY(write_artifact(d));
    if (!emits)
        return TNB_OK;
    tnk_build b = build_of(d, &d->variants[0].target);
    double start = now();
    st = driver_emit(d->ctx, d->opt, &b, &d->variants[0], d->out->fd, &d->out->bytes);
    close(d->out->fd);
    d->out->fd = -1;
    timed(d, "C", start);
    return st;
}

static void
fill_result(struct driver *d)
{
    tnb_arena *a = tn_arena(d->ctx);
    uint32_t n = d->opt->n_targets, *counts = TNB_NEW_N(a, uint32_t, n);
    const tn_module **modules = TNB_NEW_N(a, const tn_module *, n);
    const tnk_kernel **kernels = TNB_NEW_N(a, const tnk_kernel *, n);
    for (uint32_t i = 0; i < n; i++) {
        modules[i] = d->variants[i].module;
        kernels[i] = d->variants[i].kernels;
        counts[i] = d->variants[i].n_kernels;
    }
    d->out->modules = modules;
    d->out->kernels = kernels;
    d->out->n_kernels = counts;
    d->out->n_targets = n;
    d->out->times = d->times.at;
    d->out->n_times = d->times.n;
    if (d->verify)
        d->out->verify = tnk_verify_result(d->verify);
}

tnb_status
tnk_compile(tn_ctx *ctx, const tnk_model *model, const tnk_compile_options *opt,
            tnk_compile_result *out)
{
    struct driver d = {.ctx = ctx, .model = model, .opt = opt, .out = out};
    memset(out, 0, sizeof *out);
    out->fd = -1;
    tnk_set_limits(ctx, opt->conf);
    if (opt->n_targets == 0) {
        tn_error(ctx, 0, TNB_INVALID, "no target to compile for");
        return TNB_INVALID;
    }
    d.variants = TNB_NEW_N(tn_arena(ctx), struct driver_variant, opt->n_targets);
    d.publics = driver_publics(ctx, model->module, &d.n_publics);
    if (opt->verify)
        d.verify =
            tnk_verify_new(ctx, opt->verify_budget, opt->verify_rtol, opt->verify_atol, opt->seed);
    if (d.verify)
        tnk_verify_extents(d.verify, opt->verify_extents);
    tnb_status st = compile_all(&d);
    tnk_artifact_abandon(d.artifact);
    fill_result(&d);
    return st;
}
