/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files: mapped, whole, and strictly below a folder. */
#include "config.h"
#include "tenon/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A fault of the system, as a message that names file and reason. */
static tnb_status
io_error(tnb_err *err, const char *what, const char *path)
{
    int e = errno;
    char reason[128];
    tnb_fail(err, e == ENOMEM ? TNB_NO_MEMORY : TNB_IO, "cannot %s '%s': %s", what, path,
             strerror_r(e, reason, sizeof reason));
    if (e == EACCES || e == EPERM)
        tnb_hint(err, "check the permissions of the file and of the folders above it");
    return e == ENOMEM ? TNB_NO_MEMORY : TNB_IO;
}

static tnb_status
too_large(tnb_err *err, const char *path, uint64_t size, uint64_t max)
{
    return tnb_fail(err, TNB_BOUNDS, "'%s' has %llu bytes; at most %llu are accepted here", path,
                    (unsigned long long)size, (unsigned long long)max);
}

/* A file of no bytes. One of the kernel's has no size and gives bytes all the same, or an error. */
static tnb_status
map_empty(int fd, const char *name, tnb_mapping *out, tnb_err *err)
{
    char byte;
    ssize_t n = pread(fd, &byte, 1, 0);
    if (n < 0)
        return io_error(err, "read", name);
    if (n > 0) {
        tnb_fail(err, TNB_IO,
                 "'%s' has bytes but no size, as the kernel's own files: it cannot be mapped",
                 name);
        tnb_hint(err, "copy it, and name the copy");
        return TNB_IO;
    }
    out->data = "";
    return TNB_OK;
}

tnb_status
tnb_map_fd(int fd, const char *name, uint64_t max, tnb_mapping *out, tnb_err *err)
{
    struct stat st;
    *out = (tnb_mapping){0};
    if (fstat(fd, &st) != 0)
        return io_error(err, "examine", name);
    if (!S_ISREG(st.st_mode))
        return tnb_fail(err, TNB_IO, "'%s' is %s, not a regular file", name,
                        S_ISDIR(st.st_mode) ? "a folder" : "a device, pipe or socket");
    uint64_t size = (uint64_t)st.st_size;
    if ((max && size > max) || size > SIZE_MAX)
        return too_large(err, name, size, max ? max : SIZE_MAX);
    if (size == 0)
        return map_empty(fd, name, out, err);
    void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return io_error(err, "map", name);
    out->data = p;
    out->size = size;
    return TNB_OK;
}

tnb_status
tnb_map_file(const char *path, uint64_t max, tnb_mapping *out, tnb_err *err)
{
    *out = (tnb_mapping){0};
    /* Not to wait for the other end of a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return io_error(err, "open", path);
    tnb_status s = tnb_map_fd(fd, path, max, out, err);
    close(fd);
    return s;
}

tnb_status
tnb_map_below(const char *dir, const char *relative, uint64_t max, tnb_mapping *out, tnb_err *err)
{
    int fd;
    *out = (tnb_mapping){0};
    TNB_TRY(tnb_open_below(dir, relative, &fd, err));
    tnb_status s = tnb_map_fd(fd, relative, max, out, err);
    close(fd);
    return s;
}

void
tnb_unmap(tnb_mapping *m)
{
    if (m && m->size)
        munmap((void *)(uintptr_t)m->data, (size_t)m->size);
    if (m)
        *m = (tnb_mapping){0};
}

/* Reads up to `max` bytes and finds out whether there are more. */
static tnb_status
read_all(int fd, const char *path, uint64_t max, size_t first, char **data, size_t *n, tnb_err *err)
{
    size_t cap = first + 2, have = 0;
    char *p = malloc(cap);
    for (;;) {
        if (!p)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for the %zu bytes of '%s'", cap, path);
        ssize_t got = read(fd, p + have, cap - 1 - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            io_error(err, "read", path);
            free(p);
            return TNB_IO;
        }
        have += (size_t)got;
        if (have > max) {
            free(p);
            return tnb_fail(err, TNB_BOUNDS,
                            "'%s' has more than the %llu bytes that are accepted here", path,
                            (unsigned long long)max);
        }
        if (got == 0)
            break;
        if (have == cap - 1) {
            char *bigger = realloc(p, cap * 2);
            if (!bigger)
                free(p);
            else
                cap *= 2;
            p = bigger;
        }
    }
    p[have] = 0;
    *data = p;
    *n = have;
    return TNB_OK;
}

tnb_status
tnb_read_file(const char *path, uint64_t max, char **data, size_t *n, tnb_err *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct stat st;
    *data = NULL;
    *n = 0;
    if (!max)
        max = (uint64_t)1 << 30;
    int fd = standard ? 0 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return io_error(err, "open", path);
    tnb_status s;
    size_t first = 4096;
    if (fstat(fd, &st) != 0)
        s = io_error(err, "examine", path);
    else if (S_ISDIR(st.st_mode))
        s = tnb_fail(err, TNB_IO, "'%s' is a folder, not a file", path);
    else if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > max)
        s = too_large(err, path, (uint64_t)st.st_size, max);
    else {
        if (S_ISREG(st.st_mode) && (size_t)st.st_size > first)
            first = (size_t)st.st_size;
        s = read_all(fd, standard ? "standard input" : path, max, first, data, n, err);
    }
    if (!standard)
        close(fd);
    return s;
}

static tnb_status
refused(tnb_err *err, const char *dir, const char *relative, const char *why)
{
    return tnb_fail(err, TNB_UNTRUSTED,
                    "'%s' is refused: it %s, and only files inside '%s' are read", relative, why,
                    dir);
}

/* ORDER: each folder is opened from the one above without following a link, so that nothing changed
 * meanwhile leads out. */
tnb_status
tnb_open_below(const char *dir, const char *relative, int *fd, tnb_err *err)
{
    *fd = -1;
    if (!*relative)
        return refused(err, dir, relative, "is empty");
    if (*relative == '/')
        return refused(err, dir, relative, "is an absolute path");
    int at = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return io_error(err, "open folder", *dir ? dir : ".");
    const char *p = relative;
    while (*p) {
        char part[256];
        size_t n = strcspn(p, "/");
        const char *next = p + n + strspn(p + n, "/");
        bool last = !p[n];
        tnb_status s = TNB_OK;
        if (n >= sizeof part)
            s = refused(err, dir, relative, "has a component of more than 255 bytes");
        else if (n == 2 && p[0] == '.' && p[1] == '.')
            s = refused(err, dir, relative, "contains '..'");
        else if (!last && !*next)
            s = refused(err, dir, relative, "names a folder");
        if (s == TNB_OK && n == 1 && *p == '.' && !last) {
            p = next;
            continue;
        }
        if (s == TNB_OK) {
            memcpy(part, p, n);
            part[n] = 0;
            int deeper = openat(at, part,
                                O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK |
                                    (last ? 0 : O_DIRECTORY));
            struct stat st;
            if (deeper < 0 && (errno == ELOOP || errno == ENOTDIR) &&
                fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
                s = refused(err, dir, relative,
                            "leads through a symbolic link (put a copy of the file in its place)");
            else if (deeper < 0)
                s = io_error(err, "open", relative);
            close(at);
            at = deeper;
        }
        if (s != TNB_OK) {
            if (at >= 0)
                close(at);
            return s;
        }
        p = next;
    }
    *fd = at;
    return TNB_OK;
}
