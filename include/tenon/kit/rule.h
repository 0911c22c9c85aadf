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
    tnb_entry base; /* name: "cpu.Matmul" */
    /* The scheduled PrimFunc; NULL: not for this rule (nothing recorded), or an error was recorded.
     */
    const tn_node *(*apply)(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target,
                            void *self);
    void *self;
    /* Names of the attributes of a target that it goes by; ends with NULL. NULL: none. */
    const char *const *attrs;
} tnk_rule;

/* ---- parameters that can be tuned ---- */
/* A number that a rule goes by and that measuring may choose better: what the tuner's database says
 * for the function that is being scheduled, if that is one of the options; otherwise `preferred`,
 * which need not be one of them. A rule that asks for the same name again, for another attempt at
 * the same function, gets the same answer where that is an option.
 *
 *     static const int64_t sizes[] = {64, 128, 256};
 *     threads = tnk_rule_choice(ctx, "threads", sizes, 3, 256);
 *
 * Names need to be unique within a rule. Options may depend on what was chosen before, and so may
 * which parameters are asked for; but every combination has to give a schedule that is right, or
 * none (NULL without an error). */
TNB_EXPORT int64_t
tnk_rule_choice(tn_ctx *ctx, const char *name, const int64_t *options, uint32_t n,
                int64_t preferred);

/* Who answers. `choose` is asked once for each call of tnk_rule_choice. */
typedef struct tnk_chooser {
    int64_t (*choose)(void *user, const char *name, const int64_t *options, uint32_t n,
                      int64_t preferred);
    void *user;
} tnk_chooser;
/* Borrowed until the next call; NULL: everything is as preferred. Returns the one before. */
TNB_EXPORT const tnk_chooser *
tnk_rule_set_chooser(tn_ctx *ctx, const tnk_chooser *c);

/* The largest value that an extent within a PrimFunc can have: its own if it is constant, else what the
 * function's attribute tir_var_upper_bound ({"n": 8}) makes of it; -1: not known. ApplyDefaultSchedule
 * adds to that attribute what all callers of a function promise. */
TNB_EXPORT int64_t
tnk_upper_bound(tn_ctx *ctx, const tn_node *prim_func, const tn_expr *extent);

/* The rules for GPUs, "gpu.Fallback" and so on, which the plugin `tir` offers. They take functions
 * for targets with the key `gpu` alone. Behind those for all of them stand gpu.MatmulMMA, for targets that say by the attribute
 * matrix_units which dtypes they multiply by mma of PTX (tnk_mma_intrins), gpu.MatmulRegisters, for large products of float32, and gpu.Panels, for packed matrices in
 * panels of rows. */
enum { TNK_N_GPU_RULES = 8, TNK_N_GPU_FURTHER_RULES = 3 };
TNB_EXPORT extern const tnk_rule *const tnk_gpu_rules[TNK_N_GPU_RULES + TNK_N_GPU_FURTHER_RULES];

#ifdef __cplusplus
}
#endif
#endif
