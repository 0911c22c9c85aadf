# SPDX-License-Identifier: Apache-2.0
# That a loop's extent is above 0 is known within the loop only, not before it and not behind it.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(3),), "float32"), B: T.Buffer((T.int64(3),), "int64")):
        for i in range(T.int64(3)):
            n: T.let[T.int64] = B[i]
            if T.int64(0) < n:
                A[i] = T.float32(1)
                for j in range(n):
                    A[i] = A[i] + T.Cast("float32", j)
            if n > T.int64(0):
                A[i] = A[i] * T.float32(2)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(3),), "float32"), B: T.Buffer((T.int64(3),), "int64")):
        for i in range(T.int64(3)):
            n: T.let[T.int64] = B[i]
            if T.int64(0) < n:
                A[i] = T.float32(1.0)
                for j in range(n):
                    A[i] = A[i] + T.Cast("float32", j)
            if T.int64(0) < n:
                A[i] = A[i] * T.float32(2.0)
