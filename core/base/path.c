/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and folders. */
#include "config.h"
#include "tenon/base/file.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

bool
tnb_ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && memcmp(s + n - k, suffix, k) == 0;
}

static int
by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tnb_status
tnb_list_dir(tnb_arena *a, const char *dir, const char *suffix, const char ***names, uint32_t *n,
             tnb_err *err)
{
    *names = NULL;
    *n = 0;
    char reason[128];
    DIR *d = opendir(dir);
    if (!d)
        return tnb_fail(err, errno == ENOENT ? TNB_NOT_FOUND : TNB_IO,
                        "cannot open folder '%s': %s", dir,
                        strerror_r(errno, reason, sizeof reason));
    TNB_VEC(const char *) v = {0};
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e)
            break;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            (suffix && !tnb_ends_with(e->d_name, suffix)))
            continue;
        TNB_PUSH(a, v, tnb_strdup(a, e->d_name));
    }
    int e = errno;
    closedir(d);
    if (e)
        return tnb_fail(err, TNB_IO, "cannot read folder '%s': %s", dir,
                        strerror_r(e, reason, sizeof reason));
    if (tnb_arena_failed(a))
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the names in '%s'", dir);
    if (v.n)
        qsort(v.at, v.n, sizeof *v.at, by_bytes);
    *names = v.at;
    *n = v.n;
    return TNB_OK;
}

tnb_status
tnb_make_dirs(const char *path, unsigned mode, tnb_err *err)
{
    size_t n = strlen(path);
    char *p = malloc(n + 1);
    if (!p)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to make folder '%s'", path);
    memcpy(p, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (p[i] != '/' && p[i] != 0)
            continue;
        char c = p[i];
        p[i] = 0;
        struct stat st;
        int why = mkdir(p, (mode_t)mode) != 0 ? errno : 0;
        bool there = why && stat(p, &st) == 0;
        if (why && !(there && S_ISDIR(st.st_mode))) {
            char reason[128];
            tnb_status s = tnb_fail(err, TNB_IO, "cannot make folder '%s': %s", p,
                                    there ? "it is there and no folder"
                                          : strerror_r(why, reason, sizeof reason));
            free(p);
            return s;
        }
        p[i] = c;
    }
    free(p);
    return TNB_OK;
}

char *
tnb_path_join(tnb_arena *a, const char *dir, const char *name)
{
    size_t n = strlen(dir);
    if (*name == '/' || n == 0)
        return tnb_strdup(a, name);
    return tnb_printf(a, "%s%s%s", dir, dir[n - 1] == '/' ? "" : "/", name);
}

char *
tnb_path_dir(tnb_arena *a, const char *path)
{
    const char *name = tnb_path_name(path);
    size_t n = (size_t)(name - path);
    if (n == 0)
        return tnb_strdup(a, ".");
    while (n > 1 && path[n - 1] == '/')
        n--;
    return tnb_strndup(a, path, n);
}

const char *
tnb_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
