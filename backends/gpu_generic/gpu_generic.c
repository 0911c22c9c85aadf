/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, compiler half: its descriptor and the attributes of its target. Lists of
 * passes: pipeline.c. */
#include "gpu_generic.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const kinds[] = {"vulkan", "webgpu", "metal", NULL};

static const tn_attr_schema attrs[] = {
    {"max_shared_memory_per_block", TN_ATTR_INT, 0, "16384",
     "bytes of shared memory a block may use", ">=0"},
    {"max_threads_per_block", TN_ATTR_INT, 0, "256", "threads a block may have", "1..65536"},
    {"max_num_threads", TN_ATTR_INT, 0, "256", "threads that schedules use at most", "1..65536"},
    {"attention_threads", TN_ATTR_INT, 0, "128",
     "threads of a block for attention on a paged cache; 0: one thread for a row and a head of "
     "keys",
     "0..1024"},
    {"thread_warp_size", TN_ATTR_INT, 0, "1", "threads that run in lock step",
     "1|2|4|8|16|32|64|128"},
    {"max_vector_lanes", TN_ATTR_INT, 0, "4", "lanes of the widest vector; 0: any", "0|1|2|4|8|16"},
    {"uniform_barriers", TN_ATTR_STR, 0, "\"yes\"",
     "whether all threads of a block have to come to a barrier: conditions of some threads are "
     "moved away from it (yes), also "
     "those that depend on memory that the kernel writes (static: as WGSL's analysis sees it)",
     "no|yes|static"},
    {"supports_pointers", TN_ATTR_BOOL, 0, "False",
     "addresses of elements; without, memory is reached by a buffer and an index alone"},
    {"supports_math", TN_ATTR_BOOL, 0, "False",
     "exp, sin and other functions of float32 to a few units in the last place; without, kernels "
     "compute them by sums and products"},
    {"supports_float16", TN_ATTR_BOOL, 0, "False", "arithmetic on float16"},
    {"supports_float64", TN_ATTR_BOOL, 0, "False", "arithmetic on float64"},
    {"supports_int8", TN_ATTR_BOOL, 0, "False", "arithmetic on int8"},
    {"supports_int16", TN_ATTR_BOOL, 0, "False", "arithmetic on int16"},
    {"supports_int64", TN_ATTR_BOOL, 0, "False", "arithmetic on int64"},
    {"supports_buffer_device_address", TN_ATTR_BOOL, 0, "False",
     "memory is reached by addresses (bufferDeviceAddress); without, by descriptors"},
    {"features", TN_ATTR_STRS, 0, "[]",
     "what kernels may use beyond that: subgroup:arithmetic, subgroup:clustered, subgroup:shuffle "
     "(with thread_warp_size), shaderSignedZeroInfNanPreserveFloat32, "
     "shaderDenormPreserveFloat32, shaderRoundingModeRTEFloat16; the device has to have what they "
     "use"},
    {"cooperative_matrix", TN_ATTR_STR, 0, "\"\"",
     "rows, columns and steps of the product of float16 that a sub-group computes at once, summed "
     "in float32, as \"16x16x16\" (VK_KHR_cooperative_matrix; with supports_float16 and "
     "thread_warp_size); empty: none"},
    {"supports_16bit_buffer", TN_ATTR_BOOL, 0, "False", "elements of 16 bits in memory"},
    {"supports_8bit_buffer", TN_ATTR_BOOL, 0, "False", "elements of 8 bits in memory"},
    {"max_push_constants_size", TN_ATTR_INT, 0, "128", "bytes of scalars passed at a launch",
     ">=0"},
    {"libs", TN_ATTR_STRS, 0, "[]", "libraries of upstream's targets; kept, not used", "unused"},
    {"keys", TN_ATTR_STRS, 0, "[\"vulkan\", \"gpu\"]", "what passes look at beside the kind",
     "~vulkan|webgpu|metal|gpu"},
    {"host", TN_ATTR_ANY, TN_ATTR_OPTIONAL, NULL, "target of the host code; kept, not used",
     "unused"},
    {"tag", TN_ATTR_STR, 0, "\"\"", "the tag that the target was made from; kept, not used",
     "unused"},
    TNK_ATTR_CHECK_INDICES,
    {0},
};

/* ---- what the attributes say ---- */

static const struct {
    const char *name, *attr;
} features[GPU_GENERIC_N_FEATURES] = {
#define X(id, name, attr) {name, attr},
    GPU_GENERIC_FEATURES(X)
#undef X
};

const char *
gpu_generic_feature_name(gpu_generic_feature f)
{
    return features[f].name;
}

bool
gpu_generic_feature_known(const char *name, const char **near)
{
    const char *names[GPU_GENERIC_N_FEATURES];
    uint32_t n = 0;
    for (int i = 0; i < GPU_GENERIC_N_FEATURES; i++) {
        if (features[i].attr)
            continue;
        if (!strcmp(features[i].name, name))
            return true;
        names[n++] = features[i].name;
    }
    *near = tnb_nearest(name, names, n);
    return false;
}

static bool
listed(const tn_node *target, const char *feature)
{
    const tn_array *a = tn_as_array(tn_dict_get(target, "features"));
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(a->items.at[i]);
        if (s && !strcmp(s->value, feature))
            return true;
    }
    return false;
}

/* "16x16x16": rows, columns and steps. */
static bool
read_unit(const char *text, uint32_t unit[3])
{
    int end = 0;
    if (sscanf(text, "%3" SCNu32 "x%3" SCNu32 "x%3" SCNu32 "%n", &unit[0], &unit[1], &unit[2],
               &end) == 3 &&
        !text[end] && unit[0] && unit[1] && unit[2])
        return true;
    memset(unit, 0, 3 * sizeof *unit);
    return false;
}

gpu_generic_limits
gpu_generic_limits_of(const tn_node *target)
{
    gpu_generic_limits l = {
        .push_bytes = tn_dict_int(target, "max_push_constants_size", 128),
        .shared_bytes = tn_dict_int(target, "max_shared_memory_per_block", 16384),
        .threads = tn_dict_int(target, "max_threads_per_block", 256),
    };
    for (int i = 0; i < GPU_GENERIC_N_FEATURES; i++)
        if (features[i].attr ? tn_dict_int(target, features[i].attr, 0) != 0
                             : listed(target, features[i].name))
            l.has |= 1u << i;
    const char *unit = tn_dict_str(target, "cooperative_matrix", "");
    int64_t warp = tn_dict_int(target, "thread_warp_size", 1);
    l.warp = warp > 1 && warp <= 128 ? (uint32_t)warp : 0;
    if (l.warp && read_unit(unit, l.unit) && l.has >> GPU_GENERIC_FLOAT16 & 1)
        l.has |= 1u << GPU_GENERIC_MATRIX;
    return l;
}

/* What sub-groups can do, by the features of the target. */
static bool
warp(const tn_node *target, tn_warp *out, void *self)
{
    (void)self;
    int64_t size = tn_dict_int(target, "thread_warp_size", 1);
    if (size < 2 || size > 128 || size & (size - 1))
        return false;
    *out = (tn_warp){.size = (uint32_t)size, .bits = 32};
    out->ops |= listed(target, "subgroup:arithmetic") ? TN_WARP_REDUCE : 0;
    out->ops |= listed(target, "subgroup:clustered") ? TN_WARP_REDUCE_PART : 0;
    out->ops |= listed(target, "subgroup:shuffle") ? TN_WARP_SHUFFLE : 0;
    return out->ops != 0;
}

/* Nothing is asked of a machine: devices are chosen where the code runs. */
static const tn_node *
probe(tn_ctx *ctx, const tn_node *target, void *self)
{
    (void)self;
    const tn_array *a = tn_as_array(tn_dict_get(target, "features"));
    const char *unit = tn_dict_str(target, "cooperative_matrix", "");
    uint32_t sides[3];
    if (unit[0] && !read_unit(unit, sides)) {
        tn_error(ctx, 0, TNB_INVALID,
                 "target gpu_generic: cooperative_matrix is '%s', which is no ROWSxCOLUMNSxSTEPS",
                 unit);
        tnb_diag_hint(tn_diags(ctx), "as 16x16x16; tenon list devices tells what a device has");
        return NULL;
    }
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(a->items.at[i]);
        const char *near = NULL;
        if (s && gpu_generic_feature_known(s->value, &near))
            continue;
        tn_error(ctx, 0, TNB_INVALID, "target gpu_generic: the feature '%s' is not known",
                 s ? s->value : "?");
        if (near)
            tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
        else
            tnb_diag_hint(tn_diags(ctx), "tenon show target gpu_generic lists the features");
        return NULL;
    }
    return target;
}

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
#ifndef GPU_GENERIC_NO_CODEGEN /* SPIR-V's numbers were there */
    .codegen = &gpu_generic_codegen,
#endif
    .probe = probe,
    .device = "gpu_generic",
    .warp = warp,
};
static const tn_target_kind *const targets[] = {&gpu_generic};

TN_PLUGIN(gpu_generic, "0.1.0", "Apache-2.0", "the Vulkan target: SPIR-V, for GPUs of any vendor",
          .targets = targets, .n_targets = 1);
