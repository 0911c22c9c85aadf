/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, compiler half: its descriptor and the attributes of its target. Lists of
 * passes: pipeline.c. */
#include "opencl.h"
#include "clml.h"
#include "dialect.h"
#include "texture.h"

static const char *const kinds[] = {"opencl", NULL};

static const tn_attr_schema attrs[] = {
    {"device", TN_ATTR_STR, 0, "\"\"",
     "family of devices: schedules that were measured for one are not taken for another",
     "~adreno|mali"},
    {"max_shared_memory_per_block", TN_ATTR_INT, 0, "16384",
     "bytes of local memory a group may use", ">=0"},
    {"max_threads_per_block", TN_ATTR_INT, 0, "256", "work items a group may have", "1..65536"},
    {"max_num_threads", TN_ATTR_INT, 0, "256", "threads that schedules use at most", "1..65536"},
    {"attention_threads", TN_ATTR_INT, 0, "64",
     "threads of a block for attention on a paged cache; 0: one thread for a row and a head of "
     "keys",
     "0..1024"},
    {"features", TN_ATTR_STRS, 0, "[\"fp64\"]",
     "what kernels may use beyond OpenCL C 1.2: fp16, fp64, subgroups, cl_khr_subgroup_shuffle; "
     "the "
     "device has to have what they use"},
    {"thread_warp_size", TN_ATTR_INT, 0, "1",
     "threads that run in lock step; with the feature subgroups, the size of sub-groups that "
     "kernels "
     "are made for",
     "1|2|4|8|16|32|64|128"},
    {"texture_spatial_limit", TN_ATTR_INT, 0, "16384", "width and height an image may have", ">=1"},
    {"texture_depth_limit", TN_ATTR_INT, 0, "2048", "layers an image array may have", ">=1"},
    {"image_base_address_alignment", TN_ATTR_INT, 0, "64", "bytes an image's memory is aligned to",
     ">=1"},
    {"vector_bytes", TN_ATTR_INT, 0, "16", "bytes that a thread loads or stores at once",
     "1|2|4|8|16|32|64"},
    {"max_function_args", TN_ATTR_INT, 0, "128", "arguments a kernel may have", ">=1"},
    {"libs", TN_ATTR_STRS, 0, "[]", "libraries that operators may be given to: clml"},
    {"keys", TN_ATTR_STRS, 0, "[\"opencl\", \"gpu\"]", "what passes look at beside the kind",
     "~opencl|gpu|adreno|mali|texture|clml"},
    {"host", TN_ATTR_ANY, TN_ATTR_OPTIONAL, NULL, "target of the host code; kept, not used",
     "unused"},
    {"tag", TN_ATTR_STR, 0, "\"\"", "the tag that the target was made from; kept, not used",
     "unused"},
    TNK_ATTR_CHECK_INDICES,
    {0},
};

static bool
has(const tn_node *target, const char *feature)
{
    const tn_array *a = tn_as_array(tn_dict_get(target, "features"));
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(a->items.at[i]);
        if (s && !strcmp(s->value, feature))
            return true;
    }
    return false;
}

/* What sub-groups can do, by the features of the target. */
static bool
warp(const tn_node *target, tn_warp *out, void *self)
{
    (void)self;
    int64_t size = tn_dict_int(target, "thread_warp_size", 1);
    bool intel = has(target, "cl_intel_subgroups"), qcom = has(target, "cl_qcom_subgroup_shuffle");
    if (size < 2 || size > 128 || size & (size - 1) || (!intel && !has(target, "subgroups")))
        return false;
    *out = (tn_warp){.size = (uint32_t)size, .ops = TN_WARP_REDUCE, .bits = 64};
    if (intel || qcom || has(target, "cl_khr_subgroup_shuffle"))
        out->ops |= TN_WARP_SHUFFLE;
    if (has(target, "cl_khr_subgroup_clustered_reduce"))
        out->ops |= TN_WARP_REDUCE_PART;
    if (qcom && !intel && !has(target, "cl_khr_subgroup_shuffle"))
        out->bits = 32; /* what its users show */
    return true;
}

/* Nothing is asked of a machine: devices are chosen where the code runs. */
static const tn_node *
probe(tn_ctx *ctx, const tn_node *target, void *self)
{
    (void)self;
    const tn_array *a = tn_as_array(tn_dict_get(target, "features"));
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(a->items.at[i]);
        const char *near;
        if (!s || opencl_feature_known(s->value, &near))
            continue;
        tn_error(ctx, 0, TNB_INVALID, "target opencl: the feature '%s' is not known", s->value);
        if (near)
            tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
        else
            tnb_diag_hint(tn_diags(ctx),
                          "use fp16, fp64, subgroups, or an extension's name: cl_...");
        return NULL;
    }
    const tn_array *libs = tn_as_array(tn_dict_get(target, "libs"));
    for (uint32_t i = 0; libs && i < libs->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(libs->items.at[i]);
        if (s && strcmp(s->value, "clml") == 0)
            continue;
        tn_warn(ctx, 0, "target opencl: the library '%s' in 'libs' has no effect",
                s ? s->value : "?");
        tnb_diag_hint(tn_diags(ctx), "operators may be given to clml");
    }
    return target;
}

static const tn_target_kind opencl = {
    .base.size = sizeof(tn_target_kind),
    .base.name = "opencl",
    .base.doc = "OpenCL devices, Adreno GPUs first.",
    .kinds = kinds,
    .attrs = attrs,
    .library_dispatch = opencl_library_dispatch,
    .legalize = opencl_legalize,
    .finalize = opencl_finalize,
    .lower = opencl_lower,
    .codegen = &opencl_codegen,
    .probe = probe,
    .device = "opencl",
    .warp = warp,
};
static const tn_target_kind *const targets[] = {&opencl};
static const tn_pass *const passes[] = {&clml_dispatch, &texture_layout, &texture_scopes};
static const tnk_rule *const rules[] = {&texture_rule};
static const tnk_dialect *const dialects[] = {&opencl_dialect};
static const tnk_external *const externals[] = {&clml_external, &clml5_external};

TN_PLUGIN(opencl, "0.1.0", "Apache-2.0", "OpenCL devices, with Qualcomm's CLML", .targets = targets,
          .n_targets = 1, .passes = passes, .n_passes = 3, .rules = rules, .n_rules = 1,
          .patterns = clml_patterns, .n_patterns = CLML_N_PATTERNS, .externals = externals,
          .n_externals = 2, .dialects = dialects, .n_dialects = 1);
