/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts as text: which axis of a tensor lies where. Upper-case letters are axes; a number and a
 * lower-case letter are a block of the axis of that letter: "NCHW", "OHWI", "NCHW4c". Relative
 * layouts take the letters of the order in which a tensor was written: "ABCD", "ACDB", "ABCD4b".
 */
#ifndef TENON_KIT_LAYOUT_H
#define TENON_KIT_LAYOUT_H

#include "tenon/core/build.h"
#include "tenon/core/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TNK_LAYOUT_AXES = 52 };

typedef struct tnk_layout {
    int n;
    char axis[TNK_LAYOUT_AXES];
    int64_t factor[TNK_LAYOUT_AXES]; /* of a block; 0 for an axis */
} tnk_layout;

/* False when the text is no layout: an axis twice, a block without its axis or without a number. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_layout_parse(const char *text, tnk_layout *out);
/* Place of a letter, -1 if absent. */
TNB_EXPORT int
tnk_layout_find(const tnk_layout *l, char axis);
TNB_EXPORT bool
tnk_layout_blocked(const char *text);
/* "ABCD" for 4; NULL above 26. */
TNB_EXPORT const char *
tnk_layout_initial(tn_ctx *ctx, int64_t ndim);
/* `text` with each axis renamed from the letters of `from` to those at the same places of `to`
 * (neither has blocks): ("ACDB", "ABCD", "NCHW") gives "NHWC". NULL when a letter is not there. */
TNB_EXPORT const char *
tnk_layout_rename(tn_ctx *ctx, const char *text, const char *from, const char *to);
/* A tensor of extents `dims` in the layout `from` (without blocks) can be laid out as `to`: the
 * same axes, and no extent known now that a block does not divide. */
TNB_EXPORT bool
tnk_layout_fits(tn_ctx *ctx, const char *from, const char *to, tn_list dims);
/* Where axis number `axis` of a tensor lies in a relative layout; -1 if nowhere. Negative numbers
 * count from the end. */
TNB_EXPORT int
tnk_layout_place(const char *relative, int64_t axis);
/* The indices of a tensor in layout `to` for those, `vars`, in layout `from`: the map of
 * R.layout_transform, over int32 variables. NULL when the axes are not the same. */
TNB_EXPORT const tn_node *
tnk_layout_index_map(tn_ctx *ctx, const char *from, const char *to);

/* The layouts that a call should have: an Array of StringImms as in tn_layouts.desired; NULL: no
 * wish. Calls of operators that have a rule for layouts are asked for in order; what they refer to
 * is as written. */
typedef const tn_node *(*tnk_wanted_layouts)(void *user, tn_ctx *ctx, const tn_call *call);
/* Gives the calls in the module's functions the layouts wanted and carries those through what
 * follows, so that few conversions are needed. The same module if nothing changed; NULL after an
 * error. */
TNB_EXPORT const tn_module *
tnk_convert_layouts(const tn_pass_ctx *pc, const tn_module *m, tnk_wanted_layouts wanted,
                    void *user);

#ifdef __cplusplus
}
#endif
#endif
