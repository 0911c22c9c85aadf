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

#ifdef __cplusplus
}
#endif
#endif
