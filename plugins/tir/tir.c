/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of the plugin `tir`: the tensor-program passes of kit, its schedule rules for GPUs and the tensor intrinsics that
 * these take, under their names; and the dialect of C that targets share whose kernels the host's compiler makes. */
#include "c.h"
#include "tenon/kit/passes.h"
#include "tenon/kit/rule.h"
#include "tenon/kit/tensor_intrin.h"

static const tnk_dialect *const dialects[] = {&c_dialect};

TN_PLUGIN(tir, "0.1.0", "Apache-2.0",
          "tensor-program passes: lowering and scheduling, the dialect of C",
          .passes = tnk_tir_passes, .n_passes = TNK_N_TIR_PASSES, .rules = tnk_gpu_rules,
          .n_rules = TNK_N_GPU_RULES + TNK_N_GPU_FURTHER_RULES, .dialects = dialects,
          .n_dialects = 1, .tensor_intrins = tnk_mma_intrins,
          .n_tensor_intrins = TNK_N_MMA_INTRINS);
