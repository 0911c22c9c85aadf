/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical form of attributes, for all operators (see tn_op.complete). */
#ifndef TENON_PLUGINS_OPS_COMPLETE_H
#define TENON_PLUGINS_OPS_COMPLETE_H

#include "tenon/core/op.h"

/* Windows: padding for both sides of all spatial axes, lone values for all axes, out_layout as the
 * data's. */
const tn_node *
complete_attrs(tn_ctx *ctx, const tn_op *op, const tn_node *attrs);

#endif
