/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that try what may end or hold up a process, such as asking a driver, and what befell them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "config.h"

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
#include "tenon/base/num.h"
#include "tenon/base/plugin.h"

/* What is read of a pipe, line by line. */
struct pipe_lines {
    char text[TNB_PROBE_TEXT];
    void (*take)(void *user, const char *line);
    void *user;
};

static void
note_said(void *user, const char *line)
{
    tnb_probe *p = user;
    if (*line)
        snprintf(p->said, sizeof p->said, "%s", line);
}

/* Takes what a pipe has, and gives each line that ends. False at the end. */
static bool
drain(int fd, struct pipe_lines *l)
{
    char some[512];
    ssize_t n = read(fd, some, sizeof some);
    size_t at = strlen(l->text);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    for (ssize_t i = 0; i < n; i++) {
        if (some[i] == '\n') {
            l->take(l->user, l->text);
            l->text[at = 0] = '\0';
        } else if (at + 1 < sizeof l->text) {
            l->text[at++] = some[i] >= ' ' && some[i] <= '~' ? some[i] : ' ';
            l->text[at] = '\0';
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

/* Reads until the caller has what it wants, the program ends, or has had its time; it is gone then. */
static void
follow(pid_t pid, struct pollfd fd[2], struct pipe_lines lines[2], long limit, tnb_probe *p)
{
    long until = milliseconds() + limit;
    bool gone = false;
    while (!p->done && !gone && !p->late) {
        bool open = fd[0].fd >= 0 || fd[1].fd >= 0;
        if (poll(fd, 2, open ? 50 : 1) > 0)
            for (int i = 0; i < 2; i++)
                if (fd[i].revents && !drain(fd[i].fd, &lines[i]))
                    fd[i].fd = -1;
        pid_t w = waitpid(pid, &p->status, WNOHANG);
        gone = w == pid || (w < 0 && errno == ECHILD); /* ECHILD: the host reaps its children */
        if (w < 0)
            p->status = -1;
        p->late = !gone && milliseconds() > until;
    }
    if (!gone) {
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, &p->status, 0) < 0 && errno == EINTR)
            ;
    }
    /* what it said last may still be in the pipes */
    for (int i = 0; i < 2; i++)
        while (fd[i].fd >= 0 && poll(&fd[i], 1, 0) > 0 && drain(fd[i].fd, &lines[i]))
            ;
    note_said(p, lines[1].text);
}

bool
tnb_probe_run(const char *program, const char *argument, long limit_ms, tnb_probe *p)
{
    int out[2], err[2];
    pid_t pid;
    p->done = p->late = false;
    p->status = -1;
    p->said[0] = '\0';
    if (pipe2(out, O_CLOEXEC) != 0)
        return false;
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(out[0]), close(out[1]);
        return false;
    }
    char *argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)argument, NULL};
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    int e = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    e |= posix_spawn_file_actions_adddup2(&fa, out[1], 1);
    e |= posix_spawn_file_actions_adddup2(&fa, err[1], 2);
    char **env = e ? NULL : tnb_child_environment();
    posix_spawnattr_t
        own; /* a group of its own, which ends with this program; it blocks no signals, as this thread does now */
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&own);
    posix_spawnattr_setpgroup(&own, 0);
    posix_spawnattr_setsigmask(&own, &none);
    posix_spawnattr_setflags(&own, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    tnb_child_begin();
    int rc = env ? posix_spawn(&pid, program, &fa, &own, argv, env) : ENOMEM;
    tnb_child_started(rc == 0 ? pid : 0);
    posix_spawnattr_destroy(&own);
    free(env);
    posix_spawn_file_actions_destroy(&fa);
    close(out[1]), close(err[1]);
    if (rc == 0) {
        struct pollfd fd[2] = {{.fd = out[0], .events = POLLIN}, {.fd = err[0], .events = POLLIN}};
        struct pipe_lines lines[2] = {{.take = p->line, .user = p->user},
                                      {.take = note_said, .user = p}};
        (void)fcntl(out[0], F_SETFL, O_NONBLOCK), (void)fcntl(err[0], F_SETFL, O_NONBLOCK);
        follow(pid, fd, lines, limit_ms, p);
        tnb_child_forget(pid);
    }
    close(out[0]), close(err[0]);
    return rc == 0;
}

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

void
tnb_probe_explain(const tnb_probe *p, const char *who, long limit_ms, tnb_err *why)
{
    char what[64];
    if (p->late)
        snprintf(what, sizeof what, "did not answer the probe within %ld s",
                 (limit_ms + 999) / 1000);
    else if (p->status == -1)
        snprintf(what, sizeof what, "ended the probe");
    else if (WIFSIGNALED(p->status))
        snprintf(what, sizeof what, "ended the probe by signal %d%s", WTERMSIG(p->status),
                 signal_name(WTERMSIG(p->status)));
    else
        snprintf(what, sizeof what, "ended the probe with exit status %d", WEXITSTATUS(p->status));
    (void)tnb_fail(why, TNB_DEVICE, "%s %s%s%s%s", who, what, *p->said ? ", and said '" : "",
                   p->said, *p->said ? "'" : "");
}

bool
tnb_probe_find(const char *folder, const char *name, char *out, size_t n, tnb_err *err)
{
    if (!folder || !*folder || (size_t)snprintf(out, n, "%s/%s", folder, name) >= n)
        return false;
    int fd = open(out, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    tnb_status st = tnb_trust_fd(fd, out, NULL, 0, err);
    close(fd);
    return st == TNB_OK;
}

long
tnb_probe_limit(const char *variable, long usual_seconds)
{
    const char *s = tnb_env(variable);
    double v;
    bool ok = s && tnb_read_f64(s, strlen(s), &v) && v >= 0 && v < 1e6;
    return ok ? (long)(v * 1000) : usual_seconds * 1000L;
}
