/* SPDX-License-Identifier: Apache-2.0 */
/* How operators take part in ConvertLayout: the functions in the column `.layout` of the tables. */
#ifndef TENON_PLUGINS_OPS_LAYOUT_RULES_H
#define TENON_PLUGINS_OPS_LAYOUT_RULES_H

#include "tenon/core/op.h"

#define LAYOUT_RULE(name) bool layout_##name(tn_layouts *q);
LAYOUT_RULE(same)    /* one tensor; axes do not matter */
LAYOUT_RULE(dropout) /* the same, with two results */
LAYOUT_RULE(binary)
LAYOUT_RULE(fma)
LAYOUT_RULE(conv)
LAYOUT_RULE(pool)
LAYOUT_RULE(resize)
LAYOUT_RULE(reduce)
LAYOUT_RULE(along_axis) /* attribute 'axis'; further arguments as they are */
LAYOUT_RULE(quantize)   /* the same; with one scale and zero point any */
LAYOUT_RULE(norm)       /* 'axis', 'axes', 'channel_axis'; parameters as written */
LAYOUT_RULE(gather)     /* all of one layout; attribute 'axis' */
LAYOUT_RULE(scatter)
LAYOUT_RULE(scatter_nd)
LAYOUT_RULE(concat)
LAYOUT_RULE(stack)
LAYOUT_RULE(split)
LAYOUT_RULE(expand_dims)
LAYOUT_RULE(squeeze)
LAYOUT_RULE(permute_dims)
LAYOUT_RULE(repeat)
LAYOUT_RULE(tile)
LAYOUT_RULE(strided_slice)
#undef LAYOUT_RULE

#endif
