/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of the cpu target: what happens to a module, in order. An INI file may change any of it:
 *
 *     [pipeline cpu]
 *     insert.mine = after FuseTIR: MyPass{level=2}
 *
 * Names with @ stand for lists that targets share: tenon/kit/lists.h. `tenon show pipeline cpu` shows the passes.
 */
#include "cpu.h"

const char *const cpu_library_dispatch[] = {
    NULL,
};

const char *const cpu_legalize[] = {
    "FoldBatchNorm",
    "FakeQuantizationToInteger",
    "BlockLayouts",
    "BlockProducts",
    "LegalizeOps",
    "DeadCodeElimination",
    "AnnotateTIROpPattern",
    "FoldConstant",
    "FuseOps",
    "FuseTIR",
    "ApplyDefaultSchedule{rules=[Finished,Transpose,Elementwise,Recurrent,Dot,Conv2d,Matmul,"
    "Softmax,"
    "Reduction,Pool,GEMV,Fallback]}",
    NULL,
};

const char *const cpu_finalize[] = {
    "@generic",
    NULL,
};

/* From a scheduled tensor program to what codegen.c reads. */
const char *const cpu_lower[] = {
    "LowerInitBlock",
    "LowerMatchBuffer",
    "ConvertBlocksToOpaque",
    "Simplify",
    "LowerIndexChecks",
    "PlanAndUpdateBufferAllocationLocation",
    "CompactBufferAllocation",
    "FlattenBuffer",
    "Simplify",
    "HoistIfThenElse", /* before an inner loop has statements beside it */
    "WidenLoop",
    "LoopPartition",
    "VectorizeLoop",
    "UnrollLoop",
    "Simplify",
    "HoistIfThenElse",
    "RemoveNoOp",
    "LowerIntrin",
    "CommonSubexprElim",
    NULL,
};
