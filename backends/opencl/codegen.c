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

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    (void)self;
    tn_ctx *ctx = b->ctx;
    tnk_source *src = tnk_source_new(ctx, tnk_dialect_find("opencl"));
    for (uint32_t i = 0; i < n; i++) {
        if (!tnk_source_add(src, &kernels[i]))
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
