/* SPDX-License-Identifier: Apache-2.0 */
/* Code generation of the cpu target: kernels become C source, the system's compiler makes one
 * shared object of it.
 *
 * The source is split into files of about equal size, so that several compilers can run at once;
 * the split depends on the kernels alone, so the result does not depend on `jobs`. Kernels with
 * equal source share their code. The object is kept under the hash of source, flags, compiler and
 * features. Paths, times and build identifiers do not get into it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"
#include "tenon/base/cache.h"
#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/kit/emit.h"

enum { GROUP_BYTES = 24576, MAX_GROUPS = 16, MAX_OBJECT = 1 << 30 };

static const char *const base_flags[] = {
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fno-semantic-interposition",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-ffile-prefix-map=.=kernels",
    "-Wno-psabi", /* vectors are passed within a file only */
    /* each of these would compute something else than was meant */
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
};

typedef struct unit {
    const char *text; /* of one kernel, without its name's uses elsewhere */
    size_t n;
    uint64_t hash;
    uint32_t same_as; /* index of an equal kernel; itself if none */
    uint32_t group;
    uint32_t alias; /* index of the next kernel that is equal, 0 at the last */
} unit;

typedef struct work {
    tnk_build *b;
    tn_ctx *ctx;
    cpu_needs needs;
    cpu_toolchain cc;
    TNB_VEC(const char *) flags;
    tnk_kernel *kernels;
    unit *units;
    uint32_t n, n_groups;
    const char *prologue;
    const char **sources;            /* per group */
    int64_t seconds;                 /* that a run of the compiler may take; 0: any */
    char folder[TNB_TEMPORARY_PATH]; /* where the compilers work */
} work;

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const tn_node *
attrs_of(const tnk_build *b)
{
    return b->target ? b->target->attrs : NULL;
}

const char *const *
cpu_flags(tn_ctx *ctx, const tn_node *attrs, const cpu_needs *needs, const char *const *more)
{
    tnb_arena *a = tn_arena(ctx);
    TNB_VEC(const char *) flags = {0};
    for (size_t i = 0; i < sizeof base_flags / sizeof base_flags[0]; i++)
        TNB_PUSH(a, flags, base_flags[i]);
    if (needs->march)
        TNB_PUSH(a, flags, tnb_printf(a, "-march=%s", needs->march));
    for (uint32_t i = 0; needs->march && i < needs->n; i++) {
        const char *name = needs->names[i];
        /* clang knows abm, which is lzcnt and popcnt, under these names only */
        TNB_PUSH(a, flags, tnb_printf(a, "-m%s", strcmp(name, "abm") ? name : "lzcnt"));
    }
    if (needs->cpu)
        TNB_PUSH(a, flags,
                 tnb_printf(a, "%s%s", cpu_machine_option(ctx, tn_dict_str(attrs, "mtriple", "")),
                            needs->cpu));
    for (; more && *more; more++)
        TNB_PUSH(a, flags, *more);
    TNB_PUSH(a, flags, NULL);
    return flags.at;
}

/* gcc would keep what the next iteration loads in registers that accumulators need, and, allocating registers
 * loop by loop, spills accumulators in the innermost one. */
const char *const cpu_gcc_flags[] = {"-fno-predictive-commoning", "-fira-region=one", NULL};

static void
collect_flags(work *w, const char *const *more)
{
    for (const char *const *f = cpu_flags(w->ctx, attrs_of(w->b), &w->needs, NULL); *f; f++)
        TNB_PUSH(tn_arena(w->ctx), w->flags, *f);
    for (const char *const *f = w->cc.is_clang ? NULL : cpu_gcc_flags; f && *f; f++)
        TNB_PUSH(tn_arena(w->ctx), w->flags, *f);
    for (; more && *more; more++)
        TNB_PUSH(tn_arena(w->ctx), w->flags, *more);
}

/* The text of a kernel with a neutral name, so that equal kernels are equal texts. The sign that
 * stands for the name is none of C, so that different texts stay different. */
static const char *
neutral(tn_ctx *ctx, const char *text, size_t n, const char *name)
{
    size_t skipped = strlen(name);
    char *out = tnb_alloc(tn_scratch(ctx), n + 1), *to = out;
    for (const char *at; (at = strstr(text, name)); text = at + skipped) {
        memcpy(to, text, (size_t)(at - text));
        to += at - text;
        *to++ = '\1';
    }
    strcpy(to, text);
    return out;
}

static bool
emit_all(work *w)
{
    tnk_source *src = tnk_source_new(w->ctx, tnk_dialect_find(w->ctx, "c"));
    if (!src)
        return false;
    tnb_strmap seen;
    tnb_strmap_init(&seen, tn_arena(w->ctx));
    for (uint32_t i = 0; i < w->n; i++) {
        if (!tnk_source_add(src, &w->kernels[i]))
            return false;
        unit *u = &w->units[i];
        u->text = tnb_strdup(tn_arena(w->ctx), tnk_source_last(src));
        u->n = strlen(u->text);
        u->same_as = i;
        const char *key = neutral(w->ctx, u->text, u->n, w->kernels[i].name);
        const uint32_t *first = tnb_strmap_get(&seen, key);
        if (first) {
            u->same_as = *first;
        } else {
            uint32_t *own = TNB_NEW(tn_arena(w->ctx), uint32_t);
            *own = i;
            tnb_strmap_set(&seen, key, own);
        }
        if (w->b->keep_source)
            w->kernels[i].source = u->text;
        w->kernels[i].workspaces = tnk_source_workspaces(src);
    }
    tnb_buf head = {0};
    tnk_source_header(src, &head);
    w->prologue = tnb_strdup(tn_arena(w->ctx), head.s ? head.s : "");
    tnb_buf_free(&head);
    return true;
}

static int
by_size(const void *a, const void *b, void *user)
{
    const work *w = user;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (w->units[x].n != w->units[y].n)
        return w->units[x].n > w->units[y].n ? -1 : 1;
    return x < y ? -1 : 1;
}

/* The text of a kernel, and the kernels equal to it as other names of it. */
static void
write_unit(work *w, uint32_t i, tnb_buf *b)
{
    tnb_buf_puts(b, w->units[i].text);
    for (uint32_t k = w->units[i].alias; k; k = w->units[k].alias)
        tnb_buf_printf(b,
                       "TK_KERNEL int32_t\n%s(void *const *, const "
                       "tnb_kernel_scalar *, tnb_kernel_env *)\n"
                       "    __attribute__((alias(\"%s\")));\n",
                       w->kernels[k].name, w->kernels[i].name);
    tnb_buf_puts(b, "\n");
}

/* Each group has the helpers of all kernels. */
static const char expected[] = "#pragma GCC diagnostic ignored \"-Wunused-function\"\n";

static void
write_groups(work *w)
{
    tnb_arena *a = tn_arena(w->ctx);
    for (uint32_t k = w->n; k-- > 1;) { /* backwards, so that aliases come in order */
        uint32_t i = w->units[k].same_as;
        if (i != k) {
            w->units[k].alias = w->units[i].alias;
            w->units[i].alias = k;
        }
    }
    w->sources = TNB_NEW_N(a, const char *, w->n_groups);
    for (uint32_t g = 0; g < w->n_groups; g++) {
        tnb_buf b = {0};
        tnb_buf_puts(&b, expected);
        tnb_buf_puts(&b, w->prologue);
        for (uint32_t i = 0; i < w->n; i++)
            if (w->units[i].same_as == i && w->units[i].group == g)
                write_unit(w, i, &b);
        w->sources[g] = tnb_strdup(a, b.s ? b.s : "");
        tnb_buf_free(&b);
    }
}

/* The largest kernels first, each into the group that is smallest so far. */
static void
make_groups(work *w)
{
    tnb_arena *a = tn_arena(w->ctx);
    size_t total = 0;
    uint32_t distinct = 0;
    uint32_t *order = TNB_NEW_N(a, uint32_t, w->n + 1);
    for (uint32_t i = 0; i < w->n; i++)
        if (w->units[i].same_as == i) {
            total += w->units[i].n;
            order[distinct++] = i;
        }
    size_t groups = total / GROUP_BYTES + 1;
    groups = groups > MAX_GROUPS ? MAX_GROUPS : groups < 2 && distinct > 1 ? 2 : groups;
    w->n_groups = (uint32_t)(groups > distinct ? (distinct ? distinct : 1) : groups);
    qsort_r(order, distinct, sizeof *order, by_size, w);
    size_t *fill = TNB_NEW_N(a, size_t, w->n_groups);
    for (uint32_t k = 0; k < distinct; k++) {
        uint32_t best = 0;
        for (uint32_t g = 1; g < w->n_groups; g++)
            if (fill[g] < fill[best])
                best = g;
        w->units[order[k]].group = best;
        fill[best] += w->units[order[k]].n;
    }
    write_groups(w);
}

static const char *
cache_key(work *w)
{
    tnb_buf b = {0};
    tnb_buf_puts(&b, w->cc.identity);
    for (uint32_t i = 0; i < w->flags.n; i++)
        tnb_buf_printf(&b, "\n%s", w->flags.at[i]);
    for (uint32_t g = 0; g < w->n_groups; g++) {
        tnb_buf_puts(&b, "\n--- ");
        tnb_buf_puts(&b, w->sources[g]);
    }
    tnb_hash_text t = tnb_hash_print(tnb_hash_128(b.s, b.n));
    tnb_buf_free(&b);
    return tnb_strdup(tn_arena(w->ctx), t.s);
}

static const char *const *
command(work *w, const char *const *rest, uint32_t n_rest, bool with_flags)
{
    tnb_arena *a = tn_arena(w->ctx);
    const char **argv = TNB_NEW_N(a, const char *, w->cc.n + w->flags.n + n_rest + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->cc.n; i++)
        argv[n++] = w->cc.command[i];
    for (uint32_t i = 0; with_flags && i < w->flags.n; i++)
        argv[n++] = w->flags.at[i];
    for (uint32_t i = 0; i < n_rest; i++)
        argv[n++] = rest[i];
    return argv;
}

/* How a run of the compiler ended. */
static const char *
outcome_of(tnb_arena *a, const cpu_job *j, int64_t seconds)
{
    if (j->late)
        return tnb_printf(a, "took more than the %lld seconds of cc_timeout", (long long)seconds);
    if (j->signal)
        return tnb_printf(a, "was ended by signal %d (%s)", j->signal, strsignal(j->signal));
    if (j->missing)
        return tnb_printf(a, "ended with status 0, without %s", j->makes);
    return tnb_printf(a, "failed with status %d", j->status);
}

/* The command as a person would type it, but for blanks in its words. */
static const char *
command_line(tnb_arena *a, const char *const *argv)
{
    const char *all = argv[0];
    for (uint32_t i = 1; argv[i]; i++)
        all = tnb_printf(a, "%s %s", all, argv[i]);
    return all;
}

tnb_status
cpu_job_error(tn_ctx *ctx, const char *what, const char *whom, const cpu_job *job, const char *log,
              int64_t seconds)
{
    bool wrote = false;
    tn_error(ctx, 0, TNB_BUILD, "%s %s%s%s: %s", what, outcome_of(tn_arena(ctx), job, seconds),
             *whom ? " at kernel " : "", whom, job->argv[0]);
    for (size_t at = 0; log && log[at] && at <= 4000;) {
        size_t len = strcspn(log + at, "\n");
        if (len)
            tnb_diag_note(tn_diags(ctx), "%.*s", (int)(len > 400 ? 400 : len), log + at);
        wrote |= len != 0;
        at += len + (log[at + len] != 0);
    }
    if (!wrote)
        tnb_diag_note(tn_diags(ctx), "it wrote no message; it was run as: %s",
                      command_line(tn_arena(ctx), job->argv));
    if (job->late)
        tnb_diag_hint(tn_diags(ctx),
                      "set cc_timeout in the section [target cpu]; 0 waits for ever");
    else if (job->signal == SIGXFSZ)
        tnb_diag_hint(tn_diags(ctx), "raise the limit of file sizes (ulimit -f)");
    else if (!wrote)
        tnb_diag_hint(tn_diags(ctx), "is it a C compiler for the target? `cc` in the [target cpu] "
                                     "section, else CC in the environment, names another");
    return TNB_BUILD;
}

static tnb_status
compiler_error(work *w, const char *what, const cpu_job *job, uint32_t group)
{
    tnb_arena *a = tn_arena(w->ctx);
    char *text = NULL;
    size_t n = 0;
    const char *path = tnb_printf(a, "%s/%s", w->folder, job->log);
    if (tnb_read_file(path, 1u << 20, &text, &n, NULL) != TNB_OK)
        text = NULL;
    const char *name = "";
    /* "NAME.c: In function 'NAME':" */
    const char *in = text ? strstr(text, "In function '") : NULL;
    if (in)
        name = tnb_strndup(a, in + 13, strcspn(in + 13, "'"));
    else if (group != UINT32_MAX)
        for (uint32_t i = 0; i < w->n && !*name; i++)
            if (w->units[i].group == group)
                name = w->kernels[i].name;
    tnb_status st = cpu_job_error(w->ctx, what, name, job, text, w->seconds);
    free(text);
    return st;
}

static void
report(void *user, uint32_t done)
{
    work *w = user;
    if (w->b->progress)
        w->b->progress(w->b->progress_user, done, w->n_groups + 1);
}

/* The compiler may be another program than it should be, or one for another machine. */
static tnb_status
check_object(work *w, const tnk_code *code)
{
    tnb_err err = {0};
    const char **names = TNB_NEW_N(tn_arena(w->ctx), const char *, w->n);
    for (uint32_t i = 0; i < w->n; i++)
        names[i] = w->kernels[i].name;
    if (cpu_produced_check(tn_arena(w->ctx), code->bytes, code->n_bytes, names, w->n, &err) ==
        TNB_OK)
        return TNB_OK;
    tn_error(w->ctx, 0, TNB_BUILD, "%s made something else than the kernels of this machine: %s",
             w->cc.command[0], err.message);
    tnb_diag_hint(tn_diags(w->ctx), "set `cc` in the [target cpu] section or CC to a compiler for "
                                    "this machine");
    return TNB_BUILD;
}

static tnb_status
compile_all(work *w, tnk_code *out)
{
    tnb_arena *a = tn_arena(w->ctx);
    cpu_job *jobs = TNB_NEW_N(a, cpu_job, w->n_groups + 1);
    TNB_VEC(const char *) link = {0};
    static const char *const link_first[] = {"-shared", "-Wl,--build-id=none", "-Wl,-s", "-o",
                                             "kernels.so"};
    for (size_t i = 0; i < sizeof link_first / sizeof link_first[0]; i++)
        TNB_PUSH(a, link, link_first[i]);
    for (uint32_t g = 0; g < w->n_groups; g++) {
        const char *src = tnb_printf(a, "g%u.c", g), *obj = tnb_printf(a, "g%u.o", g);
        tnb_err err = {0};
        if (tnb_write_file(tnb_path_join(a, w->folder, src), w->sources[g], strlen(w->sources[g]),
                           &err) != TNB_OK) {
            tn_error(w->ctx, 0, err.status, "%s", err.message);
            tnb_diag_hint(
                tn_diags(w->ctx),
                "free some space there, or set TMPDIR to a folder of another file system");
            return err.status;
        }
        const char *const rest[] = {"-c", src, "-o", obj};
        jobs[g] = (cpu_job){.argv = command(w, rest, 4, true),
                            .log = tnb_printf(a, "g%u.log", g),
                            .makes = obj};
        TNB_PUSH(a, link, obj);
    }
    TNB_PUSH(a, link, "-lm");
    report(w, 0);
    if (!cpu_run_jobs(w->folder, jobs, w->n_groups, w->b->jobs, (double)w->seconds, report, w)) {
        tn_error(w->ctx, 0, TNB_BUILD, "cannot start the C compiler %s", w->cc.command[0]);
        return TNB_BUILD;
    }
    for (uint32_t g = 0; g < w->n_groups; g++)
        if (jobs[g].status != 0 || jobs[g].missing)
            return compiler_error(w, "compiling", &jobs[g], g);
    cpu_job *l = &jobs[w->n_groups];
    *l = (cpu_job){.argv = command(w, link.at, link.n, false),
                   .log = "link.log",
                   .makes = "kernels.so"};
    if (!cpu_run_jobs(w->folder, l, 1, 1, (double)w->seconds, NULL, NULL) || l->status != 0 ||
        l->missing)
        return compiler_error(w, "linking", l, UINT32_MAX);
    tnb_mapping m = {0};
    tnb_err err = {0};
    if (tnb_map_file(tnb_path_join(a, w->folder, "kernels.so"), MAX_OBJECT, &m, &err) != TNB_OK) {
        tn_error(w->ctx, 0, err.status, "%s", err.message);
        return err.status;
    }
    out->bytes = tnb_dup(a, m.data, (size_t)m.size);
    out->n_bytes = (size_t)m.size;
    tnb_unmap(&m);
    if (!tnb_arena_failed(a)) /* else what follows would keep it in the cache */
        return check_object(w, out);
    tn_error(w->ctx, 0, TNB_NO_MEMORY, "no memory for compiled kernels");
    return TNB_NO_MEMORY;
}

static tnb_status
in_folder(work *w, tnk_code *out)
{
    tnb_err err;
    if (tnb_temporary_dir(w->folder, &err) != TNB_OK) {
        tn_error(w->ctx, 0, err.status, "compiling kernels: %s", err.message);
        tnb_diag_hint(tn_diags(w->ctx), "%s", err.hint);
        return err.status;
    }
    double t = now();
    tnb_status s = compile_all(w, out);
    w->b->compiler_seconds += now() - t;
    tnb_temporary_remove(w->folder);
    return s;
}

tnb_status
cpu_build(tnk_build *b, tnk_kernel *kernels, uint32_t n, const char *const *more_flags,
          tnk_code *out)
{
    tn_ctx *ctx = b->ctx;
    const tn_node *attrs = attrs_of(b);
    work w = {.b = b, .ctx = ctx, .kernels = kernels, .n = n};
    w.units = TNB_NEW_N(tn_arena(ctx), unit, n + 1);
    *out = (tnk_code){.format = "elf"};
    if (!cpu_needs_of(ctx, attrs, &w.needs))
        return TNB_INVALID;
    if (!cpu_machine_is_here(attrs)) {
        tn_error(
            ctx, 0, TNB_UNSUPPORTED,
            "target cpu: an artifact's kernels are for machines like this one, and mtriple is '%s'",
            tn_dict_str(attrs, "mtriple", ""));
        tnb_diag_hint(tn_diags(ctx), "tenon compile --emit=static-lib makes a library for another "
                                     "machine, or run tenon compile there");
        return TNB_UNSUPPORTED;
    }
    const tn_node **names = TNB_NEW_N(tn_arena(ctx), const tn_node *, w.needs.n + 1);
    for (uint32_t i = 0; i < w.needs.n; i++)
        names[i] = tn_string(ctx, w.needs.names[i]);
    out->requires_ =
        tn_dictv(ctx, "features", tn_array_of(ctx, tn_list_of(ctx, names, w.needs.n)), NULL);
    if (!emit_all(&w))
        return TNB_UNSUPPORTED;
    double asked = now();
    TNB_TRY(cpu_toolchain_find(ctx, attrs, &w.cc));
    w.seconds = tn_dict_int(attrs, "cc_timeout", 900);
    b->compiler_seconds += now() - asked; /* it was run, for its version */
    collect_flags(&w, more_flags);
    make_groups(&w);
    tnb_cache cache;
    tnb_err err;
    if (tnb_cache_open(tn_arena(ctx), b->cache_dir, ".kernels", b->cache_bytes, &cache, &err) !=
        TNB_OK)
        tn_warn(ctx, 0, "compiled kernels are not kept: %s", err.message);
    const char *key = cache_key(&w);
    out->bytes = tnb_cache_get(tn_arena(ctx), &cache, key, &out->n_bytes);
    if (out->bytes) {
        b->cache_hits++;
        return TNB_OK;
    }
    b->cache_misses++;
    TNB_TRY(in_folder(&w, out));
    if (!tn_ctx_check_memory(ctx))
        return TNB_NO_MEMORY; /* sources may lack parts */
    if (tnb_cache_put(tn_scratch(ctx), &cache, key, out->bytes, out->n_bytes, &err) != TNB_OK)
        tn_warn(ctx, 0, "compiled kernels are not kept: %s", err.message);
    return TNB_OK;
}

tnb_status
cpu_sources(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_c_sources *out)
{
    tn_ctx *ctx = b->ctx;
    work w = {.b = b, .ctx = ctx, .kernels = kernels, .n = n};
    (void)self;
    w.units = TNB_NEW_N(tn_arena(ctx), unit, n + 1);
    if (!cpu_needs_of(ctx, attrs_of(b), &w.needs))
        return TNB_INVALID;
    cpu_machine_unchecked(ctx, attrs_of(b), w.needs.cpu);
    for (uint32_t i = 0; i < w.needs.n; i++)
        if (!strncmp(w.needs.names[i], "amx", 3)) {
            tn_error(ctx, 0, TNB_UNSUPPORTED,
                     "the feature '%s' needs a permission of the system, for which the runtime "
                     "asks: C for "
                     "other programs does without it",
                     w.needs.names[i]);
            return TNB_UNSUPPORTED;
        }
    if (!emit_all(&w))
        return TNB_UNSUPPORTED;
    make_groups(&w);
    out->texts = w.sources;
    out->n_texts = n ? w.n_groups : 0;
    out->flags = cpu_flags(ctx, attrs_of(b), &w.needs, NULL);
    for (out->n_flags = 0; out->flags[out->n_flags];)
        out->n_flags++;
    return TNB_OK;
}

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    (void)self;
    return cpu_build(b, kernels, n, NULL, out);
}

const tnk_codegen cpu_codegen = {
    .size = sizeof(tnk_codegen),
    .name = "cpu",
    .build = build,
    .sources = cpu_sources,
    .objects = cpu_objects,
};
