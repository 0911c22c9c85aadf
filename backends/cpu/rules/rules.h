/* SPDX-License-Identifier: Apache-2.0 */
/* What the schedule rules of the cpu backend share. */
#ifndef TENON_BACKENDS_CPU_RULES_H
#define TENON_BACKENDS_CPU_RULES_H

#include "../cpu.h"
#include "tenon/core/arith.h"
#include "tenon/core/walk.h"
#include "tenon/kit/schedule.h"

enum { CPU_MAX_BLOCKS = 64, CPU_MAX_LOOPS = 16 };

/* ---- inline.c ---- */
enum { CPU_KEEP_PADDING = 1 /* guarded producers of reductions stay blocks of their own */ };
/* Inlines element-wise blocks whose results are cheap to compute again or read once. */
void cpu_inline_cheap(tnk_sch *s, unsigned flags);
/* Whether the block's value is guarded by a condition (padding). */
bool cpu_is_guarded(const tnk_item *block);

/* ---- nest.c ---- */
/* Fuses the outermost `n` loops as far as it is worth and makes them parallel. */
void cpu_parallel_outer(tnk_sch *s, tnk_item **loops, uint32_t n);
/* Schedules one block on its own: parallel outside, reductions decomposed, vectors inside where that pays. */
void cpu_schedule_block(tnk_sch *s, tnk_item *block, int vector_bytes);
/* Whether no loop around the block was marked or contains another block. */
bool cpu_is_alone(tnk_sch *s, tnk_item *block);
/* Lanes of a dtype in a vector register. */
int64_t cpu_lanes(int vector_bytes, tnb_dtype d);

/* ---- contraction.c ---- */
/* Schedules a function with one sum of products whose result has a rank in the range; NULL: it is none. */
const tn_node *cpu_schedule_contraction(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, uint32_t min_rank,
                                        uint32_t max_rank);

#endif
