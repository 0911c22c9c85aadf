# SPDX-License-Identifier: Apache-2.0
# Virtual threads run one after another: what one writes may not meet what the one before it still reads.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32"), C: T.Buffer((4, 64), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        P = T.alloc_buffer((4, 64), scope="shared")
        for v in T.thread_binding(4, thread="vthread.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                S[t] = A[v, t]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                B[v, t] = S[63 - t]
        for v in T.thread_binding(4, thread="vthread.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                P[v, t] = A[v, t]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                C[v, t] = P[v, 63 - t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32"), C: T.Buffer((4, 64), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        P = T.alloc_buffer((4, 64), scope="shared")
        for v in T.thread_binding(4, thread="vthread.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                T.tvm_storage_sync("shared")
                S[t] = A[v, t]
            for t_1 in T.thread_binding(64, thread="threadIdx.x"):
                T.tvm_storage_sync("shared")
                B[v, t_1] = S[63 - t_1]
        for v_1 in T.thread_binding(4, thread="vthread.x"):
            for t_2 in T.thread_binding(64, thread="threadIdx.x"):
                T.tvm_storage_sync("shared")
                P[v_1, t_2] = A[v_1, t_2]
            for t_3 in T.thread_binding(64, thread="threadIdx.x"):
                T.tvm_storage_sync("shared")
                C[v_1, t_3] = P[v_1, 63 - t_3]
