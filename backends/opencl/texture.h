/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend: convolutions over images, for targets with the key `texture`. */
#ifndef TENON_BACKENDS_OPENCL_TEXTURE_H
#define TENON_BACKENDS_OPENCL_TEXTURE_H

#include "tenon/core/registry.h"
#include "tenon/kit/codegen.h"
#include "tenon/kit/rule.h"

/* ---- texture_layout.c ---- */
bool
texture_wanted(const tn_target *t);
extern const tn_pass texture_layout;

/* ---- texture_scopes.c ---- */
extern const tn_pass texture_scopes;

/* ---- texture_rule.c ---- */
/* The function in one kernel whose threads store four neighbours at once; NULL: it has no such form. */
const tn_node *
texture_schedule(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target);
extern const tnk_rule texture_rule;

/* ---- emit_image.c ---- */
/* How a tensor of `ndim` dimensions lies in an image of the scope "global.texture", "global.texture-nhwc"
 * or "global.texture-weight" (and anything behind a colon): the last dimension, of 4, is the
 * channels of an element; those before split[0] are its layer (none: the image is no array), up to
 * split[1] its row, the rest its column, each in row-major order. False: not such a scope. */
bool
texture_split(const char *scope, uint32_t ndim, uint32_t split[2]);

/* ---- codegen_image.c ---- */
/* What the largest images of kernels ask of a device. */
typedef struct texture_demand {
    int64_t width, height, layers;
} texture_demand;
void
texture_note_demand(texture_demand *d, const tnk_kernel *k);
/* Features as the device half knows them: "image_width>=64"; the number of strings. */
enum { TEXTURE_MAX_FEATURES = 3 };
uint32_t
texture_features(tn_ctx *ctx, const texture_demand *d, const tn_node *out[TEXTURE_MAX_FEATURES]);

#endif
