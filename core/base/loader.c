/* SPDX-License-Identifier: Apache-2.0 */
/* Opening modules. libltdl brings preloaded modules and one interface for all systems; its stock
 * loader binds lazily, exports what it opens and forgets the system's message, so it is replaced by
 * this one.
 */
#include "loader.h"
#include "tenon/base/mem.h"
#include <dlfcn.h>
#include <libltdl/lt_dlloader.h>
#include <ltdl.h>
#include <stdlib.h>

static lt_module
open_module(lt_user_data data, const char *path, lt_dladvise advise)
{
    (void)data;
    (void)advise;
    if (!path || *path != '/')
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int
close_module(lt_user_data data, lt_module module)
{
    (void)data;
    return dlclose(module);
}

static void *
find_symbol(lt_user_data data, lt_module module, const char *symbol)
{
    (void)data;
    return dlsym(module, symbol);
}

static bool
start(tnb_err *err)
{
    static bool started;
    static const lt_dlvtable ours = {
        .name = "tenon",
        .module_open = open_module,
        .module_close = close_module,
        .find_sym = find_symbol,
        .priority = LT_DLLOADER_PREPEND,
    };
    if (started)
        return true;
    if (lt_dlinit() != 0 || lt_dlloader_add(&ours) != 0) {
        tnb_fail(err, TNB_INTERNAL, "libltdl cannot be started: %s", lt_dlerror());
        return false;
    }
    /* What libltdl hands over is nobody else's from now on. */
    free((void *)(uintptr_t)lt_dlloader_remove("lt_dlopen"));
    started = true;
    return true;
}

tnb_status
tnb_loader_open(const char *path, const char *symbol, const void **found, tnb_err *err)
{
    *found = NULL;
    if (!start(err))
        return TNB_INTERNAL;
    /* Tried here first: libltdl forgets the memory of a handle whose module does not open. */
    void *tried = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!tried) {
        const char *text = dlerror();
        text = text ? text : "no reason given";
        const char *undefined = strstr(text, "undefined symbol: ");
        const char *missing = strstr(text, ": cannot open shared object file");
        tnb_fail(err, TNB_ABI, "'%s' cannot be loaded: %s", path, text);
        if (undefined)
            tnb_hint(err,
                     "rebuild the plugin against this Tenon; nothing loaded here defines '%.*s'",
                     (int)strcspn(undefined + 18, " ,("), undefined + 18);
        else if (missing && missing != text && strncmp(text, path, strlen(path)) != 0)
            tnb_hint(err,
                     "install the library '%.*s', which it needs, or name its folder in "
                     "LD_LIBRARY_PATH; ldd '%s' shows them all",
                     (int)strcspn(text, ":"), text, path);
        else
            tnb_hint(err, "a library that it needs may be missing: see ldd '%s'", path);
        return TNB_ABI;
    }
    lt_dlhandle h = lt_dlopen(path);
    dlclose(tried);
    if (!h)
        return tnb_fail(err, TNB_ABI, "'%s' cannot be loaded: %s", path, lt_dlerror());
    lt_dlmakeresident(h);
    *found = lt_dlsym(h, symbol);
    if (*found)
        return TNB_OK;
    tnb_fail(err, TNB_ABI, "'%s' has no symbol '%s'", path, symbol);
    tnb_hint(err,
             "a plugin exports its descriptor by the entry macro, once, with default visibility");
    return TNB_ABI;
}
