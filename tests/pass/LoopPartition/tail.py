# SPDX-License-Identifier: Apache-2.0
# The first three turns need no test; what is left of the last is a shorter vector loop.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(30),), "float32")):
        for i in range(T.int64(4)):
            for j in T.vectorized(T.int64(8)):
                if i * T.int64(8) + j < T.int64(30):
                    A[i * T.int64(8) + j] = T.float32(0)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(30),), "float32")):
        for i in range(T.int64(3)):
            for j in T.vectorized(T.int64(8)):
                A[i * T.int64(8) + j] = T.float32(0.0)
        for j_1 in T.vectorized(T.int64(6)):
            A[j_1 + T.int64(24)] = T.float32(0.0)
