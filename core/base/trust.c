/* SPDX-License-Identifier: Apache-2.0 */
/* Which files may be loaded as code or decide what is: by owner and permission of the file and of
 * every folder above it, up to one that this library lies in too (who can write there can replace
 * Tenon itself).
 */
#include "config.h"
#include "conf_private.h"
#include "tenon/base/file.h"
#include "tenon/base/plugin.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct judge {
    const uint32_t *owners;
    uint32_t n_owners;
    uid_t user, host; /* the effective user; the owner of this library's folder */
    bool has_host;
    bool any_owner;   /* only who else may write counts */
    const char *path; /* what is being judged on the whole, for messages */
    tnb_err *err;
} judge;

static bool
accepted(const judge *j, uid_t owner)
{
    if (j->any_owner || owner == 0 || owner == j->user || (j->has_host && owner == j->host))
        return true;
    for (uint32_t i = 0; i < j->n_owners; i++)
        if (j->owners[i] == owner)
            return true;
    return false;
}

static tnb_status
check(const judge *j, const char *what, const struct stat *st)
{
    bool folder = S_ISDIR(st->st_mode), same = strcmp(what, j->path) == 0;
    const char *because = folder ? "its folder" : "the file";
    if (!accepted(j, st->st_uid)) {
        tnb_fail(j->err, TNB_UNTRUSTED, "'%s' is not trusted: %s%s%s belongs to user %u", j->path,
                 because, same ? "" : " ", same ? "" : what, (unsigned)st->st_uid);
        tnb_hint(j->err, "chown %u '%s', or add %u to trust_owners in the site's tenon.ini",
                 (unsigned)j->user, what, (unsigned)st->st_uid);
        return TNB_UNTRUSTED;
    }
    if (folder && (st->st_mode & S_ISVTX) && st->st_uid == 0)
        return TNB_OK;
    bool own_group = st->st_gid == st->st_uid && (j->any_owner || st->st_uid == j->user);
    bool group = (st->st_mode & S_IWGRP) && !own_group;
    if (group || (st->st_mode & S_IWOTH)) {
        tnb_fail(j->err, TNB_UNTRUSTED, "'%s' is not trusted: %s may write to %s%s%s", j->path,
                 st->st_mode & S_IWOTH ? "everybody" : "its group", because, same ? "" : " ",
                 same ? "" : what);
        tnb_hint(j->err, "chmod %s '%s'", st->st_mode & S_IWOTH ? "go-w" : "g-w", what);
        return TNB_UNTRUSTED;
    }
    return TNB_OK;
}

/* True when `folder` is `below` or one of the folders above it. */
static bool
contains(const char *folder, const char *below)
{
    size_t n = strlen(folder);
    return strcmp(folder, "/") == 0 ||
           (strncmp(folder, below, n) == 0 && (below[n] == '/' || below[n] == 0));
}

static tnb_status
check_folders(const judge *j, char *real)
{
    const tnb_places *places = tnb_places_get();
    struct stat st;
    for (char *slash = strrchr(real, '/'); slash; slash = strrchr(real, '/')) {
        *slash = 0;
        const char *folder = *real ? real : "/";
        if (stat(folder, &st) != 0)
            return tnb_fail(j->err, TNB_IO, "cannot examine '%s'", folder);
        TNB_TRY(check(j, folder, &st));
        if (places && contains(folder, places->library))
            return TNB_OK;
    }
    return TNB_OK;
}

static tnb_status
judge_fd(judge j, int fd, const char *path, tnb_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return tnb_fail(err, TNB_UNTRUSTED, "'%s' is not a regular file", path);
    TNB_TRY(check(&j, path, &st));
    /* The folders of the file that is open, whatever links led to it. */
    char link[64], real[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, real, sizeof real - 1);
    if (n > 0 && real[0] == '/') {
        real[n] = 0;
        return check_folders(&j, real);
    }
    char *resolved = realpath(path, NULL);
    if (!resolved)
        return tnb_fail(err, TNB_UNTRUSTED, "'%s' cannot be resolved", path);
    tnb_status s = check_folders(&j, resolved);
    free(resolved);
    return s;
}

tnb_status
tnb_trust_fd(int fd, const char *path, const uint32_t *owners, uint32_t n_owners, tnb_err *err)
{
    judge j = {.owners = owners, .n_owners = n_owners, .user = geteuid(), .path = path, .err = err};
    struct stat st;
    const tnb_places *places = tnb_places_get();
    if (places && stat(places->library, &st) == 0) {
        j.host = st.st_uid;
        j.has_host = true;
    }
    return judge_fd(j, fd, path, err);
}

tnb_status
tnb_unshared_fd(int fd, const char *path, tnb_err *err)
{
    return judge_fd((judge){.any_owner = true, .user = geteuid(), .path = path, .err = err}, fd,
                    path, err);
}
