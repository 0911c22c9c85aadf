/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of bindings become private functions: what FuseOps, FuseOpsByPattern and
 * MergeCompositeFunctions share once they know what belongs together.
 *
 *     lv = R.nn.conv2d(x, w)          lv1 = cls.fused_relax_nn_conv2d_relax_nn_relu(x, w)
 *     lv1 = R.nn.relu(lv)
 */
#ifndef TENON_PLUGINS_TRANSFORM_GROUP_FUNCTIONS_H
#define TENON_PLUGINS_TRANSFORM_GROUP_FUNCTIONS_H

#include "tenon/core/builder.h"

/* Bindings of one dataflow block. */
typedef struct group {
    const tn_node *attrs;                    /* of the function, beside Primitive; NULL: none */
    TNB_VEC(const tn_var_binding *) members; /* in order of definition */
    TNB_VEC(const tn_node *) outputs;        /* filled in: variables that others use */
    const tn_expr *gv;                       /* filled in: the function made */
    tn_list args;
} group;

typedef struct grouping {
    tn_ctx *ctx;
    const tn_module *m;
    tn_builder *b;       /* functions are added to its module */
    bool bind_constants; /* constants stay inside the functions; else they become parameters */
    tnb_ptrmap of;       /* variable -> group */
    tnb_ptrmap symbols;  /* symbolic variables defined so far */
} grouping;

void
grouping_init(grouping *g, tn_ctx *ctx, const tn_module *m, tn_builder *b, bool bind_constants);
/* Members are added in order of definition. */
void
grouping_add(grouping *g, group *to, const tn_var_binding *member);
group *
grouping_find(const grouping *g, const tn_node *var); /* NULL: none */
/* The function with a call in place of every group, each as early as the first of its members and
 * what it needs allow. Groups must not depend on each other in a circle. A group that would move
 * readers of a value behind a call that overwrites it is given up. The same pointer when there is
 * none. */
const tn_node *
grouping_rewrite(grouping *g, const tn_function *fn);

/* The name of the codegen that a composite belongs to: "cudnn" of "cudnn.conv2d". NULL, with an
 * error recorded, when the name has no '.'. */
const char *
group_codegen_name(tn_ctx *ctx, const char *composite);
/* `func` without the attribute `key`, its attributes NULL when none is left. */
const tn_node *
group_without_attr(tn_ctx *ctx, const tn_node *func, const char *key);

#endif
