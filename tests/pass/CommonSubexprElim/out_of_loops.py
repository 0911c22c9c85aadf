# SPDX-License-Identifier: Apache-2.0
# passes: CommonSubexprElim
# What the loops do not change moves out of them, what both stores use is computed once; one addition alone is left.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32"), B: T.Buffer((T.int64(4096),), "float32"), h: T.int64, w: T.int64, n: T.int64, m: T.int64):
        for i in range(n):
            for j in range(m):
                A[h // T.int64(2) * w * i + j] = T.float32(0)
                B[h // T.int64(2) * w * i + j] = T.float32(1)
        for k in range(m):
            A[k + h] = B[k + w]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32"), B: T.Buffer((T.int64(4096),), "float32"), h: T.int64, w: T.int64, n: T.int64, m: T.int64):
        cse_v1: T.let[T.int64] = w * (h // T.int64(2))
        for i in range(n):
            cse_v2: T.let[T.int64] = cse_v1 * i
            for j in range(m):
                cse_v3: T.let[T.int64] = cse_v2 + j
                A[cse_v3] = T.float32(0.0)
                B[cse_v3] = T.float32(1.0)
        for k in range(m):
            A[k + h] = B[k + w]
