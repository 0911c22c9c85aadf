/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of the plugin `transform`: graph passes. */
#include "transform.h"

#include "tenon/core/registry.h"

static const tn_pass *const passes[] = {
#define TRANSFORM_PASS(name) &transform_##name,
#include "passes.def"
#undef TRANSFORM_PASS
};

TN_PLUGIN(transform, "0.1.0", "Apache-2.0", "the graph passes", .passes = passes,
          .n_passes = sizeof passes / sizeof *passes);
