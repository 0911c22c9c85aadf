# SPDX-License-Identifier: Apache-2.0
# Loops of one index become one; what stood outside of threadIdx.x is stored by its first thread.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32"), C: T.Buffer((4,), "float32")):
        for b in T.thread_binding(4, thread="blockIdx.x"):
            S = T.alloc_buffer((64,), scope="shared")
            for t in T.thread_binding(64, thread="threadIdx.x"):
                S[t] = A[b, t]
            T.tvm_storage_sync("shared")
            C[b] = S[0]
            for u in T.thread_binding(64, thread="threadIdx.x"):
                B[b, u] = S[63 - u]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32"), C: T.Buffer((4,), "float32")):
        for b in T.thread_binding(4, thread="blockIdx.x"):
            S = T.alloc_buffer((64,), scope="shared")
            for t in T.thread_binding(64, thread="threadIdx.x"):
                S[t] = A[b, t]
                T.tvm_storage_sync("shared")
                if t == 0:
                    C[b] = S[0]
                B[b, t] = S[63 - t]
