/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the schedule rules for GPUs. */
#include "rules.h"

const tnk_rule *const tnk_gpu_rules[TNK_N_GPU_RULES + TNK_N_GPU_FURTHER_RULES] = {
#define GPU_RULE(id) &tnk_rule_gpu_##id,
#include "rules.def"
#undef GPU_RULE
    &tnk_rule_gpu_matmul_mma, &tnk_rule_gpu_matmul_registers, &tnk_rule_gpu_panels};
