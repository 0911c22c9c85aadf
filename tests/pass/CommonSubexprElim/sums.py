# SPDX-License-Identifier: Apache-2.0
# passes: CommonSubexprElim
# Sums and products of 64 bits are equal in any order, and differ by their constants only; those of 32 bits are as they are written.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def wide(A: T.Buffer((T.int64(4096),), "float32"), h: T.int64, w: T.int64, n: T.int64):
        for i in range(n):
            for j in range(n):
                A[w * i + j + T.int64(2) + h * w] = T.float32(0)
                A[h * w + (j - T.int64(3) + i * w)] = T.float32(1)
                A[i * w * T.int64(4) + w * h - j] = T.float32(1)

    @T.prim_func(s_tir=True)
    def narrow(A: T.Buffer((4096,), "float32"), h: T.int32, w: T.int32, n: T.int32):
        for i in range(n):
            A[w * i + 2 + h * w] = T.float32(0)
            A[h * w + i * w + 3] = T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def narrow(A: T.Buffer((4096,), "float32"), h: T.int32, w: T.int32, n: T.int32):
        for i in range(n):
            A[w * i + 2 + h * w] = T.float32(0.0)
            A[h * w + i * w + 3] = T.float32(1.0)

    @T.prim_func(s_tir=True)
    def wide(A: T.Buffer((T.int64(4096),), "float32"), h: T.int64, w: T.int64, n: T.int64):
        for i in range(n):
            cse_v1: T.let[T.int64] = h * w + w * i * T.int64(4)
            for j in range(n):
                cse_v2: T.let[T.int64] = h * w + w * i + j
                A[cse_v2 + T.int64(2)] = T.float32(0.0)
                A[cse_v2 - T.int64(3)] = T.float32(1.0)
                A[cse_v1 - j] = T.float32(1.0)
