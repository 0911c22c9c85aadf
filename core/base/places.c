/* SPDX-License-Identifier: Apache-2.0 */
/* Where this Tenon lies, and where it may keep things. */
#include "config.h"
#include "tenon/base/file.h"
#include "tenon/base/plugin.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

bool
tnb_privileged(void)
{
    return getauxval(AT_SECURE) != 0 || geteuid() != getuid() || getegid() != getgid();
}

const char *
tnb_env(const char *name)
{
    const char *v = tnb_privileged() ? NULL : getenv(name);
    return v && *v ? v : NULL;
}

const char *
tnb_home(void)
{
    struct stat st;
    const char *home = tnb_env("HOME");
    return home && *home == '/' && stat(home, &st) == 0 && S_ISDIR(st.st_mode) ? home : NULL;
}

static tnb_places places;
static const tnb_places *made;

/* An absolute path without links where that is possible. */
static char *
resolved(tnb_arena *a, const char *path)
{
    char *real = realpath(path, NULL);
    char *copy = tnb_strdup(a, real ? real : path);
    free(real);
    return copy;
}

/* The folder of the file that this code was loaded from. */
static char *
library_folder(tnb_arena *a)
{
    Dl_info info;
    if (!dladdr(&places, &info) || !info.dli_fname || !strchr(info.dli_fname, '/')) {
        /* Linked into the program. */
        char *exe = resolved(a, "/proc/self/exe");
        return tnb_path_join(a, tnb_path_dir(a, exe), "../lib");
    }
    return tnb_path_dir(a, resolved(a, info.dli_fname));
}

/* The folder of a build, when the library lies in one: configure leaves a file there that names the
 * sources. */
static bool
in_build_tree(tnb_arena *a)
{
    static const char tail[] = "/core/base/.libs";
    if (!tnb_ends_with(places.library, tail))
        return false;
    char *build = tnb_strndup(a, places.library, strlen(places.library) - strlen(tail)), *source;
    size_t n;
    tnb_err err;
    if (tnb_read_file(tnb_path_join(a, build, "tenon-build-tree"), 4096, &source, &n, &err) !=
        TNB_OK)
        return false;
    source[strcspn(source, "\n")] = 0;
    places.plugins = tnb_path_join(a, build, "plugins-stage");
    places.conf = tnb_path_join(a, source, "conf");
    places.data = tnb_path_join(a, source, "conf/data");
    free(source);
    return true;
}

static void
find_places(void)
{
    /* Kept until the program ends. */
    static tnb_arena *a;
    a = tnb_arena_new();
    if (!a)
        return;
    places.library = library_folder(a);
    places.build_tree = in_build_tree(a);
    if (!places.build_tree) {
        places.plugins = resolved(a, tnb_path_join(a, places.library, TENON_PLUGINS_FROM_LIB));
        places.conf = resolved(a, tnb_path_join(a, places.library, TENON_CONF_FROM_LIB));
        places.data = resolved(a, tnb_path_join(a, places.library, TENON_DATA_FROM_LIB));
    }
    const char *conf = tnb_env("TENON_SYSCONFDIR"), *data = tnb_env("TENON_DATADIR");
    if (conf)
        places.conf = resolved(a, conf);
    if (data)
        places.data = resolved(a, data);
    if (tnb_arena_failed(a))
        tnb_arena_free(a);
    else
        made = &places;
}

const tnb_places *
tnb_places_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_places);
    return made;
}

/* One folder of this user alone within an open one, made if need be; no link is followed. Closes
 * `parent`. */
static tnb_status
own_folder(int parent, const char *name, const char *path, int *out, tnb_err *err)
{
    struct stat st;
    char reason[128];
    *out = -1;
    bool fresh = mkdirat(parent, name, 0700) == 0;
    int saved = errno;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fresh)
        (void)!fchmod(fd, 0700);
    bool there = fd >= 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    close(parent);
    if (fd < 0 && !there)
        return tnb_fail(err, TNB_IO, "cannot make folder '%s': %s", path,
                        strerror_r(saved, reason, sizeof reason));
    const char *fault = fd < 0 || fstat(fd, &st) != 0 ? "is not a folder"
                        : st.st_uid != geteuid()      ? "belongs to another user"
                                                      : NULL;
    bool shared = !fault && (st.st_mode & 022);
    if (!fault && !shared)
        return *out = fd, TNB_OK;
    if (fd >= 0)
        close(fd);
    if (shared) {
        (void)tnb_fail(err, TNB_UNTRUSTED, "others may write to the cache folder '%s'", path);
        tnb_hint(err, "chmod go-w '%s'", path);
    } else {
        (void)tnb_fail(err, TNB_UNTRUSTED, "the cache folder '%s' %s", path, fault);
        tnb_hint(err, "set [tenon] cache_dir or XDG_CACHE_HOME to a folder of your own");
    }
    return TNB_UNTRUSTED;
}

/* Opens the folder that caches lie in, made if need be. */
static tnb_status
open_top(const char *top, bool configured, int *fd, struct stat *st, tnb_err *err)
{
    char reason[128];
    tnb_status s = tnb_make_dirs(top, 0700, err);
    *fd = s == TNB_OK ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (s == TNB_OK && (*fd < 0 || fstat(*fd, st) != 0))
        s = tnb_fail(err, TNB_IO, "cannot open folder '%s': %s", top,
                     strerror_r(errno, reason, sizeof reason));
    if (s == TNB_OK)
        return TNB_OK;
    if (*fd >= 0)
        close(*fd);
    struct stat is;
    const bool file = stat(top, &is) == 0 ? !S_ISDIR(is.st_mode) : errno == ENOTDIR;
    if (configured && file)
        tnb_hint(err, "set [tenon] cache_dir to a folder, which is made if it is not there");
    else if (configured)
        tnb_hint(
            err,
            "[tenon] cache_dir of several users is made by the administrator: mkdir -p -m 1777 "
            "'%s'; each user gets a folder in it",
            top);
    else
        tnb_hint(err, "set [tenon] cache_dir or XDG_CACHE_HOME to a folder of your own");
    return s;
}

/* ORDER: from the top down, each folder within the one that was opened before it. The configured
 * folder itself, and what is above tenon/ in XDG_CACHE_HOME, may be a link or shared; what lies in it
 * is this user's alone: where the configured one is another user's, in a folder by the user's number. */
tnb_status
tnb_cache_dir(tnb_arena *a, const char *wanted, const char **dir, tnb_err *err)
{
    *dir = NULL;
    const char *top = wanted && *wanted ? wanted : NULL, *own = NULL;
    if (!top) {
        const char *xdg = tnb_env("XDG_CACHE_HOME"), *home = tnb_home();
        if (xdg && *xdg == '/') {
            top = xdg;
        } else if (home) {
            top = tnb_path_join(a, home, ".cache");
        } else {
            (void)tnb_fail(err, TNB_IO,
                           "no folder for caches: XDG_CACHE_HOME is not set, and HOME is no folder "
                           "that is there");
            tnb_hint(err, "set XDG_CACHE_HOME or [tenon] cache_dir");
            return TNB_IO;
        }
        own = tnb_path_join(a, top, "tenon");
    }
    int fd;
    struct stat st;
    TNB_TRY(open_top(top, own == NULL, &fd, &st, err));
    if (!own && st.st_uid != geteuid())
        own = tnb_printf(a, "%s/%u", top, (unsigned)geteuid());
    char *path = tnb_printf(a, "%s/%d", own ? own : top, TNB_ABI_MAJOR);
    if (tnb_arena_failed(a)) {
        close(fd);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the name of the cache folder");
    }
    if (own)
        TNB_TRY(own_folder(fd, tnb_path_name(own), own, &fd, err));
    TNB_TRY(own_folder(fd, tnb_path_name(path), path, &fd, err));
    close(fd);
    *dir = path;
    return TNB_OK;
}
