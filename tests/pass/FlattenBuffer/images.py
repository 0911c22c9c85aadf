# SPDX-License-Identifier: Apache-2.0
# An image keeps its dimensions.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float32", scope="global.texture"), B: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float32")):
        for i, j, k in T.grid(T.int64(2), T.int64(3), T.int64(4)):
            B[i, j, k] = A[i, j, k]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float32", scope="global.texture"), B: T.Buffer((T.int64(24),), "float32")):
        for i, j, k in T.grid(T.int64(2), T.int64(3), T.int64(4)):
            B[i * T.int64(12) + j * T.int64(4) + k] = A[i, j, k]
