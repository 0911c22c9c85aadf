# SPDX-License-Identifier: Apache-2.0
# Within a test of a sum its quotient and remainder are known; beside it, and for other sums, they are not.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((1024,), "float32")):
        for x, y in T.grid(T.int64(4), T.int64(256)):
            if x * T.int64(256) + y < T.int64(1000):
                B[(x * T.int64(256) + y) % T.int64(1000)] = A[(x * T.int64(256) + y) // T.int64(1000)]
            if T.int64(512) <= x * T.int64(256) + y:
                B[(x * T.int64(256) + y) % T.int64(1000)] = A[(x * T.int64(256) + y + T.int64(1)) // T.int64(513)]
            B[x * T.int64(256) + y] = A[(x * T.int64(256) + y) // T.int64(1000)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((1024,), "float32")):
        for x, y in T.grid(T.int64(4), T.int64(256)):
            if x * T.int64(256) + y < T.int64(1000):
                B[x * T.int64(256) + y] = A[T.int64(0)]
            if T.int64(512) <= x * T.int64(256) + y:
                B[(x * T.int64(256) + y) % T.int64(1000)] = A[T.int64(1)]
            B[x * T.int64(256) + y] = A[(x * T.int64(256) + y) // T.int64(1000)]
