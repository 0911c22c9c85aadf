# SPDX-License-Identifier: Apache-2.0
# passes: CommonSubexprElim{hoist=0}
# Nothing moves out of a loop for itself; what occurs twice does.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32"), h: T.int64, w: T.int64, n: T.int64):
        for i in range(n):
            A[h // T.int64(3) * w + h * T.int64(2) + i] = A[(h - w) * T.int64(3) + i]
            A[i] = A[(h - w) * T.int64(3)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32"), h: T.int64, w: T.int64, n: T.int64):
        cse_v1: T.let[T.int64] = (h - w) * T.int64(3)
        for i in range(n):
            A[h // T.int64(3) * w + h * T.int64(2) + i] = A[cse_v1 + i]
            A[i] = A[cse_v1]
