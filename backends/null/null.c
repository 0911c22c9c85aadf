/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The null backend, compiler half: the descriptor. Lists of passes: pipeline.c. Code: codegen.c. */
#include "null.h"

static const char *const kinds[] = {"null", NULL};

static const tn_attr_schema attrs[] = {TNK_ATTR_CHECK_INDICES, {0}};

static const tn_target_kind null_kind = {
    .base.size = sizeof(tn_target_kind),
    .base.name = "null",
    .base.doc =
        "The smallest complete backend: kernels run on a little stack machine. For teaching, "
        "copying and tests.",
    .kinds = kinds,
    .attrs = attrs,
    .library_dispatch = null_library_dispatch,
    .legalize = null_legalize,
    .finalize = null_finalize,
    .lower = null_lower,
    .codegen = &null_codegen,
    .device = "null",
};
static const tn_target_kind *const targets[] = {&null_kind};

TN_PLUGIN(null, "0.1.0", "Apache-2.0 OR MIT-0", "the smallest complete backend", .targets = targets,
          .n_targets = 1);
