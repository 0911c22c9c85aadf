/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files beside their place; the rename makes them visible whole. */
#include "config.h"
#include "tenon/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUT_BUFFER = 256 << 10 };

struct tnb_out {
    int fd;
    bool direct, standard;
    tnb_status failed;
    uint64_t pos; /* bytes given to us */
    uint64_t flushed;
    size_t pending;
    char *path, *temporary;
    tnb_err first;
    char buffer[OUT_BUFFER];
};

static tnb_status
out_error(tnb_out *o, const char *what, tnb_err *err)
{
    char reason[128];
    const char *text = strerror_r(errno, reason, sizeof reason);
    o->failed = tnb_fail(&o->first, TNB_IO, "cannot %s '%s': %s", what, o->path, text);
    if (errno == ENOSPC || errno == EDQUOT)
        tnb_hint(&o->first, "free some space on that file system");
    if (err)
        *err = o->first;
    return o->failed;
}

static void
out_free(tnb_out *o)
{
    if (o->fd >= 0 && !o->standard)
        close(o->fd);
    free(o->path);
    free(o->temporary);
    free(o);
}

/* A new file beside `path`, with the mode that creating `path` itself would give. */
static bool
open_beside(tnb_out *o)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned counter;
    size_t n = strlen(o->path) + 48;
    o->temporary = malloc(n);
    if (!o->temporary)
        return false;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        unsigned serial = counter++;
        pthread_mutex_unlock(&lock);
        snprintf(o->temporary, n, "%s.%ld.%u.tmp", o->path, (long)getpid(), serial);
        o->fd = open(o->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (o->fd >= 0 || errno != EEXIST)
            break;
    }
    return o->fd >= 0;
}

tnb_status
tnb_out_open(const char *path, tnb_out **out, tnb_err *err)
{
    *out = NULL;
    tnb_out *o = malloc(sizeof *o);
    if (!o)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to write '%s'", path);
    memset(o, 0, offsetof(tnb_out, buffer));
    o->fd = -1;
    o->standard = strcmp(path, "-") == 0;
    /* Where the place is a link, what it leads to is replaced, not the link. */
    o->path = o->standard ? NULL : realpath(path, NULL);
    if (!o->path)
        o->path = strdup(o->standard ? "standard output" : path);
    if (!o->path) {
        free(o);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to write '%s'", path);
    }
    struct stat st;
    bool ok = true;
    if (o->standard) {
        o->fd = 1;
        o->direct = true;
    } else if (stat(o->path, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        ok = false;
    } else if (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode)) {
        o->direct = true;
        o->fd = open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        ok = o->fd >= 0;
    } else {
        ok = open_beside(o);
    }
    if (!ok) {
        tnb_status s = out_error(o, "write", err);
        out_free(o);
        return s;
    }
    *out = o;
    return TNB_OK;
}

static tnb_status
put(tnb_out *o, const char *p, size_t n, tnb_err *err)
{
    while (n) {
        ssize_t done = write(o->fd, p, n < (1u << 30) ? n : 1u << 30);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return out_error(o, "write", err);
        p += done;
        n -= (size_t)done;
        o->flushed += (uint64_t)done;
    }
    return TNB_OK;
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
    if (o->direct)
        return tnb_fail(err, TNB_UNSUPPORTED, "'%s' is no regular file, and this format needs one",
                        o->path);
    if (at > o->pos || n > o->pos - at)
        return tnb_fail(err, TNB_BOUNDS, "bytes %llu to %llu of '%s' were not written yet",
                        (unsigned long long)at, (unsigned long long)(at + n), o->path);
    TNB_TRY(flush(o, err));
    const char *from = p;
    while (n) {
        ssize_t done = pwrite(o->fd, from, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return out_error(o, "write", err);
        from += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return TNB_OK;
}

tnb_status
tnb_out_commit(tnb_out *o, tnb_err *err)
{
    if (!o)
        return TNB_OK;
    tnb_status s = o->failed ? again(o, err) : flush(o, err);
    if (s == TNB_OK && !o->standard) {
        int fd = o->fd;
        o->fd = -1;
        if (close(fd) != 0)
            s = out_error(o, "write", err);
    }
    if (s == TNB_OK && !o->direct && rename(o->temporary, o->path) != 0)
        s = out_error(o, "replace", err);
    if (s != TNB_OK && o->temporary)
        unlink(o->temporary);
    out_free(o);
    return s;
}

void
tnb_out_abandon(tnb_out *o)
{
    if (!o)
        return;
    if (o->temporary)
        unlink(o->temporary);
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
