# SPDX-License-Identifier: Apache-2.0
# A turn overwrites what the turn before read: a barrier in front of the write, and one in front of the read.\nA loop that only copies has none.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 256), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((256,), scope="shared")
        for k in range(8):
            for i in range(4):
                for t in T.thread_binding(64, thread="threadIdx.x"):
                    S[i * 64 + t] = A[k, i * 64 + t]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                B[t] = B[t] + S[255 - t * 4]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((8, 256), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((256,), scope="shared")
        for k in range(8):
            T.tvm_storage_sync("shared")
            for i in range(4):
                for t in T.thread_binding(64, thread="threadIdx.x"):
                    S[i * 64 + t] = A[k, i * 64 + t]
            for t_1 in T.thread_binding(64, thread="threadIdx.x"):
                T.tvm_storage_sync("shared")
                B[t_1] = B[t_1] + S[255 - t_1 * 4]
