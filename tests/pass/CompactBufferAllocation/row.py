# SPDX-License-Identifier: Apache-2.0
# Of B one row lives in a turn of i, and of it the columns from 4 to 11.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32"), C: T.Buffer((T.int64(8), T.int64(16)), "float32")):
        for i in range(T.int64(8)):
            B = T.alloc_buffer((T.int64(8), T.int64(16)), "float32")
            for j in range(T.int64(8)):
                B[i, j + T.int64(4)] = A[i, j]
            for j in range(T.int64(8)):
                C[i, j] = B[i, j + T.int64(4)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8), T.int64(16)), "float32"), C: T.Buffer((T.int64(8), T.int64(16)), "float32")):
        for i in range(T.int64(8)):
            B = T.alloc_buffer((T.int64(1), T.int64(8)))
            for j in range(T.int64(8)):
                B[i - i, j + T.int64(4) - T.int64(4)] = A[i, j]
            for j_1 in range(T.int64(8)):
                C[i, j_1] = B[i - i, j_1 + T.int64(4) - T.int64(4)]
