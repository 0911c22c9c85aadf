/* SPDX-License-Identifier: Apache-2.0 */
/* Code generation of the opencl target: all kernels of a variant become one text of OpenCL C 1.2,
 * which the device's own compiler takes when the module is loaded.
 *
 * What a kernel's arguments are (the device half sets them in this order):
 *
 *     1. one __global pointer for each buffer
 *     2. one ulong for each buffer: the byte offset of the buffer in its memory
 *     3. the scalars, each as wide as its dtype; bool as uchar, 16-bit floats as float
 *
 * Offsets are passed as numbers since a sub-buffer has to be aligned to what the device demands
 * (up to 4 KiB), which the parts of a memory plan are not.
 */
#include "dialect.h"
#include "opencl.h"
#include "texture.h"

/* A tensor program that no rule has scheduled would run on one thread, if at all. One that has been,
 * and whose loops all fell away, is for one thread. */
static bool
is_scheduled(tn_ctx *ctx, tnk_kernel *k)
{
    if (tn_func_attr(k->func, "tirx.is_scheduled") || tn_func_attr(k->func, "tir.is_scheduled"))
        k->grid[0] = k->grid[0] ? k->grid[0] : tn_i32(ctx, 1);
    for (int i = 0; i < 3; i++)
        if (k->grid[i] || k->block[i])
            return true;
    tn_error(ctx, k->func->loc, TNB_UNSUPPORTED,
             "tensor program '%s' has no schedule: none of its loops is bound to threads", k->name);
    tnb_diag_note(tn_diags(ctx), "no rule of ApplyDefaultSchedule in the list `legalize` takes it");
    tnb_diag_hint(tn_diags(ctx),
                  "add a rule to the list: [pipeline opencl] in an INI file, rules of "
                  "a plugin; tenon show pipeline opencl");
    return false;
}

/* What source emission knows of beyond the baseline. */
static const char *const known_features[] = {
    "fp16",
    "fp64",
    "images",
    "subgroups",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_clustered_reduce",
    "cl_intel_subgroups",
    "cl_qcom_subgroup_shuffle",
    "cl_intel_required_subgroup_size",
    "cl_qcom_reqd_sub_group_size",
};
enum { N_KNOWN_FEATURES = sizeof known_features / sizeof *known_features };

bool
opencl_feature_known(const char *name, const char **near)
{
    for (int i = 0; i < N_KNOWN_FEATURES; i++)
        if (!strcmp(known_features[i], name))
            return true;
    *near = tnb_nearest(name, known_features, N_KNOWN_FEATURES);
    return !strncmp(name, "cl_", 3);
}

static const char *const *
features_of(const tnk_build *b)
{
    const tn_array *a = b->target ? tn_as_array(tn_dict_get(b->target->attrs, "features")) : NULL;
    const char **names = TNB_NEW_N(tn_arena(b->ctx), const char *, (a ? a->items.n : 0) + 2);
    uint32_t n = 0;
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(a->items.at[i]);
        if (s)
            names[n++] = s->value;
    }
    if (texture_wanted(b->target))
        names[n] = "images";
    return names;
}

/* What the largest kernels ask of a device: threads of a block, bytes of its local memory. */
typedef struct demand {
    int64_t threads, local;
} demand;

/* Work items of a group, where all three extents are constant; else 1. */
static int64_t
threads_of(const tnk_kernel *k)
{
    int64_t threads = 1, n;
    for (int i = 0; i < 3; i++)
        threads *= k->block[i] && tn_int_value(k->block[i], &n) ? n : 1;
    return threads;
}

/* The kernel added last, and the helpers that came with it, ask no more of a device than the target says. */
static bool
check(tnk_build *b, const opencl_limits *l, tnk_source *src, const tnk_kernel *k, size_t *helpers,
      demand *most)
{
    tn_ctx *ctx = b->ctx;
    const tn_node *attrs = b->target->attrs;
    int64_t threads = threads_of(k),
            allowed = tn_dict_int(attrs, "max_threads_per_block", INT64_MAX), local;
    if (threads > allowed) {
        tn_error(ctx, k->func->loc, TNB_UNSUPPORTED,
                 "kernel '%s': its groups have %lld work items, the target allows %lld", k->name,
                 (long long)threads, (long long)allowed);
        tnb_diag_hint(tn_diags(ctx), "another schedule, or set max_threads_per_block in the "
                                     "target's section to what the device has");
        return false;
    }
    if (!opencl_verify(ctx, k->func, k->name, tnk_source_last(src), l, &local))
        return false;
    tnb_buf header = {0};
    tnk_source_header(src, &header);
    bool ok = header.n == *helpers ||
              opencl_verify(ctx, k->func, k->name, header.s ? header.s : "", l, NULL);
    *helpers = header.n;
    tnb_buf_free(&header);
    most->threads = threads > most->threads ? threads : most->threads;
    most->local = local > most->local ? local : most->local;
    return ok;
}

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    (void)self;
    tn_ctx *ctx = b->ctx;
    tnk_source *src = tnk_source_new(ctx, &opencl_dialect);
    opencl_limits limits = {features_of(b), tn_dict_int(b->target->attrs,
                                                        "max_shared_memory_per_block", INT64_MAX)};
    tnk_source_allow(src, limits.features);
    demand most = {0};
    size_t helpers = 0;
    texture_demand images = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (!is_scheduled(ctx, &kernels[i]) || !tnk_source_add(src, &kernels[i]) ||
            !check(b, &limits, src, &kernels[i], &helpers, &most))
            return TNB_UNSUPPORTED;
        texture_note_demand(&images, &kernels[i]);
        if (b->keep_source)
            kernels[i].source = tnb_strdup(tn_arena(ctx), tnk_source_last(src));
        if (b->progress)
            b->progress(b->progress_user, i + 1, n);
    }
    TNB_VEC(const tn_node *) used = {0};
    for (int i = 0; i < N_KNOWN_FEATURES; i++)
        if (tnk_source_uses(src, known_features[i]))
            TNB_PUSH(tn_arena(ctx), used, tn_string(ctx, known_features[i]));
    if (most.threads > 1)
        TNB_PUSH(tn_arena(ctx), used,
                 tn_string(ctx, tn_strf(ctx, "group_size>=%lld", (long long)most.threads)));
    if (most.local)
        TNB_PUSH(tn_arena(ctx), used,
                 tn_string(ctx, tn_strf(ctx, "local_memory>=%lld", (long long)most.local)));
    const tn_node *sizes[TEXTURE_MAX_FEATURES];
    for (uint32_t i = 0, m = texture_features(ctx, &images, sizes); i < m; i++)
        TNB_PUSH(tn_arena(ctx), used, sizes[i]);
    tnb_buf text = {0};
    tnk_source_text(src, &text);
    *out =
        (tnk_code){.format = "opencl-c",
                   .bytes = tnb_dup(tn_arena(ctx), text.s ? text.s : "", text.n),
                   .n_bytes = text.n,
                   .requires_ = tn_dictv(ctx, "features",
                                         tn_array_of(ctx, tn_list_of(ctx, used.at, used.n)), NULL)};
    tnb_buf_free(&text);
    return TNB_OK;
}

const tnk_codegen opencl_codegen = {
    .size = sizeof(tnk_codegen),
    .name = "opencl",
    .build = build,
};
