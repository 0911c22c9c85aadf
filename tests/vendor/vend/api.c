/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* libvend, loaded when it is needed: a machine without it can have this plugin. */
#include "api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const char library[] = "libvend.so.1";

static const struct {
    const char *name;
    size_t at;
} functions[] = {
#define F(name)                                 \
    {                                           \
        "vend_" #name, offsetof(vend_api, name) \
    }
    F(version),    F(error_name), F(error_text), F(queue_new),
    F(queue_free), F(submit),     F(fence),      F(abort),
#undef F
};

tnb_status
vend_api_load(vend_api *out, tnb_err *err)
{
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib) {
        const char *why = dlerror();
        (void)tnb_fail(err, TNB_NOT_FOUND, "the vendor's library is missing: %s",
                       why ? why : library);
        tnb_hint(err, "install libvend 3, or name its folder in LD_LIBRARY_PATH");
        return TNB_NOT_FOUND;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *f = dlsym(lib, functions[i].name);
        if (!f)
            return tnb_fail(err, TNB_ABI, "%s has no function %s", library, functions[i].name);
        memcpy((char *)out + functions[i].at, &f, sizeof f);
    }
    if (out->version() != VEND_VERSION)
        return tnb_fail(err, TNB_ABI, "%s is of version %d, the plugin was made for %d", library,
                        out->version(), VEND_VERSION);
    return TNB_OK;
}
