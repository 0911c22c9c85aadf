/* SPDX-License-Identifier: Apache-2.0 */
/* Caches on disk.
 *
 * A file is a header (magic, size, key, hash of the content) and the content, so that damage and a
 * file under another's name are noticed when it is read. Files are written beside their place and
 * renamed, by names within the open folder, and no link is followed. When the folder grows beyond its limit, the files unused for longest go.
 */
#include "config.h"
#include "tenon/base/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "new_file.h"
#include "tenon/base/hash.h"

static const uint64_t usual_bytes = 2048ull << 20;
static const char unfinished[] = ".tmp";
enum { ABANDONED_SECONDS = 3600 }; /* after which what a killed process left goes */

typedef struct header {
    uint64_t magic, size;
    tnb_hash128 key, hash;
} header;
static const uint64_t magic = 0x324b504354444e54u; /* "TNDTCPK2" */

static header
header_of(const char *key, const void *content, size_t n)
{
    return (header){.magic = magic,
                    .size = n,
                    .key = tnb_hash_128(key, strlen(key)),
                    .hash = tnb_hash_128(content, n)};
}

tnb_status
tnb_cache_open(tnb_arena *a, const char *wanted, const char *suffix, uint64_t bytes, tnb_cache *out,
               tnb_err *err)
{
    *out = (tnb_cache){.suffix = suffix, .bytes = bytes ? bytes : usual_bytes};
    if (!wanted)
        return TNB_OK;
    tnb_status st = tnb_cache_dir(a, *wanted ? wanted : NULL, &out->dir, err);
    if (st != TNB_OK)
        out->dir = NULL;
    return st;
}

/* ---- the folder ---- */

/* Opened for each use: whoever may have changed it since, it is still this user's alone. -1: no. */
static int
open_dir(const tnb_cache *c)
{
    struct stat st;
    int dir = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 022) == 0)
        return dir;
    if (dir >= 0)
        close(dir);
    errno = EACCES;
    return -1;
}

static const char *
name_of(tnb_arena *a, const tnb_cache *c, const char *key)
{
    return tnb_printf(a, "%s%s", key, c->suffix);
}

/* ---- reading ---- */

/* What the open entry holds, if it is that of the key. What is checked is the copy that is used:
 * nobody changes it meanwhile. */
static const void *
read_entry(tnb_arena *a, int fd, const char *key, size_t size, size_t *n)
{
    header h, is = {0};
    if (size <= sizeof h || pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || h.magic != magic ||
        h.size != size - sizeof h)
        return NULL;
    char *body = tnb_alloc(a, (size_t)h.size);
    if (tnb_arena_failed(a))
        return NULL;
    for (size_t at = 0; at < h.size;) {
        ssize_t got = pread(fd, body + at, (size_t)h.size - at, (off_t)(sizeof h + at));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return NULL;
        at += (size_t)got;
    }
    is = header_of(key, body, (size_t)h.size);
    *n = (size_t)h.size;
    return memcmp(&is, &h, sizeof h) == 0 ? body : NULL;
}

/* -1: no, or no entry; *has_any says whether something lies there. */
static int
open_entry(int dir, const char *name, struct stat *st, bool *has_any)
{
    /* not to wait for the other end of a pipe */
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    *has_any = fd >= 0 || errno != ENOENT;
    if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
        (st->st_uid == geteuid() || st->st_uid == 0) && (st->st_mode & 022) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

const void *
tnb_cache_get(tnb_arena *a, const tnb_cache *c, const char *key, size_t *n)
{
    int dir = c->dir ? open_dir(c) : -1;
    if (dir < 0)
        return NULL;
    const char *name = name_of(a, c, key);
    const void *out = NULL;
    struct stat st;
    bool has_any;
    int fd = open_entry(dir, name, &st, &has_any);
    if (fd >= 0)
        out = read_entry(a, fd, key, (size_t)st.st_size, n);
    if (out)
        (void)futimens(fd, NULL); /* used now */
    else if (has_any)
        (void)unlinkat(dir, name, 0); /* damaged, or no entry: a link, a pipe, another's */
    if (fd >= 0)
        close(fd);
    close(dir);
    return out;
}

int
tnb_cache_open_file(tnb_arena *a, const tnb_cache *c, const char *key)
{
    /* when it was written is the caller's mark; when it was read is told by the other time */
    static const struct timespec read_now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    int dir = c->dir ? open_dir(c) : -1;
    if (dir < 0)
        return -1;
    const char *name = name_of(a, c, key);
    struct stat st;
    bool has_any;
    int fd = open_entry(dir, name, &st, &has_any);
    if (fd >= 0)
        (void)futimens(fd, read_now);
    else if (has_any)
        (void)unlinkat(dir, name, 0);
    close(dir);
    return fd;
}

/* ---- making room ---- */

typedef struct entry {
    const char *name;
    struct timespec used;
    uint64_t bytes;
} entry;

static int
compare_times(struct timespec x, struct timespec y)
{
    if (x.tv_sec != y.tv_sec)
        return x.tv_sec < y.tv_sec ? -1 : 1;
    return (x.tv_nsec > y.tv_nsec) - (x.tv_nsec < y.tv_nsec);
}

static int
older(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = compare_times(x->used, y->used);
    return order ? order : strcmp(x->name, y->name);
}

/* Files of the folder that end so, the longest unused first; and their size in all. */
static uint32_t
list(tnb_arena *a, const tnb_cache *c, int dir, const char *ending, entry **out, uint64_t *total)
{
    const char **names;
    uint32_t n, k = 0;
    *total = 0;
    if (tnb_list_dir(a, c->dir, ending, &names, &n, NULL) != TNB_OK)
        return 0;
    entry *e = TNB_NEW_N(a, entry, n + 1);
    for (uint32_t i = 0; i < n && !tnb_arena_failed(a); i++) {
        struct stat st;
        if (fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool read = compare_times(st.st_atim, st.st_mtim) > 0;
        e[k++] = (entry){names[i], read ? st.st_atim : st.st_mtim, (uint64_t)st.st_size};
        *total += (uint64_t)st.st_size;
    }
    qsort(e, k, sizeof *e, older);
    *out = e;
    return k;
}

static void
evict(tnb_arena *a, const tnb_cache *c, int dir)
{
    entry *e;
    uint64_t total;
    uint32_t n = list(a, c, dir, unfinished, &e, &total);
    time_t now = time(NULL);
    for (uint32_t i = 0; i < n && e[i].used.tv_sec < now - ABANDONED_SECONDS; i++)
        (void)unlinkat(dir, e[i].name, 0);
    n = list(a, c, dir, c->suffix, &e, &total);
    if (total <= c->bytes)
        return;
    for (uint32_t i = 0; i < n && total > c->bytes / 4 * 3; i++) {
        (void)unlinkat(dir, e[i].name, 0);
        total -= e[i].bytes;
    }
}

/* ---- writing ---- */

static tnb_status
cannot_keep(const tnb_cache *c, tnb_err *err)
{
    char reason[128];
    return tnb_fail(err, TNB_IO, "cannot write into the cache '%s': %s", c->dir,
                    strerror_r(errno, reason, sizeof reason));
}

tnb_status
tnb_cache_put(tnb_arena *a, const tnb_cache *c, const char *key, const void *p, size_t n,
              tnb_err *err)
{
    if (!c->dir)
        return TNB_OK;
    header h = header_of(key, p, n);
    const char *name = name_of(a, c, key);
    char *temporary = NULL;
    tnb_status st = TNB_OK;
    int dir = open_dir(c), fd = dir >= 0 ? base_new_open(dir, name, 0600, &temporary) : -1;
    if (fd < 0 || fchmod(fd, 0600) != 0 || !tnb_write_all(fd, &h, sizeof h, -1) ||
        !tnb_write_all(fd, p, n, -1)) {
        st = cannot_keep(c, err);
        if (temporary)
            base_new_drop(dir, fd, temporary);
    } else if (!base_new_place(dir, fd, temporary, name)) {
        st = cannot_keep(c, err);
    } else {
        evict(a, c, dir);
    }
    free(temporary);
    if (dir >= 0)
        close(dir);
    return st;
}

/* Room on the disk, where the file system can tell beforehand. */
static bool
reserve(int fd, uint64_t bytes)
{
    return fallocate(fd, 0, 0, (off_t)bytes) == 0 || errno == EOPNOTSUPP || errno == ENOSYS;
}

tnb_status
tnb_cache_new_file(tnb_arena *a, const tnb_cache *c, const char *key, uint64_t bytes,
                   tnb_cache_file *out, tnb_err *err)
{
    *out = (tnb_cache_file){.fd = -1, .dir = -1};
    if (!c->dir)
        return tnb_fail(err, TNB_IO, "there is no cache");
    if (bytes > c->bytes / 4 * 3 || bytes > INT64_MAX)
        return tnb_fail(err, TNB_BOUNDS,
                        "the cache '%s' has no room for %llu MiB (its limit is %llu MiB)", c->dir,
                        (unsigned long long)(bytes >> 20), (unsigned long long)(c->bytes >> 20));
    out->dir = open_dir(c);
    out->fd =
        out->dir >= 0 ? base_new_open(out->dir, name_of(a, c, key), 0600, &out->temporary) : -1;
    if (out->fd >= 0 && fchmod(out->fd, 0600) == 0 && reserve(out->fd, bytes))
        return TNB_OK;
    tnb_status st = cannot_keep(c, err);
    tnb_cache_abandon_file(out);
    return st;
}

tnb_status
tnb_cache_keep_file(tnb_arena *a, const tnb_cache *c, const char *key, tnb_cache_file *f,
                    tnb_err *err)
{
    bool placed = base_new_place(f->dir, f->fd, f->temporary, name_of(a, c, key));
    tnb_status st = placed ? TNB_OK : cannot_keep(c, err);
    f->fd = -1;
    if (placed)
        evict(a, c, f->dir);
    tnb_cache_abandon_file(f);
    return st;
}

void
tnb_cache_abandon_file(tnb_cache_file *f)
{
    if (f->fd >= 0)
        base_new_drop(f->dir, f->fd, f->temporary);
    free(f->temporary);
    if (f->dir >= 0)
        close(f->dir);
    *f = (tnb_cache_file){.fd = -1, .dir = -1};
}

void
tnb_cache_drop(tnb_arena *a, const tnb_cache *c, const char *key)
{
    int dir = c->dir ? open_dir(c) : -1;
    if (dir < 0)
        return;
    (void)unlinkat(dir, name_of(a, c, key), 0);
    close(dir);
}
