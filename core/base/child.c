/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are started: where they are found, the environment they get, and their end with that
 * of this program.
 *
 * A privileged process takes nothing from its environment: programs are then looked for in the
 * system's folders and know no variables but PATH. Groups of processes under way are kept in a table
 * that a signal handler may read.
 */
#include "config.h"

#include <signal.h>
#include <stdatomic.h>
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
static _Atomic long groups[GROUPS]; /* 0: free */

void
tnb_child_add(long group)
{
    for (int i = 0; i < GROUPS; i++) {
        long was = 0;
        if (atomic_compare_exchange_strong(&groups[i], &was, group))
            return;
    }
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
    for (int i = 0; i < GROUPS; i++) {
        long group = atomic_load(&groups[i]);
        if (group > 1)
            (void)kill((pid_t)-group, SIGKILL);
    }
}
