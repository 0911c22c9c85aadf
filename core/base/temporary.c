/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files and folders, and their removal when a signal ends the program.
 *
 * Paths that are in use are kept in a table that a signal handler may read: an entry's state says
 * who owns it. What does not fit the table is removed as always, but not by a handler.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tenon/base/file.h"

enum { SLOTS = 64, LONGEST = 512 };
enum { FREE, CHANGING, IN_USE };

static struct slot {
    atomic_int state;
    pid_t process; /* a child does not remove what is its parent's */
    int lock;      /* of a folder: the file that tells others that it is in use; 0: none */
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
        slots[i].lock = 0;
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
        int lock = slots[i].lock;
        if (atomic_compare_exchange_strong(&slots[i].state, &was, FREE)) {
            if (lock > 0)
                close(lock);
            return;
        }
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

/* ---- making ---- */

/* A folder in use holds a file that its process keeps locked until it ends, however it ends. */
static const char lock_name[] = ".lock";
enum { HOUR = 3600, DAY = 24 * HOUR, NAME = sizeof "tenon-XXXXXX" - 1 };

static int
lock_of(int dir, int flags)
{
    int fd = openat(dir, lock_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    errno = EWOULDBLOCK;
    return -1;
}

/* Whether nobody uses this folder of ours any more; one without the file was made by a process that
 * ended at once, or removed it. */
static bool
is_abandoned(int dir)
{
    struct stat st;
    if (fstat(dir, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0 ||
        st.st_mtim.tv_sec > time(NULL) - HOUR)
        return false;
    int lock = lock_of(dir, 0), why = errno;
    if (lock >= 0)
        close(lock);
    return lock >= 0 || (why == ENOENT && st.st_mtim.tv_sec < time(NULL) - DAY);
}

/* What processes that were killed left behind. */
static void
sweep(const char *tmp)
{
    DIR *all = opendir(tmp);
    const struct dirent *e;
    while (all && (e = readdir(all))) {
        if (strncmp(e->d_name, "tenon-", 6) != 0 || strlen(e->d_name) != NAME)
            continue;
        int dir = openat(dirfd(all), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (dir >= 0 && is_abandoned(dir)) {
            empty(dir);
            (void)unlinkat(dirfd(all), e->d_name, AT_REMOVEDIR);
        }
        if (dir >= 0)
            close(dir);
    }
    if (all)
        closedir(all);
}

/* The lock stays with the slot of the folder. */
static void
lock_folder(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int fd = dir >= 0 ? lock_of(dir, O_CREAT | O_EXCL) : -1;
    if (dir >= 0)
        close(dir);
    for (int i = 0; fd >= 0 && i < SLOTS; i++)
        if (atomic_load(&slots[i].state) == IN_USE && slots[i].process == getpid() &&
            strcmp(slots[i].path, path) == 0) {
            slots[i].lock = fd;
            return;
        }
    if (fd >= 0)
        close(fd);
}

tnb_status
tnb_temporary_dir(char path[TNB_TEMPORARY_PATH], tnb_err *err)
{
    static atomic_flag swept = ATOMIC_FLAG_INIT;
    const char *tmp = tnb_env("TMPDIR");
    tmp = tmp ? tmp : "/tmp";
    if (!atomic_flag_test_and_set(&swept))
        sweep(tmp);
    if (snprintf(path, TNB_TEMPORARY_PATH, "%s/tenon-XXXXXX", tmp) >= TNB_TEMPORARY_PATH) {
        errno = ENAMETOOLONG;
    } else if (make_known(path)) {
        lock_folder(path);
        return TNB_OK;
    }
    char reason[128];
    (void)tnb_fail(err, TNB_IO, "cannot make a folder in %s: %s", tmp,
                   strerror_r(errno, reason, sizeof reason));
    tnb_hint(err, "set TMPDIR to a writable folder");
    return TNB_IO;
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
