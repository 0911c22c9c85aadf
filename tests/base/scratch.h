/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for a test's files, removed at the end. */
#ifndef TESTS_BASE_SCRATCH_H
#define TESTS_BASE_SCRATCH_H

#include "tests/base/harness.h"
#include "tenon/base/file.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[4096];

static int
scratch_remove(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static int
scratch_make(void **state)
{
    (void)state;
    char here[2048];
    umask(022);
    if (!getcwd(here, sizeof here))
        return -1;
    snprintf(scratch, sizeof scratch, "%s/tests-base-XXXXXX", here);
    return mkdtemp(scratch) && chmod(scratch, 0755) == 0 ? 0 : -1;
}

static int
scratch_free(void **state)
{
    (void)state;
    return nftw(scratch, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* "SCRATCH/NAME"; four may be in use at once. */
static const char *
in_scratch(const char *name)
{
    static char paths[4][4400];
    static int at;
    at = (at + 1) % 4;
    snprintf(paths[at], sizeof paths[at], "%s/%s", scratch, name);
    return paths[at];
}

static inline const char *
write_scratch(const char *name, const void *data, size_t n)
{
    tnb_err err;
    const char *path = in_scratch(name);
    if (tnb_write_file(path, data, n, &err) != TNB_OK)
        fail_msg("%s", err.message);
    return path;
}

#endif
