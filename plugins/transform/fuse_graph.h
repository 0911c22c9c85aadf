/* SPDX-License-Identifier: Apache-2.0 */
/* The fusion graph: values of a function and how their consumers use them; its post-dominator tree;
 * and the partition of its nodes into groups that become one kernel.
 *
 * The method is that of TVM's operator fusion: a node may be fused into its immediate
 * post-dominator when every path between them consists of patterns that one loop nest can hold.
 */
#ifndef TENON_PLUGINS_TRANSFORM_FUSE_GRAPH_H
#define TENON_PLUGINS_TRANSFORM_FUSE_GRAPH_H

#include "tenon/core/pass.h"

/* ORDER PATTERN: upstream's numbers; larger is harder to fuse. */
typedef enum fuse_pattern {
    FUSE_ELEMWISE = 0,
    FUSE_BROADCAST = 1,
    FUSE_INJECTIVE = 2,
    FUSE_COMM_REDUCE = 3,
    FUSE_OUT_ELEMWISE_FUSABLE = 4,
    FUSE_TUPLE = 7,
    FUSE_OPAQUE = 8
} fuse_pattern;

typedef struct fuse_edge {
    uint32_t to; /* consumer */
    fuse_pattern pattern;
} fuse_edge;

typedef struct fuse_node {
    const tn_node *ref;     /* Var or Constant */
    const tn_node *binding; /* NULL for parameters and constants */
    fuse_pattern pattern;
    bool external; /* used in a way that the graph does not show */
    TNB_VEC(fuse_edge) out;
} fuse_node;

typedef struct fuse_graph {
    tnb_arena *arena;
    TNB_VEC(fuse_node) nodes; /* in order of definition */
    tnb_ptrmap index;         /* ref -> node number + 1 */
} fuse_graph;

typedef struct fuse_group {
    uint32_t parent; /* union-find; itself for a root */
    fuse_pattern pattern;
    bool anchored; /* holds an out-elementwise-fusable node */
    uint32_t size; /* nodes, of a root */
} fuse_group;

void
fuse_graph_init(fuse_graph *g, tnb_arena *arena);
/* Adds a node; its number. */
uint32_t
fuse_graph_add(fuse_graph *g, const tn_node *ref, const tn_node *binding, fuse_pattern p);
void
fuse_graph_edge(fuse_graph *g, uint32_t from, uint32_t to, fuse_pattern p);
/* The number of the node of `ref`, or UINT32_MAX. */
uint32_t
fuse_graph_find(const fuse_graph *g, const tn_node *ref);

/* One group a node, merged as far as the rules and max_depth (nodes of a group) allow. In the
 * arena. */
fuse_group *
fuse_graph_partition(fuse_graph *g, uint32_t max_depth);
uint32_t
fuse_group_root(fuse_group *groups, uint32_t i);

#endif
