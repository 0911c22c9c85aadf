/* SPDX-License-Identifier: Apache-2.0 */
/* Caches on disk: one file a thing that was made, named by the hash of what it was made from (its
 * key). A cache may be emptied at any time, and is shared by processes.
 */
#ifndef TENON_BASE_CACHE_H
#define TENON_BASE_CACHE_H

#include "tenon/base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnb_cache {
    const char *dir;    /* NULL: no cache; what follows is then not looked at */
    const char *suffix; /* of its files, as ".kernels": several kinds share the folder */
    uint64_t bytes;     /* above which what was unused for longest goes; 0: 2 GiB */
} tnb_cache;

/* Opens the folder that tnb_cache_dir gives for `wanted` ("": the usual one; NULL: no cache, no
 * error). `suffix` is borrowed, the folder's name lies in the arena. On an error there is no cache
 * (`dir` is NULL), and work goes on without. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_cache_open(tnb_arena *a, const char *wanted, const char *suffix, uint64_t bytes, tnb_cache *out,
               tnb_err *err);
/* What was kept under the key (letters and digits), in the arena; NULL if it is not there. A
 * file that is damaged, lies under another's name, or is no file of this user is removed. */
TNB_EXPORT const void *
tnb_cache_get(tnb_arena *a, const tnb_cache *c, const char *key, size_t *n);
/* Keeps it, then makes room. Does nothing without a cache. `a` is for what it needs meanwhile. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_cache_put(tnb_arena *a, const tnb_cache *c, const char *key, const void *p, size_t n,
              tnb_err *err);
/* Forgets it: the content was right, but is of no use any more. */
TNB_EXPORT void
tnb_cache_drop(tnb_arena *a, const tnb_cache *c, const char *key);

/* Entries too large to be read whole: they are written piece by piece, and mapped. What they hold is not
 * checked here, so that they need not be read; tnb_cache_get does not know them. */

/* A descriptor to read the entry with, the caller's to close; -1: there is none. What is no regular file of this user's is
 * removed. */
TNB_EXPORT int
tnb_cache_open_file(tnb_arena *a, const tnb_cache *c, const char *key);
typedef struct tnb_cache_file {
    int fd;  /* to write with; below 0: none is begun */
    int dir; /* the cache's own, as what follows */
    char *temporary;
} tnb_cache_file;
/* Begins one of `bytes` bytes. TNB_BOUNDS: the cache has no room for it under its limit; TNB_IO: no cache, it cannot be written
 * into, or its disk is full. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_cache_new_file(tnb_arena *a, const tnb_cache *c, const char *key, uint64_t bytes,
                   tnb_cache_file *out, tnb_err *err);
/* Gives it its place, then makes room; it is ended in any case. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_cache_keep_file(tnb_arena *a, const tnb_cache *c, const char *key, tnb_cache_file *f,
                    tnb_err *err);
/* Removes it unfinished. Nothing where none is begun. */
TNB_EXPORT void
tnb_cache_abandon_file(tnb_cache_file *f);

#ifdef __cplusplus
}
#endif
#endif
