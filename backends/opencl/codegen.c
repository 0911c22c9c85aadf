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
#include "opencl.h"

#include "tenon/kit/emit.h"

/* A tensor program that no rule has scheduled would run on one thread, if at all. */
static bool
is_scheduled(tn_ctx *ctx, const tnk_kernel *k)
{
    if (k->grid[0] || k->block[0])
        return true;
    tn_error(ctx, k->func->loc, TNB_UNSUPPORTED,
             "tensor program '%s' has no schedule: none of its loops is bound to threads", k->name);
    tnb_diag_note(tn_diags(ctx), "no rule of ApplyDefaultSchedule in the list `legalize` takes it");
    tnb_diag_hint(tn_diags(ctx),
                  "add a rule to the list: [pipeline opencl] in an INI file, rules of "
                  "a plugin; tenon show pipeline opencl");
    return false;
}

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    (void)self;
    tn_ctx *ctx = b->ctx;
    tnk_source *src = tnk_source_new(ctx, tnk_dialect_find("opencl"));
    for (uint32_t i = 0; i < n; i++) {
        if (!is_scheduled(ctx, &kernels[i]) || !tnk_source_add(src, &kernels[i]))
            return TNB_UNSUPPORTED;
        if (b->keep_source)
            kernels[i].source = tnb_strdup(tn_arena(ctx), tnk_source_last(src));
        if (b->progress)
            b->progress(b->progress_user, i + 1, n);
    }
    tnb_buf text = {0};
    tnk_source_text(src, &text);
    *out = (tnk_code){.format = "opencl-c",
                      .bytes = tnb_dup(tn_arena(ctx), text.s ? text.s : "", text.n),
                      .n_bytes = text.n,
                      .requires_ = tn_dictv(ctx, "features", tn_array_of(ctx, (tn_list){0}), NULL)};
    tnb_buf_free(&text);
    return TNB_OK;
}

const tnk_codegen opencl_codegen = {
    .size = sizeof(tnk_codegen),
    .name = "opencl",
    .build = build,
};
