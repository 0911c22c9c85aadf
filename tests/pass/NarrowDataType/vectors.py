# SPDX-License-Identifier: Apache-2.0
# The start and stride of a vector's places are narrowed if all lanes fit.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(1024),), "float32"), B: T.Buffer((T.int64(8589934592),), "float32")):
        for i in range(T.int64(128)):
            A[T.Ramp(i * T.int64(8), T.int64(1), 8)] = A[T.Ramp(i, T.int64(2), 8)]
            B[T.Ramp(i * T.int64(8), T.int64(1000000000), 8)] = A[T.Ramp(i * T.int64(8), T.int64(1), 8)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(1024),), "float32"), B: T.Buffer((T.int64(8589934592),), "float32")):
        for i in range(128):
            A[T.Ramp(i * 8, 1, 8)] = A[T.Ramp(i, 2, 8)]
            B[T.Ramp(T.Cast("int64", i) * T.int64(8), T.int64(1000000000), 8)] = A[T.Ramp(i * 8, 1, 8)]
