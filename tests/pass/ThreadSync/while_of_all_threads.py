# SPDX-License-Identifier: Apache-2.0
# A while whose condition is the same for all threads may hold barriers.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((256,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        k = T.alloc_buffer((1,), "int32", scope="local")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            k[0] = 0
            B[t] = T.float32(0)
            while T.tvm_thread_invariant(k[0] < 4):
                S[t] = A[k[0] * 64 + t]
                B[t] = B[t] + S[63 - t]
                k[0] = k[0] + 1
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((256,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        k = T.alloc_buffer((1,), "int32", scope="local")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            k[0] = 0
            B[t] = T.float32(0.0)
            while T.tvm_thread_invariant(k[0] < 4):
                T.tvm_storage_sync("shared")
                S[t] = A[k[0] * 64 + t]
                T.tvm_storage_sync("shared")
                B[t] = B[t] + S[63 - t]
                k[0] = k[0] + 1
