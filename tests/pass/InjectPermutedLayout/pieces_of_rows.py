# SPDX-License-Identifier: Apache-2.0
# Four pieces of 16 bytes a row: every second row shifts them; eight and more: every row, within eight. Others stay.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16")):
        S = T.alloc_buffer((64, 32), "float16", scope="shared", annotations={"permuted_layout": 1})
        U = T.alloc_buffer((64, 64), "float16", scope="shared", annotations={"permuted_layout": 1, "other": 2})
        V = T.alloc_buffer((64, 12), "float16", scope="shared", annotations={"permuted_layout": 1})
        for i in range(64):
            for j in range(4):
                for v in T.vectorized(8):
                    S[i, j * 8 + v] = A[i, j * 8 + v]
            for k in range(64):
                U[i, k] = A[i, k]
            V[i, 3] = A[i, 3]
        for i in range(64):
            for j in range(4):
                for v in T.vectorized(4):
                    B[i, j * 8 + v] = S[i, j * 8 + v + 4] + U[i, j * 8 + v] + V[i, 3]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16")):
        S = T.alloc_buffer((64, 32), "float16", scope="shared")
        U = T.alloc_buffer((64, 64), "float16", scope="shared", annotations={"other": 2})
        V = T.alloc_buffer((64, 12), "float16", scope="shared")
        for i in range(64):
            for j in range(4):
                for v in T.vectorized(8):
                    S[i, T.bitwise_xor(j, i % 8 // 2) * 8 + v] = A[i, j * 8 + v]
            for k in range(64):
                U[i, T.bitwise_xor(k // 8, i % 8) * 8 + k % 8] = A[i, k]
            V[i, 3] = A[i, 3]
        for i_1, j_1 in T.grid(64, 4):
            for v_1 in T.vectorized(4):
                B[i_1, j_1 * 8 + v_1] = S[i_1, T.bitwise_xor(j_1, i_1 % 8 // 2) * 8 + (v_1 + 4)] + U[i_1, T.bitwise_xor(j_1, i_1 % 8) * 8 + v_1] + V[i_1, 3]
