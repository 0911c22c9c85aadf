/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel for threads costs, as far as its program tells it: the quality of a schedule can be judged without the device. */
#ifndef TENON_KIT_COST_H
#define TENON_KIT_COST_H

#include "tenon/kit/codegen.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TNK_BANKS = 32, TNK_BANK_BYTES = 4, TNK_SECTOR_BYTES = 32 };

/* In the context's arena. Numbers of all threads of a launch are expressions over the kernel's scalars, as if every condition held:
 * none is passed. Of a kernel with a form for warps of a known size that form is counted. Of a product by matrix units (TNK_MATRIX_UNIT)
 * its warp's threads share the operations, and each element of the operands is loaded once. */
typedef struct tnk_cost {
    const tn_expr *blocks;
    int64_t threads[3], block_threads; /* of a block */
    int64_t shared_bytes, local_bytes; /* declared for a block, for a thread */
    int64_t most_threads, most_shared; /* what the target's blocks may have; 0: it does not say */
    const tn_expr *read, *written;     /* bytes of global memory that threads ask for */
    /* Bytes of the sectors of TNK_SECTOR_BYTES that a warp touches by its accesses, each for itself. An index that is not known, such as
     * one that is data, is taken to be in a sector of its own. */
    const tn_expr *moved;
    const tn_expr *shared;         /* bytes of shared memory read and written */
    const tn_expr *floats, *whole; /* operations on floats, and on integers with those of indices */
    int64_t
        warp; /* threads whose accesses go together: the target's thread_warp_size, 32 if that is 1 */
    /* Of the accesses to shared memory the largest number of steps that a warp needs beyond those for its bytes, with TNK_BANKS banks;
     * how many accesses of the program need more than one; the buffer of the worst. */
    int64_t bank_turns;
    uint32_t bank_conflicts;
    const char *bank_buffer;
    uint32_t open_loops; /* loops whose number of iterations is not known: counted once */
} tnk_cost;

/* False, without a message: the kernel is not for threads, or has so many expressions that they are not counted. */
TNB_EXPORT bool
tnk_kernel_cost(tn_ctx *ctx, const tn_target *target, const tnk_kernel *k, tnk_cost *out);

/* The turns that the loops of one thread take together, at most, with the test that ends each loop: int64, in terms of the kernel's scalars.
 * *open: loops whose number of turns is not known; of them one turn is counted. */
TNB_EXPORT const tn_expr *
tnk_kernel_turns(tn_ctx *ctx, const tnk_kernel *k, uint32_t *open);

#ifdef __cplusplus
}
#endif
#endif
