/* SPDX-License-Identifier: Apache-2.0 */
/* tenon check-plugin: whether a module will be taken, found out without risking this process.
 *
 * What can be read is read first: manifest, trust, note, needed libraries, names that others have. Then a child process
 * loads the module, runs its init, compares its tables with the manifest and asks for its devices; it tells its parent
 * through a pipe what it is at, a line each:
 *
 *     P what follows    O what went well    W warning    E message TAB hint    S signal    F frame of the stack
 */
#include "config.h"
#include "tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tenon/base/file.h"

static const tnt_option options[] = {{"timeout", 0, TNT_VALUE, "SECONDS",
                                      "time limit of the child process (default 30)"},
                                     {0}};

/* ---- in the child ---- */

enum { MAX_FRAMES = 48, SHOWN_FRAMES = 8, STACK = 65536 };
static int report = -1;

static void
tell(char what, const char *fmt, ...) TNB_PRINTF(2, 3);
static void
tell(char what, const char *fmt, ...)
{
    char line[1400];
    va_list ap;
    line[0] = what;
    va_start(ap, fmt);
    int n = vsnprintf(line + 1, sizeof line - 2, fmt, ap);
    va_end(ap);
    size_t k = n < 0 ? 1 : (size_t)n + 1;
    k = k < sizeof line - 1 ? k : sizeof line - 2;
    for (size_t i = 1; i < k; i++)
        line[i] = line[i] == '\n' ? ' ' : line[i];
    line[k++] = '\n';
    (void)!write(report, line, k);
}

static void
tell_error(const tnb_err *err)
{
    tell('E', "%s\t%s", *err->message ? err->message : tnb_status_name(err->status), err->hint);
}

static void
tell_frame(const void *at)
{
    Dl_info i;
    if (!dladdr(at, &i) || !i.dli_fname)
        return;
    const char *file = tnb_path_name(i.dli_fname);
    unsigned long offset = (unsigned long)((const char *)at - (const char *)i.dli_fbase);
    if (i.dli_sname)
        tell('F', "%s+0x%lx (%s+0x%lx)", file, offset, i.dli_sname,
             (unsigned long)((const char *)at - (const char *)i.dli_saddr));
    else
        tell('F', "%s+0x%lx", file, offset);
}

/* The instruction that was interrupted; NULL where it is not known. */
static const void *
interrupted_at(const void *context)
{
    const ucontext_t *c = context;
#if defined(__x86_64__)
    return (const void *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (const void *)(uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    return NULL;
#endif
}

/* The process ends here; what it says needs no memory. */
static void
ended(int number, siginfo_t *info, void *context)
{
    void *frames[MAX_FRAMES];
    const void *at = interrupted_at(context);
    (void)info;
    tell('S', "%d", number);
    int n = backtrace(frames, MAX_FRAMES), first = 0;
    for (int i = 0; at && i < n; i++)
        if (frames[i] == at)
            first = i;
    if (at && !first) /* the stack cannot be followed */
        tell_frame(at);
    for (int i = first; (first || !at) && i < n && i < first + SHOWN_FRAMES; i++)
        tell_frame(frames[i]);
    _exit(1);
}

static void
catch_everything(int64_t seconds)
{
    static const int signals[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE, SIGABRT,
                                  SIGSYS,  SIGTRAP, SIGPIPE, SIGALRM};
    static char stack[STACK];
    void *frames[4];
    (void)backtrace(frames, 4); /* loads what it needs */
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    (void)sigaltstack(&alternative, NULL);
    struct sigaction ours = {.sa_sigaction = ended, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaction(signals[i], &ours, NULL);
    alarm((unsigned)seconds);
}

/* What the configuration says about the plugin's targets and devices; the session was opened without loading anything. */
static bool
check_settings(tnt_session *s)
{
    tnb_err err = {0};
    tnb_buf all = {0};
    tnk_check_sections(s->ctx, s->conf);
    bool ok = !tnb_diags_errors(tn_diags(s->ctx));
    tnb_diags_print(tn_diags(s->ctx), &all);
    if (!ok) {
        (void)tnb_diags_first(tn_diags(s->ctx), &err);
        tell_error(&err);
    } else if (all.n) {
        tell('W', "%.*s", (int)(all.n - 1), all.s);
    }
    tnb_buf_free(&all);
    return ok;
}

static bool
try_it(tnt_session *s, const tnt_args *a, const tnb_plugin *p)
{
    tnb_err err = {0};
    tell('P', "it was being loaded (its constructors run then)");
    const tnb_plugin_head *head = tnb_plugins_load(s->plugins, p, &err);
    if (!head) {
        tell_error(&err);
        return false;
    }
    tell('O', "loads: %s %s, %s, built for ABI %u.%u", head->name, head->version, head->licence,
         head->abi_major, head->abi_minor);
    bool runtime = p->kind == TNB_PLUGIN_RUNTIME;
    tell('P', "its tables were read and its init ran");
    if (!tnt_check_spans(head, runtime, tell))
        return false;
    tnr_runtime *rt = runtime ? tnt_runtime(s, a) : NULL;
    tnb_status st = !runtime ? tn_registry_load(s->registry, p, &err)
                    : rt     ? tnr_load_plugin(rt, p, &err)
                             : TNB_NO_MEMORY;
    if (st != TNB_OK) {
        tell_error(&err);
        return false;
    }
    tell('O', "init and tables: all entries of the manifest are provided (%u)", p->n_provides);
    tell('P', "what its tables say was tried");
    bool ok = rt ? tnt_check_drivers(s, rt, (const tnr_plugin_desc *)(const void *)head, tell)
                 : tnt_check_tables(s, (const tn_plugin_desc *)(const void *)head, tell);
    tell('P', "the settings about it were read");
    return check_settings(s) && ok;
}

/* ---- in the parent ---- */

static int problems;

static void
problem(const char *hint, const char *fmt, ...) TNB_PRINTF(2, 3);
static void
problem(const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("tenon: ", stderr);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n  hint: %s\n",
            hint && *hint ? hint : "tenon list plugins --why shows every plugin");
    problems++;
}

/* The candidate of the index whose module is this file; NULL if no manifest names it. */
static const tnb_plugin *
candidate_of(tnt_session *s, const char *real)
{
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++) {
        const tnb_plugin *p = tnb_plugins_get(s->plugins, i);
        char *its = *p->module == '/' ? realpath(p->module, NULL) : NULL;
        bool same = its && strcmp(its, real) == 0;
        free(its);
        if (same)
            return p;
    }
    return NULL;
}

static bool
promises(const tnb_plugin *p, const char *what)
{
    for (uint32_t i = 0; i < p->n_provides; i++)
        if (strcmp(p->provides[i], what) == 0)
            return true;
    return false;
}

/* Another version of the plugin, in the files that installing this one writes to: it provides some of the same. */
static bool
installed_of(const tnb_plugin *p, const tnb_plugin *q)
{
    bool common = false;
    for (uint32_t k = 0; k < p->n_provides; k++)
        common |= promises(q, p->provides[k]);
    const tnb_places *places = tnb_places_get();
    char *there = places ? realpath(places->plugins, NULL) : NULL;
    char *its = realpath(q->folder, NULL);
    bool same = common && there && its && strcmp(there, its) == 0 &&
                strcmp(p->module, q->module) != 0 &&
                strcmp(tnb_path_name(p->manifest), tnb_path_name(q->manifest)) == 0;
    free(there);
    free(its);
    return same;
}

/* Names of plugins, and what they provide, that others have as well. */
static void
check_names(tnt_session *s, const tnb_plugin *p)
{
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++) {
        const tnb_plugin *q = tnb_plugins_get(s->plugins, i);
        if (q == p || q->state == TNB_PLUGIN_REFUSED || q->state == TNB_PLUGIN_BLOCKED)
            continue;
        if (strcmp(p->name, q->name) == 0) {
            if (installed_of(p, q))
                printf("ok       %s %s is installed already: installing this one replaces it\n",
                       q->name, q->version);
            else if (strcmp(p->module, q->module) != 0)
                problem("rename one of them, or install only one: of two plugins of the same name "
                        "the first in the search order hides the other",
                        "another plugin is called '%s': %s", p->name, q->manifest);
            continue;
        }
        if (q->state == TNB_PLUGIN_HIDDEN)
            continue;
        for (uint32_t k = 0; k < p->n_provides; k++) {
            const char *colon = strchr(p->provides[k], ':'), *which;
            if (!colon || !promises(q, p->provides[k]))
                continue;
            tn_ctx *c = s->ctx;
            which = tnb_conf_text(s->conf, "tenon", NULL, tn_strf(c, "prefer.%s", colon + 1));
            if (!which)
                which = tnb_conf_text(s->conf, "tenon", NULL,
                                      tn_strf(c, "prefer.%.*s.%s", (int)(colon - p->provides[k]),
                                              p->provides[k], colon + 1));
            if (!which)
                problem(tn_strf(c, "rename it, or choose a provider: prefer.%s = %s in [tenon]",
                                colon + 1, p->name),
                        "'%s' is also provided by the plugin %s (%s)", p->provides[k], q->name,
                        q->manifest);
        }
    }
}

struct child {
    pid_t pid;
    int fd;
    char phase[200];
    tnb_buf frames; /* where it ended, a line each */
    int signal;     /* that it told of */
    bool told;      /* an error */
};

static void
hear(struct child *c, char *line)
{
    char *tab;
    switch (line[0]) {
    case 'P':
        snprintf(c->phase, sizeof c->phase, "%s", line + 1);
        break;
    case 'O':
        printf("ok       %s\n", line + 1);
        break;
    case 'W':
        printf("warning  %s\n", line + 1);
        break;
    case 'E':
        if ((tab = strchr(line, '\t')))
            *tab++ = 0;
        problem(tab, "%s", line + 1);
        c->told = true;
        break;
    case 'S':
        c->signal = atoi(line + 1);
        break;
    case 'F':
        tnb_buf_printf(&c->frames, "  at %s\n", line + 1);
        break;
    default:
        break;
    }
}

/* Reads what the child says until it ends, or is ended. */
static void
listen_to(struct child *c, double until)
{
    char text[4096];
    size_t n = 0;
    for (;;) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        double left = until - tnt_now();
        int ready = poll(&p, 1, left > 0 ? (int)(1e3 * left) + 1 : 0);
        if (ready == 0) {
            kill(c->pid, SIGKILL);
            return;
        }
        ssize_t got = ready < 0 ? -1 : read(c->fd, text + n, sizeof text - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        n += (size_t)got;
        text[n] = 0;
        char *line = text, *end;
        while ((end = strchr(line, '\n'))) {
            *end = 0;
            hear(c, line);
            line = end + 1;
        }
        n -= (size_t)(line - text);
        memmove(text, line, n);
        if (n == sizeof text - 1)
            n = 0; /* no line of ours is so long */
    }
}

static void
judge(struct child *c, int status, const char *file, int64_t seconds)
{
    int number = c->signal ? c->signal : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *frames = c->frames.n ? c->frames.s : "";
    if (number == SIGALRM || number == SIGKILL) {
        problem("do not block while the module loads; --timeout SECONDS extends the limit",
                "'%s' hangs: no end within %lld s, while %s\n%s", file, (long long)seconds,
                c->phase, *frames ? frames : "  (unknown place)");
    } else if (number) {
        problem("places are offsets into modules: addr2line -f -e MODULE OFFSET prints the line",
                "'%s' crashes: signal %d (%s), while %s\n%s", file, number, strsignal(number),
                c->phase, *frames ? frames : "  (unknown place)");
    } else if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && !c->told) {
        problem("a plugin must report errors by status and never call exit",
                "'%s' ended the process with status %d, while %s", file, WEXITSTATUS(status),
                c->phase);
    } else if (!c->told && !strstr(c->phase, "done")) {
        problem("a plugin must report errors by status and never call exit",
                "'%s' ended the process, while %s", file, c->phase);
    }
}

static bool
try_in_child(tnt_session *s, const tnt_args *a, const tnb_plugin *p, int64_t seconds)
{
    int ends[2];
    if (pipe(ends) != 0) {
        fputs("tenon: cannot create a pipe to a child process\n", stderr);
        return false;
    }
    fflush(NULL);
    struct child c = {.pid = (pid_t)tnt_fork(), .fd = ends[0]};
    if (c.pid < 0) {
        fputs("tenon: cannot start a child process\n", stderr);
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (c.pid == 0) {
        close(ends[0]);
        report = ends[1];
        catch_everything(seconds);
        bool ok = try_it(s, a, p);
        tell('P', "done");
        _exit(ok ? 0 : 1);
    }
    close(ends[1]);
    listen_to(&c, tnt_now() + (double)seconds + 2);
    int status = 0;
    kill(c.pid, SIGCONT);
    if (c.fd >= 0)
        close(c.fd);
    /* the pipe is closed: the child has ended, or waits for what it started itself */
    for (int i = 0; waitpid(c.pid, &status, WNOHANG) == 0; i++) {
        if (i == 100)
            kill(c.pid, SIGKILL);
        usleep(10000);
    }
    judge(&c, status, p->module, seconds);
    tnb_buf_free(&c.frames);
    return true;
}

/* ---- the command ---- */

/* The index again, with the folder of the file before all others. */
static bool
open_index(tnt_session *s, const tnt_args *a, const char *folder)
{
    const char *path = tnt_value(a, "plugin-path", NULL);
    tnb_err err = {0};
    path = path ? tn_strf(s->ctx, "%s:%s", folder, path) : tn_strf(s->ctx, "%s", folder);
    tnb_plugins *index;
    if (tnb_plugins_open(s->conf, path, &index, &err) != TNB_OK) {
        tnt_complain(&err);
        return false;
    }
    tnb_plugins *before = s->plugins;
    tn_registry *registry = tn_registry_new(index);
    tn_ctx *ctx = registry ? tn_ctx_new(registry) : NULL;
    if (!ctx) {
        fputs("tenon: out of memory\n", stderr);
        tn_registry_free(registry);
        tnb_plugins_close(index);
        return false;
    }
    tn_ctx_free(s->ctx);
    tn_registry_free(s->registry);
    tnb_plugins_close(before);
    s->plugins = index;
    s->registry = registry;
    s->ctx = ctx;
    return true;
}

static int
check(tnt_session *s, const tnt_args *a, const char *real, int64_t seconds)
{
    char *folder = strdup(real);
    if (folder)
        *strrchr(folder, '/') = 0;
    bool opened = folder && open_index(s, a, *folder ? folder : "/");
    if (!opened) {
        free(folder);
        return TNT_FAILED;
    }
    const tnb_plugin *p = candidate_of(s, real);
    const char *base = tnb_path_name(real);
    if (!p) {
        const char *name = tn_strn(s->ctx, base, strcspn(base, "."));
        const char *refused = NULL, *cure = NULL;
        for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++) {
            const tnb_plugin *q = tnb_plugins_get(s->plugins, i);
            if (strcmp(q->folder, *folder ? folder : "/") == 0 && q->state == TNB_PLUGIN_REFUSED &&
                (strcmp(q->name, name) == 0 || !refused)) {
                refused = q->why;
                cure = q->cure;
            }
        }
        if (refused)
            problem(cure, "%s", refused);
        else
            problem(
                tn_strf(
                    s->ctx,
                    "write %s.plugin beside it: name, version, abi, kind, module = %s, provides",
                    name, base),
                "no manifest in '%s' names the module '%s'", folder, base);
    } else if (p->state == TNB_PLUGIN_REFUSED || p->state == TNB_PLUGIN_BLOCKED) {
        problem(p->cure, "plugin '%s' is %s: %s", p->name,
                p->state == TNB_PLUGIN_REFUSED ? "refused" : "not allowed", p->why);
    } else {
        printf("ok       manifest %s: %s %s, %s, ABI %u.%u, provides %u\n", p->manifest, p->name,
               p->version, p->kind == TNB_PLUGIN_RUNTIME ? "runtime" : "compiler", p->abi_major,
               p->abi_minor, p->n_provides);
        check_names(s, p);
        if (!try_in_child(s, a, p, seconds))
            problems++;
    }
    free(folder);
    return problems ? TNT_FAILED : TNT_OK;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    int64_t seconds;
    char reason[128];
    if (!tnt_int(a, "timeout", 30, 1, 3600, &seconds))
        return TNT_USAGE;
    const char *file = a->operands[0];
    char *real = realpath(file, NULL);
    if (!real) {
        problem("give the path of the plugin's module, NAME.so", "cannot open '%s': %s", file,
                strerror_r(errno, reason, sizeof reason));
        return TNT_FAILED;
    }
    int status = check(s, a, real, seconds);
    if (status == TNT_OK)
        printf("ok       %s may be installed\n", real);
    free(real);
    return status;
}

const tnt_command tnt_command_check_plugin = {
    .name = "check-plugin",
    .operands = "FILE.so",
    .summary = "load a plugin in a child process and report problems",
    .details =
        "First checks, without running code of the module: the manifest beside it, owner "
        "and permissions, the ABI versions of module and manifest, the libraries it needs, "
        "and name clashes with other plugins. Then a child process loads the module, runs "
        "its init, compares its tables with the manifest, tries what they say (numbers, patterns, "
        "pass lists, attributes), and counts and opens its devices; a crash or "
        "a hang is reported with the signal and the place in the module. Exit status 0: the "
        "plugin may be installed.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .loads_nothing = true,
    .examples =
        (const char *const[]){"tenon check-plugin acme/build/acme.so --config acme/acme.ini",
                              "before installing it, with the settings of its INI file",
                              "tenon check-plugin acme_rt.so --timeout 60",
                              "a device driver that is slow to find its devices", NULL},
    .ignores = "debug|tuning-db",
    .run = run,
};
