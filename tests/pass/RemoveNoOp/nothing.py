# SPDX-License-Identifier: Apache-2.0
# Literals, empty loops and ifs, and a store of what is there.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8),), "float32"), n: T.int64):
        for i in range(T.int64(8)):
            T.evaluate(0)
        if n > T.int64(3):
            A[T.int64(1)] = A[T.int64(1)]
        A[T.int64(0)] = T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8),), "float32"), n: T.int64):
        A[T.int64(0)] = T.float32(1.0)
