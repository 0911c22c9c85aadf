/* SPDX-License-Identifier: Apache-2.0 */
/* The command line `tenon`: finds the subcommand, opens a session, runs it. */
#include "config.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenon/base/call.h"
#include "tenon/base/conf.h"
#include "tenon/base/file.h"

const tnt_command *const tnt_commands[] = {
    &tnt_command_compile,    &tnt_command_run,
#ifdef HAVE_LM
    &tnt_command_generate,   &tnt_command_chat,
#endif
    &tnt_command_bench,      &tnt_command_opt,          &tnt_command_check,
    &tnt_command_diff,       &tnt_command_onnx_test,    &tnt_command_list,
    &tnt_command_show,       &tnt_command_doctor,       &tnt_command_tune,
    &tnt_command_new_plugin, &tnt_command_check_plugin, &tnt_command_check_config,
    &tnt_command_plugin,     &tnt_command_help,         NULL};

static const tnt_command *
find_command(const char *name)
{
    for (int i = 0; tnt_commands[i]; i++)
        if (strcmp(tnt_commands[i]->name, name) == 0)
            return tnt_commands[i];
    return NULL;
}

static int
unknown_command(const char *name)
{
    const char *names[64];
    uint32_t n = 0;
    for (int i = 0; tnt_commands[i] && n < 64; i++)
        names[n++] = tnt_commands[i]->name;
    fprintf(stderr, "tenon: unknown subcommand '%s'\n", name);
    const char *near = tnb_nearest(name, names, n);
    if (strstr(name, "version") || strcmp(name, "-V") == 0 || strcmp(name, "-v") == 0)
        fputs("  hint: tenon --version prints the version\n", stderr);
    else if (near)
        fprintf(stderr, "  hint: did you mean 'tenon %s'?\n", near);
    else
        fputs("  hint: tenon --help lists the subcommands\n", stderr);
    return TNT_USAGE;
}

/* Nothing half made stays behind when the program is interrupted. */
static void
interrupted(int number)
{
    tnb_child_kill_all();
    tnb_temporary_remove_all();
    signal(number, SIG_DFL);
    raise(number);
}

static void
say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* " in pass 'X' of plugin 'Y', within ..."; the innermost frame, NULL if none says anything. */
static const tnb_running *
say_where(void)
{
    const tnb_running *first = NULL;
    for (const tnb_running *f = tnb_running_now(); f; f = f->outer) {
        if (!f->name)
            continue;
        say(first ? ", within " : " in ");
        first = first ? first : f;
        if (f->function) {
            say(f->function);
            say(" of ");
        }
        say(f->kind);
        say(" '");
        say(f->name);
        say("'");
        if (f->plugin) {
            say(" of plugin '");
            say(f->plugin);
            say("'");
        }
    }
    return first;
}

/* Whom to tell of code that ended the program. */
static void
say_hint(const tnb_running *at)
{
    if (at && strcmp(at->kind, "plugin") == 0) {
        say("  hint: tenon check-plugin examines it in a process of its own\n");
    } else if (at) {
        say("  hint: report it to the author of what is named first");
        if (strcmp(at->kind, "pass") == 0) {
            say("; --debug skip=");
            say(at->name);
            say(" leaves the pass out");
        }
        say("\n");
    }
}

static pid_t program; /* a copy of it (tnt_fork) ends by itself */
static bool over;     /* whether the subcommand has returned */

/* A plugin, or a library that it uses, has called exit: the status would be its own, success even, and nothing said. */
static void
ended_early(void)
{
    if (over || getpid() != program)
        return;
    say("tenon: the program was ended by a call of exit");
    const tnb_running *at = say_where();
    say("\n");
    say_hint(at);
    tnb_child_kill_all();
    tnb_temporary_remove_all();
    _exit(TNT_FAILED);
}

static void
catch_exit(void)
{
    program = getpid();
    (void)atexit(ended_early);
    (void)at_quick_exit(ended_early);
}

#ifndef __SANITIZE_ADDRESS__
/* A crash is told with whose code it was in; then it takes its course. */
static void
crashed(int number)
{
    say("tenon: crashed: ");
    say(number == SIGSEGV || number == SIGBUS ? "invalid memory access"
        : number == SIGABRT                   ? "aborted"
        : number == SIGFPE                    ? "arithmetic error"
                                              : "illegal instruction");
    const tnb_running *at = say_where();
    say("\n");
    say_hint(at);
    tnb_child_kill_all();
    tnb_temporary_remove_all();
    signal(number, SIG_DFL);
    raise(number);
}

/* On a stack of its own: that of the thread may be what ran out. */
static void
catch_crashes(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char stack[1 << 16];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction ours = {.sa_handler = crashed, .sa_flags = SA_ONSTACK | SA_RESETHAND};
    if (sigaltstack(&own, NULL) != 0)
        return;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        (void)sigaction(crashes[i], &ours, NULL);
}
#else
static void
catch_crashes(void) /* the sanitizer tells more */
{
}
#endif

static void
catch_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction was, ours = {.sa_handler = interrupted};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &ours, NULL);
}

/* Any thread may come here, wherever it is: nothing is taken down but what would stay behind. */
static void
out_of_memory(size_t bytes)
{
    fprintf(stderr, "tenon: out of memory: cannot allocate %zu bytes\n", bytes);
    fputs("  hint: raise the memory limit (see 'ulimit -v')\n", stderr);
    tnb_child_kill_all();
    tnb_temporary_remove_all();
    _exit(TNT_FAILED);
}

/* A file that is opened later must not take the place of standard input or output that is closed: reading and writing these go on to
 * fail. What is written to closed standard error is lost. */
static void
occupy_standard_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            (void)!open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
}

static int output_error; /* errno of the last write to standard output that failed */

static ssize_t
write_output(void *none, const char *bytes, size_t n)
{
    size_t done = 0;
    (void)none;
    while (done < n) {
        ssize_t k = write(STDOUT_FILENO, bytes + done, n - done);
        if (k < 0) {
            output_error = errno;
            break;
        }
        done += (size_t)k;
    }
    return (ssize_t)done;
}

/* Standard output remembers why it could not be written: a stream only knows that it could not. */
static void
watch_output(void)
{
    static char line[BUFSIZ];
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_output});
    if (!f)
        return;
    (void)setvbuf(f, isatty(STDOUT_FILENO) ? line : NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF,
                  BUFSIZ);
    stdout = f;
}

static int
run(int argc, char **argv)
{
    if (argc < 2) {
        tnt_print_help(NULL);
        return TNT_USAGE;
    }
    const char *name = argv[1];
    tnb_plugins_linked(tnt_static_plugins);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        tnt_print_help(NULL);
        return TNT_OK;
    }
    if (strcmp(name, "--version") == 0) {
        printf("tenon %s (ABI %d.%d)\n", PACKAGE_VERSION, TNB_ABI_MAJOR, TNB_ABI_MINOR);
        return TNT_OK;
    }
    const tnt_command *c = find_command(name);
    if (!c)
        return unknown_command(name);
    for (int i = 2; i < argc && strcmp(argv[i], "--"); i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            tnt_print_help(c);
            return TNT_OK;
        }
    tnt_args args;
    int status = tnt_parse(c, argc - 2, argv + 2, &args);
    if (status != TNT_OK)
        return status;
    catch_signals();
    catch_crashes();
    tnt_session session = {0};
    if (!c->bare)
        status = tnt_session_open(&args, &session);
    if (status == TNT_OK)
        status = c->run(c->bare ? NULL : &session, &args);
    if (!c->bare)
        tnt_session_close(&session);
    tnt_args_free(&args);
    if (status == TNT_OK && tnb_memory_failures()) {
        fputs("tenon: out of memory: the output may be incomplete\n", stderr);
        status = TNT_FAILED;
    }
    return status;
}

int
main(int argc, char **argv)
{
    occupy_standard_streams();
    tnb_on_no_memory(out_of_memory);
    watch_output();
    catch_exit();
    const int status = run(argc, argv);
    over = true;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "tenon: cannot write standard output%s%s\n", output_error ? ": " : "",
            output_error ? strerror(output_error) : "");
    if (output_error == ENOSPC)
        fputs("  hint: free some space on that file system\n", stderr);
    return TNT_FAILED;
}
