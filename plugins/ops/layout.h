/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of tensors such as "NCHW", "OIHW" or "NCHW16c", and the attributes of windows (strides,
 * padding, dilation). */
#ifndef TENON_PLUGINS_OPS_LAYOUT_H
#define TENON_PLUGINS_OPS_LAYOUT_H

#include "infer.h"

/* One character an axis; a lower-case axis is a block of its upper-case one, with a factor. */
typedef struct layout {
    const char *text;
    int n;
    char axis[16];
    int64_t factor[16]; /* of blocks; 0 for others */
} layout;

/* Reads attribute `key` and checks that exactly the upper-case axes of `wanted` occur; false after
 * an error. */
TNB_MUST_CHECK bool
layout_read(tn_ctx *ctx, const tn_call *call, const char *key, const char *wanted, layout *out);
/* Position of an axis, -1 if absent. */
int
layout_find(const layout *l, char axis);
bool
layout_blocked(const layout *l);
/* The extent of an upper-case axis, its block included. */
const tn_expr *
layout_extent(tn_ctx *ctx, const layout *l, tn_list dims, char axis);
/* Whether the extents of blocks are those of the layout of the operand `what`; false after an error. */
TNB_MUST_CHECK bool
layout_fits(tn_ctx *ctx, const tn_call *call, const layout *l, tn_list dims, const char *what);
/* Extents in layout l from those of its upper-case axes, given by `wanted` and `extents`. */
tn_list
layout_dims(tn_ctx *ctx, const layout *l, const char *wanted, const tn_expr *const *extents);

/* The axes "NC" and spatial ones, "OI" and spatial ones, of 1 to 3 spatial axes. */
const char *
layout_data_axes(int n_spatial);
const char *
layout_kernel_axes(int n_spatial);
#define LAYOUT_SPATIAL(axes) ((axes) + 2)

/* Attributes of a window over n spatial axes. Lone values count for all axes; padding begins, then
 * ends. */
typedef struct window {
    int n;
    int64_t stride[3], dilation[3], before[3], after[3];
} window;
bool
window_read(tn_ctx *ctx, const tn_call *call, int n, window *w);
/* The result has an element at least along the axis; if not, `why` says what is wrong. */
bool
window_leaves(tn_ctx *ctx, const tn_call *call, const tn_expr *extent, char axis, const char *why);
/* Attribute with n integers, or one for all axes; false after an error. */
TNB_MUST_CHECK bool
window_ints(tn_ctx *ctx, const tn_call *call, const char *key, int n, int64_t least, int64_t *out);

#define WINDOW_LARGE "the window is larger than the padded data"

#endif
