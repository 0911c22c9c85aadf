/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: whether a process survives asking for OpenCL devices.
 *
 * Drivers are code of others that runs in this process, and some abort it, or never come back, where
 * something that they expect of the system is missing. So the program opencl_probe beside this module asks
 * first; what befalls it is remembered for the life of the process. A platform whose driver ended or held up
 * the probe is left alone, and the probe starts again without it.
 *
 * TENON_OPENCL_PROBE is the number of seconds that the probe may take; 0: nothing is probed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/base/num.h"
#include "tenon/base/plugin.h"

enum { USUAL_SECONDS = 30, PLATFORMS = 64, TEXT = 160 };

static struct {
    pthread_mutex_t lock;
    char folder[3072]; /* of this module; "": not known */
    bool asked;
    bool nothing;  /* OpenCL must not be asked at all */
    uint64_t left; /* platforms that must not be asked, a bit each */
    tnb_err why;   /* of the last of these */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

tnb_status
opencl_init(const tnb_plugin_start *start, tnb_err *err)
{
    (void)err;
    snprintf(state.folder, sizeof state.folder, "%s", start->folder ? start->folder : "");
    return TNB_OK;
}

/* ---- one run of the probe ---- */

struct outcome {
    bool began, done, late;
    int status;         /* as wait has it; -1: not known */
    int platform;       /* the last one that was asked; -1: none yet */
    char name[TEXT];    /* its name */
    char out[TEXT + 1]; /* the line being read */
    char said[TEXT];    /* the last line on its standard error */
    char err[TEXT + 1];
};

static void
out_line(struct outcome *o, const char *line)
{
    char *end;
    if (strcmp(line, "began") == 0)
        o->began = true;
    if (strcmp(line, "done") == 0)
        o->done = true;
    if (strncmp(line, "platform ", 9) == 0) {
        long n = strtol(line + 9, &end, 10);
        o->platform = n >= 0 && n < PLATFORMS ? (int)n : -1;
        snprintf(o->name, sizeof o->name, "%.*s", (int)sizeof o->name - 1,
                 *end == ' ' ? end + 1 : end);
    }
}

static void
err_line(struct outcome *o, const char *line)
{
    if (*line)
        snprintf(o->said, sizeof o->said, "%.*s", (int)sizeof o->said - 1, line);
}

/* Takes what a pipe has into `line`, and each line that ends to `take`. False at the end. */
static bool
drain(int fd, struct outcome *o, char line[TEXT + 1],
      void (*take)(struct outcome *o, const char *line))
{
    char some[512];
    ssize_t n = read(fd, some, sizeof some);
    size_t at = strlen(line);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    for (ssize_t i = 0; i < n; i++) {
        if (some[i] == '\n') {
            take(o, line);
            line[at = 0] = '\0';
        } else if (at < TEXT - 1) {
            line[at++] = some[i] >= ' ' && some[i] <= '~' ? some[i] : ' ';
            line[at] = '\0';
        }
    }
    return true;
}

static long
milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads until the program says that it is done, ends, or has had its time; it is gone then. */
static void
follow(pid_t pid, struct pollfd fd[2], long limit, struct outcome *o)
{
    long until = milliseconds() + limit;
    bool gone = false;
    while (!o->done && !gone && !o->late) {
        bool open = fd[0].fd >= 0 || fd[1].fd >= 0;
        if (poll(fd, 2, open ? 50 : 1) > 0) {
            if (fd[0].revents && !drain(fd[0].fd, o, o->out, out_line))
                fd[0].fd = -1;
            if (fd[1].revents && !drain(fd[1].fd, o, o->err, err_line))
                fd[1].fd = -1;
        }
        pid_t w = waitpid(pid, &o->status, WNOHANG);
        gone = w == pid || (w < 0 && errno == ECHILD); /* ECHILD: the host reaps its children */
        if (w < 0)
            o->status = -1;
        o->late = !gone && milliseconds() > until;
    }
    if (!gone) {
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, &o->status, 0) < 0 && errno == EINTR)
            ;
    }
    /* what it said last may still be in the pipes */
    for (int i = 0; i < 2; i++)
        while (fd[i].fd >= 0 && poll(&fd[i], 1, 0) > 0 &&
               drain(fd[i].fd, o, i ? o->err : o->out, i ? err_line : out_line))
            ;
    err_line(o, o->err);
}

/* False: the program could not be started. */
static bool
run(const char *program, uint64_t left, long limit, struct outcome *o)
{
    int out[2], err[2];
    char mask[24];
    pid_t pid;
    *o = (struct outcome){.platform = -1, .status = -1};
    if (pipe2(out, O_CLOEXEC) != 0)
        return false;
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(out[0]), close(out[1]);
        return false;
    }
    snprintf(mask, sizeof mask, "%llx", (unsigned long long)left);
    char *argv[] = {(char *)(uintptr_t)program, mask, NULL};
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    int e = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    e |= posix_spawn_file_actions_adddup2(&fa, out[1], 1);
    e |= posix_spawn_file_actions_adddup2(&fa, err[1], 2);
    char **env = e ? NULL : tnb_child_environment();
    int rc = env ? posix_spawn(&pid, program, &fa, NULL, argv, env) : ENOMEM;
    free(env);
    posix_spawn_file_actions_destroy(&fa);
    close(out[1]), close(err[1]);
    if (rc == 0) {
        struct pollfd fd[2] = {{.fd = out[0], .events = POLLIN}, {.fd = err[0], .events = POLLIN}};
        (void)fcntl(out[0], F_SETFL, O_NONBLOCK), (void)fcntl(err[0], F_SETFL, O_NONBLOCK);
        follow(pid, fd, limit, o);
    }
    close(out[0]), close(err[0]);
    return rc == 0;
}

/* ---- what it means ---- */

static const char *
signal_name(int n)
{
    switch (n) {
    case SIGABRT:
        return " (SIGABRT)";
    case SIGSEGV:
        return " (SIGSEGV)";
    case SIGBUS:
        return " (SIGBUS)";
    case SIGILL:
        return " (SIGILL)";
    case SIGFPE:
        return " (SIGFPE)";
    case SIGKILL:
        return " (SIGKILL)";
    default:
        return "";
    }
}

static void
explain(const struct outcome *o, long limit, tnb_err *why)
{
    char what[64], who[TEXT + 64] = "a driver or the loader of OpenCL";
    if (o->platform >= 0)
        snprintf(who, sizeof who, "the OpenCL driver of platform %d '%s'", o->platform, o->name);
    if (o->late)
        snprintf(what, sizeof what, "did not answer the probe within %ld s", (limit + 999) / 1000);
    else if (o->status == -1)
        snprintf(what, sizeof what, "ended the probe");
    else if (WIFSIGNALED(o->status))
        snprintf(what, sizeof what, "ended the probe by signal %d%s", WTERMSIG(o->status),
                 signal_name(WTERMSIG(o->status)));
    else
        snprintf(what, sizeof what, "ended the probe with exit status %d", WEXITSTATUS(o->status));
    (void)tnb_fail(why, TNB_DEVICE, "%s %s%s%s%s", who, what, *o->said ? ", and said '" : "",
                   o->said, *o->said ? "'" : "");
    if (o->late)
        tnb_hint(why, "TENON_OPENCL_PROBE=SECONDS gives it more time; OCL_ICD_VENDORS=DIR, with a "
                      "folder of other drivers' .icd files, leaves it out");
    else
        tnb_hint(why,
                 "drivers need /sys, /proc and /dev of a full system; OCL_ICD_VENDORS=DIR, with a "
                 "folder of other drivers' .icd files, leaves it out%s",
                 o->platform < 0 ? ", and so may OCL_ICD_PLATFORM_SORT=none" : "");
}

/* ---- the program ---- */

/* False: it is not there, or not to be trusted. */
static bool
find_program(char *out, size_t n)
{
    const tnb_places *p = tnb_places_get();
    const char *folder = *state.folder ? state.folder : p ? p->plugins : NULL;
    tnb_err err = {0};
    if (!folder || (size_t)snprintf(out, n, "%s/opencl_probe", folder) >= n)
        return false;
    int fd = open(out, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    tnb_status st = tnb_trust_fd(fd, out, NULL, 0, &err);
    close(fd);
    if (st != TNB_OK)
        tnb_log(TNB_LOG_WARN, "OpenCL drivers are not probed: %s", err.message);
    return st == TNB_OK;
}

static long
time_limit(void)
{
    const char *s = tnb_env("TENON_OPENCL_PROBE");
    double v;
    bool ok = s && tnb_read_f64(s, strlen(s), &v) && v >= 0 && v < 1e6;
    return ok ? (long)(v * 1000) : USUAL_SECONDS * 1000L;
}

static void
ask(void)
{
    char program[4096];
    long limit = time_limit();
    struct outcome o;
    if (limit == 0 || !find_program(program, sizeof program))
        return;
    for (int i = 0; i <= PLATFORMS; i++) {
        if (!run(program, state.left, limit, &o) || (!o.began && !o.late)) {
            tnb_log(TNB_LOG_INFO, "OpenCL drivers are not probed: %s cannot be run%s%s", program,
                    *o.said ? ": " : "", o.said);
            return;
        }
        if (o.done)
            return;
        explain(&o, limit, &state.why);
        if (o.platform < 0 || state.left >> o.platform & 1) {
            state.nothing = true;
            return;
        }
        state.left |= UINT64_C(1) << o.platform;
        tnb_log(TNB_LOG_WARN, "%s; its devices are left out", state.why.message);
    }
}

bool
opencl_probe(uint64_t *left, tnb_err *why)
{
    pthread_mutex_lock(&state.lock);
    if (!state.asked)
        ask();
    state.asked = true;
    *left = state.left;
    *why = state.why;
    bool may = !state.nothing;
    pthread_mutex_unlock(&state.lock);
    return may;
}
