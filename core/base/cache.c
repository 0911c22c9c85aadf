/* SPDX-License-Identifier: Apache-2.0 */
/* Caches on disk.
 *
 * A file is a header (magic, size, key, hash of the content) and the content, so that damage and a
 * file under another's name are noticed when it is read. Files are written beside their place and
 * renamed. When the folder grows beyond its limit, the files unused for longest go.
 */
#include "tenon/base/cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tenon/base/file.h"
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

static const char *
path_of(tnb_arena *a, const tnb_cache *c, const char *key)
{
    return tnb_printf(a, "%s/%s%s", c->dir, key, c->suffix);
}

const void *
tnb_cache_get(tnb_arena *a, const tnb_cache *c, const char *key, size_t *n)
{
    if (!c->dir)
        return NULL;
    const char *path = path_of(a, c, key);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    struct stat st;
    tnb_mapping m = {0};
    const void *out = NULL;
    bool mine = fstat(fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
                (st.st_mode & 022) == 0;
    if (mine && tnb_map_fd(fd, path, 0, &m, NULL) == TNB_OK && m.size > sizeof(header)) {
        header h;
        memcpy(&h, m.data, sizeof h);
        if (h.magic == magic && h.size == m.size - sizeof h) {
            /* what is checked is the copy that is used: nobody changes it meanwhile */
            const void *body = tnb_dup(a, (const char *)m.data + sizeof h, (size_t)h.size);
            header is = {0};
            if (!tnb_arena_failed(a))
                is = header_of(key, body, (size_t)h.size);
            if (memcmp(&is, &h, sizeof h) == 0) {
                *n = (size_t)h.size;
                out = body;
                (void)futimens(fd, NULL); /* used now */
            }
        }
    }
    tnb_unmap(&m);
    close(fd);
    if (!out && mine)
        (void)unlink(path);
    return out;
}

typedef struct entry {
    const char *name;
    struct timespec used;
    uint64_t bytes;
} entry;

static int
older(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Files of the folder that end so, the longest unused first; and their size in all. */
static uint32_t
list(tnb_arena *a, const tnb_cache *c, const char *ending, entry **out, uint64_t *total)
{
    const char **names;
    uint32_t n, k = 0;
    *total = 0;
    if (tnb_list_dir(a, c->dir, ending, &names, &n, NULL) != TNB_OK)
        return 0;
    entry *e = TNB_NEW_N(a, entry, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        struct stat st;
        const char *path = tnb_path_join(a, c->dir, names[i]);
        if (stat(path, &st) != 0)
            continue;
        e[k++] = (entry){path, st.st_mtim, (uint64_t)st.st_size};
        *total += (uint64_t)st.st_size;
    }
    qsort(e, k, sizeof *e, older);
    *out = e;
    return k;
}

static void
evict(tnb_arena *a, const tnb_cache *c)
{
    entry *e;
    uint64_t total;
    uint32_t n = list(a, c, unfinished, &e, &total);
    time_t now = time(NULL);
    for (uint32_t i = 0; i < n && e[i].used.tv_sec < now - ABANDONED_SECONDS; i++)
        (void)unlink(e[i].name);
    n = list(a, c, c->suffix, &e, &total);
    if (total <= c->bytes)
        return;
    for (uint32_t i = 0; i < n && total > c->bytes / 4 * 3; i++) {
        (void)unlink(e[i].name);
        total -= e[i].bytes;
    }
}

tnb_status
tnb_cache_put(tnb_arena *a, const tnb_cache *c, const char *key, const void *p, size_t n,
              tnb_err *err)
{
    if (!c->dir)
        return TNB_OK;
    header h = header_of(key, p, n);
    tnb_out *out;
    TNB_TRY(tnb_out_open(path_of(a, c, key), &out, err));
    tnb_status s = tnb_out_write(out, &h, sizeof h, err);
    if (s == TNB_OK)
        s = tnb_out_write(out, p, n, err);
    if (s != TNB_OK) {
        tnb_out_abandon(out);
        return s;
    }
    TNB_TRY(tnb_out_commit(out, err));
    evict(a, c);
    return TNB_OK;
}

void
tnb_cache_drop(tnb_arena *a, const tnb_cache *c, const char *key)
{
    if (c->dir)
        (void)unlink(path_of(a, c, key));
}
