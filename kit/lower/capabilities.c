/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes by which a target says what its device lacks. */
#include "lower.h"

#include "tenon/base/conf.h"

enum { MAX_CAPABILITIES = 32 };

const tn_attr_schema tnk_capabilities[] = {
    {"max_vector_lanes", TN_ATTR_INT, 0, "0", "lanes of the widest vector; 0: any", "0|1|2|4|8|16"},
    {"uniform_barriers", TN_ATTR_STR, 0, "\"no\"",
     "whether all threads of a block have to come to a barrier: conditions of some threads are "
     "moved away from it (yes), also those that depend on memory that the kernel writes (static: "
     "as WGSL's analysis sees it)",
     "no|yes|static"},
    {"supports_pointers", TN_ATTR_BOOL, 0, "True",
     "addresses of elements; without, memory is reached by a buffer and an index alone", NULL},
    {"supports_math", TN_ATTR_BOOL, 0, "True",
     "exp, sin and other functions of float32 to a few units in the last place; without, kernels "
     "compute them by sums and products",
     NULL},
    {"supports_float16", TN_ATTR_BOOL, 0, "True", "arithmetic on float16", NULL},
    {"supports_float64", TN_ATTR_BOOL, 0, "True", "arithmetic on float64", NULL},
    {"supports_int8", TN_ATTR_BOOL, 0, "True", "arithmetic on int8", NULL},
    {"supports_int16", TN_ATTR_BOOL, 0, "True", "arithmetic on int16", NULL},
    {"supports_int64", TN_ATTR_BOOL, 0, "True", "arithmetic on int64", NULL},
    {"supports_16bit_buffer", TN_ATTR_BOOL, 0, "True", "elements of 16 bits in memory", NULL},
    {"supports_8bit_buffer", TN_ATTR_BOOL, 0, "True", "elements of 8 bits in memory", NULL},
    {"supports_async_copy", TN_ATTR_BOOL, 0, "False",
     "copies from memory to shared memory that threads start and wait for later: ptx_cp_async",
     NULL},
    {0},
};

const tn_attr_schema *
tnk_capability_like(const char *name)
{
    const char *names[MAX_CAPABILITIES];
    uint32_t n = 0;
    for (const tn_attr_schema *c = tnk_capabilities; c->name; c++) {
        if (!strcmp(c->name, name))
            return c;
        names[n++] = c->name;
    }
    const char *near = tnb_nearest(name, names, n);
    for (const tn_attr_schema *c = tnk_capabilities; near && c->name; c++)
        if (!strcmp(c->name, near))
            return c;
    return NULL;
}
