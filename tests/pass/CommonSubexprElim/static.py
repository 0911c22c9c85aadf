# SPDX-License-Identifier: Apache-2.0
# passes: CommonSubexprElim{static=True}
# A function without variables for extents.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32")):
        for i in range(T.int64(64)):
            for j in range(T.int64(8)):
                A[i // T.int64(7) * T.int64(64) + i % T.int64(7) * T.int64(8) + j] = T.float32(0)
                A[j] = A[i // T.int64(7) * T.int64(64) + i % T.int64(7) * T.int64(8)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32")):
        for i in range(T.int64(64)):
            cse_v1: T.let[T.int64] = i // T.int64(7) * T.int64(64) + i % T.int64(7) * T.int64(8)
            for j in range(T.int64(8)):
                A[cse_v1 + j] = T.float32(0.0)
                A[j] = A[cse_v1]
