/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of the plugin `dnnl`, compiler half: it needs nothing of oneDNN itself. */
#include "dnnl.h"

static const tn_pass *const passes[] = {&dnnl_dispatch};
static const tnk_external *const externals[] = {&dnnl_external};

TN_PLUGIN(dnnl, "0.1.0", "Apache-2.0", "operators for oneDNN", .passes = passes, .n_passes = 1,
          .patterns = dnnl_patterns, .n_patterns = DNNL_N_PATTERNS, .externals = externals,
          .n_externals = 1);
