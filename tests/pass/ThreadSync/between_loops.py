# SPDX-License-Identifier: Apache-2.0
# What other threads wrote is read behind a barrier; what a thread wrote itself is not.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t] = A[t]
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t] = S[t] + T.float32(1)
        for t in T.thread_binding(64, thread="threadIdx.x"):
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
        for t_1 in T.thread_binding(64, thread="threadIdx.x"):
            S[t_1] = S[t_1] + T.float32(1.0)
        for t_2 in T.thread_binding(64, thread="threadIdx.x"):
            T.tvm_storage_sync("shared")
            B[t_2] = S[63 - t_2]
