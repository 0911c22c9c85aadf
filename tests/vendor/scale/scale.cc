// SPDX-License-Identifier: Apache-2.0 OR MIT-0
// The scale plugin, compiler half: what scale.by computes. In C++: nested designators are braces, in the order of the members.
#include "tenon/core/eval.h"
#include "tenon/core/registry.h"

static const tn_meaning by = {
    .base = {sizeof(tn_meaning), "scale.by", "x * 2"},
    .text = "@R.function\n"
            "def meaning(x: R.Tensor((\"n\",), \"float32\")):\n"
            "    with R.dataflow():\n"
            "        y = R.multiply(x, R.const(2.0, \"float32\"))\n"
            "        R.output(y)\n"
            "    return y\n",
};
static const tn_meaning *const meanings[] = {&by};

TN_PLUGIN(scale, "0.1.0", "Apache-2.0 OR MIT-0", "what the function scale.by means",
          .meanings = meanings, .n_meanings = 1);
