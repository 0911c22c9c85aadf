# SPDX-License-Identifier: Apache-2.0
# target: cuda
# The second buffer is first used behind a barrier after the last use of the first: it lies in the first one's memory.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        U = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t] = A[t]
            T.tvm_storage_sync("shared")
            B[t] = S[63 - t]
            T.tvm_storage_sync("shared")
            U[t] = B[t] + T.float32(1)
            T.tvm_storage_sync("shared")
            B[t] = U[63 - t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            U = T.decl_buffer((64,), data=S.data, scope="shared")
            S[t] = A[t]
            T.tvm_storage_sync("shared")
            B[t] = S[63 - t]
            T.tvm_storage_sync("shared")
            U[t] = B[t] + T.float32(1.0)
            T.tvm_storage_sync("shared")
            B[t] = U[63 - t]
