/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of compiled kernels: one file a shared object, named by the hash of what it is made
 * from.
 *
 * A file is a header (magic, size, hash of the content) and the content, so that damage is noticed
 * when it is read. Files are written beside their place and renamed. When the folder grows beyond
 * its limit, the files unused for longest go. It may be emptied at any time.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpu.h"
#include "tenon/base/file.h"
#include "tenon/base/hash.h"

static const uint64_t limit_bytes = 1024ull << 20;
static const char suffix[] = ".kernels";

typedef struct header {
    uint64_t magic, size;
    tnb_hash128 hash;
} header;
static const uint64_t magic = 0x314b504354444e54u; /* "TNDTCPK1" */

void
cpu_cache_open(tn_ctx *ctx, const char *wanted, cpu_cache *out)
{
    *out = (cpu_cache){0};
    if (!wanted)
        return;
    tnb_err err = {0};
    /* an empty text stands for the usual place */
    if (tnb_cache_dir(tn_arena(ctx), *wanted ? wanted : NULL, &out->dir, &err) != TNB_OK) {
        tn_warn(ctx, 0, "compiled kernels are not kept: %s", err.message);
        out->dir = NULL;
    }
}

static const char *
path_of(tn_ctx *ctx, const cpu_cache *c, const char *key)
{
    return tnb_printf(tn_arena(ctx), "%s/%s%s", c->dir, key, suffix);
}

const void *
cpu_cache_get(tn_ctx *ctx, const cpu_cache *c, const char *key, size_t *n)
{
    if (!c->dir)
        return NULL;
    const char *path = path_of(ctx, c, key);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    struct stat st;
    tnb_mapping m = {0};
    const void *out = NULL;
    bool mine = fstat(fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
                (st.st_mode & 022) == 0;
    if (mine && tnb_map_fd(fd, path, limit_bytes, &m, NULL) == TNB_OK && m.size > sizeof(header)) {
        header h;
        memcpy(&h, m.data, sizeof h);
        if (h.magic == magic && h.size == m.size - sizeof h) {
            /* what is checked is the copy that is used: nobody changes it meanwhile */
            const void *body =
                tnb_dup(tn_arena(ctx), (const char *)m.data + sizeof h, (size_t)h.size);
            tnb_hash128 is = tnb_hash_128(body, (size_t)h.size);
            if (is.lo == h.hash.lo && is.hi == h.hash.hi) {
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

static void
evict(tn_ctx *ctx, const cpu_cache *c)
{
    const char **names;
    uint32_t n;
    tnb_arena *a = tn_scratch(ctx);
    if (tnb_list_dir(a, c->dir, suffix, &names, &n, NULL) != TNB_OK)
        return;
    entry *e = TNB_NEW_N(a, entry, n + 1);
    uint64_t total = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct stat st;
        const char *path = tnb_path_join(a, c->dir, names[i]);
        if (stat(path, &st) != 0)
            continue;
        e[k++] = (entry){path, st.st_mtim, (uint64_t)st.st_size};
        total += (uint64_t)st.st_size;
    }
    if (total <= limit_bytes)
        return;
    qsort(e, k, sizeof *e, older);
    for (uint32_t i = 0; i < k && total > limit_bytes / 4 * 3; i++) {
        (void)unlink(e[i].name);
        total -= e[i].bytes;
    }
}

void
cpu_cache_put(tn_ctx *ctx, const cpu_cache *c, const char *key, const void *p, size_t n)
{
    if (!c->dir)
        return;
    header h = {magic, n, tnb_hash_128(p, n)};
    const char *path = path_of(ctx, c, key);
    char *temporary = tnb_printf(tn_arena(ctx), "%s/.%s.XXXXXX", c->dir, key);
    int fd = mkostemp(temporary, O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, &h, sizeof h) == (ssize_t)sizeof h;
    for (size_t at = 0; ok && at < n;) {
        ssize_t w = write(fd, (const char *)p + at, n - at);
        ok = w > 0;
        at += ok ? (size_t)w : 0;
    }
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    if (ok && rename(temporary, path) == 0) {
        evict(ctx, c);
        return;
    }
    if (fd >= 0)
        (void)unlink(temporary);
    tn_warn(ctx, 0, "compiled kernels are not kept: cannot write to %s", c->dir);
}
