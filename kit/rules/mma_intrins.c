/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor intrinsics of matrix units: ldmatrix, which loads a tile of shared memory into a fragment, and mma.m16n8k16.
 *
 *     for i, j, k: C[i, j] = C[i, j] + A[i, k] * B[k, j]       16 by 8 by 16, in fragments
 *     =>
 *     for t in threadIdx.x(32): T.ptx_mma("float32", "m16n8k16", "row", "col", ..., the tiles' first elements)
 *
 * A tile of B lies as [k, n] ("kn"), which ldmatrix transposes, or as [n, k] ("nk"). Index maps of the fragments: those of PTX, see
 * gpu_matmul_mma.c.
 */
#include "tenon/kit/tensor_intrin.h"

/* A tile of rows by columns: ROW, COL: where thread t's row of 8 elements begins. */
#define LDMATRIX(type, trans, row, col)                                                      \
    "@I.ir_module\n"                                                                         \
    "class Intrin:\n"                                                                        \
    "    @T.prim_func\n"                                                                     \
    "    def desc(s: T.handle, f: T.handle):\n"                                              \
    "        S = T.match_buffer(s, (16, 16), '" type "', scope='shared')\n"                  \
    "        F = T.match_buffer(f, (16, 16), '" type "', scope='fragment')\n"                \
    "        for i, j in T.grid(16, 16):\n"                                                  \
    "            with T.sblock('load'):\n"                                                   \
    "                vi, vj = T.axis.remap('SS', [i, j])\n"                                  \
    "                F[vi, vj] = S[vi, vj]\n"                                                \
    "    @T.prim_func\n"                                                                     \
    "    def impl(s: T.handle, f: T.handle):\n"                                              \
    "        s_row = T.int64()\n"                                                            \
    "        f_row = T.int64()\n"                                                            \
    "        S = T.match_buffer(s, (16, 16), '" type "', strides=[s_row, 1], scope='shared'" \
    ", offset_factor=1)\n"                                                                   \
    "        F = T.match_buffer(f, (16, 16), '" type "', strides=[f_row, 1], "               \
    "scope='fragment', offset_factor=1)\n"                                                   \
    "        with T.sblock('root'):\n"                                                       \
    "            T.reads(S[0:16, 0:16])\n"                                                   \
    "            T.writes(F[0:16, 0:16])\n"                                                  \
    "            for t in T.thread_binding(T.int64(32), 'threadIdx.x'):\n"                   \
    "                T.evaluate(T.ptx_ldmatrix('" type "', T.bool(" trans "), 4, '.b16', "   \
    "T.address_of(F[0, 0]), 0, T.address_of(S[" row ", " col "]), 0))\n"

/* B_ROWS, B_COLS, B_AT: of the second operand. */
#define MMA(type, ptx, b_rows, b_cols, b_at)                                                     \
    "@I.ir_module\n"                                                                             \
    "class Intrin:\n"                                                                            \
    "    @T.prim_func\n"                                                                         \
    "    def desc(a: T.handle, b: T.handle, c: T.handle):\n"                                     \
    "        A = T.match_buffer(a, (16, 16), '" type "', scope='fragment')\n"                    \
    "        B = T.match_buffer(b, (" b_rows ", " b_cols "), '" type "', scope='fragment')\n"    \
    "        C = T.match_buffer(c, (16, 8), 'float32', scope='fragment')\n"                      \
    "        for i, j, k in T.grid(16, 8, 16):\n"                                                \
    "            with T.sblock('mma'):\n"                                                        \
    "                vi, vj, vk = T.axis.remap('SSR', [i, j, k])\n"                              \
    "                C[vi, vj] = C[vi, vj] + T.Cast('float32', A[vi, vk]) * T.Cast('float32',"   \
    " B[" b_at "])\n"                                                                            \
    "    @T.prim_func\n"                                                                         \
    "    def impl(a: T.handle, b: T.handle, c: T.handle):\n"                                     \
    "        a_row = T.int64()\n"                                                                \
    "        b_row = T.int64()\n"                                                                \
    "        c_row = T.int64()\n"                                                                \
    "        A = T.match_buffer(a, (16, 16), '" type "', strides=[a_row, 1], "                   \
    "scope='fragment', offset_factor=1)\n"                                                       \
    "        B = T.match_buffer(b, (" b_rows ", " b_cols "), '" type "', strides=[b_row, 1], "   \
    "scope='fragment', offset_factor=1)\n"                                                       \
    "        C = T.match_buffer(c, (16, 8), 'float32', strides=[c_row, 1], "                     \
    "scope='fragment', offset_factor=1)\n"                                                       \
    "        with T.sblock('root'):\n"                                                           \
    "            T.reads(A[0:16, 0:16], B[0:" b_rows ", 0:" b_cols "], C[0:16, 0:8])\n"          \
    "            T.writes(C[0:16, 0:8])\n"                                                       \
    "            for t in T.thread_binding(T.int64(32), 'threadIdx.x'):\n"                       \
    "                T.evaluate(T.ptx_mma('float32', 'm16n8k16', 'row', 'col', '" ptx "', '" ptx \
    "', 'fp32', T.address_of(A[0, 0]), 0, T.address_of(B[0, 0]), 0, "                            \
    "T.address_of(C[0, 0]), 0, T.bool(False)))\n"

#define INTRIN(id, what, source)                                                          \
    {                                                                                     \
        .base.size = sizeof(tnk_tensor_intrin), .base.name = "ptx." id, .base.doc = what, \
        .text = source,                                                                   \
    }

#define OF(id, type, ptx)                                                                    \
    INTRIN("ldmatrix_a_" id, "16 by 16 elements, rows by steps of a reduction: ldmatrix.x4", \
           LDMATRIX(type, "False", "t % 16", "t // 16 * 8")),                                \
        INTRIN("ldmatrix_nk_" id, "16 by 16 elements, columns by steps: ldmatrix.x4",        \
               LDMATRIX(type, "False", "t // 16 * 8 + t % 8", "t // 8 % 2 * 8")),            \
        INTRIN("ldmatrix_kn_" id, "16 by 16 elements, steps by columns: ldmatrix.x4.trans",  \
               LDMATRIX(type, "True", "t // 8 % 2 * 8 + t % 8", "t // 16 * 8")),             \
        INTRIN("mma_nk_" id, "mma.m16n8k16, the second operand as columns by steps",         \
               MMA(type, ptx, "8", "16", "vj, vk")),                                         \
        INTRIN("mma_kn_" id, "mma.m16n8k16, the second operand as steps by columns",         \
               MMA(type, ptx, "16", "8", "vk, vj"))

static const tnk_tensor_intrin all[TNK_N_MMA_INTRINS] = {OF("f16", "float16", "fp16"),
                                                         OF("bf16", "bfloat16", "bf16")};

const tnk_tensor_intrin *const tnk_mma_intrins[TNK_N_MMA_INTRINS] = {&all[0], &all[1], &all[2],
                                                                     &all[3], &all[4], &all[5],
                                                                     &all[6], &all[7], &all[8],
                                                                     &all[9]};
