/* SPDX-License-Identifier: Apache-2.0 */
/* Code generation of the opencl target: what kernels over images ask of a device. How the accesses are
 * written: emit_image.c. */
#include "texture.h"

#include "tenon/core/build.h"
#include "tenon/kit/emit.h"

static int64_t
product(const tn_buffer *b, uint32_t from, uint32_t to)
{
    int64_t n, p = 1;
    for (uint32_t i = from; i < to; i++)
        p *= tn_int_value(b->shape.at[i], &n) ? n : 1;
    return p;
}

static void
largest(int64_t *a, int64_t b)
{
    *a = b > *a ? b : *a;
}

void
texture_note_demand(texture_demand *d, const tnk_kernel *k)
{
    const tnk_param *p;
    for (uint32_t i = 0; (p = tnk_next_param(k, TNB_PARAM_IMAGE, &i));) {
        const tn_buffer *b = tn_as_buffer(p->buffer);
        uint32_t split[2];
        if (!texture_split(b->scope, b->shape.n, split))
            continue;
        largest(&d->width, product(b, split[1], b->shape.n - 1));
        largest(&d->height, product(b, split[0], split[1]));
        largest(&d->layers, split[0] ? product(b, 0, split[0]) : 0);
    }
}

uint32_t
texture_features(tn_ctx *ctx, const texture_demand *d, const tn_node *out[TEXTURE_MAX_FEATURES])
{
    const struct {
        const char *name;
        int64_t value;
    } all[TEXTURE_MAX_FEATURES] = {{"image_width", d->width},
                                   {"image_height", d->height},
                                   {"image_layers", d->layers}};
    uint32_t n = 0;
    for (uint32_t i = 0; i < TEXTURE_MAX_FEATURES; i++)
        if (all[i].value)
            out[n++] =
                tn_string(ctx, tn_strf(ctx, "%s>=%lld", all[i].name, (long long)all[i].value));
    return n;
}
