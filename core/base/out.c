/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files beside their place; the rename makes them visible whole. */
#include "config.h"
#include "tenon/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include "new_file.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OUT_BUFFER = 256 << 10 };

void
tnb_hint_room(int e, tnb_err *err)
{
    if (e == ENOSPC || e == EDQUOT)
        tnb_hint(err, "free some space on that file system");
    else if (e == EFBIG)
        tnb_hint(err, "raise the limit of file sizes (ulimit -f)");
}

static tnb_status
io_error(const char *what, const char *path, tnb_err *err)
{
    int e = errno;
    char reason[128];
    tnb_fail(err, TNB_IO, "cannot %s '%s': %s", what, path, strerror_r(e, reason, sizeof reason));
    tnb_hint_room(e, err);
    const char *slash = strrchr(path, '/');
    struct stat st;
    int n = slash && slash != path ? (int)(slash - path) : 0;
    char folder[4096];
    if (e == ENOENT && n > 0 && n < (int)sizeof folder) {
        snprintf(folder, sizeof folder, "%.*s", n, path);
        if (stat(folder, &st) != 0)
            tnb_hint(err, "there is no folder '%s': make it first", folder);
    }
    return TNB_IO;
}

/* ---- beside a place ---- */

/* A name for the file until it takes its place. Random, since processes of several machines, or with
 * names of their own for processes, may share a folder. */
static char *
temporary_name(const char *path)
{
    static _Atomic unsigned counter;
    uint64_t random = 0;
    size_t n = strlen(path) + 64;
    char *name = malloc(n);
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = (uint64_t)time(NULL) << 32 ^ (uint64_t)getpid();
    if (name)
        snprintf(name, n, "%s.%016llx.%u.tmp", path, (unsigned long long)random,
                 atomic_fetch_add(&counter, 1));
    return name;
}

/* A file without a name, where the file system has such: nothing of it is left if the process is
 * killed. */
static int
open_nameless(int dir, const char *path, unsigned mode)
{
    char parent[4096];
    const char *slash = strrchr(path, '/');
    int n = !slash          ? snprintf(parent, sizeof parent, ".")
            : slash == path ? snprintf(parent, sizeof parent, "/")
                            : snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    return n > 0 && (size_t)n < sizeof parent
               ? openat(dir, parent, O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t)mode)
               : -1;
}

int
base_new_open(int dir, const char *path, unsigned mode, char **temporary)
{
    *temporary = temporary_name(path);
    int fd = *temporary ? open_nameless(dir, path, mode) : -1;
    if (fd >= 0 || !*temporary)
        return fd;
    fd = openat(dir, *temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode);
    if (fd >= 0 && dir == AT_FDCWD)
        tnb_temporary_add(*temporary);
    return fd;
}

bool
base_new_place(int dir, int fd, const char *temporary, const char *path)
{
    struct stat st;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    bool nameless = fstat(fd, &st) == 0 && st.st_nlink == 0,
         ok = !nameless || linkat(AT_FDCWD, link, dir, temporary, AT_SYMLINK_FOLLOW) == 0;
    int saved = errno;
    if (close(fd) != 0 && ok) {
        saved = errno;
        ok = false;
    } else if (ok && renameat(dir, temporary, dir, path) != 0) {
        saved = errno;
        ok = false;
    }
    if (!ok)
        (void)unlinkat(dir, temporary, 0);
    errno = saved;
    return ok;
}

void
base_new_drop(int dir, int fd, const char *temporary)
{
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink)
        (void)unlinkat(dir, temporary, 0);
    if (fd >= 0)
        close(fd);
}

static void
new_file_free(tnb_new_file *f)
{
    if (f->temporary)
        tnb_temporary_forget(f->temporary);
    free(f->path);
    free(f->temporary);
    *f = (tnb_new_file){.fd = -1};
}

tnb_status
tnb_new_file_open(const char *path, tnb_new_file *out, tnb_err *err)
{
    struct stat st;
    *out = (tnb_new_file){.fd = -1, .path = realpath(path, NULL)};
    if (!out->path)
        out->path = strdup(path);
    if (!out->path)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to write '%s'", path);
    tnb_status s = TNB_OK;
    char target[256] = "";
    if (stat(out->path, &st) != 0 && errno == ENOENT &&
        readlink(out->path, target, sizeof target - 1) > 0) {
        /* as cp: what the link would name may be meant to be somewhere else */
        s = tnb_fail(err, TNB_IO, "cannot write '%s': it is a link to '%s', which does not exist",
                     path, target);
        tnb_hint(err, "remove the link, or make the file that it names");
    } else if (stat(out->path, &st) == 0 && !S_ISREG(st.st_mode))
        s = tnb_fail(err, TNB_IO, "cannot write '%s': it is %s, not a regular file", path,
                     S_ISDIR(st.st_mode) ? "a folder" : "a device, pipe or socket");
    else if ((out->fd = base_new_open(AT_FDCWD, out->path, 0666, &out->temporary)) < 0)
        s = io_error("write", path, err);
    if (s != TNB_OK)
        new_file_free(out);
    return s;
}

tnb_status
tnb_new_file_commit(tnb_new_file *f, tnb_err *err)
{
    tnb_status s = TNB_OK;
    int fd = f->fd;
    f->fd = -1;
    tnb_temporary_add(f->temporary); /* a nameless file has a name for a moment */
    if (!base_new_place(AT_FDCWD, fd, f->temporary, f->path))
        s = io_error("write", f->path, err);
    tnb_temporary_forget(f->temporary);
    new_file_free(f);
    return s;
}

void
tnb_new_file_abandon(tnb_new_file *f)
{
    if (f->temporary)
        base_new_drop(AT_FDCWD, f->fd, f->temporary);
    else if (f->fd > 0)
        close(f->fd);
    new_file_free(f);
}

/* ---- writing ---- */

/* A file beyond the process's limit is an error, not the end of the program: the signal, which the
 * system sends to the thread that writes, is held back meanwhile and taken out. */
bool
tnb_write_all(int fd, const void *bytes, size_t n, int64_t at)
{
    const char *p = bytes;
    sigset_t limit, before, pending;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    sigpending(&pending);
    bool ok = true, was_pending = sigismember(&pending, SIGXFSZ);
    while (n && ok) {
        size_t some = n < 1u << 30 ? n : 1u << 30;
        ssize_t done = at < 0 ? write(fd, p, some) : pwrite(fd, p, some, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = ENOSPC;
        ok = done > 0;
        if (!ok)
            break;
        p += done;
        n -= (size_t)done;
        at += at < 0 ? 0 : done;
    }
    int saved = errno;
    if (!ok && saved == EFBIG && !was_pending)
        (void)sigtimedwait(&limit, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return ok;
}

/* ---- buffered ---- */

struct tnb_out {
    tnb_new_file file; /* without `temporary` where the place itself is written */
    bool standard;
    tnb_status failed;
    uint64_t pos; /* bytes given to us */
    size_t pending;
    tnb_err first;
    char buffer[OUT_BUFFER];
};

static tnb_status
out_error(tnb_out *o, const char *what, tnb_err *err)
{
    o->failed = io_error(what, o->file.path, &o->first);
    if (err)
        *err = o->first;
    return o->failed;
}

static void
out_free(tnb_out *o)
{
    if (o->standard)
        o->file.fd = -1;
    tnb_new_file_abandon(&o->file);
    free(o);
}

/* Standard output, a device or a pipe. */
static tnb_status
open_directly(tnb_out *o, const char *path, tnb_err *err)
{
    o->file.path = strdup(o->standard ? "standard output" : path);
    if (!o->file.path)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to write '%s'", path);
    o->file.fd = o->standard ? 1 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return o->file.fd >= 0 ? TNB_OK : out_error(o, "write", err);
}

tnb_status
tnb_out_open(const char *path, tnb_out **out, tnb_err *err)
{
    *out = NULL;
    tnb_out *o = malloc(sizeof *o);
    if (!o)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to write '%s'", path);
    memset(o, 0, offsetof(tnb_out, buffer));
    o->file.fd = -1;
    o->standard = strcmp(path, "-") == 0;
    struct stat st;
    bool directly =
        o->standard || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
    tnb_status s = directly ? open_directly(o, path, err) : tnb_new_file_open(path, &o->file, err);
    if (s != TNB_OK)
        out_free(o);
    else
        *out = o;
    return s;
}

static tnb_status
put(tnb_out *o, const char *p, size_t n, tnb_err *err)
{
    return tnb_write_all(o->file.fd, p, n, -1) ? TNB_OK : out_error(o, "write", err);
}

static tnb_status
flush(tnb_out *o, tnb_err *err)
{
    size_t n = o->pending;
    o->pending = 0;
    return put(o, o->buffer, n, err);
}

static tnb_status
again(const tnb_out *o, tnb_err *err)
{
    if (err)
        *err = o->first;
    return o->failed;
}

tnb_status
tnb_out_write(tnb_out *o, const void *p, size_t n, tnb_err *err)
{
    if (o->failed)
        return again(o, err);
    o->pos += n;
    if (n > sizeof o->buffer - o->pending) {
        TNB_TRY(flush(o, err));
        if (n >= sizeof o->buffer)
            return put(o, p, n, err);
    }
    if (n)
        memcpy(o->buffer + o->pending, p, n);
    o->pending += n;
    return TNB_OK;
}

uint64_t
tnb_out_pos(const tnb_out *o)
{
    return o->pos;
}

tnb_status
tnb_out_align(tnb_out *o, uint64_t align, tnb_err *err)
{
    static const char zeros[256];
    uint64_t left = -o->pos & (align - 1);
    while (left) {
        size_t n = left < sizeof zeros ? (size_t)left : sizeof zeros;
        TNB_TRY(tnb_out_write(o, zeros, n, err));
        left -= n;
    }
    return TNB_OK;
}

tnb_status
tnb_out_patch(tnb_out *o, uint64_t at, const void *p, size_t n, tnb_err *err)
{
    if (o->failed)
        return again(o, err);
    if (!o->file.temporary)
        return tnb_fail(err, TNB_UNSUPPORTED, "'%s' is no regular file, and this format needs one",
                        o->file.path);
    if (at > o->pos || n > o->pos - at)
        return tnb_fail(err, TNB_BOUNDS, "bytes %llu to %llu of '%s' were not written yet",
                        (unsigned long long)at, (unsigned long long)(at + n), o->file.path);
    TNB_TRY(flush(o, err));
    return tnb_write_all(o->file.fd, p, n, (int64_t)at) ? TNB_OK : out_error(o, "write", err);
}

tnb_status
tnb_out_commit(tnb_out *o, tnb_err *err)
{
    if (!o)
        return TNB_OK;
    tnb_status s = o->failed ? again(o, err) : flush(o, err);
    if (s == TNB_OK && o->file.temporary) {
        s = tnb_new_file_commit(&o->file, err);
    } else if (s == TNB_OK && !o->standard) {
        int fd = o->file.fd;
        o->file.fd = -1;
        if (close(fd) != 0)
            s = out_error(o, "write", err);
    }
    out_free(o);
    return s;
}

void
tnb_out_abandon(tnb_out *o)
{
    if (o)
        out_free(o);
}

tnb_status
tnb_write_file(const char *path, const void *p, size_t n, tnb_err *err)
{
    tnb_out *o;
    TNB_TRY(tnb_out_open(path, &o, err));
    if (tnb_out_write(o, p, n, err) != TNB_OK) {
        tnb_status s = o->failed;
        tnb_out_abandon(o);
        return s;
    }
    return tnb_out_commit(o, err);
}
