/* SPDX-License-Identifier: Apache-2.0 */
/* A session: configuration, plugin index, registry and context, made from the common options; and
 * programs opened in it. */
#include "tool.h"

#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/base/num.h"
#include "tenon/base/threads.h"
#include "tenon/base/tno.h"
#include "tenon/core/text.h"
#include "tenon/kit/tune.h"
#include "tenon/rt/params.h"

double
tnt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t
tnt_peak_memory(void)
{
    char *text, *at;
    size_t n;
    int64_t kib = 0;
    if (tnb_read_file("/proc/self/status", 1 << 16, &text, &n, NULL) != TNB_OK)
        return 0;
    at = strstr(text, "VmHWM:");
    if (at) {
        at += 6 + strspn(at + 6, " \t");
        (void)tnb_read_i64(at, strspn(at, "0123456789"), &kib);
    }
    free(text);
    return (uint64_t)kib << 10;
}

void
tnt_print_process(uint64_t constant_bytes)
{
    struct rusage u;
    double seconds = 0;
    if (getrusage(RUSAGE_SELF, &u) == 0)
        seconds = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                  1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    fprintf(stderr, "this process: CPU time %.1f ms, peak memory %.1f MiB, constants %.1f MiB\n",
            1e3 * seconds, (double)tnt_peak_memory() / (1 << 20),
            (double)constant_bytes / (1 << 20));
}

/* ---- messages ---- */

bool
tnt_print_json(const tn_node *v)
{
    tnb_buf b = {0};
    tnb_status st = tn_value_to_json(v, &b);
    if (st == TNB_OK)
        puts(b.s);
    else
        fprintf(stderr, "tenon: the result cannot be written as JSON: %s\n", tnb_status_name(st));
    tnb_buf_free(&b);
    return st == TNB_OK;
}

static void
print_diags(tnb_diags *d)
{
    tnb_buf b = {0};
    tnb_diags_print(d, &b);
    if (b.n)
        fwrite(b.s, 1, b.n, stderr);
    if (b.failed)
        fputs("tenon: out of memory\n", stderr);
    tnb_buf_free(&b);
    tnb_diags_clear(d);
}

void
tnt_report(tnt_session *s)
{
    if (s->ctx)
        print_diags(tn_diags(s->ctx));
}

bool
tnt_print_verify(const tnk_verify_report *r)
{
    fprintf(stderr, "tenon: %u functions verified by execution; longest run: %llu operations\n",
            r->verified, (unsigned long long)r->longest);
    for (uint32_t i = 0; i < r->n_unverified; i++)
        fprintf(stderr, "  not verified: %s\n", r->unverified[i]);
    const bool any = r->verified || !r->n_unverified;
    if (!any)
        fputs("tenon: nothing verified: no function that a pass changed could be compared\n",
              stderr);
    if (r->n_unverified && r->out_of_budget)
        fputs(
            "  hint: --verify-budget N raises the limit on operations; smaller inputs need fewer\n",
            stderr);
    return any;
}

void
tnt_complain(const tnb_err *err)
{
    fprintf(stderr, "tenon: %s\n", *err->message ? err->message : tnb_status_name(err->status));
    if (*err->hint)
        fprintf(stderr, "  hint: %s\n", err->hint);
}

/* ---- opening ---- */

static void
conf_log_level(const tnb_conf *conf, tnb_diags *diags)
{
    tnb_log_level l;
    const tnb_conf_value *v = tnb_conf_find(conf, "tenon", "", "log");
    if (v && tnb_log_parse_level(v->value, &l))
        tnb_log_set_level(l);
    else if (v)
        tnb_conf_report(v, diags, TNB_INVALID, "'log' is '%s', expected error, warn, info or debug",
                        v->value);
}

/* Prints the errors and warnings, and counts them. */
static uint32_t
print_faults(tnb_diags *d)
{
    uint32_t n = tnb_diags_errors(d), kept = 0;
    for (uint32_t i = 0; i < tnb_diags_count(d); i++) {
        kept += tnb_diags_get(d, i)->severity == TNB_ERROR;
        n += tnb_diags_get(d, i)->severity == TNB_WARNING;
    }
    if (tnb_diags_errors(d) > kept)
        fprintf(stderr, "tenon: %u more errors are not shown\n", tnb_diags_errors(d) - kept);
    print_diags(d);
    return n;
}

/* The folders of --plugin-path are there. `who` names it; those of TENON_PLUGIN_PATH may be missing, as those of other such variables, but
 * are looked at by check-config. */
static void
check_plugin_path(const char *path, const char *who, tnb_diags *d)
{
    for (const char *at = path; at && *at;) {
        size_t n = strcspn(at, ":");
        struct stat st;
        char *folder = strndup(at, n);
        if (folder && n && (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)))
            tnb_report(d, TNB_WARNING, TNB_NOT_FOUND, (tnb_place){.file = who},
                       "'%s' is no folder that is there", folder);
        free(folder);
        at += n + (at[n] != 0);
    }
}

/* What the environment says, and what stands for nothing there. */
static void
check_environment(tnb_diags *d)
{
    static const char *const homes[] = {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"};
    struct stat st;
    check_plugin_path(tnb_env("TENON_PLUGIN_PATH"), "TENON_PLUGIN_PATH", d);
    const char *conf = tnb_env("TENON_SYSCONFDIR");
    if (conf && *conf && (stat(conf, &st) != 0 || !S_ISDIR(st.st_mode)))
        tnb_report(d, TNB_WARNING, TNB_NOT_FOUND, (tnb_place){.file = "TENON_SYSCONFDIR"},
                   "'%s' is no folder that is there: no setting of the site is read", conf);
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        const char *value = tnb_env(homes[i]);
        if (value && *value && *value != '/')
            tnb_report(d, TNB_WARNING, TNB_INVALID, (tnb_place){.file = homes[i]},
                       "'%s' is no absolute path, and is left out", value);
    }
}

/* Keys and values of [device NAME] sections against what the drivers know. */
static void
check_devices(tnt_session *s, const tnt_args *a)
{
    uint32_t n;
    const char **names = tnb_conf_names(s->conf, tn_arena(s->ctx), "device", &n);
    tnr_runtime *rt = n ? tnt_runtime(s, a) : NULL;
    for (uint32_t i = 0; rt && i < n; i++) {
        const char *known[64];
        uint32_t k = 0;
        const tnr_driver *d = tnr_find_driver(rt, names[i], NULL);
        for (const tnr_setting *t = d ? d->settings : NULL; t && t->name && k < 64; t++)
            known[k++] = t->name;
        if (d && d->settings)
            (void)!tnb_conf_check(s->conf, "device", names[i], known, k, tn_diags(s->ctx));
        uint32_t n_set = 0;
        const tnb_conf_value **set =
            tnb_conf_section_values(s->conf, tn_arena(s->ctx), "device", names[i], &n_set);
        for (uint32_t j = 0; d && d->check_setting && j < n_set; j++) {
            tnb_err err = {0};
            if (set[j]->value[0] &&
                d->check_setting(d->self, set[j]->key, set[j]->value, &err) != TNB_OK)
                tnb_conf_report(set[j], tn_diags(s->ctx), err.status, "%s", err.message);
        }
    }
}

/* Options that set for one command what a key of [tenon] sets for all. */
static void
check_locks(const tnb_conf *conf, const tnt_args *a, tnb_diags *d)
{
    static const char *const same[][2] = {{"threads", "threads"},
                                          {"jobs", "threads"},
                                          {"log", "log"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const tnb_conf_value *lock = tnb_conf_locked(conf, "tenon", "", same[i][1]);
        if (!lock || !tnt_has(a, same[i][0]))
            continue;
        tnb_report(d, TNB_ERROR, TNB_UNTRUSTED, (tnb_place){0},
                   "option '--%s' may not be used: the site has locked '%s' of [tenon]", same[i][0],
                   same[i][1]);
        tnb_diag_note(d, "locked by %s:%u", lock->file, lock->line);
        tnb_diag_hint(d, "leave it out, or ask who administers that file");
    }
}

/* `faults` NULL: a fault ends it. Else all settings are looked at, and counted are those that are wrong. */
static int
open_session(const tnt_args *a, tnt_session *out, uint32_t *faults)
{
    memset(out, 0, sizeof *out);
    tnb_err err = {0};
    const char *level = tnt_value(a, "log", NULL);
    tnb_log_level l;
    if (level && !tnb_log_parse_level(level, &l))
        return tnt_usage(a->command,
                         "option '--log': expected error, warn, info or debug, found '%s'", level);
    if (level)
        tnb_log_set_level(l);
    out->diags = tnb_diags_new();
    tnb_conf_options o = {.size = sizeof o, .keep_going = true};
    o.files = tnt_values(a, "config", &o.n_files);
    o.sets = tnt_values(a, "set", &o.n_sets);
    const char *db = tnt_value(a, "tuning-db", NULL);
    char *set_db = db ? malloc(strlen(db) + 32) : NULL;
    bool enough = o.files && o.sets && (set_db || !db);
    if (enough && db) { /* it takes the place of one --tuning-db, so there is room */
        snprintf(set_db, strlen(db) + 32, "tenon.tuning_db=%s", db);
        ((const char **)(uintptr_t)o.sets)[o.n_sets++] = set_db;
    }
    if (out->diags && enough)
        out->conf = tnb_conf_load(&o, out->diags);
    free((void *)(uintptr_t)o.files);
    free((void *)(uintptr_t)o.sets);
    free(set_db);
    if (!out->diags || !enough) {
        fputs("tenon: out of memory\n", stderr);
        return TNT_FAILED;
    }
    if (out->conf && !level)
        conf_log_level(out->conf, out->diags);
    check_plugin_path(tnt_value(a, "plugin-path", NULL), "--plugin-path", out->diags);
    if (faults)
        check_environment(out->diags);
    check_locks(out->conf, a, out->diags);
    uint32_t n = tnb_diags_errors(out->diags), wrong = print_faults(out->diags);
    if (!out->conf)
        return TNT_FAILED;
    if (tnb_plugins_open(out->conf, tnt_value(a, "plugin-path", NULL), &out->plugins, &err) !=
        TNB_OK) {
        tnt_complain(&err);
        return TNT_FAILED;
    }
    out->registry = tn_registry_new(out->plugins);
    out->ctx = out->registry ? tn_ctx_new(out->registry) : NULL;
    if (!out->ctx) {
        fputs("tenon: out of memory\n", stderr);
        return TNT_FAILED;
    }
    tnk_set_limits(out->ctx, out->conf);
    if (faults) {
        tnk_check_settings(out->ctx, out->conf);
        check_devices(out, a);
    } else if (!a->command->loads_nothing) {
        tnk_check_sections(out->ctx, out->conf);
    }
    n += tnb_diags_errors(tn_diags(out->ctx));
    wrong += print_faults(tn_diags(out->ctx));
    if (faults)
        *faults = wrong;
    return n && !faults ? TNT_FAILED : TNT_OK;
}

int
tnt_session_open(const tnt_args *a, tnt_session *out)
{
    return open_session(a, out, NULL);
}

int
tnt_session_check(const tnt_args *a, tnt_session *out, uint32_t *faults)
{
    *faults = 0;
    return open_session(a, out, faults);
}

void
tnt_session_close(tnt_session *s)
{
    tnr_runtime_free(s->runtime);
    tn_ctx_free(s->ctx);
    tn_registry_free(s->registry);
    tnb_plugins_close(s->plugins);
    tnb_conf_free(s->conf);
    tnb_diags_free(s->diags);
    memset(s, 0, sizeof *s);
}

/* Number of threads as the option or the configuration says it; 0: all processors. False after a message. */
static bool
wanted_threads(tnt_session *s, const tnt_args *a, int64_t *threads)
{
    int64_t configured = 0;
    tnb_conf_int(s->conf, "tenon", "", "threads", 0, &configured, NULL);
    return tnt_int(a, "threads", configured, 1, 4096, threads);
}

tnr_runtime *
tnt_runtime(tnt_session *s, const tnt_args *a)
{
    if (s->runtime)
        return s->runtime;
    int64_t threads;
    tnb_err err = {0};
    if (!wanted_threads(s, a, &threads))
        return NULL;
    tnr_runtime_options o = {.plugins = s->plugins,
                             .conf = s->conf,
                             .threads = (int)threads,
                             .no_native = tnt_has(a, "no-native")};
    if (tnr_runtime_new(&o, &s->runtime, &err) != TNB_OK) {
        tnt_complain(&err);
        s->runtime = NULL;
    }
    return s->runtime;
}

/* ---- compile options ---- */

/* Each target once, and no more than the option takes: others would have no effect. False after a message. */
static bool
check_target_list(const tnt_args *a, const char **items, uint32_t n)
{
    const tnt_option *o = NULL;
    for (int i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, "target") == 0)
            o = a->given[i].option;
    for (uint32_t i = 0; o && i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(items[i], items[k]) == 0) {
                tnt_usage(a->command, "option '-t' names the target '%s' twice", items[i]);
                return false;
            }
    if (!o || n <= 1 || strchr(o->metavar, ','))
        return true;
    tnt_usage(a->command, "option '-t' takes one target here, found '%s' and '%s'", items[0],
              items[1]);
    return false;
}

const char **
tnt_targets(tnt_session *s, const tnt_args *a, uint32_t *n)
{
    const char *text = tnt_value(a, "target", NULL);
    if (!text)
        text = tnb_conf_text(s->conf, "tenon", "", "default_target");
    if (!text || !*text)
        text = "cpu";
    const char **items = tnb_conf_split(tn_arena(s->ctx), text, n);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *n;
         i++) /* "cuda,max_threads=3": the error tells where attributes go */
        if (kept && *items[i] != '{' && strchr(items[i], '='))
            items[kept - 1] = tn_strf(s->ctx, "%s,%s", items[kept - 1], items[i]);
        else
            items[kept++] = items[i];
    *n = 0;
    if (!check_target_list(a, items, kept))
        return NULL;
    for (uint32_t i = 0; i < kept; i++)
        if (!(items[i] = tnt_auto_target(s, items[i])))
            return NULL;
    *n = kept;
    return items;
}

/* The names after KEY= in --debug; a NULL-terminated array in the context's arena, NULL if none. */
static const char *const *
debug_names(tnt_session *s, const char **items, uint32_t n, const char *key)
{
    size_t k = strlen(key);
    TNB_VEC(const char *) names = {0};
    for (uint32_t i = 0; i < n; i++)
        if (strncmp(items[i], key, k) == 0)
            TNB_PUSH(tn_arena(s->ctx), names, items[i] + k);
    if (!names.n)
        return NULL;
    TNB_PUSH(tn_arena(s->ctx), names, NULL);
    return names.at;
}

/* A pass that an option names. False after a message. */
static bool
pass_exists(tnt_session *s, const tnt_args *a, const char *option, const char *name)
{
    tnb_err err = {0};
    if (tn_find_pass(s->registry, name, &err))
        return true;
    const char *near = tn_nearest_name(s->registry, "pass", name);
    tnt_usage(a->command, "option '%s': no pass '%s'%s%s%s", option, name,
              near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return false;
}

static bool
debug_options(tnt_session *s, const tnt_args *a, tnk_compile_options *opt)
{
    static const char *const known[] = {"verify-each", "no-verify",   "roundtrip", "compact",
                                        "skip=",       "stop-after=", "print="};
    uint32_t n = 0;
    const char *text = tnt_value(a, "debug", NULL);
    const char **items = text ? tnb_conf_split(tn_arena(s->ctx), text, &n) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        bool ok = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            ok |= strcmp(items[i], known[k]) == 0 ||
                  (tnb_ends_with(known[k], "=") &&
                   strncmp(items[i], known[k], strlen(known[k])) == 0);
        if (!ok) {
            const char *near = tnb_nearest(items[i], known, sizeof known / sizeof *known);
            tnt_usage(a->command, "option '--debug': unknown value '%s'%s%s%s", items[i],
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
            return false;
        }
        const char *eq = strchr(items[i], '=');
        if (eq && !pass_exists(s, a, "--debug", eq + 1))
            return false;
        opt->no_verify_ir |= strcmp(items[i], "no-verify") == 0;
        opt->roundtrip |= strcmp(items[i], "roundtrip") == 0;
        opt->compact |= strcmp(items[i], "compact") == 0;
        if (strncmp(items[i], "stop-after=", 11) == 0)
            opt->stop_after = items[i] + 11;
    }
    opt->skip = debug_names(s, items, n, "skip=");
    opt->print = debug_names(s, items, n, "print=");
    return true;
}

/* --dump-only NAME[,NAME]: passes that exist. False after an error. */
static bool
dump_options(tnt_session *s, const tnt_args *a, tnk_compile_options *opt)
{
    opt->dump_dir = tnt_value(a, "dump-ir", NULL);
    const char *only = tnt_value(a, "dump-only", NULL);
    if (!only)
        return true;
    uint32_t n = 0;
    const char **names = tnb_conf_split(tn_arena(s->ctx), only, &n);
    const char **list = TNB_NEW_N(tn_arena(s->ctx), const char *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (!pass_exists(s, a, "--dump-only", names[i]))
            return false;
        list[i] = names[i];
    }
    opt->dump_only = list;
    return true;
}

/* The configured cache of kernels, if it can be used. */
static void
cache_options(tnt_session *s, tnk_compile_options *opt)
{
    const char *wanted = tnb_conf_text(s->conf, "tenon", "", "cache_dir"), *dir;
    tnb_err err = {0};
    int64_t mib;
    if (tnb_cache_dir(tn_arena(s->ctx), wanted, &dir, &err) != TNB_OK) {
        fprintf(stderr, "tenon: kernel cache disabled: %s\n", err.message);
        if (*err.hint)
            fprintf(stderr, "  hint: %s\n", err.hint);
        return;
    }
    opt->cache_dir = wanted ? wanted : "";
    tnb_conf_int(s->conf, "tenon", "", "cache_size", 0, &mib, NULL);
    opt->cache_bytes = (uint64_t)mib << 20;
}

/* KEY=JSON, e.g. relax.FuseOps.max_depth=10 */
static bool
pass_config(tnt_session *s, const tnt_args *a, tnk_compile_options *opt)
{
    uint32_t n;
    const char **given = tnt_values(a, "pass-config", &n);
    bool ok = given != NULL;
    opt->config_origin = "--pass-config";
    for (uint32_t i = 0; ok && i < n; i++) {
        const char *eq = strchr(given[i], '=');
        const char *key = eq ? tn_strn(s->ctx, given[i], (size_t)(eq - given[i])) : NULL;
        tnb_err err = {0};
        const tn_node *v = eq ? tn_value_from_json(s->ctx, eq + 1, strlen(eq + 1), &err) : NULL;
        ok = false;
        if (v && tn_dict_get(opt->config, key))
            tnt_usage(a->command, "option '--pass-config' gives '%s' twice", key);
        else if (v)
            ok = (opt->config = tn_dict_set(s->ctx, opt->config, key, v)) != NULL;
        else
            tnt_usage(a->command, "option '--pass-config': expected KEY=JSON, found '%s'%s%s",
                      given[i], *err.message ? ": " : "", err.message);
    }
    free(given);
    return ok;
}

bool
tnt_compile_options(tnt_session *s, const tnt_args *a, tnk_compile_options *opt)
{
    memset(opt, 0, sizeof *opt);
    opt->conf = s->conf;
    opt->targets = tnt_targets(s, a, &opt->n_targets);
    if (!opt->targets)
        return false;
    opt->profile = tnt_value(a, "profile", NULL);
    int64_t jobs, budget, seed;
    if (!tnt_int(a, "jobs", 0, 1, 1024, &jobs) ||
        !tnt_int(a, "verify-budget", 0, 1, INT64_MAX, &budget) ||
        !tnt_int(a, "seed", 0, 0, INT64_MAX, &seed) || !debug_options(s, a, opt) ||
        !dump_options(s, a, opt) || !pass_config(s, a, opt))
        return false;
    opt->jobs = (int)jobs;
    opt->seed = (uint64_t)seed;
    opt->verify = tnt_has(a, "verify");
    opt->verify_budget = (uint64_t)budget;
    opt->reproducer = tnt_value(a, "reproducer", NULL);
    opt->progress = isatty(STDERR_FILENO) && !tnt_has(a, "quiet");
    static const char *const attrs[] = {"mcpu", "mtriple"};
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
        if (tnt_has(a, attrs[i]))
            opt->target_attrs = tn_dict_set(s->ctx, opt->target_attrs, attrs[i],
                                            tn_string(s->ctx, tnt_value(a, attrs[i], "")));
    if (!tnt_has(a, "no-cache"))
        cache_options(s, opt);
    const char *trace = tnt_value(a, "trace", NULL);
    tnb_err err = {0};
    if (trace && !(opt->trace = tn_trace_open(trace, &err))) {
        tnt_complain(&err);
        return false;
    }
    return true;
}

/* ---- models ---- */

static bool
has_negative(const tn_node *extents)
{
    const tn_array *several = tn_as_array(extents);
    int64_t n;
    for (uint32_t i = 0; several && i < several->items.n; i++)
        if (tn_int_value(several->items.at[i], &n) && n < 0)
            return true;
    return tn_int_value(extents, &n) && n < 0;
}

bool
tnt_import_options(tnt_session *s, const tnt_args *a, tnk_import_options *o)
{
    memset(o, 0, sizeof *o);
    o->quantize = tnt_value(a, "quantize", NULL);
    uint32_t n;
    const char **dims = tnt_values(a, "dim", &n);
    for (uint32_t i = 0; dims && i < n; i++) {
        const char *eq = strrchr(dims[i], '=');
        tnb_err err = {0};
        const tn_node *v =
            eq > dims[i] ? tn_value_from_json(s->ctx, eq + 1, strlen(eq + 1), &err) : NULL;
        if (!v || (!tn_is(v, TN_KIND_INT_IMM) && !tn_is(v, TN_KIND_ARRAY))) {
            tnt_usage(a->command,
                      "option '--dim': expected NAME=NUMBER or INPUT=[NUMBER, ...], found '%s'",
                      dims[i]);
            free(dims);
            return false;
        }
        if (has_negative(v)) {
            tnt_usage(a->command, "option '--dim': expected extents of at least 0, found '%s'",
                      dims[i]);
            free(dims);
            return false;
        }
        const char *name = tn_strn(s->ctx, dims[i], (size_t)(eq - dims[i]));
        if (tn_dict_get(o->dims, name)) {
            tnt_usage(a->command, "option '--dim' gives '%s' twice", name);
            free(dims);
            return false;
        }
        o->dims = tn_dict_set(s->ctx, o->dims, name, v);
    }
    free(dims);
    const char **binds = tnt_values(a, "bind", &n);
    for (uint32_t i = 0; binds && i < n; i++) {
        const char *eq = strchr(binds[i], '=');
        const tn_expr *v = eq ? tnt_load_tensor(s, eq + 1) : NULL;
        if (!eq)
            tnt_usage(a->command, "option '--bind': expected NAME=FILE, found '%s'", binds[i]);
        if (!v) {
            free(binds);
            return false;
        }
        const char *name = tn_strn(s->ctx, binds[i], (size_t)(eq - binds[i]));
        if (tn_dict_get(o->inputs, name)) {
            tnt_usage(a->command, "option '--bind' gives '%s' twice", name);
            free(binds);
            return false;
        }
        o->inputs = tn_dict_set(s->ctx, o->inputs, name, v);
    }
    free(binds);
    return true;
}

static bool
import(tnt_session *s, const tnt_args *a, const char *path, bool checksums, tnk_model *out)
{
    tnk_import_options o;
    if (!tnt_import_options(s, a, &o))
        return false;
    o.checksums = checksums;
    if (tnt_is_artifact(path)) {
        fprintf(stderr,
                "tenon: %s is already compiled; '%s' takes a model\n  hint: tenon run and tenon "
                "bench execute it, tenon show model tells what it holds\n",
                path, a->command->name);
        return false;
    }
    tnb_status st = tnk_import(s->ctx, path, &o, out);
    tnt_report(s);
    return st == TNB_OK;
}

bool
tnt_import(tnt_session *s, const tnt_args *a, const char *path, tnk_model *out)
{
    return import(s, a, path, false, out);
}

bool
tnt_import_checked(tnt_session *s, const tnt_args *a, const char *path, tnk_model *out)
{
    return import(s, a, path, true, out);
}

const tn_module *
tnt_read(tnt_session *s, const char *path)
{
    const tn_module *m = tn_read_module_file(s->ctx, path);
    tnt_report(s);
    return m;
}

bool
tnt_is_artifact(const char *path)
{
    char magic[sizeof((tnb_tno_header *)0)->magic];
    struct stat st;
    if (tnb_ends_with(path, ".tno"))
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
              memcmp(magic, TNB_TNO_MAGIC, sizeof magic) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

bool
tnt_needs_no_compiler(const tnt_args *a, const char *path)
{
    static const char *const compiling[] = {"dim",           "bind",    "profile",   "verify",
                                            "verify-budget", "dump-ir", "dump-only", "reproducer",
                                            "trace",         "jobs",    "no-cache",  "debug",
                                            "pass-config",   "mcpu",    "tuning-db", "quantize"};
    for (int k = 0; k < a->n_given; k++) {
        const tnt_option *o = a->given[k].option;
        for (size_t i = 0; i < sizeof compiling / sizeof *compiling && !o->artifact; i++)
            if (strcmp(o->name, compiling[i]) == 0) {
                tnt_usage(a->command,
                          "option '--%s' affects compilation, but '%s' is already compiled: pass "
                          "it to `tenon compile`, or give the model instead of the artifact",
                          o->name, path);
                return false;
            }
    }
    return true;
}

/* Whether a database has schedules that were measured for the target as `compile` makes it, and none for the target as
 * `run` would: then those count. */
static bool
tuned_as_compiled(tnt_session *s, const tnk_compile_options *opt, const tn_node *usual)
{
    uint32_t n;
    tnk_target plain, native;
    const char **files = tnk_tuning_files(s->ctx, s->conf, &n);
    tnk_tuning *all = n ? tnk_tuning_new() : NULL;
    bool found = false, both = false;
    if (!all || !tnk_target_find(s->ctx, s->conf, opt->targets[0], &plain) ||
        !tnk_target_find_with(s->ctx, s->conf, opt->targets[0], NULL, usual, &native)) {
        tnk_tuning_free(all);
        return false;
    }
    const char *one = tnk_tuning_target(s->ctx, plain.target),
               *other = tnk_tuning_target(s->ctx, native.target);
    for (uint32_t i = 0; i < n; i++)
        (void)!tnk_tuning_read(all, files[i], NULL); /* the pass that reads it says what is wrong */
    for (uint32_t i = 0; i < tnk_tuning_count(all); i++) {
        const char *target = tnk_tuning_get(all, i)->target;
        found |= strcmp(target, one) == 0;
        both |= strcmp(target, other) == 0;
    }
    tnk_tuning_free(all);
    return found && !both;
}

/* What is compiled to run here at once is made for this machine, its processor and its device, and for as many threads as will run
 * it, unless somebody says otherwise: an option, or a section that pins attributes. Whether it is for this processor. */
static bool
compile_for_here(tnt_session *s, const tnt_args *a, tnk_compile_options *opt)
{
    int64_t threads;
    const tn_node *usual, *shared = NULL; /* `shared`: what a tuned schedule does not depend on */
    if (!opt->n_targets)
        return false;
    if (wanted_threads(s, a, &threads))
        shared = tn_dict_set(s->ctx, NULL, "num_threads",
                             tn_i64(s->ctx, threads ? threads : tnb_threads_default()));
    opt->usual_attrs = shared;
    if (tnt_has(a, "mcpu"))
        return !strcmp(tnt_value(a, "mcpu", ""), "native");
    usual = tnt_device_attrs(s, opt->targets[0]);
    usual = tn_dict_set(s->ctx, usual, "mcpu", tn_string(s->ctx, "native"));
    if (tuned_as_compiled(s, opt, usual))
        return false;
    if (shared)
        usual = tn_dict_set(s->ctx, usual, "num_threads", tn_dict_get(shared, "num_threads"));
    opt->usual_attrs = usual;
    return true;
}

/* One line that says which variant of several runs and why. */
static void
say_variant(const tnt_args *a, const tnr_artifact *artifact, const tnb_buf *why)
{
    tnb_buf line = {0};
    for (size_t i = 0; tnr_artifact_variants(artifact) > 1 && i < why->n; i++)
        if (why->s[i] == '\n')
            tnb_buf_puts(&line, "; ");
        else
            tnb_buf_putc(&line, why->s[i]);
    if (line.n)
        tnt_remark(a, "tenon: %s\n", line.s);
    tnb_buf_free(&line);
}

/* Compiles in a context of its own, which is gone before the program runs: what both take at a time is not added up. */
static bool
compile_in_memory(const tnt_session *outer, const tnt_args *a, const char *path, tnt_program *out)
{
    tnt_session own = *outer, *s = &own;
    tnk_model model;
    tnk_compile_options opt;
    tnb_err err = {0};
    own.ctx = tn_ctx_new(own.registry);
    if (!own.ctx) {
        fputs("tenon: out of memory\n", stderr);
        return false;
    }
    bool ok = tnt_import(s, a, path, &model) && tnt_compile_options(s, a, &opt);
    if (ok) {
        opt.n_targets = opt.n_targets ? 1 : 0;
        out->native = compile_for_here(s, a, &opt);
        ok = !opt.verify || tnt_given_extents(s, a, &model, &opt.verify_extents);
    }
    if (ok) {
        tnb_status st = tnk_compile(s->ctx, &model, &opt, &out->compiled);
        if (opt.trace)
            st = tn_trace_close(opt.trace, &err) != TNB_OK && st == TNB_OK ? TNB_IO : st;
        tnt_report(s);
        if (*err.message)
            tnt_complain(&err);
        ok = out->was_compiled = st == TNB_OK;
        out->unverified = ok && opt.verify && !tnt_print_verify(&out->compiled.verify);
        out->compiled = (tnk_compile_result){.fd = out->compiled.fd,
                                             .bytes = out->compiled.bytes,
                                             .compiler_seconds = out->compiled.compiler_seconds,
                                             .constant_bytes = out->compiled.constant_bytes};
    }
    tn_ctx_free(own.ctx);
    malloc_trim(0);
    return ok;
}

static tnb_status
make_machine(tnr_runtime *rt, const tnt_args *a, tnt_program *p, tnb_err *err)
{
    tnb_progress *waiting = tnt_wait_for(a, "loading kernels", p);
    tnb_status st = tnr_vm_new(rt, p->artifact, p->variant, &p->vm, err);
    tnb_progress_end(waiting);
    return st;
}

bool
tnt_program_open(tnt_session *s, const tnt_args *a, const char *path, tnt_program *out)
{
    memset(out, 0, sizeof *out);
    out->compiled.fd = -1;
    tnb_err err = {0};
    if (!tnt_seed_counts(a, "-i gives the inputs", !tnt_has(a, "input")))
        return false;
    tnr_runtime *rt = tnt_runtime(s, a);
    if (!rt)
        return false;
    double start = tnt_now();
    tnb_status st;
    if (tnt_is_artifact(path)) {
        if (!tnt_needs_no_compiler(a, path))
            return false;
        st = tnr_artifact_open(path, &out->artifact, &err);
    } else {
        if (!compile_in_memory(s, a, path, out))
            return false;
        out->compile_seconds = tnt_now() - start;
        start = tnt_now();
        st = tnr_artifact_open_fd(out->compiled.fd, path, &out->artifact, &err);
    }
    tnb_buf why = {0};
    if (st == TNB_OK)
        st = tnr_artifact_pick(rt, out->artifact,
                               out->was_compiled ? NULL : tnt_value(a, "target", NULL),
                               &out->variant, &why, &err);
    if (st == TNB_OK)
        say_variant(a, out->artifact, &why);
    tnb_buf_free(&why);
    if (st == TNB_OK)
        st = make_machine(rt, a, out, &err);
    out->load_seconds = tnt_now() - start;
    if (st == TNB_OK)
        return true;
    tnt_complain(&err);
    tnt_program_close(out);
    return false;
}

void
tnt_no_function(const tnt_program *p, const char *path, const char *name)
{
    const tnr_signature *f;
    fprintf(stderr, "tenon: %s has no function '%s'\n  hint: it has", path, name);
    for (uint32_t i = 0; (f = tnr_artifact_function_at(p->artifact, i)); i++)
        fprintf(stderr, "%s '%s'", i ? "," : "", f->name);
    fputs(tnr_params_count(p->artifact)
              ? "; language models write with 'tenon generate', and 'tenon bench "
                "--prompt N --generate N' measures them\n"
              : "\n",
          stderr);
}

void
tnt_program_close(tnt_program *p)
{
    tnr_vm_free(p->vm);
    tnr_artifact_close(p->artifact);
    if (p->was_compiled && p->compiled.fd >= 0)
        close(p->compiled.fd);
    memset(p, 0, sizeof *p);
    p->compiled.fd = -1;
}

const tn_node *
tnt_ms(tn_ctx *ctx, double seconds)
{
    return tn_float_imm_of(ctx, TNB_F64, floor(seconds * 1e9 + 0.5) / 1e6);
}

const tn_node *
tnt_kernels(tn_ctx *ctx, const tnr_kernel_time *t, uint32_t n)
{
    tn_list list = {0};
    for (uint32_t i = 0; i < n; i++)
        list = tn_list_append(ctx, list,
                              tn_dictv(ctx, "name", tn_string(ctx, t[i].name), "calls",
                                       tn_i64(ctx, (int64_t)t[i].calls), "ms",
                                       tnt_ms(ctx, t[i].seconds), "bytes",
                                       tn_i64(ctx, (int64_t)t[i].bytes), NULL));
    return tn_array_of(ctx, list);
}

void
tnt_print_kernels(const tnr_kernel_time *t, uint32_t n)
{
    double all = 0;
    for (uint32_t i = 0; i < n; i++)
        all += t[i].seconds;
    fprintf(stderr, "%9s %6s %7s %9s  kernel\n", "ms", "%", "calls", "GB/s");
    for (uint32_t i = 0; i < n; i++)
        fprintf(stderr, "%9.3f %6.1f %7llu %9.2f  %s\n", 1e3 * t[i].seconds,
                all > 0 ? 100 * t[i].seconds / all : 0, (unsigned long long)t[i].calls,
                t[i].seconds > 0 ? 1e-9 * (double)t[i].bytes / t[i].seconds : 0, t[i].name);
    fprintf(stderr, "%9.3f  all kernels\n", 1e3 * all);
}
