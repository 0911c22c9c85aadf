# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "webgpu", "uniform_barriers": "static"}
# What is read from memory that the kernel writes counts as different, what it only reads does not.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((1,), "int32")):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t] = A[t]
            if C[0] < 3:
                T.tvm_storage_sync("shared")
                B[t] = S[63 - t]
            if S[0] < T.float32(3):
                T.tvm_storage_sync("shared")
                B[t] = S[63 - t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((1,), "int32")):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t] = A[t]
            if C[0] < 3:
                T.tvm_storage_sync("shared")
                B[t] = S[63 - t]
            some: T.let[T.bool] = S[0] < T.float32(3.0)
            T.tvm_storage_sync("shared")
            if some:
                B[t] = S[63 - t]
