/* SPDX-License-Identifier: Apache-2.0 */
/* The lazy tuple of weights, as its own files share it. */
#ifndef TENON_RUNTIME_PARAMS_PRIVATE_H
#define TENON_RUNTIME_PARAMS_PRIVATE_H

#include <jansson.h>
#include <sys/stat.h>
#include "internal.h"
#include "tenon/base/file.h"
#include "tenon/rt/params.h"
#include "transform.h"

/* A mapped file. */
typedef struct weights_file {
    tnr_object object;
    char *path;
    int fd;
    tnb_mapping map;
    struct timespec written;
    const char *hash;  /* of its header, as the metadata have it; NULL: a parameter file */
    tnr_value storage; /* over the whole file, where the device uses the host's memory */
} weights_file;

typedef struct weight {
    const char *name;
    tnb_dtype dtype;
    uint32_t ndim;
    int64_t shape[TNB_TNO_MAX_DIMS < 8 ? TNB_TNO_MAX_DIMS : 8];
    uint32_t file;
    uint64_t offset, bytes;
    uint64_t source_bytes; /* in the file; `bytes` where nothing is transformed */
    transform *transform;  /* NULL: none */
    const json_t *how;     /* it is described; while the list is read */
    bool unused;           /* by the artifact's functions: it has no place in the parameter file */
} weight;
enum { WEIGHT_DIMS = sizeof((weight *)0)->shape / sizeof(int64_t) };

typedef struct params {
    tnr_lazy lazy;
    tnb_arena *arena;
    tnr_device *device; /* counted */
    pthread_mutex_t lock;
    weights_file **files; /* room for one more: the parameter file */
    uint32_t n_files;
    weight *list;
    uint64_t mapped, copied;
    tnr_tuple tuple; /* last: its items follow */
} params;

/* A file of weights over an open descriptor, which is the file's from then on, and closed on an error. */
TNB_MUST_CHECK tnb_status
params_map_fd(int fd, const char *path, weights_file **out, tnb_err *err);
/* TNB_IO: a file is not as it was when it was opened. */
TNB_MUST_CHECK tnb_status
params_check_files(const params *p, tnb_err *err);
/* Rows of which one step of making takes about a mebibyte. */
uint64_t
params_step(const weight *w);
/* Makes rows [first, first + n) of a transformed weight; the file's pages for them are then given back. */
void
params_make_rows(const params *p, const weight *w, uint64_t first, uint64_t n, void *out);

/* Finds or makes the parameter file of all weights that are transformed: they then lie there. `conf` may be NULL. Without a cache
 * they stay as they are, to be made in memory, and one warning says so.
 * params.c refers to it weakly: a program with the static library has this and the cache only where it asks for them
 * (docs/embedding.md). */
TNB_MUST_CHECK tnb_status
params_use_file(params *p, const struct tnb_conf *conf, const tnr_params_options *opt,
                tnb_err *err);
void
params_warn_memory(const char *why);

#endif
