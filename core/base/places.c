/* SPDX-License-Identifier: Apache-2.0 */
/* Where this Tenon lies, and where it may keep things. */
#include "config.h"
#include "tenon/base/file.h"
#include "tenon/base/plugin.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
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

tnb_status
tnb_cache_dir(tnb_arena *a, const char *wanted, const char **dir, tnb_err *err)
{
    *dir = NULL;
    const char *base = wanted && *wanted ? wanted : NULL;
    if (!base) {
        const char *xdg = tnb_env("XDG_CACHE_HOME"), *home = tnb_env("HOME");
        if (xdg && *xdg == '/')
            base = tnb_path_join(a, xdg, "tenon");
        else if (home && *home == '/')
            base = tnb_path_join(a, home, ".cache/tenon");
        else
            return tnb_fail(err, TNB_IO,
                            "no folder for caches: neither XDG_CACHE_HOME nor HOME is set");
    }
    char *path = tnb_printf(a, "%s/%d", base, TNB_ABI_MAJOR);
    TNB_TRY(tnb_make_dirs(path, 0700, err));
    const char *checked[] = {base, path};
    for (int i = 0; i < 2; i++) {
        struct stat st;
        if (lstat(checked[i], &st) != 0 && errno == ENOENT)
            return tnb_fail(err, TNB_IO, "cannot make folder '%s'", checked[i]);
        /* The configured folder itself may be a link or shared; what lies in it is ours alone. */
        if (i == 0 && wanted && *wanted)
            continue;
        if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid()) {
            tnb_fail(err, TNB_UNTRUSTED, "the cache folder '%s' %s", checked[i],
                     S_ISDIR(st.st_mode) ? "belongs to another user" : "is not a folder");
            tnb_hint(err, "set [tenon] cache_dir or XDG_CACHE_HOME to a folder of your own");
            return TNB_UNTRUSTED;
        }
        if (st.st_mode & 022) {
            tnb_fail(err, TNB_UNTRUSTED, "others may write to the cache folder '%s'", checked[i]);
            tnb_hint(err, "chmod go-w '%s'", checked[i]);
            return TNB_UNTRUSTED;
        }
    }
    if (tnb_arena_failed(a))
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the name of the cache folder");
    *dir = path;
    return TNB_OK;
}
