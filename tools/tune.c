/* SPDX-License-Identifier: Apache-2.0 */
/* tenon tune: measures schedules of a model's tensor programs and keeps what it finds in a database
 * that later compilations read. */
#include "tune.h"

#include <stdlib.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/base/num.h"
#include "tenon/base/threads.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

static const tnt_option options[] = {
    {"target", 't', TNT_VALUE, "NAME", "target (default: cpu)"},
    {"trials", 0, TNT_VALUE, "N",
     "schedules to measure per function, including those in the database (default 64)"},
    {"time", 0, TNT_VALUE, "S",
     "total seconds to spend, shared in proportion to the functions' run time", .without = "list"},
    {"only", 0, TNT_LIST, "TEXT", "tune only functions whose name contains TEXT; may be repeated"},
    {"share", 0, TNT_VALUE, "X",
     "skip functions below this fraction of the run time (default 0.01)", .without = "list"},
    {"size", 0, TNT_LIST, "NAME=N",
     "value for dynamic dimension NAME while measuring (default 64)"},
    {"list", 0, TNT_FLAG, NULL, "only print the functions and their numbers of schedules"},
    {"measure", 0, TNT_VALUE, "S", "seconds to measure each schedule (default 0.1)",
     .without = "list"},
    {"timeout", 0, TNT_VALUE, "S",
     "limit in seconds on building or measuring a schedule (default 60)", .without = "list"},
    {"threads", 0, TNT_VALUE, "N", "number of threads"},
    {"seed", 0, TNT_VALUE, "N", "seed of the search and of the random inputs"},
    {"profile", 0, TNT_VALUE, "NAME", "insert the passes of [profile NAME]"},
    TNT_MCPU("default: as the target says, which is what compile takes"),
    TNT_PASS_CONFIG,
    {"dim", 0, TNT_LIST, "NAME=N", "fix a dynamic dimension"},
    {"bind", 0, TNT_LIST, "NAME=FILE", "make an input a constant"},
    {"jobs", 'j', TNT_VALUE, "N",
     "number of schedules to compile in parallel (default: processors)", .without = "list"},
    {0}};

static const char scheduler[] = "ApplyDefaultSchedule";
enum { MAX_RULES = 64, CONFIRM = 3, ROUNDS = 3, BATCH = 8 };

/* What the command line says, and the model's tasks. */
typedef struct tuner {
    tune_run r;
    tnk_pipeline pipeline;
    const tnk_rule *rules[MAX_RULES];
    uint32_t n_rules;
    TNB_VEC(tune_task *) tasks;
    tnb_strmap by_function;
    tnk_tuning *known; /* what the database has already */
    int64_t trials;
    double time, share;
    const tn_module *m; /* before scheduling */
    const char **only;  /* texts of --only */
    bool *is_used;      /* of each: a function's name has it */
    uint32_t n_only;
} tuner;

static tnb_progress *
start_bar(const tuner *t, const char *what, uint64_t total)
{
    return tnt_has(t->r.a, "quiet") ? NULL : tnb_progress_start(what, total);
}

/* ---- tasks ---- */

/* Appends the rules of one occurrence of the scheduling pass. */
static bool
add_rules(tuner *t, const tn_pass_item *pass)
{
    tnt_session *s = t->r.s;
    const tn_array *names = tn_as_array(tn_dict_get(pass->options, "rules"));
    for (uint32_t k = 0; names && k < names->items.n && t->n_rules < MAX_RULES; k++) {
        const tn_string_imm *name = tn_as_string_imm(names->items.at[k]);
        const tnk_rule *rule = name ? tnk_find_rule(s->ctx, t->r.target.target, name->value) : NULL;
        if (!rule)
            return false;
        t->rules[t->n_rules++] = rule;
    }
    return true;
}

/* Cuts the pipeline before the pass that schedules. A site may have inserted that pass more than once: the rules of all
 * occurrences are tried in their order. */
static bool
find_rules(tuner *t)
{
    bool found = false;
    for (int ph = 0; ph <= TNK_FINALIZE; ph++) {
        tn_pass_list *l = &t->pipeline.phases[ph];
        uint32_t n = l->n;
        if (found)
            l->n = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (strcmp(l->at[i].name, scheduler) != 0)
                continue;
            if (!add_rules(t, &l->at[i]))
                return false;
            if (!found)
                l->n = i;
            found = true;
        }
    }
    if (found)
        t->pipeline.phases[TNK_LOWER].n = 0;
    else
        tn_error(t->r.s->ctx, 0, TNB_UNSUPPORTED,
                 "the pipeline of target '%s' has no pass %s to tune", t->r.target.name, scheduler);
    return found;
}

static tn_walk_step
note_call(void *user, const tn_node *n)
{
    tuner *t = user;
    tn_ctx *ctx = t->r.s->ctx;
    const tn_call *c = n->kind == TN_KIND_CALL ? tn_is_call_to(n, "relax.call_tir") : NULL;
    const tn_global_var *gv = c && c->args.n >= 2 ? tn_as_global_var(c->args.at[0]) : NULL;
    const tn_node *f = gv ? tn_module_get(t->m, gv->name) : NULL;
    const char *key = tn_as_prim_func(f) && !tn_func_attr(f, "tirx.is_scheduled")
                          ? tnk_tuning_function(ctx, f)
                          : NULL;
    if (!key)
        return TN_WALK_ON;
    tune_task *task = tnb_strmap_get(&t->by_function, key);
    if (!task) {
        task = TNB_NEW(tn_arena(ctx), tune_task);
        *task = (tune_task){.name = gv->name, .function = key, .func = f, .call = c};
        tnb_strmap_set(&t->by_function, key, task);
        TNB_PUSH(tn_arena(ctx), t->tasks, task);
    }
    task->calls++;
    return TN_WALK_ON;
}

static bool
is_wanted(tuner *t, const char *name)
{
    bool wanted = t->n_only == 0;
    for (uint32_t i = 0; i < t->n_only; i++) {
        bool is = strstr(name, t->only[i]) != NULL;
        t->is_used[i] |= is;
        wanted |= is;
    }
    return wanted;
}

/* Names that --only and --size have of nothing in the model are mistakes. */
static bool
know_names(const tuner *t)
{
    tn_ctx *ctx = t->r.s->ctx;
    for (uint32_t i = 0; i < t->n_only; i++)
        if (!t->is_used[i]) {
            tn_error(ctx, 0, TNB_NOT_FOUND, "no function's name contains '%s'", t->only[i]);
            tnb_diag_hint(tn_diags(ctx), "tenon tune --list prints the functions");
            return false;
        }
    return tune_know_sizes(&t->r, t->m);
}

/* The functions that have more than one schedule. */
static bool
find_tasks(tuner *t, const tnk_model *model, const tnk_compile_options *opt)
{
    tnt_session *s = t->r.s;
    t->r.profile = opt->profile ? opt->profile : model->profile;
    if (!tnk_pipeline_make(s->ctx, s->conf, &t->r.target, t->r.profile, &t->pipeline) ||
        !find_rules(t))
        return false;
    t->m = tnk_run_phases(s->ctx, model->module, &t->r.target, &t->pipeline, TNK_LIBRARY_DISPATCH,
                          TNK_LEGALIZE, opt);
    if (!t->m)
        return false;
    tnb_strmap_init(&t->by_function, tn_arena(s->ctx));
    for (uint32_t i = 0; i < t->m->names.n; i++)
        if (tn_as_function(t->m->funcs.at[i]))
            tn_walk(t->m->funcs.at[i], 0, note_call, NULL, t);
    uint32_t kept = 0;
    tnb_progress *bar = start_bar(t, "schedules", t->tasks.n);
    for (uint32_t i = 0; i < t->tasks.n; i++) {
        tune_task *task = t->tasks.at[i];
        tnb_progress_step(bar, 1, task->name);
        if (!is_wanted(t, task->name))
            continue;
        task->search = tnk_search_new(s->ctx, task->func, t->r.target.target, t->rules, t->n_rules,
                                      (uint32_t)t->trials, t->r.seed);
        if (task->search && tnk_search_size(task->search) != 1)
            t->tasks.at[kept++] = task;
    }
    tnb_progress_end(bar);
    t->tasks.n = kept;
    return know_names(t);
}

static void
print_list(const tuner *t)
{
    printf("%-44s %5s %9s  %s\n", "function", "calls", "schedules", "by default");
    for (uint32_t i = 0; i < t->tasks.n; i++) {
        const tune_task *task = t->tasks.at[i];
        uint32_t n = tnk_search_size(task->search);
        char count[32];
        snprintf(count, sizeof count, n ? "%u" : "many", n);
        printf("%-44s %5u %9s  %s\n", task->name, task->calls, count,
               tnk_search_default(task->search)->key);
    }
}

/* ---- points ---- */

static bool
record(tuner *t, const tune_point *p)
{
    tnb_err err = {0};
    const tnk_tuning_record r = {.target = t->r.target_key,
                                 .function = p->task->function,
                                 .name = p->task->name,
                                 .rule = p->c->rule->base.name,
                                 .choices = p->c->choices,
                                 .n_choices = p->c->n_choices,
                                 .threads = t->r.threads,
                                 .machine = t->r.machine,
                                 .seconds = p->seconds,
                                 .failed = p->seconds > 0 ? NULL : p->why};
    if (tnk_tuning_append(t->r.database, &r, &err) == TNB_OK)
        return true;
    tnt_complain(&err);
    return false;
}

static void
take(tune_task *task, const tnk_candidate *c, double seconds)
{
    tnk_search_tell(task->search, c, seconds);
    task->measured = tnk_search_told(task->search, &task->failed);
    (void)tnk_search_fastest(task->search, &task->best);
}

static void
name_point(const tuner *t, tune_point *p, uint32_t task, uint32_t i)
{
    snprintf(p->path, sizeof p->path, "%s/%u-%u.tno", t->r.folder, task, i);
}

/* Builds and measures the default of each task. Those that cannot be measured are left out. */
static bool
measure_defaults(tuner *t)
{
    tnb_arena *a = tn_arena(t->r.s->ctx);
    uint32_t n = t->tasks.n, kept = 0;
    tune_point *points = TNB_NEW_N(a, tune_point, n + 1);
    if (!points)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        tune_task *task = t->tasks.at[i];
        points[i] = (tune_point){.task = task, .c = tnk_search_default(task->search)};
        name_point(t, &points[i], i, 0);
        task->reference = tnb_printf(a, "%s/%u-results", t->r.folder, i);
    }
    tnb_progress *bar = start_bar(t, "defaults", n);
    bool ok = true;
    for (uint32_t at = 0; ok && at < n; at += BATCH) {
        uint32_t k = n - at < BATCH ? n - at : BATCH;
        ok = tune_build(&t->r, points + at, k);
        for (uint32_t i = at; ok && i < at + k; i++) {
            tune_point *p = &points[i];
            ok = !p->built || tune_measure(&t->r, p, true);
            tnb_progress_step(bar, 1, p->task->name);
            unlink(p->path);
            if (!ok)
                break;
            if (p->seconds > 0) {
                ok = record(t, p);
                p->task->usual = p->seconds;
                take(p->task, p->c, p->seconds);
                t->tasks.at[kept++] = p->task;
            } else {
                fprintf(stderr, "tenon: skipping %s: %s\n", p->task->name, p->why);
            }
        }
    }
    tnb_progress_end(bar);
    t->tasks.n = ok ? kept : 0;
    return ok;
}

static double
weight(const tune_task *t)
{
    return t->usual * t->calls;
}

static int
by_weight(const void *a, const void *b)
{
    const tune_task *x = *(tune_task *const *)a, *y = *(tune_task *const *)b;
    return weight(x) > weight(y) ? -1 : weight(x) < weight(y) ? 1 : strcmp(x->name, y->name);
}

/* What earlier runs found on this machine. */
static void
resume(tuner *t)
{
    for (uint32_t i = 0; i < tnk_tuning_count(t->known); i++) {
        const tnk_tuning_record *r = tnk_tuning_get(t->known, i);
        tune_task *task = tnb_strmap_get(&t->by_function, r->function);
        if (!task || !task->search || strcmp(r->target, t->r.target_key) != 0 ||
            (r->seconds > 0 &&
             (r->threads != t->r.threads || strcmp(r->machine, t->r.machine) != 0)))
            continue;
        const tnk_candidate *c = tnk_search_know(task->search, r);
        if (c && c != tnk_search_default(task->search))
            take(task, c, r->seconds);
    }
}

/* Measures one batch of a task; *n is how many there were. */
static bool
try_some(tuner *t, uint32_t number, uint32_t most, uint32_t *n, tnb_progress *bar)
{
    tune_task *task = t->tasks.at[number];
    tune_point points[BATCH];
    *n = 0;
    while (*n < most && *n < BATCH) {
        const tnk_candidate *c = tnk_search_next(task->search);
        if (!c)
            break;
        points[*n] = (tune_point){.task = task, .c = c};
        name_point(t, &points[*n], number, *n);
        ++*n;
    }
    if (*n && !tune_build(&t->r, points, *n))
        return false;
    for (uint32_t i = 0; i < *n; i++) {
        tune_point *p = &points[i];
        bool ok = !p->built || tune_measure(&t->r, p, false);
        unlink(p->path);
        if (!ok || !record(t, p))
            return false;
        take(task, p->c, p->seconds);
        char text[128];
        snprintf(text, sizeof text, "%s %.2fx", task->name, task->usual / task->best);
        tnb_progress_step(bar, 1, text);
    }
    return true;
}

/* The default and another point, built anew and measured in turn. */
static bool
measure_both(tuner *t, uint32_t number, const tnk_candidate *other)
{
    tune_task *task = t->tasks.at[number];
    tune_point points[2] = {{.task = task, .c = tnk_search_default(task->search)},
                            {.task = task, .c = other}};
    double least[2] = {0, 0};
    for (uint32_t i = 0; i < 2; i++)
        name_point(t, &points[i], number, i);
    bool ok = tune_build(&t->r, points, 2);
    for (int round = 0; ok && round < ROUNDS; round++)
        for (int i = 0; ok && i < 2; i++) {
            ok = points[i].built ? tune_measure(&t->r, &points[i], false) : true;
            double s = points[i].seconds;
            least[i] = s > 0 && (least[i] <= 0 || s < least[i]) ? s : least[i];
        }
    for (int i = 0; i < 2; i++) {
        unlink(points[i].path);
        points[i].seconds = least[i];
        if (ok && least[i] > 0) {
            ok = record(t, &points[i]);
            tnk_search_tell(task->search, points[i].c, least[i]);
        }
    }
    task->usual = least[0] > 0 ? least[0] : task->usual;
    return ok;
}

/* The fastest points are measured again beside the default: what was luck goes. */
static bool
confirm(tuner *t, uint32_t number)
{
    tune_task *task = t->tasks.at[number];
    const tnk_candidate *sure[CONFIRM + 1] = {tnk_search_default(task->search)};
    bool ok = true, known = false;
    for (uint32_t n = 1; ok && n <= CONFIRM && !known; n++) {
        const tnk_candidate *c = tnk_search_fastest(task->search, NULL);
        for (uint32_t i = 0; i < n; i++)
            known |= sure[i] == c;
        sure[n] = c;
        ok = known || !c || measure_both(t, number, c);
    }
    (void)tnk_search_fastest(task->search, &task->best);
    return ok;
}

static bool
tune_all(tuner *t)
{
    double all = 0, start = tnt_now(), spent = 0;
    uint32_t n = 0;
    qsort(t->tasks.at, t->tasks.n, sizeof(tune_task *), by_weight);
    for (uint32_t i = 0; i < t->tasks.n; i++)
        all += weight(t->tasks.at[i]);
    while (n < t->tasks.n && weight(t->tasks.at[n]) >= t->share * all)
        n++;
    double rest = 0;
    for (uint32_t i = 0; i < n; i++)
        rest += weight(t->tasks.at[i]);
    tnb_progress *bar = start_bar(t, "schedules measured", (uint64_t)t->trials * n);
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        tune_task *task = t->tasks.at[i];
        /* of the time that is left, its share of the functions that are left */
        spent = tnt_now() - start;
        double until =
            t->time > 0 && rest > 0 ? tnt_now() + (t->time - spent) * weight(task) / rest : 0;
        rest -= weight(task);
        tnb_progress_step(bar, task->measured, task->name);
        while (ok && task->measured < (uint32_t)t->trials && (until <= 0 || tnt_now() < until)) {
            uint32_t got;
            ok = try_some(t, i, (uint32_t)t->trials - task->measured, &got, bar);
            if (!got)
                break;
        }
        if (task->measured < (uint32_t)t->trials)
            tnb_progress_step(bar, (uint64_t)t->trials - task->measured, task->name);
        ok = ok && confirm(t, i);
    }
    tnb_progress_end(bar);
    return ok;
}

static void
print_summary(const tuner *t)
{
    double usual = 0, best = 0;
    for (uint32_t i = 0; i < t->tasks.n; i++) {
        usual += weight(t->tasks.at[i]);
        best += t->tasks.at[i]->best * t->tasks.at[i]->calls;
    }
    printf("%-44s %5s %6s %6s %6s %11s %11s %8s\n", "function", "calls", "time", "tried", "failed",
           "default us", "best us", "speedup");
    for (uint32_t i = 0; i < t->tasks.n; i++) {
        const tune_task *k = t->tasks.at[i];
        printf("%-44s %5u %5.1f%% %6u %6u %11.2f %11.2f %7.2fx\n", k->name, k->calls,
               100 * weight(k) / usual, k->measured, k->failed, 1e6 * k->usual, 1e6 * k->best,
               k->usual / k->best);
    }
    if (t->tasks.n)
        printf("%-44s %5s %6s %6s %6s %11.2f %11.2f %7.2fx\n", "total", "", "", "", "", 1e6 * usual,
               1e6 * best, usual / best);
    printf("database: %s\n", t->r.database);
}

/* ---- the command ---- */

static bool
sizes(tuner *t)
{
    tn_ctx *ctx = t->r.s->ctx;
    uint32_t n;
    const char **given = tnt_values(t->r.a, "size", &n);
    bool ok = given != NULL;
    t->r.sizes = tn_dictv(ctx, "", tn_i64(ctx, 64), NULL);
    for (uint32_t i = 0; ok && i < n; i++) {
        const char *eq = strrchr(given[i], '=');
        int64_t v;
        ok = eq && eq > given[i] && tnb_read_i64(eq + 1, strlen(eq + 1), &v) && v > 0;
        if (ok)
            t->r.sizes =
                tn_dict_set(ctx, t->r.sizes, tn_strn(ctx, given[i], (size_t)(eq - given[i])),
                            tn_i64(ctx, v));
        else
            tnt_usage(t->r.a->command, "option '--size': expected NAME=NUMBER, found '%s'",
                      given[i]);
    }
    free(given);
    return ok;
}

static bool
numbers(tuner *t)
{
    const tnt_args *a = t->r.a;
    int64_t seed, jobs;
    if (!tnt_int(a, "trials", 64, 1, 1 << 20, &t->trials) ||
        !tnt_float(a, "time", 0, TNT_ABOVE_0, 1e9, &t->time) ||
        !tnt_float(a, "share", 0.01, 0, 1, &t->share) ||
        !tnt_int(a, "seed", 0, 0, INT64_MAX, &seed) ||
        !tnt_int(a, "jobs", (int64_t)tnb_threads_default(), 1, 1024, &jobs) ||
        !tnt_float(a, "timeout", 60, TNT_ABOVE_0, 1e6, &t->r.timeout) ||
        !tnt_float(a, "measure", 0.1, TNT_ABOVE_0, 1e6, &t->r.measure_seconds) || !sizes(t))
        return false;
    t->r.seed = (uint64_t)seed;
    t->r.jobs = (uint32_t)jobs;
    return true;
}

/* Reads the database that is added to. */
static bool
open_database(tuner *t)
{
    tnb_err err = {0};
    t->r.database = tnk_tuning_output(t->r.s->ctx, t->r.s->conf);
    t->known = tnk_tuning_new();
    if (!t->r.database || !t->known) {
        fputs("tenon: no tuning database is set\n"
              "  hint: name one with --tuning-db FILE, or set [tenon] tuning_db\n",
              stderr);
        return false;
    }
    if (access(t->r.database, F_OK) != 0 ||
        tnk_tuning_read(t->known, t->r.database, &err) == TNB_OK)
        return true;
    tnt_complain(&err);
    return false;
}

static int
tune(tuner *t)
{
    char folder[TNB_TEMPORARY_PATH];
    tnb_err err = {0};
    uint32_t tried = t->tasks.n;
    if (tnb_temporary_dir(folder, &err) != TNB_OK) {
        tnt_complain(&err);
        return TNT_FAILED;
    }
    t->r.folder = folder;
    bool ok = measure_defaults(t);
    if (ok) {
        resume(t);
        ok = tune_all(t);
        print_summary(t);
    }
    tnb_temporary_remove(folder);
    if (ok && tried && !t->tasks.n) {
        fputs("tenon: no function could be measured: the messages above give the reasons\n",
              stderr);
        ok = false;
    }
    return ok ? TNT_OK : TNT_FAILED;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    tuner t = {.r = {.s = s, .a = a}};
    tnk_model model;
    tnk_compile_options opt;
    if (!numbers(&t))
        return TNT_USAGE;
    if (!(t.only = tnt_values(a, "only", &t.n_only)))
        return TNT_FAILED;
    t.is_used = TNB_NEW_N(tn_arena(s->ctx), bool, t.n_only + 1);
    if (!tnt_import(s, a, a->operands[0], &model) || !tnt_compile_options(s, a, &opt)) {
        free(t.only);
        return tnt_failure();
    }
    bool ok = tnk_target_find_with(s->ctx, s->conf, opt.targets[0], opt.target_attrs, NULL,
                                   &t.r.target) &&
              find_tasks(&t, &model, &opt);
    free(t.only);
    tnt_report(s);
    if (!ok)
        return TNT_FAILED;
    t.r.target_key = tnk_tuning_target(s->ctx, t.r.target.target);
    int status = TNT_OK;
    if (!t.tasks.n)
        fputs("tenon: nothing to tune: no function of the model has more than one schedule\n",
              stderr);
    else if (tnt_has(a, "list"))
        print_list(&t);
    else
        status = open_database(&t) ? tune(&t) : TNT_FAILED;
    tnk_tuning_free(t.known);
    return status;
}

const tnt_command tnt_command_tune = {
    .name = "tune",
    .operands = "MODEL",
    .summary = "measure schedules of a model's functions and keep the fastest",
    .details = "Measures the default schedule of every tensor program with more than one schedule, "
               "then others. Schedules whose results equal those of the default are recorded in "
               "the tuning database: --tuning-db FILE, [tenon] tuning_db, or tuning.jsonl in "
               "$XDG_DATA_HOME/tenon. Compilations that read the database use the fastest schedule "
               "recorded for a program of the same structure, whatever the model. The same model, "
               "options and database give the same artifact.\n\n"
               "If a function has at most --trials schedules, all are measured; otherwise random "
               "ones, then mutations of the fastest. An interrupted run resumes from the database. "
               "The fastest schedule of each function is measured once more, alternating with the "
               "default, before it is recorded.\n\n"
               "Schedules are compiled in parallel (--jobs) and measured one at a time, each in "
               "its own process; a crash, a timeout or a wrong result is recorded as a failure. "
               "Keep the machine idle while tuning.\n\n"
               "The table shows for each function the number of calls, the fraction of the run "
               "time, schedules tried and failed, and the time of a call. --size gives the value "
               "that a dynamic dimension has while measuring; --dim makes it a constant, which is "
               "another program: compile with the same --dim.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .examples =
        (const char *const[]){"tenon tune model.onnx --list",
                              "the functions that can be tuned, with their numbers of schedules",
                              "tenon tune model.onnx -t cpu --threads 2 --tuning-db site.jsonl",
                              "measures; an interrupted run resumes",
                              "tenon compile model.onnx -t cpu --tuning-db site.jsonl",
                              "uses the fastest schedules", NULL},
    .run = run,
};
