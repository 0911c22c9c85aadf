/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of the cuda target: what happens to a module, in order. An INI file may change any
 * of it:
 *
 *     [pipeline cuda]
 *     insert.mine = before library_dispatch: MyPass{level=2}
 *     legalize = LegalizeOps, FuseOps, FuseTIR
 *     drop = FoldConstant
 *
 * Names with @ stand for lists that targets share: tenon/kit/lists.h. `tenon show pipeline cuda` shows the passes.
 */
#include "cuda.h"

#include "tenon/kit/lists.h"

/* Key operators to kernels and libraries made for them. */
const char *const cuda_library_dispatch[] = {
    "@gpu_dispatch",
    NULL,
};

/* Tensor programs for everything else, fused and on threads: @gpu_schedule with matrix units. */
const char *const cuda_legalize[] = {
    "@tensor_programs",
    "DeadCodeElimination",
    "ApplyDefaultSchedule{rules=[Panels,MatmulMMA,MatmulRegisters," TNK_GPU_RULES "]}",
    NULL,
};

/* Memory, shapes and calls made explicit; then each launch a function of its own. RewriteCUDAGraph does nothing unless
 * the configuration sets relax.backend.use_cuda_graph. */
const char *const cuda_finalize[] = {
    "@memory", "RewriteCUDAGraph", "@vm", "SplitHostDevice", NULL,
};

/* From a scheduled tensor program to what a code generator reads. */
const char *const cuda_lower[] = {
    "@gpu_lower",
    NULL,
};
