# SPDX-License-Identifier: Apache-2.0
# A loop of one turn, a decided if and a division that loop ranges decide.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(32),), "float32")):
        for i, j in T.grid(T.int64(4), T.int64(1)):
            if i * T.int64(8) + j < T.int64(32):
                A[i * T.int64(8) + j + (i // T.int64(4))] = T.float32(0)
        for i in range(T.int64(4)):
            if i < T.int64(0):
                A[i] = T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(32),), "float32")):
        for i in range(T.int64(4)):
            A[i * T.int64(8)] = T.float32(0.0)
