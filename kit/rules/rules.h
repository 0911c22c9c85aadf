/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of tnk_gpu_rules, one file each. Not installed. */
#ifndef TENON_KIT_RULES_RULES_H
#define TENON_KIT_RULES_RULES_H

#include "tenon/kit/rule.h"

#define GPU_RULE(id) extern const tnk_rule tnk_rule_gpu_##id;
#include "rules.def"
#undef GPU_RULE
extern const tnk_rule tnk_rule_gpu_matmul_mma, tnk_rule_gpu_matmul_registers, tnk_rule_gpu_panels;

#endif
