/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of the gpu_generic target: what happens to a module, in order. An INI file may
 * change any of it:
 *
 *     [pipeline gpu_generic]
 *     insert.mine = before library_dispatch: MyPass{level=2}
 *     legalize = LegalizeOps, FuseOps, FuseTIR
 *     drop = FoldConstant
 */
#include "gpu_generic.h"

/* Key operators to kernels made for them. */
const char *const gpu_generic_library_dispatch[] = {
    "DispatchSampling",
    "DispatchSortScan",
    NULL,
};

/* Tensor programs for everything else, fused. */
const char *const gpu_generic_legalize[] = {
    "LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR", NULL,
};

/* Memory, shapes and calls made explicit. */
const char *const gpu_generic_finalize[] = {
    "@generic",
    NULL,
};

/* From a scheduled tensor program to what a code generator reads. */
const char *const gpu_generic_lower[] = {
    "LowerInitBlock",
    "LowerMatchBuffer",
    "ConvertBlocksToOpaque",
    "Simplify",
    "LowerIndexChecks",
    "PlanAndUpdateBufferAllocationLocation",
    "CompactBufferAllocation",
    "FlattenBuffer",
    "Simplify",
    "LoopPartition",
    "VectorizeLoop",
    "UnrollLoop",
    "Simplify",
    "HoistIfThenElse",
    "RemoveNoOp",
    "NarrowDataType",
    "CommonSubexprElim",
    NULL,
};
