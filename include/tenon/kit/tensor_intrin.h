/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor intrinsics: what a target computes at once on a tile of a tensor.
 *
 * Each is two PrimFuncs of the same parameters. `desc` says what it means, as a nest of loops around one block with one store;
 * `impl` is how the target does it: vectors, calls of C functions, matrix units. tnk_tensorize finds `desc` in a schedule and puts
 * `impl` there. A plugin offers a table of them (`tensor_intrins` of its descriptor, "tensor_intrin:NAME" in its manifest):
 *
 *     static const tnk_tensor_intrin dot = {
 *         .base = {sizeof dot, "mine.dot_1x4", "..."},
 *         .text = "@I.ir_module\n"
 *                 "class Intrin:\n"
 *                 "    @T.prim_func\n"
 *                 "    def desc(a: T.handle, ...): ...\n"
 *                 "    @T.prim_func\n"
 *                 "    def impl(a: T.handle, ...): ...\n"};
 *
 * Parameters are buffers of constant shape, each touched completely by `desc`, and scalars. A buffer of `impl` stands for a part of
 * one of the program's: strides that it declares as variables take the part's, those that it declares as numbers have to be the
 * part's; offset_factor has to divide where the part begins. An `impl` that takes addresses of a buffer without strides needs a
 * part without gaps.
 */
#ifndef TENON_KIT_TENSOR_INTRIN_H
#define TENON_KIT_TENSOR_INTRIN_H

#include "tenon/core/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnk_tensor_intrin {
    tnb_entry base; /* name: "cpu.fma_4x8" */
    /* TVMScript: a module with the PrimFuncs `desc` and `impl`; NULL: `make` builds them. */
    const char *text;
    /* Instead of text (NULL: the text): builds both. False after recording an error. */
    bool (*make)(tn_ctx *ctx, const tn_node **desc, const tn_node **impl, void *self);
    void *self;
} tnk_tensor_intrin;

/* Both PrimFuncs of an intrinsic. False after recording an error. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_tensor_intrin_get(tn_ctx *ctx, const tnk_tensor_intrin *intrin, const tn_node **desc,
                      const tn_node **impl);

/* ldmatrix and mma of PTX, "ptx.mma_kn_f16" and so on, which the plugin `tir` offers for the rule gpu.MatmulMMA. Their loads and products
 * are the calls T.ptx_ldmatrix and T.ptx_mma, which the target's dialect writes. */
enum { TNK_N_MMA_INTRINS = 10 };
TNB_EXPORT extern const tnk_tensor_intrin *const tnk_mma_intrins[TNK_N_MMA_INTRINS];

#ifdef __cplusplus
}
#endif
#endif
