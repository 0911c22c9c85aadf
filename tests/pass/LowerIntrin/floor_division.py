# SPDX-License-Identifier: Apache-2.0
# Where both operands are known to be positive, truncating division does.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "int64"), m: T.int64):
        for i in range(T.int64(64)):
            A[i] = i // T.int64(4) + i % T.int64(4) + m // T.int64(4)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "int64"), m: T.int64):
        for i in range(T.int64(64)):
            A[i] = T.Div(i, T.int64(4)) + T.truncmod(i, T.int64(4)) + m // T.int64(4)
