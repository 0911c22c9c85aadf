/* SPDX-License-Identifier: Apache-2.0 */
/* The system's C compiler: finding it, running it without a shell. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"
#include "tenon/base/conf.h"
#include "tenon/base/file.h"
#include "tenon/base/plugin.h"

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

/* ---- starting and ending ---- */

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* `works_here`: temporary files lie in the program's current folder, where they are removed with it, also
 * those of a compiler that was killed. */
static char **
environment(bool works_here)
{
    static char here[] = "TMPDIR=.";
    char **env = tnb_child_environment();
    size_t n = 0, k = 0;
    while (env && env[n])
        n++;
    if (!env || !works_here)
        return env;
    char **more = realloc(env, (n + 2) * sizeof *env);
    if (!more) {
        free(env);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (strncmp(more[i], "TMPDIR=", 7) != 0)
            more[k++] = more[i];
    more[k++] = here;
    more[k] = NULL;
    return more;
}

/* In a group of its own, which ends with this program; signals that this program ignores have their
 * usual effect there. */
static pid_t
spawn(const char *const *argv, posix_spawn_file_actions_t *fa, bool works_here)
{
    posix_spawnattr_t attr;
    sigset_t usual, none;
    pid_t pid = 0;
    union {
        const char *const *in;
        char *const *out;
    } args = {argv};
    char **env = environment(works_here);
    if (!env)
        return 0;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGXFSZ);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETPGROUP);
    tnb_child_begin();
    if (posix_spawn(&pid, argv[0], fa, &attr, args.out, env) != 0)
        pid = 0;
    tnb_child_started(pid);
    posix_spawnattr_destroy(&attr);
    free(env);
    return pid;
}

/* The whole group, as compilers start others. */
static int
end_group(pid_t pid)
{
    int status = -1;
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    tnb_child_forget(pid);
    return status;
}

char *
cpu_output_of(tn_ctx *ctx, const char *const *argv, bool errors, bool *ok)
{
    enum { SECONDS = 20, ROOM = 1 << 14 };
    *ok = false;
    int fd[2], status = -1;
    if (pipe2(fd, O_CLOEXEC) != 0)
        return NULL;
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    int e = posix_spawn_file_actions_adddup2(&fa, fd[1], 1);
    e |= errors ? posix_spawn_file_actions_adddup2(&fa, fd[1], 2)
                : posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
    e |= posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    pid_t pid = e ? 0 : spawn(argv, &fa, false); /* it would write to this program's output */
    posix_spawn_file_actions_destroy(&fa);
    close(fd[1]);
    char *text = tnb_alloc(tn_scratch(ctx), ROOM);
    size_t n = 0;
    bool ended = false;
    for (double until = now() + SECONDS; pid && !ended && n < ROOM - 1;) {
        int left = (int)(1000 * (until - now()));
        struct pollfd p = {.fd = fd[0], .events = POLLIN};
        if (left <= 0 || poll(&p, 1, left) == 0)
            break;
        ssize_t got = read(fd[0], text + n, ROOM - 1 - n);
        ended = got == 0;
        n += got > 0 ? (size_t)got : 0;
    }
    close(fd[0]);
    for (int i = 0; pid && ended && i < 1000 && waitpid(pid, &status, WNOHANG) == 0; i++)
        usleep(1000);
    if (!pid)
        return NULL;
    if (status == -1)
        status = end_group(pid);
    tnb_child_forget(pid);
    *ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return text;
}

/* ---- finding ---- */

/* Whether CC may choose the compiler; an error is recorded where the site has locked the attribute that does. */
static bool
may_choose(tn_ctx *ctx)
{
    const tnb_plugins *p = tn_registry_plugins(tn_ctx_registry(ctx));
    const tnb_conf *conf = p ? tnb_plugins_start(p, tnb_plugins_named(p, "cpu")).conf : NULL;
    const tnb_conf_value *by = conf ? tnb_conf_locked(conf, "target", "cpu", "cc") : NULL;
    if (!by)
        return true;
    tn_error(ctx, 0, TNB_INVALID,
             "CC may not be set here: the site has locked 'cc' of target 'cpu'");
    tnb_diag_note(tn_diags(ctx), "locked by %s:%u", by->file, by->line);
    tnb_diag_hint(tn_diags(ctx), "unset it, or ask who administers that file");
    return false;
}

tnb_status
cpu_toolchain_find(tn_ctx *ctx, const tn_node *attrs, cpu_toolchain *out)
{
    *out = (cpu_toolchain){0};
    const char *wanted = tn_dict_str(attrs, "cc", "");
    const char *triple = tn_dict_str(attrs, "mtriple", "");
    const char *env = *triple ? NULL : tnb_env("CC"); /* which is for this machine */
    if (!*wanted && env && !may_choose(ctx))
        return TNB_INVALID;
    const char *tries[] = {*wanted ? wanted : env ? env : "cc", "gcc", "clang"};
    int n = *wanted || env ? 1 : 3;
    if (*triple && !*wanted) {
        tries[0] = tn_strf(ctx, "%s-gcc", triple);
        tries[1] = tn_strf(ctx, "clang --target=%s", triple);
        n = 2;
    }
    for (int i = 0; i < n; i++) {
        split_words(ctx, tries[i], out);
        const char *full = out->n ? tnb_find_program(tn_arena(ctx), out->command[0]) : NULL;
        if (!full)
            continue;
        out->command[0] = full;
        const char **argv = TNB_NEW_N(tn_arena(ctx), const char *, out->n + 3);
        memcpy(argv, out->command, out->n * sizeof *argv);
        argv[out->n] = "--version";
        struct stat st = {0};
        (void)stat(full, &st);
        bool ok;
        char *version = cpu_output_of(ctx, argv, false, &ok);
        version = ok ? version : NULL;
        out->is_clang = version && strstr(version, "clang");
        out->identity =
            tnb_printf(tn_arena(ctx), "%s %lld %lld.%ld %s", full, (long long)st.st_size,
                       (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, version ? version : "?");
        for (uint32_t k = 1; k < out->n; k++)
            out->identity = tnb_printf(tn_arena(ctx), "%s %s", out->identity, out->command[k]);
        return TNB_OK;
    }
    tn_error(ctx, 0, TNB_NOT_FOUND, "no C compiler: %s%s%s",
             *wanted   ? "the target's cc = "
             : env     ? "$CC is "
             : *triple ? tn_strf(ctx, "neither %s nor clang", tries[0])
                       : "none of cc, gcc, clang",
             *wanted || env ? tries[0] : "",
             *wanted || env ? ", and no such program can be run" : " is on PATH");
    if (*triple)
        tnb_diag_hint(tn_diags(ctx),
                      "install a compiler for %s (Debian: apt-get install %s), or set `cc` in "
                      "the [target cpu] section",
                      triple, cpu_machine_package(ctx, triple));
    else
        tnb_diag_hint(tn_diags(ctx),
                      "install one (Debian: apt-get install gcc libc6-dev), or set `cc` "
                      "in the [target cpu] section or CC");
    return TNB_NOT_FOUND;
}

/* ---- jobs ---- */

static bool
start(const char *folder, cpu_job *j, double seconds)
{
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    int e = posix_spawn_file_actions_addchdir_np(&fa, folder);
    e |= posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    e |= posix_spawn_file_actions_addopen(&fa, 1, j->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    e |= posix_spawn_file_actions_adddup2(&fa, 1, 2);
    j->pid = e ? 0 : spawn(j->argv, &fa, true); /* elsewhere it would write into another folder */
    j->until = seconds > 0 ? now() + seconds : 0;
    posix_spawn_file_actions_destroy(&fa);
    return j->pid != 0;
}

/* Returns when one of the running jobs may have ended. Other children of the process are none of
 * our business, so there is no waiting for any child. */
static void
wait_for_one(const cpu_job *jobs, uint32_t n)
{
    struct pollfd fds[64];
    uint32_t k = 0;
    bool all = true;
    double until = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!jobs[i].pid)
            continue;
        until = jobs[i].until > 0 && (until == 0 || jobs[i].until < until) ? jobs[i].until : until;
        int fd = k < 64 ? (int)syscall(SYS_pidfd_open, (pid_t)jobs[i].pid, 0) : -1;
        if (fd >= 0)
            fds[k++] = (struct pollfd){.fd = fd, .events = POLLIN};
        else
            all = false; /* an old system, or too many: look again soon */
    }
    double left = until > 0 ? (until - now()) * 1000 + 1 : -1;
    if (k)
        (void)poll(fds, k,
                   !all                      ? 2
                   : until == 0              ? -1
                   : left < 0                ? 0
                   : left > 1000 * 3600 * 24 ? 1000 * 3600 * 24
                                             : (int)left);
    else
        usleep(2000);
    while (k)
        close(fds[--k].fd);
}

static bool
is_made(const char *folder, const char *file)
{
    struct stat st;
    int dir = file ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool made = !file || (dir >= 0 && fstatat(dir, file, &st, 0) == 0);
    if (dir >= 0)
        close(dir);
    return made;
}

bool
cpu_run_jobs(const char *folder, cpu_job *jobs, uint32_t n, int at_once, double seconds,
             void (*done)(void *user, uint32_t n), void *user)
{
    uint32_t next = 0, finished = 0, running = 0;
    bool ok = true;
    for (uint32_t i = 0; i < n; i++)
        jobs[i].status = -1;
    while (finished < next || (ok && next < n)) {
        while (ok && next < n && running < (uint32_t)(at_once > 0 ? at_once : 1)) {
            ok = start(folder, &jobs[next], seconds);
            if (ok)
                next++, running++;
        }
        if (running == 0)
            break;
        bool reaped = false;
        for (uint32_t i = 0; i < next; i++) {
            int status = 0;
            pid_t r = jobs[i].pid ? waitpid((pid_t)jobs[i].pid, &status, WNOHANG) : 0;
            if (r == 0 && jobs[i].pid && jobs[i].until > 0 && now() > jobs[i].until) {
                status = end_group((pid_t)jobs[i].pid);
                jobs[i].late = true;
                r = 1;
            }
            if (r > 0 ||
                (r < 0 && errno == ECHILD)) { /* gone without us: the host reaps children */
                jobs[i].status = r > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
                jobs[i].signal = r > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
                jobs[i].missing = jobs[i].status == 0 && !is_made(folder, jobs[i].makes);
                tnb_child_forget(jobs[i].pid);
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
    return ok;
}
