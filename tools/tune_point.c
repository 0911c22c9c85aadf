/* SPDX-License-Identifier: Apache-2.0 */
/* Building and measuring one schedule of one tensor program, in processes of their own: whatever
 * becomes of a candidate, the tuner goes on. */
#include "tune.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/base/num.h"
#include "tenon/core/builder.h"
#include "tenon/core/eval.h"
#include "tenon/core/walk.h"
#include "tenon/rt/tensor.h"

/* What a child tells its parent. */
typedef struct report {
    int32_t ok;
    int32_t threads;
    double seconds;
    char why[TUNE_WHY];
    char machine[TUNE_MACHINE];
} report;

static bool
give_up(report *out, const char *fmt, ...) TNB_PRINTF(2, 3);

static bool
give_up(report *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out->why, sizeof out->why, fmt, ap);
    va_end(ap);
    for (char *p = out->why; *p; p++)
        if (*p == '\n')
            *p = ' ';
    return false;
}

static bool
give_up_recorded(tnt_session *s, report *out, const char *doing)
{
    tnb_diags *d = tn_diags(s->ctx);
    for (uint32_t i = 0; i < tnb_diags_count(d); i++)
        if (tnb_diags_get(d, i)->severity == TNB_ERROR)
            return give_up(out, "%s: %s", doing, tnb_diags_get(d, i)->message);
    return give_up(out, "%s failed", doing);
}

/* ---- the program around a task ---- */

/* A function `main` with a parameter for each argument of the task's call. NULL: that cannot be. */
static const tn_module *
module_of(tn_ctx *ctx, const tune_task *t, const tn_node *func)
{
    const tn_call *call = t->call;
    const tn_tuple *given = tn_as_tuple(call->args.at[1]);
    if (!given)
        return NULL;
    tn_list params = {0};
    for (uint32_t i = 0; i < given->fields.n; i++) {
        const tn_type *type = given->fields.at[i]->type;
        if (!tn_is(type, TN_KIND_TY_TENSOR))
            return NULL;
        params = tn_list_append(ctx, params, tn_var_new(ctx, tn_strf(ctx, "x%u", i), type));
    }
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), t->name, func);
    tn_builder *b = tn_builder_new(ctx, m);
    tn_list args = tn_listv(ctx, tn_global_var_of(ctx, t->name), tn_tuple_of(ctx, params), NULL);
    for (uint32_t i = 2; i < call->args.n; i++)
        args = tn_list_append(ctx, args, call->args.at[i]);
    tn_builder_begin_function(b, params);
    tn_builder_begin_block(b, true);
    const tn_expr *v =
        tn_emit_output(b,
                       tn_call_of(ctx, call->op, args, call->attrs, call->ty_args, call->base.type),
                       "r");
    tn_builder_end_block(b);
    const tn_node *attrs = tn_dictv(ctx, "global_symbol", tn_string(ctx, "main"), NULL);
    const tn_expr *f = tn_builder_end_function(b, v, NULL, true, attrs);
    if (tn_is_error(f))
        return NULL;
    return tn_module_set(ctx, tn_builder_module(b), "main", f);
}

/* ---- building (in a child) ---- */

static bool
build(tune_run *r, tune_point *p, report *out)
{
    tn_ctx *ctx = r->s->ctx;
    tnk_trial t = {.choices = p->c->choices, .n_choices = p->c->n_choices};
    const tn_node *f = tnk_trial_run(ctx, p->c->rule, p->task->func, r->target.target, &t);
    if (!f)
        return give_up_recorded(r->s, out, "scheduling");
    f = tn_func_with_attr(ctx, f, "tirx.is_scheduled", tn_bool(ctx, true));
    tnk_model model = {.module = module_of(ctx, p->task, f), .profile = r->profile};
    if (!model.module)
        return give_up(out, "no call with random arguments can be built");
    tnk_compile_options opt = {.conf = r->s->conf,
                               .targets = &r->target.name,
                               .n_targets = 1,
                               .profile = r->profile,
                               .output = p->path,
                               .jobs = 1,
                               .no_verify_ir = true,
                               .start_after = "ApplyDefaultSchedule"};
    tnk_compile_result result;
    if (tnk_compile(ctx, &model, &opt, &result) != TNB_OK)
        return give_up_recorded(r->s, out, "compiling");
    return true;
}

/* ---- measuring (in a child) ---- */

/* Results as they lie in memory, one after the other; the descriptor's place moves on. */
static bool
put(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno != EINTR)
            return false;
        p += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return true;
}

/* Tolerances for sums in another order: relative, and of the largest element. */
static double
tolerance_of(tnb_dtype d)
{
    return !tnb_dtype_is_float(d) ? 0
           : d.bits <= 8          ? 0.3
           : d.bits <= 16         ? 3e-2
           : d.bits == 32         ? 1e-3
                                  : 1e-9;
}

static bool
same_result(tune_run *r, const tn_expr *got, const char *want, report *out)
{
    const tn_data *d = ((const tn_constant *)got)->data;
    void *bytes;
    const tn_data *w = tn_data_new(r->s->ctx, d->dtype, d->ndim, d->shape, &bytes);
    if (!w)
        return give_up_recorded(r->s, out, "comparing");
    if (d->n_bytes)
        memcpy(bytes, want, d->n_bytes);
    double rtol = tolerance_of(d->dtype), largest = 0;
    for (uint64_t i = 0; rtol > 0 && i < d->n_elems; i++) {
        double x;
        if (tnb_load_f64(bytes, d->dtype, i, &x) && isfinite(x) && fabs(x) > largest)
            largest = fabs(x);
    }
    tnb_buf why = {0};
    bool same =
        tn_values_close(r->s->ctx, got, tn_constant_of(r->s->ctx, w), rtol, rtol * largest, &why);
    if (!same)
        give_up(out, "result differs from that of the default schedule: %s", why.s ? why.s : "");
    tnb_buf_free(&why);
    return same;
}

static bool
compare(tune_run *r, tune_task *task, const tnr_value *ret, bool keep, report *out)
{
    uint32_t n;
    const tnr_value *values = tnt_results(ret, &n);
    tnb_err err = {0};
    char *want = NULL;
    size_t n_want = 0, at = 0;
    tnb_out *file = NULL;
    tnb_status st = keep ? tnb_out_open(task->reference, &file, &err)
                         : tnb_read_file(task->reference, 0, &want, &n_want, &err);
    bool ok = st == TNB_OK || give_up(out, "%s", err.message);
    for (uint32_t i = 0; ok && i < n; i++) {
        const tn_expr *got = tnt_from_runtime(r->s, values[i]);
        const tn_constant *c = tn_as_constant(got);
        if (!c)
            ok = give_up(out, "a result cannot be read");
        else if (keep)
            ok = tnb_out_write(file, tn_data_get(r->s->ctx, c->data), c->data->n_bytes, &err) ==
                     TNB_OK ||
                 give_up(out, "%s", err.message);
        else if (c->data->n_bytes > n_want - at)
            ok = give_up(out, "result is larger than that of the default schedule");
        else
            ok = same_result(r, got, want + at, out);
        at += c ? c->data->n_bytes : 0;
    }
    free(want);
    if (file && ok)
        ok = tnb_out_commit(file, &err) == TNB_OK || give_up(out, "%s", err.message);
    else
        tnb_out_abandon(file);
    return ok;
}

static bool
call(tnr_vm *vm, const tnr_value *args, uint32_t n, tnr_value *ret, report *out)
{
    tnb_err err = {0};
    return tnr_vm_call(vm, "main", args, n, ret, &err) == TNB_OK ||
           give_up(out, "running: %s", err.message);
}

/* The least time of a call among batches of calls. One that is far from the best so far is soon
 * left alone. */
static bool
time_it(tune_run *r, const tune_task *task, tnr_vm *vm, const tnr_value *args, uint32_t n,
        report *out)
{
    enum { LEAST_BATCHES = 5 };
    static const double batch_seconds = 2e-3;
    double start = tnt_now(), once = 0, least = 1e30;
    uint32_t reps = 1;
    tnb_err err = {0};
    for (uint32_t batch = 0;; batch++) {
        double before = tnt_now();
        for (uint32_t i = 0; i < reps; i++) {
            tnr_value ret = tnr_null();
            bool ok = call(vm, args, n, &ret, out);
            tnr_release(&ret);
            if (!ok)
                return false;
        }
        if (tnr_device_sync(tnr_vm_device(vm), &err) != TNB_OK)
            return give_up(out, "running: %s", err.message);
        double after = tnt_now();
        once = (after - before) / reps;
        if (batch == 0) { /* warms up, and says how many make a batch */
            reps = once > 0 ? (uint32_t)fmin(batch_seconds / once, 9999) + 1 : 10000;
            start = after;
            continue;
        }
        least = once < least ? once : least;
        bool slow = task->best > 0 && least > 4 * task->best;
        if ((batch > LEAST_BATCHES && after - start > r->measure_seconds) || (slow && batch > 2) ||
            after - start > 20 * r->measure_seconds)
            break;
    }
    out->seconds = least > 0 ? least : 1e-10;
    return true;
}

/* The processor's or the device's name. */
static void
name_machine(tnr_device *dev, report *out)
{
    const tnr_driver *d = tnr_device_driver(dev);
    char *text = NULL;
    size_t n = 0;
    if (!(d->flags & TNR_DRIVER_HOST_MEMORY)) {
        if (d->describe)
            d->describe(tnr_device_handle(dev), out->machine, sizeof out->machine);
    } else if (tnb_read_file("/proc/cpuinfo", 1 << 24, &text, &n, NULL) == TNB_OK) {
        const char *at = strstr(text, "model name");
        at = at ? strchr(at, ':') : NULL;
        if (at)
            snprintf(out->machine, sizeof out->machine, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
        free(text);
    }
    char *p = out->machine;
    memmove(p, p + strspn(p, " "), strlen(p + strspn(p, " ")) + 1);
    if (!*p)
        snprintf(p, sizeof out->machine, "unknown");
}

static bool
run_point(tune_run *r, tune_point *p, bool keep, tnt_program *prog, tn_list args, report *out)
{
    tnb_err err = {0};
    tnr_device *dev = tnr_vm_device(prog->vm);
    tnr_value *values = calloc(args.n + 1u, sizeof *values), ret = tnr_null();
    bool ok = values != NULL;
    for (uint32_t i = 0; ok && i < args.n; i++)
        ok = tnt_to_runtime(dev, args.at[i], r->s->ctx, &values[i], &err) == TNB_OK ||
             give_up(out, "%s", err.message);
    ok = ok && call(prog->vm, values, args.n, &ret, out) && compare(r, p->task, &ret, keep, out);
    tnr_release(&ret);
    ok = ok && time_it(r, p->task, prog->vm, values, args.n, out);
    for (uint32_t i = 0; values && i < args.n; i++)
        tnr_release(&values[i]);
    free(values);
    name_machine(dev, out);
    out->threads = tnr_device_driver(dev)->flags & TNR_DRIVER_HOST_MEMORY
                       ? tnr_runtime_threads(r->s->runtime)
                       : 0;
    return ok;
}

bool
tune_know_sizes(const tune_run *r, const tn_module *m)
{
    tn_ctx *ctx = r->s->ctx;
    const tn_dict *sizes = tn_as_dict(r->sizes);
    const char *dims = "";
    tnb_strmap known;
    tnb_strmap_init(&known, tn_arena(ctx));
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_list symbols =
            tn_as_function(m->funcs.at[i]) ? tn_defined_symbols(ctx, m->funcs.at[i]) : (tn_list){0};
        for (uint32_t k = 0; k < symbols.n; k++) {
            const char *name = ((const tn_var *)symbols.at[k])->name;
            if (!tnb_strmap_has(&known, name))
                dims = tn_strf(ctx, "%s%s'%s'", dims, *dims ? ", " : "", name);
            tnb_strmap_set(&known, name, (void *)(uintptr_t)name);
        }
    }
    for (uint32_t i = 0; i < sizes->items.n; i++) {
        const char *name = ((const tn_pair *)sizes->items.at[i])->key;
        if (!*name || tnb_strmap_has(&known, name))
            continue;
        tn_error(ctx, 0, TNB_NOT_FOUND, "option '--size': the model has no dynamic dimension '%s'",
                 name);
        tnb_diag_hint(tn_diags(ctx),
                      *dims ? "its dynamic dimensions: %s" : "all extents are fixed%s", dims);
        return false;
    }
    return true;
}

static bool
measure(tune_run *r, tune_point *p, bool keep, report *out)
{
    tn_list args;
    const tn_module *m = module_of(r->s->ctx, p->task, p->task->func);
    const tn_node *main_is = m ? tn_module_get(m, "main") : NULL;
    if (!main_is || !tn_random_args_within(r->s->ctx, main_is, r->seed + 1, r->sizes, 0, 3, &args))
        return give_up_recorded(r->s, out, "making inputs");
    tnt_program prog = {.compiled.fd = -1};
    tnb_err err = {0};
    uint32_t variant = 0;
    tnr_runtime *rt = tnt_runtime(r->s, r->a);
    if (!rt)
        return give_up(out, "the runtime could not be started");
    tnb_status st = tnr_artifact_open(p->path, &prog.artifact, &err);
    if (st == TNB_OK)
        st = tnr_artifact_pick(rt, prog.artifact, NULL, &variant, NULL, &err);
    if (st == TNB_OK)
        st = tnr_vm_new(rt, prog.artifact, variant, &prog.vm, &err);
    bool ok = st == TNB_OK ? run_point(r, p, keep, &prog, args, out)
                           : give_up(out, "loading: %s", err.message);
    tnt_program_close(&prog);
    return ok;
}

/* ---- processes ---- */

typedef enum work { BUILD, MEASURE, MEASURE_AND_KEEP } work;

typedef struct child {
    pid_t pid; /* 0: free */
    int fd;
    double deadline;
    tune_point *point;
    size_t got;
    report report;
} child;

static bool
start(tune_run *r, child *c, tune_point *p, work w)
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
        report out = {0};
        close(fds[0]);
        tnb_diags_clear(tn_diags(r->s->ctx));
        out.ok = w == BUILD ? build(r, p, &out) : measure(r, p, w == MEASURE_AND_KEEP, &out);
        bool told = put(fds[1], &out, sizeof out);
        close(fds[1]);
        tnt_session_close(r->s);
        exit(told ? 0 : 1); /* not _exit: a leak checker has its say */
    }
    close(fds[1]);
    *c = (child){.pid = pid, .fd = fds[0], .deadline = tnt_now() + r->timeout, .point = p};
    return true;
}

/* Reads what has come; true when the child is done or too late. */
static bool
is_done(child *c, bool readable)
{
    if (!readable)
        return tnt_now() > c->deadline;
    ssize_t k = read(c->fd, (char *)&c->report + c->got, sizeof c->report - c->got);
    if (k < 0)
        return errno != EINTR && errno != EAGAIN;
    c->got += (size_t)k;
    return k == 0 || c->got == sizeof c->report;
}

enum { LEAVE_SECONDS = 5 };

static void
finish(child *c, double timeout)
{
    tune_point *p = c->point;
    int status = 0;
    bool whole = c->got == sizeof c->report;
    if (!whole && tnt_now() > c->deadline)
        give_up(&c->report, "no result within %g seconds", timeout);
    close(c->fd);
    /* a driver may hang even when all is said */
    double until = tnt_now() + (whole ? LEAVE_SECONDS : c->got || tnt_now() <= c->deadline ? 1 : 0);
    pid_t gone = 0;
    while ((gone = waitpid(c->pid, &status, WNOHANG)) == 0 && tnt_now() < until)
        usleep(500);
    if (gone == 0) {
        kill(c->pid, SIGKILL);
        while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    if (!whole && !*c->report.why) {
        if (WIFSIGNALED(status))
            give_up(&c->report, "crashed: %s", strsignal(WTERMSIG(status)));
        else
            give_up(&c->report, "ended with exit status %d", WEXITSTATUS(status));
    }
    p->built = whole && c->report.ok;
    p->seconds = whole && c->report.ok ? c->report.seconds : -1;
    snprintf(p->why, sizeof p->why, "%s", c->report.why);
    c->pid = 0;
}

bool
tune_build(tune_run *r, tune_point *points, uint32_t n)
{
    enum { MOST = 64 };
    child children[MOST] = {{0}};
    struct pollfd polls[MOST];
    uint32_t jobs = r->jobs < MOST ? r->jobs : MOST, next = 0, running = 0;
    bool ok = true;
    while (running || (ok && next < n)) {
        for (uint32_t i = 0; i < jobs && next < n && ok; i++) {
            if (children[i].pid)
                continue;
            ok = start(r, &children[i], &points[next], BUILD);
            next += ok;
            running += ok;
        }
        for (uint32_t i = 0; i < jobs; i++)
            polls[i] =
                (struct pollfd){.fd = children[i].pid ? children[i].fd : -1, .events = POLLIN};
        if (running)
            poll(polls, jobs, 200);
        for (uint32_t i = 0; i < jobs; i++)
            if (children[i].pid && is_done(&children[i], polls[i].revents)) {
                finish(&children[i], r->timeout);
                running--;
            }
    }
    return ok;
}

bool
tune_measure(tune_run *r, tune_point *p, bool keep_results)
{
    child c = {0};
    if (!start(r, &c, p, keep_results ? MEASURE_AND_KEEP : MEASURE))
        return false;
    for (bool done = false; !done;) {
        struct pollfd poll_fd = {.fd = c.fd, .events = POLLIN};
        poll(&poll_fd, 1, 200);
        done = is_done(&c, poll_fd.revents);
    }
    finish(&c, r->timeout);
    if (p->seconds > 0) {
        memcpy(r->machine, c.report.machine, sizeof r->machine);
        r->machine[sizeof r->machine - 1] = 0;
        r->threads = c.report.threads;
    }
    return true;
}
