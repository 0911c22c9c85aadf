/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are started: where they are found, the environment they get, and their end with that
 * of this program.
 *
 * A privileged process takes nothing from its environment: programs are then looked for in the
 * system's folders and know no variables but PATH. Groups of processes under way are kept in a table
 * that a signal handler may read.
 */
#include "config.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenon/base/file.h"

extern char **environ;

static const char system_path[] = "/usr/local/bin:/usr/bin:/bin";

static const char *
runnable(const char *path)
{
    struct stat st;
    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? path : NULL;
}

const char *
tnb_find_program(tnb_arena *a, const char *name)
{
    if (strchr(name, '/'))
        return runnable(name);
    const char *path = tnb_env("PATH");
    for (const char *p = path ? path : system_path; *p;) {
        size_t n = strcspn(p, ":");
        if (n > 0 && *p == '/') { /* never the current folder */
            const char *full = runnable(tnb_printf(a, "%.*s/%s", (int)n, p, name));
            if (full)
                return full;
        }
        p += n + (p[n] == ':');
    }
    return NULL;
}

char **
tnb_child_environment(void)
{
    static char lc_all[] = "LC_ALL=C", path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    const bool privileged = tnb_privileged();
    size_t n = 0, k = 0;
    while (!privileged && environ && environ[n])
        n++;
    char **e = calloc(n + 3, sizeof *e);
    if (!e)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "LC_", 3) != 0 && strncmp(environ[i], "LANG", 4) != 0)
            e[k++] = environ[i];
    if (privileged)
        e[k++] = path;
    e[k] = lc_all;
    return e;
}

/* ---- groups of processes under way ---- */

enum { GROUPS = 256 };
static _Atomic long groups[GROUPS];   /* 0: free */
static atomic_int starting;           /* threads between begin and started */
static _Thread_local sigset_t before; /* the signals that they blocked themselves */

void
tnb_child_begin(void)
{
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_fetch_add(&starting, 1);
}

void
tnb_child_started(long group)
{
    bool added = group <= 0;
    for (int i = 0; i < GROUPS && !added; i++) {
        long was = 0;
        added = atomic_compare_exchange_strong(&groups[i], &was, group);
    }
    atomic_fetch_sub(&starting, 1);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void
tnb_child_forget(long group)
{
    for (int i = 0; i < GROUPS; i++) {
        long was = group;
        if (atomic_compare_exchange_strong(&groups[i], &was, 0))
            return;
    }
}

void
tnb_child_kill_all(void)
{
    enum { MOST_MS = 200 };
    for (int i = 0; i < MOST_MS && atomic_load(&starting) > 0; i++)
        (void)poll(NULL, 0, 1); /* may be called in handlers */
    for (int i = 0; i < GROUPS; i++) {
        long group = atomic_load(&groups[i]);
        if (group > 1)
            (void)kill((pid_t)-group, SIGKILL);
    }
}
