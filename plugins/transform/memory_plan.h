/* SPDX-License-Identifier: Apache-2.0 */
/* What StaticPlanBlockMemory plans: one token an allocation, with its size and the bindings between
 * which it is alive. */
#ifndef TENON_PLUGINS_TRANSFORM_MEMORY_PLAN_H
#define TENON_PLUGINS_TRANSFORM_MEMORY_PLAN_H

#include "tenon/core/pass.h"

typedef struct memory_storage memory_storage;

typedef struct memory_token {
    const tn_node *var; /* the variable bound to the allocation */
    const tn_call *alloc;
    const tn_node *block; /* binding block it stands in */
    const tn_node
        *branch;         /* If branch it stands in; NULL: none. Memory is shared within one only */
    const tn_expr *size; /* bytes; simplified */
    int64_t bytes;       /* the size, or its upper bound; -1: unbounded */
    int64_t device;
    const char *scope;
    tnb_dtype dtype;
    uint32_t first, last; /* binding numbers; last == first when nobody uses it */
    uint32_t uses;
    bool discarded; /* stays a plain allocation */
    bool output;    /* a function result with storage of its own
                       (relax.memory_plan_dynamic_func_output) */
    /* set by the plan */
    memory_storage *storage; /* NULL: not planned */
    int64_t offset;
} memory_token;

struct memory_storage {
    const tn_expr *size;
    int64_t bytes; /* -1: symbolic, `size` holds it */
    int64_t device;
    const char *scope;
    tnb_dtype dtype;
    const tn_node *branch;
    const tn_node *var;         /* made by the rewriter */
    const memory_token *before; /* the storage is allocated before this token's allocation */
};

typedef struct memory_tokens {
    memory_token **at; /* in order of allocation */
    uint32_t n;
} memory_tokens;

/* Finds the tokens of a function and decides which stay plain allocations. False after recording an
 * error. */
TNB_MUST_CHECK bool
memory_find_tokens(tn_ctx *ctx, const tn_module *m, const tn_function *fn, memory_tokens *out);

/* Upstream's plan: storages reused one tensor at a time. Needs the order of uses, hence a second
 * walk over the bindings. */
void
memory_plan_upstream(tn_ctx *ctx, memory_tokens *tokens);
/* One storage for each device and scope; tokens placed at offsets so that those alive together do
 * not overlap. Adds up what the storages take, and what no plan can go below: the largest sum of
 * tensors alive at one time. */
typedef struct memory_totals {
    int64_t planned, bound;
    uint32_t tensors;
} memory_totals;
void
memory_plan_arena(tn_ctx *ctx, memory_tokens *tokens, memory_totals *totals);

#endif
