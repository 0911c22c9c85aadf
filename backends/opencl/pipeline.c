/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of the opencl target: what happens to a module, in order. An INI file may change any
 * of it:
 *
 *     [pipeline opencl]
 *     insert.mine = before library_dispatch: MyPass{level=2}
 *     legalize = LegalizeOps, FuseOps, FuseTIR
 *     drop = FoldConstant
 */
#include "opencl.h"

/* Qualcomm's library takes what it can when the target has the key `clml`; sampling and sorting have
 * kernels of their own here. */
const char *const opencl_library_dispatch[] = {
    "CLMLDispatch",
    "DispatchSampling",
    "DispatchSortScan",
    NULL,
};

/* Tensor programs for everything else, fused; batch normalization and the like are decomposed
 * first, as upstream does for Adreno. With the key `texture` convolutions work on images. */
const char *const opencl_legalize[] = {
    "DecomposeOpsForInference{only_marked=true}",
    "TextureLayout",
    "LegalizeOps",
    "AnnotateTIROpPattern",
    "FoldConstant",
    "FuseOps",
    "FuseTIR",
    "TextureScopes",
    "DeadCodeElimination",
    "ApplyDefaultSchedule{rules=[opencl.Texture,Matmul,LowBatchGEMV,GEMV,Reduction,"
    "RMSNorm,GeneralReduction,Transpose,Fallback]}",
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
    "LowerCrossThreadReduction",
    "LowerInitBlock",
    "LowerMatchBuffer",
    "ConvertBlocksToOpaque",
    "Simplify",
    "LowerIndexChecks",
    "ThreadSync",
    "UnifyThreadBinding",
    "PlanAndUpdateBufferAllocationLocation",
    "CompactBufferAllocation",
    "FlattenBuffer",
    "PlanSharedMemory",
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
