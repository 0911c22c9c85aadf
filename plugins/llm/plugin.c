/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of the plugin `llm`: what MLC-LLM modules need besides a target's own passes. */
#include "llm.h"
#include "dequantize.h"

#include "tenon/core/registry.h"

static const tn_pass *const passes[] = {
#define LLM_PASS(name) &llm_##name,
#include "passes.def"
#undef LLM_PASS
};

static const tnk_fusion_pattern *const patterns[] = {&llm_dequantize_matmul, &llm_dequantize_take};

TN_PLUGIN(llm, "0.1.0", "Apache-2.0",
          "passes that large language models add to a target's pipeline", .passes = passes,
          .n_passes = sizeof passes / sizeof *passes, .patterns = patterns,
          .n_patterns = sizeof patterns / sizeof *patterns);
