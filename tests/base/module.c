/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of the plugin tests: one source, a macro for what is wrong with each. */
#include "tenon/base/plugin.h"
#include <stdlib.h>

#ifdef MODULE_NEW_ABI
#undef TNB_ABI_MAJOR
#define TNB_ABI_MAJOR 9
#endif
#ifdef MODULE_NEW_MINOR
#undef TNB_ABI_MINOR
#define TNB_ABI_MINOR 77
#endif

#ifndef MODULE_NO_NOTE
TNB_PLUGIN_NOTE(TNB_PLUGIN_COMPILER);
#endif

typedef struct descriptor {
    tnb_plugin_head head;
    int more;
} descriptor;

TNB_EXPORT extern const descriptor tn_plugin, other_symbol;

#ifdef MODULE_NO_SYMBOL
const descriptor other_symbol =
#else
const descriptor tn_plugin =
#endif
    {TNB_PLUGIN_HEAD(descriptor, TNB_PLUGIN_COMPILER, "test", "1.5", "Apache-2.0", "for tests"),
     42};

#ifdef MODULE_UNRESOLVED
TNB_EXPORT int
uses_it(void);
int
tenon_no_such_function(void);

int
uses_it(void)
{
    return tenon_no_such_function();
}
#endif

/* Shows that code of the module ran. */
__attribute__((constructor)) static void
ran(void)
{
    setenv("TENON_TEST_MODULE_RAN", "yes", 1);
}
