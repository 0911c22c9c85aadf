/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of the cuda target: what happens to a module, in order. An INI file may change any
 * of it:
 *
 *     [pipeline cuda]
 *     insert.mine = before library_dispatch: MyPass{level=2}
 *     legalize = LegalizeOps, FuseOps, FuseTIR
 *     drop = FoldConstant
 */
#include "cuda.h"

/* Key operators to kernels and libraries made for them. */
const char *const cuda_library_dispatch[] = {
    "DispatchSampling",
    "DispatchSortScan",
    NULL,
};

/* Tensor programs for everything else, fused. */
const char *const cuda_legalize[] = {
    "LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR", NULL,
};

/* Memory, shapes and calls made explicit; RewriteCUDAGraph does nothing unless the configuration
 * sets relax.backend.use_cuda_graph. */
const char *const cuda_finalize[] = {
    "RewriteDataflowReshape",
    "ToNonDataflow",
    "RemovePurityChecking",
    "CallTIRRewrite",
    "StaticPlanBlockMemory{mode=arena}",
    "RewriteCUDAGraph",
    "LowerAllocTensor",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
    "ComputePrimValue",
    "VMShapeLower",
    "AttachGlobalSymbol",
    NULL,
};

/* From a scheduled tensor program to what a code generator reads. */
const char *const cuda_lower[] = {
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
