/* SPDX-License-Identifier: Apache-2.0 */
/* How one block's accesses run through memory: axes.c finds it out, transpose.c acts on it. */
#ifndef TENON_BACKENDS_CPU_AXES_H
#define TENON_BACKENDS_CPU_AXES_H

#include "rules.h"

enum { CPU_MAX_AXES = 12, CPU_MAX_LOADS = 16 };

/* The result as a tensor of axes, outermost first: its dimensions, or parts of those that an access takes apart
 * (c // 16 and c % 16). Neighbours that every access runs through as one are joined in a group. */
typedef struct cpu_axes {
    tn_ctx *ctx;
    tn_arith *arith;
    const tn_buffer_store *store; /* in terms of the axes */
    uint32_t n, n_groups, n_loads;
    const tn_expr *var[CPU_MAX_AXES], *extent[CPU_MAX_AXES];
    uint32_t first[CPU_MAX_AXES + 1];  /* axis that a group begins with; behind the last: n */
    const tn_expr *size[CPU_MAX_AXES]; /* of a group */
    const tn_buffer_load *load[CPU_MAX_LOADS]; /* each once */
    /* elements between neighbours along an axis; NULL: not the same everywhere */
    const tn_expr *step[CPU_MAX_LOADS][CPU_MAX_AXES], *place[CPU_MAX_AXES];
    bool own[CPU_MAX_AXES]; /* the value itself depends on the axis, not only what is loaded */
    bool apart;             /* some dimension was taken apart */
    bool lazy;              /* something is computed on a condition only */
} cpu_axes;

/* Of a block that stores one element at its iterators. False: not of that form, or empty. */
bool
cpu_axes_find(cpu_axes *a, tn_ctx *ctx, const tnk_item *block);
/* An expression in terms of axes at a place in each group. */
const tn_expr *
cpu_axes_at(const cpu_axes *a, const tn_expr *e, const tn_expr *const *place);
/* Elements between neighbours along a group; false: not constant. */
bool
cpu_axes_step(const cpu_axes *a, uint32_t load, uint32_t group, int64_t *step);

#endif
