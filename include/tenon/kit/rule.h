/* SPDX-License-Identifier: Apache-2.0 */
/* Schedule rules: ApplyDefaultSchedule tries them in order on each unscheduled PrimFunc; the first
 * that takes the function wins. */
#ifndef TENON_KIT_RULE_H
#define TENON_KIT_RULE_H

#include "tenon/core/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnk_rule {
    uint32_t size;
    const char *name; /* "cpu.Matmul" */
    const char *doc;
    /* The scheduled PrimFunc; NULL: not for this rule (nothing recorded), or an error was recorded.
     */
    const tn_node *(*apply)(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target,
                            void *self);
    void *self;
    /* Names of the attributes of a target that it goes by; ends with NULL. NULL: none. */
    const char *const *attrs;
} tnk_rule;

/* The rules for GPUs, "gpu.Fallback" and so on, which the plugin `tir` offers. They take functions
 * for targets with the key `gpu` alone. */
enum { TNK_N_GPU_RULES = 8 };
TNB_EXPORT extern const tnk_rule *const tnk_gpu_rules[TNK_N_GPU_RULES];

#ifdef __cplusplus
}
#endif
#endif
