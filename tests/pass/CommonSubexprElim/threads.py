# SPDX-License-Identifier: Apache-2.0
# passes: CommonSubexprElim
# The extents of threads stay as they are: the host computes them.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32"), n: T.int64, w: T.int64):
        for bx in T.thread_binding((n * w + T.int64(63)) // T.int64(64), thread="blockIdx.x"):
            for tx in T.thread_binding(T.int64(64), thread="threadIdx.x"):
                if bx * T.int64(64) + tx < (n * w + T.int64(63)) // T.int64(64):
                    x: T.let[T.int64] = bx * T.int64(64) + tx + n
                    A[x * w + T.int64(5)] = A[x * w + T.int64(6)] + A[bx * T.int64(64) + tx]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((T.int64(4096),), "float32"), n: T.int64, w: T.int64):
        for bx in T.thread_binding((n * w + T.int64(63)) // T.int64(64), thread="blockIdx.x"):
            for tx in T.thread_binding(T.int64(64), thread="threadIdx.x"):
                cse_v1: T.let[T.int64] = bx * T.int64(64) + tx
                if cse_v1 < (n * w + T.int64(63)) // T.int64(64):
                    x: T.let[T.int64] = bx * T.int64(64) + tx + n
                    A[x * w + T.int64(5)] = A[x * w + T.int64(6)] + A[cse_v1]
