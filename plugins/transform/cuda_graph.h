/* SPDX-License-Identifier: Apache-2.0 */
/* What can be captured in a CUDA graph: shared by RewriteCUDAGraph and its analysis. */
#ifndef TENON_PLUGINS_CUDA_GRAPH_H
#define TENON_PLUGINS_CUDA_GRAPH_H

#include "tenon/core/pass.h"

/* Consecutive bindings of one block, [first, last]. */
typedef struct cuda_graph_region {
    uint32_t block, first, last;
    uint32_t kernels;
} cuda_graph_region;

/* A storage that may live as long as the program. */
typedef struct cuda_graph_storage {
    const tn_expr *var;
    const tn_call *call; /* relax.memory.alloc_storage */
    int64_t bytes;
    const char *scope;
    uint32_t slot; /* in the common allocation, filled by the pass */
} cuda_graph_storage;

typedef struct cuda_graph_plan {
    const char *name;
    const tn_function *func;
    TNB_VEC(cuda_graph_storage) storages;
    TNB_VEC(cuda_graph_region) regions;
    tnb_ptrmap symbols; /* symbolic variables allowed in captured code */
} cuda_graph_plan;

/* One storage of the common allocation. */
typedef struct cuda_graph_slot {
    const char *scope;
    int64_t bytes;
    const tn_call *largest; /* the allocation that it is made like */
} cuda_graph_slot;
typedef TNB_VEC(cuda_graph_slot) cuda_graph_slots;

/* Makes the slots and assigns one to each storage of the plans. */
void
cuda_graph_merge(tn_ctx *ctx, cuda_graph_plan *plans, uint32_t n, cuda_graph_slots *slots);

/* Fills the plan of a function; it stays empty where nothing can be captured. False after recording
 * an error. */
TNB_MUST_CHECK bool
cuda_graph_find(tn_ctx *ctx, const tn_module *m, const char *name, const tn_function *f,
                cuda_graph_plan *plan);

#endif
