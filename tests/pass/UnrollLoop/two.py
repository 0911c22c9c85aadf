# SPDX-License-Identifier: Apache-2.0
# Unrolled loops become their turns; a serial loop inside gets a variable of its own in each.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8),), "float32")):
        for i in T.unroll(T.int64(2)):
            for j in range(T.int64(4)):
                A[i * T.int64(4) + j] = T.float32(0)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(8),), "float32")):
        for j in range(T.int64(4)):
            A[T.Mul(T.int64(0), T.int64(4)) + j] = T.float32(0.0)
        for j_1 in range(T.int64(4)):
            A[T.Mul(T.int64(1), T.int64(4)) + j_1] = T.float32(0.0)
