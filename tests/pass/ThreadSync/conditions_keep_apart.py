# SPDX-License-Identifier: Apache-2.0
# Below 32, S[t] and S[t + 32] are never one element, so threads need not wait between them; S[31 - t] is another thread's.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t] = A[t]
            if t < 32:
                x: T.let[T.float32] = S[t] + S[t + 32]
                S[t] = x
            B[t] = S[63 - t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t] = A[t]
            T.tvm_storage_sync("shared")
            if t < 32:
                x: T.let[T.float32] = S[t] + S[t + 32]
                S[t] = x
            T.tvm_storage_sync("shared")
            B[t] = S[63 - t]
