# SPDX-License-Identifier: Apache-2.0
# B is complete in every turn of i and moves in; S carries a sum from turn to turn and stays.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32"), C: T.Buffer((T.int64(8), T.int64(16)), "float32")):
        B = T.alloc_buffer((T.int64(8), T.int64(16)), "float32")
        S = T.alloc_buffer((T.int64(1),), "float32")
        S[T.int64(0)] = T.float32(0)
        for i in range(T.int64(8)):
            for j in range(T.int64(16)):
                B[i, j] = A[i, j] * T.float32(2)
            for j in range(T.int64(16)):
                S[T.int64(0)] = S[T.int64(0)] + B[i, j]
                C[i, j] = S[T.int64(0)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32"), C: T.Buffer((T.int64(8), T.int64(16)), "float32")):
        S = T.alloc_buffer((T.int64(1),))
        S[T.int64(0)] = T.float32(0.0)
        for i in range(T.int64(8)):
            B = T.alloc_buffer((T.int64(8), T.int64(16)))
            for j in range(T.int64(16)):
                B[i, j] = A[i, j] * T.float32(2.0)
            for j_1 in range(T.int64(16)):
                S[T.int64(0)] = S[T.int64(0)] + B[i, j_1]
                C[i, j_1] = S[T.int64(0)]
