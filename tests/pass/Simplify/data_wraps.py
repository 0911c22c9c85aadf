# SPDX-License-Identifier: Apache-2.0
# Sums of loop variables do not overflow, those of loaded elements wrap around: what is made of them is left.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int64")):
        for i in range(4):
            B[i] = T.floormod(0 - A[i], 251)
            B[i] = (A[i] * 4 + i) // 4
            B[i] = (i * 4 + 3) // 4
            B[i] = (A[i] % 8 * 4 + i) // 4
            B[i] = A[i] + 3 - A[i]
            B[i] = T.Select(A[i] - 5 < 0, 1, 2)
            B[i] = T.min(A[i] * 2, A[i] * 2 + 1)
            C[i] = T.Cast("int64", A[i] + 1) - T.Cast("int64", A[i])
            C[i] = T.Cast("int64", i + 1) - T.Cast("int64", i)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int64")):
        for i in range(4):
            B[i] = A[i] * -1 % 251
            B[i] = (i + A[i] * 4) // 4
            B[i] = i
            B[i] = A[i] % 8
            B[i] = 3
            B[i] = T.Select(A[i] - 5 < 0, 1, 2)
            B[i] = T.min(A[i] * 2, A[i] * 2 + 1)
            C[i] = T.Cast("int64", A[i] + 1) - T.Cast("int64", A[i])
            C[i] = T.int64(1)
