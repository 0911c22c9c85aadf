/* SPDX-License-Identifier: Apache-2.0 */
/* What places tensors in an arena: memory_arena.c, and memory_sweep.c where there are too many. */
#ifndef TENON_PLUGINS_TRANSFORM_MEMORY_ARENA_H
#define TENON_PLUGINS_TRANSFORM_MEMORY_ARENA_H

#include "memory_plan.h"

typedef struct memory_item {
    memory_token *t;
    uint32_t first, last;       /* times of its life, from the start of the arena's first item */
    int64_t need, offset, kept; /* bytes, aligned; where in this attempt, and in the best one */
    double key;
    uint32_t seen;
} memory_item;

/* Places the items, which are in order of `first`, in one sweep over time; sets `kept`. The bytes
 * taken. */
int64_t
memory_sweep(tnb_arena *arena, memory_item *items, uint32_t n);

#endif
