# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "uniform_barriers": "yes"}
# A loop whose number of turns differs runs as often as for the thread with most of them.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t] = A[t]
            for k in range(t % 4, n + t // 16):
                S[t] = S[t] * A[k]
                T.tvm_storage_sync("shared")
            B[t] = S[t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t] = A[t]
            for k in range(n + 3):
                some: T.let[T.bool] = k < n + t // 16 - t % 4
                k_1: T.let[T.int32] = t % 4 + k
                if some:
                    S[t] = S[t] * A[k_1]
                T.tvm_storage_sync("shared")
            B[t] = S[t]
