/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, compiler half: its descriptor and the attributes of its target. Lists of
 * passes: pipeline.c. */
#include "gpu_generic.h"

static const char *const kinds[] = {"vulkan", "webgpu", "metal", NULL};

static const tn_attr_schema attrs[] = {
    {"max_shared_memory_per_block", TN_ATTR_INT, 0, "16384",
     "bytes of shared memory a block may use", ">=0"},
    {"max_threads_per_block", TN_ATTR_INT, 0, "256", "threads a block may have", "1..65536"},
    {"max_num_threads", TN_ATTR_INT, 0, "256", "threads that schedules use at most", "1..65536"},
    {"thread_warp_size", TN_ATTR_INT, 0, "1", "threads that run in lock step",
     "1|2|4|8|16|32|64|128"},
    {"max_vector_lanes", TN_ATTR_INT, 0, "4", "lanes of the widest vector; 0: any", "0..1024"},
    {"uniform_barriers", TN_ATTR_STR, 0, "\"yes\"",
     "whether all threads of a block have to come to a barrier: conditions of some threads are "
     "moved away from it (yes), also "
     "those that depend on memory that the kernel writes (static: as WGSL's analysis sees it)",
     "no|yes|static"},
    {"supports_pointers", TN_ATTR_BOOL, 0, "False",
     "addresses of elements; without, memory is reached by a buffer and an index alone"},
    {"supports_float16", TN_ATTR_BOOL, 0, "False", "arithmetic on float16"},
    {"supports_float64", TN_ATTR_BOOL, 0, "False", "arithmetic on float64"},
    {"supports_int8", TN_ATTR_BOOL, 0, "False", "arithmetic on int8"},
    {"supports_int16", TN_ATTR_BOOL, 0, "False", "arithmetic on int16"},
    {"supports_int64", TN_ATTR_BOOL, 0, "True", "arithmetic on int64"},
    {"supports_16bit_buffer", TN_ATTR_BOOL, 0, "False", "elements of 16 bits in memory"},
    {"supports_8bit_buffer", TN_ATTR_BOOL, 0, "False", "elements of 8 bits in memory"},
    {"max_push_constants_size", TN_ATTR_INT, 0, "128", "bytes of scalars passed at a launch",
     ">=0"},
    {"libs", TN_ATTR_STRS, 0, "[]", "libraries that operators may be given to"},
    {"keys", TN_ATTR_STRS, 0, "[\"vulkan\", \"gpu\"]", "what passes look at beside the kind"},
    {"host", TN_ATTR_ANY, TN_ATTR_OPTIONAL, NULL, "target of the host code; kept, not used"},
    {"tag", TN_ATTR_STR, 0, "\"\"", "the tag that the target was made from; kept, not used"},
    TNK_ATTR_CHECK_INDICES,
    {0},
};

static const tn_target_kind gpu_generic = {
    .base.size = sizeof(tn_target_kind),
    .base.name = "gpu_generic",
    .base.doc = "GPUs of any vendor, through Vulkan.",
    .kinds = kinds,
    .attrs = attrs,
    .library_dispatch = gpu_generic_library_dispatch,
    .legalize = gpu_generic_legalize,
    .finalize = gpu_generic_finalize,
    .lower = gpu_generic_lower,
    .device = "gpu_generic",
};
static const tn_target_kind *const targets[] = {&gpu_generic};

TN_PLUGIN(gpu_generic, "0.1.0", "Apache-2.0", "the pass lists of GPUs of any vendor",
          .targets = targets, .n_targets = 1);
