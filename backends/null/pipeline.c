/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The pipeline of the null target: what happens to a module, in order. */
#include "null.h"

const char *const null_library_dispatch[] = {
    NULL,
};

const char *const null_legalize[] = {
    "@tensor_programs",
    NULL,
};

const char *const null_finalize[] = {
    "@generic",
    NULL,
};

/* From a tensor program to what codegen.c reads: loops over flat buffers, no blocks. */
const char *const null_lower[] = {
    "LowerInitBlock",
    "LowerMatchBuffer",
    "ConvertBlocksToOpaque",
    "LowerIndexChecks",
    "PlanAndUpdateBufferAllocationLocation",
    "CompactBufferAllocation",
    "FlattenBuffer",
    "Simplify",
    "HoistIfThenElse",
    NULL,
};
