/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule core: transformations of a PrimFunc in block form that keep its meaning.
 *
 * A schedule holds the function as a tree of loops and blocks that its primitives change in place. Each primitive checks that it is
 * legal; if not it records a located error that says why, and the schedule is then broken: later primitives do nothing and
 * tnk_sch_finish gives NULL.
 *
 *     tnk_sch *s = tnk_sch_new(ctx, func);
 *     tnk_item *b = tnk_sch_block(s, "T_matmul"), *l[8], *i[2];
 *     uint32_t n = tnk_sch_loops(s, b, l, 8);
 *     tnk_split(s, l[0], 32, i);                          i[0] outer, i[1] inner with extent 32
 *     tnk_set_kind(s, i[0], TN_FOR_PARALLEL);
 *     return tnk_sch_finish(s);
 */
#ifndef TENON_KIT_SCHEDULE_H
#define TENON_KIT_SCHEDULE_H

#include "tenon/core/build.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnk_sch tnk_sch;
typedef struct tnk_item
    tnk_item; /* a loop or a block of the tree; valid until it is consumed by a primitive */

/* In the context's scratch arena. NULL, with nothing recorded, when the function has statements
 * beside loops and blocks. */
TNB_EXPORT tnk_sch *
tnk_sch_new(tn_ctx *ctx, const tn_node *prim_func);
/* From now on a primitive that is not legal breaks the schedule without recording an error: for
 * rules, which then leave the function to the next rule. */
TNB_EXPORT void
tnk_sch_quiet(tnk_sch *s);
/* The scheduled function; NULL when a primitive failed. */
TNB_EXPORT const tn_node *
tnk_sch_finish(tnk_sch *s);
TNB_EXPORT bool
tnk_sch_ok(const tnk_sch *s);
TNB_EXPORT tn_ctx *
tnk_sch_ctx(const tnk_sch *s);
/* What was done, one primitive a line: "split(T_matmul, i, 32)". */
TNB_EXPORT const char *
tnk_sch_trace(tnk_sch *s);
/* Does what a trace says; '#' begins a comment. A trace applied to the function that it was made from
 * gives an equal function. A primitive that cannot be read or is not legal records an error with its
 * line of `file` (the text's first line is number first_line) and breaks the schedule. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_sch_apply(tnk_sch *s, const char *text, const char *file, uint32_t first_line);

/* ---- looking ---- */
TNB_EXPORT tnk_item *
tnk_sch_block(tnk_sch *s, const char *name); /* NULL: none */
/* All blocks in order of execution; the count. */
TNB_EXPORT uint32_t
tnk_sch_blocks(tnk_sch *s, tnk_item **out, uint32_t max);
/* The loops around a block, outermost first; the count (at most max are written). */
TNB_EXPORT uint32_t
tnk_sch_loops(tnk_sch *s, const tnk_item *block, tnk_item **out, uint32_t max);
TNB_EXPORT const tn_block *
tnk_item_block(const tnk_item *block); /* as it stands now */
TNB_EXPORT const char *
tnk_item_name(const tnk_item *i); /* of a block, or of a loop's variable */
/* True and the extent of a loop, if it is constant. */
TNB_EXPORT bool
tnk_loop_extent(const tnk_item *loop, int64_t *n);
TNB_EXPORT tn_for_kind
tnk_loop_kind(const tnk_item *loop);
TNB_EXPORT bool
tnk_block_is_reduction(const tnk_item *block);
/* Whether a loop's variable occurs in a value of one of the block's reduction iterators. */
TNB_EXPORT bool
tnk_loop_reduces(const tnk_item *loop, const tnk_item *block);
/* Whether it occurs in the last index of a buffer that the block reads. */
TNB_EXPORT bool
tnk_loop_walks_last(const tnk_item *loop, const tnk_item *block);
/* A block of spatial iterators alone with one store of a value that is a function of loads: element
 * i of the result depends on nothing else. */
TNB_EXPORT bool
tnk_block_is_injective(const tnk_item *block);
/* Whether the block, an injective one, makes each element of its result from the element of `buffer` at the same place: both
 * have the same extents, it stores at its iterators, which run over all of them, and loads from the buffer nowhere else (at 0
 * where the extent is 1). Only then may what computes an element of the buffer go on to compute the block's: a block that
 * broadcasts the buffer has more elements than it. */
TNB_EXPORT bool
tnk_block_follows(tnk_sch *s, const tnk_item *block, const tn_node *buffer);
/* Blocks that read (or write) a buffer. */
TNB_EXPORT uint32_t
tnk_sch_readers(tnk_sch *s, const tn_node *buffer, tnk_item **out, uint32_t max);
TNB_EXPORT tnk_item *
tnk_sch_writer(tnk_sch *s, const tn_node *buffer); /* the last one; NULL: none */
/* The one buffer that a block writes; NULL if there are several. */
TNB_EXPORT const tn_node *
tnk_block_output(const tnk_item *block);
TNB_EXPORT bool
tnk_sch_is_param(const tnk_sch *s, const tn_node *buffer);

/* Blocks that write what a block reads, or read what it writes; those in a loop, at any depth; those
 * that write parameters of the function. In order of execution; the count (at most max are written). */
TNB_EXPORT uint32_t
tnk_sch_producers(tnk_sch *s, const tnk_item *block, tnk_item **out, uint32_t max);
TNB_EXPORT uint32_t
tnk_sch_consumers(tnk_sch *s, const tnk_item *block, tnk_item **out, uint32_t max);
TNB_EXPORT uint32_t
tnk_sch_child_blocks(tnk_sch *s, const tnk_item *loop, tnk_item **out, uint32_t max);
TNB_EXPORT uint32_t
tnk_sch_output_blocks(tnk_sch *s, tnk_item **out, uint32_t max);

/* ---- loops ---- */
/* Splits by a constant factor: out[0] outer, out[1] inner. When the factor does not divide the
 * extent, blocks get a predicate. */
TNB_EXPORT bool
tnk_split(tnk_sch *s, tnk_item *loop, int64_t factor, tnk_item *out[2]);
/* Splits into n loops, outermost first in `out`: one factor may be -1, the extent that remains. All
 * extents may be symbolic; without a -1 the product has to be proved as large as the extent. */
TNB_EXPORT bool
tnk_split_n(tnk_sch *s, tnk_item *loop, const int64_t *factors, uint32_t n, tnk_item **out);
/* As tnk_split for an extent that the factor does not divide, but the last iteration is moved back so
 * that it ends with the extent: some elements are computed twice, none needs a test. Only for
 * blocks for which that makes no difference; factor <= extent. */
TNB_EXPORT bool
tnk_split_overlap(tnk_sch *s, tnk_item *loop, int64_t factor, tnk_item *out[2]);
/* The same for an extent that is not constant. Nothing proves that it is `factor` or more (or 0): who
 * calls this sees to it. */
TNB_EXPORT bool
tnk_split_overlap_unproved(tnk_sch *s, tnk_item *loop, int64_t factor, tnk_item *out[2]);
/* Two loops, the inner one the only thing in the outer one, become one. */
TNB_EXPORT tnk_item *
tnk_fuse(tnk_sch *s, tnk_item *outer, tnk_item *inner);
/* Puts loops of one chain into the order given (outermost first), in the places that they hold now.
 */
TNB_EXPORT bool
tnk_reorder(tnk_sch *s, tnk_item *const *loops, uint32_t n);
/* Serial, parallel, vectorized or unrolled. */
TNB_EXPORT bool
tnk_set_kind(tnk_sch *s, tnk_item *loop, tn_for_kind kind);
/* Binds a loop to "blockIdx.x", "threadIdx.x", "vthread.x" (y, z). Blocks in it run independently
 * over it; over threadIdx a reduction with its init still inside and a reducer of add, mul, min or
 * max may run too (LowerCrossThreadReduction joins the threads' results). Loops with one tag in one
 * kernel have equal extents; of two such threadIdx loops nested in each other, no block in both uses
 * the outer one (a cooperative fetch). */
TNB_EXPORT bool
tnk_bind(tnk_sch *s, tnk_item *loop, const char *tag);
/* value NULL removes. */
TNB_EXPORT bool
tnk_annotate(tnk_sch *s, tnk_item *loop, const char *key, const tn_node *value);
/* A loop of one iteration around a block that has none. */
TNB_EXPORT tnk_item *
tnk_add_unit_loop(tnk_sch *s, tnk_item *block);

/* ---- blocks ---- */
/* Puts the block's expression where its result is read, and removes the block. */
TNB_EXPORT bool
tnk_compute_inline(tnk_sch *s, tnk_item *block);
/* Whether that would be legal; nothing is recorded. */
TNB_EXPORT bool
tnk_can_inline(tnk_sch *s, tnk_item *block);
/* Quotients and remainders in the indices of the block's loads become shorter where its iterators' domains allow it. */
TNB_EXPORT bool
tnk_simplify_indices(tnk_sch *s, tnk_item *block);
/* The block writes a new buffer in `scope`; a new block copies that to where it wrote before. Gives
 * the new block. */
TNB_EXPORT tnk_item *
tnk_cache_write(tnk_sch *s, tnk_item *block, const char *scope);
/* The block reads a copy of `buffer` in `scope`, made by a new block in front of its nest, whose
 * dimension i is the buffer's dimension perm[i] (perm NULL: as it is). Gives the new block. */
TNB_EXPORT tnk_item *
tnk_cache_read(tnk_sch *s, tnk_item *block, const tn_node *buffer, const char *scope,
               const uint32_t *perm);
/* Moves a producer into a loop that contains all its readers; it then computes what the loop's body
 * reads. */
TNB_EXPORT bool
tnk_compute_at(tnk_sch *s, tnk_item *block, tnk_item *loop);
/* Moves a consumer into a loop that holds all that it reads of the loop's nest; it then takes what
 * one iteration produces. The producers are complete in an iteration. */
TNB_EXPORT bool
tnk_reverse_compute_at(tnk_sch *s, tnk_item *block, tnk_item *loop);
/* Puts what the block makes of its one producer's result into the producer, and removes the block:
 * an injective block that reads each element of the result once, as the only one. */
TNB_EXPORT bool
tnk_reverse_compute_inline(tnk_sch *s, tnk_item *block);
/* Whether that would be legal; nothing is recorded. */
TNB_EXPORT bool
tnk_can_reverse_inline(tnk_sch *s, tnk_item *block);
/* Takes the init of a reduction out into a block of its own before `loop`. Gives the new block. */
TNB_EXPORT tnk_item *
tnk_decompose_reduction(tnk_sch *s, tnk_item *block, tnk_item *loop);
/* The iterations of a reducing loop reduce for themselves, into a buffer with the loop as one more
 * dimension at factor_axis (negative: from the end). Gives that new block, which stays in the loops;
 * `block` of the loop from then on joins the iterations' results, in a nest of its own that follows:
 * spatial loops and `loop` again, under the same names. A predicate that concerns reducing loops
 * becomes a neutral element. */
TNB_EXPORT tnk_item *
tnk_rfactor(tnk_sch *s, tnk_item *loop, int factor_axis);
/* The block reads (or, if it writes it, writes) `buffer` through a copy that is indexed by those of
 * the block's iterators that occur in its accesses, all of which have the same indices. Gives the
 * block that copies, in a nest of its own before (or behind) the block's. */
TNB_EXPORT tnk_item *
tnk_reindex(tnk_sch *s, tnk_item *block, const tn_node *buffer);
/* The dimensions of an allocated buffer that the block accesses become the results of an IndexMap of
 * them, in all blocks; the map loses no element and leaves no gap. */
TNB_EXPORT bool
tnk_transform_layout(tnk_sch *s, tnk_item *block, const tn_node *buffer, const tn_node *index_map);
/* A block with a plain loop for each iterator gets the results of an IndexMap of them as iterators,
 * and loops ax0, ax1, ... over these. */
TNB_EXPORT bool
tnk_transform_block_layout(tnk_sch *s, tnk_item *block, const tn_node *index_map);
/* The n iterators of a sum of products, with a plain loop each, become multiples of `padding`: zeros
 * are put behind operands in blocks NAME_pad, and a block behind cuts the result. */
TNB_EXPORT bool
tnk_pad_einsum(tnk_sch *s, tnk_item *block, const int64_t *padding, uint32_t n);
/* The dimensions `at` and `at` + 1 of what the block writes become one, of their extents' product, in all blocks and
 * buffers: the first of the two has extent 1 while the function is scheduled, and parameters get their shapes back
 * (index // extent, index % extent) when it is finished. Both extents are constant, and every block goes through them alike,
 * as element-wise operators do, and convolutions by 1x1 kernels over images. It has to be the first primitive; blocks and
 * loops found before are no longer there. */
TNB_EXPORT bool
tnk_collapse_dims(tnk_sch *s, tnk_item *block, uint32_t at);
/* What the loop holds, one block in loops, becomes a block of its own around that block: NAME_o, with
 * iterators for what the loops outside contribute. The loops inside have to count through the last
 * digits of the iterators. Gives the new block. */
TNB_EXPORT tnk_item *
tnk_blockize(tnk_sch *s, tnk_item *loop);
/* A block whose body computes what the tensor intrinsic `name` means (a loop: blockized first) gets its
 * implementation. Intrinsics: those of tnk_sch_intrinsics, then those of plugins
 * (tenon/kit/tensor_intrin.h). */
TNB_EXPORT bool
tnk_tensorize(tnk_sch *s, tnk_item *block, const char *name);
/* Makes the pairs of PrimFuncs NAME_desc and NAME_impl of a module known as tensor intrinsics NAME. */
TNB_EXPORT bool
tnk_sch_intrinsics(tnk_sch *s, const tn_module *m);
/* An annotation of a block; value NULL removes. */
TNB_EXPORT bool
tnk_annotate_block(tnk_sch *s, tnk_item *block, const char *key, const tn_node *value);
/* The stride of `axis` of a buffer that the block writes becomes factor * k + offset for some k: the
 * annotation buffer_dim_align, which the lowering of buffers reads. Only for allocated buffers. */
TNB_EXPORT bool
tnk_storage_align(tnk_sch *s, tnk_item *block, const tn_node *buffer, int axis, int64_t factor,
                  int64_t offset);
/* Changes the memory scope of an allocated buffer ("local"). */
TNB_EXPORT bool
tnk_set_scope(tnk_sch *s, const tn_node *buffer, const char *scope);

#ifdef __cplusplus
}
#endif
#endif
