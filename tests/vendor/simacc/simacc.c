/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The simulated accelerator, compiler half: the descriptor and the lists of passes. */
#include "simacc.h"

static const char *const library_dispatch[] = {NULL};

static const char *const legalize[] = {
    "LegalizeOps", "AnnotateTIROpPattern", "FoldConstant",    "FuseOps",
    "FuseTIR",     "AnnotateTIROpPattern", "FallbackKernels", NULL,
};

static const char *const finalize[] = {"@generic", NULL};

/* From a tensor program to what the C emitter reads: loops over flat buffers, no blocks. */
static const char *const lower[] = {
    "LowerInitBlock",
    "LowerMatchBuffer",
    "ConvertBlocksToOpaque",
    "Simplify",
    "PlanAndUpdateBufferAllocationLocation",
    "CompactBufferAllocation",
    "FlattenBuffer",
    "Simplify",
    "LowerIntrin",
    NULL,
};

static const char *const kinds[] = {"simacc", NULL};
static const tn_attr_schema attrs[] = {{0}};

static const tn_target_kind simacc_kind = {
    .base.size = sizeof(tn_target_kind),
    .base.name = "simacc",
    .base.doc = "A simulated accelerator: another process with memory of its own.",
    .kinds = kinds,
    .attrs = attrs,
    .library_dispatch = library_dispatch,
    .legalize = legalize,
    .finalize = finalize,
    .lower = lower,
    .codegen = &simacc_codegen,
    .device = "simacc",
};
static const tn_target_kind *const targets[] = {&simacc_kind};

TN_PLUGIN(simacc, "0.1.0", "Apache-2.0 OR MIT-0",
          "an accelerator that a process of its own simulates", .targets = targets, .n_targets = 1);
