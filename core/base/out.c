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

static tnb_status
io_error(const char *what, const char *path, tnb_err *err)
{
    int e = errno;
    char reason[128];
    tnb_fail(err, TNB_IO, "cannot %s '%s': %s", what, path, strerror_r(e, reason, sizeof reason));
    if (e == ENOSPC || e == EDQUOT)
        tnb_hint(err, "free some space on that file system");
    return TNB_IO;
}

/* ---- beside a place ---- */

/* A new file beside `path`, with the mode that creating `path` itself would give. */
static bool
open_beside(tnb_new_file *f)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned counter;
    size_t n = strlen(f->path) + 48;
    f->temporary = malloc(n);
    if (!f->temporary)
        return false;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        unsigned serial = counter++;
        pthread_mutex_unlock(&lock);
        snprintf(f->temporary, n, "%s.%ld.%u.tmp", f->path, (long)getpid(), serial);
        f->fd = open(f->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (f->fd >= 0 || errno != EEXIST)
            break;
    }
    if (f->fd >= 0)
        tnb_temporary_add(f->temporary);
    return f->fd >= 0;
}

static void
new_file_free(tnb_new_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
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
    if (stat(out->path, &st) == 0 && !S_ISREG(st.st_mode))
        s = tnb_fail(err, TNB_IO, "cannot write '%s': it is %s, not a regular file", path,
                     S_ISDIR(st.st_mode) ? "a folder" : "a device, pipe or socket");
    else if (!open_beside(out))
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
    if (close(fd) != 0)
        s = io_error("write", f->path, err);
    else if (rename(f->temporary, f->path) != 0)
        s = io_error("replace", f->path, err);
    if (s != TNB_OK)
        unlink(f->temporary);
    new_file_free(f);
    return s;
}

void
tnb_new_file_abandon(tnb_new_file *f)
{
    if (f->temporary)
        unlink(f->temporary);
    new_file_free(f);
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
    while (n) {
        ssize_t done = write(o->file.fd, p, n < (1u << 30) ? n : 1u << 30);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return out_error(o, "write", err);
        p += done;
        n -= (size_t)done;
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
    if (!o->file.temporary)
        return tnb_fail(err, TNB_UNSUPPORTED, "'%s' is no regular file, and this format needs one",
                        o->file.path);
    if (at > o->pos || n > o->pos - at)
        return tnb_fail(err, TNB_BOUNDS, "bytes %llu to %llu of '%s' were not written yet",
                        (unsigned long long)at, (unsigned long long)(at + n), o->file.path);
    TNB_TRY(flush(o, err));
    const char *from = p;
    while (n) {
        ssize_t done = pwrite(o->file.fd, from, n, (off_t)at);
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
