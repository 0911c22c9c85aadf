/* SPDX-License-Identifier: Apache-2.0 */
/* The system's C compiler: finding it, running it without a shell. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu.h"
#include "tenon/base/file.h"

extern char **environ;

/* The absolute path of a program, NULL if PATH has none. */
static const char *
on_path(tn_ctx *ctx, const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? name : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        const char *end = strchr(p, ':');
        size_t n = end ? (size_t)(end - p) : strlen(p);
        if (n > 0 && *p == '/') {
            const char *full = tnb_printf(tn_arena(ctx), "%.*s/%s", (int)n, p, name);
            struct stat st;
            if (access(full, X_OK) == 0 && stat(full, &st) == 0 && S_ISREG(st.st_mode))
                return full;
        }
        p += n + (end ? 1 : 0);
    }
    return NULL;
}

/* Words of a command; no quoting. */
static void
split_words(tn_ctx *ctx, const char *text, cpu_toolchain *out)
{
    out->command = TNB_NEW_N(tn_arena(ctx), const char *, strlen(text) / 2 + 2);
    out->n = 0;
    for (const char *p = text; *p;) {
        while (*p == ' ' || *p == '\t')
            p++;
        size_t n = strcspn(p, " \t");
        if (n)
            out->command[out->n++] = tnb_strndup(tn_arena(ctx), p, n);
        p += n;
    }
}

/* Standard output of a short program. */
static char *
output_of(tn_ctx *ctx, const char *const *argv)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0)
        return NULL;
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, fd[1], 1);
    posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    pid_t pid;
    union {
        const char *const *in;
        char *const *out;
    } args = {argv};
    int rc = posix_spawn(&pid, argv[0], &fa, NULL, args.out, environ);
    posix_spawn_file_actions_destroy(&fa);
    close(fd[1]);
    char *text = tnb_alloc(tn_arena(ctx), 1024);
    size_t n = 0;
    ssize_t got;
    while (rc == 0 && n < 1023 &&
           ((got = read(fd[0], text + n, 1023 - n)) > 0 || (got < 0 && errno == EINTR)))
        n += got > 0 ? (size_t)got : 0;
    close(fd[0]);
    int status = -1;
    if (rc == 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : NULL;
}

tnb_status
cpu_toolchain_find(tn_ctx *ctx, const tn_node *attrs, cpu_toolchain *out)
{
    *out = (cpu_toolchain){0};
    const char *wanted = tn_dict_str(attrs, "cc", "");
    const char *env = tnb_env("CC");
    const char *tries[] = {*wanted ? wanted : env ? env : "cc", "gcc", "clang"};
    int n = *wanted || env ? 1 : 3;
    for (int i = 0; i < n; i++) {
        split_words(ctx, tries[i], out);
        const char *full = out->n ? on_path(ctx, out->command[0]) : NULL;
        if (!full)
            continue;
        out->command[0] = full;
        const char **argv = TNB_NEW_N(tn_arena(ctx), const char *, out->n + 3);
        memcpy(argv, out->command, out->n * sizeof *argv);
        argv[out->n] = "--version";
        struct stat st = {0};
        (void)stat(full, &st);
        char *version = output_of(ctx, argv);
        out->identity =
            tnb_printf(tn_arena(ctx), "%s %lld %lld.%ld %s", full, (long long)st.st_size,
                       (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, version ? version : "?");
        for (uint32_t k = 1; k < out->n; k++)
            out->identity = tnb_printf(tn_arena(ctx), "%s %s", out->identity, out->command[k]);
        return TNB_OK;
    }
    tn_error(ctx, 0, TNB_NOT_FOUND, "no C compiler: %s%s%s",
             *wanted ? "the target's cc = "
             : env   ? "$CC is "
                     : "none of cc, gcc, clang",
             *wanted || env ? tries[0] : "",
             *wanted || env ? ", which is not there" : " is on PATH");
    tnb_diag_hint(tn_diags(ctx), "install one (Debian: apt-get install gcc libc6-dev), or set `cc` "
                                 "in the [target cpu] section or CC");
    return TNB_NOT_FOUND;
}

static char *const *
compiler_environment(void)
{
    static char lc_all[] = "LC_ALL=C";
    size_t n = 0;
    while (environ[n])
        n++;
    char **e = calloc(n + 2, sizeof *e);
    if (!e)
        return environ;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "LC_", 3) && strncmp(environ[i], "LANG", 4))
            e[k++] = environ[i];
    e[k] = lc_all;
    return e;
}

static bool
start(const char *folder, cpu_job *j, char *const *env)
{
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addchdir_np(&fa, folder);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 1, j->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&fa, 1, 2);
    union {
        const char *const *in;
        char *const *out;
    } args = {j->argv};
    pid_t pid;
    int rc = posix_spawn(&pid, j->argv[0], &fa, NULL, args.out, env);
    posix_spawn_file_actions_destroy(&fa);
    j->pid = rc == 0 ? (long)pid : 0;
    return rc == 0;
}

/* Returns when one of the running jobs may have ended. Other children of the process are none of
 * our business, so there is no waiting for any child. */
static void
wait_for_one(const cpu_job *jobs, uint32_t n)
{
    struct pollfd fds[64];
    uint32_t k = 0;
    bool all = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!jobs[i].pid)
            continue;
        int fd = k < 64 ? (int)syscall(SYS_pidfd_open, (pid_t)jobs[i].pid, 0) : -1;
        if (fd >= 0)
            fds[k++] = (struct pollfd){.fd = fd, .events = POLLIN};
        else
            all = false; /* an old system, or too many: look again soon */
    }
    if (k)
        (void)poll(fds, k, all ? -1 : 2);
    else
        usleep(2000);
    while (k)
        close(fds[--k].fd);
}

bool
cpu_run_jobs(const char *folder, cpu_job *jobs, uint32_t n, int at_once,
             void (*done)(void *user, uint32_t n), void *user)
{
    char *const *env = compiler_environment();
    uint32_t next = 0, finished = 0, running = 0;
    bool ok = true;
    for (uint32_t i = 0; i < n; i++)
        jobs[i].status = -1;
    while (finished < next || (ok && next < n)) {
        while (ok && next < n && running < (uint32_t)(at_once > 0 ? at_once : 1)) {
            ok = start(folder, &jobs[next], env);
            if (ok)
                next++, running++;
        }
        if (running == 0)
            break;
        bool reaped = false;
        for (uint32_t i = 0; i < next; i++) {
            int status = 0;
            pid_t r = jobs[i].pid ? waitpid((pid_t)jobs[i].pid, &status, WNOHANG) : 0;
            if (r > 0 ||
                (r < 0 && errno == ECHILD)) { /* gone without us: the host reaps children */
                jobs[i].status = r > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
                jobs[i].pid = 0;
                finished++, running--;
                reaped = true;
            }
        }
        if (!reaped)
            wait_for_one(jobs, next);
        else if (done)
            done(user, finished);
    }
    if (env != environ)
        free((void *)(uintptr_t)env);
    return ok;
}
