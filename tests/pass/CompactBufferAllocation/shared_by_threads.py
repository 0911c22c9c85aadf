# SPDX-License-Identifier: Apache-2.0
# Each turn of k writes the tile anew: it is as large as what all threads touch in one turn.
@I.ir_module
class Before:
    @T.prim_func
    def main(X: T.Buffer((128, 64), "float32"), Y: T.Buffer((128,), "float32")):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            S = T.alloc_buffer((128, 64), scope="shared")
            for t in T.thread_binding(16, thread="threadIdx.x"):
                Y[b * 16 + t] = T.float32(0)
                for k in range(4):
                    T.tvm_storage_sync("shared")
                    for i in range(16):
                        S[b * 16 + i, k * 16 + t] = X[b * 16 + i, k * 16 + t]
                    T.tvm_storage_sync("shared")
                    for j in range(16):
                        Y[b * 16 + t] = Y[b * 16 + t] + S[b * 16 + t, k * 16 + j]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(X: T.Buffer((128, 64), "float32"), Y: T.Buffer((128,), "float32")):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            S = T.alloc_buffer((16, 16), scope="shared")
            for t in T.thread_binding(16, thread="threadIdx.x"):
                Y[b * 16 + t] = T.float32(0.0)
                for k in range(4):
                    T.tvm_storage_sync("shared")
                    for i in range(16):
                        S[b * 16 + i - b * 16, k * 16 + t - k * 16] = X[b * 16 + i, k * 16 + t]
                    T.tvm_storage_sync("shared")
                    for j in range(16):
                        Y[b * 16 + t] = Y[b * 16 + t] + S[b * 16 + t - b * 16, k * 16 + j - k * 16]
