/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of the gpu_generic target: what happens to a module, in order. An INI file may
 * change any of it:
 *
 *     [pipeline gpu_generic]
 *     insert.mine = before library_dispatch: MyPass{level=2}
 *     legalize = LegalizeOps, FuseOps, FuseTIR
 *     drop = FoldConstant
 *
 * Names with @ stand for lists that targets share: tenon/kit/lists.h. `tenon show pipeline gpu_generic` shows the passes.
 */
#include "gpu_generic.h"

/* Key operators to kernels made for them. */
const char *const gpu_generic_library_dispatch[] = {
    "@gpu_dispatch",
    NULL,
};

/* Tensor programs for everything else, fused and on threads. */
const char *const gpu_generic_legalize[] = {
    "@tensor_programs", "DeadCodeElimination", "FallbackKernels", "@gpu_schedule", NULL,
};

/* Memory, shapes and calls made explicit; then each launch a function of its own. */
const char *const gpu_generic_finalize[] = {
    "@generic",
    "SplitHostDevice",
    NULL,
};

/* From a scheduled tensor program to what a code generator reads. */
const char *const gpu_generic_lower[] = {
    "@gpu_lower",
    NULL,
};
