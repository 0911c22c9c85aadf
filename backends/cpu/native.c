/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of tensor programs over constants by machine code: what the driver makes large
 * deferred constants with.
 *
 * The programs take the way of the target's own kernels (rules, lower list, codegen.c), for this
 * machine. What they compute is to be the same on every machine: the width of vectors is fixed and
 * a * b + c rounds twice.
 */
#include "config.h"

#include <stdlib.h>

#include "cpu.h"
#include "features.h"
#include "object.h"
#include "team.h"
#include "tenon/base/threads.h"
#include "tenon/core/walk.h"

enum { VECTOR_BYTES = 32, MANY_TURNS = 1 << 24 };

typedef struct prepared {
    void *object;
    tnb_cpu_kernel *kernels; /* NULL: the program could not be lowered */
    uint32_t n;
    int threads;
    cpu_team *team;
} prepared;

/* ---- making the code ---- */

/* x86-64-v3 where this machine has it: for the conversions from and to float16. */
static const tn_target *
make_target(tn_ctx *ctx)
{
    const char *have[CPU_MAX_FEATURES];
    uint32_t n = cpu_features(have, CPU_MAX_FEATURES);
    cpu_needs usual;
    const tn_node *attrs =
        tn_dictv(ctx, "mcpu", tn_string(ctx, ""), "vector_bytes", tn_i64(ctx, VECTOR_BYTES), NULL);
    bool all = cpu_needs_of(ctx, attrs, &usual);
    for (uint32_t i = 0; all && i < usual.n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < n && !found; k++)
            found = strcmp(have[k], usual.names[i]) == 0;
        all = found;
    }
    attrs = cpu_probe(ctx, attrs, NULL);
#if defined(__x86_64__)
    if (!all)
        attrs = tn_dict_set(ctx, attrs, "mcpu", tn_string(ctx, "x86-64"));
#endif
    return tn_as_target(tn_target_of(ctx, "c", attrs));
}

typedef struct turns {
    double now, most;
} turns;

static tn_walk_step
enter(void *user, const tn_node *n)
{
    turns *t = user;
    const tn_for_loop *f = tn_as_for_loop(n);
    int64_t extent;
    if (f && tn_int_value(f->extent, &extent) && extent > 0)
        t->now *= (double)extent;
    t->most = t->now > t->most ? t->now : t->most;
    return TN_WALK_ON;
}

static tn_walk_step
leave(void *user, const tn_node *n)
{
    turns *t = user;
    const tn_for_loop *f = tn_as_for_loop(n);
    int64_t extent;
    if (f && tn_int_value(f->extent, &extent) && extent > 0)
        t->now /= (double)extent;
    return TN_WALK_ON;
}

/* The item of the target's lists that schedules; plain loops where these take less time than to compile a better schedule. */
static const char *
scheduling(const tn_node *program)
{
    turns t = {.now = 1};
    tn_walk(tn_as_prim_func(program)->body, 0, enter, leave, &t);
    if (t.most < MANY_TURNS)
        return "ApplyDefaultSchedule{rules=[Fallback]}";
    for (uint32_t i = 0; cpu_legalize[i]; i++)
        if (strncmp(cpu_legalize[i], "ApplyDefaultSchedule", 20) == 0)
            return cpu_legalize[i];
    return NULL;
}

/* False after recording an error; also for programs that this way does not take. */
static bool
lower(tn_ctx *ctx, const tn_target *target, const tn_node *program, const char *name,
      tnk_kernel *out)
{
    tn_pass_list list;
    const char *schedule = scheduling(program);
    const tn_target_kind *kind = tn_find_target(tn_ctx_registry(ctx), "cpu", NULL);
    if (!kind || !schedule || !tn_pass_list_parse(ctx, schedule, "cpu", &list))
        return false;
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), name, program);
    tn_pass_run run = {.target = target, .no_verify = true};
    m = m ? tn_run_passes(ctx, m, &list, &run) : NULL;
    const tnk_kernel *k =
        m ? tnk_lower_kernel(ctx, target, kind, name, tn_module_get(m, name)) : NULL;
    uint32_t memory = 0;
    for (uint32_t i = 0; k && tnk_next_memory(k, &i);)
        memory++;
    for (uint32_t i = 0; k && tnk_next_param(k, TNB_PARAM_SCALAR, &i);)
        return false;
    if (!k || memory != tn_as_prim_func(program)->params.n)
        return false;
    *out = *k;
    return true;
}

static void
release(void *self, void *p)
{
    prepared *r = p;
    (void)self;
    if (!r)
        return;
    cpu_team_free(r->team);
    cpu_object_close(r->object);
    free(r->kernels);
    free(r);
}

static void *
fail(tn_ctx *ctx, prepared *r, const tnb_err *err)
{
    tn_error(ctx, 0, err->status, "%s", err->message);
    release(NULL, r);
    return NULL;
}

static void *
prepare(void *self, tn_ctx *ctx, const tn_node *const *programs, uint32_t n, tn_native_options *opt)
{
    (void)self;
    tnb_err err = {0};
    prepared *r = calloc(1, sizeof *r);
    tnk_kernel *kernels = TNB_NEW_N(tn_arena(ctx), tnk_kernel, n);
    uint32_t *program = TNB_NEW_N(tn_arena(ctx), uint32_t, n), count = 0;
    const tn_target *target = make_target(ctx);
    if (!r || !(r->kernels = calloc((size_t)n + 1, sizeof *r->kernels)) ||
        !(r->team = cpu_team_new())) {
        (void)tnb_fail(&err, TNB_NO_MEMORY, "no memory to compile constants");
        return fail(ctx, r, &err);
    }
    r->n = n;
    r->threads = opt->jobs > 0 ? opt->jobs : 1;
    for (uint32_t i = 0; i < n; i++)
        if (lower(ctx, target, programs[i], tn_strf(ctx, "constant%u", i), &kernels[count]))
            program[count++] = i;
    if (!count) {
        release(NULL, r);
        return NULL;
    }
    tnk_build b = {.ctx = ctx,
                   .target = target,
                   .jobs = r->threads,
                   .cache_dir = opt->cache_dir,
                   .cache_bytes = opt->cache_bytes};
    tnk_code code;
    static const char *const exact[] = {"-ffp-contract=off", NULL};
    tnb_status st = cpu_build(&b, kernels, count, exact, &code);
    opt->compiler_seconds += b.compiler_seconds;
    opt->cache_hits += b.cache_hits;
    opt->cache_misses += b.cache_misses;
    if (st != TNB_OK) {
        release(NULL, r);
        return NULL;
    }
    if (cpu_object_open(code.bytes, code.n_bytes, &r->object, &err) != TNB_OK)
        return fail(ctx, r, &err);
    for (uint32_t i = 0; i < count; i++) {
        void *f;
        if (cpu_object_kernel(r->object, kernels[i].name, &f, &err) != TNB_OK)
            return fail(ctx, r, &err);
        memcpy(&r->kernels[program[i]], &f, sizeof f);
    }
    return r;
}

/* ---- running it ---- */

/* Temporaries of one run. */
typedef struct blocks {
    void **at;
    size_t n, cap;
    cpu_team *team;
} blocks;

static void *
workspace(tnb_kernel_env *env, size_t bytes)
{
    blocks *b = env->user;
    if (b->n == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 8;
        void **at = realloc(b->at, cap * sizeof *at);
        if (!at)
            return NULL;
        b->at = at;
        b->cap = cap;
    }
    void *p;
    if (bytes > PTRDIFF_MAX || posix_memalign(&p, 64, bytes ? bytes : 1) != 0)
        return NULL;
    b->at[b->n++] = p;
    return p;
}

static void
team(tnb_kernel_env *env, tnb_kernel_part part, void *args, int64_t min, int64_t n)
{
    const blocks *b = env->user;
    bool few = env->worth > 0 && env->worth < env->threads;
    cpu_team_run(b->team, few ? env->worth : env->threads, part, args, min, n);
}

static bool
call(void *self, tn_ctx *ctx, void *p, uint32_t i, void *const *buffers)
{
    (void)self;
    const prepared *r = p;
    if (i >= r->n || !r->kernels[i]) {
        tn_error(ctx, 0, TNB_UNSUPPORTED, "program %u has no machine code", i);
        return false;
    }
    blocks temporary = {.team = r->team};
    tnb_kernel_refusal refused = {0};
    tnb_kernel_env env = {.threads = r->threads,
                          .workspace = workspace,
                          .user = &temporary,
                          .team = team,
                          .refused = &refused};
    int32_t rc = r->kernels[i](buffers, NULL, &env);
    for (size_t k = 0; k < temporary.n; k++)
        free(temporary.at[k]);
    free(temporary.at);
    if (rc == TNB_KERNEL_OK)
        return true;
    if (rc == TNB_KERNEL_REFUSED) {
        tn_error(ctx, 0, TNB_BOUNDS, "index %lld is out of range, the extent is %lld",
                 (long long)refused.index, (long long)refused.extent);
        return false;
    }
    tn_error(ctx, 0, rc == TNB_KERNEL_NO_MEMORY ? TNB_NO_MEMORY : TNB_INVALID,
             rc == TNB_KERNEL_NO_MEMORY ? "no memory for temporaries"
                                        : "an assertion of the program failed");
    return false;
}

const tn_evaluator cpu_native = {
    .base.size = sizeof(tn_evaluator),
    .base.name = "cpu",
    .base.doc = "machine code of this processor for tensor programs, by the system's C compiler",
    .prepare = prepare,
    .call = call,
    .release = release,
};
