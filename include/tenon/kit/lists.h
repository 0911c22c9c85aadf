/* SPDX-License-Identifier: Apache-2.0 */
/* Pass lists that targets share. "@NAME" in a target's list, in an INI file or behind `tenon opt -p` stands for the
 * passes of a list; `tenon show pipeline TARGET` prints them in its place.
 *
 *     const char *const mine_finalize[] = {"@generic", NULL};
 *
 * A target that needs a pass between two of a list names the parts: {"@memory", "RewriteCUDAGraph", "@vm", NULL}.
 */
#ifndef TENON_KIT_LISTS_H
#define TENON_KIT_LISTS_H

#include "tenon/kit/rule.h"

/* The schedule rules for GPUs (tnk_gpu_rules), in the order in which targets try them. */
#define TNK_GPU_RULES \
    "Matmul,LowBatchGEMV,GEMV,Reduction,RMSNorm,GeneralReduction,Transpose,Fallback"

/* LIST(name, passes, what they do) */
#define TNK_PASS_LISTS(LIST)                                                                     \
    LIST("gpu_dispatch", "DispatchSampling, DispatchSortScan",                                   \
         "Sampling, sorting and scans to kernels made for GPUs.")                                \
    LIST("tensor_programs", "LegalizeOps, AnnotateTIROpPattern, FoldConstant, FuseOps, FuseTIR", \
         "Operators to tensor programs, fused.")                                                 \
    LIST("gpu_schedule", "ApplyDefaultSchedule{rules=[" TNK_GPU_RULES "]}",                      \
         "Each tensor program on the threads of a GPU.")                                         \
    LIST("memory",                                                                               \
         "RewriteDataflowReshape, DeadCodeElimination, ToNonDataflow, RemovePurityChecking, "    \
         "CallTIRRewrite, StaticPlanBlockMemory{mode=arena}",                                    \
         "Results allocated before the calls that write them, in one planned block.")            \
    LIST("vm",                                                                                   \
         "LowerAllocTensor, KillAfterLastUse, LowerRuntimeBuiltin, ComputePrimValue, "           \
         "VMShapeLower, AttachGlobalSymbol",                                                     \
         "Allocation, shapes and calls as the virtual machine has them.")                        \
    LIST("generic", "@memory, @vm", "What every target's finalize does.")                        \
    LIST("gpu_lower",                                                                            \
         "LowerCrossThreadReduction, LowerInitBlock, LowerMatchBuffer, "                         \
         "ConvertBlocksToOpaque, Simplify, LowerFragments, LowerIndexChecks, "                   \
         "UniformBarriers, ThreadSync, UnifyThreadBinding, "                                     \
         "PlanAndUpdateBufferAllocationLocation, CompactBufferAllocation, "                      \
         "InjectPermutedLayout, SpecializeWarps, InjectSoftwarePipeline, FlattenBuffer, "        \
         "PlanSharedMemory, "                                                                    \
         "LowerViews, Simplify, LoopPartition, VectorizeLoop, SplitVectors, UnrollLoop, "        \
         "Simplify, InjectPTXAsyncCopy, HoistIfThenElse, RemoveNoOp, NarrowDataType, "           \
         "LowerMath, LowerInt64, WidenArithmetic, WidenStorage, LowerVectorAccess, "             \
         "CommonSubexprElim",                                                                    \
         "A program scheduled for threads, as a code generator for GPUs reads it.")

#endif
