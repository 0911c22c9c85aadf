# SPDX-License-Identifier: Apache-2.0
# passes: CommonSubexprElim
# A condition is bound when it occurs more than once; what loads stays where it is.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32"), P: T.Buffer((T.int64(64),), "int64"), n: T.int64, m: T.int64):
        for i in range(n):
            if T.int64(1) <= i * m and i * m < n:
                A[i] = T.float32(0)
            for j in range(m):
                A[P[i] * m + j] = T.if_then_else(T.int64(1) <= i * m and i * m < n, A[P[i] * m + n], T.float32(1))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32"), P: T.Buffer((T.int64(64),), "int64"), n: T.int64, m: T.int64):
        for i in range(n):
            cse_v1: T.let[T.bool] = T.int64(1) <= m * i and m * i < n
            if cse_v1:
                A[i] = T.float32(0.0)
            for j in range(m):
                A[P[i] * m + j] = T.if_then_else(cse_v1, A[P[i] * m + n], T.float32(1.0))
