/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of the plugin `tir`: the tensor-program passes of kit under their names. */
#include "tenon/kit/passes.h"

TN_PLUGIN(tir, "0.1.0", "Apache-2.0", "tensor-program passes: lowering and scheduling",
          .passes = tnk_tir_passes, .n_passes = TNK_N_TIR_PASSES);
