/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of the opencl target: what happens to a module, in order. An INI file may change any
 * of it:
 *
 *     [pipeline opencl]
 *     insert.mine = before library_dispatch: MyPass{level=2}
 *     legalize = LegalizeOps, FuseOps, FuseTIR
 *     drop = FoldConstant
 *
 * Names with @ stand for lists that targets share: tenon/kit/lists.h. `tenon show pipeline opencl` shows the passes.
 */
#include "opencl.h"
#include "tenon/kit/lists.h"

/* Qualcomm's library takes what it can when the target has the key `clml`; sampling and sorting have
 * kernels of their own here. */
const char *const opencl_library_dispatch[] = {
    "CLMLDispatch",
    "@gpu_dispatch",
    NULL,
};

/* Tensor programs for everything else, fused; batch normalization and the like are decomposed
 * first, as upstream does for Adreno. With the key `texture` convolutions work on images. */
const char *const opencl_legalize[] = {
    "DecomposeOpsForInference{only_marked=true}",
    "TextureLayout",
    "@tensor_programs",
    "TextureScopes",
    "DeadCodeElimination",
    "ApplyDefaultSchedule{rules=[Texture," TNK_GPU_RULES "]}",
    NULL,
};

/* Memory, shapes and calls made explicit; then each launch a function of its own. */
const char *const opencl_finalize[] = {
    "@generic",
    "SplitHostDevice",
    NULL,
};

/* From a scheduled tensor program to what a code generator reads. */
const char *const opencl_lower[] = {
    "@gpu_lower",
    NULL,
};
