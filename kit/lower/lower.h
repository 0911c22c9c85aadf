/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel-lowering passes share. Not installed.
 *
 * The passes in their usual order, and what each leaves behind:
 *
 *     FallbackKernels                         before schedules: what the target does not take is another's
 *     SplitHostDevice                         one launch a function; the host's part is host code
 *     LowerCrossThreadReduction               no block reduces over threads
 *     LowerInitBlock                          no block has an `init`
 *     LowerMatchBuffer                        no block has match_buffers
 *     ConvertBlocksToOpaque                   no blocks: predicates are ifs, allocations are AllocBuffer statements
 *     LowerFragments                          each thread of a warp has its registers of what the warp holds together
 *     LowerIndexChecks                        indices that came as data are checked as the target says
 *     UniformBarriers                         barriers of the program stand where all threads of a block come
 *     ThreadSync                              barriers where threads meet in shared memory
 *     UnifyThreadBinding                      one loop a thread index, around the kernel
 *     PlanAndUpdateBufferAllocationLocation   each AllocBuffer stands in the innermost loop that may hold it
 *     CompactBufferAllocation                 buffers are as small as their accesses allow
 *     InjectPermutedLayout                    tiles that ask for it lie over the banks of shared memory
 *     SpecializeWarps                         warps of their own copy ahead for pipelines that ask for it
 *     InjectSoftwarePipeline                  no loop is annotated as a pipeline
 *     FlattenBuffer                           one dimension, offsets explicit
 *     PlanSharedMemory                        shared memory fits the target
 *     LoopPartition, VectorizeLoop, UnrollLoop, HoistIfThenElse, Simplify, RemoveNoOp, LowerIntrin, NarrowDataType
 *     InjectPTXAsyncCopy                      copies that a pipeline starts early are asynchronous, where the target has such
 *     SplitVectors                            no vector is wider than the target has them
 *     LowerViews                              each access names the buffer that has the memory, for targets without pointers
 *     LowerMath                               functions of mathematics by sums and products, where the target's are not precise
 *     LowerInt64                              numbers of 64 bits are pairs of words, where the target has none
 *     WidenArithmetic                         numbers of 8 and 16 bits are loaded and stored alone, where the target does no more
 *     WidenStorage                            memory of 32-bit words, where the target has no narrower elements
 *     LowerVectorAccess                       each access is one of an element, for targets without pointers
 *     CommonSubexprElim                       what is computed often is computed once, outside of loops
 */
#ifndef TENON_KIT_LOWER_PRIVATE_H
#define TENON_KIT_LOWER_PRIVATE_H

#include "tenon/core/arith.h"
#include "tenon/core/pass.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit_hooks.h"
#include "tenon/kit/lower.h"

/* Shared memory whose bytes a launch gives: the scope "shared.dyn" (PlanSharedMemory). */
bool
tnk_is_dynamic_shared(const tn_node *buffer);
/* How many they are, 0 of other memory. */
int64_t
tnk_dynamic_shared_bytes(const tn_node *buffer);

/* ---- warp_roles.c: regions that whole warps of 32 threads of a block run ---- */
enum { TNK_ROLES_VARS = 12 };
typedef struct tnk_warp_roles {
    int64_t extents[3]; /* of threadIdx.x, .y, .z; 0: there is none */
    const tn_expr *vars[TNK_ROLES_VARS];
    int dims[TNK_ROLES_VARS];
    uint32_t n;
} tnk_warp_roles;

/* A variable that is the thread index of this tag. */
void
tnk_roles_add(tnk_warp_roles *w, const tn_expr *var, const char *tag, const tn_expr *extent);
/* The warps, as bits, for whose threads the condition holds, among `within` (0: all). False: it parts a warp, or that is not known. */
bool
tnk_roles_where(tn_ctx *ctx, const tnk_warp_roles *w, const tn_expr *cond, uint32_t within,
                uint32_t *where);
/* The threads of a role; 0: of the block. */
uint32_t
tnk_roles_threads(const tnk_warp_roles *w, uint32_t role);
/* Whether the statement is a barrier with a number (ptx_bar_sync) for so many threads. */
bool
tnk_meets_role(const tn_stmt *s, uint32_t threads);

/* Variables of a PrimFunc that are never negative (sizes.c). */
tn_list
tnk_sizes_of(tn_ctx *ctx, const tn_node *prim_func);

/* ---- stmt.c: small helpers on statements ---- */
/* The statement that does nothing, and whether `s` is one. */
const tn_stmt *
tnk_nothing(tn_ctx *ctx);
bool
tnk_is_nothing(const tn_stmt *s);
/* A copy of `f` around another body. */
const tn_node *
tnk_func_with_body(tn_ctx *ctx, const tn_prim_func *f, const tn_stmt *body);
typedef TNB_VEC(const tn_stmt *) tnk_stmt_vec;
/* The buffer a statement or expression accesses (BufferStore, BufferLoad), else NULL; its indices.
 */
const tn_node *
tnk_accessed(const tn_node *n, tn_list *indices);
/* The integer v in each lane of dtype d. */
const tn_expr *
tnk_int_of(tn_ctx *ctx, tnb_dtype d, int64_t v);
/* What the target says by an attribute; `otherwise` where there is no target, or it has none of that name. */
int64_t
tnk_target_int(const tn_pass_ctx *pc, const char *attr, int64_t otherwise);
/* tn_map_functions over the tensor programs that a device runs: not those of the host. `one` gives NULL after an error. */
const tn_module *
tnk_map_kernels(const tn_pass_ctx *pc, const tn_module *m,
                const tn_node *(*one)(const tn_pass_ctx *pc, const tn_module *m, const char *name,
                                      const tn_node *func, void *user),
                void *user);
/* Numbers of float16 and bfloat16 and their bits, as float32 and uint32 (half.c). */
const tn_expr *
tnk_half_to_float(tn_ctx *ctx, const tn_expr *bits);
const tn_expr *
tnk_float_to_half(tn_ctx *ctx, const tn_expr *x);
const tn_expr *
tnk_bfloat_to_float(tn_ctx *ctx, const tn_expr *bits);
const tn_expr *
tnk_float_to_bfloat(tn_ctx *ctx, const tn_expr *x);
/* The bits of `e` as another dtype of the same size. */
const tn_expr *
tnk_reinterpret(tn_ctx *ctx, tnb_dtype d, const tn_expr *e);
/* Whether the target has the attribute and says no by it. */
bool
tnk_target_lacks(const tn_pass_ctx *pc, const char *attr);
/* Whether an index that came as data is looked at within `n` (T.index_in), which may refuse it. */
bool
tnk_checks_index(const tn_node *n);
/* "vthread.x" and the like: threads of a name only, which run as a loop. */
bool
tnk_is_vthread(const char *tag);

/* The body in which no parallel loop has turns that overlap in an accumulator (racing_turns.c); the
 * error node where that cannot be. */
const tn_stmt *
tnk_part_racing_turns(tn_ctx *ctx, const tn_stmt *body);
/* The body without matched sub-regions (LowerMatchBuffer); the error node after recording why not.
 */
const tn_stmt *
tnk_lower_matches(tn_ctx *ctx, const tn_stmt *body);

/* ---- the passes ---- */
extern const tn_pass tnk_pass_lower_init_block, tnk_pass_lower_match_buffer,
    tnk_pass_convert_blocks, tnk_pass_plan_location, tnk_pass_compact, tnk_pass_flatten,
    tnk_pass_simplify, tnk_pass_loop_partition, tnk_pass_vectorize, tnk_pass_unroll,
    tnk_pass_remove_no_op, tnk_pass_hoist_if, tnk_pass_narrow, tnk_pass_lower_intrin,
    tnk_pass_split_host_device, tnk_pass_cross_thread_reduction, tnk_pass_unify_thread_binding,
    tnk_pass_thread_sync, tnk_pass_plan_shared_memory, tnk_pass_common_subexpr,
    tnk_pass_fallback_kernels, tnk_pass_index_checks, tnk_pass_split_vectors,
    tnk_pass_uniform_barriers, tnk_pass_lower_views, tnk_pass_lower_vector_access,
    tnk_pass_widen_arithmetic, tnk_pass_widen_storage, tnk_pass_lower_int64, tnk_pass_lower_math,
    tnk_pass_lower_fragments, tnk_pass_software_pipeline, tnk_pass_permuted_layout,
    tnk_pass_specialize_warps, tnk_pass_async_copy;

#endif
