/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files and folders, and their removal when a signal ends the program.
 *
 * Paths that are in use are kept in a table that a signal handler may read: an entry's state says
 * who owns it. What does not fit the table is removed as always, but not by a handler.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tenon/base/file.h"

enum { SLOTS = 64, LONGEST = 512 };
enum { FREE, CHANGING, IN_USE };

static struct slot {
    atomic_int state;
    pid_t process; /* a child does not remove what is its parent's */
    char path[LONGEST];
} slots[SLOTS];

void
tnb_temporary_add(const char *path)
{
    size_t n = strlen(path);
    for (int i = 0; i < SLOTS && n < LONGEST; i++) {
        int was = FREE;
        if (!atomic_compare_exchange_strong(&slots[i].state, &was, CHANGING))
            continue;
        memcpy(slots[i].path, path, n + 1);
        slots[i].process = getpid();
        atomic_store(&slots[i].state, IN_USE);
        return;
    }
}

void
tnb_temporary_forget(const char *path)
{
    for (int i = 0; i < SLOTS; i++) {
        int was = IN_USE;
        if (atomic_load(&slots[i].state) != IN_USE || slots[i].process != getpid() ||
            strcmp(slots[i].path, path) != 0)
            continue;
        if (atomic_compare_exchange_strong(&slots[i].state, &was, FREE))
            return;
    }
}

/* Makes the folder and notes it, without a signal in between that would leave it behind. */
static bool
make_known(char *path)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = mkdtemp(path) != NULL;
    int saved = errno;
    if (made)
        tnb_temporary_add(path);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return made;
}

tnb_status
tnb_temporary_dir(char path[TNB_TEMPORARY_PATH], tnb_err *err)
{
    const char *tmp = tnb_env("TMPDIR");
    tmp = tmp ? tmp : "/tmp";
    if (snprintf(path, TNB_TEMPORARY_PATH, "%s/tenon-XXXXXX", tmp) >= TNB_TEMPORARY_PATH)
        errno = ENAMETOOLONG;
    else if (make_known(path))
        return TNB_OK;
    char reason[128];
    (void)tnb_fail(err, TNB_IO, "cannot make a folder in %s: %s", tmp,
                   strerror_r(errno, reason, sizeof reason));
    tnb_hint(err, "set TMPDIR to a writable folder");
    return TNB_IO;
}

/* ---- removing: with calls only that a signal handler may make ---- */

struct entry { /* as the kernel gives it */
    uint64_t inode;
    int64_t next;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* The files of a folder, which has no folders. */
static void
empty(int dir)
{
    _Alignas(8) char batch[2048];
    long n;
    while ((n = syscall(SYS_getdents64, dir, batch, sizeof batch)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const void *)(batch + at);
            if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
                (void)unlinkat(dir, e->name, 0);
            at += e->size;
        }
}

static void
remove_path(const char *path)
{
    if (unlink(path) == 0 || (errno != EISDIR && errno != EPERM))
        return;
    for (int tries = 0; tries < 4; tries++) { /* a compiler may still write */
        int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (dir < 0)
            return;
        empty(dir);
        close(dir);
        if (rmdir(path) == 0)
            return;
    }
}

void
tnb_temporary_remove(const char *path)
{
    remove_path(path);
    tnb_temporary_forget(path);
}

void
tnb_temporary_remove_all(void)
{
    int saved = errno;
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&slots[i].state) == IN_USE && slots[i].process == getpid())
            remove_path(slots[i].path);
    errno = saved;
}
