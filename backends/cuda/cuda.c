/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, compiler half: its descriptor and the attributes of its target. Lists of
 * passes: pipeline.c. */
#include "cuda.h"

#include <stdlib.h>

#include "tenon/kit/emit.h"

static const char *const kinds[] = {"cuda", NULL};

static const tn_attr_schema attrs[] = {
    {"arch", TN_ATTR_STR, 0, "\"sm_80\"",
     "architecture that kernels are made for: sm_75 ... sm_121a"},
    {"max_shared_memory_per_block", TN_ATTR_INT, 0, "49152",
     "bytes of shared memory that the kernel of a block declares; schedules are made for them",
     "0..49152"},
    {"max_dynamic_shared_memory_per_block", TN_ATTR_INT, TN_ATTR_OPTIONAL, NULL,
     "bytes of shared memory that a launch may give a block whose schedule asks for more than "
     "max_shared_memory_per_block; 0: none; absent: what the architecture has",
     ">=0"},
    {"max_threads_per_block", TN_ATTR_INT, 0, "1024", "threads a block may have", "1..65536"},
    {"max_num_threads", TN_ATTR_INT, 0, "1024", "threads that schedules use at most", "1..65536"},
    {"attention_threads", TN_ATTR_INT, 0, "256",
     "threads of a block for attention on a paged cache; 0: one thread for a row and a head of "
     "keys",
     "0..1024"},
    {"panel_rows", TN_ATTR_INT, 0, "8",
     "rows of a panel of weights in GGUF's blocks; 0: blocks are read as their file has them",
     "0..32"},
    {"thread_warp_size", TN_ATTR_INT, 0, "32", "threads that run in lock step", "1|32"},
    {"matrix_units", TN_ATTR_STRS, 0, "[\"auto\"]",
     "dtypes of matrices that gpu.MatmulMMA multiplies by matrix units; auto: those that the "
     "architecture has",
     "auto|float16|bfloat16"},
    {"supports_async_copy", TN_ATTR_BOOL, TN_ATTR_OPTIONAL, NULL,
     "copies into shared memory that are waited for later (cp.async); absent: as the architecture "
     "has them"},
    {"named_barriers", TN_ATTR_INT, 0, "15",
     "barriers with a number at which some warps of a block may meet (bar.sync)", "0..15"},
    {"registers_per_block", TN_ATTR_INT, 0, "65536", "registers of a block", ">=1"},
    {"l2_cache_size_bytes", TN_ATTR_INT, 0, "0", "second-level cache; 0: not known", ">=0"},
    {"nvrtc", TN_ATTR_STR, 0, "\"\"",
     "the file of NVRTC (libnvrtc.so), which compiles kernels; empty: the system's, or that of the "
     "CUDA Toolkit",
     "file"},
    {"libs", TN_ATTR_STRS, 0, "[]", "libraries of upstream's targets; kept, not used", "unused"},
    {"keys", TN_ATTR_STRS, 0, "[\"cuda\", \"gpu\"]", "what passes look at beside the kind",
     "~cuda|gpu"},
    {"host", TN_ATTR_ANY, TN_ATTR_OPTIONAL, NULL, "target of the host code; kept, not used",
     "unused"},
    {"tag", TN_ATTR_STR, 0, "\"\"", "the tag that the target was made from; kept, not used",
     "unused"},
    TNK_ATTR_CHECK_INDICES,
    {0},
};

/* Warps are what the hardware makes them; threads are numbered x first. */
static bool
warp(const tn_node *target, tn_warp *out, void *self)
{
    (void)self;
    *out = (tn_warp){.size = 32, .ops = TN_WARP_SHUFFLE, .bits = 64, .certain = true};
    return tn_dict_int(target, "thread_warp_size", 32) == 32;
}

/* What NVRTC of any release that is supported may know; architectures to come among them. */
enum { LEAST_CAPABILITY = 50, MOST_CAPABILITY = 199 };

/* sm_90, sm_90a, sm_100f */
static bool
is_arch(const char *s)
{
    if (strncmp(s, "sm_", 3))
        return false;
    size_t digits = strspn(s + 3, "0123456789");
    const char *end = s + 3 + digits;
    return digits >= 2 && digits <= 3 && (!*end || ((*end == 'a' || *end == 'f') && !end[1]));
}

/* The most shared memory that a launch may give a block. */
static int64_t
most_shared(long capability)
{
    enum { KIB = 1024 };
    static const struct {
        long capability;
        int kib;
    } known[] = {{70, 96}, {72, 96},  {75, 64},   {80, 163},  {86, 99},   {87, 163}, {88, 99},
                 {89, 99}, {90, 227}, {100, 227}, {103, 227}, {110, 227}, {120, 99}, {121, 99}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].capability == capability)
            return (int64_t)known[i].kib * KIB;
    return 0;
}

/* Those of mma; sm_75 has none for bfloat16. */
static const tn_node *
matrix_units(tn_ctx *ctx, long capability)
{
    const tn_node *d[] = {tn_string(ctx, "float16"), tn_string(ctx, "bfloat16")};
    return tn_array_of(ctx, tn_list_of(ctx, d, capability < 75 ? 0 : capability < 80 ? 1 : 2));
}

/* Are all of the dtypes that a user gives among those of the architecture? */
static bool
has_units(tn_ctx *ctx, const char *arch, const tn_array *wanted, const tn_array *units)
{
    for (uint32_t i = 0; i < wanted->items.n; i++) {
        const tn_string_imm *d = tn_as_string_imm(wanted->items.at[i]);
        uint32_t k = 0;
        while (k < units->items.n &&
               !(d && !strcmp(d->value, tn_as_string_imm(units->items.at[k])->value)))
            k++;
        if (k < units->items.n)
            continue;
        tn_error(ctx, 0, TNB_INVALID,
                 "target cuda: matrix_units has '%s', which %s does not multiply by matrix units",
                 d ? d->value : "?", arch);
        const char *hints[] = {"it has none", "it has them for float16",
                               "it has them for float16 and bfloat16"};
        tnb_diag_hint(tn_diags(ctx), "%s; auto takes all that there are", hints[units->items.n]);
        return false;
    }
    return true;
}

static const tn_node *
probe(tn_ctx *ctx, const tn_node *target, void *self)
{
    (void)self;
    const char *arch = tn_dict_str(target, "arch", "");
    if (!is_arch(arch)) {
        tn_error(ctx, 0, TNB_INVALID, "target cuda: the architecture '%s' is not known", arch);
        tnb_diag_hint(tn_diags(ctx),
                      "architectures are called as by nvcc: sm_80, sm_90a, sm_100f ...");
        return NULL;
    }
    long capability = strtol(arch + 3, NULL, 10);
    if (capability < LEAST_CAPABILITY || capability > MOST_CAPABILITY) {
        tn_error(ctx, 0, TNB_UNSUPPORTED, "target cuda: there is no architecture '%s'", arch);
        tnb_diag_hint(tn_diags(ctx),
                      "kernels are made for sm_%d and newer; sm_121 is the newest that is known",
                      LEAST_CAPABILITY);
        return NULL;
    }
    const tn_node *all = matrix_units(ctx, capability);
    const tn_array *units = tn_as_array(tn_dict_get(target, "matrix_units"));
    const tn_string_imm *first =
        units && units->items.n == 1 ? tn_as_string_imm(units->items.at[0]) : NULL;
    if (first && !strcmp(first->value, "auto"))
        target = tn_dict_set(ctx, target, "matrix_units", all);
    else if (units && !has_units(ctx, arch, units, tn_as_array(all)))
        return NULL;
    if (tn_dict_int(target, "max_dynamic_shared_memory_per_block", -1) < 0)
        target = tn_dict_set(ctx, target, "max_dynamic_shared_memory_per_block",
                             tn_i64(ctx, most_shared(capability)));
    int64_t async = tn_dict_int(target, "supports_async_copy", -1);
    if (async > 0 && capability < 80) {
        tn_error(ctx, 0, TNB_INVALID,
                 "target cuda: supports_async_copy is true, but %s has no cp.async", arch);
        tnb_diag_hint(tn_diags(ctx), "sm_80 is the first that has it; leave the attribute out");
        return NULL;
    }
    return async >= 0
               ? target
               : tn_dict_set(ctx, target, "supports_async_copy", tn_bool(ctx, capability >= 80));
}

static const tn_target_kind cuda = {
    .base.size = sizeof(tn_target_kind),
    .base.name = "cuda",
    .base.doc = "NVIDIA GPUs.",
    .kinds = kinds,
    .attrs = attrs,
    .library_dispatch = cuda_library_dispatch,
    .legalize = cuda_legalize,
    .finalize = cuda_finalize,
    .lower = cuda_lower,
    .codegen = &cuda_codegen,
    .probe = probe,
    .device = "cuda",
    .warp = warp,
};
static const tn_target_kind *const targets[] = {&cuda};

static const tnk_dialect *const dialects[] = {&cuda_dialect};

TN_PLUGIN(cuda, "0.1.0", "Apache-2.0", "the CUDA target: CUDA C++, compiled by NVRTC",
          .targets = targets, .n_targets = 1, .dialects = dialects, .n_dialects = 1);
