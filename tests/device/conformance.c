/* SPDX-License-Identifier: Apache-2.0 */
/* The device conformance suite: what every driver must do, by name (--help).
 *
 * Drivers are found as always (TENON_PLUGIN_PATH, the configuration). A line for each check is there as soon as it has ended, also
 * when the next one crashes or hangs, which is told as its failure.
 */
#include "conformance.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

enum { TIMEOUT = 120, NO_DEVICE = 77, USAGE = 2 };
static const char usage[] =
    "Usage: device-conformance DRIVER [ID] [--module FORMAT FILE] [--check NAME]\n"
    "                          [--timeout SECONDS]\n"
    "       device-conformance --list | --help\n\n"
    "Tests that the driver of a device does what tenon/rt/device.h says.\n\n"
    "  ID                     number of the device (default 0)\n"
    "  --module FORMAT FILE   code with the kernel add_f32: two inputs and an output of float32, "
    "then\n"
    "                         the element count as an int64 scalar; without it launches are "
    "skipped\n"
    "  --check NAME           this check alone\n"
    "  --timeout SECONDS      that each check may take (default 120)\n"
    "  --list                 the names of the checks\n\n"
    "Drivers are found as by tenon (TENON_PLUGIN_PATH, TENON_CONFIG). For each check a line:\n"
    "'ok N - NAME', 'not ok N - NAME' with the reason below it, or 'skipped N - NAME: REASON'.\n"
    "Exit status: 0, 1 if a check fails, 2 for a wrong command line, 77 if there is no such "
    "device.\n";

static const struct check *const groups[] = {memory_checks, stream_checks, module_checks};
enum { N_GROUPS = sizeof groups / sizeof *groups };

bool
suite_fail(struct suite *s, const char *file, int line, const char *what, const char *why)
{
    const char *slash = strrchr(file, '/');
    snprintf(s->reason, sizeof s->reason, "%s:%d: %s%s%s", slash ? slash + 1 : file, line, what,
             *why ? ": " : "", why);
    return false;
}

/* ---- a check that does not come back ---- */

static char at_hand[160]; /* "not ok 7 - name"; empty: no check runs */

static void
put(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

static void
ended(int number)
{
    put(at_hand);
    put(number == SIGALRM   ? "# it does not end in time (--timeout)\n"
        : number == SIGSEGV ? "# it crashes: SIGSEGV\n"
        : number == SIGBUS  ? "# it crashes: SIGBUS\n"
        : number == SIGFPE  ? "# it crashes: SIGFPE\n"
        : number == SIGILL  ? "# it crashes: SIGILL\n"
        : number == SIGPIPE ? "# it is ended by SIGPIPE\n"
                            : "# it aborts\n");
    _exit(1);
}

static void
left(void)
{
    if (*at_hand) {
        put(at_hand);
        put("# it calls exit\n");
        _exit(1);
    }
}

static void
catch_everything(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGPIPE, SIGALRM};
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction ours = {.sa_handler = ended, .sa_flags = SA_ONSTACK};
    (void)sigaltstack(&alternative, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaction(signals[i], &ours, NULL);
    (void)atexit(left);
}

/* ---- all checks ---- */

struct options {
    const char *driver, *file, *check; /* the one check; NULL: all */
    int id;
    unsigned timeout;
};

static int
run_all(struct suite *s, const struct options *o)
{
    int n = 0, made = 0, failed = 0, skipped = 0;
    catch_everything();
    for (int g = 0; g < N_GROUPS; g++)
        for (const struct check *c = groups[g]; c->name; c++) {
            n++;
            if (o->check && strcmp(o->check, c->name) != 0)
                continue;
            s->skipped = NULL;
            snprintf(at_hand, sizeof at_hand, "not ok %d - %s\n", n, c->name);
            (void)alarm(o->timeout);
            bool ok = c->run(s);
            (void)alarm(0);
            at_hand[0] = 0;
            if (!ok)
                printf("not ok %d - %s\n# %s\n", n, c->name, s->reason);
            else if (s->skipped)
                printf("skipped %d - %s: %s\n", n, c->name, s->skipped);
            else
                printf("ok %d - %s\n", n, c->name);
            fflush(stdout);
            made++;
            failed += !ok;
            skipped += ok && s->skipped;
        }
    printf("# %s: %d checks, %d failed, %d skipped\n", s->d->base.name, made, failed, skipped);
    return failed ? 1 : 0;
}

/* ---- the command line ---- */

static bool
number(const char *text, long most, long *out)
{
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    return !errno && end != text && !*end && *out >= 0 && *out <= most;
}

static bool
is_check(const char *name)
{
    for (int g = 0; g < N_GROUPS; g++)
        for (const struct check *c = groups[g]; c->name; c++)
            if (!strcmp(c->name, name))
                return true;
    return false;
}

static int
wrong(const char *what, const char *text)
{
    fprintf(stderr, "device-conformance: %s '%s'\n\n%s", what, text, usage);
    return USAGE;
}

/* 0, or the exit status. */
static int
read_options(int argc, char **argv, struct options *o, struct suite *s)
{
    bool has_id = false;
    long n;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!strcmp(a, "--module")) {
            if (argc - i < 3)
                return wrong("a format and a file belong to", a);
            s->format = argv[++i];
            o->file = argv[++i];
        } else if (!strcmp(a, "--check")) {
            if (i + 1 == argc || !is_check(argv[i + 1]))
                return wrong("no check (--list):", i + 1 == argc ? "" : argv[i + 1]);
            o->check = argv[++i];
        } else if (!strcmp(a, "--timeout")) {
            if (i + 1 == argc)
                return wrong("a number of seconds belongs to", a);
            if (!number(argv[++i], 86400, &n) || n == 0)
                return wrong("no number of seconds:", argv[i]);
            o->timeout = (unsigned)n;
        } else if (a[0] == '-') {
            return wrong("unknown option", a);
        } else if (!o->driver) {
            o->driver = a;
        } else if (has_id || !number(a, 65535, &n)) {
            return wrong(has_id ? "one argument too many:" : "no number of a device:", a);
        } else {
            has_id = true;
            o->id = (int)n;
        }
    }
    return o->driver ? 0 : wrong("the driver's name is missing", "DRIVER");
}

int
main(int argc, char **argv)
{
    struct suite s = {0};
    struct options o = {.timeout = TIMEOUT};
    tnb_err err = {0};
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (int g = 0; g < N_GROUPS; g++)
            for (const struct check *c = groups[g]; c->name; c++)
                puts(c->name);
        return 0;
    }
    int rc = read_options(argc, argv, &o, &s);
    if (rc)
        return rc;
    char *code = NULL;
    tnb_plugins *plugins = NULL;
    tnb_diags *diags = tnb_diags_new();
    tnb_conf *conf = diags ? tnb_conf_load(NULL, diags) : NULL;
    tnr_runtime *rt = NULL;
    tnr_device *dev = NULL, *other = NULL;
    tnr_runtime_options opt = {.conf = conf};
    tnb_status st = conf ? tnb_plugins_open(conf, NULL, &plugins, &err)
                         : tnb_fail(&err, TNB_FORMAT, "bad configuration");
    opt.plugins = plugins;
    if (st == TNB_OK && o.file)
        st = tnb_read_file(o.file, 0, &code, &s.n_code, &err);
    s.code = code;
    if (st == TNB_OK)
        st = tnr_runtime_new(&opt, &rt, &err);
    if (st == TNB_OK)
        st = tnr_device_open(rt, o.driver, o.id, &dev, &err);
    rc = st == TNB_DEVICE ? NO_DEVICE : 1;
    if (st == TNB_OK) {
        s.d = tnr_device_driver(dev);
        s.dev = tnr_device_handle(dev);
        if (tnr_device_open(rt, o.driver, o.id ? 0 : 1, &other, NULL) == TNB_OK)
            s.other = tnr_device_handle(other);
        rc = run_all(&s, &o);
    } else {
        fprintf(stderr, "device-conformance: %s\n", err.message);
        if (err.hint[0])
            fprintf(stderr, "  hint: %s\n", err.hint);
    }
    tnr_runtime_free(rt);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    tnb_diags_free(diags);
    free(code);
    return rc;
}
