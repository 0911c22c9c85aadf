/* SPDX-License-Identifier: Apache-2.0 */
/* Random tensor programs, in the forms that the rules for GPUs are for: of extents that are odd, 1, empty, symbolic, and of
 * several dtypes. */
#ifndef TESTS_KIT_GPU_PROGRAMS_H
#define TESTS_KIT_GPU_PROGRAMS_H

#include "tenon/kit/rule.h"
#include "tenon/kit/te.h"

enum { GPU_MOST = 70 }; /* of an extent that has no bound */

typedef struct gpu_program {
    tn_ctx *ctx;
    tnk_te *te;
    tnb_dtype d;
    const tn_expr *dim[4]; /* extents, some symbolic */
    int64_t value[4], bound[4];
    const tn_node *bounds; /* of some that are symbolic, as the function says */
    bool symbolic, empty;  /* some extent is symbolic; 0 */
    const tn_node *dims;   /* values by name, for tn_random_args */
    bool coarse;           /* some buffer is float16 */
    bool in_blocks;        /* some loop is bound to thread blocks before a rule comes */
    const char *name;
    const tn_node *func;
} gpu_program;

/* From TENON_SEED, or always the same; printed. */
void
gpu_programs_seed(void);
/* A random number less than n. */
uint32_t
gpu_below(uint32_t n);
/* func: NULL after an error was recorded. */
void
gpu_program_draw(tn_ctx *ctx, gpu_program *p);
/* What a rule makes of the program, with the parameters that it prefers or, *tuned, some that a tuner might choose. */
const tn_node *
gpu_apply(tn_ctx *ctx, const tnk_rule *rule, const tn_node *func, const tn_target *target,
          bool *tuned);

#endif
